//! Verdicts on the classic shapes under every model, on larger programs, and on the properties.

use memory_model::model::ModelName;
use memory_model::{Limits, Options, Property, Verdict, check, parse};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder)
}

fn verdict_of(text: &str, options: &Options) -> Verdict {
    let litmus = parse(text).unwrap_or_else(|e| panic!("{}", e[0].render("test", text)));
    check(&litmus, options)
}

fn read(folder: &str, file: &str) -> String {
    let path = data(folder).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Rows of `expected.csv`: file, verdict under `isa`, verdict under both published models.
fn expected() -> Vec<(String, String, String)> {
    let rows: Vec<_> = read("litmus", "expected.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let mut cells = line.split(',').map(str::to_owned);
            let mut next = || cells.next().expect("three cells");
            (next(), next(), next())
        })
        .collect();
    assert_eq!(rows.len(), 86);
    rows
}

#[test]
fn the_86_shapes_under_all_models() {
    for model in [ModelName::Isa, ModelName::Cat75, ModelName::Cat60] {
        for (file, isa, cat) in expected() {
            let want = if model == ModelName::Isa { isa } else { cat };
            let verdict = verdict_of(&read("litmus", &file), &Options { model, ..Options::default() });
            assert_eq!(verdict.verdict, want, "{file} under {model}");
            assert_eq!(verdict.holds, Some(want != "forbidden"), "{file} under {model}");
        }
    }
}

/// The release build takes hundredths of a second; this one has room for a slow machine.
#[test]
fn the_86_shapes_are_fast() {
    let texts: Vec<String> = expected().iter().map(|(file, ..)| read("litmus", file)).collect();
    let start = Instant::now();
    for text in &texts {
        verdict_of(text, &Options::default());
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Every node of a graph is declared once and has an edge that is seen, and no edge is drawn twice.
fn well_drawn(dot: &str) {
    let seen: Vec<&str> = dot.lines().filter(|l| l.contains("->") && !l.contains("style=invis")).collect();
    let edges: BTreeSet<&str> = seen.iter().map(|l| l.split(", color").next().expect("a line")).collect();
    assert_eq!(edges.len(), seen.len(), "{dot}");
    let ends: BTreeSet<&str> =
        edges.iter().flat_map(|l| l.split([' ', '[']).filter(|word| word.starts_with('n'))).collect();
    for line in dot.lines().filter(|l| l.contains("style=rounded")) {
        let node = line.split_whitespace().next().expect("a node");
        assert!(ends.contains(node), "{node} has no edge\n{dot}");
    }
    for end in ends {
        let declarations =
            dot.lines().filter(|l| l.trim_start().starts_with(&format!("{end} [label"))).count();
        assert_eq!(declarations, 1, "{end}\n{dot}");
    }
}

#[test]
fn shapes_are_explained() {
    for (file, isa, _) in expected() {
        let verdict = verdict_of(&read("litmus", &file), &Options { explain: true, ..Options::default() });
        if isa == "allowed" {
            let shown = verdict.witness.unwrap_or_else(|| panic!("{file} has no witness"));
            assert!(shown.table().contains("reads from"), "{file}");
            well_drawn(&shown.dot(&file));
        } else {
            // Either no choice of values comes close, or some axiom cuts each candidate.
            assert!(!verdict.cuts.is_empty() || verdict.effort.candidates == 0, "{file}");
            for cut in verdict.cuts {
                well_drawn(&cut.dot(&file));
                let closed = cut.cycle.first().map(|s| s.from) == cut.cycle.last().map(|s| s.to);
                let consecutive = cut.cycle.windows(2).all(|w| w[0].to == w[1].from);
                let path = matches!(cut.axiom.as_str(), "Atomicity" | "Final value");
                assert!(consecutive && (closed || path), "{file}: {}", cut.text());
            }
        }
    }
}

#[test]
fn sequential_consistency_forbids_what_it_should() {
    let options = Options { model: ModelName::Sc, ..Options::default() };
    for file in [
        "SB+rel+acq.litmus",
        "LB+rlx.litmus",
        "IRIW+acq.litmus",
        "MP+weak.litmus",
        "2+2W+rlx.litmus",
        "CoRR+weak.litmus",
        "R+fence.acq_rel.litmus",
        "Atom+add+cta-diffcta.litmus",
    ] {
        assert_eq!(verdict_of(&read("litmus", file), &options).verdict, "forbidden", "{file}");
    }
    for file in ["CoWR-race.litmus", "Coh-weak-final.litmus", "MP+bar.litmus"] {
        assert_eq!(verdict_of(&read("litmus", file), &options).holds, Some(true), "{file}");
    }
}

#[test]
fn larger_programs() {
    let cases = [
        ("ticket-lock-3", true),
        ("ticket-lock-3-relaxed", true),
        ("ticket-lock-4", true),
        ("cas-lock-3", true),
        ("cas-lock-3-relaxed", true),
        ("cas-lock-3-cta", true),
        ("exch-lock-2", true),
        ("exch-lock-3", true),
        ("adds-10", true),
        ("adds-10-lost", false),
        ("adds-5x2", true),
        ("adds-8-order", true),
        ("xf-barrier-3x3", true),
        ("xf-barrier-3x3-relaxed", true),
        ("xf-barrier-3x3-no-acquire", true),
    ];
    for (file, holds) in cases {
        let text = read("large", &format!("{file}.litmus"));
        for model in [ModelName::Isa, ModelName::Cat75] {
            let start = Instant::now();
            let verdict = verdict_of(&text, &Options { model, bound: Some(3), ..Options::default() });
            assert_eq!(verdict.holds, Some(holds), "{file} under {model}: {:?}", verdict.reason);
            assert!(start.elapsed() < Duration::from_secs(60), "{file}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn locks_end_and_broken_ones_do_not() {
    let termination = Options { property: Property::Termination, ..Options::default() };
    for file in ["ticket-lock-3", "cas-lock-3", "exch-lock-2", "xf-barrier-3x3"] {
        let text = read("large", &format!("{file}.litmus"));
        assert_eq!(verdict_of(&text, &termination).holds, Some(true), "{file}");
    }
    let never_unlocked =
        read("large", "cas-lock-3.litmus").replace("st.release.gpu m, 0", "st.release.gpu y, 0");
    for model in [ModelName::Isa, ModelName::Cat75] {
        let verdict = verdict_of(&never_unlocked, &Options { model, ..termination.clone() });
        assert_eq!(verdict.holds, Some(false), "{model}");
    }
    let never_unlocked =
        read("large", "exch-lock-3.litmus").replace("st.release.gpu m, 0", "st.release.gpu y, 0");
    assert_eq!(verdict_of(&never_unlocked, &termination).holds, Some(false));
}

#[test]
fn races_and_their_classes() {
    let races = Options { property: Property::Races, ..Options::default() };
    let cases = [
        ("MP+rel+acq", Some("weak against weak")),
        ("MP+weak", Some("weak against weak")),
        ("MP+rel.gpu+acq.cta-diffcta", Some("insufficient scope")),
        ("Atom+weakstore", Some("weak against strong")),
        ("Atom+add+cta-diffcta", Some("insufficient scope")),
        ("SB+rel+acq", None),
        ("IRIW+acq", None),
        ("LB+rlx", None),
        ("MP+bar", None),
        ("Atom+add+gpu", None),
    ];
    for (file, class) in cases {
        let verdict = verdict_of(&read("litmus", &format!("{file}.litmus")), &races);
        assert_eq!(verdict.holds, Some(class.is_none()), "{file}");
        if let Some(class) = class {
            let race = verdict.race.expect("a race");
            let found = race.class.as_str();
            // MP with a scope too narrow also races on its data.
            assert!(found == class || file.contains("acq.cta"), "{file}: {found}");
        }
    }
    // The data is read only if the flag was seen: no race.
    let guarded = "PTX guarded\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n\
        st.weak x, 1 | ld.acquire.gpu r0, y ;\nst.release.gpu y, 1 | bne r0, 1, LC0 ;\n | ld.weak r1, x ;\n\
        | LC0: ;\nforall (1:r0 == 0 \\/ 1:r1 == 1)\n";
    assert_eq!(verdict_of(guarded, &races).holds, Some(true));
    for file in ["ticket-lock-3", "cas-lock-3"] {
        let text = read("large", &format!("{file}.litmus"));
        assert_eq!(verdict_of(&text, &races).holds, Some(true), "{file}");
    }
    let text = read("large", "cas-lock-3-cta.litmus");
    assert_eq!(verdict_of(&text, &races).holds, Some(false));
}

#[test]
fn barrier_divergence() {
    let divergence = Options { property: Property::BarrierDivergence, ..Options::default() };
    let agree = read("litmus", "MP+bar.litmus");
    assert_eq!(verdict_of(&agree, &divergence).holds, Some(true));
    let differ = "PTX differ\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\nld.relaxed.cta r0, x | st.relaxed.cta x, 1 ;\n\
        bne r0, 0, LC0 | bar.cta.sync 0 ;\nbar.cta.sync 0 | ;\nLC0: | ;\nexists (0:r0 == 1)\n";
    assert_eq!(verdict_of(differ, &divergence).holds, Some(false));
    assert_eq!(
        verdict_of(differ, &Options { property: Property::Termination, ..Options::default() }).holds,
        Some(false)
    );
}

#[test]
fn outcomes_are_listed_and_counted() {
    let options = Options { outcomes: true, count: true, ..Options::default() };
    let verdict = verdict_of(&read("litmus", "SB+rel+acq.litmus"), &options);
    assert!(verdict.outcomes_complete);
    assert_eq!(verdict.observables, ["0:r0", "1:r0"]);
    let values: Vec<_> = verdict.outcomes.iter().map(|o| (o.values.clone(), o.satisfies)).collect();
    assert_eq!(values, [(vec![0, 0], true), (vec![0, 1], false), (vec![1, 0], false), (vec![1, 1], false)]);
    assert!(verdict.outcomes.iter().all(|o| o.executions == Some(1)));
    // Section 1.11 of the notes counts n! executions of n relaxed additions to one cell.
    let two = "PTX two\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 ;\n\
        atom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1 ;\nforall (x == 3)\n";
    let verdict = verdict_of(two, &options);
    assert_eq!(verdict.outcomes.iter().map(|o| o.executions).collect::<Vec<_>>(), [Some(6)]);
}

#[test]
fn what_cannot_be_decided_says_so() {
    let counting = "PTX counting\n{ x=0; }\nP0@cta 0,gpu 0 ;\nLC0: ;\natom.relaxed.gpu.add r0, x, 1 ;\nblt r0, 99, LC0 ;\n\
        exists (x == 5)\n";
    let verdict = verdict_of(counting, &Options { bound: Some(3), ..Options::default() });
    assert_eq!((verdict.holds, verdict.verdict), (None, "unknown"));
    let needs = "nothing was found within the loop bound of 3 (7 events), but loops can run longer; --bound 6 has 13 events";
    assert_eq!(verdict.reason.as_deref(), Some(needs));
    let few = Limits { events: 10, ..Limits::default() };
    let verdict = verdict_of(counting, &Options { limits: few, ..Options::default() });
    let needs = "too large: more than 10 events; with loops entered 8 times it has 17 events";
    assert_eq!(verdict.reason.as_deref(), Some(needs));
    let none = Limits { time: Some(std::time::Duration::ZERO), ..Limits::default() };
    let verdict = verdict_of(counting, &Options { limits: none, ..Options::default() });
    let needs = "the time limit was reached, at a loop bound of 1 with 3 events";
    assert_eq!(verdict.reason.as_deref(), Some(needs));
    let mixed = "PTX mixed\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\nst.weak.u32 x, 1 | ld.weak.u16 r0, x ;\n\
        exists (1:r0 == 1)\n";
    let verdict = verdict_of(mixed, &Options::default());
    assert_eq!((verdict.holds, verdict.verdict), (None, "undefined"));
    assert_eq!(verdict.race.expect("a race").class.as_str(), "mixed-size");
    let ordered = mixed.replace("cta 1", "cta 0").replace("exists", "bar.cta.sync 0 | ;\nexists");
    let ordered = ordered.replace(
        "st.weak.u32 x, 1 | ld.weak.u16 r0, x ;\nbar.cta.sync 0 | ;",
        "st.weak.u32 x, 65537 | bar.cta.sync 0 ;\nbar.cta.sync 0 | ld.weak.u16 r0, x ;",
    );
    let verdict = verdict_of(&ordered, &Options::default());
    assert_eq!(verdict.holds, Some(true), "{ordered}");
}
