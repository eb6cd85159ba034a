//! Element arithmetic of the matrix instructions (manual 9.7.14, 9.7.15): one element of
//! `D = A * B + C` for one block of K, on operands that are decoded once and used for a whole tile.
//!
//! # The fused sum
//! Products are exact. All of them and C are aligned to the largest exponent among them, truncated
//! toward zero at a fixed number of fraction bits ([`MMA_FRACTION`], [`WGMMA_FP8_FRACTION`]) and added
//! as integers; the sum is rounded once, to `.f32` toward zero or to `.f16` to nearest even. The
//! exponent of a product is the sum of its factors' exponents; a zero product has none; a zero C has
//! [`ZERO_C_EXPONENT`]. A sum beyond the largest `.f32` is infinite. A zero result is +0.0, whether the
//! sum is exactly zero, the rounding made it zero, or all addends were -0.0.
//!
//! `mma` and `wgmma` of all K and formats, dense or sparse (the selected elements of B only), have been
//! compared with an H200 on random, cancelling, subnormal, overflowing and special operands; the tests
//! repeat the comparison. The alignment of a zero C shows where many products of 2^-153 to 2^-140 are
//! added: with -133 all sums agree, with -132 or -134 some do not.
//!
//! ```
//! use sim_core::numerics::mma::{Element, MMA_FRACTION, dot};
//! let a = [0x3c00, 0x4000].map(Element::f16); // 1, 2
//! let b = [0x4200, 0x3800].map(Element::f16); // 3, 0.5
//! assert_eq!(dot(&a, &b, 10.0_f32.to_bits(), MMA_FRACTION), 14.0_f32.to_bits());
//! ```

use super::modes::Rounding;
use super::soft::{self, BF16, E4M3, E5M2, F16, F32, Format, TF32, Value};
use super::{f32 as single, f64 as double};

/// Fraction bits kept by `mma.sync` and `wgmma` on `.f16`, `.bf16` and `.tf32`.
pub const MMA_FRACTION: u32 = 25;
/// Fraction bits kept by `wgmma` on fp8.
pub const WGMMA_FP8_FRACTION: u32 = 13;
/// The exponent with which a C of zero takes part in the alignment.
pub const ZERO_C_EXPONENT: i32 = -133;

/// Fraction bits of an [`Element`]'s significand: enough for every operand type.
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
    /// Signed, with [`ELEMENT_FRACTION`] fraction bits; for an infinity 1 or -1.
    significand: i32,
    /// Of the significand, or one of the markers above.
    exponent: i32,
}

impl Element {
    /// Zero, for padding.
    pub const ZERO: Element = Element { significand: 0, exponent: ZERO };

    /// Decodes to `fraction` fraction bits, at least the format's own.
    #[inline]
    fn decode(bits: u64, format: Format, fraction: u32) -> Element {
        match soft::unpack(bits, format) {
            Value::Nan => Element { significand: 0, exponent: NAN },
            Value::Infinite(true) => Element { significand: -1, exponent: INFINITE },
            Value::Infinite(false) => Element { significand: 1, exponent: INFINITE },
            Value::Finite { significand: 0, .. } => Element::ZERO,
            Value::Finite { sign, exponent, significand } => {
                let magnitude = (significand as i32) << (fraction - format.fraction_bits);
                Element {
                    significand: if sign { -magnitude } else { magnitude },
                    exponent: exponent + format.fraction_bits as i32,
                }
            }
        }
    }

    /// An `.f16` operand.
    #[inline]
    pub fn f16(bits: u16) -> Element {
        Element::decode(bits.into(), F16, ELEMENT_FRACTION)
    }

    /// A `.bf16` operand.
    #[inline]
    pub fn bf16(bits: u16) -> Element {
        Element::decode(bits.into(), BF16, ELEMENT_FRACTION)
    }

    /// A `.tf32` operand: the low 13 bits of the register are ignored, so that a NaN whose payload lies
    /// there is an infinity.
    #[inline]
    pub fn tf32(bits: u32) -> Element {
        Element::decode(u64::from(bits >> 13), TF32, ELEMENT_FRACTION)
    }

    /// An `.e4m3` operand.
    #[inline]
    pub fn e4m3(bits: u8) -> Element {
        Element::decode(bits.into(), E4M3, ELEMENT_FRACTION)
    }

    /// An `.e5m2` operand.
    #[inline]
    pub fn e5m2(bits: u8) -> Element {
        Element::decode(bits.into(), E5M2, ELEMENT_FRACTION)
    }
}

/// The fused sum before its rounding.
enum Sum {
    Nan,
    Infinite(bool),
    /// `value * 2^exponent`.
    Finite {
        value: i64,
        exponent: i32,
    },
}

/// Significands of addends are brought to this many fraction bits before they are aligned; the
/// largest, a product below 4, then has 27 bits.
const ADDEND_FRACTION: u32 = MMA_FRACTION;

/// One addend in units of `2^(top - fraction)`, truncated toward zero; `drop` is
/// `ADDEND_FRACTION - fraction`.
#[inline(always)]
fn align(significand: i32, exponent: i32, top: i32, drop: u32) -> i32 {
    let down = drop + (top - exponent).clamp(0, 31) as u32;
    let magnitude = (significand.unsigned_abs() >> down.min(31)) as i32;
    if significand < 0 { -magnitude } else { magnitude }
}

/// The fused sum; `c` has [`ADDEND_FRACTION`] fraction bits.
#[inline(always)]
fn fused(a: &[Element], b: &[Element], c: Element, fraction: u32) -> Sum {
    let start = if c.significand == 0 && c.exponent == ZERO { ZERO_C_EXPONENT } else { c.exponent };
    let top = a.iter().zip(b).fold(start, |top, (x, y)| top.max(x.exponent + y.exponent));
    if top >= SPECIAL {
        return fused_special(a, b, c);
    }
    let drop = ADDEND_FRACTION - fraction;
    let first = i64::from(align(c.significand, c.exponent, top, drop));
    let value = a.iter().zip(b).fold(first, |sum, (x, y)| {
        let product = (x.significand * y.significand) << (ADDEND_FRACTION - 2 * ELEMENT_FRACTION);
        sum + i64::from(align(product, x.exponent + y.exponent, top, drop))
    });
    Sum::Finite { value, exponent: top - fraction as i32 }
}

/// The sum when an operand is NaN or infinite.
#[cold]
#[inline(never)]
fn fused_special(a: &[Element], b: &[Element], c: Element) -> Sum {
    let (mut plus, mut minus) = (false, false);
    let mut infinite = |negative: bool| if negative { minus = true } else { plus = true };
    if c.exponent == NAN {
        return Sum::Nan;
    }
    if c.exponent == INFINITE {
        infinite(c.significand < 0);
    }
    for (x, y) in a.iter().zip(b) {
        if x.exponent == NAN || y.exponent == NAN {
            return Sum::Nan;
        }
        if x.exponent == INFINITE || y.exponent == INFINITE {
            if x.significand == 0 || y.significand == 0 {
                return Sum::Nan;
            }
            infinite((x.significand < 0) != (y.significand < 0));
        }
    }
    if plus && minus { Sum::Nan } else { Sum::Infinite(minus) }
}

/// A result whose magnitude is zero has no sign.
#[inline(always)]
fn unsigned_zero<T: Copy + Default + PartialEq>(r: T, magnitude: T) -> T {
    if magnitude == T::default() { T::default() } else { r }
}

/// One element of a block of K with an `.f32` accumulator: `c` and the result are `.f32` bits, the
/// result is rounded toward zero. `a` is a row, `b` a column; surplus elements of the longer one are
/// ignored. `fraction` is at most [`MMA_FRACTION`].
#[inline(always)]
pub fn dot(a: &[Element], b: &[Element], c: u32, fraction: u32) -> u32 {
    match fused(a, b, Element::decode(c.into(), F32, ADDEND_FRACTION), fraction.min(MMA_FRACTION)) {
        Sum::Nan => single::NAN,
        Sum::Infinite(negative) => 0x7f80_0000 | u32::from(negative) << 31,
        Sum::Finite { value, exponent } => {
            let magnitude = value.unsigned_abs();
            let negative = value < 0;
            if exponent + 63 - magnitude.leading_zeros() as i32 > 127 {
                return 0x7f80_0000 | u32::from(negative) << 31;
            }
            let r = soft::round(negative, exponent, magnitude.into(), F32, Rounding::Rz) as u32;
            unsigned_zero(r, r << 1)
        }
    }
}

/// One element of a block of K with an `.f16` accumulator: `c` and the result are `.f16` bits, the
/// result is rounded to nearest even. `fraction` as for [`dot`].
#[inline(always)]
pub fn dot_f16(a: &[Element], b: &[Element], c: u16, fraction: u32) -> u16 {
    match fused(a, b, Element::decode(c.into(), F16, ADDEND_FRACTION), fraction.min(MMA_FRACTION)) {
        Sum::Nan => super::f16::NAN,
        Sum::Infinite(negative) => 0x7c00 | u16::from(negative) << 15,
        Sum::Finite { value, exponent } => {
            let r = soft::round(value < 0, exponent, value.unsigned_abs().into(), F16, Rounding::Rn) as u16;
            unsigned_zero(r, r << 1)
        }
    }
}

/// One element of `wgmma` on fp8 with an `.f32` accumulator, K of 32: the accumulator holds
/// [`WGMMA_FP8_FRACTION`] fraction bits, so the result is truncated to them too.
#[inline(always)]
pub fn dot_wgmma_fp8(a: &[Element], b: &[Element], c: u32) -> u32 {
    let r = dot(a, b, c, WGMMA_FP8_FRACTION);
    if single::is_nan(r) { r } else { r & (u32::MAX << (23 - WGMMA_FP8_FRACTION)) }
}

/// The elements of `mma` on fp8 (at most 32) that one of its two steps takes: `4i` and `4i + 1` first,
/// `4i + 2` and `4i + 3` second.
#[inline]
fn fp8_step(row: &[Element], second: bool) -> [Element; 16] {
    let mut picked = [Element::ZERO; 16];
    let chosen = row.iter().take(32).enumerate().filter(|(k, _)| (k / 2 % 2 == 1) == second);
    for (slot, (_, &element)) in picked.iter_mut().zip(chosen) {
        *slot = element;
    }
    picked
}

/// One element of `mma` on fp8 with an `.f32` accumulator, which `sm_90` computes with the `.f16` unit:
/// two steps from zero, the second onto the first, then an `.f32` addition of `c`. For sparse forms the
/// steps divide the elements kept.
#[inline]
pub fn dot_fp8(a: &[Element], b: &[Element], c: u32) -> u32 {
    let first = dot(&fp8_step(a, false), &fp8_step(b, false), 0, MMA_FRACTION);
    let both = dot(&fp8_step(a, true), &fp8_step(b, true), first, MMA_FRACTION);
    single::add(both, c, Rounding::Rn, false)
}

/// [`dot_fp8`] with an `.f16` accumulator: the steps too give `.f16`.
#[inline]
pub fn dot_fp8_f16(a: &[Element], b: &[Element], c: u16) -> u16 {
    let first = dot_f16(&fp8_step(a, false), &fp8_step(b, false), 0, MMA_FRACTION);
    let both = dot_f16(&fp8_step(a, true), &fp8_step(b, true), first, MMA_FRACTION);
    super::f16::add(both, c, false)
}

/// One element of `mma` on `.f64`: a chain of fused multiply-adds in the order of K, starting from `c`.
#[inline]
pub fn dot_f64(a: &[u64], b: &[u64], c: u64, rounding: Rounding) -> u64 {
    a.iter().zip(b).fold(c, |sum, (&x, &y)| double::fma(x, y, sum, rounding))
}

/// One element of `mma` on integers of at most 8 bits, already extended to 32: the exact sum, modulo
/// 2^32 or, with `satfinite`, limited to `.s32`.
#[inline]
pub fn dot_int(a: &[i32], b: &[i32], c: u32, satfinite: bool) -> u32 {
    let products = a.iter().zip(b).map(|(&x, &y)| i64::from(x) * i64::from(y));
    let sum = products.fold(i64::from(c as i32), i64::wrapping_add);
    (if satfinite { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum }) as u32
}

/// One element of `mma` on `.b1`: `c` plus the number of ones in `a ^ b` (`.xor.popc`) or, with `and`,
/// in `a & b` (`.and.popc`).
#[inline]
pub fn dot_b1(a: &[u32], b: &[u32], c: u32, and: bool) -> u32 {
    a.iter().zip(b).fold(c, |sum, (&x, &y)| sum.wrapping_add((if and { x & y } else { x ^ y }).count_ones()))
}
