//! Tokens to a checked [`Module`].
//!
//! Directives are read by nom rules over the token slice, statements and operands by loops over it, which
//! are quicker and resume after errors. Names are resolved as they are read: PTX declares before it uses,
//! labels apart. Nothing here recurses deeper than a fixed limit.

mod alias;
mod body;
pub(crate) mod call;
pub(crate) mod constant;
mod debug;
mod declaration;
mod function;
mod header;
mod initializer;
mod instruction;
mod names;
mod operand;
mod require;
mod special;
mod sum;
mod tokens;
mod variable;

use nom::Err;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind, lex};
use crate::module::{FuncId, Linkage, Module};
use crate::report::Report;
use crate::span::{Source, SourceId, Span};
use crate::table::Context;
use crate::target::PtxVersion;
use crate::{Parsed, StateSpace};
use body::BodyState;
use debug::DebugData;
use instruction::Ops;
use names::{Entity, Names};
use tokens::{Name, SyntaxError, Tokens};

/// Which text spans belong to while there is only one.
const SOURCE: SourceId = SourceId(0);

/// Parses one text.
pub(crate) fn parse(source: Source) -> Parsed {
    let mut report = Report::default();
    if u32::try_from(source.text.len()).is_err() {
        let message = "the text is 4 GiB or longer";
        report.push(Diagnostic::error(codes::TOO_LONG, Span::default(), message));
        return Parsed { module: None, diagnostics: report.finish(), source };
    }
    let tokens = lex(&source.text, &mut report);
    let mut parser = Parser::new(&source.text, &tokens, report);
    parser.module();
    let Parser { mut module, report, .. } = parser;
    let errors = report.errors();
    let diagnostics = report.finish();
    module.sources.push(source.clone());
    Parsed { module: (errors == 0).then_some(module), diagnostics, source }
}

/// The statement was given up; everything to say about it has been said.
struct Stop;

type Done<T = ()> = Result<T, Stop>;

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// The next token.
    at: usize,
    /// Whether the statement was given up because only its `;` is missing.
    resume_here: bool,
    report: Report,
    names: Names<'a>,
    module: Module,
    context: Context,
    ops: Ops<'a>,
    debug: DebugData<'a>,
    state: BodyState<'a>,
    /// The function whose body is read.
    function: FuncId,
    /// Its return parameters and parameters in `.param`.
    formals: [Range<u32>; 2],
    /// `.alias` directives: alias and function.
    aliases: Vec<(FuncId, FuncId)>,
    /// Functions with `.abi_preserve` or `.abi_preserve_control`.
    preserved: FxHashMap<FuncId, function::Preserved>,
    /// `.reg` and `.local` variables of module scope, which PTX had before 3.0.
    shared_by_functions: Vec<function::Formal<'a>>,
    /// How many more variables and labels ranges may stand for.
    ranges_left: u64,
    /// Undefined names that were reported in this function.
    unknown: FxHashSet<&'a str>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, tokens: &'a [Token], report: Report) -> Self {
        let module = Module::empty();
        let context =
            Context { version: module.version, target: module.target, address_size: module.address_size };
        Self {
            text,
            tokens,
            at: 0,
            resume_here: false,
            report,
            names: Names::default(),
            module,
            context,
            ops: Ops::default(),
            debug: DebugData::default(),
            state: BodyState::default(),
            function: FuncId(0),
            formals: [0..0, 0..0],
            aliases: Vec::new(),
            shared_by_functions: Vec::new(),
            preserved: FxHashMap::default(),
            ranges_left: 65536 + text.len() as u64 / 8,
            unknown: FxHashSet::default(),
        }
    }

    fn kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    fn kind_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::End, |token| token.kind)
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.range()]
    }

    fn word(&self) -> &'a str {
        self.slice(self.span())
    }

    /// Consumes the next token, the end token excepted.
    fn bump(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    /// Where the last consumed token ended.
    fn previous_end(&self) -> u32 {
        self.at.checked_sub(1).map_or(0, |last| self.tokens[last].span.end)
    }

    /// The span from `start` to the last consumed token.
    fn since(&self, start: u32) -> Span {
        Span::new(start, self.previous_end().max(start))
    }

    fn input(&self) -> Tokens<'a> {
        Tokens { text: self.text, rest: &self.tokens[self.at..], previous: self.previous_end() }
    }

    /// Runs a grammar rule from here; reports why it fails.
    fn rule<T, P>(&mut self, mut rule: P) -> Done<T>
    where
        P: nom::Parser<Tokens<'a>, Output = T, Error = SyntaxError>,
    {
        match rule.parse(self.input()) {
            Ok((rest, value)) => {
                self.at = self.tokens.len() - rest.rest.len();
                Ok(value)
            }
            Result::Err(Err::Error(error) | Err::Failure(error)) => Result::Err(self.syntax(error)),
            Result::Err(Err::Incomplete(_)) => Result::Err(Stop),
        }
    }

    fn syntax(&mut self, error: SyntaxError) -> Stop {
        self.at = self.at.max(self.tokens.len() - error.left());
        self.resume_here = error.lacks_semicolon(self.text);
        if let Some(diagnostic) = error.diagnostic(self.text) {
            self.report.push(diagnostic);
        }
        Stop
    }

    /// Gives up the statement because something else is needed here.
    fn expected<T>(&mut self, what: &'static str) -> Done<T> {
        let error = SyntaxError::expected(self.input(), what);
        Err(self.syntax(error))
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Done {
        if self.eat(kind) { Ok(()) } else { self.expected(kind.describe()) }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.report.push(diagnostic);
    }

    fn first_on_line(&self, at: usize) -> bool {
        at == 0 || {
            let gap = self.tokens[at - 1].span.end as usize..self.tokens[at].span.start as usize;
            self.text[gap].contains('\n')
        }
    }

    /// The whole text: header, then declarations.
    fn module(&mut self) {
        self.header();
        while self.kind() != TokenKind::End {
            let start = self.at;
            self.resume_here = false;
            if self.module_statement().is_err() && !(self.resume_here && self.at > start) {
                self.skip_module_statement(start);
            }
        }
        self.finish_debug();
        self.finish_aliases();
        self.check_module();
    }

    fn module_statement(&mut self) -> Done {
        match self.kind() {
            TokenKind::Directive => self.module_directive(),
            TokenKind::Semicolon => {
                let span = self.span();
                self.error(
                    Diagnostic::error(codes::SYNTAX, span, "an empty statement").caption("remove this `;`"),
                );
                self.bump();
                Ok(())
            }
            TokenKind::CloseBrace => {
                let span = self.span();
                self.error(
                    Diagnostic::error(codes::UNBALANCED, span, "this `}` closes nothing")
                        .caption("no open `{` outside of functions"),
                );
                self.bump();
                Ok(())
            }
            TokenKind::Word if self.instruction_ahead() => {
                let span = self.span();
                self.error(
                    Diagnostic::error(codes::MISPLACED, span, "an instruction outside of a function")
                        .caption("not inside the `{ }` of an `.entry` or `.func`"),
                );
                Err(Stop)
            }
            TokenKind::Invalid => Err(Stop),
            _ => self.expected("a directive"),
        }
    }

    fn instruction_ahead(&self) -> bool {
        let word = self.word();
        crate::Opcode::from_text(word.split('.').next().unwrap_or(word)).is_some()
    }

    fn module_directive(&mut self) -> Done {
        let start = self.span();
        let linkage = if matches!(self.word(), ".extern" | ".visible" | ".weak" | ".common") {
            self.require(self.word(), start);
            let (linkage, _) = self.rule(declaration::linkage)?;
            if let ".extern" | ".visible" | ".weak" | ".common" = self.word() {
                let (_, again) = self.rule(declaration::linkage)?;
                self.error(
                    Diagnostic::error(codes::LINKAGE, again, "a second linking directive")
                        .label(start, "the first one")
                        .help("a symbol takes one of `.extern`, `.visible`, `.weak` and `.common`"),
                );
            }
            linkage
        } else {
            Linkage::Internal
        };
        if linkage == Linkage::Internal {
            self.require(self.word(), start);
        }
        match self.word() {
            ".entry" | ".func" => self.function(linkage, start),
            word if declaration::space(word).is_some() => self.variables(linkage, start),
            _ if linkage != Linkage::Internal => {
                self.expected("`.entry`, `.func` or a state space after a linking directive")
            }
            ".version" | ".target" | ".address_size" => {
                let word = self.word();
                self.error(
                    Diagnostic::error(codes::MISPLACED, start, format!("`{word}` must stand at the top"))
                        .help("the order is `.version`, `.target`, `.address_size`"),
                );
                Err(Stop)
            }
            ".pragma" => {
                let list = self.pragma()?;
                self.module.pragmas.extend(list);
                Ok(())
            }
            ".file" => self.file(),
            ".loc" => self.location(),
            ".section" => self.section(),
            ".nv_intermediate_source_section" => self.intermediate_section(),
            ".loc_intermediate" => self.location_intermediate(),
            ".alias" => self.alias(),
            ".tex" if self.module.version < PtxVersion::new(1, 5) => self.textures(start),
            ".tex" => {
                self.error(
                    Diagnostic::error(codes::REMOVED, start, "`.tex` is gone since PTX 1.5")
                        .help("declare a `.global .texref` instead"),
                );
                Err(Stop)
            }
            _ => self.unknown_directive(MODULE_DIRECTIVES),
        }
    }

    fn unknown_directive<T>(&mut self, known: &[&'static str]) -> Done<T> {
        let (span, word) = (self.span(), self.word());
        let lists = [MODULE_DIRECTIVES, body::BODY_DIRECTIVES, function::TUNING];
        if lists.iter().any(|list| list.contains(&word)) {
            let message = format!("`{word}` is not allowed here");
            self.error(Diagnostic::error(codes::MISPLACED, span, message));
            return Err(Stop);
        }
        let mut error =
            Diagnostic::error(codes::UNKNOWN_DIRECTIVE, span, format!("unknown directive `{word}`"));
        match closest(word, known.iter().copied()) {
            Some(near) => error = error.help(format!("did you mean `{near}`?")),
            None => error = error.caption("not allowed here"),
        }
        self.error(error);
        Err(Stop)
    }

    /// After an error outside of functions: goes to where the next declaration seems to begin.
    fn skip_module_statement(&mut self, start: usize) {
        self.at = self.at.max(start);
        if self.statement_consumed(start) {
            return;
        }
        if self.at == start && self.kind() != TokenKind::End {
            if self.kind() == TokenKind::Semicolon {
                self.bump();
                return;
            }
            if self.kind() != TokenKind::OpenBrace {
                self.bump();
            }
        }
        let mut depth = self.open_braces(start);
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Semicolon if depth == 0 => {
                    self.bump();
                    return;
                }
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace if depth <= 1 => {
                    self.bump();
                    self.eat(TokenKind::Semicolon);
                    return;
                }
                TokenKind::CloseBrace => depth -= 1,
                TokenKind::Directive if self.begins_declaration(depth) => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// How many braces the tokens from `start` on open and do not close.
    fn open_braces(&self, start: usize) -> u32 {
        self.tokens[start..self.at].iter().fold(0u32, |depth, token| match token.kind {
            TokenKind::OpenBrace => depth + 1,
            TokenKind::CloseBrace => depth.saturating_sub(1),
            _ => depth,
        })
    }

    /// Whether the statement that began at `start` was read to its `;` before it was given up.
    fn statement_consumed(&self, start: usize) -> bool {
        self.at > start && self.tokens[self.at - 1].kind == TokenKind::Semicolon
    }

    /// Whether the next token is a directive that begins a line and belongs to module scope.
    fn begins_declaration(&self, depth: u32) -> bool {
        let only_outside = matches!(
            self.word(),
            ".visible" | ".entry" | ".func" | ".extern" | ".weak" | ".version" | ".target"
        );
        let outside = depth == 0
            && matches!(self.word(), ".global" | ".const" | ".shared" | ".file" | ".section" | ".common");
        (only_outside || outside) && self.first_on_line(self.at)
    }

    /// Reports an undefined name, once per function.
    fn undefined(&mut self, name: Name<'a>, what: &str) {
        if !self.unknown.insert(name.text) || self.report.overflows() {
            return;
        }
        let mut error =
            Diagnostic::error(codes::UNDEFINED, name.span, format!("{what} `{}` is not declared", name.text));
        if let Some((count, span)) = self.outside_range(name.text) {
            error = error
                .caption(if count == 0 {
                    "no such register".to_owned()
                } else {
                    format!("the last one is number {}", count - 1)
                })
                .label(span, format!("{count} are declared here"));
        } else {
            error = error.caption("not found in this scope");
            if let Some(near) = self.suggestion(name.text) {
                error = error.help(format!("did you mean `{near}`?"));
            }
        }
        self.error(error);
    }

    /// A declared or predefined name that an undefined one may be a misspelling of.
    fn suggestion(&self, name: &str) -> Option<String> {
        let known = self.names.candidates().chain(special::NAMES.iter().copied());
        if let Some(near) = closest(name, known) {
            return Some(near.to_owned());
        }
        // A register of a range: the prefix may be wrong.
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = &name[prefix.len()..];
        let ranges = self.names.ranges_with(number.parse().ok()?);
        closest(prefix, ranges).map(|near| format!("{near}{number}"))
    }

    /// For `%r12` where only `%r<10>` is declared: that range.
    fn outside_range(&self, name: &str) -> Option<(u64, Span)> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if prefix.len() < name.len() { self.names.range_count(prefix) } else { None }
    }

    /// Counts the variables or labels that a range `name<count>` stands for; refuses what a short text could
    /// fill the memory with.
    fn afford_range(&mut self, name: Name<'a>, count: u64) -> bool {
        if count <= self.ranges_left {
            self.ranges_left -= count;
            return true;
        }
        let message = format!("`{}<{count}>` names too many variables or labels", name.text);
        let left = self.ranges_left;
        self.error(
            Diagnostic::error(codes::TOO_LARGE, name.span, message)
                .help(format!("ranges can name {left} more in this text")),
        );
        false
    }

    /// Reports a second declaration of a name.
    fn redeclared(&mut self, name: Name<'a>, earlier: Span) {
        self.error(
            Diagnostic::error(codes::REDECLARED, name.span, format!("`{}` is declared twice", name.text))
                .caption("declared again here")
                .label(earlier, "first declared here"),
        );
    }

    /// Module-wide checks once everything is known.
    fn check_module(&mut self) {
        let constants = self.module.variables.iter().filter(|v| v.space == StateSpace::Const);
        let (mut end, mut last) = (0u64, Span::default());
        for variable in constants.filter(|v| v.linkage != Linkage::Extern) {
            end = variable::align_up(end, variable.align).saturating_add(variable.size);
            last = variable.span;
        }
        if end > CONST_LIMIT {
            self.error(
                Diagnostic::error(
                    codes::TOO_LARGE,
                    last,
                    format!("`.const` variables take {end} bytes together"),
                )
                .caption("beyond the limit with this one")
                .help(format!("at most {CONST_LIMIT} bytes of constant memory are static")),
            );
        }
    }
}

/// Statically sized constant memory of a module in bytes (ISA 5.1.3).
const CONST_LIMIT: u64 = 65536;

const MODULE_DIRECTIVES: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".entry",
    ".func",
    ".global",
    ".const",
    ".shared",
    ".extern",
    ".visible",
    ".weak",
    ".common",
    ".alias",
    ".pragma",
    ".file",
    ".section",
    ".loc",
];

/// The candidate that `word` was probably meant to be.
fn closest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    if word.len() > 100 {
        return None;
    }
    let limit = (word.chars().count() / 3).min(4);
    candidates
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= limit)
        .take(100_000)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= limit && candidate != word)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The name of an entity's kind, for messages.
fn describe(entity: Entity) -> &'static str {
    match entity {
        Entity::Register(_) | Entity::Ranged(..) => "a register",
        Entity::Variable(_) => "a variable",
        Entity::Function(_) => "a function",
        Entity::Label(_) => "a label",
        Entity::BranchTargets(_) => "a list of branch targets",
        Entity::Prototype(_) => "a call prototype",
        Entity::Unknown => "unknown",
    }
}
