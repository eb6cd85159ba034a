//! Element arithmetic of the matrix instructions (manual 9.7.14, 9.7.15): one element of
//! `D = A * B + C` for one block of K, on operands that are decoded once and used for a whole tile.
//!
//! # The fused sum
//! Products are exact. All of them and C are aligned to the largest exponent among them, truncated
//! toward zero at a fixed number of fraction bits ([`MMA_FRACTION`], [`WGMMA_FP8_FRACTION`]) and added
//! as integers; the sum is rounded once, to `.f32` toward zero or to `.f16` to nearest even. Published
//! models of the hardware agree on this. Not settled by them, and decided in one place each here: what
//! exponent a zero C has ([`ZERO_C_EXPONENT`]), that a zero product has none, that a sum beyond the
//! largest `.f32` is infinite, and that an exact zero is +0.0.
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
pub const ZERO_C_EXPONENT: i32 = -126;

/// Fraction bits of an [`Element`]'s significand: enough for every operand type.
const ELEMENT_FRACTION: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Finite,
    Infinite,
    Nan,
}

/// A decoded operand of a matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Signed, with [`ELEMENT_FRACTION`] fraction bits; for an infinity 1 or -1.
    significand: i32,
    exponent: i32,
    class: Class,
}

impl Element {
    /// Zero, for padding.
    pub const ZERO: Element = Element { significand: 0, exponent: 0, class: Class::Finite };

    fn infinite(negative: bool) -> Element {
        Element { significand: if negative { -1 } else { 1 }, exponent: 0, class: Class::Infinite }
    }

    #[inline]
    fn decode(bits: u64, format: Format) -> Element {
        match soft::unpack(bits, format) {
            Value::Nan => Element { class: Class::Nan, ..Element::ZERO },
            Value::Infinite(negative) => Element::infinite(negative),
            Value::Finite { sign, exponent, significand } => {
                let magnitude = (significand as i32) << (ELEMENT_FRACTION - format.fraction_bits);
                Element {
                    significand: if sign { -magnitude } else { magnitude },
                    exponent: exponent + format.fraction_bits as i32,
                    class: Class::Finite,
                }
            }
        }
    }

    /// An `.f16` operand.
    #[inline]
    pub fn f16(bits: u16) -> Element {
        Element::decode(bits.into(), F16)
    }

    /// A `.bf16` operand.
    #[inline]
    pub fn bf16(bits: u16) -> Element {
        Element::decode(bits.into(), BF16)
    }

    /// A `.tf32` operand: the low 13 bits of the register are ignored.
    #[inline]
    pub fn tf32(bits: u32) -> Element {
        // A NaN keeps being one even if its payload lies in the ignored bits.
        let nan = u64::from(single::is_nan(bits));
        Element::decode(u64::from(bits >> 13) | nan, TF32)
    }

    /// An `.e4m3` operand.
    #[inline]
    pub fn e4m3(bits: u8) -> Element {
        Element::decode(bits.into(), E4M3)
    }

    /// An `.e5m2` operand.
    #[inline]
    pub fn e5m2(bits: u8) -> Element {
        Element::decode(bits.into(), E5M2)
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

/// Aligns one addend: `significand * 2^(exponent - from)` in units of `2^(top - to)`, truncated.
#[inline(always)]
fn align(significand: i64, exponent: i32, from: u32, top: i32, to: u32) -> i64 {
    let up = significand.unsigned_abs() << to;
    let down = from + (top.wrapping_sub(exponent) as u32).min(127 - from);
    let magnitude = if down > 63 { 0 } else { up >> down } as i64;
    if significand < 0 { -magnitude } else { magnitude }
}

/// An exponent below all others: the alignment of an addend that has none.
const NO_EXPONENT: i32 = -1000;

fn fused(a: &[Element], b: &[Element], c: Element, c_fraction: u32, fraction: u32) -> Sum {
    let pairs = || a.iter().zip(b);
    let special = |e: &Element| e.class != Class::Finite;
    if special(&c) || pairs().any(|(x, y)| special(x) || special(y)) {
        return fused_special(a, b, c);
    }
    let product = |x: &Element, y: &Element| i64::from(x.significand) * i64::from(y.significand);
    let top = pairs().fold(c.exponent, |top, (x, y)| {
        let exponent = if product(x, y) == 0 { NO_EXPONENT } else { x.exponent + y.exponent };
        top.max(exponent)
    });
    let start = align(c.significand.into(), c.exponent, c_fraction, top, fraction);
    let value = pairs().fold(start, |sum, (x, y)| {
        sum + align(product(x, y), x.exponent + y.exponent, 2 * ELEMENT_FRACTION, top, fraction)
    });
    Sum::Finite { value, exponent: top - fraction as i32 }
}

/// The sum when an operand is NaN or infinite.
#[cold]
fn fused_special(a: &[Element], b: &[Element], c: Element) -> Sum {
    let (mut plus, mut minus) = (false, false);
    let mut infinite = |negative: bool| if negative { minus = true } else { plus = true };
    match c.class {
        Class::Nan => return Sum::Nan,
        Class::Infinite => infinite(c.significand < 0),
        Class::Finite => {}
    }
    for (x, y) in a.iter().zip(b) {
        match (x.class, y.class) {
            (Class::Finite, Class::Finite) => {}
            (Class::Nan, _) | (_, Class::Nan) => return Sum::Nan,
            // Infinity times zero.
            _ if x.significand == 0 || y.significand == 0 => return Sum::Nan,
            _ => infinite((x.significand < 0) != (y.significand < 0)),
        }
    }
    if plus && minus { Sum::Nan } else { Sum::Infinite(minus) }
}

/// C with its own number of fraction bits, and the exponent of a zero.
fn accumulator(bits: u64, format: Format) -> Element {
    match soft::unpack(bits, format) {
        Value::Nan => Element { class: Class::Nan, ..Element::ZERO },
        Value::Infinite(negative) => Element::infinite(negative),
        Value::Finite { significand: 0, .. } => Element { exponent: ZERO_C_EXPONENT, ..Element::ZERO },
        Value::Finite { sign, exponent, significand } => Element {
            significand: if sign { -(significand as i32) } else { significand as i32 },
            exponent: exponent + format.fraction_bits as i32,
            class: Class::Finite,
        },
    }
}

/// One element of a block of K with an `.f32` accumulator: `c` and the result are `.f32` bits, the
/// result is rounded toward zero. `a` is a row, `b` a column; surplus elements of the longer one are
/// ignored. `fraction` is at most [`MMA_FRACTION`].
#[inline]
pub fn dot(a: &[Element], b: &[Element], c: u32, fraction: u32) -> u32 {
    match fused(a, b, accumulator(c.into(), F32), F32.fraction_bits, fraction.min(MMA_FRACTION)) {
        Sum::Nan => single::NAN,
        Sum::Infinite(negative) => 0x7f80_0000 | u32::from(negative) << 31,
        Sum::Finite { value, exponent } => {
            let magnitude = value.unsigned_abs();
            let negative = value < 0;
            if exponent + 63 - magnitude.leading_zeros() as i32 > 127 {
                return 0x7f80_0000 | u32::from(negative) << 31;
            }
            soft::round(negative, exponent, magnitude.into(), F32, Rounding::Rz) as u32
        }
    }
}

/// One element of a block of K with an `.f16` accumulator: `c` and the result are `.f16` bits, the
/// result is rounded to nearest even.
#[inline]
pub fn dot_f16(a: &[Element], b: &[Element], c: u16) -> u16 {
    match fused(a, b, accumulator(c.into(), F16), F16.fraction_bits, MMA_FRACTION) {
        Sum::Nan => super::f16::NAN,
        Sum::Infinite(negative) => 0x7c00 | u16::from(negative) << 15,
        Sum::Finite { value, exponent } => {
            soft::round(value < 0, exponent, value.unsigned_abs().into(), F16, Rounding::Rn) as u16
        }
    }
}

/// One element of `mma.m16n8k32` on fp8, which `sm_90` computes with the `.f16` unit: K elements `4i`
/// and `4i + 1` first, then `4i + 2` and `4i + 3` onto that, then an `.f32` addition of `c`. At most 32
/// elements count.
#[inline]
pub fn dot_fp8(a: &[Element], b: &[Element], c: u32) -> u32 {
    let half = |row: &[Element], second: usize| {
        let mut picked = [Element::ZERO; 16];
        let chosen = row.iter().take(32).enumerate().filter(|(k, _)| k / 2 % 2 == second);
        for (slot, (_, &element)) in picked.iter_mut().zip(chosen) {
            *slot = element;
        }
        picked
    };
    let first = dot(&half(a, 0), &half(b, 0), 0, MMA_FRACTION);
    let both = dot(&half(a, 1), &half(b, 1), first, MMA_FRACTION);
    single::add(both, c, Rounding::Rn, false)
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
