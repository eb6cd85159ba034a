//! Errors of the runtime interface: codes, names, and the last one of a thread.

use std::cell::Cell;
use std::ffi::{CStr, c_char};

use runtime::{Result, Status};

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The result of a function of the driver.
pub(crate) fn of(code: u32) -> Result {
    if code == 0 { Ok(()) } else { Err(Status(code)) }
}

/// Keeps an error as the thread's last one.
pub(crate) fn keep(status: Status) -> u32 {
    // What is not ready is no error.
    if status != Status::SUCCESS && status != Status::NOT_READY {
        let _ = LAST.try_with(|last| last.set(status.0));
    }
    status.0
}

/// Runs the body of a function, which never unwinds, and keeps its error.
pub(crate) fn serve(name: &str, body: impl FnOnce() -> Result) -> u32 {
    keep(Status(crate::ffi::serve(name, body)))
}

fn last(reset: bool) -> u32 {
    LAST.try_with(|last| if reset { last.replace(0) } else { last.get() }).unwrap_or(0)
}

/// What is said of a number that is no code.
const UNKNOWN: &CStr = c"unrecognized error code";

#[unsafe(export_name = "warpgrind_cudaGetLastError")]
extern "C" fn cudaGetLastError() -> u32 {
    last(true)
}

#[unsafe(export_name = "warpgrind_cudaPeekAtLastError")]
extern "C" fn cudaPeekAtLastError() -> u32 {
    last(false)
}

#[unsafe(export_name = "warpgrind_cudaGetErrorName")]
extern "C" fn cudaGetErrorName(code: u32) -> *const c_char {
    let name = Status(code).known().and_then(|known| known.runtime);
    name.unwrap_or(UNKNOWN).as_ptr()
}

#[unsafe(export_name = "warpgrind_cudaGetErrorString")]
extern "C" fn cudaGetErrorString(code: u32) -> *const c_char {
    Status(code).known().map_or(UNKNOWN, |known| known.text).as_ptr()
}
