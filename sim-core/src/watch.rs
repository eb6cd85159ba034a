//! Watchers: tools from outside that are told what a launch does, in the order in which it happens.
//!
//! A watcher comes with [`RunOptions::watcher`](crate::RunOptions) and sees every access, fence and
//! synchronisation of a launch. There is one a launch, and the launch then runs on one worker: what is told first
//! happened first, and a read returns the latest write that was told before it. The simulator knows nothing of
//! what a watcher makes of it; it takes findings at the end.

use std::sync::Arc;

use ptx_frontend::{MemOrder, Scope};

use crate::exec::LaunchView;
use crate::finding::Finding;
use crate::lanes::LaneMask;
use crate::launch::Dim3;
use crate::observer::{Memory, WarpAccess};

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

/// What a thread does with its `cp.async` after issuing them (ISA 9.7.9.25.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyStep {
    /// `cp.async.commit_group`: those not yet in a group become one.
    Commit,
    /// `cp.async.wait_group`: all groups but so many of the latest are complete.
    WaitGroup(u32),
    /// `cp.async.wait_all`, or an mbarrier that will be told of it: all copies are complete.
    WaitAll,
}

/// What a launch tells. All methods but the last default to nothing.
pub trait Watcher: Send {
    /// A warp accesses memory, and may. Loads and stores are told before they are done, atomics after.
    fn access(&mut self, _access: &WarpAccess<'_>) {}

    /// Lanes of a warp group their asynchronous copies or wait for them. The copies are told as accesses
    /// ([`WarpAccess::asynchronous`]).
    fn copies(&mut self, _warp: WarpId, _lanes: LaneMask, _step: CopyStep) {}

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
    fn finish(&mut self, launch: &LaunchView<'_>) -> Vec<Finding>;
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
