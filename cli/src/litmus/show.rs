//! Verdicts for people.

use comfy_table::{CellAlignment, Table, presets};
use memory_model::{Outcome, Verdict};
use reports::triage::{Found, Status};
use warpgrind::litmus::experiment::NotRun;
use warpgrind::litmus::runs::{Row, Runs};

use super::load::Loaded;
use super::{Checked, CheckedFile};
use crate::args::LitmusArgs;
use crate::report::{Console, plural};
use crate::triage::Triage;

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
pub(super) fn file(
    file: &CheckedFile,
    args: &LitmusArgs,
    triage: &Triage<'_>,
    console: &Console,
    summary: &mut Summary,
) {
    summary.files += 1;
    let tests = match &file.tests {
        Ok(tests) => tests,
        Err(wrong) => {
            summary.malformed += 1;
            match wrong {
                Loaded::Malformed(source, diagnostics) => {
                    let mut found = Found::default();
                    for (diagnostic, (issue, verdict)) in std::iter::zip(diagnostics, &file.mistakes) {
                        found.add(verdict.status);
                        if verdict.is_new() {
                            console.diagnostic(diagnostic, source, &[]);
                            console.err(triage.suppression(issue).unwrap_or_default());
                        }
                    }
                    if found.new == 0 {
                        console.out(format!(
                            "{}: no test, {}\n",
                            file.name,
                            found.words().unwrap_or_default()
                        ));
                    }
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
        let expected = match &test.judged {
            Some((_, verdict)) if verdict.status == Status::Known => " (known)",
            Some((_, verdict)) if verdict.status == Status::Suppressed => " (suppressed)",
            _ => "",
        };
        console.out(format!("{}{name}: {}{expected}\n", file.name, headline(test)));
        console.out(indented(&details(test, args)));
        if let Some((issue, verdict)) = &test.judged
            && verdict.is_new()
            && let Some(text) = triage.suppression(issue)
        {
            console.err(text);
        }
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
    if !test.runs.rows.is_empty() {
        out += &table(test);
    } else if args.outcomes {
        out += &outcomes(verdict);
    }
    out += &notes(&test.runs);
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

/// Outcomes, what the model says of them, and how often they were seen; those that satisfy the assertion's
/// condition are marked.
fn table(test: &Checked) -> String {
    let runs = &test.runs;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["outcome".to_owned(), "model".to_owned()];
    let columns = [("simulated", &runs.simulated), ("device", &runs.device)];
    let columns: Vec<&str> =
        columns.into_iter().filter(|(_, run)| matches!(run, Some(Ok(_)))).map(|c| c.0).collect();
    header.extend(columns.iter().map(|&name| name.to_owned()));
    table.add_row(header);
    for row in &runs.rows {
        let values: Vec<String> = test
            .verdict
            .observables
            .iter()
            .zip(&row.values)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mark = if row.satisfies { "*" } else { " " };
        let mut cells = vec![format!("{mark} {}", values.join(" ")), judgement(row).to_owned()];
        cells.extend([row.simulated, row.device].into_iter().flatten().map(|n| n.to_string()));
        table.add_row(cells);
    }
    for at in 2..4 {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What the model says of an outcome.
pub(super) fn judgement(row: &Row) -> &'static str {
    match row.allowed {
        Some(true) => "allowed",
        Some(false) => "forbidden",
        None => "unknown",
    }
}

/// What went otherwise than it should in runs.
fn notes(runs: &Runs) -> String {
    let mut out = String::new();
    for (name, run) in [("simulator", &runs.simulated), ("device", &runs.device)] {
        match run {
            None => {}
            Some(Err(NotRun::Unsupported(what))) => out += &format!("not run on the {name}: {what}\n"),
            Some(Err(NotRun::Failed(what))) => out += &format!("failed on the {name}: {what}\n"),
            Some(Ok(seen)) => {
                if seen.incomplete > 0 {
                    let count = plural(seen.incomplete, "instance");
                    out += &format!("{count} on the {name} did not end\n");
                }
                if let Some(what) = &seen.failed {
                    out += &format!("a launch on the {name} ended early: {what}\n");
                }
            }
        }
    }
    for (row, place) in runs.alarms() {
        let values: Vec<String> = row.values.iter().map(i64::to_string).collect();
        out += &format!("ALARM: the model forbids the outcome ({}), seen with {place}\n", values.join(", "));
    }
    out
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
