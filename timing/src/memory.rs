//! The second level of cache and memory, which all multiprocessors share.

use std::collections::{HashMap, VecDeque};

use crate::cache::Cache;
use crate::chip::Chip;

/// What went through it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Traffic {
    /// Sectors that were read, written, changed.
    pub(crate) read: u64,
    pub(crate) write: u64,
    pub(crate) atomic: u64,
    /// Of those that were asked for, the ones that were found.
    pub(crate) hit: u64,
    pub(crate) asked: u64,
    /// Bytes read from memory and written there.
    pub(crate) dram_read: u64,
    pub(crate) dram_write: u64,
}

/// The second level, in two partitions, and memory behind it.
pub(crate) struct Memory<'a> {
    chip: &'a Chip,
    partitions: [Cache; 2],
    /// When the second level, and memory, are free.
    busy: f64,
    memory: f64,
    /// Lines that were written, the oldest first, with their sectors that are.
    written: VecDeque<u64>,
    dirty: u64,
    pub(crate) traffic: Traffic,
    /// By line: when atomic operations on it are done.
    lines: Vec<(u64, f64)>,
    /// When each slice has done what it was asked to change.
    slices: [f64; SLICES],
    /// By line and sector: turns of compare-and-swaps that are tried again, when each is over and for how many lanes it is.
    turns: HashMap<(u64, u8), VecDeque<(f64, u8)>>,
    /// By group and line: reads that are on their way.
    reads: Vec<Read>,
}

/// A read of a line by a multiprocessor of a group, in which others of the group take part until it is done.
#[derive(Clone, Copy, Default)]
struct Read {
    /// The line's number, plus one; 0 is none.
    line: u64,
    sectors: u8,
    /// How many more may take part.
    more: u32,
    done: f64,
}

/// A multiprocessor, as the second level sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    /// The partition that is near to it.
    pub(crate) near: usize,
    /// Its group, whose reads are merged.
    pub(crate) group: usize,
}

impl Asker {
    pub(crate) fn new(chip: &Chip, multiprocessor: u32) -> Self {
        let groups = chip.l2.groups.max(1);
        let group = multiprocessor * groups / chip.multiprocessors;
        Asker { near: (group >= groups.div_ceil(2)) as usize, group: group as usize }
    }
}

/// An atomic operation of a warp, as far as it is for one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Lanes that take part.
    pub(crate) lanes: u8,
    /// The most of them at one word.
    pub(crate) together: u8,
    /// How many turns the sectors take, a lane of a word in each.
    pub(crate) deep: u8,
    /// How many turns it is, if it is a compare-and-swap that is tried again.
    pub(crate) turns: u8,
    /// Whether sums of floats are made.
    pub(crate) floats: bool,
}

impl Change {
    /// Each word of sectors is changed once.
    pub(crate) fn once(sectors: u8) -> Self {
        let count = sectors.count_ones() as u8;
        Change { lanes: 8 * count, together: 1, deep: count, turns: 0, floats: false }
    }

    /// That of one line of so many.
    pub(crate) fn of_one(self, lines: usize) -> Self {
        let share = |of: u8| usize::from(of).div_ceil(lines.max(1)) as u8;
        Change {
            lanes: share(self.lanes),
            deep: share(self.deep),
            together: self.together.min(share(self.lanes)),
            ..self
        }
    }
}

/// Parts of the second level that change words, each on its own.
const SLICES: usize = 64;

/// The part that changes the words of a line: 32 lines that follow each other are in eight of them, as measured
/// (`testdata/timing/gathers.cu`).
fn slice(line: u64) -> usize {
    let within = line & 1 | line >> 2 & 0b1110;
    let group = (line >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62;
    (group << 4 | within) as usize
}

/// How many lines with atomic operations are told apart.
const ATOMIC_LINES: usize = 1 << 14;

/// How many reads of a group that are on their way are told apart.
const READS: usize = 1 << 10;

impl<'a> Memory<'a> {
    pub(crate) fn new(chip: &'a Chip) -> Self {
        let half = || Cache::new(chip.l2.bytes / 2, chip.l2.ways).written_before(chip.l2.before / 2);
        Memory {
            chip,
            partitions: [half(), half()],
            busy: 0.0,
            memory: 0.0,
            written: VecDeque::new(),
            dirty: chip.l2.before,
            traffic: Traffic::default(),
            lines: vec![(0, 0.0); ATOMIC_LINES],
            slices: [0.0; SLICES],
            turns: HashMap::new(),
            reads: vec![Read::default(); READS * chip.l2.groups.max(1) as usize],
        }
    }

    /// Bytes that were written and are not yet in memory.
    pub(crate) fn dirty(&self) -> u64 {
        self.dirty
    }

    /// The partition in which a line is at home.
    fn home(line: u64) -> usize {
        let mixed = (line ^ line >> 3 ^ line >> 7 ^ line >> 13).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 63) as usize
    }

    /// A request waits until the second level is free; when it is.
    fn enter(&mut self, now: f64, cost: f64) -> f64 {
        let start = self.busy.max(now);
        self.busy = start + cost;
        start
    }

    /// Sectors of a line for a multiprocessor: when they are there.
    pub(crate) fn read(&mut self, now: f64, asker: Asker, line: u64, sectors: u8) -> f64 {
        let at = asker.group * READS + line as usize % READS;
        let way = &mut self.reads[at];
        if way.line == line + 1 && way.sectors & sectors == sectors && way.done > now && way.more > 0 {
            way.more -= 1;
            return way.done.max(now + self.chip.l1.latency);
        }
        let done = self.read_alone(now, asker.near, line, sectors);
        self.reads[at] = Read { line: line + 1, sectors, more: self.chip.l2.merged, done };
        done
    }

    fn read_alone(&mut self, now: f64, near: usize, line: u64, sectors: u8) -> f64 {
        let l2 = &self.chip.l2;
        let count = sectors.count_ones();
        let start = self.enter(now, (l2.read[0]).max(l2.read[1] * f64::from(count)));
        self.traffic.read += u64::from(count);
        self.traffic.asked += u64::from(count);
        let mut done = start + l2.latency;
        let found = self.partitions[near].look(line, sectors);
        let missing = sectors & !found.valid;
        self.traffic.hit += u64::from((sectors & found.valid).count_ones());
        if found.valid & sectors != 0 {
            done = done.max(found.ready);
        }
        if missing != 0 {
            let arrives = self.fetch(start, near, line, missing);
            done = done.max(arrives);
            self.take(near, line, missing, arrives, false);
        }
        done
    }

    /// What the near partition does not have.
    fn fetch(&mut self, start: f64, near: usize, line: u64, missing: u8) -> f64 {
        let l2 = &self.chip.l2;
        let home = Self::home(line);
        let mut at = start + l2.latency;
        let mut absent = missing;
        if home != near {
            let count = u64::from(missing.count_ones());
            self.traffic.read += count;
            // The way to the other partition is narrower.
            self.busy += l2.narrow * l2.read[1] * count as f64;
            at += l2.far;
            let found = self.partitions[home].look(line, missing);
            if found.valid & missing != 0 {
                at = at.max(found.ready);
            }
            absent &= !found.valid;
        }
        if absent != 0 {
            // Memory gives no less than a grain.
            let dram = &self.chip.dram;
            let grain = match dram.grain {
                128 => 15,
                64 => (if absent & 3 != 0 { 3 } else { 0 }) | (if absent & 12 != 0 { 12 } else { 0 }),
                _ => absent,
            };
            let bytes = u64::from(u8::count_ones(grain)) * 32;
            self.traffic.dram_read += bytes;
            let begins = self.memory.max(start);
            self.memory = begins + bytes as f64 / dram.read;
            at = at.max(self.memory + l2.latency + dram.latency + if home == near { 0.0 } else { l2.far });
            self.take(home, line, grain, at, false);
            if home != near {
                self.take(near, line, grain, at, false);
            }
        }
        at
    }

    /// How many sectors are newly written.
    fn take(&mut self, partition: usize, line: u64, sectors: u8, ready: f64, written: bool) -> u32 {
        let taken = self.partitions[partition].take(line, sectors, ready, written);
        if taken.gone != 0 {
            self.write_back(taken.gone);
        }
        taken.new
    }

    /// Memory is busy with it when it has done what it was asked for before.
    fn write_back(&mut self, sectors: u32) {
        let bytes = u64::from(sectors) * 32;
        self.dirty = self.dirty.saturating_sub(bytes);
        self.traffic.dram_write += bytes;
        self.memory += bytes as f64 / self.chip.dram.write;
    }

    /// Sectors of a line are written: when that is known to be done.
    pub(crate) fn write(&mut self, now: f64, asker: Asker, line: u64, sectors: u8) -> f64 {
        let near = asker.near;
        let l2 = &self.chip.l2;
        let count = sectors.count_ones();
        let start = self.enter(now, (l2.write[0]).max(l2.write[1] * f64::from(count)));
        let home = Self::home(line);
        self.traffic.write += u64::from(count) * if home == near { 1 } else { 2 };
        self.traffic.asked += u64::from(count);
        self.traffic.hit += u64::from(count);
        self.note(line, home, sectors, start);
        let backlog = (self.memory - start - l2.backlog).max(0.0);
        start + l2.store + if home == near { 0.0 } else { l2.far } + backlog
    }

    fn note(&mut self, line: u64, home: usize, sectors: u8, start: f64) {
        let new = self.take(home, line, sectors, start, true);
        if new == 0 {
            return;
        }
        self.dirty += u64::from(new) * 32;
        self.written.push_back(line);
        while self.dirty > self.chip.l2.dirty {
            let before = self.partitions.iter_mut().find_map(Cache::clean_before);
            let oldest = || {
                let oldest = self.written.pop_front()?;
                Some(self.partitions[Self::home(oldest)].clean(oldest))
            };
            let Some(sectors) = before.or_else(oldest) else { break };
            if sectors != 0 {
                self.write_back(sectors);
            }
        }
    }

    /// Words of a line are changed: when that is done, and when the result is there.
    pub(crate) fn change(
        &mut self,
        now: f64,
        asker: Asker,
        line: u64,
        sectors: u8,
        change: Change,
    ) -> (f64, f64) {
        let near = asker.near;
        let l2 = &self.chip.l2;
        let count = sectors.count_ones();
        let Change { lanes, together, deep, turns, floats } = change;
        let start = self.enter(now, l2.atomic[0].max(l2.atomic[1] * f64::from(lanes)));
        let home = Self::home(line);
        self.traffic.atomic += u64::from(count) * if home == near { 1 } else { 2 };
        self.traffic.asked += u64::from(count);
        let found = self.partitions[home].look(line, sectors);
        self.traffic.hit += u64::from((sectors & found.valid).count_ones());
        // It is done where the line is at home.
        let way = if home == near { 0.0 } else { l2.atomic_far };
        let mut at = start + way;
        if sectors & !found.valid != 0 {
            at = self.fetch(start, home, line, sectors & !found.valid) - l2.latency;
        }
        if turns > 0 {
            let done = self.turn((line, sectors), at, together, turns);
            self.note(line, home, sectors, done);
            return (done + l2.store + way, done + l2.atomic_latency + way);
        }
        let place = (line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50) as usize % ATOMIC_LINES;
        let (own, free) = self.lines[place];
        let slice = &mut self.slices[slice(line)];
        let begins = at.max(*slice);
        *slice = begins + l2.atomic[2] * f64::from(deep);
        // Lanes at one word go one after the other.
        let begins = if own == line + 1 { begins.max(free) } else { begins };
        let free = begins + l2.atomic[if floats { 4 } else { 3 }] * f64::from(together.max(1));
        self.lines[place] = (line + 1, free);
        self.note(line, home, sectors, free);
        (free + l2.store + way, free + l2.atomic_latency + way)
    }

    /// So many turns of a compare-and-swap for as many lanes, that others may try at the same time: when the last one changes the
    /// word. The next one begins when somebody has read that.
    fn turn(&mut self, (line, sectors): (u64, u8), at: f64, lanes: u8, turns: u8) -> f64 {
        let [alone, each] = self.chip.l2.turn;
        let queue = self.turns.entry((line, sectors)).or_default();
        while queue.front().is_some_and(|&(over, _)| over <= at) {
            queue.pop_front();
        }
        let waiting = queue.iter().map(|&(_, lanes)| f64::from(lanes)).sum::<f64>() + f64::from(lanes);
        let begins = queue.back().map_or(at, |&(over, _)| over);
        let turn = alone.max(each * waiting);
        let over = begins + f64::from(turns) * turn;
        queue.push_back((over, lanes));
        over - turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Lines that all multiprocessors stream through, as the launches of `testdata/timing/written.cu` do.
    struct Stream<'a> {
        memory: Memory<'a>,
        now: f64,
    }

    impl Stream<'_> {
        fn each(&mut self, bytes: u64, mut what: impl FnMut(&mut Memory<'_>, f64, Asker, u64)) {
            for line in 0..bytes / 128 {
                let asker = Asker::new(
                    self.memory.chip,
                    (line / 8 % u64::from(self.memory.chip.multiprocessors)) as u32,
                );
                self.now += 0.1;
                what(&mut self.memory, self.now, asker, line);
            }
        }

        fn reads(&mut self, first: u64, bytes: u64) {
            self.each(bytes, |memory, now, asker, line| _ = memory.read(now, asker, first / 128 + line, 15));
        }

        fn writes(&mut self, first: u64, bytes: u64) {
            self.each(bytes, |memory, now, asker, line| _ = memory.write(now, asker, first / 128 + line, 15));
        }
    }

    /// What a launch of `written.cu` has memory write.
    fn written(chip: &Chip, what: &str, [first, second]: [u64; 2]) -> Option<u64> {
        let mut stream = Stream { memory: Memory::new(chip), now: 0.0 };
        let (p, q, bytes) = (0, 256 * MIB, first * MIB);
        match what {
            "reads" => stream.reads(p, bytes),
            "writes" => stream.writes(p, bytes),
            "changes" => stream.each(bytes, |memory, now, asker, line| {
                memory.read(now, asker, line, 15);
                memory.write(now, asker, line, 15);
            }),
            "copies" => stream.each(bytes, |memory, now, asker, line| {
                (0..second).for_each(|k| _ = memory.read(now, asker, (q + k * bytes) / 128 + line, 15));
                memory.write(now, asker, line, 15);
            }),
            _ => return None,
        }
        Some(stream.memory.traffic.dram_write)
    }

    /// Launches that are small enough for a test, in which memory writes more than a megabyte. Where all is read after all was written
    /// the device is not that exact about which line is the oldest.
    #[test]
    fn memory_writes_what_devices_have_it_write() {
        let h100 = include_str!("../../testdata/timing/recordings/written.csv");
        let h200 = include_str!("../../testdata/timing/recordings/written_h200.csv");
        assert!(compared(Chip::h100, h100) > 15);
        // More fits its second level.
        assert!(compared(Chip::h200, h200) > 10);
    }

    /// How many launches of a recording were compared.
    fn compared(chip: fn() -> Chip, recording: &str) -> usize {
        let mut compared = 0;
        for row in recording.lines().skip(3) {
            let (passes, row) = row.split_once(',').unwrap();
            let mut cells = row.rsplitn(5, ',');
            let [_, device, second, first, what] = [(); 5].map(|()| cells.next().unwrap().trim_matches('"'));
            let [first, second] = [first, second].map(|number| number.parse::<f64>().unwrap() as u64);
            let device: f64 = device.parse().unwrap();
            if first + second > 48 || device < 1e6 {
                continue;
            }
            let mut chip = chip();
            if passes == "one" {
                chip.l2.before = 0;
            }
            let Some(model) = written(&chip, what, [first, second]) else { continue };
            let off = (model as f64 - device).abs();
            // How full the cache is may be wrong by a fiftieth.
            assert!(
                off < 0.1 * device + chip.l2.bytes as f64 / 50.0,
                "{what} {first} {second}: {device} on a device, {model} here"
            );
            compared += 1;
        }
        compared
    }
}
