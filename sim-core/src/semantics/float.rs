//! Floating-point arithmetic (ISA 9.7.3 to 9.7.5).

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::{Bound, Written};
use crate::lanes::{map2, map3};

fn plain(op: &Op) -> bool {
    !op.has(Modifier::Ftz)
        && !op.has(Modifier::Sat)
        && matches!(op.rounding(), None | Some(ptx_frontend::Rounding::Rn))
}

pub(super) fn add(op: &Op, _: Written) -> Option<Bound> {
    match op.ty(0)? {
        S::F32 if plain(op) => Bound::binary(map2!(|a: f32, b: f32| -> f32 { a + b }), S::F32),
        S::F64 if plain(op) => Bound::binary(map2!(|a: f64, b: f64| -> f64 { a + b }), S::F64),
        _ => None,
    }
}

pub(super) fn sub(op: &Op, _: Written) -> Option<Bound> {
    match op.ty(0)? {
        S::F32 if plain(op) => Bound::binary(map2!(|a: f32, b: f32| -> f32 { a - b }), S::F32),
        S::F64 if plain(op) => Bound::binary(map2!(|a: f64, b: f64| -> f64 { a - b }), S::F64),
        _ => None,
    }
}

pub(super) fn mul(op: &Op, _: Written) -> Option<Bound> {
    match op.ty(0)? {
        S::F32 if plain(op) => Bound::binary(map2!(|a: f32, b: f32| -> f32 { a * b }), S::F32),
        S::F64 if plain(op) => Bound::binary(map2!(|a: f64, b: f64| -> f64 { a * b }), S::F64),
        _ => None,
    }
}

pub(super) fn fma(op: &Op, _: Written) -> Option<Bound> {
    match op.ty(0)? {
        S::F32 if plain(op) => {
            Bound::ternary(map3!(|a: f32, b: f32, c: f32| -> f32 { a.mul_add(b, c) }), S::F32)
        }
        S::F64 if plain(op) => {
            Bound::ternary(map3!(|a: f64, b: f64, c: f64| -> f64 { a.mul_add(b, c) }), S::F64)
        }
        _ => None,
    }
}
