//! Which CUDA device is used, and how.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use device::OptLevel;

use super::headings::DEVICE;
use super::values::{parse_duration, parse_u32};

/// The CUDA driver.
#[derive(Args, Clone, Debug)]
pub(crate) struct DriverArgs {
    /// The CUDA driver's library; otherwise it is looked for where drivers are installed
    #[arg(long, env = device::LIBRARY_VARIABLE, value_name = "PATH", help_heading = DEVICE)]
    pub(crate) driver: Option<PathBuf>,
}

/// The CUDA driver, and how much its compiler optimises.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompilerArgs {
    #[command(flatten)]
    pub(crate) driver: DriverArgs,
    /// How much the device's compiler optimises: 0, not at all, to 4, its default
    #[arg(long = "device-opt", value_name = "LEVEL", default_value = "4", hide_default_value = true, value_parser = parse_level, help_heading = DEVICE)]
    pub(crate) level: OptLevel,
}

impl CompilerArgs {
    /// What the device of this number is opened with.
    pub(crate) fn options(&self, index: u32) -> device::Options {
        let library = self.driver.driver.clone();
        device::Options { library, index, level: self.level, ..device::Options::default() }
    }
}

/// Which CUDA device, and how it compiles.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeviceArgs {
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// The device's number, as `warpgrind devices` shows it
    #[arg(long = "device", value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_u32, help_heading = DEVICE)]
    pub(crate) index: u32,
}

impl DeviceArgs {
    /// What the device is opened with.
    pub(crate) fn options(&self) -> device::Options {
        self.compiler.options(self.index)
    }
}

/// How the launches of `compare` and `record` run on the device.
#[derive(Args, Clone, Debug)]
pub(crate) struct OnDeviceArgs {
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Place buffers side by side, as cudaMalloc does. Otherwise each ends where nothing is mapped, so that the device
    /// notices accesses behind its end
    #[arg(long, help_heading = DEVICE)]
    pub(crate) packed: bool,
    /// Have the device and the simulator round every product and every sum. The device's compiler otherwise contracts
    /// some into one fma where the PTX does not say how to round, and the simulator does as it does
    #[arg(long, help_heading = DEVICE)]
    pub(crate) no_contraction: bool,
    /// Have the simulator do what the optimiser is known to make of instructions; `check` names those where it leaves the
    /// PTX manual
    #[arg(long, help_heading = DEVICE)]
    pub(crate) as_optimised: bool,
    /// End a launch after this time: 30s, 500ms, 2m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, help_heading = DEVICE)]
    pub(crate) timeout: Duration,
}

fn parse_level(text: &str) -> Result<OptLevel, String> {
    let number = text.parse::<u8>().map_err(|_| "it is a number from 0 to 4".to_string())?;
    OptLevel::try_from(number)
}
