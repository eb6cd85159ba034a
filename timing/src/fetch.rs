//! Where instructions come from: a multiprocessor keeps some lines of the code, its group more of them, and what nobody has fetched
//! yet comes from memory.

use std::collections::VecDeque;

use crate::chip::Chip;

/// Lines that are kept, in sets of those whose numbers are so many apart; the oldest one of a set makes room.
#[derive(Debug)]
struct Lines {
    /// By line: when it is there.
    at: Vec<f64>,
    sets: Vec<VecDeque<u32>>,
}

impl Lines {
    /// Lines of a set (`testdata/timing/jumps.cu`: 32 that are a kilobyte apart are kept, 48 are not; `cold.cu`: of 1,100 two in three come
    /// from the second level, of 1,280 all).
    const WAYS: usize = 8;

    fn new(count: usize, most: u32) -> Self {
        let sets = (most as usize / Self::WAYS).max(1);
        Lines { at: vec![f64::INFINITY; count], sets: vec![VecDeque::new(); sets] }
    }

    fn keep(&mut self, line: usize, at: f64) {
        self.at[line] = at;
        let count = self.sets.len();
        let set = &mut self.sets[line % count];
        set.push_back(line as u32);
        if set.len() > Self::WAYS
            && let Some(oldest) = set.pop_front()
        {
            self.at[oldest as usize] = f64::INFINITY;
        }
    }
}

/// How many lines of eight instructions so many instructions are.
fn count(code: usize) -> usize {
    code / 8 + 1
}

/// What is behind the multiprocessors.
#[derive(Debug)]
pub(crate) struct Behind {
    groups: Vec<Lines>,
    /// By line: when the second level has it.
    fetched: Vec<f64>,
    /// Lines that groups have fetched, and that one was the first to fetch.
    fetches: [u64; 2],
}

impl Behind {
    /// When a launch begins, groups have the first lines.
    pub(crate) fn new(chip: &Chip, code: usize) -> Self {
        let count = count(code);
        let ahead = count.min(chip.fetch.ahead as usize);
        let group = || {
            let mut lines = Lines::new(count, chip.fetch.kept);
            (0..ahead).for_each(|line| lines.keep(line, 0.0));
            lines
        };
        let mut fetched = vec![f64::INFINITY; count];
        fetched[..ahead].fill(0.0);
        let groups = u64::from(chip.l2.groups.max(1));
        let fetches = [groups * ahead as u64, ahead as u64];
        Behind { groups: (0..groups).map(|_| group()).collect(), fetched, fetches }
    }

    /// Sectors that the second level has read for it: four a line, and those of every other line go to the other partition once.
    pub(crate) fn sectors(&self) -> u64 {
        let [all, first] = self.fetches;
        4 * all + 2 * first
    }

    /// Bytes that memory has read for it.
    pub(crate) fn bytes(&self) -> u64 {
        128 * self.fetches[1]
    }

    /// When a group has a line that would come at a time if it had it; what a jump leads to takes longer from farther away.
    fn line(&mut self, chip: &Chip, group: usize, line: usize, (comes, jumps): (f64, bool)) -> f64 {
        let of = &mut self.groups[group];
        let known = of.at[line];
        if known.is_finite() {
            return known.max(comes);
        }
        let comes = comes + if jumps { chip.fetch.far_jump } else { chip.fetch.far };
        self.fetches[0] += 1;
        let fetched = &mut self.fetched[line];
        if fetched.is_infinite() {
            *fetched = comes + chip.fetch.cold;
            self.fetches[1] += 1;
        }
        let at = fetched.max(comes);
        // A jump has those beside it come along.
        let beside = if jumps {
            line / BESIDE * BESIDE..(line + 1).next_multiple_of(BESIDE).min(of.at.len())
        } else {
            line..line + 1
        };
        for line in beside {
            if of.at[line].is_infinite() {
                of.keep(line, at);
            }
        }
        at
    }
}

/// Lines that come from the second level together where a jump leads to one of them.
const BESIDE: usize = 8;

/// The lines that a sub-core has, the last ones that it came to.
#[derive(Clone, Default, Debug)]
pub(crate) struct Nearest {
    /// Numbers of lines, plus one.
    lines: [u32; Nearest::COUNT],
    next: u8,
}

impl Nearest {
    /// How many there are (`testdata/timing/jumps.py`: 14 that are jumped to in turn are there, 16 are not).
    const COUNT: usize = 16;

    /// It comes to an instruction; whether it has its line.
    pub(crate) fn has(&mut self, op: u32) -> bool {
        let line = op / 8 + 1;
        if self.lines.contains(&line) {
            return true;
        }
        self.lines[usize::from(self.next)] = line;
        self.next = (self.next + 1) % Self::COUNT as u8;
        false
    }
}

/// What a multiprocessor has.
#[derive(Debug)]
pub(crate) struct Fetch {
    own: Lines,
}

/// Lines that are fetched before they are wanted, behind one that is.
const FOLLOWING: usize = 2;

impl Fetch {
    pub(crate) fn new(chip: &Chip, code: usize) -> Self {
        Fetch { own: Lines::new(count(code), chip.fetch.lines) }
    }

    /// When the line of an instruction is there, if it is wanted at a time.
    pub(crate) fn instruction(
        &mut self,
        chip: &Chip,
        behind: &mut Behind,
        group: usize,
        op: u32,
        now: f64,
    ) -> f64 {
        let line = op as usize / 8;
        if self.own.at[line].is_finite() {
            return self.own.at[line];
        }
        let there = (1..=FOLLOWING.min(line)).find(|back| self.own.at[line - back].is_finite());
        let follows =
            there.map_or(f64::INFINITY, |back| self.own.at[line - back] + back as f64 * chip.fetch.next);
        let jumps = now + chip.fetch.miss;
        let comes = if follows < jumps { (follows, false) } else { (jumps, true) };
        let at = behind.line(chip, group, line, comes);
        self.own.keep(line, at);
        at
    }
}
