//! Grammar of variable declarations (ISA 5.4), up to the initialiser.

use nom::branch::alt;
use nom::combinator::{cut, map, opt, value};
use nom::multi::{many0, separated_list1};
use nom::sequence::{delimited, pair, preceded, separated_pair};
use nom::{Err, Parser};
use smallvec::SmallVec;

use super::constant::{integer, literal};
use super::tokens::{Name, Step, SyntaxError, Tokens, directive, name, token};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{Linkage, PointerAttribute};
use crate::span::Span;
use isa::{ScalarType, StateSpace};

/// Everything before the names: `.global .align 4 .v2 .f32`.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) space: StateSpace,
    pub(super) align: Option<(u64, Span)>,
    pub(super) attributes: Attributes,
    pub(super) vector: u32,
    pub(super) ty: ScalarType,
    pub(super) pointer: Option<PointerAttribute>,
    pub(super) span: Span,
    pub(super) type_span: Span,
}

/// `.attribute(…)`
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Attributes {
    pub(super) managed: bool,
    pub(super) unified: Option<(u64, u64)>,
    pub(super) span: Option<Span>,
}

/// One declared name: `a`, `a[4][2]`, `a<10>`.
#[derive(Clone, Debug)]
pub(super) struct Declarator<'a> {
    pub(super) name: Name<'a>,
    pub(super) count: Option<(u64, Span)>,
    pub(super) dimensions: SmallVec<[u64; 2]>,
    /// The name with its dimensions.
    pub(super) span: Span,
}

/// The state space of a declaration that begins with this directive.
pub(super) fn space(word: &str) -> Option<StateSpace> {
    Some(match word {
        ".reg" => StateSpace::Reg,
        ".const" => StateSpace::Const,
        ".global" => StateSpace::Global,
        ".local" => StateSpace::Local,
        ".param" => StateSpace::Param,
        ".shared" => StateSpace::Shared,
        _ => return None,
    })
}

/// A linking directive.
pub(super) fn linkage(tokens: Tokens<'_>) -> Step<'_, (Linkage, Span)> {
    let linkage = match (tokens.kind(), tokens.word()) {
        (TokenKind::Directive, ".extern") => Linkage::Extern,
        (TokenKind::Directive, ".visible") => Linkage::Visible,
        (TokenKind::Directive, ".weak") => Linkage::Weak,
        (TokenKind::Directive, ".common") => Linkage::Common,
        _ => return tokens.error("a linking directive"),
    };
    Ok((tokens.skip(1), (linkage, tokens.first().span)))
}

/// A plain integer literal, where the manual does not allow expressions.
pub(super) fn count(tokens: Tokens<'_>) -> Step<'_, (u64, Span)> {
    let (rest, number) = token(TokenKind::Number).parse(tokens)?;
    let problem = match literal(tokens.word()) {
        Ok(value) => match value.integer() {
            Some(value) => return Ok((rest, (value, number.span))),
            None => "expected an integer",
        },
        Result::Err(problem) => problem,
    };
    let finding = Diagnostic::error(codes::INVALID_NUMBER, number.span, problem);
    Err(Err::Failure(SyntaxError::finding(tokens, finding)))
}

/// `.align N`
pub(super) fn align(tokens: Tokens<'_>) -> Step<'_, (u64, Span)> {
    let (rest, (bytes, span)) = preceded(directive(".align", "`.align`"), cut(count)).parse(tokens)?;
    if !bytes.is_power_of_two() || bytes > 1 << 31 {
        let finding = Diagnostic::error(codes::ALIGNMENT, span, format!("{bytes} is not a valid alignment"))
            .caption("must be a power of two, at most 2147483648");
        return Err(Err::Failure(SyntaxError::finding(tokens, finding)));
    }
    Ok((rest, (bytes, span)))
}

/// `.attribute(.managed, .unified(upper, lower))`
pub(super) fn attributes(tokens: Tokens<'_>) -> Step<'_, Attributes> {
    enum One {
        Managed,
        Unified(u64, u64),
    }
    let unified = preceded(
        directive(".unified", "`.unified`"),
        cut(delimited(
            token(TokenKind::OpenParen),
            separated_pair(integer, token(TokenKind::Comma), integer),
            token(TokenKind::CloseParen),
        )),
    );
    let one = alt((
        value((), directive(".managed", "`.managed`")).map(|()| One::Managed),
        map(unified, |(upper, lower)| One::Unified(upper, lower)),
    ));
    let list = delimited(
        token(TokenKind::OpenParen),
        separated_list1(token(TokenKind::Comma), one),
        token(TokenKind::CloseParen),
    );
    let (rest, list) = preceded(directive(".attribute", "`.attribute`"), cut(list)).parse(tokens)?;
    let mut attributes = Attributes { span: Some(tokens.consumed(rest)), ..Attributes::default() };
    for one in list {
        match one {
            One::Managed => attributes.managed = true,
            One::Unified(upper, lower) => attributes.unified = Some((upper, lower)),
        }
    }
    Ok((rest, attributes))
}

fn vector(tokens: Tokens<'_>) -> Step<'_, u32> {
    let length = match (tokens.kind(), tokens.word()) {
        (TokenKind::Directive, ".v2") => 2,
        (TokenKind::Directive, ".v4") => 4,
        _ => return tokens.error("a vector length (`.v2`, `.v4`)"),
    };
    Ok((tokens.skip(1), length))
}

/// A type that variables can have (ISA 5.2.1).
pub(super) fn fundamental(ty: ScalarType) -> bool {
    use ScalarType as T;
    matches!(
        ty,
        T::B8
            | T::B16
            | T::B32
            | T::B64
            | T::B128
            | T::U8
            | T::U16
            | T::U32
            | T::U64
            | T::S8
            | T::S16
            | T::S32
            | T::S64
            | T::F16
            | T::F16x2
            | T::F32
            | T::F64
            | T::Pred
            | T::Texref
            | T::Samplerref
            | T::Surfref
    )
}

fn scalar_type(tokens: Tokens<'_>) -> Step<'_, ScalarType> {
    if tokens.kind() != TokenKind::Directive {
        return tokens.error("a type");
    }
    match ScalarType::from_text(&tokens.word()[1..]) {
        Some(ty) if fundamental(ty) => Ok((tokens.skip(1), ty)),
        Some(ty) => {
            let span = tokens.first().span;
            let finding = Diagnostic::error(
                codes::INVALID_TYPE,
                span,
                format!("a variable cannot have the type `{ty}`"),
            )
            .caption("a type of instructions only")
            .help(format!("declare it with the bit-size type of its width, `.b{}`", ty.bytes() * 8));
            Err(Err::Failure(SyntaxError::finding(tokens, finding)))
        }
        None => tokens.error("a type"),
    }
}

/// `.ptr .space .align N` (ISA 5.1.6.3); memory is taken to be 4-byte aligned if nothing is said.
fn pointer(tokens: Tokens<'_>) -> Step<'_, PointerAttribute> {
    let pointed = alt((
        value(StateSpace::Const, directive(".const", "a state space")),
        value(StateSpace::Global, directive(".global", "a state space")),
        value(StateSpace::Local, directive(".local", "a state space")),
        value(StateSpace::Shared, directive(".shared", "a state space")),
    ));
    let (rest, (space, align)) =
        preceded(directive(".ptr", "`.ptr`"), pair(opt(pointed), opt(align))).parse(tokens)?;
    let align = align.map_or(4, |(bytes, _)| bytes);
    Ok((rest, PointerAttribute { space: space.unwrap_or(StateSpace::Generic), align }))
}

/// The part of a declaration before its names.
pub(super) fn head(tokens: Tokens<'_>) -> Step<'_, Head> {
    let Some(space) = space(tokens.word()).filter(|_| tokens.kind() == TokenKind::Directive) else {
        return tokens.error("a state space");
    };
    let rest = tokens.skip(1);
    if rest.kind() == TokenKind::OpenBracket {
        let finding =
            Diagnostic::error(codes::SYNTAX, rest.first().span, "constant banks are gone since PTX 2.2")
                .caption("bank number");
        return Err(Err::Failure(SyntaxError::finding(rest, finding)));
    }
    let (rest, (early, attributes, late, vector)) =
        (opt(align), opt(attributes), opt(align), opt(vector)).parse(rest)?;
    let align = early.or(late);
    let (after, ty) = scalar_type(rest)?;
    let type_span = rest.consumed(after);
    let (rest, pointer) = opt(pointer).parse(after)?;
    if rest.kind() == TokenKind::Directive && matches!(rest.word(), ".align" | ".attribute") {
        let word = rest.word();
        let finding = Diagnostic::error(
            codes::SYNTAX,
            rest.first().span,
            format!("`{word}` must stand before the type"),
        )
        .label(type_span, "the type")
        .help(format!("write `{} {word} … {ty}`", tokens.word()));
        return Err(Err::Failure(SyntaxError::finding(rest, finding)));
    }
    let head = Head {
        space,
        align,
        attributes: attributes.unwrap_or_default(),
        vector: vector.unwrap_or(1),
        ty,
        pointer,
        span: tokens.consumed(rest),
        type_span,
    };
    Ok((rest, head))
}

/// `[4]`, or `[]` as 0.
pub(super) fn dimension(tokens: Tokens<'_>) -> Step<'_, u64> {
    let inner = map(opt(count), |number| number.map_or(0, |(value, _)| value));
    delimited(token(TokenKind::OpenBracket), inner, token(TokenKind::CloseBracket)).parse(tokens)
}

/// One declared name with its range or dimensions.
pub(super) fn declarator(tokens: Tokens<'_>) -> Step<'_, Declarator<'_>> {
    let (rest, name) = name(tokens)?;
    if rest.kind() == TokenKind::Less {
        let (rest, count) =
            delimited(token(TokenKind::Less), count, token(TokenKind::Greater)).parse(rest)?;
        let declarator =
            Declarator { name, count: Some(count), dimensions: SmallVec::new(), span: tokens.consumed(rest) };
        return Ok((rest, declarator));
    }
    if rest.kind() != TokenKind::OpenBracket {
        let span = name.span;
        return Ok((rest, Declarator { name, count: None, dimensions: SmallVec::new(), span }));
    }
    let (rest, list) = many0(dimension).parse(rest)?;
    if rest.kind() == TokenKind::OpenBracket {
        // Says what is wrong inside the brackets.
        dimension(rest)?;
    }
    let span = tokens.consumed(rest);
    Ok((rest, Declarator { name, count: None, dimensions: SmallVec::from_vec(list), span }))
}
