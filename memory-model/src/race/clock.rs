//! Vector clocks over very many threads.
//!
//! A clock says, for every thread of a launch, up to which of its epochs everything is known to come before.
//! Epochs are counted by warp. After a barrier of a whole CTA one number stands for all its threads; what is known
//! beyond that is listed by warp, as sets of lanes that share an epoch.

use super::tree::{Tree, Value};
use isa::Dim3;
use smallvec::SmallVec;
use std::sync::Arc;

/// All lanes of a warp.
pub(super) const ALL: u32 = u32::MAX;

/// How threads are grouped, which is all that scopes need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a CTA, 1 to 1024.
    pub threads_per_cta: u32,
    /// CTAs of the grid. Numbers behind those of the grid are of further such grids.
    pub grid: Dim3,
    /// CTAs of a cluster, of which the grid is made up.
    pub cluster: Dim3,
}

impl Shape {
    /// CTAs of so many threads in a line, with so many of them in a cluster, at least 1.
    pub const fn line(threads_per_cta: u32, ctas_per_cluster: u32) -> Self {
        let most = u32::MAX / ctas_per_cluster * ctas_per_cluster;
        Self { threads_per_cta, grid: Dim3::new(most, 1, 1), cluster: Dim3::new(ctas_per_cluster, 1, 1) }
    }

    /// Warps of a CTA.
    pub fn warps(self) -> u32 {
        self.threads_per_cta.div_ceil(32).max(1)
    }

    /// The set of threads that a scope of a thread takes in, as a number within its level
    /// (0 CTA, 1 cluster, 2 device, 3 system).
    pub(super) fn domain(self, level: usize, cta: u32) -> u32 {
        match level {
            0 => cta,
            1 if self.cluster.y == 1 && self.cluster.z == 1 => cta / self.cluster.x.max(1),
            1 => self.first_of_cluster(cta),
            _ => 0,
        }
    }

    /// The CTA at the corner of a CTA's cluster.
    fn first_of_cluster(self, cta: u32) -> u32 {
        let (grid, cluster) = (self.grid, self.cluster);
        let count = u32::try_from(grid.count()).unwrap_or(u32::MAX).max(1);
        let at = grid.position(u64::from(cta % count));
        let corner = |at: u32, size: u32| at / size.max(1) * size.max(1);
        let corner = Dim3::new(corner(at.x, cluster.x), corner(at.y, cluster.y), corner(at.z, cluster.z));
        cta / count * count + grid.index(corner) as u32
    }

    /// The narrowest level that holds threads of both CTAs.
    pub(super) fn common_level(self, a: u32, b: u32) -> usize {
        (0..3).find(|&level| self.domain(level, a) == self.domain(level, b)).unwrap_or(2)
    }
}

/// Lanes of a warp known up to an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ahead {
    /// The warp in its CTA.
    warp: u32,
    epoch: u32,
    lanes: u32,
}

/// What is known of a CTA.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// All its threads are known up to this epoch.
    floor: u32,
    /// Known further than that, ascending by warp and epoch. Lanes are in one entry at most.
    ahead: SmallVec<[Ahead; 1]>,
}

impl Known {
    fn of_warp(&self, warp: u32) -> std::ops::Range<usize> {
        let start = self.ahead.partition_point(|a| a.warp < warp);
        let count = self.ahead[start..].iter().take_while(|a| a.warp == warp).count();
        start..start + count
    }

    /// Lanes of a warp that are not known up to an epoch.
    fn missing(&self, warp: u32, lanes: u32, epoch: u32) -> u32 {
        if self.floor >= epoch {
            return 0;
        }
        if self.ahead.is_empty() {
            return lanes;
        }
        let known = &self.ahead[self.of_warp(warp)];
        known.iter().filter(|a| a.epoch >= epoch).fold(lanes, |rest, a| rest & !a.lanes)
    }

    fn raise(&mut self, mut new: Ahead) {
        if self.floor >= new.epoch {
            return;
        }
        let range = self.of_warp(new.warp);
        for known in &mut self.ahead[range.clone()] {
            if known.epoch >= new.epoch {
                new.lanes &= !known.lanes;
            } else {
                known.lanes &= !new.lanes;
            }
        }
        if new.lanes == 0 {
            return;
        }
        let mut end = range.end;
        match self.ahead[range.clone()].iter().position(|a| a.epoch == new.epoch) {
            Some(at) => self.ahead[range.start + at].lanes |= new.lanes,
            None => {
                let at = self.ahead[range.clone()].iter().take_while(|a| a.epoch < new.epoch).count();
                self.ahead.insert(range.start + at, new);
                end += 1;
            }
        }
        for at in (range.start..end).rev() {
            if self.ahead[at].lanes == 0 {
                self.ahead.remove(at);
            }
        }
    }

    fn raise_floor(&mut self, epoch: u32) {
        self.floor = self.floor.max(epoch);
        let floor = self.floor;
        self.ahead.retain(|a| a.epoch > floor);
    }
}

impl Value for Known {
    fn knows(&self, other: &Self) -> bool {
        self.floor >= other.floor && other.ahead.iter().all(|a| self.missing(a.warp, a.lanes, a.epoch) == 0)
    }

    fn join(&mut self, other: &Self) {
        self.raise_floor(other.floor);
        other.ahead.iter().for_each(|&new| self.raise(new));
    }

    fn heap_bytes(&self) -> usize {
        if self.ahead.spilled() { self.ahead.capacity() * size_of::<Ahead>() } else { 0 }
    }
}

/// A vector clock.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    ctas: Tree<Known>,
    /// Of some warp, some lanes may be known further than others.
    parted: bool,
}

impl PartialEq for Clock {
    fn eq(&self, other: &Self) -> bool {
        self.ctas == other.ctas
    }
}

impl Eq for Clock {}

impl Clock {
    /// The epoch up to which all threads of a CTA are known; 0 is nothing.
    pub(super) fn floor(&self, cta: u32) -> u32 {
        self.ctas.get(cta).map_or(0, |known| known.floor)
    }

    /// Whether nothing is known of other CTAs.
    pub(super) fn knows_only(&self, cta: u32) -> bool {
        self.ctas.holds_only(cta)
    }

    /// Lanes of a warp that are not known up to an epoch.
    pub(super) fn missing(&self, cta: u32, warp: u32, lanes: u32, epoch: u32) -> u32 {
        self.ctas.get(cta).map_or(lanes, |known| known.missing(warp, lanes, epoch))
    }

    /// Whether surely nothing that is known of a warp depends on the lane.
    pub(super) fn is_uniform(&self) -> bool {
        !self.parted
    }

    /// Whether what is known of a warp beyond what is known of its CTA depends on the lane.
    pub(super) fn tells_lanes_apart(&self, cta: u32, warp: u32) -> bool {
        self.parted
            && self
                .ctas
                .get(cta)
                .is_some_and(|known| known.ahead[known.of_warp(warp)].iter().any(|a| a.lanes != ALL))
    }

    /// Knows some lanes of a warp up to an epoch.
    pub(super) fn raise(&mut self, cta: u32, warp: u32, lanes: u32, epoch: u32) {
        if self.floor(cta) < epoch {
            self.parted |= lanes != ALL;
            self.ctas.entry(cta).raise(Ahead { warp, epoch, lanes });
        }
    }

    /// Knows a whole CTA up to an epoch.
    pub(super) fn raise_cta(&mut self, cta: u32, epoch: u32) {
        self.ctas.entry(cta).raise_floor(epoch);
        if self.ctas.only().is_some_and(|known| known.ahead.is_empty()) {
            self.parted = false;
        }
    }

    /// Whether another clock knows nothing more.
    pub(super) fn knows(&self, other: &Clock) -> bool {
        self.ctas.knows(&other.ctas)
    }

    /// Takes in what another clock knows.
    pub(super) fn join(&mut self, other: &Clock) {
        // Lanes of one epoch known from two sides can be all lanes or not.
        self.parted |= other.parted;
        self.ctas.join(&other.ctas);
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.ctas.heap_bytes()
    }
}

impl Value for Arc<Clock> {
    fn knows(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other) || Clock::knows(self, other)
    }

    fn join(&mut self, other: &Self) {
        if Arc::ptr_eq(self, other) {
            return;
        }
        match self.ctas.compare(&other.ctas) {
            (true, _) => {}
            (_, true) => *self = Arc::clone(other),
            _ => Arc::make_mut(self).join(other),
        }
    }

    fn heap_bytes(&self) -> usize {
        if Arc::strong_count(self) == 1 { size_of::<Clock>() + Clock::heap_bytes(self) } else { 0 }
    }
}

/// Joins into a shared clock, copying it only if that changes something.
pub(super) fn join_shared(into: &mut Arc<Clock>, from: &Arc<Clock>) {
    Value::join(into, from);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    type Map = HashMap<(u32, u32, u32), u32>;

    fn raise(map: &mut Map, cta: u32, warp: u32, lanes: u32, epoch: u32) {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let known = map.entry((cta, warp, lane)).or_default();
            *known = epoch.max(*known);
        }
    }

    proptest! {
        /// Against a map from threads to epochs.
        #[test]
        fn clocks_are_maps(
            steps in proptest::collection::vec((0u32..3, 0u32..2, 1u32..8, 1u32..6, 0u8..4), 0..40)
        ) {
            let (mut clock, mut other) = (Clock::default(), Clock::default());
            let (mut map, mut other_map) = (Map::new(), Map::new());
            for (cta, warp, lanes, epoch, what) in steps {
                let lanes = if lanes == 7 { ALL } else { lanes };
                match what {
                    0 => {
                        clock.raise(cta, warp, lanes, epoch);
                        raise(&mut map, cta, warp, lanes, epoch);
                    }
                    1 => {
                        other.raise_cta(cta, epoch);
                        (0..2).for_each(|w| raise(&mut other_map, cta, w, ALL, epoch));
                    }
                    2 => {
                        other.raise(cta, warp, lanes, epoch);
                        raise(&mut other_map, cta, warp, lanes, epoch);
                    }
                    _ => {
                        clock.join(&other);
                        other_map.iter().for_each(|(&(c, w, l), &e)| raise(&mut map, c, w, 1 << l, e));
                        prop_assert!(clock.knows(&other));
                        std::mem::swap(&mut clock, &mut other);
                        std::mem::swap(&mut map, &mut other_map);
                    }
                }
            }
            for (cta, warp, lane, epoch) in (0..3).flat_map(|c| (0..2).flat_map(move |w| {
                (0..32).flat_map(move |l| (1..7).map(move |e| (c, w, l, e)))
            })) {
                let known = map.get(&(cta, warp, lane)).copied().unwrap_or(0) >= epoch;
                prop_assert_eq!(clock.missing(cta, warp, 1 << lane, epoch) == 0, known);
            }
        }
    }
}
