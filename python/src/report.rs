//! What came of a launch.

use std::path::PathBuf;

use pyo3::prelude::*;
use reports::finding::{Sources, message};
use reports::{FindingJson, LaunchJson, outcome_name, stats, summary};
use sim_core::{Launch, LaunchReport, RunOptions};
use warpgrind::Module;

use crate::profile::Profile;

/// What came of a launch, with what is needed to say it.
#[pyclass(frozen, module = "warpgrind._native")]
pub(crate) struct Report {
    pub(crate) module: Module,
    pub(crate) root: Option<PathBuf>,
    pub(crate) launch: Launch,
    pub(crate) options: RunOptions,
    pub(crate) report: LaunchReport,
    pub(crate) profile: Option<Profile>,
}

impl Report {
    fn sources(&self) -> Sources<'_> {
        Sources { module: self.module.checked(), root: self.root.as_deref() }
    }
}

#[pymethods]
impl Report {
    /// How it ended: `completed`, `faulted`, `deadlock`, `limit-reached` or `unsupported`.
    #[getter]
    fn outcome(&self) -> &'static str {
        outcome_name(self.report.outcome)
    }

    /// How many findings there are, those that are not kept counted.
    #[getter]
    fn found(&self) -> u64 {
        self.report.findings.len() as u64 + self.report.dropped_findings
    }

    /// Each finding as a JSON object and as the text that the command line prints.
    fn findings(&self) -> Vec<(String, String)> {
        let sources = self.sources();
        let json = |finding| serde_json::to_string(&FindingJson::new(finding, &sources)).unwrap_or_default();
        let all = self.report.findings.iter();
        all.map(|finding| (json(finding), message(finding, &sources).plain())).collect()
    }

    /// What kernels printed.
    #[getter]
    fn output(&self) -> &[u8] {
        &self.report.output
    }

    /// The whole report as a JSON object, as `warpgrind run --format json` gives it for a launch.
    fn json(&self) -> String {
        let json = LaunchJson::new(&self.launch, &self.options, &self.report, &self.sources());
        serde_json::to_string(&json).unwrap_or_default()
    }

    /// What it costs, if it was profiled.
    #[getter]
    fn profile(&self) -> Option<Profile> {
        self.profile.clone()
    }

    /// One line on how it ended.
    #[getter]
    fn summary(&self) -> String {
        summary(&self.launch, &self.options, &self.report)
    }

    /// What it did, as a table.
    #[getter]
    fn table(&self) -> String {
        stats::table(&self.launch.kernel, &self.report)
    }
}
