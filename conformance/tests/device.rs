//! Every instruction form against what an H200 gave.

use conformance::{Catalog, Known, Recording, Verdict, verify};
use sim_core::{DeviceConfig, Simulator};

/// What an H200 gives.
const RECORDED: &[u8] = include_bytes!("../../testdata/conformance/sm_90.recording");
/// Instructions that are known to differ, each with its reason.
const KNOWN: &str = include_str!("../../testdata/conformance/differing.txt");
/// Whether an instruction is tried; unoptimised all would take ten minutes, and one of 64 is.
fn is_tried(text: &str) -> bool {
    let hash = text.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    !cfg!(debug_assertions) || hash >> 7 & 63 == 0
}

#[test]
fn results_are_those_of_a_device() {
    let known = Known::parse(KNOWN).unwrap();
    let recording = Recording::from_bytes(RECORDED).unwrap();
    let whole = !cfg!(debug_assertions);
    let catalog = Catalog::new(is_tried);
    let simulator = Simulator::new(DeviceConfig::h200());
    let report = verify(&catalog, &recording, &known, &simulator, whole, &|_| ());
    let differing: Vec<&str> = report
        .cases
        .iter()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Differs(..)))
        .map(|(case, _)| case.text.as_str())
        .collect();
    assert!(report.passed() && report.unknown == 0, "{} unknown, {differing:#?}", report.unknown);
    let equal = report.cases.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Equal)).count();
    println!("{equal} instructions are equal");
    assert!(equal >= if whole { 11_930 } else { 120 }, "only {equal} are compared");
}
