//! The published progress tests under each scheduler.
//!
//! `WARPGRIND_FUZZ=1` asks the ISA's model about all of them; an unoptimised build asks it about each fifth.

use memory_model::explore::scheduler::Scheduler;
use memory_model::model::ModelName;
use memory_model::{Options, Property, check, parse};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One test of `testdata/progress.txt`.
struct Published {
    name: String,
    threads: Vec<Vec<String>>,
    /// Whether it ends, by scheduler.
    ends: Vec<bool>,
}

fn published() -> Vec<Published> {
    let text = include_str!("../testdata/progress.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let test = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let words = |thread: &str| thread.split_whitespace().map(str::to_owned).collect();
        Published {
            name: cells[0].to_owned(),
            threads: cells[1].split('|').map(words).collect(),
            ends: cells[2].chars().map(|c| c == '+').collect(),
        }
    };
    lines.map(test).collect()
}

/// An instruction in the language of litmus tests; `l` is what the thread's labels begin with.
fn instruction(text: &str, l: &str) -> Vec<String> {
    let location = &text[..1];
    let (op, target) = text.split_once('>').unwrap_or((text, ""));
    let label = if target == "e" { format!("{l}9") } else { format!("{l}{target}") };
    match op[1..].split_once('?') {
        Some(("", value)) => {
            vec![format!("ld.relaxed.gpu r0, {location}"), format!("beq r0, {value}, {label}")]
        }
        Some((new, value)) => vec![
            format!("atom.relaxed.gpu.exch r0, {location}, {}", &new[1..]),
            format!("beq r0, {value}, {label}"),
        ],
        None => vec![format!("st.relaxed.gpu {location}, {}", &op[2..])],
    }
}

impl Published {
    /// Each thread is a block of its own.
    fn text(&self) -> String {
        let mut out = format!("PTX {}\n{{ x=0; y=0; z=0; }}\n", self.name);
        let heads: Vec<String> = (0..self.threads.len()).map(|t| format!("P{t}@cta {t},gpu 0")).collect();
        let _ = writeln!(out, "{} ;", heads.join(" | "));
        let columns: Vec<Vec<String>> = (0..)
            .zip(&self.threads)
            .map(|(t, thread)| {
                let l = format!("LC{t}");
                let mut column = Vec::new();
                for (at, text) in thread.iter().enumerate() {
                    column.push(format!("{l}{at}:"));
                    column.extend(instruction(text, &l));
                }
                column.push(format!("{l}9:"));
                column
            })
            .collect();
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let cells: Vec<&str> =
                columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect();
            let _ = writeln!(out, "{} ;", cells.join(" | "));
        }
        out + "exists (x == 0)\n"
    }

    fn ask(&self, scheduler: &str, model: ModelName) -> Option<bool> {
        let text = self.text();
        let litmus = parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render(&self.name, &text)));
        let scheduler = scheduler.parse().expect("a name");
        check(&litmus, &Options { model, property: Property::Termination, scheduler, ..Options::default() })
            .holds
    }
}

/// The published schedulers, in the order of their columns.
fn schedulers() -> &'static [&'static str] {
    &Scheduler::NAMES[..10]
}

/// All 4,830 verdicts.
#[test]
fn sequentially_consistent_threads_end_as_published() {
    let tests = published();
    assert_eq!(tests.len(), 483);
    for test in &tests {
        for (scheduler, &ends) in schedulers().iter().zip(&test.ends) {
            let found = test.ask(scheduler, ModelName::Sc);
            assert_eq!(found, Some(ends), "{scheduler}\n{}", test.text());
        }
    }
}

/// Under the ISA's model no verdict is another one, and what is unknown is as the guide says.
#[test]
fn what_the_isa_model_leaves_unknown() {
    let all = !cfg!(debug_assertions) || std::env::var("WARPGRIND_FUZZ").is_ok();
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    for test in published().iter().step_by(if all { 1 } else { 5 }) {
        for (&scheduler, &ends) in schedulers().iter().zip(&test.ends) {
            let found = test.ask(scheduler, ModelName::Isa);
            assert!(found.is_none_or(|found| found == ends), "{scheduler}\n{}", test.text());
            // An execution of sequential consistency is one of every model.
            assert!(found.is_some() || ends, "{scheduler}\n{}", test.text());
            *unknown.entry(scheduler).or_default() += usize::from(found.is_none());
        }
    }
    if !all {
        return;
    }
    let mut table = String::new();
    for (at, scheduler) in schedulers().iter().enumerate() {
        let ends = published().iter().filter(|test| test.ends[at]).count();
        let unknown = unknown[scheduler];
        let _ = writeln!(table, "| {scheduler} | {ends} | {} | {unknown} |", ends - unknown);
    }
    let page = std::fs::read_to_string(format!("{}/../cli/LITMUS.md", env!("CARGO_MANIFEST_DIR")));
    assert!(page.expect("the page").contains(&table), "the table is\n{table}");
}
