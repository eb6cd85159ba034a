//! Warps of a block as compiled code takes them.

use jit::Runner;

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
}
