//! Turns: what an engine knows of the block, warp and group that it runs, as data, so that a launch can stand still in the
//! middle of one and go on as if it had not.

/// The rest of a block's turn, where a launch stands still.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BlockTurn {
    /// Rank of the block in its cluster.
    pub rank: usize,
    /// Turns of its warps in which they only seemed to wait.
    pub waiting_turns: u64,
    /// The warp whose turn it is, if that is not over.
    pub warp: Option<WarpTurn>,
}

/// A warp's turn.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WarpTurn {
    /// Of the warp in its block.
    pub index: usize,
    /// Warp instructions that it is about, and those that are left; negative if it ran more.
    pub slice: u64,
    pub left: i64,
    /// [`Worker::waits`](super::worker::Worker) when it began.
    pub waits: u64,
    /// The group that waited longest runs next.
    pub fair: bool,
    /// The group whose turn it is, if that is not over: the running one.
    pub group: Option<GroupTurn>,
}

/// A group's turn.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GroupTurn {
    /// Warp instructions that are left of it, and of them those until other groups are looked at.
    pub most: u64,
    pub until_look: u64,
    /// The position of another group that it must not pass.
    pub stop: u32,
    /// [`Worker::waits`](super::worker::Worker) when it began.
    pub waits: u64,
}

impl WarpTurn {
    pub(crate) fn new(index: usize, slice: u64, waits: u64) -> Self {
        WarpTurn { index, slice, left: slice as i64, waits, fair: false, group: None }
    }

    /// Ends it here.
    pub(crate) fn end(&mut self) {
        self.slice = self.ran();
        self.left = 0;
    }

    /// Warp instructions that it ran.
    pub(crate) fn ran(&self) -> u64 {
        (self.slice as i64 - self.left) as u64
    }
}
