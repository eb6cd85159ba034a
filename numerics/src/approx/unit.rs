//! The special-function unit's primitives: piecewise quadratic interpolation in exact integers, on
//! `.f32` bits or (RCP64H, RSQ64H) on the upper word of an `.f64`.
//!
//! Common to all but TANH, which passes subnormals through: a subnormal operand counts as a zero of
//! its sign, a subnormal result becomes such a zero. NaN is `0x7fffffff`. `m` is the fraction, `e` the
//! biased exponent, `x` the fraction bits inside a segment.

use super::tables::{EX2, LG2, RCP, RSQRT, SIN, SQRT, TANH, TANH_SEGMENTS};
use crate::f32 as single;

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
/// The upper word of an infinite `.f64`.
const INFINITY_64H: u32 = 0x7ff0_0000;

/// The unit's truncated square of a 17-bit number: the partial products of `x * x / 2^18`, each
/// truncated, summed and halved.
///
/// With `x = 2^9 h + l` the products inside `h * h` lose nothing, those inside `l * l` vanish, and
/// the mixed ones occur twice, which leaves one sum over the bits of `h`.
#[inline(always)]
fn square(x: u32) -> u32 {
    let (h, l) = (x >> 9, x & 0x1ff);
    let mut sum = (h * h) >> 1;
    let mut bit = 1;
    while bit < 8 {
        sum += if h >> bit & 1 != 0 { l >> (9 - bit) } else { 0 };
        bit += 1;
    }
    sum
}

/// `c0 * 2^shift0 + c1 * x + c2 * square * 2^shift2 + bias`.
#[inline(always)]
fn quadratic(row: [i32; 3], shift0: u32, x: u32, square: u32, shift2: u32, bias: i64) -> i64 {
    let [c0, c1, c2] = row.map(i64::from);
    (c0 << shift0) + c1 * i64::from(x) + ((c2 * i64::from(square)) << shift2) + bias
}

/// The low 23 bits of `quadratic(…) >> shift`, for a `c1` of 18 bits and an `x` of 17, without words of 64 bits: what lies
/// below `2^9` in `c1 * x` only counts for what it carries.
#[inline(always)]
fn interpolated(row: [i32; 3], shift0: u32, x: u32, square: u32, shift2: u32, bias: i32, shift: u32) -> u32 {
    let [c0, c1, c2] = row;
    let upper = c1 * (x >> 9) as i32;
    let lower = c1 * (x & 0x1ff) as i32 + ((c2 * square as i32) << shift2) + bias;
    let sum = ((c0 as u32) << (shift0 - 9)).wrapping_add((upper + (lower >> 9)) as u32);
    sum >> (shift - 9) & 0x007f_ffff
}

/// A row of a table; the index is masked to the table's size, a power of two.
#[inline(always)]
fn row<const N: usize>(table: &[[i32; 3]; N], index: u32) -> [i32; 3] {
    table[index as usize & (N - 1)]
}

/// Fraction of 1 / (1 + m / 2^23), in 23 bits; 0 for `m == 0`, where the quotient is 1 itself.
#[inline(always)]
fn rcp_fraction(m: u32) -> u32 {
    let x = m & 0xffff;
    let fraction = interpolated(row(&RCP, m >> 16), 13, x, square(x << 1), 0, 0x47e7, 15);
    if m == 0 { 0 } else { fraction }
}

/// Fraction of 1 / sqrt(1 + t / 2^23), in 23 bits, for a `t` whose bit 23 makes the radicand
/// 2 + 2 (t - 2^23) / 2^23; 0 for `t == 0`, where the root is 1 itself.
#[inline(always)]
fn rsq_fraction(t: u32) -> u32 {
    let x = t & 0x1_ffff;
    let fraction = interpolated(row(&RSQRT, t >> 17), 14, x, square(x), 2, 0x7fff, 16);
    if t == 0 { 0 } else { fraction }
}

/// RCP: 1 / a.
#[inline(always)]
pub(crate) fn rcp(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let exponent = 253 - e + i32::from(m == 0);
    let r = if exponent <= 0 { 0 } else { (exponent as u32) << 23 | rcp_fraction(m) };
    let r = if e == 0 { INFINITY } else { r };
    let r = if e == 255 { 0 } else { r };
    if single::is_nan(a) { single::NAN } else { r | sign }
}

/// RSQ: 1 / sqrt(a).
#[inline(always)]
pub(crate) fn rsq(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let unbiased = e - 127;
    let t = (unbiased as u32 & 1) << 23 | m;
    let exponent = 126 - (unbiased >> 1) + i32::from(t == 0);
    let r = (exponent as u32) << 23 | rsq_fraction(t);
    let r = if e == 255 { 0 } else { r };
    let r = if sign != 0 { single::NAN } else { r };
    let r = if e == 0 { INFINITY | sign } else { r };
    if single::is_nan(a) { single::NAN } else { r }
}

/// RCP64H: the upper word of 1 / a from the upper word of a. The fraction is that of RCP, truncated
/// to 20 bits.
#[inline(always)]
pub(crate) fn rcp64h(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 20 & 0x7ff) as i32, a & 0x000f_ffff);
    let exponent = 2045 - e + i32::from(m == 0);
    let r = if exponent <= 0 { 0 } else { (exponent as u32) << 20 | rcp_fraction(m << 3) >> 3 };
    let r = if e == 0 { INFINITY_64H } else { r };
    let r = if e == 0x7ff { 0 } else { r };
    if a & !SIGN > INFINITY_64H { single::NAN } else { r | sign }
}

/// RSQ64H: the upper word of 1 / sqrt(a) from the upper word of a. The fraction is that of RSQ,
/// truncated to 20 bits.
#[inline(always)]
pub(crate) fn rsq64h(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 20 & 0x7ff) as i32, a & 0x000f_ffff);
    let unbiased = e - 1023;
    let t = (unbiased as u32 & 1) << 23 | m << 3;
    let exponent = 1022 - (unbiased >> 1) + i32::from(t == 0);
    let r = (exponent as u32) << 20 | rsq_fraction(t) >> 3;
    let r = if e == 0x7ff { 0 } else { r };
    let r = if sign != 0 { single::NAN } else { r };
    let r = if e == 0 { INFINITY_64H | sign } else { r };
    if a & !SIGN > INFINITY_64H { single::NAN } else { r }
}

/// SQRT: sqrt(a), a primitive of its own.
#[inline(always)]
pub(crate) fn sqrt(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let unbiased = e - 127;
    let t = (unbiased as u32 & 1) << 23 | m;
    let x = t & 0x1_ffff;
    let fraction = interpolated(row(&SQRT, t >> 17), 15, x, square(x), 1, 0x7fff, 17);
    let r = ((127 + (unbiased >> 1)) as u32) << 23 | fraction;
    let r = if e == 255 { INFINITY } else { r };
    let r = if sign != 0 { single::NAN } else { r };
    let r = if e == 0 { sign } else { r };
    if single::is_nan(a) { single::NAN } else { r }
}

/// EX2: 2 to the power a.
#[inline(always)]
pub(crate) fn ex2(a: u32) -> u32 {
    let (negative, e, m) = (a & SIGN != 0, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let large = e >= 127 + 7;
    // 7.23 fixed point, truncated toward zero.
    let significand = if e == 0 { 0 } else { m | 0x0080_0000 };
    let up = (e - 127).clamp(-24, 6);
    let fixed = if up >= 0 { significand << (up & 31) } else { significand >> (-up & 31) };
    let (whole, fraction) = ((fixed >> 23) as i32, fixed & 0x007f_ffff);
    let borrow = negative && fraction != 0;
    let exponent = 127 + if negative { -whole - i32::from(borrow) } else { whole };
    let f = if borrow { !fraction & 0x007f_ffff } else { fraction };
    let x = f & 0x1_ffff;
    let mantissa = interpolated(row(&EX2, f >> 17), 13, x, square(x), 0, 0x77e2, 15);
    let r = if exponent <= 0 { 0 } else { (exponent as u32) << 23 | mantissa };
    let r = if large { if negative { 0 } else { INFINITY } } else { r };
    if single::is_nan(a) { single::NAN } else { r }
}

/// Puts `value * 2^-point` (not zero) into an `.f32` by truncation.
#[inline(always)]
fn truncate_to_f32(value: u64, point: i32) -> u32 {
    let up = value.leading_zeros();
    let fraction = ((value << (up & 63)) >> 40) as u32 & 0x007f_ffff;
    ((127 + 63 - up as i32 - point) as u32) << 23 | fraction
}

/// LG2: the base-2 logarithm of a.
#[inline(always)]
pub(crate) fn lg2(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let x = m & 0x1_ffff;
    let part = quadratic(row(&LG2, m >> 17), 12, x, square(x), 1, 0x3345) >> 2;
    let total = part + (i64::from(e - 127) << 36);
    let negative = total < 0;
    let magnitude = if negative { !total } else { total } as u64;
    let r = truncate_to_f32(magnitude.max(1), 36);
    let r = if negative { r | SIGN } else { r };
    let r = if a == 0x3f80_0000 { 0 } else { r };
    let r = if e == 255 { INFINITY } else { r };
    let r = if sign != 0 { single::NAN } else { r };
    let r = if e == 0 { INFINITY | SIGN } else { r };
    if single::is_nan(a) { single::NAN } else { r }
}

/// TANH: below 2^-8 the operand itself (subnormals too), from 2^3 on 1. A segment has 2^17 arguments,
/// so that up to six of the last fraction bits count for nothing.
#[inline(always)]
pub(crate) fn tanh(a: u32) -> u32 {
    const FIRST: u32 = 119;
    let (sign, e, m) = (a & SIGN, a >> 23 & 0xff, a & 0x007f_ffff);
    let (bits, base) = TANH_SEGMENTS[(e.saturating_sub(FIRST)).min(15) as usize];
    let x = (m >> (6 - bits)) & 0x1_ffff;
    let value = quadratic(row(&TANH, base + (m >> (23 - bits))), 15, x, square(x), 0, 0);
    let r = truncate_to_f32(value as u64, 39);
    let r = if e < FIRST { a & !SIGN } else { r };
    if single::is_nan(a) { single::NAN } else { r | sign }
}

/// SIN (`cosine` false) and COS of `t` quarter turns times 4, that is of `t` turns.
#[inline(always)]
fn trigonometric(t: u32, cosine: bool) -> u32 {
    let (e, m) = ((t >> 23 & 0xff) as i32, t & 0x007f_ffff);
    // 2.23 fixed point of 4 |t| modulo 4: |t| * 2^25, truncated, low 25 bits.
    let significand = if e == 0 { 0 } else { u64::from(m | 0x0080_0000) };
    let up = e - 125;
    let shifted = if up >= 0 { significand << up.min(25) } else { significand >> (-up).min(24) };
    let fixed = shifted as u32;
    let quadrant = (fixed >> 23 & 3) + u32::from(cosine);
    let f = if quadrant & 1 != 0 { !fixed } else { fixed } & 0x007f_ffff;
    let x = f & 0x1_ffff;
    let value = quadratic(row(&SIN, f >> 17), 11, x, square(x), 0, 0);
    let magnitude = if value <= 0 { 0 } else { truncate_to_f32(value as u64, 37) };
    let sign = if cosine { 0 } else { t & SIGN } ^ (quadrant & 2) << 30;
    if e == 255 { single::NAN } else { magnitude | sign }
}

/// SIN of `t` turns.
#[inline(always)]
pub(crate) fn sin(t: u32) -> u32 {
    trigonometric(t, false)
}

/// COS of `t` turns.
#[inline(always)]
pub(crate) fn cos(t: u32) -> u32 {
    trigonometric(t, true)
}

#[cfg(test)]
mod tests {
    use super::square;

    #[test]
    fn the_square_is_the_halved_sum_of_truncated_partial_products() {
        for x in 0..1u32 << 17 {
            let sum: u32 = (0..17).filter(|&bit| x >> bit & 1 == 1).map(|bit| x >> (18 - bit)).sum();
            assert_eq!(square(x), sum >> 1, "{x:#x}");
        }
    }
}
