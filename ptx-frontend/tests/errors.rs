//! Each `tests/errors/*.ptx` has its rendered diagnostics beside it in a `.stderr` file.
//!
//! `WARPGRIND_BLESS=1 cargo test -p warpgrind-ptx-frontend --test errors` writes them anew.

use std::fs;
use std::path::Path;

use ptx_frontend::{Source, parse, render::render_all};

#[test]
fn rendered_errors() {
    let bless = std::env::var_os("WARPGRIND_BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    assert!(files.len() > 20, "only {} texts", files.len());
    let mut wrong = String::new();
    for path in files {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let parsed = parse(Source::new(name.as_str(), fs::read(&path).expect("readable")));
        assert!(!parsed.diagnostics.is_empty(), "{name} has nothing to complain about");
        let rendered = render_all(&parsed.diagnostics, &parsed.source, false);
        let expected_path = path.with_extension("stderr");
        if bless {
            fs::write(&expected_path, &rendered).expect("writable");
            continue;
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if rendered != expected {
            wrong += &format!("== {name}: expected\n{expected}== found\n{rendered}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nset WARPGRIND_BLESS=1 to accept");
}
