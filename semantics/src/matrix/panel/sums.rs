//! Sums of products on some lanes.
//!
//! # Fused sums in `.f32`
//! Where factors are plain ([`super::elements`]) their product is exact in `.f32`, and so is its multiple by the power
//! of two that makes the last bit of the alignment one. Truncated to an integer that is the addend as the matrix unit
//! has it, so that a product costs two multiplications, a conversion and an addition, and an addition and a maximum
//! of small integers for the exponent. [`Sum::exact`] is for everything else, and says what the sums are.

use super::elements::{F16, Format};
use super::{COLUMNS, Column, Exponents, LANES, Lanes, Row, lanes_side_by_side};
use crate::lanes::Level;
use numerics::mma::{self, Columns, Element, ZERO_C_EXPONENT};

/// All that is computed together.
type Vectors<T> = [Lanes<T>; COLUMNS];

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
    /// All ones where there is nothing but zero products, or zero.
    empty: Vectors<u32>,
}

/// How large a sum of products may be, so that it and C are below 2^31, as is what they are rounded to.
const NARROW: u32 = i32::MAX as u32 - (1 << 26) - 64;

/// Totals without their units.
struct Totals {
    /// Bits of an `.f32` toward zero.
    value: Vectors<u32>,
    /// 1 where that is not all of it.
    rest: Vectors<u32>,
}

impl Fused {
    #[inline(always)]
    fn totals<L: Level>(&self) -> Totals {
        let mut largest = [0; LANES];
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                largest[lane] = largest[lane].max(self.sum[column][lane].unsigned_abs());
            }
        }
        if largest.iter().fold(0, |largest, &one| largest.max(one)) > NARROW {
            return self.wide_totals();
        }
        let mut totals = Totals { value: [[0; LANES]; COLUMNS], rest: [[0; LANES]; COLUMNS] };
        for column in 0..COLUMNS {
            lanes_side_by_side();
            let (sum, c) = (&self.sum[column], &self.c[column]);
            let (mut magnitude, mut sign, mut nearest) = ([0u32; LANES], [0; LANES], [0f32; LANES]);
            for lane in 0..LANES {
                let total = sum[lane].wrapping_add(c[lane]);
                sign[lane] = total as u32 & 0x8000_0000;
                magnitude[lane] = total.unsigned_abs();
                nearest[lane] = magnitude[lane] as i32 as f32;
            }
            let back = L::truncate(&nearest);
            for lane in 0..LANES {
                let above = u32::from(back[lane] as u32 > magnitude[lane]);
                totals.value[column][lane] = nearest[lane].to_bits().wrapping_sub(above) | sign[lane];
                totals.rest[column][lane] = u32::from(back[lane] as u32 != magnitude[lane]);
            }
        }
        totals
    }

    /// [`Fused::totals`] of sums that might have 33 bits.
    #[cold]
    #[inline(never)]
    fn wide_totals(&self) -> Totals {
        let mut totals = Totals { value: [[0; LANES]; COLUMNS], rest: [[0; LANES]; COLUMNS] };
        for column in 0..COLUMNS {
            for lane in 0..LANES {
                let total = f64::from(self.sum[column][lane]) + f64::from(self.c[column][lane]);
                // The bits that an `.f32` has.
                let (kept, rest) = (u64::MAX << 29, u64::MAX >> 35);
                totals.value[column][lane] = (f64::from_bits(total.to_bits() & kept) as f32).to_bits();
                totals.rest[column][lane] = u32::from(total.to_bits() & rest != 0);
            }
        }
        totals
    }

    /// Totals, with bits of their own, times their units: exact, or too large and infinite.
    #[inline(always)]
    fn values(&self, column: usize, bits: &Lanes<u32>) -> Lanes<u32> {
        let mut values = [0; LANES];
        for lane in 0..LANES {
            // Powers of two are their exponents.
            let unit = f32::from_bits((254u32 << 23).wrapping_sub(self.scale[column][lane].to_bits()));
            values[lane] = (f32::from_bits(bits[lane]) * unit).to_bits();
        }
        values
    }
}

/// Pairs as words, the first one below.
#[inline(always)]
fn pairs(exponents: Exponents) -> Lanes<u32> {
    // SAFETY: both are 64 bytes of numbers, and of any bits.
    let words: Lanes<u32> = unsafe { std::mem::transmute(exponents) };
    if cfg!(target_endian = "big") { words.map(|word| word.rotate_left(16)) } else { words }
}

/// Columns whose sums are in registers together.
const BLOCK: usize = 4;

/// Fused sums of plain factors. `c`: values and exponents.
#[inline(always)]
fn fused<L: Level, C: Column>(
    rows: &[Row],
    columns: &[C],
    c: (&Vectors<f32>, &Vectors<i32>),
    fraction: u32,
) -> Fused {
    let mut products = [[i16::MIN; 2 * LANES]; COLUMNS / 2];
    for (a, b) in rows.iter().zip(columns) {
        lanes_side_by_side();
        for pair in 0..COLUMNS / 2 {
            let b = b.exponent(pair);
            for lane in 0..2 * LANES {
                products[pair][lane] = products[pair][lane].max(a.exponent[lane] + b[lane]);
            }
        }
    }
    let mut scale = [[0f32; LANES]; COLUMNS];
    let mut empty = [[0u32; LANES]; COLUMNS];
    for pair in 0..COLUMNS / 2 {
        let words = pairs(products[pair]);
        for part in 0..2 {
            lanes_side_by_side();
            let column = 2 * pair + part;
            for lane in 0..LANES {
                let of_products = (words[lane] << (16 * (1 - part))) as i32 >> 16;
                empty[column][lane] = 0u32.wrapping_sub(u32::from(of_products < ZERO_C_EXPONENT));
                let top = of_products.max(c.1[column][lane]);
                // Without products it does not matter.
                let bits = (fraction as i32 - top + 127).clamp(1, 253);
                scale[column][lane] = f32::from_bits((bits as u32) << 23);
            }
        }
    }
    let mut sum = [[0i32; LANES]; COLUMNS];
    for first in [0, BLOCK] {
        let mut sums = [[0i32; LANES]; BLOCK];
        for (a, b) in rows.iter().zip(columns) {
            lanes_side_by_side();
            for at in 0..BLOCK {
                let (b, scale) = (&b.value(first + at), &scale[first + at]);
                let mut product = [0f32; LANES];
                for lane in 0..LANES {
                    product[lane] = f32::from_bits(a.value[lane]) * f32::from_bits(b[lane]) * scale[lane];
                }
                let product = L::truncate(&product);
                for lane in 0..LANES {
                    // 16 products of less than 2^27.
                    sums[at][lane] = sums[at][lane].wrapping_add(product[lane]);
                }
            }
        }
        sum[first..first + BLOCK].copy_from_slice(&sums);
    }
    let mut addend = [[0i32; LANES]; COLUMNS];
    for column in 0..COLUMNS {
        let mut scaled = [0f32; LANES];
        for lane in 0..LANES {
            scaled[lane] = c.0[column][lane] * scale[column][lane];
        }
        addend[column] = L::truncate(&scaled);
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
        let (mut values, mut exponents) = ([[0f32; LANES]; COLUMNS], [[0i32; LANES]; COLUMNS]);
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let c = c[column][lane];
                values[column][lane] = f32::from_bits(c);
                let exponent = ((c >> 23 & 0xff) as i32).max(1) - 127;
                exponents[column][lane] = if c << 1 == 0 { ZERO_C_EXPONENT } else { exponent };
            }
        }
        let sums = fused::<L, C>(rows, columns, (&values, &exponents), FRACTION);
        let totals = sums.totals::<L>();
        let mut d = [[0; LANES]; COLUMNS];
        for column in 0..COLUMNS {
            lanes_side_by_side();
            let values = sums.values(column, &totals.value[column]);
            for lane in 0..LANES {
                let empty = sums.empty[column][lane];
                let sum = (c[column][lane] & empty | values[lane] & !empty) & Self::KEPT;
                d[column][lane] = if sum << 1 == 0 { 0 } else { sum };
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

/// [`mma::round_f16`] of sums that are zero or normal `.f32` numbers rounded to odd, without branches.
#[inline(always)]
fn round_f16(odd: u32) -> u32 {
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
        let (mut values, mut exponents) = ([[0f32; LANES]; COLUMNS], [[0i32; LANES]; COLUMNS]);
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let (value, exponent, _) = F16::value(c[column][lane]);
                values[column][lane] = f32::from_bits(value);
                exponents[column][lane] = exponent.max(ZERO_C_EXPONENT);
            }
        }
        let sums = fused::<L, C>(rows, columns, (&values, &exponents), FRACTION);
        let totals = sums.totals::<L>();
        let mut d = [[0; LANES]; COLUMNS];
        for column in 0..COLUMNS {
            lanes_side_by_side();
            let mut odd = [0; LANES];
            for lane in 0..LANES {
                // To odd, so that nothing is rounded twice.
                odd[lane] = totals.value[column][lane] | totals.rest[column][lane];
            }
            let values = sums.values(column, &odd);
            for lane in 0..LANES {
                let sum = round_f16(values[lane]);
                let alone = c[column][lane] & 0xffff;
                let alone = if alone == 0x8000 { 0 } else { alone };
                let empty = sums.empty[column][lane];
                d[column][lane] = alone & empty | sum & !empty;
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
        let mut sum = [[0i32; LANES]; COLUMNS];
        for first in [0, BLOCK] {
            let mut sums = [[0i32; LANES]; BLOCK];
            for (a, b) in rows.iter().zip(columns) {
                lanes_side_by_side();
                for at in 0..BLOCK {
                    let b = &b.value(first + at);
                    let mut product = [0f32; LANES];
                    for lane in 0..LANES {
                        product[lane] = f32::from_bits(a.value[lane]) * f32::from_bits(b[lane]);
                    }
                    let product = L::truncate(&product);
                    for lane in 0..LANES {
                        sums[at][lane] = sums[at][lane].wrapping_add(product[lane]);
                    }
                }
            }
            sum[first..first + BLOCK].copy_from_slice(&sums);
        }
        let mut d = [[0; LANES]; COLUMNS];
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let (sum, c) = (sum[column][lane], c[column][lane] as i32);
                d[column][lane] =
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
        for first in [0, BLOCK] {
            let mut sums = [[0; LANES]; BLOCK];
            for (a, b) in rows.iter().zip(columns) {
                lanes_side_by_side();
                for at in 0..BLOCK {
                    let b = &b.value(first + at);
                    for lane in 0..LANES {
                        sums[at][lane] += (a.value[lane] & b[lane]).count_ones();
                    }
                }
            }
            for at in 0..BLOCK {
                for lane in 0..LANES {
                    d[first + at][lane] = d[first + at][lane].wrapping_add(sums[at][lane]);
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
