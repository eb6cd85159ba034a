//! Modifiers that travel in [`Operands::imm`](crate::lanes::Operands::imm) to lane functions that
//! several forms share.

use ptx_frontend::{CmpOp, Modifier, Modifiers, Op};

use crate::lanes::combine;
use numerics::{IntRounding, Rounding};

/// Packed modifiers. The boolean operator is where the shapes expect it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Modes(u64);

const ROUNDING: u32 = 2;
const OUTCOMES: u32 = 4;
const FTZ: u64 = 1 << 8;
const SAT: u64 = 1 << 9;
const RELU: u64 = 1 << 10;
const SATFINITE: u64 = 1 << 11;
const NAN: u64 = 1 << 12;
const ABS: u64 = 1 << 13;
/// Where a form's 32-bit value begins.
pub(super) const VALUE: u8 = 32;

/// The outcomes of a comparison that make it true: less, equal, greater, unordered.
fn outcomes(cmp: CmpOp) -> u64 {
    const LT: u64 = 1;
    const EQ: u64 = 2;
    const GT: u64 = 4;
    const UN: u64 = 8;
    match cmp {
        CmpOp::Eq => EQ,
        CmpOp::Ne => LT | GT,
        CmpOp::Lt | CmpOp::Lo => LT,
        CmpOp::Le | CmpOp::Ls => LT | EQ,
        CmpOp::Gt | CmpOp::Hi => GT,
        CmpOp::Ge | CmpOp::Hs => GT | EQ,
        CmpOp::Equ => EQ | UN,
        CmpOp::Neu => LT | GT | UN,
        CmpOp::Ltu => LT | UN,
        CmpOp::Leu => LT | EQ | UN,
        CmpOp::Gtu => GT | UN,
        CmpOp::Geu => GT | EQ | UN,
        CmpOp::Num => LT | EQ | GT,
        CmpOp::Nan => UN,
    }
}

impl Modes {
    /// The modifiers of a form.
    pub(super) fn of(op: &Op) -> Modes {
        let rounding = match op.rounding().or_else(|| op.int_rounding().map(Rounding::from)) {
            None | Some(Rounding::Rn) => 0,
            Some(Rounding::Rz) => 1,
            Some(Rounding::Rm) => 2,
            Some(Rounding::Rp) => 3,
        };
        let boolean = if op.has(Modifier::And) {
            combine::AND
        } else if op.has(Modifier::Or) {
            combine::OR
        } else if op.has(Modifier::Xor) {
            combine::XOR
        } else {
            combine::NONE
        };
        let flags = [
            (Modifier::Ftz, FTZ),
            (Modifier::Sat, SAT),
            (Modifier::Relu, RELU),
            (Modifier::Satfinite, SATFINITE),
            (Modifier::PropagateNan, NAN),
            (Modifier::Abs, ABS),
        ];
        let bits = boolean | rounding << ROUNDING | op.cmp().map_or(0, outcomes) << OUTCOMES;
        Modes(
            flags.iter().filter(|&&(modifier, _)| op.has(modifier)).fold(bits, |bits, (_, flag)| bits | flag),
        )
    }

    /// With a value of the form.
    pub(super) fn with_value(self, value: u32) -> Modes {
        Modes(self.0 | u64::from(value) << VALUE)
    }

    /// As [`Operands::imm`](crate::lanes::Operands::imm) holds them.
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// From [`Operands::imm`](crate::lanes::Operands::imm).
    #[inline(always)]
    pub(super) fn from_bits(imm: u64) -> Modes {
        Modes(imm)
    }

    #[inline(always)]
    pub(super) fn value(self) -> u32 {
        (self.0 >> VALUE) as u32
    }

    #[inline(always)]
    pub(super) fn rounding(self) -> Rounding {
        match self.0 >> ROUNDING & 3 {
            0 => Rounding::Rn,
            1 => Rounding::Rz,
            2 => Rounding::Rm,
            _ => Rounding::Rp,
        }
    }

    #[inline(always)]
    pub(super) fn int_rounding(self) -> IntRounding {
        match self.0 >> ROUNDING & 3 {
            0 => IntRounding::Rni,
            1 => IntRounding::Rzi,
            2 => IntRounding::Rmi,
            _ => IntRounding::Rpi,
        }
    }

    /// Whether a comparison with these relations is true.
    #[inline(always)]
    pub(super) fn holds(self, less: bool, equal: bool, unordered: bool) -> bool {
        let greater = !(less | equal | unordered);
        let wanted = |at: u32| self.0 >> (OUTCOMES + at) & 1 != 0;
        (wanted(0) & less) | (wanted(1) & equal) | (wanted(2) & greater) | (wanted(3) & unordered)
    }

    /// The boolean operator applied to a flag and the source predicate.
    #[inline(always)]
    pub(super) fn combine(self, flag: bool, p: bool) -> bool {
        combine::apply(self.0, flag.into(), p.into()) & 1 != 0
    }
}

macro_rules! flags {
    ($($name:ident $flag:ident $text:literal;)*) => {
        impl Modes {
            $(
                #[doc = concat!("`.", $text, "`")]
                #[inline(always)]
                pub(super) fn $name(self) -> bool {
                    self.0 & $flag != 0
                }
            )*
        }
    };
}

flags! {
    ftz FTZ "ftz";
    sat SAT "sat";
    relu RELU "relu";
    satfinite SATFINITE "satfinite";
    nan NAN "NaN";
    abs ABS "abs";
}
