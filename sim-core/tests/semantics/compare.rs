//! Comparison and selection.

use super::harness::Instruction;
use super::{Bench, INTEGERS, value};
use numerics as n;

const COMPARISONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// The comparison by its definition on `f64`, in which all the smaller types are exact.
fn compare(word: &str, a: f64, b: f64) -> bool {
    let order = a.partial_cmp(&b);
    match word {
        "eq" => a == b,
        "ne" => order.is_some() && a != b,
        "lt" | "lo" => a < b,
        "le" | "ls" => a <= b,
        "gt" | "hi" => a > b,
        "ge" | "hs" => a >= b,
        "equ" => a == b || order.is_none(),
        "neu" => a != b,
        "ltu" => a < b || order.is_none(),
        "leu" => a <= b || order.is_none(),
        "gtu" => a > b || order.is_none(),
        "geu" => a >= b || order.is_none(),
        "num" => order.is_some(),
        _ => order.is_none(),
    }
}

type Boolean = fn(bool, bool) -> bool;

const BOOLEANS: [(&str, Boolean); 4] =
    [("", |r, _| r), (".and", |r, c| r & c), (".or", |r, c| r | c), (".xor", |r, c| r ^ c)];

#[test]
fn comparisons() {
    let bench = Bench::new();
    let single = |bits: u128| f64::from(f32::from_bits(bits as u32));
    let double = |bits: u128| f64::from_bits(bits as u64);
    let half = |bits: u128| single(n::cvt::f32_f16(bits as u16).into());
    for word in COMPARISONS {
        for (ty, of) in [("f32", &single as &dyn Fn(u128) -> f64), ("f64", &double), ("f16", &half)] {
            let two = format!("pred {ty} {ty}");
            bench.check(&format!("setp.{word}.{ty}"), &two, |v| compare(word, of(v[0]), of(v[1])).into());
            let (op, with) = BOOLEANS[1 + word.len() % 3];
            let set = format!("u32 {ty} {ty} pred");
            bench.check(&format!("set.{word}{op}.u32.{ty}"), &set, |v| {
                if with(compare(word, of(v[0]), of(v[1])), v[2] != 0) { u128::MAX } else { 0 }
            });
        }
        bench.check(&format!("setp.{word}.ftz.f32"), "pred f32 f32", |v| {
            let flushed = |at: usize| single(n::f32::flush(v[at] as u32).into());
            compare(word, flushed(0), flushed(1)).into()
        });
        bench.check(&format!("set.{word}.ftz.f16.f32"), "f16 f32 f32", |v| {
            let flushed = |at: usize| single(n::f32::flush(v[at] as u32).into());
            if compare(word, flushed(0), flushed(1)) { 0x3c00 } else { 0 }
        });
        let halves = |v: &[u128], at: u32| compare(word, half(v[0] >> at), half(v[1] >> at));
        let packed = Instruction::new(&format!("setp.{word}.f16x2"), "pred pred f16x2 f16x2").paired();
        bench.check_all(packed, |v, _| vec![halves(v, 0).into(), halves(v, 16).into()]);
        bench.check(&format!("set.{word}.f16x2.f16x2"), "f16x2 f16x2 f16x2", |v| {
            let one = |at| if halves(v, at) { 0x3c00 << at } else { 0 };
            one(0) | one(16)
        });
        bench.check(&format!("set.{word}.xor.s32.bf16x2"), "s32 bf16x2 bf16x2 pred", |v| {
            let widen = |x: u128, at: u32| single((x >> at & 0xffff) << 16);
            let one = |at: u32| {
                if compare(word, widen(v[0], at), widen(v[1], at)) ^ (v[2] != 0) { 0xffff << at } else { 0 }
            };
            one(0) | one(16)
        });
    }
    for ty in INTEGERS {
        for word in ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"] {
            if word.as_bytes()[1] != b'e' && !matches!(word, "ne" | "lt" | "gt" | "eq") && ty.starts_with('s')
            {
                continue;
            }
            let f = |v: &[u128]| {
                let (a, b) = (value(v[0], ty), value(v[1], ty));
                match word {
                    "eq" => a == b,
                    "ne" => a != b,
                    "lt" | "lo" => a < b,
                    "le" | "ls" => a <= b,
                    "gt" | "hi" => a > b,
                    _ => a >= b,
                }
            };
            bench.check(&format!("setp.{word}.{ty}"), &format!("pred {ty} {ty}"), |v| f(v).into());
            bench.check(&format!("set.{word}.f32.{ty}"), &format!("f32 {ty} {ty}"), |v| {
                if f(v) { 0x3f80_0000 } else { 0 }
            });
            for (op, with) in &BOOLEANS[1..] {
                let types = format!("pred pred {ty} {ty} pred");
                let both = Instruction::new(&format!("setp.{word}{op}.{ty}"), &types).paired();
                bench.check_all(both, |v, _| {
                    let (r, c) = (f(v), v[2] != 0);
                    vec![with(r, c).into(), with(!r, c).into()]
                });
            }
        }
        bench.check(&format!("selp.{ty}"), &format!("{ty} {ty} {ty} pred"), |v| {
            if v[2] != 0 { v[0] } else { v[1] }
        });
        bench.check(&format!("slct.{ty}.s32"), &format!("{ty} {ty} {ty} s32"), |v| {
            if value(v[2], "s32") >= 0 { v[0] } else { v[1] }
        });
        bench.check(&format!("slct.ftz.{ty}.f32"), &format!("{ty} {ty} {ty} f32"), |v| {
            if single(n::f32::flush(v[2] as u32).into()) >= 0.0 { v[0] } else { v[1] }
        });
    }
}
