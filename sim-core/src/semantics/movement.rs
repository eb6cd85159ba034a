//! Moves and conversions between integers (ISA 9.7.9). Vector `mov` is the decoder's.

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S, StateSpace};

use super::{Bound, Role, Written, with_int};
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

pub(super) fn mov(op: &Op, _: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty == S::Pred {
        let fns = map_rows!(|r, o, mask| {
            let a = r.predicate(o.pred[1]);
            r.set_predicate(o.pred[0], mask, a);
        });
        return Bound::new(fns, &[Role::PredDst, Role::PredSrc]);
    }
    let fns = match ty.bits() {
        16 => map1!(|a: u16| -> u16 { a }),
        32 => copy(1),
        64 => copy(2),
        128 => copy(4),
        _ => return None,
    };
    Bound::unary(fns, ty)
}

pub(super) fn cvt(op: &Op, _: Written) -> Option<Bound> {
    let (to, from) = (op.ty(0)?, op.ty(1)?);
    if to.is_float() || from.is_float() || op.has(Modifier::Sat) || op.has(Modifier::Pack) {
        return None;
    }
    let fns = with_int!(from, A => with_int!(to, D => map1!(|a: A| -> D { a as D })));
    Bound::new(fns, &[Role::Dst(to), Role::Src(from)])
}

/// `cvta`: to or from a generic address. Global, constant and kernel parameter addresses are
/// generic addresses already; shared and local ones lie in windows.
pub(super) fn cvta(op: &Op, _: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty.bits() != 64 {
        return None;
    }
    let to_space = op.has(Modifier::To);
    let fns = match (op.space(), to_space) {
        (StateSpace::Shared | StateSpace::SharedCluster, false) => {
            map1!(|a: u64| -> u64 { a.wrapping_add(window::SHARED) })
        }
        (StateSpace::Shared | StateSpace::SharedCluster, true) => {
            map1!(|a: u64| -> u64 { a.wrapping_sub(window::SHARED) })
        }
        (StateSpace::Local, false) => map1!(|a: u64| -> u64 { a.wrapping_add(window::LOCAL) }),
        (StateSpace::Local, true) => map1!(|a: u64| -> u64 { a.wrapping_sub(window::LOCAL) }),
        (StateSpace::Param, false) => map1!(|a: u64| -> u64 { a.wrapping_add(window::PARAM) }),
        (StateSpace::Param, true) => map1!(|a: u64| -> u64 { a.wrapping_sub(window::PARAM) }),
        _ => copy(2),
    };
    Bound::unary(fns, ty)
}
