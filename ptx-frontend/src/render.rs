//! Diagnostics as text, in rustc's manner. Behind the default feature `render`.
//!
//! Only the lines that a finding names are looked at, and lines of any length are cut to a window around
//! the place, so that rendering is quick whatever the text is.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Elsewhere, Severity};
use crate::span::{Source, Span};

/// Lines longer than this many bytes are shown in part.
const LONG_LINE: usize = 10_000;
/// How many bytes of a long line are shown on each side of a place.
const WINDOW: usize = 60;
/// Places that are at most this many lines apart are shown in one excerpt.
const NEAR: u32 = 12;

/// One finding as text without a final newline; `color` adds ANSI escapes.
///
/// ```
/// use ptx_frontend::{Source, parse, render::render};
/// let parsed = parse(Source::new("a.ptx", b".version 9.0\n.target sm_90\n.global .bf16 x;\n".to_vec()));
/// let text = render(&parsed.diagnostics[0], &parsed.source, &[], false);
/// assert!(text.starts_with("error[E0301]: a variable cannot have the type `.bf16`\n --> a.ptx:3:9"), "{text}");
/// ```
pub fn render(diagnostic: &Diagnostic, source: &Source, elsewhere: &[Elsewhere], color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(&diagnostic.message).id(diagnostic.code.0));
    let mut places = vec![Place::new(source, diagnostic.span, &diagnostic.caption, true)];
    places.extend(diagnostic.labels.iter().map(|label| Place::new(source, label.span, &label.text, false)));
    for excerpt in excerpts(places) {
        group = group.elements(elements(source, &excerpt));
    }
    for other in elsewhere {
        let place = Place::new(&other.source, other.span, &other.text, false);
        group = group.elements(elements(&other.source, &[place]));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.decor_style(DecorStyle::Ascii).render(&[group])
}

/// All findings, each followed by an empty line.
pub fn render_all(diagnostics: &[Diagnostic], source: &Source, color: bool) -> String {
    diagnostics.iter().map(|diagnostic| render(diagnostic, source, &[], color) + "\n\n").collect()
}

/// A place cut to one line.
struct Place<'a> {
    line: u32,
    /// Byte offset of the line in the text, and its length.
    start: usize,
    length: usize,
    /// The place as offsets in the line.
    from: usize,
    to: usize,
    text: &'a str,
    primary: bool,
}

impl<'a> Place<'a> {
    fn new(source: &Source, span: Span, text: &'a str, primary: bool) -> Self {
        let (line, column) = source.line_column(span.start);
        let start = span.start as usize + 1 - column as usize;
        let length = source.line(line).len();
        let from = (column as usize - 1).min(length);
        let to = (span.end as usize).saturating_sub(start).clamp(from, length);
        Self { line, start, length, from, to, text, primary }
    }

    fn long(&self) -> bool {
        self.length > LONG_LINE
    }
}

/// Groups places that are near each other; the group of the primary place comes first.
fn excerpts(mut places: Vec<Place<'_>>) -> Vec<Vec<Place<'_>>> {
    places.sort_by_key(|place| (place.line, place.from));
    let mut excerpts: Vec<Vec<Place<'_>>> = Vec::new();
    for place in places {
        match excerpts.last_mut() {
            Some(last) if last.iter().all(|p| place.line - p.line <= NEAR && !p.long()) && !place.long() => {
                last.push(place);
            }
            _ => excerpts.push(vec![place]),
        }
    }
    excerpts.sort_by_key(|excerpt| !excerpt.iter().any(|place| place.primary));
    excerpts
}

fn elements<'a>(source: &'a Source, excerpt: &[Place<'a>]) -> Vec<Element<'a>> {
    let (first, last) = (&excerpt[0], &excerpt[excerpt.len() - 1]);
    let kind = |place: &Place<'_>| {
        if place.primary { AnnotationKind::Primary } else { AnnotationKind::Context }
    };
    let label = |place: &Place<'a>| (!place.text.is_empty()).then_some(place.text);
    if first.long() {
        let text = &source.text[first.start..][..first.length];
        let boundary = |mut at: usize| {
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let from = boundary(first.from.saturating_sub(WINDOW));
        let end = boundary(first.to.min(first.from + WINDOW).max(first.from));
        let to = boundary((end + WINDOW).min(first.length));
        let annotation = kind(first).span(first.from - from..end - from).label(label(first));
        let origin = Origin::path(&*source.name).line(first.line as usize).char_column(first.from + 1);
        let snippet = Snippet::source(&text[from..to]).line_start(first.line as usize).annotation(annotation);
        return vec![origin.into(), snippet.into()];
    }
    let text = &source.text[first.start..last.start + last.length];
    let annotations = excerpt.iter().map(|place| {
        let base = place.start - first.start;
        kind(place).span(base + place.from..base + place.to).label(label(place))
    });
    let snippet =
        Snippet::source(text).line_start(first.line as usize).path(&*source.name).annotations(annotations);
    vec![snippet.into()]
}
