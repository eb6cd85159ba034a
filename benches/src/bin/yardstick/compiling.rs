//! The third table: what it takes to compile a kernel, and when that is paid back.

use benches::rates::cases;
use benches::{NAMES, Size, prepare};
use sim_core::{DeviceConfig, Engine, RunOptions, Simulator};

use crate::subject::{Subject, best};

/// The seconds of the first launch of a kernel and of later ones: the best of some.
fn launches<S: Subject>(runs: u32, engine: Engine, load: impl Fn(&Simulator) -> S) -> [f64; 2] {
    let options = RunOptions { jobs: 1, engine, ..RunOptions::default() };
    let [mut first, mut later] = [f64::MAX; 2];
    for _ in 0..runs {
        let simulator = Simulator::new(DeviceConfig::h200());
        let subject = load(&simulator);
        let launches = |runs| {
            let run = || drop(subject.run(&simulator, &options));
            best(runs, || subject.reset(&simulator), run)
        };
        first = first.min(launches(1));
        later = later.min(launches(runs));
    }
    [first, later]
}

/// All that is measured.
#[derive(Default)]
struct All {
    seconds: f64,
    count: u32,
    longest: f64,
}

impl All {
    /// Measures a kernel and prints its line.
    fn measure<S: Subject>(&mut self, runs: u32, name: &str, load: impl Fn(&Simulator, Size) -> S) {
        let [[uncompiled, again], [first, later]] = [Engine::Interpreter, Engine::Compiled]
            .map(|engine| launches(runs, engine, |simulator| load(simulator, Size::Short)));
        // What an interpreted kernel's first launch takes longer is no compiling.
        let seconds = (first - later - (uncompiled - again)).max(0.0);
        let [[_, interpreted], [_, compiled]] = [Engine::Interpreter, Engine::Auto]
            .map(|engine| launches(2, engine, |simulator| load(simulator, Size::Full)));
        let gain = interpreted / compiled - 1.0;
        let paid = if gain > 0.0 { format!("{:.1} ms", seconds / gain * 1e3) } else { "never".into() };
        println!("{name:<24} {:>12} {paid:>16}", format!("{:.2} ms", seconds * 1e3));
        self.seconds += seconds;
        self.count += 1;
        self.longest = self.longest.max(seconds);
    }
}

/// Prints how long compiling each kernel takes: what the first launch that is compiled at once takes longer than later ones. A
/// kernel has paid that back after so long, compared with interpreting it; never if it is not faster in code.
pub(crate) fn print(runs: u32, only: &str) {
    println!("{:<24} {:>12} {:>16}", "kernel", "compiled in", "paid back after");
    let mut all = All::default();
    for name in NAMES.into_iter().filter(|name| name.contains(only)) {
        all.measure(runs, name, |simulator, size| prepare(simulator, name, size));
    }
    for case in cases().into_iter().filter(|case| case.name.contains(only)) {
        all.measure(runs, case.name, |simulator, size| case.load(simulator, size));
    }
    let All { seconds, count, longest } = all;
    let average = seconds / f64::from(count.max(1));
    println!("{count} kernels: {:.2} ms on average, {:.2} ms at most", average * 1e3, longest * 1e3);
}
