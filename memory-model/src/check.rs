//! The front door: one test, one property, one verdict.

use crate::cat::CatModel;
use crate::explain::{Cut, Shown};
use crate::explore::Search;
use crate::explore::engine::{Effort, Engine, Found, Witness};
use crate::explore::lasso::{Endless, endless};
use crate::explore::scheduler::Scheduler;
use crate::model::{Axiom, Model, ModelName, Races};
use crate::program::{Litmus, Quantifier};
use crate::skeleton::{Leaf, Skeleton, TooLarge, Unrolling};
use crate::until::{Interrupt, Until};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// What is asked about a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Property {
    /// The assertion as it is written.
    #[default]
    Assertion,
    /// No fair execution runs for ever.
    Termination,
    /// No consistent execution has a data race (PTX ISA 8.7.1).
    Races,
    /// No thread waits for ever at a barrier that others have left or never reach.
    BarrierDivergence,
}

impl Property {
    /// The spelling on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Property::Assertion => "assertion",
            Property::Termination => "termination",
            Property::Races => "races",
            Property::BarrierDivergence => "barrier-divergence",
        }
    }

    /// All of them.
    pub const ALL: [Property; 4] =
        [Property::Assertion, Property::Termination, Property::Races, Property::BarrierDivergence];
}

impl FromStr for Property {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|p| p.as_str() == s).ok_or_else(|| {
            format!("unknown property `{s}`; one of assertion, termination, races, barrier-divergence")
        })
    }
}

/// Where exploration gives up; the verdict is then unknown and says which limit was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Events that the unrolled threads may have in all, at most 1024.
    pub events: usize,
    /// Path segments that the unrolled threads may have in all.
    pub segments: usize,
    /// Time for the whole check.
    pub time: Option<Duration>,
    /// Outcomes that are listed.
    pub outcomes: usize,
    /// Executions that are counted.
    pub executions: u64,
    /// Rejected candidates that an explanation shows.
    pub cuts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { events: 1024, segments: 20_000, time: None, outcomes: 10_000, executions: 10_000, cuts: 16 }
    }
}

/// How a test is to be checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Under which model.
    pub model: ModelName,
    /// A model from a file, instead.
    pub file: Option<Arc<CatModel>>,
    /// What is asked.
    pub property: Property,
    /// Which threads are sure to go on, where termination is asked. Another scheduler than the one that is weakly fair to
    /// all is decided by sequentially consistent states: what never ends among them never ends under any model, and
    /// that all of them end is the answer for sequential consistency, and for programs of one location.
    pub scheduler: Scheduler,
    /// How often a loop body may be entered. `None` tries 1, 2, 4 and 8 until the verdict no longer depends
    /// on it. Iterations that change nothing do not count.
    pub bound: Option<u32>,
    /// List the outcomes: the values that the observed registers and locations can have together.
    pub outcomes: bool,
    /// Count the executions behind each outcome.
    pub count: bool,
    /// Give an execution for what is possible, and what cuts each candidate for what is not.
    pub explain: bool,
    /// Where to give up.
    pub limits: Limits,
    /// Gives up soon after this becomes true.
    pub interrupt: Option<Interrupt>,
}

/// One outcome.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// Values of [`Verdict::observables`].
    pub values: Vec<i64>,
    /// Whether the assertion's condition holds of it.
    pub satisfies: bool,
    /// Consistent executions that show it, if they were counted: combinations of paths, reads-from, and
    /// orders of morally strong writes and of fences.
    pub executions: Option<u64>,
}

/// The class of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RaceClass {
    /// Partial overlap: the model says nothing about the program.
    MixedSize,
    /// Two proxies, or two virtual aliases, without the fence between them.
    Proxy,
    /// Both accesses are strong, but a scope does not include the other thread.
    Scope,
    /// One access is weak.
    WeakStrong,
    /// Both accesses are weak.
    Weak,
}

impl RaceClass {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            RaceClass::MixedSize => "mixed-size",
            RaceClass::Proxy => "proxy",
            RaceClass::Scope => "insufficient scope",
            RaceClass::WeakStrong => "weak against strong",
            RaceClass::Weak => "weak against weak",
        }
    }
}

/// A race found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Race {
    /// Its class.
    pub class: RaceClass,
    /// The two accesses: number of the thread, line, text.
    pub accesses: [(u32, u32, String); 2],
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether the assertion as written, or the property, holds. `None` if that could not be decided, or if
    /// the model leaves the program undefined; [`Verdict::reason`] says which.
    pub holds: Option<bool>,
    /// The answer in a word or two: `allowed`, `forbidden`, `always`, `not always`; `terminates`, `may run for
    /// ever`; `race-free`, `racy`; `converges`, `diverges`; `undefined`, `unknown`.
    pub verdict: &'static str,
    /// Why the verdict is unknown or undefined, or what it depends on.
    pub reason: Option<String>,
    /// Names of the observed registers and locations.
    pub observables: Vec<String>,
    /// The outcomes, ascending, if they were asked for.
    pub outcomes: Vec<Outcome>,
    /// Whether all outcomes are there (and all executions counted).
    pub outcomes_complete: bool,
    /// An execution that decides the verdict, if there is one and explanations were asked for.
    pub witness: Option<Shown>,
    /// What cuts the candidates that would decide it otherwise, if explanations were asked for.
    pub cuts: Vec<Cut>,
    /// The race found.
    pub race: Option<Race>,
    /// The loop bound that was used.
    pub bound: u32,
    /// How much work it was.
    pub effort: Effort,
}

impl Verdict {
    fn unknown(reason: String) -> Self {
        Self {
            holds: None,
            verdict: "unknown",
            reason: Some(reason),
            observables: Vec::new(),
            outcomes: Vec::new(),
            outcomes_complete: false,
            witness: None,
            cuts: Vec::new(),
            race: None,
            bound: 0,
            effort: Effort::default(),
        }
    }
}

/// Checks a test.
pub fn check(litmus: &Litmus, options: &Options) -> Verdict {
    let until = Until::new(options.limits.time, options.interrupt.clone());
    let bounds = options.bound.map_or_else(|| vec![1, 2, 4, 8], |b| vec![b]);
    let mut last: Option<Verdict> = None;
    for bound in bounds {
        let first = last.is_none();
        let model = options.file.as_ref().map_or_else(|| options.model.model(), |file| file.model().clone());
        let checker = Checker { litmus, options, model, bound, first, until: until.clone() };
        let (verdict, retry) = checker.run();
        if !retry {
            return verdict;
        }
        last = Some(verdict);
    }
    last.unwrap_or_else(|| Verdict::unknown("no loop bound".to_owned()))
}

/// Events that are counted at most to say what a search would have needed.
const COUNTED_EVENTS: usize = 1 << 12;

/// `once`, `3 times`
fn times(bound: u32) -> String {
    if bound == 1 { "once".to_owned() } else { format!("{bound} times") }
}

struct Checker<'a> {
    litmus: &'a Litmus,
    options: &'a Options,
    model: Model,
    bound: u32,
    /// No smaller bound was tried before.
    first: bool,
    until: Until,
}

/// Why a check ends without an answer.
enum Stop {
    TooLarge(String),
    Time,
}

impl From<TooLarge> for Stop {
    fn from(TooLarge(what): TooLarge) -> Self {
        Stop::TooLarge(what)
    }
}

impl Checker<'_> {
    /// The verdict, and whether a larger bound could decide what this one did not.
    fn run(&self) -> (Verdict, bool) {
        let mut verdict = Verdict::unknown(String::new());
        verdict.bound = self.bound;
        verdict.reason = None;
        verdict.observables =
            self.litmus.observables().iter().map(|&v| self.litmus.observable_name(v)).collect();
        match self.decide(&mut verdict) {
            Ok(retry) => (verdict, retry),
            Err(stop) => {
                verdict.holds = None;
                verdict.verdict = "unknown";
                verdict.reason = Some(match stop {
                    Stop::TooLarge(what) => {
                        let size = self.size(self.bound);
                        format!("too large: {what}; with loops entered {} it has {size}", times(self.bound))
                    }
                    Stop::Time if self.until.is_interrupted() => self.over().to_owned(),
                    Stop::Time => {
                        let size = self.size(self.bound);
                        format!("{}, at a loop bound of {} with {size}", self.over(), self.bound)
                    }
                });
                (verdict, false)
            }
        }
    }

    /// Why it gave up.
    fn over(&self) -> &'static str {
        if self.until.is_interrupted() { "the check was interrupted" } else { "the time limit was reached" }
    }

    /// What there is to explore at a loop bound, for whoever has met a limit.
    fn size(&self, bound: u32) -> String {
        let unrolling = Unrolling { bound, max_events: COUNTED_EVENTS, ..self.unrolling(0) };
        match Skeleton::new(&self.litmus.program, &self.litmus.observables(), unrolling) {
            Ok(skeleton) => format!("{} events", skeleton.events.len()),
            Err(TooLarge(what)) => what,
        }
    }

    fn unrolling(&self, idle_iterations: u32) -> Unrolling {
        Unrolling {
            bound: self.bound,
            idle_iterations,
            failed_cas_writes: self.model.failed_cas_writes,
            outcomes: matches!(self.options.property, Property::Assertion | Property::Races),
            max_events: self.options.limits.events.min(1024),
            max_nodes: self.options.limits.segments,
        }
    }

    fn skeleton(&self, idle_iterations: u32) -> Result<Skeleton, TooLarge> {
        Skeleton::new(&self.litmus.program, &self.litmus.observables(), self.unrolling(idle_iterations))
    }

    fn engine<'s>(&'s self, skeleton: &'s Skeleton, search: Search) -> Result<Engine<'s>, TooLarge> {
        Engine::new(self.litmus, skeleton, &self.model, search, self.until.clone())
    }

    fn found(&self, found: Found) -> Result<Option<Box<Witness>>, Stop> {
        match found {
            Found::Witness(witness) => Ok(Some(witness)),
            Found::Nothing => Ok(None),
            Found::TimeOut => Err(Stop::Time),
        }
    }

    fn decide(&self, verdict: &mut Verdict) -> Result<bool, Stop> {
        if self.until.is_interrupted() {
            return Err(Stop::Time);
        }
        if self.litmus.source && self.options.file.is_none() {
            let model = "a test in the source dialect asks a model of it: `--model FILE.cat` that includes scoped-rc11.cat";
            verdict.reason = Some(model.to_owned());
            return Ok(false);
        }
        // A racing access may be that of an iteration that changes nothing.
        let idle = u32::from(self.options.property == Property::Races);
        let skeleton = self.skeleton(idle)?;
        if skeleton.mixed_size
            && self.options.property != Property::Races
            && let Some(race) = self.mixed_size_race(verdict)?
        {
            verdict.verdict = "undefined";
            verdict.reason = Some(format!(
                "a mixed-size race between P{} line {} and P{} line {}: the axioms do not apply (8.7.2)",
                race.accesses[0].0, race.accesses[0].1, race.accesses[1].0, race.accesses[1].1
            ));
            verdict.race = Some(race);
            return Ok(false);
        }
        if self.has_leaf(&skeleton, |l| *l == Leaf::Fault) {
            let mut engine = self.engine(&skeleton, Search::Fault)?;
            if self.found(engine.find())?.is_some() {
                verdict.verdict = "undefined";
                verdict.reason = Some("a register used as an address may hold no address".to_owned());
                return Ok(false);
            }
        }
        let decided = match self.options.property {
            Property::Assertion => self.assertion(&skeleton, verdict)?,
            Property::Termination if !self.options.scheduler.is_weakly_fair() => {
                self.scheduled(&skeleton, verdict)?;
                return Ok(false);
            }
            Property::Termination => {
                self.stuck(&skeleton, verdict, Search::Stuck, ["terminates", "may run for ever"])?
            }
            Property::BarrierDivergence => {
                self.stuck(&skeleton, verdict, Search::Divergence, ["converges", "diverges"])?
            }
            Property::Races => self.races(&skeleton, verdict)?,
        };
        if decided || !self.has_leaf(&skeleton, |l| *l == Leaf::Cut) {
            return Ok(false);
        }
        let mut engine = self.engine(&skeleton, Search::Cut)?;
        if self.found(engine.find())?.is_some() {
            if self.options.property == Property::Termination && self.first {
                match endless(&self.litmus.program, &skeleton, Scheduler::default(), &self.until) {
                    Endless::Cycle(cycle) => {
                        (verdict.holds, verdict.verdict) = (Some(false), "may run for ever");
                        verdict.reason = Some(cycle.to_string());
                        return Ok(false);
                    }
                    Endless::None if self.is_sequential(&skeleton) => return Ok(false),
                    Endless::None | Endless::Unknown(_) => {}
                }
            }
            verdict.holds = None;
            verdict.verdict = "unknown";
            verdict.outcomes_complete = false;
            let more = self.bound.saturating_mul(2);
            verdict.reason = Some(format!(
                "nothing was found within the loop bound of {} ({}), but loops can run longer; --bound {more} has {}",
                self.bound,
                self.size(self.bound),
                self.size(more)
            ));
            return Ok(true);
        }
        Ok(false)
    }

    fn has_leaf(&self, skeleton: &Skeleton, which: fn(&Leaf) -> bool) -> bool {
        skeleton.trees.iter().flat_map(|t| &t.nodes).any(|n| n.leaf.as_ref().is_some_and(which))
    }

    /// Decides the assertion; true if an execution was found that settles it whatever the loop bound.
    fn assertion(&self, skeleton: &Skeleton, verdict: &mut Verdict) -> Result<bool, Stop> {
        let Some(assertion) = &self.litmus.assertion else {
            verdict.reason = Some("the test has no assertion".to_owned());
            if self.options.outcomes {
                self.listed(skeleton, verdict)?;
            }
            return Ok(true);
        };
        let wanted = assertion.quantifier != Quantifier::Forall;
        let mut engine = self.engine(skeleton, Search::Complete)?;
        if self.options.explain {
            engine.keep_rejected(self.options.limits.cuts);
        }
        let witness = self.found(engine.find_with(&assertion.cond, wanted))?;
        let settled = witness.is_some();
        verdict.holds = Some(settled == (assertion.quantifier == Quantifier::Exists));
        verdict.verdict = match (assertion.quantifier, settled) {
            (Quantifier::Exists | Quantifier::NotExists, true) => "allowed",
            (Quantifier::Exists | Quantifier::NotExists, false) => "forbidden",
            (Quantifier::Forall, true) => "not always",
            (Quantifier::Forall, false) => "always",
        };
        verdict.effort = engine.effort();
        if self.options.explain {
            self.explain(&engine, witness.as_deref(), verdict);
        }
        if !settled && assertion.quantifier == Quantifier::Forall {
            let mut any = self.engine(skeleton, Search::Complete)?;
            if self.found(any.find())?.is_none() {
                verdict.reason = Some("no execution ends with all threads done".to_owned());
            }
        }
        if self.options.outcomes {
            self.listed(skeleton, verdict)?;
        }
        Ok(settled)
    }

    fn explain(&self, engine: &Engine<'_>, witness: Option<&Witness>, verdict: &mut Verdict) {
        match witness {
            Some(w) => verdict.witness = Some(Shown::new(self.litmus, &self.model, &w.execution)),
            None => {
                verdict.cuts = engine
                    .rejected()
                    .iter()
                    .filter_map(|r| Cut::new(self.litmus, engine.compiled(), r))
                    .collect();
            }
        }
    }

    /// Lists the outcomes. That the time does not last for all of them leaves the verdict as it is.
    fn listed(&self, skeleton: &Skeleton, verdict: &mut Verdict) -> Result<(), Stop> {
        match self.outcomes(skeleton, verdict) {
            Err(Stop::Time) => {
                verdict.outcomes.sort();
                verdict.outcomes_complete = false;
                verdict.reason = Some(format!("{} before all outcomes were listed", self.over()));
                Ok(())
            }
            other => other,
        }
    }

    fn outcomes(&self, skeleton: &Skeleton, verdict: &mut Verdict) -> Result<(), Stop> {
        let observed = self.litmus.observables();
        let mut engine = self.engine(skeleton, Search::Complete)?;
        verdict.outcomes_complete = true;
        while let Some(witness) = self.found(engine.find())? {
            if verdict.outcomes.len() >= self.options.limits.outcomes {
                verdict.outcomes_complete = false;
                break;
            }
            let value = |v| observed.iter().position(|&o| o == v).map_or(0, |i| witness.outcome[i]);
            let satisfies = self.litmus.assertion.as_ref().is_some_and(|a| a.cond.eval(&value));
            engine.exclude_outcome(&witness.outcome);
            verdict.outcomes.push(Outcome { values: witness.outcome, satisfies, executions: None });
            if observed.is_empty() {
                break;
            }
        }
        verdict.outcomes.sort();
        if self.options.count {
            self.count(skeleton, verdict)?;
        }
        Ok(())
    }

    /// Counts the executions of each outcome.
    fn count(&self, skeleton: &Skeleton, verdict: &mut Verdict) -> Result<(), Stop> {
        let mut engine = Engine::for_counting(self.litmus, skeleton, &self.model, self.until.clone())?;
        let mut total = 0;
        while let Some(witness) = self.found(engine.find())? {
            total += 1;
            if total > self.options.limits.executions {
                verdict.outcomes_complete = false;
                break;
            }
            engine.exclude_execution();
            if let Some(outcome) = verdict.outcomes.iter_mut().find(|o| o.values == witness.outcome) {
                *outcome.executions.get_or_insert(0) += 1;
            }
        }
        Ok(())
    }

    /// Looks for an execution that never ends; true if there is one.
    fn stuck(
        &self,
        skeleton: &Skeleton,
        verdict: &mut Verdict,
        search: Search,
        names: [&'static str; 2],
    ) -> Result<bool, Stop> {
        let mut engine = self.engine(skeleton, search)?;
        let witness = self.found(engine.find())?;
        verdict.holds = Some(witness.is_none());
        verdict.verdict = names[usize::from(witness.is_some())];
        verdict.effort = engine.effort();
        if self.options.explain {
            self.explain(&engine, witness.as_deref(), verdict);
        }
        Ok(witness.is_some())
    }

    /// Looks for an execution that a scheduler lets go on for ever.
    fn scheduled(&self, skeleton: &Skeleton, verdict: &mut Verdict) -> Result<(), Stop> {
        let program = &self.litmus.program;
        match endless(program, skeleton, self.options.scheduler, &self.until) {
            Endless::Cycle(cycle) => {
                (verdict.holds, verdict.verdict) = (Some(false), "may run for ever");
                verdict.reason = Some(cycle.to_string());
            }
            Endless::None if self.is_sequential(skeleton) => {
                (verdict.holds, verdict.verdict) = (Some(true), "terminates");
            }
            Endless::None => {
                let weaker = "it terminates under sequential consistency; weaker executions are not searched";
                verdict.reason = Some(weaker.to_owned());
            }
            Endless::Unknown(_) if self.until.is_over() => return Err(Stop::Time),
            Endless::Unknown(why) => verdict.reason = Some(why.to_owned()),
        }
        Ok(())
    }

    /// Whether all executions are sequentially consistent: by the model, or because there is one location, accessed
    /// morally strongly.
    fn is_sequential(&self, skeleton: &Skeleton) -> bool {
        if self.options.file.is_some() {
            return false;
        }
        if self.options.model == ModelName::Sc {
            return true;
        }
        let accesses = skeleton.events.iter().filter(|e| e.event.thread.is_some() && e.event.is_memory());
        let accesses: Vec<_> = accesses.map(|e| &e.event).collect();
        let strong_together = |a: &crate::event::Event, b: &crate::event::Event| match (a.thread, b.thread) {
            (Some(ta), Some(tb)) => {
                let common = skeleton.common_scope[ta][tb];
                let reaches = |e: &crate::event::Event| e.scope.is_some_and(|scope| common <= scope);
                ta == tb || a.is_strong() && b.is_strong() && reaches(a) && reaches(b)
            }
            _ => false,
        };
        accesses.iter().enumerate().all(|(at, a)| {
            accesses[..at].iter().all(|b| a.cell == b.cell && a.proxy == b.proxy && strong_together(a, b))
        })
    }

    /// Looks for an execution that raises a flag of the model.
    fn flags(&self, skeleton: &Skeleton, flags: &[Axiom], verdict: &mut Verdict) -> Result<bool, Stop> {
        verdict.holds = Some(true);
        verdict.verdict = "race-free";
        for flag in flags {
            let mut model = self.model.clone();
            model.axioms.push(flag.clone());
            let mut engine =
                Engine::new(self.litmus, skeleton, &model, Search::Complete, self.until.clone())?;
            let witness = self.found(engine.find())?;
            verdict.effort = engine.effort();
            if let Some(witness) = witness {
                verdict.holds = Some(false);
                verdict.verdict = "racy";
                verdict.reason = Some(format!("an execution raises the flag `{}`", flag.name));
                if self.options.explain {
                    self.explain(&engine, Some(&witness), verdict);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn races(&self, skeleton: &Skeleton, verdict: &mut Verdict) -> Result<bool, Stop> {
        match &self.model.races {
            Races::Unordered => {}
            Races::Flags(flags) => return self.flags(skeleton, flags, verdict),
            Races::Undefined(why) => {
                verdict.verdict = "unknown";
                verdict.reason = Some(why.clone());
                return Ok(true);
            }
        }
        let mut engine = self.engine(skeleton, Search::Race)?;
        let witness = self.found(engine.find())?;
        verdict.holds = Some(witness.is_none());
        verdict.verdict = if witness.is_some() { "racy" } else { "race-free" };
        verdict.race = witness.as_deref().and_then(|w| self.race(w));
        verdict.effort = engine.effort();
        if self.options.explain {
            self.explain(&engine, witness.as_deref(), verdict);
        }
        Ok(witness.is_some())
    }

    fn mixed_size_race(&self, verdict: &mut Verdict) -> Result<Option<Race>, Stop> {
        let skeleton = self.skeleton(1)?;
        let mut engine = self.engine(&skeleton, Search::Race)?;
        engine.only_mixed_size_races();
        let witness = self.found(engine.find())?;
        verdict.effort = engine.effort();
        Ok(witness.as_deref().and_then(|w| self.race(w)))
    }

    /// The race of a witness of [`Search::Race`].
    fn race(&self, witness: &Witness) -> Option<Race> {
        let x = &witness.execution;
        let &(a, b) = x.race.first()?;
        let (ea, eb) = (&x.events[a], &x.events[b]);
        let (ca, cb) = (ea.cell?, eb.cell?);
        let class = if ca.address != cb.address || ea.proxy != eb.proxy {
            RaceClass::Proxy
        } else if ca.access != cb.access {
            RaceClass::MixedSize
        } else {
            match (ea.is_strong(), eb.is_strong()) {
                (true, true) => RaceClass::Scope,
                (false, false) => RaceClass::Weak,
                _ => RaceClass::WeakStrong,
            }
        };
        let access = |e: &crate::event::Event| {
            let thread = e.thread.and_then(|t| self.litmus.program.threads.get(t));
            let instr = thread.and_then(|t| t.code.get(e.instr));
            (
                thread.map_or(0, |t| t.id),
                instr.map_or(0, |i| i.line),
                instr.map_or_else(String::new, |i| i.text.clone()),
            )
        };
        Some(Race { class, accesses: [access(ea), access(eb)] })
    }
}
