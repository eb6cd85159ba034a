//! For which operands NVIDIA's compiler has no short way of a quotient, root or reciprocal, and calls a function.
//!
//! Which these are was read off an H200 (`testdata/timing/ranges.cu`).

use std::ops::RangeInclusive;

use crate::machine::Machine;
use crate::machine::frame::ROOT;
use crate::observer::Observer;
use crate::tools::{Event, Wants, WarpId};
use semantics::formula::{Float, Format, Formula, Unary};
use semantics::lanes::{LaneMask, Operands, Registers, WARP_SIZE};

/// What is computed, if it has a long way.
fn format(formula: Formula) -> Option<Format> {
    match formula {
        Formula::Float(Float::Divide, format @ (Format::Single | Format::Double), _)
        | Formula::Unary(Unary::SquareRoot | Unary::Reciprocal, format @ (Format::Single | Format::Double)) => {
            Some(format)
        }
        _ => None,
    }
}

/// Whether operands of these bits take the long way. Numbers are those of exponents as they are stored.
fn is_long(formula: Formula, a: u64, b: u64) -> bool {
    let is_double = format(formula) == Some(Format::Double);
    let exponent =
        |bits: u64| if is_double { (bits >> 52 & 0x7ff) as i32 } else { (bits >> 23 & 0xff) as i32 };
    let inside = |range: RangeInclusive<i32>| range.contains(&exponent(a));
    let negative = a >> if is_double { 63 } else { 31 } != 0;
    let short = match (formula, is_double) {
        (Formula::Float(..), false) => {
            let (own, other) = (exponent(a), exponent(b));
            inside(25..=254) && (2..=251).contains(&other) && (-126..=124).contains(&(other - own))
        }
        (Formula::Float(..), true) => {
            inside(54..=2046) && (f64::from_bits(a) / f64::from_bits(b)).is_normal()
        }
        (Formula::Unary(Unary::SquareRoot, _), false) => !negative && inside(26..=254),
        (Formula::Unary(Unary::SquareRoot, _), true) => !negative && inside(53..=2046),
        (_, false) => inside(1..=252),
        (_, true) => inside(1..=2044),
    };
    !short
}

/// Whether zero is divided by a number other than zero.
fn is_zero(formula: Formula, a: u64, b: u64) -> bool {
    let Formula::Float(_, format, _) = formula else { return false };
    let value = |bits: u64| match format {
        Format::Double => f64::from_bits(bits),
        _ => f32::from_bits(bits as u32).into(),
    };
    value(a) == 0.0 && value(b).is_finite() && value(b) != 0.0
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Tells tools that want to hear of ways of a quotient that lanes are about to execute.
    #[inline(always)]
    pub(crate) fn tell_of_quotient(
        &mut self,
        warp: usize,
        position: u32,
        operands: &Operands,
        registers: &Registers,
        lanes: LaneMask,
    ) {
        if self.wants(Wants::WAYS) {
            self.look_at_quotient(warp, position, operands, registers, lanes);
        }
    }

    #[inline(never)]
    fn look_at_quotient(
        &mut self,
        warp: usize,
        position: u32,
        operands: &Operands,
        registers: &Registers,
        lanes: LaneMask,
    ) {
        let Some(formula) = self.worker.grid.code.meta[position as usize].formula else { return };
        let Some(format) = format(formula) else { return };
        let [a, b] = [0, 1].map(|at| match format {
            Format::Double => registers.read::<u64>(operands.src[at]),
            _ => registers.read::<u32>(operands.src[at]).map(u64::from),
        });
        let which = |of: fn(Formula, u64, u64) -> bool| {
            (0..WARP_SIZE).fold(0, |mask, lane| mask | u32::from(of(formula, a[lane], b[lane])) << lane)
        };
        let long = lanes & which(is_long);
        let zeros = if long == 0 { 0 } else { long & which(is_zero) };
        let warp = WarpId { block: self.cta.index, warp: warp as u32 };
        let event = Event::Quotient { warp, position, lanes, long, zeros };
        self.tell(Wants::WAYS, ROOT, &event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::Rounding;

    #[test]
    fn zeros_small_and_large_numbers_take_the_long_way() {
        let divide = |format| Formula::Float(Float::Divide, format, Rounding::Rn);
        let single = |a: f32, b: f32| is_long(divide(Format::Single), a.to_bits().into(), b.to_bits().into());
        let double = |a: f64, b: f64| is_long(divide(Format::Double), a.to_bits(), b.to_bits());
        assert_eq!([single(1.0, 3.0), single(-1e20, 1e-10), double(1.0, 3.0)], [false; 3]);
        assert_eq!([single(0.0, 3.0), single(1e-38, 2.0), single(1.0, f32::MAX)], [true; 3]);
        assert_eq!([double(0.0, 3.0), double(1e-300, 1e10), double(1.0, 0.0)], [true; 3]);
        let zero = |a: f32, b: f32| is_zero(divide(Format::Single), a.to_bits().into(), b.to_bits().into());
        assert_eq!([zero(-0.0, 3.0), zero(0.0, 0.0), zero(1e-40, 1.0)], [true, false, false]);
        let unary = |unary, a: f32| is_long(Formula::Unary(unary, Format::Single), a.to_bits().into(), 0);
        assert_eq!([unary(Unary::SquareRoot, 2.0), unary(Unary::Reciprocal, -2.0)], [false; 2]);
        assert_eq!([unary(Unary::SquareRoot, 0.0), unary(Unary::SquareRoot, -2.0)], [true; 2]);
        assert_eq!(format(Formula::Float(Float::Divide, Format::SingleFlushed, Rounding::Rn)), None);
    }
}
