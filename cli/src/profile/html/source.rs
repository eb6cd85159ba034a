//! The lines of a kernel as a heat map: how often they are executed, what they access, and how long warps wait at them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use maud::{Markup, html};
use reports::readable;
use sim_core::tools::counts;
use warpgrind::profile::machine::listing::Instruction;
use warpgrind::profile::time::{Reason, Timed};

use super::super::Launch;
use super::super::code::{self, Lines};
use super::{large, percent};

/// Bytes of a source file that is shown.
const LONGEST: u64 = 8 << 20;
/// Lines of PTX below a line that are shown.
const BELOW: usize = 200;
/// Lines without cost that are shown between two that have some.
const BETWEEN: u32 = 3;
/// The share of all cycles from which on the machine instructions of a line of PTX are shown.
const HOT: f64 = 0.002;

/// What is known of a line, or of a machine instruction.
#[derive(Clone, Default)]
struct Cost {
    issued: f64,
    stalls: [f64; Reason::COUNT],
    sectors: u64,
    conflicts: u64,
}

impl Cost {
    fn stalled(&mut self, stalls: &[f64; Reason::COUNT]) {
        self.issued += stalls[Reason::Selected as usize];
        self.stalls.iter_mut().zip(stalls).for_each(|(all, own)| *all += own);
    }

    fn add(&mut self, other: &Cost) {
        self.stalled(&other.stalls);
        self.sectors += other.sectors;
        self.conflicts += other.conflicts;
    }

    fn all(&self) -> f64 {
        self.stalls.iter().sum()
    }

    /// What it is made of, the most first.
    fn parts(&self) -> Vec<(String, f64)> {
        let all = self.all();
        let parts = Reason::ALL.iter().map(|(reason, name)| (name, self.stalls[*reason as usize]));
        let parts = parts.filter(|(_, cycles)| *cycles > 0.0);
        let mut parts: Vec<_> = parts.map(|(name, cycles)| (name.replace('_', " "), cycles / all)).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts
    }

    /// The cells of a row, before those that say what it is of.
    fn cells(&self, all: f64) -> Markup {
        let share = self.all() / all;
        let parts = self.parts();
        let each: Vec<String> =
            parts.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        let count = |number: u64| if number > 0 { large(number as f64, "") } else { String::new() };
        html! {
            span.number { (large(self.issued, "")) }
            span.number { (count(self.sectors)) }
            span.number { (count(self.conflicts)) }
            span.number.hot style={ "--share: " (format!("{share:.4}")) } { (percent(share)) }
            span title=(each.join(", ")) { (parts.first().map_or("", |(name, _)| name)) }
        }
    }
}

/// A kernel's costs by line of its PTX.
struct Heat<'a> {
    timed: &'a Timed,
    listing: Option<&'a [Instruction]>,
    lines: Lines<'a>,
    costs: BTreeMap<u32, Cost>,
    all: f64,
}

impl<'a> Heat<'a> {
    fn of(launch: &'a Launch, timed: &'a Timed, text: &'a str) -> Self {
        let mut costs: BTreeMap<u32, Cost> = BTreeMap::new();
        for (line, stalls) in timed.lines.iter().zip(&timed.time.stalls) {
            costs.entry(*line).or_default().stalled(stalls);
        }
        for of in launch.metrics.iter().flat_map(|metrics| &metrics.instructions) {
            let Some(cost) = costs.get_mut(&of.line) else { continue };
            for metric in &of.metrics {
                match &*metric.name {
                    counts::SECTORS => cost.sectors += metric.value,
                    counts::EXCESSIVE_WAVEFRONTS => cost.conflicts += metric.value,
                    _ => {}
                }
            }
        }
        let all = costs.values().map(Cost::all).sum::<f64>().max(1.0);
        // What is timed is the listing, if it is not code of our making.
        let listing = launch.measured.executed.as_ref().map(|executed| &executed.listing.instructions[..]);
        let listing = listing.filter(|of| !timed.lowered && of.len() == timed.lines.len());
        Heat { timed, listing, lines: Lines::of(text), costs, all }
    }

    /// A line of PTX with the machine instructions that it was made into.
    fn ptx(&self, line: u32) -> Markup {
        let cost = &self.costs[&line];
        let code = self.lines.at(line).0.split_whitespace().collect::<Vec<_>>().join(" ");
        let row = html! {
            (cost.cells(self.all))
            span.place { @if line > 0 { "PTX " (line) } }
            // What is of no line is before a kernel's first one.
            span.source { @if line > 0 { code { (code) } } @else { "added by the compiler" } }
        };
        let own = |of: &[Instruction]| (0..of.len()).filter(|&at| self.timed.lines[at] == line).collect();
        let machine: Vec<usize> =
            self.listing.filter(|_| cost.all() / self.all >= HOT).map_or_else(Vec::new, own);
        if machine.is_empty() {
            return html! { div.row.ptx { (row) } };
        }
        html! {
            details {
                summary.row.ptx { (row) }
                @for at in machine.into_iter().take(BELOW) { (self.machine(at)) }
            }
        }
    }

    fn machine(&self, at: usize) -> Markup {
        let mut cost = Cost::default();
        cost.stalled(&self.timed.time.stalls[at]);
        html! {
            div.row.machine {
                (cost.cells(self.all))
                span.place { (format!("{:04x}", 16 * at)) }
                span.source { code { (self.listing.map_or(String::new(), |of| code::instruction(&of[at]))) } }
            }
        }
    }

    /// Lines of a file of CUDA, each with the PTX that it was made into.
    fn file(&self, file: u32, own: &BTreeMap<u32, Vec<u32>>) -> Markup {
        let name = self.lines.file(file);
        let text = read(name);
        let at = |line: u32| text.get((line as usize).wrapping_sub(1)).map_or("", |text| text);
        // Those before each line that is shown, and have no cost; what is of no line is line 0.
        let shown = || own.keys().copied().filter(|&line| line > 0);
        let before = shown().zip(shown().skip(1)).map(|(last, next)| (next, last + 1..next));
        let before: BTreeMap<u32, Range<u32>> =
            before.filter(|(_, gap)| !text.is_empty() && !gap.is_empty()).collect();
        html! {
            p.file { code { (name) } }
            @for (&line, below) in own {
                @if let Some(gap) = before.get(&line) {
                    @if gap.len() as u32 > BETWEEN { div.row.idle { span.place { "…" } } }
                    @else { @for line in gap.clone() {
                        div.row.idle { span.place { (line) } span.source { code { (at(line)) } } }
                    } }
                }
                @let cost = below.iter().fold(Cost::default(), |mut cost, line| { cost.add(&self.costs[line]); cost });
                details {
                    summary.row.cuda {
                        (cost.cells(self.all))
                        span.place { @if line > 0 { (line) } }
                        span.source { code { (at(line)) } }
                    }
                    @for &line in below.iter().take(BELOW) { (self.ptx(line)) }
                }
            }
        }
    }
}

/// Lines of CUDA, each with the PTX that it was made into, and that with its machine code; of PTX alone, where that says no other.
pub(super) fn heat(launch: &Launch, timed: &Timed, text: &str) -> Markup {
    let heat = Heat::of(launch, timed, text);
    // By file and line of the source; what has none comes last.
    let mut files: BTreeMap<u32, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
    let mut others = Vec::new();
    for &line in heat.costs.keys() {
        match heat.lines.at(line).1 {
            Some((file, at)) => files.entry(file).or_default().entry(at).or_default().push(line),
            None => others.push(line),
        }
    }
    html! {
        figure {
            figcaption {
                "Where warps of " code { (readable(&launch.measured.profile.kernel)) }
                " spend their cycles, by line; a line opens to what it was made into"
            }
            div.heat tabindex="0" role="group" aria-label="Lines and their cost" {
                div.row.head {
                    @for name in ["warps issued", "sectors", "conflicts", "cycles"] { span.number { (name) } }
                    span { "most of them" } span.place { "line" } span { "source" }
                }
                @for (file, own) in &files { (heat.file(*file, own)) }
                @if !files.is_empty() && !others.is_empty() { p.file { "Of no line of a source" } }
                @for line in others { (heat.ptx(line)) }
            }
        }
    }
}

/// The lines of a source file; none if it is not there.
fn read(path: &str) -> Vec<String> {
    let path = Path::new(path);
    let small = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
    let text = if small { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}
