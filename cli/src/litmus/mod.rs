//! `warpgrind litmus`: what the PTX memory model allows small programs to do.
//!
//! [`mod@load`] finds and reads tests, [`model`] models, [`show`] and [`document`] present verdicts, [`mod@diff`] compares models, [`mod@generate`] makes tests, [`mod@map`] judges compilers, [`mod@tune`] looks for what a device shows, [`mod@progress`] for what it ends; deciding is the crate
//! `memory-model`'s, making tests of kernels and running tests as kernels `warpgrind`'s.

mod diff;
mod document;
mod generate;
mod load;
mod map;
mod model;
mod progress;
mod show;
#[cfg(test)]
mod tests;
mod tune;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use device::Device;
use memory_model::emit::Kernel;
use memory_model::explain::{Cut, Shown};
use memory_model::explore::scheduler::{Scheduler, Unit};
use memory_model::{Limits, Litmus, Options, Property, Verdict as Answer, check};
use ptx_frontend::Diagnostic;
use rayon::prelude::*;
use reports::triage::{Issue, Spot, Verdict};
use sim_core::Backend;
use warpgrind::litmus::experiment::{NotRun, Plan};
use warpgrind::litmus::runs::Runs;

use crate::args::{Global, LitmusArgs, LitmusVerb};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::interrupt::Interrupt;
use crate::progress::Counted;
use crate::report::{Console, SCHEMA, plural};
use crate::triage::{LITMUS, Triage};
use document::{LitmusReport, TestJson};
use load::{Loaded, load};

/// One test and what was found out about it.
pub(crate) struct Checked {
    /// The test.
    litmus: Litmus,
    /// The answer.
    verdict: Answer,
    /// Time of the check.
    time: Duration,
    /// What was seen when it was run.
    runs: Runs,
    /// If it is not as it should be, whether that is expected.
    judged: Option<(Issue, Verdict)>,
}

/// A file with its tests, or why there are none.
pub(crate) struct CheckedFile {
    name: String,
    tests: Result<Vec<Checked>, Loaded>,
    /// Of each mistake in a file that is not well formed, whether it is expected.
    mistakes: Vec<(Issue, Verdict)>,
}

impl CheckedFile {
    fn exits(&self) -> Vec<Exit> {
        match &self.tests {
            Ok(tests) => tests.iter().map(Checked::exit).collect(),
            Err(Loaded::Malformed(..)) if !self.mistakes.iter().any(|(_, verdict)| verdict.is_new()) => {
                vec![Exit::Clean]
            }
            Err(loaded) => vec![loaded.exit()],
        }
    }

    /// Decides of everything that is not as it should be whether it is expected.
    fn judge(&mut self, args: &LitmusArgs, triage: &Triage<'_>) {
        match &mut self.tests {
            Ok(tests) => tests.iter_mut().for_each(|test| test.judge(&self.name, args, triage)),
            Err(Loaded::Malformed(source, mistakes)) => {
                let line = |of: &Diagnostic| source.line_column(of.span.start).0;
                let issues = mistakes.iter().map(|of| Issue::of_line(of.code.0, source, line(of)));
                self.mistakes = issues.map(|issue| (issue.clone(), triage.judge(&issue))).collect();
            }
            Err(_) => {}
        }
    }
}

impl Checked {
    fn exit(&self) -> Exit {
        let of_runs = exit_of(&self.runs);
        let of_verdict = match &self.judged {
            Some((_, verdict)) if !verdict.is_new() => Exit::Clean,
            _ => self.exit_of_verdict(),
        };
        std::cmp::max_by_key(of_runs, of_verdict, |&exit| gravity(exit))
    }

    fn exit_of_verdict(&self) -> Exit {
        match (self.verdict.holds, self.verdict.verdict) {
            (Some(true), _) => Exit::Clean,
            (Some(false), _) | (None, "undefined") => Exit::Findings,
            // A test without an assertion asks for its outcomes only.
            (None, _) if self.litmus.assertion.is_none() && !self.verdict.outcomes.is_empty() => Exit::Clean,
            (None, _) => Exit::Faulted,
        }
    }

    /// Decides whether a verdict that is not as it should be is expected.
    fn judge(&mut self, file: &str, args: &LitmusArgs, triage: &Triage<'_>) {
        if self.exit_of_verdict() == Exit::Clean {
            return;
        }
        let scheduler = args.unusual_scheduler().map_or(String::new(), |name| format!(" under {name}"));
        let asked =
            format!("{}{scheduler} of {}: {}", args.property.as_str(), args.model, self.verdict.verdict);
        let place = Spot { file: file.to_owned(), line: 0 };
        let issue = Issue::new(LITMUS, &self.litmus.name, vec![place], &[(&asked, 1)]);
        let verdict = triage.judge(&issue);
        self.judged = Some((issue, verdict));
    }
}

/// The exit code that runs lead to.
fn exit_of(runs: &Runs) -> Exit {
    if runs.both().any(|run| matches!(run, Err(NotRun::Failed(_)))) {
        Exit::Faulted
    } else if runs.both().any(|run| matches!(run, Err(NotRun::Unsupported(_)))) {
        Exit::Unsupported
    } else if !runs.alarms().is_empty() || runs.both().flatten().any(|seen| seen.failed.is_some()) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

/// What is asked of each test.
struct Asked {
    options: Options,
    simulated: Option<Plan>,
    device: Option<(Device, Plan)>,
}

impl Asked {
    fn new(
        options: Options,
        args: &LitmusArgs,
        device: Option<Device>,
        interrupt: Option<&Interrupt>,
    ) -> Self {
        let plan = |device: bool, instances| Plan {
            instances,
            launch: if device { Plan::DEVICE_LAUNCH } else { Plan::SIMULATOR_LAUNCH },
            seed: args.seed,
            weak: args.weak && !device,
            device,
            timeout: args.timeout,
            interrupt: interrupt.map(|interrupt| interrupt.any.clone()),
        };
        let simulated = args.simulate.map(|instances| plan(false, instances));
        let device = device.zip(args.device.map(|instances| plan(true, instances)));
        Self { options, simulated, device }
    }

    fn file(&self, file: &load::Found) -> CheckedFile {
        let tests = match load(file) {
            Loaded::Tests(tests) => Ok(tests.into_iter().map(|test| self.test(test)).collect()),
            wrong => Err(wrong),
        };
        CheckedFile { name: file.name.clone(), tests, mistakes: Vec::new() }
    }

    fn test(&self, litmus: Litmus) -> Checked {
        let start = Instant::now();
        let verdict = check(&litmus, &self.options);
        let time = start.elapsed();
        let runs = self.runs(&litmus);
        Checked { litmus, verdict, time, runs, judged: None }
    }

    fn runs(&self, litmus: &Litmus) -> Runs {
        let device = self.device.as_ref().map(|(device, plan)| (device as &dyn Backend, plan));
        Runs::new(litmus, &self.options, self.simulated.as_ref(), device)
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
        Exit::Interrupted | Exit::Terminated => 6,
    }
}

/// Checks all tests on all cores; the exit code is the gravest.
pub(crate) fn litmus(args: &LitmusArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    match &args.verb {
        Some(LitmusVerb::Diff(args)) => return diff::diff(args, global, console),
        Some(LitmusVerb::Generate(args)) => return generate::generate(args, global, console),
        Some(LitmusVerb::Map(args)) => return map::map(args, global, console),
        Some(LitmusVerb::Tune(args)) => return tune::tune(args, console),
        Some(LitmusVerb::Progress(args)) => return progress::progress(args, console),
        None => {}
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(global.jobs).build();
    let pool =
        pool.map_err(|error| Failure::usage(format!("cannot start {} threads: {error}", global.jobs)))?;
    let files = load::find(&args.files);
    let (model, file) = match model::choose(&args.model, console)? {
        Ok(chosen) => chosen,
        Err(exit) => return Ok(exit),
    };
    if args.scheduler != Scheduler::default() && args.property != Property::Termination {
        let asks =
            Failure::usage("`--scheduler` asks whether threads end: `--property termination`".to_owned());
        return Err(asks);
    }
    let unit = if args.schedule_threads { Unit::Thread } else { Unit::Block };
    let options = Options {
        model,
        file,
        property: args.property,
        scheduler: Scheduler { unit, ..args.scheduler },
        bound: args.bound,
        outcomes: args.outcomes,
        count: args.count,
        explain: args.explain || [&args.dot, &args.svg, &args.html].iter().any(|path| path.is_some()),
        limits: Limits { time: Some(args.timeout), ..Limits::default() },
        // The process ends with its checks.
        interrupt: None,
    };
    let device = match args.device {
        Some(_) => {
            let device = Device::open(&args.compiler.options(args.device_index));
            Some(device.map_err(|error| Failure::new(Exit::NoDevice, error.to_string()))?)
        }
        None => None,
    };
    let triage = Triage::open(&args.findings, console)?;
    let mut summary = show::Summary::default();
    let mut documents = Vec::new();
    let mut worst = Exit::Clean;
    let count = files.len();
    let graphs = Extra::new(args.dot.as_deref(), "dot", count);
    let pictures = Extra::new(args.svg.as_deref(), "svg", count);
    let pages = Extra::new(args.html.as_deref(), "html", count);
    let kernels = Extra::new(args.ptx.as_deref(), "ptx", count);
    let interrupt = Interrupt::watch()?;
    let asked = Asked::new(options, args, device, Some(&interrupt));
    let progress = Counted::new(console.is_human(), count, "files");
    let (sender, receiver) = mpsc::channel();
    // A check ends by itself only at its time limit; after a signal nobody waits for it.
    let checks = std::thread::spawn(move || {
        pool.install(|| {
            files.par_iter().enumerate().with_max_len(1).for_each_with(sender, |sender, (at, file)| {
                // A receiver that is gone has failed and said why.
                let _ = sender.send((at, asked.file(file)));
            });
        });
    });
    // Results are shown as soon as all before them are.
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (at, file) in interrupt.until(&receiver) {
        waiting.insert(at, file);
        while let Some(mut file) = waiting.remove(&next) {
            next += 1;
            file.judge(args, &triage);
            worst = file.exits().into_iter().chain([worst]).max_by_key(|&e| gravity(e)).unwrap_or(worst);
            graphs.write(&file, |test| drawn(test, Shown::dot, Cut::dot))?;
            pictures.write(&file, |test| drawn(test, Shown::svg, Cut::svg))?;
            pages.write(&file, |test| drawn(test, Shown::html, Cut::html))?;
            kernels.write(&file, |test| Kernel::new(&test.litmus).ok().map(|kernel| kernel.text))?;
            progress.step(|| {
                if console.is_human() {
                    show::file(&file, args, &triage, console, &mut summary);
                }
            });
            if triage.collects() {
                documents.extend(TestJson::of_file(&file, args));
            }
        }
    }
    drop(progress);
    let interrupted = interrupt.exit().filter(|_| next < count);
    if interrupted.is_none()
        && let Err(panic) = checks.join()
    {
        std::panic::resume_unwind(panic);
    }
    if console.is_human() {
        summary.show(console);
    }
    let (exit, expected) = match interrupted {
        // What was interrupted has not seen all there is to see.
        Some(exit) => (exit, None),
        None => triage.finish(worst)?,
    };
    if interrupted.is_some() && console.is_human() {
        console.err(format!("interrupted after {next} of {}\n", plural(count as u64, "file")));
    }
    if triage.collects() {
        triage.publish(&LitmusReport {
            schema: SCHEMA,
            command: "litmus",
            exit_code: exit.code(),
            tests: documents,
            triage: expected,
        })?;
    }
    Ok(exit)
}

/// How an execution, or the first candidate that is cut, is drawn.
fn drawn(
    test: &Checked,
    execution: fn(&Shown, &str) -> String,
    cut: fn(&Cut, &str) -> String,
) -> Option<String> {
    let (title, verdict) = (&test.litmus.name, &test.verdict);
    let witness = verdict.witness.as_ref().map(|shown| execution(shown, title));
    witness.or_else(|| Some(cut(verdict.cuts.first()?, title)))
}

/// Further files, one a test: a file if there is one test, else in a folder.
struct Extra<'a> {
    path: Option<&'a Path>,
    extension: &'static str,
    files: usize,
}

impl<'a> Extra<'a> {
    fn new(path: Option<&'a Path>, extension: &'static str, files: usize) -> Self {
        Self { path, extension, files }
    }

    /// Writes what `content` makes of each test of a file.
    fn write(&self, file: &CheckedFile, content: impl Fn(&Checked) -> Option<String>) -> Result<(), Failure> {
        let (Some(path), Ok(tests)) = (self.path, &file.tests) else { return Ok(()) };
        let single = self.files == 1 && tests.len() == 1 && !path.is_dir();
        for test in tests {
            let Some(content) = content(test) else { continue };
            let target = if single {
                path.to_owned()
            } else {
                let stem = Path::new(&file.name).file_stem().unwrap_or_default().to_string_lossy();
                let name =
                    if tests.len() == 1 { stem.into_owned() } else { format!("{stem}.{}", test.litmus.name) };
                path.join(format!("{}.{}", name.replace(['/', '\\'], "_"), self.extension))
            };
            let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
            folder
                .map_or(Ok(()), std::fs::create_dir_all)
                .map_err(|error| Failure::usage(format!("cannot write {}: {error}", target.display())))?;
            files::replace(&target, content.as_bytes())?;
        }
        Ok(())
    }
}
