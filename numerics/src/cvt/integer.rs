//! Between integers and floats, and between integer types.
//!
//! Float to integer clamps to the destination's range. NaN gives 0, or, for a 64-bit destination or
//! an `.f64` source, the pattern with only the top bit set.

use super::float::{integral32, integral64};
use crate::modes::{IntRounding, Rounding};
use crate::{bf16, f16, f32 as single, soft, wide};

/// An integer type that integral floats are limited to.
trait Limited {
    /// `x` limited to the type's range; `x` is integral, infinite or NaN, and NaN gives anything.
    fn from_integral(x: f64) -> Self;
}

macro_rules! limited {
    (small: $($small:ty)*; large: $($large:ty)*) => {
        $(impl Limited for $small {
            /// Without a conversion instruction, which would clamp and not vectorise: the last bit of
            /// a number near 1.5 * 2^52 is 1, so that its low word is the integer.
            #[inline(always)]
            fn from_integral(x: f64) -> Self {
                const LOW: f64 = <$small>::MIN as f64;
                const HIGH: f64 = <$small>::MAX as f64;
                let x = if x < LOW { LOW } else { x };
                let x = if x > HIGH { HIGH } else { x };
                (x + 6_755_399_441_055_744.0).to_bits() as $small
            }
        })*
        $(impl Limited for $large {
            /// Rust's `as` clamps.
            #[inline(always)]
            fn from_integral(x: f64) -> Self {
                x as $large
            }
        })*
    };
}

limited!(small: u8 i8 u16 i16 u32 i32; large: u64 i64);

macro_rules! to_integer {
    ($(($dst:ident, $bits:ty, $value:ty, $from32:ident, $from64:ident, $from16:ident, $frombf:ident, $nan32:expr, $nan64:expr)),* $(,)?) => {$(
        #[doc = concat!("`cvt.irnd{.ftz}.", stringify!($dst), ".f32`.")]
        #[inline(always)]
        pub fn $from32(a: u32, rounding: IntRounding, ftz: bool) -> $bits {
            let x = f32::from_bits(if ftz { single::flush(a) } else { a });
            let r = <$value>::from_integral(integral32(x, rounding).into()) as $bits;
            if x.is_nan() { $nan32 } else { r }
        }

        #[doc = concat!("`cvt.irnd.", stringify!($dst), ".f64`.")]
        #[inline(always)]
        pub fn $from64(a: u64, rounding: IntRounding) -> $bits {
            let x = f64::from_bits(a);
            let r = <$value>::from_integral(integral64(x, rounding)) as $bits;
            if x.is_nan() { $nan64 } else { r }
        }

        #[doc = concat!("`cvt.irnd.", stringify!($dst), ".f16`.")]
        #[inline(always)]
        pub fn $from16(a: u16, rounding: IntRounding) -> $bits {
            $from32(f16::widen(a).to_bits(), rounding, false)
        }

        #[doc = concat!("`cvt.irnd.", stringify!($dst), ".bf16`.")]
        #[inline(always)]
        pub fn $frombf(a: u16, rounding: IntRounding) -> $bits {
            $from32(bf16::widen(a).to_bits(), rounding, false)
        }
    )*};
}

/// Integers of at most 32 bits: exact as `f64`.
macro_rules! from_small_integer {
    ($(($src:ident, $bits:ty, $value:ty, $to32:ident, $to64:ident, $to16:ident, $tobf:ident)),* $(,)?) => {$(
        #[doc = concat!("`cvt.rnd.f32.", stringify!($src), "`.")]
        #[inline(always)]
        pub fn $to32(a: $bits, rounding: Rounding) -> u32 {
            match rounding {
                Rounding::Rn => (a as $value as f32).to_bits(),
                _ => wide::narrow(f64::from(a as $value), rounding, false),
            }
        }

        #[doc = concat!("`cvt.rnd.f64.", stringify!($src), "`, exact; the rounding has no effect.")]
        #[inline(always)]
        pub fn $to64(a: $bits, _rounding: Rounding) -> u64 {
            f64::from(a as $value).to_bits()
        }

        #[doc = concat!("`cvt.rnd.f16.", stringify!($src), "`.")]
        #[inline(always)]
        pub fn $to16(a: $bits, rounding: Rounding) -> u16 {
            f16::narrow_to(wide::odd_f32(f64::from(a as $value)), rounding)
        }

        #[doc = concat!("`cvt.rnd.bf16.", stringify!($src), "`.")]
        #[inline(always)]
        pub fn $tobf(a: $bits, rounding: Rounding) -> u16 {
            bf16::narrow_to(wide::odd_f32(f64::from(a as $value)), rounding)
        }
    )*};
}

macro_rules! from_large_integer {
    ($(($src:ident, $value:ty, $to32:ident, $to64:ident, $to16:ident, $tobf:ident)),* $(,)?) => {$(
        #[doc = concat!("`cvt.rnd.f32.", stringify!($src), "`.")]
        #[inline(always)]
        pub fn $to32(a: u64, rounding: Rounding) -> u32 {
            match rounding {
                Rounding::Rn => (a as $value as f32).to_bits(),
                _ => from_wide(i128::from(a as $value), soft::F32, rounding) as u32,
            }
        }

        #[doc = concat!("`cvt.rnd.f64.", stringify!($src), "`.")]
        #[inline(always)]
        pub fn $to64(a: u64, rounding: Rounding) -> u64 {
            match rounding {
                Rounding::Rn => (a as $value as f64).to_bits(),
                _ => from_wide(i128::from(a as $value), soft::F64, rounding),
            }
        }

        #[doc = concat!("`cvt.rnd.f16.", stringify!($src), "`.")]
        #[inline]
        pub fn $to16(a: u64, rounding: Rounding) -> u16 {
            from_wide(i128::from(a as $value), soft::F16, rounding) as u16
        }

        #[doc = concat!("`cvt.rnd.bf16.", stringify!($src), "`.")]
        #[inline]
        pub fn $tobf(a: u64, rounding: Rounding) -> u16 {
            from_wide(i128::from(a as $value), soft::BF16, rounding) as u16
        }
    )*};
}

#[inline(never)]
fn from_wide(x: i128, format: soft::Format, rounding: Rounding) -> u64 {
    soft::round(x < 0, 0, x.unsigned_abs(), format, rounding)
}

/// Every pair of integer types: plain (modulo, with the source's extension) and saturating.
macro_rules! between_integers {
    ($(($plain:ident, $sat:ident, $src:ident, $src_bits:ty, $src_value:ty, $dst:ident, $dst_bits:ty, $dst_value:ty)),* $(,)?) => {$(
        #[doc = concat!("`cvt.", stringify!($dst), ".", stringify!($src), "`.")]
        #[inline(always)]
        pub fn $plain(a: $src_bits) -> $dst_bits {
            a as $src_value as $dst_bits
        }

        #[doc = concat!("`cvt.sat.", stringify!($dst), ".", stringify!($src), "`: limited to the range of `.", stringify!($dst), "`.")]
        #[inline(always)]
        pub fn $sat(a: $src_bits) -> $dst_bits {
            let x = a as $src_value;
            // Both limits exist in i128; comparing in the source type keeps the code narrow.
            const LOW: i128 = <$dst_value>::MIN as i128;
            const HIGH: i128 = <$dst_value>::MAX as i128;
            let low = if LOW > <$src_value>::MIN as i128 { LOW as $src_value } else { <$src_value>::MIN };
            let high = if HIGH < <$src_value>::MAX as i128 { HIGH as $src_value } else { <$src_value>::MAX };
            x.clamp(low, high) as $dst_bits
        }
    )*};
}

to_integer! {
    (u8, u8, u8, u8_f32, u8_f64, u8_f16, u8_bf16, 0, 1 << 7),
    (s8, u8, i8, s8_f32, s8_f64, s8_f16, s8_bf16, 0, 1 << 7),
    (u16, u16, u16, u16_f32, u16_f64, u16_f16, u16_bf16, 0, 1 << 15),
    (s16, u16, i16, s16_f32, s16_f64, s16_f16, s16_bf16, 0, 1 << 15),
    (u32, u32, u32, u32_f32, u32_f64, u32_f16, u32_bf16, 0, 1 << 31),
    (s32, u32, i32, s32_f32, s32_f64, s32_f16, s32_bf16, 0, 1 << 31),
    (u64, u64, u64, u64_f32, u64_f64, u64_f16, u64_bf16, 1 << 63, 1 << 63),
    (s64, u64, i64, s64_f32, s64_f64, s64_f16, s64_bf16, 1 << 63, 1 << 63),
}

from_small_integer! {
    (u8, u8, u8, f32_u8, f64_u8, f16_u8, bf16_u8),
    (s8, u8, i8, f32_s8, f64_s8, f16_s8, bf16_s8),
    (u16, u16, u16, f32_u16, f64_u16, f16_u16, bf16_u16),
    (s16, u16, i16, f32_s16, f64_s16, f16_s16, bf16_s16),
    (u32, u32, u32, f32_u32, f64_u32, f16_u32, bf16_u32),
    (s32, u32, i32, f32_s32, f64_s32, f16_s32, bf16_s32),
}

from_large_integer! {
    (u64, u64, f32_u64, f64_u64, f16_u64, bf16_u64),
    (s64, i64, f32_s64, f64_s64, f16_s64, bf16_s64),
}

between_integers! {
    (u8_u8, sat_u8_u8, u8, u8, u8, u8, u8, u8),
    (s8_u8, sat_s8_u8, u8, u8, u8, s8, u8, i8),
    (u16_u8, sat_u16_u8, u8, u8, u8, u16, u16, u16),
    (s16_u8, sat_s16_u8, u8, u8, u8, s16, u16, i16),
    (u32_u8, sat_u32_u8, u8, u8, u8, u32, u32, u32),
    (s32_u8, sat_s32_u8, u8, u8, u8, s32, u32, i32),
    (u64_u8, sat_u64_u8, u8, u8, u8, u64, u64, u64),
    (s64_u8, sat_s64_u8, u8, u8, u8, s64, u64, i64),
    (u8_s8, sat_u8_s8, s8, u8, i8, u8, u8, u8),
    (s8_s8, sat_s8_s8, s8, u8, i8, s8, u8, i8),
    (u16_s8, sat_u16_s8, s8, u8, i8, u16, u16, u16),
    (s16_s8, sat_s16_s8, s8, u8, i8, s16, u16, i16),
    (u32_s8, sat_u32_s8, s8, u8, i8, u32, u32, u32),
    (s32_s8, sat_s32_s8, s8, u8, i8, s32, u32, i32),
    (u64_s8, sat_u64_s8, s8, u8, i8, u64, u64, u64),
    (s64_s8, sat_s64_s8, s8, u8, i8, s64, u64, i64),
    (u8_u16, sat_u8_u16, u16, u16, u16, u8, u8, u8),
    (s8_u16, sat_s8_u16, u16, u16, u16, s8, u8, i8),
    (u16_u16, sat_u16_u16, u16, u16, u16, u16, u16, u16),
    (s16_u16, sat_s16_u16, u16, u16, u16, s16, u16, i16),
    (u32_u16, sat_u32_u16, u16, u16, u16, u32, u32, u32),
    (s32_u16, sat_s32_u16, u16, u16, u16, s32, u32, i32),
    (u64_u16, sat_u64_u16, u16, u16, u16, u64, u64, u64),
    (s64_u16, sat_s64_u16, u16, u16, u16, s64, u64, i64),
    (u8_s16, sat_u8_s16, s16, u16, i16, u8, u8, u8),
    (s8_s16, sat_s8_s16, s16, u16, i16, s8, u8, i8),
    (u16_s16, sat_u16_s16, s16, u16, i16, u16, u16, u16),
    (s16_s16, sat_s16_s16, s16, u16, i16, s16, u16, i16),
    (u32_s16, sat_u32_s16, s16, u16, i16, u32, u32, u32),
    (s32_s16, sat_s32_s16, s16, u16, i16, s32, u32, i32),
    (u64_s16, sat_u64_s16, s16, u16, i16, u64, u64, u64),
    (s64_s16, sat_s64_s16, s16, u16, i16, s64, u64, i64),
    (u8_u32, sat_u8_u32, u32, u32, u32, u8, u8, u8),
    (s8_u32, sat_s8_u32, u32, u32, u32, s8, u8, i8),
    (u16_u32, sat_u16_u32, u32, u32, u32, u16, u16, u16),
    (s16_u32, sat_s16_u32, u32, u32, u32, s16, u16, i16),
    (u32_u32, sat_u32_u32, u32, u32, u32, u32, u32, u32),
    (s32_u32, sat_s32_u32, u32, u32, u32, s32, u32, i32),
    (u64_u32, sat_u64_u32, u32, u32, u32, u64, u64, u64),
    (s64_u32, sat_s64_u32, u32, u32, u32, s64, u64, i64),
    (u8_s32, sat_u8_s32, s32, u32, i32, u8, u8, u8),
    (s8_s32, sat_s8_s32, s32, u32, i32, s8, u8, i8),
    (u16_s32, sat_u16_s32, s32, u32, i32, u16, u16, u16),
    (s16_s32, sat_s16_s32, s32, u32, i32, s16, u16, i16),
    (u32_s32, sat_u32_s32, s32, u32, i32, u32, u32, u32),
    (s32_s32, sat_s32_s32, s32, u32, i32, s32, u32, i32),
    (u64_s32, sat_u64_s32, s32, u32, i32, u64, u64, u64),
    (s64_s32, sat_s64_s32, s32, u32, i32, s64, u64, i64),
    (u8_u64, sat_u8_u64, u64, u64, u64, u8, u8, u8),
    (s8_u64, sat_s8_u64, u64, u64, u64, s8, u8, i8),
    (u16_u64, sat_u16_u64, u64, u64, u64, u16, u16, u16),
    (s16_u64, sat_s16_u64, u64, u64, u64, s16, u16, i16),
    (u32_u64, sat_u32_u64, u64, u64, u64, u32, u32, u32),
    (s32_u64, sat_s32_u64, u64, u64, u64, s32, u32, i32),
    (u64_u64, sat_u64_u64, u64, u64, u64, u64, u64, u64),
    (s64_u64, sat_s64_u64, u64, u64, u64, s64, u64, i64),
    (u8_s64, sat_u8_s64, s64, u64, i64, u8, u8, u8),
    (s8_s64, sat_s8_s64, s64, u64, i64, s8, u8, i8),
    (u16_s64, sat_u16_s64, s64, u64, i64, u16, u16, u16),
    (s16_s64, sat_s16_s64, s64, u64, i64, s16, u16, i16),
    (u32_s64, sat_u32_s64, s64, u64, i64, u32, u32, u32),
    (s32_s64, sat_s32_s64, s64, u64, i64, s32, u32, i32),
    (u64_s64, sat_u64_s64, s64, u64, i64, u64, u64, u64),
    (s64_s64, sat_s64_s64, s64, u64, i64, s64, u64, i64),
}
