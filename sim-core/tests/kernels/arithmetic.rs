//! Wide integers, bit tricks, SHA-256, half precision.

use crate::device::{args, each};
use half::{bf16, f16};
use testkit::random::Random;

#[test]
fn integers_of_128_bits() {
    each("bigint", |device| {
        let mut random = Random(1);
        let mut make =
            |r: &mut Random| (u128::from(r.next()) << 64 | u128::from(r.next())) >> r.range(0, 128);
        let n = 80usize;
        let mut a = random.list(n, &mut make);
        let mut b = random.list(n, &mut make);
        (a[0], b[0]) = (u128::MAX, 1);
        (a[1], b[1]) = (0, 0);
        (a[2], b[2]) = (1 << 127, u128::MAX);
        let out = device.zeros::<u128>(8 * n);
        device.launch("int128_ops", 3, 32, args!(device.upload(&a), device.upload(&b), out, n as i32));
        for (i, o) in device.download::<u128>(out, 8 * n).chunks(8).enumerate() {
            let (x, y) = (a[i], b[i]);
            let by = (y & 127) as u32;
            let expected = [
                x.wrapping_add(y),
                x.wrapping_sub(y),
                x.wrapping_mul(y),
                x.checked_div(y).unwrap_or(0),
                x.checked_rem(y).unwrap_or(0),
                x << by,
                (x as i128 >> by) as u128,
                (x < y).into(),
            ];
            assert_eq!(o, expected, "{} {x:#x} {y:#x}", device.file);
        }
    });
}

#[test]
fn carry_chains() {
    each("bigint", |device| {
        let n = 40usize;
        let mut random = Random(2);
        // Words of all zeros and all ones make carries travel far.
        let mut make = |r: &mut Random| match r.range(0, 4) {
            0 => 0,
            1 => u32::MAX,
            _ => r.next() as u32,
        };
        let a = random.list(8 * n, &mut make);
        let b = random.list(8 * n, &mut make);
        let (sum, difference) = (device.zeros::<u32>(8 * n), device.zeros::<u32>(8 * n));
        device.launch(
            "add_256",
            2,
            32,
            args!(device.upload(&a), device.upload(&b), sum, difference, n as i32),
        );
        let (sum, difference) =
            (device.download::<u32>(sum, 8 * n), device.download::<u32>(difference, 8 * n));
        for i in 0..n {
            let (mut carry, mut borrow) = (0i64, 0i64);
            for k in 8 * i..8 * i + 8 {
                carry += i64::from(a[k]) + i64::from(b[k]);
                borrow += i64::from(a[k]) - i64::from(b[k]);
                assert_eq!(
                    (sum[k], difference[k]),
                    (carry as u32, borrow as u32),
                    "{} number {i} word {k}",
                    device.file
                );
                (carry, borrow) = (carry >> 32, borrow >> 32);
            }
        }

        let a = random.list(n, |r| r.next());
        let b = random.list(n, |r| if r.range(0, 5) == 0 { u64::MAX } else { r.next() });
        let out = device.zeros::<u128>(n);
        device.launch("mul_wide_64", 2, 32, args!(device.upload(&a), device.upload(&b), out, n as i32));
        let expected: Vec<u128> = a.iter().zip(&b).map(|(a, b)| u128::from(*a) * u128::from(*b)).collect();
        assert_eq!(device.download::<u128>(out, n), expected, "{}", device.file);
    });
}

#[test]
fn bit_operations() {
    each("bits", |device| {
        let n = 100usize;
        let mut random = Random(3);
        let mut a = random.list(n, |r| r.next() as u32);
        let mut b = random.list(n, |r| r.next() as u32);
        (a[0], b[0], a[1], b[1]) = (0, 0, u32::MAX, u32::MAX);
        // A shift by 32 - 0 is undefined in the source's rotate.
        b.iter_mut().filter(|v| **v & 31 == 0).for_each(|v| *v |= 1);
        let out = device.zeros::<u32>(16 * n);
        device.launch("bit_ops", 4, 32, args!(device.upload(&a), device.upload(&b), out, n as i32));
        for (i, o) in device.download::<u32>(out, 16 * n).chunks(16).enumerate() {
            let (x, y) = (a[i], b[i]);
            let both = u64::from(y) << 32 | u64::from(x);
            let bytes = |v: u32| v.to_le_bytes();
            let zip = |f: fn(u8, u8) -> u8| {
                u32::from_le_bytes(std::array::from_fn(|k| f(bytes(x)[k], bytes(y)[k])))
            };
            let permuted: [u8; 4] = std::array::from_fn(|k| both.to_le_bytes()[(y >> (4 * k) & 7) as usize]);
            let dot: i32 = (0..4).map(|k| i32::from(bytes(x)[k] as i8) * i32::from(bytes(y)[k] as i8)).sum();
            let distance: u32 = (0..4).map(|k| u32::from(bytes(x)[k].abs_diff(bytes(y)[k]))).sum();
            let expected = [
                x.count_ones(),
                x.leading_zeros(),
                if x == 0 { 0 } else { x.trailing_zeros() + 1 },
                x.reverse_bits(),
                u32::from_le_bytes(permuted),
                ((both << (y & 31)) >> 32) as u32,
                (both >> (y & 63).min(32)) as u32,
                ((u64::from(x) * u64::from(y)) >> 32) as u32,
                ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32,
                (x as i32).abs_diff(y as i32).wrapping_add(5),
                (7 + dot) as u32,
                ((u64::from(x) + u64::from(y)) >> 1) as u32,
                (x & y) ^ (!x | y >> 3),
                x.rotate_left(y & 31),
                distance,
                zip(u8::wrapping_add),
            ];
            // __vabsdiffu4 gives the differences themselves.
            let mut expected = expected;
            expected[14] = zip(u8::abs_diff);
            assert_eq!(o, expected, "{} {x:#x} {y:#x}", device.file);
        }

        let a = random.list(n, |r| r.next() >> r.range(0, 64));
        let b = random.list(n, |r| (r.next() >> r.range(0, 64)).max(1));
        let out = device.zeros::<u64>(8 * n);
        device.launch("bit_ops_wide", 4, 32, args!(device.upload(&a), device.upload(&b), out, n as i32));
        for (i, o) in device.download::<u64>(out, 8 * n).chunks(8).enumerate() {
            let (x, y) = (a[i], b[i]);
            let expected = [
                x.count_ones().into(),
                x.leading_zeros().into(),
                if x == 0 { 0 } else { u64::from(x.trailing_zeros()) + 1 },
                x.reverse_bits(),
                ((u128::from(x) * u128::from(y)) >> 64) as u64,
                ((i128::from(x as i64) * i128::from(y as i64)) >> 64) as u64,
                x / y,
                (x as i64).wrapping_rem(y as i64) as u64,
            ];
            assert_eq!(o, expected, "{} {x:#x} {y:#x}", device.file);
        }
    });
}

#[test]
fn morton_codes() {
    each("bits", |device| {
        let n = 64usize;
        let xyz = Random(4).list(3 * n, |r| r.range(0, 1024) as u32);
        let (code, back) = (device.zeros::<u32>(n), device.zeros::<u32>(3 * n));
        device.launch("morton", 1, 64, args!(device.upload(&xyz), code, back, n as i32));
        let interleave = |v: &[u32]| (0..30).fold(0, |c, bit| c | (v[bit % 3] >> (bit / 3) & 1) << bit);
        let expected: Vec<u32> = xyz.chunks(3).map(interleave).collect();
        assert_eq!(device.download::<u32>(code, n), expected, "{}", device.file);
        assert_eq!(device.download::<u32>(back, 3 * n), xyz);
    });
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn digests() {
    use sha2::{Digest, Sha256};
    each("sha256", |device| {
        for length in [0usize, 3, 55, 56, 64, 119, 120] {
            let n = 35;
            let messages = Random(length as u64).list((n * length).max(1), |r| r.next() as u8);
            let digests = device.zeros::<u8>(32 * n);
            device.launch("sha256", 2, 32, args!(device.upload(&messages), length as i32, digests, n as i32));
            let expected: Vec<u8> =
                (0..n).flat_map(|i| Sha256::digest(&messages[i * length..(i + 1) * length])).collect();
            assert_eq!(device.download::<u8>(digests, 32 * n), expected, "{} length {length}", device.file);
        }
    });
}

/// Rounds an exact f64 to f16; sums and products of f16 are exact in f64.
fn f16_of(v: f64) -> f16 {
    f16::from_f64(v)
}

/// The same for bf16, by way of an integer remainder, since `half` rounds f64 twice.
fn bf16_of(v: f64) -> bf16 {
    let near = bf16::from_f64(v);
    let around = [near.to_bits().wrapping_sub(1), near.to_bits(), near.to_bits().wrapping_add(1)];
    let distance = |bits: &u16| (bf16::from_bits(*bits).to_f64() - v).abs();
    let best = around
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)).then((*a & 1).cmp(&(*b & 1))))
        .unwrap();
    if v == 0.0 || !v.is_finite() { near } else { bf16::from_bits(*best) }
}

#[test]
fn half_arithmetic() {
    each("half", |device| {
        let n = 90usize;
        let mut random = Random(5);
        let mut make = |r: &mut Random| f16::from_f64(r.real(-2.0, 2.0) * f64::from(1u32 << r.range(0, 12)));
        let x = random.list(2 * n, &mut make);
        let y = random.list(2 * n, &mut make);
        let upload = |v: &[f16]| device.upload(&v.iter().map(|v| v.to_bits()).collect::<Vec<u16>>());
        let (dx, dy) = (upload(&x), upload(&y));

        let out = device.zeros::<u16>(16 * n);
        device.launch("half2_ops", 3, 32, args!(dx, dy, out, n as i32));
        let out = device.download::<u16>(out, 16 * n);
        for i in 0..2 * n {
            let (a, b) = (x[i].to_f64(), y[i].to_f64());
            let got: Vec<u16> = (0..8).map(|k| out[16 * (i / 2) + 2 * k + i % 2]).collect();
            let expected = [
                a + b,
                a - b,
                a * b,
                a.min(b),
                a.max(b),
                (a + b).clamp(0.0, 1.0),
                a.mul_add(b, b).max(0.0),
                -a.abs(),
            ];
            let expected = expected.map(|v| f16_of(v).to_bits());
            assert_eq!(got, expected, "{} {a} {b}", device.file);
        }

        let a = f16::from_f64(1.25);
        let size = 2 * n as i32;
        device.launch("half_axpy", 3, 64, args!(a.to_bits(), dx, dy, size));
        let expected: Vec<u16> = x
            .iter()
            .zip(&y)
            .map(|(x, y)| f16_of(a.to_f64().mul_add(x.to_f64(), y.to_f64())).to_bits())
            .collect();
        assert_eq!(device.download::<u16>(dy, 2 * n), expected, "{}", device.file);

        let small = random.list(4 * 20, |r| f16::from_f64(r.range(-5, 6) as f64));
        let ds = upload(&small);
        let out = device.zeros::<u16>(4);
        device.launch("half_dot", 1, 32, args!(ds, ds, out, 20, 4));
        let expected: Vec<u16> = small
            .chunks(20)
            .map(|c| f16_of(c.iter().map(|v| v.to_f64() * v.to_f64()).sum()).to_bits())
            .collect();
        assert_eq!(device.download::<u16>(out, 4), expected, "{}", device.file);
    });
}

#[test]
fn brain_floats() {
    each("half", |device| {
        let n = 90usize;
        let mut random = Random(6);
        let mut make = |r: &mut Random| bf16::from_f64(r.real(-2.0, 2.0) * f64::from(1u32 << r.range(0, 9)));
        let x = random.list(n, &mut make);
        let y = random.list(n, &mut make);
        let upload = |v: &[bf16]| device.upload(&v.iter().map(|v| v.to_bits()).collect::<Vec<u16>>());
        let out = device.zeros::<u16>(5 * n);
        device.launch("bf16_ops", 3, 32, args!(upload(&x), upload(&y), out, n as i32));
        for (i, got) in device.download::<u16>(out, 5 * n).chunks(5).enumerate() {
            let (a, b) = (x[i].to_f64(), y[i].to_f64());
            let expected = [a + b, a - b, a * b, a.mul_add(b, a), a.max(b)].map(|v| bf16_of(v).to_bits());
            assert_eq!(got, expected, "{} {a} {b}", device.file);
        }
    });
}

#[test]
fn half_conversions() {
    each("half", |device| {
        let x: Vec<f32> =
            Random(7).list(100, |r| (r.real(-1.0, 1.0) * f64::from(1u32 << r.range(0, 15))) as f32);
        let n = x.len();
        let out = device.zeros::<u16>(6 * n);
        device.launch("half_convert", 4, 32, args!(device.upload(&x), out, n as i32));
        for (i, got) in device.download::<u16>(out, 6 * n).chunks(6).enumerate() {
            let v = f64::from(x[i]);
            let near = f16_of(v);
            let (below, above) = {
                let step = |up: bool| {
                    let away = (v > 0.0) == up;
                    let wrong_side = if up { near.to_f64() < v } else { near.to_f64() > v };
                    let bits = near.to_bits();
                    f16::from_bits(if !wrong_side {
                        bits
                    } else if away {
                        bits + 1
                    } else {
                        bits - 1
                    })
                };
                (step(false), step(true))
            };
            let zero = if v > 0.0 { below } else { above };
            let expected = [near, zero, above, below].map(f16::to_bits);
            assert_eq!(got[..4], expected, "{} {v}", device.file);
            assert_eq!(got[4], bf16_of(v).to_bits(), "{} {v}", device.file);
            assert_eq!(got[5], near.to_f64().round_ties_even() as i32 as u16);
        }
    });
}
