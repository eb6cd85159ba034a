//! What the launches of a plan leave behind on a backend, for comparing backends.

use std::collections::HashMap;
use std::sync::Arc;

use ptx_frontend::Module;
use sha2::{Digest, Sha256};
use sim_core::{Backend, DevicePtr, FaultClass, LaunchReport, Outcome, RunOptions};

use super::execute::{Resident, prepare};
use super::params;
use super::plan::Plan;
use crate::array::Array;
use crate::exit::{Exit, Failure};
use crate::modules::find_kernel;
use crate::progress;

/// What a backend made of a plan.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outputs {
    /// What went in: buffers, variables, launches.
    pub(crate) inputs: Vec<Said>,
    /// The launches that were run, in order; only the last may have stopped early.
    pub(crate) launches: Vec<Ended>,
    /// Buffers and variables after the last launch; `None` if it stopped early, since a device keeps nothing then.
    pub(crate) buffers: Option<Vec<Contents>>,
}

/// A piece of the input and its hash.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Said {
    /// Such as "buffer `x`".
    pub(crate) what: String,
    /// SHA-256 in hexadecimal.
    pub(crate) sha256: String,
}

/// How a launch ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    /// The kernel.
    pub(crate) kernel: String,
    /// What stopped it, if anything did.
    pub(crate) fault: Option<FaultClass>,
    /// The backend's words for that.
    pub(crate) message: String,
    /// What it printed.
    pub(crate) output: Vec<u8>,
}

/// A buffer or variable at the end.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Contents {
    /// Its name.
    pub(crate) name: String,
    /// Its contents.
    pub(crate) array: Array,
    /// The bytes before the first launch.
    pub(crate) before: Vec<u8>,
}

impl Contents {
    /// Whether the launches changed it.
    pub(crate) fn changed(&self) -> bool {
        self.array.bytes != self.before
    }
}

/// Runs the plan. Memory without given contents is zero, so that every backend starts with the same.
pub(crate) fn outputs(
    plan: &Plan,
    module: &Arc<Module>,
    options: &RunOptions,
    backend: &dyn Backend,
    show_progress: bool,
) -> Result<Outputs, Failure> {
    let prepared = prepare(plan, module, backend)?;
    let blank = |resident: &Resident<'_>| {
        resident.plan.spec.init.is_none() && plan.buffers.contains_key(resident.name)
    };
    let mut before = Vec::new();
    let mut inputs = Vec::new();
    for resident in &prepared.residents {
        if blank(resident) {
            let array = resident.read(backend)?;
            backend.fill(resident.pointer, array.bytes.len() as u64, &[0])?;
        }
        let array = resident.read(backend)?;
        let described = format!("{} {:?}", array.element.name(), array.shape);
        let what = if plan.buffers.contains_key(resident.name) { "buffer" } else { "variable" };
        inputs.push(said(format!("{what} `{}`", resident.name), &[described.as_bytes(), &array.bytes]));
        before.push(array.bytes);
    }
    // Arguments with addresses that are the same in every run.
    let symbolic: HashMap<&str, DevicePtr> =
        prepared.residents.iter().zip(1u64..).map(|(resident, at)| (resident.name, at << 40)).collect();
    for (at, (launch, launch_plan)) in prepared.launches.iter().zip(&plan.launches).enumerate() {
        let extents = format!(
            "{} {} {} {:?} {} {}",
            launch.kernel, launch.grid, launch.block, launch.cluster, launch.shared_bytes, launch.cooperative
        );
        let kernel = find_kernel(module, Some(&launch.kernel))?;
        let args = params::pack(module, &module.functions[kernel.index()], plan, launch_plan, &symbolic)?;
        inputs.push(said(format!("launch {at} (`{}`)", launch.kernel), &[extents.as_bytes(), &args]));
    }

    let mut launches = Vec::new();
    for (launch, said) in prepared.launches.iter().zip(&plan.launches) {
        let what = format!("{} on {}", launch.kernel, backend.name());
        let report = progress::during(show_progress, what, || backend.launch(prepared.id, launch, options))
            .map_err(|error| Failure::from(error).at(plan.source.as_ref(), &said.place))?;
        let ended = ended(&launch.kernel, report)?;
        let stopped = ended.fault.is_some();
        launches.push(ended);
        if stopped {
            return Ok(Outputs { inputs, launches, buffers: None });
        }
    }
    let buffers = prepared.residents.iter().zip(before).map(|(resident, before)| {
        Ok(Contents { name: resident.name.to_string(), array: resident.read(backend)?, before })
    });
    let buffers = buffers.collect::<Result<Vec<_>, Failure>>()?;
    for resident in &prepared.residents {
        if plan.buffers.contains_key(resident.name) {
            backend.free(resident.pointer)?;
        }
    }
    backend.unload(prepared.id)?;
    Ok(Outputs { inputs, launches, buffers: Some(buffers) })
}

fn said(what: String, parts: &[&[u8]]) -> Said {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Said { what, sha256: hex(&hash.finalize()) }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ended(kernel: &str, report: LaunchReport) -> Result<Ended, Failure> {
    let stop = report.findings.iter().find_map(|finding| Some((finding.kind.class()?, finding)));
    let (fault, message) = match (report.outcome, stop) {
        (Outcome::Completed, _) => (None, "completed".to_string()),
        (Outcome::Unsupported, _) => {
            let what = report.findings.first().map_or("something", |finding| &finding.message);
            return Err(Failure::new(Exit::Unsupported, format!("kernel `{kernel}`: {what}")));
        }
        (_, Some((class, finding))) => (Some(class), format!("{}: {}", finding.kind.name(), finding.message)),
        (_, None) => {
            return Err(Failure::new(Exit::Faulted, format!("kernel `{kernel}` stopped without a reason")));
        }
    };
    Ok(Ended { kernel: kernel.to_string(), fault, message, output: report.output })
}
