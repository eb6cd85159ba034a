//! Clauses that follow from others at once.
//!
//! Solvers are slow at counting, so facts that every model here implies are given to them directly: the sum of a chain
//! of atomics (see `super::chains`), that chosen orders are transitive, and that nothing comes between an atomic and the
//! write that it reads. Threads with the same code that no condition tells apart and that stand alike in the placement
//! can be permuted; only executions in which their first atomics come in a fixed order need be looked at.

use super::chains::Chain;
use super::encoding::Encoding;
use super::numbers::Number;
use super::universe::Universe;
use crate::event::Kind;
use crate::program::{Instr, Litmus, Observable};
use std::collections::BTreeSet;

impl Encoding<'_> {
    /// The final value of a chain, with every atomic that happens applied.
    pub(super) fn chain_total(&mut self, chain: &Chain, output: &Number) {
        let initial = self.skeleton.events[self.skeleton.cells[chain.cell].init].value;
        let (Number::Few(output), Number::Few(mut total)) = (output, self.values[initial].clone()) else {
            return;
        };
        for &(write, op, operand) in &chain.writes {
            let happens = self.happens(write);
            let applied: BTreeSet<i64> = total.domain.iter().map(|&v| op.eval(v, operand)).collect();
            let domain: BTreeSet<i64> = match happens == self.sat.yes() {
                true => applied,
                false => applied.into_iter().chain(total.domain.iter().copied()).collect(),
            };
            let next = self.fresh_value(domain);
            for (v, is_v) in total.pairs() {
                if let Some(l) = next.literal(op.eval(v, operand)) {
                    self.sat.implies(&[is_v, happens], l);
                }
                if let Some(l) = next.literal(v) {
                    self.sat.implies(&[is_v, !happens], l);
                }
            }
            total = next;
        }
        for (v, is_v) in total.pairs() {
            match output.literal(v) {
                Some(l) => self.sat.implies(&[is_v], l),
                None => self.sat.clause(&[!is_v]),
            }
        }
    }

    /// The chosen order of writes is transitive where it relates all three pairs.
    pub(super) fn transitive_order(&mut self, universe: &Universe) {
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); self.skeleton.events.len()];
        for &(a, b) in &universe.writes {
            after[a].push(b);
        }
        for &(a, b) in &universe.writes {
            if self.sat.stopped() {
                return;
            }
            for &c in &after[b] {
                if !self.co.contains_key(&(a, c)) {
                    continue;
                }
                let happens = [self.happens(a), self.happens(b), self.happens(c)];
                for (x, y, z) in [(a, b, c), (c, b, a)] {
                    // A cycle of three in one direction is excluded; the two directions make all cases.
                    let edges = [(x, y), (y, z), (z, x)]
                        .map(|(p, q)| Self::before(&self.co, p, q).unwrap_or(self.sat.no()));
                    let clause: Vec<_> = edges.iter().chain(&happens).map(|&l| !l).collect();
                    self.sat.clause(&clause);
                }
            }
        }
    }

    /// An atomic comes right after the write that it reads from, among the writes ordered with both.
    pub(super) fn atomicity(&mut self) {
        let skeleton = self.skeleton;
        for (write, template) in skeleton.events.iter().enumerate() {
            let Some(read) = template.rmw_read else { continue };
            let Some(sources) = self.sources.get(&read).cloned() else { continue };
            let happens = self.happens(write);
            if self.sat.stopped() {
                return;
            }
            for &(source, from) in &sources {
                let initial = skeleton.events[source].event.kind == Kind::Init;
                if !initial {
                    let Some(first) = Self::before(&self.co, source, write) else { continue };
                    self.sat.clause(&[!from, !happens, first]);
                }
                let cell = skeleton.cell_of(source);
                for other in (0..skeleton.events.len()).filter(|&o| o != source && o != write) {
                    if skeleton.events[other].event.kind != Kind::Write || skeleton.cell_of(other) != cell {
                        continue;
                    }
                    let after_source = match initial {
                        true => Some(self.sat.yes()),
                        false => Self::before(&self.co, source, other),
                    };
                    if let (Some(after_source), Some(after)) =
                        (after_source, Self::before(&self.co, write, other))
                    {
                        let other_happens = self.happens(other);
                        self.sat.clause(&[!from, !happens, !other_happens, !after_source, after]);
                    }
                }
            }
        }
    }

    /// Orders the first atomics of interchangeable threads.
    pub(super) fn symmetry(&mut self, litmus: &Litmus) {
        let skeleton = self.skeleton;
        let threads = litmus.program.threads.len();
        let mentioned: BTreeSet<usize> = litmus
            .observables()
            .into_iter()
            .filter_map(|v| match v {
                Observable::Reg(t, _) => Some(t),
                Observable::Mem(..) => None,
            })
            .collect();
        let same_code =
            |a: &[Instr], b: &[Instr]| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.op == y.op);
        let alike = |a: usize, b: usize| {
            let (x, y) = (&litmus.program.threads[a], &litmus.program.threads[b]);
            x.initial == y.initial
                && x.registers == y.registers
                && same_code(&x.code, &y.code)
                && (0..threads)
                    .all(|t| t == a || t == b || skeleton.common_scope[a][t] == skeleton.common_scope[b][t])
        };
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for t in (0..threads).filter(|t| !mentioned.contains(t)) {
            match classes.iter_mut().find(|class| class.iter().all(|&c| alike(c, t))) {
                Some(class) => class.push(t),
                None => classes.push(vec![t]),
            }
        }
        for class in classes {
            // The first write that all of them make whatever happens and that is ordered between them.
            let candidates: Vec<Vec<usize>> = class
                .iter()
                .map(|&t| {
                    let root = &skeleton.trees[t].nodes[0];
                    root.events
                        .iter()
                        .copied()
                        .filter(|&e| skeleton.events[e].event.kind == Kind::Write)
                        .collect()
                })
                .collect();
            for position in 0..candidates.first().map_or(0, Vec::len) {
                let writes: Option<Vec<usize>> =
                    candidates.iter().map(|c| c.get(position).copied()).collect();
                let Some(writes) = writes else { break };
                let orders: Option<Vec<_>> =
                    writes.windows(2).map(|w| Self::before(&self.co, w[0], w[1])).collect();
                if let Some(orders) = orders {
                    orders.into_iter().for_each(|l| self.sat.clause(&[l]));
                    break;
                }
            }
        }
    }
}
