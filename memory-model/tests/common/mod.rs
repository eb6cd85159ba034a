//! Random litmus tests, as text.

use std::fmt::Write as _;

/// A small generator of pseudo-random numbers (xorshift64*), so that a failure names its seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// What a generated program may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Loads, stores, fences and atomics on plain locations.
    Plain,
    /// Barriers, also named and counted ones.
    Barriers,
    /// Aliases, proxies and proxy fences.
    Proxies,
    /// Branches and spin loops.
    Control,
    /// Cluster barriers and cluster scope.
    Clusters,
    /// Accesses of several sizes, and vectors.
    Sizes,
    /// Threads with the same code, of which only memory is observed.
    Alike,
}

pub(crate) const FLAVOURS: [Flavour; 7] = [
    Flavour::Plain,
    Flavour::Barriers,
    Flavour::Proxies,
    Flavour::Control,
    Flavour::Clusters,
    Flavour::Sizes,
    Flavour::Alike,
];

const SCOPES: [&str; 3] = ["cta", "gpu", "sys"];
const CLUSTER_SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

struct Program<'r> {
    random: &'r mut Random,
    flavour: Flavour,
    labels: usize,
    registers: usize,
    reads: usize,
}

impl Program<'_> {
    fn scope(&mut self) -> &'static str {
        match self.flavour {
            Flavour::Clusters => self.random.pick(&CLUSTER_SCOPES),
            _ => self.random.pick(&SCOPES),
        }
    }

    fn location(&mut self) -> &'static str {
        match self.flavour {
            Flavour::Proxies => self.random.pick(&["x", "x", "z", "y"]),
            Flavour::Sizes => self.random.pick(&["x", "x", "y"]),
            _ => self.random.pick(&["x", "y"]),
        }
    }

    fn register(&mut self) -> String {
        self.registers += 1;
        format!("r{}", self.registers - 1)
    }

    fn value(&mut self) -> String {
        if self.registers > 0 && self.random.chance(25) {
            format!("r{}", self.random.below(self.registers))
        } else {
            (1 + self.random.below(2)).to_string()
        }
    }

    fn ordered(&mut self, strong: &str) -> String {
        match self.random.below(3) {
            0 => "weak".to_owned(),
            1 => format!("relaxed.{}", self.scope()),
            _ => format!("{strong}.{}", self.scope()),
        }
    }

    fn instruction(&mut self, out: &mut Vec<String>) {
        let special = self.random.chance(35);
        match (self.flavour, special) {
            (Flavour::Barriers, true) => {
                let mode = self.random.pick(&["sync", "sync", "arrive"]);
                let line = match self.random.below(4) {
                    0 => format!("bar.cta.{mode} 1"),
                    1 => format!("bar.cta.{mode} 1, {}", self.random.below(2)),
                    2 => format!("bar.cta.{mode} 1, {}", self.value()),
                    _ => format!("bar.cta.{mode} 1, 1, {}", 1 + self.random.below(3)),
                };
                return out.push(line);
            }
            (Flavour::Proxies, true) => {
                let line = match self.random.below(4) {
                    0 => "fence.proxy.alias".to_owned(),
                    1 => "fence.proxy.surface".to_owned(),
                    2 => format!("sust.weak s, {}", self.value()),
                    _ => {
                        self.reads += 1;
                        let register = self.register();
                        format!("suld.weak {register}, s")
                    }
                };
                return out.push(line);
            }
            (Flavour::Control, true) => {
                self.labels += 1;
                self.reads += 1;
                let label = format!("LC{}", self.labels);
                let order = self.ordered("acquire");
                let location = self.location();
                let register = self.register();
                if self.random.chance(50) {
                    let read = match self.random.below(3) {
                        0 => format!("ld.{order} {register}, {location}"),
                        1 => format!("atom.acquire.{}.exch {register}, {location}, 1", self.scope()),
                        _ => format!("atom.acquire.{}.cas {register}, {location}, 0, 1", self.scope()),
                    };
                    out.extend([format!("{label}:"), read]);
                    if self.random.chance(30) {
                        let counter = self.register();
                        out.push(format!("add {counter}, {counter}, 1"));
                    }
                    out.push(format!("bne {register}, 0, {label}"));
                } else {
                    let other = self.location();
                    out.extend([
                        format!("ld.{order} {register}, {location}"),
                        format!("bne {register}, 1, {label}"),
                        format!("st.weak {other}, 2"),
                        format!("{label}:"),
                    ]);
                }
                return;
            }
            (Flavour::Clusters, true) => {
                let line = self.random.pick(&[
                    "barrier.cluster.arrive\nbarrier.cluster.wait",
                    "barrier.cluster.arrive.relaxed\nbarrier.cluster.wait",
                ]);
                return out.extend(line.lines().map(str::to_owned));
            }
            (Flavour::Sizes, true) => {
                self.reads += 2;
                let line = match self.random.below(4) {
                    0 => format!("st.weak.u8 x+{}, {}", self.random.below(2), self.value()),
                    1 => format!("st.relaxed.gpu.u16 x, {}", 256 + self.random.below(3)),
                    2 => {
                        let (a, b) = (self.register(), self.register());
                        format!("ld.weak.v2.u8 {{{a}, {b}}}, x")
                    }
                    _ => {
                        let register = self.register();
                        format!("ld.relaxed.gpu.u16 {register}, x")
                    }
                };
                return out.push(line);
            }
            _ => {}
        }
        let location = self.location();
        let line = match self.random.below(10) {
            0..=2 => {
                let order = self.ordered("release");
                format!("st.{order} {location}, {}", self.value())
            }
            3..=5 if self.reads < 3 => {
                self.reads += 1;
                let order = self.ordered("acquire");
                let register = self.register();
                format!("ld.{order} {register}, {location}")
            }
            6 | 7 => {
                let order = self.random.pick(&["sc", "acq_rel", "acquire", "release"]);
                format!("fence.{order}.{}", self.scope())
            }
            _ if self.reads < 3 => {
                self.reads += 1;
                let order = self.random.pick(&["relaxed", "acquire", "release", "acq_rel"]);
                let scope = self.scope();
                match self.random.below(4) {
                    0 => format!("red.{order}.{scope}.add {location}, 1"),
                    1 => {
                        let register = self.register();
                        format!("atom.{order}.{scope}.cas {register}, {location}, 0, 1")
                    }
                    2 => {
                        let register = self.register();
                        format!("atom.{order}.{scope}.exch {register}, {location}, 2")
                    }
                    _ => {
                        let register = self.register();
                        format!("atom.{order}.{scope}.add {register}, {location}, 1")
                    }
                }
            }
            _ => format!("st.relaxed.{} {location}, 1", self.scope()),
        };
        out.push(line);
    }
}

/// A random test of a flavour; every register and location is observed.
pub(crate) fn litmus(seed: u64, flavour: Flavour) -> String {
    let mut random = Random::new(seed);
    let threads = 2 + usize::from(random.chance(40));
    let lines = if threads == 3 { 2 } else { 3 };
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut observed = vec!["x".to_owned(), "y".to_owned()];
    for t in 0..threads {
        if flavour == Flavour::Alike && t > 0 && (t == 1 || random.chance(70)) {
            columns.push(columns[0].clone());
            continue;
        }
        let mut program = Program { random: &mut random, flavour, labels: t * 10, registers: 0, reads: 0 };
        let mut column = Vec::new();
        let length = 1 + program.random.below(lines);
        for _ in 0..length {
            program.instruction(&mut column);
        }
        let registers = if flavour == Flavour::Alike { 0 } else { program.registers };
        observed.extend((0..registers).map(|r| format!("{t}:r{r}")));
        columns.push(column);
    }
    let mut out = String::from("PTX random\n{\n x=0; y=0;\n");
    if flavour == Flavour::Proxies {
        out.push_str(" z @ generic aliases x;\n s @ surface aliases x;\n");
    }
    out.push_str("}\n");
    let places: Vec<String> = (0..threads)
        .map(|t| {
            let cta = random.below(2);
            let gpu = usize::from(random.chance(10));
            match flavour {
                Flavour::Clusters => format!("P{t}@cta {cta}, cluster {}, gpu {gpu}", random.below(2)),
                _ => format!("P{t}@cta {cta}, gpu {gpu}"),
            }
        })
        .collect();
    let _ = writeln!(out, "{} ;", places.join(" | "));
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        let cells: Vec<&str> = columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(out, "{} ;", cells.join(" | "));
    }
    let _ = writeln!(out, "locations [ {} ]", observed.join("; "));
    out.push_str("exists (x == 77)\n");
    out
}
