//! What a worker does: takes clusters from the grid and runs their blocks, and the warps of each, in turn.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use smallvec::SmallVec;

use super::Pause;
use super::lockstep::Together;
use crate::finding::{Finding, FindingKind};
use crate::launch::Dim3;
use crate::machine::Machine;
use crate::machine::cluster::{Cluster, Peers};
use crate::machine::cta::Cta;
use crate::machine::fault::place;
use crate::machine::frame::ROOT;
use crate::machine::grid::Task;
use crate::machine::random::Random;
use crate::machine::turn::{BlockTurn, WarpTurn};
use crate::machine::waiting::at_mbarrier;
use crate::machine::warp::{Group, Wait, Warp};
use crate::machine::warpgroup::WARPS;
use crate::machine::worker::Worker;
use crate::observer::Observer;
use crate::options::AsyncPolicy;
use crate::tools::{Event, Wants};

/// Warp instructions a warp runs before the next one of its block gets a turn.
const WARP_SLICE: u64 = 10_000;
/// The same while the warp seems to wait for others.
const WAITING_SLICE: u64 = 500;
/// Rounds over the warps of a block that only seem to wait, before another block gets a turn.
const WAITING_ROUNDS: u64 = 4;
/// Turns of each warp, on average, in which a block may only wait after a thread of the launch faulted.
const VAIN_TURNS: u64 = 20;
/// Turns of each warp by itself after warps that ran together seemed to wait for it.
const WAITING_TURNS: u64 = 64;
/// Turns of warps, on average, after which a seed lets another block go on.
const SWAP: u64 = 32;
/// Bytes of a block's memory that are made ready in the time of a warp instruction.
const BYTES: u64 = 256;

/// Whom a warp waits for that waits for others of its warpgroup.
fn missing_warps(cta: &Cta, warp: &Warp) -> String {
    let (group, rank) = (warp.index as usize / WARPS, warp.index as usize % WARPS);
    let missing = cta.warpgroups.get(group).map_or_else(Vec::new, |warps| {
        warps.missing(rank).map(|rank| (WARPS * group + rank).to_string()).collect()
    });
    let missing = missing.join(", ");
    format!("a warp waits for its `wgmma.mma_async`, which warps {missing} of its warpgroup do not execute")
}

/// Whether a block or a cluster is over.
enum End {
    Finished,
    GaveWay,
    /// No thread can run before another block of the cluster has done something.
    Waits,
    /// The launch stands still.
    Still,
    Stopped,
}

impl<O: Observer> Worker<'_, O> {
    /// Runs clusters until all are over, or the launch is to stand still; goes on where it did.
    pub(crate) fn run(&mut self) {
        let mut task = match self.hand.take() {
            Some(cluster) => Task::Resume(cluster),
            None => self.grid.take(&mut self.taken),
        };
        while !self.grid.stop.load(Relaxed) {
            let mut cluster = match task {
                Task::Start(index) => self.start(index),
                Task::Resume(cluster) => cluster,
                Task::Idle => {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    task = self.grid.take(&mut self.taken);
                    continue;
                }
                Task::Done => return,
            };
            task = match self.run_cluster(&mut cluster) {
                End::Finished => {
                    for mut cta in cluster.blocks {
                        self.keep_output(&mut cta);
                        if !self.pauses.stepwise {
                            self.spare.push(cta);
                        }
                    }
                    self.grid.take_after_finishing(&mut self.taken)
                }
                End::GaveWay => {
                    self.grid.put_back(cluster, &self.taken, self.goes_in_step());
                    self.grid.take(&mut self.taken)
                }
                End::Still => {
                    self.hand = Some(cluster);
                    return;
                }
                End::Waits | End::Stopped => {
                    for mut cta in cluster.blocks {
                        if self.grid.limited.load(Relaxed) {
                            self.interrupted(&cta);
                        }
                        self.keep_output(&mut cta);
                    }
                    return;
                }
            };
        }
    }

    /// A cluster before its first instruction.
    fn start(&mut self, index: u64) -> Cluster {
        let mut blocks = SmallVec::new();
        for rank in 0..self.grid.cluster.count() as u64 {
            let spare = self.spare.pop();
            let again = spare.is_some();
            let kept = || if self.pauses.stepwise { None } else { self.grid.blocks.take() };
            let mut cta = spare.or_else(kept).unwrap_or_default();
            self.grid.begin(&mut cta, index, rank, again);
            self.spend(cta.bytes() / BYTES);
            if O::ACTIVE {
                self.observer.prepare(&mut cta.parts);
                let event = Event::BlockStarted { block: cta.index, shared: self.grid.shared_bytes };
                self.tell_of(&mut cta, &event);
            }
            blocks.push(cta);
        }
        let options = self.grid.options;
        if options.seed != 0
            || options.interleave
            || options.weak
            || self.grid.asynchrony != AsyncPolicy::Eager
        {
            self.random = Some(Random::new(options.seed, index));
        }
        Cluster { blocks, next: 0, given: 0 }
    }

    /// Runs the blocks of a cluster in turn, until all are over or another cluster should run.
    fn run_cluster(&mut self, cluster: &mut Cluster) -> End {
        if let [_] = &cluster.blocks[..] {
            let (cta, peers) = cluster.split(0);
            return match self.run_to_end(cta, peers) {
                End::Waits => {
                    self.deadlock(cluster);
                    End::Finished
                }
                end => end,
            };
        }
        loop {
            let unfinished = cluster.unfinished();
            let rank = match &self.turn {
                Some(turn) => turn.rank,
                None if unfinished == 0 => return End::Finished,
                None => {
                    self.alone = unfinished == 1;
                    self.next_rank(cluster)
                }
            };
            let (cta, peers) = cluster.split(rank);
            match self.run_to_end(cta, peers) {
                End::Finished => cluster.given = 0,
                End::Waits if !cluster.can_run() => self.deadlock(cluster),
                End::Waits => {}
                End::GaveWay => {
                    cluster.given += 1;
                    if cluster.given >= unfinished {
                        cluster.given = 0;
                        if self.grid.others_wait(&self.taken) {
                            return End::GaveWay;
                        }
                        if !self.grid.exclusive {
                            std::thread::yield_now();
                        }
                    }
                }
                end @ (End::Still | End::Stopped) => return end,
            }
        }
    }

    /// The rank of the block whose turn it is.
    fn next_rank(&mut self, cluster: &mut Cluster) -> usize {
        let count = cluster.blocks.len();
        let first = match &mut self.random {
            Some(random) => random.below(count as u64) as usize,
            None => cluster.next,
        };
        let mut ranks = (first..count).chain(0..first);
        let rank = ranks.find(|&rank| !cluster.blocks[rank].is_finished()).unwrap_or(0);
        cluster.next = if rank + 1 == count { 0 } else { rank + 1 };
        rank
    }

    /// [`Self::run_block`], and what is to be done when it is over.
    fn run_to_end(&mut self, cta: &mut Cta, peers: Peers<'_>) -> End {
        let end = self.run_block(cta, peers);
        if let End::Finished = end {
            self.stats.blocks += 1;
            self.tell_of(cta, &Event::BlockFinished { block: cta.index });
        }
        end
    }

    /// Ends a block of so many instructions and bytes that compiled code left as it began, and begins the next one in its
    /// place. False if there is none, or the launch ends: then the block is still to be ended.
    #[inline(always)]
    pub(super) fn begin_next(&mut self, cta: &mut Cta, (ran, bytes): (u64, u64)) -> bool {
        if self.grid.cluster != Dim3::ONE || !cta.output.is_empty() || !self.refuel(ran) {
            return false;
        }
        let Some(next) = self.grid.start(&mut self.taken) else { return false };
        self.stats.blocks += 1;
        self.grid.begin(cta, next, 0, true);
        self.spend(bytes / BYTES);
        #[cfg(test)]
        crate::engine::tests::may_panic(self.grid.launch, cta.index);
        true
    }

    /// Tells tools of a block.
    fn tell_of(&mut self, cta: &mut Cta, event: &Event<'_>) {
        let peers = Peers::default();
        Machine { worker: self, cta, peers, index: 0, until_whole: false }.tell(Wants::BLOCKS, ROOT, event);
    }

    /// Whether other blocks could run now: of the cluster, or of others.
    fn others_wait(&self) -> bool {
        !self.alone || self.grid.others_wait(&self.taken)
    }

    fn keep_output(&mut self, cta: &mut Cta) {
        if !cta.output.is_empty() {
            let mut output = self.grid.output.lock().unwrap_or_else(PoisonError::into_inner);
            output.push((cta.index, std::mem::take(&mut cta.output)));
        }
    }

    fn run_block(&mut self, cta: &mut Cta, mut peers: Peers<'_>) -> End {
        #[cfg(test)]
        crate::engine::tests::may_panic(self.grid.launch, cta.index);
        let warps = cta.warps.len();
        let (mut waiting_turns, mut rest) = if self.turn.is_some() { self.rest_of_turn() } else { (0, None) };
        // Turns that warps take one by one, before they may run together again.
        let mut single_turns = 0;
        let together = self.random.is_none() && !self.pauses.stepwise;
        loop {
            self.warm_up();
            // A warp alone passes barriers in code, too.
            let passes = warps > 1 || peers.count() == 0 && self.compiled.is_some();
            if together && passes && single_turns == 0 && !self.goes_in_step() {
                let (before, spins) = (self.waits, self.spins);
                let slice = if waiting_turns > 0 { WAITING_SLICE } else { WARP_SLICE } * warps as u64;
                let mut machine =
                    Machine { worker: self, cta, peers: peers.reborrow(), index: 0, until_whole: false };
                if let Some(Together { pause, ran, left_out }) = machine.run_together(slice) {
                    if pause == Pause::Stopped || !self.refuel(ran) {
                        return End::Stopped;
                    }
                    if pause == Pause::Slice {
                        self.grid.delays(&mut self.taken);
                    }
                    let waited = self.waits > before;
                    if pause == Pause::Slice && left_out {
                        // Those that ran may wait for the others.
                        single_turns = if waited { WAITING_TURNS } else { 1 } * warps as u64;
                    }
                    if pause == Pause::Slice && waited {
                        if self.waits_in_vain(cta, warps as u64) {
                            return End::Finished;
                        }
                        let spun = self.has_spun(spins) && !left_out;
                        waiting_turns += if spun { WAITING_ROUNDS } else { 1 } * warps as u64;
                        if self.gives_way(&mut waiting_turns, warps) {
                            return End::GaveWay;
                        }
                    } else if pause == Pause::Blocked {
                        if !O::ACTIVE && cta.is_finished() {
                            return End::Finished;
                        }
                        waiting_turns = 0;
                    }
                    continue;
                }
            }
            single_turns = single_turns.saturating_sub(1);
            let rank = peers.own_rank();
            if !O::ACTIVE && cta.is_finished() {
                return End::Finished;
            }
            let spins = self.spins;
            let mut turn = match rest.take() {
                Some(rest) => rest,
                None if self.is_to_pause() => {
                    self.turn = Some(BlockTurn { rank, waiting_turns, warp: None });
                    return End::Still;
                }
                None if self.takes_turns() && self.others_wait() && self.passes(cta) => return End::GaveWay,
                None => match self.next_turn(cta, waiting_turns) {
                    Some(turn) => turn,
                    None => {
                        let peers = peers.reborrow();
                        let mut machine = Machine { worker: self, cta, peers, index: 0, until_whole: false };
                        let finished = machine.cta.is_finished();
                        match machine.defers() {
                            true if finished => machine.land_all(),
                            // Other blocks of the cluster may wait for its operations.
                            true => machine.land(true),
                            false => {}
                        }
                        return if finished { End::Finished } else { End::Waits };
                    }
                },
            };
            let index = turn.index;
            let peers = peers.reborrow();
            let mut machine = Machine { worker: self, cta, peers, index, until_whole: false };
            let pause = machine.run_turn(&mut turn);
            if pause == Pause::Still {
                self.turn = Some(BlockTurn { rank, waiting_turns, warp: Some(turn) });
                return End::Still;
            }
            if machine.defers() {
                let polled = machine.worker.waits > turn.waits;
                machine.land(polled);
            }
            if !self.refuel(turn.ran()) {
                return End::Stopped;
            }
            if pause == Pause::Slice {
                self.grid.delays(&mut self.taken);
            }
            cta.next_warp = if index + 1 == warps { 0 } else { index + 1 };
            match pause {
                Pause::Slice | Pause::Blocked if self.takes_turns() => {
                    if self.others_wait() {
                        return End::GaveWay;
                    }
                }
                Pause::Slice if self.waits > turn.waits => {
                    if self.waits_in_vain(cta, 1) {
                        return End::Finished;
                    }
                    let mut waiting = warps;
                    if self.has_spun(spins) {
                        waiting_turns += WAITING_ROUNDS - 1;
                        waiting = (0..warps).filter(|&at| cta.can_run(at)).count();
                    }
                    waiting_turns += 1;
                    if self.gives_way(&mut waiting_turns, waiting) {
                        return End::GaveWay;
                    }
                }
                Pause::Slice | Pause::Blocked if self.swaps() => return End::GaveWay,
                Pause::Slice | Pause::Still => {}
                Pause::Blocked => waiting_turns = 0,
                Pause::Stopped => return End::Stopped,
            }
        }
    }

    /// What is left of the turn in the middle of which the launch stood still.
    #[cold]
    fn rest_of_turn(&mut self) -> (u64, Option<WarpTurn>) {
        self.turn.take().map_or((0, None), |turn| (turn.waiting_turns, turn.warp))
    }

    /// The turn of the next warp of a block that can run.
    fn next_turn(&mut self, cta: &mut Cta, waiting_turns: u64) -> Option<WarpTurn> {
        if self.goes_in_step() {
            return Some(WarpTurn::new(cta.turn_in_step()?, 1, self.waits));
        }
        let warps = cta.warps.len();
        let first = match &mut self.random {
            Some(random) => random.below(warps as u64) as usize,
            None => cta.next_warp,
        };
        let next = (first..warps).find(|&at| cta.can_run(at));
        let index = next.or_else(|| (0..first).find(|&at| cta.can_run(at)))?;
        let slice = match &mut self.random {
            Some(random) if self.grid.options.interleave => 1 + random.below(4),
            Some(random) => 1 + random.below(64),
            None if waiting_turns > 0 => WAITING_SLICE,
            None => WARP_SLICE,
        };
        Some(WarpTurn::new(index, slice, self.waits))
    }

    /// Whether blocks take turns after every few instructions.
    fn takes_turns(&self) -> bool {
        self.grid.options.interleave || self.goes_in_step()
    }

    /// Whether it is the turn of a warp of a block that waits, or is over, where blocks take turns: warps that are left are no faster
    /// for that.
    fn passes(&mut self, cta: &mut Cta) -> bool {
        if self.goes_in_step() {
            return cta.passes_in_step();
        }
        let warps = cta.warps.len();
        match &mut self.random {
            Some(random) if warps > 1 => {
                let warp = random.below(warps as u64) as usize;
                !cta.can_run(warp) && (0..warps).any(|warp| cta.can_run(warp))
            }
            _ => false,
        }
    }

    /// Whether warps execute one instruction each in turn.
    fn goes_in_step(&self) -> bool {
        self.stats.warp_instructions < self.grid.options.in_step
    }

    /// Whether the threads of a block have waited long enough for one of the launch that faulted; they are gone then, as
    /// on a device, which stops all of them at once.
    fn waits_in_vain(&self, cta: &mut Cta, turns: u64) -> bool {
        if !self.grid.faulted.load(Relaxed) {
            return false;
        }
        cta.spun += turns;
        let over = cta.spun > VAIN_TURNS * cta.warps.len() as u64;
        if over {
            cta.warps.iter_mut().for_each(|warp| warp.groups.clear());
        }
        over
    }

    /// Whether a seed lets another block go on here.
    fn swaps(&mut self) -> bool {
        self.grid.options.seed != 0
            && !(self.alone && self.grid.is_one_cluster())
            && self.random.as_mut().is_some_and(|random| random.below(SWAP) == 0)
            && self.others_wait()
    }

    /// Whether a block that only seems to wait for so many turns should let others run.
    fn gives_way(&self, waiting_turns: &mut u64, warps: usize) -> bool {
        if *waiting_turns <= WAITING_ROUNDS * warps as u64 {
            return false;
        }
        *waiting_turns = 0;
        if self.others_wait() {
            return true;
        }
        if !self.grid.exclusive {
            std::thread::yield_now();
        }
        false
    }

    /// Reports a cluster in which nothing can run: who waits where for what.
    fn deadlock(&mut self, cluster: &mut Cluster) {
        let blocks = cluster.blocks.len();
        let gone = cluster.blocks.iter().any(|cta| cta.faulted);
        for cta in &cluster.blocks {
            // Threads that wait for one that faulted are only a consequence.
            if cta.faulted {
                continue;
            }
            let note = match blocks {
                1 => "no thread of the block can make progress any more",
                _ => "no thread of the cluster can make progress any more",
            };
            self.report_groups(cta, note, |cta, warp, group| match group.wait {
                Wait::Barrier(id) => Some((
                    FindingKind::BarrierMismatch,
                    cta.barriers[usize::from(id)].explain(&cta.warps, id),
                )),
                Wait::Members(members) => {
                    let missing = members & !group.lanes & !warp.exited;
                    let text = format!(
                        "lanes {} wait for lanes {} of member mask {members:#010x}, which never come",
                        crate::code::lanes_text(group.lanes),
                        crate::code::lanes_text(missing),
                    );
                    Some((FindingKind::WarpSyncMismatch, text))
                }
                Wait::Cluster if gone => None,
                Wait::Cluster => Some((FindingKind::BarrierMismatch, cluster.explain_barrier())),
                Wait::Warpgroup => Some((FindingKind::WarpSyncMismatch, missing_warps(cta, warp))),
                Wait::Ready | Wait::Running => None,
            });
        }
        for warp in cluster.blocks.iter_mut().flat_map(|cta| &mut cta.warps) {
            warp.groups.clear();
        }
        self.pauses.found();
    }

    /// Reports where the threads of a block stand when a limit ends the launch.
    fn interrupted(&mut self, cta: &Cta) {
        let (grid, note) = (self.grid, "threads stood here when the limit was reached");
        self.report_groups(cta, note, |cta, warp, group| {
            let what = match group.wait {
                Wait::Ready | Wait::Running => match at_mbarrier(grid, cta, warp, group) {
                    Some(asking) => format!("still {asking}"),
                    None => "still running".to_string(),
                },
                Wait::Barrier(id) => cta.barriers[usize::from(id)].explain(&cta.warps, id),
                Wait::Cluster => "waiting at the barrier of the cluster".to_string(),
                Wait::Members(members) => format!("waiting for the lanes of member mask {members:#010x}"),
                Wait::Warpgroup => missing_warps(cta, warp),
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
                let threads =
                    crate::machine::fault::threads(cta.position, grid.launch.block, warp.index, group.lanes);
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
