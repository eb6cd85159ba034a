//! `warpgrind litmus`: what the PTX memory model allows small programs to do.
//!
//! [`mod@load`] finds and reads tests, [`show`] and [`document`] present verdicts; deciding is the crate
//! `memory-model`'s.

mod document;
mod load;
mod show;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use memory_model::{Limits, Litmus, Options, Verdict, check};
use rayon::prelude::*;

use crate::args::{Global, LitmusArgs};
use crate::exit::{Exit, Failure};
use crate::report::{Console, SCHEMA};
use document::{LitmusReport, TestJson};
use load::{Loaded, load};

/// One test and what was found out about it.
pub(crate) struct Checked {
    /// The test.
    litmus: Litmus,
    /// The answer.
    verdict: Verdict,
    /// Time of the check.
    time: Duration,
}

/// A file with its tests, or why there are none.
pub(crate) struct CheckedFile {
    name: String,
    tests: Result<Vec<Checked>, Loaded>,
}

impl CheckedFile {
    fn exits(&self) -> Vec<Exit> {
        match &self.tests {
            Ok(tests) => tests.iter().map(Checked::exit).collect(),
            Err(loaded) => vec![loaded.exit()],
        }
    }
}

impl Checked {
    fn exit(&self) -> Exit {
        match (self.verdict.holds, self.verdict.verdict) {
            (Some(true), _) => Exit::Clean,
            (Some(false), _) | (None, "undefined") => Exit::Findings,
            // A test without an assertion asks for its outcomes only.
            (None, _) if self.litmus.assertion.is_none() && !self.verdict.outcomes.is_empty() => Exit::Clean,
            (None, _) => Exit::Faulted,
        }
    }
}

/// Orders exit codes: unreadable, malformed, unsupported, undecided, not holding, holding.
fn gravity(exit: Exit) -> u8 {
    match exit {
        Exit::Clean => 0,
        Exit::Findings => 1,
        Exit::Faulted => 2,
        Exit::Unsupported => 3,
        Exit::Rejected => 4,
        Exit::Usage | Exit::NoDevice => 5,
    }
}

/// Checks all tests on all cores; the exit code is the gravest.
pub(crate) fn litmus(args: &LitmusArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    let files = load::find(&args.files);
    let options = Options {
        model: args.model,
        property: args.property,
        bound: args.bound,
        outcomes: args.outcomes,
        count: args.count,
        explain: args.explain || args.dot.is_some(),
        limits: Limits { time: args.timeout, ..Limits::default() },
    };
    let mut summary = show::Summary::default();
    let mut documents = Vec::new();
    let mut worst = Exit::Clean;
    let mut graphs = Graphs::new(args.dot.as_deref(), files.len());
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| -> Result<(), Failure> {
        let files = &files;
        scope.spawn(move || {
            pool.install(|| {
                files.par_iter().enumerate().with_max_len(1).for_each_with(sender, |sender, (at, file)| {
                    // A receiver that is gone has failed and said why.
                    let _ = sender.send((at, check_file(file, &options)));
                });
            });
        });
        // Results are shown as soon as all before them are.
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for (at, file) in receiver {
            waiting.insert(at, file);
            while let Some(file) = waiting.remove(&next) {
                next += 1;
                worst = file.exits().into_iter().chain([worst]).max_by_key(|&e| gravity(e)).unwrap_or(worst);
                graphs.write(&file)?;
                match console.is_human() {
                    true => show::file(&file, args, console, &mut summary),
                    false => documents.extend(TestJson::of_file(&file, args)),
                }
            }
        }
        Ok(())
    })?;
    match console.is_human() {
        true => summary.show(console),
        false => console.json(&LitmusReport {
            schema: SCHEMA,
            command: "litmus",
            exit_code: worst.code(),
            tests: documents,
        }),
    }
    Ok(worst)
}

fn check_file(file: &load::Found, options: &Options) -> CheckedFile {
    let loaded = load(file);
    let tests = match loaded {
        Loaded::Tests(tests) => Ok(tests
            .into_iter()
            .map(|litmus| {
                let start = Instant::now();
                let verdict = check(&litmus, options);
                Checked { litmus, verdict, time: start.elapsed() }
            })
            .collect()),
        wrong => Err(wrong),
    };
    CheckedFile { name: file.name.clone(), tests }
}

/// Where graphs go.
struct Graphs<'a> {
    path: Option<&'a Path>,
    files: usize,
}

impl<'a> Graphs<'a> {
    fn new(path: Option<&'a Path>, files: usize) -> Self {
        Self { path, files }
    }

    /// Writes the graphs of a file's tests.
    fn write(&mut self, file: &CheckedFile) -> Result<(), Failure> {
        let (Some(path), Ok(tests)) = (self.path, &file.tests) else { return Ok(()) };
        let single = self.files == 1 && tests.len() == 1 && !path.is_dir();
        for test in tests {
            let title = &test.litmus.name;
            let graph = match (&test.verdict.witness, test.verdict.cuts.first()) {
                (Some(shown), _) => shown.dot(title),
                (None, Some(cut)) => cut.dot(title),
                (None, None) => continue,
            };
            let target = if single {
                path.to_owned()
            } else {
                let stem = Path::new(&file.name).file_stem().unwrap_or_default().to_string_lossy();
                let name = if tests.len() == 1 { stem.into_owned() } else { format!("{stem}.{title}") };
                path.join(format!("{}.dot", name.replace(['/', '\\'], "_")))
            };
            let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
            folder
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&target, graph))
                .map_err(|error| Failure::usage(format!("cannot write {}: {error}", target.display())))?;
        }
        Ok(())
    }
}
