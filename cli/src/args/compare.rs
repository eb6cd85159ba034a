//! The arguments of `compare`.

use std::path::PathBuf;

use clap::Args;

use super::device::OnDeviceArgs;
use super::values::parse_u64;

/// `warpgrind compare`
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Launch files
    #[arg(required = true, value_name = "LAUNCH.toml")]
    pub(crate) files: Vec<PathBuf>,
    /// Compare with this recording instead of a device; or with NAME.wgrec in this folder for each NAME.toml
    #[arg(short, long, value_name = "PATH")]
    pub(crate) recording: Option<PathBuf>,
    /// Accept values that are this many units in the last place apart, and NaNs with other bits
    #[arg(short, long, value_name = "ULP", value_parser = parse_u64)]
    pub(crate) tolerance: Option<u64>,
    #[command(flatten)]
    pub(crate) on: OnDeviceArgs,
}

pub(super) const COMPARE_HELP: &str = "\
Every buffer and every variable that a launch file names is compared after its last launch, bit for bit; so are the \
lines that kernels print, in any order, and how launches end. Where both stop at a fault of the same class, they agree. \
Memory without given contents starts as zeros on both sides.

Where the sides differ, the device runs again, several times, and with its optimiser off: whether the difference is the \
simulator's doing, the optimiser's, or that of the order of threads is said at the end. A recording knows the same.

Examples:
  warpgrind compare testdata/launches/*.toml
  warpgrind compare saxpy.toml --tolerance 2 --format json
  warpgrind compare testdata/launches/*.toml --recording testdata/recordings

Exit codes: 0 all agree, 1 something differs, 2 usage or a recording of something else, 3 invalid PTX, 4 unsupported, \
6 no device that can do it.";
