//! Locks, hand-offs between blocks, named barriers, atomics.

use crate::device::{args, each};
use testkit::random::Random;

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn list_under_a_spin_lock() {
    each("list_lock", |device| {
        let n = 150usize;
        let keys = Random(1).list(n, |r| r.range(0, 1000) as i32);
        let mut nodes = vec![0i32; 2 * (n + 1)];
        nodes[1] = -1;
        let (dn, dk) = (device.upload(&nodes), device.upload(&keys));
        device.launch("list_insert", 3, 64, args!(dn, dk, n as i32));
        let nodes = device.download::<i32>(dn, 2 * (n + 1));
        let (mut at, mut seen) = (nodes[1], Vec::new());
        while at != -1 {
            assert!(seen.len() < n, "{}: the list has a cycle", device.file);
            seen.push(nodes[2 * at as usize]);
            at = nodes[2 * at as usize + 1];
        }
        let mut expected = keys;
        expected.sort_unstable();
        assert_eq!(seen, expected, "{}", device.file);
    });
}

#[test]
fn counter_under_a_ticket_lock() {
    each("list_lock", |device| {
        let n = 4 * 48;
        let (lock, counter, order) = (device.zeros::<u32>(2), device.zeros::<u64>(1), device.zeros::<u32>(n));
        device.launch("ticket_count", 4, 48, args!(lock, counter, order));
        assert_eq!(device.download::<u64>(counter, 1), [n as u64], "{}", device.file);
        assert_eq!(device.download::<u32>(lock, 2), [n as u32; 2]);
        let mut order = device.download::<u32>(order, n);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..n as u32), "{}: every thread once", device.file);
    });
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn hand_off_between_blocks() {
    each("handoff", |device| {
        let (blocks, n) = (50usize, 50 * 64 - 10);
        let x = Random(2).list(n, |r| r.range(-100, 100) as i32);
        let (dx, total, flag) = (device.upload(&x), device.zeros::<i32>(blocks), device.zeros::<i32>(blocks));
        device.launch("chain_total", blocks as u32, 64, args!(dx, total, flag, n as i32));
        let mut sum = 0;
        let expected: Vec<i32> = x
            .chunks(64)
            .map(|c| {
                sum += c.iter().sum::<i32>();
                sum
            })
            .collect();
        assert_eq!(device.download::<i32>(total, blocks), expected, "{}", device.file);

        let (order, position, flag) =
            (device.zeros::<i32>(blocks), device.zeros::<i32>(1), device.zeros::<i32>(blocks));
        device.launch("chain_backwards", blocks as u32, 32, args!(order, position, flag));
        let expected: Vec<i32> = (0..blocks as i32).rev().collect();
        assert_eq!(device.download::<i32>(order, blocks), expected, "{}", device.file);
    });
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn barrier_over_the_grid() {
    each("handoff", |device| {
        let (n, sweeps) = (1000usize, 5);
        let mut a = Random(3).list(n, |r| r.next() as u32);
        let (da, db) = (device.upload(&a), device.zeros::<u32>(n));
        device.launch("grid_sweeps", 8, 128, args!(da, db, n as i32, sweeps));
        for _ in 0..sweeps {
            let next = |i: usize| {
                a[(i + n - 1) % n].wrapping_add(2u32.wrapping_mul(a[i])).wrapping_add(a[(i + 1) % n])
            };
            a = (0..n).map(next).collect();
        }
        assert_eq!(device.download::<u32>(db, n), a, "{}", device.file);
    });
}

#[test]
fn named_barriers() {
    each("named_barriers", |device| {
        for rounds in [1i32, 2, 9] {
            let n = 32 * rounds as usize;
            let x = Random(4).list(n, |r| r.range(-1000, 1000) as i32);
            let (dx, dy) = (device.upload(&x), device.zeros::<i32>(n));
            device.launch("pipeline", 1, 64, args!(dx, dy, rounds));
            let expected: Vec<i32> = x.chunks(32).flat_map(|c| c.iter().rev().map(|v| 3 * v + 1)).collect();
            assert_eq!(device.download::<i32>(dy, n), expected, "{} {rounds}", device.file);
        }
        let mut x = Random(5).list(3 * 96, |r| r.range(-100, 100) as i32);
        x[97] = -100;
        x[200] = 42;
        let (dx, dy) = (device.upload(&x), device.zeros::<i32>(9));
        device.launch("barrier_votes", 3, 96, args!(dx, dy));
        let got = device.download::<i32>(dy, 9);
        for (block, values) in x.chunks(96).enumerate() {
            assert_eq!(got[3 * block], values.iter().filter(|&&v| v > 0).count() as i32, "{}", device.file);
            assert_eq!(got[3 * block + 1] != 0, values.iter().all(|&v| v > -100));
            assert_eq!(got[3 * block + 2] != 0, values.contains(&42));
        }
    });
}

#[test]
fn integer_atomics() {
    each("atomics", |device| {
        let n = 300usize;
        let x = Random(6).list(n, |r| r.next() as i32);
        let start = [0, 0, i32::MAX, i32::MIN, -1, 0, -1, 0, 0, 0, 0, 5, 0, 0, 0];
        let (dx, out) = (device.upload(&x), device.upload(&start));
        device.launch("atomics_int", 3, 128, args!(dx, out, n as i32));
        let fold = |f: fn(i32, i32) -> i32, from: i32| x.iter().fold(from, |a, &b| f(a, b));
        let expected = [
            fold(i32::wrapping_add, 0),
            fold(i32::wrapping_sub, 0),
            *x.iter().min().unwrap(),
            *x.iter().max().unwrap(),
            x.iter().map(|&v| v as u32).min().unwrap() as i32,
            x.iter().map(|&v| v as u32).max().unwrap() as i32,
            fold(|a, b| a & b, -1),
            fold(|a, b| a | b, 0),
            fold(|a, b| a ^ b, 0),
            // 300 steps up and down modulo 10.
            0,
            0,
            x[7],
            0x1234,
            n as i32,
            2 * n as i32,
        ];
        assert_eq!(device.download::<i32>(out, 15), expected, "{}", device.file);

        let x = Random(7).list(n, |r| r.next() as i64);
        let start = [0u64, i64::MAX as u64, 0, u64::MAX, 0, 0, 9, 0];
        let (dx, out) = (device.upload(&x), device.upload(&start));
        device.launch("atomics_wide", 3, 128, args!(dx, out, n as i32));
        let fold = |f: fn(u64, u64) -> u64, from: u64| x.iter().fold(from, |a, &b| f(a, b as u64));
        let expected = [
            fold(u64::wrapping_add, 0),
            *x.iter().min().unwrap() as u64,
            x.iter().map(|&v| v as u64).max().unwrap(),
            fold(|a, b| a & b, u64::MAX),
            fold(|a, b| a | b, 0),
            fold(|a, b| a ^ b, 0),
            x[3] as u64,
            0x1234_5678_9abc,
        ];
        assert_eq!(device.download::<u64>(out, 8), expected, "{}", device.file);
    });
}

#[test]
fn float_atomics() {
    each("atomics", |device| {
        let n = 200usize;
        let x = Random(8).list(n, |r| r.range(-3, 4) as f32);
        let sum: f32 = x.iter().sum();
        let (dx, f32s, f64s, f16x2, f16) = (
            device.upload(&x),
            device.zeros::<f32>(1),
            device.zeros::<f64>(1),
            device.zeros::<u32>(1),
            device.zeros::<u16>(2),
        );
        device.launch("atomics_float", 2, 128, args!(dx, f32s, f64s, f16x2, f16, n as i32));
        assert_eq!(device.download::<f32>(f32s, 1), [sum], "{}", device.file);
        assert_eq!(device.download::<f64>(f64s, 1), [f64::from(sum)]);
        let pair = device.download::<u16>(f16x2, 2);
        assert_eq!(half::f16::from_bits(pair[0]).to_f32(), sum);
        assert_eq!(half::f16::from_bits(pair[1]).to_f32(), -sum);
        let one = device.download::<u16>(f16, 2);
        assert_eq!((half::f16::from_bits(one[0]).to_f32(), one[1]), (sum, 0));

        let x = Random(9).list(n, |r| r.real(-500.0, -1.0) as f32);
        let out = device.upload(&[-1e30f32]);
        device.launch("atomic_max_float", 4, 64, args!(device.upload(&x), out, n as i32));
        let most = x.iter().copied().fold(f32::MIN, f32::max);
        assert_eq!(device.download::<f32>(out, 1), [most], "{}", device.file);
    });
}
