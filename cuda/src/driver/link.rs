//! Linking PTX at run time. The linked image that a program gets is a text for each input.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_abi::numbers::jit_input;
use ptx_frontend::{FunctionKind, Module};
use runtime::{Result, Status, fresh_id};

use crate::driver::module::{JitOptions, check, image_program, jit_options, parse};
use crate::ffi::{Handle, put, put_wanted, text};
use crate::object;
use crate::state::{current, healthy};

/// Inputs of a linker.
#[derive(Debug, Default)]
pub(crate) struct Link {
    texts: Vec<Vec<u8>>,
    options: JitOptions,
    /// The image, kept as long as the linker.
    image: Vec<u8>,
}

impl object::Kind for Arc<Mutex<Link>> {
    const MISSING: Status = Status::INVALID_HANDLE;
}

/// The image of what was linked, as a text: the one that was given, if it is the only one and nothing is to be added. Of
/// kernels that do not say how many registers they may have, it says `most`.
pub(crate) fn image_of(linked: &Module, only: Option<&[u8]>, most: Option<u32>) -> Vec<u8> {
    match (only, most) {
        (Some(one), None) => one.to_vec(),
        (None, None) => linked.to_ptx().into_bytes(),
        (_, most) => {
            let mut linked = linked.clone();
            for function in linked.functions.iter_mut().filter(|f| f.kind == FunctionKind::Entry) {
                function.tuning.max_registers = function.tuning.max_registers.or(most);
            }
            linked.to_ptx().into_bytes()
        }
    }
}

/// Whether an archive is the device runtime library, by the object in it.
pub(crate) fn is_device_runtime(bytes: &[u8]) -> bool {
    let name = b"cuda_device_runtime.o";
    bytes.starts_with(b"!<arch>") && bytes.windows(name.len()).any(|part| part == name)
}

unsafe fn add(link: Handle, kind: u32, data: *const c_void, size: usize) -> Result {
    let context = healthy()?;
    let link: Arc<Mutex<Link>> = object::find(link)?;
    if data.is_null() || size == 0 {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program said the size.
    let mut bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }.to_vec();
    // An input need not end in a zero byte. Of one that does not, a driver looks at nothing yet.
    let is_whole = bytes.contains(&0);
    bytes.push(0);
    let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
    match kind {
        jit_input::CUBIN | jit_input::PTX | jit_input::FATBINARY => {
            let options = link.options;
            // SAFETY: the bytes are a whole image.
            let program = unsafe { image_program(&context, bytes.as_ptr().cast(), &options) }?;
            if is_whole {
                program.texts.iter().try_for_each(|text| check(&context, "linked", text, &options))?;
            }
            link.texts.extend(program.texts);
            Ok(())
        }
        // What kernels need of it to launch others comes with the texts that call it.
        3 | 4 if is_device_runtime(&bytes) => Ok(()),
        // Objects, libraries and NVVM need NVIDIA's own linker and compiler.
        3..=5 => Err(Status::NOT_SUPPORTED),
        _ => Err(Status::INVALID_VALUE),
    }
}

unsafe fn create(count: u32, options: *const u32, values: *const u64, link: *mut Handle) -> Result {
    healthy()?;
    // SAFETY: null or as many entries as said.
    let options = unsafe { jit_options(count, options, values) }?;
    let new = Link { options, ..Link::default() };
    if link.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(link, object::insert(fresh_id(), Arc::new(Mutex::new(new)))) }
}

unsafe fn add_file(
    link: Handle,
    kind: u32,
    path: *const c_char,
    count: u32,
    options: *const u32,
    values: *const u64,
) -> Result {
    object::find::<Arc<Mutex<Link>>>(link)?;
    // SAFETY: null or as many entries as said, and a string.
    let path = unsafe {
        jit_options(count, options, values)?;
        text(path)?
    };
    let bytes = std::fs::read(path).map_err(|_| Status::FILE_NOT_FOUND)?;
    // SAFETY: the bytes are there.
    unsafe { add(link, kind, bytes.as_ptr().cast(), bytes.len()) }
}

api! {
    fn cuLinkCreate_v2(count: u32, options: *const u32, values: *const u64, link: *mut Handle) {
        create(count, options, values, link)
    }

    fn cuLinkCreate(count: u32, options: *const u32, values: *const u64, link: *mut Handle) {
        create(count, options, values, link)
    }

    fn cuLinkAddData(
        link: Handle, kind: u32, data: *const c_void, size: usize, _name: *const c_char, count: u32,
        options: *const u32, values: *const u64
    ) {
        jit_options(count, options, values)?;
        add(link, kind, data, size)
    }

    fn cuLinkAddFile(
        link: Handle, kind: u32, path: *const c_char, count: u32, options: *const u32, values: *const u64
    ) {
        add_file(link, kind, path, count, options, values)
    }

    fn cuLinkAddData_v2(
        link: Handle, kind: u32, data: *const c_void, size: usize, _name: *const c_char, count: u32,
        options: *const u32, values: *const u64
    ) {
        jit_options(count, options, values)?;
        add(link, kind, data, size)
    }

    fn cuLinkAddFile_v2(
        link: Handle, kind: u32, path: *const c_char, count: u32, options: *const u32, values: *const u64
    ) {
        add_file(link, kind, path, count, options, values)
    }

    fn cuLinkComplete(link: Handle, image: *mut *const c_void, size: *mut usize) {
        let context = current()?;
        let link: Arc<Mutex<Link>> = object::find(link)?;
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        if image.is_null() || link.texts.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        // Each text by itself was looked at before; what does not go together is no error of its own there.
        let linked = parse(&context, "linked", link.texts.clone(), &link.options).map_err(|_| Status::UNKNOWN)?;
        link.options.log("");
        let only = if let [one] = &link.texts[..] { Some(&one[..]) } else { None };
        link.image = image_of(&linked, only, link.options.most_registers);
        link.image.push(0);
        put_wanted(size, link.image.len());
        put(image, link.image.as_ptr().cast())
    }

    fn cuLinkDestroy(link: Handle) {
        current()?;
        object::remove::<Arc<Mutex<Link>>>(link).map(|_| ())
    }
}
