//! The command line, as clap sees it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Effects};
use clap::builder::{PossibleValue, PossibleValuesParser, Styles, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use device::OptLevel;
use memory_model::Property;
use memory_model::model::ModelName;
use sim_core::{AsyncPolicy, Dim3};
use tools::Tool;
use warpgrind::array::parse_integer;

use crate::exit::{Exit, Failure};

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
    #[command(after_long_help = ARG_HELP)]
    Run(Box<RunArgs>),
    /// Run a CUDA program with no GPU: its kernels run from the PTX in it
    #[command(after_long_help = EXEC_HELP)]
    Exec(Box<ExecArgs>),
    /// Say whether PTX files are valid and can be run
    Check(CheckArgs),
    /// Decide what the PTX memory model allows litmus tests to do
    #[command(after_long_help = LITMUS_HELP)]
    Litmus(Box<LitmusArgs>),
    /// List the CUDA devices of this machine
    Devices(DriverArgs),
    /// Run launch files on the simulator and on a CUDA device, and say where they differ
    #[command(after_long_help = COMPARE_HELP)]
    Compare(Box<CompareArgs>),
    /// Keep what a CUDA device makes of launch files, for `compare` where there is none
    #[command(after_long_help = RECORD_HELP)]
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
    #[command(after_long_help = PROFILE_HELP)]
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
            Self::Check(_) => "check",
            Self::Litmus(args) if args.verb.is_some() => "litmus diff",
            Self::Litmus(_) => "litmus",
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

/// `warpgrind run`
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// PTX files, linked by name (`-` is standard input), or one launch file (`.toml`)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The kernel, by its PTX or its C++ name; may be left out if there is only one
    #[arg(short, long, visible_alias = "kernel", value_name = "KERNEL", help_heading = LAUNCH)]
    pub(crate) entry: Option<String>,
    /// Blocks in the grid
    #[arg(short, long, value_name = "X[,Y[,Z]]", value_parser = parse_dim3, help_heading = LAUNCH)]
    pub(crate) grid: Option<Dim3>,
    /// Threads in a block
    #[arg(short, long, value_name = "X[,Y[,Z]]", value_parser = parse_dim3, help_heading = LAUNCH)]
    pub(crate) block: Option<Dim3>,
    /// Blocks in a cluster
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_dim3, help_heading = LAUNCH)]
    pub(crate) cluster: Option<Dim3>,
    /// Dynamic shared memory in bytes
    #[arg(short, long, value_name = "BYTES", value_parser = parse_u32, help_heading = LAUNCH)]
    pub(crate) shared: Option<u32>,
    /// All blocks must be resident at once, as in cudaLaunchCooperativeKernel
    #[arg(long, help_heading = LAUNCH)]
    pub(crate) cooperative: bool,
    /// Round every product and every sum. Otherwise some become one fma, as NVIDIA's compiler makes it where the PTX
    /// does not say how to round
    #[arg(long, help_heading = LAUNCH)]
    pub(crate) no_contraction: bool,
    /// Have instructions do what the optimiser of NVIDIA's compiler is known to make of them; `check` names those where it
    /// leaves the PTX manual
    #[arg(long, help_heading = LAUNCH)]
    pub(crate) as_optimised: bool,
    /// An argument, in order of the kernel's parameters; --help explains the forms
    #[arg(short, long = "arg", value_name = "ARG", allow_hyphen_values = true, help_heading = LAUNCH)]
    pub(crate) args: Vec<String>,

    #[allow(rustdoc::broken_intra_doc_links, reason = "the text is that of the help")]
    /// A buffer that is no argument itself, for addresses such as &NAME: NAME=TYPE[SHAPE]=CONTENTS>OUTPUT
    #[arg(long, value_name = "NAME=BUFFER", help_heading = LAUNCH)]
    pub(crate) buffer: Vec<String>,

    /// Print the first N elements (16 if not said) of a buffer or module variable afterwards
    #[arg(short, long, value_name = "NAME[:N]", help_heading = REPORT)]
    pub(crate) print: Vec<String>,
    /// Print what was executed: instructions, active lanes, divergence, memory traffic, time
    #[arg(long, help_heading = REPORT)]
    pub(crate) stats: bool,
    /// Where sources named in .file directives are looked for
    #[arg(long, value_name = "DIR", help_heading = REPORT)]
    pub(crate) source_root: Option<PathBuf>,

    /// Tools that look on
    #[arg(short, long, value_parser = tool_parser(), value_delimiter = ',', value_name = "TOOL", help_heading = CHECKS)]
    pub(crate) tool: Vec<Tool>,
    /// Chooses the schedule; 0 is round robin. With --jobs 1 one seed gives one schedule
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) seed: u64,
    /// When asynchronous copies and stores are done: where they are issued, as late as the waits for them allow, or at times
    /// that follow from --seed
    #[arg(long = "async", value_name = "WHEN", value_parser = async_parser(), default_value = "eager", hide_default_value = true, help_heading = CHECKS)]
    pub(crate) asynchrony: AsyncPolicy,
    /// End a launch after this many warp instructions
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) max_instructions: Option<u64>,
    /// End a launch after this time: 30s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = CHECKS)]
    pub(crate) timeout: Option<Duration>,

    /// What is done with findings.
    #[command(flatten)]
    pub(crate) findings: FindingArgs,
}

/// What is done with findings.
#[derive(Args, Debug)]
pub(crate) struct FindingArgs {
    /// Write the findings into a file, too: FILE.html is a page to look at, FILE.sarif SARIF, FILE.xml JUnit's XML,
    /// FILE.github workflow commands, FILE.json the JSON document
    #[arg(long, value_name = "FILE", help_heading = REPORT)]
    pub(crate) report: Option<PathBuf>,
    /// Leave out the findings that this TOML file names, each with a reason; may be given several times
    #[arg(long, value_name = "FILE", help_heading = FINDINGS)]
    pub(crate) suppressions: Vec<PathBuf>,
    /// What comes of suppressions that match nothing: warn, if not said; with error they count as a finding
    #[arg(long, value_enum, default_value_t = Unused::Warn, hide_possible_values = true, hide_default_value = true, value_name = "ignore|warn|error", help_heading = FINDINGS)]
    pub(crate) unused_suppressions: Unused,
    /// Print a suppression for each finding, to be put into such a file with a reason
    #[arg(long, visible_alias = "gen-suppressions", help_heading = FINDINGS)]
    pub(crate) print_suppressions: bool,
    /// Leave out the findings that this file of --write-baseline knows: only new ones count
    #[arg(long, value_name = "FILE", help_heading = FINDINGS)]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings that are not suppressed into a file for --baseline; they count as known
    #[arg(long, visible_alias = "generate-baseline", value_name = "FILE", help_heading = FINDINGS)]
    pub(crate) write_baseline: Option<PathBuf>,
}

/// What comes of suppressions that match nothing.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unused {
    /// Nothing.
    Ignore,
    /// They are named.
    Warn,
    /// They count as a finding.
    Error,
}

const FINDINGS: &str = "Findings that are expected";
const LAUNCH: &str = "Launch";
const RUNNING: &str = "Running the tests";
const REPORT: &str = "Report";
const CHECKS: &str = "Checks and limits";

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

const EXEC_HELP: &str = "\
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

/// Names of policies.
fn async_parser() -> impl TypedValueParser<Value = AsyncPolicy> {
    let named = AsyncPolicy::ALL.map(AsyncPolicy::name);
    PossibleValuesParser::new(named).try_map(|name| AsyncPolicy::named(&name).ok_or("no such policy"))
}

/// racecheck hears of operations where they are issued.
pub(crate) fn check_async(tools: &[Tool], asynchrony: AsyncPolicy) -> Result<(), Failure> {
    if asynchrony == AsyncPolicy::Eager || !tools.contains(&Tool::Racecheck) {
        return Ok(());
    }
    Err(Failure::usage(format!("`--async {}` cannot be given with racecheck", asynchrony.name()))
        .help("racecheck finds what is not waited for whenever it is done; without it results show that"))
}

/// Names of tools, as the registry has them.
fn tool_parser() -> impl TypedValueParser<Value = Tool> {
    let named = Tool::ALL.iter().map(|tool| PossibleValue::new(tool.name()).help(tool.about()));
    PossibleValuesParser::new(named).try_map(|name| Tool::named(&name).ok_or("no such tool"))
}

/// `warpgrind check`
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// PTX files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print nothing but errors that concern the command itself
    #[arg(short, long, conflicts_with = "list")]
    pub(crate) quiet: bool,
    /// List the kernels with their parameters, registers, shared and local memory
    #[arg(short, long)]
    pub(crate) list: bool,
    /// What is done with findings.
    #[command(flatten)]
    pub(crate) findings: FindingArgs,
}

/// `warpgrind litmus`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct LitmusArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<LitmusVerb>,

    /// Litmus tests: .litmus, NVIDIA's .test, .ptx with a `//@ litmus` header, or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The memory model: isa (the newest text), cat-7.5 and cat-6.0 (the published models), sc, or a file FILE.cat
    #[arg(short, long, value_parser = str::parse::<ModelChoice>, default_value = "isa", value_name = "MODEL")]
    pub(crate) model: ModelChoice,
    /// What is asked: assertion, termination, races, barrier-divergence
    #[arg(short, long, value_parser = names(Property::ALL.map(Property::as_str), str::parse::<Property>), default_value = "assertion", hide_possible_values = true, value_name = "PROPERTY")]
    pub(crate) property: Property,
    /// How often a loop is entered; without it 1, 2, 4 and 8 are tried until the verdict is settled
    #[arg(short, long, value_name = "N", value_parser = parse_u32)]
    pub(crate) bound: Option<u32>,
    /// Give up on a test after this time (30s, 500ms, 2m); the verdict is then unknown
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2m")]
    pub(crate) timeout: Duration,

    /// Show an execution for what is possible, and what cuts each candidate for what is not
    #[arg(short, long, help_heading = REPORT)]
    pub(crate) explain: bool,
    /// Write the execution, or the first candidate that is cut, as a DOT graph; for several tests a folder
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) dot: Option<PathBuf>,
    /// List the outcomes: what the observed registers and locations can hold together
    #[arg(short, long, help_heading = REPORT)]
    pub(crate) outcomes: bool,
    /// Count the executions behind each outcome
    #[arg(long, requires = "outcomes", help_heading = REPORT)]
    pub(crate) count: bool,
    /// Write each test as a PTX kernel, as the simulator and the device run it; for several tests a folder
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) ptx: Option<PathBuf>,

    /// Run so many instances on the simulator under random schedules and count the outcomes
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = RUNNING)]
    pub(crate) simulate: Option<u64>,
    /// With --simulate: memory that shows weak behaviour
    #[arg(long, requires = "simulate", help_heading = RUNNING)]
    pub(crate) weak: bool,
    /// Run so many instances on a CUDA device, under memory stress, and count the outcomes
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = RUNNING)]
    pub(crate) device: Option<u64>,
    /// The device's number
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_u32, help_heading = RUNNING)]
    pub(crate) device_index: u32,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// Chooses schedules, delays and placements
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = parse_u64, help_heading = RUNNING)]
    pub(crate) seed: u64,

    /// What is done with findings.
    #[command(flatten)]
    pub(crate) findings: FindingArgs,
}

/// What `warpgrind litmus` does but judging tests.
#[derive(Subcommand, Debug)]
pub(crate) enum LitmusVerb {
    /// Find the smallest programs of which one memory model allows what another one forbids
    #[command(after_long_help = DIFF_HELP)]
    Diff(DiffArgs),
}

/// `warpgrind litmus diff`
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// A memory model: isa, cat-7.5, cat-6.0, sc, or a file FILE.cat
    #[arg(value_name = "A", value_parser = str::parse::<ModelChoice>)]
    pub(crate) first: ModelChoice,
    /// Another one
    #[arg(value_name = "B", value_parser = str::parse::<ModelChoice>)]
    pub(crate) second: ModelChoice,
    /// Most instructions of a program
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    pub(crate) instructions: usize,
    /// Most threads of a program, up to 4
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) threads: usize,
    /// Most locations of a program, up to 4
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) locations: usize,
    /// Scopes of its instructions; with cta threads stand in one block or in several
    #[arg(long, value_name = "SCOPE,...", value_delimiter = ',', value_parser = parse_scope, default_value = "gpu")]
    pub(crate) scopes: Vec<memory_model::program::Scope>,
    /// Leave kinds of instructions out, whose differences hide larger ones: ld, st, atom, cas, red, fence.acq_rel,
    /// fence.sc, bar.sync
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = parse_kind)]
    pub(crate) without: Vec<memory_model::diff::Kind>,
    /// Give up on a program after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub(crate) timeout: Duration,
    /// Write the smallest test of each kind of difference into this folder
    #[arg(short, long, value_name = "DIR", help_heading = REPORT)]
    pub(crate) output: Option<PathBuf>,
}

fn parse_scope(s: &str) -> Result<memory_model::program::Scope, String> {
    use memory_model::program::Scope;
    [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys]
        .into_iter()
        .find(|scope| scope.text() == s)
        .ok_or_else(|| format!("unknown scope `{s}`; one of cta, cluster, gpu, sys"))
}

fn parse_kind(s: &str) -> Result<memory_model::diff::Kind, String> {
    use memory_model::diff::Kind;
    let known = || Kind::all().map(Kind::name).collect::<Vec<_>>().join(", ");
    Kind::named(s).ok_or_else(|| format!("unknown kind `{s}`; one of {}", known()))
}

const DIFF_HELP: &str = "\
All programs up to the bounds are looked at, each once up to the names of threads and locations: loads and stores of
every order, exchanges, a cas that fails, reductions, fences, and barriers where threads stand in one block. A program is
shown if no program with fewer of its instructions differs already; programs alike are counted together.

Examples:
  warpgrind litmus diff isa cat-7.5
  warpgrind litmus diff isa mine.cat --instructions 4 --scopes cta,gpu -o differences/

Exit codes: 0 the models agree on all of them, 1 they differ, 2 usage, 3 a model is not well formed.";

/// A memory model: built in, or in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    /// By name.
    BuiltIn(ModelName),
    /// A file in the cat language.
    File(PathBuf),
}

impl std::str::FromStr for ModelChoice {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if std::path::Path::new(s).extension().is_some_and(|extension| extension == "cat") {
            return Ok(Self::File(PathBuf::from(s)));
        }
        let wrong =
            |_| format!("unknown model `{s}`; one of isa, cat-7.5, cat-6.0, sc, or a file that ends in .cat");
        s.parse().map(Self::BuiltIn).map_err(wrong)
    }
}

impl std::fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn(name) => name.fmt(f),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// A parser of one of these names.
fn names<T: Clone + Send + Sync + 'static, const N: usize>(
    names: [&'static str; N],
    parse: fn(&str) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| parse(&name))
}

const LITMUS_HELP: &str = "\
A test asks a question about the final state of a small program, such as `exists (1:r0 == 1 /\\ 1:r1 == 0)`.
The verdict says what the model allows; whether the assertion as written is true decides the exit code.

  exists c     some execution ends with c        allowed: true      forbidden: false
  ~exists c    none does                         allowed: false     forbidden: true
  forall c     every execution ends with c       always: true       not always: false

Examples:
  warpgrind litmus MP.litmus --explain
  warpgrind litmus tests/ --model cat-7.5 --format json
  warpgrind litmus tests/ --model mine.cat
  warpgrind litmus lock.litmus --property termination --bound 3
  warpgrind litmus tests/ --simulate 10000 --weak --seed 7
  warpgrind litmus tests/ --device 1000000

Exit codes: 0 every assertion or property holds, 1 one does not, the model leaves the program undefined, or a
run showed an outcome that the model forbids, 2 usage, 3 a test is not well formed, 4 a test cannot be run,
5 a limit left a verdict unknown, 6 no device.";

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

const DEVICE: &str = "Device";

const COMPARE_HELP: &str = "\
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

const RECORD_HELP: &str = "\
A recording holds how the launches ended, what they printed and what they changed, with the names of device and driver \
and hashes of PTX and inputs. It is a gzip file that begins with a line of JSON: `zcat FILE | head -1`. A recording \
that is there already is replaced once the new one is complete, never by half of one. Beside the results at the \
level of `--device-opt` it keeps those of the device with its optimiser off, where they differ, and whether a second \
run gave the same.

Examples:
  warpgrind record saxpy.toml -o saxpy.wgrec
  warpgrind record testdata/launches/*.toml -o testdata/recordings

Exit codes: 0 recorded, 2 usage, 3 invalid PTX, 6 no device that can do it.";

/// `warpgrind profile`
#[derive(Args, Debug)]
pub(crate) struct ProfileArgs {
    /// A launch file
    #[arg(value_name = "FILE.toml", conflicts_with = "program", required_unless_present = "program")]
    pub(crate) file: Option<PathBuf>,
    /// A program and its arguments, to be run as `exec` does
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,

    /// The numbers to show, by name
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = REPORT)]
    pub(crate) metrics: Vec<String>,
    /// Groups of numbers to show: launch, occupancy, memory, instructions, source, code
    #[arg(long, value_name = "SECTION", value_delimiter = ',', value_parser = section_parser(), help_heading = REPORT)]
    pub(crate) section: Vec<String>,
    /// Write what `ncu --csv --page raw` writes
    #[arg(long, help_heading = REPORT)]
    pub(crate) csv: bool,
    /// Show the numbers beside those of a page that `ncu --csv --page raw` wrote, with the difference
    #[arg(long, value_name = "NCU.csv", help_heading = REPORT)]
    pub(crate) import: Option<PathBuf>,
    /// The assembler that says how many registers kernels take; otherwise it is looked for
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) ptxas: Option<PathBuf>,
    /// The disassembler that lists machine code; otherwise it is looked for beside ptxas
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) nvdisasm: Option<PathBuf>,

    /// Show only kernels whose name contains this
    #[arg(short, long, value_name = "KERNEL", help_heading = LAUNCH)]
    pub(crate) kernel: Option<String>,
    /// Of a program, pass over this many launches
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = LAUNCH)]
    pub(crate) launch_skip: Option<u64>,
    /// Of a program, take only this many launches
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = LAUNCH)]
    pub(crate) launch_count: Option<u64>,
    /// End a launch after this many warp instructions
    #[arg(long, value_name = "N", value_parser = parse_u64, help_heading = CHECKS)]
    pub(crate) max_instructions: Option<u64>,
    /// End a launch after this time: 30s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = CHECKS)]
    pub(crate) timeout: Option<Duration>,
}

/// The names of sections.
fn section_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(warpgrind::profile::Section::ALL.map(|(_, name)| name))
}

const PROFILE_HELP: &str = "\
Requests, sectors, wavefronts and bank conflicts are counted as an H200 counts them; cli/PROFILE.md says what is exact and
what is not. Registers and machine instructions need ptxas and nvdisasm, which are looked for in CUDA_HOME, CUDA_PATH, PATH and
NVIDIA's Python packages; without them registers are estimated and instructions those of the PTX, which is said.

Examples:
  warpgrind profile launch.toml --section memory
  warpgrind profile launch.toml --metrics l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum --csv
  warpgrind profile launch.toml --import ncu.csv
  warpgrind profile --kernel reduce -- ./app";

/// `warpgrind occupancy`
#[derive(Args, Debug)]
pub(crate) struct OccupancyArgs {
    /// PTX files, linked by name; `-` is standard input. Without them --registers is needed
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The kernel; not needed if there is only one
    #[arg(short, long, value_name = "KERNEL")]
    pub(crate) entry: Option<String>,
    /// Threads a block
    #[arg(short, long, value_name = "N", default_value_t = 256, value_parser = parse_u32)]
    pub(crate) threads: u32,
    /// Registers a thread, as `ptxas -v` says it; otherwise they are estimated from the PTX
    #[arg(short, long, value_name = "N", value_parser = parse_u32)]
    pub(crate) registers: Option<u32>,
    /// Bytes of shared memory a block, besides the kernel's own variables
    #[arg(short, long, value_name = "BYTES", default_value_t = 0, hide_default_value = true, value_parser = parse_u32)]
    pub(crate) shared: u32,
}

/// `warpgrind explain`
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A code such as E0203 or a kind such as out-of-bounds; without it, all are listed
    pub(crate) code: Option<String>,
}

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

/// `warpgrind selftest`
#[derive(Subcommand, Debug)]
pub(crate) enum SelfTest {
    /// Approximate functions and conversions: hashes over one-operand operations
    ///
    /// Recomputes hashes of 32 operations and compares them with those of an H200. Without --exhaustive
    /// a sample of about 12 million inputs each, in seconds.
    Numerics(NumericsArgs),
}

/// `warpgrind selftest numerics`
#[derive(Args, Debug)]
pub(crate) struct NumericsArgs {
    /// All 2^32 inputs of every operation
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// Only this operation, such as sin.approx.f32; may be given several times
    #[arg(long, value_name = "OP")]
    pub(crate) only: Vec<String>,
    /// With --exhaustive, only part I of N equal parts of the inputs
    #[arg(long, value_name = "I/N", requires = "exhaustive", value_parser = parse_shard)]
    pub(crate) shard: Option<(usize, usize)>,
}

const ARG_HELP: &str = "\
Arguments are given in the order of the kernel's parameters (`warpgrind check --list FILE` shows them):

  Numbers       42  -1  1.5f  0x10  f32:1.5  u64:0x10  i8:-1  bf16:0.1  0f3F800000
                Without a type they take the parameter's. Types: u8 u16 u32 u64 i8 i16 i32 i64
                f16 bf16 f32 f64 e4m3 e5m2.
  Buffers       TYPE[SHAPE]=CONTENTS>OUTPUT, of which CONTENTS and OUTPUT may be left out
                'f32[1024]=0'             1024 zeros
                'f32[64,32]=random:7:-1..1'  random values with seed 7 between -1 and 1
                'f32[64]=randint:-8..8'   random whole numbers
                'i32[1024]=seq'           0, 1, 2, ...; seq:START:STEP
                'i32=1,2,3'               these, 'i32=7' one; 'i32[99]=cycle:1,2,3' repeats them
                '@x.npy'                  a .npy file with its type and shape
                'f32=@x.raw'              raw little-endian bytes
                'f32[1024]>y.npy'         saved afterwards; '>y.raw' raw; '>-' printed
  Names         'y=f32[1024]=0' names a buffer for --print and for findings
  References    '&y' or '&y+16' passes the address of a buffer again, plus bytes; of one that another
                argument or --buffer 'y=…' defines, before or after, or of a variable of the module
  Structs       hex:0100000002000000 or bytes:@FILE

Examples:
  warpgrind run a.ptx -e saxpy -g 4 -b 256 -a 1024 -a 2.0 -a 'f32[1024]=seq' -a 'f32[1024]=1>-'
  warpgrind run a.ptx -e sum -g 64 -b 256 -a @in.npy -a 'total=f32[1]=0' -a 16384 -p total
  warpgrind run launch.toml --stats --tool initcheck

Exit codes: 0 clean, 1 findings or wrong values, 2 usage, 3 invalid PTX, 4 unsupported, 5 the kernel
did not finish, 6 no device.";

fn parse_dim3(text: &str) -> Result<Dim3, String> {
    let extents = text.split([',', 'x']).map(|part| parse_u32(part.trim())).collect::<Result<Vec<_>, _>>()?;
    match extents[..] {
        [x] => Ok(x.into()),
        [x, y] => Ok((x, y).into()),
        [x, y, z] => Ok((x, y, z).into()),
        _ => Err("at most three extents".into()),
    }
}

fn parse_u64(text: &str) -> Result<u64, String> {
    let value = parse_integer(text).ok_or_else(|| format!("`{text}` is not a whole number"))?;
    u64::try_from(value).map_err(|_| format!("{text} is not between 0 and {}", u64::MAX))
}

fn parse_u32(text: &str) -> Result<u32, String> {
    parse_u64(text)?.try_into().map_err(|_| format!("{text} is more than {}", u32::MAX))
}

/// Part and number of parts, the part from 1.
fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((part, of)) if 1 <= part && part <= of && of <= 4096 => Ok((part, of)),
        _ => Err(format!("`{text}` is not a part such as 1/4 (of at most 4096)")),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is not a unit of time: ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a time such as 30s"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

/// A count of bytes: a whole number, or one with `K`, `M`, `G`, `T` (also `KiB` and so on) for powers of 1024, or `KB` and so on
/// for powers of 1000.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).filter(|_| !text.starts_with("0x"));
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let power = |letter: &str| ["", "k", "m", "g", "t"].iter().position(|known| *known == letter);
    let lower = unit.to_ascii_lowercase();
    let (base, letter) = match lower.strip_suffix("ib").or(lower.strip_suffix('b')) {
        Some(letter) if !lower.ends_with("ib") => (1000u64, letter),
        Some(letter) => (1024, letter),
        None => (1024, &*lower),
    };
    let power =
        power(letter).ok_or_else(|| format!("`{unit}` is not a unit of bytes: KiB, MiB, GiB or TiB"))?;
    let number = parse_u64(number)?;
    let bytes = base.checked_pow(power as u32).and_then(|unit| number.checked_mul(unit));
    bytes.ok_or_else(|| format!("{text} is more than there can be"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn bytes_have_units() {
        let sizes = [
            ("0", 0),
            ("4096", 4096),
            ("0x10", 16),
            ("1k", 1 << 10),
            ("512MiB", 512 << 20),
            ("4G", 4 << 30),
            ("2TiB", 2 << 40),
            ("3MB", 3_000_000),
            ("7b", 7),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for (text, why) in [
            ("4X", "`X` is not a unit of bytes: KiB, MiB, GiB or TiB"),
            ("4PiB", "`PiB` is not a unit of bytes: KiB, MiB, GiB or TiB"),
            ("G", "`` is not a whole number"),
            ("", "`` is not a whole number"),
            ("-1G", "-1 is not between 0 and 18446744073709551615"),
            ("18000000000GiB", "18000000000GiB is more than there can be"),
        ] {
            assert_eq!(parse_bytes(text), Err(why.into()), "{text}");
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn extents_and_times_are_parsed() {
        assert_eq!(parse_dim3("4"), Ok(Dim3::new(4, 1, 1)));
        assert_eq!(parse_dim3("4,5x6"), Ok(Dim3::new(4, 5, 6)));
        assert!(parse_dim3("1,2,3,4").is_err());
        assert!(parse_dim3("-1").is_err());
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(parse_duration("5 years").is_err());
        assert_eq!(parse_u64("1_000"), Ok(1000));
    }

    #[test]
    fn shards_are_parsed() {
        assert_eq!(parse_shard("1/4"), Ok((1, 4)));
        for wrong in ["0/4", "5/4", "1", "a/b", "1/5000", "1/-1"] {
            assert!(parse_shard(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_may_start_with_a_hyphen() {
        let cli = Cli::try_parse_from(["warpgrind", "run", "a.ptx", "--arg", "-1", "-a", "2"]).unwrap();
        let Command::Run(run) = cli.command else { panic!("run expected") };
        assert_eq!(run.args, ["-1", "2"]);
    }
}
