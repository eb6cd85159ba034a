//! Engines agree: random kernels with divergence, loops, barriers and atomics leave the same memory and the same counts.

#[path = "support/random_kernels.rs"]
mod random_kernels;

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use random_kernels::{OWN, Random, THREADS, WORDS, kernel};
use sim_core::{Backend, DeviceConfig, Dim3, Engine, Launch, LaunchReport, Outcome, RunOptions, Simulator};

/// What a run leaves: outcome, counts, memory.
fn run(text: &str, engine: Engine, block: u32, input: &[u8]) -> (String, Vec<u8>) {
    run_and(text, (engine, None), block, input)
}

/// The same with an engine that compiles after so many instructions.
fn run_and(text: &str, engine: (Engine, Option<u64>), block: u32, input: &[u8]) -> (String, Vec<u8>) {
    let (report, bytes) = launched(text, engine, block, input);
    assert_eq!(report.outcome, Outcome::Completed, "{:?}\n{text}", report.findings);
    let mut stats = report.stats;
    stats.time = Default::default();
    (format!("{stats:?} {:?}", report.findings), bytes)
}

/// What a launch reports, and the memory that it leaves.
fn launched(
    text: &str,
    (engine, compile_after): (Engine, Option<u64>),
    block: u32,
    input: &[u8],
) -> (LaunchReport, Vec<u8>) {
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("random.ptx", text.as_bytes().to_vec()));
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}\n{text}", parsed.diagnostics));
    let simulator = Simulator::new(DeviceConfig::h200());
    let module = simulator.load(Arc::new(module)).unwrap();
    let sizes = [input.len() as u64, THREADS as u64 * 4 * OWN, 64];
    let memory = sizes.map(|size| simulator.alloc(size, "memory").unwrap());
    simulator.write(memory[0], input).unwrap();
    simulator.write(memory[1], &vec![0; sizes[1] as usize]).unwrap();
    simulator.write(memory[2], &[0; 64]).unwrap();
    let launch = Launch {
        kernel: "k".into(),
        grid: Dim3::new(2, 1, 1),
        block: Dim3::new(block, 1, 1),
        cluster: None,
        shared_bytes: 0,
        params: memory.iter().flat_map(|address| address.to_le_bytes()).collect(),
        cooperative: false,
    };
    let options = RunOptions {
        engine,
        compile_after,
        jobs: 1,
        max_instructions: Some(1 << 20),
        ..RunOptions::default()
    };
    let report = simulator.launch(module, &launch, &options).unwrap();
    let mut bytes = vec![0; sizes[1] as usize + 64];
    let (out, counts) = bytes.split_at_mut(sizes[1] as usize);
    simulator.read(memory[1], out).unwrap();
    simulator.read(memory[2], counts).unwrap();
    (report, bytes)
}

/// The seeds that tests try: the first 200, or more of them by hand.
fn seeds() -> Range<u64> {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
    };
    let first = number("WARPGRIND_FIRST_KERNEL", 1);
    first..first + number("WARPGRIND_KERNELS", 200)
}

/// What is made of a seed.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Kernel,
    /// A kernel full of races.
    Racy,
    /// A kernel whose barriers wait for a count of threads.
    Counted,
    /// A function that a kernel calls.
    Called,
}

/// A kernel that does as a function what this one does.
fn called(kernel: &str) -> String {
    let parameters = "(.param .u64 in, .param .u64 out, .param .u64 counts)";
    let function = kernel.replace(&format!(".visible .entry k{parameters}"), &format!(".func f{parameters}"));
    format!(
        "{function}
.visible .entry k{parameters} {{
    .reg .b64 %a, %b, %c; .param .b64 a; .param .b64 b; .param .b64 c;
    ld.param.u64 %a, [in]; ld.param.u64 %b, [out]; ld.param.u64 %c, [counts];
    st.param.b64 [a], %a; st.param.b64 [b], %b; st.param.b64 [c], %c;
    call.uni f, (a, b, c);
    ret;
}}
"
    )
}

/// A kernel whose barriers have a count: all wait there, or every other warp only arrives.
fn counted(kernel: &str, seed: u64) -> String {
    let mut text = String::new();
    for (number, part) in kernel.split("    bar.sync 0;\n").enumerate() {
        if let Some(before) = number.checked_sub(1) {
            let (id, halves) = (1 + before % 15, before < 15 && (seed >> (before % 8)) & 1 == 0);
            let which = seed as usize + before;
            writeln!(
                text,
                "{{ .reg .b32 %count, %warp; .reg .pred %one;
    mov.u32 %count, %ntid.x; add.u32 %count, %count, 31; and.b32 %count, %count, -32;
    mov.u32 %warp, %tid.x; shr.u32 %warp, %warp, 5; add.u32 %warp, %warp, {which}; and.b32 %warp, %warp, {};
    setp.eq.u32 %one, %warp, 1; @%one bra arrives; barrier.sync {id}, %count; bra over;
arrives: barrier.arrive {id}, %count;
over: }}",
                u8::from(halves)
            )
            .unwrap();
        }
        text.push_str(part);
    }
    text
}

/// Seeds whose kernels leave something else in compiled code than interpreted.
fn disagreeing(seeds: &[u64], form: Form) -> Vec<u64> {
    let mut random = Random(7);
    let special =
        [0u32, 1, 0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 0x7f80_0001, 0x8000_0000, 0x0000_0007, 0x3f80_0000];
    let words = (0..WORDS + 64).map(|_| match random.below(6) {
        0 => special[random.below(special.len() as u64) as usize],
        1 => random.below(64) as u32,
        2 => (random.below(1000) as f32 - 500.0).to_bits(),
        _ => random.next() as u32,
    });
    let input: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let disagrees = |&seed: &u64| {
        let block = [32, 128, 96, 64, 40, 5, 256, 96, 256, 40, 64, 224][seed as usize % 12];
        let text = kernel(seed, form == Form::Racy, block % 32 == 0);
        let text = match form {
            Form::Called => called(&text),
            Form::Counted => counted(&text, seed),
            Form::Kernel | Form::Racy => text,
        };
        let expected = run(&text, Engine::Interpreter, block, &input);
        // Compiled from the first instruction on, and in the middle of what the interpreter has begun.
        let after = [1, 40, 300, 1500, 6000][seed as usize % 5];
        let engines = [(Engine::Compiled, None), (Engine::Auto, Some(after))];
        let found = engines.map(|engine| run_and(&text, engine, block, &input));
        let Some(found) = found.into_iter().find(|found| *found != expected) else { return false };
        let differs = expected.1.iter().zip(&found.1).position(|(a, b)| a != b);
        let place = differs.map(|at| {
            let word = |bytes: &[u8]| u32::from_le_bytes(*bytes[at / 4 * 4..].first_chunk().unwrap());
            let [expected, found] = [&expected, &found].map(|(_, bytes)| word(bytes));
            format!("byte {} of thread {}: {found:#x}, not {expected:#x}", at % 128, at / 128)
        });
        eprintln!("kernel {seed}: {place:?}\n{}\n{}", expected.0, found.0);
        if seeds.len() == 1 {
            eprintln!("{text}");
        }
        true
    };
    seeds.iter().copied().filter(disagrees).collect()
}

#[test]
fn random_kernels_agree() {
    let seeds: Vec<_> = seeds().collect();
    let wrong = disagreeing(&seeds, Form::Kernel);
    assert!(wrong.is_empty(), "{} of {} kernels: {wrong:?}", wrong.len(), seeds.len());
}

#[test]
fn random_kernels_with_counted_barriers_agree() {
    let seeds: Vec<_> = seeds().collect();
    let wrong = disagreeing(&seeds, Form::Counted);
    assert!(wrong.is_empty(), "{} of {} kernels: {wrong:?}", wrong.len(), seeds.len());
}

#[test]
fn random_functions_agree() {
    let seeds: Vec<_> = seeds().collect();
    let wrong = disagreeing(&seeds, Form::Called);
    assert!(wrong.is_empty(), "{} of {} kernels: {wrong:?}", wrong.len(), seeds.len());
}

/// Two whose groups wait for each other for so long that turns of a block end meanwhile, at other instructions in compiled
/// code: the way of a warp depends on its own past alone.
#[test]
fn turns_of_a_block_change_no_way_of_a_warp() {
    assert_eq!(disagreeing(&[30128, 81176, 6_004_115], Form::Kernel), []);
}

/// Two groups of a function's warp that have waited for as long go on by place, in whatever order an engine found them.
#[test]
fn groups_that_waited_for_as_long_agree() {
    assert_eq!(disagreeing(&[9_121_049], Form::Called), []);
}

/// Threads that wait for each other, some lanes of a warp while the others stand aside. A warp alone looks as often as interpreted.
#[test]
fn threads_that_wait_agree() {
    let bodies = [
        // A lock.
        "again: atom.acquire.gpu.global.cas.b32 %r0, [%counts], 0, 1; setp.ne.u32 %q, %r0, 0; @%q bra again;
         ld.global.u32 %r1, [%counts+4]; mad.lo.u32 %r1, %r1, 3, %i; st.global.u32 [%counts+4], %r1;
         membar.gl; atom.exch.b32 %r0, [%counts], 0;",
        // Each waits for the one before it.
        "setp.eq.u32 %q, %i, 0; @%q bra first;
         again: ld.acquire.gpu.global.u32 %r0, [%flag+-4]; setp.eq.u32 %q, %r0, 0; @%q bra again;
         first: ld.global.u32 %r1, [%counts]; mad.lo.u32 %r1, %r1, 5, %i; st.global.u32 [%counts], %r1;
         st.release.gpu.global.u32 [%flag], 1;",
        // The same, and it does something else meanwhile.
        "setp.eq.u32 %q, %i, 0; mov.u32 %r1, 0; @%q bra first;
         again: add.u32 %r1, %r1, 1; ld.volatile.global.u32 %r0, [%flag+-4]; setp.eq.u32 %q, %r0, 0; @%q bra again;
         first: min.u32 %r1, %r1, 1; st.global.u32 [%flag+4096], %r1; fence.acq_rel.gpu; st.volatile.global.u32 [%flag], 1;",
        // All wait for all.
        "atom.add.u32 %r0, [%counts], 1;
         again: ld.volatile.global.u32 %r0, [%counts]; setp.lt.u32 %q, %r0, %n; @%q bra again;",
        // Who comes first has a turn, and then the next one.
        "atom.add.u32 %r1, [%counts], 1;
         again: nanosleep.u32 20; ld.relaxed.gpu.global.u32 %r0, [%counts+4]; setp.ne.u32 %q, %r0, %r1; @%q bra again;
         ld.global.u32 %r0, [%counts+8]; mad.lo.u32 %r0, %r0, 7, %i; st.global.u32 [%counts+8], %r0;
         fence.sc.gpu; add.u32 %r1, %r1, 1; st.relaxed.gpu.global.u32 [%counts+4], %r1;",
    ];
    for (body, apart, block) in bodies
        .into_iter()
        .flat_map(|body| [(1, 32), (1, 40), (4, 64), (8, 96), (32, 128), (64, 96)].map(|(a, b)| (body, a, b)))
    {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {{
    .reg .b32 %r<3>, %t<2>, %i, %n; .reg .b64 %rd, %flag, %counts; .reg .pred %q;
    ld.param.u64 %flag, [out]; ld.param.u64 %counts, [counts];
    mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %t1, %n, %t0;
    add.u32 %n, %n, {apart} - 1; div.u32 %n, %n, {apart}; mul.lo.u32 %n, %n, 2;
    mad.lo.u32 %r2, %i, 3, 1;
    rem.u32 %t1, %t0, {apart}; setp.ne.u32 %q, %t1, 0; @%q bra over;
    // How many do so before it.
    div.u32 %t0, %t0, {apart}; shr.u32 %t1, %n, 1; mov.u32 %i, %ctaid.x; mad.lo.u32 %i, %i, %t1, %t0;
    mul.wide.u32 %rd, %i, 4; add.s64 %flag, %flag, %rd;
    {body}
over:
    mul.wide.u32 %rd, %r2, 4; ld.param.u64 %flag, [out]; add.s64 %flag, %flag, %rd; st.global.u32 [%flag+8192], %r2;
    ret;
}}
"
        );
        let expected = run(&text, Engine::Interpreter, block, &[0; 4]);
        for engine in [(Engine::Compiled, None), (Engine::Auto, Some(1)), (Engine::Auto, Some(300))] {
            let found = run_and(&text, engine, block, &[0; 4]);
            let what = format!("{engine:?}, one of {apart}, blocks of {block} threads\n{text}");
            assert!(expected.1 == found.1, "{what}");
            if block == 32 {
                assert_eq!(expected.0, found.0, "{what}");
            }
        }
    }
}

/// Warps hand over what is in shared memory through barriers with a count, of which some only arrive.
#[test]
fn warps_that_meet_at_counted_barriers_agree() {
    let bodies = [
        // The first warp fills, the others use it; each slot has a barrier for either.
        ("128", "setp.lt.u32 %q, %me, 32; @%q bra fills;
         uses: and.b32 %slot, %step, 1; add.u32 %id, %slot, 1; barrier.sync %id, 128;
         shl.b32 %t, %slot, 7; add.u32 %t, %t, %at; ld.shared.u32 %r, [%t]; mad.lo.u32 %sum, %sum, 3, %r;
         add.u32 %id, %slot, 3; barrier.arrive %id, 128;
         add.u32 %step, %step, 1; setp.lt.u32 %q, %step, 21; @%q bra uses; bra over;
         fills: and.b32 %slot, %step, 1; setp.lt.u32 %q, %step, 2; @%q bra empty;
         add.u32 %id, %slot, 3; barrier.sync %id, 128;
         empty: mad.lo.u32 %sum, %sum, 5, %me; shl.b32 %t, %slot, 7; add.u32 %t, %t, %at; st.shared.u32 [%t], %sum;
         add.u32 %id, %slot, 1; barrier.arrive %id, 128;
         add.u32 %step, %step, 1; setp.lt.u32 %q, %step, 21; @%q bra fills;"),
        // Pairs of warps by themselves, some of which do more between, and then all.
        ("128", "shr.u32 %id, %me, 6; add.u32 %id, %id, 5;
         uses: st.shared.u32 [%at], %sum; barrier.sync %id, 64; xor.b32 %t, %me, 32; and.b32 %t, %t, 96; shl.b32 %t, %t, 2;
         mov.u32 %r, s; add.u32 %t, %t, %r; ld.shared.u32 %r, [%t]; mad.lo.u32 %sum, %sum, 3, %r; bar.sync 9, 128;
         add.u32 %step, %step, 1; and.b32 %r, %me, %step; and.b32 %r, %r, 32; setp.eq.u32 %q, %r, 0; @%q bra less;
         mad.lo.u32 %sum, %sum, 7, 1; mad.lo.u32 %sum, %sum, 7, 2; mad.lo.u32 %sum, %sum, 7, 3;
         less: setp.lt.u32 %q, %step, 17; @%q bra uses; bar.sync 0; mad.lo.u32 %sum, %sum, 7, 4; bar.sync 0;"),
        // Rings: each warp tells the next one; the number is known when it runs. Then one ends early, and others wait for all.
        ("96", "shr.u32 %slot, %me, 5; add.u32 %r, %slot, 1; rem.u32 %r, %r, 3; add.u32 %r, %r, 1; setp.ne.u32 %q, %slot, 0;
         turn: @%q bra waits; barrier.arrive %r, 64;
         waits: add.u32 %id, %slot, 1; barrier.sync %id, 64; @!%q bra told; barrier.arrive %r, 64;
         told: add.u32 %step, %step, 1; mad.lo.u32 %sum, %sum, 3, %step; setp.lt.u32 %p, %step, 9; @%p bra turn;
         setp.lt.u32 %q, %me, 32; @%q bra over; mov.u32 %id, 11; barrier.sync %id;"),
    ];
    for (block, body) in bodies {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {{
    .reg .b32 %me, %step, %slot, %id, %t, %r, %at, %sum; .reg .b64 %rd, %out; .reg .pred %p, %q; .shared .b32 s[256];
    mov.u32 %me, %tid.x; mov.u32 %step, 0; mov.u32 %sum, %me; mov.u32 %at, s; and.b32 %t, %me, 31; shl.b32 %t, %t, 2;
    add.u32 %at, %at, %t;
    {body}
over:
    ld.param.u64 %out, [out]; mov.u32 %t, %ctaid.x; mov.u32 %r, %ntid.x; mad.lo.u32 %t, %t, %r, %me;
    mul.wide.u32 %rd, %t, 4; add.s64 %out, %out, %rd; st.global.u32 [%out], %sum;
    ret;
}}
"
        );
        let block = block.parse().unwrap();
        let expected = run(&text, Engine::Interpreter, block, &[0; 4]);
        assert!(expected.1.iter().any(|&byte| byte != 0));
        for engine in [(Engine::Compiled, None), (Engine::Auto, Some(1)), (Engine::Auto, Some(300))] {
            let found = run_and(&text, engine, block, &[0; 4]);
            assert_eq!(expected.0, found.0, "{engine:?}\n{text}");
            assert!(expected.1 == found.1, "{engine:?}\n{text}");
        }
    }
}

/// Barriers with a count that never complete, that disagree, or that no device has: code leaves them as it found them.
#[test]
fn counted_barriers_that_fail_are_told_alike() {
    let bodies = [
        // The second warp never comes, or comes for others.
        "@%second bra over; barrier.sync 1, 64; over: ret;",
        "@%second bra other; barrier.sync 1, 96; bra.uni over; other: barrier.sync 2, 64; over: ret;",
        // It has come, but waits for another count, or for all.
        "@%second bra other; barrier.sync 1, 64; bra.uni over; other: barrier.arrive 1, 96; over: ret;",
        "@%second bra other; barrier.arrive 3, 96; bar.sync 3; bra.uni over; other: bar.sync 3; over: ret;",
        "barrier.arrive 3, 96; bar.sync 4; barrier.sync 3, 64; ret;",
        // Numbers and counts that there are not.
        "add.u32 %r, %r, 17; barrier.sync %r, 64; ret;",
        "add.u32 %r, %r, 33; barrier.sync 1, %r; ret;",
        "add.u32 %r, %r, 128; barrier.sync 1, %r; ret;",
        "sub.u32 %r, %r, %r; barrier.arrive 1, %r; ret;",
        // One that comes twice counts twice, and here only.
        "@%second bra over; barrier.arrive 1, 64; barrier.sync 1, 64; ret; over: barrier.sync 1, 64; ret;",
        // Lanes that wait by themselves.
        "@%odd bra other; barrier.sync 1, 64; bra.uni over; other: barrier.sync 1, 64; over: barrier.sync 2, 64; ret;",
    ];
    for body in bodies {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {{
    .reg .b32 %r, %me; .reg .pred %second, %odd;
    mov.u32 %me, %tid.x; setp.ge.u32 %second, %me, 32; and.b32 %r, %me, 1; setp.eq.u32 %odd, %r, 1; mov.u32 %r, 0;
    {body}
}}
"
        );
        let told = |engine| {
            let (report, _) = launched(&text, (engine, None), 64, &[0; 4]);
            format!("{:?}: {:?}", report.outcome, report.findings)
        };
        assert!(told(Engine::Interpreter) == told(Engine::Compiled), "{text}");
    }
}

/// Compiled code keeps the order in which the warps of a block access memory, but for a few that have gone different ways.
#[test]
fn kernels_that_race_agree_almost_always() {
    let seeds: Vec<_> = seeds().collect();
    let wrong = disagreeing(&seeds, Form::Racy);
    assert!(100 * wrong.len() <= seeds.len(), "{} of {} kernels: {wrong:?}", wrong.len(), seeds.len());
}

/// All lanes of a warp, or some, store to one element, and update one, of words and doubles: the last lane's stays, all count,
/// and each is told what those before it have made.
#[test]
fn lanes_that_meet_at_one_element_agree() {
    let mut random = Random(11);
    let input: Vec<u8> = (0..WORDS).flat_map(|_| (random.next() as u32).to_le_bytes()).collect();
    let mut body = String::new();
    let updates = "add.u32 and.b32 or.b32 xor.b32 min.u32 min.s32 max.u32 max.s32 add.u64 max.s64 exch.b32 exch.b64 and.b64 \
                   or.b64 xor.b64 min.s64 min.u64 max.u64 inc.u32 dec.u32 cas.b32 cas.b64 add.f32 add.f64";
    for (at, update) in updates.split(' ').enumerate() {
        let wide = update.ends_with("64");
        let (value, old) = if wide { ("%rd0", "%old") } else { ("%r0", "%r2") };
        // One that many lanes find: what some of them have stored.
        let operands = match (update.starts_with("cas"), wide) {
            (true, true) => format!("%found, {value}"),
            (true, false) => format!("%r3, {value}"),
            (false, _) => value.to_string(),
        };
        let place = 8 * (at % 11);
        for (space, address) in [("global", "%own"), ("shared", "%sown")] {
            let bits = if wide { 64 } else { 32 };
            for guard in ["", "@%p ", "@%q "] {
                let mut told = |operation: String| {
                    // Not what most updates would leave as it is.
                    writeln!(body, "    st.{space}.b{bits} [{address}+{place}], {value};").unwrap();
                    writeln!(
                        body,
                        "    ld.{space}.b{bits} {}, [{address}+{place}];",
                        if wide { "%found" } else { "%r3" }
                    )
                    .unwrap();
                    writeln!(body, "    mov.b{bits} {old}, {value};\n    {operation}").unwrap();
                    if !wide {
                        writeln!(body, "    cvt.u64.u32 %old, %r2;").unwrap();
                    }
                    // The order of what a lane is told counts.
                    writeln!(body, "    mad.lo.u64 %told, %told, 7, %old;").unwrap();
                };
                told(format!("{guard}atom.{space}.{update} {old}, [{address}+{place}], {operands};"));
                if !update.starts_with("exch") && !update.starts_with("cas") {
                    let place = format!("[{address}+{place}]");
                    told(format!(
                        "{guard}red.{space}.{update} {place}, {value}; ld.{space}.b{bits} {old}, {place};"
                    ));
                }
            }
        }
    }
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {{
    .reg .b32 %r<4>, %t<2>, %sown; .reg .b64 %rd<2>, %a0, %own, %old, %told, %found; .reg .pred %p, %q;
    .shared .align 8 .b8 s[4096];
    ld.param.u64 %a0, [in]; ld.param.u64 %own, [out];
    mov.u32 %t0, %tid.x; mul.wide.u32 %rd1, %t0, 8; add.s64 %a0, %a0, %rd1;
    ld.global.u32 %r0, [%a0]; ld.global.u32 %r1, [%a0+4]; mov.b64 %rd0, {{%r0, %r1}};
    mov.u64 %told, 0; and.b32 %r2, %t0, 5; setp.ne.u32 %p, %r2, 0; setp.eq.u32 %q, %r2, 0;
    shr.u32 %t1, %t0, 5; shl.b32 %t0, %t1, 8; mov.u32 %sown, s; add.u32 %sown, %sown, %t0;
    mul.wide.u32 %rd1, %t1, 256; mov.u32 %t1, %ctaid.x; mul.wide.u32 %a0, %t1, 2048;
    add.s64 %own, %own, %rd1; add.s64 %own, %own, %a0;
    st.shared.u64 [%sown], %rd0; st.shared.u32 [%sown+40], %r1; st.shared.u32 [%sown+128], %r0;
{body}
    mov.u32 %t0, %tid.x; and.b32 %t0, %t0, 31; shl.b32 %t0, %t0, 1; add.u32 %t0, %t0, 1; cvt.u64.u32 %old, %t0;
    mul.lo.u64 %told, %told, %old; red.global.add.u64 [%own+176], %told;
    st.global.u32 [%own+128], %r0; st.global.u64 [%own+136], %rd0; st.global.f32 [%own+144], %r1;
    ld.shared.u64 %rd0, [%sown]; st.global.u64 [%own+152], %rd0;
    ld.shared.u64 %rd0, [%sown+40]; st.global.u64 [%own+160], %rd0;
    ld.shared.u32 %r0, [%sown+128]; st.global.u32 [%own+168], %r0;
    ret;
}}
"
    );
    for block in [32, 64, 256, 40, 5] {
        let [expected, found] =
            [Engine::Interpreter, Engine::Compiled].map(|engine| run(&text, engine, block, &input));
        assert!(expected.1.iter().any(|&byte| byte != 0));
        assert_eq!(expected, found, "blocks of {block} threads\n{text}");
    }
}

/// Floats of 16 bits keep subnormal ones where floats of 32 bits lose theirs, and one that is no number has the device's bits.
#[test]
fn halves_agree_beside_floats_that_are_flushed() {
    let mut random = Random(12);
    // Half of the halves have small exponents, some are none.
    let mut half = || match random.next() % 8 {
        0 => 0x7c00 | random.next() as u16 & 0x83ff,
        1..4 => random.next() as u16 & 0x8bff,
        _ => random.next() as u16,
    };
    let input: Vec<u8> = (0..2 * WORDS).flat_map(|_| half().to_le_bytes()).collect();
    let text = ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {
    .reg .b32 %r<9>, %t<2>; .reg .f32 %f<3>; .reg .b16 %h<4>; .reg .b64 %rd<2>, %a, %own; .reg .pred %q;
    ld.param.u64 %a, [in]; ld.param.u64 %own, [out];
    mov.u32 %t0, %tid.x; mul.wide.u32 %rd0, %t0, 8; add.s64 %a, %a, %rd0;
    mov.u32 %t1, %ctaid.x; mul.wide.u32 %rd1, %t1, 2048; add.s64 %own, %own, %rd1; add.s64 %own, %own, %rd0;
    ld.global.u32 %r0, [%a]; ld.global.u32 %r1, [%a+4]; shf.l.wrap.b32 %r2, %r0, %r1, 16;
    and.b32 %t1, %t0, 5; setp.eq.u32 %q, %t1, 1;
    fma.rn.f16x2 %r3, %r0, %r1, %r2;
    mov.b32 %f0, %r0; mov.b32 %f1, %r1; mul.rn.ftz.f32 %f2, %f0, %f1; add.rn.ftz.f32 %f2, %f2, %f1;
    add.rn.ftz.f32 %f2, %f2, %f0; mul.rn.ftz.f32 %f2, %f2, %f2; add.rn.ftz.f32 %f2, %f2, %f2;
    add.rn.f16x2 %r4, %r0, %r1; sub.rn.f16x2 %r5, %r3, %r2; mul.rn.f16x2 %r6, %r0, %r2; add.f16x2 %r7, %r1, %r1;
    @%q fma.rn.f16x2 %r4, %r4, %r1, %r0; @!%q mul.rn.f16x2 %r5, %r5, %r1;
    mov.b32 {%h0, %h1}, %r0; add.rn.f16 %h2, %h0, %h1; fma.rn.f16 %h3, %h0, %h1, %h2; mov.b32 %r8, {%h2, %h3};
    xor.b32 %r3, %r3, %r5; mad.lo.u32 %r3, %r3, 31, %r4; mad.lo.u32 %r3, %r3, 31, %r6; mad.lo.u32 %r3, %r3, 31, %r7;
    mad.lo.u32 %r3, %r3, 31, %r8; mov.b32 %r4, %f2;
    st.global.u32 [%own], %r3; st.global.u32 [%own+4], %r4;
    ret;
}
";
    for block in [256, 40] {
        let [expected, found] =
            [Engine::Interpreter, Engine::Compiled].map(|engine| run(text, engine, block, &input));
        assert!(expected.1.iter().any(|&byte| byte != 0));
        assert_eq!(expected, found, "blocks of {block} threads");
    }
}

/// What is computed of pairs of halves, of bytes and of some bits, and with constants, at many operands.
#[test]
fn parts_of_words_agree() {
    let mut random = Random(13);
    // Small numbers, what is no number, neighbours in size, and anything.
    let mut half = || match random.next() % 16 {
        0 => 0x7c00 | random.next() as u16 & 0x83ff,
        1 => 0x7f80 | random.next() as u16 & 0x807f,
        2..6 => random.next() as u16 & 0x8bff,
        6..11 => 0x3c00 ^ random.next() as u16 & 0x8fff,
        _ => random.next() as u16,
    };
    let input: Vec<u8> = (0..2 * WORDS).flat_map(|_| half().to_le_bytes()).collect();
    let mut steps: Vec<String> = [
        "neg.TYPE d, a",
        "abs.TYPE d, a",
        "min.TYPE d, a, b",
        "max.TYPE d, a, b",
        "min.NaN.TYPE d, a, b",
        "max.NaN.TYPE d, c, b",
        "fma.rn.TYPE d, a, b, c",
        "fma.rn.TYPE d, c, a, a",
        "add.rn.TYPE d, a, b",
        "sub.rn.TYPE d, c, b",
        "mul.rn.TYPE d, a, c",
        "mul.rn.TYPE d, b, b",
        "fma.rn.relu.TYPE d, a, b, c",
    ]
    .iter()
    .flat_map(|step| ["f16x2", "bf16x2"].map(|ty| step.replace("TYPE", ty)))
    .collect();
    steps.extend(["cvt.rn.f16x2.f32 d, f, g", "cvt.rn.bf16x2.f32 d, f, g"].map(str::to_owned));
    steps.extend(
        ["0x5410", "0x7632", "0x3210", "0x0123", "0x4567", "0x7777", "0x1f60"]
            .map(|bytes| format!("prmt.b32 d, a, b, {bytes}")),
    );
    steps.extend((0..40).map(|at| {
        let signed = |bit: u32| if at >> bit & 1 == 0 { "u32" } else { "s32" };
        let (first, bits) = (at * 7 % 33, at * 5 % 34);
        match at % 3 {
            0 => format!("dp4a.{}.{} d, a, b, c", signed(2), signed(3)),
            1 => format!("bfe.{} d, a, {first}, {bits}", signed(1)),
            _ => format!("bfi.b32 d, a, b, {first}, {bits}"),
        }
    }));
    // Next to powers of two, and not.
    let factors = [
        0u32,
        1,
        2,
        3,
        5,
        6,
        7,
        9,
        31,
        33,
        1_664_525,
        i32::MAX as u32,
        1 << 31,
        (1 << 31) + 1,
        u32::MAX,
        u32::MAX - 1,
    ];
    steps.extend(
        factors.iter().flat_map(|factor| {
            [format!("mul.lo.u32 d, a, {factor}"), format!("mad.lo.u32 d, b, {factor}, a")]
        }),
    );
    // As a whole, for some lanes by a guard, and of one value that all have.
    let uses: String = steps
        .iter()
        .flat_map(|step| [("", "%r0"), ("@%q ", "%r0"), ("", "%u")].map(|(guard, a)| (step, guard, a)))
        .map(|(step, guard, a)| {
            let step = step.replace(" d,", " %d,").replace(" a", &format!(" {a}"));
            let step =
                step.replace(" b", " %r1").replace(" c", " %r2").replace(" f", " %f0").replace(" g", " %f1");
            format!("    {guard}{step}; mad.lo.u32 %sum, %sum, 31, %d;\n")
        })
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {{
    .reg .b32 %r<3>, %t<2>, %u, %d, %sum; .reg .f32 %f<2>; .reg .b64 %rd<2>, %a, %own; .reg .pred %q;
    ld.param.u64 %a, [in]; ld.param.u64 %own, [out]; ld.global.u32 %u, [%a+8]; mov.b32 %d, 0; mov.b32 %sum, 0;
    mov.u32 %t0, %tid.x; mul.wide.u32 %rd0, %t0, 8; add.s64 %a, %a, %rd0;
    mov.u32 %t1, %ctaid.x; mul.wide.u32 %rd1, %t1, 2048; add.s64 %own, %own, %rd1; add.s64 %own, %own, %rd0;
    ld.global.u32 %r0, [%a]; ld.global.u32 %r1, [%a+4]; shf.l.wrap.b32 %r2, %r0, %r1, 16;
    mov.b32 %f0, %r0; mov.b32 %f1, %r2; and.b32 %t1, %t0, 5; setp.eq.u32 %q, %t1, 1;
{uses}    st.global.u32 [%own], %sum; st.global.u32 [%own+4], %d;
    ret;
}}
"
    );
    for block in [256, 40] {
        let [expected, found] =
            [Engine::Interpreter, Engine::Compiled].map(|engine| run(&text, engine, block, &input));
        assert!(expected.1.iter().any(|&byte| byte != 0));
        assert_eq!(expected, found, "blocks of {block} threads");
    }
}

/// Elements of every form, as vectors too: bytes of all of them, and the types of stores and loads.
const FORMS: [(u32, &str, &str); 17] = [
    (1, "u8", "s8"),
    (1, "u8", "u8"),
    (2, "u16", "s16"),
    (2, "b16", "u16"),
    (4, "u32", "f32"),
    (8, "u64", "u64"),
    (2, "v2.u8", "v2.s8"),
    (4, "v4.u8", "v4.u8"),
    (4, "v2.u16", "v2.s16"),
    (8, "v4.u16", "v4.u16"),
    (8, "v2.u32", "v2.u32"),
    (16, "v4.u32", "v4.u32"),
    (16, "v2.u64", "v2.u64"),
    // What one stores another loads.
    (4, "v2.u16", "u32"),
    (8, "v4.u16", "v2.u32"),
    (8, "v2.u32", "u64"),
    (16, "v2.u64", "v4.u32"),
];

/// A kernel that stores and loads back each form at the places of a pattern, in one space: all lanes do, or those of a
/// predicate, by a branch or as a guard.
fn accesses(space: &str, pattern: &str, who: &str) -> String {
    let mut body = String::new();
    let registers = |form: &str, first: usize| {
        let kind = if form.ends_with("64") { "%rd" } else { "%r" };
        let kind = if form.ends_with("f32") { "%f" } else { kind };
        let count: usize = form.strip_prefix('v').map_or(1, |rest| rest[..1].parse().unwrap());
        let all: Vec<_> = (first..first + count).map(|at| format!("{kind}{at}")).collect();
        (all.join(", "), all)
    };
    let guard = if who.starts_with("guard") { "@%q " } else { "" };
    for (at, (size, stored, loaded)) in FORMS.into_iter().enumerate() {
        let (values, _) = registers(stored, 0);
        let (targets, all) = registers(loaded, 4);
        writeln!(body, "    mul.wide.u32 %a, %index, {size}; add.s64 %a, %base, %a;").unwrap();
        if who == "branch" {
            writeln!(body, "    @!%q bra L{at};").unwrap();
        }
        let braces = |text: &str, form: &str| match form.starts_with('v') {
            true => format!("{{{text}}}"),
            false => text.to_string(),
        };
        writeln!(body, "    {guard}st.{space}.{stored} [%a+{}], {};", 2 * size, braces(&values, stored))
            .unwrap();
        writeln!(body, "    {guard}ld.{space}.{loaded} {}, [%a+{}];", braces(&targets, loaded), 2 * size)
            .unwrap();
        writeln!(body, "L{at}:").unwrap();
        for register in all {
            match &register[..3] {
                "%rd" => {
                    writeln!(body, "    mov.b64 {{%t0, %t1}}, {register}; xor.b32 %t0, %t0, %t1;").unwrap()
                }
                _ => writeln!(body, "    mov.b32 %t0, {register};").unwrap(),
            }
            writeln!(body, "    mad.lo.u32 %sum, %sum, 31, %t0; add.u32 %r0, %r0, %t0;").unwrap();
        }
    }
    let index = match pattern {
        "following" => "mov.u32 %index, %lane;",
        "one" => "mov.u32 %index, 5;",
        "every second" => "mul.lo.u32 %index, %lane, 2;",
        "every fourth" => "shl.b32 %index, %lane, 2;",
        "backwards" => "sub.u32 %index, 31, %lane;",
        "mixed" => "mul.lo.u32 %index, %lane, 7; and.b32 %index, %index, 31;",
        _ => "shr.u32 %index, %lane, 2;",
    };
    let base = match space {
        "local" => "mov.u64 %base, array;",
        "shared" => "mov.u64 %base, s; mul.wide.u32 %a, %warp, 2048; add.s64 %base, %base, %a;",
        _ => "mov.u64 %base, %own;",
    };
    let who = match who {
        "guard of all" => "and.b32 %t0, %warp, 1; setp.eq.u32 %q, %t0, 0;",
        _ => "mul.lo.u32 %t0, %lane, 5; and.b32 %t0, %t0, 7; setp.lt.u32 %q, %t0, 5;",
    };
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {{
    .reg .b32 %r<9>, %t<2>, %lane, %warp, %index, %sum; .reg .b64 %rd<9>, %a, %base, %own; .reg .f32 %f<9>;
    .reg .pred %q; .local .align 16 .b8 array[2048]; .shared .align 16 .b8 s[8192];
    ld.param.u64 %a, [in]; ld.param.u64 %own, [out];
    mov.u32 %t0, %tid.x; and.b32 %lane, %t0, 31; shr.u32 %warp, %t0, 5;
    mul.wide.u32 %rd0, %t0, 4; add.s64 %a, %a, %rd0;
    ld.global.u32 %r0, [%a]; ld.global.u32 %r1, [%a+4]; ld.global.u32 %r2, [%a+8]; ld.global.u32 %r3, [%a+12];
    mov.b64 %rd0, {{%r0, %r1}}; mov.b64 %rd1, {{%r2, %r3}}; mov.u32 %sum, 1;
    mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mad.lo.u32 %t0, %t0, %t1, 0; shr.u32 %t0, %t0, 5;
    add.u32 %t0, %t0, %warp; mul.wide.u32 %a, %t0, 4096; add.s64 %own, %own, %a;
    mov.u32 %r4, 4; mov.u32 %r5, 5; mov.u32 %r6, 6; mov.u32 %r7, 7; mov.u64 %rd4, 14; mov.u64 %rd5, 15;
    mov.f32 %f4, 0f3F800000;
    {index} {base} {who}
{body}
    mul.wide.u32 %a, %lane, 4; add.s64 %own, %own, %a; st.global.u32 [%own+2048], %sum;
    ret;
}}
"
    )
}

#[test]
fn accesses_of_any_form_agree() {
    let mut random = Random(13);
    let input: Vec<u8> = (0..WORDS + 64).flat_map(|_| (random.next() as u32).to_le_bytes()).collect();
    for space in ["local", "shared", "global"] {
        for pattern in ["following", "one", "every second", "every fourth", "backwards", "mixed", "fours"] {
            for who in ["all", "branch", "guard", "guard of all"] {
                let text = accesses(space, pattern, who);
                let [expected, found] =
                    [Engine::Interpreter, Engine::Compiled].map(|engine| run(&text, engine, 128, &input));
                assert!(expected.1.iter().any(|&byte| byte != 0));
                assert_eq!(expected, found, "{space}, {pattern}, {who}\n{text}");
            }
        }
    }
}

/// Approximate functions of operands of all kinds: of which code has a way for most, and of which some are the host's.
#[test]
fn approximate_functions_agree() {
    let mut body = String::new();
    let functions = "rcp.approx rsqrt.approx sqrt.approx ex2.approx rcp.approx.ftz rsqrt.approx.ftz sqrt.approx.ftz ex2.approx.ftz";
    for function in functions.split(' ') {
        for (at, guard) in ["", "@%q "].into_iter().enumerate() {
            writeln!(body, "    {guard}{function}.f32 %f{at}, %f2;").unwrap();
            writeln!(body, "    st.global.f32 [%own], %f{at}; add.s64 %own, %own, 4;").unwrap();
        }
        writeln!(body, "    @%q bra {};", function.replace('.', "_")).unwrap();
        writeln!(body, "    {function}.f32 %f0, %f3;\n{}:", function.replace('.', "_")).unwrap();
        writeln!(body, "    add.f32 %f1, %f0, %f1;").unwrap();
    }
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counts) {{
    .reg .b32 %t<2>; .reg .f32 %f<4>; .reg .b64 %a, %own; .reg .pred %q;
    ld.param.u64 %a, [in]; ld.param.u64 %own, [out];
    mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mul.lo.u32 %t0, %t0, %t1; mov.u32 %t1, %tid.x; add.u32 %t0, %t0, %t1;
    mul.wide.u32 %own, %t0, 4; add.s64 %a, %a, %own; ld.param.u64 %own, [out];
    ld.global.f32 %f2, [%a]; ld.global.f32 %f3, [%a+4]; mov.f32 %f0, %f3; mov.f32 %f1, %f3;
    and.b32 %t1, %t1, 5; setp.eq.u32 %q, %t1, 4; mul.wide.u32 %a, %t0, 128; add.s64 %own, %own, %a;
{body}
    st.global.f32 [%own], %f1;
    ret;
}}
"
    );
    let mut random = Random(17);
    let special =
        [0u32, 1, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 0x0080_0000, 0x7e80_0001, 0xc2fc_0001];
    for turn in 0..48 {
        // By turn: any exponent, those about one, of one sign, and few or many that are special.
        let words = (0..WORDS + 64).map(|_| {
            let word = random.next() as u32;
            let word = match turn % 4 {
                0 => word,
                1 => word & 0x83ff_ffff | 0x3c00_0000,
                2 => word & 0x7fff_ffff,
                _ => word & 0x03ff_ffff | 0x3f00_0000,
            };
            let rare = if turn % 3 == 0 { 8 } else { 200 };
            match random.below(rare) {
                0 => special[random.below(special.len() as u64) as usize],
                _ => word,
            }
        });
        let input: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        let [expected, found] =
            [Engine::Interpreter, Engine::Compiled].map(|engine| run(&text, engine, 224, &input));
        assert!(expected == found, "turn {turn}: {}\n{}\n{text}", expected.0, found.0);
    }
}
