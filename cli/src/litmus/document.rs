//! Verdicts for programs; `cli/REPORT.md` describes the fields.

use indexmap::IndexMap;
use memory_model::explain::{Cut, Shown, ShownEvent, Step};
use memory_model::{Outcome, Race};
use serde::Serialize;
use warpgrind::litmus::experiment::{NotRun, Seen};
use warpgrind::litmus::runs::{Row, Runs};

use super::load::Loaded;
use super::show::judgement;
use super::{Checked, CheckedFile};
use crate::args::LitmusArgs;
use crate::report::{DiagnosticJson, FailureJson, IssueJson};
use crate::triage::TriageJson;

/// The document of `warpgrind litmus`.
#[derive(Serialize, Debug)]
pub(super) struct LitmusReport {
    pub(super) schema: u32,
    pub(super) command: &'static str,
    pub(super) exit_code: u8,
    pub(super) tests: Vec<TestJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) triage: Option<TriageJson>,
}

/// One test, or a file that holds none.
#[derive(Serialize, Debug)]
pub(super) struct TestJson {
    file: String,
    name: Option<String>,
    model: String,
    property: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduler: Option<String>,
    /// The assertion in the notation of litmus files.
    assertion: Option<String>,
    holds: Option<bool>,
    verdict: &'static str,
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<IssueJson>,
    /// Seconds that the check took.
    seconds: f64,
    bound: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcomes: Option<OutcomesJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seen: Vec<SeenJson>,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    runs: IndexMap<&'static str, RunJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    race: Option<RaceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<ExecutionJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cuts: Vec<CutJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<DiagnosticJson>,
}

impl TestJson {
    /// The tests of a file.
    pub(super) fn of_file(file: &CheckedFile, args: &LitmusArgs) -> Vec<Self> {
        let blank = || Self {
            file: file.name.clone(),
            name: None,
            model: args.model.to_string(),
            property: args.property.as_str(),
            scheduler: args.unusual_scheduler(),
            assertion: None,
            holds: None,
            verdict: "error",
            reason: None,
            expected: None,
            seconds: 0.0,
            bound: None,
            outcomes: None,
            seen: Vec::new(),
            runs: IndexMap::new(),
            race: None,
            execution: None,
            cuts: Vec::new(),
            error: None,
            diagnostics: Vec::new(),
        };
        match &file.tests {
            Ok(tests) => tests.iter().map(|test| blank().with(test, args)).collect(),
            Err(Loaded::Failed(failure)) => vec![Self {
                reason: Some(failure.message.clone()),
                error: Some(FailureJson::from(failure)),
                ..blank()
            }],
            Err(Loaded::Malformed(source, diagnostics)) => vec![Self {
                reason: diagnostics.first().map(|d| d.message.clone()),
                diagnostics: std::iter::zip(diagnostics, &file.mistakes)
                    .map(|(of, (issue, verdict))| {
                        DiagnosticJson::new(of, source, &[]).judged(IssueJson::new(issue, verdict))
                    })
                    .collect(),
                ..blank()
            }],
            Err(Loaded::Tests(_)) => Vec::new(),
        }
    }

    fn with(self, test: &Checked, args: &LitmusArgs) -> Self {
        let verdict = &test.verdict;
        Self {
            name: Some(test.litmus.name.clone()),
            assertion: test.litmus.question(),
            holds: verdict.holds,
            verdict: verdict.verdict,
            reason: verdict.reason.clone(),
            expected: test.judged.as_ref().map(|(issue, verdict)| IssueJson::new(issue, verdict)),
            seconds: test.time.as_secs_f64(),
            bound: Some(verdict.bound),
            outcomes: args.outcomes.then(|| OutcomesJson {
                complete: verdict.outcomes_complete,
                list: verdict.outcomes.iter().map(|o| OutcomeJson::new(&verdict.observables, o)).collect(),
            }),
            seen: test
                .runs
                .rows
                .iter()
                .map(|row| SeenJson::new(&verdict.observables, row, &test.runs))
                .collect(),
            runs: [("simulated", &test.runs.simulated), ("device", &test.runs.device)]
                .into_iter()
                .filter_map(|(name, run)| Some((name, RunJson::from(run.as_ref()?))))
                .collect(),
            race: verdict.race.as_ref().map(RaceJson::from),
            execution: verdict.witness.as_ref().filter(|_| args.explain).map(ExecutionJson::from),
            cuts: verdict.cuts.iter().filter(|_| args.explain).map(CutJson::from).collect(),
            ..self
        }
    }
}

#[derive(Serialize, Debug)]
struct OutcomesJson {
    complete: bool,
    list: Vec<OutcomeJson>,
}

#[derive(Serialize, Debug)]
struct OutcomeJson {
    values: IndexMap<String, i64>,
    satisfies: bool,
    executions: Option<u64>,
}

impl OutcomeJson {
    fn new(names: &[String], outcome: &Outcome) -> Self {
        Self {
            values: names.iter().cloned().zip(outcome.values.iter().copied()).collect(),
            satisfies: outcome.satisfies,
            executions: outcome.executions,
        }
    }
}

/// An outcome that the model allows or that was seen.
#[derive(Serialize, Debug)]
struct SeenJson {
    values: IndexMap<String, i64>,
    satisfies: bool,
    model: &'static str,
    simulated: Option<u64>,
    device: Option<u64>,
    /// Of an outcome that the model forbids: how it was seen.
    configuration: Option<String>,
}

impl SeenJson {
    fn new(names: &[String], row: &Row, runs: &Runs) -> Self {
        let alarm = runs.alarms().into_iter().find(|(alarm, _)| alarm.values == row.values);
        Self {
            values: names.iter().cloned().zip(row.values.iter().copied()).collect(),
            satisfies: row.satisfies,
            model: judgement(row),
            simulated: row.simulated,
            device: row.device,
            configuration: alarm.map(|(_, place)| place.to_owned()),
        }
    }
}

/// How runs went as a whole.
#[derive(Serialize, Debug, Default)]
struct RunJson {
    complete: u64,
    incomplete: u64,
    /// Why a launch ended early, or why there was none.
    error: Option<String>,
}

impl From<&Result<Seen, NotRun>> for RunJson {
    fn from(run: &Result<Seen, NotRun>) -> Self {
        match run {
            Ok(seen) => {
                Self { complete: seen.complete, incomplete: seen.incomplete, error: seen.failed.clone() }
            }
            Err(NotRun::Unsupported(what)) => {
                Self { error: Some(format!("unsupported: {what}")), ..Self::default() }
            }
            Err(NotRun::Failed(what)) => Self { error: Some(what.clone()), ..Self::default() },
        }
    }
}

#[derive(Serialize, Debug)]
struct RaceJson {
    class: &'static str,
    accesses: Vec<AccessJson>,
}

#[derive(Serialize, Debug)]
struct AccessJson {
    thread: u32,
    line: u32,
    text: String,
}

impl From<&Race> for RaceJson {
    fn from(race: &Race) -> Self {
        let access = |(thread, line, text): &(u32, u32, String)| AccessJson {
            thread: *thread,
            line: *line,
            text: text.clone(),
        };
        Self { class: race.class.as_str(), accesses: race.accesses.iter().map(access).collect() }
    }
}

#[derive(Serialize, Debug)]
struct EventJson {
    label: String,
    thread: Option<u32>,
    line: u32,
    text: String,
    action: String,
}

impl From<&ShownEvent> for EventJson {
    fn from(event: &ShownEvent) -> Self {
        Self {
            label: event.label.clone(),
            thread: event.thread,
            line: event.line,
            text: event.text.clone(),
            action: event.action.clone(),
        }
    }
}

/// Events, and relations as pairs of their indices.
#[derive(Serialize, Debug)]
struct ExecutionJson {
    events: Vec<EventJson>,
    relations: IndexMap<&'static str, Vec<(usize, usize)>>,
}

impl From<&Shown> for ExecutionJson {
    fn from(shown: &Shown) -> Self {
        Self {
            events: shown.events.iter().map(EventJson::from).collect(),
            relations: shown.relations.iter().cloned().collect(),
        }
    }
}

#[derive(Serialize, Debug)]
struct CutJson {
    axiom: String,
    section: String,
    events: Vec<EventJson>,
    /// Reads with the writes they read from.
    reads_from: Vec<(usize, usize)>,
    cycle: Vec<StepJson>,
}

#[derive(Serialize, Debug)]
struct StepJson {
    from: usize,
    relation: String,
    to: usize,
    because: Vec<StepJson>,
}

impl From<&Step> for StepJson {
    fn from(step: &Step) -> Self {
        Self {
            from: step.from,
            relation: step.relation.clone(),
            to: step.to,
            because: step.because.iter().map(StepJson::from).collect(),
        }
    }
}

impl From<&Cut> for CutJson {
    fn from(cut: &Cut) -> Self {
        Self {
            axiom: cut.axiom.clone(),
            section: cut.section.clone(),
            events: cut.events.iter().map(EventJson::from).collect(),
            reads_from: cut.reads_from.clone(),
            cycle: cut.cycle.iter().map(StepJson::from).collect(),
        }
    }
}
