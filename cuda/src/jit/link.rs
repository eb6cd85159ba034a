//! nvJitLink: PTX is linked by our own linker, and what comes of it is given in a cubin. Codes are those of
//! NVIDIA's nvJitLink 13.0.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use runtime::image::cubin_of;
use runtime::{check, compile, fresh_id};

use crate::driver::link::{image_of, is_device_runtime};
use crate::driver::module::{NO_PTX, program};
use crate::ffi::{get, list, put};
use crate::jit::real::{enter, linker};
use crate::object::handle;
use crate::settings::Settings;

/// `nvJitLinkResult`
type Status = u32;
const UNRECOGNIZED_OPTION: Status = 1;
const MISSING_ARCH: Status = 2;
const INVALID_INPUT: Status = 3;
const PTX_COMPILE: Status = 4;
const NVVM_COMPILE: Status = 5;
const INTERNAL: Status = 6;
const UNRECOGNIZED_INPUT: Status = 8;
const NULL_INPUT: Status = 10;
const INCOMPATIBLE_OPTIONS: Status = 11;
const INCORRECT_INPUT_TYPE: Status = 12;
const UNSUPPORTED_ARCH: Status = 17;
const LTO_NOT_ENABLED: Status = 18;

/// `nvJitLinkInputType`
const CUBIN: u64 = 1;
const PTX: u64 = 2;
const LTO: u64 = 3;
const FATBIN: u64 = 4;
const OBJECT: u64 = 5;
const INDEX: u64 = 7;
const ANY: u64 = 10;

/// What intermediate code of NVIDIA's compiler starts with.
const LTO_MAGIC: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

/// What NVIDIA's linkers of CUDA 12 and 13 link for; programs of both find this one.
const ARCHITECTURES: [u16; 22] =
    [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121, 130];

/// Options that stand alone, and the beginnings of those with a value. What they ask for is about machine code.
const FLAGS: [&str; 12] = [
    "-lto",
    "-dlto",
    "-ptx",
    "-O0",
    "-O3",
    "-time",
    "-verbose",
    "-g",
    "-lineinfo",
    "-optimize-unused-variables",
    "-no-cache",
    "-r",
];
const VALUES: [&str; 12] = [
    "-maxrregcount=",
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fma=",
    "-kernels-used=",
    "-variables-used=",
    "-Xptxas=",
    "-Xnvvm=",
    "-split-compile=",
    "-split-compile-extended=",
    "-jump-table-density=",
];

/// What a program asks the linker for.
#[derive(Debug, Default)]
struct Options {
    given: Vec<CString>,
    sm: u16,
    lto: bool,
    ptx: bool,
    /// Registers a thread at most.
    most_registers: Option<u32>,
}

impl Options {
    fn read(given: &[String]) -> Result<Options, (Status, String)> {
        let mut options = Options::default();
        let mut is_virtual = false;
        for option in given {
            if let Some(arch) = option.strip_prefix("-arch=") {
                is_virtual = arch.starts_with("compute_");
                let number = arch.strip_prefix("sm_").or(arch.strip_prefix("compute_")).unwrap_or_default();
                let digits = number.strip_suffix(['a', 'f']).unwrap_or(number);
                let sm = digits.parse().ok().filter(|&sm: &u32| sm > 0);
                let sm = sm.ok_or((UNRECOGNIZED_OPTION, format!("missing option value ({option})")))?;
                let known = ARCHITECTURES.into_iter().find(|&known| u32::from(known) == sm);
                options.sm =
                    known.ok_or((UNSUPPORTED_ARCH, format!("unsupported architecture ({option})")))?;
            } else if !FLAGS.contains(&&**option) && !VALUES.iter().any(|value| option.starts_with(value)) {
                return Err((UNRECOGNIZED_OPTION, format!("unrecognized option: {option}")));
            }
            options.lto |= option == "-lto" || option == "-dlto";
            options.ptx |= option == "-ptx";
            if let Some(most) = option.strip_prefix("-maxrregcount=") {
                options.most_registers = most.parse().ok().filter(|&most| most > 0);
            }
        }
        options.given = given.iter().filter_map(|option| CString::new(&**option).ok()).collect();
        match options {
            Options { sm: 0, .. } => Err((MISSING_ARCH, String::new())),
            Options { lto: false, ptx: true, .. } => Err((INCOMPATIBLE_OPTIONS, "-ptx requires -lto".into())),
            Options { ptx: false, .. } if is_virtual => {
                Err((INCOMPATIBLE_OPTIONS, "virtual arch requires -ptx".into()))
            }
            options => Ok(options),
        }
    }
}

/// How far a linker is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Open,
    Complete,
    /// What it was made with, or what it was to link, is not right.
    Failed,
}

/// A linker with what it was given.
#[derive(Debug, Default)]
struct Jit {
    options: Options,
    state: State,
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
        if self.state != State::Open {
            return Err(self.failed(INTERNAL, format!("{name}: nothing can be added any more")));
        }
        if size == 0 {
            return Err(INVALID_INPUT);
        }
        if data.is_null() {
            return Err(NULL_INPUT);
        }
        // SAFETY: the caller's promise.
        let mut bytes = unsafe { std::slice::from_raw_parts(data, size) }.to_vec();
        match kind {
            LTO | ANY if bytes.starts_with(&LTO_MAGIC) => {
                if !self.options.lto {
                    let why = "LTO-IR input cannot be used without LTO enabled (-lto)";
                    return Err(self.failed(LTO_NOT_ENABLED, format!("{name}: {why}")));
                }
                self.lto.push(bytes);
            }
            CUBIN | PTX | FATBIN | ANY => {
                // A text need not end in a zero byte; magic numbers are read a word at a time.
                bytes.extend([0; 4]);
                // SAFETY: the bytes are a whole image.
                let found =
                    unsafe { program(bytes.as_ptr().cast::<c_void>(), Settings::of_process().device.sm) };
                let found = found.map_err(|status| match (status, kind) {
                    (runtime::Status::NO_BINARY_FOR_GPU, _) => self.refuse(name, NO_PTX),
                    (_, ANY) => self.failed(UNRECOGNIZED_INPUT, format!("unrecognized input type: {name}")),
                    _ => self.mismatch(name),
                })?;
                for text in found.texts {
                    let name = format!("{name}.ptx");
                    self.check(&name, &text)?;
                    self.texts.push((name, text));
                }
            }
            // What kernels need of it to launch others comes with the texts that call it.
            OBJECT..=INDEX if name.contains("cudadevrt") || is_device_runtime(&bytes) => {}
            OBJECT..=INDEX if bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"!<arch>") => {
                return Err(self.refuse(name, "objects and libraries hold machine code"));
            }
            _ => return Err(self.mismatch(name)),
        }
        Ok(())
    }

    /// Whether a text is valid, and meant for the architecture or an earlier one.
    fn check(&mut self, name: &str, text: &[u8]) -> Result<(), Status> {
        let module = check(name, text).map_err(|(_, log)| {
            // A text without functions asks which versions of PTX there are, as XLA does, and reads the log.
            let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
            if has(b".entry") || has(b".func") {
                eprintln!("warpgrind: the PTX that is to be linked is not valid\n\n{log}");
            }
            self.failed(PTX_COMPILE, log)
        })?;
        if module.target.sm > self.options.sm {
            let target = module.target;
            let log = format!("{name}: `.target {target}` is higher than sm_{}", self.options.sm);
            return Err(self.failed(PTX_COMPILE, log));
        }
        Ok(())
    }

    fn failed(&mut self, status: Status, log: String) -> Status {
        self.log += &(log + "\n");
        status
    }

    fn mismatch(&mut self, name: &str) -> Status {
        self.failed(INCORRECT_INPUT_TYPE, format!("{name}: bad input: does not match its type"))
    }

    fn refuse(&mut self, name: &str, why: &str) -> Status {
        eprintln!("warpgrind: `{name}` cannot be linked: {why}");
        self.failed(INVALID_INPUT, format!("{name}: {why}"))
    }

    fn complete(&mut self) -> Result<(), Status> {
        if self.state != State::Open {
            return Err(self.failed(INTERNAL, "linked already, or cannot be linked".into()));
        }
        let result = self.link();
        self.state = if result.is_ok() { State::Complete } else { State::Failed };
        result
    }

    fn link(&mut self) -> Result<(), Status> {
        if self.options.ptx && !self.texts.is_empty() {
            return Err(self.failed(INCORRECT_INPUT_TYPE, "-ptx requires that all inputs have LTOIR".into()));
        }
        if self.options.lto {
            let text = self.optimized()?;
            self.texts.push(("lto.ptx".into(), text));
        }
        self.linked = match &self.texts[..] {
            [] => format!(".version 9.0\n.target sm_{}\n.address_size 64\n", self.options.sm).into_bytes(),
            // What it refers to may be linked later.
            [(_, one)] if self.options.ptx => one.clone(),
            texts => {
                let linked = compile(texts, self.options.sm).map_err(|(_, log)| {
                    eprintln!("warpgrind: the PTX cannot be linked\n\n{log}");
                    let status = if self.options.lto { PTX_COMPILE } else { INTERNAL };
                    (status, log)
                });
                let only = if let [(_, one)] = texts { Some(&one[..]) } else { None };
                match linked {
                    Err((status, log)) => return Err(self.failed(status, log)),
                    Ok(linked) => image_of(&linked, only, self.options.most_registers),
                }
            }
        };
        self.linked.push(0);
        Ok(())
    }

    /// What NVIDIA's linker makes of intermediate code, as PTX.
    fn optimized(&mut self) -> Result<Vec<u8>, Status> {
        if self.lto.is_empty() {
            return Err(self.failed(NVVM_COMPILE, "no input has LTO-IR".into()));
        }
        let library = linker().ok_or(INTERNAL)?;
        let call = |name: &str, a: [u64; 5]| match library.function(name) {
            // SAFETY: the arguments are what the function of this name takes.
            Some(function) => match unsafe { enter(function, [a[0], a[1], a[2], a[3], a[4], 0]) } as u32 {
                0 => Ok(()),
                status => Err(status),
            },
            None => Err(INTERNAL),
        };
        let mut options = self.options.given.clone();
        if !self.options.ptx {
            options.push(c"-ptx".to_owned());
        }
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut real = 0u64;
        let to = &raw mut real as u64;
        call("nvJitLinkCreate", [to, pointers.len() as u64, pointers.as_ptr() as u64, 0, 0])?;
        let answer = |what: &str| {
            let mut size = 0u64;
            call(&format!("nvJitLinkGet{what}Size"), [real, &raw mut size as u64, 0, 0, 0])?;
            let mut text = vec![0u8; size as usize];
            call(&format!("nvJitLinkGet{what}"), [real, text.as_mut_ptr() as u64, 0, 0, 0])?;
            text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
            Ok(text)
        };
        let linked = (|| {
            for code in &self.lto {
                let name = c"lto".as_ptr() as u64;
                call("nvJitLinkAddData", [real, LTO, code.as_ptr() as u64, code.len() as u64, name])?;
            }
            call("nvJitLinkComplete", [real, 0, 0, 0, 0])?;
            answer("LinkedPtx")
        })();
        let log = if linked.is_err() { answer("ErrorLog") } else { Ok(Vec::new()) };
        // The result is taken, or there is none.
        let _ = call("nvJitLinkDestroy", [to, 0, 0, 0, 0]);
        linked.map_err(|status| {
            self.failed(status, String::from_utf8_lossy(&log.unwrap_or_default()).into_owned())
        })
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
                put(a[0] as *mut u32, 13).map_err(|_| NULL_INPUT)?;
                return put(a[1] as *mut u32, 0).map_err(|_| NULL_INPUT);
            }
            "nvJitLinkCreate" => {
                let given = list(a[2] as *const u64, a[1] as u32 as usize).map_err(|_| NULL_INPUT)?;
                let given: Vec<String> = given.iter().map(|&option| string(option, "")).collect();
                let handle = handle(fresh_id());
                put(a[0] as *mut u64, handle).map_err(|_| NULL_INPUT)?;
                let mut jit = Jit::default();
                // One that cannot link is there too, with its log.
                let result = match Options::read(&given) {
                    Ok(options) => {
                        jit.options = options;
                        Ok(())
                    }
                    Err((status, log)) => {
                        jit.options.ptx = given.iter().any(|option| option == "-ptx");
                        jit.state = State::Failed;
                        Err(jit.failed(status, log))
                    }
                };
                linkers().insert(handle, jit);
                return result;
            }
            "nvJitLinkDestroy" => {
                let handle = get(a[0] as *const u64).map_err(|_| NULL_INPUT)?;
                linkers().remove(&handle).ok_or(NULL_INPUT)?;
                return put(a[0] as *mut u64, 0).map_err(|_| NULL_INPUT);
            }
            _ => {}
        }
        let mut linkers = linkers();
        let jit = linkers.get_mut(&a[0]).ok_or(NULL_INPUT)?;
        let size = |bytes: usize| put(a[1] as *mut usize, bytes).map_err(|_| NULL_INPUT);
        let bytes = |bytes: &[u8]| {
            if a[1] == 0 {
                return Err(NULL_INPUT);
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), a[1] as *mut u8, bytes.len());
            Ok(())
        };
        // An empty log has no zero byte either.
        let log = |log: &str| if log.is_empty() { Vec::new() } else { [log.as_bytes(), &[0]].concat() };
        match name {
            "nvJitLinkAddData" => jit.add(a[1], a[2] as *const u8, a[3] as usize, &string(a[4], "input")),
            "nvJitLinkAddFile" if a[2] == 0 => Err(NULL_INPUT),
            "nvJitLinkAddFile" => {
                let path = string(a[2], "");
                let data = std::fs::read(&path).map_err(|_| INVALID_INPUT)?;
                jit.add(a[1], data.as_ptr(), data.len(), &path)
            }
            "nvJitLinkComplete" => jit.complete(),
            "nvJitLinkGetErrorLogSize" => size(log(&jit.log).len()),
            "nvJitLinkGetErrorLog" => bytes(&log(&jit.log)),
            "nvJitLinkGetInfoLogSize" => size(0),
            "nvJitLinkGetInfoLog" => bytes(&[]),
            "nvJitLinkGetLinkedPtxSize" | "nvJitLinkGetLinkedPtx" if !jit.options.ptx => Err(INVALID_INPUT),
            "nvJitLinkGetLinkedCubinSize" | "nvJitLinkGetLinkedCubin" if jit.options.ptx => Err(INTERNAL),
            _ if jit.state != State::Complete => Err(INTERNAL),
            "nvJitLinkGetLinkedPtxSize" => size(jit.linked.len()),
            "nvJitLinkGetLinkedPtx" => bytes(&jit.linked),
            "nvJitLinkGetLinkedCubinSize" => size(cubin_of(&jit.linked).len()),
            "nvJitLinkGetLinkedCubin" => bytes(&cubin_of(&jit.linked)),
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
