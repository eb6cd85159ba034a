//! Operands that take instructions of their own: `%r + 4`, `array[%r]`, `variable + 4` where the instruction
//! takes no address.
//!
//! The manual has none of them but in addresses and `mov`; ptxas takes them for all instructions and adds
//! first. So does this: the sum goes to a register that the text does not name, by instructions before the
//! one that is read. What is checked is the operand as written, without what is added to it.

use smallvec::SmallVec;

use super::constant::integer;
use super::instruction::{Element, Operands};
use super::tokens::Name;
use super::{Done, Parser};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{Address, AddressBase, Operand, RegId, Register, VarId};
use crate::span::Span;
use isa::{ScalarType, TypeClass};

impl<'a> Parser<'a> {
    /// One operand, to which a constant may be added.
    pub(super) fn operand_or_sum(&mut self, operands: &mut Operands<'a>) -> Done<Operand> {
        let start = self.span();
        let operand = self.operand(operands)?;
        let Operand::Register(register) = operand else { return Ok(operand) };
        if self.kind() != TokenKind::Plus || self.slice(self.since(start.start)).contains('.') {
            return Ok(operand);
        }
        self.bump();
        if self.kind() == TokenKind::Word && self.word() != "WARP_SZ" {
            let span = self.span();
            let message = "only a constant can be added to an operand";
            let help = "use an `add` instruction";
            return self.stop(Diagnostic::error(codes::OPERAND_FORM, span, message).help(help));
        }
        let addend = self.rule(integer)?;
        let ty = self.names.registers[register.index()].ty;
        let add = match whole(ty).then_some(ty.bits()) {
            Some(8 | 16) => "add.u16",
            Some(32) => "add.u32",
            Some(64) => "add.u64",
            _ => {
                let message = format!("nothing can be added to a register of type `{ty}`");
                let help = "use an `add` instruction";
                return self.stop(Diagnostic::error(codes::OPERAND_FORM, start, message).help(help));
            }
        };
        let register = match ty.bits() {
            8 => self.compute(operands, "cvt.u16.u8", ScalarType::B16, &[operand], start),
            _ => Ok(register),
        }?;
        let ty = if ty.bits() == 8 { ScalarType::B16 } else { ty };
        let sum =
            self.compute(operands, add, ty, &[Operand::Register(register), Operand::Integer(addend)], start)?;
        operands.computed.push((operands.list.len() as u32, Operand::Register(sum)));
        Ok(operand)
    }

    /// `[1]`, `[%r]` or `[%r+1]` after the name of an array.
    ///
    /// The index counts elements, scalar ones where the array has vectors. As in ptxas it is multiplied by
    /// their size in 32 bits, of which nothing is left that carries a sign.
    pub(super) fn element(&mut self, id: VarId, operands: &mut Operands<'a>) -> Done<Operand> {
        let open = self.bump().span;
        let variable = &self.module.variables[id.index()];
        let size = variable.ty.bytes();
        if variable.dimensions.is_empty() {
            let message = format!("`{}` is no array", variable.name);
            let declared = variable.span;
            return self
                .stop(Diagnostic::error(codes::ADDRESS, open, message).label(declared, "declared here"));
        }
        if operands.element == Element::Refused {
            let message = "this instruction takes no element of an array";
            let help = "write the address, `[array+4]`, with the offset in bytes";
            return self.stop(Diagnostic::error(codes::ADDRESS, open, message).help(help));
        }
        if self.kind() != TokenKind::Word || self.word() == "WARP_SZ" {
            let index = self.rule(integer)? as u32;
            self.expect(TokenKind::CloseBracket)?;
            let offset = i64::from(index.wrapping_mul(size));
            return Ok(match operands.element {
                Element::Value => Operand::Variable(id, offset),
                _ => Operand::Address(Address { base: AddressBase::Variable(id), offset }),
            });
        }
        let name = Name { text: self.word(), span: self.span() };
        self.bump();
        let addend = if self.eat(TokenKind::Plus) { self.rule(integer)? as u32 } else { 0 };
        self.expect(TokenKind::CloseBracket)?;
        let Some(index) = self.scalar_register(name) else {
            operands.bad = true;
            return Ok(Operand::Sink);
        };
        let ty = self.names.registers[index.index()].ty;
        if !whole(ty) {
            let message = format!("a register of type `{ty}` cannot be an index");
            return self.stop(Diagnostic::error(codes::ADDRESS, name.span, message));
        }
        let narrow = match (ty.bits(), ty.is_signed()) {
            (8, false) => Some("cvt.u32.u8"),
            (8, true) => Some("cvt.u32.s8"),
            (16, false) => Some("cvt.u32.u16"),
            (16, true) => Some("cvt.u32.s16"),
            (64, _) => Some("cvt.u32.u64"),
            _ => None,
        };
        let b32 = ScalarType::B32;
        let mut at = index;
        if let Some(narrow) = narrow {
            at = self.compute(operands, narrow, b32, &[Operand::Register(at)], open)?;
        }
        for (text, value) in [("add.u32", addend), ("mul.lo.u32", size)] {
            if value != u32::from(text.starts_with("mul")) {
                let value = Operand::Integer(value.into());
                at = self.compute(operands, text, b32, &[Operand::Register(at), value], open)?;
            }
        }
        let base = Operand::Variable(id, 0);
        let position = operands.list.len() as u32;
        let narrow = operands.element == Element::Value && self.width(operands) == 32
            || self.module.address_size == 32;
        let address = if narrow {
            let base = self.compute(operands, "mov.u32", b32, &[base], open)?;
            self.compute(operands, "add.u32", b32, &[Operand::Register(base), Operand::Register(at)], open)?
        } else {
            let wide =
                self.compute(operands, "cvt.u64.u32", ScalarType::B64, &[Operand::Register(at)], open)?;
            let base = self.compute(operands, "mov.u64", ScalarType::B64, &[base], open)?;
            let sum = [Operand::Register(base), Operand::Register(wide)];
            self.compute(operands, "add.u64", ScalarType::B64, &sum, open)?
        };
        let (checked, computed) = match operands.element {
            Element::Value => (base, Operand::Register(address)),
            _ => {
                let there = |base| Operand::Address(Address { base, offset: 0 });
                (there(AddressBase::Variable(id)), there(AddressBase::Register(address)))
            }
        };
        operands.computed.push((position, computed));
        Ok(checked)
    }

    /// Sums of a variable and an offset that the instruction does not take as an address go to a register, if
    /// it takes integers in their place.
    pub(super) fn compute_offsets(&mut self, entry: u32, operands: &mut Operands<'a>, span: Span) {
        let (mov, ty) = match self.width(operands) {
            32 => ("mov.u32", ScalarType::B32),
            64 => ("mov.u64", ScalarType::B64),
            _ => return,
        };
        let written = operands.list.clone();
        for at in std::mem::take(&mut operands.offsets) {
            let Some(operand @ Operand::Variable(..)) = written.get(at as usize).copied() else { continue };
            let Ok(sum) = self.compute(operands, mov, ty, &[operand], span) else { return };
            operands.list[at as usize] = Operand::Integer(0);
            operands.computed.push((at, Operand::Register(sum)));
        }
        if self.fit(entry, operands, span, &mut Vec::new()).is_none() {
            operands.list = written;
        }
    }

    /// A new register that `op` sets before the instruction that is read.
    fn compute(
        &mut self,
        operands: &mut Operands<'a>,
        op: &'static str,
        ty: ScalarType,
        sources: &[Operand],
        span: Span,
    ) -> Done<RegId> {
        let register = RegId(self.names.registers.len() as u32);
        self.names.registers.push(Register { name: "%sum".into(), ty });
        let mut list: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[Operand::Register(register)]);
        list.extend_from_slice(sources);
        let op = self.op_for(op, &list, span)?;
        operands.before.push((op, list));
        Ok(register)
    }
}

/// Whether registers of this type hold integers of at most 64 bits.
fn whole(ty: ScalarType) -> bool {
    let class = matches!(ty.class(), TypeClass::Bits | TypeClass::Signed | TypeClass::Unsigned);
    class && ty.lanes() == 1 && ty.bits() <= 64
}
