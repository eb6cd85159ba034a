//! What is said of launches: findings in rustc's manner, which of them are expected, tables of what was done, JSON documents.
//!
//! The command line and the CUDA drop-in report alike through it.
//!
//! # What it must not know
//! Command lines, files other than the sources that findings name, and where output goes.
#![forbid(unsafe_code)]

mod excerpt;
pub mod finding;
mod launch;
pub mod metric_names;
pub mod metrics;
mod name;
mod place;
pub mod snippet;
pub mod stats;
mod text;
pub mod threads;
pub mod triage;

pub use launch::{FindingJson, LaunchJson, StatsJson, messages, outcome_name, summary, summary_of};
pub use name::{closest, demangle, readable};
pub use place::PlaceJson;
pub use text::{escaped, printable};

/// `1 element`, `2 elements`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
