//! Termination: loops that wait, loops that write, and barriers that not all reach.

use memory_model::explore::lasso::{Endless, endless};
use memory_model::explore::scheduler::{Scheduler, Unit};
use memory_model::model::ModelName;
use memory_model::program::Op;
use memory_model::skeleton::{Skeleton, Unrolling};
use memory_model::until::Until;
use memory_model::{Limits, Litmus, Options, Property, Verdict, check, parse};
use std::time::Duration;
use testkit::litmus::{FLAVOURS, Flavour, Random, litmus};

fn read(name: &str) -> Litmus {
    let path = format!("{}/testdata/termination/{name}.litmus", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render(name, &text)))
}

fn ends(litmus: &Litmus, model: ModelName) -> Verdict {
    check(litmus, &Options { model, property: Property::Termination, ..Options::default() })
}

#[test]
fn loops_that_write() {
    let cases = [
        // An attempt that fails changes nothing, and a count of attempts decides nothing.
        ("cas-lock-counting-attempts", true),
        ("increment-by-cas", true),
        ("test-and-test-and-set", true),
        // Adding zero is a read.
        ("ticket-lock-add-zero", true),
        ("peterson", true),
        ("one-slot-queue", true),
        // Both step back for each other, again and again.
        ("after-you", false),
        ("exchanges", false),
    ];
    for (name, holds) in cases {
        for model in ModelName::ALL {
            let verdict = ends(&read(name), model);
            assert_eq!(verdict.holds, Some(holds), "{name} under {model}: {:?}", verdict.reason);
        }
    }
    assert_eq!(ends(&read("increment-by-cas-reread"), ModelName::Isa).holds, Some(true));
}

#[test]
fn a_cycle_is_named_by_its_lines() {
    let verdict = ends(&read("exchanges"), ModelName::Isa);
    assert_eq!(verdict.verdict, "may run for ever");
    assert_eq!(
        verdict.reason.as_deref(),
        Some("P0 repeats lines 5, 6, P1 repeats lines 5, 6 and memory comes back to the values it had")
    );
}

#[test]
fn what_stays_unknown_says_why() {
    // Counts on for ever: no state comes back and no bound is enough.
    let counting = "PTX counting\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n\
        LC00: | LC10: ;\natom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1 ;\n\
        bne r0, 1000000, LC00 | bne r0, 1000001, LC10 ;\nexists (x == 0)\n";
    let limits = Limits { time: Some(Duration::from_secs(2)), ..Limits::default() };
    let options = Options { property: Property::Termination, limits, ..Options::default() };
    let verdict = check(&parse(counting).expect("well formed"), &options);
    assert_eq!(verdict.holds, None);
    let reason = verdict.reason.expect("a reason");
    assert!(reason.contains("loop bound") || reason.contains("time limit"), "{reason}");
}

fn skeleton(litmus: &Litmus) -> Skeleton {
    let unrolling = Unrolling {
        bound: 1,
        idle_iterations: 0,
        failed_cas_writes: false,
        outcomes: false,
        max_events: 1000,
        max_nodes: 10_000,
    };
    Skeleton::new(&litmus.program, &[], unrolling).expect("small")
}

/// Under sequential consistency the two ways to find executions that never end agree: idle iterations at the
/// ends of paths, and cycles of states.
#[test]
fn cycles_and_idle_iterations_agree() {
    let (mut ending, mut running) = (0, 0);
    for flavour in FLAVOURS {
        let seeds = if flavour == Flavour::Control { 600 } else { 60 };
        for seed in 0..seeds {
            let text = litmus(seed, flavour);
            let test = parse(&text).expect("generated");
            let barrier = |op: &Op| matches!(op, Op::Bar { .. } | Op::ClusterArrive { .. } | Op::ClusterWait);
            if test.program.threads.iter().flat_map(|t| &t.code).any(|i| barrier(&i.op)) {
                continue;
            }
            let found = endless(&test.program, &skeleton(&test), Scheduler::default(), &Until::default());
            let cycle = match found {
                Endless::Cycle(cycle) => Some(cycle),
                _ => None,
            };
            let verdict = ends(&test, ModelName::Sc);
            match verdict.holds {
                Some(holds) => assert_eq!(holds, cycle.is_none(), "{flavour:?} {seed}: {cycle:?}\n{text}"),
                None => assert!(cycle.is_none() && verdict.verdict != "terminates", "{text}"),
            }
            // What is possible under sequential consistency is possible under the ISA model.
            if cycle.is_some() {
                running += 1;
                assert_ne!(ends(&test, ModelName::Isa).holds, Some(true), "{flavour:?} {seed}\n{text}");
            } else {
                ending += 1;
            }
        }
    }
    assert!(ending > 100 && running > 100, "{ending} end, {running} do not");
}

#[test]
fn barriers_that_not_all_reach() {
    let head = "PTX b\n{ x=0; y=0; }\n";
    let two = "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n";
    let apart = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n";
    let cases: [(&str, &str, bool); 12] = [
        (two, "bar.sync 0 | bar.sync 0 ;\n", true),
        // Each CTA has its own barrier.
        (apart, "bar.sync 0 | bar.sync 0 ;\n", true),
        // One thread meets it twice, the other once.
        (two, "bar.sync 0 | bar.sync 0 ;\nbar.sync 0 | ;\n", false),
        (two, "bar.sync 0 | bar.sync 0 ;\nbar.sync 0 | bar.sync 0 ;\n", true),
        // Two barriers in opposite orders.
        (two, "bar.sync 0 | bar.sync 1 ;\nbar.sync 1 | bar.sync 0 ;\n", false),
        (two, "bar.sync 0 | bar.sync 0 ;\nbar.sync 1 | bar.sync 1 ;\n", true),
        // Whether it is reached depends on the other thread's store.
        (
            two,
            "ld.relaxed.cta r0, x | st.relaxed.cta x, 1 ;\nbne r0, 0, LC0 | bar.sync 0 ;\nbar.sync 0 | ;\nLC0: | ;\n",
            false,
        ),
        // Both read what one wrote before they met: they agree.
        (
            two,
            "st.weak x, 1 | ;\nbar.sync 1 | bar.sync 1 ;\nld.weak r0, x | ld.weak r0, x ;\nbne r0, 1, LC0 | bne r0, 1, LC0 ;\nbar.sync 0 | bar.sync 0 ;\nLC0: | LC0: ;\n",
            true,
        ),
        // An arrival does not wait; a wait without enough arrivals does.
        (two, "bar.cta.arrive 0, 0, 2 | bar.cta.sync 0, 0, 2 ;\n", true),
        (two, "bar.cta.arrive 0, 0, 2 | bar.cta.arrive 0, 0, 2 ;\n", true),
        (two, "bar.cta.sync 0, 0, 3 | bar.cta.sync 0, 0, 3 ;\n", false),
        // The second wait of one thread is a phase that nobody else comes to.
        (two, "bar.cta.sync 0, 0, 2 | bar.cta.arrive 0, 0, 2 ;\nbar.cta.sync 0, 0, 2 | ;\n", false),
    ];
    for (places, code, holds) in cases {
        let text = format!("{head}{places}{code}exists (x == 0)\n");
        let test = parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render("b", &text)));
        let options = Options { property: Property::BarrierDivergence, ..Options::default() };
        let verdict = check(&test, &options);
        assert_eq!(verdict.holds, Some(holds), "{text}{:?}", verdict.reason);
        assert_eq!(verdict.verdict, if holds { "converges" } else { "diverges" });
        // Nothing else in these programs could go on for ever.
        assert_eq!(ends(&test, ModelName::Isa).holds, Some(holds), "{text}");
    }
    let clusters = "PTX c\n{ x=0; }\nP0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 ;\n\
        barrier.cluster.arrive | ld.relaxed.cluster r0, x ;\nbarrier.cluster.wait | beq r0, 0, LC0 ;\n \
        | barrier.cluster.arrive ;\n | barrier.cluster.wait ;\n | LC0: ;\nexists (x == 0)\n";
    let options = Options { property: Property::BarrierDivergence, ..Options::default() };
    assert_eq!(check(&parse(clusters).expect("well formed"), &options).holds, Some(false));
    let always = clusters.replace("beq r0, 0, LC0", "");
    assert_eq!(check(&parse(&always).expect("well formed"), &options).holds, Some(true));
}

/// A thread that has ended does not hold up a barrier of all threads only if it never uses it.
#[test]
fn loops_around_barriers() {
    let text = "PTX rounds\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\nLC0: | LC0: ;\nbar.sync 0 | bar.sync 0 ;\n\
        add r0, r0, 1 | add r0, r0, 1 ;\nblt r0, 2, LC0 | blt r0, ROUNDS, LC0 ;\nexists (x == 0)\n";
    let options = Options { property: Property::BarrierDivergence, ..Options::default() };
    for (rounds, holds) in [("2", true), ("3", false), ("1", false)] {
        let text = text.replace("ROUNDS", rounds);
        let verdict = check(&parse(&text).expect("well formed"), &options);
        assert_eq!(verdict.holds, Some(holds), "{rounds} rounds: {:?}", verdict.reason);
    }
}

fn scheduled(litmus: &Litmus, scheduler: &str, unit: Unit) -> Verdict {
    let scheduler = Scheduler { unit, ..scheduler.parse().expect("a scheduler") };
    let options =
        Options { model: ModelName::Sc, property: Property::Termination, scheduler, ..Options::default() };
    check(litmus, &options)
}

/// Which schedulers a program needs: for each test, whether it ends under each of them.
#[test]
fn schedulers() {
    const SCHEDULERS: [&str; 11] = Scheduler::NAMES;
    let wait = "LC0: | ;\nld.relaxed.gpu r0, x | st.relaxed.gpu x, 1 ;\nbeq r0, 0, LC0 | ;\n";
    let wait_for_earlier = " | LC0: ;\nst.relaxed.gpu x, 1 | ld.relaxed.gpu r0, x ;\n | beq r0, 0, LC0 ;\n";
    // Each takes the lock when it can, and gives it back.
    let lock = "LC0: | LC1: ;\natom.relaxed.gpu.cas r0, x, 0, 1 | atom.relaxed.gpu.cas r0, x, 0, 1 ;\n\
        bne r0, 0, LC0 | bne r0, 0, LC1 ;\nst.relaxed.gpu x, 0 | st.relaxed.gpu x, 0 ;\n";
    // Both have to come by, twice.
    let both = "st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1 ;\nLC0: | LC1: ;\nld.relaxed.gpu r0, y | ld.relaxed.gpu r0, x ;\n\
        beq r0, 0, LC0 | beq r0, 0, LC1 ;\n";
    // Ends as soon as one of them makes two steps in a row.
    let luck = "LC0: | LC1: ;\natom.relaxed.gpu.exch r0, x, 1 | atom.relaxed.gpu.exch r0, x, 2 ;\n\
        bne r0, 1, LC0 | bne r0, 2, LC1 ;\n";
    let cases = [
        (wait, "weak strong"),
        (wait_for_earlier, "weak strong hsa hsa-strong hsa-obe hsa-obe-strong lobe lobe-strong"),
        (lock, "weak strong obe obe-strong hsa-obe hsa-obe-strong lobe lobe-strong"),
        (both, "weak strong"),
        (luck, "strong obe-strong hsa-strong hsa-obe-strong lobe-strong"),
    ];
    for (code, wanted) in cases {
        let text =
            format!("PTX s\n{{ x=0; y=0; }}\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n{code}exists (x == 0)\n");
        let test = parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render("s", &text)));
        let wanted: Vec<&str> = wanted.split(' ').collect();
        for scheduler in SCHEDULERS {
            let verdict = scheduled(&test, scheduler, Unit::Block);
            assert_eq!(
                verdict.holds,
                Some(wanted.contains(&scheduler)),
                "{scheduler}: {:?}\n{text}",
                verdict.reason
            );
        }
        // Threads of one block go on together.
        let together = parse(&text.replace("P1@cta 1", "P1@cta 0")).expect("well formed");
        for scheduler in ["hsa", "obe", "lobe", "hsa-obe"] {
            let holds = wanted.contains(&"weak");
            // Occupancy alone never starts a block; once it has started both go on.
            assert_eq!(
                scheduled(&together, scheduler, Unit::Block).holds,
                Some(holds),
                "{scheduler}\n{text}"
            );
            let alone = scheduled(&together, scheduler, Unit::Thread).holds;
            assert_eq!(alone, Some(wanted.contains(&scheduler)), "{scheduler}\n{text}");
        }
    }
}

/// Random programs of atomic exchanges and branches: who promises more lets more programs end.
#[test]
fn schedulers_that_promise_more() {
    // Each promises what the one before the arrow does, and more.
    const MORE: [(&str, &str); 8] = [
        ("unfair", "hsa"),
        ("unfair", "obe"),
        ("hsa", "hsa-obe"),
        ("obe", "hsa-obe"),
        ("hsa-obe", "lobe"),
        ("lobe", "weak"),
        ("hsa", "hsa-strong"),
        ("weak", "strong"),
    ];
    let mut random = Random::new(18);
    let mut differing = vec![0; MORE.len()];
    for _ in 0..1500 {
        let threads = 2 + random.below(2);
        let mut columns: Vec<Vec<String>> = Vec::new();
        for thread in 0..threads {
            let mut column = vec![format!("P{thread}@cta {thread},gpu 0")];
            let count = 1 + random.below(if threads == 2 { 3 } else { 2 });
            for at in 0..count {
                let location = random.pick(&["x", "x", "y"]);
                let (check, to) = (random.below(2), random.below(count + 1));
                column.push(format!("LC{thread}{at}:"));
                column.push(match random.below(3) {
                    0 => format!("ld.relaxed.gpu r{at}, {location}"),
                    _ => format!("atom.relaxed.gpu.exch r{at}, {location}, {}", random.below(2)),
                });
                column.push(format!("beq r{at}, {check}, LC{thread}{to}"));
            }
            column.push(format!("LC{thread}{count}:"));
            columns.push(column);
        }
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let row = |row: usize| {
            let cells: Vec<&str> = columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
            format!("{} ;\n", cells.join(" | "))
        };
        let code: String = (0..rows).map(row).collect();
        let text = format!("PTX s\n{{ x=0; y=0; }}\n{code}exists (x == 0)\n");
        let test = parse(&text).unwrap_or_else(|e| panic!("{}", e[0].render("s", &text)));
        for ((less, more), differing) in MORE.iter().zip(&mut differing) {
            let [less, more] = [less, more].map(|s| scheduled(&test, s, Unit::Block).holds.expect("small"));
            assert!(more || !less, "{text}");
            *differing += usize::from(more != less);
        }
    }
    differing.remove(4);
    assert!(differing.iter().all(|&n| n > 1), "{differing:?}");
    // Who has seen that the last block goes on waits for the one between, which only lobe then lets go on.
    let text = "PTX s\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 ;\n\
        ld.relaxed.gpu r0, x | st.relaxed.gpu y, 1 | st.relaxed.gpu x, 1 ;\nbeq r0, 0, LC1 | | ;\nLC0: | | ;\n\
        ld.relaxed.gpu r0, y | | ;\nbeq r0, 0, LC0 | | ;\nLC1: | | ;\nexists (x == 0)\n";
    let test = parse(text).unwrap_or_else(|e| panic!("{}", e[0].render("s", text)));
    let holds = ["hsa-obe", "lobe"].map(|scheduler| scheduled(&test, scheduler, Unit::Block).holds);
    assert_eq!(holds, [Some(false), Some(true)]);
}
