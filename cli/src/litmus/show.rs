//! Verdicts for people.

use memory_model::{Outcome, Verdict};

use super::load::Loaded;
use super::{Checked, CheckedFile};
use crate::args::LitmusArgs;
use crate::report::{Console, plural};

/// How the tests ended, for the last line.
#[derive(Default)]
pub(super) struct Summary {
    files: u64,
    hold: u64,
    fail: u64,
    open: u64,
    malformed: u64,
}

impl Summary {
    /// One line, if there was more than one test.
    pub(super) fn show(&self, console: &Console) {
        let tests = self.hold + self.fail + self.open;
        if tests + self.malformed <= 1 {
            return;
        }
        let mut parts = vec![format!("{} hold", self.hold), format!("{} do not", self.fail)];
        if self.open > 0 {
            parts.push(format!("{} undecided", self.open));
        }
        if self.malformed > 0 {
            parts.push(format!("{} not readable", plural(self.malformed, "file")));
        }
        console.out(format!("{}: {}\n", plural(tests, "test"), parts.join(", ")));
    }
}

/// Shows the tests of a file.
pub(super) fn file(file: &CheckedFile, args: &LitmusArgs, console: &Console, summary: &mut Summary) {
    summary.files += 1;
    let tests = match &file.tests {
        Ok(tests) => tests,
        Err(wrong) => {
            summary.malformed += 1;
            match wrong {
                Loaded::Malformed(source, diagnostics) => {
                    diagnostics.iter().for_each(|d| console.diagnostic(d, source, &[]));
                }
                Loaded::Failed(failure) => console.failure(failure),
                Loaded::Tests(_) => {}
            }
            return;
        }
    };
    for test in tests {
        match test.verdict.holds {
            Some(true) => summary.hold += 1,
            Some(false) => summary.fail += 1,
            None => summary.open += 1,
        }
        let name = if tests.len() > 1 { format!(" ({})", test.litmus.name) } else { String::new() };
        console.out(format!("{}{name}: {}\n", file.name, headline(test)));
        console.out(indented(&details(test, args)));
    }
}

/// The verdict and what it says about the assertion.
fn headline(test: &Checked) -> String {
    let verdict = &test.verdict;
    let question = || test.litmus.question().unwrap_or_default();
    match (verdict.verdict, verdict.holds, &verdict.race) {
        ("racy", _, Some(race)) => {
            let [a, b] =
                race.accesses.each_ref().map(|(thread, line, text)| format!("P{thread}:{line} `{text}`"));
            format!("racy: {a} and {b}, {}", race.class.as_str())
        }
        (word @ ("allowed" | "forbidden" | "always" | "not always"), Some(holds), _) => {
            format!("{word}: {} {}", question(), if holds { "holds" } else { "does not hold" })
        }
        (word, ..) => word.to_owned(),
    }
}

/// Everything below the headline.
fn details(test: &Checked, args: &LitmusArgs) -> String {
    let verdict = &test.verdict;
    let mut out = String::new();
    if let Some(reason) = &verdict.reason {
        out += &format!("{reason}\n");
    }
    if args.outcomes {
        out += &outcomes(verdict);
    }
    if args.explain {
        match &verdict.witness {
            Some(shown) => out += &format!("one such execution:\n{}", indented(&shown.table())),
            None if verdict.holds.is_none() => {}
            None if verdict.cuts.is_empty() => {
                out += "no choice of paths, reads and writes comes close to such an execution\n";
            }
            None => {
                out += "what forbids it:\n";
                for cut in &verdict.cuts {
                    out += &indented(&cut.text());
                }
                let shown = verdict.cuts.len() as u64;
                if verdict.effort.candidates > shown {
                    let more = verdict.effort.candidates - shown;
                    out += &format!("and {} that break the same rules\n", plural(more, "candidate"));
                }
            }
        }
    }
    out
}

/// One line an outcome; those that satisfy the condition are marked.
fn outcomes(verdict: &Verdict) -> String {
    let mut out = String::from("outcomes:\n");
    for Outcome { values, satisfies, executions } in &verdict.outcomes {
        let values: Vec<String> =
            verdict.observables.iter().zip(values).map(|(name, value)| format!("{name}={value}")).collect();
        let mark = if *satisfies { "*" } else { " " };
        let count = executions.map_or(String::new(), |n| format!("  {}", plural(n, "execution")));
        out += &format!("  {mark} {}{count}\n", values.join(" "));
    }
    if !verdict.outcomes_complete {
        out += "  and perhaps others\n";
    }
    out
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
