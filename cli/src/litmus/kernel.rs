//! Real PTX kernels as litmus tests: a `.ptx` file with a header of `//@` comments.
//!
//! A kernel becomes a test in the dialect of `.litmus` files, one column a thread, which the crate
//! `memory-model` reads as any other; instructions keep their lines and texts in the PTX file. What is the same
//! in every execution (parameters, positions in the grid, addresses) is computed here, branches that depend on
//! it are followed, and code that a thread does not reach is left out. What has no counterpart is refused by
//! name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use memory_model::litmus::{Code as LitmusCode, Span as TextSpan};
use memory_model::{Litmus, parse};
use ptx_frontend::{
    Address, AddressBase, Body, Code, Component, Diagnostic, Function, Instruction, MemOrder, Modifier,
    Modifiers, Module, Op, Opcode, Operand, Param, RegId, ScalarType, Scope, Source, Span, SpecialRegister,
    StateSpace,
};

type Translated<T> = Result<T, Box<Diagnostic>>;

/// What the header says.
#[derive(Debug, Default)]
struct Header {
    name: String,
    kernel: Option<String>,
    grid: u32,
    block: u32,
    cluster: Option<u32>,
    /// Declarations such as `x = 0`, and the names they declare.
    locations: Vec<(String, String)>,
    arguments: Vec<String>,
    /// Filter, locations list and assertion as they are written.
    question: Vec<(String, Span)>,
}

/// Whether a text has the header of a litmus test.
pub(super) fn is_test(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("//@ litmus"))
}

/// An error of the test's header or of its translation.
fn error(span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Code(LitmusCode::Kernel.as_str()), span, message))
}

/// The same with help.
fn helped(span: Span, message: String, help: &str) -> Box<Diagnostic> {
    Box::new(error(span, message).help(help))
}

impl Header {
    fn read(source: &Source) -> Translated<Self> {
        let mut header = Header { grid: 1, block: 1, ..Self::default() };
        let mut at = 0;
        for line in source.text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let span = Span::new((at + indent) as u32, (at + line.trim_end().len()) as u32);
            at += line.len();
            let Some(rest) = line.trim_start().strip_prefix("//@") else { continue };
            let (key, value) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            let value = value.trim();
            let number =
                || {
                    value.parse::<u32>().ok().filter(|&n| n > 0).ok_or_else(|| {
                        error(span, format!("`{key}` takes a number above zero, not `{value}`"))
                    })
                };
            match key {
                "litmus" => header.name = value.to_owned(),
                "kernel" => header.kernel = Some(value.to_owned()),
                "grid" => header.grid = number()?,
                "block" => header.block = number()?,
                "cluster" => header.cluster = Some(number()?),
                "location" => {
                    let name = value.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
                    header.locations.push((name.to_owned(), value.to_owned()));
                }
                "arg" => header.arguments.push(value.to_owned()),
                "exists" | "~exists" | "forall" | "filter" | "locations" => {
                    header.question.push((rest.trim().to_owned(), span));
                }
                _ => {
                    return Err(helped(
                        span,
                        format!("`{key}` is not a line of the header"),
                        "litmus, kernel, grid, block, cluster, location, arg, filter, locations, exists, ~exists, forall",
                    ));
                }
            }
        }
        Ok(header)
    }
}

/// What is known of a register at an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// A number, the same in every execution.
    Number(i64),
    /// A location and bytes from its start.
    Address(usize, i64),
    /// Nothing.
    Varies,
}

type State = BTreeMap<RegId, Known>;

/// Translates a kernel; `module` is what the front end made of `source`.
pub(super) fn translate(source: &Source, module: &Module) -> Result<Litmus, Vec<Diagnostic>> {
    let header = Header::read(source).map_err(|wrong| vec![*wrong])?;
    translate_with(source, module, &header).map_err(|wrong| vec![*wrong])
}

fn translate_with(source: &Source, module: &Module, header: &Header) -> Translated<Litmus> {
    let start = Span::new(0, source.text.lines().next().map_or(0, str::len) as u32);
    let mut kernels = module.kernels().map(|(_, function)| function);
    let kernel = match &header.kernel {
        Some(name) => kernels.find(|function| *function.name == **name),
        None => kernels.next(),
    };
    let kernel = kernel.ok_or_else(|| error(start, "there is no such kernel"))?;
    let Some(body) = &kernel.body else { return Err(error(kernel.span, "the kernel has no body")) };
    if kernel.params.len() != header.arguments.len() {
        let message = format!(
            "the kernel has {} parameters, the header gives {} arguments",
            kernel.params.len(),
            header.arguments.len()
        );
        return Err(helped(kernel.span, message, "a line `//@ arg VALUE` or `//@ arg &LOCATION` for each"));
    }
    let threads = header.grid.saturating_mul(header.block);
    if threads > 64 {
        return Err(error(start, format!("{threads} threads: at most 64 are explored")));
    }
    let mut columns = Vec::new();
    for thread in 0..threads {
        let position = (thread / header.block, thread % header.block);
        let mut column = Column {
            module,
            kernel,
            body,
            header,
            position,
            lines: Vec::new(),
            predicates: BTreeMap::new(),
            labels: 0,
        };
        column.write()?;
        columns.push(column.lines);
    }
    let text = dialect(header, kernel, &columns)?;
    let mut litmus = parse(&text).map_err(|errors| {
        let wrong = errors.first().map_or_else(String::new, |e| e.message.clone());
        let span = header.question.first().map_or(start, |q| q.1);
        error(span, format!("the test made of the kernel is not well formed: {wrong}"))
    })?;
    for (thread, lines) in litmus.program.threads.iter_mut().zip(&columns) {
        let origins = lines.iter().filter(|line| !line.text.ends_with(':')).map(|line| line.span);
        for (instruction, span) in thread.code.iter_mut().zip(origins) {
            instruction.span = TextSpan::new(span.start as usize, span.end as usize);
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
    Ok(litmus)
}

/// The test as text.
fn dialect(header: &Header, kernel: &Function, columns: &[Vec<Line>]) -> Translated<String> {
    let mut out = format!("PTX {}\n{{\n", header.name);
    for (_, declaration) in &header.locations {
        let _ = writeln!(out, "{declaration};");
    }
    out.push_str("}\n");
    let places: Vec<String> = (0..columns.len() as u32)
        .map(|thread| {
            let block = thread / header.block;
            let cluster = header.cluster.map_or(String::new(), |size| format!("cluster {}, ", block / size));
            format!("P{thread}@cta {block}, {cluster}gpu 0")
        })
        .collect();
    let _ = writeln!(out, "{} ;", places.join(" | "));
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        let cells: Vec<&str> =
            columns.iter().map(|c| c.get(row).map_or("", |line| line.text.as_str())).collect();
        let _ = writeln!(out, "{} ;", cells.join(" | "));
    }
    for (question, span) in &header.question {
        let _ = writeln!(out, "{}", with_registers(question, *span, kernel)?);
    }
    Ok(out)
}

/// A condition with `1:%r3` written as the dialect has it.
fn with_registers(text: &str, span: Span, kernel: &Function) -> Translated<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(":%") {
        let after = &rest[at + 1..];
        let end = after[1..]
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
            .map_or(after.len(), |n| n + 1);
        let name = &after[..end];
        let found = kernel.registers.iter().position(|register| *register.name == *name);
        let found = found.ok_or_else(|| error(span, format!("the kernel has no register `{name}`")))?;
        out.push_str(&rest[..at + 1]);
        let _ = write!(out, "r{}", 2 * found);
        rest = &after[end..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A line of a column and where it comes from.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    span: Span,
}

/// One thread of the test.
struct Column<'a> {
    module: &'a Module,
    kernel: &'a Function,
    body: &'a Body,
    header: &'a Header,
    /// Block, thread.
    position: (u32, u32),
    lines: Vec<Line>,
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

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}

impl Column<'_> {
    fn refuse<T>(&self, instruction: &Instruction, why: &str) -> Translated<T> {
        let op = self.module.op(instruction);
        Err(error(instruction.span, format!("`{op}` in a litmus test: {why}")))
    }

    // ---- what is known ------------------------------------------------------------------------------------

    fn operand(&self, state: &State, operand: Operand) -> Known {
        match operand {
            Operand::Register(id) => state.get(&id).copied().unwrap_or(Known::Varies),
            Operand::Integer(bits) => Known::Number(bits as i64),
            Operand::Special(special) => self.special(special).map_or(Known::Varies, Known::Number),
            _ => Known::Varies,
        }
    }

    fn special(&self, special: SpecialRegister) -> Option<i64> {
        use SpecialRegister as R;
        let first = |component: Component, value: u32, rest: i64| match component {
            Component::X => i64::from(value),
            _ => rest,
        };
        Some(match special {
            R::Tid(c) => first(c, self.position.1, 0),
            R::Ctaid(c) => first(c, self.position.0, 0),
            R::Ntid(c) => first(c, self.header.block, 1),
            R::Nctaid(c) => first(c, self.header.grid, 1),
            _ => return None,
        })
    }

    fn argument(&self, address: Address) -> Option<Known> {
        let AddressBase::Variable(variable) = address.base else { return None };
        let index = self.kernel.params.iter().position(|p| *p == Param::Variable(variable))?;
        let argument = self.header.arguments.get(index).filter(|_| address.offset == 0)?;
        match argument.strip_prefix('&') {
            Some(name) => {
                let at = self.header.locations.iter().position(|(known, _)| known == name.trim())?;
                Some(Known::Address(at, 0))
            }
            None => argument.parse().ok().map(Known::Number),
        }
    }

    /// What an instruction makes of what is known; nothing if its result varies.
    fn compute(&self, state: &State, op: &Op, operands: &[Operand]) -> Known {
        let known = |at: usize| operands.get(at).map_or(Known::Varies, |&o| self.operand(state, o));
        let ty = op.ty(0);
        let narrow = |value: i64| if op.has(Modifier::Wide) { value } else { unsigned(ty, value) };
        let number = |f: &dyn Fn(i64, i64) -> i64| match (known(1), known(2)) {
            (Known::Number(a), Known::Number(b)) => Known::Number(narrow(f(signed(ty, a), signed(ty, b)))),
            _ => Known::Varies,
        };
        match op.opcode {
            Opcode::Mov | Opcode::Cvta => match known(1) {
                Known::Number(n) => Known::Number(narrow(n)),
                other => other,
            },
            Opcode::Cvt if op.types().all(|ty| !ty.is_float()) => match known(1) {
                Known::Number(n) => Known::Number(unsigned(ty, signed(op.ty(1), n))),
                other => other,
            },
            Opcode::Ld if op.space() == StateSpace::Param => match operands.get(1) {
                Some(&Operand::Address(address)) => self.argument(address).unwrap_or(Known::Varies),
                _ => Known::Varies,
            },
            Opcode::Add => match (known(1), known(2)) {
                (Known::Address(at, offset), Known::Number(n))
                | (Known::Number(n), Known::Address(at, offset)) => {
                    Known::Address(at, offset.wrapping_add(n))
                }
                _ => number(&i64::wrapping_add),
            },
            Opcode::Sub => number(&i64::wrapping_sub),
            Opcode::Mul => number(&i64::wrapping_mul),
            Opcode::Shl => number(&|a, b| a.checked_shl(b as u32).unwrap_or(0)),
            Opcode::And => number(&|a, b| a & b),
            Opcode::Or => number(&|a, b| a | b),
            Opcode::Xor => number(&|a, b| a ^ b),
            Opcode::Mad => match (known(1), known(2), known(3)) {
                (Known::Number(a), Known::Number(b), Known::Number(c)) => {
                    let product = signed(ty, a).wrapping_mul(signed(ty, b));
                    Known::Number(narrow(product.wrapping_add(c)))
                }
                (Known::Number(a), Known::Number(b), Known::Address(at, offset)) => {
                    let product = signed(ty, a).wrapping_mul(signed(ty, b));
                    Known::Address(at, offset.wrapping_add(product))
                }
                _ => Known::Varies,
            },
            Opcode::Setp => match (known(1), known(2), comparison(op)) {
                (Known::Number(a), Known::Number(b), Some(branch)) => {
                    let (a, b) = (signed(ty, unsigned(ty, a)), signed(ty, unsigned(ty, b)));
                    let holds = match branch {
                        "beq" => a == b,
                        "bne" => a != b,
                        "blt" => a < b,
                        "ble" => a <= b,
                        "bgt" => a > b,
                        _ => a >= b,
                    };
                    Known::Number(i64::from(holds))
                }
                _ => Known::Varies,
            },
            _ => Known::Varies,
        }
    }

    /// What is known before each instruction that the thread can reach.
    fn reach(&self) -> BTreeMap<usize, State> {
        let code = &self.body.instructions;
        let mut before: BTreeMap<usize, State> = BTreeMap::new();
        before.insert(0, State::new());
        let mut work = vec![0];
        while let Some(at) = work.pop() {
            let Some(instruction) = code.get(at) else { continue };
            let mut state = before.get(&at).cloned().unwrap_or_default();
            let op = self.module.op(instruction);
            let operands = self.body.operands(instruction);
            let guard = instruction.guard.map(|g| match state.get(&g.register) {
                Some(&Known::Number(n)) => Some((n != 0) != g.negated),
                _ => None,
            });
            let mut next = Vec::new();
            match op.opcode {
                Opcode::Bra => {
                    if let (Some(&Operand::Label(label)), true) =
                        (operands.first(), guard != Some(Some(false)))
                    {
                        next.push(self.body.labels[label.index()].target as usize);
                    }
                    if !matches!(guard, None | Some(Some(true))) {
                        next.push(at + 1);
                    }
                }
                Opcode::Ret | Opcode::Exit => {
                    if !matches!(guard, None | Some(Some(true))) {
                        next.push(at + 1);
                    }
                }
                _ => {
                    if guard != Some(Some(false)) {
                        let result = self.compute(&state, op, operands);
                        for id in written(self.body, op, operands) {
                            let old = state.get(&id).copied();
                            let certain = !matches!(guard, Some(None)) || old == Some(result);
                            state.insert(id, if certain { result } else { Known::Varies });
                        }
                    }
                    next.push(at + 1);
                }
            }
            for to in next {
                let changed = match before.get_mut(&to) {
                    None => {
                        before.insert(to, state.clone());
                        true
                    }
                    Some(known) => {
                        let mut changed = false;
                        let all: BTreeSet<RegId> = known.keys().chain(state.keys()).copied().collect();
                        for id in all {
                            let merged =
                                if known.get(&id) == state.get(&id) { known[&id] } else { Known::Varies };
                            changed |= known.insert(id, merged) != Some(merged);
                        }
                        changed
                    }
                };
                if changed {
                    work.push(to);
                }
            }
        }
        before
    }

    // ---- lines --------------------------------------------------------------------------------------------

    fn line(&mut self, span: Span, text: impl Into<String>) {
        self.lines.push(Line { text: text.into(), span });
    }

    /// The first register of the dialect for a register of the kernel; predicates have two.
    fn register(id: RegId) -> String {
        format!("r{}", 2 * id.index())
    }

    fn write(&mut self) -> Translated<()> {
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
        let Some(guard) = instruction.guard else {
            return match target {
                Some(target) if target == at + 1 => Ok(()),
                Some(target) => {
                    self.line(span, format!("goto LC{target}"));
                    Ok(())
                }
                None => self.instruction(state, instruction, op, operands),
            };
        };
        if let Some(&Known::Number(n)) = state.get(&guard.register) {
            if (n != 0) == guard.negated {
                return Ok(());
            }
            return match target {
                Some(target) => {
                    self.line(span, format!("goto LC{target}"));
                    Ok(())
                }
                None => self.instruction(state, instruction, op, operands),
            };
        }
        let Some(&branch) = self.predicates.get(&guard.register) else {
            return self.refuse(instruction, "its guard is not the result of a `setp` before it");
        };
        let branch = if guard.negated { opposite(branch) } else { branch };
        let id = 2 * guard.register.index();
        let operand = |branch: &str, label: String| format!("{branch} r{id}, r{}, {label}", id + 1);
        if let Some(target) = target {
            self.line(span, operand(branch, format!("LC{target}")));
            return Ok(());
        }
        // Labels of our own come after all instructions.
        self.labels += 1;
        let label = format!("LC{}", self.body.instructions.len() + self.labels);
        self.line(span, operand(opposite(branch), label.clone()));
        self.instruction(state, instruction, op, operands)?;
        self.line(span, format!("{label}:"));
        Ok(())
    }

    /// A value as the dialect writes it.
    fn value(&self, state: &State, instruction: &Instruction, operand: Operand) -> Translated<String> {
        let ty = self.module.op(instruction).ty(0);
        match (self.operand(state, operand), operand) {
            (Known::Number(n), _) => Ok(unsigned(ty, n).to_string()),
            (Known::Address(at, 0), _) => Ok(format!("&{}", self.header.locations[at].0)),
            (Known::Varies, Operand::Register(id)) => Ok(Self::register(id)),
            _ => self.refuse(instruction, "this operand has no counterpart"),
        }
    }

    fn address(&self, state: &State, instruction: &Instruction, operand: Operand) -> Translated<String> {
        let Operand::Address(Address { base: AddressBase::Register(id), offset }) = operand else {
            return self.refuse(instruction, "only addresses in registers are followed");
        };
        let (base, offset) = match state.get(&id) {
            Some(&Known::Address(at, from)) => {
                (self.header.locations[at].0.clone(), from.wrapping_add(offset))
            }
            Some(Known::Number(_)) => return self.refuse(instruction, "the address is that of no location"),
            _ => (Self::register(id), offset),
        };
        match offset {
            0 => Ok(format!("[{base}]")),
            1.. => Ok(format!("[{base}+{offset}]")),
            _ => self.refuse(instruction, "the address is before its location"),
        }
    }

    fn list(&self, state: &State, instruction: &Instruction, operand: Operand) -> Translated<String> {
        match operand {
            Operand::Vector(list) => {
                let elements = self.body.elements(list).iter();
                let elements = elements.map(|&o| self.value_or_target(state, instruction, o));
                Ok(format!("{{{}}}", elements.collect::<Translated<Vec<_>>>()?.join(", ")))
            }
            other => self.value_or_target(state, instruction, other),
        }
    }

    /// The operand of a store or the destination of a load.
    fn value_or_target(
        &self,
        state: &State,
        instruction: &Instruction,
        operand: Operand,
    ) -> Translated<String> {
        let load = self.module.op(instruction).opcode == Opcode::Ld;
        match operand {
            Operand::Register(id) if load => Ok(Self::register(id)),
            other => self.value(state, instruction, other),
        }
    }

    fn instruction(
        &mut self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<()> {
        let span = instruction.span;
        // What is known needs no instruction.
        let targets = written(self.body, op, operands);
        if self.compute(state, op, operands) != Known::Varies {
            if let (Known::Number(n), [id]) = (self.compute(state, op, operands), &targets[..])
                && self.kernel.registers[id.index()].ty != ScalarType::Pred
            {
                self.line(span, format!("mov {}, {n}", Self::register(*id)));
            }
            return Ok(());
        }
        let text = match op.opcode {
            Opcode::Ld | Opcode::St => self.access(state, instruction, op, operands)?,
            Opcode::Atom | Opcode::Red => self.atomic(state, instruction, op, operands)?,
            Opcode::Fence | Opcode::Membar => op.to_string(),
            Opcode::Bar | Opcode::Barrier => self.barrier(state, instruction, op, operands)?,
            Opcode::Setp => return self.compare(state, instruction, op, operands),
            Opcode::Mov | Opcode::Cvta => match (targets.first(), operands.get(1)) {
                (Some(&id), Some(&value)) => {
                    format!("mov {}, {}", Self::register(id), self.value(state, instruction, value)?)
                }
                _ => return self.refuse(instruction, "these operands have no counterpart"),
            },
            Opcode::Add
            | Opcode::Sub
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Min
            | Opcode::Max => {
                let &[dst, a, b] = operands else {
                    return self.refuse(instruction, "these operands have no counterpart");
                };
                let orders = matches!(op.opcode, Opcode::Min | Opcode::Max);
                match op.ty(0) {
                    Some(ty) if ty.is_float() || ty == ScalarType::Pred || !matches!(ty.bits(), 32 | 64) => {
                        return self.refuse(instruction, "only arithmetic of integers has a counterpart");
                    }
                    Some(ty) if orders && ty.is_signed() != (ty.bits() == 64) => {
                        return self
                            .refuse(instruction, "of this type, numbers are not ordered as in a test");
                    }
                    _ => {}
                }
                let name = op.opcode.text();
                let (a, b) = (self.value(state, instruction, a)?, self.value(state, instruction, b)?);
                let Operand::Register(dst) = dst else { return Ok(()) };
                let dst = Self::register(dst);
                self.line(span, format!("{name} {dst}, {a}, {b}"));
                if op.ty(0).is_some_and(|ty| ty.bits() == 32)
                    && matches!(op.opcode, Opcode::Add | Opcode::Sub)
                {
                    self.line(span, format!("and {dst}, {dst}, {}", u32::MAX));
                }
                return Ok(());
            }
            Opcode::Nanosleep => return Ok(()),
            _ => return self.refuse(instruction, "it has no counterpart"),
        };
        self.line(span, text);
        Ok(())
    }

    /// `.relaxed.gpu`, `.volatile`, nothing for weak.
    fn order(op: &Op) -> String {
        match op.order() {
            None | Some(MemOrder::Weak) => String::new(),
            Some(MemOrder::Volatile) => ".volatile".to_owned(),
            Some(MemOrder::Mmio) => ".mmio".to_owned(),
            Some(order) => {
                let name = match order {
                    MemOrder::Acquire => "acquire",
                    MemOrder::Release => "release",
                    MemOrder::AcqRel => "acq_rel",
                    _ => "relaxed",
                };
                format!(".{name}.{}", op.scope().map_or("gpu", scope_name))
            }
        }
    }

    /// `.u32`
    fn ty(&self, instruction: &Instruction, op: &Op) -> Translated<String> {
        match op.ty(0) {
            Some(ty) if !ty.is_float() && matches!(ty.bits(), 8 | 16 | 32 | 64) => {
                Ok(format!(".u{}", ty.bits()))
            }
            _ => self.refuse(instruction, "only integers of up to 64 bits have a counterpart"),
        }
    }

    fn access(
        &self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<String> {
        if !matches!(op.space(), StateSpace::Global | StateSpace::Generic) {
            return self.refuse(instruction, "only global memory has locations");
        }
        if op.has(Modifier::Nc) {
            return self.refuse(instruction, "the memory model does not speak of non-coherent loads");
        }
        let &[a, b] = operands else { return self.refuse(instruction, "these operands have no counterpart") };
        let vector = match op.vector() {
            1 => String::new(),
            n => format!(".v{n}"),
        };
        let name = format!("{}{}{vector}{}", op.opcode.text(), Self::order(op), self.ty(instruction, op)?);
        let name = if Self::order(op).is_empty() { name.replacen('.', ".weak.", 1) } else { name };
        Ok(if op.opcode == Opcode::Ld {
            format!("{name} {}, {}", self.list(state, instruction, a)?, self.address(state, instruction, b)?)
        } else {
            format!("{name} {}, {}", self.address(state, instruction, a)?, self.list(state, instruction, b)?)
        })
    }

    fn atomic(
        &self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<String> {
        if !matches!(op.space(), StateSpace::Global | StateSpace::Generic) || op.vector() > 1 {
            return self.refuse(instruction, "only scalar atomics of global memory have a counterpart");
        }
        let names = [
            (Modifier::Add, "add"),
            (Modifier::And, "and"),
            (Modifier::Or, "or"),
            (Modifier::Xor, "xor"),
            (Modifier::Min, "min"),
            (Modifier::Max, "max"),
            (Modifier::Inc, "inc"),
            (Modifier::Dec, "dec"),
            (Modifier::Exch, "exch"),
            (Modifier::Cas, "cas"),
        ];
        let Some(&(_, name)) = names.iter().find(|(modifier, _)| op.has(*modifier)) else {
            return self.refuse(instruction, "its operation has no counterpart");
        };
        let order = match op.order() {
            None => format!(".relaxed.{}", op.scope().map_or("gpu", scope_name)),
            Some(_) => Self::order(op),
        };
        if matches!(name, "min" | "max") && op.ty(0).is_none_or(ScalarType::is_signed) {
            return self.refuse(instruction, "signed numbers are not ordered as in a test");
        }
        let (dst, rest) = match operands {
            [dst, rest @ ..] if op.opcode == Opcode::Atom => (Some(*dst), rest),
            rest => (None, rest),
        };
        let [address, values @ ..] = rest else {
            return self.refuse(instruction, "these operands have no counterpart");
        };
        let mut parts = Vec::new();
        match dst {
            Some(Operand::Register(id)) => parts.push(Self::register(id)),
            Some(_) => return self.refuse(instruction, "an atomic without a destination; use `red`"),
            None => {}
        }
        parts.push(self.address(state, instruction, *address)?);
        for &value in values {
            parts.push(self.value(state, instruction, value)?);
        }
        Ok(format!("{}{order}.{name}{} {}", op.opcode.text(), self.ty(instruction, op)?, parts.join(", ")))
    }

    fn barrier(
        &self,
        state: &State,
        instruction: &Instruction,
        op: &Op,
        operands: &[Operand],
    ) -> Translated<String> {
        if op.has(Modifier::Cluster) {
            return Ok(op.to_string());
        }
        if op.has(Modifier::Warp) || !op.has(Modifier::Sync) {
            return self
                .refuse(instruction, "of the barriers, `bar.sync` and the cluster's have a counterpart");
        }
        let [id] = operands else {
            return self.refuse(instruction, "a count of threads: those of a litmus test are no whole warps");
        };
        Ok(format!("bar.sync {}", self.value(state, instruction, *id)?))
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
        if *self.predicates.entry(id).or_insert(branch) != branch {
            return self.refuse(instruction, "the predicate is also the result of another comparison");
        }
        let orders = !matches!(branch, "beq" | "bne");
        let ty = op.ty(0);
        if orders && ty.is_none_or(|ty| ty.bits() == 64 && !ty.is_signed()) {
            return self.refuse(instruction, "of this type, numbers are not ordered as in a test");
        }
        for (register, operand) in [(2 * id.index(), a), (2 * id.index() + 1, b)] {
            let value = match self.operand(state, operand) {
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

/// A number as registers hold it: without sign if it has fewer than 64 bits.
fn unsigned(ty: Option<ScalarType>, value: i64) -> i64 {
    match ty.map_or(64, ScalarType::bits) {
        bits @ 1..64 => value & ((1 << bits) - 1),
        _ => value,
    }
}

/// The value of a number that registers hold.
fn signed(ty: Option<ScalarType>, value: i64) -> i64 {
    match ty {
        Some(ty) if ty.is_signed() && ty.bits() < 64 => {
            let shift = 64 - ty.bits();
            value << shift >> shift
        }
        _ => value,
    }
}

/// The branch of the dialect that compares as a `setp` does.
fn comparison(op: &Op) -> Option<&'static str> {
    let ty = op.ty(0)?;
    if ty.is_float() || op.has(Modifier::And) || op.has(Modifier::Or) || op.has(Modifier::Xor) {
        return None;
    }
    let names = [
        (Modifier::Eq, "beq"),
        (Modifier::Ne, "bne"),
        (Modifier::Lt, "blt"),
        (Modifier::Le, "ble"),
        (Modifier::Gt, "bgt"),
        (Modifier::Ge, "bge"),
    ];
    names.iter().find(|(modifier, _)| op.has(*modifier)).map(|(_, name)| *name)
}

/// Registers that an instruction writes.
fn written(body: &Body, op: &Op, operands: &[Operand]) -> Vec<RegId> {
    if matches!(
        op.opcode,
        Opcode::St
            | Opcode::Red
            | Opcode::Fence
            | Opcode::Membar
            | Opcode::Bar
            | Opcode::Barrier
            | Opcode::Nanosleep
    ) {
        return Vec::new();
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
