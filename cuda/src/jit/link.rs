//! nvJitLink: PTX is linked by our own linker, and what comes of it is given as PTX and as machine code.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use runtime::{compile, fresh_id};

use super::real::{enter, linker};
use crate::driver::module::{NO_PTX, texts};
use crate::ffi::{get, list, put};
use crate::object::handle;
use crate::settings::Settings;

/// `nvJitLinkResult`
type Status = u32;
const MISSING_ARCH: Status = 2;
const INVALID_INPUT: Status = 3;
const PTX_COMPILE: Status = 4;
const NVVM_COMPILE: Status = 5;
const INTERNAL: Status = 6;

/// `nvJitLinkInputType`
const CUBIN: u64 = 1;
const PTX: u64 = 2;
const LTO: u64 = 3;
const FATBIN: u64 = 4;
const OBJECT: u64 = 5;
const INDEX: u64 = 7;
const ANY: u64 = 10;

/// A linker with what it was given.
#[derive(Debug, Default)]
struct Jit {
    options: Vec<CString>,
    texts: Vec<(String, Vec<u8>)>,
    /// Intermediate code of NVIDIA's compiler.
    lto: Vec<Vec<u8>>,
    log: String,
    /// The result, with a zero byte.
    linked: Vec<u8>,
}

fn linkers() -> MutexGuard<'static, HashMap<u64, Jit>> {
    static LINKERS: OnceLock<Mutex<HashMap<u64, Jit>>> = OnceLock::new();
    LINKERS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jit {
    /// # Safety
    /// `data` points at `size` bytes.
    unsafe fn add(&mut self, kind: u64, data: *const u8, size: usize, name: &str) -> Result<(), Status> {
        if data.is_null() || size == 0 {
            return Err(INVALID_INPUT);
        }
        // SAFETY: the caller's promise.
        let mut bytes = unsafe { std::slice::from_raw_parts(data, size) }.to_vec();
        match kind {
            LTO => self.lto.push(bytes),
            CUBIN | PTX | FATBIN | ANY => {
                // A text need not end in a zero byte.
                bytes.push(0);
                // SAFETY: the bytes are a whole image.
                let found =
                    unsafe { texts(bytes.as_ptr().cast::<c_void>(), Settings::of_process().device.sm) };
                let found = found.map_err(|_| self.refuse(name, NO_PTX))?;
                self.texts.extend(found.into_iter().map(|text| (format!("{name}.ptx"), text)));
            }
            // What kernels need of it to launch others is not supported, and said so if it is reached.
            OBJECT..=INDEX if name.contains("cudadevrt") => {}
            OBJECT..=INDEX => return Err(self.refuse(name, "objects and libraries hold machine code")),
            _ => return Err(INVALID_INPUT),
        }
        Ok(())
    }

    fn refuse(&mut self, name: &str, why: &str) -> Status {
        self.log = format!("{name}: {why}");
        eprintln!("warpgrind: `{name}` cannot be linked: {why}");
        INVALID_INPUT
    }

    fn complete(&mut self) -> Result<(), Status> {
        if !self.lto.is_empty() {
            let text = self.optimized()?;
            self.texts.push(("lto.ptx".into(), text));
            self.lto.clear();
        }
        if self.texts.is_empty() {
            return Err(INVALID_INPUT);
        }
        let linked = compile(&self.texts).map_err(|(_, log)| {
            eprintln!("warpgrind: the PTX that is to be linked is not valid\n\n{log}");
            self.log = log;
            PTX_COMPILE
        })?;
        self.linked = match &self.texts[..] {
            [(_, one)] => one.clone(),
            _ => linked.to_ptx().into_bytes(),
        };
        self.linked.push(0);
        Ok(())
    }

    /// What NVIDIA's linker makes of intermediate code, as PTX.
    fn optimized(&mut self) -> Result<Vec<u8>, Status> {
        let library = linker().ok_or(INTERNAL)?;
        let call = |name: &str, a: [u64; 5]| match library.function(name) {
            // SAFETY: the arguments are what the function of this name takes.
            Some(function) => match unsafe { enter(function, [a[0], a[1], a[2], a[3], a[4], 0]) } as u32 {
                0 => Ok(()),
                _ => Err(NVVM_COMPILE),
            },
            None => Err(INTERNAL),
        };
        let mut options = self.options.clone();
        for wanted in [c"-lto", c"-ptx"] {
            if !options.iter().any(|option| **option == *wanted) {
                options.push(wanted.to_owned());
            }
        }
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut real = 0u64;
        let to = &raw mut real as u64;
        call("nvJitLinkCreate", [to, pointers.len() as u64, pointers.as_ptr() as u64, 0, 0])?;
        let mut text = Vec::new();
        let linked = (|| {
            for code in &self.lto {
                let name = c"lto".as_ptr() as u64;
                call("nvJitLinkAddData", [real, LTO, code.as_ptr() as u64, code.len() as u64, name])?;
            }
            call("nvJitLinkComplete", [real, 0, 0, 0, 0])?;
            let mut size = 0u64;
            call("nvJitLinkGetLinkedPtxSize", [real, &raw mut size as u64, 0, 0, 0])?;
            text.resize(size as usize, 0);
            call("nvJitLinkGetLinkedPtx", [real, text.as_mut_ptr() as u64, 0, 0, 0])
        })();
        // The result is taken, or there is none.
        let _ = call("nvJitLinkDestroy", [to, 0, 0, 0, 0]);
        linked?;
        if let Some(end) = text.iter().position(|&byte| byte == 0) {
            text.truncate(end);
        }
        Ok(text)
    }
}

/// A string that a program gave, or another one.
///
/// # Safety
/// `from` is 0 or the address of a string.
unsafe fn string(from: u64, other: &str) -> String {
    if from == 0 {
        return other.into();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(from as *const c_char) }.to_string_lossy().into_owned()
}

/// # Safety
/// The arguments are as nvJitLink's documentation asks of the function.
unsafe fn dispatch(name: &str, a: [u64; 6]) -> Result<(), Status> {
    // SAFETY: pointers are null or as the documentation asks.
    unsafe {
        match name {
            "nvJitLinkVersion" => {
                put(a[0] as *mut u32, 13).map_err(|_| INVALID_INPUT)?;
                return put(a[1] as *mut u32, 0).map_err(|_| INVALID_INPUT);
            }
            "nvJitLinkCreate" => {
                let given = list(a[2] as *const u64, a[1] as u32 as usize).map_err(|_| INVALID_INPUT)?;
                let options: Vec<String> = given.iter().map(|&option| string(option, "")).collect();
                if !options.iter().any(|option| option.starts_with("-arch=")) {
                    return Err(MISSING_ARCH);
                }
                let options = options.into_iter().filter_map(|option| CString::new(option).ok()).collect();
                let handle = handle(fresh_id());
                linkers().insert(handle, Jit { options, ..Jit::default() });
                return put(a[0] as *mut u64, handle).map_err(|_| INVALID_INPUT);
            }
            "nvJitLinkDestroy" => {
                let handle = get(a[0] as *const u64).map_err(|_| INVALID_INPUT)?;
                linkers().remove(&handle).ok_or(INVALID_INPUT)?;
                return put(a[0] as *mut u64, 0).map_err(|_| INVALID_INPUT);
            }
            _ => {}
        }
        let mut linkers = linkers();
        let jit = linkers.get_mut(&a[0]).ok_or(INVALID_INPUT)?;
        let size = |bytes: usize| put(a[1] as *mut usize, bytes).map_err(|_| INVALID_INPUT);
        let bytes = |bytes: &[u8]| {
            if a[1] == 0 {
                return Err(INVALID_INPUT);
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), a[1] as *mut u8, bytes.len());
            Ok(())
        };
        match name {
            "nvJitLinkAddData" => jit.add(a[1], a[2] as *const u8, a[3] as usize, &string(a[4], "input")),
            "nvJitLinkAddFile" => {
                let path = string(a[2], "");
                let mut data = std::fs::read(&path).map_err(|_| INVALID_INPUT)?;
                let size = data.len();
                // Images are read a word at a time.
                data.extend([0; 16]);
                jit.add(a[1], data.as_ptr(), size, &path)
            }
            "nvJitLinkComplete" => jit.complete(),
            "nvJitLinkGetErrorLogSize" => size(jit.log.len() + 1),
            "nvJitLinkGetErrorLog" => bytes(&[jit.log.as_bytes(), &[0]].concat()),
            "nvJitLinkGetInfoLogSize" => size(1),
            "nvJitLinkGetInfoLog" => bytes(&[0]),
            "nvJitLinkGetLinkedCubinSize" | "nvJitLinkGetLinkedPtxSize" if !jit.linked.is_empty() => {
                size(jit.linked.len())
            }
            "nvJitLinkGetLinkedCubin" | "nvJitLinkGetLinkedPtx" if !jit.linked.is_empty() => {
                bytes(&jit.linked)
            }
            _ => Err(INTERNAL),
        }
    }
}

/// # Safety
/// As for [`dispatch`].
unsafe fn call(name: &str, a: [u64; 6]) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { dispatch(name, a) }.err().unwrap_or(0).into()
}

jit_functions! {
    call, INTERNAL.into();
    nvJitLinkAddData nvJitLinkAddFile nvJitLinkComplete nvJitLinkCreate nvJitLinkDestroy
    nvJitLinkGetErrorLog nvJitLinkGetErrorLogSize nvJitLinkGetInfoLog nvJitLinkGetInfoLogSize
    nvJitLinkGetLinkedCubin nvJitLinkGetLinkedCubinSize nvJitLinkGetLinkedLTOIR
    nvJitLinkGetLinkedLTOIRSize nvJitLinkGetLinkedPtx nvJitLinkGetLinkedPtxSize nvJitLinkVersion
}
