//! Bulk copies and reductions (ISA 9.7.9.25.4), with a tensor map or without: each lane's by itself.

use std::sync::atomic::{Ordering, fence};

use super::at::{At, Checked, Direction};
use super::flow::Flow;
use crate::code::{
    Access, AccessSpace, Asynchronous, Atomic, AtomicOp, BulkCopy, BulkWhat, Completion, Groups, MapField,
    RegisterSlot, ReplaceField, TensorDirection, TensorOperands,
};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::FrameId;
use crate::machine::warp::Group;
use crate::machine::worker::HEAVY;
use crate::memory::AllocationKind;
use crate::observer::Observer;
use crate::tensor_map::{
    ElementType, Interleave, Mode, RANK, Run, Start, Swizzle, TENSOR_MAP_BYTES, TensorMap, TensorMapError,
    round_to_tf32,
};
use crate::tools::Wants;
use semantics::lanes::{LaneMask, Registers, Slot};
use semantics::window;

/// Bytes that go at once where no tool watches.
const PIECE: u32 = 1024;

/// What to say with bytes that no function made.
const NO_MAP: &str = "`cuTensorMapEncodeTiled` and its kin make one, and so does `tensormap.replace`, field by field, of zeros";

/// Where bytes lie.
#[derive(Clone, Copy)]
struct Place {
    space: AccessSpace,
    address: u64,
}

impl Place {
    fn skip(self, bytes: u32) -> Place {
        Place { address: self.address.wrapping_add(bytes.into()), ..self }
    }
}

/// One lane's copy.
#[derive(Clone, Copy)]
struct One<'a> {
    copy: &'a BulkCopy,
    lane: usize,
    position: u32,
    frame: FrameId,
}

impl One<'_> {
    fn lanes(&self) -> LaneMask {
        1 << self.lane
    }

    fn at<'a>(&self, access: &'a Access, direction: Direction) -> At<'a> {
        At { access, direction, lanes: self.lanes(), peer: None, position: self.position, frame: self.frame }
    }

    /// An access of so many bytes through their register, which is part of the copy.
    fn piece(&self, space: AccessSpace, bytes: u32) -> Access {
        let asynchronous = if self.copy.once { Asynchronous::No } else { Asynchronous::Issued };
        Access { asynchronous, ..piece(space, bytes, self.value(bytes)) }
    }

    /// The register through which so many bytes go.
    fn value(&self, bytes: u32) -> RegisterSlot {
        self.copy.values[bytes.ilog2() as usize]
    }

    fn fault(&self, kind: FindingKind, text: impl Into<String>) -> Box<Fault> {
        Box::new(Fault::new(kind, self.lanes(), text))
    }
}

/// An access of so many bytes through a register.
fn piece(space: AccessSpace, bytes: u32, element: RegisterSlot) -> Access {
    Access::weak(space, bytes as u8, element)
}

/// A map with another value in a field; `None` if the field has no such value.
fn replaced(mut map: TensorMap, field: MapField, dimension: usize, new: u64) -> Option<TensorMap> {
    match field {
        MapField::GlobalAddress => map.address = new,
        // One less than the rank (ISA 9.7.9.26).
        MapField::Rank => {
            map.rank = u32::try_from(new).ok()?.checked_add(1).filter(|&rank| rank <= RANK as u32)?
        }
        MapField::BoxDim => match &mut map.mode {
            Mode::Tiled { extents } => *extents.get_mut(dimension)? = new as u32,
            Mode::Im2col { .. } => return None,
        },
        MapField::GlobalDim => *map.extents.get_mut(dimension)? = u64::from(new as u32),
        // The low four bits have no place in a device's map.
        MapField::GlobalStride => *map.strides.get_mut(dimension)? = new & 0xff_ffff_fff0,
        MapField::ElementStride => *map.steps.get_mut(dimension)? = new as u32,
        MapField::Elemtype => map.element = *ElementType::OF_PTX.get(new as usize)?,
        MapField::InterleaveLayout => map.interleave = *Interleave::ALL.get(new as usize)?,
        MapField::SwizzleMode => map.swizzle = *Swizzle::ALL.get(new as usize)?,
        MapField::FillMode => map.fill_nan = new != 0,
    }
    Some(map)
}

/// Whether a device combines elements of a type so, which is read off a tensor map at run time.
const fn reduces(op: AtomicOp, ty: ptx_frontend::ScalarType) -> bool {
    use ptx_frontend::ScalarType as T;
    match op {
        AtomicOp::Add => {
            matches!(ty, T::U32 | T::S32 | T::U64 | T::F16 | T::Bf16 | T::F32 | T::Tf32 | T::F64)
        }
        AtomicOp::Min | AtomicOp::Max => {
            matches!(ty, T::U32 | T::S32 | T::U64 | T::S64 | T::F16 | T::Bf16)
        }
        AtomicOp::Inc | AtomicOp::Dec => matches!(ty, T::U32),
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => {
            matches!(ty, T::B32 | T::B64 | T::U32 | T::S32 | T::U64)
        }
        AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Mbarrier(_) => false,
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    pub(crate) fn bulk_copy(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        index: u32,
    ) -> Flow {
        let copy = &self.worker.grid.code.bulk_copies[index as usize];
        if self.defers() && !copy.once && !matches!(copy.what, BulkWhat::Prefetch(_)) {
            self.put_under_way(group, active);
            return Flow::Next;
        }
        match self.do_bulk_copy(registers, group, active, index) {
            Ok(()) => self.spent(group, HEAVY),
            Err(fault) => Flow::Fault(fault),
        }
    }

    /// Does the copies of some lanes, one after the other.
    pub(super) fn do_bulk_copy(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        index: u32,
    ) -> Checked {
        let copy = &self.worker.grid.code.bulk_copies[index as usize];
        let mut rest = if copy.once { active & active.wrapping_neg() } else { active };
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let one = One { copy, lane, position: group.position, frame: group.frame };
            if copy.reduction.is_none() && copy.barrier.is_none() && rest != 0 {
                rest &= !self.equal_lanes(registers, one, rest);
            }
            match copy.what {
                BulkWhat::Bytes(from, to, size) => {
                    let size = registers.lane::<u32>(size, lane);
                    if !size.is_multiple_of(16) {
                        let text = format!(
                            "a bulk copy of {size} bytes, which is no multiple of 16: undefined; sm_90 copies {} bytes",
                            size & !15
                        );
                        self.note(group, Fault::new(FindingKind::UndefinedBehavior, one.lanes(), text));
                    }
                    let ignored = match copy.ignored {
                        Some(slots) => slots.map(|slot| registers.lane::<u32>(slot, lane)),
                        None => [0; 2],
                    };
                    if let Some(bytes) = ignored.iter().find(|&&bytes| bytes > 15) {
                        let text = format!(
                            "a bulk copy that ignores {bytes} bytes at one end, of which 15 may be ignored"
                        );
                        self.note(group, Fault::new(FindingKind::UndefinedBehavior, one.lanes(), text));
                    }
                    let ignored = ignored.map(|bytes| bytes.min(15));
                    // The machine code holds a count of 16 bytes.
                    self.copy_bytes(registers, one, [&from, &to], size & !15, ignored)?;
                }
                BulkWhat::Tensor(tensor, place, direction) => {
                    self.copy_tensor(registers, one, &tensor, &place, direction)?;
                }
                BulkWhat::Prefetch(tensor) => self.tensor_copy(registers, one, &tensor).map(|_| ())?,
            }
        }
        Ok(())
    }

    /// The lanes whose copy is the same as this one. The machine code of ptxas stores once for all lanes with equal operands,
    /// and CUTLASS has whole warps store.
    fn equal_lanes(&self, registers: &Registers, one: One<'_>, others: LaneMask) -> LaneMask {
        let this = self.operands(registers, one);
        (0..32)
            .filter(|&lane| others >> lane & 1 != 0)
            .filter(|&lane| self.operands(registers, One { lane, ..one }) == this)
            .fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// The operands of a copy without an mbarrier.
    fn operands(&self, registers: &Registers, one: One<'_>) -> [u64; 2 + RANK] {
        let place = |access| self.place_of(registers, one, access).address;
        let value = |slot| u64::from(registers.lane::<u32>(slot, one.lane));
        let mut operands = [0; 2 + RANK];
        let tensor = match &one.copy.what {
            BulkWhat::Bytes(from, to, size) => {
                operands[..3].copy_from_slice(&[place(from), place(to), value(*size)]);
                return operands;
            }
            BulkWhat::Tensor(tensor, shared, _) => {
                operands[1] = place(shared);
                tensor
            }
            BulkWhat::Prefetch(tensor) => tensor,
        };
        operands[0] = place(&tensor.map);
        let slots = &self.worker.grid.code.slots;
        let list = &slots[tensor.coordinates.start as usize..][..tensor.coordinates.len as usize];
        for (to, from) in operands[2..].iter_mut().zip(list) {
            *to = value(from.slot);
        }
        operands
    }

    /// The address that an access of a lane has.
    fn place_of(&self, registers: &Registers, one: One<'_>, access: &Access) -> Place {
        let addresses = self.addresses(registers, one.at(access, Direction::Load));
        Place { space: access.space, address: addresses[one.lane] }
    }

    fn copy_bytes(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        [from, to]: [&Access; 2],
        bytes: u32,
        ignored: [u32; 2],
    ) -> Checked {
        let in_cluster = |access: &Access| matches!(access.space, AccessSpace::Shared | AccessSpace::Cluster);
        if in_cluster(from) && in_cluster(to) && !self.worker.grid.is_cluster_launch() {
            let text = "a bulk copy between blocks of a cluster, in a launch without clusters";
            return Err(one.fault(FindingKind::IllegalInstruction, text));
        }
        let (from, to) = (self.place_of(registers, one, from), self.place_of(registers, one, to));
        if let Some(place) = [from, to].iter().find(|place| !place.address.is_multiple_of(16)) {
            let text = format!("a bulk copy at {:#x}, which is not a multiple of 16", place.address);
            return Err(one.fault(FindingKind::Misaligned, text));
        }
        let [left, right] = ignored;
        let moved = bytes.saturating_sub(left + right);
        for rank in self.receivers(registers, one) {
            self.tell_of_copy(registers, one, rank);
            let to = self.of_rank(to, rank);
            if to.space == AccessSpace::Global {
                self.check_multicast_write(to.address, 1 << one.lane)?;
            }
            for to in self.replicas_of(to) {
                match one.copy.reduction {
                    Some(_) => self.reduce(registers, one, from, to, bytes)?,
                    None => self.move_bytes(registers, one, from.skip(left), to.skip(left), moved)?,
                }
            }
            self.complete(registers, one, bytes, rank)?;
        }
        Ok(())
    }

    /// Where a place of multicast memory is, on each device; any other place is itself.
    fn replicas_of(&self, place: Place) -> smallvec::SmallVec<[Place; 8]> {
        let table = &self.worker.snapshot.table;
        let found = table.multicast(place.address).filter(|_| place.space == AccessSpace::Global);
        let Some(found) = found else { return smallvec::smallvec![place] };
        let at = |replica: &u64| Place { address: place.address - found.base + replica, ..place };
        found.replicas.iter().map(at).collect()
    }

    /// The ranks that get a copy; `None` where the address says it.
    fn receivers(&self, registers: &Registers, one: One<'_>) -> smallvec::SmallVec<[Option<u32>; 16]> {
        match one.copy.multicast {
            None => smallvec::smallvec![None],
            Some(mask) => {
                let mask = registers.lane::<u32>(mask, one.lane);
                (0..16).filter(|rank| mask >> rank & 1 != 0).map(Some).collect()
            }
        }
    }

    /// The same place in the shared memory of a rank.
    fn of_rank(&self, place: Place, rank: Option<u32>) -> Place {
        let Some(rank) = rank else { return place };
        let offset = place.address & ((1 << window::SHARED_RANK_SHIFT) - 1);
        let address = offset | u64::from(rank) << window::SHARED_RANK_SHIFT;
        Place { space: AccessSpace::Cluster, address }
    }

    /// The mbarrier of a copy that a rank gets, with the register of its operand.
    fn barrier_of(
        &self,
        registers: &Registers,
        one: One<'_>,
        rank: Option<u32>,
    ) -> Option<(Atomic, Slot, u64)> {
        let (mut atomic, operand) = one.copy.barrier?;
        let place = self.of_rank(self.place_of(registers, one, &atomic.access), rank);
        atomic.access.space = place.space;
        atomic.access.asynchronous = Asynchronous::Issued;
        Some((atomic, operand, place.address))
    }

    /// Tells tools that a copy is issued.
    fn tell_of_copy(&mut self, registers: &Registers, one: One<'_>, rank: Option<u32>) {
        if !self.wants(Wants::ASYNCHRONOUS) || one.copy.once {
            return;
        }
        match self.barrier_of(registers, one, rank) {
            Some((atomic, _, address)) => {
                let at = one.at(&atomic.access, Direction::Atomic);
                self.tell_of_issue(at, Completion::Mbarrier, &[address; 32]);
            }
            None => {
                let access = one.piece(AccessSpace::Shared, 16);
                let at = one.at(&access, Direction::Load);
                self.tell_of_issue(at, Completion::Groups(Groups::Bulk), &[0; 32]);
            }
        }
    }

    /// Tells the mbarrier that so many bytes have come.
    fn complete(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        bytes: u32,
        rank: Option<u32>,
    ) -> Checked {
        let Some((atomic, operand, address)) = self.barrier_of(registers, one, rank) else { return Ok(()) };
        registers.write(operand, one.lanes(), &[bytes; 32]);
        fence(Ordering::Release);
        let at = one.at(&atomic.access, Direction::Atomic);
        if self.weak().is_some() {
            self.weak_shared(&at, true);
        }
        self.atomic_at(registers, at, &atomic, &mut [address; 32])
    }

    /// Loads so many bytes into their register.
    fn load_piece(&mut self, registers: &mut Registers, one: One<'_>, from: Place, bytes: u32) -> Checked {
        let load = one.piece(from.space, bytes);
        self.move_at(registers, one.at(&load, Direction::Load), &mut [from.address; 32])
    }

    /// Stores so many bytes from their register.
    fn store_piece(&mut self, registers: &mut Registers, one: One<'_>, to: Place, bytes: u32) -> Checked {
        let store = one.piece(to.space, bytes);
        self.move_at(registers, one.at(&store, Direction::Store), &mut [to.address; 32])
    }

    /// Copies bytes, all at once or, where somebody watches or something is wrong, in pieces of up to 16.
    fn move_bytes(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        mut from: Place,
        mut to: Place,
        mut bytes: u32,
    ) -> Checked {
        while bytes > 0 {
            let some = bytes.min(PIECE);
            let some = if !O::ACTIVE && self.move_range(from, to, some) {
                some
            } else {
                let some = 1u32 << (from.address | to.address | 16).trailing_zeros().min(bytes.ilog2());
                self.load_piece(registers, one, from, some)?;
                self.store_piece(registers, one, to, some)?;
                some
            };
            (from, to) = (from.skip(some), to.skip(some));
            bytes -= some;
        }
        Ok(())
    }

    /// Writes 16 bits again and again.
    fn fill_bytes(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        mut to: Place,
        mut bytes: u32,
        pattern: u16,
    ) -> Checked {
        let words = u128::from(pattern) * 0x0001_0001_0001_0001_0001_0001_0001_0001;
        while bytes > 0 {
            let some = 1u32 << (to.address | 16).trailing_zeros().min(bytes.ilog2());
            let value = one.value(some);
            match value.rows {
                4 => registers.write(value.slot, one.lanes(), &[words; 32]),
                2 => registers.write(value.slot, one.lanes(), &[words as u64; 32]),
                _ => registers.write(value.slot, one.lanes(), &[words as u32; 32]),
            }
            self.store_piece(registers, one, to, some)?;
            to = to.skip(some);
            bytes -= some;
        }
        Ok(())
    }

    /// Copies elements that are rounded on the way.
    fn move_rounded(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        mut from: Place,
        mut to: Place,
        bytes: u32,
    ) -> Checked {
        let value = one.value(4);
        for _ in 0..bytes / 4 {
            self.load_piece(registers, one, from, 4)?;
            let rounded = round_to_tf32(registers.lane::<u32>(value.slot, one.lane));
            registers.write(value.slot, one.lanes(), &[rounded; 32]);
            self.store_piece(registers, one, to, 4)?;
            (from, to) = (from.skip(4), to.skip(4));
        }
        Ok(())
    }

    /// Combines bytes with what lies at the destination, element by element.
    fn reduce(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        from: Place,
        to: Place,
        bytes: u32,
    ) -> Checked {
        let Some(reduction) = &one.copy.reduction else { return Ok(()) };
        self.reduce_as(registers, one, from, to, bytes, reduction.ty, false)
    }

    fn reduce_as(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        mut from: Place,
        mut to: Place,
        bytes: u32,
        ty: ptx_frontend::ScalarType,
        flushes: bool,
    ) -> Checked {
        let Some(reduction) = &one.copy.reduction else { return Ok(()) };
        let size = ty.bytes();
        let known = reduces(reduction.op, ty);
        let Some(elements) = reduction.elements.get(size.ilog2() as usize).filter(|_| known) else {
            let text = format!("a reduction of elements that it does not know ({ty})");
            return Err(one.fault(FindingKind::IllegalInstruction, text));
        };
        let value = one.value(size);
        for _ in 0..bytes / size {
            self.load_piece(registers, one, from, size)?;
            let access = Access {
                elements: *elements,
                strong: true,
                order: ptx_frontend::MemOrder::Relaxed,
                scope: ptx_frontend::Scope::Gpu,
                asynchronous: Asynchronous::Issued,
                ..Access::weak(to.space, size as u8, RegisterSlot { rows: 0, ..value })
            };
            let keeps_subnormals = ty == ptx_frontend::ScalarType::F32 && !flushes;
            let atomic = Atomic { access, op: reduction.op, ty, returns: false, keeps_subnormals };
            let at = one.at(&atomic.access, Direction::Atomic);
            self.atomic_at(registers, at, &atomic, &mut [to.address; 32])?;
            (from, to) = (from.skip(size), to.skip(size));
        }
        Ok(())
    }

    /// The map and the start of a tensor copy, if a device would take them.
    fn tensor_copy(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        tensor: &TensorOperands,
    ) -> Checked<(TensorMap, Start)> {
        let illegal = |text: String| one.fault(FindingKind::IllegalInstruction, text);
        let place = self.place_of(registers, one, &tensor.map);
        let bytes = self.read_map(registers, one, place, tensor.map.element)?;
        let Some(map) = TensorMap::from_bytes(&bytes) else {
            let fault = illegal(format!("the 128 bytes at {:#x} are no tensor map", place.address));
            return Err(Box::new(fault.note(NO_MAP)));
        };
        map.check().map_err(|error| {
            let text = format!("a tensor map that cannot be: {error}");
            match error {
                // Of slices of 32 bytes that were moved to 16.
                TensorMapError::Address(at) if TensorMap::may_begin_at(at) => {
                    one.fault(FindingKind::Misaligned, text)
                }
                _ => illegal(text),
            }
        })?;
        if tensor.im2col != matches!(map.mode, Mode::Im2col { .. }) {
            let (wants, is) = if tensor.im2col { ("im2col", "tiled") } else { ("tiled", "im2col") };
            return Err(illegal(format!("a copy in {wants} mode with a tensor map of {is} mode")));
        }
        let slots = &self.worker.grid.code.slots;
        let mut start = Start::default();
        let list = &slots[tensor.coordinates.start as usize..][..tensor.coordinates.len as usize];
        if list.len() != map.rank as usize {
            let text = format!("a tensor of rank {} and coordinates of rank {}", map.rank, list.len());
            return Err(illegal(text));
        }
        for (to, from) in start.coordinates.iter_mut().take(RANK).zip(list) {
            *to = registers.lane::<u32>(from.slot, one.lane) as i32;
        }
        let list = &slots[tensor.offsets.start as usize..][..tensor.offsets.len as usize];
        for (to, from) in start.offsets.iter_mut().zip(list) {
            *to = registers.lane::<u32>(from.slot, one.lane) as u16;
        }
        let first = i64::from(start.coordinates[0]) * i64::from(map.element.bytes());
        if map.interleave == Interleave::None && first % 16 != 0 {
            let text =
                format!("the first coordinate, {}, is {first} bytes from the start", start.coordinates[0]);
            let fault = illegal(text);
            return Err(Box::new(fault.note("it must fall on a multiple of 16 bytes")));
        }
        if let Some(dimension) = map.outside(start) {
            let name = ["width", "height", "depth"][dimension - 1];
            return Err(illegal(format!(
                "a copy of pixels that begins outside the bounding box in its {name}"
            )));
        }
        Ok((map, start))
    }

    fn read_map(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        place: Place,
        value: RegisterSlot,
    ) -> Checked<[u8; TENSOR_MAP_BYTES]> {
        let mut bytes = [0; TENSOR_MAP_BYTES];
        for (number, part) in bytes.chunks_exact_mut(16).enumerate() {
            let load = Access { asynchronous: Asynchronous::Map, ..piece(place.space, 16, value) };
            let address = place.skip(16 * number as u32).address;
            self.move_at(registers, one.at(&load, Direction::Load), &mut [address; 32])?;
            part.copy_from_slice(&registers.lane::<u128>(value.slot, one.lane).to_le_bytes());
        }
        Ok(bytes)
    }

    fn copy_tensor(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        tensor: &TensorOperands,
        place: &Access,
        direction: TensorDirection,
    ) -> Checked {
        let (map, start) = self.tensor_copy(registers, one, tensor)?;
        let shared = self.place_of(registers, one, place);
        if !shared.address.is_multiple_of(128) {
            let text = format!(
                "a tensor copy at shared address {:#x}, which is not a multiple of 128",
                shared.address
            );
            return Err(one.fault(FindingKind::Misaligned, text));
        }
        if direction == TensorDirection::Load {
            for rank in self.receivers(registers, one) {
                let to = self.of_rank(shared, rank);
                self.tell_of_copy(registers, one, rank);
                map.runs(start, |run| self.load_run(registers, one, &map, run, to))?;
                self.complete(registers, one, map.box_bytes(), rank)?;
            }
            return Ok(());
        }
        let rank = map.rank as usize;
        if let Some(at) = start.coordinates.iter().take(rank).find(|&&at| at < 0) {
            let text = format!("a tensor copy to global memory with the coordinate {at}, which is negative");
            return Err(one.fault(FindingKind::IllegalInstruction, text));
        }
        if let Mode::Im2col { lower, upper, .. } = &map.mode
            && lower.iter().zip(upper).take(rank - 2).any(|(&lower, &upper)| lower < 0 || upper > 0)
        {
            let text = "a copy of pixels to global memory with a bounding box that is larger than the image";
            return Err(one.fault(FindingKind::IllegalInstruction, text));
        }
        // It writes pieces of 16 bytes: also what lies in one with the last elements of a row.
        self.tell_of_copy(registers, one, None);
        let mut written = map;
        let size = u64::from(map.element.bytes());
        if map.interleave == Interleave::None {
            written.extents[0] = (map.extents[0] * size).next_multiple_of(16) / size;
        }
        written.runs(start, |run| self.store_run(registers, one, &map, run, shared))
    }

    /// The pieces of a run that stay together in shared memory: offset in the run, place, bytes.
    fn pieces(map: &TensorMap, run: Run, shared: Place) -> impl Iterator<Item = (u32, Place, u32)> + use<O> {
        let swizzle = map.swizzle;
        let mut done = 0;
        std::iter::from_fn(move || {
            let left = run.bytes - done;
            let plain = shared.skip(run.offset + done);
            let bytes = match swizzle.span() {
                None => left,
                Some(_) => left.min(16 - (plain.address % 16) as u32),
            };
            let piece = (done, Place { address: swizzle.apply(plain.address), ..plain }, bytes);
            done += bytes;
            (bytes > 0).then_some(piece)
        })
    }

    fn load_run(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        map: &TensorMap,
        run: Run,
        shared: Place,
    ) -> Checked {
        for (skip, to, bytes) in Self::pieces(map, run, shared) {
            match run.global {
                Some(global) => {
                    let from = Place { space: AccessSpace::Global, address: global }.skip(skip);
                    match map.rounds() {
                        true => self.move_rounded(registers, one, from, to, bytes)?,
                        false => self.move_bytes(registers, one, from, to, bytes)?,
                    }
                }
                None => self.fill_bytes(registers, one, to, bytes, map.fill())?,
            }
        }
        Ok(())
    }

    fn store_run(
        &mut self,
        registers: &mut Registers,
        one: One<'_>,
        map: &TensorMap,
        run: Run,
        shared: Place,
    ) -> Checked {
        let Some(global) = run.global else { return Ok(()) };
        for (skip, from, bytes) in Self::pieces(map, run, shared) {
            let to = Place { space: AccessSpace::Global, address: global }.skip(skip);
            match one.copy.reduction {
                Some(_) => {
                    let (ty, flushes) = (map.element.scalar(), map.element.flushes());
                    self.reduce_as(registers, one, from, to, bytes, ty, flushes)?;
                }
                None => self.move_bytes(registers, one, from, to, bytes)?,
            }
        }
        Ok(())
    }

    /// Copies up to [`PIECE`] bytes if all of them may be read and written; false if nothing was done.
    fn move_range(&mut self, from: Place, to: Place, bytes: u32) -> bool {
        // The copy of a swizzled box moves 16 bytes at a time: no more than these are cleared for it.
        if bytes <= 16 {
            let mut buffer = [0; 16];
            let buffer = &mut buffer[..bytes as usize];
            return self.read_range(from, buffer) && self.write_range(to, buffer);
        }
        let mut buffer = [0; PIECE as usize];
        let buffer = &mut buffer[..bytes as usize];
        self.read_range(from, buffer) && self.write_range(to, buffer)
    }

    /// Reads bytes if all of them may be read; false if nothing was done.
    fn read_range(&mut self, place: Place, bytes: &mut [u8]) -> bool {
        if let AccessSpace::Global = place.space {
            let Some((cells, at)) = self.global_range(place.address, bytes.len(), false) else {
                return false;
            };
            cells.read(at, bytes);
            return true;
        }
        let Some(from) = self.shared_range_of(place, bytes.len()) else { return false };
        bytes.copy_from_slice(from);
        true
    }

    fn write_range(&mut self, place: Place, bytes: &[u8]) -> bool {
        if let AccessSpace::Global = place.space {
            let Some((cells, at)) = self.global_range(place.address, bytes.len(), true) else { return false };
            cells.write(at, bytes);
            return true;
        }
        let Some(to) = self.shared_range_of(place, bytes.len()) else { return false };
        to.copy_from_slice(bytes);
        true
    }

    fn global_range(&self, address: u64, bytes: usize, writes: bool) -> Option<(&crate::memory::Cells, u64)> {
        if self.worker.grid.memory.is_stale(&self.worker.snapshot) || !address.is_multiple_of(16) {
            return None;
        }
        let found = self.worker.snapshot.table.find(address, bytes as u64)?;
        let whole = !matches!(found.kind, AllocationKind::Heap | AllocationKind::Parameters);
        let fine = whole && (!writes || found.allows_writes(address, bytes as u64));
        fine.then(|| (&*found.cells, address - found.base))
    }

    fn shared_range_of(&mut self, place: Place, bytes: usize) -> Option<&mut [u8]> {
        if !place.address.is_multiple_of(16) {
            return None;
        }
        let (peer, offset) = self.offset_in_shared(place.space, place.address)?;
        let offset = usize::try_from(offset).ok()?;
        self.shared_bytes(peer).get_mut(offset..offset.checked_add(bytes)?)
    }

    /// `tensormap.replace`: each lane's by itself.
    pub(crate) fn replace_field(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        index: u32,
    ) -> Flow {
        let replace = &self.worker.grid.code.replacements[index as usize];
        let mut rest = active;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if let Err(fault) = self.replace_of(registers, group, replace, lane) {
                return Flow::Fault(fault);
            }
        }
        self.spent(group, HEAVY)
    }

    fn replace_of(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        replace: &ReplaceField,
        lane: usize,
    ) -> Checked {
        let lanes = 1 << lane;
        let (position, frame) = (group.position, group.frame);
        let at = |access, direction| At { access, direction, lanes, peer: None, position, frame };
        let base = self.addresses(registers, at(&replace.map, Direction::Load))[lane];
        let mut bytes = [0; TENSOR_MAP_BYTES];
        let access = piece(replace.map.space, 16, replace.value);
        let part = |number: usize| base.wrapping_add(16 * number as u64);
        for (number, bytes) in bytes.chunks_exact_mut(16).enumerate() {
            self.move_at(registers, at(&access, Direction::Load), &mut [part(number); 32])?;
            bytes.copy_from_slice(&registers.lane::<u128>(replace.value.slot, lane).to_le_bytes());
        }
        let new = match replace.new.rows {
            2 => registers.lane::<u64>(replace.new.slot, lane),
            _ => registers.lane::<u32>(replace.new.slot, lane).into(),
        };
        // Kernels make maps of their own from zeros, field by field.
        let zeros = (bytes == [0; TENSOR_MAP_BYTES]).then(TensorMap::of_zeros);
        let changed = zeros
            .or_else(|| TensorMap::from_bytes(&bytes))
            .and_then(|map| replaced(map, replace.field, replace.dimension.into(), new));
        let Some(changed) = changed else {
            let text = format!("`tensormap.replace` with {new:#x} in the 128 bytes at {base:#x}");
            let note = "they are no tensor map, or the value is none of the field's: nothing is changed";
            self.note(group, Fault::new(FindingKind::UndefinedBehavior, lanes, text).note(note));
            return Ok(());
        };
        for (number, bytes) in changed.to_bytes().chunks_exact(16).enumerate() {
            let value = bytes.iter().rev().fold(0u128, |value, &byte| value << 8 | u128::from(byte));
            registers.write(replace.value.slot, lanes, &[value; 32]);
            self.move_at(registers, at(&access, Direction::Store), &mut [part(number); 32])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_frontend::ScalarType as T;

    /// Tensor copies of each type and operation on an H200 (driver 580.159): the others are illegal instructions.
    #[test]
    fn reductions_are_those_that_a_device_knows() {
        use AtomicOp::{Add, And, Dec, Inc, Max, Min, Or, Xor};
        let all = [Add, Min, Max, Inc, Dec, And, Or, Xor];
        let recorded: [(T, &[AtomicOp]); 11] = [
            (T::U8, &[]),
            (T::U16, &[]),
            (T::U32, &all),
            (T::S32, &[Add, Min, Max, And, Or, Xor]),
            (T::U64, &[Add, Min, Max, And, Or, Xor]),
            (T::S64, &[Min, Max]),
            (T::F16, &[Add, Min, Max]),
            (T::F32, &[Add]),
            (T::F64, &[Add]),
            (T::Bf16, &[Add, Min, Max]),
            (T::Tf32, &[Add]),
        ];
        for (ty, known) in recorded {
            for op in all {
                assert_eq!(reduces(op, ty), known.contains(&op), "{op:?} of {ty}");
            }
        }
    }
}
