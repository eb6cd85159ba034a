//! The arguments of `debug`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use sim_core::AsyncPolicy;
use tools::Tool;

use super::headings::{CHECKS, LAUNCH, REPORT};
use super::launch::LaunchArgs;
use super::values::{async_parser, parse_u64, tool_parser};

/// `warpgrind debug`
#[derive(Args, Debug)]
pub(crate) struct DebugArgs {
    /// PTX files, linked by name, or one launch file (`.toml`)
    #[arg(required_unless_present = "program", conflicts_with = "program", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A program and its arguments, to be run as `exec` does: it stops before each of its launches
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,

    /// The launch.
    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    /// Of a program, pass over this many launches
    #[arg(long, value_name = "N", conflicts_with = "files", value_parser = parse_u64, help_heading = LAUNCH)]
    pub(crate) launch_skip: Option<u64>,
    /// Of a program, take only this many launches
    #[arg(long, value_name = "N", conflicts_with = "files", value_parser = parse_u64, help_heading = LAUNCH)]
    pub(crate) launch_count: Option<u64>,

    /// Of a program, what it reads from standard input; with --batch it reads ours otherwise, and else nothing
    #[arg(long, value_name = "FILE", conflicts_with = "files", help_heading = LAUNCH)]
    pub(crate) input: Option<PathBuf>,

    /// What the debugger is told to do.
    #[command(flatten)]
    pub(crate) script: ScriptArgs,

    /// Where sources named in .file directives are looked for
    #[arg(long, value_name = "DIR", help_heading = REPORT)]
    pub(crate) source_root: Option<PathBuf>,

    /// Tools whose findings are to be known: the launch then runs to its end once before it begins
    #[arg(short, long, value_parser = tool_parser(), value_delimiter = ',', value_name = "TOOL", help_heading = CHECKS)]
    pub(crate) tool: Vec<Tool>,
    /// Chooses the schedule; 0 is round robin
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) seed: u64,
    /// When asynchronous copies and stores are done: where they are issued, as late as the waits for them allow, or at times
    /// that follow from --seed
    #[arg(long = "async", value_name = "WHEN", value_parser = async_parser(), default_value = "eager", hide_default_value = true, help_heading = CHECKS)]
    pub(crate) asynchrony: AsyncPolicy,
}

/// Commands of the prompt that are given beforehand.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct ScriptArgs {
    /// A command of the prompt, before it appears; may be given several times
    #[arg(long = "ex", visible_alias = "eval-command", value_name = "COMMAND", allow_hyphen_values = true)]
    pub(crate) commands: Vec<String>,
    /// A file of commands, before those of --ex
    #[arg(short = 'x', long = "command", value_name = "FILE")]
    pub(crate) scripts: Vec<PathBuf>,
    /// End behind the last command instead of asking for more
    #[arg(long)]
    pub(crate) batch: bool,
}

pub(super) const DEBUG_HELP: &str = "\
The launch is given as for `warpgrind run`; `help` at the prompt lists its commands, which are cuda-gdb's. Without a
terminal commands come from standard input.

A program runs as under `warpgrind exec` and stops before each launch, or each whose kernel's name contains --kernel. The
prompt has a copy of the launch and of all memory that it can reach; when it is left, the program runs the launch itself, but
for what the kernel printed at the prompt. The program reads what --input names: the prompt has the terminal.

Examples:
  warpgrind debug launch.toml
  warpgrind debug gemm.ptx -g 4 -b 16,16 -a @a.npy -a @b.npy -a 'f32[64,64]' -a 64 -a 64 -a 64
  warpgrind debug --kernel gemm -- ./app --size 64
  warpgrind debug launch.toml --tool racecheck --ex 'finding 1' --ex 'finding 1 other' --ex backtrace --batch";
