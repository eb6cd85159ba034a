//! `warpgrind litmus map`: whether a compiler's mapping of atomics keeps what the source language promises.

use std::path::Path;
use std::sync::Arc;

use memory_model::cat::{self, CatModel};
use memory_model::generate::{Cycle, cycles_with, relaxations};
use memory_model::mapping::{Mapping, SHIPPED, Soundness, soundness, suite};
use memory_model::{Limits, Options, check, parse};
use rayon::prelude::*;
use serde::Serialize;

use super::model;
use crate::args::{Global, MapArgs, ModelChoice};
use crate::exit::{Exit, Failure};
use crate::modules::read_source;
use crate::progress::Counted;
use crate::report::{Console, SCHEMA, plural};

#[derive(Serialize, Debug)]
struct MapReport {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    table: String,
    source_model: String,
    model: String,
    tests: usize,
    /// Tests whose source has a data race, and so no meaning.
    racy: usize,
    /// Tests with an operation that the table does not have.
    missing: usize,
    unknown: usize,
    broken: Vec<BrokenJson>,
}

/// A test of which the compiled program does what the source forbids.
#[derive(Serialize, Debug)]
struct BrokenJson {
    name: String,
    source: String,
    compiled: String,
}

/// Judges all tests up to the size, on all cores.
pub(crate) fn map(args: &MapArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let Some(mapping) = table(&args.table, console)? else { return Ok(Exit::Rejected) };
    let Some(file) = source_model(&args.source_model, console)? else { return Ok(Exit::Rejected) };
    let limits = Limits { time: Some(args.timeout), ..Limits::default() };
    let source = Options { file: Some(Arc::new(file)), limits, ..Options::default() };
    let target = match model::choose(&args.model, console)? {
        Ok((model, file)) => Options { model, file, limits, ..Options::default() },
        Err(exit) => return Ok(exit),
    };
    let usage = |wrong: memory_model::generate::CycleError| Failure::usage(wrong.to_string());
    let list = args.relaxations.clone().unwrap_or_else(suite);
    let cycles = cycles_with(&relaxations(&list).map_err(usage)?, args.size, global.jobs).map_err(usage)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    if cycles.is_empty() {
        let none =
            format!("nothing was tested: no critical cycle of these edges has up to {} of them", args.size);
        return Err(
            Failure::usage(none).help("two threads with two locations make one of 4 edges: `--size 4`")
        );
    }
    let progress = Counted::new(console.is_human(), cycles.len(), "tests");
    let judged: Vec<Soundness> = pool.install(|| {
        let judge = |cycle: &Cycle| {
            let judged = soundness(&mapping, cycle, &source, &target);
            progress.done();
            judged
        };
        cycles.par_iter().map(judge).collect()
    });
    drop(progress);
    let count = |kind: Soundness| judged.iter().filter(|&judged| *judged == kind).count();
    let mut broken: Vec<(usize, BrokenJson)> = cycles
        .iter()
        .zip(&judged)
        .filter_map(|(cycle, judged)| match judged {
            Soundness::Broken(compiled) => {
                let source = cycle.source().unwrap_or_default();
                Some((cycle.len(), BrokenJson { name: cycle.name(), source, compiled: compiled.clone() }))
            }
            _ => None,
        })
        .collect();
    // The smallest first: by edges, then by what is written.
    broken.sort_by_key(|(edges, test)| (*edges, test.compiled.lines().count(), test.source.len()));
    let broken: Vec<BrokenJson> = broken.into_iter().map(|(_, test)| test).collect();
    let unknown = count(Soundness::Unknown);
    let exit = match (broken.is_empty(), unknown) {
        (false, _) => Exit::Findings,
        (true, 0) => Exit::Clean,
        (true, _) => Exit::Faulted,
    };
    let report = MapReport {
        schema: SCHEMA,
        command: "litmus map",
        exit_code: exit.code(),
        table: args.table.display().to_string(),
        source_model: args.source_model.display().to_string(),
        model: args.model.to_string(),
        tests: cycles.len(),
        racy: count(Soundness::Racy),
        missing: count(Soundness::Missing),
        unknown,
        broken,
    };
    if console.is_human() {
        console.out(text(&report, args.size, &source));
    } else {
        console.json(&report);
    }
    Ok(exit)
}

/// The table, shipped or of a file; none if it is not well formed.
fn table(path: &Path, console: &Console) -> Result<Option<Mapping>, Failure> {
    if let Some((_, text)) = SHIPPED.iter().find(|(name, _)| Path::new(name) == path) {
        return Ok(Mapping::parse(text).ok());
    }
    if path.extension().is_none_or(|extension| extension != "map") {
        let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        let unknown = format!("unknown table `{}`", path.display());
        let known = format!("one of {}, or a file that ends in .map", names.join(", "));
        return Err(Failure::usage(unknown).help(known));
    }
    let source = read_source(path)?;
    match warpgrind::litmus::source::mapping(&source) {
        Ok(mapping) => Ok(Some(mapping)),
        Err(wrong) => {
            wrong.iter().for_each(|of| console.diagnostic(of, &source, &[]));
            Ok(None)
        }
    }
}

/// The source language's model; none if it is not well formed.
fn source_model(path: &Path, console: &Console) -> Result<Option<CatModel>, Failure> {
    if let Some(name) = ["scoped-rc11", "opencl"].into_iter().find(|name| Path::new(name) == path) {
        let name = format!("{name}.cat");
        let text = cat::shipped(&name).unwrap_or_default();
        return Ok(cat::load(&name, text, &cat::no_includes).ok());
    }
    if path.extension().is_none_or(|extension| extension != "cat") {
        let unknown = format!("unknown model of a source language `{}`", path.display());
        return Err(Failure::usage(unknown).help("scoped-rc11, opencl, or a file that ends in .cat"));
    }
    match model::choose(&ModelChoice::File(path.to_owned()), console)? {
        Ok((_, file)) => Ok(file.and_then(Arc::into_inner)),
        Err(_) => Ok(None),
    }
}

fn text(report: &MapReport, size: usize, source: &Options) -> String {
    let of = plural(report.tests as u64, "test");
    // Racy programs promise nothing.
    let asked = report.tests - report.racy - report.missing;
    let mut out = match report.broken.first() {
        None if asked == 0 => {
            format!(
                "{}: nothing was tested: the source promises nothing in {of} of up to {size} edges",
                report.table
            )
        }
        None => format!("{}: sound on {of} of up to {size} edges", report.table),
        Some(_) => {
            let broken = report.broken.len();
            format!("{}: not sound: {broken} of {of} of up to {size} edges", report.table)
        }
    };
    let mut notes = Vec::new();
    for (count, what) in [
        (report.racy, "have a data race"),
        (report.missing, "have an operation that the table does not have"),
        (report.unknown, "are not decided"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
    if !notes.is_empty() {
        out += &format!(" ({})", notes.join(", "));
    }
    out.push('\n');
    let Some(first) = report.broken.first() else { return out };
    out += &format!("the smallest, {}, which {} forbids:\n", first.name, report.source_model);
    out += &indented(&first.source);
    let explained = parse(&first.source).ok().and_then(|litmus| {
        check(&litmus, &Options { explain: true, ..source.clone() }).cuts.into_iter().next()
    });
    if let Some(cut) = explained {
        out += &indented(&cut.text());
    }
    out += &format!("is compiled to what {} allows:\n{}", report.model, indented(&first.compiled));
    out
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
