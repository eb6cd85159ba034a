//! Registers that hold one value wherever they are read, and those that only seem to.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Launch, ModuleId, Outcome, RunOptions, Simulator};

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

fn load(simulator: &Simulator, text: &str) -> ModuleId {
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", format!("{HEADER}{text}").into()));
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    simulator.load(Arc::new(module)).unwrap()
}

fn launch(
    simulator: &Simulator,
    id: ModuleId,
    kernel: &str,
    out: u64,
    threads: u32,
) -> sim_core::LaunchReport {
    let mut params = out.to_le_bytes().to_vec();
    params.extend(0x8123_4567u32.to_le_bytes());
    let launch = Launch::new(kernel, 2, threads, params);
    simulator.launch(id, &launch, &RunOptions { jobs: 1, ..RunOptions::default() }).unwrap()
}

/// What the threads of two blocks of 40 leave in `%s`; `%t` is the thread's number, `%p1` whether that is odd.
fn results(body: &str) -> Vec<u32> {
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = load(
        &simulator,
        &format!(
            ".global .u32 word = 77;
            .func (.reg .b32 r) twice(.reg .b32 n) {{ .reg .b32 %two; mov.u32 %two, 2; mul.lo.u32 r, n, %two; ret; }}
            .visible .entry k(.param .u64 p, .param .u32 q) {{
                .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>, %t, %s; .reg .b64 %d<9>, %o, %a;
                .shared .align 4 .b8 m[16];
                ld.param.u64 %o, [p]; mov.u32 %t, %tid.x; mov.u32 %r8, %ctaid.x; mov.u32 %r7, %ntid.x;
                mad.lo.u32 %t, %r8, %r7, %t;
                cvta.to.global.u64 %o, %o;
                mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %o;
                and.b32 %r7, %t, 1; setp.eq.u32 %p1, %r7, 1;
                {body}
                st.global.u32 [%a], %s;
                ret;
            }}"
        ),
    );
    let out = simulator.alloc(320, "out").unwrap();
    simulator.fill(out, 320, &[0]).unwrap();
    let report = launch(&simulator, id, "k", out, 40);
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    let mut bytes = vec![0; 320];
    simulator.read(out, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn values_that_are_moved_once_or_more_often() {
    let q = 0x8123_4567u32;
    type Expected<'a> = &'a dyn Fn(u32) -> u32;
    let cases: &[(&str, Expected<'_>)] = &[
        // Parameters: whole, in part, extended; chains of moves.
        ("ld.param.u32 %r0, [q]; mov.b32 %r1, %r0; mov.b32 %s, %r1;", &|_| q),
        ("ld.param.u8 %r0, [q+3]; mov.b32 %s, %r0;", &|_| q >> 24),
        ("ld.param.s8 %r0, [q+3]; mov.b32 %s, %r0;", &|_| (q as i32 >> 24) as u32),
        ("ld.param.s32 %d0, [q]; shr.u64 %d1, %d0, 32; cvt.u32.u64 %s, %d1;", &|_| u32::MAX),
        ("ld.param.u16 %h0, [q]; mov.b16 %h1, %h0; cvt.u32.u16 %s, %h1;", &|_| q & 0xffff),
        // Special registers, wide and narrow, and those that differ from thread to thread.
        ("mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %s, %r1, 40, %r0;", &|t| t),
        ("mov.u32 %r0, %tid.x; cvt.u64.u32 %d0, %r0; cvt.u32.u64 %s, %d0;", &|t| t % 40),
        ("mov.u32 %r0, %laneid; mov.b32 %r1, %r0; mov.b32 %s, %r1;", &|t| t % 40 % 32),
        // Two writes, in one path, in two, guarded.
        ("mov.u32 %r0, 5; mov.u32 %r0, 6; mov.b32 %s, %r0;", &|_| 6),
        ("mov.u32 %r0, 5; @%p1 mov.u32 %r0, 6; mov.b32 %s, %r0;", &|t| 5 + (t & 1)),
        ("mov.u32 %s, 1; @%p1 mov.u32 %r0, 6; @%p1 mov.b32 %s, %r0;", &|t| if t & 1 == 1 { 6 } else { 1 }),
        ("mov.u32 %s, 1; @!%p1 bra E; mov.u32 %r0, 6; mov.b32 %s, %r0; E:", &|t| if t & 1 == 1 { 6 } else { 1 }),
        ("@%p1 bra O; mov.u32 %r0, 3; bra E; O: mov.u32 %r0, 4; E: mov.b32 %s, %r0;", &|t| 3 + (t & 1)),
        // A move of what changes: %r1 keeps the value of its time.
        (
            "mov.u32 %r0, 0; mov.u32 %s, 0;
            L: mov.b32 %r1, %r0; add.u32 %r0, %r0, 1; mad.lo.u32 %s, %s, 10, %r1; setp.lt.u32 %p2, %r0, 4; @%p2 bra L;",
            &|_| 123,
        ),
        // Read before it is written, in the first turn of a loop: what it is then does not matter, but it is one value.
        (
            "mov.u32 %r0, 0; mov.u32 %s, 0;
            L: setp.eq.u32 %p2, %r0, 0; @%p2 bra M; add.u32 %s, %s, %r1; M: mov.u32 %r1, 7; add.u32 %r0, %r0, 1;
            setp.lt.u32 %p2, %r0, 3; @%p2 bra L;",
            &|_| 14,
        ),
        // Addresses: of variables, to and from generic; stores of a fixed value at a fixed address.
        (
            "mov.u64 %d0, word; cvta.global.u64 %d1, %d0; ld.u32 %s, [%d1];",
            &|_| 77,
        ),
        (
            "mov.u32 %r0, m; mov.u32 %r1, 9; st.shared.u32 [%r0], %r1; mov.u32 %r2, 4; atom.shared.add.u32 %r3, [%r0+4], %r2;
            bar.sync 0; ld.shared.u32 %s, [%r0];",
            &|_| 9,
        ),
        ("mov.u32 %r0, m; cvt.u64.u32 %d0, %r0; cvta.shared.u64 %d1, %d0; mov.u32 %r1, 8; st.u32 [%d1], %r1; ld.shared.u32 %s, [m];", &|_| 8),
        // Arguments, vectors, and results of calls.
        ("mov.u32 %r0, 21; call (%s), twice, (%r0);", &|_| 42),
        ("mov.u32 %r0, 1; mov.u32 %r1, 2; mov.b64 %d0, {%r0, %r1}; mov.b64 {%r2, %r3}, %d0; mad.lo.u32 %s, %r3, 10, %r2;", &|_| 21),
        // Between lanes.
        ("mov.u32 %r0, 11; mov.u32 %r1, -1; shfl.sync.idx.b32 %s, %r0, 0, 0x1f, %r1;", &|_| 11),
        ("mov.u32 %r0, %laneid; shfl.sync.idx.b32 %s, %r0, 3, 0x1f, -1;", &|_| 3),
        ("mov.u32 %r0, 2; mov.u32 %r1, 64; barrier.sync %r0, %r1; mov.b32 %s, %r1;", &|_| 64),
    ];
    for (body, expected) in cases {
        let found = results(body);
        for (thread, found) in found.iter().enumerate() {
            assert_eq!(*found, expected(thread as u32), "thread {thread} of {body}");
        }
    }
}

#[test]
fn a_launch_finds_nothing_of_those_before() {
    let simulator = Simulator::new(DeviceConfig::h200());
    // The second reads registers and shared memory that it never writes: zeros, whatever ran before.
    let id = load(
        &simulator,
        ".visible .entry fills(.param .u64 p, .param .u32 q) {
            .reg .b32 %r<9>; .reg .b64 %d<3>; .shared .align 4 .b8 m[256];
            ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;
            ld.global.u32 %r1, [%d1]; not.b32 %r2, %r1; not.b32 %r3, %r2; not.b32 %r4, %r3; not.b32 %r5, %r1;
            or.b32 %r6, %r2, %r4; or.b32 %r6, %r6, %r5; or.b32 %r6, %r6, %r3; shl.b32 %r7, %r0, 2;
            mov.u32 %r8, m; add.u32 %r8, %r8, %r7; st.shared.u32 [%r8], %r6; st.global.u32 [%d1], %r6; ret; }
        .visible .entry reads(.param .u64 p, .param .u32 q) {
            .reg .b32 %r<9>; .reg .b64 %d<3>; .shared .align 4 .b8 m[256];
            ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;
            or.b32 %r1, %r2, %r3; or.b32 %r1, %r1, %r4; or.b32 %r1, %r1, %r5; shl.b32 %r7, %r0, 2;
            mov.u32 %r8, m; add.u32 %r8, %r8, %r7; ld.shared.u32 %r6, [%r8]; or.b32 %r1, %r1, %r6;
            st.global.u32 [%d1], %r1; ret; }",
    );
    let out = simulator.alloc(256, "out").unwrap();
    for _ in 0..3 {
        // Blocks of another shape between: each launch's own threads have the right numbers.
        for (kernel, threads, value) in [("fills", 64, u32::MAX), ("reads", 64, 0), ("fills", 33, u32::MAX)] {
            simulator.fill(out, 256, &[0]).unwrap();
            let report = launch(&simulator, id, kernel, out, threads);
            assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
            let mut bytes = [0; 256];
            simulator.read(out, &mut bytes).unwrap();
            for (at, word) in bytes.chunks_exact(4).enumerate() {
                let expected = if at < threads as usize { value } else { 0 };
                assert_eq!(u32::from_le_bytes(word.try_into().unwrap()), expected, "{kernel} {at}");
            }
        }
    }
    // Where memory was is not where it is.
    let other = simulator.alloc(256, "other").unwrap();
    simulator.free(out).unwrap();
    let report = launch(&simulator, id, "fills", out, 64);
    assert_eq!(report.outcome, Outcome::Faulted);
    assert!(report.findings[0].message.contains("which was freed"), "{}", report.findings[0].message);
    simulator.fill(other, 256, &[0]).unwrap();
    assert_eq!(launch(&simulator, id, "fills", other, 64).outcome, Outcome::Completed);
    assert_eq!(launch(&simulator, id, "fills", other, 65).outcome, Outcome::Faulted);
}
