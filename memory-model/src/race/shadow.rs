//! The shadow of memory: a cell a word, and the accesses of warps to runs of them.
//!
//! Four bytes of shadow stand for a word of four bytes. Most accesses of a warp find their words in one state, with
//! shifts that go with the lanes; then one step serves all of them, and mostly it is known already.

use super::state::{Class, Conflict, Kind, Now, States, cell, origin, parts};
use rustc_hash::FxHashMap;

/// Words of a page.
const WORDS: usize = 1024;
/// Steps that are kept.
const MEMO: usize = 1 << 12;
/// States after which unused ones are looked for, at the least.
const COLLECT: usize = 1 << 15;

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

/// Cells of some memory.
#[derive(Default)]
pub(super) struct Cells {
    pages: Vec<Box<[u32; WORDS]>>,
    index: FxHashMap<u64, u32>,
    /// Page used last: its number plus one, and where it is.
    last: (u64, usize),
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
    }

    fn bytes(&self) -> usize {
        self.pages.len() * (4 * WORDS + 32)
    }
}

/// States, and the steps between them.
pub(super) struct Shadow {
    pub(super) states: States,
    memo: Vec<Memo>,
    collect_at: usize,
    bytes_at: usize,
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
        Self {
            states: States::new(),
            memo: vec![Memo::default(); MEMO],
            collect_at: COLLECT,
            bytes_at: 1 << 24,
        }
    }
}

/// An access that is being made.
pub(super) struct Doing<'a, 'f> {
    pub(super) now: Now<'a>,
    pub(super) kind: Kind,
    /// The version of the warp's clock and epoch.
    pub(super) version: u32,
    pub(super) found: &'f mut Vec<Found>,
}

impl Doing<'_, '_> {
    fn what(&self) -> u64 {
        u64::from(self.now.class.bits()) << 32 | u64::from(self.now.site) << 2 | self.kind as u64
    }
}

impl Shadow {
    pub(super) fn bytes(&self) -> usize {
        self.states.bytes() + self.memo.len() * size_of::<Memo>()
    }

    /// One step: some lanes access the word in this cell. Gives the new cell, and whether cells of the same state
    /// with other shifts go the same way.
    fn step(&mut self, old: u32, lanes: u32, word: u64, doing: &mut Doing<'_, '_>) -> (u32, bool) {
        let from = origin(old, lanes);
        let relative = lanes.rotate_right(from);
        let (state, what) = (parts(old).0, doing.what());
        let key = u64::from(state ^ relative.rotate_left(16)) << 32 | u64::from(doing.version);
        let hash = (key ^ what.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        let slot = hash as usize % MEMO;
        let memo = &self.memo[slot];
        if memo.version == doing.version && memo.state == state && memo.lanes == relative && memo.what == what
        {
            return (cell(memo.to as usize, (from + memo.shift) & 31), true);
        }
        let now = Now { lanes, ..doing.now };
        let step = self.states.step(old, &now, doing.kind);
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
        let slot = &mut cells.run(word)[0];
        let old = *slot;
        if doing.kind == Kind::Atomic && self.states.follows(old, doing.now.cta, doing.now.class) {
            // The first access of a word leaves nothing but itself.
            let last = 31 - lanes.leading_zeros().min(31);
            *slot = self.step(0, 1 << last, word, doing).0;
            return;
        }
        *slot = self.step(old, lanes, word, doing).0;
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
            let run = cells.run(word + u64::from(at));
            let length = run.len().min((count - at) as usize);
            let run = &mut run[..length];
            self.run(run, word + u64::from(at), lanes << at, doing);
            at += length as u32;
        }
    }

    fn run(&mut self, run: &mut [u32], word: u64, lanes: u32, doing: &mut Doing<'_, '_>) {
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
            let (to, kept) = self.step(start, lanes, word, doing);
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
            *cell = self.step(*cell, lanes << i, word + i as u64, doing).0;
        }
    }

    /// Whether unused states should be looked for.
    pub(super) fn wants_collection(&self) -> bool {
        self.states.count() >= self.collect_at || self.states.bytes() >= self.bytes_at
    }

    /// Drops states that no cell is in.
    pub(super) fn collect<'c>(&mut self, all: impl Iterator<Item = &'c mut Cells>) {
        let mut all: Vec<&mut Cells> = all.collect();
        let mut numbers = vec![0u32; self.states.count()];
        for cells in &all {
            for page in &cells.pages {
                for &cell in page.iter() {
                    numbers[parts(cell).0 as usize] = 1;
                }
            }
        }
        numbers[0] = 0;
        self.states.compact(&mut numbers);
        let mut words = 0;
        for cells in &mut all {
            words += cells.pages.len() * WORDS;
            for page in &mut cells.pages {
                for cell in page.iter_mut() {
                    let (state, shift) = parts(*cell);
                    *cell = if state == 0 { 0 } else { numbers[state as usize] << 5 | shift };
                }
            }
        }
        self.memo.fill(Memo::default());
        self.collect_at = COLLECT.max(2 * self.states.count()).max(words / 8);
        self.bytes_at = (1 << 24).max(2 * self.states.bytes());
    }
}

/// Bytes of several memories.
pub(super) fn bytes_of<'c>(all: impl Iterator<Item = &'c Cells>) -> usize {
    all.map(Cells::bytes).sum()
}

/// The classes of the words of an access: by word, which of its bytes.
pub(super) fn class_of(address: u64, bytes: u32, strong: Option<usize>) -> Class {
    let mask = if bytes >= 4 { 15 } else { ((1u32 << bytes) - 1) << (address & 3) };
    Class::new(mask as u8, bytes.trailing_zeros() as u8, strong)
}
