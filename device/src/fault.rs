//! What the device says of a kernel that faulted, in the words of the simulator's findings.

use std::time::Duration;

use sim_core::{Error, Finding, FindingKind, Launch, LaunchReport, Outcome, Stats};

use crate::error::CallError;

/// How a launch ended, before it is put into the simulator's words.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ended {
    /// What stopped it.
    pub(crate) stop: Option<Stop>,
    /// What it printed.
    pub(crate) output: Vec<u8>,
    /// What the device wrote to standard error.
    pub(crate) errors: Vec<u8>,
    /// From the launch to the end.
    pub(crate) time: Duration,
}

/// What stops a launch.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Stop {
    /// The driver's error.
    Failed(CallError),
    /// It did not end within this time.
    TimedOut(Duration),
}

impl Ended {
    /// The report. `Err` if the driver's error is not about the kernel.
    pub(crate) fn report(self, launch: &Launch) -> Result<LaunchReport, Error> {
        let mut report = LaunchReport {
            outcome: Outcome::Completed,
            findings: Vec::new(),
            dropped_findings: 0,
            stats: Stats {
                blocks: u64::try_from(launch.grid.count()).unwrap_or(u64::MAX),
                time: self.time,
                ..Stats::default()
            },
            output: self.output,
            metrics: Vec::new(),
            launched: Vec::new(),
        };
        let (kind, message, notes) = match self.stop {
            None => return Ok(report),
            Some(Stop::TimedOut(limit)) => {
                (FindingKind::LimitReached, format!("the kernel did not end within {limit:?}"), Vec::new())
            }
            Some(Stop::Failed(error)) => {
                let kind = FindingKind::of_cuda_error(error.code.0)
                    .ok_or_else(|| Error::Backend(error.to_string()))?;
                let said = String::from_utf8_lossy(&self.errors);
                let lines = said.lines().filter(|line| !line.trim().is_empty());
                let notes = lines.map(|line| format!("the device wrote: {line}")).collect();
                let CallError { code, name, text, .. } = error;
                (kind, format!("the device stopped the kernel: {name} ({}), {text}", code.0), notes)
            }
        };
        report.outcome = match kind {
            FindingKind::LimitReached => Outcome::LimitReached,
            _ => Outcome::Faulted,
        };
        let finding = Finding::of_launch(kind, launch.kernel.clone(), message);
        report.findings.push(Finding { notes, ..finding });
        Ok(report)
    }
}
