//! Comparison and selection (ISA 9.7.6 and 9.7.7).

use ptx_frontend::{CmpOp, Modifier, Modifiers, Op, ScalarType as S};

use super::{Bound, Role, Written, with_int};
use crate::lanes::{LaneFns, map_rows, test2};

/// The code of the combining operator for [`crate::lanes`].
fn combine(op: &Op) -> u32 {
    use crate::lanes::combine as c;
    if op.has(Modifier::And) {
        c::AND
    } else if op.has(Modifier::Or) {
        c::OR
    } else if op.has(Modifier::Xor) {
        c::XOR
    } else {
        c::NONE
    }
}

pub(super) fn setp(op: &Op, written: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty {
        S::F32 if !op.has(Modifier::Ftz) => float32(op.cmp()?),
        S::F64 => float64(op.cmp()?),
        _ => integer(op.cmp()?, ty)?,
    };
    let mut roles: smallvec::SmallVec<[Role; 6]> = smallvec::SmallVec::new();
    roles.extend([Role::PredDst, if written.pair { Role::PredDst } else { Role::NoPred }]);
    roles.extend([Role::Src(ty), Role::Src(ty)]);
    let imm = combine(op);
    if imm != 0 {
        roles.push(Role::PredSrc);
    }
    Some(Bound { fns, roles, imm })
}

fn integer(cmp: CmpOp, ty: S) -> Option<LaneFns> {
    // `.lo .ls .hi .hs` are the unsigned comparisons of bit-size types.
    Some(with_int!(ty, T => match cmp {
        CmpOp::Eq => test2!(|a: T, b: T| { a == b }),
        CmpOp::Ne => test2!(|a: T, b: T| { a != b }),
        CmpOp::Lt | CmpOp::Lo => test2!(|a: T, b: T| { a < b }),
        CmpOp::Le | CmpOp::Ls => test2!(|a: T, b: T| { a <= b }),
        CmpOp::Gt | CmpOp::Hi => test2!(|a: T, b: T| { a > b }),
        CmpOp::Ge | CmpOp::Hs => test2!(|a: T, b: T| { a >= b }),
        _ => return None,
    }))
}

macro_rules! float_tests {
    ($name:ident, $T:ty) => {
        #[allow(clippy::double_comparisons, clippy::neg_cmp_op_on_partial_ord, clippy::nonminimal_bool)]
        fn $name(cmp: CmpOp) -> LaneFns {
            match cmp {
                CmpOp::Eq => test2!(|a: $T, b: $T| { a == b }),
                CmpOp::Ne => test2!(|a: $T, b: $T| { a < b || a > b }),
                CmpOp::Lt | CmpOp::Lo => test2!(|a: $T, b: $T| { a < b }),
                CmpOp::Le | CmpOp::Ls => test2!(|a: $T, b: $T| { a <= b }),
                CmpOp::Gt | CmpOp::Hi => test2!(|a: $T, b: $T| { a > b }),
                CmpOp::Ge | CmpOp::Hs => test2!(|a: $T, b: $T| { a >= b }),
                CmpOp::Equ => test2!(|a: $T, b: $T| { !(a < b || a > b) }),
                CmpOp::Neu => test2!(|a: $T, b: $T| { a != b }),
                CmpOp::Ltu => test2!(|a: $T, b: $T| { !(a >= b) }),
                CmpOp::Leu => test2!(|a: $T, b: $T| { !(a > b) }),
                CmpOp::Gtu => test2!(|a: $T, b: $T| { !(a <= b) }),
                CmpOp::Geu => test2!(|a: $T, b: $T| { !(a < b) }),
                CmpOp::Num => test2!(|a: $T, b: $T| { !a.is_nan() && !b.is_nan() }),
                CmpOp::Nan => test2!(|a: $T, b: $T| { a.is_nan() || b.is_nan() }),
            }
        }
    };
}

float_tests!(float32, f32);
float_tests!(float64, f64);

pub(super) fn selp(op: &Op, _: Written) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty.bits() {
        16 | 32 => map_rows!(|r, o, mask| {
            let (a, b, p) = (r.read::<u32>(o.src[0]), r.read::<u32>(o.src[1]), r.predicate(o.pred[0]));
            let mut d = [0u32; 32];
            for at in 0..32 {
                d[at] = if p >> at & 1 != 0 { a[at] } else { b[at] };
            }
            r.write(o.dst, mask, &d);
        }),
        64 => map_rows!(|r, o, mask| {
            let (a, b, p) = (r.read::<u64>(o.src[0]), r.read::<u64>(o.src[1]), r.predicate(o.pred[0]));
            let mut d = [0u64; 32];
            for at in 0..32 {
                d[at] = if p >> at & 1 != 0 { a[at] } else { b[at] };
            }
            r.write(o.dst, mask, &d);
        }),
        _ => return None,
    };
    Bound::new(fns, &[Role::Dst(ty), Role::Src(ty), Role::Src(ty), Role::PredSrc])
}
