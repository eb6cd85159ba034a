//! Shapes: how a per-lane function becomes a loop over a warp.
//!
//! The macros [`map1!`], [`map2!`], [`map3!`], [`test2!`] and [`map_rows!`] take a closure-like body
//! and give [`LaneFns`]; the body is inlined into one loop a SIMD level.

use super::{LaneFns, LaneMask, Operands, Registers, Row, WARP_SIZE};

/// A type that register lanes are read and written as.
pub trait Lane: Copy + Default {
    /// The word of the row it is stored in.
    type Word: Copy;
    /// Rows a register of this type takes.
    const ROWS: u32;
    /// Reads a lane; bits above a narrow type are ignored.
    fn from_word(word: Self::Word) -> Self;
    /// Writes a lane; narrow types are extended by their signedness.
    fn to_word(self) -> Self::Word;
}

macro_rules! lane {
    ($($ty:ty: $word:ty, $rows:literal, $from:expr, $to:expr;)*) => {$(
        impl Lane for $ty {
            type Word = $word;
            const ROWS: u32 = $rows;
            #[inline(always)]
            fn from_word(word: $word) -> Self {
                let from: fn($word) -> $ty = $from;
                from(word)
            }
            #[inline(always)]
            fn to_word(self) -> $word {
                let to: fn($ty) -> $word = $to;
                to(self)
            }
        }
    )*};
}

lane! {
    u8: u32, 1, |w| w as u8, |v| v as u32;
    i8: u32, 1, |w| w as i8, |v| v as u32;
    u16: u32, 1, |w| w as u16, |v| v as u32;
    i16: u32, 1, |w| w as i16, |v| v as u32;
    u32: u32, 1, |w| w, |v| v;
    i32: u32, 1, |w| w as i32, |v| v as u32;
    f32: u32, 1, f32::from_bits, f32::to_bits;
    u64: u64, 2, |w| w, |v| v;
    i64: u64, 2, |w| w as i64, |v| v as u64;
    f64: u64, 2, f64::from_bits, f64::to_bits;
    u128: u128, 4, |w| w, |v| v;
}

const _: () = assert!(size_of::<Row>() == 4 * WARP_SIZE);

/// `d = f(a)`; the last argument of every `eval` is [`Operands::imm`].
pub trait Map1 {
    /// Source.
    type A: Lane;
    /// Result.
    type D: Lane;
    /// One lane.
    fn eval(a: Self::A, imm: u32) -> Self::D;
}

/// `d = f(a, b)`
pub trait Map2 {
    /// First source.
    type A: Lane;
    /// Second source.
    type B: Lane;
    /// Result.
    type D: Lane;
    /// One lane.
    fn eval(a: Self::A, b: Self::B, imm: u32) -> Self::D;
}

/// `d = f(a, b, c)`
pub trait Map3 {
    /// First source.
    type A: Lane;
    /// Second source.
    type B: Lane;
    /// Third source.
    type C: Lane;
    /// Result.
    type D: Lane;
    /// One lane.
    fn eval(a: Self::A, b: Self::B, c: Self::C, imm: u32) -> Self::D;
}

/// `mask of f(a, b)`, combined with a predicate by the code in `imm` (see [`combine`]).
pub trait Test2 {
    /// First source.
    type A: Lane;
    /// Second source.
    type B: Lane;
    /// One lane.
    fn eval(a: Self::A, b: Self::B) -> bool;
}

/// A function of whole rows and predicates, for what fits no other shape.
pub trait MapRows {
    /// The whole instruction.
    fn eval(registers: &mut Registers, operands: &Operands, mask: LaneMask);
}

#[inline(always)]
fn map1_body<O: Map1>(r: &mut Registers, o: &Operands, mask: LaneMask) {
    let a = r.read::<O::A>(o.src[0]);
    let mut d = [O::D::default(); WARP_SIZE];
    for at in 0..WARP_SIZE {
        d[at] = O::eval(a[at], o.imm);
    }
    r.write(o.dst, mask, &d);
}

#[inline(always)]
fn map2_body<O: Map2>(r: &mut Registers, o: &Operands, mask: LaneMask) {
    let a = r.read::<O::A>(o.src[0]);
    let b = r.read::<O::B>(o.src[1]);
    let mut d = [O::D::default(); WARP_SIZE];
    for at in 0..WARP_SIZE {
        d[at] = O::eval(a[at], b[at], o.imm);
    }
    r.write(o.dst, mask, &d);
}

#[inline(always)]
fn map3_body<O: Map3>(r: &mut Registers, o: &Operands, mask: LaneMask) {
    let a = r.read::<O::A>(o.src[0]);
    let b = r.read::<O::B>(o.src[1]);
    let c = r.read::<O::C>(o.src[2]);
    let mut d = [O::D::default(); WARP_SIZE];
    for at in 0..WARP_SIZE {
        d[at] = O::eval(a[at], b[at], c[at], o.imm);
    }
    r.write(o.dst, mask, &d);
}

/// [`Operands::imm`] of a [`Test2`]: the result alone, or combined with the source predicate.
pub(crate) mod combine {
    pub(crate) const NONE: u32 = 0;
    pub(crate) const AND: u32 = 1;
    pub(crate) const OR: u32 = 2;
    pub(crate) const XOR: u32 = 3;
}

/// Predicates of a test: 0 gets the result, 1 its complement, each combined with 2. A destination
/// with index 0 is not written.
#[inline(always)]
fn test2_body<O: Test2>(r: &mut Registers, o: &Operands, mask: LaneMask) {
    let a = r.read::<O::A>(o.src[0]);
    let b = r.read::<O::B>(o.src[1]);
    let mut lanes = [0u32; WARP_SIZE];
    for at in 0..WARP_SIZE {
        lanes[at] = (O::eval(a[at], b[at]) as u32) << at;
    }
    let result = lanes.iter().fold(0, |mask, lane| mask | lane);
    let c = r.predicate(o.pred[2]);
    let with = |value: LaneMask| match o.imm {
        combine::AND => value & c,
        combine::OR => value | c,
        combine::XOR => value ^ c,
        _ => value,
    };
    r.set_predicate(o.pred[0], mask, with(result));
    if o.pred[1].index() != 0 {
        r.set_predicate(o.pred[1], mask, with(!result));
    }
}

#[inline(always)]
fn map_rows_body<O: MapRows>(r: &mut Registers, o: &Operands, mask: LaneMask) {
    O::eval(r, o, mask);
}

macro_rules! levels {
    ($($make:ident $body:ident $shape:ident;)*) => {
        impl LaneFns {
            $(
                /// Compiles a semantic function for every SIMD level.
                pub fn $make<O: $shape>() -> LaneFns {
                    // SAFETY (of the function pointers): no requirement beyond the level's features,
                    // which `LaneFns::at` callers establish by `SimdLevel::detect`.
                    unsafe fn baseline<O: $shape>(r: &mut Registers, o: &Operands, mask: LaneMask) {
                        $body::<O>(r, o, mask);
                    }
                    #[cfg(target_arch = "x86_64")]
                    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
                    unsafe fn avx2<O: $shape>(r: &mut Registers, o: &Operands, mask: LaneMask) {
                        $body::<O>(r, o, mask);
                    }
                    #[cfg(target_arch = "x86_64")]
                    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
                    unsafe fn avx512<O: $shape>(r: &mut Registers, o: &Operands, mask: LaneMask) {
                        $body::<O>(r, o, mask);
                    }
                    #[cfg(target_arch = "x86_64")]
                    let levels = [baseline::<O> as super::LaneFn, avx2::<O>, avx512::<O>];
                    #[cfg(not(target_arch = "x86_64"))]
                    let levels = [baseline::<O> as super::LaneFn; 3];
                    LaneFns { levels }
                }
            )*
        }
    };
}

levels! {
    map1 map1_body Map1;
    map2 map2_body Map2;
    map3 map3_body Map3;
    test2 test2_body Test2;
    map_rows map_rows_body MapRows;
}

/// `map1!(|a: u32| -> u32 { … })`, with an optional last untyped argument for the immediate.
macro_rules! map1 {
    (|$a:ident: $A:ty| -> $D:ty $body:block) => { $crate::lanes::map1!(|$a: $A, _imm| -> $D $body) };
    (|$a:ident: $A:ty, $imm:ident| -> $D:ty $body:block) => {{
        struct Op;
        impl $crate::lanes::Map1 for Op {
            type A = $A;
            type D = $D;
            #[inline(always)]
            fn eval($a: $A, $imm: u32) -> $D $body
        }
        $crate::lanes::LaneFns::map1::<Op>()
    }};
}

/// `map2!(|a: u32, b: u32| -> u32 { … })`, with an optional last untyped argument for the immediate.
macro_rules! map2 {
    (|$a:ident: $A:ty, $b:ident: $B:ty| -> $D:ty $body:block) => { $crate::lanes::map2!(|$a: $A, $b: $B, _imm| -> $D $body) };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $imm:ident| -> $D:ty $body:block) => {{
        struct Op;
        impl $crate::lanes::Map2 for Op {
            type A = $A;
            type B = $B;
            type D = $D;
            #[inline(always)]
            fn eval($a: $A, $b: $B, $imm: u32) -> $D $body
        }
        $crate::lanes::LaneFns::map2::<Op>()
    }};
}

/// `map3!(|a: u32, b: u32, c: u32| -> u32 { … })`, with an optional last untyped argument for the immediate.
macro_rules! map3 {
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| -> $D:ty $body:block) => { $crate::lanes::map3!(|$a: $A, $b: $B, $c: $C, _imm| -> $D $body) };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $imm:ident| -> $D:ty $body:block) => {{
        struct Op;
        impl $crate::lanes::Map3 for Op {
            type A = $A;
            type B = $B;
            type C = $C;
            type D = $D;
            #[inline(always)]
            fn eval($a: $A, $b: $B, $c: $C, $imm: u32) -> $D $body
        }
        $crate::lanes::LaneFns::map3::<Op>()
    }};
}

/// `test2!(|a: u32, b: u32| { a < b })`: a comparison that sets predicates.
macro_rules! test2 {
    (|$a:ident: $A:ty, $b:ident: $B:ty| $body:block) => {{
        struct Op;
        impl $crate::lanes::Test2 for Op {
            type A = $A;
            type B = $B;
            #[inline(always)]
            fn eval($a: $A, $b: $B) -> bool $body
        }
        $crate::lanes::LaneFns::test2::<Op>()
    }};
}

/// `map_rows!(|registers, operands, mask| { … })`: whole rows.
macro_rules! map_rows {
    (|$r:ident, $o:ident, $mask:ident| $body:block) => {{
        struct Op;
        impl $crate::lanes::MapRows for Op {
            #[inline(always)]
            fn eval($r: &mut $crate::lanes::Registers, $o: &$crate::lanes::Operands, $mask: $crate::lanes::LaneMask) $body
        }
        $crate::lanes::LaneFns::map_rows::<Op>()
    }};
}

pub(crate) use {map_rows, map1, map2, map3, test2};
