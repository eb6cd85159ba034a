//! Events: what an execution does that a tool may hear of.

use isa::{LaneMask, MemOrder, Scope};

/// The memory that an access goes to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Memory {
    /// Global memory, constants included.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Local memory.
    Local,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes as one.
    Atomic,
    /// The same, with no result (`red`).
    Reduction,
}

/// How the addresses of the lanes lie to each other, as far as it was seen on the way: an observer
/// may spare itself to look at each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Nothing is known.
    Any,
    /// All lanes at the same address.
    Same,
    /// Active lanes at the address of lane 0 plus their number times the bytes a lane.
    Unit,
    /// All lanes active; each half of the warp is as [`Shape::Same`] or [`Shape::Unit`] by itself:
    /// whether the first and the second are consecutive.
    Halves(bool, bool),
}

/// How an access belongs to an asynchronous operation, whose accesses are not ordered with what the thread that issued
/// it does next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Asynchronous {
    /// It does not.
    #[default]
    No,
    /// The write of a `cp.async`, which is not complete before the thread has waited for it.
    Copy,
    /// Part of the operation whose issue was told last.
    Issued,
    /// The read of a tensor map by a copy, which may see what was there before the last fence of its proxy.
    Map,
}

/// Operations that a thread, or a warp, commits to groups and waits for by these (ISA 9.7.9.25.1.1, 9.7.15.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Groups {
    /// `cp.async`
    Copies,
    /// `cp.async.bulk`
    Bulk,
    /// `wgmma.mma_async`
    Warpgroup,
}

/// What says that an asynchronous operation is complete.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Completion {
    /// A wait for its group.
    Groups(Groups),
    /// The phase of an mbarrier object that counts its bytes.
    Mbarrier,
}

/// What a thread does with the asynchronous operations that it has issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupStep {
    /// `commit_group`: those not yet in a group become one.
    Commit,
    /// `wait_group`: all groups but so many of the latest are complete.
    Wait(u32),
    /// `wait_group.read`: what these read may be written again.
    WaitReads(u32),
    /// `wait_all`, or an mbarrier that will be told of it: all are complete.
    WaitAll,
}

/// One access of a warp, after it was found to be allowed.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccess<'a> {
    /// Where.
    pub memory: Memory,
    /// What.
    pub kind: AccessKind,
    /// Addresses: generic for global memory, offsets into the block's or lane's memory otherwise.
    pub addresses: &'a [u64; 32],
    /// What is known about the addresses.
    pub shape: Shape,
    /// Lanes that take part; never none.
    pub lanes: LaneMask,
    /// Bytes a lane.
    pub bytes: u32,
    /// Bytes of an element of a vector access.
    pub element: u32,
    /// Memory order.
    pub order: MemOrder,
    /// Scope; without meaning for weak accesses.
    pub scope: Scope,
    /// Whether a thread does it by itself.
    pub asynchronous: Asynchronous,
    /// Lanes whose atomic writes: all but those of a `cas` that fails.
    pub writing: LaneMask,
    /// Lanes whose atomic leaves another value than it found, those of lower lanes done first.
    pub changing: LaneMask,
    /// Position of the instruction.
    pub position: u32,
    /// Linear index of the block whose memory it is; without meaning but for shared memory.
    pub home: u64,
    /// Linear index of the block.
    pub block: u64,
    /// Index of the warp in the block.
    pub warp: u32,
}
