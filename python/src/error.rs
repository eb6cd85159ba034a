//! Errors as Python's exceptions, with the text that the command line prints.

use device::OpenError;
use ptx_frontend::render::render;
use ptx_frontend::{Diagnostic, Elsewhere, Source};
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyErr, create_exception};
use warpgrind::{CompareError, ModuleError, RunError};

create_exception!(warpgrind, Error, PyRuntimeError, "What the simulator cannot do, or was asked wrongly.");
create_exception!(
    warpgrind,
    PtxError,
    Error,
    "PTX that is not valid; the text shows each mistake at its place."
);
create_exception!(warpgrind, LaunchError, Error, "A launch that is none: nothing has run.");
create_exception!(
    warpgrind,
    LitmusError,
    Error,
    "A litmus test or a memory model that is not well formed; the text shows each mistake at its place."
);
create_exception!(warpgrind, NoDeviceError, Error, "There is no CUDA device that could do it.");
create_exception!(
    warpgrind,
    RecordingError,
    Error,
    "A file that is no recording, or one of other PTX or other inputs."
);

/// Mistakes at their places, one after the other.
pub(crate) fn rendered<'a>(
    remarks: impl Iterator<Item = (&'a Diagnostic, &'a Source, &'a [Elsewhere])>,
) -> String {
    let texts: Vec<String> =
        remarks.map(|(diagnostic, source, elsewhere)| render(diagnostic, source, elsewhere, false)).collect();
    texts.join("\n")
}

/// The exception of a module that is none.
pub(crate) fn module_error(error: &ModuleError) -> PyErr {
    let mut text = String::new();
    if let ModuleError::Rejected { remarks, .. } = error {
        text += &rendered(remarks.iter().map(|of| (&of.diagnostic, &of.source, &of.elsewhere[..])));
        text.push('\n');
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

/// The exception of two sides that were not compared, or of one that was not recorded.
pub(crate) fn compare_error(error: &CompareError) -> PyErr {
    match error {
        CompareError::Run(error) => run_error(error),
        CompareError::Recording(error) => RecordingError::new_err(error.to_string()),
        CompareError::Device(error) => {
            let help = match error {
                OpenError::LibraryNotFound(_) => {
                    Some(format!("`driver=` or {} names it", device::LIBRARY_VARIABLE))
                }
                OpenError::DropIn(_) => Some("`driver=` names the driver's own library".to_owned()),
                OpenError::DriverTooOld { .. } => Some("update NVIDIA's driver".to_owned()),
                _ => None,
            };
            NoDeviceError::new_err(with_help(error.to_string(), help))
        }
        error => Error::new_err(error.to_string()),
    }
}

fn with_help(text: String, help: Option<String>) -> String {
    help.map_or(text.clone(), |help| format!("{text}\nhelp: {help}"))
}
