//! Weights and sums of linear filtering.

use super::coordinate::WHOLE;
use super::srgb;

/// The weight and the value of a texel; neither where there is none. One whose weight was rounded to nothing has its value.
pub(super) type Weighted = (u32, u32);

/// What one filtered read combines: slices of two times two texels. Weights have so many fraction bits, and sum up to one.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub slices: &'a [[Weighted; 4]],
    pub bits: u32,
}

/// Splits a weight by a fraction of 256: what stays, and what goes to the second texel, ties to the second or first.
const fn split(weight: u32, fraction: u32, ties_up: bool) -> [u32; 2] {
    let half = if ties_up { WHOLE / 2 } else { WHOLE / 2 - 1 };
    let second = (weight * fraction + half) >> 8;
    [weight - second, second]
}

/// The weights of two texels in each of x, y and z of a part of the whole, by number `x + 2 y + 4 z`. They are split by z,
/// then x, then y, and rounded each time; their sum is the part. Ties of z come up where the part is not the whole: between two
/// levels of a volume.
pub(super) fn weights(part: u32, [x, y, z]: [u32; 3]) -> [u32; 8] {
    let mut weights = [0; 8];
    for (slice, weight) in split(part, z, false).into_iter().enumerate() {
        for (column, weight) in split(weight, x, true).into_iter().enumerate() {
            for (row, weight) in split(weight, y, column == 1).into_iter().enumerate() {
                weights[column + 2 * row + 4 * slice] = weight;
            }
        }
    }
    weights
}

/// Whether a texel of [`weights`] has a weight before it is rounded.
pub(super) fn covers(fractions: [u32; 3], number: usize) -> bool {
    (0..3).all(|axis| number >> axis & 1 == 0 || fractions[axis] != 0)
}

/// Gives the weight of a texel of four, which is none over the corner of a cubemap, to the other three. The opposite one takes what
/// cannot be divided.
pub(super) fn share(weights: &mut [u32], none: usize) {
    let weight = std::mem::take(&mut weights[none]);
    let beside = (weight + 1) / 3;
    weights[none ^ 1] += beside;
    weights[none ^ 2] += beside;
    weights[none ^ 3] += weight - 2 * beside;
}

/// A float as sign, significand and exponent of its last bit.
struct Parts {
    negative: bool,
    significand: u64,
    exponent: i32,
}

/// A sum of floats: an integer and the exponent of its last bit.
#[derive(Clone, Copy)]
struct Sum {
    value: i128,
    exponent: i32,
}

impl Sum {
    /// The sum of a slice's texels. Significands are aligned to the largest exponent with `guard` bits more, and cut.
    fn of_slice(slice: &[Weighted; 4], bits: u32, guard: u32, parts: impl Fn(u32) -> Parts) -> Option<Self> {
        // Zeros have no exponent that could be aligned.
        let seen = || {
            let used = slice.iter().filter(|(weight, _)| *weight != 0);
            used.map(|&(weight, bits)| (weight, parts(bits))).filter(|(_, parts)| parts.significand != 0)
        };
        let largest = seen().map(|(_, parts)| parts.exponent).max()?;
        let mut sum = 0i128;
        for (weight, Parts { negative, significand, exponent }) in seen() {
            let shift = (largest - exponent).min(63) as u32;
            let term = i128::from(((significand << guard) >> shift) * u64::from(weight));
            sum += if negative { -term } else { term };
        }
        Some(Self { value: sum, exponent: largest - (guard + bits) as i32 })
    }

    /// With another slice's: aligned to the larger one with two bits more, and rounded down. On an H200, where slices
    /// differ by many orders of magnitude, one sum in a thousand differs in its last bit; which, is not understood.
    fn with(self, other: Self) -> Self {
        const GUARD: i32 = 2;
        let exponent = self.exponent.max(other.exponent) - GUARD;
        let aligned = |sum: Self| match exponent - sum.exponent {
            shift @ 1.. => sum.value >> shift.min(127),
            shift => sum.value << -shift,
        };
        Self { value: aligned(self) + aligned(other), exponent }
    }
}

/// The sum of all texels: sign, magnitude and exponent of the last bit.
fn float_sum(terms: Terms<'_>, guard: u32, parts: impl Fn(u32) -> Parts) -> (bool, u128, i32) {
    let sums = terms.slices.iter().filter_map(|slice| Sum::of_slice(slice, terms.bits, guard, &parts));
    let Some(Sum { value, exponent }) = sums.reduce(Sum::with) else { return (false, 0, 0) };
    (value < 0, value.unsigned_abs(), exponent)
}

/// `magnitude` times 2 to the `exponent`, to a float of `digits` bits and exponents from `lowest` (of the leading bit) on,
/// halves away from zero: significand and exponent of its last bit.
fn round(magnitude: u128, exponent: i32, digits: u32, lowest: i32) -> (u128, i32) {
    let length = 128 - magnitude.leading_zeros();
    let last = (exponent + length as i32 - digits as i32).max(lowest - digits as i32 + 1);
    let shift = last - exponent;
    if shift <= 0 {
        return (magnitude << -shift as u32, last);
    }
    let rounded = if shift > 127 { 0 } else { (magnitude + (1 << (shift - 1))) >> shift };
    (rounded, last)
}

/// What infinities and NaNs among texels make of a sum; none where there are none. Nothing times them is a NaN.
fn special(terms: Terms<'_>) -> Option<Special> {
    const EXPONENT: u32 = 0x7f80_0000;
    let mut found = None;
    for &(weight, bits) in terms.slices.as_flattened() {
        if bits & EXPONENT != EXPONENT {
            continue;
        }
        let negative = bits >> 31 != 0;
        let infinity = bits & !EXPONENT & 0x7fff_ffff == 0;
        found = match found {
            _ if weight == 0 => Some(Special::Nan),
            None if infinity => Some(Special::Infinity(negative)),
            Some(Special::Infinity(other)) if infinity && other == negative => found,
            _ => Some(Special::Nan),
        };
    }
    found
}

/// The sign of a sum of zeros: negative where all are.
fn zero(terms: Terms<'_>) -> u32 {
    let negative = terms.slices.as_flattened().iter().all(|&(weight, bits)| weight == 0 || bits >> 31 != 0);
    u32::from(negative) << 31
}

enum Special {
    Infinity(bool),
    Nan,
}

impl Special {
    const fn bits(&self, nan: u32) -> u32 {
        match self {
            Self::Infinity(false) => 0x7f80_0000,
            Self::Infinity(true) => 0xff80_0000,
            Self::Nan => nan,
        }
    }
}

/// Weighted texels that are f32.
pub(super) fn single(terms: Terms<'_>) -> u32 {
    if let Some(special) = special(terms) {
        return special.bits(0x7fff_ffff);
    }
    let parts = |bits: u32| {
        let exponent = (bits >> 23 & 0xff) as i32;
        let fraction = u64::from(bits & 0x7f_ffff);
        // Subnormal texels count as zeros.
        let significand = if exponent == 0 { 0 } else { fraction | 1 << 23 };
        Parts { negative: bits >> 31 != 0, significand, exponent: exponent.max(1) - 127 - 23 }
    };
    let (negative, magnitude, exponent) = float_sum(terms, 4, parts);
    let sign = u32::from(negative) << 31;
    if magnitude == 0 {
        return zero(terms);
    }
    let (mut significand, mut last) = round(magnitude, exponent, 24, i32::MIN / 2);
    if significand >> 24 != 0 {
        significand >>= 1;
        last += 1;
    }
    let biased = last + 23 + 127;
    match biased {
        ..=0 => sign,
        255.. => sign | 0x7f80_0000,
        _ => sign | (biased as u32) << 23 | (significand as u32 & 0x7f_ffff),
    }
}

/// Weighted texels that are f16, widened to f32; the result is rounded to f16.
pub(super) fn half(terms: Terms<'_>) -> u32 {
    if let Some(special) = special(terms) {
        return special.bits(0x7fff_e000);
    }
    let sum = float_sum(terms, 4, |bits: u32| {
        if bits << 1 == 0 {
            return Parts { negative: false, significand: 0, exponent: 0 };
        }
        let exponent = (bits >> 23 & 0xff) as i32 - 127;
        // Subnormal ones lie at the place of the smallest normal.
        let lower = (SMALLEST_HALF - exponent).max(0);
        let significand = u64::from(bits & 0x7f_ffff | 1 << 23) >> 13 >> lower;
        Parts { negative: bits >> 31 != 0, significand, exponent: exponent + lower - 10 }
    });
    rounded_to_half(sum, zero(terms))
}

/// Weighted texels that are sRGB bytes, as linear light of eight bits, aligned without more.
pub(super) fn srgb(terms: Terms<'_>) -> u32 {
    let sum = float_sum(terms, 0, |byte: u32| {
        let (significand, exponent) = srgb::parts(byte as u8);
        Parts { negative: false, significand, exponent }
    });
    rounded_to_half(sum, 0)
}

/// The exponent of the smallest normal f16.
const SMALLEST_HALF: i32 = -14;

/// A sum rounded to f16, as bits of an f32.
fn rounded_to_half((negative, magnitude, exponent): (bool, u128, i32), zero: u32) -> u32 {
    if magnitude == 0 {
        return zero;
    }
    let sign = u32::from(negative) << 31;
    let (significand, last) = round(magnitude, exponent, 11, SMALLEST_HALF);
    let value = significand as f32 * 2f32.powi(last);
    if value >= 65536.0 { sign | 0x7f80_0000 } else { sign | value.to_bits() }
}

impl Terms<'_> {
    /// The sum of weighted integers.
    pub(super) fn sum(self) -> i64 {
        let terms = self.slices.as_flattened().iter();
        terms.map(|&(weight, value)| i64::from(weight) * i64::from(value as i32)).sum()
    }

    /// The sum of weighted integers without a sign.
    pub(super) fn unsigned_sum(self) -> u64 {
        let terms = self.slices.as_flattened().iter();
        terms.map(|&(weight, value)| u64::from(weight) * u64::from(value)).sum()
    }

    /// A sum without the weights' fraction bits: the nearest integer, halves up.
    pub(super) fn nearest(self, sum: i64) -> i32 {
        ((sum + (1 << (self.bits - 1))) >> self.bits) as i32
    }
}
