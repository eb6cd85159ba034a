//! Arithmetic of PTX `.bf16` on bit patterns (manual 9.7.4).
//!
//! Operands and results are `u16` bit patterns (the upper half of an `f32`), the rounding is always
//! to nearest even, and every NaN result is [`NAN`]. `.relu` and `.oob` are separate steps
//! ([`relu`], [`oob`]). PTX has no `.ftz` for `.bf16`; the argument exists so that both 16-bit
//! formats are called alike, and the packed forms can share code.
//!
//! ```
//! use numerics::bf16;
//! assert_eq!(bf16::mul(0x3fc0, 0x3fc0, false), 0x4010); // 1.5 * 1.5 = 2.25
//! assert_eq!(bf16::fma(0x3f81, 0x3f81, 0x0001, false), 0x3f82);
//! ```

use super::half::bitwise_ops;
use super::modes::{FloatCmp, Rounding};
use super::wide;

/// The NaN that every `.bf16` operation produces.
pub const NAN: u16 = 0x7fff;
const EXPONENT: u16 = 0x7f80;
const ONE: u16 = 0x3f80;

bitwise_ops!("bf16");

/// 2^-126 - 2^-135: from here on rounding to 8 bits to nearest reaches the smallest normal.
const TINY: f32 = f32::from_bits(0x007f_c000);

/// The exact `f32` value.
#[inline(always)]
pub(super) fn widen(a: u16) -> f32 {
    f32::from_bits(u32::from(a) << 16)
}

/// Rounds an exact or rounded-to-odd `f32` to nearest even; NaN becomes [`NAN`].
#[inline(always)]
pub(super) fn narrow(x: f32, ftz: bool) -> u16 {
    let bits = x.to_bits();
    let r = (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16;
    let r = if ftz & (x.abs() < TINY) { r & SIGN } else { r };
    if x.is_nan() { NAN } else { r }
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

/// `add{.rnd}.bf16` (manual 9.7.4.1).
#[inline(always)]
pub fn add(a: u16, b: u16, ftz: bool) -> u16 {
    // 24 bits are enough for the sum of two 8-bit numbers to be rounded twice without harm, and a
    // sum in the subnormal range is exact.
    narrow(widen(input(a, ftz)) + widen(input(b, ftz)), ftz)
}

/// `mul{.rnd}.bf16` (manual 9.7.4.3).
#[inline(always)]
pub fn mul(a: u16, b: u16, ftz: bool) -> u16 {
    let product = f64::from(widen(input(a, ftz))) * f64::from(widen(input(b, ftz)));
    narrow(wide::odd_f32(product), ftz)
}

/// `fma.rn.bf16` (manual 9.7.4.4), one rounding.
#[inline(always)]
pub fn fma(a: u16, b: u16, c: u16, ftz: bool) -> u16 {
    let product = f64::from(widen(input(a, ftz))) * f64::from(widen(input(b, ftz)));
    let sum = wide::sum_to_odd(product, f64::from(widen(input(c, ftz))), Rounding::Rn);
    narrow(wide::odd_f32(sum), ftz)
}

/// `add{.rnd}.f32.bf16` (manual 9.7.5.1): `a` in `.bf16`, `c` and the result in `.f32` bits.
#[inline(always)]
pub fn add_f32(a: u16, c: u32, rounding: Rounding) -> u32 {
    super::f32::add(u32::from(a) << 16, c, rounding, false)
}

/// `sub{.rnd}.f32.bf16` (manual 9.7.5.2): `a - c`.
#[inline(always)]
pub fn sub_f32(a: u16, c: u32, rounding: Rounding) -> u32 {
    super::f32::sub(u32::from(a) << 16, c, rounding, false)
}

/// `fma.rnd.f32.bf16` (manual 9.7.5.3): `a * b + c` with `a` and `b` in `.bf16`.
#[inline(always)]
pub fn fma_f32(a: u16, b: u16, c: u32, rounding: Rounding) -> u32 {
    super::f32::fma_portable(u32::from(a) << 16, u32::from(b) << 16, c, rounding, false)
}
