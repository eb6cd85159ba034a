//! Frameworks from PyPI, where they are installed for one of the Pythons that `WARPGRIND_PYTHON` names (separated as
//! in `PATH`): their kernels run under `warpgrind exec` and give the right values. Without the variable the tests are
//! skipped. So are those of GCC's offloading without a GCC that has it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first Python that has a module.
fn python_with(module: &str) -> Option<PathBuf> {
    let Some(pythons) = std::env::var_os("WARPGRIND_PYTHON") else {
        eprintln!("skipped: WARPGRIND_PYTHON names no Python");
        return None;
    };
    let imports = |python: &PathBuf| {
        let tried = Command::new(python).args(["-c", &format!("import {module}")]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = std::env::split_paths(&pythons).find(imports);
    if found.is_none() {
        eprintln!("skipped: {module} is not installed");
    }
    found
}

/// Runs a script of `tests/frameworks`, unless its module is not installed.
fn run(script: &str, module: &str) {
    let Some(python) = python_with(module) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks");
    let environment: [(&str, OsString); 4] = [
        ("DEV", "CUDA".into()),
        ("TRITON_CACHE_DIR", scratch.path().join("triton").into()),
        ("XDG_CACHE_HOME", scratch.path().into()),
        ("NUMBA_CACHE_DIR", scratch.path().join("numba").into()),
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_warpgrind"))
        .args(["exec", "--error-exitcode", "9", "--"])
        .arg(python)
        .args(["-W", "ignore"])
        .arg(folder.join(script))
        .env_remove("LD_LIBRARY_PATH")
        .envs(environment)
        .output()
        .unwrap();
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("as expected"), "{text}{error}");
    eprint!("{text}{error}");
}

#[test]
fn cuda_python() {
    run("cuda_python.py", "cuda.core");
}

#[test]
fn jax() {
    run("jax_arrays.py", "jax_plugins.xla_cuda13");
}

#[test]
fn numba() {
    run("numba_kernels.py", "numba.cuda");
}

#[test]
fn tinygrad() {
    run("tinygrad_tensors.py", "tinygrad");
}

#[test]
fn torch() {
    run("torch_tensors.py", "torch");
}

#[test]
fn triton() {
    run("triton_kernels.py", "triton");
}

/// A C program whose loops GCC compiles for the device, where it can (Debian's `gcc-offload-nvptx`).
fn offloads(source: &str, language: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("program");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks").join(source);
    let compiled = Command::new("gcc")
        .args(["-O2", language, "-foffload=nvptx-none"])
        .arg(path)
        .arg("-o")
        .arg(&program)
        .output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no gcc that compiles for nvptx");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_warpgrind"))
        .args(["exec", "--error-exitcode", "9", "--"])
        .arg(program)
        .env_remove("LD_LIBRARY_PATH")
        // Without a device it shall not run on the host instead.
        .env("OMP_TARGET_OFFLOAD", "mandatory")
        .output()
        .unwrap();
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("as expected"), "{}: {text}{error}", output.status);
}

#[test]
fn openmp() {
    offloads("openmp.c", "-fopenmp");
}

#[test]
fn openacc() {
    offloads("openacc.c", "-fopenacc");
}
