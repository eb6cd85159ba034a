//! Clusters: their blocks are resident together.

use std::sync::Arc;
use std::time::Duration;

use sim_core::{Backend, DeviceConfig, Dim3, Engine, FindingKind, Launch, Outcome, RunOptions, Simulator};

/// Each block of a pair waits for the other, where a device has room for two blocks.
#[test]
fn blocks_of_a_cluster_run_together_whatever_starts_first() {
    let text = "
        .version 8.0\n.target sm_90\n.address_size 64
        .visible .entry pair(.param .u64 flags, .param .u64 ranks) .reqnctapercluster 1, 2, 1
        {
            .reg .b64 %flags, %at, %other; .reg .b32 %x, %y, %block, %v; .reg .pred %p;
            ld.param.u64 %flags, [flags];
            mov.u32 %x, %ctaid.x;
            mov.u32 %y, %ctaid.y;
            mad.lo.u32 %block, %y, 8, %x;
            mad.wide.u32 %at, %block, 4, %flags;
            st.release.gpu.global.u32 [%at], 1;
            xor.b32 %y, %y, 1;
            mad.lo.u32 %block, %y, 8, %x;
            mad.wide.u32 %other, %block, 4, %flags;
        again:
            ld.acquire.gpu.global.u32 %v, [%other];
            setp.eq.u32 %p, %v, 0;
            @%p bra again;
            ld.param.u64 %flags, [ranks];
            mov.u32 %y, %ctaid.y;
            mad.lo.u32 %block, %y, 8, %x;
            mad.wide.u32 %at, %block, 4, %flags;
            mov.u32 %v, %cluster_ctarank;
            mov.u32 %x, %clusterid.x;
            mad.lo.u32 %v, %x, 10, %v;
            mov.u32 %x, %clusterid.y;
            mad.lo.u32 %v, %x, 100, %v;
            st.global.u32 [%at], %v;
            ret;
        }";
    let source = ptx_frontend::Source::new("pair.ptx", text.as_bytes().to_vec());
    let module = Arc::new(ptx_frontend::parse(source).module.unwrap());
    let config = DeviceConfig { multiprocessors: 2, ..DeviceConfig::h200() };
    let grid = Dim3::new(8, 4, 1);
    let expected: Vec<u32> = (0..32).map(|block| block / 8 % 2 + block % 8 * 10 + block / 16 * 100).collect();
    for jobs in [1, 2] {
        for seed in 0..8 {
            let simulator = Simulator::new(config.clone());
            let flags = simulator.alloc(128, "flags").unwrap();
            let ranks = simulator.alloc(128, "ranks").unwrap();
            simulator.write(flags, &[0; 128]).unwrap();
            let module = simulator.load(module.clone()).unwrap();
            let launch = Launch {
                kernel: "pair".into(),
                grid,
                block: Dim3::new(32, 1, 1),
                cluster: None,
                // One block a multiprocessor.
                shared_bytes: 120_000,
                params: [flags.to_le_bytes(), ranks.to_le_bytes()].concat(),
                cooperative: false,
            };
            let options =
                RunOptions { jobs, seed, timeout: Some(Duration::from_secs(60)), ..RunOptions::default() };
            let report = simulator.launch(module, &launch, &options).unwrap();
            assert_eq!(report.outcome, Outcome::Completed, "{jobs} jobs, seed {seed}: {:?}", report.findings);
            let mut bytes = [0; 128];
            simulator.read(ranks, &mut bytes).unwrap();
            let found: Vec<u32> =
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            assert_eq!(found, expected);
        }
    }
}

/// Clusters that no launch of an H200 has, and the largest.
#[test]
fn impossible_clusters_are_refused() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }";
    let source = ptx_frontend::Source::new("k.ptx", text.as_bytes().to_vec());
    let simulator = Simulator::new(DeviceConfig::h200());
    let module = simulator.load(Arc::new(ptx_frontend::parse(source).module.unwrap())).unwrap();
    for (cluster, wrong) in [
        (Dim3::new(16, 1, 1), ""),
        (Dim3::new(2, 4, 2), ""),
        (Dim3::new(32, 1, 1), "a cluster (32, 1, 1) of 32 blocks; at most 16"),
        (Dim3::new(0, 1, 1), "the cluster (0, 1, 1) must not be empty"),
        (Dim3::new(1, 3, 1), "grid (96, 4, 2) is no multiple of the cluster (1, 3, 1)"),
    ] {
        let launch = Launch {
            kernel: "k".into(),
            grid: Dim3::new(96, 4, 2),
            block: Dim3::new(32, 1, 1),
            cluster: Some(cluster),
            shared_bytes: 0,
            params: Vec::new(),
            cooperative: false,
        };
        let refused = simulator.launch(module, &launch, &RunOptions::default()).err();
        let said = refused.map_or(String::new(), |error| error.to_string());
        assert!(said.is_empty() == wrong.is_empty() && said.contains(wrong), "{cluster}: {said}");
    }
}

/// What a kernel declares of its clusters holds for its launches, as CUDA has it.
#[test]
fn launches_keep_to_the_clusters_that_kernels_declare() {
    let text = "
        .version 8.0\n.target sm_90\n.address_size 64
        .visible .entry pair() .reqnctapercluster 2, 1, 1 { ret; }
        .visible .entry some() .explicitcluster { ret; }
        .visible .entry four() .explicitcluster .maxclusterrank 4 { ret; }";
    let source = ptx_frontend::Source::new("declared.ptx", text.as_bytes().to_vec());
    let simulator = Simulator::new(DeviceConfig::h200());
    let module = simulator.load(Arc::new(ptx_frontend::parse(source).module.unwrap())).unwrap();
    let [two, four, eight] = [2, 4, 8].map(|x| Some(Dim3::new(x, 1, 1)));
    let across = Some(Dim3::new(1, 2, 1));
    for (kernel, cluster, wrong) in [
        ("pair", None, ""),
        ("pair", two, ""),
        ("pair", four, "`pair` requires clusters of (2, 1, 1) (`.reqnctapercluster`), not (4, 1, 1)"),
        ("pair", across, "`pair` requires clusters of (2, 1, 1) (`.reqnctapercluster`), not (1, 2, 1)"),
        ("some", None, "`some` must be launched in clusters (`.explicitcluster`), and none is given"),
        ("some", Some(Dim3::ONE), ""),
        ("some", eight, ""),
        ("four", four, ""),
        ("four", eight, "`four` takes at most 4 blocks a cluster (`.maxclusterrank`), not 8"),
    ] {
        let launch = Launch {
            kernel: kernel.into(),
            grid: Dim3::new(8, 2, 1),
            block: Dim3::ONE,
            cluster,
            shared_bytes: 0,
            params: Vec::new(),
            cooperative: false,
        };
        let said = match simulator.launch(module, &launch, &RunOptions::default()) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert!(said.is_empty() == wrong.is_empty() && said.contains(wrong), "{kernel} {cluster:?}: {said}");
    }
}

/// Each block of a pair reaches its own memory by the address of its variable, which has its rank, and no further than that.
#[test]
fn blocks_reach_their_own_memory_whatever_their_rank() {
    let forms = [
        "st.shared.u32 [%a], %v; ld.shared.u32 %v, [%a];",
        "st.shared::cluster.u32 [%a], %v; ld.shared::cluster.u32 %v, [%a];",
        "cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; st.u32 [%g], %v; ld.u32 %v, [%g];",
        "st.shared.v2.u32 [%a], {%v, %v}; ld.shared.v2.u32 {%v, %x}, [%a];",
        "sub.u32 %x, %v, 1; st.shared.u32 [%a], 1; atom.shared.add.u32 %y, [%a], %x; ld.shared.u32 %v, [%a];",
        // An address without a rank is the block's own, too.
        "and.b32 %a, %a, 0xffffff; st.shared.u32 [%a], %v; ld.shared.u32 %v, [%a];",
    ];
    for form in forms {
        let text = format!(
            "
            .version 8.0\n.target sm_90\n.address_size 64
            .visible .entry pair(.param .u64 out, .param .u32 skip) .reqnctapercluster 2, 1, 1
            {{
                .reg .b64 %out, %g; .reg .b32 %a, %v, %x, %y, %lane, %rank, %skip;
                .shared .align 8 .b8 mine[256];
                ld.param.u64 %out, [out];
                ld.param.u32 %skip, [skip];
                mov.u32 %rank, %cluster_ctarank;
                mov.u32 %lane, %tid.x;
                mad.lo.u32 %v, %rank, 100, %lane;
                mov.u32 %a, mine;
                mad.lo.u32 %a, %lane, 8, %a;
                mad.lo.u32 %a, %rank, %skip, %a;
                {form}
                mad.lo.u32 %x, %rank, 32, %lane;
                mad.wide.u32 %out, %x, 4, %out;
                st.global.u32 [%out], %v;
                ret;
            }}"
        );
        let source = ptx_frontend::Source::new("pair.ptx", text.into_bytes());
        let module = Arc::new(ptx_frontend::parse(source).module.unwrap());
        let expected: Vec<u32> = (0..64).map(|at| at / 32 * 100 + at % 32).collect();
        let engines = [Engine::Interpreter, Engine::Compiled];
        for (engine, skip) in engines.into_iter().flat_map(|engine| [(engine, 0u32), (engine, 8)]) {
            let simulator = Simulator::new(DeviceConfig::h200());
            let out = simulator.alloc(256, "out").unwrap();
            let module = simulator.load(module.clone()).unwrap();
            let launch = Launch {
                kernel: "pair".into(),
                grid: Dim3::new(2, 1, 1),
                block: Dim3::new(32, 1, 1),
                cluster: None,
                shared_bytes: 0,
                params: [&out.to_le_bytes()[..], &skip.to_le_bytes()].concat(),
                cooperative: false,
            };
            let report =
                simulator.launch(module, &launch, &RunOptions { engine, ..RunOptions::default() }).unwrap();
            let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
            if skip != 0 {
                assert_eq!(kinds, [FindingKind::OutOfBounds], "{form} {engine:?}");
                continue;
            }
            assert_eq!(kinds, [], "{form} {engine:?}");
            let mut bytes = [0; 256];
            simulator.read(out, &mut bytes).unwrap();
            let found: Vec<u32> =
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            assert_eq!(found, expected, "{form} {engine:?}");
        }
    }
}
