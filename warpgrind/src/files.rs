//! Reading files that may be too long, or have no end.

use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Bytes that more than any device has, which only a mistake asks for.
pub(crate) const MAX_BYTES: u64 = 1 << 40;
/// Bytes of a text, of a recording, or of what says neither its size nor is told one.
pub const MAX_TEXT: u64 = 1 << 30;

/// Why a file was not read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is longer than what may be read of it, as is one that has no end.
    #[error("{} has more than {most} bytes, or no end", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes that would have been read.
        most: u64,
    },
}

/// Reads a file of at most so many bytes.
///
/// # Errors
/// It cannot be read or has more bytes.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let bytes = read_start(path, most.saturating_add(1))?;
    if bytes.len() as u64 > most {
        return Err(FileError::TooLong { path: path.to_owned(), most });
    }
    Ok(bytes)
}

/// Reads at most so many bytes from the start of a file.
pub(crate) fn read_start(path: &Path, bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut start = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(bytes).read_to_end(&mut start))
        .map_err(|error| FileError::Unreadable { path: path.to_owned(), error })?;
    Ok(start)
}
