//! Bulk copies (ISA 9.7.9.25.4, 9.7.9.25.5) and tensor maps (ISA 9.7.9.26, 9.7.13.16).

use ptx_frontend::{MemOrder, Modifier, Modifiers, Op, Operand, ScalarType, StateSpace};

use super::memory::atomic_operation;
use super::{Decoder, Refusal, rows_of};
use crate::code::*;
use numerics::mbarrier::MbarrierOp;
use semantics::lanes::Pred;

/// What only sm_100 and later have.
const LATER: [Modifier; 7] = [
    Modifier::CpMask,
    Modifier::TileGather4,
    Modifier::TileScatter4,
    Modifier::Im2colW,
    Modifier::Im2colW128,
    Modifier::CtaGroup1,
    Modifier::CtaGroup2,
];

impl Decoder<'_> {
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, with a tensor map or without.
    pub(super) fn bulk_copy(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        if LATER.iter().any(|&m| op.has(m)) {
            return Err(format!("`{op}`"));
        }
        let wrong = || format!("`{op}` with these operands");
        let values = self.pieces();
        let loads = op.has(Modifier::MbarrierCompleteTxBytes);
        let spaces = self.ends(op);
        let mut rest = operands;
        let mut next = || {
            let (&first, others) = rest.split_first().ok_or_else(wrong)?;
            rest = others;
            Ok::<Operand, Refusal>(first)
        };
        let mut what = if op.has(Modifier::Tensor) {
            if op.has(Modifier::Prefetch) {
                BulkWhat::Prefetch(self.tensor_operands(guard, op, next()?)?)
            } else {
                let &[to, from] = &spaces[..] else { return Err(wrong()) };
                let (first, second) = (next()?, next()?);
                let (map, place, space, direction) = match loads {
                    true => (second, first, to, TensorDirection::Load),
                    false => (first, second, from, TensorDirection::Store),
                };
                let place = self.whole(space, place, 16, values[4].slot)?;
                BulkWhat::Tensor(self.tensor_operands(guard, op, map)?, place, direction)
            }
        } else {
            let &[to, from] = &spaces[..] else { return Err(wrong()) };
            let (d, a) = (next()?, next()?);
            let size = self.source(guard, next()?, ScalarType::U32)?;
            let slot = values[4].slot;
            BulkWhat::Bytes(self.whole(from, a, 16, slot)?, self.whole(to, d, 16, slot)?, size)
        };
        let ignored = match op.has(Modifier::IgnoreOob) {
            true => Some([
                self.source(guard, next()?, ScalarType::U32)?,
                self.source(guard, next()?, ScalarType::U32)?,
            ]),
            false => None,
        };
        let barrier = match loads {
            true => {
                let bytes = self.temporary(1);
                let barrier = next()?;
                let (complete, order) = (MbarrierOp::CompleteTx, MemOrder::Release);
                let space = spaces[0];
                let (atomic, _) = self.mbarrier_operation(space, barrier, complete, bytes, None, order)?;
                Some((atomic, bytes))
            }
            false => None,
        };
        if let BulkWhat::Tensor(tensor, ..) | BulkWhat::Prefetch(tensor) = &mut what
            && tensor.im2col
            && !op.has(Modifier::Im2colNoOffs)
        {
            tensor.offsets = self.sources(guard, next()?, ScalarType::U16)?;
        }
        let multicast = match op.has(Modifier::MulticastCluster) {
            true => Some(self.source(guard, next()?, ScalarType::U16)?),
            false => None,
        };
        let reduction = match op.has(Modifier::Reduce) {
            true => Some(self.bulk_reduction(op, &values)?),
            false => None,
        };
        self.emit_bulk(guard, BulkCopy { what, values, reduction, barrier, multicast, ignored, once: false });
        Ok(())
    }

    fn bulk_reduction(&mut self, op: &Op, values: &[RegisterSlot; 5]) -> Result<BulkReduction, Refusal> {
        let operation = atomic_operation(op)?;
        // The element at the destination is not wanted; the other operand is a piece's register.
        let elements = [0, 1, 2, 3].map(|size: usize| {
            let list = SlotList { start: self.code.slots.len() as u32, len: 1 };
            self.code.slots.extend([RegisterSlot { rows: 0, ..values[size] }, values[size]]);
            list
        });
        Ok(BulkReduction { op: operation, ty: op.ty(0).unwrap_or(ScalarType::B32), elements })
    }

    fn emit_bulk(&mut self, guard: Pred, copy: BulkCopy) {
        let index = self.code.bulk_copies.len() as u32;
        self.code.bulk_copies.push(copy);
        self.emit(guard, Action::BulkCopy(index));
    }

    /// The state spaces of destination and source.
    fn ends(&self, op: &Op) -> smallvec::SmallVec<[StateSpace; 2]> {
        let space = |&m: &Modifier| match m {
            Modifier::Global => Some(StateSpace::Global),
            // An address of the block's own names its rank, where ranks are told apart.
            Modifier::SharedCta => Some(StateSpace::Shared),
            Modifier::SharedCluster => Some(StateSpace::SharedCluster),
            _ => None,
        };
        op.list().iter().filter_map(space).collect()
    }

    /// Registers through which pieces of 1, 2, 4, 8 and 16 bytes go.
    fn pieces(&mut self) -> [RegisterSlot; 5] {
        [1, 1, 1, 2, 4].map(|rows| RegisterSlot { slot: self.temporary(rows), rows })
    }

    fn sources(&mut self, guard: Pred, list: Operand, ty: ScalarType) -> Result<SlotList, Refusal> {
        let operands: smallvec::SmallVec<[Operand; 5]> = match list {
            Operand::Vector(list) => self.body.elements(list).into(),
            other => smallvec::smallvec![other],
        };
        let mut slots: smallvec::SmallVec<[RegisterSlot; 5]> = smallvec::SmallVec::new();
        for &operand in &operands {
            slots.push(RegisterSlot { slot: self.source(guard, operand, ty)?, rows: rows_of(ty) });
        }
        let list = SlotList { start: self.code.slots.len() as u32, len: slots.len() as u32 };
        self.code.slots.extend(slots);
        Ok(list)
    }

    /// `[map, {coordinates}]`
    fn tensor_operands(&mut self, guard: Pred, op: &Op, operand: Operand) -> Result<TensorOperands, Refusal> {
        let wrong = || format!("`{op}` with these operands");
        let Operand::AddressList(list) = operand else { return Err(wrong()) };
        let &[map, coordinates] = self.body.elements(list) else { return Err(wrong()) };
        let map = match map {
            Operand::Address(_) => map,
            Operand::Register(id) => Operand::Address(ptx_frontend::Address {
                base: ptx_frontend::AddressBase::Register(id),
                offset: 0,
            }),
            Operand::Variable(id, offset) => Operand::Address(ptx_frontend::Address {
                base: ptx_frontend::AddressBase::Variable(id),
                offset,
            }),
            _ => return Err(wrong()),
        };
        let value = self.temporary(4);
        let map = self.whole(StateSpace::Generic, map, 16, value)?;
        let coordinates = self.sources(guard, coordinates, ScalarType::S32)?;
        let im2col = op.has(Modifier::Im2col) || op.has(Modifier::Im2colNoOffs);
        Ok(TensorOperands { map, coordinates, offsets: SlotList { start: 0, len: 0 }, im2col })
    }

    /// `fence.proxy.tensormap::generic`: to other threads it releases or acquires as fences do.
    pub(super) fn tensor_map_fence(&mut self, op: &Op, operands: &[Operand]) -> Result<Action, Refusal> {
        let scope = op.scope().ok_or_else(|| format!("`{op}`"))?;
        match *operands {
            [] => Ok(Action::Fence(MemOrder::Release, scope)),
            [map, _] => {
                let value = self.temporary(4);
                Ok(Action::MapFence(self.whole(StateSpace::Generic, map, 16, value)?, scope))
            }
            _ => Err(format!("`{op}` with these operands")),
        }
    }

    /// `tensormap.replace`, `tensormap.cp_fenceproxy`
    pub(super) fn tensor_map(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let wrong = || format!("`{op}` with these operands");
        if op.has(Modifier::CpFenceproxy) {
            let &[to, from, _] = operands else { return Err(wrong()) };
            let values = self.pieces();
            let slot = values[4].slot;
            let size = self.bits(128, 1);
            let from = self.whole(StateSpace::Shared, from, 16, slot)?;
            let to = self.whole(StateSpace::Global, to, 16, slot)?;
            let what = BulkWhat::Bytes(from, to, size);
            let (reduction, barrier, multicast, ignored) = (None, None, None, None);
            let copy = BulkCopy { what, values, reduction, barrier, multicast, ignored, once: true };
            self.emit_bulk(guard, copy);
            let scope = op.scope().ok_or_else(wrong)?;
            self.emit(guard, Action::Fence(MemOrder::Release, scope));
            return Ok(());
        }
        let fields = [
            (Modifier::GlobalAddress, MapField::GlobalAddress),
            (Modifier::Rank, MapField::Rank),
            (Modifier::BoxDim, MapField::BoxDim),
            (Modifier::GlobalDim, MapField::GlobalDim),
            (Modifier::GlobalStride, MapField::GlobalStride),
            (Modifier::ElementStride, MapField::ElementStride),
            (Modifier::Elemtype, MapField::Elemtype),
            (Modifier::InterleaveLayout, MapField::InterleaveLayout),
            (Modifier::SwizzleMode, MapField::SwizzleMode),
            (Modifier::FillMode, MapField::FillMode),
        ];
        let found = fields.iter().find(|&&(modifier, _)| op.has(modifier));
        let &(_, field) = found.ok_or_else(|| format!("`{op}`"))?;
        let (map, dimension, new) = match *operands {
            [map, new] => (map, 0, new),
            [map, Operand::Integer(dimension), new] => (map, dimension as u8, new),
            _ => return Err(wrong()),
        };
        let wide = matches!(field, MapField::GlobalAddress | MapField::GlobalStride);
        let ty = if wide { ScalarType::B64 } else { ScalarType::B32 };
        let value = RegisterSlot { slot: self.temporary(4), rows: 4 };
        let map = self.whole(op.space(), map, 16, value.slot)?;
        let new = RegisterSlot { slot: self.source(guard, new, ty)?, rows: rows_of(ty) };
        let index = self.code.replacements.len() as u32;
        self.code.replacements.push(ReplaceField { map, value, field, dimension, new });
        self.emit(guard, Action::ReplaceField(index));
        Ok(())
    }
}
