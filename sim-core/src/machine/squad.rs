//! Warps of a block as compiled code takes them.

use jit::{Runner, Storage};
use semantics::lanes::LaneMask;

/// Warps in code, and their indices in the block.
#[derive(Default)]
pub(crate) struct Squad {
    pub runners: Vec<Runner>,
    pub warps: Vec<usize>,
}

impl Squad {
    /// Nobody is in it. Runners are left for those to come: making one takes twice as long.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.warps.clear();
    }

    /// Takes the warp of an index on.
    #[inline(always)]
    pub(crate) fn enlist(
        &mut self,
        warp: usize,
        storage: Storage,
        position: u32,
        lanes: LaneMask,
    ) -> &mut Runner {
        let member = self.warps.len();
        self.warps.push(warp);
        if member < self.runners.len() {
            self.runners[member].renew(storage, position, lanes);
        } else {
            self.runners.push(Runner::new(storage, position, lanes));
        }
        &mut self.runners[member]
    }

    /// Another block has begun in the buffers of the one whose warps these are.
    #[inline(always)]
    pub(crate) fn begin_again(&mut self, position: u32) {
        self.runners.iter_mut().for_each(|runner| runner.begin_again(position));
    }

    /// Leaves the first ones, at most so many, and no runner of others.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.warps.truncate(count);
        self.runners.truncate(self.warps.len());
    }
}
