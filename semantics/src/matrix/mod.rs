//! Matrix instructions: what decoding binds them to, and their arithmetic on the registers of a warp.
//!
//! [`layout`] says which lane holds which element; [`tile`] brings the elements of a warp's registers into
//! planes, multiplies by [`numerics::mma`] and brings the result back; [`panel`] is quicker where fragments are the
//! usual ones. [`warpgroup`] has what `wgmma` finds in shared memory. Nothing here knows of memory
//! or of threads that diverge: that is `ops/matrix`.

mod dispatch;
pub mod layout;
pub mod panel;
mod sparse;
pub mod tile;
pub mod warpgroup;

pub use dispatch::{PanelFns, TileFn};
pub use sparse::Selection;

use ptx_frontend::ScalarType;

use crate::lanes::{Slot, SlotList};
use layout::{Layout, Places};
use numerics::Rounding;

/// How products are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// Fused sums of `step` elements of K each, rounded to the accumulator after each.
    Fused {
        /// Elements of K a step.
        step: u16,
    },
    /// Fused sums in two steps from zero, then an addition of C: fp8.
    Halves,
    /// Chains of fused multiply-adds.
    Double(Rounding),
    /// Integers, with `.satfinite` or without.
    Integer(bool),
    /// Single bits, with `.and` or `.xor`.
    Bits {
        /// `.and`
        and: bool,
    },
    /// `m8n8k4` on `.f16`.
    Quad,
}

/// Registers of one operand and where their elements go.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Type of the elements.
    pub ty: ScalarType,
    /// Registers of a lane; for A, B and C of `wmma` only those that are read.
    pub registers: SlotList,
    /// Where elements lie in the planes of [`tile::Tile`].
    pub places: Places,
}

/// Metadata of a sparse A.
#[derive(Clone, Copy, Debug)]
pub struct Sparse {
    /// The register.
    pub metadata: Slot,
    /// The sparsity selector.
    pub selector: u8,
}

/// `mma`, `mma.sp` or `wmma.mma`.
#[derive(Clone, Debug)]
pub struct Multiply {
    /// M, N and K; `m8n8k4` on `.f16` is one product of M = 32.
    pub shape: (u16, u16, u16),
    /// A
    pub a: Operand,
    /// B
    pub b: Operand,
    /// C
    pub c: Operand,
    /// D
    pub d: Operand,
    /// Metadata, if A is sparse.
    pub sparse: Option<Sparse>,
    /// How products are added up.
    pub arithmetic: Arithmetic,
    /// `tile::Tile::multiply` for the SIMD level.
    pub run: TileFn,
    /// For fragments that [`panel`] takes: the same, quicker.
    pub quick: Option<Quick>,
}

/// A multiplication by [`panel`].
#[derive(Clone, Copy, Debug)]
pub struct Quick {
    /// What is multiplied.
    pub product: panel::Product,
    /// What computes it.
    pub fns: PanelFns,
}

/// One memory access of every lane, part of a `wmma.load` or `wmma.store`.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Bits from the start of the matrix, besides what the lane adds: whole rows (or columns), and bits
    /// within one.
    pub place: (u32, u32),
    /// The registers it fills: for pieces of a register the one of its access.
    pub elements: SlotList,
    /// The register it belongs to, by number, and the bit where the piece lies; 0 for whole registers.
    pub register: u8,
    /// See `register`.
    pub shift: u8,
}

/// Transposes matrices of 8 by 8 halves, of which four lanes hold a row (manual 9.7.14.5.17).
pub fn transpose(word: &[u32; 32]) -> [u32; 32] {
    let half = |row: usize, column: usize| word[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
    std::array::from_fn(|lane| {
        let (column, row) = (lane / 4, lane % 4 * 2);
        half(row, column) | half(row + 1, column) << 16
    })
}

/// Elements of a register of 32 bits (of 64 for `.f64`); single bits count as words.
pub fn per_register(ty: ScalarType) -> u16 {
    match ty {
        ScalarType::U8 | ScalarType::S8 | ScalarType::E4m3 | ScalarType::E5m2 => 4,
        ScalarType::F16 | ScalarType::Bf16 => 2,
        ScalarType::U4 | ScalarType::S4 => 8,
        _ => 1,
    }
}

/// A fragment's registers: elements divided by those of a register.
pub fn registers_of(layout: &Layout, ty: ScalarType) -> usize {
    (layout.count() / usize::from(per_register(ty))).max(1)
}
