//! What instructions compute on the 32 lanes of a warp: register-to-register forms and the matrix units.
//!
//! [`bind`] looks at an instruction's modifiers and gives a [`Bound`]: a lane operation, compiled for every SIMD level, and
//! the roles of the PTX operands. The values come from [`numerics`], which knows nothing of registers and lanes. Adding a
//! form means adding its row in the front end's instruction table, its semantics here, and a test.
//!
//! # Invariants
//! * Binders look at every modifier that the instruction table lets through; a form that is not
//!   understood completely is `None`, never approximately bound.
//! * Modifiers of common forms are constants of the lane operation, so that they fold away and the
//!   loop vectorises. Rare ones travel in the immediate and share one function.
//! * A result does not depend on the SIMD level.
//!
//! # What it must not know
//! Memory, warps, blocks, code: whatever has state beyond the registers that it is given.

pub mod formula;
pub mod lanes;
pub mod matrix;
pub mod window;

use ptx_frontend::{Modifier, Modifiers, Op, Opcode, Operand, ScalarType};
use smallvec::SmallVec;

use crate::lanes::LaneFns;
use numerics::Rounding;

mod bits;
mod carry;
mod compare;
mod convert;
mod dispatch;
mod float;
mod functions;
mod half;
mod integer;
mod logic;
mod modes;
mod movement;
mod narrow;
mod video;

pub use movement::copy;

use dispatch::{
    with_bits, with_flag, with_float_cmp, with_half, with_int, with_int_cmp, with_int_rounding,
    with_packed_int, with_rounding,
};
use modes::Modes;

/// What a PTX operand is to a lane operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Destination register of this type: [`crate::lanes::Operands::dst`]. A part selected by a video
    /// instruction is the binder's business.
    Dst(ScalarType),
    /// Source register or constant of this type: the next of [`crate::lanes::Operands::src`]. Parts
    /// and negations of video instructions are the binder's business.
    Src(ScalarType),
    /// Source predicate: the next of [`crate::lanes::Operands::pred`] from the back.
    PredSrc,
    /// Destination predicate: the next of [`crate::lanes::Operands::pred`] from the front.
    PredDst,
    /// The carry flag as a source predicate; not written as an operand.
    CarryIn,
    /// The carry flag as a destination predicate; not written as an operand.
    CarryOut,
    /// An integer constant, shifted left by this and added to [`crate::lanes::Operands::imm`].
    Imm(u8),
}

/// A register-to-register form bound to its semantics.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The lane operation.
    pub fns: LaneFns,
    /// Roles of the PTX operands in order, `d|p` counted as two; the carry flag stands outside it.
    pub roles: SmallVec<[Role; 6]>,
    /// Initial value of [`crate::lanes::Operands::imm`].
    pub imm: u64,
}

impl Bound {
    /// Binds without modes.
    fn new(fns: LaneFns, roles: &[Role]) -> Option<Bound> {
        Some(Bound { fns, roles: roles.into(), imm: 0 })
    }

    /// Binds `d, a, …` with a destination type and source types.
    fn map(fns: LaneFns, to: ScalarType, from: &[ScalarType]) -> Option<Bound> {
        let sources = from.iter().map(|&ty| Role::Src(ty));
        Some(Bound { fns, roles: std::iter::once(Role::Dst(to)).chain(sources).collect(), imm: 0 })
    }

    /// `d, a` of the same type.
    fn unary(fns: LaneFns, ty: ScalarType) -> Option<Bound> {
        Self::map(fns, ty, &[ty])
    }

    /// `d, a, b` of the same type.
    fn binary(fns: LaneFns, ty: ScalarType) -> Option<Bound> {
        Self::map(fns, ty, &[ty; 2])
    }

    /// `d, a, b, c` of the same type.
    fn ternary(fns: LaneFns, ty: ScalarType) -> Option<Bound> {
        Self::map(fns, ty, &[ty; 3])
    }

    /// Sets the immediate.
    fn imm(self, imm: u64) -> Bound {
        Bound { imm, ..self }
    }

    /// Gives the lane operation the modifiers of the form.
    fn modes(self, modes: Modes) -> Bound {
        self.imm(modes.bits())
    }
}

/// What a binder may ask of an instruction besides its op.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// Its operands, the halves of `d|p` apart.
    pub operands: &'a [Operand],
    /// Whether the destination is written `d|p`.
    pub pair: bool,
}

/// The fifth operand of a sum that took in a quotient of `div.approx`, and of `div.full`.
pub const CONTRACTED_DIV_APPROX: u64 = 1;
/// See [`CONTRACTED_DIV_APPROX`].
pub const CONTRACTED_DIV_FULL: u64 = 2;

impl Written<'_> {
    /// Of a sum `d, a, b, c` that took a product in: whether the signs of `a` and of `c` change.
    fn signs(&self) -> [bool; 2] {
        [1, 3].map(|at| matches!(self.operands.get(at), Some(Operand::Negated(_))))
    }
}

type Binder = fn(&Op, Written<'_>) -> Option<Bound>;

/// What an opcode word means, one row a family of types.
const BINDERS: &[(Opcode, Binder)] = &[
    (Opcode::Abs, integer::abs),
    (Opcode::Abs, float::abs),
    (Opcode::Abs, half::abs),
    (Opcode::Add, integer::add),
    (Opcode::Add, carry::add),
    (Opcode::Add, float::add),
    (Opcode::Add, float::add_mixed),
    (Opcode::Add, half::add),
    (Opcode::Addc, carry::addc),
    (Opcode::And, logic::and),
    (Opcode::Bfe, bits::bfe),
    (Opcode::Bfi, bits::bfi),
    (Opcode::Bfind, bits::bfind),
    (Opcode::Bmsk, bits::bmsk),
    (Opcode::Brev, bits::brev),
    (Opcode::Clmad, bits::clmad),
    (Opcode::Clz, bits::clz),
    (Opcode::Cnot, logic::cnot),
    (Opcode::Copysign, float::copysign),
    (Opcode::Cos, functions::cos),
    (Opcode::Cvt, convert::cvt),
    (Opcode::Cvt, narrow::cvt),
    (Opcode::Cvta, movement::cvta),
    (Opcode::Mapa, movement::mapa),
    (Opcode::Getctarank, movement::getctarank),
    (Opcode::Div, integer::div),
    (Opcode::Div, functions::div),
    (Opcode::Dp2a, bits::dp2a),
    (Opcode::Dp4a, bits::dp4a),
    (Opcode::Ex2, functions::ex2),
    (Opcode::Fma, float::fma),
    (Opcode::Fma, half::fma),
    (Opcode::Fns, bits::fns),
    (Opcode::Lg2, functions::lg2),
    (Opcode::Lop3, logic::lop3),
    (Opcode::Mad, integer::mad),
    (Opcode::Mad, carry::mad),
    (Opcode::Mad, float::fma),
    (Opcode::Mad24, integer::mad24),
    (Opcode::Madc, carry::madc),
    (Opcode::Max, integer::max),
    (Opcode::Max, float::max),
    (Opcode::Max, half::max),
    (Opcode::Min, integer::min),
    (Opcode::Min, float::min),
    (Opcode::Min, half::min),
    (Opcode::Mov, movement::mov),
    (Opcode::Mul, integer::mul),
    (Opcode::Mul, float::mul),
    (Opcode::Mul, half::mul),
    (Opcode::Mul24, integer::mul24),
    (Opcode::Neg, integer::neg),
    (Opcode::Neg, float::neg),
    (Opcode::Neg, half::neg),
    (Opcode::Not, logic::not),
    (Opcode::Or, logic::or),
    (Opcode::Popc, bits::popc),
    (Opcode::Prmt, logic::prmt),
    (Opcode::Rcp, functions::rcp),
    (Opcode::Rem, integer::rem),
    (Opcode::Rsqrt, functions::rsqrt),
    (Opcode::Sad, integer::sad),
    (Opcode::Selp, compare::selp),
    (Opcode::Set, compare::set),
    (Opcode::Setp, compare::setp),
    (Opcode::Shf, logic::shf),
    (Opcode::Shl, logic::shl),
    (Opcode::Shr, logic::shr),
    (Opcode::Sin, functions::sin),
    (Opcode::Slct, compare::slct),
    (Opcode::Sqrt, functions::sqrt),
    (Opcode::Sub, integer::sub),
    (Opcode::Sub, carry::sub),
    (Opcode::Sub, float::sub),
    (Opcode::Sub, float::sub_mixed),
    (Opcode::Sub, half::sub),
    (Opcode::Subc, carry::subc),
    (Opcode::Szext, bits::szext),
    (Opcode::Tanh, functions::tanh),
    (Opcode::Testp, float::testp),
    (Opcode::Vabsdiff, video::scalar),
    (Opcode::Vabsdiff2, video::halves),
    (Opcode::Vabsdiff4, video::bytes),
    (Opcode::Vadd, video::scalar),
    (Opcode::Vadd2, video::halves),
    (Opcode::Vadd4, video::bytes),
    (Opcode::Vavrg2, video::halves),
    (Opcode::Vavrg4, video::bytes),
    (Opcode::Vmad, video::mad),
    (Opcode::Vmax, video::scalar),
    (Opcode::Vmax2, video::halves),
    (Opcode::Vmax4, video::bytes),
    (Opcode::Vmin, video::scalar),
    (Opcode::Vmin2, video::halves),
    (Opcode::Vmin4, video::bytes),
    (Opcode::Vset, video::scalar),
    (Opcode::Vset2, video::halves),
    (Opcode::Vset4, video::bytes),
    (Opcode::Vshl, video::scalar),
    (Opcode::Vshr, video::scalar),
    (Opcode::Vsub, video::scalar),
    (Opcode::Vsub2, video::halves),
    (Opcode::Vsub4, video::bytes),
    (Opcode::Xor, logic::xor),
];

/// The semantics of a register-to-register form; `None` if it is of another kind or unsupported.
pub fn bind(op: &Op, written: Written<'_>) -> Option<Bound> {
    let rows = BINDERS.iter().filter(|(opcode, _)| *opcode == op.opcode);
    rows.map(|(_, binder)| binder(op, written)).find(Option::is_some)?
}

/// Rounding of a floating-point result; to nearest if none is named.
fn rounding(op: &Op) -> Option<Rounding> {
    let other = [Modifier::Rna, Modifier::Rs, Modifier::Rni, Modifier::Rzi, Modifier::Rmi, Modifier::Rpi];
    let is_other = other.into_iter().any(|modifier| op.has(modifier));
    op.rounding().or_else(|| (!is_other).then_some(Rounding::Rn))
}

fn ftz(op: &Op) -> bool {
    op.has(Modifier::Ftz)
}

fn sat(op: &Op) -> bool {
    op.has(Modifier::Sat)
}
