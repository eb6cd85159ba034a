//! Tokens of the cat language. Comments are `(* *)`, which nest unless they then have no end, `/* */`, `//` and `#`.

use crate::litmus::{Code, Diagnostic, Span};

/// What a token is. Text is looked up in the source by the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits, `_`, `.`, `-`: names and keywords.
    Word,
    /// Text in double quotes.
    Quoted,
    /// A name behind a single quote: a constant.
    Tag,
    /// Punctuation, one of [`PUNCTUATION`].
    Punct(&'static str),
    /// End of the text.
    End,
}

/// A token and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// Longest first, so that the first match is the right one.
const PUNCTUATION: &[&str] = &[
    "^-1", "||", "&&", "++", "->", "=", "*", "+", "?", "~", "&", "|", ";", "\\", "^", "(", ")", "[", "]",
    "{", "}", ",", ":", "-1",
];

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'\'')
}

/// Splits a text into tokens; the last one is [`Kind::End`].
pub(super) fn lex(text: &str) -> Result<Vec<Token>, Diagnostic> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    'next: while at < bytes.len() {
        let rest = &bytes[at..];
        let mut push = |kind, length: usize| {
            tokens.push(Token { kind, span: Span::new(at, at + length) });
            at + length
        };
        if rest[0].is_ascii_whitespace() {
            at += 1;
        } else if rest.starts_with(b"(*") || rest.starts_with(b"/*") {
            at += comment(rest).ok_or_else(|| {
                Diagnostic::new(Code::ModelSyntax, Span::new(at, at + 2), "this comment has no end")
            })?;
        } else if rest.starts_with(b"//") || rest[0] == b'#' {
            at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        } else if rest[0] == b'"' {
            let Some(end) = rest[1..].iter().position(|&b| b == b'"') else {
                let span = Span::new(at, at + 1);
                return Err(Diagnostic::new(Code::ModelSyntax, span, "this quoted text has no end"));
            };
            at = push(Kind::Quoted, end + 2);
        } else if rest[0].is_ascii_alphanumeric() || rest[0] == b'_' {
            let length = rest.iter().position(|&b| !in_name(b)).unwrap_or(rest.len());
            at = push(Kind::Word, length);
        } else if rest[0] == b'\'' && rest.get(1).is_some_and(u8::is_ascii_alphabetic) {
            let length = rest[1..].iter().position(|&b| !in_name(b)).unwrap_or(rest.len() - 1);
            at = push(Kind::Tag, length + 1);
        } else {
            for &mark in PUNCTUATION {
                if rest.starts_with(mark.as_bytes()) {
                    at = push(Kind::Punct(mark), mark.len());
                    continue 'next;
                }
            }
            let character = text[at..].chars().next().unwrap_or(' ');
            let span = Span::new(at, at + character.len_utf8());
            let message = format!("`{}` has no meaning in a model", character.escape_debug());
            return Err(Diagnostic::new(Code::ModelSyntax, span, message));
        }
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(text.len(), text.len()) });
    Ok(tokens)
}

/// The length of the comment that a text begins with.
fn comment(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"/*") {
        return text.windows(2).skip(2).position(|w| w == b"*/").map(|end| end + 4);
    }
    let (mut depth, mut at) = (0, 0);
    while at + 1 < text.len() {
        match &text[at..at + 2] {
            b"(*" => {
                depth += 1;
                at += 2;
            }
            b"*)" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    text.windows(2).skip(2).position(|w| w == b"*)").map(|end| end + 4)
}
