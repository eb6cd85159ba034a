//! Where NVIDIA's compiler leaves the manual, and what it makes of an instruction there.
//!
//! Two kinds of rewrites are known (ptxas 12.9 and 13.0, sm_90; `cli/PTXAS.md` is a table): one that every level of
//! optimisation makes, so that no device shows anything else, and those that only an optimiser makes (`optimise.rs`),
//! which [`crate::DeviceConfig::as_optimised`] follows.

use ptx_frontend::{
    Address, AddressBase, Body, Function, Instruction, Modifier, Modifiers, Module, Op, Opcode, Operand,
    RegId, ScalarType,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::liveness::Uses;
use super::rewrite::Rewrite;
use super::{contract, optimise};

/// All rewrites of a function's body, with the instructions they are of.
pub(super) fn find(module: &Module, function: &Function, body: &Body) -> Vec<(u32, Rewrite)> {
    let mut found: Vec<_> = conversions(module, function, body)
        .into_iter()
        .map(|((at, part), _)| {
            let rewrite = match part {
                Part::Stored => Rewrite::ConvertedStore,
                Part::Amount => Rewrite::ConvertedAmount,
                Part::Address => Rewrite::ConvertedAddress,
            };
            (at, rewrite)
        })
        .collect();
    let changes = optimise::changes(module, body);
    found.extend(changes.iter().filter_map(|change| Some((change.at, change.rewrite?))));
    found.extend(accumulations(module, body));
    found.extend(widened(module, body));
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
    }
    found.sort_by_key(|&(at, _)| at);
    found
}

/// Instructions that add a product's high half to the register that they write, of which an optimiser loses some: in a
/// loop that leaves the factors alone, or one behind the other.
fn accumulations(module: &Module, body: &Body) -> Vec<(u32, Rewrite)> {
    let mut uses = Uses::default();
    let high = |op: &Op| {
        let plain = !op.has(Modifier::Sat) && !op.has(Modifier::Cc);
        op.has(Modifier::Hi) && plain && op.ty(0).is_some_and(|ty| ty.bits() == 32)
    };
    // Registers that one instruction sets, to the high half of a product.
    let mut products: FxHashMap<RegId, Option<[Operand; 2]>> = FxHashMap::default();
    for inst in &body.instructions {
        uses.collect(module, body, inst);
        let op = module.op(inst);
        let factors = match *body.operands(inst) {
            [_, a, b] if op.opcode == Opcode::Mul && high(op) => Some([a, b]),
            _ => None,
        };
        for &register in &uses.writes {
            products.entry(register).and_modify(|known| *known = None).or_insert(factors);
        }
    }
    let factors = |operand| match operand {
        Operand::Register(id) => products.get(&id).copied().flatten(),
        _ => None,
    };
    let accumulates = |at: usize| {
        let inst = &body.instructions[at];
        let op = module.op(inst);
        let [a, b] = match (op.opcode, body.operands(inst)) {
            (Opcode::Mad, &[to, a, b, c]) if high(op) && to == c => [a, b],
            (Opcode::Add, &[to, x, y]) if to == x => factors(y)?,
            (Opcode::Add, &[to, x, y]) if to == y => factors(x)?,
            _ => return None,
        };
        Some([body.operands(inst)[0], a, b])
    };
    // Loops, by their ends, and what they write.
    let all = body.instructions.len();
    let loops: Vec<(usize, usize)> = (0..all)
        .filter_map(|end| match *body.operands(&body.instructions[end]) {
            [Operand::Label(label)] => Some((body.labels[label.index()].target as usize, end)),
            _ => None,
        })
        .filter(|(start, end)| start <= end)
        .collect();
    let mut written: FxHashMap<usize, FxHashSet<RegId>> = FxHashMap::default();
    let mut kept = |&(start, end): &(usize, usize), factors: [Operand; 2]| {
        let written = written.entry(end).or_insert_with(|| {
            let mut written = FxHashSet::default();
            for inst in &body.instructions[start..=end] {
                uses.collect(module, body, inst);
                written.extend(uses.writes.iter().copied());
            }
            written
        });
        !factors.iter().any(|factor| matches!(factor, Operand::Register(id) if written.contains(id)))
    };
    let mut found = Vec::new();
    let mut run = 0;
    for at in 0..all {
        let Some([to, a, b]) = accumulates(at) else { continue };
        // How many follow, this one included.
        let same = |next: &usize| accumulates(*next) == Some([to, a, b]);
        let first = at == 0 || !same(&(at - 1));
        run = if first { (at..all).take_while(same).count() } else { run };
        let innermost =
            loops[loops.partition_point(|&(_, end)| end < at)..].iter().find(|(start, _)| *start <= at);
        if run >= LOST || innermost.is_some_and(|range| kept(range, [a, b])) {
            found.push((at as u32, Rewrite::Accumulation));
        }
    }
    found
}

/// Conversions of 16 bits to 32 that an optimiser leaves out, right after a `set` that gives a half.
fn widened(module: &Module, body: &Body) -> Vec<(u32, Rewrite)> {
    let leader = contract::leaders(module, body);
    let (mut found, mut halves, mut uses) = (Vec::new(), FxHashSet::default(), Uses::default());
    for (at, inst) in body.instructions.iter().enumerate() {
        if leader[at] {
            halves.clear();
        }
        let op = module.op(inst);
        if op.opcode == Opcode::Cvt
            && matches!(
                (op.ty(0), op.ty(1)),
                (Some(ScalarType::U32 | ScalarType::S32), Some(ScalarType::U16))
            )
            && matches!(body.operands(inst), [_, Operand::Register(id)] if halves.contains(id))
        {
            found.push((at as u32, Rewrite::Widened));
        }
        uses.collect(module, body, inst);
        let half = op.opcode == Opcode::Set && matches!(op.ty(0), Some(ScalarType::F16 | ScalarType::Bf16));
        for &register in &uses.writes {
            match half {
                true => halves.insert(register),
                false => halves.remove(&register),
            };
        }
    }
    found
}

/// Equal products in a row of which an optimiser loses some.
const LOST: usize = 5;

/// What an instruction converts to an integer before it uses it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    /// The values that a store of fewer bits stores.
    Stored,
    /// The amount of a 64-bit shift.
    Amount,
    /// The address of an access.
    Address,
}

/// Operands that are converted, with the type that they are taken for: those whose register was last written, in the
/// same basic block, by an instruction that the compiler knows to give a float of the register's size.
pub(super) fn conversions(
    module: &Module,
    function: &Function,
    body: &Body,
) -> FxHashMap<(u32, Part), ScalarType> {
    let mut found = FxHashMap::default();
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
        if !floats.is_empty() {
            for (part, register) in convertible(body, op, inst) {
                let small =
                    |ty: ScalarType| part != Part::Stored || op.ty(0).is_some_and(|to| to.bits() < ty.bits());
                if let Some(&ty) = floats.get(&register).filter(|&&ty| small(ty)) {
                    found.insert((at as u32, part), ty);
                }
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

/// The registers that an instruction converts if they hold floats.
fn convertible<'a>(
    body: &'a Body,
    op: &Op,
    inst: &Instruction,
) -> impl Iterator<Item = (Part, RegId)> + use<'a> {
    let operands = body.operands(inst);
    let register = |operand: &Operand| match *operand {
        Operand::Register(id) => Some(id),
        _ => None,
    };
    let plain = inst.guard.is_none();
    let own = match (op.opcode, operands) {
        (Opcode::St, [_, value, ..]) if plain && op.ty(0).is_some_and(|ty| !ty.is_float()) => {
            // The last element decides for a vector.
            let last = match value {
                Operand::Vector(list) => body.elements(*list).last(),
                one => Some(one),
            };
            last.and_then(register).map(|id| (Part::Stored, id))
        }
        (Opcode::Shl | Opcode::Shr, [_, _, amount]) if op.ty(0).is_some_and(|ty| ty.bits() == 64) => {
            register(amount).map(|id| (Part::Amount, id))
        }
        _ => None,
    };
    let addresses = operands.iter().filter_map(move |operand| match *operand {
        Operand::Address(Address { base: AddressBase::Register(id), offset: 0 }) if plain => {
            Some((Part::Address, id))
        }
        _ => None,
    });
    own.into_iter().chain(addresses)
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
