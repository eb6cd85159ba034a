//! Sums of products on some lanes.
//!
//! # Fused sums in `.f32`
//! Where factors are plain ([`super::elements`]) their product is exact in `.f32`, and so is its multiple by the power
//! of two that makes the last bit of the alignment one. Truncated to an integer that is the addend as the matrix unit
//! has it, so that a product costs two multiplications, a conversion and an addition, and an addition and a maximum
//! of small integers for the exponent. [`Sum::exact`] is for everything else, and says what the sums are.

use super::{Column, LANES, Lanes, PARTS, Row, VECTORS, lanes_side_by_side};
use crate::lanes::{Level, WARP_SIZE};
use numerics::mma::{self, Columns, Element, ZERO_C_EXPONENT};

/// All that is computed together.
type Vectors<T> = [Lanes<T>; VECTORS];

/// How products are added up.
pub(super) trait Sum {
    /// Two accumulators share a register.
    const PACKED: bool = false;

    /// Whether [`Sum::fast`] is right for these accumulators, if the factors are plain.
    fn takes(&self, c: &Lanes<u32>) -> bool;

    /// Adds the products of plain factors; accumulators are bits.
    fn fast<L: Level, C: Column>(&self, rows: &[Row], columns: &[C], c: &Vectors<u32>) -> Vectors<u32>;

    /// The same for any factors and accumulators.
    fn exact(&self, a: &[Columns<LANES>], b: &[Columns<LANES>], c: &Lanes<u32>) -> Lanes<u32>;
}

/// Fused sums before they are rounded.
struct Fused {
    /// Sums of the products, and C, in units.
    sum: Vectors<i32>,
    c: Vectors<i32>,
    /// One divided by the unit: a power of two.
    scale: Vectors<f32>,
    /// Whether there is nothing but zero products.
    empty: Vectors<bool>,
}

impl Fused {
    /// The sum, exactly, and its unit; together they might have more than 32 bits.
    #[inline(always)]
    fn total(&self, vector: usize, lane: usize) -> (f64, f64) {
        let total = f64::from(self.sum[vector][lane]) + f64::from(self.c[vector][lane]);
        let scale = f64::from(self.scale[vector][lane]).to_bits();
        // Powers of two are their exponents.
        (total, f64::from_bits((2046 << 52) - scale))
    }
}

/// Fused sums of plain factors. `c`: values and exponents.
#[inline(always)]
fn fused<L: Level, C: Column>(
    rows: &[Row],
    columns: &[C],
    c: (&Vectors<f32>, &Vectors<i16>),
    fraction: u32,
) -> Fused {
    let mut products = [[i16::MIN; WARP_SIZE]; 2];
    for (a, b) in rows.iter().zip(columns) {
        lanes_side_by_side();
        for parity in 0..2 {
            let b = b.exponent(parity);
            for lane in 0..WARP_SIZE {
                products[parity][lane] = products[parity][lane].max(a.exponent[lane] + b[lane]);
            }
        }
    }
    let mut scale = [[0f32; LANES]; VECTORS];
    let mut empty = [[false; LANES]; VECTORS];
    for vector in 0..VECTORS {
        lanes_side_by_side();
        for lane in 0..LANES {
            let of_products = products[vector / PARTS][vector % PARTS * LANES + lane];
            empty[vector][lane] = of_products < ZERO_C_EXPONENT as i16;
            let top = i32::from(of_products.max(c.1[vector][lane]));
            // Without products it does not matter.
            let bits = (fraction as i32 - top + 127).clamp(1, 253);
            scale[vector][lane] = f32::from_bits((bits as u32) << 23);
        }
    }
    let mut sum = [[0i32; LANES]; VECTORS];
    for (a, b) in rows.iter().zip(columns) {
        lanes_side_by_side();
        for vector in 0..VECTORS {
            let (part, parity) = (vector % PARTS, vector / PARTS);
            let (a, b) = (&a.value[part], &b.value(part, parity));
            let mut product = [0f32; LANES];
            for lane in 0..LANES {
                product[lane] = f32::from_bits(a[lane]) * f32::from_bits(b[lane]) * scale[vector][lane];
            }
            let product = L::truncate(&product);
            for lane in 0..LANES {
                // 16 products of less than 2^27.
                sum[vector][lane] = sum[vector][lane].wrapping_add(product[lane]);
            }
        }
    }
    let mut addend = [[0i32; LANES]; VECTORS];
    for vector in 0..VECTORS {
        let mut scaled = [0f32; LANES];
        for lane in 0..LANES {
            scaled[lane] = c.0[vector][lane] * scale[vector][lane];
        }
        addend[vector] = L::truncate(&scaled);
    }
    Fused { sum, c: addend, scale, empty }
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
    fn fast<L: Level, C: Column>(&self, rows: &[Row], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let (mut values, mut exponents) = ([[0f32; LANES]; VECTORS], [[0i16; LANES]; VECTORS]);
        for vector in 0..VECTORS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let c = c[vector][lane];
                values[vector][lane] = f32::from_bits(c);
                let field = (c >> 23 & 0xff) as i16;
                let exponent = if field == 0 { -126 } else { field - 127 };
                exponents[vector][lane] = if c << 1 == 0 { ZERO_C_EXPONENT as i16 } else { exponent };
            }
        }
        let sums = fused::<L, C>(rows, columns, (&values, &exponents), FRACTION);
        let mut d = [[0; LANES]; VECTORS];
        for vector in 0..VECTORS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let (total, unit) = sums.total(vector, lane);
                // Toward zero: the bits that an `.f32` has, of which the result is a normal one or zero.
                let bits = total.to_bits() & u64::MAX << 29;
                let sum = ((f64::from_bits(bits) * unit) as f32).to_bits();
                let sum = if sums.empty[vector][lane] { c[vector][lane] } else { sum } & Self::KEPT;
                d[vector][lane] = if sum << 1 == 0 { 0 } else { sum };
            }
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

/// [`mma::round_f16`] of sums that are zero or normal `.f32` numbers but for their precision, without branches.
#[inline(always)]
fn round_f16(sum: f64) -> u32 {
    // To odd, so that nothing is rounded twice.
    let lost = u64::MAX >> 35;
    let bits = sum.to_bits();
    let odd = (f64::from_bits(bits & !lost) as f32).to_bits() | u32::from(bits & lost != 0);
    let magnitude = odd & 0x7fff_ffff;
    // The exponents' bias is 112 less.
    let even = magnitude >> 13 & 1;
    let normal = (magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + even) >> 13).min(0x7c00);
    // Next to one half an `.f32` has the last bit of subnormal `.f16` numbers.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let rounded = if magnitude < 113 << 23 { subnormal } else { normal };
    // A zero has no sign.
    rounded | if rounded == 0 { 0 } else { odd >> 16 & 0x8000 }
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
    fn fast<L: Level, C: Column>(&self, rows: &[Row], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let (mut values, mut exponents) = ([[0f32; LANES]; VECTORS], [[0i16; LANES]; VECTORS]);
        for vector in 0..VECTORS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let (c, magnitude) = (c[vector][lane], c[vector][lane] & 0x7fff);
                let value = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
                values[vector][lane] = f32::from_bits(value.to_bits() | (c & 0x8000) << 16);
                let field = (magnitude >> 10) as i16;
                let exponent = if field == 0 { -14 } else { field - 15 };
                exponents[vector][lane] = if magnitude == 0 { ZERO_C_EXPONENT as i16 } else { exponent };
            }
        }
        let sums = fused::<L, C>(rows, columns, (&values, &exponents), FRACTION);
        let mut d = [[0; LANES]; VECTORS];
        for vector in 0..VECTORS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let (total, unit) = sums.total(vector, lane);
                let sum = round_f16(total * unit);
                let alone = c[vector][lane] & 0xffff;
                let alone = if alone == 0x8000 { 0 } else { alone };
                d[vector][lane] = if sums.empty[vector][lane] { alone } else { sum };
            }
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
    fn fast<L: Level, C: Column>(&self, rows: &[Row], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        // 32 products of 16 bits.
        let mut sum = [[0f32; LANES]; VECTORS];
        for (a, b) in rows.iter().zip(columns) {
            lanes_side_by_side();
            for vector in 0..VECTORS {
                let (a, b) = (&a.value[vector % PARTS], &b.value(vector % PARTS, vector / PARTS));
                for lane in 0..LANES {
                    sum[vector][lane] += f32::from_bits(a[lane]) * f32::from_bits(b[lane]);
                }
            }
        }
        let mut d = [[0; LANES]; VECTORS];
        for vector in 0..VECTORS {
            let sum = L::truncate(&sum[vector]);
            for lane in 0..LANES {
                let (sum, c) = (sum[lane], c[vector][lane] as i32);
                d[vector][lane] =
                    (if self.satfinite { c.saturating_add(sum) } else { c.wrapping_add(sum) }) as u32;
            }
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
    fn fast<L: Level, C: Column>(&self, rows: &[Row], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let mut d = *c;
        for (a, b) in rows.iter().zip(columns) {
            lanes_side_by_side();
            for vector in 0..VECTORS {
                let (a, b) = (&a.value[vector % PARTS], &b.value(vector % PARTS, vector / PARTS));
                for lane in 0..LANES {
                    d[vector][lane] = d[vector][lane].wrapping_add((a[lane] & b[lane]).count_ones());
                }
            }
        }
        d
    }

    #[inline(always)]
    fn exact(&self, _: &[Columns<LANES>], _: &[Columns<LANES>], c: &Lanes<u32>) -> Lanes<u32> {
        *c
    }
}
