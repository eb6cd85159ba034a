//! A worker: takes blocks from the grid and runs their warps in turn.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use super::cta::Cta;
use super::fast::Hint;
use super::fault::place;
use super::grid::{Grid, Task};
use super::launch_view::View;
use super::random::Random;
use super::step::{Machine, Pause};
use super::together::Together;
use super::warp::{Group, Wait, Warp};
use crate::finding::{Finding, FindingKind};
use crate::launch::Stats;
use crate::matrix::tile::Tile;
use crate::memory::{Snapshot, host};
use crate::observer::Observer;

/// Runs blocks, one at a time.
pub(crate) struct Worker<'g, O> {
    pub grid: &'g Grid<'g>,
    pub observer: O,
    /// Allocations as last seen.
    pub snapshot: Snapshot,
    /// By instruction: the allocation it accessed last, and its index in the snapshot.
    pub hints: Vec<Hint>,
    pub indices: Vec<u32>,
    pub stats: Stats,
    /// Instructions executed that a thread may use to wait for another: strong accesses, atomics,
    /// `nanosleep`.
    pub waits: u64,
    /// Parameters of the kernel.
    pub params: Vec<u8>,
    pub random: Option<Random>,
    #[allow(clippy::vec_box, reason = "blocks move between workers and the queue as boxes")]
    spare: Vec<Box<Cta>>,
    /// Warp instructions that may run before the shared limit is asked again.
    fuel: u64,
    /// Work done since the last look at the clock, in warp instructions.
    work: u64,
    /// Scratch memory of matrix instructions, from the first one on.
    pub tile: Option<Box<Tile>>,
}

/// Warp instructions a warp runs before the next one of its block gets a turn.
const WARP_SLICE: u64 = 10_000;
/// The same while the warp seems to wait for others.
const WAITING_SLICE: u64 = 500;
/// Rounds over the warps of a block that only seem to wait, before another block gets a turn.
const WAITING_ROUNDS: u64 = 4;
/// Turns of each warp by itself after warps that ran together seemed to wait for it.
const WAITING_TURNS: u64 = 64;
/// Turns of warps, on average, after which a seed lets another block go on.
const SWAP: u64 = 32;
/// Warp instructions between two looks at the limits.
const FUEL: u64 = 200_000;
/// What an instruction that may take long counts as, of those between two looks at the clock.
pub(super) const HEAVY: u64 = FUEL / 50;
/// Bytes of a block's memory that are made ready in the time of a warp instruction.
const BYTES: u64 = 256;

/// Whether a block is over.
enum End {
    Finished,
    GaveWay,
    Stopped,
}

impl<'g, O: Observer> Worker<'g, O> {
    pub(crate) fn new(grid: &'g Grid<'g>, observer: O) -> Self {
        let snapshot = grid.memory.snapshot();
        let (indices, hints) = grid.kernel.accessed(&snapshot);
        Worker {
            grid,
            observer,
            snapshot,
            hints,
            indices,
            stats: Stats::default(),
            waits: 0,
            params: grid.launch.params.clone(),
            random: None,
            spare: Vec::new(),
            fuel: 0,
            work: 0,
            tile: None,
        }
    }

    pub(crate) fn run(&mut self) {
        let mut task = self.grid.take();
        while !self.grid.stop.load(Relaxed) {
            let mut cta = match task {
                Task::Start(index) => {
                    let spare = self.spare.pop();
                    let again = spare.is_some();
                    let mut cta = spare.or_else(|| self.grid.blocks.take()).unwrap_or_default();
                    cta.reset(self.grid, index, again);
                    self.spend(cta.bytes() / BYTES);
                    if O::ACTIVE {
                        self.observer.block_started(index);
                    }
                    let options = self.grid.options;
                    if options.seed != 0 || options.interleave || options.weak {
                        self.random = Some(Random::new(self.grid.options.seed, index));
                    }
                    cta
                }
                Task::Resume(cta) => cta,
                Task::Idle => {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    task = self.grid.take();
                    continue;
                }
                Task::Done => return,
            };
            task = match self.run_block(&mut cta) {
                End::Finished => {
                    self.stats.blocks += 1;
                    if let Some(watcher) = self.observer.watcher() {
                        watcher.block_finished(cta.index);
                    }
                    self.keep_output(&mut cta);
                    self.spare.push(cta);
                    self.grid.take_after_finishing()
                }
                End::GaveWay => {
                    self.grid.put_back(cta);
                    self.grid.take()
                }
                End::Stopped => {
                    if self.grid.limited.load(Relaxed) {
                        self.interrupted(&cta);
                    }
                    self.keep_output(&mut cta);
                    return;
                }
            };
        }
    }

    pub(crate) fn finish(mut self) -> Stats {
        self.stats.memory = self.observer.memory();
        self.grid.kernel.keep(&self.snapshot, self.indices, &self.hints);
        self.spare.into_iter().for_each(|cta| self.grid.blocks.give(cta));
        if let Some(watcher) = self.observer.watcher() {
            let found = watcher.finish(&View { grid: self.grid });
            found.into_iter().for_each(|finding| self.grid.add(finding));
        }
        self.stats
    }

    fn keep_output(&mut self, cta: &mut Cta) {
        if !cta.output.is_empty() {
            let mut output = self.grid.output.lock().unwrap_or_else(PoisonError::into_inner);
            output.push((cta.index, std::mem::take(&mut cta.output)));
        }
    }

    fn run_block(&mut self, cta: &mut Cta) -> End {
        #[cfg(test)]
        super::grid::tests::may_panic(self.grid.launch, cta.index);
        let warps = cta.warps.len();
        let mut waiting_turns = 0;
        // Turns that warps take one by one, before they may run together again.
        let mut single_turns = 0;
        let together = self.random.is_none() && warps > 1;
        loop {
            if together && single_turns == 0 {
                let before = self.waits;
                let slice = if waiting_turns > 0 { WAITING_SLICE } else { WARP_SLICE } * warps as u64;
                let mut machine = Machine { worker: self, cta, index: 0, until_whole: false };
                if let Some(Together { pause, ran, left_out }) = machine.run_together(slice) {
                    if pause == Pause::Stopped || !self.refuel(ran) {
                        return End::Stopped;
                    }
                    let waited = self.waits > before;
                    if pause == Pause::Slice && left_out {
                        // Those that ran may wait for the others.
                        single_turns = if waited { WAITING_TURNS } else { 1 } * warps as u64;
                    }
                    if pause == Pause::Slice && waited {
                        waiting_turns += warps as u64;
                        if self.gives_way(&mut waiting_turns, warps) {
                            return End::GaveWay;
                        }
                    } else if pause == Pause::Blocked {
                        waiting_turns = 0;
                    }
                    continue;
                }
            }
            single_turns = single_turns.saturating_sub(1);
            let first = match &mut self.random {
                Some(random) => random.below(warps as u64) as usize,
                None => cta.next_warp,
            };
            let next = (first..warps).find(|&at| cta.can_run(at));
            let Some(index) = next.or_else(|| (0..first).find(|&at| cta.can_run(at))) else {
                if !cta.is_finished() {
                    self.deadlock(cta);
                }
                return End::Finished;
            };
            let before = self.waits;
            let slice = match &mut self.random {
                Some(random) if self.grid.options.interleave => 1 + random.below(4),
                Some(random) => 1 + random.below(64),
                None if waiting_turns > 0 => WAITING_SLICE,
                None => WARP_SLICE,
            };
            let (pause, ran) = Machine { worker: self, cta, index, until_whole: false }.run_warp(slice);
            if !self.refuel(ran) {
                return End::Stopped;
            }
            cta.next_warp = if index + 1 == warps { 0 } else { index + 1 };
            match pause {
                Pause::Slice | Pause::Blocked if self.grid.options.interleave => {
                    if self.grid.others_wait() {
                        return End::GaveWay;
                    }
                }
                Pause::Slice if self.waits > before => {
                    waiting_turns += 1;
                    if self.gives_way(&mut waiting_turns, warps) {
                        return End::GaveWay;
                    }
                }
                Pause::Slice | Pause::Blocked if self.swaps() => return End::GaveWay,
                Pause::Slice => {}
                Pause::Blocked => waiting_turns = 0,
                Pause::Stopped => return End::Stopped,
            }
        }
    }

    /// Whether a seed lets another block go on here.
    fn swaps(&mut self) -> bool {
        self.grid.options.seed != 0
            && !self.grid.is_one_block()
            && self.random.as_mut().is_some_and(|random| random.below(SWAP) == 0)
            && self.grid.others_wait()
    }

    /// Whether a block that only seems to wait for so many turns should let others run.
    fn gives_way(&self, waiting_turns: &mut u64, warps: usize) -> bool {
        if *waiting_turns <= WAITING_ROUNDS * warps as u64 {
            return false;
        }
        *waiting_turns = 0;
        if self.grid.others_wait() {
            return true;
        }
        if !self.grid.exclusive {
            std::thread::yield_now();
        }
        false
    }

    /// Accounts for instructions; false when a limit ends the launch.
    fn refuel(&mut self, used: u64) -> bool {
        let grid = self.grid;
        if self.spend(used) {
            return false;
        }
        if host::host_memory_is_spent() {
            grid.limit(host::spent());
            return false;
        }
        if self.fuel > used {
            self.fuel -= used;
            return true;
        }
        let most = grid.options.max_instructions;
        // Small limits are kept exactly enough by small steps.
        let step = most.map_or(FUEL, |most| FUEL.min(most / 16 + 1)).max(used);
        self.fuel = self.fuel + step - used;
        if let Some(most) = most {
            let taken = grid.fuel.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(step));
            if taken.is_err() {
                grid.limit(format!("the limit of {most} warp instructions was reached"));
                return false;
            }
        }
        true
    }

    /// Accounts for work as of so many warp instructions; true when the launch ends. Instructions that may
    /// take long account for it themselves, since many of them may run before the next turn.
    #[inline(always)]
    pub(super) fn spend(&mut self, work: u64) -> bool {
        self.work += work;
        if self.work >= FUEL {
            self.look_at_clock();
        }
        self.grid.stop.load(Relaxed)
    }

    /// Whether time is up, or somebody wants the launch to end.
    #[cold]
    fn look_at_clock(&mut self) {
        self.work = 0;
        let grid = self.grid;
        if let Some(why) = grid.options.ended(grid.began) {
            grid.limit(why);
        }
    }

    /// Reports a block in which nothing can run: who waits where for what.
    fn deadlock(&mut self, cta: &mut Cta) {
        // Threads that wait for one that faulted are only a consequence.
        if !cta.faulted {
            let note = "no thread of the block can make progress any more";
            self.report_groups(cta, note, |cta, warp, group| match group.wait {
                Wait::Barrier(id) => {
                    Some((FindingKind::BarrierMismatch, cta.barriers[usize::from(id)].explain(cta, id)))
                }
                Wait::Members(members) => {
                    let missing = members & !group.lanes & !warp.exited;
                    let text = format!(
                        "lanes {} wait for lanes {} of member mask {members:#010x}, which never come",
                        crate::code::lanes_text(group.lanes),
                        crate::code::lanes_text(missing),
                    );
                    Some((FindingKind::WarpSyncMismatch, text))
                }
                Wait::Ready | Wait::Running => None,
            });
        }
        for warp in &mut cta.warps {
            warp.groups.clear();
        }
    }

    /// Reports where the threads of a block stand when a limit ends the launch.
    fn interrupted(&mut self, cta: &Cta) {
        let note = "threads stood here when the limit was reached";
        self.report_groups(cta, note, |cta, _, group| {
            let what = match group.wait {
                Wait::Ready | Wait::Running => "still running".to_string(),
                Wait::Barrier(id) => cta.barriers[usize::from(id)].explain(cta, id),
                Wait::Members(members) => format!("waiting for the lanes of member mask {members:#010x}"),
            };
            Some((FindingKind::LimitReached, what))
        });
    }

    fn report_groups(
        &self,
        cta: &Cta,
        note: &str,
        what: impl Fn(&Cta, &Warp, &Group) -> Option<(FindingKind, String)>,
    ) {
        let grid = self.grid;
        for warp in &cta.warps {
            for group in &warp.groups {
                let Some((kind, message)) = what(cta, warp, group) else { continue };
                let threads = super::fault::threads(cta.position, grid.launch.block, warp.index, group.lanes);
                grid.add(Finding {
                    kind,
                    message,
                    notes: vec![note.into()],
                    help: Vec::new(),
                    kernel: grid.launch.kernel.clone(),
                    place: Some(place(grid.code, Some((warp, group.frame)), Warp::place(group))),
                    other_place: None,
                    count: threads.len() as u64,
                    threads,
                });
            }
        }
    }
}
