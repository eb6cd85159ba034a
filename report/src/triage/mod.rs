//! Which findings are expected: those that a file of suppressions names, and those that a baseline knows.
//!
//! ```text
//! finding ──> [`Issue`] (what of it stays the same) ──[`Policy::judge`]──> [`Verdict`]
//! ```
//!
//! [`Policy::judge`] is the only place that decides it, for the command line, for the library in a program's processes, and
//! for other languages. A policy is read once and handed on as text ([`Policy::to_text`]).
//!
//! # What it must not know
//! Exit codes, and who is told.

mod baseline;
mod issue;
mod suppressions;

use std::ops::Range;

use ptx_frontend::Source;
use serde::{Deserialize, Serialize};
use sim_core::{FindingKind, LaunchReport};

use crate::finding::Sources;

pub use baseline::{Baseline, Known};
pub use issue::{Issue, Spot};
pub use suppressions::{Rule, entry, rules};

/// Why a file of suppressions or a baseline cannot be used.
#[derive(Clone, Debug)]
pub struct TriageError {
    /// The sentence.
    pub message: String,
    /// What would be accepted.
    pub help: Vec<String>,
    /// The file.
    pub source: Source,
    /// The bytes of it that are wrong.
    pub span: Range<usize>,
}

/// Of this nothing is expected: the tool itself failed.
const INTERNAL: &str = FindingKind::InternalError.name();

/// What is expected. Its entries are counted through: suppressions first, then what the baseline knows.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Policy {
    /// Suppressions, in the order of their files.
    pub rules: Vec<Rule>,
    /// What the baseline knows; `None` without a baseline.
    pub baseline: Option<Vec<Known>>,
    /// All findings are known, since a new baseline is made of them.
    pub accepts_all: bool,
}

/// Whether a finding is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nobody expects it: it counts.
    New,
    /// The baseline knows it.
    Known,
    /// A suppression names it.
    Suppressed,
}

/// What a policy says of an issue.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether it counts.
    pub status: Status,
    /// Why it was suppressed: the reason that its suppression gives.
    pub reason: Option<String>,
    /// The entries that match it, by number.
    pub entries: Vec<usize>,
}

impl Verdict {
    /// Of something that nobody expects.
    pub const NEW: Verdict = Verdict { status: Status::New, reason: None, entries: Vec::new() };

    /// Whether it counts.
    pub fn is_new(&self) -> bool {
        self.status == Status::New
    }
}

/// A finding and whether it is expected.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The finding.
    pub issue: Issue,
    /// Whether it is expected.
    pub verdict: Verdict,
}

/// How many findings there are of each status.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Found {
    /// [`Status::New`]
    pub new: u64,
    /// [`Status::Known`]
    pub known: u64,
    /// [`Status::Suppressed`]
    pub suppressed: u64,
}

impl Found {
    /// Those of a launch; what it did not keep is new.
    pub fn of(report: &LaunchReport, judged: &[Judged]) -> Found {
        let mut found = Found { new: report.dropped_findings, ..Found::default() };
        judged.iter().for_each(|judged| found.add(judged.verdict.status));
        found
    }

    /// One more.
    pub fn add(&mut self, status: Status) {
        match status {
            Status::New => self.new += 1,
            Status::Known => self.known += 1,
            Status::Suppressed => self.suppressed += 1,
        }
    }

    /// `1 finding, 2 suppressed`; `None` if there is none.
    pub fn words(&self) -> Option<String> {
        let all = [(self.new, ""), (self.known, "known "), (self.suppressed, "suppressed ")];
        let some = all.into_iter().filter(|(count, _)| *count > 0).enumerate();
        let words = some.map(|(at, (count, what))| match at {
            0 => crate::plural(count, &format!("{what}finding")),
            _ => format!("{count} {}", what.trim_end()),
        });
        Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
    }
}

impl Policy {
    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.baseline.is_none() && !self.accepts_all
    }

    /// How many entries there are.
    pub fn entries(&self) -> usize {
        self.rules.len() + self.known().len()
    }

    fn known(&self) -> &[Known] {
        self.baseline.as_deref().unwrap_or_default()
    }

    /// Decides whether an issue is expected. Suppressions go before the baseline; all entries that match are named, so that
    /// none counts as unused because another one says the same.
    pub fn judge(&self, issue: &Issue) -> Verdict {
        let rules = self.rules.iter().enumerate().filter(|(_, rule)| rule.matches(issue));
        let known =
            self.known().iter().enumerate().filter(|(_, known)| known.fingerprint == issue.fingerprint);
        let mut verdict = Verdict::NEW;
        if issue.kind == INTERNAL {
            return verdict;
        }
        for (at, rule) in rules {
            verdict.status = Status::Suppressed;
            verdict.reason.get_or_insert_with(|| rule.reason.clone());
            verdict.entries.push(at);
        }
        for (at, _) in known {
            if verdict.is_new() {
                verdict.status = Status::Known;
            }
            verdict.entries.push(self.rules.len() + at);
        }
        if self.accepts_all && verdict.is_new() {
            verdict.status = Status::Known;
        }
        verdict
    }

    /// Decides it for all findings of a launch, in their order.
    pub fn judge_all(&self, report: &LaunchReport, sources: &Sources<'_>) -> Vec<Judged> {
        let issues = report.findings.iter().map(|finding| Issue::of(finding, sources));
        issues.map(|issue| Judged { verdict: self.judge(&issue), issue }).collect()
    }

    /// Suppressions that matched nothing, by how often each entry matched.
    pub fn unused<'a>(&'a self, hits: &'a [u64]) -> impl Iterator<Item = &'a Rule> {
        let hit = |at: usize| hits.get(at).is_some_and(|&hits| hits > 0);
        self.rules.iter().enumerate().filter(move |(at, _)| !hit(*at)).map(|(_, rule)| rule)
    }

    /// What the baseline knows and was not seen, by how often each entry matched.
    pub fn gone<'a>(&'a self, hits: &'a [u64]) -> impl Iterator<Item = &'a Known> {
        let hit = move |at: usize| hits.get(self.rules.len() + at).is_some_and(|&hits| hits > 0);
        self.known().iter().enumerate().filter(move |(at, _)| !hit(*at)).map(|(_, known)| known)
    }

    /// As text, for other processes.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From [`Policy::to_text`]; `None` if it is none.
    pub fn from_text(text: &str) -> Option<Policy> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(kind: &str, line: u32, text: &str) -> Issue {
        Issue::new(kind, "k", vec![Spot { file: "a/b.cu".into(), line }], &[(text, 1)])
    }

    #[test]
    fn suppressions_go_before_the_baseline_and_all_that_match_are_used() {
        let text = "[[suppression]]\nkind = \"data-race\"\nreason = \"one\"\n\
                    [[suppression]]\nfile = \"b.cu\"\nline = \"3-5\"\nreason = \"two\"\n\
                    [[suppression]]\nkernel = \"other\"\nreason = \"three\"\n";
        let rules = rules("s.toml", text.into(), &["data-race", "trap"]).unwrap();
        let known = |issue: &Issue| Known::of(issue);
        let (race, trap, far) = (issue("data-race", 3, "x"), issue("trap", 9, "y"), issue("trap", 9, "z"));
        let policy = Policy { rules, baseline: Some(vec![known(&race), known(&trap)]), accepts_all: false };
        let policy = Policy::from_text(&policy.to_text()).unwrap();
        let mut hits = vec![0; policy.entries()];
        let mut judge = |issue: &Issue| {
            let verdict = policy.judge(issue);
            verdict.entries.iter().for_each(|&at| hits[at] += 1);
            (verdict.status, verdict.reason, verdict.entries)
        };
        assert_eq!(judge(&race), (Status::Suppressed, Some("one".into()), vec![0, 1, 3]));
        assert_eq!(judge(&far), (Status::New, None, vec![]));
        let unused: Vec<&str> = policy.unused(&hits).map(|rule| &*rule.origin).collect();
        assert_eq!(unused, ["s.toml:8"]);
        assert_eq!(policy.gone(&hits).map(|known| &*known.text).collect::<Vec<_>>(), ["y"]);
        let verdict = policy.judge(&trap);
        assert_eq!((verdict.status, verdict.entries), (Status::Known, vec![4]));
    }

    #[test]
    fn an_internal_error_is_never_expected() {
        let policy = Policy { accepts_all: true, ..Policy::default() };
        assert_eq!(policy.judge(&issue("trap", 1, "x")).status, Status::Known);
        assert!(policy.judge(&issue("internal-error", 1, "x")).is_new());
    }

    #[test]
    fn counts_are_said_in_words() {
        let words = |new, known, suppressed| Found { new, known, suppressed }.words();
        assert_eq!(words(0, 0, 0), None);
        assert_eq!(words(1, 0, 0).unwrap(), "1 finding");
        assert_eq!(words(2, 1, 3).unwrap(), "2 findings, 1 known, 3 suppressed");
        assert_eq!(words(0, 0, 1).unwrap(), "1 suppressed finding");
    }
}
