//! A plan with its memory in place on a backend.

use std::collections::HashMap;

use ptx_frontend::{Function, Module as Checked, StateSpace, Symbol, VarId};
use sim_core::{Backend, DevicePtr, Launch, LaunchReport, ModuleId, RunOptions, Session, Simulator};

use super::RunError;
use crate::array::{Array, ArrayError, Comparison, Element, compare, count};
use crate::module::Module;
use crate::names::quoted_list;
use crate::plan::{Arg, BufferPlan, LaunchPlan, ObjectPlan, Plan, PlanError, pack, unknown_buffer};

/// A buffer or variable in device memory.
pub struct Resident<'a> {
    name: &'a str,
    wanted: &'a BufferPlan,
    plan: &'a Plan,
    backend: &'a dyn Backend,
    pointer: DevicePtr,
    element: Element,
    shape: Vec<u64>,
    /// Seeds random contents that have no seed of their own.
    position: u64,
    /// Addresses that were put into it, by offset.
    pointers: Vec<(u64, DevicePtr)>,
}

impl<'a> Resident<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// What the plan says of it.
    pub fn wanted(&self) -> &'a BufferPlan {
        self.wanted
    }

    /// Its address on the backend.
    pub fn address(&self) -> DevicePtr {
        self.pointer
    }

    /// The type of its elements.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Its shape.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Whether it is a buffer of the plan, not a variable of the module.
    pub(super) fn is_buffer(&self) -> bool {
        self.plan.buffers.contains_key(self.name)
    }

    /// What it holds, with zeros for addresses that were put into it and are still there: they differ from
    /// run to run.
    ///
    /// # Errors
    /// The backend cannot read it any more, or this machine has no memory for it.
    pub fn read(&self) -> Result<Array, RunError> {
        let size = byte_size(self.element, &self.shape)?;
        let mut bytes = Vec::new();
        let reserved = usize::try_from(size).ok().and_then(|size| bytes.try_reserve_exact(size).ok());
        reserved.ok_or_else(|| PlanError::from(ArrayError::NoMemory(size)))?;
        bytes.resize(size as usize, 0);
        if !bytes.is_empty() {
            self.backend.read(self.pointer, &mut bytes)?;
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

    /// What it holds against what the plan expects, if it expects anything.
    ///
    /// # Errors
    /// The expected values cannot be made.
    pub fn compare(&self, got: &Array) -> Result<Option<Comparison>, RunError> {
        let Some(expect) = &self.wanted.expect else { return Ok(None) };
        let (element, shape) = (Some(got.element), Some(&got.shape[..]));
        let expected = Array::make(&expect.values, element, shape, &self.plan.directory, self.position);
        let mut expected = expected.map_err(|error| {
            PlanError::from(error)
                .context(format!("expected values of `{}`", self.name))
                .at(self.plan.source.as_ref(), &expect.place)
        })?;
        for (offset, _) in &self.pointers {
            if let Some(word) = word_at(&mut expected.bytes, *offset) {
                *word = [0; 8];
            }
        }
        Ok(Some(compare(got, &expected, &expect.tolerance)))
    }
}

/// The eight bytes at an offset.
fn word_at(bytes: &mut [u8], offset: u64) -> Option<&mut [u8; 8]> {
    bytes.get_mut(usize::try_from(offset).ok()?..)?.first_chunk_mut()
}

/// A plan with its memory in place on a backend: launch after launch, then what is left.
pub struct Placed<'a> {
    plan: &'a Plan,
    backend: &'a dyn Backend,
    id: ModuleId,
    memory: Vec<Resident<'a>>,
    /// Handles of the textures and surfaces.
    objects: Vec<u64>,
    launches: Vec<Launch>,
}

impl<'a> Placed<'a> {
    /// Loads the module, places and fills memory, and packs the arguments. Nothing runs yet.
    ///
    /// # Errors
    /// The plan does not fit the module, its arrays cannot be made, or the backend refuses.
    pub fn new(plan: &'a Plan, module: &Module, backend: &'a dyn Backend) -> Result<Self, RunError> {
        let checked = module.checked();
        let kernels = plan
            .launches
            .iter()
            .map(|launch| {
                module
                    .kernel(launch.kernel.as_deref())
                    .map_err(|error| RunError::from(error).at(plan.source.as_ref(), &launch.place))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let id = backend.load(checked.clone())?;
        let memory = place_memory(plan, checked, id, backend)?;
        let mut addresses: HashMap<&str, DevicePtr> = memory.iter().map(|r| (r.name, r.pointer)).collect();
        let mut objects = Vec::new();
        for (name, object) in &plan.objects {
            let handle = place_object(object, &addresses, plan, id, backend);
            let handle = handle.map_err(|error| {
                error.context(format!("texture or surface `{name}`")).at(plan.source.as_ref(), &object.place)
            })?;
            addresses.insert(name, handle);
            objects.push(handle);
        }
        // All arguments are checked before anything runs.
        let launches = plan
            .launches
            .iter()
            .zip(kernels)
            .map(|(launch, kernel)| Ok(packed(checked, kernel, plan, launch, &addresses)?))
            .collect::<Result<Vec<Launch>, RunError>>()?;
        Ok(Self { plan, backend, id, memory, objects, launches })
    }

    /// The launches in order, with their packed parameters.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// Buffers, then variables, each in the order of the plan.
    pub fn memory(&self) -> &[Resident<'a>] {
        &self.memory
    }

    /// Runs one of the launches. What the kernel does wrong is in the report.
    ///
    /// # Errors
    /// The backend refuses the launch; nothing has run then.
    ///
    /// # Panics
    /// If there is no launch of this number.
    pub fn launch(&self, at: usize, options: &RunOptions) -> Result<LaunchReport, RunError> {
        let report = self.backend.launch(self.id, &self.launches[at], options);
        report.map_err(|error| {
            RunError::from(error).at(self.plan.source.as_ref(), &self.plan.launches[at].place)
        })
    }

    /// The same on the simulator that it was placed on, step by step: [`Simulator::launch_stepwise`].
    ///
    /// # Errors
    /// Those of [`Placed::launch`].
    ///
    /// # Panics
    /// If there is no launch of this number.
    pub fn launch_stepwise(
        &self,
        at: usize,
        simulator: &Simulator,
        options: &RunOptions,
        direct: &mut dyn FnMut(&mut Session<'_, '_>),
    ) -> Result<LaunchReport, RunError> {
        let report = simulator.launch_stepwise(self.id, &self.launches[at], options, direct);
        report.map_err(|error| {
            RunError::from(error).at(self.plan.source.as_ref(), &self.plan.launches[at].place)
        })
    }

    /// The addresses of the module's `.global` and `.const` variables.
    pub fn variables(&self, module: &Module) -> Vec<(VarId, DevicePtr)> {
        let variables = module.checked().variables.iter().zip(0..);
        let found = variables.filter_map(|(variable, id)| {
            let (address, _) = self.backend.variable(self.id, &variable.name).ok()?;
            Some((VarId(id), address))
        });
        found.collect()
    }

    /// Gives the memory and the module back.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn release(self) -> Result<(), RunError> {
        for &handle in &self.objects {
            self.backend.remove_object(handle);
        }
        for resident in self.memory.iter().filter(|resident| resident.is_buffer()) {
            self.backend.free(resident.pointer)?;
        }
        Ok(self.backend.unload(self.id)?)
    }
}

/// A launch with its arguments in the kernel's parameter buffer.
pub(crate) fn packed(
    module: &Checked,
    kernel: &Function,
    plan: &Plan,
    launch: &LaunchPlan,
    addresses: &HashMap<&str, DevicePtr>,
) -> Result<Launch, PlanError> {
    Ok(Launch {
        kernel: (&*kernel.name).into(),
        grid: launch.grid,
        cluster: launch.cluster,
        block: launch.block,
        shared_bytes: launch.shared_bytes,
        params: pack(module, kernel, plan, launch, addresses)?,
        cooperative: launch.cooperative,
    })
}

/// Allocates and fills the buffers and sets the variables.
fn place_memory<'a>(
    plan: &'a Plan,
    module: &Checked,
    id: ModuleId,
    backend: &'a dyn Backend,
) -> Result<Vec<Resident<'a>>, RunError> {
    let mut residents = Vec::new();
    for (position, (name, buffer)) in plan.buffers.iter().enumerate() {
        let resident = place_buffer(name, buffer, position as u64, plan, backend);
        residents.push(resident.map_err(|error| located(error, "buffer", name, buffer, plan))?);
    }
    for (name, variable) in &plan.variables {
        let resident = place_variable(name, variable, plan, module, id, backend);
        residents.push(resident.map_err(|error| located(error, "variable", name, variable, plan))?);
    }
    place_pointers(&mut residents, plan, backend)?;
    Ok(residents)
}

/// Places a texture or surface on memory that is there; its handle.
fn place_object(
    object: &ObjectPlan,
    addresses: &HashMap<&str, DevicePtr>,
    plan: &Plan,
    id: ModuleId,
    backend: &dyn Backend,
) -> Result<u64, RunError> {
    let address = |name: &str| addresses.get(name).copied().ok_or_else(|| unknown_buffer(name, plan));
    let handle = backend.place_object(object.object(address)?, object.handle)?;
    if let Some(reference) = &object.reference {
        backend.bind_reference(id, reference, handle)?;
    }
    Ok(handle)
}

/// Puts the addresses that buffers hold into them.
fn place_pointers(
    residents: &mut [Resident<'_>],
    plan: &Plan,
    backend: &dyn Backend,
) -> Result<(), RunError> {
    let addresses: HashMap<&str, DevicePtr> = residents.iter().map(|r| (r.name, r.pointer)).collect();
    for resident in residents {
        let wrong = |error: PlanError| located(error.into(), "buffer", resident.name, resident.wanted, plan);
        let size = byte_size(resident.element, &resident.shape)?;
        for (offset, target) in &resident.wanted.pointers {
            let Arg::Reference { name, offset: within } = target else { continue };
            let address = addresses.get(name.as_str());
            let address = address.ok_or_else(|| wrong(unknown_buffer(name, plan)))?;
            if offset.checked_add(8).is_none_or(|end| end > size) {
                let text = format!("an address at byte {offset} does not fit into {size} bytes");
                return Err(wrong(PlanError::new(text)));
            }
            let address = address.wrapping_add(*within);
            backend.write(resident.pointer + offset, &address.to_le_bytes())?;
            resident.pointers.push((*offset, address));
        }
    }
    Ok(())
}

fn located(error: RunError, what: &str, name: &str, buffer: &BufferPlan, plan: &Plan) -> RunError {
    error.context(format!("{what} `{name}`")).at(plan.source.as_ref(), &buffer.place)
}

fn place_buffer<'a>(
    name: &'a str,
    buffer: &'a BufferPlan,
    position: u64,
    plan: &'a Plan,
    backend: &'a dyn Backend,
) -> Result<Resident<'a>, RunError> {
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
        _ => return Err(PlanError::new("type or shape is not given").into()),
    };
    let pointer = backend.alloc(byte_size(element, &shape)?, name)?;
    if let Some(array) = contents.filter(|array| !array.bytes.is_empty()) {
        backend.write(pointer, &array.bytes)?;
    }
    if !buffer.read_only.is_empty() {
        let part = |&(offset, bytes): &(u64, u64)| {
            let start = pointer.saturating_add(offset);
            start..start.saturating_add(bytes)
        };
        backend.set_read_only(pointer, buffer.read_only.iter().map(part).collect());
    }
    Ok(Resident {
        name,
        wanted: buffer,
        plan,
        backend,
        pointer,
        element,
        shape,
        position,
        pointers: Vec::new(),
    })
}

fn place_variable<'a>(
    name: &'a str,
    plan_of: &'a BufferPlan,
    plan: &'a Plan,
    module: &Checked,
    id: ModuleId,
    backend: &'a dyn Backend,
) -> Result<Resident<'a>, RunError> {
    let declared = match module.symbol(name) {
        Some(Symbol::Variable(id)) if is_memory_variable(module, name) => &module.variables[id.index()],
        _ => {
            let names: Vec<&str> = module
                .symbols
                .keys()
                .map(|name| &**name)
                .filter(|name| is_memory_variable(module, name))
                .collect();
            let error = PlanError::new("the module has no such .global or .const variable");
            let error = error.suggest(name, names.iter().copied());
            return Err(match error.help.is_empty() && !names.is_empty() {
                true => error.help(format!("the variables are {}", quoted_list(names))),
                false => error,
            }
            .into());
        }
    };
    let (pointer, size) = backend.variable(id, name)?;
    let element =
        plan_of.spec.element.or_else(|| Element::from_name(declared.ty.text())).unwrap_or(Element::U8);
    let shape = plan_of.spec.shape.clone().unwrap_or_else(|| vec![size / element.bytes() as u64]);
    let bytes = byte_size(element, &shape)?;
    if bytes > size {
        return Err(PlanError::new(format!("{bytes} bytes are described, the variable has {size}")).into());
    }
    if let Some(init) = &plan_of.spec.init {
        let array = Array::make(init, Some(element), Some(&shape), &plan.directory, 0);
        let array = array.map_err(|error| contents_error(error, plan_of, plan))?;
        backend.write(pointer, &array.bytes)?;
    }
    Ok(Resident {
        name,
        wanted: plan_of,
        plan,
        backend,
        pointer,
        element,
        shape,
        position: 0,
        pointers: Vec::new(),
    })
}

fn contents_error(error: ArrayError, buffer: &BufferPlan, plan: &Plan) -> PlanError {
    PlanError::from(error).at(plan.source.as_ref(), &buffer.init_place)
}

fn byte_size(element: Element, shape: &[u64]) -> Result<u64, PlanError> {
    let elements = count(shape)?;
    let size = elements.checked_mul(element.bytes() as u64);
    size.ok_or_else(|| PlanError::new(format!("{elements} elements of {} are too many", element.name())))
}

/// Whether the module has a variable of this name that the host can read.
pub fn is_memory_variable(module: &Checked, name: &str) -> bool {
    match module.symbol(name) {
        Some(Symbol::Variable(id)) => {
            matches!(module.variables[id.index()].space, StateSpace::Global | StateSpace::Const)
        }
        _ => false,
    }
}
