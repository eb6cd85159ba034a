//! What the processes of a program leave in the session's folder.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::VERSION;

/// The file of counters: 64-bit words in the machine's order, the version, then each [`Count`], then how often each entry of
/// what is expected ([`Settings::triage`](crate::Settings::triage)) matched.
pub const COUNTS: &str = "counts";

/// A counter; its number is its place in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Processes that used a device.
    Processes = 1,
    /// Kernels launched.
    Launches,
    /// Those that were picked for further checks.
    Picked,
    /// Findings in all launches that nobody expects, equal ones of a launch counted once.
    Findings,
    /// Findings that the baseline knows.
    Known,
    /// Findings that are suppressed.
    Suppressed,
    /// Bytes that launches take that were saved.
    Saved,
    /// Launches that were to be saved, and were not.
    Unsaved,
}

impl Count {
    /// Words of the file before those of the entries.
    pub const WORDS: usize = Count::Unsaved as usize + 1;
}

/// The counters of all processes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// [`Count::Processes`]
    pub processes: u64,
    /// [`Count::Launches`]
    pub launches: u64,
    /// [`Count::Picked`]
    pub picked: u64,
    /// [`Count::Findings`]
    pub findings: u64,
    /// [`Count::Known`]
    pub known: u64,
    /// [`Count::Suppressed`]
    pub suppressed: u64,
    /// [`Count::Saved`]
    pub saved: u64,
    /// [`Count::Unsaved`]
    pub unsaved: u64,
}

impl Counts {
    /// Makes the file in a session's folder, with words for so many entries of what is expected.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn prepare(session: &Path, entries: usize) -> std::io::Result<()> {
        let mut words = vec![0u64; Count::WORDS + entries];
        words[0] = VERSION;
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        std::fs::write(session.join(COUNTS), bytes)
    }

    /// What they are now; nothing of a file that is not there.
    pub fn read(session: &Path) -> Counts {
        let words = words(session);
        let word = |count: Count| words.get(count as usize).copied().unwrap_or(0);
        Counts {
            processes: word(Count::Processes),
            launches: word(Count::Launches),
            picked: word(Count::Picked),
            findings: word(Count::Findings),
            known: word(Count::Known),
            suppressed: word(Count::Suppressed),
            saved: word(Count::Saved),
            unsaved: word(Count::Unsaved),
        }
    }
}

fn words(session: &Path) -> Vec<u64> {
    let bytes = std::fs::read(session.join(COUNTS)).unwrap_or_default();
    bytes.as_chunks().0.iter().copied().map(u64::from_ne_bytes).collect()
}

/// How often each entry of what is expected matched, in all processes.
pub fn hits(session: &Path) -> Vec<u64> {
    words(session).into_iter().skip(Count::WORDS).collect()
}

/// The file of a process's notes.
pub fn notes_of(session: &Path, process: u32) -> PathBuf {
    session.join(format!("{process}.jsonl"))
}

/// A launch as a line of a process's notes; `None` for what is no JSON object.
pub fn note(launch: &impl Serialize, process: u32, picked: bool) -> Option<Vec<u8>> {
    let Ok(Value::Object(mut members)) = serde_json::to_value(launch) else { return None };
    members.insert("process".into(), process.into());
    members.insert("picked".into(), picked.into());
    let mut line = serde_json::to_vec(&members).ok()?;
    line.push(b'\n');
    Some(line)
}

/// The launches that processes of the program have noted, those of each process in order.
pub fn launches(session: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(session).into_iter().flatten().flatten().map(|entry| entry.path());
    let noted = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    let process = |path: &PathBuf| path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
    let mut files: Vec<PathBuf> = files.filter(noted).collect();
    files.sort_by_key(process);
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    // A process that was killed may have left half a line.
    texts
        .flat_map(|text| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_left_is_put_together() {
        let session = tempfile::tempdir().unwrap();
        assert_eq!(Counts::read(session.path()), Counts::default());
        Counts::prepare(session.path(), 2).unwrap();
        assert_eq!(Counts::read(session.path()), Counts::default());
        assert_eq!(hits(session.path()), [0, 0]);
        let path = session.path().join(COUNTS);
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[..8], VERSION.to_ne_bytes());
        bytes[Count::Picked as usize * 8] = 3;
        bytes[(Count::WORDS + 1) * 8] = 4;
        std::fs::write(path, bytes).unwrap();
        assert_eq!(Counts::read(session.path()), Counts { picked: 3, ..Counts::default() });
        assert_eq!(hits(session.path()), [0, 4]);

        let write = |name: PathBuf, text: &[u8]| std::fs::write(name, text).unwrap();
        let line = |n: u32| note(&std::collections::BTreeMap::from([("n", n)]), 99, true).unwrap();
        write(notes_of(session.path(), 1000), b"{\"n\": 2}\n{\"n\": 3}\n{\"n\"");
        write(notes_of(session.path(), 99), &line(1));
        write(session.path().join("other.txt"), b"{\"n\": 4}\n");
        let launches = launches(session.path());
        let numbers: Vec<u64> = launches.iter().filter_map(|launch| launch["n"].as_u64()).collect();
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(launches[0]["process"], 99);
        assert_eq!(launches[0]["picked"], true);
        assert_eq!(note(&1, 99, true), None);
    }
}
