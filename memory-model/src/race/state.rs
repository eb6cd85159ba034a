//! What a word of memory remembers, and whether a new access races with it.
//!
//! A state is the set of past accesses that a later one could still race with, writes and reads apart. States are
//! immutable and numbered; a cell of the shadow is a state with a *shift*: lanes in a state are counted from the
//! shift, so that the 32 words that a warp touches side by side have one state. Accesses of a word by the same
//! warps in the same epochs lead through the same states, however many words there are.

use super::clock::{Clock, Shape};

/// How an access was made, as far as races go: bytes of the word, size of the whole access, strength and scope,
/// and whether a read observes (8.9.2) the newest write of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Class(u16);

impl Class {
    const OBSERVES: u16 = 1 << 13;
    const STRONG: u16 = 1 << 12;

    /// `mask` says which of the word's bytes; `size_log` is the logarithm of the access's size in bytes.
    pub(super) fn new(mask: u8, size_log: u8, strong: Option<usize>) -> Self {
        let strength = strong.map_or(0, |scope| Self::STRONG | ((scope as u16 & 3) << 10));
        Self(strength | (u16::from(size_log & 7) << 4) | u16::from(mask & 15))
    }

    pub(super) fn bits(self) -> u16 {
        self.0
    }

    pub(super) fn mask(self) -> u8 {
        (self.0 & 15) as u8
    }

    /// Size of the whole access in bytes.
    pub(super) fn bytes(self) -> u8 {
        1 << (self.0 >> 4 & 7)
    }

    pub(super) fn is_strong(self) -> bool {
        self.0 & Self::STRONG != 0
    }

    pub(super) fn scope(self) -> usize {
        usize::from(self.0 >> 10 & 3)
    }

    fn observes(self) -> bool {
        self.0 & Self::OBSERVES != 0
    }

    fn with_observes(self, observes: bool) -> Self {
        Self(if observes { self.0 | Self::OBSERVES } else { self.0 & !Self::OBSERVES })
    }

    /// The same bytes as part of accesses of the same size, which alignment makes the same access range.
    pub(super) fn same_range(self, other: Class) -> bool {
        (self.0 ^ other.0) & 0x7f == 0
    }
}

/// Accesses that are remembered: the same lanes of some warps of a CTA made them alike, in epochs of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Past {
    pub(super) cta: u32,
    /// Warps of the CTA.
    pub(super) warps: u32,
    /// Lanes of each, counted from the cell's shift. None: there is no such access.
    pub(super) lanes: u32,
    pub(super) epoch: u32,
    pub(super) class: Class,
    pub(super) site: u16,
}

impl Past {
    fn is_some(&self) -> bool {
        self.lanes != 0
    }
}

/// A write, and what is known of it once it is not the newest one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Write {
    past: Past,
    /// In one chain of atomics with the newest, which observe one another.
    chained: bool,
    /// Threads with the epochs in which they had observed it.
    observers: Vec<Past>,
}

/// A state with more than one write or more than one read.
#[derive(Debug, Default)]
struct Lists {
    /// The newest first.
    writes: Vec<Write>,
    reads: Vec<Past>,
}

/// A state; with lists, they hold everything.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    write: Past,
    read: Past,
    /// Index of lists, plus one.
    lists: u32,
}

/// An access about to be made, by some lanes of a warp at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now<'a> {
    pub(super) cta: u32,
    pub(super) warp: u32,
    /// Lanes, as they are.
    pub(super) lanes: u32,
    pub(super) epoch: u32,
    pub(super) clock: &'a Clock,
    pub(super) class: Class,
    pub(super) site: u16,
    pub(super) shape: Shape,
}

/// The kinds of access that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// An atomic that writes.
    Atomic,
}

/// A past access that races with the new one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conflict {
    /// With lanes as they are.
    pub(super) past: Past,
    /// One warp and lane of it that is not ordered.
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) writes: bool,
}

/// What a step comes to.
pub(super) struct Step {
    /// The new cell.
    pub(super) cell: u32,
    pub(super) conflict: Option<Conflict>,
    /// The same step holds for other shifts.
    pub(super) any_shift: bool,
}

/// Reads kept of a word; beyond that the middle ones go.
const READS: usize = 256;
/// Atomics of other CTAs kept in a chain beside the newest.
const CHAIN: usize = 4;

/// All states.
#[derive(Default)]
pub(super) struct States {
    states: Vec<State>,
    lists: Vec<Lists>,
    list_bytes: usize,
    /// Words whose reads were too many to remember all.
    pub(super) shortened: u64,
    writes: Vec<Write>,
    reads: Vec<Past>,
}

/// Where lanes are counted from in a cell once these have accessed it: the first that do so decide.
pub(super) fn origin(cell: u32, lanes: u32) -> u32 {
    match parts(cell) {
        (0, _) => lanes.trailing_zeros() & 31,
        (_, shift) => shift,
    }
}

/// The cell of a state.
pub(super) fn cell(state: usize, shift: u32) -> u32 {
    (state as u32) << 5 | shift
}

/// The state of a cell and its shift.
pub(super) fn parts(cell: u32) -> (u32, u32) {
    (cell >> 5, cell & 31)
}

/// Most states; they are collected before.
const MOST: usize = 1 << 27;

impl States {
    pub(super) fn new() -> Self {
        // Number 0 is the state of memory that nobody has touched.
        Self { states: vec![State::default()], ..Self::default() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<State>() + self.list_bytes
    }

    pub(super) fn count(&self) -> usize {
        self.states.len()
    }

    /// Forgets all states.
    pub(super) fn clear(&mut self) {
        self.states.truncate(1);
        self.lists.clear();
        self.list_bytes = 0;
    }

    pub(super) fn is_full(&self) -> bool {
        self.states.len() >= MOST
    }

    /// Keeps the states that are marked; `numbers` turns from marks into new numbers.
    pub(super) fn compact(&mut self, numbers: &mut [u32]) {
        let mut lists = Vec::new();
        let mut kept = vec![State::default()];
        for (state, number) in self.states.iter().zip(numbers.iter_mut()).skip(1) {
            if *number == 0 {
                continue;
            }
            *number = kept.len() as u32;
            let mut state = *state;
            if state.lists != 0 {
                lists.push(std::mem::take(&mut self.lists[state.lists as usize - 1]));
                state.lists = lists.len() as u32;
            }
            kept.push(state);
        }
        self.list_bytes = lists.iter().map(bytes_of).sum();
        self.states = kept;
        self.lists = lists;
    }

    /// Whether an atomic takes the place of what a cell remembers, with nothing to check: it follows another
    /// atomic or strong write of its CTA that it observes, and that is all there is.
    pub(super) fn follows(&self, old: u32, cta: u32, class: Class) -> bool {
        let state = &self.states[parts(old).0 as usize];
        state.lists == 0
            && !state.read.is_some()
            && state.write.is_some()
            && state.write.cta == cta
            && state.write.class == class
            && class.is_strong()
    }

    /// The outcome of an access to a word in this cell.
    pub(super) fn step(&mut self, old: u32, now: &Now<'_>, kind: Kind) -> Step {
        let (number, shift) = parts(old);
        if number == 0 {
            let shift = now.lanes.trailing_zeros() & 31;
            let me = past_of(now, shift);
            let (write, read) = if kind == Kind::Read {
                (Past::default(), me)
            } else {
                (newest(now, shift), Past::default())
            };
            self.states.push(State { write, read, lists: 0 });
            return Step { cell: cell(self.states.len() - 1, shift), conflict: None, any_shift: true };
        }
        let state = self.states[number as usize];
        if state.lists == 0
            && let Some(step) = self.simple(&state, old, now, kind)
        {
            return step;
        }
        let mut writes = std::mem::take(&mut self.writes);
        let mut reads = std::mem::take(&mut self.reads);
        writes.clear();
        reads.clear();
        match self.lists.get((state.lists as usize).wrapping_sub(1)) {
            Some(lists) => {
                writes.extend_from_slice(&lists.writes);
                reads.extend_from_slice(&lists.reads);
            }
            None => {
                writes.extend(state.write.is_some().then(|| Write { past: state.write, ..Write::default() }));
                reads.extend(state.read.is_some().then_some(state.read));
            }
        }
        let step = self.general(&mut writes, &mut reads, shift, now, kind);
        self.writes = writes;
        self.reads = reads;
        step
    }

    /// The most common steps from states without lists.
    fn simple(&mut self, state: &State, old: u32, now: &Now<'_>, kind: Kind) -> Option<Step> {
        let shift = old & 31;
        let lanes = now.lanes.rotate_right(shift);
        let done = |cell, any_shift| Some(Step { cell, conflict: None, any_shift });
        match kind {
            // More warps of the CTA read what others have read in the same way.
            Kind::Read if !state.write.is_some() => {
                let read = &state.read;
                let alike = read.cta == now.cta
                    && read.epoch == now.epoch
                    && read.class == now.class
                    && read.site == now.site
                    && read.lanes == lanes;
                if !alike {
                    return None;
                }
                if read.warps >> now.warp & 1 != 0 {
                    return done(old, true);
                }
                let read = Past { warps: read.warps | 1 << now.warp, ..*read };
                self.states.push(State { read, ..*state });
                done(cell(self.states.len() - 1, shift), true)
            }
            _ => None,
        }
    }

    fn general(
        &mut self,
        writes: &mut Vec<Write>,
        reads: &mut Vec<Past>,
        shift: u32,
        now: &Now<'_>,
        kind: Kind,
    ) -> Step {
        let eye = Eye { now, shift, lanes: now.lanes.rotate_right(shift) };
        // Which of several lanes is the last depends on where they are.
        let alone = kind == Kind::Read || now.lanes.is_power_of_two();
        let any_shift = alone
            && !writes
                .iter()
                .flat_map(|w| w.observers.iter().chain([&w.past]))
                .chain(reads.iter())
                .any(|p| eye.tells_lanes_apart(p));
        let touching = writes.iter().find(|w| w.past.class.mask() & now.class.mask() != 0);
        let mut observes = touching.is_some_and(|w| {
            now.class.is_strong()
                && w.past.class.is_strong()
                && w.past.class.same_range(now.class)
                && (eye.morally_strong(&w.past) || eye.is_own(&w.past))
        });
        // An atomic that reads its own thread's write observes it, weak or not.
        if kind == Kind::Atomic {
            observes |=
                writes.first().is_some_and(|w| eye.is_own(&w.past) && w.past.class.same_range(now.class));
        }
        let conflict = eye.race(writes, reads, kind, observes);
        if kind == Kind::Read {
            let read = past_of(now, shift);
            let read = Past { class: read.class.with_observes(observes), ..read };
            reads.retain(|p| !(eye.covers(p) && eye.stands_for(p) && !p.class.observes()));
            for p in reads.iter_mut() {
                let older = p.cta == now.cta
                    && p.warps == 1 << now.warp
                    && p.epoch <= now.epoch
                    && !p.class.observes()
                    && p.class.mask() & !now.class.mask() == 0
                    && (!now.class.is_strong() || p.class == read.class);
                if older {
                    p.lanes &= !read.lanes;
                }
            }
            reads.retain(|p| p.lanes != 0);
            self.shortened += u64::from(add(reads, read));
        } else {
            next_state(writes, reads, &eye, kind, observes);
        }
        let cell = cell(self.put(writes, reads), shift);
        Step { cell, conflict, any_shift }
    }

    fn put(&mut self, writes: &[Write], reads: &[Past]) -> usize {
        let plain = |w: &Write| !w.chained && w.observers.is_empty();
        let one = |reads: &[Past]| reads.first().copied().unwrap_or_default();
        let state = match writes {
            [] if reads.len() <= 1 => State { read: one(reads), ..State::default() },
            [write] if plain(write) && reads.len() <= 1 => {
                State { write: write.past, read: one(reads), lists: 0 }
            }
            _ => {
                let lists = Lists { writes: writes.to_vec(), reads: reads.to_vec() };
                self.list_bytes += bytes_of(&lists);
                self.lists.push(lists);
                State { lists: self.lists.len() as u32, ..State::default() }
            }
        };
        self.states.push(state);
        self.states.len() - 1
    }
}

fn bytes_of(lists: &Lists) -> usize {
    let observers: usize = lists.writes.iter().map(|w| w.observers.len()).sum();
    size_of::<Lists>()
        + lists.writes.len() * size_of::<Write>()
        + (lists.reads.len() + observers) * size_of::<Past>()
}

/// The access as it will be remembered.
fn past_of(now: &Now<'_>, shift: u32) -> Past {
    Past {
        cta: now.cta,
        warps: 1 << now.warp,
        lanes: now.lanes.rotate_right(shift),
        epoch: now.epoch,
        class: now.class,
        site: now.site,
    }
}

/// Of several lanes that write a word at once, the last one's write stays.
fn newest(now: &Now<'_>, shift: u32) -> Past {
    let last = 1 << (31 - now.lanes.leading_zeros().min(31));
    past_of(&Now { lanes: last, ..*now }, shift)
}

/// An access as it looks from a cell.
struct Eye<'a> {
    now: &'a Now<'a>,
    shift: u32,
    /// Its lanes, counted from the shift.
    lanes: u32,
}

impl Eye<'_> {
    fn absolute(&self, lanes: u32) -> u32 {
        lanes.rotate_left(self.shift)
    }

    fn tells_lanes_apart(&self, past: &Past) -> bool {
        let clock = self.now.clock;
        clock.floor(past.cta) < past.epoch
            && bits(past.warps).any(|warp| clock.tells_lanes_apart(self.now.shape, past.cta, warp))
    }

    /// A thread of a past access that does not come before this one: its warp and lanes.
    fn missing(&self, past: &Past) -> Option<(u32, u32)> {
        let now = self.now;
        if now.clock.floor(past.cta) >= past.epoch {
            return None;
        }
        bits(past.warps).find_map(|warp| {
            let lanes = self.absolute(past.lanes);
            let mut missing = now.clock.missing(now.shape, past.cta, warp, lanes, past.epoch);
            // A thread comes after itself; of several each must come after all others.
            if past.cta == now.cta && warp == now.warp && now.lanes.is_power_of_two() {
                missing &= !now.lanes;
            }
            (missing != 0).then_some((warp, missing))
        })
    }

    /// Whether everything about a past access comes before this one in causality, observation apart.
    fn covers(&self, past: &Past) -> bool {
        self.missing(past).is_none()
    }

    /// Whether some thread of a past access had come that far before this one.
    fn follows_one_of(&self, past: &Past) -> bool {
        let now = self.now;
        if past.cta == now.cta && past.warps >> now.warp & 1 != 0 && self.lanes & !past.lanes == 0 {
            return true;
        }
        let lanes = self.absolute(past.lanes);
        bits(past.warps).any(|warp| now.clock.missing(now.shape, past.cta, warp, lanes, past.epoch) != lanes)
    }

    /// This thread's own.
    fn is_own(&self, past: &Past) -> bool {
        past.cta == self.now.cta
            && past.warps == 1 << self.now.warp
            && past.lanes == self.lanes
            && self.lanes.is_power_of_two()
    }

    /// Morally strong (8.7), program order apart.
    fn morally_strong(&self, past: &Past) -> bool {
        let now = self.now;
        past.class.is_strong()
            && now.class.is_strong()
            && past.class.same_range(now.class)
            && now.shape.common_level(past.cta, now.cta) <= now.class.scope().min(past.class.scope())
    }

    /// Whether whatever races with the past access, which comes before this one, will also race with this one:
    /// the past one need not be remembered any longer.
    fn stands_for(&self, past: &Past) -> bool {
        let class = self.now.class;
        if past.class.mask() & !class.mask() != 0 {
            return false;
        }
        if !class.is_strong() {
            return true;
        }
        // A later operation of narrow scope may be morally strong with this one and not with one of another CTA.
        past.class.is_strong()
            && past.class.same_range(class)
            && past.class.scope() >= class.scope()
            && past.cta == self.now.cta
    }

    fn conflict(&self, past: &Past, writes: bool) -> Conflict {
        let (warp, lanes) = self.missing(past).unwrap_or((past.warps.trailing_zeros(), 1));
        let lanes_of = Past { lanes: self.absolute(past.lanes), ..*past };
        Conflict { past: lanes_of, warp, lane: lanes.trailing_zeros() & 31, writes }
    }

    fn race(&self, writes: &[Write], reads: &[Past], kind: Kind, observes: bool) -> Option<Conflict> {
        let touches = |p: &Past| p.class.mask() & self.now.class.mask() != 0;
        let newest_observed = |newest: &Past| {
            reads.iter().any(|p| {
                p.class.observes() && p.class.mask() == newest.class.mask() && self.follows_one_of(p)
            })
        };
        let chains = kind == Kind::Atomic && observes;
        for (i, write) in writes.iter().enumerate() {
            let past = &write.past;
            if !touches(past) || self.covers(past) || self.morally_strong(past) {
                continue;
            }
            let newest = newest_of(writes, past);
            let observed = if i == newest {
                newest_observed(past)
            } else {
                // An atomic that observes the newest write observes the whole chain.
                let newest = &writes[newest].past;
                write.observers.iter().any(|o| self.follows_one_of(o))
                    || (write.chained && (chains || self.covers(newest) || newest_observed(newest)))
            };
            if !observed {
                return Some(self.conflict(past, true));
            }
        }
        if kind == Kind::Read {
            return None;
        }
        let read = reads.iter().find(|p| touches(p) && !self.covers(p) && !self.morally_strong(p));
        read.map(|p| self.conflict(p, false))
    }
}

/// The newest write of bytes of this one.
fn newest_of(writes: &[Write], past: &Past) -> usize {
    writes.iter().position(|w| w.past.class.mask() & past.class.mask() != 0).unwrap_or(0)
}

/// The numbers of the bits that are set.
pub(super) fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < 32).then_some(bit)
    })
}

/// Adds a read to those like it, if there are. True if one had to go for it.
fn add(reads: &mut Vec<Past>, new: Past) -> bool {
    let alike = reads.iter_mut().find(|p| {
        p.cta == new.cta
            && p.epoch == new.epoch
            && p.class == new.class
            && p.site == new.site
            && (p.lanes == new.lanes || p.warps == new.warps)
    });
    match alike {
        Some(p) => {
            p.lanes |= new.lanes;
            p.warps |= new.warps;
            false
        }
        None => {
            let full = reads.len() >= READS;
            if full {
                reads.remove(READS / 2);
            }
            reads.push(new);
            full
        }
    }
}

/// The writes (newest first) and reads to remember after a write.
fn next_state(writes: &mut Vec<Write>, reads: &mut Vec<Past>, eye: &Eye<'_>, kind: Kind, observes: bool) {
    let chains = kind == Kind::Atomic && observes;
    let me = newest(eye.now, eye.shift);
    let strong = eye.now.class.is_strong();
    let observers_of_newest: Vec<Past> = reads.iter().filter(|p| p.class.observes()).copied().collect();
    let newest_as_observer = writes.get(newest_of(writes, &me)).map(|w| w.past);
    let mut older = 0;
    writes.retain_mut(|write| {
        let mask = write.past.class.mask();
        let was_newest = older & mask == 0;
        older |= mask;
        if mask & me.class.mask() == 0 {
            return true;
        }
        // An atomic that observes the newest write observes the whole chain before it.
        let observed = chains && (was_newest || write.chained);
        // What observes a strong write is ordered after it, but not after what came before it; so a strong
        // write only stands for writes that are observed together with it.
        let told = observed || (eye.covers(&write.past) && !strong);
        if told && eye.stands_for(&write.past) {
            return false;
        }
        if was_newest {
            write.observers = observers_of_newest.clone();
            write.chained = chains;
        } else if write.chained {
            write.observers.extend_from_slice(&observers_of_newest);
            write.observers.extend(newest_as_observer);
            write.chained = chains;
        }
        if write.observers.len() > READS {
            write.observers.drain(CHAIN..READS / 2);
        }
        true
    });
    writes.insert(0, Write { past: me, ..Write::default() });
    drop_superseded(writes);
    while writes.iter().skip(1).filter(|w| w.chained && w.past.class == me.class).count() > CHAIN {
        // The chain is ordered as one, but for accesses of narrower scope: a few of it are enough to catch those.
        let middle =
            writes.iter().skip(1).position(|w| w.chained && w.past.class == me.class).unwrap_or(0) + 1;
        writes.remove(middle);
    }
    reads.retain(|p| strong || !(eye.covers(p) && eye.stands_for(p)));
    let kept: Vec<Past> = std::mem::take(reads);
    for p in kept {
        let observes = p.class.observes() && p.class.mask() & me.class.mask() == 0;
        add(reads, Past { class: p.class.with_observes(observes), ..p });
    }
}

/// Drops older writes that a later one of the same lanes stands for: whatever is ordered after the later one,
/// by causality or by an observer, is then ordered after the older one. (Writes that are not the newest gain
/// no observers.)
fn drop_superseded(writes: &mut Vec<Write>) {
    let supersedes = |later: &Write, older: &Write| {
        let (a, b) = (&later.past, &older.past);
        a.cta == b.cta
            && a.warps == b.warps
            && a.lanes == b.lanes
            && a.class == b.class
            && a.epoch >= b.epoch
            && !older.chained
            && !later.chained
            && later.observers.iter().all(|o| {
                older
                    .observers
                    .iter()
                    .any(|p| (p.cta, p.warps, p.lanes) == (o.cta, o.warps, o.lanes) && p.epoch <= o.epoch)
            })
    };
    let mut i = 1;
    while i < writes.len() {
        // Newer ones come first.
        if writes[1..i].iter().any(|later| supersedes(later, &writes[i])) {
            writes.remove(i);
        } else {
            i += 1;
        }
    }
}
