//! Arithmetic of PTX `.f64` on bit patterns (manual 9.7.3).
//!
//! Operands and results are `u64` bit patterns. `.f64` never flushes and never saturates (except
//! `cvt.sat`). NaN operands propagate by [`propagate`]; an invalid operation gives [`NAN`].
//!
//! ```
//! use numerics::{Rounding, f64};
//! let one = 1.0_f64.to_bits();
//! assert_eq!(f64::add(one, 1, Rounding::Rp), one + 1);
//! assert_eq!(f64::add(one, 1, Rounding::Rn), one);
//! ```

use super::modes::{FloatCmp, Rounding, TestP};
use super::soft;

/// The NaN of an invalid `.f64` operation (what ptxas builds for 0/0 and sqrt of a negative).
pub const NAN: u64 = 0xfff8_0000_0000_0000;
/// The NaN of `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` (manual 9.7.3.14).
pub const APPROX_NAN: u64 = 0x7fff_ffff_0000_0000;
const SIGN: u64 = 1 << 63;
const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
const QUIET: u64 = 0x0008_0000_0000_0000;
const ONE: u64 = 0x3ff0_0000_0000_0000;
const MIN_NORMAL: u64 = 0x0010_0000_0000_0000;

/// True for every NaN pattern.
#[inline(always)]
pub fn is_nan(a: u64) -> bool {
    a & !SIGN > EXPONENT
}

/// The NaN result of a sum or product in any rounding: of the operands of `a * b + c` that are NaN the
/// first in the order `b`, `c`, `a`, made quiet, or [`NAN`] if there is none. `add` is `a * 1 + b` and
/// `mul` is `a * b`, so both prefer their second operand. A negation does not reach the sign of a NaN.
#[inline(always)]
pub fn propagate(a: u64, b: u64, c: u64) -> u64 {
    let r = if is_nan(a) { a | QUIET } else { NAN };
    let r = if is_nan(c) { c | QUIET } else { r };
    if is_nan(b) { b | QUIET } else { r }
}

/// The NaN result of `div`, `rcp` and `sqrt`, which are emulated: the first NaN operand, made quiet.
#[inline(always)]
fn propagate_first(a: u64, b: u64) -> u64 {
    propagate(b, a, 0)
}

#[inline(always)]
fn output(x: f64, nan: u64) -> u64 {
    if x.is_nan() { nan } else { x.to_bits() }
}

/// `add{.rnd}.f64` (manual 9.7.3.3).
#[inline(always)]
pub fn add(a: u64, b: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Rn => output(f64::from_bits(a) + f64::from_bits(b), propagate(a, b, 0)),
        _ => soft::fma64(a, ONE, b, rounding).unwrap_or_else(|| propagate(a, b, 0)),
    }
}

/// `sub{.rnd}.f64` (manual 9.7.3.4): `a + -b`, where a NaN keeps its sign.
#[inline(always)]
pub fn sub(a: u64, b: u64, rounding: Rounding) -> u64 {
    add(a, if is_nan(b) { b } else { b ^ SIGN }, rounding)
}

/// `mul{.rnd}.f64` (manual 9.7.3.5).
#[inline(always)]
pub fn mul(a: u64, b: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Rn => output(f64::from_bits(a) * f64::from_bits(b), propagate(a, b, 0)),
        _ => {
            // An addend of the product's sign keeps the sign of a zero product.
            let zero = (a ^ b) & SIGN;
            soft::fma64(a, b, zero, rounding).unwrap_or_else(|| propagate(a, b, 0))
        }
    }
}

/// `fma.rnd.f64` and `mad.rnd.f64` (manual 9.7.3.6). `.rn` uses [`f64::mul_add`]; see
/// [`fma_portable`].
#[inline(always)]
pub fn fma(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Rn => {
            let r = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c));
            output(r, propagate(a, b, c))
        }
        _ => fma_portable(a, b, c, rounding),
    }
}

/// [`fma`] in integers: the same bits without an FMA instruction or a library call.
#[inline]
pub fn fma_portable(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    soft::fma64(a, b, c, rounding).unwrap_or_else(|| propagate(a, b, c))
}

/// `div.rnd.f64` (manual 9.7.3.8), correctly rounded.
#[inline(always)]
pub fn div(a: u64, b: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Rn => output(f64::from_bits(a) / f64::from_bits(b), propagate_first(a, b)),
        _ => soft::div64(a, b, rounding).unwrap_or_else(|| propagate_first(a, b)),
    }
}

/// `rcp.rnd.f64` (manual 9.7.3.13), correctly rounded.
#[inline(always)]
pub fn rcp(a: u64, rounding: Rounding) -> u64 {
    div(ONE, a, rounding)
}

/// `sqrt.rnd.f64` (manual 9.7.3.15), correctly rounded.
#[inline(always)]
pub fn sqrt(a: u64, rounding: Rounding) -> u64 {
    match rounding {
        Rounding::Rn => output(f64::from_bits(a).sqrt(), propagate_first(a, 0)),
        _ => soft::sqrt64(a, rounding).unwrap_or_else(|| propagate_first(a, 0)),
    }
}

/// `neg.f64` (manual 9.7.3.10): `-0.0 + -a` on the device, so a NaN becomes quiet and keeps its sign.
#[inline(always)]
pub fn neg(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a ^ SIGN }
}

/// `abs.f64` (manual 9.7.3.9): `-0.0 + |a|` on the device, so a NaN becomes quiet and keeps its sign.
#[inline(always)]
pub fn abs(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a & !SIGN }
}

/// `copysign.f64` (manual 9.7.3.2): the sign of `a` on the magnitude of `b`.
#[inline(always)]
pub fn copysign(a: u64, b: u64) -> u64 {
    (a & SIGN) | (b & !SIGN)
}

/// `testp.op.f64` (manual 9.7.3.1).
#[inline(always)]
pub fn testp(a: u64, test: TestP) -> bool {
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

/// The comparison of `setp` and `set` on `.f64` (manual 9.7.6.1, 9.7.6.2).
#[inline(always)]
pub fn cmp(a: u64, b: u64, op: FloatCmp) -> bool {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    op.decide(x < y, x == y, x.is_nan() | y.is_nan())
}

#[inline(always)]
fn key(a: u64) -> i64 {
    let s = a as i64;
    s ^ (((s >> 63) as u64) >> 1) as i64
}

#[inline(always)]
fn pick(a: u64, b: u64, take_a: bool) -> u64 {
    let (a_nan, b_nan) = (is_nan(a), is_nan(b));
    let r = if take_a { a } else { b };
    let r = if a_nan { b } else { r };
    let r = if b_nan { a } else { r };
    // Two NaNs: ptxas takes the second operand and makes it quiet.
    if a_nan & b_nan { b | QUIET } else { r }
}

/// `min.f64` (manual 9.7.3.11): -0.0 is below +0.0; one NaN operand gives the other operand.
#[inline(always)]
pub fn min(a: u64, b: u64) -> u64 {
    pick(a, b, key(a) <= key(b))
}

/// `max.f64` (manual 9.7.3.12); rules as for [`min`].
#[inline(always)]
pub fn max(a: u64, b: u64) -> u64 {
    pick(a, b, key(a) >= key(b))
}

/// `.sat` of `cvt.*.f64`: clamps to \[+0.0, 1.0\]; NaN and negative values become +0.0.
#[inline(always)]
pub fn sat(a: u64) -> u64 {
    let x = f64::from_bits(a);
    let low = if x > 0.0 { a } else { 0 };
    if x > 1.0 { ONE } else { low }
}
