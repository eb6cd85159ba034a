//! Warps' reads beside those of each thread alone.

use super::*;
use crate::texture::sample::{Fetch, Lod, Texels, fetch, gather, integer};
use crate::texture::{Channel, Format, Image, Sampler, Whole};
use semantics::lanes::SimdLevel;

/// Words as texels.
struct Words<'a>(&'a [AtomicU32]);

impl Texels for Words<'_> {
    type Error = &'static str;

    fn read(&mut self, address: u64, bytes: u32) -> Result<[u32; 4], Self::Error> {
        let byte = |at: u64| (self.0[(at / 4) as usize].load(Relaxed) >> (8 * (at % 4)) & 0xff) as u8;
        let mut texel = [0; 16];
        for (number, to) in texel.iter_mut().enumerate().take(bytes as usize) {
            *to = byte(address + number as u64);
        }
        Ok(std::array::from_fn(|word| u32::from_le_bytes(std::array::from_fn(|byte| texel[4 * word + byte]))))
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }

    fn one_of<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[self.below(N as u32) as usize]
    }

    fn happens(&mut self, once_in: u32) -> bool {
        self.below(once_in) == 0
    }

    /// From zero to one.
    fn fraction(&mut self) -> f32 {
        self.next() as f32 / u32::MAX as f32
    }

    /// A coordinate of an axis, now and then an awkward one.
    fn coordinate(&mut self, size: f32) -> f32 {
        let at = match self.below(24) {
            0 => f32::from_bits(self.next()),
            1 => self.one_of([0.0, -0.0, 1e-40, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 3e9, -3e9, 9e4]),
            2 => (self.fraction() * size * 512.0).floor() / 512.0,
            3 => (self.fraction() * size).floor(),
            _ => (self.fraction() * 1.5 - 0.25) * size,
        };
        if self.happens(2) { at } else { at.abs() }
    }

    /// A word of texels of such a channel.
    fn word(&mut self, channel: Channel, special: bool) -> u32 {
        let word = self.next();
        match channel {
            Channel::Float(4) if special => word,
            // Exponents near one another, as sums round what is near.
            Channel::Float(4) => word & 0x87ff_ffff | 0x3800_0000,
            Channel::Float(_) if special => word,
            Channel::Float(_) => word & 0xbfff_bfff,
            _ => word,
        }
    }
}

const CHANNELS: [Channel; 9] = [
    Channel::Unsigned(1),
    Channel::Unsigned(2),
    Channel::Unsigned(4),
    Channel::Signed(1),
    Channel::Signed(2),
    Channel::Signed(4),
    Channel::Float(2),
    Channel::Float(4),
    Channel::Packed,
];

fn random_texture(random: &mut Random) -> (Texture, Vec<AtomicU32>) {
    let shape = random.one_of([
        Shape::OneD,
        Shape::TwoD,
        Shape::TwoD,
        Shape::ThreeD,
        Shape::OneDLayered,
        Shape::TwoDLayered,
        Shape::Cube,
        Shape::CubeLayered,
    ]);
    let is_cube = matches!(shape, Shape::Cube | Shape::CubeLayered);
    let channel = if random.happens(2) { Channel::Float(4) } else { random.one_of(CHANNELS) };
    let channels = if channel == Channel::Packed { 4 } else { random.one_of([1, 2, 4]) };
    let format = Format { opaque: random.happens(8), ..Format::plain(channel, channels) };
    let side = |random: &mut Random| random.one_of([1, 2, 3, 7, 16, 33]);
    let [width, height, depth] = [side(random), side(random), side(random)];
    let width = if random.happens(20) && channels == 1 { 9000 } else { width };
    let extent = match shape {
        Shape::OneD => [width, 1, 1],
        Shape::TwoD => [width, height, 1],
        Shape::OneDLayered => [width, 1, depth],
        Shape::Cube => [height, height, 6],
        Shape::CubeLayered => [height, height, 6 * depth],
        _ => [width.min(40), height, depth],
    };
    let mut levels = Vec::new();
    let mut base = 64;
    for number in 0..random.one_of([1, 3, 4, 4]) {
        let half = |size: u32| (size >> number).max(1);
        let extent = [
            half(extent[0]),
            half(extent[1]),
            if shape == Shape::ThreeD { half(extent[2]) } else { extent[2] },
        ];
        let pitch = (u64::from(extent[0] * format.bytes())).next_multiple_of(16);
        let slice = pitch * u64::from(extent[1]);
        levels.push(Level { base, extent, pitch, slice });
        base += slice * u64::from(extent[2]);
    }
    let special = random.happens(4);
    let words = (0..base.div_ceil(4)).map(|_| AtomicU32::new(random.word(channel, special))).collect();
    let mode = |random: &mut Random| {
        random.one_of([AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border])
    };
    let border = |random: &mut Random| match random.below(4) {
        0 => random.next(),
        _ => (random.fraction() * 2.0 - 0.5).to_bits(),
    };
    let filter = |random: &mut Random| random.one_of([Filter::Point, Filter::Linear]);
    let sampler = Sampler {
        address: [mode(random), mode(random), mode(random)],
        filter: filter(random),
        mipmap_filter: filter(random),
        normalized: random.happens(2),
        integers: random.happens(3),
        srgb: random.happens(4),
        seamless: is_cube && random.happens(2),
        bias: random.one_of([0.0, 0.0, 0.5]),
        clamp: [0.0, random.one_of([0.0, 2.0, 3.0, 3.0])],
        border: [border(random), border(random), border(random), border(random)],
        anisotropy: random.one_of([0, 1, 8]),
    };
    (
        Texture { image: Image { shape, format, levels, whole: Whole::of(extent), opaque: true }, sampler },
        words,
    )
}

/// What each lane alone reads.
fn alone(texture: &Texture, reads: &Reads<'_>, lane: usize, words: &[AtomicU32]) -> [u32; 4] {
    let at = reads.at.map(|row| row[lane]);
    let layer = reads.layers.map_or(0, |row| row[lane]);
    let offset = reads.offsets.map_or([0; 3], |rows| rows.map(|row| row[lane]));
    let level = match reads.detail {
        Detail::Levels(levels) => levels[lane],
        _ => 0,
    };
    let mut texels = Words(words);
    match reads.coordinates {
        Coordinates::Integers { clamps } => {
            let moved = [0, 1, 2].map(|axis| (at[axis] as i32).wrapping_add(offset[axis]));
            integer(texture, moved, layer, level, clamps, &mut texels)
        }
        Coordinates::Gather(channel) => {
            let read = Fetch { at: at.map(f32::from_bits), layer, offset, lod: Lod::Finest };
            gather(texture, &read, channel, &mut texels)
        }
        Coordinates::Floats => {
            let lod = match reads.detail {
                Detail::Finest => Lod::Finest,
                Detail::Levels(_) => Lod::Level(f32::from_bits(level)),
                Detail::Steps => Lod::Gradients([1.0; 3], [2.0; 3]),
            };
            fetch(texture, &Fetch { at: at.map(f32::from_bits), layer, offset, lod }, &mut texels)
        }
    }
    .expect("simulated")
}

#[test]
fn warps_read_what_their_threads_would_alone() {
    let mut random = Random(2611);
    // Reads that are plain, lanes in all, and those of two levels, of cubes, and of gathers.
    let (mut plain, mut lanes, mut mixed, mut faced, mut gathered) = (0, 0, 0, 0, 0);
    for _ in 0..4000 {
        let (texture, words) = random_texture(&mut random);
        let extent = texture.image.levels[0].extent;
        let is_cube = matches!(texture.image.shape, Shape::Cube | Shape::CubeLayered);
        let coordinates = match random.below(6) {
            0 => Coordinates::Integers { clamps: random.happens(2) },
            1 => Coordinates::Gather(random.below(texture.image.format.channels.into()) as usize),
            _ => Coordinates::Floats,
        };
        let mut at = [[0; WARP_SIZE]; 3];
        for (axis, row) in at.iter_mut().enumerate() {
            for word in row {
                let size = extent[axis];
                *word = match coordinates {
                    Coordinates::Integers { .. } => random.below(size + 4).wrapping_sub(2),
                    _ if is_cube => (random.coordinate(2.0) - 1.0).to_bits(),
                    _ => random
                        .coordinate(if texture.sampler.normalized { 1.0 } else { size as f32 })
                        .to_bits(),
                };
            }
        }
        let layers: Row<u32> = std::array::from_fn(|_| random.below(extent[2] + 1));
        let offsets: [Row<i32>; 3] =
            std::array::from_fn(|_| std::array::from_fn(|_| random.below(16) as i32 - 8));
        let level = match coordinates {
            Coordinates::Integers { .. } => random.below(2),
            _ => random.one_of([0.0f32, 1.0, 0.25, 1.7, 7.0]).to_bits(),
        };
        let mut levels = [level; WARP_SIZE];
        if coordinates == Coordinates::Floats && random.happens(2) {
            levels = std::array::from_fn(|_| (random.fraction() * 4.5 - 0.5).to_bits());
        }
        let detail = match random.below(4) {
            0 | 2 => Detail::Levels(&levels),
            1 if coordinates == Coordinates::Floats => Detail::Steps,
            _ => Detail::Finest,
        };
        let reads = Reads {
            lanes: if random.happens(2) { FULL } else { random.next() | 1 },
            at: &at,
            coordinates,
            layers: texture.image.shape.is_layered().then_some(&layers),
            offsets: random.happens(3).then_some(&offsets),
            detail,
        };
        let faces = Faces::of(&texture, &at, reads.layers, reads.lanes);
        let mut placed = reads;
        if is_cube {
            placed = Reads { lanes: faces.lanes, at: &faces.at, layers: Some(&faces.layers), ..reads };
        }
        let Some(plan) = plan(&texture, &placed) else { continue };
        plain += 1;
        let mut rest = placed.lanes;
        while rest != 0 {
            let Some(levels) = plan.levels(&texture, rest) else { break };
            rest &= !levels.lanes;
            let starts = levels.numbers.map(|number| texture.image.levels[number].base);
            assert!((0..2).all(|which| starts[which] + levels.bytes[which] <= 4 * words.len() as u64));
            for level in [SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Avx512] {
                let memory = Memory { words: &words, starts };
                let placed = Reads { lanes: levels.lanes, ..placed };
                let (results, done) =
                    level.run(Together { texture: &texture, levels: &levels, reads: placed, memory });
                for lane in (0..WARP_SIZE).filter(|lane| placed.lanes & done & 1 << lane != 0) {
                    let expected = alone(&texture, &reads, lane, &words);
                    let found = results.map(|row| row[lane]);
                    let at = at.map(|row| f32::from_bits(row[lane]));
                    assert_eq!(found, expected, "{level:?}, lane {lane} at {at:?}: {texture:#?} {reads:?}");
                    lanes += 1;
                    mixed += u32::from(levels.fractions[lane] != 0);
                    faced += u32::from(is_cube);
                    gathered += u32::from(matches!(coordinates, Coordinates::Gather(_)));
                }
            }
        }
    }
    let counts = [lanes, mixed, faced, gathered];
    assert!(plain > 2400 && lanes > 150_000, "{plain} reads are plain, lanes: {counts:?}");
    assert!(mixed > 5_000 && faced > 10_000 && gathered > 10_000, "lanes: {counts:?}");
}
