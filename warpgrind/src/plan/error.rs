//! What is wrong with a plan, and where it was said.

use std::ops::Range;

use ptx_frontend::Source;

use crate::array::ArrayError;
use crate::files::FileError;
use crate::names::closest;

/// A part of a text that an error is about.
#[derive(Clone, Debug)]
pub struct TextPlace {
    /// The text.
    pub source: Source,
    /// Bytes in it.
    pub span: Range<usize>,
}

/// Sets the place of an error unless it is known already.
pub(crate) fn locate(
    place: &mut Option<Box<TextPlace>>,
    source: Option<&Source>,
    span: &Option<Range<usize>>,
) {
    if let (None, Some(source), Some(span)) = (&place, source, span) {
        *place = Some(Box::new(TextPlace { source: source.clone(), span: span.clone() }));
    }
}

/// Why a plan cannot be made or carried out as it is written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    /// One sentence without a full stop.
    pub message: String,
    /// What is known about it.
    pub notes: Vec<String>,
    /// What would be accepted instead.
    pub help: Vec<String>,
    /// Where, if it is about a launch file.
    pub place: Option<Box<TextPlace>>,
}

impl PlanError {
    /// An error with this message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), notes: Vec::new(), help: Vec::new(), place: None }
    }

    /// Adds what is known.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds what would be accepted.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Adds a "did you mean" if one of `candidates` is close to `wrong`.
    pub fn suggest<'a>(self, wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        match closest(wrong, candidates) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Says which part of a text it is about, unless that is known already.
    pub fn at(mut self, source: Option<&Source>, span: &Option<Range<usize>>) -> Self {
        locate(&mut self.place, source, span);
        self
    }

    /// Puts the words of what was being done before the message.
    pub fn context(mut self, what: impl std::fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl From<ArrayError> for PlanError {
    fn from(error: ArrayError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<FileError> for PlanError {
    fn from(error: FileError) -> Self {
        Self::new(error.to_string())
    }
}
