//! How results, findings and errors are shown: to people and to programs.

mod json;
mod run;

use std::cell::RefCell;
use std::io::Write;

use ptx_frontend::render::render;
use ptx_frontend::{Diagnostic, Elsewhere, Severity, Source, Span};
use reports::snippet::Excerpt;
pub(crate) use reports::snippet::Message;

use crate::args::{Color, Format, Global};
use crate::exit::Failure;

pub(crate) use json::{
    CheckReport, DiagnosticJson, FailureJson, FileJson, KernelJson, ParameterJson, UnsupportedJson,
};
pub(crate) use reports::plural;
pub(crate) use run::{RunReporter, index};

/// The version of the JSON documents; grows when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;

/// Standard output and standard error with the user's choice of colours and format.
#[derive(Debug)]
pub(crate) struct Console {
    /// How results are written.
    pub(crate) format: Format,
    failed: RefCell<Option<std::io::Error>>,
}

impl Console {
    /// Applies the global options.
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self { format: global.format, failed: RefCell::new(None) }
    }

    /// Whether the output is for people.
    pub(crate) fn is_human(&self) -> bool {
        self.format == Format::Human
    }

    /// Writes results. A reader that went away is no error; anything else is kept for
    /// [`Console::finish`].
    pub(crate) fn out(&self, text: impl AsRef<str>) {
        self.keep(anstream::stdout().lock().write_all(text.as_ref().as_bytes()));
    }

    /// Writes bytes as they are, such as what a kernel prints.
    pub(crate) fn out_bytes(&self, bytes: &[u8]) {
        self.keep(std::io::stdout().lock().write_all(bytes));
    }

    /// Writes a JSON document.
    pub(crate) fn json(&self, document: &impl serde::Serialize) {
        let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
        text.push(b'\n');
        self.out_bytes(&text);
    }

    /// Writes what is not a result.
    pub(crate) fn err(&self, text: impl AsRef<str>) {
        // Nobody is left to be told when this fails.
        let _ = anstream::stderr().lock().write_all(text.as_ref().as_bytes());
    }

    /// Shows why the command ended.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.err(Message::from(failure).render());
    }

    /// Shows a diagnostic of the front end.
    pub(crate) fn diagnostic(&self, diagnostic: &Diagnostic, source: &Source, elsewhere: &[Elsewhere]) {
        self.err(render(diagnostic, source, elsewhere, true) + "\n\n");
    }

    fn keep(&self, result: std::io::Result<()>) {
        if let Err(error) = result
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            self.failed.borrow_mut().get_or_insert(error);
        }
    }

    /// Flushes; an error if results could not be written.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.keep(std::io::stdout().lock().flush());
        match self.failed.take() {
            Some(error) => Err(Failure::usage(format!("cannot write to standard output: {error}"))),
            None => Ok(()),
        }
    }
}

impl From<&Failure> for Message {
    fn from(failure: &Failure) -> Message {
        let excerpts = failure.place.iter().map(|place| {
            let span = Span::new(place.span.start as u32, place.span.end as u32);
            Excerpt::of(&place.source, span, "", true)
        });
        Message {
            severity: Severity::Error,
            id: None,
            title: failure.message.clone(),
            excerpts: excerpts.collect(),
            notes: failure.notes.clone(),
            help: failure.help.clone(),
        }
    }
}
