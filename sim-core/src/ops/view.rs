//! One face for the memories that lanes load from and store to.

use crate::memory::{Cells, Wide};
use semantics::lanes::Row;

/// Reads and writes of 1, 2, 4 or 8 bytes at aligned offsets that were found to be inside.
pub(crate) trait View {
    /// Whether the same offset is another place for each lane.
    const PER_LANE: bool = false;
    /// Whether the elements of a vector should be moved at once, up to 16 bytes.
    const WHOLE: bool = false;

    fn load(&self, lane: usize, at: u64, size: u32) -> u64;
    fn store(&mut self, lane: usize, at: u64, size: u32, value: u64);

    /// Reads 16 bytes.
    #[inline(always)]
    fn load_wide(&self, lane: usize, at: u64) -> u128 {
        u128::from(self.load(lane, at, 8)) | u128::from(self.load(lane, at + 8, 8)) << 64
    }

    /// Writes 16 bytes.
    #[inline(always)]
    fn store_wide(&mut self, lane: usize, at: u64, value: u128) {
        self.store(lane, at, 8, value as u64);
        self.store(lane, at + 8, 8, (value >> 64) as u64);
    }

    /// Replaces a value by a function of it as one step; returns the old one.
    #[inline(always)]
    fn update(&mut self, lane: usize, at: u64, size: u32, mut new: impl FnMut(u64) -> u64) -> u64 {
        let old = self.load(lane, at, size);
        self.store(lane, at, size, new(old));
        old
    }

    /// Replaces a value if it is the expected one; returns the old one.
    #[inline(always)]
    fn compare_exchange(&mut self, lane: usize, at: u64, size: u32, expected: u64, new: u64) -> u64 {
        self.update(lane, at, size, |old| if old == expected { new } else { old })
    }

    /// The same for 16 bytes.
    fn update_wide(&mut self, lane: usize, at: u64, new: impl Fn(u128) -> u128) -> u128 {
        let old = self.load_wide(lane, at);
        self.store_wide(lane, at, new(old));
        old
    }
}

/// An allocation of global memory; offsets count from its base.
pub(crate) struct GlobalView<'a> {
    pub cells: &'a Cells,
    pub wide: Wide,
    pub exclusive: bool,
}

impl View for GlobalView<'_> {
    const WHOLE: bool = true;

    #[inline(always)]
    fn load(&self, _lane: usize, at: u64, size: u32) -> u64 {
        self.cells.load(at, size)
    }

    #[inline(always)]
    fn store(&mut self, _lane: usize, at: u64, size: u32, value: u64) {
        self.cells.store(at, size, value, self.exclusive);
    }

    #[inline(always)]
    fn load_wide(&self, _lane: usize, at: u64) -> u128 {
        self.cells.load_wide(at, self.wide)
    }

    #[inline(always)]
    fn store_wide(&mut self, _lane: usize, at: u64, value: u128) {
        self.cells.store_wide(at, value, self.wide);
    }

    #[inline(always)]
    fn update(&mut self, _lane: usize, at: u64, size: u32, mut new: impl FnMut(u64) -> u64) -> u64 {
        let word = (at >> 2) as usize;
        match size {
            4 => u64::from(self.cells.update(word, self.exclusive, |old| new(u64::from(old)) as u32)),
            8 => self.cells.update_double(word, self.exclusive, new),
            _ => {
                let shift = 8 * (at & 2);
                let old = self.cells.update(word, self.exclusive, |old| {
                    let part = new(u64::from(old >> shift & 0xffff)) as u32 & 0xffff;
                    old & !(0xffff << shift) | part << shift
                });
                u64::from(old >> shift & 0xffff)
            }
        }
    }

    fn update_wide(&mut self, _lane: usize, at: u64, new: impl Fn(u128) -> u128) -> u128 {
        self.cells.update_wide(at, self.wide, self.exclusive, new)
    }
}

/// Bytes that only the running block uses: shared memory, or kernel parameters.
pub(crate) struct ByteView<'a> {
    pub bytes: &'a mut [u8],
}

impl View for ByteView<'_> {
    const WHOLE: bool = true;

    #[inline(always)]
    fn load(&self, _lane: usize, at: u64, size: u32) -> u64 {
        let bytes = &self.bytes[at as usize..][..size as usize];
        match size {
            4 => u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            8 => u64::from_le_bytes([
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
            ]),
            2 => u64::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            _ => u64::from(bytes[0]),
        }
    }

    #[inline(always)]
    fn store(&mut self, _lane: usize, at: u64, size: u32, value: u64) {
        self.bytes[at as usize..][..size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
    }
}

/// Local memory of a warp, interleaved by lane.
pub(crate) struct LocalView<'a> {
    pub rows: &'a mut [Row],
}

impl View for LocalView<'_> {
    const PER_LANE: bool = true;

    #[inline(always)]
    fn load(&self, lane: usize, at: u64, size: u32) -> u64 {
        let word = (at >> 2) as usize;
        let low = self.rows[word].0[lane];
        match size {
            4 => u64::from(low),
            8 => u64::from(low) | u64::from(self.rows[word + 1].0[lane]) << 32,
            2 => u64::from((low >> (8 * (at & 2))) as u16),
            _ => u64::from((low >> (8 * (at & 3))) as u8),
        }
    }

    #[inline(always)]
    fn store(&mut self, lane: usize, at: u64, size: u32, value: u64) {
        let word = (at >> 2) as usize;
        match size {
            4 => self.rows[word].0[lane] = value as u32,
            8 => {
                self.rows[word].0[lane] = value as u32;
                self.rows[word + 1].0[lane] = (value >> 32) as u32;
            }
            _ => {
                let (shift, ones) = if size == 2 { (8 * (at & 2), 0xffffu32) } else { (8 * (at & 3), 0xff) };
                let cell = &mut self.rows[word].0[lane];
                *cell = *cell & !(ones << shift) | (value as u32 & ones) << shift;
            }
        }
    }
}
