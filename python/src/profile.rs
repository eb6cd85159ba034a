//! What a launch costs, as a dictionary.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use sim_core::{Launch, LaunchReport};
use warpgrind::Module;
use warpgrind::profile::Section;
use warpgrind::profile::kernels::{Kernels, Measured, Noted, RELEASE, Timing, Toolchain};
use warpgrind::profile::limit::Limit;
use warpgrind::profile::machine::metrics::by_opcode;
use warpgrind::profile::time::Chip;

use crate::error::Error;

/// The kernels of a module with the tools that were asked about them.
pub(crate) struct Profiler {
    pub(crate) kernels: Kernels,
    ptxas: Option<String>,
}

/// The numbers of a launch.
#[derive(IntoPyObject, Clone)]
pub(crate) struct Profile {
    kernel: String,
    /// The release of the assembler that registers and shared memory are known of; without, they are estimates.
    ptxas: Option<String>,
    /// Name, unit, section, number.
    values: Vec<(String, &'static str, &'static str, f64)>,
    /// Warps whose way through the machine code is known, and those of whom it is not.
    warps: Option<(u64, u64)>,
    /// Machine instructions by opcode: warps and threads that executed them.
    opcodes: Vec<(String, u64, u64)>,
    /// The lines that have the most of what could be avoided, as text.
    lines: String,
}

impl Profiler {
    pub(crate) fn of(module: &Module) -> PyResult<Self> {
        let wrong = |error: warpgrind::profile::assemble::AssembleError| Error::new_err(error.to_string());
        let asking = Limit::default().within(Some(RELEASE));
        let mut tools = Toolchain::find(None, None, &asking).map_err(wrong)?;
        // Its work may take longer.
        tools.assembler.as_mut().into_iter().for_each(|assembler| assembler.limit = Limit::default());
        let kernels = tools.kernels(module).map_err(wrong)?;
        Ok(Self { kernels, ptxas: tools.assembler.map(|assembler| assembler.version) })
    }

    /// What notes what a launch does, to be timed on an H200 unless a signal asks for the end.
    pub(crate) fn noted(interrupt: &Arc<AtomicBool>) -> Noted {
        let mut noted = Noted::new(Some(Timing { chip: Chip::h200(), blocks: None }));
        noted.limit = Limit::of(interrupt);
        noted
    }

    pub(crate) fn measured(
        &self,
        module: &Module,
        launch: &Launch,
        report: &LaunchReport,
        found: &Noted,
    ) -> Profile {
        let Measured { profile, estimated, executed, .. } =
            self.kernels.measured(module, launch, (report.outcome, &report.metrics, false), found);
        let section = |name: &str| {
            let of = Section::of(name);
            Section::ALL.iter().find(|(known, _)| *known == of).map_or("", |(_, text)| text)
        };
        let values = profile.values.into_iter().map(|of| {
            let section = section(&of.name);
            (of.name, of.unit, section, of.value)
        });
        let counted = report.metrics.iter().find(|of| of.tool == tools::Tool::Counters.name());
        let whole = executed.as_ref().filter(|executed| executed.is_known());
        Profile {
            kernel: profile.kernel,
            ptxas: self.ptxas.clone().filter(|_| !estimated),
            values: values.collect(),
            warps: executed.as_ref().map(|executed| executed.followed.warps),
            opcodes: whole.map_or_else(Vec::new, |of| {
                let all = by_opcode(&of.listing, &of.followed).into_iter();
                all.map(|(name, warps, threads)| (name.to_string(), warps, threads)).collect()
            }),
            lines: counted.map_or_else(String::new, |of| reports::metrics::lines(of, module.checked())),
        }
    }
}
