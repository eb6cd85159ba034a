//! One launch, written in Rust.

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use sim_core::{AsyncPolicy, DeviceConfig, Dim3, Engine, RunOptions, Simulator};
use tools::Tool;

use crate::array::{Array, Init};
use crate::module::Module;
use crate::plan::{Arg, BufferPlan, BufferSpec, LaunchPlan, Plan, Scalar, parameters};
use crate::run::{Report, RunError};

/// How to run: the simulated device, its schedule, its checks and its limits.
#[derive(Clone, Debug)]
pub struct Options {
    /// Checks beyond those of every access, which are always made.
    pub tools: Vec<Tool>,
    /// Worker threads; 0 takes one a core.
    pub jobs: usize,
    /// Chooses the schedule; 0 is round robin. With one job one seed gives one schedule.
    pub seed: u64,
    /// When asynchronous operations are done. racecheck has them done where they are issued.
    pub asynchrony: AsyncPolicy,
    /// What runs instructions.
    pub engine: Engine,
    /// Ends a launch after this many warp instructions.
    pub max_instructions: Option<u64>,
    /// Ends a launch after this time.
    pub timeout: Option<Duration>,
    /// Whether some products and sums become one fma, as NVIDIA's compiler makes it where the PTX does not say how to
    /// round.
    pub contraction: bool,
    /// Whether instructions do what the optimiser of NVIDIA's compiler is known to make of them.
    pub as_optimised: bool,
    /// Whether memory traffic is counted.
    pub count_memory: bool,
    /// Folder that source paths in findings are relative to.
    pub source_root: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            jobs: 0,
            seed: 0,
            asynchrony: AsyncPolicy::Eager,
            engine: Engine::Auto,
            max_instructions: None,
            timeout: None,
            contraction: true,
            as_optimised: false,
            count_memory: false,
            source_root: None,
        }
    }
}

impl Options {
    /// The device that these options describe: an H200.
    pub fn simulator(&self) -> Simulator {
        Simulator::new(self.device())
    }

    /// The same, whose launches debuggers can look into.
    pub fn inspectable_simulator(&self) -> Simulator {
        Simulator::new(DeviceConfig { inspectable: true, ..self.device() })
    }

    fn device(&self) -> DeviceConfig {
        DeviceConfig {
            track_initialization: tools::factories(&self.tools)
                .iter()
                .any(|tool| tool.tracks_initialization()),
            contraction: self.contraction,
            as_optimised: self.as_optimised,
            ..DeviceConfig::h200()
        }
    }

    /// How launches on it run.
    pub fn run_options(&self) -> RunOptions {
        RunOptions {
            jobs: self.jobs,
            seed: self.seed,
            asynchrony: self.asynchrony,
            engine: self.engine,
            max_instructions: self.max_instructions,
            timeout: self.timeout,
            tools: tools::factories(&self.tools),
            count_memory: self.count_memory,
            source_root: self.source_root.clone(),
            ..RunOptions::default()
        }
    }
}

/// One launch of a kernel on arrays: what [`Plan`] is for files. Arguments come in the order of the kernel's parameters.
#[derive(Debug, Default)]
pub struct Launch<'a> {
    launch: LaunchPlan,
    arguments: Vec<Argument<'a>>,
}

#[derive(Debug)]
enum Argument<'a> {
    Plain(Arg),
    Input(&'a Array),
    Inout(&'a mut Array),
}

impl<'a> Launch<'a> {
    /// One thread of this kernel, by its PTX or its C++ name.
    pub fn new(kernel: &str) -> Self {
        Self {
            launch: LaunchPlan { kernel: Some(kernel.into()), ..LaunchPlan::default() },
            arguments: Vec::new(),
        }
    }

    /// Blocks in the grid.
    pub fn grid(mut self, blocks: impl Into<Dim3>) -> Self {
        self.launch.grid = blocks.into();
        self
    }

    /// Threads in a block.
    pub fn block(mut self, threads: impl Into<Dim3>) -> Self {
        self.launch.block = threads.into();
        self
    }

    /// Blocks in a cluster.
    pub fn cluster(mut self, blocks: impl Into<Dim3>) -> Self {
        self.launch.cluster = Some(blocks.into());
        self
    }

    /// Dynamic shared memory in bytes.
    pub fn shared(mut self, bytes: u32) -> Self {
        self.launch.shared_bytes = bytes;
        self
    }

    /// All blocks must be resident at once, as in `cudaLaunchCooperativeKernel`.
    pub fn cooperative(mut self) -> Self {
        self.launch.cooperative = true;
        self
    }

    /// A number.
    pub fn arg(mut self, number: impl Into<Scalar>) -> Self {
        self.arguments.push(Argument::Plain(Arg::Scalar(number.into())));
        self
    }

    /// The bytes of a structure.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.arguments.push(Argument::Plain(Arg::Bytes(bytes.to_vec())));
        self
    }

    /// The address of a copy of an array.
    pub fn input(mut self, array: &'a Array) -> Self {
        self.arguments.push(Argument::Input(array));
        self
    }

    /// The address of a copy of an array, which gets what the copy holds afterwards.
    pub fn inout(mut self, array: &'a mut Array) -> Self {
        self.arguments.push(Argument::Inout(array));
        self
    }

    /// Runs it on a simulator of its own, with default [`Options`].
    ///
    /// # Errors
    /// There is no such kernel, an argument does not fit its parameter, or the launch is none that a device has.
    pub fn run(self, module: &Module) -> Result<Report, RunError> {
        self.run_with(module, &Options::default())
    }

    /// The same with options. Arrays are named after the kernel's parameters in the report and in findings. After a fault
    /// those of [`Launch::inout`] hold what was written before.
    ///
    /// # Errors
    /// As those of [`Launch::run`].
    pub fn run_with(self, module: &Module, options: &Options) -> Result<Report, RunError> {
        let mut plan = Plan::default();
        let kernel = module.kernel(self.launch.kernel.as_deref())?;
        let parameters = parameters(module.checked(), kernel);
        let mut launch = self.launch;
        let mut outputs = Vec::new();
        for (at, argument) in self.arguments.into_iter().enumerate() {
            let name = parameters.get(at).map_or_else(|| format!("argument {at}"), |p| p.name.to_string());
            let array = match &argument {
                Argument::Plain(arg) => {
                    launch.args.push((arg.clone(), None));
                    continue;
                }
                Argument::Input(array) => *array,
                Argument::Inout(array) => &**array,
            };
            define(&mut plan.buffers, &name, array);
            launch.args.push((Arg::Reference { name: name.clone(), offset: 0 }, None));
            if let Argument::Inout(array) = argument {
                outputs.push((name, array));
            }
        }
        plan.launches.push(launch);
        let report = plan.run(module, &options.run_options(), &options.simulator())?;
        for (name, array) in outputs {
            if let Some(after) = report.arrays.get(&name) {
                array.clone_from(after);
            }
        }
        Ok(report)
    }
}

fn define(buffers: &mut IndexMap<String, BufferPlan>, name: &str, array: &Array) {
    let init = Some(Init::Array(array.clone()));
    let spec = BufferSpec { init, ..BufferSpec::default() };
    buffers.insert(name.to_owned(), BufferPlan { spec, ..BufferPlan::default() });
}
