//! Text to decoded kernels, on a module of more than 10 MB.

#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_frontend::{Source, parse};
use sim_core::{SimdLevel, decode};

fn frontend(c: &mut Criterion) {
    let text = benches::large::module_text(12 << 20).into_bytes();
    let mut group = c.benchmark_group("frontend");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(10);
    group.bench_function("parse", |b| {
        b.iter_with_large_drop(|| parse(Source::new("large.ptx", black_box(text.clone()))));
    });
    let module = Arc::new(parse(Source::new("large.ptx", text)).module.expect("valid PTX"));
    group.bench_function("decode", |b| {
        b.iter(|| {
            for (id, _) in module.kernels() {
                black_box(decode(&module, id, SimdLevel::detect(), sim_core::Compiler::default()));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, frontend);
criterion_main!(benches);
