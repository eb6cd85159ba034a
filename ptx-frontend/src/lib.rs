//! PTX text to a checked, typed [`Module`].
//!
//! The way of a text: [`Source`] → lexer → tokens → nom → statements → resolved and checked against
//! the instruction table → [`Module`] plus *all* [`Diagnostic`]s. That is [`parse`].
//!
//! [`link`] joins modules by name, [`Module::to_ptx`] writes one as text again, [`render`] shows
//! diagnostics in rustc's manner, [`codes`] explains them.
//!
//! # Invariants
//! * No bytes make it panic, hang or overflow the stack.
//! * A module without error diagnostics is consistent: ids are in range, operands fit their forms,
//!   layouts are set. Nothing downstream needs to check again.
//!
//! # What it must not know
//! Execution, terminals, files: it does no I/O and knows no device but the targets that the manual names.
#![forbid(unsafe_code)]

pub mod codes;
mod device_runtime;
mod diagnostic;
mod lexer;
mod link;
mod module;
mod number;
mod parser;
mod print;
#[cfg(feature = "render")]
pub mod render;
mod report;
mod span;
mod table;
mod target;

pub use device_runtime::{DEVICE_RUNTIME, add_device_runtime};
pub use diagnostic::{Code, Diagnostic, Elsewhere, Label, Severity};
pub use isa::{
    CmpOp, Component, IntRounding, MemOrder, Modifier, Modifiers, Opcode, Rounding, ScalarType, Scope,
    SpecialRegister, StateSpace, TypeClass,
};
pub use link::{LinkError, define_externs, is_device_runtime, link};
pub use module::*;
pub use span::{Source, SourceId, Span};
pub use table::{Effects, Form, Minimum, OperandKind, OperandRole, Work, forms};
pub use target::{PtxVersion, Target, TargetKind};

/// What [`parse`] found.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The module; `None` when there is at least one error.
    pub module: Option<Module>,
    /// Everything there is to say, in order of the text: at most a hundred errors and a hundred warnings,
    /// then a last one that counts the rest.
    pub diagnostics: Vec<Diagnostic>,
    /// The text, for rendering.
    pub source: Source,
}

/// Parses, resolves and checks one PTX text.
///
/// ```
/// let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }";
/// let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into()));
/// let module = parsed.module.expect("no errors");
/// assert!(module.kernel("k").is_some());
/// ```
pub fn parse(source: Source) -> Parsed {
    parser::parse(source)
}
