//! Recomputes the H200 hash certificate of `sim_core::numerics` and prints one line an operation.
//!
//! ```text
//! cargo run --release -p warpgrind-sim-core --example numerics_certificate [-- [--step N] [NAME...]]
//! ```
//!
//! `--step N` takes every N-th block of 2^20 inputs (default 1: all 2^32 inputs); names select
//! operations. The exit status is 1 if an operation differs.

use std::process::ExitCode;
use std::time::Instant;

use rayon::prelude::*;
use sim_core::numerics::certificate::{BLOCKS, OPERATIONS, recorded};

const DATA: &[u8] = include_bytes!("../../testdata/h200/unary-hashes.u64");

fn main() -> ExitCode {
    let mut step = 1;
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--step" {
            match arguments.next().and_then(|n| n.parse().ok()).filter(|&n: &usize| n > 0) {
                Some(n) => step = n,
                None => {
                    eprintln!("--step takes a positive number");
                    return ExitCode::from(2);
                }
            }
        } else {
            names.push(argument);
        }
    }
    let mut failed = false;
    println!("{:<30} {:>8} {:>8} {:>10}", "operation", "blocks", "equal", "ns/lane");
    for (index, operation) in OPERATIONS.iter().enumerate() {
        if !names.is_empty() && !names.iter().any(|n| n == operation.name) {
            continue;
        }
        let blocks: Vec<usize> = (0..BLOCKS).step_by(step).collect();
        let start = Instant::now();
        let equal = blocks
            .par_iter()
            .filter(|&&block| recorded(DATA, index, block) == Some((operation.hash)(block as u32)))
            .count();
        let threads = rayon::current_num_threads() as f64;
        let lane = start.elapsed().as_secs_f64() * 1e9 * threads / (blocks.len() as f64 * 1048576.0);
        println!("{:<30} {:>8} {:>8} {:>10.2}", operation.name, blocks.len(), equal, lane);
        failed |= equal != blocks.len();
    }
    ExitCode::from(u8::from(failed))
}
