//! Conversions.

use super::{Bench, ROUNDINGS, bits, clamp, range, value};
use numerics::{self as n, IntRounding, Rounding};

#[test]
fn conversions_between_integers() {
    let bench = Bench::new();
    let all = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    for to in all {
        for from in all {
            // Narrow types live in wider registers, into which results are extended.
            let register = |ty: &str| if bits(ty) == 8 { format!("{}32", &ty[..1]) } else { ty.to_owned() };
            let types = format!("{} {}", register(to), register(from));
            bench
                .check(&format!("cvt.{to}.{from}"), &types, |v| value(value(v[0], from) as u128, to) as u128);
            let (low, high) = range(from);
            if clamp(low, to) != low || clamp(high, to) != high {
                bench
                    .check(&format!("cvt.sat.{to}.{from}"), &types, |v| clamp(value(v[0], from), to) as u128);
            }
        }
    }
}

#[test]
fn conversions_of_floats() {
    use n::cvt;
    let bench = Bench::new();
    for (word, r) in [
        (".rni", IntRounding::Rni),
        (".rzi", IntRounding::Rzi),
        (".rmi", IntRounding::Rmi),
        (".rpi", IntRounding::Rpi),
    ] {
        bench.check(&format!("cvt{word}.s32.f32"), "s32 f32", |v| cvt::s32_f32(v[0] as u32, r, false).into());
        bench.check(&format!("cvt{word}.ftz.u64.f32"), "u64 f32", |v| {
            cvt::u64_f32(v[0] as u32, r, true).into()
        });
        bench.check(&format!("cvt{word}.s64.f64"), "s64 f64", |v| cvt::s64_f64(v[0] as u64, r).into());
        bench.check(&format!("cvt{word}.s8.f32"), "s32 f32", |v| {
            value(cvt::s8_f32(v[0] as u32, r, false).into(), "s8") as u128
        });
        bench.check(&format!("cvt{word}.u16.f16"), "u16 f16", |v| cvt::u16_f16(v[0] as u16, r).into());
        bench.check(&format!("cvt{word}.s32.bf16"), "s32 bf16", |v| cvt::s32_bf16(v[0] as u16, r).into());
        bench.check(&format!("cvt{word}.ftz.sat.f32.f32"), "f32 f32", |v| {
            n::f32::sat(cvt::round_f32(v[0] as u32, r, true)).into()
        });
        bench.check(&format!("cvt{word}.f64.f64"), "f64 f64", |v| cvt::round_f64(v[0] as u64, r).into());
        bench.check(&format!("cvt{word}.f16.f16"), "f16 f16", |v| cvt::round_f16(v[0] as u16, r).into());
    }
    for (word, r) in ROUNDINGS {
        bench.check(&format!("cvt{word}.f32.s32"), "f32 s32", |v| cvt::f32_s32(v[0] as u32, r).into());
        bench.check(&format!("cvt{word}.sat.f32.u64"), "f32 u64", |v| {
            n::f32::sat(cvt::f32_u64(v[0] as u64, r)).into()
        });
        bench.check(&format!("cvt{word}.f64.s64"), "f64 s64", |v| cvt::f64_s64(v[0] as u64, r).into());
        bench.check(&format!("cvt{word}.f64.u8"), "f64 u32", |v| cvt::f64_u8(v[0] as u8, r).into());
        bench.check(&format!("cvt{word}.f16.s16"), "f16 s16", |v| cvt::f16_s16(v[0] as u16, r).into());
        bench.check(&format!("cvt{word}.bf16.u32"), "bf16 u32", |v| cvt::bf16_u32(v[0] as u32, r).into());
        bench.check(&format!("cvt{word}.f32.f64"), "f32 f64", |v| cvt::f32_f64(v[0] as u64, r, false).into());
        bench.check(&format!("cvt{word}.ftz.f32.f64"), "f32 f64", |v| {
            cvt::f32_f64(v[0] as u64, r, true).into()
        });
        bench.check(&format!("cvt{word}.ftz.sat.f16.f32"), "f16 f32", |v| {
            n::f16::sat(cvt::f16_f32(v[0] as u32, r)).into()
        });
        bench.check(&format!("cvt{word}.f16.f64"), "f16 f64", |v| cvt::f16_f64(v[0] as u64, r).into());
        bench.check(&format!("cvt{word}.bf16.f16"), "bf16 f16", |v| cvt::bf16_f16(v[0] as u16, r).into());
    }
    for (word, r) in &ROUNDINGS[..2] {
        bench.check(&format!("cvt{word}.relu.satfinite.f16.f32"), "f16 f32", |v| {
            n::f16::satfinite(n::f16::relu(cvt::f16_f32(v[0] as u32, *r))).into()
        });
        bench.check(&format!("cvt{word}.relu.bf16.f32"), "bf16 f32", |v| {
            n::bf16::relu(cvt::bf16_f32(v[0] as u32, *r, false)).into()
        });
        bench.check(&format!("cvt{word}.f16x2.f32"), "f16x2 f32 f32", |v| {
            cvt::f16x2_f32(v[0] as u32, v[1] as u32, *r).into()
        });
        bench.check(&format!("cvt{word}.relu.satfinite.bf16x2.f32"), "bf16x2 f32 f32", |v| {
            let r = cvt::bf16x2_f32(v[0] as u32, v[1] as u32, *r);
            n::bf16x2::satfinite(n::bf16x2::relu(r)).into()
        });
        bench.check(&format!("cvt{word}.relu.tf32.f32"), "b32 f32", |v| {
            cvt::tf32_relu(cvt::tf32_f32(v[0] as u32, *r)).into()
        });
    }
    bench.check("cvt.rna.satfinite.tf32.f32", "b32 f32", |v| cvt::tf32_f32_rna_satfinite(v[0] as u32).into());
    bench.check("cvt.f32.f16", "f32 f16", |v| cvt::f32_f16(v[0] as u16).into());
    bench.check("cvt.ftz.f64.f32", "f64 f32", |v| cvt::f64_f32(v[0] as u32, true).into());
    bench.check("cvt.f32.bf16", "f32 bf16", |v| cvt::f32_bf16(v[0] as u16, false).into());
    bench.check("cvt.sat.f64.f16", "f64 f16", |v| n::f64::sat(cvt::f64_f16(v[0] as u16)).into());
    bench.check("cvt.ftz.f32.f32", "f32 f32", |v| cvt::f32_f32(v[0] as u32, true).into());
    bench.check("cvt.f16.f16", "f16 f16", |v| cvt::f16_f16(v[0] as u16).into());
    bench.check("cvt.rn.satfinite.relu.e4m3x2.f32", "e4m3x2 f32 f32", |v| {
        cvt::e4m3x2_f32(v[0] as u32, v[1] as u32, true).into()
    });
    bench.check("cvt.rn.satfinite.e5m2x2.f16x2", "e5m2x2 f16x2", |v| {
        cvt::e5m2x2_f16x2(v[0] as u32, false).into()
    });
    bench.check("cvt.rn.relu.f16x2.e4m3x2", "f16x2 e4m3x2", |v| {
        n::f16x2::relu(cvt::f16x2_e4m3x2(v[0] as u16)).into()
    });
    bench.check("cvt.rn.satfinite.e2m1x2.f32", "e2m1x2 f32 f32", |v| {
        cvt::e2m1x2_f32(v[0] as u32, v[1] as u32, false).into()
    });
    bench.check("cvt.rp.satfinite.ue8m0x2.f32", "ue8m0x2 f32 f32", |v| {
        cvt::ue8m0x2_f32(v[0] as u32, v[1] as u32, Rounding::Rp, true).into()
    });
    bench
        .check("cvt.pack.sat.s16.s32", "u32 s32 s32", |v| cvt::pack_s16_s32(v[0] as u32, v[1] as u32).into());
    bench.check("cvt.pack.sat.u4.s32.b32", "u32 s32 s32 b32", |v| {
        cvt::pack_u4_s32(v[0] as u32, v[1] as u32, v[2] as u32).into()
    });
}
