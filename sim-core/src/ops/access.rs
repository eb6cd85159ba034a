//! Loads and stores: addresses, checks, and the transfer between registers and memory.

use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

use ptx_frontend::MemOrder;

use super::at::{Addresses, At, Checked, Direction};
use super::masks::each_lane;
use super::view::{ByteView, GlobalView, LocalView, View};
use super::weak::WeakView;
use crate::code::{Access, AccessSpace, RegisterSlot, Simple};
use crate::event::{Memory, Shape, WarpAccess};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::FrameId;
use crate::machine::warp::MAX_LOCAL_BYTES;
use crate::memory::{AllocationKind, Hint, State};
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use semantics::lanes::{LaneMask, Registers, Row, WARP_SIZE};
use semantics::window;

/// Lowest and highest address, and all address bits that differ from zero, over some lanes.
#[inline(always)]
pub(super) fn extent(at: &Addresses, lanes: LaneMask) -> (u64, u64, u64) {
    let first = at[lanes.trailing_zeros() as usize & 31];
    let (mut low, mut high, mut bits) = (first, first, first);
    for (lane, &address) in at.iter().enumerate() {
        let address = if lanes >> lane & 1 != 0 { address } else { first };
        low = low.min(address);
        high = high.max(address);
        bits |= address;
    }
    (low, high, bits)
}

/// Puts one element of every lane, of the access's size, into a register.
#[inline(always)]
fn load_element(
    registers: &mut Registers,
    to: RegisterSlot,
    access: &Access,
    lanes: LaneMask,
    element: impl Fn(usize, u32) -> u64,
) {
    macro_rules! words {
        ($size:literal, $from:ty) => {{
            if to.rows == 2 {
                let mut values = [0u64; WARP_SIZE];
                each_lane(lanes, |lane| values[lane] = element(lane, $size) as $from as i64 as u64);
                registers.write(to.slot, lanes, &values);
            } else {
                let mut values = [0u32; WARP_SIZE];
                each_lane(lanes, |lane| values[lane] = element(lane, $size) as $from as i64 as u32);
                registers.write(to.slot, lanes, &values);
            }
        }};
    }
    match (access.size, access.signed) {
        _ if to.rows == 0 => {}
        (4, false) => words!(4, u32),
        (4, true) => words!(4, i32),
        (8, _) => words!(8, u64),
        (2, false) => words!(2, u16),
        (2, true) => words!(2, i16),
        (_, false) => words!(1, u8),
        (_, true) => words!(1, i8),
    }
}

/// Takes one element of every lane, of the access's size, from a register.
#[inline(always)]
fn store_element(
    registers: &Registers,
    from: RegisterSlot,
    access: &Access,
    lanes: LaneMask,
    mut element: impl FnMut(usize, u32, u64),
) {
    macro_rules! words {
        ($size:literal) => {{
            if from.rows == 2 {
                let values = registers.read::<u64>(from.slot);
                each_lane(lanes, |lane| element(lane, $size, values[lane]));
            } else {
                let values = registers.read::<u32>(from.slot);
                each_lane(lanes, |lane| element(lane, $size, u64::from(values[lane])));
            }
        }};
    }
    match access.size {
        4 => words!(4),
        8 => words!(8),
        2 => words!(2),
        _ => words!(1),
    }
}

/// Up to 16 bytes of each lane, as they lie in memory.
type Chunks = [[u8; 16]; WARP_SIZE];

/// The element of `size` bytes at `from` in a lane's bytes.
#[inline(always)]
fn part(bytes: &[u8; 16], from: usize, size: u32) -> u64 {
    let mut value = [0; 8];
    value[..size as usize].copy_from_slice(&bytes[from..from + size as usize]);
    u64::from_le_bytes(value)
}

/// Moves the elements of vectors, `bytes` of each lane at once, which is 2 to 16: what a device does in one
/// access is one.
#[inline(always)]
fn transfer_whole<V: View>(
    view: &mut V,
    registers: &mut Registers,
    slots: &[RegisterSlot],
    at: At<'_>,
    addresses: &Addresses,
    skip: u64,
    bytes: u32,
) {
    let (access, lanes) = (at.access, at.lanes);
    let size = usize::from(access.size);
    let mut chunks: Chunks = [[0; 16]; WARP_SIZE];
    if at.direction == Direction::Load {
        match bytes {
            16 => each_lane(lanes, |lane| {
                chunks[lane] = view.load_wide(lane, addresses[lane] + skip).to_le_bytes();
            }),
            _ => each_lane(lanes, |lane| {
                let value = view.load(lane, addresses[lane] + skip, bytes);
                chunks[lane][..8].copy_from_slice(&value.to_le_bytes());
            }),
        }
        for (index, &slot) in slots.iter().enumerate() {
            load_element(registers, slot, access, lanes, |lane, bytes| {
                part(&chunks[lane], index * size, bytes)
            });
        }
        return;
    }
    for (index, &slot) in slots.iter().enumerate() {
        store_element(registers, slot, access, lanes, |lane, bytes, value| {
            let bytes = bytes as usize;
            chunks[lane][index * size..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        });
    }
    match bytes {
        16 => each_lane(lanes, |lane| {
            view.store_wide(lane, addresses[lane] + skip, u128::from_le_bytes(chunks[lane]));
        }),
        _ => each_lane(lanes, |lane| {
            view.store(lane, addresses[lane] + skip, bytes, part(&chunks[lane], 0, 8));
        }),
    }
}

/// Moves all elements.
#[inline(always)]
pub(super) fn transfer<V: View>(
    view: &mut V,
    registers: &mut Registers,
    slots: &[RegisterSlot],
    at: At<'_>,
    addresses: &Addresses,
) {
    let (access, lanes) = (at.access, at.lanes);
    // One element needs no table.
    let single = [access.element];
    let slots = match access.elements.len {
        1 => &single[..],
        len => &slots[access.elements.start as usize..][..len as usize],
    };
    if access.size == 16 {
        let slot = access.element;
        if at.direction == Direction::Load {
            let mut values = [0u128; WARP_SIZE];
            each_lane(lanes, |lane| values[lane] = view.load_wide(lane, addresses[lane]));
            if slot.rows != 0 {
                registers.write(slot.slot, lanes, &values);
            }
        } else {
            let values = registers.read::<u128>(slot.slot);
            each_lane(lanes, |lane| view.store_wide(lane, addresses[lane], values[lane]));
        }
        return;
    }
    if V::WHOLE && slots.len() > 1 && access.bytes().is_power_of_two() {
        let bytes = access.bytes().min(16);
        let each = (bytes / u32::from(access.size)) as usize;
        for (index, slots) in slots.chunks(each).enumerate() {
            transfer_whole(view, registers, slots, at, addresses, 16 * index as u64, bytes);
        }
        return;
    }
    for (index, &slot) in slots.iter().enumerate() {
        let skip = index as u64 * u64::from(access.size);
        if at.direction == Direction::Load {
            load_element(registers, slot, access, lanes, |lane, bytes| {
                view.load(lane, addresses[lane] + skip, bytes)
            });
        } else {
            store_element(registers, slot, access, lanes, |lane, bytes, value| {
                view.store(lane, addresses[lane] + skip, bytes, value);
            });
        }
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Addresses of an access in its own space.
    #[inline(always)]
    pub(crate) fn addresses(&self, registers: &Registers, at: At<'_>) -> Addresses {
        let access = at.access;
        let offset = access.offset as u64;
        match access.address_rows {
            2 => {
                let mut addresses = registers.read::<u64>(access.address);
                for address in &mut addresses {
                    *address = address.wrapping_add(offset);
                }
                addresses
            }
            1 => {
                let base = registers.read::<u32>(access.address);
                std::array::from_fn(|lane| u64::from(base[lane].wrapping_add(offset as u32)))
            }
            _ => [offset; WARP_SIZE],
        }
    }

    /// `ld`
    #[inline(always)]
    pub(crate) fn load(&mut self, registers: &mut Registers, at: &At<'_>) -> Checked {
        if at.access.strong {
            self.worker.waits += 1;
        }
        if !self.fast::<false>(registers, at) {
            self.move_elements(registers, *at)?;
        }
        if at.access.strong && self.weak().is_some() {
            self.weak_shared(at, false);
        }
        if matches!(at.access.order, MemOrder::Acquire) {
            fence(Ordering::Acquire);
        }
        Ok(())
    }

    /// `st`
    #[inline(always)]
    pub(crate) fn store(&mut self, registers: &mut Registers, at: &At<'_>) -> Checked {
        if matches!(at.access.order, MemOrder::Release) {
            fence(Ordering::Release);
        }
        if at.access.strong && self.weak().is_some() {
            self.weak_shared(at, true);
        }
        if self.fast::<true>(registers, at) {
            return Ok(());
        }
        self.move_elements(registers, *at)
    }

    #[inline(never)]
    fn move_elements(&mut self, registers: &mut Registers, at: At<'_>) -> Checked {
        let access = at.access;
        if access.space == AccessSpace::Frame {
            let start = self.warp().frame(at.frame).local_start;
            let offset = i64::from(start).wrapping_add(access.offset) as u64;
            let addresses = [offset; WARP_SIZE];
            return self.local(registers, at, &addresses);
        }
        let mut addresses = self.addresses(registers, at);
        self.move_at(registers, at, &mut addresses)
    }

    /// Moves elements at addresses in the access's space.
    pub(crate) fn move_at(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        addresses: &mut Addresses,
    ) -> Checked {
        match at.access.space {
            AccessSpace::Global | AccessSpace::Const => self.global(registers, at, addresses),
            AccessSpace::Shared | AccessSpace::Cluster => self.shared(registers, at, addresses),
            AccessSpace::Local | AccessSpace::Frame => self.local(registers, at, addresses),
            AccessSpace::Param => self.param(registers, at, addresses),
            AccessSpace::Generic => self.generic(registers, at, addresses),
        }
    }

    /// Splits lanes by the window of their address.
    fn generic(&mut self, registers: &mut Registers, at: At<'_>, addresses: &mut Addresses) -> Checked {
        let mut by_window = [0 as LaneMask; 4];
        each_lane(at.lanes, |lane| {
            let (which, offset) = match window::of(addresses[lane]) {
                window::Window::Global => (0, addresses[lane]),
                window::Window::Shared(offset) => (1, offset),
                window::Window::Local(offset) => (2, offset),
                window::Window::Param(offset) => (3, offset),
            };
            by_window[which] |= 1 << lane;
            addresses[lane] = offset;
        });
        let [global, shared, local, param] = by_window.map(|lanes| At { lanes, ..at });
        if global.lanes != 0 {
            self.global(registers, global, addresses)?;
        }
        if shared.lanes != 0 {
            self.shared(registers, shared, addresses)?;
        }
        if local.lanes != 0 {
            self.local(registers, local, addresses)?;
        }
        if param.lanes != 0 {
            self.param(registers, param, addresses)?;
        }
        Ok(())
    }

    /// The part of a load that is done where all of it was out of bounds: compilers load four aligned elements where three
    /// are wanted, and no device sees the end of a variable there.
    #[cold]
    #[inline(never)]
    pub(crate) fn what_is_read(
        &self,
        at: At<'_>,
        fault: Box<Fault>,
        addresses: &Addresses,
        space: &str,
    ) -> Checked<Access> {
        if fault.kind != FindingKind::OutOfBounds || at.access.unread == 0 {
            return Err(fault);
        }
        self.aligned(at, addresses, space)?;
        Ok(at.access.read_part())
    }

    fn global(&mut self, registers: &mut Registers, at: At<'_>, addresses: &Addresses) -> Checked {
        let mut rest = at;
        while rest.lanes != 0 {
            let (index, lanes) = match self.locate(rest, addresses) {
                Ok(found) => found,
                Err(fault) => {
                    let access = self.what_is_read(rest, fault, addresses, "")?;
                    return self.global(registers, At { access: &access, ..rest }, addresses);
                }
            };
            let now = At { lanes, ..at };
            if self.weak().is_some() {
                self.settle_overlapping(registers, &now, addresses)?;
            }
            self.observe(Memory::Global, now, addresses, Shape::Any);
            let table = &self.worker.snapshot.table;
            let allocation = &table.list[index];
            let base = allocation.base;
            if let Some(weak) = self.weak() {
                let grid = self.worker.grid;
                let cells = (&*allocation.cells, base);
                let mut view = WeakView::new(weak, grid, self.cta, self.index, at.access, false, cells);
                let offsets = addresses.map(|address| address.wrapping_sub(base));
                transfer(&mut view, registers, &grid.code.slots, now, &offsets);
                rest.lanes &= !lanes;
                continue;
            }
            let mut view = GlobalView {
                cells: &allocation.cells,
                wide: self.worker.grid.wide,
                exclusive: self.worker.grid.exclusive,
            };
            let mut offsets = *addresses;
            for offset in &mut offsets {
                *offset = offset.wrapping_sub(base);
            }
            transfer(&mut view, registers, &self.worker.grid.code.slots, now, &offsets);
            rest.lanes &= !lanes;
        }
        Ok(())
    }

    /// Finds the allocation of the first lanes: its index in the snapshot and the lanes inside it.
    #[inline(always)]
    pub(crate) fn locate(&mut self, at: At<'_>, addresses: &Addresses) -> Checked<(usize, LaneMask)> {
        let bytes = u64::from(at.access.bytes());
        let (low, high, bits) = extent(addresses, at.lanes);
        if bits & (bytes.next_power_of_two() - 1) == 0
            && !self.worker.grid.memory.is_stale(&self.worker.snapshot)
        {
            let index = self.worker.indices[at.position as usize] as usize;
            let hint = &self.worker.hints[at.position as usize];
            if low >= hint.base
                && high.wrapping_sub(hint.base).saturating_add(bytes) <= hint.size
                && (hint.writable || at.direction == Direction::Load)
            {
                return Ok((index, at.lanes));
            }
        }
        self.locate_slowly(at, addresses)
    }

    #[cold]
    #[inline(never)]
    fn locate_slowly(&mut self, at: At<'_>, addresses: &Addresses) -> Checked<(usize, LaneMask)> {
        let bytes = u64::from(at.access.bytes());
        self.aligned(at, addresses, "")?;
        self.worker.look_again();
        let table = self.worker.snapshot.table.clone();
        let first = addresses[at.lanes.trailing_zeros() as usize];
        let index = table.at_or_below(first);
        let inside = |address: u64| {
            index.is_some_and(|index| {
                let allocation = &table.list[index];
                allocation.state == State::Live
                    && address >= allocation.base
                    && address.checked_add(bytes).is_some_and(|end| end <= allocation.end())
            })
        };
        let kind = index.map(|index| table.list[index].kind);
        let heap = kind == Some(AllocationKind::Heap);
        let mut block = 0..0;
        let mut allowed =
            |address: u64| inside(address) && (!heap || self.heap_allows(&mut block, address, bytes));
        if let (true, Some(index)) = (allowed(first), index) {
            let allocation = &table.list[index];
            let mut lanes = 0;
            each_lane(at.lanes, |lane| lanes |= u32::from(allowed(addresses[lane])) << lane);
            if at.direction != Direction::Load && !allocation.is_writable() {
                let mut bad = lanes;
                each_lane(lanes, |lane| {
                    bad &= !(u32::from(allocation.allows_writes(addresses[lane], bytes)) << lane);
                });
                if bad != 0 {
                    let address = addresses[bad.trailing_zeros() as usize & 31];
                    let text = format!(
                        "{} of {bytes} bytes at {address:#x} in read-only memory: {}",
                        at.direction.verb(),
                        allocation.describe()
                    );
                    if allocation.kind != AllocationKind::Const {
                        return Err(Box::new(Fault::new(FindingKind::WriteToReadOnly, bad, text)));
                    }
                    let note = "PTX lets kernels only read constants; a device writes all the same, and so does this simulator";
                    let fault = Fault::new(FindingKind::UndefinedBehavior, bad, text).note(note);
                    let finding =
                        self.worker.grid.finding(self.cta, self.index, at.frame, at.position, fault);
                    self.found(finding);
                }
            }
            self.worker.indices[at.position as usize] = index as u32;
            // Blocks of the device heap come and go inside their allocation: no hint for them. Weak memory has
            // no fast way.
            if !heap && self.weak().is_none() {
                self.worker.hints[at.position as usize] = Hint::of(allocation);
                self.worker.hint_changes += 1;
            }
            return Ok((index, lanes));
        }
        let mut bad = 0;
        each_lane(at.lanes, |lane| {
            let address = addresses[lane];
            let found = table.find(address, bytes);
            let fine = found.is_some_and(|a| {
                a.kind != AllocationKind::Heap || self.heap_allows(&mut block, address, bytes)
            });
            bad |= u32::from(!fine) << lane;
        });
        let address = addresses[bad.trailing_zeros() as usize & 31];
        let what = format!("{} of {bytes} bytes at {address:#x}", at.direction.verb());
        let fault = |kind, text: String| Err(Box::new(Fault::new(kind, bad, text)));
        if address < 4096 {
            let text = format!("{what}: a null pointer{}", if address == 0 { "" } else { " plus an offset" });
            return fault(FindingKind::NullPointer, text);
        }
        if let Some(allocation) = table.at_or_below(address).map(|at| &table.list[at])
            && address < allocation.end()
        {
            if allocation.state == State::Freed {
                let offset = address - allocation.base;
                let text = format!("{what}, {offset} bytes into {}, which was freed", allocation.describe());
                return fault(FindingKind::UseAfterFree, text);
            }
            if allocation.kind == AllocationKind::Heap {
                return self.heap_fault(what, address, bad);
            }
        }
        if let Some((whose, note)) = self.worker.grid.memory.elsewhere(address) {
            let text = format!("{what}: {whose}");
            return Err(Box::new(Fault::new(FindingKind::PeerAccess, bad, text).note(note)));
        }
        // A generic address is told apart before: this instruction names the global space.
        let space = match window::of(address) {
            window::Window::Global => {
                return fault(FindingKind::OutOfBounds, format!("{what}: {}", table.nearest(address, bytes)));
            }
            window::Window::Shared(_) => "shared memory",
            window::Window::Local(offset) if offset < u64::from(MAX_LOCAL_BYTES) => "local memory",
            // A device has a thread's memory at the end of the window.
            window::Window::Local(_) => {
                let text = format!("{what}, which is beyond the local memory that a thread can have");
                return fault(FindingKind::OutOfBounds, text);
            }
            window::Window::Param(_) => "kernel parameters",
        };
        fault(
            FindingKind::WrongSpace,
            format!("{what}, which is an address of {space}, not of global memory"),
        )
    }

    /// Whether so many bytes lie in a live block of the device heap; not looked up if they do in the last lane's.
    fn heap_allows(&self, last: &mut Range<u64>, address: u64, bytes: u64) -> bool {
        let is_in = |block: &Range<u64>| address >= block.start && address + bytes <= block.end;
        if !is_in(last) {
            let live = self.worker.grid.heap.block(address).filter(|&(_, _, live)| live);
            *last = live.map_or(0..0, |(start, size, _)| start..start + size);
        }
        is_in(last)
    }

    fn heap_fault(&self, what: String, address: u64, bad: LaneMask) -> Checked<(usize, LaneMask)> {
        let (kind, text) = match self.worker.grid.heap.block(address) {
            Some((start, size, false)) if address < start + size => (
                FindingKind::UseAfterFree,
                format!(
                    "{what}, {} bytes into a device heap block of {size} bytes, which was freed",
                    address - start
                ),
            ),
            Some((start, size, _)) => (
                FindingKind::OutOfBounds,
                format!(
                    "{what}: {} bytes after the start of a device heap block of {size} bytes",
                    address - start
                ),
            ),
            None => (FindingKind::OutOfBounds, format!("{what}: in the device heap, before its first block")),
        };
        Err(Box::new(Fault::new(kind, bad, text)))
    }

    /// Faults lanes whose address is no multiple of the access size.
    pub(crate) fn aligned(&self, at: At<'_>, addresses: &Addresses, space: &str) -> Checked {
        let bytes = u64::from(at.access.bytes()).next_power_of_two();
        let mut bad = 0;
        each_lane(at.lanes, |lane| bad |= u32::from(addresses[lane] & (bytes - 1) != 0) << lane);
        if bad == 0 {
            return Ok(());
        }
        let address = addresses[bad.trailing_zeros() as usize];
        let text = format!(
            "{} of {bytes} bytes at {space}{address:#x}, which is not a multiple of {bytes}",
            at.direction.verb()
        );
        Err(Box::new(Fault::new(FindingKind::Misaligned, bad, text)))
    }

    fn local(&mut self, registers: &mut Registers, at: At<'_>, addresses: &Addresses) -> Checked {
        if let Err(fault) = self.check_local(at, addresses) {
            let access = self.what_is_read(at, fault, addresses, "local address ")?;
            return self.local(registers, At { access: &access, ..at }, addresses);
        }
        self.observe(Memory::Local, at, addresses, Shape::Any);
        let index = self.index;
        let rows = &mut self.cta.warps[index].local;
        if move_words(rows, registers, at, addresses) {
            return Ok(());
        }
        let mut view = LocalView { rows };
        transfer(&mut view, registers, &self.worker.grid.code.slots, at, addresses);
        Ok(())
    }

    /// Checks offsets into local memory against the variables of the frames that are active.
    #[inline(always)]
    pub(crate) fn check_local(&self, at: At<'_>, addresses: &Addresses) -> Checked {
        let bytes = u64::from(at.access.bytes());
        let (low, high, bits) = extent(addresses, at.lanes);
        let end = high.saturating_add(bytes);
        if bits & (bytes.next_power_of_two() - 1) == 0 && self.local_variable(at.frame, low, end) {
            return Ok(());
        }
        self.local_fault(at, addresses)
    }

    /// Whether a range of local offsets lies inside one variable (or `alloca` block) of the frame or
    /// a caller's.
    #[inline(always)]
    fn local_variable(&self, frame: FrameId, start: u64, end: u64) -> bool {
        let warp = self.warp();
        let mut frame = warp.frame(frame);
        while start < u64::from(frame.local_start) {
            if frame.depth == 0 {
                return false;
            }
            frame = warp.frame(frame.parent);
        }
        let function = &self.worker.grid.code.functions[frame.function as usize];
        let base = u64::from(frame.local_start);
        let fixed = base + u64::from(function.local_bytes);
        if start >= fixed {
            return end <= u64::from(frame.local_end);
        }
        function
            .locals
            .iter()
            .any(|&(from, to, _)| start >= base + u64::from(from) && end <= base + u64::from(to))
    }

    #[cold]
    #[inline(never)]
    fn local_fault(&self, at: At<'_>, addresses: &Addresses) -> Checked {
        let bytes = u64::from(at.access.bytes());
        let mut bad = 0;
        each_lane(at.lanes, |lane| {
            let address = addresses[lane];
            let fine =
                address.checked_add(bytes).is_some_and(|end| self.local_variable(at.frame, address, end));
            bad |= u32::from(!fine) << lane;
        });
        if bad == 0 {
            return self.aligned(at, addresses, "local address ");
        }
        let address = addresses[bad.trailing_zeros() as usize];
        let what = format!("{} of {bytes} bytes at local address {address:#x}", at.direction.verb());
        if address < u64::from(window::LOCAL_START) {
            return Err(Box::new(Fault::new(
                FindingKind::NullPointer,
                bad,
                format!("{what}: a null pointer"),
            )));
        }
        let frame = self.warp().frame(at.frame);
        let function = &self.worker.grid.code.functions[frame.function as usize];
        let module = &self.worker.grid.code.module;
        let base = u64::from(frame.local_start);
        let distance = |from: u64, to: u64| {
            if address < from { from - address } else { address.saturating_sub(to) }
        };
        let nearest = function
            .locals
            .iter()
            .min_by_key(|&&(from, to, _)| distance(base + u64::from(from), base + u64::from(to)));
        let text = match nearest {
            Some(&(from, to, id)) => {
                let (from, to) = (base + u64::from(from), base + u64::from(to));
                let name = &module.variables[id.index()].name;
                let size = to - from;
                if address < from {
                    format!("{what}: {} bytes before local variable `{name}` ({size} bytes)", from - address)
                } else if address < to {
                    format!(
                        "{what}: only the first {} bytes lie inside local variable `{name}` ({size} bytes)",
                        to - address
                    )
                } else {
                    format!(
                        "{what}: {} bytes after the end of local variable `{name}` ({size} bytes)",
                        address - to
                    )
                }
            }
            None => format!("{what}: the function has no local variables"),
        };
        Err(Box::new(Fault::new(FindingKind::OutOfBounds, bad, text)))
    }

    fn param(&mut self, registers: &mut Registers, at: At<'_>, addresses: &Addresses) -> Checked {
        // First, as on a device: what lies behind the parameters reads as zeros there.
        self.aligned(at, addresses, "parameter offset ")?;
        let bytes = u64::from(at.access.bytes());
        let size = self.worker.grid.launch.params.len() as u64;
        let mut bad = 0;
        each_lane(at.lanes, |lane| {
            let fine = addresses[lane].checked_add(bytes).is_some_and(|end| end <= size);
            bad |= u32::from(!fine) << lane;
        });
        if bad != 0 {
            let address = addresses[bad.trailing_zeros() as usize];
            let text = format!(
                "{} of {bytes} bytes at offset {address} of the kernel's parameters, which are {size} bytes",
                at.direction.verb()
            );
            return Err(Box::new(Fault::new(FindingKind::OutOfBounds, bad, text)));
        }
        if at.direction != Direction::Load {
            let text = format!("{} of {bytes} bytes in the kernel's parameters", at.direction.verb());
            return Err(Box::new(Fault::new(FindingKind::WriteToReadOnly, at.lanes, text)));
        }
        let mut params = self.worker.params.clone();
        let mut view = ByteView { bytes: &mut params };
        transfer(&mut view, registers, &self.worker.grid.code.slots, at, addresses);
        Ok(())
    }

    /// An access as tools see it.
    #[inline(always)]
    pub(crate) fn event<'e>(
        &self,
        memory: Memory,
        at: At<'_>,
        addresses: &'e Addresses,
        shape: Shape,
    ) -> WarpAccess<'e> {
        WarpAccess {
            memory,
            kind: at.direction.kind(),
            addresses,
            shape,
            lanes: at.lanes,
            bytes: at.access.bytes(),
            element: u32::from(at.access.size),
            order: at.access.order,
            scope: at.access.scope,
            asynchronous: at.access.asynchronous,
            writing: at.lanes,
            changing: at.lanes,
            position: at.position,
            home: at.peer.and_then(|rank| self.peers.get(rank)).map_or(self.cta.index, |peer| peer.index),
            block: self.cta.index,
            warp: self.index as u32,
        }
    }

    /// Tells tools of a load or store that may happen.
    #[inline(always)]
    pub(crate) fn observe(&mut self, memory: Memory, at: At<'_>, addresses: &Addresses, shape: Shape) {
        if self.wants(Wants::ACCESSES) {
            let access = self.event(memory, at, addresses, shape);
            self.tell_of(Wants::ACCESSES, at.frame, at.peer, &Event::Access(&access));
        }
    }
}

/// Moves a word or a double of each lane between local memory and a register of that size, at offsets that were checked; false
/// if it is something else. A word of all lanes is a row.
fn move_words(rows: &mut [Row], registers: &mut Registers, at: At<'_>, addresses: &Addresses) -> bool {
    let (slot, lanes) = (at.access.element.slot, at.lanes);
    let first = addresses[lanes.trailing_zeros() as usize & 31];
    let mut differ = 0;
    for (lane, address) in addresses.iter().enumerate() {
        differ |= (address ^ first) & 0u64.wrapping_sub(u64::from(lanes >> lane & 1));
    }
    let same = (first >> 2) as usize;
    let place = |lane: usize| if differ == 0 { same } else { (addresses[lane] >> 2) as usize };
    // Lanes that do not take part may have any address.
    let get = |rows: &[Row], place: usize, lane: usize| rows.get(place).map_or(0, |row| row.0[lane]);
    match (at.access.simple, at.direction) {
        (Simple::Four, Direction::Load) => {
            let words: [u32; WARP_SIZE] = match differ {
                0 => rows[same].0,
                _ => std::array::from_fn(|lane| get(rows, place(lane), lane)),
            };
            registers.write(slot, lanes, &words);
        }
        (Simple::Four, _) => {
            let words = registers.read::<u32>(slot);
            if differ == 0 && lanes == LaneMask::MAX {
                rows[same].0 = words;
            } else {
                each_lane(lanes, |lane| rows[place(lane)].0[lane] = words[lane]);
            }
        }
        (Simple::Eight, Direction::Load) => {
            let doubles: [u64; WARP_SIZE] = std::array::from_fn(|lane| {
                let [low, high] = [0, 1].map(|word| get(rows, place(lane) + word, lane));
                u64::from(low) | u64::from(high) << 32
            });
            registers.write(slot, lanes, &doubles);
        }
        (Simple::Eight, _) => {
            let doubles = registers.read::<u64>(slot);
            each_lane(lanes, |lane| {
                rows[place(lane)].0[lane] = doubles[lane] as u32;
                rows[place(lane) + 1].0[lane] = (doubles[lane] >> 32) as u32;
            });
        }
        _ => return false,
    }
    true
}
