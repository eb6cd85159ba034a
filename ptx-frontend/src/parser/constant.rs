//! Literals and constant expressions (ISA 4.5), evaluated while they are read.
//!
//! Where the manual leaves a choice this does as ptxas does: shift amounts count modulo 64.

use nom::Err;

use super::tokens::{Step, SyntaxError, Tokens};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::Operand;
use crate::number::whole_number;
use crate::span::Span;

/// How deep parentheses, unary operators and `?:` may nest.
const DEPTH: u32 = 200;

/// Threads of a warp: the predefined constant `WARP_SZ`.
const WARP_SIZE: i64 = 32;

/// The value of a constant expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Constant {
    /// `.s64`
    Signed(i64),
    /// `.u64`
    Unsigned(u64),
    /// `.f64`
    Double(f64),
    /// `0f…`: exact bits of an `.f32`, not for use in expressions.
    Single(u32),
}

impl Constant {
    /// The 64 bits of an integer.
    pub(super) fn integer(self) -> Option<u64> {
        match self {
            Self::Signed(value) => Some(value as u64),
            Self::Unsigned(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn operand(self) -> Operand {
        match self {
            Self::Signed(value) => Operand::Integer(value as u64),
            Self::Unsigned(value) => Operand::Integer(value),
            Self::Double(value) => Operand::F64(value.to_bits()),
            Self::Single(bits) => Operand::F32(bits),
        }
    }
}

/// Whether a constant expression can begin here (`!` and `(` are left to the caller).
pub(super) fn begins(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Number | TokenKind::Minus | TokenKind::Plus | TokenKind::Tilde)
}

/// A constant expression.
pub(super) fn constant(tokens: Tokens<'_>) -> Step<'_, Constant> {
    ternary(tokens, 0)
}

/// A constant expression with an integer value.
pub(super) fn integer(tokens: Tokens<'_>) -> Step<'_, u64> {
    let (rest, value) = constant(tokens)?;
    match value.integer() {
        Some(value) => Ok((rest, value)),
        None => fail(
            tokens,
            tokens.consumed(rest),
            codes::CONSTANT,
            "expected an integer, found a floating-point constant",
        ),
    }
}

fn fail<'a, T>(tokens: Tokens<'a>, span: Span, code: crate::Code, message: &str) -> Step<'a, T> {
    Err(Err::Failure(SyntaxError::finding(tokens, Diagnostic::error(code, span, message))))
}

fn ternary(tokens: Tokens<'_>, depth: u32) -> Step<'_, Constant> {
    let (rest, condition) = binary(tokens, 0, depth)?;
    if rest.kind() != TokenKind::Question {
        return Ok((rest, condition));
    }
    let Some(condition) = condition.integer() else {
        return fail(
            tokens,
            tokens.consumed(rest),
            codes::CONSTANT,
            "the condition of `?:` must be an integer",
        );
    };
    let (rest, yes) = ternary(rest.skip(1), depth + 1)?;
    if rest.kind() != TokenKind::Colon {
        return rest.error("`:`");
    }
    let (rest, no) = ternary(rest.skip(1), depth + 1)?;
    let span = tokens.consumed(rest);
    let value = match (yes, no) {
        (Constant::Double(yes), Constant::Double(no)) => {
            Constant::Double(if condition != 0 { yes } else { no })
        }
        // As in ptxas: the value keeps the type of the operand that is chosen.
        _ if yes.integer().is_some() && no.integer().is_some() => {
            if condition != 0 {
                yes
            } else {
                no
            }
        }
        _ => return fail(tokens, span, codes::CONSTANT, MIXED),
    };
    Ok((rest, value))
}

const MIXED: &str = "integers and floating-point numbers cannot be mixed in a constant expression";

/// Both as bits, and whether the usual arithmetic conversions make them unsigned.
fn usual(left: Constant, right: Constant) -> Option<(u64, u64, bool)> {
    let unsigned = matches!(left, Constant::Unsigned(_)) || matches!(right, Constant::Unsigned(_));
    Some((left.integer()?, right.integer()?, unsigned))
}

fn typed(bits: u64, unsigned: bool) -> Constant {
    if unsigned { Constant::Unsigned(bits) } else { Constant::Signed(bits as i64) }
}

fn precedence(kind: TokenKind) -> Option<u32> {
    use TokenKind as K;
    Some(match kind {
        K::PipePipe => 1,
        K::AmpAmp => 2,
        K::Pipe => 3,
        K::Caret => 4,
        K::Amp => 5,
        K::Equal | K::NotEqual => 6,
        K::Less | K::Greater | K::LessEqual | K::GreaterEqual => 7,
        K::ShiftLeft | K::ShiftRight => 8,
        K::Plus | K::Minus => 9,
        K::Star | K::Slash | K::Percent => 10,
        _ => return None,
    })
}

fn binary(tokens: Tokens<'_>, least: u32, depth: u32) -> Step<'_, Constant> {
    let (mut rest, mut left) = unary(tokens, depth)?;
    while let Some(level) = precedence(rest.kind()).filter(|&level| level > least) {
        let operator = rest.first();
        let (after, right) = binary(rest.skip(1), level, depth + 1)?;
        let span = tokens.consumed(after);
        left = match apply(operator.kind, left, right) {
            Ok(value) => value,
            Result::Err((code, message)) => return fail(tokens, span, code, message),
        };
        rest = after;
    }
    Ok((rest, left))
}

fn apply(
    operator: TokenKind,
    left: Constant,
    right: Constant,
) -> Result<Constant, (crate::Code, &'static str)> {
    use TokenKind as K;
    let truth = |value: bool| Ok(Constant::Signed(i64::from(value)));
    if let (Constant::Double(a), Constant::Double(b)) = (left, right) {
        return match operator {
            K::Plus => Ok(Constant::Double(a + b)),
            K::Minus => Ok(Constant::Double(a - b)),
            K::Star => Ok(Constant::Double(a * b)),
            K::Slash => Ok(Constant::Double(a / b)),
            K::Less => truth(a < b),
            K::Greater => truth(a > b),
            K::LessEqual => truth(a <= b),
            K::GreaterEqual => truth(a >= b),
            K::Equal => truth(a == b),
            K::NotEqual => truth(a != b),
            _ => Err((codes::CONSTANT, "this operator needs integers")),
        };
    }
    if matches!(left, Constant::Single(_)) || matches!(right, Constant::Single(_)) {
        return Err((codes::CONSTANT, "a `0f` constant cannot be used in an expression"));
    }
    let Some((a, b, unsigned)) = usual(left, right) else { return Err((codes::CONSTANT, MIXED)) };
    let (sa, sb) = (a as i64, b as i64);
    let whole = |bits: u64| Ok(typed(bits, unsigned));
    match operator {
        K::Plus => whole(a.wrapping_add(b)),
        K::Minus => whole(a.wrapping_sub(b)),
        K::Star => whole(a.wrapping_mul(b)),
        K::Slash | K::Percent if b == 0 => {
            Err((codes::DIVISION_BY_ZERO, "division by zero in a constant expression"))
        }
        K::Slash if unsigned => whole(a / b),
        K::Slash => whole(sa.wrapping_div(sb) as u64),
        K::Percent => Ok(Constant::Signed((a % b) as i64)),
        K::ShiftLeft => Ok(typed(a << (b & 63), matches!(left, Constant::Unsigned(_)))),
        K::ShiftRight => Ok(match left {
            Constant::Unsigned(a) => Constant::Unsigned(a >> (b & 63)),
            _ => Constant::Signed(sa >> (b & 63)),
        }),
        K::Less => truth(if unsigned { a < b } else { sa < sb }),
        K::Greater => truth(if unsigned { a > b } else { sa > sb }),
        K::LessEqual => truth(if unsigned { a <= b } else { sa <= sb }),
        K::GreaterEqual => truth(if unsigned { a >= b } else { sa >= sb }),
        K::Equal => truth(a == b),
        K::NotEqual => truth(a != b),
        K::Amp => whole(a & b),
        K::Caret => whole(a ^ b),
        K::Pipe => whole(a | b),
        K::AmpAmp => truth(a != 0 && b != 0),
        _ => truth(a != 0 || b != 0),
    }
}

fn unary(tokens: Tokens<'_>, depth: u32) -> Step<'_, Constant> {
    use TokenKind as K;
    if depth > DEPTH {
        return fail(
            tokens,
            tokens.first().span,
            codes::TOO_DEEP,
            "this constant expression is nested too deeply",
        );
    }
    let operator = tokens.first();
    match operator.kind {
        K::Number => {
            let word = tokens.word();
            match literal(word) {
                Ok(value) => Ok((tokens.skip(1), value)),
                Result::Err(message) => fail(tokens, operator.span, codes::INVALID_NUMBER, message),
            }
        }
        K::Word if tokens.word() == "WARP_SZ" => Ok((tokens.skip(1), Constant::Signed(WARP_SIZE))),
        K::OpenParen if tokens.kind_at(1) == K::Directive && tokens.kind_at(2) == K::CloseParen => {
            let (rest, value) = unary(tokens.skip(3), depth + 1)?;
            let unsigned = match tokens.skip(1).word() {
                ".u64" => true,
                ".s64" => false,
                _ => {
                    return fail(
                        tokens,
                        tokens.skip(1).first().span,
                        codes::SYNTAX,
                        "a cast is `(.s64)` or `(.u64)`",
                    );
                }
            };
            match value.integer() {
                Some(bits) => Ok((rest, typed(bits, unsigned))),
                None => fail(tokens, tokens.consumed(rest), codes::CONSTANT, "only integers can be cast"),
            }
        }
        K::OpenParen => {
            let (rest, value) = ternary(tokens.skip(1), depth + 1)?;
            if rest.kind() != K::CloseParen {
                return rest.error("`)`");
            }
            Ok((rest.skip(1), value))
        }
        K::Plus | K::Minus | K::Bang | K::Tilde => {
            let (rest, value) = unary(tokens.skip(1), depth + 1)?;
            let value = match (operator.kind, value) {
                (_, Constant::Single(_)) => None,
                (K::Plus, value) => Some(value),
                (K::Minus, Constant::Double(value)) => Some(Constant::Double(-value)),
                (_, Constant::Double(_)) => None,
                (K::Minus, Constant::Signed(value)) => Some(Constant::Signed(value.wrapping_neg())),
                (K::Minus, Constant::Unsigned(value)) => Some(Constant::Unsigned(value.wrapping_neg())),
                (K::Bang, value) => value.integer().map(|bits| Constant::Signed(i64::from(bits == 0))),
                (_, value) => value.integer().map(|bits| Constant::Unsigned(!bits)),
            };
            match value {
                Some(value) => Ok((rest, value)),
                None => fail(
                    tokens,
                    tokens.consumed(rest),
                    codes::CONSTANT,
                    "this operator does not apply to this constant",
                ),
            }
        }
        _ => tokens.error("a constant"),
    }
}

/// The value of a number as written.
pub(super) fn literal(word: &str) -> Result<Constant, &'static str> {
    let bytes = word.as_bytes();
    if bytes.iter().all(u8::is_ascii_digit) && bytes.len() < 19 && (bytes[0] != b'0' || bytes.len() == 1) {
        return Ok(Constant::Signed(bytes.iter().fold(0, |value, b| value * 10 + i64::from(b - b'0'))));
    }
    let hex = |digits: &str, count: usize| {
        let exact = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if exact { u64::from_str_radix(digits, 16).ok() } else { None }
    };
    if let Some(digits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
        let bits = hex(digits, 8).ok_or("`0f` needs exactly 8 hexadecimal digits")?;
        return Ok(Constant::Single(bits as u32));
    }
    if let Some(digits) = word.strip_prefix("0d").or_else(|| word.strip_prefix("0D")) {
        let bits = hex(digits, 16).ok_or("`0d` needs exactly 16 hexadecimal digits")?;
        return Ok(Constant::Double(f64::from_bits(bits)));
    }
    let (digits, unsigned) = word.strip_suffix('U').map_or((word, false), |digits| (digits, true));
    let (digits, radix, name) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16, "not a hexadecimal number"),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2, "not a binary number"),
        [b'0', rest @ ..] if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) => {
            (&digits[1..], 8, "not an octal number: digits after a leading 0 go from 0 to 7")
        }
        list if list.iter().all(u8::is_ascii_digit) => (digits, 10, "not a number"),
        [.., b'u'] => return Err("not a number: the suffix of unsigned numbers is a capital `U`"),
        _ if unsigned => return Err("only integers take the suffix `U`"),
        _ => return decimal(word),
    };
    if digits.is_empty() || !digits.bytes().all(|b| (b as char).is_digit(radix)) {
        return Err(name);
    }
    let value = whole_number(digits, radix).ok_or("this number does not fit 64 bits")?;
    Ok(typed(value, unsigned || value > i64::MAX as u64))
}

/// A decimal floating-point number.
fn decimal(word: &str) -> Result<Constant, &'static str> {
    let plain = word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    match word.parse::<f64>() {
        Ok(value) if plain && value.is_finite() && (value != 0.0 || zero(word)) => {
            Ok(Constant::Double(value))
        }
        Ok(_) if plain => Err("this number does not fit a 64-bit floating-point number"),
        _ => Err("not a number"),
    }
}

/// Whether all digits before the exponent are 0.
fn zero(word: &str) -> bool {
    let digits = word.split(['e', 'E']).next().unwrap_or(word);
    digits.bytes().all(|b| matches!(b, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number;
    use crate::report::Report;

    fn value(text: &str) -> Result<Constant, String> {
        let mut report = Report::default();
        let tokens = crate::lexer::lex(text, &mut report);
        let input = Tokens { text, rest: &tokens, previous: 0 };
        match constant(input) {
            Ok((rest, value)) if rest.kind() == TokenKind::End => Ok(value),
            Ok((rest, _)) => Result::Err(format!("stopped at {:?}", rest.first())),
            Result::Err(Err::Error(error) | Err::Failure(error)) => {
                Result::Err(error.diagnostic(text).map_or(String::new(), |d| d.message))
            }
            Result::Err(Err::Incomplete(_)) => unreachable!("complete parsers only"),
        }
    }

    #[test]
    fn literals() {
        let signed = |v| Ok(Constant::Signed(v));
        assert_eq!(value("42"), signed(42));
        assert_eq!(value("0123"), signed(0o123));
        assert_eq!(value("0x1234"), signed(0x1234));
        assert_eq!(value("0b101"), signed(5));
        assert_eq!(value("0x1234U"), Ok(Constant::Unsigned(0x1234)));
        assert_eq!(value("0xfabc123400000000"), Ok(Constant::Unsigned(0xfabc_1234_0000_0000)));
        assert_eq!(value("9223372036854775808"), Ok(Constant::Unsigned(1 << 63)));
        assert_eq!(value("18446744073709551621"), signed(5));
        assert_eq!(value("0x12345678123456789"), Ok(Constant::Signed(0x2345_6781_2345_6789)));
        assert_eq!(value("27670116110564327424U"), Ok(Constant::Unsigned(1 << 63)));
        assert!(
            number::is_cut("18446744073709551621")
                && number::is_cut("0x12345678123456789")
                && !number::is_cut("0x0000000000000000001")
        );
        assert_eq!(value("0F3f800000"), Ok(Constant::Single(0x3f80_0000)));
        assert_eq!(value("0d3ff0000000000000"), Ok(Constant::Double(1.0)));
        assert_eq!(value(".5"), Ok(Constant::Double(0.5)));
        assert_eq!(value("1e3"), Ok(Constant::Double(1000.0)));
        for bad in [
            "0x",
            "08",
            "0b2",
            "12abc",
            "1.2.3",
            "99999999999999999999",
            "100000000000000000000",
            "0xfffffffffffffffff",
            "0f3f8",
            "1e999",
            "1.5U",
        ] {
            assert!(value(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn c_precedence_and_types() {
        let signed = |v| Ok(Constant::Signed(v));
        assert_eq!(value("1+2*3"), signed(7));
        assert_eq!(value("(1+2)*3"), signed(9));
        assert_eq!(value("10-4-3"), signed(3));
        assert_eq!(value("-7/2"), signed(-3));
        assert_eq!(value("-1 < 1U"), signed(0));
        assert_eq!(value("-1 < 1"), signed(1));
        assert_eq!(value("-8>>1"), signed(-4));
        assert_eq!(value("(.u64)-8>>1"), Ok(Constant::Unsigned((-8i64 as u64) >> 1)));
        assert_eq!(value("1<<64"), signed(1));
        assert_eq!(value("-1>>70"), signed(-1));
        assert_eq!(value("~0"), Ok(Constant::Unsigned(u64::MAX)));
        assert_eq!(value("!0 && 2 || 0"), signed(1));
        assert_eq!(value("1 ? 2 : 0 ? 3 : 4"), signed(2));
        assert_eq!(value("0 ? 2 : 0 ? 3 : 4"), signed(4));
        assert_eq!(value("1.5 * 2.0 - 1.0"), Ok(Constant::Double(2.0)));
        assert_eq!(value("1.5 < 2.0"), signed(1));
        assert_eq!(value("WARP_SZ*2"), signed(64));
        assert_eq!(value("1 | 6 ^ 3 & 2"), signed(1 | (6 ^ (3 & 2))));
    }

    #[test]
    fn what_has_no_value() {
        for bad in
            ["1/0", "1%0", "1+1.5", "1.5%2.0", "0f3f800000+1.0", "~1.5", "(1", "1 ? 2", "(.u32)1", "1+"]
        {
            assert!(value(bad).is_err(), "{bad}");
        }
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(value(&deep).unwrap_err(), "this constant expression is nested too deeply");
        assert!(value(&"-".repeat(100_000)).is_err());
    }
}
