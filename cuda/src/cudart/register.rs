//! What the compiler registers before `main`: images, kernels, variables.
//!
//! Nothing is parsed before a kernel or a variable of an image is needed.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use runtime::{Context, Function, Library, Result, Status};

use crate::cudart::context::ensure;
use crate::driver::function::function_handle;
use crate::driver::module::{JitOptions, image_program, parse, program_name};
use crate::ffi::{Handle, put, text};

/// An image of the program.
#[derive(Debug)]
struct Image {
    number: usize,
    /// Address of the wrapper.
    wrapper: u64,
    library: Mutex<Option<Arc<Library>>>,
    /// Managed variables: the program's pointer to each, and its name.
    managed: Mutex<Vec<(u64, String)>>,
    /// The context whose managed variables the pointers lead to.
    filled: AtomicU64,
    /// Why it cannot be used, if it was tried.
    failed: OnceLock<Status>,
}

impl Image {
    fn library(&self, context: &Context) -> Result<Arc<Library>> {
        let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = &*library {
            return Ok(library.clone());
        }
        if let Some(&status) = self.failed.get() {
            return Err(status);
        }
        let options = JitOptions::default();
        let name = match self.number {
            0 => program_name(),
            number => format!("{}#{number}", program_name()),
        };
        // SAFETY: the compiler registered the wrapper.
        let program = unsafe { image_program(context, self.wrapper as *const c_void, &options) };
        let new = program.and_then(|program| {
            let built = options.built(program.registers);
            Ok(Library::new(Ok(parse(context, &name, program.texts, &options)?), built))
        });
        let new = new.inspect_err(|&status| {
            let _ = self.failed.set(status);
        })?;
        Ok(library.insert(new).clone())
    }
}

/// A kernel or variable: its image and its name there.
#[derive(Clone, Debug)]
struct Entry {
    image: Arc<Image>,
    name: String,
    is_kernel: bool,
}

#[derive(Debug, Default)]
struct Registry {
    images: HashMap<u64, Arc<Image>>,
    count: usize,
    entries: HashMap<u64, Entry>,
    /// The program's pointers to managed variables, by where they lead.
    managed: HashMap<u64, u64>,
    /// Functions by context and address, so that launches need no search.
    functions: HashMap<(u64, u64), Arc<Function>>,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel that a host function's address stands for; handles of the driver are taken too.
pub(crate) fn function(context: &Arc<Context>, address: u64) -> Result<Arc<Function>> {
    let entry = {
        let registry = registry();
        if let Some(function) = registry.functions.get(&(context.id, address)) {
            return Ok(function.clone());
        }
        registry.entries.get(&address).filter(|entry| entry.is_kernel).cloned()
    };
    let Some(entry) = entry else {
        let missing = if address == 0 { Status::INVALID_DEVICE_FUNCTION } else { Status::INVALID_HANDLE };
        return crate::driver::function::function(address).map_err(|_| missing);
    };
    let module = entry.image.library(context)?.module(context)?;
    fill_managed(&entry.image, context)?;
    let function = module.function(&entry.name).map_err(|_| Status::INVALID_DEVICE_FUNCTION)?;
    let mut registry = registry();
    // Those of contexts that are gone, whose numbers do not come again.
    registry.functions.retain(|_, known| known.module.context.upgrade().is_some_and(|of| !of.is_destroyed()));
    registry.functions.insert((context.id, address), function.clone());
    Ok(function)
}

/// The kernel of a host function's address, which must be registered.
fn registered(context: &Arc<Context>, address: u64) -> Result<Arc<Function>> {
    if is_registered(address) { function(context, address) } else { Err(Status::INVALID_DEVICE_FUNCTION) }
}

/// The host function's address that a function of the driver was found by.
pub(crate) fn address_of(function: Handle) -> Option<u64> {
    let registry = registry();
    let known = registry.functions.iter().find(|(_, found)| crate::object::handle(found.id) == function);
    known.map(|((_, address), _)| *address)
}

/// Whether the compiler registered a kernel under an address; others are handles of kernels.
pub(crate) fn is_registered(address: u64) -> bool {
    registry().entries.get(&address).is_some_and(|entry| entry.is_kernel)
}

/// Address and size of the device variable that a host variable's address stands for. Managed ones are where the program's
/// pointers to them lead.
pub(crate) fn variable(context: &Arc<Context>, address: u64) -> Result<(u64, u64)> {
    let entry = {
        let registry = registry();
        let address = registry.managed.get(&address).copied().unwrap_or(address);
        registry.entries.get(&address).filter(|entry| !entry.is_kernel).cloned()
    };
    let entry = entry.ok_or(Status::INVALID_SYMBOL)?;
    let module = entry.image.library(context)?.module(context)?;
    module.variable(&entry.name).map_err(|_| Status::INVALID_SYMBOL)
}

/// Lets the program's pointers to managed variables lead to them.
fn fill_managed(image: &Image, context: &Arc<Context>) -> Result {
    let managed = image.managed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if managed.is_empty() || image.filled.swap(context.id, SeqCst) == context.id {
        return Ok(());
    }
    let module = image.library(context)?.module(context)?;
    for (pointer, name) in managed {
        let (address, _) = module.variable(&name)?;
        // SAFETY: the compiler registered the pointer for this.
        unsafe { put(pointer as *mut u64, address) }?;
        registry().managed.insert(address, pointer);
    }
    Ok(())
}

fn image_of(handle: u64) -> Option<Arc<Image>> {
    registry().images.get(&handle).cloned()
}

fn enter(handle: u64, address: u64, name: *const c_char, is_kernel: bool) {
    // SAFETY: the compiler gives names as strings.
    let (Some(image), Ok(name)) = (image_of(handle), unsafe { text(name) }) else { return };
    let entry = Entry { image, name: name.into(), is_kernel };
    registry().entries.insert(address, entry);
}

/// `cudaRegister…` functions return nothing that could be an error.
fn quietly(name: &str, body: impl FnOnce()) {
    crate::ffi::guard(name, || {
        body();
        Ok(())
    });
}

#[unsafe(export_name = "warpgrind___cudaRegisterFatBinary")]
extern "C" fn __cudaRegisterFatBinary(wrapper: u64) -> u64 {
    let mut handle = 0;
    quietly("__cudaRegisterFatBinary", || {
        let mut registry = registry();
        let image = Arc::new(Image {
            number: registry.count,
            wrapper,
            library: Mutex::default(),
            managed: Mutex::default(),
            filled: AtomicU64::new(0),
            failed: OnceLock::new(),
        });
        registry.count += 1;
        handle = Arc::as_ptr(&image) as u64;
        registry.images.insert(handle, image);
    });
    handle
}

#[unsafe(export_name = "warpgrind___cudaRegisterFatBinaryEnd")]
extern "C" fn __cudaRegisterFatBinaryEnd(_image: u64) {}

#[unsafe(export_name = "warpgrind___cudaUnregisterFatBinary")]
extern "C" fn __cudaUnregisterFatBinary(image: u64) {
    // Modules stay as long as their contexts: other exit handlers may still launch.
    quietly("__cudaUnregisterFatBinary", || drop(registry().images.remove(&image)));
}

#[unsafe(export_name = "warpgrind___cudaRegisterFunction")]
extern "C" fn __cudaRegisterFunction(
    image: u64,
    host: u64,
    _device: u64,
    name: *const c_char,
    _threads: i32,
    _tid: u64,
    _bid: u64,
    _block: u64,
    _grid: u64,
    _warp: u64,
) {
    quietly("__cudaRegisterFunction", || enter(image, host, name, true));
}

#[unsafe(export_name = "warpgrind___cudaRegisterVar")]
extern "C" fn __cudaRegisterVar(
    image: u64,
    host: u64,
    _device: u64,
    name: *const c_char,
    _external: i32,
    _size: usize,
    _constant: i32,
    _global: i32,
) {
    quietly("__cudaRegisterVar", || enter(image, host, name, false));
}

#[unsafe(export_name = "warpgrind___cudaRegisterManagedVar")]
extern "C" fn __cudaRegisterManagedVar(
    image: u64,
    pointer: u64,
    _device: u64,
    name: *const c_char,
    _external: i32,
    _size: usize,
    _constant: i32,
    _global: i32,
) {
    quietly("__cudaRegisterManagedVar", || {
        enter(image, pointer, name, false);
        // SAFETY: the compiler gives names as strings.
        if let (Some(image), Ok(name)) = (image_of(image), unsafe { text(name) }) {
            image.managed.lock().unwrap_or_else(PoisonError::into_inner).push((pointer, name.into()));
        }
    });
}

#[unsafe(export_name = "warpgrind___cudaRegisterHostVar")]
extern "C" fn __cudaRegisterHostVar(_image: u64, _name: *const c_char, _host: u64, _size: usize) {}

#[unsafe(export_name = "warpgrind___cudaInitModule")]
extern "C" fn __cudaInitModule(image: u64) -> c_char {
    let done = crate::ffi::guard("__cudaInitModule", || {
        let context = ensure()?;
        image_of(image).map_or(Ok(()), |image| fill_managed(&image, &context))
    });
    c_char::from(done == 0)
}

rt! {
    fn __cudaGetKernel(kernel: *mut u64, address: u64) {
        // The address itself serves as the kernel's handle, in every context.
        put(kernel, address)
    }

    fn cudaGetKernel(kernel: *mut u64, address: u64) {
        let context = ensure()?;
        put(kernel, function_handle(&registered(&context, address)?))
    }

    fn cudaGetFuncBySymbol(function_: *mut Handle, address: u64) {
        let context = ensure()?;
        put(function_, function_handle(&registered(&context, address)?))
    }

    fn cudaGetSymbolAddress(to: *mut u64, symbol: u64) {
        let context = ensure()?;
        put(to, variable(&context, symbol)?.0)
    }

    fn cudaGetSymbolSize(to: *mut usize, symbol: u64) {
        let context = ensure()?;
        put(to, variable(&context, symbol)?.1 as usize)
    }
}
