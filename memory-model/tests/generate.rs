//! Tests made from cycles.

use memory_model::generate::{Cycle, SUITE, Word, cycles, cycles_with, relaxations};
use memory_model::model::ModelName;
use memory_model::{Options, Verdict, check, parse};
use std::collections::BTreeSet;

fn cycle(words: &str) -> Cycle {
    made(words).unwrap_or_else(|wrong| panic!("{words}: {wrong}"))
}

fn made(words: &str) -> Result<Cycle, String> {
    let words: Result<Vec<Word>, _> = words.split_whitespace().map(str::parse).collect();
    let words = words.map_err(|wrong: memory_model::generate::WrongWord| wrong.to_string())?;
    Cycle::new(&words).map_err(|wrong| wrong.to_string())
}

fn ptx(cycle: &Cycle) -> String {
    cycle.ptx().unwrap_or_else(|wrong| panic!("{cycle}: {wrong}"))
}

fn judged(text: &str, model: ModelName) -> Verdict {
    let litmus = parse(text).unwrap_or_else(|errors| panic!("{}", errors[0].render("made", text)));
    check(&litmus, &Options { model, ..Options::default() })
}

fn shape(name: &str) -> String {
    let path = format!("{}/testdata/litmus/{name}.litmus", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Cycles, the names of their tests, and written tests that ask the same.
const KNOWN: [(&str, &str, &str); 22] = [
    ("PodWW Rfe PodRR Fre", "MP+po+po", "MP+rlx"),
    ("PodWW Rel Rfe Acq PodRR Fre", "MP+po-rel+acq-po", "MP+rel+acq"),
    ("Wk PodWW Wk Rfe Wk PodRR Wk Fre", "MP+weak-po-weak+weak-po-weak", "MP+weak"),
    ("Fence.sc.gpudWW Rfe Acq PodRR Fre", "MP+fence.sc+acq-po", "MP+fsc+acq"),
    (
        "Wk PodWW Rel.cta Rfe Acq.cta PodRR Wk Fre",
        "MP+weak-po-rel.cta+acq.cta-po-weak",
        "MP+rel.cta+acq.cta-diffcta",
    ),
    (
        "Wk PodWW Rel Rfe.sys Acq PodRR Wk Fre.sys",
        "MP+weak-po-rel+acq-po-weak+in-sys",
        "MP+rel.gpu+acq.gpu-diffgpu",
    ),
    ("PodWR Fre PodWR Fre", "SB+po+po", "SB+rel+acq"),
    ("Fence.sc.gpudWR Fre Fence.sc.gpudWR Fre", "SB+fence.sc+fence.sc", "SB+fence.sc"),
    (
        "Fence.acq_rel.gpudWR Fre Fence.acq_rel.gpudWR Fre",
        "SB+fence.acq_rel+fence.acq_rel",
        "SB+fence.acq_rel",
    ),
    ("PodRW Rfe PodRW Rfe", "LB+po+po", "LB+rlx"),
    ("DpDatadW Rfe DpDatadW Rfe", "LB+data+data", "LB+fakedep"),
    ("Acq PodRW Rfe PodRW Rel Rfe", "LB+acq-po+po-rel", "LB+acq+rel"),
    ("PodWW Rfe PodRW Coe", "S+po+po", "S+rlx"),
    ("PodWW Rel Rfe Acq PodRW Wse", "S+po-rel+acq-po", "S+rel+acq"),
    ("Fence.sc.gpudWW Coe Fence.sc.gpudWR Fre", "R+fence.sc+fence.sc", "R+fence.sc"),
    ("PodWW Coe PodWW Coe", "2+2W+po+po", "2+2W+rlx"),
    ("Rfe Acq PodRR Fre Rfe Acq PodRR Fre", "IRIW+acq-po+acq-po", "IRIW+acq"),
    ("Rfe Fence.sc.gpudRR Fre Rfe Fence.sc.gpudRR Fre", "IRIW+fence.sc+fence.sc", "IRIW+fence.sc"),
    ("PodWW Rel Rfe Acq PodRW Rel Rfe Acq PodRR Fre", "ISA2+po-rel+acq-po-rel+acq-po", "ISA2+rel+acq"),
    ("Rfe Fence.sc.gpudRR Fre Fence.sc.gpudWR Fre", "RWC+fence.sc+fence.sc", "RWC+fence.sc"),
    ("Rfe PosRR Fre", "CoRR+pos", "CoRR+rlx"),
    ("Rfe PosRW Coe", "CoRW+pos", "CoRW2+rlx"),
];

#[test]
fn cycles_of_the_literature() {
    for (words, name, written) in KNOWN {
        let cycle = cycle(words);
        assert_eq!(cycle.name(), name, "{words}");
        // Its own words make it again, and so does any rotation of the edges.
        assert_eq!(made(&cycle.to_string()), Ok(cycle.clone()), "{words}");
        for model in ModelName::ALL {
            let verdicts = [ptx(&cycle), shape(written)].map(|text| judged(&text, model).verdict);
            // What is written may ask whether it is forbidden.
            assert_eq!(verdicts[0], verdicts[1], "{words} under {model}\n{}", ptx(&cycle));
        }
    }
}

#[test]
fn a_cycle_begins_anywhere() {
    let words = ["PodWW", "Rel", "Rfe", "Acq", "PodRR", "Fre"];
    for at in [0, 2, 3, 5] {
        let mut turned = words;
        turned.rotate_left(at);
        assert_eq!(cycle(&turned.join(" ")).name(), "MP+po-rel+acq-po", "{at}");
    }
}

/// The verdicts of tests that no edge alone makes.
#[test]
fn atomics_proxies_barriers_scopes() {
    let cases = [
        // Barriers of a block order what is around them.
        ("Wk BarsWR Wk Fre.cta", "forbidden"),
        ("Wk PodWW Wk BardWR Wk Fre.cta", "forbidden"),
        // An atomic of the chain keeps the release sequence; a plain store ends it.
        ("Wk PodWW Rel Rfe Amo.add Rfe Acq PodRR Wk Fre", "forbidden"),
        ("Wk PodWW Rel.gpu Rfe Acq.gpu PosRW Rfe Acq PodRR Wk Fre", "allowed"),
        // The halves of an atomic acquire and release.
        ("Wk PodWW Rel Rfe Amo.cas PodWW Rel Rfe Acq PodRR Wk Fre", "allowed"),
        ("Wk PodWW Rel Rfe Acq Amo.cas PodWW Rel Rfe Acq PodRR Wk Fre", "forbidden"),
        // Read back through the other proxy and the other address, with and without the fence.
        ("Wk PosWR Async Fri", "allowed"),
        ("Wk Fence.Proxy.asyncsWR Async Fri", "forbidden"),
        ("Wk PosWR Alias Fri", "allowed"),
        ("Wk Fence.Proxy.aliassWR Alias Fri", "forbidden"),
        // Reductions release, too, and atomics acquire.
        ("Wk PodWW Red.Rel Rfe Amo.Acq PodRR Wk Fre", "forbidden"),
        ("Wk PodWW Red Rfe Amo.Acq PodRR Wk Fre", "allowed"),
        // Scopes that hold both threads, and that do not.
        ("Wk PodWW Rel.cta Rfe.cta Acq.cta PodRR Wk Fre.cta", "forbidden"),
        ("Wk PodWW Rel.cta Rfe.cluster Acq.cta PodRR Wk Fre.cluster", "allowed"),
        ("Wk PodWW Rel.cluster Rfe.cluster Acq.cluster PodRR Wk Fre.cluster", "forbidden"),
        ("DpAddrdR Fre PodWW Rel Rfe", "allowed"),
        ("DpCtrldW Rfe DpAddrdW Rfe", "forbidden"),
    ];
    for (words, wanted) in cases {
        let cycle = cycle(words);
        assert_eq!(judged(&ptx(&cycle), ModelName::Isa).verdict, wanted, "{words}\n{}", ptx(&cycle));
    }
}

#[test]
fn families_up_to_six_edges() {
    let all = cycles(&relaxations("Rfe Fre Coe Pod**").expect("well formed"), 6).expect("cycles");
    let names: Vec<String> = all.iter().map(|c| c.name().replace("+po", "")).collect();
    let wanted = "2+2W LB MP R S SB RWC WRC WRR+2W WRW+2W WRW+WR WWC 3.2W 3.LB 3.SB IRIW IRRWIW IRWIW ISA2 W+RWC \
        Z6.0 Z6.1 Z6.2 Z6.3 Z6.4 Z6.5";
    assert_eq!(names, wanted.split_whitespace().collect::<Vec<_>>());
    for cycle in all {
        assert_eq!(judged(&ptx(&cycle), ModelName::Isa).verdict, "allowed", "{}", ptx(&cycle));
    }
}

/// However many threads look for them, the cycles are the same.
#[test]
fn cycles_on_many_threads_are_the_same() {
    let list = relaxations("Rfe Fre Coe [Acq Pod**] [Pod** Rel] Pod** Fence.sc.gpud**").expect("well formed");
    let one = cycles(&list, 5).expect("cycles");
    assert!(one.len() > 100);
    for threads in [2, 3, 64] {
        let many = cycles_with(&list, 5, threads).expect("cycles");
        let names =
            |all: &[Cycle]| all.iter().map(|cycle| (cycle.name(), cycle.to_string())).collect::<Vec<_>>();
        assert_eq!(names(&one), names(&many), "{threads}");
    }
}

/// What a critical cycle asks for is what no machine that interleaves shows: the cycle's edges all say so.
#[test]
fn sequential_consistency_forbids_critical_cycles() {
    let more = "Rfe Fre Coe Rfi Fri Coi Pod** Pos** Amo.add Amo.exch [Amo.cas PodWR]";
    for (vocabulary, longest) in [(SUITE, 6), (more, 5)] {
        let all = cycles(&relaxations(vocabulary).expect("well formed"), longest).expect("cycles");
        let names: BTreeSet<String> = all.iter().map(Cycle::name).collect();
        assert!(
            names.len() == all.len() && all.len() > 100,
            "{} names of {}: {vocabulary}",
            names.len(),
            all.len()
        );
        println!("{} cycles of {vocabulary}", all.len());
        for cycle in all {
            assert_eq!(judged(&ptx(&cycle), ModelName::Sc).verdict, "forbidden", "{cycle}\n{}", ptx(&cycle));
        }
    }
}

#[test]
fn edges_that_make_no_test() {
    let cases = [
        ("", "there is no edge"),
        ("PodWQ", "neither an edge nor an annotation"),
        ("Fence.sc.blockdWW", "neither an edge"),
        ("Rfe.block", "`block` is no scope"),
        ("Rfi.cta", "one thread has no scope"),
        ("Wk.gpu", "has no meaning here"),
        ("PodWW Fre PodWR Fre", "do not meet"),
        ("PodWW PodWW", "say nothing of values"),
        ("Rfe Amo.add Coe", "would come before itself"),
        ("PodWW Rfe", "leads to another location"),
        ("PodWW Rel Rfe Rel PodRR Fre", "a load is no release"),
        ("PodWW Acq Rel Rfe PodRR Fre", "has an annotation already"),
        ("PodWW Tex Coe PodWW Coe", "read only"),
        ("Pod** Po*dWR", "neither an edge"),
        ("Pod** Pod**", "say R or W"),
        ("PodWR Fri", "leads to another location, and none leads back"),
        ("PodWW Rfe PosRW Coi", "leads to another"),
        ("PosWR Fre", "leads to another thread, and none leads back"),
        ("Coe Coe", "would come before itself"),
        ("Coe Coe Rfe Fre", "would come before itself"),
        ("PodWW Rfe.cta PodRR Fre", "narrowest scope"),
        ("BardWW BardWW", "wait for each other"),
        ("Amo.add Amo.add", "do not meet"),
        ("Rfe Wk Amo.add Wk PodWW Rfe PodRR Fre", "no half of an atomic is weak"),
        ("Rfe Alias Amo.add PodWW Rfe PodRR Fre", "take orders and scopes alone"),
    ];
    for (words, wanted) in cases {
        let wrong = made(words).expect_err(words);
        assert!(wrong.contains(wanted), "{words}: {wrong}");
    }
    assert!(relaxations("Rfe [Pod**").is_err() && relaxations("Rfe ]").is_err());
    assert!(cycles(&relaxations("Rfe [Rfe Rfe]").expect("words"), 4).is_err());
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// Words of any kind make a test that can be read, or say why not.
    #[test]
    fn any_words(picked in proptest::collection::vec(0usize..WORDS.len(), 1..9)) {
        let words: Vec<&str> = picked.iter().map(|&at| WORDS[at]).collect();
        if let Ok(cycle) = made(&words.join(" ")) {
            let text = ptx(&cycle);
            parse(&text).unwrap_or_else(|errors| panic!("{}", errors[0].render("made", &text)));
            proptest::prop_assert_eq!(made(&cycle.to_string()), Ok(cycle));
        }
    }
}

const WORDS: [&str; 24] = [
    "Rfe",
    "Fre",
    "Coe",
    "Rfi",
    "Fri",
    "Coi",
    "Rfe.cta",
    "Fre.sys",
    "PodWW",
    "PodWR",
    "PosRW",
    "PodRR",
    "PosRR",
    "Fence.sc.ctadWR",
    "DpAddrdR",
    "DpDatasW",
    "DpCtrldW",
    "Amo.add",
    "BarsWR",
    "Acq",
    "Rel.cta",
    "Wk",
    "Amo",
    "Alias",
];
