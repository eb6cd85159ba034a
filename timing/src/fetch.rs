//! Where instructions come from: a multiprocessor keeps some lines of the code, its group more of them, and what nobody has fetched
//! yet comes from memory.

use std::collections::VecDeque;

use crate::chip::Chip;

/// Lines that are kept; the oldest one makes room.
#[derive(Debug)]
struct Lines {
    /// By line: when it is there.
    at: Vec<f64>,
    order: VecDeque<u32>,
    most: usize,
}

impl Lines {
    fn new(count: usize, most: u32) -> Self {
        Lines { at: vec![f64::INFINITY; count], order: VecDeque::new(), most: most as usize }
    }

    fn keep(&mut self, line: usize, at: f64) {
        self.at[line] = at;
        self.order.push_back(line as u32);
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
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

    /// When a group has a line that would come at a time if it had it.
    fn line(&mut self, chip: &Chip, group: usize, line: usize, comes: f64) -> f64 {
        let of = &mut self.groups[group];
        let known = of.at[line];
        if known.is_finite() {
            return known.max(comes);
        }
        let comes = comes + chip.fetch.far;
        self.fetches[0] += 1;
        let fetched = &mut self.fetched[line];
        if fetched.is_infinite() {
            *fetched = comes + chip.fetch.cold;
            self.fetches[1] += 1;
        }
        let at = fetched.max(comes);
        of.keep(line, at);
        at
    }
}

/// What a multiprocessor has.
#[derive(Debug)]
pub(crate) struct Fetch {
    own: Lines,
    /// By line: whether it has ever been there.
    known: Vec<bool>,
}

impl Fetch {
    pub(crate) fn new(chip: &Chip, code: usize) -> Self {
        Fetch { own: Lines::new(count(code), chip.fetch.lines), known: vec![false; count(code)] }
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
        let before = line.checked_sub(1).map_or(f64::INFINITY, |before| self.own.at[before]);
        let follows = before + chip.fetch.next;
        // What has been there is not far.
        let jumps = now + if self.known[line] { chip.fetch.next } else { chip.fetch.miss };
        let at = behind.line(chip, group, line, follows.min(jumps));
        self.own.keep(line, at);
        self.known[line] = true;
        at
    }
}
