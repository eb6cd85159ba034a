//! The arguments of `exec`, and what it tells the processes that it becomes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sim_core::{AsyncPolicy, Engine};
use tools::Tool;

use super::findings::FindingArgs;
use super::headings::{CHECKS, DEVICE, REPORT};
use super::values::{async_parser, engine_parser, parse_bytes, parse_duration, parse_u64, tool_parser};

/// `warpgrind exec`
#[derive(Args, Debug)]
pub(crate) struct ExecArgs {
    /// The program and its arguments
    #[arg(
        required_unless_present = "show_env",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,

    /// The process that has this one run a program for it, and takes it with it when it is killed
    #[arg(long, hide = true)]
    pub(crate) ends_with: Option<i32>,
    /// Note in a file what the program has its devices do, for a process that draws it
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// The socket at which saved launches wait for whoever debugs them
    #[arg(long, hide = true, requires = "save_launches")]
    pub(crate) hold: Option<PathBuf>,
    /// Print the variables that the program is given, and run nothing. The folder that they lead to stays
    #[arg(long)]
    pub(crate) show_env: bool,

    /// Print what each launch executed
    #[arg(long, help_heading = REPORT)]
    pub(crate) stats: bool,
    /// Write all launches with their findings as JSON
    #[arg(long, value_name = "FILE", help_heading = REPORT)]
    pub(crate) json: Option<PathBuf>,
    /// Write each launch as a launch file with its buffers, for `warpgrind run`
    #[arg(long, value_name = "DIR", help_heading = REPORT)]
    pub(crate) save_launches: Option<PathBuf>,
    /// Leave out launches once those that are written take this many bytes, or with a unit: 512MiB, 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, requires = "save_launches", help_heading = REPORT)]
    pub(crate) save_most: Option<u64>,

    /// Tools that look on
    #[arg(short, long, value_parser = tool_parser(), value_delimiter = ',', value_name = "TOOL", help_heading = CHECKS)]
    pub(crate) tool: Vec<Tool>,
    /// Apply the further checks, --stats, --json and --save-launches only to kernels whose name contains this
    #[arg(long, value_name = "KERNEL", help_heading = CHECKS)]
    pub(crate) filter: Option<String>,
    /// … only after this many of those launches
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) launch_skip: Option<u64>,
    /// … only to this many of those launches
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) launch_count: Option<u64>,
    /// End the program, with status 0, when it launches more than the last of them
    #[arg(long, requires = "launch_count", help_heading = CHECKS)]
    pub(crate) kill: bool,
    /// The exit status if something was found; otherwise the program's own is passed through
    #[arg(long, value_name = "N", help_heading = CHECKS)]
    pub(crate) error_exitcode: Option<u8>,
    /// Chooses the schedule; 0 is round robin
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) seed: u64,
    /// When asynchronous copies and stores are done: where they are issued, as late as the waits for them allow, or at times
    /// that follow from --seed
    #[arg(long = "async", value_name = "WHEN", value_parser = async_parser(), default_value = "eager", hide_default_value = true, help_heading = CHECKS)]
    pub(crate) asynchrony: AsyncPolicy,
    /// What runs instructions: the interpreter, code compiled for the host, or that where it pays
    #[arg(long, value_name = "ENGINE", value_parser = engine_parser(), default_value = "auto", hide_default_value = true, help_heading = CHECKS)]
    pub(crate) engine: Engine,
    /// End a launch after this time: 30s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = CHECKS)]
    pub(crate) timeout: Option<Duration>,

    /// What is done with findings.
    #[command(flatten)]
    pub(crate) findings: FindingArgs,

    /// How many devices there are
    #[arg(long, value_name = "N", help_heading = DEVICE)]
    pub(crate) devices: Option<u32>,
    /// Compute capability times ten, 90 if not said
    #[arg(long, value_name = "SM", help_heading = DEVICE)]
    pub(crate) sm: Option<u16>,
    /// Streaming multiprocessors of a device
    #[arg(long, value_name = "N", help_heading = DEVICE)]
    pub(crate) multiprocessors: Option<u32>,
    /// Device memory in bytes, or with a unit: 512MiB, 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = DEVICE)]
    pub(crate) memory: Option<u64>,
}

/// What `exec` tells the process that becomes its program.
#[derive(Args, Clone, Debug)]
pub(crate) struct StartArgs {
    /// The process that must live
    #[arg(long)]
    pub(crate) parent: i32,
    /// The file for the number of an error
    #[arg(long)]
    pub(crate) note: PathBuf,
    /// A variable of the program: NAME=VALUE
    #[arg(long)]
    pub(crate) set: Vec<OsString>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

pub(super) const EXEC_HELP: &str = "\
The program finds warpgrind's libcuda.so.1 and libcudart.so.12 and .13 instead of NVIDIA's, also where it carries a
path to those. It must carry PTX (`nvcc -arch=sm_90` embeds it) or compile it at run time, and use the shared runtime
library (`nvcc -cudart shared`) or the driver interface: NVIDIA's static runtime asks the driver to prove that it is
NVIDIA's, which is not answered.

Faults are reported as `warpgrind run` does, and the program sees CUDA's error codes. Its exit status is
passed through; 128 and the number of the signal if one ended it. Children of the program are treated alike.

NVIDIA's NVRTC and nvJitLink are used where programs use them, and asked for PTX where those ask for machine
code. They are looked for in CUDA_HOME, in LD_LIBRARY_PATH, among Python's packages and where systems have them.

Examples:
  warpgrind exec -- ./app --size 1024
  warpgrind exec --tool racecheck --filter reduce --error-exitcode 1 -- python train.py
  warpgrind exec --save-launches launches -- ./app && warpgrind run launches/0000-saxpy/LAUNCH.toml";
