//! From a text to a tree.

use crate::error::{Error, Result};

/// An expression as it is written.
#[derive(Clone, PartialEq, Debug)]
pub enum Ast {
    /// A whole number, and whether it is unsigned and of 64 bits.
    Integer(u128, bool, bool),
    /// A float, and whether it is of 32 bits.
    Float(f64, bool),
    /// A character.
    Char(u8),
    /// A name, and where it stands.
    Name(String, usize),
    /// An operator before a value.
    Unary(&'static str, Box<Ast>),
    /// An operator between two.
    Binary(&'static str, Box<Ast>, Box<Ast>),
    /// `a ? b : c`
    Choice(Box<Ast>, Box<Ast>, Box<Ast>),
    /// `a[b]`
    Index(Box<Ast>, Box<Ast>),
    /// `a.b`; `a->b` is `(*a).b`.
    Member(Box<Ast>, String),
    /// `(type) a`
    Cast(TypeName, Box<Ast>),
    /// `sizeof(type)`
    SizeOf(TypeName),
    /// `a@b`: an array of `b` from `a` on.
    Repeat(Box<Ast>, Box<Ast>),
}

/// The name of a type: its words, a space of what it points to, how many `*`, and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeName {
    /// `unsigned int`
    pub words: String,
    /// `shared`
    pub space: Option<String>,
    /// `*`
    pub stars: usize,
    /// In bytes.
    pub at: usize,
}

/// What was read: the expression, and what stands behind it: `@all` and the like.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// The expression.
    pub ast: Ast,
    /// The word behind the last `@`, if that is no number.
    pub across: Option<String>,
    /// What it is to be from now on: what stands behind `=`.
    pub assigned: Option<Ast>,
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Integer(u128, bool, bool),
    Float(f64, bool),
    Char(u8),
    Word(String),
    Sign(&'static str),
}

const SIGNS: &[&str] = &[
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!",
    "<", ">", "?", ":", "(", ")", "[", "]", ".", "@", ",", "=",
];

/// Binary operators, the weakest first.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["@"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Words before the name of a type of the program.
const KINDS: &[&str] = &["struct", "class", "union", "enum"];

/// How deep expressions may be nested.
const MOST: usize = 200;

fn wrong(message: impl Into<String>, at: usize) -> Error {
    Error::Expression { message: message.into(), at }
}

fn number(text: &str, at: usize) -> Result<Token> {
    let lower = text.to_ascii_lowercase();
    let hexadecimal = lower.strip_prefix("0x");
    let bad = || wrong(format!("invalid number \"{text}\""), at);
    if hexadecimal.is_none() && lower.contains(['.', 'e']) || hexadecimal.is_none() && lower.ends_with('f') {
        let (digits, single) = match lower.strip_suffix('f') {
            Some(digits) => (digits, true),
            None => (&*lower, false),
        };
        return Ok(Token::Float(digits.parse().map_err(|_| bad())?, single));
    }
    let digits = lower.trim_end_matches(['u', 'l']);
    let suffix = &lower[digits.len()..];
    let value = match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
        (Some(digits), _) => u128::from_str_radix(digits, 16),
        (_, Some(digits)) => u128::from_str_radix(digits, 2),
        _ if digits.len() > 1 && digits.starts_with('0') => u128::from_str_radix(digits, 8),
        _ => digits.parse(),
    };
    let value = value.map_err(|_| bad())?;
    Ok(Token::Integer(value, suffix.contains('u'), suffix.contains('l')))
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let bytes = text.as_bytes();
    let mut found: Vec<(Token, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        // Behind a value `%` is an operator, elsewhere the first letter of a register.
        let behind_value = matches!(
            found.last(),
            Some((
                Token::Integer(..)
                    | Token::Float(..)
                    | Token::Char(_)
                    | Token::Word(_)
                    | Token::Sign(")" | "]"),
                _
            ))
        );
        let starts_word =
            |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80;
        let is_register = byte == b'%'
            && (!behind_value || at > 0 && bytes[at - 1] == b')')
            && bytes.get(at + 1).is_some_and(|&next| starts_word(next));
        if byte.is_ascii_digit() {
            let mut end = at + 1;
            while end < bytes.len()
                && (bytes[end].is_ascii_alphanumeric()
                    || bytes[end] == b'.'
                    || matches!(bytes[end], b'+' | b'-')
                        && matches!(bytes[end - 1], b'e' | b'E')
                        && !text[at..end].starts_with("0x"))
            {
                end += 1;
            }
            found.push((number(&text[at..end], at)?, at));
            at = end;
        } else if starts_word(byte) || is_register {
            let mut end = at + 1;
            while end < bytes.len()
                && (starts_word(bytes[end])
                    || bytes[end].is_ascii_digit()
                    || is_register && bytes[end] == b'.'
                    || text[end..].starts_with("::")
                        && bytes.get(end + 2).is_some_and(|&next| starts_word(next))
                    || bytes[end] == b':' && bytes[end - 1] == b':')
            {
                end += 1;
            }
            found.push((Token::Word(text[at..end].to_owned()), at));
            at = end;
        } else if byte == b'\'' {
            let (value, length) = match &bytes[at + 1..] {
                [b'\\', escaped, b'\'', ..] => {
                    let value = match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'0' => 0,
                        other => *other,
                    };
                    (value, 4)
                }
                [value, b'\'', ..] if value.is_ascii() => (*value, 3),
                _ => return Err(wrong("unmatched single quote", at)),
            };
            found.push((Token::Char(value), at));
            at += length;
        } else if let Some(sign) = SIGNS.iter().find(|sign| text[at..].starts_with(**sign)) {
            found.push((Token::Sign(sign), at));
            at += sign.len();
        } else {
            let shown = text[at..].chars().next().unwrap_or(' ');
            return Err(wrong(format!("invalid character '{shown}' in expression"), at));
        }
    }
    Ok(found)
}

struct Parser<'a> {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    end: usize,
    is_type: &'a dyn Fn(&str) -> bool,
}

/// Reads an expression. `is_type` says which names are types, built-in ones excepted.
///
/// # Errors
/// [`Error::Expression`].
pub fn parse(text: &str, is_type: &dyn Fn(&str) -> bool) -> Result<Parsed> {
    let mut tokens = tokens(text)?;
    let across = match &tokens[..] {
        [.., (Token::Sign("@"), _), (Token::Word(word), _)]
            if word.bytes().all(|b| b.is_ascii_alphabetic()) =>
        {
            Some(word.clone())
        }
        _ => None,
    };
    if across.is_some() {
        tokens.truncate(tokens.len() - 2);
    }
    let mut parser = Parser { tokens, at: 0, depth: 0, end: text.len(), is_type };
    let ast = parser.expression()?;
    let assigned = if parser.eat("=") { Some(parser.expression()?) } else { None };
    match parser.tokens.get(parser.at) {
        None => Ok(Parsed { ast, across, assigned }),
        Some((token, at)) => Err(wrong(format!("a syntax error in expression, near {}", shown(token)), *at)),
    }
}

/// Reads the name of a type; nothing if the text is none.
pub fn parse_type(text: &str, is_type: &dyn Fn(&str) -> bool) -> Option<TypeName> {
    let mut parser = Parser { tokens: tokens(text).ok()?, at: 0, depth: 0, end: text.len(), is_type };
    let name = parser.type_name()?;
    (parser.at == parser.tokens.len()).then_some(name)
}

fn shown(token: &Token) -> String {
    match token {
        Token::Integer(value, ..) => format!("`{value}`"),
        Token::Float(value, _) => format!("`{value}`"),
        Token::Char(value) => format!("`{}`", char::from(*value)),
        Token::Word(word) => format!("`{word}`"),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(_, at)| *at)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(next)) if *next == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        match self.eat(sign) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        match self.tokens.get(self.at) {
            Some((token, at)) => wrong(format!("expected {wanted}, found {}", shown(token)), *at),
            None => wrong(format!("expected {wanted} at the end of the expression"), self.end),
        }
    }

    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MOST {
            return Err(wrong("the expression is nested too deeply", self.place()));
        }
        let done = rule(self);
        self.depth -= 1;
        done
    }

    fn expression(&mut self) -> Result<Ast> {
        self.deeper(|parser| {
            let condition = parser.binary(0)?;
            if !parser.eat("?") {
                return Ok(condition);
            }
            let one = parser.expression()?;
            parser.expect(":")?;
            let other = parser.expression()?;
            Ok(Ast::Choice(condition.into(), one.into(), other.into()))
        })
    }

    fn binary(&mut self, level: usize) -> Result<Ast> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let mut count = 0;
        loop {
            let sign = match self.peek() {
                Some(Token::Sign(sign)) if signs.contains(sign) => *sign,
                _ => return Ok(left),
            };
            count += 1;
            if count > MOST {
                return Err(wrong("the expression is too long", self.place()));
            }
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = match sign {
                "@" => Ast::Repeat(left.into(), right.into()),
                _ => Ast::Binary(sign, left.into(), right.into()),
            };
        }
    }

    fn unary(&mut self) -> Result<Ast> {
        self.deeper(|parser| {
            for sign in ["-", "+", "!", "~", "*", "&"] {
                if parser.eat(sign) {
                    return Ok(Ast::Unary(sign, parser.unary()?.into()));
                }
            }
            if matches!(parser.peek(), Some(Token::Word(word)) if word == "sizeof") {
                parser.at += 1;
                parser.expect("(")?;
                let name = parser.type_name().ok_or_else(|| parser.unexpected("a type"))?;
                parser.expect(")")?;
                return Ok(Ast::SizeOf(name));
            }
            let before = parser.at;
            if parser.eat("(") {
                if let Some(name) = parser.type_name()
                    && parser.eat(")")
                {
                    return Ok(Ast::Cast(name, parser.unary()?.into()));
                }
                parser.at = before;
            }
            parser.postfix()
        })
    }

    /// `@shared const unsigned int *`
    fn type_name(&mut self) -> Option<TypeName> {
        let at = self.place();
        let mut space = None;
        if matches!(self.peek(), Some(Token::Sign("@")))
            && let Some((Token::Word(word), _)) = self.tokens.get(self.at + 1)
        {
            space = Some(word.clone());
            self.at += 2;
        }
        let mut words = String::new();
        while let Some(Token::Word(word)) = self.peek() {
            let longer = if words.is_empty() { word.clone() } else { format!("{words} {word}") };
            let starts =
                ["const", "long", "unsigned", "signed"].contains(&&*longer) || KINDS.contains(&&*longer);
            if !starts && crate::types::Type::named(&longer).is_none() && !(self.is_type)(&longer) {
                break;
            }
            words = if longer == "const" || KINDS.contains(&&*longer) { String::new() } else { longer };
            self.at += 1;
        }
        let mut stars = 0;
        while self.eat("*") {
            stars += 1;
        }
        (!words.is_empty()).then_some(TypeName { words, space, stars, at })
    }

    fn postfix(&mut self) -> Result<Ast> {
        let mut value = self.primary()?;
        let mut count = 0;
        loop {
            count += 1;
            if count > MOST {
                return Err(wrong("the expression is too long", self.place()));
            }
            if self.eat("[") {
                let index = self.expression()?;
                self.expect("]")?;
                value = Ast::Index(value.into(), index.into());
            } else if self.eat(".") {
                value = Ast::Member(value.into(), self.member()?);
            } else if self.eat("->") {
                value = Ast::Member(Ast::Unary("*", value.into()).into(), self.member()?);
            } else {
                return Ok(value);
            }
        }
    }

    fn member(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected("the name of a member")),
        }
    }

    fn primary(&mut self) -> Result<Ast> {
        let at = self.place();
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected("a value")) };
        let ast = match token {
            Token::Integer(value, unsigned, long) => Ast::Integer(value, unsigned, long),
            Token::Float(value, single) => Ast::Float(value, single),
            Token::Char(value) => Ast::Char(value),
            Token::Word(word) => Ast::Name(word, at),
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Sign(_) => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        Ok(ast)
    }
}
