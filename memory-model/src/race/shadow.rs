//! The shadow of memory: a cell a word, and the accesses of warps to runs of them.
//!
//! Four bytes of shadow stand for a word of four bytes. Most accesses of a warp find their words in one state, or in a
//! few one after the other, with shifts that go with the lanes; then one step serves all of them, and often it is known
//! already.

use super::access::{Class, Conflict, Kind, Now, bits};
use super::states::{States, Step, cell, origin, parts, reserve};
use super::table::{self, Look, Readers, Settled, TABLE};
use rustc_hash::FxHashMap;

/// Words of a page.
const WORDS: usize = 1024;
/// Steps that are kept: so many sets of so many, of which the newest is the first.
const SETS: usize = 1 << 8;
const WAYS: usize = 4;
/// Pages that are found without hashing.
const NEAR: usize = 128;

/// A step that was taken before.
#[derive(Clone, Copy, Default)]
pub(super) struct Memo {
    /// Stamps of what the step leads from and to.
    from: u32,
    to_stamp: u32,
    /// Lanes counted from the origin.
    lanes: u32,
    /// The warp's version, which stands for who, when and with what clock.
    version: u32,
    /// Class, kind and site.
    what: u64,
    to: u32,
    /// The new shift, counted from the origin.
    shift: u32,
}

/// Words of a piece of a page.
const PIECE: usize = 16;

/// Cells of a stretch of memory.
struct Page {
    /// All of them, or pieces.
    cells: Vec<u32>,
    /// Of a page of which few words were accessed, each by itself: where its pieces are, plus one.
    pieces: Option<Box<[u8; WORDS / PIECE]>>,
    /// All cells that are not zero lie between the two, in fleeting memory.
    low: u32,
    high: u32,
    /// Of words of tables, once there are any.
    tables: Tables,
}

impl Page {
    /// With all cells, or with pieces as they are accessed.
    fn new(whole: bool) -> Self {
        let cells = if whole { vec![0; WORDS] } else { Vec::new() };
        let pieces = (!whole).then(|| Box::new([0; WORDS / PIECE]));
        Self { cells, pieces, low: WORDS as u32, high: 0, tables: None }
    }

    /// Where the cell of a word is.
    #[inline]
    fn place(&mut self, at: usize) -> usize {
        match &self.pieces {
            None => at,
            Some(pieces) => match pieces[at / PIECE] {
                0 => self.new_place(at),
                piece => (usize::from(piece) - 1) * PIECE + at % PIECE,
            },
        }
    }

    #[inline(never)]
    fn new_place(&mut self, at: usize) -> usize {
        let end = self.cells.len();
        match &mut self.pieces {
            Some(pieces) if end < WORDS / 4 => {
                if end == self.cells.capacity() {
                    self.cells.reserve_exact(end.max(4 * PIECE));
                }
                self.cells.resize(end + PIECE, 0);
                pieces[at / PIECE] = (end / PIECE + 1) as u8;
                end + at % PIECE
            }
            _ => {
                self.make_whole();
                at
            }
        }
    }

    fn make_whole(&mut self) {
        if let Some(pieces) = self.pieces.take() {
            let some = std::mem::replace(&mut self.cells, vec![0; WORDS]);
            for (to, piece) in self.cells.chunks_exact_mut(PIECE).zip(*pieces) {
                if piece != 0 {
                    to.copy_from_slice(&some[(usize::from(piece) - 1) * PIECE..][..PIECE]);
                }
            }
        }
    }
}

/// The readers of the words of a page.
type Tables = Option<Box<[Readers]>>;

/// Cells from one word of a page on.
struct Run<'a> {
    cells: &'a mut [u32],
    tables: &'a mut Tables,
    /// The first word in its page.
    first: usize,
    states: &'a mut States,
}

/// Whether a read of a word adds nothing, as its cell tells; then it was noted.
#[inline]
fn is_settled(cell: u32, tables: &mut Tables, at: usize, settled: Option<Settled>) -> bool {
    let Some(settled) = settled else { return false };
    let takes = settled.takes(cell);
    if takes && let Some(tables) = tables {
        settled.note(cell, &mut tables[at]);
    }
    takes
}

/// Cells of some memory, and the states that they are in.
pub(super) struct Cells {
    pages: Vec<Page>,
    index: FxHashMap<u64, u32>,
    /// Pages used last: the number plus one, and where it is.
    near: [(u64, u32); NEAR],
    /// Whether all is forgotten again and again: then pages know where there is something to forget.
    fleeting: bool,
    pub(super) states: States,
}

impl Cells {
    /// Of memory that is `fleeting`, all is forgotten again and again.
    pub(super) fn new(fleeting: bool) -> Self {
        Self {
            pages: Vec::new(),
            index: FxHashMap::default(),
            near: [(0, 0); NEAR],
            fleeting,
            states: States::new(),
        }
    }

    /// The page of a word, of which so many are accessed.
    #[inline(always)]
    fn page(&mut self, word: u64, count: u32) -> usize {
        let number = word / WORDS as u64;
        let near = self.near[number as usize % NEAR];
        if near.0 == number + 1 { near.1 as usize } else { self.far_page(number, count > 1) }
    }

    /// A page by its number, which is near then; if it is new, with all cells or not.
    #[inline(never)]
    fn far_page(&mut self, number: u64, whole: bool) -> usize {
        let pages = &mut self.pages;
        let whole = whole || self.fleeting;
        let at = *self.index.entry(number).or_insert_with(|| {
            reserve(pages);
            pages.push(Page::new(whole));
            pages.len() as u32 - 1
        });
        self.near[number as usize % NEAR] = (number + 1, at);
        at as usize
    }

    /// At most `count` cells from a word on, to the end of its page, and their states.
    #[inline]
    fn run(&mut self, word: u64, count: u32) -> Run<'_> {
        let page = self.page(word, count);
        self.run_of(page, word, count)
    }

    /// The same, if the number of the page is known.
    #[inline]
    fn run_of(&mut self, page: usize, word: u64, count: u32) -> Run<'_> {
        let page = &mut self.pages[page];
        let first = (word % WORDS as u64) as u32;
        let end = (first + count).min(WORDS as u32);
        if self.fleeting {
            page.low = page.low.min(first);
            page.high = page.high.max(end);
        }
        let (first, length) = (first as usize, (end - first) as usize);
        if length > 1 {
            page.make_whole();
        }
        let place = page.place(first);
        let cells = &mut page.cells[place..place + length];
        Run { cells, tables: &mut page.tables, first, states: &mut self.states }
    }

    /// Brings near what is known of words, given by page and place.
    #[inline]
    fn look_ahead(&mut self, words: impl Iterator<Item = (usize, usize)>) {
        let mut seen = 0;
        for (page, at) in words {
            let page = &mut self.pages[page];
            let place = page.place(at);
            let cell = page.cells[place];
            seen ^= match &page.tables {
                Some(tables) if cell & TABLE != 0 => tables[at].place(),
                _ => self.states.look_at(parts(cell).0),
            };
        }
        std::hint::black_box(seen);
    }

    /// Whether surely nobody has accessed words since they were forgotten: looks at each if `exact`, in fleeting memory.
    #[inline]
    pub(super) fn are_untouched(&mut self, mut word: u64, end: u64, exact: bool) -> bool {
        while word < end {
            let at = self.page(word, 1);
            let page = &self.pages[at];
            let low = word % WORDS as u64;
            let high = (low + (end - word)).min(WORDS as u64);
            if low < page.high.into()
                && high > page.low.into()
                && !(exact && page.cells[low as usize..high as usize].iter().all(|&cell| cell == 0))
            {
                return false;
            }
            word += high - low;
        }
        true
    }

    /// Forgets the accesses of some words.
    pub(super) fn forget(&mut self, mut word: u64, end: u64) {
        while word < end {
            let Run { cells, tables, first, states } = self.run(word, (end - word).min(WORDS as u64) as u32);
            for (at, cell) in (first..).zip(cells.iter_mut()) {
                match tables {
                    Some(tables) if *cell & TABLE != 0 => {
                        states.drop_table(*cell, std::mem::take(&mut tables[at]));
                    }
                    _ => states.leave(parts(*cell).0, 1),
                }
                *cell = 0;
            }
            word += cells.len() as u64;
        }
    }

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        for page in &mut self.pages {
            if page.low < page.high {
                page.cells[page.low as usize..page.high as usize].fill(0);
                (page.low, page.high) = (WORDS as u32, 0);
            }
        }
        self.states.clear();
    }

    pub(super) fn touched(&self) -> usize {
        self.pages.iter().flat_map(|page| page.cells.iter()).filter(|&&cell| cell != 0).count()
    }

    pub(super) fn bytes(&self) -> usize {
        let own = |page: &Page| {
            4 * page.cells.capacity()
                + page.pieces.as_ref().map_or(0, |pieces| size_of_val(&**pieces))
                + page.tables.as_ref().map_or(0, |tables| size_of_val(&**tables))
        };
        self.pages.iter().map(own).sum::<usize>()
            + self.pages.capacity() * size_of::<Page>()
            + self.index.capacity() * 16
            + self.states.bytes()
    }
}

/// The steps between states that were taken last. Those of global memory hold the states that they lead to, as a cell
/// would: words that come to one after the other are in one state then, whatever becomes of the first.
pub(super) struct Shadow {
    global: Vec<[Memo; WAYS]>,
    shared: Vec<[Memo; WAYS]>,
}

/// What an access to words comes to.
pub(super) struct Found {
    pub(super) word: u64,
    /// Lanes of the access that touch the word.
    pub(super) lanes: u32,
    pub(super) conflict: Conflict,
    /// Accesses that race so.
    pub(super) times: u32,
}

impl Default for Shadow {
    fn default() -> Self {
        let memo = vec![[Memo::default(); WAYS]; SETS];
        Self { global: memo.clone(), shared: memo }
    }
}

/// An access that is being made.
pub(super) struct Doing<'a, 'f> {
    pub(super) now: Now<'a>,
    pub(super) kind: Kind,
    /// The version of the warp's clock and epoch.
    pub(super) version: u32,
    /// Shared memory, whose states have numbers of their own.
    pub(super) shared: bool,
    /// Several lanes access words side by side.
    pub(super) row: bool,
    /// The state that one lane's access of an untouched word leaves, once it was needed, and its stamp.
    pub(super) fresh: Option<(u32, u32)>,
    /// The step of a single lane before.
    pub(super) last: Memo,
    /// Accesses that a step stands for.
    pub(super) times: u32,
    /// How often threads have learned of other CTAs so far.
    pub(super) era: u32,
    pub(super) found: &'f mut Vec<Found>,
}

impl Doing<'_, '_> {
    fn what(&self) -> u64 {
        u64::from(self.now.class.bits()) << 32
            | u64::from(self.shared) << 20
            | u64::from(self.now.site) << 2
            | self.kind as u64
    }

    pub(super) fn set_class(&mut self, class: Class) {
        if class != self.now.class {
            self.now.class = class;
            self.fresh = None;
        }
    }
}

/// How lanes are spread over the words that they access side by side.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// Lanes of a word, as a logarithm.
    pub(super) lanes_log: u32,
    /// Words of a lane, as a logarithm.
    pub(super) words_log: u32,
}

impl Spread {
    /// A lane a word.
    pub(super) const EVEN: Self = Self { lanes_log: 0, words_log: 0 };

    /// How many lanes further the lanes of a word are than those of the first.
    #[inline]
    fn lanes_at(self, word: u32) -> u32 {
        word << self.lanes_log >> self.words_log
    }
}

/// The cell whose shift is so many lanes further.
#[inline]
fn moved(cell: u32, lanes: u32) -> u32 {
    cell & !31 | cell.wrapping_add(lanes) & 31
}

impl Memo {
    /// Without what a step leads to; and which set it belongs to.
    #[inline]
    fn key(states: &States, old: u32, lanes: u32, doing: &Doing<'_, '_>) -> (Self, usize) {
        let (from, lanes) = (states.stamp(parts(old).0), lanes.rotate_right(origin(old, lanes)));
        let (what, version) = (doing.what(), doing.version);
        let key = u64::from(from ^ lanes.rotate_left(16)) << 32 | u64::from(version);
        let hash = (key ^ what.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        (Self { from, lanes, version, what, ..Self::default() }, hash as usize % SETS)
    }

    /// Whether it is that step, and what it leads to is still there.
    #[inline]
    fn holds(&self, key: &Self, states: &States) -> bool {
        self.version == key.version
            && self.from == key.from
            && self.lanes == key.lanes
            && self.what == key.what
            && states.stamp(self.to) == self.to_stamp
    }
}

impl Shadow {
    pub(super) fn bytes(&self) -> usize {
        (self.global.len() + self.shared.len()) * size_of::<[Memo; WAYS]>()
    }

    /// Forgets the steps.
    pub(super) fn clear(&mut self, global: &mut States) {
        for memo in self.global.iter_mut().flatten().filter(|memo| memo.version != 0) {
            global.leave(memo.to, 1);
            *memo = Memo::default();
        }
        self.shared.fill([Memo::default(); WAYS]);
    }

    /// One step of `count` cells in a state, with shifts that go with the lanes: some lanes access the word of the first.
    /// Gives the new first cell; `None` if nothing was done because it differs from cell to cell.
    fn step(
        &mut self,
        states: &mut States,
        old: u32,
        count: u32,
        lanes: u32,
        word: u64,
        doing: &mut Doing<'_, '_>,
    ) -> Option<u32> {
        // Single lanes anywhere mostly go ways of their own: only the step before is worth a look. But the first accesses of
        // words are alike.
        let alone = count == 1 && lanes.is_power_of_two() && !doing.row && (old != 0 || doing.shared);
        let (state, from) = (parts(old).0, origin(old, lanes));
        let (key, at) = Memo::key(states, old, lanes, doing);
        let memos = if doing.shared { &mut self.shared } else { &mut self.global };
        let set = if alone { std::slice::from_mut(&mut doing.last) } else { &mut memos[at] };
        if let Some(memo) = set.iter().find(|memo| memo.holds(&key, states)) {
            states.transfer(state, memo.to, count);
            if !alone {
                states.repeated(memo.to);
            }
            return Some(cell(memo.to, (from + memo.shift) & 31));
        }
        let now = Now { lanes, ..doing.now };
        match states.step(old, count, &now, doing.kind) {
            Step::To { cell, lasting } => {
                // Atomics of one word follow one another: nothing is to be kept from changing in place.
                if lasting && (doing.kind != Kind::Atomic || state == 0) {
                    let (to, shift) = parts(cell);
                    let shift = shift.wrapping_sub(from) & 31;
                    let new = Memo { to_stamp: states.stamp(to), to, shift, ..key };
                    let mut gone = new;
                    set.iter_mut().for_each(|memo| std::mem::swap(memo, &mut gone));
                    if !alone && !doing.shared {
                        states.enter(to, 1);
                        if gone.version != 0 {
                            states.leave(gone.to, 1);
                        }
                    }
                }
                Some(cell)
            }
            Step::Race { .. } if doing.kind == Kind::Read && !lanes.is_power_of_two() => {
                Some(self.race_of_one(states, old, lanes, word, doing))
            }
            Step::Race { cell, conflict } => {
                doing.found.push(Found { word, lanes, conflict, times: doing.times });
                Some(cell)
            }
            Step::OneByOne => None,
        }
    }

    /// The same of one cell of global memory if the step was taken before.
    #[inline]
    fn again(&self, states: &mut States, old: u32, lanes: u32, doing: &Doing<'_, '_>) -> Option<u32> {
        let (key, at) = Memo::key(states, old, lanes, doing);
        let memo = self.global[at].iter().find(|memo| memo.holds(&key, states))?;
        states.transfer(parts(old).0, memo.to, 1);
        Some(cell(memo.to, (origin(old, lanes) + memo.shift) & 31))
    }

    /// Several lanes read a word, and together they seem to race: one may have written it and another have observed that. The
    /// first one that races, if any does, stands for all.
    #[cold]
    fn race_of_one(
        &mut self,
        states: &mut States,
        old: u32,
        lanes: u32,
        word: u64,
        doing: &mut Doing<'_, '_>,
    ) -> u32 {
        let before = doing.found.len();
        let step = |cell, lane: u32| self.step(states, cell, 1, 1 << lane, word, doing).unwrap_or(cell);
        let cell = bits(lanes).fold(old, step);
        let racing = doing.found[before..].iter().fold(0, |all, found| all | found.lanes);
        doing.found.truncate(before + 1);
        doing.found[before..].iter_mut().for_each(|found| found.lanes = racing);
        cell
    }

    /// All lanes access one word.
    pub(super) fn word(&mut self, cells: &mut Cells, word: u64, lanes: u32, doing: &mut Doing<'_, '_>) {
        self.one(&mut cells.run(word, 1), 0, word, lanes, doing);
    }

    /// All lanes access one word of a run.
    #[inline]
    fn one(&mut self, run: &mut Run<'_>, at: usize, word: u64, lanes: u32, doing: &mut Doing<'_, '_>) {
        let old = run.cells[at];
        if old == 0 && lanes.is_power_of_two() {
            run.cells[at] = self.fresh(run.states, word, lanes, doing);
            return;
        }
        self.one_known(run, at, word, lanes, doing);
    }

    /// The same of a word that was accessed before, or by several lanes at once.
    #[inline(never)]
    fn one_known(&mut self, run: &mut Run<'_>, at: usize, word: u64, lanes: u32, doing: &mut Doing<'_, '_>) {
        let old = run.cells[at];
        let now = Now { lanes, ..doing.now };
        if old & TABLE == 0 {
            if old != 0 && doing.kind == Kind::Atomic && run.states.follows(old, &now) {
                self.only_this(run, at, word, lanes, doing);
                return;
            }
            if let Some(conflict) = run.states.plain_race(old, &now, doing.kind) {
                // A read that races leaves nothing.
                if doing.kind == Kind::Read || doing.now.class.mask() == 15 {
                    doing.found.push(Found { word, lanes, conflict, times: doing.times });
                    if doing.kind != Kind::Read {
                        self.only_this(run, at, word, lanes, doing);
                    }
                    return;
                }
            }
        }
        if !doing.shared
            && (old & TABLE != 0 || Self::may_become(old, run.states, doing))
            && self.of_table(run, at, word, lanes, doing)
        {
            return;
        }
        let (old, races) = (run.cells[at], doing.found.len());
        run.cells[at] = self.step(run.states, old, 1, lanes, word, doing).unwrap_or(old);
        // What races leaves itself, as if nothing had been there: words of that kind are in one state.
        if doing.found.len() > races && doing.kind != Kind::Read && doing.now.class.mask() == 15 {
            self.only_this(run, at, word, lanes, doing);
        }
    }

    /// Nothing but the access is known of a word any more.
    fn only_this(&mut self, run: &mut Run<'_>, at: usize, word: u64, lanes: u32, doing: &mut Doing<'_, '_>) {
        run.states.leave(parts(run.cells[at]).0, 1);
        run.cells[at] = self.fresh(run.states, word, lanes, doing);
    }

    /// Whether an access may make a word one of a table.
    #[inline]
    fn may_become(old: u32, states: &States, doing: &Doing<'_, '_>) -> bool {
        let strong = doing.now.class.is_strong();
        old != 0
            && (doing.kind == Kind::Read || doing.kind == Kind::Atomic && strong)
            && (states.is_crowded(strong) || states.are_much_read(old))
    }

    /// The cell of a word of which nothing but the access is known; of several lanes, of the last one's.
    #[inline]
    fn fresh(&mut self, states: &mut States, word: u64, lanes: u32, doing: &mut Doing<'_, '_>) -> u32 {
        let last = 31 - lanes.leading_zeros().min(31);
        match doing.fresh {
            Some((state, stamp)) if states.stamp(state) == stamp => {
                states.enter(state, 1);
                cell(state, last)
            }
            _ => {
                let new = self.step(states, 0, 1, 1 << last, word, doing).unwrap_or(0);
                doing.fresh = Some((parts(new).0, states.stamp(parts(new).0)));
                new
            }
        }
    }

    /// An access of a word that is one of a table, or may become one by it. False if it has still to be done, and is none
    /// then.
    fn of_table(
        &mut self,
        run: &mut Run<'_>,
        at: usize,
        word: u64,
        lanes: u32,
        doing: &mut Doing<'_, '_>,
    ) -> bool {
        let Run { cells, tables, first, states } = run;
        let (slot, place) = (&mut cells[at], *first + at);
        let now = Now { lanes, ..doing.now };
        states.begin_era(doing.era);
        if *slot & TABLE == 0 {
            let Some((readers, cell)) = states.enter_table(*slot, doing.era, &now) else { return false };
            let tables = tables.get_or_insert_with(|| vec![Readers::default(); WORDS].into_boxed_slice());
            (tables[place], *slot) = (readers, cell);
        }
        let Some(readers) = tables.as_mut().map(|tables| &mut tables[place]) else { return false };
        match table::look(*slot, readers, states, doing.era, doing.kind, &now) {
            Look::Known => {}
            Look::New => {
                let new = if lanes.is_power_of_two() {
                    self.fresh(states, word, lanes, doing)
                } else {
                    self.step(states, 0, 1, lanes, word, doing).unwrap_or(0)
                };
                *slot = states.add_reader(*slot, readers, doing.era, new, &now);
            }
            Look::Write => {
                let new = self.fresh(states, word, lanes, doing);
                *slot = states.set_write(*slot, readers, new);
            }
            Look::Race(conflict) => {
                doing.found.push(Found { word, lanes, conflict, times: doing.times });
                // A read that races leaves nothing, a write itself.
                if doing.kind != Kind::Read {
                    states.drop_table(*slot, std::mem::take(readers));
                    *slot = self.fresh(states, word, lanes, doing);
                }
            }
            Look::Other => {
                *slot = states.leave_table(*slot, std::mem::take(readers));
                return false;
            }
        }
        true
    }

    /// Each lane accesses a word anywhere.
    pub(super) fn scattered(&mut self, cells: &mut Cells, addresses: &[u64; 32], doing: &mut Doing<'_, '_>) {
        let word = |lane: u32| addresses[lane as usize & 31] >> 2;
        let mut pages = [0; 32];
        let mut rest =
            if doing.shared { doing.now.lanes } else { self.settle(cells, addresses, doing, &mut pages) };
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let word = word(lane);
            let page = if doing.shared { cells.page(word, 1) } else { pages[lane as usize & 31] };
            rest &= rest - 1;
            let mut run = cells.run_of(page, word, 1);
            let mut alike = 1 << lane;
            if doing.kind == Kind::Read {
                // Neighbours that read one word are taken together.
                while rest != 0 && addresses[rest.trailing_zeros() as usize & 31] >> 2 == word {
                    alike |= rest & rest.wrapping_neg();
                    rest &= rest - 1;
                }
            }
            self.one(&mut run, 0, word, alike, doing);
        }
    }

    /// Looks for the words of lanes before the first one is judged, so that memory is waited for once, and does what there
    /// is nothing to judge of: reads that add nothing, and first accesses. Gives the lanes that are left, with their pages.
    #[inline]
    fn settle(
        &mut self,
        cells: &mut Cells,
        addresses: &[u64; 32],
        doing: &mut Doing<'_, '_>,
        pages: &mut [usize; 32],
    ) -> u32 {
        let word = |lane: u32| addresses[lane as usize & 31] >> 2;
        let reads = doing.kind == Kind::Read;
        let settled = reads.then(|| Settled::new(doing.now.class, doing.era, doing.now.cta)).flatten();
        let (mut rest, mut last, mut seen) = (0, (u64::MAX, 0), 0);
        for lane in bits(doing.now.lanes) {
            let own = word(lane);
            if last.0 != own / WORDS as u64 {
                last = (own / WORDS as u64, cells.page(own, 1));
            }
            let at = own as usize % WORDS;
            let page = &mut cells.pages[last.1];
            let place = page.place(at);
            let slot = &mut page.cells[place];
            if is_settled(*slot, &mut page.tables, at, settled) {
                continue;
            }
            // Neighbours that read one word are taken together.
            if *slot == 0 && !(reads && word(lane + 1) == own) {
                *slot = self.fresh(&mut cells.states, own, 1 << lane, doing);
                continue;
            }
            seen |= *slot;
            rest |= 1 << lane;
            pages[lane as usize & 31] = last.1;
        }
        if seen != 0 {
            let at = |lane: u32| (pages[lane as usize & 31], word(lane) as usize % WORDS);
            cells.look_ahead(bits(rest).map(at));
        }
        rest
    }

    /// Lanes access `count` words side by side: these lanes the first word, later ones the next.
    pub(super) fn side_by_side(
        &mut self,
        cells: &mut Cells,
        word: u64,
        lanes: u32,
        count: u32,
        spread: Spread,
        doing: &mut Doing<'_, '_>,
    ) {
        let mut at = 0;
        while at < count {
            let word = word + u64::from(at);
            let mut run = cells.run(word, count - at);
            let length = run.cells.len() as u32;
            if at == 0 && spread == Spread::EVEN {
                if let Ok(row) = <&mut [u32; 32]>::try_from(&mut *run.cells) {
                    if self.row(row, run.states, word, lanes, doing) {
                        return;
                    }
                } else if let Ok(row) = <&mut [u32; 16]>::try_from(&mut *run.cells)
                    && count == 16
                    && self.row(row, run.states, word, lanes, doing)
                {
                    return;
                }
            }
            self.run(&mut run, word, lanes, at, spread, doing);
            at += length;
        }
    }

    /// Whether words are not taken together because they are, or should be, of a table.
    #[inline]
    fn goes_by_word(start: u32, states: &States, doing: &Doing<'_, '_>) -> bool {
        start & TABLE != 0 || !doing.shared && doing.kind == Kind::Read && states.are_much_read(start)
    }

    /// A row of words in one state; false if nothing was done.
    #[inline]
    fn row<const COUNT: usize>(
        &mut self,
        row: &mut [u32; COUNT],
        states: &mut States,
        word: u64,
        lanes: u32,
        doing: &mut Doing<'_, '_>,
    ) -> bool {
        let start = row[0];
        let mut apart = 0;
        if start == 0 {
            row.iter().for_each(|&cell| apart |= cell);
        } else {
            for (i, &cell) in (0..).zip(row.iter()) {
                apart |= cell ^ moved(start, i);
            }
        }
        if apart != 0 || Self::goes_by_word(start, states, doing) {
            return false;
        }
        let Some(to) = self.step(states, start, COUNT as u32, lanes, word, doing) else { return false };
        if to != start {
            for (i, cell) in (0..).zip(row.iter_mut()) {
                *cell = moved(to, i);
            }
        }
        true
    }

    /// Words from number `first` of an access on, which begins with these lanes.
    #[allow(clippy::too_many_arguments, reason = "one place of calls")]
    fn run(
        &mut self,
        run: &mut Run<'_>,
        word: u64,
        lanes: u32,
        first: u32,
        spread: Spread,
        doing: &mut Doing<'_, '_>,
    ) {
        let mut at = 0;
        let settled = (doing.kind == Kind::Read && !doing.shared)
            .then(|| Settled::new(doing.now.class, doing.era, doing.now.cta))
            .flatten();
        let by_one = !doing.shared && run.states.is_crowded(doing.now.class.is_strong());
        while at < run.cells.len() {
            let (start, here) = (run.cells[at], spread.lanes_at(first + at as u32));
            if is_settled(start, run.tables, run.first + at, settled) {
                at += 1;
                continue;
            }
            if Self::goes_by_word(start, run.states, doing) {
                self.one(run, at, word + at as u64, lanes << here, doing);
                at += 1;
                continue;
            }
            let states = &mut *run.states;
            let rest = &mut run.cells[at..];
            let number = first + at as u32;
            let further = |i: usize| spread.lanes_at(number + i as u32) - here;
            let alike = |i: usize, cell: u32| cell == if start == 0 { 0 } else { moved(start, further(i)) };
            let length = 1 + rest[1..].iter().zip(1..).take_while(|&(&cell, i)| alike(i, cell)).count();
            if by_one && length == 1 {
                if let Some(to) = self.again(states, start, lanes << here, doing) {
                    run.cells[at] = to;
                    at += 1;
                    continue;
                }
                self.one(run, at, word + at as u64, lanes << here, doing);
                at += 1;
                continue;
            }
            let segment = &mut rest[..length];
            let word = word + at as u64;
            match self.step(states, start, length as u32, lanes << here, word, doing) {
                Some(to) if to != start => {
                    for (i, cell) in segment.iter_mut().enumerate() {
                        *cell = moved(to, further(i));
                    }
                }
                Some(_) => {}
                None => {
                    for (i, cell) in segment.iter_mut().enumerate() {
                        let lanes = lanes << (here + further(i));
                        *cell = self.step(states, *cell, 1, lanes, word + i as u64, doing).unwrap_or(*cell);
                    }
                }
            }
            at += length;
        }
    }
}
