//! Executions and violations in the words of the test: tables, graphs, and cycles of program lines.

mod cycle;
mod dot;
mod picture;

pub use cycle::{Cut, Step};

use crate::event::{Edge, Execution, Kind};
use crate::model::{Compiled, Evaluation, Model};
use crate::program::{Litmus, MemOrder, Proxy};
use std::fmt::Write as _;

/// One event as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownEvent {
    /// Short name: `a`, `b`, ..., or `ix` for the initial write of `x`.
    pub label: String,
    /// Number of the thread; initial writes have none.
    pub thread: Option<u32>,
    /// One-based line in the file; 0 for initial writes.
    pub line: u32,
    /// The instruction's text.
    pub text: String,
    /// What the event does, such as `R y = 1` or `F sc gpu`.
    pub action: String,
}

/// One execution, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Events; initial writes that nothing reads or orders visibly are left out.
    pub events: Vec<ShownEvent>,
    /// Named relations between them, by index: `po`, `rf`, `co`, `fr`, `sc`, `sync`. Orders are reduced to
    /// their immediate edges.
    pub relations: Vec<(&'static str, Vec<Edge>)>,
}

/// A name for the `n`-th event: a, b, ..., z, a1, b1, ...
fn letter(n: usize) -> String {
    let letter = char::from(b'a' + (n % 26) as u8);
    if n < 26 { letter.to_string() } else { format!("{letter}{}", n / 26) }
}

/// How an event acts.
fn action(litmus: &Litmus, x: &Execution, e: usize) -> String {
    let event = &x.events[e];
    let place = event.cell.map_or_else(String::new, |cell| {
        let location = |id: crate::program::LocId| {
            litmus.program.locations.get(usize::from(id.0)).map_or("?", |l| l.name.as_str())
        };
        let mut name = location(cell.address).to_owned();
        if cell.address != cell.physical {
            name = format!("{name}({})", location(cell.physical));
        }
        if cell.offset > 0 { format!("{name}+{}", cell.offset) } else { name }
    });
    let order = match event.order {
        MemOrder::Weak => "",
        MemOrder::Relaxed => ".relaxed",
        MemOrder::Acquire => ".acquire",
        MemOrder::Release => ".release",
        MemOrder::AcqRel => ".acq_rel",
        MemOrder::Sc => ".sc",
    };
    let scope = match event.scope {
        Some(scope) => format!(".{}", scope.text()),
        None => String::new(),
    };
    let proxy = match event.proxy {
        Proxy::Generic => "",
        Proxy::Texture => " texture",
        Proxy::Surface => " surface",
        Proxy::Constant => " constant",
        Proxy::Async => " async",
        Proxy::TensorMap => " tensormap",
    };
    match event.kind {
        Kind::Init => format!("init {place} = {}", event.value),
        Kind::Read => format!("R{order}{scope}{proxy} {place} = {}", event.value),
        Kind::Write => format!("W{order}{scope}{proxy} {place} = {}", event.value),
        Kind::Fence => format!("F{order}{scope}"),
        Kind::AliasFence => "F.proxy alias".to_owned(),
        Kind::ProxyFence => format!("F.proxy{proxy}{order}{scope}"),
        Kind::BarrierWait => "barrier wait".to_owned(),
        Kind::BarrierArrive => "barrier arrive".to_owned(),
    }
}

/// Labels, lines and actions of all events of an execution.
pub(crate) fn shown_events(litmus: &Litmus, x: &Execution) -> Vec<ShownEvent> {
    let mut next = 0;
    (0..x.events.len())
        .map(|e| {
            let event = &x.events[e];
            let thread = event.thread.and_then(|t| litmus.program.threads.get(t));
            let instr = thread.and_then(|t| t.code.get(event.instr));
            let label = if event.thread.is_none() {
                let name = event.cell.and_then(|c| litmus.program.locations.get(usize::from(c.physical.0)));
                let offset = event.cell.map_or(0, |c| c.offset);
                let name = name.map_or("?", |l| l.name.as_str());
                if offset > 0 { format!("i{name}+{offset}") } else { format!("i{name}") }
            } else {
                next += 1;
                letter(next - 1)
            };
            ShownEvent {
                label,
                thread: thread.map(|t| t.id),
                line: instr.map_or(0, |i| i.line),
                text: instr.map_or_else(|| "initial value".to_owned(), |i| i.text.clone()),
                action: action(litmus, x, e),
            }
        })
        .collect()
}

/// The edges of a transitive relation that no two others make up.
fn reduced(edges: &[Edge]) -> Vec<Edge> {
    edges
        .iter()
        .copied()
        .filter(|&(a, b)| !edges.iter().any(|&(x, y)| x == a && y != b && y != a && edges.contains(&(y, b))))
        .collect()
}

impl Shown {
    /// Prepares an execution that the model was asked about.
    pub fn new(litmus: &Litmus, model: &Model, x: &Execution) -> Self {
        let (compiled, ids) = Compiled::new(model, &[], &[&model.co, &model.fr, &model.sync]);
        let derived: Vec<Vec<Edge>> = match x.events.len() {
            0..=64 => relations::<1>(&compiled, &ids, x),
            65..=256 => relations::<4>(&compiled, &ids, x),
            _ => relations::<16>(&compiled, &ids, x),
        };
        let n = x.events.len();
        let po: Vec<Edge> = (0..n)
            .flat_map(|a| (0..n).map(move |b| (a, b)))
            .filter(|&(a, b)| x.program_order(a, b))
            .collect();
        let co = reduced(&derived[0]);
        let relations = vec![
            ("po", reduced(&po)),
            ("rf", x.rf.clone()),
            ("co", co),
            ("fr", reduced(&derived[1])),
            ("sc", reduced(&x.sc)),
            ("sync", derived[2].iter().copied().filter(|e| !x.sc.contains(e)).collect()),
        ];
        Self { events: shown_events(litmus, x), relations }.without_idle_initial_writes()
    }

    /// Drops initial writes that no read reads from.
    fn without_idle_initial_writes(self) -> Self {
        let read =
            |e: usize| self.relations.iter().any(|(n, r)| *n == "rf" && r.iter().any(|&(w, _)| w == e));
        let kept: Vec<usize> =
            (0..self.events.len()).filter(|&e| self.events[e].thread.is_some() || read(e)).collect();
        let index = |e: usize| kept.iter().position(|&k| k == e);
        Self {
            events: kept.iter().map(|&e| self.events[e].clone()).collect(),
            relations: self
                .relations
                .iter()
                .map(|(name, edges)| {
                    (*name, edges.iter().filter_map(|&(a, b)| Some((index(a)?, index(b)?))).collect())
                })
                .collect(),
        }
    }

    /// A table of the events, with where reads read from, and the other relations below it.
    pub fn table(&self) -> String {
        let mut rows = vec![[
            "event".to_owned(),
            "thread".to_owned(),
            "line".to_owned(),
            "instruction".to_owned(),
            "action".to_owned(),
            "reads from".to_owned(),
        ]];
        for (i, e) in self.events.iter().enumerate() {
            let sources: Vec<&str> = self
                .edges("rf")
                .iter()
                .filter(|&&(_, r)| r == i)
                .map(|&(w, _)| self.events[w].label.as_str())
                .collect();
            rows.push([
                e.label.clone(),
                e.thread.map_or_else(|| "-".to_owned(), |t| format!("P{t}")),
                if e.line == 0 { "-".to_owned() } else { e.line.to_string() },
                e.text.clone(),
                e.action.clone(),
                sources.join(" "),
            ]);
        }
        let widths: Vec<usize> =
            (0..6).map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
        let mut out = String::new();
        for row in &rows {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, &w)| format!("{cell:<w$}")).collect();
            let _ = writeln!(out, "{}", cells.join("  ").trim_end());
        }
        for name in ["co", "fr", "sc", "sync"] {
            let edges: Vec<String> = self
                .edges(name)
                .iter()
                .map(|&(a, b)| format!("{} -> {}", self.events[a].label, self.events[b].label))
                .collect();
            if !edges.is_empty() {
                let _ = writeln!(out, "{name}: {}", edges.join(", "));
            }
        }
        out
    }

    /// The edges of a relation by name.
    pub fn edges(&self, name: &str) -> &[Edge] {
        self.relations.iter().find(|(n, _)| *n == name).map_or(&[], |(_, edges)| edges)
    }

    /// The execution as a graph in the DOT language.
    pub fn dot(&self, title: &str) -> String {
        dot::graph(self, title)
    }

    /// The execution as a picture: threads side by side, program order downwards, a colour and a dash a relation; in the
    /// light or dark colours that the reader prefers.
    pub fn svg(&self, title: &str) -> String {
        picture::execution_svg(self, title)
    }

    /// A page with the picture, a switch for each relation, and the table.
    pub fn html(&self, title: &str) -> String {
        picture::execution_page(self, title)
    }
}

fn relations<const W: usize>(compiled: &Compiled, ids: &[usize], x: &Execution) -> Vec<Vec<Edge>> {
    let mut evaluation = Evaluation::<W>::new();
    evaluation.load(compiled, x, false);
    ids.iter().map(|&id| evaluation.relation(id).pairs().collect()).collect()
}
