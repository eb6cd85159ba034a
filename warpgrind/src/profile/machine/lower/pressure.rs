//! How many registers are taken where: loads begin early as long as there is room for what they bring.

use std::collections::HashMap;

use ptx_frontend::ScalarType;

use super::{Made, Value};

/// Registers that are taken before loads wait for others to be free, of the 32 that a thread has where a multiprocessor is full: the
/// others are the assembler's.
pub(super) const ROOM: u32 = 26;

/// Bits for what lives behind blocks, above which nothing is known of it.
const MOST: usize = 1 << 28;

/// Registers of 32 bits that one of the PTX takes.
pub(super) fn width(ty: ScalarType) -> u32 {
    if ty == ScalarType::Pred { 0 } else { ty.bits().div_ceil(32) }
}

/// What is known of a function.
pub(super) struct Pressure {
    /// By register of the PTX.
    widths: Vec<u32>,
    /// By block, as bits by register: those whose values are read behind it.
    behind: Vec<Vec<u64>>,
    /// Registers that the function takes at least, in the order of the PTX, which are there for all of its blocks.
    least: u32,
}

impl Pressure {
    /// Of blocks, which go on where `next` says.
    pub(super) fn new(widths: Vec<u32>, blocks: &[(usize, Vec<Made>)], next: &[Vec<usize>]) -> Self {
        let words = widths.len().div_ceil(64);
        if 64 * words * blocks.len() > MOST {
            return Pressure { widths, behind: Vec::new(), least: 0 };
        }
        // What each reads of what others wrote, and what it writes.
        let mut before = vec![vec![0u64; words]; blocks.len()];
        let mut written = before.clone();
        for ((_, made), (before, written)) in blocks.iter().zip(before.iter_mut().zip(&mut written)) {
            for of in made {
                for id in of.reads.iter().filter_map(register) {
                    before[id / 64] |= (1 << (id % 64)) & !written[id / 64];
                }
                // Behind a guard the value may be the one from before.
                for id in of.writes.iter().filter_map(register).filter(|_| of.machine.guard.is_none()) {
                    written[id / 64] |= 1 << (id % 64);
                }
            }
        }
        let mut behind = vec![vec![0u64; words]; blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for at in (0..blocks.len()).rev() {
                for &to in &next[at] {
                    for word in 0..words {
                        let more = before[to][word] & !behind[at][word];
                        behind[at][word] |= more;
                        before[at][word] |= more & !written[at][word];
                        changed |= more != 0;
                    }
                }
            }
        }
        let mut own = Pressure { widths, behind, least: 0 };
        let most = |(number, (_, made)): (usize, &(usize, Vec<Made>))| own.of(number, made, &[]).room;
        own.least = blocks.iter().enumerate().map(most).max().unwrap_or(0);
        own
    }

    /// What is taken in a part of a block, behind which other instructions of the block follow.
    pub(super) fn of<'a>(&'a self, block: usize, made: &[Made], follow: &[Made]) -> Taken<'a> {
        let behind = self.behind.get(block);
        let lives = |value: &Value| {
            let read = |of: &Made| of.reads.contains(value);
            register(value).is_some_and(|id| behind.is_some_and(|bits| bits[id / 64] >> (id % 64) & 1 != 0))
                || follow.iter().any(read)
        };
        let mut taken = Taken {
            of: self,
            numbers: HashMap::new(),
            left: Vec::new(),
            stays: Vec::new(),
            lives: Vec::new(),
            now: 0,
            room: u32::MAX,
        };
        if behind.is_none() {
            return taken;
        }
        for of in made {
            for value in of.reads.iter().chain(&of.writes) {
                let next = taken.numbers.len();
                if *taken.numbers.entry(*value).or_insert(next) == next {
                    taken.left.push(0);
                    taken.stays.push(lives(value));
                    taken.lives.push(false);
                }
            }
        }
        // In the order of the PTX, backwards.
        let mut lives = taken.stays.clone();
        let passes = self.passing(behind, &taken);
        let mut now = passes;
        for (value, &at) in &taken.numbers {
            now += if lives[at] { self.width(value) } else { 0 };
        }
        let mut most = now;
        for of in made.iter().rev() {
            for value in of.writes.iter().filter(|_| of.machine.guard.is_none()) {
                if std::mem::take(&mut lives[taken.numbers[value]]) {
                    now -= self.width(value);
                }
            }
            for value in &of.reads {
                let at = taken.numbers[value];
                taken.left[at] += 1;
                if !std::mem::replace(&mut lives[at], true) {
                    now += self.width(value);
                }
            }
            most = most.max(now);
        }
        taken.lives = lives;
        taken.now = now;
        taken.room = most.max(ROOM).max(self.least);
        taken
    }

    /// Registers of what lives behind a block that is not named in a part of it.
    fn passing(&self, behind: Option<&Vec<u64>>, taken: &Taken<'_>) -> u32 {
        let Some(bits) = behind else { return 0 };
        let all = bits.iter().enumerate().map(|(word, &bits)| {
            (0..64)
                .filter(|bit| bits >> bit & 1 != 0)
                .map(|bit| self.widths.get(64 * word + bit).copied().unwrap_or(0))
                .sum::<u32>()
        });
        let named = taken.numbers.keys().filter_map(|value| register(value).map(|id| (id, value)));
        let named =
            named.filter(|(id, _)| bits[id / 64] >> (id % 64) & 1 != 0).map(|(_, value)| self.width(value));
        all.sum::<u32>() - named.sum::<u32>()
    }

    fn width(&self, value: &Value) -> u32 {
        match value {
            Value::Register(id) | Value::Turn(id, _) => self.widths.get(id.0 as usize).copied().unwrap_or(1),
            Value::Between(_) => 1,
            Value::Carry => 0,
        }
    }
}

/// The number of a register.
fn register(value: &Value) -> Option<usize> {
    match value {
        Value::Register(id) => Some(id.0 as usize),
        _ => None,
    }
}

/// Registers that are taken while a part of a block is put in order.
pub(super) struct Taken<'a> {
    of: &'a Pressure,
    numbers: HashMap<Value, usize>,
    /// By value: how many still read it, whether it lives on behind the part, and whether it is there.
    left: Vec<u32>,
    stays: Vec<bool>,
    lives: Vec<bool>,
    now: u32,
    room: u32,
}

impl Taken<'_> {
    /// Registers that one more instruction takes, and that it sets free.
    fn change(&self, made: &Made) -> (u32, u32) {
        let known = |value: &Value| self.numbers.get(value).map(|&at| (at, self.of.width(value)));
        let ends = |&(at, _): &(usize, u32)| self.lives[at] && self.left[at] == 1 && !self.stays[at];
        let begins = |&(at, _): &(usize, u32)| !self.lives[at] && (self.left[at] > 0 || self.stays[at]);
        let sum = |list: &[Value], what: &dyn Fn(&(usize, u32)) -> bool| -> u32 {
            list.iter().filter_map(known).filter(what).map(|(_, width)| width).sum()
        };
        (sum(&made.writes, &begins), sum(&made.reads, &ends))
    }

    /// Whether there is room for what an instruction brings.
    pub(super) fn has_room(&self, made: &Made) -> bool {
        let (more, less) = self.change(made);
        more <= less || self.now + more - less <= self.room
    }

    /// An instruction comes next.
    pub(super) fn put(&mut self, made: &Made) {
        let (more, less) = self.change(made);
        self.now = (self.now + more).saturating_sub(less);
        for value in &made.reads {
            let Some(&at) = self.numbers.get(value) else { continue };
            self.left[at] = self.left[at].saturating_sub(1);
            self.lives[at] &= self.left[at] > 0 || self.stays[at];
        }
        for value in &made.writes {
            let Some(&at) = self.numbers.get(value) else { continue };
            self.lives[at] |= self.left[at] > 0 || self.stays[at];
        }
    }
}
