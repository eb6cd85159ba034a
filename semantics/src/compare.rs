//! Comparison and selection (ISA 9.7.6 and 9.7.7).

use ptx_frontend::{CmpOp, Modifiers, Op, ScalarType as S};

use super::{Bound, Modes, Role, Written, ftz, with_bits, with_flag, with_float_cmp, with_int, with_int_cmp};
use crate::lanes::{LaneFns, combine, map3, select2, test2};
use numerics as n;
use numerics::{FloatCmp, IntCmp};

fn int_cmp(cmp: CmpOp) -> Option<IntCmp> {
    Some(match cmp {
        CmpOp::Eq => IntCmp::Eq,
        CmpOp::Ne => IntCmp::Ne,
        CmpOp::Lt | CmpOp::Lo => IntCmp::Lt,
        CmpOp::Le | CmpOp::Ls => IntCmp::Le,
        CmpOp::Gt | CmpOp::Hi => IntCmp::Gt,
        CmpOp::Ge | CmpOp::Hs => IntCmp::Ge,
        _ => return None,
    })
}

fn float_cmp(cmp: CmpOp) -> Option<FloatCmp> {
    Some(match cmp {
        CmpOp::Eq => FloatCmp::Eq,
        CmpOp::Ne => FloatCmp::Ne,
        CmpOp::Lt => FloatCmp::Lt,
        CmpOp::Le => FloatCmp::Le,
        CmpOp::Gt => FloatCmp::Gt,
        CmpOp::Ge => FloatCmp::Ge,
        CmpOp::Equ => FloatCmp::Equ,
        CmpOp::Neu => FloatCmp::Neu,
        CmpOp::Ltu => FloatCmp::Ltu,
        CmpOp::Leu => FloatCmp::Leu,
        CmpOp::Gtu => FloatCmp::Gtu,
        CmpOp::Geu => FloatCmp::Geu,
        CmpOp::Num => FloatCmp::Num,
        CmpOp::Nan => FloatCmp::Nan,
        CmpOp::Lo | CmpOp::Ls | CmpOp::Hi | CmpOp::Hs => return None,
    })
}

/// `less`, `equal`, `unordered` of two operands to whether the form's comparison is true.
macro_rules! holds {
    (int $m:ident, $modes:ident, $a:ident, $b:ident) => {
        $modes.holds($m::cmp($a, $b, IntCmp::Lt), $a == $b, false)
    };
    (float $f:path, $modes:ident, $a:ident, $b:ident $(, $ftz:expr)?) => {
        $modes.holds(
            $f($a, $b, FloatCmp::Lt $(, $ftz)?),
            $f($a, $b, FloatCmp::Eq $(, $ftz)?),
            $f($a, $b, FloatCmp::Nan $(, $ftz)?),
        )
    };
    (pair $f:path, $modes:ident, $a:ident, $b:ident) => {{
        let less = $f($a, $b, FloatCmp::Lt, $modes.ftz());
        let equal = $f($a, $b, FloatCmp::Eq, $modes.ftz());
        let unordered = $f($a, $b, FloatCmp::Nan, $modes.ftz());
        ($modes.holds(less.0, equal.0, unordered.0), $modes.holds(less.1, equal.1, unordered.1))
    }};
}

pub(super) fn setp(op: &Op, written: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let modes = Modes::of(op);
    let mut roles = smallvec::SmallVec::new();
    roles.push(Role::PredDst);
    if written.pair {
        roles.push(Role::PredDst);
    }
    roles.extend([Role::Src(ty), Role::Src(ty)]);
    if modes.bits() & 3 != combine::NONE {
        roles.push(Role::PredSrc);
    }
    Some(Bound { fns: tests(op, ty)?, roles, imm: modes.bits() })
}

fn tests(op: &Op, ty: S) -> Option<LaneFns> {
    let cmp = op.cmp()?;
    Some(match ty {
        S::F32 => with_float_cmp!(float_cmp(cmp)?, CMP => with_flag!(ftz(op), FTZ => {
            test2!(|a: u32, b: u32| { n::f32::cmp(a, b, CMP, FTZ) })
        })),
        S::F64 => with_float_cmp!(float_cmp(cmp)?, CMP => {
            test2!(|a: u64, b: u64| { n::f64::cmp(a, b, CMP) })
        }),
        S::F16 => test2!(|a: u16, b: u16, imm| -> bool {
            let modes = Modes::from_bits(imm);
            holds!(float n::f16::cmp, modes, a, b, modes.ftz())
        }),
        S::Bf16 => test2!(|a: u16, b: u16, imm| -> bool {
            let modes = Modes::from_bits(imm);
            holds!(float n::bf16::cmp, modes, a, b, modes.ftz())
        }),
        S::F16x2 => test2!(|a: u32, b: u32, imm| -> (bool, bool) {
            let modes = Modes::from_bits(imm);
            holds!(pair n::f16x2::cmp, modes, a, b)
        }),
        S::Bf16x2 => test2!(|a: u32, b: u32, imm| -> (bool, bool) {
            let modes = Modes::from_bits(imm);
            holds!(pair n::bf16x2::cmp, modes, a, b)
        }),
        _ => with_int_cmp!(int_cmp(cmp)?, CMP => with_int!(ty, m, T => {
            test2!(|a: T, b: T| { m::cmp(a, b, CMP) })
        })),
    })
}

/// `set`: the value of the destination type that stands for true, or zero.
pub(super) fn set(op: &Op, _: Written<'_>) -> Option<Bound> {
    let (to, from) = (op.ty(0)?, op.ty(1)?);
    let packed = from.lanes() == 2;
    // Of each half for packed sources.
    let truth = match to {
        S::U32 | S::S32 if packed => 0xffff,
        S::U32 | S::S32 => u32::MAX,
        S::U16 | S::S16 => 0xffff,
        S::F32 => n::f32::from_bool(true),
        S::F16 | S::F16x2 => n::f16::from_bool(true).into(),
        S::Bf16 | S::Bf16x2 => n::bf16::from_bool(true).into(),
        _ => return None,
    };
    let modes = Modes::of(op).with_value(truth);
    let mut bound = Bound::map(set_fns(from)?, to, &[from, from])?.modes(modes);
    if modes.bits() & 3 != combine::NONE {
        bound.roles.push(Role::PredSrc);
    }
    Some(bound)
}

fn set_fns(from: S) -> Option<LaneFns> {
    macro_rules! one {
        ($T:ty, $($holds:tt)*) => {
            select2!(|a: $T, b: $T, p, imm| -> u32 {
                let modes = Modes::from_bits(imm);
                if modes.combine(holds!($($holds)*, modes, a, b), p) { modes.value() } else { 0 }
            })
        };
    }
    macro_rules! half {
        ($f:path) => {
            select2!(|a: u16, b: u16, p, imm| -> u32 {
                let modes = Modes::from_bits(imm);
                if modes.combine(holds!(float $f, modes, a, b, modes.ftz()), p) { modes.value() } else { 0 }
            })
        };
    }
    macro_rules! pair {
        ($f:path) => {
            select2!(|a: u32, b: u32, p, imm| -> u32 {
                let modes = Modes::from_bits(imm);
                let (low, high) = holds!(pair $f, modes, a, b);
                let value = |flag| if modes.combine(flag, p) { modes.value() } else { 0 };
                value(low) | value(high) << 16
            })
        };
    }
    Some(match from {
        S::F32 => select2!(|a: u32, b: u32, p, imm| -> u32 {
            let modes = Modes::from_bits(imm);
            let flag = holds!(float n::f32::cmp, modes, a, b, modes.ftz());
            if modes.combine(flag, p) { modes.value() } else { 0 }
        }),
        S::F64 => one!(u64, float n::f64::cmp),
        S::F16 => half!(n::f16::cmp),
        S::Bf16 => half!(n::bf16::cmp),
        S::F16x2 => pair!(n::f16x2::cmp),
        S::Bf16x2 => pair!(n::bf16x2::cmp),
        _ => with_int!(from, m, T => one!(T, int m)),
    })
}

pub(super) fn selp(op: &Op, _: Written<'_>) -> Option<Bound> {
    let ty = op.ty(0)?;
    let fns = match ty.bits() {
        16 | 32 => select2!(|a: u32, b: u32, p, _imm| -> u32 { if p { a } else { b } }),
        64 => select2!(|a: u64, b: u64, p, _imm| -> u64 { if p { a } else { b } }),
        _ => return None,
    };
    Bound::new(fns, &[Role::Dst(ty), Role::Src(ty), Role::Src(ty), Role::PredSrc])
}

pub(super) fn slct(op: &Op, _: Written<'_>) -> Option<Bound> {
    let (ty, by) = (op.ty(0)?, op.ty(1)?);
    let fns = match by {
        S::S32 => with_bits!(ty, m, T => map3!(|a: T, b: T, c: u32| -> T { m::slct_s32(a, b, c) })),
        S::F32 => with_flag!(ftz(op), FTZ => {
            with_bits!(ty, m, T => map3!(|a: T, b: T, c: u32| -> T { m::slct_f32(a, b, c, FTZ) }))
        }),
        _ => return None,
    };
    Bound::map(fns, ty, &[ty, ty, by])
}
