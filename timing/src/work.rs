//! What a launch executes, a block at a time.

use std::collections::HashMap;
use std::sync::Arc;

/// Instructions that follow each other, executed by so many lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// Index of the first one.
    pub first: u32,
    /// That behind the last one.
    pub end: u32,
    /// How many lanes.
    pub lanes: u32,
}

/// What one access of a warp asks the memory for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Lines of global or local memory: the first of [`Block::pieces`] and how many there are.
    Lines {
        /// Index of the first.
        first: u32,
        /// How many.
        count: u8,
        /// How many turns the first level's tags take to find them.
        tags: u8,
        /// The most lanes that have one word, where they go one after the other; of textures, groups of lanes that do.
        together: u8,
        /// How often the banks that hold the words of a load are asked; of atomic operations, how many turns all their sectors take, a
        /// lane of a word in each.
        deep: u8,
    },
    /// Shared memory: how often its banks are asked, by instructions that have 4 bytes of a lane, 8 and 16: the assembler makes one of
    /// several.
    Wavefronts([u16; 3]),
    /// An atomic operation on shared memory, or a turn of a loop around a compare-and-swap that one is.
    Words {
        /// How often its banks are asked.
        wavefronts: u16,
        /// Of a turn: the first of [`Block::words`] that it changes and how many there are.
        first: u32,
        /// How many.
        count: u8,
        /// Whether it is another turn of the operation before it.
        again: bool,
    },
    /// The shared memory of another block of the cluster.
    Remote,
    /// Constants of the program.
    Constants {
        /// The first one's address, by 64 bytes.
        line: u32,
        /// How many different words are asked for.
        words: u8,
    },
    /// What is done beside the warps, or what they wait for there: an index of [`Block::operations`].
    Operation(u32),
}

/// A phase of an mbarrier, or of a loop of waiting: the block that has it, and its index of that block's [`Block::phases`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Phase {
    /// Index of the block in the grid.
    pub block: u64,
    /// Which of all phases of all its mbarriers.
    pub number: u32,
}

/// What is done beside the warps, or what they wait for there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// An arrival at mbarriers.
    Arrives(Vec<Phase>),
    /// A wait for a phase; none where it is complete whatever happens.
    Awaits(Option<Phase>),
    /// A bulk copy.
    Copies {
        /// The first of [`Block::pieces`] that it accesses in global memory, and how many.
        pieces: (u32, u32),
        /// Where to.
        way: Way,
        /// The phases that count its bytes.
        arrives: Vec<Phase>,
    },
}

/// Where a bulk copy goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From global to shared memory.
    In,
    /// From shared to global memory.
    Out,
    /// The same, where it is combined with what is there.
    Reduces,
}

/// A line of 128 bytes and which of its sectors of 32 are asked for: the line's number times 16, and four bits.
pub type Piece = u64;

/// The line and the sectors of a piece.
pub fn parts(piece: Piece) -> (u64, u8) {
    (piece >> 4, (piece & 15) as u8)
}

/// What a warp executes.
#[derive(Clone, Default, Debug)]
pub struct Warp {
    /// Its instructions.
    pub steps: Arc<[Step]>,
    /// Its accesses by the place in the source that makes them (`sources[place]` to `sources[place + 1]` of
    /// [`Block::accesses`]), each in the order in which it is done.
    pub sources: Vec<u32>,
}

/// What a block executes.
#[derive(Clone, Default, Debug)]
pub struct Block {
    /// Its warps.
    pub warps: Vec<Warp>,
    /// The accesses of all.
    pub accesses: Vec<Access>,
    /// The lines of all.
    pub pieces: Vec<Piece>,
    /// The words of shared memory that turns of loops around a compare-and-swap change.
    pub words: Vec<u32>,
    /// What is done beside the warps.
    pub operations: Vec<Operation>,
    /// By phase of its mbarriers, and of what its warps wait for: how many arrivals, copies and writes complete it.
    pub phases: Vec<u32>,
    /// By index of [`Block::accesses`]: the phases that an access completes for those who wait for what it writes.
    pub releases: HashMap<u32, Vec<Phase>>,
    /// By index of [`Block::accesses`]: the phase that an access waits for.
    pub awaits: HashMap<u32, Phase>,
}

/// A launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Blocks.
    pub blocks: u64,
    /// Blocks that are resident on a multiprocessor at a time.
    pub resident: u32,
    /// Blocks of a cluster; 1 without clusters.
    pub cluster: u32,
    /// Bytes of the first level that are shared memory.
    pub shared_bytes: u64,
    /// By instruction: the place in the source whose accesses it makes, if it makes any.
    pub sources: Vec<Option<u32>>,
}

impl Default for Launch {
    fn default() -> Self {
        Launch { blocks: 0, resident: 1, cluster: 1, shared_bytes: 0, sources: Vec::new() }
    }
}

/// What says what each block executes.
pub trait Work {
    /// A block, by its index in the grid. It is asked for when it is placed, once.
    fn block(&self, index: u64) -> Block;

    /// Whether nobody wants to know any more: the model stops, and what it says then is of no use.
    fn is_over(&self) -> bool {
        false
    }
}

/// A block on a multiprocessor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stay {
    /// Its index in the grid.
    pub block: u64,
    /// Index of the multiprocessor.
    pub multiprocessor: u32,
    /// The cycle in which it was placed, from the first block's on.
    pub from: f64,
    /// The cycle in which its last thread ended.
    pub to: f64,
}
