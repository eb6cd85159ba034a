//! What a warp has begun and not done yet: asynchronous operations (ISA 9.7.9.25.1) and, with weak memory, loads.

use super::frame::FrameId;
use crate::event::{Completion, Groups};
use semantics::lanes::{LaneMask, Row, WARP_SIZE};

/// A load that is outstanding; weak memory only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    pub position: u32,
    /// The instruction before which it must be done.
    pub until: u32,
    pub lanes: LaneMask,
    pub frame: FrameId,
    pub addresses: [u64; WARP_SIZE],
}

/// An asynchronous operation that was issued and is not done; only where these are not done at once
/// ([`AsyncPolicy`](crate::AsyncPolicy)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    /// Its instructions: the first, and how many.
    pub position: u32,
    pub count: u32,
    pub lanes: LaneMask,
    /// It keeps its frame.
    pub frame: FrameId,
    /// What says that it is done.
    pub completion: Completion,
    /// Of each lane, the groups that it had committed before.
    pub group: [u32; WARP_SIZE],
    /// Registers as they were: special ones and the frame's, and its predicates. What it computes stays in here.
    pub rows: Vec<Row>,
    pub predicates: Vec<LaneMask>,
}

/// A `cp.async` that is done and takes effect again where it is waited for, unless what it wrote is still there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copied {
    /// The number of its block.
    pub block: u64,
    pub position: u32,
    pub frame: FrameId,
    pub lanes: LaneMask,
    /// Of each lane, the groups that it had committed before.
    pub group: [u32; WARP_SIZE],
    /// Where it wrote in shared memory, and what: the first bytes of each row.
    pub offsets: [u32; WARP_SIZE],
    pub bytes: u8,
    pub data: [[u8; 16]; WARP_SIZE],
}

/// All of a warp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct InFlight {
    pub loads: Vec<Load>,
    /// In the order of their issue.
    pub operations: Vec<Operation>,
    /// In the order of their issue.
    pub copied: Vec<Copied>,
    /// Groups of copies and of bulk copies that each lane has committed, once one has: every block begins without.
    committed: Option<Box<[[u32; WARP_SIZE]; 2]>>,
}

impl InFlight {
    pub(crate) fn clear(&mut self) {
        self.loads.clear();
        self.operations.clear();
        self.copied.clear();
        self.committed = None;
    }

    /// Groups that each lane has committed.
    pub(crate) fn committed(&mut self, groups: Groups) -> &mut [u32; WARP_SIZE] {
        &mut self.committed.get_or_insert_default()[usize::from(groups == Groups::Bulk)]
    }

    /// The first operation that some of these lanes must have done once no more than `most` groups are left, with those lanes;
    /// `None` for `most`: with what is in no group, too.
    pub(crate) fn awaited(
        &self,
        groups: Groups,
        lanes: LaneMask,
        most: Option<u32>,
    ) -> Option<(usize, LaneMask)> {
        let committed =
            self.committed.as_ref().map_or([0; WARP_SIZE], |all| all[usize::from(groups == Groups::Bulk)]);
        self.operations.iter().enumerate().find_map(|(at, operation)| {
            if operation.completion != Completion::Groups(groups) {
                return None;
            }
            let over = |lane: usize| {
                most.is_none_or(|most| operation.group[lane] < committed[lane].saturating_sub(most))
            };
            let awaited = (0..WARP_SIZE)
                .filter(|&lane| operation.lanes & lanes & 1 << lane != 0 && over(lane))
                .fold(0, |mask: LaneMask, lane| mask | 1 << lane);
            (awaited != 0).then_some((at, awaited))
        })
    }

    /// Takes lanes of an operation out: what they do, and whether nothing is left of it.
    pub(crate) fn take(&mut self, at: usize, lanes: LaneMask) -> (Operation, bool) {
        let left = self.operations[at].lanes & !lanes;
        if left == 0 {
            return (self.operations.remove(at), true);
        }
        self.operations[at].lanes = left;
        (Operation { lanes, ..self.operations[at].clone() }, false)
    }
}
