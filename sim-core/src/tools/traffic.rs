//! Memory traffic of a launch, for its statistics ([`RunOptions::count_memory`](crate::RunOptions)).

use super::event::{Event, Wants};
use super::launch::LaunchView;
use super::sectors::{half_sectors, sectors};
use super::tool::{Context, Summary, Tool};
use crate::event::{AccessKind, Memory};
use crate::launch::MemoryStats;

/// Counts bytes by space and direction, and sectors.
#[derive(Default)]
pub(crate) struct Traffic(MemoryStats);

impl Tool for Traffic {
    type Block = ();

    fn wants(&self) -> Wants {
        Wants::ACCESSES | Wants::RANGES
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>, (): &mut (), _: &dyn Context) {
        match event {
            Event::Ranges(of) => {
                let sectors = half_sectors(of.bytes.into(), of.starts, of.consecutive);
                self.count(of.memory, of.kind, of.bytes, 32, sectors);
            }
            Event::Access(access) => {
                let sectors = if access.memory == Memory::Global { sectors(access) } else { 0 };
                self.count(access.memory, access.kind, access.bytes, access.lanes.count_ones(), sectors);
            }
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        self.0 += &other.0;
    }

    fn finish(self, _: &dyn LaunchView) -> Summary {
        Summary { memory: self.0, ..Summary::default() }
    }
}

impl Traffic {
    /// Adds an access of so many lanes and sectors.
    fn count(&mut self, memory: Memory, kind: AccessKind, bytes: u32, lanes: u32, sectors: u64) {
        let bytes = u64::from(bytes) * u64::from(lanes);
        let stats = &mut self.0;
        let (read, written) = match kind {
            AccessKind::Read => (bytes, 0),
            AccessKind::Write => (0, bytes),
            AccessKind::Atomic | AccessKind::Reduction => {
                stats.atomics += u64::from(lanes);
                (bytes, bytes)
            }
        };
        match memory {
            Memory::Global => {
                stats.global_read += read;
                stats.global_written += written;
                stats.global_sectors += sectors;
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
    }
}
