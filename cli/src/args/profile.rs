//! The arguments of `profile`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::headings::{CHECKS, LAUNCH, REPORT};
use super::values::{parse_bytes, parse_duration, parse_u64};

/// `warpgrind profile`
#[derive(Args, Debug)]
pub(crate) struct ProfileArgs {
    /// A launch file
    #[arg(value_name = "FILE.toml", conflicts_with = "program", required_unless_present_any = ["program", "calibrate"])]
    pub(crate) file: Option<PathBuf>,
    /// A program and its arguments, to be run as `exec` does
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,

    /// The numbers to show, by name
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = REPORT)]
    pub(crate) metrics: Vec<String>,
    /// Groups of numbers to show: launch, occupancy, memory, instructions, time, source, code
    #[arg(long, value_name = "SECTION", value_delimiter = ',', value_parser = section_parser(), help_heading = REPORT)]
    pub(crate) section: Vec<String>,
    /// Write what `ncu --csv --page raw` writes
    #[arg(long, help_heading = REPORT)]
    pub(crate) csv: bool,
    /// Show the numbers beside those of a page that `ncu --csv --page raw` wrote, with the difference
    #[arg(long, value_name = "NCU.csv", help_heading = REPORT)]
    pub(crate) import: Option<PathBuf>,
    /// Run the program on this machine's device too, under Nsight Compute, keep the page that it writes, and show the numbers
    /// beside those of the page
    #[arg(long, value_name = "NCU.csv", requires = "program", conflicts_with_all = ["file", "import"], help_heading = REPORT)]
    pub(crate) record: Option<PathBuf>,
    /// Nsight Compute's command, for --record; otherwise it is looked for
    #[arg(long, value_name = "PATH", requires = "record", help_heading = REPORT)]
    pub(crate) ncu: Option<PathBuf>,
    /// Write a page to look at: charts of waiting, memory and occupancy, and the lines that cost the most
    #[arg(long, value_name = "FILE.html", help_heading = REPORT)]
    pub(crate) report: Option<PathBuf>,
    /// Write when each block is on which multiprocessor, as a timeline for Perfetto
    #[arg(long, value_name = "FILE.json", conflicts_with = "no_time", help_heading = REPORT)]
    pub(crate) trace: Option<PathBuf>,
    /// The assembler that says how many registers kernels take; otherwise it is looked for
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) ptxas: Option<PathBuf>,
    /// The disassembler that lists machine code; otherwise it is looked for beside ptxas
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) nvdisasm: Option<PathBuf>,

    /// The chip on which launches are timed: h200, h100, or a file that says what another one is like
    #[arg(long, value_name = "CHIP", default_value = "h200", help_heading = REPORT)]
    pub(crate) chip: PathBuf,
    /// Measure on this machine's device what can be measured of it, and write that as a chip's file, for --chip; what cannot is
    /// that of --chip
    #[arg(long, value_name = "CHIP.toml", conflicts_with_all = ["file", "program"], help_heading = REPORT)]
    pub(crate) calibrate: Option<PathBuf>,
    /// Time only the first so many blocks of a launch, and take the others to go on like them; otherwise those of eight rounds of
    /// resident blocks, and no more than 16,384
    #[arg(long, value_name = "BLOCKS", value_parser = parse_u64, help_heading = REPORT)]
    pub(crate) sample: Option<u64>,
    /// Count only: leave out how long launches take
    #[arg(long, help_heading = REPORT)]
    pub(crate) no_time: bool,

    /// Show only kernels whose name contains this
    #[arg(short, long, value_name = "KERNEL", help_heading = LAUNCH)]
    pub(crate) kernel: Option<String>,
    /// Of a program, pass over this many launches
    #[arg(long, value_name = "N", value_parser = parse_u64, conflicts_with = "file", help_heading = LAUNCH)]
    pub(crate) launch_skip: Option<u64>,
    /// Of a program, take only this many launches
    #[arg(long, value_name = "N", value_parser = parse_u64, conflicts_with = "file", help_heading = LAUNCH)]
    pub(crate) launch_count: Option<u64>,
    /// End the program when it launches more than the last of --launch-count
    #[arg(long, requires = "launch_count", help_heading = LAUNCH)]
    pub(crate) kill: bool,
    /// Of a program, leave out launches once the memory of those before, which is kept until they are measured, takes this many
    /// bytes, or with a unit: 512MiB, 4G; otherwise half of what is free
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with = "file", help_heading = LAUNCH)]
    pub(crate) save_most: Option<u64>,
    /// End a launch after this many warp instructions
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) max_instructions: Option<u64>,
    /// End a launch, or what is done to measure it, after this time: 30s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = CHECKS)]
    pub(crate) timeout: Option<Duration>,
}

/// The names of sections.
fn section_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(warpgrind::profile::Section::ALL.map(|(_, name)| name))
}

pub(super) const PROFILE_HELP: &str = "\
Requests, sectors, wavefronts and bank conflicts are counted as an H200 counts them, and a model of it says how long launches
take; cli/PROFILE.md says what is exact and what is not. Registers and machine instructions need ptxas and nvdisasm, which are looked for in CUDA_HOME, CUDA_PATH, PATH and
NVIDIA's Python packages; without them registers are estimated and instructions those of the PTX, which is said.

Examples:
  warpgrind profile launch.toml --section memory
  warpgrind profile launch.toml --metrics l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum --csv
  warpgrind profile launch.toml --import ncu.csv
  warpgrind profile --kernel reduce -- ./app
  warpgrind profile --record ncu.csv -- ./app
  warpgrind profile --calibrate chip.toml";
