//! When a launch that is directed step by step is to stand still.

use crate::tools::Wants;

/// What it waits for.
#[derive(Debug)]
pub(crate) struct Pauses {
    /// It is such a launch: warps of a block do not run together, and blocks begin in fresh memory, so that equal places of
    /// a launch are equal data.
    pub stepwise: bool,
    /// As soon as so many warp instructions have run in all.
    at: u64,
    /// As soon as so many more of these events were told.
    kinds: Wants,
    events: u64,
    /// Behind the instruction that runs.
    asked: bool,
}

impl Pauses {
    /// Never.
    pub(crate) fn never(stepwise: bool) -> Self {
        Pauses { stepwise, at: u64::MAX, kinds: Wants::NONE, events: 0, asked: false }
    }

    /// When so many warp instructions have run in all.
    pub(crate) fn at(instructions: u64) -> Self {
        Pauses { at: instructions, ..Pauses::never(true) }
    }

    /// Behind the instruction that tells so many more events of some kinds.
    pub(crate) fn after(kinds: Wants, events: u64) -> Self {
        Pauses { kinds, events, asked: events == 0, ..Pauses::never(true) }
    }

    /// Events that must be told for its sake.
    pub(crate) fn kinds(&self) -> Wants {
        self.kinds
    }

    /// How many more warp instructions may run when so many have.
    #[inline(always)]
    pub(crate) fn left(&self, ran: u64) -> u64 {
        self.at.saturating_sub(ran)
    }

    /// Whether it is time when so many warp instructions have run.
    #[inline(always)]
    pub(crate) fn is_due(&self, ran: u64) -> bool {
        self.asked || ran >= self.at
    }

    /// Whether it is time behind the instruction that runs.
    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked
    }

    /// An event of a kind was told; `asked`: a tool wants the launch to stand still behind it.
    #[inline(always)]
    pub(crate) fn told(&mut self, kind: Wants, asked: bool) {
        if self.events > 0 && self.kinds.has(kind) {
            self.events -= 1;
            self.asked |= self.events == 0;
        }
        self.asked |= asked && self.stepwise;
    }
}
