//! The arguments of `litmus` and of what it does but judging tests.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use memory_model::model::ModelName;
use memory_model::{Property, Scheduler};
use warpgrind::litmus::progress::Mapping;

use super::device::CompilerArgs;
use super::findings::FindingArgs;
use super::headings::{REPORT, RUNNING};
use super::values::{names, parse_duration, parse_u32, parse_u64};

/// `warpgrind litmus`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct LitmusArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<LitmusVerb>,

    /// Litmus tests: .litmus, NVIDIA's .test, .progress, .ptx with a `//@ litmus` header, or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The memory model: isa (the newest text), cat-7.5 and cat-6.0 (the published models), sc, or a file FILE.cat
    #[arg(short, long, value_parser = str::parse::<ModelChoice>, default_value = "isa", value_name = "MODEL")]
    pub(crate) model: ModelChoice,
    /// What is asked: assertion, termination, races, barrier-divergence
    #[arg(short, long, value_parser = names(Property::ALL.map(Property::as_str), str::parse::<Property>), default_value = "assertion", hide_possible_values = true, value_name = "PROPERTY")]
    pub(crate) property: Property,
    /// With --property termination: which blocks are sure to go on: weak, strong (fairness to all), hsa, obe, hsa-obe,
    /// lobe (weakly fair to some; -strong behind it), unfair
    #[arg(long, value_parser = names(Scheduler::NAMES, str::parse::<Scheduler>), default_value = "weak", hide_possible_values = true, value_name = "SCHEDULER")]
    pub(crate) scheduler: Scheduler,
    /// With --scheduler: schedule each thread for itself, not blocks
    #[arg(long, requires = "scheduler")]
    pub(crate) schedule_threads: bool,
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
    /// Write the same as a picture; for several tests a folder
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) svg: Option<PathBuf>,
    /// Write the same as a page that switches relations on and off; for several tests a folder
    #[arg(long, value_name = "PATH", help_heading = REPORT)]
    pub(crate) html: Option<PathBuf>,
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

impl LitmusArgs {
    /// The scheduler's name, if it is not the one that is weakly fair to all.
    pub(crate) fn unusual_scheduler(&self) -> Option<String> {
        let threads = if self.schedule_threads { " of threads" } else { "" };
        (!self.scheduler.is_weakly_fair()).then(|| format!("{}{threads}", self.scheduler))
    }
}

/// What `warpgrind litmus` does but judging tests.
#[derive(Subcommand, Debug)]
pub(crate) enum LitmusVerb {
    /// Find the smallest programs of which one memory model allows what another one forbids
    #[command(after_long_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// Make tests from cycles of relaxation edges
    #[command(after_long_help = GENERATE_HELP)]
    Generate(GenerateArgs),
    /// Judge whether a compiler's mapping of atomics to PTX keeps what the source language promises
    #[command(after_long_help = MAP_HELP)]
    Map(MapArgs),
    /// Look for the placement and the load under which a CUDA device shows weak outcomes
    #[command(after_long_help = TUNE_HELP)]
    Tune(TuneArgs),
    /// See on a CUDA device which tests end, beside the schedulers that promise it
    #[command(after_long_help = PROGRESS_HELP)]
    Progress(ProgressArgs),
}

/// `warpgrind litmus progress`
#[derive(Args, Debug)]
pub(crate) struct ProgressArgs {
    /// Progress tests, whose threads wait for each other, or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What the threads of a test are: chunked (blocks side by side), round-robin (blocks far apart), warps (of one block), lanes
    /// (of one warp)
    #[arg(long, value_name = "MAPPING,...", value_delimiter = ',', value_parser = names(Mapping::ALL.map(|(_, name)| name), str::parse::<Mapping>), default_value = "chunked,round-robin,warps,lanes", hide_possible_values = true)]
    pub(crate) mappings: Vec<Mapping>,
    /// The promise that the device is held to: a test that does not end though this scheduler ends it is a finding
    #[arg(long, value_parser = names(Scheduler::NAMES, str::parse::<Scheduler>), default_value = "lobe", hide_possible_values = true, value_name = "SCHEDULER")]
    pub(crate) scheduler: Scheduler,
    /// Instances of a launch: more than there is room for on the device
    #[arg(long, value_name = "N", default_value_t = 6000, value_parser = parse_u32)]
    pub(crate) instances: u32,
    /// Launches of each test with each mapping
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = parse_u32)]
    pub(crate) launches: u32,
    /// Backward jumps after which a thread gives up
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = parse_u32)]
    pub(crate) patience: u32,
    /// Time for each test with each mapping, and for each verdict
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub(crate) timeout: Duration,
    /// Run on the simulator, not on a device
    #[arg(long)]
    pub(crate) simulate: bool,
    /// The device's number
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_u32)]
    pub(crate) device_index: u32,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// Chooses delays
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = parse_u64)]
    pub(crate) seed: u64,
    /// Write what was seen of each test with each mapping into this file as CSV
    #[arg(short, long, value_name = "FILE", help_heading = REPORT)]
    pub(crate) output: Option<PathBuf>,
}

const PROGRESS_HELP: &str = "A launch has more instances of a test than the device has room for, and nothing but what their threads do for each other lets
them go on. A thread that waits too long gives up. Whether a test ends under a scheduler is decided by all its sequentially consistent
states, each thread scheduled for itself; the table says of how many tests that a scheduler ends an instance did not end.

Examples:
  warpgrind litmus progress tests/
  warpgrind litmus progress tests/ --mappings lanes --scheduler weak -o lanes.csv

Exit codes: 0 every test that the scheduler ends did end, 1 one did not, 2 usage, 3 a test is not well formed, 4 a test cannot be
run, 5 a verdict is unknown, a launch failed or had no time, 6 no device.";

/// `warpgrind litmus tune`
#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    /// Litmus tests, or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The memory model: isa, cat-7.5, cat-6.0, sc, or a file FILE.cat
    #[arg(short, long, value_parser = str::parse::<ModelChoice>, default_value = "isa", value_name = "MODEL")]
    pub(crate) model: ModelChoice,
    /// Time for each test, and once more for one that has not shown its outcome
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub(crate) timeout: Duration,
    /// Instances for each test at most, if the time allows them
    #[arg(long, value_name = "N", value_parser = parse_u64)]
    pub(crate) instances: Option<u64>,
    /// Instances that an environment is tried with
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = parse_u64)]
    pub(crate) trial: u64,
    /// Run so many instances on the simulator with weak memory, too
    #[arg(long, value_name = "N", value_parser = parse_u64)]
    pub(crate) simulate: Option<u64>,
    /// The device's number
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = parse_u32)]
    pub(crate) device_index: u32,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// Chooses environments
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = parse_u64)]
    pub(crate) seed: u64,
    /// Write the table, with environments, into this file as CSV
    #[arg(short, long, value_name = "FILE", help_heading = REPORT)]
    pub(crate) output: Option<PathBuf>,
}

const TUNE_HELP: &str = "\
An environment is where the instances of a test lie in memory and in the grid, how their threads begin, and what loads the
memory meanwhile. Environments are tried at random and mutated where they show the outcome that a test asks about; the
best is run once more for its rate. Then what shows one test is tried on those of the same shape that showed
nothing and on those whose outcome is forbidden. Of an outcome that was not seen the table says how rare it is at least, at
95 percent confidence.

Examples:
  warpgrind litmus tune tests/
  warpgrind litmus tune tests/ --timeout 1m --simulate 10000 -o tuned.csv

Exit codes: 0 done, 1 the device showed an outcome that the model forbids, 2 usage, 3 a test or a model is not well formed,
6 no device.";

/// `warpgrind litmus map`
#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    /// A table: libcu++, llvm-nvptx, llvm-22, sycl-cuda, adaptivecpp, triton, pocl, or a file FILE.map
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// Tests are the critical cycles of at most so many edges
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = parse_size)]
    pub(crate) size: usize,
    /// What they are made of, instead of accesses of every kind and order with every fence
    #[arg(long, value_name = "LIST")]
    pub(crate) relaxations: Option<String>,
    /// The model of the source language: scoped-rc11, opencl, or a file FILE.cat
    #[arg(long, value_name = "MODEL", default_value = "scoped-rc11")]
    pub(crate) source_model: PathBuf,
    /// The model of PTX
    #[arg(short, long, value_parser = str::parse::<ModelChoice>, default_value = "isa", value_name = "MODEL")]
    pub(crate) model: ModelChoice,
    /// Give up on a test after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub(crate) timeout: Duration,
}

const MAP_HELP: &str = "\
A table has one line an operation of the source language, `load.acquire  ld.acquire.$`, with the instructions of PTX that
it becomes; `$` stands for the scope. Tests are made with the source's atomics, judged under its model, compiled by the
table, and judged again as PTX. What the source forbids must not become possible, unless the source has a data race.

Examples:
  warpgrind litmus map libcu++
  warpgrind litmus map mine.map --size 6 --relaxations 'Rfe Fre Coe [Rel Pod** Acq] [Sc Pod** Sc]'

Exit codes: 0 sound on all tests, 1 unsound, 2 usage, 3 a table or a model is not well formed, 5 a limit left a verdict
unknown.";

/// `warpgrind litmus generate`
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// The edges of one cycle, with annotations between them: PodWW Rel Rfe Acq PodRR Fre
    #[arg(value_name = "EDGE", required_unless_present = "size")]
    pub(crate) edges: Vec<String>,
    /// All critical cycles of at most so many edges
    #[arg(long, value_name = "N", conflicts_with = "edges", value_parser = parse_size)]
    pub(crate) size: Option<usize>,
    /// What the cycles of --size are made of, instead of the suite's edges
    #[arg(long, value_name = "LIST", requires = "size")]
    pub(crate) relaxations: Option<String>,
    /// Write them with the atomics of a source language, as `litmus map` takes them
    #[arg(long)]
    pub(crate) source: bool,
    /// Judge the tests under this model, too; several times for several models
    #[arg(short, long = "model", value_parser = str::parse::<ModelChoice>, value_name = "MODEL")]
    pub(crate) models: Vec<ModelChoice>,
    /// Give up on a test after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub(crate) timeout: Duration,
    /// Write the tests into this folder, with their verdicts in expected.csv
    #[arg(short, long, value_name = "DIR", help_heading = REPORT)]
    pub(crate) output: Option<PathBuf>,
}

/// Longest cycles of a suite; there are hundreds of thousands.
const LARGEST: usize = 8;

fn parse_size(s: &str) -> Result<usize, String> {
    match s.parse() {
        Ok(size @ 2..=LARGEST) => Ok(size),
        _ => Err(format!("a number from 2 to {LARGEST}")),
    }
}

const GENERATE_HELP: &str = "\
Edges are those of diy: Rfe, Fre, Coe between threads and Rfi, Fri, Coi within one, PodWR (or PosWR for one location),
DpAddrdR, DpDatadW, DpCtrldW; and of PTX Rfe.cta (in one block; cluster, gpu, sys), Fence.sc.gpudWR, Fence.proxy.asyncsWR,
Amo.add, BardWR. Annotations stand between edges: Wk, Rlx.gpu, Acq.cta, Rel.sys, Amo, Red, Alias, Async, Tex, Sur, Con;
without one an access is relaxed at gpu scope. In lists * stands for R and W, and brackets keep words together.

Examples:
  warpgrind litmus generate PodWW Rel Rfe Acq PodRR Fre
  warpgrind litmus generate --size 6 --model isa --model cat-7.5
  warpgrind litmus generate --size 6 --relaxations 'Rfe Fre Coe [Wk Pod** Wk] Fence.sc.gpud**' -o tests/

Exit codes: 0 done, 2 usage, 3 a model is not well formed, 5 a limit left a verdict unknown.";

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

pub(super) const LITMUS_HELP: &str = "\
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
