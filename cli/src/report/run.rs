//! What `warpgrind run` shows: at once for people, as one document at the end for programs.

use std::path::Path;

use ptx_frontend::{Diagnostic, Elsewhere, Module, Severity, Source};
use reports::finding::Sources;
use reports::snippet::Message;
use reports::triage::{Found, Issue, Judged, Spot};
use reports::{LaunchJson, messages, metrics, plural, stats, summary_of};
use sim_core::{Launch, LaunchReport, RunOptions};
use warpgrind::array::{Array, Comparison, Element, Mismatch};
use warpgrind::plan::TextPlace;

use super::json::{BufferJson, ComparisonJson, DiagnosticJson, FailureJson, IssueJson, RunReport, SavedJson};
use super::{Console, SCHEMA, printable};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::triage::{MISMATCH, Triage};

/// Collects or prints what a run has to say.
#[derive(Debug)]
pub(crate) struct RunReporter<'a> {
    console: &'a Console,
    triage: &'a Triage<'a>,
    document: RunReport,
    show_stats: bool,
    print_suppressions: bool,
}

impl<'a> RunReporter<'a> {
    /// A reporter that has said nothing yet.
    pub(crate) fn new(console: &'a Console, triage: &'a Triage<'a>, args: &RunArgs) -> Self {
        let document = RunReport { schema: SCHEMA, command: "run", ..RunReport::default() };
        let print_suppressions = args.findings.print_suppressions;
        Self { console, triage, document, show_stats: args.stats, print_suppressions }
    }

    /// A diagnostic of the front end.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic, source: &Source, elsewhere: &[Elsewhere]) {
        if self.console.is_human() {
            self.console.diagnostic(diagnostic, source, elsewhere);
        }
        if self.triage.collects() {
            self.document.diagnostics.push(DiagnosticJson::new(diagnostic, source, elsewhere));
        }
    }

    /// A launch that ended; says of each of its findings whether it is expected.
    pub(crate) fn launch(
        &mut self,
        module: &Module,
        launch: &Launch,
        options: &RunOptions,
        report: &LaunchReport,
    ) -> Vec<Judged> {
        let sources = Sources { module, root: options.source_root.as_deref() };
        let judged = self.triage.judge_all(report, &sources);
        if self.triage.collects() {
            self.document.launches.push(LaunchJson::judged(launch, options, report, &sources, &judged));
        }
        if !self.console.is_human() {
            return judged;
        }
        self.console.out_bytes(&report.output);
        self.console.err(messages(report, &judged, &sources, self.print_suppressions));
        self.console.err(summary_of(launch, options, report, Found::of(report, &judged)));
        if self.show_stats {
            self.console.out(stats::table(&launch.kernel, report));
        }
        for measured in &report.metrics {
            self.console.out(metrics::table(&launch.kernel, measured, module));
        }
        judged
    }

    /// How far a launch came that a signal ended.
    pub(crate) fn interrupted(&mut self, launch: &Launch, report: &LaunchReport) {
        if self.console.is_human() {
            let stats = &report.stats;
            self.console.err(format!(
                "{}: interrupted after {} of {} and {}, in {:.1?}; no buffer was written to a file\n",
                launch.kernel,
                stats.blocks,
                plural(u64::try_from(launch.grid.count()).unwrap_or(u64::MAX), "block"),
                plural(stats.warp_instructions, "warp instruction"),
                stats.time,
            ));
        }
    }

    /// Elements of a buffer that were asked for.
    pub(crate) fn values(&mut self, name: &str, array: &Array, count: u64) {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(array.len());
        if self.console.is_human() {
            self.console.out(values_line(name, array, count));
        }
        if self.triage.collects() {
            self.document.buffers.push(BufferJson::new(name, array, count));
        }
    }

    /// A buffer against the values that are expected at a place of the launch file; whether it has them, or is known not to.
    pub(crate) fn comparison(
        &mut self,
        name: &str,
        got: &Array,
        comparison: &Comparison,
        place: Option<&TextPlace>,
    ) -> bool {
        let judged = comparison.first.as_ref().map(|first| {
            let line = |at: &TextPlace| at.source.line_column(at.span.start as u32).0;
            let spot = place.map(|at| Spot { file: at.source.name.to_string(), line: line(at) });
            let issue = Issue::new(MISMATCH, name, spot.into_iter().collect(), &[(name, 1)]);
            (first, self.triage.judge(&issue), issue)
        });
        if self.triage.collects() {
            let json = judged.as_ref().map(|(_, verdict, issue)| IssueJson::new(issue, verdict));
            self.document.comparisons.push(ComparisonJson::new(name, got, comparison, place, json));
        }
        match &judged {
            _ if !self.console.is_human() => {}
            None => self.console.out(matches_line(name, got, comparison)),
            Some((first, verdict, issue)) if verdict.is_new() => {
                self.console.err(format!("{}\n", mismatch(name, got, comparison, first).render()));
                self.console.err(self.triage.suppression(issue).unwrap_or_default());
            }
            Some((_, verdict, _)) => {
                let mut found = Found::default();
                found.add(verdict.status);
                let words = found.words().unwrap_or_default();
                self.console.err(format!("{}: not as expected, {words}\n", printable(name)));
            }
        }
        judged.is_none_or(|(_, verdict, _)| !verdict.is_new())
    }

    /// A buffer that was written to a file.
    pub(crate) fn saved(&mut self, name: &str, path: &Path) {
        if self.console.is_human() {
            self.console.err(format!("{}: written to {}\n", printable(name), printable(path)));
        }
        if self.triage.collects() {
            let path = path.display().to_string();
            self.document.files.push(SavedJson { name: name.to_string(), path });
        }
    }

    /// Why the run ended early, if it did, and the exit code.
    ///
    /// # Errors
    /// A file of findings cannot be written.
    pub(crate) fn finish(mut self, result: Result<Exit, Failure>) -> Result<Exit, Failure> {
        let exit = match &result {
            // What was interrupted has not seen all there is to see.
            Ok(exit @ (Exit::Interrupted | Exit::Terminated)) => *exit,
            Err(failure) => failure.exit,
            Ok(exit) => {
                let (exit, triage) = self.triage.finish(*exit)?;
                self.document.triage = triage;
                exit
            }
        };
        if let (true, Err(failure)) = (self.console.is_human(), &result) {
            self.console.failure(failure);
        }
        if self.triage.collects() {
            self.document.exit_code = exit.code();
            self.document.error = result.err().as_ref().map(FailureJson::from);
            self.triage.publish(&self.document)?;
        }
        Ok(exit)
    }
}

/// `y: f32[4] = 1.0 2.0 3.0 4.0`
fn values_line(name: &str, array: &Array, count: usize) -> String {
    let shape: Vec<String> = array.shape.iter().map(u64::to_string).collect();
    let mut line = format!("{}: {}[{}] =", printable(name), array.element.name(), shape.join(","));
    for at in 0..count {
        line.push(' ');
        line.push_str(&array.show(at));
    }
    match array.len() - count {
        0 => {}
        more => line.push_str(&format!(" … {more} more")),
    }
    line.push('\n');
    line
}

fn apart(element: Element, distance: u64) -> String {
    match (distance, element.is_float()) {
        (u64::MAX, true) => "a NaN against a number".to_string(),
        (distance, true) => format!("{distance} ulp"),
        (distance, false) => distance.to_string(),
    }
}

fn matches_line(name: &str, got: &Array, comparison: &Comparison) -> String {
    let (distance, at) = comparison.largest;
    let off = match distance {
        0 => String::new(),
        _ => format!(", the largest difference {} at {}", apart(got.element, distance), index(got, at)),
    };
    let count = plural(comparison.elements as u64, "value");
    format!("{}: {count} of {} as expected{off}\n", printable(name), got.element.name())
}

/// `[17]`, or `[1, 1] (index 17)` for several dimensions.
pub(crate) fn index(array: &Array, at: usize) -> String {
    match array.position(at)[..] {
        [] => format!("[{at}]"),
        ref position => format!("{position:?} (index {at})"),
    }
}

fn mismatch(name: &str, got: &Array, comparison: &Comparison, first: &Mismatch) -> Message {
    let element = got.element;
    let (largest, at) = comparison.largest;
    let shown = |bits: u64| format!("{} ({})", element.show(bits), element.hex(bits));
    Message {
        severity: Severity::Error,
        id: Some(MISMATCH.to_string()),
        title: format!("`{}` is not as expected", printable(name)),
        excerpts: Vec::new(),
        notes: vec![
            format!(
                "first at {}: got {}, expected {}, difference {}",
                index(got, first.index),
                shown(first.got),
                shown(first.expected),
                apart(element, first.distance)
            ),
            format!(
                "{} of {} differ too much; the largest difference is {} at {}",
                comparison.mismatches,
                plural(comparison.elements as u64, "value"),
                apart(element, largest),
                index(got, at)
            ),
        ],
        help: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpgrind::array::{Tolerance, compare};

    fn array(values: &[f32]) -> Array {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Array { element: Element::F32, shape: vec![2, values.len() as u64 / 2], bytes }
    }

    #[test]
    fn a_mismatch_names_index_values_and_largest_difference() {
        let got = array(&[1.0, 2.0, 3.0, 4.0]);
        let comparison = compare(&got, &array(&[1.0, 2.0, 3.0, 8.0]), &Tolerance::default());
        let text = mismatch("y", &got, &comparison, &comparison.first.unwrap()).render();
        assert_eq!(
            anstream::adapter::strip_str(&text).to_string(),
            "\
error[mismatch]: `y` is not as expected
 |
 = note: first at [1, 1] (index 3): got 4.0 (0x40800000), expected 8.0 (0x41000000), difference 8388608 ulp
 = note: 1 of 4 values differ too much; the largest difference is 8388608 ulp at [1, 1] (index 3)
"
        );
    }

    #[test]
    fn lines_for_values_and_matches() {
        let got = array(&[1.0, 2.0]);
        assert_eq!(values_line("y", &got, 1), "y: f32[2,1] = 1.0 … 1 more\n");
        let comparison = compare(&got, &got, &Tolerance::default());
        assert_eq!(matches_line("y", &got, &comparison), "y: 2 values of f32 as expected\n");
    }
}
