//! By which rule an instruction's accesses are counted: what ptxas is known to make of it.

use isa::{Modifier, Modifiers, Opcode, ScalarType, StateSpace};
use ptx_frontend::{AddressBase, Instruction, Op, Operand, RegId, SpecialRegister};

use crate::tools::launch::InstructionView;

/// How the machine makes an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// Loads and stores.
    Plain,
    /// Rows of matrices: `ldmatrix`, `stmatrix`.
    Rows,
    /// Atomics that the memory units have.
    Atomic,
    /// Those with two operands.
    CompareAndSwap,
    /// One is added to a word of shared memory, and nobody wants to know what was there.
    Increment,
    /// An atomic of shared memory that is a loop around a compare-and-swap; whether it is left without one by those whose
    /// value is not wanted (`min` and `max` of 64 bits).
    Loop {
        picks: bool,
    },
    /// `cp.async` through the first level, and past it.
    Copy,
    Bypass,
    /// Bulk copies.
    Bulk,
    /// Operations on mbarrier objects.
    Synchronization,
    /// The constant cache.
    Constant,
    /// Texels, of so many lanes together: they are told as a whole before they are read.
    Texels(u8),
    /// Bytes of a surface.
    Surface,
}

/// What is known of an instruction before it is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Made {
    pub(super) rule: Rule,
    /// The result of an atomic is not wanted: a reduction.
    pub(super) reduces: bool,
    /// One lane does it for all of a warp.
    pub(super) combined: bool,
}

/// What an instruction is made into.
pub(super) fn made(of: Option<InstructionView<'_>>) -> Made {
    let plain = Made { rule: Rule::Plain, reduces: false, combined: false };
    let Some(of) = of else { return plain };
    let op = of.op();
    let rule = match op.opcode {
        Opcode::Cp if op.has(Modifier::Bulk) => Rule::Bulk,
        Opcode::Cp if op.has(Modifier::Cg) => Rule::Bypass,
        Opcode::Cp => Rule::Copy,
        Opcode::Mbarrier => Rule::Synchronization,
        Opcode::Ldmatrix | Opcode::Stmatrix => Rule::Rows,
        Opcode::Ld if op.space() == StateSpace::Const => Rule::Constant,
        // Four lanes are a square of an image, and eight a piece of a row.
        Opcode::Tex | Opcode::Tld4 if !op.has(Modifier::D1) && !op.has(Modifier::A1d) => Rule::Texels(4),
        Opcode::Tex => Rule::Texels(8),
        Opcode::Sust if op.has(Modifier::P) => Rule::Texels(8),
        Opcode::Suld | Opcode::Sust | Opcode::Sured => Rule::Surface,
        Opcode::Atom | Opcode::Red => return atomic(of, op),
        _ => Rule::Plain,
    };
    Made { rule, ..plain }
}

fn atomic(of: InstructionView<'_>, op: &Op) -> Made {
    let operands = of.operands();
    let returns = op.opcode == Opcode::Atom;
    let unused = !returns || operands.first().is_some_and(|&result| !of.is_read(result));
    // What may be in shared memory is an atomic whose result tells whether it is, `red` or not.
    let anywhere = op.space() == StateSpace::Generic;
    let [address, value, ..] = operands.get(usize::from(returns)..).unwrap_or(&[]) else {
        return Made { rule: Rule::Atomic, reduces: !returns && !anywhere, combined: false };
    };
    let word = matches!(op.ty(0), Some(ScalarType::U32 | ScalarType::S32 | ScalarType::B32));
    let has = |wanted: &[Modifier]| wanted.iter().any(|&modifier| op.has(modifier));
    let swaps = has(&[Modifier::Exch, Modifier::Cas]);
    let shared = op.space() == StateSpace::Shared;
    let adds_one = word && op.has(Modifier::Add) && of.is_one(*value);
    let rule = if op.has(Modifier::Cas) {
        Rule::CompareAndSwap
    } else if shared && unused && adds_one {
        Rule::Increment
    } else if shared && !word && !swaps {
        let wide = matches!(op.ty(0), Some(ScalarType::U64 | ScalarType::S64));
        Rule::Loop { picks: wide && has(&[Modifier::Min, Modifier::Max]) }
    } else {
        Rule::Atomic
    };
    // Of integers at one address that all lanes know, ptxas has one lane do all.
    let same = word && has(&[Modifier::Min, Modifier::Max, Modifier::And, Modifier::Or, Modifier::Xor]);
    let wide = matches!(op.ty(0), Some(ScalarType::U64 | ScalarType::S64));
    let adds = op.has(Modifier::Add) && (word || wide);
    let combines = (adds && (of.is_uniform(*value) || word && unused)) || same && unused;
    let combined = combines && rule == Rule::Atomic && !(shared && wide) && of.is_uniform(*address);
    Made { rule, reduces: unused && !swaps && !anywhere, combined }
}

impl InstructionView<'_> {
    /// Whether an instruction of the function reads a register.
    fn is_read(&self, operand: Operand) -> bool {
        let Operand::Register(register) = operand else { return operand != Operand::Sink };
        self.body.instructions.iter().any(|instruction| {
            let effects = self.module.op(instruction).effects;
            let operands = self.body.operands(instruction).iter().enumerate();
            instruction.guard.is_some_and(|guard| guard.register == register)
                || operands.into_iter().any(|(at, operand)| {
                    (!effects.writes_operand(at) || effects.accumulates()) && self.mentions(operand, register)
                })
        })
    }

    fn mentions(&self, operand: &Operand, register: RegId) -> bool {
        match *operand {
            Operand::Register(id) | Operand::Negated(id) => id == register,
            Operand::NegatedPart(id, _) | Operand::Part(id, _) => id == register,
            Operand::Address(address) => address.base == AddressBase::Register(register),
            Operand::Vector(list) | Operand::Pair(list) | Operand::AddressList(list) => {
                self.body.elements(list).iter().any(|element| self.mentions(element, register))
            }
            _ => false,
        }
    }

    /// Whether a value is a constant one.
    fn is_one(&self, operand: Operand) -> bool {
        match operand {
            Operand::Register(id) => self.writer(id).is_some_and(|writer| {
                let value = self.body.operands(writer).get(1);
                self.module.op(writer).opcode == Opcode::Mov && value == Some(&Operand::Integer(1))
            }),
            operand => operand == Operand::Integer(1),
        }
    }

    /// The one instruction that writes a register, if it has no guard.
    fn writer(&self, id: RegId) -> Option<&Instruction> {
        let mut writers = self.body.instructions.iter().filter(|instruction| {
            let effects = self.module.op(instruction).effects;
            let operands = self.body.operands(instruction).iter().enumerate();
            operands.into_iter().any(|(at, operand)| effects.writes_operand(at) && self.mentions(operand, id))
        });
        match (writers.next(), writers.next()) {
            (Some(writer), None) if writer.guard.is_none() => Some(writer),
            _ => None,
        }
    }

    /// Whether a value is the same for all threads of a block, as far as one sees it from where it comes from.
    fn is_uniform(&self, operand: Operand) -> bool {
        self.uniform(&operand, 64)
    }

    fn uniform(&self, operand: &Operand, depth: u32) -> bool {
        match *operand {
            Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) | Operand::Variable(..) => true,
            Operand::Special(special) => matches!(
                special,
                SpecialRegister::Ctaid(_) | SpecialRegister::Nctaid(_) | SpecialRegister::Ntid(_)
            ),
            Operand::Address(address) => match address.base {
                AddressBase::Register(id) => self.uniform_register(id, depth),
                AddressBase::Variable(_) | AddressBase::Absolute => true,
            },
            Operand::Register(id) => self.uniform_register(id, depth),
            Operand::Vector(list) => self.body.elements(list).iter().all(|of| self.uniform(of, depth)),
            _ => false,
        }
    }

    fn uniform_register(&self, id: RegId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let Some(writer) = self.writer(id) else { return false };
        let op = self.module.op(writer);
        let sources = || {
            let operands = self.body.operands(writer).iter().enumerate();
            operands.filter(|(at, _)| !op.effects.writes_operand(*at))
        };
        let computes = match op.opcode {
            Opcode::Ld => {
                let uniform = [StateSpace::Param, StateSpace::Const, StateSpace::Global, StateSpace::Generic];
                uniform.contains(&op.space()) && !op.has(Modifier::Volatile)
            }
            _ => op.effects.is_pure(),
        };
        computes && sources().all(|(_, operand)| self.uniform(operand, depth))
    }
}
