//! Warps of a block as compiled code takes them.

use jit::{Compiled, Runner};

/// Warps in code, and their indices in the block.
#[derive(Default)]
pub(crate) struct Squad {
    pub runners: Vec<Runner>,
    pub warps: Vec<usize>,
}

impl Squad {
    /// Leaves the first ones.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.runners.truncate(count);
        self.warps.truncate(count);
    }

    /// Whether code begins where the lowest of the first ones stand, for so many instructions of all of them.
    pub(crate) fn begins(&self, compiled: &Compiled, team: usize, left: i64) -> bool {
        let (mut low, mut next, mut count) = (u32::MAX, u32::MAX, 0);
        for runner in self.runners.iter().take(team) {
            if runner.position < low {
                (low, next, count) = (runner.position, low, 1);
            } else if runner.position == low {
                count += 1;
            } else {
                next = next.min(runner.position);
            }
        }
        let most = (left.max(0) as u64).div_ceil(count.max(1));
        compiled.begins(low, next, most, count > 1)
    }
}
