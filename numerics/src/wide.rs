//! Exact and rounded-to-odd intermediate results in `f64` for operands of 24 significant bits or
//! fewer.
//!
//! An `f64` holds every product of two `f32` values exactly (48 bits, exponent range to spare).
//! A sum of such a product and an `f32` is rounded *to odd*: when bits are lost, the last bit kept
//! is 1. A rounding to at most 51 bits afterwards, in any direction, is then the rounding of the
//! exact value (Boldo and Melquiond, 2008), and an ordered comparison of the result with a value
//! of at most 52 bits has the outcome of the exact one. All functions are free of branches.

use super::modes::Rounding;

/// The NaN of every `f32` result.
pub(super) const NAN: u32 = 0x7fff_ffff;
/// 2^-126, the smallest normal `f32`.
const MIN_NORMAL: f64 = f64::from_bits(0x3810_0000_0000_0000);
/// 2^-126 - 2^-151: from here on rounding to 24 bits to nearest reaches 2^-126.
const TINY_NEAREST: f64 = f64::from_bits(0x380f_ffff_f000_0000);
/// 2^-126 - 2^-150: beyond it rounding to 24 bits away from zero reaches 2^-126.
const TINY_AWAY: f64 = f64::from_bits(0x380f_ffff_e000_0000);

/// `p + c` rounded to odd. `rounding` only decides the sign of an exact zero (negative for `.rm`
/// unless both operands are positive zeros).
///
/// `p` must be the exact product of two `f32` values (or one such value) and `c` an `f32` value;
/// NaN and infinities follow `f64` addition.
#[inline(always)]
pub(super) fn sum_to_odd(p: f64, c: f64, rounding: Rounding) -> f64 {
    let s = p + c;
    // Knuth's TwoSum: s + err is exactly p + c when s is finite, err is NaN otherwise.
    let c_part = s - p;
    let err = (p - (s - c_part)) + (c - c_part);
    let bits = s.to_bits();
    let toward = if (err > 0.0) == (s > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let lost = err.abs() > 0.0;
    let odd = if lost & (bits & 1 == 0) { toward } else { bits };
    let zero = match rounding {
        Rounding::Rm => (p.to_bits() | c.to_bits()) & (1 << 63),
        _ => bits,
    };
    f64::from_bits(if s == 0.0 { zero } else { odd })
}

/// Rounds an exact or rounded-to-odd `x` to `f32` bits; NaN becomes `0x7fffffff`.
///
/// With `ftz` a result that is tiny, that is below 2^-126 after rounding to 24 bits with an
/// unbounded exponent, becomes a zero of the same sign: the device's rule, also where the flush is
/// emulated (`div.*.ftz`, `cvt.*.ftz.f32.f64`).
#[inline(always)]
pub(super) fn narrow(x: f64, rounding: Rounding, ftz: bool) -> u32 {
    let nearest = x as f32;
    let bits = nearest.to_bits();
    let back = nearest as f64;
    let up = if bits >> 31 == 0 { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let down = if bits >> 31 == 0 { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
    let rounded = match rounding {
        Rounding::Rn => bits,
        Rounding::Rz => {
            if back.abs() > x.abs() {
                bits.wrapping_sub(1)
            } else {
                bits
            }
        }
        Rounding::Rm => {
            if back > x {
                down
            } else {
                bits
            }
        }
        Rounding::Rp => {
            if back < x {
                up
            } else {
                bits
            }
        }
    };
    let flushed = if ftz & tiny(x, rounding) { rounded & 0x8000_0000 } else { rounded };
    if x.is_nan() { NAN } else { flushed }
}

/// True if `x` rounded to 24 bits with an unbounded exponent is below 2^-126 in magnitude.
#[inline(always)]
pub(super) fn tiny(x: f64, rounding: Rounding) -> bool {
    let m = x.abs();
    match rounding {
        Rounding::Rn => m < TINY_NEAREST,
        Rounding::Rz => m < MIN_NORMAL,
        Rounding::Rm => m < MIN_NORMAL && (x > 0.0 || m <= TINY_AWAY),
        Rounding::Rp => m < MIN_NORMAL && (x < 0.0 || m <= TINY_AWAY),
    }
}

/// Rounds an exact or rounded-to-odd `x` to an `f32` value rounded to odd, for a later rounding to
/// 22 bits or fewer. NaN stays NaN; beyond the largest `f32` the result is that value (odd), so
/// that a later rounding to nearest gives infinity.
#[inline(always)]
pub(super) fn odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    let bits = nearest.to_bits();
    let back = nearest as f64;
    let inexact = back != x;
    let toward = if back.abs() > x.abs() { bits.wrapping_sub(1) } else { bits | 1 };
    // Truncated and inexact: make the last bit 1.
    let odd = if inexact { toward | 1 } else { bits };
    if x.is_nan() { f32::NAN } else { f32::from_bits(odd) }
}
