//! The fast engine against the slow enumerator, on random programs.
//!
//! What runs by default takes seconds; `WARPGRIND_FUZZ=20` runs twenty times as many programs, and `--nocapture`
//! shows how many of them were compared (the enumerator is given none that would keep it busy for long).

use memory_model::explore::engine::{Engine, Found};
use memory_model::explore::{Search, oracle};
use memory_model::model::{Model, ModelName};
use memory_model::program::Litmus;
use memory_model::skeleton::{Skeleton, Unrolling};
use memory_model::until::Until;
use std::collections::BTreeSet;
use testkit::litmus::{FLAVOURS, Flavour, litmus};

/// `WARPGRIND_FUZZ`, if it is set.
fn more() -> Option<u64> {
    std::env::var("WARPGRIND_FUZZ").ok()?.parse().ok()
}

/// How many programs of a flavour are tried under each model.
fn programs(usual: u64) -> u64 {
    usual * more().unwrap_or(1)
}

fn unrolling(model: &Model, bound: u32, idle_iterations: u32) -> Unrolling {
    Unrolling {
        bound,
        idle_iterations,
        failed_cas_writes: model.failed_cas_writes,
        outcomes: true,
        max_events: 1000,
        max_nodes: 10_000,
    }
}

/// All outcomes according to the engine.
fn fast(litmus: &Litmus, model: &Model, unrolling: Unrolling, search: Search) -> BTreeSet<Vec<i64>> {
    let skeleton = Skeleton::new(&litmus.program, &litmus.observables(), unrolling).expect("small");
    let mut engine = Engine::new(litmus, &skeleton, model, search, Until::default()).expect("small");
    let mut out = BTreeSet::new();
    loop {
        match engine.find() {
            Found::Witness(witness) => {
                assert!(out.insert(witness.outcome.clone()), "the engine repeats an outcome");
                if search != Search::Complete || witness.outcome.is_empty() {
                    return out;
                }
                engine.exclude_outcome(&witness.outcome);
            }
            Found::Nothing => return out,
            Found::TimeOut => panic!("there is no time limit"),
        }
    }
}

/// Whether the oracle can be expected to finish: a bound on the product of the choices that it makes.
fn small(litmus: &Litmus, unrolling: Unrolling) -> bool {
    let Ok(skeleton) = Skeleton::new(&litmus.program, &litmus.observables(), unrolling) else { return false };
    let events = &skeleton.events;
    let mut choices: f64 = 1.0;
    for tree in &skeleton.trees {
        choices *= tree.nodes.iter().filter(|n| n.leaf.is_some()).count().max(1) as f64;
    }
    for cell in 0..skeleton.cells.len() {
        let of_cell = |e: &usize| skeleton.cell_of(*e) == Some(cell);
        let writes = (0..events.len()).filter(of_cell).filter(|&e| events[e].event.is_write()).count();
        let reads = (0..events.len()).filter(of_cell).count() - writes;
        choices *= (writes as f64).powi(reads as i32);
        choices *= 2f64.powi((writes as i32 - 1) * (writes as i32 - 2) / 2);
    }
    let fences =
        events.iter().filter(|t| t.event.order == memory_model::program::MemOrder::Sc).count() as i32;
    choices *= 2f64.powi(fences * (fences - 1) / 2);
    let barriers = events.iter().filter(|t| t.barrier.is_some()).count();
    choices *= (barriers.max(1) as f64).powi(barriers as i32);
    choices <= if more().is_some() { 40_000.0 } else { 4000.0 }
}

fn compare(seed: u64, flavour: Flavour, name: ModelName, search: Search) -> bool {
    let text = litmus(seed, flavour);
    let litmus = memory_model::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let model = name.model();
    let exact = unrolling(&model, 1, 0);
    if !small(&litmus, exact) {
        return false;
    }
    let slow = oracle::outcomes(&litmus, &model, exact, search);
    let fast = fast(&litmus, &model, exact, search);
    assert_eq!(fast, slow, "{name} {search:?} seed {seed} {flavour:?}\n{text}");
    true
}

fn run(search: Search, usual: u64, flavours: &[Flavour]) {
    let programs = programs(usual);
    let mut compared = 0;
    for &flavour in flavours {
        for name in ModelName::ALL {
            for seed in 0..programs {
                compared += u64::from(compare(seed, flavour, name, search));
            }
        }
    }
    let expected = programs * flavours.len() as u64 * ModelName::ALL.len() as u64;
    eprintln!("{search:?} {flavours:?}: {compared} of {expected} programs compared");
    assert!(compared * 4 > expected, "only {compared} of {expected} programs were small enough");
}

#[test]
fn outcomes_of_plain_programs() {
    run(Search::Complete, 250, &[Flavour::Plain]);
}

#[test]
fn outcomes_of_programs_with_threads_alike() {
    run(Search::Complete, 150, &[Flavour::Alike]);
}

#[test]
fn outcomes_of_programs_with_barriers() {
    run(Search::Complete, 120, &[Flavour::Barriers, Flavour::Clusters]);
}

#[test]
fn outcomes_of_programs_with_proxies_and_sizes() {
    run(Search::Complete, 80, &[Flavour::Proxies, Flavour::Sizes]);
}

#[test]
fn outcomes_of_programs_with_control() {
    run(Search::Complete, 150, &[Flavour::Control]);
}

#[test]
fn outcomes_of_programs_with_dependencies_and_mbarriers() {
    run(Search::Complete, 80, &[Flavour::Dependencies, Flavour::Mbarriers]);
}

#[test]
fn outcomes_of_programs_whose_values_feed_values() {
    run(Search::Complete, 300, &[Flavour::Chains]);
}

#[test]
fn outcomes_of_programs_with_everything() {
    run(Search::Complete, 150, &[Flavour::Mixed]);
}

#[test]
fn outcomes_of_programs_with_rare_instructions() {
    run(Search::Complete, 150, &[Flavour::Wide]);
}

#[test]
fn threads_that_never_end() {
    run(Search::Stuck, 60, &[Flavour::Barriers, Flavour::Control, Flavour::Clusters, Flavour::Mixed]);
}

#[test]
fn barriers_that_some_never_reach() {
    run(Search::Divergence, 60, &[Flavour::Barriers, Flavour::Clusters, Flavour::Mixed]);
}

#[test]
fn races() {
    run(Search::Race, 25, &FLAVOURS);
}

/// Iterations that change nothing can be left out: allowing two of them gives no new outcome.
#[test]
fn idle_iterations_add_no_outcome() {
    let mut compared = 0;
    for name in ModelName::ALL {
        let model = name.model();
        for seed in 0..programs(150) {
            let text = litmus(seed, Flavour::Control);
            let litmus = memory_model::parse(&text).expect("generated");
            let short = fast(&litmus, &model, unrolling(&model, 1, 0), Search::Complete);
            let long = fast(&litmus, &model, unrolling(&model, 1, 2), Search::Complete);
            assert_eq!(short, long, "{name} seed {seed}\n{text}");
            compared += 1;
        }
    }
    assert!(compared > 0);
}

/// Whatever sequential consistency allows, the ISA model allows.
#[test]
fn sc_is_inside_isa() {
    let (sc, isa) = (ModelName::Sc.model(), ModelName::Isa.model());
    let mut weaker = 0;
    for flavour in FLAVOURS {
        for seed in 0..programs(60) {
            let text = litmus(seed, flavour);
            let litmus = memory_model::parse(&text).expect("generated");
            let unrolling = unrolling(&isa, 1, 0);
            let inside = fast(&litmus, &sc, unrolling, Search::Complete);
            let all = fast(&litmus, &isa, unrolling, Search::Complete);
            assert!(inside.is_subset(&all), "seed {seed} {flavour:?}\n{text}");
            weaker += usize::from(inside.len() < all.len());
        }
    }
    assert!(weaker > 20, "the ISA model must be weaker somewhere");
}
