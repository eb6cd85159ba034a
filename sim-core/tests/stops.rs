//! Launches that stand still before instructions, follow lanes, and are looked at.

use std::collections::BTreeMap;

use ptx_frontend::RegId;
use sim_core::{
    Backend, DeviceConfig, DevicePtr, Launch, ModuleId, RunOptions, Session, Simulator, Stop, Until,
    WaitsFor, WarpId,
};
use testkit::executor;

const TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64
    .visible .entry loops(.param .u64 p) {
        .reg .b64 %a, %b; .reg .b32 %t, %x, %y; .reg .pred %p, %q;
        ld.param.u64 %a, [p];
        mov.u32 %t, %tid.x;
        mov.u32 %x, 0;
    again:
        add.u32 %x, %x, 1;
        mul.lo.u32 %y, %x, 3;
        setp.lt.u32 %p, %x, %t;
        @%p bra again;
        bar.sync 0;
        mul.wide.u32 %b, %t, 4;
        add.u64 %b, %a, %b;
        st.global.u32 [%b], %y;
        ret;
    }";

fn simulator() -> (Simulator, ModuleId) {
    let simulator = Simulator::new(DeviceConfig { inspectable: true, ..DeviceConfig::h200() });
    let module = simulator.load(executor::module("loops.ptx", TEXT).unwrap()).unwrap();
    (simulator, module)
}

fn launched(blocks: u32, threads: u32, direct: &mut dyn FnMut(&mut Session<'_, '_>, DevicePtr)) -> Vec<u32> {
    let (simulator, module) = simulator();
    let out = simulator.alloc(4 * u64::from(threads), "out").unwrap();
    let launch = Launch::new("loops", blocks, threads, out.to_le_bytes().to_vec());
    let options = RunOptions::default();
    let done = simulator.launch_stepwise(module, &launch, &options, &mut |session| direct(session, out));
    assert!(done.unwrap().findings.is_empty());
    let mut bytes = vec![0; 4 * threads as usize];
    simulator.read(out, &mut bytes).unwrap();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The position of the first instruction whose text begins so.
fn position(session: &Session<'_, '_>, begins: &str) -> u32 {
    (0..)
        .find(|&at| {
            let place = session.place(at).expect("there is such an instruction");
            TEXT[place.span.start as usize..].starts_with(begins)
        })
        .unwrap()
}

#[test]
fn it_stands_still_before_instructions_and_each_lane_passes_each_once() {
    let expected: Vec<u32> = (0..80).map(|thread: u32| 3 * thread.max(1)).collect();
    let got = launched(2, 80, &mut |session, _| {
        let add = position(session, "add.u32 %x");
        session.break_at(&[add, 10_000]);
        let mut passed: BTreeMap<(u64, u32), u64> = BTreeMap::new();
        while session.run(Until::End) == Stop::Paused {
            let running = session.running().unwrap();
            assert_eq!(running.position, add);
            for lane in (0..32).filter(|lane| running.lanes >> lane & 1 != 0) {
                *passed.entry((running.warp.block, 32 * running.warp.warp + lane)).or_default() += 1;
            }
        }
        let expected =
            (0..2).flat_map(|block| (0..80).map(move |thread| ((block, thread), u64::from(thread.max(1)))));
        assert_eq!(passed, expected.collect());
    });
    assert_eq!(got, expected);
}

#[test]
fn it_follows_a_lane_instruction_by_instruction() {
    launched(2, 80, &mut |session, _| {
        let warp = WarpId { block: 1, warp: 1 };
        session.follow(Some((warp, 1 << 3)));
        let mut count = 0u32;
        let id = session.code().functions[0].id;
        let registers = &session.code().module.functions[id.index()].registers;
        let x = RegId(registers.iter().position(|register| &*register.name == "%x").unwrap() as u32);
        let mut values = Vec::new();
        while session.run(Until::End) == Stop::Paused {
            let running = session.running().unwrap();
            assert_eq!((running.warp, running.lanes >> 3 & 1), (warp, 1));
            count += 1;
            let look = session.look();
            let group = look.block(1).unwrap().warp(1).unwrap().group(3).unwrap();
            assert_eq!(group.position(), running.position);
            let value = group.frame().register(x, 3).unwrap();
            if values.last() != Some(&value) {
                values.push(value);
            }
        }
        // Three before the loop, four in each round, five behind it.
        assert_eq!(count, 3 + 4 * 35 + 5);
        assert_eq!(values, (0..=35).collect::<Vec<u128>>());
    });
}

#[test]
fn what_waits_where_is_seen() {
    launched(1, 64, &mut |session, out| {
        let wide = position(session, "mul.wide");
        session.break_at(&[wide]);
        assert_eq!(session.run(Until::End), Stop::Paused);
        // Back to where the first warp waits.
        let behind = session.instructions();
        let mut bytes = [1; 4];
        session.read(out, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 4]);
        assert!(session.read(out + 4096, &mut bytes).is_err());
        assert_eq!(session.look().allocations()[0].label, "out");
        session.break_at(&[]);
        assert_eq!(session.run(Until::Instructions(behind + 1)), Stop::Paused);
        let look = session.look();
        let block = look.blocks().next().unwrap();
        assert!(block.barriers().is_empty(), "it is complete");
        assert_eq!(block.warps().map(|warp| warp.lanes().count_ones()).sum::<u32>(), 64);
    });
    launched(1, 64, &mut |session, _| {
        // The second warp is about to run for the first time: the first one waits.
        session.follow(Some((WarpId { block: 0, warp: 1 }, 1)));
        assert_eq!(session.run(Until::End), Stop::Paused);
        let look = session.look();
        let block = look.block(0).unwrap();
        let groups = block.warp(0).unwrap().groups();
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].waits_for(), WaitsFor::Barrier(0));
        assert!(TEXT[groups[0].place().span.start as usize..].starts_with("bar.sync"));
        let barriers = block.barriers();
        assert_eq!(
            (barriers[0].barrier, barriers[0].count, &barriers[0].arrived[..]),
            (0, 32, &[u32::MAX, 0][..])
        );
        assert!(look.block(1).is_none());
    });
}

#[test]
fn it_stands_still_where_something_is_found() {
    let (simulator, module) = simulator();
    let out = simulator.alloc(8, "out").unwrap();
    let launch = Launch::new("loops", 1, 4, out.to_le_bytes().to_vec());
    let report = simulator.launch_stepwise(module, &launch, &RunOptions::default(), &mut |session| {
        session.pause_at_findings(true);
        assert_eq!((session.run(Until::End), session.found()), (Stop::Paused, 2));
        let finding = &session.findings()[0];
        assert_eq!((finding.kind.name(), finding.threads.len()), ("out-of-bounds", 2));
        assert_eq!(session.run(Until::End), Stop::Ended);
    });
    assert_eq!(report.unwrap().findings.len(), 1);
}
