//! The special-function unit's primitives: piecewise quadratic interpolation in exact integers, on
//! `.f32` bits or (RCP64H, RSQ64H) on the upper word of an `.f64`.
//!
//! Common to all but TANH, which passes subnormals through: a subnormal operand counts as a zero of
//! its sign, a subnormal result becomes such a zero. NaN is `0x7fffffff`. `m` is the fraction, `e` the
//! biased exponent, `x` the fraction bits inside a segment.

// Not by a branch, which would keep lanes from being computed side by side.
use std::hint::select_unpredictable as select;

use super::tables::{self, TANH, TANH_SEGMENTS};
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

/// How a significand of up to 25 bits is interpolated: `(c0 * 2^shift0 + c1 * x + c2 * square * 2^shift2 + bias) >> shift`, of the
/// row and the `x` that an argument has. Compiled code does the same.
#[derive(Clone, Copy, Debug)]
pub struct Interpolation {
    /// A row by segment: `c0`, then `c1` of 18 bits above `c2` of [`Interpolation::C2_BITS`].
    pub rows: &'static [[u32; 2]],
    /// Bits of `x`, the lower ones of an argument: 16 or 17, of which 17 are squared. Those above are the segment.
    pub bits: u32,
    /// See above.
    pub shift0: u32,
    /// See above.
    pub shift2: u32,
    /// See above.
    pub bias: i32,
    /// See above.
    pub shift: u32,
}

impl Interpolation {
    /// Bits of a row's `c2`.
    pub const C2_BITS: u32 = C2_BITS;

    /// The significand of an argument, without words of 64 bits: what lies below `2^9` in `c1 * x` only counts for what it carries.
    #[inline(always)]
    fn at<const N: usize>(self, table: &Table<N>, argument: u32) -> u32 {
        let x = argument & ((1 << self.bits) - 1);
        let [c0, c1, c2] = table.row(argument >> self.bits);
        let upper = c1 * (x >> 9) as i32;
        let square = square(x << (17 - self.bits)) as i32;
        let lower = c1 * (x & 0x1ff) as i32 + ((c2 * square) << self.shift2) + self.bias;
        let sum = ((c0 as u32) << (self.shift0 - 9)).wrapping_add((upper + (lower >> 9)) as u32);
        sum >> (self.shift - 9)
    }
}

/// 2 / (1 + m / 2^23) with 23 fraction bits, of `m`.
pub(super) const RECIPROCAL: Interpolation =
    Interpolation { rows: &RCP.0, bits: 16, shift0: 13, shift2: 0, bias: 0x47e7, shift: 15 };
/// See [`rsq_significand`].
pub(super) const RECIPROCAL_ROOT: Interpolation =
    Interpolation { rows: &RSQRT.0, bits: 17, shift0: 14, shift2: 2, bias: 0x7fff, shift: 16 };
/// sqrt(2 + 2 t / 2^23) with 23 fraction bits, of a `t` as that of [`rsq_significand`].
pub(super) const ROOT: Interpolation =
    Interpolation { rows: &SQRT.0, bits: 17, shift0: 15, shift2: 1, bias: 0x7fff, shift: 17 };
/// 2 to the power f / 2^23 with 23 fraction bits, of `f`.
pub(super) const POWER: Interpolation =
    Interpolation { rows: &EX2.0, bits: 17, shift0: 13, shift2: 0, bias: 0x77e2, shift: 15 };

/// A table with `c1` and `c2` of a row in one word, so that a vector of rows takes two loads instead of three.
struct Table<const N: usize>([[u32; 2]; N]);

/// Bits of a row's `c2`, below those of `c1`.
const C2_BITS: u32 = 14;

const fn c1_of(pair: u32) -> i32 {
    pair as i32 >> C2_BITS
}

const fn c2_of(pair: u32) -> i32 {
    (pair << (32 - C2_BITS)) as i32 >> (32 - C2_BITS)
}

impl<const N: usize> Table<N> {
    const fn new(rows: &[[i32; 3]; N]) -> Self {
        let mut packed = [[0; 2]; N];
        let mut at = 0;
        while at < N {
            let [c0, c1, c2] = rows[at];
            let pair = (c1 << C2_BITS | c2 & ((1 << C2_BITS) - 1)) as u32;
            assert!(c1_of(pair) == c1 && c2_of(pair) == c2);
            packed[at] = [c0 as u32, pair];
            at += 1;
        }
        Table(packed)
    }

    /// A row; the index is masked to the table's size, a power of two.
    #[inline(always)]
    fn row(&self, index: u32) -> [i32; 3] {
        let [c0, pair] = self.0[index as usize & (N - 1)];
        [c0 as i32, c1_of(pair), c2_of(pair)]
    }
}

static RCP: Table<128> = Table::new(&tables::RCP);
static RSQRT: Table<128> = Table::new(&tables::RSQRT);
static SQRT: Table<128> = Table::new(&tables::SQRT);
static EX2: Table<64> = Table::new(&tables::EX2);
static LG2: Table<64> = Table::new(&tables::LG2);
static SIN: Table<64> = Table::new(&tables::SIN);

/// 2 / (1 + m / 2^23) with 23 fraction bits: at least 1, and 2 itself for `m == 0`.
#[inline(always)]
fn rcp_significand(m: u32) -> u32 {
    RECIPROCAL.at(&RCP, m)
}

/// 2 / sqrt(1 + t / 2^23) with 23 fraction bits, for a `t` whose bit 23 makes the radicand 2 + 2 (t - 2^23) / 2^23: at least 1,
/// and 2 itself for `t == 0`.
#[inline(always)]
fn rsq_significand(t: u32) -> u32 {
    select(t == 0, 1 << 24, RECIPROCAL_ROOT.at(&RSQRT, t))
}

/// RCP: 1 / a.
#[inline(always)]
pub(crate) fn rcp(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let r = ((252 - e) << 23) + rcp_significand(m) as i32;
    let r = select(r < 1 << 23, 0, r as u32);
    let r = select(e == 0, INFINITY, r);
    let r = select(e == 255, 0, r);
    select(single::is_nan(a), single::NAN, r | sign)
}

/// RSQ: 1 / sqrt(a).
#[inline(always)]
pub(crate) fn rsq(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let unbiased = e - 127;
    let t = (unbiased as u32 & 1) << 23 | m;
    let r = (((125 - (unbiased >> 1)) as u32) << 23) + rsq_significand(t);
    let r = select(e == 255, 0, r);
    let r = select(sign != 0, single::NAN, r);
    let r = select(e == 0, INFINITY | sign, r);
    select(single::is_nan(a), single::NAN, r)
}

/// RCP64H: the upper word of 1 / a from the upper word of a. The significand is that of RCP, truncated
/// to 20 fraction bits.
#[inline(always)]
pub(crate) fn rcp64h(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 20 & 0x7ff) as i32, a & 0x000f_ffff);
    let r = ((2044 - e) << 20) + (rcp_significand(m << 3) >> 3) as i32;
    let r = select(r < 1 << 20, 0, r as u32);
    let r = select(e == 0, INFINITY_64H, r);
    let r = select(e == 0x7ff, 0, r);
    select(a & !SIGN > INFINITY_64H, single::NAN, r | sign)
}

/// RSQ64H: the upper word of 1 / sqrt(a) from the upper word of a. The significand is that of RSQ,
/// truncated to 20 fraction bits.
#[inline(always)]
pub(crate) fn rsq64h(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 20 & 0x7ff) as i32, a & 0x000f_ffff);
    let unbiased = e - 1023;
    let t = (unbiased as u32 & 1) << 23 | m << 3;
    let r = (((1021 - (unbiased >> 1)) as u32) << 20) + (rsq_significand(t) >> 3);
    let r = select(e == 0x7ff, 0, r);
    let r = select(sign != 0, single::NAN, r);
    let r = select(e == 0, INFINITY_64H | sign, r);
    select(a & !SIGN > INFINITY_64H, single::NAN, r)
}

/// SQRT: sqrt(a), a primitive of its own.
#[inline(always)]
pub(crate) fn sqrt(a: u32) -> u32 {
    let (sign, e, m) = (a & SIGN, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let unbiased = e - 127;
    let t = (unbiased as u32 & 1) << 23 | m;
    let r = (((126 + (unbiased >> 1)) as u32) << 23) + ROOT.at(&SQRT, t);
    let r = select(e == 255, INFINITY, r);
    let r = select(sign != 0, single::NAN, r);
    let r = select(e == 0, sign, r);
    select(single::is_nan(a), single::NAN, r)
}

/// EX2: 2 to the power a.
#[inline(always)]
pub(crate) fn ex2(a: u32) -> u32 {
    let (negative, e, m) = (a & SIGN != 0, (a >> 23 & 0xff) as i32, a & 0x007f_ffff);
    let large = e >= 127 + 7;
    // 7.23 fixed point, truncated toward zero.
    let significand = select(e == 0, 0, m | 0x0080_0000);
    let up = (e - 127).clamp(-24, 6);
    let fixed = select(up >= 0, significand << (up & 31), significand >> (-up & 31));
    let (whole, fraction) = ((fixed >> 23) as i32, fixed & 0x007f_ffff);
    let borrow = negative && fraction != 0;
    let below = 126 + select(negative, -whole - i32::from(borrow), whole);
    let f = select(borrow, !fraction & 0x007f_ffff, fraction);
    let significand = POWER.at(&EX2, f);
    let r = select(below < 0, 0, ((below as u32) << 23).wrapping_add(significand));
    let r = select(large, select(negative, 0, INFINITY), r);
    select(single::is_nan(a), single::NAN, r)
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
    let part = quadratic(LG2.row(m >> 17), 12, x, square(x), 1, 0x3345) >> 2;
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
    let value =
        quadratic(TANH[(base + (m >> (23 - bits))) as usize & (TANH.len() - 1)], 15, x, square(x), 0, 0);
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
    let value = quadratic(SIN.row(f >> 17), 11, x, square(x), 0, 0);
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
    use super::*;

    #[test]
    fn the_square_is_the_halved_sum_of_truncated_partial_products() {
        for x in 0..1u32 << 17 {
            let sum: u32 = (0..17).filter(|&bit| x >> bit & 1 == 1).map(|bit| x >> (18 - bit)).sum();
            assert_eq!(square(x), sum >> 1, "{x:#x}");
        }
    }
}
