//! Approximate functions: PTX `.approx` and `div.full` (manual 9.7.3).
//!
//! On `sm_90` each is a short fixed sequence of multiplications around a primitive of the
//! special-function unit; the sequences are those that ptxas emits. The primitives RCP, RSQ, SQRT,
//! EX2, LG2, SIN, COS and TANH are modelled exactly (`unit`); EX2 and TANH in 16 bits are truncations of
//! those in 32, RCP64H and RSQ64H truncations of RCP and RSQ.
//!
//! ```
//! use numerics::approx;
//! assert_eq!(approx::rcp_f32(3.0_f32.to_bits(), false), 0x3eaa_aaab);
//! assert_eq!(approx::ex2_f32((-0.0_f32).to_bits(), true), 1.0_f32.to_bits());
//! ```

mod tables;
mod unit;

pub use unit::Interpolation;

use super::modes::{FloatCmp, Rounding};
use super::{cvt, f32 as single, f64 as double};

/// Functions whose primitive is one interpolation of words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    /// RCP, whose argument is the fraction.
    Reciprocal,
    /// RSQ, whose argument is the fraction below the odd bit of the exponent.
    ReciprocalRoot,
    /// SQRT, of the same argument.
    Root,
    /// EX2, whose argument is the fraction of the exponent.
    Power,
}

impl Function {
    /// How its significand is made.
    pub const fn interpolation(self) -> Interpolation {
        match self {
            Function::Reciprocal => unit::RECIPROCAL,
            Function::ReciprocalRoot => unit::RECIPROCAL_ROOT,
            Function::Root => unit::ROOT,
            Function::Power => unit::POWER,
        }
    }
}

const SIGN: u32 = 0x8000_0000;
const MIN_NORMAL: u32 = 0x0080_0000;
const TWO_POW_126: u32 = 0x7e80_0000;
const TWO_POW_24: u32 = 0x4b80_0000;
const TWO_POW_12: u32 = 0x4580_0000;
const TWO_POW_MINUS_12: u32 = 0x3980_0000;
const HALF: u32 = 0x3f00_0000;
const QUARTER: u32 = 0x3e80_0000;
const ONE: u32 = 0x3f80_0000;
/// 1 / (2 pi), as ptxas multiplies it in front of SIN and COS.
const TURNS: u32 = 0x3e22_f983;

#[inline(always)]
fn mul(a: u32, b: u32) -> u32 {
    single::mul(a, b, Rounding::Rn, false)
}

/// `|a| < 2^-126`, false for NaN.
#[inline(always)]
fn below_normal(a: u32) -> bool {
    a & !SIGN < MIN_NORMAL
}

/// `|a| > 2^126`, false for NaN.
#[inline(always)]
fn huge(a: u32) -> bool {
    a & !SIGN > TWO_POW_126 && !single::is_nan(a)
}

/// `ex2.approx{.ftz}.f32` (manual 9.7.3.21).
#[inline(always)]
pub fn ex2_f32(a: u32, ftz: bool) -> u32 {
    // Below -126 (and for NaN) the plain form squares the result of half the exponent.
    let direct = ftz || single::cmp(a, 0xc2fc_0000, FloatCmp::Geu, false);
    let r = unit::ex2(if direct { a } else { mul(a, HALF) });
    if direct { r } else { mul(r, r) }
}

/// `lg2.approx{.ftz}.f32` (manual 9.7.3.20).
#[inline(always)]
pub fn lg2_f32(a: u32, ftz: bool) -> u32 {
    let scaled = !ftz && below_normal(a);
    let r = unit::lg2(if scaled { mul(a, TWO_POW_24) } else { a });
    if scaled { single::add(r, 0xc1c0_0000, Rounding::Rn, false) } else { r }
}

/// `rcp.approx{.ftz}.f32` (manual 9.7.3.13).
#[inline(always)]
pub fn rcp_f32(a: u32, ftz: bool) -> u32 {
    if ftz {
        return unit::rcp(a);
    }
    let scale = if below_normal(a) { TWO_POW_24 } else { ONE };
    let scale = if huge(a) { QUARTER } else { scale };
    mul(scale, unit::rcp(mul(a, scale)))
}

/// `rsqrt.approx{.ftz}.f32` (manual 9.7.3.16).
#[inline(always)]
pub fn rsqrt_f32(a: u32, ftz: bool) -> u32 {
    let scaled = !ftz && below_normal(a);
    let r = unit::rsq(if scaled { mul(a, TWO_POW_24) } else { a });
    if scaled { mul(r, TWO_POW_12) } else { r }
}

/// `sqrt.approx{.ftz}.f32` (manual 9.7.3.15).
#[inline(always)]
pub fn sqrt_f32(a: u32, ftz: bool) -> u32 {
    let scaled = !ftz && below_normal(a);
    let r = unit::sqrt(if scaled { mul(a, TWO_POW_24) } else { a });
    if scaled { mul(r, TWO_POW_MINUS_12) } else { r }
}

/// `sin.approx{.ftz}.f32` (manual 9.7.3.18); `.ftz` changes nothing.
#[inline(always)]
pub fn sin_f32(a: u32, _ftz: bool) -> u32 {
    unit::sin(single::mul(a, TURNS, Rounding::Rz, false))
}

/// `cos.approx{.ftz}.f32` (manual 9.7.3.19); `.ftz` changes nothing.
#[inline(always)]
pub fn cos_f32(a: u32, _ftz: bool) -> u32 {
    unit::cos(single::mul(a, TURNS, Rounding::Rz, false))
}

/// `tanh.approx.f32` (manual 9.7.3.22): TANH itself.
#[inline(always)]
pub fn tanh_f32(a: u32) -> u32 {
    unit::tanh(a)
}

/// `div.approx{.ftz}.f32` (manual 9.7.3.8).
#[inline(always)]
pub fn div_f32(a: u32, b: u32, ftz: bool) -> u32 {
    let (a, b) = div_factors_f32(a, b, ftz);
    single::mul(b, a, Rounding::Rn, ftz)
}

/// The numbers whose product is `div.approx{.ftz}.f32`.
#[inline(always)]
pub fn div_factors_f32(a: u32, b: u32, ftz: bool) -> (u32, u32) {
    if ftz {
        return (a, unit::rcp(b));
    }
    let scale = if below_normal(b) { TWO_POW_24 } else { ONE };
    (mul(a, scale), unit::rcp(mul(b, scale)))
}

/// `div.full{.ftz}.f32` (manual 9.7.3.8).
#[inline(always)]
pub fn div_full_f32(a: u32, b: u32, ftz: bool) -> u32 {
    let (a, b) = div_full_factors_f32(a, b, ftz);
    single::mul(b, a, Rounding::Rn, ftz)
}

/// The numbers whose product is `div.full{.ftz}.f32`.
#[inline(always)]
pub fn div_full_factors_f32(a: u32, b: u32, ftz: bool) -> (u32, u32) {
    let scale = if !ftz && below_normal(b) { TWO_POW_24 } else { ONE };
    let scale = if huge(b) { QUARTER } else { scale };
    let scaled = |x: u32| if scale == ONE { x } else { single::mul(x, scale, Rounding::Rn, ftz) };
    (scaled(a), unit::rcp(scaled(b)))
}

/// `ex2.approx.f16` (manual 9.7.4.10): EX2 truncated to `.f16`, subnormals kept, infinite from 2^16 on.
#[inline(always)]
pub fn ex2_f16(a: u16) -> u16 {
    const TWO_POW_16: u32 = 0x4780_0000;
    let r = unit::ex2(cvt::f32_f16(a));
    let truncated = cvt::f16_f32(r, Rounding::Rz);
    if (TWO_POW_16..single::NAN).contains(&r) { 0x7c00 } else { truncated }
}

/// `ex2.approx.ftz.bf16` (manual 9.7.4.10): EX2 truncated to `.bf16`.
#[inline(always)]
pub fn ex2_bf16(a: u16) -> u16 {
    (unit::ex2(cvt::f32_bf16(a, false)) >> 16) as u16
}

/// `tanh.approx.f16` (manual 9.7.4.9): TANH truncated to `.f16`, subnormals kept.
#[inline(always)]
pub fn tanh_f16(a: u16) -> u16 {
    cvt::f16_f32(unit::tanh(cvt::f32_f16(a)), Rounding::Rz)
}

/// `tanh.approx.bf16` (manual 9.7.4.9): TANH truncated to `.bf16`.
#[inline(always)]
pub fn tanh_bf16(a: u16) -> u16 {
    (unit::tanh(cvt::f32_bf16(a, false)) >> 16) as u16
}

macro_rules! pairs {
    ($($pair:ident, $one:ident, $ptx:literal;)*) => {$(
        #[doc = concat!("`", $ptx, "`: both halves on their own.")]
        #[inline(always)]
        pub fn $pair(a: u32) -> u32 {
            super::packed::map2x16(a, $one)
        }
    )*};
}

pairs! {
    ex2_f16x2, ex2_f16, "ex2.approx.f16x2";
    ex2_bf16x2, ex2_bf16, "ex2.approx.ftz.bf16x2";
    tanh_f16x2, tanh_f16, "tanh.approx.f16x2";
    tanh_bf16x2, tanh_bf16, "tanh.approx.bf16x2";
}

/// `rcp.approx.ftz.f64` (manual 9.7.3.14): RCP64H of the upper word, lower word 0.
#[inline(always)]
pub fn rcp_f64(a: u64) -> u64 {
    u64::from(unit::rcp64h((a >> 32) as u32)) << 32
}

/// `rsqrt.approx.ftz.f64` (manual 9.7.3.17): RSQ64H of the upper word, lower word 0.
#[inline(always)]
pub fn rsqrt_ftz_f64(a: u64) -> u64 {
    u64::from(unit::rsq64h((a >> 32) as u32)) << 32
}

/// `rsqrt.approx.f64` (manual 9.7.3.16): the sequence that ptxas emits, one step of third order from
/// RSQ64H. Subnormals are scaled by 2^54.
#[inline]
pub fn rsqrt_f64(a: u64) -> u64 {
    let high = (a >> 32) as u32;
    if high.wrapping_sub(0x0010_0000) < 0x7fe0_0000 {
        return rsqrt_step(a);
    }
    if a << 1 == 0 {
        return a & 1 << 63 | 0x7ff0_0000_0000_0000;
    }
    if double::is_nan(a) {
        return double::add(a, a, Rounding::Rn);
    }
    match a {
        0x7ff0_0000_0000_0000 => 0,
        _ if a >> 63 != 0 => double::NAN,
        _ => {
            let scaled = double::mul(a, 0x4350_0000_0000_0000, Rounding::Rn);
            double::mul(rsqrt_step(scaled), 0x41a0_0000_0000_0000, Rounding::Rn)
        }
    }
}

fn rsqrt_step(a: u64) -> u64 {
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const HALF: u64 = 0x3fe0_0000_0000_0000;
    const THREE_EIGHTHS: u64 = 0x3fd8_0000_0000_0000;
    let fma = |a, b, c| double::fma(a, b, c, Rounding::Rn);
    let y = rsqrt_ftz_f64(a);
    let square = double::mul(y, y, Rounding::Rn);
    let error = fma(a, double::neg(square), ONE);
    let series = fma(error, THREE_EIGHTHS, HALF);
    let correction = double::mul(y, error, Rounding::Rn);
    fma(series, correction, y)
}
