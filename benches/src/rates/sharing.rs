//! Threads that share memory, in the patterns that kernels have: what checking for races costs on them.

use sim_core::Simulator;

use super::{Case, Group, Loaded, Setup, Target, compare, equal};
use crate::Size;

/// Numbers without a pattern.
pub(super) fn inputs(count: u32) -> Vec<u32> {
    (0..count)
        .map(|i| (i ^ 0x9e37).wrapping_mul(0x85eb_ca6b).rotate_left(13).wrapping_mul(0xc2b2_ae35))
        .collect()
}

/// Sum that wraps around.
pub(super) fn sum(values: &[u32]) -> u32 {
    values.iter().fold(0, |sum, x| sum.wrapping_add(*x))
}

/// Running sums of each block of 256.
fn scan(x: &[u32], inclusive: bool) -> Vec<u32> {
    x.chunks(256)
        .flat_map(|block| (0..block.len()).map(|i| sum(&block[..i + usize::from(inclusive)])))
        .collect()
}

/// How many of the values fall into each bin.
pub(super) fn counts(x: &[u32], bins: usize, bin: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut counts = vec![0; bins];
    x.iter().for_each(|&x| counts[bin(x) as usize] += 1);
    counts
}

/// Launches of one input and one output.
fn load_one(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let full = size == Size::Full;
    let (blocks, threads) = match case.name {
        "small_blocks" => (if full { 32768 } else { 40 }, 32),
        "gather" | "bitonic" | "scan_tree" => (if full { 512 } else { 4 }, 256),
        _ => (if full { 2048 } else { 4 }, 256),
    };
    let count = blocks * threads * if case.name == "bitonic" { 2 } else { 1 };
    let x = inputs(count);
    let mut setup = Setup::new(simulator, "sharing", case.name);
    setup.buffer(&x);
    let expected: Vec<u32> = match case.name {
        "scan_buffers" => scan(&x, true),
        "scan_tree" => scan(&x, false),
        "sum_shuffles" => x.chunks(256).map(sum).collect(),
        "sum_syncwarp" => x.chunks(32).map(sum).collect(),
        "bitonic" => {
            let mut sorted = x.clone();
            sorted.chunks_mut(512).for_each(<[u32]>::sort_unstable);
            sorted
        }
        "stencil_row" => (0..x.len())
            .map(|i| (0..9).fold(0u32, |sum, k| sum.wrapping_add(x[(i + x.len() + k - 4) % x.len()])))
            .collect(),
        "gather" => {
            let table: Vec<u32> = inputs(1 << 16).iter().map(|x| x >> 3).collect();
            setup.buffer(&table);
            x.iter()
                .map(|&x| {
                    let next = |v: &u32| Some(v.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
                    let indices = std::iter::successors(Some(x), next).take(8);
                    indices.fold(0, |sum: u32, v| sum.wrapping_add(table[v as usize & 0xffff]))
                })
                .collect()
        }
        "histogram" => counts(&x, 256, |x| x >> 8 & 255),
        "global_counts" => counts(&x, 4096, |x| x >> 4 & 4095),
        "last_block" => {
            setup.buffer(&vec![0u32; blocks as usize]);
            setup.buffer(&[0u32]);
            vec![sum(&x)]
        }
        _ => x.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect(),
    };
    let out = setup.buffer(&vec![0u32; expected.len()]);
    match case.name {
        "stencil_row" | "histogram" => setup.scalar(count),
        _ => {}
    }
    // Blocks of the histogram take several elements a thread.
    let blocks = if case.name == "histogram" { blocks.div_ceil(16) } else { blocks };
    setup.finish((blocks, threads), None, move |simulator| compare(simulator, out, &expected, equal))
}

/// Launches over a square.
fn load_square(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let full = size == Size::Full;
    let (n, blocks, block): (u32, u32, (u32, u32)) = match (case.name, full) {
        ("transpose", true) => (1024, 1024, (32, 8)),
        ("transpose", false) => (64, 4, (32, 8)),
        ("stencil_square", true) => (512, 1024, (16, 16)),
        ("stencil_square", false) => (32, 4, (16, 16)),
        (_, true) => (200, 169, (16, 16)),
        (_, false) => (24, 4, (16, 16)),
    };
    let x = inputs(n * n);
    let mut setup = Setup::new(simulator, "sharing", case.name);
    setup.buffer(&x);
    let at = |row: u32, column: u32| x[((row + n) % n * n + (column + n) % n) as usize];
    let cells = || (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
    let expected: Vec<u32> = match case.name {
        "transpose" => cells().map(|(row, column)| at(column, row)).collect(),
        "stencil_square" => cells()
            .map(|(r, c)| sum(&[at(r, c), at(r + n - 1, c), at(r + 1, c), at(r, c + n - 1), at(r, c + 1)]))
            .collect(),
        _ => {
            setup.buffer(&x);
            cells()
                .map(|(r, c)| (0..n).fold(0u32, |sum, k| sum.wrapping_add(at(r, k).wrapping_mul(at(k, c)))))
                .collect()
        }
    };
    let out = setup.buffer(&vec![0u32; expected.len()]);
    setup.scalar(n);
    let mut loaded =
        setup.finish((blocks, 0), None, move |simulator| compare(simulator, out, &expected, equal));
    loaded.launch.block = block.into();
    loaded
}

/// Streams of elements of other sizes than a word.
fn load_stream(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let blocks = if size == Size::Full { 1024 } else { 4 };
    let count = blocks * 256;
    let mut setup = Setup::new(simulator, "sharing", case.name);
    match case.name {
        "vectors" => {
            let x = inputs(4 * count);
            let expected: Vec<u32> = (1..=4).cycle().zip(&x).map(|(k, x)| x.wrapping_add(k)).collect();
            setup.buffer(&x);
            let out = setup.buffer(&vec![0u32; x.len()]);
            setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
        }
        "doubles" => {
            let x: Vec<f64> = inputs(count).iter().map(|&x| x.into()).collect();
            let expected: Vec<f64> = x.iter().map(|x| x * 2.0 + 1.0).collect();
            setup.buffer(&x);
            let out = setup.buffer(&vec![0f64; x.len()]);
            setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
        }
        "bytes" => {
            let x = inputs(count / 4);
            let expected: Vec<u32> = x.iter().map(|x| x ^ 0x5555_5555).collect();
            setup.buffer(&x);
            let out = setup.buffer(&vec![0u32; x.len()]);
            setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
        }
        "fields" => {
            let x = inputs(2 * count);
            let pairs = x.as_chunks::<2>().0.iter();
            let expected: Vec<u32> =
                pairs.flat_map(|[a, b]| [a.wrapping_mul(3).wrapping_add(*b), a ^ b]).collect();
            setup.buffer(&x);
            let out = setup.buffer(&vec![0u32; x.len()]);
            setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
        }
        "weights" => {
            let (x, table) = (inputs(count), inputs(64));
            let of = |&x: &u32| {
                table.iter().fold(0u32, |sum, w| sum.wrapping_add(w.wrapping_mul(x)).wrapping_add(sum >> 7))
            };
            let expected: Vec<u32> = x.iter().map(of).collect();
            setup.buffer(&x);
            setup.buffer(&table);
            let out = setup.buffer(&vec![0u32; expected.len()]);
            setup.scalar(table.len() as u32);
            setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
        }
        _ => {
            let (blocks, length) = (blocks / 4, 64);
            let x = inputs(blocks * 256 * length);
            let expected: Vec<u32> = x.chunks(length as usize).map(sum).collect();
            setup.buffer(&x);
            let out = setup.buffer(&vec![0u32; expected.len()]);
            setup.scalar(length);
            setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
        }
    }
}

/// The patterns.
pub(super) fn cases() -> Vec<Case> {
    let case = |make, name| Case { group: Group::Sharing, name, target: Target::None, make };
    let one = [
        "scan_buffers",
        "scan_tree",
        "stencil_row",
        "histogram",
        "last_block",
        "sum_shuffles",
        "sum_syncwarp",
        "bitonic",
        "small_blocks",
        "gather",
        "global_counts",
    ];
    let mut all: Vec<Case> = one.map(|name| case(load_one as _, name)).into();
    all.extend(["transpose", "stencil_square", "tiled_edges"].map(|name| case(load_square as _, name)));
    all.extend(
        ["vectors", "doubles", "bytes", "rows", "fields", "weights"].map(|name| case(load_stream as _, name)),
    );
    all
}
