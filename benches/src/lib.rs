//! The seven kernels of the speed yardstick: inputs, launches, and checks of their results.
//!
//! The same work as `native/native.c` does in plain C, so that both can be timed in one run. Inputs
//! are made the same way in both. Used by the `yardstick` binary, the criterion groups and a test.
//!
//! # What it must not know
//! How results are printed.

use std::path::Path;
use std::sync::Arc;

use ptx_frontend::{Module, Source};
use sim_core::{Backend, DevicePtr, Dim3, Launch, LaunchReport, Outcome, RunOptions, Simulator};

pub mod large;
pub mod rates;

/// A kernel with its data on the device.
pub struct Prepared {
    /// Name of the kernel.
    pub name: &'static str,
    module: sim_core::ModuleId,
    launch: Launch,
    output: (DevicePtr, usize),
    /// Buffers to clear before each run, with their size in bytes.
    clear: Vec<(DevicePtr, u64)>,
    expected: Vec<u32>,
    /// Relative tolerance for floating-point results; `None` compares bits.
    tolerance: Option<f32>,
}

/// The names, in the order of the table.
pub const NAMES: [&str; 7] = ["vadd", "sgemm_naive", "sgemm_tiled", "reduce", "alu", "collatz", "hist"];

/// How large the work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// The sizes of the table.
    Full,
    /// About a hundredth of it, for smoke tests.
    Short,
}

/// The generator of `native.c`.
struct Xorshift(u32);

impl Xorshift {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn unit(&mut self) -> f32 {
        (self.next() & 1023) as f32 / 1024.0
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Parses `testdata/ptx/perf/NAME.ptx`.
///
/// # Panics
/// When the file is missing or rejected: the benchmark cannot run.
pub fn module(name: &str) -> Arc<Module> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../testdata/ptx/perf/{name}.ptx"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let parsed = ptx_frontend::parse(Source::new(name, text));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| d.message.clone()).collect();
    Arc::new(parsed.module.unwrap_or_else(|| panic!("{name}: {messages:?}")))
}

/// Loads a kernel and its inputs onto a simulator.
///
/// # Panics
/// When the simulator refuses: the benchmark cannot run.
pub fn prepare(simulator: &Simulator, name: &'static str, size: Size) -> Prepared {
    let module = simulator.load(module(name)).expect("load");
    let upload = |label: &str, words: &[u32]| {
        let pointer = simulator.alloc(words.len() as u64 * 4, label).expect("alloc");
        simulator.write(pointer, &bytes(words)).expect("write");
        pointer
    };
    let short = size == Size::Short;
    let mut random = Xorshift(12345);
    let mut params: Vec<u8> = Vec::new();
    let mut clear = Vec::new();
    let mut tolerance = None;
    let (grid, block, output, expected): (Dim3, Dim3, (DevicePtr, usize), Vec<u32>);
    match name {
        "vadd" => {
            let n = if short { 1 << 17 } else { 1 << 24 };
            let a: Vec<f32> = (0..n).map(|_| random.unit()).collect();
            let b: Vec<f32> = (0..n).map(|_| random.unit()).collect();
            let c = upload("c", &vec![0; n]);
            for pointer in [upload("a", &bits(&a)), upload("b", &bits(&b)), c] {
                params.extend(pointer.to_le_bytes());
            }
            params.extend((n as i32).to_le_bytes());
            (grid, block) = (Dim3::from(n as u32 / 256), Dim3::from(256));
            output = (c, n);
            expected = a.iter().zip(&b).map(|(a, b)| (a + b).to_bits()).collect();
        }
        "sgemm_naive" | "sgemm_tiled" => {
            let n: usize = if short { 64 } else { 256 };
            let a: Vec<f32> = (0..n * n).map(|_| random.unit()).collect();
            let b: Vec<f32> = (0..n * n).map(|_| random.unit()).collect();
            let c = upload("C", &vec![0; n * n]);
            for pointer in [upload("A", &bits(&a)), upload("B", &bits(&b)), c] {
                params.extend(pointer.to_le_bytes());
            }
            params.extend((n as i32).to_le_bytes());
            (grid, block) = (Dim3::from((n as u32 / 16, n as u32 / 16)), Dim3::from((16, 16)));
            output = (c, n * n);
            expected = (0..n * n)
                .map(|at| {
                    let (row, column) = (at / n, at % n);
                    (0..n).fold(0f32, |sum, k| a[row * n + k].mul_add(b[k * n + column], sum)).to_bits()
                })
                .collect();
        }
        "reduce" => {
            let n: usize = if short { 1 << 16 } else { 1 << 22 };
            let x: Vec<f32> = (0..n).map(|_| random.unit()).collect();
            let out = upload("out", &[0]);
            clear.push((out, 4));
            params.extend(upload("x", &bits(&x)).to_le_bytes());
            params.extend(out.to_le_bytes());
            params.extend((n as i32).to_le_bytes());
            (grid, block) = (Dim3::from(n as u32 / 256), Dim3::from(256));
            output = (out, 1);
            // Block sums are added in an order that the schedule chooses.
            tolerance = Some(1e-4);
            expected = vec![(x.iter().map(|&x| f64::from(x)).sum::<f64>() as f32).to_bits()];
        }
        "alu" => {
            let (n, steps): (usize, i32) = if short { (4096, 100) } else { (65536, 1000) };
            let out = upload("out", &vec![0; n]);
            params.extend(out.to_le_bytes());
            params.extend(steps.to_le_bytes());
            (grid, block) = (Dim3::from(n as u32 / 256), Dim3::from(256));
            output = (out, n);
            expected = (0..n as u32)
                .map(|i| {
                    (0..steps).fold(i + 1, |x, _| {
                        let mut step = Xorshift(x);
                        step.next().wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
                    })
                })
                .collect();
        }
        "collatz" => {
            let n: usize = if short { 4096 } else { 65536 };
            let out = upload("out", &vec![0; n]);
            params.extend(out.to_le_bytes());
            params.extend((n as i32).to_le_bytes());
            (grid, block) = (Dim3::from(n as u32 / 256), Dim3::from(256));
            output = (out, n);
            expected = (1..=n as u32)
                .map(|start| {
                    let (mut v, mut steps) = (start, 0);
                    while v != 1 {
                        v = if v & 1 != 0 { v.wrapping_mul(3).wrapping_add(1) } else { v >> 1 };
                        steps += 1;
                    }
                    steps
                })
                .collect();
        }
        _ => {
            let n: usize = if short { 1 << 16 } else { 1 << 22 };
            let x: Vec<u32> = (0..n).map(|_| random.next()).collect();
            let bins = upload("bins", &[0; 256]);
            clear.push((bins, 1024));
            params.extend(upload("x", &x).to_le_bytes());
            params.extend(bins.to_le_bytes());
            params.extend((n as i32).to_le_bytes());
            (grid, block) = (Dim3::from(256), Dim3::from(256));
            output = (bins, 256);
            let mut counts = vec![0; 256];
            for x in x {
                counts[(x & 255) as usize] += 1;
            }
            expected = counts;
        }
    }
    let launch = Launch {
        kernel: name.into(),
        grid,
        cluster: None,
        block,
        shared_bytes: 0,
        params,
        cooperative: false,
    };
    Prepared { name, module, launch, output, clear, expected, tolerance }
}

impl Prepared {
    /// Clears what the kernel accumulates into.
    ///
    /// # Panics
    /// When the simulator refuses.
    pub fn clear(&self, simulator: &Simulator) {
        for &(pointer, bytes) in &self.clear {
            simulator.fill(pointer, bytes, &[0]).expect("fill");
        }
    }

    /// Runs the kernel once; clear it before.
    ///
    /// # Panics
    /// When the launch does not complete.
    pub fn run(&self, simulator: &Simulator, options: &RunOptions) -> LaunchReport {
        let report = simulator.launch(self.module, &self.launch, options).expect("launch");
        assert_eq!(report.outcome, Outcome::Completed, "{}: {:#?}", self.name, report.findings);
        report
    }

    /// The first wrong element of the result: index, expected and found bits.
    ///
    /// # Panics
    /// When the simulator refuses to read.
    pub fn mismatch(&self, simulator: &Simulator) -> Option<(usize, u32, u32)> {
        let mut result = vec![0; self.output.1 * 4];
        simulator.read(self.output.0, &mut result).expect("read");
        let words = result.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        words.zip(&self.expected).enumerate().find_map(|(at, (found, &expected))| {
            let (a, b) = (f32::from_bits(found), f32::from_bits(expected));
            let equal = match self.tolerance {
                Some(tolerance) => (a - b).abs() <= tolerance * b.abs(),
                None => found == expected,
            };
            (!equal).then_some((at, expected, found))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::DeviceConfig;

    #[test]
    fn all_kernels_give_the_right_results() {
        for name in NAMES {
            // Unoptimised it takes long.
            for jobs in if cfg!(debug_assertions) { 2..=2 } else { 1..=2 } {
                let simulator = Simulator::new(DeviceConfig::h200());
                let prepared = prepare(&simulator, name, Size::Short);
                prepared.run(&simulator, &RunOptions { jobs, ..RunOptions::default() });
                assert_eq!(prepared.mismatch(&simulator), None, "{name} with {jobs} jobs");
            }
        }
    }
}
