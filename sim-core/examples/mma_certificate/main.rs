//! Compares every form of `mma`, `mma.sp` and `wmma.mma` with what an H200 gave for the same operands, and
//! prints one line a form.
//!
//! ```text
//! cargo run --release -p warpgrind-sim-core --example mma_certificate [-- [--runs N] [NAME...]]
//! cargo run --release -p warpgrind-sim-core --example mma_certificate -- --emit FOLDER
//! ```
//!
//! `--runs N` takes the first N runs of 512 tiles of each form (default: all); names select forms that
//! contain one of them. The exit status is 1 if a form differs. `--emit` writes the kernels and a list of
//! their operands, for a device to run them on.

#[path = "../../tests/support/matrix_forms.rs"]
#[allow(dead_code, reason = "the test and the example use different parts")]
mod forms;
#[path = "../../tests/support/matrix_recorded.rs"]
#[allow(dead_code, reason = "the test and the example use different parts")]
mod recorded;
#[path = "../../tests/support/matrix_runner.rs"]
mod runner;
#[path = "../../tests/support/matrix_transfers.rs"]
#[allow(dead_code, reason = "the test and the example use different parts")]
mod transfers;

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Instant;

use rayon::prelude::*;

/// Runs of one launch.
const STEP: usize = 4;

fn main() -> ExitCode {
    let mut most = usize::MAX;
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => match arguments.next().and_then(|n| n.parse().ok()).filter(|&n: &usize| n > 0) {
                Some(n) => most = n,
                None => {
                    eprintln!("--runs takes a positive number");
                    return ExitCode::from(2);
                }
            },
            "--emit" => {
                let Some(folder) = arguments.next() else {
                    eprintln!("--emit takes a folder");
                    return ExitCode::from(2);
                };
                return match emit(folder.as_ref()) {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(error) => {
                        eprintln!("{folder}: {error}");
                        ExitCode::from(2)
                    }
                };
            }
            _ => names.push(argument),
        }
    }
    let all = forms::forms();
    let recordings = recorded::forms();
    let mut failed = false;
    println!("{:>12} {:>6} {:>6} {:>9}  form", "outputs", "runs", "equal", "us/tile");
    for (index, form) in all.iter().enumerate() {
        let name = form.title();
        if !names.is_empty() && !names.iter().any(|n| name.contains(n.as_str())) {
            continue;
        }
        let Some(recording) = recordings.get(index).filter(|recording| recording.name == name) else {
            println!("{name}: not recorded");
            failed = true;
            continue;
        };
        let runs = most.min(form.tiles / forms::RUN);
        let start = Instant::now();
        let steps: Vec<usize> = (0..runs).step_by(STEP).collect();
        let hashes: Vec<u64> = steps
            .par_iter()
            .flat_map(|&from| runner::hashes(index, form, from..runs.min(from + STEP)))
            .collect();
        let equal = recording.equal(&hashes);
        let seconds = start.elapsed().as_secs_f64() * rayon::current_num_threads().min(steps.len()) as f64;
        let tiles = runs * forms::RUN;
        let outputs = tiles * form.result.registers * 32 * if form.result.ty.bits() == 16 { 2 } else { 1 };
        let per_tile = seconds * 1e6 / tiles as f64;
        println!("{outputs:>12} {runs:>6} {equal:>6} {per_tile:>9.2}  {name}");
        failed |= equal != runs;
    }
    ExitCode::from(u8::from(failed))
}

/// Writes `all.ptx`, `list.tsv` and `transfers.tsv`.
fn emit(folder: &std::path::Path) -> std::io::Result<()> {
    let (mut text, mut list, mut moves) = (forms::HEADER.to_string(), String::new(), String::new());
    let operand = |o: forms::Operand| format!("{:?}:{}", o.ty, o.registers);
    for (at, form) in forms::forms().iter().enumerate() {
        text += &form.kernel(&format!("k{at}"));
        let [a, b, c] = form.operands.map(operand);
        let (d, tiles) = (operand(form.result), form.tiles);
        let sparse =
            form.sparse.map_or("-".to_string(), |s| format!("{}:{}", s.selector, u8::from(s.one_of_two)));
        writeln!(list, "{at}\t{}\t{a}\t{b}\t{c}\t{d}\t{sparse}\t{tiles}", form.name).ok();
    }
    for (at, transfer) in transfers::transfers().iter().enumerate() {
        text += &transfer.kernel(&format!("t{at}"));
        writeln!(moves, "{at}\t{}\t{}\t{}", transfer.name, transfer.bits, transfer.registers).ok();
    }
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("all.ptx"), text)?;
    std::fs::write(folder.join("list.tsv"), list)?;
    std::fs::write(folder.join("transfers.tsv"), moves)
}
