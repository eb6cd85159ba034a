//! One thread of the test: its instructions in the dialect, one line each.

use std::collections::{BTreeMap, BTreeSet};

use memory_model::Litmus;
use ptx_frontend::{
    Address, AddressBase, Body, Function, Instruction, Modifier, Modifiers, Module, Op, Opcode, Operand,
    RegId, ScalarType, Span, StateSpace, VarId,
};

use super::header::Header;
use super::values::{Known, State, comparison, unsigned, written};
use super::{Translated, error};

/// A line of a column and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A location of the test as a thread sees it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its name in the test.
    pub(super) name: String,
    /// The shared variable that it is, of the thread's block.
    pub(super) shared: Option<VarId>,
}

/// One thread of the test.
pub(super) struct Column<'a> {
    pub(super) module: &'a Module,
    pub(super) kernel: &'a Function,
    pub(super) body: &'a Body,
    pub(super) header: &'a Header,
    /// Block, thread.
    pub(super) position: (u32, u32),
    pub(super) places: &'a [Place],
    pub(super) lines: Vec<Line>,
    /// A fence that is restricted to shared memory, and an access to global memory.
    pub(super) restricted: Option<Span>,
    pub(super) global: Option<Span>,
    /// How each predicate compares its two values.
    predicates: BTreeMap<RegId, &'static str>,
    labels: usize,
}

/// The branch of the dialect that is taken when another one is not.
fn opposite(branch: &str) -> &'static str {
    match branch {
        "beq" => "bne",
        "bne" => "beq",
        "blt" => "bge",
        "bge" => "blt",
        "bgt" => "ble",
        _ => "bgt",
    }
}

impl<'a> Column<'a> {
    pub(super) fn new(
        module: &'a Module,
        kernel: &'a Function,
        body: &'a Body,
        header: &'a Header,
        position: (u32, u32),
        places: &'a [Place],
    ) -> Self {
        Self {
            module,
            kernel,
            body,
            header,
            position,
            places,
            lines: Vec::new(),
            restricted: None,
            global: None,
            predicates: BTreeMap::new(),
            labels: 0,
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

    // ---- lines --------------------------------------------------------------------------------------------

    pub(super) fn line(&mut self, span: Span, text: impl Into<String>) {
        self.lines.push(Line { text: text.into(), span });
    }

    /// The first register of the dialect for a register of the kernel; predicates have two.
    pub(super) fn register(id: RegId) -> String {
        format!("r{}", 2 * id.index())
    }

    /// A register that is none of the kernel's.
    pub(super) fn scratch(&self) -> String {
        format!("r{}", 2 * self.kernel.registers.len())
    }

    /// A label of our own; they come after those of all instructions.
    fn label(&mut self) -> String {
        self.labels += 1;
        format!("LC{}", self.body.instructions.len() + self.labels)
    }

    pub(super) fn write(&mut self) -> Translated<()> {
        let reached = self.reach();
        let code = &self.body.instructions;
        let labels: BTreeSet<usize> = self.body.labels.iter().map(|label| label.target as usize).collect();
        let end = Span::new(self.kernel.span.end, self.kernel.span.end);
        for (at, instruction) in code.iter().enumerate() {
            if labels.contains(&at) {
                self.line(instruction.span, format!("LC{at}:"));
            }
            if let Some(state) = reached.get(&at) {
                self.guarded(state, at, instruction)?;
            }
        }
        self.line(end, format!("LC{}:", code.len()));
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
                self.line(span, format!("goto LC{target}"));
                Ok(())
            }
            (Some(true), None) => self.instruction(state, instruction, op, operands),
            (None, Some(target)) => {
                let Some(guard) = instruction.guard else { return Ok(()) };
                self.branch(instruction, guard.register, guard.negated, format!("LC{target}"))
            }
            (None, None) => {
                let Some(guard) = instruction.guard else { return Ok(()) };
                let over = self.label();
                self.branch(instruction, guard.register, !guard.negated, over.clone())?;
                self.instruction(state, instruction, op, operands)?;
                self.line(span, format!("{over}:"));
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
        label: String,
    ) -> Translated<()> {
        let Some(&branch) = self.predicates.get(&predicate) else {
            return self.refuse(instruction, "its predicate is not the result of a comparison before it");
        };
        let branch = if negated { opposite(branch) } else { branch };
        let id = 2 * predicate.index();
        self.line(instruction.span, format!("{branch} r{id}, r{}, {label}", id + 1));
        Ok(())
    }

    /// Notes that a predicate is the comparison of its two registers.
    pub(super) fn compares(
        &mut self,
        instruction: &Instruction,
        predicate: RegId,
        branch: &'static str,
    ) -> Translated<()> {
        if *self.predicates.entry(predicate).or_insert(branch) != branch {
            return self.refuse(instruction, "the predicate is also the result of another comparison");
        }
        Ok(())
    }

    // ---- operands -----------------------------------------------------------------------------------------

    /// A value as the dialect writes it.
    pub(super) fn value(
        &self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<String> {
        let ty = self.module.op(instruction).ty(0);
        match (self.known(state, operand), operand) {
            (Known::Number(n), _) => Ok(unsigned(ty, n).to_string()),
            (Known::Address(at, 0), _) => Ok(format!("&{}", self.places[at].name)),
            (Known::Address(..), _) => self.refuse(instruction, "an address inside a location is no value"),
            (Known::Varies, Operand::Register(id)) => Ok(Self::register(id)),
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

    /// An address as the dialect writes it.
    pub(super) fn address(
        &mut self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<String> {
        let target = self.target(state, instruction, operand)?;
        let shared = target.is_some_and(|(at, _)| self.places[at].shared.is_some());
        if !shared {
            self.global.get_or_insert(instruction.span);
        }
        let (base, offset) = match (target, operand) {
            (Some((at, offset)), _) => (self.places[at].name.clone(), offset),
            (None, Operand::Address(Address { base: AddressBase::Register(id), offset })) => {
                (Self::register(id), offset)
            }
            (None, _) => return self.refuse(instruction, "this address has no counterpart"),
        };
        match offset {
            0 => Ok(format!("[{base}]")),
            1.. => Ok(format!("[{base}+{offset}]")),
            _ => self.refuse(instruction, "the address is before its location"),
        }
    }

    /// Sources or destinations, in braces if they are several.
    pub(super) fn list(
        &self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
        destination: bool,
    ) -> Translated<String> {
        let one = |o: Operand| match o {
            Operand::Register(id) if destination => Ok(Self::register(id)),
            _ if destination => self.refuse(instruction, "a destination that is no register"),
            other => self.value(state, instruction, other),
        };
        match operand {
            Operand::Vector(list) => {
                let elements = self.body.elements(list).iter().map(|&o| one(o));
                Ok(format!("{{{}}}", elements.collect::<Translated<Vec<_>>>()?.join(", ")))
            }
            other => one(other),
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
                self.line(instruction.span, format!("mov {}, {n}", Self::register(*id)));
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
        let dst = Self::register(dst);
        let values = sources.iter().map(|&o| self.value(state, instruction, o));
        let values = values.collect::<Translated<Vec<_>>>()?;
        let mask = format!("and {dst}, {dst}, {}", u32::MAX);
        let mut cut = ty.bits() == 32 && !wide;
        match (op.opcode, &values[..]) {
            (Opcode::Mov | Opcode::Cvta, [a]) => {
                self.line(span, format!("mov {dst}, {a}"));
                cut = false;
            }
            (Opcode::Cvt, [a]) => {
                let from = op.ty(1).unwrap_or(ty);
                if !matches!(from.bits(), 8 | 16 | 32 | 64) {
                    return self.refuse(instruction, "this conversion has no counterpart");
                }
                self.line(span, format!("mov {dst}, {a}"));
                if from.bits() < 64 {
                    self.line(span, format!("and {dst}, {dst}, {}", (1u64 << from.bits()) - 1));
                }
                if from.is_signed() && from.bits() < ty.bits() {
                    let sign = 1u64 << (from.bits() - 1);
                    self.line(span, format!("xor {dst}, {dst}, {sign}"));
                    self.line(span, format!("sub {dst}, {dst}, {sign}"));
                }
            }
            (Opcode::Not, [a]) => {
                let ones = if ty.bits() == 32 { i64::from(u32::MAX) } else { -1 };
                self.line(span, format!("xor {dst}, {a}, {ones}"));
            }
            (Opcode::Shl, [a, by]) => match (by.parse::<u32>(), ty.bits()) {
                (Ok(by), bits) if by >= bits => self.line(span, format!("mov {dst}, 0")),
                (Ok(by), _) => self.line(span, format!("mul {dst}, {a}, {}", (1u64 << by) as i64)),
                (Err(_), _) => return self.refuse(instruction, "by how much is not the same everywhere"),
            },
            (Opcode::Mad, [a, b, c]) => {
                // The third source may be the destination too.
                let product = self.scratch();
                self.line(span, format!("mul {product}, {a}, {b}"));
                self.line(span, format!("add {dst}, {product}, {c}"));
            }
            (opcode, [a, b]) => {
                self.line(span, format!("{} {dst}, {a}, {b}", opcode.text()));
                cut &= matches!(opcode, Opcode::Add | Opcode::Sub | Opcode::Mul);
            }
            _ => return self.refuse(instruction, "these operands have no counterpart"),
        }
        if cut {
            self.line(span, mask);
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
        let dst = Self::register(dst);
        if let Some(&Known::Number(n)) = state.get(&predicate) {
            self.line(span, format!("mov {dst}, {}", if n != 0 { a } else { b }));
            return Ok(());
        }
        let (first, over) = (self.label(), self.label());
        self.branch(instruction, predicate, false, first.clone())?;
        self.line(span, format!("mov {dst}, {b}"));
        self.line(span, format!("goto {over}"));
        self.line(span, format!("{first}:"));
        self.line(span, format!("mov {dst}, {a}"));
        self.line(span, format!("{over}:"));
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
        let (Some(branch), &[Operand::Register(id), a, b]) = (comparison(op), operands) else {
            return self
                .refuse(instruction, "only comparisons of integers into one predicate have a counterpart");
        };
        self.compares(instruction, id, branch)?;
        let orders = !matches!(branch, "beq" | "bne");
        let ty = op.ty(0);
        if orders && ty.is_none_or(|ty| ty.bits() == 64 && !ty.is_signed()) {
            return self.refuse(instruction, "of this type, numbers are not ordered as in a test");
        }
        for (register, operand) in [(2 * id.index(), a), (2 * id.index() + 1, b)] {
            let value = match self.known(state, operand) {
                Known::Number(n) => unsigned(ty, n).to_string(),
                _ => self.value(state, instruction, operand)?,
            };
            // Signed numbers are kept without sign: with the top bit turned they are ordered alike.
            let text = match ty {
                Some(ty) if orders && ty.is_signed() && ty.bits() < 64 => {
                    format!("xor r{register}, {value}, {}", 1u64 << (ty.bits() - 1))
                }
                _ => format!("mov r{register}, {value}"),
            };
            self.line(instruction.span, text);
        }
        Ok(())
    }
}

/// Gives instructions the lines and texts, and registers the names, that they have in the kernel.
pub(super) fn restore(
    litmus: &mut Litmus,
    columns: &[Vec<Line>],
    source: &ptx_frontend::Source,
    kernel: &Function,
) {
    for (thread, lines) in litmus.program.threads.iter_mut().zip(columns) {
        let origins = lines.iter().filter(|line| !line.text.ends_with(':')).map(|line| line.span);
        for (instruction, span) in thread.code.iter_mut().zip(origins) {
            instruction.span = memory_model::litmus::Span::new(span.start as usize, span.end as usize);
            instruction.line = source.line_column(span.start).0;
            instruction.text = source.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        }
        for name in &mut thread.registers {
            let number = name.strip_prefix('r').and_then(|digits| digits.parse::<usize>().ok());
            if let Some(register) = number.and_then(|number| kernel.registers.get(number / 2)) {
                *name = register.name.to_string();
            }
        }
    }
}
