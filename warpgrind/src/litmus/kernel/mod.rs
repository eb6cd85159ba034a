//! Real PTX kernels as litmus tests: a `.ptx` file with a header of `//@` comments ([`header`]).
//!
//! A kernel becomes a test in the dialect of `.litmus` files, one `column` a thread, which the crate
//! `memory-model` reads as any other; instructions keep their lines and texts in the PTX file. What is the same
//! in every execution (parameters, positions in the grid, addresses) is computed here ([`values`]), branches
//! that depend on it are followed, and code that a thread does not reach is left out. Shared variables are
//! locations of their own for each block. What has no counterpart ([`memory`], [`sync`]) is refused by name.

mod column;
mod header;
mod memory;
mod sync;
#[cfg(test)]
mod tests;
mod values;

use std::fmt::Write as _;

use memory_model::litmus::Code as LitmusCode;
use memory_model::{Litmus, parse};
use ptx_frontend::{Code, Diagnostic, Function, Module, Source, Span, StateSpace, VarId};

use column::{Column, Line, Place};
use header::Header;

type Translated<T> = Result<T, Box<Diagnostic>>;

/// Threads that are explored at most.
const MAX_THREADS: u32 = 64;

/// Whether a text has the header of a litmus test.
pub fn is_test(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("//@ litmus"))
}

/// An error of the test's header or of its translation.
fn error(span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Code(LitmusCode::Kernel.as_str()), span, message))
}

/// The same with help.
fn helped(span: Span, message: String, help: &str) -> Box<Diagnostic> {
    Box::new(error(span, message).help(help))
}

/// Translates a kernel; `module` is what the front end made of `source`.
///
/// # Errors
/// The header is wrong, or an instruction has no counterpart: the code `L009` with the place in the text.
pub fn translate(source: &Source, module: &Module) -> Result<Litmus, Vec<Diagnostic>> {
    let header = Header::read(source).map_err(|wrong| vec![*wrong])?;
    translate_with(source, module, &header).map_err(|wrong| vec![*wrong])
}

fn translate_with(source: &Source, module: &Module, header: &Header) -> Translated<Litmus> {
    let start = Span::new(0, source.text.lines().next().map_or(0, str::len) as u32);
    let mut kernels = module.kernels().map(|(_, function)| function);
    let kernel = match &header.kernel {
        Some(name) => kernels.find(|function| *function.name == **name),
        None => kernels.next(),
    };
    let kernel = kernel.ok_or_else(|| error(start, "there is no such kernel"))?;
    let Some(body) = &kernel.body else { return Err(error(kernel.span, "the kernel has no body")) };
    if kernel.params.len() != header.arguments.len() {
        let message = format!(
            "the kernel has {} parameters, the header gives {} arguments",
            kernel.params.len(),
            header.arguments.len()
        );
        return Err(helped(kernel.span, message, "a line `//@ arg VALUE` or `//@ arg &LOCATION` for each"));
    }
    let threads = header.threads();
    if threads > MAX_THREADS {
        return Err(error(start, format!("{threads} threads: at most {MAX_THREADS} are explored")));
    }
    let places: Vec<Vec<Place>> =
        (0..header.grid).map(|block| places(module, kernel, header, block)).collect();
    let (mut columns, mut restricted, mut global) = (Vec::new(), None, None);
    for thread in 0..threads {
        let position = header.position(thread);
        let mut column = Column::new(module, kernel, body, header, position, &places[position.0 as usize]);
        column.write()?;
        restricted = restricted.or(column.restricted);
        global = global.or(column.global);
        columns.push(column.lines);
    }
    if let (Some(fence), Some(_)) = (restricted, global) {
        let message = "a fence that orders shared memory only, in a test that accesses other memory";
        return Err(error(fence, message));
    }
    let shared: Vec<&Place> = places.iter().flatten().filter(|place| place.shared.is_some()).collect();
    let text = dialect(header, kernel, &shared, &columns)?;
    let mut litmus = parse(&text).map_err(|errors| {
        let wrong = errors.first().map_or_else(String::new, |e| e.message.clone());
        let span = header.question.first().map_or(start, |q| q.1);
        error(span, format!("the test made of the kernel is not well formed: {wrong}"))
    })?;
    column::restore(&mut litmus, &columns, source, kernel);
    Ok(litmus)
}

/// The locations that threads of a block see: those of the header, and the shared variables.
fn places(module: &Module, kernel: &Function, header: &Header, block: u32) -> Vec<Place> {
    let declared = header.locations.iter().map(|(name, _)| Place { name: name.clone(), shared: None });
    let variables = (0..).map(VarId).zip(&module.variables).filter(|(_, v)| v.space == StateSpace::Shared);
    let elsewhere = |id: &VarId| module.functions.iter().any(|f| f.variables.contains(id));
    let own = variables.filter(|(id, _)| kernel.variables.contains(id) || !elsewhere(id));
    let shared = own.map(|(id, variable)| {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = variable.name.chars().map(plain).collect();
        Place { name: format!("shared{}_{name}_{block}", id.0), shared: Some(id) }
    });
    declared.chain(shared).collect()
}

/// The test as text.
fn dialect(
    header: &Header,
    kernel: &Function,
    shared: &[&Place],
    columns: &[Vec<Line>],
) -> Translated<String> {
    let mut out = format!("PTX {}\n{{\n", header.name);
    for (_, declaration) in &header.locations {
        let _ = writeln!(out, "{declaration};");
    }
    for place in shared {
        let _ = writeln!(out, "{} = 0;", place.name);
    }
    out.push_str("}\n");
    let places: Vec<String> = (0..columns.len() as u32)
        .map(|thread| {
            let block = thread / header.block;
            let cluster = header.cluster.map_or(String::new(), |size| format!("cluster {}, ", block / size));
            format!("P{thread}@cta {block}, {cluster}gpu 0")
        })
        .collect();
    let _ = writeln!(out, "{} ;", places.join(" | "));
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        let cells: Vec<&str> =
            columns.iter().map(|c| c.get(row).map_or("", |line| line.text.as_str())).collect();
        let _ = writeln!(out, "{} ;", cells.join(" | "));
    }
    for (question, span) in &header.question {
        let _ = writeln!(out, "{}", with_registers(question, *span, kernel)?);
    }
    Ok(out)
}

/// A condition with `1:%r3` written as the dialect has it.
fn with_registers(text: &str, span: Span, kernel: &Function) -> Translated<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(":%") {
        let after = &rest[at + 1..];
        let end = after[1..]
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
            .map_or(after.len(), |n| n + 1);
        let name = &after[..end];
        let found = kernel.registers.iter().position(|register| *register.name == *name);
        let found = found.ok_or_else(|| error(span, format!("the kernel has no register `{name}`")))?;
        out.push_str(&rest[..at + 1]);
        let _ = write!(out, "r{}", 2 * found);
        rest = &after[end..];
    }
    out.push_str(rest);
    Ok(out)
}
