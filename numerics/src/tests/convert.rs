//! `cvt` against `rustc_apfloat`, exact integers, and nearest-value searches over whole formats.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::super::{IntRounding, Rounding, cvt, f32 as single};
use super::{Rng, same};

const CASES: usize = 40_000;

fn round(r: Rounding) -> Round {
    match r {
        Rounding::Rn => Round::NearestTiesToEven,
        Rounding::Rz => Round::TowardZero,
        Rounding::Rm => Round::TowardNegative,
        Rounding::Rp => Round::TowardPositive,
    }
}

fn int_round(r: IntRounding) -> Round {
    round(r.into())
}

fn bits<F: Float>(x: F, nan: u64) -> u64 {
    if x.is_nan() { nan } else { x.to_bits() as u64 }
}

fn narrowed<A: Float + FloatConvert<B>, B: Float>(a: A, r: Rounding, nan: u64) -> u64 {
    bits(a.convert_r(round(r), &mut false).value, nan)
}

#[test]
fn float_to_float() {
    let mut rng = Rng(40);
    let nan32 = u64::from(single::NAN);
    for _ in 0..CASES {
        let (d, s, h, b) = (rng.f64(), rng.f32(), rng.f16(), rng.bf16());
        let (dx, sx) = (Double::from_bits(d.into()), Single::from_bits(s.into()));
        let (hx, bx) = (Half::from_bits(h.into()), BFloat::from_bits(b.into()));
        // Ties and near-ties of the narrower formats.
        let tie = (s & 0xffff_e000) | 0x1000 | rng.below(2) as u32;
        let tx = Single::from_bits(tie.into());
        for r in Rounding::ALL {
            // A NaN keeps its sign and the upper bits of its payload, and becomes quiet.
            let nan = |exponent: u32, fraction: u32| {
                let quiet = ((2 << exponent) - 1) << (fraction - 1);
                d >> 63 << (exponent + fraction) | quiet | d << 12 >> (64 - fraction)
            };
            let f32_f64 = cvt::f32_f64(d, r, false);
            same(f32_f64.into(), narrowed::<_, Single>(dx, r, nan(8, 23)), "f32.f64", &[d]);
            same(cvt::f16_f64(d, r).into(), narrowed::<_, Half>(dx, r, nan(5, 10)), "f16.f64", &[d]);
            same(cvt::bf16_f64(d, r).into(), narrowed::<_, BFloat>(dx, r, nan(8, 7)), "bf16.f64", &[d]);
            for (a, x) in [(s, sx), (tie, tx)] {
                let operands = [u64::from(a)];
                same(cvt::f16_f32(a, r).into(), narrowed::<_, Half>(x, r, 0x7fff), "f16.f32", &operands);
                same(
                    cvt::bf16_f32(a, r, false).into(),
                    narrowed::<_, BFloat>(x, r, 0x7fff),
                    "bf16.f32",
                    &operands,
                );
            }
            same(cvt::f16_bf16(b, r).into(), narrowed::<_, Half>(bx, r, 0x7fff), "f16.bf16", &[b.into()]);
            same(cvt::bf16_f16(h, r).into(), narrowed::<_, BFloat>(hx, r, 0x7fff), "bf16.f16", &[h.into()]);
        }
        same(cvt::f32_f16(h).into(), narrowed::<_, Single>(hx, Rounding::Rn, nan32), "f32.f16", &[h.into()]);
        if !dx.is_nan() && !sx.is_nan() && !hx.is_nan() && !bx.is_nan() {
            same(cvt::f64_f32(s, false), narrowed::<_, Double>(sx, Rounding::Rn, 0), "f64.f32", &[s.into()]);
            same(cvt::f64_f16(h), narrowed::<_, Double>(hx, Rounding::Rn, 0), "f64.f16", &[h.into()]);
            same(cvt::f64_bf16(b), narrowed::<_, Double>(bx, Rounding::Rn, 0), "f64.bf16", &[b.into()]);
        }
    }
    assert_eq!(cvt::f64_f32(0x7f80_0001, false), 0x7ff8_0000_2000_0000);
    assert_eq!(cvt::f64_f32(0x8000_0001, true), 1 << 63);
    assert_eq!(cvt::f32_bf16(0x7f81, false), 0x7f81_0000);
    assert_eq!(cvt::f32_bf16(0x8001, true), 0x8000_0000);
    assert_eq!(cvt::f32_f32(0x7f80_0001, false), 0x7f80_0001);
    assert_eq!(cvt::f32_f32(0x7f80_0001, true), single::NAN);
    assert_eq!(cvt::f16_f16(0xfc01), 0x7fff);
    assert_eq!(cvt::f16_f32(0x0000_0001, Rounding::Rp), 1);
    assert_eq!(cvt::f16_f32(0x8040_0000, Rounding::Rm), 0x8001);
    assert_eq!(cvt::f16x2_f32(0x3f80_0000, 0x4000_0000, Rounding::Rz), 0x3c00_4000);
}

#[test]
fn the_flush_of_f32_f64_has_its_borders() {
    let cases = [
        // Below, at and above 2^-126 - 2^-151 to nearest.
        (0x380f_ffff_efff_ffff, Rounding::Rn, 0),
        (0x380f_ffff_f000_0000, Rounding::Rn, 0x0080_0000),
        // 2^-126 - 2^-150 and just above it, upward.
        (0x380f_ffff_e000_0000, Rounding::Rp, 0),
        (0x380f_ffff_e000_0001, Rounding::Rp, 0x0080_0000),
        (0x380f_ffff_ffff_ffff, Rounding::Rm, 0),
        (0x380f_ffff_ffff_ffff, Rounding::Rz, 0),
        (0x3810_0000_0000_0000, Rounding::Rz, 0x0080_0000),
    ];
    for (a, r, want) in cases {
        assert_eq!(cvt::f32_f64(a, r, true), want, "{a:#x} {r:?}");
        let mirrored = match r {
            Rounding::Rm => Rounding::Rp,
            Rounding::Rp => Rounding::Rm,
            r => r,
        };
        assert_eq!(cvt::f32_f64(a | 1 << 63, mirrored, true), want | 0x8000_0000, "-{a:#x} {r:?}");
    }
}

/// Compares `cvt.irnd.<int>.<float>` for one integer type.
macro_rules! check_to_integer {
    ($rng:expr, $signed:literal, $width:literal, $f32:ident, $f64:ident, $f16:ident, $bf16:ident) => {
        for r in IntRounding::ALL {
            let (s, d, h, b) = ($rng.f32(), $rng.f64(), $rng.f16(), $rng.bf16());
            let nan = |from_double: bool| if from_double || $width == 64 { 1u64 << ($width - 1) } else { 0 };
            fn reference<F: Float>(x: F, r: IntRounding, nan: u64) -> u64 {
                if x.is_nan() {
                    return nan;
                }
                if $signed {
                    let v = x.to_i128_r($width, int_round(r), &mut false).value;
                    v as u64 & (u64::MAX >> (64 - $width))
                } else {
                    x.to_u128_r($width, int_round(r), &mut false).value as u64
                }
            }
            let want = reference(Single::from_bits(s.into()), r, nan(false));
            same(cvt::$f32(s, r, false).into(), want, stringify!($f32), &[s.into()]);
            let want = reference(Double::from_bits(d.into()), r, nan(true));
            same(cvt::$f64(d, r).into(), want, stringify!($f64), &[d]);
            let want = reference(Half::from_bits(h.into()), r, nan(false));
            same(cvt::$f16(h, r).into(), want, stringify!($f16), &[h.into()]);
            let want = reference(BFloat::from_bits(b.into()), r, nan(false));
            same(cvt::$bf16(b, r).into(), want, stringify!($bf16), &[b.into()]);
        }
    };
}

#[test]
fn float_to_integer_clamps_to_every_type() {
    let mut rng = Rng(41);
    for _ in 0..CASES / 4 {
        check_to_integer!(rng, false, 8, u8_f32, u8_f64, u8_f16, u8_bf16);
        check_to_integer!(rng, true, 8, s8_f32, s8_f64, s8_f16, s8_bf16);
        check_to_integer!(rng, false, 16, u16_f32, u16_f64, u16_f16, u16_bf16);
        check_to_integer!(rng, true, 16, s16_f32, s16_f64, s16_f16, s16_bf16);
        check_to_integer!(rng, false, 32, u32_f32, u32_f64, u32_f16, u32_bf16);
        check_to_integer!(rng, true, 32, s32_f32, s32_f64, s32_f16, s32_bf16);
        check_to_integer!(rng, false, 64, u64_f32, u64_f64, u64_f16, u64_bf16);
        check_to_integer!(rng, true, 64, s64_f32, s64_f64, s64_f16, s64_bf16);
    }
    assert_eq!(cvt::s32_f32(1, IntRounding::Rpi, false), 1);
    assert_eq!(cvt::s32_f32(1, IntRounding::Rpi, true), 0);
    assert_eq!(cvt::u32_f64(0x7ff8_0000_0000_0000, IntRounding::Rzi), 0x8000_0000);
}

macro_rules! check_from_integer {
    ($rng:expr, $bits:ty, $value:ty, $f32:ident, $f64:ident, $f16:ident, $bf16:ident) => {
        for r in Rounding::ALL {
            let a = $rng.int() as $bits;
            let v = i128::from(a as $value);
            let m = round(r);
            let s = Single::from_i128_r(v, m).value;
            same(cvt::$f32(a, r).into(), s.to_bits() as u64, stringify!($f32), &[a.into()]);
            let d = Double::from_i128_r(v, m).value;
            same(cvt::$f64(a, r), d.to_bits() as u64, stringify!($f64), &[a.into()]);
            let h = Half::from_i128_r(v, m).value;
            same(cvt::$f16(a, r).into(), h.to_bits() as u64, stringify!($f16), &[a.into()]);
            let b = BFloat::from_i128_r(v, m).value;
            same(cvt::$bf16(a, r).into(), b.to_bits() as u64, stringify!($bf16), &[a.into()]);
        }
    };
}

#[test]
fn integer_to_float_from_every_type() {
    let mut rng = Rng(42);
    for _ in 0..CASES / 4 {
        check_from_integer!(rng, u8, u8, f32_u8, f64_u8, f16_u8, bf16_u8);
        check_from_integer!(rng, u8, i8, f32_s8, f64_s8, f16_s8, bf16_s8);
        check_from_integer!(rng, u16, u16, f32_u16, f64_u16, f16_u16, bf16_u16);
        check_from_integer!(rng, u16, i16, f32_s16, f64_s16, f16_s16, bf16_s16);
        check_from_integer!(rng, u32, u32, f32_u32, f64_u32, f16_u32, bf16_u32);
        check_from_integer!(rng, u32, i32, f32_s32, f64_s32, f16_s32, bf16_s32);
        check_from_integer!(rng, u64, u64, f32_u64, f64_u64, f16_u64, bf16_u64);
        check_from_integer!(rng, u64, i64, f32_s64, f64_s64, f16_s64, bf16_s64);
    }
}

#[test]
fn integer_to_integer() {
    let mut rng = Rng(43);
    for _ in 0..CASES {
        let a = rng.int();
        assert_eq!(cvt::s64_s8(a as u8), i64::from(a as u8 as i8) as u64);
        assert_eq!(cvt::u32_s16(a as u16), i32::from(a as i16) as u32);
        assert_eq!(cvt::u8_u64(a), a as u8);
        assert_eq!(cvt::sat_u8_s32(a as u32), (a as i32).clamp(0, 255) as u8);
        assert_eq!(cvt::sat_s8_u64(a), a.min(127) as u8);
        assert_eq!(cvt::sat_u16_s8(a as u8), (a as i8).max(0) as u16);
        assert_eq!(cvt::sat_s64_u64(a), a.min(i64::MAX as u64));
        assert_eq!(cvt::sat_u64_s64(a), (a as i64).max(0) as u64);
        assert_eq!(cvt::sat_s32_s64(a), (a as i64).clamp(-0x8000_0000, 0x7fff_ffff) as u32);
        assert_eq!(cvt::sat_u32_s64(a), (a as i64).clamp(0, 0xffff_ffff) as u32);
        assert_eq!(cvt::sat_s16_u32(a as u32), (a as u32).min(0x7fff) as u16);
        assert_eq!(cvt::sat_s32_s16(a as u16), i32::from(a as i16) as u32);
    }
}

#[test]
fn round_to_integral() {
    let mut rng = Rng(44);
    for _ in 0..CASES {
        let (s, d, h, b) = (rng.f32(), rng.f64(), rng.f16(), rng.bf16());
        for r in IntRounding::ALL {
            let x = Single::from_bits(s.into()).round_to_integral(int_round(r)).value;
            same(cvt::round_f32(s, r, false).into(), bits(x, single::NAN.into()), "round f32", &[s.into()]);
            let x = Double::from_bits(d.into());
            if !x.is_nan() {
                let x = x.round_to_integral(int_round(r)).value;
                same(cvt::round_f64(d, r), bits(x, 0), "round f64", &[d]);
            }
            let x = Half::from_bits(h.into()).round_to_integral(int_round(r)).value;
            same(cvt::round_f16(h, r).into(), bits(x, 0x7fff), "round f16", &[h.into()]);
            let x = BFloat::from_bits(b.into()).round_to_integral(int_round(r)).value;
            same(cvt::round_bf16(b, r).into(), bits(x, 0x7fff), "round bf16", &[b.into()]);
        }
    }
    assert_eq!(cvt::round_f64(0x7ff0_0000_0000_0001, IntRounding::Rni), 0x7ff8_0000_0000_0001);
    assert_eq!(cvt::round_f32(1, IntRounding::Rpi, true), 0);
}

#[test]
fn tf32() {
    let mut rng = Rng(45);
    for _ in 0..CASES {
        let a = rng.f32();
        let x = f64::from(f32::from_bits(a & 0x7fff_ffff));
        if single::is_nan(a) {
            assert_eq!(cvt::tf32_f32(a, Rounding::Rn), cvt::TF32_NAN);
            continue;
        }
        let r = cvt::tf32_f32(a, Rounding::Rn) & 0x7fff_ffff;
        let (z, rna) = (cvt::tf32_f32(a, Rounding::Rz) & 0x7fff_ffff, cvt::tf32_f32_rna(a) & 0x7fff_ffff);
        assert!(z <= a & 0x7fff_ffff && (a & 0x7fff_ffff) - z < 0x2000 && z & 0x1fff == 0);
        // Infinity stands for 2^128 in the distances.
        let value = |v: u32| {
            if v == 0x7f80_0000 { f64::from(2.0f32).powi(128) } else { f64::from(f32::from_bits(v)) }
        };
        let (below, above) = (x - value(z), value(z + 0x2000) - x);
        let infinite = a & 0x7fff_ffff == 0x7f80_0000;
        let down = infinite || below < above || (below == above && z & 0x2000 == 0);
        let near = if down { z } else { z + 0x2000 };
        same(r.into(), near.into(), "tf32.rn", &[a.into()]);
        let away = if near == z && below == above && below != 0.0 { z + 0x2000 } else { near };
        same(rna.into(), away.into(), "tf32.rna", &[a.into()]);
    }
    assert_eq!(cvt::tf32_f32_rna(0x7f80_0001), 0x7f80_0000);
    assert_eq!(cvt::tf32_f32_rna_satfinite(0x7f7f_ffff), 0x7f7f_e000);
    assert_eq!(cvt::tf32_f32_rna_satfinite(0xff80_0000), 0xff7f_e000);
    assert_eq!(cvt::tf32_satfinite(cvt::tf32_f32(0x7f7f_ffff, Rounding::Rn)), 0x7f7f_e000);
}

/// Every finite value of a small format by its pattern without sign.
fn values(exponent_bits: u32, fraction_bits: u32, max: u32) -> Vec<f64> {
    let bias = (1 << (exponent_bits - 1)) - 1;
    (0..=max)
        .map(|p| {
            let fraction = f64::from(p & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
            match (p >> fraction_bits) as i32 {
                0 => fraction * 2f64.powi(1 - bias),
                e => (1.0 + fraction) * 2f64.powi(e - bias),
            }
        })
        .collect()
}

/// The pattern nearest to `x`, ties to the even pattern.
fn nearest(values: &[f64], x: f64) -> u64 {
    let above = values.partition_point(|&v| v < x).min(values.len() - 1);
    let below = above.saturating_sub(1);
    let (down, up) = (x - values[below], values[above] - x);
    (if down < up || (down == up && below % 2 == 0) { below } else { above }) as u64
}

fn small_format(
    seed: u64,
    (exponent_bits, fraction_bits, max, nan): (u32, u32, u32, u64),
    from_f32: impl Fn(u32, u32, bool) -> u64,
    from_f16x2: impl Fn(u32, bool) -> u64,
    from_bf16x2: impl Fn(u32, bool) -> u64,
    to_f16x2: impl Fn(u64) -> u32,
    field: u32,
) {
    let values = values(exponent_bits, fraction_bits, max);
    let sign = 1u64 << (exponent_bits + fraction_bits);
    let one = |a: u32, relu: bool| -> u64 {
        let x = f32::from_bits(a);
        if x.is_nan() {
            nan
        } else if relu && a >> 31 == 1 {
            0
        } else {
            nearest(&values, f64::from(x.abs())) | if a >> 31 == 1 { sign } else { 0 }
        }
    };
    let mut rng = Rng(seed);
    for _ in 0..CASES {
        // Close to the format's range and its ties.
        let near = |rng: &mut Rng| -> u32 {
            let v = values[rng.below(values.len() as u64) as usize];
            let w = values[rng.below(values.len() as u64) as usize];
            let x = match rng.below(3) {
                0 => v,
                1 => (v + w) / 2.0,
                _ => return rng.f32(),
            };
            (x as f32).to_bits().wrapping_add(rng.below(3) as u32).wrapping_sub(1)
                ^ (rng.below(2) as u32) << 31
        };
        let (a, b) = (near(&mut rng), near(&mut rng));
        for relu in [false, true] {
            let want = one(a, relu) << field | one(b, relu);
            same(from_f32(a, b, relu), want, "from f32", &[a.into(), b.into(), u64::from(relu)]);
            let h = rng.f16() as u32 | (rng.f16() as u32) << 16;
            let wide = |v: u32| cvt::f32_f16(v as u16);
            let want = one(wide(h >> 16), relu) << field | one(wide(h), relu);
            same(from_f16x2(h, relu), want, "from f16x2", &[h.into()]);
            let want = one(h & 0xffff_0000, relu) << field | one(h << 16, relu);
            same(from_bf16x2(h, relu), want, "from bf16x2", &[h.into()]);
        }
    }
    for p in 0..sign * 2 {
        let back = to_f16x2(p << field | 1) >> 16;
        let magnitude = p & (sign - 1);
        let want = match values.get(magnitude as usize) {
            Some(&v) => {
                u64::from(cvt::f16_f64(v.to_bits(), Rounding::Rn)) | if p & sign != 0 { 0x8000 } else { 0 }
            }
            None if exponent_bits == 5 && magnitude == 0x7c => {
                0x7c00 | if p & sign != 0 { 0x8000 } else { 0 }
            }
            None => 0x7fff,
        };
        same(back.into(), want, "to f16x2", &[p]);
    }
}

#[test]
fn fp8_fp6_and_fp4() {
    small_format(
        46,
        (4, 3, 0x7e, 0x7f),
        |a, b, r| cvt::e4m3x2_f32(a, b, r).into(),
        |a, r| cvt::e4m3x2_f16x2(a, r).into(),
        |a, r| cvt::e4m3x2_bf16x2(a, r).into(),
        |a| cvt::f16x2_e4m3x2(a as u16),
        8,
    );
    small_format(
        47,
        (5, 2, 0x7b, 0x7f),
        |a, b, r| cvt::e5m2x2_f32(a, b, r).into(),
        |a, r| cvt::e5m2x2_f16x2(a, r).into(),
        |a, r| cvt::e5m2x2_bf16x2(a, r).into(),
        |a| cvt::f16x2_e5m2x2(a as u16),
        8,
    );
    small_format(
        48,
        (3, 2, 0x1f, 0x1f),
        |a, b, r| cvt::e3m2x2_f32(a, b, r).into(),
        |a, r| cvt::e3m2x2_f16x2(a, r).into(),
        |a, r| cvt::e3m2x2_bf16x2(a, r).into(),
        |a| cvt::f16x2_e3m2x2(a as u16),
        8,
    );
    small_format(
        49,
        (2, 3, 0x1f, 0x1f),
        |a, b, r| cvt::e2m3x2_f32(a, b, r).into(),
        |a, r| cvt::e2m3x2_f16x2(a, r).into(),
        |a, r| cvt::e2m3x2_bf16x2(a, r).into(),
        |a| cvt::f16x2_e2m3x2(a as u16),
        8,
    );
    small_format(
        50,
        (2, 1, 0x07, 0x07),
        |a, b, r| cvt::e2m1x2_f32(a, b, r).into(),
        |a, r| cvt::e2m1x2_f16x2(a, r).into(),
        |a, r| cvt::e2m1x2_bf16x2(a, r).into(),
        |a| cvt::f16x2_e2m1x2(a as u8),
        4,
    );
}

#[test]
fn scale_factors_and_fixed_point() {
    // 2^3 and 2^-127 (subnormal as bf16), NaN.
    assert_eq!(cvt::bf16x2_ue8m0x2(0x8200), 0x4100_0040);
    assert_eq!(cvt::bf16x2_ue8m0x2(0xff7f), 0x7fff_3f80);
    // 3.0 lies between 2 and 4.
    assert_eq!(cvt::ue8m0x2_f32(0x4040_0000, 0x4080_0000, Rounding::Rz, false), 0x8081);
    assert_eq!(cvt::ue8m0x2_f32(0x4040_0000, 0x4080_0000, Rounding::Rp, false), 0x8181);
    assert_eq!(cvt::ue8m0x2_f32(0x7f80_0000, 0x7fc0_0000, Rounding::Rz, true), 0xfeff);
    // 1.5 in e4m3 times 2^2, and 1.0 times 2^0.
    assert_eq!(cvt::bf16x2_e4m3x2(0x3c38, 0x817f), 0x40c0_3f80);
    // 1.25 = 80/64; 100 clamps; with a factor of 2^1 it is halved.
    assert_eq!(cvt::s2f6x2_f32(0x3fa0_0000, 0x42c8_0000, 0x7f7f, false), 0x507f);
    assert_eq!(cvt::s2f6x2_f32(0x3fa0_0000, 0xbfa0_0000, 0x807f, true), 0x2800);
    assert_eq!(cvt::bf16x2_s2f6x2(0x50b0, 0x7f80), 0x3fa0_c020);
}

#[test]
fn pack() {
    assert_eq!(cvt::pack_u16_s32(70_000, -1i32 as u32), 0xffff_0000);
    assert_eq!(cvt::pack_s16_s32(-40_000i32 as u32, 5), 0x8000_0005);
    assert_eq!(cvt::pack_u8_s32(300, -5i32 as u32, 0x1234_5678), 0x5678_ff00);
    assert_eq!(cvt::pack_s8_s32(-300i32 as u32, 5, 0x1234_5678), 0x5678_8005);
    assert_eq!(cvt::pack_s4_s32(100, -100i32 as u32, 0xabcd_ef01), 0xcdef_0178);
    assert_eq!(cvt::pack_u2_s32(2, 9, 0x1), 0x1b);
    assert_eq!(cvt::pack_s2_s32(-9i32 as u32, 9, 0), 0x9);
}
