//! The arguments of `explain`.

use clap::Args;

/// `warpgrind explain`
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A code such as E0203 or a kind such as out-of-bounds; without it, all are listed
    pub(crate) code: Option<String>,
}
