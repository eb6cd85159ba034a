//! Graphs in the DOT language.

use super::{Cut, Shown, ShownEvent, Step};
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The head of a graph and its nodes, one cluster a thread.
fn nodes(events: &[ShownEvent], title: &str) -> String {
    let mut out = String::from("digraph execution {\n");
    let _ =
        writeln!(out, "  label={};\n  labelloc=t;\n  node [shape=box, fontname=monospace];", quoted(title));
    for (thread, members) in by_thread(events) {
        if let Some(t) = thread {
            let _ = writeln!(out, "  subgraph cluster_P{t} {{\n    label=\"P{t}\";");
        }
        for i in members {
            let e = &events[i];
            let text = match e.thread {
                Some(_) => format!("{}: {}\n{} (line {})", e.label, e.action, e.text, e.line),
                None => format!("{}: {}", e.label, e.action),
            };
            let _ = writeln!(out, "    n{i} [label={}];", quoted(&text));
        }
        if thread.is_some() {
            out.push_str("  }\n");
        }
    }
    out
}

fn by_thread(events: &[ShownEvent]) -> BTreeMap<Option<u32>, Vec<usize>> {
    let mut threads: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
    for (i, e) in events.iter().enumerate() {
        threads.entry(e.thread).or_default().push(i);
    }
    threads
}

/// A candidate with the cycle that cuts it: reads-from thin, the cycle bold.
pub(super) fn cut_graph(cut: &Cut, title: &str) -> String {
    let mut out = nodes(&cut.events, &format!("{title}: forbidden by {}", cut.axiom));
    for (thread, members) in by_thread(&cut.events) {
        for pair in members.windows(2).filter(|_| thread.is_some()) {
            let _ = writeln!(out, "  n{} -> n{} [label=po, color=gray];", pair[0], pair[1]);
        }
    }
    for (read, write) in &cut.reads_from {
        let _ = writeln!(out, "  n{write} -> n{read} [label=rf, color=red, fontcolor=red];");
    }
    for Step { from, relation, to, .. } in &cut.cycle {
        let label = quoted(relation);
        let _ = writeln!(
            out,
            "  n{from} -> n{to} [label={label}, color=purple, fontcolor=purple, style=bold, constraint=false];"
        );
    }
    out.push_str("}\n");
    out
}

/// One cluster a thread, one colour a relation.
pub(super) fn graph(shown: &Shown, title: &str) -> String {
    let mut out = nodes(&shown.events, title);
    for (name, edges) in &shown.relations {
        let style = match *name {
            "po" => "color=black",
            "rf" => "color=red, fontcolor=red",
            "co" => "color=blue, fontcolor=blue, constraint=false",
            "fr" => "color=orange, fontcolor=orange, constraint=false",
            "sync" => "color=darkgreen, fontcolor=darkgreen, style=bold, constraint=false",
            _ => "color=purple, fontcolor=purple, constraint=false",
        };
        for (a, b) in edges {
            let _ = writeln!(out, "  n{a} -> n{b} [label={name}, {style}];");
        }
    }
    out.push_str("}\n");
    out
}
