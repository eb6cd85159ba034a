//! Libraries and their kernels.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use runtime::{Function, Kernel, Library, Module, Parameter, Result, Status};

use crate::driver::function::{attribute, c_name, set_attribute};
use crate::driver::module::{image_program, jit_options, parse, program_name, put_function};
use crate::ffi::{Handle, put, put_wanted, text};
use crate::object;
use crate::state::{self, current, healthy};

/// Unloads a library from all contexts.
fn unload(library: &Library) {
    let modules = library.take_modules();
    let is_of = |id: u64| modules.iter().any(|module| module.id == id);
    object::remove_all(|module: &Arc<Module>| is_of(module.id));
    object::remove_all(|function: &Arc<Function>| is_of(function.module.id));
    for module in modules {
        if let Some(context) = module.context.upgrade() {
            context.drain();
            let _ = module.unload();
        }
    }
}

unsafe fn load(
    to: *mut Handle,
    image: *const c_void,
    count: u32,
    names: *const u32,
    values: *const u64,
) -> Result {
    state::runtime()?;
    let context = match current() {
        Ok(context) => context,
        Err(_) => state::device(0)?.create_context(0),
    };
    if to.is_null() || image.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let options = unsafe { jit_options(count, names, values) }?;
    // SAFETY: as above.
    let (registers, linked) = match unsafe { image_program(&context, image, &options) } {
        Ok(program) => (program.registers, parse(&context, &program_name(), program.texts, &options)),
        Err(status) => (Default::default(), Err(status)),
    };
    let library = Library::new(linked, options.built(registers));
    if library.code().is_ok() {
        // SAFETY: as above.
        unsafe { options.log("") };
    }
    // SAFETY: as above.
    unsafe { put(to, object::insert(library.id, library)) }
}

fn kernel_function(kernel: Handle) -> Result<Arc<Function>> {
    let kernel: Arc<Kernel> = object::find(kernel)?;
    kernel.function(&current()?)
}

api! {
    fn cuLibraryLoadData(
        library: *mut Handle, image: *const c_void, options: *const u32, values: *const u64, count: u32,
        _library_options: *const u32, _library_values: *const u64, _library_count: u32
    ) {
        load(library, image, count, options, values)
    }

    fn cuLibraryLoadFromFile(
        library: *mut Handle, path: *const c_char, options: *const u32, values: *const u64, count: u32,
        _library_options: *const u32, _library_values: *const u64, _library_count: u32
    ) {
        let mut bytes = std::fs::read(text(path)?).map_err(|_| Status::FILE_NOT_FOUND)?;
        bytes.extend([0; 64]);
        load(library, bytes.as_ptr().cast(), count, options, values)
    }

    fn cuLibraryUnload(library: Handle) {
        state::runtime()?;
        let library: Arc<Library> = object::remove(library)?;
        unload(&library);
        object::remove_all(|kernel: &Arc<Kernel>| kernel.library.id == library.id);
        Ok(())
    }

    fn cuLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char) {
        state::runtime()?;
        let library: Arc<Library> = object::find(library)?;
        let found = library.kernel(text(name)?)?;
        put(kernel, object::insert(found.id, found))
    }

    fn cuLibraryGetKernelCount(count: *mut u32, library: Handle) {
        state::runtime()?;
        let library: Arc<Library> = object::find(library)?;
        put(count, library.code().map_or(0, |code| code.kernels().count() as u32))
    }

    fn cuLibraryEnumerateKernels(kernels: *mut Handle, count: u32, library: Handle) {
        state::runtime()?;
        let library: Arc<Library> = object::find(library)?;
        if kernels.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        for (at, (_, kernel)) in library.code()?.kernels().take(count as usize).enumerate() {
            let found = library.kernel(&kernel.name)?;
            put(kernels.wrapping_add(at), object::insert(found.id, found))?;
        }
        Ok(())
    }

    fn cuLibraryGetModule(module: *mut Handle, library: Handle) {
        let context = healthy()?;
        let library: Arc<Library> = object::find(library)?;
        let found = library.module(&context)?;
        put(module, object::insert(found.id, found))
    }

    fn cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) {
        let context = healthy()?;
        let library: Arc<Library> = object::find(library)?;
        if address.is_null() && bytes.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let (base, size) = library.module(&context)?.variable(text(name)?)?;
        put_wanted(address, base);
        put_wanted(bytes, size as usize);
        Ok(())
    }

    fn cuLibraryGetManaged(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) {
        let context = healthy()?;
        let library: Arc<Library> = object::find(library)?;
        let module = library.module(&context)?;
        let name = text(name)?;
        if !module.is_managed(name) {
            return Err(Status::NOT_FOUND);
        }
        let (base, size) = module.variable(name)?;
        put_wanted(address, base);
        put_wanted(bytes, size as usize);
        Ok(())
    }

    fn cuLibraryGetUnifiedFunction(to: *mut Handle, library: Handle, symbol: *const c_char) {
        state::runtime()?;
        object::find::<Arc<Library>>(library)?;
        // PTX has no functions of the host.
        text(symbol)?;
        let _ = to;
        Err(Status::INVALID_VALUE)
    }

    fn cuKernelGetFunction(function: *mut Handle, kernel: Handle) {
        healthy()?;
        put_function(function, kernel_function(kernel)?)
    }

    fn cuKernelGetLibrary(library: *mut Handle, kernel: Handle) {
        state::runtime()?;
        let kernel: Arc<Kernel> = object::find(kernel)?;
        put(library, object::insert(kernel.library.id, kernel.library.clone()))
    }

    fn cuKernelGetName(name: *mut *const c_char, kernel: Handle) {
        state::runtime()?;
        let kernel: Arc<Kernel> = object::find(kernel).map_err(|_| Status::INVALID_VALUE)?;
        put(name, c_name(&kernel.name))
    }

    fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        if kernel == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let function = kernel_function(kernel)?;
        let &Parameter { placed, bytes, .. } = function.params.get(index).ok_or(Status::INVALID_VALUE)?;
        put(offset, placed)?;
        put_wanted(size, bytes);
        Ok(())
    }

    fn cuKernelGetAttribute(value: *mut i32, number: i32, kernel: Handle, device: i32) {
        state::device(device)?;
        put(value, attribute(&*kernel_function(kernel)?, number)?)
    }

    fn cuKernelSetAttribute(number: i32, value: i32, kernel: Handle, device: i32) {
        state::device(device)?;
        set_attribute(&*kernel_function(kernel)?, number, value)
    }

    fn cuKernelSetCacheConfig(kernel: Handle, config: u32, device: i32) {
        state::device(device)?;
        let _kernel: Arc<Kernel> = object::find(kernel)?;
        if config > 3 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }
}
