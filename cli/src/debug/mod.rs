//! `warpgrind debug`: launches under the debugger, at a prompt; those of launch files, and those of a [`program`].

mod commands;
mod input;
mod listing;
pub(crate) mod program;
mod prompt;
mod shell;
mod show;

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use debugger::Debugger;
use debugger::points::Points;
use warpgrind::run::Placed;
use warpgrind::{Module, Options, Plan, debug};

use crate::args::{DebugArgs, Global, LaunchArgs};
use crate::exec;
use crate::exit::{Exit, Failure};
use crate::report::Console;
use crate::run::{prepare, read_launch_file, refuse_launch_options};
use input::Input;
use program::{Event, PATIENCE, Program, Wanted};
use prompt::{Kept, Next, Prompt};

/// Runs the command and says how it ended.
pub(crate) fn debug(args: &DebugArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let option = format!("`--async {}`", args.asynchrony.name());
    tools::check_async(&args.tool, args.asynchrony, &option)?;
    let options = Options {
        tools: args.tool.clone(),
        jobs: 1,
        seed: args.seed,
        asynchrony: args.asynchrony,
        contraction: !args.launch.no_contraction,
        as_optimised: args.launch.as_optimised,
        source_root: args.source_root.clone(),
        ..Options::default()
    };
    let interrupt = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupt.clone())
        .map_err(|error| Failure::usage(format!("cannot handle signals: {error}")))?;
    let input = Input::open(&args.script)?;
    let mut kept = Kept::new(input, console, args.source_root.clone());
    let mut points = Points::default();
    if !args.program.is_empty() {
        let wanted = wanted(args, global)?;
        return run_program(&wanted, &options, &interrupt, &mut kept, &mut points);
    }
    let read = prepare(&args.files, &args.launch, &mut |diagnostic, source, elsewhere| {
        console.diagnostic(diagnostic, source, elsewhere);
    })?;
    run(&read, &options, &interrupt, &mut kept, &mut points, 0)?;
    Ok(Exit::Clean)
}

/// The program that the arguments name.
fn wanted(args: &DebugArgs, global: &Global) -> Result<Wanted, Failure> {
    let launch = LaunchArgs { entry: None, ..args.launch.clone() };
    refuse_launch_options(&launch, "a program", "the program says what it launches")?;
    for (option, given) in
        [("--no-contraction", launch.no_contraction), ("--as-optimised", launch.as_optimised)]
    {
        if given {
            return Err(Failure::usage(format!("`{option}` cannot be given with a program")));
        }
    }
    Ok(Wanted {
        command: args.program.clone(),
        kernel: args.launch.entry.clone(),
        launch_skip: args.launch_skip,
        launch_count: args.launch_count,
        seed: args.seed,
        asynchrony: args.asynchrony,
        jobs: global.jobs,
        input: match &args.input {
            Some(path) => program::Input::File(path.clone()),
            // With `--batch` nobody asks for commands.
            None if args.script.batch && !std::io::stdin().is_terminal() => program::Input::Ours,
            None => program::Input::Nothing,
        },
        ..Wanted::default()
    })
}

/// Debugs the launches of a program, as they come.
fn run_program(
    wanted: &Wanted,
    options: &Options,
    interrupt: &Arc<AtomicBool>,
    kept: &mut Kept<'_>,
    points: &mut Points,
) -> Result<Exit, Failure> {
    let mut program = Program::start(wanted)?;
    let (mut launches, mut detached) = (0, false);
    kept.of_program = true;
    loop {
        match program.next(PATIENCE) {
            Some(Event::Launch(held)) => {
                if detached {
                    launches += 1;
                    continue;
                }
                let read = read_launch_file(&held.file(), &mut |_, _, _| {});
                let next = read.and_then(|read| run(&read, options, interrupt, kept, points, launches));
                let next = match next {
                    Ok(next) => {
                        held.was_printed();
                        next
                    }
                    Err(failure) => {
                        let at = format!("launch {launches} cannot be debugged, and runs");
                        kept.console.failure(&failure.context(at));
                        Next::Continue
                    }
                };
                launches += 1;
                match next {
                    Next::Quit => {
                        program.end(Some(held));
                        return Ok(Exit::Clean);
                    }
                    Next::Detach => detached = true,
                    Next::Continue => {}
                }
            }
            Some(Event::Output(..)) => {}
            Some(Event::Ended(status)) if launches > 0 => {
                let how = match program.signal() {
                    Some(signal) => format!("was ended by signal {signal}"),
                    None => format!("exited with status {}", exec::child::code(status)),
                };
                let launched = if launches == 1 { "launch" } else { "launches" };
                kept.console.out(format!("[The program {how}, after {launches} {launched}]\n"));
                return Ok(Exit::Clean);
            }
            Some(Event::Ended(_)) => return program.none_launched().map_or(Ok(Exit::Usage), Err),
            None if interrupt.swap(false, Ordering::Relaxed) => {
                kept.console.out("[Interrupted between launches: the program is ended]\n");
                program.end(None);
                return Ok(Exit::Clean);
            }
            None => {}
        }
    }
}

/// Debugs the launches of a plan, one after the other, and gives them numbers from `first` on.
fn run(
    (plan, module): &(Plan, Module),
    options: &Options,
    interrupt: &Arc<AtomicBool>,
    kept: &mut Kept<'_>,
    points: &mut Points,
    first: usize,
) -> Result<Next, Failure> {
    let simulator = options.inspectable_simulator();
    let placed = Placed::new(plan, module, &simulator)?;
    let mut next = Next::Continue;
    let mut direct = |debugger: Debugger<'_, '_, '_>, at: usize| {
        if next == Next::Continue {
            next = Prompt::new(debugger, kept).run(first + at);
        }
        next != Next::Quit
    };
    debug::launches(&placed, module, &simulator, options, interrupt, points, &mut direct)?;
    placed.release()?;
    Ok(next)
}
