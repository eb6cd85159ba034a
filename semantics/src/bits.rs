//! Counting, searching and moving bits, dot products of bytes (ISA 9.7.1.14 to 9.7.1.24).

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::dispatch::with_types;
use super::{Bound, Written, with_flag};
use crate::lanes::{map1, map2, map3, map4};
use numerics as n;

macro_rules! with_words {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        with_types!($ty, $m, $T => $body; B32: b32 u32, B64: b64 u64)
    };
}

macro_rules! with_signed_words {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        with_types!($ty, $m, $T => $body; U32: u32 u32, S32: s32 u32, U64: u64 u64, S64: s64 u64)
    };
}

pub(super) fn popc(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    Bound::map(with_words!(ty, m, T => map1!(|a: T| -> u32 { m::popc(a) })), S::U32, &[ty])
}

pub(super) fn clz(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    Bound::map(with_words!(ty, m, T => map1!(|a: T| -> u32 { m::clz(a) })), S::U32, &[ty])
}

pub(super) fn brev(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    Bound::unary(with_words!(ty, m, T => map1!(|a: T| -> T { m::brev(a) })), ty)
}

pub(super) fn bfind(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = if op.has(Modifier::Shiftamt) {
        with_signed_words!(ty, m, T => map1!(|a: T| -> u32 { m::bfind_shiftamt(a) }))
    } else {
        with_signed_words!(ty, m, T => map1!(|a: T| -> u32 { m::bfind(a) }))
    };
    Bound::map(fns, S::U32, &[ty])
}

pub(super) fn bfe(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = with_signed_words!(ty, m, T => map3!(|a: T, b: u32, c: u32| -> T { m::bfe(a, b, c) }));
    Bound::map(fns, ty, &[ty, S::U32, S::U32])
}

pub(super) fn bfi(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = with_words!(ty, m, T => map4!(|a: T, b: T, c: u32, e: u32| -> T { m::bfi(a, b, c, e) }));
    Bound::map(fns, ty, &[ty, ty, S::U32, S::U32])
}

pub(super) fn fns(_: &Op, _: Written<'_>) -> Option<Bound> {
    let fns = map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::fns(a, b, c) });
    Bound::map(fns, S::B32, &[S::B32, S::B32, S::S32])
}

pub(super) fn bmsk(op: &Op, _: Written<'_>) -> Option<Bound> {
    let fns = if op.has(Modifier::Wrap) {
        map2!(|a: u32, b: u32| -> u32 { n::b32::bmsk(a, b, n::Bound::Wrap) })
    } else {
        map2!(|a: u32, b: u32| -> u32 { n::b32::bmsk(a, b, n::Bound::Clamp) })
    };
    Bound::binary(fns, S::B32)
}

pub(super) fn szext(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match (ty, op.has(Modifier::Wrap)) {
        (S::U32, true) => map2!(|a: u32, b: u32| -> u32 { n::u32::szext(a, b, n::Bound::Wrap) }),
        (S::U32, false) => map2!(|a: u32, b: u32| -> u32 { n::u32::szext(a, b, n::Bound::Clamp) }),
        (S::S32, true) => map2!(|a: u32, b: u32| -> u32 { n::s32::szext(a, b, n::Bound::Wrap) }),
        (S::S32, false) => map2!(|a: u32, b: u32| -> u32 { n::s32::szext(a, b, n::Bound::Clamp) }),
        _ => return None,
    };
    Bound::map(fns, ty, &[ty, S::U32])
}

pub(super) fn dp4a(op: &Op, _: Written<'_>) -> Option<Bound> {
    let (a, b) = (op.ty(0)?, op.ty(1)?);
    let fns = with_flag!(a.is_signed(), A => with_flag!(b.is_signed(), B => {
        map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::dp4a(a, b, c, A, B) })
    }));
    Bound::map(fns, S::U32, &[S::U32; 3])
}

pub(super) fn dp2a(op: &Op, _: Written<'_>) -> Option<Bound> {
    let (a, b) = (op.ty(0)?, op.ty(1)?);
    let fns = with_flag!(op.has(Modifier::Hi), H => with_flag!(a.is_signed(), A => with_flag!(b.is_signed(), B => {
        map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::dp2a(a, b, c, H, A, B) })
    })));
    Bound::map(fns, S::U32, &[S::U32; 3])
}

pub(super) fn clmad(op: &Op, _: Written<'_>) -> Option<Bound> {
    let fns = if op.has(Modifier::Hi) {
        map3!(|a: u64, b: u64, c: u64| -> u64 { n::b64::clmad_hi(a, b, c) })
    } else {
        map3!(|a: u64, b: u64, c: u64| -> u64 { n::b64::clmad_lo(a, b, c) })
    };
    Bound::ternary(fns, S::U64)
}
