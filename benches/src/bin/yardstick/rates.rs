//! The second table: rates by kind of instruction, and the cost of tools.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use benches::rates::{Group, Target, cases};
use benches::{NAMES, Size, prepare};
use racecheck::Footprint;
use sim_core::tools::Initcheck;
use sim_core::{DeviceConfig, RunOptions, Simulator, ToolFactory};

use crate::subject::{Subject, best};

/// Prints the rates; false if a result was wrong.
pub(crate) fn print(size: Size, runs: u32, only: &str) -> bool {
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    let mut right = true;
    let mut group: Option<Group> = None;
    let mut last = 0.0;
    for case in cases() {
        if !case.name.contains(only) && !format!("{:?}", case.group).to_lowercase().contains(only) {
            continue;
        }
        if group != Some(case.group) {
            group = Some(case.group);
            println!(
                "\n{:<24} {:>9} {:>9} {:>14}   target",
                format!("{:?}", case.group),
                "cpu s",
                "ns/warp",
                "rate"
            );
        }
        let simulator = Simulator::new(DeviceConfig::h200());
        let loaded = case.load(&simulator, size);
        let mut stats = sim_core::Stats::default();
        let seconds =
            best(runs, || loaded.reset(&simulator), || stats = loaded.run(&simulator, &options).stats);
        if let Err(message) = loaded.check(&simulator) {
            eprintln!("error: {}: {message}", case.name);
            right = false;
        }
        let rate = loaded.lanes.unwrap_or(stats.thread_instructions) as f64 / seconds / 1e6;
        let unit = if loaded.lanes.is_some() { "M lanes/s" } else { "M/s" };
        let verdict = |met: bool| if met { "met" } else { "MISSED" };
        let target = match case.target {
            Target::None => String::new(),
            Target::Rate(least) => format!("{least:.0}: {}", verdict(rate >= least)),
            Target::Part(part) => {
                let share = rate / last;
                format!("{part:.2} of the one above: {share:.2} {}", verdict(share >= part))
            }
        };
        let each = seconds * 1e9 / stats.warp_instructions as f64;
        println!(
            "{:<24} {seconds:>9.4} {each:>9.1} {:>14}   {target}",
            case.name,
            format!("{rate:.0} {unit}")
        );
        last = rate;
    }
    if let Some(name) = only.strip_prefix("tools") {
        right &= tools(size, runs, name.trim_start_matches('/'));
    } else if only.is_empty() {
        right &= tools(size, runs, "");
    }
    right
}

/// Prints what tools cost, on the yardstick's kernels and those that share memory.
fn tools(size: Size, runs: u32, only: &str) -> bool {
    println!(
        "\n{:<24} {:>9} {:>12} {:>12} {:>12} {:>16}",
        "Tools", "plain s", "--stats", "initcheck", "racecheck", "bytes a byte"
    );
    let mut right = true;
    for name in NAMES.into_iter().filter(|name| name.contains(only)) {
        right &= with_tools(name, runs, false, |simulator| prepare(simulator, name, size));
    }
    for case in cases() {
        if case.group == Group::Sharing && case.name.contains(only) {
            right &= with_tools(case.name, runs, case.is_racy(), |simulator| case.load(simulator, size));
        }
    }
    right
}

/// One line of the table.
fn with_tools<S: Subject>(name: &str, runs: u32, racy: bool, load: impl Fn(&Simulator) -> S) -> bool {
    let time = |options: &RunOptions| {
        let tracks = options.tools.iter().any(|tool| tool.tracks_initialization());
        let config = DeviceConfig { track_initialization: tracks, ..DeviceConfig::h200() };
        let simulator = Simulator::new(config);
        let subject = load(&simulator);
        let seconds = best(
            runs,
            || subject.reset(&simulator),
            || {
                let report = subject.run(&simulator, options);
                assert!(racy || report.findings.is_empty(), "{name}: {:#?}", report.findings);
            },
        );
        (seconds, subject.is_right(&simulator))
    };
    let plain = RunOptions { jobs: 1, ..RunOptions::default() };
    let counting = RunOptions { count_memory: true, ..plain.clone() };
    let checking = RunOptions { tools: vec![ToolFactory::new(|_| Initcheck)], ..plain.clone() };
    let races = RunOptions { tools: vec![racecheck::tool()], ..plain.clone() };
    let [(plain, a), (counting, b), (checking, c), (races, d)] =
        [plain, counting, checking, races].map(|options| time(&options));
    let right = a && b && c && d;
    if !right {
        eprintln!("error: {name}: wrong results");
    }
    let footprint = {
        let footprint = Arc::new(Footprint::default());
        let simulator = Simulator::new(DeviceConfig::h200());
        let tools = vec![racecheck::measured_tool(footprint.clone())];
        let subject = load(&simulator);
        subject.reset(&simulator);
        subject.run(&simulator, &RunOptions { tools, ..RunOptions::default() });
        footprint.held.load(Relaxed) as f64 / footprint.touched.load(Relaxed).max(1) as f64
    };
    println!(
        "{name:<24} {plain:>9.4} {:>12} {:>12} {:>12} {footprint:>16.2}",
        format!("{:.2}x", counting / plain),
        format!("{:.2}x", checking / plain),
        format!("{:.2}x", races / plain),
    );
    right
}
