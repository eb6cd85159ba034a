//! Block barriers: `bar`, `barrier` (ISA 9.7.13.1).

use super::at::Checked;
use super::flow::{Flow, On};
use crate::code::{Action, Barrier, BarrierKind};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::barrier::BlockBarrier;
use crate::machine::cta::BARRIERS;
use crate::machine::fault::Fault;
use crate::machine::frame::ROOT;
use crate::machine::warp::{Group, Wait, Warp};
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use semantics::lanes::{LaneMask, Registers};

/// What became of a warp that arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It waits at the barrier of this number.
    Waits(u8),
    /// It goes on; others wait still.
    GoesOn,
    /// It was the last: the barrier is complete, and it goes on.
    Last,
}

impl<O: Observer> Machine<'_, '_, O> {
    #[inline(always)]
    pub(crate) fn barrier(
        &mut self,
        registers: &Registers,
        group: &mut Group,
        active: LaneMask,
        barrier: &Barrier,
    ) -> Flow {
        if self.weak().is_some() || !self.is_whole_for_barrier(self.index, active) {
            return Flow::Wait(On::Arrival(active));
        }
        match self.arrive_whole(group, active, barrier, registers) {
            Some(Arrival::Last | Arrival::GoesOn) => Flow::Next,
            Some(Arrival::Waits(id)) => {
                group.position += 1;
                Flow::Wait(On::Barrier(id))
            }
            None => Flow::Wait(On::Arrival(active)),
        }
    }

    /// A group arrives at a barrier. Its entry `at` becomes ready or waits; only if something
    /// is wrong it stays with the caller.
    pub(crate) fn arrive(&mut self, at: usize, group: &mut Group, active: LaneMask) -> Checked {
        let Action::Barrier(barrier) = &self.worker.grid.code.insts[group.position as usize].action else {
            return Ok(());
        };
        let first = active.trailing_zeros() as usize & 31;
        let registers = self.registers(group.frame);
        let named = registers.lane::<u32>(barrier.id, first);
        // Of a count a device takes twelve bits; none of them is that all threads come.
        let expected = barrier.count.map(|slot| registers.lane::<u32>(slot, first) % 4096);
        let arrives = barrier.kind == BarrierKind::Arrive;
        let expected = expected.filter(|&count| count != 0 || arrives);
        let position = group.position;
        // Lanes whose guard is false go on at once.
        let rest = group.lanes & !active;
        if rest != 0 {
            self.warp_mut().fork(group, position + 1, rest);
            group.lanes = active;
        }
        let illegal = |text: String| Err(Box::new(Fault::new(FindingKind::IllegalInstruction, active, text)));
        let wrong = |text: String| Err(Box::new(Fault::new(FindingKind::BarrierMismatch, active, text)));
        let threads = self.cta.warps.len() as u32 * 32;
        let id = named % BARRIERS as u32;
        if named != id {
            let text = format!("barrier {named}: a block has barriers 0 to 15; sm_90 takes it for {id}");
            self.note(group, Fault::new(FindingKind::UndefinedBehavior, active, text));
        }
        // A warp that has arrived may wait as well, and counts twice: only who waits first at a barrier waits for too many.
        let is_open = arrives || self.cta.barriers[id as usize].active;
        if let Some(count) = expected
            && (count == 0 || count % 32 != 0 || count > threads && !is_open)
        {
            let what = format!("barrier {id} with a count of {count} threads");
            if count % 32 != 0 || count == 0 {
                return illegal(format!("{what}: it must be a multiple of the warp size and not zero"));
            }
            return wrong(format!("{what}: the block has only {threads} threads, so it can never complete"));
        }
        let index = self.index;
        if self.weak().is_some() {
            self.weak_arrive(active, id);
        }
        let state = &mut self.cta.barriers[id as usize];
        let is_reduction =
            matches!(barrier.kind, BarrierKind::RedAnd | BarrierKind::RedOr | BarrierKind::RedPopc);
        if state.active && state.expected != expected {
            let text =
                |count: Option<u32>| count.map_or("all threads".into(), |count| format!("{count} threads"));
            let message = format!(
                "barrier {id} expects {}, but threads that already wait expect {}",
                text(expected),
                text(state.expected)
            );
            return illegal(message);
        }
        if state.active && state.reduction != is_reduction {
            return wrong(format!("barrier {id} mixes a reduction with `sync` or `arrive`"));
        }
        if !state.active {
            state.open(self.cta.warps.len());
            state.expected = expected;
            state.reduction = is_reduction;
            self.cta.open_barriers |= 1 << id;
        }
        let state = &mut self.cta.barriers[id as usize];
        let again = state.arrived[index] & active;
        state.extra += again.count_ones();
        state.arrived[index] |= active;
        let values = registers.predicate(barrier.predicate) & active;
        state.popc += values.count_ones();
        state.and &= values == active;
        state.or |= values != 0;
        let waits = barrier.kind != BarrierKind::Arrive;
        self.tell_of_arrival(group, active, barrier, id as u8);
        group.position += 1;
        if !waits {
            self.warp_mut().stop(at, group, Wait::Ready);
        } else {
            self.warp_mut().stop(at, group, Wait::Barrier(id as u8));
        }
        self.complete_barrier(id as usize);
        Ok(())
    }

    /// All live lanes of the running warp arrive at a barrier, the common case. `None` if nothing was done:
    /// something is special.
    pub(crate) fn arrive_whole(
        &mut self,
        group: &Group,
        lanes: LaneMask,
        barrier: &Barrier,
        registers: &Registers,
    ) -> Option<Arrival> {
        let (id, expected) = match barrier.whole {
            Some(id) => (id, None),
            None => self.plain(lanes, barrier, registers)?,
        };
        let cta = &mut *self.cta;
        let state = &mut cta.barriers[usize::from(id) % BARRIERS];
        if self.worker.random.is_some() {
            return None;
        }
        if !state.active {
            state.open(cta.warps.len());
            state.expected = expected;
            match expected {
                Some(_) => state.come = 0,
                None => state.missing = state.count_missing(&cta.warps),
            }
            cta.open_barriers |= 1 << id;
        } else if state.expected != expected || state.reduction || state.arrived[self.index] != 0 {
            return None;
        }
        state.arrived[self.index] = lanes;
        let complete = match expected {
            // A warp counts whole.
            Some(expected) => {
                state.come += 32;
                state.come >= expected
            }
            None => {
                state.missing -= 1;
                state.missing == 0
            }
        };
        let waits = barrier.kind != BarrierKind::Arrive;
        self.tell_of_arrival(group, lanes, barrier, id);
        if complete {
            self.release(usize::from(id));
            return Some(Arrival::Last);
        }
        Some(if waits { Arrival::Waits(id) } else { Arrival::GoesOn })
    }

    /// Whether all live lanes of a warp are here.
    #[inline(always)]
    pub(crate) fn is_whole_for_barrier(&self, index: usize, active: LaneMask) -> bool {
        active == self.cta.warps[index].live()
    }

    /// Tells tools that lanes arrive.
    #[inline(always)]
    fn tell_of_arrival(&mut self, group: &Group, lanes: LaneMask, barrier: &Barrier, id: u8) {
        let event = Event::Arrived {
            warp: self.warp_id(),
            lanes,
            barrier: id,
            waits: barrier.kind != BarrierKind::Arrive,
            aligned: barrier.aligned,
            position: group.position,
        };
        self.tell(Wants::BARRIERS, group.frame, &event);
    }

    /// Number and count of a barrier that only waits, or does not; `None` if something is special.
    fn plain(&self, lanes: LaneMask, barrier: &Barrier, registers: &Registers) -> Option<(u8, Option<u32>)> {
        if !matches!(barrier.kind, BarrierKind::Sync | BarrierKind::Arrive) {
            return None;
        }
        let first = lanes.trailing_zeros() as usize & 31;
        let id = registers.lane::<u32>(barrier.id, first);
        let expected = barrier.count.map(|slot| registers.lane::<u32>(slot, first));
        let threads = self.cta.warps.len() as u32 * 32;
        let fine = |count: u32| count != 0 && count.is_multiple_of(32) && count <= threads;
        (id < BARRIERS as u32 && expected.is_none_or(fine)).then_some((id as u8, expected))
    }

    /// Releases the threads that wait at a barrier if all it waits for have come.
    pub(crate) fn complete_barrier(&mut self, id: usize) {
        let state = &mut self.cta.barriers[id];
        if !state.active {
            return;
        }
        state.missing = state.count_missing(&self.cta.warps);
        let come = self.cta.barriers[id].count(&self.cta.warps);
        let state = &mut self.cta.barriers[id];
        state.come = come;
        let complete = state.expected.map_or(state.missing == 0, |expected| come >= expected);
        if complete {
            self.release(id);
        }
    }

    /// Releases the threads that wait at a barrier.
    fn release(&mut self, id: usize) {
        self.worker.stats.barriers += 1;
        if self.wants(Wants::BARRIERS) {
            let come = &self.cta.barriers[id].arrived;
            let everybody = self.cta.warps.iter().zip(come).all(|(warp, &come)| warp.live() & !come == 0);
            let event = Event::BarrierCompleted { block: self.cta.index, barrier: id as u8, everybody };
            self.tell(Wants::BARRIERS, ROOT, &event);
        }
        let BlockBarrier { popc, and, or, reduction, .. } = self.cta.barriers[id];
        self.cta.barriers[id].reset();
        self.cta.open_barriers &= !(1 << id);
        let code = self.worker.grid.code;
        for index in 0..self.cta.warps.len() {
            if self.weak().is_some() {
                let here = |group: &&Group| group.wait == Wait::Barrier(id as u8);
                let lanes = self.cta.warps[index].groups.iter().filter(here).fold(0, |all, g| all | g.lanes);
                self.weak_leave(index, lanes, id as u32);
            }
            if let [group] = &mut self.cta.warps[index].groups[..]
                && group.wait == Wait::Barrier(id as u8)
                && !reduction
            {
                group.wait = Wait::Ready;
                continue;
            }
            let mut released: smallvec::SmallVec<[Group; 4]> = smallvec::SmallVec::new();
            self.cta.warps[index].groups.retain(|group| {
                let here = group.wait == Wait::Barrier(id as u8);
                if here {
                    released.push(*group);
                }
                !here
            });
            for mut group in released {
                if let Action::Barrier(barrier) = &code.insts[Warp::place(&group) as usize].action {
                    let mut registers = self.registers_of(index, group.frame);
                    let lanes = group.lanes;
                    let all = |value: bool| if value { LaneMask::MAX } else { 0 };
                    match barrier.kind {
                        BarrierKind::RedPopc => registers.write(barrier.dst, lanes, &[popc; 32]),
                        BarrierKind::RedAnd if barrier.pred_dst.index() != 0 => {
                            registers.set_predicate(barrier.pred_dst, lanes, all(and));
                        }
                        BarrierKind::RedOr if barrier.pred_dst.index() != 0 => {
                            registers.set_predicate(barrier.pred_dst, lanes, all(or));
                        }
                        _ => {}
                    }
                }
                group.wait = Wait::Ready;
                self.cta.warps[index].put(group);
            }
        }
    }

    /// Barriers that may be complete now that lanes have exited.
    pub(crate) fn recheck_barriers(&mut self) {
        if self.worker.grid.code.clustered {
            self.complete_cluster();
        }
        let mut open = self.cta.open_barriers;
        while open != 0 {
            self.complete_barrier(open.trailing_zeros() as usize);
            open &= open - 1;
        }
    }
}
