//! The 32-byte sectors of global memory that an access of a warp touches.

use crate::event::{Shape, WarpAccess};
use semantics::lanes::LaneMask;

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// Sectors that the lanes of an access touch.
#[inline]
pub(super) fn sectors(access: &WarpAccess<'_>) -> u64 {
    let bytes = u64::from(access.bytes);
    // First and last sector of some lanes with consecutive addresses.
    let span = |first: usize, last: usize| {
        (access.addresses[first] / SECTOR, (access.addresses[last] + bytes - 1) / SECTOR)
    };
    let first = access.lanes.trailing_zeros() as usize & 31;
    match access.shape {
        Shape::Same => {
            let (low, high) = span(first, first);
            high - low + 1
        }
        Shape::Unit if access.lanes == LaneMask::MAX => {
            let (low, high) = span(0, 31);
            high - low + 1
        }
        Shape::Halves(a, b) => half_sectors(bytes, [access.addresses[0], access.addresses[16]], [a, b]),
        Shape::Any | Shape::Unit => scattered_sectors(access),
    }
}

/// Sectors of the halves of a warp, each from an address on.
#[inline]
pub(super) fn half_sectors(bytes: u64, starts: [u64; 2], consecutive: [bool; 2]) -> u64 {
    let span = |half: usize| {
        let bytes = if consecutive[half] { 16 * bytes } else { bytes };
        (starts[half] / SECTOR, (starts[half] + bytes - 1) / SECTOR)
    };
    let ((low, high), (start, end)) = (span(0), span(1));
    let both = (high.min(end) + 1).saturating_sub(low.max(start));
    high - low + 1 + end - start + 1 - both
}

/// Sectors of any addresses.
fn scattered_sectors(access: &WarpAccess<'_>) -> u64 {
    let reach = u64::from(access.bytes) - 1;
    let first = access.lanes.trailing_zeros() as usize & 31;
    // Accesses are aligned to their size, so that a lane touches one sector, unless it is wider.
    let mut touched = [access.addresses[first] / SECTOR; 32];
    let (mut ascending, mut wide, mut distinct) = (true, false, 1);
    let mut last = touched[0];
    for (lane, touched) in touched.iter_mut().enumerate() {
        if access.lanes >> lane & 1 != 0 {
            let sector = access.addresses[lane] / SECTOR;
            *touched = sector;
            wide |= (access.addresses[lane] + reach) / SECTOR != sector;
            ascending &= sector >= last;
            distinct += u64::from(sector != last);
            last = sector;
        }
    }
    if wide {
        let mut all: Vec<u64> = (0..32)
            .filter(|lane| access.lanes >> lane & 1 != 0)
            .flat_map(|lane| access.addresses[lane] / SECTOR..=(access.addresses[lane] + reach) / SECTOR)
            .collect();
        all.sort_unstable();
        all.dedup();
        return all.len() as u64;
    }
    if ascending {
        return distinct;
    }
    let low = touched.iter().fold(u64::MAX, |low, &sector| low.min(sector));
    let high = touched.iter().fold(0, |high, &sector| high.max(sector));
    if high - low < 64 {
        let bits = touched.iter().fold(0u64, |bits, sector| bits | 1 << (sector - low));
        return u64::from(bits.count_ones());
    }
    distinct_of(&touched)
}

/// How many of some numbers differ; none is `u64::MAX`. Twice as many places as numbers, each number at the first free one
/// from where its hash says: a third of the time that sorting takes.
fn distinct_of(numbers: &[u64; 32]) -> u64 {
    let (mut places, mut count) = ([u64::MAX; 64], 0);
    for &number in numbers {
        let mut at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        while places[at] != number {
            if places[at] == u64::MAX {
                places[at] = number;
                count += 1;
            } else {
                at = (at + 1) % places.len();
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AccessKind, Memory};
    use isa::{MemOrder, Scope};
    use std::collections::BTreeSet;

    /// The definition: the sectors of every byte.
    fn by_definition(access: &WarpAccess<'_>) -> u64 {
        let bytes = (0..32)
            .filter(|lane| access.lanes >> lane & 1 != 0)
            .flat_map(|lane| (0..u64::from(access.bytes)).map(move |at| (lane, at)));
        let all: BTreeSet<u64> = bytes.map(|(lane, at)| (access.addresses[lane] + at) / SECTOR).collect();
        all.len() as u64
    }

    fn check(shape: Shape, lanes: LaneMask, bytes: u32, address: impl Fn(u64) -> u64) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let (memory, kind) = (Memory::Global, AccessKind::Read);
        let access = WarpAccess {
            memory,
            kind,
            addresses: &addresses,
            shape,
            lanes,
            bytes,
            element: bytes,
            order: MemOrder::Weak,
            scope: Scope::Sys,
            asynchronous: crate::event::Asynchronous::No,
            writing: lanes,
            changing: lanes,
            position: 0,
            home: 0,
            block: 0,
            warp: 0,
        };
        assert_eq!(sectors(&access), by_definition(&access), "{shape:?} {lanes:#x} {bytes} {addresses:?}");
    }

    #[test]
    fn sectors_are_those_of_the_bytes() {
        for bytes in [1u32, 2, 4, 8, 16, 32, 64] {
            let size = u64::from(bytes);
            for start in [0x1000, 0x1000 + size, 0x1040, 0x1000 + 5 * size] {
                for lanes in [u32::MAX, 1, 0x8000_0000, 0x0f0f_0f0f, 0x8000_0001] {
                    check(Shape::Same, lanes, bytes, |_| start);
                    check(Shape::Unit, lanes, bytes, |lane| start + lane * size);
                    for stride in [0, 1, 2, 3, 7, 8, 33, 1000] {
                        check(Shape::Any, lanes, bytes, |lane| start + lane * stride * size);
                        check(Shape::Any, lanes, bytes, |lane| start + (lane ^ 5) * stride * size);
                    }
                }
                for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
                    for apart in [0, 1, 3, 16, 100] {
                        let part = |unit: bool, lane: u64| if unit { lane % 16 * size } else { 0 };
                        for swap in [false, true] {
                            check(Shape::Halves(a, b), u32::MAX, bytes, |lane| {
                                let second = (lane >= 16) != swap;
                                start
                                    + u64::from(second) * apart * size
                                    + part(if lane >= 16 { b } else { a }, lane)
                            });
                        }
                    }
                }
            }
        }
    }
}
