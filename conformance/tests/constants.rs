//! Instructions with constants: what the simulator does with them as an optimiser does it. `bfi.b32` needs rarer ones:
//! `testdata/optimised/constants.ptx` has them.

use std::collections::BTreeSet;

use conformance::Catalog;
use rayon::prelude::*;
use sim_core::{DeviceConfig, Simulator};

/// Opcodes of which no constant changes a result, and some of which one does.
const TRIED: &[&str] = &[
    "abs",
    "add.f",
    "bfe",
    "copysign",
    "cos",
    "cvt.rn.f16.f",
    "div.",
    "ex2",
    "fma.rn.f32",
    "lg2",
    "lop3",
    "mad.hi",
    "max",
    "min",
    "mul.f",
    "neg",
    "prmt",
    "rcp",
    "rsqrt",
    "sad",
    "shf",
    "shl",
    "sin",
    "slct",
    "sqrt",
    "sub.f",
];

/// Those of which few constants do.
const RARE: &[&str] = &["slct.s32.s32"];

/// Those of which constants change results, on an H200 too.
const CHANGED: &[&str] = &[
    "abs.f16x2",
    "abs.f32",
    "bfe.s32",
    "cos.approx.f32",
    "cos.approx.ftz.f32",
    "cvt.rn.f16.f64",
    "div.full.f32",
    "ex2.approx.f32",
    "ex2.approx.ftz.f32",
    "lg2.approx.f32",
    "lg2.approx.ftz.f32",
    "neg.f16x2",
    "neg.f32",
    "neg.f64",
    "neg.ftz.f32",
    "rsqrt.approx.f32",
    "rsqrt.approx.ftz.f32",
    "sin.approx.f32",
    "sin.approx.ftz.f32",
    "slct.s32.s32",
];

#[test]
fn an_optimiser_changes_what_is_known() {
    let catalog = |starts: &[&str], most| {
        Catalog::new(|text| starts.iter().any(|start| text.starts_with(start))).with_constants(most)
    };
    let catalogs = [catalog(TRIED, 300), catalog(RARE, 2000)];
    let [plain, optimised] = [false, true]
        .map(|as_optimised| Simulator::new(DeviceConfig { as_optimised, ..DeviceConfig::h200() }));
    let modules = catalogs.iter().flat_map(|catalog| (0..catalog.modules()).map(move |at| (catalog, at)));
    let changed: BTreeSet<String> = modules
        .collect::<Vec<_>>()
        .into_par_iter()
        .flat_map_iter(|(catalog, module)| {
            let both = catalog.results(module, &plain).into_iter().zip(catalog.results(module, &optimised));
            both.filter_map(|(one, other)| {
                let (one, other) = (one.unwrap(), other.unwrap());
                one.differing(&other)?;
                // The last line is the instruction, the others its constants.
                one.case.text.lines().last().and_then(|line| Some(line.split_once(' ')?.0.to_owned()))
            })
        })
        .collect();
    assert_eq!(changed.iter().map(String::as_str).collect::<Vec<_>>(), CHANGED);
}
