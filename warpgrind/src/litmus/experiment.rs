//! Litmus tests as kernels on the simulator and on a device: many instances, and how often each outcome was
//! seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use memory_model::emit::{DISCARDED, DONE, Kernel, NAME, Setup, Unsupported, folded};
use memory_model::program::{BarMode, Observable, Op, Operand, address_value};
use memory_model::{Limits, Litmus, Options, Property, check};
use ptx_frontend::Severity;
use sim_core::{Backend, DevicePtr, Dim3, Launch, ModuleId, Outcome, RunOptions};

use super::environment::{Environment, Random, SCRATCH, STRIDE};

/// Instances and where they run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Instances in all.
    pub instances: u64,
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

/// Blocks of one launch.
const DEVICE_BLOCKS: u32 = 528;
const SIMULATOR_BLOCKS: u32 = 256;

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
    plain: Loaded,
    /// The kernel with delays between instructions, on devices.
    spaced: Option<Loaded>,
    buffers: Vec<DevicePtr>,
    /// Instances of a launch at most.
    most: u32,
    memory: u64,
    results: u64,
    gates: u64,
    scratch: u64,
}

impl Drop for Experiment<'_> {
    fn drop(&mut self) {
        // Errors while giving back say nothing about the counts.
        for buffer in std::mem::take(&mut self.buffers) {
            let _ = self.backend.free(buffer);
        }
        for loaded in [Some(&self.plain), self.spaced.as_ref()].into_iter().flatten() {
            let _ = self.backend.unload(loaded.module);
        }
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
        let kernel = Kernel::new(&litmus).map_err(unsupported)?;
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
        let spaced = if plan.device { Some(Kernel::spaced(&litmus).map_err(unsupported)?) } else { None };
        let plain = load(kernel, backend)?;
        let batches = (blocks(plan) / plain.kernel.blocks).max(1);
        let lanes = if plan.device && !plain.kernel.barriers { 32 } else { 1 };
        let most = (batches * lanes).min(plan.instances.clamp(1, u64::from(u32::MAX)) as u32);
        let mut this = Self {
            litmus,
            backend,
            plan,
            deadline: Instant::now().checked_add(plan.timeout),
            plain,
            spaced: None,
            buffers: Vec::new(),
            most,
            memory: 0,
            results: 0,
            gates: 0,
            scratch: 0,
        };
        this.spaced = spaced.map(|kernel| load(kernel, backend)).transpose()?;
        let longest =
            (this.plain.kernel.memory.len() as u64 + 1) * u64::from(this.plain.kernel.width().max(STRIDE));
        let results = this.plain.kernel.result_bytes();
        this.memory = this.alloc(u64::from(most) * longest, "memory")?;
        this.results = this.alloc(u64::from(most) * u64::from(results), "results")?;
        this.gates = this.alloc(u64::from(most) * 4, "gates")?;
        this.scratch = if plan.device { this.alloc(SCRATCH, "scratch")? } else { 0 };
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
        let loaded = match &self.spaced {
            Some(spaced) if environment.is_some_and(|environment| environment.is_spaced()) => spaced,
            _ => &self.plain,
        };
        let wide = loaded.kernel.width();
        let mut setup = Setup {
            memory: self.memory,
            results: self.results,
            gates: self.gates,
            scratch: self.scratch,
            instances: instances.clamp(1, u64::from(self.most)) as u32,
            lanes: 1,
            instance_stride: loaded.kernel.memory.len() as u32 * wide,
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
        };
        if let Some(environment) = environment {
            environment.apply(&loaded.kernel, blocks(self.plan), &mut setup);
        }
        let place = Place { loaded, setup, environment, seed: random.below(u64::MAX - 1) + 1 };
        self.run(&place, seen)?;
        Ok(u64::from(setup.instances))
    }

    fn alloc(&mut self, bytes: u64, label: &str) -> Result<DevicePtr, NotRun> {
        let buffer = self.backend.alloc(bytes.max(16), label)?;
        self.buffers.push(buffer);
        Ok(buffer)
    }

    fn run(&self, place: &Place<'_>, seen: &mut Seen) -> Result<(), NotRun> {
        let (setup, kernel) = (&place.setup, &place.loaded.kernel);
        let bytes = u64::from(setup.instances) * u64::from(kernel.result_bytes());
        self.backend.write(setup.memory, &self.initial(place))?;
        self.backend.fill(setup.results, bytes, &[0])?;
        self.backend.fill(setup.gates, 4 * u64::from(setup.instances), &[0])?;
        let launch = Launch {
            kernel: NAME.into(),
            grid: Dim3::from(kernel.grid(setup) + setup.stress_blocks),
            cluster: kernel.cluster.map(Dim3::from),
            block: Dim3::from(kernel.block(setup)),
            shared_bytes: 0,
            params: kernel.params(setup),
            cooperative: false,
        };
        let options = RunOptions {
            jobs: 1,
            seed: place.seed,
            interleave: true,
            weak: self.plan.weak,
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
        let report = self.backend.launch(place.loaded.module, &launch, &options)?;
        if report.outcome == Outcome::Unsupported {
            let what = report.findings.first().map_or_else(String::new, |f| f.message.clone());
            return Err(NotRun::Unsupported(what));
        }
        if report.outcome != Outcome::Completed {
            let what = report.findings.first().map_or_else(String::new, |f| f.message.clone());
            seen.failed.get_or_insert(what);
        }
        let mut memory = vec![0; place.memory_bytes()];
        self.backend.read(setup.memory, &mut memory)?;
        let mut results = vec![0; bytes as usize];
        self.backend.read(setup.results, &mut results)?;
        for instance in 0..setup.instances {
            self.count(place, instance, &memory, &results, seen);
        }
        Ok(())
    }

    fn initial(&self, place: &Place<'_>) -> Vec<u8> {
        let (setup, kernel) = (&place.setup, &place.loaded.kernel);
        let mut out = vec![0; place.memory_bytes()];
        for instance in 0..setup.instances {
            for (index, memory) in kernel.memory.iter().enumerate() {
                let value = match self.litmus.program.locations[index].initial {
                    Operand::Const(c) => c as u64,
                    Operand::Address(l) => setup.memory + place.offset(instance, usize::from(l.0)),
                    Operand::Reg(_) => 0,
                };
                let at = place.offset(instance, index) as usize;
                let bytes = memory.bytes.min(8) as usize;
                out[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        out
    }

    /// Adds the outcome of an instance.
    fn count(&self, place: &Place<'_>, instance: u32, memory: &[u8], results: &[u8], seen: &mut Seen) {
        let (setup, kernel) = (&place.setup, &place.loaded.kernel);
        let word = |index: u32| {
            let at = (instance * kernel.result_bytes() + 8 * index) as usize;
            results.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()))
        };
        let statuses: Vec<u64> = (0..kernel.threads).map(word).collect();
        if statuses.contains(&DISCARDED) {
            return;
        }
        if statuses.iter().any(|&status| status != DONE) {
            seen.incomplete += 1;
            return;
        }
        // Addresses of locations are the numbers that stand for them.
        let number = |value: i64| {
            let at = (value as u64).wrapping_sub(setup.memory);
            let found = (0..kernel.memory.len()).find(|&l| place.offset(instance, l) == at);
            found.map_or(value, |l| address_value(kernel.memory[l].location))
        };
        let value = |v: Observable| match v {
            Observable::Reg(thread, register) => {
                let slot = kernel.registers.iter().position(|r| *r == (thread, register)).unwrap_or(0) as u32;
                number(word(kernel.threads + slot) as i64)
            }
            Observable::Mem(location, index) => {
                let memory_of = kernel.memory[usize::from(location.0)];
                let at = place.offset(instance, usize::from(location.0)) as usize
                    + (index * memory_of.element) as usize;
                let bytes = memory_of.element.min(8) as usize;
                let mut all = [0; 8];
                all[..bytes].copy_from_slice(&memory[at..at + bytes]);
                let raw = u64::from_le_bytes(all);
                let shift = 64 - 8 * bytes;
                number(if memory_of.signed { (raw << shift) as i64 >> shift } else { raw as i64 })
            }
        };
        if self.litmus.filter.as_ref().is_some_and(|filter| !filter.eval(&value)) {
            return;
        }
        let outcome: Vec<i64> = self.litmus.observables().into_iter().map(value).collect();
        seen.complete += 1;
        let entry = seen.outcomes.entry(outcome).or_insert_with(|| (0, self.configuration(place)));
        entry.0 += 1;
    }

    /// Everything that another run needs to do the same.
    fn configuration(&self, place: &Place<'_>) -> String {
        let Place { setup, seed, .. } = place;
        match place.environment {
            Some(environment) => format!(
                "{}: {} instances, seed {:#x}, {environment}",
                self.backend.name(),
                setup.instances,
                setup.seed
            ),
            None => format!("schedule seed {seed}, memory seed {:#x}", self.plan.seed),
        }
    }
}

/// Blocks of a launch for the test.
fn blocks(plan: &Plan) -> u32 {
    if plan.device { DEVICE_BLOCKS } else { SIMULATOR_BLOCKS }
}

/// A launch.
struct Place<'a> {
    loaded: &'a Loaded,
    setup: Setup,
    environment: Option<Environment>,
    /// Of schedules.
    seed: u64,
}

impl Place<'_> {
    fn memory_bytes(&self) -> usize {
        let (setup, kernel) = (&self.setup, &self.loaded.kernel);
        let last = kernel.memory.len().saturating_sub(1);
        self.offset(setup.instances - 1, last) as usize + kernel.width() as usize
    }

    /// Offset of a location of an instance.
    fn offset(&self, instance: u32, location: usize) -> u64 {
        u64::from(instance) * u64::from(self.setup.instance_stride)
            + location as u64 * u64::from(self.setup.location_stride)
    }
}
