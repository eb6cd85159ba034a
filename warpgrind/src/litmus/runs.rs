//! Outcomes that were seen, against those that the model allows: one table.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use memory_model::program::{Assertion, Cmp, Cond, Quantifier, Term};
use memory_model::{Litmus, Options, Outcome, Property, check};
use sim_core::{Backend, DeviceConfig, Simulator};

use super::experiment::{self, NotRun, Plan, Seen};

/// Runs of one test.
#[derive(Debug, Default)]
pub struct Runs {
    /// On the simulator, if that was asked for.
    pub simulated: Option<Result<Seen, NotRun>>,
    /// On the device.
    pub device: Option<Result<Seen, NotRun>>,
    /// Every outcome that the model allows or that was seen.
    pub rows: Vec<Row>,
}

/// An outcome.
#[derive(Debug)]
pub struct Row {
    /// Values of the observables.
    pub values: Vec<i64>,
    /// Whether the assertion's condition holds of it.
    pub satisfies: bool,
    /// Whether the model allows it, if that is known.
    pub allowed: Option<bool>,
    /// How often it was seen.
    pub simulated: Option<u64>,
    /// How often it was seen.
    pub device: Option<u64>,
}

impl Runs {
    /// Runs a test on the simulator and on a device, each if a plan is given for it, and asks the model about what was seen.
    pub fn new(
        litmus: &Litmus,
        options: &Options,
        simulated: Option<&Plan>,
        device: Option<(&dyn Backend, &Plan)>,
    ) -> Self {
        let mut runs = Self::default();
        if let Some(plan) = simulated {
            runs.simulated = Some(experiment::run(litmus, &Simulator::new(DeviceConfig::h200()), plan));
        }
        if let Some((device, plan)) = device {
            runs.device = Some(experiment::run(litmus, device, plan));
        }
        if runs.simulated.is_some() || runs.device.is_some() {
            runs.rows = rows(litmus, options, &runs);
        }
        runs
    }

    /// The runs that were asked for.
    pub fn both(&self) -> impl Iterator<Item = &Result<Seen, NotRun>> {
        self.simulated.iter().chain(&self.device)
    }

    /// Outcomes that were seen and that the model forbids, with where they were seen first.
    pub fn alarms(&self) -> Vec<(&Row, &str)> {
        let seen = |values: &[i64]| {
            self.both().flatten().find_map(|seen| seen.outcomes.get(values)).map(|(_, place)| place.as_str())
        };
        let forbidden = self.rows.iter().filter(|row| row.allowed == Some(false));
        forbidden.filter_map(|row| Some((row, seen(&row.values)?))).collect()
    }
}

fn rows(litmus: &Litmus, options: &Options, runs: &Runs) -> Vec<Row> {
    let observed = litmus.observables();
    let deadline = options.limits.time.and_then(|time| Instant::now().checked_add(time));
    let mut ask = options.clone();
    (ask.property, ask.outcomes, ask.count, ask.explain) = (Property::Assertion, true, false, false);
    let model = check(litmus, &ask);
    let listed: BTreeMap<&[i64], &Outcome> =
        model.outcomes.iter().map(|outcome| (&outcome.values[..], outcome)).collect();
    let mut all: BTreeSet<Vec<i64>> = model.outcomes.iter().map(|o| o.values.clone()).collect();
    all.extend(runs.both().flatten().flat_map(|seen| seen.outcomes.keys().cloned()));
    all.into_iter()
        .map(|values| {
            let value = |v| observed.iter().position(|&o| o == v).map_or(0, |at| values[at]);
            let count = |run: &Option<Result<Seen, NotRun>>| {
                let seen = run.as_ref()?.as_ref().ok()?;
                Some(seen.outcomes.get(&values).map_or(0, |(count, _)| *count))
            };
            Row {
                satisfies: litmus.assertion.as_ref().is_some_and(|a| a.cond.eval(&value)),
                allowed: match listed.contains_key(&values[..]) {
                    true => Some(true),
                    false if model.verdict == "undefined" => None,
                    false if model.outcomes_complete => Some(false),
                    false => {
                        // All rows together have the time of one test.
                        ask.limits.time = deadline.map(|d| d.saturating_duration_since(Instant::now()));
                        possible(litmus, &ask, &values)
                    }
                },
                simulated: count(&runs.simulated),
                device: count(&runs.device),
                values,
            }
        })
        .collect()
}

/// Whether the model allows an outcome, asked for alone.
fn possible(litmus: &Litmus, options: &Options, values: &[i64]) -> Option<bool> {
    let equal = |(&v, &value)| Cond::Cmp(Cmp::Eq, Term::Var(v), Term::Const(value));
    let observed = litmus.observables();
    let cond = observed.iter().zip(values).map(equal).reduce(|a, b| Cond::And(Box::new(a), Box::new(b)))?;
    let litmus =
        Litmus { assertion: Some(Assertion { quantifier: Quantifier::Exists, cond }), ..litmus.clone() };
    check(&litmus, &Options { outcomes: false, ..options.clone() }).holds
}
