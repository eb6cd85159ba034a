//! Why something that was asked for cannot be had.

use thiserror::Error;

/// Why something that was asked for cannot be had. The launch stands where it stood.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An expression is wrong: why, and where in it, in bytes.
    #[error("{message}")]
    Expression {
        /// One sentence without a full stop.
        message: String,
        /// Where.
        at: usize,
    },
    /// There is no such name here.
    #[error("no symbol \"{0}\" in the current context")]
    NoSymbol(String),
    /// A value cannot be had: `<optimized out>` and the like.
    #[error("{0}")]
    NoValue(String),
    /// Memory that is not there.
    #[error("cannot access memory at address {0:#x}")]
    NoMemory(u64),
    /// No code is there.
    #[error("{0}")]
    NoCode(String),
    /// The thread in focus is not there (any more).
    #[error("{0}")]
    NoThread(String),
    /// Something else does not go.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Error::Refused(text.into())
    }
}

/// What was asked for, or why it cannot be had.
pub type Result<T, E = Error> = std::result::Result<T, E>;
