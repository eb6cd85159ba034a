//! Why an evaluated relation has a pair, and why it has not.
//!
//! A pair is there because of pairs of the relations that its expression is made of, down to base relations and
//! what the search chose. That it is not there has reasons, too: what the search did not choose. They may depend on
//! which events there are, which the paths of all threads decide.

use super::algebra::{BaseRel, Demand};
use super::eval::{Code, Compiled, Evaluation, RelId};
use crate::relation::{Relation, contains, elements, insert};
use rustc_hash::FxHashSet;
use std::cell::RefCell;

/// Why a pair is related.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivation {
    /// First event of the pair.
    pub from: usize,
    /// Second event of the pair.
    pub to: usize,
    /// The relation, if it has a name ([`Compiled::name`]).
    pub name: Option<RelId>,
    /// The reason.
    pub why: Why,
}

/// The reason part of a [`Derivation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// A base relation holds.
    Base(BaseRel),
    /// Both events are in sets (the two are equal in an identity).
    Sets,
    /// This event is in a set that the search chooses.
    Chosen(usize),
    /// Consecutive steps.
    Steps(Vec<Derivation>),
    /// Several relations between the same two events.
    All(Vec<Derivation>),
    /// The pair the other way round.
    Reverse(Box<Derivation>),
    /// The pair is not in a base relation that the search chooses.
    Missing(BaseRel),
    /// Something is not related, for all these reasons; which events there are is one of them.
    Absent(Vec<Derivation>),
}

/// An axiom that an execution violates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Index into [`Compiled::axioms`].
    pub axiom: usize,
    /// The pair, point or cycle that must not be there.
    pub derivation: Derivation,
}

impl<const W: usize> Evaluation<W> {
    /// At most `limit` violations of each axiom, each with the derivation of what must not be there.
    pub fn violations(&mut self, compiled: &Compiled, limit: usize) -> Vec<Violation> {
        let mut out = Vec::new();
        for (axiom, (what, id)) in compiled.axioms.iter().enumerate() {
            let id = *id;
            if matches!(what.demand, Demand::NotEmpty | Demand::NotIrreflexive | Demand::NotAcyclic) {
                if !self.holds(compiled, axiom) {
                    let derivation = self.lacking(compiled, id, what.demand);
                    out.push(Violation { axiom, derivation });
                }
                continue;
            }
            if self.empty[id] {
                continue;
            }
            let found: Vec<Derivation> = match what.demand {
                Demand::Empty => {
                    self.rels[id].pairs().take(limit).map(|(a, b)| self.derive(compiled, id, a, b)).collect()
                }
                Demand::Irreflexive => self.rels[id]
                    .reflexive_points()
                    .take(limit)
                    .map(|a| self.derive(compiled, id, a, a))
                    .collect(),
                Demand::Acyclic => {
                    self.scratch.copy_from(&self.rels[id]);
                    self.scratch.close();
                    let mut covered = [0u64; W];
                    let mut cycles = Vec::new();
                    for a in self.scratch.reflexive_points() {
                        if contains(&covered, a) || cycles.len() >= limit {
                            continue;
                        }
                        let Some(path) = self.rels[id].path(a, a) else { continue };
                        path.iter().for_each(|&e| insert(&mut covered, e));
                        let steps = path
                            .windows(2)
                            .map(|w| self.derive(compiled, id, w[0], w[1]))
                            .collect::<Vec<_>>();
                        cycles.push(Derivation { from: a, to: a, name: None, why: Why::Steps(steps) });
                    }
                    cycles
                }
                Demand::NotEmpty | Demand::NotIrreflexive | Demand::NotAcyclic => Vec::new(),
            };
            out.extend(found.into_iter().map(|derivation| Violation { axiom, derivation }));
        }
        out
    }

    /// Why `id` relates `a` to `b`, which it must.
    pub fn derive(&self, compiled: &Compiled, id: RelId, a: usize, b: usize) -> Derivation {
        self.reasons(compiled).derive(id, a, b, None)
    }

    fn reasons<'e>(&'e self, compiled: &'e Compiled) -> Reasons<'e, W> {
        Reasons { compiled, evaluation: self, seen: RefCell::new(FxHashSet::default()) }
    }

    /// Why nothing satisfies a demand that something be there.
    fn lacking(&self, compiled: &Compiled, id: RelId, demand: Demand) -> Derivation {
        let n = self.rels[id].len();
        let reasons = self.reasons(compiled);
        let mut parts = Vec::new();
        match demand {
            Demand::NotAcyclic => {
                // What goes against an order in which the relation only goes forwards is not there.
                let mut closed = self.rels[id].clone();
                closed.close();
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by_key(|&a| closed.row(a).iter().map(|w| w.count_ones()).sum::<u32>());
                for (i, &a) in order.iter().enumerate() {
                    parts.extend(order[i..].iter().map(|&b| reasons.refute(id, a, b)));
                }
            }
            Demand::NotIrreflexive => parts.extend((0..n).map(|a| reasons.refute(id, a, a))),
            _ => parts.extend((0..n * n).map(|i| reasons.refute(id, i / n, i % n))),
        }
        Derivation { from: 0, to: 0, name: None, why: Why::Absent(parts) }
    }
}

/// A round of a loop: the loop and the number of the round.
type Round = Option<(usize, usize)>;

struct Reasons<'e, const W: usize> {
    compiled: &'e Compiled,
    evaluation: &'e Evaluation<W>,
    /// Pairs for whose absence there are reasons already, here or further out. What is absent because of one another
    /// is absent: relations are the least ones.
    seen: RefCell<FxHashSet<(RelId, usize, usize)>>,
}

impl<const W: usize> Reasons<'_, W> {
    /// What a relation was in a round of a loop, or is.
    fn value(&self, id: RelId, round: Round) -> &Relation<W> {
        if let Some((at, round)) = round {
            let of = &self.compiled.loops[at];
            if (of.start..of.end).contains(&id) {
                return &self.evaluation.rounds[at][round][id - of.start];
            }
        }
        self.evaluation.relation(id)
    }

    /// The first round in which a definition of a loop had the pair.
    fn first_round(&self, at: usize, index: usize, a: usize, b: usize) -> (RelId, Round) {
        let of = &self.compiled.loops[at];
        let body = of.bodies[index];
        let rounds = &self.evaluation.rounds[at];
        let has = |round: &Vec<Relation<W>>| match (of.start..of.end).contains(&body) {
            true => round[body - of.start].has(a, b),
            false => true,
        };
        (body, rounds.iter().position(has).map(|round| (at, round)))
    }

    fn derive(&self, id: RelId, a: usize, b: usize, round: Round) -> Derivation {
        let compiled = self.compiled;
        let derive = |id, a, b| self.derive(id, a, b, round);
        let value = |id| self.value(id, round);
        let why = match compiled.code[id] {
            Code::Base(base) => Why::Base(base),
            Code::Only(s) | Code::Cross(s, _) if compiled.set_chosen[s] => Why::Chosen(a),
            Code::Only(_) | Code::Cross(..) => Why::Sets,
            Code::Union(x, y) => {
                // What does not depend on the search explains best.
                let first = if compiled.chosen[x] && !compiled.chosen[y] { y } else { x };
                let other = if first == x { y } else { x };
                let part = if value(first).has(a, b) { first } else { other };
                return self.renamed(id, derive(part, a, b));
            }
            Code::Intersection(x, y) => {
                let parts: Vec<_> =
                    [x, y].into_iter().filter(|&p| compiled.chosen[p]).map(|p| derive(p, a, b)).collect();
                match parts.len() {
                    1 => {
                        return self.renamed(id, parts.into_iter().next().unwrap_or_else(|| derive(x, a, b)));
                    }
                    0 => Why::All([x, y].into_iter().map(|p| derive(p, a, b)).collect()),
                    _ => Why::All(parts),
                }
            }
            Code::Minus(x, y) if compiled.chosen[y] => {
                let without = self.refute(y, a, b);
                Why::All(vec![derive(x, a, b), without])
            }
            Code::Minus(x, _) => return self.renamed(id, derive(x, a, b)),
            Code::Compose(x, y) => {
                let middle = elements(value(x).row(a)).find(|&m| value(y).has(m, b));
                match middle {
                    Some(m) => Why::Steps(vec![derive(x, a, m), derive(y, m, b)]),
                    None => Why::Sets,
                }
            }
            Code::Inverse(x) => Why::Reverse(Box::new(derive(x, b, a))),
            Code::Plus(x) => match value(x).path(a, b) {
                Some(path) if path.len() == 2 => return self.renamed(id, derive(x, a, b)),
                Some(path) => Why::Steps(path.windows(2).map(|w| derive(x, w[0], w[1])).collect()),
                None => Why::Sets,
            },
            Code::Optional(_) if a == b => Why::Sets,
            Code::Optional(x) => return self.renamed(id, derive(x, a, b)),
            Code::Variable(at, index) | Code::Fixed(at, index) => {
                let (body, round) = self.first_round(at, index, a, b);
                return self.renamed(id, self.derive(body, a, b, round));
            }
        };
        Derivation { from: a, to: b, name: self.named(id), why }
    }

    fn named(&self, id: RelId) -> Option<RelId> {
        self.compiled.name(id).map(|_| id)
    }

    /// A derivation that stands for another expression: a name of the outer one is kept around it.
    fn renamed(&self, id: RelId, inner: Derivation) -> Derivation {
        let name = |id: Option<RelId>| id.and_then(|id| self.compiled.name(id));
        match self.named(id) {
            named @ Some(_) if inner.name.is_none() => Derivation { name: named, ..inner },
            named @ Some(_) if name(inner.name) != name(named) => {
                Derivation { from: inner.from, to: inner.to, name: named, why: Why::Steps(vec![inner]) }
            }
            _ => inner,
        }
    }

    /// Why `id` does not relate `a` to `b`, which it must not.
    fn refute(&self, id: RelId, a: usize, b: usize) -> Derivation {
        let compiled = self.compiled;
        let because = |why| Derivation { from: a, to: b, name: None, why };
        if !compiled.chosen[id] || !self.seen.borrow_mut().insert((id, a, b)) {
            return because(Why::Sets);
        }
        let value = |id| self.evaluation.relation(id);
        let parts = match compiled.code[id] {
            Code::Base(base) => return because(Why::Missing(base)),
            // Sets that the search chooses are of its own axioms, which take nothing away.
            Code::Only(_) | Code::Cross(..) => return because(Why::Sets),
            Code::Union(x, y) => return because(Why::All(vec![self.refute(x, a, b), self.refute(y, a, b)])),
            Code::Intersection(x, y) => {
                let absent = |id: &RelId| !value(*id).has(a, b);
                let fixed = [x, y].into_iter().find(|id| absent(id) && !compiled.chosen[*id]);
                let part = fixed.or_else(|| [x, y].into_iter().find(absent));
                return part.map_or(because(Why::Sets), |part| self.refute(part, a, b));
            }
            Code::Minus(x, _) if !value(x).has(a, b) => return self.refute(x, a, b),
            Code::Minus(_, y) => return self.derive(y, a, b, None),
            Code::Inverse(x) => return self.refute(x, b, a),
            Code::Optional(x) => return self.refute(x, a, b),
            Code::Variable(at, index) | Code::Fixed(at, index) => {
                return self.refute(compiled.loops[at].bodies[index], a, b);
            }
            Code::Compose(x, y) => {
                let n = value(x).len();
                let part = |m: usize| match (value(x).has(a, m), value(y).has(m, b)) {
                    (true, _) => self.refute(y, m, b),
                    (false, true) => self.refute(x, a, m),
                    (false, false) if compiled.chosen[x] => self.refute(y, m, b),
                    (false, false) => self.refute(x, a, m),
                };
                (0..n).map(part).collect()
            }
            Code::Plus(x) => {
                // No step leads from what can be reached to anything else.
                let n = value(x).len();
                let reached = *value(id).row(a);
                let mut from = reached;
                insert(&mut from, a);
                let mut parts = Vec::new();
                for s in elements(&from) {
                    for t in (0..n).filter(|&t| !contains(&reached, t)) {
                        parts.push(self.refute(x, s, t));
                    }
                }
                parts
            }
        };
        because(Why::Absent(parts))
    }
}
