//! The modifiers of PTX arithmetic as plain enumerations.
//!
//! They are ordinary arguments, not type parameters: every arithmetic function is inlined, so a
//! caller that passes a literal gets the specialised code.

pub use isa::{IntRounding, Rounding};

/// Comparison of floating-point values (manual 9.7.6.1): the ordered forms are false and the
/// unordered forms (trailing `u`) true as soon as one operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatCmp {
    /// Ordered equal.
    Eq,
    /// Ordered not equal.
    Ne,
    /// Ordered less.
    Lt,
    /// Ordered less or equal.
    Le,
    /// Ordered greater.
    Gt,
    /// Ordered greater or equal.
    Ge,
    /// Unordered or equal.
    Equ,
    /// Unordered or not equal.
    Neu,
    /// Unordered or less.
    Ltu,
    /// Unordered or less or equal.
    Leu,
    /// Unordered or greater.
    Gtu,
    /// Unordered or greater or equal.
    Geu,
    /// Both operands are numbers.
    Num,
    /// At least one operand is NaN.
    Nan,
}

impl FloatCmp {
    /// All fourteen comparisons.
    pub const ALL: [FloatCmp; 14] = [
        FloatCmp::Eq,
        FloatCmp::Ne,
        FloatCmp::Lt,
        FloatCmp::Le,
        FloatCmp::Gt,
        FloatCmp::Ge,
        FloatCmp::Equ,
        FloatCmp::Neu,
        FloatCmp::Ltu,
        FloatCmp::Leu,
        FloatCmp::Gtu,
        FloatCmp::Geu,
        FloatCmp::Num,
        FloatCmp::Nan,
    ];

    /// The result from the three primitive relations; `unordered` excludes the other two.
    #[inline(always)]
    pub(super) fn decide(self, less: bool, equal: bool, unordered: bool) -> bool {
        match self {
            FloatCmp::Eq => equal,
            FloatCmp::Ne => !equal & !unordered,
            FloatCmp::Lt => less,
            FloatCmp::Le => less | equal,
            FloatCmp::Gt => !less & !equal & !unordered,
            FloatCmp::Ge => !less & !unordered,
            FloatCmp::Equ => equal | unordered,
            FloatCmp::Neu => !equal,
            FloatCmp::Ltu => less | unordered,
            FloatCmp::Leu => less | equal | unordered,
            FloatCmp::Gtu => !less & !equal,
            FloatCmp::Geu => !less,
            FloatCmp::Num => !unordered,
            FloatCmp::Nan => unordered,
        }
    }
}

/// Comparison of integers. PTX `lo`, `ls`, `hi`, `hs` are [`IntCmp::Lt`], [`IntCmp::Le`],
/// [`IntCmp::Gt`], [`IntCmp::Ge`] on an unsigned type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntCmp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl IntCmp {
    /// All six comparisons.
    pub const ALL: [IntCmp; 6] = [IntCmp::Eq, IntCmp::Ne, IntCmp::Lt, IntCmp::Le, IntCmp::Gt, IntCmp::Ge];

    /// Applies the comparison to two values of one ordered type.
    #[inline(always)]
    pub fn apply<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            IntCmp::Eq => a == b,
            IntCmp::Ne => a != b,
            IntCmp::Lt => a < b,
            IntCmp::Le => a <= b,
            IntCmp::Gt => a > b,
            IntCmp::Ge => a >= b,
        }
    }
}

/// The property that `testp` asks for (manual 9.7.3.1). Zeros count as normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TestP {
    /// Neither infinite nor NaN.
    Finite,
    /// An infinity of either sign.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Neither NaN, infinite nor subnormal; zeros included.
    Normal,
    /// Subnormal, zero excluded.
    Subnormal,
}

/// What an out-of-range amount or width does: PTX `.clamp` or `.wrap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The value is limited to the register width.
    Clamp,
    /// The value is taken modulo the register width.
    Wrap,
}
