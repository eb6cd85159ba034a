//! What names of sets and relations mean that no file defines: those of herd7 and Dartagnan, and of PTX.

use crate::model::Rel;
use crate::model::Set;
use crate::model::algebra::*;

/// Whose names a file uses, by its header: the same one means different things to the models of different languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// PTX, machines, and files that do not say.
    Ptx,
    /// C and C++: `A` are atomic accesses, not those of atomic instructions.
    C,
    /// OpenCL.
    OpenCl,
    /// Vulkan.
    Vulkan,
}

impl Dialect {
    /// Of a file with these words in its header.
    pub(super) fn of(header: &[String]) -> Self {
        let named = |names: &[&str]| header.iter().any(|word| names.contains(&word.to_uppercase().as_str()));
        // Standards are told in titles, too, such as "Simple C11".
        let mut titles = header.iter().flat_map(|title| title.split_whitespace());
        if named(&["VULKAN"]) {
            Dialect::Vulkan
        } else if named(&["OPENCL"]) {
            Dialect::OpenCl
        } else if named(&["C", "CPP11", "SYCL"])
            || titles.any(|word| ["C11", "C++11", "RC11"].contains(&word))
        {
            Dialect::C
        } else {
            Dialect::Ptx
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Meaning {
    Set(Set),
    /// A set as the identity on it.
    Ends(Rel),
    Rel(Rel),
}

/// Names of sets.
const SETS: [&str; 42] = [
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
    "MFENCE",
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
        // Fences of other machines by what they are for.
        "MFENCE" | "mfence" | "SYNC" | "sync" => sc_fences(),
        "LWSYNC" | "lwsync" => acq_rel_fences(),
        // What PTX has nothing of: exclusive and conditional accesses, locks, page tables, other fences.
        "EX" | "NExp" | "PTE" | "LS" | "LK" | "LKW" | "UL" | "SFENCE" | "sfence" | "LFENCE" | "lfence"
        | "ISYNC" | "isync" | "EIEIO" | "eieio" | "RES" | "SPEC" | "I$" => nothing_set(),
        _ => return None,
    })
}

/// What is another set in a dialect than in others.
fn dialect_set(dialect: Dialect, name: &str) -> Option<Set> {
    use BaseSet as S;
    let fences = || sc_fences() | acq_rel_fences() | acquire_fences() | release_fences();
    let acquiring =
        || acquire_reads() | acquire_fences() | acq_rel_fences() | sc_fences() | (sc_accesses() & reads());
    let releasing =
        || release_writes() | release_fences() | acq_rel_fences() | sc_fences() | (sc_accesses() & writes());
    Some(match (dialect, name) {
        (Dialect::C | Dialect::OpenCl, "A") | (Dialect::Vulkan, "ATOM") => strong() & memory(),
        // Barriers are fences there.
        (Dialect::OpenCl | Dialect::Vulkan, "F") => fences() | barriers(),
        (Dialect::OpenCl, "WI") => {
            let scoped = set(S::ScopeCta) | set(S::ScopeCluster) | set(S::ScopeGpu) | set(S::ScopeSys);
            strong().minus(scoped)
        }
        (Dialect::OpenCl, "WG") => set(S::ScopeCta) | set(S::ScopeCluster),
        (Dialect::OpenCl, "DV") => set(S::ScopeGpu),
        (Dialect::OpenCl, "ALL") => set(S::ScopeSys),
        (Dialect::OpenCl, "GLOBAL") => {
            memory().minus(set(S::LocalMemory)) | (fences() | barriers()).minus(set(S::LocalOrder))
        }
        (Dialect::OpenCl, "LOCAL") => {
            set(S::LocalMemory) | (fences() | barriers()).minus(set(S::GlobalOrder))
        }
        // A subgroup is a thread, a queue family a cluster, and what is wider is the device.
        (Dialect::Vulkan, "SG") => nothing_set(),
        (Dialect::Vulkan, "WG") => set(S::ScopeCta),
        (Dialect::Vulkan, "QF") => set(S::ScopeCluster),
        (Dialect::Vulkan, "DV") => set(S::ScopeGpu) | set(S::ScopeSys),
        (Dialect::Vulkan, "CBAR") => barriers(),
        (Dialect::Vulkan, "ACQ" | "SEMVIS") => acquiring() | barrier_waits(),
        (Dialect::Vulkan, "REL" | "SEMAV") => releasing() | barriers(),
        // One storage class; every access takes part in availability and visibility, none makes them by itself.
        (Dialect::Vulkan, "SC0") => memory(),
        (Dialect::Vulkan, "SEMSC0") => acquiring() | releasing() | barriers(),
        (Dialect::Vulkan, "NONPRIV") => memory().minus(init()),
        (
            Dialect::Vulkan,
            "SC1" | "SC2" | "SC3" | "SEMSC1" | "SEMSC2" | "SEMSC3" | "AV" | "VIS" | "AVDEVICE" | "VISDEVICE",
        ) => nothing_set(),
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
        "scta" | "cta" | "swg" => same_cta(),
        "ssg" => internal(),
        "cluster" | "sqf" => same_scope(BaseRel::SameCluster),
        "gl" | "gpu" | "sdv" => same_scope(BaseRel::SameGpu),
        // Order that something outside of the program makes, and inside of an instruction.
        "ssw" | "iico_data" | "iico_ctrl" | "casdep" => nothing(),
        // Accesses of one instruction to one place.
        "sm" => id(),
        "same-instance" => (rmw() | !rmw() | id()).named("si", "cat"),
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

/// The accesses of atomic instructions.
fn halves() -> Rel {
    ((rmw() >> !rmw()) | (!rmw() >> rmw())) & id()
}

/// Locations that no atomic access is to, by their initial writes.
fn plain_locations() -> Rel {
    let atomic = only(init()) >> loc() >> only(strong() & memory()) >> loc() >> only(init());
    only(init()).minus(atomic & id())
}

/// What a name means, if it is known.
pub(super) fn meaning(dialect: Dialect, name: &str) -> Option<Meaning> {
    if let Some(set) = dialect_set(dialect, name) {
        return Some(Meaning::Set(set));
    }
    match (dialect, name) {
        (_, "RMW" | "A" | "ATOM" | "X") => return Some(Meaning::Ends(halves())),
        (Dialect::OpenCl | Dialect::C, "NAL") => return Some(Meaning::Ends(plain_locations())),
        _ => {}
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
