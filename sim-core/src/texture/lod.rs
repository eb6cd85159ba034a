//! Levels of detail: in steps of a 256th of a level.

use super::cube::{self, Seen};
use super::{Filter, Sampler};

/// Logarithms are in 256ths.
pub(super) const ONE: i64 = 256;

/// The levels to read and the weight of the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Levels {
    pub first: usize,
    pub second: usize,
    pub fraction: u32,
}

/// A number of levels in 256ths, cut towards zero; NaN is zero.
pub(super) fn steps(levels: f32) -> i64 {
    (f64::from(levels) * 256.0).clamp(-1e9, 1e9) as i64
}

/// How a sampler that allows `most` samples weights levels: what lies between two is nearer to one of them, by a slope in
/// quarters. None: as it is.
fn slope(most: u32) -> Option<i64> {
    match most {
        0..2 => None,
        2..4 => Some(6),
        4..8 => Some(7),
        _ => Some(8),
    }
}

/// A level of detail with the sampler's bias and weights. The second level counts from where both have half of the whole in the
/// middle. That is taken off the bias, which a device cuts with it.
fn biased(detail: i64, sampler: &Sampler) -> i64 {
    let slope = slope(sampler.anisotropy);
    let from = slope.map_or(0.0, |slope| 128.0 - 512.0 / slope as f64);
    let bias = f64::from(sampler.bias) * 256.0 - from;
    let detail = detail + bias.clamp(-4096.0, 4095.0) as i64;
    let Some(slope) = slope else { return detail };
    let from = from as i64;
    let fraction = (detail + from) & (ONE - 1);
    detail + from - fraction + (((fraction - from) * slope) >> 2).clamp(0, ONE)
}

/// The logarithm of the samples that a sampler takes at most where it allows so many. A device has eight limits, 1, 2, 4, 6, 8, 10,
/// 12 and 16, whose logarithms have four bits behind the point.
pub(super) fn anisotropy(most: u32) -> i64 {
    let sixteenths = match most {
        0..2 => 0,
        2..4 => 16,
        4..6 => 32,
        6..8 => 41,
        8..10 => 48,
        10..12 => 53,
        12..16 => 57,
        _ => 64,
    };
    sixteenths * ONE / 16
}

/// The levels for a level of detail, biased and clamped as the sampler says, of `count` levels.
pub(super) fn levels(detail: i64, sampler: &Sampler, count: usize) -> Levels {
    let [lowest, highest] = sampler.clamp.map(|bound| steps(bound).clamp(0, 0xfff));
    let last = count.saturating_sub(1);
    let detail = biased(detail, sampler);
    let detail = detail.min(highest).max(lowest).min(last as i64 * 256);
    match sampler.mipmap_filter {
        Filter::Point => {
            let level = ((detail + 128) >> 8) as usize;
            Levels { first: level.min(last), second: level.min(last), fraction: 0 }
        }
        Filter::Linear => {
            let first = (detail >> 8) as usize;
            Levels { first, second: (first + 1).min(last), fraction: (detail & 0xff) as u32 }
        }
    }
}

/// Logarithms of 1 to 2 by their first eight bits, in 256ths: read off an H200.
const LOGARITHMS: [u8; 256] = [
    0, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 32, 34, 35, 36, 38,
    39, 40, 42, 43, 44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63, 64, 65, 66, 68, 69, 70,
    71, 72, 74, 75, 76, 77, 78, 79, 81, 82, 83, 84, 85, 86, 88, 89, 90, 91, 92, 93, 94, 95, 97, 98, 99, 100,
    101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122,
    123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 135, 136, 137, 137, 138, 139, 140, 141, 142, 143,
    144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163,
    164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 173, 174, 175, 176, 177, 178, 179, 180, 181, 181, 182,
    183, 184, 185, 186, 187, 188, 188, 189, 190, 191, 192, 193, 194, 195, 195, 196, 197, 198, 199, 200, 200,
    201, 202, 203, 204, 205, 205, 206, 207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218,
    218, 219, 220, 221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231, 232, 233, 233, 234,
    235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244, 245, 245, 246, 247, 248, 248, 249, 250,
    251, 251, 252, 253, 253, 254, 255, 255,
];

/// What no level is as fine as.
const FINEST: i64 = -(1 << 20);

/// What no level is as coarse as.
const COARSEST: i64 = 1 << 20;

/// The logarithm of a length in texels, in 256ths, as a device's table has it.
pub(super) fn logarithm(length: f32) -> i64 {
    let bits = length.to_bits();
    let exponent = i64::from(bits >> 23 & 0xff) - 127;
    if length.is_nan() || exponent == -127 {
        return FINEST;
    }
    exponent * 256 + i64::from(LOGARITHMS[(bits >> 15 & 0xff) as usize])
}

/// A float with so many bits behind the first one.
pub(super) fn cut(x: f32, bits: u32) -> f32 {
    f32::from_bits(x.to_bits() & !((1 << (23 - bits)) - 1))
}

/// Significant bits behind the first one of steps, of their products and sums.
const BITS: u32 = 9;

/// A power of two: that of a number's first bit, and so many below.
fn unit(x: f32, below: u32) -> f64 {
    let exponent = i64::from(x.to_bits() >> 23 & 0xff) - 127 - i64::from(below);
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// A product as a device's multiplier makes it of ten bits of each factor: the columns of its six lowest bits are left out,
/// and what they would mostly carry is put in. Subnormal factors are zeros.
pub(super) fn product(a: f32, b: f32) -> f32 {
    if !a.is_finite() || !b.is_finite() {
        return a * b;
    }
    if !a.is_normal() || !b.is_normal() {
        return 0.0;
    }
    let ten = |x: f32| x.to_bits() >> (23 - BITS) & ((1 << BITS) - 1) | 1 << BITS;
    let columns = |bit: u32| if ten(b) >> bit & 1 == 0 { 0 } else { ten(a) << bit >> 6 };
    let sum = (0..=BITS).map(columns).sum::<u32>() + 7;
    (f64::from(sum) * unit(a, BITS) * unit(b, BITS) * 64.0).copysign(f64::from(a) * f64::from(b)) as f32
}

/// A sum whose terms are aligned to the larger one, of which they keep ten bits behind the first.
pub(super) fn sum(a: f32, b: f32) -> f32 {
    if !a.is_finite() || !b.is_finite() {
        return a + b;
    }
    let unit = unit(a.abs().max(b.abs()), BITS + 1);
    let [a, b] = [a, b].map(|term| (f64::from(term) / unit).trunc());
    ((a + b) * unit) as f32
}

/// A share of a part of a step as a device's multiplier makes it, which adds so much of the part's last bit.
fn share(part: f32, more: f64, share: f64) -> f64 {
    (f64::from(part) + more * unit(part, BITS)) * share
}

/// What counts of a part of a diagonal: 11/16.
fn of_diagonal(part: f32) -> f32 {
    let size = cut(part.abs(), BITS);
    if size == 0.0 { size } else { cut(share(size, 0.375, 11.0 / 16.0) as f32, BITS).copysign(part) }
}

/// The approximate length of a step: its largest part, 11/32 of the next and a quarter of the last; of a diagonal, 11/16 of
/// that. The second share keeps ten bits, to which the third is aligned. What the shares add below the last bit of a part
/// was read off a device.
fn length<const N: usize>(step: [f32; N], is_diagonal: bool) -> f32 {
    let mut parts = [0.0; 3];
    parts[..N].copy_from_slice(&step.map(|part| cut(part.abs(), BITS)));
    parts.sort_by(|a, b| b.total_cmp(a));
    let [first, second, third] = parts;
    if first == 0.0 || !first.is_finite() {
        return first;
    }
    let (first, of_second, of_third) = if is_diagonal {
        (of_diagonal(first), [17.0 / 64.0, 121.0 / 512.0], [0.375, 11.0 / 64.0])
    } else {
        (first, [0.375, 11.0 / 32.0], [0.0, 0.25])
    };
    let last = |x: f64| unit(x as f32, BITS);
    let mut sum = f64::from(first);
    if second != 0.0 {
        let second = share(second, of_second[0], of_second[1]);
        let unit = last(second);
        let third = if third == 0.0 { 0.0 } else { share(third, of_third[0], of_third[1]) };
        sum += ((second / unit).floor() + (third / unit).floor()) * unit;
    }
    let unit = last(first.into());
    cut(((sum / unit).floor() * unit) as f32, BITS)
}

/// The logarithm of the length of the longest of steps right and down, in texels, and of both diagonals, each as long as 11/16
/// of it; and that step. The diagonal that is a difference points the way that the longer step does. Of equals a step wins, but
/// the diagonal that is a sum against the step down.
pub(super) fn longest<const N: usize>(x: [f32; N], y: [f32; N]) -> (i64, [f32; N]) {
    let (of_x, of_y) = (length(x, false), length(y, false));
    let mut longest = if of_y > of_x { (of_y, y) } else { (of_x, x) };
    let (from, to) = if of_y >= of_x { (x, y) } else { (y, x) };
    let sums = std::array::from_fn(|axis| sum(x[axis], y[axis]));
    let differences = std::array::from_fn(|axis| sum(to[axis], -from[axis]));
    for (diagonal, wins_tie) in [(sums, of_y > of_x), (differences, false)] {
        let length = length(diagonal, true);
        if length > longest.0 || wins_tie && length == longest.0 {
            longest = (length, diagonal.map(of_diagonal));
        }
    }
    (logarithm(longest.0), longest.1)
}

/// Steps of coordinates, in texels.
pub(super) fn in_texels(step: [f32; 3], extent: [u32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|axis| cut(product(step[axis], extent[axis] as f32), BITS))
}

/// Where steps of a direction lead.
pub(super) enum Faced {
    /// To the same face of a cubemap, so far on it.
    Same([[f32; 3]; 2]),
    /// At least one to a face beside it: the level of detail.
    Folded(i64),
}

/// Where steps of a direction lead on its face of `size` texels. A step to the face beside it counts as if that were folded
/// into its plane, and then diagonals do not count; one to the opposite face leads through the cube.
pub(super) fn of_directions(at: [f32; 3], x: [f32; 3], y: [f32; 3], size: u32) -> Faced {
    let Seen::There(start) = cube::seen(at, at) else { return Faced::Folded(COARSEST) };
    let mut folds = false;
    let mut steps = [[0.0; 3]; 2];
    let half = |[u, v]: [f32; 2], ahead: f32| in_texels([u, v, ahead].map(|step| step * 0.5), [size; 3]);
    let mut lengths = [0.0; 2];
    for ((step, length), towards) in steps.iter_mut().zip(&mut lengths).zip([x, y]) {
        // What is no number is no step.
        let along = |step: f32| if step.is_nan() { 0.0 } else { step };
        let on_face = |end: [f32; 2]| [0, 1].map(|axis| along(end[axis] - start[axis]));
        match cube::seen(at, [0, 1, 2].map(|axis| at[axis] + towards[axis])) {
            Seen::There(end) => {
                let [u, v] = on_face(end);
                let [along, across] = cube::along_face(at, [u * 0.5, v * 0.5]);
                *step = [along, across, 0.0];
                *length = self::length(half([u, v], 0.0), false);
            }
            Seen::Beside { at: end, over, ahead } => {
                folds = true;
                let mut texels = half(on_face(end), 0.0);
                // To the edge and behind it, each with the bits of a step.
                let [to_edge, behind, _] =
                    half([1.0 - start[over] * 1f32.copysign(end[over]), 1.0 - ahead], 0.0);
                texels[over] = cut(sum(to_edge, behind), BITS);
                *length = self::length(texels, false);
            }
            Seen::Opposite(end) => {
                folds = true;
                // Through the cube.
                *length = self::length(half(on_face(end), 2.0), false);
            }
        }
    }
    if folds { Faced::Folded(logarithm(lengths[0].max(lengths[1]))) } else { Faced::Same(steps) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most samples, a bias, levels that an instruction says, and what an H200 made of them, in 256ths.
    #[test]
    fn biases_are_those_of_an_h200() {
        for (anisotropy, bias, said) in [
            (2, 0.3, [(537, 325), (1567, 841)]),
            (2, -0.3, [(843, 325), (1867, 837)]),
            (2, 1.0137, [(173, 325), (1303, 916)]),
            (2, -1.0137, [(1209, 325), (1827, 660)]),
            (3, 0.0019, [(689, 325), (1713, 837)]),
            (3, -0.0019, [(691, 325), (1715, 837)]),
            (4, 0.3, [(555, 329), (1579, 841)]),
            (5, -0.3, [(859, 329), (1883, 841)]),
            (6, 1.0137, [(189, 329), (1304, 922)]),
            (7, -1.0137, [(1225, 329), (1828, 666)]),
            (7, 0.0019, [(705, 329), (1729, 841)]),
            (4, -0.0019, [(707, 329), (1731, 841)]),
            (8, 0.3, [(567, 334), (1591, 846)]),
            (10, 0.0019, [(717, 334), (1741, 846)]),
            (16, 1.0137, [(201, 334), (1304, 926)]),
            (16, -1.0137, [(1237, 334), (1828, 670)]),
        ] {
            let sampler = Sampler {
                filter: Filter::Linear,
                mipmap_filter: Filter::Linear,
                normalized: true,
                bias,
                clamp: [0.0, 16.0],
                anisotropy,
                ..Sampler::default()
            };
            for (at, found) in said {
                let Levels { first, fraction, .. } = levels(steps(at as f32 / 512.0), &sampler, 9);
                assert_eq!(256 * first as u32 + fraction, found, "{anisotropy} {bias} {at}");
            }
        }
    }

    #[test]
    fn of_equals_an_h200_takes_the_same() {
        for (x, y, longest_is) in [
            ([-5.25, -1.1875], [-2.125, -1.3125], [-5.25, -1.1875]),
            ([30.1875, 0.0], [-9.171_875, -13.375], [30.1875, 0.0]),
            ([-1.683_593_8, 1.457_031_3], [4.273_437_5, -1.53125], [4.273_437_5, -1.53125]),
            // The diagonal: 11/16 of [41.5, -40], as long as the step down.
            ([15.5, -11.0], [26.0, -29.0], [28.531_25, -27.5]),
            ([-1.347_656_3, 1.25], [0.0, 3.765_625], [-0.926_757_8, 3.449_218_8]),
        ] {
            assert_eq!(longest(x, y).1, longest_is, "{x:?} {y:?}");
        }
    }

    #[test]
    fn diagonals_are_as_long_as_on_an_h200() {
        assert_eq!(longest([1.439_453_1, 0.239_990_23], [0.959_960_94, 1.199_218_8]).0, 254);
        assert_eq!(longest([2.878_906_3, 0.239_990_23], [0.959_960_94, 1.199_218_8]).0, 403);
    }
}
