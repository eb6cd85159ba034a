//! Copies by `cp.async` that were not waited for yet.
//!
//! Such a copy writes at some time between its issue and the wait of the thread that issued it (ISA 9.7.9.25.3). The
//! simulator does it where it is issued, and to the detector it is an access of the thread there; so the time between
//! is kept here, in which nobody may touch the bytes, the thread itself included. What a wait completes is an access
//! once more: whoever is ordered after the issue only is not ordered after the copy.

use rustc_hash::FxHashMap;
use sim_core::{AccessKind, Asynchronous, GroupStep, WarpAccess, WarpId};

/// The copies of the lanes of a warp that one instruction issued.
pub(crate) struct Copy {
    pub(crate) warp: WarpId,
    /// Lanes whose copies are under way.
    pub(crate) lanes: u32,
    /// Offsets in shared memory.
    pub(crate) addresses: [u64; 32],
    /// Bytes a lane.
    pub(crate) bytes: u32,
    /// Position of the instruction.
    pub(crate) site: u32,
    /// Groups that each lane had committed before.
    groups: [u32; 32],
}

/// An access of one lane to what a copy writes.
pub(crate) struct Hit {
    /// Who issued the copy: warp in the block, lane.
    pub(crate) issuer: (u32, u32),
    pub(crate) copy_site: u32,
    pub(crate) copy_bytes: u32,
    /// The lane of the access.
    pub(crate) lane: u32,
    /// First offset that both touch.
    pub(crate) address: u64,
}

#[derive(Default)]
struct Block {
    copies: Vec<Copy>,
    /// A bit a word of shared memory: whether a copy to it is under way.
    words: Vec<u64>,
    /// Groups committed by the lanes of each warp.
    committed: FxHashMap<u32, [u32; 32]>,
}

/// The copies under way in all blocks.
#[derive(Default)]
pub(crate) struct Copies(FxHashMap<u64, Block>);

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// The words of some bytes.
fn words(address: u64, bytes: u32) -> std::ops::RangeInclusive<u64> {
    address / 4..=(address + u64::from(bytes.max(1)) - 1) / 4
}

impl Block {
    fn busy(&self, address: u64, bytes: u32) -> bool {
        let bit =
            |word: u64| self.words.get(word as usize / 64).is_some_and(|bits| bits >> (word % 64) & 1 != 0);
        words(address, bytes).any(bit)
    }

    fn mark(&mut self, address: u64, bytes: u32, busy: bool) {
        for word in words(address, bytes) {
            let at = word as usize / 64;
            if at >= self.words.len() {
                self.words.resize(at + 1, 0);
            }
            let bit = 1 << (word % 64);
            self.words[at] = if busy { self.words[at] | bit } else { self.words[at] & !bit };
        }
    }

    /// The copy under way to some bytes, other than the one that is just being issued.
    fn find(&self, access: &WarpAccess<'_>, lane: usize) -> Option<Hit> {
        let (start, end) = (access.addresses[lane], access.addresses[lane] + u64::from(access.bytes));
        self.copies.iter().find_map(|copy| {
            let other = lanes(copy.lanes).find(|&other| {
                let itself = access.asynchronous == Asynchronous::Copy
                    && (access.warp, access.position, lane) == (copy.warp.warp, copy.site, other);
                let at = copy.addresses[other];
                !itself && at < end && start < at + u64::from(copy.bytes)
            })?;
            Some(Hit {
                issuer: (copy.warp.warp, other as u32),
                copy_site: copy.site,
                copy_bytes: copy.bytes,
                lane: lane as u32,
                address: start.max(copy.addresses[other]),
            })
        })
    }
}

impl Copies {
    /// An access of shared memory: the lanes that touch what is being copied.
    #[inline]
    pub(crate) fn access(&mut self, access: &WarpAccess<'_>, hit: impl FnMut(Hit)) {
        if access.asynchronous == Asynchronous::Copy || !self.0.is_empty() {
            self.look(access, hit);
        }
    }

    fn look(&mut self, access: &WarpAccess<'_>, hit: impl FnMut(Hit)) {
        if let Some(block) = self.0.get(&access.block).filter(|block| !block.copies.is_empty()) {
            lanes(access.lanes)
                .filter(|&lane| block.busy(access.addresses[lane], access.bytes))
                .filter_map(|lane| block.find(access, lane))
                .for_each(hit);
        }
        if access.asynchronous == Asynchronous::Copy && access.kind == AccessKind::Write {
            let block = self.0.entry(access.block).or_default();
            lanes(access.lanes).for_each(|lane| block.mark(access.addresses[lane], access.bytes, true));
            block.copies.push(Copy {
                warp: WarpId { block: access.block, warp: access.warp },
                lanes: access.lanes,
                addresses: *access.addresses,
                bytes: access.bytes,
                site: access.position,
                groups: block.committed.get(&access.warp).copied().unwrap_or_default(),
            });
        }
    }

    /// Lanes of a warp commit or wait; `complete` is told of the copies that are complete by it, of those lanes.
    pub(crate) fn step(&mut self, warp: WarpId, mask: u32, step: GroupStep, mut complete: impl FnMut(&Copy)) {
        // Groups count from the latest one back, so that those before the first copy do not matter.
        let Some(block) = self.0.get_mut(&warp.block) else { return };
        let committed = block.committed.entry(warp.warp).or_default();
        let pending = match step {
            GroupStep::Commit => {
                lanes(mask).for_each(|lane| committed[lane] = committed[lane].saturating_add(1));
                return;
            }
            GroupStep::Wait(most) | GroupStep::WaitReads(most) => Some(most),
            GroupStep::WaitAll => None,
        };
        let committed = *committed;
        let over = |copy: &Copy, lane: usize| {
            pending.is_none_or(|most| copy.groups[lane] < committed[lane].saturating_sub(most))
        };
        let mut at = 0;
        while at < block.copies.len() {
            let copy = &block.copies[at];
            let done = if copy.warp == warp { copy.lanes & mask } else { 0 };
            let done = lanes(done).filter(|&lane| over(copy, lane)).fold(0, |m, lane| m | 1 << lane);
            let rest = copy.lanes & !done;
            if done == 0 {
                at += 1;
                continue;
            }
            let finished = Copy { lanes: done, ..block.copies.swap_remove(at) };
            complete(&finished);
            lanes(done).for_each(|lane| block.mark(finished.addresses[lane], finished.bytes, false));
            if rest != 0 {
                block.copies.push(Copy { lanes: rest, ..finished });
            }
        }
    }

    /// The block's threads have exited.
    pub(crate) fn end(&mut self, block: u64) {
        self.0.remove(&block);
    }
}
