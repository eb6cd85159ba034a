//! Initial values of variables (ISA 5.4.4).

use nom::Parser as _;
use nom::combinator::opt;
use nom::multi::separated_list0;
use nom::sequence::{delimited, preceded, separated_pair};

use super::constant::{Constant, constant, integer, literal};
use super::names::Entity;
use super::tokens::{Name, Step, Tokens, keyword, name, token};
use super::{Done, Parser};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{Initializer, Relocation, Symbol};
use crate::span::Span;
use isa::{ScalarType, StateSpace, TypeClass};

/// `symbol`, `generic(symbol)`, each with an offset.
struct SymbolValue<'a> {
    name: Name<'a>,
    generic: bool,
    addend: i64,
}

/// One scalar value as written.
enum Value<'a> {
    Constant(Constant),
    Symbol(SymbolValue<'a>),
    /// `mask(…)`
    Masked(u64, Span, Box<Value<'a>>),
}

fn symbol(tokens: Tokens<'_>) -> Step<'_, SymbolValue<'_>> {
    let generic = preceded(
        keyword("generic", "`generic`"),
        delimited(token(TokenKind::OpenParen), name, token(TokenKind::CloseParen)),
    );
    let is_generic = tokens.word() == "generic" && tokens.kind_at(1) == TokenKind::OpenParen;
    let (rest, name) = if is_generic { { generic }.parse(tokens)? } else { name(tokens)? };
    let (rest, addend) = opt(preceded(token(TokenKind::Plus), integer)).parse(rest)?;
    Ok((rest, SymbolValue { name, generic: is_generic, addend: addend.unwrap_or(0) as i64 }))
}

fn value(tokens: Tokens<'_>) -> Step<'_, Value<'_>> {
    if tokens.kind() == TokenKind::Number && tokens.kind_at(1) == TokenKind::OpenParen {
        let (rest, mask) = super::declaration::count(tokens)?;
        let (rest, inner) =
            delimited(token(TokenKind::OpenParen), plain, token(TokenKind::CloseParen)).parse(rest)?;
        return Ok((rest, Value::Masked(mask.0, mask.1, Box::new(inner))));
    }
    plain(tokens)
}

fn plain(tokens: Tokens<'_>) -> Step<'_, Value<'_>> {
    if tokens.kind() == TokenKind::Word && tokens.word() != "WARP_SZ" {
        let (rest, value) = symbol(tokens)?;
        return Ok((rest, Value::Symbol(value)));
    }
    let (rest, value) = constant(tokens)?;
    Ok((rest, Value::Constant(value)))
}

impl<'a> Parser<'a> {
    /// The value after `=` of a variable with these dimensions (a vector's length last, 0 where the
    /// outermost is open). Returns it with the length of the outermost dimension.
    pub(super) fn initializer(
        &mut self,
        ty: ScalarType,
        shape: &[u64],
        vector: bool,
    ) -> Done<(Initializer, u64)> {
        let mut initializer = Initializer::default();
        let width = u64::from(ty.bytes());
        if shape.is_empty() {
            if self.kind() == TokenKind::OpenBrace {
                let span = self.span();
                self.error(
                    Diagnostic::error(codes::INITIALIZER, span, "a list of values for a scalar")
                        .help("declare an array, `name[]`, or drop the braces"),
                );
                return Err(super::Stop);
            }
            self.initial_scalar(ty, 0, &mut initializer)?;
            return Ok((initializer, 0));
        }
        let limit = 16 * self.text.len() as u64 + (1 << 20);
        // Values lie one behind the other, as ptxas and an H200 have it: a list that is shorter than its
        // dimension leaves no gap.
        let mut values = 0u64;
        // Position in each open list, outermost first.
        let mut position: Vec<u64> = Vec::with_capacity(shape.len());
        let start = self.span();
        if self.kind() != TokenKind::OpenBrace {
            self.error(
                Diagnostic::error(codes::INITIALIZER, start, "an array or vector needs a list of values")
                    .help("write the values in `{ }`"),
            );
            return Err(super::Stop);
        }
        loop {
            let level = position.len();
            if let Some(&count) = position.last()
                && shape[level - 1] != 0
                && count >= shape[level - 1]
                && self.kind() != TokenKind::CloseBrace
            {
                let span = self.span();
                let message = format!("more than {} values in this list", shape[level - 1]);
                self.error(Diagnostic::error(codes::INITIALIZER, span, message).caption("one too many"));
                return Err(super::Stop);
            }
            match self.kind() {
                TokenKind::OpenBrace if level < shape.len() => {
                    self.bump();
                    position.push(0);
                    if self.kind() != TokenKind::CloseBrace {
                        continue;
                    }
                }
                TokenKind::OpenBrace => {
                    let span = self.span();
                    let message = format!("this list is nested deeper than the {} dimensions", shape.len());
                    self.error(Diagnostic::error(codes::INITIALIZER, span, message));
                    return Err(super::Stop);
                }
                _ if level < shape.len() => {
                    let span = self.span();
                    self.error(
                        Diagnostic::error(codes::INITIALIZER, span, "expected a nested list of values")
                            .caption("a single value")
                            .help("the braces must nest as the dimensions do"),
                    );
                    return Err(super::Stop);
                }
                _ => {
                    let offset = values.saturating_mul(width);
                    values += 1;
                    if offset > limit {
                        let span = self.span();
                        self.error(Diagnostic::error(
                            codes::TOO_LARGE,
                            span,
                            "this initial value is too large",
                        ));
                        return Err(super::Stop);
                    }
                    self.initial_scalar(ty, offset, &mut initializer)?;
                    if let Some(at) = position.last_mut() {
                        *at += 1;
                    }
                    if self.eat(TokenKind::Comma) {
                        continue;
                    }
                }
            }
            // One or more lists end here.
            while self.kind() == TokenKind::CloseBrace {
                let span = self.bump().span;
                let Some(count) = position.pop() else { break };
                if vector && position.len() + 1 == shape.len() && count != shape[position.len()] {
                    let message = format!("a vector takes {} values, not {count}", shape[position.len()]);
                    self.error(Diagnostic::error(codes::INITIALIZER, span, message));
                }
                match position.last_mut() {
                    Some(at) => *at += 1,
                    None => return Ok((initializer, count)),
                }
            }
            if !self.eat(TokenKind::Comma) {
                return self.expected("`,` or `}`");
            }
        }
    }

    fn initial_scalar(&mut self, ty: ScalarType, offset: u64, into: &mut Initializer) -> Done {
        let start = self.span().start;
        // Most values are plain numbers.
        let plain =
            matches!(self.kind_at(1), TokenKind::Comma | TokenKind::CloseBrace | TokenKind::Semicolon)
                && self.kind() == TokenKind::Number;
        let value = match plain.then(|| literal(self.word())) {
            Some(Ok(constant)) => {
                self.bump();
                Value::Constant(constant)
            }
            _ => self.rule(value)?,
        };
        let span = self.since(start);
        let width = ty.bytes() as usize;
        let bits: u128 = match value {
            Value::Constant(constant) => match constant_bits(ty, constant) {
                Ok(bits) => bits,
                Err(help) => return self.wrong_value(ty, span, help),
            },
            Value::Symbol(symbol) => {
                if !matches!(ty, ScalarType::U32 | ScalarType::U64) {
                    return self.wrong_value(ty, span, "addresses go into `.u32` and `.u64` variables");
                }
                self.relocation(symbol, offset, ty, None, into);
                0
            }
            Value::Masked(mask, mask_span, inner) => {
                self.require("a mask", mask_span);
                let byte = mask.trailing_zeros() / 8;
                if mask.checked_shr(byte * 8) != Some(0xff) {
                    let message = format!("{mask:#x} does not select one byte");
                    self.error(
                        Diagnostic::error(codes::INITIALIZER, mask_span, message)
                            .help("a mask is 0xFF, 0xFF00, 0xFF0000 and so on"),
                    );
                    return Ok(());
                }
                match *inner {
                    Value::Constant(constant) => match constant.integer() {
                        Some(value) => u128::from((value >> (byte * 8)) & 0xff),
                        None => {
                            return self.wrong_value(ty, span, "a mask applies to integers and addresses");
                        }
                    },
                    Value::Symbol(symbol) => {
                        if !matches!(ty, ScalarType::U8 | ScalarType::U32 | ScalarType::U64) {
                            let help = "bytes of addresses go into `.u8`, `.u32` and `.u64` variables";
                            return self.wrong_value(ty, span, help);
                        }
                        self.relocation(symbol, offset, ty, Some(byte as u8), into);
                        0
                    }
                    Value::Masked(..) => 0,
                }
            }
        };
        let at = offset as usize;
        if into.bytes.len() < at + width {
            into.bytes.resize(at + width, 0);
        }
        into.bytes[at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]);
        Ok(())
    }

    fn wrong_value(&mut self, ty: ScalarType, span: Span, help: &str) -> Done {
        let message = format!("this value does not fit the type `{ty}`");
        self.error(Diagnostic::error(codes::INITIALIZER, span, message).help(help));
        Ok(())
    }

    fn relocation(
        &mut self,
        symbol: SymbolValue<'a>,
        offset: u64,
        ty: ScalarType,
        byte: Option<u8>,
        into: &mut Initializer,
    ) {
        let name = symbol.name;
        let target = match self.names.find(name.text) {
            Some((Entity::Variable(id), earlier)) => {
                let space = self.module.variables[id.index()].space;
                if !matches!(space, StateSpace::Global | StateSpace::Const) {
                    let message = format!("`{}` has no address that is known before the launch", name.text);
                    self.error(
                        Diagnostic::error(codes::INITIALIZER, name.span, message)
                            .caption("only `.global` and `.const` variables and functions")
                            .label(earlier, format!("a `.{space}` variable")),
                    );
                    return;
                }
                Symbol::Variable(id)
            }
            Some((Entity::Function(_), _)) if symbol.addend != 0 => {
                self.error(Diagnostic::error(
                    codes::INITIALIZER,
                    name.span,
                    "an offset cannot be added to the address of a function",
                ));
                return;
            }
            Some((Entity::Function(id), _)) => Symbol::Function(id),
            Some((entity, earlier)) => {
                self.error(
                    Diagnostic::error(
                        codes::WRONG_KIND,
                        name.span,
                        format!("`{}` has no address", name.text),
                    )
                    .label(earlier, format!("{} declared here", super::describe(entity))),
                );
                return;
            }
            None => {
                self.undefined(name, "the symbol");
                return;
            }
        };
        into.relocations.push(Relocation {
            offset,
            width: ty.bytes(),
            target,
            addend: symbol.addend,
            generic: symbol.generic,
            byte,
        });
    }

    /// `{ addr_mode_0 = clamp_to_border, filter_mode = nearest }` of textures and samplers: checked for
    /// its form, the driver's settings win.
    pub(super) fn opaque_initializer(&mut self) -> Done {
        let setting = separated_pair(name, token(TokenKind::Assign), |tokens: Tokens<'a>| {
            if tokens.kind() == TokenKind::Word {
                name(tokens).map(drop_name)
            } else {
                integer(tokens).map(drop_name)
            }
        });
        let list = delimited(
            token(TokenKind::OpenBrace),
            separated_list0(token(TokenKind::Comma), setting),
            token(TokenKind::CloseBrace),
        );
        for (name, ()) in self.rule(list)? {
            if !SETTINGS.contains(&name.text) {
                let mut error = Diagnostic::error(
                    codes::INITIALIZER,
                    name.span,
                    format!("textures, samplers and surfaces have no member `{}`", name.text),
                );
                if let Some(near) = super::closest(name.text, SETTINGS.iter().copied()) {
                    error = error.help(format!("did you mean `{near}`?"));
                }
                self.error(error);
            }
        }
        Ok(())
    }
}

fn drop_name<'a, T>((rest, _): (Tokens<'a>, T)) -> (Tokens<'a>, ()) {
    (rest, ())
}

/// Members of the opaque types (ISA 5.3).
const SETTINGS: &[&str] = &[
    "width",
    "height",
    "depth",
    "channel_data_type",
    "channel_order",
    "normalized_coords",
    "force_unnormalized_coords",
    "filter_mode",
    "addr_mode_0",
    "addr_mode_1",
    "addr_mode_2",
    "array_size",
    "num_mipmap_levels",
    "num_samples",
    "memory_layout",
];

/// The bits of a constant as a value of a type; what to do instead if it does not fit.
///
/// Bits are taken as ptxas takes them: the low ones where there are too many, zeros above where there are
/// too few, of `0f` constants also for `.f64`. An untyped variable of 32 bits takes the nearest single.
fn constant_bits(ty: ScalarType, constant: Constant) -> Result<u128, &'static str> {
    let untyped = ty.class() == TypeClass::Bits;
    match constant {
        Constant::Signed(value) if !ty.is_float() => Ok(u128::from(value as u64)),
        Constant::Unsigned(value) if !ty.is_float() => Ok(u128::from(value)),
        Constant::Signed(_) | Constant::Unsigned(_) => Err("write a floating-point number, such as `1.0`"),
        Constant::Double(value) if ty == ScalarType::F32 || (untyped && ty.bits() == 32) => {
            Ok(u128::from((value as f32).to_bits()))
        }
        Constant::Double(value) if ty == ScalarType::F64 || untyped => Ok(u128::from(value.to_bits())),
        Constant::Single(bits) if matches!(ty, ScalarType::F32 | ScalarType::F64) || untyped => {
            Ok(u128::from(bits))
        }
        _ => Err("only `.f32`, `.f64` and untyped variables take floating-point numbers"),
    }
}
