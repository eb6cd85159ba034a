//! The published progress tests under each scheduler.
//!
//! `WARPGRIND_FUZZ=1` asks the ISA's model about all of them; an unoptimised build asks it about each fifth.

use memory_model::explore::scheduler::Scheduler;
use memory_model::model::ModelName;
use memory_model::{Litmus, Options, Property, check, parse_progress};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One test of `testdata/published.progress`.
struct Published {
    litmus: Litmus,
    line: &'static str,
    /// Whether it ends, by scheduler.
    ends: Vec<bool>,
}

fn published() -> Vec<Published> {
    let text = include_str!("../testdata/published.progress");
    let tests =
        parse_progress(text).unwrap_or_else(|e| panic!("{}", e[0].render("published.progress", text)));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let test = |(litmus, line): (Litmus, &'static str)| {
        let ends = line.rsplit('\t').next().unwrap_or_default();
        Published { litmus, line, ends: ends.chars().map(|c| c == '+').collect() }
    };
    std::iter::zip(tests, lines).map(test).collect()
}

impl Published {
    fn ask(&self, scheduler: &str, model: ModelName) -> Option<bool> {
        let scheduler = scheduler.parse().expect("a name");
        let property = Property::Termination;
        check(&self.litmus, &Options { model, property, scheduler, ..Options::default() }).holds
    }
}

/// Lines that are no tests have their places.
#[test]
fn mistakes_of_the_notation() {
    for (text, line, said) in [
        ("a\tx=1\nb x=1\n", 2, "no tab"),
        ("# nothing\n", 1, "no test"),
        ("a\tx=1 | x?1>1\n", 1, "`x?1>1`"),
        ("a\tx:?1>0\n", 1, "`x:?1>0`"),
        ("a\tX=1\n", 1, "`X=1`"),
        ("a\tx=-1\n", 1, "`x=-1`"),
        ("a\t | \n", 1, "no thread"),
        ("a\té>0\n", 1, "`é>0`"),
    ] {
        let wrong = parse_progress(text).expect_err(text);
        assert_eq!(wrong[0].span.line_column(text).0, line, "{text}");
        assert!(wrong[0].message.contains(said), "{text}: {}", wrong[0].message);
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
            assert_eq!(found, Some(ends), "{scheduler}\n{}", test.line);
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
            assert!(found.is_none_or(|found| found == ends), "{scheduler}\n{}", test.line);
            // An execution of sequential consistency is one of every model.
            assert!(found.is_some() || ends, "{scheduler}\n{}", test.line);
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
