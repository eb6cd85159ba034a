//! The two published `.cat` models, relation by relation. Where they differ from the newest text they are
//! followed: `fence.sc` is neither a release nor an acquire fence, reductions acquire, a failed `cas` writes
//! the old value back, and barriers have quorums instead of phases.
//!
//! In both, coherence order is any partial order that contains causality between writes to one location and
//! orders morally strong ones; the least such order is the weakest and the one used here, since every
//! axiom only forbids.

use super::algebra::*;
use super::isa::{self, coherence, proxy_preserved};
use super::{BarrierSemantics, Model};

fn morally_strong(overlap: Rel, same_method: Option<Rel>) -> Rel {
    let related = po() | !po() | (cross(strong(), strong()) & mutual_scope());
    let not_both_memory = cross(all(), all().minus(memory())) | cross(all().minus(memory()), all());
    let ms = related & (overlap | not_both_memory);
    let ms = match same_method {
        Some(same) => ms & same,
        None => ms,
    };
    ms.minus(id()).named("morally-strong", "cat")
}

fn release_pattern(same: Rel) -> Rel {
    let strong_write = only(writes() & strong());
    let fence = only(acq_rel_fences() | release_fences() | proxy_releases());
    let operation = only(release_writes()) >> (po() & same).optional() >> &strong_write;
    (operation | (fence >> po() >> &strong_write)).named("release-pattern", "cat")
}

fn acquire_pattern(same: Rel) -> Rel {
    let strong_read = only(reads() & strong());
    let fence = only(acq_rel_fences() | acquire_fences() | proxy_acquires());
    let operation = &strong_read >> (po() & same).optional() >> only(acquire_reads());
    (operation | (&strong_read >> po() >> fence)).named("acquire-pattern", "cat")
}

/// `empty ([SC]; cause; [SC]) \ sync_fence`: the pairs that are never in `sync_fence` must not be in `cause`,
/// and the others not against it.
fn fence_sc(ms: &Rel, cause: &Rel) -> [Axiom; 3] {
    let between_fences = only(sc_fences()) >> cause >> only(sc_fences());
    [
        acyclic("axiom-FenceSC", "cat", sc()),
        irreflexive("axiom-FenceSC", "cat", sc() >> cause),
        empty("axiom-FenceSC", "cat", between_fences.minus(ms)),
    ]
}

fn no_thin_air() -> Axiom {
    acyclic("axiom-NoThinAir", "cat", rf() | addr() | data() | ctrl())
}

fn finish(axioms: Vec<Axiom>, ms: Rel, co: Rel, fr: Rel, sync: Rel, cause: Rel) -> Model {
    let barriers = BarrierSemantics::Quorum;
    Model { barriers, failed_cas_writes: true, ..isa::with(axioms, ms, co, fr, sync, cause) }
}

/// `ptx-v6.0.cat`.
pub(super) fn v6_0() -> Model {
    let ms = morally_strong(loc(), None);
    let step = &ms & rf();
    let obs = (&step >> (rmw() >> &step).star()).named("observation", "cat");
    let sync = &ms & (release_pattern(loc()) >> &obs >> acquire_pattern(loc()));
    let sync = (sync | sc() | bar()).named("sync", "cat");
    // cause-base = po?; (sync; po?)+
    let cause_base = (po().optional() >> (&sync >> po().optional()).plus()).named("cause-base", "cat");
    let cause = (&cause_base | (&obs >> (&cause_base | (po() & loc())))).named("cause", "cat");
    let co = coherence(&cause);
    let fr = (!rf() >> &co).named("fr", "cat");
    let mut axioms = vec![irreflexive("axiom-Coherence", "cat", co.clone())];
    axioms.extend(fence_sc(&ms, &cause));
    axioms.extend([
        empty("axiom-Atomicity", "cat", ((&ms & &fr) >> (&ms & &co)) & rmw()),
        no_thin_air(),
        acyclic("axiom-ScPerLocation", "cat", (&ms & (rf() | &co | &fr)) | (po() & loc())),
        irreflexive("axiom-CausalityPTX", "cat", (rf() | &fr) >> &cause),
    ]);
    finish(axioms, ms, co, fr, sync, cause)
}

/// `ptx-v7.5.cat`.
pub(super) fn v7_5() -> Model {
    let ms = morally_strong(vloc(), Some(same_proxy()));
    let observation = ((&ms & rf()) | rmw()).named("observation", "cat");
    let sync = &ms & (release_pattern(vloc()) >> observation.plus() >> acquire_pattern(vloc()));
    let sync = (sync | sc() | bar()).named("sync", "cat");
    let cause_base =
        (po() | (po().optional() >> (&sync >> po().optional()).plus())).named("cause-base", "cat");
    let cause = (observation.optional() >> proxy_preserved(&cause_base)).named("cause", "cat");
    let co = coherence(&cause);
    let fr = (!rf() >> &co).named("fr", "cat");
    let mut axioms = vec![irreflexive("axiom-Coherence", "cat", co.clone())];
    axioms.extend(fence_sc(&ms, &cause));
    axioms.extend([
        empty("axiom-Atomicity", "cat", ((&ms & &fr) >> (&ms & &co)) & rmw()),
        no_thin_air(),
        irreflexive("axiom-Causality", "cat", (rf() | &fr) >> &cause),
    ]);
    finish(axioms, ms, co, fr, sync, cause)
}
