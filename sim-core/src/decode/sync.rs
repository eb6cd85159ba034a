//! Barriers, fences, warp-level operations, hints, and the rest that is not lane by lane.

use ptx_frontend::{MemOrder, Modifier, Modifiers, Op, Opcode, Operand, ScalarType, Scope, StateSpace};

use super::memory::atomic_operation;
use super::{Decoder, Refusal, rows_of};
use crate::code::*;
use semantics::lanes::{Operands, Pred, Slot, map_rows};
use semantics::window;

impl Decoder<'_> {
    /// Synchronisation instructions; false if it is none.
    pub(super) fn synchronisation(
        &mut self,
        guard: Pred,
        op: &Op,
        operands: &[Operand],
    ) -> Result<bool, Refusal> {
        let action = match op.opcode {
            Opcode::Bar if op.has(Modifier::Warp) => {
                let members = self.members(guard, operands.first())?;
                Action::Warp(WarpOp { members: Some(members), ..warp(WarpOpKind::Sync) })
            }
            Opcode::Bar | Opcode::Barrier if !op.has(Modifier::Cluster) => {
                self.barrier(guard, op, operands)?
            }
            Opcode::Barrier if op.has(Modifier::Wait) => Action::ClusterBarrier(ClusterStep::Wait),
            Opcode::Barrier => {
                // Without an order it releases (ISA 9.7.13.4).
                let order = if op.has(Modifier::Relaxed) { MemOrder::Relaxed } else { MemOrder::Release };
                Action::ClusterBarrier(ClusterStep::Arrive(order))
            }
            Opcode::Fence if op.has(Modifier::TensormapGeneric) => self.tensor_map_fence(op, operands)?,
            Opcode::Membar | Opcode::Fence => fence(op)?,
            Opcode::Shfl => {
                let mode = [
                    (Modifier::Up, ShuffleMode::Up),
                    (Modifier::Down, ShuffleMode::Down),
                    (Modifier::Bfly, ShuffleMode::Bfly),
                    (Modifier::Idx, ShuffleMode::Idx),
                ];
                let mode = choose(op, &mode)?;
                let flat = self.flat(operands);
                let pair = matches!(operands.first(), Some(Operand::Pair(_)));
                let first = 1 + usize::from(pair);
                let mut src = [Slot::frame(0); 3];
                for (at, slot) in src.iter_mut().enumerate() {
                    *slot = self.required(guard, &flat, first + at)?;
                }
                let pred_dst = if pair { self.predicate_destination(flat[1])? } else { Pred::TRUE };
                let members = if op.has(Modifier::Sync) {
                    Some(self.members(guard, flat.get(first + 3))?)
                } else {
                    None
                };
                let dst = Some(self.result(flat[0])?);
                Action::Warp(WarpOp { dst, pred_dst, src, members, ..warp(WarpOpKind::Shuffle(mode)) })
            }
            Opcode::Vote => {
                let kinds = [
                    (Modifier::All, WarpOpKind::VoteAll),
                    (Modifier::Any, WarpOpKind::VoteAny),
                    (Modifier::Uni, WarpOpKind::VoteUni),
                    (Modifier::Ballot, WarpOpKind::VoteBallot),
                ];
                let kind = choose(op, &kinds)?;
                let &[dst, source, ..] = operands else { return Err(format!("`{op}` with these operands")) };
                let pred = self.predicate_source(source)?;
                let members =
                    if op.has(Modifier::Sync) { Some(self.members(guard, operands.get(2))?) } else { None };
                let mut action = WarpOp { pred, members, ..warp(kind) };
                if kind == WarpOpKind::VoteBallot {
                    action.dst = Some(self.result(dst)?);
                } else {
                    action.pred_dst = self.predicate_destination(dst)?;
                }
                Action::Warp(action)
            }
            Opcode::Match => {
                let ty = op.ty(0).ok_or("`match` without a type")?;
                let rows = rows_of(ty);
                let flat = self.flat(operands);
                let pair = matches!(operands.first(), Some(Operand::Pair(_)));
                let first = 1 + usize::from(pair);
                let (Some(&dst), Some(&source)) = (flat.first(), flat.get(first)) else {
                    return Err(format!("`{op}` with these operands"));
                };
                let value = self.source(guard, source, ty)?;
                let members = Some(self.members(guard, flat.get(first + 1))?);
                let pred_dst = if pair { self.predicate_destination(flat[1])? } else { Pred::TRUE };
                let kind = if op.has(Modifier::Any) {
                    WarpOpKind::MatchAny(rows)
                } else {
                    WarpOpKind::MatchAll(rows)
                };
                Action::Warp(WarpOp {
                    dst: Some(self.result(dst)?),
                    pred_dst,
                    src: [value; 3],
                    members,
                    ..warp(kind)
                })
            }
            Opcode::Redux => {
                let ty = op.ty(0).ok_or("`redux` without a type")?;
                if ty.is_float() {
                    return Err(format!("`{op}`"));
                }
                let kind = atomic_operation(op)?;
                let &[dst, source, members] = operands else {
                    return Err(format!("`{op}` with these operands"));
                };
                let value = self.source(guard, source, ty)?;
                let members = Some(self.members(guard, Some(&members))?);
                Action::Warp(WarpOp {
                    dst: Some(self.result(dst)?),
                    src: [value; 3],
                    members,
                    ..warp(WarpOpKind::Redux(kind, ty.is_signed()))
                })
            }
            Opcode::Elect => {
                let flat = self.flat(operands);
                let &[dst, pred, members] = &flat[..] else {
                    return Err(format!("`{op}` with these operands"));
                };
                Action::Warp(WarpOp {
                    dst: Some(self.result(dst)?),
                    pred_dst: self.predicate_destination(pred)?,
                    members: Some(self.members(guard, Some(&members))?),
                    ..warp(WarpOpKind::Elect)
                })
            }
            Opcode::Activemask => {
                let &[dst] = operands else { return Err(format!("`{op}` with these operands")) };
                Action::ActiveMask(self.result(dst)?)
            }
            Opcode::Nanosleep => Action::Sleep,
            _ => return Ok(false),
        };
        self.emit(guard, action);
        Ok(true)
    }

    fn required(&mut self, guard: Pred, operands: &[Operand], at: usize) -> Result<Slot, Refusal> {
        let operand = *operands.get(at).ok_or("a warp-level operation with too few operands")?;
        self.source(guard, operand, ScalarType::B32)
    }

    /// A member mask. A special register that differs from lane to lane is copied: of a constant, all have the same.
    fn members(&mut self, guard: Pred, operand: Option<&Operand>) -> Result<Slot, Refusal> {
        let operand = *operand.ok_or("a warp-level operation with too few operands")?;
        let mask = self.source(guard, operand, ScalarType::B32)?;
        let mut constants = self.pools.constants.iter();
        if !constants.any(|(constant, &slot)| slot == mask && matches!(constant, Constant::Special(..))) {
            return Ok(mask);
        }
        let copy = self.temporary(1);
        self.copy_register(guard, 1, copy, mask);
        Ok(copy)
    }

    /// A 32-bit destination.
    fn result(&mut self, operand: Operand) -> Result<Slot, Refusal> {
        match self.destination(operand, ScalarType::B32)? {
            (slot, super::operands::Widen::Done) => Ok(slot),
            _ => Err("a 64-bit destination of a 32-bit operation".into()),
        }
    }

    fn barrier(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<Action, Refusal> {
        let none = Slot::frame(0);
        let mut barrier = Barrier {
            kind: BarrierKind::Sync,
            id: none,
            count: None,
            predicate: Pred::TRUE,
            pred_dst: Pred::TRUE,
            dst: none,
            aligned: op.opcode == Opcode::Bar || op.has(Modifier::Aligned),
            whole: None,
        };
        let mut rest = operands;
        if op.has(Modifier::Arrive) {
            barrier.kind = BarrierKind::Arrive;
        } else if op.has(Modifier::Red) {
            let [dst, middle @ .., source] = operands else {
                return Err(format!("`{op}` with these operands"));
            };
            barrier.predicate = self.predicate_source(*source)?;
            if op.has(Modifier::Popc) {
                barrier.kind = BarrierKind::RedPopc;
                barrier.dst = self.result(*dst)?;
            } else {
                barrier.kind = if op.has(Modifier::And) { BarrierKind::RedAnd } else { BarrierKind::RedOr };
                barrier.pred_dst = self.predicate_destination(*dst)?;
            }
            rest = middle;
        }
        barrier.id = self.required(guard, rest, 0)?;
        if let (BarrierKind::Sync, &[Operand::Integer(id)]) = (barrier.kind, rest) {
            barrier.whole = u8::try_from(id).ok().filter(|&id| id < 16);
        }
        if let Some(&count) = rest.get(1) {
            barrier.count = Some(self.source(guard, count, ScalarType::B32)?);
        }
        Ok(Action::Barrier(barrier))
    }

    /// Hints and stack instructions; false if it is none of them.
    pub(super) fn miscellaneous(
        &mut self,
        guard: Pred,
        op: &Op,
        operands: &[Operand],
    ) -> Result<bool, Refusal> {
        match op.opcode {
            Opcode::Prefetch
            | Opcode::Prefetchu
            | Opcode::Applypriority
            | Opcode::Discard
            // Grids run one after the other: what they wait for is done.
            | Opcode::Griddepcontrol
            | Opcode::Pmevent => {
                self.emit(guard, Action::Nothing);
            }
            Opcode::Createpolicy => {
                // A policy is an opaque hint; no instruction reads its bits.
                let &[dst, ..] = operands else { return Err(format!("`{op}` with these operands")) };
                let (slot, rest) = self.destination(dst, ScalarType::B64)?;
                let zero = self.bits(0, 2);
                self.unary(guard, semantics::copy(2), slot, zero, 0);
                self.widen(guard, rest);
            }
            Opcode::Isspacep => {
                let &[dst, address] = operands else { return Err(format!("`{op}` with these operands")) };
                let a = self.source(guard, address, ScalarType::U64)?;
                let pred = [self.predicate_destination(dst)?, Pred::TRUE, Pred::TRUE];
                let (start, size) = match op.space() {
                    StateSpace::Shared => (window::SHARED, 1 << window::SHARED_RANK_SHIFT),
                    StateSpace::SharedCluster => (window::SHARED, window::SHARED_SIZE),
                    StateSpace::Local => (window::LOCAL, window::LOCAL_SIZE),
                    StateSpace::Param => (window::PARAM, window::PARAM_SIZE),
                    StateSpace::Const => (window::CONST.start, window::CONST.end - window::CONST.start),
                    // Every address outside the other windows; the range wraps around.
                    StateSpace::Global => (window::PARAM, window::SHARED.wrapping_sub(window::PARAM)),
                    _ => return Err(format!("`{op}`")),
                };
                let size = self.bits(size.into(), 2);
                let start = match op.space() {
                    // The part of the block itself.
                    StateSpace::Shared => self.shared_address(guard, start, 2),
                    _ => self.bits(start.into(), 2),
                };
                let fns = map_rows!(|r, o, mask| {
                    let (a, start, size) =
                        (r.read::<u64>(o.src[0]), r.read::<u64>(o.src[1]), r.lane::<u64>(o.src[2], 0));
                    let inside =
                        (0..32).fold(0, |m, at| m | ((a[at].wrapping_sub(start[at]) < size) as u32) << at);
                    r.set_predicate(o.pred[0], mask, inside);
                });
                self.lanes(guard, fns, Operands { src: [a, start, size, size], pred, ..Operands::default() });
            }
            Opcode::Alloca => {
                let &[dst, size, ref rest @ ..] = operands else {
                    return Err(format!("`{op}` with these operands"));
                };
                let align = match rest.first() {
                    Some(&Operand::Integer(align)) => align as u32,
                    _ => 8,
                };
                let ty = op.ty(0).unwrap_or(ScalarType::U64);
                let rows = rows_of(ty);
                let size = RegisterSlot { slot: self.source(guard, size, ty)?, rows };
                let (slot, rest) = self.destination(dst, ty)?;
                self.emit(guard, Action::Alloca(RegisterSlot { slot, rows }, size, align));
                self.widen(guard, rest);
            }
            Opcode::Stacksave => {
                let &[dst] = operands else { return Err(format!("`{op}` with these operands")) };
                let ty = op.ty(0).unwrap_or(ScalarType::U64);
                let (slot, rest) = self.destination(dst, ty)?;
                self.emit(guard, Action::StackSave(RegisterSlot { slot, rows: rows_of(ty) }));
                self.widen(guard, rest);
            }
            Opcode::Stackrestore => {
                let &[source] = operands else { return Err(format!("`{op}` with these operands")) };
                let ty = op.ty(0).unwrap_or(ScalarType::U64);
                let slot = self.source(guard, source, ty)?;
                self.emit(guard, Action::StackRestore(RegisterSlot { slot, rows: rows_of(ty) }));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn warp(kind: WarpOpKind) -> WarpOp {
    WarpOp {
        kind,
        dst: None,
        pred_dst: Pred::TRUE,
        src: [Slot::frame(0); 3],
        pred: Pred::TRUE,
        members: None,
    }
}

fn choose<T: Copy>(op: &Op, kinds: &[(Modifier, T)]) -> Result<T, Refusal> {
    kinds
        .iter()
        .find(|&&(modifier, _)| op.has(modifier))
        .map(|&(_, kind)| kind)
        .ok_or_else(|| format!("`{op}`"))
}

fn fence(op: &Op) -> Result<Action, Refusal> {
    // Proxy fences order accesses through different proxies; all of the simulator's go through one. They order
    // nothing between threads; tools hear of those that asynchronous operations need.
    let reads = op.has(Modifier::SyncRestrictSharedClusterRead) || op.has(Modifier::SyncRestrictRead);
    if op.has(Modifier::Proxy) && !reads && (op.has(Modifier::Async) || op.has(Modifier::AsyncGeneric)) {
        return Ok(Action::ProxyFence);
    }
    // Reads of earlier are done when later operations are issued.
    if reads || op.has(Modifier::Proxy) || op.has(Modifier::MbarrierInit) {
        return Ok(Action::Fence(MemOrder::Weak, Scope::Sys));
    }
    let scope = match op.scope() {
        _ if op.opcode == Opcode::Membar && op.has(Modifier::Cta) => Scope::Cta,
        Some(scope) => scope,
        None => return Err(format!("`{op}`")),
    };
    let order = match op.opcode {
        Opcode::Membar => MemOrder::Sc,
        _ => op.order().unwrap_or(MemOrder::AcqRel),
    };
    Ok(Action::Fence(order, scope))
}
