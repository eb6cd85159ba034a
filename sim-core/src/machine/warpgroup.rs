//! What the four warps of a warpgroup have issued of `wgmma.mma_async` (ISA 9.7.15.1), and what each still waits for.

/// Warps of a warpgroup.
pub(crate) const WARPS: usize = 4;
/// An operation as the first warp issued it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Issued {
    /// Of the instruction.
    pub position: u32,
    /// What all warps must have alike: the descriptors of A, if it has one, and B.
    pub descriptors: [u64; 2],
}

/// How a warp stands to the next operation of its warpgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// Others have not come to it yet.
    Waits,
    /// It is the last one, and others may wait for it.
    Last,
    /// The others have come meanwhile.
    Woken,
}

/// Four warps. An operation begins once all of them have come to it: none is more than one ahead.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Warpgroup {
    /// Operations that each warp has come to.
    come: [u64; WARPS],
    /// Operations that each warp has issued.
    issued: [u64; WARPS],
    /// The latest of them.
    latest: Issued,
}

impl Warpgroup {
    /// Operations that all warps have issued.
    pub(crate) fn complete(&self) -> u64 {
        self.issued.into_iter().min().unwrap_or(0)
    }

    /// A warp comes to its next operation.
    pub(crate) fn comes(&mut self, warp: usize) -> Came {
        let number = self.issued[warp] + 1;
        let first = std::mem::replace(&mut self.come[warp], number) != number;
        match (self.come.iter().all(|&come| come >= number), first) {
            (false, _) => Came::Waits,
            (true, true) => Came::Last,
            (true, false) => Came::Woken,
        }
    }

    /// The warps that another one waits for.
    pub(crate) fn missing(&self, warp: usize) -> impl Iterator<Item = usize> {
        // Before an operation, or behind one.
        let before = self.come[warp] > self.issued[warp];
        let (count, number) =
            if before { (self.come, self.come[warp]) } else { (self.issued, self.issued[warp]) };
        (0..WARPS).filter(move |&warp| count[warp] < number)
    }

    /// Operations that a warp has issued.
    pub(crate) fn issued(&self, warp: usize) -> u64 {
        self.issued[warp]
    }

    /// A warp issues one more; the same one of the warp that was first to.
    pub(crate) fn issue(&mut self, warp: usize, operation: Issued) -> Issued {
        let number = self.issued[warp];
        if self.issued.iter().all(|&issued| issued <= number) {
            self.latest = operation;
        }
        self.issued[warp] += 1;
        self.latest
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
