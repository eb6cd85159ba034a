//! Branches, calls and local memory: kernels of one result a thread.

use sim_core::Simulator;

use super::{Case, Group, Loaded, Setup, Target, compare, equal, extent};
use crate::Size;

fn mix(mut x: u32, k: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x.wrapping_mul(1_664_525).wrapping_add(k)
}

fn stir(mut x: u32, k: u32) -> u32 {
    x = x.wrapping_add(x << 3);
    x ^= x >> 11;
    x = x.wrapping_add(x << 15);
    x.wrapping_mul(22_695_477).wrapping_add(k)
}

fn lcg(x: u32) -> u32 {
    x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}

/// The result of thread `thread`, number `i` of all, after so many steps.
fn branch(kernel: &str, i: u32, thread: u32, steps: u32, shift: u32) -> u32 {
    (0..steps).fold(i + 1, |mut x, k| {
        let side = (thread >> shift).wrapping_add(k) & 1 != 0;
        match kernel {
            "long_sides" if side => mix(x, 1_013_904_223),
            "long_sides" => stir(x, 1),
            "short_sides" if side => x.wrapping_add(12345) ^ 777,
            "short_sides" => x.wrapping_sub(54321) ^ 999,
            _ => {
                let turns = if thread >> shift & 1 != 0 { 12 } else { 4 };
                for turn in 0..turns {
                    x = x.wrapping_mul(1_664_525).wrapping_add(turn);
                }
                x ^ x >> 16
            }
        }
    })
}

fn load_branch(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let (kernel, shift) = match case.name.strip_suffix(" divergent") {
        Some(kernel) => (kernel, 0u32),
        None => (case.name, 5),
    };
    let (blocks, threads) = extent(size);
    let steps = match (size, kernel) {
        (Size::Short, _) => 10,
        (_, "loops") => 40,
        _ => 400,
    };
    let count = blocks * threads;
    let mut setup = Setup::new(simulator, "branches", kernel);
    let out = setup.buffer(&vec![0u32; count as usize]);
    setup.scalar(steps);
    setup.scalar(shift);
    let expected: Vec<u32> = (0..count).map(|i| branch(kernel, i, i % threads, steps, shift)).collect();
    setup.finish((blocks, threads), None, move |simulator| compare(simulator, out, &expected, equal))
}

/// Branches: each case whole warps first, then divergent.
pub(super) fn branches() -> Vec<Case> {
    let case = |name, target| Case { group: Group::Branches, name, target, make: load_branch };
    vec![
        case("long_sides", Target::None),
        case("long_sides divergent", Target::Part(1.0 / 3.0)),
        case("short_sides", Target::None),
        case("short_sides divergent", Target::Part(1.0 / 3.0)),
        case("loops", Target::None),
        case("loops divergent", Target::Part(1.0 / 3.0)),
    ]
}

fn climb(x: u32, depth: u32) -> u32 {
    if depth == 0 { x } else { climb(x.wrapping_mul(3).wrapping_add(depth), depth - 1) ^ depth }
}

fn call(kernel: &str, i: u32, steps: u32) -> u32 {
    let chosen = |x, k, which: u32| if which & 1 == 0 { mix(x, k) } else { stir(x, k) };
    let array: Vec<u32> = (0..64).map(|k| i + k).collect();
    match kernel {
        "calls" => (0..steps).fold(i + 1, mix),
        "pointers" => (0..steps).fold(i + 1, |x, k| chosen(x, k, k)),
        "pointers_divergent" => (0..steps).fold(i + 1, |x, k| chosen(x, k, k + i)),
        "recursion" => (0..steps).fold(i + 1, |x, _| climb(x, 7)),
        "local_uniform" => {
            let mut a = array;
            for k in 0..steps as usize {
                a[(k + 1) & 63] = lcg(a[k & 63]);
            }
            a[steps as usize & 63]
        }
        "local_scattered" => {
            let mut a = array;
            (0..steps).fold(i, |x, _| {
                let x = lcg(a[x as usize & 63]);
                a[(x >> 8) as usize & 63] = x;
                x
            })
        }
        _ => {
            let mut a: Vec<u8> = array.iter().map(|&x| x as u8).collect();
            for k in 0..steps as usize {
                a[(k + 1) & 63] = a[k & 63].wrapping_mul(5).wrapping_add(3);
            }
            a[steps as usize & 63].into()
        }
    }
}

fn load_call(simulator: &Simulator, case: Case, size: Size) -> Loaded {
    let (blocks, threads) = extent(size);
    let steps = match (size, case.name) {
        (Size::Short, _) => 10u32,
        (_, "recursion") => 20,
        _ => 200,
    };
    let count = blocks * threads;
    let mut setup = Setup::new(simulator, "calls", case.name);
    if case.name == "local_double" {
        let out = setup.buffer(&vec![0f64; count as usize]);
        setup.scalar(steps);
        let expected: Vec<f64> = (0..count)
            .map(|i| {
                let mut a: Vec<f64> = (0..64).map(|k| f64::from(i + k)).collect();
                for k in 0..steps as usize {
                    a[(k + 1) & 63] = a[k & 63].mul_add(0.5, 1.0);
                }
                a[steps as usize & 63]
            })
            .collect();
        return setup
            .finish((blocks, threads), None, move |simulator| compare(simulator, out, &expected, equal));
    }
    let out = setup.buffer(&vec![0u32; count as usize]);
    setup.scalar(steps);
    let expected: Vec<u32> = (0..count).map(|i| call(case.name, i, steps)).collect();
    setup.finish((blocks, threads), None, move |simulator| compare(simulator, out, &expected, equal))
}

/// Calls and local memory.
pub(super) fn calls() -> Vec<Case> {
    let case = |group, name| Case { group, name, target: Target::Rate(300.0), make: load_call };
    let calls = ["calls", "pointers", "pointers_divergent", "recursion"].map(|name| case(Group::Calls, name));
    let local = ["local_uniform", "local_scattered", "local_bytes", "local_double"];
    calls.into_iter().chain(local.map(|name| case(Group::Local, name))).collect()
}
