//! A thin layer over the SAT solver: literals, clauses, small circuits.

use crate::until::Until;
use batsat::{BasicCallbacks, BasicSolver, SolverInterface, lbool};

pub(super) use batsat::Lit;

/// What a call of the solver found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is a model; [`Sat::is_true`] reads it.
    Yes,
    /// There is none.
    No,
    /// The time was up.
    Unknown,
}

/// Most literals of the clauses of an encoding: some 2 GB of solver.
const MAX_LITERALS: usize = 64 << 20;

/// A solver with a literal that is always true.
pub(super) struct Sat {
    solver: BasicSolver,
    yes: Lit,
    buffer: Vec<Lit>,
    until: Until,
    /// Clauses and literals so far.
    clauses: usize,
    literals: usize,
    late: bool,
}

impl Sat {
    /// A solver that gives up.
    pub(super) fn new(until: Until) -> Self {
        let mut callbacks = BasicCallbacks::new();
        let stop = until.clone();
        callbacks.set_stop(move || stop.is_over());
        let mut solver = BasicSolver::new(batsat::SolverOpts::default(), callbacks);
        let yes = Lit::new(solver.new_var_default(), true);
        solver.add_clause_reuse(&mut vec![yes]);
        Self { solver, yes, buffer: Vec::new(), until, clauses: 0, literals: 0, late: false }
    }

    /// More clauses than there is memory for. None are added any more; what is asked then means nothing.
    pub(super) fn full(&self) -> bool {
        self.literals > MAX_LITERALS
    }

    /// The time was up while clauses were added, or there are too many: whoever adds more may as well stop.
    pub(super) fn stopped(&self) -> bool {
        self.late || self.full()
    }

    pub(super) fn yes(&self) -> Lit {
        self.yes
    }

    pub(super) fn no(&self) -> Lit {
        !self.yes
    }

    /// The literal that is always true or always false.
    pub(super) fn constant(&self, value: bool) -> Lit {
        if value { self.yes } else { !self.yes }
    }

    /// A new variable; the solver tries it false first, and fewer edges violate fewer axioms.
    pub(super) fn fresh(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    /// A new variable that follows from others: the solver never has to decide it.
    pub(super) fn derived(&mut self) -> Lit {
        Lit::new(self.solver.new_var(lbool::UNDEF, false), true)
    }

    pub(super) fn clause(&mut self, literals: &[Lit]) {
        self.clauses += 1;
        if self.clauses.is_multiple_of(1024) && self.until.is_over() {
            self.late = true;
        }
        if literals.contains(&self.yes) || self.full() {
            return;
        }
        self.literals += literals.len() + 1;
        self.buffer.clear();
        let no = self.no();
        self.buffer.extend(literals.iter().copied().filter(|&l| l != no));
        self.solver.add_clause_reuse(&mut self.buffer);
    }

    /// `all of from` implies `to`.
    pub(super) fn implies(&mut self, from: &[Lit], to: Lit) {
        let clause: Vec<Lit> = from.iter().map(|&l| !l).chain([to]).collect();
        self.clause(&clause);
    }

    /// A literal that is true exactly if all are.
    pub(super) fn and(&mut self, literals: &[Lit]) -> Lit {
        let mut inputs: Vec<Lit> = literals.iter().copied().filter(|&l| l != self.yes).collect();
        inputs.sort_unstable();
        inputs.dedup();
        if inputs.contains(&self.no()) || inputs.iter().any(|l| inputs.contains(&!*l)) {
            return self.no();
        }
        match inputs.as_slice() {
            [] => self.yes,
            [one] => *one,
            _ => {
                let out = self.derived();
                self.implies(&inputs, out);
                for &l in &inputs {
                    self.clause(&[!out, l]);
                }
                out
            }
        }
    }

    /// A literal that is true exactly if one of them is.
    pub(super) fn or(&mut self, literals: &[Lit]) -> Lit {
        let negated: Vec<Lit> = literals.iter().map(|&l| !l).collect();
        !self.and(&negated)
    }

    /// At most one is true.
    pub(super) fn at_most_one(&mut self, literals: &[Lit]) {
        if literals.len() <= 6 {
            for (i, &a) in literals.iter().enumerate() {
                for &b in &literals[i + 1..] {
                    self.clause(&[!a, !b]);
                }
            }
            return;
        }
        // Split, with a literal for each half.
        let (left, right) = literals.split_at(literals.len() / 2);
        let side = self.derived();
        for &l in left {
            self.clause(&[!l, side]);
        }
        for &l in right {
            self.clause(&[!l, !side]);
        }
        self.at_most_one(left);
        self.at_most_one(right);
    }

    /// Literals for "at least 1", "at least 2", ... of the inputs.
    pub(super) fn count(&mut self, inputs: &[Lit]) -> Vec<Lit> {
        let mut counts: Vec<Lit> = Vec::new();
        for &input in inputs {
            let mut next = Vec::with_capacity(counts.len() + 1);
            for k in 0..=counts.len() {
                let below = if k == 0 { self.yes } else { counts[k - 1] };
                let carried = self.and(&[below, input]);
                let here = counts.get(k).copied().unwrap_or(self.no());
                next.push(self.or(&[here, carried]));
            }
            counts = next;
        }
        counts
    }

    /// Looks for a model in which the assumptions hold.
    pub(super) fn solve(&mut self, assumptions: &[Lit]) -> Answer {
        if !self.solver.is_ok() {
            return Answer::No;
        }
        let result = self.solver.solve_limited(assumptions);
        if result == lbool::TRUE {
            Answer::Yes
        } else if result == lbool::FALSE {
            Answer::No
        } else {
            Answer::Unknown
        }
    }

    /// The value of a literal in the model found last.
    pub(super) fn is_true(&self, literal: Lit) -> bool {
        self.solver.value_lit(literal) == lbool::TRUE
    }

    /// Variables, clauses and conflicts so far.
    pub(super) fn statistics(&self) -> (u64, u64, u64) {
        (u64::from(self.solver.num_vars()), self.solver.num_clauses(), self.solver.num_conflicts())
    }
}
