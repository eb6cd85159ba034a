//! Where NVIDIA's compiler leaves the manual, and what it makes of an instruction there.
//!
//! Two kinds of rewrites are known (ptxas 12.9 and 13.0, sm_90; `cli/PTXAS.md` is a table): one that every level of
//! optimisation makes, so that no device shows anything else, and those of constants, which only an optimiser makes and
//! [`crate::DeviceConfig::as_optimised`] follows.

use std::borrow::Cow;

use ptx_frontend::{
    Body, Function, Instruction, Modifier, Modifiers, Module, Op, Opcode, Operand, OperandList, RegId,
    ScalarType,
};
use rustc_hash::FxHashMap;

use super::liveness::Uses;

/// A rewrite of one instruction by its compiler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rewrite {
    /// A store of fewer bits than the register has, right after a floating-point instruction wrote it, stores a
    /// conversion to an integer of that size: at every level.
    ConvertedStore(ScalarType),
    /// A guarded `set` that gives a float leaves, where the guard is false, the absolute value of the register's bits as
    /// an integer, converted to the float: at every level.
    GuardedSet,
    /// A guarded `testp` ignores the guard: at every level.
    GuardedTest,
    /// `bfe.s32` at a constant position above 31 gives -1.
    Extract,
    /// `bfi.b32` at a constant position from 1 to 31 inserts a constant number of bits modulo 32.
    Insert,
    /// `slct` of `.s32` by an `.s32` constant looks at the sign of the constant as an f32.
    Select,
}

impl Rewrite {
    /// What the compiler makes of the instruction, for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::ConvertedStore(_) => {
                "ptxas stores the floating-point value converted to an integer of that size, not its low bits"
            }
            Self::GuardedSet => {
                "ptxas converts the register's old bits from an integer where the guard is false"
            }
            Self::GuardedTest => "ptxas ignores the guard",
            Self::Extract => "ptxas with optimisation gives -1, not the sign of the source",
            Self::Insert => "ptxas with optimisation inserts the number of bits modulo 32",
            Self::Select => "ptxas with optimisation compares the constant as an f32",
        }
    }

    /// What says the same to each device.
    pub fn help(self) -> &'static str {
        match self {
            Self::ConvertedStore(_) => {
                "move the value through an integer instruction first: `mov.b16`, `mov.b32`"
            }
            Self::GuardedSet | Self::GuardedTest => "compute without a guard, then choose: `selp`",
            Self::Extract => "a position above 31 leaves the sign only: `shr.s32 d, a, 31`",
            Self::Insert => "insert at most 32 bits less the position",
            Self::Select => "the constant is known: `mov` one of the two",
        }
    }
}

/// All rewrites of a function's body, with the instructions they are of.
pub(super) fn find(module: &Module, function: &Function, body: &Body) -> Vec<(u32, Rewrite)> {
    let mut found: Vec<_> = stores(module, function, body)
        .into_iter()
        .map(|(at, ty)| (at, Rewrite::ConvertedStore(ty)))
        .collect();
    let constants = Constants::of(module, body);
    for (at, inst) in body.instructions.iter().enumerate() {
        match module.op(inst).opcode {
            Opcode::Testp if inst.guard.is_some() => found.push((at as u32, Rewrite::GuardedTest)),
            Opcode::Set if inst.guard.is_some() => {
                let ty = module.op(inst).ty(0);
                if matches!(ty, Some(ScalarType::F32 | ScalarType::F16 | ScalarType::Bf16)) {
                    found.push((at as u32, Rewrite::GuardedSet));
                }
            }
            _ => {}
        }
        if let Some((rewrite, ..)) = constant(module.op(inst), body.operands(inst), &constants) {
            found.push((at as u32, rewrite));
        }
    }
    found.sort_by_key(|&(at, _)| at);
    found
}

/// Registers that one instruction of the function sets to a constant.
struct Constants(FxHashMap<RegId, Option<u64>>);

impl Constants {
    fn of(module: &Module, body: &Body) -> Self {
        let mut constants = FxHashMap::default();
        let mut uses = Uses::default();
        for inst in &body.instructions {
            uses.collect(module, body, inst);
            let value = match *body.operands(inst) {
                [Operand::Register(_), Operand::Integer(value)]
                    if module.op(inst).opcode == Opcode::Mov && inst.guard.is_none() =>
                {
                    Some(value)
                }
                _ => None,
            };
            for &register in &uses.writes {
                constants.entry(register).and_modify(|known| *known = None).or_insert(value);
            }
        }
        Self(constants)
    }

    fn get(&self, operand: Operand) -> Option<u32> {
        match operand {
            Operand::Integer(value) => Some(value as u32),
            Operand::Register(id) => self.0.get(&id).copied().flatten().map(|value| value as u32),
            _ => None,
        }
    }
}

/// Of an instruction with constants: the operand that makes it what the compiler makes of it, and its value.
fn constant(op: &Op, operands: &[Operand], constants: &Constants) -> Option<(Rewrite, usize, u64)> {
    let get = |at: usize| constants.get(*operands.get(at)?);
    match (op.opcode, op.ty(0)?) {
        (Opcode::Bfe, ScalarType::S32) => {
            let (position, bits) = (get(2)?, get(3)?);
            (position & 0xff >= 32 && bits & 0xff != 0).then_some((Rewrite::Extract, 1, u64::from(u32::MAX)))
        }
        (Opcode::Bfi, ScalarType::B32) => {
            let (position, bits) = (get(3)? & 0xff, get(4)? & 0xff);
            ((1..32).contains(&position) && bits >= 32).then_some((Rewrite::Insert, 4, u64::from(bits & 31)))
        }
        (Opcode::Slct, ScalarType::S32) if op.ty(1) == Some(ScalarType::S32) => {
            let selector = get(3)?;
            let as_integer = selector as i32 >= 0;
            let as_float = f32::from_bits(selector) >= 0.0;
            let other = if as_float { 0 } else { u64::MAX };
            (as_integer != as_float).then_some((Rewrite::Select, 3, other))
        }
        _ => None,
    }
}

/// The body with the constants that an optimiser makes of it; the body itself if there are none.
pub(super) fn optimise<'a>(module: &Module, body: Cow<'a, Body>) -> Cow<'a, Body> {
    let constants = Constants::of(module, &body);
    let mut changes = Vec::new();
    for (at, inst) in body.instructions.iter().enumerate() {
        if let Some((_, operand, value)) = constant(module.op(inst), body.operands(inst), &constants) {
            changes.push((at, operand, value));
        }
    }
    if changes.is_empty() {
        return body;
    }
    let mut new = body.into_owned();
    for (at, operand, value) in changes {
        let mut operands = new.operands(&new.instructions[at]).to_vec();
        operands[operand] = Operand::Integer(value);
        let start = new.operand_pool.len() as u32;
        new.instructions[at].operands = OperandList { start, len: operands.len() as u32 };
        new.operand_pool.extend(operands);
    }
    Cow::Owned(new)
}

/// Stores that convert, with the type that they take their value for: those whose register was last written, in the
/// same basic block, by an instruction that the compiler knows to give a float of the register's size.
pub(super) fn stores(module: &Module, function: &Function, body: &Body) -> FxHashMap<u32, ScalarType> {
    let mut found = FxHashMap::default();
    let narrow = |inst: &Instruction| {
        let op = module.op(inst);
        op.opcode == Opcode::St && op.ty(0).is_some_and(|ty| !ty.is_float() && ty.bits() < 64)
    };
    if !body.instructions.iter().any(narrow) {
        return found;
    }
    let mut label = vec![false; body.instructions.len() + 1];
    for one in &body.labels {
        label[one.target as usize] = true;
    }
    let mut floats: FxHashMap<RegId, ScalarType> = FxHashMap::default();
    let mut uses = Uses::default();
    for (at, inst) in body.instructions.iter().enumerate() {
        let op = module.op(inst);
        if label[at] || splits(op, inst) {
            floats.clear();
        }
        if narrow(inst)
            && inst.guard.is_none()
            && let [_, value, ..] = *body.operands(inst)
            && let Some(bits) = op.ty(0).map(ScalarType::bits)
        {
            let last = match value {
                Operand::Vector(list) => body.elements(list).last().copied(),
                one => Some(one),
            };
            // The last element decides for a vector.
            if let Some(Operand::Register(id)) = last
                && let Some(&ty) = floats.get(&id)
                && ty.bits() > bits
            {
                found.insert(at as u32, ty);
            }
        }
        uses.collect(module, body, inst);
        let ty = gives(op);
        for &register in &uses.writes {
            match ty {
                // A register of another size takes only bits.
                Some(ty) if function.registers[register.index()].ty.bits() == ty.bits() => {
                    floats.insert(register, ty)
                }
                _ => floats.remove(&register),
            };
        }
    }
    found
}

/// Whether a basic block begins with or after this instruction where the compiler looks at stores.
fn splits(op: &Op, inst: &Instruction) -> bool {
    match op.opcode {
        Opcode::Bar | Opcode::Barrier | Opcode::Membar | Opcode::Fence | Opcode::Call => true,
        Opcode::Vote | Opcode::Shfl | Opcode::Match | Opcode::Activemask | Opcode::Redux => true,
        Opcode::Mma | Opcode::Wmma | Opcode::Movmatrix | Opcode::Nanosleep | Opcode::Pmevent => true,
        Opcode::Bfind | Opcode::Brev | Opcode::Bfe | Opcode::Bfi => {
            op.ty(0).is_some_and(|ty| ty.bits() == 64)
        }
        Opcode::Div | Opcode::Rem if op.ty(0).is_some_and(|ty| !ty.is_float()) => false,
        Opcode::Ex2 | Opcode::Lg2 | Opcode::Rsqrt | Opcode::Rcp | Opcode::Sqrt | Opcode::Div
            if op.ty(0) == Some(ScalarType::F32) && op.has(Modifier::Approx) =>
        {
            !op.has(Modifier::Ftz)
        }
        _ => super::contract::ends_block(op, inst),
    }
}

/// The type of float that the compiler takes an instruction's result for, if for any: instructions that it makes
/// several of give only bits, and some of bf16 an f16.
fn gives(op: &Op) -> Option<ScalarType> {
    use ScalarType::{Bf16, F16, F32, F64};
    let ty = op.ty(0).filter(|ty| matches!(ty, F16 | Bf16 | F32 | F64))?;
    let as_f16 = if ty == Bf16 { F16 } else { ty };
    let of_f64 = op.has(Modifier::Ftz) && [op.ty(0), op.ty(1)].contains(&Some(F64));
    match op.opcode {
        Opcode::Cvt if of_f64 => None,
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Set | Opcode::Tanh => Some(ty),
        Opcode::Ex2 | Opcode::Lg2 | Opcode::Rsqrt | Opcode::Rcp | Opcode::Sqrt | Opcode::Div => {
            let whole = ty != F32 || op.has(Modifier::Ftz) || op.rounding().is_some();
            (whole && !op.has(Modifier::Full)).then_some(ty)
        }
        Opcode::Fma | Opcode::Mad | Opcode::Min | Opcode::Max | Opcode::Neg | Opcode::Abs | Opcode::Cvt => {
            Some(as_f16)
        }
        Opcode::Sin | Opcode::Cos | Opcode::Mov | Opcode::Selp | Opcode::Slct | Opcode::Ld | Opcode::Ldu => {
            Some(ty)
        }
        Opcode::Atom if op.has(Modifier::Add) => Some(ty),
        _ => None,
    }
}
