//! The fast search: a SAT solver proposes executions, the model judges them.
//!
//! The solver knows the choices of an execution and everything about them but the axioms (see
//! `super::encode`). Each execution that it proposes is evaluated; where an axiom is violated, the derivation
//! of the violation names the choices that were needed for it (some reads-from edges, some orientations, some
//! paths), and since every axiom only forbids, no execution with those choices is consistent: that is the
//! clause which the solver learns. The search ends with a consistent execution or with the proof that there
//! is none. Nothing is assumed about acyclicity of program order and reads-from, so load buffering is found.

use super::encoding::Encoding;
use super::sat::{Answer, Lit, Sat};
use super::search::{Search, search_axioms};
use super::universe::Universe;
use crate::assembly::Assembly;
use crate::event::{Edge, Execution};
use crate::model::algebra::{BaseRel, Rel};
use crate::model::{Compiled, Derivation, Evaluation, Model, Violation, Why};
use crate::program::{Cond, Litmus};
use crate::skeleton::{Skeleton, TooLarge};
use crate::until::Until;
use rustc_hash::FxHashMap;

/// Violations of one axiom in one proposal from which clauses are made.
const VIOLATIONS: usize = 8;

/// A consistent execution.
#[derive(Debug, Clone)]
pub struct Witness {
    /// The execution, with values.
    pub execution: Execution,
    /// Values of the observables; empty for searches without a final state.
    pub outcome: Vec<i64>,
    /// The last node of each thread's path.
    pub leaves: Vec<usize>,
}

/// What a search found.
#[derive(Debug, Clone)]
pub enum Found {
    /// A consistent execution.
    Witness(Box<Witness>),
    /// There is none.
    Nothing,
    /// The time was up.
    TimeOut,
}

/// How much work a search was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Executions proposed.
    pub candidates: u64,
    /// Clauses learnt from violations.
    pub lemmas: u64,
    /// Solver variables.
    pub variables: u64,
    /// Solver clauses.
    pub clauses: u64,
    /// Solver conflicts.
    pub conflicts: u64,
}

/// Why a proposal was rejected, for explanations.
#[derive(Debug, Clone)]
pub struct Rejected {
    /// The proposal.
    pub execution: Execution,
    /// What it violates, the first of each axiom.
    pub violations: Vec<Violation>,
}

/// One search over one program under one model.
pub struct Engine<'a> {
    encoding: Encoding<'a>,
    compiled: Compiled,
    judge: Judge,
    last: Option<Assembly>,
    until: Until,
    candidates: u64,
    lemmas: u64,
    /// Rejected proposals that are kept, and how many may be.
    rejected: Vec<Rejected>,
    keep_rejected: usize,
}

enum Judge {
    Small(Evaluation<1>),
    Medium(Evaluation<2>),
    Large(Evaluation<4>),
    Huge(Evaluation<16>),
}

macro_rules! with_evaluation {
    ($judge:expr, $e:ident => $body:expr) => {
        match $judge {
            Judge::Small($e) => $body,
            Judge::Medium($e) => $body,
            Judge::Large($e) => $body,
            Judge::Huge($e) => $body,
        }
    };
}

impl<'a> Engine<'a> {
    /// Prepares a search.
    ///
    /// # Errors
    /// When the program has more events or values than the engine takes.
    pub fn new(
        litmus: &'a Litmus,
        skeleton: &'a Skeleton,
        model: &Model,
        search: Search,
        until: Until,
    ) -> Result<Self, TooLarge> {
        Self::with(litmus, skeleton, model, search, until, true)
    }

    /// Prepares the enumeration of all complete executions, also of those that only differ by which of several
    /// threads alike does what.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn for_counting(
        litmus: &'a Litmus,
        skeleton: &'a Skeleton,
        model: &Model,
        until: Until,
    ) -> Result<Self, TooLarge> {
        Self::with(litmus, skeleton, model, Search::Complete, until, false)
    }

    fn with(
        litmus: &'a Litmus,
        skeleton: &'a Skeleton,
        model: &Model,
        search: Search,
        until: Until,
        symmetry: bool,
    ) -> Result<Self, TooLarge> {
        let universe = Universe::new(skeleton, model)?;
        let sat = Sat::new(until.clone());
        let mut encoding = Encoding::new(sat, litmus, skeleton, model, &universe, search)?;
        if symmetry {
            encoding.symmetry(litmus);
        }
        let shown: [&Rel; 0] = [];
        let (compiled, _) = Compiled::new(model, &search_axioms(model), &shown);
        Ok(Self {
            encoding,
            compiled,
            judge: Judge::Small(Evaluation::new()),
            last: None,
            until,
            candidates: 0,
            lemmas: 0,
            rejected: Vec::new(),
            keep_rejected: 0,
        })
    }

    /// Keeps up to `limit` rejected proposals from now on.
    pub fn keep_rejected(&mut self, limit: usize) {
        self.keep_rejected = limit;
    }

    /// The rejected proposals kept.
    pub fn rejected(&self) -> &[Rejected] {
        &self.rejected
    }

    /// The axioms that violations refer to.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Work so far.
    pub fn effort(&self) -> Effort {
        let (variables, clauses, conflicts) = self.encoding.sat.statistics();
        Effort { candidates: self.candidates, lemmas: self.lemmas, variables, clauses, conflicts }
    }

    /// Looks for an execution whose final state satisfies (or, with `false`, does not satisfy) a condition.
    pub fn find_with(&mut self, cond: &Cond, satisfied: bool) -> Found {
        let literal = self.encoding.condition(cond);
        self.search(&[if satisfied { literal } else { !literal }])
    }

    /// Looks for any execution.
    pub fn find(&mut self) -> Found {
        self.search(&[])
    }

    /// Excludes the outcome of a witness from the searches that follow.
    pub fn exclude_outcome(&mut self, outcome: &[i64]) {
        let clause: Vec<Lit> = self
            .encoding
            .outputs
            .iter()
            .zip(outcome)
            .flat_map(|(output, &value)| output.differs(value))
            .collect();
        self.encoding.sat.clause(&clause);
    }

    /// Excludes the execution found last: its paths, reads-from, chosen orders and outcome.
    pub fn exclude_execution(&mut self) {
        let Some(assembly) = &self.last else { return };
        let encoding = &self.encoding;
        let mut literals: Vec<Lit> =
            assembly.leaves.iter().enumerate().map(|(t, &leaf)| encoding.reach[t][leaf]).collect();
        for &u in &assembly.universe {
            literals.extend(encoding.sources.get(&u).into_iter().flatten().map(|(_, l)| *l));
        }
        for order in [&encoding.co, &encoding.sc] {
            let present = order.iter().filter(|((a, b), _)| assembly.has(*a) && assembly.has(*b));
            literals.extend(present.map(|(_, l)| *l));
        }
        literals.extend(encoding.partial_co.values());
        literals.extend(encoding.bar.values().chain(encoding.bar_order.values()));
        literals.extend(encoding.outputs.iter().flat_map(|o| o.literals()));
        literals.sort_unstable();
        literals.dedup();
        let sat = &encoding.sat;
        let clause: Vec<Lit> = literals.into_iter().map(|l| if sat.is_true(l) { !l } else { l }).collect();
        self.encoding.sat.clause(&clause);
    }

    /// Looks only for races between accesses that overlap partially.
    pub fn only_mixed_size_races(&mut self) {
        let encoding = &mut self.encoding;
        for &((a, b), literal) in &encoding.races {
            let access = |e: usize| encoding.skeleton.events[e].event.cell.map(|c| c.access);
            if access(a) == access(b) {
                encoding.sat.clause(&[!literal]);
            }
        }
    }

    fn search(&mut self, assumptions: &[Lit]) -> Found {
        loop {
            if self.encoding.sat.stopped() {
                return Found::TimeOut;
            }
            match self.encoding.sat.solve(assumptions) {
                Answer::No => return Found::Nothing,
                Answer::Unknown => return Found::TimeOut,
                Answer::Yes => {}
            }
            self.candidates += 1;
            let same_paths = self.propose();
            let Some(assembly) = self.last.take() else { return Found::Nothing };
            let violations = self.judge(&assembly, same_paths);
            if violations.is_empty() {
                // Values that justify themselves in a circle have no end; no execution that is left has such.
                if self.encoding.refine() {
                    self.last = Some(assembly);
                    continue;
                }
                let witness = self.witness(&assembly);
                self.last = Some(assembly);
                return Found::Witness(Box::new(witness));
            }
            let mut clauses: Vec<Vec<Lit>> =
                violations.iter().map(|v| self.lemma(&assembly, &v.derivation)).collect();
            clauses.sort_unstable();
            clauses.dedup();
            for clause in &clauses {
                self.encoding.sat.clause(clause);
                self.lemmas += 1;
            }
            if self.rejected.len() < self.keep_rejected && self.encoding.wrong().is_empty() {
                let execution = self.with_values(&assembly);
                self.rejected.push(Rejected { execution, violations });
            }
            self.last = Some(assembly);
            if self.until.is_over() {
                return Found::TimeOut;
            }
        }
    }

    /// Reads the solver's model into `self.last`; true if the paths are those of the proposal before.
    fn propose(&mut self) -> bool {
        let encoding = &self.encoding;
        let sat = &encoding.sat;
        let leaves: Vec<usize> = encoding
            .skeleton
            .trees
            .iter()
            .zip(&encoding.reach)
            .map(|(tree, reach)| {
                let mut node = 0;
                while let Some(&next) = tree.nodes[node].children.iter().find(|&&c| sat.is_true(reach[c])) {
                    node = next;
                }
                node
            })
            .collect();
        let same_paths = self.last.as_ref().is_some_and(|a| a.leaves == leaves);
        if !same_paths {
            self.last = Some(Assembly::new(encoding.skeleton, &leaves));
        }
        let Some(assembly) = &mut self.last else { return false };
        let local = &assembly.local;
        let x = &mut assembly.execution;
        x.rf.clear();
        for &u in &assembly.universe {
            if let Some(sources) = encoding.sources.get(&u)
                && let Some((w, _)) = sources.iter().find(|(_, l)| sat.is_true(*l))
                && let Some(&w) = local.get(w)
            {
                x.rf.push((w, local[&u]));
            }
        }
        let present = |(a, b): Edge| Some((*local.get(&a)?, *local.get(&b)?));
        let oriented = |order: &FxHashMap<Edge, Lit>| -> Vec<Edge> {
            let mut edges: Vec<Edge> = order
                .iter()
                .filter_map(|(&pair, &l)| {
                    present(pair).map(|(a, b)| if sat.is_true(l) { (a, b) } else { (b, a) })
                })
                .collect();
            edges.sort_unstable();
            edges
        };
        x.co = oriented(&encoding.co);
        x.co.extend(
            encoding.partial_co.iter().filter(|(_, l)| sat.is_true(**l)).filter_map(|(&p, _)| present(p)),
        );
        x.co.sort_unstable();
        x.sc = oriented(&encoding.sc);
        let chosen = |edges: &FxHashMap<Edge, Lit>| -> Vec<Edge> {
            let mut edges: Vec<Edge> = edges
                .iter()
                .filter(|(_, l)| sat.is_true(**l))
                .filter_map(|(&pair, _)| present(pair))
                .collect();
            edges.sort_unstable();
            edges
        };
        x.bar = chosen(&encoding.bar);
        x.bar_order = chosen(&encoding.bar_order);
        x.finals = encoding
            .finals
            .iter()
            .flatten()
            .filter(|(_, l)| sat.is_true(*l))
            .filter_map(|(w, _)| local.get(w).copied())
            .collect();
        x.race = encoding
            .races
            .iter()
            .filter(|(_, l)| sat.is_true(*l))
            .filter_map(|&(pair, _)| present(pair))
            .collect();
        same_paths
    }

    fn judge(&mut self, assembly: &Assembly, same_paths: bool) -> Vec<Violation> {
        let x = &assembly.execution;
        let fitting = match x.events.len() {
            0..=64 => 1,
            65..=128 => 2,
            129..=256 => 4,
            _ => 16,
        };
        let current = match &self.judge {
            Judge::Small(_) => 1,
            Judge::Medium(_) => 2,
            Judge::Large(_) => 4,
            Judge::Huge(_) => 16,
        };
        if fitting > current {
            self.judge = match fitting {
                2 => Judge::Medium(Evaluation::new()),
                4 => Judge::Large(Evaluation::new()),
                _ => Judge::Huge(Evaluation::new()),
            };
        }
        let same_events = same_paths && fitting <= current && self.candidates > 1;
        with_evaluation!(&mut self.judge, e => {
            e.load(&self.compiled, x, same_events);
            e.violations(&self.compiled, VIOLATIONS)
        })
    }

    /// The clause that excludes every execution with the choices behind a derivation.
    fn lemma(&self, assembly: &Assembly, derivation: &Derivation) -> Vec<Lit> {
        let mut reason = Reason::default();
        self.collect(assembly, derivation, &mut reason);
        let encoding = &self.encoding;
        let skeleton = encoding.skeleton;
        let node = |l: usize| skeleton.events[assembly.universe[l]].node;
        let covers = |(t, n): (usize, usize), deeper: (usize, usize)| {
            t == deeper.0 && skeleton.on_path(t, n, deeper.1)
        };
        // An event on the path to another one happens when that one does.
        let mut needed: Vec<(usize, usize)> =
            reason.needed.iter().filter_map(|&(leaf, l)| leaf.or_else(|| node(l))).collect();
        needed.sort_unstable();
        needed.dedup();
        let mut literals = reason.chosen;
        for (i, &n) in needed.iter().enumerate() {
            let is_leaf = reason.needed.iter().any(|(leaf, _)| *leaf == Some(n));
            let by_chosen = reason.implied.iter().filter_map(|&l| node(l)).any(|c| covers(n, c));
            let by_deeper = needed.iter().enumerate().any(|(j, &m)| i != j && covers(n, m));
            if is_leaf || !(by_chosen || by_deeper) {
                literals.push(encoding.reach[n.0][n.1]);
            }
        }
        // Writes that some leaves drop need more than their node.
        literals.extend(
            reason.needed.iter().filter_map(|&(_, l)| encoding.dropped.get(&assembly.universe[l]).copied()),
        );
        if reason.all_paths {
            literals.extend(assembly.leaves.iter().enumerate().map(|(t, &leaf)| encoding.reach[t][leaf]));
        }
        literals.retain(|&l| l != encoding.sat.yes());
        literals.sort_unstable();
        literals.dedup();
        literals.into_iter().map(|l| !l).collect()
    }

    fn collect(&self, assembly: &Assembly, derivation: &Derivation, reason: &mut Reason) {
        let encoding = &self.encoding;
        let (from, to) = (derivation.from, derivation.to);
        let (u, v) = (assembly.universe[from], assembly.universe[to]);
        let mut choose = |literal: Option<Lit>, implies: &[usize]| {
            // A missing literal would make the clause too strong; there is none.
            if let Some(literal) = literal {
                reason.chosen.push(literal);
                reason.implied.extend_from_slice(implies);
            }
        };
        match &derivation.why {
            Why::Base(BaseRel::Rf) => {
                let literal = encoding.sources.get(&v).and_then(|s| s.iter().find(|(w, _)| *w == u));
                choose(literal.map(|s| s.1), &[from, to]);
            }
            Why::Base(BaseRel::Co) => match encoding.partial_co.get(&(u, v)) {
                Some(&literal) => choose(Some(literal), &[from, to]),
                None => {
                    choose(Encoding::before(&encoding.co, u, v), &[]);
                    reason.needed.extend([(None, from), (None, to)]);
                }
            },
            Why::Missing(base) => {
                let chosen = match base {
                    BaseRel::Rf => {
                        encoding.sources.get(&v).and_then(|s| s.iter().find(|(w, _)| *w == u)).map(|s| s.1)
                    }
                    BaseRel::Co => {
                        let partial = encoding.partial_co.get(&(u, v)).copied();
                        partial.or_else(|| Encoding::before(&encoding.co, u, v))
                    }
                    BaseRel::Sc => Encoding::before(&encoding.sc, u, v),
                    BaseRel::Bar => encoding.bar.get(&(u, v)).copied(),
                    BaseRel::BarOrder => encoding.bar_order.get(&(u, v)).copied(),
                    // What the search does not choose follows from the two events.
                    _ => None,
                };
                choose(chosen.map(|l| !l), &[]);
            }
            Why::Absent(parts) => {
                reason.all_paths = true;
                parts.iter().for_each(|p| self.collect(assembly, p, reason));
            }
            Why::Base(BaseRel::Sc) => {
                choose(Encoding::before(&encoding.sc, u, v), &[]);
                reason.needed.extend([(None, from), (None, to)]);
            }
            Why::Base(BaseRel::Bar) => choose(encoding.bar.get(&(u, v)).copied(), &[from, to]),
            Why::Base(BaseRel::BarOrder) => {
                choose(encoding.bar_order.get(&(u, v)).copied(), &[from, to]);
            }
            Why::Base(BaseRel::Race) => {
                let literal = encoding.races.iter().find(|(pair, _)| *pair == (u, v));
                choose(literal.map(|r| r.1), &[from, to]);
            }
            Why::Base(_) | Why::Sets => reason.needed.extend([(None, from), (None, to)]),
            Why::Chosen(event) => {
                let universe = assembly.universe[*event];
                let e = &assembly.execution.events[*event];
                if let (true, Some(thread)) = (e.spinning, e.thread) {
                    reason.needed.push((Some((thread, assembly.leaves[thread])), *event));
                } else {
                    let last = encoding.finals.iter().flatten().find(|(w, _)| *w == universe);
                    choose(last.map(|l| l.1), &[*event]);
                }
            }
            Why::Steps(parts) | Why::All(parts) => {
                parts.iter().for_each(|p| self.collect(assembly, p, reason));
            }
            Why::Reverse(inner) => self.collect(assembly, inner, reason),
        }
    }

    fn with_values(&self, assembly: &Assembly) -> Execution {
        let encoding = &self.encoding;
        let mut execution = assembly.execution.clone();
        for (event, &u) in execution.events.iter_mut().zip(&assembly.universe) {
            let value = &encoding.values[encoding.skeleton.events[u].value];
            event.value = value.read(&encoding.sat).unwrap_or_default();
        }
        execution
    }

    fn witness(&self, assembly: &Assembly) -> Witness {
        let encoding = &self.encoding;
        let outcome = encoding.outputs.iter().map(|output| output.read(&encoding.sat).unwrap_or(0)).collect();
        Witness { execution: self.with_values(assembly), outcome, leaves: assembly.leaves.clone() }
    }
}

/// The choices behind a derivation.
#[derive(Default)]
struct Reason {
    /// Literals of chosen edges.
    chosen: Vec<Lit>,
    /// Events that happen because of those.
    implied: Vec<usize>,
    /// Events that must happen besides, or the leaf in which a thread must end.
    needed: Vec<(Option<(usize, usize)>, usize)>,
    /// The paths of all threads are a reason: there are no other events.
    all_paths: bool,
}
