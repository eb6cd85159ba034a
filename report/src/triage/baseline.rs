//! Baselines: findings that are known, in a file that the tool writes.

use std::collections::BTreeMap;

use ptx_frontend::Source;
use serde::{Deserialize, Serialize};

use super::{Issue, TriageError};

/// The version of the file; grows when a fingerprint is made in another way.
const SCHEMA: u32 = 1;

/// A finding that is known. All but the fingerprint is for people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Known {
    /// [`Issue::fingerprint`]
    pub fingerprint: String,
    /// [`Issue::kind`]
    pub kind: String,
    /// [`Issue::kernel`]
    pub kernel: String,
    /// Where it was; empty and 0 where that was not known.
    pub file: String,
    /// Where it was.
    pub line: u32,
    /// [`Issue::text`]
    pub text: String,
}

impl Known {
    /// What is kept of an issue.
    pub fn of(issue: &Issue) -> Known {
        let place = issue.places.first();
        Known {
            fingerprint: issue.fingerprint.clone(),
            kind: issue.kind.clone(),
            kernel: issue.kernel.clone(),
            file: place.map(|place| place.file.clone()).unwrap_or_default(),
            line: place.map_or(0, |place| place.line),
            text: issue.text.clone(),
        }
    }
}

/// A baseline as a file.
#[derive(Default, Debug, Serialize, Deserialize)]
pub struct Baseline {
    schema: u32,
    findings: Vec<Known>,
}

impl Baseline {
    /// Of these findings, each once, in an order that does not depend on that of the run.
    pub fn new(findings: impl IntoIterator<Item = Known>) -> Baseline {
        let each: BTreeMap<String, Known> =
            findings.into_iter().map(|known| (known.fingerprint.clone(), known)).collect();
        let mut findings: Vec<Known> = each.into_values().collect();
        findings.sort_by(|a, b| {
            let key =
                |known: &Known| (known.file.clone(), known.kernel.clone(), known.line, known.kind.clone());
            key(a).cmp(&key(b))
        });
        Baseline { schema: SCHEMA, findings }
    }

    /// How many findings it has.
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The findings.
    pub fn into_known(self) -> Vec<Known> {
        self.findings
    }

    /// The file.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads the file.
    ///
    /// # Errors
    /// It is no baseline, or one of another version: what is wrong with it and where.
    pub fn read(name: &str, text: Vec<u8>) -> Result<Baseline, Box<TriageError>> {
        let source = Source::new(name, text);
        let help = vec!["`--write-baseline FILE` makes one of what is found now".to_owned()];
        let read: Result<Baseline, serde_json::Error> = serde_json::from_str(&source.text);
        let wrong = |message: String, at: usize| {
            let span = at..at;
            Box::new(TriageError { message, help: help.clone(), source: source.clone(), span })
        };
        let baseline = read.map_err(|error| {
            let before = source.text.split_inclusive('\n').take(error.line().saturating_sub(1));
            let at = before.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
            let said = error.to_string();
            let said = said.rsplit_once(" at line ").map_or(&*said, |(said, _)| said);
            let mut at = at.min(source.text.len());
            while !source.text.is_char_boundary(at) {
                at -= 1;
            }
            wrong(format!("this is no baseline: {said}"), at)
        })?;
        if baseline.schema != SCHEMA {
            return Err(wrong(
                format!("this is a baseline of version {}, not of {SCHEMA}", baseline.schema),
                0,
            ));
        }
        Ok(baseline)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spot;
    use super::*;
    use proptest::prelude::*;

    fn known(kind: &str, file: &str, line: u32) -> Known {
        Known::of(&Issue::new(kind, "k", vec![Spot { file: file.into(), line }], &[("x", line as usize)]))
    }

    #[test]
    fn what_is_written_is_read_whatever_the_order() {
        let all = [known("trap", "b.cu", 1), known("trap", "a.cu", 9), known("trap", "a.cu", 2)];
        let written = Baseline::new(all.iter().cloned().chain([all[0].clone()]));
        assert_eq!(written.len(), 3);
        let text = written.to_text();
        assert_eq!(Baseline::new(all.iter().rev().cloned()).to_text(), text);
        let read = Baseline::read("b.json", text.into_bytes()).unwrap().into_known();
        assert_eq!(
            read.iter().map(|known| (&*known.file, known.line)).collect::<Vec<_>>(),
            [("a.cu", 2), ("a.cu", 9), ("b.cu", 1)]
        );
    }

    #[test]
    fn errors_say_where() {
        let wrong =
            Baseline::read("b.json", "{\n  \"schema\": 1,\n  \"findings\": [é]\n}".into()).unwrap_err();
        assert_eq!(wrong.source.line_column(wrong.span.start as u32), (3, 16));
        assert!(wrong.message.starts_with("this is no baseline: expected value"), "{}", wrong.message);
        let other = Baseline::read("b.json", b"{\"schema\": 7, \"findings\": []}".to_vec()).unwrap_err();
        assert_eq!(other.message, "this is a baseline of version 7, not of 1");
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = Baseline::read("b.json", text.into_bytes());
        }
    }
}
