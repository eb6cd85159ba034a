//! Coherence order of a model from a file: what the search chooses of it, and what follows.

use crate::model::Demand;
use crate::model::algebra::*;
use crate::model::rewrite::{as_difference, is_base, is_base_either_way, is_chosen, mentions, takes_away};

/// How a model's coherence order comes about.
pub(super) struct Order {
    /// The order, of what the search chooses.
    pub(super) co: Rel,
    /// Pairs that the search orders one way or the other.
    pub(super) ordered: Rel,
    /// Pairs that it orders or not.
    pub(super) optional: Rel,
    /// The axioms that are left to check.
    pub(super) axioms: Vec<Axiom>,
}

/// Pairs of writes to one location.
fn same_location() -> Rel {
    cross(writes(), writes()) & loc()
}

/// Those whose order is not that of initial writes.
fn open_pairs() -> Rel {
    same_location().minus(id()).minus(cross(init(), all()) | cross(all(), init()))
}

/// Whether more coherence order can only break the axiom.
fn shrinks(axiom: &Axiom) -> bool {
    !mentions(&axiom.rel, BaseRel::Co)
        || (!takes_away(&axiom.rel, BaseRel::Co)
            && matches!(axiom.demand, Demand::Empty | Demand::Irreflexive | Demand::Acyclic))
}

/// Coherence order for these axioms. If it is partial, and they only say what it contains and what must not follow from
/// it, the least order is the one that allows most; it is then no choice at all.
pub(super) fn order(axioms: Vec<Axiom>, flags: &[Axiom], partial: bool) -> Order {
    let from_init = same_location() & cross(init(), writes().minus(init()));
    let closed = |chosen: Rel| (&from_init | chosen).plus().named("coherence", "cat");
    if !partial {
        let co = closed(chosen_co());
        return Order { co, ordered: open_pairs(), optional: nothing(), axioms };
    }
    let mut contained = nothing();
    let mut ordered = nothing();
    let mut left = Vec::new();
    for axiom in &axioms {
        let difference = as_difference(&axiom.rel).filter(|_| axiom.demand == Demand::Empty);
        match difference {
            Some((less, co)) if is_base(co, BaseRel::Co) && !mentions(less, BaseRel::Co) => {
                contained = contained | (less & same_location());
                left.push(Axiom { rel: less.minus(same_location()), ..axiom.clone() });
            }
            Some((less, co)) if is_base_either_way(co, BaseRel::Co) && !is_chosen(less) => {
                ordered = ordered | (less & open_pairs());
                // Initial writes are ordered with all others.
                left.push(Axiom {
                    rel: less.minus(open_pairs() | &from_init | !&from_init),
                    ..axiom.clone()
                });
            }
            _ => left.push(axiom.clone()),
        }
    }
    if left.iter().all(shrinks) && flags.iter().all(|flag| !mentions(&flag.rel, BaseRel::Co)) {
        let either = &ordered | !&ordered;
        return Order {
            co: closed(contained | chosen_co()),
            ordered: either,
            optional: nothing(),
            axioms: left,
        };
    }
    Order { co: closed(chosen_co()), ordered: nothing(), optional: open_pairs(), axioms }
}
