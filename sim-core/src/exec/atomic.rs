//! `atom` and `red` (ISA 9.7.13.5, 9.7.13.6): lane after lane, so that lanes of a warp see each other.

use std::sync::atomic::{Ordering, fence};

use ptx_frontend::{MemOrder, ScalarType as S};

use super::access::{At, Checked, each_lane};
use super::fault::Fault;
use super::step::Machine;
use super::view::{ByteView, GlobalView, LocalView, View};
use crate::code::{AccessSpace, Atomic, AtomicOp, RegisterSlot};
use crate::finding::FindingKind;
use crate::lanes::{LaneMask, Registers, WARP_SIZE};
use crate::memory::window;
use crate::numerics::{Rounding, bf16, bf16x2, f16, f16x2, f32, f64, mbarrier};
use crate::observer::{AccessKind, Memory, Observer, Shape};

/// `.add.f64`, with the device's choice among NaN: in global memory the operand before the old value,
/// unchanged; elsewhere (a loop on the processor) the sum `b + old`.
fn add_f64(global: bool, old: u64, b: u64) -> u64 {
    match (global, f64::is_nan(b), f64::is_nan(old)) {
        (true, true, _) => b,
        (true, false, true) => old,
        _ => f64::add(b, old, Rounding::Rn),
    }
}

/// The new value of an element. `global`: in global memory, where `.add.f32` flushes subnormals.
fn combine(op: AtomicOp, ty: S, global: bool, old: u64, b: u64, c: u64) -> u64 {
    let (old32, b32) = (old as u32, b as u32);
    match (op, ty) {
        (AtomicOp::Exch, _) => b,
        (AtomicOp::Cas, _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        (AtomicOp::Mbarrier(op), _) => mbarrier::apply(op, old, b32),
        (AtomicOp::And, _) => old & b,
        (AtomicOp::Or, _) => old | b,
        (AtomicOp::Xor, _) => old ^ b,
        (AtomicOp::Inc, _) => u64::from(if old32 >= b32 { 0 } else { old32 + 1 }),
        (AtomicOp::Dec, _) => u64::from(if old32 == 0 || old32 > b32 { b32 } else { old32 - 1 }),
        (AtomicOp::Add, S::F32) => u64::from(f32::add(old32, b32, Rounding::Rn, global)),
        (AtomicOp::Add, S::F64) => add_f64(global, old, b),
        (AtomicOp::Add, S::F16) => u64::from(f16::add(old as u16, b as u16, false)),
        (AtomicOp::Add, S::Bf16) => u64::from(bf16::add(old as u16, b as u16, false)),
        (AtomicOp::Add, S::F16x2) => u64::from(f16x2::add(old32, b32, false)),
        (AtomicOp::Add, S::Bf16x2) => u64::from(bf16x2::add(old32, b32, false)),
        (AtomicOp::Min, S::F16) => u64::from(f16::min(old as u16, b as u16, false, false)),
        (AtomicOp::Max, S::F16) => u64::from(f16::max(old as u16, b as u16, false, false)),
        (AtomicOp::Min, S::Bf16) => u64::from(bf16::min(old as u16, b as u16, false, false)),
        (AtomicOp::Max, S::Bf16) => u64::from(bf16::max(old as u16, b as u16, false, false)),
        (AtomicOp::Min, S::F16x2) => u64::from(f16x2::min(old32, b32, false, false)),
        (AtomicOp::Max, S::F16x2) => u64::from(f16x2::max(old32, b32, false, false)),
        (AtomicOp::Min, S::Bf16x2) => u64::from(bf16x2::min(old32, b32, false, false)),
        (AtomicOp::Max, S::Bf16x2) => u64::from(bf16x2::max(old32, b32, false, false)),
        (AtomicOp::Add, ty) if ty.bits() == 64 => old.wrapping_add(b),
        (AtomicOp::Add, _) => u64::from(old32.wrapping_add(b32)),
        (AtomicOp::Min, S::S32) => u64::from((old32 as i32).min(b32 as i32) as u32),
        (AtomicOp::Max, S::S32) => u64::from((old32 as i32).max(b32 as i32) as u32),
        (AtomicOp::Min, S::S64) => (old as i64).min(b as i64) as u64,
        (AtomicOp::Max, S::S64) => (old as i64).max(b as i64) as u64,
        (AtomicOp::Min, _) => old.min(b),
        (AtomicOp::Max, _) => old.max(b),
    }
}

fn values(registers: &Registers, slot: RegisterSlot) -> [u64; WARP_SIZE] {
    match slot.rows {
        2 => registers.read::<u64>(slot.slot),
        1 => registers.read::<u32>(slot.slot).map(u64::from),
        _ => [0; WARP_SIZE],
    }
}

/// Performs it; the lanes that wrote, which are all but those whose `cas` failed.
fn run<V: View>(
    view: &mut V,
    registers: &mut Registers,
    slots: &[RegisterSlot],
    at: At<'_>,
    atomic: &Atomic,
    global: bool,
    addresses: &[u64; WARP_SIZE],
) -> LaneMask {
    let mut failed = 0;
    let count = at.access.elements.len as usize;
    let size = u32::from(at.access.size);
    if size == 16 {
        let b = registers.read::<u128>(slots[count].slot);
        let c = slots.get(2 * count).map_or([0; WARP_SIZE], |slot| registers.read::<u128>(slot.slot));
        let mut old = [0u128; WARP_SIZE];
        each_lane(at.lanes, |lane| {
            let new = |old: u128| match atomic.op {
                AtomicOp::Cas if old == b[lane] => c[lane],
                AtomicOp::Cas => old,
                _ => b[lane],
            };
            old[lane] = view.update_wide(lane, addresses[lane], new);
            failed |= u32::from(atomic.op == AtomicOp::Cas && old[lane] != b[lane]) << lane;
        });
        if slots[0].rows == 4 {
            registers.write(slots[0].slot, at.lanes, &old);
        }
        return at.lanes & !failed;
    }
    let ones = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
    for element in 0..count {
        let b = values(registers, slots[count + element]);
        let c = slots.get(2 * count + element).map_or([0; WARP_SIZE], |&slot| values(registers, slot));
        let skip = (element as u32 * size) as u64;
        let mut old = [0u64; WARP_SIZE];
        if let (AtomicOp::Add, S::U32 | S::S32) = (atomic.op, atomic.ty) {
            each_lane(at.lanes, |lane| {
                old[lane] = view.update(lane, addresses[lane] + skip, 4, |old| {
                    u64::from((old as u32).wrapping_add(b[lane] as u32))
                });
            });
        } else {
            each_lane(at.lanes, |lane| {
                let (b, c) = (b[lane] & ones, c[lane] & ones);
                old[lane] = view.update(lane, addresses[lane] + skip, size, |old| {
                    combine(atomic.op, atomic.ty, global, old, b, c)
                });
                failed |= u32::from(atomic.op == AtomicOp::Cas && old[lane] != b) << lane;
            });
        }
        match slots[element].rows {
            2 => registers.write(slots[element].slot, at.lanes, &old),
            1 => registers.write(slots[element].slot, at.lanes, &old.map(|value| value as u32)),
            _ => {}
        }
    }
    at.lanes & !failed
}

impl<O: Observer> Machine<'_, '_, O> {
    /// `atom`, `red`
    pub(super) fn atomic(&mut self, registers: &mut Registers, at: At<'_>, atomic: &Atomic) -> Checked {
        self.worker.waits += u64::from(atomic.returns);
        let order = at.access.order;
        if matches!(order, MemOrder::Release | MemOrder::AcqRel) {
            fence(Ordering::Release);
        }
        let mut addresses = self.addresses(registers, at);
        match at.access.space {
            AccessSpace::Shared => self.shared_atomic(registers, at, atomic, &mut addresses)?,
            AccessSpace::Generic => {
                let mut shared = 0;
                let mut local = 0;
                each_lane(at.lanes, |lane| match window::of(addresses[lane]) {
                    window::Window::Shared(offset) => {
                        shared |= 1 << lane;
                        addresses[lane] = offset;
                    }
                    window::Window::Local(offset) => {
                        local |= 1 << lane;
                        addresses[lane] = offset;
                    }
                    _ => {}
                });
                if shared != 0 {
                    self.shared_atomic(registers, At { lanes: shared, ..at }, atomic, &mut addresses)?;
                }
                if local != 0 {
                    self.local_atomic(registers, At { lanes: local, ..at }, atomic, &addresses)?;
                }
                let global = at.lanes & !shared & !local;
                if global != 0 {
                    self.global_atomic(registers, At { lanes: global, ..at }, atomic, &addresses)?;
                }
            }
            AccessSpace::Global => self.global_atomic(registers, at, atomic, &addresses)?,
            _ => {
                let text = "an atomic outside global and shared memory";
                return Err(Box::new(Fault::new(FindingKind::WrongSpace, at.lanes, text)));
            }
        }
        if matches!(order, MemOrder::Acquire | MemOrder::AcqRel) {
            fence(Ordering::Acquire);
        }
        Ok(())
    }

    fn global_atomic(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &[u64; 32],
    ) -> Checked {
        let mut rest = at;
        while rest.lanes != 0 {
            let (index, lanes) = self.locate(rest, addresses)?;
            let now = At { lanes, ..at };
            self.observe(Memory::Global, now, addresses, Shape::Any);
            let grid = self.worker.grid;
            let allocation = &self.worker.snapshot.table.list[index];
            let mut view = GlobalView {
                cells: &allocation.cells,
                locks: &grid.locks,
                exclusive: grid.exclusive,
                strong: true,
            };
            let offsets = addresses.map(|address| address.wrapping_sub(allocation.base));
            let slots = &grid.code.slots[at.access.elements.start as usize..];
            let count = at.access.elements.len as usize * if atomic.op == AtomicOp::Cas { 3 } else { 2 };
            let writing = run(&mut view, registers, &slots[..count], now, atomic, true, &offsets);
            self.atomic_done(Memory::Global, now, atomic, addresses, writing);
            rest.lanes &= !lanes;
        }
        Ok(())
    }

    fn shared_atomic(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &mut [u64; 32],
    ) -> Checked {
        self.check_shared(at, addresses)?;
        self.observe(Memory::Shared, at, addresses, Shape::Any);
        let slots = &self.worker.grid.code.slots[at.access.elements.start as usize..];
        let count = at.access.elements.len as usize * if atomic.op == AtomicOp::Cas { 3 } else { 2 };
        let mut view = ByteView { bytes: self.cta.shared.bytes_mut() };
        let writing = run(&mut view, registers, &slots[..count], at, atomic, false, addresses);
        self.atomic_done(Memory::Shared, at, atomic, addresses, writing);
        Ok(())
    }

    /// Tells the observer what came of it.
    #[inline(always)]
    fn atomic_done(
        &mut self,
        memory: Memory,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &[u64; 32],
        writing: LaneMask,
    ) {
        if O::ACTIVE {
            let mut event = self.event(memory, at, addresses, Shape::Any);
            event.kind = if atomic.returns { AccessKind::Atomic } else { AccessKind::Reduction };
            event.writing = writing;
            self.worker.observer.atomic_done(&event);
        }
    }

    fn local_atomic(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &[u64; 32],
    ) -> Checked {
        self.check_local(at, addresses)?;
        self.observe(Memory::Local, at, addresses, Shape::Any);
        let slots = &self.worker.grid.code.slots[at.access.elements.start as usize..];
        let count = at.access.elements.len as usize * if atomic.op == AtomicOp::Cas { 3 } else { 2 };
        let index = self.index;
        let mut view = LocalView { rows: &mut self.cta.warps[index].local };
        run(&mut view, registers, &slots[..count], at, atomic, false, addresses);
        Ok(())
    }
}
