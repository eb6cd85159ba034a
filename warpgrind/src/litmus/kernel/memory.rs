//! Accesses to memory, atomics and mbarriers.

use memory_model::program::{self as test, Access, BinOp, Cmp, Mbarrier, Proxy, RmwOp};
use ptx_frontend::{
    Instruction, MemOrder, Modifier, Modifiers, Op, Opcode, Operand, ScalarType, Scope, StateSpace,
};

use super::Translated;
use super::column::{Base, Column, Register, Value};
use super::known::{Known, State};

/// What an atomic writes: the old value and the operand put together, or the second operand if the first was there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atomic {
    Apply(BinOp),
    Cas,
}

/// Atomic operations that tests have.
const ATOMICS: [(Modifier, Atomic); 10] = [
    (Modifier::Add, Atomic::Apply(BinOp::Add)),
    (Modifier::And, Atomic::Apply(BinOp::And)),
    (Modifier::Or, Atomic::Apply(BinOp::Or)),
    (Modifier::Xor, Atomic::Apply(BinOp::Xor)),
    (Modifier::Min, Atomic::Apply(BinOp::Min)),
    (Modifier::Max, Atomic::Apply(BinOp::Max)),
    (Modifier::Inc, Atomic::Apply(BinOp::Inc)),
    (Modifier::Dec, Atomic::Apply(BinOp::Dec)),
    (Modifier::Exch, Atomic::Apply(BinOp::Second)),
    (Modifier::Cas, Atomic::Cas),
];

/// Order and scope, without a scope for weak accesses; a volatile access is a relaxed one of the system (ISA 8.4.2).
fn strength(op: &Op) -> (MemOrder, Option<Scope>) {
    match op.order() {
        _ if op.has(Modifier::Volatile) => (MemOrder::Relaxed, Some(Scope::Sys)),
        None | Some(MemOrder::Weak) => (MemOrder::Weak, None),
        Some(order) => (order, Some(scope(op))),
    }
}

/// The scope of a strong operation; of the device if none is named.
fn scope(op: &Op) -> Scope {
    op.scope().unwrap_or(Scope::Gpu)
}

impl Column<'_> {
    /// An access that is not of the whole location.
    fn accessed(
        &mut self,
        (base, offset): (Base, u32),
        bytes: u8,
        (order, scope): (MemOrder, Option<Scope>),
    ) -> Access {
        Access { base: self.base(base), offset, bytes: Some(bytes), proxy: Proxy::Generic, order, scope }
    }

    /// Bytes of a scalar: values are bits, those of floating-point numbers too.
    fn bytes(&self, instruction: &Instruction, op: &Op) -> Translated<u8> {
        if !matches!(op.vector(), 1 | 2 | 4) {
            return self.refuse(instruction, "only vectors of two and four elements have a counterpart");
        }
        match op.ty(0) {
            Some(ty) if ty != ScalarType::Pred && matches!(ty.bits(), 8 | 16 | 32 | 64) => {
                Ok(ty.bits() as u8 / 8)
            }
            _ => self.refuse(instruction, "only types of up to 64 bits have a counterpart"),
        }
    }

    /// Refuses state spaces without locations; whether the access is to shared memory, if that is certain.
    fn shared(
        &self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        address: Operand,
    ) -> Translated<Option<bool>> {
        let spaces = [StateSpace::Global, StateSpace::Generic, StateSpace::Shared];
        if !spaces.contains(&op.space()) {
            return self.refuse(instruction, "only global and shared memory have locations");
        }
        let Some((at, _)) = self.target(state, instruction, address)? else { return Ok(None) };
        let shared = self.places[at].shared.is_some();
        let fits = match op.space() {
            StateSpace::Global => !shared,
            StateSpace::Shared => shared,
            _ => true,
        };
        match fits {
            true => Ok(Some(shared)),
            false => self.refuse(instruction, "the address is in another state space"),
        }
    }

    pub(super) fn access(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        if op.has(Modifier::Nc) {
            return self.refuse(instruction, "the memory model does not speak of non-coherent loads");
        }
        let &[a, b] = operands else { return self.refuse(instruction, "these operands have no counterpart") };
        let load = op.opcode == Opcode::Ld;
        let (address, data) = if load { (b, a) } else { (a, b) };
        self.shared(state, instruction, op, address)?;
        let (bytes, strength) = (self.bytes(instruction, op)?, strength(op));
        let target = self.address(state, instruction, address)?;
        if load {
            let dst = self.destinations(instruction, data)?;
            let dst = dst.into_iter().map(|register| self.number(register)).collect();
            let access = self.accessed(target, bytes, strength);
            self.push(instruction.span, test::Op::Load { dst, access });
        } else {
            let src = self.sources(state, instruction, data)?;
            let access = self.accessed(target, bytes, strength);
            let src = src.into_iter().map(|value| self.source(value)).collect();
            self.push(instruction.span, test::Op::Store { access, src });
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        let Some(&(_, kind)) = ATOMICS.iter().find(|(modifier, _)| op.has(*modifier)) else {
            return self.refuse(instruction, "its operation has no counterpart");
        };
        let ty = op.ty(0).unwrap_or(ScalarType::B32);
        let float = match (ty, kind) {
            (ScalarType::F32 | ScalarType::F64, Atomic::Apply(BinOp::Add)) => true,
            (ty, _) if ty.is_float() || !matches!(ty.bits(), 32 | 64) => {
                return self.refuse(
                    instruction,
                    "of the atomics, those of integers and the additions of `.f32` and `.f64` have a counterpart",
                );
            }
            (ty, Atomic::Apply(BinOp::Min | BinOp::Max)) if ty.is_signed() => {
                return self.refuse(instruction, "signed numbers are not ordered as in a test");
            }
            _ => false,
        };
        let bytes = self.bytes(instruction, op)?;
        if op.vector() != 1 && (bytes != 4 || kind == Atomic::Cas) {
            return self
                .refuse(instruction, "of vectors, atomics with elements of 4 bytes have a counterpart");
        }
        let (dst, rest) = match operands {
            [dst, rest @ ..] if op.opcode == Opcode::Atom => (Some(*dst), rest),
            rest => (None, rest),
        };
        let (Some(&address), values) = (rest.first(), rest.get(1..).unwrap_or(&[])) else {
            return self.refuse(instruction, "these operands have no counterpart");
        };
        // Sums of `.f32` in shared memory are not flushed.
        let shared = self.shared(state, instruction, op, address)? == Some(true);
        let kind = match (kind, float, bytes) {
            (_, true, 4) if shared => Atomic::Apply(BinOp::AddF32),
            (_, true, 4) => Atomic::Apply(BinOp::AddF32Ftz),
            (_, true, _) => Atomic::Apply(BinOp::AddF64),
            (kind, false, _) => kind,
        };
        let strength = match op.order() {
            None => (MemOrder::Relaxed, Some(scope(op))),
            Some(_) => strength(op),
        };
        let dst = match dst {
            Some(Operand::Sink) => {
                return self.refuse(instruction, "an atomic without a destination; use `red`");
            }
            Some(dst) => self.destinations(instruction, dst)?,
            None => Vec::new(),
        };
        let target = self.address(state, instruction, address)?;
        let values = values.iter().map(|&value| self.sources(state, instruction, value));
        let values = values.collect::<Translated<Vec<_>>>()?;
        let dst = dst.into_iter().map(|register| self.number(register)).collect();
        let access = self.accessed(target, bytes, strength);
        let ops = match (kind, &values[..]) {
            (Atomic::Apply(op), [values]) => {
                values.iter().map(|&value| RmwOp::Apply(op, self.source(value))).collect()
            }
            (Atomic::Cas, [expected, new]) => match (&expected[..], &new[..]) {
                (&[expected], &[new]) => vec![RmwOp::Cas(self.source(expected), self.source(new))],
                _ => return self.refuse(instruction, "these operands have no counterpart"),
            },
            _ => return self.refuse(instruction, "these operands have no counterpart"),
        };
        self.push(instruction.span, test::Op::Rmw { dst, access, ops });
        Ok(())
    }

    /// Objects are numbers of 8 bytes: phase, arrivals of a phase, arrivals that it still lacks.
    pub(super) fn mbarrier(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        let transactions = [Modifier::ExpectTx, Modifier::NoComplete, Modifier::ArriveDrop];
        if transactions.iter().any(|&modifier| op.has(modifier)) {
            return self.refuse(instruction, "transactions and dropped arrivals have no counterpart");
        }
        let scope = Some(op.scope().unwrap_or(Scope::Cta));
        // Arrivals release and waits acquire, unless they say that they are relaxed.
        let order = |default| if op.order() == Some(MemOrder::Relaxed) { MemOrder::Relaxed } else { default };
        let span = instruction.span;
        if op.has(Modifier::Init) {
            let &[address, count] = operands else {
                return self.refuse(instruction, "these operands have no counterpart");
            };
            let Known::Number(count @ 1..=0xffff) = self.known(state, count) else {
                return self.refuse(instruction, "its count is not one number between 1 and 65535");
            };
            let target = self.address(state, instruction, address)?;
            let fresh = test::Operand::Const(Mbarrier::new(count as u16).to_bits());
            let access = self.accessed(target, 8, (MemOrder::Weak, None));
            self.push(span, test::Op::Store { access, src: vec![fresh] });
        } else if op.has(Modifier::Arrive) {
            let &[dst, address, ref count @ ..] = operands else {
                return self.refuse(instruction, "these operands have no counterpart");
            };
            let count = match count {
                [] => Value::Number(1),
                [count, ..] => self.value(state, instruction, *count)?,
            };
            let target = self.address(state, instruction, address)?;
            let dst = match dst {
                Operand::Register(id) => vec![self.number(Register::of(id))],
                _ => Vec::new(),
            };
            let access = self.accessed(target, 8, (order(MemOrder::Release), scope));
            let ops = vec![RmwOp::Apply(BinOp::MbarrierArrive, self.source(count))];
            self.push(span, test::Op::Rmw { dst, access, ops });
        } else if op.has(Modifier::TestWait) || op.has(Modifier::TryWait) {
            let &[Operand::Register(predicate), address, phase, ..] = operands else {
                return self.refuse(instruction, "these operands have no counterpart");
            };
            let target = self.address(state, instruction, address)?;
            let mut parity = self.value(state, instruction, phase)?;
            if !op.has(Modifier::Parity) {
                // The state before an arrival has the number of its phase in the upper half.
                let scratch = self.scratch();
                self.bin(span, BinOp::Div, scratch, parity, Value::Number(1 << 32));
                parity = Value::Register(scratch);
                self.bin(span, BinOp::And, scratch, parity, Value::Number(1));
            }
            self.compares(instruction, predicate, Cmp::Ne)?;
            let dst = self.number(Register::of(predicate));
            let access = self.accessed(target, 8, (order(MemOrder::Acquire), scope));
            let parity = self.source(parity);
            self.push(span, test::Op::MbarrierTest { dst, access, parity });
            self.mov(span, Register::second(predicate), Value::Number(0));
        } else {
            return self.refuse(
                instruction,
                "of the mbarriers' instructions, init, arrive and the waits have a counterpart",
            );
        }
        Ok(())
    }
}
