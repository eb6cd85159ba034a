//! The parser of the cat language.
//!
//! Operators bind as in herd7: a function and its argument most, then postfix `* + ? ^-1`, `~`, the product `S * S`, `&`, `\`, `;`,
//! `++`, and `|` least. `a * b` is a product where an operand follows, else `a*` is a closure. What herd7's variants switch on is left
//! out here: none is on.

use super::lexer::{Kind, Token, lex};
use super::syntax::{
    Binary, Check, Condition, Definition, Expr, ExprKind, File, Function, Ident, Pattern, Procedure, Role,
    Statement, Unary,
};
use crate::litmus::{Code, Diagnostic, Span};
use crate::model::Demand;
use std::rc::Rc;

/// Deepest nesting of expressions and statements.
const MAX_DEPTH: usize = 100;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, Diagnostic>;

/// Words that begin a statement.
const STATEMENTS: [&str; 24] = [
    "let",
    "acyclic",
    "irreflexive",
    "empty",
    "flag",
    "assert",
    "undefined_unless",
    "include",
    "show",
    "unshow",
    "showraw",
    "with",
    "withco",
    "withoutco",
    "procedure",
    "call",
    "if",
    "match",
    "forall",
    "enum",
    "instructions",
    "default",
    "events",
    "debug",
];

/// Words that are no names either.
const KEYWORDS: [&str; 17] = [
    "rec", "and", "as", "in", "from", "end", "when", "fun", "begin", "do", "then", "else", "try", "not",
    "variant", "subset", "catdep",
];

/// Parses a file.
pub(super) fn parse(text: &str) -> Parsed<File> {
    let mut parser = Parser { text, tokens: lex(text)?, at: 0, depth: 0 };
    let mut header = Vec::new();
    while let (Kind::Word | Kind::Quoted, false) = (parser.peek().kind, parser.starts_statement()) {
        let token = parser.next();
        let ident = parser.ident(token);
        header.push(Ident { text: ident.text.trim_matches('"').to_owned(), ..ident });
    }
    parser.accept_word("catdep");
    let mut statements = Vec::new();
    while parser.peek().kind != Kind::End {
        parser.statement(&mut statements)?;
    }
    Ok(File { header, statements })
}

/// Operands of one operator, to the left, or many of them as a balanced tree, which is less deep.
fn joined(operator: Binary, mut operands: Vec<Expr>) -> Expr {
    let to_one_side = matches!(operator, Binary::Difference | Binary::Product | Binary::Add);
    let right = match operands.len() {
        0 | 1 => None,
        n if n <= 8 || to_one_side => operands.pop(),
        n => Some(joined(operator, operands.split_off(n / 2))),
    };
    match right {
        Some(right) => {
            let left = joined(operator, operands);
            let span = left.span.to(right.span);
            Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
        }
        None => operands.pop().unwrap_or(Expr { kind: ExprKind::Tuple(Vec::new()), span: Span::default() }),
    }
}

/// `e ++ (f ++ S)`
fn added(mut operands: Vec<Expr>) -> Option<Expr> {
    let mut out = operands.pop()?;
    while let Some(left) = operands.pop() {
        let span = left.span.to(out.span);
        out = Expr { kind: ExprKind::Binary(Binary::Add, Box::new(left), Box::new(out)), span };
    }
    Some(out)
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

    fn wanted<T>(&self, what: &str) -> Parsed<T> {
        self.wrong(format!("{what} is expected here, not {}", self.shown()))
    }

    fn expect(&mut self, mark: &'static str) -> Parsed<()> {
        if self.accept(mark) { Ok(()) } else { self.wanted(&format!("`{mark}`")) }
    }

    fn expect_word(&mut self, word: &'static str) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { self.wanted(&format!("`{word}`")) }
    }

    fn shown(&self) -> String {
        match self.peek().kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text_of(self.peek())),
        }
    }

    /// Whether a token is a name.
    fn is_name(&self, token: Token) -> bool {
        let word = self.text_of(token);
        token.kind == Kind::Word && !KEYWORDS.contains(&word) && !STATEMENTS.contains(&word)
    }

    fn name(&mut self) -> Parsed<Ident> {
        let token = self.peek();
        if !self.is_name(token) {
            return self.wanted("a name");
        }
        self.at += 1;
        Ok(self.ident(token))
    }

    fn tag(&mut self) -> Parsed<Ident> {
        let token = self.peek();
        if token.kind != Kind::Tag {
            return self.wanted("a constant such as `'name`");
        }
        self.at += 1;
        let ident = self.ident(token);
        Ok(Ident { text: ident.text[1..].to_owned(), ..ident })
    }

    fn quoted(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.peek();
        if token.kind != Kind::Quoted {
            return self.wrong(format!("{what} in double quotes is expected here"));
        }
        self.at += 1;
        let text = self.text_of(token);
        Ok(Ident { text: text[1..text.len() - 1].to_owned(), span: token.span })
    }

    fn starts_statement(&self) -> bool {
        let word = self.text_of(self.peek());
        self.peek().kind == Kind::Word && (STATEMENTS.contains(&word) || KEYWORDS.contains(&word))
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("expressions are nested more than {MAX_DEPTH} deep");
            return Err(Diagnostic::new(Code::ModelMeaning, self.peek().span, message));
        }
        Ok(())
    }

    // ---- statements ---------------------------------------------------------------------------------------

    fn statement(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        let first = self.peek();
        let word = if first.kind == Kind::Word { self.text_of(first).to_owned() } else { String::new() };
        match word.as_str() {
            "let" => self.definitions(out)?,
            "include" => {
                self.at += 1;
                out.push(Statement::Include(self.quoted("the name of a file")?));
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
            "debug" => {
                self.at += 1;
                self.expression()?;
            }
            // herd7's ways to say that coherence order is chosen, as it is anyway.
            "withco" | "withoutco" => self.at += 1,
            "with" => {
                self.at += 1;
                let chosen = self.name()?;
                self.expect_word("from")?;
                out.push(Statement::Chosen(chosen, self.expression()?));
            }
            "procedure" => out.push(self.procedure()?),
            "call" => {
                self.at += 1;
                let name = self.name()?;
                let argument = self.primary()?;
                if self.accept_word("as") {
                    self.name()?;
                }
                out.push(Statement::Call(name, argument));
            }
            "forall" => {
                self.at += 1;
                let name = self.name()?;
                self.expect_word("in")?;
                let of = self.expression()?;
                self.expect_word("do")?;
                let body = self.block(&["end"])?;
                self.at += 1;
                out.push(Statement::Each(name, of, body));
            }
            "if" => {
                self.at += 1;
                let on = self.variant()?;
                let then = self.block(&["else", "end"])?;
                let otherwise = match self.accept_word("else") {
                    true => self.block(&["end"])?,
                    false => Vec::new(),
                };
                self.at += 1;
                out.extend(if on { then } else { otherwise });
            }
            "match" => out.push(self.matched_statements()?),
            "enum" => {
                self.at += 1;
                self.name()?;
                self.expect("=")?;
                self.accept("||");
                let mut tags = vec![self.tag()?];
                while self.accept("||") {
                    tags.push(self.tag()?);
                }
                out.push(Statement::Tags(tags));
            }
            // Which instructions of a language of its own there are: those of PTX are known.
            "instructions" | "events" | "default" => {
                self.at += 1;
                self.name()?;
                self.expect("[")?;
                while !self.accept("]") {
                    self.expression()?;
                    if !self.is("]") {
                        self.expect(",")?;
                    }
                }
            }
            "flag" | "undefined_unless" | "assert" | "acyclic" | "irreflexive" | "empty" => {
                out.push(Statement::Check(self.check()?));
            }
            _ if self.is("~") => out.push(Statement::Check(self.check()?)),
            _ => {
                return self.wanted("a definition or a check").map_err(|e: Diagnostic| {
                    e.with_help("such as `let r = po | rf` or `acyclic r as name`")
                });
            }
        }
        Ok(())
    }

    /// Statements up to one of these words.
    fn block(&mut self, ends: &[&'static str]) -> Parsed<Vec<Statement>> {
        self.deeper()?;
        let mut out = Vec::new();
        while !ends.iter().any(|end| self.is_word(end)) {
            if self.peek().kind == Kind::End {
                return self.wanted(&format!("`{}`", ends[ends.len() - 1]));
            }
            self.statement(&mut out)?;
        }
        self.depth -= 1;
        Ok(out)
    }

    fn definitions(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        self.at += 1;
        let recursive = self.accept_word("rec");
        let definitions = self.definition_list()?;
        let check = match self.is_word("when") {
            true if recursive => {
                self.at += 1;
                Some(self.check()?)
            }
            true => return self.wrong("`when` belongs to `let rec`"),
            false => None,
        };
        // `let ... in` as a statement: for the rest of the file.
        self.accept_word("in");
        out.push(match recursive {
            true => Statement::LetRec(definitions, check),
            false => Statement::Let(definitions),
        });
        Ok(())
    }

    fn procedure(&mut self) -> Parsed<Statement> {
        self.at += 1;
        self.accept_word("rec");
        let name = self.name()?;
        let parameters = self.parameters()?.unwrap_or_default();
        self.expect("=")?;
        let body = self.block(&["end"])?;
        self.at += 1;
        Ok(Statement::Procedure(Rc::new(Procedure { name, parameters, body })))
    }

    fn matched_statements(&mut self) -> Parsed<Statement> {
        self.at += 1;
        let of = self.expression()?;
        self.expect_word("with")?;
        self.accept("||");
        let (mut clauses, mut others) = (Vec::new(), Vec::new());
        self.deeper()?;
        loop {
            let tag = if self.accept_word("_") { None } else { Some(self.tag()?) };
            self.expect("->")?;
            let mut body = Vec::new();
            while !self.is("||") && !self.is_word("end") {
                if self.peek().kind == Kind::End {
                    return self.wanted("`end`");
                }
                self.statement(&mut body)?;
            }
            match tag {
                Some(tag) => clauses.push((tag, body)),
                None => others = body,
            }
            if !self.accept("||") {
                break;
            }
        }
        self.depth -= 1;
        self.at += 1;
        Ok(Statement::Match(of, clauses, others))
    }

    fn check(&mut self) -> Parsed<Check> {
        let role = if self.accept_word("flag") {
            Role::Flag
        } else if self.accept_word("undefined_unless") {
            Role::UndefinedUnless
        } else {
            self.accept_word("assert");
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
        Ok(Check { role, demand, of, name })
    }

    // ---- definitions --------------------------------------------------------------------------------------

    fn pattern(&mut self) -> Parsed<Pattern> {
        if self.accept_word("_") { Ok(None) } else { Ok(Some(self.name()?)) }
    }

    /// `(a, b)`, `a`, or nothing.
    fn parameters(&mut self) -> Parsed<Option<Vec<Pattern>>> {
        if self.accept("(") {
            let mut parameters = Vec::new();
            while !self.accept(")") {
                parameters.push(self.pattern()?);
                if !self.is(")") {
                    self.expect(",")?;
                }
            }
            Ok(Some(parameters))
        } else if self.is_name(self.peek()) {
            Ok(Some(vec![self.pattern()?]))
        } else {
            Ok(None)
        }
    }

    fn definition_list(&mut self) -> Parsed<Vec<Definition>> {
        let mut definitions = vec![self.definition()?];
        while self.accept_word("and") {
            definitions.push(self.definition()?);
        }
        Ok(definitions)
    }

    fn definition(&mut self) -> Parsed<Definition> {
        // `let (a, b) = ...` and `let a, b = ...` take a tuple apart.
        if self.is("(") {
            let names = self.parameters()?.unwrap_or_default();
            self.expect("=")?;
            return Ok(Definition { names, body: self.expression()? });
        }
        let first = self.pattern()?;
        if self.is(",") {
            let mut names = vec![first];
            while self.accept(",") {
                names.push(self.pattern()?);
            }
            self.expect("=")?;
            return Ok(Definition { names, body: self.expression()? });
        }
        let parameters = match &first {
            Some(_) => self.parameters()?,
            None => None,
        };
        self.expect("=")?;
        let mut body = self.expression()?;
        if let (Some(parameters), Some(name)) = (parameters, &first) {
            body = self.function(name.text.clone(), parameters, body)?;
        }
        Ok(Definition { names: vec![first], body })
    }

    fn function(&self, name: String, parameters: Vec<Pattern>, body: Expr) -> Parsed<Expr> {
        for (i, parameter) in parameters.iter().enumerate() {
            let Some(parameter) = parameter else { continue };
            if parameters[..i].iter().flatten().any(|other| other.text == parameter.text) {
                let message = format!("two parameters are called `{}`", parameter.text);
                return Err(Diagnostic::new(Code::ModelMeaning, parameter.span, message));
            }
        }
        let span = body.span;
        Ok(Expr { kind: ExprKind::Function(Rc::new(Function { name, parameters, body })), span })
    }

    // ---- expressions --------------------------------------------------------------------------------------

    fn expression(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        self.deeper()?;
        let word =
            if self.peek().kind == Kind::Word { self.text_of(self.peek()).to_owned() } else { String::new() };
        let kind = match word.as_str() {
            "let" => {
                self.at += 1;
                let recursive = self.accept_word("rec");
                let definitions = self.definition_list()?;
                self.expect_word("in")?;
                ExprKind::Local { recursive, definitions, body: Box::new(self.expression()?) }
            }
            "fun" => {
                self.at += 1;
                let Some(parameters) = self.parameters()? else { return self.wanted("a parameter") };
                self.expect("->")?;
                let body = self.expression()?;
                self.function("fun".to_owned(), parameters, body)?.kind
            }
            "try" => {
                self.at += 1;
                let first = self.expression()?;
                self.expect_word("with")?;
                ExprKind::Try(Box::new(first), Box::new(self.expression()?))
            }
            "if" => {
                self.at += 1;
                let condition = self.condition()?;
                self.expect_word("then")?;
                let then = self.expression()?;
                self.expect_word("else")?;
                ExprKind::If(Box::new(condition), Box::new(then), Box::new(self.expression()?))
            }
            "match" => self.matched()?,
            _ => {
                let out = self.level(0)?;
                self.depth -= 1;
                return Ok(out);
            }
        };
        self.depth -= 1;
        let span = start.to(self.tokens[self.at - 1].span);
        Ok(Expr { kind, span })
    }

    fn condition(&mut self) -> Parsed<Condition> {
        if self.peek().kind == Kind::Quoted || self.is_word("not") || self.is_word("variant") {
            return Ok(Condition::Variant(self.variant()?));
        }
        let left = self.level(0)?;
        if self.accept("=") {
            Ok(Condition::Equal(left, self.level(0)?))
        } else if self.accept_word("subset") {
            Ok(Condition::Subset(left, self.level(0)?))
        } else if self.accept_word("in") {
            Ok(Condition::In(left, self.level(0)?))
        } else {
            self.wanted("`=`, `subset` or `in`")
        }
    }

    /// `"a" || not "b"`: no variant is on.
    fn variant(&mut self) -> Parsed<bool> {
        let mut any = false;
        loop {
            let mut all = self.variant_part()?;
            while self.accept("&&") {
                all &= self.variant_part()?;
            }
            any |= all;
            if !self.accept("||") {
                return Ok(any);
            }
        }
    }

    fn variant_part(&mut self) -> Parsed<bool> {
        self.deeper()?;
        let out = if self.accept_word("not") {
            !self.variant_part()?
        } else if self.accept("(") {
            let inner = self.variant()?;
            self.expect(")")?;
            inner
        } else {
            self.accept_word("variant");
            self.quoted("the name of a variant")?;
            false
        };
        self.depth -= 1;
        Ok(out)
    }

    fn matched(&mut self) -> Parsed<ExprKind> {
        self.at += 1;
        let of = Box::new(self.expression()?);
        self.expect_word("with")?;
        self.accept("||");
        let (mut tags, mut others, mut none, mut some) = (Vec::new(), None, None, None);
        loop {
            if self.accept("{") {
                self.expect("}")?;
                self.expect("->")?;
                none = Some(Box::new(self.expression()?));
            } else if self.peek().kind == Kind::Tag {
                let tag = self.tag()?;
                self.expect("->")?;
                tags.push((tag, self.expression()?));
            } else {
                let first = self.pattern()?;
                if self.accept("++") {
                    let rest = self.pattern()?;
                    self.expect("->")?;
                    some = Some((first, rest, Box::new(self.expression()?)));
                } else if first.is_none() {
                    self.expect("->")?;
                    others = Some(Box::new(self.expression()?));
                } else {
                    return self.wanted("`++`");
                }
            }
            if !self.accept("||") {
                break;
            }
        }
        self.expect_word("end")?;
        match (none, some) {
            (None, None) => Ok(ExprKind::MatchTag(of, tags, others)),
            (Some(none), Some((first, rest, some))) if tags.is_empty() && others.is_none() => {
                Ok(ExprKind::MatchMembers { of, none, first, rest, some })
            }
            _ => self.wrong("a collection is matched by `{} -> ...` and `first ++ rest -> ...`"),
        }
    }

    /// Operators from the loosest to the tightest.
    fn level(&mut self, level: usize) -> Parsed<Expr> {
        const LEVELS: [(&str, Binary); 6] = [
            ("|", Binary::Union),
            ("++", Binary::Add),
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
            let to_one_side = matches!(operator, Binary::Difference | Binary::Product | Binary::Add);
            if operands.len() > MAX_DEPTH && to_one_side {
                return self.wrong(format!("more than {MAX_DEPTH} operands of `{mark}`"));
            }
        }
        match operator {
            Binary::Add => added(operands).map_or_else(|| self.wanted("an operand"), Ok),
            _ => Ok(joined(operator, operands)),
        }
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
        let mut out = self.call()?;
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

    /// Whether an operand follows the token that is next.
    fn operand_follows(&self) -> bool {
        let Some(&token) = self.tokens.get(self.at + 1) else { return false };
        self.begins_operand(token) || matches!(token.kind, Kind::Punct("~"))
    }

    /// Whether a token begins what a function can be given.
    fn begins_operand(&self, token: Token) -> bool {
        match token.kind {
            Kind::Word => self.is_name(token) || self.text_of(token) == "begin",
            Kind::Punct(mark) => matches!(mark, "(" | "[" | "{"),
            Kind::Tag => true,
            Kind::Quoted | Kind::End => false,
        }
    }

    /// `f x`, `f(a, b)`, `f x y`: functions have names here.
    fn call(&mut self) -> Parsed<Expr> {
        let named = self.is_name(self.peek());
        let mut out = self.primary()?;
        let mut given = 0;
        while named && self.begins_operand(self.peek()) {
            let argument = self.primary()?;
            let span = out.span.to(argument.span);
            let kind = match intrinsic(&out) {
                Some(operator) => ExprKind::Unary(operator, Box::new(argument)),
                None => ExprKind::Call(Box::new(out), Box::new(argument)),
            };
            out = Expr { kind, span };
            given += 1;
            if given > MAX_DEPTH {
                return self.wrong(format!("more than {MAX_DEPTH} arguments"));
            }
        }
        Ok(out)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        self.deeper()?;
        let kind = if self.accept("(") {
            let mut members = Vec::new();
            while !self.accept(")") {
                members.push(self.expression()?);
                if !self.is(")") && !self.accept(",") {
                    return self.wanted("`)`");
                }
            }
            match members.len() {
                1 => members.remove(0).kind,
                _ => ExprKind::Tuple(members),
            }
        } else if self.accept_word("begin") {
            let inner = self.expression()?;
            self.expect_word("end")?;
            inner.kind
        } else if self.accept("[") {
            let inner = self.expression()?;
            self.expect("]")?;
            ExprKind::Unary(Unary::Identity, Box::new(inner))
        } else if self.accept("{") {
            let mut members = Vec::new();
            while !self.accept("}") {
                members.push(self.expression()?);
                if !self.is("}") {
                    self.expect(",")?;
                }
            }
            ExprKind::Collection(members)
        } else if self.peek().kind == Kind::Tag {
            ExprKind::Tag(self.tag()?.text)
        } else {
            ExprKind::Name(self.name()?.text)
        };
        self.depth -= 1;
        let span = start.to(self.tokens[self.at - 1].span);
        Ok(Expr { kind, span })
    }
}

/// Functions that are operators.
fn intrinsic(expr: &Expr) -> Option<Unary> {
    match &expr.kind {
        ExprKind::Name(name) => match name.as_str() {
            "domain" => Some(Unary::Domain),
            "range" => Some(Unary::Range),
            "toid" => Some(Unary::Identity),
            _ => None,
        },
        _ => None,
    }
}
