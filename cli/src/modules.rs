//! PTX texts as the command line names them: files, and `-` for standard input.

use std::io::Read;
use std::path::Path;

use ptx_frontend::{Diagnostic, Elsewhere, Source};
use warpgrind::files::MAX_TEXT;
use warpgrind::module::Remark;
use warpgrind::{Module, ModuleError};

use crate::exit::Failure;

/// Reads a PTX text; `-` is standard input.
pub(crate) fn read_source(path: &Path) -> Result<Source, Failure> {
    if path.as_os_str() != "-" {
        return Ok(warpgrind::module::read_source(path)?);
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_TEXT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(Failure::usage(format!("standard input has more than {MAX_TEXT} bytes, or no end")));
    }
    Ok(Source::new("<stdin>", bytes))
}

/// Parses and links PTX texts; `report` is told what there is to say about them.
pub(crate) fn load(
    sources: Vec<Source>,
    report: &mut dyn FnMut(&Diagnostic, &Source, &[Elsewhere]),
) -> Result<Module, Failure> {
    let linked = Module::link(sources);
    let remarks: &[Remark] = match &linked {
        Ok(module) => module.warnings(),
        Err(ModuleError::Rejected { remarks, .. }) => remarks,
        Err(_) => &[],
    };
    for remark in remarks {
        report(&remark.diagnostic, &remark.source, &remark.elsewhere);
    }
    Ok(linked?)
}
