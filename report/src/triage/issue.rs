//! What of a finding stays the same from run to run, and when lines move.

use ptx_frontend::{Module, Source, SourceId, Span};
use sha2::{Digest, Sha256};
use sim_core::{CodePlace, Finding};

use crate::finding::Sources;

/// A line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spot {
    /// Its path.
    pub file: String,
    /// Its number, from 1 on; 0 where it is not known.
    pub line: u32,
}

/// Something found, as suppressions and baselines speak of it.
#[derive(Clone, Debug)]
pub struct Issue {
    /// The stable name of its kind, or the code of a diagnostic.
    pub kind: String,
    /// The PTX name of the kernel, or the name of the test; empty where there is none.
    pub kernel: String,
    /// Every line that it is about, the first being where it is: those of CUDA before those of PTX.
    pub places: Vec<Spot>,
    /// The text of the line where it is.
    pub text: String,
    /// The same for the same thing in another run, with other addresses, threads, schedules and line numbers.
    pub fingerprint: String,
}

/// The text of a line with one blank between its words, and which of the equal ones it is.
type Anchor = (String, usize);

impl Issue {
    /// An issue that is about lines of these texts, each given with its number among equal ones.
    pub fn new(kind: &str, kernel: &str, places: Vec<Spot>, lines: &[(&str, usize)]) -> Issue {
        let anchors = lines.iter().map(|(text, nth)| (blanks(text), *nth)).collect();
        Issue::anchored(kind, kernel, places, anchors)
    }

    fn anchored(kind: &str, kernel: &str, places: Vec<Spot>, mut anchors: Vec<Anchor>) -> Issue {
        let text = anchors.first().map(|(text, _)| text.clone()).unwrap_or_default();
        // Which access of a race comes first depends on the schedule.
        anchors.sort();
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update(text.as_bytes());
            hash.update([0]);
        };
        part(kind);
        let file = places.first().map_or("", |place| &*place.file);
        part(if kernel.is_empty() { file.rsplit('/').next().unwrap_or(file) } else { kernel });
        for (text, nth) in &anchors {
            part(text);
            part(&nth.to_string());
        }
        let fingerprint = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Issue { kind: kind.into(), kernel: kernel.into(), places, text, fingerprint }
    }

    /// A finding of a launch. The line is the innermost one of CUDA whose file is found, else the instruction.
    pub fn of(finding: &Finding, sources: &Sources<'_>) -> Issue {
        let sides: Vec<&CodePlace> = [&finding.place, &finding.other_place].into_iter().flatten().collect();
        let anchors = sides.iter().map(|place| anchor(place, sources)).collect();
        let places = sides.iter().flat_map(|place| spots(place, sources)).collect();
        Issue::anchored(finding.kind.name(), &finding.kernel, places, anchors)
    }

    /// Something about a line of a text.
    pub fn of_line(kind: &str, source: &Source, line: u32) -> Issue {
        let places = vec![Spot { file: source.name.to_string(), line }];
        Issue::anchored(kind, "", places, vec![nth_line(&source.text, line).unwrap_or_default()])
    }
}

/// With one blank between words.
fn blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line, and its number among equal ones.
fn nth_line(text: &str, line: u32) -> Option<Anchor> {
    let at = line.checked_sub(1)? as usize;
    let wanted = blanks(text.lines().nth(at)?);
    let before = text.lines().take(at).filter(|line| blanks(line) == wanted).count();
    Some((wanted, before + 1))
}

fn anchor(place: &CodePlace, sources: &Sources<'_>) -> Anchor {
    let of_cuda = place.cuda.iter().find_map(|cuda| {
        let (_, text) = sources.cuda(cuda, place.source)?;
        nth_line(&text, cuda.line)
    });
    of_cuda.unwrap_or_else(|| instruction(sources.module, place.source, place.span))
}

/// An instruction, and its number among equal ones of its function.
fn instruction(module: &Module, source: SourceId, span: Span) -> Anchor {
    let Some(text) = module.sources.get(source.0 as usize) else { return Anchor::default() };
    let wanted = blanks(text.slice(span));
    let bodies = module.functions.iter().filter(|function| function.source == source);
    let mut bodies = bodies.filter_map(|function| function.body.as_ref());
    let body = bodies.find(|body| body.instructions.iter().any(|instruction| instruction.span == span));
    let before = body.into_iter().flat_map(|body| &body.instructions);
    let before =
        before.filter(|other| other.span.start < span.start && blanks(text.slice(other.span)) == wanted);
    let nth = before.count() + 1;
    (wanted, nth)
}

fn spots(place: &CodePlace, sources: &Sources<'_>) -> Vec<Spot> {
    let mut spots = Vec::new();
    for cuda in &place.cuda {
        spots.push(Spot { file: cuda.file.to_string(), line: cuda.line });
        // People know the file by where it is, too.
        if let Some((file, _)) = sources.cuda(cuda, place.source)
            && *file != *cuda.file
        {
            spots.push(Spot { file, line: cuda.line });
        }
    }
    if let Some(source) = sources.ptx(place.source) {
        spots.push(Spot { file: source.name.to_string(), line: source.line_column(place.span.start).0 });
    }
    spots
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sim_core::{CudaPlace, FindingKind};

    /// A kernel with the same store twice, at these lines of a CUDA file; the finding is about the second one.
    fn finding(folder: &std::path::Path, cuda: &str, line: u32, padding: usize) -> Issue {
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n{}.visible .entry k() {{\n.reg .b64 %a;\nmov.b64 %a, 0;\n\
             st.global.b64 [%a], %a;\n  st.global.b64  [%a], %a;\nret;\n}}\n",
            "\n".repeat(padding)
        );
        let file = folder.join("k.ptx").display().to_string();
        let start = text.rfind("st.global").unwrap() as u32;
        let span = Span::new(start, start + text[start as usize..].find(';').unwrap() as u32 + 1);
        let module = ptx_frontend::parse(Source::new(file, text.into_bytes())).module.unwrap();
        std::fs::write(folder.join("k.cu"), cuda).unwrap();
        let cuda = (line > 0)
            .then(|| CudaPlace { file: "k.cu".into(), line, column: 1, function: None })
            .into_iter()
            .collect();
        let finding = Finding {
            place: Some(CodePlace {
                source: SourceId(0),
                span,
                function: "k".into(),
                callers: Vec::new(),
                cuda,
            }),
            ..Finding::of_launch(FindingKind::NullPointer, "k".into(), format!("at {padding}"))
        };
        Issue::of(&finding, &Sources { module: &module, root: None })
    }

    #[test]
    fn a_fingerprint_survives_lines_that_move_but_no_other_line() {
        let folder = tempfile::tempdir().unwrap();
        let of = |cuda: &str, line, padding| finding(folder.path(), cuda, line, padding);
        let first = of("a;\n  y = 1;\ny = 1;\n", 3, 0);
        assert_eq!(first.text, "y = 1;");
        assert_eq!(first.places[0], Spot { file: "k.cu".into(), line: 3 });
        let moved = of("// new\n\na;\ny  = 1;\n\ty = 1;\n", 5, 7);
        assert_eq!(first.fingerprint, moved.fingerprint);
        assert_ne!(first.fingerprint, of("a;\n  y = 1;\ny = 1;\n", 2, 0).fingerprint, "the other such line");
        assert_ne!(first.fingerprint, of("a;\n  y = 1;\ny = 2;\n", 3, 0).fingerprint, "another text");
    }

    #[test]
    fn without_cuda_it_is_the_instruction() {
        let folder = tempfile::tempdir().unwrap();
        let one = finding(folder.path(), "", 0, 0);
        assert_eq!(one.text, "st.global.b64 [%a], %a;");
        let anchors = |nth| Issue::new("null-pointer", "k", Vec::new(), &[(&one.text, nth)]).fingerprint;
        assert_eq!(one.fingerprint, anchors(2), "the second such instruction");
        assert_eq!(one.fingerprint, finding(folder.path(), "", 0, 9).fingerprint);
        // A line that the file does not have.
        assert_eq!(finding(folder.path(), "one line\n", 99, 0).fingerprint, anchors(2));
    }

    #[test]
    fn the_sides_of_a_race_have_no_order() {
        let of = |lines: &[(&str, usize)]| Issue::new("data-race", "k", Vec::new(), lines).fingerprint;
        assert_eq!(of(&[("a", 1), ("b", 2)]), of(&[("b", 2), ("a", 1)]));
        assert_ne!(of(&[("a", 1), ("b", 2)]), of(&[("a", 2), ("b", 1)]));
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, line in 0u32..20) {
            let source = Source::new("a", text.into_bytes());
            let issue = Issue::of_line("E0101", &source, line);
            prop_assert_eq!(issue.fingerprint.len(), 32);
        }
    }
}
