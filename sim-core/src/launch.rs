//! What to run and what came of it: the vocabulary shared by the simulator and a real device.

use std::sync::Arc;
use std::time::Duration;

pub use isa::Dim3;

use crate::finding::Finding;
use crate::metrics::Metrics;
use crate::sums::sums;

/// An address in device memory, generic.
pub type DevicePtr = u64;

/// One kernel launch.
#[derive(Clone, PartialEq, Eq, Debug)]
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

impl Launch {
    /// A launch without dynamic shared memory, of blocks that need not be resident together.
    ///
    /// ```
    /// let launch = sim_core::Launch::new("saxpy", 4, 256, Vec::new());
    /// assert_eq!((launch.grid.count(), launch.block.count()), (4, 256));
    /// ```
    pub fn new(
        kernel: impl Into<Arc<str>>,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        params: Vec<u8>,
    ) -> Launch {
        Launch {
            kernel: kernel.into(),
            grid: grid.into(),
            cluster: None,
            block: block.into(),
            shared_bytes: 0,
            params,
            cooperative: false,
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
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
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
    /// Bytes read and written by space; only with [`crate::RunOptions::count_memory`].
    pub memory: MemoryStats,
    /// Wall time of the launch.
    pub time: Duration,
}

/// Memory traffic in bytes (lanes times access size) and 32-byte sectors a warp access touches.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
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
    /// Findings beyond [`crate::RunOptions::max_findings`].
    pub dropped_findings: u64,
    /// What it did.
    pub stats: Stats,
    /// What `printf` in the kernel wrote, in the order of execution.
    pub output: Vec<u8>,
    /// What tools measured.
    pub metrics: Vec<Metrics>,
    /// The grids that its kernel launched, and those that these launched, each by itself and in the order in which they ran, with what
    /// tools measured of them, if that was to be apart ([`RunOptions::apart`](crate::RunOptions)). All else of them is in this report.
    pub launched: Vec<LaunchedGrid>,
}

/// A grid that a kernel launched.
#[derive(Clone, Debug)]
pub struct LaunchedGrid {
    /// What was launched.
    pub launch: Launch,
    /// How it ended.
    pub outcome: Outcome,
    /// What tools measured of it.
    pub metrics: Vec<Metrics>,
}

// The times are not added: parts run beside each other.
sums!(Stats:
    warp_instructions thread_instructions branches divergent_branches barriers blocks memory,
    but time
);
sums!(MemoryStats:
    global_read global_written global_sectors shared_read shared_written local_read local_written atomics
);
