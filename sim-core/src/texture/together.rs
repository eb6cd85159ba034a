//! Reads of a warp's threads at once: of one texture, of one level of it or two, with filters of planes and volumes.
//!
//! What [`super::sample`] does for one thread, in rows that become vectors; both give the same bits. What is rare is left
//! to it: the lanes that are not done are told.

#![allow(clippy::manual_clamp, reason = "the panic of `clamp` keeps loops from becoming vectors")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::coordinate::{AddressMode, Axis, WHOLE};
use super::filter;
use super::format::Kind;
use super::{Channel, Filter, Level, Shape, Texture};
use semantics::lanes::{AtLevel, FULL, LaneMask, WARP_SIZE};

mod axes;
mod cubes;
mod gather;
mod levels;
mod sums;

use axes::Along;
pub(crate) use cubes::Faces;
pub(crate) use levels::{Levels, plan};

/// A value of each lane.
type Row<T> = [T; WARP_SIZE];

/// The results of a warp: words by channel and lane.
pub(crate) type Results = [Row<u32>; 4];

/// How the coordinates of a read are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coordinates {
    /// Floats.
    Floats,
    /// Integers; outside are zeros, or the nearest texel.
    Integers { clamps: bool },
    /// Floats, and all four texels around are wanted: this channel of them.
    Gather(usize),
}

/// The level of detail of all lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail<'a> {
    /// None is said.
    Finest,
    /// That of each lane: a float, or a level's number with integer coordinates.
    Levels(&'a Row<u32>),
    /// It depends on steps.
    Steps,
}

/// What a warp reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads<'a> {
    /// Lanes that read.
    pub lanes: LaneMask,
    /// Coordinates as far as the shape has them: bits of floats, or integers.
    pub at: &'a [Row<u32>; 3],
    /// What they are.
    pub coordinates: Coordinates,
    /// The layer, of layered shapes.
    pub layers: Option<&'a Row<u32>>,
    /// Texels to go further.
    pub offsets: Option<&'a [Row<i32>; 3]>,
    /// The level of detail.
    pub detail: Detail<'a>,
}

/// The memory of levels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<'a> {
    /// The words of the allocation.
    pub words: &'a [AtomicU32],
    /// The bytes at which the levels' first texels are.
    pub starts: [u64; 2],
}

/// How channels are read.
fn kinds(texture: &Texture) -> impl Iterator<Item = Kind> {
    let Texture { image, sampler } = texture;
    let channels = 0..usize::from(image.format.channels);
    channels.map(|number| Kind::of(image.format, number, sampler.integers, sampler.srgb))
}

/// A warp's reads of a level, or of two.
pub(crate) struct Together<'a> {
    pub texture: &'a Texture,
    /// Those of [`plan`], for the lanes that read.
    pub levels: &'a Levels,
    pub reads: Reads<'a>,
    pub memory: Memory<'a>,
}

impl AtLevel for Together<'_> {
    /// What is read, and the lanes that are done.
    type Output = (Results, LaneMask);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let is_point = self.texture.sampler.filter == Filter::Point;
        match self.reads.coordinates {
            Coordinates::Integers { clamps } => self.integers(clamps),
            Coordinates::Gather(channel) => self.gathered(channel),
            Coordinates::Floats => match (is_point, self.levels.are_mixed()) {
                (true, false) => self.floats::<1, 1>(),
                (true, true) => self.floats::<1, 2>(),
                (false, false) if self.texture.image.shape == Shape::ThreeD => self.floats::<8, 8>(),
                (false, false) => self.floats::<4, 4>(),
                (false, true) => self.floats::<4, 8>(),
            },
        }
    }
}

/// A texel outside, which is the border's.
const BORDER: i32 = -1;

/// Where an axis leads.
#[derive(Clone, Copy)]
struct Places {
    /// Bytes from the level's first texel.
    bytes: Row<u32>,
    /// Lanes whose texel is there, and is read.
    there: LaneMask,
}

#[inline(always)]
fn mask(holds: impl Fn(usize) -> bool) -> LaneMask {
    let mut mask = 0;
    for lane in 0..WARP_SIZE {
        mask |= u32::from(holds(lane)) << lane;
    }
    mask
}

impl Together<'_> {
    /// The first level, or the second.
    fn level(&self, which: usize) -> &Level {
        &self.texture.image.levels[self.levels.numbers[which]]
    }

    /// The number of the layer, or slice, that coordinates do not say.
    #[inline(always)]
    fn layers(&self) -> Row<i32> {
        let mut numbers = [0; WARP_SIZE];
        if let (true, Some(layers)) = (self.texture.image.shape.is_layered(), self.reads.layers) {
            let last = self.texture.image.levels[0].extent[2] - 1;
            for lane in 0..WARP_SIZE {
                numbers[lane] = layers[lane].min(last) as i32;
            }
        }
        numbers
    }

    /// Where texels lie.
    #[inline(always)]
    fn places(&self, level: &Level, [x, y, z]: [&Row<i32>; 3]) -> Places {
        let texel = self.texture.image.format.bytes();
        // Below `MOST_BYTES`, but where a dimension has one texel: its step does not count then.
        let [pitch, slice] = [level.pitch as u32, level.slice as u32];
        let mut bytes = [0; WARP_SIZE];
        for lane in 0..WARP_SIZE {
            let [x, y, z] = [x[lane], y[lane], z[lane]].map(|texel| texel as u32);
            bytes[lane] =
                z.wrapping_mul(slice).wrapping_add(y.wrapping_mul(pitch)).wrapping_add(x.wrapping_mul(texel));
        }
        let there = mask(|lane| x[lane] != BORDER && y[lane] != BORDER && z[lane] != BORDER);
        Places { bytes, there }
    }

    /// The words of texels, those of lanes that have none being zeros.
    #[inline(always)]
    fn words<const WORDS: usize>(
        &self,
        places: &Places,
        start: u64,
        words: &mut [Row<u32>; WORDS],
        narrow: u32,
    ) {
        let memory = self.memory.words;
        let ones = u32::MAX >> (32 - 8 * narrow);
        let mut load = |lane: usize| {
            let at = start + u64::from(places.bytes[lane]);
            let first = (at >> 2) as usize;
            for (number, row) in words.iter_mut().enumerate() {
                let word = memory.get(first + number).map_or(0, |word| word.load(Relaxed));
                row[lane] = if narrow == 4 { word } else { word >> (8 * (at & 3)) & ones };
            }
        };
        if places.there == FULL {
            (0..WARP_SIZE).for_each(load);
        } else {
            let mut rest = places.there;
            while rest != 0 {
                load(rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// The texels of each place, as words; `N` of each level.
    #[inline(always)]
    fn texels<const N: usize, const ALL: usize>(&self, places: &[Places; ALL]) -> [[Row<u32>; 4]; ALL] {
        let mut texels = [[[0; WARP_SIZE]; 4]; ALL];
        for (number, (places, texel)) in places.iter().zip(&mut texels).enumerate() {
            let start = self.memory.starts[number / N];
            let bytes = self.texture.image.format.bytes();
            match bytes {
                1 | 2 | 4 => self.words::<1>(places, start, texel.first_chunk_mut().expect("four"), bytes),
                8 => self.words::<2>(places, start, texel.first_chunk_mut().expect("four"), 4),
                _ => self.words::<4>(places, start, texel, 4),
            }
        }
        texels
    }

    /// The values of a channel: of the border where texels are not there.
    #[inline(always)]
    fn values(
        &self,
        kind: Kind,
        number: usize,
        texels: &[Row<u32>; 4],
        places: &Places,
        border: u32,
    ) -> Row<u32> {
        let (word, shift, ones) = self.texture.image.format.channel.field(number);
        let words = &texels[word];
        let mut values = kind.known(
            #[inline(always)]
            |kind| {
                let mut values = [0; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    values[lane] = kind.decode(words[lane] >> shift & ones);
                }
                values
            },
        );
        if places.there != FULL {
            for (lane, value) in values.iter_mut().enumerate() {
                if places.there >> lane & 1 == 0 {
                    *value = border;
                }
            }
        }
        values
    }

    /// Reads of integer coordinates: as [`super::sample::integer`].
    #[inline(always)]
    fn integers(&self, clamps: bool) -> (Results, LaneMask) {
        let image = &self.texture.image;
        let mut axes = [[0; WARP_SIZE]; 3];
        for (axis, texels) in axes.iter_mut().enumerate() {
            let is_layer = axis == 2 && image.shape != Shape::ThreeD;
            let counts = match image.shape {
                Shape::Linear => axis == 0,
                Shape::OneDLayered => axis != 1,
                _ => true,
            };
            if !counts {
                continue;
            }
            let size = self.level(0).extent[axis] as i32;
            for lane in 0..WARP_SIZE {
                let at = if is_layer {
                    self.reads.layers.map_or(0, |layers| layers[lane]) as i32
                } else {
                    let offset = self.reads.offsets.map_or(0, |offsets| offsets[axis][lane]);
                    (self.reads.at[axis][lane] as i32).wrapping_add(offset)
                };
                let inside = at >= 0 && at < size;
                let nearest = at.clamp(0, size - 1);
                texels[lane] = if inside || clamps { nearest } else { BORDER };
            }
        }
        let mut places = self.places(self.level(0), [&axes[0], &axes[1], &axes[2]]);
        places.there &= self.reads.lanes;
        let [texels] = self.texels::<1, 1>(&[places]);
        let mut results = image.format.missing().map(|word| [word; WARP_SIZE]);
        for (number, (result, kind)) in results.iter_mut().zip(kinds(self.texture)).enumerate() {
            *result = kind.results(&self.values(kind, number, &texels, &places, 0));
        }
        if places.there != FULL {
            // Outside, all channels are zeros.
            for result in &mut results {
                for (lane, result) in result.iter_mut().enumerate() {
                    *result = if places.there >> lane & 1 == 0 { 0 } else { *result };
                }
            }
        }
        (results, FULL)
    }

    /// The texels around all coordinates in a level, by axis, and the weights of the second ones; the nearest where that is all.
    #[inline(always)]
    fn along(&self, level: &Level, nearest: bool, done: &mut LaneMask) -> [Along; 3] {
        let Texture { image, sampler } = self.texture;
        let is_row = image.shape == Shape::OneDLayered;
        let is_cube = matches!(image.shape, Shape::Cube | Shape::CubeLayered);
        let dimensions = if image.shape == Shape::ThreeD { 3 } else { 2 };
        let layers = self.layers();
        let mut along = [Along { texels: [layers; 2], fractions: [0; WARP_SIZE] }; 3];
        for (axis, along) in along.iter_mut().enumerate().take(dimensions) {
            // A row has nothing above or below it.
            let has_rows = axis == 0 || !is_row;
            let clamps = !has_rows || sampler.seamless;
            let mode = if clamps { AddressMode::Clamp } else { sampler.address[axis] };
            let of = Axis { size: level.extent[axis], mode, normalized: sampler.normalized || is_cube };
            let at = if has_rows { &self.reads.at[axis] } else { &[0; WARP_SIZE] };
            let offset = self.reads.offsets.map(|offsets| &offsets[axis]);
            let positions = of.positions(at, offset, done);
            if nearest {
                along.texels[0] = of.all_nearest(&positions);
            } else {
                *along = of.all_around(&positions);
                if sampler.seamless {
                    // What lies over an edge is on another face.
                    *done &= of.holds_both(&positions);
                }
            }
        }
        along
    }

    /// Reads of float coordinates, of so many texels of each level, and of all: the nearest, those around on a plane, and in a
    /// volume.
    #[inline(always)]
    fn floats<const N: usize, const ALL: usize>(&self) -> (Results, LaneMask) {
        let Texture { image, sampler } = self.texture;
        let mut done = FULL;
        let mut weights = [[WHOLE; WARP_SIZE]; ALL];
        let mut places = [Places { bytes: [0; WARP_SIZE], there: 0 }; ALL];
        let mut met = [FULL; ALL];
        for which in 0..ALL / N {
            let level = self.level(which);
            let along = self.along(level, N == 1, &mut done);
            let mut parts = [WHOLE; WARP_SIZE];
            let mut counts = FULL;
            if ALL > N {
                for (part, &second) in parts.iter_mut().zip(&self.levels.fractions) {
                    *part = if which == 0 { WHOLE - second } else { second };
                }
                counts = mask(|lane| parts[lane] != 0);
            }
            let corners = which * N..which * N + N;
            if N > 1 {
                for lane in 0..WARP_SIZE {
                    let fractions = [0, 1, 2].map(|axis| along[axis].fractions[lane]);
                    let of_lane = filter::weights(parts[lane], fractions);
                    for (row, weight) in weights[corners.clone()].iter_mut().zip(of_lane) {
                        row[lane] = weight;
                    }
                }
            } else {
                weights[which] = parts;
            }
            for number in 0..N {
                let second = [number & 1, number >> 1 & 1, number >> 2];
                let covers = |axis: usize, lane: usize| second[axis] == 0 || along[axis].fractions[lane] != 0;
                met[corners.start + number] =
                    if N > 1 { mask(|lane| (0..3).all(|axis| covers(axis, lane))) & counts } else { counts };
                let texels = [0, 1, 2].map(|axis| &along[axis].texels[second[axis]]);
                places[corners.start + number] = self.places(level, texels);
            }
        }
        // What is read is met and there; what is met alone is the border.
        let mut read = places;
        for (read, met) in read.iter_mut().zip(met) {
            read.there &= met & self.reads.lanes;
        }
        let texels = self.texels::<N, ALL>(&read);
        let filters = sampler.filters();
        let mut results = image.format.missing().map(|word| [word; WARP_SIZE]);
        for (number, (result, kind)) in results.iter_mut().zip(kinds(self.texture)).enumerate() {
            let border = kind.border(sampler.border[number]);
            let mut values = [[0; WARP_SIZE]; ALL];
            for corner in 0..ALL {
                values[corner] = self.values(kind, number, &texels[corner], &places[corner], border);
                if met[corner] != FULL {
                    for (lane, value) in values[corner].iter_mut().enumerate() {
                        if met[corner] >> lane & 1 == 0 {
                            *value = 0;
                        }
                    }
                }
            }
            if filters {
                done &= kind.all_filtered::<N, ALL>(&weights, &values, result);
            } else {
                *result = kind.results(&values[0]);
            }
        }
        (results, done)
    }
}

#[cfg(test)]
mod tests;
