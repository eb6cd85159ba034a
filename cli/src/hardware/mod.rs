//! `warpgrind devices`, `compare` and `record`: a real CUDA device beside the simulator.
//!
//! The crate `warpgrind` compares and records, [`show`] presents. The device is used by a process of its own
//! (`serve-device`), which a faulting kernel may cost.

mod show;

use std::path::{Path, PathBuf};

use device::{Contraction, Driver, OpenError, Options, Placement, Server};
use sim_core::RunOptions;
use warpgrind::compare::recording::write;
use warpgrind::compare::{self, DeviceIdentity, Devices, Settings, Sides};
use warpgrind::files::{MAX_TEXT, read_file};
use warpgrind::{CompareError, Module, Plan};

use crate::args::{CompareArgs, DriverArgs, Global, OnDeviceArgs, RecordArgs};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::progress;
use crate::report::{Console, DiagnosticJson};
use crate::run::read_launch_file;
use show::Reporter;

/// The ending of recordings' names in a folder.
const EXTENSION: &str = "wgrec";

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
    let mut devices = devices(&args.on)?;
    let during = during(console);
    let settings = settings(&args.on, args.tolerance, global, &during);
    let mut reporter = Reporter::new(console, "compare", args.tolerance);
    for file in &args.files {
        let result = compare_one(file, args, &settings, &mut devices, &mut reporter);
        reporter.compared(file, result);
    }
    Ok(reporter.finish())
}

fn compare_one(
    file: &Path,
    args: &CompareArgs,
    settings: &Settings<'_>,
    devices: &mut Devices,
    reporter: &mut Reporter<'_>,
) -> Result<Sides, Failure> {
    let (plan, module) = read(file, reporter)?;
    let Some(path) = &args.recording else {
        return Ok(compare::with_device(&plan, &module, settings, devices)?);
    };
    let path = recording_path(path, file, args.files.len());
    let bytes = read_file(&path, MAX_TEXT)?;
    compare::with_recording(&plan, &module, settings, &bytes).map_err(|error| match error {
        CompareError::Recording(error) => Failure::from(error).context(path.display()),
        other => other.into(),
    })
}

/// `warpgrind record`
pub(crate) fn record(args: &RecordArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let mut devices = devices(&args.on)?;
    let during = during(console);
    let settings = settings(&args.on, None, global, &during);
    let mut reporter = Reporter::new(console, "record", None);
    if args.files.len() > 1 {
        let made = std::fs::create_dir_all(&args.output);
        made.map_err(|error| Failure::usage(format!("cannot make {}: {error}", args.output.display())))?;
    }
    for file in &args.files {
        let result = record_one(file, args, &settings, &mut devices, &mut reporter);
        reporter.recorded(file, result);
    }
    Ok(reporter.finish())
}

fn record_one(
    file: &Path,
    args: &RecordArgs,
    settings: &Settings<'_>,
    devices: &mut Devices,
    reporter: &mut Reporter<'_>,
) -> Result<(PathBuf, DeviceIdentity, usize), Failure> {
    let (plan, module) = read(file, reporter)?;
    let recorded = compare::record(&plan, &module, settings, devices)?;
    let bytes = write(&module, &recorded)?;
    let path = recording_path(&args.output, file, args.files.len());
    files::replace(&path, &bytes)?;
    Ok((path, recorded.identity, bytes.len()))
}

/// `path` itself, or the recording of `file` in the folder `path`.
fn recording_path(path: &Path, file: &Path, files: usize) -> PathBuf {
    if files == 1 && !path.is_dir() {
        return path.to_path_buf();
    }
    path.join(file.file_stem().unwrap_or_default()).with_extension(EXTENSION)
}

fn read(file: &Path, reporter: &mut Reporter<'_>) -> Result<(Plan, Module), Failure> {
    read_launch_file(file, &mut |diagnostic, source, elsewhere| {
        reporter.diagnostic(
            diagnostic,
            source,
            elsewhere,
            DiagnosticJson::new(diagnostic, source, elsewhere),
        );
    })
}

/// A launch, with a sign of life while it takes long.
fn during(console: &Console) -> impl Fn(&str, &mut dyn FnMut()) + use<> {
    let shown = console.is_human();
    move |what, work| progress::during(shown, what.to_owned(), work)
}

fn settings<'a>(
    on: &OnDeviceArgs,
    tolerance: Option<u64>,
    global: &Global,
    during: warpgrind::run::During<'a>,
) -> Settings<'a> {
    Settings {
        options: RunOptions { jobs: global.jobs, timeout: Some(on.timeout), ..RunOptions::default() },
        level: on.device.compiler.level,
        contraction: !on.no_contraction,
        as_optimised: on.as_optimised,
        tolerance,
        during,
    }
}

/// The device, which is opened when it is first needed: what is wrong with a launch file is said without one.
fn devices(on: &OnDeviceArgs) -> Result<Devices, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| OpenError::Process(format!("is this program, whose file is not known: {error}")))?;
    let server = Server { program, args: vec!["serve-device".into()] };
    let placement = if on.packed { Placement::Packed } else { Placement::Guarded };
    let contraction = if on.no_contraction { Contraction::Forbidden } else { Contraction::Allowed };
    Ok(Devices::new(server, Options { placement, contraction, ..on.device.options() }))
}
