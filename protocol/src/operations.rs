//! What a program had its devices do: a line of JSON for each operation of a stream, in a file of all processes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An operation of a process, by its number there.
pub type Id = (u32, u64);

/// A line of the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// An operation was handed to a device's queue.
    Submitted(Submission),
    /// The launch that an operation is was written to a folder.
    Saved(Id, PathBuf),
    /// A thread of the program has waited for the end of an operation.
    Waited {
        /// The operation.
        operation: Id,
        /// The thread, unique in its process.
        thread: u64,
    },
}

/// An operation that was handed to a device's queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Submission {
    /// Its process and its number there, which is higher than that of those that it waits for.
    pub id: Id,
    /// The thread that asked for it.
    pub thread: u64,
    /// The device.
    pub device: usize,
    /// The stream, unique in its process; none is the legacy default stream.
    pub stream: Option<u64>,
    /// Whether the stream and the legacy default stream wait for each other.
    pub blocking: bool,
    /// Whether it waits for what was submitted to the stream before; what is within a graph does not.
    pub in_order: bool,
    /// Numbers of others that it waits for.
    pub after: Vec<u64>,
    /// What it does.
    pub what: Doing,
}

/// What an operation does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// Runs a kernel.
    Kernel(String),
    /// Copies so many bytes.
    Copy {
        /// Whence.
        from: Side,
        /// Where to.
        to: Side,
        /// How many.
        bytes: u64,
    },
    /// Fills so many bytes.
    Fill(u64),
    /// What takes a device no time: events, functions of the program.
    Other,
}

/// A kind of memory that copies know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// A device's.
    Device,
    /// The host's, which does not move.
    Pinned,
    /// The host's.
    Pageable,
    /// That of both.
    Managed,
}

impl Note {
    /// Its line.
    pub fn line(&self) -> Vec<u8> {
        // There is nothing in it that JSON does not have.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// All that stands in such a file, in the order in which it was written; nothing of one that is not there.
pub fn operations(file: &Path) -> Vec<Note> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // A process that was killed may have left half a line.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The folders of the launches among these.
pub fn saved(notes: &[Note]) -> HashMap<&Path, Id> {
    let folder = |note| match note {
        &Note::Saved(id, ref folder) => Some((&**folder, id)),
        _ => None,
    };
    notes.iter().filter_map(folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("operations");
        assert_eq!(operations(&file), []);
        let copy = Doing::Copy { from: Side::Pageable, to: Side::Device, bytes: 7 };
        let submitted = |number, what| Submission {
            id: (9, number),
            thread: 3,
            device: 0,
            stream: None,
            blocking: true,
            in_order: true,
            after: (0..number).collect(),
            what,
        };
        let notes = vec![
            Note::Submitted(submitted(0, copy)),
            Note::Submitted(submitted(1, Doing::Kernel("k".into()))),
            Note::Saved((9, 1), "/launches/k".into()),
            Note::Waited { operation: (9, 1), thread: 3 },
        ];
        let mut text: Vec<u8> = notes.iter().flat_map(Note::line).collect();
        text.extend(b"{\"waited\": ");
        std::fs::write(&file, text).unwrap();
        let read = operations(&file);
        assert_eq!(read, notes);
        assert_eq!(saved(&read), HashMap::from([(Path::new("/launches/k"), (9, 1))]));
    }
}
