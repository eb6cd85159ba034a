//! `multimem` (ISA 9.7.9.14): an access to multicast memory is one to the memory of each device that it stands for. Other
//! memory is that of one device.

use std::sync::Arc;

use ptx_frontend::ScalarType as S;

use super::at;
use super::at::{Checked, Direction};
use super::atomic::combine;
use super::flow::Flow;
use super::masks::each_lane;
use crate::code::{Access, AtomicOp, Multimem, RegisterSlot};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::warp::Group;
use crate::observer::Observer;
use numerics::{Rounding, cvt, f32};
use semantics::lanes::{LaneMask, Registers, WARP_SIZE};

/// Elements of two devices' memory, or of their sums so far.
struct Sum {
    op: AtomicOp,
    ty: S,
    /// Halves, added as `.f32`: two of a pair.
    wide: Option<[[u32; WARP_SIZE]; 2]>,
}

impl<O: Observer> Machine<'_, '_, O> {
    pub(crate) fn multimem(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        index: u32,
    ) -> Flow {
        let what = self.worker.grid.code.multimems[index as usize];
        let access = match &what {
            Multimem::LoadReduce { load, .. } => load,
            Multimem::Store(store) => store,
            Multimem::Reduce(atomic) => &atomic.access,
        };
        if self.worker.grid.memory.is_stale(&self.worker.snapshot) {
            self.worker.look_again();
        }
        let table = self.worker.snapshot.table.clone();
        let addresses = self.addresses(registers, at(access, Direction::Load, group, active));
        let in_multicast = |lane: usize| table.multicast(addresses[lane]).filter(|_| active >> lane & 1 != 0);
        if table.multicast.is_empty() || (0..WARP_SIZE).all(|lane| in_multicast(lane).is_none()) {
            return match &what {
                Multimem::LoadReduce { load, .. } => self.operate_load(registers, group, active, load),
                Multimem::Store(store) => self.operate_store(registers, group, active, store),
                Multimem::Reduce(atomic) => self.operate_atomic(registers, group, active, atomic),
            };
        }
        let mut rest = active;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let found = in_multicast(first).map(|found| (found.base, found.replicas.clone()));
            let of_others =
                |lane: &usize| in_multicast(*lane).map(|other| other.base) == found.as_ref().map(|f| f.0);
            let lanes = (0..WARP_SIZE).filter(of_others).fold(0, |lanes, lane| lanes | 1 << lane) & rest;
            rest &= !lanes;
            if !matches!(what, Multimem::LoadReduce { .. })
                && let Err(fault) = self.check_multicast_write(addresses[first], lanes)
            {
                return Flow::Fault(fault);
            }
            let (base, replicas) = found.unwrap_or_else(|| (0, Arc::from([0])));
            if let Err(fault) = self.replicated(registers, group, lanes, &what, (&addresses, base, &replicas))
            {
                return Flow::Fault(fault);
            }
        }
        self.accessed(group, Ok(()))
    }

    /// Whether lanes may write to an address, as far as multicast memory is concerned.
    pub(super) fn check_multicast_write(&self, address: u64, lanes: LaneMask) -> Checked {
        match self.worker.snapshot.table.multicast(address) {
            Some(found) if !found.writable => {
                let text = format!("write at {address:#x} in multicast memory that is mapped for reading");
                Err(Box::new(Fault::new(FindingKind::WriteToReadOnly, lanes, text)))
            }
            _ => Ok(()),
        }
    }

    /// Does the access of some lanes for each replica.
    fn replicated(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        lanes: LaneMask,
        what: &Multimem,
        (addresses, base, replicas): (&[u64; WARP_SIZE], u64, &[u64]),
    ) -> Checked {
        let mut sums: smallvec::SmallVec<[Sum; 8]> = smallvec::SmallVec::new();
        for (number, replica) in replicas.iter().enumerate() {
            let mut here = addresses.map(|address| address.wrapping_sub(base).wrapping_add(*replica));
            match what {
                Multimem::Store(store) => {
                    self.move_at(registers, at(store, Direction::Store, group, lanes), &mut here)?;
                }
                Multimem::Reduce(reduce) => {
                    let at = at(&reduce.access, Direction::Atomic, group, lanes);
                    self.atomic_at(registers, at, reduce, &mut here)?;
                }
                Multimem::LoadReduce { load, next, op, ty, widened } => {
                    let into = if number == 0 { load } else { next };
                    self.move_at(registers, at(into, Direction::Load, group, lanes), &mut here)?;
                    let slots = &self.worker.grid.code.slots;
                    let of = |access: &Access| {
                        let start = access.elements.start as usize;
                        slots[start..start + access.elements.len as usize].iter().copied()
                    };
                    for (at, (to, from)) in of(load).zip(of(next)).enumerate() {
                        if number == 0 {
                            sums.push(Sum::of(registers, *op, *ty, *widened, to));
                        } else {
                            sums[at].add(registers, lanes, to, from);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn words(registers: &Registers, slot: RegisterSlot) -> [u64; WARP_SIZE] {
    match slot.rows {
        2 => registers.read::<u64>(slot.slot),
        1 => registers.read::<u32>(slot.slot).map(u64::from),
        _ => [0; WARP_SIZE],
    }
}

/// The two numbers of a pair of halves, or a half, as `.f32`.
fn widen(ty: S, bits: u64) -> [u32; 2] {
    let one = |bits: u16| match ty {
        S::Bf16 | S::Bf16x2 => cvt::f32_bf16(bits, false),
        _ => cvt::f32_f16(bits),
    };
    [one(bits as u16), one((bits >> 16) as u16)]
}

impl Sum {
    fn of(registers: &Registers, op: AtomicOp, ty: S, widened: bool, slot: RegisterSlot) -> Sum {
        let wide = widened.then(|| {
            let halves = words(registers, slot).map(|bits| widen(ty, bits));
            [0, 1].map(|at| halves.map(|pair| pair[at]))
        });
        Sum { op, ty, wide }
    }

    /// Adds another device's element; the sum so far is in a register, rounded.
    fn add(&mut self, registers: &mut Registers, lanes: LaneMask, to: RegisterSlot, from: RegisterSlot) {
        let (mut sum, other) = (words(registers, to), words(registers, from));
        each_lane(lanes, |lane| {
            sum[lane] = match &mut self.wide {
                None => combine(self.op, self.ty, false, sum[lane], other[lane], 0),
                Some(wide) => {
                    let more = widen(self.ty, other[lane]);
                    let mut bits = 0;
                    for at in 0..2 {
                        wide[at][lane] = f32::add(wide[at][lane], more[at], Rounding::Rn, false);
                        let rounded = match self.ty {
                            S::Bf16 | S::Bf16x2 => cvt::bf16_f32(wide[at][lane], Rounding::Rn, false),
                            _ => cvt::f16_f32(wide[at][lane], Rounding::Rn),
                        };
                        bits |= u64::from(rounded) << (16 * at);
                    }
                    if matches!(self.ty, S::F16 | S::Bf16) { bits & 0xffff } else { bits }
                }
            };
        });
        match to.rows {
            2 => registers.write(to.slot, lanes, &sum),
            1 => registers.write(to.slot, lanes, &sum.map(|bits| bits as u32)),
            _ => {}
        }
    }
}
