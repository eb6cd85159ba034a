//! Collects diagnostics and keeps their number bounded.

use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::Span;

/// Errors and warnings each are kept up to this number; the rest is only counted.
pub(crate) const LIMIT: usize = 100;

/// The diagnostics of one text.
#[derive(Default, Debug)]
pub(crate) struct Report {
    /// What the instruction table appends to; call [`Report::settle`] afterwards.
    pub(crate) list: Vec<Diagnostic>,
    settled: usize,
    errors: usize,
    warnings: usize,
}

impl Report {
    /// Adds a finding.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
        self.settle();
    }

    /// Counts what was appended to the list and drops what exceeds the limit.
    pub(crate) fn settle(&mut self) {
        while self.settled < self.list.len() {
            let count = match self.list[self.settled].severity {
                Severity::Error => &mut self.errors,
                Severity::Warning => &mut self.warnings,
            };
            *count += 1;
            if *count > LIMIT {
                self.list.remove(self.settled);
            } else {
                self.settled += 1;
            }
        }
    }

    /// Whether a further error would be left out; it is counted then.
    pub(crate) fn overflows(&mut self) -> bool {
        let full = self.errors >= LIMIT;
        self.errors += usize::from(full);
        full
    }

    /// Number of errors so far, dropped ones included.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// All findings in order of the text, with a last one that counts those left out.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.settle();
        self.list.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        let end = self.list.last().map_or(Span::default(), |last| last.span);
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        if let Some(more @ 1..) = self.errors.checked_sub(LIMIT) {
            let message = format!("{more} more error{} not shown", plural(more));
            self.list.push(Diagnostic::error(codes::MORE, end, message));
        } else if let Some(more @ 1..) = self.warnings.checked_sub(LIMIT) {
            let message = format!("{more} more warning{} not shown", plural(more));
            self.list.push(Diagnostic::warning(codes::MORE, end, message));
        }
        self.list
    }
}
