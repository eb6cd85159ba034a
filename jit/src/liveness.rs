//! Which rows of the frame somebody may still read.

use crate::program::{Arrive, Kind, Program, Step, Uses};
use semantics::formula::{Compared, Format, Formula, Half, Halves, Integer, Unary, Width};
use semantics::lanes::{Operands, Pred, Slot};

/// Sets of rows, one a position: those that are live before its step.
#[derive(Debug)]
pub(crate) struct Liveness {
    words: usize,
    before: Vec<u64>,
}

/// The sources of a formula, with their widths.
pub(crate) fn sources(formula: Formula, operands: &Operands) -> impl Iterator<Item = (Slot, Width)> {
    use Width::{Double, Word};
    let widths: &[Width] = match formula {
        Formula::Copy(Word)
        | Formula::Not(Word)
        | Formula::Extend { .. }
        | Formula::Field { .. }
        | Formula::Ones
        | Formula::LeadingZeros
        | Formula::FromHalf(_)
        | Formula::ToHalf(_)
        | Formula::Approximate(..)
        | Formula::Sign(_, Word)
        | Formula::Unary(_, Format::Single | Format::SingleFlushed)
        | Formula::ToFloat { bits: ..64, .. }
        | Formula::ToInteger { from: Word, .. }
        | Formula::Halves(Halves::Negate | Halves::Magnitude, _)
        | Formula::Resize { to: Double } => &[Word],
        Formula::Copy(Double)
        | Formula::Not(Double)
        | Formula::Truncate
        | Formula::Upper
        | Formula::Offset
        | Formula::Sign(_, Double)
        | Formula::Unary(_, Format::Double)
        | Formula::ToFloat { .. }
        | Formula::ToInteger { from: Double, .. }
        | Formula::Resize { to: Word } => &[Double],
        Formula::Integer(Integer::ShiftLeft | Integer::ShiftRight | Integer::ShiftRightSigned, Double) => {
            &[Double, Word]
        }
        Formula::Integer(_, Word)
        | Formula::Half(..)
        | Formula::Halves(
            Halves::Add | Halves::Subtract | Halves::Multiply | Halves::Minimum(_) | Halves::Maximum(_),
            _,
        )
        | Formula::ToHalves(_)
        | Formula::Insert { .. }
        | Formula::Bytes(_)
        | Formula::Join { .. }
        | Formula::Divide { .. }
        | Formula::CopySign(Word)
        | Formula::Float(_, Format::Single | Format::SingleFlushed, _)
        | Formula::Compare(_, _, Word) => &[Word, Word],
        Formula::Select(Word)
        | Formula::Pack
        | Formula::MultiplyWide { add: false, .. }
        | Formula::MultiplyHigh { .. } => &[Word, Word],
        Formula::Integer(_, Double) | Formula::Float(_, Format::Double, _) => &[Double, Double],
        Formula::Compare(_, _, Double) | Formula::Select(Double) | Formula::CopySign(Double) => {
            &[Double, Double]
        }
        Formula::MultiplyAdd(Word)
        | Formula::Halves(Halves::MultiplyAdd(_), _)
        | Formula::DotProduct(_)
        | Formula::FusedMultiplyAdd(Format::Single | Format::SingleFlushed, ..)
        | Formula::Logic3
        | Formula::Funnel { .. } => &[Word, Word, Word],
        Formula::MultiplyAdd(Double) | Formula::FusedMultiplyAdd(Format::Double, ..) => {
            &[Double, Double, Double]
        }
        Formula::MultiplyWide { add: true, .. } => &[Word, Word, Double],
        Formula::Predicate(_) => &[],
    };
    widths.iter().enumerate().map(|(at, &width)| (operands.src[at], width)).collect::<Vec<_>>().into_iter()
}

/// The width of a formula's result, if it has one in a row.
pub(crate) fn result(formula: Formula) -> Option<Width> {
    Some(match formula {
        Formula::Copy(width)
        | Formula::Not(width)
        | Formula::Integer(_, width)
        | Formula::MultiplyAdd(width)
        | Formula::Select(width)
        | Formula::CopySign(width)
        | Formula::Sign(_, width)
        | Formula::ToFloat { to: width, .. }
        | Formula::Resize { to: width } => width,
        Formula::Float(_, format, _) | Formula::FusedMultiplyAdd(format, ..) | Formula::Unary(_, format) => {
            format.width()
        }
        Formula::ToInteger { bits: 64, .. } => Width::Double,
        Formula::MultiplyWide { .. } | Formula::Extend { .. } | Formula::Pack | Formula::Offset => {
            Width::Double
        }
        Formula::Truncate
        | Formula::Upper
        | Formula::Logic3
        | Formula::MultiplyHigh { .. }
        | Formula::Funnel { .. }
        | Formula::Field { .. }
        | Formula::Join { .. }
        | Formula::Divide { .. }
        | Formula::Ones
        | Formula::LeadingZeros
        | Formula::Half(..)
        | Formula::Halves(..)
        | Formula::Insert { .. }
        | Formula::Bytes(_)
        | Formula::DotProduct(_)
        | Formula::Approximate(..)
        | Formula::FromHalf(_)
        | Formula::ToHalf(_)
        | Formula::ToHalves(_)
        | Formula::ToInteger { .. } => Width::Word,
        Formula::Compare(..) | Formula::Predicate(_) => return None,
    })
}

/// Whether host code may give what is no number in other bits than the device does: they are put right where they matter.
pub(crate) fn may_be_raw(formula: Formula) -> bool {
    match formula {
        Formula::Float(_, format, _) | Formula::FusedMultiplyAdd(format, ..) | Formula::Unary(_, format) => {
            format != Format::Double
        }
        Formula::FromHalf(Half::F16) | Formula::Copy(Width::Word) => true,
        _ => false,
    }
}

/// Whether some results are the host's business: what is no number, what an approximate function takes for special.
pub(crate) fn is_checked(formula: Formula) -> bool {
    matches!(
        formula,
        Formula::Float(_, Format::Double, _)
            | Formula::FusedMultiplyAdd(Format::Double, ..)
            | Formula::Unary(_, Format::Double)
            | Formula::Approximate(..)
    )
}

/// Whether an operation gives the same whatever bits say that an operand is no number.
pub(crate) fn takes_raw(formula: Formula) -> bool {
    formula != Formula::FromHalf(Half::F16) && may_be_raw(formula)
        || matches!(
            formula,
            Formula::ToHalf(_)
                | Formula::ToHalves(_)
                | Formula::Approximate(..)
                | Formula::Compare(_, Compared::Float | Compared::FloatFlushed, Width::Word)
                | Formula::ToInteger { from: Width::Word, .. }
        )
}

/// Whether an operation must find subnormal floats flushed to zeros, or kept, if that matters.
pub(crate) fn flushes(formula: Formula) -> Option<bool> {
    match formula {
        // Bits.
        Formula::Unary(Unary::Negate | Unary::Magnitude, Format::Single | Format::Double) => None,
        Formula::Float(_, format, _) | Formula::FusedMultiplyAdd(format, ..) | Formula::Unary(_, format) => {
            Some(format == Format::SingleFlushed)
        }
        Formula::Compare(_, Compared::FloatFlushed, _) => Some(true),
        Formula::Compare(_, Compared::Float, _)
        | Formula::ToInteger { .. }
        | Formula::Resize { .. }
        | Formula::ToHalf(_)
        | Formula::ToHalves(_)
        | Formula::FromHalf(_) => Some(false),
        // Of `.f16` nothing is subnormal as a word.
        Formula::Halves(
            Halves::Add | Halves::Subtract | Halves::Multiply | Halves::MultiplyAdd(_),
            Half::Bf16,
        ) => Some(false),
        _ => None,
    }
}

impl Step {
    /// Whether it writes a row of the frame, if it is compiled.
    pub(crate) fn writes(&self, row: u32) -> bool {
        let is = |slot: Slot, width: Width| {
            slot.is_frame() && (slot.row()..slot.row() + width.rows()).contains(&row)
        };
        match &self.kind {
            Kind::Compute(formula, operands) => result(*formula).is_some_and(|width| is(operands.dst, width)),
            Kind::Access(access) => !access.store && access.registers().any(|slot| is(slot, access.width())),
            Kind::Exchange(exchange) => exchange.result().is_some_and(|slot| is(slot, Width::Word)),
            _ => false,
        }
    }
}

impl Liveness {
    pub(crate) fn new(program: &Program) -> Liveness {
        let words = (program.rows as usize).div_ceil(64).max(1);
        let count = program.steps.len();
        let mut liveness = Liveness { words, before: vec![0; words * (count + 1)] };
        let mut live = vec![0u64; words];
        let mut changed = true;
        while changed {
            changed = false;
            for at in (0..count).rev() {
                live.copy_from_slice(liveness.set(at + 1));
                let step = &program.steps[at];
                let set = |live: &mut [u64], slot: Slot, rows: u32, value: bool| {
                    for row in slot.row()..slot.row() + rows {
                        if slot.is_frame() && row < program.rows {
                            let bit = 1 << (row % 64);
                            let word = &mut live[row as usize / 64];
                            *word = if value { *word | bit } else { *word & !bit };
                        }
                    }
                };
                match &step.kind {
                    Kind::Compute(formula, operands) => {
                        if let Some(width) = result(*formula)
                            && step.guard == Pred::TRUE
                        {
                            set(&mut live, operands.dst, width.rows(), false);
                        }
                        for (slot, width) in sources(*formula, operands) {
                            set(&mut live, slot, width.rows(), true);
                        }
                    }
                    Kind::Access(access) => {
                        if access.store || step.guard == Pred::TRUE {
                            for slot in access.registers() {
                                set(&mut live, slot, access.width().rows(), access.store);
                            }
                        }
                        set(&mut live, access.address, access.address_width.rows(), true);
                    }
                    Kind::Branch(target) => {
                        let other = liveness.set(*target as usize).to_vec();
                        if step.guard == Pred::TRUE {
                            live.copy_from_slice(&other);
                        } else {
                            live.iter_mut().zip(other).for_each(|(live, other)| *live |= other);
                        }
                    }
                    Kind::Nothing | Kind::Fence | Kind::Barrier => {}
                    Kind::Arrive(Arrive { id, count, .. }) => {
                        [id, count].into_iter().for_each(|&slot| set(&mut live, slot, 1, true));
                    }
                    Kind::Exit => live.fill(0),
                    Kind::Atomic(atomic) => {
                        atomic.slots().for_each(|(slot, width)| set(&mut live, slot, width.rows(), true));
                    }
                    Kind::Exchange(exchange) => {
                        exchange.slots().for_each(|slot| set(&mut live, slot, 1, true));
                    }
                    Kind::Call(uses) | Kind::Lanes(_, uses) | Kind::Leave(uses) => match uses {
                        Uses::All => live.fill(u64::MAX),
                        Uses::Slots(slots) => {
                            slots.iter().for_each(|&(slot, rows)| set(&mut live, slot, rows, true));
                        }
                    },
                }
                let old = liveness.set_mut(at);
                if *old != live[..] {
                    old.copy_from_slice(&live);
                    changed = true;
                }
            }
        }
        liveness
    }

    fn set(&self, at: usize) -> &[u64] {
        &self.before[at * self.words..][..self.words]
    }

    fn set_mut(&mut self, at: usize) -> &mut [u64] {
        &mut self.before[at * self.words..][..self.words]
    }

    /// Whether somebody may read a row before the step at `at`, or after it.
    pub(crate) fn is_live(&self, at: u32, row: u32) -> bool {
        self.set(at as usize).get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 != 0)
    }
}
