//! How the memory is divided that a program puts behind an array: tiles, and the levels that are smaller than one.
//!
//! A device keeps arrays in blocks of 64 bytes and eight rows, up to sixteen of them high and deep. What it says of sizes comes
//! from that (`tests`: an H200's answers).

use crate::shape::ArrayShape;

/// Bytes of a tile, of which mappings are made.
pub const TILE_BYTES: u64 = 65_536;

/// What is said of a sparse array (`CUDA_ARRAY_SPARSE_PROPERTIES`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SparseProperties {
    /// Elements of a tile.
    pub tile: [usize; 3],
    /// The first level that is mapped with those behind it, as their tail.
    pub first_of_tail: u32,
    /// Bytes of the tail, of a layer or, if all of it is tail, of all layers; 0 if there is none.
    pub tail_bytes: u64,
    /// Whether all layers have one tail.
    pub one_tail: bool,
}

/// Blocks in which a device keeps a shape: how many bytes it has of them, and bytes of one that is as high as it may be.
struct Blocked {
    bytes: u64,
    block: u64,
}

fn blocked(shape: &ArrayShape) -> Blocked {
    let is_volume = shape.depth > 0 && !shape.is_layered();
    let (highest, deepest) = if is_volume { (4, 16) } else { (16, 1) };
    let high = shape.rows().div_ceil(8);
    let deep = if is_volume { shape.depth } else { 1 };
    let [by_height, by_depth] =
        [(high, highest), (deep, deepest)].map(|(count, most)| count.next_power_of_two().min(most));
    let rows = high.next_multiple_of(by_height) * 8;
    let bytes = shape.row().next_multiple_of(64) * rows * deep.next_multiple_of(by_depth);
    Blocked { bytes: bytes as u64, block: (64 * 8 * by_height) as u64 }
}

impl ArrayShape {
    /// Layers or faces; 1 of what has none.
    pub(crate) fn layers(&self) -> usize {
        if self.is_layered() { self.depth.max(1) } else { 1 }
    }

    /// Slices of a layer.
    pub(crate) fn slices(&self) -> usize {
        if self.is_layered() { 1 } else { self.depth.max(1) }
    }

    /// Elements of a tile.
    pub(crate) fn tile(&self) -> [usize; 3] {
        let bytes = self.element.bytes().max(1);
        // Each halving of a tile's elements halves another dimension.
        let halvings = bytes.ilog2() as usize;
        let [wide, high, deep] = if self.depth > 0 && !self.is_layered() {
            [64 >> halvings.div_ceil(3), 32 >> (halvings / 3), 32 >> ((halvings + 1) / 3)]
        } else {
            [256 >> (halvings / 2), 256 >> halvings.div_ceil(2), 1]
        };
        let side = self.element.side();
        [wide * side, high * side, deep]
    }

    fn is_smaller_than_a_tile(&self) -> bool {
        let [wide, high, deep] = self.tile();
        self.width < wide || self.height < high || self.slices() < deep
    }

    /// What is said of it as a sparse array of so many levels; of none if it is no mipmapped array.
    pub(crate) fn sparse(&self, levels: Option<u32>) -> SparseProperties {
        let count = levels.unwrap_or(1);
        let first = (0..count).find(|&level| self.level(level).is_smaller_than_a_tile()).unwrap_or(count);
        let one_tail = first == 0;
        let of_layer: u64 = (first..count).map(|level| blocked(&self.level(level)).bytes).sum();
        let layers = if one_tail { self.layers() as u64 } else { 1 };
        SparseProperties {
            tile: self.tile(),
            first_of_tail: if levels.is_some() { first } else { 0 },
            tail_bytes: (of_layer * layers).next_multiple_of(TILE_BYTES),
            one_tail,
        }
    }

    /// Bytes of memory that it needs as an array of so many levels that waits for it.
    pub(crate) fn needed(&self, levels: u32) -> u64 {
        let of_layer: u64 = (0..levels).map(|level| blocked(&self.level(level)).bytes).sum();
        let layers = self.layers() as u64;
        let apart = if layers > 1 { blocked(self).block } else { 1 };
        (of_layer.next_multiple_of(apart) * layers).next_multiple_of(TILE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use crate::shape::{ArrayShape, Element, array_flags};

    fn shape([width, height, depth]: [usize; 3], format: u32, channels: u32, flags: u32) -> ArrayShape {
        ArrayShape { width, height, depth, element: Element::of_number(format, channels).unwrap(), flags }
    }

    /// What an H200's driver (580.159) says of sparse arrays: tile, and of five levels the first of the tail, its bytes.
    #[test]
    fn tiles_and_tails_are_a_devices() {
        let layered = array_flags::LAYERED;
        for (extents, format, channels, flags, tile, first, bytes, alone) in [
            ([4096, 4096, 0], 3, 1, 0, [128, 128, 1], 5, 0, 0),
            ([4096, 4096, 0], 1, 1, 0, [256, 256, 1], 5, 0, 0),
            ([4096, 4096, 0], 2, 1, 0, [256, 128, 1], 5, 0, 0),
            ([4096, 4096, 0], 0x20, 2, 0, [128, 64, 1], 5, 0, 0),
            ([4096, 4096, 0], 0x20, 4, 0, [64, 64, 1], 5, 0, 0),
            ([100, 70, 0], 3, 1, 0, [128, 128, 1], 0, 131_072, 65_536),
            ([256, 256, 64], 3, 1, 0, [32, 32, 16], 3, 65_536, 0),
            ([256, 256, 64], 1, 1, 0, [64, 32, 32], 2, 131_072, 0),
            ([256, 256, 64], 2, 1, 0, [32, 32, 32], 2, 196_608, 0),
            ([256, 256, 64], 0x20, 2, 0, [32, 16, 16], 3, 131_072, 0),
            ([256, 256, 64], 0x20, 4, 0, [16, 16, 16], 3, 196_608, 0),
            ([512, 512, 6], 3, 1, layered, [128, 128, 1], 3, 65_536, 0),
            ([512, 512, 0], 0x91, 4, 0, [512, 256, 1], 1, 65_536, 0),
            ([512, 512, 0], 0x50, 4, 0, [128, 128, 1], 3, 65_536, 0),
            ([16, 16, 0], 3, 1, 0, [128, 128, 1], 0, 65_536, 65_536),
        ] {
            let shape = shape(extents, format, channels, flags);
            let found = shape.sparse(Some(5));
            assert_eq!(
                (found.tile, found.first_of_tail, found.tail_bytes),
                (tile, first, bytes),
                "{extents:?}"
            );
            assert_eq!(found.one_tail, first == 0, "{extents:?}");
            let found = shape.sparse(None);
            assert_eq!((found.first_of_tail, found.tail_bytes), (0, alone), "{extents:?}");
        }
    }

    /// The same of arrays that wait for their memory: bytes of one level, and of five.
    #[test]
    fn what_is_needed_is_what_a_device_says() {
        for (extents, format, flags, one, five) in [
            ([512, 512, 0], 3, 0, 1_048_576, 1_441_792),
            ([512, 0, 0], 3, 0, 65_536, 65_536),
            ([64, 64, 64], 3, 0, 1_048_576, 1_245_184),
            ([512, 512, 6], 3, array_flags::LAYERED, 6_291_456, 8_454_144),
            ([100, 70, 0], 1, 0, 65_536, 65_536),
        ] {
            let shape = shape(extents, format, 1, flags);
            let levels = shape.most_levels().min(5);
            assert_eq!((shape.needed(1), shape.needed(levels)), (one, five), "{extents:?}");
        }
    }
}
