//! Fused sums of factors with any exponents.
//!
//! As [`super::sums`] has them, but significands and exponents stay apart until a product is brought to its place, and sums
//! become `.f32` by way of `f64`, in which their units are normal numbers.

use numerics::mma::ZERO_C_EXPONENT;

use super::elements::ZERO;
use super::{COLUMNS, Column, LANES, Lanes, Pair, Vectors, lanes_side_by_side, largest};
use crate::lanes::Level;

/// Products at places below two to this one are cut to nothing.
const NOTHING: i32 = -40;

/// Bits of an `.f32` as a significand below two and its exponent. Infinities and NaN stay; a zero has [`ZERO`].
#[inline(always)]
pub(super) fn parts(value: u32) -> (u32, i16) {
    let (field, sign) = (value >> 23 & 0xff, value & 0x8000_0000);
    let fraction = value & 0x7f_ffff | 127 << 23;
    let subnormal = (f32::from_bits(fraction) - 1.0).to_bits() | sign;
    let significand = if field == 0 { subnormal } else { fraction | sign };
    let exponent = if value << 1 == 0 { ZERO } else { field.max(1) as i16 - 127 };
    (if field == 0xff { value } else { significand }, exponent)
}

/// Powers of two within the range of normal `.f32` numbers.
#[inline(always)]
fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent.max(NOTHING) + 127) as u32) << 23)
}

/// A whole number of units as bits of an `.f32`, toward zero. Beyond the largest one it is infinite, and a zero has no sign.
#[inline(always)]
fn toward_zero(total: f64, unit: f64) -> u32 {
    let value = total * unit;
    let magnitude = value.abs();
    // The bits that a normal number has.
    let normal = (f64::from_bits(magnitude.to_bits() & u64::MAX << 29) as f32).to_bits();
    let small = magnitude < f64::from(f32::MIN_POSITIVE);
    // So many times the smallest number.
    let units = if small { magnitude } else { 0.0 } * f64::from_bits((1023 + 149) << 52);
    let subnormal = units as i32 as u32;
    let bits = if small { subnormal } else { normal };
    let sign = (value.to_bits() >> 32) as u32 & 0x8000_0000;
    if bits == 0 { 0 } else { bits | sign }
}

/// Fused sums of finite factors in [`parts`], and of accumulators; of those that are not finite some numbers.
#[inline(always)]
pub(super) fn fused<L: Level, C: Column>(
    rows: &[Pair],
    columns: &[C],
    c: &Vectors<u32>,
    fraction: u32,
) -> Vectors<u32> {
    let largest = largest(rows, columns);
    // What brings an exponent to its place, and sums.
    let (mut up, mut sums) = ([[0i32; LANES]; COLUMNS], [[0i32; LANES]; COLUMNS]);
    let mut of_c = [[0i32; LANES]; COLUMNS];
    for column in 0..COLUMNS {
        lanes_side_by_side();
        let products = L::larger(&largest[column]);
        let mut scaled = [0f32; LANES];
        for lane in 0..LANES {
            let c = c[column][lane];
            let zero = c << 1 == 0;
            let (significand, exponent) = parts(c);
            let exponent = if zero { ZERO_C_EXPONENT } else { i32::from(exponent) };
            up[column][lane] = fraction as i32 - products[lane].max(exponent);
            scaled[lane] = f32::from_bits(significand) * power(exponent + up[column][lane]);
        }
        of_c[column] = L::truncate(&scaled);
    }
    for (a, b) in rows.iter().zip(columns) {
        for part in 0..2 {
            for column in 0..COLUMNS {
                lanes_side_by_side();
                let (value, exponent) = (b.value(part, column), b.exponent(column));
                let mut scaled: Lanes<f32> = [0.0; LANES];
                for lane in 0..LANES {
                    let at = 2 * lane + part;
                    let exponent = i32::from(a.exponent[at] + exponent[at]);
                    let product = f32::from_bits(a.value[part][lane]) * f32::from_bits(value[lane]);
                    scaled[lane] = product * power(exponent + up[column][lane]);
                }
                let addend = L::truncate(&scaled);
                for lane in 0..LANES {
                    // 16 addends of less than 2^27.
                    sums[column][lane] = sums[column][lane].wrapping_add(addend[lane]);
                }
            }
        }
    }
    let mut d = [[0; LANES]; COLUMNS];
    for column in 0..COLUMNS {
        lanes_side_by_side();
        for lane in 0..LANES {
            let total = f64::from(sums[column][lane]) + f64::from(of_c[column][lane]);
            let unit = f64::from_bits(((1023 - i64::from(up[column][lane])) as u64) << 52);
            d[column][lane] = toward_zero(total, unit);
        }
    }
    d
}
