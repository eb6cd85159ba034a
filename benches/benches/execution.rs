//! The yardstick's kernels at small sizes, one worker.

#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use benches::{NAMES, Size, prepare};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sim_core::{DeviceConfig, RunOptions, Simulator};

fn execution(c: &mut Criterion) {
    let mut group = c.benchmark_group("execution");
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    for name in NAMES {
        let simulator = Simulator::new(DeviceConfig::h200());
        let prepared = prepare(&simulator, name, Size::Short);
        let work = prepared.run(&simulator, &options).stats.thread_instructions;
        group.throughput(Throughput::Elements(work));
        group.bench_function(name, |b| b.iter(|| prepared.run(&simulator, &options)));
    }
    group.finish();
}

criterion_group!(benches, execution);
criterion_main!(benches);
