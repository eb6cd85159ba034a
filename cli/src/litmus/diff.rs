//! `warpgrind litmus diff`: the smallest programs of which one model allows what the other forbids.

use std::path::Path;

use memory_model::diff::{Bounds, Class, Difference, Differences, classes, difference, programs};
use memory_model::{Limits, Options};
use rayon::prelude::*;
use serde::Serialize;

use super::model;
use crate::args::{DiffArgs, Global};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::progress::Counted;
use crate::report::{Console, SCHEMA, plural};

#[derive(Serialize, Debug)]
struct DiffReport {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    models: [String; 2],
    programs: usize,
    classes: Vec<ClassJson>,
}

#[derive(Serialize, Debug)]
struct ClassJson {
    allowed_by: String,
    forbidden_by: String,
    axiom: String,
    instructions: Vec<&'static str>,
    count: usize,
    test: String,
}

/// Looks at all programs up to the bounds, on all cores.
pub(crate) fn diff(args: &DiffArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let mut models = Vec::new();
    for choice in [&args.first, &args.second] {
        match model::choose(choice, console)? {
            Ok((model, file)) => {
                let limits = Limits { time: Some(args.timeout), ..Limits::default() };
                models.push(Options { model, file, limits, ..Options::default() });
            }
            Err(exit) => return Ok(exit),
        }
    }
    let bounds = Bounds {
        instructions: args.instructions,
        threads: args.threads,
        locations: args.locations,
        scopes: args.scopes.clone(),
        without: args.without.clone(),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    let mut known = Differences::default();
    let mut found = Vec::new();
    let mut looked_at = 0;
    for size in 1..=bounds.instructions {
        let all = programs(&bounds, size);
        looked_at += all.len();
        let things = format!("programs of {}", plural(size as u64, "instruction"));
        let progress = Counted::new(console.is_human(), all.len(), &things);
        let here: Vec<Option<Difference>> = pool.install(|| {
            let judge = |program| {
                let found = match known.covers(program) {
                    true => None,
                    false => difference(program, [&models[0], &models[1]]),
                };
                progress.done();
                found
            };
            all.par_iter().map(judge).collect()
        });
        for (program, difference) in all.iter().zip(here) {
            if let Some(difference) = difference {
                known.insert(program);
                found.push(difference);
            }
        }
    }
    let classes = classes(found);
    let names = [args.first.to_string(), args.second.to_string()];
    if let Some(folder) = &args.output {
        write(folder, &classes)?;
    }
    let exit = if classes.is_empty() { Exit::Clean } else { Exit::Findings };
    if console.is_human() {
        console.out(text(&classes, &names, &bounds, looked_at));
    } else {
        let classes = classes.into_iter().map(|class| ClassJson::new(class, &names)).collect();
        let exit_code = exit.code();
        let command = "litmus diff";
        console.json(&DiffReport {
            schema: SCHEMA,
            command,
            exit_code,
            models: names,
            programs: looked_at,
            classes,
        });
    }
    Ok(exit)
}

/// The models that allow and forbid the outcome.
fn sides<'n>(difference: &Difference, names: &'n [String; 2]) -> [&'n str; 2] {
    match difference.first_allows {
        true => [&names[0], &names[1]],
        false => [&names[1], &names[0]],
    }
}

impl ClassJson {
    fn new(class: Class, names: &[String; 2]) -> Self {
        let [allowed_by, forbidden_by] = sides(&class.example, names).map(str::to_owned);
        let Difference { text, axiom, kinds, .. } = class.example;
        Self { allowed_by, forbidden_by, axiom, instructions: kinds, count: class.count, test: text }
    }
}

fn text(classes: &[Class], names: &[String; 2], bounds: &Bounds, programs: usize) -> String {
    let mut out = String::new();
    for (number, Class { example, count }) in classes.iter().enumerate() {
        let [allows, forbids] = sides(example, names);
        let with = match example.kinds.as_slice() {
            [] => String::new(),
            kinds => format!(", with {}", kinds.join(", ")),
        };
        let more = if *count > 1 { format!(" ({count} such programs)") } else { String::new() };
        out += &format!(
            "{}: {allows} allows what {forbids} forbids by {}{with}{more}\n",
            number + 1,
            example.axiom
        );
        out += &indented(&example.text);
        out += &indented(&example.why);
    }
    let of = plural(programs as u64, "program");
    let bound = plural(bounds.instructions as u64, "instruction");
    out += &match classes.len() {
        0 => format!("{} and {} agree on {of} of up to {bound}\n", names[0], names[1]),
        n => format!("{} of difference in {of} of up to {bound}\n", kinds_of(n)),
    };
    out
}

fn kinds_of(n: usize) -> String {
    if n == 1 { "1 kind".to_owned() } else { format!("{n} kinds") }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Writes the smallest test of each class.
fn write(folder: &Path, classes: &[Class]) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::usage(format!("cannot write {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    for (number, class) in classes.iter().enumerate() {
        files::replace(&folder.join(format!("{:02}.litmus", number + 1)), class.example.text.as_bytes())?;
    }
    Ok(())
}
