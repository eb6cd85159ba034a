//! The shadow of memory: a cell a word, and the accesses of warps to runs of them.
//!
//! Four bytes of shadow stand for a word of four bytes. Most accesses of a warp find their words in one state, with
//! shifts that go with the lanes; then one step serves all of them, and mostly it is known already.

use super::state::{Class, Conflict, Kind, Now, States, cell, origin, parts};
use rustc_hash::FxHashMap;

/// Words of a page.
const WORDS: usize = 1024;
/// Steps that are kept.
const MEMO: usize = 1 << 10;
/// States after which unused ones are looked for, at the least.
const COLLECT: usize = 1 << 13;

/// A step that was taken before.
#[derive(Clone, Copy, Default)]
struct Memo {
    state: u32,
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

/// Cells of some memory, and the states that they are in.
pub(super) struct Cells {
    pages: Vec<Box<[u32; WORDS]>>,
    index: FxHashMap<u64, u32>,
    /// Page used last: its number plus one, and where it is.
    last: (u64, usize),
    pub(super) states: States,
    /// Number of states, and bytes of them, at which unused ones are looked for.
    collect_at: (usize, usize),
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            index: FxHashMap::default(),
            last: (0, 0),
            states: States::new(),
            collect_at: (COLLECT, 1 << 20),
        }
    }
}

impl Cells {
    /// The cells from a word on, to the end of its page.
    fn run(&mut self, word: u64) -> &mut [u32] {
        let page = word / WORDS as u64;
        if self.last.0 != page + 1 {
            let pages = &mut self.pages;
            let at = *self.index.entry(page).or_insert_with(|| {
                pages.push(Box::new([0; WORDS]));
                pages.len() as u32 - 1
            });
            self.last = (page + 1, at as usize);
        }
        &mut self.pages[self.last.1][(word % WORDS as u64) as usize..]
    }

    /// Forgets the accesses of some words.
    pub(super) fn forget(&mut self, mut word: u64, end: u64) {
        while word < end {
            let run = self.run(word);
            let length = run.len().min((end - word) as usize);
            run[..length].fill(0);
            word += length as u64;
        }
    }

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        for page in &mut self.pages {
            page.fill(0);
        }
        self.states.clear();
    }

    pub(super) fn touched(&self) -> usize {
        self.pages.iter().flat_map(|page| page.iter()).filter(|&&cell| cell != 0).count()
    }

    pub(super) fn bytes(&self) -> usize {
        self.pages.len() * (4 * WORDS + 32) + self.states.bytes()
    }

    /// Drops states that no cell is in, if there are many. True if they have new numbers now.
    pub(super) fn collect(&mut self) -> bool {
        // As long as states take less than cells there is no need to look at all of them.
        let (count, bytes) = (self.states.count(), self.states.bytes());
        let small = count < self.collect_at.0 || bytes < 4 * WORDS * self.pages.len();
        if small && bytes < self.collect_at.1.max(8 * WORDS * self.pages.len()) {
            return false;
        }
        let mut numbers = vec![0u32; self.states.count()];
        for page in &self.pages {
            for &cell in page.iter() {
                numbers[parts(cell).0 as usize] = 1;
            }
        }
        numbers[0] = 0;
        self.states.compact(&mut numbers);
        for page in &mut self.pages {
            for cell in page.iter_mut() {
                let (state, shift) = parts(*cell);
                *cell = if state == 0 { 0 } else { numbers[state as usize] << 5 | shift };
            }
        }
        self.collect_at = (COLLECT.max(2 * self.states.count()), (1 << 20).max(2 * self.states.bytes()));
        true
    }
}

/// The steps between states that were taken last.
pub(super) struct Shadow {
    memo: Vec<Memo>,
}

/// What an access to words comes to.
pub(super) struct Found {
    pub(super) word: u64,
    /// Lanes of the access that touch the word.
    pub(super) lanes: u32,
    pub(super) conflict: Conflict,
}

impl Default for Shadow {
    fn default() -> Self {
        Self { memo: vec![Memo::default(); MEMO] }
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
    /// The state that one lane's access of an untouched word leaves, once it was needed.
    pub(super) fresh: Option<u32>,
    pub(super) found: &'f mut Vec<Found>,
}

impl Doing<'_, '_> {
    fn what(&self) -> u64 {
        u64::from(self.now.class.bits()) << 32
            | u64::from(self.shared) << 20
            | u64::from(self.now.site) << 2
            | self.kind as u64
    }
}

impl Shadow {
    pub(super) fn bytes(&self) -> usize {
        self.memo.len() * size_of::<Memo>()
    }

    /// Forgets the steps.
    pub(super) fn clear(&mut self) {
        self.memo.fill(Memo::default());
    }

    /// One step: some lanes access the word in this cell. Gives the new cell, and whether cells of the same state
    /// with other shifts go the same way.
    fn step(
        &mut self,
        states: &mut States,
        old: u32,
        lanes: u32,
        word: u64,
        doing: &mut Doing<'_, '_>,
    ) -> (u32, bool) {
        let from = origin(old, lanes);
        let relative = lanes.rotate_right(from);
        let (state, what) = (parts(old).0, doing.what());
        let key = u64::from(state ^ relative.rotate_left(16)) << 32 | u64::from(doing.version);
        let hash = (key ^ what.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        let slot = hash as usize % MEMO;
        let memo = &self.memo[slot];
        if memo.version == doing.version && memo.state == state && memo.lanes == relative && memo.what == what
        {
            return (cell(memo.to as usize, (from + memo.shift) & 31), true);
        }
        let now = Now { lanes, ..doing.now };
        let step = states.step(old, &now, doing.kind);
        let kept = step.any_shift && step.conflict.is_none();
        if let Some(conflict) = step.conflict {
            doing.found.push(Found { word, lanes, conflict });
        } else if kept {
            let (to, shift) = parts(step.cell);
            let shift = shift.wrapping_sub(from) & 31;
            self.memo[slot] = Memo { state, lanes: relative, version: doing.version, what, to, shift };
        }
        (step.cell, kept)
    }

    /// All lanes access one word.
    pub(super) fn word(&mut self, cells: &mut Cells, word: u64, lanes: u32, doing: &mut Doing<'_, '_>) {
        cells.run(word);
        let slot = &mut cells.pages[cells.last.1][(word % WORDS as u64) as usize];
        let states = &mut cells.states;
        let old = *slot;
        if doing.kind == Kind::Atomic && states.follows(old, doing.now.cta, doing.now.class) {
            // The first access of a word leaves nothing but itself.
            let last = 31 - lanes.leading_zeros().min(31);
            *slot = match doing.fresh {
                Some(state) => cell(state as usize, last),
                None => self.step(states, 0, 1 << last, word, doing).0,
            };
            doing.fresh = Some(parts(*slot).0);
            return;
        }
        *slot = self.step(states, old, lanes, word, doing).0;
    }

    /// Lanes access `count` words side by side: these lanes the first word, the next ones the next.
    pub(super) fn side_by_side(
        &mut self,
        cells: &mut Cells,
        word: u64,
        lanes: u32,
        count: u32,
        doing: &mut Doing<'_, '_>,
    ) {
        let mut at = 0;
        while at < count {
            let word = word + u64::from(at);
            let length = cells.run(word).len().min((count - at) as usize);
            let run = &mut cells.pages[cells.last.1][(word % WORDS as u64) as usize..][..length];
            self.run(run, &mut cells.states, word, lanes << at, doing);
            at += length as u32;
        }
    }

    fn run(
        &mut self,
        run: &mut [u32],
        states: &mut States,
        word: u64,
        lanes: u32,
        doing: &mut Doing<'_, '_>,
    ) {
        let Some(&start) = run.first() else { return };
        // The same state everywhere, with shifts that go up with the lanes and stay below 32; or nothing anywhere.
        let mut apart = 0;
        if start == 0 {
            for &cell in run.iter() {
                apart |= cell;
            }
        } else {
            for (i, &cell) in run.iter().enumerate() {
                apart |= cell ^ start.wrapping_add(i as u32);
            }
            apart |= u32::from((start & 31) as usize + run.len() > 32);
        }
        if apart == 0 {
            let (to, kept) = self.step(states, start, lanes, word, doing);
            if kept && (to & 31) as usize + run.len() <= 32 {
                if to != start {
                    for (i, cell) in run.iter_mut().enumerate() {
                        *cell = to + i as u32;
                    }
                }
                return;
            }
            run[0] = to;
        }
        for (i, cell) in run.iter_mut().enumerate().skip(usize::from(apart == 0)) {
            *cell = self.step(states, *cell, lanes << i, word + i as u64, doing).0;
        }
    }
}

/// The classes of the words of an access: by word, which of its bytes.
pub(super) fn class_of(address: u64, bytes: u32, strong: Option<usize>) -> Class {
    let mask = if bytes >= 4 { 15 } else { ((1u32 << bytes) - 1) << (address & 3) };
    Class::new(mask as u8, bytes.trailing_zeros() as u8, strong)
}
