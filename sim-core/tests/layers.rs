//! Arrows point downwards: between the crates of the workspace, and between the modules of this one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules from the lowest to the highest; each may use those before it, and none behind it.
const MODULES: &[&str] = &[
    "tensor_map",
    "texture",
    "error",
    "event",
    "memory",
    "code",
    "finding",
    "metrics",
    "fault",
    "sums",
    "launch",
    "tools",
    "around",
    "options",
    "observer",
    "decode",
    "config",
    "backend",
    "machine",
    "ops",
    "engine",
    "session",
    "simulator",
    "inspect",
];

/// The crates likewise.
const CRATES: &[&str] = &[
    "isa",
    "protocol",
    "timing",
    "ptx-frontend",
    "memory-model",
    "numerics",
    "semantics",
    "jit",
    "sim-core",
    "racecheck",
    "tools",
    "report",
    "debugger",
    "cuda-abi",
    "runtime",
    "device",
    "conformance",
    "cuda",
    "benches",
    "warpgrind",
    "python",
    "testkit",
    "cli",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn workspace() -> PathBuf {
    root().parent().unwrap().to_path_buf()
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
    let tests = ["#[cfg(test)]\nmod ", "#[cfg(test)]\npub(crate) mod "];
    let text = tests.iter().fold(text, |text, tests| text.split(tests).next().unwrap_or(text));
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
    assert_eq!(exports["Simulator"], "simulator");
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in &files {
        let text = code(&std::fs::read_to_string(path).unwrap());
        let own = module(path);
        let used = named(&text, &modules, &exports).into_iter().filter(|used| *used != own);
        arrows.entry(own.clone()).or_default().extend(used);
    }
    assert!(arrows["simulator"].len() > 8, "the arrows are seen: {arrows:?}");
    assert_eq!(upward(MODULES, &arrows), [""; 0]);
}

/// The files that a file names: what stands after `crate::` and `super::` as far as it is the path of one.
fn files_named(text: &str, own: &Path, src: &Path) -> BTreeSet<PathBuf> {
    let folder = match own.file_stem() {
        Some(stem) if stem == "mod" || stem == "lib" => own.parent().unwrap().to_owned(),
        Some(stem) => own.parent().unwrap().join(stem),
        None => unreachable!("a file has a name"),
    };
    let file = |path: &Path| {
        let found = [path.with_extension("rs"), path.join("mod.rs")].into_iter().find(|file| file.is_file());
        found.filter(|file| file != own)
    };
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("::") {
        let first: String =
            text[..at].chars().rev().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let first: String = first.chars().rev().collect();
        let mut place = match first.as_str() {
            "crate" => src.to_owned(),
            "super" if text[..at - 5].ends_with("super::") => continue,
            "super" => folder.parent().unwrap().to_owned(),
            _ => continue,
        };
        let mut rest = &text[at + 2..];
        while let Some(next) = rest.strip_prefix("super::") {
            place.pop();
            rest = next;
        }
        let word = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        };
        // As far down as there are files.
        loop {
            let name = word(rest);
            let next = place.join(&name);
            if name.is_empty() || (file(&next).is_none() && !next.is_dir()) {
                break;
            }
            place = next;
            rest = rest.trim_start()[name.len()..].strip_prefix("::").unwrap_or("");
        }
        match rest.strip_prefix('{') {
            Some(list) => {
                for part in list.split('}').next().unwrap_or(list).split(',') {
                    found.extend(file(&place.join(word(part))).or_else(|| file(&place)));
                }
            }
            None => found.extend(file(&place)),
        }
    }
    found
}

/// Sets of files that reach each other.
fn circles(arrows: &BTreeMap<PathBuf, BTreeSet<PathBuf>>) -> BTreeSet<Vec<String>> {
    let reach = |from: &PathBuf| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(at) = next.pop() {
            for to in arrows.get(at).into_iter().flatten() {
                if seen.insert(to) {
                    next.push(to);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> = arrows.keys().map(|file| (file, reach(file))).collect();
    let mut found = BTreeSet::new();
    for (file, reached) in &all {
        if reached.contains(*file) {
            let both =
                reached.iter().filter(|other| all.get(**other).is_some_and(|back| back.contains(*file)));
            let root = workspace();
            found.insert(both.map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect());
        }
    }
    found
}

#[test]
fn circles_are_found() {
    let file = |name: &str| workspace().join(name);
    let arrows = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]
        .map(|(user, used)| (file(user), BTreeSet::from([file(used)])));
    let mut arrows: BTreeMap<PathBuf, BTreeSet<PathBuf>> = arrows.into_iter().collect();
    assert_eq!(circles(&arrows), BTreeSet::new());
    arrows.entry(file("c")).or_default().insert(file("b"));
    assert_eq!(circles(&arrows), BTreeSet::from([vec!["b".to_owned(), "c".to_owned()]]));
}

#[test]
fn files_use_each_other_in_no_circle() {
    for name in CRATES {
        let src = workspace().join(name).join("src");
        let mut files = Vec::new();
        sources(&src, &mut files);
        files.retain(|path| path.file_name().is_some_and(|name| name != "lib.rs"));
        let arrows: BTreeMap<PathBuf, BTreeSet<PathBuf>> = files
            .into_iter()
            .map(|path| {
                let text = code(&std::fs::read_to_string(&path).unwrap());
                let named = files_named(&text, &path, &src);
                (path, named)
            })
            .collect();
        for (user, used) in [
            ("simulator.rs", "machine/grid.rs"),
            ("driver/pool.rs", "state.rs"),
            ("graph.rs", "operation.rs"),
        ] {
            let seen = arrows.get(&src.join(user)).is_none_or(|named| named.contains(&src.join(used)));
            assert!(seen, "the arrow from {user} to {used} in {name} is seen");
        }
        assert_eq!(circles(&arrows), BTreeSet::new(), "{name}");
    }
}

#[test]
fn crates_use_lower_ones_only() {
    let workspace = workspace();
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
