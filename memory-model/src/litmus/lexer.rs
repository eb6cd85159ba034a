//! Tokens of the Dartagnan PTX dialect. Comments `(* *)`, `//`, `<< >>` and quoted lines are skipped.

use super::diagnostic::{Code, Diagnostic, Span};

/// What a token is. Text is looked up in the source by the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits, underscores, not beginning with a digit.
    Word,
    /// A decimal or hexadecimal integer without sign.
    Number(i64),
    /// Punctuation, one of the strings of [`PUNCTUATION`].
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
    "/\\", "\\/", "==", "!=", "<=", ">=", "&&", "||", "::", "{", "}", "(", ")", "[", "]", ";", ":", ",", "|",
    "@", "=", "<", ">", "~", "&", ".", "-", "+", "!", "%",
];

/// Splits `text[from..]` into tokens; the last one is [`Kind::End`].
pub(super) fn lex(text: &str, from: usize) -> Result<Vec<Token>, Diagnostic> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = from;
    'next: while at < bytes.len() {
        let rest = &text[at..];
        let byte = bytes[at];
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        for (open, close) in [("(*", "*)"), ("<<", ">>"), ("\"", "\"")] {
            if let Some(inside) = rest.strip_prefix(open) {
                match inside.find(close) {
                    Some(length) => at += open.len() + length + close.len(),
                    None => {
                        let message = format!("`{open}` without a closing `{close}`");
                        return Err(Diagnostic::new(Code::Syntax, Span::new(at, at + open.len()), message));
                    }
                }
                continue 'next;
            }
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let end_while = |start: usize, keep: fn(u8) -> bool| {
            bytes[start..].iter().position(|&b| !keep(b)).map_or(bytes.len(), |n| start + n)
        };
        if byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' {
            let end = end_while(at + 1, |b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$');
            tokens.push(Token { kind: Kind::Word, span: Span::new(at, end) });
            at = end;
        } else if byte.is_ascii_digit() {
            let end = end_while(at, |b| b.is_ascii_alphanumeric());
            let digits = &text[at..end];
            let span = Span::new(at, end);
            let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
                Some(hex) => u64::from_str_radix(hex, 16).map(|v| v as i64),
                None => digits.parse::<u64>().map(|v| v as i64),
            };
            match value {
                Ok(value) => tokens.push(Token { kind: Kind::Number(value), span }),
                Err(_) => {
                    let message = format!("`{digits}` is not an integer of at most 64 bits");
                    return Err(Diagnostic::new(Code::Range, span, message));
                }
            }
            at = end;
        } else if let Some(punct) = PUNCTUATION.iter().find(|p| rest.starts_with(**p)) {
            tokens.push(Token { kind: Kind::Punct(punct), span: Span::new(at, at + punct.len()) });
            at += punct.len();
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            let message = format!("`{}` has no meaning here", &rest[..length]);
            return Err(Diagnostic::new(Code::Syntax, Span::new(at, at + length), message));
        }
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(text.len(), text.len()) });
    Ok(tokens)
}
