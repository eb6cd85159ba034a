//! Integer arithmetic (manual 9.7.1, 9.7.2): one module per PTX integer type, all on unsigned bit
//! patterns of the type's width.
//!
//! Division by zero has a fixed result on the device, all bits one for the quotient *and* the
//! remainder (read from ptxas output for every width); see each `div` and `rem`.
//!
//! ```
//! use numerics::{s32, u32};
//! assert_eq!(s32::mul_hi(0xffff_fffe, 3), 0xffff_ffff); // -2 * 3 = -6
//! assert_eq!(u32::rem(7, 0), 0xffff_ffff);
//! assert_eq!(u32::addc_cc(0xffff_ffff, 0, true), (0, true));
//! assert_eq!(s32::bfe(0xff00, 8, 8), 0xffff_ffff);
//! ```

/// The low word of the quotient, toward zero, of integers of at most 32 bits, by the only division that
/// vector units have. The error of the `f64` quotient is below `2^-21 / y`, and an exact quotient that
/// is no integer is at least `1 / y` away from the next one. For `y` = 0 it is anything.
#[inline(always)]
fn quotient(x: f64, y: f64) -> ::core::primitive::u32 {
    // The last bit of a number near 1.5 * 2^52 is 1.
    ((x / y).trunc() + 6_755_399_441_055_744.0).to_bits() as ::core::primitive::u32
}

/// The quotient of 64-bit integers by the same division. Products with the inverse are never too large
/// and by less than 13 * 2^-53 too small: the first leaves less than 26,626 `y`, the second less than
/// two, which a comparison decides. For `y` = 0 it is anything.
#[inline(always)]
fn quotient_64(x: ::core::primitive::u64, y: ::core::primitive::u64) -> ::core::primitive::u64 {
    type F = ::core::primitive::f64;
    type U = ::core::primitive::u64;
    let inverse = (1.0 - 4.0 * F::EPSILON) / y as F;
    // Truncates a number from 0 to 2^64. `as` would do more, and not with vectors.
    let truncate = |value: F| {
        let bits = value.to_bits();
        let shift = (0x3ff + 63 - (bits >> 52) as ::core::primitive::i64) as U;
        let mantissa = bits << 11 | 1 << 63;
        if shift < 64 { mantissa >> shift } else { 0 }
    };
    let first = truncate(x as F * inverse);
    let left = x.wrapping_sub(first.wrapping_mul(y));
    let second = truncate(left as F * inverse);
    let left = left.wrapping_sub(second.wrapping_mul(y));
    first.wrapping_add(second).wrapping_add(U::from(left >= y))
}

/// The high half of a product, by the only multiplication that vector units have.
#[inline(always)]
fn high_product(a: ::core::primitive::u64, b: ::core::primitive::u64) -> ::core::primitive::u64 {
    const LOW: ::core::primitive::u64 = 0xffff_ffff;
    let (a0, a1, b0, b1) = (a & LOW, a >> 32, b & LOW, b >> 32);
    let (p, q) = (a1 * b0 + ((a0 * b0) >> 32), a0 * b1);
    let sum = p.wrapping_add(q);
    // The carry as a majority: of any usual form LLVM makes a scalar multiplication again.
    let carry = ((p & q) | ((p | q) & !sum)) >> 63;
    a1 * b1 + (sum >> 32) + (carry << 32)
}

macro_rules! integer_type {
    ($name:ident, $bits:ty, $value:ty, $double:ty, $width:literal, $ptx:literal, { $($extra:item)* }) => {
        #[doc = concat!("Operations of PTX `.", $ptx, "` on `", stringify!($bits), "` bit patterns.")]
        pub mod $name {
            use super::super::modes::{Bound, IntCmp};

            type Bits = $bits;
            type Value = $value;

            /// `add`, modulo 2^width.
            #[inline(always)]
            pub fn add(a: Bits, b: Bits) -> Bits {
                a.wrapping_add(b)
            }

            /// `add.sat`: limited to the range of the type.
            #[inline(always)]
            pub fn add_sat(a: Bits, b: Bits) -> Bits {
                (a as Value).saturating_add(b as Value) as Bits
            }

            /// `sub`, modulo 2^width.
            #[inline(always)]
            pub fn sub(a: Bits, b: Bits) -> Bits {
                a.wrapping_sub(b)
            }

            /// `sub.sat`: limited to the range of the type.
            #[inline(always)]
            pub fn sub_sat(a: Bits, b: Bits) -> Bits {
                (a as Value).saturating_sub(b as Value) as Bits
            }

            /// `mul.lo`: the low half of the product.
            #[inline(always)]
            pub fn mul_lo(a: Bits, b: Bits) -> Bits {
                a.wrapping_mul(b)
            }

            /// `mad.lo`: the low half of the product, plus `c`.
            #[inline(always)]
            pub fn mad_lo(a: Bits, b: Bits, c: Bits) -> Bits {
                mul_lo(a, b).wrapping_add(c)
            }

            /// `mad.hi`: the high half of the product, plus `c`.
            #[inline(always)]
            pub fn mad_hi(a: Bits, b: Bits, c: Bits) -> Bits {
                mul_hi(a, b).wrapping_add(c)
            }

            /// `mad.hi.sat`: the high half of the product plus `c`, limited to the range of the type.
            #[inline(always)]
            pub fn mad_hi_sat(a: Bits, b: Bits, c: Bits) -> Bits {
                add_sat(mul_hi(a, b), c)
            }

            /// `sad`: `c + |a - b|`.
            #[inline(always)]
            pub fn sad(a: Bits, b: Bits, c: Bits) -> Bits {
                let (x, y) = (a as Value, b as Value);
                c.wrapping_add(if x < y { b.wrapping_sub(a) } else { a.wrapping_sub(b) })
            }

            #[inline(always)]
            fn negative(a: Bits) -> bool {
                (a as Value) < (0 as Value)
            }

            #[inline(always)]
            fn magnitude(a: Bits) -> Bits {
                if negative(a) { a.wrapping_neg() } else { a }
            }

            /// `div`, toward zero. By zero: all bits one. The most negative number by -1: itself.
            #[inline(always)]
            pub fn div(a: Bits, b: Bits) -> Bits {
                let (x, y) = (a as Value, b as Value);
                let quotient = if $width <= 32 {
                    super::quotient(x as f64, y as f64) as Bits
                } else {
                    // By magnitude; the sign is that of the product.
                    let quotient = super::quotient_64(magnitude(a) as _, magnitude(b) as _) as Bits;
                    if negative(a ^ b) { quotient.wrapping_neg() } else { quotient }
                };
                if b == 0 { Bits::MAX } else { quotient }
            }

            /// `rem`, with the sign of `a`. By zero: all bits one.
            #[inline(always)]
            pub fn rem(a: Bits, b: Bits) -> Bits {
                let (x, y) = (a as Value, b as Value);
                let remainder = if $width <= 32 {
                    a.wrapping_sub(b.wrapping_mul(super::quotient(x as f64, y as f64) as Bits))
                } else {
                    a.wrapping_sub(b.wrapping_mul(div(a, b)))
                };
                if b == 0 { Bits::MAX } else { remainder }
            }

            /// `min`.
            #[inline(always)]
            pub fn min(a: Bits, b: Bits) -> Bits {
                (a as Value).min(b as Value) as Bits
            }

            /// `max`.
            #[inline(always)]
            pub fn max(a: Bits, b: Bits) -> Bits {
                (a as Value).max(b as Value) as Bits
            }

            /// The comparison of `setp` and `set` (manual 9.7.6).
            #[inline(always)]
            pub fn cmp(a: Bits, b: Bits, op: IntCmp) -> bool {
                op.apply(a as Value, b as Value)
            }

            /// `shr` (manual 9.7.8.9): amounts beyond the width count as the width.
            #[inline(always)]
            pub fn shr(a: Bits, b: u32) -> Bits {
                // Two steps: the largest amount equals the width, which one shift cannot do.
                let n = b.min($width);
                (((a as Value) >> (n - n / $width)) >> (n / $width)) as Bits
            }

            /// `bfe` (manual 9.7.1.19): the field of length `c` at bit `b`, extended to the whole
            /// register. The 32-bit form takes both modulo 256, the emulated 64-bit form as they are.
            #[inline(always)]
            pub fn bfe(a: Bits, b: u32, c: u32) -> Bits {
                let (b, c) = if $width == 64 { (b, c) } else { (b & 0xff, c & 0xff) };
                extend(shr(a, b), c.min($width))
            }

            /// Keeps the low `n` bits (`n` at most the width) and extends them.
            #[inline(always)]
            fn extend(a: Bits, n: u32) -> Bits {
                let drop = $width - n;
                // `n == 0` shifts by the width less one, then once more.
                let up = (a << (drop - drop / $width)) << (drop / $width);
                shr(up, drop)
            }

            /// `szext` (manual 9.7.1.21) for this signedness: extends the low `b` bits.
            #[inline(always)]
            pub fn szext(a: Bits, b: u32, mode: Bound) -> Bits {
                let n = match mode {
                    Bound::Clamp => b.min($width),
                    Bound::Wrap => b % $width,
                };
                extend(a, n)
            }

            /// `bfind` (manual 9.7.1.16): position of the most significant bit that is not a copy of
            /// the sign, `0xffffffff` if there is none.
            #[inline(always)]
            pub fn bfind(a: Bits) -> u32 {
                #[allow(unused_comparisons)]
                let negative = (a as Value) < 0;
                let magnitude = if negative { !a } else { a };
                ($width - 1u32).wrapping_sub(magnitude.leading_zeros())
            }

            /// `bfind.shiftamt`: the left shift that moves that bit to the top.
            #[inline(always)]
            pub fn bfind_shiftamt(a: Bits) -> u32 {
                let found = bfind(a);
                if found == u32::MAX { found } else { $width - 1 - found }
            }

            /// `add.cc`: the sum and the carry out (manual 9.7.2.1).
            #[inline(always)]
            pub fn add_cc(a: Bits, b: Bits) -> (Bits, bool) {
                a.overflowing_add(b)
            }

            /// `addc.cc`: the sum with carry in, and the carry out (manual 9.7.2.2).
            #[inline(always)]
            pub fn addc_cc(a: Bits, b: Bits, carry: bool) -> (Bits, bool) {
                let (s, c0) = a.overflowing_add(b);
                let (s, c1) = s.overflowing_add(Bits::from(carry));
                (s, c0 | c1)
            }

            /// `sub.cc`: the difference and the carry out of `a + !b + 1` (manual 9.7.2.3). The device
            /// keeps this carry, the complement of the borrow, so a mixed `sub.cc`, `addc` adds 1
            /// exactly when there was no borrow.
            #[inline(always)]
            pub fn sub_cc(a: Bits, b: Bits) -> (Bits, bool) {
                (a.wrapping_sub(b), a >= b)
            }

            /// `subc.cc`: `a + !b + carry` and its carry out (manual 9.7.2.4); the carry is that of
            /// [`sub_cc`].
            #[inline(always)]
            pub fn subc_cc(a: Bits, b: Bits, carry: bool) -> (Bits, bool) {
                addc_cc(a, !b, carry)
            }

            /// `madc.lo.cc` (with `carry` false: `mad.lo.cc`): result and carry out of the addition
            /// (manual 9.7.2.5, 9.7.2.6).
            #[inline(always)]
            pub fn madc_lo_cc(a: Bits, b: Bits, c: Bits, carry: bool) -> (Bits, bool) {
                addc_cc(mul_lo(a, b), c, carry)
            }

            /// `madc.hi.cc` (with `carry` false: `mad.hi.cc`): result and carry out of the addition.
            #[inline(always)]
            pub fn madc_hi_cc(a: Bits, b: Bits, c: Bits, carry: bool) -> (Bits, bool) {
                addc_cc(mul_hi(a, b), c, carry)
            }

            /// `mul.hi`: the high half of the product.
            #[inline(always)]
            pub fn mul_hi(a: Bits, b: Bits) -> Bits {
                if $width == 64 {
                    // The sign bit of an operand counts for minus the other one, 64 bits up.
                    let high = super::high_product(a as _, b as _) as Bits;
                    let minus = |sign: Bits, other: Bits| if negative(sign) { other } else { 0 };
                    return high.wrapping_sub(minus(a, b)).wrapping_sub(minus(b, a));
                }
                (((a as Value as $double) * (b as Value as $double)) >> $width) as Bits
            }

            $($extra)*
        }
    };
}

integer_type!(u16, u16, u16, u32, 16, "u16", {
    /// `mul.wide`: the whole product, twice as wide.
    #[inline(always)]
    pub fn mul_wide(a: Bits, b: Bits) -> u32 {
        u32::from(a) * u32::from(b)
    }

    /// `mad.wide`: the whole product plus a `c` of twice the width.
    #[inline(always)]
    pub fn mad_wide(a: Bits, b: Bits, c: u32) -> u32 {
        mul_wide(a, b).wrapping_add(c)
    }
});

integer_type!(u32, u32, u32, u64, 32, "u32", {
    /// `mul.wide`: the whole product, twice as wide.
    #[inline(always)]
    pub fn mul_wide(a: Bits, b: Bits) -> u64 {
        u64::from(a) * u64::from(b)
    }

    /// `mad.wide`: the whole product plus a `c` of twice the width.
    #[inline(always)]
    pub fn mad_wide(a: Bits, b: Bits, c: u64) -> u64 {
        mul_wide(a, b).wrapping_add(c)
    }

    #[inline(always)]
    fn low24(a: Bits) -> Value {
        a & 0x00ff_ffff
    }

    /// `mul24.lo`: bits 31..0 of the product of the low 24 bits.
    #[inline(always)]
    pub fn mul24_lo(a: Bits, b: Bits) -> Bits {
        low24(a).wrapping_mul(low24(b))
    }

    /// `mul24.hi`: bits 47..16 of the product of the low 24 bits.
    #[inline(always)]
    pub fn mul24_hi(a: Bits, b: Bits) -> Bits {
        ((u64::from(low24(a)) * u64::from(low24(b))) >> 16) as Bits
    }

    /// `mad24.lo`: [`mul24_lo`] plus `c`.
    #[inline(always)]
    pub fn mad24_lo(a: Bits, b: Bits, c: Bits) -> Bits {
        mul24_lo(a, b).wrapping_add(c)
    }

    /// `mad24.hi`: [`mul24_hi`] plus `c`.
    #[inline(always)]
    pub fn mad24_hi(a: Bits, b: Bits, c: Bits) -> Bits {
        mul24_hi(a, b).wrapping_add(c)
    }

    /// `mad24.hi.sat`: [`mul24_hi`] plus `c`, limited to the range of the type.
    #[inline(always)]
    pub fn mad24_hi_sat(a: Bits, b: Bits, c: Bits) -> Bits {
        add_sat(mul24_hi(a, b), c)
    }
});

integer_type!(u64, u64, u64, u128, 64, "u64", {});

integer_type!(s16, u16, i16, i32, 16, "s16", {
    /// `mul.wide`: the whole product, twice as wide.
    #[inline(always)]
    pub fn mul_wide(a: Bits, b: Bits) -> u32 {
        ((a as Value) as i32 * (b as Value) as i32) as u32
    }

    /// `mad.wide`: the whole product plus a `c` of twice the width.
    #[inline(always)]
    pub fn mad_wide(a: Bits, b: Bits, c: u32) -> u32 {
        mul_wide(a, b).wrapping_add(c)
    }

    /// `abs`; the most negative number gives itself.
    #[inline(always)]
    pub fn abs(a: Bits) -> Bits {
        (a as Value).wrapping_abs() as Bits
    }

    /// `neg`, modulo 2^width.
    #[inline(always)]
    pub fn neg(a: Bits) -> Bits {
        a.wrapping_neg()
    }
});

integer_type!(s32, u32, i32, i64, 32, "s32", {
    /// `mul.wide`: the whole product, twice as wide.
    #[inline(always)]
    pub fn mul_wide(a: Bits, b: Bits) -> u64 {
        ((a as Value) as i64 * (b as Value) as i64) as u64
    }

    /// `mad.wide`: the whole product plus a `c` of twice the width.
    #[inline(always)]
    pub fn mad_wide(a: Bits, b: Bits, c: u64) -> u64 {
        mul_wide(a, b).wrapping_add(c)
    }

    /// `abs`; the most negative number gives itself.
    #[inline(always)]
    pub fn abs(a: Bits) -> Bits {
        (a as Value).wrapping_abs() as Bits
    }

    /// `neg`, modulo 2^width.
    #[inline(always)]
    pub fn neg(a: Bits) -> Bits {
        a.wrapping_neg()
    }

    /// `.relu` of `min` and `max`: negative values become 0.
    #[inline(always)]
    pub fn relu(a: Bits) -> Bits {
        max(a, 0)
    }

    #[inline(always)]
    fn low24(a: Bits) -> Value {
        ((a << 8) as Value) >> 8
    }

    /// `mul24.lo`: bits 31..0 of the product of the low 24 bits.
    #[inline(always)]
    pub fn mul24_lo(a: Bits, b: Bits) -> Bits {
        low24(a).wrapping_mul(low24(b)) as Bits
    }

    /// `mul24.hi`: bits 47..16 of the product of the low 24 bits.
    #[inline(always)]
    pub fn mul24_hi(a: Bits, b: Bits) -> Bits {
        ((low24(a) as i64 * low24(b) as i64) >> 16) as Bits
    }

    /// `mad24.lo`: [`mul24_lo`] plus `c`.
    #[inline(always)]
    pub fn mad24_lo(a: Bits, b: Bits, c: Bits) -> Bits {
        mul24_lo(a, b).wrapping_add(c)
    }

    /// `mad24.hi`: [`mul24_hi`] plus `c`.
    #[inline(always)]
    pub fn mad24_hi(a: Bits, b: Bits, c: Bits) -> Bits {
        mul24_hi(a, b).wrapping_add(c)
    }

    /// `mad24.hi.sat`: [`mul24_hi`] plus `c`, limited to the range of the type.
    #[inline(always)]
    pub fn mad24_hi_sat(a: Bits, b: Bits, c: Bits) -> Bits {
        add_sat(mul24_hi(a, b), c)
    }
});

integer_type!(s64, u64, i64, i128, 64, "s64", {
    /// `abs`; the most negative number gives itself.
    #[inline(always)]
    pub fn abs(a: Bits) -> Bits {
        (a as Value).wrapping_abs() as Bits
    }

    /// `neg`, modulo 2^width.
    #[inline(always)]
    pub fn neg(a: Bits) -> Bits {
        a.wrapping_neg()
    }
});
