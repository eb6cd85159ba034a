//! Watchers: tools from outside that are told what a launch does, in the order in which it happens.
//!
//! A watcher comes with [`RunOptions::watcher`](crate::RunOptions) and sees every access, fence and
//! synchronisation of a launch. There is one a launch, and the launch then runs on one worker: what is told first
//! happened first, and a read returns the latest write that was told before it. The simulator knows nothing of
//! what a watcher makes of it; it takes findings at the end.

use std::sync::Arc;

use isa::{Dim3, MemOrder, Scope};

use crate::code::CopyStep;
use crate::event::{Memory, WarpAccess};
use crate::finding::{CodePlace, Finding, ThreadId};
use crate::lanes::LaneMask;

/// A warp of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WarpId {
    /// Linear index of the block in the grid.
    pub block: u64,
    /// Index of the warp in the block.
    pub warp: u32,
}

/// How a launch that is to be watched is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: Dim3,
    /// Threads a block.
    pub block: Dim3,
    /// Blocks a cluster.
    pub cluster: Dim3,
    /// [`RunOptions::seed`](crate::RunOptions).
    pub seed: u64,
}

/// What a launch tells. All methods but the last default to nothing.
pub trait Watcher: Send {
    /// A warp accesses memory, and may. Loads and stores are told before they are done, atomics after.
    fn access(&mut self, _access: &WarpAccess<'_>) {}

    /// Lanes of a warp group their asynchronous copies or wait for them. The copies are told as accesses
    /// ([`WarpAccess::asynchronous`]).
    fn copies(&mut self, _warp: WarpId, _lanes: LaneMask, _step: CopyStep) {}

    /// Lanes of a warp arrive at the barrier of their cluster.
    fn arrived_at_cluster(&mut self, _warp: WarpId, _lanes: LaneMask, _order: MemOrder) {}

    /// Lanes of a warp have waited for the barrier of their cluster, which is complete.
    fn waited_for_cluster(&mut self, _warp: WarpId, _lanes: LaneMask) {}

    /// Lanes of a warp execute `fence` or `membar`.
    fn fence(&mut self, _warp: WarpId, _lanes: LaneMask, _order: MemOrder, _scope: Scope) {}

    /// Lanes of a warp have met in a `bar.warp.sync`.
    fn warp_synchronized(&mut self, _warp: WarpId, _lanes: LaneMask) {}

    /// Lanes of a warp arrive at a barrier of their block, and wait there or go on.
    fn arrived(&mut self, _warp: WarpId, _lanes: LaneMask, _barrier: u8, _waits: bool) {}

    /// A barrier completes: those that wait there go on. `everybody`: no thread of the block that has not exited is
    /// missing.
    fn barrier_completed(&mut self, _block: u64, _barrier: u8, _everybody: bool) {}

    /// All threads of a block that have not exited arrive at a barrier and wait there, so that it completes: the same
    /// as so many calls of [`arrived`](Self::arrived) and one of
    /// [`barrier_completed`](Self::barrier_completed). `lanes` are by warp.
    fn barrier_of_all(&mut self, block: u64, barrier: u8, lanes: &[LaneMask]) {
        for (warp, &lanes) in (0..).zip(lanes) {
            if lanes != 0 {
                self.arrived(WarpId { block, warp }, lanes, barrier, true);
            }
        }
        self.barrier_completed(block, barrier, true);
    }

    /// Memory begins a new life: what was done to it before is of no concern (`malloc` in a kernel).
    fn renewed(&mut self, _memory: Memory, _address: u64, _bytes: u64) {}

    /// All threads of a block have exited.
    fn block_finished(&mut self, _block: u64) {}

    /// The launch is over: what was found.
    fn finish(&mut self, launch: &dyn LaunchView) -> Vec<Finding>;
}

/// What a watcher may ask about a launch that is over, to say what it found.
pub trait LaunchView {
    /// The kernel's name.
    fn kernel(&self) -> std::sync::Arc<str>;

    /// Where an instruction is, by its position.
    fn place(&self, position: u32) -> CodePlace;

    /// The line of a place in its PTX text.
    fn line(&self, place: &CodePlace) -> u32;

    /// The thread of a lane.
    fn thread(&self, block: u64, warp: u32, lane: u32) -> ThreadId;

    /// What lies at an address: the allocation or variable, and the offset in it.
    fn describe(&self, memory: Memory, address: u64) -> String;
}

type Make = dyn Fn(&LaunchShape) -> Box<dyn Watcher> + Send + Sync;

/// Makes a watcher for each launch.
#[derive(Clone)]
pub struct WatcherFactory(Arc<Make>);

impl WatcherFactory {
    /// From a function that makes one.
    pub fn new(make: impl Fn(&LaunchShape) -> Box<dyn Watcher> + Send + Sync + 'static) -> Self {
        WatcherFactory(Arc::new(make))
    }

    pub(crate) fn make(&self, shape: &LaunchShape) -> Box<dyn Watcher> {
        (self.0)(shape)
    }
}

impl std::fmt::Debug for WatcherFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WatcherFactory")
    }
}
