//! The cells of global memory: 32-bit words that parallel blocks share.
//!
//! Every access to global memory is made of relaxed atomic accesses to words, so racing kernels are
//! defined in Rust. Narrow stores replace bytes of a word; wide accesses are several words, which may
//! tear between racing weak accesses as the PTX memory model allows (ISA 8.10.3 asks for single-copy
//! atomicity of morally strong accesses only). Wide *strong* accesses take a lock of [`LockTable`].

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Words of memory: zeroed ones of its own, or the host's.
#[derive(Debug)]
pub(crate) struct Cells {
    words: NonNull<AtomicU32>,
    count: usize,
    /// The `Box<[AtomicU32]>` that the words are a part of, unless they are the host's.
    owned: Option<(NonNull<AtomicU32>, usize)>,
}

// SAFETY: the words are atomics, and nothing else about them changes.
unsafe impl Send for Cells {}
// SAFETY: as above.
unsafe impl Sync for Cells {}

impl Drop for Cells {
    fn drop(&mut self) {
        if let Some((all, count)) = self.owned {
            let words = std::ptr::slice_from_raw_parts_mut(all.as_ptr(), count);
            // SAFETY: `zeroed` leaked the box of these words, and nobody else frees it.
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

/// Words of a cache line.
const LINE: usize = 16;

impl Cells {
    /// At least `bytes` bytes of zeros; `None` when the host has no memory for them.
    pub(crate) fn zeroed(bytes: u64) -> Option<Cells> {
        let count = usize::try_from(bytes.div_ceil(4)).ok()?.checked_add(LINE)?;
        let mut words: Vec<u32> = Vec::new();
        words.try_reserve_exact(count).ok()?;
        drop(words);
        // Zeroed pages come from the system untouched. AtomicU32 has the size, alignment and bit validity
        // of u32.
        let all: NonNull<AtomicU32> = NonNull::from(Box::leak(vec![0u32; count].into_boxed_slice())).cast();
        // The first word in use starts a cache line, as addresses of allocations do.
        let start = all.as_ptr().align_offset(size_of::<[u32; LINE]>()).min(LINE);
        // SAFETY: `count` counts a line more than is used.
        let words = unsafe { all.add(start) };
        Some(Cells { words, count: count - start, owned: Some((all, count)) })
    }

    /// The host's own memory, which programs on the host may access at any time.
    ///
    /// # Safety
    /// `bytes` bytes rounded up to words stay readable and writable at `start`, a multiple of four, as
    /// long as the cells live.
    pub(crate) unsafe fn of_host(start: NonNull<u8>, bytes: u64) -> Cells {
        Cells { words: start.cast(), count: bytes.div_ceil(4) as usize, owned: None }
    }

    /// The words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        // SAFETY: `zeroed` made so many words, or `of_host` was promised them.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }

    /// Reads 1 to 8 bytes at a multiple of their number.
    #[inline(always)]
    pub(crate) fn load(&self, at: u64, size: u32) -> u64 {
        let word = (at >> 2) as usize;
        let low = self.words()[word].load(Relaxed);
        match size {
            4 => u64::from(low),
            8 => u64::from(low) | u64::from(self.words()[word + 1].load(Relaxed)) << 32,
            2 => u64::from((low >> (8 * (at & 2))) as u16),
            _ => u64::from((low >> (8 * (at & 3))) as u8),
        }
    }

    /// Writes 1 to 8 bytes at a multiple of their number. `exclusive`: no other thread runs.
    #[inline(always)]
    pub(crate) fn store(&self, at: u64, size: u32, value: u64, exclusive: bool) {
        let word = (at >> 2) as usize;
        match size {
            4 => self.words()[word].store(value as u32, Relaxed),
            8 => {
                self.words()[word].store(value as u32, Relaxed);
                self.words()[word + 1].store((value >> 32) as u32, Relaxed);
            }
            _ => {
                let (shift, ones) = if size == 2 { (8 * (at & 2), 0xffff) } else { (8 * (at & 3), 0xff) };
                let mask: u32 = ones << shift;
                let bits = (value as u32) << shift & mask;
                self.update(word, exclusive, |old| old & !mask | bits);
            }
        }
    }

    /// Replaces a word by a function of it, atomically; returns the old word.
    #[inline(always)]
    pub(crate) fn update(&self, word: usize, exclusive: bool, mut new: impl FnMut(u32) -> u32) -> u32 {
        let cell = &self.words()[word];
        let mut old = cell.load(Relaxed);
        if exclusive {
            cell.store(new(old), Relaxed);
            return old;
        }
        loop {
            match cell.compare_exchange_weak(old, new(old), Relaxed, Relaxed) {
                Ok(_) => return old,
                Err(now) => old = now,
            }
        }
    }

    /// Copies bytes out.
    pub(crate) fn read(&self, at: u64, bytes: &mut [u8]) {
        let (head, start) = head(at, bytes.len());
        let (first, rest) = bytes.split_at_mut(head);
        let (full, last) = rest.as_chunks_mut::<4>();
        let end = (start + full.len()) as u64 * 4;
        for (to, from) in first.iter_mut().zip(at..).chain(last.iter_mut().zip(end..)) {
            *to = self.load(from, 1) as u8;
        }
        if !full.is_empty() {
            for (to, word) in full.iter_mut().zip(&self.words()[start..]) {
                *to = word.load(Relaxed).to_le_bytes();
            }
        }
    }

    /// Copies bytes in.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        let (head, start) = head(at, bytes.len());
        let (first, rest) = bytes.split_at(head);
        let (full, last) = rest.as_chunks::<4>();
        let end = (start + full.len()) as u64 * 4;
        for (&byte, to) in first.iter().zip(at..).chain(last.iter().zip(end..)) {
            self.store(to, 1, byte.into(), false);
        }
        if !full.is_empty() {
            for (&from, word) in full.iter().zip(&self.words()[start..]) {
                word.store(u32::from_le_bytes(from), Relaxed);
            }
        }
    }
}

/// How many of `len` bytes at `at` come before the first full word, and the index of that word.
fn head(at: u64, len: usize) -> (usize, usize) {
    let head = (at.wrapping_neg() % 4) as usize;
    (head.min(len), (at as usize + head) / 4)
}

/// Spin locks by address, for accesses wider than a word that must not tear.
#[derive(Debug)]
pub(crate) struct LockTable {
    locks: Box<[AtomicBool]>,
}

impl LockTable {
    pub(crate) fn new() -> LockTable {
        LockTable { locks: (0..1024).map(|_| AtomicBool::new(false)).collect() }
    }

    /// Runs `body` while holding the lock of the 16 bytes around `address`.
    #[inline]
    pub(crate) fn with<T>(&self, address: u64, exclusive: bool, body: impl FnOnce() -> T) -> T {
        if exclusive {
            return body();
        }
        use std::sync::atomic::Ordering::{Acquire, Release};
        let lock = &self.locks[(address >> 4) as usize % self.locks.len()];
        while lock.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            std::hint::spin_loop();
        }
        let result = body();
        lock.store(false, Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_and_unaligned_copies_touch_only_their_bytes() {
        let cells = Cells::zeroed(16).unwrap();
        cells.write(0, &[0xff; 16]);
        cells.store(5, 1, 0x12, false);
        cells.store(6, 2, 0x3456, true);
        let mut bytes = [0; 16];
        cells.read(0, &mut bytes);
        assert_eq!(
            bytes,
            [255, 255, 255, 255, 255, 0x12, 0x56, 0x34, 255, 255, 255, 255, 255, 255, 255, 255]
        );
        cells.write(3, &[1, 2, 3]);
        let mut middle = [0; 5];
        cells.read(2, &mut middle);
        assert_eq!(middle, [255, 1, 2, 3, 0x56]);
        assert_eq!(cells.load(8, 8), u64::MAX);
        assert_eq!(cells.load(6, 2), 0x3456);
    }
}
