//! Matrix units: the warp matrix interface of CUDA C++, and `mma` and its kin as inline PTX. Operands are
//! small integers, so that every sum is exact.

use half::f16;

use crate::device::{Device, args, each};
use testkit::random::Random;

/// Rows of small integers.
fn small(random: &mut Random, rows: usize, columns: usize) -> Vec<Vec<i64>> {
    (0..rows).map(|_| random.list(columns, |r| r.range(-8, 9))).collect()
}

fn halves(values: impl IntoIterator<Item = i64>) -> Vec<u16> {
    values.into_iter().map(|v| f16::from_f64(v as f64).to_bits()).collect()
}

fn by_rows(matrix: &[Vec<i64>]) -> Vec<i64> {
    matrix.concat()
}

fn by_columns(matrix: &[Vec<i64>]) -> Vec<i64> {
    (0..matrix[0].len()).flat_map(|column| matrix.iter().map(move |row| row[column])).collect()
}

fn product(a: &[Vec<i64>], b: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let column = |n: usize| b.iter().map(move |row| row[n]);
    a.iter()
        .map(|row| (0..b[0].len()).map(|n| row.iter().zip(column(n)).map(|(x, y)| x * y).sum()).collect())
        .collect()
}

#[test]
fn wmma_gemm() {
    let mut random = Random(40);
    let (m, n, k) = (64, 32, 48);
    let device = Device::load("later/wmma_gemm.ptx");
    let (a, b) = (small(&mut random, m, k), small(&mut random, k, n));
    let (da, db) = (device.upload(&halves(by_rows(&a))), device.upload(&halves(by_rows(&b))));
    let c = device.zeros::<f32>(m * n);
    device.launch("wmma_gemm", (2, 2), 64, args!(da, db, c, m as i32, n as i32, k as i32));
    let expected: Vec<f32> = by_rows(&product(&a, &b)).iter().map(|&v| v as f32).collect();
    assert_eq!(device.download::<f32>(c, m * n), expected);

    each("wmma", |device| {
        let n = 16;
        let (a, b) = (small(&mut Random(45), m, k), small(&mut Random(46), k, n));
        let bytes = |values: Vec<i64>| values.iter().map(|&v| v as i8).collect::<Vec<_>>();
        let (da, db) = (device.upload(&bytes(by_rows(&a))), device.upload(&bytes(by_columns(&b))));
        let c = device.zeros::<i32>(m * n);
        device.launch("wmma_gemm_s8", (2, 2), 32, args!(da, db, c, m as i32, n as i32, k as i32));
        let expected: Vec<i32> = by_columns(&product(&a, &b)).iter().map(|&v| v as i32).collect();
        assert_eq!(device.download::<i32>(c, m * n), expected, "{}", device.file);
    });
}

#[test]
fn wmma_of_other_shapes_and_types() {
    each("wmma", |device| {
        let mut random = Random(41);
        let (a, b, c) = (small(&mut random, 8, 16), small(&mut random, 16, 32), small(&mut random, 8, 32));
        let d = device.zeros::<u16>(256);
        let arguments = args!(
            device.upload(&halves(by_columns(&a))),
            device.upload(&halves(by_rows(&b))),
            device.upload(&halves(by_rows(&c))),
            d
        );
        device.launch("wmma_scaled_f16", 1, 32, arguments);
        let sums = by_rows(&product(&a, &b)).into_iter().zip(by_rows(&c)).map(|(ab, c)| 2 * ab + c);
        assert_eq!(device.download::<u16>(d, 256), halves(sums), "{}", device.file);

        let (a, b) = (small(&mut random, 8, 4), small(&mut random, 4, 8));
        let (e, f) = (small(&mut random, 16, 8), small(&mut random, 8, 16));
        let doubles = |values: Vec<i64>| values.iter().map(|&v| v as f64).collect::<Vec<_>>();
        let floats = |values: Vec<i64>| values.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let (c, g) = (device.zeros::<f64>(64), device.zeros::<f32>(256));
        let arguments = args!(
            device.upload(&doubles(by_rows(&a))),
            device.upload(&doubles(by_columns(&b))),
            c,
            device.upload(&floats(by_columns(&e))),
            device.upload(&floats(by_rows(&f))),
            g
        );
        device.launch("wmma_wide", 1, 32, arguments);
        let expected: Vec<f64> = by_rows(&product(&a, &b)).iter().map(|&v| v as f64 + 0.5).collect();
        assert_eq!(device.download::<f64>(c, 64), expected, "{}", device.file);
        let expected: Vec<f32> = by_columns(&product(&e, &f)).iter().map(|&v| v as f32 - 1.0).collect();
        assert_eq!(device.download::<f32>(g, 256), expected, "{}", device.file);
    });
}

#[test]
fn mma_sync() {
    let device = Device::load("later/mma_sync.ptx");
    let mut random = Random(42);
    let (a, b) = (small(&mut random, 16, 16), small(&mut random, 16, 8));
    let d = device.zeros::<f32>(128);
    let (da, db) = (device.upload(&halves(by_rows(&a))), device.upload(&halves(by_rows(&b))));
    device.launch("mma_f16", 1, 32, args!(da, db, d));
    let expected: Vec<f32> = by_rows(&product(&a, &b)).iter().map(|&v| v as f32).collect();
    assert_eq!(device.download::<f32>(d, 128), expected, "{}", device.file);

    // Registers as the manual lays them out (9.7.14.5.10).
    let (a, b) = (small(&mut random, 16, 32), small(&mut random, 32, 8));
    let pack = |bytes: [i64; 4]| u32::from_le_bytes(bytes.map(|v| v as i8 as u8));
    let lanes = |registers: usize, word: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
        (0..registers).flat_map(|r| (0..32).map(move |lane| word(r, lane))).collect()
    };
    let words_a = lanes(4, &|r, lane| {
        pack(std::array::from_fn(|i| a[lane / 4 + r % 2 * 8][lane % 4 * 4 + i + r / 2 * 16]))
    });
    let words_b = lanes(2, &|r, lane| pack(std::array::from_fn(|i| b[lane % 4 * 4 + i + r * 16][lane / 4])));
    let d = device.zeros::<i32>(128);
    device.launch("mma_s8", 1, 32, args!(device.upload(&words_a), device.upload(&words_b), d));
    let c = product(&a, &b);
    let expected: Vec<i32> =
        (0..128).map(|at| c[at / 16 + at % 4 / 2 * 8][at / 4 % 4 * 2 + at % 2] as i32).collect();
    assert_eq!(device.download::<i32>(d, 128), expected, "{}", device.file);
}

#[test]
fn sparse_mma() {
    each("mma", |device| {
        let mut random = Random(43);
        let b = small(&mut random, 16, 8);
        // Of each four columns two are kept, in order.
        let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let kept: Vec<[[usize; 2]; 4]> =
            (0..16).map(|_| std::array::from_fn(|_| pairs[random.range(0, 6) as usize])).collect();
        let values = small(&mut random, 16, 8);
        let mut a = vec![vec![0; 16]; 16];
        for (row, kept) in kept.iter().enumerate() {
            for (at, &column) in kept.as_flattened().iter().enumerate() {
                a[row][at / 2 * 4 + column] = values[row][at];
            }
        }
        let half = |v: i64| u32::from(f16::from_f64(v as f64).to_bits());
        let word = |low: i64, high: i64| half(low) | half(high) << 16;
        let words = |registers: usize, word: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
            (0..registers).flat_map(|r| (0..32).map(move |lane| word(r, lane))).collect()
        };
        let words_a = words(2, &|r, lane| {
            let (row, column) = (lane / 4 + r * 8, lane % 4 * 2);
            word(values[row][column], values[row][column + 1])
        });
        let words_b = words(2, &|r, lane| {
            let (row, column) = (lane % 4 * 2 + r * 8, lane / 4);
            word(b[row][column], b[row + 1][column])
        });
        // The kernel's selector is 1: the second lane of each four holds the indices of rows g and g + 8.
        let indices = |row: usize| -> u32 {
            kept[row].as_flattened().iter().enumerate().map(|(at, &column)| (column as u32) << (2 * at)).sum()
        };
        let metadata: Vec<u32> =
            (0..32)
                .map(|lane| {
                    if lane % 4 == 1 { indices(lane / 4) | indices(lane / 4 + 8) << 16 } else { 0xeeee_4444 }
                })
                .collect();
        let d = device.zeros::<f32>(128);
        let arguments = args!(device.upload(&words_a), device.upload(&words_b), device.upload(&metadata), d);
        device.launch("mma_sp", 1, 32, arguments);
        let c = product(&a, &b);
        let expected: Vec<f32> = (0..128)
            .map(|at| {
                let sum = c[at / 16 + at % 4 / 2 * 8][at / 4 % 4 * 2 + at % 2];
                (sum + at as i64 % 4 + 1) as f32
            })
            .collect();
        assert_eq!(device.download::<f32>(d, 128), expected, "{}", device.file);
    });
}

#[test]
fn matrices_through_shared_memory() {
    each("mma", |device| {
        let mut random = Random(44);
        let (a, b) = (small(&mut random, 16, 16), small(&mut random, 16, 16));
        let (d, transposed) = (device.zeros::<u16>(256), device.zeros::<u16>(64));
        let (da, db) = (device.upload(&halves(by_rows(&a))), device.upload(&halves(by_rows(&b))));
        device.launch("round_trip", 1, 32, args!(da, db, d, transposed));
        let c = product(&a, &b);
        assert_eq!(device.download::<u16>(d, 256), halves(by_rows(&c)), "{}", device.file);
        let corner: Vec<Vec<i64>> = c[..8].iter().map(|row| row[..8].to_vec()).collect();
        assert_eq!(device.download::<u16>(transposed, 64), halves(by_columns(&corner)), "{}", device.file);
    });
}

/// One warpgroup a block; both matrices in shared memory, swizzled by 128 bytes.
#[test]
fn wgmma_gemm() {
    let mut random = Random(47);
    let (m, n, k) = (128, 192, 192);
    let device = Device::load("later/wgmma_gemm.ptx");
    let (a, b) = (small(&mut random, m, k), small(&mut random, k, n));
    let (da, db) = (device.upload(&halves(by_rows(&a))), device.upload(&halves(by_columns(&b))));
    let c = device.zeros::<f32>(m * n);
    device.launch("wgmma_gemm", (3, 2), 128, args!(da, db, c, n as i32, k as i32));
    let expected: Vec<f32> = by_rows(&product(&a, &b)).iter().map(|&v| v as f32).collect();
    assert_eq!(device.download::<f32>(c, m * n), expected);
}

/// A from registers, B by rows; a product is made while the next part of B is loaded.
#[test]
fn wgmma_gemm_with_rows_in_registers() {
    let mut random = Random(48);
    let (m, n, k) = (64, 128, 256);
    let device = Device::load("later/wgmma_gemm.ptx");
    let (a, b) = (small(&mut random, m, k), small(&mut random, k, n));
    let bfloats = |values: Vec<i64>| -> Vec<u16> {
        values.into_iter().map(|v| half::bf16::from_f64(v as f64).to_bits()).collect()
    };
    let (da, db) = (device.upload(&bfloats(by_rows(&a))), device.upload(&bfloats(by_rows(&b))));
    let c = device.zeros::<f32>(m * n);
    device.launch("wgmma_gemm_rows", (2, 1), 128, args!(da, db, c, n as i32, k as i32));
    let expected: Vec<f32> = by_rows(&product(&a, &b)).iter().map(|&v| v as f32).collect();
    assert_eq!(device.download::<f32>(c, m * n), expected);
}
