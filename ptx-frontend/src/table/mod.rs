//! The instruction table: which opcodes, modifiers and operands are legal, and since when.

use smallvec::SmallVec;

use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Op, Operand, PtxVersion, RegId, Target, VarId};
use crate::opcode::{Modifier, Opcode};
use crate::span::Span;
use crate::types::{ScalarType, StateSpace};

/// A row of the instruction table (index).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Form(pub u16);

/// What the module's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "read once rows are matched")]
pub(crate) struct Context {
    /// `.version`
    pub(crate) version: PtxVersion,
    /// `.target`
    pub(crate) target: Target,
    /// `.address_size`: 32 or 64.
    pub(crate) address_size: u32,
}

/// An opcode with its modifiers, and the rows that they fit.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "read by the parser")]
pub(crate) struct Resolved {
    /// The op; its form is that of the first row that fits.
    pub(crate) op: Op,
}

/// The operands of one instruction and what is needed to know their types.
#[allow(dead_code, reason = "read once operands are matched")]
pub(crate) struct OperandView<'a> {
    /// The operands, destination first.
    pub(crate) operands: &'a [Operand],
    /// Where each of `operands` is.
    pub(crate) spans: &'a [Span],
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
/// Reports unknown words; `None` if no row fits.
#[allow(dead_code, reason = "called by the parser")]
pub(crate) fn resolve_op(
    context: &Context,
    opcode: (&str, Span),
    words: &[(&str, Span)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Resolved> {
    let _ = context;
    let Some(code) = Opcode::from_text(opcode.0) else {
        diagnostics.push(
            Diagnostic::error(Code("E0401"), opcode.1, format!("unknown instruction `{}`", opcode.0))
                .caption("not an instruction of PTX"),
        );
        return None;
    };
    let mut modifiers = SmallVec::<[Modifier; 6]>::new();
    let before = diagnostics.len();
    for &(word, span) in words {
        match Modifier::from_text(word) {
            Some(modifier) => modifiers.push(modifier),
            None => diagnostics.push(Diagnostic::error(
                Code("E0402"),
                span,
                format!("unknown modifier `.{word}`"),
            )),
        }
    }
    (diagnostics.len() == before).then_some(Resolved { op: Op { opcode: code, modifiers, form: Form(0) } })
}

/// Checks the operands of one instruction; returns the row that fits.
#[allow(dead_code, reason = "called by the parser")]
pub(crate) fn check_operands(
    context: &Context,
    resolved: &Resolved,
    view: &OperandView<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Form> {
    let _ = (context, view, diagnostics);
    Some(resolved.op.form)
}
