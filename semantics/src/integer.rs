//! Integer arithmetic (ISA 9.7.1).

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::{Bound, Written, sat, with_int, with_packed_int};
use crate::lanes::{map1, map2, map3};
use numerics as n;

/// The unsigned type of the same size, where the sign makes no difference.
fn unsigned(ty: S) -> S {
    match ty {
        S::S16 => S::U16,
        S::S32 => S::U32,
        S::S64 => S::U64,
        other => other,
    }
}

/// The result type of `.wide`.
fn wide(ty: S) -> Option<S> {
    Some(match ty {
        S::U16 => S::U32,
        S::S16 => S::S32,
        S::U32 => S::U64,
        S::S32 => S::S64,
        _ => return None,
    })
}

pub(super) fn add(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match (ty, sat(op)) {
        _ if op.has(Modifier::Cc) => return None,
        (S::S32, true) => map2!(|a: u32, b: u32| -> u32 { n::s32::add_sat(a, b) }),
        (S::U32, true) => map2!(|a: u32, b: u32| -> u32 { n::u32::add_sat(a, b) }),
        (_, true) => with_packed_int!(ty, m, T => map2!(|a: T, b: T| -> T { m::add_sat(a, b) })),
        _ if ty.lanes() > 1 => with_packed_int!(ty, m, T => map2!(|a: T, b: T| -> T { m::add(a, b) })),
        _ => with_int!(unsigned(ty), m, T => map2!(|a: T, b: T| -> T { m::add(a, b) })),
    };
    Bound::binary(fns, ty)
}

pub(super) fn sub(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match (ty, sat(op)) {
        _ if op.has(Modifier::Cc) => return None,
        (S::S32, true) => map2!(|a: u32, b: u32| -> u32 { n::s32::sub_sat(a, b) }),
        (S::U8x4, true) => map2!(|a: u32, b: u32| -> u32 { n::u8x4::sub_sat(a, b) }),
        (S::S8x4, true) => map2!(|a: u32, b: u32| -> u32 { n::s8x4::sub_sat(a, b) }),
        (_, true) => return None,
        (S::U8x4 | S::S8x4, false) => map2!(|a: u32, b: u32| -> u32 { n::u8x4::sub(a, b) }),
        _ => with_int!(unsigned(ty), m, T => map2!(|a: T, b: T| -> T { m::sub(a, b) })),
    };
    Bound::binary(fns, ty)
}

pub(super) fn mul(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    if op.has(Modifier::Wide) {
        let fns = match ty {
            S::U16 => map2!(|a: u16, b: u16| -> u32 { n::u16::mul_wide(a, b) }),
            S::S16 => map2!(|a: u16, b: u16| -> u32 { n::s16::mul_wide(a, b) }),
            S::U32 => map2!(|a: u32, b: u32| -> u64 { n::u32::mul_wide(a, b) }),
            S::S32 => map2!(|a: u32, b: u32| -> u64 { n::s32::mul_wide(a, b) }),
            _ => return None,
        };
        return Bound::map(fns, wide(ty)?, &[ty, ty]);
    }
    let fns = if op.has(Modifier::Hi) {
        with_int!(ty, m, T => map2!(|a: T, b: T| -> T { m::mul_hi(a, b) }))
    } else {
        with_int!(unsigned(ty), m, T => map2!(|a: T, b: T| -> T { m::mul_lo(a, b) }))
    };
    Bound::binary(fns, ty)
}

pub(super) fn mad(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    if op.has(Modifier::Cc) {
        return None;
    }
    if op.has(Modifier::Wide) {
        let fns = match ty {
            S::U16 => map3!(|a: u16, b: u16, c: u32| -> u32 { n::u16::mad_wide(a, b, c) }),
            S::S16 => map3!(|a: u16, b: u16, c: u32| -> u32 { n::s16::mad_wide(a, b, c) }),
            S::U32 => map3!(|a: u32, b: u32, c: u64| -> u64 { n::u32::mad_wide(a, b, c) }),
            S::S32 => map3!(|a: u32, b: u32, c: u64| -> u64 { n::s32::mad_wide(a, b, c) }),
            _ => return None,
        };
        let wide = wide(ty)?;
        return Bound::map(fns, wide, &[ty, ty, wide]);
    }
    let fns = match (op.has(Modifier::Hi), sat(op)) {
        (true, true) if ty == S::S32 => {
            map3!(|a: u32, b: u32, c: u32| -> u32 { n::s32::mad_hi_sat(a, b, c) })
        }
        (_, true) => return None,
        (true, false) => with_int!(ty, m, T => map3!(|a: T, b: T, c: T| -> T { m::mad_hi(a, b, c) })),
        (false, false) => {
            with_int!(unsigned(ty), m, T => map3!(|a: T, b: T, c: T| -> T { m::mad_lo(a, b, c) }))
        }
    };
    Bound::ternary(fns, ty)
}

pub(super) fn mul24(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match (ty, op.has(Modifier::Hi)) {
        (S::U32, false) => map2!(|a: u32, b: u32| -> u32 { n::u32::mul24_lo(a, b) }),
        (S::U32, true) => map2!(|a: u32, b: u32| -> u32 { n::u32::mul24_hi(a, b) }),
        (S::S32, false) => map2!(|a: u32, b: u32| -> u32 { n::s32::mul24_lo(a, b) }),
        (S::S32, true) => map2!(|a: u32, b: u32| -> u32 { n::s32::mul24_hi(a, b) }),
        _ => return None,
    };
    Bound::binary(fns, ty)
}

pub(super) fn mad24(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match (ty, op.has(Modifier::Hi), sat(op)) {
        (S::U32, false, false) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::u32::mad24_lo(a, b, c) }),
        (S::U32, true, false) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::u32::mad24_hi(a, b, c) }),
        (S::S32, false, false) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::s32::mad24_lo(a, b, c) }),
        (S::S32, true, false) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::s32::mad24_hi(a, b, c) }),
        (S::S32, true, true) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::s32::mad24_hi_sat(a, b, c) }),
        _ => return None,
    };
    Bound::ternary(fns, ty)
}

pub(super) fn sad(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    Bound::ternary(with_int!(ty, m, T => map3!(|a: T, b: T, c: T| -> T { m::sad(a, b, c) })), ty)
}

pub(super) fn div(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    Bound::binary(with_int!(ty, m, T => map2!(|a: T, b: T| -> T { m::div(a, b) })), ty)
}

pub(super) fn rem(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    Bound::binary(with_int!(ty, m, T => map2!(|a: T, b: T| -> T { m::rem(a, b) })), ty)
}

pub(super) fn abs(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty {
        S::S16 => map1!(|a: u16| -> u16 { n::s16::abs(a) }),
        S::S32 => map1!(|a: u32| -> u32 { n::s32::abs(a) }),
        S::S64 => map1!(|a: u64| -> u64 { n::s64::abs(a) }),
        _ => return None,
    };
    Bound::unary(fns, ty)
}

pub(super) fn neg(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty {
        S::S16 => map1!(|a: u16| -> u16 { n::s16::neg(a) }),
        S::S32 => map1!(|a: u32| -> u32 { n::s32::neg(a) }),
        S::S64 => map1!(|a: u64| -> u64 { n::s64::neg(a) }),
        S::S8x4 => map1!(|a: u32| -> u32 { n::s8x4::neg(a) }),
        _ => return None,
    };
    Bound::unary(fns, ty)
}

macro_rules! extrema {
    ($($name:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let ty = op.ty(0)?;
            let fns = match (ty, op.has(Modifier::Relu)) {
                (S::S32, true) => map2!(|a: u32, b: u32| -> u32 { n::s32::relu(n::s32::$name(a, b)) }),
                (S::S16x2, true) => map2!(|a: u32, b: u32| -> u32 { n::s16x2::relu(n::s16x2::$name(a, b)) }),
                (S::S8x4, true) => map2!(|a: u32, b: u32| -> u32 { n::s8x4::relu(n::s8x4::$name(a, b)) }),
                (_, true) => return None,
                _ if ty.lanes() > 1 => with_packed_int!(ty, m, T => map2!(|a: T, b: T| -> T { m::$name(a, b) })),
                _ => with_int!(ty, m, T => map2!(|a: T, b: T| -> T { m::$name(a, b) })),
            };
            Bound::binary(fns, ty)
        }
    )*};
}

extrema!(min max);
