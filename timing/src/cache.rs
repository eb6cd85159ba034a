//! A cache: lines of four sectors, the least recently used of a set goes first.

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

/// A cache. What it has of its lines is apart, as most looks need the numbers of a set alone.
#[derive(Debug)]
pub(crate) struct Cache {
    /// By place, those of a set beside each other: the number of the line, plus one; 0 is none.
    tags: Vec<u64>,
    /// When each was used last.
    used: Vec<u64>,
    /// When each of its sectors was or will be there.
    ready: Vec<[f64; 4]>,
    /// Sectors that are there, or on their way.
    valid: Vec<u8>,
    /// Those that were written.
    dirty: Vec<u8>,
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
        let places = (sets * ways) as usize;
        Cache {
            tags: vec![0; places],
            used: vec![0; places],
            ready: vec![[0.0; 4]; places],
            valid: vec![0; places],
            dirty: vec![0; places],
            sets,
            ways: ways as usize,
            uses: 0,
            before: 0,
            cleaned: 0,
        }
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

    /// The place of a line, if it is there.
    fn find(&self, line: u64) -> Option<usize> {
        self.find_in(self.set(line), line)
    }

    /// The same, in the set that begins at a place.
    fn find_in(&self, at: usize, line: u64) -> Option<usize> {
        let way = self.tags[at..at + self.ways].iter().position(|&tag| tag == line + 1)?;
        Some(at + way)
    }

    /// What there is of a line, of which sectors are asked for.
    pub(crate) fn look(&mut self, line: u64, sectors: u8) -> Found {
        self.uses += 1;
        let Some(place) = self.find(line) else { return Found { valid: 0, ready: 0.0 } };
        self.used[place] = self.uses;
        let valid = self.valid[place];
        let ready = each(sectors & valid).map(|sector| self.ready[place][sector]).fold(0.0, f64::max);
        Found { valid, ready }
    }

    /// Takes in sectors of a line, which are there from a time on.
    pub(crate) fn take(&mut self, line: u64, sectors: u8, ready: f64, written: bool) -> Taken {
        self.uses += 1;
        let mut gone = 0;
        let at = self.set(line);
        let place = self.find_in(at, line).unwrap_or_else(|| {
            let used = self.used[at..at + self.ways].iter();
            let oldest = at + used.enumerate().min_by_key(|&(_, used)| used).map_or(0, |(way, _)| way);
            gone = self.dirty[oldest].count_ones();
            // The last place that is free is that of what was written before.
            let of_before = self.tags[oldest] == 0 && oldest + 1 == at + self.ways;
            let set = (at / self.ways) as u64;
            if of_before && self.before(set).is_some_and(|number| number >= self.cleaned) {
                gone = 4;
            }
            self.empty(oldest);
            self.tags[oldest] = line + 1;
            oldest
        });
        self.used[place] = self.uses;
        let own = &mut self.ready[place];
        each(sectors).for_each(|sector| own[sector] = own[sector].max(ready));
        self.valid[place] |= sectors;
        let new = if written { sectors & !self.dirty[place] } else { 0 };
        self.dirty[place] |= new;
        Taken { gone, new: new.count_ones() }
    }

    /// Nothing is in a place.
    fn empty(&mut self, place: usize) {
        (self.tags[place], self.used[place], self.ready[place]) = (0, 0, [0.0; 4]);
        (self.valid[place], self.dirty[place]) = (0, 0);
    }

    /// Sectors of a line are no longer there; where none is left, its place is the next one that is taken.
    pub(crate) fn forget(&mut self, line: u64, sectors: u8) {
        let Some(place) = self.find(line) else { return };
        self.valid[place] &= !sectors;
        self.dirty[place] &= !sectors;
        if self.valid[place] == 0 {
            self.empty(place);
        }
    }

    /// A line that was written before is clean from now on: its sectors, if there is one that is not yet.
    pub(crate) fn clean_before(&mut self) -> Option<u32> {
        while self.cleaned < self.before {
            // The first set that has it.
            let set = ((self.cleaned + 1) * self.sets).div_ceil(self.before) - 1;
            self.cleaned += 1;
            if self.tags[set as usize * self.ways + self.ways - 1] == 0 {
                return Some(4);
            }
        }
        None
    }

    /// Sectors of a line that were written, and are clean from now on.
    pub(crate) fn clean(&mut self, line: u64) -> u32 {
        self.find(line).map_or(0, |place| std::mem::take(&mut self.dirty[place]).count_ones())
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
