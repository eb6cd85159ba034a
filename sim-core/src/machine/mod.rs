//! The machine: launch, blocks, warps, registers, barriers, as data. What changes it is in [`crate::ops`], who runs next in
//! [`crate::engine`].

pub(crate) mod barrier;
pub(crate) mod checkpoint;
pub(crate) mod cluster;
pub(crate) mod cta;
pub(crate) mod fault;
pub(crate) mod frame;
pub(crate) mod gain;
pub(crate) mod grid;
pub(crate) mod heap;
pub(crate) mod in_flight;
pub(crate) mod kept;
pub(crate) mod launch_view;
pub(crate) mod launches;
pub(crate) mod pauses;
pub(crate) mod random;
pub(crate) mod squad;
mod start;
mod supply;
mod tell;
pub(crate) mod trail;
pub(crate) mod turn;
pub(crate) mod waiting;
pub(crate) mod warp;
pub(crate) mod warpgroup;
pub(crate) mod weak;
pub(crate) mod worker;

use crate::finding::Finding;
use crate::observer::Observer;
use cluster::Peers;
use cta::Cta;
use fault::Fault;
use frame::FrameId;
use grid::Grid;
use in_flight::Operation;
use semantics::lanes::Registers;
use warp::{Group, Warp};
use weak::WeakMemory;
use worker::Worker;

/// One warp of one block on one worker.
pub(crate) struct Machine<'a, 'g, O> {
    pub worker: &'a mut Worker<'g, O>,
    pub cta: &'a mut Cta,
    /// The other blocks of its cluster.
    pub peers: Peers<'a>,
    /// The warp.
    pub index: usize,
    /// It stops as soon as the warp is whole: see [`Warp::is_whole`].
    pub until_whole: bool,
}

impl<'g, O: Observer> Machine<'_, 'g, O> {
    #[inline(always)]
    pub(crate) fn warp(&self) -> &Warp {
        &self.cta.warps[self.index]
    }

    #[inline(always)]
    pub(crate) fn warp_mut(&mut self) -> &mut Warp {
        &mut self.cta.warps[self.index]
    }

    /// Weak memory, with [`RunOptions::weak`](crate::RunOptions::weak): then the interpreter that tools watch runs.
    #[inline(always)]
    pub(crate) fn weak(&self) -> Option<&'g WeakMemory> {
        let grid: &'g Grid<'g> = self.worker.grid;
        if O::ACTIVE { grid.weak.as_ref() } else { None }
    }

    /// The registers as a frame of this warp sees them.
    pub(crate) fn registers(&mut self, frame: FrameId) -> Registers {
        self.registers_of(self.index, frame)
    }

    /// The registers as a frame of some warp sees them.
    pub(crate) fn registers_of(&mut self, warp: usize, frame: FrameId) -> Registers {
        let specials = self.worker.grid.code.warp_specials.len();
        let warp = &mut self.cta.warps[warp];
        let frame = warp.frame(frame);
        // The parts that are needed: a copy as a whole would wait for the writes of its fields.
        let (first_row, first_predicate) = (frame.rows as usize, frame.predicates as usize);
        let rows = warp.rows.as_mut_ptr();
        // SAFETY: `reset` and `enter` sized the rows and predicates for the specials and every frame;
        // decoding numbered slots within them. The view is not used beyond the next change of frames,
        // and rows and predicates are not accessed otherwise while it is.
        unsafe {
            Registers::new(
                rows.add(specials + first_row),
                rows,
                self.worker.grid.constants.as_ptr(),
                warp.predicates.as_mut_ptr().add(first_predicate),
            )
        }
    }

    /// The registers that an operation under way took along.
    pub(crate) fn registers_of_operation(&self, operation: &mut Operation) -> Registers {
        let rows = operation.rows.as_mut_ptr();
        // SAFETY: they are copies of the warp's special registers and of all rows and predicates of a frame, as in
        // `registers_of`; the view is not used beyond the operation, nor are they accessed otherwise while it is.
        unsafe {
            Registers::new(
                rows.add(self.worker.grid.code.warp_specials.len()),
                rows,
                self.worker.grid.constants.as_ptr(),
                operation.predicates.as_mut_ptr(),
            )
        }
    }

    /// Reports something that does not stop the thread.
    pub(crate) fn note(&mut self, group: &Group, fault: Fault) {
        let finding = self.worker.grid.finding(self.cta, self.index, group.frame, group.position, fault);
        self.found(finding);
    }

    /// Reports a finding.
    pub(crate) fn found(&mut self, finding: Finding) {
        self.worker.grid.add(finding);
        self.worker.pauses.found();
    }
}
