//! What the runtime needs of the program that it lives in.

use ptx_frontend::Module;
use sim_core::{Launch, LaunchReport, ModuleId, RunOptions, Simulator};

use crate::memory::{Allocation, Memory};
use crate::pages::Pages;

/// How a launch is to be run.
#[derive(Clone, Debug)]
pub struct Picked {
    /// Schedule, limits, checks.
    pub options: RunOptions,
    /// Whether it was picked for further checks and reports.
    pub picked: bool,
}

/// A launch that is about to run, with what it may reach.
#[derive(Clone, Copy)]
pub struct Launching<'a> {
    /// Where.
    pub simulator: &'a Simulator,
    /// The allocations there.
    pub memory: &'a Memory,
    /// The module of the kernel.
    pub module: &'a Module,
    /// The simulator's number of it.
    pub loaded: ModuleId,
    /// What of it, and how.
    pub launch: &'a Launch,
    /// The number of its operation, if it is one of its own ([`Submitted`]).
    pub number: Option<u64>,
    /// Its place in the order of the calls ([`Host::called`]).
    pub place: Option<u64>,
}

/// What is known of an operation that was handed to the queue by itself.
#[derive(Clone, Copy)]
pub(crate) struct Handed {
    /// Its number.
    pub(crate) number: u64,
    /// Of a launch: [`Launching::place`].
    pub(crate) place: Option<u64>,
}

/// An operation that was handed to the queue.
#[derive(Clone, Debug)]
pub struct Submitted<'a> {
    /// Its number, which no other operation of the process has.
    pub number: u64,
    /// Numbers of those that it waits for.
    pub after: Vec<u64>,
    /// The device.
    pub device: usize,
    /// The stream; none is the legacy default stream.
    pub stream: Option<u64>,
    /// Whether the stream and the legacy default stream wait for each other.
    pub blocking: bool,
    /// Whether it has a place in the order of the stream; what is within a graph has not.
    pub in_order: bool,
    /// What it does.
    pub doing: Doing<'a>,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing<'a> {
    /// Runs a kernel.
    Kernel(&'a str),
    /// Copies so many bytes from a kind of memory to another.
    Copy(Side, Side, u64),
    /// Fills so many bytes.
    Fill(u64),
    /// What takes a device no time.
    Other,
}

/// A kind of memory that copies know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// A device's.
    Device,
    /// The host's, which does not move.
    Pinned,
    /// The host's.
    Pageable,
    /// That of both.
    Managed,
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

/// What was made of a launch before it runs.
#[derive(Default)]
pub struct Prepared {
    /// What the kernel prints was shown already.
    pub printed: bool,
    /// Is called when it has completed.
    pub completed: Option<Completed>,
}

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

    /// Gives back memory that host and devices shared ([`Context::share`](crate::Context::share)); the devices have forgotten it.
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

    /// Whether it wants to hear of operations.
    fn hears_of_operations(&self) -> bool {
        false
    }

    /// An operation was handed to the queue; it may be over already.
    fn submitted(&self, _submitted: &Submitted<'_>) {}

    /// A thread of the program has waited for the operation of a number.
    fn waited(&self, _number: u64) {}

    /// A kernel is launched, which may run later than one that is launched after it: its place among the launches that can be
    /// picked, if it is one of them.
    fn called(&self, _kernel: &str) -> Option<u64> {
        None
    }

    /// How the launch of a kernel that has a place ([`Host::called`]) is run.
    fn pick(&self, kernel: &str, place: Option<u64>) -> Picked;

    /// A picked launch is about to run.
    fn launching(&self, _launching: &Launching<'_>) -> Prepared {
        Prepared::default()
    }

    /// A launch ran to an end.
    fn launched(&self, launched: &Launched<'_>);

    /// Something that a person should know.
    fn warn(&self, text: &str);
}
