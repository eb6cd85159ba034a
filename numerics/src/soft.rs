//! Binary floating point in integers: exact values, one final rounding.
//!
//! The slow, general path under the formats' own modules: directed roundings of `f64`, 64-bit integers
//! to the float formats, and the decoding of matrix operands.

use super::modes::Rounding;

/// A binary interchange format: sign, biased exponent, fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Width of the exponent field in bits.
    pub exponent_bits: u32,
    /// Width of the fraction field in bits.
    pub fraction_bits: u32,
    /// True if the largest exponent field holds infinity and NaN, as in IEEE 754; otherwise only the
    /// all-ones pattern is NaN and there is no infinity.
    pub ieee_specials: bool,
}

const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Format {
    Format { exponent_bits, fraction_bits, ieee_specials: true }
}

pub(super) const F64: Format = ieee(11, 52);
pub(super) const F32: Format = ieee(8, 23);
pub(super) const TF32: Format = ieee(8, 10);
pub(super) const F16: Format = ieee(5, 10);
pub(super) const BF16: Format = ieee(8, 7);
pub(super) const E5M2: Format = ieee(5, 2);
/// No infinity; the all-ones pattern is NaN, so 448 (`0x7e`) is the largest value.
pub(super) const E4M3: Format = Format { exponent_bits: 4, fraction_bits: 3, ieee_specials: false };

impl Format {
    pub(super) const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Exponent of the last bit of a subnormal number.
    const fn lowest(self) -> i32 {
        1 - self.bias() - self.fraction_bits as i32
    }

    pub(super) const fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// First pattern (without sign) that is not a finite number: infinity for the IEEE formats.
    pub(super) const fn end(self) -> u64 {
        if self.ieee_specials {
            ((1 << self.exponent_bits) - 1) << self.fraction_bits
        } else {
            self.sign_bit() - 1
        }
    }
}

/// A value in sign, integer significand and binary exponent: `±significand * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Any NaN.
    Nan,
    /// An infinity; true is negative.
    Infinite(bool),
    /// A finite number; `significand` is zero for both zeros.
    Finite { sign: bool, exponent: i32, significand: u128 },
}

/// Splits a bit pattern.
pub(super) fn unpack(bits: u64, format: Format) -> Value {
    let sign = bits & format.sign_bit() != 0;
    let magnitude = bits & (format.sign_bit() - 1);
    if magnitude >= format.end() {
        return if format.ieee_specials && magnitude == format.end() {
            Value::Infinite(sign)
        } else {
            Value::Nan
        };
    }
    let fraction = magnitude & ((1 << format.fraction_bits) - 1);
    let field = (magnitude >> format.fraction_bits) as i32;
    if field == 0 {
        Value::Finite { sign, exponent: format.lowest(), significand: u128::from(fraction) }
    } else {
        let significand = u128::from(fraction | 1 << format.fraction_bits);
        Value::Finite { sign, exponent: format.lowest() + field - 1, significand }
    }
}

/// Where a discarded part lies relative to half a unit of the last place kept.
fn round_up(sign: bool, odd: bool, rest: std::cmp::Ordering, rounding: Rounding) -> bool {
    use std::cmp::Ordering::{Equal, Greater};
    match rounding {
        Rounding::Rn => rest == Greater || (rest == Equal && odd),
        Rounding::Rz => false,
        Rounding::Rm => sign,
        Rounding::Rp => !sign,
    }
}

/// `significand >> shift` rounded; `sign` steers the directed modes. `shift` may be any size.
fn shift_right_rounded(significand: u128, shift: u32, sign: bool, rounding: Rounding) -> u128 {
    if shift == 0 || significand == 0 {
        return significand;
    }
    if shift > 128 {
        return u128::from(round_up(sign, false, std::cmp::Ordering::Less, rounding));
    }
    let kept = significand.checked_shr(shift).unwrap_or(0);
    let rest = significand & (u128::MAX >> (128 - shift));
    if rest == 0 {
        return kept;
    }
    let half = 1u128 << (shift - 1);
    kept + u128::from(round_up(sign, kept & 1 == 1, rest.cmp(&half), rounding))
}

/// Rounds `±significand * 2^exponent` once to `format`; the result is a bit pattern. Overflow gives
/// what `rounding` asks for: infinity ([`Format::end`]) or the largest finite number.
pub(super) fn round(sign: bool, exponent: i32, significand: u128, format: Format, rounding: Rounding) -> u64 {
    let sign_bit = if sign { format.sign_bit() } else { 0 };
    if significand == 0 {
        return sign_bit;
    }
    let top = exponent + 127 - significand.leading_zeros() as i32;
    // Exponent of the last bit kept.
    let last = (top - format.fraction_bits as i32).max(format.lowest());
    let kept = if last <= exponent {
        // Only numbers far beyond the format's range would need a larger shift.
        significand.checked_shl((exponent - last) as u32).unwrap_or(0)
    } else {
        shift_right_rounded(significand, (last - exponent) as u32, sign, rounding)
    };
    // The leading bit of a normal significand adds one to the exponent field, a carry another.
    let field = u64::try_from(last - format.lowest()).unwrap_or(0);
    let magnitude = (field << format.fraction_bits).wrapping_add(kept as u64);
    let end = format.end();
    if field >= 1 << format.exponent_bits || magnitude >= end {
        let away = round_up(sign, true, std::cmp::Ordering::Greater, rounding);
        return sign_bit | if away { end } else { end - 1 };
    }
    sign_bit | magnitude
}

/// `round` of a finite value given as parts; zero keeps its sign.
fn finish(sign: bool, exponent: i32, significand: u128, rounding: Rounding) -> u64 {
    round(sign, exponent, significand, F64, rounding)
}

/// Shifts right, keeping "something was lost" in the last bit.
fn shift_right_jam(x: u128, shift: u32) -> u128 {
    match shift {
        0 => x,
        1..=127 => (x >> shift) | u128::from(x << (128 - shift) != 0),
        _ => u128::from(x != 0),
    }
}

/// The exact sum of two finite values, rounded once to `f64`.
fn sum(a: (bool, i32, u128), b: (bool, i32, u128), rounding: Rounding) -> u64 {
    let zero_sign = if a.0 == b.0 { a.0 } else { rounding == Rounding::Rm };
    // Leading bits at 125: room for the carry, and at least 19 zeros below either operand.
    let normal = |(sign, exponent, significand): (bool, i32, u128)| {
        let up = significand.leading_zeros() as i32 - 2;
        (sign, exponent - up, significand << up)
    };
    let (a, b) = match (a.2, b.2) {
        (0, 0) => return finish(zero_sign, 0, 0, rounding),
        (0, _) => return finish(b.0, b.1, b.2, rounding),
        (_, 0) => return finish(a.0, a.1, a.2, rounding),
        _ => (normal(a), normal(b)),
    };
    let (large, small) = if a.1 >= b.1 { (a, b) } else { (b, a) };
    let aligned = shift_right_jam(small.2, (large.1 - small.1) as u32);
    if large.0 == small.0 {
        finish(large.0, large.1, large.2 + aligned, rounding)
    } else if large.2 == aligned {
        finish(zero_sign, 0, 0, rounding)
    } else if large.2 > aligned {
        finish(large.0, large.1, large.2 - aligned, rounding)
    } else {
        finish(small.0, large.1, aligned - large.2, rounding)
    }
}

/// `a * b + c` on `f64` patterns, rounded once; `None` if the result is NaN.
#[inline(never)]
pub(super) fn fma64(a: u64, b: u64, c: u64, rounding: Rounding) -> Option<u64> {
    use Value::{Finite, Infinite, Nan};
    let infinity = |sign: bool| Some(F64.end() | if sign { F64.sign_bit() } else { 0 });
    let product_sign = (a ^ b) & F64.sign_bit() != 0;
    match (unpack(a, F64), unpack(b, F64), unpack(c, F64)) {
        (Nan, _, _) | (_, Nan, _) | (_, _, Nan) => None,
        (Infinite(_), Finite { significand: 0, .. }, _) | (Finite { significand: 0, .. }, Infinite(_), _) => {
            None
        }
        (Infinite(_), _, Infinite(s)) | (_, Infinite(_), Infinite(s)) if s != product_sign => None,
        (Infinite(_), _, _) | (_, Infinite(_), _) => infinity(product_sign),
        (_, _, Infinite(s)) => infinity(s),
        (
            Finite { exponent: ea, significand: sa, .. },
            Finite { exponent: eb, significand: sb, .. },
            Finite { sign, exponent, significand },
        ) => Some(sum((product_sign, ea + eb, sa * sb), (sign, exponent, significand), rounding)),
    }
}

/// `a / b` on `f64` patterns, rounded once; `None` if the result is NaN.
#[inline(never)]
pub(super) fn div64(a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    use Value::{Finite, Infinite, Nan};
    let sign = (a ^ b) & F64.sign_bit() != 0;
    let sign_bit = (a ^ b) & F64.sign_bit();
    match (unpack(a, F64), unpack(b, F64)) {
        (Nan, _) | (_, Nan) | (Infinite(_), Infinite(_)) => None,
        (Infinite(_), _) => Some(F64.end() | sign_bit),
        (_, Infinite(_)) => Some(sign_bit),
        (Finite { significand: 0, .. }, Finite { significand: 0, .. }) => None,
        (_, Finite { significand: 0, .. }) => Some(F64.end() | sign_bit),
        (Finite { exponent: ea, significand: sa, .. }, Finite { exponent: eb, significand: sb, .. }) => {
            if sa == 0 {
                return Some(sign_bit);
            }
            // Dividend with its leading bit at 126, divisor at most 53 bits: 74 bits of quotient.
            let up = sa.leading_zeros() - 1;
            let (dividend, exponent) = (sa << up, ea - up as i32 - eb);
            let quotient = dividend / sb;
            let jammed = quotient << 1 | u128::from(quotient * sb != dividend);
            Some(finish(sign, exponent - 1, jammed, rounding))
        }
    }
}

/// Square root of an `f64` pattern, rounded once; `None` if the result is NaN.
#[inline(never)]
pub(super) fn sqrt64(a: u64, rounding: Rounding) -> Option<u64> {
    match unpack(a, F64) {
        Value::Nan | Value::Infinite(true) => None,
        Value::Infinite(false) | Value::Finite { significand: 0, .. } => Some(a),
        Value::Finite { sign: true, .. } => None,
        Value::Finite { exponent, significand, .. } => {
            // An even exponent and a radicand of 126 or 127 bits: 63 or 64 bits of root.
            let up = significand.leading_zeros() as i32 - 2;
            let up = up + ((exponent - up) & 1);
            let radicand = significand << up;
            let root = radicand.isqrt();
            let jammed = root << 1 | u128::from(root * root != radicand);
            Some(finish(false, (exponent - up) / 2 - 1, jammed, rounding))
        }
    }
}
