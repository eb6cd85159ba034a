//! What a word of memory remembers, and whether a new access races with it.
//!
//! The past of a word is the set of accesses that a later one could still race with, writes and reads apart. Lanes are
//! counted from the word's shift (see `states`), so that words that different lanes of a warp access can share a past.

use super::access::{Class, Conflict, Eye, Kind, Past};
use super::crowd::Crowds;
use smallvec::SmallVec;
use thin_vec::ThinVec;

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
        Judgement { any_shift, conflict: self.race(eye, kind, observes), observes }
    }

    /// An access that this one races with.
    fn race(&self, eye: &Eye<'_>, kind: Kind, observes: bool) -> Option<Conflict> {
        let Self { writes, crowds, reads } = self;
        let touches = |p: &Past| eye.touches(p.class);
        let newest_observed = |newest: &Past| {
            reads
                .iter()
                .any(|p| p.class.observes() && p.class.mask() == newest.class.mask() && eye.follows_one_of(p))
        };
        let chains = kind == Kind::Atomic && observes;
        for (i, write) in writes.iter().enumerate() {
            let past = &write.past;
            if !touches(past) || eye.morally_strong(past) || eye.covers(past) {
                continue;
            }
            let newest = newest_of(writes, past);
            let observed = if i == newest {
                newest_observed(past)
            } else {
                // An atomic that observes the newest write observes the whole chain.
                let newest = &writes[newest].past;
                write.observers.all().iter().any(|o| eye.follows_one_of(o))
                    || (write.chained && (chains || eye.covers(newest) || newest_observed(newest)))
            };
            if !observed {
                return Some(eye.conflict(past, true));
            }
        }
        let racing = crowds.find_racing(eye, kind);
        if racing.is_some() {
            return racing;
        }
        if kind == Kind::Read {
            return None;
        }
        let read = reads.iter().find(|p| touches(p) && !eye.morally_strong(p) && !eye.covers(p));
        read.map(|p| eye.conflict(p, false))
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

/// The newest write of bytes of this one.
fn newest_of(writes: &[Write], past: &Past) -> usize {
    writes.iter().position(|w| w.past.class.mask() & past.class.mask() != 0).unwrap_or(0)
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
