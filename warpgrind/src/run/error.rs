//! Why a plan did not run.

use std::ops::Range;

use ptx_frontend::Source;
use thiserror::Error;

use crate::module::ModuleError;
use crate::plan::{PlanError, TextPlace, locate};

/// Why a plan did not run, or did not run to its end. What a kernel does wrong is no error: its report says it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The plan does not fit the module, or its arrays cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no such kernel.
    #[error("{error}")]
    Module {
        /// Why.
        error: ModuleError,
        /// Where the launch file says it.
        place: Option<Box<TextPlace>>,
    },
    /// The backend refused.
    #[error("{doing}{error}")]
    Backend {
        /// What was being done, with a colon and a blank behind it, or nothing.
        doing: String,
        /// Why.
        error: sim_core::Error,
        /// Where the launch file says it.
        place: Option<Box<TextPlace>>,
    },
    /// A kernel needs what is not supported.
    #[error("kernel `{kernel}`: {what}")]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// What.
        what: String,
    },
    /// A backend ended a kernel and does not say why.
    #[error("kernel `{kernel}` stopped without a reason")]
    NoReason {
        /// The kernel.
        kernel: String,
    },
}

impl From<ModuleError> for RunError {
    fn from(error: ModuleError) -> Self {
        Self::Module { error, place: None }
    }
}

impl From<sim_core::Error> for RunError {
    fn from(error: sim_core::Error) -> Self {
        Self::Backend { doing: String::new(), error, place: None }
    }
}

impl RunError {
    /// Says which part of a launch file it is about, unless that is known already.
    pub(crate) fn at(mut self, source: Option<&Source>, span: &Option<Range<usize>>) -> Self {
        match &mut self {
            Self::Plan(PlanError { place, .. })
            | Self::Module { place, .. }
            | Self::Backend { place, .. } => {
                locate(place, source, span);
            }
            Self::Unsupported { .. } | Self::NoReason { .. } => {}
        }
        self
    }

    /// Puts the words of what was being done before the message.
    pub(crate) fn context(self, what: impl std::fmt::Display) -> Self {
        match self {
            Self::Plan(error) => Self::Plan(error.context(what)),
            Self::Backend { doing, error, place } => {
                Self::Backend { doing: format!("{what}: {doing}"), error, place }
            }
            other => other,
        }
    }
}
