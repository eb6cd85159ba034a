//! How results, findings and errors are shown: to people and to programs.

mod exchange;
mod file;
pub(crate) mod html;
mod json;
mod run;

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Write;

use ptx_frontend::render::render;
use ptx_frontend::{Diagnostic, Elsewhere, Severity, Source, Span};
use reports::snippet::Excerpt;
pub(crate) use reports::snippet::Message;

use crate::args::{Color, Format, Global};
use crate::exit::Failure;

pub(crate) use file::ReportFile;
pub(crate) use json::{
    CheckReport, DiagnosticJson, FailureJson, FailureReport, FileJson, IssueJson, KernelJson, ParameterJson,
    RewriteJson, UnsupportedJson,
};
pub(crate) use reports::{plural, printable};
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
        self.keep(anstream::stdout().lock().write_all(harmless(text.as_ref()).as_bytes()));
    }

    /// Writes bytes as they are, such as what a kernel prints.
    pub(crate) fn out_bytes(&self, bytes: &[u8]) {
        self.keep(std::io::stdout().lock().write_all(bytes));
    }

    /// Writes a document in the format that was asked for.
    pub(crate) fn json(&self, document: &impl serde::Serialize) {
        let write = match self.format {
            Format::Human | Format::Json => return self.keep(print_json(document)),
            Format::Sarif => exchange::sarif,
            Format::Junit => exchange::junit,
            Format::Github => exchange::github,
        };
        self.out_bytes(write(&serde_json::to_value(document).unwrap_or_default()).as_bytes());
    }

    /// Writes what is not a result.
    pub(crate) fn err(&self, text: impl AsRef<str>) {
        // Nobody is left to be told when this fails.
        let _ = anstream::stderr().lock().write_all(harmless(text.as_ref()).as_bytes());
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

/// Writes a JSON document to standard output.
pub(crate) fn print_json(document: &impl serde::Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
    text.push(b'\n');
    let mut output = std::io::stdout().lock();
    output.write_all(&text).and_then(|()| output.flush())
}

/// Text for a terminal: of control characters only line breaks, tabs and our own colours (`ESC [ … m`) are
/// left. What others chose is escaped before colours are added; this is for what was forgotten.
fn harmless(text: &str) -> Cow<'_, str> {
    let odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(odd) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let colour = from.strip_prefix("\u{1b}[").and_then(|codes| {
            let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            codes[end..].starts_with('m').then_some(end + 3)
        });
        let length = colour.unwrap_or_else(|| from.chars().next().map_or(0, char::len_utf8));
        let (found, after) = from.split_at(length);
        match colour {
            Some(_) => out.push_str(found),
            None => out.extend(found.escape_default()),
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Messages are written by others too: lines may be broken, nothing else.
fn message_text(text: &str) -> String {
    reports::escaped(text, |character| matches!(character, '\n' | '\t'))
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
            title: message_text(&failure.message),
            excerpts: excerpts.collect(),
            notes: failure.notes.iter().map(|note| message_text(note)).collect(),
            help: failure.help.iter().map(|help| message_text(help)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        let text = "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: é\t\u{1b}]0;x\u{7}\r\n\u{1b}[";
        let safe = "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: é\t\\u{1b}]0;x\\u{7}\\r\n\\u{1b}[";
        assert_eq!(harmless(text), safe);
    }
}
