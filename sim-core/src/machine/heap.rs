//! The heap of `malloc` and `free` in kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Blocks of the device heap, by address.
#[derive(Debug, Default)]
pub(crate) struct DeviceHeap {
    inner: Mutex<HeapState>,
}

/// What a heap consists of.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct HeapState {
    /// Range of the heap; empty until the first `malloc`.
    start: u64,
    end: u64,
    next: u64,
    /// How large it will be, if not as configured.
    wanted: Option<u64>,
    blocks: BTreeMap<u64, Block>,
    /// Freed blocks: room and address.
    free: BTreeSet<(u64, u64)>,
}

#[derive(Clone, PartialEq, Debug)]
struct Block {
    /// Bytes asked for.
    size: u64,
    /// Bytes it has.
    room: u64,
    live: bool,
}

/// What is wrong with a `free`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FreeError {
    /// It was freed before.
    Double,
    /// It lies in the heap, and no block begins there.
    Inside,
    /// It lies elsewhere.
    Outside,
}

/// Alignment of blocks, as CUDA's `malloc`.
const ALIGNMENT: u64 = 16;

impl DeviceHeap {
    /// What it is now.
    pub(crate) fn state(&self) -> HeapState {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes it that.
    pub(crate) fn restore(&self, state: &HeapState) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone_from(state);
    }

    /// Sets the range once; later calls change nothing.
    pub(crate) fn place(&self, start: u64, bytes: u64) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.end == 0 {
            (inner.start, inner.end, inner.next) = (start, start + bytes, start);
        }
    }

    /// Changes how large it will be; false if it has its range already.
    pub(crate) fn resize(&self, bytes: u64) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let may = inner.end == 0;
        if may {
            inner.wanted = Some(bytes);
        }
        may
    }

    /// How large it will be, if that was changed.
    pub(crate) fn wanted(&self) -> Option<u64> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).wanted
    }

    /// Whether the heap has its range.
    pub(crate) fn is_placed(&self) -> bool {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).end != 0
    }

    /// A new block; `None` when the heap is exhausted. Freed places are used again last.
    pub(crate) fn malloc(&self, bytes: u64) -> Option<u64> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let needed = bytes.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let (room, address) = if needed <= inner.end - inner.next {
            inner.next += needed;
            (needed, inner.next - needed)
        } else {
            let fits = *inner.free.range((needed, 0)..).next()?;
            inner.free.remove(&fits);
            fits
        };
        inner.blocks.insert(address, Block { size: bytes, room, live: true });
        Some(address)
    }

    /// Frees a block.
    pub(crate) fn free(&self, address: u64) -> Result<(), FreeError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = (inner.start..inner.end).contains(&address);
        match inner.blocks.get_mut(&address) {
            Some(block) if block.live => {
                block.live = false;
                let room = block.room;
                inner.free.insert((room, address));
                Ok(())
            }
            Some(_) => Err(FreeError::Double),
            None if inside => Err(FreeError::Inside),
            None => Err(FreeError::Outside),
        }
    }

    /// The block at or below an address: start, size, live.
    pub(crate) fn block(&self, address: u64) -> Option<(u64, u64, bool)> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.blocks.range(..=address).next_back().map(|(&start, block)| (start, block.size, block.live))
    }
}
