//! The arguments of `dap`.

use std::net::SocketAddr;

use clap::Args;

/// `warpgrind dap`
#[derive(Args, Debug)]
pub(crate) struct DapArgs {
    /// Wait at this address for one client, instead of speaking over standard input and output; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<SocketAddr>,
}

pub(super) const DAP_HELP: &str = "\
What is debugged comes with the request `launch`: \"files\" (PTX files or one launch file), and as options of
`warpgrind run`: \"entry\", \"grid\", \"block\", \"cluster\", \"shared\", \"args\", \"buffers\", \"tools\", \"seed\",
\"sourceRoot\"; \"stopOnEntry\" and \"stopAtEnd\". Positions and extents are numbers, lists or texts such as \"16,16\".

Or \"program\" with its \"args\", \"cwd\", \"env\", \"input\", \"kernel\", \"launchSkip\", \"launchCount\": a program, as
`warpgrind debug -- PROGRAM` has it. With \"stopOnEntry\" each of its launches stands still first.

Threads are the warps of resident blocks, a stack is that of a lane of it. Findings are exceptions.";
