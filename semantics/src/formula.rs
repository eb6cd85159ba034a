//! Lane operations as data, for a compiler of host code: those whose result a few host instructions give exactly.
//!
//! [`formula`] says of an op what [`crate::bind`] gives as a function; both take the same operands. What it does not
//! know it leaves to that function.

pub use numerics::approx::{Function, Interpolation};
use numerics::{IntRounding, Rounding};
use ptx_frontend::{CmpOp, Modifier, Modifiers, Op, Opcode, Operand, ScalarType as S, StateSpace};

use crate::modes::VALUE;
use crate::{Written, rounding};

/// How wide a register is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// 32 bits, one row.
    Word,
    /// 64 bits, two rows.
    Double,
}

impl Width {
    /// Rows that a register takes.
    pub const fn rows(self) -> u32 {
        match self {
            Width::Word => 1,
            Width::Double => 2,
        }
    }
}

/// What `d = a op b` computes of integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Integer {
    Add,
    Subtract,
    /// The lower half of the product.
    Multiply,
    And,
    Or,
    Xor,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    /// By a word; by as many bits as there are or more gives zero.
    ShiftLeft,
    /// The same, filled with zeros.
    ShiftRight,
    /// The same, filled with the sign.
    ShiftRightSigned,
}

/// What kind of float a register holds, and whether subnormal operands and results of an operation become zeros (`.ftz`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Format {
    Single,
    SingleFlushed,
    Double,
}

impl Format {
    /// How wide it is.
    pub const fn width(self) -> Width {
        match self {
            Format::Single | Format::SingleFlushed => Width::Word,
            Format::Double => Width::Double,
        }
    }

    /// That of a type of an op.
    fn of(ty: S, op: &Op) -> Option<Format> {
        match ty {
            S::F32 if op.has(Modifier::Ftz) => Some(Format::SingleFlushed),
            S::F32 => Some(Format::Single),
            S::F64 => Some(Format::Double),
            _ => None,
        }
    }
}

/// What `d = a op b` computes of floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Float {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The other operand if one is no number; zeros are ordered by their signs.
    Minimum,
    /// The same.
    Maximum,
}

/// What `d = op a` computes of a float.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Unary {
    Negate,
    Magnitude,
    /// Rounded to nearest.
    SquareRoot,
    /// The same.
    Reciprocal,
    /// To an integral value.
    Round(IntRounding),
    /// To what lies between 0 and 1; of words alone.
    Saturate,
}

/// What `d = op a` computes of an integer with a sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Sign {
    Negate,
    Magnitude,
}

/// What a comparison takes its operands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Compared {
    Signed,
    Unsigned,
    /// The lower halves of words.
    SignedHalf,
    UnsignedHalf,
    Float,
    /// Subnormals are zeros.
    FloatFlushed,
}

/// Which float of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Half {
    F16,
    Bf16,
}

/// What is done with predicates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Logic {
    And,
    Or,
    Xor,
    Not,
    Copy,
}

/// Operations on two floats of 16 bits at once, whose results are rounded to nearest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Halves {
    Add,
    Subtract,
    Multiply,
    /// The signs of the product and of what is added to it change where it is said.
    MultiplyAdd([bool; 2]),
    /// What is no number gives the other operand, or where it is said what is no number.
    Minimum(bool),
    /// The same.
    Maximum(bool),
    Negate,
    Magnitude,
}

/// What a lane operation computes, of the operands that [`crate::bind`] gives places.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Formula {
    /// `d = a`
    Copy(Width),
    /// `d = !a`
    Not(Width),
    /// `d = a op b`
    Integer(Integer, Width),
    /// The same of the lower halves of words, extended as is said, with a word as the result; shifts are by a word.
    Half(Integer, bool),
    /// `d = a * b + c`, the lower half.
    MultiplyAdd(Width),
    /// The whole product of two words.
    MultiplyWide {
        /// Of signed words.
        signed: bool,
        /// With a double added.
        add: bool,
    },
    /// The low bits of a word to a double: with their sign, or with zeros.
    Extend {
        /// How many.
        bits: u32,
        /// With their sign.
        signed: bool,
    },
    /// The lower word of a double.
    Truncate,
    /// The upper word of a double.
    Upper,
    /// A double of two words, the lower first.
    Pack,
    /// A double plus the immediate.
    Offset,
    /// Any function of the bits of three words: [`table`].
    Logic3,
    /// `d = a op b`
    Float(Float, Format, Rounding),
    /// `d = a * b + c`, rounded once; the signs of the product and of `c` change where it is said.
    FusedMultiplyAdd(Format, Rounding, [bool; 2]),
    /// `d = op a`, `a op b`, or `a * b + c`, of both halves of words as floats of 16 bits; subnormal ones are kept. Of one half
    /// the upper ones are of no interest.
    Halves(Halves, Half),
    /// `d = op a`
    Unary(Unary, Format),
    /// `d = op a` of words, approximately; whether subnormal operands and results become zeros.
    Approximate(Function, bool),
    /// `d = op a`
    Sign(Sign, Width),
    /// The upper half of the product of two words.
    MultiplyHigh {
        /// Of signed words.
        signed: bool,
    },
    /// Two words side by side, `b` above `a`, shifted: the upper one of them to the left, the lower one to the right.
    Funnel {
        /// To the left.
        left: bool,
        /// By the amount modulo 32; else by 32 at most.
        wrap: bool,
    },
    /// Some bits of a word, extended.
    Field {
        /// The lowest of them.
        first: u32,
        /// How many.
        bits: u32,
        /// With their sign.
        signed: bool,
    },
    /// The low bits of two words, those of `b` above those of `a`: what lies above both is anything.
    Join {
        /// How many of each.
        bits: u32,
    },
    /// `d = a / b`
    Divide {
        /// Of signed words.
        signed: bool,
        /// What is left of it instead.
        remainder: bool,
    },
    /// The low bits of `a` in place of some bits of `b`.
    Insert {
        /// The lowest of them.
        first: u32,
        /// How many.
        bits: u32,
    },
    /// Four of the bytes of `a` and, from number 4 on, of `b`, the lowest first.
    Bytes([u8; 4]),
    /// The products of the four bytes of `a` and those of `b`, and `c`, added up: whether `a` and `b` have signs.
    DotProduct([bool; 2]),
    /// How many bits of a word are set.
    Ones,
    /// How many bits of a word lie above the first one that is set.
    LeadingZeros,
    /// The sign of `a` with the magnitude of `b`.
    CopySign(Width),
    /// An integer to a float, rounded to nearest.
    ToFloat {
        /// Of the integer, which is the low ones of its register.
        bits: u32,
        /// Whether it has a sign.
        signed: bool,
        /// Of the float.
        to: Width,
    },
    /// A float to an integer, or to the nearest one that there is.
    ToInteger {
        /// Of the float.
        from: Width,
        /// Of the integer: less than 32 of a word alone, extended as its sign says.
        bits: u32,
        /// Whether it has a sign.
        signed: bool,
        /// How the float is rounded.
        rounding: IntRounding,
    },
    /// A float of 16 bits to a word.
    FromHalf(Half),
    /// A word to a float of 16 bits, rounded to nearest.
    ToHalf(Half),
    /// Two words to floats of 16 bits, rounded to nearest, side by side: `a` above `b`.
    ToHalves(Half),
    /// A float to one of the other width, rounded to nearest.
    Resize {
        /// Of the result.
        to: Width,
    },
    /// Predicates 0 and 1: a comparison and its complement, combined with predicate 2 as the immediate says.
    Compare(CmpOp, Compared, Width),
    /// `a` where predicate 2 holds, `b` elsewhere.
    Select(Width),
    /// Predicate 0: of predicates 2 and 1.
    Predicate(Logic),
}

/// The function of [`Formula::Logic3`], as the manual writes it.
pub const fn table(imm: u64) -> u8 {
    (imm >> VALUE) as u8
}

/// An integer type of words or doubles: width and sign.
fn integer(ty: S) -> Option<(Width, bool)> {
    Some(match ty {
        S::U32 | S::B32 => (Width::Word, false),
        S::S32 => (Width::Word, true),
        S::U64 | S::B64 => (Width::Double, false),
        S::S64 => (Width::Double, true),
        _ => return None,
    })
}

/// The width of any type of 32 or 64 bits that is one value.
fn width(ty: S) -> Option<Width> {
    match ty {
        S::F32 => Some(Width::Word),
        S::F64 => Some(Width::Double),
        ty => integer(ty).map(|(width, _)| width),
    }
}

/// How wide the register of an integer is in which what lies above its bits does not matter.
fn low(ty: S) -> Option<Width> {
    match ty {
        S::B16 | S::U16 | S::S16 => Some(Width::Word),
        ty => integer(ty).map(|(width, _)| width),
    }
}

/// Whether an integer has 16 bits.
fn low_half(ty: S) -> bool {
    matches!(ty, S::B16 | S::U16 | S::S16)
}

/// Which float of 16 bits a type is, or two of.
fn half(ty: S) -> Option<Half> {
    match ty {
        S::F16 | S::F16x2 => Some(Half::F16),
        S::Bf16 | S::Bf16x2 => Some(Half::Bf16),
        _ => None,
    }
}

/// What `cvt` computes.
fn conversion(op: &Op) -> Option<Formula> {
    let has_only =
        |known: &[Modifier]| op.modifiers.iter().all(|m| matches!(m, Modifier::Type(_)) || known.contains(m));
    let (to, from) = (op.ty(0)?, op.ty(1)?);
    let integer_bits = |ty: S| match ty {
        S::U8 | S::S8 => Some(8),
        S::U16 | S::S16 => Some(16),
        S::U32 | S::S32 => Some(32),
        _ => None,
    };
    let whole = |ty: S| integer_bits(ty).or_else(|| integer(ty).map(|_| 64));
    match (to.is_float(), from.is_float()) {
        (false, false) if has_only(&[]) => {
            if let (Some((to, _)), Some((from, signed))) = (integer(to), integer(from)) {
                return Some(match (to, from) {
                    (Width::Double, Width::Word) => Formula::Extend { bits: 32, signed },
                    (Width::Word, Width::Double) => Formula::Truncate,
                    (width, _) => Formula::Copy(width),
                });
            }
            let source = integer_bits(from)?;
            if let S::U64 | S::S64 = to {
                return Some(Formula::Extend { bits: source, signed: from.is_signed() });
            }
            // A narrow source is extended as its type says, a narrow result as its own does.
            let bits = integer_bits(to)?;
            let ty = if bits > source { from } else { to };
            let is_one_field = bits <= source || bits == 32 || from.is_signed() <= to.is_signed();
            is_one_field.then_some(Formula::Field {
                first: 0,
                bits: bits.min(source),
                signed: ty.is_signed(),
            })
        }
        (true, false) if has_only(&[Modifier::Rn]) && matches!(to, S::F32 | S::F64) => {
            Some(Formula::ToFloat { bits: whole(from)?, signed: from.is_signed(), to: width(to)? })
        }
        (false, true) if matches!(from, S::F32 | S::F64) => {
            let rounding = op.int_rounding()?;
            let bits = whole(to).filter(|&bits| bits >= 32 || from == S::F32)?;
            // A subnormal is nearest to zero, as a zero is.
            let flushes = !op.has(Modifier::Ftz) || matches!(rounding, IntRounding::Rni | IntRounding::Rzi);
            (flushes && has_only(&[rounding_to_integer(rounding), Modifier::Ftz]))
                .then_some(Formula::ToInteger { from: width(from)?, bits, signed: to.is_signed(), rounding })
        }
        (true, true) if from == to => {
            let format = Format::of(from, op)?;
            match op.int_rounding() {
                Some(rounding) => has_only(&[rounding_to_integer(rounding), Modifier::Ftz])
                    .then_some(Formula::Unary(Unary::Round(rounding), format)),
                None => {
                    (from == S::F32 && op.has(Modifier::Sat) && has_only(&[Modifier::Sat, Modifier::Ftz]))
                        .then_some(Formula::Unary(Unary::Saturate, format))
                }
            }
        }
        (true, true) if has_only(&[Modifier::Rn]) => match (to, from) {
            (S::F32, S::F64) | (S::F64, S::F32) => Some(Formula::Resize { to: width(to)? }),
            (S::F32, from) => half(from).map(Formula::FromHalf),
            (S::F16x2 | S::Bf16x2, S::F32) => half(to).map(Formula::ToHalves),
            (to, S::F32) => half(to).map(Formula::ToHalf),
            _ => None,
        },
        _ => None,
    }
}

/// The modifier that names a rounding.
fn rounding_to_integer(rounding: IntRounding) -> Modifier {
    match rounding {
        IntRounding::Rni => Modifier::Rni,
        IntRounding::Rzi => Modifier::Rzi,
        IntRounding::Rmi => Modifier::Rmi,
        IntRounding::Rpi => Modifier::Rpi,
    }
}

/// What an op computes, if that is one of the formulas.
pub fn formula(op: &Op, written: Written<'_>) -> Option<Formula> {
    use Formula as F;
    let ty = op.ty(0)?;
    // Only these modifiers beside the types and a comparison: others change what is computed.
    let has_only =
        |known: &[Modifier]| op.modifiers.iter().all(|m| matches!(m, Modifier::Type(_)) || known.contains(m));
    let plain = has_only(&[]);
    if ty == S::Pred {
        let logic = match op.opcode {
            Opcode::And => Logic::And,
            Opcode::Or => Logic::Or,
            Opcode::Xor => Logic::Xor,
            Opcode::Not => Logic::Not,
            Opcode::Mov => Logic::Copy,
            _ => return None,
        };
        return plain.then_some(F::Predicate(logic));
    }
    // Of one format, rounded in any direction: that, and the direction.
    let format = || {
        let known = [Modifier::Ftz, Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp];
        let rounding = rounding(op).filter(|_| op.ty(1).is_none() && has_only(&known))?;
        Some((Format::of(ty, op)?, rounding))
    };
    let float = |float: Float| {
        let (format, rounding) = format().filter(|_| written.operands.len() == 3)?;
        Some(F::Float(float, format, rounding))
    };
    // A sum that took a product in.
    let contracted = || {
        let (format, rounding) = format().filter(|_| written.operands.len() == 4)?;
        Some(F::FusedMultiplyAdd(format, rounding, written.signs()))
    };
    let halves = |op: Halves, operands: usize, known: &[Modifier]| {
        let is_whole = written.operands.len() == operands && has_only(known);
        half(ty).filter(|_| is_whole).map(|half| F::Halves(op, half))
    };
    let rounded_halves = |op: Halves, operands: usize| halves(op, operands, &[Modifier::Rn]);
    let contracted_halves = || rounded_halves(Halves::MultiplyAdd(written.signs()), 4);
    let has_nan = op.has(Modifier::PropagateNan);
    let extreme_halves = |op: fn(bool) -> Halves| halves(op(has_nan), 3, &[Modifier::PropagateNan]);
    // An operand that is written as a number.
    let number = |at: usize| match written.operands.get(at) {
        Some(&Operand::Integer(value)) => Some(value as u32),
        _ => None,
    };
    // Of floats, exact or rounded to nearest.
    let unary = |of_floats: Unary, of_integers: Option<Sign>| match ty {
        S::F32 | S::F64 => {
            let (format, _) = format().filter(|&(_, rounding)| rounding == Rounding::Rn)?;
            Some(F::Unary(of_floats, format))
        }
        S::S32 | S::S64 if plain => Some(F::Sign(of_integers?, width(ty)?)),
        // What lies above the lower half does not matter.
        S::S16 if plain && of_integers == Some(Sign::Negate) => Some(F::Sign(Sign::Negate, Width::Word)),
        _ => None,
    };
    let approximate = |function: Function| {
        let is_known =
            ty == S::F32 && op.has(Modifier::Approx) && has_only(&[Modifier::Approx, Modifier::Ftz]);
        is_known.then_some(F::Approximate(function, op.has(Modifier::Ftz)))
    };
    let bits = |op: Integer| plain.then(|| low(ty).map(|width| F::Integer(op, width)))?;
    let binary = |signed: Integer, unsigned: Integer| {
        let op = if ty.is_signed() { signed } else { unsigned };
        match integer(ty) {
            _ if !plain => None,
            Some((width, _)) => Some(F::Integer(op, width)),
            None => low_half(ty).then_some(F::Half(op, ty.is_signed())),
        }
    };
    match op.opcode {
        Opcode::Mov if plain => Some(F::Copy(low(ty).or_else(|| width(ty))?)),
        Opcode::Cvta if ty.bits() == 64 => match op.space() {
            StateSpace::Shared | StateSpace::SharedCluster | StateSpace::Local | StateSpace::Param => {
                Some(F::Offset)
            }
            _ => Some(F::Copy(Width::Double)),
        },
        Opcode::Not if plain => Some(F::Not(low(ty)?)),
        Opcode::Add => bits(Integer::Add)
            .or_else(|| float(Float::Add))
            .or_else(contracted)
            .or_else(|| rounded_halves(Halves::Add, 3))
            .or_else(contracted_halves),
        Opcode::Sub => bits(Integer::Subtract)
            .or_else(|| float(Float::Subtract))
            .or_else(contracted)
            .or_else(|| rounded_halves(Halves::Subtract, 3))
            .or_else(contracted_halves),
        Opcode::And => bits(Integer::And),
        Opcode::Or => bits(Integer::Or),
        Opcode::Xor => bits(Integer::Xor),
        Opcode::Min => binary(Integer::MinSigned, Integer::MinUnsigned)
            .or_else(|| float(Float::Minimum))
            .or_else(|| extreme_halves(Halves::Minimum)),
        Opcode::Max => binary(Integer::MaxSigned, Integer::MaxUnsigned)
            .or_else(|| float(Float::Maximum))
            .or_else(|| extreme_halves(Halves::Maximum)),
        Opcode::Div | Opcode::Rem if plain && integer(ty).is_some() => match integer(ty)? {
            (Width::Word, signed) => Some(F::Divide { signed, remainder: op.opcode == Opcode::Rem }),
            (Width::Double, _) => None,
        },
        Opcode::Div => float(Float::Divide).filter(|_| op.rounding().is_some()),
        Opcode::Popc if ty == S::B32 => Some(F::Ones),
        Opcode::Clz if ty == S::B32 => Some(F::LeadingZeros),
        Opcode::Copysign => Some(F::CopySign(width(ty)?)),
        Opcode::Neg => unary(Unary::Negate, Some(Sign::Negate)).or_else(|| halves(Halves::Negate, 2, &[])),
        Opcode::Abs => {
            unary(Unary::Magnitude, Some(Sign::Magnitude)).or_else(|| halves(Halves::Magnitude, 2, &[]))
        }
        Opcode::Bfe if plain && integer(ty)?.0 == Width::Word => {
            let (first, bits) = (number(2)? & 0xff, number(3)? & 0xff);
            let is_within = bits > 0 && first + bits <= 32;
            is_within.then_some(F::Field { first, bits, signed: ty.is_signed() })
        }
        Opcode::Bfi if plain && ty == S::B32 => {
            let (first, bits) = (number(3)? & 0xff, number(4)? & 0xff);
            (bits > 0 && first + bits <= 32).then_some(F::Insert { first, bits })
        }
        Opcode::Prmt if plain => {
            let selector = number(3)?;
            let bytes: [u8; 4] = std::array::from_fn(|at| (selector >> (4 * at) & 0xf) as u8);
            // From 8 on the sign of a byte.
            bytes.iter().all(|&byte| byte < 8).then_some(F::Bytes(bytes))
        }
        Opcode::Dp4a if plain => Some(F::DotProduct([ty.is_signed(), op.ty(1)?.is_signed()])),
        Opcode::Sqrt if op.has(Modifier::Rn) => unary(Unary::SquareRoot, None),
        Opcode::Rcp if op.has(Modifier::Rn) => unary(Unary::Reciprocal, None),
        Opcode::Sqrt => approximate(Function::Root),
        Opcode::Rcp => approximate(Function::Reciprocal),
        Opcode::Rsqrt => approximate(Function::ReciprocalRoot),
        Opcode::Ex2 => approximate(Function::Power),
        Opcode::Shl => bits(Integer::ShiftLeft),
        Opcode::Shr => binary(Integer::ShiftRightSigned, Integer::ShiftRight),
        Opcode::Mul if has_only(&[Modifier::Lo]) && low(ty).is_some() => {
            Some(F::Integer(Integer::Multiply, low(ty)?))
        }
        Opcode::Mul if op.has(Modifier::Hi) => match integer(ty)? {
            (Width::Word, signed) if has_only(&[Modifier::Hi]) => Some(F::MultiplyHigh { signed }),
            _ => None,
        },
        Opcode::Shf => Some(F::Funnel { left: op.has(Modifier::L), wrap: op.has(Modifier::Wrap) }),
        Opcode::Mad if has_only(&[Modifier::Lo]) && low(ty).is_some() => Some(F::MultiplyAdd(low(ty)?)),
        Opcode::Mul if low_half(ty) && has_only(&[Modifier::Wide]) => {
            Some(F::Half(Integer::Multiply, ty.is_signed()))
        }
        Opcode::Mul | Opcode::Mad if op.has(Modifier::Wide) && has_only(&[Modifier::Wide]) => {
            let (Width::Word, signed) = integer(ty)? else { return None };
            Some(F::MultiplyWide { signed, add: op.opcode == Opcode::Mad })
        }
        Opcode::Mul => float(Float::Multiply).or_else(|| rounded_halves(Halves::Multiply, 3)),
        Opcode::Fma | Opcode::Mad => match format().filter(|_| written.operands.len() == 4) {
            Some((format, rounding)) => Some(F::FusedMultiplyAdd(format, rounding, [false; 2])),
            None => rounded_halves(Halves::MultiplyAdd([false; 2]), 4),
        },
        Opcode::Lop3 if plain => Some(F::Logic3),
        Opcode::Cvt => conversion(op),
        Opcode::Selp if plain => Some(F::Select(low(ty).or_else(|| width(ty))?)),
        Opcode::Setp => {
            let cmp = op.cmp()?;
            // Nothing but `.ftz` that the table lets through changes what is computed.
            let compared = match integer(ty).or_else(|| low(ty).map(|width| (width, ty.is_signed()))) {
                Some((_, signed)) => {
                    match cmp {
                        CmpOp::Eq | CmpOp::Ne | CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => {
                            match (low_half(ty), signed) {
                                (false, true) => Compared::Signed,
                                (false, false) => Compared::Unsigned,
                                (true, true) => Compared::SignedHalf,
                                (true, false) => Compared::UnsignedHalf,
                            }
                        }
                        // Of unsigned integers alone.
                        CmpOp::Lo | CmpOp::Ls | CmpOp::Hi | CmpOp::Hs if !signed => match low_half(ty) {
                            false => Compared::Unsigned,
                            true => Compared::UnsignedHalf,
                        },
                        _ => return None,
                    }
                }
                None if op.has(Modifier::Ftz) => Compared::FloatFlushed,
                None => Compared::Float,
            };
            Some(F::Compare(cmp, compared, low(ty).or_else(|| width(ty))?))
        }
        _ => None,
    }
}
