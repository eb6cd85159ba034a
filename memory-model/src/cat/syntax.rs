//! The cat language as data, and its parser.
//!
//! Operators bind as in herd7: postfix `* + ? ^-1` most, then `~`, the product `S * S`, `&`, `\`, `;`, and `|` least.
//! `a * b` is a product where an operand follows, else `a*` is a closure.

use super::lexer::{Kind, Token, lex};
use crate::litmus::{Code, Diagnostic, Span};
use crate::model::Demand;

/// Deepest nesting of expressions.
const MAX_DEPTH: usize = 100;

/// A name and where it is.
#[derive(Debug, Clone)]
pub(super) struct Ident {
    pub(super) text: String,
    pub(super) span: Span,
}

/// An expression and where it is.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Union,
    Compose,
    Difference,
    Intersection,
    Product,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Star,
    Plus,
    Optional,
    Inverse,
    Complement,
    Identity,
    Domain,
    Range,
}

#[derive(Debug, Clone)]
pub(super) enum ExprKind {
    Name(String),
    Call(Ident, Vec<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
}

/// What a check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Executions that fail it are not consistent.
    Axiom,
    /// Executions that pass it raise a flag.
    Flag,
    /// Executions that fail it leave the program undefined.
    UndefinedUnless,
}

/// `name = expression`, with parameters for a function.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: Ident,
    pub(super) parameters: Option<Vec<Ident>>,
    pub(super) body: Expr,
}

#[derive(Debug, Clone)]
pub(super) enum Statement {
    Let(Vec<Definition>),
    LetRec(Vec<Definition>),
    Check { role: Role, demand: Demand, of: Expr, name: Option<Ident> },
    Include(Ident),
}

/// A parsed file.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// Names before the first statement: in Dartagnan's files the architecture.
    pub(super) header: Vec<Ident>,
    pub(super) statements: Vec<Statement>,
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, Diagnostic>;

const KEYWORDS: [&str; 19] = [
    "let",
    "rec",
    "and",
    "as",
    "in",
    "acyclic",
    "irreflexive",
    "empty",
    "flag",
    "undefined_unless",
    "include",
    "show",
    "unshow",
    "showraw",
    "with",
    "from",
    "end",
    "withco",
    "withoutco",
];

/// Statements of herd7 that are no relations: refused by name.
const REFUSED: [&str; 14] = [
    "procedure",
    "call",
    "if",
    "forall",
    "match",
    "try",
    "fun",
    "enum",
    "instructions",
    "default",
    "assert",
    "do",
    "default",
    "events",
];

/// Parses a file.
pub(super) fn parse(text: &str) -> Parsed<File> {
    let mut parser = Parser { text, tokens: lex(text)?, at: 0, depth: 0 };
    let mut header = Vec::new();
    while let (Kind::Word | Kind::Quoted, false) = (parser.peek().kind, parser.starts_statement()) {
        let token = parser.next();
        if token.kind == Kind::Word {
            header.push(parser.ident(token));
        }
    }
    let mut statements = Vec::new();
    while parser.peek().kind != Kind::End {
        parser.statement(&mut statements)?;
    }
    Ok(File { header, statements })
}

/// Operands of one operator, to the left, or many of them as a balanced tree, which is less deep.
fn joined(operator: Binary, mut operands: Vec<Expr>) -> Expr {
    let right = match operands.len() {
        0 | 1 => None,
        n if n <= 8 || matches!(operator, Binary::Difference | Binary::Product) => operands.pop(),
        n => Some(joined(operator, operands.split_off(n / 2))),
    };
    match right {
        Some(right) => {
            let left = joined(operator, operands);
            let span = left.span.to(right.span);
            Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
        }
        None => {
            operands.pop().unwrap_or(Expr { kind: ExprKind::Name("0".to_owned()), span: Span::default() })
        }
    }
}

impl Parser<'_> {
    fn peek(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn text_of(&self, token: Token) -> &str {
        &self.text[token.span.start as usize..token.span.end as usize]
    }

    fn ident(&self, token: Token) -> Ident {
        Ident { text: self.text_of(token).to_owned(), span: token.span }
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().kind == Kind::Word && self.text_of(self.peek()) == word
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.peek().kind, Kind::Punct(p) if p == mark)
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn accept(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Parsed<T> {
        Err(Diagnostic::new(Code::ModelSyntax, self.peek().span, what))
    }

    fn expect(&mut self, mark: &'static str) -> Parsed<()> {
        if self.accept(mark) {
            Ok(())
        } else {
            self.wrong(format!("`{mark}` is expected here, not {}", self.shown()))
        }
    }

    fn shown(&self) -> String {
        match self.peek().kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text_of(self.peek())),
        }
    }

    fn name(&mut self) -> Parsed<Ident> {
        let token = self.peek();
        if token.kind != Kind::Word || KEYWORDS.contains(&self.text_of(token)) {
            return self.wrong(format!("a name is expected here, not {}", self.shown()));
        }
        self.at += 1;
        Ok(self.ident(token))
    }

    fn starts_statement(&self) -> bool {
        self.peek().kind == Kind::Word
            && (KEYWORDS.contains(&self.text_of(self.peek())) || REFUSED.contains(&self.text_of(self.peek())))
    }

    fn statement(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        let first = self.peek();
        let word = if first.kind == Kind::Word { self.text_of(first).to_owned() } else { String::new() };
        match word.as_str() {
            "let" => {
                self.at += 1;
                let recursive = self.accept_word("rec");
                let mut definitions = vec![self.definition()?];
                while self.accept_word("and") {
                    definitions.push(self.definition()?);
                }
                if self.is_word("in") {
                    return self
                        .wrong("`let ... in` inside an expression is not supported")
                        .map_err(|e: Diagnostic| e.with_help("make it a definition of its own"));
                }
                out.push(if recursive {
                    Statement::LetRec(definitions)
                } else {
                    Statement::Let(definitions)
                });
            }
            "include" => {
                self.at += 1;
                let token = self.next();
                if token.kind != Kind::Quoted {
                    self.at -= 1;
                    return self.wrong("the name of a file in double quotes is expected here");
                }
                let quoted = self.text_of(token);
                let text = quoted[1..quoted.len() - 1].to_owned();
                out.push(Statement::Include(Ident { text, span: token.span }));
            }
            "show" | "unshow" | "showraw" => {
                self.at += 1;
                loop {
                    self.expression()?;
                    if self.accept_word("as") {
                        self.name()?;
                    }
                    if !self.accept(",") {
                        break;
                    }
                }
            }
            // herd7's ways to say that coherence order is chosen, as it is anyway.
            "withco" | "withoutco" => self.at += 1,
            "with" => {
                self.at += 1;
                let chosen = self.name()?;
                if !self.accept_word("from") {
                    return self.wrong("`from` is expected here");
                }
                self.expression()?;
                if chosen.text != "co" {
                    let message = format!("`with {} from`: only coherence order is chosen", chosen.text);
                    return Err(Diagnostic::new(Code::ModelMeaning, chosen.span, message));
                }
            }
            "flag" | "undefined_unless" | "acyclic" | "irreflexive" | "empty" => out.push(self.check()?),
            _ if self.is("~") => out.push(self.check()?),
            word if REFUSED.contains(&word) => {
                return self.wrong(format!("`{word}` is not supported")).map_err(|e: Diagnostic| {
                    e.with_help(
                        "models have let, let rec, functions, include, show, flag and the three checks",
                    )
                });
            }
            _ => {
                return self
                    .wrong(format!("a definition or a check is expected here, not {}", self.shown()))
                    .map_err(|e: Diagnostic| {
                        e.with_help("such as `let r = po | rf` or `acyclic r as name`")
                    });
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Parsed<Statement> {
        let role = if self.accept_word("flag") {
            Role::Flag
        } else if self.accept_word("undefined_unless") {
            Role::UndefinedUnless
        } else {
            Role::Axiom
        };
        let negated = self.accept("~");
        let demand = match self.shown().as_str() {
            "`acyclic`" => Demand::Acyclic,
            "`irreflexive`" => Demand::Irreflexive,
            "`empty`" => Demand::Empty,
            _ => return self.wrong("`acyclic`, `irreflexive` or `empty` is expected here"),
        };
        self.at += 1;
        let of = self.expression()?;
        let name = if self.accept_word("as") { Some(self.name()?) } else { None };
        let demand = if negated { demand.negated() } else { demand };
        Ok(Statement::Check { role, demand, of, name })
    }

    fn definition(&mut self) -> Parsed<Definition> {
        let name = self.name()?;
        let parameters = if self.accept("(") {
            let mut parameters = Vec::new();
            while !self.accept(")") {
                parameters.push(self.name()?);
                if !self.is(")") {
                    self.expect(",")?;
                }
            }
            Some(parameters)
        } else if self.peek().kind == Kind::Word {
            // `let f x = ...`
            Some(vec![self.name()?])
        } else {
            None
        };
        self.expect("=")?;
        let body = self.expression()?;
        Ok(Definition { name, parameters, body })
    }

    fn expression(&mut self) -> Parsed<Expr> {
        self.level(0)
    }

    /// Operators from the loosest to the tightest.
    fn level(&mut self, level: usize) -> Parsed<Expr> {
        const LEVELS: [(&str, Binary); 5] = [
            ("|", Binary::Union),
            (";", Binary::Compose),
            ("\\", Binary::Difference),
            ("&", Binary::Intersection),
            ("*", Binary::Product),
        ];
        let Some(&(mark, operator)) = LEVELS.get(level) else { return self.unary() };
        // A file may begin a union with its operator.
        if level == 0 {
            self.accept("|");
        }
        let mut operands = vec![self.level(level + 1)?];
        while self.accept(mark) {
            operands.push(self.level(level + 1)?);
            let associative = !matches!(operator, Binary::Difference | Binary::Product);
            if operands.len() > MAX_DEPTH && !associative {
                return self.wrong(format!("more than {MAX_DEPTH} operands of `{mark}`"));
            }
        }
        Ok(joined(operator, operands))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        if self.accept("~") {
            self.deeper()?;
            let inner = self.unary()?;
            self.depth -= 1;
            let span = start.to(inner.span);
            return Ok(Expr { kind: ExprKind::Unary(Unary::Complement, Box::new(inner)), span });
        }
        let mut out = self.primary()?;
        loop {
            let caret = self.accept("^");
            let operator = if (self.is("*") && (caret || !self.operand_follows())) && self.accept("*") {
                Unary::Star
            } else if self.accept("+") {
                Unary::Plus
            } else if self.accept("?") {
                Unary::Optional
            } else if self.accept("^-1") || self.accept("-1") {
                Unary::Inverse
            } else if caret {
                return self.wrong("`-1`, `+` or `*` is expected behind `^`");
            } else {
                return Ok(out);
            };
            let span = out.span.to(self.tokens[self.at - 1].span);
            out = Expr { kind: ExprKind::Unary(operator, Box::new(out)), span };
        }
    }

    /// Whether an operand follows the `*` that is next.
    fn operand_follows(&self) -> bool {
        let Some(&token) = self.tokens.get(self.at + 1) else { return false };
        match token.kind {
            Kind::Word => {
                let word = self.text_of(token);
                !KEYWORDS.contains(&word) && !REFUSED.contains(&word)
            }
            Kind::Punct(mark) => matches!(mark, "(" | "[" | "~"),
            Kind::Quoted | Kind::End => false,
        }
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("expressions are nested more than {MAX_DEPTH} deep");
            return Err(Diagnostic::new(Code::ModelMeaning, self.peek().span, message));
        }
        Ok(())
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        self.deeper()?;
        let kind = if self.accept("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            inner.kind
        } else if self.accept("[") {
            let inner = self.expression()?;
            self.expect("]")?;
            ExprKind::Unary(Unary::Identity, Box::new(inner))
        } else if self.accept("{") {
            self.expect("}")?;
            ExprKind::Name("0".to_owned())
        } else {
            let name = self.name()?;
            let function = match name.text.as_str() {
                "domain" => Some(Unary::Domain),
                "range" => Some(Unary::Range),
                "toid" => Some(Unary::Identity),
                _ => None,
            };
            match function {
                Some(function) => ExprKind::Unary(function, Box::new(self.primary()?)),
                None if self.is("(") => {
                    self.at += 1;
                    let mut arguments = Vec::new();
                    while !self.accept(")") {
                        arguments.push(self.expression()?);
                        if !self.is(")") {
                            self.expect(",")?;
                        }
                    }
                    ExprKind::Call(name, arguments)
                }
                None => ExprKind::Name(name.text),
            }
        };
        self.depth -= 1;
        let span = start.to(self.tokens[self.at - 1].span);
        Ok(Expr { kind, span })
    }
}
