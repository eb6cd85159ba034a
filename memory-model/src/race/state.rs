//! What a word of memory remembers, and whether a new access races with it.
//!
//! The past of a word is the set of accesses that a later one could still race with, writes and reads apart. Lanes are
//! counted from the word's shift (see `states`), so that words that different lanes of a warp access can share a past.

use super::clock::{Clock, Shape};
use super::crowd::Crowds;
use smallvec::SmallVec;
use thin_vec::ThinVec;

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

    pub(super) fn observes(self) -> bool {
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
    pub(super) fn is_some(&self) -> bool {
        self.lanes != 0
    }

    /// Whether an access was made in the same way by the same warps.
    pub(super) fn is_like(&self, other: &Past) -> bool {
        (self.class, self.cta, self.warps) == (other.class, other.cta, other.warps)
    }

    /// Whether the same threads made an access in the same way before.
    pub(super) fn supersedes(&self, other: &Past) -> bool {
        self.is_some() && self.is_like(other) && other.lanes & !self.lanes == 0 && self.epoch >= other.epoch
    }

    /// The same, observing nothing.
    pub(super) fn unobserving(self) -> Self {
        Self { class: self.class.with_observes(false), ..self }
    }

    /// Whether a read is one of these, or can be put together with them.
    pub(super) fn merges(&self, read: &Past) -> bool {
        self.cta == read.cta
            && self.epoch == read.epoch
            && self.class == read.class
            && self.site == read.site
            && (self.lanes == read.lanes || self.warps == read.warps)
    }
}

/// A write, and what is known of it once it is not the newest one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Write {
    pub(super) past: Past,
    /// In one chain of atomics with the newest, which observe one another.
    chained: bool,
    observers: Observers,
}

/// Threads with the epochs in which they had observed a write; mostly there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Observers(Option<Box<SmallVec<[Past; 4]>>>);

impl Observers {
    fn all(&self) -> &[Past] {
        self.0.as_deref().map_or(&[], |all| all)
    }

    fn set(&mut self, all: &[Past]) {
        self.0 = (!all.is_empty()).then(|| Box::new(SmallVec::from_slice(all)));
    }

    /// Adds some, as long as they are few. Gives by how many bytes they grew.
    fn add(&mut self, some: impl Iterator<Item = Past>) -> usize {
        let before = self.bytes();
        let mut some = some.take(OBSERVERS.saturating_sub(self.all().len())).peekable();
        if some.peek().is_some() {
            self.0.get_or_insert_default().extend(some);
        }
        self.bytes() - before
    }

    /// Bytes on the heap.
    fn bytes(&self) -> usize {
        self.0.as_deref().map_or(0, |all| {
            size_of::<SmallVec<[Past; 4]>>()
                + if all.spilled() { all.capacity() * size_of::<Past>() } else { 0 }
        })
    }
}

impl Write {
    pub(super) fn new(past: Past) -> Self {
        Self { past, ..Self::default() }
    }

    /// Whether there is nothing to know but the access itself.
    pub(super) fn is_plain(&self) -> bool {
        !self.chained && self.observers.all().is_empty()
    }
}

/// Length and capacity of a list, before its elements.
const HEADER: usize = 2 * size_of::<usize>();

fn heap_bytes<T>(list: &ThinVec<T>) -> usize {
    if list.capacity() == 0 { 0 } else { HEADER + list.capacity() * size_of::<T>() }
}

/// A state with more than one write or more than one read. There may be one for every few words, and mostly one of the lists
/// is empty: a pointer each.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    /// The newest first.
    pub(super) writes: ThinVec<Write>,
    /// Strong writes that are not the newest of any byte, and that nobody observed; strong reads that observe nothing, once
    /// there are many.
    pub(super) crowds: Crowds,
    pub(super) reads: ThinVec<Past>,
}

/// An access about to be made, by some lanes of a warp at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now<'a> {
    pub(super) cta: u32,
    pub(super) warp: u32,
    /// Lanes, as they are.
    pub(super) lanes: u32,
    pub(super) epoch: u32,
    /// What the clock says of its own CTA, and whether it says nothing of others.
    pub(super) floor: u32,
    pub(super) solitary: bool,
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
    pub(super) past: Past,
    /// One warp and lane of it that is not ordered.
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) writes: bool,
}

/// Reads kept of a word; beyond that the middle ones go.
pub(super) const READS: usize = 256;
/// Reads kept in a list before strong ones become crowds.
const LISTED: usize = 16;
/// Atomics of other CTAs kept in a chain beside the newest.
pub(super) const CHAIN: usize = 4;
/// Observers kept of a member of a chain: the first ones.
const OBSERVERS: usize = 8;
/// Writes kept of a word, crowds apart, that are not the newest of any byte.
const WRITES: usize = 32;

/// What an access does to a past with lists.
pub(super) struct Judgement {
    /// The same holds for other shifts.
    pub(super) any_shift: bool,
    pub(super) conflict: Option<Conflict>,
    /// Whether it observes the newest write.
    observes: bool,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.writes.clear();
        self.crowds.clear();
        self.reads.clear();
    }

    /// Takes over what another one holds.
    pub(super) fn copy(&mut self, other: &Lists) {
        self.clear();
        self.writes.extend_from_slice(&other.writes);
        self.crowds.clone_from(&other.crowds);
        self.reads.extend_from_slice(&other.reads);
    }

    /// Gives back the memory of lists that hold nothing: there may be very many.
    pub(super) fn release(&mut self) {
        if self.reads.is_empty() {
            self.reads = ThinVec::new();
        }
        if self.writes.is_empty() {
            self.writes = ThinVec::new();
        }
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        let observers: usize = self.writes.iter().map(|write| write.observers.bytes()).sum();
        heap_bytes(&self.writes) + self.crowds.bytes() + observers + heap_bytes(&self.reads)
    }

    /// Judges an access; `shifts`: whether it is of interest if the same holds for others.
    pub(super) fn judge(&self, eye: &Eye<'_>, kind: Kind, shifts: bool) -> Judgement {
        let (writes, reads, now) = (&self.writes, &self.reads, eye.now);
        // Which of several lanes is the last depends on where they are.
        let alone = kind == Kind::Read || now.lanes.is_power_of_two();
        let any_shift = alone
            && (now.clock.is_uniform()
                || shifts
                    && self.crowds.is_empty()
                    && !writes
                        .iter()
                        .flat_map(|w| w.observers.all().iter().chain([&w.past]))
                        .chain(reads.iter())
                        .any(|p| eye.tells_lanes_apart(p)));
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
        Judgement { any_shift, conflict: eye.race(self, kind, observes), observes }
    }

    /// What is remembered after the access. True if something had to go for it.
    /// `chain`: how many of a chain of atomics are kept beside the newest.
    pub(super) fn advance(&mut self, eye: &Eye<'_>, kind: Kind, judgement: &Judgement, chain: usize) -> bool {
        if kind == Kind::Read {
            return self.add_read(eye, judgement.observes);
        }
        let shortened = self.add_write(eye, kind, judgement, chain);
        self.crowd_reads();
        shortened
    }

    /// Many strong reads that observe nothing become crowds.
    fn crowd_reads(&mut self) {
        if self.reads.len() > LISTED {
            let crowds = &mut self.crowds;
            self.reads.retain(|read| {
                let joins = read.class.is_strong() && !read.class.observes();
                if joins {
                    crowds.add(read, false);
                }
                !joins
            });
        }
    }

    /// Whether a read of one lane or more adds nothing.
    pub(super) fn holds_read(&self, eye: &Eye<'_>, judgement: &Judgement) -> bool {
        let read = eye.past();
        let class = read.class.with_observes(judgement.observes);
        self.reads.iter().any(|p| {
            (p.cta, p.epoch, p.class, p.site) == (read.cta, read.epoch, class, read.site)
                && read.warps & !p.warps == 0
                && read.lanes & !p.lanes == 0
        }) || !judgement.observes && self.crowds.supersede(&read, false)
    }

    fn add_read(&mut self, eye: &Eye<'_>, observes: bool) -> bool {
        let read = eye.past();
        let read = Past { class: read.class.with_observes(observes), ..read };
        if self.crowds.take_read(&read) {
            self.crowds.add(&read, false);
            return false;
        }
        let mut known = false;
        self.reads.retain_mut(|p| {
            if !eye.outlasts(p) {
                return false;
            }
            if eye.repeats(p) {
                p.lanes &= !read.lanes;
            }
            if !known && p.is_some() && p.merges(&read) {
                p.lanes |= read.lanes;
                p.warps |= read.warps;
                known = true;
            }
            p.is_some()
        });
        if known {
            return false;
        }
        self.reads.push(read);
        self.crowd_reads();
        let full = self.reads.len() > READS;
        if full {
            self.reads.remove(READS / 2);
        }
        full
    }

    /// The most common step from lists: one more atomic of a chain that all may take part in. Gives by how many bytes
    /// the lists grew; `None` if it is another step, and nothing was done.
    pub(super) fn chain(&mut self, eye: &Eye<'_>) -> Option<usize> {
        let class = eye.now.class;
        let cta = eye.now.cta;
        let (newest, others) = self.writes.split_first_mut()?;
        let ours = class.is_strong()
            && class.scope() >= 2
            && self.reads.is_empty()
            && self.crowds.classes().all(|theirs| eye.is_strong_to_all(theirs))
            && newest.past.class == class
            && others.iter().all(|w| w.past.class == class && w.chained && w.past.cta != cta);
        // The newest goes: the CTA has a newer one, or the chain is as long as it may be.
        if !ours || newest.past.cta != cta && others.len() < CHAIN {
            return None;
        }
        let observer = Some(newest.past);
        let mut grown = 0;
        for write in others {
            grown += write.observe(&[], observer);
        }
        *newest = Write::new(eye.newest());
        Some(grown)
    }

    /// Whether after a [step](Lists::chain) of a chain only the newest can change by another one.
    pub(super) fn is_long_chain(&self) -> bool {
        self.writes.len() > CHAIN && self.writes.iter().skip(1).all(|w| w.observers.all().len() >= OBSERVERS)
    }
}

impl Write {
    /// Others have observed it. Gives by how many bytes it grew.
    fn observe(&mut self, these: &[Past], newest: Option<Past>) -> usize {
        self.observers.add(these.iter().copied().chain(newest))
    }
}

/// An access as it looks from a cell.
pub(super) struct Eye<'a> {
    now: &'a Now<'a>,
    pub(super) shift: u32,
    /// Its lanes, counted from the shift.
    lanes: u32,
}

impl<'a> Eye<'a> {
    pub(super) fn new(now: &'a Now<'a>, shift: u32) -> Self {
        Self { now, shift, lanes: now.lanes.rotate_right(shift) }
    }

    /// The access as it will be remembered.
    pub(super) fn past(&self) -> Past {
        let now = self.now;
        Past {
            cta: now.cta,
            warps: 1 << now.warp,
            lanes: self.lanes,
            epoch: now.epoch,
            class: now.class,
            site: now.site,
        }
    }

    /// Of several lanes that write a word at once, the last one's write stays.
    pub(super) fn newest(&self) -> Past {
        let last = 1u32 << (31 - self.now.lanes.leading_zeros().min(31));
        Past { lanes: last.rotate_right(self.shift), ..self.past() }
    }

    /// Whether an earlier read has to be remembered beside this one.
    pub(super) fn outlasts(&self, read: &Past) -> bool {
        read.class.observes() || !self.stands_for(read) || !self.covers(read)
    }

    /// Whether this read takes the place of an earlier one, as far as the lanes are the same.
    pub(super) fn repeats(&self, read: &Past) -> bool {
        let (now, class) = (self.now, self.now.class);
        read.cta == now.cta
            && read.warps == 1 << now.warp
            && read.epoch <= now.epoch
            && !read.class.observes()
            && read.class.mask() & !class.mask() == 0
            && (!class.is_strong() || read.class == class)
    }

    fn absolute(&self, lanes: u32) -> u32 {
        lanes.rotate_left(self.shift)
    }

    pub(super) fn tells_lanes_apart(&self, past: &Past) -> bool {
        let clock = self.now.clock;
        clock.floor(past.cta) < past.epoch
            && bits(past.warps).any(|warp| clock.tells_lanes_apart(past.cta, warp))
    }

    /// A thread of a past access that does not come before this one: its warp and lanes.
    fn missing(&self, past: &Past) -> Option<(u32, u32)> {
        let now = self.now;
        if past.cta == now.cta {
            if now.floor >= past.epoch {
                return None;
            }
        } else if now.solitary {
            return Some((past.warps.trailing_zeros(), self.absolute(past.lanes)));
        } else if now.clock.floor(past.cta) >= past.epoch {
            return None;
        }
        bits(past.warps).find_map(|warp| {
            let lanes = self.absolute(past.lanes);
            let mut missing = now.clock.missing(past.cta, warp, lanes, past.epoch);
            // A thread comes after itself; of several each must come after all others.
            if past.cta == now.cta && warp == now.warp && now.lanes.is_power_of_two() {
                missing &= !now.lanes;
            }
            (missing != 0).then_some((warp, missing))
        })
    }

    /// Whether everything about a past access comes before this one in causality, observation apart.
    pub(super) fn covers(&self, past: &Past) -> bool {
        self.missing(past).is_none()
    }

    /// Whether some thread of a past access had come that far before this one.
    fn follows_one_of(&self, past: &Past) -> bool {
        let now = self.now;
        if past.cta == now.cta && past.warps >> now.warp & 1 != 0 && self.lanes & !past.lanes == 0 {
            return true;
        }
        let lanes = self.absolute(past.lanes);
        bits(past.warps).any(|warp| now.clock.missing(past.cta, warp, lanes, past.epoch) != lanes)
    }

    /// This thread's own.
    fn is_own(&self, past: &Past) -> bool {
        past.cta == self.now.cta
            && past.warps == 1 << self.now.warp
            && past.lanes == self.lanes
            && self.lanes.is_power_of_two()
    }

    /// The other lanes of several that write a word at once.
    fn others(&self) -> Past {
        Past { lanes: self.lanes & !self.newest().lanes, ..self.past() }
    }

    /// Whether the access is morally strong towards all of a class, wherever they are.
    pub(super) fn is_strong_to_all(&self, class: Class) -> bool {
        let own = self.now.class;
        class.is_strong() && own.is_strong() && class.same_range(own) && class.scope().min(own.scope()) >= 2
    }

    /// Whether some bytes are the same.
    pub(super) fn touches(&self, class: Class) -> bool {
        class.mask() & self.now.class.mask() != 0
    }

    /// Whether an access that touches the same bytes is neither morally strong towards this one nor before it in causality.
    pub(super) fn is_unordered(&self, past: &Past) -> bool {
        !self.morally_strong(past) && !self.covers(past)
    }

    /// Morally strong (8.7), program order apart.
    pub(super) fn morally_strong(&self, past: &Past) -> bool {
        let now = self.now;
        past.class.is_strong()
            && now.class.is_strong()
            && past.class.same_range(now.class)
            && now.shape.common_level(past.cta, now.cta) <= now.class.scope().min(past.class.scope())
    }

    /// Whether whatever races with the past access, which comes before this one, will also race with this one:
    /// the past one need not be remembered any longer.
    pub(super) fn stands_for(&self, past: &Past) -> bool {
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

    /// The race with an access that touches the same bytes, if there is one.
    #[inline]
    pub(super) fn race_with(&self, past: &Past, writes: bool) -> Option<Conflict> {
        if !self.touches(past.class) || self.morally_strong(past) {
            return None;
        }
        let (warp, lanes) = self.missing(past)?;
        Some(Conflict { past: *past, warp, lane: lanes.trailing_zeros() & 31, writes })
    }

    pub(super) fn conflict(&self, past: &Past, writes: bool) -> Conflict {
        let (warp, lanes) = self.missing(past).unwrap_or((past.warps.trailing_zeros(), 1));
        Conflict { past: *past, warp, lane: lanes.trailing_zeros() & 31, writes }
    }

    fn race(&self, lists: &Lists, kind: Kind, observes: bool) -> Option<Conflict> {
        let Lists { writes, crowds, reads } = lists;
        let touches = |p: &Past| self.touches(p.class);
        let newest_observed = |newest: &Past| {
            reads.iter().any(|p| {
                p.class.observes() && p.class.mask() == newest.class.mask() && self.follows_one_of(p)
            })
        };
        let chains = kind == Kind::Atomic && observes;
        for (i, write) in writes.iter().enumerate() {
            let past = &write.past;
            if !touches(past) || self.morally_strong(past) || self.covers(past) {
                continue;
            }
            let newest = newest_of(writes, past);
            let observed = if i == newest {
                newest_observed(past)
            } else {
                // An atomic that observes the newest write observes the whole chain.
                let newest = &writes[newest].past;
                write.observers.all().iter().any(|o| self.follows_one_of(o))
                    || (write.chained && (chains || self.covers(newest) || newest_observed(newest)))
            };
            if !observed {
                return Some(self.conflict(past, true));
            }
        }
        let racing = crowds.find_racing(self, kind);
        if racing.is_some() {
            return racing;
        }
        if kind == Kind::Read {
            return None;
        }
        let read = reads.iter().find(|p| touches(p) && !self.morally_strong(p) && !self.covers(p));
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

impl Lists {
    /// What to remember after a write. True if something had to go for it that could still race.
    fn add_write(&mut self, eye: &Eye<'_>, kind: Kind, judgement: &Judgement, chain: usize) -> bool {
        let Self { writes, crowds, reads } = self;
        let chains = kind == Kind::Atomic && judgement.observes;
        let me = eye.newest();
        let strong = eye.now.class.is_strong();
        // The past of a word that races is what the racing write leaves behind.
        let gone = |class: Class| judgement.conflict.is_some() && class.mask() & !me.class.mask() == 0;
        let observers_of_newest: Vec<Past> = reads.iter().filter(|p| p.class.observes()).copied().collect();
        let newest_as_observer = writes.get(newest_of(writes, &me)).map(|w| w.past);
        crowds.forget(eye, gone, |class| !strong && class.mask() & !me.class.mask() == 0);
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
            if told && eye.stands_for(&write.past) || gone(write.past.class) {
                return false;
            }
            if was_newest {
                write.observers.set(&observers_of_newest);
                write.chained = chains;
            } else if write.chained {
                write.observe(&observers_of_newest, newest_as_observer);
                write.chained = chains;
            }
            if was_newest && write.is_plain() && write.past.class.is_strong() {
                // Who writes again takes his own place.
                if !me.supersedes(&write.past) {
                    crowds.add(&write.past, true);
                }
                return false;
            }
            true
        });
        if kind == Kind::Write && strong && eye.others().is_some() {
            crowds.add(&eye.others(), true);
        }
        writes.retain(|w| w.chained || !crowds.supersede(&w.past, true));
        writes.insert(0, Write::new(me));
        drop_superseded(writes);
        while writes.iter().skip(1).filter(|w| w.chained && w.past.class == me.class).count() > chain {
            // The chain is ordered as one, but for accesses of narrower scope: a few of it are enough to catch those.
            let middle =
                writes.iter().skip(1).position(|w| w.chained && w.past.class == me.class).unwrap_or(0) + 1;
            writes.remove(middle);
        }
        reads.retain(|p| !gone(p.class) && (strong || !(eye.stands_for(p) && eye.covers(p))));
        if reads.iter().any(|p| p.class.observes()) {
            observe_no_more(reads, &me);
        }
        writes.len() > WRITES && shorten(writes, eye)
    }
}

/// Reads of what was overwritten no longer observe the newest, and may be alike then.
fn observe_no_more(reads: &mut ThinVec<Past>, overwritten_by: &Past) {
    let mut kept = 0;
    for i in 0..reads.len() {
        let p = reads[i];
        let observes = p.class.observes() && p.class.mask() & overwritten_by.class.mask() == 0;
        let p = Past { class: p.class.with_observes(observes), ..p };
        match reads[..kept].iter_mut().find(|other| other.merges(&p)) {
            Some(other) => {
                other.lanes |= p.lanes;
                other.warps |= p.warps;
            }
            None => {
                reads[kept] = p;
                kept += 1;
            }
        }
    }
    reads.truncate(kept);
}

/// Forgets writes that are not the newest of any byte: those that come before the access first. True if others had to
/// go, too.
fn shorten(writes: &mut ThinVec<Write>, eye: &Eye<'_>) -> bool {
    let before = |past: &Past| eye.covers(past);
    for covered in [true, false] {
        for i in (1..writes.len()).rev() {
            let past = writes[i].past;
            if newest_of(writes, &past) != i && (!covered || before(&past)) {
                writes.remove(i);
                if writes.len() <= WRITES {
                    return !covered;
                }
            }
        }
    }
    true
}

/// Drops older writes that a later one of the same lanes stands for: whatever is ordered after the later one,
/// by causality or by an observer, is then ordered after the older one. (Writes that are not the newest gain
/// no observers.)
fn drop_superseded(writes: &mut ThinVec<Write>) {
    let supersedes = |later: &Write, older: &Write| {
        let (a, b) = (&later.past, &older.past);
        a.cta == b.cta
            && a.warps == b.warps
            && a.lanes == b.lanes
            && a.class == b.class
            && a.epoch >= b.epoch
            && !older.chained
            && !later.chained
            && later.observers.all().iter().all(|o| {
                older
                    .observers
                    .all()
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
