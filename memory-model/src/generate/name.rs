//! Names of tests: the family, as the literature calls it, then what each thread does between its accesses.

use super::cycle::{Annotated, Cycle, CycleError, annotated, error};
use super::edge::{Link, Word};

/// Families: accesses of each thread, and what leads to the next one (Maranget, Sarkar, Sewell: A Tutorial
/// Introduction to the ARM and POWER Relaxed Memory Models).
const FAMILIES: [(&str, &str); 29] = [
    ("MP", "WW rf RR fr"),
    ("SB", "WR fr WR fr"),
    ("LB", "RW rf RW rf"),
    ("S", "WW rf RW co"),
    ("R", "WW co WR fr"),
    ("2+2W", "WW co WW co"),
    ("WRC", "W rf RW rf RR fr"),
    ("RWC", "W rf RR fr WR fr"),
    ("WRW+WR", "W rf RW co WR fr"),
    ("WRR+2W", "W rf RR fr WW co"),
    ("WRW+2W", "W rf RW co WW co"),
    ("WWC", "W rf RW rf RW co"),
    ("IRIW", "W rf RR fr W rf RR fr"),
    ("IRRWIW", "W rf RR fr W rf RW co"),
    ("IRWIW", "W rf RW co W rf RW co"),
    ("3.SB", "WR fr WR fr WR fr"),
    ("3.LB", "RW rf RW rf RW rf"),
    ("3.2W", "WW co WW co WW co"),
    ("ISA2", "WW rf RW rf RR fr"),
    ("W+RWC", "WW rf RR fr WR fr"),
    ("Z6.0", "WW rf RW co WR fr"),
    ("Z6.1", "WW co WW rf RW co"),
    ("Z6.2", "WW rf RW rf RW co"),
    ("Z6.3", "WW co WW rf RR fr"),
    ("Z6.4", "WW co WR fr WR fr"),
    ("Z6.5", "WW co WW co WR fr"),
    // At one location.
    ("CoRR", "W rf RR. fr"),
    ("CoRW", "W rf RW. co"),
    ("CoWR", "W co WR. fr"),
];

impl Cycle {
    /// The cycle of these words, in order: edges, and between them how their common event accesses memory
    /// (`.relaxed.gpu` where nothing is said).
    ///
    /// # Errors
    /// Edges that do not meet, do not come back to the thread or the location where they began, or contradict
    /// each other.
    pub fn new(words: &[Word]) -> Result<Self, CycleError> {
        Self::of(&annotated(words)?)
    }

    pub(super) fn of(words: &[Annotated]) -> Result<Self, CycleError> {
        let count = words.len();
        let Some(last) = words.iter().rposition(|w| w.edge.is_external()) else {
            return Self::started(words);
        };
        // The last edge leads to the first thread.
        let mut turned = words.to_vec();
        turned.rotate_left((last + 1) % count);
        // Of the threads that the cycle can begin with, the one that names it best begins.
        let mut best: Option<(Rank, Self)> = None;
        for at in (0..count).filter(|&at| turned[(at + count - 1) % count].edge.is_external()) {
            let mut words = turned.clone();
            words.rotate_left(at);
            let cycle = Self::started(&words)?;
            let rank = rank(&cycle);
            if best.as_ref().is_none_or(|(known, _)| rank < *known) {
                best = Some((rank, cycle));
            }
        }
        best.map_or_else(|| error("there is no edge"), |(_, cycle)| Ok(cycle))
    }

    /// The test's name, as the literature builds them: `MP+po-rel+acq-po`.
    pub fn name(&self) -> String {
        name(self)
    }
}

/// How well the thread that a cycle begins with names it: less is better.
type Rank = (usize, String, String);

/// The accesses of each thread with what leads on; a point marks threads that stay at one location.
fn signature(cycle: &Cycle) -> String {
    let mut out = String::new();
    let mut stays = true;
    for (at, (event, edge)) in cycle.events.iter().zip(&cycle.edges).enumerate() {
        out.push(event.direction.letter());
        if edge.is_external() {
            let begin = (0..=at).rev().take_while(|&e| cycle.events[e].thread == event.thread).count();
            if begin > 1 && stays {
                out.push('.');
            }
            stays = true;
            let kind = edge.communication().map_or("bar", |which| which.short());
            out += &format!(" {kind} ");
        } else {
            stays &= edge.same_location;
        }
    }
    out.trim_end().to_owned()
}

/// The family by its signature.
fn family(cycle: &Cycle) -> Option<&'static str> {
    // Communication within a thread makes another family.
    let inner = cycle.edges.iter().any(|edge| matches!(edge.link, Link::Communication(_, None)));
    let signature = signature(cycle);
    FAMILIES.iter().filter(|_| !inner).find(|(_, known)| *known == signature).map(|(name, _)| *name)
}

fn rank(cycle: &Cycle) -> Rank {
    // Writers first, as families have them.
    (usize::from(family(cycle).is_none()), signature(cycle).replace('W', "A"), cycle.to_string())
}

/// The name of a cycle's test: `MP+po-rel+acq-po`.
fn name(cycle: &Cycle) -> String {
    let mut parts = vec![family(cycle).map_or_else(|| threads(cycle), str::to_owned)];
    let mut at = 0;
    let count = cycle.events.len();
    while at < count {
        let mut end = at;
        while end + 1 < count && !cycle.edges[end].is_external() {
            end += 1;
        }
        let mut words: Vec<String> = Vec::new();
        for event in at..=end {
            words.push(cycle.events[event].annotation.short());
            if event < end {
                words.push(cycle.edges[event].short());
            }
        }
        words.retain(|word| !word.is_empty());
        if !words.is_empty() {
            parts.push(words.join("-"));
        }
        at = end + 1;
    }
    let mut name = parts.join("+");
    if let Some(last) = cycle.edges.last().filter(|edge| !edge.is_external()) {
        // One thread alone.
        name += &format!("-{}", last.short());
    }
    let reach: Vec<&str> = cycle
        .edges
        .iter()
        .filter_map(|edge| match edge.link {
            Link::Communication(_, Some(scope)) => Some(scope.text()),
            Link::Barrier => Some("bar"),
            _ => None,
        })
        .collect();
    match reach.split_first() {
        Some((&"gpu", rest)) if rest.iter().all(|&scope| scope == "gpu") => {}
        Some((first, rest)) if rest.iter().all(|scope| scope == first) => name += &format!("+in-{first}"),
        Some(_) => name += &format!("+in-{}", reach.join("-")),
        None => {}
    }
    name
}

/// The accesses of the threads, `s` behind those that stay at one location: `W+RR+WR`.
fn threads(cycle: &Cycle) -> String {
    signature(cycle)
        .replace(" rf", "")
        .replace(" fr", "")
        .replace(" co", "")
        .replace('.', "s")
        .replace(' ', "+")
}
