//! The arithmetic of 16 rows of A with eight columns of B, as `mma` on 16 rows and each warp of a `wgmma`
//! compute it, on the lanes of the accumulator's registers.
//!
//! Fragments are the manual's (9.7.14.5.8, 9.7.15.5.1.1), the same for every type: register `h + 2q` of A in lane
//! `4g + t` holds the four bytes `4t + 16q` of row `g + 8h`; register `2h + j` of an accumulator of 32 bits holds
//! row `g + 8h`, column `2t + j`, and of one of 16 bits register `h` holds both columns. Nothing is moved
//! to multiply: A is spread over the lanes once, B for each eight columns, and accumulators stay as they are.

#![allow(clippy::needless_range_loop, reason = "lanes side by side, by number")]

mod elements;
mod sums;

use ptx_frontend::ScalarType;

use super::{Selection, per_register};
use crate::lanes::WARP_SIZE;
use crate::numerics::mma::{Columns, MMA_FRACTION, WGMMA_FP8_FRACTION};
use elements::{Bf16, Bits, E4m3, E5m2, F16, Format, Signed, Tf32, Unsigned, decode};
use sums::{Half, Integer, Ones, Single, Sum};

/// Lanes that are computed together.
const LANES: usize = 16;
/// Parts of a warp with so many lanes.
const PARTS: usize = WARP_SIZE / LANES;
/// Columns that are computed together.
pub const COLUMNS: usize = 8;
/// Words of a row of A at most: 32 bytes.
const WORDS_OF_A: usize = 8;
/// Words of a column of B at most: twice as many, where A is sparse.
pub const WORDS_OF_B: usize = 16;
/// Elements of a row of A at most.
const ELEMENTS_OF_A: usize = 4 * WORDS_OF_A;
/// Elements of a column of B at most.
const ELEMENTS_OF_B: usize = 4 * WORDS_OF_B;

/// How the sums are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sums {
    /// Fused, with so many fraction bits in the alignment.
    Fused {
        /// See [`MMA_FRACTION`], [`WGMMA_FP8_FRACTION`].
        fraction: u32,
    },
    /// Of integers, with `.satfinite` or without.
    Integer(bool),
    /// Of the ones in `a & b`.
    Bits,
}

/// What is multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// Type of A's elements.
    pub a: ScalarType,
    /// Type of B's elements.
    pub b: ScalarType,
    /// Type of the accumulators.
    pub d: ScalarType,
    /// Words of 32 bits in a row of A as stored: 4 or 8.
    pub words: u8,
    /// Where A is sparse: the selector of its metadata.
    pub selector: Option<u8>,
    /// Every product is negated.
    pub negated: bool,
    /// How the sums are made.
    pub sums: Sums,
}

impl Product {
    /// One of fused sums on `.f16`, `.bf16`, `.tf32` or fp8, of integers, or of bits, with the accuracy of
    /// `wgmma`; `None` for other types.
    pub fn of(a: ScalarType, b: ScalarType, d: ScalarType, words: u8) -> Option<Product> {
        use ScalarType as T;
        let sums = match (a, b) {
            (T::F16, T::F16) | (T::Bf16, T::Bf16) | (T::Tf32, T::Tf32) => {
                Sums::Fused { fraction: MMA_FRACTION }
            }
            (T::E4m3 | T::E5m2, T::E4m3 | T::E5m2) => Sums::Fused { fraction: WGMMA_FP8_FRACTION },
            (T::U8 | T::S8, T::U8 | T::S8) => Sums::Integer(false),
            (T::B1, T::B1) => Sums::Bits,
            _ => return None,
        };
        Some(Product { a, b, d, words, selector: None, negated: false, sums })
    }

    /// Words of a column of B.
    pub fn words_of_b(&self) -> usize {
        usize::from(self.words) << u32::from(self.selector.is_some())
    }

    /// Elements of a row of A as stored.
    fn elements(&self) -> usize {
        usize::from(self.words) * usize::from(per_register(self.a))
    }
}

/// Elements as lanes see them: bits of an `.f32` (of a word for single bits), and exponents.
#[derive(Clone, Copy, Debug)]
struct Plane<const N: usize> {
    value: [u32; N],
    exponent: [i16; N],
}

impl<const N: usize> Plane<N> {
    const ZERO: Self = Plane { value: [0; N], exponent: [0; N] };
}

/// Operands and scratch memory; kept by a worker.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Registers of A.
    pub a: [[u32; WARP_SIZE]; 4],
    /// Words of eight columns of B, in the order of K.
    pub b: [[u32; COLUMNS]; WORDS_OF_B],
    /// Accumulators of eight columns: those of 16 bits use two registers.
    pub d: [[u32; WARP_SIZE]; 4],
    /// Metadata of each lane, if A is sparse.
    pub metadata: [u32; WARP_SIZE],
    /// A, by half of its rows, element and part of the lanes.
    rows: [[[Plane<LANES>; PARTS]; ELEMENTS_OF_A]; 2],
    /// Whether all elements of A are such that products in `.f32` are exact.
    rows_are_plain: bool,
    /// B, by element, the even columns and the odd ones: the same four over and over.
    columns: [[Plane<LANES>; 2]; ELEMENTS_OF_B],
    /// What each element of a sparse A is multiplied with, by element, part of the lanes and parity of the column,
    /// for one half of the rows at a time.
    chosen: [[[Plane<LANES>; 2]; PARTS]; ELEMENTS_OF_A],
    /// Numbers of elements of B, by row and element of a sparse A.
    selection: [[u16; ELEMENTS_OF_A]; 16],
    /// Operands of sums that are made element by element.
    elements: [[Columns<LANES>; ELEMENTS_OF_A]; 2],
}

/// Some lanes' sums: a half of the rows, columns of a parity, a part of the lanes.
#[derive(Clone, Copy)]
struct Place {
    half: usize,
    parity: usize,
    part: usize,
}

/// Calls a method of [`Panel`] for the format of a type.
macro_rules! of_type {
    ($ty:expr, $panel:ident.$method:ident($($argument:expr),*)) => {
        match $ty {
            ScalarType::F16 => $panel.$method::<F16>($($argument),*),
            ScalarType::Bf16 => $panel.$method::<Bf16>($($argument),*),
            ScalarType::Tf32 => $panel.$method::<Tf32>($($argument),*),
            ScalarType::E4m3 => $panel.$method::<E4m3>($($argument),*),
            ScalarType::E5m2 => $panel.$method::<E5m2>($($argument),*),
            ScalarType::S8 => $panel.$method::<Signed>($($argument),*),
            ScalarType::U8 => $panel.$method::<Unsigned>($($argument),*),
            _ => $panel.$method::<Bits>($($argument),*),
        }
    };
}

impl Panel {
    /// All zero.
    pub fn new() -> Box<Panel> {
        Box::new(Panel {
            a: [[0; WARP_SIZE]; 4],
            b: [[0; COLUMNS]; WORDS_OF_B],
            d: [[0; WARP_SIZE]; 4],
            metadata: [0; WARP_SIZE],
            rows: [[[Plane::ZERO; PARTS]; ELEMENTS_OF_A]; 2],
            rows_are_plain: false,
            columns: [[Plane::ZERO; 2]; ELEMENTS_OF_B],
            chosen: [[[Plane::ZERO; 2]; PARTS]; ELEMENTS_OF_A],
            selection: [[0; ELEMENTS_OF_A]; 16],
            elements: [[Columns::ZERO; ELEMENTS_OF_A]; 2],
        })
    }

    /// Takes A, and its metadata, as they are: B and the accumulators may then change from call to call of
    /// [`Panel::multiply`].
    #[inline(always)]
    pub(crate) fn take_rows(&mut self, product: &Product) {
        of_type!(product.a, self.spread(product));
        if let Some(selector) = product.selector {
            let selection = Selection { per: per_register(product.a), kept: product.elements(), selector };
            for (row, selected) in self.selection.iter_mut().enumerate() {
                selection.of_row(&self.metadata, row, selected);
            }
        }
    }

    /// Adds the products of A and eight columns of B to their accumulators.
    #[inline(always)]
    pub(crate) fn multiply(&mut self, product: &Product) {
        let columns_are_plain = of_type!(product.b, self.repeat(product));
        let plain = columns_are_plain && self.rows_are_plain;
        let fp8 = product.sums == Sums::Fused { fraction: WGMMA_FP8_FRACTION };
        match product.sums {
            Sums::Fused { .. } if product.d == ScalarType::F16 => {
                if fp8 {
                    self.add(product, plain, &Half::<WGMMA_FP8_FRACTION>);
                } else {
                    self.add(product, plain, &Half::<MMA_FRACTION>);
                }
            }
            Sums::Fused { .. } if fp8 => self.add(product, plain, &Single::<WGMMA_FP8_FRACTION>),
            Sums::Fused { .. } => self.add(product, plain, &Single::<MMA_FRACTION>),
            Sums::Integer(satfinite) => self.add(product, true, &Integer { satfinite }),
            Sums::Bits => self.add(product, true, &Ones),
        }
    }

    /// Decodes A for each lane.
    #[inline(always)]
    fn spread<F: Format>(&mut self, product: &Product) {
        let mut plain = true;
        for word in 0..usize::from(product.words).min(WORDS_OF_A) {
            for half in 0..2 {
                let register = &self.a[half + word / 4 * 2];
                // By number, so that each is one shuffle.
                let mut words = match word % 4 {
                    0 => spread::<0>(register),
                    1 => spread::<1>(register),
                    2 => spread::<2>(register),
                    _ => spread::<3>(register),
                };
                if product.negated {
                    words.as_flattened_mut().iter_mut().for_each(|word| *word ^= F::SIGNS);
                }
                for at in 0..F::PER {
                    let planes = &mut self.rows[half][(word * F::PER + at) % ELEMENTS_OF_A];
                    for (words, plane) in words.iter().zip(planes) {
                        plain &= decode::<F, LANES>(words, at, plane);
                    }
                }
            }
        }
        self.rows_are_plain = plain;
    }

    /// Decodes eight columns of B for each lane; whether all elements are such that products in `.f32` are exact.
    #[inline(always)]
    fn repeat<F: Format>(&mut self, product: &Product) -> bool {
        let mut plain = true;
        for word in 0..product.words_of_b().min(WORDS_OF_B) {
            for at in 0..F::PER {
                let mut plane = Plane::<COLUMNS>::ZERO;
                plain &= decode::<F, COLUMNS>(&self.b[word], at, &mut plane);
                for (parity, to) in self.columns[(word * F::PER + at) % ELEMENTS_OF_B].iter_mut().enumerate()
                {
                    for lane in 0..LANES {
                        to.value[lane] = plane.value[2 * (lane % 4) + parity];
                        to.exponent[lane] = plane.exponent[2 * (lane % 4) + parity];
                    }
                }
            }
        }
        plain
    }

    /// Fills [`Panel::chosen`] for a half of the rows.
    #[inline(always)]
    fn choose(&mut self, half: usize, count: usize) {
        for (at, parts) in self.chosen.iter_mut().enumerate().take(count) {
            for group in 0..8 {
                let from = usize::from(self.selection[8 * half + group][at]) % ELEMENTS_OF_B;
                for (to, from) in parts[group / 4].iter_mut().zip(&self.columns[from]) {
                    for lane in 0..4 {
                        to.value[group % 4 * 4 + lane] = from.value[lane];
                        to.exponent[group % 4 * 4 + lane] = from.exponent[lane];
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn add(&mut self, product: &Product, plain: bool, sum: &impl Sum) {
        let count = product.elements().min(ELEMENTS_OF_A);
        for half in 0..2 {
            if product.selector.is_some() {
                self.choose(half, count);
            }
            for parity in 0..2 {
                for part in 0..PARTS {
                    self.add_lanes(product, count, plain, Place { half, parity, part }, sum);
                }
            }
        }
    }

    /// Adds to the accumulators of some lanes.
    #[inline(always)]
    fn add_lanes<S: Sum>(&mut self, product: &Product, count: usize, plain: bool, place: Place, sum: &S) {
        let Place { half, parity, part } = place;
        let (register, shift) = if S::PACKED { (half, 16 * parity as u32) } else { (2 * half + parity, 0) };
        let mut c = [0; LANES];
        for (lane, c) in c.iter_mut().enumerate() {
            *c = self.d[register][LANES * part + lane] >> shift;
        }
        let rows = &self.rows[half];
        let fast = plain && sum.takes(&c);
        let d = if !fast {
            self.gather(product, count, place);
            sum.exact(&self.elements[0][..count], &self.elements[1][..count], &c)
        } else if product.selector.is_some() {
            let chosen = &self.chosen;
            sum.fast(
                count,
                |k| (&rows[k % ELEMENTS_OF_A][part], &chosen[k % ELEMENTS_OF_A][part][parity]),
                &c,
            )
        } else {
            let columns = &self.columns;
            sum.fast(count, |k| (&rows[k % ELEMENTS_OF_A][part], &columns[k % ELEMENTS_OF_B][parity]), &c)
        };
        for (lane, &d) in d.iter().enumerate() {
            let to = &mut self.d[register][LANES * part + lane];
            *to = if S::PACKED { *to & !(0xffff << shift) | (d & 0xffff) << shift } else { d };
        }
    }

    /// Decodes A and B for sums that are made element by element.
    #[cold]
    #[inline(never)]
    fn gather(&mut self, product: &Product, count: usize, place: Place) {
        of_type!(product.a, self.gather_rows(product.negated, count, place));
        of_type!(product.b, self.gather_columns(product.selector.is_some(), count, place));
    }

    fn gather_rows<F: Format>(&mut self, negated: bool, count: usize, place: Place) {
        for (k, to) in self.elements[0].iter_mut().enumerate().take(count) {
            let (word, at) = (k / F::PER, k % F::PER);
            let register = &self.a[(place.half + word / 4 * 2) % 4];
            let signs = if negated { F::SIGNS } else { 0 };
            for lane in 0..LANES {
                let from = (LANES * place.part + lane) & !3 | (word % 4);
                to.set(lane, F::element((register[from] ^ signs) >> (at * F::BITS)));
            }
        }
    }

    fn gather_columns<F: Format>(&mut self, sparse: bool, count: usize, place: Place) {
        for (k, to) in self.elements[1].iter_mut().enumerate().take(count) {
            for lane in 0..LANES {
                let (row, column) =
                    (8 * place.half + (LANES * place.part + lane) / 4, lane % 4 * 2 + place.parity);
                let k = if sparse { usize::from(self.selection[row][k]) } else { k };
                let word = self.b[k / F::PER % WORDS_OF_B][column];
                to.set(lane, F::element(word >> (k % F::PER * F::BITS)));
            }
        }
    }
}

/// The word that lane `T` of each four holds, in all four.
#[inline(always)]
fn spread<const T: usize>(register: &[u32; WARP_SIZE]) -> [[u32; LANES]; PARTS] {
    let mut words = [[0; LANES]; PARTS];
    for (part, words) in words.iter_mut().enumerate() {
        for lane in 0..LANES {
            words[lane] = register[LANES * part + (lane & !3 | T)];
        }
    }
    words
}
