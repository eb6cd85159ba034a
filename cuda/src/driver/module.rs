//! Modules: images to loaded code.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::sync::Arc;

use cuda_abi::numbers::jit_option as o;
use runtime::image::{Program, Registers};
use runtime::{Built, Context, Function, Linked, Module, Result, Status, compile, image};

use crate::driver::entry::file_of;
use crate::ffi::{Handle, get, list, put, put_text, put_wanted, text};
use crate::object;
use crate::state::healthy;

/// What to do about an image without PTX.
pub(crate) const NO_PTX: &str = "no PTX for this device in the image. Machine code cannot be run; embed PTX: `nvcc -arch=sm_90` \
                      does (as `-gencode arch=compute_90,code=[sm_90,compute_90]`), `code=sm_90` alone only with `-lineinfo`";

/// What is said of an image without PTX, by the file that it lies in.
fn without_ptx(file: Option<&Path>) -> String {
    let name = file.and_then(Path::file_name).map(|name| name.to_string_lossy()).unwrap_or_default();
    match file {
        Some(file) if name.starts_with("libtorch_cuda") => format!(
            "PyTorch's own operators (`{}`) are machine code, which cannot be run. `python -m warpgrind.torch SCRIPT` runs a \
             script with those computed on the CPU",
            file.display()
        ),
        Some(file) if name.contains(".so") => format!("`{}`: {NO_PTX}", file.display()),
        _ => NO_PTX.to_owned(),
    }
}

/// Options of `cuModuleLoadDataEx` and `cuLinkCreate` that are answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JitOptions {
    info: u64,
    info_size: usize,
    error: u64,
    error_size: usize,
    /// Where the sizes that were used are put.
    used: [u64; 2],
    /// Registers a thread at most.
    pub most_registers: Option<u32>,
}

/// Reads options.
///
/// # Safety
/// Both arrays are null or have `count` entries.
pub(crate) unsafe fn jit_options(count: u32, names: *const u32, values: *const u64) -> Result<JitOptions> {
    let mut options = JitOptions::default();
    // SAFETY: the caller's promise.
    let (names, given) = unsafe { (list(names, count as usize)?, list(values, count as usize)?) };
    for (at, (name, value)) in names.into_iter().zip(given).enumerate() {
        let place = values.wrapping_add(at) as u64;
        match name {
            o::INFO_LOG_BUFFER => options.info = value,
            o::INFO_LOG_BUFFER_SIZE_BYTES => (options.info_size, options.used[0]) = (value as usize, place),
            o::ERROR_LOG_BUFFER => options.error = value,
            o::ERROR_LOG_BUFFER_SIZE_BYTES => (options.error_size, options.used[1]) = (value as usize, place),
            o::MAX_REGISTERS if value as u32 == 0 => return Err(Status::INVALID_VALUE),
            o::MAX_REGISTERS => options.most_registers = Some(value as u32),
            // The others direct a compiler to machine code.
            1..=34 => {}
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    Ok(options)
}

impl JitOptions {
    /// How a module is built of an image whose machine code has so many registers.
    pub(crate) fn built(&self, registers: Registers) -> Built {
        Built { most_registers: self.most_registers, registers: registers.into() }
    }

    /// Fills the logs.
    ///
    /// # Safety
    /// The buffers are as the program said.
    pub(crate) unsafe fn log(&self, error: &str) {
        let put_log = |to: u64, size: usize, used: u64, text: &str| {
            if to != 0 && size > 0 {
                // SAFETY: the caller's promise.
                let _ = unsafe { put_text(to as *mut c_char, size, text) };
            }
            // SAFETY: as above; the size is an entry of the array of values.
            unsafe { put_wanted(used as *mut u64, text.len().min(size) as u64) };
        };
        put_log(self.info, self.info_size, self.used[0], "");
        put_log(self.error, self.error_size, self.used[1], error);
    }
}

/// What an image has that a program points at: PTX, a fatbin, a wrapper around one or several, or a cubin that
/// carries its PTX.
///
/// # Safety
/// `from` is null or points at a whole image.
pub(crate) unsafe fn program(from: *const c_void, sm: u16) -> Result<Program> {
    // SAFETY: an image has at least four bytes.
    let magic: u32 = unsafe { get(from.cast()) }?;
    match magic {
        image::WRAPPER => {
            let field = |at: usize| from.cast::<u64>().wrapping_add(at);
            // SAFETY: a wrapper has 24 bytes: magic, version, two addresses.
            let (version, data, extra) =
                unsafe { (get(from.cast::<u32>().wrapping_add(1))?, get(field(1))?, get(field(2))?) };
            if version != 2 {
                // SAFETY: a fatbin is there.
                return unsafe { fatbin(data as *const u8, sm) };
            }
            let mut all = Program::default();
            let mut next = extra as *const u64;
            loop {
                // SAFETY: the list of the objects' fatbins ends in null.
                match unsafe { get(next) }? {
                    0 => break,
                    // SAFETY: a fatbin is there.
                    object => match unsafe { fatbin(object as *const u8, sm) } {
                        Ok(program) => {
                            all.texts.extend(program.texts);
                            all.registers.extend(program.registers);
                        }
                        // Objects without device code have no entry that counts.
                        Err(Status::NO_BINARY_FOR_GPU) => {}
                        Err(error) => return Err(error),
                    },
                }
                next = next.wrapping_add(1);
            }
            if all.texts.is_empty() { Err(Status::NO_BINARY_FOR_GPU) } else { Ok(all) }
        }
        // SAFETY: a fatbin is there.
        image::FATBIN => unsafe { fatbin(from.cast(), sm) },
        // SAFETY: an ELF file is there. Of one in another format nothing is known but that it is machine code.
        image::ELF => match unsafe { cubin(from.cast()) }.unwrap_or_default() {
            program if program.texts.is_empty() => Err(Status::NO_BINARY_FOR_GPU),
            program => Ok(program),
        },
        _ => {
            // SAFETY: what is none of these is text that ends in a zero byte.
            let text = unsafe { std::ffi::CStr::from_ptr(from.cast()) }.to_bytes();
            match looks_like_ptx(text) {
                true => Ok(Program { texts: vec![text.to_vec()], ..Program::default() }),
                false => Err(Status::INVALID_IMAGE),
            }
        }
    }
}

/// Whether a text begins as PTX does: a directive or a comment.
fn looks_like_ptx(text: &[u8]) -> bool {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(text.len());
    matches!(text.get(start..), Some([b'.', ..] | [b'/', b'/' | b'*', ..]))
}

unsafe fn fatbin(from: *const u8, sm: u16) -> Result<Program> {
    // SAFETY: a fatbin starts with 16 bytes that say its size.
    let header = unsafe { std::slice::from_raw_parts(from, 16) };
    let size = image::fatbin_size(header)?;
    // SAFETY: so many bytes are there.
    let bytes = unsafe { std::slice::from_raw_parts(from, size) };
    image::best(bytes, sm)
}

/// What a cubin has.
///
/// # Safety
/// A whole ELF file is there.
unsafe fn cubin(from: *const u8) -> Result<Program> {
    // SAFETY: it begins with its header, and says where the headers of its sections are, and those where the sections.
    unsafe {
        let headers = image::section_headers(std::slice::from_raw_parts(from, image::ELF_HEADER))?;
        let sections = image::elf_end(std::slice::from_raw_parts(from.add(headers.start), headers.len()))?;
        image::cubin(std::slice::from_raw_parts(from, headers.end.max(sections)))
    }
}

/// Parses texts for a context's device, under names that messages use.
pub(crate) fn parse(
    context: &Context,
    name: &str,
    texts: Vec<Vec<u8>>,
    options: &JitOptions,
) -> Result<Linked> {
    let several = texts.len() > 1;
    let named = texts
        .into_iter()
        .enumerate()
        .map(|(at, text)| (if several { format!("{name}#{at}.ptx") } else { format!("{name}.ptx") }, text));
    let named: Vec<_> = named.collect();
    let sm = context.device.simulator.config().sm;
    compile(&named, sm).map_err(|error| refused(name, error, options))
}

/// What is wrong with a text that is to be linked with others for a context's device.
pub(crate) fn check(context: &Context, name: &str, text: &[u8], options: &JitOptions) -> Result {
    let sm = context.device.simulator.config().sm;
    let checked = runtime::check(name, text).and_then(|module| runtime::runs_on(sm, module));
    checked.map(|_| ()).map_err(|error| refused(name, error, options))
}

/// Says what is wrong with a text.
fn refused(name: &str, (status, log): (Status, String), options: &JitOptions) -> Status {
    eprintln!("warpgrind: the PTX of {name} is not valid\n\n{log}");
    // SAFETY: the program described the buffers.
    unsafe { options.log(&log) };
    status
}

/// What messages call the code of this process.
pub(crate) fn program_name() -> String {
    let path = std::env::current_exe().ok();
    let name =
        path.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "program".into())
}

/// What an image has, with a sentence when there is no PTX.
///
/// # Safety
/// As for [`program`].
pub(crate) unsafe fn image_program(
    context: &Context,
    from: *const c_void,
    options: &JitOptions,
) -> Result<Program> {
    // SAFETY: the caller's promise.
    unsafe { program(from, context.device.simulator.config().sm) }.inspect_err(|&status| {
        if status == Status::NO_BINARY_FOR_GPU {
            let said = without_ptx(file_of(from).as_deref());
            eprintln!("warpgrind: {said}");
            // SAFETY: the program described the buffers.
            unsafe { options.log(&said) };
        }
    })
}

/// # Safety
/// `from` is null or points at an image; `to` is null or writable.
unsafe fn load(to: *mut Handle, from: *const c_void, options: &JitOptions) -> Result {
    let context = healthy()?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let program = unsafe { image_program(&context, from, options) }?;
    let built = options.built(program.registers);
    let module = Module::load(&context, parse(&context, &program_name(), program.texts, options)?, built)?;
    // SAFETY: the caller's promise.
    unsafe { options.log("") };
    // SAFETY: the caller's promise.
    unsafe { put(to, object::insert(module.id, module)) }
}

/// Puts a function into the table and its handle where the program wants it.
///
/// # Safety
/// `to` is null or writable.
pub(crate) unsafe fn put_function(to: *mut Handle, function: Arc<Function>) -> Result {
    // SAFETY: the caller's promise.
    unsafe { put(to, object::insert(function.id, function)) }
}

api! {
    fn cuModuleLoad(module: *mut Handle, path: *const c_char) {
        let path = text(path)?;
        let mut bytes = std::fs::read(path).map_err(|_| Status::FILE_NOT_FOUND)?;
        bytes.extend([0; 64]);
        load(module, bytes.as_ptr().cast(), &JitOptions::default())
    }

    fn cuModuleLoadData(module: *mut Handle, image: *const c_void) {
        load(module, image, &JitOptions::default())
    }

    fn cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, count: u32, options: *const u32, values: *const u64
    ) {
        let options = jit_options(count, options, values)?;
        load(module, image, &options)
    }

    fn cuModuleLoadFatBinary(module: *mut Handle, image: *const c_void) {
        load(module, image, &JitOptions::default())
    }

    fn cuModuleUnload(module: Handle) {
        let context = healthy()?;
        let module: Arc<Module> = object::find(module)?;
        context.drain();
        object::remove_all(|other: &Arc<Module>| other.id == module.id);
        object::remove_all(|function: &Arc<Function>| function.module.id == module.id);
        crate::driver::launch::forget(module.id);
        module.unload()
    }

    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) {
        healthy()?;
        let module: Arc<Module> = object::find(module)?;
        let name = text(name)?;
        if name.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        put_function(function, module.function(name)?)
    }

    fn cuModuleGetFunctionCount(count: *mut u32, module: Handle) {
        healthy()?;
        let module: Arc<Module> = object::find(module)?;
        put(count, module.kernels().len() as u32)
    }

    fn cuModuleEnumerateFunctions(functions: *mut Handle, count: u32, module: Handle) {
        healthy()?;
        let module: Arc<Module> = object::find(module)?;
        for (at, name) in module.kernels().iter().take(count as usize).enumerate() {
            put_function(functions.wrapping_add(at), module.function(name)?)?;
        }
        if functions.is_null() { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char) {
        healthy()?;
        let module: Arc<Module> = object::find(module)?;
        if address.is_null() && bytes.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let name = text(name)?;
        // A kernel is no variable.
        let missing = if module.linked.kernel(name).is_some() { Status::INVALID_VALUE } else { Status::NOT_FOUND };
        let (base, size) = module.variable(name).map_err(|_| missing)?;
        put_wanted(address, base);
        put_wanted(bytes, size as usize);
        Ok(())
    }

    fn cuModuleGetLoadingMode(mode: *mut u32) {
        crate::state::runtime()?;
        put(mode, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_without_ptx_are_told_by_their_files() {
        let said = |file: Option<&str>| without_ptx(file.map(Path::new));
        assert!(said(Some("/v/torch/lib/libtorch_cuda.so")).contains("python -m warpgrind.torch SCRIPT"));
        assert!(said(Some("/v/torchvision/_C.so")).starts_with("`/v/torchvision/_C.so`: no PTX"));
        assert_eq!([said(Some("/home/me/app")), said(None)], [NO_PTX; 2]);
    }

    static OF_THIS_FILE: u8 = 0;

    #[test]
    fn the_file_of_an_address_is_found() {
        let found = file_of((&raw const OF_THIS_FILE).cast());
        assert!(
            found.is_some_and(|file| file.ends_with(std::env::current_exe().unwrap().file_name().unwrap()))
        );
        assert_eq!(file_of(std::ptr::null()), None);
    }
}
