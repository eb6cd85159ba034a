//! Executes a plan step by step, and shows each step.

use sim_core::{Backend, FindingKind, LaunchReport, Outcome, RunOptions};
use warpgrind::run::{Placed, Resident};
use warpgrind::{Module, Plan};

use crate::exit::{Exit, Failure};
use crate::files;
use crate::interrupt::Interrupt;
use crate::progress;
use crate::report::RunReporter;

/// Executes the plan. What a launch finds is reported, not returned as an error.
pub(super) fn execute(
    plan: &Plan,
    module: &Module,
    options: &RunOptions,
    interrupt: &Interrupt,
    backend: &dyn Backend,
    show_progress: bool,
    reporter: &mut RunReporter<'_>,
) -> Result<Exit, Failure> {
    let placed = Placed::new(plan, module, backend)?;
    interrupt.check("anything ran")?;
    let mut exit = Exit::Clean;
    let mut completed = true;
    for (at, launch) in placed.launches().iter().enumerate() {
        let what = format!("{}: grid {}, block {}", launch.kernel, launch.grid, launch.block);
        let report = progress::during(show_progress, what, || placed.launch(at, options))?;
        let judged = reporter.launch(module.checked(), launch, options, &report);
        if let Some(interrupted) = interrupt.exit() {
            // What buffers hold now is no result: files from an earlier run stay.
            reporter.interrupted(launch, &report);
            return Ok(interrupted);
        }
        exit = exit.max(exit_of_new(&report, |at| judged[at].verdict.is_new()));
        if report.outcome != Outcome::Completed {
            completed = false;
            break;
        }
    }
    // Memory written before a fault stays readable, which helps to find its cause.
    for resident in placed.memory() {
        let matches = after(resident, plan, completed, reporter)?;
        exit = exit.max(if matches { Exit::Clean } else { Exit::Findings });
    }
    Ok(exit)
}

/// How the command ends after a launch of which nothing is expected.
pub(crate) fn exit_of(report: &LaunchReport) -> Exit {
    exit_of_new(report, |_| true)
}

/// How the command ends after a launch, by those of its findings that are new.
fn exit_of_new(report: &LaunchReport, is_new: impl Fn(usize) -> bool) -> Exit {
    let found = !report.findings.is_empty() || report.dropped_findings > 0;
    let new = report.findings.iter().enumerate().filter(|(at, _)| is_new(*at));
    let new: Vec<FindingKind> = new.map(|(_, finding)| finding.kind).collect();
    match report.outcome {
        Outcome::Completed if !found => Exit::Clean,
        _ if found && new.is_empty() && report.dropped_findings == 0 => Exit::Clean,
        Outcome::Completed => Exit::Findings,
        // What ended the launch is expected; other things are not.
        _ if !new.is_empty() && !new.iter().any(|kind| kind.is_fault()) => Exit::Findings,
        Outcome::Unsupported => Exit::Unsupported,
        Outcome::Faulted
            if !new.is_empty() && new.iter().all(|&kind| kind == FindingKind::AssertionFailed) =>
        {
            Exit::Findings
        }
        Outcome::Faulted | Outcome::Deadlock | Outcome::LimitReached => Exit::Faulted,
    }
}

/// Prints, saves and compares; whether the values are as expected, or known not to be.
fn after(
    resident: &Resident<'_>,
    plan: &Plan,
    completed: bool,
    reporter: &mut RunReporter<'_>,
) -> Result<bool, Failure> {
    let wanted = resident.wanted();
    if wanted.print.is_none() && wanted.save.is_none() && (wanted.expect.is_none() || !completed) {
        return Ok(true);
    }
    let got = resident.read()?;
    if let Some(count) = wanted.print {
        reporter.values(resident.name(), &got, count);
    }
    if let Some(path) = &wanted.save {
        let path = plan.path(path);
        files::replace(&path, &got.file_bytes(&path))?;
        reporter.saved(resident.name(), &path);
    }
    if !completed {
        return Ok(true);
    }
    let Some(comparison) = resident.compare(&got)? else { return Ok(true) };
    let place = wanted.expect.as_ref().and_then(|expect| plan.text_place(&expect.place));
    Ok(reporter.comparison(resident.name(), &got, &comparison, place.as_deref()))
}
