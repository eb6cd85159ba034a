//! The arithmetic of 16 rows of A with eight columns of B, as `mma` on 16 rows and each warp of a `wgmma`
//! compute it.
//!
//! Fragments are the manual's (9.7.14.5.8, 9.7.15.5.1.1), the same for every type: register `h + 2q` of A in lane
//! `4g + t` holds the four bytes `4t + 16q` of row `g + 8h`; register `2h + j` of an accumulator of 32 bits holds
//! row `g + 8h`, column `2t + j`, and of one of 16 bits register `h` holds both columns. The 16 rows lie side by side
//! to be computed ([`Level::columns`]): an element of B is the same for all of them, which costs nothing to repeat.

#![allow(clippy::needless_range_loop, reason = "lanes side by side, by number")]

mod elements;
mod extremes;
mod sums;
mod unusual;

use ptx_frontend::ScalarType;

use super::{Selection, per_register};
use crate::lanes::{FULL, Level, RegisterSlot, Registers, WARP_SIZE};
use elements::{Bf16, Bits, E4m3, E5m2, F16, Format, Marks, Signed, Tf32, Unsigned, together};
use numerics::mma::{MMA_FRACTION, WGMMA_FP8_FRACTION};
use sums::{Half, Integer, Ones, Single, Sum};

/// Rows, which are computed together.
const LANES: usize = 16;
/// Columns that are computed one after the other.
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

/// Registers of eight columns of accumulators.
#[derive(Clone, Copy, Debug)]
pub struct Accumulators<'a> {
    /// What is added to; `None` for zeros.
    pub from: Option<&'a [RegisterSlot]>,
    /// Where the sums go.
    pub to: &'a [RegisterSlot],
}

/// Registers of an `mma`.
#[derive(Clone, Copy, Debug)]
pub struct Fragments<'a> {
    /// A
    pub a: &'a [RegisterSlot],
    /// B
    pub b: &'a [RegisterSlot],
    /// C and D
    pub accumulators: Accumulators<'a>,
}

/// The words of registers.
#[inline(always)]
fn take(registers: &Registers, slots: &[RegisterSlot], words: &mut [[u32; WARP_SIZE]]) {
    for (word, slot) in words.iter_mut().zip(slots) {
        *word = if slot.rows == 1 { registers.read(slot.slot) } else { [0; WARP_SIZE] };
    }
}

/// A number for each row.
type Lanes<T> = [T; LANES];

/// All that is computed together.
type Vectors<T> = [Lanes<T>; COLUMNS];

/// Exponents of two elements of each row: the words are rows.
type Exponents = [i16; 2 * LANES];

/// Two elements of A, in the order of K, of each row: bits of an `.f32` (of a word for single bits), and exponents.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Pair {
    value: [Lanes<u32>; 2],
    exponent: Exponents,
}

impl Pair {
    const ZERO: Pair = Pair { value: [[0; LANES]; 2], exponent: [0; 2 * LANES] };
}

/// Two elements of B for each column, and row.
trait Column {
    fn value(&self, at: usize, column: usize) -> Lanes<u32>;
    fn exponent(&self, column: usize) -> Exponents;
}

/// The same for each row.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Same {
    value: [[u32; COLUMNS]; 2],
    exponent: [[i16; 2]; COLUMNS],
}

impl Same {
    const ZERO: Same = Same { value: [[0; COLUMNS]; 2], exponent: [[0; 2]; COLUMNS] };
}

impl Column for Same {
    #[inline(always)]
    fn value(&self, at: usize, column: usize) -> Lanes<u32> {
        [self.value[at][column]; LANES]
    }
    #[inline(always)]
    fn exponent(&self, column: usize) -> Exponents {
        let mut exponents = [0; 2 * LANES];
        for at in 0..2 * LANES {
            exponents[at] = self.exponent[column][at % 2];
        }
        exponents
    }
}

/// For a sparse A: each row has other elements.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chosen {
    value: [[Lanes<u32>; COLUMNS]; 2],
    exponent: [Exponents; COLUMNS],
}

impl Chosen {
    const ZERO: Chosen = Chosen { value: [[[0; LANES]; COLUMNS]; 2], exponent: [[0; 2 * LANES]; COLUMNS] };
}

impl Column for Chosen {
    #[inline(always)]
    fn value(&self, at: usize, column: usize) -> Lanes<u32> {
        self.value[at][column]
    }
    #[inline(always)]
    fn exponent(&self, column: usize) -> Exponents {
        self.exponent[column]
    }
}

/// Keeps the compiler from making vectors of the turns of a loop over elements, which would have to be gathered,
/// instead of the lanes in each.
#[inline(always)]
fn lanes_side_by_side() {
    std::hint::black_box(());
}

/// The largest exponents of products of each column, of the first and the second elements of pairs.
#[inline(always)]
fn largest<C: Column>(rows: &[Pair], columns: &[C]) -> [Exponents; COLUMNS] {
    let mut largest = [[i16::MIN; 2 * LANES]; COLUMNS];
    for (a, b) in rows.iter().zip(columns) {
        lanes_side_by_side();
        for (column, largest) in largest.iter_mut().enumerate() {
            let b = b.exponent(column);
            for at in 0..2 * LANES {
                largest[at] = largest[at].max(a.exponent[at] + b[at]);
            }
        }
    }
    largest
}

/// Operands and scratch memory; kept by a worker.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Registers of A.
    pub a: [[u32; WARP_SIZE]; 4],
    /// Registers of eight columns of B: word `t` of column `n` is in lane `4n + t`.
    pub fragment: [[u32; WARP_SIZE]; WORDS_OF_B / 4],
    /// Metadata of each lane, if A is sparse.
    pub metadata: [u32; WARP_SIZE],
    /// Words of the eight columns, in the order of K.
    b: [[u32; COLUMNS]; WORDS_OF_B],
    /// Accumulators of the eight columns: those of 16 bits use two registers.
    d: [[u32; WARP_SIZE]; 4],
    /// A, by pair of elements.
    rows: [Pair; ELEMENTS_OF_A / 2],
    /// What there is in A that is not plain.
    marks_of_rows: u16,
    /// B, by pair of elements.
    columns: [Same; ELEMENTS_OF_B / 2],
    /// What the elements of a sparse A are multiplied with.
    chosen: [Chosen; ELEMENTS_OF_A / 2],
    /// What there is in B that is not plain.
    marks_of_columns: u16,
    /// Numbers of elements of B, by row and element of a sparse A.
    selection: [[u16; ELEMENTS_OF_A]; 16],
    /// A without what is not plain.
    usual: [Pair; ELEMENTS_OF_A / 2],
}

/// Calls a method of [`Panel`] for the format of a type.
macro_rules! of_type {
    ($ty:expr, $panel:ident.$method:ident$(::<$level:ident>)?($($argument:expr),*)) => {
        match $ty {
            ScalarType::F16 => $panel.$method::<$($level,)? F16>($($argument),*),
            ScalarType::Bf16 => $panel.$method::<$($level,)? Bf16>($($argument),*),
            ScalarType::Tf32 => $panel.$method::<$($level,)? Tf32>($($argument),*),
            ScalarType::E4m3 => $panel.$method::<$($level,)? E4m3>($($argument),*),
            ScalarType::E5m2 => $panel.$method::<$($level,)? E5m2>($($argument),*),
            ScalarType::S8 => $panel.$method::<$($level,)? Signed>($($argument),*),
            ScalarType::U8 => $panel.$method::<$($level,)? Unsigned>($($argument),*),
            _ => $panel.$method::<$($level,)? Bits>($($argument),*),
        }
    };
}

/// Calls a method of [`Panel`] for the sums of a product.
macro_rules! by_sums {
    ($product:ident, $panel:ident.$method:ident::<$level:ident, _>($($argument:expr),*)) => {{
        let fp8 = $product.sums == Sums::Fused { fraction: WGMMA_FP8_FRACTION };
        match $product.sums {
            Sums::Fused { .. } if $product.d == ScalarType::F16 && fp8 => {
                $panel.$method::<$level, _>($($argument,)* &Half::<WGMMA_FP8_FRACTION>);
            }
            Sums::Fused { .. } if $product.d == ScalarType::F16 => {
                $panel.$method::<$level, _>($($argument,)* &Half::<MMA_FRACTION>);
            }
            Sums::Fused { .. } if fp8 => {
                $panel.$method::<$level, _>($($argument,)* &Single::<WGMMA_FP8_FRACTION>);
            }
            Sums::Fused { .. } => $panel.$method::<$level, _>($($argument,)* &Single::<MMA_FRACTION>),
            Sums::Integer(satfinite) => $panel.$method::<$level, _>($($argument,)* &Integer { satfinite }),
            Sums::Bits => $panel.$method::<$level, _>($($argument,)* &Ones),
        }
    }};
}

impl Panel {
    /// All zero.
    pub fn new() -> Box<Panel> {
        Box::new(Panel {
            a: [[0; WARP_SIZE]; 4],
            fragment: [[0; WARP_SIZE]; WORDS_OF_B / 4],
            metadata: [0; WARP_SIZE],
            b: [[0; COLUMNS]; WORDS_OF_B],
            d: [[0; WARP_SIZE]; 4],
            rows: [Pair::ZERO; ELEMENTS_OF_A / 2],
            marks_of_rows: 0,
            columns: [Same::ZERO; ELEMENTS_OF_B / 2],
            chosen: [Chosen::ZERO; ELEMENTS_OF_A / 2],
            marks_of_columns: 0,
            selection: [[0; ELEMENTS_OF_A]; 16],
            usual: [Pair::ZERO; ELEMENTS_OF_A / 2],
        })
    }

    /// A whole product of registers, as [`Panel::multiply`].
    #[inline(always)]
    pub fn product<L: Level>(
        &mut self,
        product: &Product,
        registers: &mut Registers,
        fragments: &Fragments<'_>,
    ) -> bool {
        take(registers, fragments.a, &mut self.a);
        take(registers, fragments.b, &mut self.fragment);
        self.take_rows::<L>(product);
        self.multiply::<L>(product, registers, fragments.accumulators)
    }

    /// Takes A, and its metadata, as they are: B and the accumulators may then change from call to call of
    /// [`Panel::multiply`].
    #[inline(always)]
    pub fn take_rows<L: Level>(&mut self, product: &Product) {
        of_type!(product.a, self.spread::<L>(product));
        if let Some(selector) = product.selector {
            let selection = Selection { per: per_register(product.a), kept: product.elements(), selector };
            for (row, selected) in self.selection.iter_mut().enumerate() {
                selection.of_row(&self.metadata, row, selected);
            }
        }
    }

    /// Adds the products of A and eight columns of B to their accumulators, if all elements are plain; if not, nothing is
    /// written, and [`Panel::unusual`] is to be called.
    #[inline(always)]
    pub fn multiply<L: Level>(
        &mut self,
        product: &Product,
        registers: &mut Registers,
        accumulators: Accumulators<'_>,
    ) -> bool {
        for (words, register) in self.b.chunks_exact_mut(4).zip(&self.fragment).take(product.words_of_b() / 4)
        {
            words.copy_from_slice(&L::words(register));
        }
        match accumulators.from {
            Some(from) => take(registers, from, &mut self.d),
            None => self.d = [[0; WARP_SIZE]; 4],
        }
        of_type!(product.b, self.repeat::<L>(product));
        let usual = self.marks_of_rows | self.marks_of_columns == 0;
        if usual {
            by_sums!(product, self.add::<L, _>(product));
            self.give(registers, accumulators);
        }
        usual
    }

    /// Does what [`Panel::multiply`] left.
    #[inline(always)]
    pub fn unusual<L: Level>(
        &mut self,
        product: &Product,
        registers: &mut Registers,
        accumulators: Accumulators<'_>,
    ) {
        by_sums!(product, self.add_unusual::<L, _>(product));
        self.give(registers, accumulators);
    }

    /// The accumulators to their registers.
    #[inline(always)]
    fn give(&self, registers: &mut Registers, accumulators: Accumulators<'_>) {
        for (slot, word) in accumulators.to.iter().zip(&self.d) {
            if slot.rows == 1 {
                registers.write(slot.slot, FULL, word);
            }
        }
    }

    /// Decodes A.
    #[inline(always)]
    fn spread<L: Level, F: Format>(&mut self, product: &Product) {
        let mut marks: Marks = [0; 2 * LANES];
        let signs = if product.negated { F::SIGNS } else { 0 };
        let Panel { a, rows, .. } = self;
        for q in 0..usize::from(product.words / 4).min(2) {
            let mut words = L::columns([&a[2 * q], &a[2 * q + 1]]);
            words.as_flattened_mut().iter_mut().for_each(|word| *word ^= signs);
            for half in 0..2 {
                lanes_side_by_side();
                let first = (2 * q + half) * F::PER;
                F::pairs::<L>([&words[2 * half], &words[2 * half + 1]], &mut marks, |at, pair| {
                    rows[(first + at) % (ELEMENTS_OF_A / 2)] = pair;
                });
            }
        }
        self.marks_of_rows = together(&marks);
    }

    /// Decodes eight columns of B.
    #[inline(always)]
    fn repeat<L: Level, F: Format>(&mut self, product: &Product) {
        let mut marks: Marks = [0; 2 * LANES];
        let Panel { b, columns, .. } = self;
        for (four, words) in b.chunks_exact(4).enumerate().take(product.words_of_b() / 4) {
            lanes_side_by_side();
            // Two words of each column, and the two that follow them.
            let both = |at: usize| {
                let mut both = [0; LANES];
                both[..COLUMNS].copy_from_slice(&words[at]);
                both[COLUMNS..].copy_from_slice(&words[at + 2]);
                both
            };
            F::pairs::<L>([&both(0), &both(1)], &mut marks, |at, pair| {
                for half in 0..2 {
                    let to = &mut columns[((2 * four + half) * F::PER + at) % (ELEMENTS_OF_B / 2)];
                    for column in 0..COLUMNS {
                        let from = COLUMNS * half + column;
                        to.value[0][column] = pair.value[0][from];
                        to.value[1][column] = pair.value[1][from];
                        to.exponent[column] = [pair.exponent[2 * from], pair.exponent[2 * from + 1]];
                    }
                }
            });
        }
        self.marks_of_columns = together(&marks);
    }

    /// Fills [`Panel::chosen`].
    #[inline(always)]
    fn choose(&mut self, pairs: usize) {
        for (pair, to) in self.chosen.iter_mut().enumerate().take(pairs) {
            lanes_side_by_side();
            let from: [&Same; 2] =
                std::array::from_fn(|at| &self.columns[(2 * pair + at) % (ELEMENTS_OF_B / 2)]);
            let mut numbers = [[0; LANES]; 2];
            for at in 0..2 {
                for lane in 0..LANES {
                    numbers[at][lane] = u32::from(self.selection[lane][2 * pair + at]) - 4 * pair as u32;
                }
            }
            for column in 0..COLUMNS {
                let values = from.map(|from| from.value.map(|value| value[column]));
                let values = [values[0][0], values[0][1], values[1][0], values[1][1]];
                let exponents = from.map(|from| from.exponent[column]);
                let exponents = [exponents[0][0], exponents[0][1], exponents[1][0], exponents[1][1]];
                for lane in 0..LANES {
                    let [first, second] = [numbers[0][lane], numbers[1][lane]];
                    to.value[0][column][lane] = select(first, &values);
                    to.value[1][column][lane] = select(second, &values);
                    to.exponent[column][2 * lane] = select(first, &exponents);
                    to.exponent[column][2 * lane + 1] = select(second, &exponents);
                }
            }
        }
    }

    /// The sums of plain factors.
    #[inline(always)]
    fn add<L: Level, S: Sum>(&mut self, product: &Product, sum: &S) {
        let count = product.elements().min(ELEMENTS_OF_A);
        let c = self.accumulators::<L, S>();
        let mut d = if product.selector.is_some() {
            self.choose(count / 2);
            sum.fast::<L, _>(&self.rows[..count / 2], &self.chosen[..count / 2], &c)
        } else {
            sum.fast::<L, _>(&self.rows[..count / 2], &self.columns[..count / 2], &c)
        };
        for column in 0..COLUMNS {
            if sum.refused::<L>(&c[column]) != 0 {
                sum.keep(&c[column], &mut d[column]);
            }
        }
        self.put::<L, S>(&d);
    }

    /// The accumulators, by column.
    #[inline(always)]
    fn accumulators<L: Level, S: Sum>(&self) -> [Lanes<u32>; COLUMNS] {
        let mut c = [[0; LANES]; COLUMNS];
        if S::PACKED {
            let words = L::columns([&self.d[0], &self.d[1]]);
            for (t, words) in words.iter().enumerate() {
                c[2 * t] = words.map(|word| word & 0xffff);
                c[2 * t + 1] = words.map(|word| word >> 16);
            }
        } else {
            for parity in 0..2 {
                let columns = L::columns([&self.d[parity], &self.d[2 + parity]]);
                for (t, column) in columns.iter().enumerate() {
                    c[2 * t + parity] = *column;
                }
            }
        }
        c
    }

    /// Writes the accumulators.
    #[inline(always)]
    fn put<L: Level, S: Sum>(&mut self, d: &[Lanes<u32>; COLUMNS]) {
        if S::PACKED {
            let mut words = [[0; LANES]; 4];
            for (t, words) in words.iter_mut().enumerate() {
                for lane in 0..LANES {
                    words[lane] = d[2 * t][lane] & 0xffff | d[2 * t + 1][lane] << 16;
                }
            }
            [self.d[0], self.d[1]] = L::registers(words.each_ref());
        } else {
            for parity in 0..2 {
                let columns = [&d[parity], &d[2 + parity], &d[4 + parity], &d[6 + parity]];
                [self.d[parity], self.d[2 + parity]] = L::registers(columns);
            }
        }
    }
}

/// The element of four with a number.
#[inline(always)]
fn select<T: Copy>(number: u32, of: &[T; 4]) -> T {
    let low = if number == 0 { of[0] } else { of[1] };
    let high = if number == 2 { of[2] } else { of[3] };
    if number < 2 { low } else { high }
}
