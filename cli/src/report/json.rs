//! The JSON documents. `cli/REPORT.md` describes the fields; names are stable.

use ptx_frontend::{Diagnostic, Elsewhere, Severity, Source, Span};
use reports::triage::{Issue, Status, Verdict};
use reports::{LaunchJson, PlaceJson};
use serde::Serialize;
use warpgrind::array::{Array, Comparison};
use warpgrind::plan::TextPlace;

use crate::exit::Failure;
use crate::triage::TriageJson;

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
    #[serde(flatten)]
    issue: Option<IssueJson>,
}

/// What something found is known by, and whether it is expected.
#[derive(Serialize, Debug)]
pub(crate) struct IssueJson {
    fingerprint: String,
    status: Status,
    reason: Option<String>,
}

impl IssueJson {
    /// Something that was judged.
    pub(crate) fn new(issue: &Issue, verdict: &Verdict) -> Self {
        let (fingerprint, reason) = (issue.fingerprint.clone(), verdict.reason.clone());
        Self { fingerprint, status: verdict.status, reason }
    }
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
            issue: None,
        }
    }

    /// With whether it is expected.
    pub(crate) fn judged(self, issue: IssueJson) -> Self {
        Self { issue: Some(issue), ..self }
    }
}

/// The document of a command that ended before it had anything else to say.
#[derive(Serialize, Debug)]
pub(crate) struct FailureReport {
    schema: u32,
    /// Null if the command line is wrong and names none.
    command: Option<String>,
    exit_code: u8,
    error: FailureJson,
}

impl FailureReport {
    pub(crate) fn new(command: Option<String>, failure: &Failure) -> Self {
        let (exit_code, error) = (failure.exit.code(), FailureJson::from(failure));
        Self { schema: super::SCHEMA, command, exit_code, error }
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
            place: failure.place.as_deref().map(text_place),
        }
    }
}

fn text_place(place: &TextPlace) -> PlaceJson {
    PlaceJson::new(&place.source, Span::new(place.span.start as u32, place.span.end as u32))
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) triage: Option<TriageJson>,
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
    /// Where the launch file says what is expected.
    place: Option<PlaceJson>,
    #[serde(flatten)]
    issue: Option<IssueJson>,
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
    pub(crate) fn new(
        name: &str,
        got: &Array,
        comparison: &Comparison,
        place: Option<&TextPlace>,
        issue: Option<IssueJson>,
    ) -> Self {
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
            place: place.map(text_place),
            issue,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) triage: Option<TriageJson>,
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
    pub(crate) rewrites: Vec<RewriteJson>,
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

/// An instruction of which NVIDIA's compiler makes something else than the manual says.
#[derive(Serialize, Debug)]
pub(crate) struct RewriteJson {
    pub(crate) instruction: String,
    pub(crate) what: &'static str,
    pub(crate) help: &'static str,
    pub(crate) lines: Vec<u32>,
}

/// An unsupported feature and the lines it is used on.
#[derive(Serialize, Debug)]
pub(crate) struct UnsupportedJson {
    pub(crate) what: String,
    pub(crate) count: usize,
    pub(crate) lines: Vec<u32>,
    #[serde(flatten)]
    pub(crate) issue: IssueJson,
}
