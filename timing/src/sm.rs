//! A multiprocessor: what its warps wait for, and its first level of cache.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::cache::Cache;
use crate::chip::Chip;
use crate::code::Unit;
use crate::constants::Constants;
use crate::fetch;
use crate::fetch::Fetch;
use crate::memory::{Asker, Change, Memory, Written};
use crate::work::Stay;
use crate::work::{Block, Step, parts};

/// Why a warp does not issue, as Nsight Compute names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stall {
    /// It does.
    Selected,
    /// The latency of its last instruction, or a jump.
    Wait,
    /// Global or local memory.
    LongScoreboard,
    /// Shared memory, shuffles, special functions.
    ShortScoreboard,
    /// Other warps of its block.
    Barrier,
    /// Its next instruction is not there.
    NoInstruction,
    /// A constant is not there.
    Constant,
    /// The unit is busy.
    Throttle,
    /// Another warp issues.
    NotSelected,
    /// A fence.
    Membar,
}

impl Stall {
    /// How many there are.
    pub const COUNT: usize = 10;

    /// All of them, with the part of Nsight Compute's names that says which.
    pub const ALL: [(Stall, &'static str); Stall::COUNT] = [
        (Stall::Selected, "selected"),
        (Stall::Wait, "wait"),
        (Stall::LongScoreboard, "long_scoreboard"),
        (Stall::ShortScoreboard, "short_scoreboard"),
        (Stall::Barrier, "barrier"),
        (Stall::NoInstruction, "no_instruction"),
        (Stall::Constant, "imc_miss"),
        (Stall::Throttle, "math_pipe_throttle"),
        (Stall::NotSelected, "not_selected"),
        (Stall::Membar, "membar"),
    ];
}

/// A warp that is resident.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) steps: Arc<[Step]>,
    pub(crate) step: u32,
    /// Its next instruction.
    pub(crate) op: u32,
    /// What it waits for until it can be issued.
    pub(crate) stall: Stall,
    /// When the last one was issued.
    pub(crate) issued: f64,
    /// When the results that scoreboards stand for are there, and whether they come from far away.
    pub(crate) boards: [f64; 6],
    pub(crate) far: [bool; 6],
    /// Those of boards that count.
    pub(crate) missing: Vec<(u8, f64)>,
    /// When its copies, what its bulk copies read, its products of matrices, and its stores are done.
    pub(crate) copies: f64,
    pub(crate) bulk: f64,
    pub(crate) products: f64,
    pub(crate) stores: f64,
    /// When its stores keep it from leaving no longer, and when all that it wrote is done.
    pub(crate) leaves: f64,
    pub(crate) settles: f64,
    /// When it read the words that it compares next, and those of them that others changed meanwhile: it tries again.
    pub(crate) compared: f64,
    pub(crate) failed: Vec<u32>,
    /// The loop that it then goes round once more.
    pub(crate) again: Option<(u32, u32)>,
    /// Accesses that are left, by place in the source.
    pub(crate) cursors: Vec<u32>,
    pub(crate) resident: u32,
    /// Its sub-core, and which of the seats there it has.
    pub(crate) core: u32,
    pub(crate) seat: u32,
    /// Its place among the warps of its multiprocessor, whose own memory lies where that of the last one there lay.
    pub(crate) place: u32,
    /// Index of the warp in its block.
    pub(crate) number: u32,
}

impl Warp {
    /// It wrote something.
    pub(crate) fn wrote(&mut self, written: Written) {
        self.stores = self.stores.max(written.done);
        self.settles = self.settles.max(written.taken);
    }

    /// It stored something, for which it waits before it leaves.
    pub(crate) fn stored(&mut self, chip: &Chip, written: Written) {
        self.wrote(written);
        self.leaves = self.leaves.max(written.taken + chip.l1.leave);
    }
}

/// A block that is resident.
#[derive(Default)]
pub(crate) struct Resident {
    pub(crate) block: Block,
    pub(crate) multiprocessor: u32,
    /// Warps that have not ended.
    pub(crate) left: u32,
    pub(crate) ends: f64,
    pub(crate) stay: Option<Stay>,
    /// Warps at each barrier, with when the last one comes.
    pub(crate) barriers: Vec<(u8, u32, f64, Vec<u32>)>,
    /// By word of its shared memory: when a loop around a compare-and-swap changed it last.
    pub(crate) words: HashMap<u32, f64>,
}

/// What a sub-core has to know of a warp to choose one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) warp: u32,
    /// The unit of its next instruction.
    pub(crate) unit: Unit,
    /// When that can be issued, if the unit is free.
    pub(crate) when: f64,
}

/// A quarter of a multiprocessor.
#[derive(Clone, Debug)]
pub(crate) struct SubCore {
    /// Its warps, the oldest first.
    pub(crate) seats: Vec<Seat>,
    /// When each unit is free, and in which cycle that is.
    pub(crate) units: [f64; Unit::COUNT],
    pub(crate) free: [f64; Unit::COUNT],
    /// The one that issued last.
    pub(crate) last: u32,
    /// When it is looked at next.
    pub(crate) scheduled: f64,
    /// The lines of code that it has.
    pub(crate) nearest: fetch::Nearest,
}

/// A line on its way to the second level, which further stores may join.
#[derive(Clone, Copy, Debug)]
struct Stored {
    line: u64,
    sectors: u8,
    /// When the last one did.
    at: f64,
    /// When it leaves, if nothing of it is missing.
    leaves: f64,
}

/// A multiprocessor.
pub(crate) struct Multiprocessor {
    pub(crate) l1: Cache,
    /// When what serves memory instructions, and the port to the second level, are free.
    pub(crate) serves: f64,
    pub(crate) port: f64,
    /// When what takes stores to the second level is free.
    pub(crate) out: f64,
    pub(crate) barriers: f64,
    /// When the units for textures, for bulk copies and for mbarriers are free.
    pub(crate) textures: f64,
    pub(crate) bulk: f64,
    pub(crate) phases: f64,
    pub(crate) fetch: Fetch,
    pub(crate) constants: Constants,
    /// Lines that were stored to, the one that was last at the end.
    stored: VecDeque<Stored>,
    /// By sector of the last atomic operations: when the second level takes it. No more than so many are on their way.
    reductions: VecDeque<f64>,
    /// Lines of global memory that came to the first level since it forgot all; [`MOST_CAME`] of them are too many to be told.
    came: Vec<u64>,
    /// Pages that it knows, and since when.
    pub(crate) pages: Vec<(u64, f64)>,
    /// Whether somebody has printed there.
    pub(crate) prints: bool,
    pub(crate) asker: Asker,
    pub(crate) residents: u32,
    pub(crate) next: u32,
    /// Places of warps that are taken.
    places: Vec<bool>,
    pub(crate) since: f64,
    pub(crate) active: f64,
}

impl Multiprocessor {
    pub(crate) fn new(chip: &Chip, number: u32, l1: u64, code: usize) -> Self {
        Multiprocessor {
            l1: Cache::new(l1, chip.l1.ways),
            serves: 0.0,
            port: 0.0,
            out: 0.0,
            barriers: 0.0,
            textures: 0.0,
            bulk: 0.0,
            phases: 0.0,
            fetch: Fetch::new(chip, code),
            constants: Constants::new(chip),
            stored: VecDeque::new(),
            reductions: VecDeque::new(),
            came: Vec::new(),
            pages: Vec::new(),
            prints: false,
            asker: Asker::new(chip, number),
            residents: 0,
            next: 0,
            places: Vec::new(),
            since: 0.0,
            active: 0.0,
        }
    }

    /// Takes a place for a warp.
    pub(crate) fn take_place(&mut self) -> u32 {
        let free = self.places.iter().position(|taken| !taken);
        let at = free.unwrap_or_else(|| {
            self.places.push(true);
            self.places.len() - 1
        });
        self.places[at] = true;
        at as u32
    }

    /// A warp leaves its place.
    pub(crate) fn leave(&mut self, place: u32) {
        self.places[place as usize] = false;
    }

    /// When the line of an instruction is there, if it is wanted at a time.
    pub(crate) fn fetched(&mut self, chip: &Chip, behind: &mut fetch::Behind, op: u32, now: f64) -> f64 {
        self.fetch.instruction(chip, behind, self.asker.group, op, now)
    }

    /// When the page of a line is known.
    fn page(&mut self, chip: &Chip, line: u64, now: f64) -> f64 {
        let page = line * 128 / chip.dram.page;
        if let Some(at) = self.pages.iter().rposition(|(known, _)| *known == page) {
            let since = self.pages[at].1;
            // Those that were used last are found first.
            let last = self.pages.len() - 1;
            self.pages.swap(at, last);
            return since.max(now);
        }
        if self.pages.len() >= PAGES {
            self.pages.remove(0);
        }
        self.pages.push((page, now + chip.dram.page_miss));
        now + chip.dram.page_miss
    }

    /// Serves an instruction for so many cycles; when it begins.
    pub(crate) fn serve(&mut self, now: f64, cycles: f64) -> f64 {
        let start = self.serves.max(now);
        self.serves = start + cycles;
        start
    }

    /// A line comes to the first level.
    fn comes(&mut self, line: u64) {
        if line < SPILLED && self.came.len() < MOST_CAME {
            self.came.push(line);
        }
    }

    /// The first level forgets what it has of global memory; of that which threads have for themselves nobody else writes anything.
    pub(crate) fn forget(&mut self, now: f64, chip: &Chip) {
        self.serve(now, chip.shared.wavefront);
        let came = std::mem::take(&mut self.came);
        if came.len() < MOST_CAME {
            came.iter().for_each(|&line| self.l1.forget(line, 15));
        } else {
            self.l1.forget_below(SPILLED);
        }
        self.came = came;
        self.came.clear();
    }

    /// Looks for lines of which there are several, in all that is behind: what the host has to fetch for that comes at the same time,
    /// and not one after the other.
    fn peek(&self, memory: &Memory<'_>, pieces: &[u64]) {
        if pieces.len() < PEEKED {
            return;
        }
        let there = pieces.iter().fold(0, |there, &piece| {
            let (line, sectors) = parts(piece);
            let missing = sectors & !self.l1.peek(line);
            there ^ if missing == 0 { 0 } else { memory.peek(self.asker, line) }
        });
        std::hint::black_box(there);
    }

    /// Loads lines, for which the tags and the data take so many turns; when they are there.
    pub(crate) fn load(
        &mut self,
        chip: &Chip,
        memory: &mut Memory<'_>,
        now: f64,
        pieces: &[u64],
        [tags, data]: [f64; 2],
        sees: Sees,
    ) -> f64 {
        let past = sees == Sees::Nothing;
        let l1 = &chip.l1;
        let tags = tags * l1.tag;
        let each = tags / pieces.len().max(1) as f64;
        let start = self.serve(now, tags.max(data * l1.data));
        let mut done = start + l1.latency;
        self.peek(memory, pieces);
        for (at, &piece) in pieces.iter().enumerate() {
            let (line, sectors) = parts(piece);
            let begins = self.page(chip, line, start + at as f64 * each);
            done = done.max(begins + l1.latency);
            let found = self.l1.look(line, sectors);
            // Where a part is wanted that is not there, all of the line comes once more.
            let valid = match sees {
                Sees::Nothing => 0,
                Sees::Own(reader) if found.parts & sectors != 0 && found.writer == reader => {
                    found.valid | found.parts
                }
                _ if found.parts & sectors != 0 => 0,
                _ => found.valid,
            };
            if valid & sectors != 0 {
                done = done.max(found.ready);
            }
            let missing = sectors & !valid;
            if missing != 0 {
                let arrives = memory.read(begins, self.asker, line, missing);
                self.serves += l1.allocate;
                self.port = self.port.max(arrives) + f64::from(missing.count_ones()) * l1.fill;
                if !past {
                    self.comes(line);
                    self.l1.take(line, missing, self.port, 0);
                }
                done = done.max(self.port);
            }
        }
        done
    }

    /// Reads texels in so many groups of lanes; when they are there, but for what sampling takes.
    pub(crate) fn sample(
        &mut self,
        chip: &Chip,
        memory: &mut Memory<'_>,
        now: f64,
        pieces: &[u64],
        groups: f64,
    ) -> f64 {
        let start = self.textures.max(now);
        let busy = groups.max(pieces.len() as f64 * chip.l1.tag) * chip.texture.group;
        self.textures = start + busy;
        // The tags are those of loads, which textures leave free.
        let serves = std::mem::replace(&mut self.serves, start);
        let there = self.load(chip, memory, start, pieces, [pieces.len() as f64, 0.0], Sees::Whole);
        self.serves = serves;
        (there - chip.l1.latency).max(start + busy - chip.texture.group)
    }

    /// Copies lines of global memory to shared memory; when that is done.
    pub(crate) fn copy_in(
        &mut self,
        chip: &Chip,
        memory: &mut Memory<'_>,
        now: f64,
        pieces: &[u64],
        tensor: bool,
    ) -> f64 {
        let bulk = &chip.bulk;
        let cost = bulk.line[usize::from(tensor)];
        let mut done = now + bulk.latency;
        for &piece in pieces {
            let (line, sectors) = parts(piece);
            let begins = self.bulk.max(now);
            self.bulk = begins + cost;
            let begins = self.page(chip, line, begins);
            let tensor = if tensor { bulk.tensor } else { 0.0 };
            done = done.max(memory.read(begins, self.asker, line, sectors) + bulk.latency + tensor);
        }
        done
    }

    /// Copies lines of shared memory to global memory; when they are read, and when that is done.
    pub(crate) fn copy_out(
        &mut self,
        chip: &Chip,
        memory: &mut Memory<'_>,
        now: f64,
        pieces: &[u64],
        reduces: bool,
    ) -> (f64, Written) {
        let mut done = Written { taken: now, done: now };
        for &piece in pieces {
            let (line, sectors) = parts(piece);
            let begins = self.bulk.max(now);
            self.bulk = begins + chip.bulk.out;
            let begins = self.page(chip, line, begins);
            let written = match reduces {
                true => memory.change(begins, self.asker, line, sectors, Change::once(sectors)).0,
                false => memory.write(begins, self.asker, line, sectors),
            };
            done = done.and(written);
        }
        (self.bulk.max(now) + chip.bulk.read, done)
    }

    /// When the unit for mbarriers takes an operation.
    pub(crate) fn phase(&mut self, chip: &Chip, now: f64) -> f64 {
        let start = self.phases.max(now);
        self.phases = start + chip.mbarrier.interval;
        start
    }

    /// Stores lines, for which the tags take so many turns, whole ones or parts, and parts of sectors if it is said by whom; when its operands are read, and what becomes of it.
    pub(crate) fn store(
        &mut self,
        chip: &Chip,
        memory: &mut Memory<'_>,
        now: f64,
        pieces: &[u64],
        (tags, whole): (f64, bool),
        writer: Option<u32>,
    ) -> (f64, Written) {
        let l1 = &chip.l1;
        let start = self.serve(now, tags * l1.tag);
        let mut done = Written { taken: start, done: start };
        for &piece in pieces {
            let (line, sectors) = parts(piece);
            let there = self.page(chip, line, start);
            let (merged, known) = self.merged(chip, line, sectors, start);
            self.comes(line);
            match writer {
                None => _ = self.l1.take(line, sectors, there, 0),
                Some(writer) => self.l1.take_parts(line, sectors, writer),
            }
            if merged && known == sectors {
                continue;
            }
            let sectors = sectors & !known;
            let begins = self.out.max(there);
            let one = if merged { 0.0 } else { l1.out[0] };
            self.out = begins + one.max(l1.out[1] * f64::from(sectors.count_ones()));
            if let Some(last) = self.stored.back_mut().filter(|_| whole) {
                last.leaves = begins;
            }
            // The second level is not kept from others by what is still on its way.
            let written = memory.write(there, self.asker, line, sectors);
            done = done.and(written.later(begins - there));
        }
        // Others wait behind what is not taken yet.
        self.serves = self.serves.max(self.out - l1.waiting);
        (start + chip.shared.read, done)
    }

    /// Whether sectors of a line are sent on with those of a store before, and which of them are among these: a whole line that has left
    /// is sent again.
    fn merged(&mut self, chip: &Chip, line: u64, sectors: u8, now: f64) -> (bool, u8) {
        let l1 = &chip.l1;
        let at = self.stored.iter().rposition(|of| of.line == line);
        let own = at.and_then(|at| self.stored.remove(at)).filter(|of| now - of.at <= l1.merge_within);
        let sent = own.map_or(0, |of| of.sectors);
        let leaves = own.map_or(f64::INFINITY, |of| of.leaves);
        self.stored.push_back(Stored { line, sectors: sent | sectors, at: now, leaves });
        if self.stored.len() > l1.merge_lines as usize {
            self.stored.pop_front();
        }
        let again = leaves <= now;
        (own.is_some() && !again, if again { 0 } else { sent & sectors })
    }

    /// Changes words of lines; what becomes of it, when the result is there, and when it is on its way.
    pub(crate) fn change(
        &mut self,
        chip: &Chip,
        memory: &mut Memory<'_>,
        now: f64,
        pieces: &[u64],
        change: Change,
    ) -> (Written, f64, f64) {
        let mut start = self.serve(now, pieces.len() as f64 * chip.l1.tag);
        let (mut done, mut result) = (Written { taken: start, done: start }, start);
        let change = change.of_one(pieces.len());
        for (at, &piece) in pieces.iter().enumerate() {
            let (line, sectors) = parts(piece);
            // Others wait behind what there is no room for on the way.
            let count = sectors.count_ones() as usize;
            while self.reductions.len() + count > chip.l1.reductions as usize
                && let Some(oldest) = self.reductions.pop_front()
            {
                start = start.max(oldest);
            }
            let begins = self.page(chip, line, start + at as f64 * chip.l1.tag);
            let (changed, known) = memory.change(begins, self.asker, line, sectors, change);
            self.reductions.extend(std::iter::repeat_n(changed.taken, count));
            done = done.and(changed);
            result = result.max(known);
        }
        self.serves = self.serves.max(start);
        (done, result, start)
    }
}

/// What of the first level a load sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sees {
    /// It looks past it.
    Nothing,
    /// Whole sectors.
    Whole,
    /// Whole sectors, and those parts that it wrote itself.
    Own(u32),
}

/// Lines of an access from which on it is worth while to look for all of them first.
const PEEKED: usize = 4;

/// Pages that a multiprocessor knows at a time.
const PAGES: usize = 64;

/// The line at which the threads' own memory begins.
pub(crate) const SPILLED: u64 = 1 << 44;

/// Lines that are forgotten one by one; if more came, all places are looked at.
const MOST_CAME: usize = 1 << 9;
