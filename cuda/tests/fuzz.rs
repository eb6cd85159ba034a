//! No implemented function crashes on null, on wrong handles, or on numbers out of range.
//!
//! Arguments are drawn by their types, which are read from the sources: handles are null, small, wild, or of any kind
//! of object; pointers are null or lead to zeroed memory; pointers to functions are null.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use support::functions::{implemented, runtime_names};
use support::{PTX, at, call, call_at, driver, out, runtime, symbol};

/// Tells a child process where to note what it calls, and its seed.
const CHILD: &str = "WARPGRIND_TEST_FUZZ";

/// Functions that wait for a word, which nobody writes; that end the process's use of the device; that take
/// structures by value in memory, return one, or take the address of something that the compiler made.
fn is_left_out(name: &str) -> bool {
    name.contains("WaitValue")
        || name.contains("Reset")
        || name.starts_with("__")
        || name == "cudaCreateChannelDesc"
}

/// Names and types of the arguments of all functions that the sources define.
fn signatures(folder: &Path, names: &BTreeSet<&str>, found: &mut BTreeMap<String, Vec<(String, String)>>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            signatures(&path, names, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if !is_word(bytes[at]) {
                at += 1;
                continue;
            }
            let end = (at..bytes.len()).find(|&end| !is_word(bytes[end])).unwrap_or(bytes.len());
            let (name, before) = (&text[at..end], at.checked_sub(1).map_or(b' ', |before| bytes[before]));
            if names.contains(name) && before != b':' && !found.contains_key(name) {
                found.extend(arguments(&text[end..]).map(|arguments| (name.to_string(), arguments)));
            }
            at = end;
        }
    }
}

/// The arguments in the next parentheses.
fn arguments(text: &str) -> Option<Vec<(String, String)>> {
    let start = text.find('(')?;
    let between = &text[..start];
    // A call or a mention is followed by other things than names of forms.
    if between.len() > 300 || between.contains([')', ';', '{', '"']) {
        return None;
    }
    let mut depth = 0;
    let length = text[start..].char_indices().find_map(|(at, letter)| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        (depth == 0).then_some(at)
    })?;
    let inside = text[start + 1..start + length].trim_start();
    let inside = inside.strip_prefix("null").map_or(inside, |rest| rest.trim_start().trim_start_matches(';'));
    let mut list = Vec::new();
    for argument in inside.split(',').map(str::trim).filter(|argument| !argument.is_empty()) {
        // A comma inside a type of a function's pointer.
        let (name, ty) = argument.split_once(':')?;
        list.push((name.trim().to_string(), ty.trim().to_string()));
    }
    Some(list)
}

struct Random(u64);

impl Random {
    fn pick(&mut self, list: &[u64]) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list[(self.0 >> 33) as usize % list.len()]
    }
}

/// Handles of all kinds, and an address of the device.
fn objects() -> (Vec<u64>, u64) {
    let mut context = 0u64;
    call(driver(), "cuInit", &[0]);
    call(driver(), "cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
    call(driver(), "cuCtxSetCurrent", &[context]);
    let mut made = [0u64; 12];
    let [module, function, stream, event, graph, node, exec, pool, library, kernel, link, data] = &mut made;
    let text = at(PTX.to_bytes_with_nul());
    call(driver(), "cuModuleLoadData", &[out(module), text]);
    call(driver(), "cuModuleGetFunction", &[out(function), *module, at(c"nothing".to_bytes_with_nul())]);
    call(driver(), "cuStreamCreate", &[out(stream), 1]);
    call(driver(), "cuEventCreate", &[out(event), 0]);
    call(driver(), "cuGraphCreate", &[out(graph), 0]);
    call(driver(), "cuGraphAddEmptyNode", &[out(node), *graph, 0, 0]);
    call(driver(), "cuGraphInstantiateWithFlags", &[out(exec), *graph, 0]);
    call(driver(), "cuDeviceGetDefaultMemPool", &[out(pool), 0]);
    call(driver(), "cuLibraryLoadData", &[out(library), text, 0, 0, 0, 0, 0, 0]);
    call(driver(), "cuLibraryGetKernel", &[out(kernel), *library, at(c"nothing".to_bytes_with_nul())]);
    call(driver(), "cuLinkCreate_v2", &[0, 0, 0, out(link)]);
    call(driver(), "cuMemAlloc_v2", &[out(data), 4096]);
    let data = made[11];
    let mut handles = vec![0, 1, 2, 3, 0x1234, 0xdead_beef, u64::MAX, context];
    handles.extend(&made[..11]);
    (handles, data)
}

#[test]
fn child() {
    let Ok(asked) = std::env::var(CHILD) else { return };
    let (note, seed) = asked.split_once('\n').expect("two parts");
    let of_runtime: BTreeSet<&str> = runtime_names(13).into_iter().collect();
    let known =
        |name: &&str| name.starts_with("cu") && !name.starts_with("cuda") || of_runtime.contains(name);
    let names = implemented().into_iter().filter(|name| known(name) && !is_left_out(name));
    let names: BTreeSet<&str> = names.collect();
    let mut found = BTreeMap::new();
    signatures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &names, &mut found);
    assert!(found.len() > 600, "{} of {} functions", found.len(), names.len());
    let mut random = Random(seed.parse().expect("a number"));
    let scratch = vec![0u64; 8192].leak();
    let place = scratch.as_ptr() as u64;
    let mut calls = 0u32;
    let (mut handles, mut data) = objects();
    for _ in 0..3 {
        for (name, arguments) in &found {
            if calls.is_multiple_of(16) {
                (handles, data) = objects();
            }
            let by_value = |ty: &str| ["Extent", "Pitched"].contains(&ty);
            if arguments.len() > 16 || arguments.iter().any(|(_, ty)| by_value(ty)) {
                continue;
            }
            // Captures that are under way forbid allocations.
            let data = if data == 0 { place } else { data };
            scratch.fill(0);
            let mut values = Vec::new();
            for (argument, ty) in arguments {
                let counts =
                    ["count", "length", "height", "depth"].iter().any(|part| argument.contains(part));
                values.push(match ty.as_str() {
                    "Handle" => random.pick(&handles),
                    "u64" if argument == "function" => 0,
                    "u64" if ["value", "argument"].contains(&argument.as_str()) => random.pick(&[0, 1, 77]),
                    "u64" if argument.contains("flags") => random.pick(&[0, 1, 2, 9, u64::MAX]),
                    "u64" => random.pick(&[0, place, data, data + 8, place + 4]),
                    "usize" if counts => random.pick(&[0, 1, 2, 16]),
                    "usize" => random.pick(&[0, 1, 4, 63, 64, 4096]),
                    "u32" | "i32" if counts => random.pick(&[0, 1, 2, 16]),
                    "u32" | "i32" | "u16" | "u8" => random.pick(&[0, 1, 2, 3, 7, 16, 99, u64::MAX]),
                    "f32" | "f64" => 0,
                    "MemLocation" => random.pick(&[0, 1, 2, 9, 1 | 99 << 32]),
                    pointer if pointer.starts_with('*') => random.pick(&[0, place]),
                    // Pointers to functions.
                    _ => 0,
                });
            }
            let library = if name.starts_with("cuda") { runtime(13) } else { driver() };
            let Some(address) = symbol(library, name) else { continue };
            std::fs::write(note, format!("{name}{values:x?}")).expect("a file");
            // SAFETY: this is what the test is about: nothing here is a pointer to what is not there.
            unsafe { call_at(address, &values) };
            calls += 1;
        }
    }
    std::fs::write(note, format!("done {calls}")).expect("a file");
    std::process::exit(0);
}

#[test]
fn no_function_crashes() {
    let scratch = tempfile::tempdir().expect("a folder");
    let note = scratch.path().join("note");
    let said = scratch.path().join("said");
    let status = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "child", "--nocapture"])
        .env(
            CHILD,
            format!("{}\n{}", note.display(), std::env::var("WARPGRIND_SEED").unwrap_or_else(|_| "1".into())),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).expect("a file"))
        .status()
        .expect("a process");
    let last = std::fs::read_to_string(&note).unwrap_or_default();
    let said = std::fs::read_to_string(&said).unwrap_or_default();
    let panics: Vec<&str> = said.lines().filter(|line| line.contains("internal error")).collect();
    assert!(panics.is_empty(), "{panics:#?}\n{said}");
    assert!(status.success() && last.starts_with("done"), "{status} at {last}");
}
