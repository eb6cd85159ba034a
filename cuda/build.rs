//! Names the functions that are not implemented, and links `libcudart.so.12` and `.13` and the stand-ins for
//! NVIDIA's compiler and linker.
//!
//! The names of CUDA's functions are in `names/`. What the sources define is implemented; the rest become
//! functions that refuse. The libraries that are linked here hold a jump for each name, with the version that
//! programs ask for; the code is in the driver library.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use protocol::libraries;

fn main() {
    println!("cargo:rerun-if-changed=names");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Its threads and exit handler outlive a `dlclose`.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rustc-env=WARPGRIND_BUILT={}", profile(&out).join("deps").display());
    let mut defined = BTreeSet::new();
    collect(Path::new("src"), &mut defined);

    let mut text = String::new();
    let driver = fs::read_to_string("names/driver.txt").expect("names/driver.txt");
    let mut refused: BTreeSet<&str> = BTreeSet::new();
    let mut symbols = String::from("mod symbols {\nunsafe extern \"C\" {\n");
    text.push_str("pub(crate) static ENTRIES: &[Entry] = &[\n");
    for line in driver.lines() {
        let mut fields = line.split(' ');
        let (Some(symbol), Some(base), Some(version)) = (fields.next(), fields.next(), fields.next()) else {
            panic!("names/driver.txt: {line}");
        };
        let per_thread = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
        if defined.contains(symbol) {
            writeln!(
                text,
                "    Entry {{ base: {base:?}, version: {version}, per_thread: {per_thread}, address: symbols::{symbol} }},"
            )
            .expect("a string");
            writeln!(symbols, "    pub(super) fn {symbol}();").expect("a string");
        } else {
            refused.insert(symbol);
        }
    }
    text.push_str("];\n");
    symbols.push_str("}\n}\n");
    text.push_str(&symbols);
    text.push_str("refuse! { driver");
    for name in &refused {
        write!(text, " {name}").expect("a string");
    }
    text.push_str(" }\n");

    let mut runtime: BTreeSet<String> = BTreeSet::new();
    for version in libraries::VERSIONS {
        let path = format!("names/runtime{version}.txt");
        let names = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let names: Vec<&str> = names.lines().collect();
        runtime.extend(names.iter().map(|name| name.to_string()));
        runtime_library(&out, version, &names, &defined);
    }
    jit_libraries(&out);
    text.push_str("refuse! { runtime");
    for name in runtime.iter().filter(|name| !defined.contains(*name)) {
        write!(text, " {name}").expect("a string");
    }
    text.push_str(" }\n");
    fs::write(out.join("refused.rs"), text).expect("OUT_DIR can be written");
    let list: Vec<&str> = refused
        .iter()
        .copied()
        .chain(runtime.iter().map(String::as_str).filter(|name| !defined.contains(*name)))
        .collect();
    fs::write(out.join("refused.txt"), list.join("\n")).expect("OUT_DIR can be written");
    let driver: Vec<&str> = driver.lines().filter_map(|line| line.split(' ').next()).collect();
    let runtime: Vec<&str> = runtime.iter().map(String::as_str).collect();
    fs::write(out.join("FUNCTIONS.md"), page(&driver, &runtime, &defined)).expect("OUT_DIR can be written");
}

/// What is implemented and what is refused, for people.
fn page(driver: &[&str], runtime: &[&str], defined: &BTreeSet<String>) -> String {
    let mut text = String::from(
        "# Functions\n\nWhat is implemented of the interfaces of CUDA 13.0's driver and of the runtime libraries up to \
         12.9 and 13.5.\nRefused functions say so by name once and return `CUDA_ERROR_NOT_SUPPORTED` or \
         `cudaErrorNotSupported`;\n`cuGetProcAddress` does not find them. `_v2` and the like, `_ptsz` and `_ptds` are \
         counted and not listed\nwhere the plain name is in the same list.\n\nMade by `build.rs`; `WARPGRIND_BLESS=1 cargo test -p warpgrind-cuda --test symbols` writes it.\n",
    );
    for (title, names) in [("Driver interface", driver), ("Runtime interface", runtime)] {
        let (done, refused): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| defined.contains(**name));
        writeln!(text, "\n## {title}: {} of {} symbols\n", done.len(), names.len()).expect("a string");
        for (what, list) in [("Implemented", done), ("Refused", refused)] {
            let base = |name: &str| {
                let name = name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
                let version =
                    name.rsplit_once("_v").filter(|(_, v)| v.bytes().all(|byte| byte.is_ascii_digit()));
                version.map_or(name, |(base, _)| base).to_string()
            };
            let names: BTreeSet<String> = list.iter().map(|name| base(name)).collect();
            let names: Vec<String> = names.into_iter().collect();
            writeln!(text, "{what}: {}.\n", names.join(", ")).expect("a string");
        }
    }
    text.trim_end().to_string() + "\n"
}

/// Names of the functions that the sources define.
fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("src").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, names);
        } else if let Ok(text) = fs::read_to_string(&path) {
            for line in text.lines() {
                let line = line.trim_start();
                let line = line.strip_prefix("extern \"C\" ").unwrap_or(line);
                // `fn a(`, `fn a | b (`, `a = driver::a, (`, `a b = driver::a, driver::b, (`, names of fills.
                let rest = line.strip_prefix("fn ").unwrap_or(line);
                let list = rest.split(['(', '{', '=']).next().unwrap_or("");
                let is_list = rest.len() < line.len()
                    || rest.contains(" =") && list.starts_with("cuda")
                    || list.split_whitespace().count() >= 4 && rest == list && list.starts_with("cu");
                if is_list {
                    names.extend(list.split([' ', '|']).filter(|name| !name.is_empty()).map(str::to_string));
                }
            }
        }
    }
}

/// `libcudart.so` of a version.
fn runtime_library(out: &Path, version: &str, names: &[&str], defined: &BTreeSet<String>) {
    let target = |name: &&str| {
        // Functions whose meaning changed from 12 to 13 have one of their own.
        let own = format!("{name}_cuda{version}");
        (name.to_string(), if defined.contains(&own) { own } else { name.to_string() })
    };
    shim(out, &format!("libcudart.so.{version}"), &names.iter().map(target).collect::<Vec<_>>());
}

/// NVIDIA's compiler and linker for programs that want machine code, of both versions. Names and code are in
/// `src/jit`.
fn jit_libraries(out: &Path) {
    let list = |path: &str| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        text.lines().map(str::to_string).collect()
    };
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

/// A library with a jump for each name to the code of a function.
fn shim(out: &Path, library: &str, names: &[(String, String)]) {
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
        writeln!(text, ".globl {name}\n.type {name}, @function\n{name}:\n {jump}\n.size {name}, .-{name}")
            .expect("a string");
    }
    text.push_str(".section .note.GNU-stack,\"\",@progbits\n");
    let path = |name: &str| out.join(name);
    let stub = path("libcuda.so.1");
    fs::write(path("empty.s"), ".section .note.GNU-stack,\"\",@progbits\n").expect("OUT_DIR can be written");
    fs::write(path("shim.s"), text).expect("OUT_DIR can be written");
    fs::write(path("shim.map"), format!("{library} {{ global: *; }};\n")).expect("OUT_DIR can be written");
    link(&["-Wl,-soname,libcuda.so.1"], &[path("empty.s")], &stub);
    let soname = format!("-Wl,-soname,{library}");
    let map = format!("-Wl,--version-script={}", path("shim.map").display());
    // Preloaded ones find the driver library beside their folder, whatever the program does to the variables.
    let rpath = format!("-Wl,-rpath,$ORIGIN/../{}", libraries::FOLDER);
    let options = [&*soname, &map, "-Wl,--no-as-needed", &*rpath];
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
