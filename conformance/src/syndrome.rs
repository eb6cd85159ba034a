//! A code over a run of 32-bit words that finds one that differs, and what it should be.
//!
//! The words are elements of the field of 2^32 elements, the polynomials over {0, 1} modulo
//! `x^32 + x^22 + x^2 + x + 1`, which is primitive. The code of words `w[0]` to `w[n-1]` is the pair of
//! their sum and of the sum of `w[i] x^(n-1-i)` (a Reed-Solomon code of distance 3): two runs that
//! differ in one or two places never have the same code, others with a probability of 2^-64.
//!
//! ```
//! use conformance::syndrome::{Code, Compared};
//! let recorded = Code::of([1, 2, 3].into_iter());
//! assert_eq!(recorded.compare([1, 2, 3].into_iter()), Compared::Equal);
//! assert_eq!(recorded.compare([1, 9, 3].into_iter()), Compared::One { at: 1, recorded: 2 });
//! assert_eq!(recorded.compare([1, 9, 8].into_iter()), Compared::Several);
//! ```

/// The code of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Code {
    /// The sum.
    pub plain: u32,
    /// The weighted sum.
    pub weighted: u32,
}

/// What comes of comparing a run with a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// The words are those that the code was made of.
    Equal,
    /// One differs.
    One {
        /// Which, from 0.
        at: usize,
        /// What it was when the code was made.
        recorded: u32,
    },
    /// More than one differs.
    Several,
}

/// Times x.
const fn shift(word: u32) -> u32 {
    (word << 1) ^ if word >> 31 == 0 { 0 } else { 0x0040_0007 }
}

impl Code {
    /// The code of these words.
    pub fn of(words: impl Iterator<Item = u32>) -> Code {
        words.fold(Code::default(), |code, word| Code {
            plain: code.plain ^ word,
            weighted: shift(code.weighted) ^ word,
        })
    }

    /// Compares words with those that the code was made of; as many as those were.
    pub fn compare(self, words: impl ExactSizeIterator<Item = u32> + Clone) -> Compared {
        let now = Code::of(words.clone());
        if now == self {
            return Compared::Equal;
        }
        let change = now.plain ^ self.plain;
        let weighted = now.weighted ^ self.weighted;
        let mut shifted = change;
        for (at, word) in words.enumerate().collect::<Vec<_>>().into_iter().rev() {
            if change != 0 && shifted == weighted {
                return Compared::One { at, recorded: word ^ change };
            }
            shifted = shift(shifted);
        }
        Compared::Several
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_single_change_is_found() {
        let words: Vec<u32> = (0..512u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
        let code = Code::of(words.iter().copied());
        assert_eq!(code.compare(words.iter().copied()), Compared::Equal);
        for at in [0, 1, 31, 32, 33, 300, 511] {
            for change in [1, 0x8000_0000, 0xffff_ffff, 0x1234_5678] {
                let mut other = words.clone();
                other[at] ^= change;
                let found = code.compare(other.iter().copied());
                assert_eq!(found, Compared::One { at, recorded: words[at] });
            }
        }
    }

    #[test]
    fn two_changes_are_seen() {
        let words = [5u32; 64];
        let code = Code::of(words.into_iter());
        for first in 0..64 {
            for second in first + 1..64 {
                let mut other = words;
                other[first] ^= 1;
                other[second] ^= 1;
                assert_eq!(code.compare(other.into_iter()), Compared::Several);
            }
        }
    }
}
