//! Where the elements of a copy lie.

use super::layout::{DIMENSIONS, Layout};
use super::map::{Interleave, Mode, RANK, TensorMap};

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
        let layout = self.layout();
        let mut pixel = self.first(start);
        for number in 0..layout.rows() {
            let at = match self.mode {
                Mode::Tiled { .. } => {
                    let mut rest = number;
                    std::array::from_fn(|dimension| {
                        if dimension == 0 {
                            return pixel[0];
                        }
                        let index = rest % layout.counts[dimension];
                        rest /= layout.counts[dimension];
                        pixel[dimension] + i64::from(index) * i64::from(layout.steps[dimension])
                    })
                }
                Mode::Im2col { lower, upper, .. } => {
                    let mut now = pixel;
                    for (dimension, offset) in layout.spatial(self).zip(start.offsets) {
                        now[dimension] += i64::from(offset);
                    }
                    self.next_pixel(&layout, &mut pixel, lower, upper);
                    now
                }
            };
            row(self, &layout, at, number * layout.pitch, &mut run)?;
        }
        Ok(())
    }

    /// Where a copy begins, in the dimensions of its layout: at the first element of a slice.
    fn first(&self, start: Start) -> [i64; DIMENSIONS] {
        let skipped = usize::from(self.interleave != Interleave::None);
        let mut first = [0; DIMENSIONS];
        first[skipped..].iter_mut().zip(start.coordinates).for_each(|(to, from)| *to = from.into());
        first
    }

    /// The dimension, from 1 for the width, in which a copy of im2col begins outside the bounding box.
    pub(crate) fn outside(&self, start: Start) -> Option<usize> {
        let Mode::Im2col { lower, upper, .. } = self.mode else { return None };
        let layout = self.layout();
        let first = self.first(start);
        layout.spatial(self).find(|&at| {
            let last = layout.extents[at] as i64 - 1 + i64::from(upper[at - 1]);
            !(i64::from(lower[at - 1])..=last).contains(&first[at])
        })
    }

    /// Goes on to the next pixel in the bounding box, from width to height to depth to the next image.
    fn next_pixel(&self, layout: &Layout, pixel: &mut [i64; DIMENSIONS], lower: [i32; 3], upper: [i32; 3]) {
        for dimension in layout.spatial(self) {
            pixel[dimension] += i64::from(layout.steps[dimension]);
            let last = layout.extents[dimension] as i64 - 1 + i64::from(upper[dimension - 1]);
            if pixel[dimension] <= last {
                return;
            }
            pixel[dimension] = i64::from(lower[dimension - 1]);
        }
        let image = layout.rank - 1;
        pixel[image] += i64::from(layout.steps[image]);
    }
}

/// The runs of a row of the box: outside the tensor, inside, outside again.
fn row<E>(
    map: &TensorMap,
    layout: &Layout,
    at: [i64; DIMENSIONS],
    offset: u32,
    run: &mut impl FnMut(Run) -> Result<(), E>,
) -> Result<(), E> {
    let (size, count) = (layout.strides[0], i64::from(layout.counts[0]));
    let outer = 1..layout.rank;
    let inside =
        outer.clone().all(|dimension| (0..layout.extents[dimension] as i64).contains(&at[dimension]));
    let (start, extent) = (at[0], layout.extents[0] as i64);
    let first = if inside { (-start).clamp(0, count) } else { count };
    let last = (extent - start).clamp(first, count);
    let mut address = map.address.wrapping_add((start as u64).wrapping_mul(size));
    for dimension in outer {
        address = address.wrapping_add((at[dimension] as u64).wrapping_mul(layout.strides[dimension]));
    }
    let mut tell = |from: i64, to: i64, inside: bool| {
        let skip = from as u64 * size;
        let global = inside.then(|| address.wrapping_add(skip));
        let told = Run { global, offset: offset + skip as u32, bytes: ((to - from) as u64 * size) as u32 };
        if from < to { run(told) } else { Ok(()) }
    };
    tell(0, first, false)?;
    tell(first, last, true)?;
    tell(last.max(first), count, false)
}

#[cfg(test)]
mod tests {
    use super::super::map::{ElementType, Swizzle, TensorMap};
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

    /// Slices of 8 halves each, NCHW in memory: what an H200 copied of it.
    #[test]
    fn a_slice_of_channels_is_copied() {
        let map = TensorMap {
            interleave: Interleave::B16,
            ..TensorMap::tiled(ElementType::F16, 0, &[16, 8, 4, 2], &[0x100, 0x800, 0x4000], &[8, 3, 32, 1])
        };
        assert_eq!(map.box_bytes(), 16 * 8 * 3);
        let found: Vec<_> = runs(&map, [1, 0, 0, 0, 0], [0; 3]).iter().map(|run| run.global).collect();
        let pixels = (0..3).flat_map(|row| (0..8).map(move |pixel| Some(0x100 * row + 16 * (pixel + 1))));
        assert_eq!(found, pixels.collect::<Vec<_>>());
        let found = runs(&map, [15, 7, 3, 1, 0], [0; 3]);
        assert_eq!(found[0].global, Some(0x4000 + 3 * 0x800 + 7 * 0x100 + 15 * 16));
        assert!(found[1..].iter().all(|run| run.global.is_none()), "width and height end there");
        let found = runs(&map, [0, 0, 4, 0, 0], [0; 3]);
        assert!(found.iter().all(|run| run.global.is_none()), "there are four slices");
    }

    /// Pixels of slices of 32 bytes, every second one in a row, and then the next image but one.
    #[test]
    fn pixels_of_slices_have_steps() {
        let map = TensorMap {
            mode: Mode::Im2col { lower: [-1, 0, 0], upper: [0, 0, 0], channels: 32, pixels: 9 },
            interleave: Interleave::B32,
            steps: [2, 5, 1, 2, 1],
            ..TensorMap::tiled(ElementType::F16, 0, &[6, 5, 4, 3], &[0x100, 0x800, 0x4000], &[])
        };
        assert_eq!(map.check(), Ok(()));
        assert_eq!(map.box_bytes(), 32 * 9);
        let found: Vec<_> =
            runs(&map, [-1, 0, 2, 0, 0], [0; 3]).iter().map(|run| run.global.unwrap_or(0)).collect();
        let image = |at: u64| [0, at + 0x20, at + 0x60, at + 0xa0];
        let (first, second) = (image(2 * 0x800), image(2 * 0x800 + 2 * 0x4000));
        assert_eq!(found, [&first[..], &second, &[0]].concat());
        assert_eq!(map.outside(Start { coordinates: [-1, 4, 0, 0, 0], offsets: [0; 3] }), None);
        for (width, height, dimension) in [(-2, 0, 1), (6, 0, 1), (0, -1, 2), (0, 5, 2)] {
            let start = Start { coordinates: [width, height, 0, 0, 0], offsets: [0; 3] };
            assert_eq!(map.outside(start), Some(dimension), "{width} {height}");
        }
    }

    /// A line of `testdata/h200/interleave.txt`: the map, where a copy begins, and what an H200 gave.
    fn recorded(line: &str) -> (bool, TensorMap, Start, &str) {
        const ADDRESS: u64 = 1 << 20;
        let (case, given) = line.split_once(": ").unwrap();
        let words: Vec<&str> = case.split(' ').collect();
        let list = |name: &str| -> Vec<i64> {
            let at = words.iter().position(|word| *word == name);
            at.map_or(vec![], |at| words[at + 1].split(',').map(|word| word.parse().unwrap()).collect())
        };
        let one = |name: &str| list(name)[0] as usize;
        let [extents, strides] = ["extents", "strides"]
            .map(|name| -> Vec<u64> { list(name).into_iter().map(|word| word as u64).collect() });
        let tile: Vec<u32> = list("box").into_iter().map(|word| word as u32).collect();
        let mut map = TensorMap::tiled(ElementType::ALL[one("type")], ADDRESS, &extents, &strides, &tile);
        let mut start = Start::default();
        map.steps.iter_mut().zip(list("steps")).for_each(|(to, from)| *to = from as u32);
        start.coordinates.iter_mut().zip(list("at")).for_each(|(to, from)| *to = from as i32);
        start.offsets.iter_mut().zip(list("offsets")).for_each(|(to, from)| *to = from as u16);
        map.interleave = Interleave::ALL[one("interleave")];
        map.swizzle = Swizzle::ALL[one("swizzle")];
        map.fill_nan = one("fill") == 1;
        if tile.is_empty() {
            let [mut lower, mut upper] = [[0; 3]; 2];
            lower.iter_mut().zip(list("lower")).for_each(|(to, from)| *to = from as i32);
            upper.iter_mut().zip(list("upper")).for_each(|(to, from)| *to = from as i32);
            let (channels, pixels) = (one("channels") as u32, one("pixels") as u32);
            map.mode = Mode::Im2col { lower, upper, channels, pixels };
        }
        (words[0] == "load", map, start, given)
    }

    /// Words of shared memory by place: the word of the tensor that stands there, or what fills it.
    fn words_of(map: &TensorMap, start: Start) -> Vec<Result<u64, u32>> {
        let mut words = std::collections::BTreeMap::new();
        for run in runs(map, start.coordinates, start.offsets) {
            for byte in (0..run.bytes).step_by(4) {
                let place = map.swizzle.apply(u64::from(run.offset + byte)) / 4;
                let fill = u32::from(map.fill()) * 0x1_0001;
                let word = run.global.map(|global| (global - map.address + u64::from(byte)) / 4).ok_or(fill);
                assert_eq!(words.insert(place, word), None);
            }
        }
        assert_eq!(words.len() * 4, map.box_bytes() as usize);
        assert!(words.keys().copied().eq(0..words.len() as u64), "without gaps");
        words.into_values().collect()
    }

    #[test]
    fn interleaved_channels_lie_as_on_an_h200() {
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let mut copied = 0;
        for line in include_str!("../../../testdata/h200/interleave.txt").lines() {
            let (loads, map, start, given) = recorded(line);
            assert_eq!(map.check().is_err(), given == "refused", "{line}");
            if given == "refused" {
                continue;
            }
            copied += 1;
            let words = words_of(&map, start);
            let mut found = vec![];
            let mut stored = vec![];
            for part in given.split(' ') {
                if let Some((fill, count)) = part.strip_prefix('[').and_then(|part| part.split_once(']')) {
                    let count: usize = count.parse().unwrap();
                    found.extend(std::iter::repeat_n(Err(hexadecimal(fill) as u32), count));
                    continue;
                }
                let (first, count) = part.split_once('+').unwrap();
                let count: u64 = count.parse().unwrap();
                match first.split_once('=') {
                    None => found.extend((0..count).map(|word| Ok(hexadecimal(first) + word))),
                    Some((to, from)) => {
                        let pairs = (0..count).map(|word| (hexadecimal(from) + word, hexadecimal(to) + word));
                        stored.extend(pairs);
                    }
                }
            }
            if loads {
                assert_eq!(words, found, "{line}");
            } else {
                stored.sort_unstable();
                let all = words.iter().enumerate();
                let expected: Vec<_> =
                    all.filter_map(|(from, to)| to.ok().map(|to| (from as u64, to))).collect();
                assert_eq!(stored, expected, "{line}");
            }
        }
        assert_eq!(copied, 150);
    }
}
