//! Findings as messages with the PTX and the CUDA lines they are about.

use std::path::{Path, PathBuf};

use ptx_frontend::{Module, Severity, Source, SourceId, Span};
use sim_core::{CodePlace, CudaPlace, Finding};

use crate::snippet::{Excerpt, Message};
use crate::threads;
use crate::{plural, readable};

/// Boxes of threads shown a finding.
const GROUPS: usize = 4;

/// Where the texts of places are found.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The PTX.
    pub module: &'a Module,
    /// Where CUDA sources are looked for beside where `.file` says.
    pub root: Option<&'a Path>,
}

impl Sources<'_> {
    /// The PTX text with this id.
    pub fn ptx(&self, id: SourceId) -> Option<&Source> {
        self.module.sources.get(id.0 as usize)
    }

    /// `file:line` of a PTX place.
    pub fn line(&self, source: SourceId, span: Span) -> String {
        match self.ptx(source) {
            Some(source) => format!("{}:{}", source.name, source.line_column(span.start).0),
            None => "unknown".to_string(),
        }
    }

    /// Path and text of a CUDA source, if the file can be found: where `.file` says, under the root, in the directories
    /// above the PTX, or beside it.
    pub fn cuda(&self, place: &CudaPlace, ptx: SourceId) -> Option<(String, String)> {
        let named = Path::new(&*place.file);
        let above = self.ptx(ptx).into_iter().flat_map(|source| Path::new(&*source.name).ancestors().skip(1));
        let beside = above.clone().next();
        let mut candidates = vec![named.to_path_buf()];
        for directory in self.root.into_iter().chain(above) {
            candidates.push(directory.join(named.strip_prefix("/").unwrap_or(named)));
        }
        for directory in self.root.into_iter().chain(beside) {
            candidates.extend(named.file_name().map(|name| directory.join(name)));
        }
        let path: PathBuf = candidates.into_iter().find(|path| path.is_file())?;
        let text = std::fs::read(&path).ok()?;
        // As short as compilers say it: from where the command was given.
        let here = std::env::current_dir().ok();
        let short = here.and_then(|here| path.strip_prefix(here).ok());
        let shown = short.unwrap_or(&path).display().to_string();
        Some((shown, String::from_utf8_lossy(&text).into_owned()))
    }

    /// Path and text of a line of a CUDA source.
    fn cuda_line(&self, place: &CudaPlace, ptx: SourceId) -> Option<(String, String)> {
        let (path, text) = self.cuda(place, ptx)?;
        let line = text.lines().nth(place.line.checked_sub(1)? as usize)?;
        Some((path, line.to_string()))
    }
}

/// The message of a finding.
pub fn message(finding: &Finding, sources: &Sources<'_>) -> Message {
    let mut excerpts = Vec::new();
    let mut notes = Vec::new();
    if let Some(place) = &finding.place {
        add_place(place, "", true, sources, &mut excerpts, &mut notes);
        if *place.function != *finding.kernel {
            notes.push(format!("in function `{}`, in kernel `{}`", place.function, finding.kernel));
        }
        notes.extend(place.callers.iter().map(|(function, source, span)| {
            format!("called from `{function}` at {}", sources.line(*source, *span))
        }));
    }
    if let Some(place) = &finding.other_place {
        add_place(place, "and this", false, sources, &mut excerpts, &mut notes);
    }
    notes.extend(thread_notes(finding));
    notes.extend(finding.notes.iter().map(|note| readable_names(note)));
    Message {
        severity: Severity::Error,
        id: Some(finding.kind.name().to_string()),
        title: readable_names(&finding.message),
        excerpts,
        notes,
        help: finding.help.clone(),
    }
}

fn add_place(
    place: &CodePlace,
    label: &str,
    primary: bool,
    sources: &Sources<'_>,
    excerpts: &mut Vec<Excerpt>,
    notes: &mut Vec<String>,
) {
    if let Some(source) = sources.ptx(place.source) {
        excerpts.push(Excerpt::of(source, place.span, label, primary));
    }
    for cuda in &place.cuda {
        let label = cuda.function.as_ref().map(|name| format!("inlined from `{name}`")).unwrap_or_default();
        match sources.cuda_line(cuda, place.source) {
            Some((path, text)) => {
                excerpts.push(Excerpt::of_line(&path, cuda.line, &text, cuda.column, &label));
            }
            None => notes.push(format!("CUDA source: {}:{}", cuda.file, cuda.line)),
        }
    }
}

/// A sentence with the names of C++ that it quotes as a person writes them.
fn readable_names(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let named: Vec<_> =
        parts.map(|(at, part)| if at % 2 == 1 { readable(part) } else { part.into() }).collect();
    named.join("`")
}

fn thread_notes(finding: &Finding) -> Vec<String> {
    let groups = threads::group(&finding.threads);
    let mut notes: Vec<String> = Vec::new();
    for group in groups.iter().take(GROUPS) {
        let shown: Vec<String> = group.threads.iter().take(GROUPS).map(|span| span.to_string()).collect();
        let more = group.threads.len().saturating_sub(GROUPS);
        let more = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
        let is_one = group.threads.len() == 1 && group.threads[0].first == group.threads[0].last;
        let blocks = if group.blocks.first == group.blocks.last { "block" } else { "blocks" };
        notes.push(format!(
            "{blocks} {}, {} {}{more}",
            group.blocks,
            if is_one { "thread" } else { "threads" },
            shown.join(", ")
        ));
    }
    if groups.len() > GROUPS {
        notes.push(format!("and threads of {}", plural((groups.len() - GROUPS) as u64, "more block")));
    }
    if finding.count > 1 {
        notes.push(format!("this happened {} times", finding.count));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::{Dim3, FindingKind, ThreadId};
    use std::sync::Arc;

    /// A module of this text, which need not be PTX: only the text itself is used.
    fn module_of(source: Source) -> Module {
        let header = Source::new("header", b".version 9.0\n.target sm_90\n.address_size 64\n".to_vec());
        let mut module = ptx_frontend::parse(header).module.unwrap();
        module.sources = vec![source];
        module
    }

    fn example(directory: &Path) -> (Module, Finding) {
        let text = ".version 9.0\n\tst.global.f32 [%rd1], %f1;\n";
        let source = Source::new(directory.join("a.ptx").display().to_string(), text.into());
        let module = module_of(source);
        let block = Dim3::new(3, 0, 0);
        let finding = Finding {
            kind: FindingKind::OutOfBounds,
            message: "write of 4 bytes at 0x1000, 0 bytes past the end of `x`".into(),
            notes: vec!["`x` has 4096 bytes".into()],
            help: Vec::new(),
            kernel: "saxpy".into(),
            place: Some(CodePlace {
                source: SourceId(0),
                span: Span::new(14, 40),
                function: "saxpy".into(),
                callers: Vec::new(),
                cuda: vec![CudaPlace { file: "/gone/a.cu".into(), line: 2, column: 5, function: None }],
            }),
            other_place: None,
            threads: (232..256).map(|x| ThreadId { block, thread: Dim3::new(x, 0, 0) }).collect(),
            count: 24,
        };
        (module, finding)
    }

    fn render(module: &Module, finding: &Finding, directory: &Path) -> String {
        let text = message(finding, &Sources { module, root: None }).render();
        let text = anstream::adapter::strip_str(&text).to_string();
        text.replace(&format!("{}/", directory.display()), "")
    }

    #[test]
    fn ptx_and_cuda_lines_are_shown() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.cu"), "{\n    y[i] = 1;\n}\n").unwrap();
        let (module, finding) = example(directory.path());
        assert_eq!(
            render(&module, &finding, directory.path()),
            "\
error[out-of-bounds]: write of 4 bytes at 0x1000, 0 bytes past the end of `x`
 --> a.ptx:2:2
  |
2 |     st.global.f32 [%rd1], %f1;
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
 ::: a.cu:2:5
  |
2 |     y[i] = 1;
  |     -
  |
  = note: block (3, 0, 0), threads (232..=255, 0, 0)
  = note: this happened 24 times
  = note: `x` has 4096 bytes
"
        );
    }

    #[test]
    fn a_missing_cuda_source_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let (module, mut finding) = example(directory.path());
        finding.kernel = Arc::from("other");
        let text = render(&module, &finding, directory.path());
        assert!(text.contains("CUDA source: /gone/a.cu:2"), "{text}");
        assert!(text.contains("in function `saxpy`, in kernel `other`"), "{text}");
    }
}
