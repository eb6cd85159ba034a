//! What the simulator shows, against the model. `WARPGRIND_FUZZ=20` runs twenty times as many random programs.

use std::collections::BTreeMap;

use clap::Parser;
use memory_model::explore::scheduler::Scheduler;
use memory_model::generate::{Cycle, Word};
use memory_model::{Litmus, Options, check, parse};
use testkit::litmus::{FLAVOURS, Flavour, litmus};
use warpgrind::litmus::environment::Environment;
use warpgrind::litmus::experiment::NotRun;
use warpgrind::litmus::runs::Runs;

use super::Asked;
use crate::args::{Cli, Command, LitmusArgs};

fn args(line: &str) -> LitmusArgs {
    let cli = Cli::try_parse_from(line.split_whitespace()).unwrap_or_else(|error| panic!("{error}"));
    match cli.command {
        Command::Litmus(args) => *args,
        _ => panic!("litmus expected"),
    }
}

fn runs(litmus: &Litmus, args: &LitmusArgs) -> Runs {
    Asked::new(Options::default(), args, None, None).runs(litmus)
}

fn shape(name: &str) -> Litmus {
    let path = format!("{}/../memory-model/testdata/litmus/{name}.litmus", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    parse(&text).unwrap_or_else(|errors| panic!("{}", errors[0].render(&path, &text)))
}

/// How often a run of so many instances showed what a shape asks about.
fn witnesses(name: &str, instances: u64, options: &str) -> u64 {
    let args = args(&format!("warpgrind litmus x --simulate {instances} {options}"));
    let runs = runs(&shape(name), &args);
    assert!(runs.alarms().is_empty(), "{name}");
    runs.rows.iter().filter(|row| row.satisfies).filter_map(|row| row.simulated).sum()
}

#[test]
fn strong_memory_is_sequentially_consistent() {
    for name in ["MP+rlx", "SB+rel+acq", "IRIW+acq", "2+2W+rlx", "CoRR+weak", "R+fence.acq_rel"] {
        assert_eq!(witnesses(name, 400, ""), 0, "{name}");
    }
    // The blocks of an instance take turns.
    for name in ["CoWR-race", "MP+bar"] {
        assert!(witnesses(name, 2000, "") > 0, "{name}");
    }
}

#[test]
fn weak_memory_shows_what_the_model_allows() {
    for name in [
        "MP+rlx",
        "MP+weak",
        "SB+rel+acq",
        "IRIW+acq",
        "IRIW+fence.sc-weakW",
        "2+2W+rlx",
        "2+2W+fence.acq_rel",
        "R+fence.acq_rel",
        "S+rlx",
        "WRC+rel+acq",
        "CoRR+weak",
        "CoRR+cta-diffcta",
        "MP+relseq-weak",
        "MP+red-acqfence",
        "MP+rel.gpu+acq.cta-diffcta",
        "Atom+weakstore",
        "Atom-cta-chain-breaks",
        "SC-mixed-scope-diff-cta",
        // A load that is done after the store behind it.
        "LB+rlx",
        "LB+data+po",
        // Two devices.
        "MP+rel.gpu+acq.gpu-diffgpu",
    ] {
        assert!(witnesses(name, 400, "--weak") > 0, "{name}");
    }
}

/// Random programs of all kinds: every outcome seen is allowed.
#[test]
fn what_is_seen_is_allowed() {
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    let more = std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse::<u64>().ok());
    let flavours = FLAVOURS.iter().filter(|f| !matches!(f, Flavour::Clusters));
    // An unoptimised build tries a part.
    let part = if cfg!(debug_assertions) { 5 } else { 1 };
    for (seed, &flavour) in (0..900 * more.unwrap_or(1) / part as u64).zip(flavours.cycle()) {
        let text = litmus(seed, flavour);
        let test = parse(&text).unwrap_or_else(|errors| panic!("{}", errors[0].render("random", &text)));
        let args = args(&format!("warpgrind litmus x --simulate 40 --weak --seed {}", seed + 1));
        let runs = runs(&test, &args);
        match &runs.simulated {
            Some(Ok(seen)) => {
                // Instances may be stuck, but only where the test can be.
                *ran.entry(format!("{flavour:?}")).or_default() += usize::from(seen.complete > 0);
            }
            Some(Err(NotRun::Failed(why))) => panic!("{why}\n{text}"),
            _ => {}
        }
        let alarms: Vec<_> = runs.alarms().into_iter().map(|(row, place)| (&row.values, place)).collect();
        assert!(alarms.is_empty(), "{alarms:?} of {:?}\n{text}", test.observables());
    }
    for flavour in ["Plain", "Control", "Sizes", "Alike"] {
        assert!(ran.get(flavour).is_some_and(|&n| n > 40 / part), "{flavour}: {ran:?}");
    }
    assert!(ran.get("Barriers").is_some_and(|&n| n > 10 / part), "{ran:?}");
}

/// `--timeout` ends runs as it ends checks.
#[test]
fn runs_end_with_their_time() {
    let args = args("warpgrind litmus x --simulate 1000000000000 --timeout 1s");
    let start = std::time::Instant::now();
    let runs = runs(&shape("MP+rlx"), &args);
    let seen = runs.simulated.expect("asked for").expect("it runs");
    assert!(seen.failed.expect("it cannot end").contains("time limit"));
    assert!(
        seen.complete > 0 && start.elapsed().as_secs() < 20,
        "{} in {:?}",
        seen.complete,
        start.elapsed()
    );
}

/// The record of the shapes on an H200: no outcome that the model forbids, and none that it does not list.
#[test]
fn the_record_of_a_device_agrees_with_the_model() {
    let path = format!("{}/../testdata/h200/litmus.csv", env!("CARGO_MANIFEST_DIR"));
    let record = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut by_test: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for line in record.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        by_test.entry(cells[0]).or_default().push(cells);
    }
    assert_eq!(by_test.len(), 86);
    let mut weak = 0;
    for (name, rows) in by_test {
        let litmus = shape(name);
        let verdict = check(&litmus, &Options { outcomes: true, ..Options::default() });
        assert_eq!(rows[0][1], verdict.verdict, "{name}");
        let listed: Vec<String> = verdict
            .outcomes
            .iter()
            .map(|outcome| {
                let values = verdict.observables.iter().zip(&outcome.values);
                values.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
            })
            .collect();
        for row in &rows {
            let seen = [row[5], row[6]].iter().any(|count| *count != "0");
            assert!(!seen || listed.iter().any(|outcome| outcome == row[2]), "{name}: {}", row[2]);
            weak += usize::from(row[1] == "allowed" && row[3] == "yes" && row[6] != "0");
        }
        let total: u64 = rows.iter().filter_map(|row| row[6].parse::<u64>().ok()).sum();
        assert_eq!(total, 6_000_000, "{name}");
    }
    assert!(weak >= 15, "{weak} weak outcomes were seen on the device");
}

/// Lines of a record in `testdata`, without the first, as cells.
fn record(path: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../testdata/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Text that the guide has.
fn guide_has(text: &str) {
    let path = format!("{}/LITMUS.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(page.contains(text), "LITMUS.md lacks\n{text}");
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(cell: &str) -> T {
    cell.parse().unwrap_or_else(|error| panic!("{cell}: {error:?}"))
}

/// A rate, or what it is below: a million instances.
fn rate(shown: u64, per_million: &str, below: &str) -> String {
    match shown {
        0 => format!("< {:.2}", number::<f64>(below)),
        _ => format!("{:.0}", number::<f64>(per_million).max(1.0)),
    }
}

/// What devices showed once they were tuned: nothing that the model forbids; and the table in LITMUS.md is what the records say.
#[test]
fn the_record_of_a_tuned_device_agrees_with_the_model() {
    let mut random: BTreeMap<String, u64> = BTreeMap::new();
    for cells in record("h200/litmus.csv") {
        if cells[3] == "yes" {
            *random.entry(cells[0].clone()).or_default() += number::<u64>(&cells[6]);
        }
    }
    let first: BTreeMap<String, String> = record("h200/litmus-tuned.csv")
        .into_iter()
        .map(|cells| (cells[0].clone(), if cells[2] == "0" { String::new() } else { rate(1, &cells[5], "") }))
        .collect();
    let (mut table, mut tests, mut instances, mut forbidden, mut tried, mut seen) =
        (String::new(), 0, 0, 0, 0, 0);
    for cells in record("h100/litmus-tuned.csv") {
        let (name, verdict) = (&cells[0], &cells[1]);
        let [shown, all, environments] = [2, 3, 4].map(|at| number::<u64>(&cells[at]));
        assert_eq!(check(&shape(name), &Options::default()).verdict, verdict, "{name}");
        assert!(shown == 0 || verdict != "forbidden", "{name}");
        assert!(shown <= all && environments > 0, "{name}");
        // Three in so many are the bound at 95 percent confidence.
        assert_eq!(shown == 0, !cells[6].is_empty(), "{name}");
        // It can be run again.
        number::<Environment>(&cells[11]);
        (tests, instances, tried) = (tests + 1, instances + all, tried + environments);
        match verdict.as_str() {
            "forbidden" => forbidden += all,
            "allowed" => {
                seen += usize::from(shown > 0);
                let before = random.get(name).copied().unwrap_or(0) as f64 / 6.0;
                let before = if before > 0.0 { format!("{before:.2}") } else { String::new() };
                let (first, now) = (&first[name], rate(shown, &cells[5], &cells[6]));
                table += &format!("| {name} | {before} | {first} | {now} | {:.1} |\n", all as f64 / 1e6);
            }
            _ => {}
        }
    }
    assert_eq!(tests, 86);
    let billion = |n: u64| n as f64 / 1e9;
    guide_has(&format!(
        "{tried} environments, {:.2} billion instances, {:.2} of them of outcomes that the model forbids",
        billion(instances),
        billion(forbidden)
    ));
    guide_has(&format!("{seen} of the 42 outcomes"));
    guide_has(&format!(
        "| test | random | tuned first | tuned | million instances |\n|---|---|---|---|---|\n{table}\n"
    ));
}

/// Tests of mixed scopes on a device, by their cycles: none that the model forbids was seen.
#[test]
fn the_record_of_mixed_scopes_agrees_with_the_model() {
    const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
    let mut cells_of: BTreeMap<String, [String; 2]> = BTreeMap::new();
    for cells in record("h100/litmus-scopes.csv") {
        let words: Result<Vec<Word>, _> = cells[0].split(' ').map(str::parse).collect();
        let cycle = Cycle::new(&words.expect("words")).unwrap_or_else(|wrong| panic!("{wrong}"));
        let litmus = parse(&cycle.ptx().expect("a test")).expect("well formed");
        let (verdict, shown) = (&cells[1], number::<u64>(&cells[2]));
        assert_eq!(check(&litmus, &Options::default()).verdict, verdict, "{}", cells[0]);
        assert!(shown == 0 || verdict == "allowed", "{}", cells[0]);
        let text = if verdict == "allowed" { rate(shown, &cells[4], &cells[5]) } else { "no".to_owned() };
        let near = cells[0].contains("e.cluster");
        let key = cells[0].replace("Rfe.cluster", "Rfe").replace("Fre.cluster", "Fre");
        cells_of.entry(key).or_default()[usize::from(near)] = text;
    }
    assert_eq!(cells_of.len(), 48);
    for (title, shape) in [
        ("MP, `st.release` and `ld.acquire`", "PodWW Rel.A Rfe Acq.B PodRR Fre"),
        ("MP, `fence.acq_rel` twice", "Fence.acq_rel.AdWW Rfe Fence.acq_rel.BdRR Fre"),
        ("SB, `fence.sc` twice", "Fence.sc.AdWR Fre Fence.sc.BdWR Fre"),
    ] {
        let mut table = format!("| {title} | {} |\n|---|---|---|---|---|\n", SCOPES.join(" | "));
        for a in SCOPES {
            let row = SCOPES.map(|b| {
                let [far, near] = &cells_of[&shape.replacen('A', a, 1).replace('B', b)];
                if far == near { far.clone() } else { format!("{far}; {near}") }
            });
            table += &format!("| {a} | {} |\n", row.join(" | "));
        }
        guide_has(&table);
    }
}

/// The longest search on a device: nothing that the model forbids, and what the guide says of it.
#[test]
fn the_record_of_the_longest_search_agrees_with_the_model() {
    let (mut tests, mut seen, mut trials, mut instances, mut forbidden) = (0, 0, 0, 0, 0);
    for cells in record("h200/litmus-tuned-wide.csv") {
        let (name, verdict) = (&cells[0], &cells[1]);
        let [shown, all, environments] = [2, 3, 4].map(|at| number::<u64>(&cells[at]));
        assert_eq!(check(&shape(name), &Options::default()).verdict, verdict, "{name}");
        assert!(shown == 0 || verdict != "forbidden", "{name}");
        assert!(shown <= all && environments > 0, "{name}");
        number::<Environment>(&cells[11]);
        (tests, trials, instances) = (tests + 1, trials + environments, instances + all);
        seen += u64::from(shown > 0 && verdict == "allowed");
        forbidden += if verdict == "forbidden" { all } else { 0 };
    }
    assert_eq!(tests, 86);
    let billion = |n: u64| n as f64 / 1e9;
    guide_has(&format!(
        "{trials} trials, {:.2} billion\ninstances, {:.2} of them",
        billion(instances),
        billion(forbidden)
    ));
    guide_has(&format!("It shows {seen} allowed outcomes"));
}

/// Progress tests on a device: all that LOBE ends did end, and the tables of the guide.
#[test]
fn the_record_of_progress_agrees_with_lobe() {
    let path = format!("{}/../memory-model/testdata/published.progress", env!("CARGO_MANIFEST_DIR"));
    let published = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let published: BTreeMap<&str, &str> = published
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, rest)| (name, rest.rsplit('\t').next().unwrap_or_default()))
        .collect();
    let rows = record("h200/progress.csv");
    assert_eq!((published.len(), rows.len()), (483, 4 * 483));
    let mappings = ["chunked", "round-robin", "warps", "lanes"];
    let (mut table, mut instances) = (String::new(), 0);
    for row in &rows {
        assert_eq!(published[&row[0][..]], row[1], "{}", row[0]);
        let [ended, gave_up] = [3, 4].map(|at| number::<u64>(&row[at]));
        assert_eq!(ended + gave_up, 24_000, "{}", row[0]);
        instances += ended + gave_up;
    }
    for (at, scheduler) in Scheduler::NAMES[..10].iter().enumerate() {
        let ends = |row: &&Vec<String>| row[1].as_bytes()[at] == b'+';
        let cells = mappings.map(|mapping| {
            let stuck = rows.iter().filter(ends).filter(|row| row[2] == mapping && row[4] != "0").count();
            if *scheduler == "lobe" {
                assert_eq!(stuck, 0, "{mapping}");
            }
            if stuck == 0 { "all".to_owned() } else { format!("not {stuck}") }
        });
        let tests = rows.iter().filter(ends).count() / 4;
        table += &format!("| {scheduler} | {tests} | {} |\n", cells.join(" | "));
    }
    guide_has(&format!(
        "| scheduler | ends | chunked | round-robin | warps | lanes |\n|---|---|---|---|---|---|\n{table}"
    ));
    guide_has(&format!("{:.1} million instances", instances as f64 / 1e6));
    // Lanes of a warp take turns in step: an instance that does not end is like all others.
    let lanes = |row: &&Vec<String>| row[2] == "lanes" && row[4] != "0";
    assert!(rows.iter().filter(lanes).all(|row| row[3] == "0"));
    guide_has(&format!("{} tests end in none of their instances", rows.iter().filter(lanes).count()));
}
