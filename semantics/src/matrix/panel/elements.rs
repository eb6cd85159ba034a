//! Elements of A and B as `.f32` values with their exponents.

use super::{LANES, Lanes, Plane};
use numerics::mma::Element;

/// The exponent of a zero: whatever it is multiplied with, the product reaches no alignment.
const ZERO: i32 = -0x2000;
/// Exponents from minus this one to this one are those of elements whose products, and the products' places in any
/// alignment, are normal `.f32` numbers.
const PLAIN: i32 = 50;

/// How the elements of a type lie in a word, and what they are.
pub(super) trait Format {
    /// Bits of an element.
    const BITS: usize;
    /// Elements of a word.
    const PER: usize = 32 / Self::BITS;
    /// The sign bits of a word.
    const SIGNS: u32 = 0;
    /// The last number that is plain; all are, unless said otherwise.
    const LAST: u32 = u32::MAX;
    /// The bits of an `.f32` of the same value, the exponent, and a number that is above [`Format::LAST`] where the
    /// exponent is not plain, or what is not finite has some other value. Bits above the element's are ignored.
    fn value(bits: u32) -> (u32, i32, u32);
    /// For sums of integers that align by themselves.
    fn element(bits: u32) -> Element;
}

/// Value, exponent and magnitude of a float of so many exponent and fraction bits whose bits above are zero; all its
/// finite values are plain.
#[inline(always)]
fn small(magnitude: u32, sign: u32, exponent_bits: u32, fraction_bits: u32) -> (u32, i32, u32) {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let normal = (magnitude << (23 - fraction_bits)) + ((127 - bias) << 23);
    // Of integers: a processor takes long for subnormal numbers.
    let unit = f32::from_bits((127 + 1 - bias - fraction_bits) << 23);
    let subnormal = (magnitude as i32 as f32 * unit).to_bits();
    let field = magnitude >> fraction_bits;
    let value = if field == 0 { subnormal } else { normal };
    let exponent = if magnitude == 0 { ZERO } else { field.max(1) as i32 - bias as i32 };
    (value | sign << 31, exponent, magnitude)
}

/// Value and exponent of a float with the exponents of `.f32`, and how far the exponent is above the least plain one.
#[inline(always)]
fn wide(magnitude: u32, sign: u32, fraction_bits: u32) -> (u32, i32, u32) {
    let field = (magnitude >> fraction_bits) as i32;
    let exponent = if magnitude == 0 { ZERO } else { field - 127 };
    let above = if magnitude == 0 { 0 } else { (field - (127 - PLAIN)) as u32 };
    (magnitude << (23 - fraction_bits) | sign << 31, exponent, above)
}

pub(super) struct F16;

impl Format for F16 {
    const BITS: usize = 16;
    const SIGNS: u32 = 0x8000_8000;
    const LAST: u32 = 0x7bff;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        small(bits & 0x7fff, bits >> 15 & 1, 5, 10)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::f16(bits as u16)
    }
}

pub(super) struct Bf16;

impl Format for Bf16 {
    const BITS: usize = 16;
    const SIGNS: u32 = 0x8000_8000;
    const LAST: u32 = 2 * PLAIN as u32;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        wide(bits & 0x7fff, bits >> 15 & 1, 7)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::bf16(bits as u16)
    }
}

pub(super) struct Tf32;

impl Format for Tf32 {
    const BITS: usize = 32;
    const SIGNS: u32 = 0x8000_0000;
    const LAST: u32 = 2 * PLAIN as u32;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        wide(bits >> 13 & 0x3ffff, bits >> 31, 10)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::tf32(bits)
    }
}

pub(super) struct E4m3;

impl Format for E4m3 {
    const BITS: usize = 8;
    const SIGNS: u32 = 0x8080_8080;
    const LAST: u32 = 0x7e;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        small(bits & 0x7f, bits >> 7 & 1, 4, 3)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::e4m3(bits as u8)
    }
}

pub(super) struct E5m2;

impl Format for E5m2 {
    const BITS: usize = 8;
    const SIGNS: u32 = 0x8080_8080;
    const LAST: u32 = 0x7b;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        small(bits & 0x7f, bits >> 7 & 1, 5, 2)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::e5m2(bits as u8)
    }
}

/// `.s8`; sums of products of bytes are exact in `.f32`.
pub(super) struct Signed;

impl Format for Signed {
    const BITS: usize = 8;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        ((bits as i8 as i32 as f32).to_bits(), 0, 0)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::integer(bits as i8 as i32)
    }
}

/// `.u8`
pub(super) struct Unsigned;

impl Format for Unsigned {
    const BITS: usize = 8;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        (((bits & 0xff) as i32 as f32).to_bits(), 0, 0)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::integer((bits & 0xff) as i32)
    }
}

/// `.b1`: a word at a time, as it is.
pub(super) struct Bits;

impl Format for Bits {
    const BITS: usize = 32;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i32, u32) {
        (bits, 0, 0)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::integer(bits as i32)
    }
}

/// Decodes the element at a place of each word; `most` are the largest numbers so far that [`Format::LAST`] limits.
#[inline(always)]
pub(super) fn decode<F: Format>(words: &Lanes<u32>, at: usize, most: &mut Lanes<u32>) -> Plane {
    let mut plane = Plane { value: [0; LANES], exponent: [0; LANES] };
    for lane in 0..LANES {
        let (value, exponent, number) = F::value(words[lane] >> (at * F::BITS));
        plane.value[lane] = value;
        plane.exponent[lane] = exponent;
        most[lane] = most[lane].max(number);
    }
    plane
}

/// Whether these numbers of [`decode`] are those of plain elements.
#[inline(always)]
pub(super) fn plain<F: Format>(most: &Lanes<u32>) -> bool {
    most.iter().fold(0, |most, &number| most.max(number)) <= F::LAST
}
