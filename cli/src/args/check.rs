//! The arguments of `check`.

use std::path::PathBuf;

use clap::Args;

use super::findings::FindingArgs;

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
