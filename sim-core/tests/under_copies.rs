//! Stores that come between a `cp.async` and the wait for it: the copy takes effect where it is waited for.

use sim_core::{Backend, DeviceConfig, Engine, FindingKind, Launch, RunOptions, Simulator};
use testkit::executor;

const THREADS: u32 = 64;
const BLOCKS: u32 = 50;

/// Per thread: a store under a copy; one behind the wait; stores under two copies, of which one is waited for at a time; a
/// copy of fewer bytes than it writes.
const TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64
    .visible .entry k(.param .u64 from, .param .u64 to) {
        .shared .align 16 .b8 s[512];
        .reg .b64 %from, %to; .reg .b32 %t, %b, %at, %other, %x<7>;
        ld.param.u64 %from, [from];
        ld.param.u64 %to, [to];
        mov.u32 %t, %tid.x;
        mov.u32 %b, s;
        mad.lo.u32 %at, %t, 4, %b;
        add.u32 %other, %at, 256;
        mul.wide.u32 %from, %t, 4;
        ld.param.u64 %to, [from];
        add.u64 %from, %from, %to;
        cp.async.ca.shared.global [%at], [%from], 4;
        cp.async.commit_group;
        st.shared.u32 [%at], 9;
        cp.async.wait_group 0;
        ld.shared.u32 %x1, [%at];
        st.shared.u32 [%at], 8;
        cp.async.wait_all;
        ld.shared.u32 %x2, [%at];
        cp.async.ca.shared.global [%at], [%from], 4;
        cp.async.commit_group;
        cp.async.ca.shared.global [%other], [%from], 4;
        cp.async.commit_group;
        st.shared.u32 [%at], 7;
        st.shared.u32 [%other], 6;
        cp.async.wait_group 1;
        ld.shared.u32 %x3, [%at];
        ld.shared.u32 %x4, [%other];
        cp.async.wait_group 0;
        ld.shared.u32 %x5, [%other];
        cp.async.ca.shared.global [%at], [%from], 4, 1;
        st.shared.u32 [%at], 85;
        cp.async.wait_all;
        ld.shared.u32 %x6, [%at];
        mov.u32 %b, %ctaid.x;
        mad.lo.u32 %b, %b, 64, %t;
        mul.wide.u32 %from, %b, 24;
        ld.param.u64 %to, [to];
        add.u64 %to, %to, %from;
        st.global.u32 [%to], %x1;
        st.global.u32 [%to+4], %x2;
        st.global.u32 [%to+8], %x3;
        st.global.u32 [%to+12], %x4;
        st.global.u32 [%to+16], %x5;
        st.global.u32 [%to+20], %x6;
        // Not waited for: nothing of it is left in the next block.
        ld.param.u64 %from, [from];
        cp.async.ca.shared.global [%at], [%from], 4;
        cp.async.commit_group;
        ret;
    }";

#[test]
fn the_copy_comes_last() {
    for engine in [Engine::Interpreter, Engine::Compiled] {
        for jobs in [1, 2] {
            let simulator = Simulator::new(DeviceConfig::h200());
            let module = simulator.load(executor::module("k.ptx", TEXT).unwrap()).unwrap();
            let from = simulator.alloc(u64::from(4 * THREADS), "from").unwrap();
            let to = simulator.alloc(u64::from(24 * THREADS * BLOCKS), "to").unwrap();
            let words: Vec<u8> = (0..THREADS).flat_map(|t| (0x0101_0100 + t).to_le_bytes()).collect();
            simulator.write(from, &words).unwrap();
            let launch = Launch::new("k", BLOCKS, THREADS, [from.to_le_bytes(), to.to_le_bytes()].concat());
            let options = RunOptions { engine, jobs, ..RunOptions::default() };
            let report = simulator.launch(module, &launch, &options).unwrap();
            // One a copy, of all threads.
            let all: Vec<_> = report.findings.iter().map(|found| (found.kind, found.count)).collect();
            assert_eq!(all, [(FindingKind::UndefinedBehavior, u64::from(THREADS * BLOCKS)); 4]);
            let mut bytes = vec![0; (24 * THREADS * BLOCKS) as usize];
            simulator.read(to, &mut bytes).unwrap();
            for (thread, found) in bytes.chunks_exact(24).enumerate() {
                let copied = 0x0101_0100 + thread as u32 % THREADS;
                let found: Vec<u32> =
                    found.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
                assert_eq!(found, [copied, 8, copied, 6, copied, copied & 0xff], "thread {thread}");
            }
        }
    }
}
