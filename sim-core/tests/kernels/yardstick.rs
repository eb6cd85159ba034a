//! The seven kernels of the speed yardstick, small.

use crate::device::{Device, args};
use testkit::random::Random;

#[test]
fn vadd() {
    let device = Device::load("perf/vadd.ptx");
    let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..1000).map(|i| 0.25 * i as f32).collect();
    let c = device.zeros::<f32>(1000);
    device.launch("vadd", 4, 256, args!(device.upload(&a), device.upload(&b), c, 1000));
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(device.download::<f32>(c, 1000), expected);
}

#[test]
fn sgemm() {
    for kernel in ["sgemm_naive", "sgemm_tiled"] {
        let device = Device::load(&format!("perf/{kernel}.ptx"));
        let n = 32usize;
        let mut random = Random(1);
        let a = random.list(n * n, |r| r.range(-9, 10) as f32);
        let b = random.list(n * n, |r| r.range(-9, 10) as f32);
        let c = device.zeros::<f32>(n * n);
        device.launch(kernel, (2, 2), (16, 16), args!(device.upload(&a), device.upload(&b), c, n as i32));
        let expected: Vec<f32> =
            (0..n * n).map(|i| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum()).collect();
        assert_eq!(device.download::<f32>(c, n * n), expected, "{kernel}");
    }
}

#[test]
fn reduce() {
    let device = Device::load("perf/reduce.ptx");
    let x = Random(2).list(5000, |r| r.range(-100, 100) as f32);
    let out = device.zeros::<f32>(1);
    device.launch("reduce", 20, 256, args!(device.upload(&x), out, 5000));
    assert_eq!(device.download::<f32>(out, 1), [x.iter().sum::<f32>()]);
}

#[test]
fn alu_and_collatz() {
    let device = Device::load("perf/alu.ptx");
    let out = device.zeros::<u32>(128);
    device.launch("alu", 2, 64, args!(out, 50));
    let expected: Vec<u32> = (1..=128)
        .map(|i| {
            (0..50).fold(i, |mut x: u32, _| {
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
                x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
            })
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 128), expected);

    let device = Device::load("perf/collatz.ptx");
    let out = device.zeros::<u32>(1000);
    device.launch("collatz", 8, 128, args!(out, 1000));
    let expected: Vec<u32> = (1..=1000u32)
        .map(|mut v| {
            let mut steps = 0;
            while v != 1 {
                v = if v & 1 == 1 { 3 * v + 1 } else { v >> 1 };
                steps += 1;
            }
            steps
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 1000), expected);
}

#[test]
fn hist() {
    let device = Device::load("perf/hist.ptx");
    let x = Random(3).list(20_000, |r| r.next() as u32);
    let bins = device.zeros::<u32>(256);
    device.launch("hist", 16, 256, args!(device.upload(&x), bins, 20_000));
    let mut expected = vec![0u32; 256];
    x.iter().for_each(|v| expected[(v & 255) as usize] += 1);
    assert_eq!(device.download::<u32>(bins, 256), expected);
}
