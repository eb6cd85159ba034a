//! Between `.f16`, `.bf16`, `.f32` and `.f64`, and to an integral value in the same format.

use crate::modes::{IntRounding, Rounding};
use crate::{bf16, f16, f32 as single, f64 as double, wide};

/// `cvt{.ftz}.f32.f32` with `.ftz` (without it the instruction is a move): flushes subnormals and
/// makes NaN canonical.
#[inline(always)]
pub fn f32_f32(a: u32, ftz: bool) -> u32 {
    match (ftz, single::is_nan(a)) {
        (false, _) => a,
        (true, true) => single::NAN,
        (true, false) => single::flush(a),
    }
}

/// `cvt.f16.f16`: an addition of -0.0 on the device, so NaN becomes canonical.
#[inline(always)]
pub fn f16_f16(a: u16) -> u16 {
    f16::canonical(a)
}

/// `cvt.f32.f16`, exact; NaN becomes canonical. `.ftz` changes nothing.
#[inline(always)]
pub fn f32_f16(a: u16) -> u32 {
    if f16::is_nan(a) { single::NAN } else { f16::widen(a).to_bits() }
}

/// `cvt{.ftz}.f32.bf16`, exact: a shift on the device, so NaN keeps its bits (with `ftz` it becomes
/// canonical).
#[inline(always)]
pub fn f32_bf16(a: u16, ftz: bool) -> u32 {
    f32_f32(u32::from(a) << 16, ftz)
}

/// An `.f64` NaN as an `.f32` NaN: quiet, with its sign and the upper part of its payload.
#[inline(always)]
fn narrow_nan(a: u64) -> u32 {
    (a >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (a >> 29) as u32 & 0x003f_ffff
}

/// `cvt.rnd{.ftz}.f32.f64`. A NaN becomes quiet and keeps its sign and the upper part of its payload.
#[inline(always)]
pub fn f32_f64(a: u64, rounding: Rounding, ftz: bool) -> u32 {
    let r = wide::narrow(f64::from_bits(a), rounding, ftz);
    if double::is_nan(a) { narrow_nan(a) } else { r }
}

/// `cvt{.ftz}.f64.f32`, exact. A NaN keeps its sign and payload and becomes quiet; with `ftz`, where
/// the device multiplies by 1 first, it is the canonical `.f32` NaN that is converted.
#[inline(always)]
pub fn f64_f32(a: u32, ftz: bool) -> u64 {
    let a = f32_f32(a, ftz);
    if single::is_nan(a) { widen_nan(a) } else { f64::from(f32::from_bits(a)).to_bits() }
}

/// An `.f32` NaN as an `.f64` NaN.
#[inline(always)]
fn widen_nan(a: u32) -> u64 {
    let sign = u64::from(a & 0x8000_0000) << 32;
    sign | 0x7ff8_0000_0000_0000 | u64::from(a & 0x007f_ffff) << 29
}

/// `cvt.f64.f16`, exact; NaN as for [`f64_f32`].
#[inline(always)]
pub fn f64_f16(a: u16) -> u64 {
    let x = f16::widen(a);
    if f16::is_nan(a) { widen_nan(x.to_bits()) } else { f64::from(x).to_bits() }
}

/// `cvt.f64.bf16`, exact; NaN as for [`f64_f32`].
#[inline(always)]
pub fn f64_bf16(a: u16) -> u64 {
    f64_f32(u32::from(a) << 16, false)
}

/// `cvt.rnd{.ftz}.f16.f32`. `.ftz` changes nothing: with `.rm` and `.rp` a subnormal becomes the smallest
/// `.f16` on the device.
#[inline(always)]
pub fn f16_f32(a: u32, rounding: Rounding) -> u16 {
    f16::narrow_to(f32::from_bits(a), rounding)
}

/// `cvt.rnd{.ftz}.bf16.f32`.
#[inline(always)]
pub fn bf16_f32(a: u32, rounding: Rounding, ftz: bool) -> u16 {
    let a = if ftz { single::flush(a) } else { a };
    bf16::narrow_to(f32::from_bits(a), rounding)
}

/// `cvt.rnd.f16.f64`; NaN as for [`f32_f64`].
#[inline(always)]
pub fn f16_f64(a: u64, rounding: Rounding) -> u16 {
    let nan = narrow_nan(a);
    let r = f16::narrow_to(wide::odd_f32(f64::from_bits(a)), rounding);
    if double::is_nan(a) { (nan >> 16 & 0x8000 | 0x7c00 | nan >> 13 & 0x3ff) as u16 } else { r }
}

/// `cvt.rnd.bf16.f64`; NaN as for [`f32_f64`].
#[inline(always)]
pub fn bf16_f64(a: u64, rounding: Rounding) -> u16 {
    let r = bf16::narrow_to(wide::odd_f32(f64::from_bits(a)), rounding);
    if double::is_nan(a) { (narrow_nan(a) >> 16) as u16 } else { r }
}

/// `cvt.rnd.f16.bf16`.
#[inline(always)]
pub fn f16_bf16(a: u16, rounding: Rounding) -> u16 {
    f16::narrow_to(bf16::widen(a), rounding)
}

/// `cvt.rnd.bf16.f16`.
#[inline(always)]
pub fn bf16_f16(a: u16, rounding: Rounding) -> u16 {
    bf16::narrow_to(f16::widen(a), rounding)
}

/// `cvt.rnd.f16x2.f32 d, a, b`: `a` in the upper half, `b` in the lower.
#[inline(always)]
pub fn f16x2_f32(a: u32, b: u32, rounding: Rounding) -> u32 {
    u32::from(f16_f32(a, rounding)) << 16 | u32::from(f16_f32(b, rounding))
}

/// `cvt.rnd.bf16x2.f32 d, a, b`: `a` in the upper half, `b` in the lower.
#[inline(always)]
pub fn bf16x2_f32(a: u32, b: u32, rounding: Rounding) -> u32 {
    u32::from(bf16_f32(a, rounding, false)) << 16 | u32::from(bf16_f32(b, rounding, false))
}

/// The integral value in the direction of `rounding`, with the sign of `x`.
#[inline(always)]
pub(super) fn integral32(x: f32, rounding: IntRounding) -> f32 {
    match rounding {
        IntRounding::Rni => x.round_ties_even(),
        IntRounding::Rzi => x.trunc(),
        IntRounding::Rmi => x.floor(),
        IntRounding::Rpi => x.ceil(),
    }
}

/// The integral value in the direction of `rounding`, with the sign of `x`.
#[inline(always)]
pub(super) fn integral64(x: f64, rounding: IntRounding) -> f64 {
    match rounding {
        IntRounding::Rni => x.round_ties_even(),
        IntRounding::Rzi => x.trunc(),
        IntRounding::Rmi => x.floor(),
        IntRounding::Rpi => x.ceil(),
    }
}

/// `cvt.irnd{.ftz}.f32.f32`: the nearest integral value, NaN canonical.
#[inline(always)]
pub fn round_f32(a: u32, rounding: IntRounding, ftz: bool) -> u32 {
    let a = if ftz { single::flush(a) } else { a };
    let r = integral32(f32::from_bits(a), rounding);
    if r.is_nan() { single::NAN } else { r.to_bits() }
}

/// `cvt.irnd.f64.f64`: the nearest integral value; a NaN becomes quiet.
#[inline(always)]
pub fn round_f64(a: u64, rounding: IntRounding) -> u64 {
    let r = integral64(f64::from_bits(a), rounding);
    if r.is_nan() { double::propagate(a, 0, 0) } else { r.to_bits() }
}

/// `cvt.irnd.f16.f16`: the nearest integral value, NaN canonical.
#[inline(always)]
pub fn round_f16(a: u16, rounding: IntRounding) -> u16 {
    f16::narrow(integral32(f16::widen(a), rounding), false)
}

/// `cvt.irnd.bf16.bf16`: the nearest integral value, NaN canonical.
#[inline(always)]
pub fn round_bf16(a: u16, rounding: IntRounding) -> u16 {
    bf16::narrow(integral32(bf16::widen(a), rounding), false)
}
