//! Stand-ins for primitives of the special-function unit without a public model.
//!
//! Each is a natural derivation, not the device's bits; the hash certificate says how far off it is.
//! A measured model replaces the body of one function here and nothing else.

use crate::numerics::modes::Rounding;
use crate::numerics::{cvt, f32 as single};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// MUFU.SQRT on `.f32` bits. Stand-in: the correctly rounded square root of the flushed operand.
#[inline]
pub fn sqrt_unit(a: u32) -> u32 {
    single::sqrt(a, Rounding::Rn, true)
}

/// MUFU.TANH on `.f32` bits; subnormals pass through. Stand-in: the correctly rounded value, to
/// within the last bit of an `f64` evaluation.
#[inline]
pub fn tanh_unit(a: u32) -> u32 {
    let x = f32::from_bits(a);
    match a & !SIGN {
        m if m > INFINITY => single::NAN,
        m if m < 0x0080_0000 => a,
        _ => (f64::from(x).tanh() as f32).to_bits(),
    }
}

/// MUFU.TANH.F16. Stand-in: [`tanh_unit`] truncated, as the device forms EX2.F16 from EX2.
#[inline]
pub fn tanh_unit_f16(a: u16) -> u16 {
    cvt::f16_f32(tanh_unit(cvt::f32_f16(a)), Rounding::Rz, false)
}

/// MUFU.TANH.BF16. Stand-in: [`tanh_unit`] truncated, as the device forms EX2.BF16 from EX2.
#[inline]
pub fn tanh_unit_bf16(a: u16) -> u16 {
    (tanh_unit(cvt::f32_bf16(a, false)) >> 16) as u16
}

/// The upper word of an `f64`, rounded to nearest (ties to even) at 20 fraction bits, subnormals
/// flushed.
fn upper_word(x: f64) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff_ffff + (bits >> 32 & 1)) >> 32;
    let r = if x.is_finite() { rounded as u32 } else { (bits >> 32) as u32 };
    if r & 0x7ff0_0000 == 0 { r & SIGN } else { r }
}

/// MUFU.RCP64H: the upper word of 1 / a from the upper word of a. Stand-in: correctly rounded to 20
/// fraction bits. Subnormals count as zeros; NaN is `0x7fffffff`.
#[inline]
pub fn rcp64h_unit(high: u32) -> u32 {
    let magnitude = high & !SIGN;
    match magnitude {
        m if m > 0x7ff0_0000 => single::NAN,
        m if m < 0x0010_0000 => high & SIGN | 0x7ff0_0000,
        _ => upper_word(1.0 / f64::from_bits(u64::from(high) << 32)),
    }
}

/// MUFU.RSQ64H: the upper word of 1 / sqrt(a) from the upper word of a. Stand-in: correctly rounded
/// to 20 fraction bits. Subnormals count as zeros; NaN is `0x7fffffff`.
#[inline]
pub fn rsq64h_unit(high: u32) -> u32 {
    let magnitude = high & !SIGN;
    match magnitude {
        m if m > 0x7ff0_0000 => single::NAN,
        m if m < 0x0010_0000 => high & SIGN | 0x7ff0_0000,
        _ if high & SIGN != 0 => single::NAN,
        _ => upper_word(1.0 / f64::from_bits(u64::from(high) << 32).sqrt()),
    }
}
