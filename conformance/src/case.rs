//! One instruction to compare, and the registers that it reads and writes.

use ptx_frontend::{Form, ScalarType};

use crate::numbers::seed;

/// Operand tuples of a case at least. Arithmetic on floats has eight times as many; one source of 16 bits
/// takes all its 65,536 values.
pub const TUPLES: usize = 32_768;
/// Operand tuples of a case with constants.
const FEW: usize = 256;
/// `.version` of the kernels.
pub const PTX_VERSION: &str = "9.0";
/// `.target` of the kernels.
pub const TARGET: &str = "sm_90";

/// How the threads of a case work together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Not at all.
    Lane,
    /// The active threads of a warp, which are not always all.
    Warp,
    /// All threads of a warp hold parts of matrices.
    Matrix,
}

/// A register of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    /// Its name, such as `%r1`.
    pub(crate) name: String,
    /// The type of its value, or of an element of its matrix.
    pub(crate) ty: ScalarType,
    /// Bytes of the register and of its value in memory; 1 for a predicate.
    pub(crate) bytes: usize,
    /// What values it takes.
    pub(crate) role: Role,
}

/// What values a source takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Any.
    Value,
    /// Whether the thread takes part.
    Guard,
    /// The carry flag.
    Carry,
    /// Part of a matrix; the type is that of its elements.
    Fragment,
    /// Which elements a sparse matrix has.
    Metadata,
}

impl Register {
    /// Its class in a `.reg` directive.
    pub(crate) fn class(&self) -> String {
        if self.ty == ScalarType::Pred { "pred".into() } else { format!("b{}", 8 * self.bytes) }
    }
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The form.
    pub form: Form,
    /// The instruction; operand `n` is register number `n`. Identifies the case.
    pub text: String,
    /// How threads work together.
    pub class: Class,
    /// Written registers in order.
    pub(crate) results: Vec<Register>,
    /// Read ones in order, each in a column of the input.
    pub(crate) sources: Vec<Register>,
    /// Has few tuples.
    pub(crate) few: bool,
}

impl Case {
    /// Number of operand tuples, a thread each.
    pub fn tuples(&self) -> usize {
        match self.form.group() {
            _ if self.few => FEW,
            _ if self.exhaustive() => 2 * TUPLES,
            // Where rounding decides.
            "float" | "half" => 8 * TUPLES,
            _ => TUPLES,
        }
    }

    /// Whether all values of its only source are tried.
    pub(crate) fn exhaustive(&self) -> bool {
        !self.few && matches!(&self.sources[..], [only] if only.bytes == 2 && self.class == Class::Lane)
    }

    /// Whether the carry flag is read or written.
    pub(crate) fn carries(&self) -> bool {
        self.sources.iter().any(|source| source.role == Role::Carry)
    }

    /// What identifies the case in a recording and seeds its operands.
    pub(crate) fn key(&self) -> u64 {
        seed(&self.text)
    }
}
