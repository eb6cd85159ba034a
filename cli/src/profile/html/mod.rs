//! `profile --report FILE.html`: what launches cost as one page to look at, with nothing to fetch and no script.

mod source;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use reports::readable;
use sim_core::{DeviceConfig, Outcome};
use warpgrind::profile::Profile;
use warpgrind::profile::assemble::Resources;
use warpgrind::profile::residency::Residency;
use warpgrind::profile::time::{Chip, Reason, Timed};

use super::{Launch, code};
use crate::report::html::{POLICY, STYLE as COMMON};

const STYLE: &str = include_str!("page.css");

/// Launches that are shown one by one.
const SHOWN: usize = 100;

/// The page of launches on a chip, each with the text of its PTX.
pub(super) fn page(chip: &Chip, launches: &[(&Launch, &str)], exit: u8) -> String {
    let cycles = |launch: &Launch| value(launch, "gpc__cycles_elapsed.max");
    let all: f64 = launches.iter().filter_map(|(launch, _)| cycles(launch)).sum();
    let microseconds = all / chip.clock * 1e6;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "warpgrind profile" }
                style { (PreEscaped(COMMON)) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "warpgrind profile" }
                    p.headline {
                        @if launches.len() == 1 { "1 launch" } @else { (launches.len()) " launches" }
                        @if all > 0.0 { ": " (grouped(all)) " cycles, " (short(microseconds)) " µs on an " (chip.name) }
                    }
                }
                main {
                    (overview(chip, launches, all))
                    @for (number, (launch, text)) in launches.iter().enumerate().take(SHOWN) { (one(number, launch, text, chip)) }
                    @if launches.len() > SHOWN { p.said { "The charts of " (launches.len() - SHOWN) " more are left out." } }
                }
                footer { "Made by warpgrind " (env!("CARGO_PKG_VERSION")) ". Exit code " (exit) "." }
            }
        }
    };
    markup.into_string()
}

fn overview(chip: &Chip, launches: &[(&Launch, &str)], all: f64) -> Markup {
    html! {
        h2 { "Launches" }
        table.all {
            thead { tr {
                @for name in ["", "kernel", "grid", "block"] { th scope="col" { (name) } }
                @for name in ["cycles", "µs", "share", "instructions a cycle", "warps active"] { th.number scope="col" { (name) } }
                th scope="col" { "ended" }
            } }
            tbody { @for (number, (launch, _)) in launches.iter().enumerate() {
                @let Profile { kernel, grid, block, .. } = &launch.measured.profile;
                @let number_of = |name: &str| value(launch, name);
                @let cycles = number_of("gpc__cycles_elapsed.max");
                tr {
                    td.number { (number + 1) }
                    td { @if number < SHOWN { a href={ "#launch-" (number + 1) } { code { (readable(kernel)) } } } @else { code { (readable(kernel)) } } }
                    td { (grid) }
                    td { (block) }
                    td.number { (cycles.map_or("not known".into(), grouped)) }
                    td.number { (cycles.map_or(String::new(), |cycles| short(cycles / chip.clock * 1e6))) }
                    td.number.hot style={ "--share: " (cycles.map_or(0.0, |cycles| cycles / all.max(1.0))) } {
                        (cycles.map_or(String::new(), |cycles| percent(cycles / all.max(1.0))))
                    }
                    td.number { (number_of("sm__inst_issued.avg.per_cycle_active").map_or(String::new(), short)) }
                    td.number { (number_of("sm__warps_active.avg.pct_of_peak_sustained_active").map_or(String::new(), |of| percent(of / 100.0))) }
                    td { (reports::outcome_name(launch.outcome)) }
                }
            } }
        }
    }
}

fn one(number: usize, launch: &Launch, text: &str, chip: &Chip) -> Markup {
    let Profile { kernel, grid, block, .. } = &launch.measured.profile;
    let timed = launch.measured.timed.as_ref();
    html! {
        section id={ "launch-" (number + 1) } {
            h2 { (number + 1) ". " code { (readable(kernel)) } }
            p.said { "Grid " (grid) ", block " (block) (if launch.by_kernel { ", launched by a kernel" } else { "" }) "; machine instructions: " (code::how(launch)) "." }
            @match timed {
                Ok(timed) => { p.said { "Time: " (code::timed_how(timed, launch.missing)) "." } }
                Err(why) => { p.said { "Time: not known, as " (why) "." } }
            }
            @if launch.outcome != Outcome::Completed { p { "It did not complete: " code { "warpgrind run" } " says why." } }
            div.charts {
                @if let Ok(timed) = timed { (waits(timed)) }
                (occupancy(launch))
                (memory(launch, chip))
            }
            @if let Ok(timed) = timed { (source::heat(launch, timed, text)) }
        }
    }
}

/// A number of a launch, by its name.
fn value(launch: &Launch, name: &str) -> Option<f64> {
    launch.measured.profile.value(name)
}

/// Rows of a name, a share, and what it is in words.
fn bars(rows: &[(String, f64, String)]) -> Markup {
    html! {
        div.bars {
            @for (name, share, said) in rows {
                span { (name) }
                span.track aria-hidden="true" { span.fill style={ "width: " (format!("{:.1}%", 100.0 * share.clamp(0.0, 1.0))) } {} }
                span.value { (said) }
            }
        }
    }
}

/// What warps wait for, cycles an instruction.
fn waits(timed: &Timed) -> Markup {
    let time = &timed.time;
    let issued = (time.issued as f64).max(1.0);
    let each = Reason::ALL.map(|(reason, name)| {
        let cycles: f64 = time.stalls.iter().map(|stalls| stalls[reason as usize]).sum();
        (name, cycles / issued)
    });
    let all: f64 = each.iter().map(|(_, cycles)| cycles).sum();
    let mut rows: Vec<(String, f64, String)> = each
        .into_iter()
        .filter(|(_, cycles)| *cycles >= 0.005)
        .map(|(name, cycles)| (name.replace('_', " "), cycles / all.max(1e-9), format!("{cycles:.2}")))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    html! {
        figure {
            figcaption { "What a warp does, in cycles from one instruction to its next (" (short(all)) ")" }
            (bars(&rows))
        }
    }
}

/// What goes between multiprocessors, the second level of cache and memory.
fn memory(launch: &Launch, chip: &Chip) -> Markup {
    let number = |name: &str| value(launch, name).unwrap_or(0.0);
    let sum = |kinds: &[&str], what: &str, space: &str| -> f64 {
        kinds.iter().map(|kind| number(&format!("l1tex__t_{what}_pipe_lsu_mem_{space}_op_{kind}.sum"))).sum()
    };
    let (loads, stores) = (&["ld"][..], &["st", "atom", "red"][..]);
    let requests = [(loads, "global"), (stores, "global"), (loads, "local"), (stores, "local")];
    let requests =
        requests.map(|(kinds, space)| (sum(kinds, "requests", space), sum(kinds, "sectors", space)));
    let shared: f64 = ["ld", "st"]
        .iter()
        .map(|kind| number(&format!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum")))
        .sum();
    let conflicts: f64 = number("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum");
    let known = value(launch, "dram__bytes_read.sum").is_some();
    let way = |class: &str, count: f64, what: &str| {
        html! { div class={ "way " (class) } { (large(count, what)) } }
    };
    let seconds = number("gpu__time_duration.sum") * 1e-9;
    let used = |bytes: f64, peak: f64| bytes / seconds.max(1e-12) / (peak * chip.clock);
    let rows = [
        ("reads of memory", number("dram__bytes_read.sum"), chip.dram.read),
        ("writes of memory", number("dram__bytes_write.sum"), chip.dram.write),
    ];
    let rows: Vec<(String, f64, String)> = rows
        .into_iter()
        .map(|(name, bytes, peak)| {
            let share = used(bytes, peak);
            (
                name.to_owned(),
                share,
                format!("{}, {}", large(bytes / seconds.max(1e-12), "B/s"), percent(share)),
            )
        })
        .collect();
    html! {
        figure.wide {
            figcaption { "Memory" }
            div.flow {
                div.unit { b { "kernel" } }
                div.ways {
                    (way("back", requests[0].0 + requests[2].0, "loads"))
                    (way("", requests[1].0 + requests[3].0, "stores, atomics"))
                    (way("", shared, "shared wavefronts"))
                }
                div.unit { b { "first level" } (large(requests.iter().map(|(_, sectors)| sectors).sum(), "sectors")) br; (large(conflicts, "bank conflicts")) }
                @if known {
                    div.ways {
                        (way("back", 32.0 * number("lts__t_sectors_op_read.sum"), "B"))
                        (way("", 32.0 * number("lts__t_sectors_op_write.sum"), "B"))
                    }
                    div.unit { b { "second level" } (percent(number("lts__t_sector_hit_rate.pct") / 100.0)) " found" }
                    div.ways {
                        (way("back", number("dram__bytes_read.sum"), "B"))
                        (way("", number("dram__bytes_write.sum"), "B"))
                    }
                    div.unit { b { "memory" } }
                }
            }
            @if known { (bars(&rows)) }
        }
    }
}

/// How many blocks a multiprocessor has, why not more, and what other sizes would give.
fn occupancy(launch: &Launch) -> Markup {
    let number = |name: &str| value(launch, name).unwrap_or(0.0);
    let count = |name: &str| number(name) as u32;
    let names = [
        ("warps", "warps"),
        ("registers", "registers"),
        ("shared_mem", "shared memory"),
        ("blocks", "blocks"),
    ];
    let limits: Vec<(&str, f64)> = names
        .iter()
        .map(|(name, said)| (*said, number(&format!("launch__occupancy_limit_{name}"))))
        .filter(|(_, limit)| *limit > 0.0)
        .collect();
    let most = limits.iter().map(|(_, limit)| *limit).fold(1.0, f64::max);
    let least = limits.iter().map(|(_, limit)| *limit).fold(f64::INFINITY, f64::min);
    let rows: Vec<(String, f64, String)> = limits
        .iter()
        .map(|(name, limit)| {
            let mark = if *limit == least { " ◀ the limit" } else { "" };
            ((*name).to_owned(), limit / most, format!("{limit:.0}{mark}"))
        })
        .collect();
    let resources = Resources {
        registers: count("launch__registers_per_thread"),
        shared: count("launch__shared_mem_per_block_static"),
        ..Resources::default()
    };
    let device = DeviceConfig::h200();
    let dynamic = count("launch__shared_mem_per_block_dynamic");
    let share = |threads: u32| {
        let blocks = Residency::of(&device, threads, &resources, dynamic).blocks();
        f64::from(blocks * threads.div_ceil(32)) / 64.0
    };
    let threads = launch.measured.profile.block.count() as u32;
    let place = |threads: u32| (40.0 + f64::from(threads) / 1024.0 * 340.0, 90.0 - 80.0 * share(threads));
    let line: Vec<String> = (1..=32)
        .map(|warps| {
            let (x, y) = place(32 * warps);
            format!("{x:.1},{y:.1}")
        })
        .collect();
    let (x, y) = place(threads.clamp(1, 1024));
    html! {
        figure {
            figcaption {
                "Occupancy " (percent(number("sm__maximum_warps_per_active_cycle_pct") / 100.0))
                ": blocks that a multiprocessor may have at a time, by what limits them; below, its warps by threads a block"
            }
            (bars(&rows))
            svg viewBox="0 0 400 120" role="img" aria-label="Share of warps by threads a block" {
                @for (share, y) in [("100 %", 10), ("50 %", 50), ("0", 90)] {
                    line.axis x1="40" y1=(y) x2="380" y2=(y) {}
                    text x="36" y=(y + 3) text-anchor="end" { (share) }
                }
                @for threads in [256, 512, 768, 1024] { text x=(40 + threads * 340 / 1024) y="103" text-anchor="middle" { (threads) } }
                text x="210" y="116" text-anchor="middle" { "threads a block" }
                polyline.line points=(line.join(" ")) {}
                circle.here cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="4" { title { (threads) " threads: " (percent(share(threads.max(1)))) } }
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn short(number: f64) -> String {
    if number >= 100.0 { grouped(number) } else { format!("{number:.2}") }
}

/// A whole number with its digits in threes.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for at in (first..digits.len()).step_by(3) {
        if !text.is_empty() {
            text.push('\u{202f}');
        }
        text += &digits[at..at + 3];
    }
    text
}

/// A number of a unit, with a prefix of a thousand, a million, a billion.
fn large(number: f64, unit: &str) -> String {
    let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (scale, prefix) = scales.into_iter().find(|(scale, _)| number >= *scale).unwrap_or((1.0, ""));
    let digits = usize::from(!prefix.is_empty());
    // Of what is counted, the prefix stands with the number; of bytes, with the unit.
    let space = if unit.starts_with('B') {
        (" ", "")
    } else if unit.is_empty() {
        ("", "")
    } else {
        ("", " ")
    };
    format!("{:.digits$}{}{prefix}{}{unit}", number / scale, space.0, space.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups() {
        assert_eq!(
            [7.0, 999.4, 1000.0, 1234567.0].map(grouped),
            ["7", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
        assert_eq!([0.0, 12.0, 1500.0].map(|of| large(of, "loads")), ["0 loads", "12 loads", "1.5k loads"]);
        assert_eq!(
            (large(2.5e9, "B/s"), large(7.0, "B"), large(4096.0, "")),
            ("2.5 GB/s".into(), "7 B".into(), "4.1k".into())
        );
    }
}
