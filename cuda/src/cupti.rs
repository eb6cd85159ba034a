//! CUPTI, of which programs ask the version when they start: `libcupti.so.12` and `.13` jump here.
//!
//! Nothing can be traced or counted through it: its other functions answer that they are not supported, which profilers take
//! for a device whose counters they may not read. `warpgrind profile` counts.

use std::ffi::{CStr, c_char};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::ffi::put;

/// `CUptiResult`
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer(pub(crate) u32);

impl Answer {
    const SUCCESS: Answer = Answer(0);
    const INVALID_PARAMETER: Answer = Answer(1);
    pub(crate) const NOT_SUPPORTED: Answer = Answer(27);

    fn name(self) -> Option<&'static CStr> {
        match self {
            Answer::SUCCESS => Some(c"CUPTI_SUCCESS"),
            Answer::INVALID_PARAMETER => Some(c"CUPTI_ERROR_INVALID_PARAMETER"),
            Answer::NOT_SUPPORTED => Some(c"CUPTI_ERROR_NOT_SUPPORTED"),
            _ => None,
        }
    }
}

/// Writes a result.
///
/// # Safety
/// `to` is null or writable.
unsafe fn answer<T>(to: *mut T, value: T) -> u32 {
    // SAFETY: the caller's promise.
    let done = unsafe { put(to, value) };
    done.map_or(Answer::INVALID_PARAMETER, |()| Answer::SUCCESS).0
}

/// `CUPTI_API_VERSION` of CUDA 12.9.
#[unsafe(export_name = "warpgrind_cuptiGetVersion_cuda12")]
unsafe extern "C" fn cuptiGetVersion_cuda12(version: *mut u32) -> u32 {
    // SAFETY: null or writable, as CUPTI's documentation asks.
    unsafe { answer(version, 28) }
}

/// `CUPTI_API_VERSION` of CUDA 13.5.
#[unsafe(export_name = "warpgrind_cuptiGetVersion_cuda13")]
unsafe extern "C" fn cuptiGetVersion_cuda13(version: *mut u32) -> u32 {
    // SAFETY: as above.
    unsafe { answer(version, 130_500) }
}

#[unsafe(export_name = "warpgrind_cuptiGetResultString")]
unsafe extern "C" fn cuptiGetResultString(code: u32, text: *mut *const c_char) -> u32 {
    match Answer(code).name() {
        // SAFETY: as above.
        Some(name) => unsafe { answer(text, name.as_ptr()) },
        None => Answer::INVALID_PARAMETER.0,
    }
}

/// Nanoseconds of the clock that activities would be stamped with.
#[unsafe(export_name = "warpgrind_cuptiGetTimestamp")]
unsafe extern "C" fn cuptiGetTimestamp(time: *mut u64) -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // SAFETY: as above.
    unsafe { answer(time, now.as_nanos() as u64) }
}
