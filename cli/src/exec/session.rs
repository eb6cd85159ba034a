//! The session's folder, and what the processes of a program leave in it.

use std::fs::File;
use std::path::Path;

use protocol::Counts;
use reports::triage::Found;
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

/// The counters for people.
pub(super) fn line(counts: &Counts) -> String {
    if counts.processes == 0 {
        return "warpgrind: the program used no CUDA device\n".into();
    }
    let found = Found { new: counts.findings, known: counts.known, suppressed: counts.suppressed };
    let findings = found.words().unwrap_or_else(|| "no findings".into());
    let launches = match counts.launches {
        1 => "1 launch".into(),
        count => format!("{count} launches"),
    };
    let picked = match counts.picked == counts.launches {
        true => String::new(),
        false => format!(", {} of them picked", counts.picked),
    };
    let processes = match counts.processes {
        1 => String::new(),
        count => format!(" in {count} processes"),
    };
    format!("warpgrind: {launches}{processes}{picked}, {findings}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_in_words() {
        let counts = Counts { processes: 1, launches: 1, picked: 1, findings: 1, ..Counts::default() };
        assert_eq!(line(&counts), "warpgrind: 1 launch, 1 finding\n");
        let counts = Counts { processes: 2, launches: 30, picked: 4, ..Counts::default() };
        assert_eq!(line(&counts), "warpgrind: 30 launches in 2 processes, 4 of them picked, no findings\n");
        let counts = Counts { processes: 1, launches: 3, picked: 3, findings: 2, known: 1, suppressed: 4 };
        assert_eq!(line(&counts), "warpgrind: 3 launches, 2 findings, 1 known, 4 suppressed\n");
        assert!(line(&Counts::default()).contains("no CUDA device"));
    }
}
