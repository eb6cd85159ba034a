//! Sequential consistency: one total order of all memory operations that respects program order and in which
//! every read returns the latest write. Races are those of the ISA model in the executions that remain.

use super::algebra::*;
use super::{Model, isa};

pub(super) fn model() -> Model {
    let (ms, sync, _, cause) = isa::orders();
    let same_location_writes = (cross(writes(), writes()) & loc()).minus(id());
    let from_init = (cross(init(), writes()) & loc()).minus(id());
    let co = (from_init | chosen_co()).plus().named("coherence", "8.9.6");
    let fr = (!rf() >> &co).minus(id()).named("fr", "8.9.7");
    // Whatever comes before an arrival is before whatever comes after a wait that it opens.
    let program = (po() | (po() >> bar() >> po())).named("program order", "8.9.1");
    let axioms = vec![
        acyclic("Sequential consistency", "-", program | rf() | &co | &fr | sc()),
        empty("Atomicity", "8.10.3", (&fr >> &co) & rmw()),
    ];
    Model { ordered_writes: same_location_writes, ..isa::with(axioms, ms, co, fr, sync, cause) }
}
