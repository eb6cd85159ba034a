//! Tensor formats: `.tf32`, fp8 (`e4m3`, `e5m2`), fp6 (`e3m2`, `e2m3`), fp4 (`e2m1`), `ue8m0`,
//! `s2f6`, and `cvt.pack`.

use crate::modes::Rounding;
use crate::{bf16, f16, f32 as single};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// `cvt.rna.tf32.f32`, in integers as on the device: half a unit is added below infinity and the low
/// 13 bits are cleared, so that a NaN whose payload lies there becomes infinite.
#[inline(always)]
pub fn tf32_f32_rna(a: u32) -> u32 {
    let rounded = if a & !SIGN < INFINITY { a.wrapping_add(0x1000) } else { a };
    rounded & 0xffff_e000
}

/// `cvt.rna.satfinite.tf32.f32`, as on the device: after [`tf32_f32_rna`] what is not finite is
/// lowered by one unit.
#[inline(always)]
pub fn tf32_f32_rna_satfinite(a: u32) -> u32 {
    let r = tf32_f32_rna(a);
    if r & !SIGN >= INFINITY { r.wrapping_sub(0x2000) } else { r }
}

/// The NaN of `cvt.{rn,rz}.tf32.f32`.
pub const TF32_NAN: u32 = 0x7fff_e000;

/// `cvt.rn.tf32.f32` and `cvt.rz.tf32.f32`; NaN becomes [`TF32_NAN`].
#[inline(always)]
pub fn tf32_f32(a: u32, rounding: Rounding) -> u32 {
    let magnitude = a & !SIGN;
    let up = match rounding {
        Rounding::Rn => 0xfff + (a >> 13 & 1),
        Rounding::Rz => 0,
        Rounding::Rm => (a >> 31) * 0x1fff,
        Rounding::Rp => (1 - (a >> 31)) * 0x1fff,
    };
    let r = if magnitude < INFINITY { a.wrapping_add(up) } else { a } & 0xffff_e000;
    if single::is_nan(a) { TF32_NAN } else { r }
}

/// `.relu` of `cvt.{rn,rz}.tf32.f32`: what has a sign becomes +0.0.
#[inline(always)]
pub fn tf32_relu(a: u32) -> u32 {
    if a & SIGN != 0 { 0 } else { a }
}

/// `.satfinite` of `cvt.{rn,rz}.tf32.f32`: an infinity becomes the largest number of its sign.
#[inline(always)]
pub fn tf32_satfinite(a: u32) -> u32 {
    if a & !SIGN == INFINITY { a.wrapping_sub(0x2000) } else { a }
}

/// A format of at most 8 bits: fraction width, exponent bias, largest pattern, NaN pattern.
#[derive(Clone, Copy)]
struct Tiny {
    fraction: u32,
    bias: u32,
    max: u32,
    /// What NaN becomes, sign excluded; equal to `max` where the format has no NaN.
    nan: u32,
    /// Position of the sign bit.
    sign: u32,
}

const E4M3: Tiny = Tiny { fraction: 3, bias: 7, max: 0x7e, nan: 0x7f, sign: 7 };
const E5M2: Tiny = Tiny { fraction: 2, bias: 15, max: 0x7b, nan: 0x7f, sign: 7 };
const E3M2: Tiny = Tiny { fraction: 2, bias: 3, max: 0x1f, nan: 0x1f, sign: 5 };
const E2M3: Tiny = Tiny { fraction: 3, bias: 1, max: 0x1f, nan: 0x1f, sign: 5 };
const E2M1: Tiny = Tiny { fraction: 1, bias: 1, max: 0x07, nan: 0x07, sign: 3 };

/// Rounds an `f32` pattern to nearest even with `.satfinite` and optional `.relu`. NaN gives the
/// format's positive NaN, or its largest number where there is none.
#[inline(always)]
fn to_tiny(a: u32, format: Tiny, relu: bool) -> u8 {
    let magnitude = a & !SIGN;
    let drop = 23 - format.fraction;
    let rebias = (127 - format.bias) << 23;
    let half = (1 << (drop - 1)) - 1 + (magnitude >> drop & 1);
    let normal = magnitude.wrapping_add(half).wrapping_sub(rebias) >> drop;
    // Adding a power of two whose last bit is the format's smallest number rounds a subnormal.
    let magic = (127 - format.bias + 1 + drop) << 23;
    let subnormal = (f32::from_bits(magnitude) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
    let smallest_normal = (128 - format.bias) << 23;
    let r = if magnitude < smallest_normal { subnormal } else { normal };
    let r = if r > format.max { format.max } else { r };
    let r = if magnitude >= INFINITY { format.max } else { r };
    let negative = a >> 31;
    let r = if relu & (negative == 1) { 0 } else { r | negative << format.sign };
    (if magnitude > INFINITY { format.nan } else { r }) as u8
}

/// The `.f16` pattern of a number in a format of at most 8 bits; all but `e5m2` infinity and the NaN
/// patterns are exact.
#[inline(always)]
fn from_tiny(a: u8, format: Tiny) -> u16 {
    let a = u32::from(a);
    let magnitude = a & ((1 << format.sign) - 1);
    let sign = (a >> format.sign & 1) as u16;
    let fraction = f32::from_bits((magnitude << (23 - format.fraction)) + ((128 - format.bias) << 23));
    let offset = f32::from_bits((128 - format.bias) << 23);
    let normal = f32::from_bits((magnitude << (23 - format.fraction)) + ((127 - format.bias) << 23));
    let x = if magnitude >> format.fraction == 0 { fraction - offset } else { normal };
    let bits = f16::narrow(x, false);
    let bits = if format.nan > format.max && magnitude > format.max {
        // e5m2: 0x7c is infinity; every other pattern up here is NaN.
        if format.bias == 15 && magnitude == 0x7c { 0x7c00 } else { f16::NAN }
    } else {
        bits
    };
    if bits == f16::NAN { bits } else { bits | sign << 15 }
}

macro_rules! tiny_pair {
    ($format:expr, $name:literal, $pair:ty, $up:literal, $from_f32:ident, $from_f16x2:ident, $from_bf16x2:ident, $to_f16x2:ident, $to_bf16x2:ident) => {
        #[doc = concat!("`cvt.rn.satfinite{.relu}.", $name, "x2.f32 d, a, b`: `a` in the upper part.")]
        #[inline(always)]
        pub fn $from_f32(a: u32, b: u32, relu: bool) -> $pair {
            <$pair>::from(to_tiny(a, $format, relu)) << $up | <$pair>::from(to_tiny(b, $format, relu))
        }

        #[doc = concat!("`cvt.rn.satfinite{.relu}.", $name, "x2.f16x2`.")]
        #[inline(always)]
        pub fn $from_f16x2(a: u32, relu: bool) -> $pair {
            let widen = |h: u32| f16::widen(h as u16).to_bits();
            $from_f32(widen(a >> 16), widen(a), relu)
        }

        #[doc = concat!("`cvt.rn.satfinite{.relu}.", $name, "x2.bf16x2`.")]
        #[inline(always)]
        pub fn $from_bf16x2(a: u32, relu: bool) -> $pair {
            $from_f32(a & 0xffff_0000, a << 16, relu)
        }

        #[doc = concat!("`cvt.rn.f16x2.", $name, "x2`; `.relu` is `f16x2::relu`.")]
        #[inline(always)]
        pub fn $to_f16x2(a: $pair) -> u32 {
            let low = from_tiny((a & ((1 << $up) - 1)) as u8, $format);
            u32::from(from_tiny((a >> $up) as u8, $format)) << 16 | u32::from(low)
        }

        #[doc = concat!("`cvt.rn{.scaled::n2::ue8m0}.bf16x2.", $name, "x2`: each element times 2 to the power of its `ue8m0` scale factor less 127 (`0x7f7f` for none).")]
        #[inline(always)]
        pub fn $to_bf16x2(a: $pair, scale: u16) -> u32 {
            let halves = $to_f16x2(a);
            let one = |h: u32, s: u16| scaled_bf16(f16::widen(h as u16), s as u8);
            u32::from(one(halves >> 16, scale >> 8)) << 16 | u32::from(one(halves, scale))
        }
    };
}

tiny_pair!(E4M3, "e4m3", u16, 8, e4m3x2_f32, e4m3x2_f16x2, e4m3x2_bf16x2, f16x2_e4m3x2, bf16x2_e4m3x2);
tiny_pair!(E5M2, "e5m2", u16, 8, e5m2x2_f32, e5m2x2_f16x2, e5m2x2_bf16x2, f16x2_e5m2x2, bf16x2_e5m2x2);
tiny_pair!(E3M2, "e3m2", u16, 8, e3m2x2_f32, e3m2x2_f16x2, e3m2x2_bf16x2, f16x2_e3m2x2, bf16x2_e3m2x2);
tiny_pair!(E2M3, "e2m3", u16, 8, e2m3x2_f32, e2m3x2_f16x2, e2m3x2_bf16x2, f16x2_e2m3x2, bf16x2_e2m3x2);
tiny_pair!(E2M1, "e2m1", u8, 4, e2m1x2_f32, e2m1x2_f16x2, e2m1x2_bf16x2, f16x2_e2m1x2, bf16x2_e2m1x2);

/// `x * 2^(scale - 127)` as `.bf16`; a scale of 255 is NaN.
#[inline(always)]
fn scaled_bf16(x: f32, scale: u8) -> u16 {
    // Both factors and the product are exact in f64; the result has at most 8 significant bits.
    let factor = f64::from_bits((u64::from(scale) + 1023 - 127) << 52);
    let r = bf16::narrow(crate::wide::odd_f32(f64::from(x) * factor), false);
    if scale == 255 { bf16::NAN } else { r }
}

/// One `ue8m0` (a power of two, `2^(pattern - 127)`) from the magnitude of an `.f32`, rounded toward
/// zero or, with [`Rounding::Rp`], up. NaN gives `0xff`; with `satfinite` what is too large gives
/// `0xfe`.
#[inline(always)]
fn ue8m0_from(a: u32, rounding: Rounding, satfinite: bool) -> u8 {
    let magnitude = a & !SIGN;
    let up = match rounding {
        Rounding::Rp => 0x007f_ffff,
        _ => 0,
    };
    // A subnormal above 2^-127 (pattern 0) rounds up to pattern 1; zero and smaller ones are 0.
    let subnormal = u32::from(matches!(rounding, Rounding::Rp) && magnitude > 0x0040_0000);
    let field = if magnitude < 0x0080_0000 { subnormal } else { (magnitude + up) >> 23 };
    let field = if satfinite && field > 0xfe { 0xfe } else { field };
    if single::is_nan(a) { 0xff } else { field as u8 }
}

/// `cvt.{rz,rp}{.satfinite}.ue8m0x2.f32 d, a, b`: `a` in the upper byte.
#[inline(always)]
pub fn ue8m0x2_f32(a: u32, b: u32, rounding: Rounding, satfinite: bool) -> u16 {
    let high = ue8m0_from(a, rounding, satfinite);
    u16::from(high) << 8 | u16::from(ue8m0_from(b, rounding, satfinite))
}

/// `cvt.{rz,rp}{.satfinite}.ue8m0x2.bf16x2`.
#[inline(always)]
pub fn ue8m0x2_bf16x2(a: u32, rounding: Rounding, satfinite: bool) -> u16 {
    ue8m0x2_f32(a & 0xffff_0000, a << 16, rounding, satfinite)
}

/// `cvt.rn.bf16x2.ue8m0x2`.
#[inline(always)]
pub fn bf16x2_ue8m0x2(a: u16) -> u32 {
    u32::from(scaled_bf16(1.0, (a >> 8) as u8)) << 16 | u32::from(scaled_bf16(1.0, a as u8))
}

/// One `s2f6` (two's complement, 6 fraction bits) from `x * 2^(127 - scale)`, to nearest even.
#[inline(always)]
fn s2f6_from(a: u32, scale: u8, relu: bool) -> u8 {
    let x = f64::from(f32::from_bits(a)) * f64::from_bits((1023 + 127 + 6 - u64::from(scale)) << 52);
    let r = x.round_ties_even() as i8;
    let r = if x.is_nan() { i8::MAX } else { r };
    (if relu { r.max(0) } else { r }) as u8
}

/// `cvt.rn.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.f32 d, a, b`: each input divided by 2 to the
/// power of its scale factor less 127 (`0x7f7f` for none).
#[inline(always)]
pub fn s2f6x2_f32(a: u32, b: u32, scale: u16, relu: bool) -> u16 {
    let high = s2f6_from(a, (scale >> 8) as u8, relu);
    u16::from(high) << 8 | u16::from(s2f6_from(b, scale as u8, relu))
}

/// `cvt.rn.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.bf16x2`.
#[inline(always)]
pub fn s2f6x2_bf16x2(a: u32, scale: u16, relu: bool) -> u16 {
    s2f6x2_f32(a & 0xffff_0000, a << 16, scale, relu)
}

/// `cvt.rn{.scaled::n2::ue8m0}.bf16x2.s2f6x2`; `.relu` is `bf16x2::relu`.
#[inline(always)]
pub fn bf16x2_s2f6x2(a: u16, scale: u16) -> u32 {
    let one = |x: u16, s: u16| scaled_bf16(f32::from(x as u8 as i8) / 64.0, s as u8);
    u32::from(one(a >> 8, scale >> 8)) << 16 | u32::from(one(a, scale))
}

macro_rules! pack {
    ($name:ident, $ty:literal, $bits:literal, $low:expr, $high:expr) => {
        #[doc = concat!("`cvt.pack.sat.", $ty, ".s32.b32 d, a, b, c`: `a` and `b` limited to `.", $ty, "`, `a` above `b`, over the low bits of `c` moved up.")]
        #[inline(always)]
        pub fn $name(a: u32, b: u32, c: u32) -> u32 {
            let one = |x: u32| (x as i32).clamp($low, $high) as u32 & ((1 << $bits) - 1);
            one(a) << $bits | one(b) | c << (2 * $bits)
        }
    };
}

pack!(pack_u8_s32, "u8", 8, 0, 255);
pack!(pack_s8_s32, "s8", 8, -128, 127);
pack!(pack_u4_s32, "u4", 4, 0, 15);
pack!(pack_s4_s32, "s4", 4, -8, 7);
pack!(pack_u2_s32, "u2", 2, 0, 3);
pack!(pack_s2_s32, "s2", 2, -2, 1);

/// `cvt.pack.sat.u16.s32 d, a, b`: `a` in the upper half.
#[inline(always)]
pub fn pack_u16_s32(a: u32, b: u32) -> u32 {
    let one = |x: u32| (x as i32).clamp(0, 0xffff) as u32;
    one(a) << 16 | one(b)
}

/// `cvt.pack.sat.s16.s32 d, a, b`: `a` in the upper half.
#[inline(always)]
pub fn pack_s16_s32(a: u32, b: u32) -> u32 {
    let one = |x: u32| (x as i32).clamp(-0x8000, 0x7fff) as u32 & 0xffff;
    one(a) << 16 | one(b)
}
