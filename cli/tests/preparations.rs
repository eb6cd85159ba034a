//! What `warpgrind exec` prepares for clients: libraries where they look for them, files of devices, the command that lists
//! these, settings of frameworks. Where nvcc is installed (`CUDA_HOME`), README.md's transcript is repeated too.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// `warpgrind exec OPTIONS`, to be run in the repository's root.
fn exec(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.current_dir(root()).arg("exec").args(options).env_remove("LD_LIBRARY_PATH");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Compiles a text as a library or a program.
fn rustc(kind: &str, source: &str, to: &Path, arguments: &[String]) {
    let compiler = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let file = to.with_extension("rs");
    std::fs::write(&file, source).unwrap();
    let built = Command::new(compiler)
        .args(["--edition", "2024", "--crate-name", "made", "--crate-type", kind, "-C", "panic=abort", "-o"])
        .arg(to)
        .args(arguments.iter().flat_map(|argument| ["-C".into(), format!("link-arg={argument}")]))
        .arg(file)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
}

/// Frameworks carry paths to NVIDIA's runtime library, which the loader prefers to `LD_LIBRARY_PATH`.
#[test]
fn programs_with_paths_to_nvidias_runtime_get_ours() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let nvidias = at("nvidia");
    std::fs::create_dir(&nvidias).unwrap();
    let says = |body: &str| {
        format!("pub unsafe extern \"C\" fn cudaRuntimeGetVersion(to: *mut i32) -> u32 {{ {body} }}")
    };
    let ask = |name: &str| {
        format!(
            "unsafe extern \"C\" {{ fn cudaRuntimeGetVersion(to: *mut i32) -> u32; }}
            #[unsafe(no_mangle)] pub extern \"C\" fn {name}() -> i32 {{
                let mut version = 0;
                unsafe {{ cudaRuntimeGetVersion(&mut version) }};
                version
            }}"
        )
    };
    let path = |path: &Path| path.display().to_string();
    let ours = std::env::current_exe().unwrap().with_file_name("");
    for version in ["12", "13"] {
        let name = format!("libcudart.so.{version}");
        let source = format!("#[unsafe(no_mangle)] {}", says("unsafe { *to = -1 }; 0"));
        rustc("cdylib", &source, &nvidias.join(&name), &[format!("-Wl,-soname,{name}")]);
    }
    let with_path = |version: &str| {
        let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}:{}", path(&nvidias), path(folder.path()));
        [path(&ours.join(format!("libcudart.so.{version}"))), rpath, "-Wl,--allow-shlib-undefined".into()]
    };
    // A program of CUDA 13 with a library of CUDA 12.
    rustc("cdylib", &ask("twelve"), &at("libtwelve.so"), &with_path("12"));
    let program = ask("thirteen")
        + "unsafe extern \"C\" { fn twelve() -> i32; }
           fn main() { println!(\"{} {}\", thirteen(), unsafe { twelve() }); }";
    let mut arguments = with_path("13").to_vec();
    arguments.push(path(&at("libtwelve.so")));
    rustc("bin", &program, &at("program"), &arguments);
    let alone = Command::new(at("program")).output().unwrap();
    assert_eq!(text(&alone.stdout), "-1 -1\n", "{}", text(&alone.stderr));
    // The program, and as a child.
    for command in [
        vec![path(&at("program"))],
        vec!["sh".into(), "-c".into(), format!("{}; true", path(&at("program")))],
    ] {
        let output = exec(&["--"]).args(command).output().unwrap();
        assert_eq!(text(&output.stdout), "13000 12090\n", "{}", text(&output.stderr));
    }
}

/// Libraries that open the driver themselves may have variables of the names of its functions (SlangPy's has). What is
/// loaded before the program does not take their place, and the driver is found by its name without the variables.
#[test]
fn variables_with_names_of_the_drivers_functions_stay_their_librarys() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let library = r#"
        type Version = unsafe extern "C" fn(*mut i32) -> u32;
        #[unsafe(no_mangle)]
        pub static mut cuDriverGetVersion: Option<Version> = None;
        unsafe extern "C" {
            fn dlopen(name: *const i8, mode: i32) -> *mut u8;
            fn dlsym(library: *mut u8, name: *const i8) -> Option<Version>;
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn version() -> i32 {
            let (place, mut version) = (&raw mut cuDriverGetVersion, 0);
            unsafe {
                let driver = dlopen(c"libcuda.so.1".as_ptr(), 2);
                place.write(dlsym(driver, c"cuDriverGetVersion".as_ptr()));
                place.read().unwrap()(&mut version);
            }
            version
        }"#;
    rustc("cdylib", library, &at("libown.so"), &[]);
    let program =
        "unsafe extern \"C\" { safe fn version() -> i32; } fn main() { println!(\"{}\", version()) }";
    let path = |name: &str| at(name).display().to_string();
    rustc("bin", program, &at("program"), &[path("libown.so")]);
    let output = exec(&["--", "env", "-u", "LD_LIBRARY_PATH"]).arg(at("program")).output().unwrap();
    assert_eq!(text(&output.stdout), "13000\n", "{}", text(&output.stderr));
}

/// Programs that compile while they run link what they make with the driver (AOTInductor does).
#[test]
fn compilers_that_a_program_starts_find_the_driver() {
    let folder = tempfile::tempdir().unwrap();
    let (source, made) = (folder.path().join("made.c"), folder.path().join("made"));
    let program = "int cuDriverGetVersion(int *); int main(void) { int version = 0; cuDriverGetVersion(&version); return version != 13000; }";
    std::fs::write(&source, program).unwrap();
    let output = exec(&["--", "cc"]).arg(&source).args(["-lcuda", "-o"]).arg(&made).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = exec(&["--"]).arg(&made).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// What clients look for before they ask a driver: files in `/dev`, and the command that lists devices.
#[test]
fn clients_find_files_and_a_list_of_devices() {
    let program = |options: &[&str], script: &str| {
        let output = exec(options).args(["--", "sh", "-c", script]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let files = "for f in /dev/nvidia0 /dev/nvidia1 /dev/nvidia2 /dev/nvidiactl; do test -c $f && echo $f; done; true";
    assert_eq!(program(&["--devices", "2"], files), "/dev/nvidia0\n/dev/nvidia1\n/dev/nvidiactl\n");
    let uuid = |last: &str| format!("GPU-77617270-6772-696e-6420-48323030{last}");
    assert_eq!(
        program(&["--devices", "2"], "nvidia-smi -L; nvidia-smi -i 1 -L"),
        format!(
            "GPU 0: NVIDIA H200 (UUID: {})\nGPU 1: NVIDIA H200 (UUID: {1})\nGPU 1: NVIDIA H200 (UUID: {1})\n",
            uuid("0000"),
            uuid("0001")
        )
    );
    let query = "nvidia-smi --query-gpu=index,memory.total,compute_cap,utilization.gpu --format=csv";
    assert_eq!(
        program(&["--memory", "1073741824"], query),
        "index, memory.total [MiB], compute_cap, utilization.gpu [%]\n0, 1024 MiB, 9.0, [N/A]\n"
    );
    assert_eq!(
        program(&["--memory", "1073741824"], &format!("{query},noheader,nounits")),
        "0, 1024, 9.0, [N/A]\n"
    );
    let table = program(&[], "nvidia-smi");
    assert!(table.contains("CUDA Version: 13.0") && table.contains("0MiB / 143771MiB"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() == 91), "{table}");
    // What is not there is said on standard output, with the statuses of NVIDIA's.
    let wrong = "nvidia-smi --query-gpu=name,colour --format=csv; echo $?; nvidia-smi -i 3 -L; echo $?";
    let said = "Field \"colour\" is not a valid field to query.\n2\nNo devices were found\n6\n";
    assert_eq!(program(&[], wrong), said);
    assert_eq!(program(&[], "nvidia-smi -q -d COLOUR 2> /dev/null || echo refused"), "refused\n");
}

/// All that `nvidia-smi` says of devices: each property that NVIDIA's knows, the long list as text and as XML, the links.
#[test]
fn clients_are_told_what_a_device_is() {
    let program = |options: &[&str], script: &str| {
        let output = exec(options).args(["--", "sh", "-c", script]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let names = program(&[], "nvidia-smi --help-query-gpu");
    let names: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
    assert!(names.len() > 240, "{}", names.len());
    let all = program(&[], &format!("nvidia-smi --query-gpu={} --format=csv,nounits", names.join(",")));
    let [header, values] = all.lines().collect::<Vec<_>>()[..] else { panic!("{all}") };
    let count = |line: &str| line.split(", ").count();
    assert_eq!((count(header), count(values)), (names.len(), names.len()), "{all}");
    let asked =
        "nvidia-smi --query-gpu=gpu_bus_id,pci.device_id,clocks.max.gr,ecc.mode.current,power.draw,pstate";
    assert_eq!(
        program(&["--devices", "2"], &format!("{asked} --format=csv,noheader")),
        "00000000:01:00.0, 0x233510DE, 1980 MHz, Enabled, [N/A], P0\n00000000:02:00.0, 0x233510DE, 1980 MHz, Enabled, [N/A], P0\n"
    );
    let log = program(&["--memory", "1073741824"], "nvidia-smi -q");
    for line in [
        "    Product Name                                       : NVIDIA H200",
        "            HW Thermal Slowdown                        : Not Active",
        "        Total                                          : 1024 MiB",
        "        GPU Current Temp                               : N/A",
        "    MIG Mode",
    ] {
        assert!(log.lines().any(|own| own == line), "{line}: {log}");
    }
    let part = program(&[], "nvidia-smi -q -d CLOCK,utilization");
    assert!(
        part.contains("    Max Clocks\n        Graphics ") && part.contains("    Utilization\n"),
        "{part}"
    );
    assert!(!part.contains("Product Name") && !part.contains("ECC"), "{part}");
    // Every element is closed in its turn.
    let xml = program(&["--devices", "2"], "nvidia-smi -q -x");
    let mut open = Vec::new();
    for tag in xml.split('<').skip(3).map(|part| part.split('>').next().unwrap()) {
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed), "{xml}"),
            None => open.push(tag.split(' ').next().unwrap().to_owned()),
        }
    }
    assert!(open.is_empty() && xml.matches("<product_name>NVIDIA H200</product_name>").count() == 2, "{xml}");
    assert!(xml.contains("\t\t<pci>\n\t\t\t<pci_bus>02</pci_bus>\n"), "{xml}");
    let links = program(&["--devices", "2"], "nvidia-smi topo -m");
    assert!(links.contains("GPU0\t X \tPHB\t") && links.contains("GPU1\tPHB\t X \t"), "{links}");
    let versions =
        program(&[], "nvidia-smi --version; nvidia-smi --query-compute-apps=pid,name --format=csv");
    assert!(versions.ends_with("CUDA Version        : 13.0\npid, process_name\n"), "{versions}");
    let file = tempfile::tempdir().unwrap();
    let file = file.path().join("log");
    let script = format!(
        "timeout 2 nvidia-smi --query-gpu=index --format=csv,noheader -l 1 -f {}; true",
        file.display()
    );
    program(&[], &script);
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("0\n0\n"));
}

/// Frameworks are told not to measure kernels, and what they are told already stays.
#[test]
fn settings_of_frameworks_are_the_user_s_first() {
    let shown = |own: &[(&str, &str)]| {
        let output = exec(&["--show-env"]).envs(own.iter().copied()).output().unwrap();
        let shown = text(&output.stdout);
        let session = shown.lines().find_map(|line| line.strip_prefix("WARPGRIND_SESSION=")).unwrap();
        std::fs::remove_dir_all(session).unwrap();
        shown
    };
    let settings = [
        ("TORCHINDUCTOR_DETERMINISTIC", "1", "0"),
        ("TORCHINDUCTOR_FORCE_FILTER_REDUCTION_CONFIGS", "1", "0"),
        ("TORCHINDUCTOR_USE_EXPERIMENTAL_BENCHMARKER", "0", "1"),
        ("TORCHINDUCTOR_SHAPE_PADDING", "0", "1"),
        ("USE_PYTORCH_KERNEL_CACHE", "0", "1"),
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "false", "true"),
    ];
    let (without, with) = (shown(&[]), shown(&settings.map(|(name, _, own)| (name, own))));
    for (name, ours, own) in settings {
        for (all, value) in [(&without, ours), (&with, own)] {
            assert!(all.lines().any(|line| line == format!("{name}={value}")), "{name}: {all}");
        }
    }
    // Extensions are compiled to PTX, too, where machine code alone is asked for.
    for (asked, becomes) in [
        ("9.0a", "9.0a+PTX"),
        ("8.0 9.0", "8.0 9.0+PTX"),
        ("8.0;8.6", "8.0;8.6;9.0+PTX"),
        ("7.5+PTX", "7.5+PTX"),
    ] {
        let all = shown(&[("TORCH_CUDA_ARCH_LIST", asked)]);
        assert!(all.lines().any(|line| line == format!("TORCH_CUDA_ARCH_LIST={becomes}")), "{all}");
    }
    // So is what runs nvcc while it runs, which keeps PTX in cubins with line information alone.
    for (asked, becomes) in [("", "-lineinfo"), ("-lineinfo -O1", "-lineinfo -O1"), ("-O1", "-O1 -lineinfo")]
    {
        let all = shown(&[("NVCC_APPEND_FLAGS", asked)]);
        assert!(all.lines().any(|line| line == format!("NVCC_APPEND_FLAGS={becomes}")), "{all}");
    }
    // Flags are added to those that are given, but for a level of tuning that is.
    let flags = shown(&[("XLA_FLAGS", "--xla_gpu_autotune_level=2 --xla_dump_to=there")]);
    let flags = flags.lines().find(|line| line.starts_with("XLA_FLAGS=")).unwrap();
    assert!(flags.contains("--xla_gpu_autotune_level=2") && flags.contains("--xla_dump_to=there"), "{flags}");
    assert!(!flags.contains("--xla_gpu_autotune_level=0") && flags.contains("conv-rewriter"), "{flags}");
}

/// nvcc and the folder with the shared runtime library.
fn nvcc() -> Option<(PathBuf, PathBuf)> {
    let home = PathBuf::from(std::env::var_os("CUDA_HOME")?);
    let folder =
        ["lib64", "lib"].map(|folder| home.join(folder)).into_iter().find(|folder| folder.is_dir())?;
    let compiler = home.join("bin/nvcc");
    compiler.is_file().then_some((compiler, folder))
}

/// The part of README.md from a command's line to the end of its output.
fn transcript<'a>(readme: &'a str, command: &str) -> &'a str {
    let start = readme.find(&format!("$ {command}\n")).expect("README.md has the command");
    let rest = &readme[start + command.len() + 3..];
    &rest[..rest.find("```").expect("README.md closes the block")]
}

#[test]
fn the_transcript_in_the_readme_is_true() {
    let Some((nvcc, libraries)) = nvcc() else {
        eprintln!("skipped: no nvcc; set CUDA_HOME to the toolkit's folder to run this test");
        return;
    };
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let line = "nvcc -arch=sm_90 -lineinfo -cudart shared cuda/tests/programs/scale.cu -o scale";
    assert!(readme.contains(&format!("$ {line}\n")));
    // The toolkit from PyPI has the library under its full name only, and not the one for launches by kernels.
    let version =
        ["13", "12"].into_iter().find(|version| libraries.join(format!("libcudart.so.{version}")).exists());
    let library = libraries.join(format!("libcudart.so.{}", version.expect("a shared runtime library")));
    std::os::unix::fs::symlink(library, folder.path().join("libcudart.so")).unwrap();
    let built = Command::new(nvcc)
        .current_dir(root())
        .args(line.split(' ').skip(1).take_while(|word| *word != "-o"))
        .args(["--cudadevrt", "none", "-L"])
        .arg(folder.path())
        .arg("-o")
        .arg(folder.path().join("scale"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    // Both streams go to one place, as on a terminal.
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.current_dir(root()).args(["exec", "--"]).arg(folder.path().join("scale"));
    command.stdout(writer.try_clone().unwrap()).stderr(writer).env_remove("LD_LIBRARY_PATH");
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = String::new();
    std::io::Read::read_to_string(&mut reader, &mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(shown, transcript(&readme, "warpgrind exec -- ./scale"));
}
