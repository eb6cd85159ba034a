//! What register-to-register instructions compute.
//!
//! One row an opcode word binds it to a function that looks at modifiers and gives a [`Bound`]: a
//! lane operation and the roles of the PTX operands. Adding a form means adding its row in the
//! front end's instruction table, its semantics here, and a test.

use ptx_frontend::{Op, Opcode, ScalarType};
use smallvec::SmallVec;

use crate::lanes::LaneFns;

mod compare;
mod float;
pub(crate) use movement::copy;

mod integer;
mod logic;
mod movement;

/// What a PTX operand is to a lane operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code)]
pub(crate) enum Role {
    /// Destination register of this type: [`crate::lanes::Operands::dst`].
    Dst(ScalarType),
    /// Source register or constant of this type: the next of [`crate::lanes::Operands::src`]. A
    /// second destination is passed as a source too, as `Extra`.
    Src(ScalarType),
    /// A further destination register: takes the next place in [`crate::lanes::Operands::src`].
    Extra(ScalarType),
    /// Source predicate: the next of [`crate::lanes::Operands::pred`].
    PredSrc,
    /// Destination predicate: the next of [`crate::lanes::Operands::pred`]. May be absent.
    PredDst,
    /// No operand: the next of [`crate::lanes::Operands::pred`] is index 0.
    NoPred,
    /// The carry flag, not written as an operand: the next of [`crate::lanes::Operands::pred`].
    Carry,
    /// An integer constant, shifted left by this and added to [`crate::lanes::Operands::imm`].
    Imm(u8),
    /// An operand that has no effect.
    Ignored,
}

/// A register-to-register form bound to its semantics.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// The lane operation.
    pub fns: LaneFns,
    /// Roles of the PTX operands in order, `d|p` counted as two; [`Role::Carry`] stands outside the order.
    pub roles: SmallVec<[Role; 6]>,
    /// Initial value of [`crate::lanes::Operands::imm`].
    pub imm: u32,
}

impl Bound {
    /// Binds with a zero immediate.
    pub(crate) fn new(fns: LaneFns, roles: &[Role]) -> Option<Bound> {
        Some(Bound { fns, roles: roles.into(), imm: 0 })
    }

    /// `d, a` of the same type.
    pub(crate) fn unary(fns: LaneFns, ty: ScalarType) -> Option<Bound> {
        Self::new(fns, &[Role::Dst(ty), Role::Src(ty)])
    }

    /// `d, a, b` of the same type.
    pub(crate) fn binary(fns: LaneFns, ty: ScalarType) -> Option<Bound> {
        Self::new(fns, &[Role::Dst(ty), Role::Src(ty), Role::Src(ty)])
    }

    /// `d, a, b, c` of the same type.
    pub(crate) fn ternary(fns: LaneFns, ty: ScalarType) -> Option<Bound> {
        Self::new(fns, &[Role::Dst(ty), Role::Src(ty), Role::Src(ty), Role::Src(ty)])
    }

    /// Sets the immediate.
    #[allow(dead_code)]
    pub(crate) fn imm(self, imm: u32) -> Option<Bound> {
        Some(Bound { imm, ..self })
    }
}

/// What a binder may ask of an instruction besides its op.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)]
pub(crate) struct Written {
    /// Number of PTX operands, `d|p` counted once.
    pub operands: usize,
    /// Whether the destination is written `d|p`.
    pub pair: bool,
}

type Binder = fn(&Op, Written) -> Option<Bound>;

/// One row an opcode word.
const BINDERS: &[(Opcode, Binder)] = &[
    (Opcode::Add, integer::add),
    (Opcode::Sub, integer::sub),
    (Opcode::Mul, integer::mul),
    (Opcode::Mad, integer::mad),
    (Opcode::Fma, float::fma),
    (Opcode::And, logic::and),
    (Opcode::Or, logic::or),
    (Opcode::Xor, logic::xor),
    (Opcode::Not, logic::not),
    (Opcode::Shl, logic::shl),
    (Opcode::Shr, logic::shr),
    (Opcode::Setp, compare::setp),
    (Opcode::Selp, compare::selp),
    (Opcode::Mov, movement::mov),
    (Opcode::Cvt, movement::cvt),
    (Opcode::Cvta, movement::cvta),
];

/// The semantics of a register-to-register form; `None` if it is of another kind or unsupported.
pub(crate) fn bind(op: &Op, written: Written) -> Option<Bound> {
    let (_, binder) = BINDERS.iter().find(|(opcode, _)| *opcode == op.opcode)?;
    binder(op, written)
}

/// Runs an expression with `$T` as the Rust type of an integer or bit type.
macro_rules! with_int {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            ptx_frontend::ScalarType::U8 | ptx_frontend::ScalarType::B8 => {
                #[allow(dead_code)]
                type $T = u8;
                $body
            }
            ptx_frontend::ScalarType::U16 | ptx_frontend::ScalarType::B16 => {
                #[allow(dead_code)]
                type $T = u16;
                $body
            }
            ptx_frontend::ScalarType::U32 | ptx_frontend::ScalarType::B32 => {
                #[allow(dead_code)]
                type $T = u32;
                $body
            }
            ptx_frontend::ScalarType::U64 | ptx_frontend::ScalarType::B64 => {
                #[allow(dead_code)]
                type $T = u64;
                $body
            }
            ptx_frontend::ScalarType::S8 => {
                #[allow(dead_code)]
                type $T = i8;
                $body
            }
            ptx_frontend::ScalarType::S16 => {
                #[allow(dead_code)]
                type $T = i16;
                $body
            }
            ptx_frontend::ScalarType::S32 => {
                #[allow(dead_code)]
                type $T = i32;
                $body
            }
            ptx_frontend::ScalarType::S64 => {
                #[allow(dead_code)]
                type $T = i64;
                $body
            }
            _ => return None,
        }
    };
}
pub(crate) use with_int;
