//! The third table: what it takes to compile a kernel, and when that is paid back.

use std::time::Instant;

use benches::rates::cases;
use benches::{NAMES, Size, prepare};
use sim_core::{DeviceConfig, Engine, RunOptions, Simulator};

/// A loaded kernel: gets its inputs ready, then runs once; the seconds of that.
type Launch = Box<dyn Fn(&RunOptions) -> f64>;

/// The seconds of the first launch of a kernel and of later ones: the best of some.
fn launches(runs: u32, engine: Engine, load: impl Fn() -> Launch) -> [f64; 2] {
    let options = RunOptions { jobs: 1, engine, ..RunOptions::default() };
    let [mut first, mut later] = [f64::MAX; 2];
    for _ in 0..runs {
        let launch = load();
        first = first.min(launch(&options));
        for _ in 0..runs {
            later = later.min(launch(&options));
        }
    }
    [first, later]
}

fn timed(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// Prints how long compiling each kernel takes: what the first launch that is compiled at once takes longer than later ones. A
/// kernel has paid that back after so long, compared with interpreting it; never if it is not faster in code.
pub(crate) fn print(runs: u32, only: &str) {
    println!("{:<24} {:>12} {:>16}", "kernel", "compiled in", "paid back after");
    let [mut all, mut count, mut longest] = [0.0, 0.0, 0.0f64];
    let mut measure = |name: &str, load: &dyn Fn(Size) -> Launch| {
        let [[uncompiled, again], [first, later]] = [Engine::Interpreter, Engine::Compiled]
            .map(|engine| launches(runs, engine, || load(Size::Short)));
        // What an interpreted kernel's first launch takes longer is no compiling.
        let seconds = (first - later - (uncompiled - again)).max(0.0);
        let [[_, interpreted], [_, compiled]] =
            [Engine::Interpreter, Engine::Auto].map(|engine| launches(2, engine, || load(Size::Full)));
        let gain = interpreted / compiled - 1.0;
        let paid = if gain > 0.0 { format!("{:.1} ms", seconds / gain * 1e3) } else { "never".into() };
        println!("{name:<24} {:>12} {paid:>16}", format!("{:.2} ms", seconds * 1e3));
        (all, count, longest) = (all + seconds, count + 1.0, longest.max(seconds));
    };
    for name in NAMES.into_iter().filter(|name| name.contains(only)) {
        measure(name, &|size| {
            let simulator = Simulator::new(DeviceConfig::h200());
            let prepared = prepare(&simulator, name, size);
            Box::new(move |options| {
                prepared.clear(&simulator);
                timed(|| drop(prepared.run(&simulator, options)))
            })
        });
    }
    for case in cases().into_iter().filter(|case| case.name.contains(only)) {
        measure(case.name, &|size| {
            let simulator = Simulator::new(DeviceConfig::h200());
            let loaded = case.load(&simulator, size);
            Box::new(move |options| {
                loaded.reset(&simulator);
                timed(|| drop(loaded.run(&simulator, options)))
            })
        });
    }
    println!("{count:.0} kernels: {:.2} ms on average, {:.2} ms at most", all / count * 1e3, longest * 1e3);
}
