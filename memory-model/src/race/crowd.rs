//! Accesses of one kind by very many threads, as one thing.
//!
//! Strong accesses of one word do not race with each other, and nothing ever comes after all of them but a weak access that
//! is ordered after each. So of stores that nobody observed, and of loads that do not observe what the word holds, it is
//! enough to know, for each thread, the last one's epoch: a vector clock, in which an access is noted and looked up in
//! logarithmic time.

use super::clock::Clock;
use super::state::{Class, Eye, Past};

/// Such accesses, made alike at one place of the program.
#[derive(Debug, Clone)]
pub(super) struct Crowd {
    pub(super) class: Class,
    pub(super) writes: bool,
    site: u16,
    /// Lanes counted from the cell's shift.
    members: Clock,
    /// Accesses noted, bytes on the heap as they were last counted, and when to count again.
    noted: u32,
    held: usize,
    count_at: u32,
}

impl Crowd {
    pub(super) fn new(first: &Past, writes: bool) -> Self {
        let (class, site, members) = (first.class, first.site, Clock::default());
        let mut crowd = Self { class, writes, site, members, noted: 0, held: 0, count_at: 1 };
        crowd.add(first);
        crowd
    }

    /// Whether an access is of this kind.
    pub(super) fn takes(&self, past: &Past, writes: bool) -> bool {
        (self.class, self.site, self.writes) == (past.class, past.site, writes)
    }

    /// Notes an access; what its threads did before goes.
    pub(super) fn add(&mut self, past: &Past) {
        super::state::bits(past.warps)
            .for_each(|warp| self.members.raise(past.cta, warp, past.lanes, past.epoch));
        self.noted = self.noted.saturating_add(1);
        if self.noted >= self.count_at {
            self.held = self.members.heap_bytes();
            self.count_at = self.noted.saturating_mul(2);
        }
    }

    /// Whether of all threads of an access it knows one like it that is as late or later.
    pub(super) fn supersedes(&self, past: &Past) -> bool {
        let known = |warp| self.members.missing(past.cta, warp, past.lanes, past.epoch) == 0;
        self.class == past.class && super::state::bits(past.warps).all(known)
    }

    /// One that may not come before an access, of those that are not morally strong towards it.
    pub(super) fn find_racing(&self, eye: &Eye<'_>) -> Option<Past> {
        if eye.is_strong_to_all(self.class) {
            return None;
        }
        let (class, site) = (self.class, self.site);
        self.members.find(|cta, warp, lanes, epoch| {
            let past = Past { cta, warps: 1 << warp, lanes, epoch, class, site };
            (!eye.morally_strong(&past) && !eye.covers(&past)).then_some(past)
        })
    }

    /// Bytes on the heap, more or less.
    pub(super) fn bytes(&self) -> usize {
        self.held
    }
}
