//! Accesses to weak memory: the interpreter asks it what a thread sees. Loads that are done after stores that follow them are
//! [`super::in_flight`].

use ptx_frontend::{MemOrder, Scope};

use super::at::{At, Direction};
use super::masks::each_lane;
use super::view::View;
use crate::code::{Access, AccessSpace};
use crate::machine::Machine;
use crate::machine::cta::Cta;
use crate::machine::grid::Grid;
use crate::machine::weak::{Latest, Place, State, Strength, WeakMemory};
use crate::memory::Cells;
use crate::observer::Observer;
use semantics::lanes::LaneMask;

/// Barriers of a block have the numbers 0 to 15; these stand for strong accesses to its shared memory, and for
/// its warps.
const SHARED: u64 = 16;
const WARPS: u64 = 17;

/// Where the lanes of a warp run.
#[derive(Clone, Copy)]
struct WeakWarp {
    first: u64,
    block: u64,
    cluster: u64,
}

impl WeakWarp {
    fn new(grid: &Grid<'_>, cta: &Cta, warp: usize) -> Self {
        let (position, cluster, all) = (cta.position, grid.cluster, grid.launch.grid);
        let (x, y, z) = (position.x / cluster.x, position.y / cluster.y, position.z / cluster.z);
        let clusters = (u64::from(all.x / cluster.x), u64::from(all.y / cluster.y));
        Self {
            first: (cta.index * cta.warps.len() as u64 + warp as u64) * 32,
            block: cta.index,
            cluster: (u64::from(z) * clusters.1 + u64::from(y)) * clusters.0 + u64::from(x),
        }
    }

    fn lane(self, lane: usize) -> Place {
        Place { thread: self.first + lane as u64, block: self.block, cluster: self.cluster }
    }
}

/// An allocation of global memory as the lanes of a warp see it; offsets count from its base.
pub(crate) struct WeakView<'a> {
    memory: &'a WeakMemory,
    cells: &'a Cells,
    base: u64,
    warp: WeakWarp,
    strength: Strength,
    /// A reduction, which does not acquire.
    reduction: bool,
    /// Elements of 16 bytes, which are two accesses here and must not tear.
    wide: bool,
    exclusive: bool,
}

struct Word<'a>(&'a Cells, u64, u32, bool);

impl Latest for Word<'_> {
    fn load(&self) -> u64 {
        self.0.load(self.1, self.2)
    }

    fn store(&self, value: u64) {
        self.0.store(self.1, self.2, value, self.3);
    }
}

impl<'a> WeakView<'a> {
    pub(crate) fn new(
        memory: &'a WeakMemory,
        grid: &Grid<'_>,
        cta: &Cta,
        warp: usize,
        access: &Access,
        reduction: bool,
        (cells, base): (&'a Cells, u64),
    ) -> Self {
        Self {
            memory,
            cells,
            base,
            warp: WeakWarp::new(grid, cta, warp),
            strength: Strength::new(access.order, access.scope),
            reduction,
            wide: access.size == 16,
            exclusive: grid.exclusive,
        }
    }

    fn word(&self, at: u64, bytes: u32) -> Word<'a> {
        Word(self.cells, at, bytes, self.exclusive)
    }
}

impl View for WeakView<'_> {
    const PER_LANE: bool = true;

    fn load(&self, lane: usize, at: u64, size: u32) -> u64 {
        let (mut state, word, address) = (self.memory.state(), self.word(at, size), self.base + at);
        if self.wide {
            state.give_up(address, size, &word);
        }
        state.read(self.warp.lane(lane), address, size, self.strength, &word)
    }

    fn store(&mut self, lane: usize, at: u64, size: u32, value: u64) {
        let (mut state, word, address) = (self.memory.state(), self.word(at, size), self.base + at);
        if self.wide {
            state.give_up(address, size, &word);
        }
        let value = if size == 8 { value } else { value & ((1 << (8 * size)) - 1) };
        state.write(self.warp.lane(lane), address, size, value, self.strength, &word);
    }

    fn update(&mut self, lane: usize, at: u64, size: u32, mut new: impl FnMut(u64) -> u64) -> u64 {
        self.replace(lane, at, size, |old| Some(new(old)))
    }

    fn compare_exchange(&mut self, lane: usize, at: u64, size: u32, expected: u64, new: u64) -> u64 {
        self.replace(lane, at, size, |old| (old == expected).then_some(new))
    }
}

impl WeakView<'_> {
    fn replace(&mut self, lane: usize, at: u64, size: u32, new: impl FnMut(u64) -> Option<u64>) -> u64 {
        let (place, word) = (self.warp.lane(lane), self.word(at, size));
        let mut state = self.memory.state();
        state.update(place, self.base + at, size, self.strength, self.reduction, new, &word)
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    fn each_place(&self, warp: usize, lanes: LaneMask, mut body: impl FnMut(&mut State, Place)) {
        let grid = self.worker.grid;
        let Some(weak) = self.weak() else { return };
        let warp = WeakWarp::new(grid, self.cta, warp);
        let mut state = weak.state();
        each_lane(lanes, |lane| body(&mut state, warp.lane(lane)));
    }

    /// A fence of some lanes.
    #[cold]
    pub(crate) fn weak_fence(&self, lanes: LaneMask, order: MemOrder, scope: Scope) {
        self.each_place(self.index, lanes, |state, place| state.fence(place, order, scope));
    }

    /// A strong access that may be one to shared memory; stores before they happen, loads after.
    #[cold]
    pub(crate) fn weak_shared(&self, at: &At<'_>, writes: bool) {
        if at.direction == Direction::Store && !writes {
            return;
        }
        if matches!(at.access.space, AccessSpace::Shared | AccessSpace::Cluster | AccessSpace::Generic) {
            let strength = Strength::new(at.access.order, at.access.scope);
            self.each_place(self.index, at.lanes, |state, place| {
                state.shared(place, strength, writes, SHARED)
            });
        }
    }

    /// Lanes arrive at a barrier of the block.
    #[cold]
    pub(crate) fn weak_arrive(&self, lanes: LaneMask, id: u32) {
        self.each_place(self.index, lanes, |state, place| state.arrive(place, u64::from(id)));
    }

    /// Lanes of a warp leave a barrier of the block.
    #[cold]
    pub(crate) fn weak_leave(&self, warp: usize, lanes: LaneMask, id: u32) {
        self.each_place(warp, lanes, |state, place| state.leave(place, u64::from(id)));
    }

    /// Lanes of the warp meet at `bar.warp.sync`.
    #[cold]
    pub(crate) fn weak_warp_sync(&self, lanes: LaneMask) {
        let number = WARPS + self.index as u64;
        self.each_place(self.index, lanes, |state, place| state.arrive(place, number));
        self.each_place(self.index, lanes, |state, place| state.leave(place, number));
    }
}
