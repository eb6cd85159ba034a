//! Many threads at few words, and words anywhere: what checking for races costs where histories are long.

use sim_core::Simulator;

use super::sharing::{inputs, sum};
use super::{Case, Group, Loaded, Setup, Target, compare, equal};
use crate::Size;

/// Edges of a vertex.
const DEGREE: u32 = 8;

/// Launches of one input and one output.
fn load_words(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let blocks: u32 = match (case.name, size) {
        (_, Size::Short) => 4,
        ("store_often", _) => 16,
        // Those that wait take most of the time of the plain run.
        ("grid_barrier", _) => 32,
        ("polled_flag", _) => 128,
        _ => 512,
    };
    let count = blocks * 256;
    let x: Vec<u32> = inputs(count).iter().map(|&x| x | 1).collect();
    let mut setup = Setup::new(simulator, "contention", case.name);
    setup.buffer(&x);
    let firsts = || x.iter().copied().step_by(256);
    let expected: Vec<u32> = match case.name {
        "best_so_far" => vec![x.iter().copied().max().unwrap_or(0)],
        "parameters" => {
            let p = &x[..16];
            setup.buffer(p);
            let next = |v: u32, k: usize| v.wrapping_mul(p[k]).wrapping_add(p[15 - k]);
            x.iter().map(|&v| (0..16).fold(v, next)).collect()
        }
        "scatter" => {
            let to: Vec<u32> = (0..count).map(|i| i.wrapping_mul(0x9e37_79b1) % count).collect();
            setup.buffer(&to);
            let mut out = vec![0; x.len()];
            to.iter().zip(&x).for_each(|(&to, &x)| out[to as usize] = x);
            out
        }
        "spin_lock" => {
            setup.buffer(&[0u32]);
            vec![firsts().fold(0, u32::wrapping_add)]
        }
        "flag_chain" => {
            setup.buffer(&vec![0u32; blocks as usize]);
            firsts()
                .scan(0u32, |before, x| {
                    *before = before.wrapping_add(x);
                    Some(*before)
                })
                .collect()
        }
        "polled_flag" => {
            setup.buffer(&[0u32]);
            setup.buffer(&[0u32]);
            x.iter().map(|v| v.wrapping_add(x[0])).collect()
        }
        "grid_barrier" => {
            setup.buffer(&[0u32]);
            setup.buffer(&vec![0u32; x.len()]);
            setup.buffer(&vec![0u32; x.len()]);
            (0..10).fold(x.clone(), |v, _| {
                (0..v.len()).map(|i| v[i].wrapping_add(v[(i + 256) % v.len()])).collect()
            })
        }
        _ => vec![1],
    };
    let out = setup.buffer(&vec![0u32; expected.len()]);
    setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
}

/// Launches over a graph whose edges go anywhere.
fn load_graph(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let blocks: u32 = if size == Size::Full { 256 } else { 4 };
    let vertices = blocks * 256;
    let start: Vec<u32> = (0..=vertices).map(|u| u * DEGREE).collect();
    let neighbour: Vec<u32> = inputs(vertices * DEGREE).iter().map(|x| x % vertices).collect();
    let mut setup = Setup::new(simulator, "contention", case.name);
    setup.buffer(&start);
    setup.buffer(&neighbour);
    let of = |u: usize| &neighbour[u * DEGREE as usize..][..DEGREE as usize];
    let reached = |from: &dyn Fn(u32) -> bool, level: &mut [u32]| {
        for u in (0..vertices).filter(|&u| from(u)) {
            of(u as usize).iter().for_each(|&v| level[v as usize] = level[v as usize].min(4));
        }
    };
    // One vertex of eight is at the level that is looked at.
    let before: Vec<u32> = (0..vertices).map(|u| if u % 8 == 0 { 3 } else { u32::MAX }).collect();
    let (out, expected) = match case.name {
        "bfs_level" => {
            let level = setup.buffer(&before);
            setup.buffer(&[0u32]);
            setup.scalar(3u32);
            let mut after = before.clone();
            reached(&|u| u % 8 == 0, &mut after);
            (level, after)
        }
        "bfs_worklist" => {
            let level = setup.buffer(&before);
            setup.buffer(&vec![0u32; vertices as usize]);
            setup.buffer(&[0u32]);
            setup.scalar(3u32);
            let mut after = before.clone();
            reached(&|_| true, &mut after);
            (level, after)
        }
        "neighbour_sums" => {
            let value = inputs(vertices);
            setup.buffer(&value);
            let sums = (0..vertices as usize)
                .map(|u| sum(&of(u).iter().map(|&v| value[v as usize]).collect::<Vec<_>>()));
            let sums: Vec<u32> = sums.collect();
            (setup.buffer(&vec![0u32; sums.len()]), sums)
        }
        "relax_edges" => {
            let distance: Vec<u32> = (0..vertices).map(|u| u * 64).collect();
            setup.buffer(&distance);
            (setup.buffer(&[0u32]), vec![1])
        }
        // What the others come to depends on the order of the threads.
        _ => (setup.buffer(&(0..vertices).collect::<Vec<u32>>()), vec![0]),
    };
    setup.finish((blocks, 256), None, move |simulator| compare(simulator, out, &expected, equal))
}

/// Whether a case has races, as programs of its kind have.
pub(super) fn is_racy(name: &str) -> bool {
    matches!(name, "store_weak" | "bfs_level" | "relax_edges")
}

/// The patterns.
pub(super) fn cases() -> Vec<Case> {
    let case = |make, name| Case { group: Group::Sharing, name, target: Target::None, make };
    let words = [
        "store_weak",
        "store_volatile",
        "store_relaxed",
        "store_release",
        "store_often",
        "best_so_far",
        "parameters",
        "scatter",
        "spin_lock",
        "flag_chain",
        "polled_flag",
        "grid_barrier",
    ];
    let graphs = ["bfs_level", "bfs_worklist", "relax_edges", "least_label", "neighbour_sums"];
    let mut all: Vec<Case> = words.map(|name| case(load_words as _, name)).into();
    all.extend(graphs.map(|name| case(load_graph as _, name)));
    all
}
