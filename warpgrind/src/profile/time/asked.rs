//! What a block asked the memory for, as it is told of, and what is known of who waits for whom.

use std::collections::BTreeMap;

use sim_core::{AccessKind, Memory, WarpId};
use timing::work::{Access, Operation, Phase, Piece};

/// What a block asked for, by warp.
#[derive(Clone, Default, Debug)]
pub struct Asked {
    /// The accesses of each warp with the positions of their instructions, in their order.
    pub warps: Vec<Vec<(u32, Access)>>,
    /// The lines of all.
    pub pieces: Vec<Piece>,
    /// The words of shared memory that turns of loops around a compare-and-swap change.
    pub words: Vec<u32>,
    /// What is done beside the warps.
    pub operations: Vec<Operation>,
    /// By phase of its mbarriers, and of what its warps wait for in loops: how many arrivals, copies and writes complete it.
    pub phases: Vec<u32>,
    /// By warp and number of an access: the phases that it completes, and that which it waits for.
    pub releases: BTreeMap<(u32, u32), Vec<Phase>>,
    /// See [`Asked::releases`].
    pub awaits: BTreeMap<(u32, u32), Phase>,
    /// Accesses of loops of waiting, as long as the block runs.
    pub(super) spun: BTreeMap<(u32, u32), Read>,
}

impl Asked {
    /// What was told of a warp.
    pub(super) fn told(&mut self, warp: u32) -> &mut Vec<(u32, Access)> {
        let at = warp as usize;
        if self.warps.len() <= at {
            self.warps.resize_with(at + 1, Vec::new);
        }
        &mut self.warps[at]
    }

    /// Adds what is done beside the warps.
    pub(super) fn operation(&mut self, operation: Operation) -> Access {
        self.operations.push(operation);
        Access::Operation(self.operations.len() as u32 - 1)
    }
}

/// An access of a warp.
pub(super) struct Seen<'a> {
    pub(super) memory: Memory,
    pub(super) kind: AccessKind,
    pub(super) addresses: &'a [u64; 32],
    pub(super) lanes: u32,
    /// Lanes whose atomic leaves another value than it found.
    pub(super) changing: u32,
    pub(super) bytes: u32,
    pub(super) position: u32,
    pub(super) warp: WarpId,
}

/// An access: of which block and warp, and the how manieth of its warp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Author {
    pub(super) block: u64,
    pub(super) warp: u32,
    pub(super) number: u32,
}

/// A memory, and a word of it.
pub(super) type Place = (u64, u64);

/// Where something was read from: an author, or the last one of a round, which may not be over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Author(Author),
    Round(Place, usize),
}

/// Of the last turn of a loop, by lane: who had written what it read.
pub(super) type Read = BTreeMap<u32, Source>;
