//! Accesses of one kind by very many threads, as one thing.
//!
//! Strong accesses of one word do not race with each other, and nothing ever comes after all of them but a weak access that
//! is ordered after each. So of stores that nobody observed, and of loads that do not observe what the word holds, it is
//! enough to know, for each thread, the last one: a vector clock, in which an access is noted and looked up in logarithmic
//! time.

use super::access::{Class, Conflict, Eye, Kind, Past, bits};
use super::tree::{Tree, Value};
use smallvec::SmallVec;

/// The last accesses of lanes of a warp, counted from the cell's shift, at one place of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    warp: u32,
    lanes: u32,
    epoch: u32,
    site: u16,
}

/// Those of a CTA, ascending by warp. Lanes are in one at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Members(SmallVec<[Member; 1]>);

impl Members {
    fn of_warp(&self, warp: u32) -> std::ops::Range<usize> {
        let start = self.0.partition_point(|member| member.warp < warp);
        let count = self.0[start..].iter().take_while(|member| member.warp == warp).count();
        start..start + count
    }

    /// Lanes that are not known to have accessed the word in an epoch or later.
    fn missing(&self, warp: u32, lanes: u32, epoch: u32) -> u32 {
        let known = self.0[self.of_warp(warp)].iter().filter(|member| member.epoch >= epoch);
        known.fold(lanes, |rest, member| rest & !member.lanes)
    }

    fn add(&mut self, mut new: Member) {
        let range = self.of_warp(new.warp);
        let mut at = None;
        for (i, known) in range.clone().zip(&mut self.0[range.clone()]) {
            if known.epoch > new.epoch {
                new.lanes &= !known.lanes;
            } else {
                known.lanes &= !new.lanes;
                if known.lanes == 0 || (known.epoch, known.site) == (new.epoch, new.site) {
                    at = Some(i);
                }
            }
        }
        if new.lanes == 0 {
            return;
        }
        match at {
            Some(at) => {
                let alike = (self.0[at].epoch, self.0[at].site) == (new.epoch, new.site);
                let others = if alike { self.0[at].lanes } else { 0 };
                self.0[at] = Member { lanes: others | new.lanes, ..new };
            }
            None => self.0.insert(range.end, new),
        }
        for at in range.rev() {
            if self.0[at].lanes == 0 {
                self.0.remove(at);
            }
        }
    }
}

impl Value for Members {
    fn knows(&self, other: &Self) -> bool {
        other.0.iter().all(|member| self.missing(member.warp, member.lanes, member.epoch) == 0)
    }

    fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|&member| self.add(member));
    }

    fn heap_bytes(&self) -> usize {
        if self.0.spilled() { self.0.capacity() * size_of::<Member>() } else { 0 }
    }
}

/// Such accesses, made alike.
#[derive(Debug, Clone)]
struct Crowd {
    class: Class,
    writes: bool,
    members: Tree<Members>,
    /// Accesses noted, bytes on the heap as they were last counted, and when to count again.
    noted: u32,
    held: usize,
    count_at: u32,
}

impl Crowd {
    /// Notes an access; what its threads did before goes.
    fn add(&mut self, past: &Past) {
        let Past { lanes, epoch, site, .. } = *past;
        let members = self.members.entry(past.cta);
        bits(past.warps).for_each(|warp| members.add(Member { warp, lanes, epoch, site }));
        self.noted = self.noted.saturating_add(1);
        if self.noted >= self.count_at {
            self.held = self.members.heap_bytes();
            self.count_at = self.noted.saturating_mul(2);
        }
    }

    /// Whether of all threads of an access it knows one like it that is as late or later.
    fn supersedes(&self, past: &Past) -> bool {
        self.class == past.class
            && self.members.get(past.cta).is_some_and(|members| {
                bits(past.warps).all(|warp| members.missing(warp, past.lanes, past.epoch) == 0)
            })
    }

    /// One that may not come before an access, of those that are not morally strong towards it.
    fn find_racing(&self, eye: &Eye<'_>) -> Option<Past> {
        if eye.is_strong_to_all(self.class) {
            return None;
        }
        self.members.find(|cta, members| {
            members.0.iter().find_map(|&Member { warp, lanes, epoch, site }| {
                let past = Past { cta, warps: 1 << warp, lanes, epoch, class: self.class, site };
                eye.is_unordered(&past).then_some(past)
            })
        })
    }
}

/// All crowds of a word.
#[derive(Debug, Clone, Default)]
pub(super) struct Crowds(Option<Box<SmallVec<[Crowd; 1]>>>);

impl Crowds {
    fn all(&self) -> &[Crowd] {
        self.0.as_deref().map_or(&[], |all| all)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    /// Classes of the accesses.
    pub(super) fn classes(&self) -> impl Iterator<Item = Class> {
        self.all().iter().map(|crowd| crowd.class)
    }

    /// Whether some of them write.
    pub(super) fn have_writes(&self) -> bool {
        self.all().iter().any(|crowd| crowd.writes)
    }

    /// Adds an access.
    pub(super) fn add(&mut self, past: &Past, writes: bool) {
        let all = self.0.get_or_insert_default();
        let at = all.iter().position(|crowd| (crowd.class, crowd.writes) == (past.class, writes));
        let at = at.unwrap_or_else(|| {
            let (class, members) = (past.class, Tree::default());
            all.push(Crowd { class, writes, members, noted: 0, held: 0, count_at: 1 });
            all.len() - 1
        });
        all[at].add(past);
    }

    /// Whether there are reads of the kind of this one, which it joins.
    pub(super) fn take_read(&self, read: &Past) -> bool {
        self.all().iter().any(|crowd| !crowd.writes && crowd.class == read.class)
    }

    /// Whether of all threads of an access they have one like it that is as late or later.
    pub(super) fn supersede(&self, past: &Past, writes: bool) -> bool {
        self.all().iter().any(|crowd| crowd.writes == writes && crowd.supersedes(past))
    }

    /// Forgets accesses of some classes: those that go anyhow, and those that go if they all come before an access.
    pub(super) fn forget(
        &mut self,
        eye: &Eye<'_>,
        goes: impl Fn(Class) -> bool,
        goes_before: impl Fn(Class) -> bool,
    ) {
        if let Some(all) = &mut self.0 {
            all.retain(|crowd| {
                !(goes(crowd.class) || goes_before(crowd.class) && crowd.find_racing(eye).is_none())
            });
            if all.is_empty() {
                self.0 = None;
            }
        }
    }

    /// One that an access races with.
    pub(super) fn find_racing(&self, eye: &Eye<'_>, kind: Kind) -> Option<Conflict> {
        let matters = |crowd: &&Crowd| eye.touches(crowd.class) && (crowd.writes || kind != Kind::Read);
        let race = |crowd: &Crowd| crowd.find_racing(eye).map(|past| eye.conflict(&past, crowd.writes));
        self.all().iter().filter(matters).find_map(race)
    }

    /// Bytes on the heap, more or less.
    pub(super) fn bytes(&self) -> usize {
        self.0.as_deref().map_or(0, |all| {
            let others = if all.spilled() { all.capacity() * size_of::<Crowd>() } else { 0 };
            size_of_val(all) + others + all.iter().map(|crowd| crowd.held).sum::<usize>()
        })
    }
}
