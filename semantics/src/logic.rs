//! Logic, shifts and byte permutation (ISA 9.7.8 and 9.7.9.7).

use ptx_frontend::{Modifier, Modifiers, Op, ScalarType as S};

use super::dispatch::with_variants;
use super::modes::VALUE;
use super::{Bound, Modes, Role, Written, with_bits, with_int};
use crate::lanes::{flag3, map_rows, map1, map2, map3};
use numerics as n;

macro_rules! logical {
    ($($name:ident $operator:tt)*) => {$(
        pub(super) fn $name(op: &Op, _: Written<'_>) -> Option<Bound> {
            let ty = op.ty(0)?;
            if ty == S::Pred {
                let fns = map_rows!(|r, o, mask| {
                    let value = r.predicate(o.pred[2]) $operator r.predicate(o.pred[1]);
                    r.set_predicate(o.pred[0], mask, value);
                });
                return Bound::new(fns, &[Role::PredDst, Role::PredSrc, Role::PredSrc]);
            }
            Bound::binary(with_bits!(ty, m, T => map2!(|a: T, b: T| -> T { m::$name(a, b) })), ty)
        }
    )*};
}

logical!(and & or | xor ^);

pub(super) fn not(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty == S::Pred {
        let fns = map_rows!(|r, o, mask| {
            let a = r.predicate(o.pred[2]);
            r.set_predicate(o.pred[0], mask, !a);
        });
        return Bound::new(fns, &[Role::PredDst, Role::PredSrc]);
    }
    Bound::unary(with_bits!(ty, m, T => map1!(|a: T| -> T { m::not(a) })), ty)
}

pub(super) fn cnot(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    Bound::unary(with_bits!(ty, m, T => map1!(|a: T| -> T { m::cnot(a) })), ty)
}

pub(super) fn shl(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = with_bits!(ty, m, T => map2!(|a: T, b: u32| -> T { m::shl(a, b) }));
    Bound::map(fns, ty, &[ty, S::U32])
}

pub(super) fn shr(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = with_int!(ty, m, T => map2!(|a: T, b: u32| -> T { m::shr(a, b) }));
    Bound::map(fns, ty, &[ty, S::U32])
}

pub(super) fn shf(op: &Op, _: Written<'_>) -> Option<Bound> {
    use n::Bound::{Clamp, Wrap};
    let fns = match (op.has(Modifier::L), op.has(Modifier::Wrap)) {
        (true, true) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::shf_l(a, b, c, Wrap) }),
        (true, false) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::shf_l(a, b, c, Clamp) }),
        (false, true) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::shf_r(a, b, c, Wrap) }),
        (false, false) => map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::shf_r(a, b, c, Clamp) }),
    };
    Bound::ternary(fns, S::B32)
}

pub(super) fn lop3(op: &Op, _: Written<'_>) -> Option<Bound> {
    let src = Role::Src(S::B32);
    if op.has(Modifier::And) || op.has(Modifier::Or) {
        let fns = flag3!(|a: u32, b: u32, c: u32, _p, imm| -> u32 {
            let d = n::b32::lop3(a, b, c, (imm >> VALUE) as u8);
            (d, d != 0)
        });
        let roles = [Role::Dst(S::B32), Role::PredDst, src, src, src, Role::Imm(VALUE), Role::PredSrc];
        return Some(Bound::new(fns, &roles)?.modes(Modes::of(op)));
    }
    let fns = map3!(|a: u32, b: u32, c: u32, imm| -> u32 { n::b32::lop3(a, b, c, (imm >> VALUE) as u8) });
    Bound::new(fns, &[Role::Dst(S::B32), src, src, src, Role::Imm(VALUE)])
}

pub(super) fn prmt(op: &Op, _: Written<'_>) -> Option<Bound> {
    let modes = [
        (Modifier::F4e, n::Prmt::F4e),
        (Modifier::B4e, n::Prmt::B4e),
        (Modifier::Rc8, n::Prmt::Rc8),
        (Modifier::Ecl, n::Prmt::Ecl),
        (Modifier::Ecr, n::Prmt::Ecr),
        (Modifier::Rc16, n::Prmt::Rc16),
    ];
    let fns = match modes.iter().find(|&&(modifier, _)| op.has(modifier)) {
        None => map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::prmt(a, b, c) }),
        Some(&(_, mode)) => with_variants!(mode, MODE: n::Prmt => {
            map3!(|a: u32, b: u32, c: u32| -> u32 { n::b32::prmt_mode(a, b, c, MODE) })
        }; F4e B4e Rc8 Ecl Ecr Rc16),
    };
    Bound::ternary(fns, S::B32)
}
