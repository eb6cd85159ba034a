//! The instruction table: which opcodes, modifiers and operands are legal, and since when.
//!
//! [`rows`] holds one row per form, in the notation of the manual; [`notation`] reads them,
//! [`matcher`] fits modifiers into them, [`expect`] and [`check`] do the same for operands.
//! A list of modifiers is resolved once, however often it occurs; operands are checked per
//! instruction against what that left, without allocating when they fit.
//!
//! # Invariants
//! * Every row parses and every opcode has rows (tests).
//! * What is refused is reported with the place, and with what would be accepted.
//! * Where the manual and ptxas differ, ptxas is followed.

use crate::diagnostic::Diagnostic;
use crate::module::{Op, Operand, RegId, VarId};
use crate::report;
use crate::span::Span;
use isa::Opcode;
use isa::{ScalarType, StateSpace};

mod check;
mod compiled;
mod context;
mod counts;
pub(crate) mod effects;
mod expect;
pub(crate) mod form;
mod instances;
mod matcher;
mod messages;
mod model;
mod need;
mod notation;
mod operand_messages;
mod resolve;
mod role;
mod rows;
mod special;
mod words;

pub(crate) use context::Context;
pub use effects::{Effects, Work};
pub use form::{Form, Minimum, forms};
pub use role::{OperandKind, OperandRole};

/// An opcode with its modifiers, and the rows that they fit.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// The op; its form is that of the first row that fits.
    pub(crate) op: Op,
    /// The rows that the modifiers fit, those that the module may use first; never empty.
    candidates: Vec<resolve::Candidate>,
}

/// The operands of one instruction and what is needed to know their types.
pub(crate) struct OperandView<'a> {
    /// The operands, destination first.
    pub(crate) operands: &'a [Operand],
    /// Where each of `operands` is.
    pub(crate) spans: &'a [Span],
    /// Positions in `operands` of sums, with the registers that will hold them.
    pub(crate) computed: &'a [(u32, Operand)],
    /// The body's operand pool, for the elements of vectors and pairs.
    pub(crate) pool: &'a [Operand],
    /// The type of a register.
    pub(crate) register_type: &'a dyn Fn(RegId) -> ScalarType,
    /// State space and element type of a variable.
    pub(crate) variable: &'a dyn Fn(VarId) -> (StateSpace, ScalarType),
    /// The whole instruction.
    pub(crate) span: Span,
}

/// Resolves an opcode word and its modifiers (`words`, without dots).
///
/// Reports unknown words, combinations that no row has, and a module that is too old or for
/// another target; `None` if no row fits.
pub(crate) fn resolve_op(
    context: &Context,
    opcode: (&str, Span),
    words: &[(&str, Span)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Resolved> {
    let Some(code) = Opcode::from_text(opcode.0) else {
        let brief = diagnostics.len() >= report::LIMIT;
        diagnostics.push(messages::unknown_opcode(opcode, brief));
        return None;
    };
    resolve::resolve(context, code, opcode.1, words, diagnostics)
}

/// Checks the operands of one instruction; returns the row that fits, and what the instruction does.
pub(crate) fn check_operands(
    context: &Context,
    resolved: &Resolved,
    view: &OperandView<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Form, Effects)> {
    resolve::check(context, resolved, view, diagnostics)
}
