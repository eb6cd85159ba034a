//! What calls said was wrong: a list that programs read, and functions of theirs that hear it.

use std::collections::VecDeque;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use cuda_abi::Status;

/// Lines that are kept.
const MOST: usize = 100;
/// `CU_LOG_LEVEL_ERROR`
const ERROR: u32 = 0;

/// `CUlogsCallback`: its data, the level, the text and its length.
pub(crate) type Hear = unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize);

#[derive(Debug)]
struct Log {
    lines: VecDeque<String>,
    /// The number of the first line that is kept.
    first: u64,
    /// Who hears, by number.
    heard_by: Vec<(u64, Hear, u64)>,
}

static LOG: Mutex<Log> = Mutex::new(Log { lines: VecDeque::new(), first: 0, heard_by: Vec::new() });

fn log() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that a function returned an error.
pub(crate) fn returned(name: &str, status: Status) {
    // Not over yet is no mistake.
    if status == Status::NOT_READY || status == Status::SUCCESS {
        return;
    }
    let known = status.known();
    let text =
        if name.starts_with("cuda") { known.and_then(|k| k.runtime) } else { known.and_then(|k| k.driver) };
    let word = text.and_then(|text| text.to_str().ok()).unwrap_or("unknown");
    note(&format!("Returning {} ({word}) from {name}", status.0));
}

fn note(text: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, thousandths) = (now.as_secs(), now.subsec_millis());
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    // SAFETY: the call changes nothing.
    let thread = unsafe { libc::pthread_self() };
    let line = format!("[{hour:02}:{minute:02}:{second:02}.{thousandths:03}][{thread}][CUDA][E] {text}\n");
    let heard_by = {
        let mut log = log();
        if log.lines.len() == MOST {
            log.lines.pop_front();
            log.first += 1;
        }
        log.lines.push_back(line);
        log.heard_by.clone()
    };
    let Ok(text) = CString::new(text) else { return };
    for (_, hear, data) in heard_by {
        // SAFETY: the program gave the function and its data for this, until it takes it back.
        unsafe { hear(data as *mut c_void, ERROR, text.as_ptr(), text.as_bytes().len()) };
    }
}

/// Lets a function hear what is noted from now on; its number.
pub(crate) fn hear(function: Hear, data: u64) -> u64 {
    let number = runtime::fresh_id();
    log().heard_by.push((number, function, data));
    number
}

/// Ends that; false if there is no such number.
pub(crate) fn forget(number: u64) -> bool {
    let mut log = log();
    let before = log.heard_by.len();
    log.heard_by.retain(|(known, ..)| *known != number);
    log.heard_by.len() != before
}

/// The number of the next line.
pub(crate) fn next() -> u64 {
    let log = log();
    log.first + log.lines.len() as u64
}

/// The lines from a number on.
pub(crate) fn from(number: u64) -> Vec<String> {
    let log = log();
    log.lines.iter().skip(number.saturating_sub(log.first) as usize).cloned().collect()
}
