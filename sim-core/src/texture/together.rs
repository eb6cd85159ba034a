//! Reads of a warp's threads at once: of one texture and one level of it, with filters of planes and volumes.
//!
//! What [`super::sample`] does for one thread, in rows that become vectors; both give the same bits. What is rare is left
//! to it: the lanes that are not done are told.

#![allow(clippy::manual_clamp, reason = "the panic of `clamp` keeps loops from becoming vectors")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::coordinate::{AddressMode, Axis, WEIGHT_BITS, WHOLE};
use super::filter::{self, Adder};
use super::format::Kind;
use super::sample::{FINEST, is_anisotropic};
use super::{Channel, Filter, Level, Shape, Texture, lod};
use semantics::lanes::{AtLevel, FULL, LaneMask, WARP_SIZE};

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

/// The memory of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<'a> {
    /// The words of the allocation.
    pub words: &'a [AtomicU32],
    /// The byte at which the level's first texel is.
    pub start: u64,
}

/// Bytes of a level at most: places in it have 32 bits.
const MOST_BYTES: u64 = 1 << 31;

/// The number of the only level that is read, and its bytes; `None` where a read is not plain.
pub(crate) fn level(texture: &Texture, reads: &Reads<'_>) -> Option<(usize, u64)> {
    let Texture { image, sampler } = texture;
    if matches!(image.shape, Shape::Cube | Shape::CubeLayered) || image.format.blocks.is_some() {
        return None;
    }
    let number = match (reads.coordinates, reads.detail) {
        (Coordinates::Integers { .. }, Detail::Finest) => 0,
        (Coordinates::Integers { .. }, Detail::Levels(levels)) => {
            usize::try_from(same(levels, reads.lanes)?).ok()?
        }
        (Coordinates::Integers { .. }, Detail::Steps) => return None,
        (Coordinates::Floats, _) if image.shape == Shape::Linear => return None,
        (Coordinates::Floats, Detail::Steps) if image.levels.len() > 1 || is_anisotropic(texture) => {
            return None;
        }
        (Coordinates::Floats, _) if sampler.filters() && !kinds(texture).all(Kind::is_plain) => return None,
        (Coordinates::Floats, detail) => {
            let steps = match detail {
                Detail::Levels(levels) if image.levels.len() > 1 => {
                    lod::steps(f32::from_bits(same(levels, reads.lanes)?))
                }
                _ => lod::steps(FINEST),
            };
            let levels = lod::levels(steps, sampler, image.levels.len());
            if levels.fraction != 0 {
                return None;
            }
            levels.first
        }
    };
    let level = image.levels.get(number)?;
    let [width, height, depth] = level.extent.map(u64::from);
    let bytes = (depth - 1).checked_mul(level.slice)?.checked_add((height - 1).checked_mul(level.pitch)?)?;
    let bytes = bytes.checked_add(width * u64::from(image.format.bytes()))?;
    (bytes <= MOST_BYTES).then_some((number, bytes))
}

/// How channels are read.
fn kinds(texture: &Texture) -> impl Iterator<Item = Kind> {
    let Texture { image, sampler } = texture;
    let channels = 0..usize::from(image.format.channels);
    channels.map(|number| Kind::of(image.format, number, sampler.integers, sampler.srgb))
}

/// What all of these lanes have in common.
fn same(row: &Row<u32>, lanes: LaneMask) -> Option<u32> {
    let first = row[lanes.trailing_zeros() as usize % WARP_SIZE];
    (0..WARP_SIZE).all(|lane| lanes >> lane & 1 == 0 || row[lane] == first).then_some(first)
}

/// A warp's reads of a level.
pub(crate) struct Together<'a> {
    pub texture: &'a Texture,
    /// As [`level`] says.
    pub level: usize,
    pub reads: Reads<'a>,
    pub memory: Memory<'a>,
}

impl AtLevel for Together<'_> {
    /// What is read, and the lanes that are done.
    type Output = (Results, LaneMask);

    #[inline(always)]
    fn run(self) -> Self::Output {
        match self.reads.coordinates {
            Coordinates::Integers { clamps } => self.integers(clamps),
            Coordinates::Floats if self.texture.sampler.filter == Filter::Point => self.floats::<1>(),
            Coordinates::Floats if self.texture.image.shape == Shape::ThreeD => self.floats::<8>(),
            Coordinates::Floats => self.floats::<4>(),
        }
    }
}

/// A texel outside, which is the border's.
const BORDER: i32 = -1;

/// The texels of one axis: those around a coordinate, and the weight of the second.
#[derive(Clone, Copy)]
struct Along {
    texels: [Row<i32>; 2],
    fractions: Row<u32>,
}

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

/// Texels beyond all images, that a float still holds exactly with what is added to it.
const BEYOND: f64 = (1u64 << 30) as f64;
/// The same of normalised coordinates.
const BEYOND_ONE: f64 = (1u64 << 13) as f64;

impl Axis {
    /// Where coordinates lie, in texels: as [`Axis::position`] has them. Lanes whose fraction is not told are taken from `done`.
    #[inline(always)]
    fn positions(self, x: &Row<u32>, offset: Option<&Row<i32>>, done: &mut LaneMask) -> Row<f64> {
        let bits = self.bits();
        let (one, unit) = ((1u64 << bits) as f64, 1.0 / (1u64 << bits) as f64);
        let mut at = [0.0; WARP_SIZE];
        for lane in 0..WARP_SIZE {
            let x = f32::from_bits(x[lane]);
            // Neither NaN nor what is too small for a normal float.
            let x = if x.abs() >= f32::MIN_POSITIVE { f64::from(x) } else { 0.0 };
            at[lane] = (x * one).floor() * unit;
        }
        if self.normalized {
            match self.mode {
                AddressMode::Wrap | AddressMode::Mirror => {
                    let period = if self.mode == AddressMode::Wrap { 1.0 } else { 2.0 };
                    for at in &mut at {
                        let inside = *at - (*at / period).floor() * period;
                        *at = if at.is_finite() { inside } else { 0.0 };
                    }
                }
                AddressMode::Clamp => {
                    for at in &mut at {
                        *at = at.max(-BEYOND_ONE).min(BEYOND_ONE);
                    }
                }
                AddressMode::Border => {
                    *done &= mask(|lane| at[lane].abs() < BEYOND_ONE);
                    for at in &mut at {
                        *at = at.max(-BEYOND_ONE).min(BEYOND_ONE);
                    }
                }
            }
            for at in &mut at {
                *at *= f64::from(self.size);
            }
        } else {
            for at in &mut at {
                *at = at.max(-BEYOND).min(BEYOND);
            }
        }
        if let Some(offset) = offset {
            for lane in 0..WARP_SIZE {
                at[lane] += f64::from(offset[lane]);
            }
        }
        at
    }

    /// The texels that the mode makes of whole ones: as [`Axis::inside`].
    #[inline(always)]
    fn all_inside(self, texels: &Row<f64>) -> Row<i32> {
        let size = f64::from(self.size);
        let mut inside = [0; WARP_SIZE];
        match self.mode {
            AddressMode::Border => {
                for lane in 0..WARP_SIZE {
                    let texel = texels[lane];
                    let there = texel >= 0.0 && texel < size;
                    inside[lane] = if there { texel as i32 } else { BORDER };
                }
            }
            AddressMode::Wrap if self.normalized => {
                for lane in 0..WARP_SIZE {
                    let texel = texels[lane];
                    inside[lane] = (texel - (texel / size).floor() * size) as i32;
                }
            }
            AddressMode::Mirror if self.normalized => {
                for lane in 0..WARP_SIZE {
                    let texel = texels[lane];
                    let texel = texel - (texel / (2.0 * size)).floor() * (2.0 * size);
                    inside[lane] = (if texel < size { texel } else { 2.0 * size - 1.0 - texel }) as i32;
                }
            }
            _ => {
                for lane in 0..WARP_SIZE {
                    inside[lane] = texels[lane].max(0.0).min(size - 1.0) as i32;
                }
            }
        }
        inside
    }

    /// The nearest texels.
    #[inline(always)]
    fn all_nearest(self, positions: &Row<f64>) -> Row<i32> {
        let mut texels = *positions;
        for texel in &mut texels {
            *texel = texel.floor();
        }
        self.all_inside(&texels)
    }

    /// The texels around and the weights of the second ones: as [`Axis::around`].
    #[inline(always)]
    fn all_around(self, positions: &Row<f64>) -> Along {
        let whole = f64::from(WHOLE);
        let mut texels = [[0.0; WARP_SIZE]; 2];
        let mut fractions = [0; WARP_SIZE];
        let clamps = !matches!(self.mode, AddressMode::Border) && !self.repeats();
        let last = f64::from(self.size) - 1.0;
        for lane in 0..WARP_SIZE {
            let from_centre = (positions[lane] * whole + 0.5).floor() - whole / 2.0;
            let first = (from_centre * (1.0 / whole)).floor();
            let beyond = clamps && (first < 0.0 || first >= last);
            let fraction = if beyond { 0.0 } else { from_centre - first * whole };
            fractions[lane] = fraction as u32;
            texels[0][lane] = first;
            texels[1][lane] = first + 1.0;
        }
        Along { texels: [self.all_inside(&texels[0]), self.all_inside(&texels[1])], fractions }
    }
}

impl Together<'_> {
    fn level(&self) -> &Level {
        &self.texture.image.levels[self.level]
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
    fn places(&self, [x, y, z]: [&Row<i32>; 3]) -> Places {
        let level = self.level();
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
    fn words<const WORDS: usize>(&self, places: &Places, words: &mut [Row<u32>; WORDS], narrow: u32) {
        let Memory { words: memory, start } = self.memory;
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

    /// The texels of each place, as words.
    #[inline(always)]
    fn texels<const N: usize>(&self, places: &[Places; N]) -> [[Row<u32>; 4]; N] {
        let mut texels = [[[0; WARP_SIZE]; 4]; N];
        for (places, texel) in places.iter().zip(&mut texels) {
            match self.texture.image.format.bytes() {
                narrow @ (1 | 2) => self.words::<1>(places, texel.first_chunk_mut().expect("four"), narrow),
                4 => self.words::<1>(places, texel.first_chunk_mut().expect("four"), 4),
                8 => self.words::<2>(places, texel.first_chunk_mut().expect("four"), 4),
                _ => self.words::<4>(places, texel, 4),
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
            let size = image.levels[self.level].extent[axis] as i32;
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
        let mut places = self.places([&axes[0], &axes[1], &axes[2]]);
        places.there &= self.reads.lanes;
        let [texels] = self.texels(&[places]);
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

    /// Reads of float coordinates, of so many texels: the nearest, those around on a plane, and in a volume.
    #[inline(always)]
    fn floats<const N: usize>(&self) -> (Results, LaneMask) {
        let Texture { image, sampler } = self.texture;
        let level = self.level();
        let mut done = FULL;
        let is_row = image.shape == Shape::OneDLayered;
        let dimensions = if image.shape == Shape::ThreeD { 3 } else { 2 };
        let layers = self.layers();
        let mut along = [Along { texels: [layers; 2], fractions: [0; WARP_SIZE] }; 3];
        for (axis, along) in along.iter_mut().enumerate().take(dimensions) {
            // A row has nothing above or below it.
            let has_rows = axis == 0 || !is_row;
            let mode = if has_rows { sampler.address[axis] } else { AddressMode::Clamp };
            let of = Axis { size: level.extent[axis], mode, normalized: sampler.normalized };
            let at = if has_rows { &self.reads.at[axis] } else { &[0; WARP_SIZE] };
            let offset = self.reads.offsets.map(|offsets| &offsets[axis]);
            let positions = of.positions(at, offset, &mut done);
            if N == 1 {
                along.texels[0] = of.all_nearest(&positions);
            } else {
                *along = of.all_around(&positions);
            }
        }
        let mut weights = [[WHOLE; WARP_SIZE]; N];
        let mut places = [Places { bytes: [0; WARP_SIZE], there: 0 }; N];
        let mut met = [FULL; N];
        if N > 1 {
            for lane in 0..WARP_SIZE {
                let of_lane = filter::weights(WHOLE, [0, 1, 2].map(|axis| along[axis].fractions[lane]));
                for (row, weight) in weights.iter_mut().zip(of_lane) {
                    row[lane] = weight;
                }
            }
            for (number, met) in met.iter_mut().enumerate() {
                let second = [number & 1, number >> 1 & 1, number >> 2];
                *met = mask(|lane| (0..3).all(|axis| second[axis] == 0 || along[axis].fractions[lane] != 0));
            }
        }
        for (number, places) in places.iter_mut().enumerate() {
            let texels = [0, 1, 2].map(|axis| &along[axis].texels[number >> axis & 1]);
            *places = self.places(texels);
        }
        // What is read is met and there; what is met alone is the border.
        let mut read = places;
        for (read, met) in read.iter_mut().zip(met) {
            read.there &= met & self.reads.lanes;
        }
        let texels = self.texels(&read);
        let filters = sampler.filters();
        let mut results = image.format.missing().map(|word| [word; WARP_SIZE]);
        for (number, (result, kind)) in results.iter_mut().zip(kinds(self.texture)).enumerate() {
            let border = kind.border(sampler.border[number]);
            let mut values = [[0; WARP_SIZE]; N];
            for corner in 0..N {
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
                done &= kind.all_filtered(&weights, &values, result);
            } else {
                *result = kind.results(&values[0]);
            }
        }
        (results, done)
    }
}

impl Kind {
    /// Does something with a kind that the compiler knows, so that loops over lanes do not ask.
    #[inline(always)]
    fn known<T>(self, body: impl Fn(Kind) -> T) -> T {
        match self {
            Self::Unsigned(1) => body(Self::Unsigned(1)),
            Self::Unsigned(_) => body(Self::Unsigned(2)),
            Self::Signed(1) => body(Self::Signed(1)),
            Self::Signed(_) => body(Self::Signed(2)),
            Self::Half => body(Self::Half),
            // Both are what their bits are.
            Self::Single | Self::Integer(Channel::Unsigned(_) | Channel::Signed(4)) => body(Self::Single),
            kind => body(kind),
        }
    }

    /// What reads give for values alone: as [`Kind::result`].
    #[inline(always)]
    fn results(self, values: &Row<u32>) -> Row<u32> {
        self.known(
            #[inline(always)]
            |kind| {
                let mut results = [0; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    results[lane] = kind.result(values[lane]);
                }
                results
            },
        )
    }

    /// What reads give for weighted values, and the lanes that are done: as [`Kind::filtered`] of plain kinds.
    #[inline(always)]
    fn all_filtered<const N: usize>(
        self,
        weights: &[Row<u32>; N],
        values: &[Row<u32>; N],
        results: &mut Row<u32>,
    ) -> LaneMask {
        match self {
            Self::Single => return Adder::SINGLE.all::<N, true>(weights, values, results),
            Self::Half => return Adder::HALF.all::<N, false>(weights, values, results),
            _ => {}
        }
        let mut sums = [0i64; WARP_SIZE];
        for (weights, values) in weights.iter().zip(values) {
            for lane in 0..WARP_SIZE {
                sums[lane] += i64::from(weights[lane] as i32 * values[lane] as i32);
            }
        }
        *results = self.known(
            #[inline(always)]
            |kind| {
                let mut results = [0; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    results[lane] = kind.fraction(sums[lane], WEIGHT_BITS);
                }
                results
            },
        );
        FULL
    }
}

impl Adder {
    /// Sums of weighted floats, rounded to as many digits, and the lanes that are done: neither infinities nor NaN. `FLUSHES`:
    /// of f32, what is below the normal ones counts as nothing.
    #[inline(always)]
    fn all<const N: usize, const FLUSHES: bool>(
        self,
        weights: &[Row<u32>; N],
        values: &[Row<u32>; N],
        results: &mut Row<u32>,
    ) -> LaneMask {
        let digits = self.digits as i32;
        let below = self.guard as i32 + digits - 1;
        // Biased exponents of the smallest normal numbers.
        let smallest = if FLUSHES { 1 } else { 127 + filter::SMALLEST_HALF };
        let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
        let mut usual = [true; WARP_SIZE];
        for lane in 0..WARP_SIZE {
            let mut sums = [0.0; 2];
            let mut exponents = [0; 2];
            let mut seen = [false; 2];
            let mut negative = true;
            let mut is_usual = true;
            for slice in 0..N.div_ceil(4) {
                let corners = 4 * slice..N.min(4 * slice + 4);
                let mut largest = 0;
                for corner in corners.clone() {
                    let size = values[corner][lane] & 0x7fff_ffff;
                    is_usual &= size < 0x7f80_0000;
                    let counts = weights[corner][lane] != 0 && (!FLUSHES || size >= 0x0080_0000);
                    largest = largest.max(if counts { size } else { 0 });
                    negative &= weights[corner][lane] == 0 || values[corner][lane] >> 31 != 0;
                }
                let exponent = ((largest >> 23) as i32).max(smallest) - 127;
                let scale = power(below - exponent);
                let mut sum = 0.0;
                for corner in corners {
                    let bits = values[corner][lane];
                    let counts = !FLUSHES || bits & 0x7fff_ffff >= 0x0080_0000;
                    let value = f64::from(f32::from_bits(bits));
                    let value = if counts { value } else { 0.0 };
                    sum += (value * scale).trunc() * f64::from(weights[corner][lane]);
                }
                sums[slice] = sum;
                exponents[slice] = exponent;
                seen[slice] = largest != 0;
            }
            // In units of the last bit of weights.
            let unit = |exponent: i32| power(exponent - below - WEIGHT_BITS as i32);
            let mut sum = sums[0] * unit(exponents[0]);
            if N > 4 {
                let second = sums[1] * unit(exponents[1]);
                let largest = exponents[0].max(exponents[1]);
                let last = self.aligned(largest);
                let together = (sum * power(-last)).floor() + (second * power(-last)).floor();
                let together = together * power(last);
                sum = if seen[0] & seen[1] {
                    together
                } else if seen[0] {
                    sum
                } else {
                    second
                };
            }
            let size = sum.abs();
            let first = (size.to_bits() >> 52) as i32 - 1023;
            let mut last = first - digits + 1;
            if !FLUSHES {
                last = last.max(filter::SMALLEST_HALF - digits + 1);
            }
            let rounded = (size * power(-last) + 0.5).floor() * power(last);
            let rounded = if FLUSHES && rounded < f64::from(f32::MIN_POSITIVE) { 0.0 } else { rounded };
            let rounded = if !FLUSHES && rounded >= 65536.0 { f64::INFINITY } else { rounded };
            let sign = u32::from(if size == 0.0 { negative } else { sum < 0.0 }) << 31;
            let rounded = if size == 0.0 { 0.0 } else { rounded };
            results[lane] = sign | (rounded as f32).to_bits();
            usual[lane] = is_usual;
        }
        mask(|lane| usual[lane])
    }
}

#[cfg(test)]
mod tests;
