//! Weak memory and blocks that take turns: what has no race does not change, what synchronises holds.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Launch, Outcome, RunOptions, Simulator};

const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Runs a kernel with one pointer parameter to `words` zeros; gives the words.
fn run(body: &str, grid: u32, block: u32, words: usize, options: &RunOptions) -> Vec<u32> {
    let text = format!("{HEADER}.visible .entry k(.param .u64 p)\n{{\n{body}\n}}\n");
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into_bytes()));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{messages:?}")));
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module).unwrap();
    let pointer = simulator.alloc(4 * words as u64, "words").unwrap();
    let launch = Launch::new("k", grid, block, pointer.to_le_bytes().to_vec());
    let report = simulator.launch(id, &launch, options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    let mut bytes = vec![0; 4 * words];
    simulator.read(pointer, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn weak(seed: u64) -> RunOptions {
    RunOptions { jobs: 1, seed, interleave: true, weak: true, ..RunOptions::default() }
}

/// Every thread writes a word; after a barrier it adds its neighbour's to a sum over the grid.
const EXCHANGE: &str = "
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    mul.wide.u32 %d2, %r3, 4;
    add.u64 %d2, %d1, %d2;
    add.u32 %r4, %r3, 1;
    st.global.u32 [%d2+16], %r4;
    bar.sync 0;
    xor.b32 %r5, %r1, 33;
    mad.lo.u32 %r3, %r2, 64, %r5;
    mul.wide.u32 %d3, %r3, 4;
    add.u64 %d3, %d1, %d3;
    ld.global.u32 %r6, [%d3+16];
    red.global.add.u32 [%d1], %r6;";

#[test]
fn kernels_without_races_are_not_changed() {
    let words = 4 + 3 * 64;
    let plain = run(EXCHANGE, 3, 64, words, &RunOptions { jobs: 1, ..RunOptions::default() });
    assert_eq!(plain[0], (1..=192).sum::<u32>());
    for seed in 1..20 {
        assert_eq!(run(EXCHANGE, 3, 64, words, &weak(seed)), plain, "seed {seed}");
    }
}

/// Block 0 sends 7 and raises a flag, block 1 waits for the flag and takes what it finds.
fn message(send: &str, receive: &str) -> String {
    format!(
        "
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %ctaid.x;
    setp.eq.u32 %p, %r1, 1;
    @%p bra MORE;
    st.global.u32 [%d1], 7;
    {send} [%d1+64], 1;
    exit;
MORE:
    {receive} %r2, [%d1+64];
    setp.eq.u32 %p, %r2, 0;
    @%p bra MORE;
    ld.global.u32 %r3, [%d1];
    st.global.u32 [%d1+128], %r3;"
    )
}

#[test]
fn release_and_acquire_pass_a_message() {
    let good = message("st.release.gpu.global.u32", "ld.acquire.gpu.global.u32");
    for seed in 1..200 {
        assert_eq!(run(&good, 2, 1, 33, &weak(seed))[32], 7, "seed {seed}");
    }
    let relaxed = message("st.relaxed.gpu.global.u32", "ld.relaxed.gpu.global.u32");
    let stale = (1..200).filter(|&seed| run(&relaxed, 2, 1, 33, &weak(seed))[32] == 0).count();
    assert!((1..199).contains(&stale), "{stale} of 199 were stale");
    // The same program on strong memory never shows it.
    let strong = |seed| RunOptions { weak: false, ..weak(seed) };
    assert!((1..200).all(|seed| run(&relaxed, 2, 1, 33, &strong(seed))[32] == 7));
}

#[test]
fn flags_in_shared_memory_synchronise_too() {
    let body = "
    .shared .align 4 .b8 flag[4];
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 0;
    @%p bra CHECK;
    st.shared.u32 [flag], 0;
CHECK:
    bar.sync 0;
    setp.ge.u32 %p, %r1, 32;
    @%p bra MORE;
    st.global.u32 [%d1], 7;
    fence.acq_rel.cta;
    st.relaxed.cta.shared.u32 [flag], 1;
    exit;
MORE:
    ld.relaxed.cta.shared.u32 %r2, [flag];
    setp.eq.u32 %p, %r2, 0;
    @%p bra MORE;
    fence.acq_rel.cta;
    ld.global.u32 %r3, [%d1];
    st.global.u32 [%d1+128], %r3;";
    for seed in 1..60 {
        assert_eq!(run(body, 1, 64, 33, &weak(seed))[32], 7, "seed {seed}");
    }
}

#[test]
fn atomics_lose_nothing_and_one_seed_is_one_schedule() {
    let body = "
    .reg .b32 %r<3>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [p];
    atom.relaxed.gpu.global.add.u32 %r1, [%d1], 1;
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d2, %d1, %d2;
    mov.u32 %r2, %ctaid.x;
    st.global.u32 [%d2+4], %r2;";
    let first = run(body, 16, 2, 33, &weak(5));
    assert_eq!(first[0], 32);
    assert_eq!(run(body, 16, 2, 33, &weak(5)), first);
    assert_ne!(run(body, 16, 2, 33, &weak(6)), first);
}
