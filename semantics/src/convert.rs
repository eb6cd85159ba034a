//! Conversions between integers, `.f16`, `.bf16`, `.f32` and `.f64` (ISA 9.7.9.21).
//!
//! A narrow destination may be a wider register: results are `i8` or `i16` where the sign has to be
//! extended into it.

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::{Bound, Modes, Written, rounding, with_int_rounding, with_rounding};
use crate::lanes::{LaneFns, map1};
use numerics as n;
use numerics::cvt;

pub(super) fn cvt(op: &Op, _: Written<'_>) -> Option<Bound> {
    let (to, from) = (op.ty(0)?, op.ty(1)?);
    if op.has(Modifier::Pack) || to.lanes() > 1 || from.lanes() > 1 {
        return None;
    }
    let fns = match (to.is_float(), from.is_float()) {
        (false, false) if op.has(Modifier::Sat) => saturated_integer(to, from)?,
        (false, false) => integer(to, from)?,
        (false, true) => float_to_integer(to, from, op.int_rounding()?)?,
        (true, false) => integer_to_float(to, from, rounding(op)?)?,
        (true, true) => float(op, to, from)?,
    };
    Some(Bound::map(fns, to, &[from])?.modes(Modes::of(op)))
}

/// The modifiers that are steps on a result.
macro_rules! finished {
    ($m:ident, $modes:ident, $r:expr) => {{
        let r = $r;
        if $modes.sat() { n::$m::sat(r) } else { r }
    }};
    (half $m:ident, $modes:ident, $r:expr) => {{
        let r = finished!($m, $modes, $r);
        let r = if $modes.relu() { n::$m::relu(r) } else { r };
        if $modes.satfinite() { n::$m::satfinite(r) } else { r }
    }};
}

/// Runs an expression with `$T` as the Rust type of an integer.
macro_rules! with_value {
    ($ty:expr, $T:ident => $body:expr) => {
        with_value!($ty, $T => $body; U8 u8, S8 i8, U16 u16, S16 i16, U32 u32, S32 i32, U64 u64, S64 i64)
    };
    ($ty:expr, $T:ident => $body:expr; $($S:ident $V:ident),*) => {
        match $ty {
            $(S::$S => {
                type $T = $V;
                $body
            })*
            _ => return None,
        }
    };
}

fn integer(to: S, from: S) -> Option<LaneFns> {
    // Equal widths and narrowing do not depend on the source's sign.
    Some(with_value!(from, A => with_value!(to, D => map1!(|a: A| -> D { a as D }))))
}

fn saturated_integer(to: S, from: S) -> Option<LaneFns> {
    macro_rules! table {
        ($($S:ident $A:ident $A_bits:ident: $($D:ident $f:ident $bits:ident $V:ident),*;)*) => {
            match from {
                $(S::$S => match to {
                    $(S::$D => map1!(|a: $A| -> $V { cvt::$f(a as $A_bits) as $V }),)*
                    _ => return None,
                },)*
                _ => return None,
            }
        };
    }
    Some(table! {
        U8 u8 u8: U8 sat_u8_u8 u8 u8, S8 sat_s8_u8 u8 i8, U16 sat_u16_u8 u16 u16, S16 sat_s16_u8 u16 i16,
            U32 sat_u32_u8 u32 u32, S32 sat_s32_u8 u32 u32, U64 sat_u64_u8 u64 u64, S64 sat_s64_u8 u64 u64;
        S8 u8 u8: U8 sat_u8_s8 u8 u8, S8 sat_s8_s8 u8 i8, U16 sat_u16_s8 u16 u16, S16 sat_s16_s8 u16 i16,
            U32 sat_u32_s8 u32 u32, S32 sat_s32_s8 u32 u32, U64 sat_u64_s8 u64 u64, S64 sat_s64_s8 u64 u64;
        U16 u16 u16: U8 sat_u8_u16 u8 u8, S8 sat_s8_u16 u8 i8, U16 sat_u16_u16 u16 u16, S16 sat_s16_u16 u16 i16,
            U32 sat_u32_u16 u32 u32, S32 sat_s32_u16 u32 u32, U64 sat_u64_u16 u64 u64, S64 sat_s64_u16 u64 u64;
        S16 u16 u16: U8 sat_u8_s16 u8 u8, S8 sat_s8_s16 u8 i8, U16 sat_u16_s16 u16 u16, S16 sat_s16_s16 u16 i16,
            U32 sat_u32_s16 u32 u32, S32 sat_s32_s16 u32 u32, U64 sat_u64_s16 u64 u64, S64 sat_s64_s16 u64 u64;
        U32 u32 u32: U8 sat_u8_u32 u8 u8, S8 sat_s8_u32 u8 i8, U16 sat_u16_u32 u16 u16, S16 sat_s16_u32 u16 i16,
            U32 sat_u32_u32 u32 u32, S32 sat_s32_u32 u32 u32, U64 sat_u64_u32 u64 u64, S64 sat_s64_u32 u64 u64;
        S32 u32 u32: U8 sat_u8_s32 u8 u8, S8 sat_s8_s32 u8 i8, U16 sat_u16_s32 u16 u16, S16 sat_s16_s32 u16 i16,
            U32 sat_u32_s32 u32 u32, S32 sat_s32_s32 u32 u32, U64 sat_u64_s32 u64 u64, S64 sat_s64_s32 u64 u64;
        U64 u64 u64: U8 sat_u8_u64 u8 u8, S8 sat_s8_u64 u8 i8, U16 sat_u16_u64 u16 u16, S16 sat_s16_u64 u16 i16,
            U32 sat_u32_u64 u32 u32, S32 sat_s32_u64 u32 u32, U64 sat_u64_u64 u64 u64, S64 sat_s64_u64 u64 u64;
        S64 u64 u64: U8 sat_u8_s64 u8 u8, S8 sat_s8_s64 u8 i8, U16 sat_u16_s64 u16 u16, S16 sat_s16_s64 u16 i16,
            U32 sat_u32_s64 u32 u32, S32 sat_s32_s64 u32 u32, U64 sat_u64_s64 u64 u64, S64 sat_s64_s64 u64 u64;
    })
}

fn float_to_integer(to: S, from: S, rounding: n::IntRounding) -> Option<LaneFns> {
    macro_rules! table {
        ($($S:ident $V:ident $f32:ident $f64:ident $f16:ident $bf16:ident;)*) => {
            match (to, from) {
                $(
                    (S::$S, S::F32) => with_int_rounding!(rounding, R => map1!(|a: u32, imm| -> $V {
                        cvt::$f32(a, R, Modes::from_bits(imm).ftz()) as $V
                    })),
                    (S::$S, S::F64) => {
                        with_int_rounding!(rounding, R => map1!(|a: u64| -> $V { cvt::$f64(a, R) as $V }))
                    }
                    (S::$S, S::F16) => map1!(|a: u16, imm| -> $V {
                        cvt::$f16(a, Modes::from_bits(imm).int_rounding()) as $V
                    }),
                    (S::$S, S::Bf16) => map1!(|a: u16, imm| -> $V {
                        cvt::$bf16(a, Modes::from_bits(imm).int_rounding()) as $V
                    }),
                )*
                _ => return None,
            }
        };
    }
    Some(table! {
        U8 u8 u8_f32 u8_f64 u8_f16 u8_bf16;
        S8 i8 s8_f32 s8_f64 s8_f16 s8_bf16;
        U16 u16 u16_f32 u16_f64 u16_f16 u16_bf16;
        S16 i16 s16_f32 s16_f64 s16_f16 s16_bf16;
        U32 u32 u32_f32 u32_f64 u32_f16 u32_bf16;
        S32 u32 s32_f32 s32_f64 s32_f16 s32_bf16;
        U64 u64 u64_f32 u64_f64 u64_f16 u64_bf16;
        S64 u64 s64_f32 s64_f64 s64_f16 s64_bf16;
    })
}

fn integer_to_float(to: S, from: S, rounding: n::Rounding) -> Option<LaneFns> {
    use n::Rounding::Rn;
    macro_rules! table {
        ($($S:ident $A:ident $f32:ident $f64:ident $f16:ident $bf16:ident;)*) => {
            match (to, from, rounding) {
                $(
                    (S::F32, S::$S, Rn) => map1!(|a: $A, imm| -> u32 {
                        let modes = Modes::from_bits(imm);
                        finished!(f32, modes, cvt::$f32(a, Rn))
                    }),
                    (S::F64, S::$S, Rn) => map1!(|a: $A, imm| -> u64 {
                        let modes = Modes::from_bits(imm);
                        finished!(f64, modes, cvt::$f64(a, Rn))
                    }),
                    (S::F32, S::$S, _) => map1!(|a: $A, imm| -> u32 {
                        let modes = Modes::from_bits(imm);
                        finished!(f32, modes, cvt::$f32(a, modes.rounding()))
                    }),
                    (S::F64, S::$S, _) => map1!(|a: $A, imm| -> u64 {
                        let modes = Modes::from_bits(imm);
                        finished!(f64, modes, cvt::$f64(a, modes.rounding()))
                    }),
                    (S::F16, S::$S, _) => map1!(|a: $A, imm| -> u16 {
                        let modes = Modes::from_bits(imm);
                        finished!(f16, modes, cvt::$f16(a, modes.rounding()))
                    }),
                    (S::Bf16, S::$S, _) => map1!(|a: $A, imm| -> u16 {
                        let modes = Modes::from_bits(imm);
                        finished!(bf16, modes, cvt::$bf16(a, modes.rounding()))
                    }),
                )*
                _ => return None,
            }
        };
    }
    Some(table! {
        U8 u8 f32_u8 f64_u8 f16_u8 bf16_u8;
        S8 u8 f32_s8 f64_s8 f16_s8 bf16_s8;
        U16 u16 f32_u16 f64_u16 f16_u16 bf16_u16;
        S16 u16 f32_s16 f64_s16 f16_s16 bf16_s16;
        U32 u32 f32_u32 f64_u32 f16_u32 bf16_u32;
        S32 u32 f32_s32 f64_s32 f16_s32 bf16_s32;
        U64 u64 f32_u64 f64_u64 f16_u64 bf16_u64;
        S64 u64 f32_s64 f64_s64 f16_s64 bf16_s64;
    })
}

/// Between float types, and to an integral value in the same one.
fn float(op: &Op, to: S, from: S) -> Option<LaneFns> {
    if to == from {
        return match op.int_rounding() {
            Some(rounding) => integral(to, rounding),
            None => same(to),
        };
    }
    Some(match (to, from) {
        (S::F32, S::F64) => with_rounding!(rounding(op)?, R => map1!(|a: u64, imm| -> u32 {
            let modes = Modes::from_bits(imm);
            finished!(f32, modes, cvt::f32_f64(a, R, modes.ftz()))
        })),
        (S::F64, S::F32) => map1!(|a: u32, imm| -> u64 {
            let modes = Modes::from_bits(imm);
            finished!(f64, modes, cvt::f64_f32(a, modes.ftz()))
        }),
        (S::F16, S::F32) => with_rounding!(rounding(op)?, R => map1!(|a: u32, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(half f16, modes, cvt::f16_f32(a, R))
        })),
        (S::Bf16, S::F32) => with_rounding!(rounding(op)?, R => map1!(|a: u32, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(half bf16, modes, cvt::bf16_f32(a, R, modes.ftz()))
        })),
        (S::F32, S::F16) => map1!(|a: u16, imm| -> u32 {
            let modes = Modes::from_bits(imm);
            finished!(f32, modes, cvt::f32_f16(a))
        }),
        (S::F32, S::Bf16) => map1!(|a: u16, imm| -> u32 {
            let modes = Modes::from_bits(imm);
            finished!(f32, modes, cvt::f32_bf16(a, modes.ftz()))
        }),
        (S::F64, S::F16) => map1!(|a: u16, imm| -> u64 {
            let modes = Modes::from_bits(imm);
            finished!(f64, modes, cvt::f64_f16(a))
        }),
        (S::F64, S::Bf16) => map1!(|a: u16, imm| -> u64 {
            let modes = Modes::from_bits(imm);
            finished!(f64, modes, cvt::f64_bf16(a))
        }),
        (S::F16, S::F64) => map1!(|a: u64, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(f16, modes, cvt::f16_f64(a, modes.rounding()))
        }),
        (S::Bf16, S::F64) => map1!(|a: u64, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(bf16, modes, cvt::bf16_f64(a, modes.rounding()))
        }),
        (S::F16, S::Bf16) => map1!(|a: u16, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(f16, modes, cvt::f16_bf16(a, modes.rounding()))
        }),
        (S::Bf16, S::F16) => map1!(|a: u16, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(bf16, modes, cvt::bf16_f16(a, modes.rounding()))
        }),
        _ => return None,
    })
}

/// The nearest integral value in the same type.
fn integral(ty: S, rounding: n::IntRounding) -> Option<LaneFns> {
    Some(match ty {
        S::F32 => with_int_rounding!(rounding, R => map1!(|a: u32, imm| -> u32 {
            let modes = Modes::from_bits(imm);
            finished!(f32, modes, cvt::round_f32(a, R, modes.ftz()))
        })),
        S::F64 => with_int_rounding!(rounding, R => map1!(|a: u64, imm| -> u64 {
            let modes = Modes::from_bits(imm);
            finished!(f64, modes, cvt::round_f64(a, R))
        })),
        S::F16 => map1!(|a: u16, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(f16, modes, cvt::round_f16(a, modes.int_rounding()))
        }),
        S::Bf16 => map1!(|a: u16, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(bf16, modes, cvt::round_bf16(a, modes.int_rounding()))
        }),
        _ => return None,
    })
}

/// A type to itself.
fn same(ty: S) -> Option<LaneFns> {
    Some(match ty {
        S::F32 => map1!(|a: u32, imm| -> u32 {
            let modes = Modes::from_bits(imm);
            finished!(f32, modes, cvt::f32_f32(a, modes.ftz()))
        }),
        S::F64 => map1!(|a: u64, imm| -> u64 {
            let modes = Modes::from_bits(imm);
            finished!(f64, modes, a)
        }),
        S::F16 => map1!(|a: u16, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(f16, modes, cvt::f16_f16(a))
        }),
        S::Bf16 => map1!(|a: u16, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            finished!(bf16, modes, n::bf16::canonical(a))
        }),
        _ => return None,
    })
}
