//! Extended-precision arithmetic (ISA 9.7.2): the carry flag is a predicate of the frame.

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::dispatch::with_types;
use super::{Bound, Role, Written};
use crate::lanes::{LaneFns, flag2, flag3};

/// Words and double words; `add` and `sub` do not depend on the sign.
macro_rules! with_word {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        with_types!($ty, $m, $T => $body; U32 | S32: u32 u32, U64 | S64: u64 u64)
    };
}

macro_rules! with_signed_word {
    ($ty:expr, $m:ident, $T:ident => $body:expr) => {
        with_types!($ty, $m, $T => $body; U32: u32 u32, S32: s32 u32, U64: u64 u64, S64: s64 u64)
    };
}

/// `d, a, …` that reads the flag if the opcode ends in `c` and sets it with `.cc`.
fn bound(op: &Op, fns: LaneFns, ty: S, sources: usize, carry_in: bool) -> Option<Bound> {
    let mut bound = Bound::map(fns, ty, &[ty; 3][..sources])?;
    if carry_in {
        bound.roles.push(Role::CarryIn);
    }
    if op.has(Modifier::Cc) {
        bound.roles.push(Role::CarryOut);
    }
    Some(bound)
}

macro_rules! without_carry_in {
    ($($name:ident $f:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let ty = op.ty(0)?;
            if !op.has(Modifier::Cc) {
                return None;
            }
            bound(op, with_word!(ty, m, T => flag2!(|a: T, b: T, _p| -> T { m::$f(a, b) })), ty, 2, false)
        }
    )*};
}

without_carry_in!(add add_cc sub sub_cc);

macro_rules! with_carry_in {
    ($($name:ident $f:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let ty = op.ty(0)?;
            bound(op, with_word!(ty, m, T => flag2!(|a: T, b: T, p| -> T { m::$f(a, b, p) })), ty, 2, true)
        }
    )*};
}

with_carry_in!(addc addc_cc subc subc_cc);

/// `mad.cc`: as `madc` with a clear flag.
pub(super) fn mad(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    if !op.has(Modifier::Cc) {
        return None;
    }
    let fns = if op.has(Modifier::Hi) {
        with_signed_word!(ty, m, T => flag3!(|a: T, b: T, c: T, _p, _imm| -> T { m::madc_hi_cc(a, b, c, false) }))
    } else {
        with_word!(ty, m, T => flag3!(|a: T, b: T, c: T, _p, _imm| -> T { m::madc_lo_cc(a, b, c, false) }))
    };
    bound(op, fns, ty, 3, false)
}

pub(super) fn madc(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = if op.has(Modifier::Hi) {
        with_signed_word!(ty, m, T => flag3!(|a: T, b: T, c: T, p, _imm| -> T { m::madc_hi_cc(a, b, c, p) }))
    } else {
        with_word!(ty, m, T => flag3!(|a: T, b: T, c: T, p, _imm| -> T { m::madc_lo_cc(a, b, c, p) }))
    };
    bound(op, fns, ty, 3, true)
}
