//! A cluster: blocks that are resident together, from the first instruction of one to the last of all (CUDA C++
//! programming guide, "Thread Block Clusters"). A launch without clusters has clusters of one block.

use smallvec::SmallVec;

use super::cta::Cta;
use super::warp::Warp;
use semantics::lanes::LaneMask;

/// A cluster that runs or waits to run on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Cluster {
    /// By rank.
    pub blocks: SmallVec<[Box<Cta>; 1]>,
    /// Rank of the block to run next.
    pub next: usize,
    /// Turns in a row that its blocks gave away.
    pub given: usize,
}

impl Cluster {
    /// Blocks with threads that are not gone.
    pub(crate) fn unfinished(&self) -> usize {
        self.blocks.iter().filter(|cta| !cta.is_finished()).count()
    }

    /// Whether a block has a warp that can run.
    pub(crate) fn can_run(&self) -> bool {
        self.blocks.iter().any(|cta| (0..cta.warps.len()).any(|warp| cta.can_run(warp)))
    }

    /// Why its barrier does not complete.
    pub(crate) fn explain_barrier(&self) -> String {
        let (mut live, mut arrived, mut missing) = (0, 0, Vec::new());
        for (rank, cta) in self.blocks.iter().enumerate() {
            let count =
                |lanes: fn(&Warp) -> LaneMask| cta.warps.iter().map(|warp| lanes(warp).count_ones()).sum();
            let (here, come): (u32, u32) =
                (count(Warp::live), count(|warp| warp.live() & warp.cluster_arrived));
            (live, arrived) = (live + here, arrived + come);
            if come < here {
                missing.push(format!("{} of the block of rank {rank}", here - come));
            }
        }
        format!(
            "the barrier of the cluster waits for {live} threads, {arrived} have arrived; missing: {}",
            missing.join(", ")
        )
    }

    /// The block of a rank, which is to run, and its peers.
    pub(crate) fn split(&mut self, rank: usize) -> (&mut Cta, Peers<'_>) {
        let (before, rest) = self.blocks.split_at_mut(rank);
        let (cta, after) = rest.split_first_mut().expect("a rank is below the number of blocks");
        (cta, Peers { before, after })
    }
}

/// The other blocks of the cluster of a block that runs, by rank: those before it, and those after it.
#[derive(Default)]
pub(crate) struct Peers<'a> {
    before: &'a mut [Box<Cta>],
    after: &'a mut [Box<Cta>],
}

impl Peers<'_> {
    /// The same, for a shorter time.
    pub(crate) fn reborrow(&mut self) -> Peers<'_> {
        Peers { before: self.before, after: self.after }
    }

    /// The rank of the block whose peers they are.
    pub(crate) fn own_rank(&self) -> usize {
        self.before.len()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// The block of a rank, if it is one of them.
    pub(crate) fn get(&self, rank: usize) -> Option<&Cta> {
        match rank.checked_sub(self.before.len()) {
            None => self.before.get(rank).map(|cta| &**cta),
            Some(at) => self.after.get(at.checked_sub(1)?).map(|cta| &**cta),
        }
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, rank: usize) -> Option<&mut Cta> {
        match rank.checked_sub(self.before.len()) {
            None => self.before.get_mut(rank).map(|cta| &mut **cta),
            Some(at) => self.after.get_mut(at.checked_sub(1)?).map(|cta| &mut **cta),
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Cta> {
        self.before.iter().chain(self.after.iter()).map(|cta| &**cta)
    }

    /// All of them, to change them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Cta> {
        self.before.iter_mut().chain(self.after.iter_mut()).map(|cta| &mut **cta)
    }
}
