//! Instruction statements.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::body::Patch;
use super::names::Entity;
use super::tokens::Name;
use super::{Done, Parser, Stop};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{Address, AddressBase, Guard, Instruction, LabelId, OpId, Operand, OperandList};
use crate::span::Span;
use crate::table::{Effects, Form, OperandView, Resolved, check_operands, resolve_op};
use isa::{Modifiers, Opcode};
use isa::{ScalarType, StateSpace};

/// Distinct opcode texts, each matched against the table once.
#[derive(Default)]
pub(super) struct Ops<'a> {
    by_text: FxHashMap<&'a str, u32>,
    /// Opcodes that were written with blanks between their parts.
    by_joined: FxHashMap<Box<str>, u32>,
    /// Texts that the table does not have.
    unknown: FxHashSet<&'a str>,
    entries: Vec<OpEntry>,
}

struct OpEntry {
    resolved: Resolved,
    /// Operands decide which of the rows fits: an op for each row met.
    forms: SmallVec<[((Form, Effects), OpId); 2]>,
}

/// What `array[index]` is to an instruction, as ptxas has it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Element {
    /// Nothing that it takes.
    #[default]
    Refused,
    /// The address itself.
    Value,
    /// What is there.
    Memory,
}

/// The operands of the instruction that is being read.
#[derive(Default)]
pub(super) struct Operands<'a> {
    pub(super) list: SmallVec<[Operand; 8]>,
    pub(super) spans: SmallVec<[Span; 8]>,
    /// Labels to be settled: operand and name.
    pub(super) labels: SmallVec<[(u32, Name<'a>); 1]>,
    /// What `array[1]` is to the instruction.
    pub(super) element: Element,
    /// Their opcode, if the table has it.
    entry: Option<u32>,
    /// Positions of `variable+offset`.
    pub(super) offsets: SmallVec<[u32; 1]>,
    /// Operands that instructions before this one compute: what they are checked as stays in `list`.
    pub(super) computed: SmallVec<[(u32, Operand); 1]>,
    /// Those instructions.
    pub(super) before: SmallVec<[(OpId, SmallVec<[Operand; 4]>); 2]>,
    /// Something was wrong and has been reported.
    pub(super) bad: bool,
}

impl<'a> Parser<'a> {
    /// `@p opcode operands;`
    pub(super) fn instruction(&mut self) -> Done {
        let start = self.span().start;
        let guard = if self.kind() == TokenKind::At { self.guard()? } else { Ok(None) };
        let entry = self.opcode()?;
        let mut operands = Operands { bad: guard.is_err() || entry.is_none(), ..Operands::default() };
        let opcode = entry.map(|entry| self.ops.entries[entry as usize].resolved.op.opcode);
        operands.entry = entry;
        operands.element = match opcode {
            Some(Opcode::Mov | Opcode::Cvta) => Element::Value,
            Some(Opcode::Ld | Opcode::Ldu | Opcode::St) => Element::Memory,
            _ => Element::Refused,
        };
        match opcode {
            Some(Opcode::Call) => self.call_operands(&mut operands)?,
            _ => self.operands(opcode, &mut operands)?,
        }
        if self.kind() != TokenKind::Semicolon {
            return self.expected(if operands.list.is_empty() { "an operand or `;`" } else { "`;`" });
        }
        self.bump();
        let span = self.since(start);
        let (Some(entry), Ok(guard), false) = (entry, guard, operands.bad) else { return Ok(()) };
        if !self.parameters_used_right(opcode, &operands) || !self.source_fits(opcode, &operands) {
            return Ok(());
        }
        let Some(op) = self.check(entry, &mut operands, span) else { return Ok(()) };
        for (op, list) in std::mem::take(&mut operands.before) {
            self.push_instruction(op, None, &Operands { list: list[..].into(), ..Operands::default() }, span);
        }
        for &(at, operand) in &operands.computed {
            operands.list[at as usize] = operand;
        }
        self.push_instruction(op, guard, &operands, span);
        Ok(())
    }

    fn push_instruction(&mut self, op: OpId, guard: Option<Guard>, operands: &Operands<'a>, span: Span) {
        let start = self.state.body.operand_pool.len() as u32;
        self.state.body.operand_pool.extend_from_slice(&operands.list);
        for &(at, name) in &operands.labels {
            self.pend(name.text.into(), name.span, Patch::Operand(start + at));
        }
        self.state.body.instructions.push(Instruction {
            op,
            guard,
            operands: OperandList { start, len: operands.list.len() as u32 },
            location: self.debug.current,
            span,
        });
    }

    /// `cp.async` cannot take more bytes than it copies.
    fn source_fits(&mut self, opcode: Option<Opcode>, operands: &Operands<'a>) -> bool {
        let (
            Some(Opcode::Cp),
            [Operand::Address(_), Operand::Address(_), Operand::Integer(copied), Operand::Integer(taken), ..],
        ) = (opcode, &operands.list[..])
        else {
            return true;
        };
        if *copied >= *taken || *taken > 16 {
            return true;
        }
        let message = format!("`cp.async` of {copied} bytes with a source of {taken}");
        let error = Diagnostic::error(codes::CONSTANT_VALUE, operands.spans[3], message);
        self.error(error.caption(format!("must be from 0 to {copied}")));
        false
    }

    /// What ISA 5.1.6.4 forbids: taking the address of a local `.param` variable, writing parameters,
    /// reading return parameters.
    fn parameters_used_right(&mut self, opcode: Option<Opcode>, operands: &Operands<'a>) -> bool {
        if opcode == Some(Opcode::Call) {
            return true;
        }
        for (&operand, &span) in operands.list.iter().zip(&operands.spans) {
            let (id, taken) = match operand {
                Operand::Variable(id, _) => (id, true),
                Operand::Address(Address { base: AddressBase::Variable(id), .. }) => (id, false),
                _ => continue,
            };
            let variable = &self.module.variables[id.index()];
            if variable.space != StateSpace::Param {
                continue;
            }
            let [returns, params] = &self.formals;
            let (returned, passed) = (returns.contains(&id.0), params.contains(&id.0));
            let problem = match opcode {
                _ if taken && !returned && !passed => {
                    "the address of a local `.param` variable cannot be taken"
                }
                Some(Opcode::St) if passed && !taken => "a parameter cannot be written",
                Some(Opcode::Ld) if returned => "a return parameter cannot be read",
                _ => continue,
            };
            let declared = variable.span;
            self.error(Diagnostic::error(codes::PARAMETER, span, problem).label(declared, "declared here"));
            return false;
        }
        true
    }

    /// Matches the operands against the table; the op of the row that fits.
    fn check(&mut self, entry: u32, operands: &mut Operands<'a>, span: Span) -> Option<OpId> {
        let errors = self.report.errors();
        if !operands.offsets.is_empty() && self.fit(entry, operands, span, &mut Vec::new()).is_none() {
            self.compute_offsets(entry, operands, span);
        }
        let mut list = std::mem::take(&mut self.report.list);
        let fit = self.fit(entry, operands, span, &mut list);
        self.report.list = list;
        self.report.settle();
        let fit = fit.filter(|_| self.report.errors() == errors)?;
        let entry = &mut self.ops.entries[entry as usize];
        if let Some(&(_, id)) = entry.forms.iter().find(|(other, _)| *other == fit) {
            return Some(id);
        }
        let id = OpId(self.module.ops.len() as u32);
        let (form, effects) = fit;
        self.module.ops.push(crate::Op { form, effects, ..entry.resolved.op.clone() });
        entry.forms.push((fit, id));
        Some(id)
    }

    /// Bits of the last type of the instruction that is being read; 0 if it has none.
    pub(super) fn width(&self, operands: &Operands<'a>) -> u32 {
        let op = operands.entry.map(|entry| &self.ops.entries[entry as usize].resolved.op);
        op.and_then(|op| op.types().last()).map_or(0, ScalarType::bits)
    }

    /// The row that the operands fit, or what is wrong with them.
    pub(super) fn fit(
        &self,
        entry: u32,
        operands: &Operands<'a>,
        span: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(Form, Effects)> {
        let entry = &self.ops.entries[entry as usize];
        let op = &entry.resolved.op;
        if op.opcode == Opcode::Call {
            return Some((op.form, op.effects));
        }
        let register_type = |id: crate::RegId| {
            self.names.registers.get(id.index()).map_or(ScalarType::B32, |register| register.ty)
        };
        let variable = |id: crate::VarId| {
            let variable = &self.module.variables[id.index()];
            (variable.space, variable.ty)
        };
        let view = OperandView {
            operands: &operands.list,
            spans: &operands.spans,
            computed: &operands.computed,
            pool: &self.state.body.operand_pool,
            register_type: &register_type,
            variable: &variable,
            span,
        };
        check_operands(&self.context, &entry.resolved, &view, diagnostics)
    }

    /// The op of an instruction that the text does not have.
    pub(super) fn op_for(&mut self, text: &'static str, list: &[Operand], span: Span) -> Done<OpId> {
        let entry = match self.ops.by_text.get(text) {
            Some(&entry) => entry,
            None => {
                let mut words = text.split('.').map(|word| (word, span));
                let opcode = words.next().unwrap_or((text, span));
                let words: SmallVec<[(&str, Span); 4]> = words.collect();
                let entry = self.resolve(opcode, &words).ok_or(Stop)?;
                self.ops.by_text.insert(text, entry);
                entry
            }
        };
        let spans = list.iter().map(|_| span).collect();
        let mut operands = Operands { list: list.into(), spans, ..Operands::default() };
        self.check(entry, &mut operands, span).ok_or(Stop)
    }

    /// `@p`, `@!p`
    fn guard(&mut self) -> Done<Result<Option<Guard>, ()>> {
        let at = self.bump().span;
        let negated = self.eat(TokenKind::Bang);
        if self.kind() != TokenKind::Word {
            return self.expected("a predicate register after `@`");
        }
        let name = Name { text: self.word(), span: self.span() };
        self.bump();
        if self.kind() == TokenKind::OpenBrace {
            self.error(
                Diagnostic::error(codes::SYNTAX, at.to(name.span), "a guard cannot apply to a block")
                    .help("guard each instruction, or branch around the block"),
            );
            self.resume_here = true;
            return Err(Stop);
        }
        let Some(register) = self.scalar_register(name) else { return Ok(Err(())) };
        let ty = self.names.registers[register.index()].ty;
        if ty != ScalarType::Pred {
            self.error(
                Diagnostic::error(
                    codes::GUARD,
                    name.span,
                    format!("the guard `{}` is no predicate", name.text),
                )
                .caption(format!("has the type `{ty}`"))
                .help("compare with `setp` first"),
            );
            return Ok(Err(()));
        }
        Ok(Ok(Some(Guard { register, negated })))
    }

    /// The opcode; `None` if the table does not have it, which is reported then.
    fn opcode(&mut self) -> Done<Option<u32>> {
        if self.kind() != TokenKind::Word {
            return self.expected("an instruction");
        }
        let (text, span) = (self.word(), self.span());
        self.bump();
        if self.kind() == TokenKind::Directive {
            return Ok(self.joined_opcode(text, span));
        }
        if let Some(&entry) = self.ops.by_text.get(text) {
            return Ok(Some(entry));
        }
        if self.ops.unknown.contains(text) && self.report.overflows() {
            return Ok(None);
        }
        let mut words: SmallVec<[(&str, Span); 8]> = SmallVec::new();
        let mut at = span.start;
        for part in text.split('.') {
            let end = at + part.len() as u32;
            words.push((part, Span::new(at, end)));
            at = end + 1;
        }
        let entry = self.resolve(words[0], &words[1..]);
        match entry {
            Some(entry) => drop(self.ops.by_text.insert(text, entry)),
            None => drop(self.ops.unknown.insert(text)),
        }
        Ok(entry)
    }

    /// `ld .param .u32`: the parts stand apart.
    fn joined_opcode(&mut self, first: &'a str, span: Span) -> Option<u32> {
        let mut joined = String::from(first);
        let mut words: SmallVec<[(&str, Span); 8]> = SmallVec::new();
        let mut at = span.start;
        for part in first.split('.') {
            let end = at + part.len() as u32;
            words.push((part, Span::new(at, end)));
            at = end + 1;
        }
        while self.kind() == TokenKind::Directive {
            let span = self.span();
            joined.push_str(self.word());
            words.push((&self.word()[1..], Span::new(span.start + 1, span.end)));
            self.bump();
        }
        if let Some(&entry) = self.ops.by_joined.get(joined.as_str()) {
            return Some(entry);
        }
        let entry = self.resolve(words[0], &words[1..])?;
        self.ops.by_joined.insert(joined.into(), entry);
        Some(entry)
    }

    fn resolve(&mut self, opcode: (&str, Span), words: &[(&str, Span)]) -> Option<u32> {
        let resolved = resolve_op(&self.context, opcode, words, &mut self.report.list);
        self.report.settle();
        self.ops.entries.push(OpEntry { resolved: resolved?, forms: SmallVec::new() });
        Some(self.ops.entries.len() as u32 - 1)
    }

    /// The operands up to the `;`.
    fn operands(&mut self, opcode: Option<Opcode>, operands: &mut Operands<'a>) -> Done {
        if self.kind() == TokenKind::Semicolon {
            return Ok(());
        }
        loop {
            let start = self.span().start;
            let operand = match opcode {
                Some(Opcode::Bra) => self.label_operand(operands)?,
                Some(Opcode::Brx) if operands.list.len() == 1 => self.targets_operand(operands)?,
                _ => self.operand_or_sum(operands)?,
            };
            operands.list.push(operand);
            operands.spans.push(self.since(start));
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    /// The label of a branch, which may follow later.
    fn label_operand(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        if self.kind() != TokenKind::Word {
            return self.expected("a label");
        }
        let name = Name { text: self.word(), span: self.span() };
        self.bump();
        // A label of an outer block may yet be shadowed by one that follows in this block.
        match self.names.find_here(name.text) {
            Some(Entity::Label(id)) => Ok(Operand::Label(id)),
            Some(entity @ (Entity::BranchTargets(_) | Entity::Prototype(_))) => {
                self.wrong_label(name.span, name.text, entity);
                operands.bad = true;
                Ok(Operand::Sink)
            }
            _ => {
                operands.labels.push((operands.list.len() as u32, name));
                Ok(Operand::Label(LabelId(u32::MAX)))
            }
        }
    }

    /// The list of branch targets of a `brx.idx`, which must stand before it.
    fn targets_operand(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        if self.kind() != TokenKind::Word {
            return self.expected("a list of branch targets");
        }
        let name = Name { text: self.word(), span: self.span() };
        self.bump();
        match self.names.find_bound(name.text) {
            Some((Entity::BranchTargets(id), _)) => return Ok(Operand::BranchTargets(id)),
            Some((entity, _)) => self.wrong_label(name.span, name.text, entity),
            None => self.undefined(name, "the list of branch targets"),
        }
        operands.bad = true;
        Ok(Operand::Sink)
    }

    /// Gives up an instruction for a reason that was reported.
    pub(super) fn stop<T>(&mut self, diagnostic: Diagnostic) -> Done<T> {
        self.error(diagnostic);
        Err(Stop)
    }
}
