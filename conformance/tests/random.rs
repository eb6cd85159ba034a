//! Random kernels on the simulator: well defined, and with the results of a device.

use conformance::random::{Hashes, Kernel, fingerprint, run};
use rayon::prelude::*;
use sim_core::{DeviceConfig, Simulator};
use testkit::part;

/// What an H200 gave with its optimiser off and on.
const RECORDED: &str = include_str!("../../testdata/conformance/random.txt");

fn result(kernel: &Kernel, contraction: bool, as_optimised: bool) -> u64 {
    let simulator = Simulator::new(DeviceConfig { contraction, as_optimised, ..DeviceConfig::h200() });
    let bytes = run(&simulator, kernel).unwrap_or_else(|error| panic!("{}\n{error}", kernel.ptx()));
    fingerprint(&bytes)
}

/// They are valid, end, fault nowhere, and what is computed does not depend on a schedule.
#[test]
fn kernels_are_well_defined() {
    // An unoptimised build takes some of them.
    let seeds: Vec<u64> = part(10, 1_000_000..1_000_200).collect();
    seeds.into_par_iter().for_each(|seed| {
        let kernel = Kernel::new(seed);
        assert_eq!(kernel, Kernel::new(seed));
        assert_eq!(result(&kernel, true, false), result(&kernel, true, false), "{}", kernel.ptx());
    });
}

/// Each thing that kernels are to have is there.
#[test]
fn kernels_are_wide() {
    let text: String = (0..400).map(|seed| Kernel::new(seed).ptx()).collect();
    for part in [
        "brx.idx",
        "call (y), f0",
        "call (y), %a0",
        "bar.sync 1, 64",
        "bar.arrive",
        "shfl.sync",
        "vote.sync.ballot",
        "match.any.sync",
        "redux.sync",
        "atom.global.cas.b16",
        "red.shared",
        "mma.sync",
        ".tf32.tf32",
        ".s8.",
        ".bf16.bf16",
        "cp.async",
        "ldmatrix",
        "stmatrix",
        "st.global.u8",
        "ld.global.v4",
        "fma.rn.f16x2",
        "add.bf16x2",
        "tanh.approx",
        "bfe.s32",
        "slct",
        "mul.f32",
        "st.local",
        "ld.const",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn results_are_those_of_a_device() {
    let hashes = Hashes::parse(RECORDED).unwrap();
    let seeds: Vec<_> = part(10, &hashes.seeds).collect();
    seeds.into_par_iter().for_each(|(&seed, known)| {
        let kernel = Kernel::new(seed);
        assert_eq!(fingerprint(kernel.ptx().as_bytes()), known.ptx, "the kernel of seed {seed} is another");
        assert_eq!(result(&kernel, false, false), known.unoptimised, "seed {seed} without optimisation");
        let optimised = result(&kernel, true, true) == known.optimised;
        assert!(optimised || known.reason.is_some(), "seed {seed} with optimisation");
    });
}
