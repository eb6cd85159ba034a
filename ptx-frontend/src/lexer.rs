//! The scanner: bytes to tokens, by hand.
//!
//! Invariants: the token list always ends with exactly one [`TokenKind::End`]; spans ascend and lie on
//! character boundaries; what cannot be a token becomes [`TokenKind::Invalid`] with a diagnostic.

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::number::is_cut;
use crate::report::Report;
use crate::span::Span;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum TokenKind {
    /// An identifier with everything dotted that follows without a blank: `%r1`, `%tid.x`, `ld.global.u32`.
    Word,
    /// A dot and a word: `.param`, `.L1::evict_last`.
    Directive,
    /// A number in any notation.
    Number,
    /// A string with its quotes.
    String,
    /// A lone `_`.
    Underscore,
    Comma,
    Semicolon,
    Colon,
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    OpenParen,
    CloseParen,
    At,
    Assign,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    ShiftLeft,
    Greater,
    GreaterEqual,
    ShiftRight,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Tilde,
    Bang,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Caret,
    Question,
    /// Bytes that are no token; already reported.
    Invalid,
    /// The end of the text.
    End,
}

impl TokenKind {
    /// The kind in words, for messages.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Word => "a name",
            Self::Directive => "a directive",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Underscore => "`_`",
            Self::Comma => "`,`",
            Self::Semicolon => "`;`",
            Self::Colon => "`:`",
            Self::OpenBrace => "`{`",
            Self::CloseBrace => "`}`",
            Self::OpenBracket => "`[`",
            Self::CloseBracket => "`]`",
            Self::OpenParen => "`(`",
            Self::CloseParen => "`)`",
            Self::At => "`@`",
            Self::Assign => "`=`",
            Self::Equal => "`==`",
            Self::NotEqual => "`!=`",
            Self::Less => "`<`",
            Self::LessEqual => "`<=`",
            Self::ShiftLeft => "`<<`",
            Self::Greater => "`>`",
            Self::GreaterEqual => "`>=`",
            Self::ShiftRight => "`>>`",
            Self::Plus => "`+`",
            Self::Minus => "`-`",
            Self::Star => "`*`",
            Self::Slash => "`/`",
            Self::Percent => "`%`",
            Self::Tilde => "`~`",
            Self::Bang => "`!`",
            Self::Amp => "`&`",
            Self::AmpAmp => "`&&`",
            Self::Pipe => "`|`",
            Self::PipePipe => "`||`",
            Self::Caret => "`^`",
            Self::Question => "`?`",
            Self::Invalid => "invalid text",
            Self::End => "the end of the text",
        }
    }
}

/// One token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// Characters of the shortest number that 64 bits do not hold: 17 hexadecimal digits.
const LONG_NUMBER: usize = 19;

const FOLLOW: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || b == b'_' || b == b'$';
        byte += 1;
    }
    table
};

/// Splits `text` (shorter than 4 GiB) into tokens.
pub(crate) fn lex(text: &str, report: &mut Report) -> Vec<Token> {
    let blank = |byte: &u8| matches!(byte, 0 | b' ' | b'\t'..=b'\r');
    let content = text.bytes().rposition(|byte| !blank(&byte)).map_or(0, |last| last + 1);
    let bytes = text.as_bytes();
    let mut lexer = Lexer { bytes, text, content, at: 0, warned: false, tokens: Vec::new(), report };
    lexer.tokens.reserve(text.len() / 5 + 1);
    while lexer.step() {}
    let end = text.len() as u32;
    lexer.tokens.push(Token { kind: TokenKind::End, span: Span::new(end, end) });
    lexer.tokens
}

struct Lexer<'a> {
    bytes: &'a [u8],
    text: &'a str,
    /// Where the NULs and blanks begin that may end a text.
    content: usize,
    at: usize,
    warned: bool,
    tokens: Vec<Token>,
    report: &'a mut Report,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.tokens.push(Token { kind, span: Span::new(start as u32, self.at as u32) });
    }

    fn take(&mut self, kind: TokenKind, length: usize) {
        let start = self.at;
        self.at += length;
        self.push(kind, start);
    }

    /// Reads one token or one run of blanks or comments; false at the end.
    fn step(&mut self) -> bool {
        use TokenKind as K;
        let Some(&byte) = self.bytes.get(self.at) else { return false };
        let start = self.at;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c' => {
                self.at += 1;
                while self.bytes.get(self.at).is_some_and(|b| matches!(b, b' ' | b'\t'..=b'\r')) {
                    self.at += 1;
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' => self.word(start),
            b'%' | b'_' | b'$' if FOLLOW[self.peek(1) as usize] => self.word(start),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            b'.' if FOLLOW[self.peek(1) as usize] => {
                self.at += 2;
                self.follow();
                self.double_colons();
                self.push(K::Directive, start);
            }
            b',' => self.take(K::Comma, 1),
            b';' => self.take(K::Semicolon, 1),
            b':' => self.take(K::Colon, 1),
            b'{' => self.take(K::OpenBrace, 1),
            b'}' => self.take(K::CloseBrace, 1),
            b'[' => self.take(K::OpenBracket, 1),
            b']' => self.take(K::CloseBracket, 1),
            b'(' => self.take(K::OpenParen, 1),
            b')' => self.take(K::CloseParen, 1),
            b'+' => self.take(K::Plus, 1),
            b'-' => self.take(K::Minus, 1),
            b'_' => self.take(K::Underscore, 1),
            b'@' if self.peek(1) == b'@' => self.dwarf(),
            b'@' => self.take(K::At, 1),
            b'/' => match self.peek(1) {
                b'/' => self.rest_of_line(),
                b'*' => self.block_comment(),
                _ => self.take(K::Slash, 1),
            },
            b'"' => self.string(),
            b'*' => self.take(K::Star, 1),
            b'%' => self.take(K::Percent, 1),
            b'~' => self.take(K::Tilde, 1),
            b'^' => self.take(K::Caret, 1),
            b'?' => self.take(K::Question, 1),
            b'=' if self.peek(1) == b'=' => self.take(K::Equal, 2),
            b'=' => self.take(K::Assign, 1),
            b'!' if self.peek(1) == b'=' => self.take(K::NotEqual, 2),
            b'!' => self.take(K::Bang, 1),
            b'<' => match self.peek(1) {
                b'<' => self.take(K::ShiftLeft, 2),
                b'=' => self.take(K::LessEqual, 2),
                _ => self.take(K::Less, 1),
            },
            b'>' => match self.peek(1) {
                b'>' => self.take(K::ShiftRight, 2),
                b'=' => self.take(K::GreaterEqual, 2),
                _ => self.take(K::Greater, 1),
            },
            b'&' if self.peek(1) == b'&' => self.take(K::AmpAmp, 2),
            b'&' => self.take(K::Amp, 1),
            b'|' if self.peek(1) == b'|' => self.take(K::PipePipe, 2),
            b'|' => self.take(K::Pipe, 1),
            b'#' if self.first_on_line() => self.preprocessor(),
            0 if self.at >= self.content => self.at = self.bytes.len(),
            _ => self.invalid(),
        }
        true
    }

    fn follow(&mut self) {
        while self.bytes.get(self.at).is_some_and(|&b| FOLLOW[b as usize]) {
            self.at += 1;
        }
    }

    fn double_colons(&mut self) {
        while self.peek(0) == b':' && self.peek(1) == b':' && FOLLOW[self.peek(2) as usize] {
            self.at += 3;
            self.follow();
        }
    }

    fn word(&mut self, start: usize) {
        self.at += 1;
        self.follow();
        while self.peek(0) == b'.' && FOLLOW[self.peek(1) as usize] {
            self.at += 2;
            self.follow();
            self.double_colons();
        }
        self.push(TokenKind::Word, start);
    }

    fn number(&mut self) {
        let start = self.at;
        let coded = self.peek(0) == b'0' && self.peek(1).is_ascii_alphabetic() && self.peek(1) | 32 != b'e';
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            let exponent_sign = matches!(byte, b'+' | b'-') && !coded && self.bytes[self.at - 1] | 32 == b'e';
            if !(FOLLOW[byte as usize] || (byte == b'.' && !coded) || exponent_sign) {
                break;
            }
            self.at += 1;
        }
        self.push(TokenKind::Number, start);
        let text = &self.text[start..self.at];
        if text.len() >= LONG_NUMBER && is_cut(text) {
            let span = Span::new(start as u32, self.at as u32);
            self.report.push(
                Diagnostic::warning(codes::INVALID_NUMBER, span, "this number does not fit 64 bits")
                    .caption("its low 64 bits are taken, as ptxas does"),
            );
        }
    }

    fn string(&mut self) {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return self.push(TokenKind::String, start);
                }
                b'\n' => break,
                _ => self.at += 1,
            }
        }
        let span = Span::new(start as u32, self.at as u32);
        self.report.push(
            Diagnostic::error(codes::UNCLOSED_STRING, span, "this string has no closing quote")
                .caption("starts here and reaches the end of the line"),
        );
        self.push(TokenKind::Invalid, start);
    }

    fn rest_of_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn block_comment(&mut self) {
        let start = self.at;
        match self.text[start + 2..].find("*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => {
                self.at = self.bytes.len();
                let span = Span::new(start as u32, start as u32 + 2);
                self.report.push(
                    Diagnostic::error(codes::UNCLOSED_COMMENT, span, "this comment is never closed")
                        .caption("starts here")
                        .help("end it with `*/`; comments do not nest"),
                );
            }
        }
    }

    /// `@@DWARF` lines (ISA 11.5.1) carry debug data only.
    fn dwarf(&mut self) {
        let rest = &self.bytes[self.at + 2..];
        if rest.len() >= 5 && rest[..5].eq_ignore_ascii_case(b"dwarf") {
            self.rest_of_line();
        } else {
            self.take(TokenKind::At, 1);
        }
    }

    fn first_on_line(&self) -> bool {
        let before = &self.bytes[..self.at];
        before.iter().rev().find(|b| !matches!(b, b' ' | b'\t')).is_none_or(|&b| matches!(b, b'\n' | b'\r'))
    }

    fn preprocessor(&mut self) {
        let start = self.at;
        self.rest_of_line();
        if !self.warned {
            self.warned = true;
            let span = Span::new(start as u32, self.at as u32);
            self.report.push(
                Diagnostic::warning(codes::PREPROCESSOR_LINE, span, "preprocessor lines are ignored")
                    .help("run the C preprocessor first if the text uses its macros"),
            );
        }
    }

    fn invalid(&mut self) {
        let start = self.at;
        let known = |c: char| {
            c.is_ascii() && !matches!(c, '\\' | '`' | '\'' | '\0'..='\x08' | '\x0e'..='\x1f' | '\x7f')
        };
        let first = self.text[start..].chars().next().unwrap_or('\0');
        self.at += first.len_utf8();
        for c in self.text[self.at..].chars().take_while(|&c| !known(c)) {
            self.at += c.len_utf8();
        }
        let span = Span::new(start as u32, self.at as u32);
        let message = match first {
            '\u{fffd}' => "bytes that are not UTF-8".to_owned(),
            '\0' => "a NUL byte in the middle of the text".to_owned(),
            c if c.is_ascii_control() || !c.is_ascii() => format!("unexpected character U+{:04X}", c as u32),
            c => format!("unexpected character `{c}`"),
        };
        self.report.push(
            Diagnostic::error(codes::INVALID_CHARACTER, span, message)
                .caption("not a part of PTX")
                .help("outside comments and strings PTX is ASCII text"),
        );
        self.push(TokenKind::Invalid, start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> (Vec<(TokenKind, &str)>, usize) {
        let mut report = Report::default();
        let tokens = lex(text, &mut report);
        assert_eq!(tokens.last().map(|t| t.kind), Some(TokenKind::End));
        let list = tokens[..tokens.len() - 1].iter().map(|t| (t.kind, &text[t.span.range()])).collect();
        (list, report.finish().len())
    }

    #[test]
    fn words_take_their_dotted_parts() {
        use TokenKind::*;
        let (list, errors) =
            kinds("@!%p1 ld.global.L1::evict_last.u32{%r1,_}, [%rd1+-4];$L__1: .param.align 8");
        assert_eq!(errors, 0);
        assert_eq!(
            list,
            [
                (At, "@"),
                (Bang, "!"),
                (Word, "%p1"),
                (Word, "ld.global.L1::evict_last.u32"),
                (OpenBrace, "{"),
                (Word, "%r1"),
                (Comma, ","),
                (Underscore, "_"),
                (CloseBrace, "}"),
                (Comma, ","),
                (OpenBracket, "["),
                (Word, "%rd1"),
                (Plus, "+"),
                (Minus, "-"),
                (Number, "4"),
                (CloseBracket, "]"),
                (Semicolon, ";"),
                (Word, "$L__1"),
                (Colon, ":"),
                (Directive, ".param"),
                (Directive, ".align"),
                (Number, "8"),
            ]
        );
    }

    #[test]
    fn numbers() {
        for text in [
            "0",
            "42U",
            "0x1fU",
            "0b101",
            "017",
            "1.5",
            "1.5e-3",
            "2E+10",
            ".05",
            "0f3f800000",
            "0d3ff0000000000000",
            "1e5",
        ] {
            assert_eq!(kinds(text), (vec![(TokenKind::Number, text)], 0));
        }
        assert_eq!(kinds("0x1e+4").0.len(), 3);
    }

    #[test]
    fn comments_lines_and_nul() {
        assert_eq!(kinds("a // b\n/* c\n*/ d\n@@DWARF .byte 0\n").0.len(), 2);
        assert_eq!(kinds("# 1 \"a.cu\"\n#line 2\na").1, 1);
        assert_eq!(kinds("a;\0\0"), (vec![(TokenKind::Word, "a"), (TokenKind::Semicolon, ";")], 0));
        assert_eq!(kinds("a\0b").1, 1);
        assert_eq!(kinds("/* open").1, 1);
        assert_eq!(kinds("\"open\nb").1, 1);
        assert_eq!(kinds("é\u{fffd} `").1, 2);
    }
}
