//! The libraries export what the headers of CUDA name, and the page about it is up to date.

mod support;

use std::collections::BTreeSet;

use support::functions::{DRIVER, runtime_names};
use support::{at, call, driver, out, runtime, symbol};

#[test]
fn every_name_of_the_headers_is_exported() {
    let missing: Vec<&str> = DRIVER
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| symbol(driver(), name).is_none())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(DRIVER.lines().count() > 600 && symbol(driver(), "warpgrind_dropin").is_some());
    for version in [12, 13] {
        let (library, names) = (runtime(version), runtime_names(version));
        let missing: Vec<&&str> = names.iter().filter(|name| symbol(library, name).is_none()).collect();
        assert!(missing.is_empty() && names.len() > 400, "{version}: {missing:?}");
    }
}

#[test]
fn entry_points_are_found_by_name_and_version() {
    assert_eq!(call(driver(), "cuInit", &[0]), 0);
    let find = |name: &std::ffi::CStr, version: u64, flags: u64| {
        let (mut address, mut status) = (0u64, 9u32);
        let arguments = [at(name.to_bytes_with_nul()), out(&mut address), version, flags, out(&mut status)];
        let result = call(driver(), "cuGetProcAddress_v2", &arguments);
        assert_eq!((result, status == 0), (0, address != 0), "{name:?}");
        (address != 0).then_some(address as usize)
    };
    assert_eq!(find(c"cuMemAlloc", 13000, 0), code("cuMemAlloc_v2"));
    assert_eq!(find(c"cuCtxCreate", 13000, 0), code("cuCtxCreate_v4"));
    assert_eq!(find(c"cuCtxCreate", 12000, 0), code("cuCtxCreate_v3"));
    assert_eq!(find(c"cuStreamSynchronize", 13000, 2), code("cuStreamSynchronize_ptsz"));
    assert_eq!(find(c"cuStreamSynchronize", 13000, 0), code("cuStreamSynchronize"));
    assert_eq!(find(c"cuProfilerInitialize", 13000, 0), code("cuProfilerInitialize"));
    assert_eq!(find(c"cuProfilerStart", 4000, 0), code("cuProfilerStart"));
    // What is not implemented is not found, and neither is what does not exist.
    assert_eq!(find(c"cuImportExternalMemory", 13000, 0), None);
    assert_eq!(find(c"cuNoSuchThing", 13000, 0), None);
    // As on an H200: what there is from a later version on is no error, whoever asks for a status; versions below zero are the
    // newest, and those above the driver's are wrong.
    assert_eq!(find(c"cuFuncSetAttribute", 2000, 0), None);
    assert_eq!(find(c"cuCtxCreate", -5i64 as u64, 0), code("cuCtxCreate_v4"));
    let ask = |name: &std::ffi::CStr, version: u64| {
        let mut address = 1u64;
        let arguments = [at(name.to_bytes_with_nul()), out(&mut address), version, 0, 0];
        (call(driver(), "cuGetProcAddress_v2", &arguments), address)
    };
    assert_eq!(ask(c"cuFuncSetAttribute", 2000), (0, 0));
    assert_eq!(ask(c"cuFuncSetAttribute", 13010), (1, 1));
    // A driver that asks for proof is refused.
    let mut table = 1u64;
    assert_eq!(call(driver(), "cuGetExportTable", &[out(&mut table), at(&[0u8; 16])]), 801);
    assert_eq!(table, 0);
}

/// The code that `libcuda.so.1` leads to.
fn code(name: &str) -> Option<usize> {
    symbol(driver(), &format!("warpgrind_{name}"))
}

/// Programs that look a function up get the same one in either way; what is not implemented is exported for linkers,
/// and not found by those who ask for it.
#[test]
fn both_ways_to_look_a_function_up_agree() {
    assert_eq!(call(driver(), "cuInit", &[0]), 0);
    let mut wrong = Vec::new();
    for line in DRIVER.lines() {
        let [symbol_name, base, version, state] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let refused = state == "refused";
        let name = std::ffi::CString::new(base).expect("no zero byte");
        let flags = if symbol_name.ends_with("_ptsz") || symbol_name.ends_with("_ptds") { 2 } else { 1 };
        let (mut address, mut status) = (1u64, 9u32);
        let version = version.parse().expect("a number");
        let arguments = [at(name.to_bytes_with_nul()), out(&mut address), version, flags, out(&mut status)];
        let result = call(driver(), "cuGetProcAddress_v2", &arguments);
        let exported = symbol(driver(), symbol_name);
        let expected = if refused { Some(0) } else { code(symbol_name) };
        // An older form that is there serves where a newer one is not.
        let older = refused && status == 0;
        if result != 0 || exported.is_none() || Some(address as usize) != expected && !older {
            wrong.push(format!("{line}: {result} {status}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names are those of the headers, where the toolkit is installed.
#[test]
fn every_name_and_version_of_the_headers_is_listed() {
    let Some(home) = std::env::var_os("CUDA_HOME") else {
        eprintln!("skipped: set CUDA_HOME to the toolkit's folder to run this test");
        return;
    };
    let form = |line: &str| {
        let [symbol, base, version, _] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let suffix = ["_ptsz", "_ptds"].into_iter().find(|suffix| symbol.ends_with(suffix)).unwrap_or("");
        format!("{base}_v{version}{suffix}")
    };
    let listed: BTreeSet<String> = DRIVER.lines().map(form).collect();
    let mut missing = BTreeSet::new();
    for header in ["cuda", "cudaEGL", "cudaGL", "cudaProfiler", "cudaVDPAU"] {
        let path = std::path::Path::new(&home).join(format!("include/{header}Typedefs.h"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // `typedef CUresult (CUDAAPI *PFN_cuInit_v2000)(…`; the rest are macros for the newest ones.
        let names = text.split("(CUDAAPI *PFN_").skip(1).filter_map(|rest| rest.split(')').next());
        // Windows' OpenGL is not here.
        missing.extend(
            names.filter(|name| !listed.contains(*name) && !name.contains("WGL")).map(str::to_string),
        );
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_page_of_functions_is_up_to_date() {
    let page = include_str!(concat!(env!("OUT_DIR"), "/FUNCTIONS.md"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/FUNCTIONS.md");
    if std::env::var_os("WARPGRIND_BLESS").is_some() {
        std::fs::write(path, page).expect("FUNCTIONS.md can be written");
    }
    let checked_in = std::fs::read_to_string(path).unwrap_or_default();
    assert!(checked_in == page, "FUNCTIONS.md is out of date: WARPGRIND_BLESS=1 writes it");
}

/// Functions that null for every argument makes do something that the next ones would miss.
const NOT_WITH_NULL: &[&str] = &[
    "cuStreamBeginCapture",
    "cuCtxDestroy",
    "cuDevicePrimaryCtxReset",
    "cuDevicePrimaryCtxRelease",
    "cuCtxSetCurrent",
];

/// Functions for which zeros are good arguments.
const GOOD_WITH_NULL: &[&str] = &[
    "cuSurfObjectDestroy",
    "cuTexObjectDestroy",
    "cuCtxGetStreamPriorityRange",
    "cuDeviceGraphMemTrim",
    "cuFlushGPUDirectRDMAWrites",
    "cuCtxPopCurrent",
    "cuCtxResetPersistingL2Cache",
    "cuCtxSetCacheConfig",
    "cuCtxSetFlags",
    "cuCtxSetLimit",
    "cuCtxSetSharedMemConfig",
    "cuCtxSynchronize",
    "cuDevicePrimaryCtxGetState",
    "cuDevicePrimaryCtxSetFlags",
    "cuInit",
    "cuMemFree",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemGetInfo",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuStreamBatchMemOp",
    "cuStreamCopyAttributes",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuGetErrorName",
    "cuPointerGetAttributes",
    "cuMemPoolTrimTo",
];

#[test]
fn no_function_crashes_or_succeeds_on_nulls() {
    assert_eq!(call(driver(), "cuInit", &[0]), 0);
    let mut context = 0u64;
    assert_eq!(call(driver(), "cuDevicePrimaryCtxRetain", &[out(&mut context), 0]), 0);
    let mut succeeded = BTreeSet::new();
    for line in DRIVER.lines() {
        let Some(name) = line.split(' ').next() else { continue };
        let base = name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
        let base = base.trim_end_matches("_v2").trim_end_matches("_v3").trim_end_matches("_v4");
        if NOT_WITH_NULL.contains(&base) {
            continue;
        }
        assert_eq!(call(driver(), "cuCtxSetCurrent", &[context]), 0);
        if call(driver(), name, &[]) == 0 {
            succeeded.insert(base.to_string());
        }
    }
    // Copies and fills of nothing are nothing.
    succeeded.retain(|name| !name.starts_with("cuMemcpy") && !name.starts_with("cuMemset"));
    succeeded.retain(|name| !GOOD_WITH_NULL.contains(&name.as_str()));
    assert!(succeeded.is_empty(), "succeed on nulls: {succeeded:?}");
    for version in [12, 13] {
        let library = runtime(version);
        for name in runtime_names(version)
            .into_iter()
            .filter(|name| !name.starts_with("__") && !name.contains("Reset") && *name != "cudaThreadExit")
            // It returns a structure, whose place is its first argument.
            .filter(|name| *name != "cudaCreateChannelDesc")
        {
            call(library, name, &[]);
        }
    }
}
