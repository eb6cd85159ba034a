//! What a plan makes of two backends: where they differ, and whose doing it is.
//!
//! [`outputs`] gives what a plan leaves on a backend; [`verdict::compare`] compares two of those,
//! [`recording`] keeps one in a file. A device is used by a process of its own, which a faulting kernel may cost.

pub mod cause;
pub mod difference;
pub mod recording;
pub mod verdict;

use std::borrow::Cow;
use std::collections::BTreeMap;

use device::{Contraction, DeviceProcess, OpenError, OptLevel, Server};
use serde::{Deserialize, Serialize};
use sim_core::{Backend, DeviceConfig, RunOptions, Simulator};
use thiserror::Error;

use crate::module::Module;
use crate::plan::Plan;
use crate::run::{During, Outputs, RunError, outputs};
use cause::{Cause, Evidence};
use recording::{Recorded, RecordingError};

/// A device, for those who read a report or a recording.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// `NVIDIA H200`
    pub name: String,
    /// `9.0`
    pub capability: String,
    /// The CUDA version of the driver: `13.0`.
    pub cuda: String,
    /// Whether the driver's compiler was allowed to fuse products and sums.
    pub contraction: bool,
    /// How much the driver's compiler optimised, 0 to 4.
    #[serde(default)]
    pub optimization: OptLevel,
}

impl std::fmt::Display for DeviceIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (CUDA {})", self.name, self.cuda)
    }
}

/// Why two sides were not compared, or one was not recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A side did not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no device that can do it.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Both sides of a comparison.
#[derive(Clone, Debug)]
pub struct Sides {
    /// The other side.
    pub identity: DeviceIdentity,
    /// The PTX has products or sums that a compiler may fuse.
    pub contractable: bool,
    /// What the simulator made of the plan.
    pub simulator: Outputs,
    /// What the other side made of it.
    pub device: Outputs,
    /// Whose doing it is that they differ, if they do and it is known.
    pub cause: Option<Cause>,
}

/// A device that is opened when it is first needed, once a level of optimisation.
pub struct Devices {
    server: Server,
    options: device::Options,
    opened: BTreeMap<OptLevel, Result<DeviceProcess, OpenError>>,
}

impl Devices {
    /// A device of these options, in processes of `server`. Nothing is opened yet.
    pub fn new(server: Server, options: device::Options) -> Self {
        Self { server, options, opened: BTreeMap::new() }
    }

    /// The device at a level of optimisation.
    ///
    /// # Errors
    /// It cannot be opened, now or when it was tried first.
    pub fn at(&mut self, level: OptLevel) -> Result<&DeviceProcess, OpenError> {
        let open = || {
            let options = device::Options { level, ..self.options.clone() };
            DeviceProcess::open(self.server.clone(), options)
        };
        self.opened.entry(level).or_insert_with(open).as_ref().map_err(Clone::clone)
    }

    fn identity(&mut self, level: OptLevel) -> Result<DeviceIdentity, OpenError> {
        let contraction = self.options.contraction == Contraction::Allowed;
        let device = self.at(level)?;
        let version = device.driver_version();
        Ok(DeviceIdentity {
            name: device.properties().name.clone(),
            capability: device.properties().capability(),
            cuda: format!("{}.{}", version.major, version.minor),
            contraction,
            optimization: level,
        })
    }
}

/// How both sides run.
pub struct Settings<'a> {
    /// Jobs, schedule and limits.
    pub options: RunOptions,
    /// How much the device's compiler optimises.
    pub level: OptLevel,
    /// Whether the simulator may fuse products and sums, as a device that optimises does.
    pub contraction: bool,
    /// Whether the simulator does what an optimiser is known to make of instructions.
    pub as_optimised: bool,
    /// How many units in the last place values may be apart; without it, their bits are compared.
    pub tolerance: Option<u64>,
    /// Does the work of each launch.
    pub during: During<'a>,
}

impl Settings<'_> {
    fn run(&self, plan: &Plan, module: &Module, backend: &dyn Backend) -> Result<Outputs, RunError> {
        outputs(plan, module, &self.options, backend, self.during)
    }

    /// A device that does not optimise does not contract either.
    fn simulate(
        &self,
        plan: &Plan,
        module: &Module,
        level: OptLevel,
        allowed: bool,
    ) -> Result<Outputs, RunError> {
        let optimises = level != OptLevel::OFF;
        let simulator = Simulator::new(DeviceConfig {
            contraction: allowed && optimises,
            as_optimised: self.as_optimised && optimises,
            ..DeviceConfig::h200()
        });
        self.run(plan, module, &simulator)
    }
}

/// Runs a plan on the simulator and on a device.
///
/// # Errors
/// The device cannot be opened, or a side does not run.
pub fn with_device(
    plan: &Plan,
    module: &Module,
    settings: &Settings<'_>,
    devices: &mut Devices,
) -> Result<Sides, CompareError> {
    let level = settings.level;
    // The device comes first: that it is missing is known before the simulator works for long.
    let outputs = settings.run(plan, module, devices.at(level)?)?;
    let identity = devices.identity(level)?;
    let simulator = settings.simulate(plan, module, level, settings.contraction)?;
    let mut again = |level| Ok::<_, CompareError>(settings.run(plan, module, devices.at(level)?)?);
    let cause = cause::find(
        &simulator,
        &outputs,
        settings.tolerance,
        |evidence| match evidence {
            Evidence::Again => again(level).map(Some),
            Evidence::Unoptimised if level == OptLevel::OFF => Ok(None),
            Evidence::Unoptimised => again(OptLevel::OFF).map(Some),
        },
        || Ok(settings.simulate(plan, module, OptLevel::OFF, false)?),
    )?;
    Ok(Sides { identity, contractable: contractable(module), simulator, device: outputs, cause })
}

/// Runs a plan on the simulator, beside the recording whose file holds `bytes`.
///
/// # Errors
/// The recording is none of this plan, or the simulator does not run.
pub fn with_recording(
    plan: &Plan,
    module: &Module,
    settings: &Settings<'_>,
    bytes: &[u8],
) -> Result<Sides, CompareError> {
    let allowed = settings.contraction && recording::contracted(bytes);
    let simulator = settings.simulate(plan, module, settings.level, allowed)?;
    let Recorded { identity, outputs, repeats, unoptimised } =
        recording::read(bytes, module, &simulator)?.at(settings.level)?;
    let cause = match repeats {
        true => cause::find(
            &simulator,
            &outputs,
            settings.tolerance,
            |evidence| match evidence {
                Evidence::Again => Ok(None),
                Evidence::Unoptimised => Ok(unoptimised.clone()),
            },
            || settings.simulate(plan, module, OptLevel::OFF, false),
        )?,
        false => cause::order(&simulator, &outputs, settings.tolerance),
    };
    Ok(Sides { identity, contractable: contractable(module), simulator, device: outputs, cause })
}

/// Runs a plan on a device, twice and with its optimiser off, for a recording.
///
/// # Errors
/// The device cannot be opened, or the plan does not run.
pub fn record(
    plan: &Plan,
    module: &Module,
    settings: &Settings<'_>,
    devices: &mut Devices,
) -> Result<Recorded, CompareError> {
    let level = settings.level;
    let mut at = |level| Ok::<_, CompareError>(settings.run(plan, module, devices.at(level)?)?);
    let outputs = at(level)?;
    let repeats = cause::same(&outputs, &at(level)?);
    let unoptimised = if level == OptLevel::OFF { None } else { Some(at(OptLevel::OFF)?) };
    Ok(Recorded { identity: devices.identity(level)?, outputs, repeats, unoptimised })
}

fn contractable(module: &Module) -> bool {
    let sources = &module.checked().sources;
    sources.iter().any(|source| matches!(device::without_contraction(&source.text), Cow::Owned(_)))
}
