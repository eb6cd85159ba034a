//! Plans on a backend: launches, their reports, and what they leave behind.

mod error;
mod outputs;
mod placed;

use std::path::PathBuf;

use indexmap::IndexMap;
use reports::finding::{self, Sources};
use sim_core::{Backend, Finding, LaunchReport, Outcome, RunOptions};

use crate::array::{Array, Comparison};
use crate::module::{Module, join, read_source};
use crate::plan::{Place, Plan};

pub use error::RunError;
pub(crate) use outputs::hex;
pub use outputs::{Contents, During, InputDigest, LaunchEnd, Outputs, outputs};
pub(crate) use placed::packed;
pub use placed::{Placed, Resident, is_memory_variable};

/// What a plan gave.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The launches that ran, in order; all but the last completed.
    pub launches: Vec<LaunchReport>,
    /// Buffers and variables afterwards, by name; after a fault, as it left them.
    pub arrays: IndexMap<String, Array>,
    /// Those of which the plan expects values, if all launches completed.
    pub comparisons: IndexMap<String, Comparison>,
}

impl Report {
    /// Whether everything ran to its end, nothing was found, and all values are as expected.
    pub fn is_clean(&self) -> bool {
        self.launches
            .iter()
            .all(|launch| launch.outcome == Outcome::Completed && launch.dropped_findings == 0)
            && self.findings().next().is_none()
            && self.comparisons.values().all(|comparison| comparison.mismatches == 0)
    }

    /// What was found, launch by launch.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.launches.iter().flat_map(|launch| &launch.findings)
    }

    /// The findings for people: what, where in PTX and CUDA, which threads, what would help. `module` is what ran.
    pub fn text(&self, module: &Module) -> String {
        let sources = Sources { module: module.checked(), root: None };
        self.findings().map(|finding| finding::message(finding, &sources).plain()).collect()
    }
}

impl Plan {
    /// The module of the PTX files that it names.
    ///
    /// # Errors
    /// One cannot be read, or they are not valid.
    pub fn module(&self) -> Result<Module, RunError> {
        let read = |(path, place): &(PathBuf, Place)| {
            read_source(&join(&self.directory, path))
                .map_err(|error| RunError::Module { error: error.into(), place: self.text_place(place) })
        };
        Ok(Module::link(self.modules.iter().map(read).collect::<Result<_, _>>()?)?)
    }

    /// Runs the plan: its launches until one does not complete, then its arrays and expectations.
    ///
    /// # Errors
    /// The plan does not fit the module, its arrays cannot be made, or the backend refuses a launch. What kernels do
    /// wrong is no error: it is in the report.
    pub fn run(
        &self,
        module: &Module,
        options: &RunOptions,
        backend: &dyn Backend,
    ) -> Result<Report, RunError> {
        let placed = Placed::new(self, module, backend)?;
        let mut report = Report::default();
        for at in 0..placed.launches().len() {
            let launched = placed.launch(at, options)?;
            let completed = launched.outcome == Outcome::Completed;
            report.launches.push(launched);
            if !completed {
                break;
            }
        }
        let completed = report.launches.iter().all(|launch| launch.outcome == Outcome::Completed);
        for resident in placed.memory() {
            let array = resident.read()?;
            let comparison = if completed { resident.compare(&array)? } else { None };
            report.comparisons.extend(comparison.map(|comparison| (resident.name().to_owned(), comparison)));
            report.arrays.insert(resident.name().to_owned(), array);
        }
        placed.release()?;
        Ok(report)
    }
}
