//! A block: its warps, its shared memory, its barriers.

use super::barrier::BlockBarrier;
use super::random::Random;
use super::warp::{Wait, Warp};
use super::warpgroup::Warpgroup;
use crate::code::Code;
use crate::launch::Dim3;
use crate::tools::BlockParts;
use semantics::lanes::Row;

/// Barriers a block has (ISA 9.7.13.1).
pub(crate) const BARRIERS: usize = 16;

/// A block that runs or waits to run on.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Cta {
    /// Linear index in the grid.
    pub index: u64,
    pub position: Dim3,
    pub warps: Vec<Warp>,
    /// Shared memory from the start of the window.
    pub shared: SharedMemory,
    pub barriers: [BlockBarrier; BARRIERS],
    /// Barriers at which something has arrived since they last completed.
    pub open_barriers: u16,
    /// What tools keep of it.
    pub parts: BlockParts,
    /// Its warpgroups, if the kernel has instructions for them.
    pub warpgroups: Vec<Warpgroup>,
    /// A thread of it faulted: what happens to the others is only a consequence.
    pub faulted: bool,
    /// Turns in which its warps only seemed to wait since a thread of the launch faulted.
    pub spun: u64,
    /// Time: warp instructions run, and what reading the clock costs.
    pub clock: u64,
    /// Warp to run next.
    pub next_warp: usize,
    /// Turns in step so far.
    pub steps: u64,
    /// What its threads printed.
    pub output: Vec<u8>,
    /// Block in its cluster.
    pub cluster_position: Dim3,
    /// All threads have ended in compiled code, which left the warps as they began but for registers and memory.
    pub over: bool,
}

/// Shared memory of a block: bytes at a well aligned place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SharedMemory {
    rows: Vec<Row>,
    bytes: usize,
}

impl SharedMemory {
    /// So many zeros.
    pub(crate) fn reset(&mut self, bytes: u32) {
        self.bytes = bytes as usize;
        self.rows.clear();
        self.rows.resize(self.bytes.div_ceil(size_of::<Row>()), Row::ZERO);
    }

    /// Bytes, from the start of the shared window.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: rows are plain words without padding, and `bytes` is at most their size.
        unsafe { std::slice::from_raw_parts(self.rows.as_ptr().cast(), self.bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; any bytes are valid words.
        unsafe { std::slice::from_raw_parts_mut(self.rows.as_mut_ptr().cast(), self.bytes) }
    }
}

/// Special registers that depend on the warp's place in its block only, for each warp.
pub(crate) fn warp_rows(code: &Code, block: Dim3) -> Vec<Row> {
    use ptx_frontend::SpecialRegister as R;
    let warps = (block.count() as u64).div_ceil(32);
    let row = |warp: u64, special: R| match special {
        R::Tid(c) => Row(std::array::from_fn(|lane| block.position(warp * 32 + lane as u64).component(c))),
        R::Warpid => Row::splat(warp as u32),
        _ => Row::ZERO,
    };
    (0..warps).flat_map(|warp| code.warp_specials.iter().map(move |&special| row(warp, special))).collect()
}

impl Cta {
    /// Leaves nothing of a finished block in its buffers.
    pub(crate) fn empty(&mut self) {
        self.warps.iter_mut().for_each(Warp::empty);
        self.shared.reset(0);
        self.parts = BlockParts::default();
    }

    /// Bytes that its buffers take.
    pub(crate) fn held(&self) -> u64 {
        let rows = self.warps.iter().map(|warp| warp.rows.capacity() + warp.local.capacity()).sum::<usize>();
        ((rows + self.shared.rows.capacity()) * size_of::<Row>()) as u64
    }

    /// Bytes of its memory and registers.
    pub(crate) fn bytes(&self) -> u64 {
        let rows = self.warps.iter().map(|warp| warp.rows.len() + warp.local.len()).sum::<usize>();
        (rows * size_of::<Row>() + self.shared.len()) as u64
    }

    /// Whether every thread is gone.
    pub(crate) fn is_finished(&self) -> bool {
        self.over || self.warps.iter().all(|warp| warp.groups.is_empty())
    }

    /// Whether a warp has a group that can run.
    pub(crate) fn can_run(&self, warp: usize) -> bool {
        self.warps[warp].groups.iter().any(|group| group.wait == Wait::Ready)
    }

    /// The warp whose turn in step it is. Each has one a round, and each round begins with another: which of those that change
    /// one word comes first is chance on a device.
    fn in_turn(&self) -> usize {
        let warps = self.warps.len() as u64;
        let (round, at) = (self.steps / warps, self.steps % warps);
        ((at + Random::new(round, self.index).below(warps)) % warps) as usize
    }

    /// The next warp in step that can run; a whole round is among so many turns.
    pub(crate) fn turn_in_step(&mut self) -> Option<usize> {
        (1..2 * self.warps.len()).find_map(|_| {
            let warp = self.in_turn();
            self.steps += 1;
            self.can_run(warp).then_some(warp)
        })
    }

    /// Whether it is the turn of a warp that waits, or is over, while others of the block can run. The turn is nobody's then, or
    /// the fewer warps a block has the faster they would be.
    pub(crate) fn passes_in_step(&mut self) -> bool {
        let passes = !self.can_run(self.in_turn()) && (0..self.warps.len()).any(|warp| self.can_run(warp));
        self.steps += u64::from(passes);
        passes
    }
}
