//! `--stats` for people.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use sim_core::{LaunchReport, Stats};

use crate::name::readable;

/// A table of what a launch did.
pub fn table(kernel: &str, report: &LaunchReport) -> String {
    let stats = &report.stats;
    let memory = &stats.memory;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut row = |name: &str, value: String, remark: String| {
        table.add_row(vec![format!("  {name}"), value, remark]);
    };
    row("blocks", grouped(stats.blocks), String::new());
    row("warp instructions", grouped(stats.warp_instructions), String::new());
    row("thread instructions", grouped(stats.thread_instructions), active_lanes(stats));
    row("branches", grouped(stats.branches), String::new());
    let split = percent(stats.divergent_branches, stats.branches);
    row("divergent branches", grouped(stats.divergent_branches), split);
    row("barriers", grouped(stats.barriers), String::new());
    let sectors = memory.global_sectors;
    let global = memory.global_read + memory.global_written;
    let efficiency = match sectors {
        0 => String::new(),
        _ => format!("{} sectors of 32 bytes, {}", grouped(sectors), percent(global, sectors * 32)),
    };
    row("global read", bytes(memory.global_read), efficiency);
    row("global written", bytes(memory.global_written), String::new());
    row("shared read", bytes(memory.shared_read), String::new());
    row("shared written", bytes(memory.shared_written), String::new());
    row("local read", bytes(memory.local_read), String::new());
    row("local written", bytes(memory.local_written), String::new());
    row("atomics", grouped(memory.atomics), String::new());
    row("time", time(stats.time), rate(stats));
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_string()).collect();
    format!("{}\n{}\n", readable(kernel), lines.join("\n"))
}

fn active_lanes(stats: &Stats) -> String {
    match stats.warp_instructions {
        0 => String::new(),
        warps => format!("{:.1} of 32 lanes active", stats.thread_instructions as f64 / warps as f64),
    }
}

pub(crate) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
    }
}

fn rate(stats: &Stats) -> String {
    match stats.time.as_secs_f64() {
        0.0 => String::new(),
        seconds => format!("{} thread instructions/s", scaled(stats.thread_instructions as f64 / seconds)),
    }
}

/// With a decimal prefix and three digits.
fn scaled(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{unit}")
}

/// With commas between thousands.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn bytes(value: u64) -> String {
    match value {
        ..1024 => format!("{value} B"),
        1024..0x10_0000 => format!("{:.1} KiB", value as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", value as f64 / 1048576.0),
        _ => format!("{:.1} GiB", value as f64 / 1073741824.0),
    }
}

fn time(value: Duration) -> String {
    match value.as_secs_f64() {
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Outcome;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1234567), "1,234,567");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(scaled(2.34e9), "2.34 G");
        assert_eq!(time(Duration::from_micros(1500)), "1.5 ms");
    }

    #[test]
    fn the_table_names_what_was_counted() {
        let stats = Stats {
            warp_instructions: 10,
            thread_instructions: 160,
            branches: 4,
            divergent_branches: 1,
            time: Duration::from_secs(1),
            ..Stats::default()
        };
        let report = LaunchReport {
            outcome: Outcome::Completed,
            findings: Vec::new(),
            dropped_findings: 0,
            stats,
            output: Vec::new(),
            metrics: Vec::new(),
            launched: Vec::new(),
        };
        let text = table("saxpy", &report);
        assert!(text.starts_with("saxpy\n"), "{text}");
        assert!(text.contains("16.0 of 32 lanes active"), "{text}");
        assert!(text.contains("25.0 %"), "{text}");
    }
}
