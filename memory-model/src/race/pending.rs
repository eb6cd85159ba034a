//! Reads of shared memory that wait to be noted.
//!
//! A read of a word that nobody has written or read since the last barrier of the whole CTA races with nothing, and
//! matters only once somebody writes the word before the next such barrier. Mostly nobody does, and then the read need
//! not be noted at all. So such reads are written down as they are, and done in their order before the first other
//! access near them, and before anything changes what their warps know. Instructions whose reads had to be done after
//! all do without from then on.

use super::touch::pattern_of;
use super::{Access, Cta, Detector, Kind, Pattern, Space};
use crate::program::MemOrder;

/// Most reads that wait.
const MOST: usize = 1 << 12;
/// Words between the lanes of a read, at most.
const FAR: u64 = 1 << 13;

/// A read: where the lanes of each half of the warp, or all, begin; of lanes anywhere, which of the
/// [scattered](Pending::scattered) addresses are theirs.
#[derive(Debug, Clone, Copy)]
struct Read {
    warp: u32,
    lanes: u32,
    starts: [u64; 2],
    pattern: Pattern,
    bytes: u8,
    elements: u8,
    site: u32,
}

/// Reads of a CTA that wait, all between two words.
#[derive(Debug, Default)]
pub(super) struct Pending {
    reads: Vec<Read>,
    scattered: Vec<[u32; 32]>,
    low: u64,
    high: u64,
}

impl Pending {
    /// Nobody has to know any more.
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.scattered.clear();
    }
}

/// Words that lanes side by side touch, or lanes at one address.
fn words(address: u64, unit: bool, lanes: u32, size: u64) -> (u64, u64) {
    let (first, last) = if unit {
        (u64::from(lanes.trailing_zeros()), u64::from(31 - lanes.leading_zeros().min(31)))
    } else {
        (0, 0)
    };
    let word = |lane: u64| address.wrapping_add(lane * size) >> 2;
    (word(first), word(last) + size / 4)
}

/// All words of an access lie between these two.
fn extent(access: &Access<'_>) -> (u64, u64) {
    let (mut low, mut high) = (u64::MAX, 0);
    for (lane, &address) in access.addresses.iter().enumerate() {
        if access.lanes >> lane & 1 != 0 {
            (low, high) = (low.min(address), high.max(address));
        }
    }
    (low >> 2, (high + u64::from(access.bytes) * u64::from(access.elements)).div_ceil(4))
}

impl Detector {
    /// An ordinary read of shared memory waits, if it can.
    #[inline]
    pub(super) fn defer(&mut self, access: &Access<'_>) -> bool {
        if access.bytes < 4 || !self.sites.waits(access.site) {
            return false;
        }
        let Some((_, block)) = &mut self.current else { return false };
        let Cta { shared, pending, warps, .. } = &mut **block;
        let size = u64::from(access.bytes) * u64::from(access.elements);
        let pattern = pattern_of(access, access.lanes, size);
        let first = access.lanes.trailing_zeros() & 31;
        let own = access.addresses[first as usize];
        let (starts, ranges) = match pattern {
            Pattern::Any => ([pending.scattered.len() as u64; 2], [extent(access); 2]),
            Pattern::Same => ([own; 2], [words(own, false, 1, size); 2]),
            Pattern::Unit => {
                let start = own.wrapping_sub(size * u64::from(first));
                ([start; 2], [words(start, true, access.lanes, size); 2])
            }
            Pattern::Halves(a, b) => {
                let starts = [access.addresses[0], access.addresses[16]];
                (starts, [words(starts[0], a, 0xffff, size), words(starts[1], b, 0xffff, size)])
            }
        };
        let known = warps.get(access.warp as usize).is_some_and(|warp| warp.knowing.len() == 1);
        if !known || pending.reads.len() >= MOST {
            return false;
        }
        let exact = pattern != Pattern::Any;
        let near = |(low, high): (u64, u64)| exact || high - low <= FAR && high < u64::from(u32::MAX >> 2);
        if !ranges.iter().all(|&range| near(range) && shared.are_untouched(range.0, range.1, exact)) {
            return false;
        }
        if pending.reads.is_empty() {
            (pending.low, pending.high) = (u64::MAX, 0);
        }
        pending.low = pending.low.min(ranges[0].0).min(ranges[1].0);
        pending.high = pending.high.max(ranges[0].1).max(ranges[1].1);
        if pattern == Pattern::Any {
            pending.scattered.push(access.addresses.map(|address| address as u32));
        }
        let Access { warp, lanes, bytes, elements, site, .. } = *access;
        pending.reads.push(Read { warp, lanes, starts, pattern, bytes, elements, site });
        true
    }

    /// Reads that wait are done now if an access comes near them.
    #[inline]
    pub(super) fn catch_up_before(&mut self, access: &Access<'_>) {
        if let Some((_, block)) = &self.current
            && !block.pending.reads.is_empty()
        {
            let (low, high) = extent(access);
            if low < block.pending.high && high > block.pending.low || block.pending.reads.len() >= MOST {
                self.catch_up();
            }
        }
    }

    /// The reads of the current CTA that wait are done now.
    pub(super) fn catch_up(&mut self) {
        let Some((cta, block)) = &mut self.current else { return };
        if block.pending.reads.is_empty() {
            return;
        }
        let cta = *cta;
        let mut reads = std::mem::take(&mut block.pending.reads);
        let mut scattered = std::mem::take(&mut block.pending.scattered);
        for read in &reads {
            let size = u64::from(read.bytes) * u64::from(read.elements);
            let halves = match read.pattern {
                Pattern::Halves(a, b) => [(0, a), (16, b)],
                Pattern::Unit => [(0, true), (0, true)],
                Pattern::Same | Pattern::Any => [(0, false), (0, false)],
            };
            let anywhere = scattered.get(read.starts[0] as usize).filter(|_| read.pattern == Pattern::Any);
            let addresses = std::array::from_fn(|lane| {
                if let Some(addresses) = anywhere {
                    return addresses[lane].into();
                }
                let (from, unit) = halves[lane / 16];
                let further = if unit { size * (lane as u64 - from) } else { 0 };
                read.starts[lane / 16].wrapping_add(further)
            });
            self.sites.waits_no_more(read.site);
            self.plain(&Access {
                cta,
                warp: read.warp,
                lanes: read.lanes,
                space: Space::Shared,
                addresses: &addresses,
                pattern: read.pattern,
                bytes: read.bytes,
                elements: read.elements,
                kind: Kind::Read,
                writing: 0,
                order: MemOrder::Weak,
                scope: None,
                site: read.site,
            });
        }
        reads.clear();
        scattered.clear();
        if let Some((_, block)) = &mut self.current {
            (block.pending.reads, block.pending.scattered) = (reads, scattered);
        }
    }
}
