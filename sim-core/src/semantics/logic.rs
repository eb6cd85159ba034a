//! Logic and shifts (ISA 9.7.8).

use ptx_frontend::{Modifiers, Op, ScalarType as S};

use super::{Bound, Role, Written, with_int};
use crate::lanes::{map_rows, map1, map2};

macro_rules! logical {
    ($name:ident, $a:ident, $b:ident, $e:expr) => {
        pub(super) fn $name(op: &Op, _: Written) -> Option<Bound> {
            let ty = op.ty(0)?;
            if ty == S::Pred {
                let fns = map_rows!(|r, o, mask| {
                    let ($a, $b) = (r.predicate(o.pred[1]), r.predicate(o.pred[2]));
                    r.set_predicate(o.pred[0], mask, $e);
                });
                return Bound::new(fns, &[Role::PredDst, Role::PredSrc, Role::PredSrc]);
            }
            Bound::binary(with_int!(ty, T => map2!(|$a: T, $b: T| -> T { $e })), ty)
        }
    };
}

logical!(and, a, b, a & b);
logical!(or, a, b, a | b);
logical!(xor, a, b, a ^ b);

pub(super) fn not(op: &Op, _: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    if ty == S::Pred {
        let fns = map_rows!(|r, o, mask| {
            let a = r.predicate(o.pred[1]);
            r.set_predicate(o.pred[0], mask, !a);
        });
        return Bound::new(fns, &[Role::PredDst, Role::PredSrc]);
    }
    Bound::unary(with_int!(ty, T => map1!(|a: T| -> T { !a })), ty)
}

pub(super) fn shl(op: &Op, _: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = with_int!(ty, T => map2!(|a: T, b: u32| -> T {
        if b >= T::BITS { 0 } else { a << b }
    }));
    Bound::new(fns, &[Role::Dst(ty), Role::Src(ty), Role::Src(S::U32)])
}

pub(super) fn shr(op: &Op, _: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = if ty.is_signed() {
        with_int!(ty, T => map2!(|a: T, b: u32| -> T { a >> b.min(T::BITS - 1) }))
    } else {
        with_int!(ty, T => map2!(|a: T, b: u32| -> T { if b >= T::BITS { 0 } else { a >> b } }))
    };
    Bound::new(fns, &[Role::Dst(ty), Role::Src(ty), Role::Src(S::U32)])
}
