//! The worked example in CONTRIBUTING.md quotes the sources: this keeps it true.

use std::path::Path;

#[test]
fn quoted_code_is_in_the_files_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let text = read("CONTRIBUTING.md");
    let mut blocks = 0;
    let mut lines = text.lines();
    let mut file = String::new();
    while let Some(line) = lines.next() {
        // The file is the last thing in backquotes before the block.
        if let Some(name) = line.strip_suffix("`:").and_then(|line| line.rsplit('`').next()) {
            file = name.to_string();
        }
        if line == "```rust" || line == "```text" {
            let quoted: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let source = read(&file);
            let source: Vec<&str> = source.lines().map(str::trim).collect();
            let wanted: Vec<&str> = quoted.iter().map(|line| line.trim()).collect();
            let found = source.windows(wanted.len()).any(|window| window == wanted);
            assert!(found, "{file} does not have\n{}", quoted.join("\n"));
            blocks += 1;
        }
    }
    assert_eq!(blocks, 5, "all blocks of the worked example were compared");
}
