//! What was found as one page to look at: no network, no script needed but for its filter.
//!
//! It is made from the JSON documents as the other formats are. All texts go through `maud`, which escapes them; the style
//! and the script are constants.

mod finding;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use super::exchange::{Case, cases};
use super::plural;
use finding::Entry;

pub(crate) const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing is fetched, whatever a text says.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Launches that are listed.
const LAUNCHES: usize = 1000;

/// How the statuses are shown: beside its colour each has a sign and a word.
pub(super) const STATUSES: [(&str, &str, &str); 3] =
    [("new", "●", "new"), ("known", "○", "known"), ("suppressed", "◌", "suppressed")];

/// The page of a document.
pub(crate) fn page(document: &Value) -> String {
    let cases = cases(document);
    let entries = finding::entries(&cases);
    let command = document["command"].as_str().unwrap_or_default();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "warpgrind " (command) ": " (headline(&entries)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#findings" { "Skip to the findings" }
                header {
                    h1 { "warpgrind " (command) }
                    p.headline { (headline(&entries)) }
                    (facts(document, &entries))
                }
                @if !entries.is_empty() { (filter(&entries)) }
                main #findings tabindex="-1" {
                    @if entries.is_empty() { p.nothing { "Nothing was found." } }
                    @for (kind, kernels) in grouped(&entries) {
                        section.kind data-kind=(kind) {
                            h2 { (kind) }
                            @for (kernel, entries) in kernels {
                                section.kernel {
                                    @if !kernel.is_empty() { h3 { code { (reports::readable(kernel)) } } }
                                    @for entry in entries { (entry.markup()) }
                                }
                            }
                        }
                    }
                }
                (expected(&document["triage"]))
                (launches(document))
                footer { "Made by warpgrind " (env!("CARGO_PKG_VERSION")) ". Exit code " (document["exit_code"]) "." }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

/// How many there are, in words.
fn headline(entries: &[Entry<'_>]) -> String {
    let of = |status: &str| entries.iter().filter(|entry| entry.status() == status).count() as u64;
    let rest = STATUSES[1..].iter().filter(|(status, ..)| of(status) > 0);
    let rest = rest.map(|(status, _, word)| format!(", {} {word}", of(status)));
    match of("new") {
        0 => format!("no new findings{}", rest.collect::<String>()),
        new => plural(new, "finding") + &rest.collect::<String>(),
    }
}

fn facts(document: &Value, entries: &[Entry<'_>]) -> Markup {
    let launches = document["counts"]["launches"].as_u64();
    let launches = launches.or(document["launches"].as_array().map(|all| all.len() as u64));
    let program = document["program"]
        .as_array()
        .map(|parts| parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
    html! {
        dl.facts {
            @for (status, sign, word) in STATUSES {
                div class=(status) {
                    dt { span.sign aria-hidden="true" { (sign) } " " (word) }
                    dd { (entries.iter().filter(|entry| entry.status() == status).count()) }
                }
            }
            @if let Some(launches) = launches { div { dt { "launches" } dd { (launches) } } }
            @if let Some(processes) = document["counts"]["processes"].as_u64() {
                div { dt { "processes" } dd { (processes) } }
            }
        }
        @if let Some(program) = program { p { "Program: " code { (program) } } }
        @if let Some(baseline) = document["triage"]["baseline"].as_str() {
            p { "Compared with the baseline " code { (baseline) } }
        }
    }
}

fn filter(entries: &[Entry<'_>]) -> Markup {
    let mut kinds: Vec<&str> = entries.iter().map(Entry::kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut kernels: Vec<&str> =
        entries.iter().map(Entry::kernel).filter(|kernel| !kernel.is_empty()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    html! {
        form.filter role="search" aria-label="Filter the findings" {
            label { "Text " input #text type="search" placeholder="press / to search" autocomplete="off"; }
            label { "Kind " select #kind {
                option value="" { "all" }
                @for kind in kinds { option value=(kind) { (kind) } }
            } }
            label { "Kernel " select #kernel {
                option value="" { "all" }
                @for kernel in kernels { option value=(kernel) { (reports::readable(kernel)) } }
            } }
            fieldset {
                legend { "Status" }
                @for (status, _, word) in STATUSES {
                    label { input type="checkbox" name="status" value=(status) checked; " " (word) }
                }
            }
            button #fold type="button" { "Fold all" }
            output #shown aria-live="polite" {}
        }
    }
}

type ByKernel<'e, 'v> = BTreeMap<&'e str, Vec<&'e Entry<'v>>>;

/// By kind and kernel; new ones come first.
fn grouped<'e, 'v>(entries: &'e [Entry<'v>]) -> Vec<(&'e str, ByKernel<'e, 'v>)> {
    let mut kinds: BTreeMap<&str, ByKernel<'_, '_>> = BTreeMap::new();
    for entry in entries {
        kinds.entry(entry.kind()).or_default().entry(entry.kernel()).or_default().push(entry);
    }
    for group in kinds.values_mut().flat_map(|kernels| kernels.values_mut()) {
        group.sort_by_key(|entry| STATUSES.iter().position(|(status, ..)| *status == entry.status()));
    }
    let is_new = |of: &ByKernel<'_, '_>| of.values().flatten().any(|entry| entry.status() == "new");
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, kernels)| !is_new(kernels));
    kinds
}

/// What is no longer seen, and what matched nothing.
fn expected(triage: &Value) -> Markup {
    let list = |name: &str| triage[name].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        @if !list("gone").is_empty() {
            section.gone {
                h2 { "In the baseline, not seen any more" }
                ul { @for known in list("gone") {
                    li {
                        (known["kind"].as_str().unwrap_or_default()) " in "
                        code { (reports::readable(known["kernel"].as_str().unwrap_or_default())) }
                        ", " (known["file"].as_str().unwrap_or_default()) ":" (known["line"]) " "
                        code { (known["text"].as_str().unwrap_or_default()) }
                    }
                } }
            }
        }
        @if !list("unused").is_empty() {
            section.unused {
                h2 { "Suppressions that match nothing" }
                ul { @for rule in list("unused") {
                    li { code { (rule["origin"].as_str().unwrap_or_default()) } ": " (rule["reason"].as_str().unwrap_or_default()) }
                } }
            }
        }
    }
}

fn launches(document: &Value) -> Markup {
    let Some(launches) = document["launches"].as_array().filter(|all| !all.is_empty()) else {
        return html! {};
    };
    html! {
        details.launches {
            summary { h2 { "Launches" } }
            table {
                thead { tr { @for name in ["", "kernel", "grid", "block", "seed", "jobs", "ended", "findings", "seconds"] { th scope="col" { (name) } } } }
                tbody { @for (at, launch) in launches.iter().take(LAUNCHES).enumerate() {
                    tr {
                        td { (at + 1) }
                        td { code { (reports::readable(launch["kernel"].as_str().unwrap_or_default())) } }
                        td { (finding::extents(&launch["grid"])) }
                        td { (finding::extents(&launch["block"])) }
                        td { (launch["seed"]) }
                        td { (launch["jobs"]) }
                        td { (launch["outcome"].as_str().unwrap_or_default()) }
                        td { (launch["findings"].as_array().map_or(0, Vec::len) as u64 + launch["dropped_findings"].as_u64().unwrap_or(0)) }
                        td { (format!("{:.3}", launch["stats"]["time"].as_f64().unwrap_or(0.0))) }
                    }
                } }
            }
            @if launches.len() > LAUNCHES { p { "and " (launches.len() - LAUNCHES) " more" } }
        }
    }
}

/// Where something was found: the number of the case and the case.
type At<'v> = (usize, &'v Case);
