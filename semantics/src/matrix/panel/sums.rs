//! Sums of products on some lanes.
//!
//! # Fused sums in `.f32`
//! Where factors are plain ([`super::elements`]) their product is exact in `.f32`, and so is its multiple by the power
//! of two that makes the last bit of the alignment one. Truncated to an integer that is the addend as the matrix unit
//! has it, so that a product costs two multiplications, a conversion and an addition, and an addition and a maximum
//! of small integers for the exponent. Other exponents are for [`super::extremes`], infinities and NaN for
//! [`super::unusual`].

use super::{COLUMNS, Column, LANES, Lanes, Pair, Vectors, extremes, lanes_side_by_side, largest};
use crate::lanes::Level;
use numerics::mma;

/// How products are added up.
pub(super) trait Sum {
    /// Two accumulators share a register.
    const PACKED: bool = false;

    /// A bit for each accumulator for which [`Sum::fast`] is not right, whatever the factors: it is no finite number.
    fn refused<L: Level>(&self, c: &Lanes<u32>) -> u32;

    /// What sums with plain factors are where the accumulator is no finite number: no product changes that.
    fn keep(&self, c: &Lanes<u32>, d: &mut Lanes<u32>);

    /// Adds the products of plain factors; accumulators are bits.
    fn fast<L: Level, C: Column>(&self, rows: &[Pair], columns: &[C], c: &Vectors<u32>) -> Vectors<u32>;

    /// The same for factors whose exponents are not those of plain ones, made of [`extremes`]: types that have such
    /// factors are added up in `.f32`.
    ///
    /// [`extremes`]: super::extremes
    fn extreme<L: Level, C: Column>(&self, rows: &[Pair], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        self.fast::<L, C>(rows, columns, c)
    }

    /// Puts what is not finite of sums of floats, which are finite where the result is.
    fn patch(&self, _: &Lanes<f32>, _: &mut Lanes<u32>) {}

    /// An accumulator as a float, if it is no finite number.
    fn special(&self, _: u32) -> f32 {
        0.0
    }
}

/// An accumulator, if its magnitude is that of infinity, and `none` if it is no number.
#[inline(always)]
fn kept(c: u32, magnitude: u32, infinity: u32, none: u32) -> Option<u32> {
    match magnitude.cmp(&infinity) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(c),
        std::cmp::Ordering::Greater => Some(none),
    }
}

/// Fused sums before they are rounded.
struct Fused {
    /// Sums of the products, and C, in units.
    sum: Vectors<i32>,
    c: Vectors<i32>,
    /// One divided by the unit: a power of two.
    scale: Vectors<f32>,
    /// The largest exponents of products.
    products: Vectors<i32>,
    /// Whether there is a sum without products.
    some_are_empty: bool,
}

/// How large a sum of products may be, so that it and C are below 2^31, as is what they are rounded to.
const NARROW: u32 = i32::MAX as u32 - (1 << 26) - 64;

impl Fused {
    /// The sums toward zero, or to odd.
    #[inline(always)]
    fn values<L: Level, const ODD: bool>(&self) -> Vectors<u32> {
        let mut largest = [0; LANES];
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                largest[lane] = largest[lane].max(self.sum[column][lane].unsigned_abs());
            }
        }
        if L::above(&largest, NARROW) != 0 {
            return self.wide_values(ODD);
        }
        let mut values = [[0; LANES]; COLUMNS];
        for column in 0..COLUMNS {
            lanes_side_by_side();
            let mut total = [0; LANES];
            for lane in 0..LANES {
                total[lane] = self.sum[column][lane].wrapping_add(self.c[column][lane]);
            }
            let mut value = L::toward_zero(&total);
            if ODD {
                let back = L::truncate(&value);
                for lane in 0..LANES {
                    value[lane] =
                        f32::from_bits(value[lane].to_bits() | u32::from(back[lane] != total[lane]));
                }
            }
            for lane in 0..LANES {
                values[column][lane] = (value[lane] * self.unit(column, lane)).to_bits();
            }
        }
        values
    }

    /// [`Fused::values`] of sums that might have 33 bits.
    #[cold]
    #[inline(never)]
    fn wide_values(&self, odd: bool) -> Vectors<u32> {
        let mut values = [[0; LANES]; COLUMNS];
        for column in 0..COLUMNS {
            for lane in 0..LANES {
                let total = f64::from(self.sum[column][lane]) + f64::from(self.c[column][lane]);
                // The bits that an `.f32` has.
                let (kept, rest) = (u64::MAX << 29, u64::MAX >> 35);
                let value = (f64::from_bits(total.to_bits() & kept) as f32).to_bits();
                let value = value | u32::from(odd && total.to_bits() & rest != 0);
                values[column][lane] = (f32::from_bits(value) * self.unit(column, lane)).to_bits();
            }
        }
        values
    }

    /// What a total is multiplied with: exact, or too large and infinite.
    #[inline(always)]
    fn unit(&self, column: usize, lane: usize) -> f32 {
        // Powers of two are their exponents.
        f32::from_bits((254u32 << 23).wrapping_sub(self.scale[column][lane].to_bits()))
    }

    /// Puts C, as a result, where there is nothing but zero products, or zero.
    #[inline(always)]
    fn without_products(&self, d: &mut Vectors<u32>, c: &Vectors<u32>, result: impl Fn(u32) -> u32) {
        if !self.some_are_empty {
            return;
        }
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let empty = self.products[column][lane] < NO_PRODUCTS;
                d[column][lane] = if empty { result(c[column][lane]) } else { d[column][lane] };
            }
        }
    }
}

/// Products have exponents from here on, unless they are zero.
const NO_PRODUCTS: i32 = -0x400;

/// Columns whose sums are in registers together.
pub(super) const BLOCK: usize = 4;

/// Adds up what `addend` makes of the products of factors and of their column, as integers.
#[inline(always)]
fn add_up<L: Level, C: Column>(
    rows: &[Pair],
    columns: &[C],
    addend: impl Fn(&Lanes<f32>, usize) -> Lanes<f32>,
) -> Vectors<i32> {
    let mut all = [[0; LANES]; COLUMNS];
    for first in [0, BLOCK] {
        let mut sums = [[0i32; LANES]; BLOCK];
        for (a, b) in rows.iter().zip(columns) {
            for part in 0..2 {
                lanes_side_by_side();
                for at in 0..BLOCK {
                    let b = b.value(part, first + at);
                    let mut product = [0f32; LANES];
                    for lane in 0..LANES {
                        product[lane] = f32::from_bits(a.value[part][lane]) * f32::from_bits(b[lane]);
                    }
                    let addend = L::truncate(&addend(&product, first + at));
                    for lane in 0..LANES {
                        // 16 addends of less than 2^27.
                        sums[at][lane] = sums[at][lane].wrapping_add(addend[lane]);
                    }
                }
            }
        }
        all[first..first + BLOCK].copy_from_slice(&sums);
    }
    all
}

/// Fused sums of plain factors. `c`: values and exponents.
#[inline(always)]
fn fused<L: Level, C: Column>(
    rows: &[Pair],
    columns: &[C],
    c: (&Vectors<f32>, &Vectors<i32>),
    fraction: u32,
) -> Fused {
    let largest = largest(rows, columns);
    let mut products = [[0; LANES]; COLUMNS];
    let mut scale = [[0f32; LANES]; COLUMNS];
    let mut least = [0; LANES];
    for column in 0..COLUMNS {
        lanes_side_by_side();
        products[column] = L::larger(&largest[column]);
        for lane in 0..LANES {
            let top = products[column][lane].max(c.1[column][lane]);
            // Without products it does not matter.
            let bits = (fraction as i32 - top + 127).min(253);
            scale[column][lane] = f32::from_bits((bits as u32) << 23);
            least[lane] = least[lane].min(products[column][lane]);
        }
    }
    let sum = add_up::<L, C>(rows, columns, |product, column| {
        let mut scaled = [0.0; LANES];
        for lane in 0..LANES {
            scaled[lane] = product[lane] * scale[column][lane];
        }
        scaled
    });
    let mut addend = [[0i32; LANES]; COLUMNS];
    for column in 0..COLUMNS {
        let mut scaled = [0f32; LANES];
        for lane in 0..LANES {
            scaled[lane] = c.0[column][lane] * scale[column][lane];
        }
        addend[column] = L::truncate(&scaled);
    }
    let mut below = [0; LANES];
    for lane in 0..LANES {
        below[lane] = least[lane].wrapping_neg() as u32;
    }
    let some_are_empty = L::above(&below, NO_PRODUCTS.unsigned_abs()) != 0;
    Fused { sum, c: addend, scale, products, some_are_empty }
}

/// Fused sums in `.f32`, with so many fraction bits in the alignment and, if those are fewer, in the result.
pub(super) struct Single<const FRACTION: u32>;

impl<const FRACTION: u32> Single<FRACTION> {
    /// Bits of a result that the matrix unit keeps.
    const KEPT: u32 = u32::MAX << 23u32.saturating_sub(FRACTION);
}

impl<const FRACTION: u32> Sum for Single<FRACTION> {
    #[inline(always)]
    fn refused<L: Level>(&self, c: &Lanes<u32>) -> u32 {
        let mut magnitude = [0; LANES];
        for lane in 0..LANES {
            magnitude[lane] = c[lane] & 0x7fff_ffff;
        }
        L::above(&magnitude, 0x7f7f_ffff)
    }

    #[inline(always)]
    fn keep(&self, c: &Lanes<u32>, d: &mut Lanes<u32>) {
        let none = mma::round_f32(f64::NAN);
        for lane in 0..LANES {
            d[lane] = kept(c[lane], c[lane] & 0x7fff_ffff, 0x7f80_0000, none).unwrap_or(d[lane]);
        }
    }

    #[inline(always)]
    fn fast<L: Level, C: Column>(&self, rows: &[Pair], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let (mut values, mut exponents) = ([[0f32; LANES]; COLUMNS], [[0i32; LANES]; COLUMNS]);
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                let c = c[column][lane];
                values[column][lane] = f32::from_bits(c);
                // Below those of plain products it does not matter how far.
                exponents[column][lane] = (c >> 23 & 0xff) as i32 - 127;
            }
        }
        let sums = fused::<L, C>(rows, columns, (&values, &exponents), FRACTION);
        let mut d = sums.values::<L, false>();
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                d[column][lane] &= Self::KEPT;
            }
        }
        sums.without_products(&mut d, c, |c| if (c & Self::KEPT) << 1 == 0 { 0 } else { c & Self::KEPT });
        d
    }

    #[inline(always)]
    fn extreme<L: Level, C: Column>(&self, rows: &[Pair], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let mut d = extremes::fused::<L, C>(rows, columns, c, FRACTION);
        for column in 0..COLUMNS {
            for lane in 0..LANES {
                d[column][lane] &= Self::KEPT;
            }
        }
        d
    }

    #[inline(always)]
    fn patch(&self, sums: &Lanes<f32>, d: &mut Lanes<u32>) {
        let none = mma::round_f32(f64::NAN);
        for lane in 0..LANES {
            let infinite = if sums[lane].is_nan() { none } else { sums[lane].to_bits() };
            d[lane] = if sums[lane].is_finite() { d[lane] } else { infinite };
        }
    }

    #[inline(always)]
    fn special(&self, c: u32) -> f32 {
        f32::from_bits(if c & 0x7fff_ffff < 0x7f80_0000 { 0 } else { c })
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
    fn refused<L: Level>(&self, c: &Lanes<u32>) -> u32 {
        let mut magnitude = [0; LANES];
        for lane in 0..LANES {
            magnitude[lane] = c[lane] & 0x7fff;
        }
        L::above(&magnitude, 0x7bff)
    }

    #[inline(always)]
    fn keep(&self, c: &Lanes<u32>, d: &mut Lanes<u32>) {
        let none = mma::round_f16(f64::NAN).into();
        for lane in 0..LANES {
            d[lane] = kept(c[lane] & 0xffff, c[lane] & 0x7fff, 0x7c00, none).unwrap_or(d[lane]);
        }
    }

    #[inline(always)]
    fn fast<L: Level, C: Column>(&self, rows: &[Pair], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let (mut values, mut exponents) = ([[0f32; LANES]; COLUMNS], [[0i32; LANES]; COLUMNS]);
        for column in 0..COLUMNS {
            lanes_side_by_side();
            values[column] = L::of_halves(&c[column]);
            for lane in 0..LANES {
                let exponent = (values[column][lane].to_bits() >> 23 & 0xff) as i32 - 127;
                exponents[column][lane] = if exponent == -127 { exponent } else { exponent.max(-14) };
            }
        }
        let sums = fused::<L, C>(rows, columns, (&values, &exponents), FRACTION);
        // To odd, so that nothing is rounded twice.
        let mut d = sums.values::<L, true>();
        for column in 0..COLUMNS {
            lanes_side_by_side();
            for lane in 0..LANES {
                d[column][lane] = round_f16(d[column][lane]);
            }
        }
        sums.without_products(&mut d, c, |c| if c & 0x7fff == 0 { 0 } else { c & 0xffff });
        d
    }

    #[inline(always)]
    fn patch(&self, sums: &Lanes<f32>, d: &mut Lanes<u32>) {
        let none = mma::round_f16(f64::NAN).into();
        for lane in 0..LANES {
            let infinite = sums[lane].to_bits() >> 16 & 0x8000 | 0x7c00;
            let infinite = if sums[lane].is_nan() { none } else { infinite };
            d[lane] = if sums[lane].is_finite() { d[lane] } else { infinite };
        }
    }

    #[inline(always)]
    fn special(&self, c: u32) -> f32 {
        f32::from_bits(if c & 0x7fff < 0x7c00 {
            0
        } else {
            c << 16 & 0x8000_0000 | 0x7f80_0000 | (c & 0x3ff) << 13
        })
    }
}

/// Sums of products of bytes.
pub(super) struct Integer {
    pub(super) satfinite: bool,
}

impl Sum for Integer {
    #[inline(always)]
    fn refused<L: Level>(&self, _: &Lanes<u32>) -> u32 {
        0
    }

    #[inline(always)]
    fn keep(&self, _: &Lanes<u32>, _: &mut Lanes<u32>) {}

    #[inline(always)]
    fn fast<L: Level, C: Column>(&self, rows: &[Pair], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let sum = add_up::<L, C>(rows, columns, |&product, _| product);
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
}

/// Counts of ones in `a & b`.
pub(super) struct Ones;

impl Sum for Ones {
    #[inline(always)]
    fn refused<L: Level>(&self, _: &Lanes<u32>) -> u32 {
        0
    }

    #[inline(always)]
    fn keep(&self, _: &Lanes<u32>, _: &mut Lanes<u32>) {}

    #[inline(always)]
    fn fast<L: Level, C: Column>(&self, rows: &[Pair], columns: &[C], c: &Vectors<u32>) -> Vectors<u32> {
        let mut d = *c;
        for first in [0, BLOCK] {
            let mut sums = [[0; LANES]; BLOCK];
            for (a, b) in rows.iter().zip(columns) {
                for part in 0..2 {
                    lanes_side_by_side();
                    for at in 0..BLOCK {
                        let b = b.value(part, first + at);
                        for lane in 0..LANES {
                            sums[at][lane] += (a.value[part][lane] & b[lane]).count_ones();
                        }
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
}
