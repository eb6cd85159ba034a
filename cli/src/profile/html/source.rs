//! The lines of a kernel as a heat map: how often they are executed, and how long warps wait at them.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};
use reports::readable;
use warpgrind::profile::time::{Reason, Timed};

use super::super::code::Lines;
use super::{large, percent};

/// Bytes of a source file that is shown.
const LONGEST: u64 = 8 << 20;
/// Lines of PTX below a line that are shown.
const BELOW: usize = 200;

/// What is known of a line.
#[derive(Clone, Default)]
struct Cost {
    issued: f64,
    stalls: [f64; Reason::COUNT],
}

impl Cost {
    fn add(&mut self, stalls: &[f64; Reason::COUNT]) {
        self.issued += stalls[Reason::Selected as usize];
        self.stalls.iter_mut().zip(stalls).for_each(|(all, own)| *all += own);
    }

    fn all(&self) -> f64 {
        self.stalls.iter().sum()
    }

    /// What the most of it is.
    fn most(&self) -> String {
        let reasons = Reason::ALL.iter().map(|(reason, name)| (self.stalls[*reason as usize], *name));
        let most = reasons.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(cycles, _)| *cycles > 0.0);
        most.map_or(String::new(), |(_, name)| name.replace('_', " "))
    }

    fn cells(&self, all: f64) -> Markup {
        let share = self.all() / all;
        html! {
            td.number { (large(self.issued, "")) }
            td.number.hot style={ "--share: " (format!("{share:.4}")) } { (percent(share)) }
            td { (self.most()) }
        }
    }
}

/// Lines of CUDA, each with the PTX that it was made into; of PTX alone, where that says no other.
pub(super) fn heat(timed: &Timed, text: &str, kernel: &str) -> Markup {
    let lines = Lines::of(text);
    let mut by_line: BTreeMap<u32, Cost> = BTreeMap::new();
    for (line, stalls) in timed.lines.iter().zip(&timed.time.stalls) {
        by_line.entry(*line).or_default().add(stalls);
    }
    let all = by_line.values().map(Cost::all).sum::<f64>().max(1.0);
    // By file and line of the source; what has none comes last.
    let mut by_place: BTreeMap<(bool, u32, u32), Vec<u32>> = BTreeMap::new();
    for &line in by_line.keys() {
        let place = lines.at(line).1;
        let (file, at) = place.unwrap_or_default();
        by_place.entry((place.is_none(), file, at)).or_default().push(line);
    }
    let mut files: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for &(_, file, _) in by_place.keys().filter(|(none, ..)| !none) {
        files.entry(file).or_insert_with(|| read(lines.file(file)));
    }
    let has_source = files.values().any(|lines| !lines.is_empty());
    html! {
        figure {
            figcaption { "Where warps of " code { (readable(kernel)) } " spend their cycles, by line" }
            div.scroll {
                table.heat {
                    thead { tr { th scope="col" { "warps issued" } th scope="col" { "cycles" } th scope="col" { "most of them" } th scope="col" { "line" } th scope="col" { (if has_source { "source" } else { "" }) } } }
                    @for ((none, file, at), own) in &by_place {
                        @let cost = own.iter().fold(Cost::default(), |mut cost, line| { cost.add(&by_line[line].stalls); cost });
                        tbody {
                            @if !none {
                                tr.cuda {
                                    (cost.cells(all))
                                    td { (lines.cuda(Some((*file, *at)))) }
                                    td.source { code { (files.get(file).and_then(|text| text.get((*at as usize).wrapping_sub(1))).map_or("", |text| text)) } }
                                }
                            }
                            @for line in own.iter().take(BELOW) {
                                tr.ptx {
                                    (by_line[line].cells(all))
                                    td { @if *line > 0 { "PTX " (line) } }
                                    td.source { code { (lines.at(*line).0.split_whitespace().collect::<Vec<_>>().join(" ")) } }
                                }
                            }
                        }
                    }
                }
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
