//! Observers: what tools see of an execution, a warp instruction at a time.
//!
//! The interpreter is compiled for exactly two observers, [`None`](NoObserver) and a [`Tools`] set, so
//! that watching costs nothing when nothing watches.

use crate::lanes::LaneMask;
use crate::launch::MemoryStats;

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
    /// Lanes that take part.
    pub lanes: LaneMask,
    /// Bytes a lane.
    pub bytes: u32,
    /// Position of the instruction.
    pub position: u32,
    /// Linear index of the block.
    pub block: u64,
    /// Index of the warp in the block.
    pub warp: u32,
}

/// What the interpreter tells a tool. All methods default to nothing.
pub trait Observer {
    /// Whether the interpreter should call it at all.
    const ACTIVE: bool;

    /// A block starts.
    fn block_started(&mut self, _block: u64) {}

    /// A warp accesses memory. Lanes in the result did something wrong that is not a fault, for
    /// example read what was never written; the text says what.
    fn access(&mut self, _access: &WarpAccess<'_>) -> Option<(LaneMask, String)> {
        None
    }

    /// Traffic counted so far.
    fn memory(&self) -> MemoryStats {
        MemoryStats::default()
    }
}

/// Watches nothing, at no cost.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    const ACTIVE: bool = false;
}

/// The tools that were asked for.
#[derive(Debug, Default)]
pub struct Tools {
    memory: MemoryStats,
}

impl Observer for Tools {
    const ACTIVE: bool = true;

    fn access(&mut self, access: &WarpAccess<'_>) -> Option<(LaneMask, String)> {
        let bytes = u64::from(access.bytes) * u64::from(access.lanes.count_ones());
        let stats = &mut self.memory;
        let (read, written) = match access.kind {
            AccessKind::Read => (bytes, 0),
            AccessKind::Write => (0, bytes),
            AccessKind::Atomic => {
                stats.atomics += u64::from(access.lanes.count_ones());
                (bytes, bytes)
            }
        };
        match access.memory {
            Memory::Global => {
                stats.global_read += read;
                stats.global_written += written;
                stats.global_sectors += sectors(access);
            }
            Memory::Shared => {
                stats.shared_read += read;
                stats.shared_written += written;
            }
            Memory::Local => {
                stats.local_read += read;
                stats.local_written += written;
            }
        }
        None
    }

    fn memory(&self) -> MemoryStats {
        self.memory
    }
}

/// 32-byte sectors that the lanes touch.
fn sectors(access: &WarpAccess<'_>) -> u64 {
    let mut touched = [0u64; 64];
    let mut count = 0;
    for lane in 0..32 {
        if access.lanes >> lane & 1 != 0 {
            let first = access.addresses[lane] / 32;
            touched[count] = first;
            touched[count + 1] = (access.addresses[lane] + u64::from(access.bytes) - 1) / 32;
            count += 2;
        }
    }
    let touched = &mut touched[..count];
    touched.sort_unstable();
    let mut distinct = 0;
    let mut last = u64::MAX;
    for &sector in touched.iter() {
        distinct += u64::from(sector != last);
        last = sector;
    }
    distinct
}

impl MemoryStats {
    /// Adds the traffic of another part of the launch.
    pub fn add(&mut self, other: &MemoryStats) {
        self.global_read += other.global_read;
        self.global_written += other.global_written;
        self.global_sectors += other.global_sectors;
        self.shared_read += other.shared_read;
        self.shared_written += other.shared_written;
        self.local_read += other.local_read;
        self.local_written += other.local_written;
        self.atomics += other.atomics;
    }
}
