//! What real programs spend their time on: few addresses for many atomics, scattered access, half-empty
//! warps, warps that wait for warps, small launches.

use sim_core::Simulator;

use super::sharing::{counts, inputs};
use super::{Case, Group, Loaded, Setup, Target, Value, compare, equal};
use crate::Size;

/// A launch of `blocks` blocks over `x`, whose result is `expected`.
fn finish<T: Value + std::fmt::Debug>(
    mut setup: Setup<'_>,
    extent: (u32, u32),
    before: &[T],
    expected: Vec<T>,
    count: u32,
) -> Loaded {
    let out = setup.buffer(before);
    setup.scalar(count);
    setup.finish(extent, None, move |simulator| compare(simulator, out, &expected, equal))
}

/// Elements that are given to the threads of a grid in turn.
fn load_elements(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let count: u32 = if size == Size::Full { 1 << 20 } else { 1 << 12 };
    let extent = if size == Size::Full { (264, 256) } else { (4, 256) };
    let x = inputs(count);
    let mut setup = Setup::new(simulator, "programs", case.name);
    setup.buffer(&x);
    let zeros = |bins: usize| vec![0u32; bins];
    let (before, expected) = match case.name {
        "sum_atomics" => (zeros(1), vec![x.iter().fold(0, |sum: u32, x| sum.wrapping_add(*x))]),
        "group_extremes" => {
            let group = |group: u32| x.iter().filter(move |&x| x & 15 == group).map(|x| x >> 4);
            let highest = (0..16).map(|g| group(g).max().unwrap_or(0));
            let lowest = (0..16).map(|g| group(g).min().unwrap_or(u32::MAX));
            let before = [0, u32::MAX].iter().flat_map(|&start| [start; 16]).collect();
            (before, highest.chain(lowest).collect())
        }
        "histogram_shared" => {
            let parts = [0, 8, 16, 24].map(|shift| counts(&x, 256, move |x| x >> shift & 255));
            (zeros(256), (0..256).map(|bin| parts.iter().map(|part| part[bin]).sum()).collect())
        }
        "histogram_global" => (zeros(1 << 16), counts(&x, 1 << 16, |x| x & 0xffff)),
        _ => {
            // Products with odd numbers permute numbers below a power of two.
            let order =
                |by: u32| -> Vec<u32> { (0..count).map(|i| i.wrapping_mul(by) & (count - 1)).collect() };
            let (from, to) = (order(0x9e37_79b1), order(0x85eb_ca6b));
            setup.buffer(&from);
            setup.buffer(&to);
            let mut expected = zeros(count as usize);
            from.iter().zip(&to).for_each(|(&from, &to)| expected[to as usize] = x[from as usize]);
            (zeros(count as usize), expected)
        }
    };
    finish(setup, extent, &before, expected, count)
}

/// Rows of 1 to 64 elements, most of them short.
fn load_sparse(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let rows: u32 = if size == Size::Full { 1 << 15 } else { 1 << 8 };
    let noise = inputs(rows);
    let length = |row: usize| 1 + (noise[row] & 63).min(noise[row] >> 8 & 63).min(noise[row] >> 16 & 63);
    let mut starts = vec![0u32];
    starts.extend((0..rows as usize).scan(0, |end, row| {
        *end += length(row);
        Some(*end)
    }));
    let count = starts[rows as usize];
    let columns: Vec<u32> = inputs(count).iter().map(|x| x % rows).collect();
    // Small integers: sums are exact, however they are rounded.
    let values: Vec<f32> = inputs(count).iter().map(|x| (x & 7) as f32).collect();
    let x: Vec<f32> = (0..rows).map(|i| (i % 13) as f32).collect();
    let expected = (0..rows as usize)
        .map(|row| (starts[row]..starts[row + 1]).map(|k| k as usize))
        .map(|row| row.map(|k| values[k] * x[columns[k] as usize]).sum())
        .collect();
    let mut setup = Setup::new(simulator, "programs", case.name);
    setup.buffer(&starts);
    setup.buffer(&columns);
    setup.buffer(&values);
    setup.buffer(&x);
    finish(setup, (rows.div_ceil(128), 128), &vec![0f32; rows as usize], expected, rows)
}

/// One warp of each block fills, three empty.
fn load_pipeline(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let (blocks, steps): (u32, u32) = if size == Size::Full { (132, 200) } else { (2, 5) };
    let x = inputs(blocks * steps * 96);
    let expected: Vec<u32> = (0..blocks * 96)
        .map(|thread| {
            let (block, lane) = (thread / 96, thread % 96);
            let read = |step| x[((block * steps + step) * 96 + lane) as usize];
            (0..steps).fold(0u32, |sum, step| sum.wrapping_mul(3).wrapping_add(read(step)))
        })
        .collect();
    let mut setup = Setup::new(simulator, "programs", case.name);
    setup.buffer(&x);
    finish(setup, (blocks, 128), &vec![0; expected.len()], expected, steps)
}

/// 12 blocks, launched many times.
fn load_small(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let count = 12 * 128;
    let x: Vec<f32> = (0..count).map(|i| (i * 7 % 64) as f32).collect();
    let at = |i: i64| x.get(i as usize).copied().unwrap_or(0.0);
    let expected = (0..i64::from(count)).map(|i| 0.25 * at(i - 1) + 0.5 * at(i) + 0.25 * at(i + 1)).collect();
    let mut setup = Setup::new(simulator, "programs", case.name);
    setup.buffer(&x);
    let mut loaded = finish(setup, (12, 128), &vec![0f32; count as usize], expected, count);
    loaded.launches = if size == Size::Full { 2000 } else { 3 };
    loaded
}

/// The patterns.
pub(super) fn cases() -> Vec<Case> {
    let case = |make, name| Case { group: Group::Programs, name, target: Target::None, make };
    let elements = ["sum_atomics", "group_extremes", "histogram_shared", "histogram_global", "permute"];
    let mut all: Vec<Case> = elements.map(|name| case(load_elements as _, name)).into();
    all.push(case(load_sparse, "sparse_rows"));
    all.push(case(load_pipeline, "warp_pipeline"));
    all.push(case(load_small, "small_step"));
    all
}
