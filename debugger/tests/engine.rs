//! The engine on small kernels: forward, back, and what it says of values.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use debugger::format::Format;
use debugger::points::{Location, Points, Stepping};
use debugger::scope::{Buffer, Symbols};
use debugger::types::Type;
use debugger::watch::Watcher;
use debugger::{Debugger, Reason, Step};
use proptest::prelude::*;
use sim_core::{Backend, DeviceConfig, Dim3, Launch, RunOptions, Simulator};
use testkit::executor;

/// Adds up to its thread's number in a function that it calls, and meets at a barrier.
const TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64
    .func (.reg .b32 %r) twice(.reg .b32 %x) {
        add.u32 %r, %x, %x;
        ret;
    }
    .visible .entry sums(.param .u64 p) {
        .reg .b64 %a, %b; .reg .b32 %t, %i, %s; .reg .pred %p; .reg .f32 %f;
        .shared .align 4 .b32 last[4];
        ld.param.u64 %a, [p];
        mov.u32 %t, %tid.x;
        mov.u32 %i, 0;
        mov.u32 %s, 0;
    again:
        add.u32 %s, %s, %i;
        add.u32 %i, %i, 1;
        setp.le.u32 %p, %i, %t;
        @%p bra again;
        call (%s), twice, (%s);
        bar.sync 0;
        st.shared.u32 [last], %s;
        cvt.rn.f32.u32 %f, %s;
        mul.wide.u32 %b, %t, 4;
        add.u64 %b, %a, %b;
        st.global.u32 [%b], %s;
        ret;
    }";

fn debugged(threads: u32, direct: impl Fn(&mut Debugger<'_, '_, '_>)) {
    let bytes = changed(threads, direct);
    let expected = (0..threads).flat_map(|thread| (thread * (thread + 1)).to_le_bytes());
    assert_eq!(bytes, expected.collect::<Vec<u8>>(), "whatever is done on the way");
}

/// What the kernel leaves under a debugger that changes it.
fn changed(threads: u32, direct: impl Fn(&mut Debugger<'_, '_, '_>)) -> Vec<u8> {
    let simulator = Simulator::new(DeviceConfig { inspectable: true, ..DeviceConfig::h200() });
    let module = simulator.load(executor::module("sums.ptx", TEXT).unwrap()).unwrap();
    let out = simulator.alloc(4 * u64::from(threads), "out").unwrap();
    let buffer = Buffer { name: "out".into(), address: out, element: Type::UNSIGNED, count: threads.into() };
    let launch = Launch::new("sums", 1, threads, out.to_le_bytes().to_vec());
    let watcher = Watcher::default();
    let options = RunOptions { tools: vec![watcher.factory()], ..RunOptions::default() };
    let report = simulator.launch_stepwise(module, &launch, &options, &mut |session| {
        let (mut points, symbols) =
            (Points::default(), Symbols { buffers: vec![buffer.clone()], variables: Vec::new() });
        let interrupt = Arc::new(AtomicBool::new(false));
        direct(&mut Debugger::new(session, &mut points, symbols, watcher.clone(), interrupt));
    });
    assert!(report.unwrap().findings.is_empty());
    let mut bytes = vec![0; 4 * threads as usize];
    simulator.read(out, &mut bytes).unwrap();
    bytes
}

fn show(debugger: &Debugger<'_, '_, '_>, text: &str) -> String {
    debugger.show(text, Format::Natural).unwrap_or_else(|error| error.to_string())
}

#[test]
fn what_is_stepped_over_forward_is_stepped_over_back() {
    debugged(40, |debugger| {
        debugger.set_focus(Dim3::new(0, 0, 0), Dim3::new(33, 0, 0)).unwrap();
        let mut way = Vec::new();
        loop {
            way.push((debugger.time(), debugger.frames().unwrap()[0].position, show(debugger, "%s")));
            if debugger.step(Step::Instruction, 1).unwrap() != Reason::Stepped {
                break;
            }
        }
        // Where it was put into focus; four before the loop, four in each round, and ten behind, the called function among them.
        assert_eq!(way.len(), 1 + 4 + 4 * 34 + 10, "{way:?}");
        for (time, position, value) in way.iter().rev() {
            let reason = debugger.step_back(Step::Instruction, 1).unwrap();
            assert_eq!(reason == Reason::Beginning, *time == 0);
            assert_eq!((debugger.time(), debugger.frames().unwrap()[0].position), (*time, *position));
            assert_eq!(show(debugger, "%s"), *value);
        }
    });
}

#[test]
fn calls_are_stepped_over_and_out_of() {
    debugged(4, |debugger| {
        debugger.add_breakpoint(Location::Function("twice".into()), "twice", None, None, true).unwrap();
        assert_eq!(debugger.go_on(), Reason::Breakpoints(vec![1]));
        let frames = debugger.frames().unwrap();
        assert_eq!(frames.iter().map(|frame| &*frame.function).collect::<Vec<_>>(), ["twice", "sums"]);
        assert_eq!(show(debugger, "%x"), "0");
        debugger.set_frame(1).unwrap();
        assert_eq!(show(debugger, "%t"), "0");
        assert!(debugger.set_frame(2).is_err());
        assert_eq!(debugger.step(Step::Out, 1).unwrap(), Reason::Stepped);
        assert_eq!(debugger.frames().unwrap().len(), 1);
        let behind = debugger.time();
        assert_eq!(debugger.step_back(Step::InstructionOver, 1).unwrap(), Reason::Stepped);
        assert_eq!(debugger.frames().unwrap().len(), 1, "at the call");
        assert_eq!(debugger.step(Step::InstructionOver, 1).unwrap(), Reason::Stepped);
        assert_eq!(debugger.time(), behind);
        assert_eq!(debugger.step_back(Step::Instruction, 1).unwrap(), Reason::Stepped);
        assert_eq!(debugger.frames().unwrap().len(), 2);
        assert_eq!(debugger.step_back(Step::Out, 1).unwrap(), Reason::Stepped);
        assert_eq!(debugger.frames().unwrap().len(), 1);
    });
}

#[test]
fn conditions_watchpoints_and_back() {
    debugged(40, |debugger| {
        let place = Location::Line("sums.ptx".into(), 16);
        debugger
            .add_breakpoint(place, "sums.ptx:16", Some("%i == 20 && threadIdx.x > 30"), None, false)
            .unwrap();
        assert_eq!(debugger.go_on(), Reason::Breakpoints(vec![1]));
        assert_eq!((show(debugger, "%i"), debugger.focus().lane), ("20".into(), 31));
        let first = debugger.time();
        assert_eq!(debugger.go_on(), Reason::Breakpoints(vec![1]));
        assert_eq!(debugger.focus().warp.warp, 1);
        let watch = debugger.add_watchpoint("out[35]", false, true).unwrap();
        let Reason::Watchpoint { id, hit, old, new } = debugger.go_on() else { panic!("it is written") };
        assert_eq!((id, hit.lanes, &*old, &*new), (watch, 1 << 3, "0", "1260"));
        let behind = debugger.time();
        assert_eq!(debugger.go_on(), Reason::Ended);
        let Reason::Watchpoint { old, new, .. } = debugger.go_back() else { panic!("the last thing") };
        assert_eq!((debugger.time() + 1, &*old, &*new), (behind, "0", "1260"));
        assert!(matches!(debugger.go_back(), Reason::Breakpoints(_)));
        assert!(matches!(debugger.go_back(), Reason::Breakpoints(_)));
        assert_eq!(debugger.time(), first);
        assert_eq!(debugger.go_back(), Reason::Beginning);
        // Who wrote it, seen from the end; the breakpoints are as they were.
        assert_eq!(debugger.go_to(u64::MAX), Reason::Ended);
        assert!(matches!(debugger.last_write("out[3]", false).unwrap(), Reason::Watchpoint { .. }));
        assert_eq!((debugger.thread(debugger.focus()).x, debugger.points().watchpoints.len()), (3, 1));
    });
}

#[test]
fn expressions_are_those_of_c() {
    debugged(40, |debugger| {
        let line = Location::Line("sums.ptx".into(), 27);
        debugger.add_breakpoint(line, "", Some("threadIdx.x == 5"), None, true).unwrap();
        debugger.go_on();
        for (text, value) in [
            ("%s", "30"),
            ("%f", "30"),
            ("%f / 4", "7.5"),
            ("-7 / 2", "-3"),
            ("-7 % 3", "-1"),
            ("7u - 8", "4294967295"),
            ("(char) 65", "65 'A'"),
            ("'A' + 1", "66"),
            ("1 << 4 | 3", "19"),
            ("3 > 2 ? %t : 0", "5"),
            ("threadIdx.x + blockDim.x * blockIdx.x", "5"),
            ("%tid.x == threadIdx.x", "true"),
            ("last[0]", "992"),
            ("sizeof(double)", "8"),
            ("(float) 1 / 3", "0.33333334"),
            ("1.0 / 3", "0.3333333333333333"),
            ("*(@shared int *) &last", "992"),
            ("&out[2] - &out[0]", "2"),
            ("out[1]@3", "{2, 6, 12}"),
            ("!%p", "true"),
            ("warpSize", "32"),
            ("~0", "-1"),
            ("0x7fffffff + 1", "-2147483648"),
            ("sums_nothing", "no symbol \"sums_nothing\" in the current context"),
            ("out[99999]", "cannot access memory"),
            ("last[99999]", "cannot access memory"),
            ("1 / (%t - 5)", "division by zero"),
            ("threadIdx", "`threadIdx` has the components"),
            ("%clock", "no symbol \"%clock\" in the current context"),
        ] {
            let shown = show(debugger, text);
            assert!(shown == value || shown.starts_with(value) && value.len() > 12, "{text}: {shown}");
        }
        let (bound, _) = debugger.bind("%s").unwrap();
        let all = debugger.across(&bound, Format::Natural, None).unwrap();
        assert_eq!((all.len(), all[7].1.as_deref()), (40, Ok("56")));
    });
}

#[test]
fn a_change_is_another_future_that_can_be_left_and_come_back_to() {
    changed(40, |debugger| {
        let line = Location::Line("sums.ptx".into(), 25);
        debugger.add_breakpoint(line, "", Some("threadIdx.x == 3"), None, true).unwrap();
        debugger.go_on();
        let there = debugger.time();
        assert_eq!(show(debugger, "%s"), "12");
        for (text, place, value) in [
            ("%s = 77", "%s", "77"),
            ("%p = 1", "%p", "true"),
            ("%f = 2", "%f", "2"),
            ("last[2] = -1", "last[2]", "4294967295"),
            ("out[0] = 5", "out[0]", "5"),
            ("*(@shared int *) &last = 9", "last[0]", "9"),
            ("$x = %s + 1", "$x", "78"),
        ] {
            debugger.assign(text).unwrap();
            assert_eq!(show(debugger, place), value, "{text}");
        }
        assert_eq!(debugger.changes(), 6);
        for text in [
            "1 = 2",
            "%t + 1 = 2",
            "threadIdx.x = 2",
            "out = 3",
            "%s",
            "%s = nosuch",
            "last[99999] = 1",
            "p = 0",
        ] {
            assert!(debugger.assign(text).is_err(), "{text}");
        }
        assert!(debugger.show("%s = 3", Format::Natural).is_err(), "it looks, and changes nothing");
        debugger.go_to(u64::MAX);
        assert_eq!((show(debugger, "out[3]"), show(debugger, "out[4]")), ("77".into(), "20".into()));
        // Behind it there is none of it, and on the way it is made again.
        debugger.go_to(there - 1);
        assert_eq!(
            (show(debugger, "%s"), show(debugger, "out[0]"), debugger.changes()),
            ("12".into(), "0".into(), 0)
        );
        debugger.go_to(there);
        assert_eq!((show(debugger, "%s"), debugger.changes()), ("77".into(), 6));
        debugger.go_to(u64::MAX);
        assert_eq!(show(debugger, "out[3]"), "77");
        // A change from before takes its future away, the later ones included.
        debugger.go_to(there - 1);
        assert!(debugger.assign("%t = 1").is_err(), "it is the thread's number wherever it is read");
        debugger.assign("%s = %s").unwrap();
        debugger.go_to(u64::MAX);
        assert_eq!((show(debugger, "out[3]"), debugger.changes()), ("12".into(), 1));
        assert_eq!(show(debugger, "$x"), "78");
    });
}

#[test]
fn steps_of_a_warp_pass_over_nothing_of_it() {
    debugged(40, |debugger| {
        debugger.points_mut().settings.stepping = Stepping::Warp;
        debugger.set_focus(Dim3::new(0, 0, 0), Dim3::new(33, 0, 0)).unwrap();
        debugger.step(Step::Instruction, 1).unwrap();
        let mut way = Vec::new();
        loop {
            let focus = debugger.focus();
            way.push((debugger.time(), focus.lane, debugger.frames().unwrap()[0].position));
            match debugger.step(Step::Instruction, 1).unwrap() {
                Reason::Stepped => {}
                Reason::Ended | Reason::Exited => break,
                other => panic!("{other:?}"),
            }
        }
        // The lanes part where their sums end, and the focus goes to those that run.
        let lanes: Vec<u32> = way.iter().map(|(_, lane, _)| *lane).collect();
        assert!(lanes.contains(&1) && lanes.contains(&7), "{lanes:?}");
        let of_warp = way.len();
        for (time, lane, position) in way.iter().rev() {
            debugger.step_back(Step::Instruction, 1).unwrap();
            let focus = debugger.focus();
            assert_eq!(
                (debugger.time(), debugger.frames().unwrap()[0].position),
                (*time, *position),
                "{lane}"
            );
            assert_eq!(focus.warp.warp, 1);
        }
        assert!(of_warp > 8 * 5);
    });
}

/// A guarded write, and reads that do not wait for it.
const RACE: &str = ".version 8.0\n.target sm_90\n.address_size 64
    .visible .entry race(.param .u64 p) {
        .reg .b32 %t, %v; .reg .pred %p;
        .shared .align 4 .b32 cell;
        mov.u32 %t, %tid.x;
        setp.eq.u32 %p, %t, 0;
        @%p st.shared.u32 [cell], 7;
        ld.shared.u32 %v, [cell];
        ret;
    }";

#[test]
fn a_race_with_a_guarded_write_is_opened_at_both_ends() {
    let simulator = Simulator::new(DeviceConfig { inspectable: true, ..DeviceConfig::h200() });
    let module = simulator.load(executor::module("race.ptx", RACE).unwrap()).unwrap();
    let launch = Launch::new("race", 1, 64, vec![0; 8]);
    // As racecheck says it: lines of the write and of the read.
    let place = |session: &sim_core::Session<'_, '_>, position: u32| session.place(position);
    let watcher = Watcher::default();
    let options = RunOptions { tools: vec![watcher.factory()], ..RunOptions::default() };
    let report = simulator.launch_stepwise(module, &launch, &options, &mut |session| {
        let count = session.code().insts.len() as u32;
        let text = |session: &sim_core::Session<'_, '_>, position: u32| {
            debugger::program::Program::new(session.code()).text(position)
        };
        let of = |session: &sim_core::Session<'_, '_>, part: &str| {
            (0..count).find(|at| text(session, *at).contains(part)).and_then(|at| place(session, at)).unwrap()
        };
        let mut finding =
            sim_core::Finding::of_launch(sim_core::FindingKind::DataRace, "race".into(), "a race".into());
        finding.other_place = Some(of(session, "st.shared"));
        finding.place = Some(of(session, "ld.shared"));
        finding.threads = (32..64)
            .map(|x| sim_core::ThreadId { block: Dim3::new(0, 0, 0), thread: Dim3::new(x, 0, 0) })
            .collect();
        let (mut points, interrupt) = (Points::default(), Arc::new(AtomicBool::new(false)));
        let mut debugger =
            Debugger::new(session, &mut points, Symbols::default(), watcher.clone(), interrupt);
        debugger.expect([finding]);
        assert_eq!(debugger.open(0).unwrap(), Reason::Finding(0));
        assert_eq!(debugger.focus().warp.warp, 1);
        let then = debugger.time();
        assert_eq!(debugger.open_other(0).unwrap(), Reason::Stepped);
        assert_eq!((debugger.focus().warp.warp, debugger.focus().lane), (0, 0));
        let position = debugger.frames().unwrap()[0].position;
        assert!(debugger.time() < then && debugger.program().text(position).contains("st.shared"));
    });
    assert!(report.unwrap().findings.is_empty());
}

#[test]
fn who_changed_a_register_is_found() {
    debugged(40, |debugger| {
        let line = Location::Line("sums.ptx".into(), 25);
        debugger.add_breakpoint(line, "", Some("threadIdx.x == 35"), None, true).unwrap();
        debugger.go_on();
        let text =
            |debugger: &Debugger<'_, '_, '_>| debugger.program().text(debugger.frames().unwrap()[0].position);
        // The call's result, then what the loop added up, round by round; other lanes have other values.
        for (old, new, by) in
            [("630", "1260", "call"), ("595", "630", "add.u32 %s"), ("561", "595", "add.u32 %s")]
        {
            let Reason::Watchpoint { hit, old: was, new: is, .. } = debugger.last_write("%s", false).unwrap()
            else {
                panic!("it changes")
            };
            assert_eq!((&*was, &*is, hit.lanes, hit.warp.warp), (old, new, 1 << 3, 1));
            assert!(by == "call" || text(debugger).starts_with(by), "{}", text(debugger));
            assert_eq!(debugger.thread(debugger.focus()).x, 35);
        }
        assert!(matches!(
            debugger.last_write("%t", false).unwrap(),
            Reason::Watchpoint { .. } | Reason::Beginning
        ));
        assert!(debugger.last_write("%nosuch", false).is_err());
    });
}

#[test]
fn values_that_were_shown_have_names() {
    debugged(4, |debugger| {
        for (text, number) in [("7 * 6", 1), ("out", 2)] {
            let (bound, _) = debugger.bind(text).unwrap();
            assert_eq!(debugger.keep(&bound).unwrap(), number);
        }
        for (text, value) in [("$1", "42"), ("$$ + 1", "43"), ("$[1]", "0"), ("$$1", "42"), ("$2[0]", "0")] {
            assert_eq!(show(debugger, text), value, "{text}");
        }
        for text in ["$3", "$0", "$$9", "$nosuch"] {
            assert!(debugger.show(text, Format::Natural).is_err(), "{text}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-+*/%&|^~!<>=?:()\\[\\].@,'$ a-c0-9xuf.\"é]{0,40}") {
        let _ = debugger::expression::parse(&text, &|name| name == "a");
        let _ = Location::read(&text, None);
    }
}
