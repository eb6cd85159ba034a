//! Arithmetic of PTX `.f16` (IEEE binary16) on bit patterns (manual 9.7.4).
//!
//! Operands and results are `u16` bit patterns, the rounding is always to nearest even, and every
//! NaN result is [`NAN`]. `.sat`, `.relu` and `.oob` are separate steps ([`sat`], [`relu`],
//! [`oob`]).
//!
//! ```
//! use numerics::f16;
//! assert_eq!(f16::fma(0x3c03, 0x3c03, 0xbc00, false), 0x1e02); // (1 + 3/1024)^2 - 1, rounded once
//! assert_eq!(f16::sat(f16::add(0x3c00, 0x3c00, false)), 0x3c00);
//! ```

use super::half::bitwise_ops;
use super::modes::{FloatCmp, Rounding};
use super::wide;

/// The NaN that every `.f16` operation produces.
pub const NAN: u16 = 0x7fff;
const EXPONENT: u16 = 0x7c00;
const ONE: u16 = 0x3c00;

bitwise_ops!("f16");

/// 2^-14 - 2^-26: from here on rounding to 11 bits to nearest reaches the smallest normal.
const TINY: f32 = f32::from_bits(0x387f_f000);

/// The exact `f32` value; NaN payloads move to the upper fraction bits.
#[inline(always)]
pub(super) fn widen(a: u16) -> f32 {
    let magnitude = u32::from(a & !SIGN);
    let normal = (magnitude << 13).wrapping_add(112 << 23);
    let special = normal.wrapping_add(112 << 23);
    // 2^-14 * (1 + fraction) - 2^-14 puts a subnormal in place without a shift count.
    let subnormal = f32::from_bits((magnitude << 13) + (113 << 23)) - f32::from_bits(113 << 23);
    let bits = if magnitude >= 0x7c00 { special } else { normal };
    let bits = if magnitude < 0x0400 { subnormal.to_bits() } else { bits };
    f32::from_bits(bits | u32::from(a & SIGN) << 16)
}

/// Rounds an exact or rounded-to-odd `f32` to nearest even; NaN becomes [`NAN`]. With `ftz` a
/// result that is tiny after rounding to 11 bits becomes a zero of its sign.
#[inline(always)]
pub(super) fn narrow(x: f32, ftz: bool) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16) as u16 & SIGN;
    let magnitude = bits & 0x7fff_ffff;
    let normal = magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)).wrapping_sub(112 << 23) >> 13;
    // In [0.5, 1) the last bit of an f32 is 2^-24, the last bit of a subnormal f16.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let r = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let r = if magnitude >= 0x4780_0000 { u32::from(EXPONENT) } else { r };
    let r = if ftz & (x.abs() < TINY) { 0 } else { r };
    let r = if magnitude > 0x7f80_0000 { u32::from(NAN) } else { r as u16 as u32 | u32::from(sign) };
    r as u16
}

/// [`narrow`] in any rounding.
#[inline(always)]
pub(super) fn narrow_to(x: f32, rounding: Rounding) -> u16 {
    let nearest = narrow(x, false);
    let back = widen(nearest);
    let (toward_zero, away) = (nearest.wrapping_sub(1), nearest.wrapping_add(1));
    let negative = nearest & SIGN != 0;
    let up = if negative { toward_zero } else { away };
    let down = if negative { away } else { toward_zero };
    let step = match rounding {
        Rounding::Rn => nearest,
        Rounding::Rz => {
            if back.abs() > x.abs() {
                toward_zero
            } else {
                nearest
            }
        }
        Rounding::Rm => {
            if back > x {
                down
            } else {
                nearest
            }
        }
        Rounding::Rp => {
            if back < x {
                up
            } else {
                nearest
            }
        }
    };
    if x.is_nan() { NAN } else { step }
}

/// `a + b` rounded to odd in `f32`; exact when neither bit is lost.
#[inline(always)]
fn sum_to_odd(p: f32, c: f32) -> f32 {
    let s = p + c;
    let c_part = s - p;
    let err = (p - (s - c_part)) + (c - c_part);
    let bits = s.to_bits();
    let toward = if (err > 0.0) == (s > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let lost = err.abs() > 0.0;
    f32::from_bits(if lost & (bits & 1 == 0) { toward } else { bits })
}

/// `add{.rnd}{.ftz}.f16` (manual 9.7.4.1).
#[inline(always)]
pub fn add(a: u16, b: u16, ftz: bool) -> u16 {
    // 24 bits are enough for the sum of two 11-bit numbers to be rounded twice without harm.
    narrow(widen(input(a, ftz)) + widen(input(b, ftz)), ftz)
}

/// `mul{.rnd}{.ftz}.f16` (manual 9.7.4.3).
#[inline(always)]
pub fn mul(a: u16, b: u16, ftz: bool) -> u16 {
    narrow(widen(input(a, ftz)) * widen(input(b, ftz)), ftz)
}

/// `fma.rn{.ftz}.f16` (manual 9.7.4.4), one rounding.
#[inline(always)]
pub fn fma(a: u16, b: u16, c: u16, ftz: bool) -> u16 {
    let product = widen(input(a, ftz)) * widen(input(b, ftz));
    narrow(sum_to_odd(product, widen(input(c, ftz))), ftz)
}

/// `add{.rnd}.f32.f16` (manual 9.7.5.1): `a` in `.f16`, `c` and the result in `.f32` bits.
#[inline(always)]
pub fn add_f32(a: u16, c: u32, rounding: Rounding) -> u32 {
    super::f32::add(widen(a).to_bits(), c, rounding, false)
}

/// `sub{.rnd}.f32.f16` (manual 9.7.5.2): `a - c`.
#[inline(always)]
pub fn sub_f32(a: u16, c: u32, rounding: Rounding) -> u32 {
    super::f32::sub(widen(a).to_bits(), c, rounding, false)
}

/// `fma.rnd.f32.f16` (manual 9.7.5.3): `a * b + c` with `a` and `b` in `.f16`.
#[inline(always)]
pub fn fma_f32(a: u16, b: u16, c: u32, rounding: Rounding) -> u32 {
    // The product is exact in f32, so that one sum in f64 is the whole operation.
    let product = f64::from(widen(a) * widen(b));
    wide::narrow(wide::sum_to_odd(product, f64::from(f32::from_bits(c)), rounding), rounding, false)
}
