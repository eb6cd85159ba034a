//! Asynchronous copies (ISA 9.7.9.25), asynchronous stores (9.7.9.12, 9.7.13.7) and mbarrier objects
//! (9.7.13.15).
//!
//! A copy is done where it is issued: a program cannot rely on its being late, only on its being done once
//! it was waited for. Groups of copies are therefore complete when they are committed, and the arrive-on of
//! a copy's completion follows the copy.

use ptx_frontend::{MemOrder, Modifier, Modifiers, Op, Opcode, Operand, ScalarType, Scope, StateSpace};

use super::memory::simple;
use super::operands::Widen;
use super::{Decoder, Refusal, rows_of};
use crate::code::*;
use numerics::mbarrier as object;
use semantics::lanes::{LaneFns, Operands, Pred, Slot, map_rows, map1};

/// Operations on an mbarrier object are atomic towards all of the cluster, whose copies count their bytes there: what they
/// name (`.cta`, mostly) is the scope of what is synchronised.
const OBJECT_SCOPE: Scope = Scope::Cluster;

impl Decoder<'_> {
    /// Asynchronous copies and mbarrier operations; false if it is none.
    pub(super) fn asynchronous(
        &mut self,
        guard: Pred,
        op: &Op,
        operands: &[Operand],
    ) -> Result<bool, Refusal> {
        match op.opcode {
            Opcode::Cp if op.has(Modifier::Mbarrier) => self.arrive_on_copies(guard, op, operands)?,
            Opcode::Cp if op.has(Modifier::Prefetch) && !op.has(Modifier::Tensor) => {
                self.emit(guard, Action::Nothing);
            }
            Opcode::Tensormap => self.tensor_map(guard, op, operands)?,
            Opcode::Cp
                if [Modifier::CommitGroup, Modifier::WaitGroup, Modifier::WaitAll]
                    .iter()
                    .any(|&m| op.has(m)) =>
            {
                self.group(guard, op, operands)?;
            }
            Opcode::Cp | Opcode::Multimem if op.has(Modifier::Async) && op.has(Modifier::Bulk) => {
                self.bulk_copy(guard, op, operands)?;
            }
            Opcode::Cp if op.has(Modifier::Async) => self.copy(guard, op, operands)?,
            Opcode::St | Opcode::Red if op.has(Modifier::MbarrierCompleteTxBytes) => {
                self.asynchronous_store(guard, op, operands)?;
            }
            Opcode::St | Opcode::Red if op.has(Modifier::Async) || op.has(Modifier::Bulk) => {
                return Err(format!("`{op}`"));
            }
            Opcode::Mbarrier => self.mbarrier(guard, op, operands)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `cp.async.commit_group`, `cp.async.wait_group`, `cp.async.wait_all`, and the same of bulk copies.
    fn group(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let groups = if op.has(Modifier::Bulk) { Groups::Bulk } else { Groups::Copies };
        let step = match operands {
            [] if op.has(Modifier::CommitGroup) => GroupStep::Commit,
            [] if op.has(Modifier::WaitAll) => GroupStep::WaitAll,
            [Operand::Integer(most)] if op.has(Modifier::WaitGroup) => {
                let most = u32::try_from(*most).unwrap_or(u32::MAX);
                // A wait for the asynchronous proxy alone waits no less than one for all.
                if op.has(Modifier::Read) { GroupStep::WaitReads(most) } else { GroupStep::Wait(most) }
            }
            _ => return Err(format!("`{op}` with these operands")),
        };
        self.emit(guard, Action::Groups(groups, step));
        Ok(())
    }

    /// One element of so many bytes at an address, to or from `slot`.
    pub(super) fn whole(
        &mut self,
        space: StateSpace,
        address: Operand,
        bytes: u32,
        slot: Slot,
    ) -> Result<Access, Refusal> {
        let ty = match bytes {
            1 => ScalarType::B8,
            4 => ScalarType::B32,
            8 => ScalarType::B64,
            16 => ScalarType::B128,
            _ => return Err(format!("a copy of {bytes} bytes")),
        };
        let place = self.place_in(space, address)?;
        let element = RegisterSlot { slot, rows: rows_of(ty) };
        let elements = SlotList { start: self.code.slots.len() as u32, len: 1 };
        self.code.slots.push(element);
        let access = place.access(bytes as u8, MemOrder::Weak, elements, element);
        Ok(Access { simple: simple(ty, &[element]), ..access })
    }

    /// `cp.async`: 4, 8 or 16 bytes, of which the source may give fewer.
    fn copy(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let hint = usize::from(op.has(Modifier::L2CacheHint));
        let Some([to, from, Operand::Integer(bytes), rest @ ..]) =
            operands.len().checked_sub(hint).map(|end| &operands[..end])
        else {
            return Err(format!("`{op}` with these operands"));
        };
        let bytes = *bytes as u32;
        let value = self.temporary(bytes.div_ceil(4) as u8);
        let load = self.whole(StateSpace::Global, *from, bytes, value)?;
        let late = |access| Access { asynchronous: Asynchronous::Copy, ..access };
        let store = late(self.whole(StateSpace::Shared, *to, bytes, value)?);
        let again = self.stores_under_copies;
        match *rest {
            [] if !again => {
                self.emit(guard, Action::Load(load));
                self.emit(guard, Action::Store(store));
            }
            [] | [_] => {
                let size = match *rest {
                    [size] if self.is_predicate(size) => self.size_unless(guard, size, bytes)?,
                    [size] => self.source(guard, size, ScalarType::U32)?,
                    _ => self.bits(u128::from(bytes), 1),
                };
                let byte = self.temporary(1);
                let byte = [
                    self.whole(StateSpace::Global, *from, 1, byte)?,
                    late(self.whole(StateSpace::Shared, *to, 1, byte)?),
                ];
                self.emit_copy(guard, AsyncCopy { from: load, to: store, size, byte, again });
            }
            _ => return Err(format!("`{op}` with these operands")),
        }
        Ok(())
    }

    fn emit_copy(&mut self, guard: Pred, copy: AsyncCopy) {
        let index = self.code.copies.len() as u32;
        self.code.copies.push(copy);
        self.emit(guard, Action::Copy(index));
    }

    /// `st.async` and `red.async`: the access, then its bytes on the mbarrier.
    fn asynchronous_store(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let [access @ .., barrier] = operands else { return Err(format!("`{op}` with these operands")) };
        let elements = match access {
            [_, Operand::Vector(list)] => list.len,
            _ => 1,
        };
        let bytes = op.ty(0).map_or(0, ScalarType::bytes) * elements;
        let space =
            if op.space() == StateSpace::Generic { StateSpace::Generic } else { StateSpace::SharedCluster };
        let bytes = self.bits(u128::from(bytes), 1);
        let (complete, order) = (MbarrierOp::CompleteTx, MemOrder::Release);
        let (complete, _) = self.mbarrier_operation(space, *barrier, complete, bytes, None, order)?;
        self.emit(guard, Action::IssueStore(complete.access));
        let first = self.code.insts.len();
        match op.opcode {
            Opcode::St => self.store(guard, op, access)?,
            _ => self.atomic(guard, op, access)?,
        }
        self.emit(guard, Action::Atomic(complete));
        for inst in &mut self.code.insts[first..] {
            match &mut inst.action {
                Action::Store(access) => access.asynchronous = Asynchronous::Issued,
                Action::Atomic(atomic) => atomic.access.asynchronous = Asynchronous::Issued,
                _ => {}
            }
        }
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`: without `.noinc` the pending count grows by the arrival first.
    fn arrive_on_copies(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let &[barrier] = operands else { return Err(format!("`{op}` with these operands")) };
        self.emit(guard, Action::Groups(Groups::Copies, GroupStep::WaitAll));
        let one = self.bits(1, 1);
        if !op.has(Modifier::Noinc) {
            self.change(guard, op.space(), barrier, MbarrierOp::Expect, one, None, MemOrder::Relaxed)?;
        }
        let arrive = MbarrierOp::ArriveOnCopies;
        self.change(guard, op.space(), barrier, arrive, one, None, MemOrder::Release)
    }

    fn mbarrier(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let wrong = || format!("`{op}` with these operands");
        let order = op.order();
        if op.has(Modifier::PendingCount) {
            let &[dst, state] = operands else { return Err(wrong()) };
            let state = self.source(guard, state, ScalarType::U64)?;
            let (slot, rest) = self.destination(dst, ScalarType::U32)?;
            self.unary(guard, map1!(|a: u64| -> u32 { object::pending(a) }), slot, state, 0);
            self.widen(guard, rest);
        } else if op.has(Modifier::Init) {
            let &[barrier, count] = operands else { return Err(wrong()) };
            let count = self.source(guard, count, ScalarType::U32)?;
            let kind = if op.has(Modifier::LayoutV1) { MbarrierOp::InitV1 } else { MbarrierOp::Init };
            self.change(guard, op.space(), barrier, kind, count, None, MemOrder::Relaxed)?;
        } else if op.has(Modifier::Inval) {
            let &[barrier] = operands else { return Err(wrong()) };
            let none = self.bits(0, 1);
            self.change(guard, op.space(), barrier, MbarrierOp::Invalidate, none, None, MemOrder::Relaxed)?;
        } else if op.has(Modifier::CheckLayout) {
            self.check_layout(guard, op, operands)?;
        } else if op.has(Modifier::TestWait) || op.has(Modifier::TryWait) {
            self.wait(guard, op, operands)?;
        } else if op.has(Modifier::Arrive) || op.has(Modifier::ArriveDrop) {
            let &[dst, barrier, ref rest @ ..] = operands else { return Err(wrong()) };
            let operand = match rest {
                [] => self.bits(1, 1),
                [operand, ..] => self.source(guard, *operand, ScalarType::U32)?,
            };
            let drop = op.has(Modifier::ArriveDrop);
            let kind = match (op.has(Modifier::ExpectTx), drop) {
                (true, false) => MbarrierOp::ArriveExpectTx,
                (true, true) => MbarrierOp::DropExpectTx,
                (false, false) => MbarrierOp::Arrive,
                (false, true) => MbarrierOp::Drop,
            };
            let order = order.unwrap_or(MemOrder::Release);
            self.change(guard, op.space(), barrier, kind, operand, Some(dst), order)?;
        } else if op.has(Modifier::ExpectTx) || op.has(Modifier::CompleteTx) {
            let &[barrier, count] = operands else { return Err(wrong()) };
            let kind = if op.has(Modifier::ExpectTx) { MbarrierOp::ExpectTx } else { MbarrierOp::CompleteTx };
            let count = self.source(guard, count, ScalarType::U32)?;
            self.change(guard, op.space(), barrier, kind, count, None, MemOrder::Relaxed)?;
        } else {
            return Err(format!("`{op}`"));
        }
        Ok(())
    }

    /// An atomic change of the object; `dst` gets the state before it.
    pub(super) fn change(
        &mut self,
        guard: Pred,
        space: StateSpace,
        barrier: Operand,
        kind: MbarrierOp,
        operand: Slot,
        dst: Option<Operand>,
        order: MemOrder,
    ) -> Result<(), Refusal> {
        let (atomic, rest) = self.mbarrier_operation(space, barrier, kind, operand, dst, order)?;
        self.emit(guard, Action::Atomic(atomic));
        if let Some(rest) = rest {
            self.widen(guard, rest);
        }
        Ok(())
    }

    /// The same, not yet part of the code.
    pub(super) fn mbarrier_operation(
        &mut self,
        space: StateSpace,
        barrier: Operand,
        kind: MbarrierOp,
        operand: Slot,
        dst: Option<Operand>,
        order: MemOrder,
    ) -> Result<(Atomic, Option<Widen>), Refusal> {
        let place = self.place_in(space, barrier)?;
        let (element, rest) = match dst {
            None | Some(Operand::Sink) => (RegisterSlot { slot: Slot::frame(0), rows: 0 }, None),
            Some(dst) => {
                let (slot, rest) = self.destination(dst, ScalarType::U64)?;
                (RegisterSlot { slot, rows: 2 }, Some(rest))
            }
        };
        let elements = SlotList { start: self.code.slots.len() as u32, len: 1 };
        self.code.slots.extend([element, RegisterSlot { slot: operand, rows: 1 }]);
        let access = Access { scope: OBJECT_SCOPE, ..place.access(8, order, elements, element) };
        let (op, ty) = (AtomicOp::Mbarrier(kind), ScalarType::B64);
        Ok((Atomic { access, op, ty, returns: element.rows != 0, keeps_subnormals: false }, rest))
    }

    /// `mbarrier.check_layout`
    fn check_layout(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let &[dst, barrier] = operands else { return Err(format!("`{op}` with these operands")) };
        let now = self.temporary(2);
        let load = self.whole(op.space(), barrier, 8, now)?;
        self.emit(guard, Action::Load(load));
        let fns = map_rows!(|r, o, mask| {
            let now = r.read::<u64>(o.src[0]);
            let v1 = (0..32).fold(0, |m, at| m | u32::from(object::is_v1(now[at])) << at);
            r.set_predicate(o.pred[0], mask, v1 ^ o.imm as u32);
        });
        let imm = if op.has(Modifier::LayoutV1) { 0 } else { u64::from(u32::MAX) };
        let pred = [self.predicate_destination(dst)?, Pred::TRUE, Pred::TRUE];
        self.lanes(guard, fns, Operands { src: [now; 4], pred, imm, ..Operands::default() });
        Ok(())
    }

    /// `test_wait`, `try_wait`: whether the phase is complete. A try may return early, so it does.
    fn wait(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let wrong = || format!("`{op}` with these operands");
        let flat = self.flat(operands);
        let (&dst, mut rest) = flat.split_first().ok_or_else(wrong)?;
        // No object of sm_90 has a report, so none is seen and its value is 0.
        let mut seen = Pred::TRUE;
        if matches!(operands.first(), Some(Operand::Pair(_))) {
            let (&operand, others) = rest.split_first().ok_or_else(wrong)?;
            rest = others;
            seen = self.predicate_destination(operand)?;
        }
        if let &[value, ref others @ ..] = rest
            && matches!(others.first(), Some(Operand::Address(_)))
        {
            rest = others;
            let (slot, widened) = self.destination(value, ScalarType::B8)?;
            let none = self.bits(0, 1);
            self.unary(guard, semantics::copy(1), slot, none, 0);
            self.widen(guard, widened);
        }
        let &[barrier, phase, ..] = rest else { return Err(wrong()) };
        let now = self.temporary(2);
        let mut load = self.whole(op.space(), barrier, 8, now)?;
        load.strong = true;
        load.order = op.order().unwrap_or(MemOrder::Acquire);
        load.scope = OBJECT_SCOPE;
        self.emit(guard, Action::Load(load));
        let done = [self.predicate_destination(dst)?, seen, Pred::TRUE];
        let (phase, fns): (Slot, LaneFns) = if op.has(Modifier::Parity) {
            let fns = map_rows!(|r, o, mask| {
                let (now, parity) = (r.read::<u64>(o.src[0]), r.read::<u32>(o.src[1]));
                let done = (0..32)
                    .fold(0, |m, at| m | u32::from(object::parity_complete(now[at], parity[at])) << at);
                r.set_predicate(o.pred[1], mask, 0);
                r.set_predicate(o.pred[0], mask, done);
            });
            (self.source(guard, phase, ScalarType::U32)?, fns)
        } else {
            let fns = map_rows!(|r, o, mask| {
                let (now, state) = (r.read::<u64>(o.src[0]), r.read::<u64>(o.src[1]));
                let done =
                    (0..32).fold(0, |m, at| m | u32::from(object::phase_complete(now[at], state[at])) << at);
                r.set_predicate(o.pred[1], mask, 0);
                r.set_predicate(o.pred[0], mask, done);
            });
            (self.source(guard, phase, ScalarType::U64)?, fns)
        };
        self.lanes(
            guard,
            fns,
            Operands { src: [now, phase, phase, phase], pred: done, ..Operands::default() },
        );
        Ok(())
    }

    /// `bytes`, or 0 where the predicate says that the source is to be ignored.
    fn size_unless(&mut self, guard: Pred, ignored: Operand, bytes: u32) -> Result<Slot, Refusal> {
        let size = self.temporary(1);
        let fns = map_rows!(|r, o, mask| {
            let ignored = r.predicate(o.pred[0]);
            let sizes: [u32; 32] =
                std::array::from_fn(|at| if ignored >> at & 1 == 0 { o.imm as u32 } else { 0 });
            r.write(o.dst, mask, &sizes);
        });
        let pred = [self.predicate_source(ignored)?, Pred::TRUE, Pred::TRUE];
        self.lanes(guard, fns, Operands { dst: size, imm: bytes.into(), pred, ..Operands::default() });
        Ok(size)
    }

    fn is_predicate(&self, operand: Operand) -> bool {
        match operand {
            Operand::Negated(_) => true,
            Operand::Register(id) => {
                self.function.registers.get(id.index()).is_some_and(|r| r.ty == ScalarType::Pred)
            }
            _ => false,
        }
    }
}
