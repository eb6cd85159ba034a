//! Places as JSON: ranges of PTX texts, and what of the CUDA source they come from.

use ptx_frontend::{Module, Source, SourceId, Span};
use serde::Serialize;
use sim_core::CodePlace;

/// A range of a PTX text; lines and columns start at 1, `offset` and `length` count bytes.
#[derive(Serialize, Debug)]
pub struct PlaceJson {
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
    /// The range with its lines.
    pub fn new(source: &Source, span: Span) -> Self {
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

/// A place in the program.
#[derive(Serialize, Debug)]
pub(crate) struct CodePlaceJson {
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
    pub(crate) fn new(place: &CodePlace, module: &Module) -> Self {
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
