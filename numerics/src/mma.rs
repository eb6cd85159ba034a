//! Element arithmetic of the matrix instructions (manual 9.7.14, 9.7.15): elements of `D = A * B + C`
//! for one block of K, on operands that are decoded once and used for a whole tile.
//!
//! # The fused sum
//! Products are exact. All of them and C are aligned to the largest exponent among them, truncated
//! toward zero at a fixed number of fraction bits ([`MMA_FRACTION`], [`WGMMA_FP8_FRACTION`]) and added
//! as integers; the sum is rounded once, to `.f32` toward zero or to `.f16` to nearest even. The
//! exponent of a product is the sum of its factors' exponents; a zero product has none; a zero C has
//! [`ZERO_C_EXPONENT`]. A sum beyond the largest `.f32` is infinite. A zero result is +0.0, whether the
//! sum is exactly zero, the rounding made it zero, or all addends were -0.0.
//!
//! # The smallest alignment exponent
//! Published models disagree on what the smallest sums are aligned to: 2^-126 with a zero C counted, or
//! 2^-133 with zero operands skipped. The experiment: `.bf16` `m16n8k16`, all of A 1.5 * 2^-76, all of B
//! 2^-76, C = 0, so 16 products of 1.5 * 2^-152 whose sum is three times the smallest `.f32`. Aligned to
//! 2^-126 with 25 fraction bits each would be cut to nothing. An H200 gives `0x00000003`, as -133 does. It is a
//! zero C, of either sign, that takes part with that exponent, not a floor: with C = 2^-149, whose exponent
//! is -126, the products are cut and the result is C. Where many products of 2^-153 to 2^-140 are added,
//! -133 gives all of the device's sums, -132 and -134 do not (`testdata/h200/matrices.txt`, modes 10 to
//! 13; `mma.txt`, tiles 10 and 11 of every 16).
//!
//! # What has been compared
//! `mma`, `mma.sp` and `wmma` of all shapes and types with an H200 on random, cancelling, subnormal,
//! overflowing and special operands, 10^7 elements of D and more a type
//! (`cargo run --release --example mma_certificate`); tests repeat a part of that.
//!
//! ```
//! use numerics::mma::{Element, MMA_FRACTION, dot};
//! let a = [0x3c00, 0x4000].map(Element::f16); // 1, 2
//! let b = [0x4200, 0x3800].map(Element::f16); // 3, 0.5
//! assert_eq!(dot(&a, &b, 10.0_f32.to_bits(), MMA_FRACTION), 14.0_f32.to_bits());
//! ```

#![allow(clippy::needless_range_loop, reason = "columns side by side, by number")]

use super::modes::Rounding;
use super::soft::{BF16, E4M3, E5M2, F16, F32, Format, TF32};
use super::{cvt, f16 as half, f32 as single, f64 as double};

/// Fraction bits kept by `mma.sync` and `wgmma` on `.f16`, `.bf16` and `.tf32`.
pub const MMA_FRACTION: u32 = 25;
/// Fraction bits kept by `wgmma` on fp8.
pub const WGMMA_FP8_FRACTION: u32 = 13;
/// The exponent with which a C of zero takes part in the alignment.
pub const ZERO_C_EXPONENT: i32 = -133;

/// Fraction bits of an operand's significand: enough for every operand type.
const ELEMENT_FRACTION: u32 = 10;

/// Exponent of a zero: whatever it is multiplied by, the product does not reach an alignment.
const ZERO: i32 = -0x2000;
/// Exponents from here on mark infinities and NaN, also after adding any other exponent.
const SPECIAL: i32 = 0x1000;
const INFINITE: i32 = 0x8000;
const NAN: i32 = 0x1_0000;

/// A decoded operand of a matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Signed, with as many fraction bits as [`Element::accumulator`] and the others say; for an infinity
    /// 1 or -1. An integer operand is this alone.
    pub significand: i32,
    /// Of the significand, or a marker of a zero, an infinity or a NaN.
    pub exponent: i32,
}

impl Element {
    /// Zero, for padding.
    pub const ZERO: Element = Element { significand: 0, exponent: ZERO };

    /// An integer.
    #[inline(always)]
    pub const fn integer(value: i32) -> Element {
        Element { significand: value, exponent: 0 }
    }

    /// Decodes to `fraction` fraction bits, at least the format's own; free of branches.
    #[inline(always)]
    fn decode(bits: u32, format: Format, fraction: u32) -> Element {
        let magnitude = bits & (format.sign_bit() as u32 - 1);
        let field = magnitude >> format.fraction_bits;
        let normal = u32::from(field != 0);
        let digits = magnitude & ((1 << format.fraction_bits) - 1) | normal << format.fraction_bits;
        let exponent = field.max(1) as i32 - format.bias();
        let exponent = if digits == 0 { ZERO } else { exponent };
        let end = format.end() as u32;
        let infinite = format.ieee_specials & (magnitude == end);
        let special = magnitude >= end;
        let exponent = if special { NAN } else { exponent };
        let exponent = if infinite { INFINITE } else { exponent };
        let digits = if special { u32::from(infinite) } else { digits << (fraction - format.fraction_bits) };
        let negative = bits & format.sign_bit() as u32 != 0;
        let significand = if negative { (digits as i32).wrapping_neg() } else { digits as i32 };
        Element { significand, exponent }
    }

    /// An `.f16` operand.
    #[inline(always)]
    pub fn f16(bits: u16) -> Element {
        Element::decode(bits.into(), F16, ELEMENT_FRACTION)
    }

    /// A `.bf16` operand.
    #[inline(always)]
    pub fn bf16(bits: u16) -> Element {
        Element::decode(bits.into(), BF16, ELEMENT_FRACTION)
    }

    /// A `.tf32` operand: the low 13 bits of the register are ignored, so that a NaN whose payload lies
    /// there is an infinity.
    #[inline(always)]
    pub fn tf32(bits: u32) -> Element {
        Element::decode(bits >> 13, TF32, ELEMENT_FRACTION)
    }

    /// An `.e4m3` operand.
    #[inline(always)]
    pub fn e4m3(bits: u8) -> Element {
        Element::decode(bits.into(), E4M3, ELEMENT_FRACTION)
    }

    /// An `.e4m3` operand of `mma`, which `sm_90` converts to `.f16` first: its subnormal numbers take part in
    /// the alignment with the exponents of their leading bits.
    #[inline(always)]
    pub fn e4m3_as_f16(bits: u8) -> Element {
        let element = Element::e4m3(bits);
        let digits = i32::from(bits & 7);
        let up = if bits & 0x7f == digits as u8 && digits != 0 {
            1 + i32::from(digits < 4) + i32::from(digits < 2)
        } else {
            0
        };
        Element { significand: element.significand << up, exponent: element.exponent - up }
    }

    /// An `.e5m2` operand.
    #[inline(always)]
    pub fn e5m2(bits: u8) -> Element {
        Element::decode(bits.into(), E5M2, ELEMENT_FRACTION)
    }

    /// An `.f32` accumulator, for [`fused`].
    #[inline(always)]
    pub fn accumulator(bits: u32) -> Element {
        Element::decode(bits, F32, ADDEND_FRACTION)
    }

    /// An `.f16` accumulator, for [`fused`].
    #[inline(always)]
    pub fn accumulator_f16(bits: u16) -> Element {
        Element::decode(bits.into(), F16, ADDEND_FRACTION)
    }
}

/// `N` elements side by side, significands and exponents apart: a row of B, or of C decoded.
#[derive(Clone, Copy, Debug)]
pub struct Columns<const N: usize> {
    /// [`Element::significand`] of each.
    pub significand: [i32; N],
    /// [`Element::exponent`] of each.
    pub exponent: [i32; N],
}

impl<const N: usize> Columns<N> {
    /// Zeros.
    pub const ZERO: Self = Columns { significand: [0; N], exponent: [ZERO; N] };

    #[inline(always)]
    fn element(&self, n: usize) -> Element {
        Element { significand: self.significand[n], exponent: self.exponent[n] }
    }

    /// Sets one; `n` is below `N`.
    #[inline(always)]
    pub fn set(&mut self, n: usize, element: Element) {
        self.significand[n] = element.significand;
        self.exponent[n] = element.exponent;
    }
}

/// Significands of addends are brought to this many fraction bits before they are aligned; the
/// largest, a product below 4, then has 27 bits.
const ADDEND_FRACTION: u32 = MMA_FRACTION;

/// Products that fit into one 32-bit sum together with C.
const PART: usize = 8;

/// One addend in units of `2^(top - fraction)`, truncated toward zero; `drop` is
/// `ADDEND_FRACTION - fraction`. `exponent` is at most `top`.
#[inline(always)]
fn align(significand: i32, exponent: i32, top: i32, drop: u32) -> i32 {
    let down = drop + (top - exponent).min(31) as u32;
    let sign = significand >> 31;
    let magnitude = ((significand ^ sign) - sign) as u32;
    let magnitude = (magnitude >> down.min(31)) as i32;
    (magnitude ^ sign) - sign
}

/// 2 to an exponent within the range of normal `f64` numbers.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The factors of A in `N` sums side by side.
pub trait Factors<const N: usize>: Copy {
    /// That of one sum.
    fn of(&self, n: usize) -> Element;
}

/// One row of A with `N` columns of B.
impl<const N: usize> Factors<N> for Element {
    #[inline(always)]
    fn of(&self, _: usize) -> Element {
        *self
    }
}

/// A row of its own for each sum.
impl<const N: usize> Factors<N> for Columns<N> {
    #[inline(always)]
    fn of(&self, n: usize) -> Element {
        self.element(n)
    }
}

/// The fused sums of one row of A with `N` columns of B, not yet rounded: NaN and infinities stand for
/// themselves, other sums are exact. `row` finds the row of B for an element of A, by number; `c` is
/// of [`Element::accumulator`]; `fraction` is at most [`MMA_FRACTION`].
#[inline(always)]
pub fn fused<'b, const N: usize, A: Factors<N>>(
    a: &[A],
    row: impl Fn(usize) -> &'b Columns<N>,
    c: &Columns<N>,
    fraction: u32,
) -> [f64; N] {
    let mut top = [0; N];
    for n in 0..N {
        top[n] = if c.exponent[n] == ZERO { ZERO_C_EXPONENT } else { c.exponent[n] };
    }
    for (k, a) in a.iter().enumerate() {
        let b = row(k);
        for n in 0..N {
            top[n] = top[n].max(a.of(n).exponent + b.exponent[n]);
        }
    }
    let drop = ADDEND_FRACTION - fraction;
    let mut part = [0i32; N];
    for n in 0..N {
        part[n] = align(c.significand[n], c.exponent[n], top[n], drop);
    }
    let mut value = [0f64; N];
    for (k, a) in a.iter().enumerate() {
        let b = row(k);
        for n in 0..N {
            let a = a.of(n);
            let significand = a.significand << (ADDEND_FRACTION - 2 * ELEMENT_FRACTION);
            part[n] += align(significand * b.significand[n], a.exponent + b.exponent[n], top[n], drop);
        }
        if k % PART == PART - 1 {
            for n in 0..N {
                value[n] += f64::from(part[n]);
                part[n] = 0;
            }
        }
    }
    let mut special = false;
    let mut sums = [0f64; N];
    for n in 0..N {
        special |= top[n] >= SPECIAL;
        sums[n] = (value[n] + f64::from(part[n])) * power(top[n].min(SPECIAL >> 2) - fraction as i32);
    }
    if special {
        for n in 0..N {
            if top[n] >= SPECIAL {
                sums[n] = fused_special(a.len(), |k| (a[k].of(n), row(k).element(n)), c.element(n));
            }
        }
    }
    sums
}

/// The sum when an operand is NaN or infinite.
#[cold]
#[inline(never)]
fn fused_special(count: usize, factors: impl Fn(usize) -> (Element, Element), c: Element) -> f64 {
    let (mut plus, mut minus) = (false, false);
    let mut infinite = |negative: bool| if negative { minus = true } else { plus = true };
    if c.exponent == NAN {
        return f64::NAN;
    }
    if c.exponent == INFINITE {
        infinite(c.significand < 0);
    }
    for (x, y) in (0..count).map(factors) {
        if x.exponent == NAN || y.exponent == NAN {
            return f64::NAN;
        }
        if x.exponent == INFINITE || y.exponent == INFINITE {
            if x.significand == 0 || y.significand == 0 {
                return f64::NAN;
            }
            infinite((x.significand < 0) != (y.significand < 0));
        }
    }
    match (plus, minus) {
        (true, true) => f64::NAN,
        (true, false) => f64::INFINITY,
        _ => f64::NEG_INFINITY,
    }
}

/// A sum of [`fused`] as an `.f32` result.
#[inline(always)]
pub fn round_f32(sum: f64) -> u32 {
    let r = super::wide::narrow(sum, Rounding::Rz, false);
    // Beyond the largest number toward zero means infinity here; a zero has no sign.
    let r = if sum.abs() >= power(128) { r & 0x8000_0000 | 0x7f80_0000 } else { r };
    if r << 1 == 0 { 0 } else { r }
}

/// A sum of [`fused`] as an `.f16` result.
#[inline(always)]
pub fn round_f16(sum: f64) -> u16 {
    let r = half::narrow_to(super::wide::odd_f32(sum), Rounding::Rn);
    if r << 1 == 0 { 0 } else { r }
}

/// [`fused`] for one column.
fn column(a: &[Element], b: &[Element], c: Element, fraction: u32) -> f64 {
    let one = |e: &Element| Columns::<1> { significand: [e.significand], exponent: [e.exponent] };
    let b: Vec<Columns<1>> = b.iter().map(one).collect();
    fused(&a[..a.len().min(b.len())], |k| &b[k], &one(&c), fraction.min(MMA_FRACTION))[0]
}

/// One element of a block of K with an `.f32` accumulator: `c` and the result are `.f32` bits, the
/// result is rounded toward zero. `a` is a row, `b` a column; surplus elements of the longer one are
/// ignored. `fraction` is at most [`MMA_FRACTION`].
pub fn dot(a: &[Element], b: &[Element], c: u32, fraction: u32) -> u32 {
    round_f32(column(a, b, Element::accumulator(c), fraction))
}

/// One element of a block of K with an `.f16` accumulator: `c` and the result are `.f16` bits, the
/// result is rounded to nearest even. `fraction` as for [`dot`].
pub fn dot_f16(a: &[Element], b: &[Element], c: u16, fraction: u32) -> u16 {
    round_f16(column(a, b, Element::accumulator_f16(c), fraction))
}

/// One element of `wgmma` on fp8 with an `.f32` accumulator, K of 32: the accumulator holds
/// [`WGMMA_FP8_FRACTION`] fraction bits, so the result is truncated to them too.
pub fn dot_wgmma_fp8(a: &[Element], b: &[Element], c: u32) -> u32 {
    let r = dot(a, b, c, WGMMA_FP8_FRACTION);
    if single::is_nan(r) { r } else { r & (u32::MAX << (23 - WGMMA_FP8_FRACTION)) }
}

/// One element of `mma.m8n8k4` on `.f16`, which `sm_90` computes with `.f32` instructions: a chain of
/// fused multiply-adds from +0.0, added to `c`. Products of `.f16` numbers are exact in `.f32`.
#[inline(always)]
pub fn chain_f16(a: &[u16; 4], b: &[u16; 4], c: u32) -> u32 {
    let product = |k: usize| half::widen(a[k]) * half::widen(b[k]);
    let sum = (((product(0) + 0.0) + product(1)) + product(2)) + product(3);
    single::add(c, sum.to_bits(), Rounding::Rn, false)
}

/// The same with an `.f16` accumulator: the sums of two halves of K are added to `c` one by one, and the
/// result is rounded to `.f16`.
#[inline(always)]
pub fn pairs_f16(a: &[u16; 4], b: &[u16; 4], c: u16) -> u16 {
    let product = |k: usize| half::widen(a[k]) * half::widen(b[k]);
    let sum = (half::widen(c) + (product(0) + product(1))) + (product(2) + product(3));
    half::narrow_to(sum, Rounding::Rn)
}

/// One element of `mma` on `.f64`: a chain of fused multiply-adds in the order of K, starting from `c`.
#[inline]
pub fn dot_f64(a: &[u64], b: &[u64], c: u64, rounding: Rounding) -> u64 {
    a.iter().zip(b).fold(c, |sum, (&x, &y)| double::fma(x, y, sum, rounding))
}

/// Integer products of one row of A with `N` columns of B, added to `c` modulo 2^32 or, with
/// `satfinite`, limited to `.s32`. The products together must fit into 32 bits; operands as for [`fused`].
#[inline(always)]
pub fn integers<'b, const N: usize>(
    a: &[Element],
    row: impl Fn(usize) -> &'b Columns<N>,
    c: &[u32; N],
    satfinite: bool,
) -> [u32; N] {
    let mut sums = [0i32; N];
    for (k, a) in a.iter().enumerate() {
        let b = row(k);
        for n in 0..N {
            sums[n] = sums[n].wrapping_add(a.significand.wrapping_mul(b.significand[n]));
        }
    }
    let mut d = [0; N];
    for n in 0..N {
        let c = c[n] as i32;
        d[n] = (if satfinite { c.saturating_add(sums[n]) } else { c.wrapping_add(sums[n]) }) as u32;
    }
    d
}

/// Counts of ones in `a ^ b` (`.xor.popc`) or, with `and`, in `a & b` (`.and.popc`), words of one row of
/// A with `N` columns of B, added to `c`.
#[inline(always)]
pub fn bits<'b, const N: usize>(
    a: &[Element],
    row: impl Fn(usize) -> &'b Columns<N>,
    c: &[u32; N],
    and: bool,
) -> [u32; N] {
    let mut sums = *c;
    for (k, a) in a.iter().enumerate() {
        let b = row(k);
        for n in 0..N {
            let (x, y) = (a.significand, b.significand[n]);
            sums[n] = sums[n].wrapping_add((if and { x & y } else { x ^ y }).count_ones());
        }
    }
    sums
}

/// `.f32` results as `.f16`, of `wmma` with an `.f32` C and an `.f16` D.
#[inline(always)]
pub fn narrow_result(bits: u32) -> u16 {
    cvt::f16_f32(bits, Rounding::Rn)
}
