//! Matrix instructions of one warp on one core: a loop of `mma`s, and of `ldmatrix`.
//!
//! On a Xeon with AVX-512 an `m16n8k16` on `.f16` takes 1.4 microseconds with AVX2 (2.9 with SSE2 alone), an
//! `m16n8k32` on `.s8` 1.1, an `ldmatrix.x4` 0.12.

#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_frontend::Source;
use sim_core::{Backend, DeviceConfig, Dim3, Launch, RunOptions, Simulator};

/// Times the loop runs, and instructions in it.
const LOOPS: u64 = 200;
const COUNT: u64 = 16;

/// A kernel that runs `instruction` in a loop; `declarations` say what it uses.
fn kernel(declarations: &str, instruction: &str) -> String {
    let body = format!("\t{instruction}\n").repeat(COUNT as usize);
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
         \t.shared .align 16 .b8 tile[512];\n\t.reg .pred %p;\n\t.reg .b32 %i, %s;\n{declarations}\
         \tmov.u32 %s, %tid.x;\n\tshl.b32 %s, %s, 4;\n\tmov.u32 %i, tile;\n\tadd.u32 %s, %s, %i;\n\
         \tmov.u32 %i, 0;\nL:\n{body}\tadd.u32 %i, %i, 1;\n\tsetp.ne.u32 %p, %i, {LOOPS};\n\t@%p bra L;\n\tret;\n}}\n"
    )
}

fn matrix(c: &mut Criterion) {
    let mut group = c.benchmark_group("matrix");
    group.throughput(Throughput::Elements(LOOPS * COUNT));
    let f32s = "\t.reg .b32 %a<4>, %b<2>;\n\t.reg .f32 %c<4>;\n";
    let ints = "\t.reg .b32 %a<4>, %b<4>, %c<4>, %e;\n";
    let ones = |set: &str, names: &[&str]| -> String {
        names.iter().map(|name| format!("\tmov.b32 %{name}, {set};\n")).collect()
    };
    let operands = ["a0", "a1", "a2", "a3", "b0", "b1"];
    let f16 = f32s.to_string() + &ones("0x3c01bc03", &operands) + "\tmov.f32 %c0, 0f3f800000;\n";
    let i8 = ints.to_string() + &ones("0x7f8001ff", &operands);
    let cases = [
        (
            "mma m16n8k16 f32 f16",
            kernel(
                &f16,
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1,%c2,%c3};",
            ),
        ),
        (
            "mma m16n8k16 f16 f16",
            kernel(
                &i8,
                "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%c0,%c1}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1};",
            ),
        ),
        (
            "mma m16n8k8 f32 tf32",
            kernel(
                &f16,
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1,%c2,%c3};",
            ),
        ),
        (
            "mma m16n8k32 s32 s8",
            kernel(
                &i8,
                "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1,%c2,%c3};",
            ),
        ),
        (
            "mma m16n8k256 b1",
            kernel(
                &i8,
                "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1,%c2,%c3};",
            ),
        ),
        ("ldmatrix x4", kernel(&i8, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0,%a1,%a2,%a3}, [%s];")),
    ];
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    for (name, text) in cases {
        let simulator = Simulator::new(DeviceConfig::h200());
        let parsed = ptx_frontend::parse(Source::new("matrix.ptx", text.into_bytes()));
        let module = parsed.module.expect("the kernel is valid");
        let module = simulator.load(Arc::new(module)).expect("the module loads");
        let launch = Launch {
            kernel: "k".into(),
            grid: Dim3::from(1),
            cluster: None,
            block: Dim3::from(32),
            shared_bytes: 0,
            params: Vec::new(),
            cooperative: false,
        };
        group.bench_function(name, |b| b.iter(|| simulator.launch(module, &launch, &options)));
    }
    group.finish();
}

criterion_group!(benches, matrix);
criterion_main!(benches);
