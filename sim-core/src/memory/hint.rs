//! Where an instruction accessed memory last.

use std::sync::atomic::AtomicU32;

use super::Allocation;

/// The allocation that an instruction accessed last.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Hint {
    /// First address.
    pub base: u64,
    /// Bytes; 0 when there is no hint.
    pub size: u64,
    /// The words of the allocation, kept alive by the worker's snapshot.
    pub words: *const AtomicU32,
    /// Whether kernels may write to it.
    pub writable: bool,
}

impl Hint {
    pub(crate) const NONE: Hint = Hint { base: 0, size: 0, words: std::ptr::null(), writable: false };

    pub(crate) fn of(allocation: &Allocation) -> Hint {
        Hint {
            base: allocation.base,
            size: allocation.size,
            words: allocation.cells.words().as_ptr(),
            writable: allocation.is_writable(),
        }
    }
}
