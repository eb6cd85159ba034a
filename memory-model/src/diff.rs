//! Where two models differ: the smallest programs of which one allows an outcome that the other forbids.
//!
//! All programs up to a bound are looked at, each once up to the names of threads and locations. A program counts if
//! every location is shared by an access that writes it, every fence stands between accesses, and no program that
//! has one instruction less shows a difference already.

use crate::check::{Options, check};
use crate::litmus::parse;
use crate::program::Scope;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How far to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Instructions of a program.
    pub instructions: usize,
    /// Threads of a program, at most 4.
    pub threads: usize,
    /// Locations of a program, at most 4.
    pub locations: usize,
    /// Scopes of its instructions. With `cta` among them threads stand in one block or in several.
    pub scopes: Vec<Scope>,
    /// [`Kind`]s of instructions that programs do not have.
    pub without: Vec<Kind>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { instructions: 4, threads: 2, locations: 2, scopes: vec![Scope::Gpu], without: Vec::new() }
    }
}

/// A kind of instruction, as classes of differences call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(&'static str);

impl Kind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Kind> {
        FORMS.iter().enumerate().filter_map(|(at, form)| {
            let is_first = FORMS[..at].iter().all(|before| before.kind != form.kind);
            is_first.then_some(Kind(form.kind))
        })
    }

    /// The kind of this name: that of the class without blanks, `cas` for a cas that fails.
    ///
    /// ```
    /// use memory_model::diff::Kind;
    /// assert!(Kind::named("fence.sc").is_some() && Kind::named("cas").is_some());
    /// assert_eq!(Kind::named("cas that fails"), None);
    /// ```
    pub fn named(name: &str) -> Option<Kind> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.split(' ').next().unwrap_or(self.0)
    }
}

/// What an instruction of a program can be.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    /// Opcode; `@` stands for the scope.
    opcode: &'static str,
    reads: bool,
    writes: bool,
    /// What classes of differences call it.
    kind: &'static str,
}

const fn form(opcode: &'static str, reads: bool, writes: bool, kind: &'static str) -> Form {
    Form { opcode, reads, writes, kind }
}

/// The instructions of programs: accesses, then fences.
const FORMS: [Form; 14] = [
    form("ld.weak", true, false, "ld"),
    form("st.weak", false, true, "st"),
    form("ld.relaxed@", true, false, "ld"),
    form("st.relaxed@", false, true, "st"),
    form("ld.acquire@", true, false, "ld"),
    form("st.release@", false, true, "st"),
    form("atom.relaxed@.exch", true, true, "atom"),
    form("atom.acq_rel@.exch", true, true, "atom"),
    form("atom.relaxed@.cas", true, true, "cas that fails"),
    form("red.relaxed@.add", false, true, "red"),
    form("red.release@.add", false, true, "red"),
    form("fence.acq_rel@", false, false, "fence.acq_rel"),
    form("fence.sc@", false, false, "fence.sc"),
    form("bar.cta.sync 0", false, false, "bar.sync"),
];

/// One instruction: its form, and which scope and location it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Step {
    form: u8,
    scope: u8,
    location: u8,
}

impl Step {
    fn form(self) -> &'static Form {
        &FORMS[usize::from(self.form)]
    }

    fn accesses(self) -> bool {
        self.form().reads || self.form().writes
    }
}

/// A program: what each thread does, and the block it runs in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program {
    threads: Vec<(u8, Vec<Step>)>,
    scopes: Vec<Scope>,
}

/// An outcome that one model allows and the other forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The program, as a litmus test that asks for the outcome.
    pub text: String,
    /// Whether the first of the two models allows it.
    pub first_allows: bool,
    /// The axiom by which the other one forbids it.
    pub axiom: String,
    /// What the other one says of it.
    pub why: String,
    /// The kinds of instructions in it other than loads and stores, in order.
    pub kinds: Vec<&'static str>,
}

const LOCATIONS: [&str; 4] = ["x", "y", "z", "w"];

impl Program {
    /// The program as a litmus test without a question; every register and location is observed.
    pub fn text(&self, question: &str) -> String {
        let locations = self.locations();
        let initial: String = (0..locations).map(|l| format!(" {}=0;", LOCATIONS[l])).collect();
        let mut observed: Vec<String> = LOCATIONS[..locations].iter().map(|&l| l.to_owned()).collect();
        let mut columns: Vec<Vec<String>> = Vec::new();
        let mut value = 0;
        for (thread, (block, steps)) in self.threads.iter().enumerate() {
            let mut column = vec![format!("P{thread}@cta {block},gpu 0")];
            let mut registers = 0;
            for step in steps {
                let form = step.form();
                let scope = self.scopes[usize::from(step.scope)];
                let mut line = form.opcode.replace('@', &format!(".{}", scope.text()));
                let mut operands = Vec::new();
                if form.reads {
                    operands.push(format!("r{registers}"));
                    observed.push(format!("{thread}:r{registers}"));
                    registers += 1;
                }
                if step.accesses() {
                    operands.push(LOCATIONS[usize::from(step.location)].to_owned());
                }
                if form.opcode.ends_with("cas") {
                    // No value that is ever there.
                    operands.push("-1".to_owned());
                }
                if form.writes {
                    value += 1;
                    operands.push(value.to_string());
                }
                if !operands.is_empty() {
                    line = format!("{line} {}", operands.join(", "));
                }
                column.push(line);
            }
            columns.push(column);
        }
        let mut out = format!("PTX difference\n{{{initial} }}\n{}", crate::litmus::columns(&columns));
        if question.is_empty() {
            let _ = writeln!(out, "locations [{}]", observed.join("; "));
        } else {
            let _ = writeln!(out, "{question}");
        }
        out
    }

    fn locations(&self) -> usize {
        let all = self.threads.iter().flat_map(|(_, steps)| steps).filter(|s| s.accesses());
        all.map(|s| usize::from(s.location) + 1).max().unwrap_or(0)
    }

    /// Locations and blocks numbered as they first occur.
    fn renamed(mut self) -> Self {
        let (mut locations, mut blocks) = (Vec::new(), Vec::new());
        let number = |of: u8, known: &mut Vec<u8>| {
            let at = known.iter().position(|&k| k == of).unwrap_or_else(|| {
                known.push(of);
                known.len() - 1
            });
            at as u8
        };
        for (block, steps) in &mut self.threads {
            *block = number(*block, &mut blocks);
            for step in steps.iter_mut().filter(|s| s.accesses()) {
                step.location = number(step.location, &mut locations);
            }
        }
        self
    }

    /// The least of the programs that differ from this one by the order of threads and by names.
    fn canonical(&self) -> Self {
        let mut least: Option<Self> = None;
        permutations(self.threads.len(), &mut |order| {
            let threads = order.iter().map(|&t| self.threads[t].clone()).collect();
            let program = Self { threads, scopes: self.scopes.clone() }.renamed();
            if least.as_ref().is_none_or(|known| program < *known) {
                least = Some(program);
            }
        });
        least.unwrap_or_else(|| self.clone())
    }

    /// Whether each location is shared and written, each thread shares one, and fences stand between accesses.
    fn counts(&self) -> bool {
        let accesses = |location: usize, thread: usize| {
            self.threads[thread].1.iter().filter(move |s| s.accesses() && usize::from(s.location) == location)
        };
        let threads = 0..self.threads.len();
        let shared = (0..self.locations()).all(|l| {
            let users = threads.clone().filter(|&t| accesses(l, t).next().is_some()).count();
            let written = threads.clone().any(|t| accesses(l, t).any(|s| s.form().writes));
            let times: usize = threads.clone().map(|t| accesses(l, t).count()).sum();
            written && times > 1 && (users > 1 || self.threads.len() == 1)
        });
        let fenced = self.threads.iter().all(|(_, steps)| {
            let plain = |s: Option<&Step>| s.is_some_and(|s| s.accesses() || s.form().kind == "bar.sync");
            plain(steps.first()) && plain(steps.last())
        });
        // A barrier takes all threads of a block, or it has nobody to wait for.
        let barriers = |steps: &[Step]| steps.iter().filter(|s| s.form().kind == "bar.sync").count();
        let waits = self.threads.iter().all(|(block, steps)| {
            let mates = self.threads.iter().filter(|(other, _)| other == block);
            barriers(steps) == 0 || mates.clone().count() > 1 && mates.clone().all(|(_, s)| barriers(s) > 0)
        });
        shared && fenced && waits
    }

    /// The programs with one instruction less.
    fn smaller(&self) -> impl Iterator<Item = Self> + '_ {
        self.threads.iter().enumerate().flat_map(move |(t, (_, steps))| {
            (0..steps.len()).map(move |at| {
                let mut program = self.clone();
                program.threads[t].1.remove(at);
                program.threads.retain(|(_, steps)| !steps.is_empty());
                program.canonical()
            })
        })
    }
}

fn permutations(n: usize, each: &mut dyn FnMut(&[usize])) {
    fn go(order: &mut Vec<usize>, n: usize, each: &mut dyn FnMut(&[usize])) {
        if order.len() == n {
            return each(order);
        }
        for next in (0..n).filter(|i| !order.contains(i)).collect::<Vec<_>>() {
            order.push(next);
            go(order, n, each);
            order.pop();
        }
    }
    go(&mut Vec::new(), n, each);
}

/// All programs of exactly so many instructions, each once up to names.
pub fn programs(bounds: &Bounds, instructions: usize) -> Vec<Program> {
    let mut builder = Builder { bounds, steps: steps(bounds), threads: Vec::new(), out: Vec::new() };
    for threads in 1..=bounds.threads.min(4).min(instructions) {
        builder.thread(threads, instructions, usize::MAX);
    }
    builder.out
}

/// All instructions.
fn steps(bounds: &Bounds) -> Vec<Step> {
    let blocks = bounds.scopes.contains(&Scope::Cta);
    let mut out = Vec::new();
    for (number, form) in FORMS.iter().enumerate() {
        let scoped = form.opcode.contains('@');
        let barrier = form.kind == "bar.sync";
        if barrier && !blocks || bounds.without.contains(&Kind(form.kind)) {
            continue;
        }
        let locations = if form.reads || form.writes { bounds.locations.min(4) } else { 1 };
        for scope in 0..if scoped { bounds.scopes.len() } else { 1 } {
            for location in 0..locations {
                out.push(Step { form: number as u8, scope: scope as u8, location: location as u8 });
            }
        }
    }
    out
}

struct Builder<'b> {
    bounds: &'b Bounds,
    steps: Vec<Step>,
    threads: Vec<(u8, Vec<Step>)>,
    out: Vec<Program>,
}

impl Builder<'_> {
    /// Adds so many more threads with so many instructions in all, none longer than the one before.
    fn thread(&mut self, threads: usize, left: usize, longest: usize) {
        if threads == 0 {
            if left == 0 {
                self.place();
            }
            return;
        }
        for length in 1..=left.min(longest) {
            // The rest must fit behind it.
            if left - length < threads - 1 || left - length > length * (threads - 1) {
                continue;
            }
            self.threads.push((0, Vec::new()));
            self.fill(threads, left, length);
            self.threads.pop();
        }
    }

    fn fill(&mut self, threads: usize, left: usize, length: usize) {
        let at = self.threads.len() - 1;
        let filled = self.threads[at].1.len();
        if filled == length {
            return self.thread(threads - 1, left - length, length);
        }
        // Locations are numbered as they first occur.
        let used = self.threads.iter().flat_map(|(_, s)| s).filter(|s| s.accesses());
        let next = used.map(|s| s.location + 1).max().unwrap_or(0);
        for step in self.steps.clone() {
            let inner = filled > 0 && filled + 1 < length;
            let fence = !step.accesses() && step.form().kind != "bar.sync";
            if step.location > next || (fence && !inner) {
                continue;
            }
            self.threads[at].1.push(step);
            self.fill(threads, left, length);
            self.threads[at].1.pop();
        }
    }

    /// All ways to put the threads into blocks.
    fn place(&mut self) {
        let n = self.threads.len();
        let ways: Vec<Vec<u8>> = match self.bounds.scopes.contains(&Scope::Cta) {
            false => vec![(0..n as u8).collect()],
            true => {
                let mut ways = vec![vec![]];
                for _ in 0..n {
                    ways = ways
                        .iter()
                        .flat_map(|way: &Vec<u8>| {
                            let next = way.iter().max().map_or(0, |b| b + 1);
                            (0..=next).map(move |b| [&way[..], &[b]].concat())
                        })
                        .collect();
                }
                ways
            }
        };
        for way in ways {
            let mut program = Program { threads: self.threads.clone(), scopes: self.bounds.scopes.clone() };
            for (thread, block) in program.threads.iter_mut().zip(way) {
                thread.0 = block;
            }
            if program.counts() && program == program.canonical_among(&program) {
                self.out.push(program);
            }
        }
    }
}

impl Program {
    /// The least program among those with the same lengths of threads in the same order.
    fn canonical_among(&self, like: &Self) -> Self {
        let mut least = like.clone();
        permutations(self.threads.len(), &mut |order| {
            let threads: Vec<_> = order.iter().map(|&t| self.threads[t].clone()).collect();
            let lengths = |threads: &[(u8, Vec<Step>)]| threads.iter().map(|t| t.1.len()).collect::<Vec<_>>();
            if lengths(&threads) != lengths(&self.threads) {
                return;
            }
            let program = Self { threads, scopes: self.scopes.clone() }.renamed();
            if program < least {
                least = program;
            }
        });
        least
    }
}

/// The outcomes of a program; `None` if not all are known.
fn outcomes(program: &Program, options: &Options) -> Option<(Vec<String>, BTreeSet<Vec<i64>>)> {
    let litmus = parse(&program.text("")).ok()?;
    let verdict = check(&litmus, &Options { outcomes: true, explain: false, ..options.clone() });
    let values = verdict.outcomes.into_iter().map(|o| o.values).collect();
    verdict.outcomes_complete.then_some((verdict.observables, values))
}

/// An outcome of a program that one of two models allows and the other forbids: the first one, if there are several.
pub fn difference(program: &Program, models: [&Options; 2]) -> Option<Difference> {
    let (names, first) = outcomes(program, models[0])?;
    let (_, second) = outcomes(program, models[1])?;
    let (first_allows, outcome) = match first.difference(&second).next() {
        Some(outcome) => (true, outcome),
        None => (false, second.difference(&first).next()?),
    };
    let parts: Vec<String> =
        names.iter().zip(outcome).map(|(name, value)| format!("{name} == {value}")).collect();
    let text = program.text(&format!("exists ({})", parts.join(" && ")));
    let forbids = Options { explain: true, ..models[usize::from(first_allows)].clone() };
    let verdict = check(&parse(&text).ok()?, &forbids);
    let cut = verdict.cuts.first();
    let kinds: BTreeSet<&'static str> = program
        .threads
        .iter()
        .flat_map(|(_, steps)| steps)
        .map(|step| step.form().kind)
        .filter(|kind| !matches!(*kind, "ld" | "st"))
        .collect();
    Some(Difference {
        text,
        first_allows,
        axiom: cut.map_or_else(|| "no candidate".to_owned(), |cut| cut.axiom.clone()),
        why: cut.map_or_else(String::new, |cut| cut.text()),
        kinds: kinds.into_iter().collect(),
    })
}

/// Programs that differ, and the search for them by number of instructions.
#[derive(Debug, Clone, Default)]
pub struct Differences {
    known: BTreeSet<Program>,
}

impl Differences {
    /// Whether a program with one instruction less, or several, differs already.
    pub fn covers(&self, program: &Program) -> bool {
        let mut waiting: Vec<Program> = program.smaller().collect();
        let mut seen = BTreeSet::new();
        while let Some(smaller) = waiting.pop() {
            if self.known.contains(&smaller) {
                return true;
            }
            if smaller.threads.iter().map(|t| t.1.len()).sum::<usize>() > 1 && seen.insert(smaller.clone()) {
                waiting.extend(smaller.smaller());
            }
        }
        false
    }

    /// Notes a program that differs.
    pub fn insert(&mut self, program: &Program) {
        self.known.insert(program.canonical());
    }
}

/// Differences of one kind: the smallest one, and how many others are like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// The first that was found.
    pub example: Difference,
    /// How many there are in all.
    pub count: usize,
}

/// Sorts differences, smallest first, by who allows, by which axiom the other forbids, and by what they use.
pub fn classes(differences: Vec<Difference>) -> Vec<Class> {
    let mut index: BTreeMap<(bool, String, Vec<&'static str>), usize> = BTreeMap::new();
    let mut out: Vec<Class> = Vec::new();
    for difference in differences {
        let key = (difference.first_allows, difference.axiom.clone(), difference.kinds.clone());
        match index.get(&key) {
            Some(&at) => out[at].count += 1,
            None => {
                index.insert(key, out.len());
                out.push(Class { example: difference, count: 1 });
            }
        }
    }
    out
}
