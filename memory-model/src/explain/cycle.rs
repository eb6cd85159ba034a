//! Violations as cycles of program lines.

use super::{ShownEvent, shown_events};
use crate::explore::engine::Rejected;
use crate::model::algebra::BaseRel;
use crate::model::{Compiled, Derivation, Why};
use crate::program::Litmus;
use std::fmt::Write as _;

/// One edge of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Index of the event it leaves, in [`Cut::events`].
    pub from: usize,
    /// Name of the relation.
    pub relation: String,
    /// Index of the event it reaches.
    pub to: usize,
    /// The edges that it is made of.
    pub because: Vec<Step>,
}

/// A candidate execution and the axiom that cuts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Events of the candidate.
    pub events: Vec<ShownEvent>,
    /// Reads with the writes they read from, by index.
    pub reads_from: Vec<(usize, usize)>,
    /// Writes whose values observed locations hold in the end, by index.
    pub finals: Vec<usize>,
    /// The axiom's name.
    pub axiom: String,
    /// The section of the manual that states it.
    pub section: String,
    /// The cycle, or the path that must not be.
    pub cycle: Vec<Step>,
}

impl Cut {
    /// What cuts a rejected candidate; `None` if it was not rejected.
    pub(crate) fn new(litmus: &Litmus, compiled: &Compiled, rejected: &Rejected) -> Option<Self> {
        // Rules of the search itself are only worth showing where no axiom of the model applies.
        let own = |name: &str| !matches!(name, "Final value" | "Fairness" | "Race" | "Barrier order");
        let axiom_of = |index: usize| compiled.axioms().nth(index);
        let violation = rejected
            .violations
            .iter()
            .find(|v| axiom_of(v.axiom).is_some_and(|a| own(&a.name)))
            .or_else(|| rejected.violations.first())?;
        let axiom = axiom_of(violation.axiom)?;
        let mut reads_from: Vec<(usize, usize)> =
            rejected.execution.rf.iter().map(|&(w, r)| (r, w)).collect();
        reads_from.sort_unstable();
        Some(Self {
            events: shown_events(litmus, &rejected.execution),
            reads_from,
            finals: rejected.execution.finals.clone(),
            axiom: axiom.name.to_string(),
            section: axiom.section.to_string(),
            cycle: steps(compiled, &violation.derivation),
        })
    }

    /// Some lines of text: the candidate, the axiom, and the cycle.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut parts: Vec<String> = self
            .reads_from
            .iter()
            .map(|&(r, w)| format!("{} reads {}", self.short(r), self.source(w)))
            .collect();
        parts.extend(self.finals.iter().map(|&w| format!("{} is final", self.source(w))));
        let _ = writeln!(out, "if {}:", parts.join(", "));
        let section = if self.section == "cat" || self.section == "-" {
            String::new()
        } else {
            format!(" (PTX ISA {})", self.section)
        };
        let _ = writeln!(out, "  forbidden by {}{section}", self.axiom);
        for step in &self.cycle {
            self.step(&mut out, step, 2);
        }
        out
    }

    /// The candidate as a graph in the DOT language, with the cycle in bold.
    pub fn dot(&self, title: &str) -> String {
        super::dot::cut_graph(self, title)
    }

    /// The candidate as a picture, with the cycle in one colour.
    pub fn svg(&self, title: &str) -> String {
        super::picture::cut_svg(self, title)
    }

    /// A page with the picture, a switch for each relation, and the text.
    pub fn html(&self, title: &str) -> String {
        super::picture::cut_page(self, title)
    }

    fn step(&self, out: &mut String, step: &Step, indent: usize) {
        let _ = writeln!(
            out,
            "{:indent$}{} --{}--> {}",
            "",
            self.long(step.from),
            step.relation,
            self.long(step.to)
        );
        for reason in &step.because {
            self.step(out, reason, indent + 4);
        }
    }

    fn short(&self, e: usize) -> String {
        let event = &self.events[e];
        event.thread.map_or_else(|| event.label.clone(), |t| format!("P{t} line {}", event.line))
    }

    fn source(&self, e: usize) -> String {
        let event = &self.events[e];
        event.thread.map_or_else(|| format!("the initial value ({})", event.action), |_| self.short(e))
    }

    fn long(&self, e: usize) -> String {
        let event = &self.events[e];
        match event.thread {
            None => format!("[{}]", event.action),
            Some(t) => format!("P{t}:{} `{}` [{}]", event.line, event.text, event.action),
        }
    }
}

/// A derivation as consecutive edges; identities give none.
fn steps(compiled: &Compiled, d: &Derivation) -> Vec<Step> {
    let plain = |d| plain(compiled, d);
    let unit = |relation: &str, because: Vec<Step>| {
        let trivial = because.len() == 1 && because[0].relation == relation && because[0].because.is_empty();
        vec![Step {
            from: d.from,
            relation: relation.to_owned(),
            to: d.to,
            because: if trivial { Vec::new() } else { because },
        }]
    };
    match d.name.and_then(|id| compiled.name(id)).map(|n| n.0) {
        Some("fr") => unit("fr", plain(d)),
        Some("coherence") => {
            let inner = plain(d);
            match inner.as_slice() {
                // Several coherence steps in a row, or the cycle itself.
                [_, ..] if d.from == d.to => inner,
                _ => unit("co", inner),
            }
        }
        Some("synchronizes" | "sync") => unit("synchronizes", plain(d)),
        _ => plain(d),
    }
}

fn plain(compiled: &Compiled, d: &Derivation) -> Vec<Step> {
    let steps = |d| steps(compiled, d);
    let edge = |relation: &str, from: usize, to: usize| Step {
        from,
        relation: relation.to_owned(),
        to,
        because: Vec::new(),
    };
    match &d.why {
        Why::Base(base) => vec![edge(base.name(), d.from, d.to)],
        Why::Sets | Why::Chosen(_) if d.from == d.to => Vec::new(),
        Why::Sets | Why::Chosen(_) => vec![edge("co", d.from, d.to)],
        Why::Steps(parts) => parts.iter().flat_map(steps).collect(),
        Why::All(parts) => {
            let all: Vec<Vec<Step>> = parts.iter().map(steps).collect();
            let names: Vec<&str> =
                all.iter().filter(|s| s.len() == 1).map(|s| s[0].relation.as_str()).collect();
            // Of several plain relations between two events, program order or coherence says the most.
            for wanted in ["po", "co", "rmw", "fr", "rf"] {
                if names.contains(&wanted)
                    && let Some(found) = all.iter().find(|s| s.len() == 1 && s[0].relation == wanted)
                {
                    return found.clone();
                }
            }
            all.into_iter().max_by_key(Vec::len).unwrap_or_default()
        }
        // What is not there has no edge.
        Why::Missing(_) | Why::Absent(_) => Vec::new(),
        Why::Reverse(inner) => match &inner.why {
            Why::Base(BaseRel::Rf) => vec![edge("rf", inner.from, inner.to)],
            _ => steps(inner),
        },
    }
}
