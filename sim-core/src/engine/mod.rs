//! Who runs next: blocks, the warps of a block, the groups of a warp. What an instruction does is told by
//! [`crate::ops`]; an engine schedules, and does what [`Flow`](crate::ops::flow::Flow) says.
//!
//! There are three: [`single`] runs the groups of one warp, [`lockstep`] the whole warps of a block together; both leave
//! to [`compiled`] what there is host code for.

mod compiled;
mod crew;
mod lockstep;
mod single;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use crate::finding::FindingKind;
use crate::launch::{LaunchReport, Outcome, Stats};
use crate::machine::grid::Grid;
use crate::machine::launch_view::View;
use crate::machine::worker::Worker;
use crate::observer::Observer;

/// Why a warp stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// Its turn is over.
    Slice,
    /// The launch stands still; the rest of its turn is kept.
    Still,
    /// None of its groups can run: all wait, or all lanes are gone.
    Blocked,
    /// The launch ends.
    Stopped,
}

/// Runs all blocks of a launch.
pub(crate) fn run<O: Observer>(grid: Grid<'_>, observer: impl Fn() -> O + Sync) -> LaunchReport {
    let merged: Mutex<(Stats, Option<O>)> = Mutex::default();
    let work = || {
        let work = AssertUnwindSafe(|| {
            let mut worker = Worker::new(&grid, observer());
            worker.run();
            worker.finish()
        });
        // What a worker leaves behind when it panics is its own; the others stop.
        let (stats, observer) = match catch_unwind(work) {
            Ok(done) => done,
            Err(panic) => return grid.broken(&*panic),
        };
        let mut merged = merged.lock().unwrap_or_else(PoisonError::into_inner);
        merged.0 += &stats;
        match &mut merged.1 {
            Some(all) => all.merge(observer),
            none => *none = Some(observer),
        }
    };
    crew::together(grid.jobs - 1, work);
    let (stats, observer) = merged.into_inner().unwrap_or_else(PoisonError::into_inner);
    report(grid, stats, observer)
}

/// What came of a launch that is over.
pub(crate) fn report<O: Observer>(grid: Grid<'_>, mut stats: Stats, observer: Option<O>) -> LaunchReport {
    let mut metrics = Vec::new();
    for summary in observer.into_iter().flat_map(|observer| observer.finish(&View { grid: &grid })) {
        stats.memory += &summary.memory;
        metrics.extend(summary.metrics);
        summary.findings.into_iter().for_each(|finding| grid.add(finding));
    }
    stats.time = grid.started.elapsed();
    let findings = grid.findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    let outcome = if findings.has(FindingKind::Unsupported) {
        Outcome::Unsupported
    } else if findings.has(FindingKind::LimitReached) {
        Outcome::LimitReached
    } else if findings.has(FindingKind::Deadlock) || findings.has(FindingKind::BarrierMismatch) {
        Outcome::Deadlock
    } else if findings.faulted() {
        Outcome::Faulted
    } else {
        Outcome::Completed
    };
    let (findings, dropped_findings) = findings.finish();
    let mut output = grid.output.into_inner().unwrap_or_else(PoisonError::into_inner);
    output.sort_by_key(|(block, _)| *block);
    let output = output.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>().concat();
    LaunchReport { outcome, findings, dropped_findings, stats, output, metrics, launched: Vec::new() }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use crate::{Backend, DeviceConfig, FindingKind, Launch, Outcome, RunOptions, Simulator};

    /// Block 1 of a kernel of this name panics.
    pub(crate) fn may_panic(launch: &Launch, block: u64) {
        assert!(&*launch.kernel != "breaks" || block != 1, "on purpose");
    }

    #[test]
    fn a_panic_of_a_worker_is_a_finding_and_ends_the_launch() {
        // The other blocks wait for what block 1 never does.
        let text = "
            .version 8.0\n.target sm_90\n.address_size 64
            .visible .entry breaks(.param .u64 flag) {
                .reg .b64 %a; .reg .b32 %x; .reg .pred %p;
                ld.param.u64 %a, [flag];
            again:
                ld.relaxed.gpu.global.u32 %x, [%a];
                setp.eq.u32 %p, %x, 0;
                @%p bra again;
                ret;
            }";
        let source = ptx_frontend::Source::new("breaks.ptx", text.as_bytes().to_vec());
        let module = std::sync::Arc::new(ptx_frontend::parse(source).module.unwrap());
        for jobs in [1, 2, 5] {
            let simulator = Simulator::new(DeviceConfig::h200());
            let flag = simulator.alloc(4, "flag").unwrap();
            let module = simulator.load(module.clone()).unwrap();
            let launch = Launch {
                kernel: "breaks".into(),
                grid: crate::Dim3::new(6, 1, 1),
                block: crate::Dim3::new(32, 1, 1),
                cluster: None,
                shared_bytes: 0,
                params: flag.to_le_bytes().to_vec(),
                cooperative: false,
            };
            let options =
                RunOptions { jobs, timeout: Some(Duration::from_secs(60)), ..RunOptions::default() };
            let report = simulator.launch(module, &launch, &options).unwrap();
            assert_eq!(report.outcome, Outcome::Faulted);
            let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
            assert_eq!(finding.kind, FindingKind::InternalError);
            assert!(finding.message.ends_with("on purpose"), "{}", finding.message);
        }
    }
}
