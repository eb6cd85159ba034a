//! Video instructions (manual 9.7.18): scalar operations on byte, half-word and word selections, and
//! SIMD operations on two half-words or four bytes.
//!
//! `sm_90` has no video unit: ptxas expands every form, and what the device computes is that
//! expansion. Where it departs from the manual's pseudocode the functions here follow the device, and
//! say so. All 5,440 combinations of the scalar forms' types, modifiers and kinds of selectors were
//! compared with an H200 (driver 580.159) on 64 operand triples each.
//!
//! ```
//! use numerics::video::{Finish, Scalar, ScalarForm, Select, scalar};
//! // vabsdiff.s32.s32.s32.add d, a.b0, b.b1, c
//! let form = ScalarForm {
//!     a_select: Select::B0,
//!     b_select: Select::B1,
//!     finish: Finish::Add,
//!     ..ScalarForm::words(true, true, true)
//! };
//! assert_eq!(scalar(Scalar::AbsDiff, form, 0x0000_00ff, 0x0000_0300, 10), 14);
//! ```

use super::modes::{Bound, IntCmp};

/// The part of a word that an operand or a merged result occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Select {
    /// The whole word.
    Word,
    /// Half-word 0 (`.h0`).
    H0,
    /// Half-word 1 (`.h1`).
    H1,
    /// Byte 0 (`.b0`).
    B0,
    /// Byte 1 (`.b1`).
    B1,
    /// Byte 2 (`.b2`).
    B2,
    /// Byte 3 (`.b3`).
    B3,
}

impl Select {
    /// Position of the lowest bit and width.
    #[inline(always)]
    fn field(self) -> (u32, u32) {
        match self {
            Select::Word => (0, 32),
            Select::H0 => (0, 16),
            Select::H1 => (16, 16),
            Select::B0 => (0, 8),
            Select::B1 => (8, 8),
            Select::B2 => (16, 8),
            Select::B3 => (24, 8),
        }
    }
}

/// The primary operation of a scalar video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `vadd`.
    Add,
    /// `vsub`.
    Sub,
    /// `vabsdiff`.
    AbsDiff,
    /// `vmin`.
    Min,
    /// `vmax`.
    Max,
    /// `vshl`; the second operand is unsigned.
    Shl(Bound),
    /// `vshr`; the second operand is unsigned.
    Shr(Bound),
    /// `vset`: 1 or 0. The destination's signedness is that of the first operand.
    Set(IntCmp),
}

/// What happens to the intermediate result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finish {
    /// Its low word is the result.
    Plain,
    /// `.add`: plus the third operand.
    Add,
    /// `.min` with the third operand.
    Min,
    /// `.max` with the third operand.
    Max,
    /// A destination selector: merged into the third operand.
    Merge(Select),
}

/// Types and selectors of a scalar video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScalarForm {
    /// `.dtype` is `.s32`.
    pub signed: bool,
    /// `.atype` is `.s32`.
    pub a_signed: bool,
    /// `.btype` is `.s32`.
    pub b_signed: bool,
    /// Selector of the first operand.
    pub a_select: Select,
    /// Selector of the second operand.
    pub b_select: Select,
    /// `.sat`.
    pub sat: bool,
    /// Secondary operation or merge.
    pub finish: Finish,
}

impl ScalarForm {
    /// Whole words, no saturation, no secondary operation.
    pub const fn words(signed: bool, a_signed: bool, b_signed: bool) -> ScalarForm {
        let (a_select, b_select) = (Select::Word, Select::Word);
        ScalarForm { signed, a_signed, b_signed, a_select, b_select, sat: false, finish: Finish::Plain }
    }
}

#[inline(always)]
fn extract(a: u32, select: Select, signed: bool) -> i64 {
    let (position, width) = select.field();
    let up = u64::from(a >> position) << (64 - width);
    if signed { (up as i64) >> (64 - width) } else { (up >> (64 - width)) as i64 }
}

/// Puts the low bits of `value` into a part of `c`; into the upper half-word, the upper half of
/// `value`, as the device does.
#[inline(always)]
fn merge(value: u32, select: Select, c: u32) -> u32 {
    let (position, width) = select.field();
    let mask = (u32::MAX >> (32 - width)) << position;
    let moved = if select == Select::H1 { value } else { value << position };
    (moved & mask) | (c & !mask)
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset` (manual 9.7.18.1).
///
/// On the device, unlike the manual: saturation to a merged byte or half-word takes negative values to
/// the *largest* number, and for the shifts only to a word; saturation to an unsigned word takes
/// negative values to 0 and has no upper limit, except for the shifts; a merge into the upper half-word
/// takes bits 31 to 16 of the result; the intermediate result of `vadd`, `vsub` and saturated shifts is
/// cut to a signed word before `.min` and `.max`, which compare as unsigned 64-bit numbers when the
/// destination is unsigned; a saturated shift works on 34 bits.
#[inline]
pub fn scalar(operation: Scalar, form: ScalarForm, a: u32, b: u32, c: u32) -> u32 {
    let ta = extract(a, form.a_select, form.a_signed);
    let tb = extract(b, form.b_select, form.b_signed);
    let amount = |mode: Bound| match mode {
        Bound::Clamp => (tb as u64).min(32),
        Bound::Wrap => tb as u64 & 31,
    };
    let exact = match operation {
        Scalar::Add => ta + tb,
        Scalar::Sub => ta - tb,
        Scalar::AbsDiff => (ta - tb).abs(),
        Scalar::Min => ta.min(tb),
        Scalar::Max => ta.max(tb),
        Scalar::Shl(mode) => ta << amount(mode),
        Scalar::Shr(mode) => ta >> amount(mode),
        Scalar::Set(cmp) => i64::from(cmp.apply(ta, tb)),
    };
    let shift = matches!(operation, Scalar::Shl(_) | Scalar::Shr(_));
    let set = matches!(operation, Scalar::Set(_));
    let signed = if set { form.a_signed } else { form.signed };
    let sat = form.sat && !set;
    let merged = match form.finish {
        Finish::Merge(select) => select.field().1,
        _ => 32,
    };
    let value = if !sat {
        exact
    } else if merged < 32 && !shift {
        let top = if signed { (1 << (merged - 1)) - 1 } else { (1 << merged) - 1 };
        (exact as u64).min(top) as i64
    } else if !signed && !shift {
        exact.max(0)
    } else {
        let exact = if shift { (exact << 30) >> 30 } else { exact };
        let (low, high) = if signed { (i32::MIN.into(), i32::MAX.into()) } else { (0, u32::MAX.into()) };
        exact.clamp(low, high)
    };
    let narrow = matches!(operation, Scalar::Add | Scalar::Sub) || (shift && sat);
    let wide = if narrow { i64::from(value as i32) } else { value };
    let third = if signed { i64::from(c as i32) } else { i64::from(c) };
    let less = if signed { wide < third } else { (wide as u64) < third as u64 };
    match form.finish {
        Finish::Plain => value as u32,
        Finish::Add => (value as u32).wrapping_add(c),
        Finish::Min => (if less { wide } else { third }) as u32,
        Finish::Max => (if less { third } else { wide }) as u32,
        Finish::Merge(select) => merge(value as u32, select, c),
    }
}

/// Types and modifiers of `vmad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MadForm {
    /// `.atype` is `.s32`.
    pub a_signed: bool,
    /// `.btype` is `.s32`.
    pub b_signed: bool,
    /// Selector of the first operand.
    pub a_select: Select,
    /// Selector of the second operand.
    pub b_select: Select,
    /// Exactly one of `a` and `b` is negated.
    pub negate_product: bool,
    /// `c` is negated.
    pub negate_c: bool,
    /// `.po`.
    pub plus_one: bool,
    /// Right shift of the sum: 0, 7 (`.shr7`) or 15 (`.shr15`).
    pub shift: u32,
    /// `.sat`.
    pub sat: bool,
}

/// `vmad` (manual 9.7.18.1.3).
///
/// As ptxas expands it, the product of whole words and the third operand are signed whatever their
/// types.
#[inline]
pub fn mad(form: MadForm, a: u32, b: u32, c: u32) -> u32 {
    let ta = i64::from(extract(a, form.a_select, form.a_signed) as i32);
    let tb = i64::from(extract(b, form.b_select, form.b_signed) as i32);
    let signed = form.a_signed || form.b_signed || form.negate_product || form.negate_c;
    let product = ta * tb;
    let (product, c, lsb) = match form {
        MadForm { plus_one: true, .. } => (product, c, 1),
        MadForm { negate_product: true, .. } => (!product, c, 1),
        MadForm { negate_c: true, .. } => (product, !c, 1),
        _ => (product, c, 0),
    };
    let sum = product.wrapping_add(i64::from(c as i32)).wrapping_add(lsb);
    let shift = form.shift & 63;
    if signed {
        let r = sum >> shift;
        (if form.sat { r.clamp(i32::MIN.into(), i32::MAX.into()) } else { r }) as u32
    } else {
        let r = sum as u64 >> shift;
        // A negative sum that is not shifted saturates to 0.
        let clamped = if (r as i64) < 0 { 0 } else { r.min(u32::MAX.into()) };
        (if form.sat { clamped } else { r }) as u32
    }
}

/// The primary operation of a SIMD video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Simd {
    /// `vadd2`, `vadd4`.
    Add,
    /// `vsub2`, `vsub4`.
    Sub,
    /// `vavrg2`, `vavrg4`: the average, rounded up for non-negative sums and down otherwise.
    Average,
    /// `vabsdiff2`, `vabsdiff4`.
    AbsDiff,
    /// `vmin2`, `vmin4`.
    Min,
    /// `vmax2`, `vmax4`.
    Max,
    /// `vset2`, `vset4`: 1 or 0 in each element.
    Set(IntCmp),
}

/// Types and selectors of a SIMD video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SimdForm {
    /// `.dtype` is `.s32`.
    pub signed: bool,
    /// `.atype` is `.s32`.
    pub a_signed: bool,
    /// `.btype` is `.s32`.
    pub b_signed: bool,
    /// One hexadecimal digit an element, as in the selector's name: `.h10` is `0x10`, `.b3210` is
    /// `0x3210`. Elements of `b` follow those of `a`.
    pub a_select: u16,
    /// Likewise for the second operand; the defaults are `0x32` and `0x7654`.
    pub b_select: u16,
    /// One bit a destination element; the defaults are `0b11` and `0b1111`.
    pub mask: u8,
    /// `.sat`.
    pub sat: bool,
    /// `.add`: accumulate the masked elements onto `c` instead of merging them into it.
    pub accumulate: bool,
}

#[inline(always)]
fn simd<const N: u32>(operation: Simd, form: SimdForm, a: u32, b: u32, c: u32) -> u32 {
    let width = 32 / N;
    let both = u64::from(b) << 32 | u64::from(a);
    let element = |select: u16, i: u32, signed: bool| -> i32 {
        let index = u32::from(select >> (4 * i)) & (2 * N - 1);
        let up = ((both >> (index * width)) as u32) << (32 - width);
        if signed { (up as i32) >> (32 - width) } else { (up >> (32 - width)) as i32 }
    };
    let element_mask = u32::MAX >> (32 - width);
    let mut merged = c;
    let mut sum = c;
    for i in 0..N {
        let x = element(form.a_select, i, form.a_signed);
        let y = element(form.b_select, i, form.b_signed);
        let t = match operation {
            Simd::Add => x + y,
            Simd::Sub => x - y,
            Simd::Average => (x + y + i32::from(x + y >= 0)) >> 1,
            Simd::AbsDiff => (x - y).abs(),
            Simd::Min => x.min(y),
            Simd::Max => x.max(y),
            Simd::Set(cmp) => i32::from(cmp.apply(x, y)),
        };
        let half = 1i32 << (width - 1);
        let (low, high) = if form.signed { (-half, half - 1) } else { (0, 2 * half - 1) };
        let t = if form.sat { t.clamp(low, high) } else { t };
        if form.mask >> i & 1 != 0 {
            sum = sum.wrapping_add(t as u32);
            let at = element_mask << (i * width);
            merged = (merged & !at) | ((t as u32) << (i * width) & at);
        }
    }
    if form.accumulate { sum } else { merged }
}

/// The two-element operations `vadd2` to `vset2` (manual 9.7.18.2).
#[inline]
pub fn simd2(operation: Simd, form: SimdForm, a: u32, b: u32, c: u32) -> u32 {
    simd::<2>(operation, form, a, b, c)
}

/// The four-element operations `vadd4` to `vset4` (manual 9.7.18.2).
#[inline]
pub fn simd4(operation: Simd, form: SimdForm, a: u32, b: u32, c: u32) -> u32 {
    simd::<4>(operation, form, a, b, c)
}
