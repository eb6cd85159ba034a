//! The folder of a session: of a program that runs, or of launches that are measured.

use std::fs::File;
use std::path::Path;

use tempfile::TempDir;

/// A folder that goes when the session does. Folders of sessions that were killed go when the next one starts.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    /// Held as long as the session lives: the system lets go of it, however that ends.
    _lock: File,
}

const PREFIX: &str = "warpgrind-";
const LOCK: &str = "lock";

impl Folder {
    /// Makes it among the system's temporary folders.
    pub(crate) fn make() -> std::io::Result<Folder> {
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
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves it behind for good.
    pub(crate) fn keep(self) -> std::io::Result<()> {
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
