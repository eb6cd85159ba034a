//! Exit codes, and the error that ends a command.

use warpgrind::compare::recording::RecordingError;
use warpgrind::names::closest;
use warpgrind::plan::TextPlace;
use warpgrind::{CompareError, FileError, ModuleError, PlanError, RunError};

pub(crate) use warpgrind::names::quoted_list;

/// How the process ends; the numbers are part of the interface.
///
/// A panic, which is an internal error, ends with Rust's own code 101.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything ran and nothing was found.
    Clean = 0,
    /// Findings that let the kernel finish, values that differ from the expected ones, a failed
    /// `assert` in the kernel, or an assertion of a litmus test that does not hold.
    Findings = 1,
    /// The command line, a launch file or an input file is wrong.
    Usage = 2,
    /// The PTX is not valid.
    Rejected = 3,
    /// Something was needed that is not supported.
    Unsupported = 4,
    /// The kernel did not run to its end: a fault, a trap, a deadlock or a limit.
    Faulted = 5,
    /// A device was asked for and there is none, or none that can do it.
    NoDevice = 6,
    /// SIGINT, which is Ctrl-C, ended it: 128 and the number of the signal, as shells have it.
    Interrupted = 130,
    /// SIGTERM ended it.
    Terminated = 143,
}

impl Exit {
    /// All codes with a line of explanation, for `--help` and the man page.
    pub(crate) const ALL: &'static [(Exit, &'static str)] = &[
        (Exit::Clean, "everything ran and nothing was found"),
        (Exit::Findings, "findings, values that differ from the expected ones, or a failed assert"),
        (Exit::Usage, "wrong command line, launch file or input file"),
        (Exit::Rejected, "the PTX is not valid"),
        (Exit::Unsupported, "something needed is not supported"),
        (Exit::Faulted, "the kernel did not finish: a fault, a trap, a deadlock or a limit"),
        (Exit::NoDevice, "a device was asked for and there is none that can do it"),
        (Exit::Interrupted, "Ctrl-C ended it; 143 for SIGTERM"),
    ];

    /// The number.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }
}

/// Why a command ended without doing all of its work.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The exit code it leads to.
    pub(crate) exit: Exit,
    /// One sentence without a full stop.
    pub(crate) message: String,
    /// What is known about it.
    pub(crate) notes: Vec<String>,
    /// What would be accepted instead.
    pub(crate) help: Vec<String>,
    /// Where, if it is about a launch file.
    pub(crate) place: Option<Box<TextPlace>>,
}

impl Failure {
    /// A failure with this exit code.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), notes: Vec::new(), help: Vec::new(), place: None }
    }

    /// Something that the user asked for in a wrong way.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Adds what is known.
    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds what would be accepted.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Adds a "did you mean" if one of `candidates` is close to `wrong`.
    pub(crate) fn suggest<'a>(self, wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        match closest(wrong, candidates) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Says which part of a launch file it is about.
    pub(crate) fn at(mut self, place: Option<Box<TextPlace>>) -> Self {
        self.place = self.place.or(place);
        self
    }

    /// Puts the words of what was being done before the message.
    pub(crate) fn context(mut self, what: impl std::fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::usage(message)
    }
}

impl From<tools::Clash> for Failure {
    fn from(clash: tools::Clash) -> Self {
        Failure::usage(clash.message).help(clash.help)
    }
}

impl From<sim_core::Error> for Failure {
    fn from(error: sim_core::Error) -> Self {
        let exit = match &error {
            sim_core::Error::Unsupported(_) | sim_core::Error::UndefinedSymbol(_) => Exit::Unsupported,
            sim_core::Error::ModuleRefused(_) => Exit::Rejected,
            sim_core::Error::DriverTooOld { .. }
            | sim_core::Error::MissingCapability(_)
            | sim_core::Error::Lost(_) => Exit::NoDevice,
            _ => Exit::Usage,
        };
        Failure::new(exit, error.to_string())
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::usage(error.to_string())
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let PlanError { message, notes, help, place } = error;
        Failure { notes, help, place, ..Failure::usage(message) }
    }
}

impl From<ModuleError> for Failure {
    fn from(error: ModuleError) -> Self {
        let failure = match &error {
            ModuleError::Rejected { .. } => Failure::new(Exit::Rejected, error.to_string())
                .help("`warpgrind explain CODE` says more about a code"),
            ModuleError::SeveralKernels { .. } => Failure::usage(format!("{error} with `--entry`")),
            _ => Failure::usage(error.to_string()),
        };
        error.help().into_iter().fold(failure, Failure::help)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let message = error.to_string();
        match error {
            RunError::Plan(error) => error.into(),
            RunError::Module { error, place } => Failure::from(error).at(place),
            RunError::Backend { error, place, .. } => Failure { message, ..Failure::from(error) }.at(place),
            RunError::Unsupported { .. } => Failure::new(Exit::Unsupported, message),
            _ => Failure::new(Exit::Faulted, message),
        }
    }
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        let failure = Failure::usage(error.to_string());
        match error {
            RecordingError::Version(_) => {
                failure.help("record it again, or use the program that recorded it")
            }
            RecordingError::Truncated | RecordingError::Damaged(_) => {
                failure.help("record it again, or fetch it anew")
            }
            RecordingError::OfOther { detail, .. } => {
                failure.note(detail).help("record it again on a device: `warpgrind record`")
            }
            RecordingError::Level { held, .. } => {
                failure.help(format!("`--device-opt {held}` is what it holds"))
            }
            _ => failure,
        }
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Run(error) => error.into(),
            CompareError::Device(error) => error.into(),
            CompareError::Recording(error) => error.into(),
            other => Failure::usage(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_documented_ones() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|(exit, _)| exit.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 130]);
    }
}
