//! Catches what the driver writes to the standard streams of the process: `printf` and failed assertions of kernels.

/// Runs `work`; returns its result and what was written to standard output and standard error meanwhile.
///
/// The streams belong to the whole process: whatever other threads write at the same time is caught too. A
/// stream that cannot be redirected stays as it is, and nothing is returned for it.
#[cfg(unix)]
pub(crate) fn during<T>(work: impl FnOnce() -> T) -> (T, Vec<u8>, Vec<u8>) {
    use std::io::Write;
    use std::sync::{Mutex, PoisonError};

    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = std::io::stdout().flush();
    flush_c_streams();
    let out = unix::Redirected::new(libc::STDOUT_FILENO);
    let err = unix::Redirected::new(libc::STDERR_FILENO);
    let result = work();
    flush_c_streams();
    (
        result,
        out.map(unix::Redirected::finish).unwrap_or_default(),
        err.map(unix::Redirected::finish).unwrap_or_default(),
    )
}

/// Without file descriptors to redirect, kernels print to the process's own streams.
#[cfg(not(unix))]
pub(crate) fn during<T>(work: impl FnOnce() -> T) -> (T, Vec<u8>, Vec<u8>) {
    (work(), Vec::new(), Vec::new())
}

/// What standard output leads to; from now on it leads where standard error does.
#[cfg(unix)]
pub(crate) fn take_stdout() -> std::io::Result<std::fs::File> {
    use std::os::fd::FromRawFd;

    flush_c_streams();
    // SAFETY: duplicating descriptors has no preconditions; the new one is ours alone.
    unsafe {
        let copy = libc::dup(libc::STDOUT_FILENO);
        if copy < 0 || libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(std::fs::File::from_raw_fd(copy))
    }
}

/// Standard output cannot be kept apart from what kernels print.
#[cfg(not(unix))]
pub(crate) fn take_stdout() -> std::io::Result<std::fs::File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn flush_c_streams() {
    // SAFETY: null stands for all streams of the C library.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
    use std::os::unix::fs::FileExt;

    /// A descriptor that leads to a temporary file until this is dropped.
    pub(super) struct Redirected {
        descriptor: RawFd,
        saved: OwnedFd,
        file: File,
    }

    impl Redirected {
        pub(super) fn new(descriptor: RawFd) -> Option<Self> {
            let file = tempfile::tempfile().ok()?;
            // SAFETY: duplicating a descriptor has no preconditions; a new one is ours alone.
            let saved = unsafe {
                let copy = libc::dup(descriptor);
                (copy >= 0).then(|| OwnedFd::from_raw_fd(copy))
            }?;
            // SAFETY: both descriptors are open; the old target lives on in `saved`.
            (unsafe { libc::dup2(file.as_raw_fd(), descriptor) } >= 0).then_some(Self {
                descriptor,
                saved,
                file,
            })
        }

        /// Leads the descriptor back and returns what was written.
        pub(super) fn finish(self) -> Vec<u8> {
            self.restore();
            // The offset stays: another thread may still be writing, and must not overwrite the beginning.
            let mut bytes = Vec::new();
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = self.file.read_at(&mut piece, bytes.len() as u64) {
                bytes.extend_from_slice(&piece[..read]);
            }
            bytes
        }

        fn restore(&self) {
            // SAFETY: both descriptors are open. Doing it twice changes nothing.
            unsafe { libc::dup2(self.saved.as_raw_fd(), self.descriptor) };
        }
    }

    impl Drop for Redirected {
        fn drop(&mut self) {
            self.restore();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn what_c_code_writes_is_caught() {
        let write = |descriptor, text: &[u8]| {
            // SAFETY: the buffer has the size that is given.
            let written = unsafe { libc::write(descriptor, text.as_ptr().cast(), text.len()) };
            assert_eq!(written, text.len() as isize);
        };
        let (value, out, err) = super::during(|| {
            write(1, b"to out");
            write(2, b"to err");
            7
        });
        // The test harness may write at the same time.
        let holds = |bytes: &[u8], text: &str| String::from_utf8_lossy(bytes).contains(text);
        assert!(value == 7 && holds(&out, "to out") && holds(&err, "to err"));
        let (_, out, _) = super::during(|| ());
        assert!(!holds(&out, "to out"));
    }
}
