//! A model as code, and its evaluation on one execution.

use super::Model;
use super::algebra::{Axiom, BaseRel, BaseSet, Demand, Group, Name, Rel, RelNode, Set, SetNode};
use crate::event::{Event, Execution, Kind};
use crate::program::{MemOrder, Proxy, Region, Scope};
use crate::relation::{Relation, Row, insert};
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
pub(super) enum Code {
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
    /// A relation of a group inside its definitions.
    Variable(usize, usize),
    /// The same outside.
    Fixed(usize, usize),
}

/// The definitions of a group: a range of the code, evaluated until nothing changes.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    pub(super) start: usize,
    pub(super) end: usize,
    variables: Vec<RelId>,
    pub(super) bodies: Vec<RelId>,
}

/// A model as straight-line code: every subexpression once, operands before their uses.
#[derive(Debug, Clone)]
pub struct Compiled {
    sets: Vec<SetCode>,
    pub(super) set_chosen: Vec<bool>,
    pub(super) code: Vec<Code>,
    pub(super) chosen: Vec<bool>,
    names: Vec<Option<(Name, Name)>>,
    pub(super) axioms: Vec<(Axiom, RelId)>,
    pub(super) loops: Vec<Loop>,
}

#[derive(Default)]
struct Compiler {
    sets: Vec<SetCode>,
    set_chosen: Vec<bool>,
    set_index: FxHashMap<SetCode, usize>,
    code: Vec<Code>,
    chosen: Vec<bool>,
    names: Vec<Option<(Name, Name)>>,
    index: FxHashMap<Code, RelId>,
    by_pointer: FxHashMap<*const RelNode, RelId>,
    loops: Vec<Loop>,
    /// By the address of a group.
    by_group: FxHashMap<*const Group, usize>,
    /// By the address of a mark, while its group is compiled.
    variables: FxHashMap<*const super::algebra::Mark, usize>,
}

impl Compiler {
    fn set(&mut self, set: &Set) -> usize {
        let (code, chosen) = match &*set.0 {
            SetNode::Base(base) => (SetCode::Base(*base), base.is_chosen()),
            SetNode::Union(a, b) => self.set_pair(a, b, SetCode::Union),
            SetNode::Intersection(a, b) => self.set_pair(a, b, SetCode::Intersection),
            SetNode::Difference(a, b) => self.set_pair(a, b, SetCode::Difference),
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
                self.names[id].get_or_insert_with(|| (name.clone(), section.clone()));
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
            RelNode::Minus(a, b) => self.pair(a, b, Code::Minus),
            RelNode::Fixed(group, index) => {
                let group = self.group(group);
                self.emit(Code::Fixed(group, *index), true)
            }
            RelNode::Variable(mark, index) => {
                let group = self.variables.get(&Arc::as_ptr(mark)).copied().unwrap_or(usize::MAX);
                self.emit(Code::Variable(group, *index), true)
            }
            RelNode::Inverse(a) => self.one(a, Code::Inverse),
            RelNode::Plus(a) => self.one(a, Code::Plus),
            RelNode::Optional(a) => self.one(a, Code::Optional),
        };
        self.by_pointer.insert(pointer, id);
        id
    }

    /// Compiles the definitions of a group, after the groups that they use.
    fn group(&mut self, group: &Arc<Group>) -> usize {
        if let Some(&known) = self.by_group.get(&Arc::as_ptr(group)) {
            return known;
        }
        for used in super::rewrite::groups(&group.bodies) {
            self.group(&used);
        }
        let index = self.loops.len();
        let start = self.code.len();
        self.loops.push(Loop { start, end: start, variables: Vec::new(), bodies: Vec::new() });
        self.variables.insert(Arc::as_ptr(&group.mark), index);
        let variables = (0..group.bodies.len()).map(|i| self.emit(Code::Variable(index, i), true)).collect();
        let bodies = group.bodies.iter().map(|body| self.rel(body)).collect();
        self.loops[index] = Loop { start, end: self.code.len(), variables, bodies };
        self.by_group.insert(Arc::as_ptr(group), index);
        index
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
        let Compiler { sets, set_chosen, code, chosen, names, loops, .. } = compiler;
        (Self { sets, set_chosen, code, chosen, names, axioms, loops }, shown)
    }

    /// Name and section of a relation, where it has them.
    pub fn name(&self, id: RelId) -> Option<(&str, &str)> {
        self.names[id].as_ref().map(|(name, section)| (&**name, &**section))
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

/// The value of every subexpression of a compiled model on one execution of at most `64 * W` events.
pub struct Evaluation<const W: usize> {
    sets: Vec<Row<W>>,
    pub(super) rels: Vec<Relation<W>>,
    pub(super) empty: Vec<bool>,
    pub(super) scratch: Relation<W>,
    /// By loop and round: what its code was.
    pub(super) rounds: Vec<Vec<Vec<Relation<W>>>>,
}

impl<const W: usize> Default for Evaluation<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const W: usize> Evaluation<W> {
    /// An evaluation to be filled by [`Self::load`].
    pub fn new() -> Self {
        Self {
            sets: Vec::new(),
            rels: Vec::new(),
            empty: Vec::new(),
            scratch: Relation::empty(0),
            rounds: Vec::new(),
        }
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
        self.rounds.clear();
        let mut i = 0;
        while i < compiled.code.len() {
            match compiled.loops.get(self.rounds.len()) {
                Some(of) if of.start == i => {
                    self.repeat(compiled, of, n, x);
                    i = of.end;
                }
                _ => {
                    if fresh || compiled.chosen[i] {
                        self.step(i, compiled.code[i], n, x);
                    }
                    i += 1;
                }
            }
        }
    }

    /// Evaluates the definitions of a loop, from nothing on, until they give what they are given.
    fn repeat(&mut self, compiled: &Compiled, of: &Loop, n: usize, x: &Execution) {
        let mut rounds = Vec::new();
        for &variable in &of.variables {
            self.rels[variable].reset(n);
            self.empty[variable] = true;
        }
        loop {
            for i in of.start..of.end {
                if !of.variables.contains(&i) {
                    self.step(i, compiled.code[i], n, x);
                }
            }
            rounds.push(self.rels[of.start..of.end].to_vec());
            let pairs = || of.variables.iter().zip(&of.bodies);
            if pairs().all(|(&v, &b)| self.rels[v] == self.rels[b]) {
                break;
            }
            for (&variable, &body) in pairs() {
                let (value, empty) = (self.rels[body].clone(), self.empty[body]);
                self.rels[variable] = value;
                self.empty[variable] = empty;
            }
        }
        self.rounds.push(rounds);
        for (index, &body) in of.bodies.iter().enumerate() {
            let code = Code::Fixed(self.rounds.len() - 1, index);
            for (i, _) in compiled.code.iter().enumerate().filter(|(_, c)| **c == code) {
                self.rels[i] = self.rels[body].clone();
                self.empty[i] = self.empty[body];
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
            // Their loop has set them.
            Code::Variable(..) | Code::Fixed(..) => {}
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
        let negative = matches!(axiom.demand, Demand::NotEmpty | Demand::NotIrreflexive | Demand::NotAcyclic);
        if self.empty[*id] {
            return !negative;
        }
        match axiom.demand {
            Demand::Empty | Demand::NotEmpty => negative,
            Demand::Irreflexive | Demand::NotIrreflexive => {
                self.rels[*id].reflexive_points().next().is_none() != negative
            }
            Demand::Acyclic | Demand::NotAcyclic => {
                self.scratch.copy_from(&self.rels[*id]);
                self.scratch.close();
                self.scratch.reflexive_points().next().is_none() != negative
            }
        }
    }
}

fn zip<const W: usize>(a: Row<W>, b: Row<W>, f: impl Fn(u64, u64) -> u64) -> Row<W> {
    std::array::from_fn(|i| f(a[i], b[i]))
}

fn in_base_set(base: BaseSet, e: &Event) -> bool {
    let of_proxy = |proxy| (e.is_memory() || e.kind == Kind::ProxyFence) && e.proxy == proxy;
    match base {
        BaseSet::All => true,
        BaseSet::Memory => e.is_memory(),
        BaseSet::Read => e.kind == Kind::Read,
        BaseSet::Write => e.is_write(),
        BaseSet::Init => e.kind == Kind::Init,
        BaseSet::Strong => e.is_strong(),
        BaseSet::AcquireRead => e.kind == Kind::Read && e.order == MemOrder::Acquire,
        BaseSet::ReleaseWrite => e.kind == Kind::Write && e.order == MemOrder::Release,
        BaseSet::ScAccess => e.is_memory() && e.order == MemOrder::Sc,
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
        BaseSet::BarrierArrive => e.kind == Kind::BarrierArrive,
        BaseSet::Weak => matches!(e.kind, Kind::Read | Kind::Write) && e.order == MemOrder::Weak,
        BaseSet::Relaxed => matches!(e.kind, Kind::Read | Kind::Write) && e.order == MemOrder::Relaxed,
        BaseSet::ScopeCta => e.scope == Some(Scope::Cta),
        BaseSet::ScopeCluster => e.scope == Some(Scope::Cluster),
        BaseSet::ScopeGpu => e.scope == Some(Scope::Gpu),
        BaseSet::ScopeSys => e.scope == Some(Scope::Sys),
        BaseSet::Texture => of_proxy(Proxy::Texture),
        BaseSet::Surface => of_proxy(Proxy::Surface),
        BaseSet::Constant => of_proxy(Proxy::Constant),
        BaseSet::GenericAccess => of_proxy(Proxy::Generic),
        BaseSet::Async => of_proxy(Proxy::Async),
        BaseSet::TensorMap => of_proxy(Proxy::TensorMap),
        BaseSet::LocalMemory => e.cell.is_some_and(|cell| cell.local),
        BaseSet::LocalOrder => e.region == Region::Local,
        BaseSet::GlobalOrder => e.region == Region::Global,
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
        BaseRel::SameCluster => return all_pairs(&|a, b| x.within(Scope::Cluster, a, b)),
        BaseRel::SameGpu => return all_pairs(&|a, b| x.within(Scope::Gpu, a, b)),
        BaseRel::Internal => return all_pairs(&|a, b| x.events[a].thread == x.events[b].thread),
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
