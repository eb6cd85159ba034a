//! `warpgrind litmus progress`: which tests a device ends, beside the schedulers that promise it.

use device::Device;
use memory_model::explore::scheduler::{Scheduler, Unit};
use memory_model::model::ModelName;
use memory_model::{Limits, Litmus, Options, Property, check};
use rayon::prelude::*;
use serde::Serialize;
use sim_core::{Backend, DeviceConfig, Simulator};
use warpgrind::litmus::experiment::{NotRun, Plan};
use warpgrind::litmus::progress::{Mapping, run};

use super::load;
use crate::args::ProgressArgs;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::interrupt::Interrupt;
use crate::progress::Counted;
use crate::report::{Console, SCHEMA, plural};

/// The schedulers of the table, all but `unfair`.
const SCHEDULERS: &[&str] = Scheduler::NAMES.split_at(10).0;

#[derive(Serialize, Debug)]
struct ProgressReport {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    schedulers: &'static [&'static str],
    tests: Vec<TestJson>,
}

/// A test.
#[derive(Serialize, Debug)]
struct TestJson {
    name: String,
    /// Whether it ends under each scheduler, if that is known.
    ends: Vec<Option<bool>>,
    runs: Vec<RunJson>,
}

/// A test with one mapping.
#[derive(Serialize, Debug)]
struct RunJson {
    mapping: String,
    /// Instances of which each thread ended, and those with a thread that gave up.
    ended: u64,
    gave_up: u64,
    not_run: Option<String>,
    failed: Option<String>,
    #[serde(skip)]
    unsupported: bool,
}

impl TestJson {
    /// Whether the test ends under the scheduler, though an instance did not.
    fn breaks(&self, scheduler: usize) -> bool {
        self.ends[scheduler] == Some(true) && self.runs.iter().any(|run| run.gave_up > 0)
    }
}

/// Whether a test ends under each scheduler, if each of its threads is scheduled for itself.
fn ends(litmus: &Litmus, limits: Limits) -> Vec<Option<bool>> {
    let mut apart = litmus.clone();
    for (number, thread) in (0..).zip(&mut apart.program.threads) {
        thread.placement.cta = number;
    }
    let ask = |name: &&str| {
        let scheduler = Scheduler { unit: Unit::Thread, ..name.parse().ok()? };
        let property = Property::Termination;
        check(&apart, &Options { model: ModelName::Sc, property, scheduler, limits, ..Options::default() })
            .holds
    };
    SCHEDULERS.iter().map(ask).collect()
}

/// Runs all tests, one after the other: the device is theirs alone.
pub(crate) fn progress(args: &ProgressArgs, console: &Console) -> Result<Exit, Failure> {
    let Some(tests) = load::all(&args.files, console)? else { return Ok(Exit::Rejected) };
    let backend: Box<dyn Backend> = match args.simulate {
        true => Box::new(Simulator::new(DeviceConfig::h200())),
        false => {
            let device = Device::open(&args.compiler.options(args.device_index));
            Box::new(device.map_err(|error| Failure::new(Exit::NoDevice, error.to_string()))?)
        }
    };
    let interrupt = Interrupt::watch()?;
    let limits = Limits { time: Some(args.timeout), ..Limits::default() };
    let judged: Vec<_> = tests.par_iter().map(|litmus| ends(litmus, limits)).collect();
    let plan = Plan {
        instances: u64::from(args.instances) * u64::from(args.launches),
        launch: args.instances.max(1),
        seed: args.seed,
        weak: false,
        device: !args.simulate,
        timeout: args.timeout,
        interrupt: Some(interrupt.any.clone()),
    };
    let one = |litmus: &Litmus, mapping: Mapping| {
        let mut out = RunJson {
            mapping: mapping.to_string(),
            ended: 0,
            gave_up: 0,
            not_run: None,
            failed: None,
            unsupported: false,
        };
        match run(litmus, &*backend, &plan, mapping, args.patience) {
            Ok(seen) => (out.ended, out.gave_up, out.failed) = (seen.complete, seen.incomplete, seen.failed),
            Err(NotRun::Unsupported(why)) => (out.not_run, out.unsupported) = (Some(why), true),
            Err(NotRun::Failed(why)) => out.not_run = Some(why),
        }
        out
    };
    let bar = Counted::new(console.is_human(), tests.len(), "tests");
    let mut seen = Vec::new();
    for (litmus, ends) in tests.iter().zip(judged) {
        if interrupt.exit().is_some() {
            break;
        }
        let runs = args.mappings.iter().map(|&mapping| one(litmus, mapping)).collect();
        seen.push(TestJson { name: litmus.name.clone(), ends, runs });
        bar.done();
    }
    drop(bar);
    let promised = args.scheduler.to_string();
    let promised = SCHEDULERS.iter().position(|name| *name == promised);
    let exit = match interrupt.exit() {
        Some(exit) => exit,
        None => exit(&seen, promised),
    };
    if let Some(path) = &args.output {
        files::replace(path, csv(&seen).as_bytes())?;
    }
    if console.is_human() {
        console.out(text(&seen, &args.mappings, promised));
        if seen.len() < tests.len() {
            console.err(format!(
                "interrupted after {} of {}\n",
                seen.len(),
                plural(tests.len() as u64, "test")
            ));
        }
    } else {
        console.json(&ProgressReport {
            schema: SCHEMA,
            command: "litmus progress",
            exit_code: exit.code(),
            schedulers: SCHEDULERS,
            tests: seen,
        });
    }
    Ok(exit)
}

fn exit(seen: &[TestJson], promised: Option<usize>) -> Exit {
    let runs = || seen.iter().flat_map(|test| &test.runs);
    if promised.is_some_and(|at| seen.iter().any(|test| test.breaks(at))) {
        Exit::Findings
    } else if runs().any(|run| run.unsupported) {
        Exit::Unsupported
    } else if runs().any(|run| run.failed.is_some() || run.not_run.is_some())
        || promised.is_some_and(|at| seen.iter().any(|test| test.ends[at].is_none()))
    {
        Exit::Faulted
    } else {
        Exit::Clean
    }
}

/// For each scheduler how many tests it ends, and how many of those did not end with each mapping.
fn text(seen: &[TestJson], mappings: &[Mapping], promised: Option<usize>) -> String {
    let mut rows = vec![vec!["scheduler".to_owned(), "ends".to_owned()]];
    rows[0].extend(mappings.iter().map(Mapping::to_string));
    for (at, name) in SCHEDULERS.iter().enumerate() {
        let ended: Vec<&TestJson> = seen.iter().filter(|test| test.ends[at] == Some(true)).collect();
        let mut row = vec![(*name).to_owned(), ended.len().to_string()];
        row.extend((0..mappings.len()).map(|m| {
            let runs = || ended.iter().map(|test| &test.runs[m]);
            let broken = runs().filter(|run| run.gave_up > 0).count();
            match runs().filter(|run| run.not_run.is_none()).count() {
                0 => "-".to_owned(),
                _ if broken > 0 => format!("not {broken}"),
                ran if ran < ended.len() => format!("all {ran} run"),
                _ => "all".to_owned(),
            }
        }));
        rows.push(row);
    }
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|at| rows.iter().map(|row| row[at].len()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    for test in seen {
        for run in &test.runs {
            let RunJson { mapping, ended, gave_up, .. } = run;
            if promised.is_some_and(|at| test.ends[at] == Some(true)) && *gave_up > 0 {
                let all = plural(ended + gave_up, "instance");
                out += &format!("{}, {mapping}: {gave_up} of {all} did not end\n", test.name);
            }
            if let Some(why) = &run.not_run {
                out += &format!("{}, {mapping}: not run: {why}\n", test.name);
            }
            if let Some(why) = &run.failed {
                out += &format!("{}, {mapping}: {why}\n", test.name);
            }
        }
    }
    out
}

/// A line for each test with each mapping; `+` stands for a scheduler that ends the test, `-` for one that does not, `?` for unknown.
fn csv(seen: &[TestJson]) -> String {
    let mut out = format!("test,{},mapping,ended,gave_up\n", SCHEDULERS.join(" "));
    for test in seen {
        let ends: String =
            test.ends.iter().map(|ends| ends.map_or('?', |ends| if ends { '+' } else { '-' })).collect();
        for run in &test.runs {
            out += &format!("{},{ends},{},{},{}\n", test.name, run.mapping, run.ended, run.gave_up);
        }
    }
    out
}
