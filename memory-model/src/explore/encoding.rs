//! The choices of an execution as Boolean variables: which there are, and the literals that stand for them.
//!
//! What they mean is said by clauses: `encode` has those of paths, values, reads-from and final values, `barriers`
//! those of barriers, `implied` what follows at once.

use super::numbers::{Number, OneHot, Opaque};
use super::sat::{Lit, Sat};
use super::search::Search;
use crate::event::Edge;
use crate::program::{Cmp, Litmus};
use crate::skeleton::{Skeleton, ValueId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The encoding of one search over one program.
pub(super) struct Encoding<'a> {
    pub(super) sat: Sat,
    pub(super) skeleton: &'a Skeleton,
    pub(super) litmus: &'a Litmus,
    pub(super) search: Search,
    /// By thread and node: the path passes through the node.
    pub(super) reach: Vec<Vec<Lit>>,
    /// By symbolic value.
    pub(super) values: Vec<Number>,
    /// By read: the writes it may read from.
    pub(super) sources: FxHashMap<usize, Vec<(usize, Lit)>>,
    /// By pair of writes `a < b`: `a` comes first.
    pub(super) co: FxHashMap<Edge, Lit>,
    /// By pair of writes that need not be ordered, in both directions: the first comes first.
    pub(super) partial_co: FxHashMap<Edge, Lit>,
    /// By pair of fences `a < b`: `a` comes first.
    pub(super) sc: FxHashMap<Edge, Lit>,
    /// Barrier synchronisation edges.
    pub(super) bar: FxHashMap<Edge, Lit>,
    /// Edges between barrier phases.
    pub(super) bar_order: FxHashMap<Edge, Lit>,
    /// By observed cell: the writes that may be last.
    pub(super) finals: Vec<Vec<(usize, Lit)>>,
    /// Pairs asked to race.
    pub(super) races: Vec<(Edge, Lit)>,
    /// By observable.
    pub(super) outputs: Vec<Number>,
    /// By waiting barrier event: it opens.
    pub(super) opens: FxHashMap<usize, Lit>,
    /// Writes whose happening is more than their node being reached.
    pub(super) dropped: FxHashMap<usize, Lit>,
    /// What the numbers and counts of barriers can be.
    pub(super) barrier_values: FxHashMap<ValueId, Vec<(i64, Lit)>>,
    /// Operations whose results are looked at in each model of the solver.
    pub(super) opaque: Vec<Opaque>,
    pub(super) compares: FxHashMap<(Cmp, ValueId, ValueId), Lit>,
}

impl Encoding<'_> {
    /// The literal of an event: it happens.
    pub(super) fn happens(&self, event: usize) -> Lit {
        match (self.dropped.get(&event), self.skeleton.events[event].node) {
            (Some(&literal), _) => literal,
            (None, Some((thread, node))) => self.reach[thread][node],
            (None, None) => self.sat.yes(),
        }
    }

    pub(super) fn opens(&mut self, event: usize) -> Lit {
        if let Some(&known) = self.opens.get(&event) {
            return known;
        }
        let literal = self.sat.fresh();
        self.opens.insert(event, literal);
        literal
    }

    /// The literal of "`a` before `b`" in an order of pairs.
    pub(super) fn before(order: &FxHashMap<Edge, Lit>, a: usize, b: usize) -> Option<Lit> {
        if a < b { order.get(&(a, b)).copied() } else { order.get(&(b, a)).map(|&l| !l) }
    }

    /// A number that is some value of a domain.
    pub(super) fn fresh_value(&mut self, domain: BTreeSet<i64>) -> OneHot {
        let domain: Vec<i64> = domain.into_iter().collect();
        let literals: Vec<Lit> = match domain.len() {
            1 => vec![self.sat.yes()],
            n => (0..n).map(|_| self.sat.fresh()).collect(),
        };
        self.sat.at_most_one(&literals);
        self.sat.clause(&literals);
        OneHot { domain, literals }
    }
}
