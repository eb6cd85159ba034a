//! Video instructions (ISA 9.7.18). They are rare: all forms of a kind share one function, and what
//! tells them apart travels in [`Operands::imm`](crate::lanes::Operands::imm).

use ptx_frontend::{CmpOp, Modifier, Modifiers, Op, Opcode, Operand, RegisterPart, ScalarType as S};

use super::{Bound, Written};
use crate::lanes::{map2, map3};
use numerics::video::{self as unit, Finish, MadForm, Scalar, ScalarForm, Select, Simd, SimdForm};
use numerics::{Bound as Limit, IntCmp};

/// A field of an immediate: where it starts and how many bits it has.
#[derive(Clone, Copy)]
struct Field(u32, u32);

impl Field {
    const fn put(self, value: u64) -> u64 {
        (value & ((1 << self.1) - 1)) << self.0
    }

    #[inline(always)]
    const fn get(self, imm: u64) -> u64 {
        imm >> self.0 & ((1 << self.1) - 1)
    }

    #[inline(always)]
    const fn flag(self, imm: u64) -> bool {
        self.get(imm) != 0
    }
}

const OPERATION: Field = Field(0, 3);
const CMP: Field = Field(3, 3);
const SIGNED: Field = Field(6, 1);
const A_SIGNED: Field = Field(7, 1);
const B_SIGNED: Field = Field(8, 1);
const SAT: Field = Field(9, 1);
const WRAP: Field = Field(10, 1);
/// Scalar forms: secondary operation, selectors.
const FINISH: Field = Field(11, 3);
const A_SELECT: Field = Field(14, 3);
const B_SELECT: Field = Field(17, 3);
const MERGE: Field = Field(20, 3);
/// `vmad`: negations, `.po`, shift.
const NEGATE_PRODUCT: Field = Field(23, 1);
const NEGATE_C: Field = Field(24, 1);
const PLUS_ONE: Field = Field(25, 1);
const SHIFT: Field = Field(26, 4);
/// SIMD forms.
const ACCUMULATE: Field = Field(11, 1);
const A_ELEMENTS: Field = Field(12, 16);
const B_ELEMENTS: Field = Field(28, 16);
const MASK: Field = Field(44, 4);

const COMPARISONS: [IntCmp; 8] =
    [IntCmp::Eq, IntCmp::Ne, IntCmp::Lt, IntCmp::Le, IntCmp::Gt, IntCmp::Ge, IntCmp::Eq, IntCmp::Eq];
const SELECTORS: [Select; 8] =
    [Select::Word, Select::H0, Select::H1, Select::B0, Select::B1, Select::B2, Select::B3, Select::Word];

fn comparison(op: &Op) -> u64 {
    match op.cmp() {
        Some(CmpOp::Ne) => 1,
        Some(CmpOp::Lt) => 2,
        Some(CmpOp::Le) => 3,
        Some(CmpOp::Gt) => 4,
        Some(CmpOp::Ge) => 5,
        _ => 0,
    }
}

/// The modifiers that all kinds have, and the types: destination and two sources, the destination
/// last for `vset`, which has none.
fn common(op: &Op) -> Option<u64> {
    let types: Vec<S> = op.types().collect();
    let (signed, a, b) = match *types {
        [d, a, b] => (d.is_signed(), a.is_signed(), b.is_signed()),
        [a, b] => (false, a.is_signed(), b.is_signed()),
        _ => return None,
    };
    Some(
        SIGNED.put(signed.into())
            | A_SIGNED.put(a.into())
            | B_SIGNED.put(b.into())
            | SAT.put(op.has(Modifier::Sat).into())
            | CMP.put(comparison(op)),
    )
}

/// The part of a word that an operand names, and whether it is negated.
fn part(operand: Operand) -> (Option<RegisterPart>, bool) {
    match operand {
        Operand::Part(_, part) => (Some(part), false),
        Operand::NegatedPart(_, part) => (Some(part), true),
        Operand::Negated(_) => (None, true),
        _ => (None, false),
    }
}

/// Index into [`SELECTORS`].
fn selector(operand: Operand) -> Option<u64> {
    Some(match part(operand).0 {
        None => 0,
        Some(RegisterPart::Half(at)) => 1 + u64::from(at),
        Some(RegisterPart::Byte(at)) => 3 + u64::from(at),
        Some(_) => return None,
    })
}

#[inline(always)]
fn scalar_form(imm: u64) -> (Scalar, ScalarForm) {
    let limit = if WRAP.flag(imm) { Limit::Wrap } else { Limit::Clamp };
    let operation = match OPERATION.get(imm) {
        0 => Scalar::Add,
        1 => Scalar::Sub,
        2 => Scalar::AbsDiff,
        3 => Scalar::Min,
        4 => Scalar::Max,
        5 => Scalar::Shl(limit),
        6 => Scalar::Shr(limit),
        _ => Scalar::Set(COMPARISONS[CMP.get(imm) as usize]),
    };
    let select = |field: Field| SELECTORS[field.get(imm) as usize];
    let finish = match FINISH.get(imm) {
        0 => Finish::Plain,
        1 => Finish::Add,
        2 => Finish::Min,
        3 => Finish::Max,
        _ => Finish::Merge(select(MERGE)),
    };
    let form = ScalarForm {
        signed: SIGNED.flag(imm),
        a_signed: A_SIGNED.flag(imm),
        b_signed: B_SIGNED.flag(imm),
        a_select: select(A_SELECT),
        b_select: select(B_SELECT),
        sat: SAT.flag(imm),
        finish,
    };
    (operation, form)
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`.
pub(super) fn scalar(op: &Op, written: Written<'_>) -> Option<Bound> {
    let operation = match op.opcode {
        Opcode::Vadd => 0,
        Opcode::Vsub => 1,
        Opcode::Vabsdiff => 2,
        Opcode::Vmin => 3,
        Opcode::Vmax => 4,
        Opcode::Vshl => 5,
        Opcode::Vshr => 6,
        Opcode::Vset => 7,
        _ => return None,
    };
    let &[d, a, b, ref c @ ..] = written.operands else { return None };
    let finish = match selector(d)? {
        _ if op.has(Modifier::Add) => 1,
        _ if op.has(Modifier::Min) => 2,
        _ if op.has(Modifier::Max) => 3,
        0 => 0,
        _ => 4,
    };
    let imm = common(op)?
        | OPERATION.put(operation)
        | WRAP.put(op.has(Modifier::Wrap).into())
        | FINISH.put(finish)
        | A_SELECT.put(selector(a)?)
        | B_SELECT.put(selector(b)?)
        | MERGE.put(selector(d)?);
    let bound = if c.is_empty() {
        let fns = map2!(|a: u32, b: u32, imm| -> u32 {
            let (operation, form) = scalar_form(imm);
            unit::scalar(operation, form, a, b, 0)
        });
        Bound::map(fns, S::U32, &[S::U32; 2])
    } else {
        let fns = map3!(|a: u32, b: u32, c: u32, imm| -> u32 {
            let (operation, form) = scalar_form(imm);
            unit::scalar(operation, form, a, b, c)
        });
        Bound::map(fns, S::U32, &[S::U32; 3])
    };
    Some(bound?.imm(imm))
}

pub(super) fn mad(op: &Op, written: Written<'_>) -> Option<Bound> {
    let &[_, a, b, c] = written.operands else { return None };
    let shift = if op.has(Modifier::Shr7) {
        7
    } else if op.has(Modifier::Shr15) {
        15
    } else {
        0
    };
    let imm = common(op)?
        | A_SELECT.put(selector(a)?)
        | B_SELECT.put(selector(b)?)
        | NEGATE_PRODUCT.put((part(a).1 != part(b).1).into())
        | NEGATE_C.put(part(c).1.into())
        | PLUS_ONE.put(op.has(Modifier::Po).into())
        | SHIFT.put(shift);
    let fns = map3!(|a: u32, b: u32, c: u32, imm| -> u32 {
        let form = MadForm {
            a_signed: A_SIGNED.flag(imm),
            b_signed: B_SIGNED.flag(imm),
            a_select: SELECTORS[A_SELECT.get(imm) as usize],
            b_select: SELECTORS[B_SELECT.get(imm) as usize],
            negate_product: NEGATE_PRODUCT.flag(imm),
            negate_c: NEGATE_C.flag(imm),
            plus_one: PLUS_ONE.flag(imm),
            shift: SHIFT.get(imm) as u32,
            sat: SAT.flag(imm),
        };
        unit::mad(form, a, b, c)
    });
    Some(Bound::map(fns, S::U32, &[S::U32; 3])?.imm(imm))
}

#[inline(always)]
fn simd_form(imm: u64) -> (Simd, SimdForm) {
    let operation = match OPERATION.get(imm) {
        0 => Simd::Add,
        1 => Simd::Sub,
        2 => Simd::Average,
        3 => Simd::AbsDiff,
        4 => Simd::Min,
        5 => Simd::Max,
        _ => Simd::Set(COMPARISONS[CMP.get(imm) as usize]),
    };
    let form = SimdForm {
        signed: SIGNED.flag(imm),
        a_signed: A_SIGNED.flag(imm),
        b_signed: B_SIGNED.flag(imm),
        a_select: A_ELEMENTS.get(imm) as u16,
        b_select: B_ELEMENTS.get(imm) as u16,
        mask: MASK.get(imm) as u8,
        sat: SAT.flag(imm),
        accumulate: ACCUMULATE.flag(imm),
    };
    (operation, form)
}

/// Elements that a source selects, a hexadecimal digit each.
fn elements(operand: Operand, default: u64) -> Option<u64> {
    Some(match part(operand).0 {
        None => default,
        Some(RegisterPart::HalfPair(low, high)) => u64::from(low) | u64::from(high) << 4,
        Some(RegisterPart::BytePermutation(bytes)) => {
            bytes.iter().rev().fold(0, |digits, &byte| digits << 4 | u64::from(byte))
        }
        Some(_) => return None,
    })
}

/// Elements of the destination that are written, a bit each.
fn mask(operand: Operand, all: u64) -> Option<u64> {
    Some(match part(operand).0 {
        None | Some(RegisterPart::HalfPair(0, 1)) | Some(RegisterPart::BytePermutation([0, 1, 2, 3])) => all,
        Some(RegisterPart::Half(at) | RegisterPart::Byte(at)) => 1 << at,
        Some(RegisterPart::ByteMask(mask)) => mask.into(),
        Some(_) => return None,
    })
}

fn simd_imm(op: &Op, written: Written<'_>, defaults: [u64; 3]) -> Option<u64> {
    let operation = match op.opcode {
        Opcode::Vadd2 | Opcode::Vadd4 => 0,
        Opcode::Vsub2 | Opcode::Vsub4 => 1,
        Opcode::Vavrg2 | Opcode::Vavrg4 => 2,
        Opcode::Vabsdiff2 | Opcode::Vabsdiff4 => 3,
        Opcode::Vmin2 | Opcode::Vmin4 => 4,
        Opcode::Vmax2 | Opcode::Vmax4 => 5,
        Opcode::Vset2 | Opcode::Vset4 => 6,
        _ => return None,
    };
    let &[d, a, b, _] = written.operands else { return None };
    Some(
        common(op)?
            | OPERATION.put(operation)
            | ACCUMULATE.put(op.has(Modifier::Add).into())
            | A_ELEMENTS.put(elements(a, defaults[0])?)
            | B_ELEMENTS.put(elements(b, defaults[1])?)
            | MASK.put(mask(d, defaults[2])?),
    )
}

/// `vadd2` to `vset2`.
pub(super) fn halves(op: &Op, written: Written<'_>) -> Option<Bound> {
    let imm = simd_imm(op, written, [0x10, 0x32, 0b11])?;
    let fns = map3!(|a: u32, b: u32, c: u32, imm| -> u32 {
        let (operation, form) = simd_form(imm);
        unit::simd2(operation, form, a, b, c)
    });
    Some(Bound::map(fns, S::U32, &[S::U32; 3])?.imm(imm))
}

/// `vadd4` to `vset4`.
pub(super) fn bytes(op: &Op, written: Written<'_>) -> Option<Bound> {
    let imm = simd_imm(op, written, [0x3210, 0x7654, 0b1111])?;
    let fns = map3!(|a: u32, b: u32, c: u32, imm| -> u32 {
        let (operation, form) = simd_form(imm);
        unit::simd4(operation, form, a, b, c)
    });
    Some(Bound::map(fns, S::U32, &[S::U32; 3])?.imm(imm))
}
