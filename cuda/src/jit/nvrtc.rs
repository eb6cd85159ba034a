//! NVRTC: everything is handed to NVIDIA's library, which is asked for PTX instead of machine code; cubins are made around that.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use runtime::image::cubin_of;

use crate::ffi::{get, list, put};
use crate::jit::real::{enter, nvrtc};

/// `NVRTC_ERROR_INVALID_INPUT`
const INVALID_INPUT: u64 = 3;
/// `NVRTC_ERROR_INTERNAL_ERROR`
const INTERNAL_ERROR: u64 = 11;

/// Programs that were to be compiled to machine code.
fn machine_code() -> MutexGuard<'static, HashSet<u64>> {
    static PROGRAMS: OnceLock<Mutex<HashSet<u64>>> = OnceLock::new();
    PROGRAMS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn forward(name: &str, a: [u64; 6]) -> u64 {
    match nvrtc().and_then(|library| library.function(name)) {
        // SAFETY: the program called the function of this name with these arguments.
        Some(function) => unsafe { enter(function, a) },
        None if name == "nvrtcGetErrorString" => c"NVIDIA's NVRTC is not found".as_ptr() as u64,
        None => INTERNAL_ERROR,
    }
}

/// `sm_90` as `compute_90`, where options name the architecture; whether there was one.
fn for_ptx(options: &[&CStr]) -> (Vec<CString>, bool) {
    const FLAGS: [&str; 3] = ["--gpu-architecture", "-arch", "--gpu-arch"];
    let (mut changed, mut after_flag) = (false, false);
    let mut rewrite = |option: &&CStr| {
        let text = option.to_string_lossy();
        let (flag, value) = match text.split_once('=') {
            Some((flag, value)) if FLAGS.contains(&flag) => (Some(flag), value),
            _ if after_flag => (None, &*text),
            _ => (None, ""),
        };
        after_flag = FLAGS.contains(&&*text);
        let number = value.strip_prefix("sm_")?;
        changed = true;
        CString::new(flag.map_or(String::new(), |flag| format!("{flag}=")) + "compute_" + number).ok()
    };
    let options =
        options.iter().map(|option| rewrite(option).unwrap_or_else(|| (*option).to_owned())).collect();
    (options, changed)
}

/// # Safety
/// `options` is null or points at `count` strings.
unsafe fn compile(program: u64, count: u64, options: u64) -> u64 {
    // SAFETY: the caller's promise.
    let Ok(pointers) = (unsafe { list(options as *const *const c_char, count as usize) }) else {
        return INVALID_INPUT;
    };
    if pointers.iter().any(|pointer| pointer.is_null()) {
        return INVALID_INPUT;
    }
    // SAFETY: as above.
    let texts: Vec<&CStr> = pointers.iter().map(|&pointer| unsafe { CStr::from_ptr(pointer) }).collect();
    let (texts, changed) = for_ptx(&texts);
    let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    if changed {
        machine_code().insert(program);
    } else {
        machine_code().remove(&program);
    }
    forward("nvrtcCompileProgram", [program, count, pointers.as_ptr() as u64, 0, 0, 0])
}

/// The cubin of a program that was to be compiled to machine code: one with its PTX.
fn cubin(program: u64) -> Result<Vec<u8>, u64> {
    let asked = |name: &str, to: u64| match forward(name, [program, to, 0, 0, 0, 0]) {
        0 => Ok(()),
        error => Err(error),
    };
    let mut size = 0usize;
    asked("nvrtcGetPTXSize", &raw mut size as u64)?;
    let mut text = vec![0u8; size];
    asked("nvrtcGetPTX", text.as_mut_ptr() as u64)?;
    Ok(cubin_of(&text))
}

/// Gives a program's cubin, or its size.
///
/// # Safety
/// `to` is null or has room for what is asked.
unsafe fn give_cubin(name: &str, program: u64, to: u64) -> Result<(), u64> {
    let cubin = cubin(program)?;
    if name == "nvrtcGetCUBINSize" {
        // SAFETY: the caller's promise.
        return unsafe { put(to as *mut usize, cubin.len()) }.map_err(|_| INVALID_INPUT);
    }
    if to == 0 {
        return Err(INVALID_INPUT);
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(cubin.as_ptr(), to as *mut u8, cubin.len()) };
    Ok(())
}

/// Calls a function.
///
/// # Safety
/// The arguments are as NVRTC's documentation asks.
unsafe fn call(name: &str, a: [u64; 6]) -> u64 {
    match name {
        // SAFETY: the caller's promise.
        "nvrtcCompileProgram" => unsafe { compile(a[0], a[1], a[2]) },
        "nvrtcGetCUBIN" | "nvrtcGetCUBINSize" if machine_code().contains(&a[0]) => {
            // SAFETY: the caller's promise.
            unsafe { give_cubin(name, a[0], a[1]) }.err().unwrap_or(0)
        }
        "nvrtcDestroyProgram" => {
            // SAFETY: null or a pointer to the program.
            if let Ok(program) = unsafe { get(a[0] as *const u64) } {
                machine_code().remove(&program);
            }
            forward(name, a)
        }
        _ => forward(name, a),
    }
}

jit_functions! {
    call, INTERNAL_ERROR;
    nvrtcAddNameExpression nvrtcCompileProgram nvrtcCreateProgram nvrtcDestroyProgram
    nvrtcGetBundledHeadersInfo nvrtcGetCUBIN nvrtcGetCUBINSize nvrtcGetErrorString nvrtcGetLTOIR
    nvrtcGetLTOIRSize nvrtcGetLoweredName nvrtcGetNVVM nvrtcGetNVVMSize nvrtcGetNumSupportedArchs
    nvrtcGetOptiXIR nvrtcGetOptiXIRSize nvrtcGetPCHCreateStatus nvrtcGetPCHHeapSize
    nvrtcGetPCHHeapSizeRequired nvrtcGetPTX nvrtcGetPTXSize nvrtcGetProgramLog nvrtcGetProgramLogSize
    nvrtcGetSupportedArchs nvrtcGetTileIR nvrtcGetTileIRSize nvrtcInstallBundledHeaders
    nvrtcRemoveBundledHeaders nvrtcSetFlowCallback nvrtcSetPCHHeapSize nvrtcVersion
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_ask_for_machine_code_ask_for_ptx() {
        let rewritten = |options: &[&CStr]| {
            let (options, changed) = for_ptx(options);
            let texts: Vec<String> = options.iter().map(|text| text.to_string_lossy().into()).collect();
            (texts.join(" "), changed)
        };
        assert_eq!(rewritten(&[c"-arch=sm_90a", c"-G"]), ("-arch=compute_90a -G".into(), true));
        assert_eq!(rewritten(&[c"--gpu-architecture=sm_80"]), ("--gpu-architecture=compute_80".into(), true));
        assert_eq!(rewritten(&[c"-arch", c"sm_90"]), ("-arch compute_90".into(), true));
        assert_eq!(
            rewritten(&[c"-arch=compute_90", c"-DX=sm_90"]),
            ("-arch=compute_90 -DX=sm_90".into(), false)
        );
        assert_eq!(rewritten(&[c"-D", c"sm_90"]), ("-D sm_90".into(), false));
    }
}
