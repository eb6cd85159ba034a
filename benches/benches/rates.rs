//! The kernels of the second table at small sizes, one worker.

#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use benches::Size;
use benches::rates::cases;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sim_core::{DeviceConfig, RunOptions, Simulator};

fn rates(c: &mut Criterion) {
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    for case in cases() {
        let mut group = c.benchmark_group(format!("{:?}", case.group).to_lowercase());
        let simulator = Simulator::new(DeviceConfig::h200());
        let loaded = case.load(&simulator, Size::Short);
        let work = loaded.run(&simulator, &options).stats.thread_instructions;
        group.throughput(Throughput::Elements(loaded.lanes.unwrap_or(work)));
        group.bench_function(case.name, |b| b.iter(|| loaded.run(&simulator, &options)));
        group.finish();
    }
}

criterion_group!(benches, rates);
criterion_main!(benches);
