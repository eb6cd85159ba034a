//! Cycles of edges: which event is in which thread, at which location, and what it reads or writes.

use std::fmt;

use super::edge::{Annotation, Communication, Direction, Edge, Link, Word};
use crate::program::{MemOrder, Placement, Scope};

/// An event of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) direction: Direction,
    pub(super) annotation: Annotation,
    pub(super) thread: usize,
    pub(super) location: usize,
    /// What a write writes; what a read reads, if the cycle says it. The initial value is 0.
    pub(super) value: Option<i64>,
}

/// Edges that lead back to where they began, and the events between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// Edge `i` leads from event `i` to the next one; the last one leads to another thread, if any does.
    pub(super) edges: Vec<Edge>,
    pub(super) events: Vec<Event>,
    /// Where the threads run.
    pub(super) placements: Vec<Placement>,
    /// Value of each location in the end, if it is written more than once.
    pub(super) finals: Vec<Option<i64>>,
}

/// Why edges make no test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleError(pub String);

impl fmt::Display for CycleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(super) fn error<T>(message: impl Into<String>) -> Result<T, CycleError> {
    Err(CycleError(message.into()))
}

/// An edge, and how its two ends access memory if that is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Annotated {
    pub(super) edge: Edge,
    pub(super) from: Option<Annotation>,
    pub(super) to: Option<Annotation>,
}

/// Edges with the annotations before and behind them.
pub(super) fn annotated(words: &[Word]) -> Result<Vec<Annotated>, CycleError> {
    let mut out: Vec<Annotated> = Vec::new();
    let mut pending: Option<Annotation> = None;
    for word in words {
        match *word {
            Word::Edge(edge) => {
                out.push(Annotated { edge, from: pending.take(), to: None });
            }
            Word::Annotation(annotation) => match out.last_mut() {
                Some(last) if last.to.is_none() => last.to = Some(annotation),
                None if pending.is_none() => pending = Some(annotation),
                _ => return error(format!("`{annotation}`: this event has an annotation already")),
            },
        }
    }
    match out.is_empty() {
        true => error("there is no edge"),
        false => Ok(out),
    }
}

/// What two neighbours say of the event between them.
fn agreed<T: PartialEq + Copy>(a: Option<T>, b: Option<T>) -> Result<Option<T>, ()> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => Err(()),
        _ => Ok(a.or(b)),
    }
}

impl Cycle {
    /// The cycle that begins with the first word.
    pub(super) fn started(words: &[Annotated]) -> Result<Self, CycleError> {
        let count = words.len();
        if count > 64 {
            return error("a cycle has at most 64 edges");
        }
        let mut edges: Vec<Edge> = words.iter().map(|w| w.edge).collect();
        let mut events: Vec<Event> = Vec::new();
        let mut threads = 1;
        let hops = edges.iter().filter(|edge| !edge.same_location).count();
        if hops == 1 {
            return error("one edge alone leads to another location, and none leads back");
        }
        let (mut thread, mut location) = (0, 0);
        for (at, word) in words.iter().enumerate() {
            let before = &words[(at + count - 1) % count];
            let (Ok(direction), Ok(annotation)) =
                (agreed(before.edge.to, word.edge.from), agreed(before.to, word.from))
            else {
                return error(format!(
                    "`{}` and `{}` do not meet: they say different things of the event between them",
                    before.edge, word.edge
                ));
            };
            let Some(direction) = direction else {
                let [a, b] = [before.edge, word.edge];
                return error(format!(
                    "between `{a}` and `{b}` is a read or a write; say R or W instead of *"
                ));
            };
            let annotation = annotation.unwrap_or_default();
            annotation.can_be(direction).map_err(CycleError)?;
            events.push(Event { direction, annotation, thread, location, value: None });
            if word.edge.is_external() {
                thread += 1;
                threads = threads.max(thread);
            }
            if !word.edge.same_location {
                location = (location + 1) % hops.max(1);
            }
        }
        let external = edges.iter().filter(|edge| edge.is_external()).count();
        if external == 1 {
            return error("one edge alone leads to another thread, and none leads back");
        }
        if external > 0 && edges.iter().all(|edge| !edge.is_external() || edge.link == Link::Barrier) {
            return error("barriers alone wait for each other in a circle");
        }
        for at in 0..count {
            edges[at].from = Some(events[at].direction);
            edges[at].to = Some(events[(at + 1) % count].direction);
        }
        let placements = placements(&edges, if external == 0 { 1 } else { threads })?;
        let mut cycle = Self { edges, events, placements, finals: vec![None; hops.max(1)] };
        cycle.atomics()?;
        for location in 0..cycle.finals.len() {
            cycle.values(location)?;
        }
        let told = cycle.events.iter().any(|e| e.direction == Direction::Read && e.value.is_some());
        if !told && cycle.finals.iter().all(Option::is_none) {
            return error("the edges say nothing of values, so there is nothing to ask");
        }
        Ok(cycle)
    }

    /// How many edges it has.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Never: a cycle has an edge.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    pub(super) fn next(&self, event: usize) -> usize {
        (event + 1) % self.events.len()
    }

    /// The halves of an atomic are one instruction, with one annotation.
    fn atomics(&mut self) -> Result<(), CycleError> {
        for at in 0..self.edges.len() {
            let next = self.next(at);
            if !matches!(self.edges[at].link, Link::Atomic(_)) {
                continue;
            }
            if matches!(self.edges[next].link, Link::Atomic(_)) {
                return error("an atomic's write is not another atomic's read");
            }
            let [read, write] = [at, next].map(|event| &self.events[event].annotation);
            if [read, write]
                .iter()
                .any(|a| **a != Annotation { order: a.order, scope: a.scope, ..Annotation::default() })
            {
                return error(format!(
                    "`{}`: the halves of an atomic take orders and scopes alone",
                    self.edges[at]
                ));
            }
            if [read, write].iter().any(|a| a.order == MemOrder::Weak) {
                return error(format!("`{}`: no half of an atomic is weak", self.edges[at]));
            }
            if read.scope != write.scope {
                return error(format!("`{}`: the halves of an atomic have one scope", self.edges[at]));
            }
        }
        Ok(())
    }

    /// Gives values to what the location's events write and read.
    fn values(&mut self, location: usize) -> Result<(), CycleError> {
        let count = self.events.len();
        // The location's events lie side by side; those of the only location begin anywhere.
        let inside = |at: usize| self.events[at % count].location == location;
        let begin = (0..count).find(|&at| inside(at) && !inside(at + count - 1)).unwrap_or(0);
        let run: Vec<usize> =
            (begin..begin + count).take_while(|&at| inside(at)).map(|at| at % count).collect();
        let is_write = |at: usize| self.events[at].direction == Direction::Write;
        let writes: Vec<usize> = run.iter().copied().filter(|&at| is_write(at)).collect();
        let before_in_run = |at: usize| &run[..run.iter().position(|&r| r == at).unwrap_or(0)];
        let within = |from: usize| inside(from) && self.edges[from].same_location;
        // Pairs of writes of which the first comes before the second.
        let mut order: Vec<(usize, usize)> = Vec::new();
        let reach = |order: &[(usize, usize)], from: usize, to: usize| {
            let (mut seen, mut waiting) = (vec![from], vec![from]);
            while let Some(at) = waiting.pop() {
                for &(_, next) in order.iter().filter(|pair| pair.0 == at) {
                    if !seen.contains(&next) {
                        seen.push(next);
                        waiting.push(next);
                    }
                }
            }
            seen.contains(&to)
        };
        for &at in &run {
            if within(at) && self.edges[at].communication() == Some(Communication::Coherence) {
                order.push((at, self.next(at)));
            }
        }
        // Where reads read from; `Some(None)` is the initial value.
        let mut sources: Vec<(usize, Option<usize>)> = Vec::new();
        for by_edge in [true, false] {
            for &at in run.iter().filter(|&&at| !is_write(at)) {
                let previous = (at + count - 1) % count;
                let told = within(previous)
                    && self.edges[previous].communication() == Some(Communication::ReadsFrom);
                if told != by_edge {
                    continue;
                }
                let onwards = within(at)
                    && (self.edges[at].communication() == Some(Communication::FromRead)
                        || matches!(self.edges[at].link, Link::Atomic(_)));
                let target = onwards.then(|| self.next(at));
                let source = match (told, target) {
                    (true, _) => Some(previous),
                    (false, None) => continue,
                    (false, Some(target)) => {
                        let earlier = before_in_run(at).iter().rev().copied();
                        earlier.filter(|&w| is_write(w)).find(|&w| !reach(&order, target, w))
                    }
                };
                if let (Some(source), Some(target)) = (source, target) {
                    order.push((source, target));
                }
                sources.push((at, source));
            }
        }
        // The first write that none of those left must precede comes next.
        let mut sorted: Vec<usize> = Vec::new();
        while sorted.len() < writes.len() {
            let left: Vec<usize> = writes.iter().copied().filter(|w| !sorted.contains(w)).collect();
            let free = |w: &&usize| !order.iter().any(|&(a, b)| b == **w && left.contains(&a));
            match left.iter().find(free) {
                Some(&next) => sorted.push(next),
                None => {
                    return error("a write would come before itself in the order of its location's writes");
                }
            }
        }
        // The last value tells two writes apart, not three.
        let told = |a: usize, b: usize| {
            let same_thread = self.events[a].thread == self.events[b].thread;
            same_thread || Some(&b) == sorted.last() && sorted.len() == 2
        };
        for &at in run.iter().filter(|&&at| within(at)) {
            let next = self.next(at);
            if self.edges[at].communication() == Some(Communication::Coherence) && !told(at, next) {
                return error(
                    "a location is written more than twice, and its last value tells no order of writes",
                );
            }
        }
        let value = |write: usize| sorted.iter().position(|&w| w == write).map_or(0, |at| at as i64 + 1);
        let last = (sorted.len() > 1).then_some(sorted.len() as i64);
        let told: Vec<(usize, i64)> = writes
            .iter()
            .map(|&w| (w, value(w)))
            .chain(sources.iter().map(|&(read, source)| (read, source.map_or(0, value))))
            .collect();
        for (at, value) in told {
            self.events[at].value = Some(value);
        }
        self.finals[location] = last;
        Ok(())
    }
}

/// Where threads run whose neighbours have these narrowest scopes in common.
fn placements(edges: &[Edge], threads: usize) -> Result<Vec<Placement>, CycleError> {
    let external: Vec<Scope> = edges
        .iter()
        .filter(|edge| edge.is_external())
        .map(|edge| match edge.link {
            Link::Communication(_, Some(scope)) => scope,
            _ => Scope::Cta,
        })
        .collect();
    // The number of the group that each thread is in, where neighbours within the scope are in one.
    let groups = |scope: Scope| {
        let mut group: Vec<usize> = (0..threads).collect();
        for (at, _) in external.iter().enumerate().filter(|(_, reach)| **reach <= scope) {
            let [a, b] = [group[at], group[(at + 1) % threads]];
            group.iter_mut().for_each(|g| {
                if *g == b {
                    *g = a;
                }
            });
        }
        let mut names: Vec<usize> = Vec::new();
        let mut number = |g: usize| {
            names.iter().position(|&n| n == g).unwrap_or_else(|| {
                names.push(g);
                names.len() - 1
            }) as u32
        };
        group.into_iter().map(&mut number).collect::<Vec<u32>>()
    };
    let (ctas, clusters, gpus) = (groups(Scope::Cta), groups(Scope::Cluster), groups(Scope::Gpu));
    let clustered = external.contains(&Scope::Cluster);
    let placements: Vec<Placement> = (0..threads)
        .map(|t| Placement { gpu: gpus[t], cluster: clustered.then_some(clusters[t]), cta: ctas[t] })
        .collect();
    for (at, &wanted) in external.iter().enumerate() {
        let next = (at + 1) % threads;
        let found = placements[at].narrowest_common_scope(&placements[next]);
        if found != wanted {
            return error(format!(
                "P{at} and P{next} are to have {wanted} as their narrowest scope, and have {found} by the other edges"
            ));
        }
    }
    Ok(placements)
}

impl fmt::Display for Cycle {
    /// In words that make the cycle again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        for (edge, event) in self.edges.iter().zip(&self.events) {
            if event.annotation != Annotation::default() {
                words.push(event.annotation.to_string());
            }
            words.push(edge.to_string());
        }
        f.write_str(&words.join(" "))
    }
}
