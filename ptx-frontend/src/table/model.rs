//! What [`super::notation`] makes of a row.

use smallvec::SmallVec;

use isa::Modifier;
use isa::{ScalarType, StateSpace};

use super::need::Need;

/// One modifier of a slot.
#[derive(Clone, Debug)]
pub(super) struct Alternative {
    pub(super) modifier: Modifier,
    pub(super) need: Option<Need>,
}

/// A place for one modifier.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) alternatives: SmallVec<[Alternative; 2]>,
    /// The optional group it belongs to; `None` when it must be there.
    pub(super) group: Option<u8>,
}

/// One flat sequence of slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Variant {
    pub(super) slots: Vec<Slot>,
    /// For each optional group the group around it.
    pub(super) parents: Vec<Option<u8>>,
    /// How many leading slots belong to the opcode word.
    pub(super) anchored: usize,
}

/// How many elements an operand has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
    /// A scalar.
    One,
    /// A vector of this many.
    Fixed(u16),
    /// By `.v2`, `.v4`, `.v8`; scalar without.
    Vector,
    /// By `.x1` to `.x128` and the shape beside it.
    Number,
    /// By `.1d` to `.5d` and the mode of the copy.
    Dimension,
    /// Offsets of an im2col copy.
    Im2col,
    /// Coordinates of a texture or surface geometry.
    Geometry,
    /// Gradients of a texture geometry.
    Gradient,
    /// Offsets of a texture geometry.
    Offset,
    /// Lane masks of `tcgen05.mma`, by CTA group.
    Lanes,
}

/// What type an operand has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TypeRule {
    /// The n-th type modifier (from 0).
    Nth(u8),
    /// Twice as wide as the n-th type modifier.
    Wide(u8),
    /// This one.
    Fixed(ScalarType),
    /// `.u32` or `.u64`, by `.address_size`.
    Address,
    /// A fragment of matrix `A` to `D`: type and count follow from shape and types.
    Fragment(u8),
    /// As the first type, or a vector of equal parts of it.
    Pack,
}

/// Which state space an address is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpaceRule {
    /// The n-th space modifier (from 0), generic without.
    Nth(u8),
    /// This one.
    Fixed(StateSpace),
    /// Tensor memory: a 32-bit register.
    Tensor,
}

/// The general form of an operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Register, constant or vector.
    Value,
    /// `d|p`; `optional`: or just `d`; `sink`: `_` for `p`.
    Pair { optional: bool, sink: bool },
    /// Constant within the range, or one of the list when that is not empty.
    Constant { low: i64, high: i64, list: Vec<i64> },
    /// `[a]`; `sized`: the base register has the address size.
    Address { space: SpaceRule, sized: bool },
    /// `[a, b, {c}]`.
    List(Vec<OperandSpec>),
    /// A texture, sampler or surface: handle in a register, or a variable of this type.
    Handle(ScalarType),
    /// A label.
    Label,
    /// A `.branchtargets` list.
    Targets,
    /// What `call` calls.
    Callee,
    /// A list of arguments of `call`.
    Arguments,
    /// A `.callprototype` or `.calltargets`.
    Prototype,
    /// `_` only.
    Sink,
}

/// What an operand may be beyond its type.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Flags {
    pub(super) destination: bool,
    pub(super) register_only: bool,
    pub(super) negatable: bool,
    pub(super) wider: bool,
    pub(super) sink: bool,
    pub(super) special: bool,
    pub(super) symbol: bool,
    /// The symbol is in the space that the instruction names, else in `.shared`.
    pub(super) own_space: bool,
    pub(super) part: bool,
}

/// One operand of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OperandSpec {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) ty: TypeRule,
    pub(super) count: Count,
    pub(super) flags: Flags,
    /// What a constant in its place must be.
    pub(super) limit: Limit,
}

/// The constants that an operand admits beside registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limit {
    pub(super) low: i64,
    pub(super) high: i64,
    /// They are multiples of this.
    pub(super) multiple: i64,
}

impl Limit {
    /// All constants.
    pub(super) const NONE: Self = Self { low: i64::MIN, high: i64::MAX, multiple: 1 };

    /// Whether the constant is admitted.
    pub(super) fn admits(self, value: i64) -> bool {
        (self.low..=self.high).contains(&value) && value % self.multiple == 0
    }
}

/// One list of operands, all present.
#[derive(Clone, Debug, Default)]
pub(super) struct Signature {
    pub(super) operands: Vec<OperandSpec>,
    /// Modifiers that must be there (`true`) or must not.
    pub(super) conditions: Vec<(Modifier, bool)>,
    /// What its optional operands need beyond the row.
    pub(super) needs: Vec<Need>,
}

/// A parsed row.
#[derive(Clone, Debug)]
pub(super) struct Notation {
    pub(super) variants: Vec<Variant>,
    pub(super) signatures: Vec<Signature>,
}

/// Named sets of modifiers: name and alternatives, each a sequence.
pub(super) type Sets = [(&'static str, &'static str)];
