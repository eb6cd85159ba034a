//! What an instruction's operands must be, once its modifiers are known.

use isa::{Modifier, Modifiers, Opcode};
use isa::{ScalarType, StateSpace, TypeClass};

use super::context::Context;
use super::counts;
use super::model::{Count, Flags, Limit, OperandSpec, Shape, Signature, SpaceRule, TypeRule};

/// One operand: its row's words with types and counts filled in.
#[derive(Clone, Debug)]
pub(super) struct Expect {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) ty: ScalarType,
    /// The type is the instruction's own, which is matched less strictly.
    pub(super) by_instruction: bool,
    /// Elements of a vector; 0 for a scalar.
    pub(super) count: u32,
    /// How `count` is meant.
    pub(super) counting: Counting,
    pub(super) flags: Flags,
    pub(super) limit: Limit,
    /// Where a symbol must be, if it matters.
    pub(super) symbol_space: Option<StateSpace>,
}

/// How the number of elements is matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counting {
    /// Braces with exactly this many, or a plain scalar for 0.
    Exact,
    /// As `Exact`; a scalar may stand in braces.
    Access,
    /// Braces with 1, 2 or 4, at least this many; one may stand without braces.
    AtLeast,
}

/// The form of an operand.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Value,
    Pack,
    Pair { optional: bool, sink: bool },
    Constant { low: i64, high: i64, list: &'static [i64] },
    Address { space: StateSpace, sized: bool },
    TensorAddress,
    List(Box<[Expect]>),
    Handle,
    Label,
    Targets,
    Callee,
    Arguments,
    Prototype,
    Sink,
}

/// Fills in one list of operands; `None` when the modifiers contradict its conditions.
pub(super) fn signature(
    context: &Context,
    opcode: Opcode,
    modifiers: &[Modifier],
    signature: &'static Signature,
) -> Option<Box<[Expect]>> {
    let holds = signature.conditions.iter().all(|&(modifier, present)| modifiers.has(modifier) == present);
    holds.then(|| signature.operands.iter().map(|spec| expect(context, opcode, modifiers, spec)).collect())
}

fn expect(context: &Context, opcode: Opcode, modifiers: &[Modifier], spec: &'static OperandSpec) -> Expect {
    let mut count = counts::elements(spec.count, modifiers);
    let mut by_instruction = false;
    let nth = |at: u8| modifiers.ty(usize::from(at)).unwrap_or(ScalarType::B32);
    let ty = match spec.ty {
        TypeRule::Nth(at) => {
            by_instruction = true;
            nth(at)
        }
        TypeRule::Wide(at) => wide(nth(at)),
        TypeRule::Fixed(ty) => ty,
        TypeRule::Address => {
            if context.address_size == 32 {
                ScalarType::U32
            } else {
                ScalarType::U64
            }
        }
        TypeRule::Fragment(matrix) => {
            let (ty, elements) = counts::fragment(opcode, modifiers, matrix).unwrap_or((ScalarType::B32, 1));
            count = elements;
            ty
        }
        TypeRule::Pack => nth(0),
    };
    let kind = match &spec.shape {
        Shape::Value if spec.ty == TypeRule::Pack => Kind::Pack,
        Shape::Value => Kind::Value,
        Shape::Pair { optional, sink } => Kind::Pair { optional: *optional, sink: *sink },
        Shape::Constant { low, high, list } => Kind::Constant { low: *low, high: *high, list },
        Shape::Address { space: SpaceRule::Tensor, .. } => Kind::TensorAddress,
        Shape::Address { space, sized } => {
            let space = match space {
                SpaceRule::Nth(at) => space_at(modifiers, usize::from(*at)),
                SpaceRule::Fixed(space) => *space,
                SpaceRule::Tensor => StateSpace::Generic,
            };
            Kind::Address { space, sized: *sized }
        }
        Shape::List(list) => {
            Kind::List(list.iter().map(|inner| expect(context, opcode, modifiers, inner)).collect())
        }
        Shape::Handle(_) => Kind::Handle,
        Shape::Label => Kind::Label,
        Shape::Targets => Kind::Targets,
        Shape::Callee => Kind::Callee,
        Shape::Arguments => Kind::Arguments,
        Shape::Prototype => Kind::Prototype,
        Shape::Sink => Kind::Sink,
    };
    let ty = if let Shape::Handle(handle) = spec.shape { handle } else { ty };
    let counting = match spec.count {
        Count::Vector => Counting::Access,
        Count::Geometry | Count::Offset => Counting::AtLeast,
        _ => Counting::Exact,
    };
    let symbol_space = spec.flags.own_space.then(|| match modifiers.space() {
        StateSpace::Generic | StateSpace::SharedCluster => StateSpace::Shared,
        space => space,
    });
    Expect {
        name: spec.name,
        kind,
        ty,
        by_instruction,
        count,
        counting,
        flags: spec.flags,
        limit: spec.limit,
        symbol_space,
    }
}

/// The integer type of twice the width.
fn wide(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S32 => ScalarType::S64,
        other => other,
    }
}

/// The n-th space named among the modifiers, generic without.
fn space_at(modifiers: &[Modifier], at: usize) -> StateSpace {
    let spaces = modifiers.iter().filter_map(|&m| match std::slice::from_ref(&m).space() {
        StateSpace::Generic => None,
        space => Some(space),
    });
    spaces.into_iter().nth(at).unwrap_or(StateSpace::Generic)
}

/// Whether a register of type `actual` can hold a value of type `want` (ISA 9.4).
///
/// As ptxas does it: registers of bit-size types fit every type of their size, floating-point
/// types only themselves, `.f16x2` counts as 32 bits for types that the instruction names, and the
/// alternative and packed formats live in registers of bits only. `wider` admits larger registers
/// (ISA 9.4.1).
pub(super) fn register_fits(actual: ScalarType, want: ScalarType, by_instruction: bool, wider: bool) -> bool {
    use ScalarType as T;
    if want == T::Pred || actual == T::Pred {
        return want == actual;
    }
    let bits = want.bits().next_multiple_of(8).max(8);
    let sized = actual.bits() == bits || (wider && actual.bits() > bits);
    let untyped = actual.class() == TypeClass::Bits;
    match want {
        T::F16 | T::F32 | T::F64 => actual == want || (sized && untyped),
        T::F16x2 => actual == want || (sized && untyped),
        T::U16x2 | T::S16x2 | T::U8x4 | T::S8x4 => sized && (untyped || actual == T::F16x2),
        _ => match want.class() {
            TypeClass::Bits => sized,
            TypeClass::Signed | TypeClass::Unsigned if want.lanes() == 1 => {
                sized && (untyped || actual.is_integer() || (actual == T::F16x2 && by_instruction))
            }
            // Alternative formats: exactly their size.
            _ => actual.bits() == bits && untyped,
        },
    }
}

/// What a constant is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Constant {
    Integer,
    Single,
    Double,
}

/// Whether a constant may stand for a value of type `want`.
pub(super) fn constant_fits(constant: Constant, want: ScalarType) -> bool {
    match (want, constant) {
        (ScalarType::F32 | ScalarType::F64, Constant::Single | Constant::Double) => true,
        (ScalarType::B32, Constant::Single) | (ScalarType::B64, Constant::Double) => true,
        (ScalarType::Pred, Constant::Integer) => true,
        (_, Constant::Integer) => want.class() == TypeClass::Bits || (want.is_integer() && want.lanes() == 1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType as T;

    #[test]
    fn registers_follow_table_26() {
        let fits = |actual, want| register_fits(actual, want, true, false);
        assert!(fits(T::B32, T::F32) && fits(T::S32, T::U32) && fits(T::F32, T::B32));
        assert!(!fits(T::F32, T::U32) && !fits(T::U32, T::F32) && !fits(T::B64, T::U32));
        assert!(fits(T::B16, T::Bf16) && !fits(T::F16, T::Bf16) && !fits(T::U16, T::F16));
        assert!(fits(T::B32, T::F16x2) && !fits(T::U32, T::F16x2));
        assert!(!fits(T::Pred, T::B32) && fits(T::Pred, T::Pred));
        assert!(fits(T::B8, T::E2m1x2) && fits(T::B64, T::F32x2) && !fits(T::U64, T::F32x2));
    }

    #[test]
    fn wider_registers_follow_table_27() {
        let fits = |actual, want| register_fits(actual, want, true, true);
        assert!(fits(T::B64, T::U8) && fits(T::S32, T::U16) && fits(T::B128, T::F64));
        assert!(fits(T::F64, T::B32) && !fits(T::F64, T::U32) && !fits(T::F64, T::F32));
        assert!(!fits(T::U16, T::B32) && !fits(T::B32, T::Bf16));
    }

    #[test]
    fn constants_match_the_kind_of_type() {
        assert!(constant_fits(Constant::Integer, T::U16) && !constant_fits(Constant::Integer, T::F32));
        assert!(constant_fits(Constant::Double, T::F32) && constant_fits(Constant::Single, T::F64));
        assert!(constant_fits(Constant::Single, T::B32) && !constant_fits(Constant::Double, T::B32));
        assert!(!constant_fits(Constant::Integer, T::U16x2) && !constant_fits(Constant::Single, T::F16));
    }
}
