//! The `warpgrind exec` that started the program: what it is told of launches.
//!
//! Its folder has a file of counters that all processes of the program share, and gets a file of JSON
//! documents, one a line, from each process that notes launches.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use reports::LaunchJson;
use serde_json::Value;

use crate::settings::Settings;

/// A counter; its number is its place in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    Processes,
    Launches,
    Picked,
    Findings,
}

const COUNTS: usize = Count::Findings as usize + 1;

/// Maps the counters of a session.
fn map(session: &Path) -> Option<&'static [AtomicU64; COUNTS]> {
    let file = OpenOptions::new().read(true).write(true).open(session.join("counts")).ok()?;
    let bytes = size_of::<[AtomicU64; COUNTS]>();
    if file.metadata().ok()?.len() < bytes as u64 {
        return None;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of an open file, at a place that the system chooses.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    // SAFETY: the mapping is aligned to a page, as large as the array, and never removed. Other processes
    // change it atomically too.
    (start != libc::MAP_FAILED).then(|| unsafe { &*start.cast_const().cast() })
}

/// Adds to a counter.
pub(crate) fn add(count: Count, amount: u64) {
    static COUNTERS: OnceLock<Option<&'static [AtomicU64; COUNTS]>> = OnceLock::new();
    let counters = COUNTERS.get_or_init(|| map(Settings::of_process().session.as_ref()?));
    if let Some(counters) = counters {
        counters[count as usize].fetch_add(amount, Relaxed);
    }
}

/// Notes a launch, with the number of the process.
pub(crate) fn record(launch: &LaunchJson) {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let process = std::process::id();
    let file = FILE.get_or_init(|| {
        let path = Settings::of_process().session.as_ref()?.join(format!("{process}.jsonl"));
        OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
    });
    let Some(file) = file else { return };
    let Ok(mut document) = serde_json::to_value(launch) else { return };
    if let Value::Object(members) = &mut document {
        members.insert("process".into(), process.into());
    }
    let mut line = serde_json::to_vec(&document).unwrap_or_default();
    line.push(b'\n');
    // Nobody is left to be told when this fails. One call writes the line, so that those of a forked child
    // do not get into it.
    let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
}
