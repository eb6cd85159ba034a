//! A matrix product by `wgmma`, and the same with what it must not leave out left out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ptx_frontend::Source;
use sim_core::{Backend, DeviceConfig, Dim3, Launch, RunOptions, Simulator};

/// What is found in a product of 128 rows, as many columns, and 128 between, after `change` of its PTX.
fn found(change: impl Fn(&str) -> String) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/ptx/later/wgmma_gemm.ptx");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = change(&text);
    let parsed = ptx_frontend::parse(Source::new(path.display().to_string(), changed.into_bytes()));
    let module = parsed.module.map(Arc::new).unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module).unwrap();
    let mut params = Vec::new();
    for (name, bytes) in [("a", 128 * 128 * 2), ("b", 128 * 128 * 2), ("c", 128 * 128 * 4)] {
        let buffer = simulator.alloc(bytes, name).unwrap();
        simulator.fill(buffer, bytes, &[0]).unwrap();
        params.extend(buffer.to_le_bytes());
    }
    params.extend([128u32, 128].iter().flat_map(|value| value.to_le_bytes()));
    let launch = Launch::new("wgmma_gemm", Dim3::new(1, 2, 1), Dim3::new(128, 1, 1), params);
    let options = RunOptions { tools: vec![racecheck::tool()], ..RunOptions::default() };
    let report = simulator.launch(id, &launch, &options).unwrap();
    report.findings.iter().map(|finding| finding.kind.name().to_string()).collect()
}

/// Leaves out the lines that hold some word.
fn without(word: &str) -> impl Fn(&str) -> String {
    move |text| text.lines().filter(|line| !line.contains(word)).map(|line| format!("{line}\n")).collect()
}

fn kinds<const N: usize>(kinds: [&str; N]) -> BTreeSet<String> {
    kinds.into_iter().map(String::from).collect()
}

#[test]
fn a_product_needs_its_fences_and_waits() {
    assert_eq!(found(str::to_string), kinds([]));
    assert_eq!(found(without("fence.proxy.async")), kinds(["missing-proxy-fence"]));
    // The accumulators are read too early, and shared memory is written again.
    assert_eq!(found(without("wgmma.wait_group")), kinds(["data-race", "undefined-behavior"]));
    assert_eq!(found(without("wgmma.commit_group")), kinds(["data-race"]));
    // Others may not have written yet, or read on. Where the four warps have issued the product together, what lacks is only
    // that one's fence comes before another's issue.
    assert_eq!(found(without("bar.sync")), kinds(["data-race", "missing-proxy-fence"]));
}
