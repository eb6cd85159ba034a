//! What can be looked for in the executions of a program, and what that adds to a model.

use crate::model::algebra::{
    BaseRel, Rel, acyclic, barriers, base, cross, empty, final_writes, id, init, loc, memory, only, po, race,
    rmw, spin_reads, writes,
};
use crate::model::{Axiom, Model};

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Search {
    /// Executions in which every thread ends.
    Complete,
    /// Executions in which some thread never does, and no thread could go on.
    Stuck,
    /// Complete executions with a race.
    Race,
    /// Executions in which every thread ends or waits at a barrier for ever, and some thread does.
    Divergence,
    /// Executions in which some thread reaches the loop bound.
    Cut,
    /// Executions in which some thread uses a register as an address that holds none.
    Fault,
}

/// Axioms that the search itself adds to a model's: barriers happen in some order, final writes are last,
/// a thread that spins for ever sees the last writes, and the accesses asked to race are unordered.
pub fn search_axioms(model: &Model) -> Vec<Axiom> {
    let barrier = || only(barriers());
    let arrivals = (barrier() >> po() >> barrier())
        | (base(BaseRel::Bar) >> po() >> barrier())
        | base(BaseRel::BarOrder);
    // An atomic is one operation: what orders its write orders it.
    let ordered = rmw().optional() >> &model.cause >> (!rmw()).optional();
    vec![
        acyclic("Barrier order", "9.7.13", arrivals),
        empty("Final value", "8.9.6", only(final_writes()) >> &model.co),
        empty("Fairness", "-", only(spin_reads()) >> &model.fr),
        empty("Race", "8.7.1", race() & (&ordered | !&ordered)),
    ]
}

/// Conflicting pairs that are not morally strong (8.7.1).
pub fn conflicts(model: &Model) -> Rel {
    let at_least_one_write = cross(writes(), memory()) | cross(memory(), writes());
    let not_initial = cross(memory().minus(init()), memory().minus(init()));
    let itself = id();
    (at_least_one_write & not_initial & loc()).minus(itself).minus(&model.morally_strong)
}
