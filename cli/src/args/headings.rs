//! The headings that options stand under in the help.

pub(super) const FINDINGS: &str = "Findings that are expected";
pub(super) const LAUNCH: &str = "Launch";
pub(super) const RUNNING: &str = "Running the tests";
pub(super) const REPORT: &str = "Report";
pub(super) const CHECKS: &str = "Checks and limits";

pub(super) const DEVICE: &str = "Device";
