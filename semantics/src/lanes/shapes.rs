//! How a function of one lane becomes a loop over a warp.
//!
//! Everything is a [`LaneOp`]: up to four sources and a source predicate in, a result and up to two
//! flags out; what is absent is `()`. The macros write one from a closure-like body:
//!
//! | macro | body |
//! |---|---|
//! | `map1!` to `map4!` | sources to a result |
//! | `select2!` | sources and a predicate to a result |
//! | `test1!`, `test2!` | sources to one flag, or a pair of flags |
//! | `flag2!`, `flag3!` | sources and a predicate to a result and a flag |
//! | `map_rows!` | whole rows, for what is no function of one lane |
//!
//! Every body may name one more, untyped argument at the end: [`Operands::imm`].

use super::simd::Level;
use super::{FULL, Lane, LaneMask, Operands, Registers, WARP_SIZE};

/// A function of one lane.
pub trait LaneOp {
    /// First source.
    type A: Lane;
    /// Second source.
    type B: Lane;
    /// Third source.
    type C: Lane;
    /// Fourth source.
    type E: Lane;
    /// Result.
    type D: Lane;
    /// Flags.
    type Q: Tests;
    /// One lane; `p` is the source predicate, `imm` is [`Operands::imm`].
    fn eval(a: Self::A, b: Self::B, c: Self::C, e: Self::E, p: bool, imm: u64) -> (Self::D, Self::Q);
}

/// A function of whole rows and predicates, for what fits no other shape.
pub trait RowOp {
    /// The whole instruction.
    fn eval(registers: &mut Registers, operands: &Operands, mask: LaneMask);
}

/// The flags that a lane gives: none, one, or the pair of a packed comparison.
pub trait Tests: Copy + Default {
    /// How many.
    const COUNT: usize;
    /// The flags.
    fn get(self, which: usize) -> bool;
}

impl Tests for () {
    const COUNT: usize = 0;
    #[inline(always)]
    fn get(self, _: usize) -> bool {
        false
    }
}

impl Tests for bool {
    const COUNT: usize = 1;
    #[inline(always)]
    fn get(self, _: usize) -> bool {
        self
    }
}

impl Tests for (bool, bool) {
    const COUNT: usize = 2;
    #[inline(always)]
    fn get(self, which: usize) -> bool {
        if which == 0 { self.0 } else { self.1 }
    }
}

/// How flags are combined with the source predicate: the low two bits of [`Operands::imm`] where a
/// form has a boolean operator.
pub mod combine {
    /// The flag as it is.
    pub const NONE: u64 = 0;
    /// `.and`
    pub const AND: u64 = 1;
    /// `.or`
    pub const OR: u64 = 2;
    /// `.xor`
    pub const XOR: u64 = 3;

    /// Applies the operator to each bit.
    #[inline(always)]
    pub fn apply(imm: u64, value: u32, c: u32) -> u32 {
        match imm & 3 {
            AND => value & c,
            OR => value | c,
            XOR => value ^ c,
            _ => value,
        }
    }
}

/// The loop over a warp.
///
/// Predicate 0 gets the flag and predicate 1 the second flag or, where there is only one, the
/// complement of the first, each after [`combine`] with predicate 2, the source.
#[inline(always)]
pub(super) fn run<O: LaneOp, L: Level>(r: &mut Registers, o: &Operands, mask: LaneMask) {
    // First, so that its address is known as early as can be.
    let to = r.words(o.dst);
    let a = r.load::<O::A>(o.src[0]);
    let b = r.load::<O::B>(o.src[1]);
    let c = r.load::<O::C>(o.src[2]);
    let e = r.load::<O::E>(o.src[3]);
    let p = r.predicate(o.pred[2]);
    let mut d = [O::D::default().to_word(); WARP_SIZE];
    let mut q = [[0u32; WARP_SIZE]; 2];
    // A plain loop: it is compiled for every operation and level, so that its size matters.
    let mut at = 0;
    while at < WARP_SIZE {
        let (result, flags) = O::eval(
            O::A::from_word(a[at]),
            O::B::from_word(b[at]),
            O::C::from_word(c[at]),
            O::E::from_word(e[at]),
            p & 1 << at != 0,
            o.imm,
        );
        d[at] = result.to_word();
        if O::Q::COUNT > 0 {
            q[0][at] = 0u32.wrapping_sub(flags.get(0).into());
        }
        if O::Q::COUNT > 1 {
            q[1][at] = 0u32.wrapping_sub(flags.get(1).into());
        }
        at += 1;
    }
    if O::D::ROWS > 0 {
        if mask == FULL || O::D::ROWS > 2 {
            r.store::<O::D>(o.dst, mask, d);
        } else {
            // SAFETY: both have as many words as the rows of the type; destinations are never constants.
            unsafe { L::merge(to, d.as_ptr().cast(), O::D::ROWS, mask) };
        }
    }
    if O::Q::COUNT > 0 {
        let first = L::sign_mask(&q[0]);
        let second = if O::Q::COUNT > 1 { L::sign_mask(&q[1]) } else { !first };
        r.set_predicate(o.pred[0], mask, combine::apply(o.imm, first, p));
        r.set_predicate(o.pred[1], mask, combine::apply(o.imm, second, p));
    }
}

/// As [`run`], of a level that its loops do not ask for.
#[expect(clippy::extra_unused_type_parameters, reason = "both are called alike")]
#[inline(always)]
pub(super) fn run_rows<O: RowOp, L: Level>(r: &mut Registers, o: &Operands, mask: LaneMask) {
    O::eval(r, o, mask);
}

/// A [`LaneOp`] with all its parts named.
#[macro_export]
macro_rules! lane_op {
    ([$a:ident: $A:ty] $($rest:tt)*) => { $crate::lanes::lane_op!([$a: $A, _b: ()] $($rest)*) };
    ([$a:ident: $A:ty, $b:ident: $B:ty] $($rest:tt)*) => { $crate::lanes::lane_op!([$a: $A, $b: $B, _c: ()] $($rest)*) };
    ([$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty] $($rest:tt)*) => { $crate::lanes::lane_op!([$a: $A, $b: $B, $c: $C, _e: ()] $($rest)*) };
    ([$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty] $p:ident $imm:ident -> $D:ty, $Q:ty: $body:expr) => {{
        struct Op;
        impl $crate::lanes::LaneOp for Op {
            type A = $A;
            type B = $B;
            type C = $C;
            type E = $E;
            type D = $D;
            type Q = $Q;
            #[inline(always)]
            fn eval($a: $A, $b: $B, $c: $C, $e: $E, $p: bool, $imm: u64) -> ($D, $Q) { $body }
        }
        $crate::lanes::LaneFns::lanes::<Op>()
    }};
}

/// `map1!(|a: u32| -> u32 { … })`
#[macro_export]
macro_rules! map1 {
    (|$a:ident: $A:ty| -> $D:ty $body:block) => { $crate::lanes::map1!(|$a: $A, _imm| -> $D $body) };
    (|$a:ident: $A:ty, $imm:ident| -> $D:ty $body:block) => { $crate::lanes::lane_op!([$a: $A] _p $imm -> $D, (): ($body, ())) };
}

/// `map2!(|a: u32, b: u32| -> u32 { … })`
#[macro_export]
macro_rules! map2 {
    (|$a:ident: $A:ty, $b:ident: $B:ty| -> $D:ty $body:block) => { $crate::lanes::map2!(|$a: $A, $b: $B, _imm| -> $D $body) };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $imm:ident| -> $D:ty $body:block) => { $crate::lanes::lane_op!([$a: $A, $b: $B] _p $imm -> $D, (): ($body, ())) };
}

/// `map3!(|a: u32, b: u32, c: u32| -> u32 { … })`
#[macro_export]
macro_rules! map3 {
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| -> $D:ty $body:block) => { $crate::lanes::map3!(|$a: $A, $b: $B, $c: $C, _imm| -> $D $body) };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $imm:ident| -> $D:ty $body:block) => { $crate::lanes::lane_op!([$a: $A, $b: $B, $c: $C] _p $imm -> $D, (): ($body, ())) };
}

/// `map4!(|a: u32, b: u32, c: u32, e: u32| -> u32 { … })`
#[macro_export]
macro_rules! map4 {
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty| -> $D:ty $body:block) => { $crate::lanes::lane_op!([$a: $A, $b: $B, $c: $C, $e: $E] _p _imm -> $D, (): ($body, ())) };
}

/// `select2!(|a: u32, b: u32, p, imm| -> u32 { … })`: with the source predicate.
#[macro_export]
macro_rules! select2 {
    (|$a:ident: $A:ty, $b:ident: $B:ty, $p:ident, $imm:ident| -> $D:ty $body:block) => { $crate::lanes::lane_op!([$a: $A, $b: $B] $p $imm -> $D, (): ($body, ())) };
}

/// `test1!(|a: u32, imm| { a == 0 })`: sets a predicate.
#[macro_export]
macro_rules! test1 {
    (|$a:ident: $A:ty, $imm:ident| $body:block) => { $crate::lanes::lane_op!([$a: $A] _p $imm -> (), bool: ((), $body)) };
}

/// `test2!(|a: u32, b: u32| { a < b })`: sets predicates; `-> (bool, bool)` for two flags.
#[macro_export]
macro_rules! test2 {
    (|$a:ident: $A:ty, $b:ident: $B:ty| $body:block) => { $crate::lanes::test2!(|$a: $A, $b: $B, _imm| -> bool $body) };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $imm:ident| -> $Q:ty $body:block) => { $crate::lanes::lane_op!([$a: $A, $b: $B] _p $imm -> (), $Q: ((), $body)) };
}

/// `flag2!(|a: u32, b: u32, p| -> u32 { (result, flag) })`
#[macro_export]
macro_rules! flag2 {
    (|$a:ident: $A:ty, $b:ident: $B:ty, $p:ident| -> $D:ty $body:block) => { $crate::lanes::lane_op!([$a: $A, $b: $B] $p _imm -> $D, bool: $body) };
}

/// `flag3!(|a: u32, b: u32, c: u32, p, imm| -> u32 { (result, flag) })`
#[macro_export]
macro_rules! flag3 {
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $p:ident, $imm:ident| -> $D:ty $body:block) => { $crate::lanes::lane_op!([$a: $A, $b: $B, $c: $C] $p $imm -> $D, bool: $body) };
}

/// `map_rows!(|registers, operands, mask| { … })`: whole rows.
#[macro_export]
macro_rules! map_rows {
    (|$r:ident, $o:ident, $mask:ident| $body:block) => {{
        struct Op;
        impl $crate::lanes::RowOp for Op {
            #[inline(always)]
            fn eval($r: &mut $crate::lanes::Registers, $o: &$crate::lanes::Operands, $mask: $crate::lanes::LaneMask) $body
        }
        $crate::lanes::LaneFns::rows::<Op>()
    }};
}

pub use crate::{flag2, flag3, lane_op, map_rows, map1, map2, map3, map4, select2, test1, test2};
