//! Findings that are expected: the user's files of suppressions and baselines, and what comes of them.
//!
//! Which finding is expected the crate `reports` decides; here files are read and written, and matches are counted.

use std::cell::RefCell;

use memory_model::litmus::Code as LitmusCode;
use ptx_frontend::codes;
use reports::finding::Sources;
use reports::triage::{
    Baseline, Found, Issue, Judged, Known, Policy, Rule, TriageError, Verdict, entry, rules,
};
use serde::Serialize;
use sim_core::{FindingKind, LaunchReport};
use warpgrind::files::{MAX_TEXT, read_file};
use warpgrind::plan::TextPlace;

use crate::args::{FindingArgs, Unused};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::report::{Console, ReportFile, plural, printable};

/// The kind of a litmus test that does not hold.
pub(crate) const LITMUS: &str = "litmus";

/// The kind of a buffer that does not hold what a launch file expects.
pub(crate) const MISMATCH: &str = "mismatch";

/// Entries of the same sort that are named for people.
const NAMED: usize = 10;

/// What is expected, and what was found so far.
#[derive(Debug)]
pub(crate) struct Triage<'a> {
    args: &'a FindingArgs,
    console: &'a Console,
    report: Option<ReportFile>,
    /// What is expected.
    pub(crate) policy: Policy,
    seen: RefCell<Seen>,
}

#[derive(Default, Debug)]
struct Seen {
    /// How often each entry of the policy matched.
    hits: Vec<u64>,
    found: Found,
    /// What a new baseline is made of.
    known: Vec<Known>,
    /// They are those of a program, whose own words stand between ours.
    of_program: bool,
}

impl Seen {
    fn prefix(&self) -> &'static str {
        if self.of_program { "warpgrind: " } else { "" }
    }
}

/// What documents say of what was expected.
#[derive(Serialize, Debug)]
pub(crate) struct TriageJson {
    #[serde(flatten)]
    found: Found,
    unused: Vec<Rule>,
    /// The file, if there is one: only then a finding is said to be new.
    baseline: Option<String>,
    gone: Vec<Known>,
}

impl<'a> Triage<'a> {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read or says nothing sensible, or one that is to be written cannot be.
    pub(crate) fn open(args: &'a FindingArgs, console: &'a Console) -> Result<Triage<'a>, Failure> {
        if args.print_suppressions && !console.is_human() {
            return Err(Failure::usage("`--print-suppressions` is for people, and so for `--format human`"));
        }
        let mut kinds: Vec<&str> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
        kinds.extend(codes::ALL.iter().map(|(code, _)| code.0));
        kinds.extend(LitmusCode::ALL.iter().map(|code| code.as_str()));
        kinds.extend([LITMUS, MISMATCH]);
        let mut policy = Policy { accepts_all: args.write_baseline.is_some(), ..Policy::default() };
        for path in &args.suppressions {
            policy.rules.extend(
                rules(&printable(path), read_file(path, MAX_TEXT)?, &kinds)
                    .map_err(|error| failure(*error))?,
            );
        }
        if let Some(path) = &args.baseline {
            let baseline = Baseline::read(&printable(path), read_file(path, MAX_TEXT)?)
                .map_err(|error| failure(*error))?;
            policy.baseline = Some(baseline.into_known());
        }
        // What cannot be written is better known before anything runs for an hour.
        let report = args.report.as_deref().map(ReportFile::named).transpose()?;
        if let Some(path) = &args.write_baseline {
            files::can_replace(path)?;
        }
        let seen = Seen { hits: vec![0; policy.entries()], ..Seen::default() };
        Ok(Triage { args, console, report, policy, seen: RefCell::new(seen) })
    }

    /// Whether a document is to be made of what is found.
    pub(crate) fn collects(&self) -> bool {
        self.report.is_some() || !self.console.is_human()
    }

    /// Writes the document: to standard output, if it is not for people, and into the report.
    ///
    /// # Errors
    /// The report cannot be written.
    pub(crate) fn publish(&self, document: &impl Serialize) -> Result<(), Failure> {
        if !self.console.is_human() {
            self.console.json(document);
        }
        self.report.as_ref().map_or(Ok(()), |report| report.save(document))
    }

    /// Whether anything was said of what is expected.
    fn is_asked(&self) -> bool {
        !self.policy.is_empty()
    }

    /// Judges something that was found, and counts it.
    pub(crate) fn judge(&self, issue: &Issue) -> Verdict {
        let verdict = self.policy.judge(issue);
        self.count(issue, &verdict);
        verdict
    }

    /// Judges the findings of a launch, and counts them.
    pub(crate) fn judge_all(&self, report: &LaunchReport, sources: &Sources<'_>) -> Vec<Judged> {
        let judged = self.policy.judge_all(report, sources);
        judged.iter().for_each(|judged| self.count(&judged.issue, &judged.verdict));
        self.seen.borrow_mut().found.new += report.dropped_findings;
        judged
    }

    fn count(&self, issue: &Issue, verdict: &Verdict) {
        let seen = &mut *self.seen.borrow_mut();
        verdict.entries.iter().for_each(|&entry| seen.hits[entry] += 1);
        seen.found.add(verdict.status);
        if verdict.status == reports::triage::Status::Known {
            seen.known.push(Known::of(issue));
        }
    }

    /// Takes over what other processes found: counts, matches of entries, and what the baseline is to know.
    pub(crate) fn take(&self, found: Found, hits: Vec<u64>, known: Vec<Known>) {
        *self.seen.borrow_mut() = Seen { hits, found, known, of_program: true };
    }

    /// A suppression of something that was found, if that is wanted.
    pub(crate) fn suppression(&self, issue: &Issue) -> Option<String> {
        self.args.print_suppressions.then(|| entry(issue) + "\n")
    }

    /// Whether suppressions that match nothing are an error, and there are some.
    pub(crate) fn has_wrong(&self) -> bool {
        let seen = self.seen.borrow();
        self.args.unused_suppressions == Unused::Error && self.policy.unused(&seen.hits).next().is_some()
    }

    /// Says what came of what was expected, and writes the new baseline; for documents, if anything was expected.
    ///
    /// # Errors
    /// The baseline cannot be written.
    pub(crate) fn finish(&self, exit: Exit) -> Result<(Exit, Option<TriageJson>), Failure> {
        let wrong = self.has_wrong();
        let seen = self.seen.borrow();
        if self.console.is_human() {
            self.console.err(self.words(&seen));
        }
        if let Some(path) = &self.args.write_baseline {
            let baseline = Baseline::new(seen.known.iter().cloned());
            files::replace(path, baseline.to_text().as_bytes())?;
            if self.console.is_human() {
                let count = plural(baseline.len() as u64, "finding");
                self.console.err(format!("{}{count} written to {}\n", seen.prefix(), printable(path)));
            }
        }
        let json = self.is_asked().then(|| TriageJson {
            found: seen.found,
            unused: self.policy.unused(&seen.hits).cloned().collect(),
            baseline: self.args.baseline.as_ref().or(self.args.write_baseline.as_ref()).map(printable),
            gone: self.policy.gone(&seen.hits).cloned().collect(),
        });
        let exit = if wrong && exit == Exit::Clean { Exit::Findings } else { exit };
        Ok((exit, json))
    }

    /// What was left out, what matched nothing, what is gone.
    fn words(&self, seen: &Seen) -> String {
        let mut out = String::new();
        let prefix = seen.prefix();
        if seen.found.known + seen.found.suppressed > 0 && !seen.of_program {
            let words = Found { new: 0, ..seen.found }.words().unwrap_or_default();
            out += &format!("left out: {words}\n");
        }
        if self.args.unused_suppressions != Unused::Ignore {
            let level = if self.args.unused_suppressions == Unused::Error { "error" } else { "warning" };
            let unused = self.policy.unused(&seen.hits);
            out += &named(unused, |rule| {
                format!("{prefix}{level}: {}: this suppression matches nothing\n", rule.origin)
            });
        }
        out + &named(self.policy.gone(&seen.hits), |known| {
            let place = if known.file.is_empty() {
                String::new()
            } else {
                format!(" at {}:{}", known.file, known.line)
            };
            let kernel = if known.kernel.is_empty() {
                String::new()
            } else {
                format!(" in {}", reports::readable(&known.kernel))
            };
            format!("{prefix}note: {}{kernel}{place} is in the baseline and was not seen\n", known.kind)
        })
    }
}

/// A line for each of the first, and how many more there are.
fn named<T>(of: impl Iterator<Item = T>, line: impl Fn(T) -> String) -> String {
    let mut of = of.map(line);
    let mut out: String = of.by_ref().take(NAMED).map(|line| printable_line(&line)).collect();
    let more = of.count() as u64;
    if more > 0 {
        out += &format!("and {more} more\n");
    }
    out
}

fn printable_line(line: &str) -> String {
    reports::escaped(line, |character| character == '\n')
}

fn failure(error: TriageError) -> Failure {
    let TriageError { message, help, source, span } = error;
    let place = Some(Box::new(TextPlace { source, span }));
    help.into_iter().fold(Failure::usage(message).at(place), Failure::help)
}
