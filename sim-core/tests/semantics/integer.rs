//! Integer arithmetic, packed integers, extended precision.

use super::harness::Instruction;
use super::{Bench, INTEGERS, bits, clamp, value};
use numerics as n;

#[test]
fn integer_arithmetic() {
    let bench = Bench::new();
    for ty in INTEGERS {
        let three = format!("{ty} {ty} {ty}");
        let four = format!("{three} {ty}");
        let width = bits(ty);
        let binary = |op: &str, f: &dyn Fn(i128, i128) -> i128| {
            bench.check(&format!("{op}.{ty}"), &three, |v| f(value(v[0], ty), value(v[1], ty)) as u128);
        };
        binary("add", &|a, b| a + b);
        binary("sub", &|a, b| a - b);
        binary("mul.lo", &|a, b| a.wrapping_mul(b));
        binary("min", &|a, b| a.min(b));
        binary("max", &|a, b| a.max(b));
        let product = |v: &[u128]| {
            let (a, b) = (value(v[0], ty), value(v[1], ty));
            // Two unsigned words of 64 bits need all of u128.
            if ty == "u64" { (a as u128 * b as u128) as i128 } else { a * b }
        };
        let high =
            |v: &[u128]| if ty == "u64" { (product(v) as u128 >> 64) as i128 } else { product(v) >> width };
        bench.check(&format!("mul.hi.{ty}"), &three, |v| high(v) as u128);
        bench.check(&format!("mad.lo.{ty}"), &four, |v| product(v).wrapping_add(v[2] as i128) as u128);
        bench.check(&format!("mad.hi.{ty}"), &four, |v| high(v).wrapping_add(v[2] as i128) as u128);
        bench.check(&format!("sad.{ty}"), &four, |v| {
            ((value(v[0], ty) - value(v[1], ty)).abs() + value(v[2], ty)) as u128
        });
        if width < 64 {
            let wide = format!("{}{}", &ty[..1], 2 * width);
            bench.check(&format!("mul.wide.{ty}"), &format!("{wide} {ty} {ty}"), |v| product(v) as u128);
            bench.check(&format!("mad.wide.{ty}"), &format!("{wide} {ty} {ty} {wide}"), |v| {
                (product(v) + value(v[2], &wide)) as u128
            });
        }
        if ty.starts_with('s') {
            let two = format!("{ty} {ty}");
            bench.check(&format!("abs.{ty}"), &two, |v| value(v[0], ty).unsigned_abs());
            bench.check(&format!("neg.{ty}"), &two, |v| -value(v[0], ty) as u128);
        }
    }
    for (op, ty) in [("add", "s32"), ("sub", "s32"), ("add", "u32")] {
        bench.check(&format!("{op}.sat.{ty}"), &format!("{ty} {ty} {ty}"), |v| {
            let (a, b) = (value(v[0], ty), value(v[1], ty));
            clamp(if op == "add" { a + b } else { a - b }, ty) as u128
        });
    }
    bench.check("mad.hi.sat.s32", "s32 s32 s32 s32", |v| {
        let high = (value(v[0], "s32") * value(v[1], "s32")) >> 32;
        clamp(high + value(v[2], "s32"), "s32") as u128
    });
    bench.check("max.relu.s32", "s32 s32 s32", |v| value(v[0], "s32").max(value(v[1], "s32")).max(0) as u128);
    bench.check("div.s64", "s64 s64 s64", |v| n::s64::div(v[0] as u64, v[1] as u64).into());
    bench.check("div.u16", "u16 u16 u16", |v| n::u16::div(v[0] as u16, v[1] as u16).into());
    bench.check("rem.s32", "s32 s32 s32", |v| n::s32::rem(v[0] as u32, v[1] as u32).into());
    bench.check("rem.u64", "u64 u64 u64", |v| n::u64::rem(v[0] as u64, v[1] as u64).into());
}

#[test]
fn packed_integers() {
    let bench = Bench::new();
    let zip = |v: &[u128], width: u32, signed: bool, f: &dyn Fn(i128, i128) -> i128| {
        (0..32 / width).fold(0, |sum, at| {
            let element = |x: u128| {
                let up = 128 - width;
                let x = x >> (at * width) << up;
                if signed { x as i128 >> up } else { (x >> up) as i128 }
            };
            sum | (f(element(v[0]), element(v[1])) as u128 & ((1 << width) - 1)) << (at * width)
        })
    };
    type Integer = fn(i128, i128) -> i128;
    let ops: [(&str, Integer); 3] =
        [("add", |a, b| a + b), ("min", |a, b| a.min(b)), ("max", |a, b| a.max(b))];
    for (ty, width) in [("u16x2", 16), ("s16x2", 16), ("u8x4", 8), ("s8x4", 8)] {
        let signed = ty.starts_with('s');
        for (op, f) in ops {
            bench.check(&format!("{op}.{ty}"), &format!("{ty} {ty} {ty}"), |v| zip(v, width, signed, &f));
        }
        let limit = format!("{}{width}", &ty[..1]);
        bench.check(&format!("add.sat.{ty}"), &format!("{ty} {ty} {ty}"), |v| {
            zip(v, width, signed, &|a, b| clamp(a + b, &limit))
        });
    }
    bench.check("sub.s8x4", "s8x4 s8x4 s8x4", |v| zip(v, 8, true, &|a, b| a - b));
    bench.check("sub.sat.u8x4", "u8x4 u8x4 u8x4", |v| zip(v, 8, false, &|a, b| (a - b).max(0)));
    bench.check("min.relu.s16x2", "s16x2 s16x2 s16x2", |v| zip(v, 16, true, &|a, b| a.min(b).max(0)));
}

#[test]
fn carries() {
    let bench = Bench::new();
    for ty in ["u32", "s32", "u64", "s64"] {
        let width = bits(ty);
        let three = format!("{ty} {ty} {ty}");
        let four = format!("{three} {ty}");
        let mask = (1 << width) - 1;
        // The flag stays as it was without `.cc`.
        let sum = |cc: bool, exact: u128, carry: bool| {
            vec![exact, if cc { (exact >> width != 0).into() } else { carry.into() }]
        };
        for (op, cc, reads) in [("add.cc", true, false), ("addc", false, true), ("addc.cc", true, true)] {
            let instruction = Instruction::new(&format!("{op}.{ty}"), &three);
            bench.check_all(instruction, |v, carry| sum(cc, v[0] + v[1] + u128::from(carry && reads), carry));
        }
        for (op, cc, reads) in [("sub.cc", true, false), ("subc", false, true), ("subc.cc", true, true)] {
            let instruction = Instruction::new(&format!("{op}.{ty}"), &three);
            // The flag is the carry of the adder, the complement of the borrow.
            bench.check_all(instruction, |v, carry| {
                sum(cc, v[0] + (!v[1] & mask) + u128::from(!reads || carry), carry)
            });
        }
        for (op, cc, reads) in [("mad", true, false), ("madc", false, true), ("madc", true, true)] {
            let suffix = if cc { ".cc" } else { "" };
            let product = |v: &[u128]| {
                if ty.starts_with('s') { (value(v[0], ty) * value(v[1], ty)) as u128 } else { v[0] * v[1] }
            };
            for (part, shift) in [("lo", 0), ("hi", width)] {
                let instruction = Instruction::new(&format!("{op}.{part}{suffix}.{ty}"), &four);
                bench.check_all(instruction, |v, carry| {
                    let half = product(v) >> shift & mask;
                    sum(cc, half + v[2] + u128::from(carry && reads), carry)
                });
            }
        }
    }
}
