//! Random litmus tests, as text.

pub mod chains;
mod wide;

use std::fmt::Write as _;

/// A small generator of pseudo-random numbers (xorshift64*), so that a failure names its seed.
pub struct Random(u64);

impl Random {
    /// Numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    /// True so often in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these, of which there is at least one.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// What a generated program may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
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
    /// Address, data and control dependencies, pointers in memory.
    Dependencies,
    /// Mbarrier objects.
    Mbarriers,
    /// Everything above together.
    Mixed,
    /// Values that feed values, most of them on one location.
    Chains,
    /// What the others leave out: all atomic operations, vectors that overlap, rare proxies.
    Wide,
}

/// All of them.
pub const FLAVOURS: [Flavour; 12] = [
    Flavour::Plain,
    Flavour::Barriers,
    Flavour::Proxies,
    Flavour::Control,
    Flavour::Clusters,
    Flavour::Sizes,
    Flavour::Alike,
    Flavour::Dependencies,
    Flavour::Mbarriers,
    Flavour::Mixed,
    Flavour::Chains,
    Flavour::Wide,
];

/// What an instruction of a mixed program is drawn from.
const MIXED: [Flavour; 8] = [
    Flavour::Plain,
    Flavour::Sizes,
    Flavour::Barriers,
    Flavour::Proxies,
    Flavour::Control,
    Flavour::Clusters,
    Flavour::Dependencies,
    Flavour::Mbarriers,
];

const SCOPES: [&str; 3] = ["cta", "gpu", "sys"];
const CLUSTER_SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

struct Program<'r> {
    random: &'r mut Random,
    flavour: Flavour,
    /// Scopes and locations of all kinds.
    mixed: bool,
    labels: usize,
    registers: usize,
    reads: usize,
}

impl Program<'_> {
    fn scope(&mut self) -> &'static str {
        match self.flavour {
            _ if self.mixed => self.random.pick(&CLUSTER_SCOPES),
            Flavour::Clusters | Flavour::Wide => self.random.pick(&CLUSTER_SCOPES),
            _ => self.random.pick(&SCOPES),
        }
    }

    fn location(&mut self) -> &'static str {
        match self.flavour {
            _ if self.mixed => self.random.pick(&["x", "x", "y", "y", "z"]),
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

    /// Instructions that depend on what one reads; of a pointer, the location it points to.
    fn dependent(&mut self, out: &mut Vec<String>) {
        self.reads += 1;
        let order = self.ordered("acquire");
        let (read, location) = (self.register(), self.location());
        match self.random.below(4) {
            0 => {
                let other = self.register();
                self.reads += 1;
                let second = self.ordered("acquire");
                let pointer = self.random.pick(&["p", "q"]);
                out.push(format!("ld.{order} {read}, {pointer}"));
                out.push(format!("ld.{second} {other}, [{read}]"));
            }
            1 => {
                let pointer = self.random.pick(&["p", "q"]);
                let target = self.random.pick(&["x", "y"]);
                out.push(format!("ld.{order} {read}, {pointer}"));
                out.push(format!("st.weak [{read}], 1"));
                out.push(format!("st.relaxed.gpu q, &{target}"));
            }
            2 => {
                // A dependency that changes nothing.
                let sum = self.register();
                let to = self.location();
                let strength = self.ordered("release");
                out.push(format!("ld.{order} {read}, {location}"));
                out.push(format!("xor {sum}, {read}, {read}"));
                out.push(format!("add {sum}, {sum}, 1"));
                out.push(format!("st.{strength} {to}, {sum}"));
            }
            _ => {
                self.labels += 1;
                let (label, to) = (format!("LC{}", self.labels), self.location());
                let strength = self.ordered("release");
                out.push(format!("ld.{order} {read}, {location}"));
                out.push(format!("beq {read}, 0, {label}"));
                out.push(format!("st.{strength} {to}, {}", 1 + self.random.below(2)));
                out.push(format!("{label}:"));
            }
        }
    }

    fn mbarrier(&mut self) -> String {
        let order = self.random.pick(&["", ".relaxed.gpu", ".release.gpu", ".release.cta"]);
        if self.random.chance(60) {
            return format!("mbarrier.arrive{order} b");
        }
        self.reads += 1;
        let register = self.register();
        let order = order.replace("release", "acquire");
        format!("mbarrier.test_wait{order} {register}, b, 0")
    }

    fn instruction(&mut self, out: &mut Vec<String>) {
        if self.mixed {
            self.flavour = MIXED[self.random.below(MIXED.len())];
        }
        if self.flavour == Flavour::Wide {
            return self.wide(out);
        }
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
            (Flavour::Dependencies, true) => return self.dependent(out),
            (Flavour::Mbarriers, true) => {
                let line = self.mbarrier();
                return out.push(line);
            }
            (Flavour::Proxies, true) => {
                let line = match self.random.below(9) {
                    7 => "fence.proxy.async::generic.release.gpu".to_owned(),
                    8 => "fence.proxy.async::generic.acquire.gpu".to_owned(),
                    0 => "fence.proxy.alias".to_owned(),
                    1 => "fence.proxy.surface".to_owned(),
                    2 => format!("sust.weak s, {}", self.value()),
                    3 => "fence.proxy.async".to_owned(),
                    4 => format!("ast.weak y, {}", self.value()),
                    5 => {
                        self.reads += 1;
                        let register = self.register();
                        format!("ald.weak {register}, y")
                    }
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
                    let read = match self.random.below(4) {
                        0 => format!("ld.{order} {register}, {location}"),
                        3 => format!("atom.relaxed.{}.add {register}, {location}, 0", self.scope()),
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
                let line = match self.random.below(5) {
                    4 => {
                        let (a, b, scope) = (self.register(), self.register(), self.scope());
                        format!("atom.acq_rel.{scope}.add.v2.u32 {{{a}, {b}}}, [y], {{1, 2}}")
                    }
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
                let order = if self.random.chance(5) { "volatile" } else { &order };
                format!("st.{order} {location}, {}", self.value())
            }
            3..=5 if self.reads < 3 => {
                self.reads += 1;
                let order = self.ordered("acquire");
                let register = self.register();
                format!("ld.{order} {register}, {location}")
            }
            6 | 7 => {
                if self.random.chance(5) {
                    return out.push("membar.gl".to_owned());
                }
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
                        let op = self.random.pick(&["add", "add", "add", "max", "or", "inc", "dec", "xor"]);
                        format!("atom.{order}.{scope}.{op} {register}, {location}, 1")
                    }
                }
            }
            _ => format!("st.relaxed.{} {location}, 1", self.scope()),
        };
        out.push(line);
    }
}

/// A random test of a flavour; every register and location is observed.
pub fn litmus(seed: u64, flavour: Flavour) -> String {
    if flavour == Flavour::Chains {
        return chains::chained(seed, 5);
    }
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
        let mixed = flavour == Flavour::Mixed;
        let mut program =
            Program { random: &mut random, flavour, mixed, labels: t * 10, registers: 0, reads: 0 };
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
    if matches!(flavour, Flavour::Proxies | Flavour::Mixed) {
        out.push_str(" z @ generic aliases x;\n s @ surface aliases x;\n");
    }
    if matches!(flavour, Flavour::Dependencies | Flavour::Mixed) {
        out.push_str(" p=&x; q=&y;\n");
    }
    if flavour == Flavour::Wide {
        out.push_str(" c @ constant aliases x;\n");
    }
    if matches!(flavour, Flavour::Mbarriers | Flavour::Mixed) {
        let _ = writeln!(out, " b = mbarrier {};", 1 + random.below(2));
    }
    out.push_str("}\n");
    let places: Vec<String> = (0..threads)
        .map(|t| {
            let cta = random.below(2);
            let gpu = usize::from(random.chance(10));
            match flavour {
                Flavour::Clusters | Flavour::Mixed | Flavour::Wide => {
                    format!("P{t}@cta {cta}, cluster {}, gpu {gpu}", random.below(2))
                }
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
    if random.chance(10) {
        let _ = writeln!(out, "filter ({} != 2)", observed[random.below(observed.len())]);
    }
    out.push_str("exists (x == 77)\n");
    out
}
