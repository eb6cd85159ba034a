//! What `.f16` and `.bf16` share: everything that only looks at the bits.

/// Defines the bitwise operations of a 16-bit format in the current module, which provides
/// `NAN`, `EXPONENT` (the pattern of infinity), `ONE` and `MIN_NORMAL`.
macro_rules! bitwise_ops {
    ($ty:literal) => {
        const SIGN: u16 = 0x8000;

        /// True for every NaN pattern.
        #[inline(always)]
        pub fn is_nan(a: u16) -> bool {
            a & !SIGN > EXPONENT
        }

        /// A subnormal becomes a zero of its sign; anything else is unchanged.
        #[inline(always)]
        pub fn flush(a: u16) -> u16 {
            if a & EXPONENT == 0 { a & SIGN } else { a }
        }

        #[inline(always)]
        fn input(a: u16, ftz: bool) -> u16 {
            if ftz { flush(a) } else { a }
        }

        /// A NaN becomes the canonical [`NAN`]; anything else is unchanged.
        #[inline(always)]
        pub fn canonical(a: u16) -> u16 {
            if is_nan(a) { NAN } else { a }
        }

        /// `.sat`: clamps to \[+0.0, 1.0\]; NaN and negative values (also -0.0) become +0.0.
        #[inline(always)]
        pub fn sat(a: u16) -> u16 {
            let low = if a & SIGN != 0 || is_nan(a) { 0 } else { a };
            if low > ONE { ONE } else { low }
        }

        /// `.relu`: negative values (also -0.0) become +0.0, NaN becomes [`NAN`].
        #[inline(always)]
        pub fn relu(a: u16) -> u16 {
            let clamped = if a & SIGN != 0 { 0 } else { a };
            if is_nan(a) { NAN } else { clamped }
        }

        /// `.satfinite` of `cvt`: an infinity becomes the largest number of its sign.
        #[inline(always)]
        pub fn satfinite(a: u16) -> u16 {
            if a & !SIGN == EXPONENT { a - 1 } else { a }
        }

        #[doc = concat!("`neg{.ftz}.", $ty, "` (manual 9.7.4.5): an addition of -0.0 on the device, so NaN becomes [`NAN`].")]
        #[inline(always)]
        pub fn neg(a: u16, ftz: bool) -> u16 {
            let r = input(a, ftz);
            if is_nan(a) { NAN } else { r ^ SIGN }
        }

        #[doc = concat!("`abs{.ftz}.", $ty, "` (manual 9.7.4.6): an addition of -0.0 on the device, so NaN becomes [`NAN`].")]
        #[inline(always)]
        pub fn abs(a: u16, ftz: bool) -> u16 {
            let r = input(a, ftz);
            if is_nan(a) { NAN } else { r & !SIGN }
        }

        /// A signed key that orders all numbers, -0.0 below +0.0.
        #[inline(always)]
        fn key(a: u16) -> i16 {
            let s = a as i16;
            s ^ (((s >> 15) as u16) >> 1) as i16
        }

        #[inline(always)]
        fn pick(a: u16, b: u16, take_a: bool, nan: bool) -> u16 {
            let (a_nan, b_nan) = (is_nan(a), is_nan(b));
            let r = if take_a { a } else { b };
            let r = if a_nan { b } else { r };
            let r = if b_nan { a } else { r };
            if (a_nan & b_nan) | (nan & (a_nan | b_nan)) { NAN } else { r }
        }

        #[doc = concat!("`min{.ftz}{.NaN}.", $ty, "` (manual 9.7.4.7): -0.0 is below +0.0; a NaN operand gives the other operand, or [`NAN`] with `nan` (PTX `.NaN`) or when both are NaN.")]
        #[inline(always)]
        pub fn min(a: u16, b: u16, nan: bool, ftz: bool) -> u16 {
            let (a, b) = (input(a, ftz), input(b, ftz));
            pick(a, b, key(a) <= key(b), nan)
        }

        #[doc = concat!("`max{.ftz}{.NaN}.", $ty, "` (manual 9.7.4.8); rules as for [`min`].")]
        #[inline(always)]
        pub fn max(a: u16, b: u16, nan: bool, ftz: bool) -> u16 {
            let (a, b) = (input(a, ftz), input(b, ftz));
            pick(a, b, key(a) >= key(b), nan)
        }

        #[inline(always)]
        fn xorsign(r: u16, a: u16, b: u16) -> u16 {
            if is_nan(r) { r } else { (r & !SIGN) | ((a ^ b) & SIGN) }
        }

        #[doc = concat!("`min{.ftz}{.NaN}.xorsign.abs.", $ty, "`: the smaller magnitude with the exclusive or of the signs, which is not applied to a NaN result.")]
        #[inline(always)]
        pub fn min_xorsign_abs(a: u16, b: u16, nan: bool, ftz: bool) -> u16 {
            xorsign(min(a & !SIGN, b & !SIGN, nan, ftz), a, b)
        }

        #[doc = concat!("`max{.ftz}{.NaN}.xorsign.abs.", $ty, "`; see [`min_xorsign_abs`].")]
        #[inline(always)]
        pub fn max_xorsign_abs(a: u16, b: u16, nan: bool, ftz: bool) -> u16 {
            xorsign(max(a & !SIGN, b & !SIGN, nan, ftz), a, b)
        }

        #[doc = concat!("The comparison of `setp` and `set` on `.", $ty, "` (manual 9.7.7).")]
        #[inline(always)]
        pub fn cmp(a: u16, b: u16, op: FloatCmp, ftz: bool) -> bool {
            let (a, b) = (input(a, ftz), input(b, ftz));
            let unordered = is_nan(a) | is_nan(b);
            let equal = ((a == b) | ((a | b) & !SIGN == 0)) & !unordered;
            let less = (key(a) < key(b)) & !equal & !unordered;
            op.decide(less, equal, unordered)
        }

        #[doc = concat!("The result of `set.*.", $ty, ".*`: 1.0 or +0.0.")]
        #[inline(always)]
        pub fn from_bool(p: bool) -> u16 {
            if p { ONE } else { 0 }
        }

        /// `.oob` of `fma` (manual 9.7.4.4): +0.0 instead of `result` if a factor is
        /// [`OOB_NAN`](super::OOB_NAN) of either sign. The addend is not looked at.
        #[inline(always)]
        pub fn oob(result: u16, a: u16, b: u16) -> u16 {
            let hit = (a & !SIGN == super::OOB_NAN) | (b & !SIGN == super::OOB_NAN);
            if hit { 0 } else { result }
        }

        #[doc = concat!("`sub{.rnd}{.ftz}.", $ty, "` (manual 9.7.4.2): one rounding of `a * 1 + -b`.")]
        #[inline(always)]
        pub fn sub(a: u16, b: u16, ftz: bool) -> u16 {
            add(a, b ^ SIGN, ftz)
        }
    };
}

pub(super) use bitwise_ops;
