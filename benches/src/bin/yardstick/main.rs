//! Prints the yardstick's table: every kernel natively and on the simulator, in one run. With `--rates`
//! a second table instead: rates by kind of instruction, and the cost of tools. With `--compiling` a third one: what it takes
//! to compile the kernels of both.

mod compiling;
mod rates;
mod subject;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use benches::{NAMES, Size, prepare};
use clap::Parser;
use cpu_time::ProcessTime;
use sim_core::{DeviceConfig, RunOptions, Simulator};

/// Times the seven kernels beside native C.
#[derive(Parser)]
struct Arguments {
    /// Small sizes, to see that everything is right.
    #[arg(long)]
    short: bool,
    /// Worker threads.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Runs of each kernel; the best counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Only kernels whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Rates by kind of instruction, and the cost of tools, instead; one worker.
    #[arg(long)]
    rates: bool,
    /// What it takes to compile each kernel, and of those of `--rates`, instead.
    #[arg(long, conflicts_with = "rates")]
    compiling: bool,
    /// Leave the native times out.
    #[arg(long)]
    no_native: bool,
    /// Count memory traffic while running.
    #[arg(long)]
    count_memory: bool,
}

/// The native time that each kernel is compared with: the best single-thread one.
const NATIVE: [(&str, &[&str]); 7] = [
    ("vadd", &["vadd"]),
    ("sgemm_naive", &["sgemm_ijk", "sgemm_ikj"]),
    ("sgemm_tiled", &["sgemm_ijk", "sgemm_ikj"]),
    ("reduce", &["reduce"]),
    ("alu", &["alu_simd", "alu_scalar"]),
    ("collatz", &["collatz"]),
    ("hist", &["hist"]),
];

/// Compiles and runs the native kernels; empty when there is no C compiler.
fn native() -> HashMap<String, f64> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("native/native.c");
    let binary = std::env::temp_dir().join(format!("warpgrind-native-{}", std::process::id()));
    let compiled = Command::new("gcc")
        .args(["-O3", "-march=native", "-fopenmp", "-ffast-math", "-o"])
        .args([&binary, &source])
        .arg("-lm")
        .status();
    let mut times = HashMap::new();
    if compiled.is_ok_and(|status| status.success())
        && let Ok(output) = Command::new(&binary).env("OMP_NUM_THREADS", "1").output()
    {
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            if let ["native", name, .., seconds, "s"] = words[..]
                && let Ok(seconds) = seconds.parse()
            {
                times.insert(name.to_string(), seconds);
            }
        }
    } else {
        eprintln!("note: no native times: gcc is missing or failed on {}", source.display());
    }
    // The folder is the system's temporary one; what is left there does no harm.
    let _ = std::fs::remove_file(binary);
    times
}

fn main() {
    let arguments = Arguments::parse();
    let size = if arguments.short { Size::Short } else { Size::Full };
    if arguments.rates {
        if !rates::print(size, arguments.runs, &arguments.only) {
            std::process::exit(1);
        }
        return;
    }
    if arguments.compiling {
        compiling::print(arguments.runs, &arguments.only);
        return;
    }
    let native = if arguments.short || arguments.no_native { HashMap::new() } else { native() };
    println!(
        "{:<12} {:>10} {:>10} {:>9} {:>12} {:>12}",
        "kernel", "native s", "cpu s", "slowdown", "warp instr", "thread/s"
    );
    let (mut product, mut count) = (0.0, 0);
    for (name, baselines) in NATIVE {
        debug_assert!(NAMES.contains(&name));
        if !name.contains(&arguments.only) {
            continue;
        }
        let simulator = Simulator::new(DeviceConfig::h200());
        let prepared = prepare(&simulator, name, size);
        let options = RunOptions {
            jobs: arguments.jobs,
            count_memory: arguments.count_memory,
            ..RunOptions::default()
        };
        let (mut best, mut wall) = (Duration::MAX, Duration::MAX);
        let mut stats = sim_core::Stats::default();
        for _ in 0..arguments.runs {
            prepared.clear(&simulator);
            let (cpu, start) = (ProcessTime::now(), Instant::now());
            stats = prepared.run(&simulator, &options).stats;
            wall = wall.min(start.elapsed());
            best = best.min(cpu.elapsed());
            if let Some((at, expected, found)) = prepared.mismatch(&simulator) {
                eprintln!("error: {name}: element {at} is {found:#010x}, expected {expected:#010x}");
                std::process::exit(1);
            }
        }
        let seconds = best.as_secs_f64().min(wall.as_secs_f64() * arguments.jobs as f64);
        let baseline = baselines.iter().filter_map(|name| native.get(*name)).copied().reduce(f64::min);
        // With one worker, other programs on the machine do not count.
        let elapsed = if arguments.jobs == 1 { seconds } else { wall.as_secs_f64() };
        let rate = stats.thread_instructions as f64 / elapsed;
        product += rate.ln();
        count += 1;
        println!(
            "{name:<12} {:>10} {seconds:>10.4} {:>9} {:>12} {:>10.0} M",
            baseline.map_or("-".into(), |seconds| format!("{seconds:.6}")),
            baseline.map_or("-".into(), |native| format!("{:.1}x", seconds / native)),
            stats.warp_instructions,
            rate / 1e6,
        );
    }
    println!(
        "geometric mean: {:.0} M thread instructions a second",
        (product / f64::from(count.max(1))).exp() / 1e6
    );
}
