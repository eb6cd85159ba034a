//! Litmus tests: what the memory model says of them, as dictionaries.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use memory_model::explain::{Cut, Shown, ShownEvent, Step};
use memory_model::{Interrupt, Limits, Litmus, Options, Race, Verdict, check};
use ptx_frontend::Source;
use pyo3::prelude::*;
use warpgrind::litmus::experiment::{NotRun, Plan};
use warpgrind::litmus::runs::Runs;
use warpgrind::litmus::source::{Form, Malformed, model, tests};
use warpgrind::module::read_source;

use crate::error::{Error, LitmusError, rendered};
use crate::wait::interruptible;

/// A test and what was found out about it.
#[derive(IntoPyObject)]
pub(crate) struct Test {
    name: String,
    assertion: Option<String>,
    holds: Option<bool>,
    verdict: &'static str,
    reason: Option<String>,
    seconds: f64,
    bound: u32,
    observables: Vec<String>,
    outcomes: Vec<Outcome>,
    outcomes_complete: bool,
    simulated: Option<Simulated>,
    race: Option<RaceOf>,
    execution: Option<Execution>,
    cuts: Vec<CutOf>,
}

/// Values of the observables together.
#[derive(IntoPyObject)]
struct Outcome {
    values: Vec<i64>,
    satisfies: bool,
    /// Whether the model allows it, if that is known.
    allowed: Option<bool>,
    executions: Option<u64>,
    /// How often the simulator showed it.
    simulated: Option<u64>,
}

#[derive(IntoPyObject)]
struct Simulated {
    complete: u64,
    incomplete: u64,
    error: Option<String>,
}

#[derive(IntoPyObject)]
struct RaceOf {
    class: &'static str,
    /// Thread, line, text.
    accesses: Vec<(u32, u32, String)>,
}

#[derive(IntoPyObject)]
struct Event {
    label: String,
    thread: Option<u32>,
    line: u32,
    text: String,
    action: String,
}

#[derive(IntoPyObject)]
struct Execution {
    events: Vec<Event>,
    relations: Vec<(&'static str, Vec<(usize, usize)>)>,
}

#[derive(IntoPyObject)]
struct CutOf {
    axiom: String,
    section: String,
    events: Vec<Event>,
    reads_from: Vec<(usize, usize)>,
    /// From, relation, to.
    cycle: Vec<(usize, String, usize)>,
}

/// Checks the tests of a text.
#[pyfunction]
#[pyo3(signature = (text, name, form, model_name, model_file, property, bound, count, explain, timeout, simulate, weak, seed))]
pub(crate) fn litmus(
    py: Python<'_>,
    text: Vec<u8>,
    name: String,
    form: &str,
    model_name: &str,
    model_file: Option<PathBuf>,
    property: &str,
    bound: Option<u32>,
    count: bool,
    explain: bool,
    timeout: f64,
    simulate: Option<u64>,
    weak: bool,
    seed: u64,
) -> PyResult<Vec<Test>> {
    let form = match form {
        "litmus" => Form::Litmus,
        "nvlitmus" => Form::Nvlitmus,
        "ptx" => Form::Ptx,
        other => {
            return Err(Error::new_err(format!(
                "litmus tests are not written in `{other}`\nhelp: litmus, nvlitmus or ptx"
            )));
        }
    };
    let timeout = Duration::try_from_secs_f64(timeout).map_err(|error| Error::new_err(error.to_string()))?;
    let mut options = Options {
        model: model_name.parse().map_err(Error::new_err)?,
        property: property.parse().map_err(Error::new_err)?,
        bound,
        outcomes: true,
        count,
        explain,
        limits: Limits { time: Some(timeout), ..Limits::default() },
        ..Options::default()
    };
    interruptible(py, |interrupt| {
        options.interrupt = Some(Interrupt(interrupt.clone()));
        if let Some(path) = &model_file {
            options.file = Some(Arc::new(read_model(path)?));
        }
        let litmuses = tests(Source::new(name, text), form).map_err(|wrong| malformed(&wrong))?;
        let plan = simulate.map(|instances| {
            let interrupt = Some(interrupt.clone());
            Plan { instances, launch: Plan::SIMULATOR_LAUNCH, seed, weak, device: false, timeout, interrupt }
        });
        // After a signal nobody waits for the rest.
        let wanted = litmuses.iter().take_while(|_| !interrupt.load(Ordering::Relaxed));
        Ok(wanted.map(|litmus| Test::of(litmus, &options, plan.as_ref())).collect())
    })
}

fn read_model(path: &Path) -> PyResult<memory_model::cat::CatModel> {
    let source = read_source(path).map_err(|error| LitmusError::new_err(error.to_string()))?;
    let read = |path: &Path| read_source(path).map_err(|error| error.to_string());
    model(path, &source, read).map_err(|wrong| malformed(&wrong))
}

fn malformed(wrong: &Malformed) -> PyErr {
    LitmusError::new_err(rendered(wrong.diagnostics.iter().map(|of| (of, &wrong.source, &[][..]))))
}

impl Test {
    fn of(litmus: &Litmus, options: &Options, plan: Option<&Plan>) -> Self {
        let start = Instant::now();
        let verdict = check(litmus, options);
        let seconds = start.elapsed().as_secs_f64();
        let runs = Runs::new(litmus, options, plan, None);
        let simulated = runs.simulated.as_ref().map(|run| match run {
            Ok(seen) => {
                Simulated { complete: seen.complete, incomplete: seen.incomplete, error: seen.failed.clone() }
            }
            Err(NotRun::Unsupported(what) | NotRun::Failed(what)) => {
                Simulated { complete: 0, incomplete: 0, error: Some(what.clone()) }
            }
        });
        let outcomes = outcomes(&verdict, &runs);
        Self {
            name: litmus.name.clone(),
            assertion: litmus.question(),
            holds: verdict.holds,
            verdict: verdict.verdict,
            reason: verdict.reason,
            seconds,
            bound: verdict.bound,
            observables: verdict.observables,
            outcomes,
            outcomes_complete: verdict.outcomes_complete,
            simulated,
            race: verdict
                .race
                .map(|Race { class, accesses }| RaceOf { class: class.as_str(), accesses: accesses.into() }),
            execution: verdict.witness.map(Execution::from),
            cuts: verdict.cuts.into_iter().map(CutOf::from).collect(),
        }
    }
}

/// What the model allows and what was seen, as one list in the order of values.
fn outcomes(verdict: &Verdict, runs: &Runs) -> Vec<Outcome> {
    let executions = |values: &[i64]| {
        let found = verdict.outcomes.iter().find(|of| of.values == values);
        found.and_then(|of| of.executions)
    };
    if runs.rows.is_empty() {
        let of = |of: &memory_model::Outcome| Outcome {
            values: of.values.clone(),
            satisfies: of.satisfies,
            allowed: Some(true),
            executions: of.executions,
            simulated: None,
        };
        return verdict.outcomes.iter().map(of).collect();
    }
    let of = |row: &warpgrind::litmus::runs::Row| Outcome {
        values: row.values.clone(),
        satisfies: row.satisfies,
        allowed: row.allowed,
        executions: executions(&row.values),
        simulated: row.simulated,
    };
    runs.rows.iter().map(of).collect()
}

impl From<ShownEvent> for Event {
    fn from(event: ShownEvent) -> Self {
        let ShownEvent { label, thread, line, text, action } = event;
        Self { label, thread, line, text, action }
    }
}

impl From<Shown> for Execution {
    fn from(shown: Shown) -> Self {
        Self { events: shown.events.into_iter().map(Event::from).collect(), relations: shown.relations }
    }
}

impl From<Cut> for CutOf {
    fn from(cut: Cut) -> Self {
        let step = |Step { from, relation, to, .. }: Step| (from, relation, to);
        Self {
            axiom: cut.axiom,
            section: cut.section,
            events: cut.events.into_iter().map(Event::from).collect(),
            reads_from: cut.reads_from,
            cycle: cut.cycle.into_iter().map(step).collect(),
        }
    }
}
