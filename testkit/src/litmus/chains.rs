//! Random litmus tests whose values feed values: results of atomics that are operands, addresses and conditions.

use super::Random;
use std::fmt::Write as _;

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// One thread under construction.
struct Column<'r> {
    random: &'r mut Random,
    thread: usize,
    /// Only `.u32` accesses, some of them vectors.
    sized: bool,
    registers: usize,
    labels: usize,
    lines: Vec<String>,
}

impl Column<'_> {
    fn scope(&mut self) -> &'static str {
        match self.random.below(10) {
            0..6 => "gpu",
            _ => self.random.pick(&SCOPES),
        }
    }

    fn location(&mut self) -> &'static str {
        self.random.pick(&["x", "x", "x", "x", "y", "y", "z"])
    }

    fn register(&mut self) -> String {
        self.registers += 1;
        format!("r{}", self.registers - 1)
    }

    /// Mostly the result of one of the last instructions.
    fn value(&mut self) -> String {
        match self.registers {
            _ if self.random.chance(4) => {
                self.random.pick(&["-1", "255", "65536", "-2147483648", "9223372036854775807"]).to_owned()
            }
            0 => self.random.below(4).to_string(),
            _ if self.random.chance(35) => self.random.below(4).to_string(),
            n => format!("r{}", n - 1 - self.random.below(n.min(3))),
        }
    }

    fn order(&mut self, strong: &[&'static str]) -> String {
        if self.random.chance(15) && strong.contains(&"weak") {
            return "weak".to_owned();
        }
        let order = self.random.pick(strong);
        if order == "weak" { order.to_owned() } else { format!("{order}.{}", self.scope()) }
    }

    fn atomic(&mut self, target: &str) {
        let order = self.order(&["relaxed", "relaxed", "acquire", "release", "acq_rel"]);
        let size = if self.sized { ".u32" } else { "" };
        let line = match self.random.below(12) {
            0..4 => {
                let (expected, new, to) = (self.value(), self.value(), self.register());
                format!("atom.{order}.cas{size} {to}, {target}, {expected}, {new}")
            }
            4..6 => {
                let (value, to) = (self.value(), self.register());
                format!("atom.{order}.exch{size} {to}, {target}, {value}")
            }
            6 => {
                let value = self.value();
                format!("red.{order}.add{size} {target}, {value}")
            }
            _ => {
                let ops = ["add", "add", "add", "min", "max", "inc", "dec", "and", "or", "xor"];
                let (op, value, to) = (self.random.pick(&ops), self.value(), self.register());
                format!("atom.{order}.{op}{size} {to}, {target}, {value}")
            }
        };
        self.lines.push(line);
    }

    /// One memory operation, with what goes with it.
    fn operation(&mut self) {
        let size = if self.sized { ".u32" } else { "" };
        if self.random.chance(8) {
            let order = self.random.pick(&["sc", "acq_rel", "acquire", "release"]);
            let scope = self.scope();
            self.lines.push(format!("fence.{order}.{scope}"));
        }
        if self.random.chance(12) {
            let op = self.random.pick(&["add", "add", "sub", "mul", "xor", "and", "max", "div"]);
            let (a, b, to) = (self.value(), self.value(), self.register());
            self.lines.push(format!("{op} {to}, {a}, {b}"));
        }
        let skipped = self.random.chance(10) && self.registers > 0;
        if skipped {
            self.labels += 1;
            let branch = self.random.pick(&["beq", "bne", "blt", "bge"]);
            let (on, to) = (self.value(), self.random.below(3));
            if on.starts_with('r') {
                self.lines.push(format!("{branch} {on}, {to}, LC{}{}", self.thread, self.labels));
            } else {
                self.labels -= 1;
            }
        }
        let before = self.labels;
        let mut target = self.location().to_owned();
        if self.random.chance(5) {
            let (order, to) = (self.order(&["weak", "relaxed", "acquire"]), self.register());
            self.lines.push(format!("ld.{order} {to}, p"));
            target = format!("[{to}]");
        }
        match self.random.below(20) {
            0..4 => {
                let order = self.order(&["weak", "relaxed", "relaxed", "acquire"]);
                if self.sized && self.random.chance(30) {
                    let (a, b) = (self.register(), self.register());
                    self.lines.push(format!("ld.{order}.v2.u32 {{{a}, {b}}}, {target}"));
                } else {
                    let to = self.register();
                    self.lines.push(format!("ld.{order}{size} {to}, {target}"));
                }
            }
            4..8 => {
                let order = self.order(&["weak", "relaxed", "relaxed", "release"]);
                let value = self.value();
                if self.sized && self.random.chance(30) {
                    let other = self.value();
                    self.lines.push(format!("st.{order}.v2.u32 {target}, {{{value}, {other}}}"));
                } else {
                    self.lines.push(format!("st.{order}{size} {target}, {value}"));
                }
            }
            _ => self.atomic(&target),
        }
        if skipped && self.lines.iter().any(|l| l.ends_with(&format!("LC{}{before}", self.thread))) {
            let label = format!("LC{}{before}:", self.thread);
            if !self.lines.contains(&label) {
                self.lines.push(label);
            }
        }
        if self.random.chance(3) {
            self.lines.push("bar.cta.sync 1, 0".to_owned());
        }
    }
}

/// A random test of two to four threads with at most `most` memory operations.
pub fn chained(seed: u64, most: usize) -> String {
    let mut random = Random::new(seed ^ 0x00c0_ffee);
    let threads = 2 + random.below(3);
    let operations = threads + random.below(most + 1 - threads);
    let sized = random.chance(15);
    let mut left = vec![1; threads];
    for _ in threads..operations {
        left[random.below(threads)] += 1;
    }
    let mut observed = vec!["x".to_owned(), "y".to_owned()];
    let mut columns: Vec<Vec<String>> = Vec::new();
    for (thread, &operations) in left.iter().enumerate() {
        let mut column =
            Column { random: &mut random, thread, sized, registers: 0, labels: 0, lines: Vec::new() };
        (0..operations).for_each(|_| column.operation());
        observed.extend((0..column.registers).map(|r| format!("{thread}:r{r}")));
        columns.push(column.lines);
    }
    let mut out = format!("PTX chained\n{{\n x={}; y=0; z={}; p=&x;\n}}\n", random.below(2), random.below(3));
    let places: Vec<String> = (0..threads)
        .map(|t| {
            let gpu = usize::from(random.chance(5));
            format!("P{t}@cta {}, cluster {}, gpu {gpu}", random.below(2), random.below(2))
        })
        .collect();
    let _ = writeln!(out, "{} ;", places.join(" | "));
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        let cells: Vec<&str> = columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(out, "{} ;", cells.join(" | "));
    }
    let _ = writeln!(out, "locations [ {} ]", observed.join("; "));
    let quantifier = random.pick(&["exists", "exists", "~exists", "forall"]);
    let (one, two) = (&observed[random.below(observed.len())], &observed[random.below(observed.len())]);
    let (a, b) = (random.below(8), random.below(8));
    let _ = writeln!(out, "{quantifier} ({one} == {a} /\\ {two} == {b})");
    out
}
