//! Errors as Python's exceptions, with the text that the command line prints.

use ptx_frontend::render::render;
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyErr, create_exception};
use warpgrind::{ModuleError, RunError};

create_exception!(warpgrind, Error, PyRuntimeError, "What the simulator cannot do, or was asked wrongly.");
create_exception!(
    warpgrind,
    PtxError,
    Error,
    "PTX that is not valid; the text shows each mistake at its place."
);
create_exception!(warpgrind, LaunchError, Error, "A launch that is none: nothing has run.");

/// The exception of a module that is none.
pub(crate) fn module_error(error: &ModuleError) -> PyErr {
    let mut text = String::new();
    if let ModuleError::Rejected { remarks, .. } = error {
        for remark in remarks {
            text += &render(&remark.diagnostic, &remark.source, &remark.elsewhere, false);
            text.push('\n');
        }
    }
    PtxError::new_err(with_help(text + &error.to_string(), error.help()))
}

/// The exception of a launch that did not begin.
pub(crate) fn run_error(error: &RunError) -> PyErr {
    let help = match error {
        RunError::Module { error, .. } => error.help(),
        RunError::Plan(error) => {
            let notes = error.notes.iter().map(|note| format!("note: {note}"));
            let help = error.help.iter().map(|help| format!("help: {help}"));
            let lines: Vec<String> = notes.chain(help).collect();
            return LaunchError::new_err(
                std::iter::once(error.to_string()).chain(lines).collect::<Vec<_>>().join("\n"),
            );
        }
        _ => None,
    };
    LaunchError::new_err(with_help(error.to_string(), help))
}

fn with_help(text: String, help: Option<String>) -> String {
    help.map_or(text.clone(), |help| format!("{text}\nhelp: {help}"))
}
