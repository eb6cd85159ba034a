//! Messages with the lines of text they are about, in rustc's manner.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use ptx_frontend::{Severity, Source, Span};

/// A line of a text with one marked range.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// File name shown.
    pub path: String,
    /// The line.
    pub text: String,
    /// Its 1-based number.
    pub line: u32,
    /// The marked bytes of `text`.
    pub range: Range<usize>,
    /// Text beside the mark, or empty.
    pub label: String,
    /// Whether it is the place of the message, not one that helps to understand it.
    pub primary: bool,
}

impl Excerpt {
    /// The line that a span begins on, marked to the end of the span or of the line.
    pub fn of(source: &Source, span: Span, label: &str, primary: bool) -> Self {
        let (line, column) = source.line_column(span.start);
        let text = source.line(line);
        let start = (column as usize - 1).min(text.len());
        let end = (start + source.slice(span).trim_end().len().max(1)).min(text.len());
        Self {
            path: source.name.to_string(),
            range: floor(text, start)..floor(text, end).max(floor(text, start)),
            text: text.trim_end().to_string(),
            line,
            label: label.to_string(),
            primary,
        }
        .within_text()
    }

    /// One line of a file that is not a [`Source`], marked from a 1-based column to the end of the
    /// word there; column 0 marks the whole line.
    pub fn of_line(path: &str, line: u32, text: &str, column: u32, label: &str) -> Self {
        let indent = text.len() - text.trim_start().len();
        let start = floor(text, if column == 0 { indent } else { column as usize - 1 });
        let rest = &text[start..];
        let end = match column {
            0 => text.trim_end().len(),
            _ => {
                let word = |c: char| c.is_alphanumeric() || c == '_';
                start
                    + rest
                        .find(|c| !word(c))
                        .unwrap_or(rest.len())
                        .max(rest.chars().next().map_or(0, char::len_utf8))
            }
        };
        Self {
            path: path.to_string(),
            text: text.to_string(),
            line,
            range: start..end.max(start),
            label: label.to_string(),
            primary: false,
        }
    }

    /// Moves the mark into the text, which may have lost blanks at its end.
    fn within_text(mut self) -> Self {
        let length = self.text.len();
        self.range = self.range.start.min(length)..self.range.end.min(length);
        self
    }
}

/// The greatest character boundary at or below `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A message to be rendered.
#[derive(Clone, Debug)]
pub struct Message {
    /// Error or warning.
    pub severity: Severity,
    /// Code or kind, shown in brackets.
    pub id: Option<String>,
    /// The sentence.
    pub title: String,
    /// Places, the primary one first.
    pub excerpts: Vec<Excerpt>,
    /// `= note:` lines.
    pub notes: Vec<String>,
    /// `= help:` lines.
    pub help: Vec<String>,
}

impl Message {
    /// The message with colours in ANSI codes, ending in a line end.
    pub fn render(&self) -> String {
        self.rendered(&Renderer::styled())
    }

    /// The message without colours, ending in a line end.
    pub fn plain(&self) -> String {
        self.rendered(&Renderer::plain())
    }

    fn rendered(&self, renderer: &Renderer) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut title = level.primary_title(self.title.as_str());
        if let Some(id) = &self.id {
            title = title.id(id.as_str());
        }
        let mut group = Group::with_title(title);
        for excerpt in &self.excerpts {
            let kind = if excerpt.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let mut mark = kind.span(excerpt.range.clone());
            if !excerpt.label.is_empty() {
                mark = mark.label(excerpt.label.as_str());
            }
            group = group.element(
                Snippet::source(excerpt.text.as_str())
                    .line_start(excerpt.line as usize)
                    .path(excerpt.path.as_str())
                    .annotation(mark),
            );
        }
        group = group.elements(self.notes.iter().map(|note| Level::NOTE.message(note.as_str())));
        group = group.elements(self.help.iter().map(|help| Level::HELP.message(help.as_str())));
        format!("{}\n", renderer.render(&[group]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(message: &Message) -> String {
        let text = message.plain();
        assert_eq!(anstream::adapter::strip_str(&message.render()).to_string(), text);
        text
    }

    fn message(excerpts: Vec<Excerpt>) -> Message {
        Message {
            severity: Severity::Error,
            id: Some("out-of-bounds".into()),
            title: "title".into(),
            excerpts,
            notes: vec!["a note".into()],
            help: vec!["some help".into()],
        }
    }

    #[test]
    fn the_line_is_shown_and_marked() {
        let source = Source::new("a.ptx", b"first\n\tld.global.f32 %f1, [%rd1];\nlast".to_vec());
        let excerpt = Excerpt::of(&source, Span::new(7, 34), "here", true);
        assert_eq!(
            plain(&message(vec![excerpt])),
            "\
error[out-of-bounds]: title
 --> a.ptx:2:2
  |
2 |     ld.global.f32 %f1, [%rd1];
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^ here
  |
  = note: a note
  = help: some help
"
        );
    }

    #[test]
    fn a_column_marks_a_word() {
        let excerpt = Excerpt::of_line("a.cu", 7, "    y[i] = x[i];", 5, "");
        assert_eq!(excerpt.range, 4..5);
        assert_eq!(Excerpt::of_line("a.cu", 7, "    y[i] = x[i];", 0, "").range, 4..16);
        assert_eq!(Excerpt::of_line("a.cu", 7, "ab", 99, "").range, 2..2);
    }

    proptest! {
        #[test]
        fn no_span_panics(text: String, start in 0u32..200, length in 0u32..200, column in 0u32..300) {
            let source = Source::new("a.ptx", text.clone().into_bytes());
            let excerpt = Excerpt::of(&source, Span::new(start, start + length), "x", true);
            let _ = message(vec![excerpt]).render();
            let line = text.lines().next().unwrap_or_default();
            let _ = message(vec![Excerpt::of_line("a", 1, line, column, "")]).render();
        }
    }
}
