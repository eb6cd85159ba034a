//! SAXPY, matrix products, reductions, n-body, stencils, sparse products.

use crate::device::{Device, args, close, each, wide};
use testkit::random::Random;

#[test]
fn saxpy() {
    each("saxpy", |device| {
        for (kernel, n, grid) in [("saxpy", 1000usize, 4u32), ("saxpy", 1, 1), ("saxpy_strided", 5000, 3)] {
            let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let y: Vec<f32> = (0..n).map(|i| 0.5 * i as f32 + 1.0).collect();
            let (dx, dy) = (device.upload(&x), device.upload(&y));
            device.launch(kernel, grid, 256, args!(n as i32, 2.0f32, dx, dy));
            let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
            assert_eq!(device.download::<f32>(dy, n), expected, "{} {kernel}", device.file);
            assert_eq!(device.download::<f32>(dx, n), x);
        }
    });
}

/// A product of matrices of small integers, whose sums are exact.
fn product(device: &Device, kernel: &str, [m, n, k]: [usize; 3]) {
    let mut random = Random(1);
    let a = random.list(m * k, |r| r.range(-9, 10) as f32);
    let b = random.list(k * n, |r| r.range(-9, 10) as f32);
    let (da, db, dc) = (device.upload(&a), device.upload(&b), device.zeros::<f32>(m * n));
    let grid = (n.div_ceil(16) as u32, m.div_ceil(16) as u32);
    device.launch(kernel, grid, (16, 16), args!(da, db, dc, m as i32, n as i32, k as i32));
    let c = device.download::<f32>(dc, m * n);
    for row in 0..m {
        for column in 0..n {
            let sum: f32 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
            assert_eq!(c[row * n + column], sum, "{} {kernel} at ({row}, {column})", device.file);
        }
    }
}

#[test]
fn matrix_products() {
    each("gemm_naive", |device| product(device, "gemm_naive", [33, 17, 40]));
    each("gemm_tiled", |device| {
        product(device, "gemm_tiled", [48, 48, 48]);
        product(device, "gemm_tiled", [33, 50, 19]);
    });
}

#[test]
fn reductions() {
    each("reduce", |device| {
        let n = 3000;
        let x = Random(2).list(n, |r| r.range(-50, 51) as f32);
        let dx = device.upload(&x);
        let total: f32 = x.iter().sum();

        let blocks = n.div_ceil(512);
        let partial = device.zeros::<f32>(blocks);
        device.launch_shared("reduce_tree", blocks as u32, 256, 1024, args!(dx, partial, n as i32));
        let sums = device.download::<f32>(partial, blocks);
        assert_eq!(sums.iter().sum::<f32>(), total, "{}", device.file);
        assert_eq!(sums[0], x[..512].iter().sum());

        let blocks = n.div_ceil(128);
        let partial = device.zeros::<f32>(blocks);
        device.launch("reduce_shuffle", blocks as u32, 128, args!(dx, partial, n as i32));
        let sums = device.download::<f32>(partial, blocks);
        let expected: Vec<f32> = x.chunks(128).map(|c| c.iter().sum()).collect();
        assert_eq!(sums, expected, "{}", device.file);

        // Twice: the counter of finished blocks must be back at zero.
        for seed in [3, 4] {
            let x = Random(seed).list(100_000, |r| r.next() as i32);
            let (dx, partial, total) = (device.upload(&x), device.zeros::<i64>(37), device.zeros::<i64>(1));
            device.launch("reduce_last_block", 37, 256, args!(dx, partial, total, x.len() as i32));
            assert_eq!(device.download::<i64>(total, 1)[0], x.iter().map(|&v| i64::from(v)).sum::<i64>());
        }
    });
}

#[test]
fn n_body() {
    each("nbody", |device| {
        let n = 200;
        let mut random = Random(5);
        let body: Vec<[f32; 4]> = random.list(n, |r| {
            std::array::from_fn(|k| if k < 3 { r.real(-1.0, 1.0) } else { r.real(0.1, 1.0) } as f32)
        });
        let velocity = random.list(3 * n, |r| r.real(-0.1, 0.1) as f32);
        let (db, dv, da) =
            (device.upload(body.as_flattened()), device.upload(&velocity), device.zeros::<f32>(3 * n));
        device.launch_shared("nbody_forces", 4, 64, 64 * 16, args!(db, da, n as i32));
        let mut expected = Vec::new();
        for a in &body {
            let mut sum = [0.0f64; 3];
            for b in &body {
                let d: [f64; 3] = std::array::from_fn(|k| f64::from(b[k] - a[k]));
                let r2 = d.iter().map(|v| v * v).sum::<f64>() + 0.01;
                for k in 0..3 {
                    sum[k] += d[k] * f64::from(b[3]) / (r2 * r2.sqrt());
                }
            }
            expected.extend(sum);
        }
        let accel = device.download::<f32>(da, 3 * n);
        close(&wide(&accel), &expected, 1e-5, 1e-3, &device.file);

        device.launch("nbody_step", 4, 64, args!(db, dv, da, 0.01f32, n as i32));
        let v: Vec<f64> = velocity
            .iter()
            .zip(&accel)
            .map(|(v, a)| f64::from(*v) + f64::from(*a) * 0.01f32 as f64)
            .collect();
        close(&wide(&device.download::<f32>(dv, 3 * n)), &v, 1e-6, 1e-6, &device.file);
        let moved = device.download::<f32>(db, 4 * n);
        for i in 0..n {
            let place: Vec<f64> =
                (0..3).map(|k| f64::from(body[i][k]) + v[3 * i + k] * 0.01f32 as f64).collect();
            close(&wide(&moved[4 * i..4 * i + 3]), &place, 1e-6, 1e-6, &device.file);
            assert_eq!(moved[4 * i + 3], body[i][3]);
        }
    });
}

#[test]
fn stencils() {
    each("stencil", |device| {
        let n = 500i64;
        let x: Vec<f32> = (0..n).map(|i| (i as f32 * 0.1).sin()).collect();
        let (dx, dy) = (device.upload(&x), device.zeros::<f32>(n as usize));
        device.launch("stencil_1d", 4, 128, args!(dx, dy, n as i32));
        let w = [
            -0.001_785_714f32,
            0.025_396_825,
            -0.2,
            1.6,
            -2.847_222_3,
            1.6,
            -0.2,
            0.025_396_825,
            -0.001_785_714,
        ];
        let at = |i: i64| if (0..n).contains(&i) { f64::from(x[i as usize]) } else { 0.0 };
        let expected: Vec<f64> =
            (0..n).map(|i| (0..9).map(|d| f64::from(w[d as usize]) * at(i + d - 4)).sum()).collect();
        close(&wide(&device.download::<f32>(dy, n as usize)), &expected, 1e-6, 2e-6, &device.file);

        let (nx, ny, nz) = (20usize, 9, 11);
        let grid = Random(6).list(nx * ny * nz, |r| r.range(-64, 64) as f64);
        let (din, dout) = (device.upload(&grid), device.zeros::<f64>(grid.len()));
        device.launch(
            "heat_3d",
            (3, 2, 3),
            (8, 8, 4),
            args!(din, dout, nx as i32, ny as i32, nz as i32, 0.125f64),
        );
        let mut expected = grid.clone();
        for z in 1..nz - 1 {
            for y in 1..ny - 1 {
                for x in 1..nx - 1 {
                    let i = (z * ny + y) * nx + x;
                    let sum: f64 = [i - 1, i + 1, i - nx, i + nx, i - nx * ny, i + nx * ny]
                        .map(|k| grid[k])
                        .iter()
                        .sum();
                    expected[i] = grid[i] + 0.125 * (sum - 6.0 * grid[i]);
                }
            }
        }
        assert_eq!(device.download::<f64>(dout, grid.len()), expected, "{}", device.file);
    });
}

#[test]
fn sparse_products() {
    each("spmv", |device| {
        let (rows, columns) = (150usize, 90);
        let mut random = Random(7);
        let (mut start, mut column, mut value) = (vec![0i32], Vec::new(), Vec::new());
        for row in 0..rows {
            let count = if row % 10 == 3 { 70 } else { row % 7 };
            for _ in 0..count {
                column.push(random.range(0, columns) as i32);
                value.push(random.range(-8, 9) as f64);
            }
            start.push(column.len() as i32);
        }
        let x = random.list(columns as usize, |r| r.range(-8, 9) as f64);
        let expected: Vec<f64> = (0..rows)
            .map(|r| {
                (start[r]..start[r + 1]).map(|k| value[k as usize] * x[column[k as usize] as usize]).sum()
            })
            .collect();
        let (ds, dc, dv, dx, dy) = (
            device.upload(&start),
            device.upload(&column),
            device.upload(&value),
            device.upload(&x),
            device.zeros::<f64>(rows),
        );
        device.launch("spmv_scalar", 3, 64, args!(rows as i32, ds, dc, dv, dx, dy));
        assert_eq!(device.download::<f64>(dy, rows), expected, "{}", device.file);

        let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let (dv, dx, dy) =
            (device.upload(&narrow(&value)), device.upload(&narrow(&x)), device.zeros::<f32>(rows));
        device.launch(
            "spmv_warp",
            (rows * 32).div_ceil(128) as u32,
            128,
            args!(rows as i32, ds, dc, dv, dx, dy),
        );
        assert_eq!(device.download::<f32>(dy, rows), narrow(&expected), "{}", device.file);
    });
}
