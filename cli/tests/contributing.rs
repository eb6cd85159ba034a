//! CONTRIBUTING.md speaks of the sources: this keeps it true.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The blocks of the worked examples, each with the file that it is from.
fn quotations(text: &str) -> Vec<(String, Vec<&str>)> {
    let (mut found, mut file) = (Vec::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        // The file is the last thing in backquotes before the block.
        if let Some(name) = line.strip_suffix("`:").and_then(|line| line.rsplit('`').next()) {
            file = name.to_string();
        }
        if line == "```rust" || line == "```text" {
            found.push((file.clone(), lines.by_ref().take_while(|line| *line != "```").collect()));
        }
    }
    found
}

#[test]
fn quoted_code_is_in_the_files_named() {
    let text = read("CONTRIBUTING.md");
    let quotations = quotations(&text);
    for (file, quoted) in &quotations {
        let source = read(file);
        let source: Vec<&str> = source.lines().map(str::trim).collect();
        let wanted: Vec<&str> = quoted.iter().map(|line| line.trim()).collect();
        let found = source.windows(wanted.len()).any(|window| window == wanted);
        assert!(found, "{file} does not have\n{}", quoted.join("\n"));
    }
    assert_eq!(quotations.len(), 12, "all blocks of the two worked examples were compared");
}

/// The sources whose code, tests apart, has a word, by their path in the workspace.
fn users(folder: &Path, word: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            users(&path, word, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let mut lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            let is_there = |line: &str| {
                line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
            };
            if lines.any(is_there) {
                found.push(path.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
}

/// What there is of the worked examples is in the files that they name, and nowhere else.
#[test]
fn examples_name_every_file() {
    let text = read("CONTRIBUTING.md");
    for (section, words) in [
        ("## Adding an instruction", ["Bmsk", "bmsk"]),
        ("## Adding a synchronisation instruction", ["Elect", "elect"]),
        ("## Adding a tool", ["Synccheck", "synccheck"]),
    ] {
        let section = text.split_once(section).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let mut found = Vec::new();
        for folder in std::fs::read_dir(root()).unwrap() {
            let src = folder.unwrap().path().join("src");
            if src.is_dir() {
                words.iter().for_each(|word| users(&src, word, &mut found));
            }
        }
        // Tests, texts of help and random kernels, which take what there is, need not know it.
        let free = ["conformance/src/random/", "numerics/src/tests/", "cli/src/explain.rs"];
        found.retain(|file| !free.iter().any(|free| file.starts_with(free)));
        found.sort();
        found.dedup();
        assert!(found.len() >= 3, "{found:?}");
        for file in found {
            let last = file.rsplit('/').next().unwrap();
            assert!(section.contains(&file) || section.contains(&format!("`{last}`")), "{file} is not named");
        }
    }
}

/// What stands in backquotes outside of blocks.
fn names(text: &str) -> Vec<&str> {
    let plain = text.split("\n```").step_by(2);
    plain.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// Sources of a folder, one after the other.
fn sources(folder: &Path, out: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *out += &std::fs::read_to_string(&path).unwrap();
        }
    }
}

#[test]
fn files_and_names_are_there() {
    let text = read("CONTRIBUTING.md");
    let mut code = String::new();
    for folder in ["numerics/src", "semantics/src", "sim-core/src", "ptx-frontend/src", "warpgrind/src"] {
        sources(&root().join(folder), &mut code);
    }
    let (mut paths, mut words) = (0, 0);
    for name in names(&text) {
        let path = name.contains('/') && !name.contains(' ');
        if path {
            assert!(root().join(name).exists(), "there is no {name}");
            paths += 1;
        } else if name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(char::is_alphanumeric)
        {
            let defined =
                ["enum", "struct", "trait"].iter().any(|kind| code.contains(&format!("{kind} {name}")));
            assert!(defined, "nothing is called {name}");
            words += 1;
        } else if let Some(name) = name.strip_suffix('!') {
            assert!(code.contains(&format!("macro_rules! {name} ")), "there is no macro {name}");
            words += 1;
        }
    }
    assert!(paths >= 20 && words >= 6, "{paths} files and {words} names were looked for");
}

/// Each package of the table is one of a crate of ours, and none of another name.
#[test]
fn packages_are_used_where_the_table_says() {
    let text = read("CONTRIBUTING.md");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 4).collect();
    assert_eq!(rows.len(), 6);
    let manifests: String = std::fs::read_dir(root())
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).ok())
        .collect();
    for row in rows {
        let package = row.split('`').nth(1).unwrap();
        assert!(manifests.contains(&format!("\n{package}.workspace = true")), "{package} is unused");
    }
}
