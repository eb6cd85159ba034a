//! Whether CUDA may be called: not in a function that a stream called, and not in a child of `fork`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Whether the thread runs a function that a stream or a graph called.
pub(crate) fn is_in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Runs a function of the program's that may not call CUDA.
pub(crate) fn in_callback(body: impl FnOnce()) {
    let outer = IN_CALLBACK.replace(true);
    body();
    IN_CALLBACK.set(outer);
}

/// Whether this process came of one that had initialised the devices.
static FORKED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn in_child() {
    FORKED.store(true, Relaxed);
}

/// From here on children of `fork` are known.
pub(crate) fn watch_forks() {
    // SAFETY: the function only writes an atomic.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// Whether this process is a child of one that had initialised the devices. As on a device it cannot use them: their
/// threads are not there, and locks may be held that nobody gives back.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Relaxed)
}
