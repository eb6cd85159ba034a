//! Levels of detail and taps of anisotropic filters that an H200 gave for random steps (`testdata/h200`).

use super::*;
use crate::texture::{Channel, Format, Whole};

pub(super) fn sampler(anisotropy: u32) -> Sampler {
    Sampler { filter: Filter::Linear, normalized: true, anisotropy, ..Sampler::default() }
}

fn texture(shape: Shape, extent: [u32; 3], anisotropy: u32) -> Texture {
    let format = Format::plain(Channel::Float(4), 4);
    let pitch = u64::from(extent[0]) * 16;
    let level = Level { base: 0, extent, pitch, slice: pitch * u64::from(extent[1]) };
    Texture {
        image: Image { shape, format, levels: vec![level], whole: Whole::of(extent), opaque: true },
        sampler: sampler(anisotropy),
    }
}

fn floats<const N: usize>(words: &[&str]) -> [f32; N] {
    std::array::from_fn(|at| f32::from_bits(u32::from_str_radix(words[at], 16).expect("a word")))
}

#[test]
fn levels_of_detail_are_those_of_an_h200() {
    let lines = include_str!("../../../../testdata/h200/levels_of_detail.txt").lines();
    let mut wrong = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u32>().expect("a number");
        let extent = [number(1), number(2), number(3).max(1)];
        let (shape, at, lod) = match words[0] {
            "plane" => {
                let [a, b, c, d] = floats(&words[5..]);
                (Shape::TwoD, [0.5, 0.5, 0.0], Lod::Gradients([a, b, 0.0], [c, d, 0.0]))
            }
            kind => {
                let [x, y, z, a, b, c, d, e, f] = floats(&words[5..]);
                let (at, right, down) = ([x, y, z], [a, b, c], [d, e, f]);
                if kind == "cube" {
                    (Shape::Cube, at, Lod::Directions([at, right, down]))
                } else {
                    (Shape::ThreeD, at, Lod::Gradients(right, down))
                }
            }
        };
        let fetch = Fetch { at, layer: 0, offset: [0; 3], lod };
        let (found, _) = detail(&texture(shape, extent, 0), &fetch);
        let found = found.clamp(0, i64::from(number(4)) * 256) & 255;
        if words[words.len() - 1] != found.to_string() {
            wrong.push(format!("{line}, not {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Texels that have the squares and the product of their distances from one in the middle, of 256 times 256.
struct Squares;

impl Texels for Squares {
    type Error = &'static str;

    fn read(&mut self, address: u64, _: u32) -> Result<[u32; 4], Self::Error> {
        let [x, y] = [address / 16 % 256, address / 4096].map(|at| at as f32 - 128.0);
        Ok([x * x, y * y, x * y, 0.0].map(f32::to_bits))
    }
}

#[test]
fn anisotropic_taps_are_those_of_an_h200() {
    let lines = include_str!("../../../../testdata/h200/anisotropic_taps.txt").lines();
    let mut wrong = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [a, b, c, d] = floats(&words[1..]);
        let texture = texture(Shape::TwoD, [256, 256, 1], words[0].parse().expect("a number"));
        let lod = Lod::Gradients([a, b, 0.0], [c, d, 0.0]);
        let middle = 128.5 / 256.0;
        let from = Fetch { at: [middle, middle, 0.0], layer: 0, offset: [0; 3], lod };
        let given = fetch(&texture, &from, &mut Squares).expect("simulated");
        if given[..3] != floats::<3>(&words[6..]).map(f32::to_bits) {
            wrong.push(format!("{line}, not {given:08x?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same of two levels: squares of the first one in the first channel and its squares or products in the second, those of
/// the second level in the others.
struct TwoLevels {
    size: u64,
    product: bool,
}

impl Texels for TwoLevels {
    type Error = &'static str;

    fn read(&mut self, address: u64, _: u32) -> Result<[u32; 4], Self::Error> {
        let is_first = address < SECOND_LEVEL;
        let (size, at) =
            if is_first { (self.size, address) } else { (self.size / 2, address - SECOND_LEVEL) };
        let from_middle = |at: u64| (at % size) as f32 - (size / 2) as f32;
        let [x, y] = [at / 16, at / 16 / size].map(from_middle);
        let [a, b] = [x * x, if self.product { x * y } else { y * y }];
        Ok(if is_first { [a, b, 0.0, 0.0] } else { [0.0, 0.0, a, b] }.map(f32::to_bits))
    }
}

const SECOND_LEVEL: u64 = 1 << 32;

/// Of 237,568 reads that were recorded so, 2 differ here, of cubes; these do not.
#[test]
fn anisotropic_reads_of_two_levels_are_those_of_an_h200() {
    let lines = include_str!("../../../../testdata/h200/anisotropic_levels.txt").lines();
    let mut wrong = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<f32>().expect("a number");
        let is_cube = words[0] == "cube";
        let flags: Vec<bool> = words[6].bytes().map(|flag| flag == b'1').collect();
        let (size, layers) = (number(1) as u32, if is_cube { 6 } else { 1 });
        let level = |base, size: u32| {
            let pitch = u64::from(size) * 16;
            Level { base, extent: [size, size, layers], pitch, slice: pitch * u64::from(size) }
        };
        let [x, y, z, a, b, c, d, e, f] = floats(&words[7..]);
        let (at, right, down) = ([x, y, z], [a, b, c], [d, e, f]);
        let shape = if is_cube { Shape::Cube } else { Shape::TwoD };
        let mut texture = texture(shape, [size, size, layers], number(2) as u32);
        texture.image.levels = vec![level(0, size), level(SECOND_LEVEL, size / 2)];
        let mipmap_filter = if flags[0] { Filter::Linear } else { Filter::Point };
        let (bias, clamp, seamless) = (number(3), [number(4), number(5)], flags[1]);
        texture.sampler = Sampler { mipmap_filter, bias, clamp, seamless, ..texture.sampler };
        let lod = if is_cube { Lod::Directions([at, right, down]) } else { Lod::Gradients(right, down) };
        let largest = x.abs().max(y.abs()).max(z.abs());
        let reciprocal = f32::from_bits(numerics::approx::rcp_f32(largest.to_bits(), false));
        let at = if is_cube { at.map(|at| at * reciprocal) } else { at };
        let from = Fetch { at, layer: 0, offset: [0; 3], lod };
        let given = fetch(&texture, &from, &mut TwoLevels { size: size.into(), product: flags[2] });
        let given = given.expect("simulated");
        if given != floats::<4>(&words[16..]).map(f32::to_bits) {
            wrong.push(format!("{line}, not {given:08x?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Texels of seamless cubemaps as the recording program made them: floats that are the bytes of a hash.
struct Hashed(Vec<u8>);

impl Hashed {
    /// Adds the texels of a level.
    fn level(&mut self, seed: u64, extent: [u32; 3]) -> Level {
        let pitch = u64::from(extent[0]) * 16;
        let level = Level { base: self.0.len() as u64, extent, pitch, slice: pitch * u64::from(extent[1]) };
        let texel = |number: u64| {
            let mut hash = seed.wrapping_mul(0xd134_2543_de82_ef95);
            hash = hash.wrapping_add((number * 64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((hash ^ hash >> 31) >> 56) as u8
        };
        self.0.extend((0..extent.map(u64::from).iter().product::<u64>() * 4).map(texel));
        Level { base: level.base * 4, ..level }
    }
}

impl Texels for Hashed {
    type Error = &'static str;

    fn read(&mut self, address: u64, _: u32) -> Result<[u32; 4], Self::Error> {
        let first = address as usize / 4;
        Ok([0, 1, 2, 3].map(|channel| f32::from(self.0[first + channel]).to_bits()))
    }
}

#[test]
fn taps_beside_faces_of_seamless_cubes_are_those_of_an_h200() {
    let lines = include_str!("../../../../testdata/h200/seamless_taps.txt").lines();
    let mut wrong = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let (number, layers, size, levels, anisotropy, mipmap_filter, address, bias, clamp) = match words[0] {
            "448" => (
                448,
                12,
                37u32,
                6,
                8,
                Filter::Point,
                AddressMode::Wrap,
                1.083_333_4,
                [1.515_625, 3.148_958_2],
            ),
            _ => (
                489,
                6,
                8,
                4,
                16,
                Filter::Linear,
                AddressMode::Border,
                -0.732_222_2,
                [2.363_281_3, 4.796_614_6],
            ),
        };
        let mut texels = Hashed(Vec::new());
        let levels = (0..levels).map(|level| {
            let size = size >> level;
            texels.level(900_000 + number * 16 + level, [size, size, layers])
        });
        let shape = if layers > 6 { Shape::CubeLayered } else { Shape::Cube };
        let mut texture = texture(shape, [size, size, layers], anisotropy);
        texture.image.levels = levels.collect();
        texture.sampler =
            Sampler { address: [address; 3], mipmap_filter, bias, clamp, seamless: true, ..texture.sampler };
        let [x, y, z, a, b, c, d, e, f] = floats(&words[2..]);
        let (at, right, down) = ([x, y, z], [a, b, c], [d, e, f]);
        let largest = x.abs().max(y.abs()).max(z.abs());
        let reciprocal = f32::from_bits(numerics::approx::rcp_f32(largest.to_bits(), false));
        let from = Fetch {
            at: at.map(|at| at * reciprocal),
            layer: words[1].parse().expect("a number"),
            offset: [0; 3],
            lod: Lod::Directions([at, right, down]),
        };
        let given = fetch(&texture, &from, &mut texels).expect("simulated");
        if given != floats::<4>(&words[11..]).map(f32::to_bits) {
            wrong.push(format!("{line}, not {given:08x?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Floats that formatted stores made fractions of, some of them near the middle between two.
#[test]
fn stored_fractions_are_those_of_an_h200() {
    use crate::texture::stored_fraction;
    for (channel, number, bits, stored) in [
        (Channel::Signed(2), 0, 0x3f68_64dc, 29745),
        (Channel::Signed(2), 0, 0xbef4_fbec, 49858),
        (Channel::Signed(2), 0, 0x3b95_8abf, 149),
        (Channel::Unsigned(1), 0, 0x3e06_f985, 34),
        (Channel::Unsigned(1), 0, 0x3f39_4852, 185),
        (Channel::Unsigned(1), 0, 0xbf80_0000, 0),
        (Channel::Signed(1), 0, 0xbf52_a868, 152),
        (Channel::Signed(1), 0, 0xbe4c_c750, 231),
        (Channel::Unsigned(2), 0, 0x3f3f_bdb6, 49085),
        (Channel::Unsigned(2), 0, 0x7fc0_0000, 0),
        (Channel::Packed, 1, 0x4000_0000, 1023),
        (Channel::Packed, 0, 0x3f00_0000, 511),
        (Channel::Packed, 1, 0x3f00_0001, 511),
        (Channel::Packed, 3, 0x3e3f_afed, 0),
        (Channel::Packed, 3, 0x3e3f_b801, 1),
        (Channel::Packed, 3, 0x3f00_0000, 2),
        (Channel::Packed, 3, 0x3f50_1406, 2),
        (Channel::Packed, 3, 0x3f50_5415, 3),
        (Channel::Unsigned(1), 0, 0x3f00_0000, 127),
        (Channel::Unsigned(1), 0, 0x3f00_07ff, 127),
        (Channel::Unsigned(2), 0, 0x3f00_0001, 32767),
        (Channel::Signed(1), 0, 0xbf00_0000, 193),
        (Channel::Signed(1), 0, 0x3f00_1001, 63),
        (Channel::Signed(2), 0, 0xbf00_0001, 49153),
    ] {
        assert_eq!(stored_fraction(channel, number, bits), stored, "{channel:?} {bits:#x}");
    }
}
