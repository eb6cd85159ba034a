//! `atom` and `red` (ISA 9.7.13.5, 9.7.13.6): lane after lane, so that lanes of a warp see each other.
//! Where all lanes have the same address, memory is read and written once, and the order stays.

use std::sync::atomic::{Ordering, fence};

use ptx_frontend::{MemOrder, ScalarType as S};

use super::at::{At, Checked, Direction};
use super::masks::each_lane;
use super::view::{ByteView, GlobalView, LocalView, View};
use super::weak::WeakView;
use crate::code::{AccessSpace, Atomic, AtomicOp, RegisterSlot};
use crate::event::{AccessKind, Memory, Shape};
use crate::finding::FindingKind;
use crate::machine::fault::Fault;
use crate::machine::{Machine, launch_view, waiting};
use crate::observer::Observer;
use crate::tools::{Event, LaunchView, Wants};
use numerics::mbarrier::{self, MbarrierOp};
use numerics::{Rounding, bf16, bf16x2, f16, f16x2, f32, f64};
use semantics::lanes::{LaneMask, Registers, WARP_SIZE};
use semantics::window;

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
#[inline(always)]
pub(crate) fn combine(op: AtomicOp, ty: S, global: bool, old: u64, b: u64, c: u64) -> u64 {
    let (old32, b32) = (old as u32, b as u32);
    match (op, ty) {
        (AtomicOp::Exch, _) => b,
        (AtomicOp::Cas, _) if old == b => c,
        (AtomicOp::Cas, _) => old,
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
        (AtomicOp::Add, S::U64 | S::S64 | S::B64) => old.wrapping_add(b),
        (AtomicOp::Add, _) => u64::from(old32.wrapping_add(b32)),
        (AtomicOp::Min, S::S32) => u64::from((old32 as i32).min(b32 as i32) as u32),
        (AtomicOp::Max, S::S32) => u64::from((old32 as i32).max(b32 as i32) as u32),
        (AtomicOp::Min, S::S64) => (old as i64).min(b as i64) as u64,
        (AtomicOp::Max, S::S64) => (old as i64).max(b as i64) as u64,
        (AtomicOp::Min, _) => old.min(b),
        (AtomicOp::Max, _) => old.max(b),
    }
}

/// The values of a register, of as many bits as `ones` has. Into a place of the caller's: copies of
/// whole rows would cost more than the operations.
#[inline(always)]
fn values(registers: &Registers, slot: RegisterSlot, ones: u64, to: &mut [u64; WARP_SIZE]) {
    match slot.rows {
        2 => {
            let from = registers.read::<u64>(slot.slot);
            (0..WARP_SIZE).for_each(|lane| to[lane] = from[lane] & ones);
        }
        1 => {
            let from = registers.read::<u32>(slot.slot);
            (0..WARP_SIZE).for_each(|lane| to[lane] = u64::from(from[lane]) & ones);
        }
        _ => {}
    }
}

/// Whether all lanes of the mask have the same address.
fn same_address(addresses: &[u64; WARP_SIZE], lanes: LaneMask) -> bool {
    let first = addresses[lanes.trailing_zeros() as usize & (WARP_SIZE - 1)];
    let mut other = 0;
    for (lane, address) in addresses.iter().enumerate() {
        other |= (address ^ first) & 0u64.wrapping_sub(u64::from(lanes >> lane & 1));
    }
    other == 0
}

/// `.add.f32` of all lanes on one cell, if no number is a NaN, infinite or subnormal: then the
/// processor's own addition is all there is to it.
fn sum_f32(lanes: LaneMask, start: u64, b: &[u64; WARP_SIZE], old: &mut [u64; WARP_SIZE]) -> Option<u64> {
    type F = ::core::primitive::f32;
    let plain = |bits: u64| {
        let exponent = bits >> 23 & 0xff;
        exponent != 0xff && (exponent != 0 || bits & 0x7f_ffff == 0)
    };
    let mut now = F::from_bits(start as u32);
    each_lane(lanes, |lane| {
        old[lane] = u64::from(now.to_bits());
        now += F::from_bits(b[lane] as u32);
    });
    let end = u64::from(now.to_bits());
    let mut fine = plain(end);
    each_lane(lanes, |lane| fine &= plain(old[lane]) & plain(b[lane]));
    fine.then_some(end)
}

/// The same for `.add.f64`, where only a NaN is special.
fn sum_f64(lanes: LaneMask, start: u64, b: &[u64; WARP_SIZE], old: &mut [u64; WARP_SIZE]) -> Option<u64> {
    type F = ::core::primitive::f64;
    let mut now = F::from_bits(start);
    each_lane(lanes, |lane| {
        old[lane] = now.to_bits();
        now += F::from_bits(b[lane]);
    });
    // A NaN stays one.
    (!now.is_nan()).then_some(now.to_bits())
}

/// The operations of all lanes on one cell, in the order of the lanes as always: the last value, from
/// the first. `old` gets what each lane finds.
fn in_turn(
    atomic: &Atomic,
    global: bool,
    lanes: LaneMask,
    start: u64,
    b: &[u64; WARP_SIZE],
    c: &[u64; WARP_SIZE],
    old: &mut [u64; WARP_SIZE],
) -> u64 {
    let sum = match (atomic.op, atomic.ty) {
        (AtomicOp::Add, S::F32) => sum_f32(lanes, start, b, old),
        (AtomicOp::Add, S::F64) => sum_f64(lanes, start, b, old),
        _ => None,
    };
    if let Some(sum) = sum {
        return sum;
    }
    let mut now = start;
    macro_rules! run {
        ($op:expr, $ty:expr) => {
            each_lane(lanes, |lane| {
                old[lane] = now;
                now = combine($op, $ty, global, now, b[lane], c[lane]);
            })
        };
    }
    // With the operation known, its loop is a few instructions.
    macro_rules! common {
        ($($op:ident $ty:ident),*) => {
            match (atomic.op, atomic.ty) {
                $((AtomicOp::$op, S::$ty) => run!(AtomicOp::$op, S::$ty),)*
                (op, ty) => run!(op, ty),
            }
        };
    }
    common!(
        Add U32, Add S32, Add U64, Min U32, Min S32, Min U64, Max U32, Max S32, Max U64,
        And B32, Or B32, Xor B32, Exch B32, Exch B64, Cas B32, Cas B64, Inc U32, Dec U32
    );
    now
}

/// Lanes of an atomic that did something.
#[derive(Clone, Copy)]
struct Effect {
    /// Those that wrote: all but those whose `cas` failed.
    writing: LaneMask,
    /// Those that left another value than they found, if that was asked for.
    changing: LaneMask,
    /// Those that stop a device, and why.
    stopped: Option<(LaneMask, &'static str)>,
}

/// Performs it at `addresses` of a view that begins at `base`.
fn run<V: View>(
    view: &mut V,
    registers: &mut Registers,
    table: &[RegisterSlot],
    at: At<'_>,
    atomic: &Atomic,
    global: bool,
    addresses: &[u64; WARP_SIZE],
    base: u64,
    told: bool,
) -> Effect {
    let mut failed = 0;
    let (mut changing, mut stopped) = (0, None);
    let slots = atomic.slots(table);
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
            old[lane] = view.update_wide(lane, addresses[lane] - base, new);
            failed |= u32::from(atomic.op == AtomicOp::Cas && old[lane] != b[lane]) << lane;
            changing |= u32::from(new(old[lane]) != old[lane]) << lane;
        });
        if slots[0].rows == 4 {
            registers.write(slots[0].slot, at.lanes, &old);
        }
        return Effect { writing: at.lanes & !failed, changing, stopped: None };
    }
    let ones = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
    let together = !V::PER_LANE && at.lanes.count_ones() > 1 && same_address(addresses, at.lanes);
    let (mut b, mut c, mut old) = ([0; WARP_SIZE], [0; WARP_SIZE], [0; WARP_SIZE]);
    for element in 0..count {
        values(registers, slots[count + element], ones, &mut b);
        if let Some(&slot) = slots.get(2 * count + element) {
            values(registers, slot, ones, &mut c);
        }
        let skip = (element as u32 * size) as u64;
        if together {
            let first = at.lanes.trailing_zeros() as usize & (WARP_SIZE - 1);
            view.update(first, addresses[first] - base + skip, size, |start| {
                in_turn(atomic, global, at.lanes, start, &b, &c, &mut old)
            });
        } else if let (AtomicOp::Add, S::U32 | S::S32) = (atomic.op, atomic.ty) {
            each_lane(at.lanes, |lane| {
                old[lane] = view.update(lane, addresses[lane] - base + skip, 4, |old| {
                    u64::from((old as u32).wrapping_add(b[lane] as u32))
                });
            });
        } else if atomic.op == AtomicOp::Cas {
            each_lane(at.lanes, |lane| {
                old[lane] =
                    view.compare_exchange(lane, addresses[lane] - base + skip, size, b[lane], c[lane]);
            });
        } else {
            each_lane(at.lanes, |lane| {
                old[lane] = view.update(lane, addresses[lane] - base + skip, size, |old| {
                    combine(atomic.op, atomic.ty, global, old, b[lane], c[lane])
                });
            });
        }
        if atomic.op == AtomicOp::Cas {
            each_lane(at.lanes, |lane| failed |= u32::from(old[lane] != b[lane]) << lane);
        }
        if let AtomicOp::Mbarrier(op) = atomic.op {
            each_lane(at.lanes, |lane| {
                if let Some(text) = mbarrier::stop(op, old[lane], b[lane] as u32) {
                    stopped.get_or_insert((0, text)).0 |= 1 << lane;
                }
            });
        }
        if told {
            each_lane(at.lanes, |lane| {
                let new = combine(atomic.op, atomic.ty, global, old[lane], b[lane], c[lane]);
                changing |= u32::from(new & ones != old[lane] & ones) << lane;
            });
        }
        match slots[element].rows {
            2 => registers.write(slots[element].slot, at.lanes, &old),
            1 => {
                let mut low = [0u32; WARP_SIZE];
                (0..WARP_SIZE).for_each(|lane| low[lane] = old[lane] as u32);
                registers.write(slots[element].slot, at.lanes, &low);
            }
            _ => {}
        }
    }
    Effect { writing: at.lanes & !failed, changing, stopped }
}

impl<O: Observer> Machine<'_, '_, O> {
    /// `atom`, `red`
    pub(crate) fn atomic(&mut self, registers: &mut Registers, at: At<'_>, atomic: &Atomic) -> Checked {
        self.worker.waits += u64::from(atomic.is_read());
        let order = at.access.order;
        if matches!(order, MemOrder::Release | MemOrder::AcqRel) {
            fence(Ordering::Release);
        }
        if self.weak().is_some() {
            self.weak_shared(&at, true);
        }
        if !self.fast_atomic(registers, &at, atomic) {
            self.any_atomic(registers, at, atomic)?;
        }
        if matches!(order, MemOrder::Acquire | MemOrder::AcqRel) {
            fence(Ordering::Acquire);
        }
        if self.weak().is_some() && atomic.returns {
            self.weak_shared(&at, false);
        }
        Ok(())
    }

    fn any_atomic(&mut self, registers: &mut Registers, at: At<'_>, atomic: &Atomic) -> Checked {
        let mut addresses = self.addresses(registers, at);
        self.atomic_at(registers, at, atomic, &mut addresses)
    }

    /// The same at addresses in the access's space.
    pub(crate) fn atomic_at(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &mut [u64; 32],
    ) -> Checked {
        match at.access.space {
            AccessSpace::Shared | AccessSpace::Cluster => {
                self.shared_atomic(registers, at, atomic, addresses)?
            }
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
                    self.shared_atomic(registers, At { lanes: shared, ..at }, atomic, addresses)?;
                }
                if local != 0 {
                    self.local_atomic(registers, At { lanes: local, ..at }, atomic, addresses)?;
                }
                let global = at.lanes & !shared & !local;
                if global != 0 {
                    self.global_atomic(registers, At { lanes: global, ..at }, atomic, addresses)?;
                }
            }
            AccessSpace::Global => self.global_atomic(registers, at, atomic, addresses)?,
            _ => {
                let text = "an atomic outside global and shared memory";
                return Err(Box::new(Fault::new(FindingKind::WrongSpace, at.lanes, text)));
            }
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
            let grid = self.worker.grid;
            let allocation = &self.worker.snapshot.table.list[index];
            let slots = &grid.code.slots;
            if let Some(weak) = self.weak() {
                let cells = (&*allocation.cells, allocation.base);
                let reduction = !atomic.returns;
                let mut view = WeakView::new(weak, grid, self.cta, self.index, at.access, reduction, cells);
                let flushes = !atomic.keeps_subnormals;
                let base = allocation.base;
                let told = self.wants(Wants::ACCESSES);
                let effect = run(&mut view, registers, slots, now, atomic, flushes, addresses, base, told);
                self.atomic_done(Memory::Global, now, atomic, addresses, effect);
                rest.lanes &= !lanes;
                continue;
            }
            let mut view =
                GlobalView { cells: &allocation.cells, wide: grid.wide, exclusive: grid.exclusive };
            let flushes = !atomic.keeps_subnormals;
            let base = allocation.base;
            let told = self.wants(Wants::ACCESSES);
            let effect = run(&mut view, registers, slots, now, atomic, flushes, addresses, base, told);
            self.atomic_done(Memory::Global, now, atomic, addresses, effect);
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
        let mut rest = at.lanes;
        let direction = if atomic.returns { at.direction } else { Direction::Reduction };
        while rest != 0 {
            let now = self.locate_shared(At { lanes: rest, direction, ..at }, addresses)?;
            if self.is_gone(now, addresses) {
                rest &= !now.lanes;
                continue;
            }
            if self.wants(Wants::MBARRIERS) {
                self.tell_of_mbarriers(registers, now, atomic, addresses);
            }
            let told = self.wants(Wants::ACCESSES);
            let slots = &self.worker.grid.code.slots;
            let mut view = ByteView { bytes: self.shared_bytes(now.peer) };
            let effect = run(&mut view, registers, slots, now, atomic, false, addresses, 0, told);
            self.atomic_done(Memory::Shared, now, atomic, addresses, effect);
            if let (AtomicOp::Mbarrier(op), Some(stopped)) = (atomic.op, effect.stopped) {
                return Err(self.stop_at_mbarrier(op, stopped, addresses));
            }
            rest &= !now.lanes;
        }
        Ok(())
    }

    /// The fault of lanes whose operation on an mbarrier object stops a device.
    #[cold]
    fn stop_at_mbarrier(
        &self,
        op: MbarrierOp,
        (lanes, why): (LaneMask, &'static str),
        addresses: &[u64; 32],
    ) -> Box<Fault> {
        let offset = addresses[lanes.trailing_zeros() as usize & 31];
        let place = launch_view::View { grid: self.worker.grid }.describe(Memory::Shared, offset);
        let text = format!("{} of the mbarrier at {place}: {why}", op.name());
        Box::new(Fault::new(FindingKind::WrongMbarrier, lanes, text))
    }

    /// Tells tools of operations on mbarrier objects.
    fn tell_of_mbarriers(
        &mut self,
        registers: &Registers,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &[u64; 32],
    ) {
        let AtomicOp::Mbarrier(op) = atomic.op else { return };
        let Some(operand) = atomic.slots(&self.worker.grid.code.slots).get(1) else { return };
        let operands = &registers.read::<u32>(operand.slot);
        let (warp, lanes, position) = (self.warp_id(), at.lanes, at.position);
        let peer = at.peer.and_then(|rank| self.peers.get(rank));
        let home = peer.map_or(self.cta.index, |peer| peer.index);
        let event = Event::Mbarrier { warp, lanes, op, home, addresses, operands, position };
        self.tell_of(Wants::MBARRIERS, at.frame, at.peer, &event);
    }

    /// Tells tools of a load that asks mbarrier objects of the block whether a phase is complete.
    #[cold]
    pub(super) fn tell_of_question(&mut self, registers: &Registers, at: &At<'_>) {
        if !waiting::asks(self.worker.grid, at.position) {
            return;
        }
        let (mut lanes, mut offsets) = (0, self.addresses(registers, *at));
        each_lane(at.lanes, |lane| {
            if let Some((None, offset)) = self.offset_in_shared(at.access.space, offsets[lane]) {
                lanes |= 1 << lane;
                offsets[lane] = offset;
            }
        });
        let (warp, op, home, position) = (self.warp_id(), MbarrierOp::Ask, self.cta.index, at.position);
        let (addresses, operands) = (&offsets, &[0; WARP_SIZE]);
        let event = Event::Mbarrier { warp, lanes, op, home, addresses, operands, position };
        self.tell(Wants::MBARRIERS, at.frame, &event);
    }

    /// Tells tools of an atomic that is done.
    #[inline(always)]
    fn atomic_done(
        &mut self,
        memory: Memory,
        at: At<'_>,
        atomic: &Atomic,
        addresses: &[u64; 32],
        effect: Effect,
    ) {
        if self.wants(Wants::ACCESSES) {
            let mut access = self.event(memory, at, addresses, Shape::Any);
            access.kind = match atomic.op {
                // What was there before does not matter.
                AtomicOp::Mbarrier(MbarrierOp::Init | MbarrierOp::InitV1) => AccessKind::Write,
                _ if atomic.returns => AccessKind::Atomic,
                _ => AccessKind::Reduction,
            };
            (access.writing, access.changing) = (effect.writing, effect.changing);
            self.tell_of(Wants::ACCESSES, at.frame, at.peer, &Event::Access(&access));
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
        let slots = &self.worker.grid.code.slots;
        let index = self.index;
        let told = self.wants(Wants::ACCESSES);
        let mut view = LocalView { rows: &mut self.cta.warps[index].local };
        let effect = run(&mut view, registers, slots, at, atomic, false, addresses, 0, told);
        self.atomic_done(Memory::Local, at, atomic, addresses, effect);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Simple;
    use crate::code::{Access, SlotList};
    use ptx_frontend::Scope;
    use semantics::lanes::Slot;

    fn atomic(op: AtomicOp, ty: S) -> Atomic {
        let element = RegisterSlot { slot: Slot::frame(0), rows: 0 };
        let access = Access {
            space: AccessSpace::Global,
            size: (ty.bits() / 8) as u8,
            signed: false,
            strong: true,
            spins: false,
            order: MemOrder::Relaxed,
            scope: Scope::Gpu,
            asynchronous: crate::code::Asynchronous::No,
            address_rows: 2,
            spread: crate::code::Spread::Any,
            address: Slot::frame(0),
            offset: 0,
            elements: SlotList { start: 0, len: 1 },
            element,
            unread: 0,
            simple: Simple::No,
        };
        Atomic { access, op, ty, returns: true, keeps_subnormals: false }
    }

    #[test]
    fn lanes_on_one_cell_go_one_after_the_other() {
        use AtomicOp::*;
        type F = ::core::primitive::f64;
        let narrow =
            [0u64, 1, 5, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 0x0000_0001];
        let more =
            [0x8000_0000, 0x8000_0001, 0x0080_0000, 0x8080_0000, 0x7f7f_ffff, 0x4b00_0000, 0xffff_ffff];
        let wide = [1.0, -1.0, F::INFINITY, F::NEG_INFINITY, F::NAN, F::MIN_POSITIVE / 4.0, 1e300, -0.0];
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let list = [
            (Add, S::U32),
            (Add, S::S32),
            (Add, S::U64),
            (Add, S::F32),
            (Add, S::F64),
            (Min, S::U32),
            (Min, S::S32),
            (Min, S::U64),
            (Min, S::S64),
            (Max, S::U32),
            (Max, S::S32),
            (Max, S::U64),
            (And, S::B32),
            (Or, S::B32),
            (Xor, S::B32),
            (Xor, S::B64),
            (Exch, S::B32),
            (Exch, S::B64),
            (Cas, S::B32),
            (Cas, S::B64),
            (Inc, S::U32),
            (Dec, S::U32),
            (Add, S::F16x2),
        ];
        for (op, ty) in list {
            let atomic = atomic(op, ty);
            for turn in 0..if cfg!(miri) { 4 } else { 400 } {
                // Some turns with ordinary numbers only, some with special ones among them.
                let mut value = || {
                    let bits = random();
                    match (turn % 4, ty) {
                        (0, S::F32) => u64::from(((bits % 1000) as f32 - 300.5).to_bits()),
                        (0, S::F64) => ((bits % 1000) as f64 - 300.5).to_bits(),
                        (1, _) if ty.bits() == 64 => wide[bits as usize % wide.len()].to_bits(),
                        (1, _) => narrow[bits as usize % narrow.len()],
                        (2, _) => more[bits as usize % more.len()],
                        _ if ty.bits() == 64 => bits << 20,
                        _ => bits & 0xffff_ffff,
                    }
                };
                let b: [u64; WARP_SIZE] = std::array::from_fn(|_| value());
                let c: [u64; WARP_SIZE] = std::array::from_fn(|_| value());
                let start = value();
                let lanes = random() as LaneMask | 1;
                for (global, lanes) in [(true, lanes), (false, lanes), (true, LaneMask::MAX)] {
                    let (mut now, mut expected) = (start, [0; WARP_SIZE]);
                    each_lane(lanes, |lane| {
                        expected[lane] = now;
                        now = combine(op, ty, global, now, b[lane], c[lane]);
                    });
                    let mut old = [0; WARP_SIZE];
                    let end = in_turn(&atomic, global, lanes, start, &b, &c, &mut old);
                    assert_eq!((end, old), (now, expected), "{op:?} {ty:?} from {start:#x} of {b:x?}");
                }
            }
        }
    }
}
