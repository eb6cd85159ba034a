//! A cache: lines of four sectors, the least recently used of a set goes first.

/// What was found of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Sectors that are there, or on their way.
    pub(crate) valid: u8,
    /// When those of them are there that were asked for.
    pub(crate) ready: f64,
}

/// That a line, of whose sectors some were written, is in another cache, too.
pub(crate) const ALSO_THERE: u8 = 1 << 4;

/// What was written and is not yet in memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Dirty {
    /// Sectors.
    pub(crate) sectors: u32,
    /// Places of lines that they are in, in this cache and another one.
    pub(crate) places: u32,
}

impl Dirty {
    /// A line of others, all of it.
    const OF_BEFORE: Dirty = Dirty { sectors: 4, places: 1 };

    /// By the bits of a line: its sectors, and [`ALSO_THERE`].
    fn of(bits: u8) -> Self {
        let places = if bits == 0 { 0 } else { 1 + u32::from(bits & ALSO_THERE != 0) };
        Dirty { sectors: (bits & 15).count_ones(), places }
    }

    fn less(self, before: Dirty) -> Self {
        Dirty { sectors: self.sectors - before.sectors, places: self.places - before.places }
    }
}

/// What taking in a line changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    /// What had to go for it.
    pub(crate) gone: Dirty,
    /// What is newly written.
    pub(crate) new: Dirty,
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
    /// Those that were written, and whether the line is elsewhere, too.
    dirty: Vec<u8>,
    sets: u64,
    ways: usize,
    uses: u64,
    /// Lines that others wrote before, spread over the sets, and how many of them were looked at to be cleaned.
    before: u64,
    cleaned: u64,
    /// Lines of a set that others read since.
    newer: u64,
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
            newer: 0,
        }
    }

    /// The same with so many bytes that others wrote before, the oldest ones, and others that they read since.
    pub(crate) fn written_before(self, bytes: u64, newer: u64) -> Self {
        let places = self.sets * self.ways as u64;
        let newer = (newer / 128).min(places) / self.sets;
        Cache { before: (bytes / 128).min(places - newer * self.sets), newer, ..self }
    }

    /// Which of the lines of before is in a place that nobody has used since: those of others are in the last ones of a set.
    fn before(&self, place: usize) -> Option<u64> {
        let (set, way) = ((place / self.ways) as u64, (place % self.ways) as u64);
        let [first, end] = [set, set + 1].map(|set| set * self.before / self.sets);
        let behind = (self.ways as u64 - self.newer).checked_sub(way)?;
        (1..=end - first).contains(&behind).then(|| end - behind)
    }

    /// The place of a line of before.
    fn place_of_before(&self, number: u64) -> usize {
        let set = ((number + 1) * self.sets).div_ceil(self.before) - 1;
        let end = (set + 1) * self.before / self.sets;
        (set as usize + 1) * self.ways - (self.newer + end - number) as usize
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

    /// Takes in sectors of a line, which are there from a time on; of which some were written, maybe elsewhere, too.
    pub(crate) fn take(&mut self, line: u64, sectors: u8, ready: f64, written: u8) -> Taken {
        self.uses += 1;
        let mut gone = Dirty::default();
        let at = self.set(line);
        let place = self.find_in(at, line).unwrap_or_else(|| {
            let used = self.used[at..at + self.ways].iter();
            let oldest = at + used.enumerate().min_by_key(|&(_, used)| used).map_or(0, |(way, _)| way);
            gone = Dirty::of(self.dirty[oldest]);
            let unused = self.used[oldest] == 0;
            if unused && self.before(oldest).is_some_and(|number| number >= self.cleaned) {
                gone = Dirty::OF_BEFORE;
            }
            self.empty(oldest);
            self.tags[oldest] = line + 1;
            oldest
        });
        self.used[place] = self.uses;
        let own = &mut self.ready[place];
        each(sectors).for_each(|sector| own[sector] = own[sector].max(ready));
        self.valid[place] |= sectors;
        let before = Dirty::of(self.dirty[place]);
        self.dirty[place] |= written;
        Taken { gone, new: Dirty::of(self.dirty[place]).less(before) }
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

    /// A line that was written before is clean from now on, if there is one that is not yet.
    pub(crate) fn clean_before(&mut self) -> Option<Dirty> {
        while self.cleaned < self.before {
            let place = self.place_of_before(self.cleaned);
            self.cleaned += 1;
            if self.used[place] == 0 {
                return Some(Dirty::OF_BEFORE);
            }
        }
        None
    }

    /// What was written of a line is clean from now on.
    pub(crate) fn clean(&mut self, line: u64) -> Dirty {
        self.find(line).map_or(Dirty::default(), |place| Dirty::of(std::mem::take(&mut self.dirty[place])))
    }

    /// Whether some of a line was written, and is not in memory.
    pub(crate) fn is_dirty(&self, line: u64) -> bool {
        self.find(line).is_some_and(|place| self.dirty[place] != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = Cache::new(4 * 128, 4);
        (0..4).for_each(|line| {
            assert_eq!(cache.take(line, 15, 1.0, if line == 1 { 15 } else { 0 }).gone.sectors, 0)
        });
        cache.look(0, 15);
        assert_eq!(cache.take(9, 1, 2.0, 0).gone.sectors, 4);
        assert_eq!((cache.look(0, 0).valid, cache.look(1, 0).valid, cache.look(9, 0).valid), (15, 0, 1));
    }

    #[test]
    fn who_wants_one_sector_does_not_wait_for_another() {
        let mut cache = Cache::new(1 << 12, 4);
        cache.take(5, 1, 10.0, 0);
        cache.take(5, 2, 500.0, 0);
        assert_eq!([1, 2, 3, 4].map(|sectors| cache.look(5, sectors).ready), [10.0, 500.0, 500.0, 0.0]);
    }

    #[test]
    fn what_nobody_needs_leaves_its_place() {
        let mut cache = Cache::new(4 * 128, 4);
        (0..4).for_each(|line| _ = cache.take(line, 15, 1.0, 0));
        cache.forget(2, 3);
        assert_eq!(cache.look(2, 0).valid, 12);
        cache.forget(2, 12);
        cache.take(7, 15, 2.0, 0);
        assert_eq!([0, 1, 2, 3, 7].map(|line| cache.look(line, 0).valid), [15, 15, 0, 15, 15]);
    }

    #[test]
    fn what_was_written_before_goes_first_and_once() {
        // Of four places of a set one is read by others since, and three of eight have one that they wrote before.
        let cache = |newer: u64| Cache::new(8 * 4 * 128, 4).written_before(3 * 128, newer * 8 * 128);
        let gone = |cache: &mut Cache, lines: std::ops::Range<u64>| {
            lines.map(|line| cache.take(line, 15, 0.0, 0).gone.sectors).sum::<u32>()
        };
        for (newer, parts) in [(0, [0..24, 24..32, 32..64]), (1, [0..16, 16..24, 24..64])] {
            let mut full = cache(newer);
            assert_eq!(parts.map(|lines| gone(&mut full, lines)), [0, 3 * 4, 0]);
            assert_eq!(full.clean_before(), None);
            let mut cleaned = cache(newer);
            let all = [(); 4].map(|()| cleaned.clean_before().map(|of| of.sectors));
            assert_eq!(all, [Some(4), Some(4), Some(4), None]);
            assert_eq!(gone(&mut cleaned, 0..64), 0);
        }
        // More of them than sets.
        let mut many = Cache::new(8 * 4 * 128, 4).written_before(20 * 128, 0);
        assert_eq!(
            [0..8, 8..16, 16..24, 24..32].map(|lines| gone(&mut many, lines)),
            [0, 4 * 4, 8 * 4, 8 * 4]
        );
    }

    #[test]
    fn what_was_written_is_clean_once() {
        let mut cache = Cache::new(1 << 12, 4);
        let news = [3, 3, 7, 7 | ALSO_THERE, 15].map(|written| cache.take(5, 15, 0.0, written).new);
        assert_eq!(news.map(|new| (new.sectors, new.places)), [(2, 1), (0, 0), (1, 0), (0, 1), (1, 0)]);
        assert!(cache.is_dirty(5) && !cache.is_dirty(6));
        assert_eq!((cache.clean(5), cache.clean(5)), (Dirty { sectors: 4, places: 2 }, Dirty::default()));
    }
}
