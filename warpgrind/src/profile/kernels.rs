//! What profiling knows of a module's kernels before they run, and a launch of one with its numbers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::PoisonError;

use sim_core::{DeviceConfig, Launch, LaunchReport, Outcome, ToolFactory};
use tools::Tool;

use super::Profile;
use super::assemble::{AssembleError, Assembler, Disassembler, Resources};
use super::machine::listing::Listing;
use super::machine::ways::{Found, Watch, Ways};
use super::machine::{self, Followed};
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
    /// By name; none without tools for it.
    listings: BTreeMap<String, Listing>,
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
        let mut kernels = Kernels::default();
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
        }
        Ok(kernels)
    }
}

impl Kernels {
    /// The tool that notes in `found` which way the threads of a launch took; none where there is no machine code.
    pub fn watch(&self, found: &Found) -> Option<ToolFactory> {
        let found = Found::clone(found);
        (!self.listings.is_empty())
            .then(|| ToolFactory::new(move |shape| Watch::new(&found, shape.instructions)))
    }

    /// The numbers of a launch that ran under [`Tool::Counters`], and under [`Kernels::watch`] with the same `found`.
    pub fn measured(&self, launch: &Launch, report: &LaunchReport, found: &Found) -> Measured {
        let name = &*launch.kernel;
        let (of, estimated) = self.taken.get(name).copied().unwrap_or_default();
        let of = if estimated { Resources { stack: u32::MAX, ..of } } else { of };
        let counted = report.metrics.iter().find(|metrics| metrics.tool == Tool::Counters.name());
        let mut profile = Profile::new(&DeviceConfig::h200(), launch, &of, counted);
        let executed = Executed::of(self.listings.get(name), found, name);
        let executed = executed.filter(|_| report.outcome == Outcome::Completed);
        if let Some(executed) = executed.as_ref().filter(|executed| executed.is_whole()) {
            profile.add_machine(&executed.listing, &executed.followed);
        }
        Measured { profile, estimated, executed }
    }
}

impl Executed {
    /// What was found of a launch of a kernel that has machine code. A launch that launches others has several grids, of
    /// which this is the kernel's own.
    fn of(listing: Option<&Listing>, found: &Found, kernel: &str) -> Option<Self> {
        let grids = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        let listing = listing?;
        let mut own: Vec<Ways> =
            grids.into_iter().filter(|(name, _)| **name == *kernel).map(|(_, ways)| ways).collect();
        // Of a kernel that launches itself one does not know which grid was first.
        let ways = own.pop().filter(|_| own.is_empty())?;
        let followed = machine::follow(listing, &ways);
        Some(Executed { listing: listing.clone(), followed })
    }

    /// Whether the way of all warps is known.
    pub fn is_whole(&self) -> bool {
        self.followed.warps.1 == 0 && self.followed.warps.0 > 0
    }
}

/// What ptxas makes for an H200: PTX of older targets runs there, too.
fn machine_target(module: &Module) -> &'static str {
    match module.checked().target.to_string().ends_with("90a") {
        true => "sm_90a",
        false => "sm_90",
    }
}
