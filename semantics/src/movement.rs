//! Moves and address conversions (ISA 9.7.9.3, 9.7.9.20). Vector `mov` is the decoder's.

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S, StateSpace};

use super::{Bound, Role, Written};
use crate::lanes::{LaneFns, map_rows, map1, map2};
use crate::window;

/// Copies a register of so many rows.
pub fn copy(rows: u8) -> LaneFns {
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

/// `mapa`: the same place in the shared memory of the block of another rank. As a device does it: the rank's low byte
/// takes the place of the address's.
pub(super) fn mapa(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty.bits() {
        64 => map2!(|a: u64, rank: u32| -> u64 {
            a & !0xff00_0000 | u64::from(rank & 0xff) << window::SHARED_RANK_SHIFT
        }),
        _ => map2!(|a: u32, rank: u32| -> u32 { a & 0x00ff_ffff | rank << window::SHARED_RANK_SHIFT }),
    };
    Bound::new(fns, &[Role::Dst(ty), Role::Src(ty), Role::Src(S::U32)])
}

/// `getctarank`: the rank of the block that an address of shared memory belongs to.
pub(super) fn getctarank(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty.bits() {
        64 => map1!(|a: u64| -> u32 { a as u32 >> window::SHARED_RANK_SHIFT }),
        _ => map1!(|a: u32| -> u32 { a >> window::SHARED_RANK_SHIFT }),
    };
    Bound::new(fns, &[Role::Dst(S::U32), Role::Src(ty)])
}
