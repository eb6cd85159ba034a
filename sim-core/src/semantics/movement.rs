//! Moves and address conversions (ISA 9.7.9.3, 9.7.9.20). Vector `mov` is the decoder's.

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S, StateSpace};

use super::{Bound, Role, Written};
use crate::lanes::{LaneFns, map_rows, map1};
use crate::memory::window;

/// Copies a register of so many rows.
pub(crate) fn copy(rows: u8) -> LaneFns {
    match rows {
        1 => map1!(|a: u32| -> u32 { a }),
        2 => map1!(|a: u64| -> u64 { a }),
        _ => map1!(|a: u128| -> u128 { a }),
    }
}

pub(super) fn mov(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty == S::Pred {
        let fns = map_rows!(|r, o, mask| {
            let a = r.predicate(o.pred[2]);
            r.set_predicate(o.pred[0], mask, a);
        });
        return Bound::new(fns, &[Role::PredDst, Role::PredSrc]);
    }
    let fns = match ty.bits() {
        16 | 32 => copy(1),
        64 => copy(2),
        128 => copy(4),
        _ => return None,
    };
    Bound::unary(fns, ty)
}

/// `cvta`: to or from a generic address. Global, constant and kernel parameter addresses are
/// generic addresses already; shared and local ones lie in windows, beyond 32 bits.
pub(super) fn cvta(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty.bits() != 64 {
        return None;
    }
    let window = match op.space() {
        StateSpace::Shared | StateSpace::SharedCluster => window::SHARED,
        StateSpace::Local => window::LOCAL,
        StateSpace::Param => window::PARAM,
        _ => return Bound::unary(copy(2), ty),
    };
    let offset = if op.has(Modifier::To) { window.wrapping_neg() } else { window };
    Some(Bound::unary(map1!(|a: u64, imm| -> u64 { a.wrapping_add(imm) }), ty)?.imm(offset))
}
