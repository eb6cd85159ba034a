//! Litmus tests as kernels on the simulator and on a device: many instances, and how often each outcome was
//! seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use memory_model::emit::{
    Counted, DISCARDED, DONE, Kernel, NAME, OUTCOMES, PREPARE, SPACED, Setup, TALLY, Unsupported, folded,
};
use memory_model::program::{BarMode, Observable, Op};
use memory_model::{Limits, Litmus, Options, Property, check};
use ptx_frontend::Severity;
use sim_core::{Backend, DevicePtr, Dim3, Launch, LaunchReport, ModuleId, Outcome, RunOptions};

use super::environment::{Environment, Random, SCRATCH, STRIDE};

/// Instances and where they run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Instances in all.
    pub instances: u64,
    /// Instances of one launch at most.
    pub launch: u32,
    /// Seed of schedules, delays and placements.
    pub seed: u64,
    /// Whether the simulator's memory is weak.
    pub weak: bool,
    /// A real device: with memory stress, and with a gate at which the threads of an instance meet.
    pub device: bool,
    /// Time for all launches.
    pub timeout: Duration,
    /// Ends them once it is set.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How often, by values of the observables, with the configuration of the first time.
    pub outcomes: BTreeMap<Vec<i64>, (u64, String)>,
    /// Instances that ended with all their threads done and that the test's filter lets through.
    pub complete: u64,
    /// Instances with a thread that gave up waiting.
    pub incomplete: u64,
    /// Launches that ended otherwise than by the end of all threads, with the first reason.
    pub failed: Option<String>,
}

/// Why there are no counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// The test has something that a kernel cannot have, or that the simulator does not support.
    #[error("{0}")]
    Unsupported(String),
    /// The backend refused.
    #[error("{0}")]
    Failed(String),
}

impl From<sim_core::Error> for NotRun {
    fn from(error: sim_core::Error) -> Self {
        match &error {
            sim_core::Error::Unsupported(what) => NotRun::Unsupported(what.clone()),
            _ => NotRun::Failed(error.to_string()),
        }
    }
}

impl Plan {
    /// Instances of a launch on a device, whose every launch takes its time, and on the simulator, whose every instance does.
    pub const DEVICE_LAUNCH: u32 = 1 << 20;
    /// The same on the simulator.
    pub const SIMULATOR_LAUNCH: u32 = 128;
}

/// Runs instances of a test and counts outcomes.
///
/// # Errors
/// The test is no kernel, or the backend refuses it.
pub fn run(litmus: &Litmus, backend: &dyn Backend, plan: &Plan) -> Result<Seen, NotRun> {
    let experiment = Experiment::open(litmus, backend, plan)?;
    let mut random = Random::new(plan.seed);
    let mut seen = Seen::default();
    let mut left = plan.instances;
    while left > 0 {
        if let Some(why) = experiment.ended() {
            let made = plan.instances - left;
            seen.failed.get_or_insert(format!("{why} after {made} of {} instances", plan.instances));
            break;
        }
        let environment = plan.device.then(|| Environment::random(&mut random));
        left -= experiment.launch(environment, left, &mut random, &mut seen)?;
    }
    Ok(seen)
}

/// A kernel that a backend has loaded.
struct Loaded {
    kernel: Kernel,
    module: ModuleId,
}

/// A test that is ready to be launched, again and again.
pub struct Experiment<'a> {
    litmus: Litmus,
    backend: &'a dyn Backend,
    plan: &'a Plan,
    deadline: Option<Instant>,
    loaded: Loaded,
    buffers: Vec<DevicePtr>,
    /// Instances of a launch at most.
    most: u32,
    memory: u64,
    results: u64,
    gates: u64,
    scratch: u64,
    table: u64,
}

impl Drop for Experiment<'_> {
    fn drop(&mut self) {
        // Errors while giving back say nothing about the counts.
        for buffer in std::mem::take(&mut self.buffers) {
            let _ = self.backend.free(buffer);
        }
        let _ = self.backend.unload(self.loaded.module);
    }
}

fn load(kernel: Kernel, backend: &dyn Backend) -> Result<Loaded, NotRun> {
    let parsed =
        ptx_frontend::parse(ptx_frontend::Source::new("litmus.ptx", kernel.text.clone().into_bytes()));
    let Some(module) = parsed.module else {
        let what = parsed.diagnostics.iter().find(|d| d.severity == Severity::Error);
        let what = what.map_or_else(String::new, |d| d.message.clone());
        return Err(NotRun::Failed(format!("the kernel made of the test is not valid: {what}")));
    };
    let module = backend.load(Arc::new(module))?;
    Ok(Loaded { kernel, module })
}

impl<'a> Experiment<'a> {
    /// Loads a test.
    ///
    /// # Errors
    /// The test is no kernel, or the backend refuses it.
    pub fn open(litmus: &Litmus, backend: &'a dyn Backend, plan: &'a Plan) -> Result<Self, NotRun> {
        // The simulator has one device, and memory that is reached in one way only.
        let litmus = if plan.device { litmus.clone() } else { folded(litmus) };
        let unsupported = |why: Unsupported| NotRun::Unsupported(why.0);
        let kernel = if plan.device { Kernel::spaced(&litmus) } else { Kernel::new(&litmus) };
        Self::with(litmus, kernel.map_err(unsupported)?, backend, plan)
    }

    /// Loads a test whose kernel is made.
    pub(super) fn with(
        litmus: Litmus,
        kernel: Kernel,
        backend: &'a dyn Backend,
        plan: &'a Plan,
    ) -> Result<Self, NotRun> {
        // An arrival that does not wait counts once its warp's unused lanes are gone, which may be too late to tell
        // one phase from the next where they do not come out even.
        let code = || litmus.program.threads.iter().flat_map(|t| &t.code);
        let arrives = code().any(|i| matches!(i.op, Op::Bar { mode: BarMode::Arrive, .. }));
        if kernel.barriers && (plan.device || arrives) {
            // Threads that wait at a barrier have no patience: a device would never be free again.
            let limits = Limits { time: Some(plan.timeout), ..Limits::default() };
            let ends =
                check(&litmus, &Options { property: Property::Termination, limits, ..Options::default() });
            if ends.holds != Some(true) {
                return Err(NotRun::Unsupported("a test that may wait at a barrier for ever".into()));
            }
        }
        let loaded = load(kernel, backend)?;
        let most = u64::from(plan.launch).min(plan.instances).max(1) as u32;
        let mut this = Self {
            litmus,
            backend,
            plan,
            deadline: Instant::now().checked_add(plan.timeout),
            loaded,
            buffers: Vec::new(),
            most,
            memory: 0,
            results: 0,
            gates: 0,
            scratch: 0,
            table: 0,
        };
        let kernel = &this.loaded.kernel;
        let longest = (kernel.memory.len() as u64 + 1) * u64::from(kernel.width().max(STRIDE));
        let (results, table) = (u64::from(kernel.result_bytes()), kernel.table_bytes() as u64);
        let memory = u64::from(most) * longest;
        this.memory = this.alloc(memory, "memory")?;
        // What lies between locations is read, too: into caches.
        backend.fill(this.memory, memory, &[0])?;
        this.results = this.alloc(u64::from(most) * results, "results")?;
        this.gates = this.alloc(u64::from(most) * 4, "gates")?;
        this.scratch = if plan.device { this.alloc(SCRATCH, "scratch")? } else { 0 };
        this.table = this.alloc(table, "table")?;
        Ok(this)
    }

    fn time(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Why nothing more is launched, if so.
    pub fn ended(&self) -> Option<&'static str> {
        if self.plan.interrupt.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed)) {
            return Some("it was interrupted");
        }
        self.time().is_some_and(|time| time.is_zero()).then_some("the time limit was reached")
    }

    /// One launch, of `instances` at most; how many it had. On a device in the environment.
    ///
    /// # Errors
    /// The backend refuses it.
    pub fn launch(
        &self,
        environment: Option<Environment>,
        instances: u64,
        random: &mut Random,
        seen: &mut Seen,
    ) -> Result<u64, NotRun> {
        let most = instances.clamp(1, u64::from(self.most)) as u32;
        let mut setup = self.setup(most, random);
        if let Some(environment) = environment {
            environment.apply(&self.loaded.kernel, most, &mut setup);
        }
        setup.counted = setup.instances();
        let place = Place { setup, environment, seed: random.below(u64::MAX - 1) + 1 };
        self.run(&place, seen)?;
        Ok(u64::from(setup.counted))
    }

    /// One launch of instances one lane wide, with nothing else on the device, of `plan.launch` instances at most; `change` sets what is
    /// else than usual.
    pub(super) fn plain(
        &self,
        change: impl FnOnce(&mut Setup),
        random: &mut Random,
        seen: &mut Seen,
    ) -> Result<(), NotRun> {
        let mut setup = self.setup(self.most, random);
        change(&mut setup);
        let place = Place { setup, environment: None, seed: random.below(u64::MAX - 1) + 1 };
        self.run(&place, seen)
    }

    /// So many instances side by side, with no load and no delays.
    fn setup(&self, most: u32, random: &mut Random) -> Setup {
        let kernel = &self.loaded.kernel;
        let wide = kernel.width();
        Setup {
            memory: self.memory,
            results: self.results,
            gates: self.gates,
            scratch: self.scratch,
            table: self.table,
            batches: most,
            groups: 1,
            lanes: 1,
            rounds: 1,
            turn: 0,
            counted: most,
            instance_stride: kernel.memory.len() as u32 * wide,
            location_stride: wide,
            spread: false,
            patience: if self.plan.device { 100_000 } else { 300 },
            gate: 0,
            delay: 0,
            gap: 0,
            prime: 0,
            seed: random.below(1 << 32) as u32,
            stress_blocks: 0,
            stress_warps: 0,
            stress: 0,
            stress_places: 1,
            stress_stride: 4,
            stress_stores: 0,
        }
    }

    fn alloc(&mut self, bytes: u64, label: &str) -> Result<DevicePtr, NotRun> {
        let buffer = self.backend.alloc(bytes.max(16), label)?;
        self.buffers.push(buffer);
        Ok(buffer)
    }

    /// Starts one of the three kernels and waits for its end.
    fn start(&self, place: &Place, name: &str, grid: u32, block: u32) -> Result<LaunchReport, NotRun> {
        let test = [NAME, SPACED].contains(&name);
        let launch = Launch {
            kernel: name.into(),
            grid: Dim3::from(grid),
            cluster: self.loaded.kernel.cluster.filter(|_| test).map(Dim3::from),
            block: Dim3::from(block),
            shared_bytes: 0,
            params: self.loaded.kernel.params(&place.setup),
            cooperative: false,
        };
        let options = RunOptions {
            jobs: 1,
            seed: place.seed,
            interleave: test,
            weak: test && self.plan.weak,
            max_instructions: (!self.plan.device).then_some(200_000_000),
            interrupt: self.plan.interrupt.clone(),
            // On a device they are short, and one that is cut off costs the device's state.
            timeout: self
                .time()
                .filter(|_| !self.plan.device)
                .into_iter()
                .chain([Duration::from_secs(60)])
                .min(),
            ..RunOptions::default()
        };
        Ok(self.backend.launch(self.loaded.module, &launch, &options)?)
    }

    fn run(&self, place: &Place, seen: &mut Seen) -> Result<(), NotRun> {
        let (setup, kernel) = (&place.setup, &self.loaded.kernel);
        // The simulator has no use for blocks without an instance.
        let block = if self.plan.device { 256 } else { 32 };
        let grid = setup.instances().div_ceil(block).min(2048);
        self.start(place, PREPARE, grid, block)?;
        let name = if setup.gap > 0 { SPACED } else { NAME };
        let report =
            self.start(place, name, kernel.grid(setup) + setup.stress_blocks, kernel.block(setup))?;
        if report.outcome == Outcome::Unsupported {
            let what = report.findings.first().map_or_else(String::new, |f| f.message.clone());
            return Err(NotRun::Unsupported(what));
        }
        if report.outcome != Outcome::Completed {
            let what = report.findings.first().map_or_else(String::new, |f| f.message.clone());
            seen.failed.get_or_insert(what);
        }
        if self.start(place, TALLY, grid, block)?.outcome != Outcome::Completed {
            return Err(NotRun::Failed("the outcomes could not be counted".to_owned()));
        }
        let mut table = vec![0; kernel.table_bytes()];
        self.backend.read(setup.table, &mut table)?;
        let (outcomes, lost) = kernel.outcomes(&table);
        if lost > 0 {
            let what = format!("{lost} instances had further outcomes than the {OUTCOMES} that are counted");
            seen.failed.get_or_insert(what);
        }
        for outcome in outcomes {
            self.count(place, &outcome, seen);
        }
        Ok(())
    }

    /// Adds instances with one outcome.
    fn count(&self, place: &Place, outcome: &Counted, seen: &mut Seen) {
        let kernel = &self.loaded.kernel;
        let (statuses, values) = outcome.values.split_at(kernel.threads as usize);
        if statuses.contains(&DISCARDED) {
            return;
        }
        if statuses.iter().any(|&status| status != DONE) {
            seen.incomplete += outcome.instances;
            return;
        }
        let value = |v: Observable| {
            let slot = match v {
                Observable::Reg(thread, register) => {
                    kernel.registers.iter().position(|known| *known == (thread, register))
                }
                Observable::Mem(location, index) => {
                    let word = (usize::from(location.0), index);
                    let at = kernel.words.iter().position(|known| *known == word);
                    at.map(|at| kernel.registers.len() + at)
                }
            };
            slot.and_then(|slot| values.get(slot)).map_or(0, |&value| value as i64)
        };
        if self.litmus.filter.as_ref().is_some_and(|filter| !filter.eval(&value)) {
            return;
        }
        let observed: Vec<i64> = self.litmus.observables().into_iter().map(value).collect();
        seen.complete += outcome.instances;
        let entry = seen.outcomes.entry(observed).or_insert_with(|| (0, self.configuration(place)));
        entry.0 += outcome.instances;
    }

    /// Everything that another run needs to do the same.
    fn configuration(&self, place: &Place) -> String {
        let Place { setup, seed, .. } = place;
        match place.environment {
            Some(environment) => format!(
                "{}: {} instances, seed {:#x}, {environment}",
                self.backend.name(),
                setup.instances(),
                setup.seed
            ),
            None => format!("schedule seed {seed}, memory seed {:#x}", self.plan.seed),
        }
    }
}

/// A launch.
struct Place {
    setup: Setup,
    environment: Option<Environment>,
    /// Of schedules.
    seed: u64,
}
