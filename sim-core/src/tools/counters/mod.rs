//! `--tool counters`: what a launch executed, by instruction: warp and thread instructions, requests and sectors of global
//! memory, wavefronts of shared memory, branches.
//!
//! Numbers that mean the same on a device have Nsight Compute's names. A kernel's own instructions are PTX here, of which
//! ptxas makes others: what counts those begins with `ptx__`.

mod class;
mod totals;
mod wavefronts;

use super::event::{Event, Wants, WarpId, WarpRanges};
use super::launch::{LaunchShape, LaunchView};
use super::sectors::{half_sectors, sectors};
use super::tool::{Context, Summary, Tool};
use crate::event::{AccessKind, Memory, WarpAccess};
use crate::lanes::LaneMask;

/// Counts by instruction; what the numbers are called is `totals.rs`' matter.
#[derive(Clone, Debug)]
pub struct Counters {
    /// One a position, and one behind the last.
    positions: Vec<Position>,
    accesses: Vec<Accesses>,
    /// The access that was told last, if nothing was told since: of one instruction several parts may be.
    last: Option<Last>,
    warps_a_block: u64,
    shape: LaunchShape,
    blocks: u64,
}

/// What an instruction did.
#[derive(Clone, Copy, Default, Debug)]
struct Position {
    /// Times that a warp executed it, and threads that did, less those of the position before.
    warps: i64,
    threads: i64,
    /// Threads that its guard left out.
    off: u64,
    /// Times that it split a warp.
    diverged: u64,
    /// Its accesses: index of the first kind, plus one.
    accesses: u32,
}

/// Accesses of one kind that an instruction made.
#[derive(Clone, Copy, Debug)]
struct Accesses {
    memory: Memory,
    kind: AccessKind,
    /// Index of the next kind, plus one.
    next: u32,
    requests: u64,
    /// Sectors of global and local memory, wavefronts of shared memory.
    units: u64,
    /// How few could do.
    ideal: u64,
    /// Bytes of all lanes.
    bytes: u64,
}

/// A part of an instruction's access.
#[derive(Clone, Copy, Debug)]
struct Last {
    warp: WarpId,
    position: u32,
    memory: Memory,
    kind: AccessKind,
    lanes: LaneMask,
}

impl Counters {
    /// Nothing counted yet.
    pub fn new(shape: &LaunchShape) -> Self {
        Counters {
            positions: vec![Position::default(); shape.instructions as usize + 1],
            accesses: Vec::new(),
            last: None,
            warps_a_block: (shape.block.count() as u64).div_ceil(32),
            shape: *shape,
            blocks: 0,
        }
    }

    /// A run of instructions, each executed by so many warps and threads.
    fn executed(&mut self, first: u32, end: u32, warps: u32, threads: u32) {
        self.last = None;
        let sides =
            [(first, i64::from(warps), i64::from(threads)), (end, -i64::from(warps), -i64::from(threads))];
        for (at, warps, threads) in sides {
            if let Some(position) = self.positions.get_mut(at as usize) {
                position.warps += warps;
                position.threads += threads;
            }
        }
    }

    /// The accesses of a kind of an instruction.
    fn accesses(&mut self, position: u32, memory: Memory, kind: AccessKind) -> Option<&mut Accesses> {
        let head = self.positions.get_mut(position as usize)?;
        let mut at = head.accesses;
        while at != 0 {
            let known = &self.accesses[at as usize - 1];
            if known.memory == memory && known.kind == kind {
                return self.accesses.get_mut(at as usize - 1);
            }
            at = known.next;
        }
        self.accesses.push(Accesses {
            memory,
            kind,
            next: head.accesses,
            requests: 0,
            units: 0,
            ideal: 0,
            bytes: 0,
        });
        head.accesses = self.accesses.len() as u32;
        self.accesses.last_mut()
    }

    fn ranges(&mut self, of: &WarpRanges) {
        let part = Last {
            warp: of.warp,
            position: of.position,
            memory: of.memory,
            kind: of.kind,
            lanes: LaneMask::MAX,
        };
        let spans = of.spans();
        match of.memory {
            Memory::Global => {
                let sectors = half_sectors(of.bytes.into(), of.starts, of.consecutive);
                let distinct = if spans[0] == spans[1] { spans[0].1 } else { spans[0].1 + spans[1].1 };
                self.count(part, of.bytes, sectors, distinct.div_ceil(32));
            }
            _ => self.other(part, &of.addresses(), of.bytes),
        }
    }

    fn access(&mut self, of: &WarpAccess<'_>) {
        let part = Last {
            warp: WarpId { block: of.block, warp: of.warp },
            position: of.position,
            memory: of.memory,
            kind: of.kind,
            lanes: of.lanes,
        };
        match of.memory {
            Memory::Global => {
                let bytes = u64::from(of.lanes.count_ones()) * u64::from(of.bytes);
                self.count(part, of.bytes, sectors(of), bytes.div_ceil(32));
            }
            _ => self.other(part, of.addresses, of.bytes),
        }
    }

    /// An access of shared or local memory.
    fn other(&mut self, part: Last, addresses: &[u64; 32], bytes: u32) {
        let (units, ideal) = match part.memory {
            Memory::Local => {
                // Words of the lanes lie beside each other: where all are at one offset, so are the sectors full.
                let offset = addresses[part.lanes.trailing_zeros() as usize & 31];
                let together = (0..32).all(|lane| part.lanes >> lane & 1 == 0 || addresses[lane] == offset);
                let quarters =
                    (0..4).filter(|quarter| part.lanes >> (8 * quarter) & 0xff != 0).count() as u64;
                let words = u64::from(bytes.div_ceil(4));
                let apart = u64::from(part.lanes.count_ones());
                (words * if together { quarters } else { apart }, words * quarters)
            }
            _ => wavefronts::wavefronts(addresses, part.lanes, bytes),
        };
        self.count(part, bytes, units, ideal);
    }

    fn count(&mut self, part: Last, bytes: u32, units: u64, ideal: u64) {
        // Lanes in different allocations are told one after the other, and are one request.
        let same = |last: &Last| {
            (last.warp, last.position, last.memory, last.kind)
                == (part.warp, part.position, part.memory, part.kind)
                && last.lanes & part.lanes == 0
        };
        let again = self.last.filter(same);
        self.last = Some(Last { lanes: part.lanes | again.map_or(0, |last| last.lanes), ..part });
        if let Some(accesses) = self.accesses(part.position, part.memory, part.kind) {
            accesses.requests += u64::from(again.is_none());
            accesses.units += units;
            accesses.ideal += ideal.min(units);
            accesses.bytes += u64::from(bytes) * u64::from(part.lanes.count_ones());
        }
    }
}

impl Tool for Counters {
    type Block = ();

    fn wants(&self) -> Wants {
        Wants::INSTRUCTIONS | Wants::ACCESSES | Wants::RANGES | Wants::BLOCKS
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), _: &dyn Context) {
        match *event {
            Event::Executed { first, end, warps, threads } => self.executed(first, end, warps, threads),
            Event::GuardedOff { position, threads } => {
                if let Some(position) = self.positions.get_mut(position as usize) {
                    position.off += u64::from(threads);
                }
            }
            Event::Diverged { position } => {
                if let Some(position) = self.positions.get_mut(position as usize) {
                    position.diverged += 1;
                }
            }
            Event::Ranges(ranges) => self.ranges(ranges),
            Event::Access(access) => self.access(access),
            Event::BlockStarted { .. } => self.blocks += 1,
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        for (at, theirs) in other.positions.iter().enumerate() {
            let Some(ours) = self.positions.get_mut(at) else { break };
            ours.warps += theirs.warps;
            ours.threads += theirs.threads;
            ours.off += theirs.off;
            ours.diverged += theirs.diverged;
            let mut next = theirs.accesses;
            while next != 0 {
                let theirs = other.accesses[next as usize - 1];
                next = theirs.next;
                if let Some(ours) = self.accesses(at as u32, theirs.memory, theirs.kind) {
                    ours.requests += theirs.requests;
                    ours.units += theirs.units;
                    ours.ideal += theirs.ideal;
                    ours.bytes += theirs.bytes;
                }
            }
        }
        self.blocks += other.blocks;
    }

    fn finish(self, launch: &dyn LaunchView) -> Summary {
        Summary { metrics: Some(totals::metrics(&self, launch)), ..Summary::default() }
    }
}
