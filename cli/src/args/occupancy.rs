//! The arguments of `occupancy`.

use std::path::PathBuf;

use clap::Args;

use super::values::parse_u32;

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
