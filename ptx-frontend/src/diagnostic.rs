//! What the front end has to say about a text: data only, rendering is the caller's.

use crate::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Worth knowing; the module is usable.
    Warning,
    /// The module is rejected.
    Error,
}

/// A stable identifier such as `E0203`; `warpgrind explain` and the tests key on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Code(pub &'static str);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// A further place that explains the finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be seen there.
    pub text: String,
}

/// A place in another text than the finding's own, as linking has them.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// The other text.
    pub source: Source,
    /// The place.
    pub span: Span,
    /// What is to be seen there.
    pub text: String,
}

/// One finding: what, where, why, and what would be accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Stable identifier.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence without a full stop.
    pub message: String,
    /// The primary place.
    pub span: Span,
    /// Text shown under the primary place; may be empty.
    pub caption: String,
    /// Secondary places, such as an earlier declaration.
    pub labels: Vec<Label>,
    /// What would be accepted instead.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error without labels or help.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            caption: String::new(),
            labels: Vec::new(),
            help: Vec::new(),
        }
    }

    /// The same as a warning.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// Sets the text under the primary place.
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = text.into();
        self
    }

    /// Adds a secondary place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a line of help.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }
}
