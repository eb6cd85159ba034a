//! The border to C: functions that never unwind, and pointers that may be null.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime::{Result, Status};

use crate::may_call::{is_forked, is_in_callback};
use crate::process_state;

pub(crate) use cuda_abi::Handle;

/// What the null stream means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NullStream {
    Legacy,
    PerThread,
}

/// Defines functions of the driver interface, whose symbols start with `warpgrind_`; `libcuda.so.1` leads to them. A body is a
/// block that ends in a `Result`.
///
/// `fn a | b (null; …)` defines two that differ in what the null stream means: the legacy stream for `a`,
/// the thread's own for `b`; `null` is then a `NullStream`.
macro_rules! api {
    ($($(#[$meta:meta])* fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            $crate::ffi::serve(stringify!($name), || {
                // SAFETY: pointers are null or as CUDA's documentation asks, see the crate's front page.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    )*};
}

/// [`api`] for functions with a stream.
macro_rules! stream_api {
    ($($(#[$meta:meta])* fn $name:ident | $other:ident ( $null:ident ; $($arg:ident : $ty:ty),* $(,)? ) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            let $null = $crate::ffi::NullStream::Legacy;
            $crate::ffi::serve(stringify!($name), || {
                // SAFETY: pointers are null or as CUDA's documentation asks, see the crate's front page.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }

        $(#[$meta])*
        #[unsafe(export_name = concat!("warpgrind_", stringify!($other)))]
        pub(crate) unsafe extern "C" fn $other($($arg: $ty),*) -> u32 {
            let $null = $crate::ffi::NullStream::PerThread;
            $crate::ffi::serve(stringify!($other), || {
                // SAFETY: as above.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    )*};
}

/// What may be called in a function that a stream or a graph called: what needs no initialised driver.
const IN_CALLBACKS: &[&str] = &[
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuInit",
    "cudaDriverGetVersion",
    "cudaRuntimeGetVersion",
    "cudaRuntimeGetVersion_cuda12",
];

/// Runs the body of one of CUDA's functions, unless it may not be called here (Driver API, `cuLaunchHostFunc`).
pub(crate) fn serve(name: &str, body: impl FnOnce() -> Result) -> u32 {
    if is_in_callback() && !IN_CALLBACKS.contains(&name) {
        return Status::NOT_PERMITTED.0;
    }
    process_state::wait_while_locked(name);
    let code = guard(name, body);
    if code != 0 && !is_forked() {
        crate::log::returned(name, Status(code));
    }
    code
}

/// Runs the body of a function; a panic becomes an error code.
pub(crate) fn guard(name: &str, body: impl FnOnce() -> Result) -> u32 {
    if is_forked() && !name.contains("GetError") {
        return Status::NOT_INITIALIZED.0;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => status.0,
        Err(_) => {
            internal_error(name);
            Status::UNKNOWN.0
        }
    }
}

/// Says that a function panicked; the panic's own message went before.
pub(crate) fn internal_error(name: &str) {
    eprintln!(
        "warpgrind: internal error in `{name}`. This is a bug in warpgrind {}, not in your program. To report it, \
         keep the message above, the command line and the program; CONTRIBUTING.md says more",
        env!("CARGO_PKG_VERSION"),
    );
}

/// Writes a result.
///
/// # Safety
/// `to` is null or writable.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result that the program may not want.
///
/// # Safety
/// `to` is null or writable.
pub(crate) unsafe fn put_wanted<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write_unaligned(value) };
    }
}

/// Reads a value.
///
/// # Safety
/// `from` is null or readable.
pub(crate) unsafe fn get<T: Copy>(from: *const T) -> Result<T> {
    if from.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { from.read_unaligned() })
}

/// Copies an array.
///
/// # Safety
/// `from` is null or holds `count` values.
pub(crate) unsafe fn list<T: Copy>(from: *const T, count: usize) -> Result<Vec<T>> {
    // SAFETY: the caller's promise.
    (0..count).map(|at| unsafe { get(from.wrapping_add(at)) }).collect::<Result<_>>().and_then(
        |list: Vec<T>| {
            if from.is_null() && count > 0 { Err(Status::INVALID_VALUE) } else { Ok(list) }
        },
    )
}

/// A string.
///
/// # Safety
/// `from` is null or ends in a zero byte.
pub(crate) unsafe fn text<'a>(from: *const c_char) -> Result<&'a str> {
    if from.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| Status::INVALID_VALUE)
}

/// Copies a string into a buffer of `size` bytes, cut off and with a zero byte at its end.
///
/// # Safety
/// `to` is null or has room for `size` bytes.
pub(crate) unsafe fn put_text(to: *mut c_char, size: usize, text: &str) -> Result {
    if to.is_null() || size == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let count = text.len().min(size - 1);
    // SAFETY: `count` bytes and the zero byte fit.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, count);
        *to.add(count) = 0;
    }
    Ok(())
}
