//! Executes a plan: memory, launches, outputs, comparisons.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use ptx_frontend::{FuncId, Module, Symbol};
use sim_core::{Backend, DevicePtr, FindingKind, Launch, LaunchReport, ModuleId, Outcome, RunOptions};

use super::plan::{BufferPlan, Plan};
use super::{is_memory_variable, params, path_in};
use crate::array::{Array, count};
use crate::compare::compare;
use crate::element::Element;
use crate::exit::{Exit, Failure, quoted_list};
use crate::interrupt::Interrupt;
use crate::modules::find_kernel;
use crate::progress;
use crate::report::RunReporter;
use crate::value::Arg;

/// A buffer or variable in device memory.
pub(super) struct Resident<'a> {
    pub(super) name: &'a str,
    pub(super) plan: &'a BufferPlan,
    pub(super) pointer: DevicePtr,
    pub(super) element: Element,
    pub(super) shape: Vec<u64>,
    /// Seeds random contents that have no seed of their own.
    position: u64,
    /// Addresses that were put into it, by offset.
    pointers: Vec<(u64, DevicePtr)>,
}

impl Resident<'_> {
    /// What it holds, with zeros for addresses that were put into it and are still there: they differ from
    /// run to run.
    pub(super) fn read(&self, backend: &dyn Backend) -> Result<Array, Failure> {
        let size = byte_size(self.element, &self.shape)?;
        let mut bytes = Vec::new();
        let reserved = usize::try_from(size).ok().and_then(|size| bytes.try_reserve_exact(size).ok());
        reserved.ok_or_else(|| Failure::usage(format!("no memory for {size} bytes on this machine")))?;
        bytes.resize(size as usize, 0);
        if !bytes.is_empty() {
            backend.read(self.pointer, &mut bytes)?;
        }
        for (offset, address) in &self.pointers {
            if let Some(word) = word_at(&mut bytes, *offset)
                && *word == address.to_le_bytes()
            {
                *word = [0; 8];
            }
        }
        Ok(Array { element: self.element, shape: self.shape.clone(), bytes })
    }
}

/// The eight bytes at an offset.
fn word_at(bytes: &mut [u8], offset: u64) -> Option<&mut [u8; 8]> {
    bytes.get_mut(usize::try_from(offset).ok()?..)?.first_chunk_mut()
}

/// Executes the plan. What a launch finds is reported, not returned as an error.
pub(super) fn execute(
    plan: &Plan,
    module: Arc<Module>,
    options: &RunOptions,
    interrupt: &Interrupt,
    backend: &dyn Backend,
    show_progress: bool,
    reporter: &mut RunReporter<'_>,
) -> Result<Exit, Failure> {
    let prepared = prepare(plan, &module, backend)?;
    interrupt.check("anything ran")?;
    let mut exit = Exit::Clean;
    let mut completed = true;
    for (launch, said) in prepared.launches.iter().zip(&plan.launches) {
        let what = format!("{}: grid {}, block {}", launch.kernel, launch.grid, launch.block);
        let report = progress::during(show_progress, what, || backend.launch(prepared.id, launch, options))
            .map_err(|error| Failure::from(error).at(plan.source.as_ref(), &said.place))?;
        reporter.launch(&module, launch, options, &report);
        if let Some(interrupted) = interrupt.exit() {
            // What buffers hold now is no result: files from an earlier run stay.
            reporter.interrupted(launch, &report);
            return Ok(interrupted);
        }
        exit = exit.max(exit_of(&report));
        if report.outcome != Outcome::Completed {
            completed = false;
            break;
        }
    }
    // Memory written before a fault stays readable, which helps to find its cause.
    for resident in &prepared.residents {
        let matches = after(resident, plan, completed, backend, reporter)?;
        exit = exit.max(if matches { Exit::Clean } else { Exit::Findings });
    }
    Ok(exit)
}

/// A plan with its memory placed on a backend.
pub(super) struct Prepared<'a> {
    pub(super) id: ModuleId,
    pub(super) residents: Vec<Resident<'a>>,
    pub(super) launches: Vec<Launch>,
}

/// Loads the module, places and fills memory, and packs the arguments. Nothing runs yet.
pub(super) fn prepare<'a>(
    plan: &'a Plan,
    module: &Arc<Module>,
    backend: &dyn Backend,
) -> Result<Prepared<'a>, Failure> {
    let kernels = plan
        .launches
        .iter()
        .map(|launch| {
            find_kernel(module, launch.kernel.as_deref())
                .map_err(|failure| failure.at(plan.source.as_ref(), &launch.place))
        })
        .collect::<Result<Vec<FuncId>, _>>()?;
    let id = backend.load(module.clone())?;
    let residents = place_memory(plan, module, id, backend)?;
    let addresses: HashMap<&str, DevicePtr> = residents.iter().map(|r| (r.name, r.pointer)).collect();
    // All arguments are checked before anything runs.
    let launches = plan
        .launches
        .iter()
        .zip(kernels)
        .map(|(launch, kernel)| {
            let kernel = &module.functions[kernel.index()];
            Ok(Launch {
                kernel: (&*kernel.name).into(),
                grid: launch.grid,
                cluster: launch.cluster,
                block: launch.block,
                shared_bytes: launch.shared_bytes,
                params: params::pack(module, kernel, plan, launch, &addresses)?,
                cooperative: launch.cooperative,
            })
        })
        .collect::<Result<Vec<Launch>, Failure>>()?;
    Ok(Prepared { id, residents, launches })
}

fn exit_of(report: &LaunchReport) -> Exit {
    match report.outcome {
        Outcome::Completed if report.findings.is_empty() && report.dropped_findings == 0 => Exit::Clean,
        Outcome::Completed => Exit::Findings,
        Outcome::Unsupported => Exit::Unsupported,
        Outcome::Faulted
            if !report.findings.is_empty()
                && report.findings.iter().all(|finding| finding.kind == FindingKind::AssertionFailed) =>
        {
            Exit::Findings
        }
        Outcome::Faulted | Outcome::Deadlock | Outcome::LimitReached => Exit::Faulted,
    }
}

/// Allocates and fills the buffers and sets the variables.
fn place_memory<'a>(
    plan: &'a Plan,
    module: &Module,
    id: ModuleId,
    backend: &dyn Backend,
) -> Result<Vec<Resident<'a>>, Failure> {
    let mut residents = Vec::new();
    for (position, (name, buffer)) in plan.buffers.iter().enumerate() {
        let resident = place_buffer(name, buffer, position as u64, plan, backend);
        residents.push(resident.map_err(|failure| located(failure, "buffer", name, buffer, plan))?);
    }
    for (name, variable) in &plan.variables {
        let resident = place_variable(name, variable, plan, module, id, backend);
        residents.push(resident.map_err(|failure| located(failure, "variable", name, variable, plan))?);
    }
    place_pointers(&mut residents, plan, backend)?;
    Ok(residents)
}

/// Puts the addresses that buffers hold into them.
fn place_pointers(residents: &mut [Resident<'_>], plan: &Plan, backend: &dyn Backend) -> Result<(), Failure> {
    let addresses: HashMap<&str, DevicePtr> = residents.iter().map(|r| (r.name, r.pointer)).collect();
    for resident in residents {
        let wrong = |failure| located(failure, "buffer", resident.name, resident.plan, plan);
        let size = byte_size(resident.element, &resident.shape)?;
        for (offset, target) in &resident.plan.pointers {
            let Arg::Reference { name, offset: within } = target else { continue };
            let address = addresses.get(name.as_str());
            let address = address.ok_or_else(|| wrong(params::unknown_buffer(name, plan)))?;
            if offset.checked_add(8).is_none_or(|end| end > size) {
                let text = format!("an address at byte {offset} does not fit into {size} bytes");
                return Err(wrong(Failure::usage(text)));
            }
            let address = address.wrapping_add(*within);
            backend.write(resident.pointer + offset, &address.to_le_bytes())?;
            resident.pointers.push((*offset, address));
        }
    }
    Ok(())
}

fn located(failure: Failure, what: &str, name: &str, buffer: &BufferPlan, plan: &Plan) -> Failure {
    failure.context(format!("{what} `{name}`")).at(plan.source.as_ref(), &buffer.place)
}

fn place_buffer<'a>(
    name: &'a str,
    buffer: &'a BufferPlan,
    position: u64,
    plan: &Plan,
    backend: &dyn Backend,
) -> Result<Resident<'a>, Failure> {
    let spec = &buffer.spec;
    let contents = match &spec.init {
        Some(init) => {
            let array = Array::make(init, spec.element, spec.shape.as_deref(), &plan.directory, position);
            Some(array.map_err(|error| contents_error(error, buffer, plan))?)
        }
        None => None,
    };
    let (element, shape) = match (&contents, spec.element, &spec.shape) {
        (Some(array), _, _) => (array.element, array.shape.clone()),
        (None, Some(element), Some(shape)) => (element, shape.clone()),
        _ => return Err(Failure::usage("type or shape is not given")),
    };
    let pointer = backend.alloc(byte_size(element, &shape)?, name)?;
    if let Some(array) = contents.filter(|array| !array.bytes.is_empty()) {
        backend.write(pointer, &array.bytes)?;
    }
    Ok(Resident { name, plan: buffer, pointer, element, shape, position, pointers: Vec::new() })
}

fn place_variable<'a>(
    name: &'a str,
    plan_of: &'a BufferPlan,
    plan: &Plan,
    module: &Module,
    id: ModuleId,
    backend: &dyn Backend,
) -> Result<Resident<'a>, Failure> {
    let declared = match module.symbol(name) {
        Some(Symbol::Variable(id)) if is_memory_variable(module, name) => &module.variables[id.index()],
        _ => {
            let names: Vec<&str> = module
                .symbols
                .keys()
                .map(|name| &**name)
                .filter(|name| is_memory_variable(module, name))
                .collect();
            let failure = Failure::usage("the module has no such .global or .const variable");
            let failure = failure.suggest(name, names.iter().copied());
            return Err(match failure.help.is_empty() && !names.is_empty() {
                true => failure.help(format!("the variables are {}", quoted_list(names))),
                false => failure,
            });
        }
    };
    let (pointer, size) = backend.variable(id, name)?;
    let element =
        plan_of.spec.element.or_else(|| Element::from_name(declared.ty.text())).unwrap_or(Element::U8);
    let shape = plan_of.spec.shape.clone().unwrap_or_else(|| vec![size / element.bytes() as u64]);
    let bytes = byte_size(element, &shape)?;
    if bytes > size {
        return Err(Failure::usage(format!("{bytes} bytes are described, the variable has {size}")));
    }
    if let Some(init) = &plan_of.spec.init {
        let array = Array::make(init, Some(element), Some(&shape), &plan.directory, 0);
        let array = array.map_err(|error| contents_error(error, plan_of, plan))?;
        backend.write(pointer, &array.bytes)?;
    }
    Ok(Resident { name, plan: plan_of, pointer, element, shape, position: 0, pointers: Vec::new() })
}

fn contents_error(error: String, buffer: &BufferPlan, plan: &Plan) -> Failure {
    Failure::usage(error).at(plan.source.as_ref(), &buffer.init_place)
}

fn byte_size(element: Element, shape: &[u64]) -> Result<u64, Failure> {
    let elements = count(shape)?;
    let size = elements.checked_mul(element.bytes() as u64);
    size.ok_or_else(|| Failure::usage(format!("{elements} elements of {} are too many", element.name())))
}

/// Prints, saves and compares; whether the values are as expected.
fn after(
    resident: &Resident<'_>,
    plan: &Plan,
    completed: bool,
    backend: &dyn Backend,
    reporter: &mut RunReporter<'_>,
) -> Result<bool, Failure> {
    let wanted = resident.plan;
    if wanted.print.is_none() && wanted.save.is_empty() && (wanted.expect.is_none() || !completed) {
        return Ok(true);
    }
    let got = resident.read(backend)?;
    if let Some(count) = wanted.print {
        reporter.values(resident.name, &got, count);
    }
    for path in &wanted.save {
        let path: PathBuf = path_in(plan, path);
        got.write(&path)?;
        reporter.saved(resident.name, &path);
    }
    let Some(expect) = wanted.expect.as_ref().filter(|_| completed) else { return Ok(true) };
    let expected =
        Array::make(&expect.values, Some(got.element), Some(&got.shape), &plan.directory, resident.position);
    let mut expected = expected.map_err(|error| {
        Failure::usage(error)
            .context(format!("expected values of `{}`", resident.name))
            .at(plan.source.as_ref(), &expect.place)
    })?;
    for (offset, _) in &resident.pointers {
        if let Some(word) = word_at(&mut expected.bytes, *offset) {
            *word = [0; 8];
        }
    }
    let comparison = compare(&got, &expected, &expect.tolerance);
    reporter.comparison(resident.name, &got, &comparison);
    Ok(comparison.mismatches == 0)
}
