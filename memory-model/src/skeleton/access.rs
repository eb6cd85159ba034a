//! Memory instructions: their events, cell by cell.

use super::unroll::{State, Tracked, Unroller, merge};
use super::{Compare, Guard, Leaf, TooLarge, Value};
use crate::event::{Cell, Event, Kind};
use crate::program::{
    Access, Base, BinOp, Cmp, LocId, Location, MemOrder, Op, Operand, RegId, RmwOp, address_value,
};

impl Unroller<'_> {
    /// A load, store or atomic; forks by location if a register holds the address.
    pub(super) fn memory_instruction(
        &mut self,
        state: State,
        pc: usize,
        pending: &mut Vec<State>,
    ) -> Result<(), TooLarge> {
        let program = self.program;
        let op = &program.threads[self.thread].code[pc].op;
        let (Op::Load { access, .. }
        | Op::Store { access, .. }
        | Op::Rmw { access, .. }
        | Op::MbarrierTest { access, .. }) = op
        else {
            return Ok(());
        };
        let register = match access.base {
            Base::Loc(loc) => return self.access(state, pc, loc, &[], pending),
            Base::Reg(register) => register,
        };
        let address = self.read_operand(&state, Operand::Reg(register));
        if let Value::Const(value) = self.skeleton.values[address.value] {
            return match self.addresses.iter().copied().find(|&l| address_value(l) == value) {
                Some(loc) => self.access(state, pc, loc, &address.deps, pending),
                None => {
                    self.end(&state, Leaf::Fault);
                    Ok(())
                }
            };
        }
        let mut other = Vec::new();
        for loc in self.addresses.clone() {
            let b = self.skeleton.constant(address_value(loc));
            let compare = |holds| Compare { cmp: Cmp::Eq, a: address.value, b, holds };
            other.push(compare(false));
            let path = self.under(&state, vec![compare(true)])?;
            self.access(path, pc, loc, &address.deps, pending)?;
        }
        self.end_under(&state, Guard::Compare(other), Leaf::Fault)
    }

    /// Reads the scalar at `offset`: one read event for each cell, combined.
    fn read_scalar(
        &mut self,
        state: &mut State,
        event: &Event,
        loc: LocId,
        (offset, bytes): (u32, Option<u8>),
        addr: &[usize],
    ) -> Result<(Tracked, Vec<usize>), TooLarge> {
        let mut events = Vec::new();
        let mut combined: Option<Tracked> = None;
        for (cell, shift) in self.split(loc, offset, bytes) {
            let index = self.push(state, Event { cell: Some(cell), ..event.clone() }, None)?;
            self.skeleton.events[index].addr = addr.to_vec();
            events.push(index);
            let part = Tracked { value: self.skeleton.events[index].value, deps: vec![index] };
            combined = Some(match combined {
                None => part,
                Some(low) => {
                    let by = self.skeleton.constant(i64::from(shift) * 8);
                    let high = self.skeleton.value(Value::Bin(BinOp::Shl, part.value, by));
                    let value = self.skeleton.value(Value::Bin(BinOp::Or, low.value, high));
                    Tracked { value, deps: merge(&low.deps, &part.deps) }
                }
            });
        }
        let zero = self.skeleton.constant(0);
        Ok((combined.unwrap_or(Tracked { value: zero, deps: Vec::new() }), events))
    }

    /// Writes the scalar at `offset`: one write event for each cell.
    fn write_scalar(
        &mut self,
        state: &mut State,
        event: &Event,
        loc: LocId,
        (offset, bytes): (u32, Option<u8>),
        value: &Tracked,
        addr: &[usize],
    ) -> Result<Vec<usize>, TooLarge> {
        let mut events = Vec::new();
        for (cell, shift) in self.split(loc, offset, bytes) {
            let cell_bytes = self.cell_bytes(&cell);
            let part = if cell_bytes >= 8 {
                value.value
            } else {
                let select = self.skeleton.constant(i64::from(shift | (cell_bytes << 4)));
                self.skeleton.value(Value::Bin(BinOp::Extract, value.value, select))
            };
            let part = Tracked { value: part, deps: value.deps.clone() };
            let index = self.push(state, Event { cell: Some(cell), ..event.clone() }, Some(part))?;
            self.skeleton.events[index].addr = addr.to_vec();
            events.push(index);
        }
        Ok(events)
    }

    fn cell_bytes(&self, cell: &Cell) -> u32 {
        let found =
            self.skeleton.cells.iter().find(|c| c.physical == cell.physical && c.offset == cell.offset);
        found.map_or(8, |c| c.bytes)
    }

    /// The cells of a scalar access with their distance from its first byte.
    fn split(&mut self, loc: LocId, offset: u32, bytes: Option<u8>) -> Vec<(Cell, u32)> {
        let location = &self.program.locations[usize::from(loc.0)];
        let access = self.skeleton.scalar_range(location.physical, offset, bytes);
        let cells = self.skeleton.cells_in(location.physical, access.0, access.1);
        if cells.len() > 1 {
            self.skeleton.mixed_size = true;
        }
        cells
            .into_iter()
            .map(|c| {
                let offset = self.skeleton.cells[c].offset;
                let Location { physical, address, local, .. } = *location;
                let cell = Cell { physical, address, offset, local, access };
                (cell, offset - access.0)
            })
            .collect()
    }

    fn access(
        &mut self,
        mut state: State,
        pc: usize,
        loc: LocId,
        addr: &[usize],
        pending: &mut Vec<State>,
    ) -> Result<(), TooLarge> {
        let program = self.program;
        match &program.threads[self.thread].code[pc].op {
            Op::Load { dst, access } => {
                let event = self.half(&state, pc, access, Kind::Read, false);
                for (i, &dst) in dst.iter().enumerate() {
                    let range = element(access, i);
                    let (value, _) = self.read_scalar(&mut state, &event, loc, range, addr)?;
                    self.set(&mut state, dst, value);
                }
            }
            Op::Store { access, src } => {
                let event = self.half(&state, pc, access, Kind::Write, false);
                for (i, &src) in src.iter().enumerate() {
                    let value = self.read_operand(&state, src);
                    self.write_scalar(&mut state, &event, loc, element(access, i), &value, addr)?;
                }
                state.effects += 1;
            }
            Op::MbarrierTest { dst, access, parity } => {
                let event = self.half(&state, pc, access, Kind::Read, false);
                let (value, _) = self.read_scalar(&mut state, &event, loc, element(access, 0), addr)?;
                let parity = self.read_operand(&state, *parity);
                let done = self.skeleton.value(Value::Bin(BinOp::MbarrierTest, value.value, parity.value));
                let deps = merge(&value.deps, &parity.deps);
                self.set(&mut state, *dst, Tracked { value: done, deps });
            }
            Op::Rmw { dst, access, ops } => match ops[..] {
                [op] => {
                    let dst = dst.first().copied();
                    return self.rmw(state, pc, loc, addr, dst, access, op, pending);
                }
                _ => self.vector_rmw(&mut state, pc, loc, addr, dst, access, ops)?,
            },
            _ => {}
        }
        pending.push(state);
        Ok(())
    }

    /// A vector atomic: each scalar reads and writes on its own.
    fn vector_rmw(
        &mut self,
        state: &mut State,
        pc: usize,
        loc: LocId,
        addr: &[usize],
        dst: &[RegId],
        access: &Access,
        ops: &[RmwOp],
    ) -> Result<(), TooLarge> {
        let read = self.half(state, pc, access, Kind::Read, dst.is_empty());
        let mut write = self.half(state, pc, access, Kind::Write, dst.is_empty());
        write.position += 1;
        // The operands are those before the instruction, whatever it writes.
        let operands: Vec<(BinOp, Tracked)> = ops
            .iter()
            .filter_map(|op| match *op {
                RmwOp::Apply(op, operand) => Some((op, self.read_operand(state, operand))),
                RmwOp::Cas(..) => None,
            })
            .collect();
        for (i, (op, operand)) in operands.into_iter().enumerate() {
            let range = element(access, i);
            let (old, reads) = self.read_scalar(state, &read, loc, range, addr)?;
            let value = self.skeleton.value(Value::Bin(op, old.value, operand.value));
            let value = Tracked { value, deps: merge(&old.deps, &operand.deps) };
            let writes = self.write_scalar(state, &write, loc, range, &value, addr)?;
            for (&r, &w) in reads.iter().zip(&writes) {
                self.skeleton.events[w].rmw_read = Some(r);
            }
            if let Some(&dst) = dst.get(i) {
                self.set(state, dst, old);
            }
        }
        state.effects += 1;
        Ok(())
    }

    fn rmw(
        &mut self,
        mut state: State,
        pc: usize,
        loc: LocId,
        addr: &[usize],
        dst: Option<RegId>,
        access: &Access,
        op: RmwOp,
        pending: &mut Vec<State>,
    ) -> Result<(), TooLarge> {
        let range = element(access, 0);
        let read = self.half(&state, pc, access, Kind::Read, dst.is_none());
        let mut write = self.half(&state, pc, access, Kind::Write, dst.is_none());
        write.position += 1;
        let operands = match op {
            RmwOp::Apply(_, a) => (self.read_operand(&state, a), None),
            RmwOp::Cas(a, b) => (self.read_operand(&state, a), Some(self.read_operand(&state, b))),
        };
        let (old, reads) = self.read_scalar(&mut state, &read, loc, range, addr)?;
        if let Some(dst) = dst {
            self.set(&mut state, dst, old.clone());
        }
        let others_strong = self.others_are_morally_strong(loc, access);
        let finish = |this: &mut Self, state: &mut State, value: Tracked, same: bool| {
            let writes = this.write_scalar(state, &write, loc, range, &value, addr)?;
            for (&r, &w) in reads.iter().zip(&writes) {
                this.skeleton.events[w].rmw_read = Some(r);
            }
            if same && others_strong {
                state.silent.extend(writes);
            } else {
                state.effects += 1;
            }
            Ok(())
        };
        match (op, operands) {
            (RmwOp::Cas(..), (expected, Some(new))) => {
                let deps = merge(&merge(&old.deps, &expected.deps), &new.deps);
                let outcome = self.decided(&state, Cmp::Eq, &old, &expected);
                for success in [true, false] {
                    if outcome.is_some_and(|o| o != success) {
                        continue;
                    }
                    let compare = Compare { cmp: Cmp::Eq, a: old.value, b: expected.value, holds: success };
                    let mut path = self.under(&state, vec![compare])?;
                    if success {
                        finish(self, &mut path, Tracked { value: new.value, deps: deps.clone() }, false)?;
                    } else if self.unrolling.failed_cas_writes {
                        finish(self, &mut path, Tracked { value: old.value, deps: deps.clone() }, true)?;
                    }
                    pending.push(path);
                }
            }
            (RmwOp::Apply(op, _), (operand, _)) => {
                let value = self.skeleton.value(Value::Bin(op, old.value, operand.value));
                let neutral = matches!(
                    (op, self.skeleton.values[operand.value]),
                    (BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor, Value::Const(0))
                        | (BinOp::And, Value::Const(-1))
                );
                let deps = if op == BinOp::Second { operand.deps } else { merge(&old.deps, &operand.deps) };
                let may_keep = !neutral
                    && matches!(op, BinOp::Second | BinOp::And | BinOp::Or | BinOp::Min | BinOp::Max);
                if !(may_keep && others_strong && self.in_loop[pc]) {
                    finish(self, &mut state, Tracked { value, deps }, neutral)?;
                    pending.push(state);
                    return Ok(());
                }
                for same in [true, false] {
                    let compare = Compare { cmp: Cmp::Eq, a: value, b: old.value, holds: same };
                    let mut path = self.under(&state, vec![compare])?;
                    finish(self, &mut path, Tracked { value, deps: deps.clone() }, same)?;
                    pending.push(path);
                }
            }
            (RmwOp::Cas(..), (_, None)) => {}
        }
        Ok(())
    }

    /// One half of a memory instruction, without its cell.
    fn half(&self, state: &State, pc: usize, access: &Access, kind: Kind, reduction: bool) -> Event {
        let order = match (access.order, kind) {
            (MemOrder::AcqRel | MemOrder::Acquire, Kind::Read) => MemOrder::Acquire,
            (MemOrder::AcqRel | MemOrder::Release, Kind::Write) => MemOrder::Release,
            // Of source languages, whose halves both are.
            (MemOrder::Sc, _) => MemOrder::Sc,
            (MemOrder::Weak, _) => MemOrder::Weak,
            _ => MemOrder::Relaxed,
        };
        Event { proxy: access.proxy, order, scope: access.scope, reduction, ..self.blank(kind, state, pc) }
    }

    /// Whether every access to the location by another thread is morally strong relative to this one.
    fn others_are_morally_strong(&self, loc: LocId, access: &Access) -> bool {
        let physical = |l: LocId| self.program.locations[usize::from(l.0)].physical;
        let Some(scope) = access.scope else { return false };
        self.program.threads.iter().enumerate().all(|(t, thread)| {
            let common = self.skeleton.common_scope[self.thread][t];
            t == self.thread
                || thread.code.iter().all(|instr| match &instr.op {
                    Op::Load { access: other, .. }
                    | Op::Store { access: other, .. }
                    | Op::Rmw { access: other, .. }
                    | Op::MbarrierTest { access: other, .. } => match other.base {
                        Base::Loc(l) if physical(l) != physical(loc) => true,
                        Base::Loc(l) => {
                            let addresses = &self.program.locations;
                            addresses[usize::from(l.0)].address == addresses[usize::from(loc.0)].address
                                && other.proxy == access.proxy
                                && other.bytes == access.bytes
                                && other.offset == access.offset
                                && common <= scope
                                && other.scope.is_some_and(|s| common <= s)
                        }
                        Base::Reg(_) => false,
                    },
                    _ => true,
                })
        })
    }
}

fn element(access: &Access, index: usize) -> (u32, Option<u8>) {
    (access.offset + access.bytes.map_or(0, u32::from) * index as u32, access.bytes)
}
