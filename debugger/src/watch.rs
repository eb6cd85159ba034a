//! Watchpoints: who accesses a range of memory.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use isa::LaneMask;
use sim_core::tools::{Context, Event, Wants};
use sim_core::{AccessKind, Memory, Tool, ToolFactory, WarpId};

/// A range of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// In which memory.
    pub memory: Memory,
    /// Whose: the block of shared memory, and for local memory the warp and lane, too.
    pub owner: Option<(WarpId, u32)>,
    /// Its first address: generic for global memory, an offset otherwise.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// An access to something that is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Which of the ranges.
    pub range: usize,
    /// The warp.
    pub warp: WarpId,
    /// The lanes that access it.
    pub lanes: LaneMask,
    /// Position of the instruction.
    pub position: u32,
    /// What it does.
    pub kind: AccessKind,
    /// The address and bytes of the lowest lane.
    pub address: u64,
    /// Bytes a lane.
    pub bytes: u32,
}

#[derive(Default, Debug)]
struct State {
    ranges: Vec<(Range, bool, bool)>,
    /// Accesses of this warp, wherever they go.
    of_warp: Option<WarpId>,
    hits: Vec<Hit>,
}

/// What a debugger hears of accesses: nothing as long as nothing is watched.
#[derive(Clone, Default, Debug)]
pub struct Watcher {
    active: Arc<AtomicBool>,
    state: Arc<Mutex<State>>,
}

impl Watcher {
    /// The tool that a launch is to have.
    pub fn factory(&self) -> ToolFactory {
        let watcher = self.clone();
        ToolFactory::new(move |_| watcher.clone())
    }

    /// Watches these ranges from the next run on: each for reads, for writes.
    pub fn watch(&self, ranges: Vec<(Range, bool, bool)>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ranges = ranges;
        state.of_warp = None;
        state.hits.clear();
        self.active.store(!state.ranges.is_empty(), Relaxed);
    }

    /// Notes all accesses of a warp from the next run on.
    pub fn note(&self, warp: WarpId) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { of_warp: Some(warp), ..State::default() };
        self.active.store(true, Relaxed);
    }

    /// What was accessed since it was asked last.
    pub fn take(&self) -> Vec<Hit> {
        if !self.active.load(Relaxed) {
            return Vec::new();
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.hits)
    }
}

impl Tool for Watcher {
    type Block = ();

    fn wants(&self) -> Wants {
        if self.active.load(Relaxed) { Wants::ACCESSES } else { Wants::NONE }
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), context: &dyn Context) {
        let Event::Access(access) = event else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (reads, writes) = match access.kind {
            AccessKind::Read => (true, false),
            AccessKind::Write => (false, true),
            AccessKind::Atomic | AccessKind::Reduction => (true, true),
        };
        let warp = WarpId { block: access.block, warp: access.warp };
        let bytes = u64::from(access.bytes);
        let hit = |range: usize, lanes: LaneMask| Hit {
            range,
            warp,
            lanes,
            position: access.position,
            kind: access.kind,
            address: access.addresses[lanes.trailing_zeros() as usize & 31],
            bytes: access.bytes,
        };
        if state.of_warp == Some(warp) {
            for lane in (0..32).filter(|lane| access.lanes >> lane & 1 != 0) {
                state.hits.push(hit(memory_number(access.memory), 1 << lane));
            }
            return;
        }
        let mut found = Vec::new();
        for (at, (range, wants_reads, wants_writes)) in state.ranges.iter().enumerate() {
            let kind = *wants_reads && reads || *wants_writes && writes;
            if range.memory != access.memory || !kind {
                continue;
            }
            let owns = |lane: u32| match (range.memory, range.owner) {
                (Memory::Shared, Some((owner, _))) => owner.block == access.home,
                (Memory::Local, Some((owner, own))) => owner == warp && own == lane,
                _ => true,
            };
            let mut lanes = 0;
            for lane in (0..32u32).filter(|lane| access.lanes >> lane & 1 != 0) {
                let start = access.addresses[lane as usize];
                let meets = start < range.address.saturating_add(range.bytes)
                    && range.address < start.saturating_add(bytes);
                let does =
                    *wants_reads || access.kind != AccessKind::Atomic || access.writing >> lane & 1 != 0;
                lanes |= LaneMask::from(meets && does && owns(lane)) << lane;
            }
            if lanes != 0 {
                found.push(hit(at, lanes));
            }
        }
        if !found.is_empty() {
            state.hits.extend(found);
            context.pause();
        }
    }
}

/// A number for a memory, where a hit is of no range.
pub(crate) fn memory_number(memory: Memory) -> usize {
    match memory {
        Memory::Global => 0,
        Memory::Shared => 1,
        Memory::Local => 2,
    }
}
