//! The states that words are in, by number.
//!
//! A cell of the shadow is a state with a *shift*: lanes in a state are counted from the shift, so that the 32 words that
//! a warp touches side by side have one state. A state knows how many cells are in it. Words that leave a state together
//! and are all that was in it take its number along, and what it holds is changed in place; a state that no cell is in
//! is used again. So nothing has to be collected, and memory that goes through many histories allocates nothing.
//!
//! Whatever a number stands for has a *stamp* that nothing else ever had, by which steps that were remembered know
//! whether they still hold.

use super::access::{Class, Conflict, Eye, Kind, Now, Past};
use super::state::{CHAIN, Lists, READS, Write};

/// A state; with lists, they hold everything, but for the newest of a chain of atomics that is as long as it may be.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    write: Past,
    read: Past,
    /// Index of lists, plus one.
    lists: u32,
    /// Cells that are in it.
    cells: u32,
    stamp: u32,
}

/// What a step comes to.
pub(super) enum Step {
    /// The new cell.
    To {
        cell: u32,
        /// The same step holds for other cells of the old state, which still exists.
        lasting: bool,
    },
    /// The access of the one cell races.
    Race { cell: u32, conflict: Conflict },
    /// Nothing was done: the cells have to be taken one by one.
    OneByOne,
}

/// What a state with a list of reads became when words left it for a table, so that the next words that leave it share that.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parted {
    /// Stamp of the state.
    pub(super) from: u32,
    /// States of the readers, which it holds as a cell would.
    pub(super) to: [u32; READERS],
}

/// All states.
pub(super) struct States {
    states: Vec<State>,
    free: Vec<u32>,
    lists: Vec<Lists>,
    free_lists: Vec<u32>,
    /// Lists that hold nothing, for their memory.
    spare: Vec<Lists>,
    list_bytes: usize,
    stamp: u32,
    /// Reads, and atomics, that were added to lists; of the reads less those that did as others had done.
    listed: u32,
    chained: u32,
    /// How often threads had learned of other CTAs when that was last told, and the first stamp since then.
    era: u32,
    era_stamp: u32,
    /// What words of states left when they became words of a table, by the stamp of the state.
    pub(super) parted: Box<[Parted; PARTED]>,
    /// Words whose reads were too many to remember all.
    pub(super) shortened: u64,
}

/// Where lanes are counted from in a cell once these have accessed it: the first that do so decide.
pub(super) fn origin(cell: u32, lanes: u32) -> u32 {
    match parts(cell) {
        (0, _) => lanes.trailing_zeros() & 31,
        (_, shift) => shift,
    }
}

/// The cell of a state.
pub(super) fn cell(state: u32, shift: u32) -> u32 {
    state << 5 | shift
}

/// The state of a cell and its shift.
pub(super) fn parts(cell: u32) -> (u32, u32) {
    (cell >> 5, cell & 31)
}

/// Most states.
const MOST: usize = 1 << 26;
/// Reads added to lists, after which words that many CTAs read become tables.
const CROWDED: u32 = 1 << 12;
/// Atomics added to chains, after which only the newest of a chain is kept.
const CHAINED: u32 = 1 << 14;
/// States of which it is known what words leave when they become words of a table.
pub(super) const PARTED: usize = 64;
/// Readers kept of a word of a table.
pub(super) const READERS: usize = 4;
/// Reads of a word that are many then.
const LONG: usize = 16;
/// Lists kept for their memory.
const SPARE: usize = 32;
/// Stamps that one access may need.
const RESERVE: u32 = 1 << 14;
/// The stamp of what does not exist.
const NOTHING: u32 = u32::MAX;

impl States {
    pub(super) fn new() -> Self {
        Self {
            // Number 0 is the state of memory that nobody has touched.
            states: vec![State::default()],
            free: Vec::new(),
            lists: Vec::new(),
            free_lists: Vec::new(),
            spare: Vec::new(),
            list_bytes: 0,
            stamp: 0,
            listed: 0,
            chained: 0,
            era: 0,
            era_stamp: 0,
            parted: Box::new([Parted::default(); PARTED]),
            shortened: 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<State>()
            + (self.free.capacity() + self.free_lists.capacity()) * size_of::<u32>()
            + self.lists.capacity() * size_of::<Lists>()
            + self.list_bytes
    }

    /// Forgets all states.
    pub(super) fn clear(&mut self) {
        self.states.truncate(1);
        self.parted.fill(Parted::default());
        self.free.clear();
        for lists in self.lists.drain(..) {
            if self.spare.len() < SPARE {
                self.spare.push(lists);
            }
        }
        self.free_lists.clear();
        self.list_bytes = 0;
    }

    /// What words left is no longer known.
    pub(super) fn forget_parted(&mut self, parted: Parted) {
        parted.to.into_iter().for_each(|to| self.leave(to, 1));
    }

    pub(super) fn is_full(&self) -> bool {
        self.states.len() >= MOST
    }

    /// Gives all states new stamps if there will soon be none; what was remembered by the old ones is void then.
    #[inline]
    pub(super) fn renew_stamps(&mut self) -> bool {
        let due = self.stamp >= NOTHING - RESERVE;
        if due {
            (self.stamp, self.era_stamp) = (0, NOTHING);
            for at in 0..PARTED {
                let parted = std::mem::take(&mut self.parted[at]);
                self.forget_parted(parted);
            }
            for state in self.states.iter_mut().skip(1).filter(|state| state.cells != 0) {
                self.stamp += 1;
                state.stamp = self.stamp;
            }
        }
        due
    }

    /// What tells the present contents of a state from all others.
    #[inline]
    pub(super) fn stamp(&self, state: u32) -> u32 {
        self.states.get(state as usize).map_or(NOTHING, |state| state.stamp)
    }

    /// Both ends of a state, to bring it near.
    #[inline]
    pub(super) fn look_at(&self, state: u32) -> u32 {
        self.states.get(state as usize).map_or(0, |state| state.stamp ^ state.write.cta)
    }

    fn next_stamp(&mut self) -> u32 {
        self.stamp += 1;
        self.stamp
    }

    /// Cells go from one state to another.
    #[inline]
    pub(super) fn transfer(&mut self, from: u32, to: u32, count: u32) {
        if from != to {
            self.enter(to, count);
            self.leave(from, count);
        }
    }

    /// Cells are in a state now.
    #[inline]
    pub(super) fn enter(&mut self, state: u32, count: u32) {
        self.states[state as usize].cells += count;
    }

    /// Cells are no longer in a state.
    #[inline]
    pub(super) fn leave(&mut self, number: u32, count: u32) {
        if number == 0 {
            return;
        }
        let state = &mut self.states[number as usize];
        state.cells -= count;
        if state.cells == 0 {
            state.stamp = NOTHING;
            let lists = state.lists;
            self.free.push(number);
            if lists != 0 {
                self.drop_lists(lists);
            }
        }
    }

    fn drop_lists(&mut self, at: u32) {
        let lists = std::mem::take(&mut self.lists[at as usize - 1]);
        self.list_bytes -= lists.bytes();
        self.free_lists.push(at);
        self.keep(lists);
    }

    fn keep(&mut self, mut lists: Lists) {
        if self.spare.len() < SPARE {
            lists.clear();
            self.spare.push(lists);
        }
    }

    fn add(&mut self, state: State) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.states[number as usize] = state;
                number
            }
            None => {
                reserve(&mut self.states);
                self.states.push(state);
                self.states.len() as u32 - 1
            }
        }
    }

    /// Cells leave a state for one that holds this; true if it takes the place of the old one.
    #[inline]
    fn replace(&mut self, old: u32, count: u32, write: Past, read: Past) -> (u32, bool) {
        let stamp = self.next_stamp();
        let new = State { write, read, lists: 0, cells: count, stamp };
        if old == 0 {
            return (self.add(new), false);
        }
        let state = &mut self.states[old as usize];
        if state.cells == count {
            let lists = state.lists;
            *state = new;
            if lists != 0 {
                self.drop_lists(lists);
            }
            return (old, true);
        }
        state.cells -= count;
        (self.add(new), false)
    }

    /// Whether an atomic takes the place of what a cell remembers, with nothing to check: it follows another
    /// atomic or strong write of its CTA that it observes, or of another one once those are not kept, and that is all
    /// there is.
    pub(super) fn follows(&self, old: u32, now: &Now<'_>) -> bool {
        let state = &self.states[parts(old).0 as usize];
        state.lists == 0
            && !state.read.is_some()
            && state.write.is_some()
            && state.write.class == now.class
            && now.class.is_strong()
            && (state.write.cta == now.cta || now.class.scope() >= 2 && self.chain_length() == 0)
    }

    /// Whether very many reads, or for strong accesses atomics, had to be added to lists.
    #[inline]
    pub(super) fn is_crowded(&self, strong: bool) -> bool {
        self.listed >= CROWDED || strong && self.chained >= CROWDED
    }

    /// Words went to a state as others had before: such histories are few, however long.
    #[inline]
    pub(super) fn repeated(&mut self, to: u32) {
        if self.states[to as usize].lists != 0 {
            self.listed = self.listed.saturating_sub(1);
        }
    }

    /// Threads have learned of other CTAs so often.
    #[inline]
    pub(super) fn begin_era(&mut self, era: u32) {
        if self.era != era || self.era_stamp == NOTHING {
            (self.era, self.era_stamp) = (era, self.stamp + 1);
        }
    }

    /// Whether the newest access of words in a state was made in an era that was begun.
    pub(super) fn is_of_era(&self, state: u32, era: u32) -> bool {
        let stamp = self.states[state as usize].stamp;
        self.era == era && stamp >= self.era_stamp && stamp != NOTHING
    }

    /// Whether the words of a cell were read by so many that not all are kept any longer.
    pub(super) fn are_much_read(&self, cell: u32) -> bool {
        let state = &self.states[parts(cell).0 as usize];
        let many = if self.is_crowded(false) { LONG } else { READS / 4 };
        state.lists != 0 && self.lists[state.lists as usize - 1].reads.len() >= many
    }

    /// Atomics of other CTAs kept in a chain beside the newest.
    fn chain_length(&self) -> usize {
        if self.chained >= CHAINED { 0 } else { CHAIN }
    }

    /// Whether words in a state were read by threads of one CTA at most, and by this one if at all.
    #[inline]
    pub(super) fn is_read_by(&self, state: u32, cta: u32) -> bool {
        let state = &self.states[state as usize];
        state.lists == 0 && (!state.read.is_some() || state.read.cta == cta)
    }

    /// Whether a single write, or a single read, is all there is in a state.
    pub(super) fn holds_one(&self, state: u32) -> Option<Kind> {
        let state = &self.states[state as usize];
        match (state.lists, state.write.is_some(), state.read.is_some()) {
            (0, true, false) => Some(Kind::Write),
            (0, false, true) => Some(Kind::Read),
            _ => None,
        }
    }

    /// Write and read of a state without lists.
    pub(super) fn plain(&self, state: u32) -> (Past, Past) {
        let state = &self.states[state as usize];
        (state.write, state.read)
    }

    /// The only write of a state, if there is one, and its reads; `None` if more than that is remembered.
    pub(super) fn readers(&self, state: u32) -> Option<(Option<Past>, &[Past])> {
        let state = &self.states[state as usize];
        let one = |past: Past| past.is_some().then_some(past);
        if state.lists == 0 {
            let reads = std::slice::from_ref(&state.read);
            return Some((one(state.write), if state.read.is_some() { reads } else { &[] }));
        }
        let lists = &self.lists[state.lists as usize - 1];
        let write = match &lists.writes[..] {
            _ if state.write.is_some() || !lists.crowds.is_empty() => return None,
            [] => None,
            [write] if write.is_plain() => Some(write.past),
            _ => return None,
        };
        Some((write, &lists.reads))
    }

    /// Of a state that has only accesses of some classes: the newest write, the newest reads of two CTAs, and whether
    /// somebody may have observed that write. `None` if it has others, or writes of very many threads.
    pub(super) fn newest(
        &self,
        state: u32,
        fits: impl Fn(Class) -> bool + Copy,
    ) -> Option<(Past, [Past; 2], bool)> {
        let state = &self.states[state as usize];
        let lists = state.lists.checked_sub(1).map(|at| &self.lists[at as usize]);
        let reads = lists.map_or(std::slice::from_ref(&state.read), |lists| &lists.reads);
        let writes = lists.map_or(&[][..], |lists| &lists.writes);
        let newest = if state.write.is_some() { Some(&state.write) } else { writes.first().map(|w| &w.past) };
        let mut all = writes.iter().map(|w| &w.past).chain(reads).chain(newest).filter(|past| past.is_some());
        let crowds = lists.map(|lists| &lists.crowds);
        if !all.all(|past| fits(past.class))
            || crowds.is_some_and(|crowds| crowds.have_writes() || !crowds.classes().all(fits))
        {
            return None;
        }
        let last = reads.last().copied().unwrap_or_default();
        let other = reads.iter().rev().find(|read| read.cta != last.cta).copied().unwrap_or_default();
        let observed = reads.iter().any(|read| read.is_some() && read.class.observes());
        Some((newest.copied().unwrap_or_default(), [last, other], observed))
    }

    /// The race of an access where a cell remembers one write and one read at most and it is plain to see; if there is none,
    /// others may be left.
    #[inline]
    pub(super) fn plain_race(&self, old: u32, now: &Now<'_>, kind: Kind) -> Option<Conflict> {
        let (number, shift) = parts(old);
        let State { write, read, lists, .. } = &self.states[number as usize];
        if *lists != 0 || read.class.observes() {
            return None;
        }
        let eye = Eye::new(now, shift);
        let race = eye.race_with(write, true);
        if race.is_some() || kind == Kind::Read { race } else { eye.race_with(read, false) }
    }

    /// The cell of a new state with one cell.
    pub(super) fn new_plain(&mut self, write: Past, read: Past, shift: u32) -> u32 {
        let stamp = self.next_stamp();
        cell(self.add(State { write, read, lists: 0, cells: 1, stamp }), shift)
    }

    /// The same with lists.
    pub(super) fn new_listed(&mut self, lists: Lists, shift: u32) -> u32 {
        let stamp = self.next_stamp();
        let at = self.free_lists.pop().unwrap_or_else(|| {
            reserve(&mut self.lists);
            self.lists.push(Lists::default());
            self.lists.len() as u32
        });
        self.put(at, lists);
        cell(self.add(State { lists: at, cells: 1, stamp, ..State::default() }), shift)
    }

    /// Lists that hold nothing.
    pub(super) fn empty_lists(&mut self) -> Lists {
        let mut lists = self.spare.pop().unwrap_or_default();
        lists.clear();
        lists
    }

    /// The outcome of an access to words in this state: `count` cells, of which this is the first; shifts and lanes go
    /// up together.
    pub(super) fn step(&mut self, old: u32, count: u32, now: &Now<'_>, kind: Kind) -> Step {
        let (number, shift) = parts(old);
        if number == 0 {
            let shift = now.lanes.trailing_zeros() & 31;
            let eye = Eye::new(now, shift);
            // Of several lanes that write strongly, which need not race, all are remembered.
            if kind == Kind::Write && now.class.is_strong() && !now.lanes.is_power_of_two() {
                return self.general(&State::default(), old, count, &eye, kind);
            }
            let (write, read) = match kind {
                Kind::Read => (Past::default(), eye.past()),
                Kind::Write | Kind::Atomic => (eye.newest(), Past::default()),
            };
            let (to, _) = self.replace(0, count, write, read);
            return Step::To { cell: cell(to, shift), lasting: true };
        }
        let state = self.states[number as usize];
        let eye = Eye::new(now, shift);
        if state.lists == 0
            && let Some((write, read, changed)) = simple(&state, &eye, now, kind)
        {
            let apart = |past: &Past| past.is_some() && eye.tells_lanes_apart(past);
            let any_shift =
                now.clock.is_uniform() || !changed || !(apart(&state.write) || apart(&state.read));
            if count > 1 && !any_shift {
                return Step::OneByOne;
            }
            if !changed {
                return Step::To { cell: old, lasting: true };
            }
            let (to, in_place) = self.replace(number, count, write, read);
            return Step::To { cell: cell(to, shift), lasting: any_shift && !in_place };
        }
        if kind == Kind::Atomic
            && count == state.cells
            && state.lists != 0
            && self.chain(number, &state, &eye, now)
        {
            return Step::To { cell: old, lasting: false };
        }
        self.general(&state, old, count, &eye, kind)
    }

    /// One more atomic of a chain, in place; false if it is another step, and nothing was done.
    fn chain(&mut self, number: u32, state: &State, eye: &Eye<'_>, now: &Now<'_>) -> bool {
        let lists = &mut self.lists[state.lists as usize - 1];
        let mut newest = Past::default();
        if state.write.is_some() {
            if state.write.class != now.class {
                return false;
            }
            newest = eye.newest();
        } else {
            let Some(grown) = lists.chain(eye) else { return false };
            self.list_bytes += grown;
            // Of a long chain only the newest changes from now on.
            if lists.is_long_chain() {
                newest = lists.writes.remove(0).past;
            }
        }
        let stamp = self.next_stamp();
        let state = &mut self.states[number as usize];
        (state.write, state.stamp) = (newest, stamp);
        true
    }

    fn general(&mut self, state: &State, old: u32, count: u32, eye: &Eye<'_>, kind: Kind) -> Step {
        let number = parts(old).0;
        if kind == Kind::Read {
            // Mostly a read that is known already, of somebody who waits.
            if state.lists != 0 && !state.write.is_some() {
                let lists = &self.lists[state.lists as usize - 1];
                let judgement = lists.judge(eye, kind, count > 1);
                match judgement.conflict {
                    Some(conflict) if count == 1 => return Step::Race { cell: old, conflict },
                    None if lists.holds_read(eye, &judgement) => {
                        return Step::To { cell: old, lasting: judgement.any_shift };
                    }
                    _ => {}
                }
            }
            self.listed = self.listed.saturating_add(1);
        }
        self.chained = self.chained.saturating_add(u32::from(kind == Kind::Atomic));
        let whole = state.cells == count;
        // The lists themselves if nobody else is left with them.
        let own = whole && state.lists != 0;
        let mut lists = if own {
            let lists = std::mem::take(&mut self.lists[state.lists as usize - 1]);
            self.list_bytes -= lists.bytes();
            lists
        } else {
            let mut lists = self.empty_lists();
            match self.lists.get((state.lists as usize).wrapping_sub(1)) {
                Some(shared) => lists.copy(shared),
                None => {
                    lists.writes.extend(state.write.is_some().then(|| Write::new(state.write)));
                    lists.reads.extend(state.read.is_some().then_some(state.read));
                }
            }
            lists
        };
        let chained = state.lists != 0 && state.write.is_some();
        if chained {
            lists.writes.insert(0, Write::new(state.write));
        }
        let judgement = lists.judge(eye, kind, count > 1 || kind != Kind::Read);
        // A read that races leaves nothing: the word's races are known by the write.
        let unheard = judgement.conflict.filter(|_| kind == Kind::Read);
        if count > 1 && (!judgement.any_shift || judgement.conflict.is_some()) || unheard.is_some() {
            if own {
                if chained {
                    lists.writes.remove(0);
                }
                self.put(state.lists, lists);
            } else {
                self.keep(lists);
            }
            return match unheard.filter(|_| count == 1) {
                Some(conflict) => Step::Race { cell: old, conflict },
                None => Step::OneByOne,
            };
        }
        self.shortened += u64::from(lists.advance(eye, kind, &judgement, self.chain_length()));
        let one = |reads: &[Past]| reads.first().copied().unwrap_or_default();
        let single = match &lists.writes[..] {
            [] if lists.crowds.is_empty() && lists.reads.len() <= 1 => {
                Some((Past::default(), one(&lists.reads)))
            }
            [write] if write.is_plain() && lists.crowds.is_empty() && lists.reads.len() <= 1 => {
                Some((write.past, one(&lists.reads)))
            }
            _ => None,
        };
        let (to, in_place) = match single {
            Some((write, read)) => {
                if own {
                    self.put(state.lists, lists);
                } else {
                    self.keep(lists);
                }
                self.replace(number, count, write, read)
            }
            None if own => {
                self.put(state.lists, lists);
                let stamp = self.next_stamp();
                let state = &mut self.states[number as usize];
                (state.write, state.stamp) = (Past::default(), stamp);
                (number, true)
            }
            None => {
                let (to, in_place) = self.replace(number, count, Past::default(), Past::default());
                let at = self.free_lists.pop().unwrap_or_else(|| {
                    reserve(&mut self.lists);
                    self.lists.push(Lists::default());
                    self.lists.len() as u32
                });
                self.put(at, lists);
                self.states[to as usize].lists = at;
                (to, in_place)
            }
        };
        let cell = cell(to, eye.shift);
        match judgement.conflict {
            Some(conflict) => Step::Race { cell, conflict },
            None => Step::To { cell, lasting: judgement.any_shift && !in_place },
        }
    }

    fn put(&mut self, at: u32, mut lists: Lists) {
        lists.release();
        self.list_bytes += lists.bytes();
        self.lists[at as usize - 1] = lists;
    }
}

/// Makes room for one more: by a sixteenth, as there may be very many.
pub(super) fn reserve<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 16 + 64);
    }
}

/// The most common steps between states without lists: what is remembered then, and whether that is anything new.
/// `None`: the step is not one of them.
#[inline]
fn simple(state: &State, eye: &Eye<'_>, now: &Now<'_>, kind: Kind) -> Option<(Past, Past, bool)> {
    let State { write, read, .. } = *state;
    match kind {
        Kind::Read => {
            if write.is_some() {
                // Observation apart: what is read comes before.
                if now.class.is_strong() && write.class.is_strong() || !eye.covers(&write) {
                    return None;
                }
            }
            let me = eye.past();
            if read.is_some() && read.merges(&me) {
                // More warps of the CTA, or more lanes of the warp, read what others have read in the same way.
                let all = Past { warps: read.warps | me.warps, lanes: read.lanes | me.lanes, ..read };
                return Some((write, all, all != read));
            }
            let gone =
                !read.is_some() || !eye.outlasts(&read) || eye.repeats(&read) && read.lanes & !me.lanes == 0;
            gone.then_some((write, me, true))
        }
        Kind::Write => {
            let gone = |past: &Past| !past.is_some() || eye.stands_for(past) && eye.covers(past);
            let alone = now.lanes.is_power_of_two() && !now.class.is_strong();
            (alone && gone(&write) && gone(&read)).then(|| (eye.newest(), Past::default(), true))
        }
        Kind::Atomic => None,
    }
}
