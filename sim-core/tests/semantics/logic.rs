//! Bits, logic, shifts, permutations, predicates.

use super::harness::Instruction;
use super::{Bench, value};
use numerics as n;

#[test]
fn bits_and_logic() {
    let bench = Bench::new();
    for width in [16u32, 32, 64] {
        let ty = format!("b{width}");
        let (two, three) = (format!("{ty} {ty}"), format!("{ty} {ty} {ty}"));
        bench.check(&format!("and.{ty}"), &three, |v| v[0] & v[1]);
        bench.check(&format!("or.{ty}"), &three, |v| v[0] | v[1]);
        bench.check(&format!("xor.{ty}"), &three, |v| v[0] ^ v[1]);
        bench.check(&format!("not.{ty}"), &two, |v| !v[0]);
        bench.check(&format!("cnot.{ty}"), &two, |v| u128::from(v[0] == 0));
        let shifted = format!("{ty} {ty} u32");
        bench.check(&format!("shl.{ty}"), &shifted, |v| if v[1] < width.into() { v[0] << v[1] } else { 0 });
        for ty in [format!("u{width}"), format!("s{width}"), ty] {
            bench.check(&format!("shr.{ty}"), &format!("{ty} {ty} u32"), |v| {
                (value(v[0], &ty) >> v[1].min(127)) as u128
            });
        }
    }
    for width in [32u32, 64] {
        let ty = format!("b{width}");
        let mask = (1 << width) - 1;
        // Positions and lengths of fields count modulo 256 in 32 bits only.
        let field = if width == 32 { 0xff } else { u32::MAX.into() };
        bench.check(&format!("popc.{ty}"), &format!("u32 {ty}"), |v| v[0].count_ones().into());
        bench.check(&format!("clz.{ty}"), &format!("u32 {ty}"), |v| {
            (v[0].leading_zeros() - (128 - width)).into()
        });
        bench.check(&format!("brev.{ty}"), &format!("{ty} {ty}"), |v| v[0].reverse_bits() >> (128 - width));
        bench.check(&format!("bfi.{ty}"), &format!("{ty} {ty} {ty} u32 u32"), |v| {
            let (at, length) = (v[2] & field, v[3] & field);
            (0..u128::from(width)).fold(v[1], |word, bit| {
                if bit < at || bit - at >= length {
                    return word;
                }
                word & !(1 << bit) | (v[0] >> (bit - at) & 1) << bit
            })
        });
        for sign in ["u", "s"] {
            let ty = format!("{sign}{width}");
            bench.check(&format!("bfe.{ty}"), &format!("{ty} {ty} u32 u32"), |v| {
                let (at, length) = (v[1] & field, v[2] & field);
                let last = (at + length).min(width.into()).saturating_sub(1);
                let fill = sign == "s" && length > 0 && v[0] >> last & 1 != 0;
                (0..u128::from(width)).fold(0, |word, bit| {
                    let inside = bit < length && at + bit < width.into();
                    let one = if inside { v[0] >> (at + bit) & 1 != 0 } else { fill };
                    word | u128::from(one) << bit
                })
            });
            let find = |v: &[u128]| {
                let negative = sign == "s" && v[0] >> (width - 1) & 1 != 0;
                let word = if negative { !v[0] & mask } else { v[0] };
                127u32.wrapping_sub(word.leading_zeros())
            };
            bench.check(&format!("bfind.{ty}"), &format!("u32 {ty}"), |v| find(v).into());
            bench.check(&format!("bfind.shiftamt.{ty}"), &format!("u32 {ty}"), |v| {
                let at = find(v);
                (if at == u32::MAX { at } else { width - 1 - at }).into()
            });
        }
    }
    for (side, mode) in [("l", "clamp"), ("l", "wrap"), ("r", "clamp"), ("r", "wrap")] {
        bench.check(&format!("shf.{side}.{mode}.b32"), "b32 b32 b32 u32", |v| {
            let amount = if mode == "wrap" { v[2] & 31 } else { v[2].min(32) };
            let both = v[1] << 32 | v[0];
            if side == "l" { both << amount >> 32 } else { both >> amount }
        });
    }
    for lut in [0x96u128, 0xe8, 0xca, 0x01, 0xff] {
        let f = |v: &[u128]| {
            (0..32).fold(0, |word, bit| {
                let index = (v[0] >> bit & 1) << 2 | (v[1] >> bit & 1) << 1 | v[2] >> bit & 1;
                word | (lut >> index & 1) << bit
            })
        };
        bench.check("lop3.b32", &format!("b32 b32 b32 b32 {lut}"), f);
        for (op, or) in [("or", true), ("and", false)] {
            let types = format!("b32 pred b32 b32 b32 {lut} pred");
            let instruction = Instruction::new(&format!("lop3.{op}.b32"), &types).paired();
            bench.check_all(instruction, |v, _| {
                let (d, q) = (f(v), v[3] != 0);
                vec![d, (if or { (d != 0) | q } else { (d != 0) & q }).into()]
            });
        }
    }
    bench
        .check("prmt.b32", "b32 b32 b32 b32", |v| n::b32::prmt(v[0] as u32, v[1] as u32, v[2] as u32).into());
    bench.check("prmt.b32.ecl", "b32 b32 b32 b32", |v| {
        n::b32::prmt_mode(v[0] as u32, v[1] as u32, v[2] as u32, n::Prmt::Ecl).into()
    });
    for (op, a_signed, b_signed) in [("s32.u32", true, false), ("u32.s32", false, true)] {
        bench.check(&format!("dp4a.{op}"), "u32 u32 u32 u32", |v| {
            n::b32::dp4a(v[0] as u32, v[1] as u32, v[2] as u32, a_signed, b_signed).into()
        });
        bench.check(&format!("dp2a.hi.{op}"), "u32 u32 u32 u32", |v| {
            n::b32::dp2a(v[0] as u32, v[1] as u32, v[2] as u32, true, a_signed, b_signed).into()
        });
    }
    for (op, f) in
        [("and", (|a, b| a & b) as fn(bool, bool) -> bool), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)]
    {
        bench.check(&format!("{op}.pred"), "pred pred pred", |v| f(v[0] != 0, v[1] != 0).into());
    }
    bench.check("not.pred", "pred pred", |v| (v[0] == 0).into());
    bench.check("mov.pred", "pred pred", |v| v[0]);
    bench.check("mov.b128", "b128 b128", |v| v[0]);
}
