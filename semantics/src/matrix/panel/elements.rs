//! Elements of A and B as `.f32` values with their exponents.

use super::Plane;
use numerics::mma::Element;

/// The exponent of a zero: whatever it is multiplied with, the product reaches no alignment.
pub(super) const ZERO: i16 = -0x2000;
/// Exponents of elements whose products, and the products' places in any alignment, are normal `.f32` numbers.
const PLAIN: std::ops::RangeInclusive<i16> = -50..=50;

/// How the elements of a type lie in a word, and what they are.
pub(super) trait Format {
    /// Bits of an element.
    const BITS: usize;
    /// Elements of a word.
    const PER: usize = 32 / Self::BITS;
    /// The sign bits of a word.
    const SIGNS: u32 = 0;
    /// The bits of an `.f32` of the same value, and the exponent; what is not finite has some other value and an
    /// exponent that is not plain. Bits above the element's are ignored.
    fn value(bits: u32) -> (u32, i16);
    /// For sums of integers that align by themselves.
    fn element(bits: u32) -> Element;
}

/// Value and exponent of a float of so many exponent and fraction bits whose bits above are zero.
#[inline(always)]
fn float(magnitude: u32, sign: u32, exponent_bits: u32, fraction_bits: u32, end: u32) -> (u32, i16) {
    let bias = (1 << (exponent_bits - 1)) - 1;
    // Exact also where it is subnormal in its own format, since that is an `.f32` of a small exponent.
    let scale = f32::from_bits((127 + 127 - bias) << 23);
    let value = f32::from_bits(magnitude << (23 - fraction_bits)) * scale;
    let field = (magnitude >> fraction_bits) as i16;
    let field = if field == 0 { 1 } else { field };
    let exponent = if magnitude == 0 { ZERO } else { field - bias as i16 };
    let exponent = if magnitude >= end { i16::MAX >> 2 } else { exponent };
    (value.to_bits() | sign << 31, exponent)
}

pub(super) struct F16;

impl Format for F16 {
    const BITS: usize = 16;
    const SIGNS: u32 = 0x8000_8000;

    #[inline(always)]
    fn value(bits: u32) -> (u32, i16) {
        float(bits & 0x7fff, bits >> 15 & 1, 5, 10, 0x7c00)
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

    #[inline(always)]
    fn value(bits: u32) -> (u32, i16) {
        float(bits & 0x7fff, bits >> 15 & 1, 8, 7, 0x7f80)
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

    #[inline(always)]
    fn value(bits: u32) -> (u32, i16) {
        float(bits >> 13 & 0x3ffff, bits >> 31, 8, 10, 0x3fc00)
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

    #[inline(always)]
    fn value(bits: u32) -> (u32, i16) {
        float(bits & 0x7f, bits >> 7 & 1, 4, 3, 0x7f)
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

    #[inline(always)]
    fn value(bits: u32) -> (u32, i16) {
        float(bits & 0x7f, bits >> 7 & 1, 5, 2, 0x7c)
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
    fn value(bits: u32) -> (u32, i16) {
        (f32::from(bits as i8).to_bits(), 0)
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
    fn value(bits: u32) -> (u32, i16) {
        (f32::from(bits as u8).to_bits(), 0)
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
    fn value(bits: u32) -> (u32, i16) {
        (bits, 0)
    }

    #[inline(always)]
    fn element(bits: u32) -> Element {
        Element::integer(bits as i32)
    }
}

/// Decodes the element at a place of each word; whether products of all of them in `.f32` are exact.
#[inline(always)]
pub(super) fn decode<F: Format, const N: usize>(words: &[u32; N], at: usize, to: &mut Plane<N>) -> bool {
    let mut plain = true;
    for lane in 0..N {
        let (value, exponent) = F::value(words[lane] >> (at * F::BITS));
        to.value[lane] = value;
        to.exponent[lane] = exponent;
        plain &= (exponent == ZERO) | PLAIN.contains(&exponent);
    }
    plain
}
