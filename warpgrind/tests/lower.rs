//! Machine code of our making, for all kernels that there are.

use std::path::{Path, PathBuf};

use warpgrind::Module;
use warpgrind::profile::machine::lower::lower;

fn ptx(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            ptx(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            into.push(path);
        }
    }
}

#[test]
fn every_kernel_has_machine_code() {
    let mut files = Vec::new();
    ptx(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata"), &mut files);
    let mut kernels = 0;
    for file in files {
        let Ok(module) = Module::load(&file) else { continue };
        for info in sim_core::inspect(module.checked()) {
            let listing = lower(module.checked(), &info.name).expect("a kernel");
            let count = listing.instructions.len();
            let name = format!("{} of {}", info.name, file.display());
            assert!(count > 0, "{name}");
            for (at, of) in listing.instructions.iter().enumerate() {
                assert!(of.targets.iter().all(|&to| (to as usize) < count), "{name}: {at} {of:?}");
                assert!((1..16).contains(&(of.control & 15)), "{name}: {at} {of:?}");
                let jumps = matches!(of.base(), "BRA" | "BRX");
                assert_eq!(jumps, !of.targets.is_empty() && of.base() != "CALL", "{name}: {at} {of:?}");
            }
            // Control does not run out of it.
            let last = &listing.instructions[count - 1];
            assert!(
                matches!(last.base(), "EXIT" | "RET" | "BRA") && last.guard.is_none(),
                "{name}: {last:?}"
            );
            kernels += 1;
        }
    }
    assert!(kernels > 1000, "{kernels}");
}
