//! `warpgrind selftest`: whether this build gives the bits of an H200.

use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use numerics::certificate::{BLOCKS, OPERATIONS, differing, sample};
use serde::Serialize;

use crate::args::{Global, NumericsArgs};
use crate::exit::{Exit, Failure, quoted_list};
use crate::report::{Console, SCHEMA, plural};

/// What an H200 gives; `testdata/h200/README.md` describes it.
const RECORDED: &[u8] = include_bytes!("../recorded/unary-hashes.u64");

/// Inputs that a hash covers.
const BLOCK: u64 = 1 << 20;

/// Differing ranges of inputs that are named for one operation.
const RANGES: usize = 4;

/// The document of `warpgrind selftest numerics`.
#[derive(Serialize, Debug)]
struct Report {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    exhaustive: bool,
    device: &'static str,
    seconds: f64,
    operations: Vec<OperationReport>,
}

/// One operation.
#[derive(Serialize, Debug)]
struct OperationReport {
    name: &'static str,
    /// Inputs compared.
    inputs: u64,
    /// Nanoseconds an input takes one thread.
    nanoseconds: f64,
    /// First inputs of the ranges of 2^20 that differ.
    differing: Vec<u32>,
}

/// Recomputes hashes of one-operand operations and compares them with the recorded ones.
pub(crate) fn numerics(args: &NumericsArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let operations = selected(&args.only)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    let start = Instant::now();
    let mut reports = run(&pool, &operations, sample, &ProgressBar::hidden());
    if args.exhaustive {
        let (part, parts) = args.shard.unwrap_or((1, 1));
        let blocks: Vec<usize> = (0..BLOCKS).filter(|block| block % parts == part - 1).collect();
        let threads = pool.current_num_threads();
        let lane: f64 = reports.iter().map(|report| report.nanoseconds).sum();
        let estimate = lane * blocks.len() as f64 * BLOCK as f64 / threads as f64 * 1e-9;
        console.err(format!(
            "{} on {} will take at most about {}\n",
            plural(operations.len() as u64, "operation"),
            plural(threads as u64, "thread"),
            duration(estimate)
        ));
        let bar = bar((operations.len() * blocks.len()) as u64);
        reports = run(&pool, &operations, |_| blocks.clone(), &bar);
        bar.finish_and_clear();
    }
    let wrong = reports.iter().filter(|report| !report.differing.is_empty()).count();
    let exit = if wrong == 0 { Exit::Clean } else { Exit::Findings };
    let seconds = start.elapsed().as_secs_f64();
    if console.is_human() {
        show(&reports, wrong, seconds, console);
    } else {
        console.json(&Report {
            schema: SCHEMA,
            command: "selftest numerics",
            exit_code: exit.code(),
            exhaustive: args.exhaustive,
            device: "NVIDIA H200",
            seconds,
            operations: reports,
        });
    }
    Ok(exit)
}

/// Indices of the named operations; all if none is named.
fn selected(only: &[String]) -> Result<Vec<usize>, Failure> {
    if only.is_empty() {
        return Ok((0..OPERATIONS.len()).collect());
    }
    let find = |name: &String| {
        OPERATIONS.iter().position(|operation| operation.name == name).ok_or_else(|| {
            let names = OPERATIONS.iter().map(|operation| operation.name);
            Failure::usage(format!("there is no operation `{name}`"))
                .suggest(name, names.clone())
                .note(format!("the operations are {}", quoted_list(names)))
        })
    };
    only.iter().map(find).collect()
}

/// Compares the blocks that `blocks` names for each operation.
fn run(
    pool: &rayon::ThreadPool,
    operations: &[usize],
    blocks: impl Fn(usize) -> Vec<usize> + Sync,
    bar: &ProgressBar,
) -> Vec<OperationReport> {
    let one = |&operation: &usize| {
        let blocks = blocks(operation);
        let name = OPERATIONS[operation].name;
        bar.set_message(name);
        let start = Instant::now();
        let differing = pool.install(|| differing(RECORDED, operation, &blocks, || bar.inc(1)));
        let inputs = blocks.len() as u64 * BLOCK;
        let threads = pool.current_num_threads().min(blocks.len());
        OperationReport {
            name,
            inputs,
            nanoseconds: start.elapsed().as_secs_f64() * 1e9 * threads as f64 / inputs as f64,
            differing: differing.into_iter().map(|block| (block as u32) << 20).collect(),
        }
    };
    operations.iter().map(one).collect()
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // The default style is the fallback for a template that does not parse.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}% {eta} left, {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(reports: &[OperationReport], wrong: usize, seconds: f64, console: &Console) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["operation", "inputs", "", "ns"]);
    for report in reports {
        table.add_row(vec![
            report.name.to_string(),
            report.inputs.to_string(),
            if report.differing.is_empty() { "equal".into() } else { ranges(&report.differing) },
            format!("{:.2}", report.nanoseconds),
        ]);
    }
    for column in [1, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        console.out(format!("{}\n", line.trim_end()));
    }
    console.out(format!(
        "{} of {} equal to an NVIDIA H200, in {}\n",
        reports.len() - wrong,
        plural(reports.len() as u64, "operation"),
        duration(seconds)
    ));
}

/// The differing inputs, `differs from 0x3f800000 to 0x3f8fffff`.
fn ranges(firsts: &[u32]) -> String {
    let range = |&first: &u32| format!("from {first:#010x} to {:#010x}", first | (BLOCK as u32 - 1));
    let shown: Vec<String> = firsts.iter().take(RANGES).map(range).collect();
    let more = firsts.len().saturating_sub(RANGES);
    let more =
        if more == 0 { String::new() } else { format!(" and in {}", plural(more as u64, "more range")) };
    format!("differs {}{more}", shown.join(", "))
}

fn duration(seconds: f64) -> String {
    match seconds {
        ..1.0 => "less than a second".into(),
        ..120.0 => plural(seconds.round() as u64, "second"),
        _ => plural((seconds / 60.0).ceil() as u64, "minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_name() {
        assert_eq!(selected(&[]).unwrap().len(), 32);
        assert_eq!(selected(&["tanh.approx.f32".into()]).unwrap(), [14]);
        let failure = selected(&["tanh.aprox.f32".into()]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(failure.help, ["did you mean `tanh.approx.f32`?"]);
    }

    #[test]
    fn what_differs_is_said() {
        assert_eq!(ranges(&[0x3f80_0000]), "differs from 0x3f800000 to 0x3f8fffff");
        let many: Vec<u32> = (0..6).map(|block| block << 20).collect();
        assert!(ranges(&many).ends_with("and in 2 more ranges"));
    }

    #[test]
    fn times_are_said_in_words() {
        assert_eq!(duration(0.2), "less than a second");
        assert_eq!(duration(59.6), "60 seconds");
        assert_eq!(duration(121.0), "3 minutes");
    }
}
