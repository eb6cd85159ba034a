//! Evaluation of a model on one execution, and derivations that say why a pair is related.

use super::Model;
use super::algebra::{Axiom, BaseRel, BaseSet, Demand, Rel, RelNode, Set, SetNode};
use crate::event::{Event, Execution, Kind};
use crate::program::{MemOrder, Proxy};
use crate::relation::{Relation, Row, contains, insert};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Index of a compiled relation.
pub type RelId = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SetCode {
    Base(BaseSet),
    Union(usize, usize),
    Intersection(usize, usize),
    Difference(usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Code {
    Base(BaseRel),
    Only(usize),
    Cross(usize, usize),
    Union(RelId, RelId),
    Intersection(RelId, RelId),
    Minus(RelId, RelId),
    Compose(RelId, RelId),
    Inverse(RelId),
    Plus(RelId),
    Optional(RelId),
}

/// A model as straight-line code: every subexpression once, operands before their uses.
#[derive(Debug, Clone)]
pub struct Compiled {
    sets: Vec<SetCode>,
    set_chosen: Vec<bool>,
    code: Vec<Code>,
    chosen: Vec<bool>,
    names: Vec<Option<(&'static str, &'static str)>>,
    axioms: Vec<(Axiom, RelId)>,
}

#[derive(Default)]
struct Compiler {
    sets: Vec<SetCode>,
    set_chosen: Vec<bool>,
    set_index: FxHashMap<SetCode, usize>,
    code: Vec<Code>,
    chosen: Vec<bool>,
    names: Vec<Option<(&'static str, &'static str)>>,
    index: FxHashMap<Code, RelId>,
    by_pointer: FxHashMap<*const RelNode, RelId>,
}

impl Compiler {
    fn set(&mut self, set: &Set) -> usize {
        let (code, chosen) = match &*set.0 {
            SetNode::Base(base) => (SetCode::Base(*base), base.is_chosen()),
            SetNode::Union(a, b) => self.set_pair(a, b, SetCode::Union),
            SetNode::Intersection(a, b) => self.set_pair(a, b, SetCode::Intersection),
            SetNode::Difference(a, b) => {
                let pair = self.set_pair(a, b, SetCode::Difference);
                if let SetCode::Difference(_, b) = pair.0 {
                    assert!(!self.set_chosen[b], "a set that the search chooses cannot be taken away");
                }
                pair
            }
        };
        if let Some(&known) = self.set_index.get(&code) {
            return known;
        }
        self.sets.push(code);
        self.set_chosen.push(chosen);
        self.set_index.insert(code, self.sets.len() - 1);
        self.sets.len() - 1
    }

    fn set_pair(&mut self, a: &Set, b: &Set, make: fn(usize, usize) -> SetCode) -> (SetCode, bool) {
        let (a, b) = (self.set(a), self.set(b));
        (make(a, b), self.set_chosen[a] || self.set_chosen[b])
    }

    fn rel(&mut self, rel: &Rel) -> RelId {
        let pointer = Arc::as_ptr(&rel.0);
        if let Some(&known) = self.by_pointer.get(&pointer) {
            return known;
        }
        let id = match &*rel.0 {
            RelNode::Named { inner, name, section } => {
                let id = self.rel(inner);
                self.names[id].get_or_insert((name, section));
                id
            }
            RelNode::Base(base) => self.emit(Code::Base(*base), base.is_chosen()),
            RelNode::Only(s) => {
                let s = self.set(s);
                self.emit(Code::Only(s), self.set_chosen[s])
            }
            RelNode::Cross(a, b) => {
                let (a, b) = (self.set(a), self.set(b));
                self.emit(Code::Cross(a, b), self.set_chosen[a] || self.set_chosen[b])
            }
            RelNode::Union(a, b) => self.pair(a, b, Code::Union),
            RelNode::Intersection(a, b) => self.pair(a, b, Code::Intersection),
            RelNode::Compose(a, b) => self.pair(a, b, Code::Compose),
            RelNode::Minus(a, b) => {
                let id = self.pair(a, b, Code::Minus);
                if let Code::Minus(_, b) = self.code[id] {
                    assert!(!self.chosen[b], "a relation that the search chooses cannot be taken away");
                }
                id
            }
            RelNode::Inverse(a) => self.one(a, Code::Inverse),
            RelNode::Plus(a) => self.one(a, Code::Plus),
            RelNode::Optional(a) => self.one(a, Code::Optional),
        };
        self.by_pointer.insert(pointer, id);
        id
    }

    fn one(&mut self, a: &Rel, make: fn(RelId) -> Code) -> RelId {
        let a = self.rel(a);
        self.emit(make(a), self.chosen[a])
    }

    fn pair(&mut self, a: &Rel, b: &Rel, make: fn(RelId, RelId) -> Code) -> RelId {
        let (a, b) = (self.rel(a), self.rel(b));
        self.emit(make(a, b), self.chosen[a] || self.chosen[b])
    }

    fn emit(&mut self, code: Code, chosen: bool) -> RelId {
        if let Some(&known) = self.index.get(&code) {
            return known;
        }
        self.code.push(code);
        self.chosen.push(chosen);
        self.names.push(None);
        self.index.insert(code, self.code.len() - 1);
        self.code.len() - 1
    }
}

impl Compiled {
    /// Compiles the axioms of a model, further axioms, and relations that are only looked at; gives the ids
    /// of the latter.
    pub fn new(model: &Model, further: &[Axiom], shown: &[&Rel]) -> (Self, Vec<RelId>) {
        let mut compiler = Compiler::default();
        let axioms =
            model.axioms.iter().chain(further).map(|a| (a.clone(), compiler.rel(&a.rel))).collect::<Vec<_>>();
        let shown = shown.iter().map(|r| compiler.rel(r)).collect();
        let Compiler { sets, set_chosen, code, chosen, names, .. } = compiler;
        (Self { sets, set_chosen, code, chosen, names, axioms }, shown)
    }

    /// The axioms, in the order in which they were given.
    pub fn axioms(&self) -> impl Iterator<Item = &Axiom> {
        self.axioms.iter().map(|(a, _)| a)
    }

    /// Number of subexpressions.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether there is nothing to evaluate.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }
}

/// Why a pair is related.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivation {
    /// First event of the pair.
    pub from: usize,
    /// Second event of the pair.
    pub to: usize,
    /// Name and section of the relation, where it has one.
    pub name: Option<(&'static str, &'static str)>,
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
}

/// An axiom that an execution violates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Index into [`Compiled::axioms`].
    pub axiom: usize,
    /// The pair, point or cycle that must not be there.
    pub derivation: Derivation,
}

/// The value of every subexpression of a compiled model on one execution of at most `64 * W` events.
pub struct Evaluation<const W: usize> {
    sets: Vec<Row<W>>,
    rels: Vec<Relation<W>>,
    empty: Vec<bool>,
    scratch: Relation<W>,
}

impl<const W: usize> Default for Evaluation<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const W: usize> Evaluation<W> {
    /// An evaluation to be filled by [`Self::load`].
    pub fn new() -> Self {
        Self { sets: Vec::new(), rels: Vec::new(), empty: Vec::new(), scratch: Relation::empty(0) }
    }

    /// Evaluates everything, or with `same_events` only what depends on what the search chose: the events,
    /// their order, scopes and dependencies must then be those of the call before.
    pub fn load(&mut self, compiled: &Compiled, x: &Execution, same_events: bool) {
        let n = x.events.len();
        let fresh = !same_events || self.rels.len() != compiled.code.len();
        if fresh {
            self.sets.resize(compiled.sets.len(), [0; W]);
            self.rels.resize_with(compiled.code.len(), || Relation::empty(0));
            self.empty.resize(compiled.code.len(), true);
        }
        for (i, code) in compiled.sets.iter().enumerate() {
            if fresh || compiled.set_chosen[i] {
                let of = |j: usize| self.sets[j];
                self.sets[i] = match *code {
                    SetCode::Base(base) => base_set(base, x),
                    SetCode::Union(a, b) => zip(of(a), of(b), |a, b| a | b),
                    SetCode::Intersection(a, b) => zip(of(a), of(b), |a, b| a & b),
                    SetCode::Difference(a, b) => zip(of(a), of(b), |a, b| a & !b),
                };
            }
        }
        for (i, code) in compiled.code.iter().enumerate() {
            if fresh || compiled.chosen[i] {
                self.step(i, *code, n, x);
            }
        }
    }

    fn step(&mut self, i: usize, code: Code, n: usize, x: &Execution) {
        let (before, rest) = self.rels.split_at_mut(i);
        let out = &mut rest[0];
        let empty = &self.empty;
        match code {
            Code::Base(base) => {
                out.reset(n);
                base_rel(base, x, out);
            }
            Code::Only(s) => {
                out.reset(n);
                crate::relation::elements(&self.sets[s]).for_each(|a| out.add(a, a));
            }
            Code::Cross(a, b) => {
                out.reset(n);
                for a in crate::relation::elements(&self.sets[a]) {
                    crate::relation::elements(&self.sets[b]).for_each(|b| out.add(a, b));
                }
            }
            Code::Union(a, b) => {
                out.copy_from(&before[a]);
                if !empty[b] {
                    out.union(&before[b]);
                }
            }
            Code::Intersection(a, b) => {
                if empty[a] || empty[b] {
                    out.reset(n);
                } else {
                    out.copy_from(&before[a]);
                    out.intersect(&before[b]);
                }
            }
            Code::Minus(a, b) => {
                out.copy_from(&before[a]);
                out.subtract(&before[b]);
            }
            Code::Compose(a, b) => {
                if empty[a] || empty[b] {
                    out.reset(n);
                } else {
                    out.compose(&before[a], &before[b]);
                }
            }
            Code::Inverse(a) => out.invert(&before[a]),
            Code::Plus(a) => {
                out.copy_from(&before[a]);
                if !empty[a] {
                    out.close();
                }
            }
            Code::Optional(a) => {
                out.copy_from(&before[a]);
                out.add_identity();
            }
        }
        self.empty[i] = self.rels[i].is_empty();
    }

    /// The value of a relation.
    pub fn relation(&self, id: RelId) -> &Relation<W> {
        &self.rels[id]
    }

    /// Whether every axiom holds.
    pub fn consistent(&mut self, compiled: &Compiled) -> bool {
        (0..compiled.axioms.len()).all(|i| self.holds(compiled, i))
    }

    /// Whether the axiom of that index holds.
    pub fn holds(&mut self, compiled: &Compiled, axiom: usize) -> bool {
        let (axiom, id) = &compiled.axioms[axiom];
        if self.empty[*id] {
            return true;
        }
        match axiom.demand {
            Demand::Empty => false,
            Demand::Irreflexive => self.rels[*id].reflexive_points().next().is_none(),
            Demand::Acyclic => {
                self.scratch.copy_from(&self.rels[*id]);
                self.scratch.close();
                self.scratch.reflexive_points().next().is_none()
            }
        }
    }

    /// At most `limit` violations of each axiom, each with the derivation of what must not be there.
    pub fn violations(&mut self, compiled: &Compiled, limit: usize) -> Vec<Violation> {
        let mut out = Vec::new();
        for (axiom, (what, id)) in compiled.axioms.iter().enumerate() {
            if self.empty[*id] {
                continue;
            }
            let id = *id;
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
            };
            out.extend(found.into_iter().map(|derivation| Violation { axiom, derivation }));
        }
        out
    }

    /// Why `id` relates `a` to `b`, which it must.
    pub fn derive(&self, compiled: &Compiled, id: RelId, a: usize, b: usize) -> Derivation {
        let derive = |id, a, b| self.derive(compiled, id, a, b);
        let why = match compiled.code[id] {
            Code::Base(base) => Why::Base(base),
            Code::Only(s) | Code::Cross(s, _) if compiled.set_chosen[s] => Why::Chosen(a),
            Code::Only(_) | Code::Cross(..) => Why::Sets,
            Code::Union(x, y) => {
                // What does not depend on the search explains best.
                let first = if compiled.chosen[x] && !compiled.chosen[y] { y } else { x };
                let other = if first == x { y } else { x };
                let part = if self.rels[first].has(a, b) { first } else { other };
                return self.renamed(compiled, id, derive(part, a, b));
            }
            Code::Intersection(x, y) => {
                let parts: Vec<_> =
                    [x, y].into_iter().filter(|&p| compiled.chosen[p]).map(|p| derive(p, a, b)).collect();
                match parts.len() {
                    1 => {
                        return self.renamed(
                            compiled,
                            id,
                            parts.into_iter().next().unwrap_or_else(|| derive(x, a, b)),
                        );
                    }
                    0 => Why::All([x, y].into_iter().map(|p| derive(p, a, b)).collect()),
                    _ => Why::All(parts),
                }
            }
            Code::Minus(x, _) => return self.renamed(compiled, id, derive(x, a, b)),
            Code::Compose(x, y) => {
                let middle = crate::relation::elements(self.rels[x].row(a)).find(|&m| self.rels[y].has(m, b));
                match middle {
                    Some(m) => Why::Steps(vec![derive(x, a, m), derive(y, m, b)]),
                    None => Why::Sets,
                }
            }
            Code::Inverse(x) => Why::Reverse(Box::new(derive(x, b, a))),
            Code::Plus(x) => match self.rels[x].path(a, b) {
                Some(path) if path.len() == 2 => return self.renamed(compiled, id, derive(x, a, b)),
                Some(path) => Why::Steps(path.windows(2).map(|w| derive(x, w[0], w[1])).collect()),
                None => Why::Sets,
            },
            Code::Optional(_) if a == b => Why::Sets,
            Code::Optional(x) => return self.renamed(compiled, id, derive(x, a, b)),
        };
        Derivation { from: a, to: b, name: compiled.names[id], why }
    }

    /// A derivation that stands for another expression: a name of the outer one is kept around it.
    fn renamed(&self, compiled: &Compiled, id: RelId, inner: Derivation) -> Derivation {
        match compiled.names[id] {
            Some(name) if inner.name.is_none() => Derivation { name: Some(name), ..inner },
            Some(name) if inner.name != Some(name) => {
                Derivation { from: inner.from, to: inner.to, name: Some(name), why: Why::Steps(vec![inner]) }
            }
            _ => inner,
        }
    }
}

fn zip<const W: usize>(a: Row<W>, b: Row<W>, f: impl Fn(u64, u64) -> u64) -> Row<W> {
    std::array::from_fn(|i| f(a[i], b[i]))
}

fn in_base_set(base: BaseSet, e: &Event) -> bool {
    match base {
        BaseSet::All => true,
        BaseSet::Memory => e.is_memory(),
        BaseSet::Read => e.kind == Kind::Read,
        BaseSet::Write => e.is_write(),
        BaseSet::Init => e.kind == Kind::Init,
        BaseSet::Strong => e.is_strong(),
        BaseSet::AcquireRead => e.kind == Kind::Read && e.order == MemOrder::Acquire,
        BaseSet::ReleaseWrite => e.kind == Kind::Write && e.order == MemOrder::Release,
        BaseSet::ReductionRead => e.kind == Kind::Read && e.reduction,
        BaseSet::ScFence => e.kind == Kind::Fence && e.order == MemOrder::Sc,
        BaseSet::AcqRelFence => e.kind == Kind::Fence && e.order == MemOrder::AcqRel,
        BaseSet::AcquireFence => e.kind == Kind::Fence && e.order == MemOrder::Acquire,
        BaseSet::ReleaseFence => e.kind == Kind::Fence && e.order == MemOrder::Release,
        BaseSet::AliasFence => e.kind == Kind::AliasFence,
        BaseSet::ProxyFence => e.kind == Kind::ProxyFence && e.order == MemOrder::Weak,
        BaseSet::ProxyRelease => e.kind == Kind::ProxyFence && e.order == MemOrder::Release,
        BaseSet::ProxyAcquire => e.kind == Kind::ProxyFence && e.order == MemOrder::Acquire,
        BaseSet::Generic => (e.is_memory() || e.kind == Kind::Fence) && e.proxy == Proxy::Generic,
        BaseSet::Barrier => matches!(e.kind, Kind::BarrierWait | Kind::BarrierArrive),
        BaseSet::BarrierWait => e.kind == Kind::BarrierWait,
        BaseSet::SpinRead => e.kind == Kind::Read && e.spinning,
        BaseSet::FinalWrite => false,
    }
}

fn base_set<const W: usize>(base: BaseSet, x: &Execution) -> Row<W> {
    let mut row = [0; W];
    if base == BaseSet::FinalWrite {
        x.finals.iter().for_each(|&w| insert(&mut row, w));
    } else {
        x.events
            .iter()
            .enumerate()
            .filter(|(_, e)| in_base_set(base, e))
            .for_each(|(i, _)| insert(&mut row, i));
    }
    row
}

fn base_rel<const W: usize>(base: BaseRel, x: &Execution, out: &mut Relation<W>) {
    let n = x.events.len();
    let mut all_pairs = |test: &dyn Fn(usize, usize) -> bool| {
        for a in 0..n {
            for b in 0..n {
                if test(a, b) {
                    out.add(a, b);
                }
            }
        }
    };
    let edges = match base {
        BaseRel::Po => return all_pairs(&|a, b| x.program_order(a, b)),
        BaseRel::Loc => return all_pairs(&|a, b| x.same_location(a, b)),
        BaseRel::VLoc => return all_pairs(&|a, b| x.same_address(a, b)),
        BaseRel::Complete => return all_pairs(&|a, b| x.complete_overlap(a, b)),
        BaseRel::MutualScope => return all_pairs(&|a, b| x.scopes_include_each_other(a, b)),
        BaseRel::SameCta => return all_pairs(&|a, b| x.same_cta(a, b)),
        BaseRel::SameProxy => {
            // Alias fences and barriers have no proxy; a proxy fence has the one that it fences.
            let proxy = |e: &Event| {
                matches!(e.kind, Kind::Init | Kind::Read | Kind::Write | Kind::Fence | Kind::ProxyFence)
                    .then_some(e.proxy)
            };
            return all_pairs(&|a, b| {
                let proxy_a = proxy(&x.events[a]);
                proxy_a.is_some() && proxy_a == proxy(&x.events[b])
            });
        }
        BaseRel::Id => return out.add_identity(),
        BaseRel::Rmw => &x.rmw,
        BaseRel::Addr => &x.addr,
        BaseRel::Data => &x.data,
        BaseRel::Ctrl => &x.ctrl,
        BaseRel::Rf => &x.rf,
        BaseRel::Co => &x.co,
        BaseRel::Sc => &x.sc,
        BaseRel::Bar => &x.bar,
        BaseRel::BarOrder => &x.bar_order,
        BaseRel::Race => &x.race,
    };
    edges.iter().for_each(|&(a, b)| out.add(a, b));
}
