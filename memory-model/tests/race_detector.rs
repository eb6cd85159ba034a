//! The detector against the model: on random executions both must find the same first race of every word.

use memory_model::event::{Cell, Edge, Event, Execution, Kind as EventKind};
use memory_model::explore::conflicts;
use memory_model::model::{Compiled, Evaluation, ModelName};
use memory_model::program::{LocId, MemOrder, Proxy, Scope};
use memory_model::race::{Access, Detector, Kind, Pattern, Settings, Shape, Space};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use testkit::random::Random;

/// What a thread does next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Access(Kind, u64, u8, MemOrder, Option<Scope>),
    Fence(MemOrder, Scope),
    /// A barrier of some of the CTA's threads, by number; `true` waits.
    Barrier(u32, bool),
}

#[derive(Debug)]
struct Program {
    shape: Shape,
    threads: Vec<Vec<Op>>,
    /// By barrier number: its CTA, threads that arrive, and how many of them wait.
    barriers: Vec<(u32, Vec<u32>, Vec<u32>)>,
}

/// A random program. `bytes` has threads of a warp use single bytes of one word besides.
fn program(seed: u64, bytes: bool) -> Program {
    let mut random = Random(seed);
    let shape = Shape::line(1 + random.below(3) as u32, 1 + random.below(2) as u32);
    let ctas = 2 + random.below(2) as u32;
    let count = ctas * shape.threads_per_cta;
    // Some programs are mostly strong, some mostly weak, some synchronise a lot.
    let (weak, wide, sync) = (random.below(60), random.below(100), 10 + random.below(60));
    let mut threads = vec![Vec::new(); count as usize];
    let mut barriers: Vec<(u32, Vec<u32>, Vec<u32>)> = Vec::new();
    for _ in 0..(4 + random.below(16)) {
        let t = random.below(count.into()) as usize;
        let scope = |random: &mut Random| match random.below(100) {
            n if n < wide => random.pick(&[Scope::Gpu, Scope::Sys]),
            _ => random.pick(&[Scope::Cta, Scope::Cluster]),
        };
        if random.chance(12) {
            let cta = t as u32 / shape.threads_per_cta;
            let first = cta * shape.threads_per_cta;
            let mut arriving: Vec<u32> = (first..first + shape.threads_per_cta).collect();
            if random.chance(40) {
                let keep = random.below(arriving.len() as u64) as usize;
                arriving = vec![arriving[keep], arriving[(keep + 1) % arriving.len()]];
                arriving.dedup();
                arriving.sort_unstable();
            }
            let waiting: Vec<u32> = arriving.iter().copied().filter(|_| random.chance(85)).collect();
            let number = barriers.len() as u32;
            for &a in &arriving {
                threads[a as usize].push(Op::Barrier(number, waiting.contains(&a)));
            }
            barriers.push((cta, arriving, waiting));
            continue;
        }
        let op = if random.chance(sync / 3) {
            let order = random.pick(&[MemOrder::Sc, MemOrder::AcqRel, MemOrder::Acquire, MemOrder::Release]);
            Op::Fence(order, scope(&mut random))
        } else {
            let word = random.below(3) * 4;
            let strong = !random.chance(weak);
            let ordered = random.chance(sync);
            let at = if strong { Some(scope(&mut random)) } else { None };
            let order = |strongest| match (strong, ordered) {
                (false, _) => MemOrder::Weak,
                (true, true) => strongest,
                (true, false) => MemOrder::Relaxed,
            };
            match random.below(8) {
                0 if bytes => Op::Access(Kind::Write, word + (t as u64 % 4), 1, order(MemOrder::Release), at),
                1 if bytes => Op::Access(Kind::Read, word + (t as u64 % 4), 1, order(MemOrder::Acquire), at),
                0..=2 if !bytes => Op::Access(Kind::Write, word, 4, order(MemOrder::Release), at),
                3..=5 if !bytes => Op::Access(Kind::Read, word, 4, order(MemOrder::Acquire), at),
                n => {
                    let kind = if n == 6 { Kind::Atomic } else { Kind::Reduction };
                    let order = match (ordered, random.below(3)) {
                        (false, _) => MemOrder::Relaxed,
                        (_, 0) if kind == Kind::Atomic => MemOrder::Acquire,
                        (_, 1) if kind == Kind::Atomic => MemOrder::AcqRel,
                        _ => MemOrder::Release,
                    };
                    let at = scope(&mut random);
                    // Atomics of bytes do not exist; give them a word of their own there.
                    let word = if bytes { 12 } else { word };
                    Op::Access(kind, word, 4, order, Some(at))
                }
            }
        };
        threads[t].push(op);
    }
    Program { shape, threads, barriers }
}

/// One run: the execution, and what the detector said of each access.
struct Run {
    execution: Execution,
    /// Events of each access, its address, and whether the detector found a race.
    accesses: Vec<(Vec<usize>, u64, bool)>,
    /// Of each access its thread and bytes, and whether it writes.
    alike: Vec<((usize, u64, u8), bool)>,
}

fn run(program: &Program, seed: u64) -> Run {
    let mut random = Random(seed ^ 0x5eed);
    let mut detector = Detector::new(program.shape, Settings::default());
    let count = program.threads.len();
    let shape = program.shape;
    let common = |a: usize, b: usize| {
        let (a, b) = (a as u32 / shape.threads_per_cta, b as u32 / shape.threads_per_cta);
        if a == b {
            Scope::Cta
        } else if a / shape.cluster.x == b / shape.cluster.x {
            Scope::Cluster
        } else {
            Scope::Gpu
        }
    };
    let mut x = Execution {
        common_scope: (0..count).map(|a| (0..count).map(|b| common(a, b)).collect()).collect(),
        ..Execution::default()
    };
    let mut accesses = Vec::new();
    let mut alike = Vec::new();
    let mut next = vec![0; count];
    let mut newest: HashMap<(u64, u8), usize> = HashMap::new();
    let mut fences: Vec<usize> = Vec::new();
    let mut arrived: HashMap<u32, Vec<(u32, usize)>> = HashMap::new();
    let mut waiting = vec![false; count];
    loop {
        let ready: Vec<usize> =
            (0..count).filter(|&t| !waiting[t] && next[t] < program.threads[t].len()).collect();
        if ready.is_empty() {
            return Run { execution: x, accesses, alike };
        }
        let t = random.pick(&ready);
        let (cta, lane) = (t as u32 / shape.threads_per_cta, t as u32 % shape.threads_per_cta);
        let op = program.threads[t][next[t]];
        next[t] += 1;
        let event = |kind, half| Event {
            kind,
            thread: Some(t),
            position: (next[t] * 2 + half) as u32,
            instr: next[t],
            cell: None,
            proxy: Proxy::Generic,
            order: MemOrder::Weak,
            scope: None,
            region: Default::default(),
            reduction: false,
            relaxed_arrive: false,
            spinning: false,
            value: 0,
        };
        match op {
            Op::Fence(order, scope) => {
                let index = x.events.len();
                x.events.push(Event { order, scope: Some(scope), ..event(EventKind::Fence, 0) });
                if order == MemOrder::Sc {
                    let pairs: Vec<Edge> = fences
                        .iter()
                        .filter(|&&f| x.events[f].thread == Some(t) || x.scopes_include_each_other(f, index))
                        .map(|&f| (f, index))
                        .collect();
                    x.sc.extend(pairs);
                    fences.push(index);
                }
                detector.fence(cta, 0, 1 << lane, order, scope);
            }
            Op::Barrier(number, waits) => {
                let kind = if waits { EventKind::BarrierWait } else { EventKind::BarrierArrive };
                let index = x.events.len();
                x.events.push(Event { scope: Some(Scope::Cta), ..event(kind, 0) });
                let (_, arriving, wait) = &program.barriers[number as usize];
                let so_far = arrived.entry(number).or_default();
                so_far.push((t as u32, index));
                waiting[t] = waits;
                // Everybody waits: sometimes all lanes at once. Otherwise arrivals are reported one by one.
                let at_once = arriving == wait && number % 2 == 0;
                if !at_once {
                    detector.arrive(cta, 0, 1 << lane, number, waits);
                }
                if so_far.len() == arriving.len() {
                    for &(a, from) in so_far.iter() {
                        for &(b, to) in so_far.iter() {
                            if a != b && wait.contains(&b) {
                                x.bar.push((from, to));
                            }
                        }
                    }
                    if at_once {
                        let first = cta * shape.threads_per_cta;
                        let lanes = arriving.iter().fold(0, |lanes, &a| lanes | 1 << (a - first));
                        detector.synchronize_warp(cta, 0, lanes);
                    } else {
                        detector.complete(cta, number, arriving.len() as u32 == shape.threads_per_cta);
                    }
                    wait.iter().for_each(|&w| waiting[w as usize] = false);
                }
            }
            Op::Access(kind, address, bytes, order, scope) => {
                let cell = Some(Cell {
                    physical: LocId((address / 4) as u16),
                    address: LocId((address / 4) as u16),
                    local: false,
                    offset: (address % 4) as u32,
                    access: ((address % 4) as u32, u32::from(bytes)),
                });
                let half = |order: MemOrder, write: bool| match (order, write) {
                    (MemOrder::AcqRel | MemOrder::Acquire, false) => MemOrder::Acquire,
                    (MemOrder::AcqRel | MemOrder::Release, true) => MemOrder::Release,
                    (MemOrder::Weak, _) => MemOrder::Weak,
                    _ => MemOrder::Relaxed,
                };
                let reduction = kind == Kind::Reduction;
                let mut events = Vec::new();
                let place = (address, bytes);
                if kind != Kind::Write {
                    let index = x.events.len();
                    let order = half(order, false);
                    x.events.push(Event { cell, order, scope, reduction, ..event(EventKind::Read, 0) });
                    if let Some(&w) = newest.get(&place) {
                        x.rf.push((w, index));
                    }
                    events.push(index);
                }
                if kind != Kind::Read {
                    let index = x.events.len();
                    let order = half(order, true);
                    x.events.push(Event { cell, order, scope, reduction, ..event(EventKind::Write, 1) });
                    newest.insert(place, index);
                    if let Some(&read) = events.first() {
                        x.rmw.push((read, index));
                    }
                    events.push(index);
                }
                let access = Access {
                    cta,
                    warp: 0,
                    lanes: 1 << lane,
                    space: Space::Global,
                    addresses: &[address; 32],
                    pattern: Pattern::Any,
                    bytes,
                    elements: 1,
                    kind,
                    writing: u32::MAX,
                    order,
                    scope,
                    site: accesses.len() as u32,
                };
                detector.access(&access);
                let races = detector.take_races();
                let race = races.first();
                assert!(race.is_none_or(|r| r.later.site == access.site && r.earlier.site < access.site));
                accesses.push((events, address, race.is_some()));
                alike.push(((t, address, bytes), kind != Kind::Read));
            }
        }
    }
}

/// Of each access whether it races with an earlier one: by the letter, and leaving out races with an access
/// that another write of the place comes after, if that later write is ordered.
fn races(run: &Run) -> Vec<(bool, bool)> {
    let model = ModelName::Isa.model();
    let (compiled, ids) = Compiled::new(&model, &[], &[&model.cause, &conflicts(&model)]);
    let mut evaluation = Evaluation::<2>::new();
    evaluation.load(&compiled, &run.execution, false);
    let (cause, conflict) = (evaluation.relation(ids[0]), evaluation.relation(ids[1]));
    (0..run.accesses.len())
        .map(|i| {
            // Operations race, not their halves.
            let pairs = |k: usize| {
                run.accesses[k].0.iter().flat_map(|&a| run.accesses[i].0.iter().map(move |&b| (a, b)))
            };
            let comes_before = |k: usize, l: usize| {
                let (from, to) = (&run.accesses[k].0, &run.accesses[l].0);
                from.iter().flat_map(|&a| to.iter().map(move |&b| (a, b))).any(|(a, b)| cause.has(a, b))
            };
            let ordered = |k: usize| pairs(k).any(|(a, b)| cause.has(a, b) || cause.has(b, a));
            let racing = |k: &usize| pairs(*k).any(|(a, b)| conflict.has(a, b)) && !ordered(*k);
            let rewritten = |k: usize| {
                let ((_, address, bytes), _) = run.alike[k];
                let overwrites = |l: usize| {
                    let ((_, a, b), writes) = run.alike[l];
                    writes && (a, b) == (address, bytes) && comes_before(k, l)
                };
                (k + 1..i).any(|l| overwrites(l) && ordered(l))
            };
            ((0..i).any(|k| racing(&k)), (0..i).filter(racing).any(|k| !rewritten(k)))
        })
        .collect()
}

/// The events in the order in which they happened.
fn trace(run: &Run) -> String {
    let mut out = String::new();
    for (i, e) in run.execution.events.iter().enumerate() {
        let access = run.accesses.iter().position(|a| a.0.contains(&i));
        let _ = writeln!(
            out,
            "{i}: access {access:?} thread {} {:?} {:?} {:?} {:?} reduction {}",
            e.thread.unwrap_or(0),
            e.kind,
            e.order,
            e.scope,
            e.cell.map(|c| (c.physical.0, c.access)),
            e.reduction
        );
    }
    let _ =
        writeln!(out, "rf {:?}\nsc {:?}\nbar {:?}", run.execution.rf, run.execution.sc, run.execution.bar);
    out
}

fn compare(bytes: bool, programs: u64) {
    let programs = programs * std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut racy, mut free) = (0, 0);
    for seed in 0..programs {
        let program = program(seed, bytes);
        let run = run(&program, seed);
        let races = races(&run);
        let words: HashSet<u64> = run.accesses.iter().map(|a| a.1 / 4).collect();
        for word in words {
            let of_word: Vec<usize> = (0..races.len()).filter(|&i| run.accesses[i].1 / 4 == word).collect();
            let found = of_word.iter().find(|&&i| run.accesses[i].2);
            let certain = of_word.iter().find(|&&i| races[i].1);
            let context = || format!("seed {seed}, word {word}, {:?}\n{}", program.shape, trace(&run));
            if let Some(&found) = found {
                assert!(races[found].0, "access {found} is reported and does not race: {}", context());
                assert!(certain.is_none_or(|&c| found <= c), "access {certain:?} is missed: {}", context());
                racy += 1;
            } else {
                assert_eq!(certain, None, "a race is missed: {}", context());
                free += 1;
            }
        }
    }
    // Both answers must be common, or the comparison shows little.
    assert!(racy > programs / 4 && free > programs / 4, "{racy} racy, {free} free");
}

#[test]
fn words() {
    compare(false, 20_000);
}

#[test]
fn bytes_of_a_word() {
    compare(true, 5000);
}
