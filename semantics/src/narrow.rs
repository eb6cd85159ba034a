//! Conversions to and from the formats of tensor units, and to packed types (ISA 9.7.9.21, 9.7.9.22).

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::{Bound, Modes, Written, rounding};
use crate::lanes::{LaneFns, map1, map2, map3};
use numerics as n;
use numerics::{Rounding, cvt};

pub(super) fn cvt(op: &Op, _: Written<'_>) -> Option<Bound> {
    if op.has(Modifier::Rs) {
        return None;
    }
    let (to, from) = (op.ty(0)?, op.ty(1)?);
    let bound = if op.has(Modifier::Pack) {
        return pack(to);
    } else if to == S::Tf32 && from == S::F32 {
        Bound::map(tf32(op)?, to, &[from])
    } else if from == S::F32 {
        Bound::map(from_two(op, to)?, to, &[from, from])
    } else {
        Bound::map(between_packed(to, from)?, to, &[from])
    };
    Some(bound?.modes(Modes::of(op)))
}

fn pack(to: S) -> Option<Bound> {
    let three = match to {
        S::U16 => {
            let fns = map2!(|a: u32, b: u32| -> u32 { cvt::pack_u16_s32(a, b) });
            return Bound::map(fns, S::U32, &[S::S32; 2]);
        }
        S::S16 => {
            let fns = map2!(|a: u32, b: u32| -> u32 { cvt::pack_s16_s32(a, b) });
            return Bound::map(fns, S::U32, &[S::S32; 2]);
        }
        S::U8 => map3!(|a: u32, b: u32, c: u32| -> u32 { cvt::pack_u8_s32(a, b, c) }),
        S::S8 => map3!(|a: u32, b: u32, c: u32| -> u32 { cvt::pack_s8_s32(a, b, c) }),
        S::U4 => map3!(|a: u32, b: u32, c: u32| -> u32 { cvt::pack_u4_s32(a, b, c) }),
        S::S4 => map3!(|a: u32, b: u32, c: u32| -> u32 { cvt::pack_s4_s32(a, b, c) }),
        S::U2 => map3!(|a: u32, b: u32, c: u32| -> u32 { cvt::pack_u2_s32(a, b, c) }),
        S::S2 => map3!(|a: u32, b: u32, c: u32| -> u32 { cvt::pack_s2_s32(a, b, c) }),
        _ => return None,
    };
    Bound::map(three, S::U32, &[S::S32, S::S32, S::B32])
}

fn tf32(op: &Op) -> Option<LaneFns> {
    if op.has(Modifier::Rna) {
        return Some(map1!(|a: u32, imm| -> u32 {
            if Modes::from_bits(imm).satfinite() {
                cvt::tf32_f32_rna_satfinite(a)
            } else {
                cvt::tf32_f32_rna(a)
            }
        }));
    }
    rounding(op)?;
    Some(map1!(|a: u32, imm| -> u32 {
        let modes = Modes::from_bits(imm);
        let r = cvt::tf32_f32(a, modes.rounding());
        let r = if modes.satfinite() { cvt::tf32_satfinite(r) } else { r };
        if modes.relu() { cvt::tf32_relu(r) } else { r }
    }))
}

macro_rules! halves {
    ($m:ident $f:ident $rounding:expr) => {
        map2!(|a: u32, b: u32, imm| -> u32 {
            let modes = Modes::from_bits(imm);
            let r = cvt::$f(a, b, $rounding);
            let r = if modes.relu() { n::$m::relu(r) } else { r };
            if modes.satfinite() { n::$m::satfinite(r) } else { r }
        })
    };
}

/// Two `.f32`, the first into the upper half.
fn from_two(op: &Op, to: S) -> Option<LaneFns> {
    macro_rules! tiny {
        ($f:ident $T:ty) => {
            map2!(|a: u32, b: u32, imm| -> $T { cvt::$f(a, b, Modes::from_bits(imm).relu()) })
        };
    }
    Some(match (to, rounding(op)?) {
        (S::F16x2, Rounding::Rn) => halves!(f16x2 f16x2_f32 Rounding::Rn),
        (S::F16x2, Rounding::Rz) => halves!(f16x2 f16x2_f32 Rounding::Rz),
        (S::Bf16x2, Rounding::Rn) => halves!(bf16x2 bf16x2_f32 Rounding::Rn),
        (S::Bf16x2, Rounding::Rz) => halves!(bf16x2 bf16x2_f32 Rounding::Rz),
        (S::E4m3x2, _) => tiny!(e4m3x2_f32 u16),
        (S::E5m2x2, _) => tiny!(e5m2x2_f32 u16),
        (S::E3m2x2, _) => tiny!(e3m2x2_f32 u16),
        (S::E2m3x2, _) => tiny!(e2m3x2_f32 u16),
        (S::E2m1x2, _) => tiny!(e2m1x2_f32 u8),
        (S::S2f6x2, _) => map2!(|a: u32, b: u32, imm| -> u16 {
            cvt::s2f6x2_f32(a, b, UNSCALED, Modes::from_bits(imm).relu())
        }),
        (S::Ue8m0x2, _) => map2!(|a: u32, b: u32, imm| -> u16 {
            let modes = Modes::from_bits(imm);
            cvt::ue8m0x2_f32(a, b, modes.rounding(), modes.satfinite())
        }),
        _ => return None,
    })
}

/// Scale factors of 1.
const UNSCALED: u16 = 0x7f7f;

fn between_packed(to: S, from: S) -> Option<LaneFns> {
    macro_rules! table {
        ($($S:ident $T:ident $from_f16x2:ident $from_bf16x2:ident $to_f16x2:ident $to_bf16x2:ident;)*) => {
            match (to, from) {
                $(
                    (S::$S, S::F16x2) => map1!(|a: u32, imm| -> $T {
                        cvt::$from_f16x2(a, Modes::from_bits(imm).relu())
                    }),
                    (S::$S, S::Bf16x2) => map1!(|a: u32, imm| -> $T {
                        cvt::$from_bf16x2(a, Modes::from_bits(imm).relu())
                    }),
                    (S::F16x2, S::$S) => map1!(|a: $T, imm| -> u32 {
                        let r = cvt::$to_f16x2(a);
                        if Modes::from_bits(imm).relu() { n::f16x2::relu(r) } else { r }
                    }),
                    (S::Bf16x2, S::$S) => map1!(|a: $T, imm| -> u32 {
                        let r = cvt::$to_bf16x2(a, UNSCALED);
                        if Modes::from_bits(imm).relu() { n::bf16x2::relu(r) } else { r }
                    }),
                )*
                (S::S2f6x2, S::Bf16x2) => map1!(|a: u32, imm| -> u16 {
                    cvt::s2f6x2_bf16x2(a, UNSCALED, Modes::from_bits(imm).relu())
                }),
                (S::Bf16x2, S::S2f6x2) => map1!(|a: u16, imm| -> u32 {
                    let r = cvt::bf16x2_s2f6x2(a, UNSCALED);
                    if Modes::from_bits(imm).relu() { n::bf16x2::relu(r) } else { r }
                }),
                (S::Ue8m0x2, S::Bf16x2) => map1!(|a: u32, imm| -> u16 {
                    let modes = Modes::from_bits(imm);
                    cvt::ue8m0x2_bf16x2(a, modes.rounding(), modes.satfinite())
                }),
                (S::Bf16x2, S::Ue8m0x2) => map1!(|a: u16| -> u32 { cvt::bf16x2_ue8m0x2(a) }),
                _ => return None,
            }
        };
    }
    Some(table! {
        E4m3x2 u16 e4m3x2_f16x2 e4m3x2_bf16x2 f16x2_e4m3x2 bf16x2_e4m3x2;
        E5m2x2 u16 e5m2x2_f16x2 e5m2x2_bf16x2 f16x2_e5m2x2 bf16x2_e5m2x2;
        E3m2x2 u16 e3m2x2_f16x2 e3m2x2_bf16x2 f16x2_e3m2x2 bf16x2_e3m2x2;
        E2m3x2 u16 e2m3x2_f16x2 e2m3x2_bf16x2 f16x2_e2m3x2 bf16x2_e2m3x2;
        E2m1x2 u8 e2m1x2_f16x2 e2m1x2_bf16x2 f16x2_e2m1x2 bf16x2_e2m1x2;
    })
}
