//! The engine against an enumerator that shares nothing with it: programs of its own, their events taken from the program's text,
//! and the axioms of the manual's chapter 8 in loops over matrices.
//!
//! `WARPGRIND_FUZZ=100` tries a hundred times as many programs.

use memory_model::model::ModelName;
use memory_model::{Options, check, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use testkit::litmus::Random;

/// Values of the registers and locations that a test observes.
type Outcome = BTreeMap<String, i64>;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Const(i64),
    /// What the thread's instruction with that number read.
    Read(usize),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Change {
    Exchange(Value),
    Add(Value),
    Cas(i64, i64),
}

/// Orders are those of PTX's qualifiers; scopes are 0 to 3: cta, cluster, gpu, sys.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Instruction {
    Load {
        order: &'static str,
        scope: usize,
        location: usize,
    },
    Store {
        order: &'static str,
        scope: usize,
        location: usize,
        value: Value,
    },
    Atomic {
        order: &'static str,
        scope: usize,
        location: usize,
        change: Change,
        reduction: bool,
    },
    Fence {
        order: &'static str,
        scope: usize,
    },
    /// Ends the thread if a read gave this value.
    End {
        read: usize,
        value: i64,
    },
}
use Instruction::{Atomic, End, Fence, Load, Store};

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
const LOCATIONS: [&str; 2] = ["x", "y"];

struct Program {
    /// Device and block of each thread.
    places: Vec<(usize, usize)>,
    threads: Vec<Vec<Instruction>>,
}

fn one<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())]
}

impl Program {
    fn random(random: &mut Random) -> Self {
        let count = 2 + random.below(2);
        let places = (0..count).map(|_| one(random, &[(0, 0), (0, 0), (0, 1), (1, 0)])).collect();
        let length = if count == 2 { 4 } else { 3 };
        let threads = (0..count).map(|_| {
            let mut code: Vec<Instruction> = Vec::new();
            for _ in 0..1 + random.below(length) {
                let reads: Vec<usize> = (0..code.len())
                    .filter(|&at| matches!(code[at], Load { .. } | Atomic { reduction: false, .. }))
                    .collect();
                let value = |random: &mut Random| match reads.last() {
                    Some(_) if random.below(3) == 0 => Value::Read(one(random, &reads)),
                    _ => Value::Const(1 + random.below(2) as i64),
                };
                let (scope, location) = (one(random, &[0, 1, 2, 2, 3]), random.below(2));
                let instruction = match random.below(12) {
                    0..3 => Load {
                        order: one(random, &["weak", "relaxed", "relaxed", "acquire"]),
                        scope,
                        location,
                    },
                    3..6 => {
                        let order = one(random, &["weak", "relaxed", "relaxed", "release"]);
                        Store { order, scope, location, value: value(random) }
                    }
                    6..8 => {
                        let change = match random.below(3) {
                            0 => Change::Exchange(value(random)),
                            1 => Change::Add(value(random)),
                            _ => Change::Cas(random.below(2) as i64, 1 + random.below(2) as i64),
                        };
                        let reduction = matches!(change, Change::Add(_)) && random.below(2) == 0;
                        let order = match reduction {
                            true => one(random, &["relaxed", "release"]),
                            false => one(random, &["relaxed", "acquire", "release", "acq_rel"]),
                        };
                        Atomic { order, scope, location, change, reduction }
                    }
                    8..11 => {
                        Fence { order: one(random, &["sc", "sc", "acq_rel", "acquire", "release"]), scope }
                    }
                    _ if !reads.is_empty() => {
                        End { read: one(random, &reads), value: random.below(2) as i64 }
                    }
                    _ => continue,
                };
                code.push(instruction);
            }
            code
        });
        Self { threads: threads.collect(), places }
    }

    fn reads(&self) -> impl Iterator<Item = (usize, usize)> {
        let reads = |code: &Instruction| matches!(code, Load { .. } | Atomic { reduction: false, .. });
        self.threads.iter().enumerate().flat_map(move |(t, code)| {
            (0..code.len()).filter(move |&at| reads(&code[at])).map(move |at| (t, at)).collect::<Vec<_>>()
        })
    }

    /// The program in the language of litmus tests; register `rN` is what instruction N reads.
    fn text(&self) -> String {
        let value = |value: Value| match value {
            Value::Const(n) => n.to_string(),
            Value::Read(at) => format!("r{at}"),
        };
        let access = |order: &str, scope: usize| match order {
            "weak" => "weak".to_owned(),
            _ => format!("{order}.{}", SCOPES[scope]),
        };
        let columns: Vec<Vec<String>> = (0..)
            .zip(&self.threads)
            .map(|(t, code)| {
                let mut column = vec![format!("P{t}@cta {},gpu {}", self.places[t].1, self.places[t].0)];
                column.extend((0..).zip(code).map(|(at, instruction)| match *instruction {
                    Load { order, scope, location } => {
                        format!("ld.{} r{at}, {}", access(order, scope), LOCATIONS[location])
                    }
                    Store { order, scope, location, value: v } => {
                        format!("st.{} {}, {}", access(order, scope), LOCATIONS[location], value(v))
                    }
                    Atomic { order, scope, location, change, reduction } => {
                        let (name, operands) = match change {
                            Change::Exchange(v) => ("exch", value(v)),
                            Change::Add(v) => ("add", value(v)),
                            Change::Cas(old, new) => ("cas", format!("{old}, {new}")),
                        };
                        let (base, to) =
                            if reduction { ("red", String::new()) } else { ("atom", format!("r{at}, ")) };
                        format!(
                            "{base}.{}.{name} {to}{}, {operands}",
                            access(order, scope),
                            LOCATIONS[location]
                        )
                    }
                    Fence { order, scope } => format!("fence.{}", access(order, scope)),
                    End { read, value } => format!("beq r{read}, {value}, LC{t}"),
                }));
                column.push(format!("LC{t}:"));
                column
            })
            .collect();
        let mut out = "PTX naive\n{ x=0; y=0; }\n".to_owned();
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let cells: Vec<&str> = columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
            let _ = writeln!(out, "{} ;", cells.join(" | "));
        }
        let mut observed: Vec<String> = self.reads().map(|(t, at)| format!("{t}:r{at} == 7")).collect();
        observed.extend(LOCATIONS.map(|name| format!("{name} == 7")));
        format!("{out}exists ({})\n", observed.join(" /\\ "))
    }
}

/// What instruction `code[at]` of a thread has read and written.
type Done = BTreeMap<(usize, usize), (Option<i64>, Option<i64>)>;

fn operand(done: &Done, thread: usize, value: Value) -> Option<i64> {
    match value {
        Value::Const(n) => Some(n),
        Value::Read(at) => done.get(&(thread, at)).and_then(|done| done.0),
    }
}

/// What an atomic writes that has read a value: nothing if it is a cas that fails.
fn changed(done: &Done, thread: usize, change: Change, read: i64) -> Option<Option<i64>> {
    Some(match change {
        Change::Exchange(value) => Some(operand(done, thread, value)?),
        Change::Add(value) => Some(read + operand(done, thread, value)?),
        Change::Cas(old, new) => (read == old).then_some(new),
    })
}

// ---- sequential consistency: all interleavings ------------------------------------------------------------------

fn interleave(
    program: &Program,
    at: &mut Vec<usize>,
    memory: [i64; 2],
    done: &Done,
    out: &mut BTreeSet<Outcome>,
) {
    let mut ended = true;
    for thread in 0..at.len() {
        let Some(&instruction) = program.threads[thread].get(at[thread]) else { continue };
        ended = false;
        let (before, mut memory, mut done) = (at[thread], memory, done.clone());
        at[thread] += 1;
        match instruction {
            Load { location, .. } => {
                done.insert((thread, before), (Some(memory[location]), None));
            }
            Store { location, value, .. } => {
                memory[location] = operand(&done, thread, value).expect("it was read")
            }
            Atomic { location, change, .. } => {
                let read = memory[location];
                if let Some(written) = changed(&done, thread, change, read).expect("it was read") {
                    memory[location] = written;
                }
                done.insert((thread, before), (Some(read), None));
            }
            Fence { .. } => {}
            End { read, value } => {
                if operand(&done, thread, Value::Read(read)) == Some(value) {
                    at[thread] = program.threads[thread].len();
                }
            }
        }
        interleave(program, at, memory, &done, out);
        at[thread] = before;
    }
    if ended {
        out.insert(outcome(program, done, memory));
    }
}

fn outcome(program: &Program, done: &Done, memory: [i64; 2]) -> Outcome {
    let register = |(t, at)| (format!("{t}:r{at}"), operand(done, t, Value::Read(at)).unwrap_or(0));
    let location = |at: usize| (LOCATIONS[at].to_owned(), memory[at]);
    program.reads().map(register).chain([location(0), location(1)]).collect()
}

// ---- the manual's model -----------------------------------------------------------------------------------------

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Read,
    Write,
    Fence,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    /// None of an initial write.
    thread: Option<usize>,
    instruction: usize,
    kind: Kind,
    order: &'static str,
    scope: usize,
    location: usize,
    value: i64,
    reduction: bool,
}

/// A relation between events.
#[derive(Clone, PartialEq)]
struct Relation(Vec<Vec<bool>>);

impl Relation {
    fn of(n: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        Self((0..n).map(|a| (0..n).map(|b| holds(a, b)).collect()).collect())
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a][b]
    }

    fn and(&self, other: &Self) -> Self {
        Self::of(self.0.len(), |a, b| self.has(a, b) && other.has(a, b))
    }

    fn or(&self, other: &Self) -> Self {
        Self::of(self.0.len(), |a, b| self.has(a, b) || other.has(a, b))
    }

    fn then(&self, other: &Self) -> Self {
        let n = self.0.len();
        Self::of(n, |a, b| (0..n).any(|c| self.has(a, c) && other.has(c, b)))
    }

    fn closed(&self) -> Self {
        let mut out = self.clone();
        for c in 0..out.0.len() {
            for a in 0..out.0.len() {
                for b in 0..out.0.len() {
                    out.0[a][b] |= out.0[a][c] && out.0[c][b];
                }
            }
        }
        out
    }

    fn irreflexive(&self) -> bool {
        (0..self.0.len()).all(|a| !self.has(a, a))
    }

    fn acyclic(&self) -> bool {
        self.closed().irreflexive()
    }
}

/// The write that each reading instruction reads from: an instruction, or none for the initial one.
type Sources = BTreeMap<Place, Option<Place>>;

/// Thread and number of an instruction.
type Place = (usize, usize);

/// What all instructions read and write with these sources; none if a value is made of itself, or is not written.
fn values(program: &Program, sources: &Sources) -> Option<Done> {
    let mut done = Done::new();
    loop {
        let before = done.clone();
        let mut through = true;
        for (thread, code) in program.threads.iter().enumerate() {
            for (at, instruction) in code.iter().enumerate() {
                let read = |done: &Done| match sources[&(thread, at)] {
                    None => Some(0),
                    Some(source) => done.get(&source).and_then(|done| done.1),
                };
                match *instruction {
                    Load { .. } => match read(&done) {
                        Some(value) => {
                            done.insert((thread, at), (Some(value), None));
                        }
                        None => through = false,
                    },
                    Store { value, .. } => match operand(&done, thread, value) {
                        Some(value) => {
                            done.insert((thread, at), (None, Some(value)));
                        }
                        None => through = false,
                    },
                    Atomic { change, .. } => {
                        let read = read(&done);
                        let written = match (change, read) {
                            // Whatever it reads.
                            (Change::Exchange(value), _) => operand(&done, thread, value).map(Some),
                            (change, Some(read)) => changed(&done, thread, change, read),
                            _ => None,
                        };
                        done.insert((thread, at), (read, written.flatten()));
                        through &= read.is_some() && written.is_some();
                    }
                    Fence { .. } => {
                        done.insert((thread, at), (None, None));
                    }
                    End { read, value } => match operand(&done, thread, Value::Read(read)) {
                        Some(read) if read == value => break,
                        Some(_) => {}
                        // What comes behind it is not known yet.
                        None => {
                            through = false;
                            break;
                        }
                    },
                }
            }
        }
        match (through, done == before) {
            (true, _) => return Some(done),
            (false, true) => return None,
            _ => {}
        }
    }
}

fn events(program: &Program, done: &Done) -> Vec<Event> {
    let initial = |location| Event {
        thread: None,
        instruction: 0,
        kind: Kind::Write,
        order: "weak",
        scope: 0,
        location,
        value: 0,
        reduction: false,
    };
    let mut out = vec![initial(0), initial(1)];
    for (&(thread, at), &(read, written)) in done {
        let blank = Event { thread: Some(thread), instruction: at, ..initial(0) };
        match program.threads[thread][at] {
            Load { order, scope, location } => {
                out.push(Event {
                    kind: Kind::Read,
                    order,
                    scope,
                    location,
                    value: read.expect("read"),
                    ..blank
                });
            }
            Store { order, scope, location, .. } => {
                out.push(Event { order, scope, location, value: written.expect("written"), ..blank });
            }
            Atomic { order, scope, location, reduction, .. } => {
                let half =
                    |with: [&str; 2], is: &'static str| if with.contains(&order) { is } else { "relaxed" };
                let blank = Event { scope, location, reduction, ..blank };
                let order = half(["acquire", "acq_rel"], "acquire");
                out.push(Event { kind: Kind::Read, order, value: read.expect("read"), ..blank });
                if let Some(value) = written {
                    out.push(Event { order: half(["release", "acq_rel"], "release"), value, ..blank });
                }
            }
            Fence { order, scope } => out.push(Event { kind: Kind::Fence, order, scope, ..blank }),
            End { .. } => {}
        }
    }
    out
}

/// Adds the outcomes of the executions with these sources; false if there are too many to look at.
fn executions(program: &Program, sources: &Sources, out: &mut BTreeSet<Outcome>) -> bool {
    let Some(done) = values(program, sources) else { return true };
    let events = events(program, &done);
    let n = events.len();
    let relation =
        |holds: &dyn Fn(&Event, &Event) -> bool| Relation::of(n, |a, b| holds(&events[a], &events[b]));
    let memory = |e: &Event| e.kind != Kind::Fence;
    let (read, write) = (|e: &Event| e.kind == Kind::Read, |e: &Event| e.kind == Kind::Write);
    let strong = |e: &Event| e.thread.is_some() && (e.kind == Kind::Fence || e.order != "weak");
    let sc_fence = |e: &Event| e.kind == Kind::Fence && e.order == "sc";
    let same = |a: &Event, b: &Event| memory(a) && memory(b) && a.location == b.location;
    let step = |e: &Event| (e.instruction, e.kind == Kind::Write);
    let po = relation(&|a, b| a.thread.is_some() && a.thread == b.thread && step(a) < step(b));
    // 8.5, 8.7: the narrowest scope that both threads are in.
    let common = |a: usize, b: usize| match (program.places[a], program.places[b]) {
        (a, b) if a == b => 0,
        (a, b) if a.0 == b.0 => 2,
        _ => 3,
    };
    let including = relation(&|a, b| match (a.thread, b.thread) {
        (Some(t), Some(u)) => strong(a) && strong(b) && common(t, u) <= a.scope.min(b.scope),
        _ => false,
    });
    let overlapping = relation(&|a, b| !(memory(a) && memory(b)) || same(a, b));
    let ms = Relation::of(n, |a, b| {
        a != b && (po.has(a, b) || po.has(b, a) || including.has(a, b)) && overlapping.has(a, b)
    });
    let location = relation(&same);
    let po_location = po.and(&location);
    let rf = relation(&|w, r| {
        let source = |r: &Event| sources[&(r.thread.expect("a read has a thread"), r.instruction)];
        write(w) && read(r) && same(w, r) && source(r) == w.thread.map(|thread| (thread, w.instruction))
    });
    let rmw = relation(&|r, w| read(r) && write(w) && r.thread == w.thread && r.instruction == w.instruction);
    // Dependencies: of stored values, of an atomic on itself, and of all that comes behind a branch.
    let depends = relation(&|r, e| {
        let (true, Some(thread), true) = (read(r), r.thread, r.thread == e.thread) else { return false };
        let code = &program.threads[thread];
        let on = |value| value == Value::Read(r.instruction);
        let data = write(e)
            && match code[e.instruction] {
                Store { value, .. } => on(value),
                Atomic { change: Change::Exchange(value), .. } => on(value),
                Atomic { change: Change::Add(value), .. } => on(value) || r.instruction == e.instruction,
                _ => false,
            };
        let branch = |at: usize| matches!(code[at], End { read, .. } if read == r.instruction);
        data || (r.instruction + 1..e.instruction).any(branch)
    });
    if !rf.or(&depends).acyclic() {
        return true;
    }
    // 8.8
    let only = |holds: &dyn Fn(&Event) -> bool| Relation::of(n, |a, b| a == b && holds(&events[a]));
    let identity = only(&|_| true);
    let strong_write = only(&|e| write(e) && strong(e));
    let strong_read = only(&|e| read(e) && strong(e) && !e.reduction);
    let fence =
        |orders: [&'static str; 3]| only(&move |e| e.kind == Kind::Fence && orders.contains(&e.order));
    let later = po_location.or(&identity);
    let release = only(&|e| write(e) && e.order == "release").then(&later).then(&strong_write);
    let release = release.or(&fence(["sc", "acq_rel", "release"]).then(&po).then(&strong_write));
    let acquire = strong_read.then(&later).then(&only(&|e| read(e) && e.order == "acquire" && !e.reduction));
    let acquire = acquire.or(&strong_read.then(&po).then(&fence(["sc", "acq_rel", "acquire"])));
    // 8.9.2
    let observed = ms.and(&rf);
    let observation = observed.then(&rmw.then(&observed).closed().or(&identity));
    let synchronises = ms.and(&release.then(&observation).then(&acquire));
    // What is chosen: orders of morally strong writes and of fence.sc.
    let pairs: Vec<(usize, usize)> = (0..n)
        .flat_map(|a| (a + 1..n).map(move |b| (a, b)))
        .filter(|&(a, b)| ms.has(a, b))
        .filter(|&(a, b)| {
            let (a, b) = (&events[a], &events[b]);
            write(a) && write(b) || sc_fence(a) && sc_fence(b)
        })
        .collect();
    if pairs.len() > 7 {
        return false;
    }
    for choice in 0..1u32 << pairs.len() {
        let chosen = Relation::of(n, |a, b| {
            let at = |pair| pairs.iter().position(|&known| known == pair);
            match (at((a, b)), at((b, a))) {
                (Some(at), _) => choice >> at & 1 == 0,
                (_, Some(at)) => choice >> at & 1 == 1,
                _ => false,
            }
        });
        let fences = chosen.and(&relation(&|a, b| sc_fence(a) && sc_fence(b)));
        // 8.9.5
        let base = po.or(&synchronises).or(&fences).closed();
        let cause = observation.or(&identity).then(&base.and(&location));
        // 8.9.6
        let writes = relation(&|a, b| write(a) && write(b) && same(a, b));
        let first = Relation::of(n, |a, b| writes.has(a, b) && a != b && events[a].thread.is_none());
        let co = first.or(&writes.and(&cause)).or(&writes.and(&chosen)).closed();
        let fr = Relation::of(n, |r, w| (0..n).any(|source| rf.has(source, r) && co.has(source, w)));
        let communication = rf.or(&co).or(&fr);
        let between = ms.and(&fr).then(&ms.and(&co)).and(&rmw);
        let allowed = co.irreflexive()
            && fences.then(&base).irreflexive()
            && (0..n).all(|a| (0..n).all(|b| !between.has(a, b)))
            && po_location.or(&ms.and(&communication)).acyclic()
            && rf.or(&fr).then(&cause).irreflexive();
        if !allowed {
            continue;
        }
        // Memory ends with any write that none comes behind.
        let last = |location: usize| -> Vec<usize> {
            let of = |w: usize| write(&events[w]) && events[w].location == location;
            (0..n).filter(|&w| of(w) && (0..n).all(|later| !co.has(w, later))).collect()
        };
        for x in last(0) {
            for &y in &last(1) {
                out.insert(outcome(program, &done, [events[x].value, events[y].value]));
            }
        }
    }
    true
}

/// All outcomes that the manual allows; none if there are too many executions.
fn allowed(program: &Program) -> Option<BTreeSet<Outcome>> {
    let code = |(thread, at): (usize, usize)| &program.threads[thread][at];
    let all: Vec<(usize, usize)> = program
        .threads
        .iter()
        .enumerate()
        .flat_map(|(t, code)| (0..code.len()).map(move |at| (t, at)))
        .collect();
    let mut choices: Vec<(Place, Vec<Option<Place>>)> = Vec::new();
    for &reader in &all {
        let (Load { location: at, .. } | Atomic { location: at, .. }) = *code(reader) else { continue };
        let writes = all.iter().copied().filter(|&writer| {
            let (Store { location, .. } | Atomic { location, .. }) = *code(writer) else { return false };
            location == at && writer != reader
        });
        choices.push((reader, std::iter::once(None).chain(writes.map(Some)).collect()));
    }
    if choices.iter().map(|(_, from)| from.len()).product::<usize>() > 2_000 {
        return None;
    }
    let mut out = BTreeSet::new();
    let mut at = vec![0; choices.len()];
    loop {
        let sources = choices.iter().zip(&at).map(|((reader, from), &at)| (*reader, from[at])).collect();
        if !executions(program, &sources, &mut out) {
            return None;
        }
        let Some(next) = (0..at.len()).find(|&digit| at[digit] + 1 < choices[digit].1.len()) else {
            return Some(out);
        };
        at[next] += 1;
        at[..next].fill(0);
    }
}

fn by_engine(text: &str, model: ModelName) -> BTreeSet<Outcome> {
    let litmus = parse(text).unwrap_or_else(|errors| panic!("{}", errors[0].render("naive", text)));
    let verdict = check(&litmus, &Options { model, outcomes: true, ..Options::default() });
    assert!(verdict.outcomes_complete, "{text}");
    let named = |values: &[i64]| verdict.observables.iter().cloned().zip(values.iter().copied()).collect();
    verdict.outcomes.iter().map(|outcome| named(&outcome.values)).collect()
}

fn difference(text: &str, naive: &BTreeSet<Outcome>, engine: &BTreeSet<Outcome>) -> Option<String> {
    let more = engine.difference(naive).next();
    let less = naive.difference(engine).next();
    (more.is_some() || less.is_some()).then(|| format!("the engine has {more:?}, and lacks {less:?}\n{text}"))
}

#[test]
fn random_programs() {
    let more = std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut compared, mut weak) = (0u64, 0u64);
    for seed in 0..400 * more {
        let program = Program::random(&mut Random::new(seed));
        let text = program.text();
        let mut interleaved = BTreeSet::new();
        interleave(&program, &mut vec![0; program.threads.len()], [0; 2], &Done::new(), &mut interleaved);
        if let Some(wrong) = difference(&text, &interleaved, &by_engine(&text, ModelName::Sc)) {
            panic!("sc, seed {seed}: {wrong}");
        }
        let Some(naive) = allowed(&program) else { continue };
        if let Some(wrong) = difference(&text, &naive, &by_engine(&text, ModelName::Isa)) {
            panic!("isa, seed {seed}: {wrong}");
        }
        compared += 1;
        weak += u64::from(naive.len() > interleaved.len());
    }
    println!("{compared} programs were compared, {weak} of them with outcomes that no interleaving has");
    assert!(compared > 300 * more && weak > 50 * more, "{compared} programs, {weak} weak");
}
