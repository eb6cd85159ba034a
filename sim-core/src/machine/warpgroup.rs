//! What the four warps of a warpgroup have issued of `wgmma.mma_async` (ISA 9.7.15.1), and what each still waits for.

/// Warps of a warpgroup.
pub(crate) const WARPS: usize = 4;
/// Operations that one warp may be ahead of another.
const AHEAD: usize = 64;

/// An operation as the first warp issued it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Issued {
    /// Of the instruction.
    pub position: u32,
    /// What all warps must have alike: the descriptors of A, if it has one, and B.
    pub descriptors: [u64; 2],
}

/// Four warps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Warpgroup {
    /// Operations that each warp has issued.
    issued: [u64; WARPS],
    /// The latest of them, by their number.
    latest: [Issued; AHEAD],
}

impl Default for Warpgroup {
    fn default() -> Self {
        Warpgroup { issued: [0; WARPS], latest: [Issued::default(); AHEAD] }
    }
}

impl Warpgroup {
    /// Operations that all warps have issued.
    pub(crate) fn complete(&self) -> u64 {
        self.issued.into_iter().min().unwrap_or(0)
    }

    /// Whether a warp must let the others catch up before it issues one more.
    pub(crate) fn is_ahead(&self, warp: usize) -> bool {
        self.issued[warp] - self.complete() >= AHEAD as u64
    }

    /// The warps that have issued fewer operations than this.
    pub(crate) fn missing(&self, number: u64) -> impl Iterator<Item = usize> {
        let issued = self.issued;
        (0..WARPS).filter(move |&warp| issued[warp] < number)
    }

    /// Operations that a warp has issued.
    pub(crate) fn issued(&self, warp: usize) -> u64 {
        self.issued[warp]
    }

    /// A warp issues one more; the same one of the warp that was first to.
    pub(crate) fn issue(&mut self, warp: usize, operation: Issued) -> Issued {
        let number = self.issued[warp];
        let first = self.issued.iter().all(|&issued| issued <= number);
        let place = &mut self.latest[(number % AHEAD as u64) as usize];
        if first {
            *place = operation;
        }
        self.issued[warp] += 1;
        *place
    }
}

/// What is known of a register that `wgmma.mma_async` uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Used {
    /// The latest operation that uses it, by its number from 1, and where that was issued.
    pub operation: u64,
    pub position: u32,
    /// Which shape that adds to it in; `None` where it only reads it.
    pub adds: Option<u32>,
    /// The fences before that.
    pub fences: u32,
    /// Another instruction that accessed it since as many fences, and whether that wrote it.
    pub touched: Option<(u32, u32, bool)>,
}

/// Groups that are remembered apart; of older ones only the latest is.
const GROUPS: usize = 64;

/// What a warp has committed and not waited for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pending {
    /// Operations issued when each group was committed, the oldest first.
    groups: Vec<u64>,
    /// Operations that are complete.
    pub done: u64,
    /// Executed `wgmma.fence`.
    pub fences: u32,
    /// Its registers.
    pub registers: Vec<Used>,
}

impl Pending {
    /// Nothing.
    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.registers.clear();
        (self.done, self.fences) = (0, 0);
    }

    /// The operations so far become a group.
    pub(crate) fn commit(&mut self, issued: u64) {
        if self.groups.len() == GROUPS {
            self.groups.remove(0);
        }
        self.groups.push(issued);
    }

    /// Operations in all groups but so many of the latest.
    pub(crate) fn up_to(&self, most: u32) -> u64 {
        let at = self.groups.len().checked_sub(most as usize + 1);
        at.and_then(|at| self.groups.get(at)).map_or(self.done, |&issued| issued.max(self.done))
    }

    /// These groups are complete.
    pub(crate) fn finish(&mut self, most: u32, done: u64) {
        let kept = self.groups.len().min(most as usize);
        self.groups.drain(..self.groups.len() - kept);
        self.done = done;
    }
}
