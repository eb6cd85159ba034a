//! The memory model that the command line names: built in, or in a file.

use std::sync::Arc;

use memory_model::cat::CatModel;
use memory_model::model::ModelName;

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
    match warpgrind::litmus::source::model(path, &source, |path| {
        read_source(path).map_err(|failure| failure.message)
    }) {
        Ok(model) => Ok(Ok((ModelName::default(), Some(Arc::new(model))))),
        Err(wrong) => {
            wrong.diagnostics.iter().for_each(|of| console.diagnostic(of, &wrong.source, &[]));
            Ok(Err(Exit::Rejected))
        }
    }
}
