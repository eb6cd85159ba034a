//! The lines that a finding is about as JSON, with some of those around them.

use serde::Serialize;
use sim_core::{CodePlace, Finding};

use crate::finding::Sources;
use crate::snippet::Excerpt;

/// Lines shown above and below.
const AROUND: usize = 2;

/// A line with a mark.
#[derive(Serialize, Debug)]
pub(crate) struct ExcerptJson {
    /// Which member of the finding it belongs to.
    of: &'static str,
    language: &'static str,
    file: String,
    line: u32,
    text: String,
    /// The marked bytes of `text`.
    start: usize,
    end: usize,
    /// The function that was inlined there.
    function: Option<String>,
    above: Vec<String>,
    below: Vec<String>,
}

impl ExcerptJson {
    /// Those of both places: CUDA, innermost inlined frame first, then PTX.
    pub(crate) fn of(finding: &Finding, sources: &Sources<'_>) -> Vec<Self> {
        let sides = [("place", &finding.place), ("other_place", &finding.other_place)];
        let of_side = |(of, place): (&'static str, &Option<CodePlace>)| {
            place.as_ref().map(|place| of_place(of, place, sources)).unwrap_or_default()
        };
        sides.into_iter().flat_map(of_side).collect()
    }

    fn new(
        of: &'static str,
        language: &'static str,
        excerpt: Excerpt,
        text: &str,
        function: Option<String>,
    ) -> Self {
        let at = excerpt.line.saturating_sub(1) as usize;
        let lines = |from: usize, count: usize| -> Vec<String> {
            text.lines().skip(from).take(count).map(|line| line.trim_end().to_owned()).collect()
        };
        let above = at.min(AROUND);
        Self {
            of,
            language,
            file: excerpt.path,
            line: excerpt.line,
            start: excerpt.range.start,
            end: excerpt.range.end,
            text: excerpt.text,
            function,
            above: lines(at - above, above),
            below: lines(at + 1, AROUND),
        }
    }
}

fn of_place(of: &'static str, place: &CodePlace, sources: &Sources<'_>) -> Vec<ExcerptJson> {
    let cuda = place.cuda.iter().filter_map(|cuda| {
        let (path, text) = sources.cuda(cuda, place.source)?;
        let line = text.lines().nth(cuda.line.checked_sub(1)? as usize)?;
        let excerpt = Excerpt::of_line(&path, cuda.line, line, cuda.column, "");
        let function = cuda.function.as_ref().map(|name| name.to_string());
        Some(ExcerptJson::new(of, "cuda", excerpt, &text, function))
    });
    let ptx = sources.ptx(place.source).map(|source| {
        ExcerptJson::new(of, "ptx", Excerpt::of(source, place.span, "", true), &source.text, None)
    });
    cuda.chain(ptx).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_end_with_the_text() {
        let of = |line, text: &str| {
            let excerpt = Excerpt::of_line("a.cu", line, text.lines().nth(line as usize - 1).unwrap(), 1, "");
            let made = ExcerptJson::new("place", "cuda", excerpt, text, None);
            (made.above.join("|"), made.text, made.below.join("|"))
        };
        let text = "a\nb \nc\nd\ne\nf";
        assert_eq!(of(1, text), ("".into(), "a".into(), "b|c".into()));
        assert_eq!(of(4, text), ("b|c".into(), "d".into(), "e|f".into()));
        assert_eq!(of(6, text), ("d|e".into(), "f".into(), "".into()));
    }
}
