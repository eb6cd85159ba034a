//! Where two arrays differ, and by how much.

use crate::array::Array;

/// How far apart values of an array are from those of another.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// Values compared.
    pub values: usize,
    /// Values that are not accepted.
    pub differing: usize,
    /// Index of the first of them.
    pub first: Option<usize>,
    /// The largest distance between numbers, accepted or not, in units in the last place.
    pub largest: u64,
    /// How many values are how far apart; only what occurs, nearest first.
    pub histogram: Vec<(Bin, usize)>,
}

/// How far apart two values are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Bin {
    /// Equal bits.
    Equal,
    /// NaNs with different bits.
    NanBits,
    /// Between `2^n` and `2^(n+1) - 1` units in the last place, or as a difference of integers.
    Apart(u32),
    /// A NaN and a number.
    NanAndNumber,
}

impl Bin {
    /// First and last distance, if it is one of numbers.
    pub fn range(self) -> Option<(u64, u64)> {
        match self {
            Self::Equal => Some((0, 0)),
            Self::Apart(n) => Some((1 << n, u64::MAX >> (63 - n))),
            Self::NanBits | Self::NanAndNumber => None,
        }
    }
}

impl Difference {
    /// Compares arrays of one type and length. Without a tolerance only equal bits are accepted, else also numbers that
    /// are at most so far apart, and NaNs of any bits.
    pub fn of(one: &Array, other: &Array, tolerance: Option<u64>) -> Self {
        let element = one.element;
        let mut bins = [0usize; 67];
        let mut result =
            Self { values: one.len(), differing: 0, first: None, largest: 0, histogram: Vec::new() };
        for at in 0..one.len().min(other.len()) {
            let (a, b) = (one.bits(at), other.bits(at));
            let (bin, distance) = match (a == b, element.is_nan(a), element.is_nan(b)) {
                (true, ..) => (Bin::Equal, 0),
                (_, true, true) => (Bin::NanBits, 0),
                (_, false, false) => {
                    let distance = element.distance(a, b);
                    (Bin::Apart(distance.max(1).ilog2()), distance)
                }
                _ => (Bin::NanAndNumber, 0),
            };
            bins[slot(bin)] += 1;
            result.largest = result.largest.max(distance);
            let accepted = match (bin, tolerance) {
                (Bin::Equal, _) | (Bin::NanBits, Some(_)) => true,
                (Bin::Apart(_), Some(most)) => distance <= most,
                _ => false,
            };
            if !accepted {
                result.differing += 1;
                result.first.get_or_insert(at);
            }
        }
        let all =
            [Bin::Equal, Bin::NanBits].into_iter().chain((0..64).map(Bin::Apart)).chain([Bin::NanAndNumber]);
        result.histogram = all.map(|bin| (bin, bins[slot(bin)])).filter(|&(_, count)| count > 0).collect();
        result
    }
}

fn slot(bin: Bin) -> usize {
    match bin {
        Bin::Equal => 0,
        Bin::NanBits => 1,
        Bin::Apart(n) => 2 + n as usize,
        Bin::NanAndNumber => 66,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Element;

    fn array(bits: &[u32]) -> Array {
        let bytes = bits.iter().flat_map(|value| value.to_le_bytes()).collect();
        Array { element: Element::F32, shape: vec![bits.len() as u64], bytes }
    }

    #[test]
    fn distances_are_counted_by_powers_of_two() {
        let one = 1f32.to_bits();
        let a = array(&[one, one, one, one, 0x7fc0_0000, 0x7fc0_0000, 0x8000_0000]);
        let b = array(&[one, one + 1, one + 3, one - 4, 0x7fff_ffff, one, 0]);
        let difference = Difference::of(&a, &b, None);
        assert_eq!((difference.differing, difference.first, difference.largest), (6, Some(1), 4));
        assert_eq!(
            difference.histogram,
            [
                (Bin::Equal, 1),
                (Bin::NanBits, 1),
                (Bin::Apart(0), 2),
                (Bin::Apart(1), 1),
                (Bin::Apart(2), 1),
                (Bin::NanAndNumber, 1)
            ]
        );
        assert_eq!(Difference::of(&a, &b, Some(3)).differing, 2);
        assert_eq!(Difference::of(&a, &b, Some(4)).first, Some(5));
        assert_eq!(Difference::of(&a, &a, None).differing, 0);
    }

    #[test]
    fn bins_have_their_ranges() {
        assert_eq!(Bin::Apart(0).range(), Some((1, 1)));
        assert_eq!(Bin::Apart(2).range(), Some((4, 7)));
        assert_eq!(Bin::Apart(63).range(), Some((1 << 63, u64::MAX)));
        assert_eq!(Bin::Equal.range(), Some((0, 0)));
    }

    #[test]
    fn integers_at_the_ends_of_their_range_are_far_apart() {
        let array =
            |value: i64| Array { element: Element::I64, shape: vec![1], bytes: value.to_le_bytes().into() };
        let difference = Difference::of(&array(i64::MIN), &array(i64::MAX), Some(u64::MAX - 1));
        assert_eq!((difference.differing, difference.largest), (1, u64::MAX));
    }
}
