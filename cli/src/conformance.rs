//! `warpgrind conformance`: every instruction form against what a device gave.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use conformance::{Case, Catalog, Difference, Example, Known, Recording, Report, Verdict};
use device::Device;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::ThreadPool;
use serde::Serialize;
use sim_core::{Backend, DeviceConfig, Simulator};
use warpgrind::files::{MAX_TEXT, read_file};

use crate::args::{ConformanceCommand, ConformanceRecordArgs, Global, VerifyArgs};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::report::{Console, SCHEMA, plural};

/// Instructions that are known to differ, each with its reason.
const KNOWN: &str = include_str!("../recorded/differing.txt");

/// What an H200 gives.
const RECORDED: &[u8] = include_bytes!("../recorded/sm_90.recording");

/// Differing instructions that are shown.
const SHOWN: usize = 40;

/// Runs the command.
pub(crate) fn conformance(
    command: &ConformanceCommand,
    global: &Global,
    console: &Console,
) -> Result<Exit, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    match command {
        ConformanceCommand::List { only, ptx } => list(&catalog(only.as_deref(), &pool)?, *ptx, console),
        ConformanceCommand::Record(args) => record(args, &pool, console),
        ConformanceCommand::Verify(args) => verify(args, false, &pool, console),
        ConformanceCommand::Report(args) => verify(args, true, &pool, console),
        ConformanceCommand::Random(args) => crate::random::random(args, &pool, console),
    }
}

/// The instructions that begin so.
fn catalog(only: Option<&str>, pool: &ThreadPool) -> Result<Catalog, Failure> {
    let catalog = pool.install(|| Catalog::new(|text| only.is_none_or(|start| text.starts_with(start))));
    match (catalog.cases().count(), only) {
        (0, Some(start)) => {
            let mut failure =
                Failure::usage(format!("no instruction that is compared begins with `{start}`"));
            for (form, reason) in catalog.not_covered.iter().map(|n| (n.form, &n.reason)).take(3) {
                failure = failure.note(format!("`{}` is not compared: {reason}", form.notation()));
            }
            Err(failure.help("`warpgrind conformance list` lists those that are compared"))
        }
        _ => Ok(catalog),
    }
}

#[derive(Serialize)]
struct ListJson<'a> {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    instructions: Vec<&'a str>,
    not_covered: Vec<NotCoveredJson>,
}

#[derive(Serialize)]
struct NotCoveredJson {
    instruction: String,
    count: usize,
    reason: String,
}

fn not_covered(list: &[conformance::NotCovered]) -> Vec<NotCoveredJson> {
    let entry = |one: &conformance::NotCovered| NotCoveredJson {
        instruction: one.form.notation().to_string(),
        count: one.instructions,
        reason: one.reason.clone(),
    };
    list.iter().map(entry).collect()
}

fn list(catalog: &Catalog, ptx: bool, console: &Console) -> Result<Exit, Failure> {
    if !console.is_human() {
        console.json(&ListJson {
            schema: SCHEMA,
            command: "conformance list",
            exit_code: Exit::Clean.code(),
            instructions: catalog.cases().map(|case| case.text.as_str()).collect(),
            not_covered: not_covered(&catalog.not_covered),
        });
        return Ok(Exit::Clean);
    }
    for case in catalog.cases() {
        match ptx {
            true => console.out(format!("// {}\n{}", case.text, catalog.ptx(case))),
            false => console.out(format!("{}\n", case.text)),
        }
    }
    Ok(Exit::Clean)
}

fn record(args: &ConformanceRecordArgs, pool: &ThreadPool, console: &Console) -> Result<Exit, Failure> {
    let (backend, device) = backend(args)?;
    let catalog = catalog(args.only.as_deref(), pool)?;
    let start = Instant::now();
    let bar = bar(catalog.cases().count());
    let progress = |count: usize| bar.inc(count as u64);
    let (mut recording, refused) =
        pool.install(|| conformance::record(&catalog, &*backend, device, &progress));
    bar.finish_and_clear();
    let recorded = recording.len();
    if args.only.is_some() && args.output.exists() {
        let mut whole = read(&args.output)?;
        whole.merge(recording);
        recording = whole;
    }
    let bytes = recording.to_bytes();
    files::replace(&args.output, &bytes)?;
    for (case, refusal) in refused.iter().take(SHOWN) {
        console.out(format!("refused: {}: {refusal}\n", case.text));
    }
    if refused.len() > SHOWN {
        console.out(format!("and {} more\n", refused.len() - SHOWN));
    }
    console.out(format!(
        "{} recorded on {} in {:.1} s, {} refused; {} has {} and {} bytes\n",
        plural(recorded as u64, "instruction"),
        recording.device.name,
        start.elapsed().as_secs_f64(),
        refused.len(),
        args.output.display(),
        plural(recording.len() as u64, "instruction"),
        bytes.len(),
    ));
    Ok(Exit::Clean)
}

/// What is recorded, and its name.
fn backend(args: &ConformanceRecordArgs) -> Result<(Box<dyn Backend>, conformance::Device), Failure> {
    let target = format!("PTX {}, {}", conformance::PTX_VERSION, conformance::TARGET);
    if args.simulator {
        let simulator = Simulator::new(DeviceConfig::h200());
        let (name, driver) = (simulator.name(), String::new());
        return Ok((Box::new(simulator), conformance::Device { name, driver, target }));
    }
    let device = Device::open(&args.device.options())?;
    let name = device.properties().name.clone();
    let driver = device.driver().version().to_string();
    Ok((Box::new(device), conformance::Device { name, driver, target }))
}

fn read(path: &Path) -> Result<Recording, Failure> {
    let bytes = read_file(path, MAX_TEXT)?;
    Recording::from_bytes(&bytes).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// The recording of a file, or the one of this program, with its name.
fn recorded(path: Option<&Path>) -> Result<(Recording, String), Failure> {
    match path {
        Some(path) => Ok((read(path)?, path.display().to_string())),
        None => {
            let name = "the recording of this program".to_owned();
            let recording = Recording::from_bytes(RECORDED);
            Ok((recording.map_err(|error| Failure::usage(format!("{name}: {error}")))?, name))
        }
    }
}

fn verify(args: &VerifyArgs, all: bool, pool: &ThreadPool, console: &Console) -> Result<Exit, Failure> {
    let known = Known::parse(KNOWN).map_err(|error| Failure::usage(error.to_string()))?;
    let (recording, name) = recorded(args.recording.as_deref())?;
    let target = format!("PTX {}, {}", conformance::PTX_VERSION, conformance::TARGET);
    if recording.device.target != target {
        return Err(Failure::usage(format!(
            "{name} was made for {}, and the kernels are for {target}",
            recording.device.target
        )));
    }
    let start = Instant::now();
    let catalog = catalog(args.only.as_deref(), pool)?;
    let simulator = Simulator::new(DeviceConfig::h200());
    let bar = bar(catalog.cases().count());
    let (whole, progress) = (args.only.is_none(), |count: usize| bar.inc(count as u64));
    let report =
        pool.install(|| conformance::verify(&catalog, &recording, &known, &simulator, whole, &progress));
    bar.finish_and_clear();
    if report.unknown > 0 {
        return Err(Failure::usage(format!(
            "{name} is of another instruction table: it has {} that are not among the {} of this one",
            plural(report.unknown as u64, "instruction"),
            report.cases.len()
        ))
        .help("record again on a device"));
    }
    let exit = if report.passed() { Exit::Clean } else { Exit::Findings };
    if console.is_human() {
        show(&report, &recording, all, start.elapsed(), console);
    } else {
        console.json(&document(&report, &recording, all, exit, start.elapsed()));
    }
    Ok(exit)
}

fn bar(length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64);
    // The default style is the fallback for a template that does not parse.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos} of {len} instructions, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// Counts of a group of the instruction table.
#[derive(Serialize, Default, Clone)]
struct Counts {
    equal: usize,
    differing: usize,
    not_covered: usize,
}

fn counts(report: &Report) -> BTreeMap<&'static str, Counts> {
    let mut groups: BTreeMap<&'static str, Counts> = BTreeMap::new();
    for (case, verdict) in &report.cases {
        let counts = groups.entry(case.form.group()).or_default();
        match verdict {
            Verdict::Equal => counts.equal += 1,
            Verdict::Differs(..) => counts.differing += 1,
            Verdict::NotCovered(_) => counts.not_covered += 1,
        }
    }
    for one in &report.not_covered {
        groups.entry(one.form.group()).or_default().not_covered += one.instructions;
    }
    groups
}

/// Why instructions are not covered, with how many.
fn reasons(report: &Report) -> BTreeMap<String, usize> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for one in &report.not_covered {
        *reasons.entry(one.reason.clone()).or_default() += one.instructions;
    }
    for (_, verdict) in &report.cases {
        if let Verdict::NotCovered(reason) = verdict {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
    }
    reasons
}

fn show(report: &Report, recording: &Recording, all: bool, time: Duration, console: &Console) {
    let mut hidden = 0;
    for (at, (case, difference, reason)) in report.differing().enumerate() {
        match all || (reason.is_none() && at < SHOWN) {
            true => console.out(difference_text(case, difference, reason)),
            false => hidden += usize::from(reason.is_none()),
        }
    }
    if hidden > 0 {
        console.out(format!("and {} more that differ\n", hidden));
    }
    for text in &report.stale {
        console.out(format!("listed as differing, but nothing differs: {text}\n"));
    }
    if all {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["group", "equal", "differing", "not covered"]);
        for (group, counts) in counts(report) {
            table.add_row(vec![
                group.to_string(),
                counts.equal.to_string(),
                counts.differing.to_string(),
                counts.not_covered.to_string(),
            ]);
        }
        for column in [1, 2, 3] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            console.out(format!("{}\n", line.trim_end()));
        }
        console.out("\nnot covered:\n");
        for (reason, count) in reasons(report) {
            console.out(format!("{count:7}  {reason}\n"));
        }
        console.out("\n");
    }
    let differing = report.differing().count();
    let explained = report.differing().filter(|(_, _, reason)| reason.is_some()).count();
    let not_covered: usize = reasons(report).values().sum();
    let tuples: usize = report.cases.iter().map(|(case, _)| case.tuples()).sum();
    console.out(format!(
        "{} equal to {}, {differing} differing ({explained} with a known reason), {not_covered} not covered; \
         {} tuples in {:.1} s\n",
        plural(report.equal() as u64, "instruction"),
        recording.device.name,
        tuples,
        time.as_secs_f64()
    ));
}

/// A differing instruction, its operands, and both results.
fn difference_text(case: &Case, difference: &Difference, reason: Option<&str>) -> String {
    let mut text = format!("differs: {}\n", case.text);
    if let Some(reason) = reason {
        text += &format!("  known: {reason}\n");
    }
    let (runs, all_runs) = difference.runs;
    let (samples, all_samples) = difference.samples;
    text +=
        &format!("  in {runs} of {all_runs} runs of tuples, in {samples} of {all_samples} sampled tuples\n");
    for example in &difference.examples {
        text += &format!("  {}\n", example_text(example));
    }
    text
}

fn example_text(example: &Example) -> String {
    let operands: Vec<String> =
        example.operands.iter().map(|(name, ty, bits)| format!("{name} = {bits:#x} ({ty})")).collect();
    let results: Vec<String> = example
        .results
        .iter()
        .map(|(name, recorded, given)| match recorded {
            Some(recorded) if recorded == given => format!("{name} = {given:#x}"),
            Some(recorded) => format!("{name} = {given:#x}, recorded {recorded:#x}"),
            None => format!("{name} = {given:#x}, recorded unknown"),
        })
        .collect();
    format!("thread {}: {} -> {}", example.thread, operands.join(", "), results.join(", "))
}

#[derive(Serialize)]
struct ReportJson<'a> {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    device: &'a str,
    driver: &'a str,
    target: &'a str,
    equal: usize,
    groups: BTreeMap<&'static str, Counts>,
    differing: Vec<DifferenceJson<'a>>,
    stale: &'a [String],
    not_covered: Vec<NotCoveredJson>,
    seconds: f64,
}

#[derive(Serialize)]
struct DifferenceJson<'a> {
    instruction: &'a str,
    reason: Option<&'a str>,
    runs: usize,
    runs_compared: usize,
    samples: usize,
    samples_compared: usize,
    examples: Vec<ExampleJson<'a>>,
}

#[derive(Serialize)]
struct ExampleJson<'a> {
    thread: usize,
    operands: Vec<ValueJson<'a>>,
    results: Vec<ResultJson<'a>>,
}

#[derive(Serialize)]
struct ValueJson<'a> {
    register: &'a str,
    r#type: &'static str,
    bits: String,
}

#[derive(Serialize)]
struct ResultJson<'a> {
    register: &'a str,
    recorded: Option<String>,
    given: String,
}

fn document<'a>(
    report: &'a Report,
    recording: &'a Recording,
    all: bool,
    exit: Exit,
    time: Duration,
) -> ReportJson<'a> {
    let hex = |bits: u128| format!("{bits:#x}");
    let example = |example: &'a Example| ExampleJson {
        thread: example.thread,
        operands: example
            .operands
            .iter()
            .map(|(name, ty, bits)| ValueJson { register: name, r#type: ty.text(), bits: hex(*bits) })
            .collect(),
        results: example
            .results
            .iter()
            .map(|(name, recorded, given)| ResultJson {
                register: name,
                recorded: recorded.map(hex),
                given: hex(*given),
            })
            .collect(),
    };
    let differing = report.differing().map(|(case, difference, reason)| DifferenceJson {
        instruction: &case.text,
        reason,
        runs: difference.runs.0,
        runs_compared: difference.runs.1,
        samples: difference.samples.0,
        samples_compared: difference.samples.1,
        examples: difference.examples.iter().map(example).collect(),
    });
    let mut list = not_covered(&report.not_covered);
    list.extend(report.cases.iter().filter_map(|(case, verdict)| match verdict {
        Verdict::NotCovered(reason) => {
            Some(NotCoveredJson { instruction: case.text.clone(), count: 1, reason: reason.clone() })
        }
        _ => None,
    }));
    ReportJson {
        schema: SCHEMA,
        command: if all { "conformance report" } else { "conformance verify" },
        exit_code: exit.code(),
        device: &recording.device.name,
        driver: &recording.device.driver,
        target: &recording.device.target,
        equal: report.equal(),
        groups: counts(report),
        differing: differing.collect(),
        stale: &report.stale,
        not_covered: list,
        seconds: time.as_secs_f64(),
    }
}
