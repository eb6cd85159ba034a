//! Whether the threads of a test come to their ends on a device: progress tests, as the literature on forward progress runs them
//! (Sorensen and others: Specifying and Testing GPU Workgroup Progress Models, OOPSLA 2021).
//!
//! Many instances of a test are launched at once, more than the device has room for, and none waits for anything but what the
//! test waits for. A thread that has taken a number of backward jumps gives up, so that a launch always ends.

use std::fmt;
use std::str::FromStr;

use memory_model::Litmus;
use memory_model::emit::{Kernel, Unsupported};
use sim_core::Backend;

use super::environment::Random;
use super::experiment::{Experiment, NotRun, Plan, Seen};

/// What the threads of a test are on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mapping {
    /// Blocks, those of an instance side by side in the grid.
    Chunked,
    /// Blocks: the first threads of all instances come first in the grid, then all second ones.
    RoundRobin,
    /// Warps of one block.
    Warps,
    /// Lanes of one warp.
    Lanes,
}

impl Mapping {
    /// All of them, with their names.
    pub const ALL: [(Mapping, &'static str); 4] = [
        (Mapping::Chunked, "chunked"),
        (Mapping::RoundRobin, "round-robin"),
        (Mapping::Warps, "warps"),
        (Mapping::Lanes, "lanes"),
    ];

    fn kernel(self, litmus: &Litmus) -> Result<(Litmus, Kernel), Unsupported> {
        let mut litmus = litmus.clone();
        let one_block = matches!(self, Mapping::Warps | Mapping::Lanes);
        let first = litmus.program.threads.first().map(|thread| thread.placement);
        for (number, thread) in (0..).zip(&mut litmus.program.threads) {
            match first {
                Some(first) if one_block => thread.placement = first,
                _ => thread.placement.cta = number,
            }
        }
        let kernel = match self {
            Mapping::Lanes => Kernel::in_one_warp(&litmus),
            _ => Kernel::new(&litmus),
        }?;
        Ok((litmus, kernel))
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(known, _)| known == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Mapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(|(_, name)| name).join(", ");
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found
            .map(|(mapping, _)| *mapping)
            .ok_or_else(|| format!("unknown mapping `{text}`; one of {}", known()))
    }
}

/// Most rounds of the random delay before threads begin, launch for launch.
const DELAYS: [u32; 4] = [0, 15, 255, 4095];

/// Runs `plan.instances` instances, `plan.launch` a launch; [`Seen::incomplete`] are those with a thread that gave up after `patience`
/// backward jumps.
///
/// # Errors
/// The test is no kernel under this mapping, or the backend refuses it.
pub fn run(
    litmus: &Litmus,
    backend: &dyn Backend,
    plan: &Plan,
    mapping: Mapping,
    patience: u32,
) -> Result<Seen, NotRun> {
    let (litmus, kernel) = mapping.kernel(litmus).map_err(|why| NotRun::Unsupported(why.0))?;
    if kernel.barriers {
        return Err(NotRun::Unsupported("a barrier, at which threads cannot give up".to_owned()));
    }
    let experiment = Experiment::with(litmus, kernel, backend, plan)?;
    let (mut random, mut seen) = (Random::new(plan.seed), Seen::default());
    let launches = plan.instances.div_ceil(u64::from(plan.launch.max(1)));
    for (made, &delay) in (0..launches).zip(DELAYS.iter().cycle()) {
        if let Some(why) = experiment.ended() {
            seen.failed.get_or_insert(format!("{why} after {made} of {launches} launches"));
            break;
        }
        let change = |setup: &mut memory_model::emit::Setup| {
            setup.spread = mapping == Mapping::RoundRobin;
            (setup.delay, setup.patience) = (delay, patience);
        };
        experiment.plain(change, &mut random, &mut seen)?;
    }
    Ok(seen)
}
