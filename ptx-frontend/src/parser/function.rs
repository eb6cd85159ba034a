//! `.entry` and `.func` (ISA 11.2) with their parameters and tuning directives (11.4, 11.7).

use nom::Parser as _;
use nom::branch::alt;
use nom::combinator::{cut, map, opt};
use nom::multi::{many0, separated_list1};
use nom::sequence::{delimited, pair, preceded};

use super::declaration::{Declarator, Head, attributes, count, declarator, dimension, head};
use super::names::Entity;
use super::tokens::{Name, Step, Tokens, directive, name, token};
use super::variable::align_up;
use super::{Done, MODULE_DIRECTIVES, Parser, SOURCE, Stop};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::module::{
    FuncId, Function, FunctionKind, Linkage, Param, ParamLayout, Symbol, Tuning, VarId, Variable,
};
use crate::span::Span;
use crate::target::PtxVersion;
use isa::{ScalarType, StateSpace, TypeClass};

/// A formal parameter as written.
pub(super) type Formal<'a> = (Head, Declarator<'a>);

struct Signature<'a> {
    returns: Vec<Formal<'a>>,
    name: Name<'a>,
    params: Vec<Formal<'a>>,
    span: Span,
}

fn formal(tokens: Tokens<'_>) -> Step<'_, Formal<'_>> {
    if tokens.kind() != TokenKind::Directive || !matches!(tokens.word(), ".param" | ".reg") {
        return tokens.error("`.param` or `.reg`");
    }
    pair(head, alt((unnamed, declarator))).parse(tokens)
}

/// `_` in place of a name, as prototypes may have it.
fn unnamed(tokens: Tokens<'_>) -> Step<'_, Declarator<'_>> {
    let (rest, sink) = token(TokenKind::Underscore).parse(tokens)?;
    let (rest, dimensions) = many0(dimension).parse(rest)?;
    let name = Name { text: "_", span: sink.span };
    let span = tokens.consumed(rest);
    Ok((rest, Declarator { name, count: None, dimensions: dimensions.into(), span }))
}

/// A parenthesised parameter list.
pub(super) fn formals(tokens: Tokens<'_>) -> Step<'_, Vec<Formal<'_>>> {
    let (rest, _) = token(TokenKind::OpenParen).parse(tokens)?;
    if rest.kind() == TokenKind::CloseParen {
        return Ok((rest.skip(1), Vec::new()));
    }
    let (rest, list) = separated_list1(token(TokenKind::Comma), cut(formal)).parse(rest)?;
    let (rest, _) = token(TokenKind::CloseParen).parse(rest)?;
    Ok((rest, list))
}

fn signature(tokens: Tokens<'_>) -> Step<'_, Signature<'_>> {
    let rest = tokens.skip(1);
    let (rest, _) = opt(attributes).parse(rest)?;
    let returns = rest.kind() == TokenKind::OpenParen && tokens.word() == ".func";
    let (rest, returns) = if returns { formals(rest)? } else { (rest, Vec::new()) };
    let (rest, name) = name(rest)?;
    let (rest, params) =
        if rest.kind() == TokenKind::OpenParen { formals(rest)? } else { (rest, Vec::new()) };
    Ok((rest, Signature { returns, name, params, span: tokens.consumed(rest) }))
}

fn dimensions(tokens: Tokens<'_>) -> Step<'_, ([u32; 3], Span)> {
    let (rest, (x, y, z)) =
        (count, opt(preceded(token(TokenKind::Comma), count)), opt(preceded(token(TokenKind::Comma), count)))
            .parse(tokens)?;
    let list = [Some(x), y, z].map(|n| n.map_or(1, |(value, _)| value));
    Ok((rest, (list.map(|n| u32::try_from(n).unwrap_or(0)), tokens.consumed(rest))))
}

impl<'a> Parser<'a> {
    /// A declaration or definition of a kernel or device function.
    pub(super) fn function(&mut self, linkage: Linkage, start: Span) -> Done {
        let kind = if self.word() == ".entry" { FunctionKind::Entry } else { FunctionKind::Func };
        if linkage == Linkage::Common {
            self.error(Diagnostic::error(codes::LINKAGE, start, "`.common` is for `.global` variables only"));
        }
        let signature = self.rule(signature)?;
        let (tuning, noreturn, preserved) = self.tuning(kind, &signature)?;
        let has_body = match self.kind() {
            TokenKind::OpenBrace => true,
            TokenKind::Semicolon => false,
            // ptxas takes a declaration that no `;` ends; compilers up to CUDA 4 wrote them so.
            TokenKind::Directive | TokenKind::End if kind == FunctionKind::Func => false,
            _ => return self.expected("`{`, `;` or a directive of the function"),
        };
        if has_body && linkage == Linkage::Extern && kind == FunctionKind::Func {
            self.error(
                Diagnostic::error(codes::LINKAGE, start, "an `.extern` function cannot have a body")
                    .help("`.extern` declares what another module defines; write `.visible`"),
            );
        }
        let span = start.to(signature.span);
        let declared =
            self.declare_function(kind, linkage, span, &signature, tuning, noreturn, preserved, has_body);
        let Some(id) = declared else {
            if has_body {
                // The body of a function that cannot be: read over it.
                self.bump();
                self.skip_block();
            } else {
                self.eat(TokenKind::Semicolon);
            }
            return Ok(());
        };
        if !has_body {
            self.eat(TokenKind::Semicolon);
        } else {
            self.bump();
            self.body(id, &signature.returns, &signature.params);
        }
        Ok(())
    }

    /// Reads to the `}` of the block whose `{` was just consumed.
    pub(super) fn skip_block(&mut self) {
        let mut depth = 1u32;
        while depth > 0 && self.kind() != TokenKind::End {
            match self.bump().kind {
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace => depth -= 1,
                _ => {}
            }
        }
    }

    fn declare_function(
        &mut self,
        kind: FunctionKind,
        linkage: Linkage,
        span: Span,
        signature: &Signature<'a>,
        tuning: Tuning,
        noreturn: bool,
        preserved: Preserved,
        has_body: bool,
    ) -> Option<FuncId> {
        let name = signature.name;
        if name.text == "WARP_SZ" || super::special::special(name.text).is_some() {
            self.error(Diagnostic::error(
                codes::REDECLARED,
                name.span,
                "a predefined name cannot name a function",
            ));
        }
        let earlier = match self.names.find_bound(name.text) {
            None => None,
            Some((Entity::Function(id), earlier)) => Some((id, earlier)),
            Some((_, earlier)) => {
                self.redeclared(name, earlier);
                return None;
            }
        };
        let id = FuncId(self.module.functions.len() as u32);
        self.function = id;
        let function = Function {
            name: name.text.into(),
            kind,
            linkage,
            returns: Vec::new(),
            params: Vec::new(),
            param_bytes: 0,
            noreturn,
            tuning,
            registers: Vec::new(),
            variables: Vec::new(),
            body: None,
            source: SOURCE,
            span,
        };
        let Some((old, old_span)) = earlier else {
            self.module.functions.push(function);
            self.parameters(id, signature);
            if preserved != Preserved::default() {
                self.preserved.insert(id, preserved);
            }
            if self.names.declare(name.text, Entity::Function(id), name.span).is_ok() {
                self.module.symbols.insert(name.text.into(), Symbol::Function(id));
            }
            return Some(id);
        };
        // A declaration came before: compare with it, then take its place unless only declared again.
        let before = &self.module.functions[old.index()];
        let defined = before.body.is_some();
        if defined && has_body {
            self.redeclared(name, old_span);
            return None;
        }
        let mut problem = if before.kind != kind {
            Some("one is an `.entry`, the other a `.func`")
        } else if before.linkage != linkage {
            Some("the linking directives differ")
        } else if before.noreturn != noreturn {
            Some("only one of them has `.noreturn`")
        } else if self.preserved.get(&old).copied().unwrap_or_default() != preserved {
            Some("they preserve other registers")
        } else {
            None
        };
        let variables = self.module.variables.len();
        self.module.functions.push(function);
        self.parameters(id, signature);
        if problem.is_none() && self.signature_differs(old, id) {
            problem = Some("the parameters differ");
        }
        self.function = old;
        if let Some(function) = self.module.functions.pop().filter(|_| !defined) {
            self.module.functions[old.index()] = function;
            for variable in &mut self.module.variables[variables..] {
                variable.owner = Some(old);
            }
            self.names.bind(name.text, Entity::Function(old), name.span);
        } else {
            self.module.variables.truncate(variables);
        }
        if let Some(problem) = problem {
            let message = format!("`{}` does not agree with its earlier declaration", name.text);
            self.error(
                Diagnostic::error(codes::CONFLICT, name.span, message)
                    .caption(problem)
                    .label(old_span, "declared here before"),
            );
        }
        Some(old)
    }

    /// Whether two functions differ in number, space, type, size or alignment of their parameters.
    pub(super) fn signature_differs(&self, a: FuncId, b: FuncId) -> bool {
        let key = |function: &Function, param: &Param| match *param {
            Param::Variable(id) => {
                let v = &self.module.variables[id.index()];
                (StateSpace::Param, v.ty, v.vector, v.size, v.align)
            }
            Param::Register(id) => {
                let ty = function.registers.get(id.index()).map_or(ScalarType::B32, |r| r.ty);
                (StateSpace::Reg, ty, 1, 0, 0)
            }
        };
        let list = |function: &Function| -> Vec<_> {
            function.returns.iter().chain(&function.params).map(|param| key(function, param)).collect()
        };
        let (a, b) = (&self.module.functions[a.index()], &self.module.functions[b.index()]);
        a.returns.len() != b.returns.len() || list(a) != list(b)
    }

    /// Makes variables and registers for the parameters, and lays out a kernel's buffer.
    fn parameters(&mut self, id: FuncId, signature: &Signature<'a>) {
        let entry = self.module.functions[id.index()].kind == FunctionKind::Entry;
        let first = self.module.variables.len() as u32;
        let returns = self.formal_list(id, &signature.returns, false);
        let middle = self.module.variables.len() as u32;
        let params = self.formal_list(id, &signature.params, entry);
        self.formals = [first..middle, middle..self.module.variables.len() as u32];
        if returns.len() > 1 && returns.iter().any(|p| matches!(p, Param::Variable(_))) {
            let (_, second) = &signature.returns[1];
            self.error(
                Diagnostic::error(
                    codes::PARAMETER,
                    second.span,
                    "more than one return parameter in `.param`",
                )
                .help("return an array in `.param`, or use `.reg` parameters"),
            );
        }
        let mut offset = 0u64;
        if entry {
            for param in &params {
                let Param::Variable(id) = param else { continue };
                let variable = &mut self.module.variables[id.index()];
                variable.offset = align_up(offset, variable.align);
                offset = variable.offset.saturating_add(variable.size);
            }
            let limit = if self.module.version >= PtxVersion::new(8, 1) { 32764 } else { 4352 };
            if offset > limit {
                let message = format!("`{}` takes {offset} bytes of parameters", signature.name.text);
                self.error(
                    Diagnostic::error(codes::TOO_LARGE, signature.name.span, message)
                        .caption(format!("at most {limit} are allowed in PTX {}", self.module.version)),
                );
            }
        }
        let function = &mut self.module.functions[id.index()];
        function.returns = returns;
        function.params = params;
        function.param_bytes = offset;
    }

    fn formal_list(&mut self, id: FuncId, list: &[Formal<'a>], entry: bool) -> Vec<Param> {
        let mut params = Vec::with_capacity(list.len());
        for (at, (head, declarator)) in list.iter().enumerate() {
            self.check_formal(head, declarator, entry, at + 1 == list.len());
            if head.space == StateSpace::Reg {
                // A vector is passed as its components.
                let registers = &mut self.module.functions[id.index()].registers;
                let first = registers.len() as u32;
                super::names::push_registers(registers, declarator.name.text, head.ty, head.vector);
                params.extend((first..registers.len() as u32).map(|at| Param::Register(crate::RegId(at))));
            } else {
                let variable = self.layout(head, declarator, Linkage::Internal, Some(id));
                params.push(Param::Variable(VarId(self.module.variables.len() as u32)));
                self.module.variables.push(variable);
            }
        }
        params
    }

    fn check_formal(&mut self, head: &Head, declarator: &Declarator<'a>, entry: bool, last: bool) {
        let span = declarator.span;
        if declarator.name.text == "_" {
            self.error(Diagnostic::error(codes::PARAMETER, span, "a parameter of a function needs a name"));
        }
        if let Some((_, span)) = declarator.count {
            self.error(Diagnostic::error(codes::PARAMETER, span, "a parameter list cannot hold a range"));
        }
        if entry && head.space == StateSpace::Reg {
            self.error(
                Diagnostic::error(codes::PARAMETER, head.span, "a kernel parameter must be in `.param`")
                    .help(format!("write `.param {} {}`", head.ty, declarator.name.text)),
            );
        }
        if head.space == StateSpace::Reg && !declarator.dimensions.is_empty() {
            self.error(Diagnostic::error(codes::PARAMETER, span, "there are no arrays of registers"));
        }
        if head.pointer.is_some() && !entry {
            self.error(Diagnostic::error(
                codes::PARAMETER,
                head.span,
                "`.ptr` is for kernel parameters only",
            ));
        }
        if head.ty.class() == TypeClass::Opaque {
            if !entry {
                let message = format!("a `{}` can only be a kernel parameter", head.ty);
                self.error(Diagnostic::error(codes::PARAMETER, head.type_span, message));
            }
        } else {
            self.check_type(head);
            self.check_parameter_type(head, declarator);
        }
        if declarator.dimensions.first() == Some(&0) {
            if entry {
                self.error(Diagnostic::error(codes::PARAMETER, span, "a kernel parameter needs a size"));
            } else if !last {
                self.error(Diagnostic::error(
                    codes::PARAMETER,
                    span,
                    "only the last parameter can be an open array",
                ));
            }
        }
    }

    /// Sizes and alignments of formal parameters.
    pub(super) fn layouts(&mut self, list: &[Formal<'a>]) -> Vec<ParamLayout> {
        let mut layouts = Vec::with_capacity(list.len());
        for (head, declarator) in list {
            let Variable { size, align, .. } = self.layout(head, declarator, Linkage::Internal, None);
            let bytes = u64::from(head.ty.bytes());
            match head.space {
                StateSpace::Reg if head.vector > 1 => {
                    let component = ParamLayout { size: bytes, align: bytes };
                    layouts.extend(std::iter::repeat_n(component, head.vector as usize));
                }
                _ => layouts.push(ParamLayout { size, align }),
            }
        }
        layouts
    }

    /// Directives between a function's parameters and its body.
    fn tuning(&mut self, kind: FunctionKind, signature: &Signature<'a>) -> Done<(Tuning, bool, Preserved)> {
        let mut tuning = Tuning::default();
        let mut noreturn = false;
        let entry = kind == FunctionKind::Entry;
        let mut preserved = Preserved::default();
        let (mut max, mut required, mut rank) = (None, None, None);
        while self.kind() == TokenKind::Directive {
            let (word, span) = (self.word(), self.span());
            if !entry && !TUNING.contains(&word) && MODULE_DIRECTIVES.contains(&word) {
                break;
            }
            let for_entry = !matches!(word, ".noreturn" | ".abi_preserve" | ".abi_preserve_control");
            let both = matches!(word, ".pragma" | ".language");
            if TUNING.contains(&word) && !both && for_entry != entry {
                let place = if for_entry { "kernels" } else { "device functions" };
                self.error(Diagnostic::error(
                    codes::MISPLACED,
                    span,
                    format!("`{word}` is for {place} only"),
                ));
            }
            self.require(word, span);
            match word {
                ".maxntid" => (tuning.max_threads, max) = (Some(self.extent()?), Some(span)),
                ".reqntid" => (tuning.required_threads, required) = (Some(self.extent()?), Some(span)),
                ".minnctapersm" => tuning.min_ctas_per_sm = Some(self.number()?),
                ".maxnreg" => tuning.max_registers = Some(self.number()?),
                ".reqnctapercluster" => tuning.required_cluster = Some(self.extent()?),
                ".maxclusterrank" => {
                    tuning.max_cluster_rank = Some(self.number()?);
                    rank = Some(span);
                }
                ".explicitcluster" => {
                    self.bump();
                    tuning.explicit_cluster = true;
                }
                ".blocksareclusters" => {
                    self.bump();
                    tuning.blocks_are_clusters = true;
                }
                // What only tells the backend how to spend registers and memory is not kept.
                ".maxnctapersm" | ".minperctamemory" => {
                    self.number()?;
                }
                ".abi_preserve" | ".abi_preserve_control" => {
                    self.bump();
                    let count = self.rule(count)?;
                    self.preserve(word, span, count, &mut preserved);
                }
                ".language" => self.language()?,
                ".noreturn" => {
                    if preserved != Preserved::default() {
                        let message = "`.noreturn` must stand before `.abi_preserve`";
                        self.error(Diagnostic::error(codes::TUNING, span, message));
                    }
                    self.bump();
                    noreturn = true;
                    if !signature.returns.is_empty() {
                        let message = "a function with `.noreturn` cannot have return parameters";
                        self.error(Diagnostic::error(codes::TUNING, span, message));
                    }
                }
                ".pragma" => tuning.pragmas.extend(self.pragma()?),
                _ => return self.unknown_directive(TUNING),
            }
        }
        if let (Some(max), Some(required)) = (max, required) {
            self.error(
                Diagnostic::error(codes::TUNING, required, "`.reqntid` and `.maxntid` exclude each other")
                    .label(max, "`.maxntid` is here"),
            );
        }
        if let (Some(rank), Some(_)) = (rank, tuning.required_cluster) {
            let message = "`.maxclusterrank` and `.reqnctapercluster` exclude each other";
            self.error(Diagnostic::error(codes::TUNING, rank, message));
        }
        if tuning.blocks_are_clusters && (required.is_none() || tuning.required_cluster.is_none()) {
            let message = "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`";
            self.error(Diagnostic::error(codes::TUNING, signature.name.span, message));
        }
        Ok((tuning, noreturn, preserved))
    }

    /// `.abi_preserve N` and `.abi_preserve_control N`: once each, in the range that ptxas takes.
    pub(super) fn preserve(&mut self, word: &str, span: Span, count: (u64, Span), into: &mut Preserved) {
        let (into, most) = match word {
            ".abi_preserve" => (&mut into.registers, MOST_PRESERVED),
            _ => (&mut into.control, MOST_CONTROL_PRESERVED),
        };
        if into.replace(count.0).is_some() {
            self.error(Diagnostic::error(codes::TUNING, span, format!("`{word}` is given twice")));
        } else if count.0 > most {
            let message = format!("`{word}` is at most {most}");
            self.error(Diagnostic::error(codes::TUNING, count.1, message));
        }
    }

    /// `.language N` or `.language "name"`: the language that was compiled.
    fn language(&mut self) -> Done {
        self.bump();
        if self.eat(TokenKind::String) {
            return Ok(());
        }
        let (number, span) = self.rule(count)?;
        if number > 10 {
            self.error(Diagnostic::error(codes::TUNING, span, "languages have the numbers 0 to 10"));
        }
        Ok(())
    }

    fn extent(&mut self) -> Done<[u32; 3]> {
        self.bump();
        let (extent, span) = self.rule(dimensions)?;
        if extent.contains(&0) {
            self.error(Diagnostic::error(
                codes::TUNING,
                span,
                "each extent must be between 1 and 4294967295",
            ));
            return Err(Stop);
        }
        Ok(extent)
    }

    fn number(&mut self) -> Done<u32> {
        self.bump();
        let (number, span) = self.rule(count)?;
        u32::try_from(number).map_err(|_| {
            self.error(Diagnostic::error(codes::TUNING, span, "this number must fit 32 bits"));
            Stop
        })
    }
}

/// What `.abi_preserve` and `.abi_preserve_control` of a function say.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Preserved {
    registers: Option<u64>,
    control: Option<u64>,
}

/// The largest operands that ptxas 13.0 takes for any target: general registers with the return address
/// behind them, and predicate and barrier registers.
const MOST_PRESERVED: u64 = 239;
const MOST_CONTROL_PRESERVED: u64 = 11;

pub(super) const TUNING: &[&str] = &[
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".reqnctapercluster",
    ".maxclusterrank",
    ".explicitcluster",
    ".blocksareclusters",
    ".minperctamemory",
    ".abi_preserve",
    ".abi_preserve_control",
    ".noreturn",
    ".language",
    ".pragma",
];

/// `label: .callprototype (returns) _ (parameters) .noreturn`, from its directive on.
pub(super) struct ProtoSyntax<'a> {
    pub(super) returns: Vec<Formal<'a>>,
    pub(super) params: Vec<Formal<'a>>,
    pub(super) noreturn: bool,
    /// `.abi_preserve` and `.abi_preserve_control`: the directive and its operand.
    pub(super) preserved: Vec<(Name<'a>, (u64, Span))>,
}

/// The rest of a `.callprototype` after its directive (ISA 11.3.3).
pub(super) fn prototype<'a>(tokens: Tokens<'a>) -> Step<'a, ProtoSyntax<'a>> {
    let preserve = |tokens: Tokens<'a>| match (tokens.kind(), tokens.word()) {
        (TokenKind::Directive, text @ (".abi_preserve" | ".abi_preserve_control")) => {
            let name = Name { text, span: tokens.first().span };
            let (rest, count) = cut(count).parse(tokens.skip(1))?;
            Ok((rest, (name, count)))
        }
        _ => tokens.error("`.abi_preserve`"),
    };
    let (rest, returns) =
        if tokens.kind() == TokenKind::OpenParen { formals(tokens)? } else { (tokens, Vec::new()) };
    let (rest, _) = token(TokenKind::Underscore).parse(rest)?;
    let (rest, params) =
        if rest.kind() == TokenKind::OpenParen { formals(rest)? } else { (rest, Vec::new()) };
    let (rest, (noreturn, preserved)) =
        pair(opt(directive(".noreturn", "`.noreturn`")), many0(preserve)).parse(rest)?;
    let (rest, _) = token(TokenKind::Semicolon).parse(rest)?;
    Ok((rest, ProtoSyntax { returns, params, noreturn: noreturn.is_some(), preserved }))
}

/// Names separated by commas, each perhaps a range, up to the `;`.
pub(super) fn name_list(tokens: Tokens<'_>) -> Step<'_, Vec<(Name<'_>, Option<u64>)>> {
    let range = opt(delimited(token(TokenKind::Less), count, token(TokenKind::Greater)));
    let item = pair(name, map(range, |range| range.map(|(count, _)| count)));
    let (rest, list) = separated_list1(token(TokenKind::Comma), item).parse(tokens)?;
    let (rest, _) = token(TokenKind::Semicolon).parse(rest)?;
    Ok((rest, list))
}
