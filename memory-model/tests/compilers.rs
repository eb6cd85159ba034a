//! The tables of mappings are what compilers do: each row of libcu++'s against nvcc's PTX (`CUDA_HOME`, or on the path), each of
//! LLVM 22's against llc's (`llc-22`), for the scopes of a block, the device and the system, and the accesses of AdaptiveCpp's, whose
//! sources `WARPGRIND_ADAPTIVECPP` names, against clang's (`clang++-19`). Skipped where they are not installed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use memory_model::mapping::SHIPPED;

/// What the three scopes are called: in C++, in LLVM, in PTX.
const SCOPES: [(&str, &str, &str); 3] =
    [("block", "block", "cta"), ("device", "device", "gpu"), ("system", "", "sys")];

/// A line of a table: the operation, its order, and what it becomes.
type Row = (&'static str, &'static str, &'static str);

fn rows(table: &str) -> Vec<Row> {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == table).expect("shipped");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let (name, becomes) = line.split_once(char::is_whitespace)?;
        let (operation, order) = name.split_once('.')?;
        Some((operation, order, becomes.trim()))
    });
    rows.collect()
}

/// The fences and accesses of each kernel in a PTX text, as tables write them: kind, order and scope.
fn accesses(ptx: &str) -> BTreeMap<String, String> {
    const WORDS: [&str; 10] =
        ["relaxed", "acquire", "release", "acq_rel", "sc", "weak", "cta", "cluster", "gpu", "sys"];
    let mut kernels: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kernel = String::new();
    for line in ptx.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once(".entry ") {
            kernel = rest.split('(').next().unwrap_or_default().trim().to_owned();
            kernels.entry(kernel.clone()).or_default();
        }
        let Some(opcode) = line.trim_start_matches('{').split_whitespace().next() else { continue };
        let opcode = opcode.trim_end_matches(';');
        let mut parts = opcode.split('.');
        let kind = parts.next().unwrap_or_default();
        if !matches!(kind, "ld" | "st" | "atom" | "fence" | "red" | "membar")
            || opcode.starts_with("ld.param")
        {
            continue;
        }
        let words: Vec<&str> = parts.filter(|word| WORDS.contains(word)).collect();
        let words = match (kind, words.as_slice()) {
            // The older name of the strongest fence.
            ("membar", _) => {
                let level = opcode.strip_prefix("membar.").unwrap_or_default();
                kernels
                    .entry(kernel.clone())
                    .or_default()
                    .push(format!("fence.sc.{}", level.replace("gl", "gpu")));
                continue;
            }
            // An access of memory without a word is weak, an atomic operation relaxed and of the device.
            ("ld" | "st", []) => "weak".to_owned(),
            ("atom" | "red", []) => "relaxed.gpu".to_owned(),
            ("atom" | "red", [scope @ ("cta" | "cluster" | "gpu" | "sys")]) => format!("relaxed.{scope}"),
            (_, words) => words.join("."),
        };
        kernels.entry(kernel.clone()).or_default().push(format!("{kind}.{words}"));
    }
    kernels.into_iter().map(|(kernel, list)| (kernel, list.join("; "))).collect()
}

/// Compares what a compiler made of some rows with the table.
fn compare(table: &str, rows: &[Row], scopes: &[(&str, &str, &str)], ptx: &str) {
    let made = accesses(ptx);
    let mut wrong = Vec::new();
    for (operation, order, becomes) in rows {
        for (_, _, scope) in scopes {
            let kernel = format!("{operation}_{order}_{scope}");
            let expected = becomes.replace('$', scope);
            match made.get(&kernel) {
                Some(made) if *made == expected => {}
                made => wrong.push(format!("{kernel}: the table has `{expected}`, the compiler {made:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{table}:\n{}", wrong.join("\n"));
    eprintln!("{table}: {} rows as the compiler makes them", rows.len());
}

/// A program of `CUDA_HOME`, or on the path.
fn found(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = home.into_iter().chain(std::env::split_paths(&path)).map(|folder| folder.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no {name}");
    }
    found
}

/// What a compiler makes of a source, written to a file of its own; none where it cannot.
fn compiled(compiler: &Path, suffix: &str, source: &str, options: &[&str]) -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (from, to) = (folder.join(format!("rows.{suffix}")), folder.join(format!("rows.{suffix}.ptx")));
    std::fs::write(&from, source).expect("the folder can be written");
    let output =
        Command::new(compiler).args(options).arg(&from).arg("-o").arg(&to).output().expect("it runs");
    if !output.status.success() {
        eprintln!("skipped: {}: {}", compiler.display(), String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(std::fs::read_to_string(to).expect("the compiler has written it"))
}

#[test]
fn libcu() {
    let Some(nvcc) = found("nvcc") else { return };
    let mut source = String::from("#include <cuda/atomic>\n");
    for (operation, order, _) in rows("libcu++") {
        for (scope, _, ptx) in SCOPES {
            let (with, at) =
                (format!("cuda::std::memory_order_{order}"), format!("cuda::thread_scope_{scope}"));
            let body = match (operation, order) {
                ("load", "na") => "keep(*p)".to_owned(),
                ("store", "na") => "*p = 1".to_owned(),
                ("load", _) => format!("keep(a.load({with}))"),
                ("store", _) => format!("a.store(1, {with})"),
                ("rmw", _) => format!("keep(a.fetch_add(1, {with}))"),
                ("fence", _) => format!("cuda::atomic_thread_fence({with}, {at})"),
                other => panic!("no source for {other:?}"),
            };
            source += &format!(
                "extern \"C\" __global__ void {operation}_{order}_{ptx}(int *p) {{\n  \
                 auto keep = [](int value) {{ asm volatile(\"\" :: \"r\"(value)); }};\n  \
                 cuda::atomic_ref<int, {at}> a(*p);\n  {body};\n}}\n"
            );
        }
    }
    let options = ["-ptx", "-arch=sm_90", "-std=c++17", "-w"];
    if let Some(ptx) = compiled(&nvcc, "cu", &source, &options) {
        compare("libcu++", &rows("libcu++"), &SCOPES, &ptx);
    }
}

#[test]
fn llvm() {
    let Some(llc) = found("llc-22") else { return };
    let mut source = String::from("target triple = \"nvptx64-nvidia-cuda\"\n");
    for (operation, order, _) in rows("llvm-22") {
        for (_, scope, ptx) in SCOPES {
            let order_there = if order == "relaxed" { "monotonic" } else { order };
            let scope = if scope.is_empty() { String::new() } else { format!("syncscope(\"{scope}\") ") };
            let with = format!("{scope}{order_there}");
            let keep = |value: &str| format!("{value}\n  call void asm sideeffect \"\", \"r\"(i32 %v)");
            let body = match (operation, order) {
                ("load", "na") => keep("%v = load i32, ptr addrspace(1) %p, align 4"),
                ("store", "na") => "store i32 1, ptr addrspace(1) %p, align 4".to_owned(),
                ("load", _) => keep(&format!("%v = load atomic i32, ptr addrspace(1) %p {with}, align 4")),
                ("store", _) => format!("store atomic i32 1, ptr addrspace(1) %p {with}, align 4"),
                ("rmw", _) => keep(&format!("%v = atomicrmw xchg ptr addrspace(1) %p, i32 1 {with}")),
                ("cas", _) => keep(&format!(
                    "%c = cmpxchg ptr addrspace(1) %p, i32 0, i32 1 {with} monotonic\n  %v = extractvalue {{i32, i1}} %c, 0"
                )),
                ("fence", _) => format!("fence {with}"),
                other => panic!("no source for {other:?}"),
            };
            source += &format!(
                "define ptx_kernel void @{operation}_{order}_{ptx}(ptr addrspace(1) %p) {{\n  {body}\n  ret void\n}}\n"
            );
        }
    }
    if let Some(ptx) = compiled(&llc, "ll", &source, &["-O2", "-mcpu=sm_90", "-mattr=+ptx86"]) {
        compare("llvm-22", &rows("llvm-22"), &SCOPES, &ptx);
    }
}

/// What its library of built-ins does in the scopes of a block and the device, for words of 32 bits; two accesses of the system are
/// better than the table says.
#[test]
fn adaptivecpp() {
    let Some(sources) = std::env::var_os("WARPGRIND_ADAPTIVECPP").map(PathBuf::from) else {
        return eprintln!("skipped: WARPGRIND_ADAPTIVECPP names no sources");
    };
    let Some(clang) = found("clang++-19") else { return };
    let accesses: Vec<Row> = rows("adaptivecpp")
        .into_iter()
        .filter(|(operation, order, _)| *operation != "fence" && *order != "na")
        .collect();
    let scopes = &SCOPES[..2];
    let library = sources.join("src/libkernel/sscp/ptx/atomic.cpp");
    let mut source = format!("#include \"{}\"\nusing namespace hipsycl::sycl;\n", library.display());
    source += "constexpr auto space = access::address_space::generic_space;\n";
    for (operation, order, _) in &accesses {
        for (_, _, ptx) in scopes {
            let scope = if *ptx == "cta" { "work_group" } else { "device" };
            let with = format!("space, memory_order::{order}, memory_scope::{scope}, p");
            let body = match *operation {
                "load" => {
                    format!("int v = __acpp_sscp_atomic_load_i32({with}); asm volatile(\"\" :: \"r\"(v))")
                }
                "store" => format!("__acpp_sscp_atomic_store_i32({with}, 1)"),
                "rmw" => format!(
                    "int v = __acpp_sscp_atomic_exchange_i32({with}, 1); asm volatile(\"\" :: \"r\"(v))"
                ),
                other => panic!("no source for {other}"),
            };
            source += &format!(
                "extern \"C\" __attribute__((nvptx_kernel)) void {operation}_{order}_{ptx}(int *p) {{ {body}; }}\n"
            );
        }
    }
    let include = format!("-I{}", sources.join("include").display());
    let options = [
        "-std=c++17",
        "-O2",
        "--target=nvptx64-nvidia-cuda",
        "-march=sm_90",
        "-Xclang",
        "-target-feature",
        "-Xclang",
        "+ptx83",
        "-DHIPSYCL_SSCP_LIBKERNEL_LIBRARY",
        "-nostdinc++",
        "-w",
        "-S",
        &include,
    ];
    if let Some(ptx) = compiled(&clang, "cpp", &source, &options) {
        compare("adaptivecpp", &accesses, scopes, &ptx);
    }
}
