//! Graphs in the DOT language.

use super::Shown;
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// One cluster a thread, one colour a relation.
pub(super) fn graph(shown: &Shown, title: &str) -> String {
    let mut out = String::from("digraph execution {\n");
    let _ =
        writeln!(out, "  label={};\n  labelloc=t;\n  node [shape=box, fontname=monospace];", quoted(title));
    let mut threads: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
    for (i, e) in shown.events.iter().enumerate() {
        threads.entry(e.thread).or_default().push(i);
    }
    for (thread, events) in threads {
        if let Some(t) = thread {
            let _ = writeln!(out, "  subgraph cluster_P{t} {{\n    label=\"P{t}\";");
        }
        for i in events {
            let e = &shown.events[i];
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
