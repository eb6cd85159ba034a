//! Wavefronts of shared memory: how often its 32 banks of four bytes are asked for one access of a warp.

use crate::lanes::LaneMask;

const BANKS: usize = 32;

/// Words of each bank that were asked for.
struct Banks {
    words: [[u64; BANKS]; BANKS],
    counts: [u8; BANKS],
    /// The largest count.
    most: u8,
}

impl Banks {
    fn new() -> Self {
        Banks { words: [[0; BANKS]; BANKS], counts: [0; BANKS], most: 0 }
    }

    /// Asks for a word; one that was asked for already costs nothing.
    fn ask(&mut self, word: u64) {
        let bank = (word % BANKS as u64) as usize;
        let count = usize::from(self.counts[bank]);
        if !self.words[bank][..count].contains(&word) && count < BANKS {
            self.words[bank][count] = word;
            self.counts[bank] += 1;
            self.most = self.most.max(self.counts[bank]);
        }
    }

    fn clear(&mut self) {
        (self.counts, self.most) = ([0; BANKS], 0);
    }
}

/// Wavefronts of an access of `bytes` a lane, and how few there could be. Up to four bytes a lane all lanes go together,
/// with eight half of the warp, with sixteen a quarter; parts that follow each other go together where no bank is then
/// asked for two words. In one part the bank that is asked for the most words decides.
pub(super) fn wavefronts(addresses: &[u64; 32], lanes: LaneMask, bytes: u32) -> (u64, u64) {
    let words = u64::from(bytes.div_ceil(4));
    let parts = words.clamp(1, 4).next_power_of_two() as usize;
    let each = 32 / parts;
    let mut banks = Banks::new();
    let (mut count, mut open) = (0, false);
    let mut distinct: [u64; 32] = [u64::MAX; 32];
    let mut different = 0usize;
    for part in 0..parts {
        let active = |lane: &usize| lanes >> lane & 1 != 0;
        let range = part * each..(part + 1) * each;
        if !range.clone().any(|lane| active(&lane)) {
            continue;
        }
        let ask = |banks: &mut Banks| {
            for lane in range.clone().filter(active) {
                let first = addresses[lane] / 4;
                (first..first + words).for_each(|word| banks.ask(word));
            }
        };
        for lane in range.clone().filter(active) {
            if !distinct[..different].contains(&addresses[lane]) {
                distinct[different] = addresses[lane];
                different += 1;
            }
        }
        if open {
            ask(&mut banks);
            if banks.most <= 1 {
                continue;
            }
            banks.clear();
        }
        ask(&mut banks);
        count += u64::from(banks.most);
        open = banks.most <= 1;
        if !open {
            banks.clear();
        }
    }
    let least = (different as u64 * u64::from(bytes)).div_ceil(4 * BANKS as u64);
    (count, least.min(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u32, lanes: LaneMask, address: impl Fn(u64) -> u64) -> (u64, u64) {
        wavefronts(&std::array::from_fn(|lane| address(lane as u64)), lanes, bytes)
    }

    #[test]
    fn strides_of_words() {
        for (stride, expected) in
            [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)]
        {
            assert_eq!(of(4, LaneMask::MAX, |lane| 1024 + 4 * stride * lane).0, expected, "stride {stride}");
        }
        assert_eq!(of(4, 0xffff, |lane| 128 * lane), (16, 1));
        assert_eq!(of(1, LaneMask::MAX, |lane| lane), (1, 1));
    }

    #[test]
    fn wide_accesses_go_in_parts() {
        assert_eq!(of(8, LaneMask::MAX, |lane| 8 * lane), (2, 2));
        assert_eq!(of(16, LaneMask::MAX, |lane| 16 * lane), (4, 4));
        assert_eq!(of(8, LaneMask::MAX, |_| 64), (1, 1));
        assert_eq!(of(16, 1, |_| 64), (1, 1));
        // Rows of 128 bytes, as `ldmatrix` reads them without a swizzle: eight lanes at the same banks.
        assert_eq!(of(16, 0xff, |lane| 128 * lane), (8, 1));
        assert_eq!(of(16, 0xff, |lane| 128 * lane + 16 * (lane % 8)), (1, 1));
        assert_eq!(of(16, LaneMask::MAX, |lane| 128 * lane + 16 * (lane % 8)), (4, 4));
    }
}
