//! Real PTX kernels as litmus tests: a `.ptx` file with a header of `//@` comments (`header`).
//!
//! A kernel becomes a test, one `column` a thread; instructions keep their lines and texts in the PTX file. The header's
//! declarations and questions are written in the language of `.litmus` files, which the crate `memory-model` reads. What is the same
//! in every execution (parameters, positions in the grid, addresses) is computed here (`values`), branches
//! that depend on it are followed, and code that a thread does not reach is left out. Shared variables are
//! locations of their own for each block. What has no counterpart (`memory`, `sync`) is refused by name.

mod column;
mod header;
mod known;
mod memory;
mod sync;
#[cfg(test)]
mod tests;
mod values;

use std::fmt::Write as _;

use memory_model::litmus::Code as LitmusCode;
use memory_model::program::LocId;
use memory_model::{Litmus, parse};
use ptx_frontend::{Code, Diagnostic, Function, Module, Source, Span, StateSpace, VarId};

use column::{Column, Place, Register};
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
    let mut places: Vec<Vec<Place>> =
        (0..header.grid).map(|block| places(module, kernel, header, block)).collect();
    let question = header.question.first().map_or(start, |question| question.1);
    let read = |shared: &[String], registers: &[Vec<Register>], questions: &[String]| {
        parse(&frame(header, shared, registers, questions)).map_err(|errors| {
            let wrong = errors.first().map_or_else(String::new, |error| error.message.clone());
            error(question, format!("the test made of the kernel is not well formed: {wrong}"))
        })
    };
    let shared: Vec<String> = places
        .iter()
        .flatten()
        .filter(|place| place.shared.is_some())
        .map(|place| place.name.clone())
        .collect();
    // First which location each is.
    let locations = read(&shared, &[], &[])?.program.locations;
    for place in places.iter_mut().flatten() {
        let at = locations.iter().position(|location| location.name == place.name);
        let at = at.ok_or_else(|| error(question, format!("`{}` is no location", place.name)))?;
        place.id = LocId(at as u16);
    }
    let (mut code, mut registers, mut restricted, mut global) = (Vec::new(), Vec::new(), None, None);
    for thread in 0..threads {
        let position = header.position(thread);
        let places = &places[position.0 as usize];
        let mut column = Column::new(module, kernel, body, header, source, position, places);
        column.write()?;
        restricted = restricted.or(column.restricted);
        global = global.or(column.global);
        code.push(column.code);
        registers.push(column.registers);
    }
    if let (Some(fence), Some(_)) = (restricted, global) {
        let message = "a fence that orders shared memory only, in a test that accesses other memory";
        return Err(error(fence, message));
    }
    let questions = header.question.iter().map(|(text, span)| with_registers(text, *span, kernel));
    let mut litmus = read(&shared, &registers, &questions.collect::<Translated<Vec<_>>>()?)?;
    for ((thread, code), registers) in litmus.program.threads.iter_mut().zip(code).zip(registers) {
        thread.code = code;
        thread.registers = registers.into_iter().map(|register| register.name_in(kernel)).collect();
    }
    Ok(litmus)
}

/// The locations that threads of a block see: those of the header, and the shared variables.
fn places(module: &Module, kernel: &Function, header: &Header, block: u32) -> Vec<Place> {
    let declared =
        header.locations.iter().map(|(name, _)| Place { name: name.clone(), shared: None, id: LocId(0) });
    let variables = (0..).map(VarId).zip(&module.variables).filter(|(_, v)| v.space == StateSpace::Shared);
    let elsewhere = |id: &VarId| module.functions.iter().any(|f| f.variables.contains(id));
    let own = variables.filter(|(id, _)| kernel.variables.contains(id) || !elsewhere(id));
    let shared = own.map(|(id, variable)| {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = variable.name.chars().map(plain).collect();
        Place { name: format!("shared{}_{name}_{block}", id.0), shared: Some(id), id: LocId(0) }
    });
    declared.chain(shared).collect()
}

/// What the header says of the test, in the language of `.litmus` files: locations, threads with the registers that they
/// use, and questions. The threads have no instructions.
fn frame(header: &Header, shared: &[String], registers: &[Vec<Register>], questions: &[String]) -> String {
    let mut out = format!("PTX {}\n{{\n", header.name);
    for (_, declaration) in &header.locations {
        let _ = writeln!(out, "{declaration};");
    }
    for name in shared {
        let _ = writeln!(out, "{name} = 0;");
    }
    for (thread, registers) in registers.iter().enumerate() {
        for register in registers {
            let _ = writeln!(out, "{thread}:{} = 0;", register.name());
        }
    }
    out.push_str("}\n");
    let threads: Vec<String> = (0..header.threads())
        .map(|thread| {
            let block = thread / header.block;
            let cluster = header.cluster.map_or(String::new(), |size| format!("cluster {}, ", block / size));
            format!("P{thread}@cta {block}, {cluster}gpu 0")
        })
        .collect();
    let _ = writeln!(out, "{} ;", threads.join(" | "));
    for question in questions {
        let _ = writeln!(out, "{question}");
    }
    out
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
