//! Elements of A and B as `.f32` values with their exponents.

use super::{LANES, Lanes, Pair};
use crate::lanes::{Level, halves};

/// The exponent of a zero: whatever it is multiplied with, the product reaches no alignment.
pub(super) const ZERO: i16 = -0x2000;
/// Exponents from minus this one to this one are those of elements whose products, and the products' places in any
/// alignment, are normal `.f32` numbers.
const PLAIN: i16 = 50;

/// Bits of a NaN.
const NAN: u32 = 0x7fff_ffff;

/// How the elements of a type lie in a word, and what they are.
pub(super) trait Format {
    /// Bits of an element.
    const BITS: usize;
    /// Elements of a word, and pairs of two words.
    const PER: usize = 32 / Self::BITS;
    /// The sign bits of a word.
    const SIGNS: u32 = 0;

    /// Hands out the pairs of two words, in order, by number, and marks elements that are not plain. Values of
    /// infinities and NaN are those of `.f32`.
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], marks: &mut Marks, take: impl FnMut(usize, Pair));
}

/// What elements are that are not plain, [`SPECIAL`] or [`EXTREME`].
pub(super) type Marks = [u16; 2 * LANES];

/// Infinite, or no number.
pub(super) const SPECIAL: u16 = 1;
/// Finite, with an exponent beyond those of plain ones.
pub(super) const EXTREME: u16 = 2;

/// All marks together.
#[inline(always)]
pub(super) fn together(marks: &Marks) -> u16 {
    marks.iter().fold(0, |all, mark| all | mark)
}

/// Two bytes of each word as halves: the low ones, or the high ones.
#[inline(always)]
fn bytes(words: &Lanes<u32>, high: bool) -> Lanes<u32> {
    words.map(|word| {
        let word = if high { word >> 16 } else { word };
        word & 0xff | (word & 0xff00) << 8
    })
}

/// Pairs of elements that are halves times a power of two: plain up to the last one.
#[inline(always)]
fn of_halves<L: Level>(words: &Lanes<u32>, up: i16, last: u16, marks: &mut Marks) -> Pair {
    let halves = halves(words);
    let mut exponent = [0; 2 * LANES];
    for at in 0..2 * LANES {
        let magnitude = halves[at] & 0x7fff;
        let field = (magnitude >> 10).max(1) as i16;
        exponent[at] = if magnitude == 0 { ZERO } else { field - 15 + up };
        marks[at] |= if magnitude > last { SPECIAL } else { 0 };
    }
    let scale = f32::from_bits(((127 + i32::from(up)) as u32) << 23);
    let mut value = [[0; LANES]; 2];
    for (at, to) in value.iter_mut().enumerate() {
        let mut shifted = [0; LANES];
        for lane in 0..LANES {
            shifted[lane] = words[lane] >> (16 * at);
        }
        let numbers = L::of_halves(&shifted);
        for lane in 0..LANES {
            to[lane] = if up == 0 { numbers[lane].to_bits() } else { (numbers[lane] * scale).to_bits() };
        }
    }
    Pair { value, exponent }
}

/// The exponent of a float with the exponents of `.f32`, and its mark.
#[inline(always)]
fn wide(zero: bool, field: u16) -> (i16, u16) {
    let exponent = field as i16 - 127;
    let beyond = !zero & ((exponent + PLAIN) as u16 > 2 * PLAIN as u16);
    let mark = if field == 0xff { SPECIAL } else { EXTREME };
    let mark = if beyond { mark } else { 0 };
    (if zero { ZERO } else { exponent }, mark)
}

pub(super) struct F16;

impl Format for F16 {
    const BITS: usize = 16;
    const SIGNS: u32 = 0x8000_8000;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], marks: &mut Marks, mut take: impl FnMut(usize, Pair)) {
        for (at, words) in words.into_iter().enumerate() {
            take(at, of_halves::<L>(words, 0, 0x7bff, marks));
        }
    }
}

pub(super) struct Bf16;

impl Format for Bf16 {
    const BITS: usize = 16;
    const SIGNS: u32 = 0x8000_8000;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], marks: &mut Marks, mut take: impl FnMut(usize, Pair)) {
        for (at, words) in words.into_iter().enumerate() {
            let halves = halves(words);
            let mut exponent = [0; 2 * LANES];
            for at in 0..2 * LANES {
                let magnitude = halves[at] & 0x7fff;
                let mark;
                (exponent[at], mark) = wide(magnitude == 0, magnitude >> 7);
                marks[at] |= mark;
            }
            take(
                at,
                Pair {
                    value: [words.map(|word| word << 16), words.map(|word| word & 0xffff_0000)],
                    exponent,
                },
            );
        }
    }
}

pub(super) struct Tf32;

impl Format for Tf32 {
    const BITS: usize = 32;
    const SIGNS: u32 = 0x8000_0000;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], marks: &mut Marks, mut take: impl FnMut(usize, Pair)) {
        let value = words.map(|words| words.map(|word| word & 0xffff_e000));
        let mut exponent = [0; 2 * LANES];
        for lane in 0..LANES {
            for at in 0..2 {
                let bits = value[at][lane];
                let mark;
                (exponent[2 * lane + at], mark) = wide(bits << 1 == 0, (bits >> 23 & 0xff) as u16);
                marks[2 * lane + at] |= mark;
            }
        }
        take(0, Pair { value, exponent });
    }
}

pub(super) struct E4m3;

impl Format for E4m3 {
    const BITS: usize = 8;
    const SIGNS: u32 = 0x8080_8080;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], marks: &mut Marks, mut take: impl FnMut(usize, Pair)) {
        for at in 0..4 {
            let halves = bytes(words[at / 2], at % 2 == 1)
                .map(|pair| (pair & 0x7f_007f) << 7 | (pair & 0x80_0080) << 8);
            let mut pair = of_halves::<L>(&halves, 8, 0x7e << 7, marks);
            // There is one magnitude of NaN, and no infinity: as a half, it looks like a number.
            for value in pair.value.as_flattened_mut() {
                *value |= if *value << 1 == 480f32.to_bits() << 1 { NAN } else { 0 };
            }
            take(at, pair);
        }
    }
}

pub(super) struct E5m2;

impl Format for E5m2 {
    const BITS: usize = 8;
    const SIGNS: u32 = 0x8080_8080;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], marks: &mut Marks, mut take: impl FnMut(usize, Pair)) {
        for at in 0..4 {
            let halves = bytes(words[at / 2], at % 2 == 1).map(|pair| pair << 8);
            take(at, of_halves::<L>(&halves, 0, 0x7b << 8, marks));
        }
    }
}

/// Pairs of integers of a byte, of which sums of products are exact in `.f32`.
#[inline(always)]
fn integers(words: [&Lanes<u32>; 2], value: impl Fn(u32) -> i32, mut take: impl FnMut(usize, Pair)) {
    for at in 0..4 {
        let number =
            |second| words[at / 2].map(|word| (value(word >> (at % 2 * 16 + second)) as f32).to_bits());
        take(at, Pair { value: [number(0), number(8)], exponent: [0; 2 * LANES] });
    }
}

/// `.s8`
pub(super) struct Signed;

impl Format for Signed {
    const BITS: usize = 8;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], _: &mut Marks, take: impl FnMut(usize, Pair)) {
        integers(words, |bits| bits as i8 as i32, take);
    }
}

/// `.u8`
pub(super) struct Unsigned;

impl Format for Unsigned {
    const BITS: usize = 8;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], _: &mut Marks, take: impl FnMut(usize, Pair)) {
        integers(words, |bits| (bits & 0xff) as i32, take);
    }
}

/// `.b1`: a word at a time, as it is.
pub(super) struct Bits;

impl Format for Bits {
    const BITS: usize = 32;

    #[inline(always)]
    fn pairs<L: Level>(words: [&Lanes<u32>; 2], _: &mut Marks, mut take: impl FnMut(usize, Pair)) {
        take(0, Pair { value: words.map(|&words| words), exponent: [0; 2 * LANES] });
    }
}
