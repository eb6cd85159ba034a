//! Multicast memory: one address for memory of several devices.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, FindingKind, Launch, Outcome, RunOptions, Simulator};

const KERNEL: &str = "
    .version 9.1
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 m, .param .u64 d) {
        .shared .align 16 .b8 area[16];
        .reg .b32 %t, %v, %h;
        .reg .b64 %m, %d, %o;
        ld.param.u64 %m, [m];
        ld.param.u64 %d, [d];
        mov.u32 %t, %tid.x;
        mul.wide.u32 %o, %t, 4;
        add.u64 %m, %m, %o;
        add.u64 %d, %d, %o;
        multimem.ld_reduce.relaxed.sys.global.add.u32 %v, [%m];
        st.global.u32 [%d], %v;
        multimem.ld_reduce.weak.global.max.s32 %v, [%m];
        st.global.u32 [%d+128], %v;
        multimem.ld_reduce.relaxed.sys.global.add.acc::f32.f16x2 %h, [%m+256];
        st.global.u32 [%d+256], %h;
        add.u32 %v, %t, 1000;
        multimem.st.relaxed.sys.global.u32 [%m], %v;
        multimem.red.relaxed.sys.global.add.u32 [%m+128], %t;
        bar.sync 0;
        setp.ne.u32 %p, %t, 0;
        @%p ret;
        st.shared.v4.u32 [area], {1, 2, 3, 4};
        fence.proxy.async.shared::cta;
        multimem.cp.async.bulk.global.shared::cta.bulk_group [%m+512], [area], 16;
        multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%m+528], [area], 16;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        ret;
    }";

fn words(simulator: &Simulator, at: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    simulator.read(at, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn an_access_is_one_to_each_replica() {
    let text = KERNEL.replace(".reg .b64 %m", ".reg .pred %p; .reg .b64 %m");
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into_bytes()));
    let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)));
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module).unwrap();
    let replicas = [10u32, 20, 30].map(|value| {
        let at = simulator.alloc(1024, "replica").unwrap();
        simulator.fill(at, 1024, &value.to_le_bytes()).unwrap();
        // 2048 and three halves of 1, which a sum in halves would lose.
        simulator.fill(at + 256, 256, &(if value == 10 { 0x6800u16 } else { 0x3c00 }).to_le_bytes()).unwrap();
        at
    });
    let out = simulator.alloc(1024, "out").unwrap();
    let multicast = 0x7000_0000_0000;
    simulator.set_multicast(multicast, 1024, &replicas, true);
    let launch = |at: u64| {
        let params = [at.to_le_bytes(), out.to_le_bytes()].concat();
        let launch = Launch {
            kernel: "k".into(),
            grid: Dim3::ONE,
            block: Dim3::new(32, 1, 1),
            cluster: None,
            shared_bytes: 0,
            params,
            cooperative: false,
        };
        simulator.launch(id, &launch, &RunOptions::default()).unwrap()
    };
    let report = launch(multicast);
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    assert_eq!(words(&simulator, out, 32), [60; 32]);
    assert_eq!(words(&simulator, out + 128, 32), [30; 32]);
    // 2050, exactly.
    assert_eq!(words(&simulator, out + 256, 32), [0x6801_6801; 32]);
    for (replica, value) in replicas.into_iter().zip([10, 20, 30]) {
        assert_eq!(words(&simulator, replica, 32), (1000..1032).collect::<Vec<u32>>());
        assert_eq!(words(&simulator, replica + 128, 32), (value..value + 32).collect::<Vec<u32>>());
        assert_eq!(words(&simulator, replica + 512, 4), [1, 2, 3, 4]);
        assert_eq!(words(&simulator, replica + 528, 4), [1, 2, 3, 4].map(|more| value + more));
    }
    // Other memory is that of one device; what stands for nothing any more is none.
    assert_eq!(launch(replicas[0]).outcome, Outcome::Completed);
    assert_eq!(words(&simulator, out, 32), (1000..1032).collect::<Vec<u32>>());
    // What is mapped for reading takes no writes.
    simulator.set_multicast(multicast, 1024, &replicas, false);
    let before = words(&simulator, replicas[0], 256);
    let report = launch(multicast);
    assert_eq!(report.findings[0].kind, FindingKind::WriteToReadOnly, "{:?}", report.findings);
    assert_eq!(words(&simulator, replicas[0], 256), before);
    simulator.set_multicast(multicast, 1024, &[], false);
    assert_ne!(launch(multicast).outcome, Outcome::Completed);
}
