//! Which bytes of a memory were ever written: the shadow of `--tool initcheck`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Which bytes of a memory were ever written: one bit a byte.
#[derive(Debug, Default)]
pub struct Written {
    bits: Vec<AtomicU64>,
}

impl Written {
    /// Nothing written of so many bytes.
    pub fn none(bytes: u64) -> Written {
        Written { bits: (0..bytes.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Calls `body` with each word of a range and the bits of the range in it.
    #[inline(always)]
    fn words(&self, at: u64, bytes: u64, mut body: impl FnMut(&AtomicU64, u64)) {
        let (mut at, end) = (at, at.saturating_add(bytes));
        while at < end {
            let Some(word) = self.bits.get((at / 64) as usize) else { return };
            let from = at % 64;
            let count = (64 - from).min(end - at);
            let ones = if count == 64 { u64::MAX } else { (1 << count) - 1 };
            body(word, ones << from);
            at += count;
        }
    }

    /// Bytes of the shadow itself.
    pub(crate) fn bytes(&self) -> u64 {
        8 * self.bits.len() as u64
    }

    /// Reads bytes of the shadow itself, from a multiple of 8 on.
    pub(crate) fn read(&self, at: u64, bytes: &mut [u8]) {
        for (word, bytes) in self.bits[at as usize / 8..].iter().zip(bytes.chunks_mut(8)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..bytes.len()]);
        }
    }

    /// Writes bytes of the shadow itself, in words of 8.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        for (word, bytes) in self.bits[at as usize / 8..].iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
    }

    /// Marks a range as written. What was marked before is only looked at: many threads write the same places.
    #[inline]
    pub fn set(&self, at: u64, bytes: u64) {
        self.words(at, bytes, |word, mask| {
            if word.load(Relaxed) & mask != mask {
                word.fetch_or(mask, Relaxed);
            }
        });
    }

    /// Marks a range as not written.
    pub fn clear(&self, at: u64, bytes: u64) {
        self.words(at, bytes, |word, mask| {
            word.fetch_and(!mask, Relaxed);
        });
    }

    /// Whether all bytes of a range were written.
    #[inline]
    pub fn all(&self, at: u64, bytes: u64) -> bool {
        let mut all = true;
        self.words(at, bytes, |word, mask| all &= word.load(Relaxed) & mask == mask);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cross_words() {
        let written = Written::none(200);
        written.set(60, 70);
        assert!(written.all(60, 70) && !written.all(59, 2) && !written.all(129, 2));
        written.clear(64, 1);
        assert!(!written.all(60, 70) && written.all(65, 65));
    }
}
