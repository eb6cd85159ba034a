//! Printing a module and parsing the text again gives the same program.

mod same;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ptx_frontend::{Module, Source, link, parse, render::render_all};

fn parsed(name: &str, text: Vec<u8>) -> Module {
    let parsed = parse(Source::new(name, text));
    let errors = render_all(&parsed.diagnostics, &parsed.source, false);
    parsed.module.unwrap_or_else(|| panic!("{name} is rejected:\n{errors}"))
}

fn check(name: &str, text: Vec<u8>) {
    let first = parsed(name, text);
    let printed = first.to_ptx();
    let second = parsed(&format!("{name}, printed"), printed.clone().into_bytes());
    if let Err(difference) = same::same(&first, &second) {
        panic!("{name}: {difference}\n{printed}");
    }
}

#[test]
fn the_sample_survives() {
    check("sample.ptx", include_bytes!("sample.ptx").to_vec());
}

#[test]
fn shadowed_names_survive() {
    let text = ".version 9.0\n.target sm_90\n.global .u32 g;\n.entry k(.param .u32 p) {\n.reg .b32 r<4>, g$1;\n\
        { .reg .b32 r<3>, g; mov.b32 r1, 1; mov.b32 g, 2; bra L; L: }\nL: mov.b32 r1, r2; mov.b32 g$1, r1;\n\
        { .param .b32 p; .reg .v2 .b32 v; mov.b32 v.y, 1; L: bra L; }\nbra L;\n}";
    check("shadow.ptx", text.as_bytes().to_vec());
}

#[test]
fn initial_values_survive() {
    let text = ".version 9.0\n.target sm_90\n.extern .global .u64 late;\n.global .u64 early = late;\n\
        .visible .global .u64 late = early;\n.global .u32 x[][2][3] = {{{1,2},{}},{{},{5}},{}};\n.global .b128 w = -3;\n\
        .global .b128 v = 0xffffffffffffffff;\n.global .v2 .f64 d[3] = {{1.5,-2.0},{0.0,1e300}};\n.global .f32 e[4] = {};\n\
        .global .u8 b[4] = {0xFF(early), 0xFF00(generic(early)+-7), 0xFF00(4660), 3};\n.global .s16 s = -1;\n\
        .const .u32 c = 7;\n.entry k() { ret; }";
    check("initial.ptx", text.as_bytes().to_vec());
}

#[test]
fn the_test_data_survives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let mut checked = 0;
    for path in files {
        let (name, text) = (path.display().to_string(), fs::read(&path).expect("readable"));
        if parse(Source::new(name.as_str(), text.clone())).module.is_some() {
            check(&name, text);
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} files");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
}

const SAMPLE: &str = include_str!("sample.ptx");

/// How many cases are tried; `PROPTEST_CASES` sets it.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(1500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Lines of the sample lost, moved and doubled: what is still accepted survives, and links with itself
    /// or is refused.
    #[test]
    fn changed_samples_survive(edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8), 1..5)) {
        let mut lines: Vec<&str> = SAMPLE.lines().collect();
        for (from, to, kind) in edits {
            let (from, to) = (from.index(lines.len()), to.index(lines.len()));
            match kind {
                0 => drop(lines.remove(from)),
                1 => lines.insert(to, lines[from]),
                _ => lines.swap(from, to),
            }
        }
        let text = lines.join("\n").into_bytes();
        if let Some(module) = parse(Source::new("changed.ptx", text.clone())).module {
            check("changed.ptx", text);
            let _ = link(vec![module.clone(), module]);
        }
    }
}
