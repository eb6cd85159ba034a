//! Launches as JSON and as a line. `cli/REPORT.md` describes the fields; names are stable.

use serde::Serialize;
use sim_core::{CodePlace, Dim3, Finding, Launch, LaunchReport, Outcome, RunOptions};

use crate::finding::Sources;
use crate::metrics::MetricsJson;
use crate::name::readable;
use crate::place::CodePlaceJson;
use crate::plural;
use crate::threads::{self, ThreadGroup};

/// One launch.
#[derive(Serialize, Debug)]
pub struct LaunchJson {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    shared_bytes: u32,
    seed: u64,
    jobs: usize,
    outcome: &'static str,
    findings: Vec<FindingJson>,
    dropped_findings: u64,
    output: String,
    stats: StatsJson,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<MetricsJson>,
}

impl LaunchJson {
    /// What came of a launch.
    pub fn new(launch: &Launch, options: &RunOptions, report: &LaunchReport, sources: &Sources<'_>) -> Self {
        let extents = |dim: Dim3| [dim.x, dim.y, dim.z];
        Self {
            kernel: launch.kernel.to_string(),
            grid: extents(launch.grid),
            block: extents(launch.block),
            cluster: launch.cluster.map(extents),
            shared_bytes: launch.shared_bytes,
            seed: options.seed,
            jobs: options.jobs,
            outcome: outcome_name(report.outcome),
            findings: report.findings.iter().map(|finding| FindingJson::new(finding, sources)).collect(),
            dropped_findings: report.dropped_findings,
            output: String::from_utf8_lossy(&report.output).into_owned(),
            stats: StatsJson::new(report, options.count_memory),
            metrics: report.metrics.iter().map(|of| MetricsJson::new(of, sources.module)).collect(),
        }
    }
}

/// The stable name of an outcome.
pub fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Faulted => "faulted",
        Outcome::Deadlock => "deadlock",
        Outcome::LimitReached => "limit-reached",
        Outcome::Unsupported => "unsupported",
    }
}

/// A finding.
#[derive(Serialize, Debug)]
pub struct FindingJson {
    kind: &'static str,
    fault: bool,
    message: String,
    notes: Vec<String>,
    help: Vec<String>,
    kernel: String,
    place: Option<CodePlaceJson>,
    other_place: Option<CodePlaceJson>,
    threads: Vec<ThreadGroup>,
    count: u64,
}

impl FindingJson {
    /// With the texts of its places.
    pub fn new(finding: &Finding, sources: &Sources<'_>) -> Self {
        let place = |place: &Option<CodePlace>| place.as_ref().map(|p| CodePlaceJson::new(p, sources.module));
        Self {
            kind: finding.kind.name(),
            fault: finding.kind.is_fault(),
            message: finding.message.clone(),
            notes: finding.notes.clone(),
            help: finding.help.clone(),
            kernel: finding.kernel.to_string(),
            place: place(&finding.place),
            other_place: place(&finding.other_place),
            threads: threads::group(&finding.threads),
            count: finding.count,
        }
    }
}

/// What a launch did; sizes in bytes, time in seconds.
#[derive(Serialize, Debug)]
pub struct StatsJson {
    blocks: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    branches: u64,
    divergent_branches: u64,
    barriers: u64,
    time: f64,
    memory: Option<MemoryJson>,
}

#[derive(Serialize, Debug)]
struct MemoryJson {
    global_read: u64,
    global_written: u64,
    global_sectors: u64,
    shared_read: u64,
    shared_written: u64,
    local_read: u64,
    local_written: u64,
    atomics: u64,
}

impl StatsJson {
    /// `counted` says whether memory traffic was counted.
    pub fn new(report: &LaunchReport, counted: bool) -> Self {
        let stats = &report.stats;
        let memory = &stats.memory;
        Self {
            blocks: stats.blocks,
            warp_instructions: stats.warp_instructions,
            thread_instructions: stats.thread_instructions,
            branches: stats.branches,
            divergent_branches: stats.divergent_branches,
            barriers: stats.barriers,
            time: stats.time.as_secs_f64(),
            memory: counted.then_some(MemoryJson {
                global_read: memory.global_read,
                global_written: memory.global_written,
                global_sectors: memory.global_sectors,
                shared_read: memory.shared_read,
                shared_written: memory.shared_written,
                local_read: memory.local_read,
                local_written: memory.local_written,
                atomics: memory.atomics,
            }),
        }
    }
}

/// One line on how a launch ended, and how to have its schedule again if something was found.
pub fn summary(launch: &Launch, options: &RunOptions, report: &LaunchReport) -> String {
    let found = report.findings.len() as u64 + report.dropped_findings;
    let ended = match report.outcome {
        Outcome::Completed => "completed",
        Outcome::Faulted => "stopped by a fault",
        Outcome::Deadlock => "stopped: no thread can go on",
        Outcome::LimitReached => "stopped at its limit",
        Outcome::Unsupported => "stopped at something unsupported",
    };
    let mut line =
        format!("{}: grid {}, block {}: {ended}", readable(&launch.kernel), launch.grid, launch.block);
    if found > 0 {
        line.push_str(&format!(" with {}", plural(found, "finding")));
        if report.dropped_findings > 0 {
            line.push_str(&format!(" ({} not shown)", report.dropped_findings));
        }
        line.push_str(&format!("; one schedule that repeats: --seed {} --jobs 1", options.seed));
    }
    line.push('\n');
    line
}
