//! `warpgrind debug`: launches under the debugger, at a prompt.

mod commands;
mod input;
mod listing;
mod prompt;
mod shell;
mod show;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use debugger::Debugger;
use debugger::points::Points;
use debugger::scope::{Buffer, Symbols};
use debugger::types::Type;
use debugger::watch::Watcher;
use sim_core::{Backend, Finding, RunOptions, Simulator};
use warpgrind::array::Element;
use warpgrind::run::Placed;
use warpgrind::{Module, Options, Plan};

use crate::args::DebugArgs;
use crate::exit::{Exit, Failure};
use crate::report::Console;
use crate::run::prepare;
use input::Input;
use prompt::{Kept, Next, Prompt};

/// Runs the command and says how it ended.
pub(crate) fn debug(args: &DebugArgs, console: &Console) -> Result<Exit, Failure> {
    let option = format!("`--async {}`", args.asynchrony.name());
    tools::check_async(&args.tool, args.asynchrony, &option)?;
    let (plan, module) = prepare(&args.files, &args.launch, &mut |diagnostic, source, elsewhere| {
        console.diagnostic(diagnostic, source, elsewhere);
    })?;
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
    run(&plan, &module, &options, &interrupt, &mut kept)?;
    Ok(Exit::Clean)
}

/// What a debugger calls the memory of a plan.
pub(crate) fn symbols(placed: &Placed<'_>, module: &Module) -> Symbols {
    let element = |element: Element| match element {
        Element::E4m3 | Element::E5m2 => Type::Int(1, false),
        other => Type::named(other.name()).unwrap_or(Type::Int(1, false)),
    };
    let buffers = placed.memory().iter().map(|resident| Buffer {
        name: resident.name().to_owned(),
        address: resident.address(),
        element: element(resident.element()),
        count: resident.shape().iter().product(),
    });
    Symbols { buffers: buffers.collect(), variables: placed.variables(module) }
}

/// Debugs the launches of a plan, one after the other.
fn run(
    plan: &Plan,
    module: &Module,
    options: &Options,
    interrupt: &Arc<AtomicBool>,
    kept: &mut Kept<'_>,
) -> Result<(), Failure> {
    let simulator = options.inspectable_simulator();
    let placed = Placed::new(plan, module, &simulator)?;
    let symbols = symbols(&placed, module);
    let mut points = Points::default();
    for at in 0..placed.launches().len() {
        let known = find(&placed, module, &simulator, at, &options.run_options())?;
        let watcher = Watcher::default();
        let end = Arc::new(AtomicBool::new(false));
        let tools = vec![watcher.factory()];
        let run = RunOptions { interrupt: Some(end.clone()), tools, ..options.run_options() };
        let mut next = Next::Continue;
        placed.launch_stepwise(at, &simulator, &run, &mut |session| {
            if next == Next::Quit {
                return;
            }
            let kernel = session.launch().kernel.clone();
            let mut debugger =
                Debugger::new(session, &mut points, symbols.clone(), watcher.clone(), interrupt.clone());
            debugger.expect(known.iter().filter(|finding| finding.kernel == kernel).cloned());
            next = Prompt::new(debugger, kept).run(at);
            if next == Next::Quit {
                // What is left of the launch is not run.
                end.store(true, Ordering::Relaxed);
            }
        })?;
        if next == Next::Quit {
            break;
        }
    }
    placed.release()?;
    Ok(())
}

/// What tools find of a launch: it is run once, and memory is what it was then.
pub(crate) fn find(
    placed: &Placed<'_>,
    module: &Module,
    simulator: &Simulator,
    at: usize,
    options: &RunOptions,
) -> Result<Vec<Finding>, Failure> {
    if options.tools.is_empty() {
        return Ok(Vec::new());
    }
    let variables = placed.variables(module).into_iter().map(|(id, address)| {
        let bytes = module.checked().variables[id.index()].size;
        (address, bytes)
    });
    let buffers = placed.memory().iter().map(|resident| {
        let elements: u64 = resident.shape().iter().product();
        (resident.address(), elements * resident.element().bytes() as u64)
    });
    let mut before = Vec::new();
    for (address, bytes) in variables.chain(buffers) {
        let mut held = vec![0; bytes as usize];
        simulator.read(address, &mut held)?;
        before.push((address, held));
    }
    let report = placed.launch(at, options)?;
    for (address, held) in before {
        simulator.write(address, &held)?;
    }
    // Faults are met again.
    Ok(report.findings.into_iter().filter(|finding| !finding.kind.is_fault()).collect())
}
