//! The command line, as clap sees it: a file a verb.

use std::path::PathBuf;

use clap::builder::Styles;
use clap::builder::styling::{AnsiColor, Effects};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::exit::Exit;

mod check;
mod compare;
mod conformance;
mod dap;
mod debug;
mod device;
mod exec;
mod explain;
mod findings;
mod headings;
mod launch;
mod litmus;
mod occupancy;
mod profile;
mod record;
mod run;
mod selftest;
mod values;

pub(crate) use check::CheckArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use conformance::{ConformanceCommand, ConformanceRecordArgs, RandomArgs, VerifyArgs};
pub(crate) use dap::DapArgs;
pub(crate) use debug::{DebugArgs, ScriptArgs};
pub(crate) use device::{DriverArgs, OnDeviceArgs};
pub(crate) use exec::{ExecArgs, StartArgs};
pub(crate) use explain::ExplainArgs;
pub(crate) use findings::{FindingArgs, Unused};
pub(crate) use launch::LaunchArgs;
pub(crate) use litmus::{
    DiffArgs, GenerateArgs, LitmusArgs, LitmusVerb, MapArgs, ModelChoice, ProgressArgs, TuneArgs,
};
pub(crate) use occupancy::OccupancyArgs;
pub(crate) use profile::ProfileArgs;
pub(crate) use record::RecordArgs;
pub(crate) use run::RunArgs;
pub(crate) use selftest::{NumericsArgs, SelfTest};
pub(crate) use values::note_engine;

/// Runs CUDA kernels from their PTX with no GPU and finds their memory errors.
#[derive(Parser, Debug)]
#[command(name = "warpgrind", version, max_term_width = 100, styles = STYLES, after_help = exit_codes())]
#[command(arg_required_else_help = true, infer_subcommands = false)]
pub(crate) struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default());

fn exit_codes() -> String {
    let lines = Exit::ALL.iter().map(|(exit, meaning)| format!("\n  {}  {meaning}", exit.code()));
    format!("Exit codes:{}", lines.collect::<String>())
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// How results and findings are written; all but the first go to standard output as one document. sarif, junit and
    /// github are for run, check and litmus
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, hide_possible_values = true, value_name = "human|json|sarif|junit|github")]
    pub(crate) format: Format,
    /// Whether to colour the output
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, hide_possible_values = true, value_name = "auto|always|never")]
    pub(crate) color: Color,
    /// Worker threads; 0 takes one a core
    #[arg(
        short,
        long,
        global = true,
        env = "WARPGRIND_JOBS",
        default_value_t = 0,
        value_name = "N",
        hide_default_value = true
    )]
    pub(crate) jobs: usize,
}

/// How output is written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// For programs; `cli/REPORT.md` describes it.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit's XML, a test case for each launch, file or litmus test.
    Junit,
    /// Workflow commands of GitHub, which it shows beside the source.
    Github,
}

/// Whether output is coloured.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a kernel of PTX files, or what a launch file says
    #[command(after_long_help = run::ARG_HELP)]
    Run(Box<RunArgs>),
    /// Run a CUDA program with no GPU: its kernels run from the PTX in it
    #[command(after_long_help = exec::EXEC_HELP)]
    Exec(Box<ExecArgs>),
    /// Debug a launch: breakpoints, steps, values of all lanes, and back in time
    #[command(after_long_help = debug::DEBUG_HELP)]
    Debug(Box<DebugArgs>),
    /// Debug launches from an editor, over the debug adapter protocol
    #[command(after_long_help = dap::DAP_HELP)]
    Dap(DapArgs),
    /// Say whether PTX files are valid and can be run
    Check(CheckArgs),
    /// Decide what the PTX memory model allows litmus tests to do
    #[command(after_long_help = litmus::LITMUS_HELP)]
    Litmus(Box<LitmusArgs>),
    /// List the CUDA devices of this machine
    Devices(DriverArgs),
    /// Run launch files on the simulator and on a CUDA device, and say where they differ
    #[command(after_long_help = compare::COMPARE_HELP)]
    Compare(Box<CompareArgs>),
    /// Keep what a CUDA device makes of launch files, for `compare` where there is none
    #[command(after_long_help = record::RECORD_HELP)]
    Record(Box<RecordArgs>),
    /// The process that uses the device for the others
    #[command(hide = true)]
    ServeDevice,
    /// List the devices, as programs under `exec` ask for them
    #[command(hide = true, disable_help_flag = true)]
    NvidiaSmi {
        /// Those of nvidia-smi
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Become the program of `exec`
    #[command(hide = true)]
    StartProgram(StartArgs),
    /// Start the program of `exec` and stay beside it
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    KeepProgram(StartArgs),
    /// Count what launches cost, by the names of Nsight Compute
    #[command(after_long_help = profile::PROFILE_HELP)]
    Profile(Box<ProfileArgs>),
    /// Say how many blocks of a kernel are resident on a multiprocessor, and what limits them
    Occupancy(OccupancyArgs),
    /// Explain the code of a diagnostic or the kind of a finding
    Explain(ExplainArgs),
    /// Check this build against what was recorded on an H200
    Selftest {
        /// What to check
        #[command(subcommand)]
        what: SelfTest,
    },
    /// Compare every instruction form with what was recorded on a device
    Conformance {
        /// What to do
        #[command(subcommand)]
        what: ConformanceCommand,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page
    Man {
        /// Of this command, such as `conformance verify`; without it, of warpgrind itself
        #[arg(value_name = "COMMAND", conflicts_with = "output")]
        verbs: Vec<String>,
        /// Write the pages of all commands into this folder
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

impl Command {
    /// The verb, as JSON documents name it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Exec(_) => "exec",
            Self::Debug(_) => "debug",
            Self::Dap(_) => "dap",
            Self::Check(_) => "check",
            Self::Litmus(args) => match args.verb {
                None => "litmus",
                Some(LitmusVerb::Diff(_)) => "litmus diff",
                Some(LitmusVerb::Generate(_)) => "litmus generate",
                Some(LitmusVerb::Map(_)) => "litmus map",
                Some(LitmusVerb::Tune(_)) => "litmus tune",
                Some(LitmusVerb::Progress(_)) => "litmus progress",
            },
            Self::Devices(_) => "devices",
            Self::Compare(_) => "compare",
            Self::Record(_) => "record",
            Self::ServeDevice => "serve-device",
            Self::NvidiaSmi { .. } => "nvidia-smi",
            Self::StartProgram(_) => "start-program",
            #[cfg(target_os = "linux")]
            Self::KeepProgram(_) => "keep-program",
            Self::Profile(_) => "profile",
            Self::Occupancy(_) => "occupancy",
            Self::Explain(_) => "explain",
            Self::Selftest { what: SelfTest::Numerics(_) } => "selftest numerics",
            Self::Conformance { what: ConformanceCommand::List { .. } } => "conformance list",
            Self::Conformance { what: ConformanceCommand::Record(_) } => "conformance record",
            Self::Conformance { what: ConformanceCommand::Verify(_) } => "conformance verify",
            Self::Conformance { what: ConformanceCommand::Report(_) } => "conformance report",
            Self::Conformance { what: ConformanceCommand::Random(_) } => "conformance random",
            Self::Completions { .. } => "completions",
            Self::Man { .. } => "man",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_may_start_with_a_hyphen() {
        let cli = Cli::try_parse_from(["warpgrind", "run", "a.ptx", "--arg", "-1", "-a", "2"]).unwrap();
        let Command::Run(run) = cli.command else { panic!("run expected") };
        assert_eq!(run.launch.args, ["-1", "2"]);
    }
}
