//! Which levels the threads of a warp read.

use super::super::format::Kind;
use super::super::sample::{FINEST, is_anisotropic};
use super::super::{Shape, Texture, lod};
use super::{Coordinates, Detail, Reads, Row, kinds, mask};
use semantics::lanes::{LaneMask, WARP_SIZE};

/// Bytes of a level at most: places in it have 32 bits.
const MOST_BYTES: u64 = 1 << 31;

/// By lane the first level that is read, and the weight of the next one in 256ths.
pub(crate) struct Plan {
    firsts: Row<u32>,
    fractions: Row<u32>,
}

/// Lanes that read the same level, or the same two.
pub(crate) struct Levels {
    /// Those lanes.
    pub lanes: LaneMask,
    /// The numbers of the levels; of one alone, twice.
    pub numbers: [usize; 2],
    /// Their bytes.
    pub bytes: [u64; 2],
    /// The weight of the second by lane, in 256ths.
    pub fractions: Row<u32>,
}

/// The levels that all lanes read; `None` where reads are not plain.
pub(crate) fn plan(texture: &Texture, reads: &Reads<'_>) -> Option<Plan> {
    let Texture { image, sampler } = texture;
    let is_cube = matches!(image.shape, Shape::Cube | Shape::CubeLayered);
    if image.format.blocks.is_some() || sampler.seamless && !is_cube {
        return None;
    }
    let count = image.levels.len();
    let alone = |first| Some(Plan { firsts: [first; WARP_SIZE], fractions: [0; WARP_SIZE] });
    let of = |detail: f32| lod::levels(lod::steps(detail), sampler, count);
    match (reads.coordinates, reads.detail) {
        (Coordinates::Integers { .. }, _) if is_cube => None,
        (Coordinates::Integers { .. }, Detail::Finest) => alone(0),
        (Coordinates::Integers { .. }, Detail::Levels(levels)) => {
            Some(Plan { firsts: *levels, fractions: [0; WARP_SIZE] })
        }
        (Coordinates::Integers { .. }, Detail::Steps) => None,
        _ if image.shape == Shape::Linear => None,
        (Coordinates::Gather(channel), _) => {
            let is_there = channel < usize::from(image.format.channels) && image.shape != Shape::ThreeD;
            is_there.then(|| alone(of(FINEST).first as u32)).flatten()
        }
        (_, Detail::Steps) if count > 1 || is_anisotropic(texture) => None,
        _ if sampler.filters() && !kinds(texture).all(Kind::is_plain) => None,
        (_, detail) => {
            let mut plan = Plan { firsts: [0; WARP_SIZE], fractions: [0; WARP_SIZE] };
            let levels = match detail {
                Detail::Levels(levels) if count > 1 => *levels,
                _ => [FINEST.to_bits(); WARP_SIZE],
            };
            let mut last = (levels[0], of(f32::from_bits(levels[0])));
            for (lane, &said) in levels.iter().enumerate() {
                if said != last.0 {
                    last = (said, of(f32::from_bits(said)));
                }
                plan.firsts[lane] = last.1.first as u32;
                plan.fractions[lane] = last.1.fraction;
            }
            Some(plan)
        }
    }
}

impl Plan {
    /// What the first of these lanes reads, and those that read of the same levels; `None` where they are not plain.
    pub(crate) fn levels(&self, texture: &Texture, lanes: LaneMask) -> Option<Levels> {
        let image = &texture.image;
        let first = self.firsts[lanes.trailing_zeros() as usize % WARP_SIZE];
        let lanes = mask(|lane| self.firsts[lane] == first) & lanes;
        let first = usize::try_from(first).ok()?;
        let mixes = mask(|lane| self.fractions[lane] != 0) & lanes != 0;
        // Two levels of volumes are four slices.
        if mixes && image.shape == Shape::ThreeD {
            return None;
        }
        let second = if mixes { first + 1 } else { first };
        let bytes = |number: usize| {
            let level = image.levels.get(number)?;
            let [width, height, depth] = level.extent.map(u64::from);
            let rows = (height - 1).checked_mul(level.pitch)?;
            let bytes = (depth - 1).checked_mul(level.slice)?.checked_add(rows)?;
            let bytes = bytes.checked_add(width * u64::from(image.format.bytes()))?;
            (bytes <= MOST_BYTES).then_some(bytes)
        };
        let numbers = [first, second.min(image.levels.len() - 1)];
        let bytes = [bytes(numbers[0])?, bytes(numbers[1])?];
        Some(Levels { lanes, numbers, bytes, fractions: self.fractions })
    }
}

impl Levels {
    /// Whether any lane mixes two.
    pub(super) fn are_mixed(&self) -> bool {
        mask(|lane| self.fractions[lane] != 0) & self.lanes != 0
    }
}
