//! How barriers open, as clauses.

use super::encoding::Encoding;
use super::numbers::Number;
use super::sat::Lit;
use crate::assembly::{BarrierGroup, GroupKind};
use crate::event::Edge;
use crate::skeleton::{BarrierUse, TooLarge, Value, ValueId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Most numbers that a barrier named by a register can have.
const MAX_NUMBERS: usize = 512;

impl Encoding<'_> {
    /// Lists the numbers and counts that the barriers of a group can have.
    ///
    /// # Errors
    /// When a barrier can have too many numbers.
    pub(super) fn list_barrier_values(&mut self, group: &BarrierGroup) -> Result<(), TooLarge> {
        let uses: Vec<BarrierUse> = group.members.iter().filter_map(|&e| self.parts(e)).cloned().collect();
        for (value, is_count) in uses.iter().flat_map(|b| [(b.id, false), (b.count, true)]) {
            let Some(value) = value else { continue };
            if self.barrier_values.contains_key(&value) {
                continue;
            }
            let word = match &self.values[value] {
                Number::Few(few) => {
                    let pairs = few.pairs().collect();
                    self.barrier_values.insert(value, pairs);
                    continue;
                }
                Number::Word(word) => word.clone(),
            };
            let numbers: Vec<i64> = match word.width() {
                width @ 0..=9 => (-(1 << (width - 1))..1 << (width - 1)).collect(),
                // No more arrive than there are members, and any number below zero is as good as another one.
                _ if is_count => (0..=group.members.len() as i64 + 1).collect(),
                _ => {
                    let what = format!("a barrier whose number has more than {MAX_NUMBERS} possibilities");
                    return Err(TooLarge(what));
                }
            };
            let mut listed: Vec<(i64, Vec<Lit>)> = match numbers.first() {
                Some(0) => vec![(-1, vec![word.bit(63)])],
                _ => Vec::new(),
            };
            listed
                .extend(numbers.into_iter().map(|n| (n, word.differs(n).into_iter().map(|l| !l).collect())));
            // A number that depends on a read which does not happen is none.
            let known = self.reads_of(value);
            let listed = listed.into_iter().map(|(n, same)| (n, self.sat.and(&[&same[..], &known].concat())));
            let listed = listed.collect();
            self.barrier_values.insert(value, listed);
        }
        Ok(())
    }

    /// The clauses of one group of barrier operations.
    pub(super) fn barrier(&mut self, group: &BarrierGroup) {
        match group.kind {
            GroupKind::Phases => {
                let numbers: BTreeSet<i64> =
                    group.members.iter().flat_map(|&e| self.numbers(e).into_iter().map(|n| n.0)).collect();
                for number in numbers {
                    self.phases(group, number);
                }
            }
            GroupKind::AllReached => self.all_reached(group),
            GroupKind::Quorum => self.quorum(group),
            GroupKind::Cluster => self.cluster(group),
        }
    }

    /// That the reads behind a value happen.
    fn reads_of(&self, value: ValueId) -> Vec<Lit> {
        let mut seen = BTreeSet::from([value]);
        let mut out = Vec::new();
        // Operands have smaller numbers than what is made of them.
        while let Some(value) = seen.pop_last() {
            match self.skeleton.values[value] {
                Value::Const(_) => {}
                Value::Read(event) => out.push(self.happens(event)),
                Value::Bin(_, a, b) => seen.extend([a, b]),
            }
        }
        out
    }

    fn parts(&self, event: usize) -> Option<&BarrierUse> {
        self.skeleton.events[event].barrier.as_ref()
    }

    fn waits(&self, event: usize) -> bool {
        self.parts(event).is_some_and(|b| b.waits)
    }

    fn thread(&self, event: usize) -> usize {
        self.skeleton.events[event].node.map_or(0, |n| n.0)
    }

    /// The numbers that the barrier of an event may have.
    fn numbers(&self, event: usize) -> Vec<(i64, Lit)> {
        match self.parts(event) {
            Some(BarrierUse { id: Some(value), .. }) => {
                self.barrier_values.get(value).cloned().unwrap_or_default()
            }
            Some(barrier) => vec![(barrier.instance, self.sat.yes())],
            None => Vec::new(),
        }
    }

    fn number_is(&self, event: usize, number: i64) -> Lit {
        self.numbers(event).into_iter().find(|n| n.0 == number).map_or(self.sat.no(), |n| n.1)
    }

    /// "At least the value of the event's count operand", given the literals of "at least 1, 2, ...".
    fn at_least_count(&mut self, event: usize, counts: &[Lit]) -> Option<Lit> {
        let value = self.parts(event)?.count?;
        let mut cases = Vec::new();
        for (count, is_count) in self.barrier_values.get(&value).cloned().unwrap_or_default() {
            let reached = self.threshold(counts, count);
            cases.push(self.sat.and(&[is_count, reached]));
        }
        Some(self.sat.or(&cases))
    }

    fn threshold(&self, counts: &[Lit], at_least: i64) -> Lit {
        match usize::try_from(at_least) {
            Ok(0) | Err(_) => self.sat.yes(),
            Ok(n) => counts.get(n - 1).copied().unwrap_or(self.sat.no()),
        }
    }

    fn edge(map: &mut FxHashMap<Edge, Vec<Lit>>, a: usize, b: usize, literal: Lit) {
        map.entry((a, b)).or_default().push(literal);
    }

    /// Phases of the barrier with this number.
    fn phases(&mut self, group: &BarrierGroup, number: i64) {
        let no = self.sat.no();
        let members: Vec<usize> =
            group.members.iter().copied().filter(|&e| self.number_is(e, number) != no).collect();
        let counted = members.iter().any(|&e| self.parts(e).is_some_and(|b| b.count.is_some()));
        let threads: BTreeSet<usize> = members.iter().map(|&e| self.thread(e)).collect();
        // The most arrivals that one path of a thread makes bounds the phases it can take part in. Where the
        // program gives counts, each phase but the last takes at least the least of them.
        let arrivals = threads.iter().map(|&t| self.longest_chain(&members, t));
        let phases = match counted {
            true => arrivals.sum::<usize>().div_ceil(self.least_count(&members)) + 1,
            false => arrivals.max().unwrap_or(0),
        };

        // Which phase each member arrives in.
        let mut phase: Vec<Vec<Lit>> = Vec::new();
        for &e in &members {
            let happens = self.happens(e);
            let is_number = self.number_is(e, number);
            let arrives = self.sat.and(&[happens, is_number]);
            let choices: Vec<Lit> = match phases {
                1 => vec![arrives],
                _ => (0..phases).map(|_| self.sat.fresh()).collect(),
            };
            for &choice in &choices {
                self.sat.clause(&[!choice, arrives]);
            }
            let some: Vec<Lit> = choices.iter().copied().chain([!arrives]).collect();
            self.sat.clause(&some);
            self.sat.at_most_one(&choices);
            phase.push(choices);
        }
        // Threads that take part where the program gives no count.
        let participants: Vec<Lit> = threads
            .iter()
            .map(|&t| {
                let uses: Vec<Lit> = members
                    .iter()
                    .filter(|&&e| self.thread(e) == t)
                    .map(|&e| self.number_is(e, number))
                    .collect();
                self.sat.or(&uses)
            })
            .collect();
        let expected = self.sat.count(&participants);

        let mut complete = Vec::new();
        for p in 0..phases {
            let arrived: Vec<Lit> = phase.iter().map(|choices| choices[p]).collect();
            let counts = self.sat.count(&arrived);
            if self.sat.stopped() {
                return;
            }
            let mut conditions = vec![self.threshold(&counts, 1)];
            for (i, &e) in members.iter().enumerate() {
                let here = phase[i][p];
                let enough = match self.at_least_count(e, &counts) {
                    Some(enough) => {
                        let beyond: Vec<Lit> = counts.iter().skip(1).copied().chain([no]).collect();
                        let too_many = self.at_least_count_plus_one(e, &beyond, &counts);
                        self.sat.clause(&[!here, !too_many]);
                        enough
                    }
                    None => {
                        let mut all = Vec::new();
                        for (k, &expects) in expected.iter().enumerate() {
                            let reached = self.threshold(&counts, k as i64 + 1);
                            all.push(self.sat.or(&[!expects, reached]));
                        }
                        // More arrivals than participants never meet in one phase.
                        for (k, &reached) in counts.iter().enumerate() {
                            let expects = expected.get(k).copied().unwrap_or(no);
                            self.sat.clause(&[!here, !reached, expects]);
                        }
                        self.sat.and(&all)
                    }
                };
                conditions.push(self.sat.or(&[!here, enough]));
            }
            complete.push(self.sat.and(&conditions));
        }

        let mut edges: FxHashMap<Edge, Vec<Lit>> = FxHashMap::default();
        let mut later: FxHashMap<Edge, Vec<Lit>> = FxHashMap::default();
        for (i, &a) in members.iter().enumerate() {
            if self.sat.stopped() {
                return;
            }
            for p in 0..phases {
                if p > 0 {
                    self.sat.clause(&[!phase[i][p], complete[p - 1]]);
                }
                if self.waits(a) {
                    let opens = self.opens(a);
                    self.sat.clause(&[!phase[i][p], !opens, complete[p]]);
                    self.sat.clause(&[!phase[i][p], opens, !complete[p]]);
                }
            }
            for (j, &b) in members.iter().enumerate() {
                if i == j || !self.skeleton.compatible(a, b) {
                    continue;
                }
                if self.sat.stopped() {
                    return;
                }
                let (ea, eb) = (&self.skeleton.events[a].event, &self.skeleton.events[b].event);
                let first = ea.thread == eb.thread && ea.position < eb.position;
                for p in 0..phases {
                    for q in 0..phases {
                        if first && (p > q || (p == q && self.waits(a))) {
                            self.sat.clause(&[!phase[i][p], !phase[j][q]]);
                        }
                        if p < q {
                            let both = self.sat.and(&[phase[i][p], phase[j][q]]);
                            Self::edge(&mut later, a, b, both);
                        }
                    }
                    if self.waits(b) {
                        let together = self.sat.and(&[phase[i][p], phase[j][p], complete[p]]);
                        Self::edge(&mut edges, a, b, together);
                    }
                }
            }
        }
        self.add_edges(edges, false);
        self.add_edges(later, true);
    }

    /// The least number of arrivals that can make a phase.
    fn least_count(&self, members: &[usize]) -> usize {
        let least = |&e: &usize| match self.parts(e)?.count {
            Some(value) => {
                self.barrier_values.get(&value)?.iter().map(|&(n, _)| usize::try_from(n).unwrap_or(0)).min()
            }
            None => Some(1),
        };
        members.iter().filter_map(least).min().unwrap_or(1).max(1)
    }

    /// "More than the value of the event's count operand."
    fn at_least_count_plus_one(&mut self, event: usize, beyond: &[Lit], counts: &[Lit]) -> Lit {
        let Some(value) = self.parts(event).and_then(|b| b.count) else { return self.sat.no() };
        let mut cases = Vec::new();
        for (count, is_count) in self.barrier_values.get(&value).cloned().unwrap_or_default() {
            let exceeded = match usize::try_from(count) {
                Ok(0) | Err(_) => self.threshold(counts, 1),
                Ok(n) => beyond.get(n - 1).copied().unwrap_or(self.sat.no()),
            };
            cases.push(self.sat.and(&[is_count, exceeded]));
        }
        self.sat.or(&cases)
    }

    /// The most members on one path of a thread.
    fn longest_chain(&self, members: &[usize], thread: usize) -> usize {
        let nodes = &self.skeleton.trees[thread].nodes;
        let mut longest = vec![0; nodes.len()];
        for (n, node) in nodes.iter().enumerate() {
            let here = node.events.iter().filter(|e| members.contains(e)).count();
            longest[n] = here + node.parent.map_or(0, |p| longest[p]);
        }
        longest.into_iter().max().unwrap_or(0)
    }

    fn add_edges(&mut self, edges: FxHashMap<Edge, Vec<Lit>>, order: bool) {
        let mut edges: Vec<(Edge, Vec<Lit>)> = edges.into_iter().collect();
        edges.sort_unstable();
        for (edge, cases) in edges {
            let literal = self.sat.or(&cases);
            if literal == self.sat.no() {
                continue;
            }
            let map = if order { &mut self.bar_order } else { &mut self.bar };
            let literal = match map.get(&edge).copied() {
                Some(known) => self.sat.or(&[known, literal]),
                None => literal,
            };
            let map = if order { &mut self.bar_order } else { &mut self.bar };
            map.insert(edge, literal);
        }
    }

    /// For each member, the literal that its place in the program is reached on some path.
    fn places(&mut self, members: &[usize]) -> FxHashMap<usize, Lit> {
        let place = |this: &Self, e: usize| {
            let event = &this.skeleton.events[e].event;
            (event.thread, event.instr, this.parts(e).map(|b| b.occurrence))
        };
        let mut out = FxHashMap::default();
        for &e in members {
            let same: Vec<Lit> = members
                .iter()
                .filter(|&&f| place(self, f) == place(self, e))
                .map(|&f| self.happens(f))
                .collect();
            let reached = self.sat.or(&same);
            out.insert(e, reached);
        }
        out
    }

    /// A wait of the group that happens opens exactly under this condition.
    fn opens_if(&mut self, event: usize, condition: Lit) {
        if self.waits(event) {
            let (happens, opens) = (self.happens(event), self.opens(event));
            self.sat.clause(&[!happens, !opens, condition]);
            self.sat.clause(&[!happens, opens, !condition]);
        }
    }

    fn all_reached(&mut self, group: &BarrierGroup) {
        let places: Vec<Lit> = self.places(&group.members).into_values().collect();
        let open = self.sat.and(&places);
        let mut edges = FxHashMap::default();
        for &b in &group.members {
            self.opens_if(b, open);
            for &a in &group.members {
                if a != b && self.waits(b) && self.skeleton.compatible(a, b) {
                    let happen = [self.happens(a), self.happens(b), open];
                    let literal = self.sat.and(&happen);
                    Self::edge(&mut edges, a, b, literal);
                }
            }
        }
        self.add_edges(edges, false);
    }

    fn quorum(&mut self, group: &BarrierGroup) {
        let members = group.members.clone();
        let places = self.places(&members);
        let mut same: FxHashMap<Edge, Lit> = FxHashMap::default();
        for &a in &members {
            for &b in &members {
                let cases: Vec<Lit> = self
                    .numbers(a)
                    .into_iter()
                    .map(|(number, is_number)| (is_number, self.number_is(b, number)))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|(x, y)| self.sat.and(&[x, y]))
                    .collect();
                let literal = self.sat.or(&cases);
                same.insert((a, b), literal);
            }
        }
        let mut open = FxHashMap::default();
        let mut signals = FxHashMap::default();
        for &e in &members {
            let reached: Vec<Lit> = members
                .iter()
                .map(|&f| (self.happens(f), same[&(e, f)]))
                .collect::<Vec<_>>()
                .into_iter()
                .map(|(x, y)| self.sat.and(&[x, y]))
                .collect();
            let counts = self.sat.count(&reached);
            let happens = self.happens(e);
            let (is_open, signal) = match self.at_least_count(e, &counts) {
                Some(enough) => {
                    let signal = self.sat.fresh();
                    self.sat.clause(&[!signal, happens]);
                    self.sat.clause(&[!signal, enough]);
                    (enough, signal)
                }
                None => {
                    let all: Vec<Lit> = members
                        .iter()
                        .map(|f| (!same[&(e, *f)], places[f]))
                        .collect::<Vec<_>>()
                        .into_iter()
                        .map(|(x, y)| self.sat.or(&[x, y]))
                        .collect();
                    (self.sat.and(&all), happens)
                }
            };
            self.opens_if(e, is_open);
            open.insert(e, is_open);
            signals.insert(e, signal);
        }
        let mut edges = FxHashMap::default();
        for &e in &members {
            let signalling: Vec<Lit> = members
                .iter()
                .map(|&f| (signals[&f], same[&(e, f)]))
                .collect::<Vec<_>>()
                .into_iter()
                .map(|(x, y)| self.sat.and(&[x, y]))
                .collect();
            let counts = self.sat.count(&signalling);
            if let Some(enough) = self.at_least_count(e, &counts) {
                let happens = self.happens(e);
                self.sat.clause(&[!happens, !open[&e], enough]);
            }
            for &a in &members {
                if a != e && self.waits(e) && self.skeleton.compatible(a, e) {
                    let happens = self.happens(e);
                    let literal = self.sat.and(&[signals[&a], same[&(a, e)], open[&a], open[&e], happens]);
                    Self::edge(&mut edges, a, e, literal);
                }
            }
        }
        self.add_edges(edges, false);
    }

    fn cluster(&mut self, group: &BarrierGroup) {
        let arrivals: Vec<usize> =
            group.members.iter().copied().filter(|&e| self.parts(e).is_some_and(|b| b.arrives)).collect();
        let threads: BTreeSet<usize> = arrivals.iter().map(|&e| self.thread(e)).collect();
        let occurrence = |this: &Self, e: usize| this.parts(e).map_or(0, |b| b.occurrence);
        let (mut edges, mut order) = (FxHashMap::default(), FxHashMap::default());
        for &wait in group.members.iter().filter(|e| !arrivals.contains(e)) {
            let turn: Vec<usize> =
                arrivals.iter().copied().filter(|&a| occurrence(self, a) == occurrence(self, wait)).collect();
            let mut all = Vec::new();
            for &t in &threads {
                let of_thread: Vec<Lit> =
                    turn.iter().filter(|&&a| self.thread(a) == t).map(|&a| self.happens(a)).collect();
                all.push(self.sat.or(&of_thread));
            }
            let open = self.sat.and(&all);
            self.opens_if(wait, open);
            for &a in &turn {
                if !self.skeleton.compatible(a, wait) {
                    continue;
                }
                let happen = [self.happens(a), self.happens(wait), open];
                let literal = self.sat.and(&happen);
                if !self.skeleton.events[a].event.relaxed_arrive {
                    Self::edge(&mut edges, a, wait, literal);
                    continue;
                }
                // A relaxed arrival orders no memory, but it does come before what follows the wait.
                for later in 0..self.skeleton.events.len() {
                    let (w, l) = (&self.skeleton.events[wait], &self.skeleton.events[later]);
                    let follows = l.barrier.is_some()
                        && l.event.thread == w.event.thread
                        && l.event.position > w.event.position
                        && self.skeleton.compatible(wait, later);
                    if follows {
                        let happens = self.happens(later);
                        let literal = self.sat.and(&[literal, happens]);
                        Self::edge(&mut order, a, later, literal);
                    }
                }
            }
        }
        self.add_edges(edges, false);
        self.add_edges(order, true);
    }
}
