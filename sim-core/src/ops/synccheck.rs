//! `--tool synccheck`: wrong use of barriers that the simulator can execute all the same.

use smallvec::SmallVec;

use super::at::At;
use super::masks::each_lane;
use crate::code::{Action, Atomic, AtomicOp, lanes_text};
use crate::finding::FindingKind;
use crate::lanes::{LaneMask, Registers};
use crate::machine::Machine;
use crate::machine::fault::{Fault, place};
use crate::machine::warp::{Group, ROOT};
use crate::numerics::mbarrier::{self, MbarrierOp};
use crate::observer::Observer;

impl<O: Observer> Machine<'_, '_, O> {
    /// Lanes arrive at a barrier: of an aligned one all lanes of their warp have to execute the same
    /// instruction (ISA 9.7.13.1).
    pub(crate) fn check_arrival(&mut self, group: &Group, active: LaneMask, id: u32, aligned: bool) {
        let warps = self.cta.warps.len();
        let state = &mut self.cta.barriers[id as usize];
        state.first.resize(warps, 0);
        if state.arrived[self.index] == 0 {
            state.first[self.index] = group.position;
        }
        let first = state.first[self.index];
        if !aligned || first == group.position {
            return;
        }
        let text = format!("lanes of one warp arrive at barrier {id} by different instructions");
        // The same finding whichever came first.
        let (here, other, lanes) = if first < group.position {
            (group.position, first, active)
        } else {
            (first, group.position, state.arrived[self.index])
        };
        let fault = Fault::new(FindingKind::UndefinedBehavior, lanes, text)
            .note("`bar` and `barrier.aligned` need all lanes of a warp at one instruction");
        let grid = self.worker.grid;
        let finding = grid.finding(self.cta, self.index, group.frame, here, fault);
        grid.add(crate::finding::Finding { other_place: Some(place(grid.code, None, other)), ..finding });
    }

    /// Whether all live lanes of the running warp are here, and none that a barrier should have met is gone:
    /// then there is nothing to check.
    #[inline(always)]
    pub(crate) fn is_whole_for_barrier(&self, index: usize, active: LaneMask) -> bool {
        let warp = &self.cta.warps[index];
        active == warp.live() && (!self.worker.grid.options.synccheck || warp.left() == 0)
    }

    /// A barrier is complete: where an aligned one was executed by some lanes of a warp, the others must
    /// not have exited instead (ISA 9.7.13.1: all threads in the warp execute the same instruction).
    pub(crate) fn check_completion(&self, id: usize) {
        let grid = self.worker.grid;
        let state = &self.cta.barriers[id];
        for (index, (warp, (&come, &first))) in
            self.cta.warps.iter().zip(state.arrived.iter().zip(&state.first)).enumerate()
        {
            let gone = warp.left() & !come;
            let aligned = matches!(&grid.code.insts[first as usize].action, Action::Barrier(b) if b.aligned);
            if come == 0 || gone == 0 || !aligned {
                continue;
            }
            let text = format!(
                "barrier {id} is reached by a part of a warp: lanes {} have exited",
                lanes_text(gone)
            );
            let fault = Fault::new(FindingKind::UndefinedBehavior, come, text).note(
                "`bar` and `barrier.aligned` need all lanes of a warp; only whole warps may exit before",
            );
            grid.report(self.cta, index, ROOT, first, fault);
        }
    }

    /// Operations on mbarrier objects of the block, before they are done (ISA 9.7.13.15).
    pub(crate) fn check_mbarriers(
        &self,
        registers: &Registers,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &[u64; 32],
    ) {
        let AtomicOp::Mbarrier(op) = atomic.op else { return };
        let Some(operand) = atomic.slots(&self.worker.grid.code.slots).get(1) else { return };
        let operands = registers.read::<u32>(operand.slot);
        let block = at.peer.and_then(|rank| self.peers.get(rank)).unwrap_or(self.cta);
        let shared = block.shared.bytes();
        // The lanes see each other's operations.
        let mut objects: SmallVec<[(u64, u64); 32]> = SmallVec::new();
        let mut wrong: SmallVec<[(usize, &'static str); 32]> = SmallVec::new();
        each_lane(at.lanes, |lane| {
            let address = addresses[lane];
            let known = objects.iter().position(|&(other, _)| other == address);
            let known = known.unwrap_or_else(|| {
                let bytes = shared.get(address as usize..).and_then(|rest| rest.first_chunk());
                objects.push((address, bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))));
                objects.len() - 1
            });
            let bits = &mut objects[known].1;
            if let Some(text) = mbarrier::misuse(op, *bits, operands[lane]) {
                wrong.push((lane, text));
            }
            *bits = mbarrier::apply(op, *bits, operands[lane]);
        });
        let Some(&(_, text)) = wrong.first() else { return };
        let lanes = wrong.iter().filter(|(_, other)| *other == text).fold(0, |m, (lane, _)| m | 1 << lane);
        let first = addresses[wrong[0].0];
        let text = format!("{} of the mbarrier object at shared address {first:#x}: {text}", name(op));
        let fault = Fault::new(FindingKind::UndefinedBehavior, lanes, text);
        self.worker.grid.report(self.cta, self.index, at.frame, at.position, fault);
    }
}

/// The instruction.
fn name(op: MbarrierOp) -> &'static str {
    match op {
        MbarrierOp::Init => "`mbarrier.init`",
        MbarrierOp::Invalidate => "`mbarrier.inval`",
        MbarrierOp::Arrive | MbarrierOp::ArriveExpectTx => "an arrive",
        MbarrierOp::Drop | MbarrierOp::DropExpectTx => "`mbarrier.arrive_drop`",
        MbarrierOp::Expect => "`cp.async.mbarrier.arrive`",
        MbarrierOp::ExpectTx => "`expect_tx`",
        MbarrierOp::CompleteTx => "`complete_tx`",
    }
}
