//! Integer and bit operations against bit-by-bit readings of the manual.

use super::super::{Bound, IntCmp, Prmt, b16, b32, b64, s16, s32, s64, u16, u32, u64};
use super::super::{s8x4, s16x2, u8x4, u16x2};
use super::Rng;

type W = core::primitive::u32;
type D = core::primitive::u64;
const CASES: usize = 20_000;

fn bit(x: D, i: W) -> D {
    if i > 63 { 0 } else { x >> i & 1 }
}

/// Position and length of a bit field: modulo 256 only in 32 bits.
fn field(position: W, length: W, width: W) -> (W, W) {
    let limit = |x: W| if width == 64 { x.min(0x100) } else { x & 0xff };
    (limit(position), limit(length))
}

/// The manual's loop for `bfe`.
fn bfe_reference(a: D, b: W, c: W, width: W, signed: bool) -> D {
    let (msb, (position, length)) = (width - 1, field(b, c, width));
    let sign = if !signed || length == 0 { 0 } else { bit(a, (position + length - 1).min(msb)) };
    (0..width).fold(0, |d, i| {
        let x = if i < length && position + i <= msb { bit(a, position + i) } else { sign };
        d | x << i
    })
}

/// The manual's loop for `bfi`.
fn bfi_reference(a: D, b: D, c: W, d: W, width: W) -> D {
    let (position, length) = field(c, d, width);
    (0..length.min(width)).filter(|i| position + i < width).fold(b, |f, i| {
        let at = position + i;
        f & !(1 << at) | bit(a, i) << at
    })
}

/// The manual's loop for `bfind`.
fn bfind_reference(a: D, width: W, signed: bool) -> W {
    let a = if signed && bit(a, width - 1) == 1 { !a } else { a };
    (0..width).rev().find(|&i| bit(a, i) == 1).unwrap_or(W::MAX)
}

#[test]
fn bit_fields() {
    let mut rng = Rng(20);
    for _ in 0..CASES {
        let (a, b) = (rng.int(), rng.int());
        let limit = if rng.below(2) == 0 { 70 } else { 300 };
        let (p, l) = (rng.below(300) as W, rng.below(limit) as W);
        let (lo, lo2) = (D::from(a as W), D::from(b as W));
        assert_eq!(D::from(u32::bfe(a as W, p, l)), bfe_reference(lo, p, l, 32, false));
        assert_eq!(D::from(s32::bfe(a as W, p, l)), bfe_reference(lo, p, l, 32, true), "{a:#x} {p} {l}");
        assert_eq!(u64::bfe(a, p, l), bfe_reference(a, p, l, 64, false));
        assert_eq!(s64::bfe(a, p, l), bfe_reference(a, p, l, 64, true));
        assert_eq!(D::from(b32::bfi(a as W, b as W, p, l)), bfi_reference(lo, lo2, p, l, 32));
        assert_eq!(b64::bfi(a, b, p, l), bfi_reference(a, b, p, l, 64));
        assert_eq!(u32::bfind(a as W), bfind_reference(lo, 32, false));
        assert_eq!(s32::bfind(a as W), bfind_reference(lo, 32, true));
        assert_eq!(u64::bfind(a), bfind_reference(a, 64, false));
        assert_eq!(s64::bfind(a), bfind_reference(a, 64, true));
        let found = s64::bfind(a);
        assert_eq!(s64::bfind_shiftamt(a), if found == W::MAX { found } else { 63 - found });
    }
}

#[test]
fn masks_and_extensions_follow_the_pseudocode() {
    let mut rng = Rng(21);
    for i in 0..CASES {
        let a = rng.int() as W;
        let (p, n) = if i % 8 == 0 {
            (rng.next() as W, rng.next() as W)
        } else {
            (rng.below(40) as W, rng.below(40) as W)
        };
        for (mode, clamp) in [(Bound::Clamp, true), (Bound::Wrap, false)] {
            // szext
            let n1 = n & 31;
            let too_large = n >= 32 && clamp;
            let mask = if too_large { 0 } else { W::MAX << n1 };
            let sign = n1 != 0 && !too_large && a >> ((n1.wrapping_sub(1)) & 31) & 1 == 1;
            assert_eq!(u32::szext(a, n, mode), a & !mask);
            assert_eq!(s32::szext(a, n, mode), a & !mask | if sign { mask } else { 0 });
            // bmsk
            let (a1, b1) = (p & 31, n & 31);
            let sum = a1 + b1;
            let position_overflow = clamp && p >= 32;
            let mask0 = if position_overflow { 0 } else { W::MAX << a1 };
            let mask1 = if sum >= 32 || position_overflow || (clamp && n >= 32) {
                0
            } else if b1 == 0 {
                W::MAX
            } else {
                W::MAX << sum
            };
            assert_eq!(b32::bmsk(p, n, mode), mask0 & !mask1, "bmsk {p} {n} {mode:?}");
        }
    }
}

#[test]
fn nth_set_bit_follows_the_pseudocode() {
    let mut rng = Rng(22);
    for _ in 0..CASES {
        let (mask, base) = (rng.int() as W & rng.int() as W, rng.below(34) as W);
        let offset = rng.below(70) as i32 - 35;
        let mut wanted = W::MAX;
        if offset == 0 {
            if base < 32 && mask >> base & 1 == 1 {
                wanted = base;
            }
        } else {
            let (mut at, mut left) = (base as i32, offset.abs() - 1);
            while base < 32 && (0..32).contains(&at) {
                if mask >> at & 1 == 1 {
                    if left == 0 {
                        wanted = at as W;
                        break;
                    }
                    left -= 1;
                }
                at += offset.signum();
            }
        }
        assert_eq!(b32::fns(mask, base, offset as W), wanted, "{mask:#x} {base} {offset}");
    }
    assert_eq!(b32::fns(0xaaaa_aaaa, 2, -1i32 as W), 1);
    assert_eq!(b32::fns(W::MAX, 31, i32::MIN as W), 0);
}

#[test]
fn arithmetic_agrees_with_wide_integers() {
    let mut rng = Rng(23);
    for _ in 0..CASES {
        let (a, b, c) = (rng.int(), rng.int(), rng.int());
        let [a32, b32_, c32] = [a, b, c].map(|x| x as W);
        let [sa, sb] = [a, b].map(|x| i128::from(x as i64));
        let [wa, wb] = [a, b].map(u128::from);
        assert_eq!(u64::mul_hi(a, b), ((wa * wb) >> 64) as D);
        assert_eq!(s64::mul_hi(a, b), ((sa * sb) >> 64) as D);
        assert_eq!(s64::mad_lo(a, b, c), ((sa * sb) as D).wrapping_add(c));
        let s = |x: W| i64::from(x as i32);
        assert_eq!(s32::mul_wide(a32, b32_), (s(a32) * s(b32_)) as D);
        assert_eq!(s32::mad_wide(a32, b32_, c), ((s(a32) * s(b32_)) as D).wrapping_add(c));
        assert_eq!(u32::mul_wide(a32, b32_), D::from(a32) * D::from(b32_));
        let clamp = |x: i64| x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as W;
        assert_eq!(s32::add_sat(a32, b32_), clamp(s(a32) + s(b32_)));
        assert_eq!(s32::sub_sat(a32, b32_), clamp(s(a32) - s(b32_)));
        assert_eq!(s32::mad_hi_sat(a32, b32_, c32), clamp(((s(a32) * s(b32_)) >> 32) + s(c32)));
        assert_eq!(s32::sad(a32, b32_, c32), c32.wrapping_add((s(a32) - s(b32_)).unsigned_abs() as W));
        assert_eq!(u64::sad(a, b, c), c.wrapping_add(a.abs_diff(b)));
        let s24 = |x: W| i64::from((x << 8) as i32 >> 8);
        assert_eq!(s32::mul24_lo(a32, b32_), (s24(a32) * s24(b32_)) as W);
        assert_eq!(s32::mul24_hi(a32, b32_), ((s24(a32) * s24(b32_)) >> 16) as W);
        assert_eq!(
            s32::mad24_hi_sat(a32, b32_, c32),
            clamp(i64::from(s32::mul24_hi(a32, b32_) as i32) + s(c32))
        );
        let u24 = |x: W| D::from(x & 0xff_ffff);
        assert_eq!(u32::mul24_hi(a32, b32_), ((u24(a32) * u24(b32_)) >> 16) as W);
        assert_eq!(u32::mul24_lo(a32, b32_), (u24(a32) * u24(b32_)) as W);

        let carry = rng.below(2) == 1;
        let sum = wa + wb + u128::from(carry);
        assert_eq!(u64::addc_cc(a, b, carry), (sum as D, sum >> 64 != 0));
        // The flag of a subtraction is "no borrow".
        let difference = wa.wrapping_sub(wb).wrapping_sub(u128::from(!carry));
        assert_eq!(u64::subc_cc(a, b, carry), (difference as D, difference >> 64 == 0));
        assert_eq!(u64::sub_cc(a, b), u64::subc_cc(a, b, true));
        let sum = ((wa * wb) >> 64) + u128::from(c) + u128::from(carry);
        assert_eq!(u64::madc_hi_cc(a, b, c, carry), (sum as D, sum >> 64 != 0));
        let sum = u128::from((sa * sb) as D) + u128::from(c) + u128::from(carry);
        assert_eq!(s64::madc_lo_cc(a, b, c, carry), (sum as D, sum >> 64 != 0));

        if b32_ != 0 {
            assert_eq!(s32::div(a32, b32_), (s(a32) / s(b32_)) as W);
            assert_eq!(s32::rem(a32, b32_), (s(a32) % s(b32_)) as W);
        }
        if b != 0 {
            assert_eq!(s64::div(a, b), (sa / sb) as D);
            assert_eq!(s64::rem(a, b), (sa % sb) as D);
            assert_eq!(u64::rem(a, b), a % b);
        }
        assert_eq!(u64::cmp(a, b, IntCmp::Lt), a < b);
        assert_eq!(s64::cmp(a, b, IntCmp::Ge), sa >= sb);
    }
    for (q, r) in [
        (u32::div(7, 0), u32::rem(7, 0)),
        (s32::div(7, 0), s32::rem(7, 0)),
        (u64::div(7, 0) as W, u64::rem(7, 0) as W),
        (i32::from(s16::div(7, 0) as i16) as W, i32::from(u16::rem(7, 0) as i16) as W),
    ] {
        assert_eq!((q, r), (W::MAX, W::MAX));
    }
    assert_eq!(s32::div(0x8000_0000, W::MAX), 0x8000_0000);
    assert_eq!(s32::rem(0x8000_0000, W::MAX), 0);
    assert_eq!(s32::abs(0x8000_0000), 0x8000_0000);
    assert_eq!(s16::mul_wide(0x8000, 0x8000), 0x4000_0000);
    assert_eq!(s32::relu(0xffff_0000), 0);
}

#[test]
fn shifts_clamp_and_funnel() {
    let mut rng = Rng(24);
    for _ in 0..CASES {
        let (a, b) = (rng.int(), rng.int());
        let n = if rng.below(4) == 0 { rng.next() as W } else { rng.below(70) as W };
        let wide = |x: W| x.min(127);
        assert_eq!(b32::shl(a as W, n), (u128::from(a as W) << wide(n.min(64))) as W);
        assert_eq!(b64::shl(a, n), (u128::from(a) << wide(n.min(64))) as D);
        assert_eq!(
            b16::shl(a as core::primitive::u16, n),
            (u128::from(a as core::primitive::u16) << n.min(64)) as core::primitive::u16
        );
        assert_eq!(u32::shr(a as W, n), (u128::from(a as W) >> wide(n)) as W);
        assert_eq!(s32::shr(a as W, n), (i128::from(a as i32) >> wide(n)) as W);
        assert_eq!(s64::shr(a, n), (i128::from(a as i64) >> wide(n)) as D);
        assert_eq!(
            s16::shr(a as core::primitive::u16, n),
            (i128::from(a as i16) >> wide(n)) as core::primitive::u16
        );
        let (lo, hi) = (a as W, b as W);
        let both = u128::from(hi) << 32 | u128::from(lo);
        for (mode, m) in [(Bound::Clamp, n.min(32)), (Bound::Wrap, n & 31)] {
            assert_eq!(b32::shf_l(lo, hi, n, mode), ((both << m) >> 32) as W);
            assert_eq!(b32::shf_r(lo, hi, n, mode), (both >> m) as W);
        }
    }
}

#[test]
fn permutes_and_logic() {
    let mut rng = Rng(25);
    for _ in 0..CASES {
        let (a, b, c) = (rng.next() as W, rng.next() as W, rng.next() as W);
        let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
        let wanted: Vec<u8> = (0..4)
            .map(|i| {
                let s = (c >> (4 * i)) as usize;
                let x = bytes[s & 7];
                if s & 8 != 0 { if x >= 0x80 { 0xff } else { 0 } } else { x }
            })
            .collect();
        assert_eq!(b32::prmt(a, b, c).to_le_bytes().to_vec(), wanted);
        let lut = rng.next() as u8;
        let wanted = (0..32).fold(0, |d, i| {
            let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
            d | W::from(lut >> index & 1) << i
        });
        assert_eq!(b32::lop3(a, b, c, lut), wanted);
        let at = (c & 3) as usize;
        let pick = |index: [usize; 4]| W::from_le_bytes(index.map(|i| bytes[i]));
        assert_eq!(b32::prmt_mode(a, b, c, Prmt::F4e), pick([at, at + 1, at + 2, at + 3]));
        let back = [at, (at + 7) & 7, (at + 6) & 7, (at + 5) & 7];
        assert_eq!(b32::prmt_mode(a, b, c, Prmt::B4e), pick(back));
        assert_eq!(b32::prmt_mode(a, b, c, Prmt::Rc8), pick([at; 4]));
        assert_eq!(b32::prmt_mode(a, b, c, Prmt::Ecl), pick([at, at.max(1), at.max(2), 3]));
        assert_eq!(b32::prmt_mode(a, b, c, Prmt::Ecr), pick([0, at.min(1), at.min(2), at]));
        let h = 2 * (at & 1);
        assert_eq!(b32::prmt_mode(a, b, c, Prmt::Rc16), pick([h, h + 1, h, h + 1]));
    }
    assert_eq!(b32::cnot(0), 1);
    assert_eq!(b64::cnot(5), 0);
    assert_eq!(b32::slct_f32(1, 2, 0x8000_0000, false), 1);
    assert_eq!(b32::slct_f32(1, 2, 0x8000_0001, false), 2);
    assert_eq!(b32::slct_f32(1, 2, 0x8000_0001, true), 1);
    assert_eq!(b32::slct_f32(1, 2, 0x7fc0_0000, true), 2);
    assert_eq!(b64::slct_s32(1, 2, 0x8000_0000), 2);
}

#[test]
fn dot_products_and_packed_integers() {
    let mut rng = Rng(26);
    for _ in 0..CASES {
        let (a, b, c) = (rng.next() as W, rng.next() as W, rng.next() as W);
        let (ab, bb) = (a.to_le_bytes(), b.to_le_bytes());
        let byte = |x: u8, signed: bool| if signed { i64::from(x as i8) } else { i64::from(x) };
        for (sa, sb) in [(false, false), (false, true), (true, false), (true, true)] {
            let sum: i64 = (0..4).map(|i| byte(ab[i], sa) * byte(bb[i], sb)).sum();
            assert_eq!(b32::dp4a(a, b, c, sa, sb), c.wrapping_add(sum as W));
            for high in [false, true] {
                let sum: i64 = (0..2)
                    .map(|i| {
                        let half = (a >> (16 * i)) as core::primitive::u16;
                        let x = if sa { i64::from(half as i16) } else { i64::from(half) };
                        x * byte(bb[i + if high { 2 } else { 0 }], sb)
                    })
                    .sum();
                assert_eq!(b32::dp2a(a, b, c, high, sa, sb), c.wrapping_add(sum as W));
            }
        }
        let halves = |f: &dyn Fn(i32, i32) -> i32, signed: bool| {
            (0..2).fold(0, |d, i| {
                let get = |x: W| {
                    let h = (x >> (16 * i)) as core::primitive::u16;
                    if signed { i32::from(h as i16) } else { i32::from(h) }
                };
                d | ((f(get(a), get(b)) as W) & 0xffff) << (16 * i)
            })
        };
        assert_eq!(u16x2::add(a, b), halves(&|x, y| x + y, false));
        assert_eq!(u16x2::add_sat(a, b), halves(&|x, y| (x + y).min(0xffff), false));
        assert_eq!(u16x2::max(a, b), halves(&|x, y| x.max(y), false));
        assert_eq!(s16x2::min(a, b), halves(&|x, y| x.min(y), true));
        assert_eq!(s16x2::add_sat(a, b), halves(&|x, y| (x + y).clamp(-32768, 32767), true));
        assert_eq!(s16x2::relu(s16x2::max(a, b)), halves(&|x, y| x.max(y).max(0), true));
        let bytes = |f: &dyn Fn(i32, i32) -> i32, signed: bool| {
            W::from_le_bytes(std::array::from_fn(|i| {
                f(byte(ab[i], signed) as i32, byte(bb[i], signed) as i32) as u8
            }))
        };
        assert_eq!(u8x4::sub_sat(a, b), bytes(&|x, y| (x - y).max(0), false));
        assert_eq!(u8x4::add(a, b), bytes(&|x, y| x + y, false));
        assert_eq!(s8x4::add_sat(a, b), bytes(&|x, y| (x + y).clamp(-128, 127), true));
        assert_eq!(s8x4::neg(b), bytes(&|_, y| -y, true));
        assert_eq!(s8x4::min(a, b), bytes(&|x, y| x.min(y), true));
    }
}

#[test]
fn carryless_products_distribute() {
    let mut rng = Rng(27);
    for _ in 0..CASES / 20 {
        let (a, b, c) = (rng.int(), rng.int(), rng.int());
        let (mut lo, mut hi) = (c, c);
        for i in 0..64 {
            if b >> i & 1 == 1 {
                lo ^= a << i;
                hi ^= if i == 0 { 0 } else { a >> (64 - i) };
            }
        }
        assert_eq!(b64::clmad_lo(a, b, c), lo);
        assert_eq!(b64::clmad_hi(a, b, c), hi);
    }
}

#[test]
fn quotients_next_to_integers_are_exact() {
    let mut rng = Rng(90);
    for _ in 0..200_000 {
        let b = (rng.next() as u32) >> rng.below(32);
        let k = (rng.next() as u32) >> rng.below(32);
        for a in [k.wrapping_mul(b), k.wrapping_mul(b).wrapping_sub(1), k.wrapping_mul(b).wrapping_add(1), k]
        {
            assert_eq!(u32::div(a, b), a.checked_div(b).unwrap_or(u32::MAX), "{a} / {b}");
            assert_eq!(u32::rem(a, b), a.checked_rem(b).unwrap_or(u32::MAX), "{a} % {b}");
            let (x, y) = (a as i32, b as i32);
            let (quotient, remainder) = match y {
                0 => (-1, -1),
                _ => (x.wrapping_div(y), x.wrapping_rem(y)),
            };
            assert_eq!(s32::div(a, b), quotient as u32, "{x} / {y}");
            assert_eq!(s32::rem(a, b), remainder as u32, "{x} % {y}");
            let (a, b) = (a as u16, b as u16);
            let expected = if b == 0 { -1 } else { (a as i16).wrapping_div(b as i16) };
            assert_eq!(s16::div(a, b), expected as u16, "{a} / {b}");
        }
    }
}

#[test]
fn quotients_of_64_bits_are_exact() {
    let mut rng = Rng(91);
    for _ in 0..200_000 {
        let b = rng.next() >> rng.below(64);
        let k = rng.next() >> rng.below(64);
        let product = k.wrapping_mul(b);
        let all = [product, product.wrapping_sub(1), product.wrapping_add(1), k, u64::MAX - (k & 3), 1 << 63];
        for a in all {
            for b in [b, b.wrapping_neg(), 1 << 63] {
                assert_eq!(u64::div(a, b), a.checked_div(b).unwrap_or(u64::MAX), "{a} / {b}");
                assert_eq!(u64::rem(a, b), a.checked_rem(b).unwrap_or(u64::MAX), "{a} % {b}");
                let (x, y) = (a as i64, b as i64);
                let (quotient, remainder) = match y {
                    0 => (-1, -1),
                    _ => (x.wrapping_div(y), x.wrapping_rem(y)),
                };
                assert_eq!(s64::div(a, b), quotient as u64, "{x} / {y}");
                assert_eq!(s64::rem(a, b), remainder as u64, "{x} % {y}");
            }
        }
    }
}
