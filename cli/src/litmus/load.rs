//! Litmus tests from files and folders.

use std::path::{Path, PathBuf};

use memory_model::litmus as text;
use memory_model::{Litmus, parse, parse_nvlitmus};
use ptx_frontend::{Code, Diagnostic, Source, Span};
use walkdir::WalkDir;
use warpgrind::litmus::kernel;

use crate::exit::{Exit, Failure};
use crate::modules::read_source;

/// Extensions of the files that are taken from folders.
const EXTENSIONS: [&str; 2] = ["litmus", "test"];

/// A file to be read, or a folder in which nothing was found.
pub(crate) struct Found {
    /// The name that the user gave, or the folder's with what is below it.
    pub(crate) name: String,
    path: Result<PathBuf, Failure>,
}

/// What a file holds.
pub(crate) enum Loaded {
    /// At least one test.
    Tests(Vec<Litmus>),
    /// It could not be read.
    Failed(Failure),
    /// It is not well formed.
    Malformed(Source, Vec<Diagnostic>),
}

impl Loaded {
    /// The exit code it leads to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Loaded::Tests(_) => Exit::Clean,
            Loaded::Failed(failure) => failure.exit,
            Loaded::Malformed(..) => Exit::Rejected,
        }
    }
}

/// The files of the command line, with folders replaced by the tests below them, in order of their names.
pub(crate) fn find(paths: &[PathBuf]) -> Vec<Found> {
    let mut out = Vec::new();
    for path in paths {
        if !path.is_dir() {
            out.push(Found { name: path.display().to_string(), path: Ok(path.clone()) });
            continue;
        }
        let before = out.len();
        for entry in WalkDir::new(path).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_file() && is_test(entry.path()) => {
                    out.push(Found { name: entry.path().display().to_string(), path: Ok(entry.into_path()) })
                }
                Ok(_) => {}
                Err(error) => {
                    let failure = Failure::usage(format!("cannot read a folder: {error}"));
                    out.push(Found { name: path.display().to_string(), path: Err(failure) });
                }
            }
        }
        if out.len() == before {
            let failure = Failure::usage(format!("there is no litmus test in {}", path.display()))
                .help("files that end in .litmus or .test, and .ptx files with a `//@ litmus` line, are taken from folders");
            out.push(Found { name: path.display().to_string(), path: Err(failure) });
        }
    }
    out
}

fn is_test(path: &Path) -> bool {
    let Some(extension) = path.extension() else { return false };
    // Of PTX files only those that say so.
    EXTENSIONS.iter().any(|known| extension == *known)
        || extension == "ptx" && std::fs::read_to_string(path).is_ok_and(|text| kernel::is_test(&text))
}

/// Reads and parses a file.
pub(crate) fn load(found: &Found) -> Loaded {
    let source = match found.path.clone().and_then(|path| read_source(&path)) {
        Ok(source) => source,
        Err(failure) => return Loaded::Failed(failure),
    };
    if Path::new(&found.name).extension().is_some_and(|e| e == "ptx") {
        return load_kernel(source);
    }
    let nvlitmus = Path::new(&found.name).extension().is_some_and(|e| e == "test");
    let parsed =
        if nvlitmus { parse_nvlitmus(&source.text) } else { parse(&source.text).map(|test| vec![test]) };
    match parsed {
        Ok(tests) => Loaded::Tests(tests),
        Err(errors) => {
            let errors = errors.into_iter().map(diagnostic).collect();
            Loaded::Malformed(source, errors)
        }
    }
}

/// A kernel with the header of a litmus test.
fn load_kernel(source: Source) -> Loaded {
    if !kernel::is_test(&source.text) {
        let code = Code(text::Code::Header.as_str());
        let wrong = Diagnostic::error(code, Span::new(0, 1), "this PTX has no header of a litmus test")
            .help("a line `//@ litmus NAME` and others, as the guide to litmus tests says");
        return Loaded::Malformed(source, vec![wrong]);
    }
    let parsed = ptx_frontend::parse(source);
    let Some(module) = parsed.module else {
        return Loaded::Malformed(parsed.source, parsed.diagnostics);
    };
    match kernel::translate(&parsed.source, &module) {
        Ok(test) => Loaded::Tests(vec![test]),
        Err(errors) => Loaded::Malformed(parsed.source, errors),
    }
}

/// A mistake in a litmus test as the front end words its own.
pub(super) fn diagnostic(wrong: text::Diagnostic) -> Diagnostic {
    let span = Span::new(wrong.span.start, wrong.span.end);
    let out = Diagnostic::error(Code(wrong.code.as_str()), span, wrong.message);
    match wrong.help {
        Some(help) => out.help(help),
        None => out,
    }
}
