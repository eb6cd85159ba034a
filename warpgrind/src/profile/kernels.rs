//! What profiling knows of a module's kernels before they run, and a launch of one with its numbers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sim_core::{DeviceConfig, Launch, LaunchReport, Outcome, ToolFactory};
use tools::Tool;

use super::Profile;
use super::assemble::{AssembleError, Assembler, Disassembler, Resources};
use super::machine::listing::Listing;
use super::machine::ways::{Found, Watch, Ways};
use super::machine::{self, Followed};
use super::residency::Residency;
use super::time::record::{self, Recorded, Recorder};
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
}

/// A launch with its numbers.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The numbers.
    pub profile: Profile,
    /// Whether registers and shared memory are an estimate of ours.
    pub estimated: bool,
    /// The machine instructions that it executed, if it completed and there is machine code.
    pub executed: Option<Executed>,
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

impl Toolchain {
    /// The tools that are named, or those of `CUDA_HOME`, `CUDA_PATH`, `PATH`, or of NVIDIA's Python packages.
    ///
    /// # Errors
    /// One is named and not there, or does not say its version.
    pub fn find(ptxas: Option<&Path>, nvdisasm: Option<&Path>) -> Result<Self, AssembleError> {
        let assembler = match Assembler::find(ptxas) {
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
        let mut kernels = Kernels { lowered: self.disassembler.is_none(), ..Kernels::default() };
        let target = machine_target(module);
        if let Some(assembler) = &self.assembler {
            for source in &module.checked().sources {
                let text = source.text.as_bytes();
                let taken = assembler.resources(text, target)?;
                kernels.taken.extend(taken.into_iter().map(|(name, resources)| (name, (resources, false))));
                if let Some(disassembler) = &self.disassembler {
                    kernels.listings.extend(disassembler.listings(assembler, text, target)?);
                }
            }
        }
        for info in sim_core::inspect(module.checked()) {
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
        let Some(chip) = &found.chip else {
            return vec![ToolFactory::new(move |shape| Watch::new(&ways, shape.instructions))];
        };
        vec![
            ToolFactory::new(move |shape| Watch::keeping(&ways, shape.instructions)),
            Recorder::factory(&found.asked, chip.blocks),
        ]
    }

    /// The numbers of a launch that ran under [`Tool::Counters`], and under [`Kernels::watch`] with the same `found`.
    pub fn measured(&self, launch: &Launch, report: &LaunchReport, found: &Noted) -> Measured {
        let name = &*launch.kernel;
        let (of, estimated) = self.taken.get(name).copied().unwrap_or_default();
        let of = if estimated { Resources { stack: u32::MAX, ..of } } else { of };
        let counted = report.metrics.iter().find(|metrics| metrics.tool == Tool::Counters.name());
        let mut profile = Profile::new(&DeviceConfig::h200(), launch, &of, counted);
        let threads = u32::try_from(launch.block.count()).unwrap_or(u32::MAX);
        let residency = Residency::of(&DeviceConfig::h200(), threads, &of, launch.shared_bytes);
        let blocks = launch.grid.count() as u64;
        let mut timed = Err(if found.chip.is_some() { Untimed::NotFollowed } else { Untimed::NotAsked });
        let executed =
            Executed::of(self.listings.get(name), found, name, |listing, ways, asked, sequence| {
                if let Some(chip) = found.chip.as_ref().filter(|_| report.outcome == Outcome::Completed) {
                    let of = time::time(&chip.chip, listing, ways, asked, &residency, blocks, sequence);
                    timed = of.map(|of| Timed { lowered: self.lowered, ..of });
                }
            });
        let executed = executed.filter(|_| report.outcome == Outcome::Completed && !self.lowered);
        if let Some(executed) = executed.as_ref().filter(|executed| executed.is_whole()) {
            profile.add_machine(&executed.listing, &executed.followed);
        }
        if let Ok(timed) = &timed {
            profile.add(&timed.values);
        }
        Measured { profile, estimated, executed, timed }
    }
}

impl Executed {
    /// What was found of a launch of a kernel that has machine code. A launch that launches others has several grids, of
    /// which this is the kernel's own.
    fn of(
        listing: Option<&Listing>,
        found: &Noted,
        kernel: &str,
        then: impl FnOnce(&Listing, &Ways, &Recorded, &dyn Fn(u32) -> machine::Sequence),
    ) -> Option<Self> {
        let (ways, asked) = (only(&found.ways, kernel), only(&found.asked, kernel).unwrap_or_default());
        let (listing, ways) = (listing?, ways?);
        let followed = machine::follow_and(listing, &ways, |sequence| then(listing, &ways, &asked, sequence));
        Some(Executed { listing: listing.clone(), followed })
    }

    /// Whether the way of all warps is known.
    pub fn is_whole(&self) -> bool {
        self.followed.warps.1 == 0 && self.followed.warps.0 > 0
    }
}

/// What is noted of a launch while it runs, and on what it is timed.
#[derive(Clone, Default, Debug)]
pub struct Noted {
    ways: Found,
    asked: record::Found,
    chip: Option<Timing>,
}

/// On what launches are timed.
#[derive(Clone, Debug)]
pub struct Timing {
    /// The chip.
    pub chip: timing::chip::Chip,
    /// Blocks of a launch that are timed.
    pub blocks: u64,
}

impl Noted {
    /// With what times are wanted for, if they are.
    pub fn new(chip: Option<Timing>) -> Self {
        Noted { chip, ..Noted::default() }
    }
}

/// What was noted of the one grid of a kernel. Of one that launches itself one does not know which grid was first.
fn only<T>(found: &Mutex<Vec<(Arc<str>, T)>>, kernel: &str) -> Option<T> {
    let grids = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    let mut own: Vec<T> = grids.into_iter().filter(|(name, _)| **name == *kernel).map(|(_, of)| of).collect();
    own.pop().filter(|_| own.is_empty())
}

/// What ptxas makes for an H200: PTX of older targets runs there, too.
fn machine_target(module: &Module) -> &'static str {
    match module.checked().target.to_string().ends_with("90a") {
        true => "sm_90a",
        false => "sm_90",
    }
}
