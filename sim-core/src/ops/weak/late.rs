//! Loads that are done late: what a load reads may be settled after stores behind it (load buffering).
//!
//! A load of global memory that is weak or relaxed may be put off as long as nothing follows but work in
//! registers and further weak or relaxed loads and stores, and none of it names the register that is loaded or,
//! in the same lane, touches the bytes that are read. So nothing depends on the load while it is outstanding
//! (8.10.4), program order for one location holds (8.10.5), and whatever synchronises, jumps or waits comes
//! after it: causality still follows the order of execution.

use crate::code::Action;
use crate::machine::Machine;
use crate::machine::warp::{FrameId, Late};
use crate::observer::Observer;
use crate::ops::at::{Addresses, At, Checked, Direction};
use crate::ops::masks::each_lane;
use semantics::lanes::{LaneMask, Registers};

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
        let late = Late { position: at.position, until, lanes: at.lanes, frame: at.frame, addresses };
        self.warp_mut().late.push(late);
        Ok(true)
    }

    /// Whether a group that came to where a load of its must be done lets others run first.
    #[cold]
    pub(crate) fn waits_on(&self) -> bool {
        self.weak().is_some_and(|weak| weak.state().below(8) != 0)
    }

    /// The nearest position before which some load of these lanes must be done.
    pub(crate) fn due(&self, frame: FrameId, lanes: LaneMask) -> u32 {
        let late = self.warp().late.iter().filter(|late| late.frame == frame && late.lanes & lanes != 0);
        late.map(|late| late.until).min().unwrap_or(u32::MAX)
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
        while let Some(index) = self
            .warp()
            .late
            .iter()
            .position(|late| late.frame == frame && late.lanes & lanes != 0 && late.until <= position)
        {
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
        while let Some(index) = self.warp().late.iter().position(|late| {
            let Action::Load(access) = &self.worker.grid.code.insts[late.position as usize].action else {
                return false;
            };
            let read = u64::from(access.bytes());
            let mut overlap = false;
            each_lane(late.lanes & at.lanes, |lane| {
                let (a, b) = (late.addresses[lane], addresses[lane]);
                overlap |= a < b.saturating_add(bytes) && b < a.saturating_add(read);
            });
            overlap
        }) {
            self.settle(registers, index)?;
        }
        Ok(())
    }

    fn settle(&mut self, registers: &mut Registers, index: usize) -> Checked {
        let mut late = self.warp_mut().late.remove(index);
        let code = self.worker.grid.code;
        let Action::Load(access) = &code.insts[late.position as usize].action else { return Ok(()) };
        let at = At {
            access,
            direction: Direction::Load,
            lanes: late.lanes,
            peer: None,
            position: late.position,
            frame: late.frame,
        };
        self.move_at(registers, at, &mut late.addresses)
    }
}
