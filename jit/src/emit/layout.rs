//! Where blocks begin, and where it is worth to enter code.

use crate::host;
use crate::liveness::{flushes, result, sources};
use crate::program::{Effect, Kind, Program, Step, Uses};
use isa::Rounding;
use semantics::formula::{Float, Format, Formula, Halves, Integer, Unary, Width};
use semantics::lanes::{Pred, Slot};

/// Compiled steps that make up for the time that a call of the host takes.
const CALL: u32 = 4;
/// The same of the function of a lane operation.
const LANES: u32 = 3;
/// The same of one that accesses memory, with AVX-512: other warps wait for it, and what it waits for itself is not hidden by
/// their steps.
const ACCESS: u32 = 12;
/// Cycles in which an interpreter of several warps makes a step, an approximate function, an operation on floats of 16 bits,
/// a quotient or root, one of doubles, an extreme of floats, and the upper half of a product.
const INTERPRETED: u32 = 7;
const INTERPRETED_FUNCTION: u32 = 48;
const INTERPRETED_HALVES: u32 = 60;
const INTERPRETED_QUOTIENT: u32 = 36;
const INTERPRETED_DOUBLE_QUOTIENT: u32 = 64;
const INTERPRETED_EXTREME: u32 = 24;
const INTERPRETED_UPPER: u32 = 18;
/// Steps for which an interpreter takes as long as for an access of narrow elements, of several ones, or for what lanes tell
/// each other.
const NARROW: u32 = 16;
const VECTOR: u32 = 8;
const EXCHANGE: u32 = 8;
/// Steps that are many.
const MANY: u32 = 64;

/// By position: steps that follow from there on, at most, before code ends or waits, less what calls take; up to [`MANY`].
pub(super) fn worth(program: &Program, waits: &[bool]) -> Vec<u32> {
    let mut worth = vec![0u32; program.steps.len() + 1];
    let behind = |worth: &[u32], at: usize| match waits.get(at) {
        Some(true) => 0,
        _ => worth.get(at).copied().unwrap_or(0),
    };
    // As often as loops need to count as many.
    for _ in 0..8 {
        for (at, step) in program.steps.iter().enumerate().rev() {
            let next = behind(&worth, at + 1);
            let own = match step.kind {
                Kind::Leave(_) | Kind::Exit => 0,
                Kind::Barrier | Kind::Arrive(_) if waits.is_empty() => 0,
                Kind::Branch(target) => {
                    let target = behind(&worth, target as usize);
                    1 + if step.guard == Pred::TRUE { target } else { target.max(next) }
                }
                Kind::Call(_) => next.saturating_sub(CALL),
                Kind::Lanes(..) => next.saturating_sub(LANES),
                Kind::Access(access) if access.bytes < 4 => NARROW + next,
                Kind::Access(access) if access.count > 1 => VECTOR + next,
                Kind::Exchange(_) | Kind::Atomic(_) => EXCHANGE + next,
                _ => 1 + next,
            };
            worth[at] = own.min(MANY);
        }
    }
    worth
}

/// By position: steps from there to where the next part begins.
pub(super) fn blocks(program: &Program, begins: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut steps = vec![0; program.steps.len() + 1];
    for at in (0..program.steps.len()).rev() {
        steps[at] = if begins(at + 1) { 1 } else { steps[at + 1] + 1 };
    }
    steps
}

/// Positions at which blocks begin.
pub(super) fn leaders(program: &Program) -> Vec<bool> {
    let mut leaders = vec![false; program.steps.len() + 1];
    leaders[0] = true;
    for (at, step) in program.steps.iter().enumerate() {
        match step.kind {
            Kind::Branch(target) => {
                leaders[at + 1] = true;
                if let Some(leader) = leaders.get_mut(target as usize) {
                    *leader = true;
                }
            }
            // A warp goes on behind it when others have come.
            Kind::Arrive(_) => leaders[at + 1] = true,
            Kind::Leave(_) | Kind::Barrier | Kind::Exit => {
                leaders[at] = true;
                leaders[at + 1] = true;
            }
            _ => {}
        }
    }
    leaders
}

/// Whether more operations want subnormal floats flushed than kept.
pub(super) fn mostly_flushes(program: &Program) -> bool {
    let wanted = |flushing: bool| {
        let wants = |step: &&Step| match &step.kind {
            Kind::Compute(formula, _) => flushes(*formula) == Some(flushing),
            Kind::Atomic(atomic) => atomic.flushes() == Some(flushing),
            _ => false,
        };
        program.steps.iter().filter(wants).count()
    };
    wanted(true) > wanted(false)
}

/// Leaves to the host operations that have no code.
pub(super) fn supported(program: &Program, avx512: bool) -> Program {
    let mut supported = program.clone();
    for step in supported.steps.iter_mut().filter(|_| !avx512) {
        if let Kind::Exchange(exchange) = &step.kind {
            step.kind = Kind::Call(Uses::Slots(exchange.slots().map(|slot| (slot, 1)).collect()));
        }
        if let Kind::Access(access) = &step.kind
            && (access.count > 1 || access.bytes < 4)
        {
            let slots = access.registers().map(|slot| (slot, access.width().rows()));
            let address = (access.address, access.address_width.rows());
            step.kind = Kind::Call(Uses::Slots(slots.chain([address]).collect()));
        }
        if let Kind::Compute(formula, operands) = &step.kind
            && !has_avx2(*formula)
        {
            let mut slots: Vec<_> =
                sources(*formula, operands).map(|(slot, width)| (slot, width.rows())).collect();
            // What it keeps of lanes that do not take part.
            slots.extend(result(*formula).map(|width| (operands.dst, width.rows())));
            step.kind = Kind::Call(Uses::Slots(slots));
        }
    }
    supported
}

/// Whether AVX2 has code for an operation.
pub(crate) fn has_avx2(formula: Formula) -> bool {
    match formula {
        Formula::Float(.., rounding) | Formula::FusedMultiplyAdd(_, rounding, _) => rounding == Rounding::Rn,
        Formula::ToInteger { bits, signed, .. } => bits < 32 || bits == 32 && signed,
        Formula::ToFloat { bits, .. } => bits < 64,
        Formula::FromHalf(_)
        | Formula::ToHalf(_)
        | Formula::ToHalves(_)
        | Formula::Halves(..)
        | Formula::Bytes(_)
        | Formula::Insert { .. }
        | Formula::DotProduct(_)
        | Formula::Divide { .. }
        | Formula::Approximate(..)
        | Formula::Ones
        | Formula::LeadingZeros => false,
        _ => true,
    }
}

/// Leaves to the interpreter blocks that are not likely to be faster in code: those that mostly call the host, and chains
/// of operations each of which waits for the one before, where it runs several warps in turn.
pub(super) fn priced(program: &Program, avx512: bool) -> Program {
    let mut priced = program.clone();
    let leaders = leaders(program);
    let slow_products = host::has_slow_products();
    let mut start = 0;
    while start < program.steps.len() {
        let end = (start + 1..program.steps.len()).find(|&at| leaders[at]).unwrap_or(program.steps.len());
        let steps = &mut priced.steps[start..end];
        let calls = steps.iter().filter(|step| matches!(step.kind, Kind::Call(_) | Kind::Lanes(..)));
        let compiled = (steps.len() - calls.clone().count()) as u32;
        let price = |step: &Step| match (&step.kind, step.effect) {
            (Kind::Lanes(..), _) => LANES,
            (_, Effect { reads: 0, writes: 0, .. }) => CALL,
            _ if avx512 => ACCESS,
            _ => CALL,
        };
        let price: u32 = calls.map(price).sum();
        let chain = chain(&program.steps[start..end], slow_products);
        let interpreted: u32 = program.steps[start..end].iter().map(interpreted).sum();
        if price > compiled || chain > interpreted && !program.alone {
            for step in steps.iter_mut().filter(|step| !step.kind.leaves()) {
                step.kind = Kind::Leave(Uses::All);
            }
        }
        start = end;
    }
    priced
}

/// Cycles in which an interpreter of several warps makes a step.
fn interpreted(step: &Step) -> u32 {
    match step.kind {
        Kind::Compute(Formula::Approximate(..), _) => INTERPRETED_FUNCTION,
        Kind::Compute(Formula::Halves(..) | Formula::ToHalves(_), _) => INTERPRETED_HALVES,
        Kind::Compute(
            Formula::Float(Float::Divide, Format::Double, _)
            | Formula::Unary(Unary::SquareRoot | Unary::Reciprocal, Format::Double),
            _,
        ) => INTERPRETED_DOUBLE_QUOTIENT,
        Kind::Compute(Formula::Float(Float::Divide, ..) | Formula::Divide { .. }, _)
        | Kind::Compute(Formula::Unary(Unary::SquareRoot | Unary::Reciprocal, _), _) => INTERPRETED_QUOTIENT,
        Kind::Compute(Formula::Float(Float::Minimum | Float::Maximum, ..), _) => INTERPRETED_EXTREME,
        Kind::Compute(Formula::MultiplyHigh { .. }, _) => INTERPRETED_UPPER,
        _ => INTERPRETED,
    }
}

/// Cycles of the longest chain of a block's operations, each of which needs what the one before gives.
fn chain(steps: &[Step], slow_products: bool) -> u32 {
    // By row of the frame: when its value is there.
    let mut ready: Vec<u32> = Vec::new();
    let mut longest = 0;
    for step in steps {
        let Kind::Compute(formula, operands) = &step.kind else { continue };
        let at = |ready: &[u32], slot: Slot| {
            if slot.is_frame() { ready.get(slot.row() as usize).copied().unwrap_or(0) } else { 0 }
        };
        let begin = sources(*formula, operands).map(|(slot, _)| at(&ready, slot)).max().unwrap_or(0);
        let end = begin + cycles(*formula, slow_products);
        longest = longest.max(end);
        if let Some(width) = result(*formula)
            && operands.dst.is_frame()
        {
            let row = operands.dst.row() as usize;
            ready.resize(ready.len().max(row + width.rows() as usize), 0);
            ready[row] = end;
        }
    }
    longest
}

/// About how long an operation takes.
fn cycles(formula: Formula, slow_products: bool) -> u32 {
    match formula {
        Formula::Integer(Integer::Multiply, _)
        | Formula::Half(Integer::Multiply, _)
        | Formula::MultiplyAdd(_)
        | Formula::MultiplyWide { .. }
            if !slow_products =>
        {
            4
        }
        Formula::Integer(Integer::Multiply, Width::Word)
        | Formula::Half(Integer::Multiply, _)
        | Formula::MultiplyAdd(Width::Word) => 10,
        Formula::Integer(Integer::Multiply, Width::Double) | Formula::MultiplyAdd(Width::Double) => 15,
        Formula::MultiplyWide { .. } => 9,
        Formula::Float(Float::Divide, Format::Double, _)
        | Formula::Unary(Unary::SquareRoot | Unary::Reciprocal, Format::Double) => 64,
        Formula::Float(Float::Divide, ..) | Formula::Unary(Unary::SquareRoot | Unary::Reciprocal, _) => 27,
        Formula::Float(Float::Minimum | Float::Maximum, ..) => 5,
        Formula::Unary(Unary::Round(_) | Unary::Saturate, _) | Formula::MultiplyHigh { .. } => 9,
        Formula::ToInteger { .. } => 12,
        Formula::ToFloat { .. } | Formula::Resize { .. } => 7,
        Formula::FromHalf(_) | Formula::ToHalf(_) | Formula::ToHalves(_) => 8,
        Formula::Halves(Halves::Negate | Halves::Magnitude, _) => 3,
        Formula::Halves(..) => 26,
        Formula::DotProduct(_) => 8,
        Formula::Float(..) | Formula::FusedMultiplyAdd(..) => 4,
        Formula::Funnel { .. } | Formula::Field { .. } | Formula::Join { .. } | Formula::Half(..) => 2,
        Formula::LeadingZeros => 4,
        Formula::Ones => 8,
        Formula::Approximate(..) => 38,
        Formula::Divide { .. } => 40,
        Formula::Extend { .. } | Formula::Truncate | Formula::Upper | Formula::Pack | Formula::Select(_) => 4,
        _ => 1,
    }
}
