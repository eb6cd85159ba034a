//! Kernels from clang, Triton and numba.

use crate::device::{Args, Device, args, close, wide};
use testkit::random::Random;

fn clang(name: &str, test: impl Fn(&Device)) {
    for level in ["O0", "O2"] {
        test(&Device::load(&format!("clang/{name}-{level}.ptx")));
    }
}

#[test]
fn clang_arrays() {
    clang("arrays", |device| {
        let n = 700usize;
        let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let y: Vec<f64> = (0..n).map(|i| 0.5 * i as f64).collect();
        let dy = device.upload(&y);
        device.launch("axpy", 2, 128, args!(3.0f64, device.upload(&x), dy, n as i64));
        let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
        assert_eq!(device.download::<f64>(dy, n), expected, "{}", device.file);

        let x = Random(1).list(768, |r| r.range(-50, 50) as f32);
        let sums = device.zeros::<f32>(3);
        device.launch("block_sums", 3, 256, args!(device.upload(&x), sums));
        let expected: Vec<f32> = x.chunks(256).map(|c| c.iter().sum()).collect();
        assert_eq!(device.download::<f32>(sums, 3), expected, "{}", device.file);

        let x = Random(2).list(300, |r| r.next() >> r.range(0, 60));
        let (total, highest) = (device.zeros::<u32>(1), device.zeros::<u32>(1));
        device.launch("count_bits", 5, 64, args!(device.upload(&x), total, highest, 300));
        assert_eq!(
            device.download::<u32>(total, 1),
            [x.iter().map(|v| v.count_ones()).sum::<u32>()],
            "{}",
            device.file
        );
        assert_eq!(
            device.download::<u32>(highest, 1),
            [x.iter().map(|v| 64 - v.leading_zeros()).max().unwrap()]
        );
    });
}

#[test]
fn clang_functions() {
    clang("functions", |device| {
        let n = 64usize;
        let mut random = Random(3);
        let z: Vec<[f32; 2]> = random.list(n, |r| std::array::from_fn(|_| r.range(-3, 4) as f32));
        let out = device.zeros::<f32>(2 * n);
        device.launch("powers", 2, 32, args!(device.upload(z.as_flattened()), out, 5));
        let expected: Vec<f32> = z
            .iter()
            .flat_map(|z| {
                (0..5).fold([1.0f32, 0.0], |p, _| [p[0] * z[0] - p[1] * z[1], p[0] * z[1] + p[1] * z[0]])
            })
            .collect();
        assert_eq!(device.download::<f32>(out, 2 * n), expected, "{}", device.file);

        let a = random.list(n, |r| r.range(1, 10_000) as i32);
        let b = random.list(n, |r| r.range(0, 10_000) as i32);
        let out = device.zeros::<i32>(2 * n);
        device.launch("calls", 2, 32, args!(device.upload(&a), device.upload(&b), out));
        fn gcd(a: i32, b: i32) -> i32 {
            if b == 0 { a } else { gcd(b, a % b) }
        }
        let fibonacci = |n: i32| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
        let expected: Vec<i32> =
            a.iter().zip(&b).flat_map(|(a, b)| [gcd(*a, *b), fibonacci(a & 15)]).collect();
        assert_eq!(device.download::<i32>(out, 2 * n), expected, "{}", device.file);

        // ((x + 3) * x - (x < 5)) / -x
        let code = [1u8, 2, 3, 3, 1, 5, 1, 2, 5, 9, 4, 1, 8, 7, 0];
        let x: Vec<i64> = (-10..22).collect();
        let out = device.zeros::<i64>(x.len());
        device.launch("stack_machine", 1, 32, args!(device.upload(&code), device.upload(&x), out));
        let expected: Vec<i64> =
            x.iter().map(|&x| ((x + 3) * x - i64::from(x < 5)).checked_div(-x).unwrap_or(0)).collect();
        assert_eq!(device.download::<i64>(out, x.len()), expected, "{}", device.file);
    });
}

/// Triton kernels take two more pointers, to scratch memory that these do not use.
fn triton(name: &str) -> (Device, u32, usize) {
    let device = Device::load(&format!("triton/{name}.ptx"));
    let path = format!("{}/../testdata/ptx/triton/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let number = |after: &str| {
        let rest = &text[text.find(after).unwrap() + after.len()..];
        rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap()].parse::<u32>().unwrap()
    };
    let (block, shared) = (number("block "), number("shared memory ") as usize);
    (device, block, shared)
}

fn scratch(args: Args) -> Args {
    args.with(0u64).with(0u64)
}

#[test]
fn triton_vector_add() {
    let (device, block, shared) = triton("vector_add");
    let n = 2000usize;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let (dx, out) = (device.upload(&x), device.zeros::<f32>(n));
    device.launch_shared("vector_add", 2, block, shared, scratch(args!(dx, dx, out, n as i32)));
    let expected: Vec<f32> = x.iter().map(|v| 2.0 * v).collect();
    assert_eq!(device.download::<f32>(out, n), expected);

    let (device, block, shared) = triton("vector_add_masked");
    let n = 333usize;
    let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let (dx, out) = (device.upload(&x), device.zeros::<f64>(n));
    device.launch_shared("vector_add", 2, block, shared, scratch(args!(dx, dx, out, n as i32)));
    let expected: Vec<f64> = x.iter().map(|v| 2.0 * v).collect();
    assert_eq!(device.download::<f64>(out, n), expected);
}

#[test]
fn triton_softmax_and_layer_norm() {
    let (device, block, shared) = triton("softmax");
    let (rows, columns) = (3usize, 700usize);
    let x = Random(4).list(rows * columns, |r| r.real(-5.0, 5.0) as f32);
    let out = device.zeros::<f32>(x.len());
    device.launch_shared(
        "softmax",
        3,
        block,
        shared,
        scratch(args!(device.upload(&x), out, columns as i32, columns as i32)),
    );
    let expected: Vec<f64> = x
        .chunks(columns)
        .flat_map(|row| {
            let sum: f64 = row.iter().map(|v| f64::from(*v).exp()).sum();
            row.iter().map(move |v| f64::from(*v).exp() / sum)
        })
        .collect();
    close(&wide(&device.download::<f32>(out, x.len())), &expected, 1e-5, 1e-9, "softmax");

    let (device, block, shared) = triton("layer_norm");
    let columns = 480usize;
    let bits = |v: &[f64]| v.iter().map(|v| half::f16::from_f64(*v).to_bits()).collect::<Vec<u16>>();
    let mut random = Random(5);
    let x: Vec<f64> = random.list(2 * columns, |r| r.range(-20, 20) as f64 / 8.0);
    let weight = random.list(columns, |r| r.real(0.5, 1.5) as f32);
    let bias = random.list(columns, |r| r.real(-0.5, 0.5) as f32);
    let out = device.zeros::<u16>(x.len());
    let args = args!(
        device.upload(&bits(&x)),
        device.upload(&weight),
        device.upload(&bias),
        out,
        columns as i32,
        1e-5f32
    );
    device.launch_shared("layer_norm", 2, block, shared, scratch(args));
    let mut expected = Vec::new();
    for row in x.chunks(columns) {
        let mean = row.iter().sum::<f64>() / columns as f64;
        let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / columns as f64;
        for (k, v) in row.iter().enumerate() {
            expected.push((v - mean) / (variance + 1e-5).sqrt() * f64::from(weight[k]) + f64::from(bias[k]));
        }
    }
    let got: Vec<f64> =
        device.download::<u16>(out, x.len()).iter().map(|b| half::f16::from_bits(*b).to_f64()).collect();
    close(&got, &expected, 1e-3, 1e-3, "layer_norm");
}

#[test]
fn triton_integers() {
    let (device, block, shared) = triton("histogram");
    let n = 600usize;
    let x = Random(6).list(n, |r| r.range(0, 1000) as i32);
    let (bins, total) = (device.zeros::<i32>(64), device.zeros::<i32>(2));
    device.launch_shared(
        "histogram",
        3,
        block,
        shared,
        scratch(args!(device.upload(&x), bins, total, n as i32)),
    );
    let mut expected = vec![0i32; 64];
    x.iter().for_each(|v| expected[(v & 63) as usize] += 1);
    assert_eq!(device.download::<i32>(bins, 64), expected);
    assert_eq!(device.download::<i32>(total, 2), [x.iter().sum(), *x.iter().max().unwrap()]);

    let (device, block, shared) = triton("cumulative");
    let n = 496usize;
    let x = Random(7).list(n, |r| r.range(-100, 100) as i32);
    let out = device.zeros::<i32>(n);
    device.launch_shared("cumulative", 1, block, shared, scratch(args!(device.upload(&x), out, n as i32)));
    let mut sum = 0;
    let expected: Vec<i32> = x
        .iter()
        .map(|v| {
            sum += v;
            sum
        })
        .collect();
    assert_eq!(device.download::<i32>(out, n), expected);
}

#[test]
fn triton_matrix_product() {
    let (device, block, shared) = triton("matmul_ieee");
    let n = 32usize;
    let mut random = Random(8);
    let a = random.list(n * n, |r| r.range(-9, 10) as f32);
    let b = random.list(n * n, |r| r.range(-9, 10) as f32);
    let c = device.zeros::<f32>(n * n);
    device.launch_shared(
        "matmul_ieee",
        1,
        block,
        shared,
        scratch(args!(device.upload(&a), device.upload(&b), c, n as i32)),
    );
    let expected: Vec<f32> =
        (0..n * n).map(|i| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum()).collect();
    assert_eq!(device.download::<f32>(c, n * n), expected);
}

#[test]
fn triton_matrix_units() {
    let mut random = Random(9);
    // Sizes that leave a rest in every tile.
    for (name, m, n, k) in [
        ("matmul_f16", 80usize, 96usize, 80usize),
        ("matmul_f16_sm_80", 80, 96, 80),
        ("matmul_tf32_sm_80", 40, 48, 32),
    ] {
        let half = name.starts_with("matmul_f16");
        let (device, block, shared) = triton(name);
        let a = random.list(m * k, |r| r.range(-9, 10) as f32);
        let b = random.list(k * n, |r| r.range(-9, 10) as f32);
        let upload = |values: &[f32]| match name {
            _ if half => {
                device.upload(&values.iter().map(|&v| half::f16::from_f32(v).to_bits()).collect::<Vec<u16>>())
            }
            _ => device.upload(values),
        };
        let (da, db, c) = (upload(&a), upload(&b), device.zeros::<f32>(m * n));
        let tile = if half { 64 } else { 32 };
        let grid = (m.div_ceil(tile) as u32, n.div_ceil(tile) as u32);
        let args = scratch(args!(da, db, c, m as i32, n as i32, k as i32));
        device.launch_shared("matmul", grid, block, shared, args);
        let expected: Vec<f32> =
            (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect();
        assert_eq!(device.download::<f32>(c, m * n), expected, "{name}");
    }

    let (device, block, shared) = triton("matmul_s8_sm_80");
    let n = 32usize;
    let a = random.list(n * n, |r| r.range(-128, 128) as i8);
    let b = random.list(n * n, |r| r.range(-128, 128) as i8);
    let c = device.zeros::<i32>(n * n);
    let args = scratch(args!(device.upload(&a), device.upload(&b), c, n as i32));
    device.launch_shared("matmul_s8", 1, block, shared, args);
    let product = |i: usize, j: usize| i32::from(a[i / n * n + j]) * i32::from(b[j * n + i % n]);
    let expected: Vec<i32> = (0..n * n).map(|i| (0..n).map(|j| product(i, j)).sum()).collect();
    assert_eq!(device.download::<i32>(c, n * n), expected);
}

/// numba passes an array as six to ten parameters: meminfo, parent, size, item size, data, shape, strides.
fn array(args: Args, data: u64, item: i64, shape: &[i64]) -> Args {
    let size: i64 = shape.iter().product();
    let mut args = args.with(0u64).with(0u64).with(size).with(item).with(data);
    for extent in shape {
        args = args.with(*extent);
    }
    for at in 0..shape.len() {
        args = args.with(item * shape[at + 1..].iter().product::<i64>());
    }
    args
}

/// The only kernel of a file, whose name numba makes.
fn numba(name: &str) -> (Device, String) {
    let path = format!("{}/../testdata/ptx/numba/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let from = &text[text.find(".entry ").unwrap() + 7..];
    (Device::load(&format!("numba/{name}.ptx")), from[..from.find('(').unwrap()].into())
}

#[test]
fn numba_kernels() {
    let (device, kernel) = numba("axpy");
    let n = 300usize;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let (dx, dy) = (device.upload(&x), device.upload(&x));
    let args = array(array(args!(3.0f32), dx, 4, &[n as i64]), dy, 4, &[n as i64]);
    device.launch(&kernel, 3, 128, args);
    let expected: Vec<f32> = x.iter().map(|v| 4.0 * v).collect();
    assert_eq!(device.download::<f32>(dy, n), expected);

    let (device, kernel) = numba("block_sum");
    let (dx, out) = (device.upload(&x), device.zeros::<f32>(1));
    device.launch(&kernel, 3, 128, array(array(args!(), dx, 4, &[n as i64]), out, 4, &[1]));
    assert_eq!(device.download::<f32>(out, 1), [x.iter().sum::<f32>()]);

    let (device, kernel) = numba("mandelbrot");
    let (height, width) = (20i64, 30i64);
    let image = device.zeros::<i32>(600);
    let args =
        array(args!(), image, 4, &[height, width]).with(-2.0f64).with(-1.25f64).with(0.125f64).with(40i32);
    // grid(2) gives (x, y) of the thread, which the kernel takes as (row, column).
    device.launch(&kernel, (3, 4), (8, 8), args);
    for (at, k) in device.download::<i32>(image, 600).into_iter().enumerate() {
        let (cx, cy) =
            (-2.0 + 0.125 * (at as i64 % width) as f64, -1.25 + 0.125 * (at as i64 / width) as f64);
        let (mut x, mut y, mut count) = (0.0f64, 0.0f64, 0);
        while count < 40 && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            count += 1;
        }
        assert_eq!(k, count, "pixel {at}");
    }

    let (device, kernel) = numba("distances");
    let points: Vec<f64> = Random(9).list(12 * 3, |r| r.range(-5, 6) as f64);
    let out = device.zeros::<f64>(144);
    let args = array(array(args!(), device.upload(&points), 8, &[12, 3]), out, 8, &[12, 12]);
    device.launch(&kernel, (2, 2), (8, 8), args);
    let expected: Vec<f64> = (0..144)
        .map(|i| {
            (0..3).map(|k| (points[i / 12 * 3 + k] - points[i % 12 * 3 + k]).powi(2)).sum::<f64>().sqrt()
        })
        .collect();
    assert_eq!(device.download::<f64>(out, 144), expected);
}
