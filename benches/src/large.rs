//! A large module for the front end's benchmarks, made of real kernels.

use std::path::Path;

/// Kernels that need nothing at module scope but themselves.
const SOURCES: [&str; 7] =
    ["vadd.ptx", "sgemm_naive.ptx", "sgemm_tiled.ptx", "reduce.ptx", "alu.ptx", "collatz.ptx", "hist.ptx"];

/// Text of at least `bytes` bytes: nvcc's output for the yardstick's kernels, again and again under
/// other names.
///
/// # Panics
/// When testdata is missing: the benchmark cannot run.
pub fn module_text(bytes: usize) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/ptx/perf");
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n");
    let bodies: Vec<(String, String)> = SOURCES
        .iter()
        .map(|name| {
            let path = folder.join(name);
            let source =
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let (_, body) = source.split_once(".address_size 64").expect("a PTX module");
            (name.trim_end_matches(".ptx").to_string(), body.to_string())
        })
        .collect();
    for copy in 0.. {
        for (name, body) in &bodies {
            text.push_str(&body.replace(name, &format!("{name}_{copy}")));
        }
        if text.len() >= bytes {
            break;
        }
    }
    text
}
