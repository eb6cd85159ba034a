//! The session's folder, and what the processes of a program leave in it.

use std::fs::File;
use std::path::{Path, PathBuf};

use reports::plural;
use serde_json::Value;
use tempfile::TempDir;

/// A folder that goes when the session ends. Folders of sessions that were killed go when the next one starts.
#[derive(Debug)]
pub(super) struct Folder {
    folder: TempDir,
    /// Held as long as the session lives: the system lets go of it, however that ends.
    _lock: File,
}

const PREFIX: &str = "warpgrind-";
const LOCK: &str = "lock";

impl Folder {
    /// Makes it among the system's temporary folders.
    pub(super) fn make() -> std::io::Result<Folder> {
        remove_abandoned(&std::env::temp_dir());
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
        // It has its name only when it is locked, so that nobody takes a new session for an abandoned one.
        let unnamed = folder.path().join("lock.new");
        let lock = File::create(&unnamed)?;
        lock.lock()?;
        std::fs::rename(unnamed, folder.path().join(LOCK))?;
        Ok(Folder { folder, _lock: lock })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves it behind for good.
    pub(super) fn keep(self) -> std::io::Result<()> {
        std::fs::remove_file(self.path().join(LOCK))?;
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Removes folders whose session is gone. What does not work is left to the next session.
fn remove_abandoned(temporary: &Path) {
    for entry in std::fs::read_dir(temporary).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && let Ok(lock) = File::options().write(true).open(entry.path().join(LOCK))
            && lock.try_lock().is_ok()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Counters that all processes share, each 64 bits in the machine's order, in the file `counts`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    /// Processes that used a device.
    pub(super) processes: u64,
    /// Kernels launched.
    pub(super) launches: u64,
    /// Those that `--filter`, `--launch-skip` and `--launch-count` picked.
    pub(super) picked: u64,
    /// Findings in all launches, equal ones of a launch counted once.
    pub(super) findings: u64,
}

const FILE: &str = "counts";

impl Counts {
    /// Makes the file.
    pub(super) fn prepare(session: &Path) -> std::io::Result<()> {
        std::fs::write(session.join(FILE), [0; 32])
    }

    /// What they are now.
    pub(super) fn read(session: &Path) -> Counts {
        let bytes = std::fs::read(session.join(FILE)).unwrap_or_default();
        let mut words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_ne_bytes);
        let mut next = || words.next().unwrap_or(0);
        Counts { processes: next(), launches: next(), picked: next(), findings: next() }
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        if self.processes == 0 {
            return "warpgrind: the program used no CUDA device\n".into();
        }
        let findings = match self.findings {
            0 => "no findings".into(),
            count => plural(count, "finding"),
        };
        let launches = match self.launches {
            1 => "1 launch".into(),
            count => format!("{count} launches"),
        };
        let picked = match self.picked == self.launches {
            true => String::new(),
            false => format!(", {} of them picked", self.picked),
        };
        let processes = match self.processes {
            1 => String::new(),
            count => format!(" in {count} processes"),
        };
        format!("warpgrind: {launches}{processes}{picked}, {findings}\n")
    }
}

/// The launches that processes of the program have noted, those of each process in order.
pub(super) fn launches(session: &Path) -> Vec<Value> {
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
    fn counts_are_said_in_words() {
        let counts = Counts { processes: 1, launches: 1, picked: 1, findings: 1 };
        assert_eq!(counts.line(), "warpgrind: 1 launch, 1 finding\n");
        let counts = Counts { processes: 2, launches: 30, picked: 4, findings: 0 };
        assert_eq!(counts.line(), "warpgrind: 30 launches in 2 processes, 4 of them picked, no findings\n");
        assert!(Counts::default().line().contains("no CUDA device"));
    }

    #[test]
    fn what_processes_left_is_put_together() {
        let session = tempfile::tempdir().unwrap();
        Counts::prepare(session.path()).unwrap();
        assert_eq!(Counts::read(session.path()), Counts::default());
        let note = |name: &str, text: &str| std::fs::write(session.path().join(name), text).unwrap();
        note("1000.jsonl", "{\"n\": 2}\n{\"n\": 3}\n{\"n\"");
        note("99.jsonl", "{\"n\": 1}\n");
        note("other.txt", "{\"n\": 4}\n");
        let numbers: Vec<u64> = launches(session.path()).iter().filter_map(|l| l["n"].as_u64()).collect();
        assert_eq!(numbers, [1, 2, 3]);
    }
}
