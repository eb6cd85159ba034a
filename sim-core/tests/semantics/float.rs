//! Floating-point arithmetic and functions in all precisions.

use super::{Bench, ROUNDINGS};
use numerics::{self as n, Rounding};

#[test]
fn float_arithmetic() {
    type Binary = fn(u32, u32, Rounding, bool) -> u32;
    type Wide = fn(u64, u64, Rounding) -> u64;
    let bench = Bench::new();
    for (rnd, rounding) in ROUNDINGS {
        for (ftz, flush) in [("", false), (".ftz", true)] {
            for (sat, saturate) in [("", false), (".sat", true)] {
                let finish = |r: u32| if saturate { n::f32::sat(r).into() } else { u128::from(r) };
                for (op, f) in [("add", n::f32::add as Binary), ("sub", n::f32::sub), ("mul", n::f32::mul)] {
                    bench.check(&format!("{op}{rnd}{ftz}{sat}.f32"), "f32 f32 f32", |v| {
                        finish(f(v[0] as u32, v[1] as u32, rounding, flush))
                    });
                }
                for op in ["fma", "mad"] {
                    bench.check(&format!("{op}{rnd}{ftz}{sat}.f32"), "f32 f32 f32 f32", |v| {
                        finish(n::f32::fma_portable(v[0] as u32, v[1] as u32, v[2] as u32, rounding, flush))
                    });
                }
            }
            bench.check(&format!("div{rnd}{ftz}.f32"), "f32 f32 f32", |v| {
                n::f32::div(v[0] as u32, v[1] as u32, rounding, flush).into()
            });
            bench.check(&format!("rcp{rnd}{ftz}.f32"), "f32 f32", |v| {
                n::f32::rcp(v[0] as u32, rounding, flush).into()
            });
            bench.check(&format!("sqrt{rnd}{ftz}.f32"), "f32 f32", |v| {
                n::f32::sqrt(v[0] as u32, rounding, flush).into()
            });
            bench.check(&format!("fma{rnd}{ftz}.f32x2"), "f32x2 f32x2 f32x2 f32x2", |v| {
                n::f32x2::fma(v[0] as u64, v[1] as u64, v[2] as u64, rounding, flush).into()
            });
        }
        for (op, f) in
            [("add", n::f64::add as Wide), ("sub", n::f64::sub), ("mul", n::f64::mul), ("div", n::f64::div)]
        {
            bench.check(&format!("{op}{rnd}.f64"), "f64 f64 f64", |v| {
                f(v[0] as u64, v[1] as u64, rounding).into()
            });
        }
        bench.check(&format!("fma{rnd}.f64"), "f64 f64 f64 f64", |v| {
            n::f64::fma_portable(v[0] as u64, v[1] as u64, v[2] as u64, rounding).into()
        });
        bench.check(&format!("sqrt{rnd}.f64"), "f64 f64", |v| n::f64::sqrt(v[0] as u64, rounding).into());
        bench.check(&format!("sub{rnd}.sat.f32.f16"), "f32 f16 f32", |v| {
            n::f32::sat(n::f16::sub_f32(v[0] as u16, v[1] as u32, rounding)).into()
        });
        bench.check(&format!("fma{rnd}.f32.bf16"), "f32 bf16 bf16 f32", |v| {
            n::bf16::fma_f32(v[0] as u16, v[1] as u16, v[2] as u32, rounding).into()
        });
    }
    // Without a rounding it is to nearest.
    bench.check("add.f32", "f32 f32 f32", |v| {
        n::f32::add(v[0] as u32, v[1] as u32, Rounding::Rn, false).into()
    });
    bench.check("mul.ftz.f32", "f32 f32 f32", |v| {
        n::f32::mul(v[0] as u32, v[1] as u32, Rounding::Rn, true).into()
    });
    bench.check("min.ftz.NaN.f32", "f32 f32 f32", |v| {
        n::f32::min(v[0] as u32, v[1] as u32, true, true).into()
    });
    bench.check("max.f32", "f32 f32 f32", |v| n::f32::max(v[0] as u32, v[1] as u32, false, false).into());
    bench.check("max.NaN.xorsign.abs.f32", "f32 f32 f32", |v| {
        n::f32::max_xorsign_abs(v[0] as u32, v[1] as u32, true, false).into()
    });
    bench.check("min.NaN.abs.f32", "f32 f32 f32 f32", |v| {
        n::f32::min3(v[0] as u32, v[1] as u32, v[2] as u32, true, true, false).into()
    });
    bench.check("max.f64", "f64 f64 f64", |v| n::f64::max(v[0] as u64, v[1] as u64).into());
    bench.check("neg.ftz.f32", "f32 f32", |v| n::f32::neg(v[0] as u32, true).into());
    bench.check("abs.f32", "f32 f32", |v| n::f32::abs(v[0] as u32, false).into());
    bench.check("abs.f64", "f64 f64", |v| n::f64::abs(v[0] as u64).into());
    bench.check("copysign.f64", "f64 f64 f64", |v| n::f64::copysign(v[0] as u64, v[1] as u64).into());
    for (word, test) in [
        ("finite", n::TestP::Finite),
        ("infinite", n::TestP::Infinite),
        ("number", n::TestP::Number),
        ("notanumber", n::TestP::NotANumber),
        ("normal", n::TestP::Normal),
        ("subnormal", n::TestP::Subnormal),
    ] {
        bench.check(&format!("testp.{word}.f32"), "pred f32", |v| n::f32::testp(v[0] as u32, test).into());
        bench.check(&format!("testp.{word}.f64"), "pred f64", |v| n::f64::testp(v[0] as u64, test).into());
    }
}

#[test]
fn approximate_functions() {
    use n::approx;
    let bench = Bench::new();
    type Unary = fn(u32, bool) -> u32;
    for (op, f) in [
        ("rcp", approx::rcp_f32 as Unary),
        ("rsqrt", approx::rsqrt_f32),
        ("sqrt", approx::sqrt_f32),
        ("sin", approx::sin_f32),
        ("cos", approx::cos_f32),
        ("lg2", approx::lg2_f32),
        ("ex2", approx::ex2_f32),
    ] {
        bench.check(&format!("{op}.approx.f32"), "f32 f32", |v| f(v[0] as u32, false).into());
        bench.check(&format!("{op}.approx.ftz.f32"), "f32 f32", |v| f(v[0] as u32, true).into());
    }
    for (ftz, flush) in [("", false), (".ftz", true)] {
        bench.check(&format!("div.approx{ftz}.f32"), "f32 f32 f32", |v| {
            approx::div_f32(v[0] as u32, v[1] as u32, flush).into()
        });
        bench.check(&format!("div.full{ftz}.f32"), "f32 f32 f32", |v| {
            approx::div_full_f32(v[0] as u32, v[1] as u32, flush).into()
        });
    }
    bench.check("tanh.approx.f32", "f32 f32", |v| approx::tanh_f32(v[0] as u32).into());
    bench.check("tanh.approx.bf16x2", "bf16x2 bf16x2", |v| approx::tanh_bf16x2(v[0] as u32).into());
    bench.check("ex2.approx.f16", "f16 f16", |v| approx::ex2_f16(v[0] as u16).into());
    bench.check("ex2.approx.ftz.bf16", "bf16 bf16", |v| approx::ex2_bf16(v[0] as u16).into());
    bench.check("rcp.approx.ftz.f64", "f64 f64", |v| approx::rcp_f64(v[0] as u64).into());
    bench.check("rsqrt.approx.f64", "f64 f64", |v| approx::rsqrt_f64(v[0] as u64).into());
    bench.check("rsqrt.approx.ftz.f64", "f64 f64", |v| approx::rsqrt_ftz_f64(v[0] as u64).into());
}

#[test]
fn half_precision() {
    let bench = Bench::new();
    macro_rules! scalar {
        ($ty:literal, $m:ident, $T:ty, $ftz:expr) => {
            let types = concat!($ty, " ", $ty, " ", $ty);
            let four = concat!($ty, " ", $ty, " ", $ty, " ", $ty);
            let a = |v: &[u128], at: usize| v[at] as $T;
            for (ftz, flush) in $ftz {
                for (op, f) in
                    [("add", n::$m::add as fn($T, $T, bool) -> $T), ("sub", n::$m::sub), ("mul", n::$m::mul)]
                {
                    let name = format!("{op}.rn{ftz}.{}", $ty);
                    bench.check(&name, types, |v| f(a(v, 0), a(v, 1), flush).into());
                }
                bench.check(&format!("fma.rn{ftz}.relu.{}", $ty), four, |v| {
                    n::$m::relu(n::$m::fma(a(v, 0), a(v, 1), a(v, 2), flush)).into()
                });
                bench.check(&format!("min{ftz}.NaN.{}", $ty), types, |v| {
                    n::$m::min(a(v, 0), a(v, 1), true, flush).into()
                });
                bench.check(&format!("max{ftz}.xorsign.abs.{}", $ty), types, |v| {
                    n::$m::max_xorsign_abs(a(v, 0), a(v, 1), false, flush).into()
                });
                bench.check(&format!("neg{ftz}.{}", $ty), types.split_at(2 * $ty.len() + 1).0, |v| {
                    n::$m::neg(a(v, 0), flush).into()
                });
            }
            bench.check(concat!("fma.rn.oob.relu.", $ty), four, |v| {
                let (x, y, z) = (a(v, 0), a(v, 1), a(v, 2));
                n::$m::oob(n::$m::relu(n::$m::fma(x, y, z, false)), x, y).into()
            });
        };
    }
    let both = [("", false), (".ftz", true)];
    scalar!("f16", f16, u16, both);
    scalar!("f16x2", f16x2, u32, both);
    scalar!("bf16", bf16, u16, [("", false)]);
    scalar!("bf16x2", bf16x2, u32, [("", false)]);
    bench.check("mul.ftz.sat.f16", "f16 f16 f16", |v| {
        n::f16::sat(n::f16::mul(v[0] as u16, v[1] as u16, true)).into()
    });
    bench.check("fma.rn.sat.f16x2", "f16x2 f16x2 f16x2 f16x2", |v| {
        n::f16x2::sat(n::f16x2::fma(v[0] as u32, v[1] as u32, v[2] as u32, false)).into()
    });
}
