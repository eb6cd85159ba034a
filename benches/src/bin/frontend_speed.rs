//! Prints how fast PTX text becomes decoded kernels, and how much memory that takes.

use std::sync::Arc;
use std::time::Instant;

use peak_alloc::PeakAlloc;
use sim_core::SimdLevel;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

fn main() {
    // A file of the user's own, or the benchmark's module.
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read(&path).unwrap_or_else(|error| {
            eprintln!("error: {path}: {error}");
            std::process::exit(2)
        }),
        None => benches::large::module_text(12 << 20).into_bytes(),
    };
    let bytes = text.len() as f64;
    PEAK.reset_peak_usage();
    let before = PEAK.current_usage() as f64;
    let start = Instant::now();
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("large.ptx", text));
    let parsing = start.elapsed().as_secs_f64();
    let peak = PEAK.peak_usage() as f64 - before + bytes;
    let Some(module) = parsed.module else {
        eprintln!("error: rejected: {:?}", parsed.diagnostics.first().map(|d| &d.message));
        std::process::exit(3)
    };
    let module = Arc::new(module);
    let kernels: Vec<_> = module.kernels().map(|(id, _)| id).collect();
    let level = SimdLevel::detect();
    let start = Instant::now();
    let instructions: usize = kernels
        .iter()
        .map(|&id| sim_core::decode(&module, id, level, sim_core::Compiler::default()).insts.len())
        .sum();
    let decoding = start.elapsed().as_secs_f64();
    let rate = |seconds: f64| bytes / 1e6 / seconds;
    println!(
        "text          {:>10.1} MB, {} kernels, {instructions} instructions",
        bytes / 1e6,
        kernels.len()
    );
    println!("parse, check  {:>10.1} MB/s", rate(parsing));
    println!("decode        {:>10.1} MB/s", rate(decoding));
    println!("both          {:>10.1} MB/s", rate(parsing + decoding));
    println!("peak memory   {:>10.1} times the text", peak / bytes);
}
