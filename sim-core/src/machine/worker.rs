//! A worker: what one thread of the host needs to run blocks of a launch.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::cluster::Cluster;
use super::cta::Cta;
use super::gain::Gain;
use super::grid::Grid;
use super::kept::CompiledFunction;
use super::pauses::Pauses;
use super::random::Random;
use super::squad::Squad;
use super::turn::BlockTurn;
use crate::launch::Stats;
use crate::memory::{Hint, Snapshot, host};
use crate::observer::Observer;
use jit::{Context, SPINS};
use semantics::matrix::panel::Panel;
use semantics::matrix::tile::Tile;

/// Runs blocks, one at a time.
pub(crate) struct Worker<'g, O> {
    pub grid: &'g Grid<'g>,
    pub observer: O,
    /// Allocations as last seen.
    pub snapshot: Snapshot,
    /// By instruction: the allocation it accessed last, and its index in the snapshot.
    pub hints: Vec<Hint>,
    pub indices: Vec<u32>,
    /// How often a hint has become another one.
    pub hint_changes: u64,
    pub stats: Stats,
    /// Instructions executed that a thread may use to wait for another: strong accesses, atomics,
    /// `nanosleep`.
    pub waits: u64,
    /// Those of them that are loads of loops that do nothing but wait: each of [`SPINS`] ends a turn.
    pub spins: u64,
    /// Parameters of the kernel.
    pub params: Vec<u8>,
    pub random: Option<Random>,
    #[allow(clippy::vec_box, reason = "blocks move between workers and the queue as boxes")]
    pub spare: Vec<Box<Cta>>,
    /// When to stand still, and where it does: the cluster that runs, and the turn of its block.
    pub pauses: Pauses,
    pub hand: Option<Cluster>,
    pub turn: Option<BlockTurn>,
    /// Clusters that it took from the grid and has not started.
    pub taken: Range<u64>,
    /// The running block is the only one of its cluster that is not over.
    pub alone: bool,
    /// Warp instructions that may run before the shared limit is asked again.
    pub(super) fuel: u64,
    /// Work done since the last look at the clock, in warp instructions.
    work: u64,
    /// Host code for the kernel, once there is any, and what runs of it are told.
    pub compiled: Option<&'g CompiledFunction>,
    pub context: Option<Box<Context>>,
    /// What code gave to blocks whose warps began it together.
    pub gain: Gain,
    /// Scratch memory of blocks in code.
    pub squad: Squad,
    /// Scratch memory of matrix instructions, from the first one on.
    pub tile: Option<Box<Tile>>,
    pub panel: Option<Box<Panel>>,
}

/// Warp instructions between two looks at the limits.
const FUEL: u64 = 200_000;
/// What an instruction that may take long counts as, of those between two looks at the clock.
pub(crate) const HEAVY: u64 = FUEL / 50;

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
            hint_changes: 0,
            stats: Stats::default(),
            waits: 0,
            spins: 0,
            params: grid.launch.params.clone(),
            random: None,
            spare: Vec::new(),
            pauses: Pauses::never(false),
            hand: None,
            turn: None,
            taken: 0..0,
            alone: true,
            fuel: 0,
            work: 0,
            compiled: None,
            context: None,
            gain: Gain::default(),
            squad: Squad::default(),
            tile: None,
            panel: None,
        }
    }

    /// Counts a load of a loop that does nothing but wait; whether it ends the turn.
    #[inline(always)]
    pub(crate) fn spin(&mut self) -> bool {
        self.spins += 1;
        self.spins.is_multiple_of(SPINS) && self.random.is_none()
    }

    /// Whether a turn that began with so many [`Worker::spins`] was ended by them.
    #[inline(always)]
    pub(crate) fn has_spun(&self, before: u64) -> bool {
        self.spins / SPINS > before / SPINS && self.random.is_none()
    }

    /// Whether it is to stand still here, between two turns.
    #[inline(always)]
    pub(crate) fn is_to_pause(&self) -> bool {
        O::ACTIVE && self.pauses.is_due(self.stats.warp_instructions)
    }

    /// What it executed, and its part of the tools.
    pub(crate) fn finish(self) -> (Stats, O) {
        self.grid.kernel.heat.fetch_add(self.stats.warp_instructions, Relaxed);
        self.grid.kernel.keep(&self.snapshot, self.indices, &self.hints);
        self.spare.into_iter().for_each(|cta| self.grid.blocks.give(cta));
        (self.stats, self.observer)
    }

    /// Looks at the allocations again, if some came or went.
    pub(crate) fn look_again(&mut self) {
        if self.grid.memory.is_stale(&self.snapshot) {
            self.snapshot = self.grid.memory.snapshot();
            self.hints.fill(Hint::NONE);
            self.hint_changes += 1;
        }
    }

    /// Accounts for instructions; false when a limit ends the launch.
    pub(crate) fn refuel(&mut self, used: u64) -> bool {
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
    pub(crate) fn spend(&mut self, work: u64) -> bool {
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
}
