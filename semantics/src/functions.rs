//! Division, roots, reciprocals and the approximate functions (ISA 9.7.3.8 to 9.7.3.22, 9.7.4.9,
//! 9.7.4.10).

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::{Bound, Written, ftz, rounding, with_flag, with_rounding};
use crate::lanes::{map1, map2};
use numerics as n;
use numerics::approx;

/// What the form says of accuracy.
enum Accuracy {
    Full,
    Approximate,
    Rounded(n::Rounding),
}

fn accuracy(op: &Op) -> Option<Accuracy> {
    if op.has(Modifier::Full) {
        Some(Accuracy::Full)
    } else if op.has(Modifier::Approx) {
        Some(Accuracy::Approximate)
    } else {
        op.rounding()?;
        rounding(op).map(Accuracy::Rounded)
    }
}

pub(super) fn div(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match (ty, accuracy(op)?) {
        (S::F32, Accuracy::Full) => with_flag!(ftz(op), FTZ => {
            map2!(|a: u32, b: u32| -> u32 { approx::div_full_f32(a, b, FTZ) })
        }),
        (S::F32, Accuracy::Approximate) => with_flag!(ftz(op), FTZ => {
            map2!(|a: u32, b: u32| -> u32 { approx::div_f32(a, b, FTZ) })
        }),
        (S::F32, Accuracy::Rounded(rounding)) => with_rounding!(rounding, R => with_flag!(ftz(op), FTZ => {
            map2!(|a: u32, b: u32| -> u32 { n::f32::div(a, b, R, FTZ) })
        })),
        (S::F64, Accuracy::Rounded(rounding)) => with_rounding!(rounding, R => {
            map2!(|a: u64, b: u64| -> u64 { n::f64::div(a, b, R) })
        }),
        _ => return None,
    };
    Bound::binary(fns, ty)
}

macro_rules! roots {
    ($($name:ident $approximate:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let ty = op.ty(0)?;
            let fns = match (ty, accuracy(op)?) {
                (S::F32, Accuracy::Approximate) => with_flag!(ftz(op), FTZ => {
                    map1!(|a: u32| -> u32 { approx::$approximate(a, FTZ) })
                }),
                (S::F32, Accuracy::Rounded(rounding)) => with_rounding!(rounding, R => with_flag!(ftz(op), FTZ => {
                    map1!(|a: u32| -> u32 { n::f32::$name(a, R, FTZ) })
                })),
                (S::F64, Accuracy::Rounded(rounding)) => with_rounding!(rounding, R => {
                    map1!(|a: u64| -> u64 { n::f64::$name(a, R) })
                }),
                (S::F64, Accuracy::Approximate) if stringify!($name) == "rcp" && ftz(op) => {
                    map1!(|a: u64| -> u64 { approx::rcp_f64(a) })
                }
                _ => return None,
            };
            Bound::unary(fns, ty)
        }
    )*};
}

roots!(rcp rcp_f32 sqrt sqrt_f32);

pub(super) fn rsqrt(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match (ty, ftz(op)) {
        (S::F32, _) => with_flag!(ftz(op), FTZ => map1!(|a: u32| -> u32 { approx::rsqrt_f32(a, FTZ) })),
        (S::F64, true) => map1!(|a: u64| -> u64 { approx::rsqrt_ftz_f64(a) }),
        (S::F64, false) => map1!(|a: u64| -> u64 { approx::rsqrt_f64(a) }),
        _ => return None,
    };
    Bound::unary(fns, ty)
}

macro_rules! approximate {
    ($($name:ident $f:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            match op.ty(0)? {
                S::F32 => Bound::unary(
                    with_flag!(ftz(op), FTZ => map1!(|a: u32| -> u32 { approx::$f(a, FTZ) })),
                    S::F32,
                ),
                _ => None,
            }
        }
    )*};
}

approximate!(sin sin_f32 cos cos_f32 lg2 lg2_f32);

pub(super) fn ex2(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty {
        S::F32 => with_flag!(ftz(op), FTZ => map1!(|a: u32| -> u32 { approx::ex2_f32(a, FTZ) })),
        S::F16 => map1!(|a: u16| -> u16 { approx::ex2_f16(a) }),
        S::Bf16 => map1!(|a: u16| -> u16 { approx::ex2_bf16(a) }),
        S::F16x2 => map1!(|a: u32| -> u32 { approx::ex2_f16x2(a) }),
        S::Bf16x2 => map1!(|a: u32| -> u32 { approx::ex2_bf16x2(a) }),
        _ => return None,
    };
    Bound::unary(fns, ty)
}

pub(super) fn tanh(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty {
        S::F32 => map1!(|a: u32| -> u32 { approx::tanh_f32(a) }),
        S::F16 => map1!(|a: u16| -> u16 { approx::tanh_f16(a) }),
        S::Bf16 => map1!(|a: u16| -> u16 { approx::tanh_bf16(a) }),
        S::F16x2 => map1!(|a: u32| -> u32 { approx::tanh_f16x2(a) }),
        S::Bf16x2 => map1!(|a: u32| -> u32 { approx::tanh_bf16x2(a) }),
        _ => return None,
    };
    Bound::unary(fns, ty)
}
