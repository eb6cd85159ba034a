//! The arguments that say what a launch is, of `run`, `debug` and `dap`.

use clap::Args;
use sim_core::Dim3;

use super::headings::LAUNCH;
use super::values::{parse_dim3, parse_u32};

/// A launch from the command line.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct LaunchArgs {
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
}
