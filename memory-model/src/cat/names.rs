//! What names of sets and relations mean that no file defines: those of herd7 and Dartagnan, and of PTX.

use crate::model::Rel;
use crate::model::Set;
use crate::model::algebra::*;

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Meaning {
    Set(Set),
    Rel(Rel),
}

/// Names of sets.
const SETS: [&str; 41] = [
    "_",
    "M",
    "R",
    "W",
    "IW",
    "I",
    "F",
    "B",
    "RMW",
    "A",
    "ATOM",
    "WEAK",
    "RLX",
    "ACQ",
    "REL",
    "ACQ_REL",
    "SC",
    "GEN",
    "TEX",
    "SUR",
    "CON",
    "ASYNC",
    "TMAP",
    "ALIAS",
    "PROXY",
    "CTA",
    "CLUSTER",
    "GPU",
    "SYS",
    "RED",
    "STRONG",
    "BAR",
    "BAR-WAIT",
    "BAR-ARRIVE",
    "FW",
    "UB",
    "emptyset",
    "Exp",
    "ACQ-FENCE",
    "REL-FENCE",
    "NONE",
];

/// Names of relations.
const RELATIONS: [&str; 41] = [
    "0",
    "id",
    "po",
    "po-loc",
    "int",
    "ext",
    "loc",
    "vloc",
    "overlap",
    "rf",
    "rfe",
    "rfi",
    "co",
    "coe",
    "coi",
    "fr",
    "fre",
    "fri",
    "rmw",
    "amo",
    "lxsx",
    "addr",
    "data",
    "ctrl",
    "sr",
    "scta",
    "cta",
    "cluster",
    "gl",
    "gpu",
    "sys",
    "same-proxy",
    "syncbar",
    "sync_fence",
    "bar-phase",
    "si",
    "co0",
    "membar.cta",
    "membar.gl",
    "membar.sys",
    "com",
];

fn nothing_set() -> Set {
    all().minus(all())
}

fn set_of(name: &str) -> Option<Set> {
    use BaseSet as S;
    let fences = || sc_fences() | acq_rel_fences() | acquire_fences() | release_fences();
    Some(match name {
        "_" => all(),
        "M" => memory(),
        "R" => reads(),
        "W" => writes(),
        "IW" | "I" => init(),
        // Fences of all kinds; barriers are none.
        "F" => fences() | alias_fences() | proxy_fences() | proxy_releases() | proxy_acquires(),
        "B" | "BAR" => barriers(),
        "BAR-WAIT" => barrier_waits(),
        "BAR-ARRIVE" => set(S::BarrierArrive),
        "WEAK" => set(S::Weak),
        "RLX" => set(S::Relaxed),
        "ACQ" => acquire_reads() | acquire_fences() | proxy_acquires(),
        "REL" => release_writes() | release_fences() | proxy_releases(),
        "ACQ_REL" => acq_rel_fences(),
        "ACQ-FENCE" => acquire_fences(),
        "REL-FENCE" => release_fences(),
        "SC" => sc_fences() | sc_accesses(),
        "GEN" => generic() | set(S::GenericAccess),
        "TEX" => set(S::Texture),
        "SUR" => set(S::Surface),
        "CON" => set(S::Constant),
        "ASYNC" => set(S::Async),
        "TMAP" => set(S::TensorMap),
        "ALIAS" => alias_fences(),
        "PROXY" => proxy_fences() | proxy_releases() | proxy_acquires(),
        "CTA" => set(S::ScopeCta),
        "CLUSTER" => set(S::ScopeCluster),
        "GPU" => set(S::ScopeGpu),
        "SYS" => set(S::ScopeSys),
        "RED" => reduction_reads(),
        "STRONG" => strong(),
        // Explicit events: all of them.
        "Exp" => all(),
        "UB" | "emptyset" | "NONE" | "FW" => nothing_set(),
        _ => return None,
    })
}

/// `fr` as it follows from any coherence order; one from the initial write is among them.
pub(super) fn from_reads() -> Rel {
    (!rf() >> chosen_co()).minus(id()).named("fr", "cat")
}

fn external() -> Rel {
    cross(all(), all()).minus(internal())
}

/// The narrowest of these scopes that holds both threads is at most this one.
fn same_scope(widest: BaseRel) -> Rel {
    base(widest)
}

fn fence_of_scope(scopes: &[BaseSet]) -> Rel {
    let fence = scopes.iter().fold(nothing_set(), |all, &s| all | set(s)) & sc_fences();
    po() >> only(fence) >> po()
}

fn relation_of(name: &str) -> Option<Rel> {
    use BaseSet::{ScopeCta, ScopeGpu, ScopeSys};
    Some(match name {
        "0" => nothing(),
        "id" => id(),
        "po" => po(),
        "po-loc" => (po() & loc()).named("po-loc", "cat"),
        "int" => internal(),
        "ext" => external(),
        "loc" => loc(),
        "vloc" => vloc(),
        "overlap" => complete_overlap(),
        "rf" => rf(),
        "rfe" => rf() & external(),
        "rfi" => rf() & internal(),
        "co" => chosen_co(),
        "coe" => chosen_co() & external(),
        "coi" => chosen_co() & internal(),
        "fr" => from_reads(),
        "fre" => from_reads() & external(),
        "fri" => from_reads() & internal(),
        "com" => rf() | chosen_co() | from_reads(),
        "co0" => (cross(init(), writes().minus(init()))) & loc(),
        "rmw" | "amo" => rmw(),
        "lxsx" => nothing(),
        "addr" => addr(),
        "data" => data(),
        "ctrl" => ctrl(),
        "sr" => mutual_scope(),
        "scta" | "cta" => same_cta(),
        "cluster" => same_scope(BaseRel::SameCluster),
        "gl" | "gpu" => same_scope(BaseRel::SameGpu),
        "sys" => cross(all(), all()),
        "same-proxy" => same_proxy(),
        "syncbar" | "bar-phase" => bar(),
        "sync_fence" => sc(),
        "si" => (rmw() | !rmw() | id()).named("si", "cat"),
        "membar.cta" => fence_of_scope(&[ScopeCta]),
        "membar.gl" => fence_of_scope(&[ScopeGpu]),
        "membar.sys" => fence_of_scope(&[ScopeSys]),
        _ => return None,
    })
}

/// What a name means, if it is known.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    if matches!(name, "RMW" | "A" | "ATOM") {
        return None;
    }
    set_of(name).map(Meaning::Set).or_else(|| relation_of(name).map(Meaning::Rel))
}

/// The known name that is most like another one.
pub(super) fn like<'n>(name: &str, defined: impl Iterator<Item = &'n str>) -> Option<String> {
    let folded = |s: &str| s.to_lowercase().replace(['-', '_', '.'], "");
    let wanted = folded(name);
    let known: Vec<&str> = defined.chain(SETS).chain(RELATIONS).collect();
    known
        .into_iter()
        .map(|known| (distance(&wanted, &folded(known)), known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 5 && *distance < known.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known.to_owned())
}

/// Edits that make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let next = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = row[j + 1];
            row[j + 1] = next;
        }
    }
    row.last().copied().unwrap_or(0)
}
