//! Function bodies: blocks, labels and the statements that are no instructions.

use rustc_hash::FxHashMap;
use std::borrow::Cow;

use super::declaration::space;
use super::function::{Formal, Preserved, name_list, prototype};
use super::names::Entity;
use super::tokens::Name;
use super::{Done, Parser, Stop};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{
    Body, BranchTargetsId, FuncId, LabelId, LabelInfo, Linkage, Operand, Param, Prototype, PrototypeId,
};
use crate::span::Span;

/// How deep blocks may nest.
const DEPTH: usize = 1000;

/// Where a label is to be put once it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patch {
    /// A position in the operand pool; what is there says what kind of label is wanted.
    Operand(u32),
    /// An entry of a `.branchtargets` list.
    Target(BranchTargetsId, u32),
}

/// A use of a label before its definition.
#[derive(Clone, Copy, Debug)]
struct Pending {
    serial: u32,
    span: Span,
    patch: Patch,
}

/// The body that is being read.
#[derive(Default)]
pub(super) struct BodyState<'a> {
    pub(super) body: Body,
    pending: FxHashMap<Cow<'a, str>, Vec<Pending>>,
    serial: u32,
    /// Labels defined in the open blocks.
    defined: Vec<&'a str>,
    /// Per open block: its brace, the length of `defined` and the serial number when it was opened.
    blocks: Vec<(Span, usize, u32)>,
}

impl<'a> Parser<'a> {
    /// A function body after its `{`.
    pub(super) fn body(&mut self, id: FuncId, returns: &[Formal<'a>], params: &[Formal<'a>]) {
        self.unknown.clear();
        self.begin_locations();
        self.state = BodyState::default();
        let shared = !self.shared_by_functions.is_empty();
        if shared {
            self.names.open();
            self.declare_shared_by_functions(self.module.functions[id.index()].kind);
        }
        self.open_block();
        self.declare_parameters(id, returns, params);
        while !self.state.blocks.is_empty() {
            let start = self.at;
            self.resume_here = false;
            match self.kind() {
                TokenKind::End => {
                    self.unclosed();
                    break;
                }
                TokenKind::OpenBrace => {
                    self.bump();
                    self.open_inner_block();
                }
                TokenKind::CloseBrace => {
                    self.bump();
                    self.close_block();
                }
                TokenKind::Directive if self.begins_function() => {
                    self.unclosed();
                    break;
                }
                _ => {
                    if self.statement().is_err() && !(self.resume_here && self.at > start) {
                        self.skip_statement(start);
                    }
                }
            }
        }
        while !self.state.blocks.is_empty() {
            self.close_block();
        }
        if shared {
            self.names.close();
        }
        self.undefined_labels();
        let mut body = std::mem::take(&mut self.state).body;
        body.locations = std::mem::take(&mut self.debug.locations);
        body.instructions.shrink_to_fit();
        body.operand_pool.shrink_to_fit();
        let function = &mut self.module.functions[id.index()];
        function.registers = self.names.take_registers();
        function.body = Some(body);
    }

    fn declare_parameters(&mut self, id: FuncId, returns: &[Formal<'a>], params: &[Formal<'a>]) {
        let function = &self.module.functions[id.index()];
        self.names.registers = function.registers.clone();
        let list: Vec<Param> = function.returns.iter().chain(&function.params).copied().collect();
        let mut list = list.into_iter();
        for (head, declarator) in returns.iter().chain(params) {
            let name = declarator.name;
            let Some(param) = list.next() else { return };
            let declared = match param {
                Param::Variable(id) => self.names.declare(name.text, Entity::Variable(id), name.span),
                Param::Register(id) => {
                    // The other components.
                    list.by_ref().take(head.vector as usize - 1).for_each(drop);
                    self.names.declare_parameter(name.text, head.ty, head.vector, id, name.span)
                }
            };
            if let Err(earlier) = declared {
                self.redeclared(name, earlier.span);
            }
        }
    }

    fn begins_function(&self) -> bool {
        matches!(self.word(), ".visible" | ".entry" | ".func" | ".weak" | ".extern")
            && self.first_on_line(self.at)
    }

    fn unclosed(&mut self) {
        let Some(&(open, ..)) = self.state.blocks.last() else { return };
        let function = &self.module.functions[self.function.index()];
        let (name, header) = (function.name.clone(), function.span);
        let mut error = if self.state.blocks.len() == 1 {
            Diagnostic::error(codes::UNBALANCED, open, format!("the body of `{name}` is not closed"))
                .caption("this `{` has no `}`")
        } else {
            Diagnostic::error(codes::UNBALANCED, open, format!("a block in `{name}` is not closed"))
                .caption("this `{` has no `}`")
                .label(header, "in this function")
        };
        if self.kind() != TokenKind::End {
            error = error.label(self.span(), "something else begins here");
        }
        self.error(error);
    }

    /// A block in a block; one that is nested too deeply is read over.
    fn open_inner_block(&mut self) {
        if self.state.blocks.len() < DEPTH {
            return self.open_block();
        }
        let span = self.tokens[self.at - 1].span;
        let message = format!("blocks are nested deeper than {DEPTH} levels");
        self.error(Diagnostic::error(codes::TOO_DEEP, span, message));
        self.skip_block();
    }

    fn open_block(&mut self) {
        let brace = self.tokens[self.at.saturating_sub(1)].span;
        self.state.blocks.push((brace, self.state.defined.len(), self.state.serial));
        self.names.open();
    }

    /// Leaves a block: uses of its labels that came before them are settled.
    fn close_block(&mut self) {
        let Some((_, labels, serial)) = self.state.blocks.pop() else { return };
        for at in labels..self.state.defined.len() {
            let text = self.state.defined[at];
            let Some((entity, _)) = self.names.find_bound(text) else { continue };
            let Some(list) = self.state.pending.get_mut(text) else { continue };
            let first = list.partition_point(|pending| pending.serial < serial);
            let settled = list.split_off(first);
            for pending in settled {
                self.patch(pending, text, entity);
            }
        }
        self.state.defined.truncate(labels);
        self.names.close();
    }

    fn patch(&mut self, pending: Pending, text: &str, entity: Entity) {
        let body = &mut self.state.body;
        match pending.patch {
            Patch::Operand(at) => {
                let operand = &mut body.operand_pool[at as usize];
                match (*operand, entity) {
                    (Operand::Label(_), Entity::Label(id)) => *operand = Operand::Label(id),
                    _ => self.wrong_label(pending.span, text, entity),
                }
            }
            Patch::Target(list, at) => match entity {
                Entity::Label(id) => body.branch_targets[list.index()][at as usize] = id,
                _ => self.wrong_label(pending.span, text, entity),
            },
        }
    }

    pub(super) fn wrong_label(&mut self, span: Span, text: &str, entity: Entity) {
        let message = format!("`{text}` cannot be used here");
        self.error(
            Diagnostic::error(codes::WRONG_KIND, span, message)
                .caption(format!("this is {}", super::describe(entity))),
        );
    }

    fn undefined_labels(&mut self) {
        let mut left: Vec<(Span, Cow<'a, str>)> = self
            .state
            .pending
            .iter()
            .filter_map(|(text, list)| list.first().map(|pending| (pending.span, text.clone())))
            .collect();
        left.sort_by_key(|(span, _)| span.start);
        for (span, text) in left {
            if self.report.overflows() {
                continue;
            }
            let labels = &self.state.body.labels;
            let mut error =
                Diagnostic::error(codes::UNDEFINED, span, format!("the label `{text}` is not defined"))
                    .caption("not in this block or one around it");
            if labels.iter().any(|label| *label.name == *text) {
                error = error.help("a label inside another block cannot be reached from here");
            } else if let Some(near) = super::closest(&text, labels.iter().map(|label| &*label.name)) {
                error = error.help(format!("did you mean `{near}`?"));
            }
            self.error(error);
        }
    }

    /// Remembers a use of a label that is not defined yet.
    pub(super) fn pend(&mut self, text: Cow<'a, str>, span: Span, patch: Patch) {
        let serial = self.state.serial;
        self.state.serial += 1;
        self.state.pending.entry(text).or_default().push(Pending { serial, span, patch });
    }

    /// After an error: goes past the `;` that ends the statement, or to a brace that does.
    fn skip_statement(&mut self, start: usize) {
        if self.statement_consumed(start) {
            return;
        }
        let stuck = self.at == start && !matches!(self.kind(), TokenKind::CloseBrace | TokenKind::End);
        if stuck && self.bump().kind == TokenKind::Semicolon {
            return;
        }
        let mut depth = self.open_braces(start);
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Semicolon => {
                    self.bump();
                    return;
                }
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace if depth == 0 => return,
                TokenKind::CloseBrace => depth -= 1,
                TokenKind::Directive if self.begins_function() => return,
                _ => {}
            }
            self.bump();
        }
    }

    fn statement(&mut self) -> Done {
        match self.kind() {
            TokenKind::Word if self.kind_at(1) == TokenKind::Colon => self.label(),
            TokenKind::Word | TokenKind::At => self.instruction(),
            TokenKind::Directive => self.body_directive(),
            TokenKind::Semicolon => {
                let span = self.span();
                self.error(
                    Diagnostic::error(codes::SYNTAX, span, "an empty statement").caption("remove this `;`"),
                );
                self.bump();
                Ok(())
            }
            TokenKind::Invalid => Err(Stop),
            _ => self.expected("an instruction, a directive, a label or `}`"),
        }
    }

    fn body_directive(&mut self) -> Done {
        let start = self.span();
        match self.word() {
            word if space(word).is_some() => self.variables(Linkage::Internal, start),
            ".loc" => self.location(),
            ".pragma" => {
                let list = self.pragma()?;
                let pragmas = &mut self.module.functions[self.function.index()].tuning.pragmas;
                pragmas.extend(list);
                Ok(())
            }
            ".loc_intermediate" => {
                self.require(".loc_intermediate", start);
                self.location_intermediate()
            }
            ".branchtargets" | ".calltargets" | ".callprototype" => {
                let message = format!("`{}` needs a label", self.word());
                self.error(
                    Diagnostic::error(codes::SYNTAX, start, message)
                        .help(format!("write `name: {}`", self.word())),
                );
                Err(Stop)
            }
            ".file" | ".section" | ".version" | ".target" | ".address_size" | ".alias" => {
                let message = format!("`{}` inside a function", self.word());
                self.error(
                    Diagnostic::error(codes::MISPLACED, start, message).caption("belongs to module scope"),
                );
                Err(Stop)
            }
            _ => self.unknown_directive(BODY_DIRECTIVES),
        }
    }

    /// `name:`, and the directive that it may name.
    fn label(&mut self) -> Done {
        let name = Name { text: self.word(), span: self.span() };
        if name.text.contains('.') {
            let message = "a label cannot hold a dot";
            self.error(Diagnostic::error(codes::SYNTAX, name.span, message));
        }
        self.at += 2;
        if self.kind() == TokenKind::Directive {
            self.require(self.word(), self.span());
        }
        let entity = match self.kind() {
            TokenKind::Directive if self.word() == ".branchtargets" => self.branch_targets()?,
            TokenKind::Directive if self.word() == ".callprototype" => {
                self.bump();
                let syntax = self.rule(prototype)?;
                let mut preserved = Preserved::default();
                for (directive, count) in &syntax.preserved {
                    self.require(directive.text, directive.span);
                    self.preserve(directive.text, directive.span, *count, &mut preserved);
                }
                let (returns, params) = (self.layouts(&syntax.returns), self.layouts(&syntax.params));
                let proto = Prototype {
                    name: name.text.into(),
                    returns,
                    params,
                    noreturn: syntax.noreturn,
                    targets: None,
                };
                self.add_prototype(proto)
            }
            TokenKind::Directive if self.word() == ".calltargets" => self.call_targets(name)?,
            _ => {
                let id = LabelId(self.state.body.labels.len() as u32);
                let target = self.state.body.instructions.len() as u32;
                self.state.body.labels.push(LabelInfo { name: name.text.into(), target });
                Entity::Label(id)
            }
        };
        match self.names.declare(name.text, entity, name.span) {
            Ok(()) => self.state.defined.push(name.text),
            Err(earlier) => self.redeclared(name, earlier.span),
        }
        Ok(())
    }

    fn add_prototype(&mut self, prototype: Prototype) -> Entity {
        self.state.body.prototypes.push(prototype);
        Entity::Prototype(PrototypeId(self.state.body.prototypes.len() as u32 - 1))
    }

    fn branch_targets(&mut self) -> Done<Entity> {
        self.bump();
        let names = self.rule(name_list)?;
        let list = BranchTargetsId(self.state.body.branch_targets.len() as u32);
        self.state.body.branch_targets.push(Vec::new());
        for (name, count) in names {
            if let Some(count) = count {
                self.label_range(list, name, count);
                continue;
            }
            self.target_label(list, name.text.into(), name.span);
        }
        Ok(Entity::BranchTargets(list))
    }

    fn target_label(&mut self, list: BranchTargetsId, text: Cow<'a, str>, span: Span) {
        let targets = &mut self.state.body.branch_targets[list.index()];
        if let Some(Entity::Label(id)) = self.names.find_here(&text) {
            targets.push(id);
            return;
        }
        let at = targets.len() as u32;
        targets.push(LabelId(u32::MAX));
        self.pend(text, span, Patch::Target(list, at));
    }

    /// `L<3>` in a list of branch targets: the labels `L0` to `L2`.
    fn label_range(&mut self, list: BranchTargetsId, name: Name<'a>, count: u64) {
        if !self.afford_range(name, count) {
            return;
        }
        for number in 0..count {
            self.target_label(list, format!("{}{number}", name.text).into(), name.span);
        }
    }

    fn call_targets(&mut self, label: Name<'a>) -> Done<Entity> {
        self.bump();
        let names = self.rule(name_list)?;
        let mut targets = Vec::with_capacity(names.len());
        for (name, count) in names {
            match self.names.find_bound(name.text) {
                Some((Entity::Function(id), _)) if count.is_none() => targets.push(id),
                Some((entity, _)) => self.wrong_label(name.span, name.text, entity),
                None => self.undefined(name, "the function"),
            }
        }
        let (returns, params) = match targets.first() {
            Some(&first) => self.function_layouts(first),
            None => (Vec::new(), Vec::new()),
        };
        if let Some(&other) = targets.iter().skip(1).find(|&&id| self.signature_differs(targets[0], id)) {
            let (first, other) =
                (&self.module.functions[targets[0].index()], &self.module.functions[other.index()]);
            let message = format!("`{}` and `{}` have different parameters", first.name, other.name);
            self.error(
                Diagnostic::error(codes::CALL, label.span, message)
                    .help("all functions of a `.calltargets` list must have one signature"),
            );
        }
        Ok(self.add_prototype(Prototype {
            name: label.text.into(),
            returns,
            params,
            noreturn: false,
            targets: Some(targets),
        }))
    }
}

pub(super) const BODY_DIRECTIVES: &[&str] = &[
    ".reg",
    ".param",
    ".local",
    ".shared",
    ".global",
    ".const",
    ".loc",
    ".pragma",
    ".branchtargets",
    ".calltargets",
    ".callprototype",
];
