//! Reads of textures. Texels grow evenly along each axis, so that what lies between them is exact.

use sim_core::{
    Backend, Channel, Filter, Format, Image, Level, Sampler, Simulator, Texture, TextureShape as Shape, Whole,
};

use super::{Case, Group, Loaded, Setup, Target, compare, equal, extent};
use crate::Size;

/// Reads of a thread.
const READS: u32 = 64;

/// A texture whose texels each have the channels that `texel` says.
fn texture(
    simulator: &Simulator,
    shape: Shape,
    extent: [u32; 3],
    filter: Filter,
    texel: impl Fn([u32; 3]) -> Vec<f32>,
) -> u64 {
    let [width, height, depth] = extent;
    let places = (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])));
    let channels = texel([0; 3]).len();
    let bytes: Vec<u8> = places.flat_map(&texel).flat_map(f32::to_le_bytes).collect();
    let base = simulator.alloc(bytes.len() as u64, "texels").expect("alloc");
    simulator.write(base, &bytes).expect("write");
    let format = Format::plain(Channel::Float(4), channels as u8);
    let pitch = u64::from(width * format.bytes());
    let level = Level { base, extent, pitch, slice: pitch * u64::from(height) };
    let sampler = Sampler { filter, ..Sampler::default() };
    let image = Image { shape, format, levels: vec![level], whole: Whole::of(extent), opaque: false };
    simulator.add_texture(Texture { image, sampler })
}

fn load(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let (blocks, threads) = extent(size);
    let count = blocks * threads;
    let filter = if case.name.ends_with("nearest") { Filter::Point } else { Filter::Linear };
    // How far beyond a texel's place a read is.
    let part = if filter == Filter::Linear { 0.25 } else { 0.0 };
    let plane = |[x, y, _]: [u32; 3]| (x + 128 * y) as f32;
    let (kernel, handle, sum): (_, _, Box<dyn Fn(u32, u32) -> f32>) = match case.name {
        "numbers" => {
            let texels =
                texture(simulator, Shape::Linear, [count + READS, 1, 1], Filter::Point, |[x, ..]| {
                    vec![x as f32]
                });
            ("numbers", texels, Box::new(|i, k| (i + k) as f32))
        }
        "volume_linear" => {
            let texel = |[x, y, z]: [u32; 3]| vec![(x + 32 * y + 1024 * z) as f32];
            let texels = texture(simulator, Shape::ThreeD, [32, 32, 32], filter, texel);
            let at = move |i, k| (i % 16 + i / 16 % 16 * 32 + k % 16 * 1024) as f32 + part * 1057.0;
            ("volume", texels, Box::new(at))
        }
        "colours_linear" => {
            let texel = |at| (0..4).map(|channel| plane(at) + channel as f32).collect();
            let texels = texture(simulator, Shape::TwoD, [128, 64 + 1, 1], filter, texel);
            let at = move |i, k| 4.0 * (plane([i % 64 + k, i / 64 % 64, 0]) + part * 129.0) + 6.0;
            ("colours", texels, Box::new(at))
        }
        _ => {
            let texels = texture(simulator, Shape::TwoD, [128, 64 + 1, 1], filter, |at| vec![plane(at)]);
            let at = move |i, k| plane([i % 64 + k, i / 64 % 64, 0]) + part * 129.0;
            ("plane", texels, Box::new(at))
        }
    };
    let mut setup = Setup::new(simulator, "textures", kernel);
    setup.scalar(handle);
    let out = setup.buffer(&vec![0f32; count as usize]);
    let expected: Vec<f32> = (0..count).map(|i| (0..READS).map(|k| sum(i, k)).sum()).collect();
    setup.finish((blocks, threads), Some(u64::from(count * READS)), move |simulator| {
        compare(simulator, out, &expected, equal)
    })
}

/// The reads.
pub(super) fn cases() -> Vec<Case> {
    let names = ["numbers", "plane_nearest", "plane_linear", "colours_linear", "volume_linear"];
    names.map(|name| Case { group: Group::Textures, name, target: Target::None, make: load }).into()
}
