//! What the launches of a plan leave behind on a backend, for comparing backends.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use sim_core::{Backend, DevicePtr, FaultClass, LaunchReport, Outcome, RunOptions};

use super::{Placed, RunError};
use crate::array::Array;
use crate::module::Module;
use crate::plan::{Plan, pack};

/// What a backend made of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Outputs {
    /// What went in: buffers, variables, launches.
    pub inputs: Vec<InputDigest>,
    /// The launches that were run, in order; only the last may have stopped early.
    pub launches: Vec<LaunchEnd>,
    /// Buffers and variables after the last launch; `None` if it stopped early, since a device keeps nothing then.
    pub buffers: Option<Vec<Contents>>,
}

/// A piece of the input and its hash.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct InputDigest {
    /// Such as "buffer `x`".
    pub what: String,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// How a launch ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchEnd {
    /// The kernel.
    pub kernel: String,
    /// What stopped it, if anything did.
    pub fault: Option<FaultClass>,
    /// The backend's words for that.
    pub message: String,
    /// What it printed.
    pub output: Vec<u8>,
}

/// A buffer or variable at the end.
#[derive(Clone, PartialEq, Debug)]
pub struct Contents {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub array: Array,
    /// The bytes before the first launch.
    pub before: Vec<u8>,
}

impl Contents {
    /// Whether the launches changed it.
    pub fn changed(&self) -> bool {
        self.array.bytes != self.before
    }
}

/// Does the work of one launch; what the launch is comes first, for those who show it.
pub type During<'a> = &'a dyn Fn(&str, &mut dyn FnMut());

/// Runs the plan, each launch inside `during`. Memory without given contents is zero, so that every backend starts with
/// the same.
///
/// # Errors
/// Those of [`Placed::new`] and [`Placed::launch`]; [`RunError::Unsupported`], [`RunError::NoReason`].
pub fn outputs(
    plan: &Plan,
    module: &Module,
    options: &RunOptions,
    backend: &dyn Backend,
    during: During<'_>,
) -> Result<Outputs, RunError> {
    let placed = Placed::new(plan, module, backend)?;
    let mut before = Vec::new();
    let mut inputs = Vec::new();
    for resident in placed.memory() {
        if resident.wanted().spec.init.is_none() && resident.is_buffer() {
            let array = resident.read()?;
            backend.fill(resident.address(), array.bytes.len() as u64, &[0])?;
        }
        let array = resident.read()?;
        let described = format!("{} {:?}", array.element.name(), array.shape);
        let what = if resident.is_buffer() { "buffer" } else { "variable" };
        inputs.push(digest(format!("{what} `{}`", resident.name()), &[described.as_bytes(), &array.bytes]));
        before.push(array.bytes);
    }
    // Arguments with addresses that are the same in every run.
    let symbolic: HashMap<&str, DevicePtr> =
        placed.memory().iter().zip(1u64..).map(|(resident, at)| (resident.name(), at << 40)).collect();
    for (at, (launch, launch_plan)) in placed.launches().iter().zip(&plan.launches).enumerate() {
        let extents = format!(
            "{} {} {} {:?} {} {}",
            launch.kernel, launch.grid, launch.block, launch.cluster, launch.shared_bytes, launch.cooperative
        );
        let kernel = module.kernel(Some(&launch.kernel))?;
        let args = pack(module.checked(), kernel, plan, launch_plan, &symbolic)?;
        inputs.push(digest(format!("launch {at} (`{}`)", launch.kernel), &[extents.as_bytes(), &args]));
    }

    let mut launches = Vec::new();
    for (at, launch) in placed.launches().iter().enumerate() {
        let mut report = None;
        during(&format!("{} on {}", launch.kernel, backend.name()), &mut || {
            report = Some(placed.launch(at, options));
        });
        let Some(report) = report else {
            return Err(RunError::NoReason { kernel: launch.kernel.to_string() });
        };
        let ended = ended(&launch.kernel, report?)?;
        let stopped = ended.fault.is_some();
        launches.push(ended);
        if stopped {
            return Ok(Outputs { inputs, launches, buffers: None });
        }
    }
    let buffers = placed.memory().iter().zip(before).map(|(resident, before)| {
        Ok(Contents { name: resident.name().to_string(), array: resident.read()?, before })
    });
    let buffers = buffers.collect::<Result<Vec<_>, RunError>>()?;
    placed.release()?;
    Ok(Outputs { inputs, launches, buffers: Some(buffers) })
}

fn digest(what: String, parts: &[&[u8]]) -> InputDigest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    InputDigest { what, sha256: hex(&hash.finalize()) }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ended(kernel: &str, report: LaunchReport) -> Result<LaunchEnd, RunError> {
    let stop = report.findings.iter().find_map(|finding| Some((finding.kind.class()?, finding)));
    let (fault, message) = match (report.outcome, stop) {
        (Outcome::Completed, _) => (None, "completed".to_string()),
        (Outcome::Unsupported, _) => {
            let what = report.findings.first().map_or("something", |finding| &finding.message);
            return Err(RunError::Unsupported { kernel: kernel.into(), what: what.to_string() });
        }
        (_, Some((class, finding))) => (Some(class), format!("{}: {}", finding.kind.name(), finding.message)),
        (_, None) => {
            return Err(RunError::NoReason { kernel: kernel.into() });
        }
    };
    Ok(LaunchEnd { kernel: kernel.to_string(), fault, message, output: report.output })
}
