//! What is begun and done later: asynchronous operations, and loads whose value is settled after stores behind them.
//!
//! # Asynchronous operations
//! A program may rely on an operation only once it has waited for it (ISA 9.7.9.25.1). By default each is done where it is
//! issued, which is one of the times that are allowed. With another [`AsyncPolicy`] it takes along the registers of its
//! issuer, and is done when its group is waited for, when somebody looks at an mbarrier object in vain, by chance, or at the
//! end of its block.
//!
//! # Loads
//! A load of global memory that is weak or relaxed may be put off as long as nothing follows but work in
//! registers and further weak or relaxed loads and stores, and none of it names the register that is loaded or,
//! in the same lane, touches the bytes that are read. So nothing depends on the load while it is outstanding
//! (8.10.4), program order for one location holds (8.10.5), and whatever synchronises, jumps or waits comes
//! after it: causality still follows the order of execution.

use crate::code::{Action, AtomicOp, Completion, GroupStep, Groups};
use crate::event::Asynchronous;
use crate::machine::Machine;
use crate::machine::frame::FrameId;
use crate::machine::in_flight::{Load, Operation};
use crate::machine::warp::Group;
use crate::observer::Observer;
use crate::ops::at::{Addresses, At, Checked, Direction};
use crate::ops::masks::each_lane;
use crate::options::AsyncPolicy;
use numerics::mbarrier::MbarrierOp;
use semantics::lanes::{LaneMask, Pred, Registers};
use std::sync::atomic::Ordering;

/// In so many turns of a warp an operation comes to its end once, by chance.
const TURNS: u64 = 8;

impl<O: Observer> Machine<'_, '_, O> {
    /// Whether asynchronous operations are done later than where they are issued.
    #[inline(always)]
    pub(crate) fn defers(&self) -> bool {
        O::ACTIVE && self.worker.grid.asynchrony != AsyncPolicy::Eager
    }

    /// The completion of the operation that ends with an instruction, and its first instruction; `None` if it is part of none,
    /// or of one that has more instructions.
    #[cold]
    fn ends_operation(&self, position: u32) -> Option<(u32, Completion)> {
        let insts = &self.worker.grid.code.insts;
        match &insts[position as usize].action {
            Action::Copy(_) => Some((position, Completion::Groups(Groups::Copies))),
            Action::BulkCopy(index) => {
                let copy = &self.worker.grid.code.bulk_copies[*index as usize];
                let groups = Completion::Groups(Groups::Bulk);
                Some((position, if copy.barrier.is_some() { Completion::Mbarrier } else { groups }))
            }
            // The load of the same copy is before it.
            Action::Store(access) if access.asynchronous == Asynchronous::Copy => {
                Some((position - 1, Completion::Groups(Groups::Copies)))
            }
            Action::Atomic(atomic)
                if atomic.access.asynchronous == Asynchronous::Issued
                    && atomic.op == AtomicOp::Mbarrier(MbarrierOp::CompleteTx) =>
            {
                let issue = |inst: &crate::code::Inst| matches!(inst.action, Action::IssueStore(_));
                let first = insts[..position as usize].iter().rposition(issue)? as u32;
                Some((first, Completion::Mbarrier))
            }
            _ => None,
        }
    }

    /// Whether a load is the first half of a `cp.async`.
    #[cold]
    pub(crate) fn begins_copy(&self, position: u32) -> bool {
        let next = self.worker.grid.code.insts.get(position as usize + 1);
        next.is_some_and(
            |inst| matches!(&inst.action, Action::Store(store) if store.asynchronous == Asynchronous::Copy),
        )
    }

    /// An instruction of an asynchronous operation is met: with the last one the operation is under way.
    #[cold]
    pub(crate) fn put_under_way(&mut self, group: &Group, lanes: LaneMask) {
        let Some((first, completion)) = self.ends_operation(group.position) else { return };
        let code = self.worker.grid.code;
        let specials = code.warp_specials.len();
        let warp = self.warp_mut();
        let frame = *warp.frame(group.frame);
        let function = &code.functions[frame.function as usize];
        let rows = &warp.rows[specials + frame.rows as usize..][..function.rows as usize];
        let rows = [&warp.rows[..specials], rows].concat();
        let predicates =
            warp.predicates[frame.predicates as usize..][..function.predicates as usize].to_vec();
        let committed = match completion {
            Completion::Groups(groups) => *warp.in_flight.committed(groups),
            Completion::Mbarrier => [0; 32],
        };
        warp.hold(group.frame);
        warp.in_flight.operations.push(Operation {
            position: first,
            count: group.position + 1 - first,
            lanes,
            frame: group.frame,
            completion,
            group: committed,
            rows,
            predicates,
        });
    }

    /// Lanes commit operations to a group, or wait for some, which are done then.
    #[cold]
    pub(crate) fn step_groups(&mut self, lanes: LaneMask, groups: Groups, step: GroupStep) {
        let in_flight = &mut self.warp_mut().in_flight;
        let most = match step {
            GroupStep::Commit => {
                let committed = in_flight.committed(groups);
                each_lane(lanes, |lane| committed[lane] = committed[lane].saturating_add(1));
                return;
            }
            GroupStep::Wait(most) | GroupStep::WaitReads(most) => Some(most),
            GroupStep::WaitAll => None,
        };
        while let Some((at, lanes)) = self.warp().in_flight.awaited(groups, lanes, most) {
            self.finish(at, lanes);
        }
    }

    /// Does some lanes of an operation of the warp.
    fn finish(&mut self, at: usize, lanes: LaneMask) {
        let (mut operation, whole) = self.warp_mut().in_flight.take(at, lanes);
        let Operation { position, count, frame, .. } = operation;
        let mut registers = self.registers_of_operation(&mut operation);
        let code = self.worker.grid.code;
        for position in position..position + count {
            let inst = &code.insts[position as usize];
            let guarded =
                if inst.guard == Pred::TRUE { LaneMask::MAX } else { registers.predicate(inst.guard) };
            let lanes = lanes & guarded;
            let at = |access, direction| At { access, direction, lanes, peer: None, position, frame };
            let mut group = Group::executing(position, lanes, frame);
            let done = match &inst.action {
                _ if lanes == 0 => Ok(()),
                Action::Load(access) => self.load(&mut registers, &at(access, Direction::Load)),
                Action::Store(access) => self.store(&mut registers, &at(access, Direction::Store)),
                Action::Atomic(atomic) => {
                    self.atomic(&mut registers, at(&atomic.access, Direction::Atomic), atomic)
                }
                Action::Copy(index) => {
                    let copy = &code.copies[*index as usize];
                    self.copy(&mut registers, at(&copy.from, Direction::Load), copy)
                }
                Action::BulkCopy(index) => self.do_bulk_copy(&mut registers, &mut group, lanes, *index),
                _ => Ok(()),
            };
            if let Err(fault) = done {
                // Nobody is there any more to be ended by it.
                self.note(&group, *fault);
                self.cta.faulted = true;
                self.worker.grid.faulted.store(true, Ordering::Relaxed);
                break;
            }
        }
        if whole {
            self.warp_mut().release(frame);
        }
    }

    /// Operations of the block come to their end by themselves, as the policy has it. `polled`: a thread of it has looked at
    /// memory as those do that wait.
    #[cold]
    pub(crate) fn land(&mut self, polled: bool) {
        for warp in 0..self.cta.warps.len() {
            self.index = warp;
            let mut at = 0;
            while let Some(operation) = self.warp().in_flight.operations.get(at) {
                let lanes = operation.lanes;
                let awaits_poll = operation.completion == Completion::Mbarrier && polled;
                let lands = match (self.worker.grid.asynchrony, &mut self.worker.random) {
                    (AsyncPolicy::Random, Some(random)) => {
                        random.below(TURNS) == 0 || awaits_poll && random.below(2) == 0
                    }
                    _ => awaits_poll,
                };
                if lands {
                    self.finish(at, lanes);
                    // One at a time, so that who waits for one sees the others missing.
                    if self.worker.grid.asynchrony == AsyncPolicy::Late {
                        return;
                    }
                } else {
                    at += 1;
                }
            }
        }
    }

    /// The threads of the block are gone: what they left under way is done.
    #[cold]
    pub(crate) fn land_all(&mut self) {
        for warp in 0..self.cta.warps.len() {
            self.index = warp;
            while let Some(operation) = self.warp().in_flight.operations.first() {
                let lanes = operation.lanes;
                self.finish(0, lanes);
            }
        }
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Puts a load off, perhaps: then it is done before the position that [`Self::due`] gives.
    #[cold]
    pub(crate) fn put_off(&mut self, registers: &mut Registers, at: &At<'_>) -> Checked<bool> {
        let Some(weak) = self.weak() else { return Ok(false) };
        let Some(until) = weak.late[at.position as usize] else { return Ok(false) };
        if weak.state().below(2) == 0 {
            return Ok(false);
        }
        let addresses = self.addresses(registers, *at);
        self.settle_overlapping(registers, at, &addresses)?;
        if at.access.strong {
            self.worker.waits += 1;
        }
        let load = Load { position: at.position, until, lanes: at.lanes, frame: at.frame, addresses };
        self.warp_mut().in_flight.loads.push(load);
        Ok(true)
    }

    /// Whether a group that came to where a load of its must be done lets others run first.
    #[cold]
    pub(crate) fn waits_on(&self) -> bool {
        self.weak().is_some_and(|weak| weak.state().below(8) != 0)
    }

    /// The nearest position before which some load of these lanes must be done.
    pub(crate) fn due(&self, frame: FrameId, lanes: LaneMask) -> u32 {
        let loads = self.warp().in_flight.loads.iter();
        let own = loads.filter(|load| load.frame == frame && load.lanes & lanes != 0);
        own.map(|load| load.until).min().unwrap_or(u32::MAX)
    }

    /// Does the loads of these lanes that must be done before a position.
    #[cold]
    pub(crate) fn settle_due(
        &mut self,
        registers: &mut Registers,
        frame: FrameId,
        lanes: LaneMask,
        position: u32,
    ) -> Checked {
        let due = |load: &Load| load.frame == frame && load.lanes & lanes != 0 && load.until <= position;
        while let Some(index) = self.warp().in_flight.loads.iter().position(due) {
            self.settle(registers, index)?;
        }
        Ok(())
    }

    /// Does the loads that read what an access is about to touch in the same lane.
    #[cold]
    pub(crate) fn settle_overlapping(
        &mut self,
        registers: &mut Registers,
        at: &At<'_>,
        addresses: &Addresses,
    ) -> Checked {
        let bytes = u64::from(at.access.bytes());
        while let Some(index) = self.warp().in_flight.loads.iter().position(|load| {
            let Action::Load(access) = &self.worker.grid.code.insts[load.position as usize].action else {
                return false;
            };
            let read = u64::from(access.bytes());
            let mut overlap = false;
            each_lane(load.lanes & at.lanes, |lane| {
                let (a, b) = (load.addresses[lane], addresses[lane]);
                overlap |= a < b.saturating_add(bytes) && b < a.saturating_add(read);
            });
            overlap
        }) {
            self.settle(registers, index)?;
        }
        Ok(())
    }

    fn settle(&mut self, registers: &mut Registers, index: usize) -> Checked {
        let mut load = self.warp_mut().in_flight.loads.remove(index);
        let code = self.worker.grid.code;
        let Action::Load(access) = &code.insts[load.position as usize].action else { return Ok(()) };
        let at = At {
            access,
            direction: Direction::Load,
            lanes: load.lanes,
            peer: None,
            position: load.position,
            frame: load.frame,
        };
        self.move_at(registers, at, &mut load.addresses)
    }
}
