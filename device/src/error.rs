//! Errors of opening a device, and of single calls of the driver.

use std::borrow::Cow;
use std::path::PathBuf;

use cuda_abi::Status;
use serde::{Deserialize, Serialize};

use crate::properties::DriverVersion;

/// A call of the driver that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{function} failed: {name} ({}): {text}", code.0)]
pub struct CallError {
    /// The function of the driver.
    pub function: Cow<'static, str>,
    /// The code it returned.
    pub code: Status,
    /// The driver's name of the code.
    pub name: String,
    /// The driver's description of the code.
    pub text: String,
}

/// Why there is no device to work with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OpenError {
    /// No driver library could be opened.
    #[error("the CUDA driver was not found: {}", tried(.0))]
    LibraryNotFound(Vec<(PathBuf, String)>),
    /// The library is Warpgrind's own replacement of the driver.
    #[error("{} is Warpgrind's own stand-in for the CUDA driver, not the driver of a device", .0.display())]
    DropIn(PathBuf),
    /// The library is something else.
    #[error("{} is no CUDA driver: it has no cuInit", .0.display())]
    NoDriver(PathBuf),
    /// The library lacks a function, because it is older than CUDA 12.0 or no CUDA driver.
    #[error("the CUDA driver {path} is too old: it lacks {function}, which CUDA 12.0 brought", path = .path.display())]
    DriverTooOld {
        /// The library.
        path: PathBuf,
        /// What it lacks.
        function: Cow<'static, str>,
    },
    /// The driver sees no device.
    #[error("the CUDA driver {driver} found no device{}", if *.stub { " (it is the stub that programs are linked with)" } else { "" }, driver = .path.display())]
    NoDevice {
        /// The library.
        path: PathBuf,
        /// The library is the stub for linking.
        stub: bool,
    },
    /// There are devices, but not that many.
    #[error("there is no device {index}: the driver found {count}, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
    /// The process that was to use the device did not start.
    #[error("the process for the device {0}")]
    Process(String),
    /// Some other failure.
    #[error("{error} (driver {})", version.map_or("of unknown version".to_string(), |v| v.to_string()))]
    Call {
        /// The call.
        error: CallError,
        /// The driver's version, if it says.
        version: Option<DriverVersion>,
    },
}

fn tried(list: &[(PathBuf, String)]) -> String {
    let [.., (_, last)] = list else { return "no place is known for it on this system".into() };
    let mut text = String::new();
    for (at, (path, why)) in list.iter().enumerate() {
        text.push_str(&path.display().to_string());
        // Equal reasons that follow each other are given once.
        match list.get(at + 1) {
            Some((_, next)) if next == why => text.push_str(", "),
            Some(_) => text.push_str(&format!(" ({why}), ")),
            None => text.push_str(&format!(" ({last})")),
        }
    }
    text
}
