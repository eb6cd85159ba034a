//! The arguments of `record`.

use std::path::PathBuf;

use clap::Args;

use super::device::OnDeviceArgs;

/// `warpgrind record`
#[derive(Args, Debug)]
pub(crate) struct RecordArgs {
    /// Launch files
    #[arg(required = true, value_name = "LAUNCH.toml")]
    pub(crate) files: Vec<PathBuf>,
    /// The recording to write; or a folder, which gets NAME.wgrec for each NAME.toml
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) on: OnDeviceArgs,
}

pub(super) const RECORD_HELP: &str = "\
A recording holds how the launches ended, what they printed and what they changed, with the names of device and driver \
and hashes of PTX and inputs. It is a gzip file that begins with a line of JSON: `zcat FILE | head -1`. A recording \
that is there already is replaced once the new one is complete, never by half of one. Beside the results at the \
level of `--device-opt` it keeps those of the device with its optimiser off, where they differ, and whether a second \
run gave the same.

Examples:
  warpgrind record saxpy.toml -o saxpy.wgrec
  warpgrind record testdata/launches/*.toml -o testdata/recordings

Exit codes: 0 recorded, 2 usage, 3 invalid PTX, 6 no device that can do it.";
