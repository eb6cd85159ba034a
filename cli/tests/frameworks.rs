//! Frameworks from PyPI, where they are installed for one of the Pythons that `WARPGRIND_PYTHON` names (separated as
//! in `PATH`): their kernels run under `warpgrind exec` and give the right values. Without the variable the tests are
//! skipped. So are those of OpenMP, OpenACC, OpenCL and SYCL without a compiler or a runtime of it.

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

/// The assembler that frameworks are shown hands on the PTX, whatever its file is called, with a zero byte behind it: who takes
/// it for a cubin does not say how long it is.
#[test]
fn assembler() {
    let scratch = tempfile::tempdir().unwrap();
    let ptx = ".version 8.0\n.target sm_90\n";
    for name in ["kernel.ptx", "tempfile-without-a-suffix"] {
        std::fs::write(scratch.path().join(name), ptx).unwrap();
    }
    // As Triton and as XLA call it.
    let calls = [
        "\"$TRITON_PTXAS_PATH\" -lineinfo -v --gpu-name=sm_90a kernel.ptx -o out",
        "\"$CUDA_ROOT\"/bin/ptxas tempfile-without-a-suffix -o out -arch=sm_90a --warn-on-spills -v",
        "\"$CUDA_ROOT\"/bin/ptxas -arch sm_90 --output-file out kernel.ptx",
    ];
    for call in calls {
        let run = |command: &str| {
            let exec = Command::new(env!("CARGO_BIN_EXE_warpgrind"))
                .args(["exec", "--", "sh", "-c", command])
                .current_dir(scratch.path())
                .output()
                .unwrap();
            (exec.status.success(), String::from_utf8_lossy(&exec.stderr).into_owned())
        };
        let (succeeds, error) = run(call);
        assert!(succeeds, "{call}: {error}");
        let out = scratch.path().join("out");
        assert_eq!(std::fs::read_to_string(&out).unwrap(), format!("{ptx}\0"), "{call}");
        std::fs::remove_file(out).unwrap();
        // Without its file it fails as an assembler does.
        let (succeeds, _) = run(&call.replace("kernel.ptx", "none.ptx").replace("tempfile", "none"));
        assert!(!succeeds && !scratch.path().join("out").exists(), "{call}");
    }
}

/// A program of sources in `tests/frameworks`, as a compiler made it in a folder of its own; none where it cannot.
fn built(compiler: &[String], sources: &[&str], libraries: &[&str]) -> Option<(tempfile::TempDir, PathBuf)> {
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("program");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks");
    let compiled = Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(sources.iter().map(|source| folder.join(source)))
        .arg("-o")
        .arg(&program)
        .args(libraries)
        .output();
    match compiled {
        Ok(output) if output.status.success() => Some((scratch, program)),
        _ => {
            eprintln!("skipped: `{}` does not compile {}", compiler.join(" "), sources.join(" "));
            None
        }
    }
}

/// What a program ends with that found no device of the kind that it is for.
const NO_DEVICE: i32 = 77;

/// Runs a program with a device; it says that all is as expected and ends with a status.
fn passes(program: &Path, status: i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_warpgrind"))
        .args(["exec", "--error-exitcode", "9", "--memory", "8G", "--"])
        .arg(program)
        .env_remove("LD_LIBRARY_PATH")
        // Without a device it shall not run on the host instead.
        .env("OMP_TARGET_OFFLOAD", "mandatory")
        .output()
        .unwrap();
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(NO_DEVICE) {
        eprintln!("skipped: {error}");
        return;
    }
    let as_expected = text.contains("as expected") && output.status.code() == Some(status);
    assert!(as_expected, "{}: {text}{error}", output.status);
    eprint!("{text}");
}

/// A compiler with its options that a variable names, or else another one.
fn named(variable: &str, other: &str) -> Vec<String> {
    let command = std::env::var(variable).unwrap_or_else(|_| other.into());
    command.split_whitespace().map(str::to_owned).collect()
}

/// C programs whose loops a compiler makes kernels of: GCC (Debian's `gcc-offload-nvptx`), or the one that
/// `WARPGRIND_OFFLOAD` names with its options.
fn offloads(sources: &[&str], language: &str, status: i32) {
    let mut compiler = named("WARPGRIND_OFFLOAD", "gcc -O2 -foffload=nvptx-none -foffload-options=-latomic");
    compiler.push(language.into());
    if let Some((_scratch, program)) = built(&compiler, sources, &[]) {
        passes(&program, status);
    }
}

#[test]
fn openmp() {
    offloads(&["openmp.c"], "-fopenmp", 0);
    offloads(&["openmp_data.c"], "-fopenmp", 3);
    offloads(&["openmp_units.c", "openmp_unit.c"], "-fopenmp", 0);
}

#[test]
fn openacc() {
    offloads(&["openacc.c"], "-fopenacc", 0);
    offloads(&["openacc_data.c"], "-fopenacc", 3);
}

/// Programs on an OpenCL implementation that has the device as a GPU, such as PoCL with its CUDA driver.
#[test]
fn opencl() {
    let compiler = named("CC", "cc");
    for source in ["queries.c", "memory.c", "queues.c", "kernels.c"] {
        if let Some((_scratch, program)) = built(&compiler, &[&format!("opencl/{source}")], &["-lOpenCL"]) {
            passes(&program, 0);
        }
    }
}

/// Programs that a SYCL compiler makes: the one that `WARPGRIND_SYCL` names with its options, or AdaptiveCpp's.
#[test]
fn sycl() {
    let compiler = named("WARPGRIND_SYCL", "acpp -O2");
    for source in ["queries.cpp", "memory.cpp", "queues.cpp", "kernels.cpp", "groups.cpp"] {
        if let Some((_scratch, program)) = built(&compiler, &[&format!("sycl/{source}")], &[]) {
            passes(&program, 0);
        }
    }
}

/// Programs on DPC++'s runtime library that any host compiler makes, since their kernels are compiled when they run.
/// `WARPGRIND_SYCL_HOST` names the compiler with its options, `WARPGRIND_SYCL_OPTIONS` those of the kernels.
#[test]
fn sycl_run_time() {
    let compiler = named("WARPGRIND_SYCL_HOST", "c++ -std=c++20");
    for source in ["queries.cpp", "run_time.cpp"] {
        if let Some((_scratch, program)) = built(&compiler, &[&format!("sycl/{source}")], &["-lsycl"]) {
            passes(&program, 0);
        }
    }
}

/// Compares a table of `memory-model/mappings` with what kernels of a PTX text execute, one a row and a scope.
fn mapped(ptx: &Path, table: &str) {
    let Some(python) = python_with("json") else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compared = Command::new(python)
        .arg(here.join("tests/frameworks/sycl/rows.py"))
        .arg(env!("CARGO_BIN_EXE_warpgrind"))
        .arg(ptx)
        .arg(here.join("../memory-model/mappings").join(table))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compared.stdout) + String::from_utf8_lossy(&compared.stderr);
    assert!(compared.status.success(), "{said}");
    eprint!("{said}");
}

/// What DPC++ makes of atomic operations and fences is what the table of its mapping says, for every order and scope.
#[test]
fn sycl_mapping() {
    let compiler = named("WARPGRIND_SYCL_HOST", "c++ -std=c++20");
    let Some((scratch, program)) = built(&compiler, &["sycl/atomics.cpp"], &["-lsycl"]) else { return };
    let warpgrind = env!("CARGO_BIN_EXE_warpgrind");
    let printed = Command::new(warpgrind).args(["exec", "--"]).arg(&program).output().unwrap();
    if printed.status.code() == Some(NO_DEVICE) {
        return eprintln!("skipped: {}", String::from_utf8_lossy(&printed.stderr));
    }
    let ptx = scratch.path().join("atomics.ptx");
    std::fs::write(&ptx, printed.stdout).unwrap();
    mapped(&ptx, "sycl-cuda.map");
}

/// What PoCL makes of OpenCL's atomic operations is what its table says; it keeps the PTX in its cache.
#[test]
fn opencl_mapping() {
    let Some((scratch, program)) = built(&named("CC", "cc"), &["opencl/atomics.c"], &["-lOpenCL"]) else {
        return;
    };
    let cache = scratch.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    let mut exec = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    let ran = exec
        .args(["exec", "--memory", "8G", "--"])
        .arg(&program)
        .env("POCL_CACHE_DIR", &cache)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&ran.stderr);
    if ran.status.code() == Some(NO_DEVICE) {
        return eprintln!("skipped: {error}");
    }
    assert!(ran.status.success(), "{error}");
    let list = Command::new("find").arg(&cache).args(["-name", "*.ptx"]).output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout);
    let Some(ptx) = list.lines().next() else { return eprintln!("skipped: the implementation keeps no PTX") };
    mapped(Path::new(ptx), "pocl.map");
}

/// A file that a page of `clients` shows, and what the page says that it prints.
fn shown(page: &str, name: &str) -> (String, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let (_, behind) = text.split_once(&format!("`{name}`, which says `")).expect(name);
    let (says, behind) = behind.split_once('`').unwrap();
    let (_, block) = behind.split_once("```").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let (_, source) = block.split_once('\n').unwrap();
    (source.to_owned(), says.to_owned())
}

/// The programs that the pages for newcomers show print what the pages say.
#[test]
fn shown_programs() {
    let prints = |command: &mut Command, page: &str, name: &str, says: &str| {
        let output = command.env_remove("LD_LIBRARY_PATH").env("DEV", "CUDA").output().unwrap();
        let (text, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains(says), "{page}, {name}: {text}{error}");
    };
    let exec = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
        command.args(["exec", "--memory", "8G", "--"]);
        command
    };
    let scratch = tempfile::tempdir().unwrap();
    let programs: [(&str, &str, &str, &[&str]); 3] = [
        ("offloading.md", "program.c", "gcc -O2 -foffload=nvptx-none", &["-fopenmp"]),
        ("offloading.md", "gangs.c", "gcc -O2 -foffload=nvptx-none", &["-fopenacc"]),
        ("sycl.md", "program.cpp", "acpp -O2", &[]),
    ];
    for (page, name, compiler, options) in programs {
        let (source, says) = shown(page, name);
        let file = scratch.path().join(name);
        std::fs::write(&file, source).unwrap();
        let compiler = named("", compiler);
        if let Some((_folder, program)) = built(&compiler, &[file.to_str().unwrap()], options) {
            prints(exec().arg(program).env("ACPP_VISIBILITY_MASK", "cuda"), page, name, &says);
        }
    }
    let scripts: [(&str, &str, &[&str]); 7] = [
        ("compiled.py", "torch", &[]),
        ("eager.py", "torch, warpgrind", &["-m", "warpgrind.torch"]),
        ("jitted.py", "jax_plugins.xla_cuda13, warpgrind", &[]),
        ("kernel.py", "numba.cuda", &[]),
        ("tensors.py", "tinygrad", &[]),
        ("fields.py", "taichi", &[]),
        ("core.py", "cuda.core", &[]),
    ];
    for (name, modules, through) in scripts {
        let (source, says) = shown("python.md", name);
        let Some(python) = python_with(modules) else { continue };
        let file = scratch.path().join(name);
        std::fs::write(&file, source).unwrap();
        prints(exec().arg(python).args(through).arg(file), "python.md", name, &says);
    }
}

/// The script that runs the suites of clients, on two with a test of each outcome: it comes to its end behind lost contexts, ended
/// processes and tests that hang, tells the one failure that nobody explained, and reads what Cargo says of a crate's tests.
#[test]
fn suites() {
    let Some(python) = python_with("tomllib, pytest") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks/suites");
    let scratch = tempfile::tempdir().unwrap();
    let output = Command::new(&python)
        .arg(folder.join("run.py"))
        .args(["--warpgrind", env!("CARGO_BIN_EXE_warpgrind"), "--python"])
        .arg(&python)
        .arg("--table")
        .arg(folder.join("sample/suites.toml"))
        .arg("--sources")
        .arg(&folder)
        .arg("--logs")
        .arg(scratch.path())
        .env("CARGO_TARGET_DIR", scratch.path().join("crate"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
    let expected = [
        "    not explained: test_sample.py::test_fails: AssertionError: the sum is wrong",
        "    nothing fails of: *::test_nowhere",
    ];
    assert_eq!(told, expected, "{text}{}", String::from_utf8_lossy(&output.stderr));
    let row: Vec<&str> = text.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert!(matches!(row[..], ["sample", _, "4", "4", "2", _, "NO"]), "{text}");
    let row: Vec<&str> = text.lines().last().unwrap_or_default().split_whitespace().collect();
    assert!(matches!(row[..], ["crate", "1.2.3", "2", "1", "1", _, "yes"]), "{text}");
    assert_eq!(output.status.code(), Some(1));
}
