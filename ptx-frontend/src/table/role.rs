//! What the operands of a form are.

use isa::{ScalarType, StateSpace};

/// What an operand is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OperandRole {
    /// Written: a register.
    Destination,
    /// Read: a register, or a constant unless `register_only`.
    Source {
        /// Constants are refused.
        register_only: bool,
    },
    /// Read: a constant from this range (inclusive).
    Constant {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// An address in this space.
    Address(StateSpace),
    /// An address in tensor memory: a 32-bit register in brackets.
    TensorAddress,
    /// Several in brackets: a tensor map or texture and its coordinates.
    List(Vec<OperandKind>),
    /// A texture, sampler or surface: the type says which.
    Handle,
    /// A label.
    Label,
    /// A `.branchtargets` list.
    BranchTargets,
    /// What `call` calls.
    Callee,
    /// Arguments or return values of `call`.
    Arguments,
    /// A `.callprototype` or `.calltargets`.
    Prototype,
    /// `_`
    Sink,
}

/// One operand of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperandKind {
    /// Its name in the notation.
    pub name: &'static str,
    /// What it is for.
    pub role: OperandRole,
    /// The type of the value, or of each element.
    pub ty: ScalarType,
    /// Elements of a vector in braces; 0 for a scalar.
    pub elements: u32,
    /// The second destination of `d|p`, when it must be there.
    pub paired: bool,
    /// `d|p` may stand in its place, or must.
    pub pairable: bool,
    /// `!` may stand before it.
    pub negatable: bool,
    /// A selector of bytes or halves such as `.b0` may follow (video instructions).
    pub selectable: bool,
    /// Its register may be wider than its type.
    pub wider: bool,
    /// Instead of a register it is a vector of equal parts of one (`mov`).
    pub packed: bool,
}
