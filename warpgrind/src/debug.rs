//! Launches of a plan under the debugger.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use debugger::Debugger;
use debugger::points::Points;
use debugger::scope::{Buffer, Symbols};
use debugger::types::Type;
use debugger::watch::Watcher;
use sim_core::{Backend, Finding, RunOptions, Simulator};

use crate::array::Element;
use crate::run::{Placed, RunError};
use crate::{Module, Options};

/// Debugs the launches of a plan, one after the other, on the simulator that it was placed on
/// ([`Options::inspectable_simulator`]). `direct` has each, with its number, and says whether it goes on to its
/// end, and the others are to come; a kernel that launches others has a turn for each of them. The result says so of all.
///
/// With tools, each launch runs to its end once before, so that its findings are known.
///
/// # Errors
/// A launch cannot be run.
pub fn launches(
    placed: &Placed<'_>,
    module: &Module,
    simulator: &Simulator,
    options: &Options,
    interrupt: &Arc<AtomicBool>,
    points: &mut Points,
    direct: &mut dyn FnMut(Debugger<'_, '_, '_>, usize) -> bool,
) -> Result<bool, RunError> {
    let symbols = symbols(placed, module);
    let mut goes_on = true;
    for at in 0..placed.launches().len() {
        let known = find(placed, module, simulator, at, &options.run_options())?;
        let watcher = Watcher::default();
        let end = Arc::new(AtomicBool::new(false));
        let tools = vec![watcher.factory()];
        let run = RunOptions { interrupt: Some(end.clone()), tools, ..options.run_options() };
        placed.launch_stepwise(at, simulator, &run, &mut |session| {
            if !goes_on {
                return;
            }
            let kernel = session.launch().kernel.clone();
            let mut debugger =
                Debugger::new(session, points, symbols.clone(), watcher.clone(), interrupt.clone());
            debugger.expect(known.iter().filter(|finding| finding.kernel == kernel).cloned());
            goes_on = direct(debugger, at);
            if !goes_on {
                // What is left of the launch is not run.
                end.store(true, Ordering::Relaxed);
            }
        })?;
        if !goes_on {
            break;
        }
    }
    Ok(goes_on)
}

/// What a debugger calls the memory of a plan.
fn symbols(placed: &Placed<'_>, module: &Module) -> Symbols {
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

/// What tools find of a launch: it is run once, and memory is what it was then.
fn find(
    placed: &Placed<'_>,
    module: &Module,
    simulator: &Simulator,
    at: usize,
    options: &RunOptions,
) -> Result<Vec<Finding>, RunError> {
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
