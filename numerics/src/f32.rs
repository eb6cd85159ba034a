//! Arithmetic of PTX `.f32` on bit patterns (manual 9.7.3).
//!
//! Operands and results are `u32` bit patterns. Every NaN result of arithmetic is [`NAN`]. With
//! `ftz` subnormal operands count as zeros of their sign, and tiny results become such zeros.
//! `.sat` is a separate step: `f32::sat(f32::add(a, b, Rounding::Rn, false))`.
//!
//! ```
//! use numerics::{Rounding, f32};
//! let third = f32::div(1.0_f32.to_bits(), 3.0_f32.to_bits(), Rounding::Rz, false);
//! assert_eq!(third, 0x3eaa_aaaa);
//! assert_eq!(f32::add(third, f32::NAN ^ 1, Rounding::Rn, false), f32::NAN);
//! ```

use super::modes::{FloatCmp, Rounding, TestP};
use super::wide;

/// The NaN that every `.f32` operation produces.
pub const NAN: u32 = wide::NAN;
const SIGN: u32 = 0x8000_0000;
const EXPONENT: u32 = 0x7f80_0000;
const ONE: u32 = 0x3f80_0000;
const MIN_NORMAL: u32 = 0x0080_0000;
/// 2^64: moves a result near 2^-126 to where rounding is not limited by the exponent.
const SCALE: f32 = f32::from_bits(0x5f80_0000);
/// 2^-62, the image of 2^-126 under [`SCALE`].
const SCALED_MIN_NORMAL: f32 = f32::from_bits(0x2080_0000);

/// True for every NaN pattern.
#[inline(always)]
pub fn is_nan(a: u32) -> bool {
    a & !SIGN > EXPONENT
}

/// A subnormal becomes a zero of its sign; anything else is unchanged.
#[inline(always)]
pub fn flush(a: u32) -> u32 {
    if a & EXPONENT == 0 { a & SIGN } else { a }
}

/// `.sat`: clamps to \[+0.0, 1.0\]; NaN and negative values (also -0.0) become +0.0.
#[inline(always)]
pub fn sat(a: u32) -> u32 {
    let x = f32::from_bits(a);
    let low = if x > 0.0 { a } else { 0 };
    if x > 1.0 { ONE } else { low }
}

/// `.relu`: negative values (also -0.0) become +0.0, NaN becomes [`NAN`].
#[inline(always)]
pub fn relu(a: u32) -> u32 {
    let clamped = if a & SIGN != 0 { 0 } else { a };
    if is_nan(a) { NAN } else { clamped }
}

#[inline(always)]
fn input(a: u32, ftz: bool) -> f32 {
    f32::from_bits(if ftz { flush(a) } else { a })
}

#[inline(always)]
fn output(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

/// Flushes a result `r` whose value scaled by 2^64 is `scaled`.
#[inline(always)]
fn flush_tiny(r: u32, scaled: f32) -> u32 {
    let tiny = (r & !SIGN < MIN_NORMAL) | ((r & !SIGN == MIN_NORMAL) & (scaled.abs() < SCALED_MIN_NORMAL));
    if tiny { r & SIGN } else { r }
}

/// Two factors of `x * y * 2^64` that do not overflow when `x * y` is near 2^-126.
#[inline(always)]
fn scale_product(x: f32, y: f32) -> (f32, f32) {
    if x.abs() < 1.0 { (x * SCALE, y) } else { (x, y * SCALE) }
}

/// `add{.rnd}{.ftz}.f32` (manual 9.7.3.3).
#[inline(always)]
pub fn add(a: u32, b: u32, rounding: Rounding, ftz: bool) -> u32 {
    let (x, y) = (input(a, ftz), input(b, ftz));
    match rounding {
        Rounding::Rn => {
            // A subnormal sum is exact, so flushing after rounding is the whole rule.
            let r = output(x + y);
            if ftz { flush(r) } else { r }
        }
        _ => wide::narrow(wide::sum_to_odd(f64::from(x), f64::from(y), rounding), rounding, ftz),
    }
}

/// `sub{.rnd}{.ftz}.f32` (manual 9.7.3.4).
#[inline(always)]
pub fn sub(a: u32, b: u32, rounding: Rounding, ftz: bool) -> u32 {
    add(a, b ^ SIGN, rounding, ftz)
}

/// `mul{.rnd}{.ftz}.f32` (manual 9.7.3.5).
#[inline(always)]
pub fn mul(a: u32, b: u32, rounding: Rounding, ftz: bool) -> u32 {
    let (x, y) = (input(a, ftz), input(b, ftz));
    match rounding {
        Rounding::Rn => {
            let r = output(x * y);
            if ftz {
                let (u, v) = scale_product(x, y);
                flush_tiny(r, u * v)
            } else {
                r
            }
        }
        _ => wide::narrow(f64::from(x) * f64::from(y), rounding, ftz),
    }
}

/// `fma.rnd{.ftz}.f32` and `mad.rnd{.ftz}.f32` (manual 9.7.3.6, 9.7.3.7).
///
/// `.rn` uses [`f32::mul_add`], one instruction where the calling function is compiled for a
/// processor with FMA and a library call elsewhere; [`fma_portable`] gives the same bits without
/// either.
#[inline(always)]
pub fn fma(a: u32, b: u32, c: u32, rounding: Rounding, ftz: bool) -> u32 {
    match rounding {
        Rounding::Rn => {
            let (x, y, z) = (input(a, ftz), input(b, ftz), input(c, ftz));
            let r = output(x.mul_add(y, z));
            if ftz {
                let (u, v) = scale_product(x, y);
                flush_tiny(r, u.mul_add(v, z * SCALE))
            } else {
                r
            }
        }
        _ => fma_portable(a, b, c, rounding, ftz),
    }
}

/// [`fma`] from `f64` operations alone: for lane loops compiled without FMA.
#[inline(always)]
pub fn fma_portable(a: u32, b: u32, c: u32, rounding: Rounding, ftz: bool) -> u32 {
    let (x, y, z) = (input(a, ftz), input(b, ftz), input(c, ftz));
    let product = f64::from(x) * f64::from(y);
    wide::narrow(wide::sum_to_odd(product, f64::from(z), rounding), rounding, ftz)
}

/// `div.rnd{.ftz}.f32` (manual 9.7.3.8), correctly rounded.
#[inline(always)]
pub fn div(a: u32, b: u32, rounding: Rounding, ftz: bool) -> u32 {
    let (x, y) = (input(a, ftz), input(b, ftz));
    match (rounding, ftz) {
        (Rounding::Rn, false) => output(x / y),
        // An inexact quotient of 24-bit numbers is at least 2^-49 (relative) away from every number
        // of 25 bits or fewer, so the f64 quotient lies on the same side of it.
        _ => wide::narrow(f64::from(x) / f64::from(y), rounding, ftz),
    }
}

/// `rcp.rnd{.ftz}.f32` (manual 9.7.3.13), correctly rounded.
#[inline(always)]
pub fn rcp(a: u32, rounding: Rounding, ftz: bool) -> u32 {
    div(ONE, a, rounding, ftz)
}

/// `sqrt.rnd{.ftz}.f32` (manual 9.7.3.15), correctly rounded.
#[inline(always)]
pub fn sqrt(a: u32, rounding: Rounding, ftz: bool) -> u32 {
    let x = input(a, ftz);
    match rounding {
        Rounding::Rn => output(x.sqrt()),
        // As for division: an inexact root is 2^-49 away from every 24-bit number.
        _ => wide::narrow(f64::from(x).sqrt(), rounding, false),
    }
}

/// `neg{.ftz}.f32` (manual 9.7.3.10): `-a + -0.0` on the device, so NaN becomes [`NAN`].
#[inline(always)]
pub fn neg(a: u32, ftz: bool) -> u32 {
    let r = if ftz { flush(a) } else { a };
    if is_nan(a) { NAN } else { r ^ SIGN }
}

/// `abs{.ftz}.f32` (manual 9.7.3.9): `|a| + -0.0` on the device, so NaN becomes [`NAN`].
#[inline(always)]
pub fn abs(a: u32, ftz: bool) -> u32 {
    let r = if ftz { flush(a) } else { a };
    if is_nan(a) { NAN } else { r & !SIGN }
}

/// `copysign.f32` (manual 9.7.3.2): the sign of `a` on the magnitude of `b`.
#[inline(always)]
pub fn copysign(a: u32, b: u32) -> u32 {
    (a & SIGN) | (b & !SIGN)
}

/// `testp.op.f32` (manual 9.7.3.1).
#[inline(always)]
pub fn testp(a: u32, test: TestP) -> bool {
    let m = a & !SIGN;
    match test {
        TestP::Finite => m < EXPONENT,
        TestP::Infinite => m == EXPONENT,
        TestP::Number => m <= EXPONENT,
        TestP::NotANumber => m > EXPONENT,
        TestP::Normal => m == 0 || (MIN_NORMAL..EXPONENT).contains(&m),
        TestP::Subnormal => m != 0 && m < MIN_NORMAL,
    }
}

/// The comparison of `setp` and `set` on `.f32` (manual 9.7.6.1, 9.7.6.2).
#[inline(always)]
pub fn cmp(a: u32, b: u32, op: FloatCmp, ftz: bool) -> bool {
    let (x, y) = (input(a, ftz), input(b, ftz));
    op.decide(x < y, x == y, x.is_nan() | y.is_nan())
}

/// A signed key that orders all numbers, -0.0 below +0.0.
#[inline(always)]
fn key(a: u32) -> i32 {
    let s = a as i32;
    s ^ (((s >> 31) as u32) >> 1) as i32
}

#[inline(always)]
fn pick(a: u32, b: u32, take_a: bool, nan: bool) -> u32 {
    let (a_nan, b_nan) = (is_nan(a), is_nan(b));
    let r = if take_a { a } else { b };
    let r = if a_nan { b } else { r };
    let r = if b_nan { a } else { r };
    if (a_nan & b_nan) | (nan & (a_nan | b_nan)) { NAN } else { r }
}

/// `min{.ftz}{.NaN}.f32` (manual 9.7.3.11): -0.0 is below +0.0; a NaN operand gives the other
/// operand, or [`NAN`] with `nan` (PTX `.NaN`) or when both are NaN.
#[inline(always)]
pub fn min(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
    let (a, b) = if ftz { (flush(a), flush(b)) } else { (a, b) };
    pick(a, b, key(a) <= key(b), nan)
}

/// `max{.ftz}{.NaN}.f32` (manual 9.7.3.12); rules as for [`min`].
#[inline(always)]
pub fn max(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
    let (a, b) = if ftz { (flush(a), flush(b)) } else { (a, b) };
    pick(a, b, key(a) >= key(b), nan)
}

#[inline(always)]
fn xorsign(r: u32, a: u32, b: u32) -> u32 {
    if is_nan(r) { r } else { (r & !SIGN) | ((a ^ b) & SIGN) }
}

/// `min{.ftz}{.NaN}.xorsign.abs.f32`: the smaller magnitude with the exclusive or of the signs,
/// which is not applied to a NaN result.
#[inline(always)]
pub fn min_xorsign_abs(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
    xorsign(min(a & !SIGN, b & !SIGN, nan, ftz), a, b)
}

/// `max{.ftz}{.NaN}.xorsign.abs.f32`; see [`min_xorsign_abs`].
#[inline(always)]
pub fn max_xorsign_abs(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
    xorsign(max(a & !SIGN, b & !SIGN, nan, ftz), a, b)
}

#[inline(always)]
fn magnitude(a: u32, abs: bool) -> u32 {
    if abs { a & !SIGN } else { a }
}

/// Three-input `min{.ftz}{.NaN}{.abs}.f32` (manual 9.7.3.11).
#[inline(always)]
pub fn min3(a: u32, b: u32, c: u32, nan: bool, abs: bool, ftz: bool) -> u32 {
    let m = min(magnitude(a, abs), magnitude(b, abs), nan, ftz);
    min(m, magnitude(c, abs), nan, ftz)
}

/// Three-input `max{.ftz}{.NaN}{.abs}.f32` (manual 9.7.3.12).
#[inline(always)]
pub fn max3(a: u32, b: u32, c: u32, nan: bool, abs: bool, ftz: bool) -> u32 {
    let m = max(magnitude(a, abs), magnitude(b, abs), nan, ftz);
    max(m, magnitude(c, abs), nan, ftz)
}

/// The result of `set.*.f32.*`: 1.0 or +0.0.
#[inline(always)]
pub fn from_bool(p: bool) -> u32 {
    if p { ONE } else { 0 }
}
