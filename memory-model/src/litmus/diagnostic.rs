//! Diagnostics with source spans, and the helper that turns an offset into a line and a column.

use std::fmt;

/// A half-open range of byte offsets into the text that was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of `start..end`; offsets above 4 GiB saturate.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end) }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// One-based line and column (in characters) of the first byte of the span in `text`.
    pub fn line_column(self, text: &str) -> (u32, u32) {
        let mut end = (self.start as usize).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line = before.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        (line, column)
    }
}

/// What kind of mistake a diagnostic reports. The code is stable across releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// A character or a token that has no place here.
    Syntax,
    /// The file does not begin with a known litmus header.
    Header,
    /// A name (location, register, thread, label) that nothing declares.
    Undeclared,
    /// A name or thread declared twice.
    Duplicate,
    /// An instruction that the dialect does not have.
    UnknownInstruction,
    /// A qualifier that is missing, or that the instruction does not take.
    Qualifier,
    /// A number that does not fit.
    Range,
    /// A limit of this implementation.
    Limit,
    /// A kernel that is no litmus test.
    Kernel,
    /// A character or a word that has no place in a model's file.
    ModelSyntax,
    /// A name that neither a model's file nor the language defines.
    ModelName,
    /// A model that means nothing: a set in the place of a relation, a recursion without end, a contradiction.
    ModelMeaning,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 12] = [
        Code::Syntax,
        Code::Header,
        Code::Undeclared,
        Code::Duplicate,
        Code::UnknownInstruction,
        Code::Qualifier,
        Code::Range,
        Code::Limit,
        Code::Kernel,
        Code::ModelSyntax,
        Code::ModelName,
        Code::ModelMeaning,
    ];

    /// What it means and what to do about it, in a few sentences.
    pub fn explanation(self) -> &'static str {
        match self {
            Code::Syntax => {
                "A character or a word of a litmus test has no place where it stands. A test is a line `PTX \
                 name`, the initial state in braces, a row with the threads, rows of instructions separated by \
                 `|` and ended by `;`, and a condition."
            }
            Code::Header => {
                "A litmus test does not begin as one. The first line is `PTX` and the name of the test; the \
                 initial state in braces follows, `{ x=0; y=0; }`."
            }
            Code::Undeclared => {
                "A litmus test uses a thread, a label or, in its condition, a register or a location that \
                 it does not have. Locations and registers need no declaration to be used by an instruction; \
                 they begin as 0."
            }
            Code::Duplicate => "A litmus test declares a thread, a location or a label twice.",
            Code::UnknownInstruction => {
                "The dialect of litmus tests has no such instruction. It has ld, st, atom, red, fence, membar, \
                 bar, barrier.cluster, mbarrier, mov, arithmetic, branches that compare two values, and goto."
            }
            Code::Qualifier => {
                "An instruction of a litmus test lacks a qualifier, or has one that it does not take. Relaxed, \
                 acquire and release accesses need a scope, weak ones take none."
            }
            Code::Range => "A number in a litmus test is too small or too large for its place.",
            Code::Limit => "A litmus test is larger than this implementation reads.",
            Code::Kernel => {
                "A PTX kernel cannot be read as a litmus test: its header of `//@` comments is wrong, or it \
                 has an instruction that litmus tests have no counterpart for. Loads, stores, atomics, \
                 fences, barriers, integer arithmetic, comparisons and branches have one."
            }
            Code::ModelSyntax => {
                "A character or a word of a model's file has no place where it stands. A model is definitions \
                 (`let r = po | rf`, `let rec`, functions), `include \"file\"`, procedures that are called, and \
                 checks: `acyclic`, `irreflexive` or `empty`, an expression, and a name behind `as`. Operators are \
                 `| ; \\ & *`, `~`, and behind an operand `* + ? ^-1`."
            }
            Code::ModelName => {
                "A model uses a name that it does not define. Every model has the sets _ M R W IW F B RMW, \
                 WEAK RLX ACQ REL ACQ_REL SC (orders of accesses and fences), CTA CLUSTER GPU SYS (scopes), GEN \
                 TEX SUR CON ASYNC TMAP (proxies), ALIAS PROXY (fences between proxies), RED (reads of \
                 reductions), BAR-WAIT, BAR-ARRIVE; and the relations 0 id po po-loc int ext loc vloc overlap rf \
                 rfe rfi co coe coi fr fre fri rmw addr data ctrl, sr (scopes that include each other), scta \
                 cluster gpu (same block, cluster, device), same-proxy, sync_fence (order of fence.sc), syncbar \
                 (barriers with quorums), bar-phase (barriers with phases), si (same instruction), membar.cta \
                 membar.gl membar.sys, and the functions fencerel, domain, range, generate_cos, generate_orders. \
                 Behind a header C, OpenCL or VULKAN there are the names of those models, too."
            }
            Code::ModelMeaning => {
                "A model cannot be understood: a set stands where a relation is wanted or the other way round, a \
                 relation is defined by what it does not contain, a function or a file uses itself, an included \
                 file cannot be read, what is asked differs from execution to execution, the model is too large, or no \
                 execution at all satisfies it. A recursive \
                 definition means the least relations that satisfy it, so it must not take itself away."
            }
        }
    }

    /// The stable identifier, such as `L003`.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Syntax => "L001",
            Code::Header => "L002",
            Code::Undeclared => "L003",
            Code::Duplicate => "L004",
            Code::UnknownInstruction => "L005",
            Code::Qualifier => "L006",
            Code::Range => "L007",
            Code::Limit => "L008",
            Code::Kernel => "L009",
            Code::ModelSyntax => "L010",
            Code::ModelName => "L011",
            Code::ModelMeaning => "L012",
        }
    }
}

/// One mistake in a litmus file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of mistake.
    pub code: Code,
    /// Where.
    pub span: Span,
    /// What is wrong, in one sentence without a final period.
    pub message: String,
    /// How to put it right, where that is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without help.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, message: message.into(), help: None }
    }

    /// Adds the help line.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// One to four lines: position, message, the source line with a marker, help.
    pub fn render(&self, file: &str, text: &str) -> String {
        let (line, column) = self.span.line_column(text);
        let source = text.lines().nth(line as usize - 1).unwrap_or("");
        let width = text
            .get(self.span.start as usize..self.span.end as usize)
            .map_or(1, |s| s.chars().take_while(|&c| c != '\n').count().max(1));
        let pad: String =
            source.chars().take(column as usize - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let mut out = format!("{file}:{line}:{column}: error[{}]: {}\n", self.code.as_str(), self.message);
        out.push_str(&format!("  {source}\n  {pad}{}", "^".repeat(width)));
        if let Some(help) = &self.help {
            out.push_str(&format!("\n  help: {help}"));
        }
        out
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}: {}: {}", self.span.start, self.span.end, self.code.as_str(), self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}
