//! Source languages: scoped RC11, and mappings to PTX.

use memory_model::cat;
use memory_model::generate::{Cycle, Word, cycles, relaxations};
use memory_model::mapping::{Mapping, SHIPPED, Soundness, judged, soundness};
use memory_model::model::ModelName;
use memory_model::{Options, Property, check, parse};
use proptest::prelude::*;
use std::sync::Arc;

fn judged_by(name: &str) -> Options {
    let text = cat::shipped(name).expect("shipped");
    let model = cat::load(name, text, &cat::no_includes).unwrap_or_else(|error| panic!("{error}"));
    Options { file: Some(Arc::new(model)), ..Options::default() }
}

fn source() -> Options {
    judged_by("scoped-rc11.cat")
}

fn test(words: &str) -> Cycle {
    let words: Result<Vec<Word>, _> = words.split_whitespace().map(str::parse).collect();
    Cycle::new(&words.expect("words")).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn shipped(name: &str) -> Mapping {
    let (_, text) = SHIPPED.iter().find(|(known, _)| *known == name).expect("shipped");
    Mapping::parse(text).unwrap_or_else(|errors| panic!("{}", errors[0].render(name, text)))
}

/// What scoped RC11 says of cycles: a verdict, or that the program has a data race.
#[test]
fn scoped_rc11() {
    let cases = [
        ("Sc PodWR Sc Fre Sc PodWR Sc Fre", "forbidden"),
        ("Rel PodWR Acq Fre Rel PodWR Acq Fre", "allowed"),
        ("Fence.sc.gpudWR Fre Fence.sc.gpudWR Fre", "forbidden"),
        // What is not atomic is read only by who has seen the flag.
        ("Wk PodWW Rel Rfe Acq DpCtrldR Wk Fre", "forbidden"),
        ("Wk PodWW Rel Rfe Acq PodRR Wk Fre", "racy"),
        ("Wk PodWW Rfe DpCtrldR Wk Fre", "racy"),
        ("PodWW Rfe PodRR Fre", "allowed"),
        ("Fence.acq_rel.gpudWW Rfe Fence.acq_rel.gpudRR Fre", "forbidden"),
        ("Fence.release.gpudWW Rfe Fence.acquire.gpudRR Fre", "forbidden"),
        ("Rfe Acq PodRR Acq Fre Rfe Acq PodRR Acq Fre", "allowed"),
        ("Sc Rfe Sc PodRR Sc Fre Sc Rfe Sc PodRR Sc Fre", "forbidden"),
        ("PodWW Coe PodWW Coe", "allowed"),
        ("PodRW Rfe PodRW Rfe", "allowed"),
        ("DpDatadW Rfe DpDatadW Rfe", "forbidden"),
        ("Rfe PosRR Fre", "forbidden"),
        // A read-modify-write goes on with a release sequence, in C++20 a store of another thread does not.
        ("Wk PodWW Rel Rfe Amo.add Rfe Acq DpCtrldR Wk Fre", "forbidden"),
        ("Wk PodWW Rel Rfe PosRW Rfe Acq DpCtrldR Wk Fre", "racy"),
        // Scopes that do not hold the other thread.
        ("Wk PodWW Rel.cta Rfe Acq.cta DpCtrldR Wk Fre", "racy"),
        ("Wk PodWW Rel.cta Rfe.cta Acq.cta DpCtrldR Wk Fre.cta", "forbidden"),
        ("Sc.cta PodWR Sc.cta Fre.cta Sc.cta PodWR Sc.cta Fre.cta", "forbidden"),
        ("Wk PodWW Wk Rfe Wk PodRR Wk Fre", "racy"),
    ];
    for (words, wanted) in cases {
        let text = test(words).source().expect("in the source dialect");
        let litmus = parse(&text).unwrap_or_else(|errors| panic!("{}", errors[0].render("made", &text)));
        let races = check(&litmus, &Options { property: Property::Races, ..source() }).verdict;
        let verdict = check(&litmus, &source()).verdict;
        assert_eq!(if races == "racy" { "racy" } else { verdict }, wanted, "{text}");
        // The models of PTX say nothing of it.
        assert_eq!(check(&litmus, &Options::default()).verdict, "unknown");
    }
}

#[test]
fn tables_that_compilers_have_are_sound() {
    let small = "Rfe Fre Coe [Wk Pod** Rel] [Acq DpCtrld* Wk] [Wk Pod** Amo.Rel] [Amo.Acq DpCtrld* Wk] [Rlx Pod** Rlx] [Sc Pod** Sc] [Amo.Sc Pod** Sc] \
        Fence.acq_rel.gpud** Fence.sc.gpud**";
    let all = cycles(&relaxations(small).expect("well formed"), 5).expect("cycles");
    for name in ["libcu++", "llvm-nvptx", "sycl-cuda", "triton"] {
        let mapping = shipped(name);
        let mut kept = 0;
        for cycle in &all {
            let judged = soundness(&mapping, cycle, &source(), &Options::default());
            assert!(!matches!(judged, Soundness::Broken(_) | Soundness::Unknown), "{name}: {cycle}");
            kept += usize::from(judged == Soundness::Kept);
        }
        assert!(kept > if name == "triton" { 0 } else { 100 }, "{name}: {kept} of {}", all.len());
    }
}

/// Two that are not: atomics of LLVM 22 and all of AdaptiveCpp's forget their order.
#[test]
fn tables_that_compilers_have_and_that_break() {
    let cases = [
        ("llvm-22", "Wk PodWW Amo.Rel Rfe Acq DpCtrldR Wk Fre", true),
        ("llvm-22", "Amo.Sc PodWR Amo.Sc Fre Amo.Sc PodWR Amo.Sc Fre", true),
        ("llvm-22", "Rlx.sys PodWW Rel.sys Rfe.sys Amo.Acq.sys PodRR Rlx.sys Fre.sys", true),
        // It kept those of loads and stores.
        ("llvm-22", "Wk PodWW Rel Rfe Acq DpCtrldR Wk Fre", false),
        ("llvm-22", "Sc PodWR Sc Fre Sc PodWR Sc Fre", false),
        ("adaptivecpp", "Wk PodWW Rel Rfe Acq DpCtrldR Wk Fre", true),
        // PoCL's relaxed accesses are as they should be, its read-modify-writes forget their order.
        ("pocl", "Rlx PosRR Rlx Fre Rlx Rfe", false),
        ("pocl", "Wk PodWW Amo.Rel Rfe Amo.Acq DpCtrldR Wk Fre", true),
        ("adaptivecpp", "Rfe PosRR Fre", true),
        // Fences are stronger than they need be, accesses around them are not atomic.
        ("adaptivecpp", "Fence.sc.gpudWR Fre Fence.sc.gpudWR Fre", false),
        ("adaptivecpp", "Fence.acq_rel.gpudWW Rfe Fence.acq_rel.gpudRR Fre", false),
    ];
    for (name, words, breaks) in cases {
        let judged = soundness(&shipped(name), &test(words), &source(), &Options::default());
        assert_eq!(matches!(judged, Soundness::Broken(_)), breaks, "{name}: {words}: {judged:?}");
        assert!(breaks || judged == Soundness::Kept, "{name}: {words}: {judged:?}");
    }
    // What has a line of its own.
    let text = "C++ cas\n{ x=0; }\n P0@cta 0,gpu 0 ;\n compare_exchange.acquire.system r0, x, 0, 1 ;\n \
        fetch_add.acquire.system r1, x, 1 ;\nexists (x == 2)\n";
    let compiled = shipped("llvm-22").compile(&parse(text).expect("well formed")).expect("in the table");
    assert!(compiled.contains("atom.acquire.sys.cas r0") && compiled.contains("atom.relaxed.gpu.add r1"));
}

/// What OpenCL says otherwise than C++ with scopes.
#[test]
fn opencl() {
    let opencl = judged_by("opencl.cat");
    let ask = |text: &str, options: &Options| {
        let litmus = parse(text).unwrap_or_else(|errors| panic!("{}", errors[0].render("made", text)));
        let races = check(&litmus, &Options { property: Property::Races, ..options.clone() }).verdict;
        let verdict = check(&litmus, options).verdict;
        if races == "racy" { "racy" } else { verdict }
    };
    let cases = [
        ("Wk PodWW Rel Rfe Acq DpCtrldR Wk Fre", "forbidden", "forbidden"),
        ("Sc PodWR Sc Fre Sc PodWR Sc Fre", "forbidden", "forbidden"),
        ("Rfe PosRR Fre", "forbidden", "forbidden"),
        ("PodRW Rfe PodRW Rfe", "allowed", "allowed"),
        // Scopes that hold each other, but are not the same.
        ("PodWW Rel.gpu Rfe Acq.sys PodRR Fre", "racy", "forbidden"),
        ("Wk PodWW Wk Rfe Wk PodRR Wk Fre", "racy", "racy"),
        ("Fence.sc.gpudWR Fre Fence.sc.gpudWR Fre", "forbidden", "forbidden"),
    ];
    for (words, by_opencl, by_rc11) in cases {
        let text = test(words).source().expect("in the source dialect");
        assert_eq!((ask(&text, &opencl), ask(&text, &source())), (by_opencl, by_rc11), "{text}");
    }
    // Atomics synchronise their region; fences both.
    let message = |data: &str, flag: &str, store: &str, load: &str| {
        format!(
            "C++ MP\n{{ {data} x=0; {flag} y=0; }}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n store.na x, 1 | {load} ;\n \
             {store} | bne r0, 1, LC0 ;\n | load.na r1, x ;\n | LC0: ;\nexists (1:r0 == 1 && 1:r1 == 0)\n"
        )
    };
    let (release, acquire) = ("store.release.work_group y, 1", "load.acquire.work_group r0, y");
    for (data, flag, verdict) in
        [("", "", "forbidden"), ("local", "local", "forbidden"), ("local", "", "racy"), ("", "local", "racy")]
    {
        let text = message(data, flag, release, acquire);
        assert_eq!((ask(&text, &opencl), ask(&text, &source())), (verdict, "forbidden"), "{text}");
    }
    let fences = "C++ MP+fences\n{ local x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n \
        store.na x, 1 | load.relaxed.work_group r0, y ;\n \
        fence.release.work_group | fence.acquire.work_group ;\n \
        store.relaxed.work_group y, 1 | bne r0, 1, LC0 ;\n | load.na r1, x ;\n | LC0: ;\n\
        exists (1:r0 == 1 && 1:r1 == 0)\n";
    assert_eq!(ask(fences, &opencl), "forbidden");
    // A barrier orders the regions that it is given, and all threads of the block meet at it.
    let meeting = |data: &str, regions: &str| {
        format!(
            "C++ MP+barrier\n{{ {data} x=0; }}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n store.na x, 1 | work_group_barrier{regions} ;\n \
             work_group_barrier{regions} | load.na r1, x ;\nexists (1:r1 == 0)\n"
        )
    };
    for (data, regions, verdict) in [
        ("", ".global", "forbidden"),
        ("local", ".local", "forbidden"),
        ("", ".global.local", "forbidden"),
        ("local", ".local.global", "forbidden"),
        ("", ".local", "racy"),
        ("local", ".global", "racy"),
    ] {
        let text = meeting(data, regions);
        assert_eq!(ask(&text, &opencl), verdict, "{text}");
        // PTX's barrier orders all memory.
        let compiled = shipped("libcu++").compile(&parse(&text).expect("well formed")).expect("in the table");
        assert_eq!(
            check(&parse(&compiled).expect("PTX"), &Options::default()).verdict,
            "forbidden",
            "{compiled}"
        );
    }
    let without = parse(&meeting("", "")).expect_err("no region");
    assert!(without[0].message.contains("without a region"), "{}", without[0].message);
    // A fence of one region.
    for (regions, verdict) in [(".local", "forbidden"), ("", "forbidden"), (".global", "racy")] {
        let text = fences.replace("fence.release", &format!("fence{regions}.release"));
        let text = text.replace("fence.acquire", &format!("fence{regions}.acquire"));
        // The flag is global: what carries local memory on fences both regions.
        let verdict = if regions == ".local" { "racy" } else { verdict };
        assert_eq!(ask(&text, &opencl), verdict, "{text}");
    }
    // What has the scope of a thread alone synchronises with nobody, and no scope of PTX is one.
    for (release, acquire) in [
        ("store.release.work_item y, 1", "load.acquire.work_item r0, y"),
        ("store.release.work_group y, 1", "load.acquire.work_item r0, y"),
        ("store.release.thread y, 1", "load.acquire.work_group r0, y"),
    ] {
        let text = message("", "", release, acquire);
        assert_eq!((ask(&text, &opencl), ask(&text, &source())), ("racy", "racy"), "{text}");
        assert!(shipped("libcu++").compile(&parse(&text).expect("well formed")).is_err());
    }
    let alone = fences.replace("work_group", "work_item");
    assert_eq!(ask(&alone, &opencl), "racy");
    // Local memory, a thread's scope and regions are words of the source dialect.
    for instruction in
        ["ld.relaxed.work_item r0, x", "fence.sc.work_item", "fence.local.sc.gpu", "work_group_barrier.local"]
    {
        let text = format!("PTX t\n{{ x=0; }}\n P0@cta 0,gpu 0 ;\n {instruction} ;\nexists (x == 1)\n");
        assert!(parse(&text).is_err(), "{text}");
    }
    let errors = parse("PTX t\n{ local x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n");
    assert!(errors.is_err());
}

/// A total order of what is sequentially consistent exists just where nothing that it must contain leads round.
#[test]
fn one_order_of_sequentially_consistent_events() {
    let options = |text: &str| {
        let model = cat::load("made.cat", text, &cat::no_includes).unwrap_or_else(|error| panic!("{error}"));
        Options { file: Some(Arc::new(model)), ..Options::default() }
    };
    let common = "let com = rf | co | fr\nacyclic po-loc | com\nacyclic rf | data";
    let chosen = options(&format!("C11\n{common}\nwith S from linearisations(SC, po)\nirreflexive S; com"));
    let immediate = options(&format!(
        "C11\n{common}\nwith S from linearisations(SC, po)\nlet next = S \\ (S; S)\nempty com & (SC * SC) \\ next+"
    ));
    let acyclic = options(&format!("C11\n{common}\nacyclic [SC]; (po | com); [SC]"));
    let list = relaxations("Rfe Fre Coe [Sc Pod** Sc] [Rlx Pod** Sc] Fence.sc.gpud**").expect("words");
    let (mut forbidden, mut allowed) = (0, 0);
    for cycle in cycles(&list, 4).expect("cycles") {
        let text = cycle.source().expect("in the source dialect");
        let litmus = parse(&text).expect("well formed");
        let [a, b, c] = [&chosen, &immediate, &acyclic].map(|options| check(&litmus, options).verdict);
        assert!(a == c && b == c, "{a} {b} {c}\n{text}");
        forbidden += usize::from(a == "forbidden");
        allowed += usize::from(a == "allowed");
    }
    assert!(forbidden >= 3 && allowed >= 10, "{forbidden} {allowed}");
    // What it is chosen from may depend on what else is chosen, and may lead round: then there is none.
    let none = options(&format!("C11\n{common}\nwith S from linearisations(SC, po | po^-1)"));
    let twice = "C++ two\n{ x=0; y=0; }\n P0@cta 0,gpu 0 ;\n store.seq_cst.device x, 1 ;\n store.seq_cst.device y, 1 ;\nexists (x == 1)\n";
    assert_eq!(check(&parse(twice).expect("well formed"), &none).verdict, "forbidden");
}

/// Every fence and every order of a table is there for something.
#[test]
fn tables_that_forget_something_break() {
    let whole = SHIPPED[0].1;
    let cases = [
        (
            "load.seq_cst    fence.sc.$; ld.acquire.$",
            "load.seq_cst ld.acquire.$",
            "Sc PodWR Sc Fre Sc PodWR Sc Fre",
        ),
        ("store.release   st.release.$", "store.release st.relaxed.$", "PodWW Rel Rfe Acq PodRR Fre"),
        ("load.acquire    ld.acquire.$", "load.acquire ld.relaxed.$", "Wk PodWW Rel Rfe Acq DpCtrldR Wk Fre"),
        (
            "store.seq_cst   fence.sc.$; st.relaxed.$",
            "store.seq_cst st.relaxed.$",
            "PodWW Sc Rfe Acq PodRR Fre",
        ),
        (
            "rmw.acq_rel     atom.acq_rel.$",
            "rmw.acq_rel atom.acquire.$",
            "PodWW Amo.AcqRel Rfe Acq PodRR Fre",
        ),
        (
            "fence.seq_cst   fence.sc.$",
            "fence.seq_cst fence.acq_rel.$",
            "Fence.sc.gpudWR Fre Fence.sc.gpudWR Fre",
        ),
        ("fence.release   fence.acq_rel.$", "fence.release -", "Fence.release.gpudWW Rfe Acq PodRR Fre"),
    ];
    for (line, instead, words) in cases {
        let cycle = test(words);
        let judge = |text: &str| {
            let mapping = Mapping::parse(text).unwrap_or_else(|e| panic!("{}", e[0].render("table", text)));
            soundness(&mapping, &cycle, &source(), &Options::default())
        };
        assert_eq!(judge(whole), Soundness::Kept, "{words}");
        assert!(whole.contains(line), "{line}");
        assert!(matches!(judge(&whole.replace(line, instead)), Soundness::Broken(_)), "{instead}");
    }
    // The published model does not take fence.sc for a release fence.
    let published = Options { model: ModelName::Cat75, ..Options::default() };
    let cycle = test("PodWW Sc Rfe Acq PodRR Fre");
    assert!(matches!(soundness(&shipped("libcu++"), &cycle, &source(), &published), Soundness::Broken(_)));
}

#[test]
fn what_is_compiled_is_the_same_program() {
    let text = "C++ spin\n{ x=1; p=&x; P1:r3=7; }\n P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 ;\n \
        LC0: | fetch_add.acq_rel.block r0, x, r3 ;\n load.seq_cst.device r0, x | compare_exchange.relaxed r1, x, 8, 9 ;\n \
        beq r0, 1, LC0 | exchange.release.cluster r2, x, 2 ;\n goto LC1 | fence.seq_cst.system ;\n \
        store.na [r1], 3 | ;\n LC1: | ;\nfilter (0:r0 != 3)\n~exists (1:r0 == 1 && x == 2)\n";
    let litmus = parse(text).unwrap_or_else(|errors| panic!("{}", errors[0].render("spin", text)));
    let compiled = shipped("libcu++").compile(&litmus).expect("all of it is in the table");
    let wanted = "PTX spin\n{ x = 1; p = &x; P1:r3 = 7; }\n \
        P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0           ;\n \
        LC0:                     | atom.acq_rel.cta.add r0, x, r3     ;\n \
        fence.sc.gpu             | atom.relaxed.sys.cas r1, x, 8, 9   ;\n \
        ld.acquire.gpu r0, x     | atom.release.cluster.exch r2, x, 2 ;\n \
        beq r0, 1, LC0           | fence.sc.sys                       ;\n \
        goto LC1                 |                                    ;\n \
        st.weak [r1], 3          |                                    ;\n \
        LC1:                     |                                    ;\n\
        filter (0:r0 != 3)\n~exists (1:r0 == 1 && x == 2)\n";
    assert_eq!(compiled, wanted);
    parse(&compiled).unwrap_or_else(|errors| panic!("{}", errors[0].render("compiled", &compiled)));
    assert_eq!(judged(&shipped("triton"), &litmus, &source(), &Options::default()), Soundness::Missing);
}

#[test]
fn mistakes_have_places() {
    let cases = [
        ("load.acquire ld.acquire.$\nload.acquire ld.acquire.$\n", "2:1", "has a line already"),
        ("load.release ld.relaxed.$", "1:1", "no operation with an order"),
        ("move.na ld.weak", "1:1", "no operation with an order"),
        ("  store.na  st.weak; st.week", "1:22", "`st.week` is no instruction"),
        ("load.na st.weak", "1:9", "no instruction that `load.na` can become"),
        ("store.relaxed -", "1:1", "becomes 0 accesses"),
        ("load.na ld.weak; ld.weak", "1:1", "becomes 2 accesses"),
        ("fence.seq_cst fence.sc.$;\n", "1:26", "an instruction is missing"),
        ("rmw.relaxed atom.relaxed.$ | x", "1:13", "is no instruction"),
    ];
    for (text, place, message) in cases {
        let errors = Mapping::parse(text).expect_err(text);
        let rendered = errors[0].render("table", text);
        assert!(rendered.starts_with(&format!("table:{place}:")) && rendered.contains(message), "{rendered}");
    }
    let source = [
        ("ld.relaxed.gpu r0, x", "not an operation of the source dialect"),
        ("load r0, x", "without an order"),
        ("load.weak r0, x", "neither an order nor a scope"),
        ("store.acquire.device x, 1", "a store is"),
        ("load.na.device r0, x", "takes no scope"),
        ("fetch_cas.relaxed r0, x, 1", "not an instruction"),
        ("exchange.na r0, x, 1", "an atomic is"),
        ("bar.sync 0", "not an operation"),
    ];
    for (line, message) in source {
        let text = format!("C++ t\n{{ x=0; }}\n P0@cta 0,gpu 0 ;\n {line} ;\nexists (x == 0)\n");
        let errors = parse(&text).expect_err(line);
        assert!(errors[0].message.contains(message), "{line}: {}", errors[0].message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No text makes a table's parser panic, and mistakes lie within it.
    #[test]
    fn any_table(text in "([a-z_.$;# |-]|load|store|rmw|fence|\\.acquire|\\.na|ld|st|atom|\n|é){0,60}") {
        if let Err(errors) = Mapping::parse(&text) {
            prop_assert!(!errors.is_empty());
            errors.iter().for_each(|error| drop(error.render("table", &text)));
        }
    }
}

/// What is weaker in a row's place, and the smallest test that tells both apart: the source forbids it, the table keeps that, and
/// the weaker row does not. cli/LITMUS.md shows them.
const PROVED: [(&str, &str, &str); 18] = [
    ("load.relaxed", "ld.weak", "CoRW+pos"),
    ("load.acquire", "ld.relaxed.$", "S+po-rel+acq-po"),
    ("load.seq_cst", "ld.acquire.$", "R+sc-po-sc+sc-po-sc"),
    ("load.seq_cst", "fence.sc.$; ld.relaxed.$", "S+po-rel+sc-po"),
    ("store.relaxed", "st.weak", "CoRW+pos"),
    ("store.release", "st.relaxed.$", "S+po-rel+sc-po"),
    ("store.seq_cst", "st.relaxed.$", "S+sc-po-sc+sc-po"),
    ("store.seq_cst", "fence.sc.$; st.weak", "S+sc-po-sc+sc-po"),
    ("rmw.acquire", "atom.relaxed.$", "2+2W+amo.acq-po+po-rel"),
    ("rmw.release", "atom.relaxed.$", "S+po-amo.rel+sc-po"),
    ("rmw.acq_rel", "atom.acquire.$", "S+po-amo.ar+sc-po"),
    ("rmw.acq_rel", "atom.release.$", "2+2W+amo.ar-po+po-rel"),
    ("rmw.seq_cst", "atom.acquire.$", "S+po-amo.sc+sc-po"),
    ("rmw.seq_cst", "fence.sc.$; atom.relaxed.$", "2+2W+amo.sc-po+po-rel"),
    ("fence.acquire", "-", "S+po-rel+fence.acquire"),
    ("fence.release", "-", "S+fence.release+sc-po"),
    ("fence.acq_rel", "-", "S+fence.acq_rel+sc-po"),
    ("fence.seq_cst", "fence.acq_rel.$", "2+2W+fence.sc+fence.sc"),
];

#[test]
fn every_row_of_libcu_is_proved() {
    let words = "Rfe Fre Coe PosRR PosWR PosRW PosWW Fence.acquire.gpud** Fence.release.gpud** Fence.acq_rel.gpud** Fence.sc.gpud** \
        [Wk Pod** Rel] [Acq DpCtrld* Wk] [Wk Pod** Amo.Rel] [Amo.Acq DpCtrld* Wk] [Rlx Pod** Rlx] [Rlx Pod** Rel] [Rel Pod** Rel] \
        [Acq Pod** Rlx] [Acq Pod** Acq] [Sc Pod** Sc] [Sc Pod** Rlx] [Sc Pod** Amo.Sc] [Amo.Sc Pod** Sc] [Amo.Sc Pod** Amo.Sc] \
        [Amo.Sc Pod** Rlx] [Rlx Pod** Amo.Sc] [Amo.Acq Pod** Rlx] [Rlx Pod** Amo.Rel] [Amo.AcqRel Pod** Rlx] [Rlx Pod** Amo.AcqRel]";
    let mut all = cycles(&relaxations(words).expect("well formed"), 4).expect("cycles");
    all.sort_by_cached_key(|cycle| (cycle.len(), cycle.source().map_or(0, |text| text.len()), cycle.name()));
    let (whole, text) = (shipped("libcu++"), SHIPPED[0].1);
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let found: Vec<(&str, String, String)> = rows
        .flat_map(|line| {
            let (row, becomes) = line.split_once(char::is_whitespace).expect("two columns");
            weaker(becomes.trim()).into_iter().map(move |weaker| (line, row, weaker))
        })
        .map(|(line, row, weaker)| {
            let without = text.replace(line, &format!("{row} {weaker}"));
            let without =
                Mapping::parse(&without).unwrap_or_else(|e| panic!("{}", e[0].render("table", &without)));
            let judge = |mapping, cycle: &Cycle| soundness(mapping, cycle, &source(), &Options::default());
            let tells = |cycle: &&Cycle| {
                matches!(judge(&without, cycle), Soundness::Broken(_))
                    && judge(&whole, cycle) == Soundness::Kept
            };
            (row, weaker, all.iter().find(tells).map_or_else(|| "none".to_owned(), Cycle::name))
        })
        .collect();
    let found: Vec<(&str, &str, &str)> = found.iter().map(|(a, b, c)| (*a, b.as_str(), c.as_str())).collect();
    assert_eq!(found, PROVED);
    // A package of this crate alone has no page.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/LITMUS.md");
    let Ok(page) = std::fs::read_to_string(page) else { return };
    for (row, weaker, test) in PROVED {
        assert!(page.contains(&format!("| `{row}` | `{weaker}` | `{test}` |")), "{row} {weaker}");
    }
}

/// What a row may become less: without its fence, or with the next weaker order.
fn weaker(becomes: &str) -> Vec<String> {
    let mut list = Vec::new();
    if let Some((_, rest)) = becomes.split_once("; ") {
        list.push(rest.to_owned());
    }
    let (fence, access) =
        becomes.rsplit_once("; ").map_or((String::new(), becomes), |(f, a)| (format!("{f}; "), a));
    let (kind, order) = access.split_once('.').unwrap_or((access, ""));
    let order = order.split('.').next().unwrap_or_default();
    let less: &[&str] = match (kind, order) {
        ("atom", "acq_rel") => &["atom.acquire.$", "atom.release.$"],
        ("atom", "acquire" | "release") => &["atom.relaxed.$"],
        ("ld", "acquire") => &["ld.relaxed.$"],
        ("ld", "relaxed") => &["ld.weak"],
        ("st", "release") => &["st.relaxed.$"],
        ("st", "relaxed") => &["st.weak"],
        ("fence", "sc") => &["fence.acq_rel.$"],
        ("fence", _) => &["-"],
        _ => &[],
    };
    list.extend(less.iter().map(|access| format!("{fence}{access}")));
    list
}
