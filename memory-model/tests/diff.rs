//! Where models differ, up to small bounds.

use memory_model::Options;
use memory_model::diff::{Bounds, Differences, classes, difference, programs};
use memory_model::model::ModelName;
use memory_model::program::Scope;

/// Differences of two models, smallest first.
fn differences(a: ModelName, b: ModelName, bounds: &Bounds) -> Vec<memory_model::diff::Class> {
    let options = [a, b].map(|model| Options { model, ..Options::default() });
    let mut known = Differences::default();
    let mut found = Vec::new();
    for size in 1..=bounds.instructions {
        let all = programs(bounds, size);
        let mut here = Vec::new();
        for program in all.iter().filter(|p| !known.covers(p)) {
            if let Some(difference) = difference(program, [&options[0], &options[1]]) {
                found.push(difference);
                here.push(program);
            }
        }
        here.into_iter().for_each(|program| known.insert(program));
    }
    classes(found)
}

/// Each program is there once, up to names.
#[test]
fn programs_are_counted_once() {
    let bounds = Bounds {
        instructions: 3,
        threads: 3,
        locations: 2,
        scopes: vec![Scope::Cta, Scope::Gpu],
        ..Bounds::default()
    };
    for size in 1..=3 {
        let all = programs(&bounds, size);
        let texts: std::collections::BTreeSet<String> = all.iter().map(|p| p.text("")).collect();
        assert_eq!(texts.len(), all.len());
    }
    let one = Bounds { locations: 1, ..Bounds::default() };
    // Two accesses of one location in two threads: 11 forms, 66 unordered pairs, less those of two loads (6).
    let pairs = programs(&one, 2).iter().filter(|p| p.text("").contains("P1@")).count();
    assert_eq!(pairs, 66 - 6);
}

#[test]
fn a_model_does_not_differ_from_itself() {
    let bounds = Bounds { instructions: 3, locations: 1, ..Bounds::default() };
    for model in ModelName::ALL {
        assert_eq!(differences(model, model, &bounds), []);
    }
}

/// The smallest differences of the manual's model and the published one: a failed `cas` that writes, which takes two
/// instructions.
#[test]
fn a_failed_cas_is_the_smallest_difference() {
    let found =
        differences(ModelName::Isa, ModelName::Cat75, &Bounds { instructions: 2, ..Bounds::default() });
    let first = &found[0].example;
    assert_eq!(first.kinds, ["cas that fails"], "{}", first.text);
    assert_eq!(first.text.matches("atom").count() + first.text.matches("st.").count(), 2, "{}", first.text);
}

/// Sequential consistency forbids incoherent reads, and nothing that the manual's model forbids is allowed by it.
#[test]
fn sequential_consistency_is_stronger() {
    let found = differences(
        ModelName::Isa,
        ModelName::Sc,
        &Bounds { instructions: 3, locations: 1, ..Bounds::default() },
    );
    assert!(found.iter().all(|class| class.example.first_allows));
    assert!(!found.is_empty());
}
