//! `warpgrind litmus tune`: environments under which a device shows weak outcomes.

use device::Device;
use memory_model::{Limits, Litmus, Options};
use serde::Serialize;
use sim_core::{DeviceConfig, Simulator};
use warpgrind::litmus::experiment::{self, NotRun, Plan};
use warpgrind::litmus::tune::{Search, Tuned, asks, tune as search};

use super::load;
use super::model;
use crate::args::TuneArgs;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::interrupt::Interrupt;
use crate::progress::Counted;
use crate::report::{Console, SCHEMA, plural};

#[derive(Serialize, Debug)]
struct TuneReport {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    model: String,
    tests: Vec<TestJson>,
}

/// A test; rates are a million instances.
#[derive(Serialize, Debug)]
struct TestJson {
    name: String,
    verdict: &'static str,
    /// Instances that showed the outcome, and all, in how many environments.
    shown: u64,
    instances: u64,
    environments: u64,
    /// In the best environment.
    rate: Option<f64>,
    /// What the rate is below, if the outcome was not seen, at 95 percent confidence.
    below: Option<f64>,
    environment: Option<String>,
    /// The test of the same shape whose environment that is, its rate there, and how likely such a rate would have been
    /// seen.
    mutant: Option<String>,
    mutant_rate: Option<f64>,
    confidence: Option<f64>,
    /// Instances on the simulator that showed the outcome.
    simulated: Option<u64>,
    alarms: Vec<String>,
    not_run: Option<String>,
    failed: Option<String>,
}

const MILLION: f64 = 1e6;

impl TestJson {
    fn new(tuned: Tuned, simulated: Option<u64>) -> Self {
        let (search, not_run) = match tuned.search {
            Ok(search) => (search, None),
            Err(NotRun::Unsupported(why) | NotRun::Failed(why)) => (Search::default(), Some(why)),
        };
        let alarm = |(values, place): &(Vec<i64>, String)| {
            let values: Vec<String> = values.iter().map(i64::to_string).collect();
            format!("({}), seen with {place}", values.join(", "))
        };
        let mutant = search.mutant.as_ref();
        Self {
            name: tuned.name,
            verdict: tuned.verdict,
            shown: search.shown,
            instances: search.instances,
            environments: search.tried,
            rate: search.best.map(|best| best.rate() * MILLION),
            below: search.bound().map(|bound| bound * MILLION),
            environment: search.best.map(|best| best.environment.to_string()),
            mutant: mutant.map(|(name, _)| name.clone()),
            mutant_rate: mutant.map(|(_, trial)| trial.rate() * MILLION),
            confidence: search.confidence(),
            simulated,
            alarms: search.alarms.iter().map(alarm).collect(),
            not_run,
            failed: search.failed,
        }
    }

    /// The cells of the table: name, verdict, seen, a million, simulated.
    fn cells(&self) -> [String; 5] {
        let rate = match (&self.not_run, self.below, self.rate) {
            (Some(why), ..) => format!("not run: {why}"),
            (None, Some(below), _) => format!("< {below:.3}"),
            (None, None, Some(rate)) => format!("{rate:.3}"),
            (None, None, None) => String::new(),
        };
        let shown = format!("{} of {}", self.shown, self.instances);
        let simulated = self.simulated.map_or(String::new(), |n| n.to_string());
        [self.name.clone(), self.verdict.to_owned(), shown, rate, simulated]
    }
}

/// Tunes for all tests, one after the other: the device is theirs alone.
pub(crate) fn tune(args: &TuneArgs, console: &Console) -> Result<Exit, Failure> {
    let (model, file) = match model::choose(&args.model, console)? {
        Ok(chosen) => chosen,
        Err(exit) => return Ok(exit),
    };
    let Some(tests) = load::all(&args.files, console)? else { return Ok(Exit::Rejected) };
    let device = Device::open(&args.compiler.options(args.device_index));
    let device = device.map_err(|error| Failure::new(Exit::NoDevice, error.to_string()))?;
    let interrupt = Interrupt::watch()?;
    let limits = Limits { time: Some(args.timeout), ..Limits::default() };
    let options = Options { model, file, limits, ..Options::default() };
    let plan = Plan {
        instances: args.instances.unwrap_or(u64::MAX),
        launch: Plan::DEVICE_LAUNCH,
        seed: args.seed,
        weak: false,
        device: true,
        timeout: args.timeout,
        interrupt: Some(interrupt.any.clone()),
    };
    let progress = Counted::new(console.is_human(), 2 * tests.len(), "searches");
    let tuned = search(&tests, &options, &device, &plan, args.trial.max(1), || progress.done());
    drop(progress);
    let simulated = |litmus: &Litmus| {
        let plan = Plan {
            instances: args.simulate?,
            launch: Plan::SIMULATOR_LAUNCH,
            weak: true,
            device: false,
            ..plan.clone()
        };
        let seen = experiment::run(litmus, &Simulator::new(DeviceConfig::h200()), &plan).ok()?;
        Some(seen.outcomes.iter().filter(|(values, _)| asks(litmus, values)).map(|(_, (n, _))| n).sum())
    };
    let tests: Vec<TestJson> =
        tests.iter().zip(tuned).map(|(litmus, tuned)| TestJson::new(tuned, simulated(litmus))).collect();
    let exit = match interrupt.exit() {
        Some(exit) => exit,
        None if tests.iter().any(|test| !test.alarms.is_empty()) => Exit::Findings,
        None => Exit::Clean,
    };
    if let Some(path) = &args.output {
        files::replace(path, csv(&tests).as_bytes())?;
    }
    if console.is_human() {
        console.out(text(&tests));
    } else {
        console.json(&TuneReport {
            schema: SCHEMA,
            command: "litmus tune",
            exit_code: exit.code(),
            model: args.model.to_string(),
            tests,
        });
    }
    Ok(exit)
}

fn text(tests: &[TestJson]) -> String {
    let mut rows = vec![["test", "model", "seen", "a million", "simulated"].map(str::to_owned)];
    rows.extend(tests.iter().map(TestJson::cells));
    let widths: [usize; 5] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    let allowed = tests.iter().filter(|test| test.verdict == "allowed").count() as u64;
    let shown = tests.iter().filter(|test| test.verdict == "allowed" && test.shown > 0).count();
    out += &format!("{shown} of {} that the model allows were seen\n", plural(allowed, "outcome"));
    for test in tests {
        for alarm in &test.alarms {
            out += &format!("ALARM: {}: the model forbids the outcome {alarm}\n", test.name);
        }
        if let Some(why) = &test.failed {
            out += &format!("{}: a launch ended early: {why}\n", test.name);
        }
    }
    out
}

fn csv(tests: &[TestJson]) -> String {
    let number = |number: Option<f64>| number.map_or(String::new(), |n| format!("{n:.6}"));
    let mut out = String::from(
        "test,model,shown,instances,environments,per_million,below_per_million,mutant,mutant_per_million,\
         confidence,simulated,environment\n",
    );
    for test in tests {
        let simulated = test.simulated.map_or(String::new(), |n| n.to_string());
        let mutant = test.mutant.as_deref().unwrap_or_default();
        let environment = test.environment.as_deref().unwrap_or_default();
        out += &format!(
            "{},{},{},{},{},{},{},{mutant},{},{},{simulated},{environment}\n",
            test.name,
            test.verdict,
            test.shown,
            test.instances,
            test.environments,
            number(test.rate),
            number(test.below),
            number(test.mutant_rate),
            number(test.confidence),
        );
    }
    out
}
