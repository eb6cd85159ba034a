//! `RunOptions::timeout` ends whatever a kernel does; what many threads do alike costs little.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sim_core::tools::{Context, Event, Wants};
use sim_core::{
    Backend, DeviceConfig, Dim3, Finding, Launch, LaunchReport, Outcome, RunOptions, Simulator, Tool,
    ToolFactory,
};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";
const LIMIT: Duration = Duration::from_millis(400);

/// Runs a kernel `k` with a buffer of 64 KiB as its only parameter.
fn run(text: &str, grid: u32, block: u32, options: &RunOptions) -> LaunchReport {
    let simulator = Simulator::new(DeviceConfig::h200());
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", format!("{HEAD}{text}").into()));
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let id = simulator.load(Arc::new(module)).unwrap();
    let buffer = simulator.alloc(1 << 16, "buffer").unwrap();
    simulator.fill(buffer, 1 << 16, &[0]).unwrap();
    let launch = Launch::new("k", grid, block, buffer.to_le_bytes().to_vec());
    simulator.launch(id, &launch, options).unwrap()
}

/// The kernel has no end; it must be ended in time.
fn ends(what: &str, text: &str, grid: u32, block: u32, options: RunOptions) {
    let start = Instant::now();
    let report = run(text, grid, block, &RunOptions { timeout: Some(LIMIT), ..options });
    let took = start.elapsed();
    assert_eq!(report.outcome, Outcome::LimitReached, "{what}: {:?}", report.findings);
    assert!(took < LIMIT + Duration::from_secs(3), "{what}: {took:?}");
}

/// A function that calls itself `n` times.
const DEEP: &str = ".func (.param .b32 r) f(.param .b32 n) {
.reg .b32 %n, %m; .reg .pred %p; .reg .b64 %q; .local .align 8 .b8 a[16];
ld.param.b32 %n, [n]; mov.u64 %q, a; st.local.u32 [%q], %n; mov.u32 %m, 0; setp.eq.u32 %p, %n, 0; @%p bra E;
sub.u32 %m, %n, 1;
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %m; call (y), f, (x); ld.param.b32 %m, [y]; }
ld.local.u32 %n, [%q]; add.u32 %m, %m, %n;
E: st.param.b32 [r], %m; ret; }
";

fn recursion(depth: &str) -> String {
    format!(
        "{DEEP}.visible .entry k(.param .u64 p) {{ .reg .b32 %x, %t; mov.u32 %t, %laneid; {depth}
L: {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %x; call (b), f, (a); ld.param.b32 %t, [b]; }}
bra L; }}"
    )
}

#[test]
fn recursion_ends_in_time() {
    ends("one chain", &recursion("mov.u32 %x, 4000;"), 1, 1024, RunOptions::default());
    ends("a chain a lane", &recursion("sub.u32 %x, 4000, %t;"), 1, 256, RunOptions::default());
}

/// Each lane has its own call chain; their frames must not be in each other's way.
#[test]
fn call_chains_of_many_lanes() {
    let text = format!(
        "{DEEP}.visible .entry k(.param .u64 p) {{ .reg .b32 %x, %t, %i, %w, %v; .reg .pred %p; mov.u32 %t, %tid.x;
mov.u32 %i, 0;
L: mul.lo.u32 %w, %t, 7; add.u32 %w, %w, %i; and.b32 %w, %w, 127;
{{ .param .b32 a; .param .b32 b; st.param.b32 [a], %w; call (b), f, (a); ld.param.b32 %x, [b]; }}
add.u32 %v, %w, 1; mul.lo.u32 %v, %w, %v; shr.u32 %v, %v, 1; setp.ne.u32 %p, %v, %x; @%p trap;
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 50; @%p bra L; ret; }}"
    );
    for seed in 0..4 {
        let report = run(&text, 2, 96, &RunOptions { seed, jobs: 1, ..RunOptions::default() });
        assert_eq!(report.outcome, Outcome::Completed, "seed {seed}: {:?}", report.findings);
    }
}

#[test]
fn large_local_memory_ends_in_time() {
    let text = ".visible .entry k(.param .u64 p) { .local .align 8 .b8 a[400000]; .reg .b64 %q; .reg .b32 %x;
mov.u64 %q, a; mov.u32 %x, %tid.x; st.local.u32 [%q+1000], %x; ret; }";
    ends("local memory", text, 100_000, 128, RunOptions::default());
}

#[test]
fn a_flood_of_printf_ends_in_time() {
    let text = ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 f[9] = {37, 52, 48, 57, 54, 100, 10, 0};
.visible .entry k(.param .u64 p) { .reg .b32 %x; .reg .b64 %f, %a; .local .align 8 .b8 frame[8];
mov.u64 %f, f; cvta.global.u64 %f, %f; mov.u64 %a, frame; st.local.u32 [%a], 5; cvta.local.u64 %a, %a;
L: { .param .b64 p0; .param .b64 p1; .param .b32 r; st.param.b64 [p0], %f; st.param.b64 [p1], %a;
call.uni (r), vprintf, (p0, p1); ld.param.b32 %x, [r]; }
bra L; }";
    ends("printf", text, 4, 256, RunOptions::default());
    let options = RunOptions { max_instructions: Some(5_000), jobs: 1, ..RunOptions::default() };
    let report = run(text, 1, 128, &options);
    let end = "[the kernel printed more than 64 MiB: the rest is left out]\n";
    assert!(report.output.ends_with(end.as_bytes()) && report.output.len() < 65 << 20);
}

#[test]
fn a_heap_that_is_full_ends_in_time() {
    let text = ".extern .func (.param .b64 r) malloc(.param .b64 size);
.visible .entry k(.param .u64 p) { .reg .b64 %p;
L: { .param .b64 size; .param .b64 r; st.param.b64 [size], 24; call.uni (r), malloc, (size); ld.param.b64 %p, [r]; }
bra L; }";
    ends("malloc", text, 8, 256, RunOptions::default());
}

#[test]
fn a_web_of_indexed_branches_ends_in_time() {
    let labels: Vec<String> = (0..256).map(|at| format!("L{at}")).collect();
    let mut text = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .b32 %i, %t, %h; mov.u32 %t, %tid.x; mov.u32 %h, %t;
ts: .branchtargets {};\nand.b32 %i, %t, 255; brx.idx %i, ts;\n",
        labels.join(", ")
    );
    for label in &labels {
        text += &format!(
            "{label}: mad.lo.u32 %h, %h, 1664525, %t; shr.u32 %i, %h, 9; and.b32 %i, %i, 255; brx.idx %i, ts;\n"
        );
    }
    ends("brx", &(text + "}"), 1, 1024, RunOptions::default());
}

/// What is live in a ladder of loops is found block by block from the other end, each time over all registers.
#[test]
fn decoding_ends_in_time() {
    let mut text = ".visible .entry k(.param .u64 p) { .reg .b32 %r<30000>; .reg .pred %p; .reg .b32 %t;
mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 77;\nL0:\n"
        .to_string();
    (0..30_000).for_each(|at| text += &format!("add.u32 %t, %t, %r{at};\n"));
    (1..6000).for_each(|at| text += &format!("L{at}: @%p bra L{};\n", at - 1));
    ends("decoding", &(text + "ret; }"), 1, 32, RunOptions::default());
    // What is contracted asks again with every instruction that turns out to compute nothing.
    let mut text = ".visible .entry k(.param .u64 p) { .reg .f32 %f<2000>; .reg .pred %p; .reg .b32 %t;
mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 77;\nmul.f32 %f0, %f1, %f2; add.f32 %f3, %f0, %f1; L0:\n"
        .to_string();
    (1..1999).for_each(|at| text += &format!("mov.f32 %f{at}, %f{}; L{at}: @%p bra L{};\n", at + 1, at - 1));
    text += "ret; }";
    ends("contracting", &text, 1, 32, RunOptions::default());
    let interrupt = Some(Arc::new(AtomicBool::new(true)));
    let report = run(&text, 1, 32, &RunOptions { interrupt, ..RunOptions::default() });
    assert_eq!(report.outcome, Outcome::LimitReached, "{:?}", report.findings);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(finding.message, "the launch was interrupted");
}

#[test]
fn long_copies_end_in_time() {
    let text = ".visible .entry k(.param .u64 p) { .shared .align 16 .b8 s[32768];
.reg .b32 %d; .reg .b64 %q; ld.param.u64 %q, [p]; mov.u32 %d, s;
L: cp.async.bulk.global.shared::cta.bulk_group [%q], [%d], 32768; bra L; }";
    ends("bulk copies", text, 1, 256, RunOptions::default());
}

/// A tool that takes a millisecond an access, and notes what is allocated.
struct Slow(Told);

impl Tool for Slow {
    type Block = ();

    const ORDERED: bool = true;

    fn wants(&self) -> Wants {
        Wants::ACCESSES | Wants::ALLOCATIONS
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), _: &dyn Context) {
        match *event {
            Event::Access(_) => std::thread::sleep(Duration::from_millis(1)),
            Event::Allocated { address, bytes } => self.0.lock().unwrap().push((address, bytes)),
            _ => panic!("{event:?}, which it does not want"),
        }
    }
}

/// Addresses and sizes that a tool was told of.
type Told = Arc<Mutex<Vec<(u64, u64)>>>;

fn watched() -> (Told, RunOptions) {
    let allocated = Told::default();
    let list = allocated.clone();
    let tool = ToolFactory::new(move |_| Slow(list.clone()));
    (allocated, RunOptions { tools: vec![tool], ..RunOptions::default() })
}

#[test]
fn a_slow_tool_ends_in_time() {
    let text = ".visible .entry k(.param .u64 p) { .reg .b32 %x; .reg .b64 %q; ld.param.u64 %q, [p];
L: ld.global.u32 %x, [%q]; bra L; }";
    for block in [32, 1024] {
        ends("a slow tool", text, 1, block, watched().1);
    }
}

/// What no memory was found for is not told.
#[test]
fn memory_that_malloc_did_not_find() {
    let text = ".extern .func (.param .b64 r) malloc(.param .b64 size);
.visible .entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %l; .reg .pred %q;
mov.u32 %l, %laneid; setp.eq.u32 %q, %l, 1; selp.b64 %p, 48, 0x1000000000000, %q;
{ .param .b64 size; .param .b64 r; st.param.b64 [size], %p; call.uni (r), malloc, (size); ld.param.b64 %p, [r]; }
ret; }";
    let (allocated, options) = watched();
    assert_eq!(run(text, 1, 32, &options).outcome, Outcome::Completed);
    let allocated = allocated.lock().unwrap();
    assert!(matches!(allocated[..], [(address, 48)] if address != 0), "{allocated:x?}");
}

/// A finding of many threads: the first thread gives the values, and the lowest threads are kept.
#[test]
fn findings_of_many_threads() {
    let text = ".visible .entry k(.param .u64 p) { .reg .b32 %x; .reg .b64 %q; ld.param.u64 %q, [p];
mov.u32 %x, %ctaid.x; mad.wide.u32 %q, %x, 4, %q; st.global.u32 [%q+0x100000], %x; ret; }";
    let start = Instant::now();
    for seed in [0, 3] {
        let report = run(text, 16_384, 1, &RunOptions { seed, ..RunOptions::default() });
        let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
        assert_eq!((finding.count, finding.threads.len()), (16_384, Finding::MAX_THREADS));
        assert!(finding.threads.iter().enumerate().all(|(at, id)| id.block == Dim3::new(at as u32, 0, 0)));
        assert!(finding.message.contains(": 983040 bytes after the end"), "{}", finding.message);
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

/// Which block of several wins depends on the seed, for one job and for two; one seed gives one winner.
#[test]
fn seeds_choose_the_first_block() {
    let text = ".visible .entry k(.param .u64 p) { .reg .b32 %x, %c; .reg .b64 %q; .reg .pred %p;
ld.param.u64 %q, [p]; mov.u32 %c, %ctaid.x; add.u32 %c, %c, 1; atom.global.cas.b32 %x, [%q], 0, %c;
setp.eq.u32 %p, %x, 0; @%p trap; ret; }";
    for blocks in [2, 8] {
        for jobs in [1, 2] {
            let winner = |seed| {
                let report = run(text, blocks, 64, &RunOptions { seed, jobs, ..RunOptions::default() });
                report.findings[0].threads[0].block.x
            };
            let winners: Vec<u32> = (0..30).map(winner).collect();
            let different: std::collections::BTreeSet<_> = winners.iter().collect();
            assert_eq!(different.len() as u32, blocks, "{jobs} jobs: {winners:?}");
            if jobs == 1 {
                assert_eq!(winners[0], 0, "seed 0 keeps the order of the launch");
                assert_eq!(winners, (0..30).map(winner).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn who_waits_at_an_mbarrier_is_told_what_it_lacks() {
    let wait = |expected: &str, init: &str| {
        let text = format!(
            ".visible .entry k(.param .u64 p) {{ .reg .pred %p; .reg .b64 %s; .reg .b32 %r; .shared .align 8 .b64 m[2];
mov.u32 %r, m; {init}
L: mbarrier.try_wait.parity.shared::cta.b64 %p, [%r+8], 0; @!%p bra L; ret; }}"
        );
        let options = RunOptions { max_instructions: Some(10_000), ..RunOptions::default() };
        let report = run(&text, 1, 1, &options);
        assert_eq!(report.outcome, Outcome::LimitReached, "{:?}", report.findings);
        let told = report.findings.iter().find(|finding| finding.message.starts_with("still asking"));
        assert_eq!(told.map(|finding| &*finding.message), Some(expected), "{:?}", report.findings);
    };
    let place = "still asking the mbarrier at byte 8 of shared variable `m` (16 bytes), whose phase";
    wait(
        "still asking the mbarrier at byte 8 of shared variable `m` (16 bytes), which `mbarrier.inval` ended while a thread \
         waits on it",
        "mbarrier.init.shared::cta.b64 [%r+8], 3; mbarrier.inval.shared::cta.b64 [%r+8];",
    );
    wait(
        &format!("{place} lacks 1 arrival and 64 bytes that copies bring"),
        "mbarrier.init.shared::cta.b64 [%r+8], 2; mbarrier.arrive.expect_tx.shared::cta.b64 %s, [%r+8], 64;",
    );
    wait(&format!("{place} lacks 3 arrivals"), "mbarrier.init.shared::cta.b64 [%r+8], 3;");
    wait(
        &format!("{place} lacks 1 arrival and has got 16 bytes that nobody expects (`expect_tx`)"),
        "mbarrier.init.shared::cta.b64 [%r+8], 1; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r+8], 16;",
    );
}

/// Workers take several blocks at a time where no load is strong, and these wait for the one before them all the same.
#[test]
fn blocks_that_wait_without_saying_so_finish() {
    let text = ".visible .entry k(.param .u64 p) {
        .reg .b32 %b, %x; .reg .b64 %q, %o; .reg .pred %p;
        ld.param.u64 %q, [p]; mov.u32 %b, %ctaid.x; mul.wide.u32 %o, %b, 4; add.u64 %q, %q, %o;
        setp.eq.u32 %p, %b, 0; @%p bra FIRST;
        AGAIN: ld.global.cg.u32 %x, [%q+-4]; setp.eq.u32 %p, %x, 0; @%p bra AGAIN;
        FIRST: st.global.u32 [%q], 1; ret; }";
    for jobs in [2, 5] {
        let timeout = Some(Duration::from_secs(120));
        let report = run(text, 4000, 32, &RunOptions { jobs, timeout, ..RunOptions::default() });
        assert_eq!(report.outcome, Outcome::Completed, "{jobs} workers: {:?}", report.findings);
    }
}
