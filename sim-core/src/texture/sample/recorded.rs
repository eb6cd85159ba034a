//! Levels of detail and taps of anisotropic filters that an H200 gave for random steps (`testdata/h200`).

use super::*;
use crate::texture::{Channel, Format, Image};

pub(super) fn sampler(anisotropy: u32) -> Sampler {
    Sampler {
        address: [AddressMode::Clamp; 3],
        filter: Filter::Linear,
        mipmap_filter: Filter::Point,
        normalized: true,
        integers: false,
        srgb: false,
        seamless: false,
        bias: 0.0,
        clamp: [0.0; 2],
        border: [0; 4],
        anisotropy,
    }
}

fn texture(shape: Shape, extent: [u32; 3], anisotropy: u32) -> Texture {
    let format = Format::plain(Channel::Float(4), 4);
    let pitch = u64::from(extent[0]) * 16;
    let level = Level { base: 0, extent, pitch, slice: pitch * u64::from(extent[1]) };
    Texture {
        image: Image { shape, format, levels: vec![level], opaque: true },
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
        (Channel::Packed, 3, 0x3f00_0000, 2),
    ] {
        assert_eq!(stored_fraction(channel, number, bits), stored, "{channel:?} {bits:#x}");
    }
}
