//! What to run and what came of it: the vocabulary shared by the simulator and a real device.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use isa::Dim3;

use crate::finding::Finding;
use crate::watch::WatcherFactory;

/// An address in device memory, generic.
pub type DevicePtr = u64;

/// One kernel launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: Arc<str>,
    /// Blocks.
    pub grid: Dim3,
    /// Blocks a cluster; `None` takes the kernel's directives.
    pub cluster: Option<Dim3>,
    /// Threads a block.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// The packed parameter buffer, laid out as the kernel's `.param` list says.
    pub params: Vec<u8>,
    /// All blocks must be resident at once (`cudaLaunchCooperativeKernel`).
    pub cooperative: bool,
}

/// How to run: schedule, limits and checks. None of it changes a defined result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Worker threads; 0 takes one a core.
    pub jobs: usize,
    /// 0 schedules round robin; any other value seeds a random schedule, and an order in which blocks start.
    pub seed: u64,
    /// Gives another block a turn after every few instructions, as blocks that run at the same time would
    /// take them. For small launches: it is slow. With one worker one seed gives one schedule.
    pub interleave: bool,
    /// Global memory shows values that are not yet or no longer the latest, chosen at random within what the
    /// PTX memory model allows. Results of kernels without races do not change; it is slow.
    pub weak: bool,
    /// Ends the launch after this many warp instructions.
    pub max_instructions: Option<u64>,
    /// Ends the launch after this time.
    pub timeout: Option<Duration>,
    /// Ends the launch soon after this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Reports reads of bytes that nothing has written (`--tool initcheck`).
    pub initcheck: bool,
    /// Reports wrong use of barriers that does no harm here (`--tool synccheck`).
    pub synccheck: bool,
    /// Counts memory traffic for [`Stats`].
    pub count_memory: bool,
    /// Told what happens; the launch then runs on one worker.
    pub watcher: Option<WatcherFactory>,
    /// Distinct findings kept; further ones are only counted.
    pub max_findings: usize,
    /// Nothing else accesses the memory while the launch runs: no other launch, no program on the host.
    /// One job then needs no atomic read-modify-write.
    pub alone: bool,
    /// Directory that source paths in messages are relative to.
    pub source_root: Option<PathBuf>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            jobs: 0,
            seed: 0,
            interleave: false,
            weak: false,
            max_instructions: None,
            timeout: None,
            interrupt: None,
            initcheck: false,
            synccheck: false,
            count_memory: false,
            watcher: None,
            max_findings: 100,
            alone: true,
            source_root: None,
        }
    }
}

/// How a launch ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Every thread exited.
    Completed,
    /// A thread faulted: bad access, trap, failed assertion.
    Faulted,
    /// Nothing could progress any more.
    Deadlock,
    /// `--max-instructions` or `--timeout` was reached.
    LimitReached,
    /// An instruction was reached that the simulator does not support.
    Unsupported,
}

/// What a launch did.
#[derive(Clone, Copy, Default, Debug)]
pub struct Stats {
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Thread instructions: warp instructions times active lanes.
    pub thread_instructions: u64,
    /// Branches executed by warps.
    pub branches: u64,
    /// Branches that split a warp.
    pub divergent_branches: u64,
    /// Block-wide barriers completed.
    pub barriers: u64,
    /// Blocks run.
    pub blocks: u64,
    /// Bytes read and written by space; only with [`RunOptions::count_memory`].
    pub memory: MemoryStats,
    /// Wall time of the launch.
    pub time: Duration,
}

/// Memory traffic in bytes (lanes times access size) and 32-byte sectors a warp access touches.
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs, reason = "space and direction")]
pub struct MemoryStats {
    pub global_read: u64,
    pub global_written: u64,
    pub global_sectors: u64,
    pub shared_read: u64,
    pub shared_written: u64,
    pub local_read: u64,
    pub local_written: u64,
    pub atomics: u64,
}

/// What came of a launch.
#[derive(Clone, Debug)]
pub struct LaunchReport {
    /// How it ended.
    pub outcome: Outcome,
    /// What was found, grouped, in order of place.
    pub findings: Vec<Finding>,
    /// Findings beyond [`RunOptions::max_findings`].
    pub dropped_findings: u64,
    /// What it did.
    pub stats: Stats,
    /// What `printf` in the kernel wrote, in the order of execution.
    pub output: Vec<u8>,
}
