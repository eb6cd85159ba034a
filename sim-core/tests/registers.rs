//! The estimate of registers a thread beside what ptxas takes.

use sim_core::DeviceConfig;
use std::collections::BTreeMap;
use std::path::Path;

/// Blocks of so many threads whose residency the estimate should get right.
const THREADS: [u32; 3] = [256, 768, 1024];

#[test]
fn registers_are_about_as_many_as_ptxas_takes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/ptx");
    let list = std::fs::read_to_string(folder.join("registers.txt")).unwrap();
    let mut by_file: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        by_file.entry(fields[0]).or_default().insert(fields[1], fields[2].parse().unwrap());
    }
    let h200 = DeviceConfig::h200();
    let (mut kernels, mut error, mut resident, mut fits) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for (file, expected) in by_file {
        let text = std::fs::read(folder.join(file)).unwrap();
        let module = ptx_frontend::parse(ptx_frontend::Source::new(file, text)).module.expect("valid PTX");
        for info in sim_core::inspect(&module.into()) {
            let Some(&said) = expected.get(&*info.name) else { continue };
            let estimate = info.registers.clamp(16, 255);
            kernels += 1;
            error += estimate.abs_diff(said.max(16));
            let equal = THREADS.map(|threads| {
                h200.blocks_per_sm(threads, estimate, 0) == h200.blocks_per_sm(threads, said, 0)
            });
            resident += equal.into_iter().filter(|&equal| equal).count();
            // Which block is the largest that fits decides what programs launch.
            let most = |registers| h200.threads_by_registers(registers).min(h200.threads_per_block);
            fits += usize::from(most(estimate) == most(said));
            if equal != [true; 3] {
                wrong.push(format!("{} {}: {estimate}, ptxas {said}", file, info.name));
            }
        }
    }
    let mean = f64::from(error) / f64::from(kernels);
    let said = format!("{kernels} kernels, {mean:.1} beside, {resident} resident, {fits} fit: {wrong:#?}");
    eprintln!("{said}");
    assert!(kernels >= 120 && mean < 5.7 && resident >= 365, "{said}");
}
