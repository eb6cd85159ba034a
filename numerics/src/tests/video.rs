//! Video instructions against the manual's pseudocode where ptxas agrees with it, and against
//! recorded expansions where it does not.

use super::super::video::{
    Finish, MadForm, Scalar, ScalarForm, Select, Simd, SimdForm, mad, scalar, simd2, simd4,
};
use super::super::{Bound, IntCmp};
use super::Rng;

const CASES: usize = 20_000;
const SELECTS: [Select; 7] =
    [Select::Word, Select::H0, Select::H1, Select::B0, Select::B1, Select::B2, Select::B3];

fn part(a: u32, select: Select, signed: bool) -> i64 {
    let bytes = a.to_le_bytes();
    let half = |i: usize| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    let byte = |i: usize| if signed { i64::from(bytes[i] as i8) } else { bytes[i].into() };
    let pair = |i: usize| if signed { i64::from(half(i) as i16) } else { half(i).into() };
    match select {
        Select::Word if signed => (a as i32).into(),
        Select::Word => a.into(),
        Select::H0 => pair(0),
        Select::H1 => pair(1),
        Select::B0 => byte(0),
        Select::B1 => byte(1),
        Select::B2 => byte(2),
        Select::B3 => byte(3),
    }
}

#[test]
fn scalar_operations_follow_the_pseudocode() {
    let mut rng = Rng(60);
    for _ in 0..CASES {
        let (a, b, c) = (rng.int() as u32, rng.int() as u32, rng.int() as u32);
        let pick = |rng: &mut Rng| SELECTS[rng.below(7) as usize];
        let form = ScalarForm {
            signed: rng.below(2) == 0,
            a_signed: rng.below(2) == 0,
            b_signed: rng.below(2) == 0,
            a_select: pick(&mut rng),
            b_select: pick(&mut rng),
            sat: rng.below(2) == 0,
            finish: [Finish::Plain, Finish::Add][rng.below(2) as usize],
        };
        let (x, y) = (part(a, form.a_select, form.a_signed), part(b, form.b_select, form.b_signed));
        for (operation, exact) in [
            (Scalar::Add, x + y),
            (Scalar::Sub, x - y),
            (Scalar::AbsDiff, (x - y).abs()),
            (Scalar::Min, x.min(y)),
            (Scalar::Max, x.max(y)),
        ] {
            let range = if form.signed { (-0x8000_0000, 0x7fff_ffff) } else { (0, 0xffff_ffff) };
            let value = match form {
                ScalarForm { sat: true, signed: true, .. } => exact.clamp(range.0, range.1),
                ScalarForm { sat: true, signed: false, .. } => exact.max(0),
                _ => exact,
            };
            let want = match form.finish {
                Finish::Add => (value as u32).wrapping_add(c),
                _ => value as u32,
            };
            assert_eq!(scalar(operation, form, a, b, c), want, "{operation:?} {form:?} {a:#x} {b:#x}");
            // Secondary minimum and maximum where no intermediate leaves the destination's range.
            if (range.0..=range.1).contains(&exact) && exact == i64::from(exact as i32) {
                let third = if form.signed { i64::from(c as i32) } else { c.into() };
                let with = |finish| scalar(operation, ScalarForm { finish, ..form }, a, b, c);
                assert_eq!(with(Finish::Min), exact.min(third) as u32, "{operation:?} {form:?}");
                assert_eq!(with(Finish::Max), exact.max(third) as u32, "{operation:?} {form:?}");
            }
            let merge = |select| {
                scalar(operation, ScalarForm { sat: false, finish: Finish::Merge(select), ..form }, a, b, c)
            };
            assert_eq!(merge(Select::B2), c & 0xff00_ffff | (exact as u32 & 0xff) << 16);
            assert_eq!(merge(Select::H0), c & 0xffff_0000 | exact as u32 & 0xffff);
        }
        let set = scalar(Scalar::Set(IntCmp::Le), ScalarForm { finish: Finish::Plain, ..form }, a, b, c);
        assert_eq!(set, u32::from(x <= y));
        let n = part(b, form.b_select, false) as u32;
        let form = ScalarForm { b_signed: false, sat: false, finish: Finish::Plain, ..form };
        assert_eq!(scalar(Scalar::Shl(Bound::Wrap), form, a, b, c), (x as u32) << (n & 31));
        assert_eq!(scalar(Scalar::Shr(Bound::Clamp), form, a, b, c), (x >> n.min(32)) as u32);
    }
}

#[test]
fn scalar_expansions_that_depart_from_the_pseudocode() {
    let words = |signed, a, b, sat, finish| ScalarForm { sat, finish, ..ScalarForm::words(signed, a, b) };
    // vadd.u32.u32.u32.sat has no upper limit.
    let form = words(false, false, false, true, Finish::Plain);
    assert_eq!(scalar(Scalar::Add, form, u32::MAX, 1, 0), 0);
    assert_eq!(scalar(Scalar::Sub, form, 1, 2, 0), 0);
    // vadd.s32.s32.s32 d.h1: the upper half of the sum.
    let form = words(true, true, true, false, Finish::Merge(Select::H1));
    assert_eq!(scalar(Scalar::Add, form, 0x1234_5678, 1, 0xabcd), 0x1234_abcd);
    // vsub.u32.u32.u32.sat d.b0: -1 becomes 255.
    let form = words(false, false, false, true, Finish::Merge(Select::B0));
    assert_eq!(scalar(Scalar::Sub, form, 1, 2, 0x1111_1111), 0x1111_11ff);
    // vmin.s32.s32.s32.sat d.h0: -5 becomes 0x7fff.
    let form = words(true, true, true, true, Finish::Merge(Select::H0));
    assert_eq!(scalar(Scalar::Min, form, -5i32 as u32, 3, 0), 0x7fff);
    // vadd.u32.u32.u32.max: the sum 0x80000000 counts as a huge number.
    let form = words(false, false, false, false, Finish::Max);
    assert_eq!(scalar(Scalar::Add, form, 0x7fff_ffff, 1, u32::MAX), 0x8000_0000);
    // vshl.u32.u32.u32.clamp.sat: bit 33 is the sign of the 34-bit intermediate.
    let form = words(false, false, false, true, Finish::Plain);
    assert_eq!(scalar(Scalar::Shl(Bound::Clamp), form, 2, 40, 0), 0);
    assert_eq!(scalar(Scalar::Shl(Bound::Clamp), form, 1, 40, 0), u32::MAX);
    // vshl.s32.s32.u32.clamp.sat d.h0 is not limited to the half-word.
    let form = words(true, true, false, true, Finish::Merge(Select::H0));
    assert_eq!(scalar(Scalar::Shl(Bound::Clamp), form, 0x9000, 1, 0), 0x2000);
}

#[test]
fn multiply_add() {
    let plain = MadForm {
        a_signed: true,
        b_signed: true,
        a_select: Select::Word,
        b_select: Select::Word,
        negate_product: false,
        negate_c: false,
        plus_one: false,
        shift: 0,
        sat: false,
    };
    let mut rng = Rng(61);
    for _ in 0..CASES {
        let (a, b, c) = (rng.int() as u32, rng.int() as u32, rng.int() as u32);
        let [x, y, z] = [a, b, c].map(|v| i128::from(v as i32));
        let clamp = |v: i128| v.clamp(-0x8000_0000, 0x7fff_ffff) as u32;
        assert_eq!(mad(plain, a, b, c), (x * y + z) as u32);
        let form = MadForm { sat: true, shift: 7, ..plain };
        assert_eq!(mad(form, a, b, c), clamp((x * y + z) >> 7));
        let form = MadForm { sat: true, negate_product: true, ..plain };
        assert_eq!(mad(form, a, b, c), clamp(z - x * y));
        let form = MadForm { sat: true, negate_c: true, ..plain };
        assert_eq!(mad(form, a, b, c), clamp(x * y - z));
        let form = MadForm { plus_one: true, shift: 15, ..plain };
        assert_eq!(mad(form, a, b, c), ((x * y + z + 1) >> 15) as u32);
        let unsigned =
            MadForm { a_signed: false, b_signed: false, a_select: Select::H1, b_select: Select::B3, ..plain };
        let product = u64::from(a >> 16) * u64::from(b >> 24);
        let sum = product.wrapping_add(c as i32 as u64);
        assert_eq!(mad(MadForm { shift: 7, ..unsigned }, a, b, c), (sum >> 7) as u32);
    }
    // Whole unsigned words are multiplied as signed ones.
    let unsigned = MadForm { a_signed: false, b_signed: false, sat: true, ..plain };
    assert_eq!(mad(unsigned, u32::MAX, 2, 0), 0);
    assert_eq!(mad(unsigned, 0x7fff_ffff, 4, 0), u32::MAX);
}

#[test]
fn simd_operations_follow_the_pseudocode() {
    let mut rng = Rng(62);
    let operations = [
        Simd::Add,
        Simd::Sub,
        Simd::Average,
        Simd::AbsDiff,
        Simd::Min,
        Simd::Max,
        Simd::Set(IntCmp::Lt),
        Simd::Set(IntCmp::Ne),
    ];
    for i in 0..CASES {
        let (a, b, c) = (rng.next() as u32, rng.next() as u32, rng.next() as u32);
        let operation = operations[i % operations.len()];
        let four = rng.below(2) == 0;
        let (n, width) = if four { (4u32, 8u32) } else { (2, 16) };
        let selector =
            |rng: &mut Rng| (0..n).fold(0u16, |s, i| s | (rng.below(2 * u64::from(n)) as u16) << (4 * i));
        let form = SimdForm {
            signed: rng.below(2) == 0,
            a_signed: rng.below(2) == 0,
            b_signed: rng.below(2) == 0,
            a_select: selector(&mut rng),
            b_select: selector(&mut rng),
            mask: rng.below(1 << n) as u8,
            sat: rng.below(2) == 0,
            accumulate: rng.below(2) == 0,
        };
        let both = [a.to_le_bytes(), b.to_le_bytes()].concat();
        let get = |select: u16, i: u32, signed: bool| -> i64 {
            let e = (select >> (4 * i) & 0xf) as usize;
            match (four, signed) {
                (true, false) => both[e].into(),
                (true, true) => (both[e] as i8).into(),
                (false, false) => u16::from_le_bytes([both[2 * e], both[2 * e + 1]]).into(),
                (false, true) => i16::from_le_bytes([both[2 * e], both[2 * e + 1]]).into(),
            }
        };
        let (mut sum, mut merged) = (i64::from(c), 0u32);
        for i in 0..n {
            let (x, y) = (get(form.a_select, i, form.a_signed), get(form.b_select, i, form.b_signed));
            let mut t = match operation {
                Simd::Add => x + y,
                Simd::Sub => x - y,
                Simd::Average if x + y >= 0 => (x + y + 1) >> 1,
                Simd::Average => (x + y) >> 1,
                Simd::AbsDiff => (x - y).abs(),
                Simd::Min => x.min(y),
                Simd::Max => x.max(y),
                Simd::Set(cmp) => cmp.apply(x, y).into(),
            };
            if form.sat {
                let limit = 1i64 << width;
                t = if form.signed { t.clamp(-limit / 2, limit / 2 - 1) } else { t.clamp(0, limit - 1) };
            }
            let field = u32::MAX >> (32 - width);
            if form.mask >> i & 1 == 1 {
                sum += t;
                merged |= (t as u32 & field) << (i * width);
            } else {
                merged |= c & field << (i * width);
            }
        }
        let want = if form.accumulate { sum as u32 } else { merged };
        let got = if four { simd4(operation, form, a, b, c) } else { simd2(operation, form, a, b, c) };
        assert_eq!(got, want, "{operation:?} {form:?} {a:#x} {b:#x} {c:#x}");
    }
}
