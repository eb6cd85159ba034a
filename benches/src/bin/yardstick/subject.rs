//! What is timed: kernels with their data.

use std::time::{Duration, Instant};

use benches::Prepared;
use benches::rates::Loaded;
use cpu_time::ProcessTime;
use sim_core::{LaunchReport, RunOptions, Simulator};

/// The best CPU time of some runs with one worker, each after `before`.
pub(crate) fn best(runs: u32, mut before: impl FnMut(), mut run: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..runs {
        before();
        let (cpu, start) = (ProcessTime::now(), Instant::now());
        run();
        best = best.min(start.elapsed()).min(cpu.elapsed());
    }
    best.as_secs_f64()
}

/// A kernel with its data.
pub(crate) trait Subject {
    fn reset(&self, simulator: &Simulator);
    fn run(&self, simulator: &Simulator, options: &RunOptions) -> LaunchReport;
    fn is_right(&self, simulator: &Simulator) -> bool;
}

impl Subject for Prepared {
    fn reset(&self, simulator: &Simulator) {
        self.clear(simulator);
    }
    fn run(&self, simulator: &Simulator, options: &RunOptions) -> LaunchReport {
        self.run(simulator, options)
    }
    fn is_right(&self, simulator: &Simulator) -> bool {
        self.mismatch(simulator).is_none()
    }
}

impl Subject for Loaded {
    fn reset(&self, simulator: &Simulator) {
        self.reset(simulator);
    }
    fn run(&self, simulator: &Simulator, options: &RunOptions) -> LaunchReport {
        self.run(simulator, options)
    }
    fn is_right(&self, simulator: &Simulator) -> bool {
        self.check(simulator).is_ok()
    }
}
