//! Words that threads of many CTAs access in one way: tables that are only read, and words that are only accessed strongly.
//!
//! Who read a word of a table is different for each word, and mostly of no use to anyone. Between two moments at which
//! threads of different CTAs learn of each other (an *era*), nobody can come after reads of two CTAs, his own apart: two
//! readers of different CTAs tell as much as all of them, and a word that has two costs a look at its cell. Of earlier
//! eras a few more are kept. Only once very many reads had to be added to lists do words become like that, so that
//! nothing is forgotten where there is room for it.
//!
//! The same holds for words that all access strongly, with a scope that holds everybody: they do not race with each other,
//! and what an access of another kind races with is the newest write, unless it comes after somebody who observed it, or
//! the readers. Of the observers it is enough to know which CTAs they may be of: in their era nobody else knows of them.

use super::access::{Class, Conflict, Eye, Kind, Now, Past};
use super::state::Write;
use super::states::{self, PARTED, Parted, READERS, States, parts};

/// Marks the cell of such a word; the rest of the cell is its tag.
pub(super) const TABLE: u32 = 1 << 31;
/// In a tag: something was written before.
const WRITTEN: u32 = 1 << 2;

/// Readers kept beside the first.
const MORE: usize = READERS - 1;
/// Readers kept of a word that is accessed strongly.
const STRONG: usize = 2;
/// Readers of one era that are enough.
const ENOUGH: u32 = 2;
/// Eras that are told apart.
const LAST_ERA: u32 = (1 << 26) - 1;

/// What is kept of such a word: cells of the states that accesses left, each by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Readers {
    /// The first one, and what was there before; of words accessed strongly the newest write, if there is one.
    first: u32,
    /// The others of different CTAs, the newest first; 0: there is none. The last one of words accessed strongly is a set:
    /// the CTAs that may have observed the newest write, by their numbers modulo 32.
    more: [u32; MORE],
}

impl Readers {
    /// Something of it, to bring it near.
    pub(super) fn place(&self) -> u32 {
        self.first
    }
}

/// Ordinary accesses.
const WEAK: u32 = 0;

/// The way in which all of a word is accessed, if it has a number: ordinarily, or strongly as part of so many bytes and with
/// a scope that holds everybody.
fn manner(class: Class) -> Option<u32> {
    match (class.is_strong(), class.mask(), class.bytes()) {
        (false, 15, _) => Some(WEAK),
        (true, 15, 4) if class.scope() >= 2 => Some(1),
        (true, 15, 8) if class.scope() >= 2 => Some(2),
        _ => None,
    }
}

/// What the cell of such a word says.
fn tag(era: u32, manner: u32, written: bool, count: u32) -> u32 {
    TABLE | era.min(LAST_ERA) << 5 | manner << 3 | u32::from(written) << 2 | count
}

fn manner_of(cell: u32) -> u32 {
    cell >> 3 & 3
}

fn is_of_era(cell: u32, era: u32) -> bool {
    (cell & !TABLE) >> 5 == era && era < LAST_ERA
}

fn count_of(cell: u32, era: u32) -> u32 {
    if is_of_era(cell, era) { cell & 3 } else { 0 }
}

/// The member of a set of CTAs that a CTA is.
fn member(cta: u32) -> u32 {
    1 << (cta & 31)
}

/// What an access of such a word comes to.
pub(super) enum Look {
    /// Nothing to do.
    Known,
    /// The reader has to be added.
    New,
    /// The newest write has to be replaced.
    Write,
    /// It races with what was written.
    Race(Conflict),
    /// It is none that such a word can have.
    Other,
}

/// Cells of words where a read of one kind adds nothing.
#[derive(Clone, Copy)]
pub(super) struct Settled {
    cell: u32,
    /// Who observes what was written, if it is a strong read; nobody otherwise.
    observer: u32,
}

impl Settled {
    /// For reads of a class; `None` if there are no such cells.
    pub(super) fn new(class: Class, era: u32, cta: u32) -> Option<Self> {
        let manner = manner(class).filter(|_| era < LAST_ERA)?;
        let observer = if manner == WEAK { 0 } else { member(cta) };
        Some(Self { cell: tag(era, manner, false, ENOUGH), observer })
    }

    /// Whether the cell of a word says that nothing has to be done but to note the observer.
    #[inline]
    pub(super) fn takes(self, cell: u32) -> bool {
        cell == self.cell || cell == self.cell | WRITTEN && self.observer != 0
    }

    /// Notes the observer.
    #[inline]
    pub(super) fn note(self, cell: u32, readers: &mut Readers) {
        // Only where it changes something.
        if cell & WRITTEN != 0 && readers.more[STRONG] & self.observer == 0 {
            readers.more[STRONG] |= self.observer;
        }
    }
}

/// Looks at the cell of a word that is accessed.
#[inline]
pub(super) fn look(
    cell: u32,
    readers: &mut Readers,
    states: &States,
    era: u32,
    kind: Kind,
    now: &Now<'_>,
) -> Look {
    let ours = manner_of(cell);
    if ours != WEAK {
        return look_strongly(cell, readers, states, era, kind, now);
    }
    if kind != Kind::Read {
        return states.race_with_readers(readers, now).map_or(Look::Other, Look::Race);
    }
    if manner(now.class) != Some(ours) {
        return Look::Other;
    }
    if cell & WRITTEN != 0 {
        let (state, shift) = parts(readers.first);
        if !Eye::new(now, shift).covers(&states.plain(state).0) {
            return Look::Other;
        }
    }
    if count_of(cell, era) >= ENOUGH { Look::Known } else { Look::New }
}

/// The same of a word that is accessed strongly.
fn look_strongly(
    cell: u32,
    readers: &mut Readers,
    states: &States,
    era: u32,
    kind: Kind,
    now: &Now<'_>,
) -> Look {
    let observers = &mut readers.more[STRONG];
    if *observers != 0 && !is_of_era(cell, era) {
        // By now others may know of those.
        *observers = u32::MAX;
    }
    if manner(now.class) == Some(manner_of(cell)) {
        return match kind {
            Kind::Read => {
                if cell & WRITTEN != 0 {
                    *observers |= member(now.cta);
                }
                if count_of(cell, era) >= ENOUGH { Look::Known } else { Look::New }
            }
            Kind::Atomic => Look::Write,
            // An atomic observes what it overwrites, and the word's past comes before it with that.
            Kind::Write => Look::Other,
        };
    }
    let (state, shift) = parts(readers.first);
    if cell & WRITTEN != 0 && *observers & member(now.cta) == 0 {
        let write = states.plain(state).0;
        if let Some(conflict) = Eye::new(now, shift).race_with(&write, true) {
            return Look::Race(conflict);
        }
    }
    Look::Other
}

impl States {
    /// The race of a write of a word that is read.
    fn race_with_readers(&self, readers: &Readers, now: &Now<'_>) -> Option<Conflict> {
        let race = |(cell, writes): (u32, bool)| {
            let (state, shift) = parts(cell);
            let (eye, (write, read)) = (Eye::new(now, shift), self.plain(state));
            let past = if writes { write } else { read };
            eye.race_with(&past, writes)
        };
        let others = readers.more.iter().rev().filter(|&&cell| cell != 0);
        let reads = [readers.first].into_iter().chain(others.copied()).map(|cell| (cell, false));
        [(readers.first, true)].into_iter().chain(reads).find_map(race)
    }

    /// Adds a reader whose state a cell has; gives the cell of the word.
    pub(super) fn add_reader(
        &mut self,
        cell: u32,
        readers: &mut Readers,
        era: u32,
        new: u32,
        now: &Now<'_>,
    ) -> u32 {
        let mut count = count_of(cell, era);
        let manner = manner_of(cell);
        let others = if manner == WEAK { &mut readers.more[..] } else { &mut readers.more[..STRONG] };
        let cta = |states: &States, cell: u32| states.plain(parts(cell).0).1.cta;
        let same = others.iter().position(|&other| other != 0 && cta(self, other) == now.cta);
        let gone = same.unwrap_or(others.len() - 1);
        if others[gone] != 0 {
            self.leave(parts(others[gone]).0, 1);
        }
        // Cheaper than to rotate so few.
        (0..gone).rev().for_each(|at| others[at + 1] = others[at]);
        others[0] = new;
        // The newest may be another one of the same CTA.
        if same != Some(0) || count == 0 {
            count += 1;
        }
        tag(era, manner, cell & WRITTEN != 0, count)
    }

    /// Replaces the newest write of a word that is accessed strongly by that of a cell; gives the cell of the word.
    pub(super) fn set_write(&mut self, cell: u32, readers: &mut Readers, new: u32) -> u32 {
        self.leave(parts(readers.first).0, 1);
        (readers.first, readers.more[STRONG]) = (new, 0);
        cell | WRITTEN
    }

    /// Makes a word one of these, if the access about to come makes it one: gives what is kept of it and its cell.
    pub(super) fn enter_table(&mut self, old: u32, era: u32, now: &Now<'_>) -> Option<(Readers, u32)> {
        match manner(now.class)? {
            WEAK => self.enter_read(old, era, now),
            manner => self.enter_strong(old, manner),
        }
    }

    /// The same for a word that is read.
    fn enter_read(&mut self, old: u32, era: u32, now: &Now<'_>) -> Option<(Readers, u32)> {
        let (number, shift) = parts(old);
        if self.is_read_by(number, now.cta) {
            return None;
        }
        let eye = Eye::new(now, shift);
        if self.holds_one(number) == Some(Kind::Read) {
            let first = self.plain(number).1;
            let fits = !first.class.is_strong() && first.class.mask() == 15 && !eye.covers(&first);
            let count = u32::from(self.is_of_era(number, era));
            let readers = Readers { first: old, ..Readers::default() };
            return fits.then_some((readers, tag(era, WEAK, false, count)));
        }
        let (write, reads) = self.readers(number)?;
        let alike = |past: &Past| !past.class.is_strong() && past.class.mask() == 15;
        let (&first, others) = reads.split_first()?;
        let fits = reads.iter().all(alike)
            && write.is_none_or(|write| eye.covers(&write))
            && reads.iter().any(|read| read.cta != now.cta && !eye.covers(read));
        if !fits {
            return None;
        }
        let none = Past::default();
        let mut newest = [none; MORE];
        newest.iter_mut().zip(others.iter().rev()).for_each(|(to, read)| *to = *read);
        if others.is_empty() {
            return Some((
                Readers { first: old, ..Readers::default() },
                tag(LAST_ERA, WEAK, write.is_some(), 0),
            ));
        }
        let from = self.stamp(number);
        let mut parted = self.parted[from as usize % PARTED];
        if parted.from == from {
            parted.to.into_iter().filter(|&to| to != 0).for_each(|to| self.enter(to, 1));
        } else {
            parted = Parted { from, ..Parted::default() };
            let all = [(write.unwrap_or(none), first)].into_iter().chain(newest.map(|read| (none, read)));
            for (to, (write, read)) in parted.to.iter_mut().zip(all).filter(|(_, past)| past.1.is_some()) {
                *to = parts(self.new_plain(write, read, shift)).0;
                self.enter(*to, 1);
            }
            let old = std::mem::replace(&mut self.parted[from as usize % PARTED], parted);
            self.forget_parted(old);
        }
        self.leave(number, 1);
        let [first, more @ ..] =
            parted.to.map(|state| if state == 0 { 0 } else { states::cell(state, shift) });
        Some((Readers { first, more }, tag(LAST_ERA, WEAK, write.is_some(), 0)))
    }

    /// The same for a word that is accessed strongly.
    fn enter_strong(&mut self, old: u32, ours: u32) -> Option<(Readers, u32)> {
        let (number, shift) = parts(old);
        let (write, reads, observed) = self.newest(number, |class| manner(class) == Some(ours))?;
        let mut readers = Readers::default();
        match self.holds_one(number) {
            Some(Kind::Read) if !observed => {
                readers.more[0] = old;
                return Some((readers, tag(LAST_ERA, ours, false, 0)));
            }
            Some(Kind::Write) => {
                readers.first = old;
                return Some((readers, tag(LAST_ERA, ours, true, 0)));
            }
            _ => {}
        }
        let one = |past: Past| past.is_some().then_some(past);
        let reads = || reads.into_iter().filter_map(one);
        if write.is_some() {
            readers.first = self.new_plain(write, Past::default(), shift);
        }
        for (slot, read) in readers.more.iter_mut().zip(reads()) {
            *slot = self.new_plain(Past::default(), read.unobserving(), shift);
        }
        if observed {
            readers.more[STRONG] = u32::MAX;
        }
        self.leave(number, 1);
        Some((readers, tag(LAST_ERA, ours, write.is_some(), 0)))
    }

    /// Makes such a word one with a list again; gives its cell.
    pub(super) fn leave_table(&mut self, cell: u32, readers: Readers) -> u32 {
        let strong = manner_of(cell) != WEAK;
        if readers.more == [0; MORE] {
            return readers.first;
        }
        let (number, shift) = parts(readers.first);
        let (write, first) = self.plain(number);
        let mut lists = self.empty_lists();
        // What somebody observed who is no longer known cannot be told to race.
        let known = write.is_some() && !(strong && readers.more[STRONG] != 0);
        lists.writes.extend(known.then(|| Write::new(write)));
        lists.reads.extend(first.is_some().then_some(first));
        let others = if strong { &readers.more[..STRONG] } else { &readers.more[..] };
        for &cell in others.iter().rev().filter(|&&cell| cell != 0) {
            let (state, own) = parts(cell);
            let read = self.plain(state).1;
            lists.reads.push(Past { lanes: read.lanes.rotate_left(own).rotate_right(shift), ..read });
            self.leave(state, 1);
        }
        self.leave(number, 1);
        self.new_listed(lists, shift)
    }

    /// What is kept of such a word is forgotten.
    pub(super) fn drop_table(&mut self, cell: u32, readers: Readers) {
        let others = if manner_of(cell) == WEAK { &readers.more[..] } else { &readers.more[..STRONG] };
        for &cell in others.iter().chain([&readers.first]).filter(|&&cell| cell != 0) {
            self.leave(parts(cell).0, 1);
        }
    }
}
