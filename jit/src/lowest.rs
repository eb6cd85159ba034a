//! Who of a team runs next: those that stand lowest.

use crate::context::MOST;
use std::arch::x86_64::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Those of a team that run next.
#[derive(Clone, Copy)]
pub(crate) struct Lowest {
    /// Where they stand.
    pub position: u32,
    /// Where the next ones stand; [`u32::MAX`] if there are none.
    pub next: u32,
    /// Who they are.
    pub runners: u32,
    /// Who the next ones are, if there are some.
    pub others: u32,
}

/// Positions that are compared at once.
const LANES: usize = 8;

impl Lowest {
    /// The lowest of the first so many; behind them there are [`u32::MAX`].
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(crate) fn of(positions: &[AtomicU32; MOST], members: usize) -> Lowest {
        match members.div_ceil(LANES) {
            1 => Lowest::of_chunks::<1>(positions),
            2 => Lowest::of_chunks::<2>(positions),
            _ => Lowest::of_chunks::<4>(positions),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn of_chunks<const CHUNKS: usize>(positions: &[AtomicU32; MOST]) -> Lowest {
        let mut chunks = [_mm256_setzero_si256(); CHUNKS];
        let mut least = _mm256_set1_epi32(-1);
        for (at, chunk) in chunks.iter_mut().enumerate() {
            let lane = |lane: usize| positions[LANES * at + lane].load(Relaxed) as i32;
            *chunk =
                _mm256_setr_epi32(lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7));
            least = _mm256_min_epu32(least, *chunk);
        }
        let position = lowest_lane(least);
        let (mut next, mut runners) = (_mm256_set1_epi32(-1), 0);
        for (at, &chunk) in chunks.iter().enumerate() {
            let here = _mm256_cmpeq_epi32(chunk, _mm256_set1_epi32(position as i32));
            // Those here become the greatest number.
            next = _mm256_min_epu32(next, _mm256_or_si256(chunk, here));
            runners |= (_mm256_movemask_ps(_mm256_castsi256_ps(here)) as u32) << (LANES * at);
        }
        let (next, mut others) = (lowest_lane(next), 0);
        for (at, &chunk) in chunks.iter().enumerate().filter(|_| next != u32::MAX) {
            let there = _mm256_cmpeq_epi32(chunk, _mm256_set1_epi32(next as i32));
            others |= (_mm256_movemask_ps(_mm256_castsi256_ps(there)) as u32) << (LANES * at);
        }
        Lowest { position, next, runners, others }
    }

    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.runners.count_ones() as usize
    }
}

/// The lowest of eight words.
#[inline]
#[target_feature(enable = "avx2")]
fn lowest_lane(lanes: __m256i) -> u32 {
    let four = _mm_min_epu32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    let two = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0b01_00_11_10));
    _mm_cvtsi128_si32(_mm_min_epu32(two, _mm_shuffle_epi32(two, 0b10_11_00_01))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One after the other.
    fn obvious(positions: &[u32]) -> (u32, u32, u32, u32) {
        let least = |positions: &mut dyn Iterator<Item = u32>| positions.min().unwrap_or(u32::MAX);
        let position = least(&mut positions.iter().copied());
        let next = least(&mut positions.iter().copied().filter(|&other| other != position));
        let at = |here: u32| {
            let there = positions.iter().enumerate().filter(move |(_, other)| **other == here);
            there.fold(0, |bits, (at, _)| bits | 1 << at)
        };
        (position, next, at(position), if next == u32::MAX { 0 } else { at(next) })
    }

    proptest! {
        #[test]
        fn those_that_stand_lowest_run_next(
            positions in prop::collection::vec(prop_oneof![0..4u32, (1u32 << 31)..(1 << 31) + 2, 0..u32::MAX], 1..=MOST),
        ) {
            if !is_x86_feature_detected!("avx2") {
                return Ok(());
            }
            let place = |at| AtomicU32::new(positions.get(at).copied().unwrap_or(u32::MAX));
            let places = std::array::from_fn(place);
            // SAFETY: every CPU that has AVX2 has the others.
            let lowest = unsafe { Lowest::of(&places, positions.len()) };
            let Lowest { position, next, runners, others } = lowest;
            prop_assert_eq!((position, next, runners, others), obvious(&positions));
            prop_assert_eq!(lowest.count() as u32, lowest.runners.count_ones());
        }
    }
}
