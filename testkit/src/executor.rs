//! Runs the cases of `testdata/instructions/` on any backend.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_frontend::{Module, Source};
use sim_core::{Backend, Dim3, Error, FindingKind, Launch, Outcome, RunOptions};

use crate::case::{Case, Role};

/// `testdata` of the source tree, or the folder that `WARPGRIND_TESTDATA` names: the tests can run where the source tree
/// is not.
pub fn testdata() -> PathBuf {
    let testdata = std::env::var_os("WARPGRIND_TESTDATA").map(PathBuf::from);
    testdata.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata"))
}

/// All test files of instructions, sorted, with their text.
pub fn files() -> Vec<(String, String)> {
    files_in("instructions")
}

/// All test files in a folder of `testdata`, sorted, with their text.
pub fn files_in(folder: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let root = testdata().join(folder);
    let mut folders = vec![root.clone()];
    while let Some(at) = folders.pop() {
        let entries = std::fs::read_dir(&at).unwrap_or_else(|error| panic!("{}: {error}", at.display()));
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                out.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    out.sort();
    out
}

/// The module of a test file.
pub fn module(name: &str, text: &str) -> Result<Arc<Module>, String> {
    let parsed = ptx_frontend::parse(Source::new(name, text.as_bytes().into()));
    let messages: Vec<String> = parsed.diagnostics.iter().map(|d| d.message.clone()).collect();
    parsed.module.map(Arc::new).ok_or_else(|| format!("rejected: {}", messages.join("; ")))
}

/// Runs a case on a backend with the module freshly loaded. `same` says whether a finding is the fault of this name.
pub fn run(
    backend: &dyn Backend,
    module: Arc<Module>,
    case: &Case,
    options: &RunOptions,
    same: impl Fn(FindingKind, &str) -> bool,
) -> Result<(), String> {
    let refused = |e: Error| e.to_string();
    let id = backend.load(module).map_err(refused)?;
    let mut buffers = Vec::new();
    for param in &case.params {
        if let Role::Buffer { before, .. } = &param.role {
            let pointer = backend.alloc(before.len() as u64, &param.name).map_err(refused)?;
            backend.write(pointer, before).map_err(refused)?;
            buffers.push((pointer, param, before.len()));
        }
    }
    let addresses: Vec<u64> = buffers.iter().map(|b| b.0).collect();
    let launch = Launch {
        kernel: case.entry.as_str().into(),
        grid: Dim3::new(case.grid[0], case.grid[1], case.grid[2]),
        cluster: case.cluster.map(|[x, y, z]| Dim3::new(x, y, z)),
        block: Dim3::new(case.block[0], case.block[1], case.block[2]),
        shared_bytes: case.shared,
        params: case.param_bytes(&addresses),
        cooperative: case.cooperative,
    };
    let report = backend.launch(id, &launch, options).map_err(refused)?;
    let findings: Vec<String> =
        report.findings.iter().map(|f| format!("{}: {}", f.kind.name(), f.message)).collect();
    match &case.fault {
        Some(kind) if !report.findings.iter().any(|f| same(f.kind, kind)) => {
            return Err(format!("no {kind}, but {:?} {findings:?}", report.outcome));
        }
        None if report.outcome != Outcome::Completed || !findings.is_empty() => {
            return Err(format!("{:?} {findings:?}", report.outcome));
        }
        _ => {}
    }
    for (pointer, param, size) in buffers {
        let mut bytes = vec![0; size];
        match backend.read(pointer, &mut bytes) {
            Ok(()) => case.compare(param, &bytes)?,
            // A real device keeps nothing of a launch that faulted.
            Err(Error::Lost(_)) if case.fault.is_some() => {}
            Err(error) => return Err(error.to_string()),
        }
        backend.free(pointer).map_err(refused)?;
    }
    match &case.prints {
        Some(text) if *text != report.output => {
            Err(format!("printed {:?}", String::from_utf8_lossy(&report.output)))
        }
        _ => backend.unload(id).map_err(refused),
    }
}

/// The simulator says which finding it is; a device only its class.
pub mod same {
    use sim_core::FindingKind;

    /// Whether the finding has this name.
    pub fn kind(found: FindingKind, expected: &str) -> bool {
        found.name() == expected
    }

    /// Whether the finding of a device stands for the simulator's finding of this name.
    pub fn class(found: FindingKind, expected: &str) -> bool {
        let expected = FindingKind::ALL.iter().find(|kind| kind.name() == expected);
        found.class().is_some() && expected.is_some_and(|expected| expected.class() == found.class())
    }
}
