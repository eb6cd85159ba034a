//! A block's barriers.

use super::warp::Warp;
use semantics::lanes::LaneMask;

/// One of a block's barriers between two completions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct BlockBarrier {
    /// Lanes of each warp that have arrived.
    pub(crate) arrived: Vec<LaneMask>,
    /// Thread count asked for; `None` means all threads of the block.
    pub(crate) expected: Option<u32>,
    /// What arrived: reductions cannot mix with `sync` and `arrive`.
    pub(crate) reduction: bool,
    pub(crate) active: bool,
    /// Warps with live lanes that have not arrived, if no count is expected.
    pub(crate) missing: u32,
    /// Threads that count as arrived, if a count is expected.
    pub(crate) come: u32,
    pub(crate) popc: u32,
    pub(crate) and: bool,
    pub(crate) or: bool,
    /// Arrivals of warps whose lanes had already arrived.
    pub(crate) extra: u32,
}

impl BlockBarrier {
    pub(crate) fn reset(&mut self) {
        self.arrived.fill(0);
        self.expected = None;
        self.reduction = false;
        self.active = false;
        (self.popc, self.and, self.or) = (0, true, false);
        self.extra = 0;
    }

    /// Threads that count as arrived. A warp counts whole once all its live lanes came: with a count,
    /// arrival is in units of warps.
    pub(crate) fn count(&self, warps: &[Warp]) -> u32 {
        let whole = self.expected.is_some();
        let per_warp = self.arrived.iter().zip(warps).map(|(&arrived, warp)| {
            if whole && arrived != 0 && warp.live() & !arrived == 0 { 32 } else { arrived.count_ones() }
        });
        per_warp.sum::<u32>() + self.extra
    }

    /// Starts waiting.
    pub(crate) fn open(&mut self, warps: usize) {
        self.active = true;
        self.arrived.resize(warps, 0);
        (self.popc, self.and, self.or) = (0, true, false);
    }

    /// Warps with live lanes that have not arrived.
    pub(crate) fn count_missing(&self, warps: &[Warp]) -> u32 {
        self.arrived.iter().zip(warps).map(|(&arrived, warp)| u32::from(warp.live() & !arrived != 0)).sum()
    }

    /// Why it does not complete.
    pub(crate) fn explain(&self, warps: &[Warp], id: u8) -> String {
        let arrived = self.count(warps);
        let expected =
            self.expected.unwrap_or_else(|| warps.iter().map(|warp| warp.live().count_ones()).sum());
        let missing: u32 = self
            .arrived
            .iter()
            .zip(warps)
            .map(|(&arrived, warp)| (warp.live() & !arrived).count_ones())
            .sum();
        let rest = match self.expected {
            Some(_) => String::new(),
            None => format!("; {missing} threads that have not exited never reach it"),
        };
        format!("barrier {id} waits for {expected} threads, {arrived} have arrived{rest}")
    }
}
