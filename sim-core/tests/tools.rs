//! Tools: what they hear does not depend on the number of workers, nor on which engine runs the warps.

use std::sync::Arc;

use sim_core::tools::{Counters, Initcheck, Synccheck};
use sim_core::{
    Backend, DeviceConfig, FindingKind, Launch, LaunchReport, Metrics, Outcome, RunOptions, Simulator,
    ToolFactory,
};

/// Runs a kernel `k` to its end on a buffer of 8 KiB, of which the first half is filled.
fn run(body: &str, grid: u32, block: u32, options: RunOptions) -> LaunchReport {
    let report = launch(body, grid, block, options);
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    report
}

/// The same, whatever its end.
fn launch(body: &str, grid: u32, block: u32, options: RunOptions) -> LaunchReport {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .pred %p;\n\
         .reg .b32 %t, %x, %s;\n.reg .b64 %q, %a, %d;\n.shared .align 16 .b8 m[8192];\nld.param.u64 %q, [p];\n\
         mov.u32 %t, %tid.x;\nmov.u32 %s, m;\n{body}\nret;\n}}\n"
    );
    let simulator = Simulator::new(DeviceConfig { track_initialization: true, ..DeviceConfig::h200() });
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into()));
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let id = simulator.load(Arc::new(module)).unwrap();
    let buffer = simulator.alloc(8192, "buffer").unwrap();
    simulator.fill(buffer, 4096, &[0]).unwrap();
    let launch = Launch::new("k", grid, block, buffer.to_le_bytes().to_vec());
    simulator.launch(id, &launch, &options).unwrap()
}

fn counted(body: &str, grid: u32, block: u32) -> Metrics {
    let mut first: Option<Metrics> = None;
    for (jobs, seed) in [(1, 0), (2, 0), (5, 0), (1, 3), (3, 4)] {
        let tools = vec![ToolFactory::new(Counters::new)];
        let options = RunOptions { jobs, seed, tools, count_memory: true, ..RunOptions::default() };
        let report = run(body, grid, block, options);
        let [metrics] = &report.metrics[..] else { panic!("{:?}", report.metrics) };
        let total = |name: &str| metrics.total(name).unwrap_or_else(|| panic!("no {name}"));
        let stats = &report.stats;
        assert_eq!(total("ptx__inst_executed.sum"), stats.warp_instructions);
        assert_eq!(total("ptx__thread_inst_executed_pred_on.sum"), stats.thread_instructions);
        assert_eq!(total("ptx__branches.sum"), stats.branches);
        assert_eq!(total("ptx__branches_divergent.sum"), stats.divergent_branches);
        let sectors = ["ld", "st", "atom", "red"]
            .map(|kind| total(&format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum")));
        assert_eq!(sectors.iter().sum::<u64>(), stats.memory.global_sectors);
        // How a random schedule lets lanes meet is its own affair.
        if seed == 0 {
            let first = first.get_or_insert_with(|| metrics.clone());
            assert_eq!(first, metrics, "{jobs} jobs");
        }
    }
    first.unwrap()
}

const GLOBAL: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_";
const REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_";
const SHARED: &str = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_";

#[test]
fn counters_of_a_known_kernel() {
    let body = "mul.wide.u32 %a, %t, 4;\nadd.s64 %a, %q, %a;\nld.global.u32 %x, [%a];
        mul.wide.u32 %a, %t, 32;\nadd.s64 %a, %q, %a;\nld.global.u32 %x, [%a];
        mad.lo.u32 %s, %t, 128, %s;\nst.shared.u32 [%s], %x;\nld.shared.u32 %x, [%s];
        and.b32 %x, %t, 1;\nsetp.eq.u32 %p, %x, 0;\n@%p bra A;\nadd.u32 %x, %x, 3;
        A: setp.lt.u32 %p, %t, 16;\n@%p red.global.add.u32 [%q], 1;\n@%p atom.global.add.u32 %x, [%q], 1;
        @%p st.global.u32 [%a], %x;";
    let blocks = 3;
    let metrics = counted(body, blocks, 64);
    let total = |name: &str| metrics.total(name).unwrap() / u64::from(blocks);
    let of = |prefix: &str, kind: &str| total(&format!("{prefix}{kind}.sum"));
    assert_eq!(metrics.total("launch__grid_size"), Some(3));
    assert_eq!(total("smsp__warps_launched.sum"), 2);
    // Two warps: one load of 4 sectors and one of 32. What the guard switches off asks for nothing.
    assert_eq!((of(REQUESTS, "ld"), of(GLOBAL, "ld")), (4, 72));
    assert_eq!((of(REQUESTS, "red"), of(GLOBAL, "red")), (1, 1));
    assert_eq!((of(REQUESTS, "atom"), of(GLOBAL, "atom")), (1, 1));
    assert_eq!((of(REQUESTS, "st"), of(GLOBAL, "st")), (1, 16));
    assert_eq!(total("derived__memory_l2_theoretical_sectors_global_excessive"), 2 * 28 + 14);
    // All lanes in one bank.
    assert_eq!((of(SHARED, "ld"), of(SHARED, "st")), (64, 64));
    assert_eq!(total("derived__memory_l1_wavefronts_shared_excessive"), 124);
    assert_eq!((total("ptx__branches.sum"), total("ptx__branches_divergent.sum")), (2, 2));
    // With that of the parameter.
    assert_eq!(total("ptx__inst_executed_op_memory.sum"), 2 * 8);
    assert_eq!(total("ptx__thread_inst_executed_op_memory_pred_on.sum"), 64 * 5 + 16 * 3);
    let divergent = metrics.instructions.iter().find(|of| {
        of.metrics.iter().any(|metric| metric.name == "ptx__branches_divergent.sum" && metric.value == 6)
    });
    assert!(divergent.is_some_and(|of| of.line == 23), "{divergent:?}");
}

#[test]
fn counters_of_loops_and_of_a_single_warp() {
    let body = "L: ld.shared.v4.u32 {%x, %x, %x, %x}, [m];\nst.global.u32 [%q], %t;\nsub.u32 %t, %t, 1;
        setp.gt.s32 %p, %t, 0;\n@%p bra L;\nbar.sync 0;";
    for block in [32, 64, 96] {
        let metrics = counted(body, 2, block);
        let warps = u64::from(block / 32);
        // The last lane of a warp goes round most often.
        let turns: u64 = (1..=warps).map(|warp| 32 * warp - 1).sum();
        let read = metrics.total("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum");
        // Halves at one address; the low one has left the last 16 turns.
        assert_eq!(read, Some(2 * (2 * turns - 16 * warps)), "{block} threads");
        assert_eq!(metrics.total("ptx__inst_executed_op_synchronization.sum"), Some(2 * warps));
    }
}

/// Findings of tools that are merged are the same for any number of workers.
#[test]
fn checks_with_several_workers() {
    let body =
        "ld.shared.u32 %x, [m];\nst.shared.u32 [m], %x;\nld.shared.u32 %x, [m];\nld.global.u32 %x, [%q+5000];
        setp.lt.u32 %p, %t, 16;\n@%p exit;\nbar.sync 0;";
    let found = |jobs| {
        let tools = vec![ToolFactory::new(|_| Initcheck), ToolFactory::new(|_| Synccheck)];
        let report = run(body, 40, 32, RunOptions { jobs, tools, ..RunOptions::default() });
        report.findings
    };
    let alone = found(1);
    let kinds: Vec<_> = alone.iter().map(|finding| (finding.kind.name(), finding.count)).collect();
    let (read, barrier) = ("uninitialized-read", "undefined-behavior");
    assert_eq!(kinds, [(read, 1280), (read, 1280), (barrier, 640)]);
    for jobs in [2, 4] {
        assert_eq!(found(jobs), alone, "{jobs} jobs");
    }
}

#[test]
fn an_mbarrier_begins_uninitialized() {
    let options = || RunOptions { tools: vec![ToolFactory::new(|_| Initcheck)], ..RunOptions::default() };
    let arrive = "mbarrier.arrive.shared::cta.b64 %a, [%s+8];";
    let report = run(&format!("mbarrier.init.shared::cta.b64 [%s+8], 1; {arrive}"), 1, 1, options());
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let report = launch(arrive, 1, 1, options());
    let found: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(found, [FindingKind::WrongMbarrier, FindingKind::UninitializedRead]);
}
