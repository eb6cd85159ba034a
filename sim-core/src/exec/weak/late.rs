//! Loads that are done late: what a load reads may be settled after stores behind it (load buffering).
//!
//! A load of global memory that is weak or relaxed may be put off as long as nothing follows but work in
//! registers and further weak or relaxed loads and stores, and none of it names the register that is loaded or,
//! in the same lane, touches the bytes that are read. So nothing depends on the load while it is outstanding
//! (8.10.4), program order for one location holds (8.10.5), and whatever synchronises, jumps or waits comes
//! after it: causality still follows the order of execution.

use ptx_frontend::{MemOrder, RegId};

use super::super::access::{Addresses, At, Checked, Direction, each_lane};
use super::super::step::Machine;
use super::super::warp::FrameId;
use crate::code::{Access, AccessSpace, Action, Code};
use crate::decode::Uses;
use crate::lanes::{LaneMask, Registers};
use crate::observer::Observer;

/// A load that is outstanding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    position: u32,
    /// The instruction before which it must be done.
    until: u32,
    lanes: LaneMask,
    frame: FrameId,
    addresses: Addresses,
}

/// Most instructions that a load is put off for.
const FARTHEST: usize = 64;

/// Whether an access may be done after others, and others after it.
fn loose(access: &Access) -> bool {
    access.space == AccessSpace::Global && matches!(access.order, MemOrder::Weak | MemOrder::Relaxed)
}

/// By position: the instruction before which a load there must be done if it is put off, or nothing.
pub(super) fn windows(code: &Code) -> Vec<Option<u32>> {
    (0..code.insts.len()).map(|at| window(code, at)).collect()
}

fn window(code: &Code, at: usize) -> Option<u32> {
    let Action::Load(access) = &code.insts[at].action else { return None };
    if !loose(access) {
        return None;
    }
    let mut uses = Uses::default();
    let mut named = |position: usize| -> Option<(Vec<RegId>, Vec<RegId>)> {
        let meta = code.meta[position];
        let function = code.functions.get(meta.function as usize)?;
        let body = code.module.functions[function.id.index()].body.as_ref()?;
        uses.collect(&code.module, body, body.instructions.get(meta.instruction as usize)?);
        Some((uses.reads.clone(), uses.writes.clone()))
    };
    let (_, loaded) = named(at)?;
    for next in at + 1..code.insts.len().min(at + FARTHEST) {
        let (reads, writes) = named(next)?;
        // A register that nobody reads may have lost its place to another.
        let read = reads.iter().any(|register| loaded.contains(register));
        if !read && writes.iter().any(|register| loaded.contains(register)) {
            return None;
        }
        let passes = match &code.insts[next].action {
            Action::Lanes(..) | Action::Nothing | Action::ReadSpecial(..) => true,
            Action::Load(access) | Action::Store(access) => loose(access),
            _ => false,
        };
        if read || !passes {
            // Whoever stops it must not be the first to need the register's place either.
            let kept = read || reaches_a_read(code, &loaded, next, &mut named);
            return (kept && next > at + 1).then_some(next as u32);
        }
    }
    None
}

/// Whether one of the registers is read before it is written, going straight on from a position.
fn reaches_a_read(
    code: &Code,
    loaded: &[RegId],
    from: usize,
    named: &mut impl FnMut(usize) -> Option<(Vec<RegId>, Vec<RegId>)>,
) -> bool {
    for at in from..code.insts.len().min(from + FARTHEST) {
        let Some((reads, writes)) = named(at) else { return false };
        if reads.iter().any(|register| loaded.contains(register)) {
            return true;
        }
        if writes.iter().any(|register| loaded.contains(register)) {
            return false;
        }
    }
    false
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Puts a load off, perhaps; gives the position before which it is done.
    #[cold]
    pub(in super::super) fn put_off(
        &mut self,
        registers: &mut Registers,
        at: &At<'_>,
    ) -> Checked<Option<u32>> {
        let grid = self.worker.grid;
        let Some(weak) = &grid.weak else { return Ok(None) };
        let Some(until) = weak.late[at.position as usize] else { return Ok(None) };
        if weak.state().below(2) == 0 {
            return Ok(None);
        }
        let addresses = self.addresses(registers, *at);
        self.settle_overlapping(registers, at, &addresses)?;
        if at.access.strong {
            self.worker.waits += 1;
        }
        let late = Late { position: at.position, until, lanes: at.lanes, frame: at.frame, addresses };
        self.warp_mut().late.push(late);
        Ok(Some(until))
    }

    /// Whether a group that came to where a load of its must be done lets others run first.
    #[cold]
    pub(in super::super) fn waits_on(&self) -> bool {
        self.worker.grid.weak.as_ref().is_some_and(|weak| weak.state().below(8) != 0)
    }

    /// The nearest position before which some load of these lanes must be done.
    pub(in super::super) fn due(&self, frame: FrameId, lanes: LaneMask) -> u32 {
        let late = self.warp().late.iter().filter(|late| late.frame == frame && late.lanes & lanes != 0);
        late.map(|late| late.until).min().unwrap_or(u32::MAX)
    }

    /// Does the loads of these lanes that must be done before a position.
    #[cold]
    pub(in super::super) fn settle_due(
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
    pub(in super::super) fn settle_overlapping(
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
            position: late.position,
            frame: late.frame,
        };
        self.move_at(registers, at, &mut late.addresses)
    }
}
