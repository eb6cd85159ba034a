//! Machine instructions against what Nsight Compute read on an H200 (`testdata/counters`), from machine code that is stored
//! beside the recordings.

mod recordings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use recordings::{Recorded, recorded, testdata};
use sim_core::ToolFactory;
use testkit::part;
use warpgrind::profile::assemble::{Assembler, Disassembler};
use warpgrind::profile::limit::Limit;
use warpgrind::profile::machine;
use warpgrind::profile::machine::listing::{self, Listing};
use warpgrind::profile::machine::ways::{Found, Watch, Ways};
use warpgrind::{Options, Plan};

/// The launch files whose launches were recorded, with the recording's name.
fn files() -> Vec<(PathBuf, String, Vec<Recorded>)> {
    let mut by_file: BTreeMap<String, Vec<Recorded>> = BTreeMap::new();
    for of in recorded("launches") {
        let file = of.launch.split('.').next().expect("a name").to_owned();
        by_file.entry(file).or_default().push(of);
    }
    let launches = by_file.into_iter().map(|(name, list)| ("launches", name, list));
    // The long ones come last.
    let counters = ["spins", "control", "programs"].map(|name| ("counters", name.to_owned(), recorded(name)));
    let place = |folder: &str, name: &str| testdata().join(format!("{folder}/{name}.toml"));
    launches.chain(counters).map(|(folder, name, list)| (place(folder, &name), name, list)).collect()
}

fn stored(name: &str) -> PathBuf {
    testdata().join(format!("counters/machine/{name}.txt"))
}

/// The kernels and ways of each launch of a launch file.
fn ways(file: &Path) -> Vec<(String, Ways)> {
    let plan = Plan::read(file).expect("a launch file");
    let module = plan.module().expect("its PTX");
    let options = Options::default();
    let found = Found::default();
    let sink = found.clone();
    let watch = ToolFactory::new(move |shape| Watch::new(&sink, shape.instructions));
    let run = sim_core::RunOptions { tools: vec![watch], ..options.run_options() };
    plan.run(&module, &run, &options.simulator()).expect("runs");
    drop(run);
    let list = std::mem::take(&mut *found.lock().expect("nobody panicked"));
    list.into_iter().map(|(kernel, ways)| (kernel.to_string(), ways)).collect()
}

/// Writes the machine code that is stored: `cargo test -p warpgrind --test machine -- --ignored`, with `CUDA_HOME`.
#[test]
#[ignore = "needs NVIDIA's tools"]
fn store_machine_code() {
    let assembler = Assembler::find(None, &Limit::default()).expect("ptxas");
    let disassembler = Disassembler::find(None, &assembler).expect("nvdisasm");
    std::fs::create_dir_all(testdata().join("counters/machine")).expect("a folder");
    for (file, name, recorded) in files() {
        let module = Plan::read(&file).expect("a launch file").module().expect("its PTX");
        let target = machine_target(&module.checked().target.to_string());
        let mut all: BTreeMap<String, Listing> = BTreeMap::new();
        for source in &module.checked().sources {
            all.extend(disassembler.listings(&assembler, source.text.as_bytes(), target).expect("assembles"));
        }
        let of = |kernel: &str| {
            recorded.iter().any(|of| reports::readable(kernel).split('(').next() == Some(&of.kernel))
        };
        all.retain(|kernel, _| of(kernel));
        std::fs::write(stored(&name), listing::write(&all)).expect("writes");
    }
}

fn machine_target(target: &str) -> &'static str {
    if target.ends_with("90a") { "sm_90a" } else { "sm_90" }
}

/// All other instructions of these are equal.
const BSYNC: &str = "how often lanes that wait for others issue `BSYNC`";

/// What a kernel's numbers must not be compared in, and why: the kernel, a part of the metric's name, the reason.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("arithmetic_f32", "", "a quotient of operands that take the long way, which the PTX does not say"),
    ("functions", "", "the same"),
    ("math_f32_exact", "", "the same"),
    ("mandelbrot", "smsp__inst_executed", BSYNC),
    ("mandelbrot", "smsp__thread_inst_executed", BSYNC),
    ("mandelbrot_rgba", "", "a jump through a table, with thousands of guesses, and the same"),
    ("atomics_float", "", "a loop around a compare-and-swap: who comes first"),
    ("atomic_max_float", "", "the same; the device counts otherwise each time"),
    ("grid_total", "", "waits for other blocks in a loop"),
    (
        "recurse",
        "",
        "the device says it in two ways: 7 stores in one of its passes, 2 in another; here they are 10",
    ),
    ("recursion", "", "a recursion that ptxas partly writes out: not known which calls"),
    ("nested", "smsp__inst_executed", BSYNC),
    ("nested", "thread_inst_executed", BSYNC),
    ("early_exit", "smsp__inst_executed", BSYNC),
    ("early_exit", "smsp__thread_inst_executed", BSYNC),
    ("scan_blelloch", "pred_o", "guarded accesses of a loop: not known why"),
    ("scan_blelloch", "smsp__sass_inst_executed_op_shared", "the same"),
    ("lane_loops", "smsp__thread_inst_executed.sum", "the device says it in two ways, of which one is ours"),
    ("convolve", "global_ld_pred", "the same"),
    ("gemm_tiled", "global_ld_pred", "the same"),
    ("scan_hillis_steele", "shared_ld_pred", "the same"),
    ("6 add_float", "smsp__thread_inst_executed", "the device says it in two ways, of which one is ours"),
    ("16 add_float", "smsp__thread_inst_executed", "the same"),
    ("32 add_double", "smsp__thread_inst_executed", "the same"),
    ("46 add_long", "smsp__thread_inst_executed", "the same"),
    ("add_float_often", "smsp__thread_inst_executed", "the same"),
    ("60 add_float_often", "", BSYNC),
    ("40 max_long", "", "when lanes see that others have changed enough: one turn later here"),
    ("add_float_by_hand", "", "lanes that come to a `YIELD` one by one issue it twice"),
];

/// Compares the numbers of all recorded launches.
#[test]
fn machine_instructions_are_those_of_a_device() {
    let (mut equal, mut other, mut unsaid, mut excused) = (0, String::new(), 0, 0);
    for (file, name, recorded) in part(4, files()) {
        let text = std::fs::read_to_string(stored(&name)).expect("machine code");
        let listings = listing::read(&text).expect("listings");
        for ((kernel, ways), of) in ways(&file).iter().zip(&recorded) {
            let listing = listings.get(kernel).cloned().unwrap_or_default();
            let followed = machine::follow(&listing, ways);
            let ours: BTreeMap<&str, u64> = match followed.warps.1 {
                0 => machine::metrics::metrics(&listing, &followed).into_iter().collect(),
                _ => BTreeMap::new(),
            };
            for metric in machine::metrics::names() {
                let Some(&theirs) = of.values.get(metric) else { continue };
                let launch = format!("{} {}", of.launch, of.kernel);
                let known = DIFFERENT.iter().find(|(kernel, part, _)| {
                    (of.kernel == *kernel || launch == *kernel) && metric.contains(part)
                });
                match ours.get(metric) {
                    Some(&ours) if ours == theirs => equal += 1,
                    None => unsaid += 1,
                    Some(_) if known.is_some() => excused += 1,
                    Some(ours) => {
                        other +=
                            &format!("{} {}: {metric} {ours}, the device {theirs}\n", of.launch, of.kernel);
                    }
                }
            }
        }
    }
    let different = other.lines().count();
    eprintln!(
        "{equal} pairs are equal, {excused} named ones and {different} others are not, {unsaid} are not said"
    );
    assert!(other.is_empty(), "{other}");
    // What is not said any more would be missed otherwise.
    assert!(equal >= if cfg!(debug_assertions) { 1_000 } else { 12_430 }, "only {equal} pairs are equal");
}
