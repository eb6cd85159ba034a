//! How to run.

use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::around::Around;
use crate::tools::ToolFactory;
use semantics::lanes::SimdLevel;

/// When asynchronous operations (`cp.async`, bulk and tensor copies, `st.async`, `red.async`) are done: at some time between
/// their issue and the wait for them, which a program cannot know.
///
/// A kernel that never waits too little computes the same with each; one that does computes something else with one of the
/// others, or with one of many seeds. racecheck finds a missing wait with any; it hears of operations where they are issued, and
/// has them done there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AsyncPolicy {
    /// Where they are issued.
    #[default]
    Eager,
    /// As late as can be: when their group is waited for, when somebody looks at an mbarrier object, at the end of the block.
    Late,
    /// At times that follow from [`RunOptions::seed`].
    Random,
}

impl AsyncPolicy {
    /// All of them.
    pub const ALL: [AsyncPolicy; 3] = [AsyncPolicy::Eager, AsyncPolicy::Late, AsyncPolicy::Random];

    /// Its name, on command lines and in the environment.
    pub const fn name(self) -> &'static str {
        match self {
            AsyncPolicy::Eager => "eager",
            AsyncPolicy::Late => "late",
            AsyncPolicy::Random => "random",
        }
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<AsyncPolicy> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// Something that looks, now and then, whether a launch shall end: for callers whose own thread alone can see that, as an
/// interpreter sees signals.
///
/// Workers call it as often as they look at the clock, some hundred times a second; the thread that launches is one of them, the
/// only one if the launch has one block or one job.
#[derive(Clone)]
pub struct Poll(Arc<dyn Fn() + Send + Sync>);

impl Poll {
    /// What it does then; it may set [`RunOptions::interrupt`].
    pub fn new(look: impl Fn() + Send + Sync + 'static) -> Self {
        Poll(Arc::new(look))
    }

    /// Looks.
    pub fn look(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Poll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poll")
    }
}

/// What runs instructions. A defined result does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Engine {
    /// What `WARPGRIND_ENGINE` names; if that is none of them, compiled code for kernels that run long, as far as the host
    /// has AVX2 or AVX-512.
    #[default]
    Auto,
    /// The interpreter alone.
    Interpreter,
    /// Compiled code for all kernels, from their first instruction on.
    Compiled,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 3] = [Engine::Auto, Engine::Interpreter, Engine::Compiled];

    /// Its name, as arguments have it.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Interpreter => "interpreter",
            Engine::Compiled => "compiled",
        }
    }

    /// The engine of this name.
    ///
    /// ```
    /// use sim_core::Engine;
    /// assert_eq!(Engine::named("compiled"), Some(Engine::Compiled));
    /// assert_eq!(Engine::named("other"), None);
    /// ```
    pub fn named(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Whether this host can do what it says: compiled code is for AVX2 and AVX-512, and `WARPGRIND_SIMD` may forbid both.
    pub fn is_available(self) -> bool {
        self != Engine::Compiled || jit::Compiled::can(SimdLevel::detect())
    }

    /// What the environment makes of it.
    pub(crate) fn chosen(self) -> Engine {
        match self {
            Engine::Auto => {
                let named = std::env::var("WARPGRIND_ENGINE").ok().and_then(|name| Engine::named(&name));
                named.unwrap_or_default()
            }
            other => other,
        }
    }
}

/// How to run: schedule, limits and checks. None of it changes a defined result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Worker threads; 0 takes one a core.
    pub jobs: usize,
    /// What runs instructions.
    pub engine: Engine,
    /// Warp instructions of a kernel after which [`Engine::Auto`] compiles it; by itself it does so when that pays.
    pub compile_after: Option<u64>,
    /// 0 schedules round robin; any other value seeds a random schedule, and an order in which blocks start.
    pub seed: u64,
    /// Gives another block a turn after every few instructions, as blocks that run at the same time would
    /// take them. For small launches: it is slow. With one worker one seed gives one schedule.
    pub interleave: bool,
    /// For so many warp instructions of a worker, warps of all resident blocks execute one in turn, as on a device, where all that
    /// began together read before the first of them has written. It is slow.
    pub in_step: u64,
    /// Global memory shows values that are not yet or no longer the latest, chosen at random within what the
    /// PTX memory model allows. Results of kernels without races do not change; it is slow.
    pub weak: bool,
    /// When asynchronous operations are done. With another policy than [`AsyncPolicy::Eager`] it is slow.
    pub asynchrony: AsyncPolicy,
    /// Ends the launch after this many warp instructions.
    pub max_instructions: Option<u64>,
    /// Ends the launch after this time.
    pub timeout: Option<Duration>,
    /// Ends the launch soon after this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Looks whether it shall end.
    pub poll: Option<Poll>,
    /// Tools that look on. With one that hears everything in one order the launch runs on one worker.
    pub tools: Vec<ToolFactory>,
    /// What tools measure of grids that kernels launch is not added to what they measured of the launch.
    pub apart: bool,
    /// Counts memory traffic for [`crate::Stats`].
    pub count_memory: bool,
    /// Distinct findings kept; further ones are only counted.
    pub max_findings: usize,
    /// Nothing else accesses the memory while the launch runs: no other launch, no program on the host.
    /// One job then needs no atomic read-modify-write.
    pub alone: bool,
    /// A kernel and the registers of a thread that its compiler took; those of others are estimated.
    pub registers: Option<(Arc<str>, u32)>,
    /// The program around, of which kernels ask by functions of CUDA's device runtime.
    pub around: Option<Arc<dyn Around>>,
    /// Directory that source paths in messages are relative to.
    pub source_root: Option<PathBuf>,
}

impl RunOptions {
    /// Registers of a thread of a kernel, where they are known.
    pub(crate) fn known_registers(&self, kernel: &str) -> Option<u32> {
        let said = self.registers.as_ref().filter(|(of, _)| **of == *kernel).map(|&(_, registers)| registers);
        said.or_else(|| self.around.as_ref()?.registers(kernel))
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            jobs: 0,
            engine: Engine::Auto,
            compile_after: None,
            seed: 0,
            interleave: false,
            in_step: 0,
            weak: false,
            asynchrony: AsyncPolicy::Eager,
            max_instructions: None,
            timeout: None,
            interrupt: None,
            poll: None,
            tools: Vec::new(),
            apart: false,
            count_memory: false,
            max_findings: 100,
            alone: true,
            registers: None,
            around: None,
            source_root: None,
        }
    }
}

impl RunOptions {
    /// Why a launch that began then ends now, if time is up or somebody wants it to end.
    pub(crate) fn ended(&self, began: Instant) -> Option<String> {
        if let Some(poll) = &self.poll {
            poll.look();
        }
        if self.interrupt.as_ref().is_some_and(|interrupt| interrupt.load(Relaxed)) {
            return Some("the launch was interrupted".into());
        }
        let most = self.timeout.filter(|most| began.elapsed() > *most)?;
        Some(format!("the time limit of {most:?} was reached"))
    }
}

/// Looks at the clock by work done.
pub(crate) struct Clock<'a> {
    options: &'a RunOptions,
    pub began: Instant,
    work: Cell<usize>,
}

/// Work after which the clock is looked at: well below a hundredth of a second.
const LOOK: usize = 1 << 14;

impl<'a> Clock<'a> {
    /// Of a launch that begins now.
    pub(crate) fn new(options: &'a RunOptions) -> Self {
        Self { options, began: Instant::now(), work: Cell::new(0) }
    }

    /// Accounts for work, in units of at most half a microsecond.
    ///
    /// # Errors
    /// Why the launch ends now.
    pub(crate) fn spend(&self, work: usize) -> Result<(), String> {
        self.work.set(self.work.get().saturating_add(work));
        if self.work.get() < LOOK {
            return Ok(());
        }
        self.work.set(0);
        self.options.ended(self.began).map_or(Ok(()), Err)
    }
}
