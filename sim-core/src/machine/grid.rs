//! A launch: what all workers share, and the queue of clusters.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::cluster::Cluster;
use super::cta::Cta;
use super::fault::{self, Fault, Findings};
use super::kept::{Blocks, Kernel};
use super::launches::Launches;
use super::random::{Order, Random};
use super::supply::{Apart, Supply};
use super::weak::WeakMemory;
use crate::code::{Code, Constant};
use crate::config::DeviceConfig;
use crate::finding::{Finding, FindingKind};
use crate::launch::{Dim3, Launch};
use crate::memory::{GlobalMemory, Wide};
use crate::options::{AsyncPolicy, Engine, RunOptions};
use crate::texture::Objects;
use semantics::lanes::Row;

/// What all blocks of a launch share.
pub(crate) struct Grid<'a> {
    pub code: &'a Code,
    pub kernel: &'a Kernel,
    pub blocks: &'a Blocks,
    pub constants: Vec<Row>,
    pub warp_rows: Arc<[Row]>,
    pub memory: &'a GlobalMemory,
    /// Textures and surfaces, as they were when the launch began.
    pub objects: Arc<Objects>,
    pub heap: &'a super::heap::DeviceHeap,
    pub wide: Wide,
    /// When asynchronous operations are done.
    pub asynchrony: AsyncPolicy,
    /// Histories of global memory, with [`RunOptions::weak`].
    pub weak: Option<WeakMemory>,
    pub config: &'a DeviceConfig,
    pub options: &'a RunOptions,
    pub launch: &'a Launch,
    /// What its kernel launches.
    pub launches: &'a Launches<'a>,
    /// Address of a function as kernels see it, to index into [`Code::functions`].
    pub functions_by_address: rustc_hash::FxHashMap<u64, u32>,
    /// Blocks a cluster.
    pub cluster: Dim3,
    /// Clusters in the grid.
    pub clusters: Dim3,
    pub shared_bytes: u32,
    /// Only one worker runs: accesses need no atomic read-modify-write.
    pub exclusive: bool,
    pub jobs: usize,
    pub level: semantics::lanes::SimdLevel,
    /// Warp instructions of a kernel after which it is compiled.
    pub cold: u64,
    /// Clusters that may be resident at once.
    pub resident_limit: u64,
    /// When the launch was asked for, before its kernel was decoded.
    pub began: Instant,
    pub started: Instant,
    /// Warp instructions left before the limit.
    pub fuel: AtomicU64,
    /// All workers stop as soon as they see it.
    pub stop: AtomicBool,
    /// A thread faulted: others may wait for it in vain.
    pub faulted: AtomicBool,
    /// A limit was the reason to stop.
    pub limited: AtomicBool,
    pub findings: Mutex<Findings>,
    /// Output of `printf` by block.
    pub output: Mutex<Vec<(u64, Vec<u8>)>>,
    /// Bytes of it, and of what was left out.
    pub printed: AtomicU64,
    pub(super) queue: Apart<Mutex<Queue>>,
    pub(super) supply: Supply,
    /// In which order clusters start, with a seed; otherwise by index.
    order: Option<Order>,
}

/// Most threads in a grid of a program that one worker runs: starting a second one takes as long.
const SMALL: u128 = 4096;

/// Clusters that wait or run, up to which a seed starts further ones as readily as it lets those go on.
const FEW: u64 = 4;

/// Warp instructions after which compiling a kernel pays: about a millisecond of the interpreter.
const COLD: u64 = 200_000;

/// Warp instructions that take as long as compiling an instruction.
const PRICE: u64 = 3000;

/// Clusters that have started, besides those that workers have in hand.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Queue {
    /// Clusters that gave way, oldest first.
    pub(super) waiting: VecDeque<Cluster>,
    /// Clusters started and not finished, those that run included.
    resident: u64,
    /// Chooses what comes next, with [`RunOptions::interleave`] or a seed.
    random: Option<Random>,
    /// Rounds in step so far, and turns that are left of this one.
    rounds: u64,
    left: usize,
}

impl Queue {
    /// The clusters that gave way, oldest first.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.waiting.iter()
    }

    /// The same, to be changed.
    pub(crate) fn clusters_mut(&mut self) -> impl Iterator<Item = &mut Cluster> {
        self.waiting.iter_mut()
    }

    /// A turn in step is over. Each round begins with another cluster: who comes first is nobody's right.
    fn turned_in_step(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.left = self.waiting.len();
            self.rounds += 1;
            let first = Random::new(self.rounds, 0).below(self.left.max(1) as u64);
            self.waiting.rotate_left(first as usize);
        }
    }
}

/// What a worker gets from the queue.
pub(crate) enum Task {
    /// Start the cluster with this linear index.
    Start(u64),
    /// Go on with a cluster that gave way.
    Resume(Cluster),
    /// Others run clusters that may yet give way.
    Idle,
    /// All clusters are finished.
    Done,
}

impl<'a> Grid<'a> {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        kernel: &'a Kernel,
        blocks: &'a Blocks,
        constants: Vec<Row>,
        memory: &'a GlobalMemory,
        objects: Arc<Objects>,
        heap: &'a super::heap::DeviceHeap,
        config: &'a DeviceConfig,
        options: &'a RunOptions,
        launch: &'a Launch,
        launches: &'a Launches<'a>,
        cluster: Dim3,
        resident_limit: u64,
        level: semantics::lanes::SimdLevel,
        began: Instant,
    ) -> Grid<'a> {
        // A tool that hears all in one order hears an operation's accesses with its issue.
        let ordered = options.tools.iter().any(|tool| tool.is_ordered());
        let jobs = match options.jobs {
            _ if ordered => 1,
            // Each grid of a program decides for itself, those that kernels launch too.
            0 if options.around.is_some() && launch.grid.count() * launch.block.count() <= SMALL => 1,
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            jobs => jobs,
        };
        let code = &*kernel.code;
        let (grid, shape) = (launch.grid, cluster);
        let clusters = Dim3::new(grid.x / shape.x, grid.y / shape.y, grid.z / shape.z);
        let count = clusters.count() as u64;
        // Weak memory is one lane's at a time.
        let jobs = if options.weak { 1 } else { jobs.min(count.max(1) as usize) };
        // Blocks that may wait for each other start in order.
        let waits = code.waits_for_blocks || launch.cooperative;
        let shares = jobs > 1 && options.seed == 0 && !options.interleave && !waits;
        let functions_by_address = code
            .functions
            .iter()
            .enumerate()
            .map(|(at, function)| (semantics::window::function_address(function.id), at as u32))
            .collect();
        Grid {
            code,
            kernel,
            blocks,
            constants,
            warp_rows: kernel.warp_rows(launch.block),
            memory,
            objects,
            heap,
            wide: Wide::of(level),
            asynchrony: if ordered { AsyncPolicy::Eager } else { options.asynchrony },
            weak: options.weak.then(|| WeakMemory::new(options.seed, code)),
            config,
            options,
            launch,
            launches,
            functions_by_address,
            cluster,
            clusters,
            shared_bytes: code.shared.static_end + launch.shared_bytes,
            exclusive: jobs == 1 && options.alone,
            jobs,
            level,
            cold: match options.engine.chosen() {
                _ if !jit::Compiled::can(level) => u64::MAX,
                Engine::Interpreter => u64::MAX,
                Engine::Auto => options.compile_after.unwrap_or(COLD + PRICE * code.kernel_steps()),
                Engine::Compiled => 0,
            },
            resident_limit: (resident_limit / cluster.count().max(1) as u64).max(1),
            began,
            started: Instant::now(),
            fuel: AtomicU64::new(options.max_instructions.unwrap_or(u64::MAX)),
            stop: AtomicBool::new(false),
            faulted: AtomicBool::new(false),
            limited: AtomicBool::new(false),
            findings: Mutex::default(),
            output: Mutex::default(),
            printed: AtomicU64::new(0),
            queue: Apart(Mutex::new(Queue {
                random: (options.interleave || options.seed != 0).then(|| Random::new(options.seed, count)),
                ..Queue::default()
            })),
            supply: Supply::new(count, if shares { jobs as u64 } else { 0 }),
            order: (options.seed != 0).then(|| Order::new(options.seed, count)),
        }
    }

    /// The next thing to do. New clusters go before ones that gave way, as long as there is room: the
    /// one that waits may wait for them. A seed delays them, but not for ever.
    pub(crate) fn take(&self, taken: &mut Range<u64>) -> Task {
        let mut queue = self.queue.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = queue.waiting.len();
        let odds = if queue.resident < FEW { 2 } else { 16 };
        let delayed = match &mut queue.random {
            Some(random) if self.order.is_some() && waiting > 0 => random.below(odds) != 0,
            _ => false,
        };
        if !delayed
            && queue.resident < self.resident_limit
            && let Some(next) = self.start(taken)
        {
            queue.resident += 1;
            return Task::Start(next);
        }
        let next = match &mut queue.random {
            Some(random) if waiting > 0 => {
                let chosen = random.below(waiting as u64) as usize;
                queue.waiting.swap_remove_back(chosen)
            }
            _ => queue.waiting.pop_front(),
        };
        if let Some(cluster) = next {
            return Task::Resume(cluster);
        }
        if queue.resident == 0 { Task::Done } else { Task::Idle }
    }

    /// The next cluster to start, for a worker that took these.
    #[inline(always)]
    pub(crate) fn start(&self, taken: &mut Range<u64>) -> Option<u64> {
        let next = self.supply.start(taken)?;
        Some(self.order.as_ref().map_or(next, |order| order.number(next)))
    }

    /// A worker that took these has a block that runs for long.
    #[inline(always)]
    pub(crate) fn delays(&self, taken: &mut Range<u64>) {
        if !taken.is_empty() {
            self.supply.give_back(taken);
        }
    }

    /// Notes that a cluster is finished; the next thing to do. A new one takes its place without a lock.
    pub(crate) fn take_after_finishing(&self, taken: &mut Range<u64>) -> Task {
        if let Some(next) = self.start(taken) {
            return Task::Start(next);
        }
        self.finished();
        self.take(taken)
    }

    /// Whether clusters were asked for, be they of one block.
    pub(crate) fn is_cluster_launch(&self) -> bool {
        self.launch.cluster.is_some() || self.cluster != Dim3::ONE
    }

    /// Whether there is only one cluster.
    pub(crate) fn is_one_cluster(&self) -> bool {
        self.supply.count() == 1
    }

    /// Whether a cluster that waits for others should let them run.
    pub(crate) fn others_wait(&self, taken: &Range<u64>) -> bool {
        let queue = self.queue.0.lock().unwrap_or_else(PoisonError::into_inner);
        !queue.waiting.is_empty() || self.supply.are_left(taken) && queue.resident < self.resident_limit
    }

    /// Puts back a cluster that gave way; in step, all that are to run at the same time begin before the first round.
    pub(crate) fn put_back(&self, cluster: Cluster, taken: &Range<u64>, in_step: bool) {
        let mut queue = self.queue.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.waiting.push_back(cluster);
        if in_step && !(self.supply.are_left(taken) && queue.resident < self.resident_limit) {
            queue.turned_in_step();
        }
    }

    /// Notes that a cluster is finished.
    fn finished(&self) {
        let mut queue = self.queue.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.resident -= 1;
    }

    /// A fault with its place and threads.
    pub(crate) fn finding(
        &self,
        cta: &Cta,
        warp: usize,
        frame: super::frame::FrameId,
        position: u32,
        fault: Fault,
    ) -> Finding {
        let warp = &cta.warps[warp];
        Finding {
            kind: fault.kind,
            message: fault.message,
            notes: fault.notes,
            help: Vec::new(),
            kernel: self.launch.kernel.clone(),
            place: Some(fault::place(self.code, Some((warp, frame)), position)),
            other_place: None,
            threads: fault::threads(cta.position, self.launch.block, warp.index, fault.lanes),
            count: u64::from(fault.lanes.count_ones()).max(1),
        }
    }

    pub(crate) fn add(&self, finding: Finding) {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.add(finding, self.options.max_findings);
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What finished blocks printed so far.
    pub(crate) fn printed(&self) -> Vec<u8> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.iter().flat_map(|(_, text)| text).copied().collect()
    }

    /// The clusters that gave way, oldest first.
    pub(crate) fn waiting(&self) -> MutexGuard<'_, Queue> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the launch because a worker panicked.
    pub(crate) fn broken(&self, panic: &(dyn Any + Send)) {
        self.stop.store(true, Relaxed);
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let message = format!("the simulator failed: {text}");
        let note = "this is a bug in warpgrind, not in your program; what was found before stands";
        let finding = Finding::of_launch(FindingKind::InternalError, self.launch.kernel.clone(), message);
        self.add(Finding { notes: vec![note.into()], ..finding });
    }

    /// Ends the launch because of a limit.
    pub(crate) fn limit(&self, message: String) {
        if !self.stop.swap(true, Relaxed) {
            self.limited.store(true, Relaxed);
            let kernel = self.launch.kernel.clone();
            self.add(Finding::of_launch(FindingKind::LimitReached, kernel, message));
        }
    }
}

/// The rows of the constants for a launch.
pub(crate) fn constant_rows(code: &Code, mut value: impl FnMut(Constant) -> u128) -> Vec<Row> {
    let mut rows = Vec::new();
    for &constant in &code.constants {
        let bits = value(constant);
        match constant.rows() {
            1 => rows.push(Row::splat(bits as u32)),
            2 => {
                let pair = [bits as u32, (bits >> 32) as u32];
                let row = Row(std::array::from_fn(|at| pair[at % 2]));
                rows.extend([row, row]);
            }
            _ => {
                let words: [u32; 4] = std::array::from_fn(|at| (bits >> (32 * at)) as u32);
                let row = Row(std::array::from_fn(|at| words[at % 4]));
                rows.extend([row; 4]);
            }
        }
    }
    rows
}
