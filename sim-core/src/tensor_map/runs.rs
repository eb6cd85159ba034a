//! Where the elements of a copy lie.

use super::map::{Mode, RANK, TensorMap};

/// Elements side by side in shared memory, and in global memory if they are in the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// Address in global memory; `None` outside the tensor.
    pub global: Option<u64>,
    /// Offset in the box as it lies in shared memory without swizzle.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
}

/// Where a copy begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Start {
    /// Coordinates in the tensor.
    pub coordinates: [i32; RANK],
    /// Of im2col: what is added to the pixels' coordinates: width, height, depth.
    pub offsets: [u16; 3],
}

impl TensorMap {
    /// Tells the runs of elements of a copy, in the order of shared memory, until one says to stop.
    ///
    /// # Errors
    /// What the run that stopped said.
    pub(crate) fn runs<E>(&self, start: Start, mut run: impl FnMut(Run) -> Result<(), E>) -> Result<(), E> {
        let counts = self.counts();
        let row = counts[0] * self.element.bytes();
        let rows = counts[1..].iter().product::<u32>();
        let mut pixel = start.coordinates.map(i64::from);
        for number in 0..rows {
            let at = match self.mode {
                Mode::Tiled { .. } => {
                    let mut rest = number;
                    std::array::from_fn(|dimension| {
                        let first = i64::from(start.coordinates[dimension]);
                        if dimension == 0 {
                            return first;
                        }
                        let index = rest % counts[dimension];
                        rest /= counts[dimension];
                        first + i64::from(index) * i64::from(self.steps[dimension])
                    })
                }
                Mode::Im2col { lower, upper, .. } => {
                    let now = self.moved(pixel, start.offsets);
                    self.next_pixel(&mut pixel, lower, upper);
                    now
                }
            };
            self.row(at, row, number * self.pitch(), &mut run)?;
        }
        Ok(())
    }

    /// A pixel's coordinates with the offsets added.
    fn moved(&self, mut pixel: [i64; RANK], offsets: [u16; 3]) -> [i64; RANK] {
        let spatial = self.rank as usize - 2;
        pixel[1..].iter_mut().zip(offsets).take(spatial).for_each(|(at, offset)| *at += i64::from(offset));
        pixel
    }

    /// Goes on to the next pixel in the bounding box, from width to height to depth to the next image.
    fn next_pixel(&self, pixel: &mut [i64; RANK], lower: [i32; 3], upper: [i32; 3]) {
        let spatial = self.rank as usize - 2;
        for dimension in 1..=spatial {
            pixel[dimension] += i64::from(self.steps[dimension]);
            let last = self.extents[dimension] as i64 - 1 + i64::from(upper[dimension - 1]);
            if pixel[dimension] <= last {
                return;
            }
            pixel[dimension] = i64::from(lower[dimension - 1]);
        }
        pixel[spatial + 1] += 1;
    }

    /// The runs of a row of the box: outside the tensor, inside, outside again.
    fn row<E>(
        &self,
        at: [i64; RANK],
        bytes: u32,
        offset: u32,
        run: &mut impl FnMut(Run) -> Result<(), E>,
    ) -> Result<(), E> {
        let rank = self.rank as usize;
        let size = i64::from(self.element.bytes());
        let inside = (1..rank).all(|dimension| (0..self.extents[dimension] as i64).contains(&at[dimension]));
        let (start, count) = (at[0], i64::from(bytes) / size);
        let extent = self.extents[0] as i64;
        let first = if inside { (-start).clamp(0, count) } else { count };
        let last = (extent - start).clamp(first, count);
        let mut address = self.address.wrapping_add((start.wrapping_mul(size)) as u64);
        for (&at, &stride) in at[1..rank].iter().zip(&self.strides) {
            address = address.wrapping_add((at as u64).wrapping_mul(stride));
        }
        let mut tell = |from: i64, to: i64, inside: bool| {
            let skip = (from * size) as u32;
            let global = inside.then(|| address.wrapping_add(u64::from(skip)));
            let told = Run { global, offset: offset + skip, bytes: ((to - from) * size) as u32 };
            if from < to { run(told) } else { Ok(()) }
        };
        tell(0, first, false)?;
        tell(first, last, true)?;
        tell(last.max(first), count, false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::{ElementType, TensorMap};
    use super::*;

    fn runs(map: &TensorMap, coordinates: [i32; RANK], offsets: [u16; 3]) -> Vec<Run> {
        let mut found = Vec::new();
        let done = map.runs(Start { coordinates, offsets }, |run| {
            found.push(run);
            Ok::<(), ()>(())
        });
        assert_eq!(done, Ok(()));
        found
    }

    /// Element by element, as the manual has it.
    #[test]
    fn a_box_at_any_place_is_that_of_the_definition() {
        let map = TensorMap {
            steps: [1, 2, 1, 1, 1],
            ..TensorMap::tiled(ElementType::F32, 0x1000, &[10, 7, 3], &[64, 512], &[8, 4, 2])
        };
        for c0 in [-8, -4, 0, 4, 8, 12] {
            for c1 in [-3, 0, 1, 5, 7] {
                for c2 in [-1, 0, 2] {
                    let mut expected = Vec::new();
                    for (z, y, x) in
                        (0..2).flat_map(|z| (0..2).flat_map(move |y| (0..8).map(move |x| (z, y, x))))
                    {
                        let (x, y, z) = (c0 + x, c1 + 2 * y, c2 + z);
                        let inside = (0..10).contains(&x) && (0..7).contains(&y) && (0..3).contains(&z);
                        expected.push(inside.then(|| (0x1000 + 4 * x + 64 * y + 512 * z) as u64));
                    }
                    let mut found = Vec::new();
                    for run in runs(&map, [c0, c1, c2, 0, 0], [0; 3]) {
                        assert_eq!(run.offset as usize, 4 * found.len());
                        let words = 0..u64::from(run.bytes / 4);
                        found.extend(words.map(|word| run.global.map(|global| global + 4 * word)));
                    }
                    assert_eq!(found, expected, "at {c0}, {c1}, {c2}");
                }
            }
        }
    }

    /// The first example of ISA 5.5.4.1: the bounding box is one pixel larger on the low side.
    #[test]
    fn pixels_go_through_the_bounding_box() {
        let map = TensorMap {
            mode: Mode::Im2col { lower: [-1, -1, 0], upper: [-1, -1, 0], channels: 8, pixels: 20 },
            ..TensorMap::tiled(ElementType::U16, 0, &[64, 9, 14, 64], &[128, 1152, 16128], &[])
        };
        let found = runs(&map, [0, 7, 12, 0, 0], [0; 3]);
        let place = |w: u64, h: u64, n: u64| Some(128 * w + 1152 * h + 16128 * n);
        assert_eq!(found.len(), 20);
        assert_eq!(found[0].global, place(7, 12, 0));
        // Width ends at 9 - 1 - 1 = 7, height at 14 - 1 - 1 = 12: the next image begins at -1, -1.
        assert!(found[1..=10].iter().all(|run| run.global.is_none()), "height -1, then width -1 of height 0");
        assert_eq!(found[11].global, place(0, 0, 1));
    }
}
