//! A cluster: blocks that are resident together, from the first instruction of one to the last of all (CUDA C++
//! programming guide, "Thread Block Clusters"). A launch without clusters has clusters of one block.

use smallvec::SmallVec;

use super::cta::Cta;

/// A cluster that runs or waits to run on.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// By rank.
    pub blocks: SmallVec<[Box<Cta>; 1]>,
    /// Rank of the block to run next.
    pub next: usize,
}

impl Cluster {
    /// Blocks with threads that are not gone.
    pub(crate) fn unfinished(&self) -> usize {
        self.blocks.iter().filter(|cta| !cta.is_finished()).count()
    }
}
