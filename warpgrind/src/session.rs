//! A module on a device of its own, for many launches.

use std::collections::HashMap;

use sim_core::{Backend, DevicePtr, Launch, LaunchReport, ModuleId, RunOptions, Simulator};

use crate::launch::Options;
use crate::module::Module;
use crate::plan::{LaunchPlan, Plan};
use crate::run::{RunError, packed};

/// A module that is loaded once, on a device of its own. Its variables, and memory that is allocated on the device, keep
/// what launches leave in them.
///
/// ```
/// use warpgrind::plan::{Arg, LaunchPlan};
/// use warpgrind::{Module, Options, Session};
/// use sim_core::{Backend, Outcome};
///
/// let count = Module::from_ptx("count.ptx", "
///     .version 8.0
///     .target sm_90
///     .address_size 64
///     .visible .entry count(.param .u64 p) {
///         .reg .b32 %r;
///         .reg .b64 %rd;
///         ld.param.u64 %rd, [p];
///         atom.global.add.u32 %r, [%rd], 1;
///         ret;
///     }")?;
/// let session = Session::new(&count, &Options::default())?;
/// let counter = session.device().alloc(4, "counter")?;
/// session.device().write(counter, &[0; 4])?;
/// let launch = LaunchPlan {
///     block: 32.into(),
///     args: vec![(Arg::Scalar(counter.into()), None)],
///     ..LaunchPlan::default()
/// };
/// let launch = session.prepare(&launch)?;
/// for _ in 0..3 {
///     let report = session.run(&launch, &Options::default().run_options())?;
///     assert_eq!(report.outcome, Outcome::Completed);
/// }
/// let mut bytes = [0; 4];
/// session.device().read(counter, &mut bytes)?;
/// assert_eq!(u32::from_le_bytes(bytes), 96);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    module: Module,
    device: Simulator,
    id: ModuleId,
}

impl Session {
    /// Loads the module on the device that the options describe.
    ///
    /// # Errors
    /// The device refuses it: its variables do not fit, say.
    pub fn new(module: &Module, options: &Options) -> Result<Self, RunError> {
        let device = options.simulator();
        let id = device.load(module.checked().clone())?;
        Ok(Self { module: module.clone(), device, id })
    }

    /// What is loaded.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The device, to allocate, write and read its memory.
    pub fn device(&self) -> &Simulator {
        &self.device
    }

    /// Address and bytes of a `.global` or `.const` variable.
    ///
    /// # Errors
    /// The module has none of this name.
    pub fn variable(&self, name: &str) -> Result<(DevicePtr, u64), RunError> {
        Ok(self.device.variable(self.id, name)?)
    }

    /// A launch with its arguments in place; nothing runs.
    ///
    /// # Errors
    /// There is no such kernel, or an argument does not fit.
    pub fn prepare(&self, launch: &LaunchPlan) -> Result<Launch, RunError> {
        let kernel = self.module.kernel(launch.kernel.as_deref())?;
        Ok(packed(self.module.checked(), kernel, &Plan::default(), launch, &HashMap::new())?)
    }

    /// Runs a launch to its end. What the kernel does wrong is in the report.
    ///
    /// # Errors
    /// It is none that a device has; nothing has run then.
    pub fn run(&self, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, RunError> {
        Ok(self.device.launch(self.id, launch, options)?)
    }
}
