//! The dimensions through which a copy goes.

use super::map::{Interleave, Mode, RANK, TensorMap};

/// Dimensions at most: one more than a tensor has, for slices of channels.
pub(super) const DIMENSIONS: usize = RANK + 1;

/// A tensor's dimensions as they lie in memory, innermost first, and what a copy takes of them.
///
/// Interleaved channels (ISA 5.5.6) lie in slices of 16 or 32 bytes: the elements of a slice are a dimension of their own,
/// width, height and depth come next, then the slices and the images. Coordinates and extents count slices; of the box's
/// extent in them a device takes no notice, and copies one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(super) rank: usize,
    /// Elements in each dimension.
    pub(super) extents: [u64; DIMENSIONS],
    /// Bytes from one element to the next.
    pub(super) strides: [u64; DIMENSIONS],
    /// Elements that a copy takes; of im2col, of a pixel, and pixels.
    pub(super) counts: [u32; DIMENSIONS],
    /// Elements from one that is taken to the next.
    pub(super) steps: [u32; DIMENSIONS],
    /// Bytes from a row of the box to the next in shared memory.
    pub(super) pitch: u32,
}

impl Layout {
    /// Bytes of a row: elements that lie side by side.
    pub(super) fn row(&self) -> u32 {
        self.counts[0] * self.strides[0] as u32
    }

    /// Rows of a copy.
    pub(super) fn rows(&self) -> u32 {
        self.counts[1..].iter().product()
    }

    /// Width, height and depth of im2col.
    pub(super) fn spatial(&self, map: &TensorMap) -> std::ops::Range<usize> {
        1..(map.rank as usize).saturating_sub(1)
    }

    /// Adds a dimension of the tensor.
    fn push(&mut self, [extent, stride]: [u64; 2], [count, step]: [u32; 2]) {
        self.extents[self.rank] = extent;
        self.strides[self.rank] = stride;
        self.counts[self.rank] = count;
        self.steps[self.rank] = step;
        self.rank += 1;
    }
}

impl TensorMap {
    /// Its dimensions in memory.
    pub(crate) fn layout(&self) -> Layout {
        let size = self.element.bytes();
        let mut layout = Layout {
            rank: 0,
            extents: [1; DIMENSIONS],
            strides: [0; DIMENSIONS],
            counts: [1; DIMENSIONS],
            steps: [1; DIMENSIONS],
            pitch: 0,
        };
        let slice = self.interleave.slice();
        if let Some(bytes) = slice {
            layout.push([(bytes / size).into(), size.into()], [bytes / size, 1]);
        }
        let rank = self.rank as usize;
        for dimension in 0..rank {
            let stride = match dimension {
                0 => u64::from(slice.unwrap_or(size)),
                _ => self.strides[dimension - 1],
            };
            let count = match self.mode {
                Mode::Im2col { channels, .. } if layout.rank == 0 => channels,
                Mode::Im2col { pixels, .. } if layout.rank == 1 => pixels,
                Mode::Im2col { .. } => 1,
                Mode::Tiled { .. } if slice.is_some() && dimension + 2 == rank => 1,
                // The innermost dimension has no steps (ISA 5.5.3.2).
                Mode::Tiled { extents } if layout.rank == 0 => extents[0],
                Mode::Tiled { extents } => extents[dimension].div_ceil(self.steps[dimension].max(1)),
            };
            layout.push([self.extents[dimension], stride], [count, self.steps[dimension]]);
        }
        // A swizzle's span, however short the row; slices lie side by side.
        let span = self.swizzle.span().filter(|_| self.interleave == Interleave::None);
        layout.pitch = span.unwrap_or(layout.row());
        layout
    }

    /// Bytes that a copy moves, what lies outside the tensor included.
    pub fn box_bytes(&self) -> u32 {
        let layout = self.layout();
        layout.row() * layout.rows()
    }
}
