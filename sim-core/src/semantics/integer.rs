//! Integer arithmetic (ISA 9.7.1); the entry points also dispatch to floating point.

use ptx_frontend::{Modifier, Modifiers, Op};

use super::{Bound, Role, Written, float, with_int};
use crate::lanes::{map2, map3};
use ptx_frontend::ScalarType as S;

pub(super) fn add(op: &Op, written: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty.is_float() {
        return float::add(op, written);
    }
    if !plain(op) {
        return None;
    }
    Bound::binary(with_int!(ty, T => map2!(|a: T, b: T| -> T { a.wrapping_add(b) })), ty)
}

pub(super) fn sub(op: &Op, written: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty.is_float() {
        return float::sub(op, written);
    }
    if !plain(op) {
        return None;
    }
    Bound::binary(with_int!(ty, T => map2!(|a: T, b: T| -> T { a.wrapping_sub(b) })), ty)
}

/// Neither saturating, nor carrying, nor packed.
fn plain(op: &Op) -> bool {
    !op.has(Modifier::Sat) && !op.has(Modifier::Cc) && op.ty(0).is_some_and(|ty| ty.lanes() == 1)
}

pub(super) fn mul(op: &Op, written: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty.is_float() {
        return float::mul(op, written);
    }
    if op.has(Modifier::Wide) {
        let wide = wide_type(ty)?;
        let fns = match ty {
            S::U16 => map2!(|a: u16, b: u16| -> u32 { a as u32 * b as u32 }),
            S::S16 => map2!(|a: i16, b: i16| -> i32 { a as i32 * b as i32 }),
            S::U32 => map2!(|a: u32, b: u32| -> u64 { a as u64 * b as u64 }),
            S::S32 => map2!(|a: i32, b: i32| -> i64 { a as i64 * b as i64 }),
            _ => return None,
        };
        return Bound::new(fns, &[Role::Dst(wide), Role::Src(ty), Role::Src(ty)]);
    }
    if op.has(Modifier::Hi) {
        return None;
    }
    Bound::binary(with_int!(ty, T => map2!(|a: T, b: T| -> T { a.wrapping_mul(b) })), ty)
}

pub(super) fn mad(op: &Op, written: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty.is_float() {
        return float::fma(op, written);
    }
    if op.has(Modifier::Wide) {
        let wide = wide_type(ty)?;
        let fns = match ty {
            S::U16 => map3!(|a: u16, b: u16, c: u32| -> u32 { (a as u32 * b as u32).wrapping_add(c) }),
            S::S16 => map3!(|a: i16, b: i16, c: i32| -> i32 { (a as i32 * b as i32).wrapping_add(c) }),
            S::U32 => map3!(|a: u32, b: u32, c: u64| -> u64 { (a as u64 * b as u64).wrapping_add(c) }),
            S::S32 => map3!(|a: i32, b: i32, c: i64| -> i64 { (a as i64 * b as i64).wrapping_add(c) }),
            _ => return None,
        };
        return Bound::new(fns, &[Role::Dst(wide), Role::Src(ty), Role::Src(ty), Role::Src(wide)]);
    }
    if op.has(Modifier::Hi) || !plain(op) {
        return None;
    }
    Bound::ternary(
        with_int!(ty, T => map3!(|a: T, b: T, c: T| -> T { a.wrapping_mul(b).wrapping_add(c) })),
        ty,
    )
}

/// The result type of `.wide`.
fn wide_type(ty: S) -> Option<S> {
    Some(match ty {
        S::U16 => S::U32,
        S::S16 => S::S32,
        S::U32 => S::U64,
        S::S32 => S::S64,
        _ => return None,
    })
}
