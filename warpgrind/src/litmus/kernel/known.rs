//! What is known of registers, and what instructions do with them by their text.

use std::collections::BTreeMap;

use memory_model::program::Cmp;
use ptx_frontend::{
    Address, AddressBase, Body, Modifier, Modifiers, Module, Op, Opcode, Operand, RegId, ScalarType,
};

/// What is known of a register at an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// A number, the same in every execution.
    Number(i64),
    /// A place of the column and bytes from its start.
    Address(usize, i64),
    /// Nothing.
    Varies,
}

pub(super) type State = BTreeMap<RegId, Known>;

/// A number as registers hold it: without sign if it has fewer than 64 bits.
pub(super) fn unsigned(ty: Option<ScalarType>, value: i64) -> i64 {
    match ty.map_or(64, ScalarType::bits) {
        bits @ 1..64 => value & ((1 << bits) - 1),
        _ => value,
    }
}

/// The value of a number that registers hold.
pub(super) fn signed(ty: Option<ScalarType>, value: i64) -> i64 {
    match ty {
        Some(ty) if ty.is_signed() && ty.bits() < 64 => {
            let shift = 64 - ty.bits();
            value << shift >> shift
        }
        _ => value,
    }
}

/// The same as a number that is ordered as the type is.
pub(super) fn ordered(ty: Option<ScalarType>, value: i64) -> i128 {
    match ty {
        Some(ty) if !ty.is_signed() => i128::from(unsigned(Some(ty), value) as u64),
        _ => i128::from(signed(ty, unsigned(ty, value))),
    }
}

/// How a `setp` compares, if it only does that.
pub(super) fn comparison(op: &Op) -> Option<Cmp> {
    let ty = op.ty(0)?;
    if ty.is_float() || op.has(Modifier::And) || op.has(Modifier::Or) || op.has(Modifier::Xor) {
        return None;
    }
    let kinds = [
        (Modifier::Eq, Cmp::Eq),
        (Modifier::Ne, Cmp::Ne),
        (Modifier::Lt, Cmp::Lt),
        (Modifier::Le, Cmp::Le),
        (Modifier::Gt, Cmp::Gt),
        (Modifier::Ge, Cmp::Ge),
    ];
    kinds.iter().find(|(modifier, _)| op.has(*modifier)).map(|&(_, cmp)| cmp)
}

/// Registers that an instruction writes.
pub(super) fn written(body: &Body, op: &Op, operands: &[Operand]) -> Vec<RegId> {
    match op.opcode {
        Opcode::St | Opcode::Red | Opcode::Fence | Opcode::Membar | Opcode::Nanosleep => return Vec::new(),
        Opcode::Bar | Opcode::Barrier if !op.has(Modifier::Red) => return Vec::new(),
        _ => {}
    }
    match operands.first() {
        Some(&Operand::Register(id)) => vec![id],
        Some(&(Operand::Vector(list) | Operand::Pair(list))) => body
            .elements(list)
            .iter()
            .filter_map(|o| if let Operand::Register(id) = o { Some(*id) } else { None })
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether anything in a body reads a register.
pub(super) fn is_read(module: &Module, body: &Body, register: RegId) -> bool {
    let reads = |operand: &Operand| match *operand {
        Operand::Register(id) | Operand::Negated(id) => id == register,
        Operand::Address(Address { base: AddressBase::Register(id), .. }) => id == register,
        _ => false,
    };
    body.instructions.iter().any(|instruction| {
        let (op, operands) = (module.op(instruction), body.operands(instruction));
        let sources = if written(body, op, operands).is_empty() { operands } else { &operands[1..] };
        let deep = |operand: &Operand| match *operand {
            Operand::Vector(list) | Operand::Pair(list) => body.elements(list).iter().any(reads),
            ref other => reads(other),
        };
        instruction.guard.is_some_and(|g| g.register == register) || sources.iter().any(deep)
    })
}
