//! Weights and sums of linear filtering.

use super::coordinate::{WEIGHT_BITS, WHOLE};
use super::srgb;

/// The weight and the value of a texel; neither where there is none. One whose weight was rounded to nothing has its value.
pub(super) type Weighted = (u32, u32);

/// What one filtered read combines: slices of two times two texels. Weights have so many fraction bits, and sum up to one.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub slices: &'a [[Weighted; 4]],
    /// By number, the slices behind which floats are added to what was before them: at most [`MOST_AT_ONCE`].
    pub ends: u32,
    pub bits: u32,
}

/// Slices that a filter adds at once at most.
pub(super) const MOST_AT_ONCE: usize = 4;

/// Splits a weight by a fraction of 256: what stays, and what goes to the second texel, ties to the second or first.
#[inline(always)]
const fn split(weight: u32, fraction: u32, ties_up: bool) -> [u32; 2] {
    let half = if ties_up { WHOLE / 2 } else { WHOLE / 2 - 1 };
    let second = (weight * fraction + half) >> 8;
    [weight - second, second]
}

/// The weights of two texels in each of x, y and z of a part of the whole, by number `x + 2 y + 4 z`. They are split by z,
/// then x, then y, and rounded each time; their sum is the part. Ties of z come up where the part is not the whole: between two
/// levels of a volume.
#[inline(always)]
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

/// How floats are added: the significant bits that texels have, those that are kept below them where they are aligned, and the
/// least exponent that sums are aligned to.
#[derive(Clone, Copy)]
pub(super) struct Adder {
    pub digits: u32,
    pub guard: u32,
    least: i32,
}

/// Below all exponents of texels.
const LEAST: i32 = -256;

/// A sum of floats: an integer and the exponent of its last bit.
#[derive(Clone, Copy)]
struct Sum {
    value: i128,
    exponent: i32,
    /// The exponent of the largest texel's first bit.
    largest: i32,
}

impl Sum {
    /// Zero, which nothing is aligned to.
    const NONE: Self = Self { value: 0, exponent: 0, largest: i32::MIN };
}

impl Adder {
    /// Of f32.
    pub(super) const SINGLE: Self = Self { digits: 24, guard: 4, least: LEAST };
    /// Of f16.
    pub(super) const HALF: Self = Self { digits: 11, guard: 4, least: LEAST };

    /// The exponent of the last bit that sums are aligned to which are added at once, the largest of which has such an exponent.
    #[inline(always)]
    pub(super) fn aligned(self, largest: i32) -> i32 {
        const STEP: i32 = 4;
        let below = (self.digits + self.guard + WEIGHT_BITS) as i32 + 2;
        ((largest + 3).div_euclid(STEP) * STEP).max(self.least) - below
    }

    /// The sum of a slice's texels. Significands are aligned to the largest exponent with `guard` bits more, and cut.
    fn slice(self, slice: &[Weighted; 4], bits: u32, parts: impl Fn(u32) -> Parts) -> Sum {
        // Zeros have no exponent that could be aligned.
        let seen = || {
            let used = slice.iter().filter(|(weight, _)| *weight != 0);
            used.map(|&(weight, bits)| (weight, parts(bits))).filter(|(_, parts)| parts.significand != 0)
        };
        let Some(largest) = seen().map(|(_, parts)| parts.exponent).max() else { return Sum::NONE };
        let mut value = 0i128;
        for (weight, Parts { negative, significand, exponent }) in seen() {
            let shift = (largest - exponent).min(63) as u32;
            let term = i128::from(((significand << self.guard) >> shift) * u64::from(weight));
            value += if negative { -term } else { term };
        }
        Sum {
            value,
            exponent: largest - (self.guard + bits) as i32,
            largest: largest + self.digits as i32 - 1,
        }
    }

    /// Sums that are added at once: aligned to the largest, whose exponent counts in steps of four, and each rounded down. What
    /// is kept are up to three bits below those of its slice, of weights of eight bits.
    fn together(self, sums: &[Sum]) -> Sum {
        let seen = sums.iter().copied().filter(|sum| sum.largest != i32::MIN);
        if seen.clone().count() < 2 {
            return seen.clone().next().unwrap_or(Sum::NONE);
        }
        let largest = seen.clone().map(|sum| sum.largest).fold(i32::MIN, i32::max);
        let exponent = self.aligned(largest);
        let aligned = |sum: Sum| match exponent - sum.exponent {
            shift @ 1.. => sum.value >> shift.min(127),
            shift => sum.value << -shift,
        };
        Sum { value: seen.map(aligned).sum(), exponent, largest }
    }

    /// The sum of all texels: sign, magnitude and exponent of the last bit.
    fn sum(self, terms: Terms<'_>, parts: impl Fn(u32) -> Parts) -> (bool, u128, i32) {
        // What was before comes first.
        let (mut sums, mut count) = ([Sum::NONE; 1 + MOST_AT_ONCE], 1);
        for (number, slice) in terms.slices.iter().enumerate() {
            sums[count] = self.slice(slice, terms.bits, &parts);
            count += 1;
            if terms.ends >> number & 1 != 0 || number + 1 == terms.slices.len() {
                (sums[0], count) = (self.together(&sums[..count]), 1);
            }
        }
        let [sum, ..] = sums;
        (sum.value < 0, sum.value.unsigned_abs(), sum.exponent)
    }
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
    let (negative, magnitude, exponent) = Adder::SINGLE.sum(terms, parts);
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
    let sum = Adder::HALF.sum(terms, |bits: u32| {
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
    let sum = Adder { digits: 8, guard: 0, least: -4 }.sum(terms, |byte: u32| {
        let (significand, exponent) = srgb::parts(byte as u8);
        Parts { negative: false, significand, exponent }
    });
    rounded_to_half(sum, 0)
}

/// The exponent of the smallest normal f16.
pub(super) const SMALLEST_HALF: i32 = -14;

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

/// A sum without the weights' fraction bits: the nearest integer, halves up.
#[inline(always)]
pub(super) fn nearest(sum: i64, bits: u32) -> i32 {
    ((sum + (1 << (bits - 1))) >> bits) as i32
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two floats of two levels near a tie, of each exponent modulo four: the weight of the second, both, and the sum.
    #[test]
    fn floats_are_aligned_in_steps_of_four_as_on_an_h200() {
        for (second, a, b, sum) in [
            (77, 0xc186_7fbe, 0xb629_8a22, 0xc13c_16a4),
            (128, 0xc9ea_d341, 0xbe3f_fd38, 0xc96a_d342),
            (128, 0xca44_aa53, 0xbebf_f2f3, 0xc9c4_aa55),
            (77, 0xbe00_d2eb, 0x3162_7e83, 0xbdb4_26f5),
            (77, 0xc8ad_975e, 0xbb1e_c609, 0xc872_c1ae),
            (77, 0xc2de_7dbf, 0x35ad_8a79, 0xc29b_91ec),
            (19, 0xbd87_dbc0, 0x2c78_3aa0, 0xbd7b_8ce1),
            (19, 0xc8b9_7c62, 0xbea6_b2c5, 0xc8ab_b827),
            (19, 0xbd7c_1a75, 0xb37f_24c4, 0xbd69_647f),
            (1, 0xc1ea_50a8, 0xba13_fe52, 0xc1e9_6658),
            (1, 0xcb6c_544e, 0x4248_0f73, 0xcb6b_67fa),
            (1, 0xbd24_c4d8, 0xb4af_f2aa, 0xbd24_2013),
        ] {
            let none = [(0, 0); 3];
            let level = |weight, value| [(weight, value), none[0], none[1], none[2]];
            let slices = &[level(WHOLE - second, a), level(second, b)];
            let given = single(Terms { slices, ends: 0b10, bits: WEIGHT_BITS });
            assert_eq!(given, sum, "{a:#x} and {second} of {b:#x}: {given:#x}");
        }
    }

    /// Two levels of a volume. Each level's two slices are rounded down at once with what was before them: one after the other
    /// they would come to more.
    #[test]
    fn slices_of_a_level_are_added_at_once_as_on_an_h200() {
        let floats = &[
            [(22, 0xc440_349d), (22, 0x4425_4000), (65, 0x44d2_5001), (66, 0x2f93_6000)],
            [(7, 0xbbd2_c091), (7, 0xa9e4_0dd5), (22, 0xa747_6000), (22, 0xbb19_e000)],
            [(6, 0xbee6_2639), (6, 0x3f7a_e000), (1, 0xaf51_f829), (1, 0xbb24_2000)],
            [(4, 0xca93_0000), (4, 0x4a9e_e000), (0, 0x4b07_8ad3), (1, 0x4b29_e001)],
        ];
        assert_eq!(single(Terms { slices: floats, ends: 0b1010, bits: WEIGHT_BITS }), 0x4743_41f2);
        let halves = &[
            [(15, 0x3e7f_6000), (44, 0x3cdc_8000), (2, 0x3540_0000), (6, 0x3eb9_a000)],
            [(15, 0xba6f_a000), (44, 0xba3e_2000), (2, 0x3c34_a000), (6, 0xbd59_4000)],
            [(4, 0x3570_0000), (7, 0xbd22_0000), (19, 0x3e40_6000), (31, 0x3d8d_6000)],
            [(4, 0xc6b9_2000), (7, 0x466e_8000), (19, 0x3e13_0000), (31, 0xbe5d_c000)],
        ];
        assert_eq!(half(Terms { slices: halves, ends: 0b1010, bits: WEIGHT_BITS }), 0x423c_a000);
    }
}
