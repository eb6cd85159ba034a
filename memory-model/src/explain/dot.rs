//! Graphs in the DOT language.

use super::{Cut, Shown, ShownEvent, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The head of a graph and its nodes: one cluster a thread, side by side under the initial writes that matter.
/// Only program order and what is invisible decides who stands below whom.
fn nodes(events: &[ShownEvent], title: &str, used: &BTreeSet<usize>) -> String {
    let mut out = String::from("digraph execution {\n");
    let _ = writeln!(out, "  label={};\n  labelloc=t;\n  nodesep=0.6;", quoted(title));
    out.push_str("  node [shape=box, fontname=monospace];\n  edge [fontname=monospace, fontsize=12];\n");
    let threads = by_thread(events);
    let first: Vec<usize> = threads
        .iter()
        .filter(|(thread, _)| thread.is_some())
        .filter_map(|(_, m)| m.first().copied())
        .collect();
    for (thread, members) in threads {
        let Some(t) = thread else {
            for i in members.into_iter().filter(|i| used.contains(i)) {
                let text = quoted(&format!("{}: {}", events[i].label, events[i].action));
                let _ = writeln!(out, "  n{i} [label={text}, style=rounded];");
                first.iter().for_each(|below| out += &format!("  n{i} -> n{below} [style=invis];\n"));
            }
            continue;
        };
        let _ = writeln!(out, "  subgraph cluster_P{t} {{\n    label=\"P{t}\";");
        for i in members {
            let e = &events[i];
            let text = quoted(&format!("{}: {}\n{} (line {})", e.label, e.action, e.text, e.line));
            let _ = writeln!(out, "    n{i} [label={text}];");
        }
        out.push_str("  }\n");
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
    let ends = cut.reads_from.iter().copied().chain(cut.cycle.iter().map(|step| (step.from, step.to)));
    let used = ends.flat_map(|(a, b)| [a, b]).collect();
    let mut out = nodes(&cut.events, &format!("{title}: forbidden by {}", cut.axiom), &used);
    // Program order as far as it is immediate; what of it is in the cycle is drawn once.
    let threads = by_thread(&cut.events);
    let members = threads.iter().filter(|(thread, _)| thread.is_some()).map(|(_, members)| members);
    let order: BTreeSet<(usize, usize)> = members.flat_map(|m| m.windows(2).map(|p| (p[0], p[1]))).collect();
    let immediate = |step: &Step| step.relation == "po" && order.contains(&(step.from, step.to));
    for &(a, b) in &order {
        let style = match cut.cycle.iter().any(|step| immediate(step) && (step.from, step.to) == (a, b)) {
            true => "color=purple, fontcolor=purple, style=bold",
            false => "color=gray, fontcolor=gray40",
        };
        let _ = writeln!(out, "  n{a} -> n{b} [label=\" po\", {style}];");
    }
    for (read, write) in &cut.reads_from {
        let _ =
            writeln!(out, "  n{write} -> n{read} [label=rf, color=red, fontcolor=red, constraint=false];");
    }
    for Step { from, relation, to, .. } in cut.cycle.iter().filter(|step| !immediate(step)) {
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
    let used = shown.relations.iter().flat_map(|(_, edges)| edges).flat_map(|&(a, b)| [a, b]).collect();
    let mut out = nodes(&shown.events, title, &used);
    for (name, edges) in &shown.relations {
        let style = match *name {
            "po" => "color=black",
            "rf" => "color=red, fontcolor=red, constraint=false",
            "co" => "color=blue, fontcolor=blue, constraint=false",
            "fr" => "color=darkorange3, fontcolor=darkorange3, constraint=false",
            "sync" => "color=darkgreen, fontcolor=darkgreen, style=bold, constraint=false",
            _ => "color=purple, fontcolor=purple, constraint=false",
        };
        for (a, b) in edges {
            let _ = writeln!(out, "  n{a} -> n{b} [label=\" {name}\", {style}];");
        }
    }
    out.push_str("}\n");
    out
}
