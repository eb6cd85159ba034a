//! What threads know of each other: release and acquire patterns, `fence.sc`.
//!
//! A release pattern's record is a clock with the scope of the pattern's first operation. Records of one place
//! (a memory cell, or the accumulated `fence.sc`) are kept by level and domain: a record of scope `s` made by
//! thread `h` stands at every level up to `s`, under the domain of `h` at that level. A reader of scope `r`
//! looks at its own domains up to level `r`, and so finds exactly the records whose first operation and its own
//! include each other in scope.

use super::clock::{Clock, Shape, join_shared};
use super::tree::{Tree, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Clocks by level.
pub(super) type ByLevel = [Option<Arc<Clock>>; 4];

pub(super) fn join_into(slot: &mut Option<Arc<Clock>>, from: &Arc<Clock>) {
    match slot {
        Some(into) => join_shared(into, from),
        None => *slot = Some(Arc::clone(from)),
    }
}

/// Takes in what another place carries.
pub(super) fn carry_into(slot: &mut Option<Arc<Records>>, from: &Arc<Records>) {
    match slot {
        Some(into) if Arc::ptr_eq(into, from) => {}
        Some(into) => Arc::make_mut(into).merge(from),
        None => *slot = Some(Arc::clone(from)),
    }
}

/// A thread of the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Thread {
    pub(super) cta: u32,
    /// Warp in the CTA times 32, plus the lane.
    pub(super) number: u32,
}

/// Records of release patterns, or of `fence.sc`.
#[derive(Debug, Clone, Default)]
pub(super) struct Records {
    /// Of the levels of a CTA and a cluster, by domain.
    near: [Tree<Arc<Clock>>; 2],
    /// Of the levels of a device and a system, which have one domain.
    far: [Option<Arc<Clock>>; 2],
    /// Everything, whoever asks.
    all: Option<Arc<Clock>>,
}

impl Records {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_none()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a record of a thread of a CTA with a scope level.
    pub(super) fn add(&mut self, shape: Shape, cta: u32, scope: usize, clock: &Arc<Clock>) {
        for (level, near) in self.near.iter_mut().enumerate().take(scope + 1) {
            join_shared(near.entry(shape.domain(level, cta)), clock);
        }
        for far in self.far.iter_mut().take((scope + 1).saturating_sub(2)) {
            join_into(far, clock);
        }
        join_into(&mut self.all, clock);
    }

    /// What a thread of a CTA finds at each level.
    pub(super) fn seen_by(&self, shape: Shape, cta: u32) -> ByLevel {
        let near = |level: usize| self.near[level].get(shape.domain(level, cta)).cloned();
        [near(0), near(1), self.far[0].clone(), self.far[1].clone()]
    }

    /// Takes in the records of others.
    fn merge(&mut self, other: &Records) {
        for (mine, theirs) in self.near.iter_mut().zip(&other.near) {
            mine.join(theirs);
        }
        for (mine, theirs) in self.far.iter_mut().zip(&other.far) {
            theirs.iter().for_each(|theirs| join_into(mine, theirs));
        }
        other.all.iter().for_each(|theirs| join_into(&mut self.all, theirs));
    }

    fn heap_bytes(&self) -> usize {
        let clocks = self.far.iter().chain([&self.all]).flatten();
        self.near.iter().map(Tree::heap_bytes).sum::<usize>() + clocks.map(Value::heap_bytes).sum::<usize>()
    }
}

/// A release operation of lanes of a warp that know the same.
#[derive(Debug, Clone)]
pub(super) struct Release {
    pub(super) lanes: u32,
    /// Level of its scope.
    pub(super) scope: usize,
    pub(super) epoch: u32,
    /// What the lanes know, themselves apart.
    pub(super) clock: Arc<Clock>,
}

impl Release {
    /// Everything up to and with the operation of one lane.
    fn published(&self, thread: Thread) -> Arc<Clock> {
        let mut clock = Arc::clone(&self.clock);
        let (warp, lane) = (thread.number / 32, thread.number % 32);
        Arc::make_mut(&mut clock).raise(thread.cta, warp, 1 << lane, self.epoch);
        clock
    }
}

/// A memory cell through which threads synchronise.
#[derive(Debug, Default)]
pub(super) struct Cell {
    /// The strong write that the cell holds, with its scope level; `None` after a weak one.
    holds: Option<(Thread, usize)>,
    /// Records that reading that write can give.
    records: Records,
    /// The `fence.sc` that come before that write.
    carried: Option<Arc<Records>>,
    /// Release operations of the threads of each warp (by CTA and number) on this cell; their later strong writes carry
    /// them too.
    own: FxHashMap<(u32, u32), Vec<Release>>,
    /// What each thread has read here.
    read: FxHashMap<Thread, Read>,
    /// Changes whenever what reading gives does.
    version: u64,
}

/// What a thread has read from a cell.
#[derive(Debug, Default)]
struct Read {
    /// Without acquiring; its later acquire operation here takes it in.
    clocks: ByLevel,
    /// Version of the cell, level and whether it acquired: the same read again gives nothing, since nobody ever forgets.
    last: Option<(u64, usize, bool)>,
}

/// What one thread has fenced and observed.
#[derive(Debug, Clone, Default)]
pub(super) struct Fenced {
    /// By scope level: what its last release fence of that scope publishes.
    pub(super) released: ByLevel,
    /// By level: what it has read without acquiring.
    pub(super) read: ByLevel,
    /// The `fence.sc` that come before it by program order, barriers and observation, acquired or not: a later
    /// `fence.sc` of its can only come after them.
    pub(super) carried: Option<Arc<Records>>,
    /// What it has observed and not acquired because a scope is too narrow: to explain races.
    pub(super) out_of_scope: Option<Arc<Clock>>,
}

impl Fenced {
    pub(super) fn releases(&self) -> bool {
        self.carried.is_some() || self.released.iter().any(Option::is_some)
    }
}

/// The cells of some memory.
#[derive(Debug, Default)]
pub(super) struct Places {
    cells: FxHashMap<(u64, u8), Cell>,
    /// Pages that have cells, so that ordinary writes need not look.
    pages: FxHashMap<u64, ()>,
}

fn page(address: u64) -> u64 {
    address >> 12
}

impl Places {
    pub(super) fn get(&mut self, place: (u64, u8)) -> Option<&mut Cell> {
        if self.cells.is_empty() { None } else { self.cells.get_mut(&place) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether there may be cells at some of the addresses.
    pub(super) fn are_near(&self, addresses: &[u64; 32], lanes: u32) -> bool {
        if self.cells.is_empty() {
            return false;
        }
        let mut last = None;
        super::access::bits(lanes).any(|lane| {
            let page = page(addresses[lane as usize]);
            last != Some(page) && {
                last = Some(page);
                // A vector may reach into the next one.
                self.pages.contains_key(&page) || self.pages.contains_key(&(page + 1))
            }
        })
    }

    pub(super) fn entry(&mut self, place: (u64, u8)) -> &mut Cell {
        self.pages.insert(page(place.0), ());
        self.cells.entry(place).or_default()
    }

    /// A write takes the place of what overlapping cells held; a strong one not of its own cell.
    pub(super) fn overwritten(&mut self, address: u64, bytes: u64, strong: bool) {
        let end = address + bytes;
        if self.cells.is_empty()
            || !(self.pages.contains_key(&page(address.saturating_sub(15)))
                || self.pages.contains_key(&page(end)))
        {
            return;
        }
        // Cells of up to 16 bytes, aligned to their size.
        for size in [1u64, 2, 4, 8, 16] {
            let mut start = address / size * size;
            while start < end {
                let itself = strong && (start, size) == (address, bytes);
                if !itself && let Some(cell) = self.cells.get_mut(&(start, size as u8)) {
                    cell.holds = None;
                    cell.carried = None;
                    cell.records.clear();
                    cell.version += 1;
                }
                start += size;
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.cells.values().map(|cell| cell.heap_bytes() + size_of::<Cell>() + 24).sum()
    }
}

impl Cell {
    /// Whether a strong read by a thread observes the write that the cell holds: the two are morally strong.
    fn observed_by(&self, shape: Shape, thread: Thread, scope: usize) -> bool {
        self.holds.is_some_and(|(writer, writer_scope)| {
            writer == thread || shape.common_level(writer.cta, thread.cta) <= scope.min(writer_scope)
        })
    }

    /// The synchronising effect of a strong read: what the thread takes in.
    pub(super) fn read(
        &mut self,
        shape: Shape,
        thread: Thread,
        fenced: &mut Fenced,
        scope: usize,
        acquires: bool,
    ) -> Vec<Arc<Clock>> {
        let observed = self.observed_by(shape, thread, scope);
        let here = self.read.entry(thread).or_default();
        let this = Some((self.version, scope, acquires));
        if here.last == this {
            return Vec::new();
        }
        here.last = this;
        let mut taken = Vec::new();
        if let Some(carried) = &self.carried
            && observed
        {
            carry_into(&mut fenced.carried, carried);
        }
        if !self.records.is_empty() {
            let seen = if observed { self.records.seen_by(shape, thread.cta) } else { ByLevel::default() };
            if let Some(all) = &self.records.all {
                join_into(&mut fenced.out_of_scope, all);
            }
            for (level, clock) in seen.iter().enumerate() {
                if let Some(clock) = clock {
                    if acquires && level <= scope {
                        taken.push(Arc::clone(clock));
                    }
                    join_into(&mut fenced.read[level], clock);
                    join_into(&mut here.clocks[level], clock);
                }
            }
        }
        if acquires {
            taken.extend(here.clocks[..=scope].iter().flatten().cloned());
        }
        taken
    }

    /// The synchronising effect of a strong write that releases, or does not; an atomic that has read the cell morally
    /// strongly passes on what it held. Of several lanes that release at once, the thread is the last one.
    pub(super) fn write(
        &mut self,
        shape: Shape,
        thread: Thread,
        fenced: Option<&Fenced>,
        scope: usize,
        released: Option<Release>,
        is_atomic: bool,
    ) {
        self.version += 1;
        if !(is_atomic && self.observed_by(shape, thread, scope)) {
            self.records.clear();
            self.carried = None;
        }
        if let Some(carried) = fenced.and_then(|fenced| fenced.carried.as_ref()) {
            carry_into(&mut self.carried, carried);
        }
        let warp = (thread.cta, thread.number / 32);
        if let Some(released) = released {
            let own = self.own.entry(warp).or_default();
            // The newer clock takes in the older one.
            own.iter_mut().filter(|o| o.scope == scope).for_each(|o| o.lanes &= !released.lanes);
            own.retain(|o| o.lanes != 0);
            own.push(released);
        }
        for own in self.own.get(&warp).into_iter().flatten() {
            if own.lanes >> (thread.number % 32) & 1 != 0 {
                self.records.add(shape, thread.cta, own.scope, &own.published(thread));
            }
        }
        for (scope, clock) in fenced.iter().flat_map(|f| f.released.iter()).enumerate() {
            if let Some(clock) = clock {
                self.records.add(shape, thread.cta, scope, clock);
            }
        }
        self.holds = Some((thread, scope));
    }

    fn heap_bytes(&self) -> usize {
        self.records.heap_bytes()
            + self.own.capacity() * 48
            + self.read.capacity() * size_of::<(Thread, Read)>()
    }
}
