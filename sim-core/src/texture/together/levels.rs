//! Which levels the threads of a warp read.

use super::super::format::Kind;
use super::super::sample::{FINEST, is_anisotropic};
use super::super::{Shape, Texture, lod};
use super::{Coordinates, Detail, Reads, Row, kinds, mask};
use semantics::lanes::{LaneMask, WARP_SIZE};

/// Bytes of a level at most: places in it have 32 bits.
const MOST_BYTES: u64 = 1 << 31;

/// The first level that is read, and the weight of the next one in 256ths.
#[allow(clippy::large_enum_variant, reason = "it lives for one read, and nothing on that way allocates")]
pub(crate) enum Plan {
    /// All lanes read the same.
    Same([u32; 2]),
    /// By lane.
    Each([Row<u32>; 2]),
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
    let of = |detail: u32| {
        let levels = lod::levels(lod::steps(f32::from_bits(detail)), sampler, count);
        [levels.first as u32, levels.fraction]
    };
    let finest = FINEST.to_bits();
    let all_are = |levels: &Row<u32>, one: u32| levels.iter().all(|&of| of == one);
    match (reads.coordinates, reads.detail) {
        (Coordinates::Integers { .. }, _) if is_cube => None,
        (Coordinates::Integers { .. }, Detail::Finest) => Some(Plan::Same([0, 0])),
        (Coordinates::Integers { .. }, Detail::Levels(levels)) if all_are(levels, levels[0]) => {
            Some(Plan::Same([levels[0], 0]))
        }
        (Coordinates::Integers { .. }, Detail::Levels(levels)) => Some(Plan::Each([*levels, [0; WARP_SIZE]])),
        (Coordinates::Integers { .. }, Detail::Steps) => None,
        _ if image.shape == Shape::Linear => None,
        (Coordinates::Gather(channel), _) => {
            let is_there = channel < usize::from(image.format.channels) && image.shape != Shape::ThreeD;
            is_there.then(|| Plan::Same([of(finest)[0], 0]))
        }
        (_, Detail::Steps) if count > 1 || is_anisotropic(texture) => None,
        _ if sampler.filters() && !kinds(texture).all(Kind::is_plain) => None,
        (_, Detail::Levels(levels)) if count > 1 && !all_are(levels, levels[0]) => {
            let mut rows = [[0; WARP_SIZE]; 2];
            let mut last = (levels[0], of(levels[0]));
            for (lane, &said) in levels.iter().enumerate() {
                if said != last.0 {
                    last = (said, of(said));
                }
                [rows[0][lane], rows[1][lane]] = last.1;
            }
            Some(Plan::Each(rows))
        }
        (_, Detail::Levels(levels)) if count > 1 => Some(Plan::Same(of(levels[0]))),
        _ => Some(Plan::Same(of(finest))),
    }
}

impl Plan {
    /// What the first of these lanes reads, and those that read of the same levels; `None` where they are not plain.
    pub(crate) fn levels(&self, texture: &Texture, lanes: LaneMask) -> Option<Levels> {
        let image = &texture.image;
        let (first, lanes, fractions, mixes) = match self {
            Plan::Same([first, fraction]) => (*first, lanes, [*fraction; WARP_SIZE], *fraction != 0),
            Plan::Each([firsts, fractions]) => {
                let first = firsts[lanes.trailing_zeros() as usize % WARP_SIZE];
                let lanes = mask(|lane| firsts[lane] == first) & lanes;
                (first, lanes, *fractions, mask(|lane| fractions[lane] != 0) & lanes != 0)
            }
        };
        let first = usize::try_from(first).ok()?;
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
        Some(Levels { lanes, numbers, bytes, fractions })
    }
}

impl Levels {
    /// Whether any lane mixes two.
    pub(super) fn are_mixed(&self) -> bool {
        self.numbers[0] != self.numbers[1]
    }
}
