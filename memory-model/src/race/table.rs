//! Words that threads of many CTAs read, and nobody else touches: tables.
//!
//! Who read a word of a table is different for each word, and mostly of no use to anyone. Between two moments at which
//! threads of different CTAs learn of each other (an *era*), nobody can come after reads of two CTAs, his own apart: two
//! readers of different CTAs tell as much as all of them, and a word that has two costs a look at its cell. Of earlier
//! eras a few more are kept. Only once very many reads had to be added to lists do words become like that, so that
//! nothing is forgotten where there is room for it.

use super::state::{Class, Eye, Now, Past, Write};
use super::states::{States, parts};
use smallvec::SmallVec;

/// Marks the cell of such a word; the rest of the cell is its tag.
pub(super) const TABLE: u32 = 1 << 31;

/// Readers kept beside the first.
const MORE: usize = 3;
/// Readers of one era that are enough.
const ENOUGH: u32 = 2;
/// Eras that are told apart.
const LAST_ERA: u32 = (1 << 26) - 1;

/// The cells of the states that a word's readers left, each by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Readers {
    /// The first one, and what was there before.
    first: u32,
    /// The others of different CTAs, the newest first; 0: there is none.
    more: [u32; MORE],
}

/// Whether all of a word is read, in a way that has a number.
fn manner(class: Class) -> Option<u32> {
    match (class.is_strong(), class.mask(), class.bytes(), class.scope()) {
        (false, 15, ..) => Some(0),
        (true, 15, 4, 2) => Some(1),
        (true, 15, 4, 3) => Some(2),
        _ => None,
    }
}

/// What the cell of such a word says.
fn tag(era: u32, manner: u32, written: bool, count: u32) -> u32 {
    TABLE | era.min(LAST_ERA) << 5 | manner << 3 | u32::from(written) << 2 | count
}

fn count_of(cell: u32, era: u32) -> u32 {
    if (cell & !TABLE) >> 5 == era && era < LAST_ERA { cell & 3 } else { 0 }
}

/// What a read of such a word comes to.
pub(super) enum Look {
    /// Nothing to do.
    Known,
    /// The reader has to be added.
    New,
    /// It is no read that such a word can have.
    Other,
}

/// Looks at the cell of a word that is read.
#[inline]
pub(super) fn look(cell: u32, readers: &Readers, states: &States, era: u32, now: &Now<'_>) -> Look {
    let Some(manner) = manner(now.class).filter(|manner| cell >> 3 & 3 == *manner) else {
        return Look::Other;
    };
    let written = cell >> 2 & 1 != 0;
    if cell == tag(era, manner, false, ENOUGH) && era < LAST_ERA {
        return Look::Known;
    }
    if written {
        let (state, shift) = parts(readers.first);
        if !Eye::new(now, shift).covers(&states.plain(state).0) {
            return Look::Other;
        }
    }
    if count_of(cell, era) >= ENOUGH { Look::Known } else { Look::New }
}

impl States {
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
        let cta = |states: &States, cell: u32| states.plain(parts(cell).0).1.cta;
        let same = readers.more.iter().position(|&other| other != 0 && cta(self, other) == now.cta);
        let gone = same.unwrap_or(MORE - 1);
        if readers.more[gone] != 0 {
            self.leave(parts(readers.more[gone]).0, 1);
        }
        readers.more[..=gone].rotate_right(1);
        readers.more[0] = new;
        // The newest may be another one of the same CTA.
        if same != Some(0) || count == 0 {
            count += 1;
        }
        tag(era, cell >> 3 & 3, cell >> 2 & 1 != 0, count)
    }

    /// Makes a word one of a table, if the reader about to come makes it one: gives its readers and its cell.
    pub(super) fn enter_table(&mut self, old: u32, now: &Now<'_>) -> Option<(Readers, u32)> {
        let (number, shift) = parts(old);
        if self.is_read_by(number, now.cta) {
            return None;
        }
        let eye = Eye::new(now, shift);
        let manner = manner(now.class)?;
        let (write, reads) = self.readers(number)?;
        let alike = |past: &Past| match manner {
            0 => !past.class.is_strong() && past.class.mask() == 15,
            _ => past.class == now.class,
        };
        let (first, others) = reads.split_first()?;
        let fits = reads.iter().all(alike)
            && !write.is_some_and(|write| now.class.is_strong() && write.class.is_strong())
            && write.is_none_or(|write| eye.covers(&write))
            && reads.iter().any(|read| read.cta != now.cta && !eye.covers(read));
        if !fits {
            return None;
        }
        let (first, newest) =
            (*first, others.iter().rev().take(MORE).copied().collect::<SmallVec<[Past; MORE]>>());
        let mut readers = Readers { first: old, more: [0; MORE] };
        if !newest.is_empty() {
            readers.first = self.new_plain(write.unwrap_or_default(), first, shift);
            for (slot, read) in readers.more.iter_mut().zip(newest) {
                *slot = self.new_plain(Past::default(), read, shift);
            }
            self.leave(number, 1);
        }
        Some((readers, tag(LAST_ERA, manner, write.is_some(), 0)))
    }

    /// Makes a word of a table one with a list again; gives its cell.
    pub(super) fn leave_table(&mut self, readers: Readers) -> u32 {
        let (number, shift) = parts(readers.first);
        let more = || readers.more.iter().rev().filter(|&&cell| cell != 0);
        if more().next().is_none() {
            return readers.first;
        }
        let (write, first) = self.plain(number);
        let mut lists = self.empty_lists();
        lists.writes.extend(write.is_some().then(|| Write::new(write)));
        lists.reads.push(first);
        for &cell in more() {
            let (state, own) = parts(cell);
            let read = self.plain(state).1;
            lists.reads.push(Past { lanes: read.lanes.rotate_left(own).rotate_right(shift), ..read });
            self.leave(state, 1);
        }
        self.leave(number, 1);
        self.new_listed(lists, shift)
    }

    /// The readers of a word of a table are forgotten.
    pub(super) fn drop_table(&mut self, readers: Readers) {
        for cell in readers.more.into_iter().chain([readers.first]).filter(|&cell| cell != 0) {
            self.leave(parts(cell).0, 1);
        }
    }
}
