//! The state of a launch that stands still, as data: what its machine can be put back to.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use super::cluster::Cluster;
use super::fault::Findings;
use super::grid::{Grid, Queue};
use super::heap::HeapState;
use super::launches::LaunchesState;
use super::random::Random;
use super::turn::BlockTurn;
use super::weak;
use super::worker::Worker;
use crate::launch::Stats;
use crate::memory::{Contents, Hint};
use crate::observer::Observer;

/// A place of a launch that [`Session::restore`](crate::Session::restore) leads back to: blocks with registers, shared and
/// local memory, barriers and operations under way; global memory, its allocations and the heap; what was found, printed
/// and launched; schedule and random numbers. Two are equal if the launch goes on alike from both.
///
/// What tools know is no part of it.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    grid: GridState,
    worker: WorkerState,
    pub(crate) memory: Contents,
    heap: HeapState,
    launches: LaunchesState,
    weak: Option<weak::State>,
    held: u64,
}

impl PartialEq for Checkpoint {
    fn eq(&self, other: &Self) -> bool {
        let Checkpoint { grid, worker, memory, heap, launches, weak, held: _ } = self;
        *grid == other.grid
            && *worker == other.worker
            && *memory == other.memory
            && *heap == other.heap
            && *launches == other.launches
            && *weak == other.weak
    }
}

/// What all workers of a launch share.
#[derive(Clone, PartialEq, Debug)]
struct GridState {
    queue: Queue,
    next: u64,
    fuel: u64,
    stop: bool,
    faulted: bool,
    limited: bool,
    findings: Findings,
    output: Vec<(u64, Vec<u8>)>,
    printed: u64,
}

/// A worker: what it has in hand, and what it did.
#[derive(Clone, PartialEq, Debug)]
struct WorkerState {
    hand: Option<Cluster>,
    turn: Option<BlockTurn>,
    stats: Stats,
    waits: u64,
    spins: u64,
    params: Vec<u8>,
    random: Option<Random>,
    alone: bool,
    fuel: u64,
}

impl Checkpoint {
    /// Warp instructions that the launch had run.
    pub fn instructions(&self) -> u64 {
        self.worker.stats.warp_instructions
    }

    /// Bytes of memory that it takes for itself: resident blocks, and of global memory the pages that are not as they
    /// were at the checkpoint before it.
    pub fn bytes(&self) -> u64 {
        let queued = self.grid.queue.waiting.iter();
        let blocks = queued.chain(&self.worker.hand).flat_map(|cluster| &cluster.blocks);
        self.held + blocks.map(|cta| cta.bytes()).sum::<u64>()
    }
}

impl Grid<'_> {
    fn state(&self) -> GridState {
        GridState {
            queue: self.queue.0.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            next: self.supply.next.0.load(Relaxed),
            fuel: self.fuel.load(Relaxed),
            stop: self.stop.load(Relaxed),
            faulted: self.faulted.load(Relaxed),
            limited: self.limited.load(Relaxed),
            findings: self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            output: self.output.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            printed: self.printed.load(Relaxed),
        }
    }

    fn restore(&self, state: &GridState) {
        let GridState { queue, next, fuel, stop, faulted, limited, findings, output, printed } = state;
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(queue);
        self.supply.next.0.store(*next, Relaxed);
        self.fuel.store(*fuel, Relaxed);
        self.stop.store(*stop, Relaxed);
        self.faulted.store(*faulted, Relaxed);
        self.limited.store(*limited, Relaxed);
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone_from(findings);
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone_from(output);
        self.printed.store(*printed, Relaxed);
    }
}

impl<O: Observer> Worker<'_, O> {
    /// The state of its launch, which stands still. Pages of global memory that are as they were `before` are shared with
    /// that.
    pub(crate) fn checkpoint(&self, before: Option<&Contents>) -> Checkpoint {
        let memory = self.grid.memory.contents(before);
        Checkpoint {
            grid: self.grid.state(),
            worker: WorkerState {
                hand: self.hand.clone(),
                turn: self.turn.clone(),
                stats: self.stats,
                waits: self.waits,
                spins: self.spins,
                params: self.params.clone(),
                random: self.random,
                alone: self.alone,
                fuel: self.fuel,
            },
            held: memory.held(before),
            memory,
            heap: self.grid.heap.state(),
            launches: self.grid.launches.state(),
            weak: self.grid.weak.as_ref().map(|weak| weak.state().clone()),
        }
    }

    /// Makes it the state of the launch.
    pub(crate) fn restore(&mut self, checkpoint: &Checkpoint) {
        let Checkpoint { grid, worker, memory, heap, launches, weak, held: _ } = checkpoint;
        self.grid.restore(grid);
        let WorkerState { hand, turn, stats, waits, spins, params, random, alone, fuel } = worker;
        self.hand.clone_from(hand);
        self.turn.clone_from(turn);
        (self.stats, self.waits, self.spins, self.random) = (*stats, *waits, *spins, *random);
        self.params.clone_from(params);
        (self.alone, self.fuel) = (*alone, *fuel);
        self.grid.memory.restore(memory);
        self.grid.heap.restore(heap);
        self.grid.launches.restore(launches);
        if let (Some(now), Some(was)) = (&self.grid.weak, weak) {
            now.state().clone_from(was);
        }
        // Where memory was accessed is known of the allocations that there were.
        self.snapshot = self.grid.memory.snapshot();
        self.hints.fill(Hint::NONE);
        self.indices.fill(0);
        for cta in self.hand.iter_mut().flat_map(|cluster| &mut cluster.blocks) {
            self.observer.prepare(&mut cta.parts);
        }
        let mut queue = self.grid.queue.0.lock().unwrap_or_else(PoisonError::into_inner);
        for cta in queue.waiting.iter_mut().flat_map(|cluster| &mut cluster.blocks) {
            self.observer.prepare(&mut cta.parts);
        }
    }
}
