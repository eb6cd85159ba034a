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

impl HeapState {
    /// A place for so many bytes, which are a multiple of the alignment: a new one, or else the smallest that was freed.
    fn place(&mut self, needed: u64) -> Option<u64> {
        if needed <= self.end - self.next {
            self.next += needed;
            return Some(self.next - needed);
        }
        let (room, address) = *self.free.range((needed, 0)..).next()?;
        self.free.remove(&(room, address));
        if room > needed {
            self.freed(address + needed, room - needed);
        }
        Some(address)
    }

    /// Makes a block that was freed.
    fn freed(&mut self, address: u64, room: u64) {
        self.blocks.insert(address, Block { size: room, room, live: false });
        self.free.insert((room, address));
    }

    /// Makes one place of freed ones that touch each other. What they were is forgotten, so that this comes only when
    /// nothing else helps.
    fn merge(&mut self) {
        let mut places: Vec<(u64, u64)> = self.free.iter().map(|&(room, address)| (address, room)).collect();
        places.sort_unstable();
        self.free.clear();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (address, room) in places {
            self.blocks.remove(&address);
            match merged.last_mut() {
                Some((first, sum)) if *first + *sum == address => *sum += room,
                _ => merged.push((address, room)),
            }
        }
        for (address, room) in merged {
            if address + room == self.next {
                self.next = address;
            } else {
                self.freed(address, room);
            }
        }
    }
}

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

    /// A new block; `None` when the heap is exhausted. Freed places are used again last. As on a device, a size that wraps
    /// when it is rounded up is a small one; nothing of such a block may be accessed.
    pub(crate) fn malloc(&self, bytes: u64) -> Option<u64> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let needed = (bytes.wrapping_add(ALIGNMENT - 1) & !(ALIGNMENT - 1)).max(ALIGNMENT);
        let address = inner.place(needed).or_else(|| {
            inner.merge();
            inner.place(needed)
        })?;
        let size = if bytes > needed { 0 } else { bytes };
        inner.blocks.insert(address, Block { size, room: needed, live: true });
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

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;

    fn heap(bytes: u64) -> DeviceHeap {
        let heap = DeviceHeap::default();
        heap.place(START, bytes);
        heap
    }

    #[test]
    fn a_size_that_wraps_is_a_small_one() {
        let heap = heap(1024);
        for (bytes, given) in
            [(u64::MAX, true), (u64::MAX - 7, true), (u64::MAX - 15, false), (1 << 63, false)]
        {
            let block = heap.malloc(bytes);
            assert_eq!(block.is_some(), given, "{bytes:#x}");
            let size = block.and_then(|at| heap.block(at)).map(|(_, size, _)| size);
            assert_eq!(size, given.then_some(0), "{bytes:#x}: nothing of it may be accessed");
        }
    }

    #[test]
    fn freed_places_become_one_when_nothing_else_helps() {
        let heap = heap(1024);
        let blocks: Vec<u64> = (0..4).map(|_| heap.malloc(256).expect("there is place")).collect();
        assert_eq!(heap.malloc(16), None);
        heap.free(blocks[1]).expect("it is a block");
        heap.free(blocks[2]).expect("it is a block");
        assert_eq!(heap.block(blocks[2]), Some((blocks[2], 256, false)), "known while nobody needs it");
        assert_eq!(heap.malloc(400), Some(blocks[1]));
        assert_eq!(heap.malloc(112), Some(blocks[1] + 400));
        assert_eq!(heap.malloc(16), None);
        for block in [blocks[0], blocks[1], blocks[1] + 400, blocks[3]] {
            heap.free(block).expect("it is a block");
        }
        assert_eq!(heap.malloc(1024), Some(START));
    }
}
