//! The slow and obviously right enumerator, the yardstick for the fast engine.
//!
//! It tries every combination of paths, every write for every read, every way barriers can come together,
//! every orientation of fence and write pairs, and evaluates the whole model on each. Cost is the product of
//! all that; programs of a dozen events are its limit.

use super::search::{Search, conflicts, search_axioms};
use crate::assembly::{
    Assembly, BarrierGroup, GroupKind, barrier_groups, evaluate, guards_hold, may_read_from,
};
use crate::event::{Edge, Kind};
use crate::model::{Compiled, Evaluation, Model};
use crate::program::{Litmus, Observable};
use crate::skeleton::{Guard, Leaf, Skeleton, Unrolling};
use std::collections::BTreeSet;

/// The set of outcomes found: the values of `litmus.observables()` in that order. Searches other than
/// [`Search::Complete`] give one empty outcome if there is any such execution.
pub fn outcomes(litmus: &Litmus, model: &Model, unrolling: Unrolling, search: Search) -> BTreeSet<Vec<i64>> {
    let observed = litmus.observables();
    let Ok(skeleton) = Skeleton::new(&litmus.program, &observed, unrolling) else { return BTreeSet::new() };
    let (compiled, ids) = Compiled::new(
        model,
        &search_axioms(model),
        &[&model.ordered_writes, &model.ordered_fences, &model.co, &conflicts(model), &model.optional_order],
    );
    let mut oracle = Oracle {
        litmus,
        observed,
        groups: barrier_groups(&skeleton, model.barriers),
        skeleton,
        compiled,
        ids,
        search,
        found: BTreeSet::new(),
        evaluation: Evaluation::new(),
    };
    let choices: Vec<Vec<usize>> = (0..oracle.skeleton.trees.len())
        .map(|t| {
            let nodes = &oracle.skeleton.trees[t].nodes;
            (0..nodes.len()).filter(|&n| oracle.leaf_counts(nodes[n].leaf.as_ref())).collect()
        })
        .collect();
    product(&choices, &mut |leaves| oracle.paths(leaves));
    oracle.found
}

/// Calls `each` with every element of the product.
fn product(choices: &[Vec<usize>], each: &mut dyn FnMut(&[usize])) {
    fn go(choices: &[Vec<usize>], chosen: &mut Vec<usize>, each: &mut dyn FnMut(&[usize])) {
        match choices.get(chosen.len()) {
            None => each(chosen),
            Some(options) => {
                for &option in options {
                    chosen.push(option);
                    go(choices, chosen, each);
                    chosen.pop();
                }
            }
        }
    }
    go(choices, &mut Vec::new(), each);
}

/// A way the barriers of an execution come together.
#[derive(Debug, Clone, Default)]
struct Barriers {
    /// Synchronisation edges, in skeleton indices.
    sync: Vec<Edge>,
    /// Order between phases.
    order: Vec<Edge>,
}

struct Oracle<'a> {
    litmus: &'a Litmus,
    observed: Vec<Observable>,
    skeleton: Skeleton,
    groups: Vec<BarrierGroup>,
    compiled: Compiled,
    ids: Vec<usize>,
    search: Search,
    found: BTreeSet<Vec<i64>>,
    evaluation: Evaluation<2>,
}

impl Oracle<'_> {
    fn leaf_counts(&self, leaf: Option<&Leaf>) -> bool {
        matches!(
            (self.search, leaf),
            (_, Some(Leaf::Done(_)))
                | (Search::Stuck, Some(Leaf::Spin { .. } | Leaf::Blocked))
                | (Search::Divergence, Some(Leaf::Blocked))
        )
    }

    fn paths(&mut self, leaves: &[usize]) {
        let leaf_of = |t: usize| self.skeleton.trees[t].nodes[leaves[t]].leaf.as_ref();
        let stuck = (0..leaves.len()).any(|t| !matches!(leaf_of(t), Some(Leaf::Done(_))));
        if matches!(self.search, Search::Stuck | Search::Divergence) && !stuck {
            return;
        }
        let assembly = Assembly::new(&self.skeleton, leaves);
        let reads: Vec<usize> = assembly
            .universe
            .iter()
            .copied()
            .filter(|&u| self.skeleton.events[u].event.kind == Kind::Read)
            .collect();
        let sources: Vec<Vec<usize>> = reads
            .iter()
            .map(|&r| {
                assembly.universe.iter().copied().filter(|&w| may_read_from(&self.skeleton, w, r)).collect()
            })
            .collect();
        product(&sources, &mut |writes| self.reads_from(&assembly, &reads, writes));
    }

    fn reads_from(&mut self, assembly: &Assembly, reads: &[usize], writes: &[usize]) {
        let Some(values) = self.values(assembly, reads, writes) else { return };
        let read_value = |event: usize| reads.iter().position(|&r| r == event).map(|i| values[i]);
        if !guards_hold(&self.skeleton, &assembly.leaves, &read_value) {
            return;
        }
        let mut assembly = assembly.clone();
        let local = |u: usize| assembly.local[&u];
        assembly.execution.rf = reads.iter().zip(writes).map(|(&r, &w)| (local(w), local(r))).collect();
        for (l, &u) in assembly.universe.iter().enumerate() {
            let value = self.skeleton.events[u].value;
            assembly.execution.events[l].value =
                evaluate(&self.skeleton, &read_value, value).unwrap_or_default();
        }
        for way in self.barriers(&assembly, &read_value) {
            let local = |edges: &[Edge]| -> Vec<Edge> {
                edges.iter().map(|(a, b)| (assembly.local[a], assembly.local[b])).collect()
            };
            let mut with_barriers = assembly.clone();
            with_barriers.execution.bar = local(&way.sync);
            with_barriers.execution.bar_order = local(&way.order);
            self.orders(&mut with_barriers, &read_value);
        }
    }

    /// What the reads return; `None` if values justify themselves in a circle.
    fn values(&self, assembly: &Assembly, reads: &[usize], writes: &[usize]) -> Option<Vec<i64>> {
        let mut known: Vec<Option<i64>> = vec![None; reads.len()];
        for _ in 0..=reads.len() {
            for (i, &w) in writes.iter().enumerate() {
                let lookup = |event: usize| reads.iter().position(|&r| r == event).and_then(|j| known[j]);
                let value = evaluate(&self.skeleton, &lookup, self.skeleton.events[w].value);
                known[i] = value;
            }
        }
        debug_assert!(assembly.has(reads.first().copied().unwrap_or(0)) || reads.is_empty());
        known.into_iter().collect()
    }

    /// Every way in which the barriers can come together given the paths.
    fn barriers(&self, assembly: &Assembly, read: &dyn Fn(usize) -> Option<i64>) -> Vec<Barriers> {
        let mut ways = vec![Barriers::default()];
        for group in &self.groups {
            let of_group = match group.kind {
                GroupKind::Phases => self.phases(assembly, group, read),
                GroupKind::AllReached => self.all_reached(assembly, group),
                GroupKind::Quorum => self.quorum(assembly, group, read),
                GroupKind::Cluster => self.cluster(assembly, group),
            };
            ways = ways
                .iter()
                .flat_map(|way| {
                    of_group.iter().map(|more| Barriers {
                        sync: [way.sync.as_slice(), &more.sync].concat(),
                        order: [way.order.as_slice(), &more.order].concat(),
                    })
                })
                .collect();
        }
        ways
    }

    /// Whether the path of the event's thread goes on behind it (`None` if the event does not wait).
    fn passed(&self, assembly: &Assembly, event: usize) -> Option<bool> {
        let (thread, _) = self.skeleton.events[event].node?;
        let nodes = &self.skeleton.trees[thread].nodes;
        if !self.skeleton.events[event].barrier.as_ref()?.waits {
            return None;
        }
        Some(nodes[assembly.leaves[thread]].guard != Guard::Blocked(event))
    }

    fn id_of(&self, event: usize, read: &dyn Fn(usize) -> Option<i64>) -> Option<i64> {
        let barrier = self.skeleton.events[event].barrier.as_ref()?;
        match barrier.id {
            None => Some(barrier.instance),
            Some(value) => evaluate(&self.skeleton, read, value),
        }
    }

    fn phases(
        &self,
        assembly: &Assembly,
        group: &BarrierGroup,
        read: &dyn Fn(usize) -> Option<i64>,
    ) -> Vec<Barriers> {
        let happening: Vec<usize> = group.members.iter().copied().filter(|&e| assembly.has(e)).collect();
        let thread = |e: usize| self.skeleton.events[e].node.map_or(0, |n| n.0);
        let numbers: Vec<Option<i64>> = happening.iter().map(|&e| self.id_of(e, read)).collect();
        let expected = |i: usize| -> i64 {
            let barrier = self.skeleton.events[happening[i]].barrier.as_ref();
            match barrier.and_then(|b| b.count) {
                Some(count) => evaluate(&self.skeleton, read, count).unwrap_or(0),
                None => {
                    let threads: BTreeSet<usize> = group
                        .members
                        .iter()
                        .filter(|&&e| self.id_of(e, read) == numbers[i])
                        .map(|&e| thread(e))
                        .collect();
                    threads.len() as i64
                }
            }
        };
        let options: Vec<Vec<usize>> = vec![(0..happening.len()).collect(); happening.len()];
        let mut ways = Vec::new();
        product(&options, &mut |phase| {
            let same = |i: usize, j: usize| numbers[i] == numbers[j] && phase[i] == phase[j];
            let size = |i: usize| (0..happening.len()).filter(|&j| same(i, j)).count() as i64;
            let complete = |i: usize| (0..happening.len()).all(|j| !same(i, j) || expected(j) == size(i));
            let fits = (0..happening.len()).all(|i| {
                // No phase is overfull, and a wait is passed exactly if its phase is complete.
                let passes = self.passed(assembly, happening[i]).is_none_or(|p| p == complete(i));
                // Phases fill up one after the other.
                let before = (0..phase[i]).all(|p| {
                    (0..happening.len()).any(|j| numbers[j] == numbers[i] && phase[j] == p && complete(j))
                });
                // A thread's own arrivals come in order, and not twice to a phase that it waits for.
                let ordered = (0..happening.len()).all(|j| {
                    let (ei, ej) = (happening[i], happening[j]);
                    let later = thread(ei) == thread(ej)
                        && self.skeleton.events[ei].event.position < self.skeleton.events[ej].event.position;
                    let waits = self.skeleton.events[ei].barrier.as_ref().is_some_and(|b| b.waits);
                    !later
                        || numbers[i] != numbers[j]
                        || if waits { phase[i] < phase[j] } else { phase[i] <= phase[j] }
                });
                size(i) <= expected(i) && passes && before && ordered
            });
            if !fits {
                return;
            }
            let mut way = Barriers::default();
            for i in 0..happening.len() {
                for j in 0..happening.len() {
                    if i != j && same(i, j) && self.passed(assembly, happening[j]) == Some(true) {
                        way.sync.push((happening[i], happening[j]));
                    }
                    if numbers[i] == numbers[j] && phase[i] < phase[j] {
                        way.order.push((happening[i], happening[j]));
                    }
                }
            }
            ways.push(way);
        });
        ways
    }

    fn all_reached(&self, assembly: &Assembly, group: &BarrierGroup) -> Vec<Barriers> {
        let place = |e: usize| {
            let t = &self.skeleton.events[e];
            (t.event.thread, t.event.instr, t.barrier.as_ref().map(|b| b.occurrence))
        };
        let open = group
            .members
            .iter()
            .all(|&e| group.members.iter().any(|&f| place(f) == place(e) && assembly.has(f)));
        self.opened(assembly, group, &|_, _| open, &|_| open)
    }

    /// One way: waits pass exactly if `open`, and `signals(a, b)` gives the edges to passed waits.
    fn opened(
        &self,
        assembly: &Assembly,
        group: &BarrierGroup,
        signals: &dyn Fn(usize, usize) -> bool,
        open: &dyn Fn(usize) -> bool,
    ) -> Vec<Barriers> {
        let happening: Vec<usize> = group.members.iter().copied().filter(|&e| assembly.has(e)).collect();
        if !happening.iter().all(|&e| self.passed(assembly, e).is_none_or(|p| p == open(e))) {
            return Vec::new();
        }
        let mut way = Barriers::default();
        for &a in &happening {
            for &b in &happening {
                if a != b && self.passed(assembly, b) == Some(true) && signals(a, b) {
                    way.sync.push((a, b));
                }
            }
        }
        vec![way]
    }

    fn quorum(
        &self,
        assembly: &Assembly,
        group: &BarrierGroup,
        read: &dyn Fn(usize) -> Option<i64>,
    ) -> Vec<Barriers> {
        let number = |e: usize| self.id_of(e, read);
        let count = |e: usize| {
            let barrier = self.skeleton.events[e].barrier.as_ref();
            barrier.and_then(|b| b.count).map(|c| evaluate(&self.skeleton, read, c).unwrap_or(0))
        };
        let happening: Vec<usize> = group.members.iter().copied().filter(|&e| assembly.has(e)).collect();
        let same = |a: usize, b: usize| number(a).is_some() && number(a) == number(b);
        let open = |e: usize| match count(e) {
            Some(count) => happening.iter().filter(|&&f| same(e, f)).count() as i64 >= count,
            None => group.members.iter().all(|&f| {
                let reached = group.members.iter().any(|&g| {
                    let (tf, tg) = (&self.skeleton.events[f], &self.skeleton.events[g]);
                    let occurrence = |t: &crate::skeleton::Template| t.barrier.as_ref().map(|b| b.occurrence);
                    tf.event.thread == tg.event.thread
                        && tf.event.instr == tg.event.instr
                        && occurrence(tf) == occurrence(tg)
                        && assembly.has(g)
                });
                !same(e, f) || reached
            }),
        };
        let subsets = vec![vec![0, 1]; happening.len()];
        let mut ways = Vec::new();
        product(&subsets, &mut |chosen| {
            let signals = |a: usize| happening.iter().position(|&e| e == a).is_some_and(|i| chosen[i] == 1);
            let legal = happening.iter().all(|&e| {
                let enough = count(e).is_none_or(|count| {
                    !open(e)
                        || happening.iter().filter(|&&f| same(e, f) && signals(f)).count() as i64 >= count
                });
                (count(e).is_some() || signals(e)) && (!signals(e) || count(e).is_none() || open(e)) && enough
            });
            if legal {
                ways.extend(self.opened(assembly, group, &|a, b| signals(a) && same(a, b) && open(a), &open));
            }
        });
        ways
    }

    fn cluster(&self, assembly: &Assembly, group: &BarrierGroup) -> Vec<Barriers> {
        let parts = |e: usize| {
            let t = &self.skeleton.events[e];
            let b = t.barrier.as_ref();
            (t.node.map_or(0, |n| n.0), b.is_some_and(|b| b.arrives), b.map_or(0, |b| b.occurrence))
        };
        let threads: BTreeSet<usize> =
            group.members.iter().filter(|&&e| parts(e).1).map(|&e| parts(e).0).collect();
        let open = |e: usize| {
            threads
                .iter()
                .all(|&t| group.members.iter().any(|&a| parts(a) == (t, true, parts(e).2) && assembly.has(a)))
        };
        let relaxed = |e: usize| self.skeleton.events[e].event.relaxed_arrive;
        let matches = |a: usize, b: usize| parts(a).1 && parts(a).2 == parts(b).2;
        let mut ways = self.opened(assembly, group, &|a, b| matches(a, b) && !relaxed(a), &open);
        for way in &mut ways {
            // A relaxed arrival orders no memory, but it does come before what follows the wait.
            for &a in group.members.iter().filter(|&&a| assembly.has(a) && relaxed(a)) {
                for &b in &group.members {
                    if !assembly.has(b) || self.passed(assembly, b) != Some(true) || !matches(a, b) {
                        continue;
                    }
                    let later = assembly.universe.iter().copied().filter(|&c| {
                        let (tb, tc) = (&self.skeleton.events[b], &self.skeleton.events[c]);
                        tc.barrier.is_some()
                            && tc.event.thread == tb.event.thread
                            && tc.event.position > tb.event.position
                    });
                    way.order.extend(later.map(|c| (a, c)));
                }
            }
        }
        ways
    }

    /// All orientations of fence and write pairs.
    fn orders(&mut self, assembly: &mut Assembly, read: &dyn Fn(usize) -> Option<i64>) {
        self.evaluation.load(&self.compiled, &assembly.execution, false);
        let unordered = |id: usize| -> Vec<Edge> {
            self.evaluation.relation(self.ids[id]).pairs().filter(|(a, b)| a < b).collect()
        };
        let (writes, fences, optional) = (unordered(0), unordered(1), unordered(4));
        let mut orientations = vec![vec![0, 1]; writes.len() + fences.len()];
        orientations.extend(vec![vec![0, 1, 2]; optional.len()]);
        let flip = |&(a, b): &Edge, o: usize| if o == 0 { (a, b) } else { (b, a) };
        product(&orientations, &mut |chosen| {
            let (for_writes, rest) = chosen.split_at(writes.len());
            let (for_fences, for_optional) = rest.split_at(fences.len());
            assembly.execution.co = writes.iter().zip(for_writes).map(|(e, &o)| flip(e, o)).collect();
            let some = optional.iter().zip(for_optional).filter(|(_, o)| **o < 2);
            assembly.execution.co.extend(some.map(|(e, &o)| flip(e, o)));
            assembly.execution.sc = fences.iter().zip(for_fences).map(|(e, &o)| flip(e, o)).collect();
            self.evaluation.load(&self.compiled, &assembly.execution, false);
            if self.evaluation.consistent(&self.compiled) {
                self.consistent(assembly, read);
            }
        });
    }

    /// Records what a consistent execution shows.
    fn consistent(&mut self, assembly: &Assembly, read: &dyn Fn(usize) -> Option<i64>) {
        match self.search {
            Search::Stuck | Search::Divergence | Search::Cut | Search::Fault => {
                self.found.insert(Vec::new());
                return;
            }
            Search::Race => {
                let mut execution = assembly.execution.clone();
                let candidates: Vec<Edge> = self.evaluation.relation(self.ids[3]).pairs().collect();
                for pair in candidates {
                    execution.race = vec![pair];
                    self.evaluation.load(&self.compiled, &execution, false);
                    if self.evaluation.consistent(&self.compiled) {
                        self.found.insert(Vec::new());
                        return;
                    }
                }
                return;
            }
            Search::Complete => {}
        }
        let co = self.evaluation.relation(self.ids[2]);
        let last: Vec<Vec<usize>> = self
            .skeleton
            .cells
            .iter()
            .map(|cell| {
                (0..assembly.universe.len())
                    .filter(|&l| {
                        let event = &assembly.execution.events[l];
                        event.is_write()
                            && event
                                .cell
                                .is_some_and(|c| c.physical == cell.physical && c.offset == cell.offset)
                            && co.row(l).iter().all(|&w| w == 0)
                    })
                    .collect()
            })
            .collect();
        let mut outcomes = Vec::new();
        product(&last, &mut |finals| {
            let value = |v: Observable| match v {
                Observable::Reg(t, r) => match &self.skeleton.trees[t].nodes[assembly.leaves[t]].leaf {
                    Some(Leaf::Done(registers)) => {
                        evaluate(&self.skeleton, read, registers[usize::from(r.0)]).unwrap_or(0)
                    }
                    _ => 0,
                },
                Observable::Mem(loc, index) => {
                    let cells = self.skeleton.observed_cells(&self.litmus.program, loc, index);
                    cells.into_iter().fold(0, |sum, (cell, shift)| {
                        sum | (assembly.execution.events[finals[cell]].value << (8 * shift))
                    })
                }
            };
            if self.litmus.filter.as_ref().is_none_or(|f| f.eval(&value)) {
                outcomes.push(self.observed.iter().map(|&v| value(v)).collect::<Vec<_>>());
            }
        });
        self.found.extend(outcomes);
    }
}
