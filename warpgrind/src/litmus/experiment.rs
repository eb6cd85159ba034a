//! Litmus tests as kernels on the simulator and on a device: many instances, and how often each outcome was
//! seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use memory_model::emit::{DISCARDED, DONE, Kernel, NAME, Setup, folded};
use memory_model::program::{BarMode, Observable, Op, Operand, address_value};
use memory_model::{Limits, Litmus, Options, Property, check};
use ptx_frontend::Severity;
use sim_core::{Backend, DevicePtr, Dim3, Launch, ModuleId, Outcome, RunOptions};

use crate::array::splitmix;

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

/// Words of the scratch memory that stress blocks load.
const STRESS_WORDS: u32 = 1 << 18;
/// Blocks of one launch.
const DEVICE_BLOCKS: u32 = 528;
const SIMULATOR_BLOCKS: u32 = 256;
/// Most bytes between two locations and between two instances.
const STRIDE: u32 = 1024;

/// Runs instances of a test and counts outcomes.
///
/// # Errors
/// The test is no kernel, or the backend refuses it.
pub fn run(litmus: &Litmus, backend: &dyn Backend, plan: &Plan) -> Result<Seen, NotRun> {
    // The simulator has one device, and memory that is reached in one way only.
    let litmus = &if plan.device { litmus.clone() } else { folded(litmus) };
    let kernel = Kernel::new(litmus).map_err(|why| NotRun::Unsupported(why.0))?;
    // An arrival that does not wait counts once its warp's unused lanes are gone, which may be too late to tell
    // one phase from the next where they do not come out even.
    let code = || litmus.program.threads.iter().flat_map(|t| &t.code);
    let arrives = code().any(|i| matches!(i.op, Op::Bar { mode: BarMode::Arrive, .. }));
    if kernel.barriers && (plan.device || arrives) {
        // Threads that wait at a barrier have no patience: a device would never be free again.
        let limits = Limits { time: Some(plan.timeout), ..Limits::default() };
        let ends = check(litmus, &Options { property: Property::Termination, limits, ..Options::default() });
        if ends.holds != Some(true) {
            return Err(NotRun::Unsupported("a test that may wait at a barrier for ever".into()));
        }
    }
    let parsed =
        ptx_frontend::parse(ptx_frontend::Source::new("litmus.ptx", kernel.text.clone().into_bytes()));
    let Some(module) = parsed.module else {
        let what = parsed.diagnostics.iter().find(|d| d.severity == Severity::Error);
        let what = what.map_or_else(String::new, |d| d.message.clone());
        return Err(NotRun::Failed(format!("the kernel made of the test is not valid: {what}")));
    };
    let module = backend.load(Arc::new(module))?;
    let mut run = Run { litmus, kernel: &kernel, backend, plan, module, buffers: Vec::new() };
    let seen = run.all();
    // Errors while giving back say nothing about the counts.
    for buffer in std::mem::take(&mut run.buffers) {
        let _ = backend.free(buffer);
    }
    let _ = backend.unload(module);
    seen
}

struct Run<'a> {
    litmus: &'a Litmus,
    kernel: &'a Kernel,
    backend: &'a dyn Backend,
    plan: &'a Plan,
    module: ModuleId,
    buffers: Vec<DevicePtr>,
}

/// SplitMix64, to vary configurations.
struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.drawn += 1;
        splitmix(self.seed, self.drawn - 1) % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

impl Run<'_> {
    fn all(&mut self) -> Result<Seen, NotRun> {
        let plan = self.plan;
        let most = if plan.device { DEVICE_BLOCKS } else { SIMULATOR_BLOCKS };
        let batches = (most / self.kernel.blocks).max(1);
        let lanes = if plan.device && !self.kernel.barriers { 32 } else { 1 };
        let most = (batches * lanes).min(plan.instances.clamp(1, u64::from(u32::MAX)) as u32);
        let longest = self.kernel.memory.len() as u64 * u64::from(STRIDE) + u64::from(STRIDE);
        let memory = self.alloc(u64::from(most) * longest, "memory")?;
        let results = self.alloc(u64::from(most) * u64::from(self.kernel.result_bytes()), "results")?;
        let gates = self.alloc(u64::from(most) * 4, "gates")?;
        let scratch = if plan.device { self.alloc(u64::from(STRESS_WORDS) * 4, "scratch")? } else { 0 };
        let mut seen = Seen::default();
        let mut random = Random { seed: plan.seed, drawn: 0 };
        let mut left = plan.instances;
        let deadline = Instant::now().checked_add(plan.timeout);
        while left > 0 {
            let time = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            let late = time.is_some_and(|time| time.is_zero());
            let interrupted = plan.interrupt.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed));
            if late || interrupted {
                let made = plan.instances - left;
                let why = if interrupted { "it was interrupted" } else { "the time limit was reached" };
                let what = format!("{why} after {made} of {} instances", plan.instances);
                seen.failed.get_or_insert(what);
                break;
            }
            let instances = left.min(u64::from(most)) as u32;
            let wide = kernel_width(self.kernel);
            let mut setup = Setup {
                memory,
                results,
                gates,
                scratch,
                instances,
                lanes,
                instance_stride: self.kernel.memory.len() as u32 * wide,
                location_stride: wide,
                spread: false,
                patience: if plan.device { 100_000 } else { 300 },
                gate: 0,
                delay: 0,
                seed: random.below(1 << 32) as u32,
                stress_blocks: 0,
                stress: 0,
                stress_words: STRESS_WORDS,
            };
            if plan.device {
                self.vary(&mut setup, &mut random);
            }
            left -= u64::from(setup.instances);
            let seed = random.below(u64::MAX - 1) + 1;
            self.launch(&setup, seed, time, &mut seen)?;
        }
        Ok(seen)
    }

    /// A placement and a load for one launch on a device.
    fn vary(&self, setup: &mut Setup, random: &mut Random) {
        let wide = kernel_width(self.kernel);
        let count = self.kernel.memory.len() as u32;
        // Locations of one instance in one line, in lines side by side, or far apart; instances interleaved.
        if random.below(2) == 0 {
            setup.location_stride = random.of(&[wide, 128, 512, STRIDE]).max(wide);
            setup.instance_stride = count * setup.location_stride;
        } else {
            setup.instance_stride = random.of(&[wide, 64, 256]).max(wide);
            setup.location_stride = setup.instances * setup.instance_stride;
        }
        setup.spread = self.kernel.cluster.is_none() && random.below(2) == 0;
        setup.lanes = if self.kernel.barriers { 1 } else { random.of(&[32, 32, 8, 1]) };
        setup.instances = setup.instances.min(DEVICE_BLOCKS / self.kernel.blocks * setup.lanes).max(1);
        setup.gate = 1000;
        setup.delay = random.of(&[0, 7, 63, 255]);
        setup.stress_blocks = random.of(&[0, 66, 264]);
        if let Some(cluster) = self.kernel.cluster {
            setup.stress_blocks = setup.stress_blocks.next_multiple_of(cluster);
        }
        setup.stress = random.of(&[200, 1000]);
        setup.stress_words = random.of(&[1 << 10, STRESS_WORDS]);
    }

    fn alloc(&mut self, bytes: u64, label: &str) -> Result<DevicePtr, NotRun> {
        let buffer = self.backend.alloc(bytes.max(16), label)?;
        self.buffers.push(buffer);
        Ok(buffer)
    }

    fn launch(
        &self,
        setup: &Setup,
        seed: u64,
        time: Option<Duration>,
        seen: &mut Seen,
    ) -> Result<(), NotRun> {
        let kernel = self.kernel;
        let bytes = u64::from(setup.instances) * u64::from(kernel.result_bytes());
        self.backend.write(setup.memory, &self.initial(setup))?;
        self.backend.fill(setup.results, bytes, &[0])?;
        self.backend.fill(setup.gates, 4 * u64::from(setup.instances), &[0])?;
        let launch = Launch {
            kernel: NAME.into(),
            grid: Dim3::from(kernel.grid(setup) + setup.stress_blocks),
            cluster: kernel.cluster.map(Dim3::from),
            block: Dim3::from(kernel.block()),
            shared_bytes: 0,
            params: kernel.params(setup),
            cooperative: false,
        };
        let options = RunOptions {
            jobs: 1,
            seed,
            interleave: true,
            weak: self.plan.weak,
            max_instructions: (!self.plan.device).then_some(200_000_000),
            interrupt: self.plan.interrupt.clone(),
            timeout: time.into_iter().chain([Duration::from_secs(60)]).min(),
            ..RunOptions::default()
        };
        let report = self.backend.launch(self.module, &launch, &options)?;
        if report.outcome == Outcome::Unsupported {
            let what = report.findings.first().map_or_else(String::new, |f| f.message.clone());
            return Err(NotRun::Unsupported(what));
        }
        if report.outcome != Outcome::Completed {
            let what = report.findings.first().map_or_else(String::new, |f| f.message.clone());
            seen.failed.get_or_insert(what);
        }
        let mut memory = vec![0; self.memory_bytes(setup)];
        self.backend.read(setup.memory, &mut memory)?;
        let mut results = vec![0; bytes as usize];
        self.backend.read(setup.results, &mut results)?;
        for instance in 0..setup.instances {
            self.count(setup, seed, instance, &memory, &results, seen);
        }
        Ok(())
    }

    fn memory_bytes(&self, setup: &Setup) -> usize {
        let last = u64::from(setup.instances - 1) * u64::from(setup.instance_stride);
        let location = self.kernel.memory.len().saturating_sub(1) as u64 * u64::from(setup.location_stride);
        (last + location) as usize + kernel_width(self.kernel) as usize
    }

    /// Offset of a location of an instance.
    fn offset(setup: &Setup, instance: u32, location: usize) -> u64 {
        u64::from(instance) * u64::from(setup.instance_stride)
            + location as u64 * u64::from(setup.location_stride)
    }

    fn initial(&self, setup: &Setup) -> Vec<u8> {
        let mut out = vec![0; self.memory_bytes(setup)];
        for instance in 0..setup.instances {
            for (index, memory) in self.kernel.memory.iter().enumerate() {
                let value = match self.litmus.program.locations[index].initial {
                    Operand::Const(c) => c as u64,
                    Operand::Address(l) => setup.memory + Self::offset(setup, instance, usize::from(l.0)),
                    Operand::Reg(_) => 0,
                };
                let at = Self::offset(setup, instance, index) as usize;
                let bytes = memory.bytes.min(8) as usize;
                out[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        out
    }

    /// Adds the outcome of an instance.
    fn count(&self, setup: &Setup, seed: u64, instance: u32, memory: &[u8], results: &[u8], seen: &mut Seen) {
        let kernel = self.kernel;
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
            let found = (0..kernel.memory.len()).find(|&l| Self::offset(setup, instance, l) == at);
            found.map_or(value, |l| address_value(kernel.memory[l].location))
        };
        let value = |v: Observable| match v {
            Observable::Reg(thread, register) => {
                let slot = kernel.registers.iter().position(|r| *r == (thread, register)).unwrap_or(0) as u32;
                number(word(kernel.threads + slot) as i64)
            }
            Observable::Mem(location, index) => {
                let place = kernel.memory[usize::from(location.0)];
                let at = Self::offset(setup, instance, usize::from(location.0)) as usize
                    + (index * place.element) as usize;
                let bytes = place.element.min(8) as usize;
                let mut all = [0; 8];
                all[..bytes].copy_from_slice(&memory[at..at + bytes]);
                let raw = u64::from_le_bytes(all);
                let shift = 64 - 8 * bytes;
                number(if place.signed { (raw << shift) as i64 >> shift } else { raw as i64 })
            }
        };
        if self.litmus.filter.as_ref().is_some_and(|filter| !filter.eval(&value)) {
            return;
        }
        let outcome: Vec<i64> = self.litmus.observables().into_iter().map(value).collect();
        seen.complete += 1;
        let entry = seen.outcomes.entry(outcome).or_insert_with(|| (0, self.configuration(setup, seed)));
        entry.0 += 1;
    }

    /// Everything that another run needs to do the same.
    fn configuration(&self, setup: &Setup, seed: u64) -> String {
        if !self.plan.device {
            return format!("schedule seed {seed}, memory seed {:#x}", self.plan.seed);
        }
        format!(
            "{}: {} instances, {} a warp, instance stride {}, location stride {}, {} blocks, gate {}, delay \
             {}, seed {:#x}, {} stress blocks with {} accesses to {} words",
            self.backend.name(),
            setup.instances,
            setup.lanes,
            setup.instance_stride,
            setup.location_stride,
            if setup.spread { "distant" } else { "adjacent" },
            setup.gate,
            setup.delay,
            setup.seed,
            setup.stress_blocks,
            setup.stress,
            setup.stress_words,
        )
    }
}

/// Bytes that every location of a kernel fits in, a multiple of 16.
fn kernel_width(kernel: &Kernel) -> u32 {
    kernel.memory.iter().map(|m| m.bytes).max().unwrap_or(8).next_multiple_of(16)
}
