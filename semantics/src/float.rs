//! Single- and double-precision arithmetic (ISA 9.7.3) and mixed precision (ISA 9.7.5).

use ptx_frontend::{Modifier, Modifiers, Op, Operand, ScalarType as S};

use super::dispatch::with_variants;
use super::{
    Bound, CONTRACTED_DIV_APPROX, CONTRACTED_DIV_FULL, Modes, Role, Written, ftz, rounding, sat, with_flag,
    with_rounding,
};
use crate::lanes::{map1, map2, map3, test1};
use numerics as n;

macro_rules! saturated {
    ($sat:expr, $r:expr) => {{
        let r = $r;
        if $sat { n::f32::sat(r) } else { r }
    }};
}

/// A sum that took a product or an approximate quotient in: by contraction.
fn contracted(op: &Op, written: Written<'_>) -> Option<Bound> {
    let [minus_a, minus_c] = written.signs();
    // (a op b) + c, where the operation gives two factors.
    macro_rules! sum_of {
        ($factors:expr) => {
            with_flag!(ftz(op), FTZ => with_flag!(sat(op), SAT => with_flag!(minus_a, A => with_flag!(minus_c, C => {
                map3!(|a: u32, b: u32, c: u32| -> u32 {
                    let (a, b) = $factors(a ^ (A as u32) << 31, b, FTZ);
                    saturated!(SAT, n::f32::fma(a, b, c ^ (C as u32) << 31, n::Rounding::Rn, FTZ))
                })
            }))))
        };
    }
    match op.ty(0)? {
        S::F32 => {
            let fns = match written.operands.get(4) {
                None => sum_of!(|a, b, _| (a, b)),
                Some(Operand::Integer(CONTRACTED_DIV_APPROX)) => sum_of!(n::approx::div_factors_f32),
                Some(Operand::Integer(CONTRACTED_DIV_FULL)) => sum_of!(n::approx::div_full_factors_f32),
                _ => return None,
            };
            Bound::ternary(fns, S::F32)
        }
        S::F64 => Bound::ternary(
            with_flag!(minus_a, A => with_flag!(minus_c, C => {
                map3!(|a: u64, b: u64, c: u64| -> u64 {
                    n::f64::fma(a ^ (A as u64) << 63, b, c ^ (C as u64) << 63, n::Rounding::Rn)
                })
            })),
            S::F64,
        ),
        _ => None,
    }
}

macro_rules! arithmetic {
    ($($name:ident)*) => {$(
        pub(super) fn $name(op: &Op, written: Written<'_>) -> Option<Bound> {
            if written.operands.len() > 3 {
                return contracted(op, written);
            }
            let rounding = rounding(op)?;
            match (op.ty(0)?, op.ty(1)) {
                (S::F32, None) => Bound::binary(
                    with_rounding!(rounding, R => with_flag!(ftz(op), FTZ => with_flag!(sat(op), SAT => {
                        map2!(|a: u32, b: u32| -> u32 { saturated!(SAT, n::f32::$name(a, b, R, FTZ)) })
                    }))),
                    S::F32,
                ),
                (S::F64, None) => Bound::binary(
                    with_rounding!(rounding, R => map2!(|a: u64, b: u64| -> u64 { n::f64::$name(a, b, R) })),
                    S::F64,
                ),
                (S::F32x2, None) => {
                    let fns = map2!(|a: u64, b: u64, imm| -> u64 {
                        let modes = Modes::from_bits(imm);
                        n::f32x2::$name(a, b, modes.rounding(), modes.ftz())
                    });
                    Some(Bound::binary(fns, S::F32x2)?.modes(Modes::of(op)))
                }
                _ => None,
            }
        }
    )*};
}

macro_rules! mixed {
    ($($name:ident $mixed:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let fns = match (op.ty(0)?, op.ty(1)) {
                (S::F32, Some(S::F16)) => map2!(|a: u16, b: u32, imm| -> u32 {
                    let modes = Modes::from_bits(imm);
                    saturated!(modes.sat(), n::f16::$mixed(a, b, modes.rounding()))
                }),
                (S::F32, Some(S::Bf16)) => map2!(|a: u16, b: u32, imm| -> u32 {
                    let modes = Modes::from_bits(imm);
                    saturated!(modes.sat(), n::bf16::$mixed(a, b, modes.rounding()))
                }),
                _ => return None,
            };
            Some(Bound::map(fns, S::F32, &[S::F16, S::F32])?.modes(Modes::of(op)))
        }
    )*};
}

arithmetic!(add sub mul);
mixed!(add_mixed add_f32 sub_mixed sub_f32);

/// `fma`, and `mad` of floats, which is the same.
pub(super) fn fma(op: &Op, _: Written<'_>) -> Option<Bound> {
    let rounding = rounding(op)?;
    let modes = Modes::of(op);
    match (op.ty(0)?, op.ty(1)) {
        (S::F32, None) => Bound::ternary(
            with_rounding!(rounding, R => with_flag!(ftz(op), FTZ => with_flag!(sat(op), SAT => {
                map3!(|a: u32, b: u32, c: u32| -> u32 { saturated!(SAT, n::f32::fma(a, b, c, R, FTZ)) })
            }))),
            S::F32,
        ),
        (S::F64, None) => Bound::ternary(
            with_rounding!(rounding, R => map3!(|a: u64, b: u64, c: u64| -> u64 { n::f64::fma(a, b, c, R) })),
            S::F64,
        ),
        (S::F32x2, None) => {
            let fns = map3!(|a: u64, b: u64, c: u64, imm| -> u64 {
                let modes = Modes::from_bits(imm);
                n::f32x2::fma(a, b, c, modes.rounding(), modes.ftz())
            });
            Some(Bound::ternary(fns, S::F32x2)?.modes(modes))
        }
        (S::F32, Some(half)) => {
            let fns = match half {
                S::F16 => map3!(|a: u16, b: u16, c: u32, imm| -> u32 {
                    let modes = Modes::from_bits(imm);
                    saturated!(modes.sat(), n::f16::fma_f32(a, b, c, modes.rounding()))
                }),
                S::Bf16 => map3!(|a: u16, b: u16, c: u32, imm| -> u32 {
                    let modes = Modes::from_bits(imm);
                    saturated!(modes.sat(), n::bf16::fma_f32(a, b, c, modes.rounding()))
                }),
                _ => return None,
            };
            Some(Bound::map(fns, S::F32, &[half, half, S::F32])?.modes(modes))
        }
        _ => None,
    }
}

macro_rules! signs {
    ($($name:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            match op.ty(0)? {
                S::F32 => Bound::unary(
                    with_flag!(ftz(op), FTZ => map1!(|a: u32| -> u32 { n::f32::$name(a, FTZ) })),
                    S::F32,
                ),
                S::F64 => Bound::unary(map1!(|a: u64| -> u64 { n::f64::$name(a) }), S::F64),
                _ => None,
            }
        }
    )*};
}

signs!(abs neg);

macro_rules! extrema {
    ($($name:ident $three:ident $xorsign:ident)*) => {$(
        pub(super) fn $name(op: &Op, written: Written<'_>) -> Option<Bound> {
            let modes = Modes::of(op);
            let bound = match op.ty(0)? {
                S::F64 => return Bound::binary(map2!(|a: u64, b: u64| -> u64 { n::f64::$name(a, b) }), S::F64),
                S::F32 if written.operands.len() == 4 => Bound::ternary(
                    map3!(|a: u32, b: u32, c: u32, imm| -> u32 {
                        let modes = Modes::from_bits(imm);
                        n::f32::$three(a, b, c, modes.nan(), modes.abs(), modes.ftz())
                    }),
                    S::F32,
                ),
                S::F32 if op.has(Modifier::Xorsign) => Bound::binary(
                    map2!(|a: u32, b: u32, imm| -> u32 {
                        let modes = Modes::from_bits(imm);
                        n::f32::$xorsign(a, b, modes.nan(), modes.ftz())
                    }),
                    S::F32,
                ),
                S::F32 => Bound::binary(
                    map2!(|a: u32, b: u32, imm| -> u32 {
                        let modes = Modes::from_bits(imm);
                        n::f32::$name(a, b, modes.nan(), modes.ftz())
                    }),
                    S::F32,
                ),
                _ => None,
            };
            Some(bound?.modes(modes))
        }
    )*};
}

extrema!(min min3 min_xorsign_abs max max3 max_xorsign_abs);

pub(super) fn copysign(op: &Op, _: Written<'_>) -> Option<Bound> {
    match op.ty(0)? {
        S::F32 => Bound::binary(map2!(|a: u32, b: u32| -> u32 { n::f32::copysign(a, b) }), S::F32),
        S::F64 => Bound::binary(map2!(|a: u64, b: u64| -> u64 { n::f64::copysign(a, b) }), S::F64),
        _ => None,
    }
}

pub(super) fn testp(op: &Op, _: Written<'_>) -> Option<Bound> {
    let tests = [
        (Modifier::Finite, n::TestP::Finite),
        (Modifier::Infinite, n::TestP::Infinite),
        (Modifier::Number, n::TestP::Number),
        (Modifier::Notanumber, n::TestP::NotANumber),
        (Modifier::Normal, n::TestP::Normal),
        (Modifier::Subnormal, n::TestP::Subnormal),
    ];
    let (_, test) = *tests.iter().find(|&&(modifier, _)| op.has(modifier))?;
    let ty = op.ty(0)?;
    let fns = with_variants!(test, TEST: n::TestP => match ty {
        S::F32 => test1!(|a: u32, _imm| { n::f32::testp(a, TEST) }),
        S::F64 => test1!(|a: u64, _imm| { n::f64::testp(a, TEST) }),
        _ => return None,
    }; Finite Infinite Number NotANumber Normal Subnormal);
    Bound::new(fns, &[Role::PredDst, Role::Src(ty)])
}
