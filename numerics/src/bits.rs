//! Untyped bit operations (manual 9.7.1, 9.7.6, 9.7.8): PTX `.b16`, `.b32`, `.b64`.
//!
//! ```
//! use numerics::{Bound, b32};
//! assert_eq!(b32::shl(1, 40), 0);
//! assert_eq!(b32::shf_l(0x8000_0000, 1, 1, Bound::Wrap), 3);
//! assert_eq!(b32::prmt(0x3322_1100, 0x7766_5544, 0x5410), 0x5544_1100);
//! assert_eq!(b32::lop3(0b1100, 0b1010, 0b1111, 0x96), 0b1001);
//! ```

macro_rules! bit_type {
    ($name:ident, $bits:ty, $width:literal, $ptx:literal, { $($extra:item)* }) => {
        #[doc = concat!("Operations of PTX `.", $ptx, "` on `", stringify!($bits), "`.")]
        pub mod $name {
            #[allow(unused_imports)]
            use super::super::modes::{Bound, FloatCmp};
            #[allow(unused_imports)]
            use super::Prmt;

            type Bits = $bits;

            /// `and`.
            #[inline(always)]
            pub fn and(a: Bits, b: Bits) -> Bits {
                a & b
            }

            /// `or`.
            #[inline(always)]
            pub fn or(a: Bits, b: Bits) -> Bits {
                a | b
            }

            /// `xor`.
            #[inline(always)]
            pub fn xor(a: Bits, b: Bits) -> Bits {
                a ^ b
            }

            /// `not`.
            #[inline(always)]
            pub fn not(a: Bits) -> Bits {
                !a
            }

            /// `cnot`: 1 for zero, else 0 (manual 9.7.8.5).
            #[inline(always)]
            pub fn cnot(a: Bits) -> Bits {
                Bits::from(a == 0)
            }

            /// `shl` (manual 9.7.8.8): amounts beyond the width count as the width.
            #[inline(always)]
            pub fn shl(a: Bits, b: u32) -> Bits {
                // Two steps: the largest amount equals the width, which one shift cannot do.
                let n = b.min($width);
                (a << (n - n / $width)) << (n / $width)
            }

            /// `shr` with zero fill (manual 9.7.8.9).
            #[inline(always)]
            pub fn shr(a: Bits, b: u32) -> Bits {
                let n = b.min($width);
                (a >> (n - n / $width)) >> (n / $width)
            }

            /// `selp` (manual 9.7.6.3).
            #[inline(always)]
            pub fn selp(a: Bits, b: Bits, p: bool) -> Bits {
                if p { a } else { b }
            }

            /// `slct.*.s32` (manual 9.7.6.4): `a` if `c` is not negative.
            #[inline(always)]
            pub fn slct_s32(a: Bits, b: Bits, c: u32) -> Bits {
                if c as i32 >= 0 { a } else { b }
            }

            /// `slct{.ftz}.*.f32`: `a` if `c` is at least zero (also -0.0), `b` for NaN.
            #[inline(always)]
            pub fn slct_f32(a: Bits, b: Bits, c: u32, ftz: bool) -> Bits {
                if super::super::f32::cmp(c, 0, FloatCmp::Ge, ftz) { a } else { b }
            }

            $($extra)*
        }
    };
}

macro_rules! counted_bit_type {
    ($name:ident, $bits:ty, $width:literal, $ptx:literal, { $($extra:item)* }) => {
        bit_type!($name, $bits, $width, $ptx, {
            /// `popc`.
            #[inline(always)]
            pub fn popc(a: Bits) -> u32 {
                a.count_ones()
            }

            /// `clz`: the width for zero.
            #[inline(always)]
            pub fn clz(a: Bits) -> u32 {
                a.leading_zeros()
            }

            /// `brev`.
            #[inline(always)]
            pub fn brev(a: Bits) -> Bits {
                a.reverse_bits()
            }

            /// `bfi` (manual 9.7.1.20): the low `d` bits of `a` replace those of `b` from bit `c` on;
            /// what does not fit is dropped. The 32-bit form takes both modulo 256, the emulated
            /// 64-bit form as they are.
            #[inline(always)]
            pub fn bfi(a: Bits, b: Bits, c: u32, d: u32) -> Bits {
                let (position, length) = if $width == 64 { (c, d) } else { (c & 0xff, d & 0xff) };
                let field = !shl(Bits::MAX, length);
                let mask = shl(field, position);
                (shl(a, position) & mask) | (b & !mask)
            }

            $($extra)*
        });
    };
}

bit_type!(b16, u16, 16, "b16", {});

counted_bit_type!(b64, u64, 64, "b64", {
    /// `clmad.lo.u64` (PTX 9.3): the low half of the carry-less product, exclusive-or `c`.
    #[inline]
    pub fn clmad_lo(a: u64, b: u64, c: u64) -> u64 {
        super::carryless(a, b) as u64 ^ c
    }

    /// `clmad.hi.u64` (PTX 9.3): the high half of the carry-less product, exclusive-or `c`.
    #[inline]
    pub fn clmad_hi(a: u64, b: u64, c: u64) -> u64 {
        (super::carryless(a, b) >> 64) as u64 ^ c
    }
});

counted_bit_type!(b32, u32, 32, "b32", {
    /// `lop3` (manual 9.7.8.6): bit `4a + 2b + c` of `lut` for each bit position.
    #[inline(always)]
    pub fn lop3(a: u32, b: u32, c: u32, lut: u8) -> u32 {
        let term = |i: u32, x: u32| if lut >> i & 1 != 0 { x } else { 0 };
        let (na, nb, nc) = (!a, !b, !c);
        let low = term(0, na & nb & nc) | term(1, na & nb & c) | term(2, na & b & nc) | term(3, na & b & c);
        let high = term(4, a & nb & nc) | term(5, a & nb & c) | term(6, a & b & nc) | term(7, a & b & c);
        low | high
    }

    #[inline(always)]
    fn funnel_amount(c: u32, mode: Bound) -> u32 {
        match mode {
            Bound::Clamp => c.min(32),
            Bound::Wrap => c & 31,
        }
    }

    /// `shf.l` (manual 9.7.8.7): the upper word of `{b, a}` shifted left.
    #[inline(always)]
    pub fn shf_l(a: u32, b: u32, c: u32, mode: Bound) -> u32 {
        let both = u64::from(b) << 32 | u64::from(a);
        ((both << funnel_amount(c, mode)) >> 32) as u32
    }

    /// `shf.r` (manual 9.7.8.7): the lower word of `{b, a}` shifted right.
    #[inline(always)]
    pub fn shf_r(a: u32, b: u32, c: u32, mode: Bound) -> u32 {
        let both = u64::from(b) << 32 | u64::from(a);
        (both >> funnel_amount(c, mode)) as u32
    }

    /// `bmsk` (manual 9.7.1.22): `b` ones from bit `a` on.
    #[inline(always)]
    pub fn bmsk(a: u32, b: u32, mode: Bound) -> u32 {
        let (position, length) = match mode {
            Bound::Clamp => (a, b),
            Bound::Wrap => (a & 31, b & 31),
        };
        shl(!shl(u32::MAX, length), position)
    }

    /// `fns` (manual 9.7.1.17): position of the `offset`-th set bit of `mask` counted from `base`,
    /// upwards or (negative offset) downwards; `0xffffffff` if there is none. A base above 31 finds
    /// nothing. The offset -2^31, whose magnitude overflows in the device's sequence, gives 0.
    #[inline]
    pub fn fns(mask: u32, base: u32, offset: u32) -> u32 {
        if offset == 1 << 31 {
            return 0;
        }
        if base > 31 {
            return u32::MAX;
        }
        let offset = offset as i32;
        if offset < 0 {
            // Counting down from `base` is counting up in the mirror image.
            return match up(mask.reverse_bits() & (u32::MAX << (31 - base)), offset.unsigned_abs()) {
                u32::MAX => u32::MAX,
                found => 31 - found,
            };
        }
        if offset == 0 {
            return if mask >> base & 1 != 0 { base } else { u32::MAX };
        }
        up(mask & (u32::MAX << base), offset.unsigned_abs())
    }

    /// Position of the `n`-th (from 1) set bit.
    #[inline]
    fn up(mask: u32, n: u32) -> u32 {
        if n > mask.count_ones() {
            return u32::MAX;
        }
        let rest = (1..n).fold(mask, |m, _| m & m.wrapping_sub(1));
        rest.trailing_zeros()
    }

    /// `prmt` in the default mode (manual 9.7.9.7): each nibble of `c` selects a byte of `{b, a}`;
    /// its top bit replicates that byte's sign instead.
    #[inline(always)]
    pub fn prmt(a: u32, b: u32, c: u32) -> u32 {
        let both = u64::from(b) << 32 | u64::from(a);
        let one = |i: u32| {
            let nibble = c >> (4 * i);
            let byte = (both >> (8 * (nibble & 7))) as u8;
            let chosen = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
            u32::from(chosen) << (8 * i)
        };
        one(0) | one(1) | one(2) | one(3)
    }

    /// `prmt` in one of its six named modes; only the low two bits of `c` count.
    #[inline(always)]
    pub fn prmt_mode(a: u32, b: u32, c: u32, mode: Prmt) -> u32 {
        // Row of byte selectors by c, most significant byte first.
        let selectors = match mode {
            Prmt::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
            Prmt::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
            Prmt::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
            Prmt::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
            Prmt::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
            Prmt::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
        };
        let i = c & 3;
        let low = if i & 1 != 0 { selectors[1] } else { selectors[0] };
        let high = if i & 1 != 0 { selectors[3] } else { selectors[2] };
        prmt(a, b, if i & 2 != 0 { high } else { low })
    }

    /// `dp4a` (manual 9.7.1.23): `c` plus the four products of bytes; signed operands are
    /// sign-extended.
    #[inline(always)]
    pub fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
        let product = |i| super::byte(a, i, a_signed).wrapping_mul(super::byte(b, i, b_signed));
        let (low, high) = (product(0).wrapping_add(product(1)), product(2).wrapping_add(product(3)));
        c.wrapping_add(low).wrapping_add(high)
    }

    /// `dp2a` (manual 9.7.1.24): `c` plus two products of a half-word of `a` and a byte of `b`, taken
    /// from the upper half of `b` if `high` (PTX `.hi`).
    #[inline(always)]
    pub fn dp2a(a: u32, b: u32, c: u32, high: bool, a_signed: bool, b_signed: bool) -> u32 {
        let first = if high { 2 } else { 0 };
        (0..2).fold(c, |sum, i| {
            let half = (a >> (16 * i)) as u16;
            let x = if a_signed { half as i16 as u32 } else { u32::from(half) };
            sum.wrapping_add(x.wrapping_mul(super::byte(b, first + i, b_signed)))
        })
    }
});

/// The named modes of `prmt` (manual 9.7.9.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prmt {
    /// `.f4e`: four bytes forward from byte `c`.
    F4e,
    /// `.b4e`: four bytes backward from byte `c`.
    B4e,
    /// `.rc8`: byte `c` four times.
    Rc8,
    /// `.ecl`: clamped from the left.
    Ecl,
    /// `.ecr`: clamped from the right.
    Ecr,
    /// `.rc16`: half-word `c & 1` twice.
    Rc16,
}

#[inline(always)]
fn byte(a: u32, i: u32, signed: bool) -> u32 {
    let x = (a >> (8 * i)) as u8;
    if signed { x as i8 as u32 } else { u32::from(x) }
}

#[inline]
fn carryless(a: u64, b: u64) -> u128 {
    (0..64).fold(0, |sum, i| sum ^ if b >> i & 1 != 0 { u128::from(a) << i } else { 0 })
}
