//! Arrows point downwards: between the crates of the workspace, and between the modules of this one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules from the lowest to the highest; each may use those before it, and none behind it.
const MODULES: &[&str] = &[
    "numerics",
    "error",
    "event",
    "lanes",
    "memory",
    "semantics",
    "matrix",
    "code",
    "finding",
    "fault",
    "launch",
    "watch",
    "options",
    "observer",
    "decode",
    "config",
    "backend",
    "exec",
    "inspect",
];

/// The crates likewise.
const CRATES: &[&str] = &[
    "isa",
    "protocol",
    "ptx-frontend",
    "memory-model",
    "sim-core",
    "racecheck",
    "report",
    "cuda-abi",
    "runtime",
    "device",
    "conformance",
    "cuda",
    "benches",
    "warpgrind",
    "testkit",
    "cli",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A text without comments, strings that hold paths, and unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect()
}

/// The modules behind the names that `lib.rs` exports.
fn exports(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in text.split(';').filter_map(|statement| statement.split("pub use ").nth(1)) {
        let (path, names) = statement.split_once('{').unwrap_or_else(|| statement.rsplit_once("::").unwrap());
        let module = path.split("::").next().unwrap().to_owned();
        let names = names.trim_end_matches('}').split(',').map(str::trim).filter(|name| !name.is_empty());
        found.extend(names.map(|name| (name.to_owned(), module.clone())));
    }
    found
}

/// The modules of the crate that a text names: after `crate::`, alone or as the first words of a list; of a name that the
/// crate exports, where it comes from.
fn named(text: &str, modules: &BTreeSet<String>, exports: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let list = rest.strip_prefix('{').map_or(rest, |list| list.split('}').next().unwrap_or(list));
        let count = if rest.starts_with('{') { usize::MAX } else { 1 };
        for part in list.split(',').take(count) {
            let word: String =
                part.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if modules.contains(&word) {
                found.insert(word);
            } else if let Some(module) = exports.get(&word) {
                found.insert(module.clone());
            }
        }
    }
    found
}

/// Those that come behind their user in `order`, as `user -> used`.
fn upward(order: &[&str], arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let place = |name: &str| {
        order
            .iter()
            .position(|known| *known == name)
            .unwrap_or_else(|| panic!("`{name}` has no place in the order"))
    };
    let mut found = Vec::new();
    for (user, used) in arrows {
        found.extend(
            used.iter().filter(|used| place(used) > place(user)).map(|used| format!("{user} -> {used}")),
        );
    }
    found
}

#[test]
fn modules_use_lower_ones_only() {
    let src = root().join("src");
    let module = |path: &Path| {
        let first = path.strip_prefix(&src).unwrap().iter().next().unwrap().to_str().unwrap();
        first.trim_end_matches(".rs").to_owned()
    };
    let mut files = Vec::new();
    sources(&src, &mut files);
    files.retain(|path| module(path) != "lib");
    let modules: BTreeSet<String> = files.iter().map(|path| module(path)).collect();
    let known: BTreeSet<String> = MODULES.iter().map(ToString::to_string).collect();
    assert_eq!(modules, known, "the order lists the modules that there are");
    let exports = exports(&code(&std::fs::read_to_string(src.join("lib.rs")).unwrap()));
    assert_eq!(exports["Simulator"], "exec");
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in &files {
        let text = code(&std::fs::read_to_string(path).unwrap());
        let own = module(path);
        let used = named(&text, &modules, &exports).into_iter().filter(|used| *used != own);
        arrows.entry(own.clone()).or_default().extend(used);
    }
    assert!(arrows["exec"].len() > 8, "the arrows are seen: {arrows:?}");
    assert_eq!(upward(MODULES, &arrows), [""; 0]);
}

#[test]
fn crates_use_lower_ones_only() {
    let workspace = root().join("..");
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in CRATES {
        let text = std::fs::read_to_string(workspace.join(name).join("Cargo.toml")).unwrap();
        let text = text.split("[dev-dependencies]").next().unwrap();
        let used = CRATES.iter().filter(|other| {
            let key = other.replace("report", "reports");
            text.lines().any(|line| {
                line.starts_with(&format!("{key}.workspace")) || line.starts_with(&format!("{key} = {{ path"))
            })
        });
        arrows.insert((*name).to_owned(), used.map(ToString::to_string).collect());
    }
    assert!(arrows["cli"].len() > 5, "the arrows are seen: {arrows:?}");
    assert_eq!(upward(CRATES, &arrows), [""; 0]);
}
