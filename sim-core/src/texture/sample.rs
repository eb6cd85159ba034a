//! Reads of textures.

use super::anisotropy::{self, FINEST_BITS, Footprint, Which};
use super::blocks::SIDE;
use super::coordinate::{Axis, FAR, Offset, WEIGHT_BITS, WHOLE};
use super::format::Kind;
use super::lod::Faced;
use super::{AddressMode, Filter, Format, Image, Level, Sampler, Shape, Texture, cube, filter, lod};

/// The level of detail of an instruction that says none: the compiler's.
pub(super) const FINEST: f32 = -32.0;

/// Where texels come from.
pub(crate) trait Texels {
    /// Why a texel cannot be read.
    type Error;

    /// The bytes of a texel at an address, as words; those behind it are zeros.
    fn read(&mut self, address: u64, bytes: u32) -> Result<[u32; 4], Self::Error>;
}

/// The level of detail that an instruction asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Lod {
    /// None: the finest that the sampler allows.
    Finest,
    /// A level.
    Level(f32),
    /// Steps of the coordinates to the right and down.
    Gradients([f32; 3], [f32; 3]),
    /// A direction and its steps to the right and down.
    Directions([[f32; 3]; 3]),
}

/// One thread's read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fetch {
    /// Coordinates: x, y and z as far as the shape has them.
    pub at: [f32; 3],
    /// The layer, of layered shapes.
    pub layer: u32,
    /// Texels to go further.
    pub offset: [i32; 3],
    /// The level of detail.
    pub lod: Lod,
}

/// A texel and its weight.
#[derive(Clone, Copy, Default)]
struct Term {
    weight: u32,
    /// Where it is; none is the border.
    place: Option<Place>,
    /// Whether it is read: what lies around the coordinates covers a part of it, though its weight may be rounded to nothing.
    is_met: bool,
}

/// Texels with weights, by slices of two times two: up to `N` of them.
struct Terms<const N: usize> {
    slices: [[Term; 4]; N],
    /// Slices that have texels.
    count: usize,
    /// The last ones of those that are added at once, by number.
    ends: u32,
}

/// What a read covers: two slices of two levels, or one of each tap.
const FEW: usize = 4;
const MANY: usize = 32;

/// What a shape's coordinates mean in a level.
struct Axes {
    /// Positions' modes; layers and faces have none.
    modes: [AddressMode; 3],
    normalized: bool,
    at: [f32; 3],
    layer: Option<u32>,
}

impl Axes {
    fn axis(&self, level: &Level, axis: usize) -> Axis {
        Axis { size: level.extent[axis], mode: self.modes[axis], normalized: self.normalized }
    }

    /// The four texels around a place of a seamless cubemap, some of them of the faces beside it, and the weights of the second
    /// ones. There is none over a corner; around one, places further away than a texel count as there.
    fn around_on_cube(&self, level: &Level, offset: [Offset; 3]) -> ([Option<[u32; 3]>; 4], [u32; 2]) {
        let layer = self.layer.unwrap_or(0);
        let (cube, face) = (layer / 6, layer % 6);
        let size = i64::from(level.extent[0]);
        let mut around = [0, 1].map(|axis| self.axis(level, axis).between(self.at[axis], offset[axis]));
        if around.iter().all(|&(first, _)| first < 0 || first + 1 >= size) {
            around = around.map(|(first, second)| match first {
                ..-1 => (-1, 0),
                _ if first >= size => (size - 1, WHOLE),
                _ => (first, second),
            });
        }
        let [(x, across), (y, down)] = around;
        let texel = |number: i64| {
            let texel = [x + (number & 1), y + (number >> 1)];
            let (face, [x, y]) = cube::texel(face, level.extent[0], texel)?;
            Some([x, y, 6 * cube + face])
        };
        ([0, 1, 2, 3].map(texel), [across, down])
    }
}

fn axes(texture: &Texture, fetch: &Fetch) -> Axes {
    let Sampler { address: modes, normalized, seamless, .. } = texture.sampler;
    let layers = texture.image.levels[0].extent[2];
    let [x, y, z] = fetch.at;
    let flat = |at, layer| Axes { modes, normalized, at, layer: Some(layer) };
    // A row has nothing above or below it.
    let row = |x, layer| Axes {
        modes: [modes[0], AddressMode::Clamp, AddressMode::Clamp],
        ..flat([x, 0.0, 0.0], layer)
    };
    match texture.image.shape {
        Shape::Linear | Shape::OneD | Shape::TwoD => flat([x, y, 0.0], 0),
        Shape::OneDLayered => row(x, fetch.layer.min(layers - 1)),
        Shape::TwoDLayered => flat([x, y, 0.0], fetch.layer.min(layers - 1)),
        Shape::ThreeD => Axes { modes, normalized, at: [x, y, z], layer: None },
        Shape::Cube | Shape::CubeLayered => {
            let (face, [s, t]) = cube::face(fetch.at);
            let cube = if texture.image.shape == Shape::Cube { 0 } else { fetch.layer.min(layers / 6 - 1) };
            let modes = if seamless { [AddressMode::Clamp; 3] } else { modes };
            let at = [s, t, 0.0].map(upwards_from_edge);
            Axes { modes, normalized: true, at, layer: Some(6 * cube + face) }
        }
    }
}

/// Whether it is a cube that an array lacks, which a view may have.
fn is_none(image: &Image, axes: &Axes) -> bool {
    image.shape == Shape::CubeLayered && axes.layer.is_some_and(|layer| layer >= image.whole.layers)
}

/// A place on a face from 0 to 1, rounded down, of one from -1 to 1. Subnormal ones are zeros.
pub(super) fn upwards_from_edge(at: f32) -> f32 {
    // A reciprocal that was rounded up may have led over the edge.
    let at = at.clamp(-1.0, 1.0);
    let half = if at.is_subnormal() { 0.0 } else { f64::from(at) * 0.5 };
    let sum = half + 0.5;
    let near = sum as f32;
    // What an f64 cannot hold of the sum counts, too.
    let below = half - (sum - 0.5) < 0.0;
    if f64::from(near) > sum || f64::from(near) == sum && below {
        f32::from_bits(near.to_bits() - 1)
    } else {
        near
    }
}

/// Where a texel is.
#[derive(Clone, Copy)]
struct Place {
    /// Its address, or that of its block.
    address: u64,
    /// Its number in its block.
    number: u32,
}

/// Where a texel is, or `None` for the border.
fn place(level: &Level, format: Format, texel: [Option<u32>; 3]) -> Option<Place> {
    let (mut x, mut y, z) = (texel[0]?, texel[1]?, texel[2]?);
    let mut number = 0;
    if format.blocks.is_some() {
        number = x % SIDE + y % SIDE * SIDE;
        (x, y) = (x / SIDE, y / SIDE);
    }
    let offset =
        u64::from(z) * level.slice + u64::from(y) * level.pitch + u64::from(x) * u64::from(format.bytes());
    Some(Place { address: level.base.wrapping_add(offset), number })
}

/// The bytes of a texel as it would stand in memory alone.
fn texel<T: Texels>(texels: &mut T, format: Format, place: Place) -> Result<[u32; 4], T::Error> {
    let words = texels.read(place.address, format.bytes())?;
    Ok(match format.blocks {
        Some(blocks) => blocks.texel(words, place.number),
        None => words,
    })
}

impl<const N: usize> Terms<N> {
    /// Says that what there is since the last end is added at once.
    fn end(&mut self) {
        if let Some(last) = self.count.checked_sub(1) {
            self.ends |= 1 << last;
        }
    }

    /// Adds the texels of a level, so far from the coordinates, that make a part of the whole; weights are shifted then.
    fn add(
        &mut self,
        texture: &Texture,
        axes: &Axes,
        offset: [Offset; 3],
        level: &Level,
        (part, shift): (u32, u32),
    ) {
        let format = texture.image.format;
        let dimensions = if axes.layer.is_some() { 2 } else { 3 };
        if texture.sampler.filter == Filter::Point {
            let mut texel = [axes.layer; 3];
            for (axis, texel) in texel.iter_mut().enumerate().take(dimensions) {
                *texel = axes.axis(level, axis).nearest(axes.at[axis], offset[axis]);
            }
            self.slices[self.count][0] =
                Term { weight: part << shift, place: place(level, format, texel), is_met: true };
            self.count += 1;
            return;
        }
        if texture.sampler.seamless {
            let (texels, [across, down]) = axes.around_on_cube(level, offset);
            let fractions = [across, down, 0];
            let mut weights = filter::weights(part, fractions);
            if let Some(none) = texels.iter().position(|texel| texel.is_none()) {
                filter::share(&mut weights[..4], none);
            }
            for (number, texel) in texels.into_iter().enumerate() {
                let place = texel.and_then(|texel| place(level, format, texel.map(Some)));
                // Around a corner some have a share only.
                let is_met = texel.is_some() && (filter::covers(fractions, number) || weights[number] != 0);
                self.slices[self.count][number] = Term { weight: weights[number] << shift, place, is_met };
            }
            self.count += 1;
            return;
        }
        let mut texels = [[axes.layer; 2]; 3];
        let mut fractions = [0; 3];
        for axis in 0..dimensions {
            (texels[axis], fractions[axis]) = axes.axis(level, axis).around(axes.at[axis], offset[axis]);
        }
        let weights = filter::weights(part, fractions);
        for (z, weights) in weights.as_chunks::<4>().0.iter().enumerate() {
            if weights.iter().all(|&weight| weight == 0) {
                continue;
            }
            for (number, &weight) in weights.iter().enumerate() {
                let texel = [texels[0][number & 1], texels[1][number >> 1], texels[2][z]];
                self.slices[self.count][number] = Term {
                    weight: weight << shift,
                    place: place(level, format, texel),
                    is_met: filter::covers(fractions, number + 4 * z),
                };
            }
            self.count += 1;
        }
    }
}

/// What a read of floating-point coordinates gives: four words.
pub(crate) fn fetch<T: Texels>(
    texture: &Texture,
    fetch: &Fetch,
    texels: &mut T,
) -> Result<[u32; 4], T::Error> {
    let image = &texture.image;
    // Memory by number is read by number only.
    if image.shape == Shape::Linear {
        return Ok([0; 4]);
    }
    let (detail, footprint) = detail(texture, fetch);
    if footprint.is_round() {
        filtered::<FEW, T>(texture, fetch, detail, footprint, texels)
    } else {
        filtered::<MANY, T>(texture, fetch, detail, footprint, texels)
    }
}

/// The level of detail without the sampler's bias, and what is read of it. Steps know nothing of views: they are measured by the
/// largest level.
fn detail(texture: &Texture, fetch: &Fetch) -> (i64, Footprint) {
    let Texture { image, sampler } = texture;
    let extent = image.whole.extent;
    let before = i64::from(image.whole.first) * lod::ONE;
    let of_steps = |steps: [[f32; 3]; 2]| {
        let [x, y] = steps.map(|step| lod::in_texels(step, extent));
        if !is_anisotropic(texture) {
            return (lod::longest(x, y).0 - before, Footprint::ROUND);
        }
        let [x, y] = [x, y].map(|[u, v, _]| [u, v]);
        let (detail, footprint) = anisotropy::of_steps(x, y, sampler.anisotropy);
        (detail - before, footprint)
    };
    match fetch.lod {
        Lod::Finest => (lod::steps(FINEST), Footprint::ROUND),
        Lod::Level(level) => (lod::steps(level), Footprint::ROUND),
        Lod::Gradients(x, y) if image.shape == Shape::ThreeD => {
            of_steps([x, y].map(|step| [0, 1, 2].map(|axis| stepped(fetch.at[axis], step[axis]))))
        }
        Lod::Gradients(x, y) => of_steps([x, y]),
        Lod::Directions([at, x, y]) => match lod::of_directions(at, x, y, extent[0]) {
            Faced::Same(steps) => of_steps(steps),
            Faced::Folded(detail) => (detail - before, Footprint::ROUND),
        },
    }
}

/// Whether steps decide what is filtered. Volumes and layers of rows have no anisotropic filters.
pub(super) fn is_anisotropic(Texture { image, sampler }: &Texture) -> bool {
    sampler.anisotropy > 1 && !matches!(image.shape, Shape::ThreeD | Shape::OneDLayered)
}

/// A step of a volume's coordinate, which is the difference of two of them. From no number on there is none; what is far outside
/// every image is not taken into account.
fn stepped(at: f32, step: f32) -> f32 {
    if at.is_nan() {
        return 0.0;
    }
    if at.abs() > FAR as f32 { step } else { (at + step) - at }
}

/// The texels of all taps of a read, in sum.
fn filtered<const N: usize, T: Texels>(
    texture: &Texture,
    fetch: &Fetch,
    detail: i64,
    footprint: Footprint,
    texels: &mut T,
) -> Result<[u32; 4], T::Error> {
    let image = &texture.image;
    let axes = axes(texture, fetch);
    if is_none(image, &axes) {
        return Ok([0; 4]);
    }
    let levels = lod::levels(detail, &texture.sampler, image.levels.len());
    let mut terms = Terms { slices: [[Term::default(); 4]; N], count: 0, ends: 0 };
    // One tap's weights have fewer bits.
    let bits = if footprint.is_round() { WEIGHT_BITS } else { FINEST_BITS };
    let at_once = image.format.slices_at_once();
    for (level, which) in [(levels.first, Which::First), (levels.second, Which::Second)] {
        let level = &image.levels[level];
        let taps = footprint.taps(which, levels.fraction);
        let mut before = terms.count;
        for (weight, [u, v]) in taps.each().filter(|&(weight, _)| weight != 0) {
            let steps = [u, v, 0];
            let offset = [0, 1, 2].map(|axis| Offset { texels: fetch.offset[axis], steps: steps[axis] });
            terms.add(texture, &axes, offset, level, (weight, bits - taps.bits));
            if terms.count - before >= at_once {
                terms.end();
                before = terms.count;
            }
        }
        terms.end();
    }
    let Sampler { integers, srgb, border, .. } = texture.sampler;
    let mut words = [[[0u32; 4]; 4]; N];
    for (slice, words) in terms.slices.iter().zip(&mut words).take(terms.count) {
        for (term, words) in slice.iter().zip(words) {
            if let Some(place) = term.place.filter(|_| term.is_met) {
                *words = self::texel(texels, image.format, place)?;
            }
        }
    }
    // A sampler that filters does so even where one texel has all the weight.
    let has_steps = matches!(fetch.lod, Lod::Gradients(..) | Lod::Directions(..));
    let filters = texture.sampler.filters() || has_steps && is_anisotropic(texture);
    let alone = !filters && footprint.is_round();
    let mut result = image.format.missing();
    for (number, result) in result.iter_mut().enumerate().take(usize::from(image.format.channels)) {
        let kind = Kind::of(image.format, number, integers, srgb);
        let mut values = [[(0, 0); 4]; N];
        for (slice, values) in values.iter_mut().enumerate().take(terms.count) {
            for (texel, value) in values.iter_mut().enumerate() {
                let Term { weight, place, is_met } = terms.slices[slice][texel];
                let read = match place {
                    _ if !is_met => 0,
                    Some(_) => kind.decode(image.format.channel.of(&words[slice][texel], number)),
                    None => kind.border(border[number]),
                };
                *value = (weight, read);
            }
        }
        *result = if alone {
            kind.result(values[0][0].1)
        } else {
            kind.filtered(filter::Terms { slices: &values[..terms.count], ends: terms.ends, bits })
        };
    }
    Ok(result)
}

/// What a read of integer coordinates gives: the texel as it is, and zeros outside.
pub(crate) fn integer<T: Texels>(
    texture: &Texture,
    at: [i32; 3],
    layer: u32,
    level: u32,
    clamps: bool,
    texels: &mut T,
) -> Result<[u32; 4], T::Error> {
    let image = &texture.image;
    let Some(level) = image.levels.get(level as usize) else { return Ok([0; 4]) };
    let coordinates = match image.shape {
        Shape::Cube | Shape::CubeLayered => return Ok([0; 4]),
        Shape::Linear => [at[0], 0, 0],
        Shape::OneDLayered => [at[0], 0, layer as i32],
        Shape::ThreeD => at,
        Shape::OneD | Shape::TwoD | Shape::TwoDLayered => [at[0], at[1], layer as i32],
    };
    let mut at_texel = [None; 3];
    for axis in 0..3 {
        let last = level.extent[axis] as i32 - 1;
        let at = if clamps { coordinates[axis].clamp(0, last) } else { coordinates[axis] };
        at_texel[axis] = u32::try_from(at).ok().filter(|&texel| texel < level.extent[axis]);
    }
    let Some(place) = place(level, image.format, at_texel) else { return Ok([0; 4]) };
    let words = texel(texels, image.format, place)?;
    let Sampler { integers, srgb, .. } = texture.sampler;
    let mut result = image.format.missing();
    for (number, result) in result.iter_mut().enumerate().take(usize::from(image.format.channels)) {
        let kind = Kind::of(image.format, number, integers, srgb);
        *result = kind.result(kind.decode(image.format.channel.of(&words, number)));
    }
    Ok(result)
}

/// What `tld4` gives: one channel of the four texels that linear filtering would combine, counter-clockwise from the lower
/// left.
pub(crate) fn gather<T: Texels>(
    texture: &Texture,
    fetch: &Fetch,
    component: usize,
    texels: &mut T,
) -> Result<[u32; 4], T::Error> {
    let image = &texture.image;
    let axes = axes(texture, fetch);
    if is_none(image, &axes) {
        return Ok([0; 4]);
    }
    let Sampler { integers, srgb, border, .. } = texture.sampler;
    let offset = fetch.offset.map(|texels| Offset { texels, steps: 0 });
    let level = &image.levels[lod::levels(lod::steps(FINEST), &texture.sampler, image.levels.len()).first];
    if component >= usize::from(image.format.channels) {
        return Ok([image.format.missing()[component]; 4]);
    }
    let mut corner = None;
    let around = if texture.sampler.seamless {
        let (around, _) = axes.around_on_cube(level, offset);
        corner = around.iter().position(|texel| texel.is_none());
        around.map(|texel| texel.map_or([None; 3], |texel| texel.map(Some)))
    } else {
        let [x, y] = [0, 1].map(|axis| axes.axis(level, axis).around(axes.at[axis], offset[axis]).0);
        [0, 1, 2, 3].map(|number| [x[number & 1], y[number >> 1], axes.layer])
    };
    let kind = Kind::of(image.format, component, integers, srgb);
    let mut values = [0; 4];
    for (value, at) in values.iter_mut().zip(around) {
        *value = match place(level, image.format, at) {
            Some(place) => {
                let words = texel(texels, image.format, place)?;
                kind.decode(image.format.channel.of(&words, component))
            }
            None => kind.border(border[component]),
        };
    }
    let gathered = |number: usize| {
        if corner != Some(number) {
            return kind.gathered(values[number]);
        }
        // The mean of the other three.
        let mut weights = [0; 4];
        weights[number] = WHOLE;
        filter::share(&mut weights, number);
        let slice = [0, 1, 2, 3].map(|texel| (weights[texel], values[texel]));
        kind.filtered(filter::Terms { slices: &[slice], ends: 0, bits: WEIGHT_BITS })
    };
    Ok([2, 3, 1, 0].map(gathered))
}

#[cfg(test)]
mod recorded;

/// What an H200 gave.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{Channel, Format, Whole};

    struct Bytes(Vec<u8>);

    impl Texels for Bytes {
        type Error = &'static str;

        fn read(&mut self, address: u64, bytes: u32) -> Result<[u32; 4], Self::Error> {
            let mut texel = [0; 16];
            texel[..bytes as usize].copy_from_slice(&self.0[address as usize..][..bytes as usize]);
            Ok(std::array::from_fn(|word| {
                u32::from_le_bytes(std::array::from_fn(|byte| texel[4 * word + byte]))
            }))
        }
    }

    fn texture(shape: Shape, channel: Channel, channels: u8, [width, height]: [u32; 2]) -> Texture {
        let format = Format::plain(channel, channels);
        let pitch = u64::from(width * format.bytes());
        let level = Level { base: 0, extent: [width, height, 1], pitch, slice: pitch * u64::from(height) };
        let sampler = Sampler { normalized: false, ..recorded::sampler(0) };
        Texture {
            image: Image {
                shape,
                format,
                levels: vec![level],
                whole: Whole::of([width, height, 6]),
                opaque: true,
            },
            sampler,
        }
    }

    fn read(texture: &Texture, at: [f32; 3], bytes: Vec<u8>) -> [f32; 4] {
        let from = Fetch { at, layer: 0, offset: [0; 3], lod: Lod::Finest };
        let words = fetch(texture, &from, &mut Bytes(bytes)).expect("simulated");
        words.map(f32::from_bits)
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn weights_are_rounded_and_make_a_whole() {
        let mut texels = [0.0; 16];
        (0..4).for_each(|texel| texels[5 * texel] = 256.0);
        let plane = texture(Shape::TwoD, Channel::Float(4), 4, [2, 2]);
        for (x, y, weights) in [
            (1.0, 1.0, [254.0, 1.0, 1.0, 0.0]),
            (128.0, 1.0, [128.0, 127.0, 0.0, 1.0]),
            (127.0, 128.0, [65.0, 63.0, 64.0, 64.0]),
            (100.0, 200.0, [34.0, 22.0, 122.0, 78.0]),
        ] {
            assert_eq!(read(&plane, [0.5 + x / 256.0, 0.5 + y / 256.0, 0.0], floats(&texels)), weights);
        }
    }

    #[test]
    fn no_numbers_count_where_their_weight_is_rounded_to_nothing() {
        let plane = texture(Shape::TwoD, Channel::Float(2), 1, [2, 2]);
        let texels: Vec<u8> =
            [0x3c00u16, 0xfe53, 0x3c00, 0x3c00].into_iter().flat_map(u16::to_le_bytes).collect();
        let at = |x: f32, y: f32| {
            read(&plane, [0.5 + x / 256.0, 0.5 + y / 256.0, 0.0], texels.clone())[0].to_bits()
        };
        assert_eq!(filter::weights(WHOLE, [4, 239, 0])[1], 0);
        assert_eq!(at(4.0, 239.0), 0x7fff_e000);
        assert_eq!(at(0.0, 239.0), 0x3f80_0000, "what is not around does not count");
        let from = Fetch { at: [1.0, 1.0, 0.0], layer: 0, offset: [0; 3], lod: Lod::Finest };
        let words = gather(&plane, &from, 0, &mut Bytes(texels.clone())).expect("simulated");
        assert_eq!(words, [0x3f80_0000, 0x3f80_0000, 0x7fff_e000, 0x3f80_0000]);
    }

    #[test]
    fn packed_channels_are_filtered_with_sixteen_bits() {
        let mut plane = texture(Shape::TwoD, Channel::Packed, 4, [2, 2]);
        let texels: Vec<u8> = [0x31db_8537u32, 0x6885_9a2b, 0x4a1a_e5f5, 0xa32b_77cd]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        let at = [0.5 + 33.0 / 256.0, 0.5 + 15.0 / 256.0, 0.0];
        let filtered = read(&plane, at, texels.clone());
        assert_eq!(filtered.map(f32::to_bits), [0x3eb1_dab2, 0x3f2c_6eac, 0x3f3a_63ba, 0x3d80_0080]);
        plane.sampler.address = [AddressMode::Border; 3];
        plane.sampler.border = [0.25, -0.5, 0.0, 1.0].map(f32::to_bits);
        let outside = [-8.0, 0.5, 0.0];
        assert_eq!(read(&plane, outside, texels.clone()).map(f32::to_bits), [0x3e80_0080, 0, 0, 0x3f80_0000]);
        plane.sampler.filter = Filter::Point;
        assert_eq!(read(&plane, outside, texels.clone()).map(f32::to_bits), [0x3e80_2008, 0, 0, 0x3f80_0000]);
        let nearest = read(&plane, at, texels);
        assert_eq!(nearest, [311.0 / 1023.0, 737.0 / 1023.0, 797.0 / 1023.0, 0.0]);
    }

    #[test]
    fn small_floats_lose_bits_beside_large_ones() {
        let row = texture(Shape::OneD, Channel::Float(4), 1, [2, 1]);
        // 3 and 253 of 256.
        let texels = [0x389e_3c5d, 0x2bc8_e00b].map(f32::from_bits);
        let [sum, ..] = read(&row, [0.5 + 253.0 / 256.0, 0.0, 0.0], floats(&texels));
        assert_eq!(sum.to_bits(), 0x356d_5aa3, "1.dab548 times 2 to the -21 would be nearest");
    }

    #[test]
    fn bytes_become_sixteen_bits_with_the_sum() {
        let row = texture(Shape::OneD, Channel::Unsigned(1), 1, [2, 1]);
        let [sum, ..] = read(&row, [0.5 + 1.0 / 256.0, 0.0, 0.0], vec![0, 255]);
        assert_eq!(sum, 256.0 / 65535.0);
        let row = texture(Shape::OneD, Channel::Signed(1), 1, [2, 1]);
        let [sum, ..] = read(&row, [0.5, 0.0, 0.0], vec![128, 0]);
        assert_eq!(sum, -1.0, "the smallest counts as the next one");
    }

    #[test]
    fn normalized_coordinates_have_twenty_one_bits() {
        let mut row = texture(Shape::OneD, Channel::Float(4), 1, [5, 1]);
        row.sampler.normalized = true;
        row.sampler.filter = Filter::Point;
        let texels = floats(&[0.0, 1.0, 2.0, 3.0, 4.0]);
        // Just over a fifth, and as a fixed-point number just below it.
        assert_eq!(read(&row, [f32::from_bits(0x3e4c_ccce), 0.0, 0.0], texels.clone())[0], 0.0);
        assert_eq!(read(&row, [0.2001, 0.0, 0.0], texels)[0], 1.0);
    }

    #[test]
    fn cubes_that_an_array_lacks_are_zeros() {
        let mut cubes = texture(Shape::CubeLayered, Channel::Float(4), 1, [1, 1]);
        cubes.image.levels[0].extent[2] = 18;
        cubes.image.whole.layers = 12;
        let texels: Vec<f32> = (1..13).map(|texel| texel as f32).collect();
        let at = |layer: u32| {
            let from = Fetch { at: [0.0, 0.0, -1.0], layer, offset: [0; 3], lod: Lod::Finest };
            fetch(&cubes, &from, &mut Bytes(floats(&texels))).expect("simulated")[0]
        };
        assert_eq!([0, 1, 2, 9].map(at), [6f32.to_bits(), 12f32.to_bits(), 0, 0]);
    }

    /// Weights of the faces of a cube of one texel each.
    #[test]
    fn filters_go_over_the_edges_of_seamless_cubes() {
        let mut cube = texture(Shape::Cube, Channel::Float(4), 1, [1, 1]);
        cube.image.levels[0].extent[2] = 6;
        cube.sampler.seamless = true;
        let bits = |bits: [u32; 3]| bits.map(f32::from_bits);
        for (at, weights) in [
            (bits([0x3f80_0000, 0x3f29_0000, 0x3f0b_0000]), [133, 0, 69, 0, 54, 0]),
            (bits([0x3f80_0000, 0x3c41_50c0, 0x3f28_0473]), [172, 0, 1, 0, 83, 0]),
            (bits([0x3f80_0000, 0xbe27_26d8, 0x3ec8_0000]), [191, 0, 0, 18, 47, 0]),
            (bits([0x3f80_0000, 0x3a97_5800, 0x3f80_0000]), [128, 0, 0, 0, 128, 0]),
            ([1.0, 1.0, 1.0], [85, 0, 85, 0, 86, 0]),
            ([-1.0, -1.0, -1.0], [0, 85, 0, 85, 0, 86]),
        ] {
            let found: Vec<u32> = (0..6)
                .map(|face| {
                    let texels: Vec<f32> =
                        (0..6).map(|other| if other == face { 256.0 } else { 0.0 }).collect();
                    read(&cube, at, floats(&texels))[0] as u32
                })
                .collect();
            assert_eq!(found, weights, "{at:?}");
        }
        // Counter-clockwise from the lower left; over the corner the mean of the three.
        let texels: Vec<f32> = (0..6).map(|face| (1 << (2 * face)) as f32 * 256.0).collect();
        let from = Fetch { at: [1.0, 0.66, 0.543], layer: 0, offset: [0; 3], lod: Lod::Finest };
        let words = gather(&cube, &from, 0, &mut Bytes(floats(&texels))).expect("simulated");
        let mean = 86.0 * 1.0 + 85.0 * 16.0 + 85.0 * 256.0;
        assert_eq!(words.map(f32::from_bits), [65536.0, 256.0, 4096.0, mean]);
    }
}
