//! Integer and floating-point arithmetic: a step on two values, over and over.

use sim_core::Simulator;

use super::{Case, Group, Loaded, Setup, Target, Value, compare, equal, extent};
use crate::{Size, Xorshift};

/// The step of an integer kernel.
macro_rules! integer {
    ($t:ty, $signed:ty, $wide:ty, $operation:expr) => {
        |mut x: $t, mut y: $t| -> ($t, $t) {
            match $operation {
                "add" => {
                    x = x.wrapping_add(y);
                    y = x.wrapping_sub(y);
                }
                "logic" => {
                    x ^= y;
                    y = !x;
                }
                "mul" => {
                    x = x.wrapping_mul(y);
                    y = y.wrapping_mul(x);
                }
                "mad" => {
                    x = y.wrapping_mul(y).wrapping_add(x);
                    y = x.wrapping_mul(x).wrapping_add(y);
                }
                "mulhi" => {
                    x = (x as $wide * y as $wide >> <$t>::BITS) as $t;
                    x = x.wrapping_add(y);
                }
                "shift" => {
                    let n = y & 31;
                    x ^= x << n;
                    x ^= x >> n;
                }
                "compare" => {
                    if x < y {
                        x = y;
                    }
                    if x as $signed > y as $signed {
                        y = x.wrapping_sub(y);
                    }
                }
                "minmax" => {
                    x = (x as $signed).min(y as $signed) as $t;
                    y = x.max(y);
                }
                "div" => x = x.wrapping_sub(x / y),
                "sdiv" => x = x.wrapping_sub((x as $signed).wrapping_div(y as $signed) as $t),
                _ => x = x.wrapping_add(x % y),
            }
            (x, y)
        }
    };
}

/// The step of a floating-point kernel.
macro_rules! float {
    ($t:ty, $operation:expr) => {
        |mut x: $t, mut y: $t| -> ($t, $t) {
            match $operation {
                "fadd" => {
                    x += y;
                    y -= x;
                }
                "fmul" => x = x * y * y,
                "fma" => x = x.mul_add(y, y).mul_add(y, y),
                "fcompare" => {
                    if x < y {
                        x = y;
                    }
                    if x > y {
                        y = x - y;
                    }
                }
                "fminmax" => {
                    x = x.min(y);
                    y = x.max(y);
                }
                "fdiv" => x -= x / y,
                _ => x += y.sqrt(),
            }
            (x, y)
        }
    };
}

/// The step of a kernel of parts of words.
fn parts(name: &str, mut x: u32, mut y: u32) -> (u32, u32) {
    use numerics::{Rounding, b32, bf16x2, cvt, f16x2};
    match name {
        "f16_add" => {
            x = f16x2::add(x, y, false);
            y = f16x2::sub(y, x, false);
        }
        "f16_fma" => {
            x = f16x2::fma(x, y, y, false);
            y = f16x2::fma(y, y, x, false);
        }
        "f16_minmax" => {
            x = f16x2::neg(f16x2::min(x, y, false, false), false);
            y = f16x2::max(x, y, false, false);
        }
        "bf16_add" => {
            x = bf16x2::add(x, y, false);
            y = bf16x2::sub(y, x, false);
        }
        "bf16_fma" => {
            x = bf16x2::fma(x, y, y, false);
            y = bf16x2::fma(y, y, x, false);
        }
        "f16_pack" => {
            x = cvt::f16x2_f32(x, y, Rounding::Rn);
            y = y.wrapping_add(x);
        }
        "bf16_pack" => {
            x = cvt::bf16x2_f32(x, y, Rounding::Rn);
            y = y.wrapping_add(x);
        }
        "bytes_dot" => {
            x = b32::dp4a(x, y, y, true, true);
            y = b32::dp4a(y, x, x, false, true);
        }
        _ => {
            x = b32::prmt(x, y, 0x5210);
            y = b32::bfi(x, y, 9, 12);
            x = numerics::s32::bfe(y, 3, 29);
        }
    }
    (x, y)
}

/// An approximate function, or a conversion there and back.
fn function(name: &str, x: f64) -> f64 {
    match name {
        "approx_ex2" => x.exp2(),
        "approx_lg2" => x.log2(),
        "approx_sin" => x.sin(),
        "approx_cos" => x.cos(),
        "approx_rcp" => 1.0 / x,
        "approx_rsqrt" => 1.0 / x.sqrt(),
        "approx_sqrt" => x.sqrt(),
        _ => x.tanh(),
    }
}

/// Loads a kernel of values of one type.
fn load_as<T: Value + std::fmt::Debug>(
    simulator: &Simulator,
    kernel: &str,
    size: Size,
    mut input: impl FnMut() -> (T, T),
    step: impl Fn(T, T) -> (T, T),
    same: impl Fn(T, T) -> bool + 'static,
) -> Loaded {
    let (blocks, threads) = extent(size);
    let turns: i32 = if size == Size::Short { 5 } else { 200 };
    let pairs: Vec<(T, T)> = (0..blocks * threads).map(|_| input()).collect();
    let values: Vec<T> = pairs.iter().flat_map(|&(x, y)| [x, y]).collect();
    let expected: Vec<T> = pairs
        .iter()
        .flat_map(|&pair| {
            let (x, y) = (0..8 * turns).fold(pair, |(x, y), _| step(x, y));
            [x, y]
        })
        .collect();
    let mut setup = Setup::new(simulator, "arithmetic", kernel);
    setup.buffer(&values);
    let out = setup.buffer(&values);
    setup.scalar(turns);
    setup.finish((blocks, threads), None, move |simulator| compare(simulator, out, &expected, &same))
}

fn load(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let mut random = Xorshift(12345);
    let mut word = move || u64::from(random.next()) << 32 | u64::from(random.next());
    // In [1, 2).
    fn unit(bits: u64) -> f64 {
        1.0 + (bits >> 40) as f64 / f64::from(1 << 24)
    }
    let name = case.name;
    match name {
        "cvt_f32_s32" => {
            let step = |x: f32, y: f32| (x as i32 as f32 + y, y);
            return load_as(
                simulator,
                name,
                size,
                || (unit(word()) as f32, unit(word()) as f32),
                step,
                equal,
            );
        }
        "cvt_f64_s64" => {
            let step = |x: f64, y: f64| (x as i64 as f64 + y, y);
            return load_as(simulator, name, size, || (unit(word()), unit(word())), step, equal);
        }
        "cvt_f64_f32" => {
            let step = |x: f64, y: f64| (f64::from(x as f32) + y, y);
            return load_as(simulator, name, size, || (unit(word()), unit(word())), step, equal);
        }
        _ => {}
    }
    if case.group == Group::Parts {
        let input = || (word() as u32, word() as u32);
        return load_as(simulator, name, size, input, |x, y| parts(name, x, y), equal);
    }
    if name.starts_with("approx") {
        // Where the repeated step converges, so that small errors stay small.
        let y: f64 = match name {
            "approx_ex2" => -3.0,
            "approx_lg2" => 3.0,
            _ => 1.0,
        };
        let input = || (y.min(0.0) as f32 + unit(word()) as f32, (y + unit(word())) as f32);
        let step = |x: f32, y: f32| ((f64::from(y) + function(name, x.into())) as f32, y);
        return load_as(simulator, name, size, input, step, |a, b| (a - b).abs() <= 1e-3 * b.abs());
    }
    let (operation, bits) = name.split_once('_').expect("a name with a width");
    match (case.group, bits) {
        (Group::Float, bits) => {
            let y = |bits: u64| match operation {
                "fmul" => 1.0 + (unit(bits) - 1.0) / 4096.0,
                "fma" => unit(bits) / 4.0,
                "fdiv" => 1000.0 * unit(bits),
                _ => unit(bits),
            };
            if bits == "32" {
                let input = || (unit(word()) as f32, y(word()) as f32);
                load_as(simulator, name, size, input, float!(f32, operation), equal)
            } else {
                load_as(simulator, name, size, || (unit(word()), y(word())), float!(f64, operation), equal)
            }
        }
        (_, "32") => {
            let shift = if matches!(operation, "div" | "sdiv" | "rem") { 16 } else { 0 };
            let input = || (word() as u32 | 1, word() as u32 >> shift | 1);
            load_as(simulator, name, size, input, integer!(u32, i32, u64, operation), equal)
        }
        _ => {
            let shift = if matches!(operation, "div" | "sdiv" | "rem") { 24 } else { 0 };
            let input = || (word() | 1, word() >> shift | 1);
            load_as(simulator, name, size, input, integer!(u64, i64, u128, operation), equal)
        }
    }
}

/// Each operation with 32 bits, then with 64.
pub(super) fn cases() -> Vec<Case> {
    let case = |group, name, target| Case { group, name, target, make: load };
    let mut all = Vec::new();
    for (narrow, wide) in [
        ("add_32", "add_64"),
        ("logic_32", "logic_64"),
        ("mul_32", "mul_64"),
        ("mad_32", "mad_64"),
        ("mulhi_32", "mulhi_64"),
        ("shift_32", "shift_64"),
        ("compare_32", "compare_64"),
        ("minmax_32", "minmax_64"),
        ("div_32", "div_64"),
        ("sdiv_32", "sdiv_64"),
        ("rem_32", "rem_64"),
    ] {
        all.push(case(Group::Integer, narrow, Target::None));
        all.push(case(Group::Integer, wide, Target::Part(0.5)));
    }
    for (narrow, wide) in [
        ("fadd_32", "fadd_64"),
        ("fmul_32", "fmul_64"),
        ("fma_32", "fma_64"),
        ("fcompare_32", "fcompare_64"),
        ("fminmax_32", "fminmax_64"),
        ("fdiv_32", "fdiv_64"),
        ("fsqrt_32", "fsqrt_64"),
    ] {
        all.push(case(Group::Float, narrow, Target::None));
        all.push(case(Group::Float, wide, Target::Part(0.5)));
    }
    let functions = [
        "approx_ex2",
        "approx_lg2",
        "approx_sin",
        "approx_cos",
        "approx_rcp",
        "approx_rsqrt",
        "approx_sqrt",
        "approx_tanh",
        "cvt_f32_s32",
        "cvt_f64_s64",
        "cvt_f64_f32",
    ];
    all.extend(functions.map(|name| case(Group::Functions, name, Target::None)));
    let parts = [
        "f16_add",
        "f16_fma",
        "f16_minmax",
        "bf16_add",
        "bf16_fma",
        "f16_pack",
        "bf16_pack",
        "bytes_dot",
        "bytes_move",
    ];
    all.extend(parts.map(|name| case(Group::Parts, name, Target::None)));
    all
}
