//! How to run.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::watch::WatcherFactory;

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
    /// Counts memory traffic for [`crate::Stats`].
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
