//! The math library as nvcc inlines it, and directed rounding.

use crate::device::{args, close, each, wide};
use testkit::random::Random;

#[test]
fn library_f64() {
    each("math_f64", |device| {
        let mut random = Random(1);
        let mut x = random.list(200, |r| r.real(-10.0, 10.0));
        let mut y = random.list(200, |r| r.real(0.1, 5.0));
        // Arguments that need the slow reduction, subnormals, infinities, NaN.
        x[..8].copy_from_slice(&[1e10, -1e300, 1e-310, f64::INFINITY, f64::NAN, 0.0, -0.0, 709.5]);
        y[..8].copy_from_slice(&[2.5, 0.5, 3.0, 2.0, 1.0, 4.0, 1.0, 1.0]);
        let n = x.len();
        let out = device.zeros::<f64>(12 * n);
        device.launch("math_f64", 7, 32, args!(device.upload(&x), device.upload(&y), out, n as i32));
        let out = device.download::<f64>(out, 12 * n);
        let names =
            ["sin", "cos", "exp", "log", "pow", "atan2", "cbrt", "erf", "tgamma", "hypot", "fmod", "tanh"];
        for (k, name) in names.iter().enumerate() {
            let expected: Vec<f64> = (0..n)
                .map(|i| {
                    let (a, b) = (x[i], y[i]);
                    match k {
                        0 => libm::sin(a),
                        1 => libm::cos(a),
                        2 => libm::exp(a),
                        3 => libm::log(a.abs()),
                        4 => libm::pow(a.abs(), b),
                        5 => libm::atan2(a, b),
                        6 => libm::cbrt(a),
                        7 => libm::erf(a),
                        8 => libm::tgamma(b),
                        9 => libm::hypot(a, b),
                        10 => libm::fmod(a, b),
                        _ => libm::tanh(a),
                    }
                })
                .collect();
            let got: Vec<f64> = (0..n).map(|i| out[12 * i + k]).collect();
            // CUDA documents at most 2 ulp for most, 10 for tgamma.
            close(
                &got,
                &expected,
                if k == 8 { 3e-15 } else { 6e-16 },
                0.0,
                &format!("{} {name}", device.file),
            );
        }
    });
}

#[test]
fn exact_f64() {
    each("math_f64", |device| {
        let mut random = Random(2);
        let x = random.list(100, |r| r.real(-1e6, 1e6));
        let y = random.list(100, |r| r.real(-3.0, 3.0));
        let n = x.len();
        let out = device.zeros::<f64>(10 * n);
        device.launch("math_f64_exact", 4, 32, args!(device.upload(&x), device.upload(&y), out, n as i32));
        for (i, o) in device.download::<f64>(out, 10 * n).chunks(10).enumerate() {
            let (a, b) = (x[i], y[i]);
            // The error of a sum is exact in f64; its sign says which way the sum was rounded.
            let sum = a + b;
            let part = sum - a;
            let error = (a - (sum - part)) + (b - part);
            let up = if error > 0.0 { sum.next_up() } else { sum };
            let product = a * b;
            let down = if a.mul_add(b, -product) < 0.0 { product.next_down() } else { product };
            let quotient = a / b;
            // a - q * b and b have the same sign where q is too small.
            let rest = -quotient.mul_add(b, -a);
            let quotient_up =
                if rest != 0.0 && (rest > 0.0) == (b > 0.0) { quotient.next_up() } else { quotient };
            let expected = [
                quotient,
                a.abs().sqrt(),
                up,
                down,
                o[4],
                a.floor(),
                b.round_ties_even(),
                a.trunc() + 0.0,
                f64::from(b as f32),
                quotient_up,
            ];
            assert_eq!(o, expected, "{} {a:e} {b:e}", device.file);
            let fused = a.mul_add(b, a);
            let toward_zero = if fused > 0.0 { fused.next_down() } else { fused.next_up() };
            assert!(o[4] == fused || o[4] == toward_zero, "{} {a:e} {b:e}: {:e}", device.file, o[4]);
        }
    });
}

#[test]
fn library_f32() {
    each("math_f32", |device| {
        let mut random = Random(3);
        let mut x = random.list(200, |r| r.real(-10.0, 10.0) as f32);
        let mut y = random.list(200, |r| r.real(0.1, 5.0) as f32);
        // sinf of 1e7 takes the Payne-Hanek path with its table in constant or local memory.
        x[..7].copy_from_slice(&[1e7, -3e38, 1e-40, f32::INFINITY, f32::NAN, 0.0, 88.0]);
        y[..7].copy_from_slice(&[2.5, 0.5, 3.0, 2.0, 1.0, 4.0, 1.0]);
        let n = x.len();
        let out = device.zeros::<f32>(12 * n);
        device.launch("math_f32", 7, 32, args!(device.upload(&x), device.upload(&y), out, n as i32));
        let out = device.download::<f32>(out, 12 * n);
        let names = [
            "sinf", "cosf", "expf", "logf", "powf", "atan2f", "tanf", "erff", "log1pf", "hypotf", "fmodf",
            "tanhf",
        ];
        for (k, name) in names.iter().enumerate() {
            let expected: Vec<f64> = (0..n)
                .map(|i| {
                    let (a, b) = (f64::from(x[i]), f64::from(y[i]));
                    let v = match k {
                        0 => libm::sin(a),
                        1 => libm::cos(a),
                        2 => libm::exp(a),
                        3 => libm::log(a.abs()),
                        4 => libm::pow(a.abs(), b),
                        5 => libm::atan2(a, b),
                        6 => libm::tan(a),
                        7 => libm::erf(a),
                        8 => libm::log1p(a.abs()),
                        9 => libm::hypot(a, b),
                        10 => libm::fmod(a, b),
                        _ => libm::tanh(a),
                    };
                    f64::from(v as f32)
                })
                .collect();
            let got: Vec<f64> = (0..n).map(|i| out[12 * i + k].into()).collect();
            // CUDA documents at most 4 ulp.
            close(&got, &expected, 4.8e-7, 1e-44, &format!("{} {name}", device.file));
        }

        let x: Vec<f32> = random.list(100, |r| r.real(-3.0, 3.0) as f32);
        let y: Vec<f32> = random.list(100, |r| r.real(0.5, 3.0) as f32);
        let n = x.len();
        let out = device.zeros::<f32>(8 * n);
        device.launch("math_f32_fast", 4, 32, args!(device.upload(&x), device.upload(&y), out, n as i32));
        let out = device.download::<f32>(out, 8 * n);
        let mut expected = Vec::new();
        for i in 0..n {
            let (a, b) = (f64::from(x[i]), f64::from(y[i]));
            let m = a.abs();
            expected.extend([a.sin(), a.cos(), a.exp(), m.ln(), m.powf(b), a / b, 1.0 / m.sqrt(), a.tan()]);
        }
        close(&wide(&out), &expected, 2e-5, 2e-6, &device.file);
    });
}

#[test]
fn exact_f32() {
    each("math_f32", |device| {
        let mut random = Random(4);
        let x: Vec<f32> = random.list(100, |r| r.real(-1e4, 1e4) as f32);
        let y: Vec<f32> = random.list(100, |r| r.real(-3.0, 3.0) as f32);
        let n = x.len();
        let out = device.zeros::<f32>(14 * n);
        device.launch("math_f32_exact", 4, 32, args!(device.upload(&x), device.upload(&y), out, n as i32));
        // Sums, products and fused results of these ranges are exact in f64 or wrong by far less than
        // what decides a rounding.
        let round = |v: f64, mode: char| {
            let near = v as f32;
            let (below, above) = if f64::from(near) > v {
                (near.next_down(), near)
            } else if f64::from(near) < v {
                (near, near.next_up())
            } else {
                (near, near)
            };
            match mode {
                'n' => near,
                'd' => below,
                'u' => above,
                _ => {
                    if v > 0.0 {
                        below
                    } else {
                        above
                    }
                }
            }
        };
        for (i, o) in device.download::<f32>(out, 14 * n).chunks(14).enumerate() {
            let (a, b) = (f64::from(x[i]), f64::from(y[i]));
            let expected = [
                round(a + b, 'n'),
                round(a + b, 'z'),
                round(a + b, 'u'),
                round(a + b, 'd'),
                round(a * b, 'z'),
                round(a * b, 'u'),
                round(a.mul_add(b, a), 'd'),
                x[i] / y[i],
                round(a / b, 'z'),
                x[i].abs().sqrt(),
                1.0 / y[i],
                x[i].round_ties_even(),
                y[i].trunc(),
                x[i].floor(),
            ];
            assert_eq!(o, expected, "{} {a:e} {b:e}", device.file);
        }
    });
}

#[test]
fn option_prices() {
    each("black_scholes", |device| {
        let n = 100usize;
        let mut random = Random(5);
        let price = random.list(n, |r| r.real(5.0, 30.0) as f32);
        let strike = random.list(n, |r| r.real(1.0, 100.0) as f32);
        let years = random.list(n, |r| r.real(0.25, 10.0) as f32);
        let (rate, volatility) = (0.02f32, 0.3f32);
        let normal = |d: f64| 0.5 * libm::erfc(-d / std::f64::consts::SQRT_2);
        let (mut calls, mut puts) = (Vec::new(), Vec::new());
        for i in 0..n {
            let (s, x, t) = (f64::from(price[i]), f64::from(strike[i]), f64::from(years[i]));
            let (r, v) = (f64::from(rate), f64::from(volatility));
            let d1 = ((s / x).ln() + (r + 0.5 * v * v) * t) / (v * t.sqrt());
            let d2 = d1 - v * t.sqrt();
            let e = x * (-r * t).exp();
            calls.push(s * normal(d1) - e * normal(d2));
            puts.push(e * normal(-d2) - s * normal(-d1));
        }
        let (call, put) = (device.zeros::<f32>(n), device.zeros::<f32>(n));
        let (dp, ds, dy) = (device.upload(&price), device.upload(&strike), device.upload(&years));
        device.launch("black_scholes_fast", 2, 64, args!(dp, ds, dy, call, put, rate, volatility, n as i32));
        close(&wide(&device.download::<f32>(call, n)), &calls, 1e-4, 2e-5, &device.file);
        close(&wide(&device.download::<f32>(put, n)), &puts, 1e-4, 2e-5, &device.file);

        let (call, put) = (device.zeros::<f64>(n), device.zeros::<f64>(n));
        let (dp, ds, dy) =
            (device.upload(&wide(&price)), device.upload(&wide(&strike)), device.upload(&wide(&years)));
        device.launch(
            "black_scholes",
            2,
            64,
            args!(dp, ds, dy, call, put, f64::from(rate), f64::from(volatility), n as i32),
        );
        close(&device.download::<f64>(call, n), &calls, 1e-12, 1e-13, &device.file);
        close(&device.download::<f64>(put, n), &puts, 1e-12, 1e-13, &device.file);
    });
}
