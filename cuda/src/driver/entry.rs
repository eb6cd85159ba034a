//! Entry points by name and version, and tables that are refused.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use runtime::{Result, Status};

use crate::ffi::{put, put_wanted, text};
use crate::refused::{ENTRIES, Entry};

/// The function that a name, a version and a choice of streams mean.
pub(crate) fn find(name: &str, version: u32, per_thread: bool) -> Option<&'static Entry> {
    let candidates = ENTRIES.iter().filter(|entry| entry.base == name && entry.version <= version);
    // Only some functions have a form for streams of the thread.
    candidates
        .max_by_key(|entry| (entry.per_thread == per_thread, entry.version))
        .filter(|best| best.per_thread == per_thread || !best.per_thread)
}

/// Whether somebody asked for proof.
static ASKED: AtomicBool = AtomicBool::new(false);

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD: u64 = 2;
/// The first version after this driver's.
const NEXT: i32 = 14_000;

unsafe fn look_up(
    name: *const c_char,
    to: *mut *const c_void,
    version: i32,
    flags: u64,
    status: *mut u32,
) -> Result {
    // SAFETY: null or a string.
    let name = unsafe { text(name) }?;
    if to.is_null() || flags > 3 || version >= NEXT {
        return Err(Status::INVALID_VALUE);
    }
    // Versions before the first are taken for it.
    let version = u32::try_from(version).unwrap_or(0);
    let found = find(name, version, flags & PER_THREAD != 0);
    let newer = || ENTRIES.iter().any(|entry| entry.base == name);
    // SAFETY: null or for the results. 0 found, 1 no such symbol, 2 only from a later version on.
    unsafe {
        put_wanted(status, if found.is_some() { 0 } else { 1 + u32::from(newer()) });
        put(to, found.map_or(std::ptr::null(), |entry| entry.address as *const c_void))?;
    }
    if found.is_some() || !status.is_null() { Ok(()) } else { Err(Status::NOT_FOUND) }
}

api! {
    fn cuGetProcAddress(name: *const c_char, to: *mut *const c_void, version: i32, flags: u64) {
        look_up(name, to, version, flags, std::ptr::null_mut())
    }

    fn cuGetProcAddress_v2(
        name: *const c_char, to: *mut *const c_void, version: i32, flags: u64, status: *mut u32
    ) {
        look_up(name, to, version, flags, status)
    }

    fn cuGetExportTable(table: *mut *const c_void, _id: *const [u8; 16]) {
        if table.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put_wanted(table, std::ptr::null());
        // NVIDIA's compiler and linker ask too, and do without.
        if crate::jit::is_inside() || ASKED.swap(true, Relaxed) {
            return Err(Status::NOT_SUPPORTED);
        }
        eprintln!(
            "warpgrind: a part of the program has NVIDIA's CUDA runtime library in it, which asks the driver to \
             prove that it is NVIDIA's. That is not answered, and its calls fail. Build programs with `nvcc \
             -cudart shared`: then warpgrind's own libcudart is used"
        );
        Err(Status::NOT_SUPPORTED)
    }
}

/// Says that this is the simulator's driver, to whoever wants to know before using it.
#[unsafe(no_mangle)]
extern "C" fn warpgrind_dropin() -> u32 {
    1
}
