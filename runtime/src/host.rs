//! What the runtime needs of the program that it lives in.

use cuda_abi::Result;
use ptx_frontend::Module;
use sim_core::{Launch, LaunchReport, RunOptions};

use std::sync::Arc;

use crate::context::Context;
use crate::device::Device;
use crate::memory::Allocation;
use crate::memory::Kind;
use crate::module::Function;
use crate::pages::Pages;

/// How a launch is to be run.
#[derive(Clone, Debug)]
pub struct Picked {
    /// Schedule, limits, checks.
    pub options: RunOptions,
    /// Whether it was picked for further checks and reports.
    pub picked: bool,
}

/// A launch that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Launching<'a> {
    /// Where.
    pub device: &'a Device,
    /// What.
    pub function: &'a Function,
    /// How.
    pub launch: &'a Launch,
}

/// A launch that ended, with all that a report needs.
#[derive(Clone, Copy, Debug)]
pub struct Launched<'a> {
    /// The module.
    pub module: &'a Module,
    /// The launch.
    pub launch: &'a Launch,
    /// How it was run.
    pub options: &'a RunOptions,
    /// What came of it.
    pub report: &'a LaunchReport,
    /// Whether it was picked for further checks and reports.
    pub picked: bool,
}

/// What is to be done when a launch has completed.
pub type Completed = Box<dyn FnOnce(&Launching<'_>)>;

/// The program around the runtime: its memory, its functions, its output.
///
/// Addresses come from the program, so an implementation in the C interface trusts them as CUDA does.
pub trait Host: Pages + Send + Sync {
    /// Lends bytes of the program's memory.
    fn read(&self, address: u64, bytes: usize, take: &mut dyn FnMut(&[u8]));

    /// Lends bytes of the program's memory to be written.
    fn write(&self, address: u64, bytes: usize, give: &mut dyn FnMut(&mut [u8]));

    /// Calls a function of the program with one argument.
    fn call(&self, function: u64, argument: u64);

    /// Memory that host and devices share, for managed variables and pools: an allocation of the context, of the kind
    /// [`Kind::Managed`] or [`Kind::Host`].
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn shared(&self, context: &Arc<Context>, bytes: u64, kind: Kind) -> Result<u64>;

    /// Gives back what [`Host::shared`] returned; the device has forgotten it.
    fn release(&self, memory: &Allocation);

    /// Whether all of a range is mapped in the program.
    fn is_mapped(&self, _address: u64, _bytes: u64) -> bool {
        true
    }

    /// Prints what kernels printed.
    fn print(&self, text: &[u8]);

    /// A launch begins: nothing of it was done yet.
    fn begins(&self) {}

    /// A launch that began has ended, whatever came of it: refused and panicked ones, too.
    fn ended(&self) {}

    /// How the next launch of a kernel is run.
    fn pick(&self, kernel: &str) -> Picked;

    /// A picked launch is about to run. What is returned is called when it has completed.
    fn launching(&self, _launching: &Launching<'_>) -> Option<Completed> {
        None
    }

    /// A launch ran to an end.
    fn launched(&self, launched: &Launched<'_>);

    /// Something that a person should know.
    fn warn(&self, text: &str);
}
