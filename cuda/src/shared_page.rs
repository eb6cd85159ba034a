//! Two words that several processes have, in a page of a file in memory.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use runtime::{Result, Status};

/// Bytes of the page.
pub(crate) const PAGE: usize = 4096;

/// The page, mapped as long as the value lives.
#[derive(Debug)]
pub(crate) struct SharedPage {
    words: NonNull<[AtomicU64; 2]>,
    /// The file that it is of.
    pub file: File,
}

// SAFETY: the words are atomics in a mapping that lives as long as the value.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// The first page of a file.
    ///
    /// # Errors
    /// `MAP_FAILED` if it has none or cannot be mapped.
    pub(crate) fn of(file: File) -> Result<SharedPage> {
        if file.metadata().map_err(|_| Status::MAP_FAILED)?.len() < PAGE as u64 {
            return Err(Status::MAP_FAILED);
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let place = std::ptr::null_mut();
        // SAFETY: a new mapping of a file that has a page.
        let at = unsafe { libc::mmap(place, PAGE, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        let words = NonNull::new(at.cast()).filter(|_| at != libc::MAP_FAILED).ok_or(Status::MAP_FAILED)?;
        Ok(SharedPage { words, file })
    }

    /// The words.
    pub(crate) fn words(&self) -> &[AtomicU64; 2] {
        // SAFETY: a mapped page, which begins with them.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: `of` mapped it, and nobody else has it.
        unsafe { libc::munmap(self.words.as_ptr().cast(), PAGE) };
    }
}
