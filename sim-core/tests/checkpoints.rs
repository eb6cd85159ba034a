//! Launches that stand still, are copied and go on: the same events, the same state, the same memory as without.

use std::sync::{Arc, Mutex};

use sim_core::tools::{Context, Event, Wants};
use sim_core::{
    AccessKind, AsyncPolicy, Backend, Checkpoint, DeviceConfig, DevicePtr, Error, Launch, LaunchReport,
    ModuleId, RunOptions, Session, Shape, Simulator, Stop, Tool, ToolFactory, Until, WarpAccess,
};
use testkit::case;
use testkit::executor::{self, same};

/// Everything.
fn all() -> Wants {
    [Wants::BLOCKS, Wants::ACCESSES, Wants::MBARRIERS, Wants::ASYNCHRONOUS, Wants::FENCES, Wants::WARPS]
        .into_iter()
        .chain([Wants::BARRIERS, Wants::ALLOCATIONS, Wants::PARAMETERS, Wants::INSTRUCTIONS, Wants::WAYS])
        .fold(Wants::NONE, |all, kind| all | kind)
}

/// Events in their order. Those that are told run by run have lists of their own, instruction by instruction: a run ends
/// where the launch stands still, and is told of when it ends.
#[derive(Clone, Default, PartialEq, Debug)]
struct Heard {
    executed: Vec<String>,
    went: Vec<String>,
    others: Vec<String>,
}

/// Writes down all events.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Heard>>);

impl Tool for Recorder {
    type Block = ();

    fn wants(&self) -> Wants {
        all()
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), _: &dyn Context) {
        let mut list = self.0.lock().unwrap();
        match *event {
            Event::Executed { first, end, warps, threads } => {
                list.executed.extend((first..end).map(|at| format!("{at} {warps} {threads}")));
            }
            Event::Went { warp, lanes, first, end } => {
                list.went.extend((first..end).map(|at| format!("{at} {warp:?} {lanes:x}")));
            }
            Event::Access(access) => {
                // Addresses of other lanes are without meaning; what was seen of their shape depends on what is remembered of
                // earlier accesses.
                let lanes = (0..32).filter(|lane| access.lanes >> lane & 1 != 0);
                let mut addresses = [0; 32];
                lanes.for_each(|lane| addresses[lane] = access.addresses[lane]);
                let access = WarpAccess { addresses: &addresses, shape: Shape::Any, ..*access };
                list.others.push(format!("{access:?}"));
            }
            _ => list.others.push(format!("{event:?}")),
        }
    }
}

impl Recorder {
    fn take(&self) -> Heard {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// What was tried of all launches together.
#[derive(Default)]
struct Tried {
    launches: usize,
    pauses: usize,
    in_turns: usize,
    events: usize,
}

/// The simulator, whose every launch is tried from several places.
struct Stepwise {
    simulator: Simulator,
    tried: Mutex<Tried>,
}

impl Heard {
    fn add(&mut self, more: Heard) {
        self.executed.extend(more.executed);
        self.went.extend(more.went);
        self.others.extend(more.others);
    }

    fn is(&self, expected: &Heard, from: &str) {
        let lists = |heard: &'_ Heard| [heard.executed.clone(), heard.went.clone(), heard.others.clone()];
        for (own, expected) in lists(self).iter().zip(&lists(expected)) {
            let differs = own.iter().zip(expected).position(|(a, b)| a != b);
            let at = differs.unwrap_or(own.len().min(expected.len()));
            let (a, b) = (own.get(at), expected.get(at));
            assert_eq!(a, b, "event {at} of {} and {}, {from}", own.len(), expected.len());
        }
    }
}

impl Stepwise {
    fn new() -> Self {
        Stepwise { simulator: Simulator::new(DeviceConfig::h200()), tried: Mutex::default() }
    }

    /// Runs a grid to its end, and again with pauses: from each, it is run to its end, put back, and run again.
    fn try_grid(&self, session: &mut Session<'_, '_>, heard: &Recorder) {
        heard.take();
        let start = session.checkpoint();
        assert_eq!(session.run(Until::End), Stop::Ended);
        let (end, all) = (session.checkpoint(), heard.take());
        let count = end.instructions();
        session.restore(&start);
        assert!(session.checkpoint() == start, "what is put back is what it was");
        let mut tried = self.tried.lock().unwrap();
        tried.launches += 1;
        tried.events += all.executed.len() + all.others.len();
        let mut before = Heard::default();
        let first = [Until::Instructions(1), Until::Events(others(), 1), Until::Events(others(), 7)];
        // Of long ones only the middle.
        let long = count > 5_000;
        let first = first.into_iter().filter(|_| !long);
        let parts = if long { 4..=4 } else { 1..=8 };
        let parts = parts.map(|part| Until::Instructions(count * part / 8));
        for until in first.chain(parts) {
            let ran = session.instructions();
            if session.run(until) == Stop::Ended {
                break;
            }
            before.add(heard.take());
            tried.pauses += 1;
            tried.in_turns += usize::from(session.running().is_some());
            if let Until::Instructions(most) = until {
                // A comparison and the branch on it are done as one.
                let most = most.max(ran);
                assert!(
                    (most..=most + 1).contains(&session.instructions()),
                    "{} of {most}",
                    session.instructions()
                );
            }
            let here = session.checkpoint();
            let copy: Checkpoint = here.clone();
            for copy in [&here, &copy] {
                assert_eq!(session.run(Until::End), Stop::Ended);
                let mut whole = before.clone();
                whole.add(heard.take());
                whole.is(&all, &format!("{until:?} of {count}"));
                assert!(session.checkpoint() == end, "the end is another one");
                session.restore(copy);
                assert!(session.checkpoint() == here);
            }
        }
        assert_eq!(session.run(Until::End), Stop::Ended);
        assert!(session.checkpoint() == end);
    }
}

/// Kinds that are not told run by run.
fn others() -> Wants {
    Wants::ACCESSES | Wants::BARRIERS | Wants::MBARRIERS | Wants::WARPS | Wants::FENCES
}

impl Backend for Stepwise {
    fn name(&self) -> String {
        "step by step".into()
    }
    fn load(&self, module: Arc<ptx_frontend::Module>) -> Result<ModuleId, Error> {
        self.simulator.load(module)
    }
    fn unload(&self, module: ModuleId) -> Result<(), Error> {
        self.simulator.unload(module)
    }
    fn variable(&self, module: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error> {
        self.simulator.variable(module, name)
    }
    fn alloc(&self, bytes: u64, label: &str) -> Result<DevicePtr, Error> {
        self.simulator.alloc(bytes, label)
    }
    fn free(&self, pointer: DevicePtr) -> Result<(), Error> {
        self.simulator.free(pointer)
    }
    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        self.simulator.write(to, bytes)
    }
    fn read(&self, from: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        self.simulator.read(from, bytes)
    }
    fn fill(&self, to: DevicePtr, bytes: u64, pattern: &[u8]) -> Result<(), Error> {
        self.simulator.fill(to, bytes, pattern)
    }
    fn launch(&self, module: ModuleId, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, Error> {
        let heard = Recorder::default();
        let tool = heard.clone();
        let options = RunOptions { tools: vec![ToolFactory::new(move |_| tool.clone())], ..options.clone() };
        self.simulator
            .launch_stepwise(module, launch, &options, &mut |session| self.try_grid(session, &heard))
    }
}

/// Tries all cases of the files of some folders; each must come out as it says, too.
fn try_all(folders: &[&str], options: &[RunOptions]) -> Tried {
    let mut tried = Tried::default();
    for (name, text) in
        executor::files().iter().filter(|(name, _)| folders.iter().any(|f| name.starts_with(f)))
    {
        let module = executor::module(name, text).unwrap();
        for case in case::parse(text).unwrap() {
            for options in options {
                println!("{name}: {} {}, seed {}", case.entry, case.label, options.seed);
                let options = &RunOptions { max_instructions: case.limit, ..options.clone() };
                let backend = Stepwise::new();
                let done = executor::run(&backend, module.clone(), &case, options, same::kind);
                done.unwrap_or_else(|why| panic!("{name}: {} {}: {why}", case.entry, case.label));
                let more = backend.tried.into_inner().unwrap();
                tried.launches += more.launches;
                tried.pauses += more.pauses;
                tried.in_turns += more.in_turns;
                tried.events += more.events;
            }
        }
    }
    tried
}

fn round_robin_and_seeded() -> [RunOptions; 2] {
    [RunOptions::default(), RunOptions { seed: 7, ..RunOptions::default() }]
}

#[test]
fn divergence_calls_barriers_and_warps() {
    let tried = try_all(&["control/", "barrier/", "warp/"], &round_robin_and_seeded());
    assert!(tried.launches >= 60 && tried.pauses >= 300 && tried.in_turns >= 100, "{}", tried.launches);
    assert!(tried.events > 10_000, "{}", tried.events);
}

#[test]
fn atomics_clusters_and_asynchronous_copies() {
    let folders = ["atomic/", "cluster/", "asynchronous/"];
    let tried = try_all(&folders, &round_robin_and_seeded());
    let late = RunOptions { asynchrony: AsyncPolicy::Late, ..RunOptions::default() };
    let random = RunOptions { asynchrony: AsyncPolicy::Random, seed: 3, ..RunOptions::default() };
    let deferred = try_all(&["asynchronous/"], &[late, random]);
    assert!(deferred.launches >= 16 && deferred.pauses >= 100, "{} {}", deferred.launches, deferred.pauses);
    assert!(tried.launches >= 60 && tried.pauses >= 200, "{} {}", tried.launches, tried.pauses);
}

#[test]
fn warpgroups_heap_output_and_faults() {
    let tried = try_all(&["warpgroup/", "runtime/", "fault/"], &[RunOptions::default()]);
    assert!(tried.launches >= 30 && tried.pauses >= 50, "{} {}", tried.launches, tried.pauses);
}

#[test]
fn weak_memory_and_interleaved_blocks() {
    let options = [
        RunOptions { weak: true, seed: 5, ..RunOptions::default() },
        RunOptions { interleave: true, seed: 5, ..RunOptions::default() },
    ];
    let tried = try_all(&["atomic/", "barrier/"], &options);
    assert!(tried.launches >= 30 && tried.pauses >= 200, "{} {}", tried.launches, tried.pauses);
}

/// Has the launch stand still behind each write of an address: a watchpoint.
struct Watch(u64);

impl Tool for Watch {
    type Block = ();

    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), context: &dyn Context) {
        if let Event::Access(access) = event
            && access.kind == AccessKind::Write
            && access.addresses[access.lanes.trailing_zeros() as usize] == self.0
        {
            context.pause();
        }
    }
}

#[test]
fn a_tool_has_the_launch_stand_still_behind_a_write() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry count(.param .u64 p) {
            .reg .b64 %a; .reg .b32 %x; .reg .pred %p;
            ld.param.u64 %a, [p];
            mov.u32 %x, 0;
        again:
            add.u32 %x, %x, 1;
            st.global.u32 [%a], %x;
            st.global.u32 [%a+4], %x;
            setp.lt.u32 %p, %x, 5;
            @%p bra again;
            ret;
        }";
    let simulator = Simulator::new(DeviceConfig::h200());
    let module = simulator.load(executor::module("count.ptx", text).unwrap()).unwrap();
    let watched = simulator.alloc(8, "watched").unwrap();
    let launch = Launch::new("count", 1, 1, watched.to_le_bytes().to_vec());
    let values = || {
        let mut bytes = [0; 8];
        simulator.read(watched, &mut bytes).unwrap();
        [0, 4].map(|at| bytes[at])
    };
    let tools = vec![ToolFactory::new(move |_| Watch(watched))];
    let options = RunOptions { tools, ..RunOptions::default() };
    let directed = simulator.launch_stepwise(module, &launch, &options, &mut |session| {
        let mut first = None;
        for written in 1..=5 {
            assert_eq!(session.run(Until::End), Stop::Paused);
            assert_eq!(values(), [written, written - 1], "the next write is not done");
            let running = session.running().expect("in the middle of a turn");
            assert_eq!((running.lanes, running.warp.block), (1, 0));
            let place = session.place(running.position).unwrap();
            assert_eq!(&text[place.span.start as usize..][..9], "st.global");
            first.get_or_insert_with(|| session.checkpoint());
        }
        assert_eq!(session.run(Until::End), Stop::Ended);
        assert!(session.is_over());
        session.restore(first.as_ref().unwrap());
        assert_eq!(values(), [1, 0]);
        assert_eq!(session.run(Until::End), Stop::Paused);
        assert_eq!(values(), [2, 1]);
    });
    // What the session left runs to its end; in other launches nothing pauses.
    let plain = simulator.launch(module, &launch, &options).unwrap();
    assert_eq!((values(), plain.stats.blocks), ([5, 5], 1));
    assert_eq!(directed.unwrap().stats.warp_instructions, plain.stats.warp_instructions);
    let beside = RunOptions { alone: false, ..RunOptions::default() };
    assert!(simulator.launch_stepwise(module, &launch, &beside, &mut |_| ()).is_err());
}
