//! What the choices of an execution mean, as clauses: paths, values, reads-from, orders, final values.
//!
//! Values are computed forwards from the choices (see `super::words`), not listed beforehand where they are many.
//! What the clauses say is everything except the axioms: which paths the values lead along, that every read
//! returns the value of the write it reads from, how barriers open, and what the final state is. The axioms
//! are added by [`super::engine`] as they turn out to be needed.

use super::chains::{Chain, chains};
use super::domain::{Domain, domains};
use super::encoding::Encoding;
use super::numbers::{Number, OneHot};
use super::sat::{Lit, Sat};
use super::search::Search;
use super::universe::Universe;
use crate::assembly::{barrier_groups, may_read_from};
use crate::event::Kind;
use crate::model::Model;
use crate::program::{Cmp, Cond, Litmus, Observable, Term};
use crate::skeleton::{Compare, Guard, Leaf, Skeleton, TooLarge, Value, ValueId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Most pairs of values that a comparison looks at one by one.
const MAX_PAIRS: usize = 1 << 12;

impl<'a> Encoding<'a> {
    pub(super) fn new(
        sat: Sat,
        litmus: &'a Litmus,
        skeleton: &'a Skeleton,
        model: &Model,
        universe: &Universe,
        search: Search,
    ) -> Result<Self, TooLarge> {
        let mut encoding = Self {
            sat,
            skeleton,
            litmus,
            search,
            reach: Vec::new(),
            values: Vec::new(),
            sources: FxHashMap::default(),
            co: FxHashMap::default(),
            partial_co: FxHashMap::default(),
            sc: FxHashMap::default(),
            bar: FxHashMap::default(),
            bar_order: FxHashMap::default(),
            finals: Vec::new(),
            races: Vec::new(),
            outputs: Vec::new(),
            opens: FxHashMap::default(),
            dropped: FxHashMap::default(),
            barrier_values: FxHashMap::default(),
            opaque: Vec::new(),
            compares: FxHashMap::default(),
        };
        let sources = encoding.possible_sources();
        // What follows from axioms that every model of the manual has need not follow from a file's.
        let chains = if model.atomic { chains(skeleton, universe) } else { Vec::new() };
        encoding.symbolic_values(&sources, &chains);
        encoding.paths();
        encoding.droppable();
        encoding.reads_from(&sources);
        encoding.operations();
        encoding.orders(universe);
        encoding.transitive_order(universe);
        if model.atomic {
            encoding.atomicity();
        }
        for group in barrier_groups(skeleton, model.barriers) {
            encoding.list_barrier_values(&group)?;
            encoding.barrier(&group);
        }
        match search {
            Search::Complete => encoding.final_state(&chains),
            Search::Race => encoding.race(universe),
            Search::Stuck | Search::Divergence => {
                encoding.some_leaf(|leaf| matches!(leaf, Leaf::Spin { .. } | Leaf::Blocked));
            }
            Search::Cut => encoding.some_leaf(|leaf| *leaf == Leaf::Cut),
            Search::Fault => encoding.some_leaf(|leaf| *leaf == Leaf::Fault),
        }
        if encoding.sat.full() {
            return Err(TooLarge("the clauses of the search need more than 2 GB".to_owned()));
        }
        Ok(encoding)
    }

    /// Writes that lie on a path but do not happen if it ends in certain leaves.
    fn droppable(&mut self) {
        for (&write, leaves) in &self.skeleton.droppers {
            if let Some((thread, node)) = self.skeleton.events[write].node {
                let mut parts = vec![self.reach[thread][node]];
                parts.extend(leaves.iter().map(|&leaf| !self.reach[thread][leaf]));
                let literal = self.sat.and(&parts);
                self.dropped.insert(write, literal);
            }
        }
    }

    fn possible_sources(&self) -> Vec<Vec<usize>> {
        let events = &self.skeleton.events;
        let writes: Vec<usize> = (0..events.len()).filter(|&e| events[e].event.is_write()).collect();
        (0..events.len())
            .map(|r| {
                if events[r].event.kind != Kind::Read {
                    return Vec::new();
                }
                writes.iter().copied().filter(|&w| may_read_from(self.skeleton, w, r)).collect()
            })
            .collect()
    }

    /// Literals of every symbolic value.
    fn symbolic_values(&mut self, sources: &[Vec<usize>], chains: &[Chain]) {
        let skeleton = self.skeleton;
        for (id, domain) in domains(skeleton, sources, chains).into_iter().enumerate() {
            let number = match (domain, skeleton.values[id]) {
                (Domain::Listed(set), value) => {
                    let domain: Vec<i64> = set.into_iter().collect();
                    let literals = match (domain.len(), value) {
                        // A read that may not happen has no value then, which matters to barrier numbers.
                        (1, Value::Const(_) | Value::Bin(..)) => vec![self.sat.yes()],
                        (n, _) => (0..n).map(|_| self.sat.fresh()).collect(),
                    };
                    Number::Few(OneHot { domain, literals })
                }
                (domain, Value::Bin(op, a, b)) => {
                    Number::Word(self.word_operation(op, (a, b), domain.width()))
                }
                (domain, _) => Number::Word(self.fresh_word(domain.width())),
            };
            self.values.push(number);
        }
    }

    fn paths(&mut self) {
        for (thread, tree) in self.skeleton.trees.iter().enumerate() {
            self.reach.push(Vec::with_capacity(tree.nodes.len()));
            for node in &tree.nodes {
                let guard = match &node.guard {
                    Guard::True => self.sat.yes(),
                    Guard::Compare(compares) => {
                        let literals: Vec<Lit> = compares.iter().map(|&c| self.compare(c)).collect();
                        self.sat.and(&literals)
                    }
                    Guard::Opens(event) => self.opens(*event),
                    Guard::Blocked(event) => !self.opens(*event),
                };
                let parent = node.parent.map_or(self.sat.yes(), |p| self.reach[thread][p]);
                let reach = self.sat.and(&[parent, guard]);
                self.reach[thread].push(reach);
                let allowed = match (&node.leaf, self.search) {
                    (None | Some(Leaf::Done(_)), _) => true,
                    (Some(Leaf::Spin { .. }), Search::Stuck) => true,
                    (Some(Leaf::Blocked), Search::Stuck | Search::Divergence) => true,
                    (Some(Leaf::Cut), Search::Cut) | (Some(Leaf::Fault), Search::Fault) => true,
                    (Some(_), Search::Cut | Search::Fault) => {
                        // Other threads may stop anywhere when one is cut short.
                        !matches!(node.leaf, Some(Leaf::Discard))
                    }
                    _ => false,
                };
                if !allowed {
                    self.sat.clause(&[!reach]);
                }
            }
        }
    }

    /// The literal of a comparison, right whenever both values are known.
    fn compare(&mut self, compare: Compare) -> Lit {
        let Compare { cmp, a, b, holds } = compare;
        let literal = match self.compares.get(&(cmp, a, b)) {
            Some(&known) => known,
            None => {
                let literal = {
                    let (x, y) = (self.values[a].clone(), self.values[b].clone());
                    self.comparison(cmp, &x, &y)
                };
                self.compares.insert((cmp, a, b), literal);
                literal
            }
        };
        if holds { literal } else { !literal }
    }

    fn comparison(&mut self, cmp: Cmp, x: &Number, y: &Number) -> Lit {
        let (x, y) = match (x, y) {
            (Number::Few(x), Number::Few(y)) if x.domain.len() * y.domain.len() <= MAX_PAIRS => (x, y),
            _ => return self.word_comparison(cmp, x, y),
        };
        let outcomes: BTreeSet<bool> =
            x.domain.iter().flat_map(|&v| y.domain.iter().map(move |&w| cmp.eval(v, w))).collect();
        if outcomes.len() == 1 {
            return self.sat.constant(outcomes.contains(&true));
        }
        let literal = self.sat.fresh();
        for (v, is_v) in x.pairs() {
            if self.sat.stopped() {
                break;
            }
            for (w, is_w) in y.pairs() {
                let result = if cmp.eval(v, w) { literal } else { !literal };
                self.sat.implies(&[is_v, is_w], result);
            }
        }
        literal
    }

    fn reads_from(&mut self, sources: &[Vec<usize>]) {
        for (read, writes) in sources.iter().enumerate() {
            if self.skeleton.events[read].event.kind != Kind::Read {
                continue;
            }
            if self.sat.stopped() {
                return;
            }
            let happens = self.happens(read);
            let value = self.values[self.skeleton.events[read].value].clone();
            for &l in value.literals() {
                self.sat.clause(&[!l, happens]);
            }
            let mut choices = Vec::with_capacity(writes.len());
            for &write in writes {
                let from = self.sat.fresh();
                self.sat.clause(&[!from, happens]);
                let source_happens = self.happens(write);
                self.sat.clause(&[!from, source_happens]);
                let written = self.values[self.skeleton.events[write].value].clone();
                self.copies(&[from], &written, &value);
                choices.push((write, from));
            }
            let literals: Vec<Lit> = choices.iter().map(|c| c.1).collect();
            self.sat.at_most_one(&literals);
            let some: Vec<Lit> = literals.into_iter().chain([!happens]).collect();
            self.sat.clause(&some);
            if let Number::Few(few) = &value {
                self.sat.at_most_one(&few.literals);
                let known: Vec<Lit> = few.literals.iter().copied().chain([!happens]).collect();
                self.sat.clause(&known);
            }
            self.sources.insert(read, choices);
        }
    }

    /// Results of operations on few values follow from their operands, and need them.
    fn operations(&mut self) {
        for (id, value) in self.skeleton.values.iter().enumerate() {
            let Value::Bin(op, a, b) = *value else { continue };
            if self.sat.stopped() {
                return;
            }
            let (Number::Few(x), Number::Few(y), Number::Few(out)) =
                (self.values[a].clone(), self.values[b].clone(), self.values[id].clone())
            else {
                continue;
            };
            if out.domain.len() > 1 {
                self.sat.at_most_one(&out.literals);
            }
            let mut supports: Vec<(BTreeSet<Lit>, BTreeSet<Lit>)> =
                vec![Default::default(); out.domain.len()];
            for (i, (v, is_v)) in x.pairs().enumerate() {
                for (j, (w, is_w)) in y.pairs().enumerate() {
                    if a == b && i != j {
                        continue;
                    }
                    let Ok(k) = out.domain.binary_search(&op.eval(v, w)) else {
                        // Only reachable through values out of thin air.
                        self.sat.clause(&[!is_v, !is_w]);
                        continue;
                    };
                    self.sat.implies(&[is_v, is_w], out.literals[k]);
                    supports[k].0.insert(is_v);
                    supports[k].1.insert(is_w);
                }
            }
            if out.domain.len() > 1 {
                for (&result, (left, right)) in out.literals.iter().zip(&supports) {
                    for support in [left, right] {
                        let clause: Vec<Lit> = support.iter().copied().chain([!result]).collect();
                        self.sat.clause(&clause);
                    }
                }
            }
        }
    }

    fn orders(&mut self, universe: &Universe) {
        for &pair in &universe.writes {
            let literal = self.sat.fresh();
            self.co.insert(pair, literal);
        }
        for &(a, b) in &universe.optional {
            let (forth, back) = (self.sat.fresh(), self.sat.fresh());
            self.sat.clause(&[!forth, !back]);
            for event in [a, b] {
                let happens = self.happens(event);
                self.sat.clause(&[!forth, happens]);
                self.sat.clause(&[!back, happens]);
            }
            self.partial_co.insert((a, b), forth);
            self.partial_co.insert((b, a), back);
        }
        for &pair in &universe.fences {
            let literal = self.sat.fresh();
            self.sc.insert(pair, literal);
        }
    }

    fn race(&mut self, universe: &Universe) {
        for &(a, b) in &universe.conflicts {
            let literal = self.sat.fresh();
            for event in [a, b] {
                let happens = self.happens(event);
                self.sat.clause(&[!literal, happens]);
            }
            self.races.push(((a, b), literal));
        }
        let literals: Vec<Lit> = self.races.iter().map(|r| r.1).collect();
        self.sat.clause(&literals);
        self.sat.at_most_one(&literals);
    }

    /// Some thread's path ends in such a leaf.
    fn some_leaf(&mut self, which: fn(&Leaf) -> bool) {
        let mut ends = Vec::new();
        for (thread, tree) in self.skeleton.trees.iter().enumerate() {
            for (node, literal) in tree.nodes.iter().zip(&self.reach[thread]) {
                if node.leaf.as_ref().is_some_and(which) {
                    ends.push(*literal);
                }
            }
        }
        self.sat.clause(&ends);
    }

    // ---- final state --------------------------------------------------------------------------------------

    fn final_state(&mut self, chains: &[Chain]) {
        self.finals = vec![Vec::new(); self.skeleton.cells.len()];
        let mut cells: FxHashMap<usize, Number> = FxHashMap::default();
        for v in self.litmus.observables() {
            let output = match v {
                Observable::Reg(thread, register) => self.final_register(thread, usize::from(register.0)),
                Observable::Mem(loc, index) => {
                    let parts = self.skeleton.observed_cells(&self.litmus.program, loc, index);
                    let mut whole: Option<Number> = None;
                    for (cell, shift) in parts {
                        let part = match cells.get(&cell) {
                            Some(known) => known.clone(),
                            None => {
                                let value = self.final_cell(cell);
                                if let Some(chain) = chains.iter().find(|c| c.cell == cell) {
                                    self.chain_total(chain, &value);
                                }
                                cells.insert(cell, value.clone());
                                value
                            }
                        };
                        whole = Some(match whole {
                            None => part,
                            Some(low) => self.joined(&low, &part, shift),
                        });
                    }
                    whole.unwrap_or_else(|| self.constant(0))
                }
            };
            self.outputs.push(output);
        }
        if let Some(filter) = &self.litmus.filter {
            let literal = self.condition(filter);
            self.sat.clause(&[literal]);
        }
    }

    /// A number that is some value of a domain.
    fn fresh_number(&mut self, domain: Domain) -> Number {
        match domain {
            Domain::Listed(set) if set.is_empty() => self.constant(0),
            Domain::Listed(set) => Number::Few(self.fresh_value(set)),
            Domain::Between(..) => Number::Word(self.fresh_word(domain.width())),
        }
    }

    fn constant(&self, value: i64) -> Number {
        Number::Few(OneHot { domain: vec![value], literals: vec![self.sat.yes()] })
    }

    /// What any of several numbers can be.
    fn union(&self, ids: impl Iterator<Item = ValueId>) -> Domain {
        let mut union = Domain::default();
        for id in ids {
            union.join(&match &self.values[id] {
                Number::Few(few) => Domain::Listed(few.domain.iter().copied().collect()),
                Number::Word(word) => Domain::of_width(word.width()),
            });
        }
        union
    }

    fn final_register(&mut self, thread: usize, register: usize) -> Number {
        let leaves: Vec<(Lit, ValueId)> = self.skeleton.trees[thread]
            .nodes
            .iter()
            .zip(&self.reach[thread])
            .filter_map(|(node, &reach)| match &node.leaf {
                Some(Leaf::Done(registers)) => Some((reach, registers[register])),
                _ => None,
            })
            .collect();
        let output = self.fresh_number(self.union(leaves.iter().map(|l| l.1)));
        for (reach, value) in leaves {
            let value = self.values[value].clone();
            self.copies(&[reach], &value, &output);
        }
        output
    }

    fn final_cell(&mut self, cell: usize) -> Number {
        let writes: Vec<usize> = (0..self.skeleton.events.len())
            .filter(|&e| self.skeleton.events[e].event.is_write() && self.skeleton.cell_of(e) == Some(cell))
            .collect();
        let output = self.fresh_number(self.union(writes.iter().map(|&w| self.skeleton.events[w].value)));
        let mut last = Vec::new();
        for &write in &writes {
            let is_last = self.sat.fresh();
            let happens = self.happens(write);
            self.sat.clause(&[!is_last, happens]);
            let value = self.values[self.skeleton.events[write].value].clone();
            self.copies(&[is_last], &value, &output);
            for &other in &writes {
                if let Some(after) = Self::before(&self.co, write, other) {
                    let happens = self.happens(other);
                    self.sat.clause(&[!is_last, !happens, !after]);
                }
            }
            last.push((write, is_last));
        }
        let literals: Vec<Lit> = last.iter().map(|l| l.1).collect();
        self.sat.clause(&literals);
        self.sat.at_most_one(&literals);
        self.finals[cell] = last;
        output
    }

    /// `low | high << 8 * shift`.
    fn joined(&mut self, low: &Number, high: &Number, shift: u32) -> Number {
        let join = |l: i64, h: i64| l | (h << (8 * shift));
        if let (Number::Few(low), Number::Few(high)) = (low, high)
            && low.domain.len() * high.domain.len() <= MAX_PAIRS
        {
            let domain =
                low.domain.iter().flat_map(|&l| high.domain.iter().map(move |&h| join(l, h))).collect();
            let output = self.fresh_value(domain);
            for (l, is_l) in low.pairs() {
                for (h, is_h) in high.pairs() {
                    if let Some(o) = output.literal(join(l, h)) {
                        self.sat.implies(&[is_l, is_h], o);
                    }
                }
            }
            return Number::Few(output);
        }
        Number::Word(self.word_joined(low, high, 8 * shift as usize))
    }

    /// The literal of a condition on the final state.
    pub(super) fn condition(&mut self, cond: &Cond) -> Lit {
        match cond {
            Cond::Not(c) => !self.condition(c),
            Cond::And(a, b) => {
                let parts = [self.condition(a), self.condition(b)];
                self.sat.and(&parts)
            }
            Cond::Or(a, b) => {
                let parts = [self.condition(a), self.condition(b)];
                self.sat.or(&parts)
            }
            Cond::Cmp(cmp, a, b) => {
                let (x, y) = (self.term(a), self.term(b));
                self.comparison(*cmp, &x, &y)
            }
        }
    }

    fn term(&self, term: &Term) -> Number {
        match *term {
            Term::Const(c) => self.constant(c),
            Term::Var(v) => {
                let index = self.litmus.observables().iter().position(|&o| o == v);
                index.map(|i| self.outputs[i].clone()).unwrap_or_default()
            }
        }
    }
}
