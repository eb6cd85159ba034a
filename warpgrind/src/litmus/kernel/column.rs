//! One thread of the test: its instructions, and the registers that they use.

use std::collections::{BTreeMap, BTreeSet};

use memory_model::program::{self as test, BinOp, Cmp, Instr, LocId};
use ptx_frontend::{
    Address, AddressBase, Body, Function, Instruction, Modifier, Modifiers, Module, Op, Opcode, Operand,
    RegId, ScalarType, Source, Span, StateSpace, VarId,
};

use super::header::Header;
use super::known::{Known, State, comparison, unsigned, written};
use super::{Translated, error};

/// Instructions of a thread at most, as in the files of tests.
const MAX_CODE: usize = 10_000;
/// Bytes from the start of a location at most, likewise.
const MAX_OFFSET: i64 = 4096;

/// A location of the test as a thread sees it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its name in the test.
    pub(super) name: String,
    /// The shared variable that it is, of the thread's block.
    pub(super) shared: Option<VarId>,
    /// Which location it is.
    pub(super) id: LocId,
}

/// A register of the test: two for each of the kernel's, since predicates are the two numbers that they compare, and one
/// that is none of the kernel's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Register(usize);

impl Register {
    /// The first for a register of the kernel.
    pub(super) fn of(id: RegId) -> Self {
        Self(2 * id.index())
    }

    /// The second.
    pub(super) fn second(id: RegId) -> Self {
        Self(2 * id.index() + 1)
    }

    /// Its name while the test is made.
    pub(super) fn name(self) -> String {
        format!("r{}", self.0)
    }

    /// Its name in the kernel.
    pub(super) fn name_in(self, kernel: &Function) -> String {
        kernel.registers.get(self.0 / 2).map_or_else(|| self.name(), |register| register.name.to_string())
    }
}

/// A source of an instruction of the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Number(i64),
    Address(LocId),
    Register(Register),
}

/// What an address is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    Location(LocId),
    Register(Register),
}

/// A place in the code that is jumped to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Label(usize);

/// One thread of the test.
pub(super) struct Column<'a> {
    pub(super) module: &'a Module,
    pub(super) kernel: &'a Function,
    pub(super) body: &'a Body,
    pub(super) header: &'a Header,
    /// The PTX, whose lines instructions keep.
    text: &'a Source,
    /// Block, thread.
    pub(super) position: (u32, u32),
    pub(super) places: &'a [Place],
    /// Its instructions; jumps have their targets when all is [written](Column::write).
    pub(super) code: Vec<Instr>,
    /// Its registers in the order of their first use, which is their number in the test.
    pub(super) registers: Vec<Register>,
    /// A fence that is restricted to shared memory, and an access to global memory.
    pub(super) restricted: Option<Span>,
    pub(super) global: Option<Span>,
    /// How each predicate compares its two values.
    predicates: BTreeMap<RegId, Cmp>,
    /// Where labels are, and which instructions jump to which.
    labels: BTreeMap<Label, usize>,
    jumps: Vec<(usize, Label)>,
    own_labels: usize,
}

/// The comparison that holds when another one does not.
fn opposite(cmp: Cmp) -> Cmp {
    match cmp {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        Cmp::Lt => Cmp::Ge,
        Cmp::Ge => Cmp::Lt,
        Cmp::Gt => Cmp::Le,
        Cmp::Le => Cmp::Gt,
    }
}

impl<'a> Column<'a> {
    pub(super) fn new(
        module: &'a Module,
        kernel: &'a Function,
        body: &'a Body,
        header: &'a Header,
        text: &'a Source,
        position: (u32, u32),
        places: &'a [Place],
    ) -> Self {
        Self {
            module,
            kernel,
            body,
            header,
            text,
            position,
            places,
            code: Vec::new(),
            registers: Vec::new(),
            restricted: None,
            global: None,
            predicates: BTreeMap::new(),
            labels: BTreeMap::new(),
            jumps: Vec::new(),
            own_labels: 0,
        }
    }

    pub(super) fn refuse<T>(&self, instruction: &Instruction, why: &str) -> Translated<T> {
        let op = self.module.op(instruction);
        Err(error(instruction.span, format!("`{op}` in a litmus test: {why}")))
    }

    pub(super) fn place_of(&self, variable: VarId) -> Option<usize> {
        let name = &self.module.variables[variable.index()].name;
        let global = self.module.variables[variable.index()].space == StateSpace::Global;
        let found = |place: &Place| match place.shared {
            Some(shared) => shared == variable,
            None => global && *place.name == **name,
        };
        self.places.iter().position(found)
    }

    // ---- code ---------------------------------------------------------------------------------------------

    /// Adds an instruction of the test, which stands for one of the kernel.
    pub(super) fn push(&mut self, span: Span, op: test::Op) {
        let text = self.text.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let line = self.text.line_column(span.start).0;
        let span = memory_model::litmus::Span::new(span.start as usize, span.end as usize);
        self.code.push(Instr { op, span, line, text });
    }

    /// The number of a register in the test.
    pub(super) fn number(&mut self, register: Register) -> test::RegId {
        let at = self.registers.iter().position(|&known| known == register).unwrap_or_else(|| {
            self.registers.push(register);
            self.registers.len() - 1
        });
        test::RegId(at as u16)
    }

    /// A source as the test has it.
    pub(super) fn source(&mut self, value: Value) -> test::Operand {
        match value {
            Value::Number(n) => test::Operand::Const(n),
            Value::Address(location) => test::Operand::Address(location),
            Value::Register(register) => test::Operand::Reg(self.number(register)),
        }
    }

    /// What an access is of, as the test has it.
    pub(super) fn base(&mut self, base: Base) -> test::Base {
        match base {
            Base::Location(location) => test::Base::Loc(location),
            Base::Register(register) => test::Base::Reg(self.number(register)),
        }
    }

    pub(super) fn mov(&mut self, span: Span, dst: Register, src: Value) {
        let (dst, src) = (self.number(dst), self.source(src));
        self.push(span, test::Op::Mov { dst, src });
    }

    pub(super) fn bin(&mut self, span: Span, op: BinOp, dst: Register, a: Value, b: Value) {
        let (dst, a, b) = (self.number(dst), self.source(a), self.source(b));
        self.push(span, test::Op::Bin { op, dst, a, b });
    }

    /// A register that is none of the kernel's.
    pub(super) fn scratch(&self) -> Register {
        Register(2 * self.kernel.registers.len())
    }

    /// A label of our own; they come after those of all instructions.
    fn label(&mut self) -> Label {
        self.own_labels += 1;
        Label(self.body.instructions.len() + self.own_labels)
    }

    /// The label is here.
    fn set(&mut self, label: Label) {
        self.labels.insert(label, self.code.len());
    }

    fn goto(&mut self, span: Span, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(span, test::Op::Goto { target: usize::MAX });
    }

    pub(super) fn write(&mut self) -> Translated<()> {
        let reached = self.reach();
        let code = &self.body.instructions;
        let labels: BTreeSet<usize> = self.body.labels.iter().map(|label| label.target as usize).collect();
        for (at, instruction) in code.iter().enumerate() {
            if labels.contains(&at) {
                self.set(Label(at));
            }
            if let Some(state) = reached.get(&at) {
                self.guarded(state, at, instruction)?;
            }
            if self.code.len() > MAX_CODE {
                let what = format!("a thread of the test has more than {MAX_CODE} instructions");
                return Err(error(instruction.span, what));
            }
        }
        self.set(Label(code.len()));
        for &(at, label) in &self.jumps {
            let (target, end) = (self.labels.get(&label), self.code.len());
            if let test::Op::Goto { target: jump } | test::Op::Branch { target: jump, .. } =
                &mut self.code[at].op
            {
                *jump = target.copied().unwrap_or(end);
            }
        }
        Ok(())
    }

    /// An instruction with its guard, which is a branch around it.
    fn guarded(&mut self, state: &State, at: usize, instruction: &Instruction) -> Translated<()> {
        let op = self.module.op(instruction);
        let target = match op.opcode {
            Opcode::Ret | Opcode::Exit => Some(self.body.instructions.len()),
            Opcode::Bra => match self.body.operands(instruction).first() {
                Some(&Operand::Label(label)) => Some(self.body.labels[label.index()].target as usize),
                _ => return self.refuse(instruction, "only branches to labels are followed"),
            },
            _ => None,
        };
        let (span, operands) = (instruction.span, self.body.operands(instruction));
        let certain = match instruction.guard {
            None => Some(true),
            Some(guard) => match state.get(&guard.register) {
                Some(&Known::Number(n)) => Some((n != 0) != guard.negated),
                _ => None,
            },
        };
        match (certain, target) {
            (Some(false), _) => Ok(()),
            (Some(true), Some(target)) if target == at + 1 => Ok(()),
            (Some(true), Some(target)) => {
                self.goto(span, Label(target));
                Ok(())
            }
            (Some(true), None) => self.instruction(state, instruction, op, operands),
            (None, Some(target)) => {
                let Some(guard) = instruction.guard else { return Ok(()) };
                self.branch(instruction, guard.register, guard.negated, Label(target))
            }
            (None, None) => {
                let Some(guard) = instruction.guard else { return Ok(()) };
                let over = self.label();
                self.branch(instruction, guard.register, !guard.negated, over)?;
                self.instruction(state, instruction, op, operands)?;
                self.set(over);
                Ok(())
            }
        }
    }

    /// Jumps if a predicate holds, or if it does not.
    fn branch(
        &mut self,
        instruction: &Instruction,
        predicate: RegId,
        negated: bool,
        label: Label,
    ) -> Translated<()> {
        let Some(&cmp) = self.predicates.get(&predicate) else {
            return self.refuse(instruction, "its predicate is not the result of a comparison before it");
        };
        let cmp = if negated { opposite(cmp) } else { cmp };
        let (a, b) = (Register::of(predicate), Register::second(predicate));
        let (a, b) = (self.source(Value::Register(a)), self.source(Value::Register(b)));
        self.jumps.push((self.code.len(), label));
        self.push(instruction.span, test::Op::Branch { cmp, a, b, target: usize::MAX });
        Ok(())
    }

    /// Notes that a predicate is the comparison of its two registers.
    pub(super) fn compares(
        &mut self,
        instruction: &Instruction,
        predicate: RegId,
        cmp: Cmp,
    ) -> Translated<()> {
        if *self.predicates.entry(predicate).or_insert(cmp) != cmp {
            return self.refuse(instruction, "the predicate is also the result of another comparison");
        }
        Ok(())
    }

    // ---- operands -----------------------------------------------------------------------------------------

    /// A value of the test.
    pub(super) fn value(
        &self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<Value> {
        let ty = self.module.op(instruction).ty(0);
        match (self.known(state, operand), operand) {
            (Known::Number(n), _) => Ok(Value::Number(unsigned(ty, n))),
            (Known::Address(at, 0), _) => Ok(Value::Address(self.places[at].id)),
            (Known::Address(..), _) => self.refuse(instruction, "an address inside a location is no value"),
            (Known::Varies, Operand::Register(id)) => Ok(Value::Register(Register::of(id))),
            _ => self.refuse(instruction, "this operand has no counterpart"),
        }
    }

    /// The place of an address operand and bytes from its start; `None` for one that a register holds.
    pub(super) fn target(
        &self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<Option<(usize, i64)>> {
        let Operand::Address(Address { base, offset }) = operand else {
            return self.refuse(instruction, "this address has no counterpart");
        };
        match base {
            AddressBase::Register(id) => match state.get(&id) {
                Some(&Known::Address(at, from)) => Ok(Some((at, from.wrapping_add(offset)))),
                Some(Known::Number(_)) => self.refuse(instruction, "the address is that of no location"),
                _ => Ok(None),
            },
            AddressBase::Variable(variable) => match self.place_of(variable) {
                Some(at) => Ok(Some((at, offset))),
                None => {
                    let name = &self.module.variables[variable.index()].name;
                    let message = format!("`{name}` is no location");
                    let help = format!("a line `//@ location {name} = 0` makes a `.global` variable one");
                    Err(super::helped(instruction.span, message, &help))
                }
            },
            AddressBase::Absolute => self.refuse(instruction, "the address is that of no location"),
        }
    }

    /// What an access is of, and bytes from its start.
    pub(super) fn address(
        &mut self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<(Base, u32)> {
        let target = self.target(state, instruction, operand)?;
        let shared = target.is_some_and(|(at, _)| self.places[at].shared.is_some());
        if !shared {
            self.global.get_or_insert(instruction.span);
        }
        let (base, offset) = match (target, operand) {
            (Some((at, offset)), _) => (Base::Location(self.places[at].id), offset),
            (None, Operand::Address(Address { base: AddressBase::Register(id), offset })) => {
                (Base::Register(Register::of(id)), offset)
            }
            (None, _) => return self.refuse(instruction, "this address has no counterpart"),
        };
        match offset {
            0..=MAX_OFFSET => Ok((base, offset as u32)),
            ..0 => self.refuse(instruction, "the address is before its location"),
            _ => {
                self.refuse(instruction, "the address is more than 4096 bytes from the start of its location")
            }
        }
    }

    /// Sources: one, or the elements of a vector.
    pub(super) fn sources(
        &self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<Vec<Value>> {
        match operand {
            Operand::Vector(list) => {
                let elements = self.body.elements(list).iter();
                elements.map(|&element| self.value(state, instruction, element)).collect()
            }
            other => Ok(vec![self.value(state, instruction, other)?]),
        }
    }

    /// Destinations likewise.
    pub(super) fn destinations(
        &self,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<Vec<Register>> {
        let one = |operand| match operand {
            Operand::Register(id) => Ok(Register::of(id)),
            _ => self.refuse(instruction, "a destination that is no register"),
        };
        match operand {
            Operand::Vector(list) => self.body.elements(list).iter().map(|&element| one(element)).collect(),
            other => Ok(vec![one(other)?]),
        }
    }

    // ---- instructions -------------------------------------------------------------------------------------

    fn instruction(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        // What is known needs no instruction.
        let targets = written(self.body, op, operands);
        let known = self.compute(state, op, operands);
        if known != Known::Varies {
            if let (Known::Number(n), [id]) = (known, &targets[..])
                && self.kernel.registers[id.index()].ty != ScalarType::Pred
            {
                self.mov(instruction.span, Register::of(*id), Value::Number(n));
            }
            return Ok(());
        }
        match op.opcode {
            Opcode::Ld | Opcode::St => self.access(state, instruction, op, operands),
            Opcode::Atom | Opcode::Red => self.atomic(state, instruction, op, operands),
            Opcode::Mbarrier => self.mbarrier(state, instruction, op, operands),
            Opcode::Fence | Opcode::Membar => self.fence(instruction, op),
            Opcode::Bar | Opcode::Barrier => self.barrier(state, instruction, op, operands),
            Opcode::Setp => self.compare(state, instruction, op, operands),
            Opcode::Selp => self.select(state, instruction, operands),
            Opcode::Mov
            | Opcode::Cvta
            | Opcode::Cvt
            | Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Shl
            | Opcode::Not
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Min
            | Opcode::Max => self.arithmetic(state, instruction, op, operands),
            Opcode::Nanosleep => Ok(()),
            _ => self.refuse(instruction, "it has no counterpart"),
        }
    }

    /// Integers are kept without sign in their width; what could leave it is cut off.
    fn arithmetic(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        let span = instruction.span;
        let &[Operand::Register(dst), ref sources @ ..] = operands else {
            return self.refuse(instruction, "these operands have no counterpart");
        };
        let ty = op.ty(0).unwrap_or(ScalarType::B64);
        let moves = matches!(op.opcode, Opcode::Mov | Opcode::Cvta);
        let whole = matches!(ty.bits(), 32 | 64) && ty != ScalarType::Pred;
        if !moves && (!whole || op.types().any(ScalarType::is_float) || op.has(Modifier::Sat)) {
            return self
                .refuse(instruction, "only arithmetic of integers of 32 and 64 bits has a counterpart");
        }
        let wide = op.has(Modifier::Wide) && !ty.is_signed();
        if matches!(op.opcode, Opcode::Mul | Opcode::Mad) && !op.has(Modifier::Lo) && !wide {
            return self.refuse(instruction, "of products, the lower half has a counterpart");
        }
        if matches!(op.opcode, Opcode::Min | Opcode::Max) && ty.is_signed() != (ty.bits() == 64) {
            return self.refuse(instruction, "of this type, numbers are not ordered as in a test");
        }
        let dst = Register::of(dst);
        let values = sources.iter().map(|&o| self.value(state, instruction, o));
        let values = values.collect::<Translated<Vec<_>>>()?;
        let own = Value::Register(dst);
        let mut cut = ty.bits() == 32 && !wide;
        match (op.opcode, &values[..]) {
            (Opcode::Mov | Opcode::Cvta, &[a]) => {
                self.mov(span, dst, a);
                cut = false;
            }
            (Opcode::Cvt, &[a]) => {
                let from = op.ty(1).unwrap_or(ty);
                if !matches!(from.bits(), 8 | 16 | 32 | 64) {
                    return self.refuse(instruction, "this conversion has no counterpart");
                }
                self.mov(span, dst, a);
                if from.bits() < 64 {
                    self.bin(span, BinOp::And, dst, own, Value::Number((1 << from.bits()) - 1));
                }
                if from.is_signed() && from.bits() < ty.bits() {
                    let sign = Value::Number(1 << (from.bits() - 1));
                    self.bin(span, BinOp::Xor, dst, own, sign);
                    self.bin(span, BinOp::Sub, dst, own, sign);
                }
            }
            (Opcode::Not, &[a]) => {
                let ones = if ty.bits() == 32 { i64::from(u32::MAX) } else { -1 };
                self.bin(span, BinOp::Xor, dst, a, Value::Number(ones));
            }
            (Opcode::Shl, &[a, Value::Number(by)]) => match u32::try_from(by) {
                Ok(by) if by < ty.bits() => {
                    self.bin(span, BinOp::Mul, dst, a, Value::Number((1u64 << by) as i64));
                }
                _ => self.mov(span, dst, Value::Number(0)),
            },
            (Opcode::Shl, [_, _]) => {
                return self.refuse(instruction, "by how much is not the same everywhere");
            }
            (Opcode::Mad, &[a, b, c]) => {
                // The third source may be the destination too.
                let product = self.scratch();
                self.bin(span, BinOp::Mul, product, a, b);
                self.bin(span, BinOp::Add, dst, Value::Register(product), c);
            }
            (opcode, &[a, b]) => {
                let Some(op) = binary(opcode) else {
                    return self.refuse(instruction, "these operands have no counterpart");
                };
                self.bin(span, op, dst, a, b);
                cut &= matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul);
            }
            _ => return self.refuse(instruction, "these operands have no counterpart"),
        }
        if cut {
            self.bin(span, BinOp::And, dst, own, Value::Number(i64::from(u32::MAX)));
        }
        Ok(())
    }

    /// One of two values.
    fn select(&mut self, state: &State, instruction: &Instruction, operands: &[Operand]) -> Translated<()> {
        let &[Operand::Register(dst), a, b, Operand::Register(predicate)] = operands else {
            return self.refuse(instruction, "these operands have no counterpart");
        };
        let span = instruction.span;
        let (a, b) = (self.value(state, instruction, a)?, self.value(state, instruction, b)?);
        let dst = Register::of(dst);
        if let Some(&Known::Number(n)) = state.get(&predicate) {
            self.mov(span, dst, if n != 0 { a } else { b });
            return Ok(());
        }
        let (first, over) = (self.label(), self.label());
        self.branch(instruction, predicate, false, first)?;
        self.mov(span, dst, b);
        self.goto(span, over);
        self.set(first);
        self.mov(span, dst, a);
        self.set(over);
        Ok(())
    }

    /// A predicate is the two values that it compares.
    fn compare(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        let (Some(cmp), &[Operand::Register(id), a, b]) = (comparison(op), operands) else {
            return self
                .refuse(instruction, "only comparisons of integers into one predicate have a counterpart");
        };
        self.compares(instruction, id, cmp)?;
        let orders = !matches!(cmp, Cmp::Eq | Cmp::Ne);
        let ty = op.ty(0);
        if orders && ty.is_none_or(|ty| ty.bits() == 64 && !ty.is_signed()) {
            return self.refuse(instruction, "of this type, numbers are not ordered as in a test");
        }
        for (register, operand) in [(Register::of(id), a), (Register::second(id), b)] {
            let value = match self.known(state, operand) {
                Known::Number(n) => Value::Number(unsigned(ty, n)),
                _ => self.value(state, instruction, operand)?,
            };
            // Signed numbers are kept without sign: with the top bit turned they are ordered alike.
            match ty {
                Some(ty) if orders && ty.is_signed() && ty.bits() < 64 => {
                    let sign = Value::Number(1 << (ty.bits() - 1));
                    self.bin(instruction.span, BinOp::Xor, register, value, sign);
                }
                _ => self.mov(instruction.span, register, value),
            }
        }
        Ok(())
    }
}

/// The operation of the test that an opcode of two sources is.
fn binary(opcode: Opcode) -> Option<BinOp> {
    Some(match opcode {
        Opcode::Add => BinOp::Add,
        Opcode::Sub => BinOp::Sub,
        Opcode::Mul => BinOp::Mul,
        Opcode::And => BinOp::And,
        Opcode::Or => BinOp::Or,
        Opcode::Xor => BinOp::Xor,
        Opcode::Min => BinOp::Min,
        Opcode::Max => BinOp::Max,
        _ => return None,
    })
}
