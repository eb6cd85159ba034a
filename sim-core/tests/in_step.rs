//! Warps that go in step: all of them read before the first has written.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, Launch, Outcome, RunOptions, Simulator};

/// Each thread keeps what it reads of a word, and adds 1 to the word.
const TEXT: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry reads(.param .u64 word, .param .u64 seen) {
    .reg .b64 %a, %b, %o; .reg .b32 %t, %n, %c, %x;
    ld.param.u64 %a, [word];
    ld.param.u64 %b, [seen];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %t, %c, %n, %t;
    mul.wide.u32 %o, %t, 4;
    add.u64 %b, %b, %o;
    ld.relaxed.gpu.global.u32 %x, [%a];
    red.relaxed.gpu.global.add.u32 [%a], 1;
    st.global.u32 [%b], %x;
    ret;
}";

/// What the threads of four blocks of two warps have read.
fn seen(in_step: u64) -> Vec<u32> {
    run(TEXT, in_step)
}

/// What a kernel `reads` of four blocks of two warps writes to 256 words.
fn run(text: &str, in_step: u64) -> Vec<u32> {
    run_with(text, &RunOptions { jobs: 1, in_step, ..RunOptions::default() }, 64)
}

/// What one of four blocks of so many threads writes to as many words.
fn run_with(text: &str, options: &RunOptions, threads: u32) -> Vec<u32> {
    let source = ptx_frontend::Source::new("reads.ptx", text.as_bytes().to_vec());
    let module = Arc::new(ptx_frontend::parse(source).module.unwrap());
    let simulator = Simulator::new(DeviceConfig::h200());
    let (word, seen) =
        (simulator.alloc(4, "word").unwrap(), simulator.alloc(16 * u64::from(threads), "seen").unwrap());
    simulator.write(word, &[0; 4]).unwrap();
    let module = simulator.load(module).unwrap();
    let launch = Launch {
        kernel: "reads".into(),
        grid: Dim3::new(4, 1, 1),
        block: Dim3::new(threads, 1, 1),
        cluster: None,
        shared_bytes: 0,
        params: [word.to_le_bytes(), seen.to_le_bytes()].concat(),
        cooperative: false,
    };
    let report = simulator.launch(module, &launch, options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    let mut bytes = vec![0; 16 * threads as usize];
    simulator.read(seen, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

#[test]
fn all_read_before_the_first_has_written() {
    assert_eq!(seen(u64::MAX), [0; 256]);
    // Otherwise a block is over before the next one begins.
    assert_eq!(seen(0)[64..].iter().filter(|&&read| read == 0).count(), 0);
    // After so many instructions, it is as if they had never been in step: of 8 warps with 13 each.
    assert!(seen(16).iter().any(|&read| read != 0));
}

/// The first thread of each warp comes to a word 32 times, and keeps which of all comings its own were.
const COMES: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry reads(.param .u64 word, .param .u64 seen) {
    .reg .b64 %a, %b, %o; .reg .b32 %t, %n, %c, %x, %k; .reg .pred %p;
    ld.param.u64 %a, [word];
    ld.param.u64 %b, [seen];
    mov.u32 %t, %tid.x;
    and.b32 %n, %t, 31;
    setp.ne.u32 %p, %n, 0;
    @%p ret;
    mov.u32 %c, %ctaid.x;
    shl.b32 %c, %c, 6;
    add.u32 %t, %t, %c;
    mul.wide.u32 %o, %t, 4;
    add.u64 %b, %b, %o;
    mov.u32 %k, 0;
again:
    atom.relaxed.gpu.global.add.u32 %x, [%a], 1;
    st.global.u32 [%b], %x;
    add.u64 %b, %b, 4;
    add.u32 %k, %k, 1;
    setp.lt.u32 %p, %k, 32;
    @%p bra again;
    ret;
}";

#[test]
fn nobody_is_always_first() {
    let comings = run(COMES, u64::MAX);
    // Eight warps come in each round.
    let mut rounds = vec![Vec::new(); 32];
    for (warp, own) in comings.chunks(32).enumerate() {
        own.iter().enumerate().for_each(|(round, &at)| rounds[round].push((at, warp)));
    }
    let firsts: std::collections::BTreeSet<usize> =
        rounds.iter().filter_map(|round| round.iter().min()).map(|&(_, warp)| warp).collect();
    assert!(firsts.len() >= 6, "{firsts:?}");
    // All of a round come before the first of the next but one.
    for pair in rounds.windows(3) {
        assert!(pair[0].iter().max() < pair[2].iter().min());
    }
    assert_eq!(comings, run(COMES, u64::MAX), "the same each time");
}

/// Threads count turns until one of them, of the second block, has gone round a thousand times.
const RACE: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry reads(.param .u64 word, .param .u64 seen) {
    .reg .pred %p; .reg .b64 %a, %b, %o; .reg .b32 %t, %n, %c, %x, %k, %w;
    ld.param.u64 %a, [word];
    ld.param.u64 %b, [seen];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %w, %c, %n, %t;
    mul.wide.u32 %o, %w, 4;
    add.u64 %b, %b, %o;
    // Of the first block one warp goes on.
    setp.ge.u32 %p, %t, 32;
    setp.eq.and.u32 %p, %c, 0, %p;
    @%p exit;
    mov.u32 %k, 0;
again:
    add.u32 %k, %k, 1;
    setp.eq.u32 %p, %k, 1000;
    setp.eq.and.u32 %p, %w, %n, %p;
    @%p st.volatile.global.u32 [%a], 1;
    ld.volatile.global.u32 %x, [%a];
    setp.eq.u32 %p, %x, 0;
    @%p bra again;
    st.global.u32 [%b], %k;
    ret;
}";

#[test]
fn who_is_alone_in_a_block_is_no_faster() {
    let options = RunOptions { jobs: 1, interleave: true, ..RunOptions::default() };
    let turns = run_with(RACE, &options, 512)[0];
    assert!((500..2000).contains(&turns), "{turns}");
}
