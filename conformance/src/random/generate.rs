//! From a seed to statements.

use super::instructions::{GROUPS, Group, Needs};
use super::{Kernel, REGISTERS, Statement, Trips};
use crate::numbers::Random;

/// What may be generated in a place.
#[derive(Clone, Copy)]
struct Place {
    /// All threads of the block come here together.
    together: bool,
    /// The threads of the warp that come here are known.
    known: bool,
    /// Functions may be called.
    calls: bool,
    /// How deep statements may nest.
    depth: u32,
    /// How often the place is executed, at the most.
    times: u32,
}

/// Executions of a statement in nested loops, at the most.
const MOST_TIMES: u32 = 64;

pub(super) fn kernel(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let masks = random.below(2) == 0;
    // A kernel has few kinds of instructions, so that they meet.
    let mut weights: Vec<u64> = GROUPS.iter().map(|_| [0, 0, 1, 1, 3][random.below(5) as usize]).collect();
    weights[random.below(GROUPS.len() as u64) as usize] += 2;
    let mut generator = Generator { random, weights, masks };
    let size = 8 + generator.random.below(24);
    let functions = match generator.random.below(3) {
        0 => 2,
        _ => 0,
    };
    let place = Place { together: false, known: masks, calls: false, depth: 2, times: 8 };
    let functions: Vec<_> = (0..functions)
        .map(|_| {
            let size = 2 + generator.random.below(6);
            generator.statements(size, place)
        })
        .collect();
    let place = Place { together: true, known: true, calls: !functions.is_empty(), depth: 3, times: 1 };
    let body = generator.statements(size, place);
    Kernel { seed, masks, body, functions }
}

struct Generator {
    random: Random,
    weights: Vec<u64>,
    /// The kernel has masks of threads that part.
    masks: bool,
}

impl Generator {
    fn statements(&mut self, count: u64, place: Place) -> Vec<Statement> {
        (0..count).map(|_| self.statement(place)).collect()
    }

    fn statement(&mut self, place: Place) -> Statement {
        // Threads that part are known by their masks, if the kernel has them.
        let masks = self.masks;
        let parted = || Place { together: false, known: masks, depth: place.depth - 1, ..place };
        match self.random.below(if place.depth == 0 { 1 } else { 24 }) {
            20 => {
                let predicate = self.register('p');
                let (one, two) = (1 + self.random.below(5), self.random.below(4));
                let inner = parted();
                Statement::If {
                    predicate,
                    then: self.statements(one, inner),
                    other: self.statements(two, inner),
                }
            }
            21 => {
                let size = 1 + self.random.below(5);
                let count = 1 + self.random.below(9) as u32;
                if place.times * 8 > MOST_TIMES {
                    return self.text(place);
                }
                let times = place.times * 8;
                if self.random.below(3) == 0 {
                    let inner = Place { times, ..parted() };
                    let body = self.statements(size, inner);
                    Statement::Loop { trips: Trips::Register(self.register('r')), body }
                } else {
                    let inner = Place { depth: place.depth - 1, times, ..place };
                    let body = self.statements(size, inner);
                    Statement::Loop { trips: Trips::Constant(count), body }
                }
            }
            22 => {
                let inner = parted();
                let mut arms = Vec::new();
                for _ in 0..4 {
                    let size = self.random.below(4);
                    arms.push(self.statements(size, inner));
                }
                Statement::Switch { register: self.register('r'), arms }
            }
            23 if place.calls => {
                let by = (self.random.below(2) == 0).then(|| self.register('r'));
                let one = self.register('r');
                let two = loop {
                    let two = self.register('r');
                    if two != one {
                        break two;
                    }
                };
                let function = self.random.below(2) as usize;
                Statement::Call { function, by, words: [one, two], float: self.register('f') }
            }
            _ => self.text(place),
        }
    }

    fn text(&mut self, place: Place) -> Statement {
        let fits = |group: &Group| match group.needs {
            Needs::Nothing => true,
            Needs::Mask => place.known,
            Needs::All => place.together,
        };
        let weight = |(group, &weight): (&Group, &u64)| if fits(group) { weight } else { 0 };
        let total: u64 = GROUPS.iter().zip(&self.weights).map(weight).sum();
        let mut choice = self.random.below(total.max(1));
        let mut chosen = &GROUPS[self.random.below(8) as usize];
        for pair in GROUPS.iter().zip(&self.weights) {
            let weight = weight(pair);
            if choice < weight {
                chosen = pair.0;
                break;
            }
            choice -= weight;
        }
        let line = chosen.lines[self.random.below(chosen.lines.len() as u64) as usize];
        let mut text = self.instance(line);
        let alone = !line.contains(['\n', '@']) && chosen.needs == Needs::Nothing;
        if alone && self.random.below(8) == 0 {
            text = format!("@{} {text}", self.predicate());
        }
        text.push('\n');
        Statement::Text(text)
    }

    fn register(&mut self, letter: char) -> String {
        let count = REGISTERS.iter().find(|(known, ..)| *known == letter).map_or(1, |&(_, _, count)| count);
        format!("%{letter}{}", self.random.below(count as u64))
    }

    fn predicate(&mut self) -> String {
        let sign = if self.random.below(2) == 0 { "!" } else { "" };
        format!("{sign}{}", self.register('p'))
    }

    /// A line with its alternatives and registers chosen.
    fn instance(&mut self, line: &str) -> String {
        let line = self.alternatives(line);
        let mut text = String::new();
        let mut chars = line.chars().peekable();
        // Registers that the same instruction writes.
        let mut written: Vec<String> = Vec::new();
        // One constant an instruction.
        let mut constants = 0;
        while let Some(c) = chars.next() {
            match c {
                ';' => {
                    written.clear();
                    constants = 0;
                    text.push(c);
                }
                '=' => {
                    let letter = chars.next().unwrap_or('r');
                    let register = loop {
                        let register = self.register(letter);
                        if !written.contains(&register) {
                            break register;
                        }
                    };
                    text.push_str(&register);
                    written.push(register);
                }
                '$' => match chars.next().unwrap_or('r') {
                    'P' => {
                        let predicate = self.predicate();
                        text.push_str(&predicate);
                    }
                    letter if letter.is_ascii_uppercase() => {
                        let letter = letter.to_ascii_lowercase();
                        let constant = constants == 0 && self.random.below(4) == 0;
                        constants += u32::from(constant);
                        let operand = if constant { self.constant(letter) } else { self.register(letter) };
                        text.push_str(&operand);
                    }
                    letter => {
                        let register = self.register(letter);
                        text.push_str(&register);
                    }
                },
                '#' if chars.peek() == Some(&'k') => {
                    chars.next();
                    let usual = [0, 1, 4, 5, 8, 12, 16, 20, 24, 31];
                    let number = match self.random.below(8) {
                        0 => [32, 33, 40, 63, 64, 255][self.random.below(6) as usize],
                        _ => usual[self.random.below(10) as usize],
                    };
                    text.push_str(&number.to_string());
                }
                '#' => {
                    let mut below = 0;
                    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                        below = 10 * below + u64::from(digit);
                        chars.next();
                    }
                    text.push_str(&self.random.below(below).to_string());
                }
                c => text.push(c),
            }
        }
        text
    }

    fn alternatives(&mut self, line: &str) -> String {
        let mut text = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('<') {
            let Some((list, after)) = after.split_once('>') else { break };
            let list: Vec<&str> = list.split('|').collect();
            text.push_str(before);
            text.push_str(list[self.random.below(list.len() as u64) as usize]);
            rest = after;
        }
        text + rest
    }

    fn constant(&mut self, letter: char) -> String {
        let at = self.random.below(8) as usize;
        match letter {
            'f' => format!(
                "0f{:08X}",
                [
                    0u32,
                    0x3f80_0000,
                    0x4000_0000,
                    0x3f00_0000,
                    0xbf80_0000,
                    0x4040_0000,
                    0x8000_0000,
                    0x7f80_0000
                ][at]
            ),
            'g' => format!(
                "0d{:016X}",
                [0u64, 0x3ff << 52, 1 << 62, 0xbff << 52, 0x3fd5_5555_5555_5555, 1 << 63, 0x7ff << 52, 1][at]
            ),
            'd' => {
                format!("{:#x}", [0u64, 1, u64::MAX, 1 << 63, 0x7fff_ffff, 0x1234_5678_9abc, 31, 1 << 32][at])
            }
            _ => format!("{:#x}", [0u32, 1, 31, u32::MAX, 1 << 31, 0x7fff_ffff, 0x00ff_00ff, 7][at]),
        }
    }
}
