//! Registers that hold one value wherever they are read: a parameter, a special register, a constant or the address of
//! a variable, moved into them once. Who reads them reads the row that it comes from, and the move does nothing.

use ptx_frontend::{
    Address, AddressBase, FunctionKind, Modifiers, Op, Opcode, Operand, Param, RegId, StateSpace,
};

use super::liveness::{Interval, Uses};
use super::{Decoder, rows_of};
use crate::code::*;
use semantics::lanes::Pred;

/// What is known of registers and instructions before rows are given out.
#[derive(Default)]
pub(super) struct Fixed {
    /// By register: the row of its value, which nothing may write to.
    pub places: Vec<Option<RegisterSlot>>,
    /// By register: whether anything reads it.
    pub read: Vec<bool>,
    /// By instruction: it moves a value into a register that has a place.
    pub moves: Vec<bool>,
}

impl Decoder<'_> {
    /// Looks for registers that one instruction writes, before all that read them.
    pub(super) fn fixed(&mut self, live: &[Option<Interval>]) -> Fixed {
        let body = self.body;
        let count = self.function.registers.len();
        let mut fixed = Fixed {
            places: vec![None; count],
            read: vec![false; count],
            moves: vec![false; body.instructions.len()],
        };
        let mut writes = vec![0u32; count];
        let mut uses = Uses::default();
        for inst in &body.instructions {
            uses.collect(self.module, body, inst);
            uses.writes.iter().for_each(|register| writes[register.index()] += 1);
            uses.reads.iter().for_each(|register| fixed.read[register.index()] = true);
        }
        // Register parameters are set and read from outside the body.
        for param in self.function.params.iter().chain(&self.function.returns) {
            if let Param::Register(id) = *param {
                writes[id.index()] += 1;
                fixed.read[id.index()] = true;
            }
        }
        for (at, inst) in body.instructions.iter().enumerate() {
            let &[Operand::Register(to), from, ..] = body.operands(inst) else { continue };
            // What is live where the function starts is read before it is written on some path.
            let before = at == 0 || live[to.index()].is_some_and(|interval| interval.start > 0);
            if inst.guard.is_some() || writes[to.index()] != 1 || !before {
                continue;
            }
            if let Some(place) = self.value(&fixed, self.module.op(inst), to, from) {
                fixed.places[to.index()] = Some(place);
                fixed.moves[at] = true;
            }
        }
        fixed
    }

    /// Where the value lies that an instruction moves into a register, if it has a row.
    fn value(&mut self, fixed: &Fixed, op: &Op, to: RegId, from: Operand) -> Option<RegisterSlot> {
        let ty = op.ty(0)?;
        let rows = rows_of(self.function.registers[to.index()].ty);
        if op.opcode == Opcode::Ld {
            let entry = self.function.kind == FunctionKind::Entry;
            let variable = matches!(from, Operand::Address(Address { base: AddressBase::Variable(_), .. }));
            let known = variable && entry && op.space() == StateSpace::Param;
            let place = known.then(|| self.place(op, from).ok())??;
            let constant = self.parameter(&place, ty.bytes() as u8, ty.is_signed(), rows)?;
            return Some(RegisterSlot { slot: self.constant(constant), rows });
        }
        let global = [StateSpace::Global, StateSpace::Const, StateSpace::Generic];
        let copies = match op.opcode {
            Opcode::Mov => [16, 32, 64, 128].contains(&ty.bits()),
            Opcode::Cvta => ty.bits() == 64 && global.contains(&op.space()),
            _ => false,
        };
        if !copies || rows_of(ty) != rows {
            return None;
        }
        if let Operand::Register(from) = from {
            return fixed.places[from.index()].filter(|place| place.rows == rows);
        }
        // Others need instructions to be read.
        let before = (self.code.insts.len(), self.temporaries, self.most_temporaries);
        let slot = self.source(Pred::TRUE, from, ty).ok();
        let needed = self.code.insts.len() != before.0;
        self.code.insts.truncate(before.0);
        self.code.meta.truncate(before.0);
        (self.temporaries, self.most_temporaries) = (before.1, before.2);
        slot.filter(|_| !needed).map(|slot| RegisterSlot { slot, rows })
    }
}
