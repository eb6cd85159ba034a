//! `warpgrind litmus generate`: tests from cycles of relaxation edges.

use std::path::Path;

use memory_model::generate::{Cycle, SUITE, Word, cycles_with, relaxations};
use memory_model::{Limits, Options, check, parse};
use rayon::prelude::*;
use serde::Serialize;

use super::model;
use crate::args::{GenerateArgs, Global};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::progress::Counted;
use crate::report::{Console, SCHEMA, plural};

#[derive(Serialize, Debug)]
struct GenerateReport {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    models: Vec<String>,
    tests: Vec<TestJson>,
}

/// A test, with its verdict under each model.
#[derive(Serialize, Debug)]
struct TestJson {
    name: String,
    cycle: String,
    test: String,
    verdicts: Vec<&'static str>,
}

/// Makes the test of one cycle, or those of all cycles, and judges them on all cores.
pub(crate) fn generate(args: &GenerateArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let mut models = Vec::new();
    for choice in &args.models {
        match model::choose(choice, console)? {
            Ok((model, file)) => {
                let limits = Limits { time: Some(args.timeout), ..Limits::default() };
                models.push(Options { model, file, limits, ..Options::default() });
            }
            Err(exit) => return Ok(exit),
        }
    }
    let cycles = made(args, global.jobs)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    let progress = Counted::new(console.is_human(), cycles.len(), "tests");
    let tests: Result<Vec<TestJson>, Failure> = pool.install(|| {
        let test = |cycle: &Cycle| {
            let test = if args.source { cycle.source() } else { cycle.ptx() };
            let test = test.map_err(|wrong| Failure::usage(wrong.to_string()))?;
            let verdicts = models.iter().map(|options| verdict(&test, options)).collect();
            progress.done();
            Ok(TestJson { name: cycle.name(), cycle: cycle.to_string(), test, verdicts })
        };
        cycles.par_iter().map(test).collect()
    });
    drop(progress);
    let tests = tests?;
    let names: Vec<String> = args.models.iter().map(ToString::to_string).collect();
    if let Some(folder) = &args.output {
        write(folder, &tests, &names)?;
    }
    let unknown = tests.iter().any(|test| test.verdicts.contains(&"unknown"));
    let exit = if unknown { Exit::Faulted } else { Exit::Clean };
    if console.is_human() {
        console.out(text(args, &tests, &names));
    } else {
        let exit_code = exit.code();
        console.json(&GenerateReport {
            schema: SCHEMA,
            command: "litmus generate",
            exit_code,
            models: names,
            tests,
        });
    }
    Ok(exit)
}

/// The cycles that are asked for.
fn made(args: &GenerateArgs, jobs: usize) -> Result<Vec<Cycle>, Failure> {
    let usage = |wrong: &dyn std::fmt::Display| Failure::usage(wrong.to_string());
    if let Some(size) = args.size {
        let list =
            relaxations(args.relaxations.as_deref().unwrap_or(SUITE)).map_err(|wrong| usage(&wrong))?;
        return cycles_with(&list, size, jobs).map_err(|wrong| usage(&wrong));
    }
    let words: Result<Vec<Word>, _> =
        args.edges.iter().flat_map(|word| word.split_whitespace()).map(str::parse).collect();
    let words = words.map_err(|wrong: memory_model::generate::WrongWord| usage(&wrong))?;
    Ok(vec![Cycle::new(&words).map_err(|wrong| usage(&wrong))?])
}

fn verdict(text: &str, options: &Options) -> &'static str {
    parse(text).map_or("unknown", |litmus| check(&litmus, options).verdict)
}

/// Letters of the longest verdict.
const WIDEST: usize = "forbidden".len();

fn text(args: &GenerateArgs, tests: &[TestJson], models: &[String]) -> String {
    let mut out = String::new();
    if let (None, true, None, [test]) = (args.size, models.is_empty(), &args.output, tests) {
        return test.test.clone();
    }
    if args.output.is_none() {
        let width = tests.iter().map(|test| test.name.len()).max().unwrap_or(0);
        if models.len() > 1 {
            let models: Vec<String> = models.iter().map(|model| format!("{model:WIDEST$}")).collect();
            out += format!("{:width$}  {}", "", models.join("  ")).trim_end();
            out.push('\n');
        }
        for test in tests {
            let verdicts = test.verdicts.iter().zip(models);
            let verdicts: Vec<String> =
                verdicts.map(|(verdict, model)| format!("{verdict:0$}", model.len().max(WIDEST))).collect();
            out += format!("{:width$}  {}", test.name, verdicts.join("  ")).trim_end();
            out.push('\n');
        }
    }
    if args.size.is_some() {
        out += &plural(tests.len() as u64, "test");
        let count = |at: usize, verdict: &str| tests.iter().filter(|t| t.verdicts[at] == verdict).count();
        for (at, model) in models.iter().enumerate() {
            let unknown = match count(at, "unknown") {
                0 => String::new(),
                n => format!(" and does not decide {n}"),
            };
            out += &format!(
                "; {model} allows {} and forbids {}{unknown}",
                count(at, "allowed"),
                count(at, "forbidden")
            );
        }
        out.push('\n');
    }
    out
}

/// Writes the tests into a folder, with a table of their verdicts.
fn write(folder: &Path, tests: &[TestJson], models: &[String]) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::usage(format!("cannot write {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    for test in tests {
        files::replace(&folder.join(format!("{}.litmus", test.name)), test.test.as_bytes())?;
    }
    if !models.is_empty() {
        let mut table = format!("file,{}\n", models.join(","));
        for test in tests {
            table += &format!("{}.litmus,{}\n", test.name, test.verdicts.join(","));
        }
        files::replace(&folder.join("expected.csv"), table.as_bytes())?;
    }
    Ok(())
}
