//! Mappings of source languages to PTX: tables that say which instructions an atomic operation becomes, and whether
//! what they make of a program does only what the program may do.
//!
//! ```
//! use memory_model::mapping::Mapping;
//! use memory_model::parse;
//!
//! let table = "load.acquire   ld.acquire.$\nstore.release  st.release.$\nstore.seq_cst  fence.sc.$; st.relaxed.$\n";
//! let mapping = Mapping::parse(table).expect("a well-formed table");
//! let source = "C++ one\n{ x=0; }\n P0@cta 0,gpu 0 ;\n store.seq_cst.device x, 1 ;\nexists (x == 1)\n";
//! let compiled = mapping.compile(&parse(source).expect("well formed")).expect("all operations are in the table");
//! assert!(compiled.contains("fence.sc.gpu") && compiled.contains("st.relaxed.gpu x, 1"));
//! assert!(parse(&compiled).is_ok());
//! ```
//!
//! A table has one line an operation: its name and order, then the instructions that it becomes, with `;` between them and
//! `$` for the scope. The operations are `load`, `store`, `rmw` (every atomic that reads and writes), `cas` (compare and exchange, where
//! it is not as the other atomics are) and `fence`; `-` stands for no instruction. Operations that have no line are not in the language. `#` begins a comment.

use crate::check::{Options, Property, check};
use crate::generate::Cycle;
use crate::litmus::{Code, Diagnostic, Span, columns, parse};
use crate::program::{Access, Litmus, MemOrder, Op, Operand, Program, RmwOp, Scope, Thread};
use std::fmt;

/// An operation of a source language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Load,
    Store,
    Rmw,
    Cas,
    Fence,
}

const OPERATIONS: [(&str, Operation); 5] = [
    ("load", Operation::Load),
    ("store", Operation::Store),
    ("rmw", Operation::Rmw),
    ("cas", Operation::Cas),
    ("fence", Operation::Fence),
];

const ORDERS: [(&str, MemOrder); 6] = [
    ("na", MemOrder::Weak),
    ("relaxed", MemOrder::Relaxed),
    ("acquire", MemOrder::Acquire),
    ("release", MemOrder::Release),
    ("acq_rel", MemOrder::AcqRel),
    ("seq_cst", MemOrder::Sc),
];

/// A table: what each operation becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    rows: Vec<(Operation, MemOrder, Vec<String>)>,
}

/// An operation that a table does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub String);

/// Tables that the crate ships: of libcu++, of LLVM's NVPTX backend as it is and as version 22 was, of the SYCL compilers DPC++ and
/// AdaptiveCpp, and of Triton.
pub const SHIPPED: [(&str, &str); 7] = [
    ("libcu++", include_str!("../mappings/libcu++.map")),
    ("llvm-nvptx", include_str!("../mappings/llvm-nvptx.map")),
    ("llvm-22", include_str!("../mappings/llvm-22.map")),
    ("sycl-cuda", include_str!("../mappings/sycl-cuda.map")),
    ("adaptivecpp", include_str!("../mappings/adaptivecpp.map")),
    ("triton", include_str!("../mappings/triton.map")),
    ("pocl", include_str!("../mappings/pocl.map")),
];

/// Relaxations of the tests on which a mapping is judged if no others are named: accesses of each kind and order at the
/// ends of program order, atomics among them, accesses that are not atomic behind a branch, and all fences.
pub fn suite() -> String {
    let ends = ["Wk", "Rlx", "Acq", "Rel", "Sc", "Amo.Rlx", "Amo.Acq", "Amo.Rel", "Amo.AcqRel", "Amo.Sc"];
    let mut out = String::from("Rfe Fre Coe");
    for from in ends {
        for to in ends {
            out += &format!(" [{from} Pod** {to}]");
        }
    }
    for from in ["Rlx", "Acq", "Sc", "Amo.Acq", "Amo.AcqRel", "Amo.Sc"] {
        out += &format!(" [{from} DpCtrld* Wk]");
    }
    for order in ["acquire", "release", "acq_rel", "sc"] {
        out += &format!(" Fence.{order}.gpud**");
    }
    out
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the table has no line for `{}`", self.0)
    }
}

impl std::error::Error for Missing {}

impl Mapping {
    /// Reads a table.
    ///
    /// # Errors
    /// Every mistake found, with its place: unknown operations, orders and instructions, and lines said twice.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut rows: Vec<(Operation, MemOrder, Vec<String>)> = Vec::new();
        let mut errors = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let begin = at;
            at += line.len();
            let body = line.split('#').next().unwrap_or("").trim_end();
            let Some(first) = body.split_whitespace().next() else { continue };
            let offset = begin + (body.len() - body.trim_start().len());
            let mut wrong = |span: Span, message: String, help: &str| {
                errors.push(Diagnostic::new(Code::Syntax, span, message).with_help(help));
            };
            let name = Span::new(offset, offset + first.len());
            let parts = first.split_once('.').and_then(|(operation, order)| {
                let operation = OPERATIONS.iter().find(|known| known.0 == operation)?;
                let order = ORDERS.iter().find(|known| known.0 == order)?;
                Some((operation.1, order.1))
            });
            let Some((operation, order)) = parts.filter(|&(o, order)| exists(o, order)) else {
                let help = "load, store, rmw, cas or fence, and na, relaxed, acquire, release, acq_rel or seq_cst: `load.acquire`";
                wrong(name, format!("`{first}` is no operation with an order"), help);
                continue;
            };
            if rows.iter().any(|row| (row.0, row.1) == (operation, order)) {
                wrong(name, format!("`{first}` has a line already"), "one line an operation");
                continue;
            }
            let rest = &body[body.find(first).unwrap_or(0) + first.len()..];
            let base = begin + body.len() - rest.len();
            let mut instructions = Vec::new();
            let mut from = 0;
            for part in rest.split(';') {
                let text = part.trim();
                let start = base + from + (part.len() - part.trim_start().len());
                from += part.len() + 1;
                let span = Span::new(start, start + text.len().max(1));
                match text {
                    "-" => {}
                    "" => wrong(span, "an instruction is missing".to_owned(), "`-` stands for none"),
                    text if is_instruction(text, operation) => instructions.push(text.to_owned()),
                    text => {
                        let message = format!("`{text}` is no instruction that `{first}` can become");
                        wrong(span, message, "fences, and one ld, st or atom as the operation is");
                    }
                }
            }
            let accesses = instructions.iter().filter(|i| !i.starts_with("fence")).count();
            if accesses != usize::from(operation != Operation::Fence) {
                let help = "an access becomes one access, with fences around it; a fence becomes fences";
                wrong(name, format!("`{first}` becomes {accesses} accesses"), help);
            }
            rows.push((operation, order, instructions));
        }
        if errors.is_empty() { Ok(Self { rows }) } else { Err(errors) }
    }

    /// The test as it is compiled, as a litmus test in PTX.
    ///
    /// # Errors
    /// An operation that is not in the table.
    pub fn compile(&self, litmus: &Litmus) -> Result<String, Missing> {
        let program = &litmus.program;
        let threads: Result<Vec<Vec<String>>, Missing> =
            program.threads.iter().map(|thread| self.thread(thread)).collect();
        let mut out = format!("PTX {}\n{{", litmus.name);
        for location in &program.locations {
            // What is local lies in shared memory, which the models of PTX treat as any other.
            out += &format!(" {} = {};", location.name, initial(program, location.initial));
        }
        for thread in &program.threads {
            for (name, &value) in thread.registers.iter().zip(&thread.initial) {
                if value != Operand::Const(0) {
                    out += &format!(" P{}:{name} = {};", thread.id, initial(program, value));
                }
            }
        }
        out += &format!(" }}\n{}", columns(&threads?));
        if let Some(filter) = &litmus.filter {
            out += &format!("filter ({})\n", crate::program::DisplayCond(litmus, filter));
        }
        match litmus.question() {
            Some(question) => out += &format!("{question}\n"),
            None => {
                let names: Vec<String> =
                    litmus.locations.iter().map(|&v| litmus.observable_name(v)).collect();
                out += &format!("locations [{}]\n", names.join("; "));
            }
        }
        Ok(out)
    }

    /// The column of a thread.
    fn thread(&self, thread: &Thread) -> Result<Vec<String>, Missing> {
        let place = thread.placement;
        let cluster = place.cluster.map_or(String::new(), |n| format!("cluster {n},"));
        let mut out = vec![format!("P{}@cta {},{cluster}gpu {}", thread.id, place.cta, place.gpu)];
        let labels: Vec<(usize, &str)> = thread
            .code
            .iter()
            .filter_map(|i| match i.op {
                Op::Branch { target, .. } | Op::Goto { target } => {
                    Some((target, i.text.rsplit([' ', ',']).next()?))
                }
                _ => None,
            })
            .collect();
        for at in 0..=thread.code.len() {
            let mut here: Vec<&str> =
                labels.iter().filter(|(target, _)| *target == at).map(|l| l.1).collect();
            here.dedup();
            out.extend(here.into_iter().map(|label| format!("{label}:")));
            if let Some(instruction) = thread.code.get(at) {
                self.instruction(&instruction.op, &instruction.text, &mut out)?;
            }
        }
        Ok(out)
    }

    fn instruction(&self, op: &Op, text: &str, out: &mut Vec<String>) -> Result<(), Missing> {
        let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
        let of = |access: &Access| (access.order, access.scope);
        let (operation, (order, scope)) = match op {
            Op::Load { access, .. } => (Operation::Load, of(access)),
            Op::Store { access, .. } => (Operation::Store, of(access)),
            Op::Rmw { access, ops, .. } if matches!(ops[..], [RmwOp::Cas(..)]) => {
                (Operation::Cas, of(access))
            }
            Op::Rmw { access, .. } => (Operation::Rmw, of(access)),
            Op::Fence { order, scope, .. } => (Operation::Fence, (*order, *scope)),
            Op::Bar { .. } => {
                // It orders all memory.
                out.push("bar.cta.sync 0".to_owned());
                return Ok(());
            }
            _ => {
                out.push(text.to_owned());
                return Ok(());
            }
        };
        // No scope of PTX is a thread alone.
        if order != MemOrder::Weak && scope.is_none() {
            return Err(Missing(text.to_owned()));
        }
        let row = |wanted| self.rows.iter().find(|row| (row.0, row.1) == (wanted, order));
        // Where it has no line of its own, compare and exchange is an atomic as others are.
        let row = row(operation).or_else(|| row(Operation::Rmw).filter(|_| operation == Operation::Cas));
        let row = row.ok_or_else(|| Missing(text.to_owned()))?;
        // An atomic computes what its name says.
        let compute = match opcode.split('.').next().unwrap_or("") {
            "exchange" => ".exch",
            "compare_exchange" => ".cas",
            name => name.strip_prefix("fetch_").map_or("", |_| &name["fetch".len()..]),
        };
        for instruction in &row.2 {
            let instruction = instruction.replace('$', scope.map_or("sys", Scope::text));
            out.push(match operation {
                _ if instruction.starts_with("fence") => instruction,
                Operation::Rmw | Operation::Cas => {
                    format!("{instruction}{} {operands}", compute.replace('_', "."))
                }
                _ => format!("{instruction} {operands}"),
            });
        }
        Ok(())
    }
}

/// Whether the language has the operation with this order.
fn exists(operation: Operation, order: MemOrder) -> bool {
    use MemOrder::{AcqRel, Acquire, Relaxed, Release, Sc, Weak};
    match operation {
        Operation::Load => matches!(order, Weak | Relaxed | Acquire | Sc),
        Operation::Store => matches!(order, Weak | Relaxed | Release | Sc),
        Operation::Rmw | Operation::Cas => order != Weak,
        Operation::Fence => matches!(order, Acquire | Release | AcqRel | Sc),
    }
}

/// Whether it is an instruction of PTX: it is read as one, with some scope and operands.
fn is_instruction(text: &str, operation: Operation) -> bool {
    let operands = match (operation, text.split('.').next()) {
        (_, Some("fence")) => "",
        (Operation::Load, Some("ld")) => " r0, x",
        (Operation::Store, Some("st")) => " x, 1",
        (Operation::Rmw | Operation::Cas, Some("atom")) => ".exch r0, x, 1",
        _ => return false,
    };
    let one = text.replace('$', "gpu");
    let word = one.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':'));
    word && parse(&format!("PTX t\n{{ x=0; }}\n P0@cta 0,gpu 0 ;\n {one}{operands} ;\nexists (x == 0)\n"))
        .is_ok()
}

fn initial(program: &Program, value: Operand) -> String {
    match value {
        Operand::Const(value) => value.to_string(),
        Operand::Address(location) => {
            let name = program.locations.get(usize::from(location.0)).map_or("?", |l| l.name.as_str());
            format!("&{name}")
        }
        Operand::Reg(_) => "0".to_owned(),
    }
}

/// What a mapping does to a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Soundness {
    /// What is compiled does nothing that the source may not do.
    Kept,
    /// What the source forbids the compiled test allows: it, in PTX.
    Broken(String),
    /// The source has a data race, and may do anything.
    Racy,
    /// It has an operation that is not in the table.
    Missing,
    /// A limit left a verdict unknown.
    Unknown,
}

/// Judges the test of a cycle under the source's model, and as it is compiled under PTX's.
pub fn soundness(mapping: &Mapping, cycle: &Cycle, source: &Options, target: &Options) -> Soundness {
    match cycle.source().map(|text| parse(&text)) {
        Ok(Ok(litmus)) => judged(mapping, &litmus, source, target),
        _ => Soundness::Missing,
    }
}

/// The same for a test that is written.
pub fn judged(mapping: &Mapping, litmus: &Litmus, source: &Options, target: &Options) -> Soundness {
    let Ok(text) = mapping.compile(litmus) else { return Soundness::Missing };
    let Ok(compiled) = parse(&text) else { return Soundness::Unknown };
    // What is compiled has more executions only if it shows what no execution of the source does.
    let bad = |verdict: &str| matches!(verdict, "allowed" | "not always");
    match check(&compiled, target).verdict {
        "unknown" | "undefined" => return Soundness::Unknown,
        verdict if !bad(verdict) => return Soundness::Kept,
        _ => {}
    }
    match check(litmus, source).verdict {
        "unknown" | "undefined" => return Soundness::Unknown,
        verdict if bad(verdict) => return Soundness::Kept,
        _ => {}
    }
    match check(litmus, &Options { property: Property::Races, ..source.clone() }).verdict {
        "racy" => Soundness::Racy,
        "race-free" => Soundness::Broken(text),
        _ => Soundness::Unknown,
    }
}
