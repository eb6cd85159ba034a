//! Vector clocks over very many threads.
//!
//! A clock says, for every thread of a launch, up to which of its epochs everything is known to come before.
//! Epochs are counted by warp. After a barrier of a whole CTA one number stands for all its threads; what is known
//! beyond that is listed by warp, as sets of lanes that share an epoch.

use std::sync::Arc;

/// All lanes of a warp.
pub(super) const ALL: u32 = u32::MAX;

/// How threads are grouped, which is all that scopes need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a CTA, 1 to 1024.
    pub threads_per_cta: u32,
    /// CTAs of a cluster, at least 1.
    pub ctas_per_cluster: u32,
}

impl Shape {
    /// Warps of a CTA.
    pub fn warps(self) -> u32 {
        self.threads_per_cta.div_ceil(32).max(1)
    }

    /// A warp's number in the launch.
    pub(super) fn warp(self, cta: u32, warp: u32) -> u32 {
        cta * self.warps() + warp
    }

    /// The set of threads that a scope of a thread takes in, as a number within its level
    /// (0 CTA, 1 cluster, 2 device, 3 system).
    pub(super) fn domain(self, level: usize, cta: u32) -> u32 {
        match level {
            0 => cta,
            1 => cta / self.ctas_per_cluster.max(1),
            _ => 0,
        }
    }

    /// The narrowest level that holds threads of both CTAs.
    pub(super) fn common_level(self, a: u32, b: u32) -> usize {
        (0..3).find(|&level| self.domain(level, a) == self.domain(level, b)).unwrap_or(2)
    }
}

/// Lanes of a warp known up to an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ahead {
    /// The warp's number in the launch.
    warp: u32,
    epoch: u32,
    lanes: u32,
}

/// A vector clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// By CTA, ascending: all its threads are known up to this epoch.
    floors: Vec<(u32, u32)>,
    /// Known further than their CTA, ascending by warp and epoch. Lanes are in one entry at most.
    ahead: Vec<Ahead>,
}

fn lookup(sorted: &[(u32, u32)], key: u32) -> u32 {
    match sorted {
        [] => 0,
        // A CTA that has met no other one knows itself only.
        [(only, epoch)] => {
            if *only == key {
                *epoch
            } else {
                0
            }
        }
        _ => sorted.binary_search_by_key(&key, |e| e.0).map_or(0, |i| sorted[i].1),
    }
}

impl Clock {
    /// The epoch up to which all threads of a CTA are known; 0 is nothing.
    pub(super) fn floor(&self, cta: u32) -> u32 {
        lookup(&self.floors, cta)
    }

    fn of_warp(&self, warp: u32) -> std::ops::Range<usize> {
        let start = self.ahead.partition_point(|a| a.warp < warp);
        let count = self.ahead[start..].iter().take_while(|a| a.warp == warp).count();
        start..start + count
    }

    /// Lanes of a warp that are not known up to an epoch.
    pub(super) fn missing(&self, shape: Shape, cta: u32, warp: u32, lanes: u32, epoch: u32) -> u32 {
        if self.floor(cta) >= epoch {
            return 0;
        }
        if self.ahead.is_empty() {
            return lanes;
        }
        let range = self.of_warp(shape.warp(cta, warp));
        self.ahead[range].iter().filter(|a| a.epoch >= epoch).fold(lanes, |rest, a| rest & !a.lanes)
    }

    /// Whether nothing that is known of a warp depends on the lane.
    pub(super) fn is_uniform(&self) -> bool {
        self.ahead.iter().all(|a| a.lanes == ALL)
    }

    /// Whether what is known of a warp depends on the lane.
    pub(super) fn tells_lanes_apart(&self, shape: Shape, cta: u32, warp: u32) -> bool {
        !self.ahead.is_empty()
            && self.ahead[self.of_warp(shape.warp(cta, warp))].iter().any(|a| a.lanes != ALL)
    }

    /// Knows some lanes of a warp up to an epoch.
    pub(super) fn raise(&mut self, shape: Shape, cta: u32, warp: u32, lanes: u32, epoch: u32) {
        if self.floor(cta) < epoch {
            self.raise_warp(Ahead { warp: shape.warp(cta, warp), epoch, lanes });
        }
    }

    fn raise_warp(&mut self, mut new: Ahead) {
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

    /// Knows a whole CTA up to an epoch.
    pub(super) fn raise_cta(&mut self, shape: Shape, cta: u32, epoch: u32) {
        match self.floors.binary_search_by_key(&cta, |e| e.0) {
            Ok(i) => self.floors[i].1 = self.floors[i].1.max(epoch),
            Err(i) => self.floors.insert(i, (cta, epoch)),
        }
        self.drop_below_floors(shape);
    }

    fn drop_below_floors(&mut self, shape: Shape) {
        let (floors, warps) = (&self.floors, shape.warps());
        self.ahead.retain(|a| a.epoch > lookup(floors, a.warp / warps));
    }

    /// Whether another clock knows nothing more.
    pub(super) fn knows(&self, shape: Shape, other: &Clock) -> bool {
        let warps = shape.warps();
        other.floors.iter().all(|&(cta, epoch)| self.floor(cta) >= epoch)
            && other
                .ahead
                .iter()
                .all(|a| self.missing(shape, a.warp / warps, a.warp % warps, a.lanes, a.epoch) == 0)
    }

    /// Takes in what another clock knows.
    pub(super) fn join(&mut self, shape: Shape, other: &Clock) {
        if self.knows(shape, other) {
            return;
        }
        let (a, b) = (&self.floors, &other.floors);
        let mut floors = Vec::with_capacity(a.len().max(b.len()));
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let key_a = a.get(i).map_or(u32::MAX, |e| e.0);
            let key_b = b.get(j).map_or(u32::MAX, |e| e.0);
            let mut value = 0;
            if key_a <= key_b && i < a.len() {
                value = a[i].1;
                i += 1;
            }
            if key_b <= key_a && j < b.len() {
                value = value.max(b[j].1);
                j += 1;
            }
            floors.push((key_a.min(key_b), value));
        }
        self.floors = floors;
        // Warps ascend on both sides; only those that both know need care.
        let mine = std::mem::take(&mut self.ahead);
        let mut rest = mine.as_slice();
        for &new in &other.ahead {
            let before = rest.iter().take_while(|a| a.warp <= new.warp).count();
            self.ahead.extend_from_slice(&rest[..before]);
            rest = &rest[before..];
            self.raise_warp(new);
        }
        self.ahead.extend_from_slice(rest);
        self.drop_below_floors(shape);
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        8 * self.floors.capacity() + size_of::<Ahead>() * self.ahead.capacity()
    }
}

/// Joins into a shared clock, copying it only if that changes something.
pub(super) fn join_shared(shape: Shape, into: &mut Arc<Clock>, from: &Arc<Clock>) {
    if !Arc::ptr_eq(into, from) && !into.knows(shape, from) {
        Arc::make_mut(into).join(shape, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const SHAPE: Shape = Shape { threads_per_cta: 64, ctas_per_cluster: 2 };

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
                        clock.raise(SHAPE, cta, warp, lanes, epoch);
                        raise(&mut map, cta, warp, lanes, epoch);
                    }
                    1 => {
                        other.raise_cta(SHAPE, cta, epoch);
                        (0..2).for_each(|w| raise(&mut other_map, cta, w, ALL, epoch));
                    }
                    2 => {
                        other.raise(SHAPE, cta, warp, lanes, epoch);
                        raise(&mut other_map, cta, warp, lanes, epoch);
                    }
                    _ => {
                        clock.join(SHAPE, &other);
                        other_map.iter().for_each(|(&(c, w, l), &e)| raise(&mut map, c, w, 1 << l, e));
                        prop_assert!(clock.knows(SHAPE, &other));
                        std::mem::swap(&mut clock, &mut other);
                        std::mem::swap(&mut map, &mut other_map);
                    }
                }
            }
            for (cta, warp, lane, epoch) in (0..3).flat_map(|c| (0..2).flat_map(move |w| {
                (0..32).flat_map(move |l| (1..7).map(move |e| (c, w, l, e)))
            })) {
                let known = map.get(&(cta, warp, lane)).copied().unwrap_or(0) >= epoch;
                prop_assert_eq!(clock.missing(SHAPE, cta, warp, 1 << lane, epoch) == 0, known);
            }
        }
    }
}
