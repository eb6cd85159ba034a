//! The threads of a CTA: epochs and clocks, by warp.
//!
//! Lanes that know the same share a clock. A warp's epoch ends when one of its lanes publishes what it did, so
//! that what comes later is told apart from what was published.

use super::access::bits;
use super::clock::{ALL, Clock, Shape, join_shared};
use super::pending::Pending;
use super::shadow::Cells;
use super::sync::{Fenced, Places, Records, Thread, carry_into};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Lanes that know the same.
#[derive(Debug, Clone)]
pub(super) struct Knowing {
    pub(super) lanes: u32,
    pub(super) clock: Arc<Clock>,
    /// Changes whenever the epoch or the clock does; no two warps share one.
    pub(super) version: u32,
}

/// A warp.
#[derive(Debug)]
pub(super) struct Warp {
    pub(super) epoch: u32,
    /// Every lane is in one.
    pub(super) knowing: Vec<Knowing>,
    /// Lanes that accessed memory since the last barrier of the whole CTA.
    pub(super) active: u32,
    /// By lane; only once one of them fences or synchronises.
    pub(super) fenced: Option<Box<[Fenced; 32]>>,
}

/// An arrival at a barrier.
#[derive(Debug)]
struct Arrival {
    warp: u32,
    lanes: u32,
    epoch: u32,
    clock: Arc<Clock>,
    carried: Option<Arc<Records>>,
    waits: bool,
}

/// A CTA.
pub(super) struct Cta {
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Cells,
    pub(super) pending: Pending,
    pub(super) places: Places,
    barriers: FxHashMap<u32, Vec<Arrival>>,
    /// The clock that knows nothing.
    nothing: Arc<Clock>,
}

/// Numbers that no two states of knowledge share.
#[derive(Debug, Default)]
pub(super) struct Versions {
    newest: u32,
    learned: u32,
}

impl Versions {
    fn next(&mut self) -> u32 {
        self.newest += 1;
        self.newest
    }

    /// How often a thread has learned something by anything but a barrier of its CTA or warp.
    pub(super) fn learned(&self) -> u32 {
        self.learned
    }

    pub(super) fn are_used_up(&self) -> bool {
        self.newest > u32::MAX - (1 << 16)
    }
}

impl Warp {
    fn new(versions: &mut Versions) -> Self {
        let knowing = Knowing { lanes: ALL, clock: Arc::default(), version: versions.next() };
        Self { epoch: 1, knowing: vec![knowing], active: 0, fenced: None }
    }

    pub(super) fn clock(&self, lane: u32) -> &Arc<Clock> {
        let at = self.knowing.iter().position(|k| k.lanes >> lane & 1 != 0).unwrap_or(0);
        &self.knowing[at].clock
    }

    /// Ends the epoch.
    pub(super) fn step(&mut self, versions: &mut Versions) {
        self.epoch += 1;
        self.knowing.iter_mut().for_each(|k| k.version = versions.next());
    }

    /// Everything up to and with the lane's last operation.
    pub(super) fn published(&self, cta: u32, warp: u32, lane: u32) -> Arc<Clock> {
        let mut clock = Arc::clone(self.clock(lane));
        Arc::make_mut(&mut clock).raise(cta, warp, 1 << lane, self.epoch);
        clock
    }

    /// A lane takes in what clocks know.
    pub(super) fn take_in(&mut self, lane: u32, clocks: &[Arc<Clock>], versions: &mut Versions) {
        let mut clock = Arc::clone(self.clock(lane));
        clocks.iter().for_each(|other| join_shared(&mut clock, other));
        if !Arc::ptr_eq(&clock, self.clock(lane)) {
            versions.learned = versions.learned.saturating_add(1);
            self.learn(1 << lane, clock, versions);
        }
    }

    /// Lanes know this now.
    fn learn(&mut self, lanes: u32, clock: Arc<Clock>, versions: &mut Versions) {
        self.knowing.iter_mut().for_each(|k| k.lanes &= !lanes);
        self.knowing.retain(|k| k.lanes != 0);
        match self.knowing.iter_mut().find(|k| Arc::ptr_eq(&k.clock, &clock) || k.clock == clock) {
            Some(k) => k.lanes |= lanes,
            None => self.knowing.push(Knowing { lanes, clock, version: versions.next() }),
        }
    }

    pub(super) fn fenced(&mut self) -> &mut [Fenced; 32] {
        self.fenced.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Fenced::default())))
    }

    /// The `fence.sc` that come before some lanes.
    fn carried(&self, lanes: u32) -> Option<Arc<Records>> {
        let mut all = None;
        let fenced = self.fenced.as_ref()?;
        for carried in bits(lanes).filter_map(|lane| fenced[lane as usize].carried.as_ref()) {
            carry_into(&mut all, carried);
        }
        all
    }

    /// These come before some lanes now.
    fn carry(&mut self, lanes: u32, carried: Option<&Arc<Records>>) {
        if let Some(carried) = carried {
            bits(lanes).for_each(|lane| carry_into(&mut self.fenced()[lane as usize].carried, carried));
        }
    }

    /// What some lanes know together.
    fn joined(&self, lanes: u32) -> Arc<Clock> {
        let mut all: Option<Arc<Clock>> = None;
        for knowing in self.knowing.iter().filter(|k| k.lanes & lanes != 0) {
            super::sync::join_into(&mut all, &knowing.clock);
        }
        all.unwrap_or_default()
    }
}

impl Cta {
    pub(super) fn new(shape: Shape, versions: &mut Versions) -> Self {
        Self {
            warps: (0..shape.warps()).map(|_| Warp::new(versions)).collect(),
            shared: Cells::new(true),
            pending: Pending::default(),
            places: Places::default(),
            barriers: FxHashMap::default(),
            nothing: Arc::default(),
        }
    }

    /// Another CTA takes its place.
    pub(super) fn reset(&mut self, versions: &mut Versions) {
        for warp in &mut self.warps {
            (warp.epoch, warp.active, warp.fenced) = (1, 0, None);
            warp.knowing.clear();
            warp.knowing.push(Knowing {
                lanes: ALL,
                clock: Arc::clone(&self.nothing),
                version: versions.next(),
            });
        }
        self.shared.clear();
        self.pending.clear();
        self.places = Places::default();
        self.barriers.clear();
    }

    /// Lanes of a warp wait for each other (`bar.warp.sync`).
    pub(super) fn synchronize_warp(&mut self, cta: u32, number: u32, lanes: u32, versions: &mut Versions) {
        let Some(warp) = self.warps.get_mut(number as usize) else { return };
        let mut clock = warp.joined(lanes);
        // Lanes that have done nothing are known as well.
        let told = if warp.active & !lanes == 0 { ALL } else { lanes };
        let carried = warp.carried(lanes);
        warp.carry(lanes, carried.as_ref());
        Arc::make_mut(&mut clock).raise(cta, number, told, warp.epoch);
        warp.learn(lanes, clock, versions);
        warp.step(versions);
    }

    /// Lanes arrive at a barrier.
    pub(super) fn arrive(
        &mut self,
        barrier: u32,
        number: u32,
        lanes: u32,
        waits: bool,
        versions: &mut Versions,
    ) {
        let Some(warp) = self.warps.get_mut(number as usize) else { return };
        let clock = warp.joined(lanes);
        let carried = warp.carried(lanes);
        let arrival = Arrival { warp: number, lanes, epoch: warp.epoch, clock, carried, waits };
        self.barriers.entry(barrier).or_default().push(arrival);
        if !waits {
            warp.step(versions);
        }
    }

    /// All threads that have not exited meet at a barrier, these lanes of each warp. False if nothing was done, because
    /// something is uncommon.
    pub(super) fn meet(&mut self, cta: u32, barrier: u32, lanes: &[u32], versions: &mut Versions) -> bool {
        let come = |number: usize| lanes.get(number).copied().unwrap_or(0);
        let common = self.barriers.get(&barrier).is_none_or(Vec::is_empty)
            && self
                .warps
                .iter()
                .enumerate()
                .all(|(number, warp)| warp.active & !come(number) == 0 && warp.fenced.is_none());
        if common {
            let clocks = self.warps.iter().flat_map(|warp| &warp.knowing).map(|known| &known.clock);
            let mut clock = None;
            clocks.for_each(|known| super::sync::join_into(&mut clock, known));
            self.all_know(cta, clock.unwrap_or_default(), versions);
        }
        common
    }

    /// All threads know all that any of them did, and what a clock knows.
    fn all_know(&mut self, cta: u32, mut clock: Arc<Clock>, versions: &mut Versions) {
        // Nothing of what came before can race in shared memory, and one number says it all.
        let epoch = self.warps.iter().map(|warp| warp.epoch).max().unwrap_or(0);
        // So that the clock can be changed where it is.
        for known in self.warps.iter_mut().flat_map(|warp| &mut warp.knowing) {
            known.clock = Arc::clone(&self.nothing);
        }
        Arc::make_mut(&mut clock).raise_cta(cta, epoch);
        self.shared.clear();
        self.pending.clear();
        for warp in &mut self.warps {
            warp.epoch = epoch + 1;
            warp.active = 0;
            warp.knowing.clear();
            let clock = Arc::clone(&clock);
            warp.knowing.push(Knowing { lanes: ALL, clock, version: versions.next() });
        }
    }

    /// Whether all threads wait at a barrier, those aside that exited without having done anything.
    pub(super) fn is_whole(&self, barrier: u32, everybody: bool) -> bool {
        let Some(arrivals) = self.barriers.get(&barrier) else { return false };
        let mut come = [0u32; 32];
        for arrival in arrivals {
            come[arrival.warp as usize & 31] |= arrival.lanes;
        }
        everybody
            && arrivals.iter().all(|arrival| arrival.waits)
            && self.warps.iter().zip(come).all(|(warp, come)| warp.active & !come == 0)
    }

    /// A barrier completes: those that wait there know what all did before they arrived. `everybody`: no thread
    /// of the CTA that has not exited is missing.
    pub(super) fn complete(&mut self, cta: u32, barrier: u32, everybody: bool, versions: &mut Versions) {
        let whole = self.is_whole(barrier, everybody);
        let Some(arrivals) = self.barriers.get_mut(&barrier) else { return };
        let mut arrivals = std::mem::take(arrivals);
        let mut clock: Option<Arc<Clock>> = None;
        for arrival in &arrivals {
            super::sync::join_into(&mut clock, &arrival.clock);
        }
        let clock = clock.unwrap_or_default();
        let mut carried = None;
        arrivals.iter().filter_map(|a| a.carried.as_ref()).for_each(|c| carry_into(&mut carried, c));
        if carried.is_some() {
            for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
                self.warps[arrival.warp as usize].carry(arrival.lanes, carried.as_ref());
            }
        }
        if whole {
            self.all_know(cta, clock, versions);
            arrivals.clear();
            self.barriers.insert(barrier, arrivals);
            return;
        }
        let mut clock = clock;
        let known = Arc::make_mut(&mut clock);
        for arrival in &arrivals {
            let active = self.warps[arrival.warp as usize].active;
            let lanes = if active & !arrival.lanes == 0 { ALL } else { arrival.lanes };
            known.raise(cta, arrival.warp, lanes, arrival.epoch);
        }
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let waiting = arrivals
                .iter()
                .filter(|a| a.waits && a.warp as usize == number)
                .fold(0, |lanes, a| lanes | a.lanes);
            if waiting != 0 {
                let mut mine = warp.joined(waiting);
                join_shared(&mut mine, &clock);
                warp.learn(waiting, mine, versions);
                warp.step(versions);
            }
        }
    }

    /// What a thread has fenced and observed.
    pub(super) fn fenced(&self, thread: Thread) -> Option<&Fenced> {
        let warp = self.warps.get(thread.number as usize / 32)?;
        warp.fenced.as_ref().map(|fenced| &fenced[thread.number as usize % 32])
    }
}
