//! When a launch that is directed step by step is to stand still.

use crate::tools::{Wants, WarpId};
use semantics::lanes::LaneMask;

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
    /// As soon as something is found.
    pub findings: bool,
    /// Before instructions.
    pub breaks: Breaks,
}

/// Instructions before which a launch stands still.
#[derive(Default, Debug)]
pub(crate) struct Breaks {
    /// By position, the first such one that is not before it; empty if there is none.
    next: Vec<u32>,
    /// Each instruction of these lanes.
    pub followed: Option<(WarpId, LaneMask)>,
    /// Each instruction.
    pub any: bool,
    /// The launch has stood still before the instruction that runs when so many warp instructions have.
    pub passed: Option<u64>,
}

impl Breaks {
    /// Those at some positions of code of so many instructions.
    pub(crate) fn set(&mut self, positions: &[u32], instructions: usize) {
        self.next.clear();
        if positions.is_empty() {
            return;
        }
        self.next.resize(instructions + 1, u32::MAX);
        for &position in positions {
            if let Some(next) = self.next.get_mut(position as usize) {
                *next = position;
            }
        }
        for at in (0..instructions).rev() {
            self.next[at] = self.next[at].min(self.next[at + 1]);
        }
    }

    /// Which of the lanes of a warp are followed.
    #[inline(always)]
    pub(crate) fn followed(&self, block: u64, warp: usize) -> LaneMask {
        match self.followed {
            Some((id, lanes)) if id.block == block && id.warp as usize == warp => lanes,
            _ => 0,
        }
    }

    /// The first instruction from a position on before which lanes stand still, when so many have run; `u32::MAX` if none.
    #[inline(always)]
    pub(crate) fn from(&self, position: u32, follows: bool, ran: u64) -> u32 {
        if self.next.is_empty() && !follows && !self.any {
            return u32::MAX;
        }
        self.look(position, follows, ran)
    }

    fn look(&self, position: u32, follows: bool, ran: u64) -> u32 {
        let first = if self.passed == Some(ran) { position + 1 } else { position };
        match follows || self.any {
            true => first,
            false => self.next.get(first as usize).copied().unwrap_or(u32::MAX),
        }
    }
}

impl Pauses {
    /// Never.
    pub(crate) fn never(stepwise: bool) -> Self {
        Pauses {
            stepwise,
            at: u64::MAX,
            kinds: Wants::NONE,
            events: 0,
            asked: false,
            findings: false,
            breaks: Breaks::default(),
        }
    }

    /// Waits for nothing but breaks and findings.
    pub(crate) fn clear(&mut self) {
        (self.at, self.kinds, self.events, self.asked) = (u64::MAX, Wants::NONE, 0, false);
    }

    /// When so many warp instructions have run in all.
    pub(crate) fn set_at(&mut self, instructions: u64) {
        self.clear();
        self.at = instructions;
    }

    /// Behind the instruction that tells so many more events of some kinds.
    pub(crate) fn set_after(&mut self, kinds: Wants, events: u64) {
        self.clear();
        (self.kinds, self.events, self.asked) = (kinds, events, events == 0);
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

    /// Something was found.
    pub(crate) fn found(&mut self) {
        self.asked |= self.findings;
    }
}
