//! Litmus tests from files and folders.

use std::path::{Path, PathBuf};

use memory_model::Litmus;
use ptx_frontend::{Diagnostic, Source};
use walkdir::WalkDir;
use warpgrind::litmus::kernel;
use warpgrind::litmus::source::{Form, tests};

use crate::exit::{Exit, Failure};
use crate::modules::read_source;
use crate::report::Console;

/// Extensions of the files that are taken from folders.
const EXTENSIONS: [&str; 3] = ["litmus", "test", "progress"];

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
                .help("files that end in .litmus, .test or .progress, and .ptx files with a `//@ litmus` line, are taken from folders");
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
    match tests(source, Form::of(Path::new(&found.name))) {
        Ok(tests) => Loaded::Tests(tests),
        Err(wrong) => Loaded::Malformed(wrong.source, wrong.diagnostics),
    }
}

/// All tests of the command line; `None` once the mistakes in one are said.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn all(paths: &[PathBuf], console: &Console) -> Result<Option<Vec<Litmus>>, Failure> {
    let mut tests = Vec::new();
    for found in find(paths) {
        match load(&found) {
            Loaded::Tests(read) => tests.extend(read),
            Loaded::Failed(failure) => return Err(failure),
            Loaded::Malformed(source, diagnostics) => {
                diagnostics.iter().for_each(|diagnostic| console.diagnostic(diagnostic, &source, &[]));
                return Ok(None);
            }
        }
    }
    Ok(Some(tests))
}
