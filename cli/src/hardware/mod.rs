//! `warpgrind devices`, `compare` and `record`: a real CUDA device beside the simulator.
//!
//! [`crate::run::outputs`] gives what a launch file leaves on a backend; [`verdict`] compares two of those,
//! [`recording`] keeps one in a file, [`show`] presents. The device is used by a process of its own (`serve-device`),
//! which a faulting kernel may cost.

mod cause;
mod difference;
mod recording;
mod show;
mod verdict;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use device::{Contraction, DeviceProcess, Driver, OpenError, OptLevel, Options, Placement, Server};
use ptx_frontend::Module;
use serde::{Deserialize, Serialize};
use sim_core::{Backend, DeviceConfig, RunOptions, Simulator};

use crate::args::{CompareArgs, DriverArgs, Global, OnDeviceArgs, RecordArgs};
use crate::array::{MAX_TEXT, read_file};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::report::{Console, DiagnosticJson};
use crate::run::{Outputs, Plan, outputs, read_launch_file};
use cause::{Cause, Evidence};
use show::Reporter;

/// The ending of recordings' names in a folder.
const EXTENSION: &str = "wgrec";

/// A device, for those who read a report or a recording.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Who {
    /// `NVIDIA H200`
    name: String,
    /// `9.0`
    capability: String,
    /// The CUDA version of the driver: `13.0`.
    cuda: String,
    /// Whether the driver's compiler was allowed to fuse products and sums.
    contraction: bool,
    /// How much the driver's compiler optimised, 0 to 4.
    #[serde(default)]
    optimization: OptLevel,
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (CUDA {})", self.name, self.cuda)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let failure = Failure::new(Exit::NoDevice, error.to_string());
        match error {
            OpenError::LibraryNotFound(_) => {
                failure.help(format!("`--driver PATH` or {} names it", device::LIBRARY_VARIABLE))
            }
            OpenError::DropIn(_) => failure.help("`--driver PATH` names the driver's own library"),
            OpenError::DriverTooOld { .. } => failure.help("update NVIDIA's driver"),
            _ => failure,
        }
    }
}

/// `warpgrind devices`
pub(crate) fn list(args: &DriverArgs, console: &Console) -> Result<Exit, Failure> {
    let found = Driver::open(args.driver.as_deref()).and_then(|driver| {
        let devices = driver.devices()?;
        Ok((driver, devices))
    });
    let found = found.map_err(Failure::from);
    let exit = found.as_ref().map_or_else(|failure| failure.exit, |_| Exit::Clean);
    show::devices(found, exit, console);
    Ok(exit)
}

/// The process that uses a device.
pub(crate) fn serve() -> Result<Exit, Failure> {
    let served = device::serve().map(|()| Exit::Clean);
    served.map_err(|error| Failure::usage(format!("the process for the device cannot go on: {error}")))
}

/// `warpgrind compare`
pub(crate) fn compare(args: &CompareArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let mut device = LazyDevice::new(&args.on);
    let mut reporter = Reporter::new(console, "compare", args.tolerance);
    for file in &args.files {
        let result = compare_one(file, args, global, console, &mut device, &mut reporter);
        reporter.compared(file, result);
    }
    Ok(reporter.finish())
}

/// Both sides of a comparison.
struct Sides {
    who: Who,
    /// The PTX has products or sums that a compiler may fuse.
    contractable: bool,
    simulator: Outputs,
    device: Outputs,
    /// Whose doing it is that they differ, if they do and it is known.
    cause: Option<Cause>,
}

fn compare_one(
    file: &Path,
    args: &CompareArgs,
    global: &Global,
    console: &Console,
    device: &mut LazyDevice<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<Sides, Failure> {
    let (plan, module) = read(file, reporter)?;
    // A device that does not optimise does not contract either.
    let simulate = |level: OptLevel, allowed: bool| {
        let contraction = allowed && level != OptLevel::OFF;
        let simulator = Simulator::new(DeviceConfig {
            contraction,
            as_optimised: args.on.as_optimised && level != OptLevel::OFF,
            ..DeviceConfig::h200()
        });
        run(&plan, &module, &simulator, &args.on, global, console)
    };
    // The other side comes first: that it is missing is known before the simulator works for long.
    match &args.recording {
        None => {
            let level = args.on.device.compiler.level;
            let outputs = run(&plan, &module, device.get(level)?, &args.on, global, console)?;
            let who = who(device.get(level)?, &args.on, level);
            let simulator = simulate(level, !args.on.no_contraction)?;
            let mut again = |level| run(&plan, &module, device.get(level)?, &args.on, global, console);
            let cause = cause::find(
                &simulator,
                &outputs,
                args.tolerance,
                |evidence| match evidence {
                    Evidence::Again => again(level).map(Some),
                    Evidence::Unoptimised if level == OptLevel::OFF => Ok(None),
                    Evidence::Unoptimised => again(OptLevel::OFF).map(Some),
                },
                || simulate(OptLevel::OFF, false),
            )?;
            Ok(Sides { who, contractable: contractable(&module), simulator, device: outputs, cause })
        }
        Some(path) => {
            let path = recording_path(path, file, args.files.len());
            let bytes = read_file(&path, MAX_TEXT)?;
            let allowed = !args.on.no_contraction && recording::contracted(&bytes);
            let simulator = simulate(args.on.device.compiler.level, allowed)?;
            let recorded = recording::read(&bytes, &module, &simulator)
                .and_then(|recording| recording.at(args.on.device.compiler.level))
                .map_err(|failure| failure.context(path.display()))?;
            let recording::Recorded { who, outputs, repeats, unoptimised } = recorded;
            let cause = match repeats {
                true => cause::find(
                    &simulator,
                    &outputs,
                    args.tolerance,
                    |evidence| match evidence {
                        Evidence::Again => Ok(None),
                        Evidence::Unoptimised => Ok(unoptimised.clone()),
                    },
                    || simulate(OptLevel::OFF, false),
                )?,
                false => cause::order(&simulator, &outputs, args.tolerance),
            };
            Ok(Sides { who, contractable: contractable(&module), simulator, device: outputs, cause })
        }
    }
}

/// `warpgrind record`
pub(crate) fn record(args: &RecordArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let mut device = LazyDevice::new(&args.on);
    let mut reporter = Reporter::new(console, "record", None);
    if args.files.len() > 1 {
        let made = std::fs::create_dir_all(&args.output);
        made.map_err(|error| Failure::usage(format!("cannot make {}: {error}", args.output.display())))?;
    }
    for file in &args.files {
        let result = record_one(file, args, global, console, &mut device, &mut reporter);
        reporter.recorded(file, result);
    }
    Ok(reporter.finish())
}

fn record_one(
    file: &Path,
    args: &RecordArgs,
    global: &Global,
    console: &Console,
    device: &mut LazyDevice<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<(PathBuf, Who, usize), Failure> {
    let (plan, module) = read(file, reporter)?;
    let level = args.on.device.compiler.level;
    let mut at = |level| run(&plan, &module, device.get(level)?, &args.on, global, console);
    let outputs = at(level)?;
    let repeats = cause::same(&outputs, &at(level)?);
    let unoptimised = if level == OptLevel::OFF { None } else { Some(at(OptLevel::OFF)?) };
    let who = who(device.get(level)?, &args.on, level);
    let recorded = recording::Recorded { who: who.clone(), outputs, repeats, unoptimised };
    let bytes = recording::write(&module, &recorded)?;
    let path = recording_path(&args.output, file, args.files.len());
    files::replace(&path, &bytes)?;
    Ok((path, who, bytes.len()))
}

/// `path` itself, or the recording of `file` in the folder `path`.
fn recording_path(path: &Path, file: &Path, files: usize) -> PathBuf {
    if files == 1 && !path.is_dir() {
        return path.to_path_buf();
    }
    path.join(file.file_stem().unwrap_or_default()).with_extension(EXTENSION)
}

fn read(file: &Path, reporter: &mut Reporter<'_>) -> Result<(Plan, Arc<Module>), Failure> {
    let (plan, module) = read_launch_file(file, &mut |diagnostic, source, elsewhere| {
        reporter.diagnostic(
            diagnostic,
            source,
            elsewhere,
            DiagnosticJson::new(diagnostic, source, elsewhere),
        );
    })?;
    Ok((plan, Arc::new(module)))
}

fn run(
    plan: &Plan,
    module: &Arc<Module>,
    backend: &dyn Backend,
    on: &OnDeviceArgs,
    global: &Global,
    console: &Console,
) -> Result<Outputs, Failure> {
    let options = RunOptions { jobs: global.jobs, timeout: Some(on.timeout), ..RunOptions::default() };
    outputs(plan, module, &options, backend, console.is_human())
}

fn who(device: &DeviceProcess, on: &OnDeviceArgs, level: OptLevel) -> Who {
    let version = device.driver_version();
    Who {
        name: device.properties().name.clone(),
        capability: device.properties().capability(),
        cuda: format!("{}.{}", version.major, version.minor),
        contraction: !on.no_contraction,
        optimization: level,
    }
}

fn contractable(module: &Module) -> bool {
    module.sources.iter().any(|source| matches!(device::without_contraction(&source.text), Cow::Owned(_)))
}

/// A device that is opened when it is first needed, once a level of optimisation: what is wrong with a launch file is
/// said without one.
struct LazyDevice<'a> {
    args: &'a OnDeviceArgs,
    opened: BTreeMap<OptLevel, Result<DeviceProcess, OpenError>>,
}

impl<'a> LazyDevice<'a> {
    fn new(args: &'a OnDeviceArgs) -> Self {
        Self { args, opened: BTreeMap::new() }
    }

    fn get(&mut self, level: OptLevel) -> Result<&DeviceProcess, Failure> {
        let args = self.args;
        let opened = self.opened.entry(level).or_insert_with(|| {
            let program = std::env::current_exe().map_err(|error| {
                OpenError::Process(format!("is this program, whose file is not known: {error}"))
            })?;
            let server = Server { program, args: vec!["serve-device".into()] };
            let placement = if args.packed { Placement::Packed } else { Placement::Guarded };
            let contraction = if args.no_contraction { Contraction::Forbidden } else { Contraction::Allowed };
            let options = Options { placement, contraction, level, ..args.device.options() };
            DeviceProcess::open(server, options)
        });
        opened.as_ref().map_err(|error| error.clone().into())
    }
}
