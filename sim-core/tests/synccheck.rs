//! `--tool synccheck`: what it reports, and that it stays silent of correct barriers and where it is off.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, Launch, Outcome, RunOptions, Simulator, ToolFactory};

/// What is found in a kernel of 64 threads with this body: kinds, messages, threads, and whether another
/// place is named.
fn found(body: &str, options: &RunOptions) -> Vec<(&'static str, String, u64, bool)> {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n.reg .pred %p;\n.reg .b32 %t, %l;\n\
         .reg .b64 %s;\n.shared .align 8 .b8 m[16];\nmov.u32 %t, %tid.x;\nmov.u32 %l, %laneid;\n{body}\nret;\n}}\n"
    );
    let simulator = Simulator::new(DeviceConfig::h200());
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into()));
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let id = simulator.load(Arc::new(module)).unwrap();
    let launch = Launch::new("k", Dim3::ONE, 64, Vec::new());
    let report = simulator.launch(id, &launch, options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    let finding =
        |f: &sim_core::Finding| (f.kind.name(), f.message.clone(), f.count, f.other_place.is_some());
    report.findings.iter().map(finding).collect()
}

fn synccheck(body: &str) -> Vec<(&'static str, String, u64, bool)> {
    assert_eq!(found(body, &RunOptions::default()), [], "without synccheck");
    let tool = ToolFactory::new(|_| sim_core::tools::Synccheck);
    let on = |seed| RunOptions { tools: vec![tool.clone()], seed, jobs: 1, ..RunOptions::default() };
    let in_turn = found(body, &on(0));
    for seed in 1..8 {
        assert_eq!(found(body, &on(seed)).len(), in_turn.len(), "seed {seed}");
    }
    in_turn
}

fn branches(condition: &str, barrier: &str) -> String {
    format!("{condition}\n@%p bra A;\n{barrier};\nbra B;\nA:\n{barrier};\nB:")
}

const ODD_LANE: &str = "and.b32 %l, %l, 1;\nsetp.eq.u32 %p, %l, 1;";

#[test]
fn lanes_of_a_warp_at_two_aligned_barriers() {
    let text = "lanes of one warp arrive at barrier 0 by different instructions";
    let found = synccheck(&branches(ODD_LANE, "bar.sync 0"));
    assert_eq!(found, [("undefined-behavior", text.to_string(), 32, true)]);
}

#[test]
fn warps_at_two_aligned_barriers_and_lanes_at_unaligned_ones() {
    assert_eq!(synccheck(&branches("setp.lt.u32 %p, %t, 32;", "bar.sync 0")), []);
    assert_eq!(synccheck(&branches(ODD_LANE, "barrier.sync 0")), []);
    // They meet again before the barrier.
    assert_eq!(synccheck(&format!("{}\nbar.sync 0;", branches(ODD_LANE, "add.u32 %t, %t, 1"))), []);
}

#[test]
fn lanes_that_exited_before_an_aligned_barrier() {
    let half = |barrier: &str| synccheck(&format!("setp.lt.u32 %p, %t, 16;\n@%p exit;\n{barrier};"));
    let text = |id: u32| format!("barrier {id} is reached by a part of a warp: lanes 0-15 have exited");
    let found = |id: u32| [("undefined-behavior", text(id), 16, false)];
    for barrier in [
        "bar.sync 0",
        "barrier.cta.sync.aligned 0, 64",
        "bar.red.popc.u32 %t, 0, %p",
        "bar.red.and.pred %p, 0, %p",
    ] {
        assert_eq!(half(barrier), found(0), "{barrier}");
    }
    assert_eq!(half("barrier.sync 0"), []);
    // They arrive without waiting; the first warp exits later than the second waits.
    let arrives = "setp.lt.u32 %p, %t, 32;\n@!%p bra WAIT;\nsetp.lt.u32 %p, %t, 16;\n@%p exit;\n\
                   bar.arrive 1, 64;\nret;\nWAIT:\nbar.sync 1, 64;";
    assert_eq!(synccheck(arrives), found(1));
    // Some wait while the others go on to the end.
    assert_eq!(synccheck("setp.ge.u32 %p, %t, 16;\n@%p bar.sync 0;"), found(0));
    // Whole warps may exit, lanes after they have arrived, and those of a fault are another matter.
    assert_eq!(synccheck("setp.lt.u32 %p, %t, 32;\n@%p exit;\nbar.sync 0;"), []);
    assert_eq!(synccheck("setp.lt.u32 %p, %t, 32;\n@%p bar.arrive 1, 64;\n@%p exit;\nbar.sync 1, 64;"), []);
}

#[test]
fn mbarrier_objects() {
    let one = |body: &str| synccheck(&format!("setp.eq.u32 %p, %t, 0;\n@!%p bra B;\n{body}\nB:"));
    let message = |found: Vec<(&'static str, String, u64, bool)>| match &found[..] {
        [("undefined-behavior", message, 1, false)] => message.clone(),
        _ => panic!("{found:?}"),
    };
    assert_eq!(
        message(one("mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 16;")),
        "`expect_tx` of the mbarrier object at shared address 0x400: it was not initialized, or was invalidated"
    );
    assert_eq!(
        message(one("mbarrier.init.shared.b64 [m], 2;\nmbarrier.init.shared.b64 [m], 2;")),
        "`mbarrier.init` of the mbarrier object at shared address 0x400: it is one already, and was not invalidated"
    );
    assert_eq!(
        message(one(
            "mbarrier.init.shared.b64 [m+8], 1;\nmbarrier.arrive.expect_tx.shared.b64 %s, [m+8], 16;\n\
             cp.async.mbarrier.arrive.noinc.shared.b64 [m+8];"
        )),
        "`cp.async.mbarrier.arrive` of the mbarrier object at shared address 0x408: more threads arrive than this phase expects"
    );
    let right = "mbarrier.init.shared.b64 [m], 2;\nmbarrier.arrive.shared.b64 %s, [m];\n\
                 mbarrier.arrive.shared.b64 %s, [m];\nmbarrier.arrive.shared.b64 %s, [m];\nmbarrier.inval.shared.b64 [m];\n\
                 mbarrier.init.shared.b64 [m], 1;\nmbarrier.arrive.expect_tx.shared.b64 %s, [m], 16;";
    assert_eq!(one(right), []);
    // Questions to what is no object, or none any more.
    for asks in [
        "mbarrier.test_wait.parity.shared.b64 %p, [m], 0;",
        "mov.u64 %s, m;\ncvta.shared.u64 %s, %s;\nmbarrier.try_wait.parity.b64 %p, [%s], 0;",
    ] {
        let text = "a test or wait of the mbarrier object at shared address 0x400: it was not initialized, or was invalidated";
        assert_eq!(message(one(asks)), text);
        let init = "mbarrier.init.shared.b64 [m], 1;";
        assert_eq!(message(one(&format!("{init}\nmbarrier.inval.shared.b64 [m];\n{asks}"))), text);
        assert_eq!(one(&format!("{init}\n{asks}")), []);
    }
    // All lanes of a warp at one object.
    let all = "setp.eq.u32 %p, %t, 0;\n@%p mbarrier.init.shared.b64 [m], 64;\nbar.sync 0;\n\
               mbarrier.arrive.shared.b64 %s, [m];";
    assert_eq!(synccheck(all), []);
}
