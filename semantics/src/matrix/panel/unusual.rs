//! Sums with factors that are not plain.
//!
//! What a sum with an infinity or a NaN is does not depend on how its finite addends are rounded: it is what `.f32` makes of
//! the same products one after the other, where no finite product and no sum of them overflows. So the sums are made twice, once in `.f32` with
//! all factors, once as ever with zeros in place of those; where the first is not finite, it is the result.

use super::elements::{EXTREME, SPECIAL, ZERO};
use super::extremes::parts;
use super::sums::{BLOCK, Sum};
use super::{
    COLUMNS, Column, ELEMENTS_OF_A, ELEMENTS_OF_B, LANES, Pair, Panel, Product, Same, Vectors,
    lanes_side_by_side,
};
use crate::lanes::{Level, halves};

/// Changes each element: of its value another value and, where the exponent changes, the exponent.
trait Each {
    fn each(&mut self, change: impl Fn(u32) -> (u32, Option<i16>));
}

impl Each for Pair {
    #[inline(always)]
    fn each(&mut self, change: impl Fn(u32) -> (u32, Option<i16>)) {
        // Two exponents are a word, as long as they are made lane by lane.
        let (mut exponents, mut changed) = ([0; LANES], [0; LANES]);
        for part in 0..2 {
            lanes_side_by_side();
            for lane in 0..LANES {
                let (value, exponent) = change(self.value[part][lane]);
                self.value[part][lane] = value;
                exponents[lane] |= u32::from(exponent.unwrap_or(0) as u16) << (16 * part);
                changed[lane] |= if exponent.is_some() { 0xffff } else { 0 } << (16 * part);
            }
        }
        let (exponents, changed) = (halves(&exponents), halves(&changed));
        for at in 0..2 * LANES {
            self.exponent[at] = if changed[at] == 0 { self.exponent[at] } else { exponents[at] as i16 };
        }
    }
}

impl Each for Same {
    #[inline(always)]
    fn each(&mut self, change: impl Fn(u32) -> (u32, Option<i16>)) {
        for part in 0..2 {
            lanes_side_by_side();
            for column in 0..COLUMNS {
                let (value, exponent) = change(self.value[part][column]);
                self.value[part][column] = value;
                self.exponent[column][part] = exponent.unwrap_or(self.exponent[column][part]);
            }
        }
    }
}

/// An element as a significand and its exponent.
#[inline(always)]
fn apart(value: u32) -> (u32, Option<i16>) {
    let (significand, exponent) = parts(value);
    (significand, Some(exponent))
}

/// Zero for an infinity or a NaN.
#[inline(always)]
fn finite(value: u32) -> (u32, Option<i16>) {
    if value & 0x7fff_ffff < 0x7f80_0000 { (value, None) } else { (0, Some(ZERO)) }
}

/// Adds the products of all factors in `.f32`, as [`super::sums`] adds up others. A loop of its own: as one with sums of either kind
/// handed to a function neither became vectors, and products took ten times as long.
#[inline(always)]
fn floats<C: Column>(rows: &[Pair], columns: &[C], all: &mut Vectors<f32>) {
    for first in [0, BLOCK] {
        let mut sums = [[0f32; LANES]; BLOCK];
        sums.copy_from_slice(&all[first..first + BLOCK]);
        for (a, b) in rows.iter().zip(columns) {
            for part in 0..2 {
                lanes_side_by_side();
                for at in 0..BLOCK {
                    let b = b.value(part, first + at);
                    let mut product = [0f32; LANES];
                    for lane in 0..LANES {
                        product[lane] = f32::from_bits(a.value[part][lane]) * f32::from_bits(b[lane]);
                    }
                    for lane in 0..LANES {
                        sums[at][lane] += product[lane];
                    }
                }
            }
        }
        all[first..first + BLOCK].copy_from_slice(&sums);
    }
}

impl Panel {
    /// The sums of any factors, of which [`Panel::columns`] are of no use later.
    #[inline(always)]
    pub(super) fn add_unusual<L: Level, S: Sum>(&mut self, product: &Product, sum: &S) {
        let pairs = product.elements().min(ELEMENTS_OF_A) / 2;
        let sparse = product.selector.is_some();
        let pairs_of_b = if sparse { 2 * pairs } else { pairs }.min(ELEMENTS_OF_B / 2);
        let marks = self.marks_of_rows | self.marks_of_columns;
        let c = self.accumulators::<L, S>();
        self.usual[..pairs].copy_from_slice(&self.rows[..pairs]);
        if marks & EXTREME != 0 {
            self.usual[..pairs].iter_mut().for_each(|pair| pair.each(apart));
            self.columns[..pairs_of_b].iter_mut().for_each(|pair| pair.each(apart));
        }
        if sparse {
            self.choose(pairs);
        }
        let mut all = [[0.0; LANES]; COLUMNS];
        for column in 0..COLUMNS {
            for lane in 0..LANES {
                all[column][lane] = sum.special(c[column][lane]);
            }
        }
        if marks & SPECIAL != 0 {
            if sparse {
                floats(&self.usual[..pairs], &self.chosen[..pairs], &mut all);
            } else {
                floats(&self.usual[..pairs], &self.columns[..pairs], &mut all);
            }
            if self.marks_of_rows & SPECIAL != 0 {
                self.usual[..pairs].iter_mut().for_each(|pair| pair.each(finite));
            }
            if self.marks_of_columns & SPECIAL != 0 {
                self.columns[..pairs_of_b].iter_mut().for_each(|pair| pair.each(finite));
                if sparse {
                    self.choose(pairs);
                }
            }
        }
        let rows = &self.usual[..pairs];
        let mut d = match (marks & EXTREME != 0, sparse) {
            (false, false) => sum.fast::<L, _>(rows, &self.columns[..pairs], &c),
            (false, true) => sum.fast::<L, _>(rows, &self.chosen[..pairs], &c),
            (true, false) => sum.extreme::<L, _>(rows, &self.columns[..pairs], &c),
            (true, true) => sum.extreme::<L, _>(rows, &self.chosen[..pairs], &c),
        };
        for column in 0..COLUMNS {
            lanes_side_by_side();
            sum.patch(&all[column], &mut d[column]);
        }
        self.put::<L, S>(&d);
    }
}
