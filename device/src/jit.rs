//! PTX to a loaded module, by the driver's own compiler and linker.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CString, c_uint, c_void};

use cuda_abi::numbers::{jit_input, jit_option};
use cuda_abi::{Handle, Status};
use ptx_frontend::{Module, Param, StateSpace, Symbol, TargetKind};
use sim_core::{Error, Launch, LaunchError};

use crate::context::Context;
use crate::error::CallError;
use crate::options::OptLevel;
use crate::properties::{DriverVersion, Properties};

const LOG_BYTES: usize = 16 << 10;

/// What the driver needs of a module.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Image {
    /// PTX texts, to be linked if there are several.
    texts: Vec<String>,
    /// `PTX 9.0`
    version: String,
    /// `sm_90a`, its number, and which later numbers will do.
    target: (String, u16, Reach),
    kernels: Vec<Kernel>,
    /// Names of `.global` and `.const` variables of module scope.
    variables: Vec<String>,
    /// The kernels may write to the standard streams.
    prints: bool,
}

/// A kernel of a module.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Kernel {
    name: String,
    /// Bytes of its parameters, as the simulator lays them out.
    bytes: u64,
    /// Where each parameter begins.
    offsets: Vec<u64>,
}

/// Where code for a target runs.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
enum Reach {
    Later,
    Family,
    Same,
}

impl Image {
    pub(crate) fn of(module: &Module) -> Self {
        let reach = match module.target.kind {
            TargetKind::Portable => Reach::Later,
            TargetKind::Family => Reach::Family,
            TargetKind::Architecture => Reach::Same,
        };
        let variable = |symbol: &Symbol| match symbol {
            Symbol::Variable(id) => {
                matches!(module.variables[id.index()].space, StateSpace::Global | StateSpace::Const)
            }
            Symbol::Function(_) => false,
        };
        Self {
            texts: module.sources.iter().map(|source| source.text.to_string()).collect(),
            version: format!("PTX {}", module.version),
            target: (module.target.to_string(), module.target.sm, reach),
            kernels: module
                .kernels()
                .map(|(_, kernel)| Kernel {
                    name: kernel.name.to_string(),
                    bytes: kernel.param_bytes,
                    offsets: kernel.params.iter().filter_map(|param| offset(module, param)).collect(),
                })
                .collect(),
            variables: module
                .symbols
                .iter()
                .filter(|(_, symbol)| variable(symbol))
                .map(|(name, _)| name.to_string())
                .collect(),
            prints: ["vprintf", "__assertfail"].iter().any(|name| module.symbol(name).is_some()),
        }
    }

    /// The same with products and sums that round by themselves.
    pub(crate) fn without_contraction(mut self) -> Self {
        for text in &mut self.texts {
            if let Cow::Owned(changed) = crate::without_contraction(text) {
                *text = changed;
            }
        }
        self
    }

    fn fits(&self, sm: u16) -> bool {
        match self.target.2 {
            Reach::Later => self.target.1 <= sm,
            Reach::Family => self.target.1 / 10 == sm / 10 && self.target.1 <= sm,
            Reach::Same => self.target.1 == sm,
        }
    }
}

/// Where a kernel's parameter begins.
fn offset(module: &Module, param: &Param) -> Option<u64> {
    match *param {
        Param::Variable(id) => Some(module.variables[id.index()].offset),
        Param::Register(_) => None,
    }
}

/// A module on the device.
#[derive(Debug)]
pub(crate) struct Loaded {
    handle: Handle,
    functions: HashMap<String, Handle>,
    /// Address and size in bytes of variables.
    pub(crate) variables: HashMap<String, (u64, u64)>,
    kernels: Vec<Kernel>,
    /// The kernels may write to the standard streams.
    pub(crate) prints: bool,
}

impl Loaded {
    /// Compiles and loads a module into the context, which is current.
    pub(crate) fn new(
        context: &Context,
        image: &Image,
        level: OptLevel,
        properties: &Properties,
        version: DriverVersion,
    ) -> Result<Self, Error> {
        if !image.fits(properties.sm) {
            return Err(Error::MissingCapability(format!(
                "the PTX is for {}; {} has compute capability {}",
                image.target.0,
                properties.name,
                properties.capability()
            )));
        }
        let mut log = Log::new(level);
        let zero = |_| Error::ModuleRefused("a zero byte in the PTX".into());
        let texts = image.texts.iter().map(|text| CString::new(&**text).map_err(zero));
        let handle = match &texts.collect::<Result<Vec<_>, _>>()?[..] {
            [text] => load_one(context, text, &mut log),
            texts => link(context, texts, &mut log),
        };
        let handle = handle.map_err(|error| refused(error, image, version, &log.text()))?;
        let mut loaded = Self {
            handle,
            functions: HashMap::new(),
            variables: HashMap::new(),
            kernels: image.kernels.clone(),
            prints: image.prints,
        };
        match loaded.find_variables(context, &image.variables) {
            Ok(()) => Ok(loaded),
            Err(error) => {
                loaded.unload(context);
                Err(error)
            }
        }
    }

    fn find_variables(&mut self, context: &Context, names: &[String]) -> Result<(), Error> {
        for name in names {
            let text = CString::new(name.as_str()).map_err(|_| Error::NoSuchVariable(name.to_string()))?;
            let (mut pointer, mut bytes) = (0, 0);
            // SAFETY: the module is loaded, the name ends with zero, and both results are written.
            match unsafe { context.api.module_global(&mut pointer, &mut bytes, self.handle, text.as_ptr()) } {
                Ok(()) => self.variables.insert(name.to_string(), (pointer, bytes as u64)),
                // Variables that no kernel uses, and those without `.visible`, may be left out.
                Err(error) if error.code == Status::NOT_FOUND => None,
                Err(error) => return Err(Error::Backend(error.to_string())),
            };
        }
        Ok(())
    }

    /// The kernel of a launch, whose parameters have the size that it wants, and where each of them begins.
    pub(crate) fn function(&mut self, context: &Context, launch: &Launch) -> Result<(Handle, &[u64]), Error> {
        let name = &*launch.kernel;
        let missing = || {
            let candidates = self.kernels.iter().map(|kernel| kernel.name.clone()).collect();
            Error::NoSuchKernel { name: name.into(), candidates }
        };
        let kernel = self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(missing)?;
        if launch.params.len() as u64 != kernel.bytes {
            let (given, wanted) = (launch.params.len() as u64, kernel.bytes);
            return Err(LaunchError::Params { kernel: name.to_owned(), given, wanted }.into());
        }
        if let Some(&function) = self.functions.get(name) {
            return Ok((function, &kernel.offsets));
        }
        let text = CString::new(name).map_err(|_| missing())?;
        let mut function = 0;
        // SAFETY: the module is loaded, the name ends with zero, and the result is written.
        match unsafe { context.api.module_function(&mut function, self.handle, text.as_ptr()) } {
            Ok(()) => {
                self.functions.insert(name.into(), function);
                Ok((function, &kernel.offsets))
            }
            Err(error) if error.code == Status::NOT_FOUND => Err(missing()),
            Err(error) => Err(Error::Backend(error.to_string())),
        }
    }

    /// Unloads it from the context, which is current.
    pub(crate) fn unload(self, context: &Context) {
        // SAFETY: the module is loaded, and nobody has its handle any more.
        let _ = unsafe { context.api.module_unload(self.handle) };
    }
}

/// What the compiler has to do, and to say.
struct Log {
    level: OptLevel,
    bytes: Vec<u8>,
}

impl Log {
    fn new(level: OptLevel) -> Self {
        Self { level, bytes: vec![0; LOG_BYTES] }
    }

    /// Options that make the driver write here and optimise so much, and their values.
    fn options(&mut self) -> ([c_uint; 3], [*mut c_void; 3]) {
        (
            [
                jit_option::ERROR_LOG_BUFFER,
                jit_option::ERROR_LOG_BUFFER_SIZE_BYTES,
                jit_option::OPTIMIZATION_LEVEL,
            ],
            [
                self.bytes.as_mut_ptr().cast(),
                LOG_BYTES as *mut c_void,
                usize::from(self.level.number()) as *mut c_void,
            ],
        )
    }

    fn text(&self) -> String {
        let end = self.bytes.iter().position(|&byte| byte == 0).unwrap_or(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[..end]).trim_end().to_string()
    }
}

fn load_one(context: &Context, text: &CString, log: &mut Log) -> Result<Handle, CallError> {
    let mut handle = 0;
    let (mut options, mut values) = log.options();
    // SAFETY: the image is a text that ends with zero; there are three options, whose values are a buffer
    // that outlives the call, its size, and a number.
    unsafe {
        context.api.module_load(
            &mut handle,
            text.as_ptr().cast(),
            3,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    }?;
    Ok(handle)
}

fn link(context: &Context, texts: &[CString], log: &mut Log) -> Result<Handle, CallError> {
    let api = &context.api;
    let mut state = 0;
    let (mut options, mut values) = log.options();
    // SAFETY: as for a single text; the log's buffer outlives the link state, which ends below.
    unsafe { api.link_create(3, options.as_mut_ptr(), values.as_mut_ptr(), &mut state) }?;
    let add = |text: &CString| {
        let bytes = text.as_bytes_with_nul();
        // SAFETY: the data are only read, and the size is theirs; no further options.
        unsafe {
            api.link_add(
                state,
                jit_input::PTX,
                bytes.as_ptr().cast_mut().cast(),
                bytes.len(),
                std::ptr::null(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        }
    };
    let (mut image, mut size) = (std::ptr::null_mut(), 0);
    let mut handle = 0;
    let result = texts
        .iter()
        .try_for_each(add)
        // SAFETY: the image is written, and belongs to the link state.
        .and_then(|()| unsafe { api.link_complete(state, &mut image, &mut size) })
        // SAFETY: the image is one that the linker made, and the state that owns it is still there.
        .and_then(|()| unsafe {
            api.module_load(&mut handle, image, 0, std::ptr::null_mut(), std::ptr::null_mut())
        });
    // SAFETY: the state was created above and is not used again.
    let _ = unsafe { api.link_destroy(state) };
    result.map(|()| handle)
}

fn refused(error: CallError, image: &Image, version: DriverVersion, log: &str) -> Error {
    let words = if log.is_empty() { error.to_string() } else { format!("{error}\n{log}") };
    match error.code {
        Status::UNSUPPORTED_PTX_VERSION => {
            Error::DriverTooOld { driver: version.to_string(), needs: image.version.clone(), log: log.into() }
        }
        Status::NO_BINARY_FOR_GPU => Error::MissingCapability(words),
        Status::JIT_COMPILER_NOT_FOUND => Error::Backend(format!("the driver has no PTX compiler: {words}")),
        Status::INVALID_PTX => Error::ModuleRefused(words),
        Status::OUT_OF_MEMORY => Error::Backend(format!("no device memory for the module: {words}")),
        _ => Error::ModuleRefused(words),
    }
}
