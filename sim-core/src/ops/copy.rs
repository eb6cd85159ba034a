//! `cp.async` with a source size, as loads and stores, and what becomes of stores that come between a copy and the wait for
//! it ([`AsyncCopy::again`]).

use super::at;
use super::at::{At, Checked, Direction};
use super::masks::{each_lane, write_uniform};
use crate::code::{Access, AsyncCopy, GroupStep, Groups};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::in_flight::Copied;
use crate::machine::warp::Group;
use crate::observer::Observer;
use semantics::lanes::{LaneMask, Registers};

impl<O: Observer> Machine<'_, '_, O> {
    /// `at`: the lanes and the place; its access and direction do not matter.
    pub(crate) fn copy(&mut self, registers: &mut Registers, at: At<'_>, copy: &AsyncCopy) -> Checked {
        let unit = u32::from(copy.from.size);
        let sizes = registers.read::<u32>(copy.size).map(|size| taken(copy, size));
        let lanes_with = |wanted: &dyn Fn(u32) -> bool| {
            (0..32).fold(0, |m: LaneMask, lane| m | u32::from(wanted(sizes[lane])) << lane) & at.lanes
        };
        let whole = lanes_with(&|size| size >= unit);
        self.unit(registers, at, whole, [copy.from, copy.to], 0)?;
        // A source of fewer bytes must be aligned all the same.
        let some = lanes_with(&|size| size > 0 && size < unit);
        let from = At { access: &copy.from, direction: Direction::Load, lanes: some, ..at };
        self.aligned(from, &self.addresses(registers, from), "")?;
        let part = at.lanes & !whole;
        if part != 0 {
            let value = copy.from.element;
            match value.rows {
                4 => registers.write(value.slot, part, &[0u128; 32]),
                _ => write_uniform(registers, value, part, 0),
            }
            self.one(registers, at, part, copy.to, 0, Direction::Store)?;
        }
        for byte in 0..unit - 1 {
            let lanes = lanes_with(&|size| size < unit && size > byte);
            self.unit(registers, at, lanes, copy.byte, i64::from(byte))?;
        }
        Ok(())
    }

    /// What is to be said of sizes that the manual leaves undefined (ISA 9.7.9.25).
    pub(crate) fn wrong_size(
        &self,
        registers: &Registers,
        lanes: LaneMask,
        copy: &AsyncCopy,
    ) -> Option<Fault> {
        let sizes = registers.read::<u32>(copy.size);
        let wrong = (0..32)
            .filter(|&lane| lanes >> lane & 1 != 0 && taken(copy, sizes[lane]) != sizes[lane])
            .fold(0, |mask: LaneMask, lane| mask | 1 << lane);
        if wrong == 0 {
            return None;
        }
        let size = sizes[wrong.trailing_zeros() as usize];
        let what =
            format!("`cp.async` of {} bytes with a source of {size} bytes, which is more", copy.from.size);
        let text = format!("{what}: undefined; sm_90 copies {} bytes", taken(copy, size));
        Some(Fault::new(FindingKind::UndefinedBehavior, wrong, text))
    }

    /// Keeps what a copy wrote until it is waited for.
    #[cold]
    pub(crate) fn remember_copy(
        &mut self,
        registers: &Registers,
        group: &Group,
        lanes: LaneMask,
        copy: &AsyncCopy,
    ) {
        let addresses = self.addresses(registers, at(&copy.to, Direction::Store, group, lanes));
        let block = self.cta.index;
        let mut copied = Copied {
            block,
            position: group.position,
            frame: group.frame,
            lanes,
            group: [0; 32],
            offsets: addresses.map(|address| address as u32),
            bytes: copy.to.size,
            data: [[0; 16]; 32],
        };
        let bytes = self.cta.shared.bytes_mut();
        each_lane(lanes, |lane| {
            let start = copied.offsets[lane] as usize;
            if let Some(from) = bytes.get(start..start + usize::from(copied.bytes)) {
                copied.data[lane][..from.len()].copy_from_slice(from);
            }
        });
        let in_flight = &mut self.warp_mut().in_flight;
        copied.group = *in_flight.committed(Groups::Copies);
        in_flight.copied.retain(|copied| copied.block == block);
        in_flight.copied.push(copied);
    }

    /// Lanes commit copies to a group, or wait for some: what was stored under these is overwritten.
    #[cold]
    pub(crate) fn copy_again(&mut self, lanes: LaneMask, step: GroupStep) {
        let in_flight = &mut self.warp_mut().in_flight;
        let committed = in_flight.committed(Groups::Copies);
        let most = match step {
            GroupStep::Commit => {
                each_lane(lanes, |lane| committed[lane] = committed[lane].saturating_add(1));
                return;
            }
            GroupStep::Wait(most) | GroupStep::WaitReads(most) => Some(most),
            GroupStep::WaitAll => None,
        };
        let committed = *committed;
        for mut copied in std::mem::take(&mut in_flight.copied) {
            let mut done = 0;
            each_lane(copied.lanes & lanes, |lane| {
                let left = |most: u32| committed[lane].saturating_sub(most);
                done |= u32::from(most.is_none_or(|most| copied.group[lane] < left(most))) << lane;
            });
            if copied.block == self.cta.index {
                self.put_again(&copied, done);
                copied.lanes &= !done;
                if copied.lanes != 0 {
                    self.warp_mut().in_flight.copied.push(copied);
                }
            }
        }
    }

    fn put_again(&mut self, copied: &Copied, lanes: LaneMask) {
        let bytes = self.cta.shared.bytes_mut();
        let mut changed = 0;
        each_lane(lanes, |lane| {
            let start = copied.offsets[lane] as usize;
            if let Some(to) = bytes.get_mut(start..start + usize::from(copied.bytes)) {
                let from = &copied.data[lane][..to.len()];
                changed |= u32::from(to != from) << lane;
                to.copy_from_slice(from);
            }
        });
        if changed != 0 {
            let text = "what a `cp.async` writes was stored to before it was waited for";
            let fault = Fault::new(FindingKind::UndefinedBehavior, changed, text)
                .note("nothing orders the two; the copy comes last here, as it mostly does on a device");
            self.note(&Group::executing(copied.position, lanes, copied.frame), fault);
        }
    }

    /// Loads and stores one unit.
    fn unit(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        lanes: LaneMask,
        [from, to]: [Access; 2],
        skip: i64,
    ) -> Checked {
        if lanes == 0 {
            return Ok(());
        }
        self.one(registers, at, lanes, from, skip, Direction::Load)?;
        self.one(registers, at, lanes, to, skip, Direction::Store)
    }

    fn one(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        lanes: LaneMask,
        mut access: Access,
        skip: i64,
        direction: Direction,
    ) -> Checked {
        access.offset = access.offset.wrapping_add(skip);
        let at = At { access: &access, direction, lanes, ..at };
        match direction {
            Direction::Load => self.load(registers, &at),
            _ => self.store(registers, &at),
        }
    }
}

/// The bytes that sm_90 takes from the source where so many are asked for: its machine code holds the bytes to leave
/// out in the low bits of the address.
fn taken(copy: &AsyncCopy, size: u32) -> u32 {
    if size == 0 { 0 } else { (size - 1) % u32::from(copy.from.size) + 1 }
}
