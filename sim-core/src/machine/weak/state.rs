//! The state of weak memory: histories of locations, and what each thread knows of them.
//!
//! A location keeps the values that were written to it, in coherence order, each with a time stamp. A thread
//! has a *view*: for each location the latest value that comes before it in causality order. It may read that
//! value or any later one, and its writes go behind it, not necessarily last. Values carry the views of the
//! release patterns that they end; observing such a value in an acquire pattern joins them. This is weaker than
//! store buffers and stale cache lines, and allows nothing that the model forbids:
//!
//! * Everything that makes causality happens in the order of execution, so causality and reads-from have no
//!   cycles. (Loads that are done late are outstanding only between operations that make causality.)
//! * What is causality-before a read is in the reader's view, which the value read is not older than.
//! * Positions in coherence order only grow along program order for one location, and along morally strong
//!   communication, so they have no cycle either.
//! * Between the read and the write of an atomic nothing is put that is morally strong with it.
//!
//! Where accesses of different sizes overlap, or something else than loads, stores and atomics wrote, the
//! location becomes *plain*: everybody sees the latest value and joins everything that was released there.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptx_frontend::{MemOrder, Scope};
use rustc_hash::FxHashMap;

use crate::machine::random::Random;

/// Time stamps by address of a location; what is missing is at 0.
type View = FxHashMap<u64, u64>;

fn join(to: &mut View, from: &View) {
    for (&address, &at) in from {
        let known = to.entry(address).or_insert(0);
        *known = at.max(*known);
    }
}

/// Distance between a value and one that is written behind it.
const STEP: u64 = 1 << 20;

/// Where a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub thread: u64,
    pub block: u64,
    pub cluster: u64,
}

impl Place {
    /// The narrowest scope that holds both.
    fn common(self, other: Place) -> Scope {
        if self.block == other.block {
            Scope::Cta
        } else if self.cluster == other.cluster {
            Scope::Cluster
        } else {
            Scope::Gpu
        }
    }

    /// Whether operations of these scopes at these places include each other.
    fn mutual(self, scope: Scope, other: Place, others: Scope) -> bool {
        self.thread == other.thread || self.common(other) <= scope.min(others)
    }
}

/// The order and scope of an operation; weak ones have no scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strength {
    pub scope: Option<Scope>,
    pub acquire: bool,
    pub release: bool,
}

impl Strength {
    pub(crate) fn new(order: MemOrder, scope: Scope) -> Self {
        Self {
            scope: (order != MemOrder::Weak).then_some(scope),
            acquire: order.acquires(),
            release: order.releases(),
        }
    }
}

/// The first operation of a release pattern, and what came before it.
#[derive(Clone, PartialEq, Debug)]
struct Released {
    view: Arc<View>,
    place: Place,
    scope: Scope,
}

/// Adds a release; those of one block and scope are one, which knows what each knew.
fn add(list: &mut Vec<Released>, new: &Released) {
    match list.iter_mut().find(|r| r.place.block == new.place.block && r.scope == new.scope) {
        Some(same) => {
            if !Arc::ptr_eq(&same.view, &new.view) {
                join(Arc::make_mut(&mut same.view), &new.view);
            }
        }
        // Of several threads of the block the number says nothing any more.
        None => list.push(Released { place: Place { thread: u64::MAX, ..new.place }, ..new.clone() }),
    }
}

/// A value of a location.
#[derive(Clone, PartialEq, Debug)]
struct Written {
    at: u64,
    value: u64,
    /// Who wrote it and with which scope; nothing for the value before the launch.
    by: Option<(Place, Option<Scope>)>,
    released: Vec<Released>,
    /// The time stamp of the value that the atomic which wrote it read.
    replaces: Option<u64>,
}

impl Written {
    /// Whether the write is morally strong with an operation.
    fn strong_with(&self, place: Place, scope: Option<Scope>) -> bool {
        self.by.is_some_and(|(by, strength)| {
            by.thread == place.thread
                || matches!((strength, scope), (Some(a), Some(b)) if by.mutual(a, place, b))
        })
    }
}

/// A location.
#[derive(Clone, PartialEq, Debug)]
enum Location {
    /// Its size in bytes and its values, oldest first.
    History(u32, Vec<Written>),
    /// Only the latest value counts; all that was released there.
    Plain(u32, Vec<Released>),
}

impl Location {
    fn bytes(&self) -> u32 {
        match self {
            Location::History(bytes, _) | Location::Plain(bytes, _) => *bytes,
        }
    }
}

#[derive(Clone, PartialEq, Default, Debug)]
struct Thread {
    view: View,
    /// By scope: what came before the last fence that releases.
    fences: Vec<(Scope, Arc<View>)>,
    /// Releases of its own by location.
    own: FxHashMap<u64, Vec<Released>>,
    /// Releases observed, which an acquire may join, and those by location.
    observed: Vec<Released>,
    observed_at: FxHashMap<u64, Vec<Released>>,
}

/// Histories and views.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct State {
    random: Random,
    locations: BTreeMap<u64, Location>,
    threads: FxHashMap<u64, Thread>,
    /// What came before each `fence.sc`, by block and scope.
    fences: Vec<Released>,
    /// What was known to those who arrived at a barrier, by block and number.
    barriers: FxHashMap<(u64, u64), View>,
}

/// The real memory behind the histories: it holds the latest values.
pub(crate) trait Latest {
    fn load(&self) -> u64;
    fn store(&self, value: u64);
}

impl State {
    pub(crate) fn new(seed: u64) -> State {
        State {
            random: Random::new(seed, u64::MAX),
            locations: BTreeMap::new(),
            threads: FxHashMap::default(),
            fences: Vec::new(),
            barriers: FxHashMap::default(),
        }
    }

    /// A random number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    /// The location at an address, made plain if it is not accessed as it was before.
    fn location(&mut self, address: u64, bytes: u32, latest: &impl Latest) {
        let end = address + u64::from(bytes);
        let overlapping: Vec<u64> = self
            .locations
            .range(address.saturating_sub(15)..end)
            .filter(|(at, location)| **at + u64::from(location.bytes()) > address)
            .map(|(&at, _)| at)
            .collect();
        match overlapping[..] {
            [] => {
                let initial =
                    Written { at: 0, value: latest.load(), by: None, released: Vec::new(), replaces: None };
                self.locations.insert(address, Location::History(bytes, vec![initial]));
            }
            [at] if at == address && self.locations[&at].bytes() == bytes => {
                // Something that keeps no history wrote.
                let value = latest.load();
                if let Location::History(_, values) = &self.locations[&at]
                    && values.last().is_some_and(|last| last.value != value)
                {
                    self.plain(&[at], at, bytes);
                }
            }
            _ => {
                let start = overlapping.iter().copied().chain([address]).min().unwrap_or(address);
                let end = overlapping
                    .iter()
                    .map(|at| at + u64::from(self.locations[at].bytes()))
                    .chain([end])
                    .max()
                    .unwrap_or(end);
                let same = matches!(overlapping[..], [at] if matches!(self.locations[&at], Location::Plain(..)))
                    && overlapping[0] == start
                    && start + u64::from(self.locations[&start].bytes()) == end;
                if !same {
                    self.plain(&overlapping, start, (end - start) as u32);
                }
            }
        }
    }

    /// Makes one plain location of some.
    fn plain(&mut self, of: &[u64], start: u64, bytes: u32) {
        let mut all = Vec::new();
        for at in of {
            match self.locations.remove(at) {
                Some(Location::History(_, values)) => {
                    values.iter().flat_map(|v| &v.released).for_each(|r| add(&mut all, r));
                }
                Some(Location::Plain(_, released)) => released.iter().for_each(|r| add(&mut all, r)),
                None => {}
            }
        }
        self.locations.insert(start, Location::Plain(bytes, all));
    }

    /// The plain location that covers an address.
    fn plain_at(&mut self, address: u64) -> Option<&mut Vec<Released>> {
        match self.locations.range_mut(..=address).next_back() {
            Some((_, Location::Plain(_, released))) => Some(released),
            _ => None,
        }
    }

    /// Makes a location plain whatever happens there.
    pub(crate) fn give_up(&mut self, address: u64, bytes: u32, latest: &impl Latest) {
        self.location(address, bytes, latest);
        if self.plain_at(address).is_none() {
            self.plain(&[address], address, bytes);
        }
    }

    fn observe(&mut self, place: Place, address: u64, strength: Strength, released: &[Released]) {
        let Some(scope) = strength.scope else { return };
        let thread = self.threads.entry(place.thread).or_default();
        let here = thread.observed_at.entry(address).or_default();
        for one in released {
            add(here, one);
            add(&mut thread.observed, one);
        }
        if strength.acquire {
            for one in &*here {
                if one.place.mutual(one.scope, place, scope) {
                    join(&mut thread.view, &one.view);
                }
            }
        }
    }

    /// What a strong write releases, besides what it inherits.
    fn releases(&mut self, place: Place, address: u64, at: u64, strength: Strength) -> Vec<Released> {
        let thread = self.threads.entry(place.thread).or_default();
        if at > 0 {
            thread.view.insert(address, at);
        }
        let Some(scope) = strength.scope else { return Vec::new() };
        if strength.release {
            let own = Released { view: Arc::new(thread.view.clone()), place, scope };
            add(thread.own.entry(address).or_default(), &own);
        }
        let mut out = thread.own.get(&address).cloned().unwrap_or_default();
        for (scope, view) in &thread.fences {
            add(&mut out, &Released { view: view.clone(), place, scope: *scope });
        }
        out
    }

    fn known(&self, place: Place, address: u64) -> u64 {
        self.threads.get(&place.thread).and_then(|t| t.view.get(&address)).copied().unwrap_or(0)
    }

    /// One of the values that a thread may read: the latest, or any.
    fn choose(random: &mut Random, candidates: &[usize]) -> usize {
        let last = candidates.len() - 1;
        if random.below(2) == 0 {
            candidates[last]
        } else {
            candidates[random.below(last as u64 + 1) as usize]
        }
    }

    pub(crate) fn read(
        &mut self,
        place: Place,
        address: u64,
        bytes: u32,
        strength: Strength,
        latest: &impl Latest,
    ) -> u64 {
        self.location(address, bytes, latest);
        if let Some(released) = self.plain_at(address) {
            let released = released.clone();
            self.observe(place, address, strength, &released);
            return latest.load();
        }
        let known = self.known(place, address);
        let Some(Location::History(_, values)) = self.locations.get(&address) else { return latest.load() };
        let candidates: Vec<usize> = (0..values.len()).filter(|&i| values[i].at >= known).collect();
        if candidates.is_empty() {
            return latest.load();
        }
        let chosen = &values[Self::choose(&mut self.random, &candidates)];
        let (at, value) = (chosen.at, chosen.value);
        if chosen.strong_with(place, strength.scope) {
            let released = chosen.released.clone();
            let view = &mut self.threads.entry(place.thread).or_default().view;
            let known = view.entry(address).or_insert(0);
            *known = at.max(*known);
            self.observe(place, address, strength, &released);
        }
        value
    }

    /// Whether a write at this place in the history, behind value `i`, would come between the two halves of an
    /// atomic that it is morally strong with, or finds no time stamp.
    fn closed(values: &[Written], i: usize, place: Place, scope: Option<Scope>) -> bool {
        let Some(next) = values.get(i + 1) else { return false };
        next.at - values[i].at < 2
            || values[i + 1..]
                .iter()
                .any(|v| v.replaces.is_some_and(|from| from <= values[i].at) && v.strong_with(place, scope))
    }

    fn insert(values: &mut Vec<Written>, i: usize, mut new: Written) -> u64 {
        new.at = match values.get(i + 1) {
            Some(next) => values[i].at + (next.at - values[i].at) / 2,
            None => values[i].at + STEP,
        };
        let at = new.at;
        values.insert(i + 1, new);
        at
    }

    pub(crate) fn write(
        &mut self,
        place: Place,
        address: u64,
        bytes: u32,
        value: u64,
        strength: Strength,
        latest: &impl Latest,
    ) {
        self.location(address, bytes, latest);
        if self.plain_at(address).is_some() {
            latest.store(value);
            let released = self.releases(place, address, 0, strength);
            if let Some(all) = self.plain_at(address) {
                released.iter().for_each(|r| add(all, r));
            }
            return;
        }
        let known = self.known(place, address);
        let Some(Location::History(_, values)) = self.locations.get_mut(&address) else { return };
        let candidates: Vec<usize> = (0..values.len())
            .filter(|&i| values.get(i + 1).is_none_or(|next| next.at > known))
            .filter(|&i| values[i].at >= known && !Self::closed(values, i, place, strength.scope))
            .collect();
        let i = Self::choose(&mut self.random, &candidates);
        if i + 1 == values.len() {
            latest.store(value);
        }
        let by = Some((place, strength.scope));
        let new = Written { at: 0, value, by, released: Vec::new(), replaces: None };
        let at = Self::insert(values, i, new);
        let released = self.releases(place, address, at, strength);
        self.set_released(address, at, released);
    }

    fn set_released(&mut self, address: u64, at: u64, released: Vec<Released>) {
        if let Some(Location::History(_, values)) = self.locations.get_mut(&address)
            && let Some(value) = values.iter_mut().find(|v| v.at == at)
        {
            value.released = released;
        }
    }

    /// An atomic: gives the old value; `new` gives the new one, or nothing if none is written. Its read is no
    /// part of an acquire pattern if it is a reduction.
    pub(crate) fn update(
        &mut self,
        place: Place,
        address: u64,
        bytes: u32,
        strength: Strength,
        reduction: bool,
        mut new: impl FnMut(u64) -> Option<u64>,
        latest: &impl Latest,
    ) -> u64 {
        self.location(address, bytes, latest);
        if let Some(released) = self.plain_at(address) {
            let released = released.clone();
            let old = latest.load();
            if !reduction {
                self.observe(place, address, strength, &released);
            }
            if let Some(value) = new(old) {
                latest.store(value);
                let released = self.releases(place, address, 0, strength);
                if let Some(all) = self.plain_at(address) {
                    released.iter().for_each(|r| add(all, r));
                }
            }
            return old;
        }
        let known = self.known(place, address);
        let Some(Location::History(_, values)) = self.locations.get(&address) else { return latest.load() };
        let candidates: Vec<usize> = (0..values.len())
            .filter(|&i| values[i].at >= known && !Self::closed(values, i, place, strength.scope))
            .collect();
        let i = Self::choose(&mut self.random, &candidates);
        let old = values[i].clone();
        let observed = old.strong_with(place, strength.scope);
        if observed {
            let view = &mut self.threads.entry(place.thread).or_default().view;
            let known = view.entry(address).or_insert(0);
            *known = old.at.max(*known);
            if !reduction {
                self.observe(place, address, strength, &old.released);
            }
        }
        if let Some(value) = new(old.value) {
            let Some(Location::History(_, values)) = self.locations.get_mut(&address) else {
                return old.value;
            };
            if i + 1 == values.len() {
                latest.store(value);
            }
            let by = Some((place, strength.scope));
            let new = Written { at: 0, value, by, released: Vec::new(), replaces: Some(old.at) };
            let at = Self::insert(values, i, new);
            let mut released = self.releases(place, address, at, strength);
            if observed {
                old.released.iter().for_each(|r| add(&mut released, r));
            }
            self.set_released(address, at, released);
        }
        old.value
    }

    pub(crate) fn fence(&mut self, place: Place, order: MemOrder, scope: Scope) {
        let thread = self.threads.entry(place.thread).or_default();
        if order != MemOrder::Release {
            for one in &thread.observed {
                if one.place.mutual(one.scope, place, scope) {
                    join(&mut thread.view, &one.view);
                }
            }
        }
        if order == MemOrder::Sc {
            for one in &self.fences {
                if one.place.mutual(one.scope, place, scope) {
                    join(&mut thread.view, &one.view);
                }
            }
            add(&mut self.fences, &Released { view: Arc::new(thread.view.clone()), place, scope });
        }
        if order != MemOrder::Acquire {
            let view = Arc::new(thread.view.clone());
            match thread.fences.iter_mut().find(|(s, _)| *s == scope) {
                Some(last) => last.1 = view,
                None => thread.fences.push((scope, view)),
            }
        }
    }

    /// A thread arrives somewhere that others will leave later.
    pub(crate) fn arrive(&mut self, place: Place, barrier: u64) {
        let view = &self.threads.entry(place.thread).or_default().view;
        join(self.barriers.entry((place.block, barrier)).or_default(), view);
    }

    /// A thread leaves, knowing what all who arrived knew.
    pub(crate) fn leave(&mut self, place: Place, barrier: u64) {
        if let Some(view) = self.barriers.get(&(place.block, barrier)) {
            join(&mut self.threads.entry(place.thread).or_default().view, view);
        }
    }

    /// A strong access to shared memory: the histories of shared memory are not kept, so it synchronises with
    /// whatever was released in the block.
    pub(crate) fn shared(&mut self, place: Place, strength: Strength, writes: bool, barrier: u64) {
        if writes {
            if strength.release {
                self.arrive(place, barrier);
            }
            let fences: Vec<Arc<View>> = self
                .threads
                .get(&place.thread)
                .map_or_else(Vec::new, |t| t.fences.iter().map(|(_, view)| view.clone()).collect());
            let known = self.barriers.entry((place.block, barrier)).or_default();
            fences.iter().for_each(|view| join(known, view));
        } else if let Some(view) = self.barriers.get(&(place.block, barrier)) {
            let view = Arc::new(view.clone());
            if strength.acquire {
                self.leave(place, barrier);
            }
            let observed = &mut self.threads.entry(place.thread).or_default().observed;
            add(observed, &Released { view, place, scope: Scope::Cta });
        }
    }
}
