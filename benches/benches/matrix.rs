//! Matrix instructions of one warp, or of four, on one core: a loop of `mma`s, of `wgmma`s, and of `ldmatrix`.
//!
//! What an `mma` on `.f16` computes, decoding included, takes a sixth to a ninth of the time that it took before
//! `matrix/panel` (0.47 microseconds instead of 2.7 of sums alone, on a busy Xeon with AVX-512); a `wgmma` decodes A once for all
//! its columns.

#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_frontend::Source;
use sim_core::{Backend, DeviceConfig, Dim3, Launch, RunOptions, Simulator};

/// Times the loop runs, and instructions in it.
const LOOPS: u64 = 200;
const COUNT: u64 = 16;
/// Two elements of A and B that are `.f16`.
const NUMBERS: &str = "0x3c01bc03";

/// A kernel that runs `instruction` in a loop; `declarations` say what it uses.
fn kernel(declarations: &str, instruction: &str) -> String {
    let body = format!("\t{instruction}\n").repeat(COUNT as usize);
    format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n\
         \t.shared .align 128 .b8 tile[16384];\n\t.reg .pred %p;\n\t.reg .b32 %i, %s;\n{declarations}\
         \tmov.u32 %s, %tid.x;\n\tshl.b32 %s, %s, 4;\n\tmov.u32 %i, tile;\n\tadd.u32 %s, %s, %i;\n\
         \tmov.u32 %i, 0;\nL:\n{body}\tadd.u32 %i, %i, 1;\n\tsetp.ne.u32 %p, %i, {LOOPS};\n\t@%p bra L;\n\tret;\n}}\n"
    )
}

/// A kernel of one warpgroup with a loop of products, each waited for, of the numbers of the `mma`.
fn wgmma() -> String {
    let list: Vec<String> = (0..128).map(|at| format!("%d{at}")).collect();
    let zeros: String = list.iter().map(|name| format!("\tmov.f32 {name}, 0f00000000;\n")).collect();
    let fill: String =
        (0..8).map(|at| format!("\tst.shared.v4.b32 [%t+{}], {{%v,%v,%v,%v}};\n", 2048 * at)).collect();
    let declarations = format!(
        "\t.reg .f32 %d<128>;\n\t.reg .b64 %a, %b;\n\t.reg .b32 %t, %v;\n{zeros}\tmov.b64 %a, 0x0000001000080040;\n\
         \tmov.b64 %b, %a;\n\tmov.b32 %v, {NUMBERS};\n\tmov.u32 %t, %tid.x;\n\tshl.b32 %t, %t, 4;\n\tmov.u32 %i, tile;\n\
         \tadd.u32 %t, %t, %i;\n{fill}\tfence.proxy.async;\n\tbar.sync 0;\n"
    );
    let product = format!(
        "wgmma.fence.sync.aligned;\n\twgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{{}}}, %a, %b, 1, 1, 1, 0, 0;\n\t\
         wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;",
        list.join(", ")
    );
    kernel(&declarations, &product)
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
    let f16 = f32s.to_string() + &ones(NUMBERS, &operands) + "\tmov.f32 %c0, 0f3f800000;\n";
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
        ("wgmma m64n256k16 f32 f16", wgmma()),
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
            block: Dim3::from(if name.starts_with("wgmma") { 128 } else { 32 }),
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
