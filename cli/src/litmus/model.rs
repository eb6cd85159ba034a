//! The memory model that the command line names: built in, or in a file.

use std::path::Path;
use std::sync::Arc;

use memory_model::cat::{self, CatModel, ModelError};
use memory_model::model::ModelName;
use ptx_frontend::Source;

use super::load::diagnostic;
use crate::args::ModelChoice;
use crate::exit::{Exit, Failure};
use crate::modules::read_source;
use crate::report::Console;

/// A model to ask: the built-in one, and the one of a file instead.
type Chosen = (ModelName, Option<Arc<CatModel>>);

/// Reads the model, and shows what is wrong with it; the exit code is then that of malformed input.
pub(super) fn choose(choice: &ModelChoice, console: &Console) -> Result<Result<Chosen, Exit>, Failure> {
    let path = match choice {
        ModelChoice::BuiltIn(name) => return Ok(Ok((*name, None))),
        ModelChoice::File(path) => path,
    };
    let source = read_source(path)?;
    match cat::load(&path.display().to_string(), &source.text, &included) {
        Ok(model) => Ok(Ok((ModelName::default(), Some(Arc::new(model))))),
        Err(error) => {
            let ModelError { file, text, diagnostic: wrong } = *error;
            console.diagnostic(
                &diagnostic(wrong),
                &Source::new(file.as_str(), text.as_bytes().to_vec()),
                &[],
            );
            Ok(Err(Exit::Rejected))
        }
    }
}

/// Reads an included file: beside the one that includes it.
fn included(name: &str, from: &str) -> Result<(String, String), String> {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    let path = folder.join(name);
    let source = read_source(&path).map_err(|failure| failure.message)?;
    Ok((path.display().to_string(), source.text.to_string()))
}
