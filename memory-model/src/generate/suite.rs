//! All cycles of some edges, up to a length.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cycle::{Annotated, Cycle, CycleError, annotated};
use super::edge::{Communication, Direction, Link, Word};

/// What cycles are made of: an edge, or several in a row, with annotations; `*` stands for R and W.
pub type Relaxation = Vec<Word>;

/// Reads a list of relaxations: `Rfe Fre [Acq Pod**] Pod**`, those of several words in brackets.
///
/// # Errors
/// Words that are neither edges nor annotations, and brackets that do not match.
pub fn relaxations(text: &str) -> Result<Vec<Relaxation>, CycleError> {
    let spaced = text.replace('[', " [ ").replace(']', " ] ").replace(',', " ");
    let mut out = Vec::new();
    let mut open: Option<Relaxation> = None;
    for word in spaced.split_whitespace() {
        match (word, &mut open) {
            ("[", None) => open = Some(Vec::new()),
            ("]", Some(_)) => out.extend(open.take()),
            ("[" | "]", _) => return Err(CycleError(format!("`{word}` has no counterpart"))),
            (word, open) => {
                let word = word.parse().map_err(|wrong: super::edge::WrongWord| CycleError(wrong.0))?;
                match open {
                    Some(list) => list.push(word),
                    None => out.push(vec![word]),
                }
            }
        }
    }
    if open.is_some() {
        return Err(CycleError("`[` has no counterpart".to_owned()));
    }
    Ok(out)
}

/// Relaxations without `*`.
fn expanded(relaxation: &[Annotated]) -> Vec<Vec<Annotated>> {
    let ends = |end: Option<Direction>| match end {
        Some(end) => vec![end],
        None => vec![Direction::Write, Direction::Read],
    };
    let mut out: Vec<Vec<Annotated>> = vec![Vec::new()];
    for step in relaxation {
        let mut next = Vec::new();
        for from in ends(step.edge.from) {
            for to in ends(step.edge.to) {
                let mut step = *step;
                (step.edge.from, step.edge.to) = (Some(from), Some(to));
                next.extend(out.iter().map(|before| [&before[..], &[step]].concat()));
            }
        }
        out = next;
    }
    out.retain(|steps| steps.windows(2).all(meet) && steps.iter().all(stands));
    out
}

/// Whether instructions can be as an edge wants its ends.
fn stands(step: &Annotated) -> bool {
    let can_be = |end: Option<Direction>, annotation: Option<super::edge::Annotation>| match (end, annotation)
    {
        (Some(end), Some(annotation)) => annotation.can_be(end).is_ok(),
        _ => true,
    };
    can_be(step.edge.from, step.from) && can_be(step.edge.to, step.to)
}

/// Whether an edge can follow another one in a critical cycle.
fn meet(pair: &[Annotated]) -> bool {
    let [a, b] = pair else { return false };
    let annotations = a.to.is_none() || b.from.is_none() || a.to == b.from;
    a.edge.to == b.edge.from && annotations && !reducible(a, b)
}

/// Whether two edges are no more than one would be: program order twice, and what another communication says.
fn reducible(a: &Annotated, b: &Annotated) -> bool {
    use Communication::{Coherence, FromRead, ReadsFrom};
    let plain = |step: &Annotated| step.edge.is_program_order() && !matches!(step.edge.link, Link::Atomic(_));
    match (a.edge.communication(), b.edge.communication()) {
        (Some(a), Some(b)) => matches!((a, b), (Coherence | FromRead, Coherence) | (ReadsFrom, FromRead)),
        _ => plain(a) && plain(b),
    }
}

/// The cycles of at most so many edges, each once, shorter ones first. A cycle is critical: in it no two
/// edges in a row can be replaced by one, and no thread comes twice to a location but by edges that say so.
///
/// # Errors
/// Relaxations that do not hold together.
pub fn cycles(relaxations: &[Relaxation], longest: usize) -> Result<Vec<Cycle>, CycleError> {
    cycles_with(relaxations, longest, 1)
}

/// The same on so many threads.
///
/// # Errors
/// Those of [`cycles`].
pub fn cycles_with(
    relaxations: &[Relaxation],
    longest: usize,
    threads: usize,
) -> Result<Vec<Cycle>, CycleError> {
    let mut steps = Vec::new();
    for relaxation in relaxations {
        let words = annotated(relaxation)?;
        let all = expanded(&words);
        if all.is_empty() {
            let text: Vec<String> = words.iter().map(|step| step.edge.to_string()).collect();
            return Err(CycleError(format!("the edges of `{}` do not meet", text.join(" "))));
        }
        steps.extend(all);
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut search = Search { steps: &steps, longest, first: 0, path: Vec::new(), out: BTreeMap::new() };
        loop {
            let first = next.fetch_add(1, Ordering::Relaxed);
            let Some(step) = steps.get(first) else { return search.out };
            search.first = first;
            search.follow(step);
        }
    };
    let found = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(steps.len())).map(|_| scope.spawn(work)).collect();
        let mut found = work();
        for other in others {
            found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    let mut out: Vec<(String, Cycle)> = found.into_values().collect();
    out.sort_by(|(a, x), (b, y)| (x.len(), a).cmp(&(y.len(), b)));
    Ok(out.into_iter().map(|(_, cycle)| cycle).collect())
}

struct Search<'a> {
    steps: &'a [Vec<Annotated>],
    longest: usize,
    /// The step that the path begins with.
    first: usize,
    path: Vec<Annotated>,
    /// With their names, by the words that make them.
    out: BTreeMap<String, (String, Cycle)>,
}

impl Search<'_> {
    fn extend(&mut self) {
        if let (Some(first), Some(last)) = (self.path.first(), self.path.last())
            && self.path.len() > 1
            && last.edge.is_external()
            && meet(&[*last, *first])
            && let Ok(cycle) = Cycle::of(&self.path)
        {
            self.out.entry(cycle.to_string()).or_insert_with(|| (cycle.name(), cycle));
        }
        for (at, step) in self.steps.iter().enumerate() {
            // A cycle can begin with each of its threads, behind an edge that is external; it is found from the one with the
            // first step of all.
            let fits = self
                .path
                .last()
                .is_some_and(|last| meet(&[*last, step[0]]) && !(last.edge.is_external() && at < self.first));
            if fits {
                self.follow(step);
            }
        }
    }

    /// The path with one more step.
    fn follow(&mut self, step: &[Annotated]) {
        if self.path.len() + step.len() <= self.longest {
            let before = self.path.len();
            self.path.extend_from_slice(step);
            self.extend();
            self.path.truncate(before);
        }
    }
}
