//! A cycle as the text of a litmus test.

use super::cycle::{Cycle, CycleError, Event, error};
use super::edge::{Access, Annotation, Atomic, Dependency, Direction, Link};
use crate::litmus::columns;
use crate::program::{MemOrder, Proxy, Scope};

const LOCATIONS: [&str; 6] = ["x", "y", "z", "w", "v", "u"];

fn location(index: usize) -> String {
    LOCATIONS.get(index).map_or_else(|| format!("x{index}"), |&name| name.to_owned())
}

/// The name by which an access reaches its location.
fn address(event: &Event) -> (String, Option<&'static str>) {
    let name = location(event.location);
    let (suffix, kind) = match event.annotation.proxy {
        Proxy::Texture => ("t", "texture"),
        Proxy::Surface => ("s", "surface"),
        Proxy::Constant => ("c", "constant"),
        _ if event.annotation.alias => ("a", "generic"),
        _ => return (name, None),
    };
    (format!("{name}_{suffix}"), Some(kind))
}

/// What a test is written in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Ptx,
    Source,
}

impl Dialect {
    fn header(self) -> &'static str {
        match self {
            Dialect::Ptx => "PTX",
            Dialect::Source => "C++",
        }
    }

    fn qualifiers(self, order: MemOrder, scope: Option<Scope>) -> String {
        let order = match (self, order) {
            (Dialect::Source, MemOrder::Weak) => "na",
            (Dialect::Source, MemOrder::Sc) => "seq_cst",
            (_, order) => order.text(),
        };
        let scope = scope.map(|scope| match (self, scope) {
            (Dialect::Source, Scope::Cta) => "block",
            (Dialect::Source, Scope::Gpu) => "device",
            (Dialect::Source, Scope::Sys) => "system",
            (_, scope) => scope.text(),
        });
        scope.map_or_else(|| format!(".{order}"), |scope| format!(".{order}.{scope}"))
    }

    fn load(self, proxy: Proxy) -> &'static str {
        match self {
            Dialect::Ptx => load(proxy),
            Dialect::Source => "load",
        }
    }

    fn store(self, proxy: Proxy) -> &'static str {
        match self {
            Dialect::Ptx => store(proxy),
            Dialect::Source => "store",
        }
    }

    /// An atomic that computes `exch`, `add` or `cas`, with its order and scope.
    fn atomic(self, op: &str, how: &str) -> String {
        match (self, op) {
            (Dialect::Ptx, op) => format!("atom{how}.{op}"),
            (Dialect::Source, "exch") => format!("exchange{how}"),
            (Dialect::Source, "cas") => format!("compare_exchange{how}"),
            (Dialect::Source, op) => format!("fetch_{op}{how}"),
        }
    }
}

/// What writing a thread needs to know.
#[derive(Default)]
struct Column {
    lines: Vec<String>,
    registers: usize,
    labels: usize,
    /// Whether a branch leads to its end.
    guarded: bool,
}

impl Column {
    fn register(&mut self) -> String {
        self.registers += 1;
        format!("r{}", self.registers - 1)
    }
}

impl Cycle {
    /// The litmus test that asks whether an execution with this cycle is allowed.
    ///
    /// # Errors
    /// An access that is sequentially consistent, which none of PTX is.
    pub fn ptx(&self) -> Result<String, CycleError> {
        match self.events.iter().find(|event| event.annotation.order == MemOrder::Sc) {
            Some(event) => error(format!(
                "`{}`: no access of PTX is sc; those of source languages are",
                event.annotation
            )),
            None => Ok(self.text(Dialect::Ptx)),
        }
    }

    /// The same test in the source dialect.
    ///
    /// # Errors
    /// What source languages do not have: reductions, proxies, aliases, barriers.
    pub fn source(&self) -> Result<String, CycleError> {
        let plain = |a: &Annotation| a.access != Access::Reduction && a.proxy == Proxy::Generic && !a.alias;
        if let Some(event) = self.events.iter().find(|event| !plain(&event.annotation)) {
            return error(format!("`{}` has no counterpart in the source dialect", event.annotation));
        }
        let ptx_only = |link: Link| matches!(link, Link::ProxyFence(_) | Link::Barrier);
        match self.edges.iter().find(|edge| ptx_only(edge.link)) {
            Some(edge) => error(format!("`{edge}` has no counterpart in the source dialect")),
            None => Ok(self.text(Dialect::Source)),
        }
    }

    fn text(&self, dialect: Dialect) -> String {
        let threads = self.placements.len();
        let mut columns_of: Vec<Column> = (0..threads).map(|_| Column::default()).collect();
        for (column, place) in columns_of.iter_mut().zip(&self.placements).enumerate().map(|(t, (c, p))| {
            c.lines.push(String::new());
            c.labels = t;
            (c, p)
        }) {
            let cluster = place.cluster.map_or(String::new(), |n| format!("cluster {n},"));
            column.lines[0] = format!("P{}@cta {},{cluster}gpu {}", column.labels, place.cta, place.gpu);
            column.labels = 0;
        }
        let mut condition: Vec<String> = Vec::new();
        let mut aliases: Vec<String> = Vec::new();
        // The register that holds what an event read.
        let mut read_into: Vec<Option<String>> = vec![None; self.events.len()];
        let count = self.events.len();
        for at in 0..count {
            let event = &self.events[at];
            let before = (at + count - 1) % count;
            let column = &mut columns_of[event.thread];
            let (name, alias) = address(event);
            if let Some(kind) = alias {
                let line = format!(" {name} @ {kind} aliases {};", location(event.location));
                if !aliases.contains(&line) {
                    aliases.push(line);
                }
            }
            let value = event.value.unwrap_or(0);
            let mut address = name;
            let mut operand = value.to_string();
            // Communication of a thread with itself orders nothing by instructions; the first event of the only
            // thread has the last one's edge behind it.
            let link = (at > 0 || threads > 1).then_some(self.edges[before].link);
            match link {
                Some(Link::Fence(order, scope)) => {
                    column.lines.push(format!("fence{}", dialect.qualifiers(order, Some(scope))))
                }
                Some(Link::ProxyFence(kind)) => column.lines.push(format!("fence.proxy.{kind}")),
                Some(Link::Barrier) => column.lines.push(format!("bar.sync {}", self.barrier(before))),
                Some(Link::Dependency(which)) => {
                    let source = read_into[before].clone().unwrap_or_default();
                    if which == Dependency::Control && dialect == Dialect::Source {
                        // Only who has read it goes on, so that what is not atomic does not race.
                        let seen = self.events[before].value.unwrap_or(0);
                        column.lines.push(format!("bne {source}, {seen}, LC{}", event.thread));
                        column.guarded = true;
                    } else if which == Dependency::Control {
                        let label = format!("LC{}{}", event.thread, column.labels);
                        column.labels += 1;
                        column.lines.push(format!("beq {source}, {source}, {label}"));
                        column.lines.push(format!("{label}:"));
                    } else {
                        let register = column.register();
                        column.lines.push(format!("xor {register}, {source}, {source}"));
                        let base = if which == Dependency::Address { format!("&{address}") } else { operand };
                        column.lines.push(format!("add {register}, {register}, {base}"));
                        operand = value.to_string();
                        match which {
                            Dependency::Address => address = format!("[{register}]"),
                            _ => operand = register,
                        }
                    }
                }
                _ => {}
            }
            if matches!(link, Some(Link::Atomic(_))) {
                // Written with the read.
                self.barrier_behind(at, column);
                continue;
            }
            let Annotation { access, order, scope, proxy, .. } = event.annotation;
            let how = dialect.qualifiers(order, scope);
            match event.direction {
                Direction::Read => {
                    let register = column.register();
                    if let Some(value) = event.value {
                        condition.push(format!("{}:{register} == {value}", event.thread));
                    }
                    let line = match (self.edges[at].link, access) {
                        (Link::Atomic(op), _) => {
                            let write = &self.events[self.next(at)];
                            let how = dialect.qualifiers(both(order, write.annotation.order), scope);
                            let (old, new) = (value, write.value.unwrap_or(0));
                            let operands = match op {
                                Atomic::Exch => new.to_string(),
                                Atomic::Add => (new - old).to_string(),
                                Atomic::Cas => format!("{old}, {new}"),
                            };
                            format!("{} {register}, {address}, {operands}", dialect.atomic(op.opcode(), &how))
                        }
                        (_, Access::Plain) => format!("{}{how} {register}, {address}", dialect.load(proxy)),
                        _ => format!("{} {register}, {address}, 0", dialect.atomic("add", &how)),
                    };
                    column.lines.push(line);
                    read_into[at] = Some(register);
                }
                Direction::Write => {
                    let line = match access {
                        Access::Plain => format!("{}{how} {address}, {operand}", dialect.store(proxy)),
                        Access::Reduction => format!("red{how}.max {address}, {operand}"),
                        Access::Atom => {
                            let register = column.register();
                            format!("{} {register}, {address}, {operand}", dialect.atomic("exch", &how))
                        }
                    };
                    column.lines.push(line);
                }
            }
            self.barrier_behind(at, &mut columns_of[self.events[at].thread]);
        }
        for (index, last) in self.finals.iter().enumerate() {
            if let Some(value) = last {
                condition.push(format!("{} == {value}", location(index)));
            }
        }
        let initial: String =
            (0..self.finals.len()).map(|index| format!(" {}=0;", location(index))).collect();
        let ended = |(thread, mut column): (usize, Column)| {
            column.lines.extend(column.guarded.then(|| format!("LC{thread}:")));
            column.lines
        };
        let lines: Vec<Vec<String>> = columns_of.into_iter().enumerate().map(ended).collect();
        format!(
            "{} {}\n\"{self}\"\n{{{initial}{} }}\n{}exists ({})\n",
            dialect.header(),
            self.name(),
            aliases.concat(),
            columns(&lines),
            condition.join(" && ")
        )
    }

    /// The number of a barrier edge among them.
    fn barrier(&self, edge: usize) -> usize {
        self.edges[..edge].iter().filter(|edge| edge.link == Link::Barrier).count()
    }

    fn barrier_behind(&self, event: usize, column: &mut Column) {
        if self.edges[event].link == Link::Barrier {
            column.lines.push(format!("bar.sync {}", self.barrier(event)));
        }
    }
}

/// The order of an atomic whose read has the first and whose write the second.
fn both(read: MemOrder, write: MemOrder) -> MemOrder {
    if [read, write].contains(&MemOrder::Sc) {
        return MemOrder::Sc;
    }
    match (read.acquires(), write.releases()) {
        (true, true) => MemOrder::AcqRel,
        (true, false) => MemOrder::Acquire,
        (false, true) => MemOrder::Release,
        (false, false) => MemOrder::Relaxed,
    }
}

fn load(proxy: Proxy) -> &'static str {
    match proxy {
        Proxy::Texture => "tld",
        Proxy::Surface => "suld",
        Proxy::Constant => "cold",
        Proxy::Async => "ald",
        _ => "ld",
    }
}

fn store(proxy: Proxy) -> &'static str {
    match proxy {
        Proxy::Surface => "sust",
        Proxy::Async => "ast",
        _ => "st",
    }
}
