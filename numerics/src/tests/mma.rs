//! The fused sum against the same model in exact big fixed point, written from its description.

use super::super::mma::{
    Columns, Element, MMA_FRACTION, WGMMA_FP8_FRACTION, ZERO_C_EXPONENT, bits, dot, dot_f16, dot_f64,
    integers,
};
use super::super::{Rounding, cvt, f32 as single, f64 as double};
use super::Rng;

const CASES: usize = 20_000;

/// Sign, exponent of the leading position (the field, not the leading one) and value.
fn split(x: f32, exponent_min: i32) -> (f64, i32) {
    let e = ((x.to_bits() >> 23 & 0xff) as i32 - 127).max(exponent_min);
    (f64::from(x), e)
}

/// The model in f64: with 25 fraction bits and at most 33 addends every step is exact.
fn reference(products: &[(f64, i32)], c: f32, fraction: i32) -> f64 {
    let (c, ce) = if c == 0.0 { (0.0, ZERO_C_EXPONENT) } else { split(c, -126) };
    let top = products.iter().filter(|(v, _)| *v != 0.0).map(|p| p.1).fold(ce, i32::max);
    // Two factors, so that neither the unit nor its inverse leaves the range of f64.
    let unit = 2f64.powi(fraction - top);
    let cut = |v: f64| (v * unit).trunc();
    (products.iter().map(|p| cut(p.0)).sum::<f64>() + cut(c)) / unit
}

#[test]
fn fused_sums_of_f16() {
    let mut rng = Rng(70);
    for _ in 0..CASES {
        let k = 1 + rng.below(16) as usize;
        let finite = |rng: &mut Rng| rng.f16() & 0xbfff;
        let a: Vec<u16> = (0..k).map(|_| finite(&mut rng)).collect();
        let b: Vec<u16> = (0..k).map(|_| finite(&mut rng)).collect();
        let c = cvt::f32_f16(finite(&mut rng));
        let wide = |h: u16| split(f32::from_bits(cvt::f32_f16(h)), -14);
        let wide = |h: u16| if h & 0x7c00 == 0 { (wide(h).0, -14) } else { wide(h) };
        let products: Vec<(f64, i32)> =
            a.iter().zip(&b).map(|(&x, &y)| (wide(x).0 * wide(y).0, wide(x).1 + wide(y).1)).collect();
        let (ea, eb): (Vec<_>, Vec<_>) =
            (a.iter().map(|&x| Element::f16(x)).collect(), b.iter().map(|&x| Element::f16(x)).collect());
        let exact = reference(&products, f32::from_bits(c), 25);
        let want = cvt::f32_f64(if exact == 0.0 { 0 } else { exact.to_bits() }, Rounding::Rz, false);
        assert_eq!(dot(&ea, &eb, c, MMA_FRACTION), want, "{a:x?} {b:x?} {c:#x}");
        let narrow = cvt::f16_f32(c, Rounding::Rn);
        // A result of zero is +0.0, also where a negative sum was rounded to it.
        let want = cvt::f16_f64(exact.to_bits(), Rounding::Rn);
        let want = if want << 1 == 0 { 0 } else { want };
        assert_eq!(dot_f16(&ea, &eb, narrow, MMA_FRACTION), want, "{a:x?} {b:x?} {narrow:#x}");
        let exact = reference(&products, f32::from_bits(c), 13);
        let want = cvt::f32_f64(if exact == 0.0 { 0 } else { exact.to_bits() }, Rounding::Rz, false);
        assert_eq!(dot(&ea, &eb, c, WGMMA_FP8_FRACTION), want);
    }
}

#[test]
fn fused_sums_of_bf16_and_tf32() {
    let mut rng = Rng(71);
    for _ in 0..CASES {
        let k = 1 + rng.below(8) as usize;
        // Exponents well inside, so that the f64 reference stays exact.
        let value = |rng: &mut Rng, bits: u32| {
            let x = rng.f32();
            let exponent = 97 + (x >> 23 & 0x3f);
            (x & 0x807f_ffff | exponent << 23) & !((1 << bits) - 1)
        };
        for bits in [16, 13] {
            let a: Vec<u32> = (0..k).map(|_| value(&mut rng, bits)).collect();
            let b: Vec<u32> = (0..k).map(|_| value(&mut rng, bits)).collect();
            let c = value(&mut rng, 0);
            let wide = |x: u32| split(f32::from_bits(x), -126);
            let products: Vec<(f64, i32)> =
                a.iter().zip(&b).map(|(&x, &y)| (wide(x).0 * wide(y).0, wide(x).1 + wide(y).1)).collect();
            let decode = |x: &u32| {
                if bits == 16 { Element::bf16((x >> 16) as u16) } else { Element::tf32(*x | 0x0fff) }
            };
            let (ea, eb): (Vec<_>, Vec<_>) = (a.iter().map(decode).collect(), b.iter().map(decode).collect());
            let exact = reference(&products, f32::from_bits(c), 25);
            let want = cvt::f32_f64(if exact == 0.0 { 0 } else { exact.to_bits() }, Rounding::Rz, false);
            assert_eq!(dot(&ea, &eb, c, MMA_FRACTION), want, "{a:x?} {b:x?} {c:#x}");
        }
    }
}

#[test]
fn truncation_and_specials() {
    let one = Element::f16(0x3c00);
    let h = |x: u16| [Element::f16(x)];
    // 1 + 2^-24: kept by 25 fraction bits, cut by the rounding toward zero.
    assert_eq!(dot(&[one], &[one], 0x3380_0000, MMA_FRACTION), 0x3f80_0000);
    // 1 - 2^-24 is exact, and 1 - 2^-26 is truncated to 1.
    assert_eq!(dot(&[one], &[one], 0xb380_0000, MMA_FRACTION), 0x3f7f_ffff);
    assert_eq!(dot(&[one], &[one], 0xb280_0000, MMA_FRACTION), 0x3f80_0000);
    assert_eq!(dot(&h(0x7c00), &h(0x0000), 0, MMA_FRACTION), single::NAN);
    assert_eq!(dot(&h(0x7c00), &h(0xbc00), 0, MMA_FRACTION), 0xff80_0000);
    assert_eq!(dot(&h(0x7c00), &h(0xbc00), 0x7f80_0000, MMA_FRACTION), single::NAN);
    assert_eq!(dot(&h(0x3c00), &h(0x7e00), 0, MMA_FRACTION), single::NAN);
    assert_eq!(dot(&h(0x3c00), &h(0x3c00), 0x7fc0_0001, MMA_FRACTION), single::NAN);
    assert_eq!(dot(&h(0x3c00), &h(0x3c00), 0xff80_0000, MMA_FRACTION), 0xff80_0000);
    assert_eq!(dot_f16(&h(0x7bff), &h(0x4000), 0, MMA_FRACTION), 0x7c00);
    assert_eq!(dot_f16(&h(0x7c00), &h(0x8000), 0, MMA_FRACTION), 0x7fff);
    assert_eq!(dot(&h(0x3c00), &h(0xbc00), 0x3f80_0000, MMA_FRACTION), 0);
    assert_eq!(dot(&[Element::tf32(0x7f80_0001)], &[one], 0, MMA_FRACTION), 0x7f80_0000);
    assert_eq!(dot(&[Element::tf32(0x7f80_2000)], &[one], 0, MMA_FRACTION), single::NAN);
    // The largest bf16 squared leaves the range.
    let big = [Element::bf16(0x7f7f)];
    assert_eq!(dot(&big, &big, 0, MMA_FRACTION), 0x7f80_0000);
    // Products of 2^-159: truncated away where a zero C sets the alignment (2^-133 / 2^25), and alike
    // with a subnormal C; a smaller alignment would see 2^-149 in 1,024 of them.
    let (x, y) = ([Element::bf16(0x1780); 1024], [Element::bf16(0x1800); 1024]);
    assert_eq!(dot(&x, &y, 0, MMA_FRACTION), 0);
    assert_eq!(dot(&x, &y, 1, MMA_FRACTION), 1);
    let y = [Element::bf16(0x1880); 1024];
    assert_eq!(dot(&x, &y, 0, MMA_FRACTION), 2);
    // The sign of a zero result is lost.
    assert_eq!(dot(&[Element::bf16(0x9980)], &[Element::bf16(0x1980)], 0x8000_0000, MMA_FRACTION), 0);
    assert_eq!(dot_f16(&h(0x8001), &h(0x0001), 0x8000, MMA_FRACTION), 0);
}

/// What an H200 gives for `.bf16` with all of A and all of B the same: K, A, B, C and the result. The first
/// is the experiment of the front page.
#[test]
fn smallest_alignment() {
    let rows = [
        (16, 0x19c0, 0x1980, 0, 3),
        (16, 0x19c0, 0x1980, 0x8000_0000, 3),
        (8, 0x19c0, 0x1980, 0, 1),
        (16, 0x19c0, 0x1980, 1, 1),
        (8, 0x19c0, 0x1980, 1, 1),
        (16, 0x19c0, 0x1980, 0x0080_0000, 0x0080_0000),
        (16, 0x1a40, 0x1a40, 0, 0x12),
        (16, 0x19c0, 0x19c0, 0, 4),
        (16, 0x1940, 0x1940, 0, 1),
        (16, 0x18c0, 0x18c0, 0, 0),
    ];
    for (k, a, b, c, want) in rows {
        let (x, y) = (vec![Element::bf16(a); k], vec![Element::bf16(b); k]);
        assert_eq!(dot(&x, &y, c, MMA_FRACTION), want, "K {k}, {a:#x} {b:#x} {c:#x}");
    }
}

#[test]
fn fp8_operands() {
    assert_eq!(Element::e4m3(0x38), Element::f16(0x3c00));
    assert_eq!(Element::e5m2(0xc0), Element::f16(0xc000));
    assert_eq!(dot(&[Element::e4m3(0x7f)], &[Element::e4m3(0)], 0, MMA_FRACTION), single::NAN);
    // As `.f16` every `.e4m3` number is normal.
    for bits in 0..=255 {
        let half = cvt::f16x2_e4m3x2(bits) as u16;
        assert_eq!(Element::e4m3_as_f16(bits as u8), Element::f16(half), "{bits:#x}");
    }
}

#[test]
fn integers_bits_and_doubles() {
    let list = |values: &[i32]| values.iter().map(|&v| Element::integer(v)).collect::<Vec<_>>();
    let rows = |values: &[i32]| -> Vec<Columns<1>> {
        values.iter().map(|&v| Columns { significand: [v], exponent: [0] }).collect()
    };
    let multiply = |a: &[i32], b: &[i32], c: u32, satfinite: bool| {
        let (a, b) = (list(a), rows(b));
        integers(&a, |k| &b[k], &[c], satfinite)[0]
    };
    assert_eq!(multiply(&[127, -128], &[127, -128], 0x7fff_ffff, false), 0x7fff_ffff + 32_513);
    assert_eq!(multiply(&[127, -128], &[127, -128], 0x7fff_ffff, true), 0x7fff_ffff);
    assert_eq!(multiply(&[-128], &[255], 0x8000_0000, true), 0x8000_0000);
    let (a, b) = (list(&[0xff, 1]), rows(&[0x0f, 1]));
    assert_eq!(bits(&a, |k| &b[k], &[10], false), [14]);
    assert_eq!(bits(&a, |k| &b[k], &[10], true), [15]);
    let [x, y, z] = [1.5f64, 3.0, 0.1].map(f64::to_bits);
    let chain = double::fma(y, z, double::fma(x, y, z, Rounding::Rn), Rounding::Rn);
    assert_eq!(dot_f64(&[x, y], &[y, z], z, Rounding::Rn), chain);
}
