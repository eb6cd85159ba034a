//! The token slice as nom's input, and the smallest parsers over it.

use nom::error::{ErrorKind, ParseError};
use nom::{Err, IResult, Input, Needed, Parser};
use smallvec::{SmallVec, smallvec};

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};
use crate::span::Span;

/// What is left of a text. Never empty: the end token is not consumed.
#[derive(Clone, Copy)]
pub(super) struct Tokens<'a> {
    pub(super) text: &'a str,
    pub(super) rest: &'a [Token],
    /// Where the last consumed token ended.
    pub(super) previous: u32,
}

/// Result of a grammar rule.
pub(super) type Step<'a, T> = IResult<Tokens<'a>, T, SyntaxError>;

/// Why a rule did not match: what would have been accepted where, or a finding that stops it.
#[derive(Debug)]
pub(super) struct SyntaxError {
    at: Span,
    previous: u32,
    found: TokenKind,
    expected: SmallVec<[&'static str; 4]>,
    finding: Option<Box<Diagnostic>>,
    left: usize,
}

impl SyntaxError {
    /// How many tokens were left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The rule wanted `what` at the start of `tokens`.
    pub(super) fn expected(tokens: Tokens<'_>, what: &'static str) -> Self {
        let token = tokens.first();
        Self {
            at: token.span,
            previous: tokens.previous,
            found: token.kind,
            expected: smallvec![what],
            finding: None,
            left: tokens.rest.len(),
        }
    }

    /// A finding that ends the statement.
    pub(super) fn finding(tokens: Tokens<'_>, diagnostic: Diagnostic) -> Self {
        Self { finding: Some(Box::new(diagnostic)), ..Self::expected(tokens, "") }
    }

    /// The diagnostic; `None` if the cause was reported by the lexer.
    pub(super) fn diagnostic(self, text: &str) -> Option<Diagnostic> {
        if let Some(finding) = self.finding {
            return Some(*finding);
        }
        let list = match self.expected.as_slice() {
            [] => return None,
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        };
        if self.found == TokenKind::Invalid {
            return None;
        }
        if self.found == TokenKind::End {
            let at = Span::new(self.previous.saturating_sub(1), self.previous);
            let at = if text.is_char_boundary(at.start as usize) { at } else { self.at };
            return Some(
                Diagnostic::error(codes::SYNTAX, at, "the text ends in the middle of a statement")
                    .caption(format!("expected {list} after this")),
            );
        }
        let found = match self.found {
            TokenKind::Word | TokenKind::Directive | TokenKind::Number => {
                let word = &text[self.at.range()];
                let short: String = word.chars().take(60).collect();
                format!("`{short}{}`", if short.len() < word.len() { "…" } else { "" })
            }
            kind => kind.describe().to_owned(),
        };
        let message = format!("expected {list}, found {found}");
        let broken = text[self.previous as usize..self.at.start as usize].contains('\n');
        let error = Diagnostic::error(codes::SYNTAX, self.at, message).caption(format!("expected {list}"));
        Some(if broken && self.expected.contains(&"`;`") {
            let end = Span::new(self.previous.saturating_sub(1), self.previous);
            Diagnostic::error(codes::SYNTAX, end, "a statement is not ended")
                .caption("`;` is missing after this")
                .label(self.at, "the next statement begins here")
        } else {
            error
        })
    }

    /// Whether it is only that a statement lacks its `;` at the end of a line.
    pub(super) fn lacks_semicolon(&self, text: &str) -> bool {
        self.finding.is_none()
            && self.expected.contains(&"`;`")
            && text[self.previous as usize..self.at.start as usize].contains('\n')
    }
}

impl<'a> ParseError<Tokens<'a>> for SyntaxError {
    fn from_error_kind(input: Tokens<'a>, _kind: ErrorKind) -> Self {
        Self { expected: SmallVec::new(), ..Self::expected(input, "") }
    }

    fn append(_input: Tokens<'a>, _kind: ErrorKind, other: Self) -> Self {
        other
    }

    fn or(mut self, other: Self) -> Self {
        if self.finding.is_some() || (other.finding.is_none() && self.at.start > other.at.start) {
            return self;
        }
        if other.finding.is_some() || other.at.start > self.at.start {
            return other;
        }
        for what in other.expected {
            if !self.expected.contains(&what) {
                self.expected.push(what);
            }
        }
        self
    }
}

impl<'a> Tokens<'a> {
    pub(super) fn first(self) -> Token {
        self.rest[0]
    }

    pub(super) fn kind(self) -> TokenKind {
        self.rest[0].kind
    }

    /// The kind of the token after the next `ahead` ones.
    pub(super) fn kind_at(self, ahead: usize) -> TokenKind {
        self.rest.get(ahead).map_or(TokenKind::End, |token| token.kind)
    }

    pub(super) fn slice(self, span: Span) -> &'a str {
        &self.text[span.range()]
    }

    /// The text of the next token.
    pub(super) fn word(self) -> &'a str {
        self.slice(self.first().span)
    }

    /// Without the next `count` tokens.
    pub(super) fn skip(self, count: usize) -> Self {
        let count = count.min(self.rest.len() - 1);
        match count {
            0 => self,
            _ => Self { previous: self.rest[count - 1].span.end, rest: &self.rest[count..], ..self },
        }
    }

    /// From the start of `self` to the last token consumed when `after` is left.
    pub(super) fn consumed(self, after: Tokens<'a>) -> Span {
        Span::new(self.first().span.start, after.previous.max(self.first().span.start))
    }

    pub(super) fn error<T>(self, what: &'static str) -> Step<'a, T> {
        Err(Err::Error(SyntaxError::expected(self, what)))
    }
}

impl<'a> Input for Tokens<'a> {
    type Item = Token;
    type Iter = std::iter::Copied<std::slice::Iter<'a, Token>>;
    type IterIndices = std::iter::Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.rest.len()
    }

    fn take(&self, index: usize) -> Self {
        Self { rest: &self.rest[..index], ..*self }
    }

    fn take_from(&self, index: usize) -> Self {
        self.skip(index)
    }

    fn take_split(&self, index: usize) -> (Self, Self) {
        (self.take_from(index), self.take(index))
    }

    fn position<P: Fn(Token) -> bool>(&self, predicate: P) -> Option<usize> {
        self.rest.iter().position(|&token| predicate(token))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.rest.iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        if count <= self.rest.len() { Ok(count) } else { Err(Needed::Unknown) }
    }
}

/// A name with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// One token of this kind.
pub(super) fn token<'a>(kind: TokenKind) -> impl Parser<Tokens<'a>, Output = Token, Error = SyntaxError> {
    move |tokens: Tokens<'a>| match tokens.first() {
        token if token.kind == kind => Ok((tokens.skip(1), token)),
        _ => tokens.error(kind.describe()),
    }
}

/// A directive with this text, dot included; `what` names it in errors.
pub(super) fn directive<'a>(
    text: &'static str,
    what: &'static str,
) -> impl Parser<Tokens<'a>, Output = Span, Error = SyntaxError> {
    move |tokens: Tokens<'a>| {
        if tokens.kind() == TokenKind::Directive && tokens.word() == text {
            return Ok((tokens.skip(1), tokens.first().span));
        }
        tokens.error(what)
    }
}

/// A word with this text.
pub(super) fn keyword<'a>(
    text: &'static str,
    what: &'static str,
) -> impl Parser<Tokens<'a>, Output = Span, Error = SyntaxError> {
    move |tokens: Tokens<'a>| {
        if tokens.kind() == TokenKind::Word && tokens.word() == text {
            return Ok((tokens.skip(1), tokens.first().span));
        }
        tokens.error(what)
    }
}

/// A name without dots.
pub(super) fn name(tokens: Tokens<'_>) -> Step<'_, Name<'_>> {
    if tokens.kind() != TokenKind::Word {
        return tokens.error("a name");
    }
    let name = Name { text: tokens.word(), span: tokens.first().span };
    if let Some(dot) = name.text.find('.') {
        let span = Span::new(name.span.start + dot as u32, name.span.end);
        let finding = Diagnostic::error(codes::SYNTAX, span, "a name cannot hold a dot")
            .caption("begins with a dot")
            .help("names consist of letters, digits, `_` and `$`, with an optional `%` in front");
        return Err(Err::Failure(SyntaxError::finding(tokens, finding)));
    }
    Ok((tokens.skip(1), name))
}

/// A string, given without its quotes.
pub(super) fn string(tokens: Tokens<'_>) -> Step<'_, Name<'_>> {
    let (rest, token) = token(TokenKind::String).parse(tokens)?;
    let text = tokens.slice(token.span);
    Ok((rest, Name { text: &text[1..text.len() - 1], span: token.span }))
}
