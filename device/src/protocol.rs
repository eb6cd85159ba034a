//! What [`crate::DeviceProcess`] and the process that it starts say to each other.
//!
//! A message is its length in eight bytes, little end first, and its content in the format of `postcard`. Both ends
//! are the same program, so there are no versions.

use std::io::{Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sim_core::{Dim3, Error, Launch, LaunchError};

use crate::error::OpenError;
use crate::fault::Ended;
use crate::jit::Image;
use crate::options::Options;
use crate::properties::{DriverVersion, Properties};

/// What is asked for. The first request is [`Request::Open`].
#[derive(Serialize, Deserialize)]
pub(crate) enum Request {
    Open(Options),
    Load(Image),
    Unload(u32),
    Variable(u32, String),
    Alloc(u64),
    Free(u64),
    Write(u64, Vec<u8>),
    Read(u64, u64),
    Fill(u64, u64, Vec<u8>),
    Launch(u32, LaunchWords, Option<Duration>),
}

/// The answer to a request; which one follows from the request.
#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    Done,
    Opened(Result<Identity, OpenError>),
    Module(u32),
    Range(u64, u64),
    Pointer(u64),
    Bytes(Vec<u8>),
    Ended(Ended),
    Refused(Refusal),
}

/// Which device and driver it is.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Identity {
    pub(crate) properties: Properties,
    pub(crate) version: DriverVersion,
    pub(crate) library: std::path::PathBuf,
}

/// A [`Launch`].
#[derive(Serialize, Deserialize)]
pub(crate) struct LaunchWords {
    kernel: String,
    grid: [u32; 3],
    cluster: Option<[u32; 3]>,
    block: [u32; 3],
    shared_bytes: u32,
    params: Vec<u8>,
    cooperative: bool,
}

impl From<&Launch> for LaunchWords {
    fn from(launch: &Launch) -> Self {
        let words = |dim: Dim3| [dim.x, dim.y, dim.z];
        Self {
            kernel: launch.kernel.to_string(),
            grid: words(launch.grid),
            cluster: launch.cluster.map(words),
            block: words(launch.block),
            shared_bytes: launch.shared_bytes,
            params: launch.params.clone(),
            cooperative: launch.cooperative,
        }
    }
}

impl From<LaunchWords> for Launch {
    fn from(words: LaunchWords) -> Self {
        let dim = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        Self {
            kernel: words.kernel.into(),
            grid: dim(words.grid),
            cluster: words.cluster.map(dim),
            block: dim(words.block),
            shared_bytes: words.shared_bytes,
            params: words.params,
            cooperative: words.cooperative,
        }
    }
}

/// The errors of [`sim_core::Error`] that a device gives; others travel as their words.
#[derive(Serialize, Deserialize)]
pub(crate) enum Refusal {
    NoSuchKernel { name: String, candidates: Vec<String> },
    NoSuchVariable(String),
    InvalidLaunch(String),
    OutOfMemory { requested: u64, available: u64, total: u64 },
    InvalidAddress(String),
    DriverTooOld { driver: String, needs: String, log: String },
    ModuleRefused(String),
    MissingCapability(String),
    Lost(String),
    Other(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::NoSuchKernel { name, candidates } => Self::NoSuchKernel { name, candidates },
            Error::NoSuchVariable(name) => Self::NoSuchVariable(name),
            Error::InvalidLaunch(error) => Self::InvalidLaunch(error.to_string()),
            Error::OutOfMemory { requested, available, total } => {
                Self::OutOfMemory { requested, available, total }
            }
            Error::InvalidAddress(text) => Self::InvalidAddress(text),
            Error::DriverTooOld { driver, needs, log } => Self::DriverTooOld { driver, needs, log },
            Error::ModuleRefused(text) => Self::ModuleRefused(text),
            Error::MissingCapability(text) => Self::MissingCapability(text),
            Error::Lost(text) => Self::Lost(text),
            error => Self::Other(error.to_string()),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchKernel { name, candidates } => Self::NoSuchKernel { name, candidates },
            Refusal::NoSuchVariable(name) => Self::NoSuchVariable(name),
            Refusal::InvalidLaunch(text) => LaunchError::Refused(text).into(),
            Refusal::OutOfMemory { requested, available, total } => {
                Self::OutOfMemory { requested, available, total }
            }
            Refusal::InvalidAddress(text) => Self::InvalidAddress(text),
            Refusal::DriverTooOld { driver, needs, log } => Self::DriverTooOld { driver, needs, log },
            Refusal::ModuleRefused(text) => Self::ModuleRefused(text),
            Refusal::MissingCapability(text) => Self::MissingCapability(text),
            Refusal::Lost(text) => Self::Lost(text),
            Refusal::Other(text) => Self::Backend(text),
        }
    }
}

/// Writes a message.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(std::io::Error::other)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a message; `None` at the end.
pub(crate) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> std::io::Result<Option<T>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    // Grows as bytes arrive, so that a wrong length asks for no memory.
    let mut bytes = Vec::new();
    let length = u64::from_le_bytes(length);
    if from.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map(Some).map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let mut bytes = Vec::new();
        send(&mut bytes, &Request::Write(7, vec![1, 2, 3])).unwrap();
        send(&mut bytes, &Request::Free(u64::MAX)).unwrap();
        let mut from = &bytes[..];
        assert!(matches!(receive(&mut from), Ok(Some(Request::Write(7, b))) if b == [1, 2, 3]));
        assert!(matches!(receive(&mut from), Ok(Some(Request::Free(u64::MAX)))));
        assert!(matches!(receive::<Request>(&mut from), Ok(None)));
        assert!(receive::<Request>(&mut &bytes[..10]).is_err());
        assert!(receive::<Request>(&mut &[255; 9][..]).is_err());
    }

    #[test]
    fn errors_keep_their_kind() {
        for error in [
            Error::NoSuchKernel { name: "a".into(), candidates: vec!["b".into()] },
            Error::OutOfMemory { requested: 1, available: 2, total: 3 },
            Error::DriverTooOld { driver: "CUDA 12.0".into(), needs: "PTX 9.0".into(), log: "no".into() },
            Error::MissingCapability("x".into()),
            Error::Lost("x".into()),
            Error::Backend("x".into()),
        ] {
            assert_eq!(Error::from(Refusal::from(error.clone())), error);
        }
        let text = Error::UndefinedSymbol("f".into()).to_string();
        assert_eq!(Error::from(Refusal::from(Error::UndefinedSymbol("f".into()))), Error::Backend(text));
    }
}
