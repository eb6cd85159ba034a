//! Anisotropic filters: taps along the longer axis of what a pixel covers. All of it was read off an H200.

use super::coordinate::WHOLE;
use super::lod::{self, ONE, logarithm};

/// What a pixel covers: how many times longer than wide, as a logarithm, and which way, as half of a texel's length in 128ths of
/// a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Footprint {
    ratio: i64,
    axis: [i64; 2],
}

/// Which of the levels that a read mixes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    First,
    Second,
}

/// Where a level is read: an even number of taps, or one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Taps {
    count: usize,
    /// Half of the way from a tap to the next, in 256ths of a texel.
    half: [i64; 2],
    /// The weights of the first and last tap, and of the others.
    outer: u32,
    inner: u32,
    /// Fraction bits of weights.
    pub bits: u32,
    /// The level's part of the whole, in 256ths.
    part: u32,
}

/// Fraction bits of the finest weights.
pub(super) const FINEST_BITS: u32 = 10;

impl Footprint {
    /// As long as wide.
    pub(super) const ROUND: Self = Self { ratio: 0, axis: [64, 0] };

    /// Whether one tap is all.
    pub(super) const fn is_round(self) -> bool {
        self.ratio == 0
    }

    /// The taps of a level, of two that are mixed by a fraction of 256: those of the first lie further apart the nearer the
    /// second is, where it is shorter by so much.
    pub(super) fn taps(self, which: Which, fraction: u32) -> Taps {
        let towards = ONE - i64::from(fraction);
        let (ratio, apart, part) = match which {
            Which::First => (self.ratio, i64::from(reciprocal(towards) >> 1), 256 - fraction),
            Which::Second => ((self.ratio - towards).max(0), 64, fraction),
        };
        let one = Taps { count: 1, half: [0; 2], outer: 256, inner: 256, bits: 8, part };
        if ratio == 0 {
            return one;
        }
        let reciprocal = reciprocal(ratio & (ONE - 1));
        // Rounded down, whichever way it points.
        let spread = |half: i64| 2 * ((half * apart) >> 6);
        // Weights have as many bits as keep the least of them.
        let (bits, inner) = match ratio / ONE {
            0 => {
                // Two taps that draw near each other; ties go up, whichever way the axis points.
                let nearer = |half: i64| (half * i64::from(256 - reciprocal) * 2 + 128) >> 8;
                return Taps { count: 2, half: self.axis.map(|half| spread(nearer(half))), bits: 9, ..one };
            }
            1 if reciprocal > WHOLE / 2 => (9, reciprocal),
            // Next to four taps: their weights have the bits of four.
            1 => (10, WHOLE),
            2 => (10, reciprocal),
            3 => (10, reciprocal >> 1),
            _ => (10, 64),
        };
        let whole = 1 << bits;
        // Full pairs of taps, and what remains for the outermost one.
        let pairs = (whole - 1) / (2 * inner);
        let outer = whole / 2 - pairs * inner;
        Taps { count: 2 * pairs as usize + 2, half: self.axis.map(spread), outer, inner, bits, part }
    }
}

impl Taps {
    /// Each tap's weight and how far it lies from the coordinates, in 256ths of a texel.
    pub(super) fn each(self) -> impl Iterator<Item = (u32, [i64; 2])> {
        // Sums of weights are rounded to the nearest, so that they add up.
        let mut sum = 0;
        let rounded = move |sum: u32| (sum * self.part + 128) >> 8;
        (0..self.count).map(move |number| {
            let before = rounded(sum);
            sum += if number == 0 || number + 1 == self.count { self.outer } else { self.inner };
            let halves = 2 * number as i64 + 1 - self.count as i64;
            (rounded(sum) - before, self.half.map(|half| halves * half))
        })
    }
}

/// A reciprocal of 1 to 2, whose logarithm is given, in 256ths.
fn reciprocal(logarithm: i64) -> u32 {
    (256.0 * (-(logarithm as f64) / 256.0).exp2()).round() as u32
}

/// The level of detail and the footprint of steps right and down on a plane, in texels. The shorter axis follows from the area;
/// what is shorter than a texel is as long as one.
pub(super) fn of_steps(x: [f32; 2], y: [f32; 2], most: u32) -> (i64, Footprint) {
    let (longest, axis) = lod::longest(x, y);
    let product = |a: f32, b: f32| lod::cut(lod::product(a, b), 9);
    let area = lod::sum(product(x[0], y[1]), -product(x[1], y[0]));
    let shorter = logarithm(area.abs()) - longest;
    let most = lod::anisotropy(most);
    let ratio = |shorter: i64| (longest - shorter).clamp(0, most);
    (longest - ratio(shorter), Footprint { ratio: ratio(shorter.max(0)), axis: direction(axis) })
}

/// Half of a step of one texel along an axis, in 128ths of a texel. A part of the axis has three bits behind the first one of
/// the larger part.
fn direction(axis: [f32; 2]) -> [i64; 2] {
    let [a, b] = axis.map(f32::abs);
    let (larger, smaller) = if b > a { (b, a) } else { (a, b) };
    let unit = f64::from(f32::from_bits(larger.to_bits() & 0x7f80_0000)) / 8.0;
    let [larger, smaller] = [larger, smaller].map(|part| f64::from(part) / unit);
    let is_parallel = smaller < 0.25 || smaller.is_nan();
    let parts = if is_parallel {
        [64, 0]
    } else {
        let parts = [larger, smaller].map(|part| part.floor() + 0.5);
        let length = parts[0].hypot(parts[1]);
        parts.map(|part| (64.0 * part / length).round() as i64)
    };
    let [u, v] = if b > a { [parts[1], parts[0]] } else { parts };
    let sign = |part: i64, of: f32| if of < 0.0 { -part } else { part };
    [sign(u, axis[0]), sign(v, axis[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The taps of one half, from the middle on: weights as 1024ths, and where they lie.
    fn half(taps: Taps) -> Vec<(u32, [i64; 2])> {
        taps.each()
            .skip(taps.count / 2)
            .map(|(weight, at)| (weight << (FINEST_BITS - taps.bits), at))
            .collect()
    }

    fn alone(x: [f32; 2], y: [f32; 2]) -> (i64, Vec<(u32, [i64; 2])>) {
        let (detail, footprint) = of_steps(x, y, 16);
        (detail, half(footprint.taps(Which::First, 0)))
    }

    #[test]
    fn taps_are_those_of_an_h200() {
        assert_eq!(alone([1.0, 0.0], [0.0, 1.0]), (0, vec![(1024, [0, 0])]));
        assert_eq!(alone([1.5, 0.0], [0.0, 1.0]), (0, vec![(512, [86, 0])]));
        assert_eq!(alone([3.0, 0.0], [0.0, 1.0]), (0, vec![(342, [128, 0]), (170, [384, 0])]));
        assert_eq!(
            alone([0.0, 5.0], [1.0, 0.0]),
            (0, vec![(204, [0, 128]), (204, [0, 384]), (104, [0, 640])])
        );
        assert_eq!(alone([64.0, 0.0], [0.0, 1.0]).0, 512, "no more than 16 taps");
    }

    #[test]
    fn taps_between_levels_are_those_of_an_h200() {
        let (_, footprint) = of_steps([6.0, 0.0], [0.0, 1.0], 16);
        assert_eq!(
            half(footprint.taps(Which::First, 64)),
            vec![(128, [152, 0]), (129, [456, 0]), (127, [760, 0])]
        );
        assert_eq!(half(footprint.taps(Which::Second, 64)), vec![(72, [128, 0]), (56, [384, 0])]);
    }

    #[test]
    fn weights_make_a_whole() {
        for ratio in 0..=1024 {
            for fraction in [0, 1, 77, 255] {
                let footprint = Footprint { ratio, axis: direction([3.0, -1.0]) };
                let sum = |which| {
                    let taps = footprint.taps(which, fraction);
                    assert!(taps.count <= 16 && taps.outer > 0, "{ratio}: {taps:?}");
                    taps.each().map(|(weight, _)| weight << (FINEST_BITS - taps.bits)).sum::<u32>()
                };
                assert!(sum(Which::First).abs_diff(1024 - 4 * fraction) <= 2, "{ratio}");
                assert!(sum(Which::Second).abs_diff(4 * fraction) <= 2, "{ratio}");
            }
        }
    }
}
