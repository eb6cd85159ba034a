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
use crate::lanes::{Level, WARP_SIZE};
use elements::{Bf16, Bits, E4m3, E5m2, F16, Format, Signed, Tf32, Unsigned, decode};
use numerics::mma::{Columns, MMA_FRACTION, WGMMA_FP8_FRACTION};
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

/// Elements side by side: bits of an `.f32` (of a word for single bits), and exponents.
#[derive(Clone, Copy, Debug)]
struct Plane<const N: usize> {
    value: [u32; N],
    exponent: [i16; N],
}

impl<const N: usize> Plane<N> {
    const ZERO: Self = Plane { value: [0; N], exponent: [0; N] };
}

/// Lanes of one part.
type Lanes<T> = [T; LANES];

/// An element of A for each lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Row {
    exponent: [i16; WARP_SIZE],
    value: [Lanes<u32>; PARTS],
}

/// An element of B for each lane, of even columns and of odd ones.
trait Column {
    fn value(&self, part: usize, parity: usize) -> Lanes<u32>;
    fn exponent(&self, parity: usize) -> [i16; WARP_SIZE];
}

/// The same for each row: four columns over and over, which a processor loads as quickly as so many lanes.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Same {
    value: [[u32; 4]; 2],
    exponent: [[i16; 4]; 2],
}

impl Column for Same {
    #[inline(always)]
    fn value(&self, _: usize, parity: usize) -> Lanes<u32> {
        let mut lanes = [0; LANES];
        for lane in 0..LANES {
            lanes[lane] = self.value[parity][lane % 4];
        }
        lanes
    }
    #[inline(always)]
    fn exponent(&self, parity: usize) -> [i16; WARP_SIZE] {
        let mut lanes = [0; WARP_SIZE];
        for lane in 0..WARP_SIZE {
            lanes[lane] = self.exponent[parity][lane % 4];
        }
        lanes
    }
}

/// For a sparse A: each row has another element.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chosen {
    exponent: [[i16; WARP_SIZE]; 2],
    value: [[Lanes<u32>; 2]; PARTS],
}

impl Column for Chosen {
    #[inline(always)]
    fn value(&self, part: usize, parity: usize) -> Lanes<u32> {
        self.value[part][parity]
    }
    #[inline(always)]
    fn exponent(&self, parity: usize) -> [i16; WARP_SIZE] {
        self.exponent[parity]
    }
}

/// Keeps the compiler from making vectors of the turns of a loop over elements, which would have to be gathered,
/// instead of the lanes in each.
#[inline(always)]
fn lanes_side_by_side() {
    std::hint::black_box(());
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
    /// A, by half of its rows and element.
    rows: [[Row; ELEMENTS_OF_A]; 2],
    /// Whether all elements of A are such that products in `.f32` are exact.
    rows_are_plain: bool,
    /// B, by element.
    columns: [Same; ELEMENTS_OF_B],
    /// What each element of a sparse A is multiplied with, for one half of the rows at a time.
    chosen: [Chosen; ELEMENTS_OF_A],
    /// Numbers of elements of B, by row and element of a sparse A.
    selection: [[u16; ELEMENTS_OF_A]; 16],
    /// Operands of sums that are made element by element.
    elements: [[Columns<LANES>; ELEMENTS_OF_A]; 2],
}

/// Vectors that are computed together, for a half of the rows: by parity of the columns, then part of the lanes.
const VECTORS: usize = 2 * PARTS;

/// Some lanes' sums.
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
            rows: [[Row { value: [[0; LANES]; PARTS], exponent: [0; WARP_SIZE] }; ELEMENTS_OF_A]; 2],
            rows_are_plain: false,
            columns: [Same { value: [[0; 4]; 2], exponent: [[0; 4]; 2] }; ELEMENTS_OF_B],
            chosen: [Chosen { value: [[[0; LANES]; 2]; PARTS], exponent: [[0; WARP_SIZE]; 2] };
                ELEMENTS_OF_A],
            selection: [[0; ELEMENTS_OF_A]; 16],
            elements: [[Columns::ZERO; ELEMENTS_OF_A]; 2],
        })
    }

    /// Takes A, and its metadata, as they are: B and the accumulators may then change from call to call of
    /// [`Panel::multiply`].
    #[inline(always)]
    pub fn take_rows<L: Level>(&mut self, product: &Product) {
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
    pub fn multiply<L: Level>(&mut self, product: &Product) {
        let columns_are_plain = of_type!(product.b, self.repeat(product));
        let plain = columns_are_plain && self.rows_are_plain;
        let fp8 = product.sums == Sums::Fused { fraction: WGMMA_FP8_FRACTION };
        match product.sums {
            Sums::Fused { .. } if product.d == ScalarType::F16 => {
                if fp8 {
                    self.add::<L, _>(product, plain, &Half::<WGMMA_FP8_FRACTION>);
                } else {
                    self.add::<L, _>(product, plain, &Half::<MMA_FRACTION>);
                }
            }
            Sums::Fused { .. } if fp8 => self.add::<L, _>(product, plain, &Single::<WGMMA_FP8_FRACTION>),
            Sums::Fused { .. } => self.add::<L, _>(product, plain, &Single::<MMA_FRACTION>),
            Sums::Integer(satfinite) => self.add::<L, _>(product, true, &Integer { satfinite }),
            Sums::Bits => self.add::<L, _>(product, true, &Ones),
        }
    }

    /// Decodes A for each lane.
    #[inline(always)]
    fn spread<F: Format>(&mut self, product: &Product) {
        let mut plain = true;
        let signs = if product.negated { F::SIGNS } else { 0 };
        for (register, words) in self.a.iter().enumerate().take(usize::from(product.words) / 2) {
            let (half, first) = (register % 2, register / 2 * 4);
            for part in 0..PARTS {
                let mut lanes = [0; LANES];
                for lane in 0..LANES {
                    lanes[lane] = words[LANES * part + lane] ^ signs;
                }
                for at in 0..F::PER {
                    lanes_side_by_side();
                    let mut plane = Plane::ZERO;
                    plain &= decode::<F, LANES>(&lanes, at, &mut plane);
                    // By number, so that each is one shuffle.
                    let rows = &mut self.rows[half];
                    put::<0>(&mut rows[(first * F::PER + at) % ELEMENTS_OF_A], part, &plane);
                    put::<1>(&mut rows[((first + 1) * F::PER + at) % ELEMENTS_OF_A], part, &plane);
                    put::<2>(&mut rows[((first + 2) * F::PER + at) % ELEMENTS_OF_A], part, &plane);
                    put::<3>(&mut rows[((first + 3) * F::PER + at) % ELEMENTS_OF_A], part, &plane);
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
                lanes_side_by_side();
                let mut plane = Plane::<COLUMNS>::ZERO;
                plain &= decode::<F, COLUMNS>(&self.b[word], at, &mut plane);
                let to = &mut self.columns[(word * F::PER + at) % ELEMENTS_OF_B];
                for parity in 0..2 {
                    for lane in 0..4 {
                        to.value[parity][lane] = plane.value[2 * lane + parity];
                        to.exponent[parity][lane] = plane.exponent[2 * lane + parity];
                    }
                }
            }
        }
        plain
    }

    /// Fills [`Panel::chosen`] for a half of the rows.
    #[inline(always)]
    fn choose(&mut self, half: usize, count: usize) {
        for (at, to) in self.chosen.iter_mut().enumerate().take(count) {
            lanes_side_by_side();
            for group in 0..8 {
                let from = &self.columns[usize::from(self.selection[8 * half + group][at]) % ELEMENTS_OF_B];
                let (part, first) = (group / 4, group % 4 * 4);
                for parity in 0..2 {
                    for lane in 0..4 {
                        to.value[part][parity][first + lane] = from.value[parity][lane];
                        to.exponent[parity][4 * group + lane] = from.exponent[parity][lane];
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn add<L: Level, S: Sum>(&mut self, product: &Product, plain: bool, sum: &S) {
        let count = product.elements().min(ELEMENTS_OF_A);
        for half in 0..2 {
            // The registers of even and odd columns, and where the accumulators lie in them.
            let registers = if S::PACKED { [half; 2] } else { [2 * half, 2 * half + 1] };
            let shifts = if S::PACKED { [0, 16] } else { [0; 2] };
            let mut c = [[0; LANES]; VECTORS];
            for vector in 0..VECTORS {
                lanes_side_by_side();
                let words: &Lanes<u32> = &self.d[registers[vector / PARTS]].as_chunks().0[vector % PARTS];
                for lane in 0..LANES {
                    c[vector][lane] = words[lane] >> shifts[vector / PARTS];
                }
            }
            let mut d = c;
            if plain {
                d = if product.selector.is_some() {
                    self.choose(half, count);
                    sum.fast::<L, _>(&self.rows[half][..count], &self.chosen[..count], &c)
                } else {
                    sum.fast::<L, _>(&self.rows[half][..count], &self.columns[..count], &c)
                };
            }
            for vector in 0..VECTORS {
                if !plain || !sum.takes(&c[vector]) {
                    self.gather(product, count, Place { half, parity: vector / PARTS, part: vector % PARTS });
                    d[vector] = sum.exact(&self.elements[0][..count], &self.elements[1][..count], &c[vector]);
                }
            }
            for (vector, d) in d.iter().enumerate() {
                lanes_side_by_side();
                let shift = shifts[vector / PARTS];
                let to: &mut Lanes<u32> =
                    &mut self.d[registers[vector / PARTS]].as_chunks_mut().0[vector % PARTS];
                for lane in 0..LANES {
                    let others = if S::PACKED { to[lane] & !(0xffff << shift) } else { 0 };
                    to[lane] = others | if S::PACKED { (d[lane] & 0xffff) << shift } else { d[lane] };
                }
            }
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

/// Puts what lane `T` of each four holds into all four.
#[inline(always)]
fn put<const T: usize>(row: &mut Row, part: usize, plane: &Plane<LANES>) {
    for lane in 0..LANES {
        row.value[part][lane] = plane.value[lane & !3 | T];
        row.exponent[LANES * part + lane] = plane.exponent[lane & !3 | T];
    }
}
