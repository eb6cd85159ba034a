//! The cells of global memory: 32-bit words that parallel blocks share.
//!
//! Every access to global memory is made of relaxed atomic accesses to words, so racing kernels are
//! defined in Rust. Narrow stores replace bytes of a word; accesses of 8 and 16 aligned bytes do not tear,
//! see [`super::wide`].

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::wide::{Wide, compare_exchange_double, load_double, store_double};

/// Words of memory: zeroed ones of its own, or the host's.
#[derive(Debug)]
pub(crate) struct Cells {
    words: NonNull<AtomicU32>,
    count: usize,
    owned: Owned,
}

/// Whose the words are.
#[derive(Clone, Copy, Debug)]
enum Owned {
    /// The host's.
    Not,
    /// A part of this `Box<[AtomicU32]>`.
    Boxed(NonNull<AtomicU32>, usize),
    /// A mapping of so many bytes.
    Mapped(usize),
}

// SAFETY: the words are atomics, and nothing else about them changes.
unsafe impl Send for Cells {}
// SAFETY: as above.
unsafe impl Sync for Cells {}

impl Drop for Cells {
    fn drop(&mut self) {
        match self.owned {
            Owned::Not => {}
            Owned::Boxed(all, count) => {
                let words = std::ptr::slice_from_raw_parts_mut(all.as_ptr(), count);
                // SAFETY: `zeroed` leaked the box of these words, and nobody else frees it.
                drop(unsafe { Box::from_raw(words) });
            }
            Owned::Mapped(bytes) => {
                // SAFETY: `mapped` made the mapping, and nobody else has it.
                unsafe { libc::munmap(self.words.as_ptr().cast(), bytes) };
            }
        }
    }
}

/// Words of a cache line.
const LINE: usize = 16;
/// Sizes of memory that is made of large pages, where the host has them: smaller memory has no use for them, and of larger
/// memory programs may touch here and there a byte.
const LARGE: std::ops::RangeInclusive<usize> = 4 << 20..=1 << 30;
/// Bytes from which on memory is mapped by itself.
const MAPPED: u64 = 1 << 20;

impl Cells {
    /// At least `bytes` bytes of zeros; `None` when the host has no memory for them.
    pub(crate) fn zeroed(bytes: u64) -> Option<Cells> {
        if bytes >= MAPPED {
            return Cells::mapped(bytes);
        }
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
        Some(Cells { words, count: count - start, owned: Owned::Boxed(all, count) })
    }

    /// Zeros that the host gives page by page when they are touched, be it more than it has.
    fn mapped(bytes: u64) -> Option<Cells> {
        let size = usize::try_from(bytes).ok()?.checked_add(4 * LINE)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // Miri knows no memory that is not reserved.
        let reserve = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | reserve;
        // SAFETY: a new private mapping touches nothing else.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        #[cfg(all(target_os = "linux", not(miri)))]
        if LARGE.contains(&size) {
            // SAFETY: a hint about the new mapping; that it is not taken does no harm.
            unsafe { libc::madvise(start, size, libc::MADV_HUGEPAGE) };
        }
        let words = NonNull::new(start.cast())?;
        Some(Cells { words, count: size / 4, owned: Owned::Mapped(size) })
    }

    /// The beginning of a file, for all who map it; `None` if it is shorter, or the host does not map it.
    pub(crate) fn of_file(file: &File, bytes: u64) -> Option<Cells> {
        if file.metadata().ok()?.len() < bytes {
            return None;
        }
        let size = usize::try_from(bytes).ok()?.max(1).checked_next_multiple_of(4096)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping; what else is done to the file changes words, which are atomics.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let words = NonNull::new(start.cast())?;
        Some(Cells { words, count: size / 4, owned: Owned::Mapped(size) })
    }

    /// The host's own memory, which programs on the host may access at any time.
    ///
    /// # Safety
    /// `bytes` bytes rounded up to words stay readable and writable at `start`, a multiple of four, as
    /// long as the cells live.
    pub(crate) unsafe fn of_host(start: NonNull<u8>, bytes: u64) -> Cells {
        Cells { words: start.cast(), count: bytes.div_ceil(4) as usize, owned: Owned::Not }
    }

    /// The words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        // SAFETY: `zeroed` made so many words, or `of_host` was promised them.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }

    /// The place of a range of bytes, which is inside.
    fn bytes(&self, at: u64, count: u64) -> *mut u8 {
        assert!(at.checked_add(count).is_some_and(|end| end <= 4 * self.count as u64));
        self.words.as_ptr().cast::<u8>().wrapping_add(at as usize)
    }

    /// The place of `N` words.
    #[inline(always)]
    fn place<const N: usize>(&self, word: usize) -> *mut u32 {
        self.words()[word..word + N].as_ptr().cast_mut().cast()
    }

    /// Reads 16 bytes at a multiple of 16 as one access.
    #[inline(always)]
    pub(crate) fn load_wide(&self, at: u64, wide: Wide) -> u128 {
        // SAFETY: the place has four words, aligned as the address is.
        unsafe { wide.load(self.place::<4>((at >> 2) as usize)) }
    }

    /// Writes 16 bytes at a multiple of 16 as one access.
    #[inline(always)]
    pub(crate) fn store_wide(&self, at: u64, value: u128, wide: Wide) {
        // SAFETY: as above.
        unsafe { wide.store(self.place::<4>((at >> 2) as usize), value) }
    }

    /// Replaces 16 bytes by a function of them, atomically; returns the old ones.
    pub(crate) fn update_wide(
        &self,
        at: u64,
        wide: Wide,
        exclusive: bool,
        new: impl Fn(u128) -> u128,
    ) -> u128 {
        if exclusive {
            let old = self.load_wide(at, wide);
            self.store_wide(at, new(old), wide);
            return old;
        }
        // SAFETY: as above.
        unsafe { wide.update(self.place::<4>((at >> 2) as usize), new) }
    }

    /// Reads 1 to 8 bytes at a multiple of their number, as one access.
    #[inline(always)]
    pub(crate) fn load(&self, at: u64, size: u32) -> u64 {
        let word = (at >> 2) as usize;
        if size == 8 {
            // SAFETY: the place has two words.
            return unsafe { load_double(self.place::<2>(word)) };
        }
        let low = self.words()[word].load(Relaxed);
        match size {
            4 => u64::from(low),
            2 => u64::from((low >> (8 * (at & 2))) as u16),
            _ => u64::from((low >> (8 * (at & 3))) as u8),
        }
    }

    /// Writes 1 to 8 bytes at a multiple of their number, as one access. `exclusive`: no other thread runs.
    #[inline(always)]
    pub(crate) fn store(&self, at: u64, size: u32, value: u64, exclusive: bool) {
        let word = (at >> 2) as usize;
        match size {
            4 => self.words()[word].store(value as u32, Relaxed),
            // SAFETY: the place has two words.
            8 => unsafe { store_double(self.place::<2>(word), value) },
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

    /// The same for two words from `word` on, which are aligned.
    #[inline(always)]
    pub(crate) fn update_double(&self, word: usize, exclusive: bool, mut new: impl FnMut(u64) -> u64) -> u64 {
        let place = self.place::<2>(word);
        // SAFETY: the place has two words.
        unsafe {
            let mut old = load_double(place);
            if exclusive {
                store_double(place, new(old));
                return old;
            }
            loop {
                match compare_exchange_double(place, old, new(old)) {
                    now if now == old => return old,
                    now => old = now,
                }
            }
        }
    }

    /// Calls `body` with the place in a range and the size of each access to it, as wide as can be: a word
    /// that the host writes is one for kernels that wait for it.
    fn accesses(&self, at: u64, bytes: usize, mut body: impl FnMut(usize, usize)) {
        let address = self.words.addr().get() + at as usize;
        let mut done = 0;
        while done < bytes {
            let size = 1 << (address + done).trailing_zeros().min((bytes - done).ilog2()).min(3);
            body(done, size);
            done += size;
        }
    }

    /// Copies bytes out.
    pub(crate) fn read(&self, at: u64, bytes: &mut [u8]) {
        let source = self.bytes(at, bytes.len() as u64);
        // SAFETY: both places have so many bytes.
        if bytes.len() as u64 >= BULK && unsafe { move_bytes(bytes.as_mut_ptr(), source, bytes.len()) } {
            return;
        }
        self.accesses(at, bytes.len(), |done, size| {
            let value = self.load(at + done as u64, size as u32).to_le_bytes();
            bytes[done..done + size].copy_from_slice(&value[..size]);
        });
    }

    /// Copies bytes in.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        let target = self.bytes(at, bytes.len() as u64);
        // SAFETY: both places have so many bytes.
        if bytes.len() as u64 >= BULK && unsafe { move_bytes(target, bytes.as_ptr(), bytes.len()) } {
            return;
        }
        self.accesses(at, bytes.len(), |done, size| {
            let mut value = [0; 8];
            value[..size].copy_from_slice(&bytes[done..done + size]);
            self.store(at + done as u64, size as u32, u64::from_le_bytes(value), false);
        });
    }

    /// Copies bytes from other cells, or from these; where both overlap, in ascending order.
    pub(crate) fn copy(&self, to: u64, other: &Cells, from: u64, bytes: u64) {
        let (target, source) = (self.bytes(to, bytes), other.bytes(from, bytes));
        // SAFETY: both places have so many bytes.
        if bytes >= BULK && unsafe { move_bytes(target, source, bytes as usize) } {
            return;
        }
        let mut piece = [0; 4096];
        let mut done = 0;
        while done < bytes {
            let piece = &mut piece[..(bytes - done).min(4096) as usize];
            other.read(from + done, piece);
            self.write(to + done, piece);
            done += piece.len() as u64;
        }
    }

    /// Writes a pattern of 1, 2 or 4 bytes again and again.
    pub(crate) fn fill(&self, at: u64, bytes: u64, pattern: &[u8]) {
        if pattern.is_empty() {
            return;
        }
        let value = |offset: u64| u64::from(pattern[(offset % pattern.len() as u64) as usize]);
        let (head, start) = head(at, bytes as usize);
        let full = (bytes as usize - head) / 4;
        let byte = |offset: u64| self.store(at + offset, 1, value(offset), false);
        (0..head as u64).for_each(byte);
        let place = self.bytes(at + head as u64, 4 * full as u64);
        let word = [0, 1, 2, 3].map(|byte| value(head as u64 + byte) as u8);
        let word = u32::from_le_bytes(word);
        // SAFETY: the place has so many words.
        if bytes < BULK || !unsafe { fill_words(place.cast(), full, word) } {
            for cell in self.words()[start..].iter().take(full) {
                cell.store(word, Relaxed);
            }
        }
        ((head + 4 * full) as u64..bytes).for_each(byte);
    }
}

/// From so many bytes on the processor's own instructions for copies are faster than a loop.
const BULK: u64 = 512;

/// Moves bytes in ascending order; `false` if there is no instruction for it. As the processor sees it, these
/// are plain loads and stores, which other threads' accesses to the same cells may come between.
///
/// # Safety
/// Both places have so many bytes, readable and writable.
#[inline]
unsafe fn move_bytes(to: *mut u8, from: *const u8, count: usize) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the caller's promise.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags),
        );
    }
    let _ = (to, from, count);
    cfg!(all(target_arch = "x86_64", not(miri)))
}

/// Writes a word again and again, likewise.
///
/// # Safety
/// The place has so many words, writable.
#[inline]
unsafe fn fill_words(to: *mut u32, count: usize, word: u32) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the caller's promise.
    unsafe {
        std::arch::asm!(
            "rep stosd",
            inout("rcx") count => _, inout("rdi") to => _, in("eax") word,
            options(nostack, preserves_flags),
        );
    }
    let _ = (to, count, word);
    cfg!(all(target_arch = "x86_64", not(miri)))
}

/// How many of `len` bytes at `at` come before the first full word, and the index of that word.
fn head(at: u64, len: usize) -> (usize, usize) {
    let head = (at.wrapping_neg() % 4) as usize;
    (head.min(len), (at as usize + head) / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_fills_do_what_bytes_would() {
        for (to, from, bytes) in
            [(0, 0, 32), (1, 5, 20), (3, 7, 1), (2, 6, 2), (0, 1, 30), (5, 2, 9), (4, 8, 0), (1, 1, 2)]
        {
            let (cells, other) = (Cells::zeroed(40).unwrap(), Cells::zeroed(40).unwrap());
            let source: Vec<u8> = (1..=40).collect();
            other.write(0, &source);
            cells.copy(to as u64, &other, from as u64, bytes as u64);
            let (mut got, mut expected) = (vec![0; 40], vec![0; 40]);
            cells.read(0, &mut got);
            expected[to..to + bytes].copy_from_slice(&source[from..from + bytes]);
            assert_eq!(got, expected, "{to} {from} {bytes}");

            cells.fill(to as u64, bytes as u64, &[9, 8, 7, 6]);
            cells.read(0, &mut got);
            let pattern = [9, 8, 7, 6].into_iter().cycle();
            expected[to..to + bytes].iter_mut().zip(pattern).for_each(|(byte, value)| *byte = value);
            assert_eq!(got, expected, "{to} {bytes}");
        }
        // The same for as many bytes as are moved at once.
        let (cells, other) = (Cells::zeroed(3000).unwrap(), Cells::zeroed(3000).unwrap());
        let source: Vec<u8> = (0..3000).map(|at| (at * 7 % 251) as u8).collect();
        other.write(0, &source);
        let (mut got, mut expected) = (vec![0; 3000], vec![0; 3000]);
        for (to, from, bytes) in [(0, 0, 3000), (1, 2, 2001), (7, 7, 700), (2, 5, 512), (3, 0, 511)] {
            cells.copy(to as u64, &other, from as u64, bytes as u64);
            cells.read(0, &mut got);
            expected[to..to + bytes].copy_from_slice(&source[from..from + bytes]);
            assert!(got == expected, "{to} {from} {bytes}");
            cells.fill(to as u64, bytes as u64 / 2, &[1, 2]);
            cells.read(0, &mut got);
            let pattern = [1, 2].into_iter().cycle();
            expected[to..to + bytes / 2].iter_mut().zip(pattern).for_each(|(byte, value)| *byte = value);
            assert!(got == expected, "{to} {bytes}");
        }
        let mut unaligned = vec![0; 1000];
        other.read(3, &mut unaligned[1..900]);
        assert_eq!(unaligned[1..900], source[3..902]);
    }

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
