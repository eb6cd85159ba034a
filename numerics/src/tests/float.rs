//! Arithmetic of the four float formats against `rustc_apfloat`.

use rustc_apfloat::ieee::{BFloat, Double, Half, IeeeFloat, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::super::{FloatCmp, Rounding, TestP, bf16, f16, f32, f64, wide};
use super::{Rng, same};

const CASES: usize = 150_000;

fn round(r: Rounding) -> Round {
    match r {
        Rounding::Rn => Round::NearestTiesToEven,
        Rounding::Rz => Round::TowardZero,
        Rounding::Rm => Round::TowardNegative,
        Rounding::Rp => Round::TowardPositive,
    }
}

fn single(a: u32) -> Single {
    Single::from_bits(u128::from(a))
}

fn double(a: u64) -> Double {
    Double::from_bits(u128::from(a))
}

/// Canonical bits of a reference result.
fn bits<F: Float>(x: F, nan: u64) -> u64 {
    if x.is_nan() { nan } else { x.to_bits() as u64 }
}

/// 24-bit precision with an exponent range that never matters: what `.ftz` is decided on.
struct UnboundedSingle;

impl Semantics for UnboundedSingle {
    const BITS: usize = 40;
    const EXP_BITS: usize = 16;
}

type Unbounded = IeeeFloat<UnboundedSingle>;

fn unbounded(a: u32) -> Unbounded {
    single(a).convert(&mut false).value
}

/// The reference result with `.ftz`: `wide` is the operation in unbounded range.
fn flushed(plain: u64, wide: Unbounded) -> u64 {
    let min_normal: Unbounded = single(0x0080_0000).convert(&mut false).value;
    let tiny = !wide.is_nan() && wide.abs().partial_cmp(&min_normal) == Some(std::cmp::Ordering::Less);
    if tiny { plain & 0x8000_0000 } else { plain }
}

#[test]
fn f32_arithmetic_in_all_roundings_with_and_without_ftz() {
    let mut rng = Rng(1);
    let nan = u64::from(f32::NAN);
    for i in 0..CASES {
        let (a, mut b, mut c) = (rng.f32(), rng.f32(), rng.f32());
        match i % 4 {
            // Cancellation and near-cancellation of the product.
            1 => c = f32::mul(a, b, Rounding::Rn, false) ^ 0x8000_0000 ^ rng.below(3) as u32,
            // Products and quotients near the smallest normal number.
            2 => {
                b = f32::div(0x0080_0000, a, Rounding::Rn, false).wrapping_add(rng.below(5) as u32);
                c = rng.below(5) as u32 | (rng.below(2) as u32) << 31;
            }
            _ => {}
        }
        let operands = [u64::from(a), u64::from(b), u64::from(c)];
        for r in Rounding::ALL {
            let m = round(r);
            let (x, y, z) = (single(a), single(b), single(c));
            same(f32::add(a, b, r, false).into(), bits(x.add_r(y, m).value, nan), "add", &operands);
            same(f32::sub(a, b, r, false).into(), bits(x.sub_r(y, m).value, nan), "sub", &operands);
            same(f32::mul(a, b, r, false).into(), bits(x.mul_r(y, m).value, nan), "mul", &operands);
            same(f32::div(a, b, r, false).into(), bits(x.div_r(y, m).value, nan), "div", &operands);
            let fused = bits(x.mul_add_r(y, z, m).value, nan);
            same(f32::fma(a, b, c, r, false).into(), fused, "fma", &operands);
            same(f32::fma_portable(a, b, c, r, false).into(), fused, "fma_portable", &operands);

            let (a, b, c) = (f32::flush(a), f32::flush(b), f32::flush(c));
            let (x, y, z) = (single(a), single(b), single(c));
            let (u, v, w) = (unbounded(a), unbounded(b), unbounded(c));
            let add = flushed(bits(x.add_r(y, m).value, nan), u.add_r(v, m).value);
            same(f32::add(a, b, r, true).into(), add, "add.ftz", &operands);
            let mul = flushed(bits(x.mul_r(y, m).value, nan), u.mul_r(v, m).value);
            same(f32::mul(a, b, r, true).into(), mul, "mul.ftz", &operands);
            let div = flushed(bits(x.div_r(y, m).value, nan), u.div_r(v, m).value);
            same(f32::div(a, b, r, true).into(), div, "div.ftz", &operands);
            let fma = flushed(bits(x.mul_add_r(y, z, m).value, nan), u.mul_add_r(v, w, m).value);
            same(f32::fma(a, b, c, r, true).into(), fma, "fma.ftz", &operands);
            same(f32::fma_portable(a, b, c, r, true).into(), fma, "fma_portable.ftz", &operands);
        }
    }
}

#[test]
fn f32_square_root_brackets_the_exact_root() {
    let mut rng = Rng(2);
    // Orders r^2 against a exactly, in units far below both.
    let compare = |r: u32, a: u32| {
        let (r, a) = (f64::from_bits(f32_value(r).to_bits()), f32_value(a));
        (r * r).partial_cmp(&a).map(|o| (o, r * r == a))
    };
    fn f32_value(a: u32) -> core::primitive::f64 {
        core::primitive::f64::from(core::primitive::f32::from_bits(a))
    }
    use core::primitive::f64;
    for _ in 0..CASES {
        let a = rng.f32() & 0x7fff_ffff;
        if !f32::testp(a, TestP::Finite) || a == 0 {
            continue;
        }
        // A square of 24 bits is exact in f64, so `down` and `up` are decided exactly.
        let down = f32::sqrt(a, Rounding::Rm, false);
        let up = f32::sqrt(a, Rounding::Rp, false);
        let ordering = |r| compare(r, a).map(|(o, _)| o);
        assert_ne!(ordering(down), Some(std::cmp::Ordering::Greater), "sqrt.rm {a:#x}");
        assert_ne!(ordering(up), Some(std::cmp::Ordering::Less), "sqrt.rp {a:#x}");
        let exact = ordering(down) == Some(std::cmp::Ordering::Equal);
        assert_eq!(up, if exact { down } else { down + 1 }, "sqrt {a:#x}");
        assert_eq!(f32::sqrt(a, Rounding::Rz, false), down);
        let nearest = f32::sqrt(a, Rounding::Rn, false);
        assert!(nearest == down || nearest == up);
        // The midpoint has 25 bits: its square is exact, and no root is a midpoint.
        let middle = (f32_value(down) + f32_value(up)) / 2.0;
        let wanted = if exact || middle * middle > f32_value(a) { down } else { up };
        assert_eq!(nearest, wanted, "sqrt.rn {a:#x}");
    }
    for special in [0u32, 0x8000_0000, 0x7f80_0000] {
        assert_eq!(f32::sqrt(special, Rounding::Rp, false), special);
    }
    for invalid in [0x8000_0001u32, 0xff80_0000, 0xbf80_0000, 0x7f80_0001] {
        assert_eq!(f32::sqrt(invalid, Rounding::Rz, false), f32::NAN);
    }
    assert_eq!(f32::sqrt(0x8000_0001, Rounding::Rn, true), 0x8000_0000);
}

#[test]
fn f64_arithmetic_in_all_roundings() {
    let mut rng = Rng(3);
    for i in 0..CASES {
        let (a, b, mut c) = (rng.f64(), rng.f64(), rng.f64());
        if i % 4 == 1 {
            c = f64::mul(a, b, Rounding::Rn) ^ (1 << 63) ^ rng.below(3);
        }
        let nan = f64::propagate(a, b, 0);
        let nan3 = f64::propagate(a, b, c);
        let (x, y, z) = (double(a), double(b), double(c));
        for r in Rounding::ALL {
            let m = round(r);
            same(f64::add(a, b, r), bits(x.add_r(y, m).value, nan), "add", &[a, b]);
            same(f64::mul(a, b, r), bits(x.mul_r(y, m).value, nan), "mul", &[a, b]);
            let first = f64::propagate(b, a, 0);
            same(f64::div(a, b, r), bits(x.div_r(y, m).value, first), "div", &[a, b]);
            let fused = bits(x.mul_add_r(y, z, m).value, nan3);
            same(f64::fma(a, b, c, r), fused, "fma", &[a, b, c]);
            same(f64::fma_portable(a, b, c, r), fused, "fma_portable", &[a, b, c]);
            let difference = x.sub_r(y, m).value;
            same(f64::sub(a, b, r), bits(difference, nan), "sub", &[a, b]);
        }
    }
}

#[test]
fn f64_square_root_brackets_the_exact_root() {
    use super::super::soft::{F64, Value, unpack};
    let mut rng = Rng(4);
    // r^2 against a, exactly: both as integers times a common power of two.
    let compare = |r: u64, a: u64| -> std::cmp::Ordering {
        let (
            Value::Finite { exponent: er, significand: sr, .. },
            Value::Finite { exponent: ea, significand: sa, .. },
        ) = (unpack(r, F64), unpack(a, F64))
        else {
            panic!("finite")
        };
        let (square, shift) = (sr * sr, 2 * er - ea);
        if shift >= 0 { (square << shift).cmp(&sa) } else { square.cmp(&(sa << -shift)) }
    };
    for _ in 0..CASES {
        let a = rng.f64() & !(1 << 63);
        if !f64::testp(a, TestP::Finite) || a == 0 {
            continue;
        }
        let (down, up) = (f64::sqrt(a, Rounding::Rm), f64::sqrt(a, Rounding::Rp));
        assert_ne!(compare(down, a), std::cmp::Ordering::Greater, "sqrt.rm {a:#x}");
        assert_ne!(compare(up, a), std::cmp::Ordering::Less, "sqrt.rp {a:#x}");
        let exact = compare(down, a) == std::cmp::Ordering::Equal;
        assert_eq!(up, if exact { down } else { down + 1 }, "sqrt {a:#x}");
        assert_eq!(f64::sqrt(a, Rounding::Rz), down);
        let nearest = f64::sqrt(a, Rounding::Rn);
        assert!(nearest == down || nearest == up, "sqrt.rn {a:#x}");
        assert_eq!(super::super::soft::sqrt64(a, Rounding::Rn), Some(nearest), "sqrt.rn {a:#x}");
    }
    assert_eq!(f64::sqrt(0xbff0_0000_0000_0000, Rounding::Rn), f64::NAN);
    assert_eq!(f64::sqrt(0x7ff0_0000_0000_0001, Rounding::Rz), 0x7ff8_0000_0000_0001);
}

/// Compares a 16-bit format's arithmetic with the reference type `F`.
fn half<F: Float>(
    seed: u64,
    mut operand: impl FnMut(&mut Rng) -> u16,
    add: fn(u16, u16, bool) -> u16,
    sub: fn(u16, u16, bool) -> u16,
    mul: fn(u16, u16, bool) -> u16,
    fma: fn(u16, u16, u16, bool) -> u16,
) {
    let mut rng = Rng(seed);
    let f = |a: u16| F::from_bits(u128::from(a));
    let m = Round::NearestTiesToEven;
    for i in 0..4 * CASES {
        let (a, b, mut c) = (operand(&mut rng), operand(&mut rng), operand(&mut rng));
        if i % 4 == 1 {
            c = mul(a, b, false) ^ 0x8000 ^ rng.below(3) as u16;
        }
        let operands = [u64::from(a), u64::from(b), u64::from(c)];
        same(add(a, b, false).into(), bits(f(a).add_r(f(b), m).value, 0x7fff), "add", &operands);
        same(sub(a, b, false).into(), bits(f(a).sub_r(f(b), m).value, 0x7fff), "sub", &operands);
        same(mul(a, b, false).into(), bits(f(a).mul_r(f(b), m).value, 0x7fff), "mul", &operands);
        let fused = bits(f(a).mul_add_r(f(b), f(c), m).value, 0x7fff);
        same(fma(a, b, c, false).into(), fused, "fma", &operands);
    }
}

#[test]
fn f16_arithmetic() {
    half::<Half>(5, Rng::f16, f16::add, f16::sub, f16::mul, f16::fma);
}

#[test]
fn bf16_arithmetic() {
    half::<BFloat>(6, Rng::bf16, bf16::add, bf16::sub, bf16::mul, bf16::fma);
}

#[test]
fn f16_ftz_flushes_operands_and_tiny_results() {
    // 11 bits of precision, unbounded exponent.
    struct UnboundedHalf;
    impl Semantics for UnboundedHalf {
        const BITS: usize = 27;
        const EXP_BITS: usize = 16;
    }
    type Wide = IeeeFloat<UnboundedHalf>;
    let wide = |a: u16| -> Wide { Half::from_bits(u128::from(a)).convert(&mut false).value };
    let min_normal = wide(0x0400);
    let mut rng = Rng(7);
    for _ in 0..CASES {
        let (a, b) = (rng.f16(), rng.f16());
        let c = if rng.below(2) == 0 { rng.f16() } else { rng.below(3) as u16 };
        let [x, y, z] = [a, b, c].map(|v| wide(f16::flush(v)));
        let exact = x.mul_add_r(y, z, Round::NearestTiesToEven).value;
        let tiny = !exact.is_nan() && exact.abs().partial_cmp(&min_normal) == Some(std::cmp::Ordering::Less);
        let plain = f16::fma(f16::flush(a), f16::flush(b), f16::flush(c), false);
        let wanted = if tiny { plain & 0x8000 } else { plain };
        same(f16::fma(a, b, c, true).into(), wanted.into(), "fma.ftz.f16", &[a.into(), b.into(), c.into()]);
    }
}

#[test]
fn every_half_pattern_widens_and_narrows_to_itself() {
    for a in 0..=u16::MAX {
        if !f16::is_nan(a) {
            let want = Half::from_bits(u128::from(a)).convert(&mut false).value;
            let want: Single = want;
            assert_eq!(f16::widen(a).to_bits(), want.to_bits() as u32, "{a:#x}");
            assert_eq!(f16::narrow(f16::widen(a), false), a);
        } else {
            assert!(f16::widen(a).is_nan());
            assert_eq!(f16::narrow(f16::widen(a), false), f16::NAN);
        }
        assert_eq!(bf16::narrow(bf16::widen(a), false), bf16::canonical(a));
    }
}

#[test]
fn mixed_precision_rounds_once() {
    let mut rng = Rng(8);
    for _ in 0..CASES {
        let (a, b, c) = (rng.f16(), rng.f16(), rng.f32());
        let (e, f) = (rng.bf16(), rng.bf16());
        for r in Rounding::ALL {
            let wide = |h: u16| -> Single { Half::from_bits(u128::from(h)).convert(&mut false).value };
            let want = bits(wide(a).mul_add_r(wide(b), single(c), round(r)).value, f32::NAN.into());
            same(f16::fma_f32(a, b, c, r).into(), want, "fma.f32.f16", &[a.into(), b.into(), c.into()]);
            let want = bits(wide(a).sub_r(single(c), round(r)).value, f32::NAN.into());
            same(f16::sub_f32(a, c, r).into(), want, "sub.f32.f16", &[a.into(), c.into()]);
            let wide = |h: u16| single(u32::from(h) << 16);
            let want = bits(wide(e).mul_add_r(wide(f), single(c), round(r)).value, f32::NAN.into());
            same(bf16::fma_f32(e, f, c, r).into(), want, "fma.f32.bf16", &[e.into(), f.into(), c.into()]);
        }
    }
}

#[test]
fn comparisons_follow_the_reference_order() {
    let mut rng = Rng(9);
    for _ in 0..CASES {
        let (a, mut b) = (rng.f32(), rng.f32());
        if rng.below(4) == 0 {
            b = a ^ (rng.below(2) as u32) << 31;
        }
        let order = single(a).partial_cmp(&single(b));
        check(order, |op| f32::cmp(a, b, op, false), &[a.into(), b.into()]);
        let (a, mut b) = (rng.f64(), rng.f64());
        if rng.below(4) == 0 {
            b = a ^ rng.below(2) << 63;
        }
        check(double(a).partial_cmp(&double(b)), |op| f64::cmp(a, b, op), &[a, b]);
        let (a, b) = (rng.f16(), rng.f16());
        let (x, y) = (Half::from_bits(a.into()), Half::from_bits(b.into()));
        check(x.partial_cmp(&y), |op| f16::cmp(a, b, op, false), &[a.into(), b.into()]);
        let (x, y) = (BFloat::from_bits(a.into()), BFloat::from_bits(b.into()));
        check(x.partial_cmp(&y), |op| bf16::cmp(a, b, op, false), &[a.into(), b.into()]);
    }

    fn check(order: Option<std::cmp::Ordering>, cmp: impl Fn(FloatCmp) -> bool, operands: &[u64]) {
        use std::cmp::Ordering::{Equal, Greater, Less};
        for op in FloatCmp::ALL {
            let want = match (op, order) {
                (FloatCmp::Num, o) => o.is_some(),
                (FloatCmp::Nan, o) => o.is_none(),
                (FloatCmp::Eq, Some(o)) | (FloatCmp::Equ, Some(o)) => o == Equal,
                (FloatCmp::Ne, Some(o)) | (FloatCmp::Neu, Some(o)) => o != Equal,
                (FloatCmp::Lt, Some(o)) | (FloatCmp::Ltu, Some(o)) => o == Less,
                (FloatCmp::Le, Some(o)) | (FloatCmp::Leu, Some(o)) => o != Greater,
                (FloatCmp::Gt, Some(o)) | (FloatCmp::Gtu, Some(o)) => o == Greater,
                (FloatCmp::Ge, Some(o)) | (FloatCmp::Geu, Some(o)) => o != Less,
                (op, None) => matches!(
                    op,
                    FloatCmp::Equ
                        | FloatCmp::Neu
                        | FloatCmp::Ltu
                        | FloatCmp::Leu
                        | FloatCmp::Gtu
                        | FloatCmp::Geu
                ),
            };
            assert_eq!(cmp(op), want, "{op:?} of {operands:#x?}");
        }
    }
}

#[test]
fn minimum_and_maximum() {
    let (plus, minus, one) = (0, 0x8000_0000, 0x3f80_0000);
    assert_eq!(f32::min(plus, minus, false, false), minus);
    assert_eq!(f32::min(minus, plus, false, false), minus);
    assert_eq!(f32::max(minus, plus, false, false), plus);
    assert_eq!(f32::min(0x7f80_0001, one, false, false), one);
    assert_eq!(f32::min(one, 0x7f80_0001, false, false), one);
    assert_eq!(f32::min(one, 0xffc0_0000, true, false), f32::NAN);
    assert_eq!(f32::max(0x7f80_0001, 0x7f80_0001, false, false), f32::NAN);
    assert_eq!(f32::max(0x0000_0001, minus, false, true), plus);
    // -2 and 1: the smaller magnitude is 1, the signs differ.
    assert_eq!(f32::min_xorsign_abs(0xc000_0000, one, false, false), 0xbf80_0000);
    assert_eq!(f32::max_xorsign_abs(0xc000_0000, 0xbf80_0000, false, false), 0x4000_0000);
    assert_eq!(f32::min_xorsign_abs(0xffc0_0000, one, false, false), 0xbf80_0000);
    assert_eq!(f32::min_xorsign_abs(0xffc0_0000, one, true, false), f32::NAN);
    assert_eq!(f32::min3(0x4040_0000, 0xc000_0000, one, false, true, false), one);
    assert_eq!(f32::max3(0x4040_0000, f32::NAN, 0x4080_0000, true, false, false), f32::NAN);
    assert_eq!(f16::min(0x0000, 0x8000, false, false), 0x8000);
    assert_eq!(f16::min(0x7c01, 0x7e00, false, false), f16::NAN);
    assert_eq!(bf16::max(0x7f81, 0xbf80, false, false), 0xbf80);
    assert_eq!(f64::min(0, 1 << 63), 1 << 63);
    assert_eq!(f64::max(0x7ff0_0000_0000_0001, 5), 5);
    assert_eq!(f64::max(0x7ff8_0000_0000_0001, 0x7ff0_0000_0000_0002), 0x7ff8_0000_0000_0002);
    let mut rng = Rng(10);
    for _ in 0..CASES {
        let (a, b) = (rng.f32(), rng.f32());
        if f32::is_nan(a) || f32::is_nan(b) {
            continue;
        }
        let (x, y) = (single(a), single(b));
        let low = if x == y {
            a.max(b)
        } else if x < y {
            a
        } else {
            b
        };
        // Equal values differ at most in the sign of zero, and -0.0 has the larger pattern.
        assert_eq!(f32::min(a, b, false, false), low, "min {a:#x} {b:#x}");
        let high = if x == y {
            a.min(b)
        } else if x > y {
            a
        } else {
            b
        };
        assert_eq!(f32::max(a, b, false, false), high, "max {a:#x} {b:#x}");
    }
}

#[test]
fn clamps_and_nan_rules() {
    assert_eq!(f32::sat(0x8000_0000), 0);
    assert_eq!(f32::sat(0xbf80_0000), 0);
    assert_eq!(f32::sat(0x7fc0_0000), 0);
    assert_eq!(f32::sat(0x7f80_0000), 0x3f80_0000);
    assert_eq!(f32::sat(0x0000_0001), 1);
    assert_eq!(f16::sat(0xfc00), 0);
    assert_eq!(f16::sat(0x3c01), 0x3c00);
    assert_eq!(f16::sat(0x7e00), 0);
    assert_eq!(f16::relu(0xfe00), f16::NAN);
    assert_eq!(f16::relu(0xbc00), 0);
    assert_eq!(f32::neg(0x7f80_0001, false), f32::NAN);
    assert_eq!(f32::abs(0x8000_0001, true), 0);
    assert_eq!(f32::copysign(0x8000_0000, 0x3f80_0000), 0xbf80_0000);
    assert_eq!(f64::neg(0x7ff0_0000_0000_0001), 0x7ff8_0000_0000_0001);
    assert_eq!(f64::add(0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000, Rounding::Rz), f64::NAN);
    assert_eq!(f64::add(0x7ff0_0000_0000_0001, 0x7ff0_0000_0000_0002, Rounding::Rn), 0x7ff8_0000_0000_0002);
    assert!(f32::testp(0, TestP::Normal) && !f32::testp(1, TestP::Normal));
    assert!(f32::testp(1, TestP::Subnormal) && !f32::testp(0, TestP::Subnormal));
    assert!(f64::testp(0x7ff0_0000_0000_0000, TestP::Infinite));
    assert_eq!(f16::oob(0x1234, super::super::OOB_NAN, 0), 0);
    assert_eq!(f16::oob(0x1234, 0, 0xfff7), 0);
    assert_eq!(f16::oob(0x1234, 1, 2), 0x1234);
}

#[test]
fn the_smallest_normal_is_flushed_only_if_it_was_rounded_up_to() {
    // (1 - 2^-24) * 2^-126: rounds up to 2^-126 as an f32, but is tiny.
    let (a, b) = (0x3f7f_ffff, 0x0080_0000);
    assert_eq!(f32::mul(a, b, Rounding::Rn, false), 0x0080_0000);
    assert_eq!(f32::mul(a, b, Rounding::Rn, true), 0);
    assert_eq!(f32::mul(a ^ 0x8000_0000, b, Rounding::Rm, true), 0x8000_0000);
    assert_eq!(f32::mul(0x3f80_0000, b, Rounding::Rn, true), 0x0080_0000);
    assert!(wide::tiny(core::primitive::f64::from_bits(0x380f_ffff_efff_ffff), Rounding::Rn));
    assert!(!wide::tiny(core::primitive::f64::from_bits(0x380f_ffff_f000_0000), Rounding::Rn));
}
