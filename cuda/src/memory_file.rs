//! Files in memory, whose descriptors other processes may get.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::FromRawFd;

/// A file in memory of so many bytes. Its name goes with the descriptor, to whatever process.
pub(crate) fn file_in_memory(name: &str, bytes: u64) -> std::io::Result<File> {
    let name = CString::new(name)?;
    // SAFETY: the name is a string; the result is a file or an error.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: it was opened above, and nobody else has it.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(bytes)?;
    Ok(file)
}
