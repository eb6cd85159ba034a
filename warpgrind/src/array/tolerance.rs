//! Values that a run gave against values that were expected.

use super::{Array, Element};

/// How far a value may be from the expected one: within any of the bounds is enough.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Tolerance {
    /// Units in the last place, or the difference of integers.
    pub ulp: u64,
    /// Absolute difference.
    pub abs: f64,
    /// Difference relative to the expected value; added to `abs`.
    pub rel: f64,
    /// Whether NaNs must have the same bits; otherwise any NaN equals any other.
    pub nan_bits: bool,
}

impl Tolerance {
    fn admits(&self, element: Element, got: u64, expected: u64) -> bool {
        if element.is_nan(got) && element.is_nan(expected) {
            return !self.nan_bits || got == expected;
        }
        if element.distance(got, expected) <= self.ulp {
            return true;
        }
        if self.abs == 0.0 && self.rel == 0.0 {
            return false;
        }
        let (got, expected) = (element.to_f64(got), element.to_f64(expected));
        (got - expected).abs() <= self.abs + self.rel * expected.abs()
    }
}

/// What a comparison found.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Elements compared.
    pub elements: usize,
    /// Elements outside the tolerance.
    pub mismatches: usize,
    /// The first of them.
    pub first: Option<Mismatch>,
    /// The largest distance of any element, within the tolerance or not, and where it is;
    /// `u64::MAX` for a NaN against a number.
    pub largest: (u64, usize),
}

/// An element outside the tolerance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mismatch {
    /// Its index.
    pub index: usize,
    /// Bits of the value that the run gave.
    pub got: u64,
    /// Bits of the expected value.
    pub expected: u64,
    /// How many values apart.
    pub distance: u64,
}

/// Compares arrays of the same type and length.
pub fn compare(got: &Array, expected: &Array, tolerance: &Tolerance) -> Comparison {
    let element = got.element;
    let mut result = Comparison { elements: got.len(), mismatches: 0, first: None, largest: (0, 0) };
    for index in 0..got.len().min(expected.len()) {
        let (got, expected) = (got.bits(index), expected.bits(index));
        if got == expected {
            continue;
        }
        let distance = element.distance(got, expected);
        if distance > result.largest.0 {
            result.largest = (distance, index);
        }
        if !tolerance.admits(element, got, expected) {
            result.mismatches += 1;
            result.first.get_or_insert(Mismatch { index, got, expected, distance });
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(values: &[f32]) -> Array {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Array { element: Element::F32, shape: vec![values.len() as u64], bytes }
    }

    #[test]
    fn the_first_and_the_largest_difference_are_named() {
        let next = f32::from_bits(2.0f32.to_bits() + 1);
        let result = compare(&array(&[1.0, next, 4.0]), &array(&[1.0, 2.0, 8.0]), &Tolerance::default());
        assert_eq!((result.elements, result.mismatches), (3, 2));
        let first = result.first.unwrap();
        assert_eq!((first.index, first.distance), (1, 1));
        assert_eq!(result.largest, (1 << 23, 2));
    }

    #[test]
    fn tolerances_admit_what_they_say() {
        let next = f32::from_bits(2.0f32.to_bits() + 2);
        let check = |tolerance| compare(&array(&[next]), &array(&[2.0]), &tolerance).mismatches;
        assert_eq!(check(Tolerance { ulp: 1, ..Tolerance::default() }), 1);
        assert_eq!(check(Tolerance { ulp: 2, ..Tolerance::default() }), 0);
        assert_eq!(check(Tolerance { abs: 1e-6, ..Tolerance::default() }), 0);
        assert_eq!(check(Tolerance { rel: 1e-9, ..Tolerance::default() }), 1);
        assert_eq!(check(Tolerance { rel: 1e-6, ..Tolerance::default() }), 0);
    }

    #[test]
    fn nan_equals_nan_unless_bits_are_asked_for() {
        let (a, b) = (array(&[f32::from_bits(0x7fff_ffff)]), array(&[f32::NAN]));
        assert_eq!(compare(&a, &b, &Tolerance::default()).mismatches, 0);
        assert_eq!(compare(&a, &b, &Tolerance { nan_bits: true, ..Tolerance::default() }).mismatches, 1);
        let number = compare(&array(&[1.0]), &b, &Tolerance { ulp: 1 << 40, ..Tolerance::default() });
        assert_eq!(number.mismatches, 1);
    }
}
