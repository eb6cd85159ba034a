//! The arguments of `run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sim_core::{AsyncPolicy, Engine};
use tools::Tool;

use super::findings::FindingArgs;
use super::headings::{CHECKS, REPORT};
use super::launch::LaunchArgs;
use super::values::{async_parser, engine_parser, parse_duration, parse_u64, tool_parser};

/// `warpgrind run`
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// PTX files, linked by name (`-` is standard input), or one launch file (`.toml`)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The launch.
    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

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
    /// What runs instructions: the interpreter, code compiled for the host, or that where it pays
    #[arg(long, value_name = "ENGINE", value_parser = engine_parser(), default_value = "auto", hide_default_value = true, help_heading = CHECKS)]
    pub(crate) engine: Engine,
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

pub(super) const ARG_HELP: &str = "\
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
