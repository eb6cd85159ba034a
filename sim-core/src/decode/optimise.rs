//! What the optimiser of NVIDIA's compiler makes of constants, and of instructions whose result it takes for one of
//! their operands; [`crate::DeviceConfig::as_optimised`] follows it.
//!
//! The rules are those that ptxas 13.0 shows for sm_90 (`cli/PTXAS.md`). Some leave the manual and are a [`Rewrite`]; the
//! others choose what the manual leaves open: bits of a NaN, and how near an approximation is.

use std::borrow::Cow;

use ptx_frontend::{Body, Modifier, Modifiers, Module, Op, Opcode, Operand, OperandList, RegId, ScalarType};
use rustc_hash::FxHashMap;

use super::contract::leaders;
use super::liveness::Uses;
use super::rewrite::Rewrite;

/// An instruction that becomes another one.
pub(super) struct Change {
    pub(super) at: u32,
    /// If the new one gives what the manual does not allow.
    pub(super) rewrite: Option<Rewrite>,
    op: Op,
    operands: Vec<Operand>,
}

/// The body as an optimiser makes it, and the ops of the instructions that it changed.
pub(super) fn optimise<'a>(module: &Module, body: Cow<'a, Body>) -> (Cow<'a, Body>, FxHashMap<u32, Op>) {
    let changes = changes(module, &body);
    if changes.is_empty() {
        return (body, FxHashMap::default());
    }
    let mut new = body.into_owned();
    let mut ops = FxHashMap::default();
    for Change { at, op, operands, .. } in changes {
        let start = new.operand_pool.len() as u32;
        new.instructions[at as usize].operands = OperandList { start, len: operands.len() as u32 };
        new.operand_pool.extend(operands);
        ops.insert(at, op);
    }
    (Cow::Owned(new), ops)
}

/// What changes in a body.
pub(super) fn changes(module: &Module, body: &Body) -> Vec<Change> {
    let mut found = Vec::new();
    let leader = leaders(module, body);
    let mut constants = Constants::of(module, body);
    let mut uses = Uses::default();
    // How often each register was written in the text so far, and what undoes itself.
    let mut version: FxHashMap<RegId, u32> = FxHashMap::default();
    let mut undone: FxHashMap<RegId, (Opcode, ScalarType, RegId, u32)> = FxHashMap::default();
    for (at, inst) in body.instructions.iter().enumerate() {
        if leader[at] {
            undone.clear();
            constants.here.clear();
        }
        let (op, operands) = (module.op(inst), body.operands(inst));
        let again = match (own_inverse(op), operands) {
            (Some(ty), &[to, Operand::Register(from)]) => {
                let is = |&&(opcode, other, source, then): &&(Opcode, ScalarType, RegId, u32)| {
                    (opcode, other) == (op.opcode, ty)
                        && version.get(&source).copied().unwrap_or_default() == then
                };
                undone.get(&from).filter(is).map(|&(.., source, _)| [to, Operand::Register(source)])
            }
            _ => None,
        };
        let change = match again {
            Some(operands) => Some(moved(op, &operands)),
            None => change(op, operands, inst.guard.is_some(), &constants),
        };
        if let Some((op, operands, rewrite)) = change {
            found.push(Change { at: at as u32, rewrite, op, operands });
        }
        uses.collect(module, body, inst);
        constants.pass(op, operands, inst.guard.is_some(), &uses);
        let read = match (own_inverse(op), operands) {
            (Some(ty), &[Operand::Register(to), Operand::Register(from)]) if inst.guard.is_none() => {
                Some((to, (op.opcode, ty, from, version.get(&from).copied().unwrap_or_default())))
            }
            _ => None,
        };
        for &register in &uses.writes {
            *version.entry(register).or_default() += 1;
            undone.remove(&register);
        }
        undone.extend(read);
    }
    found
}

/// Registers that hold constants, with their bits.
struct Constants {
    /// Those that one instruction of the function sets.
    everywhere: FxHashMap<RegId, Option<u64>>,
    /// Those that were written in the basic block so far.
    here: FxHashMap<RegId, Option<u64>>,
}

impl Constants {
    fn of(module: &Module, body: &Body) -> Self {
        let mut everywhere = FxHashMap::default();
        let mut uses = Uses::default();
        for inst in &body.instructions {
            uses.collect(module, body, inst);
            let value = given(module.op(inst), body.operands(inst), inst.guard.is_some());
            for &register in &uses.writes {
                everywhere.entry(register).and_modify(|known| *known = None).or_insert(value);
            }
        }
        Self { everywhere, here: FxHashMap::default() }
    }

    /// Takes note of what an instruction writes.
    fn pass(&mut self, op: &Op, operands: &[Operand], guarded: bool, uses: &Uses) {
        let value = given(op, operands, guarded);
        self.here.extend(uses.writes.iter().map(|&register| (register, value)));
    }

    /// The bits of an operand of this type.
    fn get(&self, operand: Operand, ty: ScalarType) -> Option<u64> {
        match operand {
            Operand::Register(id) => {
                self.here.get(&id).or_else(|| self.everywhere.get(&id)).copied().flatten()
            }
            other => written(other, ty),
        }
    }
}

/// The constant that an instruction gives.
fn given(op: &Op, operands: &[Operand], guarded: bool) -> Option<u64> {
    match *operands {
        [Operand::Register(_), value] if op.opcode == Opcode::Mov && !guarded => written(value, op.ty(0)?),
        _ => None,
    }
}

/// The bits of a constant that is written in an instruction.
fn written(operand: Operand, ty: ScalarType) -> Option<u64> {
    match operand {
        Operand::Integer(value) if !ty.is_float() => Some(value),
        Operand::F32(bits) if ty.bits() == 32 => Some(bits.into()),
        Operand::F64(bits) if ty.bits() == 64 => Some(bits),
        _ => None,
    }
}

type New = (Op, Vec<Operand>, Option<Rewrite>);

fn made(op: &Op, opcode: Opcode, ty: ScalarType) -> Op {
    op.instead(opcode, [Modifier::Type(ty)])
}

fn bits_of(ty: ScalarType) -> ScalarType {
    match ty.bits() {
        64 => ScalarType::B64,
        16 => ScalarType::B16,
        _ => ScalarType::B32,
    }
}

/// A `mov` of an operand's bits.
fn moved(op: &Op, operands: &[Operand; 2]) -> New {
    (made(op, Opcode::Mov, bits_of(op.ty(0).unwrap_or(ScalarType::B32))), operands.to_vec(), None)
}

/// The type of an instruction that applied twice gives its operand back.
fn own_inverse(op: &Op) -> Option<ScalarType> {
    use ScalarType::{Bf16, F16, F16x2, F32, F64};
    let (ty, ftz) = (op.ty(0)?, op.has(Modifier::Ftz));
    match op.opcode {
        Opcode::Neg => (!ftz && matches!(ty, F32 | F64 | F16 | Bf16 | F16x2)).then_some(ty),
        Opcode::Rcp => (ty == F32 && ftz && op.has(Modifier::Approx)).then_some(ty),
        _ => None,
    }
}

/// What an instruction becomes.
fn change(op: &Op, operands: &[Operand], guarded: bool, constants: &Constants) -> Option<New> {
    use ScalarType::{B32, F16, F32, F64, S32};
    let ty = op.ty(0)?;
    let get = |at: usize| constants.get(*operands.get(at)?, ty);
    let word = |at: usize| constants.get(*operands.get(at)?, B32).map(|value| value as u32);
    let with = |at: usize, value: u64, rewrite: Rewrite| {
        let mut operands = operands.to_vec();
        operands[at] = Operand::Integer(value);
        Some((op.clone(), operands, Some(rewrite)))
    };
    let constant = |ty: ScalarType, bits: u64| Some(moved_constant(op, operands[0], ty, bits));
    let (ftz, open) = (op.has(Modifier::Ftz), op.rounding().is_none() && !op.has(Modifier::Sat));
    match (op.opcode, operands) {
        (Opcode::Bfe, [_, source, ..]) if ty == S32 => {
            let (position, bits) = (word(2)?, word(3)?);
            let variable = constants.get(*source, ty).is_none();
            (variable && position & 0xff >= 32 && bits & 0xff != 0)
                .then(|| with(1, u32::MAX.into(), Rewrite::Extract))?
        }
        (Opcode::Bfi, _) if ty == B32 => {
            let (position, bits) = (word(3)? & 0xff, word(4)? & 0xff);
            let variable = get(1).is_none() || get(2).is_none();
            (variable && (1..32).contains(&position) && bits >= 32)
                .then(|| with(4, (bits & 31).into(), Rewrite::Insert))?
        }
        (Opcode::Slct, _) if ty == S32 && op.ty(1) == Some(S32) => {
            let selector = word(3)?;
            let as_float = f32::from_bits(selector) >= 0.0;
            let other = if as_float { 0 } else { u64::MAX };
            ((selector as i32 >= 0) != as_float).then(|| with(3, other, Rewrite::Select))?
        }
        (opcode, [_, _]) if ty == F32 && op.has(Modifier::Approx) => {
            constant(F32, function(opcode, get(1)? as u32, ftz)?.into())
        }
        (Opcode::Neg | Opcode::Abs, &[to, from]) => sign(op, ty, to, from, get(1), guarded),
        (Opcode::Cvt, [_, _]) if ty == F16 && op.ty(1) == Some(F64) => {
            let nan = f64::from_bits(constants.get(operands[1], F64)?).is_nan();
            nan.then(|| constant(F16, 0x7fff))?
        }
        (Opcode::Min | Opcode::Max, &[to, a, b]) if matches!(ty, F32 | F64 | F16) => {
            let plain = !ftz && !op.has(Modifier::PropagateNan) && !op.has(Modifier::Xorsign);
            (plain && a == b && matches!(a, Operand::Register(_))).then(|| moved(op, &[to, a]))
        }
        (Opcode::Mul, &[to, a, b]) if open && !ftz && op.ty(1).is_none() => {
            let other = match (get(1), get(2)) {
                (None, Some(value)) if is(value, ty, 1.0) => a,
                (Some(value), None) if is(value, ty, 1.0) => b,
                _ => return None,
            };
            Some(moved(op, &[to, other]))
        }
        // What took in the double of a register, less the register.
        (Opcode::Add | Opcode::Sub, &[to, a, b, c]) if matches!(ty, F32 | F64) && !ftz && open => {
            let two = |operand| constants.get(operand, ty).is_some_and(|value| is(value, ty, 2.0));
            let from = if two(b) { a } else { two(a).then_some(b)? };
            match (from, c) {
                (Operand::Register(x), Operand::Negated(y)) if x == y => Some(moved(op, &[to, from])),
                _ => None,
            }
        }
        (Opcode::Div, &[to, a, _]) if ty == F32 && open => {
            let value = f32::from_bits(get(2)? as u32);
            if get(1).is_some() {
                return None;
            }
            if value == 1.0 && !ftz {
                return Some(moved(op, &[to, a]));
            }
            let modifiers = [Modifier::Rn].into_iter().chain(ftz.then_some(Modifier::Ftz));
            let product = op.instead(Opcode::Mul, modifiers.chain([Modifier::Type(F32)]));
            Some((product, vec![to, a, Operand::F32(reciprocal(value)?)], None))
        }
        // A sum that took in a quotient.
        (Opcode::Add | Opcode::Sub, &[to, a, b, c, Operand::Integer(_)]) => {
            let reciprocal = reciprocal(f32::from_bits(constants.get(b, F32)? as u32))?;
            Some((op.clone(), vec![to, a, Operand::F32(reciprocal), c], None))
        }
        _ => None,
    }
}

fn moved_constant(op: &Op, to: Operand, ty: ScalarType, bits: u64) -> New {
    (made(op, Opcode::Mov, bits_of(ty)), vec![to, Operand::Integer(bits)], None)
}

/// Whether the bits are this number.
fn is(bits: u64, ty: ScalarType, number: f32) -> bool {
    match ty {
        ScalarType::F32 => bits as u32 == number.to_bits(),
        ScalarType::F64 => bits == f64::from(number).to_bits(),
        _ => false,
    }
}

/// `neg` and `abs` that become a change of the sign, which leaves a NaN its other bits.
fn sign(
    op: &Op,
    ty: ScalarType,
    to: Operand,
    from: Operand,
    value: Option<u64>,
    guarded: bool,
) -> Option<New> {
    use ScalarType::{F16x2, F32, F64};
    let (negates, ftz) = (op.opcode == Opcode::Neg, op.has(Modifier::Ftz));
    let (mask, quiet) = match ty {
        F32 => (1 << 31, 1 << 22),
        F64 => (1 << 63, 1 << 51),
        F16x2 if !ftz => (0x8000_8000, 0),
        _ => return None,
    };
    if let Some(value) = value {
        let nan = match ty {
            F32 => f32::from_bits(value as u32).is_nan(),
            F64 => f64::from_bits(value).is_nan(),
            _ => [value, value >> 16].iter().any(|half| half & 0x7fff > 0x7c00),
        };
        let bits = if negates { value ^ mask } else { value & !mask };
        return nan.then(|| moved_constant(op, to, ty, if ftz { bits | quiet } else { bits }));
    }
    // A choice between the old value and the new one, whose sign it changes.
    (guarded && ty == F32 && !ftz && matches!(from, Operand::Register(_))).then(|| {
        let (opcode, bits) = if negates { (Opcode::Xor, mask) } else { (Opcode::And, mask - 1) };
        (made(op, opcode, ScalarType::B32), vec![to, from, Operand::Integer(bits)], None)
    })
}

/// The reciprocal of a constant divisor, if both are normal.
fn reciprocal(value: f32) -> Option<u32> {
    let reciprocal = 1.0 / value;
    (value.is_normal() && reciprocal.is_normal()).then_some(reciprocal.to_bits())
}

/// An approximate function of a constant: ptxas gives the nearest float, but executes what gives a NaN.
fn function(opcode: Opcode, bits: u32, ftz: bool) -> Option<u32> {
    let flushed = |value: f32| if value.is_subnormal() { 0.0f32.copysign(value) } else { value };
    let value = f32::from_bits(bits);
    let value = f64::from(if ftz || opcode == Opcode::Sin { flushed(value) } else { value });
    let result = match opcode {
        Opcode::Sin => value.sin(),
        Opcode::Cos => value.cos(),
        Opcode::Lg2 => value.log2(),
        Opcode::Ex2 => value.exp2(),
        Opcode::Rsqrt => value.sqrt().recip(),
        Opcode::Sqrt => value.sqrt(),
        Opcode::Rcp => value.recip(),
        _ => return None,
    } as f32;
    (!result.is_nan()).then(|| if ftz { flushed(result) } else { result }.to_bits())
}
