//! Sectors, lines and wavefronts of global memory that an access of a warp asks the first level of the cache for.

use semantics::lanes::LaneMask;

/// What an access of global memory costs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Traffic {
    /// As the hardware counts them (`l1tex__t_sectors_pipe_lsu_mem_global…`).
    pub(super) sectors: u64,
    /// Different sectors (`smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global…`).
    pub(super) distinct: u64,
    /// Different lines (`smsp__sass_l1tex_tags_mem_global`).
    pub(super) lines: u64,
    /// `l1tex__t_output_wavefronts_pipe_lsu_mem_global…`.
    pub(super) wavefronts: u64,
    /// How few sectors there could be (`memory_l2_theoretical_sectors_global_ideal`).
    pub(super) ideal: u64,
}

/// Bytes of a line, which has four sectors.
const LINE: u64 = 128;

/// Which of the four parts of the first level's tags a line is in: a sum over bits of its number, as measured
/// (`testdata/counters/patterns.cu`, whose output wavefronts follow it).
pub(super) fn part(line: u64) -> usize {
    const BITS: [usize; 17] = [1, 2, 1, 2, 3, 1, 2, 3, 0, 2, 1, 1, 0, 3, 1, 0, 3];
    BITS.iter().enumerate().fold(0, |sum, (bit, value)| if line >> bit & 1 != 0 { sum ^ value } else { sum })
}

/// Different numbers, in any order.
struct Distinct {
    values: [u64; 96],
    count: usize,
}

impl Distinct {
    fn new() -> Self {
        Distinct { values: [0; 96], count: 0 }
    }

    fn add(&mut self, value: u64) -> bool {
        let new = !self.values[..self.count].contains(&value) && self.count < self.values.len();
        if new {
            self.values[self.count] = value;
            self.count += 1;
        }
        new
    }
}

fn active(lanes: LaneMask) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 != 0)
}

/// A load or store, whose `sectors` are known.
pub(super) fn plain(addresses: &[u64; 32], lanes: LaneMask, bytes: u32, sectors: u64) -> Traffic {
    let mut lines = Distinct::new();
    let mut parts = [0u64; 4];
    for lane in active(lanes) {
        for line in addresses[lane] / LINE..=(addresses[lane] + u64::from(bytes.max(1)) - 1) / LINE {
            if lines.add(line) {
                parts[part(line)] += 1;
            }
        }
    }
    Traffic {
        sectors,
        distinct: sectors,
        lines: lines.count as u64,
        wavefronts: parts.into_iter().max().unwrap_or(0),
        ideal: least(lanes, bytes).min(sectors),
    }
}

fn least(lanes: LaneMask, bytes: u32) -> u64 {
    (u64::from(lanes.count_ones()) * u64::from(bytes)).div_ceil(32)
}

/// An atomic or a reduction: lanes at one address go in different wavefronts, each of which has one line of each part of
/// the tags; of a compare-and-swap one half of it.
pub(super) fn atomic(addresses: &[u64; 32], lanes: LaneMask, bytes: u32, swap: bool) -> Traffic {
    let mut left = lanes;
    let (mut wavefronts, mut sectors) = (0, 0);
    let (mut all, mut lines) = (Distinct::new(), Distinct::new());
    for lane in active(lanes) {
        all.add(addresses[lane] / 32);
        lines.add(addresses[lane] / LINE);
    }
    while left != 0 {
        let mut open = [None; 4];
        let (mut taken, mut touched) = (Distinct::new(), Distinct::new());
        for lane in active(left) {
            let address = addresses[lane];
            let unit = if swap { address / 64 } else { address / LINE };
            let place = &mut open[part(address / LINE)];
            if place.is_none_or(|open| open == unit) && taken.add(address) {
                *place = Some(unit);
                touched.add(address / 32);
                left &= !(1 << lane);
            }
        }
        wavefronts += 1;
        sectors += touched.count as u64;
    }
    let distinct = all.count as u64;
    Traffic {
        sectors,
        distinct,
        lines: lines.count as u64,
        wavefronts,
        ideal: least(lanes, bytes).min(distinct),
    }
}

/// Local memory: words of the lanes lie beside each other, so that each word of an access is a request of its own.
/// Requests, sectors, and how few sectors there could be.
pub(super) fn local(addresses: &[u64; 32], lanes: LaneMask, bytes: u32) -> (u64, u64, u64) {
    let words = u64::from(bytes.div_ceil(4)).max(1);
    let mut touched = Distinct::new();
    for lane in active(lanes) {
        touched.add(addresses[lane] / 4 * 4 + lane as u64 / 8);
    }
    let quarters = (0..4).filter(|quarter| lanes >> (8 * quarter) & 0xff != 0).count() as u64;
    (words, words * touched.count as u64, words * quarters)
}

/// `cp.async` past the first level: sectors, and wavefronts of shared memory. Two lanes share a sector where both sides lie
/// alike; of lanes that write to one place the last one does.
pub(super) fn bypassing(from: &[u64; 32], to: &[u64; 32], lanes: LaneMask) -> (u64, u64) {
    let last = |lane: usize| !active(lanes).any(|other| other > lane && to[other] == to[lane]);
    let (mut sectors, mut lines) = (Distinct::new(), Distinct::new());
    let mut moved = 0;
    for lane in active(lanes).filter(|&lane| last(lane)) {
        moved += 1;
        sectors.add((from[lane] / 32) << 20 ^ (to[lane] / 32));
        lines.add((from[lane] / LINE) << 20 ^ (to[lane] / LINE));
    }
    let full = sectors.count * 2 == moved;
    (sectors.count as u64, if full { lines.count as u64 } else { sectors.count as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(address: impl Fn(u64) -> u64) -> (u64, u64) {
        let traffic = atomic(&std::array::from_fn(|lane| address(lane as u64)), LaneMask::MAX, 4, false);
        (traffic.sectors, traffic.wavefronts)
    }

    #[test]
    fn lanes_at_one_address_reduce_one_after_the_other() {
        assert_eq!(reduced(|_| 0x1000), (32, 32));
        assert_eq!(reduced(|lane| 0x1000 + 4 * lane), (4, 1));
        assert_eq!(reduced(|lane| 0x1000 + 4 * (lane / 8)), (8, 8));
        assert_eq!(reduced(|lane| 0x1000 + 32 * lane), (32, 2));
        assert_eq!(reduced(|lane| 0x10000 + 128 * lane), (32, 8));
    }

    #[test]
    fn tags_lie_in_four_parts() {
        for shift in 7..20 {
            let addresses = std::array::from_fn(|lane| (lane as u64) << shift);
            assert_eq!(plain(&addresses, LaneMask::MAX, 4, 32).wavefronts, 8, "{shift}");
        }
    }

    #[test]
    fn words_of_local_memory() {
        assert_eq!(local(&[16; 32], LaneMask::MAX, 8), (2, 8, 8));
        assert_eq!(local(&std::array::from_fn(|lane| 4 * lane as u64), LaneMask::MAX, 4), (1, 32, 4));
    }
}
