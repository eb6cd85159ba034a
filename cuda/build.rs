//! Makes the functions that refuse, and links `libcuda.so.1`, `libcudart.so.12` and `.13` and the stand-ins for NVIDIA's
//! compiler and linker.
//!
//! The tables in `names/` say of each of CUDA's functions whether it is implemented, which the sources do, or refused,
//! which is made here. One that is declared as the other does not link. The libraries that are linked here hold a jump
//! for each name, with the version that programs ask for; the code is in one library, whose symbols start with `warpgrind_`:
//! what is loaded before a program must not take the driver's names from libraries that have variables of these names.
//!
//! * `driver.txt`: symbol, name without version, the CUDA version from which on this form is meant, state.
//! * `reasons.txt`: why functions are refused whose names hold one of some words.
//! * `files.txt`: functions of the C library.
//! * `nvml.txt`: name, state; `cupti.txt`: as `runtime.txt`.
//! * `runtime.txt`: name, the versions of the library that have it, state. A star stands behind a version in which the
//!   function means something else and has code of its own (`cudaX_cuda12`).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use protocol::libraries;

fn main() {
    println!("cargo:rerun-if-changed=names");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{}", libraries::CODE);
    // Its threads and exit handler outlive a `dlclose`.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rustc-env=WARPGRIND_BUILT={}", profile(&out).join("deps").display());
    let (driver, runtime) = (driver_table(), runtime_table("names/runtime.txt"));
    let (profilers, management) = (runtime_table("names/cupti.txt"), named_table("names/nvml.txt"));
    fs::write(out.join("refused.rs"), functions(&driver, &runtime, &profilers, &management))
        .expect("OUT_DIR can be written");
    for version in libraries::VERSIONS {
        for (library, table) in [("libcudart", &runtime), ("libcupti", &profilers)] {
            let names = table.iter().filter_map(|row| Some((row.name.clone(), row.code(version)?)));
            shim(&out, &format!("{library}.so.{version}"), &names.collect::<Vec<_>>());
        }
    }
    let driver_names: Vec<_> = driver.iter().map(|row| row.symbol.clone()).collect();
    let management_names: Vec<_> = management.iter().map(|(name, _)| name.clone()).collect();
    for (library, names) in [
        (libraries::DRIVER, driver_names),
        (libraries::MANAGEMENT, management_names),
        (libraries::FILES, list("names/files.txt")),
    ] {
        let names: Vec<_> = names.into_iter().map(|name| (name.clone(), name)).collect();
        shim_with(&out, library, &names, &[]);
    }
    jit_libraries(&out);
    let profilers: Vec<(&str, bool)> = profilers.iter().map(|row| (&*row.name, row.implemented)).collect();
    let management: Vec<(&str, bool)> = management.iter().map(|(name, done)| (&**name, *done)).collect();
    let driver: Vec<(&str, bool)> = driver.iter().map(|row| (&*row.symbol, row.implemented)).collect();
    let runtime: Vec<(&str, bool)> = runtime.iter().map(|row| (&*row.name, row.implemented)).collect();
    fs::write(
        out.join("FUNCTIONS.md"),
        page(&[
            ("Driver interface", &driver),
            ("Runtime interface", &runtime),
            ("Management library", &management),
            ("CUPTI", &profilers),
        ]),
    )
    .expect("OUT_DIR can be written");
}

/// A function of the driver interface.
struct Driver {
    symbol: String,
    base: String,
    version: u32,
    implemented: bool,
}

/// A function of the runtime interface, or of another library that there is in several versions.
struct Runtime {
    name: String,
    /// Versions of the library, and whether it has code of its own there.
    versions: Vec<(String, bool)>,
    implemented: bool,
}

impl Runtime {
    /// The symbol of its code in a version of the library, if it is there.
    fn code(&self, version: &str) -> Option<String> {
        let (_, own) = self.versions.iter().find(|(known, _)| known == version)?;
        Some(if *own { format!("{}_cuda{version}", self.name) } else { self.name.clone() })
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_implemented(state: &str, line: &str) -> bool {
    match state {
        "implemented" => true,
        "refused" => false,
        _ => panic!("`{line}` is neither implemented nor refused"),
    }
}

fn driver_table() -> Vec<Driver> {
    let row = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [symbol, base, version, state] => Driver {
            symbol: symbol.into(),
            base: base.into(),
            version: version.parse().unwrap_or_else(|error| panic!("{line}: {error}")),
            implemented: is_implemented(state, line),
        },
        _ => panic!("names/driver.txt: {line}"),
    };
    read("names/driver.txt").lines().map(row).collect()
}

/// Names, and whether they are implemented.
fn named_table(path: &str) -> Vec<(String, bool)> {
    let row = |line: &str| {
        let (name, state) = line.split_once(' ').unwrap_or_else(|| panic!("{path}: {line}"));
        (name.to_string(), is_implemented(state, line))
    };
    read(path).lines().map(row).collect()
}

fn runtime_table(path: &str) -> Vec<Runtime> {
    let version = |text: &str| (text.trim_end_matches('*').to_string(), text.ends_with('*'));
    let row = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [name, versions, state] => Runtime {
            name: name.into(),
            versions: versions.split(',').map(version).collect(),
            implemented: is_implemented(state, line),
        },
        _ => panic!("{path}: {line}"),
    };
    read(path).lines().map(row).collect()
}

/// The source of the functions that refuse, and of the table of those that are implemented.
fn functions(
    driver: &[Driver],
    runtime: &[Runtime],
    profilers: &[Runtime],
    management: &[(String, bool)],
) -> String {
    let mut entries = String::new();
    let mut symbols = String::new();
    for Driver { symbol, base, version, .. } in driver.iter().filter(|row| row.implemented) {
        let per_thread = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
        writeln!(
            entries,
            "    Entry {{ base: {base:?}, version: {version}, per_thread: {per_thread}, address: symbols::{symbol} }},"
        )
        .expect("a string");
        writeln!(symbols, "    #[link_name = \"warpgrind_{symbol}\"]\n    pub(super) fn {symbol}();")
            .expect("a string");
    }
    // Nobody in this library calls them; a missing one shall not wait for a program that does.
    let mut needed = BTreeSet::new();
    for row in runtime.iter().chain(profilers).filter(|row| row.implemented) {
        needed.extend(libraries::VERSIONS.iter().filter_map(|version| row.code(version)));
    }
    needed.extend(management.iter().filter(|row| row.1).map(|row| row.0.clone()));
    for symbol in &needed {
        writeln!(symbols, "    #[link_name = \"warpgrind_{symbol}\"]\n    pub(super) fn rt_{symbol}();")
            .expect("a string");
    }
    let count = needed.len();
    let needed: String = needed.iter().map(|symbol| format!("    symbols::rt_{symbol},\n")).collect();
    let refused =
        |names: &mut dyn Iterator<Item = &String>| names.fold(String::new(), |text, name| text + " " + name);
    let of_driver = refused(&mut driver.iter().filter(|row| !row.implemented).map(|row| &row.symbol));
    let of_runtime = refused(&mut runtime.iter().filter(|row| !row.implemented).map(|row| &row.name));
    let of_profilers = refused(&mut profilers.iter().filter(|row| !row.implemented).map(|row| &row.name));
    let of_management = refused(&mut management.iter().filter(|row| !row.1).map(|row| &row.0));
    format!(
        "pub(crate) static ENTRIES: &[Entry] = &[\n{entries}];\n\
         #[used]\nstatic RUNTIME: [unsafe extern \"C\" fn(); {count}] = [\n{needed}];\n\
         mod symbols {{\nunsafe extern \"C\" {{\n{symbols}}}\n}}\n\
         refuse! {{ driver{of_driver} }}\nrefuse! {{ runtime{of_runtime} }}\nrefuse! {{ cupti{of_profilers} }}\nrefuse! {{ nvml{of_management} }}\n"
    )
}

/// What is implemented and what is refused, for people.
fn page(tables: &[(&str, &[(&str, bool)])]) -> String {
    let mut text = String::from(
        "# Functions\n\nWhat is implemented of the interfaces of CUDA 13.0's driver, of the runtime libraries up to \
         12.9 and 13.5, of NVML and of CUPTI.\nRefused functions say so by name once and return `CUDA_ERROR_NOT_SUPPORTED` or \
         `cudaErrorNotSupported`;\n`cuGetProcAddress` does not find them. `_v2` and the like, `_ptsz` and `_ptds` are \
         counted and not listed\nwhere the plain name is in the same list.\n\nOf the \
         device runtime, which kernels call, groups of the grids of several devices are refused where a kernel reaches them; \
         CUDA 13 has none.\nFunctions whose addresses have 32 bits answer 201, as in a device's contexts of today; in one that the first form of \
         `cuCtxCreate` made, a device\nlets them work.\nFills by a kernel write zeros whatever the value, as on a device, and say so (`ignored-value`).\n\nMade by `build.rs`; `WARPGRIND_BLESS=1 cargo test -p warpgrind-cuda --test symbols` writes it.\n",
    );
    for &(title, names) in tables {
        let (done, refused): (Vec<_>, Vec<_>) = names.iter().partition(|(_, implemented)| *implemented);
        writeln!(text, "\n## {title}: {} of {} symbols\n", done.len(), names.len()).expect("a string");
        let done_names: BTreeSet<String> = done.iter().map(|(name, _)| base(name)).collect();
        let listed: Vec<&str> = done_names.iter().map(String::as_str).collect();
        writeln!(text, "Implemented: {}.\n", listed.join(", ")).expect("a string");
        let refused: BTreeSet<String> = refused.iter().map(|(name, _)| base(name)).collect();
        writeln!(text, "Refused:\n").expect("a string");
        let reasons = read("names/reasons.txt");
        let reasons: Vec<(&str, &str)> = reasons.lines().filter_map(|line| line.split_once(": ")).collect();
        let reason_of = |name: &str| {
            let fits = |(words, _): &&(&str, &str)| words.split(' ').any(|word| name.contains(word));
            reasons.iter().find(fits).map_or("not done yet", |(_, reason)| reason)
        };
        let order = reasons.iter().map(|(_, reason)| *reason).chain(["not done yet"]);
        for reason in order {
            let names = refused.iter().filter(|name| reason_of(name) == reason);
            let names: Vec<&str> = names.map(String::as_str).collect();
            if !names.is_empty() {
                writeln!(text, "* {reason}: {}.", names.join(", ")).expect("a string");
            }
        }
    }
    text.trim_end().to_string() + "\n"
}

/// A name without its version and without what the null stream means in it.
fn base(name: &str) -> String {
    let name = name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
    let version = name.rsplit_once("_v").filter(|(_, v)| v.bytes().all(|byte| byte.is_ascii_digit()));
    version.map_or(name, |(base, _)| base).to_string()
}

fn list(path: &str) -> Vec<String> {
    read(path).lines().map(str::to_string).collect()
}

/// NVIDIA's compiler and linker for programs that want machine code, of both versions. Names and code are in
/// `src/jit`.
fn jit_libraries(out: &Path) {
    for version in libraries::VERSIONS {
        let compiler = list("names/nvrtc.txt");
        let compiler = compiler.iter().map(|name| (name.clone(), name.clone()));
        shim(out, &format!("libnvrtc.so.{version}"), &compiler.collect::<Vec<_>>());
        let mut linker = Vec::new();
        for name in list("names/nvjitlink.txt") {
            // C programs ask for the version of their header.
            linker.extend((0..10).map(|minor| (format!("__{name}_{version}_{minor}"), name.clone())));
            linker.push((name.clone(), name));
        }
        shim(out, &format!("libnvJitLink.so.{version}"), &linker);
    }
}

/// A library with a jump for each name to the code of a function, in a version of the library's name.
fn shim(out: &Path, library: &str, names: &[(String, String)]) {
    let map = out.join("shim.map");
    fs::write(&map, format!("{library} {{ global: *; }};\n")).expect("OUT_DIR can be written");
    shim_with(out, library, names, &[format!("-Wl,--version-script={}", map.display())]);
}

/// The same without a version.
fn shim_with(out: &Path, library: &str, names: &[(String, String)], more: &[String]) {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    // Tells it from NVIDIA's.
    let mut text = String::from(".text\n.globl warpgrind_shim\nwarpgrind_shim:\n");
    for (name, target) in names {
        let jump = match arch.as_str() {
            "aarch64" => format!(
                "adrp x16, :got:warpgrind_{target}\n ldr x16, [x16, :got_lo12:warpgrind_{target}]\n br x16"
            ),
            _ => format!("jmp *warpgrind_{target}@GOTPCREL(%rip)"),
        };
        // Weak, so that programs are linked with the library where the code is not.
        writeln!(text, ".weak warpgrind_{target}\n.globl {name}\n.type {name}, @function\n{name}:\n {jump}\n.size {name}, .-{name}")
            .expect("a string");
    }
    text.push_str(".section .note.GNU-stack,\"\",@progbits\n");
    let path = |name: &str| out.join(name);
    let stub = path(libraries::CODE);
    fs::write(path("empty.s"), ".section .note.GNU-stack,\"\",@progbits\n").expect("OUT_DIR can be written");
    fs::write(path("shim.s"), text).expect("OUT_DIR can be written");
    link(&[&*format!("-Wl,-soname,{}", libraries::CODE)], &[path("empty.s")], &stub);
    let soname = format!("-Wl,-soname,{library}");
    // The code lies beside them or beside their folder, whatever the program does to the variables.
    let rpath = format!("-Wl,-rpath,$ORIGIN:$ORIGIN/../{}", libraries::FOLDER);
    let options = [&*soname, "-Wl,--no-as-needed", &*rpath];
    let options: Vec<&str> = options.into_iter().chain(more.iter().map(|option| &**option)).collect();
    link(&options, &[path("shim.s"), stub], &path(library));
    // Beside the driver library, where `warpgrind exec` finds them.
    for target in [profile(out).join(library), profile(out).join("deps").join(library)] {
        let _ = fs::remove_file(&target);
        fs::copy(path(library), &target).unwrap_or_else(|error| panic!("{}: {error}", target.display()));
    }
}

/// The folder of cargo's profile.
fn profile(out: &Path) -> &Path {
    out.ancestors().nth(3).expect("OUT_DIR is three folders below the profile's")
}

/// Links with the linker that Rust uses.
fn link(options: &[&str], inputs: &[PathBuf], output: &Path) {
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".into());
    let status = Command::new(&linker)
        .args(["-shared", "-nostdlib"])
        .args(options)
        .args(inputs)
        .arg("-o")
        .arg(output)
        .status()
        .unwrap_or_else(|error| panic!("{linker}: {error}"));
    assert!(status.success(), "{linker} could not link {}", output.display());
}
