//! The second level of cache and memory, which all multiprocessors share.

use std::collections::{HashMap, VecDeque};

use crate::cache::{ALSO_THERE, Cache, Dirty, Found};
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
    /// Lines that were written, in no order, and maybe are in memory by now.
    written: Vec<u64>,
    /// Bytes of sectors that are not in memory, and of the lines that have them, in both partitions.
    dirty: u64,
    kept: u64,
    /// How many lines were chosen to be cleaned.
    choices: u64,
    pub(crate) traffic: Traffic,
    /// By line: when atomic operations on it are done.
    lines: Vec<(u64, f64)>,
    /// When each slice has done what it was asked to change.
    slices: [f64; SLICES],
    /// By slice of each partition: when it has done what it was asked to read.
    ports: [f64; 2 * SLICES],
    /// By line: when it can be written again.
    stored: Vec<(u64, f64)>,
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

/// What becomes of a write.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Written {
    /// When the second level has done it.
    pub(crate) taken: f64,
    /// When that is known.
    pub(crate) done: f64,
}

impl Written {
    /// That of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Written { taken: self.taken.max(other.taken), done: self.done.max(other.done) }
    }

    /// The same so many cycles later.
    pub(crate) fn later(self, by: f64) -> Self {
        Written { taken: self.taken + by, done: self.done + by }
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

/// The part that changes the words of a line: two lines that follow each other are in one, four and eight in two, 16 in four and 32 in
/// eight of them (`testdata/timing/sums.cu`, `gathers.cu`).
fn slice(line: u64) -> usize {
    let within = line >> 1 & 1 | line >> 2 & 0b1110;
    let group = (line >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62;
    (group << 4 | within) as usize
}

/// Where a line is among [`ATOMIC_LINES`].
fn place_of(line: u64) -> usize {
    (line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50) as usize % ATOMIC_LINES
}

const SECTOR: u64 = 32;
const LINE: u64 = 128;

/// How many lines with atomic operations, and of those that were written last, are told apart.
const ATOMIC_LINES: usize = 1 << 14;

/// How many reads of a group that are on their way are told apart.
const READS: usize = 1 << 10;

impl<'a> Memory<'a> {
    pub(crate) fn new(chip: &'a Chip) -> Self {
        let l2 = &chip.l2;
        let half = || Cache::new(l2.bytes / 2, l2.ways).written_before(l2.before / 2, l2.newer / 2);
        Memory {
            chip,
            partitions: [half(), half()],
            busy: 0.0,
            memory: 0.0,
            written: Vec::new(),
            dirty: l2.before,
            kept: l2.before,
            choices: 0,
            traffic: Traffic::default(),
            lines: vec![(0, 0.0); ATOMIC_LINES],
            slices: [0.0; SLICES],
            ports: [0.0; 2 * SLICES],
            stored: vec![(0, 0.0); ATOMIC_LINES],
            turns: HashMap::new(),
            reads: vec![Read::default(); READS * l2.groups.max(1) as usize],
        }
    }

    /// Bytes that were written and are not yet in memory.
    pub(crate) fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Bytes of lines that came, in each partition.
    pub(crate) fn taken(&self) -> u64 {
        self.partitions.iter().map(Cache::taken).sum()
    }

    /// A number of a line of its own, by which the second level finds its place: lines that follow each other are spread as if by
    /// chance, so that some places are full before others are.
    fn spread(line: u64) -> u64 {
        let mixed = (line ^ line >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ mixed >> 32).wrapping_mul(0x94D0_49BB_1331_11EB)
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

    /// The same of one for a line, which then waits for the slice that has it in a partition.
    fn enter_at(&mut self, now: f64, (partition, line): (usize, u64), cost: f64) -> f64 {
        let start = self.enter(now, cost);
        // Which one of those for 64 lines that is depends on all that are before them.
        let mixed = (Self::spread(line >> 6) >> 58) as usize;
        let port = &mut self.ports[partition * SLICES + (slice(line) ^ mixed)];
        let begins = port.max(start);
        *port = begins + cost * self.chip.l2.slice;
        begins
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
        let cost = l2.read[0].max(l2.read[1] * f64::from(count));
        let start = self.enter_at(now, (near, line), cost);
        self.traffic.read += u64::from(count);
        self.traffic.asked += u64::from(count);
        let mut done = start + l2.latency;
        let found = self.look(near, line, sectors);
        let missing = sectors & !found.valid;
        self.traffic.hit += u64::from((sectors & found.valid).count_ones());
        if found.valid & sectors != 0 {
            done = done.max(found.ready);
        }
        if missing != 0 {
            done = done.max(self.fetch(start, near, line, missing));
        }
        done
    }

    /// What the near partition does not have, and has from then on.
    fn fetch(&mut self, start: f64, near: usize, line: u64, missing: u8) -> f64 {
        let l2 = &self.chip.l2;
        let home = Self::home(line);
        let mut at = start + l2.latency;
        let (mut absent, mut taken) = (missing, missing);
        if home != near {
            let count = u64::from(missing.count_ones());
            self.traffic.read += count;
            // The way to the other partition is narrower.
            self.busy += l2.narrow * l2.read[1] * count as f64;
            at += l2.far;
            let found = self.look(home, line, missing);
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
            self.take(home, line, grain, at, 0);
            taken |= grain;
        }
        if home != near {
            self.take(near, line, taken, at, 0);
        }
        at
    }

    fn look(&mut self, partition: usize, line: u64, sectors: u8) -> Found {
        self.partitions[partition].look(Self::spread(line), sectors)
    }

    /// Looks for a line where it is sought when it is read.
    pub(crate) fn peek(&self, asker: Asker, line: u64) -> u8 {
        let (near, home, number) = (asker.near, Self::home(line), Self::spread(line));
        let there = self.partitions[near].peek(number);
        if home == near || there != 0 { there } else { self.partitions[home].peek(number) }
    }

    /// What is newly written, of the sectors that are.
    fn take(&mut self, partition: usize, line: u64, sectors: u8, ready: f64, written: u8) -> Dirty {
        let taken = self.partitions[partition].take(Self::spread(line), sectors, ready, written);
        self.write_back(taken.gone);
        taken.new
    }

    /// Memory is busy with it when it has done what it was asked for before.
    fn write_back(&mut self, gone: Dirty) {
        let bytes = u64::from(gone.sectors) * SECTOR;
        self.dirty = self.dirty.saturating_sub(bytes);
        self.kept = self.kept.saturating_sub(u64::from(gone.places) * LINE);
        self.traffic.dram_write += bytes;
        self.memory += bytes as f64 / self.chip.dram.write;
    }

    /// Sectors of a line are written.
    pub(crate) fn write(&mut self, now: f64, asker: Asker, line: u64, sectors: u8) -> Written {
        let near = asker.near;
        let l2 = &self.chip.l2;
        let count = sectors.count_ones();
        let home = Self::home(line);
        let start = self.enter(now, l2.write[0].max(l2.write[1] * f64::from(count)));
        // Those of one line come one after the other.
        let (own, free) = &mut self.stored[place_of(line)];
        let start = if *own == line + 1 { start.max(*free) } else { start };
        (*own, *free) = (line + 1, start + l2.rewrite * f64::from(count));
        self.traffic.write += u64::from(count) * if home == near { 1 } else { 2 };
        self.traffic.asked += u64::from(count);
        self.traffic.hit += u64::from(count);
        self.note(line, near, home, sectors, start);
        let backlog = (self.memory - start - l2.backlog).max(0.0);
        let taken = start + backlog;
        Written { taken, done: taken + l2.store + if home == near { 0.0 } else { l2.far } }
    }

    /// Sectors of a line were written: where it is at home, and in the partition that they came through, which keeps them, too.
    fn note(&mut self, line: u64, near: usize, home: usize, sectors: u8, start: f64) {
        let elsewhere = if near == home { 0 } else { ALSO_THERE };
        if near != home {
            self.take(near, line, sectors, start, 0);
        }
        let new = self.take(home, line, sectors, start, sectors | elsewhere);
        self.dirty += u64::from(new.sectors) * SECTOR;
        self.kept += u64::from(new.places) * LINE;
        if new.sectors > 0 {
            self.written.push(line);
            // Those that went for others are forgotten now and then.
            if self.written.len() as u64 > 2 * self.chip.l2.bytes / LINE {
                let partitions = &self.partitions;
                self.written.retain(|&line| partitions[Self::home(line)].is_dirty(Self::spread(line)));
            }
        }
        while self.kept > self.chip.l2.dirty {
            let before = self.partitions.iter_mut().find_map(Cache::clean_before);
            let Some(gone) = before.or_else(|| self.clean_any()) else { break };
            self.write_back(gone);
        }
    }

    /// Any line that was written is clean from now on, not the oldest one: of lines that are written again and again, some stay.
    fn clean_any(&mut self) -> Option<Dirty> {
        if self.written.is_empty() {
            return None;
        }
        self.choices = self.choices.wrapping_add(1);
        let at = (Self::spread(self.choices) % self.written.len() as u64) as usize;
        let line = self.written.swap_remove(at);
        Some(self.partitions[Self::home(line)].clean(Self::spread(line)))
    }

    /// Words of a line are changed; and when the result is there.
    pub(crate) fn change(
        &mut self,
        now: f64,
        asker: Asker,
        line: u64,
        sectors: u8,
        change: Change,
    ) -> (Written, f64) {
        let near = asker.near;
        let l2 = &self.chip.l2;
        let count = sectors.count_ones();
        let Change { lanes, together, deep, turns, floats } = change;
        let start = self.enter(now, l2.atomic[0].max(l2.atomic[1] * f64::from(lanes)));
        let home = Self::home(line);
        self.traffic.atomic += u64::from(count) * if home == near { 1 } else { 2 };
        self.traffic.asked += u64::from(count);
        let found = self.look(home, line, sectors);
        self.traffic.hit += u64::from((sectors & found.valid).count_ones());
        // It is done where the line is at home.
        let way = if home == near { 0.0 } else { l2.atomic_far };
        let mut at = start + way;
        if sectors & !found.valid != 0 {
            at = self.fetch(start, home, line, sectors & !found.valid) - l2.latency;
        }
        let changed =
            |taken: f64| (Written { taken, done: taken + l2.store + way }, taken + l2.atomic_latency + way);
        if turns > 0 {
            let done = self.turn((line, sectors), at, together, turns);
            self.note(line, near, home, sectors, done);
            return changed(done);
        }
        let place = place_of(line);
        let (own, free) = self.lines[place];
        let slice = &mut self.slices[slice(line)];
        let begins = at.max(*slice);
        *slice = begins + l2.atomic[2] * f64::from(deep);
        // Lanes at one word go one after the other.
        let begins = if own == line + 1 { begins.max(free) } else { begins };
        let free = begins + l2.atomic[if floats { 4 } else { 3 }] * f64::from(together.max(1));
        self.lines[place] = (line + 1, free);
        self.note(line, near, home, sectors, free);
        changed(free)
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

    /// By how much less than in `written.cu` is streamed through a second level that is so much smaller: sets, and what there is of
    /// each, are the same.
    const LESS: u64 = 8;

    /// Lines that all multiprocessors stream through, as the launches of `testdata/timing/written.cu` do.
    struct Stream<'a> {
        memory: Memory<'a>,
        now: f64,
    }

    impl Stream<'_> {
        /// What is done with each line by the multiprocessor that has its block, of eight lines.
        fn each(&mut self, bytes: u64, mut what: impl FnMut(&mut Memory<'_>, f64, Asker, u64)) {
            for line in 0..bytes / LINE {
                let number = line / 8 % u64::from(self.memory.chip.multiprocessors);
                let asker = Asker::new(self.memory.chip, number as u32);
                self.now += 0.1;
                what(&mut self.memory, self.now, asker, line);
            }
        }

        fn reads(&mut self, first: u64, bytes: u64) {
            self.shifted(first, bytes, 0);
        }

        /// Reads what so many blocks further on is.
        fn shifted(&mut self, first: u64, bytes: u64, blocks: u64) {
            self.each(bytes, |memory, now, asker, line| {
                let line = (line + 8 * blocks) % (bytes / LINE);
                memory.read(now, asker, first / LINE + line, 15);
            });
        }

        fn writes(&mut self, first: u64, bytes: u64) {
            self.each(bytes, |memory, now, asker, line| {
                _ = memory.write(now, asker, first / LINE + line, 15)
            });
        }

        /// Two blocks write a half each of the same lines, on whatever multiprocessors they are.
        fn halves(&mut self, first: u64, bytes: u64) {
            for half in 0..2 * bytes / LINE {
                let block = half / 16;
                let number = Memory::spread(block) % u64::from(self.memory.chip.multiprocessors);
                let asker = Asker::new(self.memory.chip, number as u32);
                let line = first / LINE + block / 2 * 16 + half % 16;
                self.now += 0.1;
                self.memory.write(self.now, asker, line, if block % 2 == 0 { 3 } else { 12 });
            }
        }
    }

    /// What a launch of `written.cu` has memory write.
    fn written(chip: &Chip, what: &str, [first, second]: [u64; 2]) -> Option<u64> {
        let mut less = chip.clone();
        for of in [&mut less.l2.bytes, &mut less.l2.dirty, &mut less.l2.before, &mut less.l2.newer] {
            *of /= LESS;
        }
        let mut stream = Stream { memory: Memory::new(&less), now: 0.0 };
        let (p, q, bytes, more) = (0, 256 * MIB, first * MIB / LESS, second * MIB / LESS);
        match what {
            "reads" => stream.reads(p, bytes),
            "writes" => stream.writes(p, bytes),
            "changes" => stream.each(bytes, |memory, now, asker, line| {
                memory.read(now, asker, line, 15);
                memory.write(now, asker, line, 15);
            }),
            "halves" => stream.halves(p, bytes),
            "reads twice, writes" => {
                (0..2).for_each(|shift| stream.shifted(q, bytes, shift * 17));
                stream.writes(p, more);
            }
            "reads 6 times, writes" | "reads 6 times, halves" => {
                (0..6).for_each(|shift| stream.shifted(q, bytes, shift * 17));
                if what.ends_with("writes") {
                    stream.writes(p, more);
                } else {
                    stream.halves(p, more);
                }
            }
            "reads, writes" => {
                stream.reads(q, bytes);
                stream.writes(p, more);
            }
            "copies" => stream.each(bytes, |memory, now, asker, line| {
                (0..second).for_each(|k| _ = memory.read(now, asker, (q + k * bytes) / 128 + line, 15));
                memory.write(now, asker, line, 15);
            }),
            _ => return None,
        }
        Some(LESS * stream.memory.traffic.dram_write)
    }

    /// All multiprocessors write and read as many sectors of few lines, and of many.
    #[test]
    fn few_lines_are_few_slices() {
        let chip = Chip::h200();
        for writes in [true, false] {
            let last = |lines: u64| {
                let mut memory = Memory::new(&chip);
                let each = (0..40_000).map(|number| {
                    let asker = Asker::new(&chip, (number % 132) as u32);
                    // No two of a group come at once for one line.
                    let line = number * 33 % lines;
                    match writes {
                        true => memory.write(0.0, asker, line, 15).taken,
                        false => memory.read_alone(0.0, asker.near, line, 15),
                    }
                });
                each.fold(0.0, f64::max)
            };
            let (few, many) = (last(4), last(40_000));
            assert!(few > 4.0 * many, "{writes} {few} {many}");
        }
    }

    /// Launches in which memory writes more than a megabyte, of those that are small enough for a test. Where all is read after all was
    /// written the device is not that exact about which line is the oldest.
    #[test]
    fn memory_writes_what_devices_have_it_write() {
        assert!(compared(Chip::h100, include_str!("../../testdata/timing/recordings/written.csv")) > 15);
        // More fits its second level.
        assert!(compared(Chip::h200, include_str!("../../testdata/timing/recordings/written_h200.csv")) > 10);
        assert!(compared(Chip::h200, include_str!("../../testdata/timing/recordings/both_h200.csv")) > 15);
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
            let times = if what.starts_with("reads 6 times") { 6 } else { 1 };
            if times * first + second > 120 || first + second > 48 || device < 1e6 {
                continue;
            }
            let mut chip = chip();
            if passes == "one" {
                (chip.l2.before, chip.l2.newer) = (0, 0);
            }
            let Some(model) = written(&chip, what, [first, second]) else { continue };
            let off = (model as f64 - device).abs();
            // How full it is may be wrong by a sixtieth.
            assert!(off < 0.1 * device + 1e6, "{what} {first} {second}: {device} on a device, {model} here");
            compared += 1;
        }
        compared
    }
}
