//! `wgmma`: what it multiplies, and where its matrices lie in shared memory (manual 9.7.15.5.1.2).

use super::PanelFns;
use super::panel::Product;
use crate::lanes::{Pred, Slot, SlotList};

/// Where the rows of A are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// In registers.
    Registers(SlotList),
    /// In shared memory.
    Shared(Operand),
}

/// A matrix in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// Its descriptor.
    pub descriptor: Slot,
    /// Whether M or N runs through consecutive bytes (`imm-trans`), not K.
    pub across: bool,
}

/// `wgmma.mma_async`, dense or sparse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// What is multiplied.
    pub product: Product,
    /// Columns.
    pub n: u16,
    /// A
    pub a: Rows,
    /// B
    pub b: Operand,
    /// The accumulators.
    pub d: SlotList,
    /// Whether they count, or are taken as zero (`scale-d`).
    pub scale_d: Pred,
    /// Metadata, if A is sparse.
    pub metadata: Option<Slot>,
}

/// [`Shape`] with its functions for the SIMD level.
#[derive(Clone, Debug)]
pub struct Warpgroup {
    /// What it is.
    pub shape: Shape,
    /// The registers of D, and of A, by their numbers among the code's accumulators.
    pub registers: [Vec<u32>; 2],
    /// What computes it.
    pub fns: PanelFns,
}

/// Bytes that are moved together.
pub const CHUNK: u32 = 16;
/// Bits of an address that a descriptor and its offsets can make.
const ADDRESS: u32 = 0x3_ffff;

/// A matrix descriptor (manual 9.7.15.5.1.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    base: u32,
    /// Chunks of a swizzled row, as a power of two.
    swizzle: u32,
}

impl Descriptor {
    /// From a register.
    pub const fn new(bits: u64) -> Descriptor {
        Descriptor {
            start: (bits as u32 & 0x3fff) << 4,
            leading: ((bits >> 16) as u32 & 0x3fff) << 4,
            stride: ((bits >> 32) as u32 & 0x3fff) << 4,
            base: (bits >> 49) as u32 & 7,
            swizzle: match bits >> 62 {
                0 => 0,
                mode => 4 - mode as u32,
            },
        }
    }

    /// Where the chunk of a row of A or a column of B is whose elements follow each other along K.
    pub const fn along(self, row: u32, chunk: u32) -> u32 {
        let group = row / 8 * self.stride;
        let row = row % 8 * (CHUNK << self.swizzle);
        // Only a column of B for a sparse A is longer than a swizzled row may be.
        let (inside, outside) = self.split(chunk);
        self.swizzled(self.start + group + row + inside * CHUNK + outside * self.leading)
    }

    /// Where the chunk is that holds eight rows of A or columns of B for one element of K.
    pub const fn across(self, chunk: u32, k: u32) -> u32 {
        let (inside, outside) = self.split(chunk);
        // Without swizzling the two offsets change their roles.
        let (outer, along) =
            if self.swizzle == 0 { (self.stride, self.leading) } else { (self.leading, self.stride) };
        let k = k % 8 * (CHUNK << self.swizzle) + k / 8 * along;
        self.swizzled(self.start + inside * CHUNK + outside * outer + k)
    }

    /// A chunk's number in its swizzled row, and that of the row.
    const fn split(self, chunk: u32) -> (u32, u32) {
        (chunk & ((1 << self.swizzle) - 1), chunk >> self.swizzle)
    }

    /// Chunks of 128 bytes change places by the number of those 128 bytes, counted from the start of the pattern.
    const fn swizzled(self, address: u32) -> u32 {
        let row = (address / 128).wrapping_sub(self.base);
        (address ^ ((row & ((1 << self.swizzle) - 1)) * CHUNK)) & ADDRESS
    }
}
