//! Launches as JSON and as a line. `cli/REPORT.md` describes the fields; names are stable.

use serde::Serialize;
use sim_core::{AsyncPolicy, CodePlace, Dim3, Finding, Launch, LaunchReport, Outcome, RunOptions};

use crate::excerpt::ExcerptJson;
use crate::finding::{self, Sources};
use crate::metrics::MetricsJson;
use crate::name::readable;
use crate::place::CodePlaceJson;
use crate::text::escaped;
use crate::threads::{self, ThreadGroup};
use crate::triage::{Found, Issue, Judged, Policy, Status, Verdict, entry};

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
    /// What came of a launch of which nothing is expected.
    pub fn new(launch: &Launch, options: &RunOptions, report: &LaunchReport, sources: &Sources<'_>) -> Self {
        Self::judged(launch, options, report, sources, &Policy::default().judge_all(report, sources))
    }

    /// What came of a launch, with what is expected of its findings.
    pub fn judged(
        launch: &Launch,
        options: &RunOptions,
        report: &LaunchReport,
        sources: &Sources<'_>,
        judged: &[Judged],
    ) -> Self {
        let findings = report.findings.iter().zip(judged);
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
            findings: findings
                .map(|(finding, of)| FindingJson::judged(finding, sources, &of.issue, &of.verdict))
                .collect(),
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
    fingerprint: String,
    status: Status,
    reason: Option<String>,
    excerpts: Vec<ExcerptJson>,
}

impl FindingJson {
    /// Of a finding that nobody expects, with the texts of its places.
    pub fn new(finding: &Finding, sources: &Sources<'_>) -> Self {
        Self::judged(finding, sources, &Issue::of(finding, sources), &Verdict::NEW)
    }

    /// With the texts of its places, and whether it is expected.
    pub fn judged(finding: &Finding, sources: &Sources<'_>, issue: &Issue, verdict: &Verdict) -> Self {
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
            fingerprint: issue.fingerprint.clone(),
            status: verdict.status,
            reason: verdict.reason.clone(),
            excerpts: ExcerptJson::of(finding, sources),
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

/// The messages of the findings that nobody expects, each with a suppression of it if `entries` are wanted.
pub fn messages(report: &LaunchReport, judged: &[Judged], sources: &Sources<'_>, entries: bool) -> String {
    let new = report.findings.iter().zip(judged).filter(|(_, judged)| judged.verdict.is_new());
    new.map(|(finding, judged)| {
        let message = finding::message(finding, sources).render();
        match entries {
            true => format!("{message}\n{}\n", escaped(&entry(&judged.issue), |character| character == '\n')),
            false => message + "\n",
        }
    })
    .collect()
}

/// One line on how a launch ended of which nothing is expected, and how to have its schedule again if something was found.
pub fn summary(launch: &Launch, options: &RunOptions, report: &LaunchReport) -> String {
    let new = report.findings.len() as u64 + report.dropped_findings;
    summary_of(launch, options, report, Found { new, ..Found::default() })
}

/// One line on how a launch ended, and how to have its schedule again if something new was found.
pub fn summary_of(launch: &Launch, options: &RunOptions, report: &LaunchReport, found: Found) -> String {
    let ended = match report.outcome {
        Outcome::Completed => "completed",
        Outcome::Faulted => "stopped by a fault",
        Outcome::Deadlock => "stopped: no thread can go on",
        Outcome::LimitReached => "stopped at its limit",
        Outcome::Unsupported => "stopped at something unsupported",
    };
    let mut line =
        format!("{}: grid {}, block {}: {ended}", readable(&launch.kernel), launch.grid, launch.block);
    if let Some(words) = found.words() {
        line.push_str(&format!(" with {words}"));
    }
    if report.dropped_findings > 0 {
        line.push_str(&format!(" ({} not shown)", report.dropped_findings));
    }
    if found.new > 0 {
        line.push_str(&format!("; one schedule that repeats: --seed {} --jobs 1", options.seed));
        if options.asynchrony != AsyncPolicy::Eager {
            line.push_str(&format!(" --async {}", options.asynchrony.name()));
        }
    }
    line.push('\n');
    line
}
