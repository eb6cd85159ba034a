//! Operands of `call` (ISA 9.7.12.5).
//!
//! A call always has the operands: returned values, callee, arguments, and for calls through a register
//! the prototype. Lists that the text leaves out are empty vectors.

use smallvec::SmallVec;

use super::instruction::Operands;
use super::names::Entity;
use super::tokens::Name;
use super::{Done, Parser};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{FuncId, Function, FunctionKind, Operand, Param, ParamLayout};
use crate::span::Span;
use isa::{ScalarType, StateSpace};

impl<'a> Parser<'a> {
    /// `(returns), callee, (arguments), prototype`
    pub(super) fn call_operands(&mut self, operands: &mut Operands<'a>) -> Done {
        let start = self.span();
        let returns = if self.kind() == TokenKind::OpenParen {
            let list = self.call_list(operands)?;
            self.expect(TokenKind::Comma)?;
            list
        } else {
            Operand::Vector(self.push_elements(&[]))
        };
        let returns_span = self.since(start.start);
        let callee_span = self.span();
        if self.kind() != TokenKind::Word {
            return self.expected("a function or a register that holds its address");
        }
        let callee = self.operand(operands)?;
        let mut arguments = None;
        let mut prototype = None;
        let mut arguments_span = callee_span;
        while self.eat(TokenKind::Comma) {
            let span = self.span();
            if self.kind() == TokenKind::OpenParen && arguments.is_none() && prototype.is_none() {
                arguments = Some(self.call_list(operands)?);
                arguments_span = self.since(span.start);
            } else if prototype.is_none() {
                prototype = Some(self.call_prototype(operands)?);
            } else {
                return self.expected("`;`");
            }
        }
        let arguments = match arguments {
            Some(list) => list,
            None => Operand::Vector(self.push_elements(&[])),
        };
        operands.list.extend([returns, callee, arguments]);
        operands.spans.extend([returns_span, callee_span, arguments_span]);
        if let Some((prototype, span)) = prototype {
            operands.list.push(prototype);
            operands.spans.push(span);
        }
        if !operands.bad {
            operands.bad = !self.check_call(operands);
        }
        self.spread(operands);
        Ok(())
    }

    /// Replaces the vectors in the lists by their components, of which the callee knows.
    fn spread(&mut self, operands: &mut Operands<'a>) {
        for at in [0, 2] {
            let Operand::Vector(list) = operands.list[at] else { continue };
            let elements = self.state.body.elements(list);
            if elements.iter().any(|element| matches!(element, Operand::Vector(_))) {
                let mut all: SmallVec<[Operand; 8]> = SmallVec::new();
                for element in elements {
                    match *element {
                        Operand::Vector(inner) => all.extend_from_slice(self.state.body.elements(inner)),
                        other => all.push(other),
                    }
                }
                operands.list[at] = Operand::Vector(self.push_elements(&all));
            }
        }
    }

    /// `(a, b, …)`, perhaps empty.
    fn call_list(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        self.bump();
        let mut elements: SmallVec<[Operand; 8]> = SmallVec::new();
        if !self.eat(TokenKind::CloseParen) {
            loop {
                match self.kind() {
                    TokenKind::OpenBracket | TokenKind::OpenBrace => {
                        return self.expected("a register, a `.param` variable or a constant");
                    }
                    _ => {
                        let name = Name { text: self.word(), span: self.span() };
                        let element = self.operand(operands)?;
                        if matches!(element, Operand::Register(_)) && name.text.contains('.') {
                            let message = "a component of a vector cannot be passed";
                            let help = "`mov` it to a register first, or pass the vector";
                            let error = Diagnostic::error(codes::CALL, name.span, message).help(help);
                            return self.stop(error);
                        }
                        elements.push(element);
                    }
                }
                if self.eat(TokenKind::Comma) {
                    continue;
                }
                if self.eat(TokenKind::CloseParen) {
                    break;
                }
                return self.expected("`,` or `)`");
            }
        }
        Ok(Operand::Vector(self.push_elements(&elements)))
    }

    fn call_prototype(&mut self, operands: &mut Operands<'a>) -> Done<(Operand, Span)> {
        let span = self.span();
        if self.kind() != TokenKind::Word {
            return self.expected("a call prototype");
        }
        // A table of functions in memory serves as the list of targets, too.
        if let Some((Entity::Variable(id), _)) = self.names.find(self.word()) {
            self.bump();
            return Ok((Operand::Variable(id, 0), span));
        }
        let name = Name { text: self.word(), span };
        self.bump();
        match self.names.find_bound(name.text) {
            Some((Entity::Prototype(id), _)) => return Ok((Operand::Prototype(id), span)),
            Some((entity, _)) => self.wrong_label(span, name.text, entity),
            None => self.undefined(name, "the prototype"),
        }
        operands.bad = true;
        Ok((Operand::Sink, span))
    }

    /// Sizes and alignments of a function's return parameters and parameters.
    pub(super) fn function_layouts(&self, id: FuncId) -> (Vec<ParamLayout>, Vec<ParamLayout>) {
        let function = &self.module.functions[id.index()];
        let list = |params: &[Param]| {
            let mut layouts: Vec<ParamLayout> = Vec::with_capacity(params.len());
            for param in params {
                let layout = self.param_layout(function, param);
                match layouts.last_mut() {
                    Some(vector) if is_further_component(function, param) => vector.size += layout.size,
                    _ => layouts.push(layout),
                }
            }
            layouts
        };
        (list(&function.returns), list(&function.params))
    }

    fn param_layout(&self, function: &Function, param: &Param) -> ParamLayout {
        match *param {
            Param::Variable(id) => {
                let variable = &self.module.variables[id.index()];
                ParamLayout { size: variable.size, align: variable.align }
            }
            Param::Register(id) => {
                let bytes =
                    function.registers.get(id.index()).map_or(4, |register| u64::from(register.ty.bytes()));
                ParamLayout { size: bytes, align: bytes }
            }
        }
    }

    /// Checks callee, numbers and sizes; false if something was reported.
    fn check_call(&mut self, operands: &mut Operands<'a>) -> bool {
        let (callee, callee_span) = (operands.list[1], operands.spans[1]);
        let problem = match callee {
            Operand::Function(id) if self.module.functions[id.index()].kind == FunctionKind::Entry => {
                Some(Diagnostic::error(codes::CALL, callee_span, "a kernel cannot be called"))
            }
            Operand::Function(id) => {
                let (returns, params) = self.function_layouts(id);
                return self.check_lists(operands, &returns, &params, Some(id));
            }
            Operand::Register(id) => {
                let ty = self.names.registers[id.index()].ty;
                let wide = matches!(ty, ScalarType::B64 | ScalarType::U64 | ScalarType::S64);
                let narrow = matches!(ty, ScalarType::B32 | ScalarType::U32 | ScalarType::S32);
                if !(wide || narrow) {
                    let message = format!("a register of type `{ty}` cannot hold the address of a function");
                    Some(Diagnostic::error(codes::CALL, callee_span, message))
                } else {
                    match operands.list.get(3) {
                        None => Some(
                            Diagnostic::error(
                                codes::CALL,
                                callee_span,
                                "a call through a register needs a prototype",
                            )
                            .help("declare one, `name: .callprototype …;`, and add it as the last operand"),
                        ),
                        Some(&Operand::Prototype(id)) => {
                            self.spread(operands);
                            let proto = &self.state.body.prototypes[id.index()];
                            let (returns, params) = (proto.returns.clone(), proto.params.clone());
                            return self.check_lists(operands, &returns, &params, None);
                        }
                        Some(_) => None,
                    }
                }
            }
            _ => Some(
                Diagnostic::error(codes::CALL, callee_span, "this cannot be called")
                    .help("name a function or a register that holds its address"),
            ),
        };
        match problem {
            Some(problem) => {
                self.error(problem);
                false
            }
            None => true,
        }
    }

    fn check_lists(
        &mut self,
        operands: &Operands<'a>,
        returns: &[ParamLayout],
        params: &[ParamLayout],
        callee: Option<FuncId>,
    ) -> bool {
        let lists = [(0, returns, "return value", "return values"), (2, params, "argument", "arguments")];
        for (at, formals, one, many) in lists {
            let Operand::Vector(list) = operands.list[at] else { continue };
            let (given, span) = (list.len as usize, operands.spans[at]);
            // An open array at the end may be left out.
            let open = at == 2 && formals.last().is_some_and(|last| last.size == 0);
            if given != formals.len() && !(open && given + 1 == formals.len()) {
                let wanted = format!("{} {}", formals.len(), if formals.len() == 1 { one } else { many });
                let mut error =
                    Diagnostic::error(codes::CALL, span, format!("this call has {given} of {wanted}"))
                        .caption(format!("{wanted} needed"));
                if let Some(id) = callee {
                    error = error.label(self.module.functions[id.index()].span, "declared here");
                }
                self.error(error);
                return false;
            }
            for (position, formal) in formals.iter().enumerate().take(given) {
                let element = self.state.body.operand_pool[list.start as usize + position];
                if let Some(problem) = self.argument_problem(element, *formal, at == 0) {
                    let number = position + 1;
                    let mut error = Diagnostic::error(codes::CALL, span, format!("{one} {number} {problem}"));
                    if let Some(id) = callee {
                        error = error.label(self.module.functions[id.index()].span, "declared here");
                    }
                    self.error(error);
                    return false;
                }
            }
        }
        true
    }

    fn argument_problem(&self, element: Operand, formal: ParamLayout, returned: bool) -> Option<String> {
        let bytes = match element {
            Operand::Variable(id, 0) => {
                let variable = &self.module.variables[id.index()];
                if variable.space != StateSpace::Param {
                    return Some(format!("is a `.{}` variable, not a `.param` one", variable.space));
                }
                if variable.align != formal.align && !variable.dimensions.is_empty() {
                    let (has, wanted) = (variable.align, formal.align);
                    return Some(format!("is aligned to {has} bytes where {wanted} are declared"));
                }
                variable.size
            }
            Operand::Register(id) => u64::from(self.names.registers[id.index()].ty.bytes()),
            Operand::Sink if returned => return None,
            Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) if !returned => return None,
            Operand::Vector(list) => {
                let parts = self.state.body.elements(list).iter().map(|part| match part {
                    Operand::Register(id) => u64::from(self.names.registers[id.index()].ty.bytes()),
                    _ => 0,
                });
                let (bytes, parts) = (parts.clone().sum::<u64>(), parts.len() as u64);
                // Of a vector the alignment is that of its elements.
                if formal.align * parts != bytes && formal.size == bytes {
                    return Some("is a vector where none is declared".to_owned());
                }
                bytes
            }
            _ => return Some("is neither a register nor a `.param` variable".to_owned()),
        };
        (formal.size != 0 && bytes != formal.size)
            .then(|| format!("has {bytes} bytes where {} are declared", formal.size))
    }
}

/// Whether a parameter is the second or a later component of a vector register.
pub(crate) fn is_further_component(function: &Function, param: &Param) -> bool {
    let Param::Register(id) = param else { return false };
    let register = function.registers.get(id.index());
    register.is_some_and(|register| [".y", ".z", ".w"].iter().any(|part| register.name.ends_with(part)))
}
