//! The arguments of `conformance`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::device::DeviceArgs;
use super::headings::DEVICE;

/// `warpgrind conformance`
#[derive(Subcommand, Debug)]
pub(crate) enum ConformanceCommand {
    /// List the instructions that are compared
    List {
        /// Only those that begin so, such as cvt.rn
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Print the kernels instead
        #[arg(long)]
        ptx: bool,
    },
    /// Run all instructions on a device and write what it gives to a file
    Record(ConformanceRecordArgs),
    /// Run all instructions on the simulator and compare with a recording
    Verify(VerifyArgs),
    /// As verify; also lists what is equal, what is not compared, and why
    Report(VerifyArgs),
    /// Run random kernels on the simulator and compare with what a device gave or gives for them
    ///
    /// A seed gives a kernel of many instructions with branches, loops, calls, shared memory, barriers, warp operations,
    /// atomics and matrices. On a device each runs with its optimiser off and on; one that differs is made small.
    Random(RandomArgs),
}

/// `warpgrind conformance random`
#[derive(Args, Debug)]
pub(crate) struct RandomArgs {
    /// The seeds: one, or 0..100. Without them those that are recorded, on a device the first hundred
    #[arg(value_name = "SEEDS", value_parser = parse_seeds)]
    pub(crate) seeds: Option<Seeds>,
    /// Print the kernels instead
    #[arg(long)]
    pub(crate) ptx: bool,
    /// Compare with this recording; otherwise with that of an H200 which this program holds
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// Compare with a device
    #[arg(long, help_heading = DEVICE)]
    pub(crate) on_device: bool,
    /// Write what the device gives to this file
    #[arg(short, long, value_name = "FILE", help_heading = DEVICE)]
    pub(crate) output: Option<PathBuf>,
    /// Do not make kernels small that differ
    #[arg(long, help_heading = DEVICE)]
    pub(crate) no_shrink: bool,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// A range of seeds.
pub(crate) type Seeds = std::ops::Range<u64>;

fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is not a seed"));
    match text.split_once("..") {
        Some((first, end)) => Ok(number(first)?..number(end)?),
        None => number(text).map(|seed| seed..seed.saturating_add(1)),
    }
}

/// `warpgrind conformance record`
#[derive(Args, Debug)]
pub(crate) struct ConformanceRecordArgs {
    /// The file to write; what it holds for other instructions is kept with --only
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Only instructions that begin so, such as cvt.rn
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Record the simulator instead of a device
    #[arg(long, hide = true)]
    pub(crate) simulator: bool,
}

/// `warpgrind conformance verify` and `report`
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The recording; without it, that of an H200 which this program holds
    #[arg(value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// Only instructions that begin so, such as cvt.rn
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
}
