//! Warps that hand over by barriers with a count, arriving whole or in part: all schedules give the same, and the same is
//! found.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, Launch, LaunchReport, RunOptions, Simulator};

const THREADS: u32 = 112;

/// Runs a kernel with these instructions in blocks of three and a half warps; thread numbers are in `%t`, warps in
/// `%w`, and what is left in `%s` is stored for each thread.
fn run(body: &str, options: &RunOptions) -> (LaunchReport, Vec<u8>) {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .pred %p<3>;\n\
         .reg .b32 %t, %w, %s, %a, %b, %c, %i;\n.reg .b64 %q, %o;\n.shared .align 4 .b8 m[512];\n\
         ld.param.u64 %q, [p];\nmov.u32 %t, %tid.x;\nshr.u32 %w, %t, 5;\nmov.u32 %s, 0;\nmul.wide.u32 %o, %t, 4;\n\
         add.u64 %q, %q, %o;\n{body}\nst.global.u32 [%q], %s;\nret;\n}}\n"
    );
    let simulator = Simulator::new(DeviceConfig::h200());
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into()));
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let id = simulator.load(Arc::new(module)).unwrap();
    let out = simulator.alloc(4 * u64::from(THREADS), "out").unwrap();
    simulator.fill(out, 4 * u64::from(THREADS), &[0]).unwrap();
    let launch = Launch::new("k", Dim3::ONE, THREADS, out.to_le_bytes().to_vec());
    let report = simulator.launch(id, &launch, options).unwrap();
    let mut bytes = vec![0; 4 * THREADS as usize];
    simulator.read(out, &mut bytes).unwrap();
    (report, bytes)
}

/// A random schedule takes each warp by itself, lanes in part, and never the short way.
fn same_in_all_schedules(body: &str) -> (LaunchReport, Vec<u8>) {
    let (first, bytes) = run(body, &RunOptions::default());
    let summary = |report: &LaunchReport| {
        let findings =
            report.findings.iter().map(|finding| (finding.kind, finding.message.clone(), finding.count));
        (
            report.outcome,
            findings.collect::<Vec<_>>(),
            report.stats.barriers,
            report.stats.thread_instructions,
        )
    };
    for (seed, count_memory) in [(0, true), (1, false), (2, false), (3, true)] {
        let options = RunOptions { seed, count_memory, ..RunOptions::default() };
        let (report, other) = run(body, &options);
        assert_eq!(summary(&report), summary(&first), "seed {seed}\n{body}");
        assert!(other == bytes, "seed {seed}\n{body}");
    }
    (first, bytes)
}

/// Warp 0 fills a buffer, the others read it; two named barriers hand it over and back.
fn pipeline(arrive: &str, sync: &str) -> String {
    format!(
        "mov.u32 %a, m; shl.b32 %b, %t, 2; mov.u32 %i, 0;
        setp.eq.u32 %p1, %w, 0;
        @%p1 bra FILL;
        USE:
        {sync} 1, 128;
        add.u32 %c, %a, %b;
        ld.shared.u32 %c, [%c+-128];
        mad.lo.u32 %s, %s, 3, %c;
        {arrive} 2, 128;
        add.u32 %i, %i, 1; setp.ne.u32 %p2, %i, 9;
        @%p2 bra USE;
        bra DONE;
        FILL:
        mad.lo.u32 %c, %i, 7, %t;
        add.u32 %b, %a, %b;
        st.shared.u32 [%b], %c; st.shared.u32 [%b+128], %c; st.shared.u32 [%b+256], %c;
        {arrive} 1, 128;
        {sync} 2, 128;
        shl.b32 %b, %t, 2;
        add.u32 %i, %i, 1; setp.ne.u32 %p2, %i, 9;
        @%p2 bra FILL;
        DONE:"
    )
}

#[test]
fn warps_hand_a_buffer_over_and_back() {
    for (arrive, sync) in [("barrier.arrive", "barrier.sync"), ("bar.arrive", "bar.sync")] {
        let (report, bytes) = same_in_all_schedules(&pipeline(arrive, sync));
        assert_eq!(report.findings.len(), 0, "{:?}", report.findings);
        assert_eq!(report.stats.barriers, 18);
        for thread in 32..THREADS {
            let filled = |i: u32| i * 7 + thread % 32;
            let expected = (0..9).fold(0u32, |sum, i| sum.wrapping_mul(3).wrapping_add(filled(i)));
            let at = 4 * thread as usize;
            let found = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            assert_eq!(found, expected, "thread {thread}");
        }
    }
}

#[test]
fn barriers_of_warps_that_come_in_part_or_leave() {
    for body in [
        // Lanes of a warp arrive one half after the other.
        "and.b32 %a, %t, 1; setp.eq.u32 %p1, %a, 0; @%p1 bra A; barrier.sync 3, 128; bra B; A: barrier.sync 3, 128; B:",
        // Two warps only, by a number that is computed.
        "add.u32 %a, %w, 5; setp.ge.u32 %p1, %w, 2; @%p1 bra B; barrier.sync 5, 64; mov.u32 %s, %a; B:",
        // One warp leaves: for a barrier without a count it need not come.
        "setp.eq.u32 %p1, %w, 2; @%p1 ret; barrier.sync 4; mov.u32 %s, %t;",
        // Some arrive, others wait, at all numbers in turn.
        "mov.u32 %i, 0; setp.eq.u32 %p1, %w, 1; L: @%p1 barrier.arrive %i, 64; setp.eq.u32 %p2, %w, 3;
         @%p2 barrier.sync %i, 64; add.u32 %i, %i, 1; setp.lt.u32 %p2, %i, 16; @%p2 bra L; mov.u32 %s, %i;",
        // A reduction among named barriers.
        "setp.lt.u32 %p1, %t, 40; barrier.red.popc.u32 %s, 6, 128, %p1; barrier.sync 6, 128;",
    ] {
        let (report, _) = same_in_all_schedules(body);
        assert_eq!(report.findings.len(), 0, "{body}: {:?}", report.findings);
    }
}

#[test]
fn barriers_used_wrongly() {
    let found = |body: &str| {
        let (report, _) = run(body, &RunOptions::default());
        report.findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    for (body, message) in [
        ("mov.u32 %a, 16; barrier.sync %a, 128;", "barrier 16: a block has barriers 0 to 15"),
        ("mov.u32 %a, 33; barrier.sync 1, %a;", "it must be a multiple of the warp size"),
        ("barrier.sync 1, 160;", "the block has only 128 threads"),
        (
            "setp.eq.u32 %p1, %w, 0; @%p1 bra A; barrier.sync 1, 96; bra B; A: barrier.sync 1, 128; B:",
            "barrier 1 ",
        ),
        ("setp.eq.u32 %p1, %w, 0; @%p1 bra B; barrier.sync 1, 128; B:", "barrier 1 waits for 128 threads"),
        ("setp.eq.u32 %p1, %w, 3; @%p1 bra B; barrier.arrive 1, 128; B: barrier.sync 2, 160;", "barrier 2 "),
    ] {
        let messages = found(body);
        assert!(messages.iter().any(|text| text.contains(message)), "{body}: {messages:?}");
    }
}
