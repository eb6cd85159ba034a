//! One finding on the page, with every launch in which it was seen.

use indexmap::IndexMap;
use maud::{Markup, html};
use serde_json::Value;

use super::super::exchange::{Case, Issue};
use super::{At, STATUSES};

/// Launches named for a finding.
const NAMED: usize = 20;

/// Something found, equal ones of several launches once.
pub(super) struct Entry<'v> {
    /// As it was first seen.
    issue: &'v Issue,
    /// Where.
    seen: Vec<At<'v>>,
}

/// What all cases have, in the order in which it was first seen.
pub(super) fn entries(cases: &[Case]) -> Vec<Entry<'_>> {
    let mut entries: IndexMap<String, Entry<'_>> = IndexMap::new();
    let issues = cases
        .iter()
        .enumerate()
        .flat_map(|(at, case)| case.issues.iter().map(move |issue| (at, case, issue)));
    for (number, (at, case, issue)) in issues.enumerate() {
        let entry = entries.entry(issue.key(number)).or_insert_with(|| Entry { issue, seen: Vec::new() });
        entry.seen.push((at + 1, case));
    }
    entries.into_values().collect()
}

impl<'v> Entry<'v> {
    pub(super) fn kind(&self) -> &'v str {
        &self.issue.rule
    }

    pub(super) fn status(&self) -> &'v str {
        &self.issue.status
    }

    /// Empty for what is about none.
    pub(super) fn kernel(&self) -> &'v str {
        self.issue.finding["kernel"].as_str().unwrap_or_default()
    }

    pub(super) fn markup(&self) -> Markup {
        let (issue, finding) = (self.issue, &self.issue.finding);
        let (_, sign, word) =
            STATUSES.into_iter().find(|(status, ..)| *status == issue.status).unwrap_or(STATUSES[0]);
        let place = issue.places.first();
        html! {
            details.finding open[issue.is_new()] data-kind=(issue.rule) data-kernel=(self.kernel()) data-status=(issue.status) {
                summary {
                    span class={ "status " (issue.status) } { span.sign aria-hidden="true" { (sign) } " " (word) }
                    " " span.message { (words(finding["message"].as_str().unwrap_or(&issue.message))) }
                    @if let Some(place) = place { " " span.where { (place.file) @if place.line > 0 { ":" (place.line) } } }
                }
                @if let Some(reason) = &issue.reason { p.reason { "Suppressed: " (reason) } }
                (self.code())
                @if !issue.notes.is_empty() {
                    ul.notes { @for note in &issue.notes { li { (words(note)) } } }
                }
                @if finding["threads"].as_array().is_some_and(|groups| !groups.is_empty()) {
                    h4 { "Threads" }
                    ul.threads {
                        @for group in finding["threads"].as_array().into_iter().flatten() { li { (threads(group)) } }
                    }
                    @if let Some(count) = finding["count"].as_u64().filter(|&count| count > 1) { p { "It happened " (count) " times." } }
                }
                (self.launches())
                @if let Some(fingerprint) = &issue.fingerprint { p.fingerprint { "Fingerprint " code { (fingerprint) } } }
            }
        }
    }

    /// The lines of both places, beside each other.
    fn code(&self) -> Markup {
        let excerpts = self.issue.finding["excerpts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of = |side: &str| excerpts.iter().filter(|of| of["of"] == side).collect::<Vec<_>>();
        let sides =
            [("place", "Here"), ("other_place", "And here")].map(|(side, title)| (title, side, of(side)));
        let is_pair = !sides[1].2.is_empty();
        html! {
            @if excerpts.is_empty() {
                ul.places { @for place in &self.issue.places { li { (place.file) @if place.line > 0 { ":" (place.line) } } } }
            } @else {
                div.sides.pair[is_pair] {
                    @for (title, side, excerpts) in sides.iter().filter(|(.., excerpts)| !excerpts.is_empty()) {
                        div.side {
                            @if is_pair { h4 { (title) } }
                            @for of in excerpts { (excerpt(of)) }
                            (callers(&self.issue.finding[side]))
                        }
                    }
                }
            }
        }
    }

    fn launches(&self) -> Markup {
        let of = |case: &Case| {
            let launch = &case.launch;
            html! {
                (case.name)
                @if !launch.is_null() {
                    ": grid " (extents(&launch["grid"])) ", block " (extents(&launch["block"])) ", "
                    (launch["outcome"].as_str().unwrap_or_default())
                    @if let Some(process) = launch["process"].as_u64() { ", process " (process) }
                    "; the same schedule: " code { "--seed " (launch["seed"]) " --jobs 1" }
                }
            }
        };
        html! {
            details.seen open[self.seen.len() == 1] {
                summary { @match self.seen.len() { 1 => { "Seen once" } count => { "Seen " (count) " times" } } }
                ol { @for (at, case) in self.seen.iter().take(NAMED) { li value=(at) { (of(case)) } } }
                @if self.seen.len() > NAMED { p { "and " (self.seen.len() - NAMED) " more" } }
            }
        }
    }
}

/// A sentence in which code stands between backticks.
fn words(text: &str) -> Markup {
    // A backtick without its other one is a letter as any.
    let pairs = text.matches('`').count() / 2 * 2;
    let (mut parts, mut rest) = (Vec::new(), text);
    for _ in 0..pairs {
        let (part, behind) = rest.split_once('`').unwrap_or((rest, ""));
        parts.push(part);
        rest = behind;
    }
    html! {
        @for (at, part) in parts.iter().enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } }
        (rest)
    }
}

/// Lines with the marked place.
fn excerpt(of: &Value) -> Markup {
    let lines =
        |name: &str| of[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    let line = of["line"].as_u64().unwrap_or(1);
    let above = lines("above");
    let text = of["text"].as_str().unwrap_or_default();
    let at = |name: &str| of[name].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
    let (start, end) = (at("start"), at("end"));
    // A place that is none marks the whole line.
    let (before, marked, after) = match (text.get(..start), text.get(start..end), text.get(end..)) {
        (Some(before), Some(marked), Some(after)) if !marked.is_empty() => (before, marked, after),
        _ => ("", text, ""),
    };
    let plain = |number: u64, text: &str| html! { tr { th scope="row" { (number) } td { code { (text) } } } };
    html! {
        figure {
            figcaption {
                span.language { @if of["language"] == "ptx" { "PTX" } @else { "CUDA" } }
                " " (of["file"].as_str().unwrap_or_default()) ":" (line)
                @if let Some(function) = of["function"].as_str() { ", inlined from " code { (reports::readable(function)) } }
            }
            div.code tabindex="0" role="region" aria-label="source" {
                table {
                    @for (at, text) in above.iter().enumerate() { (plain(line.saturating_sub((above.len() - at) as u64), text)) }
                    tr.here {
                        th scope="row" { (line) }
                        td { code { (before) mark { (marked) } (after) } }
                    }
                    @for (at, text) in lines("below").iter().enumerate() { (plain(line + 1 + at as u64, text)) }
                }
            }
        }
    }
}

fn callers(place: &Value) -> Markup {
    let callers = place["callers"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        @if !callers.is_empty() {
            ol.callers { @for caller in callers {
                li {
                    "called from " code { (reports::readable(caller["function"].as_str().unwrap_or_default())) }
                    @if let Some(file) = caller["ptx"]["file"].as_str() { " at " (file) ":" (caller["ptx"]["line"]) }
                }
            } }
        }
    }
}

/// `4 × 1 × 1`
pub(super) fn extents(of: &Value) -> String {
    let parts = of.as_array().into_iter().flatten().map(Value::to_string);
    parts.collect::<Vec<_>>().join(" × ")
}

/// `blocks (0, 0, 0), threads (0…31, 0, 0)`
fn threads(group: &Value) -> String {
    let corner = |of: &Value, at: usize| of[at].as_u64().unwrap_or(0);
    let span = |of: &Value| {
        let axis = |at: usize| match (corner(&of["first"], at), corner(&of["last"], at)) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}…{last}"),
        };
        format!("({}, {}, {})", axis(0), axis(1), axis(2))
    };
    let threads = group["threads"].as_array().into_iter().flatten();
    format!("block {}, thread {}", span(&group["blocks"]), threads.map(span).collect::<Vec<_>>().join(", "))
}
