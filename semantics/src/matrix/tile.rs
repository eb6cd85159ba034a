//! The arithmetic of one `mma` on the registers of a warp.
//!
//! Elements are decoded into planes, significands and exponents apart, so that the products of one row of
//! A with eight columns of B vectorise. A plane of A holds rows of K elements; planes of B, C and D hold
//! blocks of eight columns, one row after the other. Elements of fp8 are stored in the order in which
//! their steps take them.

#![allow(clippy::needless_range_loop, reason = "columns side by side, by number")]

use std::marker::PhantomData;

use ptx_frontend::ScalarType;

use super::{Arithmetic, Multiply, Operand, Selection, per_register};
use crate::lanes::WARP_SIZE;
use numerics::mma::{self, Columns, Element, MMA_FRACTION};
use numerics::{Rounding, cvt, f16, f32 as single};

/// Columns that are computed together.
pub const COLUMNS: usize = 8;
/// Registers a lane that an operand has at most.
const REGISTERS: usize = 8;
/// Elements that A and B have at most.
const ELEMENTS: usize = 1024;
/// Elements that C and D have at most.
const RESULTS: usize = 256;
/// Elements of one row of A at most.
const ROW: usize = 64;

/// Words of the registers of one operand, by register and lane; 64-bit registers use both arrays.
#[derive(Clone, Debug)]
pub struct Words {
    /// 32-bit registers.
    pub narrow: [[u32; WARP_SIZE]; REGISTERS],
    /// 64-bit registers.
    pub wide: [[u64; WARP_SIZE]; REGISTERS],
}

/// Operands, result and scratch memory of one instruction; kept by a worker.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Registers of A, B, C and D.
    pub words: [Words; 4],
    /// Metadata of each lane.
    pub metadata: [u32; WARP_SIZE],
    a: [Element; ELEMENTS],
    b: [Columns<COLUMNS>; ELEMENTS / COLUMNS],
    wide: [[u64; 256]; 3],
    /// Bits of C in the accumulator's type, then of D.
    result: [[u32; COLUMNS]; RESULTS / COLUMNS],
}

/// Place of an element in the plane of A with `k` columns.
pub fn place_in_a(k: usize) -> impl Fn(usize, usize) -> usize {
    move |row, column| row * k + column
}

/// Place of an element in a plane of B, C or D with `rows` rows.
pub fn place_in_blocks(rows: usize) -> impl Fn(usize, usize) -> usize {
    move |row, column| (column / COLUMNS * rows + row) * COLUMNS + column % COLUMNS
}

/// Place in the order of steps of element `k` out of `count` of fp8: `4i` and `4i + 1` come first.
pub fn fp8_order(k: usize, count: usize) -> usize {
    (k >> 1 & 1) * (count / 2) + (k >> 2) * 2 + (k & 1)
}

/// Where elements are put.
trait Plane {
    fn put(&mut self, place: usize, element: Element);
}

impl Plane for [Element; ELEMENTS] {
    #[inline(always)]
    fn put(&mut self, place: usize, element: Element) {
        self[place % ELEMENTS] = element;
    }
}

impl Plane for [Columns<COLUMNS>; ELEMENTS / COLUMNS] {
    #[inline(always)]
    fn put(&mut self, place: usize, element: Element) {
        let row = &mut self[place / COLUMNS % (ELEMENTS / COLUMNS)];
        row.significand[place % COLUMNS] = element.significand;
        row.exponent[place % COLUMNS] = element.exponent;
    }
}

impl Plane for [[u32; COLUMNS]; RESULTS / COLUMNS] {
    #[inline(always)]
    fn put(&mut self, place: usize, element: Element) {
        self[place / COLUMNS % (RESULTS / COLUMNS)][place % COLUMNS] = element.significand as u32;
    }
}

/// Splits registers into elements and decodes them into a plane.
#[inline(always)]
fn scatter(
    words: &Words,
    operand: &Operand,
    per: usize,
    plane: &mut impl Plane,
    decode: impl Fn(u32) -> Element,
) {
    let bits = 32 / per;
    for (at, &place) in operand.places.elements.iter().enumerate() {
        let Some(register) = words.narrow.get(at / per) else { return };
        let shift = (at % per * bits) as u32;
        let mut significands = [0; WARP_SIZE];
        let mut exponents = [0; WARP_SIZE];
        for lane in 0..WARP_SIZE {
            let element = decode(register[lane] >> shift);
            significands[lane] = element.significand;
            exponents[lane] = element.exponent;
        }
        for (lane, &start) in operand.places.lanes.iter().enumerate() {
            let element = Element { significand: significands[lane], exponent: exponents[lane] };
            plane.put(usize::from(start) + usize::from(place), element);
        }
    }
}

/// Decodes an operand by its type.
#[inline(always)]
fn decode(words: &Words, operand: &Operand, plane: &mut impl Plane) {
    use ScalarType as T;
    let per = usize::from(per_register(operand.ty));
    macro_rules! scatter {
        ($decode:expr) => {
            scatter(words, operand, per, plane, $decode)
        };
    }
    match operand.ty {
        T::F16 => scatter!(|w| Element::f16(w as u16)),
        T::Bf16 => scatter!(|w| Element::bf16(w as u16)),
        T::Tf32 => scatter!(Element::tf32),
        T::E4m3 => scatter!(|w| Element::e4m3_as_f16(w as u8)),
        T::E5m2 => scatter!(|w| Element::e5m2(w as u8)),
        T::U8 => scatter!(|w| Element::integer(w as u8 as i32)),
        T::S8 => scatter!(|w| Element::integer(w as i8 as i32)),
        T::U4 => scatter!(|w| Element::integer((w & 15) as i32)),
        T::S4 => scatter!(|w| Element::integer((w << 28) as i32 >> 28)),
        _ => scatter!(|w| Element::integer(w as i32)),
    }
}

/// The bits of an operand's elements, not decoded.
#[inline(always)]
fn raw(words: &Words, operand: &Operand, plane: &mut impl Plane) {
    match per_register(operand.ty) {
        2 => scatter(words, operand, 2, plane, |w| Element::integer((w & 0xffff) as i32)),
        _ => scatter(words, operand, 1, plane, |w| Element::integer(w as i32)),
    }
}

/// An accumulator's type: what C is widened to and D narrowed from.
trait Accumulator {
    fn decode(bits: u32) -> Element;
    fn round(sum: f64) -> u32;
    fn add(a: u32, b: u32) -> u32;
}

struct Half;

impl Accumulator for Half {
    #[inline(always)]
    fn decode(bits: u32) -> Element {
        Element::accumulator_f16(bits as u16)
    }
    #[inline(always)]
    fn round(sum: f64) -> u32 {
        mma::round_f16(sum).into()
    }
    #[inline(always)]
    fn add(a: u32, b: u32) -> u32 {
        f16::add(a as u16, b as u16, false).into()
    }
}

struct Single;

impl Accumulator for Single {
    #[inline(always)]
    fn decode(bits: u32) -> Element {
        Element::accumulator(bits)
    }
    #[inline(always)]
    fn round(sum: f64) -> u32 {
        mma::round_f32(sum)
    }
    #[inline(always)]
    fn add(a: u32, b: u32) -> u32 {
        single::add(a, b, Rounding::Rn, false)
    }
}

/// One row of C, decoded.
#[inline(always)]
fn accumulators<T: Accumulator>(bits: &[u32; COLUMNS]) -> Columns<COLUMNS> {
    let mut columns = Columns::ZERO;
    for n in 0..COLUMNS {
        let element = T::decode(bits[n]);
        columns.significand[n] = element.significand;
        columns.exponent[n] = element.exponent;
    }
    columns
}

/// A and B as the products of one row of A with one block of columns see them. Rows of B count from the
/// block's first, unless A is sparse by their number in the order of A.
#[derive(Clone, Copy)]
struct RowOf<'a> {
    /// The row of A, all of K that is stored.
    a: &'a [Element],
    b: &'a [Columns<COLUMNS>; ELEMENTS / COLUMNS],
    /// First row of the block in `b`.
    start: usize,
    /// Number of the row.
    row: usize,
    /// For a sparse A: rows of B by elements of A.
    selected: Option<&'a [u16; ROW]>,
}

impl RowOf<'_> {
    #[inline(always)]
    fn b(&self, k: usize) -> &Columns<COLUMNS> {
        &self.b[(self.start + k) % (ELEMENTS / COLUMNS)]
    }

    /// The row of B for element `k` of a sparse A.
    #[inline(always)]
    fn selected(&self, selected: &[u16; ROW], k: usize) -> &Columns<COLUMNS> {
        self.b(usize::from(selected[k % ROW]))
    }

    /// Some elements of A from one on.
    #[inline(always)]
    fn part(&self, from: usize, count: usize) -> &[Element] {
        self.a.get(from..from + count).unwrap_or(&[])
    }
}

/// The arithmetic of one row of A with eight columns of B. A trait, since closures would not be compiled
/// for the SIMD level of their caller.
trait Kernel {
    /// `result` holds C and then D.
    fn row(&self, row: RowOf<'_>, result: &mut [u32; COLUMNS]);
}

/// [`Arithmetic::Fused`] with steps of so many elements.
struct Fused<T>(usize, PhantomData<T>);

impl<T: Accumulator> Kernel for Fused<T> {
    #[inline(always)]
    fn row(&self, row: RowOf<'_>, result: &mut [u32; COLUMNS]) {
        for from in (0..row.a.len()).step_by(self.0) {
            let (a, c) = (row.part(from, self.0), accumulators::<T>(result));
            let sums: [f64; COLUMNS] = match row.selected {
                Some(rows) => mma::fused(a, |k| row.selected(rows, from + k), &c, MMA_FRACTION),
                None => mma::fused(a, |k| row.b(from + k), &c, MMA_FRACTION),
            };
            for n in 0..COLUMNS {
                result[n] = T::round(sums[n]);
            }
        }
    }
}

/// [`Arithmetic::Halves`]
struct Halves<T>(PhantomData<T>);

impl<T: Accumulator> Kernel for Halves<T> {
    #[inline(always)]
    fn row(&self, row: RowOf<'_>, result: &mut [u32; COLUMNS]) {
        let step = row.a.len() / 2;
        let mut sum = [0; COLUMNS];
        for half in 0..2 {
            let from = half * step;
            let (a, c) = (row.part(from, step), accumulators::<T>(&sum));
            let sums: [f64; COLUMNS] = match row.selected {
                // The element of A at this place of the order.
                Some(rows) => {
                    let kept = |k: usize| k / 2 * 4 + half * 2 + k % 2;
                    mma::fused(a, |k| row.selected(rows, kept(k)), &c, MMA_FRACTION)
                }
                None => mma::fused(a, |k| row.b(from + k), &c, MMA_FRACTION),
            };
            for n in 0..COLUMNS {
                sum[n] = T::round(sums[n]);
            }
        }
        for n in 0..COLUMNS {
            result[n] = T::add(sum[n], result[n]);
        }
    }
}

/// [`Arithmetic::Integer`]
struct Integers(bool);

impl Kernel for Integers {
    #[inline(always)]
    fn row(&self, row: RowOf<'_>, result: &mut [u32; COLUMNS]) {
        *result = match row.selected {
            Some(rows) => mma::integers(row.a, |k| row.selected(rows, k), result, self.0),
            None => mma::integers(row.a, |k| row.b(k), result, self.0),
        };
    }
}

/// [`Arithmetic::Bits`]
struct Bits(bool);

impl Kernel for Bits {
    #[inline(always)]
    fn row(&self, row: RowOf<'_>, result: &mut [u32; COLUMNS]) {
        *result = mma::bits(row.a, |k| row.b(k), result, self.0);
    }
}

/// [`Arithmetic::Quad`]: row `r` of the four products takes block `r / 8` of B. With an `.f16` result or not.
struct Quad(bool);

impl Kernel for Quad {
    #[inline(always)]
    fn row(&self, row: RowOf<'_>, result: &mut [u32; COLUMNS]) {
        let Some(a) = row.a.first_chunk::<4>() else { return };
        let a = a.map(|element| element.significand as u16);
        for n in 0..COLUMNS {
            let b = std::array::from_fn(|k| row.b(row.row / 8 * 4 + k).significand[n] as u16);
            result[n] = if self.0 {
                mma::pairs_f16(&a, &b, result[n] as u16).into()
            } else {
                mma::chain_f16(&a, &b, result[n])
            };
        }
    }
}

impl Tile {
    /// All zero.
    pub fn new() -> Box<Tile> {
        let words = || Words { narrow: [[0; WARP_SIZE]; REGISTERS], wide: [[0; WARP_SIZE]; REGISTERS] };
        Box::new(Tile {
            words: std::array::from_fn(|_| words()),
            metadata: [0; WARP_SIZE],
            a: [Element::ZERO; ELEMENTS],
            b: [Columns::ZERO; ELEMENTS / COLUMNS],
            wide: [[0; 256]; 3],
            result: [[0; COLUMNS]; RESULTS / COLUMNS],
        })
    }

    /// Computes the registers of D from those of A, B and C.
    #[inline(always)]
    pub fn multiply(&mut self, op: &Multiply) {
        let half = op.c.ty == ScalarType::F16 && op.d.ty == ScalarType::F16;
        match op.arithmetic {
            Arithmetic::Fused { step } if half => self.rows(op, &Fused::<Half>(step.into(), PhantomData)),
            Arithmetic::Fused { step } => self.rows(op, &Fused::<Single>(step.into(), PhantomData)),
            Arithmetic::Halves if half => self.rows(op, &Halves::<Half>(PhantomData)),
            Arithmetic::Halves => self.rows(op, &Halves::<Single>(PhantomData)),
            Arithmetic::Double(rounding) => self.double(op, rounding),
            Arithmetic::Integer(satfinite) => self.rows(op, &Integers(satfinite)),
            Arithmetic::Bits { and } => self.rows(op, &Bits(and)),
            Arithmetic::Quad => self.rows(op, &Quad(half)),
        }
    }

    /// Decodes, runs a kernel on every row and block of columns, and gathers the result.
    #[inline(always)]
    fn rows(&mut self, op: &Multiply, kernel: &impl Kernel) {
        if op.arithmetic == Arithmetic::Quad {
            raw(&self.words[0], &op.a, &mut self.a);
            raw(&self.words[1], &op.b, &mut self.b);
        } else {
            decode(&self.words[0], &op.a, &mut self.a);
            decode(&self.words[1], &op.b, &mut self.b);
        }
        raw(&self.words[2], &op.c, &mut self.result);
        if op.c.ty == ScalarType::F16 && op.d.ty != ScalarType::F16 {
            for c in self.result.as_flattened_mut() {
                *c = cvt::f32_f16(*c as u16);
            }
        }
        let (m, n, k) = (usize::from(op.shape.0), usize::from(op.shape.1), usize::from(op.shape.2));
        let stored = k >> u32::from(op.sparse.is_some());
        let mut rows = [0; ROW];
        for row in 0..m {
            if let Some(sparse) = op.sparse {
                let (per, selector) = (per_register(op.a.ty), sparse.selector);
                Selection { per, kept: stored, selector }.of_row(&self.metadata, row, &mut rows);
            }
            for block in 0..n / COLUMNS {
                let at = RowOf {
                    a: self.a.get(row * stored..(row + 1) * stored).unwrap_or(&[]),
                    b: &self.b,
                    start: block * k,
                    row,
                    selected: op.sparse.is_some().then_some(&rows),
                };
                kernel.row(at, &mut self.result[(block * m + row) % (RESULTS / COLUMNS)]);
            }
        }
        self.gather(op);
    }

    /// `.f64`, whose elements have planes of their own.
    #[inline(always)]
    fn double(&mut self, op: &Multiply, rounding: Rounding) {
        for (which, operand) in [&op.a, &op.b, &op.c].into_iter().enumerate() {
            for (register, &place) in self.words[which].wide.iter().zip(&operand.places.elements) {
                for (&word, &start) in register.iter().zip(&operand.places.lanes) {
                    self.wide[which][usize::from(start + place) % 256] = word;
                }
            }
        }
        let (m, k) = (usize::from(op.shape.0), usize::from(op.shape.2));
        let [a, b, c] = &mut self.wide;
        for (row, c) in c.chunks_exact_mut(COLUMNS).enumerate().take(m) {
            for (a, b) in a[row * k % 256..].iter().zip(b.chunks_exact(COLUMNS)).take(k) {
                for n in 0..COLUMNS {
                    c[n] = mma::dot_f64(&[*a], &[b[n]], c[n], rounding);
                }
            }
        }
        for (register, &place) in self.words[3].wide.iter_mut().zip(&op.d.places.elements) {
            for (word, &start) in register.iter_mut().zip(&op.d.places.lanes) {
                *word = self.wide[2][usize::from(start + place) % 256];
            }
        }
    }

    /// Registers of D from the result's plane.
    #[inline(always)]
    fn gather(&mut self, op: &Multiply) {
        let per = if op.d.ty == ScalarType::F16 { 2 } else { 1 };
        let narrow = op.d.ty == ScalarType::F16 && op.c.ty != ScalarType::F16;
        if narrow {
            for bits in self.result.as_flattened_mut() {
                *bits = mma::narrow_result(*bits).into();
            }
        }
        for (register, places) in self.words[3].narrow.iter_mut().zip(op.d.places.elements.chunks(per)) {
            for (lane, word) in register.iter_mut().enumerate() {
                let start = op.d.places.lanes[lane];
                *word = places.iter().enumerate().fold(0, |word, (at, &place)| {
                    let place = usize::from(start + place) % RESULTS;
                    word | self.result[place / COLUMNS][place % COLUMNS] << (16 * at)
                });
            }
        }
    }
}
