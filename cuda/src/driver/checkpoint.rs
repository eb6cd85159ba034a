//! Checkpoints of processes: one stops another's calls, has its devices' memory put where the process's own is, and lets it go
//! on. Here that memory always is the process's own, so that only the states are left to keep.

use std::fs::OpenOptions;
use std::sync::atomic::Ordering::SeqCst;

use runtime::{Result, Status};

use crate::ffi::{get, put};
use crate::process_state::{CHECKPOINTED, LOCKED, NAME, RUNNING};
use crate::shared_page::SharedPage;
use crate::state;

/// The state of a process that uses devices.
fn of_process(process: i32) -> Result<SharedPage> {
    state::runtime()?;
    let folder = format!("/proc/{process}/fd");
    let is_state = |path: &std::path::Path| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with(&format!("/memfd:{NAME}")))
    };
    let files = std::fs::read_dir(folder).map_err(|_| Status::OPERATING_SYSTEM)?.flatten();
    let path = files.map(|entry| entry.path()).find(|path| is_state(path)).ok_or(Status::NOT_INITIALIZED)?;
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(|_| Status::OPERATING_SYSTEM)?;
    SharedPage::of(file)
}

/// Changes a process's state from what it must be to another one.
fn step(process: i32, from: u64, to: u64) -> Result {
    let page = of_process(process)?;
    let changed = page.words()[0].compare_exchange(from, to, SeqCst, SeqCst);
    changed.map(drop).map_err(|_| Status::ILLEGAL_STATE)
}

/// Whether the words of arguments that are reserved are zero.
unsafe fn are_zero(words: *const u64, which: std::ops::Range<usize>) -> Result {
    if words.is_null() {
        return Ok(());
    }
    for at in which {
        // SAFETY: the program's arguments have 64 bytes.
        if unsafe { get(words.add(at)) }? != 0 {
            return Err(Status::INVALID_VALUE);
        }
    }
    Ok(())
}

api! {
    fn cuCheckpointProcessGetState(process: i32, to: *mut i32) {
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let page = of_process(process)?;
        put(to, page.words()[0].load(SeqCst) as i32)
    }

    fn cuCheckpointProcessGetRestoreThreadId(process: i32, to: *mut i32) {
        of_process(process)?;
        // No thread is needed for it: the first one will do.
        put(to, process)
    }

    fn cuCheckpointProcessLock(process: i32, arguments: *const u64) {
        // A time in milliseconds goes before the first word that is kept for later.
        if !arguments.is_null() && get(arguments)? >> 32 != 0 {
            return Err(Status::INVALID_VALUE);
        }
        are_zero(arguments, 1..8)?;
        step(process, RUNNING, LOCKED)
    }

    fn cuCheckpointProcessCheckpoint(process: i32, arguments: *const u64) {
        are_zero(arguments, 0..8)?;
        step(process, LOCKED, CHECKPOINTED)
    }

    fn cuCheckpointProcessRestore(process: i32, arguments: *const u64) {
        let _ = arguments;
        step(process, CHECKPOINTED, LOCKED)
    }

    fn cuCheckpointProcessUnlock(process: i32, arguments: *const u64) {
        are_zero(arguments, 0..8)?;
        step(process, LOCKED, RUNNING)
    }
}
