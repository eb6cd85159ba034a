//! What a tensor map may hold (CUDA driver API, "Tensor Map Object Management").

use super::map::{Interleave, Mode, RANK, TensorMap};

/// Bytes of shared memory that a block can have.
const MOST: u64 = 227 << 10;

/// Why a tensor map cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum TensorMapError {
    #[error("{0} dimensions: a tensor has 1 to 5, and 3 to 5 with interleaved channels or im2col")]
    Rank(u32),
    #[error("the address {0:#x} is not a multiple of 16 bytes, or of 32 with slices of 32 bytes")]
    Address(u64),
    #[error("dimension {0} has {1} elements: 1 to 2^32 are possible")]
    Extent(usize, u64),
    #[error(
        "the stride of dimension {0}, {1} bytes, is not a multiple of 16 (32 with slices of 32 bytes) below 2^40"
    )]
    Stride(usize, u64),
    #[error("the box has {1} elements in dimension {0}: 1 to 256 are possible")]
    Box(usize, u32),
    #[error("a row of the box has {0} bytes, which is no multiple of 16")]
    Row(u32),
    #[error("a row of the box has {0} bytes, more than the {1} of the swizzle")]
    Swizzle(u32, u32),
    #[error("the box has {0} bytes, more than a block's shared memory")]
    BoxBytes(u64),
    #[error("the bounding box is empty in dimension {0}")]
    Empty(usize),
    #[error("every {1}th element in dimension {0}: 1 to 8 are possible")]
    Step(usize, u32),
    #[error("elements that are integers cannot be filled with NaN")]
    Fill,
    #[error("{0} channels of a pixel: 1 to 256 are possible")]
    Channels(u32),
    #[error("{0} pixels of a column: 1 to 1024 are possible")]
    Pixels(u32),
    #[error("a corner of the bounding box at {0}")]
    Corner(i32),
}

impl TensorMap {
    /// Whether a tensor without slices may begin at an address.
    pub fn may_begin_at(address: u64) -> bool {
        address.is_multiple_of(16) && address < 1 << 57
    }

    /// Whether a device takes it.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.rank as usize;
        let images = matches!(self.mode, Mode::Im2col { .. });
        let least = if images || self.interleave != Interleave::None { 3 } else { 1 };
        if !(least..=RANK).contains(&rank) {
            return Err(TensorMapError::Rank(self.rank));
        }
        let unit = u64::from(self.interleave.slice().unwrap_or(16));
        if !self.address.is_multiple_of(unit) || !Self::may_begin_at(self.address) {
            return Err(TensorMapError::Address(self.address));
        }
        for (at, &extent) in self.extents.iter().take(rank).enumerate() {
            if extent == 0 || extent > 1 << 32 {
                return Err(TensorMapError::Extent(at, extent));
            }
        }
        for (at, &stride) in self.strides.iter().take(rank - 1).enumerate() {
            if !stride.is_multiple_of(unit) || stride >= 1 << 40 {
                return Err(TensorMapError::Stride(at + 1, stride));
            }
        }
        for (at, &step) in self.steps.iter().take(rank).enumerate() {
            if !(1..=8).contains(&step) {
                return Err(TensorMapError::Step(at, step));
            }
        }
        if self.fill_nan && !self.element.is_float() {
            return Err(TensorMapError::Fill);
        }
        let row = match self.mode {
            Mode::Tiled { extents } => {
                let wrong = |&(_, &extent): &(usize, &u32)| extent == 0 || extent > 256;
                if let Some((at, &extent)) = extents.iter().take(rank).enumerate().find(wrong) {
                    return Err(TensorMapError::Box(at, extent));
                }
                extents[0] * self.element.bytes()
            }
            Mode::Im2col { lower, upper, channels, pixels } => {
                if !(1..=256).contains(&channels) {
                    return Err(TensorMapError::Channels(channels));
                }
                if !(1..=1024).contains(&pixels) {
                    return Err(TensorMapError::Pixels(pixels));
                }
                // 16, 8 or 5 bits for each of one, two or three dimensions (ISA 5.5.4.1).
                let limit = [1 << 15, 1 << 7, 1 << 4][rank - 3];
                let corners = lower.iter().take(rank - 2).chain(upper.iter().take(rank - 2));
                if let Some(&corner) = corners.into_iter().find(|&&at| !(-limit..limit).contains(&at)) {
                    return Err(TensorMapError::Corner(corner));
                }
                let layout = self.layout();
                for at in layout.spatial(self) {
                    // In numbers of 32 bits, as a driver counts.
                    let end = (layout.extents[at] as i32).wrapping_add(upper[at - 1]);
                    if lower[at - 1] >= end {
                        return Err(TensorMapError::Empty(at));
                    }
                }
                channels * self.element.bytes()
            }
        };
        let bytes = self.elements_of_box() * u64::from(self.element.bytes());
        if bytes > MOST {
            return Err(TensorMapError::BoxBytes(bytes));
        }
        if row % 16 != 0 {
            return Err(TensorMapError::Row(row));
        }
        let span = self.swizzle.span().filter(|_| self.interleave == Interleave::None);
        if let Some(span) = span.filter(|&span| row > span) {
            return Err(TensorMapError::Swizzle(row, span));
        }
        Ok(())
    }

    /// Elements of the box as a driver counts them: also those of interleaved channels that a copy leaves out, but not the last
    /// of a row of steps that the box cuts short.
    fn elements_of_box(&self) -> u64 {
        let rank = self.rank as usize;
        match self.mode {
            Mode::Tiled { extents } => {
                let mut counts: [u32; RANK] = std::array::from_fn(|at| extents[at] / self.steps[at].max(1));
                if self.interleave == Interleave::None {
                    counts[0] = extents[0];
                }
                counts[..rank].iter().map(|&count| u64::from(count)).product()
            }
            Mode::Im2col { channels, pixels, .. } => u64::from(channels) * u64::from(pixels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor_map::ElementType;

    /// What an H200's driver (580.159) answers.
    #[test]
    fn boxes_are_counted_as_by_a_driver() {
        let interleaved = |interleave, element, tile: [u32; 5]| {
            let strides = [512, 121_856, 27_173_888, 3_233_692_672];
            let map = TensorMap::tiled(element, 0x1000, &[246, 238, 223, 119, 111], &strides, &tile);
            TensorMap { interleave, ..map }.check()
        };
        // Copies of 256 and 392 KB, of which it counts 8 and 49.
        assert_eq!(interleaved(Interleave::B32, ElementType::U8, [128, 4, 4, 1, 4]), Ok(()));
        assert_eq!(interleaved(Interleave::B16, ElementType::F16, [56, 7, 64, 1, 1]), Ok(()));
        // A copy takes one slice, whatever the box says; it counts five.
        let five = interleaved(Interleave::B16, ElementType::F64, [56, 6, 7, 5, 8]);
        assert_eq!(five, Err(TensorMapError::BoxBytes(752_640)));
    }

    #[test]
    fn steps_that_a_box_cuts_short_are_not_counted() {
        let strides = [496, 80_848, 13_905_888, 3_184_448_368];
        let tile = [12, 12, 10, 11, 16];
        let map = TensorMap::tiled(ElementType::F32, 0x1000, &[114, 163, 172, 229, 93], &strides, &tile);
        assert_eq!(TensorMap { steps: [1, 5, 1, 1, 1], ..map }.check(), Ok(()));
        assert_eq!(
            TensorMap { steps: [1, 3, 1, 1, 1], ..map }.check(),
            Err(TensorMapError::BoxBytes(337_920))
        );
    }

    #[test]
    fn addresses_have_57_bits() {
        let map = |address| TensorMap::tiled(ElementType::F32, address, &[64], &[], &[16]).check();
        assert_eq!([map((1 << 57) - 16), map(1 << 57)], [Ok(()), Err(TensorMapError::Address(1 << 57))]);
    }

    #[test]
    fn boxes_beyond_all_numbers_are_refused() {
        let map = TensorMap::tiled(ElementType::F64, 0x1000, &[48], &[], &[u32::MAX]);
        assert_eq!(map.check(), Err(TensorMapError::Box(0, u32::MAX)));
    }
}
