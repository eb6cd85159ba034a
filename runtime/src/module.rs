//! Modules and their kernels.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};
use ptx_frontend::render::render;
use ptx_frontend::{FuncId, Param, PtxVersion, Severity, Source, VarId};
use sim_core::{Backend, Code, Dim3, ModuleId};

use crate::context::Context;
use crate::memory::{Allocation, Kind};
use crate::reference::{SurfaceReference, TextureReference};
use crate::{fresh_id, lock};

/// A checked and linked module, shared by all contexts that load the same texts.
pub type Linked = Arc<ptx_frontend::Module>;

/// Parses and links PTX texts with their names; equal texts are parsed once per process.
///
/// # Errors
/// `INVALID_PTX` with the rendered errors, or those of the linker.
pub fn compile(texts: &[(String, Vec<u8>)]) -> std::result::Result<Linked, (Status, String)> {
    type Cache = Mutex<HashMap<Vec<Vec<u8>>, Linked>>;
    static CACHE: OnceLock<Cache> = OnceLock::new();
    let cache = CACHE.get_or_init(Cache::default);
    let key: Vec<Vec<u8>> = texts.iter().map(|(_, text)| text.clone()).collect();
    let bytes = |key: &[Vec<u8>]| key.iter().map(Vec::len).sum::<usize>();
    if let Some(module) = lock(cache).get(&key) {
        return Ok(module.clone());
    }
    let mut modules = Vec::new();
    let mut log = String::new();
    let mut status = Status::INVALID_PTX;
    for (name, text) in texts {
        match check(name, text) {
            Ok(module) => modules.push(module),
            Err((worse, text)) => {
                status = status.max(worse);
                log += &text;
            }
        }
    }
    if !log.is_empty() {
        return Err((status, log));
    }
    if let [module] = &mut modules[..] {
        ptx_frontend::define_externs(module);
    }
    ptx_frontend::add_device_runtime(&mut modules);
    let module = ptx_frontend::link(modules).map_err(|errors| {
        let text =
            |e: &ptx_frontend::LinkError| render(&e.diagnostic, &e.source, &e.elsewhere, false) + "\n\n";
        (Status::INVALID_PTX, errors.iter().map(text).collect::<String>())
    })?;
    let module = Arc::new(module);
    let mut cache = lock(cache);
    // Programs that compile at run time load texts without end.
    if bytes(&key) + cache.keys().map(|key| bytes(key)).sum::<usize>() > MOST_KEPT {
        cache.retain(|_, module| Arc::strong_count(module) > 1);
    }
    cache.insert(key, module.clone());
    Ok(module)
}

/// Bytes of texts beyond which modules that nobody has loaded are forgotten.
const MOST_KEPT: usize = 16 << 20;

/// Checks one PTX text; it may refer to others.
///
/// # Errors
/// `INVALID_PTX` or `UNSUPPORTED_PTX_VERSION`, with the rendered errors.
pub fn check(name: &str, text: &[u8]) -> std::result::Result<ptx_frontend::Module, (Status, String)> {
    let parsed = ptx_frontend::parse(Source::new(name, as_known(text)));
    let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let (mut log, mut status) = (String::new(), Status::INVALID_PTX);
    for diagnostic in errors {
        if diagnostic.code == ptx_frontend::codes::VERSION {
            status = Status::UNSUPPORTED_PTX_VERSION;
        }
        log += &(render(diagnostic, &parsed.source, &[], false) + "\n\n");
    }
    parsed.module.filter(|_| log.is_empty()).ok_or((status, log))
}

/// A text of a newer PTX version as one of the newest that is known: compilers write the version of their
/// toolkit, whatever they use of it. What is new in it is refused where it stands.
fn as_known(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    let newest = PtxVersion::NEWEST.to_string();
    let directive = b".version";
    let Some(found) = text.windows(directive.len()).position(|part| part == directive) else { return text };
    let mut start = found + directive.len();
    while text.get(start).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        start += 1;
    }
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let said = std::str::from_utf8(&text[start..start + digits]).ok().and_then(|said| {
        let (major, minor) = said.split_once('.')?;
        Some(PtxVersion::new(major.parse().ok()?, minor.parse().ok()?))
    });
    if said.is_some_and(|said| said > PtxVersion::NEWEST) {
        text.splice(start..start + digits, newest.into_bytes());
    }
    text
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
    /// Registers a thread may have, if the program said so when it loaded the module.
    most_registers: Option<u32>,
    /// Where managed variables are, and whether they are this module's.
    managed: Vec<(VarId, u64)>,
    owns_managed: bool,
    /// References that were asked for, by name.
    pub(crate) textures: Mutex<HashMap<Box<str>, Arc<TextureReference>>>,
    pub(crate) surfaces: Mutex<HashMap<Box<str>, Arc<SurfaceReference>>>,
}

impl Module {
    /// Loads a module into a context.
    ///
    /// # Errors
    /// Undefined symbols, no memory for variables.
    pub fn load(context: &Arc<Context>, linked: Linked, most_registers: Option<u32>) -> Result<Arc<Module>> {
        Self::load_shared(context, linked, most_registers, None)
    }

    /// The same with managed variables that another context's module has already.
    ///
    /// # Errors
    /// As [`Module::load`].
    pub(crate) fn load_shared(
        context: &Arc<Context>,
        linked: Linked,
        most_registers: Option<u32>,
        shared: Option<&[(VarId, u64)]>,
    ) -> Result<Arc<Module>> {
        let mut placed = shared.unwrap_or_default().to_vec();
        let managed = linked.variables.iter().enumerate().filter(|(_, v)| v.managed && v.size > 0);
        for (at, variable) in managed.filter(|_| shared.is_none()) {
            placed.push((VarId(at as u32), context.host().shared(context, variable.size, Kind::Managed)?));
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
        let module = Module {
            id: fresh_id(),
            context: Arc::downgrade(context),
            linked,
            loaded,
            functions: Mutex::default(),
            most_registers,
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
            params: params.map(|v| (v.offset as usize, v.size as usize)).collect(),
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

/// No value of dynamic shared memory.
const UNASKED: u32 = u32::MAX;

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
    /// Offset and size of each parameter.
    pub params: Vec<(usize, usize)>,
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
        let said = tuning.max_registers.or(self.module.most_registers).map_or(255, |said| said.max(24));
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

    /// The cluster that the kernel declares.
    pub fn declared_cluster(&self) -> Option<Dim3> {
        self.declared().tuning.required_cluster.map(|[x, y, z]| Dim3::new(x, y, z))
    }

    /// The cluster that it declares, or that was set as its attribute.
    pub fn required_cluster(&self) -> Option<Dim3> {
        let declared = self.declared_cluster();
        let set = [11, 12, 13].map(|number| self.attributes[number].load(Relaxed).max(0) as u32);
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
        let a_warp = (self.registers()? * 32).next_multiple_of(256);
        let by_registers = config.registers_per_multiprocessor / a_warp / 4 * 4 * 32;
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
    fn the_device_runtime_is_linked_where_it_is_called() {
        let text = "
            .version 8.0\n.target sm_80\n.address_size 64
            .extern .func (.param .b32 status) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
            .visible .entry k()
            {
                .reg .b64 %d<1>;
                .param .b64 handle; .param .b32 flags; .param .b32 status;
                mov.b64 %d0, 0;
                st.param.b64 [handle], %d0;
                st.param.b32 [flags], 0;
                call (status), cudaCGSynchronize, (handle, flags);
                ret;
            }";
        let linked = compile(&[("k.ptx".into(), text.into())]).unwrap();
        let defined = linked.functions.iter().filter(|function| function.body.is_some()).count();
        assert_eq!((defined, linked.sources.len()), (3, 2));
    }

    #[test]
    fn texts_of_newer_versions_are_read_as_the_newest() {
        let newest = format!(".version {}\n", PtxVersion::NEWEST);
        assert_eq!(as_known(b"// x\n.version 9.99\n.target"), format!("// x\n{newest}.target").as_bytes());
        assert_eq!(as_known(b".version\t10.0\n"), newest.replace(' ', "\t").as_bytes());
        for same in [".version 8.0\n.target sm_80", ".version", ".version x.y", ".version 999999.1", ""] {
            assert_eq!(as_known(same.as_bytes()), same.as_bytes());
        }
    }
}
