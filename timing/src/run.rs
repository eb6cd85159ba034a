//! The model: blocks are placed, warps issue, until nothing is left.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use crate::chip::Chip;
use crate::code::{Does, Op, Unit};
use crate::meeting::{Clusters, Phases};
use crate::memory::{Change, Memory};
use crate::sm::{Multiprocessor, Resident, Stall, SubCore, Warp};
use crate::work::{Access, Launch, Operation, Phase, Stay, Way, Work};

pub use crate::sm::Stall as Reason;

/// What a launch took.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Time {
    /// Cycles from the launch's begin to its end (`gpc__cycles_elapsed.max`).
    pub elapsed: f64,
    /// Cycles in which a multiprocessor had a block: in the middle, and the most (`sm__cycles_active`).
    pub active: f64,
    /// The least and the most of a multiprocessor.
    pub active_bounds: [f64; 2],
    /// Instructions that were issued.
    pub issued: u64,
    /// By sub-core, those of a multiprocessor beside each other.
    pub issued_by: Vec<u64>,
    /// Cycles that warps were resident, all together.
    pub resident: f64,
    /// By instruction: cycles that warps waited to issue it, by [`Stall`].
    pub stalls: Vec<[f64; Stall::COUNT]>,
    /// Sectors of the second level that were read, written, changed.
    pub l2_read: u64,
    /// Written.
    pub l2_write: u64,
    /// Changed by atomic operations.
    pub l2_atomic: u64,
    /// Of the sectors that multiprocessors asked for, those that were found.
    pub l2_hit: f64,
    /// Sectors that went to and from multiprocessors.
    pub l2_asked: u64,
    /// Bytes read from memory.
    pub dram_read: u64,
    /// Bytes written to memory.
    pub dram_write: u64,
    /// Where each block was, and when, in the order in which they ended.
    pub blocks: Vec<Stay>,
}

/// Something to look at: a sub-core, or the placement of blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Event {
    at: f64,
    /// A sub-core's number; [`PLACE`]; or behind that, a multiprocessor whose block has ended.
    what: u32,
}

const PLACE: u32 = 1 << 20;

impl Eq for Event {}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        // The earliest is the greatest.
        other.at.total_cmp(&self.at).then(other.what.cmp(&self.what))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Machine<'a> {
    chip: &'a Chip,
    code: &'a [Op],
    launch: &'a Launch,
    work: &'a dyn Work,
    memory: Memory<'a>,
    multiprocessors: Vec<Multiprocessor>,
    cores: Vec<SubCore>,
    warps: Vec<Warp>,
    free_warps: Vec<u32>,
    residents: Vec<Resident>,
    free_residents: Vec<u32>,
    events: BinaryHeap<Event>,
    /// The next block, and when one was placed last.
    block: u64,
    placed: f64,
    /// Whether a placement is among the events.
    placing: bool,
    intervals: [f64; Unit::COUNT],
    latencies: [f64; Unit::COUNT],
    stalls: Vec<[f64; Stall::COUNT]>,
    issued_by: Vec<u64>,
    resident: f64,
    last: f64,
    /// When all is done that was written.
    written: f64,
    stays: Vec<Stay>,
    phases: Phases,
    clusters: Clusters,
    /// Whether there is a barrier of clusters.
    clustered: bool,
}

/// An instruction that is issued.
#[derive(Clone, Copy)]
struct Issued {
    /// The warp.
    index: u32,
    /// The instruction's index.
    at: u32,
    op: Op,
    now: f64,
    /// When its unit is free again.
    busy_until: f64,
}

/// What becomes of a warp by an instruction.
#[derive(Clone, Copy)]
struct Outcome {
    /// When it goes on, and what it waits for until then.
    ready: f64,
    stall: Stall,
    /// When the result is there, and when the operands have been read.
    result: f64,
    read: f64,
    /// Whether the result comes from far away.
    far: bool,
    /// Whether it goes on when somebody else says so.
    sleeps: bool,
}

impl Outcome {
    fn wait_until(&mut self, at: f64, why: Stall) {
        self.ready = self.ready.max(at);
        self.stall = why;
    }
}

/// How long a launch takes on a chip.
///
/// `work` is asked for the blocks in the order in which they are placed, which is that of their indices.
pub fn run(chip: &Chip, code: &[Op], launch: &Launch, work: &dyn Work) -> Time {
    let count = chip.multiprocessors;
    let l1 = chip.l1.bytes.saturating_sub(launch.shared_bytes).max(8 << 10);
    let rates = chip.units.all();
    let core =
        SubCore { warps: Vec::new(), units: [0.0; Unit::COUNT], last: u32::MAX, scheduled: f64::INFINITY };
    let mut machine = Machine {
        chip,
        code,
        launch,
        work,
        memory: Memory::new(chip),
        multiprocessors: (0..count).map(|number| Multiprocessor::new(chip, number, l1, code.len())).collect(),
        cores: vec![core; 4 * count as usize],
        warps: Vec::new(),
        free_warps: Vec::new(),
        residents: Vec::new(),
        free_residents: Vec::new(),
        events: BinaryHeap::new(),
        block: 0,
        placed: -chip.launch.block_interval,
        placing: false,
        intervals: rates.map(|rate| rate.interval),
        latencies: rates.map(|rate| rate.latency),
        stalls: vec![[0.0; Stall::COUNT]; code.len()],
        issued_by: vec![0; 4 * count as usize],
        resident: 0.0,
        last: 0.0,
        written: 0.0,
        stays: Vec::new(),
        phases: Phases::default(),
        clusters: Clusters::default(),
        clustered: code.iter().any(|op| matches!(op.does, Does::ClusterArrives | Does::ClusterWaits)),
    };
    machine.place_at(0.0);
    machine.run();
    machine.time()
}

impl Machine<'_> {
    fn run(&mut self) {
        loop {
            while let Some(Event { at, what }) = self.events.pop() {
                match what {
                    PLACE => self.place(at),
                    ended if ended > PLACE => self.ended(at, ended - PLACE - 1),
                    core => {
                        // Those that were overtaken by an earlier one are left out.
                        if self.cores[core as usize].scheduled == at {
                            self.cores[core as usize].scheduled = f64::INFINITY;
                            self.core(core, at);
                        }
                    }
                }
            }
            // Warps that are left wait at barriers that nobody else reaches.
            if !self.release_all() {
                return;
            }
        }
    }

    fn place_at(&mut self, at: f64) {
        if !self.placing && self.block < self.launch.blocks {
            self.placing = true;
            let at = at.max(self.placed + self.chip.launch.block_interval);
            self.events.push(Event { at, what: PLACE });
        }
    }

    /// Places the next block where the fewest are.
    fn place(&mut self, at: f64) {
        self.placing = false;
        let all = self.multiprocessors.iter().enumerate();
        let fewest = all.min_by_key(|(_, of)| of.residents).map(|(number, of)| (number, of.residents));
        let Some((number, residents)) = fewest else { return };
        if residents >= self.launch.resident.max(1) {
            return;
        }
        self.placed = at;
        let index = self.block;
        let block = self.work.block(index);
        self.block += 1;
        let multiprocessor = &mut self.multiprocessors[number];
        if multiprocessor.residents == 0 {
            multiprocessor.since = at;
        }
        multiprocessor.residents += 1;
        let slot = self.free_residents.pop().unwrap_or_else(|| {
            self.residents.push(Resident::default());
            self.residents.len() as u32 - 1
        });
        let launch = &self.chip.launch;
        let begins = at + launch.block_start;
        let mut left = 0;
        for (order, warp) in block.warps.iter().enumerate() {
            let Some(first) = warp.steps.first().copied() else { continue };
            let begins = begins + order as f64 * launch.warp_start;
            let number_in_core = multiprocessor.next % 4;
            multiprocessor.next += 1;
            let core = number as u32 * 4 + number_in_core;
            let state = Warp {
                steps: warp.steps.clone(),
                step: 0,
                op: first.first,
                when: multiprocessor.fetched(self.chip, first.first, at).max(begins),
                stall: Stall::NoInstruction,
                issued: begins,
                boards: [0.0; 6],
                far: [false; 6],
                missing: Vec::new(),
                copies: 0.0,
                bulk: 0.0,
                core,
                place: multiprocessor.take_place(),
                products: 0.0,
                stores: 0.0,
                cursors: warp.sources.clone(),
                resident: slot,
                number: order as u32,
                unit: self.code.get(first.first as usize).map_or(Unit::None, |op| op.unit),
            };
            let when = state.when;
            let index = match self.free_warps.pop() {
                Some(index) => {
                    self.warps[index as usize] = state;
                    index
                }
                None => {
                    self.warps.push(state);
                    self.warps.len() as u32 - 1
                }
            };
            self.cores[core as usize].warps.push(index);
            left += 1;
            wake(&mut self.events, &mut self.cores, core, when);
        }
        self.phases.placed(index, &block.phases);
        if self.clustered {
            self.clusters.placed(index / u64::from(self.launch.cluster.max(1)), left);
        }
        let stay = Stay { block: index, multiprocessor: number as u32, from: at, to: begins };
        let resident = Resident {
            block,
            multiprocessor: number as u32,
            left,
            ends: begins,
            stay: Some(stay),
            barriers: Vec::new(),
            words: HashMap::new(),
        };
        self.residents[slot as usize] = resident;
        if left == 0 {
            self.free_residents.push(slot);
            self.events.push(Event { at: begins, what: PLACE + 1 + number as u32 });
        }
        self.place_at(at);
    }

    /// A block of a multiprocessor has ended.
    fn ended(&mut self, at: f64, number: u32) {
        let of = &mut self.multiprocessors[number as usize];
        of.residents -= 1;
        if of.residents == 0 {
            of.active += at - of.since;
        }
        self.last = self.last.max(at);
        self.place_at(at + self.chip.launch.turnaround);
    }

    /// A sub-core issues an instruction, if it can.
    fn core(&mut self, number: u32, now: f64) {
        let core = &self.cores[number as usize];
        let (mut best, mut next) = (None, f64::INFINITY);
        for &index in &core.warps {
            let warp = &self.warps[index as usize];
            let ready = warp.when.max(core.units[warp.unit as usize].ceil());
            if ready <= now {
                // Greedy, then the oldest.
                if best.is_none() || index == core.last {
                    if best.is_some() {
                        next = now;
                    }
                    best = Some(index);
                } else {
                    next = now;
                }
            } else {
                next = next.min(ready);
            }
        }
        if let Some(index) = best {
            self.issue(number, index, now);
            // What has been issued may be ready again.
            let core = &self.cores[number as usize];
            let warp = &self.warps[index as usize];
            if core.warps.contains(&index) {
                next = next.min(warp.when.max(core.units[warp.unit as usize].ceil()));
            }
            next = next.max(now + 1.0);
        }
        if next.is_finite() {
            wake(&mut self.events, &mut self.cores, number, next.ceil());
        }
    }

    fn issue(&mut self, core: u32, index: u32, now: f64) {
        let warp = &mut self.warps[index as usize];
        let at = warp.op;
        let op = self.code[at as usize];
        let unit = op.unit as usize;
        // What it waited for.
        let stalls = &mut self.stalls[at as usize];
        let waited = (warp.when - warp.issued - 1.0).max(0.0);
        let busy = self.cores[core as usize].units[unit];
        let after = (now - warp.when.max(warp.issued + 1.0)).max(0.0);
        stalls[warp.stall as usize] += waited;
        stalls[if busy >= now { Stall::Throttle } else { Stall::NotSelected } as usize] += after;
        stalls[Stall::Selected as usize] += 1.0;
        self.resident += now - warp.issued;
        self.issued_by[core as usize] += 1;
        warp.issued = now;
        // A unit that is free in the middle of a cycle does not lose the rest of it.
        let free = &mut self.cores[core as usize].units[unit];
        let begins = if free.ceil() == now { *free } else { now };
        *free = begins + self.intervals[unit] * f64::from(op.weight);
        let busy_until = self.cores[core as usize].units[unit];
        self.cores[core as usize].last = index;

        let issued = Issued { index, at, op, now, busy_until };
        let outcome = self.execute(issued);
        let warp = &mut self.warps[index as usize];
        if let Some(board) = op.control.write {
            let board = usize::from(board);
            warp.boards[board] = warp.boards[board].max(outcome.result);
            warp.far[board] = outcome.far;
            if matches!(op.does, Does::CopiesDone | Does::BulkDone) {
                warp.missing.push((board as u8, outcome.result));
            }
        }
        if let Some(board) = op.control.read {
            let board = usize::from(board);
            warp.boards[board] = warp.boards[board].max(outcome.read);
        }
        self.advance(core, index, outcome);
    }

    /// What an instruction does that has been issued.
    fn execute(&mut self, issued: Issued) -> Outcome {
        let chip = self.chip;
        let Issued { index, op, now, .. } = issued;
        let latency = self.latencies[op.unit as usize];
        let mut outcome = Outcome {
            ready: now + f64::from(op.control.stall.max(1)),
            stall: Stall::Wait,
            result: now + latency,
            read: now + chip.shared.read,
            far: false,
            sleeps: false,
        };
        match op.does {
            Does::Compute | Does::Exit => {}
            Does::Meets => outcome.wait_until(now + chip.fetch.meet, Stall::Wait),
            Does::JumpsFar => outcome.wait_until(now + chip.fetch.indirect, Stall::Wait),
            Does::Load | Does::Store | Does::Atomic { .. } | Does::Copy | Does::Texture { .. } => {
                (outcome.result, outcome.read, outcome.far) = self.access(issued);
                self.meet(issued, &mut outcome);
            }
            Does::Shuffle => {
                let begins = self.multiprocessor(index).serve(now, chip.shared.wavefront);
                outcome.result = begins + chip.shared.shuffle;
            }
            Does::Barrier { number, threads, waits } => {
                self.barrier(index, number, threads, waits, now, &mut outcome);
            }
            Does::Fence { device } => {
                let stores = if device { self.warps[index as usize].stores } else { now };
                outcome.ready = (now + chip.barrier.fence[usize::from(device)]).max(stores);
                outcome.stall = Stall::Membar;
            }
            Does::Product | Does::ProductsDone | Does::CopiesDone | Does::BulkDone | Does::Missing { .. } => {
                self.completion(issued, &mut outcome);
            }
            Does::Bulk { tensor } => self.bulk(issued, tensor, &mut outcome),
            Does::Arrives | Does::ArrivesCopied | Does::Awaits => self.phase(issued, &mut outcome),
            Does::ClusterArrives | Does::ClusterWaits => self.cluster(issued, &mut outcome),
        }
        if op.unit == Unit::Constant
            && let Some(offset) = op.constant
        {
            let there = self.multiprocessor(index).constant(chip, offset, now);
            outcome.result = there.max(now) + latency;
        }
        outcome
    }

    /// The multiprocessor of a warp.
    fn multiprocessor(&mut self, index: u32) -> &mut Multiprocessor {
        let resident = self.warps[index as usize].resident;
        let number = self.residents[resident as usize].multiprocessor;
        &mut self.multiprocessors[number as usize]
    }

    /// A barrier of the block.
    fn barrier(
        &mut self,
        index: u32,
        number: u8,
        threads: Option<u32>,
        waits: bool,
        now: f64,
        outcome: &mut Outcome,
    ) {
        let interval = self.chip.barrier.interval;
        let unit = &mut self.multiprocessor(index).barriers;
        let arrives = unit.max(now) + interval;
        *unit = arrives;
        outcome.sleeps = waits;
        self.arrive(index, number, threads, waits, arrives);
        // Whoever comes last goes on with the others.
        let when = self.warps[index as usize].when;
        if waits && when.is_finite() {
            outcome.sleeps = false;
            outcome.wait_until(when, Stall::Barrier);
        }
    }

    /// What begins, or waits for, what a warp has had done: products of matrices, copies.
    fn completion(&mut self, issued: Issued, outcome: &mut Outcome) {
        let Issued { index, op, now, busy_until, .. } = issued;
        let latency = self.latencies[op.unit as usize];
        let warp = &mut self.warps[index as usize];
        match op.does {
            Does::Product => warp.products = warp.products.max(busy_until + latency),
            Does::ProductsDone => outcome.wait_until(warp.products, Stall::ShortScoreboard),
            Does::CopiesDone => outcome.result = outcome.result.max(warp.copies),
            Does::BulkDone => outcome.result = outcome.result.max(warp.bulk),
            Does::Missing { board, most } => {
                warp.missing.retain(|&(_, done)| done > now);
                let mut left: Vec<f64> =
                    warp.missing.iter().filter(|of| of.0 == board).map(|of| of.1).collect();
                left.sort_by(f64::total_cmp);
                if let Some(enough) = left.len().checked_sub(usize::from(most) + 1) {
                    outcome.wait_until(left[enough], Stall::LongScoreboard);
                }
            }
            _ => {}
        }
    }

    /// The next of what is done beside the warps at a place of the source.
    fn operation(&mut self, issued: Issued) -> Option<Operation> {
        let Some(Access::Operation(number)) = self.next_access(issued) else { return None };
        let resident = &self.residents[self.warps[issued.index as usize].resident as usize];
        resident.block.operations.get(number as usize).cloned()
    }

    /// A bulk copy.
    fn bulk(&mut self, issued: Issued, tensor: bool, outcome: &mut Outcome) {
        let chip = self.chip;
        let Issued { index, now, .. } = issued;
        let Some(Operation::Copies { pieces: (first, count), way, arrives }) = self.operation(issued) else {
            return;
        };
        let warp = &mut self.warps[index as usize];
        let resident = &self.residents[warp.resident as usize];
        let multiprocessor = &mut self.multiprocessors[resident.multiprocessor as usize];
        let pieces = &resident.block.pieces[first as usize..first as usize + count as usize];
        match way {
            Way::In => {
                let done = multiprocessor.copy_in(chip, &mut self.memory, now, pieces, tensor);
                for phase in arrives {
                    self.arrive_at(phase, done);
                }
            }
            Way::Out | Way::Reduces => {
                let reduces = way == Way::Reduces;
                let (read, done) = multiprocessor.copy_out(chip, &mut self.memory, now, pieces, reduces);
                warp.bulk = warp.bulk.max(read);
                warp.stores = warp.stores.max(done);
                outcome.read = outcome.read.max(now + chip.shared.read);
            }
        }
    }

    /// An operation on an mbarrier.
    fn phase(&mut self, issued: Issued, outcome: &mut Outcome) {
        let chip = self.chip;
        let Issued { index, op, now, .. } = issued;
        let begins = self.multiprocessor(index).phase(chip, now);
        outcome.read = begins + chip.shared.read;
        outcome.result = begins + chip.mbarrier.wait;
        match self.operation(issued) {
            Some(Operation::Arrives(phases)) => {
                let copied =
                    if op.does == Does::ArrivesCopied { self.warps[index as usize].copies } else { 0.0 };
                let at = copied.max(begins + chip.mbarrier.arrive);
                phases.into_iter().for_each(|phase| self.arrive_at(phase, at));
            }
            Some(Operation::Awaits(Some(phase))) => match self.phases.wait(phase, index) {
                Some(complete) => {
                    outcome.result = begins.max(complete) + chip.mbarrier.wait;
                    outcome.stall = Stall::Wait;
                }
                None => outcome.sleeps = true,
            },
            _ => {}
        }
    }

    fn arrive_at(&mut self, phase: Phase, at: f64) {
        if let Some((complete, waiting)) = self.phases.arrive(phase, at) {
            self.go_on(waiting, complete + self.chip.mbarrier.wait);
        }
    }

    /// The barrier of the cluster.
    fn cluster(&mut self, issued: Issued, outcome: &mut Outcome) {
        let Issued { index, op, now, .. } = issued;
        let cluster = self.cluster_of(index);
        let after = self.chip.cluster.barrier;
        if op.does == Does::ClusterArrives {
            if let Some((complete, waiting)) = self.clusters.arrive(cluster.0, cluster.1, now) {
                self.go_on(waiting, complete + after);
            }
            return;
        }
        match self.clusters.wait(cluster.0, index) {
            Some(complete) => outcome.wait_until(complete + after, Stall::Barrier),
            None => outcome.sleeps = true,
        }
    }

    /// The cluster of a warp, and how many blocks it has.
    fn cluster_of(&self, index: u32) -> (u64, u32) {
        let resident = &self.residents[self.warps[index as usize].resident as usize];
        let size = u64::from(self.launch.cluster.max(1));
        let number = resident.stay.map_or(0, |stay| stay.block) / size;
        (number, size.min(self.launch.blocks - number * size) as u32)
    }

    /// Warps that slept go on.
    fn go_on(&mut self, warps: Vec<u32>, at: f64) {
        let at = at.ceil();
        for index in warps {
            let warp = &mut self.warps[index as usize];
            // Who asks while it is in its last instruction is ready no sooner than that says.
            warp.when = at.max(warp.issued + 1.0);
            warp.stall = Stall::Barrier;
            let core = warp.core;
            let when = warp.when;
            wake(&mut self.events, &mut self.cores, core, when);
        }
    }

    /// A warp goes on to its next instruction, which it can issue when it is ready for it.
    fn advance(&mut self, core: u32, index: u32, outcome: Outcome) {
        let Outcome { ready, stall, sleeps, .. } = outcome;
        let warp = &mut self.warps[index as usize];
        warp.op += 1;
        let mut ready = ready;
        if warp.op >= warp.steps[warp.step as usize].end {
            warp.step += 1;
            match warp.steps.get(warp.step as usize) {
                Some(step) => {
                    if step.first != warp.op {
                        ready = ready.max(warp.issued + self.chip.fetch.jump);
                    }
                    warp.op = step.first;
                }
                None => return self.warp_ended(core, index, ready),
            }
        }
        let op = &self.code[warp.op as usize];
        let number = self.residents[warp.resident as usize].multiprocessor;
        let multiprocessor = &mut self.multiprocessors[number as usize];
        let (mut when, mut why) = (ready, stall);
        for board in 0..6 {
            if op.control.wait >> board & 1 != 0 && warp.boards[board] > when {
                when = warp.boards[board];
                why = if warp.far[board] { Stall::LongScoreboard } else { Stall::ShortScoreboard };
            }
        }
        let fetched = multiprocessor.fetched(self.chip, warp.op, ready);
        if fetched > when {
            (when, why) = (fetched, Stall::NoInstruction);
        }
        if op.unit != Unit::Constant
            && let Some(offset) = op.constant
        {
            let there = multiprocessor.constant(self.chip, offset, when);
            if there > when {
                (when, why) = (there, Stall::Constant);
            }
        }
        warp.unit = op.unit;
        warp.stall = why;
        warp.when = if sleeps { f64::INFINITY } else { when.ceil() };
    }

    /// The next access that an instruction makes.
    fn next_access(&mut self, issued: Issued) -> Option<Access> {
        let place = self.launch.sources.get(issued.at as usize).copied().flatten()?;
        let warp = &mut self.warps[issued.index as usize];
        let block = &self.residents[warp.resident as usize].block;
        let cursor = warp.cursors.get_mut(place as usize)?;
        let end = *block.warps[warp.number as usize].sources.get(place as usize + 1)?;
        (*cursor < end).then(|| {
            *cursor += 1;
            block.accesses[*cursor as usize - 1]
        })
    }

    /// An access that waits for what others write does so, and one that others wait for is seen by them a way from the second
    /// level after it is known to be done.
    fn meet(&mut self, issued: Issued, outcome: &mut Outcome) {
        let warp = &self.warps[issued.index as usize];
        let block = &self.residents[warp.resident as usize].block;
        if block.releases.is_empty() && block.awaits.is_empty() {
            return;
        }
        let place = self.launch.sources.get(issued.at as usize).copied().flatten();
        let cursor = place.and_then(|place| warp.cursors.get(place as usize)?.checked_sub(1));
        let Some(cursor) = cursor else { return };
        let awaits = block.awaits.get(&cursor).copied();
        for phase in block.releases.get(&cursor).cloned().unwrap_or_default() {
            self.arrive_at(phase, outcome.result + self.chip.l2.latency / 2.0);
        }
        match awaits.map(|phase| self.phases.wait(phase, issued.index)) {
            Some(Some(complete)) => outcome.result = outcome.result.max(complete),
            Some(None) => outcome.sleeps = true,
            None => {}
        }
    }

    /// Accesses memory: when the result is there, when the operands have been read, and whether it came from far away.
    fn access(&mut self, issued: Issued) -> (f64, f64, bool) {
        let chip = self.chip;
        let Issued { index, op, now, .. } = issued;
        let next = self.next_access(issued);
        if let Some(Access::Words { wavefronts, together, word }) = next {
            return self.words(issued, wavefronts, together, word);
        }
        let warp = &mut self.warps[index as usize];
        let resident = &self.residents[warp.resident as usize];
        let multiprocessor = &mut self.multiprocessors[resident.multiprocessor as usize];
        let block = &resident.block;
        let lanes = warp.steps[warp.step as usize].lanes;
        // What the assembler puts there by itself: the words of a warp's threads lie beside each other.
        let spilled: [u64; 4] = std::array::from_fn(|word| {
            let words = u64::from(op.local.unwrap_or(0)) / 4 + word as u64;
            let warp_of = u64::from(resident.multiprocessor) << 8 | u64::from(warp.place);
            (1 << 44 | warp_of << 16 | words) << 4 | 15
        });
        let spilled = &spilled[..usize::from(op.bytes).div_ceil(4).min(4)];
        match next {
            None if op.local.is_some() => {
                let memory = &mut self.memory;
                if matches!(op.does, Does::Store) {
                    let (read, done) = multiprocessor.store(chip, memory, now, spilled, true);
                    warp.stores = warp.stores.max(done);
                    (done, read, true)
                } else {
                    let data = spilled.len() as f64;
                    (
                        multiprocessor.load(chip, memory, now, spilled, data, false),
                        now + chip.shared.read,
                        true,
                    )
                }
            }
            Some(Access::Remote) => {
                let start = multiprocessor.serve(now, chip.shared.wavefront);
                (start + chip.cluster.remote, start + chip.shared.read, false)
            }
            None | Some(Access::Operation(_) | Access::Words { .. }) => {
                let start = multiprocessor.serve(now, chip.shared.wavefront);
                (start + chip.shared.latency, start + chip.shared.read, false)
            }
            Some(Access::Wavefronts(count)) => {
                let count = f64::from(count.max(1));
                let start = multiprocessor.serve(now, count * chip.shared.wavefront);
                let last = start + (count - 1.0) * chip.shared.wavefront;
                (last + chip.shared.latency, last + chip.shared.read, false)
            }
            Some(Access::Lines { first, count, together, deep, tries }) => {
                let pieces = &block.pieces[first as usize..first as usize + usize::from(count)];
                let memory = &mut self.memory;
                match op.does {
                    Does::Store => {
                        let (read, done) =
                            multiprocessor.store(chip, memory, now, pieces, op.local.is_some());
                        warp.stores = warp.stores.max(done);
                        (done, read, true)
                    }
                    Does::Atomic { returns } => {
                        // Turns of a loop that the PTX has are accesses of their own.
                        let turns = if op.tries { together } else { u8::from(tries) };
                        let change = Change { lanes: lanes as u8, together, deep, turns, floats: op.floats };
                        let (done, result) = multiprocessor.change(chip, memory, now, pieces, change);
                        warp.stores = warp.stores.max(done);
                        (if returns { result } else { done }, now + chip.shared.read, true)
                    }
                    Does::Texture { samples } => {
                        let groups = f64::from(together);
                        let there = multiprocessor.sample(chip, memory, now, pieces, groups);
                        (there + chip.texture.latency[usize::from(samples)], now + chip.shared.read, true)
                    }
                    _ => {
                        let data = (f64::from(lanes) * f64::from(op.bytes) / 128.0).ceil();
                        // What the assembler has merged asks the banks once for all of it.
                        let busy = data.max(f64::from(deep));
                        let done = multiprocessor.load(chip, memory, now, pieces, busy, op.past)
                            + (busy - data) * chip.l1.deep;
                        if matches!(op.does, Does::Copy) {
                            warp.copies = warp.copies.max(done);
                        }
                        (done, now + chip.shared.read, true)
                    }
                }
            }
        }
    }

    /// An atomic operation on shared memory, as [`Machine::access`].
    fn words(&mut self, issued: Issued, wavefronts: u16, together: u8, word: u32) -> (f64, f64, bool) {
        let Issued { index, op, now, .. } = issued;
        let shared = &self.chip.shared;
        let count = f64::from(wavefronts.max(1));
        let start = self.multiprocessor(index).serve(now, count * shared.wavefront);
        let last = start + (count - 1.0) * shared.wavefront;
        let mut done = last + shared.atomic;
        if op.tries {
            // Only one lane of all that are at a word succeeds in a turn.
            let slot = self.warps[index as usize].resident;
            let free = self.residents[slot as usize].words.entry(word).or_insert(0.0);
            done = done.max(free.max(last) + f64::from(together) * shared.turn);
            *free = done;
        }
        (done, last + shared.read, false)
    }

    /// A warp arrives at a barrier of its block; if all are there, those that wait go on.
    fn arrive(&mut self, index: u32, number: u8, threads: Option<u32>, stays: bool, at: f64) {
        let slot = self.warps[index as usize].resident;
        let resident = &mut self.residents[slot as usize];
        let wanted = threads.map_or(resident.left, |threads| threads.div_ceil(32));
        let barrier = match resident.barriers.iter().position(|barrier| barrier.0 == number) {
            Some(at) => at,
            None => {
                resident.barriers.push((number, 0, 0.0, Vec::new()));
                resident.barriers.len() - 1
            }
        };
        let (_, count, last, waiting) = &mut resident.barriers[barrier];
        *count += 1;
        *last = last.max(at);
        self.warps[index as usize].when = f64::INFINITY;
        if stays {
            waiting.push(index);
        }
        if *count >= wanted {
            self.release(slot, barrier);
        }
    }

    fn release(&mut self, slot: u32, barrier: usize) {
        let resident = &mut self.residents[slot as usize];
        let (_, _, last, waiting) = resident.barriers.swap_remove(barrier);
        let at = (last + self.chip.barrier.latency).ceil();
        let first = resident.multiprocessor * 4;
        for index in waiting {
            let warp = &mut self.warps[index as usize];
            warp.when = at;
            warp.stall = Stall::Barrier;
        }
        (first..first + 4).for_each(|core| wake(&mut self.events, &mut self.cores, core, at));
    }

    /// Lets all go on that wait at barriers; whether there were any.
    fn release_all(&mut self) -> bool {
        let slots = 0..self.residents.len() as u32;
        let mut left = self.phases.left();
        left.extend(self.clusters.left());
        let mut any = !left.is_empty();
        self.go_on(left, self.last);
        for slot in slots {
            while self.residents[slot as usize].left > 0 && !self.residents[slot as usize].barriers.is_empty()
            {
                any |= !self.residents[slot as usize].barriers[0].3.is_empty();
                self.release(slot, 0);
            }
        }
        any
    }

    fn warp_ended(&mut self, core: u32, index: u32, at: f64) {
        let (cluster, blocks) = self.cluster_of(index);
        if self.clustered
            && let Some((complete, waiting)) = self.clusters.warp_ended(cluster, blocks, index, at)
        {
            self.go_on(waiting, complete + self.chip.cluster.barrier);
        }
        let warp = &self.warps[index as usize];
        // What it wrote goes its way without it.
        let slot = warp.resident;
        self.written = self.written.max(warp.stores);
        self.cores[core as usize].warps.retain(|&own| own != index);
        let place = warp.place;
        self.multiprocessors[(core / 4) as usize].leave(place);
        self.free_warps.push(index);
        let resident = &mut self.residents[slot as usize];
        resident.left -= 1;
        resident.ends = resident.ends.max(at);
        if resident.left == 0 {
            let (ends, number) = (resident.ends, resident.multiprocessor);
            if let Some(stay) = resident.stay {
                self.phases.ended(stay.block);
                self.stays.push(Stay { to: ends, ..stay });
            }
            *resident = Resident::default();
            self.free_residents.push(slot);
            self.events.push(Event { at: ends, what: PLACE + 1 + number });
        } else {
            // Those at a barrier of the whole block wait for it no longer.
            let left = resident.left;
            while let Some(full) =
                self.residents[slot as usize].barriers.iter().position(|of| of.1 >= left && !of.3.is_empty())
            {
                let last = &mut self.residents[slot as usize].barriers[full].2;
                *last = last.max(at);
                self.release(slot, full);
            }
        }
    }

    fn time(self) -> Time {
        let active: Vec<f64> = self.multiprocessors.iter().map(|of| of.active).collect();
        let traffic = self.memory.traffic;
        Time {
            elapsed: self.last.max(self.written) + self.chip.launch.overhead,
            active: active.iter().sum::<f64>() / active.len() as f64,
            active_bounds: bounds(active.iter().copied()),
            issued: self.issued_by.iter().sum(),
            issued_by: self.issued_by,
            resident: self.resident,
            stalls: self.stalls,
            l2_read: traffic.read + self.chip.launch.sectors as u64,
            l2_write: traffic.write,
            l2_atomic: traffic.atomic,
            l2_hit: if traffic.asked == 0 { 0.0 } else { traffic.hit as f64 / traffic.asked as f64 },
            l2_asked: traffic.asked,
            dram_read: traffic.dram_read,
            dram_write: traffic.dram_write,
            blocks: self.stays,
        }
    }
}

/// The least and the most.
pub fn bounds(of: impl Iterator<Item = f64>) -> [f64; 2] {
    let [least, most] =
        of.fold([f64::INFINITY, 0.0], |[least, most], own| [f64::min(least, own), f64::max(most, own)]);
    [least.min(most), most]
}

/// Has a sub-core looked at no later than at a time.
fn wake(events: &mut BinaryHeap<Event>, cores: &mut [SubCore], core: u32, at: f64) {
    let of = &mut cores[core as usize];
    if at < of.scheduled {
        of.scheduled = at;
        events.push(Event { at, what: core });
    }
}
