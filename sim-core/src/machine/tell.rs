//! How tools hear of what a warp does, and what they may ask then.

use std::cell::Cell;

use super::Machine;
use super::cta::Cta;
use super::fault::{Fault, instruction, place};
use super::frame::{FrameId, ROOT};
use super::grid::Grid;
use super::trail::{Plain, Race};
use crate::finding::{Finding, FindingKind};
use crate::memory::{Snapshot, Written};
use crate::observer::Observer;
use crate::tools::{Context, Event, InstructionView, Report, Wants, WarpId};
use semantics::lanes::LaneMask;

impl<O: Observer> Machine<'_, '_, O> {
    /// What tools call this warp.
    #[inline(always)]
    pub(crate) fn warp_id(&self) -> WarpId {
        WarpId { block: self.cta.index, warp: self.index as u32 }
    }

    /// Whether a tool wants to hear of something.
    #[inline(always)]
    pub(crate) fn wants(&self, kind: Wants) -> bool {
        O::ACTIVE && self.worker.observer.wants().has(kind)
    }

    /// Tells tools that instructions from `first` on were executed, each by so many warps and threads.
    #[inline(always)]
    pub(crate) fn tell_of_run(&mut self, first: u32, end: u32, warps: usize, threads: u64) {
        if self.wants(Wants::INSTRUCTIONS) && first < end {
            let event = Event::Executed { first, end, warps: warps as u32, threads: threads as u32 };
            self.tell(Wants::INSTRUCTIONS, ROOT, &event);
        }
    }

    /// Tells tools that lanes of a warp went from `first` to `end`.
    #[inline(always)]
    pub(crate) fn tell_of_way(&mut self, warp: usize, lanes: LaneMask, first: u32, end: u32) {
        if self.wants(Wants::WAYS) && first < end {
            let warp = WarpId { block: self.cta.index, warp: warp as u32 };
            self.tell(Wants::WAYS, ROOT, &Event::Went { warp, lanes, first, end });
        }
    }

    /// Tells tools of lanes that a guard left out.
    #[inline(always)]
    pub(crate) fn tell_of_guard(&mut self, position: u32, lanes: LaneMask) {
        if self.wants(Wants::INSTRUCTIONS) {
            let event = Event::GuardedOff { position, threads: lanes.count_ones() };
            self.tell(Wants::INSTRUCTIONS, ROOT, &event);
        }
    }

    /// Tells tools of an event, if one wants to hear of its kind. `frame`: in which the warp executes it.
    #[inline(always)]
    pub(crate) fn tell(&mut self, kind: Wants, frame: FrameId, event: &Event<'_>) {
        self.tell_of(kind, frame, None, event);
    }

    /// The same of something that is done to the shared memory of a block: the peer of this rank, or the block itself.
    #[inline(always)]
    pub(crate) fn tell_of(&mut self, kind: Wants, frame: FrameId, peer: Option<usize>, event: &Event<'_>) {
        if self.wants(kind) {
            let mut parts = std::mem::take(&mut self.home(peer).parts);
            let worker = &mut *self.worker;
            let here = Here {
                grid: worker.grid,
                cta: self.cta,
                home: peer.and_then(|rank| self.peers.get(rank)).unwrap_or(self.cta),
                warp: self.index,
                frame,
                snapshot: &worker.snapshot,
                asked: Cell::new(false),
                found: Cell::new(false),
            };
            worker.observer.tell(kind, event, &mut parts, &here);
            worker.pauses.told(kind, here.asked.get());
            if here.found.get() {
                worker.pauses.found();
            }
            if let Some((access, race)) = worker.grid.launches.access(event) {
                here.races_with_above(&access, &race);
            }
            self.home(peer).parts = parts;
        }
    }

    /// The block whose shared memory is accessed.
    #[inline(always)]
    fn home(&mut self, peer: Option<usize>) -> &mut Cta {
        peer.and_then(|rank| self.peers.get_mut(rank)).unwrap_or(self.cta)
    }
}

/// A warp that executes something.
struct Here<'a> {
    grid: &'a Grid<'a>,
    cta: &'a Cta,
    /// The block whose shared memory is accessed.
    home: &'a Cta,
    warp: usize,
    frame: FrameId,
    snapshot: &'a Snapshot,
    /// The launch is to stand still behind the instruction.
    asked: Cell<bool>,
    /// Something was reported.
    found: Cell<bool>,
}

impl Here<'_> {
    /// Says that what a grid above does behind its launch races with an access.
    #[cold]
    fn races_with_above(&self, access: &Plain, race: &Race<'_>) {
        let verb = |writes: bool| if writes { "writes" } else { "reads" };
        let above = &race.above.code;
        let name = &above.module.functions[above.functions[0].id.index()].name;
        let message = format!(
            "`{}` {} memory at {:#x} that `{name}`, which launched it, {} behind the launch: nothing orders them",
            self.grid.launch.kernel,
            verb(race.writes),
            race.address,
            verb(race.above_writes),
        );
        let mut fault = Fault::new(FindingKind::DataRace, race.lane, message).note(
            "a kernel sees what its launches do nowhere in itself; what it launches with `cudaStreamTailLaunch` sees it",
        );
        fault.notes.extend(self.describe(race.address, 1));
        let finding = self.grid.finding(self.cta, self.warp, self.frame, access.position, fault);
        let other_place = Some(place(above, None, race.above_position));
        self.grid.add(Finding { other_place, ..finding });
    }
}

impl Context for Here<'_> {
    fn pause(&self) {
        self.asked.set(true);
    }

    fn report(&self, report: Report) {
        let Report { kind, message, notes, warp, lanes, position, other } = report;
        let fault = Fault { kind, message, notes, lanes };
        // Who called is known of the running warp only.
        let frame = if warp as usize == self.warp { self.frame } else { ROOT };
        let finding = self.grid.finding(self.cta, warp as usize, frame, position, fault);
        let other_place = other.map(|other| place(self.grid.code, None, other));
        self.grid.add(Finding { other_place, ..finding });
        self.found.set(true);
    }

    fn instruction(&self, position: u32) -> Option<InstructionView<'_>> {
        let code = self.grid.code;
        let meta = *code.meta.get(position as usize)?;
        let instruction = instruction(code, meta)?;
        let function = &code.module.functions[code.functions[meta.function as usize].id.index()];
        Some(InstructionView { module: &code.module, body: function.body.as_ref()?, instruction })
    }

    fn exited(&self, warp: u32) -> LaneMask {
        self.cta.warps.get(warp as usize).map_or(0, |warp| warp.left())
    }

    fn shared(&self) -> &[u8] {
        self.home.shared.bytes()
    }

    fn written(&self, address: u64, bytes: u64) -> Option<(&Written, u64)> {
        let allocation = self.snapshot.table.find(address, bytes)?;
        Some((allocation.written.as_ref()?, address - allocation.base))
    }

    fn describe(&self, address: u64, bytes: u64) -> Option<String> {
        let allocation = self.snapshot.table.find(address, bytes)?;
        Some(format!("{} bytes into {}", address - allocation.base, allocation.describe()))
    }
}
