//! Packed forms: the scalar operation on each element of a 32- or 64-bit word, element 0 in the
//! low bits.
//!
//! ```
//! use numerics::{f16x2, s16x2};
//! assert_eq!(f16x2::add(0x3c00_4000, 0x3c00_c000, false), 0x4000_0000); // {1, 2} + {1, -2}
//! assert_eq!(s16x2::relu(s16x2::max(0xffff_0001, 0xfffe_0002)), 0x0000_0002);
//! ```

/// Applies a unary operation to both 16-bit halves.
#[inline(always)]
pub(super) fn map2x16(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    u32::from(f(a as u16)) | u32::from(f((a >> 16) as u16)) << 16
}

/// Applies a binary operation to both 16-bit halves.
#[inline(always)]
pub(super) fn zip2x16(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let high = f((a >> 16) as u16, (b >> 16) as u16);
    u32::from(f(a as u16, b as u16)) | u32::from(high) << 16
}

/// Applies a binary operation to the four bytes.
#[inline(always)]
pub(super) fn zip4x8(a: u32, b: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let one = |i: u32| u32::from(f((a >> i) as u8, (b >> i) as u8)) << i;
    one(0) | one(8) | one(16) | one(24)
}

macro_rules! packed_half {
    ($name:ident, $scalar:ident, $ty:literal) => {
        #[doc = concat!("PTX `.", $ty, "`: two `.", stringify!($scalar), "` in a `u32`, element 0 in the low half (manual 9.7.4).")]
        ///
        /// Every function applies its namesake of the scalar module to both halves.
        pub mod $name {
            use super::super::modes::FloatCmp;
            use super::super::$scalar as scalar;
            use super::{map2x16, zip2x16};

            /// Both halves of `a + b`.
            #[inline(always)]
            pub fn add(a: u32, b: u32, ftz: bool) -> u32 {
                zip2x16(a, b, |x, y| scalar::add(x, y, ftz))
            }

            /// Both halves of `a - b`.
            #[inline(always)]
            pub fn sub(a: u32, b: u32, ftz: bool) -> u32 {
                zip2x16(a, b, |x, y| scalar::sub(x, y, ftz))
            }

            /// Both halves of `a * b`.
            #[inline(always)]
            pub fn mul(a: u32, b: u32, ftz: bool) -> u32 {
                zip2x16(a, b, |x, y| scalar::mul(x, y, ftz))
            }

            /// Both halves of `a * b + c`, each rounded once.
            #[inline(always)]
            pub fn fma(a: u32, b: u32, c: u32, ftz: bool) -> u32 {
                let low = scalar::fma(a as u16, b as u16, c as u16, ftz);
                let high = scalar::fma((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16, ftz);
                u32::from(low) | u32::from(high) << 16
            }

            /// `.oob` of `fma`, decided for each half on its own.
            #[inline(always)]
            pub fn oob(result: u32, a: u32, b: u32) -> u32 {
                let low = scalar::oob(result as u16, a as u16, b as u16);
                let high = scalar::oob((result >> 16) as u16, (a >> 16) as u16, (b >> 16) as u16);
                u32::from(low) | u32::from(high) << 16
            }

            /// `.sat` on both halves.
            #[inline(always)]
            pub fn sat(a: u32) -> u32 {
                map2x16(a, scalar::sat)
            }

            /// `.relu` on both halves.
            #[inline(always)]
            pub fn relu(a: u32) -> u32 {
                map2x16(a, scalar::relu)
            }

            /// `.satfinite` of `cvt` on both halves.
            #[inline(always)]
            pub fn satfinite(a: u32) -> u32 {
                map2x16(a, scalar::satfinite)
            }

            /// Both halves negated.
            #[inline(always)]
            pub fn neg(a: u32, ftz: bool) -> u32 {
                map2x16(a, |x| scalar::neg(x, ftz))
            }

            /// Both halves' absolute values.
            #[inline(always)]
            pub fn abs(a: u32, ftz: bool) -> u32 {
                map2x16(a, |x| scalar::abs(x, ftz))
            }

            /// The minimum of each half.
            #[inline(always)]
            pub fn min(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
                zip2x16(a, b, |x, y| scalar::min(x, y, nan, ftz))
            }

            /// The maximum of each half.
            #[inline(always)]
            pub fn max(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
                zip2x16(a, b, |x, y| scalar::max(x, y, nan, ftz))
            }

            /// `min.xorsign.abs` of each half.
            #[inline(always)]
            pub fn min_xorsign_abs(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
                zip2x16(a, b, |x, y| scalar::min_xorsign_abs(x, y, nan, ftz))
            }

            /// `max.xorsign.abs` of each half.
            #[inline(always)]
            pub fn max_xorsign_abs(a: u32, b: u32, nan: bool, ftz: bool) -> u32 {
                zip2x16(a, b, |x, y| scalar::max_xorsign_abs(x, y, nan, ftz))
            }

            /// The comparison of each half: low element first (`p`, then `q` of `setp`).
            #[inline(always)]
            pub fn cmp(a: u32, b: u32, op: FloatCmp, ftz: bool) -> (bool, bool) {
                let low = scalar::cmp(a as u16, b as u16, op, ftz);
                (low, scalar::cmp((a >> 16) as u16, (b >> 16) as u16, op, ftz))
            }

            #[doc = concat!("The result of `set.*.", $ty, ".", $ty, "`: 1.0 or +0.0 in each half.")]
            #[inline(always)]
            pub fn from_bool(p: (bool, bool)) -> u32 {
                u32::from(scalar::from_bool(p.0)) | u32::from(scalar::from_bool(p.1)) << 16
            }

            /// The result of `set` to `.u32` or `.s32`: `0xffff` or 0 in each half.
            #[inline(always)]
            pub fn mask_from_bool(p: (bool, bool)) -> u32 {
                (if p.0 { 0xffff } else { 0 }) | if p.1 { 0xffff_0000 } else { 0 }
            }
        }
    };
}

packed_half!(f16x2, f16, "f16x2");
packed_half!(bf16x2, bf16, "bf16x2");

/// PTX `.f32x2`: two `.f32` in a `u64`, element 0 in the low half (manual 9.7.3, `sm_100`).
pub mod f32x2 {
    use super::super::f32 as scalar;
    use super::super::modes::Rounding;

    #[inline(always)]
    fn zip(a: u64, b: u64, f: impl Fn(u32, u32) -> u32) -> u64 {
        u64::from(f(a as u32, b as u32)) | u64::from(f((a >> 32) as u32, (b >> 32) as u32)) << 32
    }

    /// `add{.rnd}{.ftz}.f32x2`.
    #[inline(always)]
    pub fn add(a: u64, b: u64, rounding: Rounding, ftz: bool) -> u64 {
        zip(a, b, |x, y| scalar::add(x, y, rounding, ftz))
    }

    /// `sub{.rnd}{.ftz}.f32x2`.
    #[inline(always)]
    pub fn sub(a: u64, b: u64, rounding: Rounding, ftz: bool) -> u64 {
        zip(a, b, |x, y| scalar::sub(x, y, rounding, ftz))
    }

    /// `mul{.rnd}{.ftz}.f32x2`.
    #[inline(always)]
    pub fn mul(a: u64, b: u64, rounding: Rounding, ftz: bool) -> u64 {
        zip(a, b, |x, y| scalar::mul(x, y, rounding, ftz))
    }

    /// `fma.rnd{.ftz}.f32x2`.
    #[inline(always)]
    pub fn fma(a: u64, b: u64, c: u64, rounding: Rounding, ftz: bool) -> u64 {
        let low = scalar::fma(a as u32, b as u32, c as u32, rounding, ftz);
        let high = scalar::fma((a >> 32) as u32, (b >> 32) as u32, (c >> 32) as u32, rounding, ftz);
        u64::from(low) | u64::from(high) << 32
    }
}

/// PTX `.u16x2`: two `.u16` in a `u32` (manual 9.7.1).
pub mod u16x2 {
    use super::zip2x16;

    /// `add.u16x2`, modulo 2^16 each.
    #[inline(always)]
    pub fn add(a: u32, b: u32) -> u32 {
        zip2x16(a, b, u16::wrapping_add)
    }

    /// `add.sat.u16x2`.
    #[inline(always)]
    pub fn add_sat(a: u32, b: u32) -> u32 {
        zip2x16(a, b, u16::saturating_add)
    }

    /// `min.u16x2`.
    #[inline(always)]
    pub fn min(a: u32, b: u32) -> u32 {
        zip2x16(a, b, u16::min)
    }

    /// `max.u16x2`.
    #[inline(always)]
    pub fn max(a: u32, b: u32) -> u32 {
        zip2x16(a, b, u16::max)
    }
}

/// PTX `.s16x2`: two `.s16` in a `u32` (manual 9.7.1).
pub mod s16x2 {
    use super::{map2x16, zip2x16};

    #[inline(always)]
    fn zip(a: u32, b: u32, f: impl Fn(i16, i16) -> i16) -> u32 {
        zip2x16(a, b, |x, y| f(x as i16, y as i16) as u16)
    }

    /// `add.s16x2`, modulo 2^16 each.
    #[inline(always)]
    pub fn add(a: u32, b: u32) -> u32 {
        zip(a, b, i16::wrapping_add)
    }

    /// `add.sat.s16x2`.
    #[inline(always)]
    pub fn add_sat(a: u32, b: u32) -> u32 {
        zip(a, b, i16::saturating_add)
    }

    /// `min.s16x2`.
    #[inline(always)]
    pub fn min(a: u32, b: u32) -> u32 {
        zip(a, b, i16::min)
    }

    /// `max.s16x2`.
    #[inline(always)]
    pub fn max(a: u32, b: u32) -> u32 {
        zip(a, b, i16::max)
    }

    /// `.relu` of `min` and `max`: negative elements become 0.
    #[inline(always)]
    pub fn relu(a: u32) -> u32 {
        map2x16(a, |x| (x as i16).max(0) as u16)
    }
}

/// PTX `.u8x4`: four `.u8` in a `u32` (manual 9.7.1, PTX 9.2).
pub mod u8x4 {
    use super::zip4x8;

    /// `add.u8x4`, modulo 2^8 each.
    #[inline(always)]
    pub fn add(a: u32, b: u32) -> u32 {
        zip4x8(a, b, u8::wrapping_add)
    }

    /// `add.sat.u8x4`.
    #[inline(always)]
    pub fn add_sat(a: u32, b: u32) -> u32 {
        zip4x8(a, b, u8::saturating_add)
    }

    /// `sub.u8x4`, modulo 2^8 each.
    #[inline(always)]
    pub fn sub(a: u32, b: u32) -> u32 {
        zip4x8(a, b, u8::wrapping_sub)
    }

    /// `sub.sat.u8x4`.
    #[inline(always)]
    pub fn sub_sat(a: u32, b: u32) -> u32 {
        zip4x8(a, b, u8::saturating_sub)
    }

    /// `min.u8x4`.
    #[inline(always)]
    pub fn min(a: u32, b: u32) -> u32 {
        zip4x8(a, b, u8::min)
    }

    /// `max.u8x4`.
    #[inline(always)]
    pub fn max(a: u32, b: u32) -> u32 {
        zip4x8(a, b, u8::max)
    }
}

/// PTX `.s8x4`: four `.s8` in a `u32` (manual 9.7.1, PTX 9.2).
pub mod s8x4 {
    use super::zip4x8;

    #[inline(always)]
    fn zip(a: u32, b: u32, f: impl Fn(i8, i8) -> i8) -> u32 {
        zip4x8(a, b, |x, y| f(x as i8, y as i8) as u8)
    }

    /// `add.s8x4`, modulo 2^8 each.
    #[inline(always)]
    pub fn add(a: u32, b: u32) -> u32 {
        zip(a, b, i8::wrapping_add)
    }

    /// `add.sat.s8x4`.
    #[inline(always)]
    pub fn add_sat(a: u32, b: u32) -> u32 {
        zip(a, b, i8::saturating_add)
    }

    /// `sub.s8x4`, modulo 2^8 each.
    #[inline(always)]
    pub fn sub(a: u32, b: u32) -> u32 {
        zip(a, b, i8::wrapping_sub)
    }

    /// `sub.sat.s8x4`.
    #[inline(always)]
    pub fn sub_sat(a: u32, b: u32) -> u32 {
        zip(a, b, i8::saturating_sub)
    }

    /// `neg.s8x4`, modulo 2^8 each.
    #[inline(always)]
    pub fn neg(a: u32) -> u32 {
        zip(0, a, i8::wrapping_sub)
    }

    /// `min.s8x4`.
    #[inline(always)]
    pub fn min(a: u32, b: u32) -> u32 {
        zip(a, b, i8::min)
    }

    /// `max.s8x4`.
    #[inline(always)]
    pub fn max(a: u32, b: u32) -> u32 {
        zip(a, b, i8::max)
    }

    /// `.relu` of `min` and `max`: negative elements become 0.
    #[inline(always)]
    pub fn relu(a: u32) -> u32 {
        zip(a, a, |x, _| x.max(0))
    }
}
