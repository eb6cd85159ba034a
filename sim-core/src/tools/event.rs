//! Events: what a tool may hear of, a warp instruction at a time.

use std::ops::BitOr;

use isa::{MemOrder, Scope};

use crate::event::{AccessKind, Completion, GroupStep, Groups, Memory, WarpAccess};
use numerics::mbarrier::MbarrierOp;
use semantics::lanes::LaneMask;

/// A warp of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WarpId {
    /// Linear index of the block in the grid.
    pub block: u64,
    /// Index of the warp in the block.
    pub warp: u32,
}

/// A load or store of a full warp whose halves each access one address, or consecutive ones, without order and scope.
#[derive(Clone, Copy, Debug)]
pub struct WarpRanges {
    /// Where.
    pub memory: Memory,
    /// What.
    pub kind: AccessKind,
    /// Bytes a lane.
    pub bytes: u32,
    /// The address of the first lane of each half, as in [`WarpAccess::addresses`].
    pub starts: [u64; 2],
    /// Whether the other lanes of the half follow it; otherwise they are at the same address.
    pub consecutive: [bool; 2],
    /// Position of the instruction.
    pub position: u32,
    /// The warp.
    pub warp: WarpId,
}

impl WarpRanges {
    /// The address of each lane.
    pub fn addresses(&self) -> [u64; 32] {
        std::array::from_fn(|lane| {
            let half = lane / 16;
            let step = if self.consecutive[half] { u64::from(self.bytes) * (lane as u64 % 16) } else { 0 };
            self.starts[half] + step
        })
    }

    /// The bytes that each half touches: first address, count.
    pub fn spans(&self) -> [(u64, u64); 2] {
        let bytes = u64::from(self.bytes);
        [0, 1].map(|half| (self.starts[half], if self.consecutive[half] { 16 * bytes } else { bytes }))
    }
}

/// What a launch tells. Which of it a tool hears is its [`Tool::wants`](super::Tool::wants).
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A block is about to begin.
    BlockStarted {
        /// Linear index of the block in the grid.
        block: u64,
        /// Bytes of its shared memory, from the start of the window.
        shared: u32,
    },
    /// All threads of a block have exited.
    BlockFinished {
        /// The block.
        block: u64,
    },
    /// Instructions that follow each other were executed, each by so many warps.
    Executed {
        /// Position of the first one.
        first: u32,
        /// That behind the last one.
        end: u32,
        /// Warps.
        warps: u32,
        /// Lanes of them that were there, whether guards let them take part or not.
        threads: u32,
    },
    /// The same of one warp: its way through the kernel is what it is told, in order; that of a lane, what is told of it.
    Went {
        /// The warp.
        warp: WarpId,
        /// Those that execute them, whether guards let them take part or not.
        lanes: LaneMask,
        /// Position of the first one.
        first: u32,
        /// That behind the last one.
        end: u32,
    },
    /// Lanes of a warp are about to execute a quotient, root or reciprocal that is rounded correctly; told before
    /// [`Event::Went`] of its run.
    Quotient {
        /// The warp.
        warp: WarpId,
        /// Position of the instruction.
        position: u32,
        /// Those that take part.
        lanes: LaneMask,
        /// Those of them whose operands NVIDIA's compiler has no short way for.
        long: LaneMask,
        /// Those of these that divide zero by a number.
        zeros: LaneMask,
    },
    /// The guard of an instruction left out lanes of a warp that executes it.
    GuardedOff {
        /// Position of the instruction.
        position: u32,
        /// How many.
        threads: u32,
    },
    /// A branch splits a warp.
    Diverged {
        /// Position of the branch.
        position: u32,
    },
    /// A warp accesses memory, and may. Loads and stores are told before they are done, atomics after.
    Access(&'a WarpAccess<'a>),
    /// The same, for tools that all want it so ([`Wants::RANGES`]), where it is enough.
    Ranges(&'a WarpRanges),
    /// Lanes of a warp are about to read texels, or to write them by their format: what they access follows at once, texel by
    /// texel and lane by lane, told as [`Event::Access`].
    Texels {
        /// The warp.
        warp: WarpId,
        /// Those that take part.
        lanes: LaneMask,
        /// Position of the instruction.
        position: u32,
    },
    /// Operations on mbarrier objects of the block are about to be done, those of lower lanes first. A question
    /// ([`MbarrierOp::Ask`]) follows as an access, too.
    Mbarrier {
        /// The warp.
        warp: WarpId,
        /// Those that take part.
        lanes: LaneMask,
        /// What is done.
        op: MbarrierOp,
        /// Linear index of the block whose mbarriers these are.
        home: u64,
        /// Where, by lane: offsets into the block's shared memory.
        addresses: &'a [u64; 32],
        /// With which operand, by lane.
        operands: &'a [u32; 32],
        /// Position of the instruction.
        position: u32,
    },
    /// Lanes of a warp issue an asynchronous operation each, or the warp one. What it accesses follows at once, told as
    /// [`Asynchronous::Issued`](crate::Asynchronous); if an mbarrier says that it is complete, the last of these is the
    /// operation that counts its bytes there.
    Issued {
        /// The warp.
        warp: WarpId,
        /// Those that take part.
        lanes: LaneMask,
        /// What says that it is complete.
        completion: Completion,
        /// Linear index of the block whose mbarrier that is.
        home: u64,
        /// Where the mbarrier is, by lane: offsets into the block's shared memory.
        addresses: &'a [u64; 32],
    },
    /// Lanes of a warp group the operations that they have issued, or wait for them.
    Grouped {
        /// The warp.
        warp: WarpId,
        /// Those that take part.
        lanes: LaneMask,
        /// Which.
        groups: Groups,
        /// What they do.
        step: GroupStep,
    },
    /// Lanes of a warp order their accesses with those of asynchronous operations (`fence.proxy.async`).
    ProxyFence {
        /// The warp.
        warp: WarpId,
        /// Those that take part.
        lanes: LaneMask,
    },
    /// Lanes of a warp have copies of their block see tensor maps as they are now (`fence.proxy.tensormap::generic.acquire`).
    MapFence {
        /// The warp.
        warp: WarpId,
        /// Those that take part.
        lanes: LaneMask,
        /// Where the map is, by lane: a generic address.
        addresses: &'a [u64; 32],
    },
    /// Lanes of a warp execute `fence` or `membar`.
    Fence {
        /// The warp.
        warp: WarpId,
        /// Those that take part.
        lanes: LaneMask,
        /// Its order.
        order: MemOrder,
        /// Its scope.
        scope: Scope,
    },
    /// Lanes of a warp have met in a `bar.warp.sync`.
    WarpSynchronized {
        /// The warp.
        warp: WarpId,
        /// Those that met.
        lanes: LaneMask,
    },
    /// Lanes of a warp arrive at a barrier of their block.
    Arrived {
        /// The warp.
        warp: WarpId,
        /// Those that arrive.
        lanes: LaneMask,
        /// Number of the barrier.
        barrier: u8,
        /// Whether they wait there or go on.
        waits: bool,
        /// Whether all threads of the warp must execute the same instruction.
        aligned: bool,
        /// Position of the instruction.
        position: u32,
    },
    /// A barrier completes: those that wait there go on.
    BarrierCompleted {
        /// The block.
        block: u64,
        /// Number of the barrier.
        barrier: u8,
        /// No thread of the block that has not exited is missing.
        everybody: bool,
    },
    /// All threads of a block that have not exited arrive at a barrier by one instruction and wait there, so that it
    /// completes: stands for so many times [`Event::Arrived`] and one [`Event::BarrierCompleted`].
    BarrierOfAll {
        /// The block.
        block: u64,
        /// Number of the barrier.
        barrier: u8,
        /// Lanes by warp.
        lanes: &'a [LaneMask],
        /// Whether all threads of a warp must execute the same instruction.
        aligned: bool,
        /// Position of the instruction.
        position: u32,
    },
    /// Lanes of a warp arrive at the barrier of their cluster.
    ClusterArrived {
        /// The warp.
        warp: WarpId,
        /// Those that arrive.
        lanes: LaneMask,
        /// Release, or relaxed.
        order: MemOrder,
    },
    /// Lanes of a warp have waited for the barrier of their cluster, which is complete.
    ClusterWaited {
        /// The warp.
        warp: WarpId,
        /// Those that go on.
        lanes: LaneMask,
    },
    /// Memory begins a new life (`malloc` in a kernel): what was done to it before is of no concern.
    Allocated {
        /// Its first address.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// A call gives lanes of a warp a parameter in local memory.
    ParameterPassed {
        /// The warp.
        warp: WarpId,
        /// Those that call.
        lanes: LaneMask,
        /// Offset into their local memory.
        offset: u32,
        /// Bytes.
        bytes: u32,
    },
}

/// A set of kinds of events. The engine does nothing for those that nobody wants.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Wants(u16);

impl Wants {
    /// Nothing.
    pub const NONE: Wants = Wants(0);
    /// [`Event::BlockStarted`], [`Event::BlockFinished`].
    pub const BLOCKS: Wants = Wants(1);
    /// [`Event::Access`].
    pub const ACCESSES: Wants = Wants(1 << 1);
    /// With [`Wants::ACCESSES`]: [`Event::Ranges`] is enough.
    pub const RANGES: Wants = Wants(1 << 2);
    /// [`Event::Mbarrier`].
    pub const MBARRIERS: Wants = Wants(1 << 3);
    /// [`Event::Issued`], [`Event::Grouped`], [`Event::ProxyFence`], [`Event::MapFence`].
    pub const ASYNCHRONOUS: Wants = Wants(1 << 4);
    /// [`Event::Fence`].
    pub const FENCES: Wants = Wants(1 << 5);
    /// [`Event::WarpSynchronized`].
    pub const WARPS: Wants = Wants(1 << 6);
    /// [`Event::Arrived`], [`Event::BarrierCompleted`], [`Event::BarrierOfAll`], [`Event::ClusterArrived`],
    /// [`Event::ClusterWaited`].
    pub const BARRIERS: Wants = Wants(1 << 7);
    /// [`Event::Allocated`].
    pub const ALLOCATIONS: Wants = Wants(1 << 8);
    /// [`Event::ParameterPassed`].
    pub const PARAMETERS: Wants = Wants(1 << 9);
    /// [`Event::Executed`], [`Event::GuardedOff`], [`Event::Diverged`].
    pub const INSTRUCTIONS: Wants = Wants(1 << 10);
    /// [`Event::Went`], [`Event::Quotient`].
    pub const WAYS: Wants = Wants(1 << 11);
    /// [`Event::Texels`].
    pub const TEXTURES: Wants = Wants(1 << 12);

    /// Whether all of `other` are in it.
    #[inline(always)]
    pub const fn has(self, other: Wants) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Wants {
    type Output = Wants;

    fn bitor(self, other: Wants) -> Wants {
        Wants(self.0 | other.0)
    }
}
