//! Writing files: whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::exit::Failure;

/// Puts a file in place at once: whoever reads it sees the old one or the new one, whole, also when the disk
/// is full or the program is ended. What is no regular file (a device, a pipe) is written to as it is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let problem = |error| Failure::usage(format!("cannot write {}: {error}", path.display()));
    let old = std::fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return std::fs::write(path, bytes).map_err(problem);
    }
    // Of a symbolic link the file that it leads to is replaced.
    let target = if old.is_some() { std::fs::canonicalize(path).map_err(problem)? } else { path.to_owned() };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = temporary(folder).and_then(|mut file| {
        if let Some(old) = &old {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(problem)
}

/// Whether [`replace`] will find a place for the file, as far as can be known before; nothing is changed.
pub(crate) fn can_replace(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let tried = match std::fs::metadata(path) {
        Ok(old) if old.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
        Ok(old) if !old.is_file() => Ok(()),
        _ => temporary(folder).map(drop),
    };
    tried.map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}

/// A file that may be read as files usually may.
#[cfg(unix)]
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;

    let mode = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".warpgrind-").permissions(mode).tempfile_in(folder)
}

#[cfg(not(unix))]
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".warpgrind-").tempfile_in(folder)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_and_permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a"), folder.path().join("b"));
        replace(&file, b"one").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        replace(Path::new("/dev/null"), b"gone").unwrap();
        let full = replace(Path::new("/dev/full"), b"more").unwrap_err();
        assert!(full.message.starts_with("cannot write /dev/full: "), "{}", full.message);
        for nowhere in ["/no/such/folder/x", "/tmp"] {
            assert!(replace(Path::new(nowhere), b"").is_err());
            assert!(can_replace(Path::new(nowhere)).is_err());
        }
        assert!(can_replace(Path::new("/dev/null")).is_ok());
    }
}
