//! Whether it pays to begin code for the warps of a block, by what came of it so far.

/// Steps that were made in code, less what it took to begin: of the last times, roughly.
#[derive(Debug)]
pub(crate) struct Gain {
    balance: i64,
    passed: u32,
}

/// Beginning takes as long as interpreting so many steps of each warp.
const PRICE: i64 = 10;
/// What a balance is at most, and where it starts: how long it may be bad before that has consequences.
const MOST: i64 = 2048;
/// What it is at least: as many steps in one go make it good again.
const LEAST: i64 = -256;
/// Of so many chances one is taken while it is bad, to see whether that is so still.
const AGAIN: u32 = 64;

impl Default for Gain {
    fn default() -> Gain {
        Gain { balance: MOST, passed: 0 }
    }
}

impl Gain {
    /// Whether to begin where one may.
    #[inline(always)]
    pub(crate) fn is_likely(&mut self) -> bool {
        self.balance >= 0 || {
            self.passed += 1;
            self.passed.is_multiple_of(AGAIN)
        }
    }

    /// So many warps began, and made so many steps in all.
    #[inline(always)]
    pub(crate) fn account(&mut self, warps: usize, steps: u64) {
        self.balance = (self.balance + steps as i64 - PRICE * warps as i64).clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::Gain;

    /// How many of so many chances were taken, each of which four warps used for so many steps.
    fn taken(gain: &mut Gain, chances: usize, steps: u64) -> usize {
        let taken = (0..chances).filter(|_| {
            let likely = gain.is_likely();
            if likely {
                gain.account(4, steps);
            }
            likely
        });
        taken.count()
    }

    #[test]
    fn short_stays_are_given_up_and_long_ones_taken_up_again() {
        let mut gain = Gain::default();
        assert_eq!(taken(&mut gain, 1000, 400), 1000);
        // 30 short of the price each, until what is left of the good times is used up; then now and then.
        let short = taken(&mut gain, 6400, 10);
        assert!((150..180).contains(&short), "{short}");
        let long = taken(&mut gain, 1000, 400);
        assert!(long > 900, "{long}");
    }
}
