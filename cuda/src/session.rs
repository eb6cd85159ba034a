//! The `warpgrind exec` that started the program: what it is told of launches.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use protocol::Count;
use reports::LaunchJson;

use crate::settings::Settings;

type Words = [AtomicU64];

/// Maps the counters of a session, if it speaks our version.
fn map(session: &Path) -> Option<&'static Words> {
    let file = OpenOptions::new().read(true).write(true).open(session.join(protocol::COUNTS)).ok()?;
    let words = usize::try_from(file.metadata().ok()?.len()).ok()? / size_of::<u64>();
    if words < Count::WORDS {
        return None;
    }
    let bytes = words * size_of::<u64>();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of an open file, at a place that the system chooses.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is aligned to a page, as large as the slice, and never removed. Other processes
    // change it atomically too.
    let words: &Words = unsafe { std::slice::from_raw_parts(start.cast_const().cast(), words) };
    (words[0].load(Relaxed) == protocol::VERSION).then_some(words)
}

/// The counters of the session, if there is one; a session of another version is told of once.
fn counters() -> Option<&'static Words> {
    static COUNTERS: OnceLock<Option<&'static Words>> = OnceLock::new();
    *COUNTERS.get_or_init(|| {
        let session = Settings::of_process().session.as_ref()?;
        let counters = map(session);
        if counters.is_none() && session.join(protocol::COUNTS).exists() {
            eprintln!(
                "warpgrind: `warpgrind exec` is of another version than its library; it learns nothing of this process"
            );
        }
        counters
    })
}

/// Tells whoever debugs launches where one is written, and waits until it may run: the other end closes the connection. Whether
/// what the kernel prints was shown already.
pub(crate) fn hold(socket: &Path, launch: &Path) -> io::Result<bool> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(launch.as_os_str().as_bytes())?;
    stream.write_all(b"\n")?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said)?;
    Ok(said.contains(&protocol::PRINTED))
}

/// Adds to a counter; what it was before.
pub(crate) fn add(count: Count, amount: u64) -> u64 {
    counters().map_or(0, |counters| counters[count as usize].fetch_add(amount, Relaxed))
}

/// What a counter is now.
pub(crate) fn count(count: Count) -> u64 {
    counters().map_or(0, |counters| counters[count as usize].load(Relaxed))
}

/// Counts that an entry of what is expected matched.
pub(crate) fn hit(entry: usize) {
    if let Some(word) = counters().and_then(|counters| counters.get(Count::WORDS + entry)) {
        word.fetch_add(1, Relaxed);
    }
}

/// Notes a launch, with the number of the process and whether it was picked.
pub(crate) fn record(launch: &LaunchJson, picked: bool) {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let process = std::process::id();
    let file = FILE.get_or_init(|| {
        counters()?;
        let path = protocol::notes_of(Settings::of_process().session.as_ref()?, process);
        OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
    });
    let (Some(file), Some(line)) = (file, protocol::note(launch, process, picked)) else { return };
    // Nobody is left to be told when this fails. One call writes the line, so that those of a forked child
    // do not get into it.
    let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
}
