//! A cache: lines of four sectors, the least recently used of a set goes first.

/// What was found of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Sectors that are there, or on their way.
    pub(crate) valid: u8,
    /// When those of them are there that were asked for.
    pub(crate) ready: f64,
    /// Sectors of which parts are there, as somebody wrote them.
    pub(crate) parts: u8,
    /// Who that was.
    pub(crate) writer: u32,
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

/// What a cache has of a line: words of its number, plus one, of when each of its sectors was or will be there, as bits of floats,
/// and of which are there, which were written, and whether the line is elsewhere, too. It is as long as a line of the host, and
/// zeros, which cost nothing to make, are none.
const PLACE: usize = 8;

const NUMBER: usize = 0;
const READY: usize = 1;
/// Beside the sectors that are there: those of which parts are, and who wrote them.
const VALID: usize = 5;
const PARTS: u32 = 8;
const WRITER: u32 = 32;
const DIRTY: usize = 6;

/// Places that a set may have.
const MOST_WAYS: usize = 32;

/// Things as long as a line of the host, each in one.
#[derive(Debug)]
struct Lines<T, const LENGTH: usize> {
    all: Vec<T>,
    /// Where the first of them begins.
    first: usize,
}

impl<T: Copy + Default, const LENGTH: usize> Lines<T, LENGTH> {
    /// So many, of zeros, which cost nothing to make.
    fn new(count: usize) -> Self {
        let all = vec![T::default(); (count + 1) * LENGTH];
        let behind = all.as_ptr().addr() % size_of::<[T; LENGTH]>() / size_of::<T>();
        Lines { all, first: if behind == 0 { 0 } else { LENGTH - behind } }
    }
}

impl<T, const LENGTH: usize> std::ops::Deref for Lines<T, LENGTH> {
    type Target = [[T; LENGTH]];

    fn deref(&self) -> &Self::Target {
        self.all[self.first..].as_chunks().0
    }
}

impl<T, const LENGTH: usize> std::ops::DerefMut for Lines<T, LENGTH> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.all[self.first..].as_chunks_mut().0
    }
}

/// What is looked for in a set, which is one line of the host, too: by place a part of the line's number, 0 where there is none; and
/// behind these the places in the order in which they were used last, the first one at the front, each as what is other in it than in
/// the number of where it stands.
const SET: usize = 2 * MOST_WAYS;

/// A part of the number of a line.
fn tag(line: u64) -> u8 {
    ((line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).max(1)
}

/// A cache.
#[derive(Debug)]
pub(crate) struct Cache {
    all: Lines<u8, SET>,
    places: Lines<u64, PLACE>,
    sets: u64,
    ways: usize,
    /// Lines that others wrote before, spread over the sets, and how many of them were looked at to be cleaned.
    before: u64,
    cleaned: u64,
    /// Lines that others read since, spread over the sets.
    newer: u64,
    /// Lines that came, those that were there before among them.
    taken: u64,
}

impl Cache {
    /// Of so many bytes.
    pub(crate) fn new(bytes: u64, ways: u32) -> Self {
        let lines = (bytes / 128).max(1);
        let ways = u64::from(ways).clamp(1, MOST_WAYS as u64).min(lines);
        let sets = lines / ways;
        Cache {
            all: Lines::new(sets as usize),
            places: Lines::new((sets * ways) as usize),
            sets,
            ways: ways as usize,
            before: 0,
            cleaned: 0,
            newer: 0,
            taken: 0,
        }
    }

    /// The same with so many bytes that others wrote before, the oldest ones, and others that they read since.
    pub(crate) fn written_before(self, bytes: u64, newer: u64) -> Self {
        let places = self.sets * self.ways as u64;
        let newer = (newer / 128).min(places - self.sets.min(places));
        Cache { before: (bytes / 128).min((places - newer).saturating_sub(self.sets)), newer, ..self }
    }

    /// Lines of a set that others read since.
    fn newer(&self, set: u64) -> u64 {
        (self.newer + set % self.sets) / self.sets
    }

    /// Bytes of lines that came.
    pub(crate) fn taken(&self) -> u64 {
        128 * self.taken
    }

    /// Which of the lines of before is in a place that nobody has used since: those of others are in the last ones of a set.
    fn before(&self, place: usize) -> Option<u64> {
        let (set, way) = ((place / self.ways) as u64, (place % self.ways) as u64);
        let [first, end] = [set, set + 1].map(|set| set * self.before / self.sets);
        let behind = (self.ways as u64 - self.newer(set)).checked_sub(way)?;
        (1..=end - first).contains(&behind).then(|| end - behind)
    }

    /// The place of a line of before.
    fn place_of_before(&self, number: u64) -> usize {
        let set = ((number + 1) * self.sets).div_ceil(self.before) - 1;
        let end = (set + 1) * self.before / self.sets;
        (set as usize + 1) * self.ways - (self.newer(set) + end - number) as usize
    }

    fn set(&self, line: u64) -> usize {
        // Lines that are a power of two apart must not share one place.
        let mixed = line ^ line >> 9 ^ line >> 17;
        (mixed % self.sets) as usize
    }

    /// The place of a line, if it is there.
    fn find(&self, line: u64) -> Option<usize> {
        self.find_in(self.set(line), line)
    }

    /// The same, in a set.
    fn find_in(&self, set: usize, line: u64) -> Option<usize> {
        let own = tag(line);
        let tags = &self.all[set][..MOST_WAYS];
        let alike = (0..MOST_WAYS).fold(0u32, |alike, way| alike | u32::from(tags[way] == own) << way);
        let mut left = alike;
        while left != 0 {
            let place = set * self.ways + left.trailing_zeros() as usize;
            if self.places[place][NUMBER] == line + 1 {
                return Some(place);
            }
            left &= left - 1;
        }
        None
    }

    /// The place of a set that was used the longest ago.
    fn oldest(&self, set: usize) -> usize {
        set * self.ways + usize::from(self.all[set][MOST_WAYS])
    }

    /// A place is the last one that was used, or the first.
    fn reorder(&mut self, place: usize, is_last: bool) {
        let (set, way) = (place / self.ways, place % self.ways);
        let order = &mut self.all[set][MOST_WAYS..MOST_WAYS + self.ways];
        let last = order.len() - 1;
        let at = (0..=last).find(|&at| usize::from(order[at]) ^ at == way).unwrap_or(last);
        // The others close up, and so stand elsewhere.
        let moved = |from: usize, to: usize, other: u8| other ^ from as u8 ^ to as u8;
        if is_last {
            (at..last).for_each(|to| order[to] = moved(to + 1, to, order[to + 1]));
            order[last] = (way ^ last) as u8;
        } else {
            (1..=at).rev().for_each(|to| order[to] = moved(to - 1, to, order[to - 1]));
            order[0] = way as u8;
        }
    }

    /// Sectors of a line that are there. Nothing changes, so that the host may look for several lines at the same time.
    pub(crate) fn peek(&self, line: u64) -> u8 {
        self.find(line).map_or(0, |place| self.places[place][VALID] as u8)
    }

    fn touch(&mut self, place: usize) {
        self.reorder(place, true);
    }

    fn is_unused(&self, place: usize) -> bool {
        self.all[place / self.ways][place % self.ways] == 0
    }

    /// What there is of a line, of which sectors are asked for.
    pub(crate) fn look(&mut self, line: u64, sectors: u8) -> Found {
        let Some(place) = self.find(line) else {
            return Found { valid: 0, ready: 0.0, parts: 0, writer: 0 };
        };
        self.touch(place);
        let of = &self.places[place];
        let valid = of[VALID] as u8;
        let ready =
            each(sectors & valid).map(|sector| f64::from_bits(of[READY + sector])).fold(0.0, f64::max);
        Found { valid, ready, parts: (of[VALID] >> PARTS) as u8, writer: (of[VALID] >> WRITER) as u32 }
    }

    /// Takes in sectors of a line of which somebody writes parts; those that are there stay as they are.
    pub(crate) fn take_parts(&mut self, line: u64, sectors: u8, writer: u32) {
        self.take(line, 0, 0.0, 0);
        let Some(place) = self.find(line) else { return };
        let valid = &mut self.places[place][VALID];
        let parts = u64::from(sectors) & !*valid & 15;
        if parts != 0 {
            *valid = *valid & 0xffff_ffff | parts << PARTS | u64::from(writer) << WRITER;
        }
    }

    /// Takes in sectors of a line, which are there from a time on; of which some were written, maybe elsewhere, too.
    pub(crate) fn take(&mut self, line: u64, sectors: u8, ready: f64, written: u8) -> Taken {
        let mut gone = Dirty::default();
        let set = self.set(line);
        let place = self.find_in(set, line).unwrap_or_else(|| {
            let oldest = self.oldest(set);
            gone = Dirty::of(self.places[oldest][DIRTY] as u8);
            if self.is_unused(oldest) && self.before(oldest).is_some_and(|number| number >= self.cleaned) {
                gone = Dirty::OF_BEFORE;
            }
            self.places[oldest] = [line + 1, 0, 0, 0, 0, 0, 0, 0];
            self.taken += 1;
            self.all[set][oldest % self.ways] = tag(line);
            oldest
        });
        self.touch(place);
        let of = &mut self.places[place];
        for sector in each(sectors) {
            let own = &mut of[READY + sector];
            *own = f64::from_bits(*own).max(ready).to_bits();
        }
        of[VALID] = (of[VALID] | u64::from(sectors)) & !(u64::from(sectors) << PARTS);
        let before = Dirty::of(of[DIRTY] as u8);
        of[DIRTY] |= u64::from(written);
        Taken { gone, new: Dirty::of(of[DIRTY] as u8).less(before) }
    }

    /// Nothing is in a place.
    fn empty(&mut self, place: usize) {
        self.all[place / self.ways][place % self.ways] = 0;
        self.places[place] = [0; 8];
        self.reorder(place, false);
    }

    /// Sectors of a line are no longer there; where none is left, its place is the next one that is taken.
    pub(crate) fn forget(&mut self, line: u64, sectors: u8) {
        let Some(place) = self.find(line) else { return };
        let of = &mut self.places[place];
        of[VALID] &= !(u64::from(sectors) | u64::from(sectors) << PARTS);
        of[DIRTY] &= !u64::from(sectors);
        if of[VALID] as u16 == 0 {
            self.empty(place);
        }
    }

    /// Nothing is there any more of lines below one.
    pub(crate) fn forget_below(&mut self, bound: u64) {
        for place in 0..self.places.len().min(self.all.len() * self.ways) {
            let number = self.places[place][NUMBER];
            if !self.is_unused(place) && number <= bound {
                self.empty(place);
            }
        }
    }

    /// A line that was written before is clean from now on, if there is one that is not yet.
    pub(crate) fn clean_before(&mut self) -> Option<Dirty> {
        while self.cleaned < self.before {
            let place = self.place_of_before(self.cleaned);
            self.cleaned += 1;
            if self.is_unused(place) {
                return Some(Dirty::OF_BEFORE);
            }
        }
        None
    }

    /// What was written of a line is clean from now on.
    pub(crate) fn clean(&mut self, line: u64) -> Dirty {
        self.find(line)
            .map_or(Dirty::default(), |place| Dirty::of(std::mem::take(&mut self.places[place][DIRTY]) as u8))
    }

    /// Whether some of a line was written, and is not in memory.
    pub(crate) fn is_dirty(&self, line: u64) -> bool {
        self.find(line).is_some_and(|place| self.places[place][DIRTY] != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn lines_whose_tags_are_alike_are_told_apart() {
        let mut cache = Cache::new(4 * 128, 4);
        let others = (1..).filter(|&line| tag(line) == tag(0));
        let alike: Vec<u64> = std::iter::once(0).chain(others).take(3).collect();
        alike.iter().zip([1, 2, 4]).for_each(|(&line, sectors)| _ = cache.take(line, sectors, 1.0, 0));
        assert_eq!(alike.iter().map(|&line| cache.look(line, 0).valid).collect::<Vec<_>>(), [1, 2, 4]);
    }

    proptest! {
        /// Who goes is the one that was used the longest ago, whatever was used, and left, before.
        #[test]
        fn the_order_of_use_is_kept(
            ways in 1u32..40,
            steps in proptest::collection::vec((0u8..3, 0u64..60), 1..300),
        ) {
            let mut cache = Cache::new(u64::from(ways) * 128, ways);
            let most = cache.sets as usize * cache.ways;
            // The last one that was used at the end.
            let mut lines: Vec<u64> = Vec::new();
            for (kind, line) in steps {
                let known = lines.iter().position(|&of| of == line);
                match kind {
                    0 => {
                        prop_assert_eq!(cache.look(line, 1).valid, u8::from(known.is_some()));
                        if let Some(at) = known {
                            let line = lines.remove(at);
                            lines.push(line);
                        }
                    }
                    1 => {
                        known.map(|at| lines.remove(at));
                        if lines.len() == most {
                            lines.remove(0);
                        }
                        lines.push(line);
                        cache.take(line, 1, 1.0, 0);
                    }
                    _ => {
                        known.map(|at| lines.remove(at));
                        cache.forget(line, 15);
                    }
                }
                let there = (0..60).filter(|&line| cache.find(line).is_some()).collect::<Vec<_>>();
                let mut expected = lines.clone();
                expected.sort_unstable();
                prop_assert_eq!(there, expected);
            }
        }
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
        cache.forget_below(3);
        assert_eq!([0, 1, 2, 3, 7].map(|line| cache.look(line, 0).valid), [0, 0, 0, 15, 15]);
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
