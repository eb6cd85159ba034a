//! What profiling knows of a module's kernels before they run, and a launch of one with its numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sim_core::{DeviceConfig, Launch, Metrics, Outcome, RunOptions, ToolFactory};
use timing::code::PRINTS;
use tools::Tool;

use super::Profile;
use super::assemble::{AssembleError, Assembler, Disassembler, Resources};
use super::limit::Limit;
use super::machine::listing::Listing;
use super::machine::spins::Meets;
use super::machine::ways::{Found, Watch, Ways};
use super::machine::wide::{self, Widths};
use super::machine::{self, Followed};
use super::residency::Residency;
pub use super::time::Timing;
use super::time::record::{self, Recorder};
use super::time::{self, Timed, Untimed};
use crate::module::Module;

/// NVIDIA's tools for machine code, as far as they are there.
#[derive(Clone, Default, Debug)]
pub struct Toolchain {
    /// What makes machine code.
    pub assembler: Option<Assembler>,
    /// What reads it; there is none without an assembler.
    pub disassembler: Option<Disassembler>,
}

/// The kernels of a module: what each takes, and its machine code.
#[derive(Clone, Default, Debug)]
pub struct Kernels {
    /// By name, and whether it is an estimate.
    taken: BTreeMap<String, (Resources, bool)>,
    /// By name.
    listings: BTreeMap<String, Listing>,
    /// Whether these are of our making ([`machine::lower`]), and good for estimates of time alone.
    lowered: bool,
    /// Loops in which threads wait for others, as lines of the PTX.
    spins: Vec<RangeInclusive<u32>>,
    /// By name.
    meets: BTreeMap<String, Meets>,
    /// Those that launch kernels or graphs themselves, which is code of the driver's.
    launching: BTreeSet<String>,
}

/// Warp instructions of a launch for which its warps go in step: where each of many threads changes one word, a change of one costs
/// a try of all the others.
const MOST_IN_STEP: u64 = 1 << 22;

/// A launch with its numbers.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The numbers.
    pub profile: Profile,
    /// Whether registers and shared memory are an estimate of ours.
    pub estimated: bool,
    /// The machine instructions that it executed, if it completed and there is machine code.
    pub executed: Option<Executed>,
    /// Turns of loops in which threads waited for others, which the machine instructions and the time leave out: how many there
    /// are is up to when the others write.
    pub spun: u64,
    /// How long it takes.
    pub timed: Result<Timed, Untimed>,
}

/// The machine instructions that a launch executed.
#[derive(Clone, Debug)]
pub struct Executed {
    /// The machine code.
    pub listing: Listing,
    /// What was executed of it.
    pub followed: Followed,
}

/// How long an assembler may take to say its release, where nobody says another time.
pub const RELEASE: Duration = Duration::from_secs(30);

impl Toolchain {
    /// The tools that are named, or those of `CUDA_HOME`, `CUDA_PATH`, `PATH`, or of NVIDIA's Python packages, which end when
    /// the limit is over.
    ///
    /// # Errors
    /// One is named and not there, or does not say its version.
    pub fn find(ptxas: Option<&Path>, nvdisasm: Option<&Path>, limit: &Limit) -> Result<Self, AssembleError> {
        let assembler = match Assembler::find(ptxas, limit) {
            Err(AssembleError::Missing) => return Ok(Self::default()),
            found => found?,
        };
        let disassembler = match Disassembler::find(nvdisasm, &assembler) {
            Err(AssembleError::NoDisassembler) => None,
            found => Some(found?),
        };
        Ok(Self { assembler: Some(assembler), disassembler })
    }

    /// What these tools say of the kernels of a module; without tools, what is estimated.
    ///
    /// # Errors
    /// A tool cannot be run, or refuses the PTX.
    pub fn kernels(&self, module: &Module) -> Result<Kernels, AssembleError> {
        let spins = machine::spins::lines(module.checked());
        let meets = machine::spins::meets(module.checked());
        let lowered = self.disassembler.is_none();
        let mut kernels = Kernels { lowered, spins, meets, ..Kernels::default() };
        let target = machine_target(module);
        if let Some(assembler) = &self.assembler {
            for source in &module.checked().sources {
                let text = source.text.as_bytes();
                let taken = assembler.resources(text, target)?;
                kernels.taken.extend(taken.into_iter().map(|(name, resources)| (name, (resources, false))));
                if let Some(disassembler) = &self.disassembler {
                    let mut listings = disassembler.listings(assembler, text, target)?;
                    let lines = machine::spins::printing(module.checked());
                    for of in listings.values_mut().flat_map(|listing| &mut listing.instructions) {
                        if of.base() == "CALL" && lines.contains(&of.line) {
                            PRINTS.clone_into(&mut of.operands);
                        }
                    }
                    kernels.listings.extend(listings);
                }
            }
        }
        for info in sim_core::inspect(module.checked()) {
            if info.launches {
                kernels.launching.insert(info.name.to_string());
            }
            let shared = u32::try_from(info.shared_bytes).unwrap_or(u32::MAX);
            let declared = u32::try_from(info.local_bytes).unwrap_or(u32::MAX);
            let guess = Resources { registers: info.registers, shared, ..Resources::default() };
            // Estimates say nothing of local memory.
            kernels.taken.entry(info.name.to_string()).or_insert((guess, true)).0.declared = declared;
            if kernels.lowered {
                let listing = machine::lower::lower(module.checked(), &info.name);
                kernels.listings.extend(listing.map(|listing| (info.name.to_string(), listing)));
            }
        }
        Ok(kernels)
    }
}

impl Kernels {
    /// The tools that note in `found` which way the threads of a launch took, and what it asked the memory for; none where
    /// there is no machine code.
    pub fn watch(&self, found: &Noted) -> Vec<ToolFactory> {
        // What is of our making is for time alone.
        if self.listings.is_empty() || self.lowered && found.chip.is_none() {
            return Vec::new();
        }
        let ways = Arc::clone(&found.ways);
        let merges = self.listings.values().any(machine::wide::has_any);
        let wide = Arc::clone(&found.wide);
        let widths =
            (merges && !self.lowered).then(|| ToolFactory::new(move |shape| Widths::new(&wide, shape)));
        let Some(chip) = &found.chip else {
            return widths
                .into_iter()
                .chain([ToolFactory::new(move |shape| Watch::new(&ways, shape.instructions))])
                .collect();
        };
        let recorder = Recorder::factory(&found.asked, chip, merges);
        let ways = ToolFactory::new(move |shape| Watch::keeping(&ways, shape.instructions));
        widths.into_iter().chain([ways, recorder]).collect()
    }

    /// Whether a kernel launches kernels or graphs itself: it does so by code of the driver's, so its machine instructions are not
    /// known.
    pub fn is_launching(&self, kernel: &str) -> bool {
        self.launching.contains(kernel)
    }

    /// How launches of a kernel are to run, and what it launches itself. What threads wait for depends on the order in which
    /// blocks run, so one worker runs them all. Threads that try a compare-and-swap again do so as often as others come between
    /// that run at the same time, so warps go in step. Where blocks take work from each other, or look at what others have done,
    /// none goes on until it has taken, or seen, all.
    pub fn schedule(&self, kernel: &str, options: RunOptions) -> RunOptions {
        let mut options = options;
        let Meets { waits, tries, hands_out } = match self.is_launching(kernel) {
            true => self.meets.values().fold(Meets::default(), |all, &of| all.and(of)),
            false => self.meets.get(kernel).copied().unwrap_or_default(),
        };
        if tries || hands_out || waits {
            options.jobs = 1;
        }
        options.interleave |= hands_out;
        if tries {
            options.in_step = MOST_IN_STEP;
        }
        options.apart = !self.launching.is_empty();
        options
    }

    /// A kernel and the registers that ptxas took for it, by which a launch is checked. One that a program made was `accepted`, with
    /// its own code, which may take fewer: those of a cooperative launch then leave room for all of its blocks.
    pub fn registers(&self, launch: &Launch, accepted: bool) -> Option<(Arc<str>, u32)> {
        let &(of, estimated) = self.taken.get(&*launch.kernel)?;
        let registers = if accepted { self.fitting(&of, launch).registers } else { of.registers };
        (!estimated || accepted && launch.cooperative).then(|| (launch.kernel.clone(), registers))
    }

    /// What a kernel takes, with so few registers that a cooperative launch is resident as a whole.
    fn fitting(&self, of: &Resources, launch: &Launch) -> Resources {
        let device = DeviceConfig::h200();
        let threads = u32::try_from(launch.block.count()).unwrap_or(u32::MAX);
        let fits = |registers: u32| {
            let residency =
                Residency::of(&device, threads, &Resources { registers, ..*of }, launch.shared_bytes);
            u128::from(residency.blocks()) * u128::from(device.multiprocessors) >= launch.grid.count()
        };
        let registers = match launch.cooperative {
            true => (1..=of.registers).rev().find(|&registers| fits(registers)),
            false => None,
        };
        Resources { registers: registers.unwrap_or(of.registers), ..*of }
    }

    /// The numbers of a launch of a kernel of `module` that ran under [`Tool::Counters`], and under [`Kernels::watch`] with the
    /// same `found`; `is_first` says whether it is the first of its process. Once the limit of `found` is over, machine
    /// instructions and the time are left out. Grids that the launch launches are asked for behind it, in their order.
    pub fn measured(
        &self,
        module: &Module,
        launch: &Launch,
        (outcome, metrics, is_first): (Outcome, &[Metrics], bool),
        found: &Noted,
    ) -> Measured {
        let name = &*launch.kernel;
        let (of, estimated) = self.taken.get(name).copied().unwrap_or_default();
        let of = if estimated { Resources { stack: u32::MAX, ..of } } else { of };
        let counted = metrics.iter().find(|metrics| metrics.tool == Tool::Counters.name());
        let mut profile = Profile::new(&DeviceConfig::h200(), launch, &of, counted);
        let threads = u32::try_from(launch.block.count()).unwrap_or(u32::MAX);
        let fitting = self.fitting(&of, launch);
        let residency = Residency::of(&DeviceConfig::h200(), threads, &fitting, launch.shared_bytes);
        let blocks = launch.grid.count() as u64;
        let completed = outcome == Outcome::Completed;
        let (mut ways, asked) = (next(&found.ways, name), next(&found.asked, name).unwrap_or_default());
        let wide = next(&found.wide, name).unwrap_or_default();
        let spun = ways.as_mut().map_or(0, |ways| ways.without_waiting(&self.spins));
        let mut timed = Err(if found.chip.is_some() { Untimed::NotFollowed } else { Untimed::NotAsked });
        let mut follow = |listing: &Listing, ways: &Ways, lowered: bool| {
            machine::follow_and(listing, ways, &found.limit, |sequence| {
                if let Some(chip) = found.chip.as_ref().filter(|_| completed) {
                    let of = time::time(
                        &chip.chip,
                        listing,
                        ways,
                        &asked,
                        &residency,
                        (blocks, chip.most(residency.blocks()), is_first),
                        (sequence, &found.limit),
                    );
                    timed = of.map(|mut of| {
                        // How many instructions these are says machine code of our making not.
                        of.values.retain(|(name, _)| !(lowered && name.contains("inst_executed")));
                        Timed { lowered, ..of }
                    });
                }
            })
        };
        let listing = self.listings.get(name).filter(|_| self.lowered || !self.is_launching(name));
        let executed = listing.zip(ways.as_ref()).map(|(listing, ways)| Executed {
            listing: listing.clone(),
            followed: follow(listing, ways, self.lowered),
        });
        // Where the way through NVIDIA's machine code is not found, that through ours still gives a time.
        if let (Some(ways), false) = (&ways, executed.as_ref().is_some_and(Executed::is_known))
            && !self.lowered
            && let Some(own) = machine::lower::lower(module.checked(), name)
        {
            follow(&own, ways, true);
        }
        let ended = found.limit.is_over();
        if ended && found.chip.is_some() {
            timed = Err(Untimed::Ended);
        }
        let executed = executed.filter(|_| completed && !self.lowered && !ended);
        if let Some(executed) = executed.as_ref().filter(|executed| executed.is_known()) {
            profile.add_machine(&executed.listing, &executed.followed);
            if let Some((ways, counted)) = ways.as_ref().zip(counted) {
                let Executed { listing, followed } = executed;
                let of = machine::merged::too_many(listing, followed, ways, &wide, counted);
                profile.take_off(&of);
            }
        }
        if let Ok(timed) = &timed {
            profile.add(&timed.values);
        }
        Measured { profile, estimated, executed, spun, timed }
    }
}

impl Executed {
    /// Whether the ways of enough warps are known: of all, or of so many that the others are taken to be like them.
    pub fn is_known(&self) -> bool {
        self.followed.is_known()
    }
}

/// What is noted of a launch while it runs, and on what it is timed.
#[derive(Clone, Default, Debug)]
pub struct Noted {
    ways: Found,
    asked: record::Found,
    wide: wide::Found,
    chip: Option<Timing>,
    /// What ends the work for a launch behind its end.
    pub limit: Limit,
}

impl Noted {
    /// With what times are wanted for, if they are.
    pub fn new(chip: Option<Timing>) -> Self {
        Noted { chip, ..Noted::default() }
    }

    /// Forgets what was noted of a launch and was not asked for.
    pub fn clear(&self) {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.wide.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// What was noted of the next grid of a kernel, in the order in which they ran.
fn next<T>(found: &Mutex<Vec<(Arc<str>, T)>>, kernel: &str) -> Option<T> {
    let mut grids = found.lock().unwrap_or_else(PoisonError::into_inner);
    let at = grids.iter().position(|(name, _)| **name == *kernel)?;
    Some(grids.remove(at).1)
}

/// What ptxas makes for an H200: PTX of older targets runs there, too.
fn machine_target(module: &Module) -> &'static str {
    match module.checked().target.to_string().ends_with("90a") {
        true => "sm_90a",
        false => "sm_90",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_leave_room_for_what_was_accepted() {
        let taken = |registers, estimated| (Resources { registers, ..Resources::default() }, estimated);
        let taken =
            BTreeMap::from([("known".to_owned(), taken(40, false)), ("guess".to_owned(), taken(200, true))]);
        let kernels = Kernels { taken, ..Kernels::default() };
        let of = |kernel: &str, blocks: u32, cooperative: bool, accepted: bool| {
            let launch = Launch { cooperative, ..Launch::new(kernel, blocks, 1024, Vec::new()) };
            kernels.registers(&launch, accepted).map(|(_, registers)| registers)
        };
        // Two blocks of 1,024 threads take no more than 32 registers.
        assert_eq!([of("known", 264, true, true), of("guess", 264, true, true)], [Some(32), Some(32)]);
        assert_eq!([of("known", 264, true, false), of("guess", 264, true, false)], [Some(40), None]);
        assert_eq!([of("known", 264, false, true), of("guess", 264, false, true)], [Some(40), None]);
        // What never fits is for others to refuse.
        assert_eq!([of("known", 265, true, true), of("none", 1, true, true)], [Some(40), None]);
    }
}
