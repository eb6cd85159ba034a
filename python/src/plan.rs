//! Plans, from launch files and from arguments: compared with a device, with a recording, with expected values; recorded.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use device::{Contraction, OptLevel, Options as DeviceOptions, Placement, Server};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim_core::RunOptions;
use warpgrind::array::{Element, Init, compare as compare_arrays};
use warpgrind::compare::difference::{Bin, Difference};
use warpgrind::compare::recording::write;
use warpgrind::compare::verdict::{Printed, compare as compare_outputs};
use warpgrind::compare::{self, DeviceIdentity, Devices, Settings, Sides};
use warpgrind::files::{MAX_TEXT, read_file};
use warpgrind::plan::{Arg, BufferPlan, BufferSpec, LaunchPlan};
use warpgrind::run::{LaunchEnd, Outputs, outputs};
use warpgrind::{Array, Module, Tolerance};

use crate::error::{Error, LaunchError, compare_error, run_error};
use crate::wait::interruptible;

/// What is to run, with its PTX: of a launch file, or one launch on arrays.
#[pyclass(frozen, module = "warpgrind._native")]
pub(crate) struct Plan {
    plan: warpgrind::Plan,
    module: Module,
}

/// An array that a kernel is given: its name, element type, extents and bytes.
pub(crate) type BufferOf = (String, String, Vec<u64>, Vec<u8>);

/// How both sides of a comparison run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct How {
    jobs: usize,
    timeout: f64,
    optimization: u8,
    contraction: bool,
    as_optimised: bool,
    /// The driver's library.
    driver: Option<PathBuf>,
    /// The device's number.
    device: u32,
    packed: bool,
    /// The command, which starts the device's process.
    program: PathBuf,
}

/// A device, for those who read about it.
#[derive(IntoPyObject)]
struct Identity {
    name: String,
    capability: String,
    cuda: String,
    contraction: bool,
    optimization: u8,
}

/// Two sides of a plan, and where they differ.
#[derive(IntoPyObject)]
struct Compared<'py> {
    agrees: bool,
    identity: Option<Identity>,
    cause: Option<&'static str>,
    contractable: bool,
    launches: Vec<LaunchOf>,
    buffers: Vec<Differing<'py>>,
}

#[derive(IntoPyObject)]
struct LaunchOf {
    kernel: String,
    /// Class of the fault, words for it, what was printed.
    simulator: Option<End>,
    other: Option<End>,
    same_end: bool,
    /// `equal`, `other-order`, `different`, or `not-compared`.
    printed: &'static str,
}

type End = (Option<&'static str>, String, String);

#[derive(IntoPyObject)]
struct Differing<'py> {
    name: String,
    element: &'static str,
    shape: Vec<u64>,
    simulator: Bound<'py, PyBytes>,
    other: Bound<'py, PyBytes>,
    values: usize,
    differing: usize,
    first: Option<usize>,
    largest: u64,
    /// What it is that differs, in units in the last place, and how many values do.
    histogram: Vec<(String, usize)>,
}

#[pymethods]
impl Plan {
    /// Of a launch file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| {
            let plan = warpgrind::Plan::read(&path).map_err(|error| run_error(&error.into()))?;
            let module = plan.module().map_err(|error| run_error(&error))?;
            Ok(Self { plan, module })
        })
    }

    /// The kernels that are launched, in order.
    #[getter]
    fn kernels(&self) -> PyResult<Vec<String>> {
        let name = |launch: &LaunchPlan| {
            let kernel = self.module.kernel(launch.kernel.as_deref());
            kernel.map(|kernel| kernel.name.to_string()).map_err(|error| run_error(&error.into()))
        };
        self.plan.launches.iter().map(name).collect()
    }

    /// Runs it on the simulator and on a device.
    fn with_device<'py>(&self, py: Python<'py>, how: How, tolerance: Option<u64>) -> PyResult<Compared<'py>> {
        let sides = self.sides(py, &how, tolerance, |settings| {
            let sides = compare::with_device(&self.plan, &self.module, settings, &mut how.devices()?);
            sides.map_err(|error| compare_error(&error))
        })?;
        Ok(compared(py, &sides, tolerance))
    }

    /// Runs it on the simulator beside a recording.
    fn with_recording<'py>(
        &self,
        py: Python<'py>,
        how: How,
        tolerance: Option<u64>,
        file: PathBuf,
    ) -> PyResult<Compared<'py>> {
        let sides = self.sides(py, &how, tolerance, |settings| {
            let bytes =
                read_file(&file, MAX_TEXT).map_err(|error| LaunchError::new_err(error.to_string()))?;
            let sides = compare::with_recording(&self.plan, &self.module, settings, &bytes);
            sides.map_err(|error| compare_error(&error))
        })?;
        Ok(compared(py, &sides, tolerance))
    }

    /// Runs it on the simulator; arrays must be as these, within units in the last place, or an absolute and a relative
    /// difference.
    fn with_expected<'py>(
        &self,
        py: Python<'py>,
        how: How,
        expected: Vec<BufferOf>,
        tolerance: (u64, f64, f64, bool),
    ) -> PyResult<Compared<'py>> {
        let (ulp, abs, rel, nan_bits) = tolerance;
        let tolerance = Tolerance { ulp, abs, rel, nan_bits };
        let options = warpgrind::Options {
            contraction: how.contraction,
            as_optimised: how.as_optimised,
            ..warpgrind::Options::default()
        };
        let given = how.run_options()?;
        let ran = interruptible(py, |interrupt| {
            let given = RunOptions { interrupt: Some(interrupt.clone()), ..given };
            let ran = outputs(&self.plan, &self.module, &given, &options.simulator(), &|_, work| work());
            ran.map_err(|error| run_error(&error))
        })?;
        beside(py, &ran, expected, &tolerance)
    }

    /// Runs it on a device; whose it was, and the bytes of the recording.
    fn record<'py>(&self, py: Python<'py>, how: How) -> PyResult<(Identity, Bound<'py, PyBytes>)> {
        let (identity, bytes) = self.sides(py, &how, None, |settings| {
            let recorded = compare::record(&self.plan, &self.module, settings, &mut how.devices()?)
                .map_err(|error| compare_error(&error))?;
            let bytes = write(&self.module, &recorded).map_err(|error| compare_error(&error.into()))?;
            Ok((recorded.identity, bytes))
        })?;
        Ok((Identity::of(&identity), PyBytes::new(py, &bytes)))
    }
}

impl Plan {
    /// One launch, whose references name these buffers.
    pub(crate) fn of(module: Module, launch: LaunchPlan, buffers: Vec<BufferOf>) -> PyResult<Self> {
        let mut plan = warpgrind::Plan::default();
        for buffer in buffers {
            let (name, array) = array(buffer)?;
            let spec = BufferSpec { init: Some(Init::Array(array)), ..BufferSpec::default() };
            plan.buffers.insert(name, BufferPlan { spec, ..BufferPlan::default() });
        }
        plan.launches.push(launch);
        Ok(Self { plan, module })
    }

    /// What is to run, and its PTX.
    pub(crate) fn parts(&self) -> (&warpgrind::Plan, &Module) {
        (&self.plan, &self.module)
    }

    fn sides<T: Send>(
        &self,
        py: Python<'_>,
        how: &How,
        tolerance: Option<u64>,
        work: impl FnOnce(&Settings<'_>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let level = OptLevel::try_from(how.optimization).map_err(Error::new_err)?;
        let options = how.run_options()?;
        interruptible(py, |interrupt: &Arc<AtomicBool>| {
            work(&Settings {
                options: RunOptions { interrupt: Some(interrupt.clone()), ..options },
                level,
                contraction: how.contraction,
                as_optimised: how.as_optimised,
                tolerance,
                during: &|_, work| work(),
            })
        })
    }
}

impl How {
    fn run_options(&self) -> PyResult<RunOptions> {
        let timeout = Duration::try_from_secs_f64(self.timeout);
        let timeout = Some(timeout.map_err(|error| Error::new_err(error.to_string()))?);
        Ok(RunOptions { jobs: self.jobs, timeout, ..RunOptions::default() })
    }

    fn devices(&self) -> PyResult<Devices> {
        let server = Server { program: self.program.clone(), args: vec!["serve-device".into()] };
        let options = DeviceOptions {
            library: self.driver.clone(),
            index: self.device,
            placement: if self.packed { Placement::Packed } else { Placement::Guarded },
            contraction: if self.contraction { Contraction::Allowed } else { Contraction::Forbidden },
            ..DeviceOptions::default()
        };
        Ok(Devices::new(server, options))
    }
}

impl Identity {
    fn of(identity: &DeviceIdentity) -> Self {
        Self {
            name: identity.name.clone(),
            capability: identity.capability.clone(),
            cuda: identity.cuda.clone(),
            contraction: identity.contraction,
            optimization: identity.optimization.number(),
        }
    }
}

/// An array of bytes that Python has taken apart.
fn array((name, element, shape, bytes): BufferOf) -> PyResult<(String, Array)> {
    let known = Element::from_name(&element);
    let element =
        known.ok_or_else(|| LaunchError::new_err(format!("an array of {element} cannot be compared")))?;
    let all = Array { element: Element::U8, shape: vec![bytes.len() as u64], bytes };
    let array = Array { element, ..all }.reshape(&shape);
    Ok((name, array.map_err(|error| LaunchError::new_err(error.to_string()))?))
}

fn compared<'py>(py: Python<'py>, sides: &Sides, tolerance: Option<u64>) -> Compared<'py> {
    let verdict = compare_outputs(&sides.simulator, &sides.device, tolerance);
    let launches = verdict.launches.iter().map(|launch| LaunchOf {
        kernel: launch.kernel.to_owned(),
        simulator: launch.simulator.map(end),
        other: launch.device.map(end),
        same_end: launch.same_end,
        printed: match launch.printed {
            Printed::Equal => "equal",
            Printed::OtherOrder => "other-order",
            Printed::Different(..) => "different",
            Printed::NotCompared => "not-compared",
        },
    });
    let buffers = verdict
        .buffers
        .iter()
        .map(|buffer| differing(py, buffer.name, buffer.simulator, buffer.device, buffer.difference.clone()));
    Compared {
        agrees: verdict.agrees(),
        identity: Some(Identity::of(&sides.identity)),
        cause: sides.cause.map(compare::cause::Cause::name),
        contractable: sides.contractable,
        launches: launches.collect(),
        buffers: buffers.collect(),
    }
}

/// What ran on the simulator beside what was expected of it.
fn beside<'py>(
    py: Python<'py>,
    ran: &Outputs,
    expected: Vec<BufferOf>,
    tolerance: &Tolerance,
) -> PyResult<Compared<'py>> {
    let mut buffers = Vec::new();
    for expected in expected {
        let (name, expected) = array(expected)?;
        let Some(contents) = &ran.buffers else { break };
        let Some(got) = contents.iter().find(|of| of.name == name).map(|of| &of.array) else {
            let known: Vec<&str> = contents.iter().map(|of| of.name.as_str()).collect();
            return Err(LaunchError::new_err(format!(
                "there is no array `{name}` to expect anything of\nhelp: there are {}",
                known.join(", ")
            )));
        };
        if (got.element, got.len()) != (expected.element, expected.len()) {
            return Err(LaunchError::new_err(format!(
                "`{name}` has {} values of {}, of which {} of {} are expected",
                got.len(),
                got.element.name(),
                expected.len(),
                expected.element.name()
            )));
        }
        let comparison = compare_arrays(got, &expected, tolerance);
        let difference = Difference {
            differing: comparison.mismatches,
            first: comparison.first.map(|first| first.index),
            ..Difference::of(got, &expected, None)
        };
        buffers.push(differing(py, &name, got, &expected, difference));
    }
    let launches: Vec<LaunchOf> = ran
        .launches
        .iter()
        .map(|launch| LaunchOf {
            kernel: launch.kernel.clone(),
            simulator: Some(end(launch)),
            other: None,
            same_end: launch.fault.is_none(),
            printed: "not-compared",
        })
        .collect();
    let agrees =
        launches.iter().all(|launch| launch.same_end) && buffers.iter().all(|buffer| buffer.differing == 0);
    Ok(Compared { agrees, identity: None, cause: None, contractable: false, launches, buffers })
}

fn end(end: &LaunchEnd) -> End {
    let printed = String::from_utf8_lossy(&end.output).into_owned();
    (end.fault.map(sim_core::FaultClass::name), end.message.clone(), printed)
}

fn differing<'py>(
    py: Python<'py>,
    name: &str,
    simulator: &Array,
    other: &Array,
    difference: Difference,
) -> Differing<'py> {
    let bin = |bin: Bin| match (bin, bin.range()) {
        (Bin::Equal, _) => "equal".to_owned(),
        (Bin::NanBits, _) => "NaNs of other bits".to_owned(),
        (Bin::NanAndNumber, _) => "a NaN and a number".to_owned(),
        (Bin::Apart(_), Some((first, last))) if first == last => first.to_string(),
        (Bin::Apart(_), range) => {
            let (first, last) = range.unwrap_or_default();
            format!("{first} to {last}")
        }
    };
    Differing {
        name: name.to_owned(),
        element: simulator.element.name(),
        shape: simulator.shape.clone(),
        simulator: PyBytes::new(py, &simulator.bytes),
        other: PyBytes::new(py, &other.bytes),
        values: difference.values,
        differing: difference.differing,
        first: difference.first,
        largest: difference.largest,
        histogram: difference.histogram.iter().map(|&(of, count)| (bin(of), count)).collect(),
    }
}

/// What an argument that names a buffer is to a plan.
pub(crate) fn reference(name: String) -> Arg {
    Arg::Reference { name, offset: 0 }
}
