//! Frameworks from PyPI, where they are installed for the Python that `WARPGRIND_PYTHON` names: their kernels
//! run and give the right values. Without the variable the tests are skipped.

mod support;

use std::path::Path;
use std::process::Command;

use support::folder;

/// Runs a script with a module, unless it is not installed.
fn run(script: &str, module: &str) {
    let Some(python) = std::env::var_os("WARPGRIND_PYTHON") else {
        eprintln!("skipped: WARPGRIND_PYTHON names no Python");
        return;
    };
    let found =
        Command::new(&python).args(["-c", &format!("import {module}")]).output().expect("Python runs");
    if !found.status.success() {
        eprintln!("skipped: {module} is not installed");
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let lib = scratch.path().join("lib");
    std::fs::create_dir(&lib).expect("a folder");
    for (name, file) in [
        ("libcuda.so.1", "libwarpgrind_cuda.so"),
        ("libcuda.so", "libwarpgrind_cuda.so"),
        ("libcudart.so.12", "libcudart.so.12"),
        ("libcudart.so.13", "libcudart.so.13"),
    ] {
        std::os::unix::fs::symlink(folder().join(file), lib.join(name)).expect("a link");
    }
    let assembler = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src/ptxas.sh");
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks").join(script))
        .env("LD_LIBRARY_PATH", &lib)
        .env("DEV", "CUDA")
        .env("TRITON_LIBCUDA_PATH", &lib)
        .env("TRITON_PTXAS_PATH", &assembler)
        .env("TRITON_PTXAS_BLACKWELL_PATH", &assembler)
        .env("TRITON_CACHE_DIR", scratch.path().join("cache"))
        .output()
        .expect("Python runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("runs"), "{text}{error}");
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
fn triton() {
    run("triton_kernels.py", "triton");
}
