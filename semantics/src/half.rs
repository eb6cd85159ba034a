//! Half-precision arithmetic (ISA 9.7.4): `.f16`, `.bf16` and pairs of them. The modifiers are steps
//! before and after the operation, so that all forms of a type share one function.

use ptx_frontend::{Modifier, Modifiers, Op};

use super::{Bound, Modes, Written, with_flag, with_half};
use crate::lanes::{map1, map2, map3};

/// A sum that took a product in: `d, a, b, c`, with signs that change.
fn contracted(op: &Op, written: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let [minus_a, minus_c] = written.signs();
    let fns = with_half!(ty, m, T => with_flag!(minus_a, A => with_flag!(minus_c, C => {
        map3!(|a: T, b: T, c: T, imm| -> T {
            let modes = Modes::from_bits(imm);
            let a = if A { m::neg(a, false) } else { a };
            let c = if C { m::neg(c, false) } else { c };
            let r = m::fma(a, b, c, modes.ftz());
            if modes.sat() { m::sat(r) } else { r }
        })
    })));
    Some(Bound::ternary(fns, ty)?.modes(Modes::of(op)))
}

macro_rules! arithmetic {
    ($($name:ident)*) => {$(
        pub(super) fn $name(op: &Op, written: Written<'_>) -> Option<Bound> {
            if written.operands.len() > 3 {
                return contracted(op, written);
            }
            let ty = op.ty(0)?;
            let fns = with_half!(ty, m, T => map2!(|a: T, b: T, imm| -> T {
                let modes = Modes::from_bits(imm);
                let r = m::$name(a, b, modes.ftz());
                if modes.sat() { m::sat(r) } else { r }
            }));
            Some(Bound::binary(fns, ty)?.modes(Modes::of(op)))
        }
    )*};
}

arithmetic!(add sub mul);

pub(super) fn fma(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = if op.has(Modifier::Oob) {
        with_half!(ty, m, T => map3!(|a: T, b: T, c: T, imm| -> T {
            let modes = Modes::from_bits(imm);
            let r = m::fma(a, b, c, false);
            m::oob(if modes.relu() { m::relu(r) } else { r }, a, b)
        }))
    } else {
        with_half!(ty, m, T => map3!(|a: T, b: T, c: T, imm| -> T {
            let modes = Modes::from_bits(imm);
            let r = m::fma(a, b, c, modes.ftz());
            let r = if modes.relu() { m::relu(r) } else { r };
            if modes.sat() { m::sat(r) } else { r }
        }))
    };
    Some(Bound::ternary(fns, ty)?.modes(Modes::of(op)))
}

macro_rules! signs {
    ($($name:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let ty = op.ty(0)?;
            let fns = with_half!(ty, m, T => map1!(|a: T, imm| -> T { m::$name(a, Modes::from_bits(imm).ftz()) }));
            Some(Bound::unary(fns, ty)?.modes(Modes::of(op)))
        }
    )*};
}

signs!(abs neg);

macro_rules! extrema {
    ($($name:ident $xorsign:ident)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let ty = op.ty(0)?;
            let fns = if op.has(Modifier::Xorsign) {
                with_half!(ty, m, T => map2!(|a: T, b: T, imm| -> T {
                    let modes = Modes::from_bits(imm);
                    m::$xorsign(a, b, modes.nan(), modes.ftz())
                }))
            } else {
                with_half!(ty, m, T => map2!(|a: T, b: T, imm| -> T {
                    let modes = Modes::from_bits(imm);
                    m::$name(a, b, modes.nan(), modes.ftz())
                }))
            };
            Some(Bound::binary(fns, ty)?.modes(Modes::of(op)))
        }
    )*};
}

extrema!(min min_xorsign_abs max max_xorsign_abs);
