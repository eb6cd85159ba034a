//! A launch and all that it launches: each grid's children when it is over, in their order, and one report of all.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::finding::{CodePlace, Finding, FindingKind};
use crate::launch::{Launch, LaunchReport, LaunchedGrid, Outcome};
use crate::machine::fault::Findings;
use crate::machine::launches::Queued;

/// Grids that a note names, from the one that a finding is about upwards.
const MOST_NAMED: usize = 4;

/// What waits for the end of a grid.
struct Level {
    queued: VecDeque<Queued>,
    /// The grid's own chain of launches.
    launched: Arc<Vec<String>>,
}

/// What a grid came to, and what it launched.
pub(super) type Ran = (LaunchReport, Vec<Queued>);

/// Runs what a grid launched, and what that launches, with `run`, which is told what came of all before. The first
/// failure ends it all. A device does not limit how deep launches nest.
pub(super) fn run(
    (mut report, queued): Ran,
    (most_findings, apart): (usize, bool),
    mut run: impl FnMut(&Queued, &LaunchReport) -> Result<Ran, Error>,
) -> LaunchReport {
    if queued.is_empty() || report.outcome != Outcome::Completed {
        return report;
    }
    let mut findings = Findings::default();
    std::mem::take(&mut report.findings).into_iter().for_each(|finding| findings.add(finding, most_findings));
    let mut levels = vec![Level { queued: queued.into(), launched: Arc::default() }];
    while let Some(level) = levels.last_mut() {
        let Some(next) = level.queued.pop_front() else {
            levels.pop();
            continue;
        };
        let mut launched = vec![note(&next)];
        launched.extend(level.launched.iter().take(MOST_NAMED - 1).cloned());
        // A kernel that launches itself behind itself, over and over, leaves nothing behind.
        if level.queued.is_empty() {
            levels.pop();
        }
        let (mut child, queued) = match run(&next, &report) {
            Ok(ran) => ran,
            Err(error) => (not_run(&next.launch, &error), Vec::new()),
        };
        let outcome = child.outcome;
        if apart {
            let (launch, metrics) = (next.launch, std::mem::take(&mut child.metrics));
            report.launched.push(LaunchedGrid { launch, outcome, metrics });
        }
        for mut finding in add(&mut report, child) {
            finding.notes.extend(launched.iter().cloned());
            findings.add(finding, most_findings);
        }
        if outcome != Outcome::Completed {
            report.outcome = outcome;
            break;
        }
        if !queued.is_empty() {
            levels.push(Level { queued: queued.into(), launched: Arc::new(launched) });
        }
    }
    let (found, dropped) = findings.finish();
    report.findings = found;
    report.dropped_findings += dropped;
    report
}

/// Adds what a grid did; returns its findings.
fn add(report: &mut LaunchReport, child: LaunchReport) -> Vec<Finding> {
    report.stats += &child.stats;
    // One after the other.
    report.stats.time += child.stats.time;
    report.output.extend(child.output);
    report.dropped_findings += child.dropped_findings;
    for metrics in child.metrics {
        match report.metrics.iter_mut().find(|own| own.tool == metrics.tool) {
            Some(own) => own.add(metrics),
            None => report.metrics.push(metrics),
        }
    }
    child.findings
}

fn note(queued: &Queued) -> String {
    let Queued { launch, place, .. } = queued;
    let CodePlace { function, cuda, .. } = place;
    // Not where CUDA's own header launches for the program.
    match cuda.iter().find(|place| !place.file.ends_with("cuda_device_runtime_api.h")) {
        Some(cuda) => {
            format!("`{}` was launched by `{function}` at {}:{}", launch.kernel, cuda.file, cuda.line)
        }
        None => format!("`{}` was launched by `{function}`", launch.kernel),
    }
}

/// Of a launch that the parent's check let pass and that is not possible all the same.
fn not_run(launch: &Launch, error: &Error) -> LaunchReport {
    let kind = match error {
        Error::Unsupported(_) => FindingKind::Unsupported,
        _ => FindingKind::LimitReached,
    };
    let text = format!("a launch by a kernel was not possible: {error}");
    LaunchReport {
        outcome: if kind == FindingKind::Unsupported { Outcome::Unsupported } else { Outcome::LimitReached },
        findings: vec![Finding::of_launch(kind, launch.kernel.clone(), text)],
        dropped_findings: 0,
        stats: crate::launch::Stats { time: Duration::ZERO, ..Default::default() },
        output: Vec::new(),
        metrics: Vec::new(),
        launched: Vec::new(),
    }
}
