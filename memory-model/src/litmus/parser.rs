//! The shape of a file: header, declarations, thread columns, rows, and the final condition.

use super::diagnostic::{Code, Diagnostic, Span};
use super::lexer::{Kind, Token, lex};
use crate::program::{
    Assertion, Cmp, Cond, Instr, Litmus, LocId, Location, Mbarrier, Observable, Op, Operand, Placement,
    Program, Quantifier, RegId, Term, Thread, address_value,
};
use rustc_hash::FxHashMap;

/// Most threads, locations, registers of a thread, instructions of a thread and terms of a condition
/// that a file may have. Far above what can be explored; they keep indices in range.
const MAX_NAMES: usize = 1000;
const MAX_CODE: usize = 10_000;
const MAX_TERMS: usize = 1000;
const MAX_DEPTH: u32 = 100;
const MAX_DIAGNOSTICS: usize = 50;

/// What tests of the source dialect begin with.
const SOURCE: &str = "C++";

pub(super) type Parse<T> = Result<T, Diagnostic>;

/// Reads one litmus test.
///
/// # Errors
/// Every mistake found, in the order of the text; the list is never empty.
pub fn parse(text: &str) -> Result<Litmus, Vec<Diagnostic>> {
    let (name, body) = header(text).map_err(|d| vec![d])?;
    let tokens = lex(text, body).map_err(|d| vec![d])?;
    let mut parser = Parser::new(text, tokens);
    parser.source = text.trim_start_matches('\u{feff}').trim_start().starts_with(SOURCE);
    let spec = parser.file();
    if let Err(error) = spec {
        parser.errors.push(error);
        return Err(parser.errors);
    }
    parser.resolve_labels();
    match spec {
        Ok((filter, assertion, locations)) if parser.errors.is_empty() => {
            Ok(Litmus { name, source: parser.source, program: parser.program, filter, assertion, locations })
        }
        _ => Err(parser.errors),
    }
}

/// The test's name and the offset of the opening brace.
fn header(text: &str) -> Parse<(String, usize)> {
    let start = text.len() - text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
    let line = text[start..].lines().next().unwrap_or("");
    let mut words = line.split_whitespace();
    let language = words.next().unwrap_or("");
    if !matches!(language, "PTX" | "ptx" | SOURCE) {
        let message = if language.is_empty() {
            "the file is empty".to_owned()
        } else {
            format!("`{language}` is not a language this parser reads")
        };
        return Err(Diagnostic::new(Code::Header, Span::new(start, start + language.len().max(1)), message)
            .with_help("a litmus test begins with a line `PTX name`, or `C++ name` in the source dialect"));
    }
    let after = start + language.len();
    let name = text[after..].lines().next().unwrap_or("");
    let name = name.split(['{', '"']).next().unwrap_or("").trim();
    let bytes = text.as_bytes();
    let mut at = after;
    while at < bytes.len() {
        let rest = &text[at..];
        at += match bytes[at] {
            b'{' => return Ok((name.to_owned(), at)),
            b'"' => rest[1..].find('"').map_or(1, |n| n + 2),
            b'(' if rest.starts_with("(*") => rest[2..].find("*)").map_or(1, |n| n + 4),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    Err(Diagnostic::new(Code::Header, Span::new(start, after), "no `{` opens the initial state")
        .with_help("after the name comes the initial state, `{ x=0; y=0; }`"))
}

type Spec = (Option<Cond>, Option<Assertion>, Vec<Observable>);

/// State of the parser; `instruction.rs` adds the instructions.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// Whether the test is of the source dialect.
    pub(super) source: bool,
    pub(super) program: Program,
    names: FxHashMap<String, LocId>,
    /// Label positions of each thread.
    labels: Vec<FxHashMap<String, usize>>,
    /// Jumps to patch: thread, instruction, label, where the label is used.
    pub(super) jumps: Vec<(usize, usize, String, Span)>,
    errors: Vec<Diagnostic>,
    terms: usize,
    /// Where the line of an offset was asked for last, and that line.
    line: (usize, u32),
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, tokens: Vec<Token>) -> Self {
        Self {
            text,
            tokens,
            at: 0,
            source: false,
            program: Program::default(),
            names: FxHashMap::default(),
            labels: Vec::new(),
            jumps: Vec::new(),
            errors: Vec::new(),
            terms: 0,
            line: (0, 1),
        }
    }

    /// The one-based line of a span; counting goes on from where it ended last.
    fn line(&mut self, span: Span) -> u32 {
        let (from, line) = if (span.start as usize) < self.line.0 { (0, 1) } else { self.line };
        let passed = self.text.as_bytes().get(from..span.start as usize).unwrap_or(&[]);
        let line = line + passed.iter().filter(|&&b| b == b'\n').count() as u32;
        self.line = (span.start as usize, line);
        line
    }

    // ---- tokens -------------------------------------------------------------------------------------------

    pub(super) fn peek(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn is_at(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.peek_at(ahead).kind, Kind::Punct(p) if p == punct)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Where the token before the next one ends.
    pub(super) fn previous_end(&self) -> u32 {
        self.tokens[self.at.saturating_sub(1)].span.end
    }

    pub(super) fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    pub(super) fn is(&self, punct: &str) -> bool {
        self.is_at(0, punct)
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, punct: &str) -> Parse<Token> {
        if self.is(punct) { Ok(self.advance()) } else { Err(self.unexpected(&format!("`{punct}`"))) }
    }

    fn word(&self) -> Option<&'a str> {
        let token = self.peek();
        (token.kind == Kind::Word).then(|| self.slice(token.span))
    }

    fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    pub(super) fn expect_word(&mut self, what: &str) -> Parse<(&'a str, Span)> {
        match self.word() {
            Some(word) => Ok((word, self.advance().span)),
            None => Err(self.unexpected(what)),
        }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Diagnostic {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.slice(token.span)),
        };
        Diagnostic::new(Code::Syntax, token.span, format!("expected {wanted}, found {found}"))
    }

    pub(super) fn integer(&mut self) -> Parse<(i64, Span)> {
        let start = self.peek().span;
        let negative = self.eat("-");
        let token = self.peek();
        match token.kind {
            Kind::Number(value) => {
                self.advance();
                Ok((if negative { value.wrapping_neg() } else { value }, start.to(token.span)))
            }
            _ => Err(self.unexpected("an integer")),
        }
    }

    fn small(&mut self, what: &str) -> Parse<u32> {
        let (value, span) = self.integer()?;
        u32::try_from(value)
            .map_err(|_| Diagnostic::new(Code::Range, span, format!("{what} must be between 0 and 2^32 - 1")))
    }

    fn report(&mut self, error: Diagnostic) -> Parse<()> {
        if self.errors.len() >= MAX_DIAGNOSTICS {
            return Err(error);
        }
        self.errors.push(error);
        Ok(())
    }

    // ---- names --------------------------------------------------------------------------------------------

    /// The location of that name, made with initial value 0 if there is none yet.
    pub(super) fn location(&mut self, name: &str, span: Span) -> Parse<LocId> {
        match self.names.get(name) {
            Some(&id) => Ok(id),
            None => self.declare(name, span, Operand::Const(0), None),
        }
    }

    /// Adds a location; `alias` gives its physical location and virtual address (`None` for its own).
    pub(super) fn declare(
        &mut self,
        name: &str,
        span: Span,
        initial: Operand,
        alias: Option<(LocId, Option<LocId>)>,
    ) -> Parse<LocId> {
        if self.names.contains_key(name) {
            return Err(Diagnostic::new(
                Code::Duplicate,
                span,
                format!("location `{name}` is declared twice"),
            ));
        }
        if self.program.locations.len() >= MAX_NAMES {
            return Err(Diagnostic::new(Code::Limit, span, format!("more than {MAX_NAMES} locations")));
        }
        let id = LocId(self.program.locations.len() as u16);
        let (physical, address) = alias.map_or((id, id), |(p, a)| (p, a.unwrap_or(id)));
        let local = false;
        self.program.locations.push(Location { name: name.to_owned(), initial, physical, address, local });
        self.names.insert(name.to_owned(), id);
        Ok(id)
    }

    /// The register of that name in a thread, made with initial value 0 if there is none yet.
    pub(super) fn register(&mut self, thread: usize, name: &str, span: Span) -> Parse<RegId> {
        let thread = &mut self.program.threads[thread];
        if let Some(index) = thread.registers.iter().position(|r| r == name) {
            return Ok(RegId(index as u16));
        }
        if thread.registers.len() >= MAX_NAMES {
            return Err(Diagnostic::new(
                Code::Limit,
                span,
                format!("more than {MAX_NAMES} registers in a thread"),
            ));
        }
        thread.registers.push(name.to_owned());
        thread.initial.push(Operand::Const(0));
        Ok(RegId(thread.registers.len() as u16 - 1))
    }

    fn thread_index(&self, id: u32, span: Span) -> Parse<usize> {
        let found = self.program.threads.iter().position(|t| t.id == id);
        found.ok_or_else(|| Diagnostic::new(Code::Undeclared, span, format!("there is no thread P{id}")))
    }

    // ---- the file -----------------------------------------------------------------------------------------

    fn file(&mut self) -> Parse<Spec> {
        // Declarations speak of threads that the header declares further down: read the header first.
        let open = self.at;
        self.skip_declarations()?;
        self.threads()?;
        let rows = self.at;
        self.at = open;
        self.declarations()?;
        self.at = rows;
        while !self.at_spec() {
            self.row()?;
        }
        self.spec()
    }

    fn skip_declarations(&mut self) -> Parse<()> {
        self.expect("{")?;
        while !self.is("}") {
            if self.peek().kind == Kind::End {
                return Err(self.unexpected("`}` after the initial state"));
            }
            self.advance();
        }
        self.advance();
        self.eat(";");
        Ok(())
    }

    fn declarations(&mut self) -> Parse<()> {
        self.expect("{")?;
        while !self.is("}") {
            if self.eat(";") || self.eat(",") {
                continue;
            }
            if let Err(error) = self.declaration() {
                self.report(error)?;
                while !self.is(";") && !self.is("}") {
                    self.advance();
                }
            }
        }
        Ok(())
    }

    fn declaration(&mut self) -> Parse<()> {
        let colon = self.is_at(1, ":");
        if colon {
            let thread = self.thread_ref()?;
            self.expect(":")?;
            let (name, span) = self.register_name()?;
            self.expect("=")?;
            let value = self.initial_value()?;
            let reg = self.register(thread, name, span)?;
            self.program.threads[thread].initial[usize::from(reg.0)] = value;
            return Ok(());
        }
        let local = self.source && self.is_word("local") && self.peek_at(1).kind == Kind::Word;
        if local {
            self.advance();
        }
        let bracketed = self.eat("[");
        let (name, span) = self.expect_word("a declaration")?;
        if bracketed {
            self.expect("]")?;
        }
        if self.eat("@") {
            let (kind, kind_span) = self.expect_word("a proxy")?;
            let generic = match kind {
                "generic" => true,
                "constant" | "texture" | "surface" | "async" | "tensormap" => false,
                _ => {
                    return Err(Diagnostic::new(
                        Code::Qualifier,
                        kind_span,
                        format!("unknown proxy `{kind}`"),
                    )
                    .with_help("one of generic, constant, texture, surface, async, tensormap"));
                }
            };
            let (aliases, aliases_span) = self.expect_word("`aliases`")?;
            if aliases != "aliases" {
                let message = format!("expected `aliases`, found `{aliases}`");
                return Err(Diagnostic::new(Code::Syntax, aliases_span, message));
            }
            let (target, target_span) = self.expect_word("the location that is aliased")?;
            let target = self.known_location(target, target_span)?;
            let Location { initial, physical, address, .. } =
                self.program.locations[usize::from(target.0)].clone();
            self.declare(name, span, initial, Some((physical, (!generic).then_some(address))))?;
            return Ok(());
        }
        self.expect("=")?;
        let value = if self.peek().kind == Kind::Word && !self.is_word("mbarrier") {
            // As in the published parser, `y = x` copies the initial value of `x`.
            let (target, target_span) = self.expect_word("a location")?;
            let target = self.known_location(target, target_span)?;
            self.program.locations[usize::from(target.0)].initial
        } else {
            self.initial_value()?
        };
        let id = self.declare(name, span, value, None)?;
        self.program.locations[usize::from(id.0)].local = local;
        Ok(())
    }

    fn initial_value(&mut self) -> Parse<Operand> {
        if self.is_word("mbarrier") {
            self.advance();
            let (count, span) = self.integer()?;
            let count = u16::try_from(count).ok().filter(|&c| c > 0);
            let count = count.ok_or_else(|| {
                Diagnostic::new(Code::Range, span, "an mbarrier expects 1 to 65535 arrivals")
            })?;
            return Ok(Operand::Const(Mbarrier::new(count).to_bits()));
        }
        let ampersand = self.eat("&");
        if ampersand || self.peek().kind == Kind::Word {
            let (name, span) = self.expect_word("a location")?;
            return Ok(Operand::Address(self.location(name, span)?));
        }
        Ok(Operand::Const(self.integer()?.0))
    }

    pub(super) fn known_location(&self, name: &str, span: Span) -> Parse<LocId> {
        self.names.get(name).copied().ok_or_else(|| {
            Diagnostic::new(Code::Undeclared, span, format!("location `{name}` is not declared"))
                .with_help("declare it in the initial state, before it is used there")
        })
    }

    /// `P3` or `3`, as an index.
    fn thread_ref(&mut self) -> Parse<usize> {
        let token = self.peek();
        let id = match token.kind {
            Kind::Number(n) => u32::try_from(n).ok(),
            Kind::Word => thread_number(self.slice(token.span)),
            _ => None,
        };
        let Some(id) = id else { return Err(self.unexpected("a thread such as `P0`")) };
        self.advance();
        self.thread_index(id, token.span)
    }

    pub(super) fn register_name(&mut self) -> Parse<(&'a str, Span)> {
        self.eat("%");
        let (name, span) = self.expect_word("a register such as `r0`")?;
        if is_register(name) {
            Ok((name, span))
        } else {
            Err(Diagnostic::new(Code::Syntax, span, format!("`{name}` is not a register"))
                .with_help("registers are written r0, r1, ..."))
        }
    }

    fn threads(&mut self) -> Parse<()> {
        loop {
            let (name, span) = self.expect_word("a thread such as `P0@cta 0,gpu 0`")?;
            let id = thread_number(name).ok_or_else(|| {
                Diagnostic::new(Code::Syntax, span, format!("`{name}` is not a thread"))
                    .with_help("threads are written P0, P1, ...")
            })?;
            if self.program.threads.iter().any(|t| t.id == id) {
                return Err(Diagnostic::new(
                    Code::Duplicate,
                    span,
                    format!("thread P{id} is declared twice"),
                ));
            }
            if self.program.threads.len() >= MAX_NAMES {
                return Err(Diagnostic::new(Code::Limit, span, format!("more than {MAX_NAMES} threads")));
            }
            let mut placement = Placement { gpu: 0, cluster: None, cta: 0 };
            if self.eat("@") {
                loop {
                    let (level, span) = self.expect_word("`cta`, `cluster` or `gpu`")?;
                    let number = self.small("the number of a placement")?;
                    match level {
                        "cta" => placement.cta = number,
                        "cluster" => placement.cluster = Some(number),
                        "gpu" => placement.gpu = number,
                        _ => {
                            return Err(Diagnostic::new(
                                Code::Qualifier,
                                span,
                                format!("`{level}` is not a level of a placement"),
                            )
                            .with_help("one of cta, cluster, gpu"));
                        }
                    }
                    if !self.eat(",") {
                        break;
                    }
                }
            }
            self.program.threads.push(Thread {
                id,
                placement,
                registers: Vec::new(),
                initial: Vec::new(),
                code: Vec::new(),
            });
            self.labels.push(FxHashMap::default());
            if !self.eat("|") {
                break;
            }
        }
        self.expect(";").map(|_| ())
    }

    fn at_spec(&self) -> bool {
        let next_is_exists = {
            let next = self.peek_at(1);
            next.kind == Kind::Word && self.slice(next.span) == "exists"
        };
        match self.peek().kind {
            Kind::End => true,
            Kind::Punct(p) => p == "~" && next_is_exists,
            Kind::Word => match self.slice(self.peek().span) {
                "exists" | "forall" | "filter" | "locations" | "final" => true,
                "not" => next_is_exists,
                _ => false,
            },
            Kind::Number(_) => false,
        }
    }

    fn row(&mut self) -> Parse<()> {
        let mut thread = 0;
        loop {
            if !self.is("|") && !self.is(";") {
                if thread >= self.program.threads.len() {
                    let message = format!(
                        "this row has more cells than there are threads ({})",
                        self.program.threads.len()
                    );
                    return Err(Diagnostic::new(Code::Syntax, self.peek().span, message));
                }
                if let Err(error) = self.cell(thread) {
                    self.report(error)?;
                    while !self.is("|") && !self.is(";") && self.peek().kind != Kind::End {
                        self.advance();
                    }
                }
            }
            if self.eat(";") {
                return Ok(());
            }
            if self.peek().kind == Kind::End {
                return Err(self.unexpected("`;` at the end of a row"));
            }
            self.expect("|")?;
            thread += 1;
        }
    }

    fn cell(&mut self, thread: usize) -> Parse<()> {
        while self.peek().kind == Kind::Word && self.is_at(1, ":") {
            let (label, span) = self.expect_word("a label")?;
            self.advance();
            let here = self.program.threads[thread].code.len();
            if self.labels[thread].insert(label.to_owned(), here).is_some() {
                let message = format!("label `{label}` is set twice in this thread");
                self.report(Diagnostic::new(Code::Duplicate, span, message))?;
            }
        }
        if self.is("|") || self.is(";") {
            return Ok(());
        }
        let start = self.peek().span;
        let jumps = self.jumps.len();
        let op = self.instruction(thread)?;
        if !self.is("|") && !self.is(";") {
            self.jumps.truncate(jumps);
            return Err(self.unexpected("the end of the instruction"));
        }
        let span = Span { end: self.previous_end(), ..start };
        let text = self.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let line = self.line(span);
        let code = &mut self.program.threads[thread].code;
        if code.len() >= MAX_CODE {
            return Err(Diagnostic::new(
                Code::Limit,
                span,
                format!("more than {MAX_CODE} instructions in a thread"),
            ));
        }
        code.push(Instr { op, span, line, text });
        Ok(())
    }

    fn resolve_labels(&mut self) {
        for (thread, index, label, span) in std::mem::take(&mut self.jumps) {
            let found = self.labels[thread].get(&label).copied();
            let Some(found) = found else {
                let message = format!("label `{label}` is not set in this thread");
                self.errors.push(Diagnostic::new(Code::Undeclared, span, message));
                continue;
            };
            let instruction = self.program.threads[thread].code.get_mut(index);
            if let Some(Instr { op: Op::Branch { target, .. } | Op::Goto { target }, .. }) = instruction {
                *target = found;
            }
        }
    }

    // ---- the question -------------------------------------------------------------------------------------

    fn spec(&mut self) -> Parse<Spec> {
        let mut filter = None;
        let mut assertion = None;
        let mut locations = Vec::new();
        loop {
            let token = self.peek();
            match token.kind {
                Kind::End => return Ok((filter, assertion, locations)),
                Kind::Punct("~") => {
                    self.advance();
                    self.advance();
                    assertion = Some(self.assertion(Quantifier::NotExists)?);
                }
                Kind::Word => {
                    self.advance();
                    match self.slice(token.span) {
                        "exists" | "final" => assertion = Some(self.assertion(Quantifier::Exists)?),
                        "forall" => assertion = Some(self.assertion(Quantifier::Forall)?),
                        "not" => {
                            self.advance();
                            assertion = Some(self.assertion(Quantifier::NotExists)?);
                        }
                        "filter" => {
                            filter = Some(self.condition(0)?);
                            self.eat(";");
                        }
                        "locations" => locations = self.locations()?,
                        // What follows a `final` condition: expectations by architecture, of no use here.
                        "with" if assertion.is_some() => self.at = self.tokens.len() - 1,
                        other => {
                            let message = format!("expected a condition, found `{other}`");
                            return Err(Diagnostic::new(Code::Syntax, token.span, message));
                        }
                    }
                }
                _ => return Err(self.unexpected("`exists`, `~exists` or `forall`")),
            }
        }
    }

    fn assertion(&mut self, quantifier: Quantifier) -> Parse<Assertion> {
        let cond = self.condition(0)?;
        self.eat(";");
        Ok(Assertion { quantifier, cond })
    }

    fn locations(&mut self) -> Parse<Vec<Observable>> {
        self.expect("[")?;
        let mut out = Vec::new();
        while !self.eat("]") {
            if self.eat(";") || self.eat(",") {
                continue;
            }
            if let Term::Var(v) = self.term(false)? {
                out.push(v);
            }
        }
        Ok(out)
    }

    fn condition(&mut self, depth: u32) -> Parse<Cond> {
        let mut left = self.conjunction(depth)?;
        while self.eat("\\/") || self.eat("||") {
            left = Cond::Or(Box::new(left), Box::new(self.conjunction(depth)?));
        }
        Ok(left)
    }

    fn conjunction(&mut self, depth: u32) -> Parse<Cond> {
        let mut left = self.unary(depth)?;
        while self.eat("/\\") || self.eat("&&") {
            left = Cond::And(Box::new(left), Box::new(self.unary(depth)?));
        }
        Ok(left)
    }

    fn unary(&mut self, depth: u32) -> Parse<Cond> {
        if depth > MAX_DEPTH {
            return Err(Diagnostic::new(
                Code::Limit,
                self.peek().span,
                format!("a condition nested more than {MAX_DEPTH} deep"),
            ));
        }
        if self.eat("~") || self.eat("!") {
            return Ok(Cond::Not(Box::new(self.unary(depth + 1)?)));
        }
        if self.is_word("not") {
            self.advance();
            return Ok(Cond::Not(Box::new(self.unary(depth + 1)?)));
        }
        if self.eat("(") {
            let inner = self.condition(depth + 1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.terms += 1;
        if self.terms > MAX_TERMS {
            let message = format!("a condition of more than {MAX_TERMS} comparisons");
            return Err(Diagnostic::new(Code::Limit, self.peek().span, message));
        }
        let a = self.term(false)?;
        let cmp = match self.peek().kind {
            Kind::Punct("=" | "==") => Cmp::Eq,
            Kind::Punct("!=") => Cmp::Ne,
            Kind::Punct("<") => Cmp::Lt,
            Kind::Punct("<=") => Cmp::Le,
            Kind::Punct(">") => Cmp::Gt,
            Kind::Punct(">=") => Cmp::Ge,
            _ => return Err(self.unexpected("a comparison")),
        };
        self.advance();
        let b = self.term(true)?;
        Ok(Cond::Cmp(cmp, a, b))
    }

    /// A register, a location or an integer. As in the published parser a bare location on the right of a
    /// comparison is its address.
    fn term(&mut self, right: bool) -> Parse<Term> {
        let token = self.peek();
        let next_is_colon = self.is_at(1, ":");
        if next_is_colon {
            let thread = self.thread_ref()?;
            self.expect(":")?;
            let (name, span) = self.register_name()?;
            let known = self.program.threads[thread].registers.iter().position(|r| r == name);
            let known = known.ok_or_else(|| {
                let id = self.program.threads[thread].id;
                Diagnostic::new(Code::Undeclared, span, format!("thread P{id} has no register `{name}`"))
            })?;
            return Ok(Term::Var(Observable::Reg(thread, RegId(known as u16))));
        }
        match token.kind {
            Kind::Number(_) | Kind::Punct("-") => Ok(Term::Const(self.integer()?.0)),
            Kind::Punct("&") => {
                self.advance();
                let (name, span) = self.expect_word("a location")?;
                Ok(Term::Const(address_value(self.known_location(name, span)?)))
            }
            Kind::Punct("[") => {
                self.advance();
                let (name, span) = self.expect_word("a location")?;
                self.expect("]")?;
                Ok(Term::Var(Observable::Mem(self.known_location(name, span)?, 0)))
            }
            Kind::Word => {
                let (name, span) = self.expect_word("a location")?;
                let id = self.known_location(name, span)?;
                if self.eat("[") {
                    let index = self.small("an index")?;
                    self.expect("]")?;
                    return Ok(Term::Var(Observable::Mem(id, index)));
                }
                Ok(if right { Term::Const(address_value(id)) } else { Term::Var(Observable::Mem(id, 0)) })
            }
            _ => Err(self.unexpected("a register, a location or an integer")),
        }
    }
}

fn thread_number(name: &str) -> Option<u32> {
    name.strip_prefix('P')?.parse().ok()
}

/// Whether a word names a register: `r` or `rd` style prefixes are locations in existing files, so only `r`
/// followed by digits counts.
pub(super) fn is_register(name: &str) -> bool {
    name.strip_prefix('r').is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}
