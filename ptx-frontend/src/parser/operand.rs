//! Operands (ISA 6).

use smallvec::SmallVec;

use super::constant::{self, constant, integer, literal};
use super::instruction::Operands;
use super::names::{Entity, RegisterUse};
use super::special::{Special, component, special};
use super::tokens::Name;
use super::{Done, Parser};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{Address, AddressBase, Operand, OperandList, RegId, RegisterPart};
use crate::span::Span;
use isa::Component;
use isa::StateSpace;

impl<'a> Parser<'a> {
    /// One operand, `d|p` pairs included.
    pub(super) fn operand(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        let first = self.primary(operands)?;
        if self.kind() != TokenKind::Pipe {
            return Ok(first);
        }
        self.bump();
        let second = match self.kind() {
            TokenKind::Word | TokenKind::Underscore => self.primary(operands)?,
            _ => return self.expected("a predicate register or `_` after `|`"),
        };
        Ok(Operand::Pair(self.push_elements(&[first, second])))
    }

    /// Stores the elements of a compound operand.
    pub(super) fn push_elements(&mut self, elements: &[Operand]) -> OperandList {
        let pool = &mut self.state.body.operand_pool;
        let start = pool.len() as u32;
        pool.extend_from_slice(elements);
        OperandList { start, len: elements.len() as u32 }
    }

    fn primary(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        match self.kind() {
            TokenKind::Word => self.named(operands),
            TokenKind::Number => self.number_operand(),
            TokenKind::OpenBracket => self.address(operands),
            TokenKind::OpenBrace => self.vector(operands),
            TokenKind::Underscore => {
                self.bump();
                Ok(Operand::Sink)
            }
            TokenKind::Bang if self.kind_at(1) == TokenKind::Word => {
                self.bump();
                self.negated(operands)
            }
            TokenKind::Minus if self.kind_at(1) == TokenKind::Word && !self.next_is_warp_size() => {
                self.bump();
                self.negated(operands)
            }
            TokenKind::Bang | TokenKind::OpenParen => Ok(self.rule(constant)?.operand()),
            kind if constant::begins(kind) => Ok(self.rule(constant)?.operand()),
            _ => self.expected("an operand"),
        }
    }

    fn next_is_warp_size(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| self.slice(token.span) == "WARP_SZ")
    }

    /// A number; a whole constant expression only if something follows it.
    fn number_operand(&mut self) -> Done<Operand> {
        let ends = matches!(
            self.kind_at(1),
            TokenKind::Comma | TokenKind::Semicolon | TokenKind::CloseBrace | TokenKind::CloseParen
        );
        if ends && let Ok(value) = literal(self.word()) {
            self.bump();
            return Ok(value.operand());
        }
        Ok(self.rule(constant)?.operand())
    }

    /// `!p` or `-a`, its sign consumed.
    fn negated(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        let name = Name { text: self.word(), span: self.span() };
        self.bump();
        let (base, suffix) = split(name);
        if let Some(part) = suffix.and_then(|suffix| register_part(suffix.text)) {
            return Ok(match self.scalar_register(base) {
                Some(register) => Operand::NegatedPart(register, part),
                None => {
                    operands.bad = true;
                    Operand::Sink
                }
            });
        }
        match self.scalar_register(name) {
            Some(register) => Ok(Operand::Negated(register)),
            None => {
                operands.bad = true;
                Ok(Operand::Sink)
            }
        }
    }

    /// A register that is not a whole vector; reports what else the name is.
    pub(super) fn scalar_register(&mut self, name: Name<'a>) -> Option<RegId> {
        let (base, suffix) = split(name);
        let Some((entity, earlier)) = self.names.find(base.text) else {
            self.undefined(base, "the register");
            return None;
        };
        if entity == Entity::Unknown {
            return None;
        }
        let Some(used) = self.names.register(base.text, entity) else {
            self.error(
                Diagnostic::error(codes::WRONG_KIND, name.span, format!("`{}` is not a register", base.text))
                    .label(earlier, format!("{} declared here", super::describe(entity))),
            );
            return None;
        };
        match suffix {
            None if used.vector == 1 => Some(used.first),
            None => {
                self.error(
                    Diagnostic::error(
                        codes::WRONG_KIND,
                        name.span,
                        format!("`{}` is a whole vector", name.text),
                    )
                    .help(format!("name a component, such as `{}.x`", name.text)),
                );
                None
            }
            Some(suffix) => self.vector_component(base, suffix, used),
        }
    }

    fn vector_component(&mut self, base: Name<'a>, suffix: Name<'a>, used: RegisterUse) -> Option<RegId> {
        let at = component(suffix.text).map(|component| component as u32);
        if let Some(at) = at.filter(|&at| at < used.vector && used.vector > 1) {
            return Some(RegId(used.first.0 + at));
        }
        let message = format!("`{}` has no component `.{}`", base.text, suffix.text);
        let help = match used.vector {
            1 => "only vector registers (`.reg .v2`, `.reg .v4`) have components",
            2 => "its components are `.x` and `.y`",
            _ => "its components are `.x`, `.y`, `.z` and `.w`",
        };
        self.error(Diagnostic::error(codes::COMPONENT, suffix.span, message).help(help));
        None
    }

    /// An operand that begins with a name.
    fn named(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        let name = Name { text: self.word(), span: self.span() };
        let (base, suffix) = split(name);
        let Some((entity, _)) = self.names.find(base.text) else {
            return self.predefined(name, base, suffix, operands);
        };
        match entity {
            Entity::Register(_) | Entity::Ranged(..) => {
                self.bump();
                let Some(used) = self.names.register(base.text, entity) else {
                    return self.expected("an operand");
                };
                Ok(self.register_operand(base, suffix, used, operands))
            }
            Entity::Variable(id) => {
                self.bump();
                if let Some(suffix) = suffix {
                    let message = "only registers have components";
                    return self.stop(Diagnostic::error(codes::COMPONENT, suffix.span, message));
                }
                self.variable_operand(id, operands)
            }
            Entity::Function(id) => {
                self.bump();
                Ok(Operand::Function(id))
            }
            Entity::Unknown => {
                self.bump();
                operands.bad = true;
                Ok(Operand::Sink)
            }
            Entity::Label(_) | Entity::BranchTargets(_) | Entity::Prototype(_) => {
                self.bump();
                self.wrong_label(name.span, name.text, entity);
                operands.bad = true;
                Ok(Operand::Sink)
            }
        }
    }

    fn register_operand(
        &mut self,
        base: Name<'a>,
        suffix: Option<Name<'a>>,
        used: RegisterUse,
        operands: &mut Operands<'a>,
    ) -> Operand {
        let Some(suffix) = suffix else {
            if used.vector == 1 {
                return Operand::Register(used.first);
            }
            let all: SmallVec<[Operand; 4]> =
                (0..used.vector).map(|at| Operand::Register(RegId(used.first.0 + at))).collect();
            return Operand::Vector(self.push_elements(&all));
        };
        if used.vector == 1
            && let Some(part) = register_part(suffix.text)
        {
            return Operand::Part(used.first, part);
        }
        match self.vector_component(base, suffix, used) {
            Some(register) => Operand::Register(register),
            None => {
                operands.bad = true;
                Operand::Sink
            }
        }
    }

    /// A name that the text does not declare.
    fn predefined(
        &mut self,
        name: Name<'a>,
        base: Name<'a>,
        suffix: Option<Name<'a>>,
        operands: &mut Operands<'a>,
    ) -> Done<Operand> {
        if name.text == "WARP_SZ" {
            return Ok(self.rule(constant)?.operand());
        }
        self.bump();
        match (special(base.text), suffix) {
            (Some(Special::Scalar(register)), None) => return Ok(Operand::Special(register)),
            (Some(Special::Vector(make)), Some(suffix)) if component(suffix.text).is_some() => {
                let at = component(suffix.text).unwrap_or(Component::X);
                return Ok(Operand::Special(make(at)));
            }
            (Some(Special::Vector(make)), None) => {
                let all = [Component::X, Component::Y, Component::Z, Component::W]
                    .map(|component| Operand::Special(make(component)));
                return Ok(Operand::Vector(self.push_elements(&all)));
            }
            (Some(_), Some(suffix)) => {
                let message = format!("`{}` has no component `.{}`", base.text, suffix.text);
                self.error(Diagnostic::error(codes::COMPONENT, suffix.span, message));
            }
            (None, _) => self.undefined(base, "the name"),
        }
        operands.bad = true;
        Ok(Operand::Sink)
    }

    /// `sym`, `sym+4`, `sym[1]`: its name is consumed.
    fn variable_operand(&mut self, id: crate::VarId, operands: &mut Operands<'a>) -> Done<Operand> {
        match self.kind() {
            TokenKind::Plus => {
                self.bump();
                let offset = self.rule(integer)? as i64;
                operands.offsets.push(operands.list.len() as u32);
                Ok(Operand::Variable(id, offset))
            }
            TokenKind::OpenBracket => self.element(id, operands),
            TokenKind::Minus => {
                let span = self.span();
                self.stop(minus_offset(span))
            }
            _ => Ok(Operand::Variable(id, 0)),
        }
    }

    /// `{a, b, …}`
    fn vector(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        self.bump();
        let mut elements: SmallVec<[Operand; 8]> = SmallVec::new();
        loop {
            match self.kind() {
                TokenKind::OpenBrace | TokenKind::OpenBracket => {
                    return self.expected("a register, a constant or `_`");
                }
                _ => {
                    let element = self.primary(operands)?;
                    elements.push(element);
                }
            }
            if self.eat(TokenKind::Comma) {
                continue;
            }
            if self.eat(TokenKind::CloseBrace) {
                break;
            }
            return self.expected("`,` or `}`");
        }
        Ok(Operand::Vector(self.push_elements(&elements)))
    }

    /// `[…]`: an address, or an address with coordinates.
    fn address(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        self.bump();
        let (address, plain) = self.address_sum(operands)?;
        let operand = if self.kind() == TokenKind::Comma {
            let first = match (address.base, plain) {
                (AddressBase::Register(register), true) => Operand::Register(register),
                (AddressBase::Variable(variable), true) => Operand::Variable(variable, 0),
                _ => Operand::Address(address),
            };
            let mut elements: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[first]);
            while self.eat(TokenKind::Comma) {
                let element = match self.kind() {
                    TokenKind::OpenBracket => return self.expected("coordinates or a handle"),
                    _ => self.primary(operands)?,
                };
                elements.push(element);
            }
            Operand::AddressList(self.push_elements(&elements))
        } else {
            Operand::Address(address)
        };
        if !self.eat(TokenKind::CloseBracket) {
            return self.address_end();
        }
        if self.kind() == TokenKind::Directive && self.word() == ".unified" {
            self.bump();
        }
        Ok(operand)
    }

    /// Says why an address does not end here.
    fn address_end<T>(&mut self) -> Done<T> {
        let span = self.span();
        match self.kind() {
            TokenKind::Minus => self.stop(minus_offset(span)),
            TokenKind::Plus => self.stop(
                Diagnostic::error(
                    codes::ADDRESS,
                    span,
                    "an address is a register or variable plus a constant",
                )
                .caption("only one constant can follow"),
            ),
            _ => self.expected("`]`"),
        }
    }

    /// Base and offset; whether there was no offset.
    fn address_sum(&mut self, operands: &mut Operands<'a>) -> Done<(Address, bool)> {
        if self.kind() != TokenKind::Word || self.word() == "WARP_SZ" {
            if self.kind() == TokenKind::CloseBracket {
                return self.expected("an address");
            }
            if self.kind_at(1) == TokenKind::Plus && self.kind_at(2) == TokenKind::Word {
                let (number, base) = (self.word(), self.slice(self.tokens[self.at + 2].span));
                let span = self.span();
                return self.stop(
                    Diagnostic::error(codes::ADDRESS, span, "the register or variable must come first")
                        .help(format!("write `[{base}+{number}]`")),
                );
            }
            let offset = self.rule(integer)? as i64;
            return Ok((Address { base: AddressBase::Absolute, offset }, false));
        }
        let name = Name { text: self.word(), span: self.span() };
        self.bump();
        let base = self.address_base(name, operands);
        if self.kind() == TokenKind::Minus {
            let span = self.span();
            return self.stop(minus_offset(span));
        }
        if !self.eat(TokenKind::Plus) {
            return Ok((Address { base, offset: 0 }, true));
        }
        if self.kind() == TokenKind::Word && self.word() != "WARP_SZ" {
            let span = self.span();
            return self.stop(
                Diagnostic::error(codes::ADDRESS, span, "an address takes one register or variable only")
                    .caption("only a constant can be added")
                    .help("add the two with an `add` instruction first"),
            );
        }
        let offset = match self.kind_at(1) {
            TokenKind::CloseBracket if self.kind() == TokenKind::Number => match literal(self.word()) {
                Ok(value) => {
                    let span = self.bump().span;
                    match value.integer() {
                        Some(offset) => offset as i64,
                        None => {
                            let message = "an offset must be an integer";
                            return self.stop(Diagnostic::error(codes::ADDRESS, span, message));
                        }
                    }
                }
                Err(_) => self.rule(integer)? as i64,
            },
            _ => self.rule(integer)? as i64,
        };
        Ok((Address { base, offset }, false))
    }

    fn address_base(&mut self, name: Name<'a>, operands: &mut Operands<'a>) -> AddressBase {
        let (base, _) = split(name);
        match self.names.find(base.text) {
            Some((Entity::Variable(id), earlier)) => {
                if base.text.len() < name.text.len()
                    || self.module.variables[id.index()].space == StateSpace::Reg
                {
                    let message = "only registers have components";
                    self.error(
                        Diagnostic::error(codes::COMPONENT, name.span, message)
                            .label(earlier, "declared here"),
                    );
                    operands.bad = true;
                }
                AddressBase::Variable(id)
            }
            Some((Entity::Register(_) | Entity::Ranged(..), _)) => match self.scalar_register(name) {
                Some(register) => AddressBase::Register(register),
                None => {
                    operands.bad = true;
                    AddressBase::Absolute
                }
            },
            Some((Entity::Unknown, _)) => {
                operands.bad = true;
                AddressBase::Absolute
            }
            Some((entity, earlier)) => {
                self.error(
                    Diagnostic::error(codes::ADDRESS, name.span, format!("`{}` is no address", name.text))
                        .label(earlier, format!("{} declared here", super::describe(entity))),
                );
                operands.bad = true;
                AddressBase::Absolute
            }
            None => {
                if special(base.text).is_some() {
                    let message = "a special register cannot be an address";
                    self.error(
                        Diagnostic::error(codes::ADDRESS, name.span, message)
                            .help("`mov` it to a register first"),
                    );
                } else {
                    self.undefined(base, "the address");
                }
                operands.bad = true;
                AddressBase::Absolute
            }
        }
    }
}

fn minus_offset(span: Span) -> Diagnostic {
    Diagnostic::error(codes::ADDRESS, span, "an offset is added, never subtracted")
        .help("write a negative offset as `+-4`")
}

/// A word as the name before its first dot and what follows it.
fn split(name: Name<'_>) -> (Name<'_>, Option<Name<'_>>) {
    let Some(dot) = name.text.bytes().position(|byte| byte == b'.') else { return (name, None) };
    let middle = name.span.start + dot as u32;
    let base = Name { text: &name.text[..dot], span: Span::new(name.span.start, middle) };
    let suffix = Name { text: &name.text[dot + 1..], span: Span::new(middle + 1, name.span.end) };
    (base, Some(suffix))
}

/// The selector of a SIMD video operand (ISA 9.7.18), without its dot.
fn register_part(text: &str) -> Option<RegisterPart> {
    let digits = text.get(1..)?.as_bytes();
    let digit = |at: usize, limit: u8| digits.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&n| n < limit);
    match (text.as_bytes()[0], digits.len()) {
        (b'b', 1) => Some(RegisterPart::Byte(digit(0, 4)?)),
        (b'h', 1) => Some(RegisterPart::Half(digit(0, 2)?)),
        (b'h', 2) => Some(RegisterPart::HalfPair(digit(1, 4)?, digit(0, 4)?)),
        (b'b', 2 | 3) if digits.windows(2).all(|pair| pair[0] > pair[1]) => {
            let mut mask = 0;
            for at in 0..digits.len() {
                mask |= 1 << digit(at, 4)?;
            }
            Some(RegisterPart::ByteMask(mask))
        }
        (b'b', 4) => {
            Some(RegisterPart::BytePermutation([digit(3, 8)?, digit(2, 8)?, digit(1, 8)?, digit(0, 8)?]))
        }
        _ => None,
    }
}
