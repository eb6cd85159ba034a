//! The model of the newest PTX ISA text (9.x): proxies, cluster scope, acquire and release fences,
//! `fence.sc` as a release and acquire fence, barriers by phases, no write by a failed `cas`, and reductions
//! that form no acquire pattern.
//!
//! Where the text leaves a choice:
//! * 8.10.2 orders `fence.sc` by causality, which relates memory operations only; it is read here as base
//!   causality, which relates fences too.
//! * 8.9.5 has no rule for fences between two proxies other than the alias fence; the rules of the published
//!   proxy-aware model are used, with the async and tensor map proxies among the proxies.
//! * 9.7.13.4 has a releasing proxy fence synchronise with an acquiring one of the same kind; they begin and end
//!   patterns as memory fences do, and only the acquiring one hands over to its proxy.
//! * 8.10.4 speaks of dependencies as the implementation sees them; syntactic dependencies are used.

use super::algebra::*;
use super::{BarrierSemantics, Model, Races};

/// 8.7: related by program order or strong with scopes that include each other; the same proxy; complete
/// overlap of memory operations.
fn morally_strong() -> Rel {
    let related = po() | !po() | (cross(strong(), strong()) & mutual_scope());
    let overlap = complete_overlap() | not_both_memory();
    (related & same_proxy() & overlap).minus(id()).named("morally strong", "8.7")
}

fn not_both_memory() -> Rel {
    cross(all(), all().minus(memory())) | cross(all().minus(memory()), all())
}

/// 8.8: release pattern, from its first to its last operation.
fn release_pattern() -> Rel {
    let strong_write = only(writes() & strong());
    let release_fence = sc_fences() | acq_rel_fences() | release_fences();
    let operation = only(release_writes()) >> (po() & vloc()).optional() >> &strong_write;
    let fence = only(release_fence | proxy_releases()) >> po() >> &strong_write;
    (operation | fence).named("release pattern", "8.8")
}

/// 8.8 and 8.11.1: acquire pattern, from its first to its last operation; the read of a reduction forms none.
fn acquire_pattern() -> Rel {
    let strong_read = only((reads() & strong()).minus(reduction_reads()));
    let acquire_fence = sc_fences() | acq_rel_fences() | acquire_fences();
    let acquire = only(acquire_reads().minus(reduction_reads()));
    let operation = &strong_read >> (po() & vloc()).optional() >> acquire;
    let fence = strong_read >> po() >> only(acquire_fence | proxy_acquires());
    (operation | fence).named("acquire pattern", "8.8")
}

/// 8.9.2: a chain of morally strong reads-from edges through atomic operations.
fn observation(ms: &Rel) -> Rel {
    let step = ms & rf();
    (&step >> (rmw() >> &step).star()).named("observation", "8.9.2")
}

/// 8.9.4: synchronizes-with.
pub(super) fn synchronizes(ms: &Rel, obs: &Rel) -> Rel {
    let patterns = ms & (release_pattern() >> obs >> acquire_pattern());
    (patterns | sc() | bar()).named("synchronizes", "8.9.4")
}

/// 8.9.5: base causality order.
fn base_causality(sync: &Rel) -> Rel {
    (po() | sync).plus().named("base causality", "8.9.5")
}

/// 8.9.5: proxy-preserved base causality order, with the fences between proxies of the published model.
pub(super) fn proxy_preserved(cb: &Rel) -> Rel {
    let gen_ = || only(generic());
    let both_ways = || sc_fences() | acq_rel_fences() | acquire_fences() | release_fences() | proxy_fences();
    let to_access = |fences: Set| only(fences) >> (same_proxy() & same_cta()) >> only(memory());
    // A base causality path whose first or last step reaches the proxy fence of a non-generic access.
    let from_proxy = cb & !to_access(both_ways());
    let to_proxy = cb & to_access(both_ways() | proxy_acquires());
    let through_alias = cb >> only(alias_fences()) >> cb;

    let generic_pair = gen_() >> (vloc() & cb) >> gen_();
    let proxy_pair = only(memory()) >> (same_proxy() & same_cta() & vloc() & cb) >> only(memory());
    let fenced = vloc()
        & ((&from_proxy >> cb >> gen_()) | (gen_() >> cb >> &to_proxy) | (&from_proxy >> cb >> &to_proxy));
    let aliased = loc()
        & ((gen_() >> &through_alias >> gen_())
            | (&from_proxy >> &through_alias >> gen_())
            | (gen_() >> &through_alias >> &to_proxy)
            | (&from_proxy >> &through_alias >> &to_proxy));
    (generic_pair | proxy_pair | fenced | aliased).named("proxy-preserved base causality", "8.9.5")
}

/// 8.9.6: coherence order is made of causality between overlapping writes and a choice for morally strong
/// ones, and is transitive. Racing writes stay unordered.
pub(super) fn coherence(cause: &Rel) -> Rel {
    let from_init = cross(init(), writes()) & loc();
    let causal = only(writes()) >> (cause & loc()) >> only(writes());
    (from_init.minus(id()) | causal | chosen_co()).plus().named("coherence", "8.9.6")
}

/// What consistency and the race definition share: morally strong, synchronizes, base causality, causality.
pub(super) fn orders() -> (Rel, Rel, Rel, Rel) {
    let ms = morally_strong();
    let obs = observation(&ms);
    let sync = synchronizes(&ms, &obs);
    let cb = base_causality(&sync);
    let ppcb = proxy_preserved(&cb);
    // 8.9.5: causality order.
    let cause = (obs.optional() >> ppcb).named("causality", "8.9.5");
    (ms, sync, cb, cause)
}

pub(super) fn model() -> Model {
    let (ms, sync, cb, cause) = orders();
    let co = coherence(&cause);
    let fr = (!rf() >> &co).named("fr", "8.9.7");
    let dep = addr() | data() | ctrl();
    let axioms = vec![
        irreflexive("Coherence", "8.10.1", co.clone()),
        irreflexive("Fence-SC", "8.10.2", sc() >> &cb),
        empty("Atomicity", "8.10.3", ((&ms & &fr) >> (&ms & &co)) & rmw()),
        acyclic("No-Thin-Air", "8.10.4", rf() | dep),
        acyclic("SC-per-Location", "8.10.5", (po() & vloc()) | (&ms & (rf() | &co | &fr))),
        irreflexive("Causality", "8.10.6", (rf() | &fr) >> &cause),
    ];
    with(axioms, ms, co, fr, sync, cause)
}

/// What the manual's newest text has beside axioms and relations.
pub(super) fn with(axioms: Vec<Axiom>, ms: Rel, co: Rel, fr: Rel, sync: Rel, cause: Rel) -> Model {
    Model {
        axioms,
        ordered_writes: (cross(writes(), writes()) & loc()) & &ms,
        optional_order: nothing(),
        atomic: true,
        races: Races::Unordered,
        ordered_fences: cross(sc_fences(), sc_fences()) & &ms,
        co,
        fr,
        sync,
        cause,
        morally_strong: ms,
        barriers: BarrierSemantics::Phases,
        failed_cas_writes: false,
    }
}
