//! Modules and their kernels.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};
use ptx_frontend::{FuncId, Param, ScalarType, Symbol, VarId, Variable};
use sim_core::{Backend, Code, Dim3, ModuleId};

use crate::compile::Linked;
use crate::image::Registers;
use crate::memory::{Allocation, FOR_ALL, Kind};
use crate::reference::{SurfaceReference, Target, TextureReference, Variables};
use crate::tree::Context;
use crate::{fresh_id, lock};

/// How a module's machine code comes about.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// Registers a thread may have, if the program said so when it loaded the module.
    pub most_registers: Option<u32>,
    /// Registers that kernels have in machine code that came with the PTX.
    pub registers: Arc<Registers>,
}

/// A module that is loaded into a context.
#[derive(Debug)]
pub struct Module {
    /// Its number.
    pub id: u64,
    /// Where it is loaded.
    pub context: Weak<Context>,
    /// Its parts.
    pub linked: Linked,
    loaded: ModuleId,
    /// Those that were asked for. They hold the module, so unloading lets them go.
    functions: Mutex<HashMap<Box<str>, Arc<Function>>>,
    built: Built,
    /// Where managed variables are, and whether they are this module's.
    managed: Vec<(VarId, u64)>,
    owns_managed: bool,
    /// Whether kernels of it call `cudaGraphLaunch`.
    launches_graphs: bool,
    /// References that were asked for, by name.
    pub(crate) textures: Mutex<HashMap<Box<str>, Arc<TextureReference>>>,
    pub(crate) surfaces: Mutex<HashMap<Box<str>, Arc<SurfaceReference>>>,
}

impl Module {
    /// Loads a module into a context.
    ///
    /// # Errors
    /// Undefined symbols, no memory for variables.
    pub fn load(context: &Arc<Context>, linked: Linked, built: Built) -> Result<Arc<Module>> {
        Self::load_shared(context, linked, built, None)
    }

    /// The same with managed variables that another context's module has already.
    ///
    /// # Errors
    /// As [`Module::load`].
    pub(crate) fn load_shared(
        context: &Arc<Context>,
        linked: Linked,
        built: Built,
        shared: Option<&[(VarId, u64)]>,
    ) -> Result<Arc<Module>> {
        let mut placed = shared.unwrap_or_default().to_vec();
        let managed = linked.variables.iter().enumerate().filter(|(_, v)| v.managed && v.size > 0);
        for (at, variable) in managed.filter(|_| shared.is_none()) {
            placed.push((VarId(at as u32), context.share(variable.size, Kind::Managed, FOR_ALL)?));
        }
        let simulator = &context.device.simulator;
        let loaded = match shared {
            None => simulator.load_placed(linked.clone(), &placed),
            Some(_) => simulator.load_shared(linked.clone(), &placed),
        };
        let loaded = loaded.map_err(|error| {
            context.host().warn(&format!("module not loaded: {error}"));
            Status::from(error)
        })?;
        let launches_graphs = linked.functions.iter().any(|function| &*function.name == "cudaGraphLaunch");
        let module = Module {
            id: fresh_id(),
            launches_graphs,
            context: Arc::downgrade(context),
            linked,
            loaded,
            functions: Mutex::default(),
            built,
            managed: placed,
            owns_managed: shared.is_none(),
            textures: Mutex::default(),
            surfaces: Mutex::default(),
        };
        let variables = module.linked.variables.iter().filter(|v| v.owner.is_none() && !v.managed);
        for variable in variables {
            if let Ok((base, size)) = context.device.simulator.variable(loaded, &variable.name) {
                context.device.memory.insert(Allocation {
                    base,
                    size,
                    kind: Kind::Variable,
                    context: context.id,
                    flags: 0,
                    id: fresh_id(),
                });
            }
        }
        Ok(Arc::new(module))
    }

    /// Whether kernels of it launch graphs.
    pub(crate) fn launches_graphs(&self) -> bool {
        self.launches_graphs
    }

    /// The simulator's number of the module.
    pub fn loaded(&self) -> ModuleId {
        self.loaded
    }

    /// Frees its variables; kernels of it cannot be launched any more.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if it was unloaded before.
    pub fn unload(&self) -> Result {
        let context = self.context.upgrade().ok_or(Status::INVALID_HANDLE)?;
        let mut managed = Vec::new();
        for variable in &self.linked.variables {
            if let Ok((base, _)) = context.device.simulator.variable(self.loaded, &variable.name) {
                let taken =
                    |a: &Allocation| a.kind == Kind::Variable || a.kind == Kind::Managed && self.owns_managed;
                managed.extend(context.device.memory.remove(base, taken).filter(|a| a.kind == Kind::Managed));
            }
        }
        lock(&self.functions).clear();
        context.device.simulator.unload(self.loaded).map_err(|_| Status::INVALID_HANDLE)?;
        for memory in &managed {
            context.hide(memory.base);
            context.host().release(memory);
        }
        Ok(())
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn function(self: &Arc<Self>, name: &str) -> Result<Arc<Function>> {
        let mut functions = lock(&self.functions);
        if let Some(function) = functions.get(name) {
            return Ok(function.clone());
        }
        let kernel = self.linked.kernel(name).ok_or(Status::NOT_FOUND)?;
        let declared = &self.linked.functions[kernel.index()];
        let params = declared.params.iter().filter_map(|param| match *param {
            Param::Variable(id) => Some(&self.linked.variables[id.index()]),
            Param::Register(_) => None,
        });
        let function = Arc::new(Function {
            id: fresh_id(),
            module: self.clone(),
            name: (&*declared.name).into(),
            kernel,
            params: Parameter::list(params),
            param_bytes: declared.param_bytes as usize,
            max_dynamic_shared: AtomicU32::new(UNASKED),
            attributes: Default::default(),
            code: OnceLock::new(),
        });
        functions.insert(name.into(), function.clone());
        Ok(function)
    }

    /// Dynamic shared memory that the program granted to a kernel, in bytes, if it did.
    pub(crate) fn granted_shared(&self, kernel: &str) -> Option<u32> {
        let granted = lock(&self.functions).get(kernel)?.max_dynamic_shared.load(Relaxed);
        (granted != UNASKED).then_some(granted)
    }

    /// Names of the kernels, in order of definition.
    pub fn kernels(&self) -> Vec<Box<str>> {
        self.linked.kernels().map(|(_, kernel)| kernel.name.clone()).collect()
    }

    /// Address and size of a variable.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn variable(&self, name: &str) -> Result<(u64, u64)> {
        let context = self.context.upgrade().ok_or(Status::NOT_FOUND)?;
        Ok(context.device.simulator.variable(self.loaded, name)?)
    }

    fn reference(self: &Arc<Self>, name: &str, ty: ScalarType) -> Result<Target> {
        let Some(Symbol::Variable(id)) = self.linked.symbol(name) else { return Err(Status::NOT_FOUND) };
        if self.linked.variables[id.index()].ty != ty {
            return Err(Status::NOT_FOUND);
        }
        let module: Weak<Self> = Arc::downgrade(self);
        Ok(Target { module, name: name.into() })
    }

    /// The texture reference of this name.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn texture_reference(self: &Arc<Self>, name: &str) -> Result<Arc<TextureReference>> {
        let target = self.reference(name, ScalarType::Texref)?;
        let mut references = lock(&self.textures);
        let new = || TextureReference::of(Some(target));
        Ok(references.entry(name.into()).or_insert_with(new).clone())
    }

    /// The surface reference of this name.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn surface_reference(self: &Arc<Self>, name: &str) -> Result<Arc<SurfaceReference>> {
        let target = self.reference(name, ScalarType::Surfref)?;
        let mut references = lock(&self.surfaces);
        let new = || SurfaceReference::of(target);
        Ok(references.entry(name.into()).or_insert_with(new).clone())
    }

    /// Where its managed variables are.
    pub(crate) fn managed(&self) -> &[(VarId, u64)] {
        &self.managed
    }

    /// Whether a variable is declared as managed.
    pub fn is_managed(&self, name: &str) -> bool {
        match self.linked.symbol(name) {
            Some(ptx_frontend::Symbol::Variable(id)) => self.linked.variables[id.index()].managed,
            _ => false,
        }
    }
}

impl Variables for Module {
    fn place(&self) -> Option<(Arc<Context>, ModuleId)> {
        Some((self.context.upgrade()?, self.loaded))
    }
}

/// Where the preference for shared memory is kept.
const CARVEOUT: usize = cuda_abi::numbers::function_attribute::PREFERRED_SHARED_MEMORY_CARVEOUT as usize;
/// No value of dynamic shared memory.
const UNASKED: u32 = u32::MAX;

/// A parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Where it lies in the parameters of a launch.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
    /// Where an H200 has it, which aligns the address in its bank of constants.
    pub placed: usize,
}

/// Where parameters begin in an H200's bank of constants.
const PARAMETERS: usize = 0x210;

impl Parameter {
    fn list<'v>(variables: impl Iterator<Item = &'v Variable>) -> Vec<Self> {
        let mut end = PARAMETERS;
        variables
            .map(|variable| {
                let address = end.next_multiple_of(variable.align as usize);
                end = address + variable.size as usize;
                let (offset, bytes) = (variable.offset as usize, variable.size as usize);
                Self { offset, bytes, placed: address - PARAMETERS }
            })
            .collect()
    }
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub struct Function {
    /// Its number.
    pub id: u64,
    /// Its module.
    pub module: Arc<Module>,
    /// Its PTX name.
    pub name: Arc<str>,
    kernel: FuncId,
    /// Its parameters.
    pub params: Vec<Parameter>,
    /// Bytes of the parameter buffer.
    pub param_bytes: usize,
    /// Dynamic shared memory that launches may ask for, in bytes, if the program set it.
    pub(crate) max_dynamic_shared: AtomicU32,
    /// Attributes that were set and mean nothing here, by number.
    pub attributes: [AtomicI32; 16],
    code: OnceLock<Arc<Code>>,
}

impl Function {
    /// The decoded kernel.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if its module was unloaded.
    pub fn code(&self) -> Result<&Arc<Code>> {
        if let Some(code) = self.code.get() {
            return Ok(code);
        }
        let context = self.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        let code = context.device.simulator.code(self.module.loaded, &self.name);
        let code = code.map_err(|_| Status::INVALID_HANDLE)?;
        Ok(self.code.get_or_init(|| code))
    }

    /// How it is declared.
    pub fn declared(&self) -> &ptx_frontend::Function {
        &self.module.linked.functions[self.kernel.index()]
    }

    /// Registers a thread.
    ///
    /// # Errors
    /// As [`Function::code`].
    pub fn registers(&self) -> Result<u32> {
        if let Some(&said) = self.module.built.registers.get(&*self.name) {
            return Ok(said);
        }
        // The compiler sees to it that the largest block fits, and as many blocks as were asked for.
        let context = self.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        let config = context.device.simulator.config();
        let tuning = &self.declared().tuning;
        let threads = tuning.required_threads.or(tuning.max_threads);
        let threads =
            threads.map_or(config.threads_per_block, |[x, y, z]| x.saturating_mul(y).saturating_mul(z));
        let warps = threads.clamp(1, config.threads_per_block).div_ceil(32).next_multiple_of(4);
        let blocks = tuning.min_ctas_per_sm.unwrap_or(1).max(1);
        let most =
            config.registers_per_multiprocessor / warps.saturating_mul(32).saturating_mul(blocks) / 8 * 8;
        // `.maxnreg` beats what the program said; no kernel gets by with fewer than 24.
        let said = tuning.max_registers.or(self.module.built.most_registers).map_or(255, |said| said.max(24));
        Ok(self.code()?.registers.clamp(16, most.min(said).clamp(16, 255)))
    }

    /// Bytes of static shared memory.
    ///
    /// # Errors
    /// As [`Function::code`].
    pub fn shared_bytes(&self) -> Result<u32> {
        Ok(self.code()?.shared.static_bytes)
    }

    /// Bytes of local memory of its own frame.
    ///
    /// # Errors
    /// As [`Function::code`].
    pub fn local_bytes(&self) -> Result<u32> {
        Ok(self.code()?.functions.first().map_or(0, |frame| frame.local_bytes))
    }

    /// Dynamic shared memory that launches may ask for, in bytes: what was set, or what 48 KiB leave.
    ///
    /// # Errors
    /// As [`Function::code`].
    pub fn granted_shared(&self) -> Result<u32> {
        match self.max_dynamic_shared.load(Relaxed) {
            UNASKED => Ok((48u32 << 10).saturating_sub(self.shared_bytes()?)),
            asked => Ok(asked),
        }
    }

    /// Sets it.
    pub fn grant_shared(&self, bytes: u32) {
        self.max_dynamic_shared.store(bytes, Relaxed);
    }

    /// How many per cent of the most shared memory a multiprocessor should have, if the program said so.
    pub fn carveout(&self) -> Option<u32> {
        u32::try_from(self.attributes[CARVEOUT].load(Relaxed)).ok()?.checked_sub(1)
    }

    /// Says so.
    pub fn prefer_carveout(&self, percent: Option<u32>) {
        // 0 is that nobody said anything.
        self.set_attribute(CARVEOUT, percent.map_or(0, |percent| percent as i32 + 1));
    }

    /// The cluster that the kernel declares.
    pub fn declared_cluster(&self) -> Option<Dim3> {
        self.declared().tuning.required_cluster.map(|[x, y, z]| Dim3::new(x, y, z))
    }

    /// What was set of the extents of its cluster; 0 is nothing.
    pub fn set_cluster(&self) -> [u32; 3] {
        [11, 12, 13].map(|number| self.attributes[number].load(Relaxed).max(0) as u32)
    }

    /// The cluster that it declares, or that was set as its attribute.
    pub fn required_cluster(&self) -> Option<Dim3> {
        let declared = self.declared_cluster();
        let set = self.set_cluster();
        let is_set = set.iter().any(|&extent| extent != 0);
        let of_set = Dim3::new(set[0], set[1], set[2]);
        declared.or(is_set.then_some(of_set))
    }

    /// Most threads a block that fit: the kernel's own limit, and its registers.
    ///
    /// # Errors
    /// As [`Function::code`].
    pub fn max_threads(&self) -> Result<u32> {
        let context = self.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        let config = context.device.simulator.config();
        let tuning = &self.declared().tuning;
        let declared = tuning.required_threads.or(tuning.max_threads);
        let declared = declared.map_or(u32::MAX, |[x, y, z]| x.saturating_mul(y).saturating_mul(z));
        let by_registers = config.threads_by_registers(self.registers()?);
        Ok(declared.min(by_registers).min(config.threads_per_block))
    }

    /// Sets an attribute that has no meaning here, so that it reads back.
    pub fn set_attribute(&self, number: usize, value: i32) {
        if let Some(attribute) = self.attributes.get(number) {
            attribute.store(value, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_lie_where_an_h200_has_them() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry copy(.param .u64 to,
            .param .align 64 .b8 map[128], .param .align 64 .b8 pixels[128], .param .u32 which) { ret; }";
        let source = ptx_frontend::Source::new("copy.ptx", text.as_bytes().to_vec());
        let module = ptx_frontend::parse(source).module.expect("PTX without errors");
        let params = Parameter::list(module.variables.iter());
        assert_eq!(params.iter().map(|one| one.placed).collect::<Vec<_>>(), [0, 48, 176, 304]);
        assert_eq!(params.iter().map(|one| one.offset).collect::<Vec<_>>(), [0, 64, 192, 320]);
    }
}
