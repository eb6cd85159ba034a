//! Litmus tests and memory models from texts, whatever they are written in.

use std::path::Path;

use memory_model::cat::{self, CatModel, ModelError};
use memory_model::litmus as text;
use memory_model::mapping::Mapping;
use memory_model::{Litmus, parse, parse_nvlitmus, parse_progress};
use ptx_frontend::{Code, Diagnostic, Source, Span};

use super::kernel;

/// What litmus tests are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The format of herd7.
    Litmus,
    /// NVIDIA's, several tests in a file.
    Nvlitmus,
    /// Progress tests, a line each.
    Progress,
    /// A kernel with a `//@ litmus` header.
    Ptx,
}

impl Form {
    /// What a file of this name holds.
    pub fn of(path: &Path) -> Self {
        match path.extension() {
            Some(extension) if extension == "ptx" => Self::Ptx,
            Some(extension) if extension == "test" => Self::Nvlitmus,
            Some(extension) if extension == "progress" => Self::Progress,
            _ => Self::Litmus,
        }
    }
}

/// A text that is not well formed.
#[derive(Debug)]
pub struct Malformed {
    /// The text.
    pub source: Source,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// The tests of a text.
///
/// # Errors
/// It is not well formed.
pub fn tests(source: Source, form: Form) -> Result<Vec<Litmus>, Box<Malformed>> {
    let parsed = match form {
        Form::Ptx => return of_kernel(source),
        Form::Nvlitmus => parse_nvlitmus(&source.text),
        Form::Progress => parse_progress(&source.text),
        Form::Litmus => parse(&source.text).map(|test| vec![test]),
    };
    parsed.map_err(|errors| {
        let diagnostics = errors.into_iter().map(diagnostic).collect();
        Box::new(Malformed { source, diagnostics })
    })
}

fn of_kernel(source: Source) -> Result<Vec<Litmus>, Box<Malformed>> {
    let malformed = |source, diagnostics| Err(Box::new(Malformed { source, diagnostics }));
    if !kernel::is_test(&source.text) {
        let code = Code(text::Code::Header.as_str());
        let wrong = Diagnostic::error(code, Span::new(0, 1), "this PTX has no header of a litmus test")
            .help("a line `//@ litmus NAME` and others, as the guide to litmus tests says");
        return malformed(source, vec![wrong]);
    }
    let parsed = ptx_frontend::parse(source);
    let Some(module) = parsed.module else {
        return malformed(parsed.source, parsed.diagnostics);
    };
    match kernel::translate(&parsed.source, &module) {
        Ok(test) => Ok(vec![test]),
        Err(errors) => malformed(parsed.source, errors),
    }
}

/// The model of a file in the cat language; files that it includes are beside it, and read with `read`.
///
/// # Errors
/// It is not well formed, or one that it includes cannot be read.
pub fn model(
    path: &Path,
    source: &Source,
    read: impl Fn(&Path) -> Result<Source, String>,
) -> Result<CatModel, Box<Malformed>> {
    let included = |name: &str, from: &str| {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        Ok((path.display().to_string(), read(&path)?.text.to_string()))
    };
    cat::load(&path.display().to_string(), &source.text, &included).map_err(|error| {
        let ModelError { file, text, diagnostic: wrong } = *error;
        let source = Source::new(file.as_str(), text.as_bytes().to_vec());
        Box::new(Malformed { source, diagnostics: vec![diagnostic(wrong)] })
    })
}

/// The table of a file.
///
/// # Errors
/// Every mistake in it, with its place.
pub fn mapping(source: &Source) -> Result<Mapping, Vec<Diagnostic>> {
    Mapping::parse(&source.text).map_err(|wrong| wrong.into_iter().map(diagnostic).collect())
}

/// A mistake in a litmus test as the front end words its own.
fn diagnostic(wrong: text::Diagnostic) -> Diagnostic {
    let span = Span::new(wrong.span.start, wrong.span.end);
    let out = Diagnostic::error(Code(wrong.code.as_str()), span, wrong.message);
    match wrong.help {
        Some(help) => out.help(help),
        None => out,
    }
}
