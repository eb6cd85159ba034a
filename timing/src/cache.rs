//! A cache: lines of four sectors, the least recently used of a set goes first.

/// A line that it has.
#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    /// Its number, plus one; 0 is none.
    tag: u64,
    /// When it was used last.
    used: u64,
    /// When each of its sectors was or will be there.
    ready: [f64; 4],
    /// Sectors that are there, or on their way.
    valid: u8,
    /// Those that were written.
    dirty: u8,
}

/// What was found of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Sectors that are there, or on their way.
    pub(crate) valid: u8,
    /// When those of them are there that were asked for.
    pub(crate) ready: f64,
}

/// What taking in a line changed, in sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    /// Written ones that had to go for it.
    pub(crate) gone: u32,
    /// Those that were clean, or not there, and are written now.
    pub(crate) new: u32,
}

/// Which sectors bits say.
fn each(sectors: u8) -> impl Iterator<Item = usize> {
    (0..4).filter(move |sector| sectors >> sector & 1 != 0)
}

/// A cache.
#[derive(Debug)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
    sets: u64,
    ways: usize,
    uses: u64,
    /// Lines that others wrote before, spread over the sets, and how many of them were looked at to be cleaned.
    before: u64,
    cleaned: u64,
}

impl Cache {
    /// Of so many bytes.
    pub(crate) fn new(bytes: u64, ways: u32) -> Self {
        let lines = (bytes / 128).max(1);
        let ways = u64::from(ways).min(lines);
        let sets = lines / ways;
        let entries = vec![Entry::default(); (sets * ways) as usize];
        Cache { entries, sets, ways: ways as usize, uses: 0, before: 0, cleaned: 0 }
    }

    /// The same with so many bytes that others wrote before, a line of a set at most: the oldest ones.
    pub(crate) fn written_before(self, bytes: u64) -> Self {
        Cache { before: (bytes / 128).min(self.sets), ..self }
    }

    /// Which of the lines of before a set has.
    fn before(&self, set: u64) -> Option<u64> {
        let number = set * self.before / self.sets;
        ((set + 1) * self.before / self.sets > number).then_some(number)
    }

    fn set(&self, line: u64) -> usize {
        // Lines that are a power of two apart must not share one place.
        let mixed = line ^ line >> 9 ^ line >> 17;
        (mixed % self.sets) as usize * self.ways
    }

    /// What there is of a line, of which sectors are asked for.
    pub(crate) fn look(&mut self, line: u64, sectors: u8) -> Found {
        let at = self.set(line);
        self.uses += 1;
        match self.entries[at..at + self.ways].iter_mut().find(|entry| entry.tag == line + 1) {
            Some(entry) => {
                entry.used = self.uses;
                let ready = each(sectors & entry.valid).map(|sector| entry.ready[sector]).fold(0.0, f64::max);
                Found { valid: entry.valid, ready }
            }
            None => Found { valid: 0, ready: 0.0 },
        }
    }

    /// Takes in sectors of a line, which are there from a time on.
    pub(crate) fn take(&mut self, line: u64, sectors: u8, ready: f64, written: bool) -> Taken {
        let at = self.set(line);
        self.uses += 1;
        let set = &mut self.entries[at..at + self.ways];
        let place = set.iter().position(|entry| entry.tag == line + 1);
        let oldest = || (0..set.len()).min_by_key(|&way| set[way].used).unwrap_or(0);
        let way = place.unwrap_or_else(oldest);
        let entry = &mut set[way];
        let mut gone = 0;
        if entry.tag != line + 1 {
            gone = entry.dirty.count_ones();
            // The last place that is free is that of what was written before.
            let of_before = entry.tag == 0 && way + 1 == self.ways;
            let set = (at / self.ways) as u64;
            if of_before && self.before(set).is_some_and(|number| number >= self.cleaned) {
                gone = 4;
            }
            let entry = &mut self.entries[at + way];
            *entry = Entry { tag: line + 1, ..Entry::default() };
        }
        let entry = &mut self.entries[at + way];
        entry.used = self.uses;
        each(sectors).for_each(|sector| entry.ready[sector] = entry.ready[sector].max(ready));
        entry.valid |= sectors;
        let new = if written { sectors & !entry.dirty } else { 0 };
        entry.dirty |= new;
        Taken { gone, new: new.count_ones() }
    }

    /// Sectors of a line are no longer there; where none is left, its place is the next one that is taken.
    pub(crate) fn forget(&mut self, line: u64, sectors: u8) {
        let at = self.set(line);
        let entry = self.entries[at..at + self.ways].iter_mut().find(|entry| entry.tag == line + 1);
        if let Some(entry) = entry {
            entry.valid &= !sectors;
            entry.dirty &= !sectors;
            if entry.valid == 0 {
                *entry = Entry::default();
            }
        }
    }

    /// A line that was written before is clean from now on: its sectors, if there is one that is not yet.
    pub(crate) fn clean_before(&mut self) -> Option<u32> {
        while self.cleaned < self.before {
            // The first set that has it.
            let set = ((self.cleaned + 1) * self.sets).div_ceil(self.before) - 1;
            self.cleaned += 1;
            if self.entries[set as usize * self.ways + self.ways - 1].tag == 0 {
                return Some(4);
            }
        }
        None
    }

    /// Sectors of a line that were written, and are clean from now on.
    pub(crate) fn clean(&mut self, line: u64) -> u32 {
        let at = self.set(line);
        let entry = self.entries[at..at + self.ways].iter_mut().find(|entry| entry.tag == line + 1);
        entry.map_or(0, |entry| std::mem::take(&mut entry.dirty).count_ones())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = Cache::new(4 * 128, 4);
        (0..4).for_each(|line| assert_eq!(cache.take(line, 15, 1.0, line == 1).gone, 0));
        cache.look(0, 15);
        assert_eq!(cache.take(9, 1, 2.0, false).gone, 4);
        assert_eq!((cache.look(0, 0).valid, cache.look(1, 0).valid, cache.look(9, 0).valid), (15, 0, 1));
    }

    #[test]
    fn who_wants_one_sector_does_not_wait_for_another() {
        let mut cache = Cache::new(1 << 12, 4);
        cache.take(5, 1, 10.0, false);
        cache.take(5, 2, 500.0, false);
        assert_eq!([1, 2, 3, 4].map(|sectors| cache.look(5, sectors).ready), [10.0, 500.0, 500.0, 0.0]);
    }

    #[test]
    fn what_nobody_needs_leaves_its_place() {
        let mut cache = Cache::new(4 * 128, 4);
        (0..4).for_each(|line| _ = cache.take(line, 15, 1.0, false));
        cache.forget(2, 3);
        assert_eq!(cache.look(2, 0).valid, 12);
        cache.forget(2, 12);
        cache.take(7, 15, 2.0, false);
        assert_eq!([0, 1, 2, 3, 7].map(|line| cache.look(line, 0).valid), [15, 15, 0, 15, 15]);
    }

    #[test]
    fn what_was_written_before_goes_first_and_once() {
        let cache = || Cache::new(8 * 4 * 128, 4).written_before(3 * 128);
        let mut full = cache();
        let gone = |cache: &mut Cache, lines: std::ops::Range<u64>| {
            lines.map(|line| cache.take(line, 15, 0.0, false).gone).sum::<u32>()
        };
        assert_eq!([0..24, 24..32, 32..64].map(|lines| gone(&mut full, lines)), [0, 3 * 4, 0]);
        assert_eq!(full.clean_before(), None);
        let mut cleaned = cache();
        assert_eq!([(); 4].map(|()| cleaned.clean_before()), [Some(4), Some(4), Some(4), None]);
        assert_eq!(gone(&mut cleaned, 0..64), 0);
    }

    #[test]
    fn what_was_written_is_clean_once() {
        let mut cache = Cache::new(1 << 12, 4);
        let news = [3, 3, 7].map(|sectors| cache.take(5, sectors, 0.0, true).new);
        assert_eq!(news, [2, 0, 1]);
        assert_eq!((cache.clean(5), cache.clean(5)), (3, 0));
    }
}
