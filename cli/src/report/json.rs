//! The JSON documents. `cli/REPORT.md` describes the fields; names are stable.

use ptx_frontend::{Diagnostic, Elsewhere, Module, Severity, Source, SourceId, Span};
use serde::Serialize;
use sim_core::{CodePlace, Finding, LaunchReport, Outcome};

use super::finding::Sources;
use super::threads::{self, ThreadGroup};
use crate::array::Array;
use crate::compare::Comparison;
use crate::exit::Failure;

/// A range of a PTX text; lines and columns start at 1, `offset` and `length` count bytes.
#[derive(Serialize, Debug)]
pub(crate) struct PlaceJson {
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    offset: u32,
    length: u32,
    text: String,
}

impl PlaceJson {
    pub(crate) fn new(source: &Source, span: Span) -> Self {
        let (line, column) = source.line_column(span.start);
        let (end_line, end_column) = source.line_column(span.end);
        Self {
            file: source.name.to_string(),
            line,
            column,
            end_line,
            end_column,
            offset: span.start,
            length: span.end.saturating_sub(span.start),
            text: source.slice(span).to_string(),
        }
    }

    fn of(module: &Module, source: SourceId, span: Span) -> Option<Self> {
        Some(Self::new(module.sources.get(source.0 as usize)?, span))
    }
}

/// A diagnostic of the front end.
#[derive(Serialize, Debug)]
pub(crate) struct DiagnosticJson {
    code: String,
    severity: &'static str,
    message: String,
    place: PlaceJson,
    caption: String,
    labels: Vec<LabelJson>,
    help: Vec<String>,
}

#[derive(Serialize, Debug)]
struct LabelJson {
    place: PlaceJson,
    text: String,
}

impl DiagnosticJson {
    pub(crate) fn new(diagnostic: &Diagnostic, source: &Source, elsewhere: &[Elsewhere]) -> Self {
        let label = |source: &Source, span: Span, text: &str| LabelJson {
            place: PlaceJson::new(source, span),
            text: text.to_string(),
        };
        let here = diagnostic.labels.iter().map(|l| label(source, l.span, &l.text));
        let there = elsewhere.iter().map(|l| label(&l.source, l.span, &l.text));
        Self {
            code: diagnostic.code.to_string(),
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: diagnostic.message.clone(),
            place: PlaceJson::new(source, diagnostic.span),
            caption: diagnostic.caption.clone(),
            labels: here.chain(there).collect(),
            help: diagnostic.help.clone(),
        }
    }
}

/// Why the command ended early.
#[derive(Serialize, Debug)]
pub(crate) struct FailureJson {
    message: String,
    notes: Vec<String>,
    help: Vec<String>,
    place: Option<PlaceJson>,
}

impl From<&Failure> for FailureJson {
    fn from(failure: &Failure) -> Self {
        Self {
            message: failure.message.clone(),
            notes: failure.notes.clone(),
            help: failure.help.clone(),
            place: failure.place.as_ref().map(|place| {
                PlaceJson::new(&place.source, Span::new(place.span.start as u32, place.span.end as u32))
            }),
        }
    }
}

/// The document of `warpgrind run`.
#[derive(Serialize, Default, Debug)]
pub(crate) struct RunReport {
    pub(crate) schema: u32,
    pub(crate) command: &'static str,
    pub(crate) exit_code: u8,
    pub(crate) error: Option<FailureJson>,
    pub(crate) diagnostics: Vec<DiagnosticJson>,
    pub(crate) launches: Vec<LaunchJson>,
    pub(crate) buffers: Vec<BufferJson>,
    pub(crate) comparisons: Vec<ComparisonJson>,
    pub(crate) files: Vec<SavedJson>,
}

/// One launch.
#[derive(Serialize, Debug)]
pub(crate) struct LaunchJson {
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) shared_bytes: u32,
    pub(crate) seed: u64,
    pub(crate) jobs: usize,
    pub(crate) outcome: &'static str,
    pub(crate) findings: Vec<FindingJson>,
    pub(crate) dropped_findings: u64,
    pub(crate) output: String,
    pub(crate) stats: StatsJson,
}

/// The stable name of an outcome.
pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Faulted => "faulted",
        Outcome::Deadlock => "deadlock",
        Outcome::LimitReached => "limit-reached",
        Outcome::Unsupported => "unsupported",
    }
}

/// A finding.
#[derive(Serialize, Debug)]
pub(crate) struct FindingJson {
    kind: &'static str,
    fault: bool,
    message: String,
    notes: Vec<String>,
    help: Vec<String>,
    kernel: String,
    place: Option<CodePlaceJson>,
    other_place: Option<CodePlaceJson>,
    threads: Vec<ThreadGroup>,
    count: u64,
}

#[derive(Serialize, Debug)]
struct CodePlaceJson {
    function: String,
    ptx: Option<PlaceJson>,
    callers: Vec<CallerJson>,
    cuda: Vec<CudaJson>,
}

#[derive(Serialize, Debug)]
struct CallerJson {
    function: String,
    ptx: Option<PlaceJson>,
}

#[derive(Serialize, Debug)]
struct CudaJson {
    file: String,
    line: u32,
    column: u32,
    function: Option<String>,
}

impl CodePlaceJson {
    fn new(place: &CodePlace, module: &Module) -> Self {
        Self {
            function: place.function.to_string(),
            ptx: PlaceJson::of(module, place.source, place.span),
            callers: place
                .callers
                .iter()
                .map(|(function, source, span)| CallerJson {
                    function: function.to_string(),
                    ptx: PlaceJson::of(module, *source, *span),
                })
                .collect(),
            cuda: place
                .cuda
                .iter()
                .map(|cuda| CudaJson {
                    file: cuda.file.to_string(),
                    line: cuda.line,
                    column: cuda.column,
                    function: cuda.function.as_ref().map(|name| name.to_string()),
                })
                .collect(),
        }
    }
}

impl FindingJson {
    pub(crate) fn new(finding: &Finding, sources: &Sources<'_>) -> Self {
        let place = |place: &Option<CodePlace>| place.as_ref().map(|p| CodePlaceJson::new(p, sources.module));
        Self {
            kind: finding.kind.name(),
            fault: finding.kind.is_fault(),
            message: finding.message.clone(),
            notes: finding.notes.clone(),
            help: finding.help.clone(),
            kernel: finding.kernel.to_string(),
            place: place(&finding.place),
            other_place: place(&finding.other_place),
            threads: threads::group(&finding.threads),
            count: finding.count,
        }
    }
}

/// What a launch did; sizes in bytes, time in seconds.
#[derive(Serialize, Debug)]
pub(crate) struct StatsJson {
    blocks: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    branches: u64,
    divergent_branches: u64,
    barriers: u64,
    time: f64,
    memory: Option<MemoryJson>,
}

#[derive(Serialize, Debug)]
struct MemoryJson {
    global_read: u64,
    global_written: u64,
    global_sectors: u64,
    shared_read: u64,
    shared_written: u64,
    local_read: u64,
    local_written: u64,
    atomics: u64,
}

impl StatsJson {
    /// `counted` says whether memory traffic was counted.
    pub(crate) fn new(report: &LaunchReport, counted: bool) -> Self {
        let stats = &report.stats;
        let memory = &stats.memory;
        Self {
            blocks: stats.blocks,
            warp_instructions: stats.warp_instructions,
            thread_instructions: stats.thread_instructions,
            branches: stats.branches,
            divergent_branches: stats.divergent_branches,
            barriers: stats.barriers,
            time: stats.time.as_secs_f64(),
            memory: counted.then_some(MemoryJson {
                global_read: memory.global_read,
                global_written: memory.global_written,
                global_sectors: memory.global_sectors,
                shared_read: memory.shared_read,
                shared_written: memory.shared_written,
                local_read: memory.local_read,
                local_written: memory.local_written,
                atomics: memory.atomics,
            }),
        }
    }
}

/// Printed elements of a buffer. Values are JSON numbers where those are exact, else strings
/// (NaN, infinities, integers beyond 2^53).
#[derive(Serialize, Debug)]
pub(crate) struct BufferJson {
    name: String,
    #[serde(rename = "type")]
    element: &'static str,
    shape: Vec<u64>,
    values: Vec<serde_json::Value>,
}

impl BufferJson {
    pub(crate) fn new(name: &str, array: &Array, count: usize) -> Self {
        Self {
            name: name.to_string(),
            element: array.element.name(),
            shape: array.shape.clone(),
            values: (0..count.min(array.len())).map(|at| value(array, at)).collect(),
        }
    }
}

fn value(array: &Array, at: usize) -> serde_json::Value {
    let text = array.show(at);
    let exact = array.element.to_f64(array.bits(at)).abs() <= 2f64.powi(53) || array.element.is_float();
    match serde_json::from_str(&text) {
        Ok(value @ serde_json::Value::Number(_)) if exact => value,
        _ => serde_json::Value::String(text),
    }
}

/// A buffer against its expected values.
#[derive(Serialize, Debug)]
pub(crate) struct ComparisonJson {
    name: String,
    #[serde(rename = "type")]
    element: &'static str,
    elements: usize,
    mismatches: usize,
    largest_ulp: Option<u64>,
    first: Option<MismatchJson>,
}

#[derive(Serialize, Debug)]
struct MismatchJson {
    index: usize,
    position: Vec<u64>,
    got: String,
    expected: String,
    got_bits: String,
    expected_bits: String,
    ulp: Option<u64>,
}

impl ComparisonJson {
    pub(crate) fn new(name: &str, got: &Array, comparison: &Comparison) -> Self {
        let element = got.element;
        // The largest value stands for "a NaN against a number", which no count describes.
        let ulp = |distance: u64| (distance != u64::MAX).then_some(distance);
        Self {
            name: name.to_string(),
            element: element.name(),
            elements: comparison.elements,
            mismatches: comparison.mismatches,
            largest_ulp: ulp(comparison.largest.0),
            first: comparison.first.map(|first| MismatchJson {
                index: first.index,
                position: got.position(first.index),
                got: element.show(first.got),
                expected: element.show(first.expected),
                got_bits: element.hex(first.got),
                expected_bits: element.hex(first.expected),
                ulp: ulp(first.distance),
            }),
        }
    }
}

/// A buffer that was written to a file.
#[derive(Serialize, Debug)]
pub(crate) struct SavedJson {
    pub(crate) name: String,
    pub(crate) path: String,
}

/// The document of `warpgrind check`.
#[derive(Serialize, Debug)]
pub(crate) struct CheckReport {
    pub(crate) schema: u32,
    pub(crate) command: &'static str,
    pub(crate) exit_code: u8,
    pub(crate) files: Vec<FileJson>,
}

/// One file of `warpgrind check`.
#[derive(Serialize, Debug)]
pub(crate) struct FileJson {
    pub(crate) file: String,
    pub(crate) exit_code: u8,
    pub(crate) error: Option<FailureJson>,
    pub(crate) version: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) diagnostics: Vec<DiagnosticJson>,
    pub(crate) kernels: Vec<KernelJson>,
    pub(crate) unsupported: Vec<UnsupportedJson>,
}

/// A kernel of a file.
#[derive(Serialize, Debug)]
pub(crate) struct KernelJson {
    pub(crate) name: String,
    pub(crate) demangled: Option<String>,
    pub(crate) parameters: Vec<ParameterJson>,
    pub(crate) registers: u32,
    pub(crate) shared_bytes: u64,
    pub(crate) local_bytes: u64,
}

/// A parameter of a kernel; offset, size and alignment in bytes.
#[derive(Serialize, Debug)]
pub(crate) struct ParameterJson {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) ty: String,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) align: u64,
}

/// An unsupported feature and the lines it is used on.
#[derive(Serialize, Debug)]
pub(crate) struct UnsupportedJson {
    pub(crate) what: String,
    pub(crate) count: usize,
    pub(crate) lines: Vec<u32>,
}
