//! Programs whose values feed values: decided quickly, and with the outcomes that running them step by step gives.
//!
//! `WARPGRIND_FUZZ=100` checks a hundred times as many, `--nocapture` shows how long they took.

use memory_model::model::ModelName;
use memory_model::program::BinOp;
use memory_model::{Interrupt, Limits, Litmus, Options, Property, Verdict, check, parse};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use testkit::litmus::Random;
use testkit::litmus::chains::chained;

fn times() -> u64 {
    std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Ten seconds are there for debug builds on a busy machine.
fn verdict(text: &str, options: Options) -> Verdict {
    let litmus = parse(text).unwrap_or_else(|e| panic!("{}", e[0].render("test", text)));
    let limits = Limits { time: Some(Duration::from_secs(10)), ..options.limits };
    check(&litmus, &Options { limits, ..options })
}

/// What the process took at most, in MB, where the system says so.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn decided(what: &str, text: impl Fn(u64) -> String, model: ModelName, property: Property) {
    let mut took: Vec<(Duration, u64)> = Vec::new();
    for seed in 0..100 * times() {
        let text = text(seed);
        let start = Instant::now();
        let verdict = verdict(&text, Options { model, property, ..Options::default() });
        took.push((start.elapsed(), seed));
        assert_ne!(verdict.verdict, "unknown", "seed {seed}: {:?}\n{text}", verdict.reason);
    }
    took.sort();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100].0;
    eprintln!(
        "{what} {model}: {} programs, half in {:?}, 99 % in {:?}, the slowest {:?}, {} MB",
        took.len(),
        at(50),
        at(99),
        took[took.len() - 1],
        peak_memory()
    );
}

#[test]
fn programs_of_twelve_operations_are_decided() {
    for model in ModelName::ALL {
        decided("three locations", |seed| chained(seed, 12), model, Property::Assertion);
    }
}

#[test]
fn programs_of_twelve_operations_on_one_location_are_decided() {
    let text = |seed| chained(seed, 12).replace(", y", ", x").replace(", z", ", x");
    decided("one location", text, ModelName::Isa, Property::Assertion);
}

#[test]
fn races_of_twelve_operations_are_decided() {
    decided("races", |seed| chained(seed, 12), ModelName::Isa, Property::Races);
}

/// An atomic on `x` with the register or number that is its operand, then arithmetic on its result.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// `None` is a `cas` that writes the operand.
    op: Option<BinOp>,
    expected: i64,
    operand: Result<i64, usize>,
    then: (BinOp, i64),
}

impl Step {
    fn run(&self, x: &mut i64, registers: &mut Vec<i64>) {
        let operand = self.operand.unwrap_or_else(|r| registers[r]);
        let old = *x;
        *x = match self.op {
            Some(op) => op.eval(old, operand),
            None if old == self.expected => operand,
            None => old,
        };
        registers.push(self.then.0.eval(old, self.then.1));
    }
}

const ATOMICS: [(&str, BinOp); 7] = [
    ("add", BinOp::Add),
    ("exch", BinOp::Second),
    ("min", BinOp::Min),
    ("max", BinOp::Max),
    ("xor", BinOp::Xor),
    ("inc", BinOp::Inc),
    ("dec", BinOp::Dec),
];
const ARITHMETIC: [(&str, BinOp); 7] = [
    ("add", BinOp::Add),
    ("sub", BinOp::Sub),
    ("mul", BinOp::Mul),
    ("div", BinOp::Div),
    ("and", BinOp::And),
    ("or", BinOp::Or),
    ("max", BinOp::Max),
];

/// All that the threads can end with when they take turns: `x` and their registers.
fn interleaved(threads: &[Vec<Step>]) -> BTreeSet<Vec<i64>> {
    fn go(threads: &[Vec<Step>], x: i64, registers: &[Vec<i64>], out: &mut BTreeSet<Vec<i64>>) {
        let mut ended = true;
        for (t, steps) in threads.iter().enumerate() {
            if let Some(step) = steps.get(registers[t].len()) {
                ended = false;
                let (mut x, mut registers) = (x, registers.to_vec());
                step.run(&mut x, &mut registers[t]);
                go(threads, x, &registers, out);
            }
        }
        if ended {
            out.insert([x].into_iter().chain(registers.iter().flatten().copied()).collect());
        }
    }
    let mut out = BTreeSet::new();
    go(threads, 0, &vec![Vec::new(); threads.len()], &mut out);
    out
}

/// Strong atomics on one location come one after the other under every model: their outcomes are those of running
/// them in every order.
#[test]
fn atomics_on_one_location_take_turns() {
    let mut wide = 0;
    for seed in 0..60 * times() {
        let mut random = Random::new(seed + 7);
        let count = 2 + random.below(3);
        let mut threads: Vec<Vec<Step>> = vec![Vec::new(); count];
        let mut columns = vec![String::new(); count];
        let mut observed = "x".to_owned();
        for step in 0..3 + random.below(5) {
            let t = if step < count { step } else { random.below(count) };
            let made = threads[t].len();
            let (name, op) = ATOMICS[random.below(ATOMICS.len())];
            let (then_name, then) = ARITHMETIC[random.below(ARITHMETIC.len())];
            let numbers = [0, 1, 2, 3, -1, 1000, i64::MAX];
            let operand = match made {
                0 => Ok(numbers[random.below(7)]),
                _ if random.chance(25) => Ok(numbers[random.below(7)]),
                _ => Err(random.below(made)),
            };
            let step = Step {
                op: random.chance(60).then_some(op),
                expected: random.below(3) as i64,
                operand,
                then: (then, numbers[1 + random.below(6)]),
            };
            let written = operand.map_or_else(|r| format!("r{}", 2 * r + 1), |number| number.to_string());
            let (old, result) = (2 * made, 2 * made + 1);
            let column = &mut columns[t];
            let _ = match step.op {
                Some(_) => writeln!(column, "atom.relaxed.gpu.{name} r{old}, x, {written}"),
                None => writeln!(column, "atom.relaxed.gpu.cas r{old}, x, {}, {written}", step.expected),
            };
            let _ = writeln!(column, "{then_name} r{result}, r{old}, {}", step.then.1);
            threads[t].push(step);
        }
        for (t, steps) in threads.iter().enumerate() {
            (0..steps.len()).for_each(|i| observed += &format!("; {t}:r{}", 2 * i + 1));
        }
        let places: Vec<String> = (0..count).map(|t| format!("P{t}@cta {t},gpu 0")).collect();
        let mut text = format!("PTX turns\n{{ x=0; }}\n{} ;\n", places.join(" | "));
        let rows = columns.iter().map(|c| c.lines().count()).max().unwrap_or(0);
        for row in 0..rows {
            let cells: Vec<&str> = columns.iter().map(|c| c.lines().nth(row).unwrap_or("")).collect();
            let _ = writeln!(text, "{} ;", cells.join(" | "));
        }
        let _ = writeln!(text, "locations [ {observed} ]\nexists (x == 123456)");
        let expected = interleaved(&threads);
        wide += usize::from(expected.len() > 40);
        let model = ModelName::ALL[seed as usize % 4];
        let verdict = verdict(&text, Options { model, outcomes: true, ..Options::default() });
        assert!(verdict.outcomes_complete, "{model} seed {seed}: {:?}\n{text}", verdict.reason);
        let found: BTreeSet<Vec<i64>> = verdict.outcomes.into_iter().map(|o| o.values).collect();
        assert_eq!(found, expected, "{model} seed {seed}\n{text}");
    }
    assert!(wide > 0, "some programs must have many outcomes");
}

/// Values of too many possibilities for a list: three threads that feed what a `cas` reads to an `add`.
#[test]
fn a_cas_that_feeds_an_add() {
    let cells = |line: &str| format!("{0} | {0} | {0} ;\n", line);
    let places = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 ;\n";
    let code = cells("atom.relaxed.gpu.cas r0, x, 0, 1")
        + &cells("atom.relaxed.gpu.add r1, x, r0")
        + &cells("atom.relaxed.gpu.add r2, x, r1");
    let text = |question: &str| format!("PTX fed\n{{ x=0; }}\n{places}{code}{question}\n");
    assert_eq!(verdict(&text("exists (x == 18)"), Options::default()).verdict, "allowed");
    assert_eq!(verdict(&text("forall (x >= 7)"), Options::default()).verdict, "always");
    assert_eq!(verdict(&text("exists (x == 17)"), Options::default()).verdict, "forbidden");
}

/// What a thread adds up is no more than a barrier's count, a number of a barrier, an address.
#[test]
fn wide_values_decide_barriers() {
    let text = "PTX count\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n\
        atom.relaxed.cta.add r0, x, 1000 | atom.relaxed.cta.add r0, x, 1000 ;\n\
        atom.relaxed.cta.add r1, x, r0 | atom.relaxed.cta.add r1, x, r0 ;\n\
        atom.relaxed.cta.add r2, x, r1 | atom.relaxed.cta.add r2, x, r1 ;\n\
        mul r3, r2, 0 | mul r3, r2, 0 ;\nadd r3, r3, COUNT | add r3, r3, COUNT ;\n\
        bar.cta.sync 0, 0, r3 | bar.cta.sync 0, 0, r3 ;\nst.weak x, 1 | ;\nexists (x == 1)\n";
    for (count, verdict_word) in [("2", "converges"), ("3", "diverges")] {
        let options = Options { property: Property::BarrierDivergence, ..Options::default() };
        assert_eq!(verdict(&text.replace("COUNT", count), options).verdict, verdict_word, "{count}");
    }
}

/// Four threads whose values feed one another: a list of outcomes that takes minutes.
fn long() -> Litmus {
    let lines: String = (0..3)
        .map(|i| {
            let cell = format!(
                "atom.relaxed.gpu.add r{i}, x, {}",
                if i == 0 { "1".into() } else { format!("r{}", i - 1) }
            );
            format!("{cell} | {cell} | {cell} | {cell} ;\n")
        })
        .collect();
    let observed: Vec<String> = (0..4).flat_map(|t| (0..3).map(move |r| format!("{t}:r{r}"))).collect();
    let text = format!(
        "PTX long\n{{ x=0; }}\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 | P3@cta 3,gpu 0 ;\n{lines}\
         locations [ {} ]\nexists (x >= 0)\n",
        observed.join("; ")
    );
    parse(&text).expect("well formed")
}

/// A verdict stays when the time does not last for the list of outcomes.
#[test]
fn a_list_cut_short_leaves_the_verdict() {
    let litmus = long();
    let limits = Limits { time: Some(Duration::from_secs(4)), outcomes: usize::MAX, ..Limits::default() };
    let start = Instant::now();
    let verdict = check(&litmus, &Options { limits, outcomes: true, ..Options::default() });
    assert_eq!((verdict.verdict, verdict.outcomes_complete), ("allowed", false), "{:?}", verdict.reason);
    assert!(!verdict.outcomes.is_empty() && verdict.reason.expect("a reason").contains("time limit"));
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
}

#[test]
fn an_interrupt_ends_a_check() {
    let litmus = long();
    let asked = Arc::new(AtomicBool::new(false));
    let limits = Limits { outcomes: usize::MAX, ..Limits::default() };
    let interrupt = Some(Interrupt(asked.clone()));
    let options = Options { limits, outcomes: true, interrupt, ..Options::default() };
    let verdict = std::thread::scope(|scope| {
        let checked = scope.spawn(|| check(&litmus, &options));
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        asked.store(true, Relaxed);
        let verdict = checked.join().expect("no panic");
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        verdict
    });
    let reason = verdict.reason.expect("a reason");
    assert!(reason.starts_with("the check was interrupted"), "{reason}");
    assert!(!verdict.outcomes_complete);
}
