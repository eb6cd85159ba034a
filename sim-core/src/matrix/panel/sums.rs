//! Sums of products on some lanes.
//!
//! # Fused sums in `.f32`
//! Where factors are plain ([`super::elements`]) their product is exact in `.f32`, and so is its multiple by the power
//! of two that makes the last bit of the alignment one. Truncated to an integer that is the addend as the matrix unit
//! has it, so that a product costs two multiplications, a conversion and an addition, and an addition and a maximum
//! of small integers for the exponent. [`Sum::exact`] is for everything else, and says what the sums are.

use super::{LANES, Plane};
use crate::lanes::truncate;
use crate::numerics::mma::{self, Columns, Element, ZERO_C_EXPONENT};

type Lanes<T> = [T; LANES];

/// How products are added up.
pub(super) trait Sum {
    /// Two accumulators share a register.
    const PACKED: bool = false;

    /// Whether [`Sum::fast`] is right for these accumulators, if the factors are plain.
    fn takes(&self, c: &Lanes<u32>) -> bool;

    /// Adds so many products, whose factors are found by number; accumulators are bits.
    fn fast<'p>(
        &self,
        count: usize,
        factors: impl Fn(usize) -> (&'p Plane<LANES>, &'p Plane<LANES>),
        c: &Lanes<u32>,
    ) -> Lanes<u32>;

    /// The same for any factors and accumulators.
    fn exact(&self, a: &[Columns<LANES>], b: &[Columns<LANES>], c: &Lanes<u32>) -> Lanes<u32>;
}

/// What is known of some fused sums before they are rounded.
struct Fused {
    /// The sums, in units of `unit`.
    total: Lanes<f64>,
    unit: Lanes<f64>,
    /// Whether there is nothing but zero products.
    empty: Lanes<bool>,
}

/// A power of two in `.f64`, and in `.f32` where it is a normal number.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Fused sums of plain factors. `c`: values and exponents.
#[inline(always)]
fn fused<'p>(
    count: usize,
    factors: impl Fn(usize) -> (&'p Plane<LANES>, &'p Plane<LANES>),
    c: (&Lanes<f32>, &Lanes<i16>),
    fraction: u32,
) -> Fused {
    let mut products = [i16::MIN; LANES];
    for k in 0..count {
        let (a, b) = factors(k);
        for lane in 0..LANES {
            products[lane] = products[lane].max(a.exponent[lane] + b.exponent[lane]);
        }
    }
    let mut scale = [0f32; LANES];
    let mut unit = [0f64; LANES];
    let mut empty = [false; LANES];
    for lane in 0..LANES {
        empty[lane] = products[lane] < ZERO_C_EXPONENT as i16;
        let top = i32::from(products[lane].max(c.1[lane]));
        let bits = fraction as i32 - top;
        // Without products it does not matter.
        scale[lane] = f32::from_bits(((bits + 127).clamp(1, 254) as u32) << 23);
        unit[lane] = power(-bits);
    }
    let mut sum = [0i32; LANES];
    for k in 0..count {
        let (a, b) = factors(k);
        for lane in 0..LANES {
            let product = f32::from_bits(a.value[lane]) * f32::from_bits(b.value[lane]);
            sum[lane] = sum[lane].wrapping_add(truncate(product * scale[lane]));
        }
    }
    let mut total = [0f64; LANES];
    for lane in 0..LANES {
        // The sum of 16 products alone fits 32 bits, together with C it might not.
        total[lane] = f64::from(sum[lane]) + f64::from(truncate(c.0[lane] * scale[lane]));
    }
    Fused { total, unit, empty }
}

/// Fused sums in `.f32`, with so many fraction bits in the alignment and, if those are fewer, in the result.
pub(super) struct Single<const FRACTION: u32>;

impl<const FRACTION: u32> Single<FRACTION> {
    /// Bits of a result that the matrix unit keeps.
    const KEPT: u32 = u32::MAX << 23u32.saturating_sub(FRACTION);
}

impl<const FRACTION: u32> Sum for Single<FRACTION> {
    #[inline(always)]
    fn takes(&self, c: &Lanes<u32>) -> bool {
        let mut finite = true;
        for lane in 0..LANES {
            finite &= c[lane] << 1 < 0xff00_0000;
        }
        finite
    }

    #[inline(always)]
    fn fast<'p>(
        &self,
        count: usize,
        factors: impl Fn(usize) -> (&'p Plane<LANES>, &'p Plane<LANES>),
        c: &Lanes<u32>,
    ) -> Lanes<u32> {
        let (mut values, mut exponents) = ([0f32; LANES], [0i16; LANES]);
        for lane in 0..LANES {
            values[lane] = f32::from_bits(c[lane]);
            let field = (c[lane] >> 23 & 0xff) as i16;
            let exponent = if field == 0 { -126 } else { field - 127 };
            exponents[lane] = if c[lane] << 1 == 0 { ZERO_C_EXPONENT as i16 } else { exponent };
        }
        let sums = fused(count, factors, (&values, &exponents), FRACTION);
        let mut d = [0; LANES];
        for lane in 0..LANES {
            // Toward zero: the bits that an `.f32` has, of which the result is a normal one or zero.
            let bits = sums.total[lane].to_bits() & u64::MAX << 29;
            let sum = ((f64::from_bits(bits) * sums.unit[lane]) as f32).to_bits();
            let sum = if sums.empty[lane] { c[lane] } else { sum } & Self::KEPT;
            d[lane] = if sum << 1 == 0 { 0 } else { sum };
        }
        d
    }

    #[inline(always)]
    fn exact(&self, a: &[Columns<LANES>], b: &[Columns<LANES>], c: &Lanes<u32>) -> Lanes<u32> {
        let mut columns = Columns::ZERO;
        for lane in 0..LANES {
            columns.set(lane, Element::accumulator(c[lane]));
        }
        let sums = mma::fused(a, |k| &b[k], &columns, FRACTION);
        let mut d = [0; LANES];
        for lane in 0..LANES {
            let sum = mma::round_f32(sums[lane]);
            d[lane] = if sums[lane].is_nan() { sum } else { sum & Self::KEPT };
        }
        d
    }
}

/// Fused sums in `.f16`.
pub(super) struct Half<const FRACTION: u32>;

impl<const FRACTION: u32> Sum for Half<FRACTION> {
    const PACKED: bool = true;

    #[inline(always)]
    fn takes(&self, c: &Lanes<u32>) -> bool {
        let mut finite = true;
        for lane in 0..LANES {
            finite &= c[lane] & 0x7c00 != 0x7c00;
        }
        finite
    }

    #[inline(always)]
    fn fast<'p>(
        &self,
        count: usize,
        factors: impl Fn(usize) -> (&'p Plane<LANES>, &'p Plane<LANES>),
        c: &Lanes<u32>,
    ) -> Lanes<u32> {
        let (mut values, mut exponents) = ([0f32; LANES], [0i16; LANES]);
        for lane in 0..LANES {
            let magnitude = c[lane] & 0x7fff;
            let value = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
            values[lane] = f32::from_bits(value.to_bits() | (c[lane] & 0x8000) << 16);
            let field = (magnitude >> 10) as i16;
            let exponent = if field == 0 { -14 } else { field - 15 };
            exponents[lane] = if magnitude == 0 { ZERO_C_EXPONENT as i16 } else { exponent };
        }
        let sums = fused(count, factors, (&values, &exponents), FRACTION);
        let mut d = [0; LANES];
        for lane in 0..LANES {
            let sum = u32::from(mma::round_f16(sums.total[lane] * sums.unit[lane]));
            let alone = c[lane] & 0xffff;
            let alone = if alone == 0x8000 { 0 } else { alone };
            d[lane] = if sums.empty[lane] { alone } else { sum };
        }
        d
    }

    #[inline(always)]
    fn exact(&self, a: &[Columns<LANES>], b: &[Columns<LANES>], c: &Lanes<u32>) -> Lanes<u32> {
        let mut columns = Columns::ZERO;
        for lane in 0..LANES {
            columns.set(lane, Element::accumulator_f16(c[lane] as u16));
        }
        let sums = mma::fused(a, |k| &b[k], &columns, FRACTION);
        let mut d = [0; LANES];
        for lane in 0..LANES {
            d[lane] = mma::round_f16(sums[lane]).into();
        }
        d
    }
}

/// Sums of products of bytes.
pub(super) struct Integer {
    pub(super) satfinite: bool,
}

impl Sum for Integer {
    #[inline(always)]
    fn takes(&self, _: &Lanes<u32>) -> bool {
        true
    }

    #[inline(always)]
    fn fast<'p>(
        &self,
        count: usize,
        factors: impl Fn(usize) -> (&'p Plane<LANES>, &'p Plane<LANES>),
        c: &Lanes<u32>,
    ) -> Lanes<u32> {
        // 32 products of 16 bits.
        let mut sum = [0f32; LANES];
        for k in 0..count {
            let (a, b) = factors(k);
            for lane in 0..LANES {
                sum[lane] += f32::from_bits(a.value[lane]) * f32::from_bits(b.value[lane]);
            }
        }
        let mut d = [0; LANES];
        for lane in 0..LANES {
            let (sum, c) = (truncate(sum[lane]), c[lane] as i32);
            d[lane] = (if self.satfinite { c.saturating_add(sum) } else { c.wrapping_add(sum) }) as u32;
        }
        d
    }

    #[inline(always)]
    fn exact(&self, _: &[Columns<LANES>], _: &[Columns<LANES>], c: &Lanes<u32>) -> Lanes<u32> {
        *c
    }
}

/// Counts of ones in `a & b`.
pub(super) struct Ones;

impl Sum for Ones {
    #[inline(always)]
    fn takes(&self, _: &Lanes<u32>) -> bool {
        true
    }

    #[inline(always)]
    fn fast<'p>(
        &self,
        count: usize,
        factors: impl Fn(usize) -> (&'p Plane<LANES>, &'p Plane<LANES>),
        c: &Lanes<u32>,
    ) -> Lanes<u32> {
        let mut d = *c;
        for k in 0..count {
            let (a, b) = factors(k);
            for lane in 0..LANES {
                d[lane] = d[lane].wrapping_add((a.value[lane] & b.value[lane]).count_ones());
            }
        }
        d
    }

    #[inline(always)]
    fn exact(&self, _: &[Columns<LANES>], _: &[Columns<LANES>], c: &Lanes<u32>) -> Lanes<u32> {
        *c
    }
}
