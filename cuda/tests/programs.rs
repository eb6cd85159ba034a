//! CUDA programs built with nvcc, if it is there (`CUDA_HOME` or on the path), run under `warpgrind`'s libraries.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::folder;

/// nvcc and the folder with libcudart to link with.
fn compiler() -> Option<(PathBuf, PathBuf)> {
    let home = std::env::var_os("CUDA_HOME").map(PathBuf::from);
    let on_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("nvcc")).find(|nvcc| nvcc.is_file())
    });
    let nvcc = home.map(|home| home.join("bin/nvcc")).filter(|nvcc| nvcc.is_file()).or(on_path);
    let Some(nvcc) = nvcc else {
        eprintln!("skipped: no nvcc; set CUDA_HOME to run this test");
        return None;
    };
    let root = nvcc.ancestors().nth(2)?.to_path_buf();
    let library = ["lib64", "lib"].map(|name| root.join(name)).into_iter();
    let has_runtime = |folder: &PathBuf| {
        folder.join("libcudart.so.13").is_file() || folder.join("libcudart.so.12").is_file()
    };
    let Some(library) = library.clone().find(has_runtime) else {
        eprintln!("skipped: no shared libcudart beside {}", nvcc.display());
        return None;
    };
    Some((nvcc, library))
}

/// Builds a program; `None` if there is no compiler.
fn build(name: &str, scratch: &Path) -> Option<PathBuf> {
    let options = ["-arch=sm_90", "-lineinfo", "--cudadevrt", "none"];
    compile(name, &[&format!("{name}.cu")], &options, scratch).map(|built| built.expect("nvcc succeeds"))
}

/// Among the options: with NVIDIA's runtime library inside.
const STATIC: &str = "static";

/// Builds a program from sources with options; the compiler's messages if it fails.
fn compile(
    name: &str,
    sources: &[&str],
    options: &[&str],
    scratch: &Path,
) -> Option<Result<PathBuf, String>> {
    let (nvcc, library) = compiler()?;
    let link = scratch.join("link");
    if std::fs::create_dir(&link).is_ok() {
        let version = if library.join("libcudart.so.13").is_file() { "13" } else { "12" };
        let from = library.join(format!("libcudart.so.{version}"));
        std::os::unix::fs::symlink(from, link.join("libcudart.so")).expect("a link");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let program = scratch.join(name);
    let output = Command::new(nvcc)
        .args(["-std=c++17", "-cudart", if options.contains(&STATIC) { "static" } else { "shared" }, "-L"])
        .arg(&link)
        .arg("-L")
        .arg(&library)
        .args(options.iter().filter(|&&option| option != STATIC))
        .args(sources.iter().map(|source| folder.join(source)))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("nvcc runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(if output.status.success() { Ok(program) } else { Err(error) })
}

/// Runs a program with the libraries in place of NVIDIA's.
fn run(program: &Path, scratch: &Path, arguments: &[&str]) -> Output {
    prepare(program, scratch).args(arguments).output().expect("the program runs")
}

/// A program that finds the libraries in place of NVIDIA's.
fn prepare(program: &Path, scratch: &Path) -> Command {
    let lib = scratch.join("lib");
    if std::fs::create_dir(&lib).is_ok() {
        for name in ["libwarpgrind_cuda.so", "libcuda.so.1", "libcudart.so.12", "libcudart.so.13"] {
            std::os::unix::fs::symlink(folder().join(name), lib.join(name)).expect("a link");
        }
    }
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", lib);
    command
}

#[test]
fn features_of_the_runtime_interface() {
    let scratch = tempfile::tempdir().expect("a folder");
    let Some(program) = build("features", scratch.path()) else { return };
    let output = run(&program, scratch.path(), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.ends_with("all good\n"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // What kernels print comes when the program waits for them.
    assert!(text.contains("before\nhello 3 from 0\nhello 3 from 1\nafter\n"), "{text}");
}

#[test]
fn faults_stay_in_their_context() {
    let scratch = tempfile::tempdir().expect("a folder");
    let Some(program) = build("errors", scratch.path()) else { return };
    for (case, expected, report) in [
        ("n", "0 700 700 700 46\n", "error[null-pointer]"),
        ("a", "0 710 710 710 46\n", "error[assertion-failed]"),
        ("t", "0 719 719 719 46\n", "error[trap]"),
        ("m", "0 716 716 716 46\n", "error[misaligned]"),
        ("f", "0 700 700 700 46\n", "error[use-after-free]"),
        ("o", "0 700 700 700 46\n", "0 bytes after the end of buffer `cudaMalloc #1` (4000 bytes"),
        ("l", "1 0 0 0 0\n", ""),
    ] {
        let output = run(&program, scratch.path(), &[case]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{case}: {error}");
        assert!(error.contains(report) && output.status.code() == Some(7), "{case}: {error}");
    }
}

#[test]
fn programs_of_several_units_are_linked() {
    let scratch = tempfile::tempdir().expect("a folder");
    for (name, options) in [("linked", &["-arch=sm_90"][..]), ("debug", &["-arch=sm_80", "-G", "-g", "-O0"])]
    {
        let options = [&["-rdc=true", "--cudadevrt", "none"], options].concat();
        let sources = ["linked/main.cu", "linked/unit.cu"];
        let Some(program) = compile(name, &sources, &options, scratch.path()) else { return };
        let output = run(&program.expect("nvcc succeeds"), scratch.path(), &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, "all good\n", "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Options of nvcc that change what a program carries, with the PTX version that is chosen.
const VARIANTS: &[(&str, &[&str], &str)] = &[
    ("debug", &["-G", "-arch=sm_90"], "90"),
    (
        "several",
        &[
            "-gencode=arch=compute_75,code=compute_75",
            "-gencode=arch=compute_80,code=[sm_80,compute_80]",
            "-gencode=arch=compute_100,code=compute_100",
        ],
        "80",
    ),
    ("exact", &["-arch=sm_90a", "-default-stream", "per-thread"], "90"),
    ("small", &["-arch=sm_80", "--compress-mode=size", "-Xfatbin", "-compress-all"], "80"),
    ("plain", &["-arch=sm_75", "--compress-mode=none"], "75"),
];

#[test]
fn programs_run_however_they_are_compiled() {
    let scratch = tempfile::tempdir().expect("a folder");
    for (name, options, version) in VARIANTS {
        let options = [*options, &["--cudadevrt", "none"]].concat();
        let Some(program) = compile(name, &["options.cu"], &options, scratch.path()) else { return };
        let output = run(&program.expect("nvcc succeeds"), scratch.path(), &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        let expected = format!("all good, PTX {version}\n");
        assert_eq!(text, expected, "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let options = ["-gencode=arch=compute_90,code=sm_90", "--cudadevrt", "none"];
    let Some(program) = compile("machine", &["options.cu"], &options, scratch.path()) else { return };
    let output = run(&program.expect("nvcc succeeds"), scratch.path(), &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("embed PTX: `nvcc -arch=sm_90`"), "{error}");
}

#[test]
fn what_cannot_be_done_is_said_by_name() {
    let scratch = tempfile::tempdir().expect("a folder");
    // NVIDIA's own runtime library inside the program.
    let options = ["-arch=sm_90", STATIC];
    let Some(program) = compile("inside", &["options.cu"], &options, scratch.path()) else { return };
    let output = run(&program.expect("nvcc succeeds"), scratch.path(), &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("-cudart shared"), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("cudaErrorNotSupported"));
}

/// Programs of which kernels launch or are launched in ways that only sm_90 has.
const LAUNCHES: &[&str] = &[
    "condition_bodies",
    "condition_graph",
    "condition_handles",
    "updatable_nodes",
    "graph_launches",
    "graph_updates",
    "conditional",
    "device_graphs",
    "device_questions",
    "launch_copies",
    "launch_errors",
    "launch_streams",
    "launches",
    "programmatic",
];

/// Programs for two devices print what their calls gave; beside each is what it printed on two H200 of one host (driver
/// 580.159, CUDA 13.0).
#[test]
fn programs_on_two_devices_print_what_they_print_on_two_h200() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/h200x2");
    let driver = support::folder().join("libcuda.so.1");
    let driver = driver.to_str().expect("a path in UTF-8");
    for name in TWO_DEVICES {
        let source = format!("h200x2/{name}.cu");
        let options =
            ["-gencode", "arch=compute_90,code=compute_90", "-w", "--cudadevrt", "none", "-Xlinker", driver];
        let Some(program) = compile(name, &[&source], &options, scratch.path()) else { return };
        let mut command = prepare(&program.expect("nvcc succeeds"), scratch.path());
        let output = command.env("WARPGRIND_DEVICES", "2").output().expect("the program runs");
        let expected = std::fs::read_to_string(folder.join(name).with_extension("txt")).expect("a recording");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}: {error}");
        assert!(!error.contains("internal error"), "{name}: {error}");
        if *name == "peers" {
            assert!(error.contains("to which device 0 has no peer access"), "{error}");
        }
    }
}

/// What processes share that no two devices were at hand for, or none that a switch joins; beside each program is what the
/// manual says.
#[test]
fn processes_share_multicast_objects_and_memory_of_the_host() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/shared");
    let driver = support::folder().join("libcuda.so.1");
    let driver = driver.to_str().expect("a path in UTF-8");
    for name in ["multicast", "host"] {
        let source = format!("shared/{name}.cu");
        let options =
            ["-gencode", "arch=compute_90,code=compute_90", "-w", "--cudadevrt", "none", "-Xlinker", driver];
        let Some(program) = compile(name, &[&source], &options, scratch.path()) else { return };
        let mut command = prepare(&program.expect("nvcc succeeds"), scratch.path());
        let output = command.env("WARPGRIND_DEVICES", "2").output().expect("the program runs");
        let expected = std::fs::read_to_string(folder.join(name).with_extension("txt")).expect("a text");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}: {error}");
    }
}

/// The programs for two devices.
const TWO_DEVICES: &[&str] =
    &["peers", "streams", "memory", "processes", "together", "contexts", "references", "questions"];

/// Programs in the styles of samples and benchmarks print hashes of what they computed; beside each is what it printed
/// on an H200 (driver 580.159, CUDA 13.0).
#[test]
fn programs_print_what_they_print_on_an_h200() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/h200");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".cu")?.to_string()))
        .collect();
    names.sort();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let source = format!("h200/{name}.cu");
        // Tensor maps are for sm_90a only, launches by kernels for units that are linked.
        let launches = LAUNCHES.contains(&&*name);
        let generate = match &*name {
            "swizzles" | "tensor_maps" | "warp_specialized" => "arch=compute_90a,code=compute_90a",
            "atomics" | "captured_calls" | "cluster_dsmem" | "cluster_rings" | "graph_edges"
            | "pipelines" | "preferences" => "arch=compute_90,code=compute_90",
            _ if launches => "arch=compute_90,code=[sm_90,compute_90]",
            _ => "arch=compute_80,code=compute_80",
        };
        let library: &[&str] =
            if launches { &["-rdc=true", "-lcudadevrt"] } else { &["--cudadevrt", "none"] };
        let options = [&["-gencode", generate, "-w", "-ldl"], library].concat();
        let Some(program) = compile(&name, &[&source], &options, scratch.path()) else { return };
        let output = run(&program.expect("nvcc succeeds"), scratch.path(), &[]);
        let expected =
            std::fs::read_to_string(folder.join(&name).with_extension("txt")).expect("a recording");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}: {error}");
    }
}
