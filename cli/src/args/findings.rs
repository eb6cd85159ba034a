//! What is done with findings.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::headings::{FINDINGS, REPORT};

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
