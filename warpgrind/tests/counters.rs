//! Counters of memory against what Nsight Compute read on an H200 (`testdata/counters`).

mod recordings;

use std::collections::BTreeMap;
use std::path::Path;

use recordings::{Recorded, recorded, testdata};
use warpgrind::{Options, Plan};

/// What is not equal, and why: the kernel's name, or its beginning with a star behind it, a part of the metric's, the reason.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "*",
        "t_output_wavefronts",
        "the part of the tags depends on where buffers lie; of `cp.async` it is not known",
    ),
    ("atom_*", "t_sectors", "one pattern of some in which a wavefront takes fewer lanes than it could"),
    ("red_*", "t_sectors", "the same"),
    ("histogram_global", "t_sectors", "the same, 1.6 % too few"),
    ("cp_async_16", "", "lanes that read one bank of several lines"),
    ("cp_async_8", "", "the same"),
    ("cp_async_4", "", "the same"),
    (
        "cp_async_cg_16",
        "",
        "past the first level: how parts of lines go together is known for whole lines only",
    ),
    ("shared_*", "ideal", "what Nsight Compute takes for the least of a loop around a compare-and-swap"),
    ("719 shared_atom_add_u64", "", "which lanes of one bank succeed first"),
    ("add_double", "ideal", "the same as of `shared_*`"),
    ("add_double", "excessive", "the same"),
    ("add_long", "ideal", "the same"),
    ("add_long", "excessive", "the same"),
    ("40 max_long", "shared", "when lanes see that others have changed enough: one turn later here"),
    ("54 add_float_by_hand", "l1tex__data", "arbitration between warps"),
    ("60 add_float_often", "l1tex__data", "the same"),
    (
        "113 shared_load_v4",
        "",
        "a half of which one lane of each pair takes part: Nsight Compute derives one wavefront more",
    ),
    ("sum_shared", "bank_conflicts", "arbitration between warps"),
    ("gemm_4x4", "shared", "ptxas makes one load of 16 bytes of four"),
    ("gemm_8x4", "shared", "the same"),
    ("gemm_tiled", "shared", "the same"),
    ("reduce_interleaved", "shared", "ptxas keeps a value that was stored"),
    ("reduce_last_block", "shared", "the same"),
    ("scan_blelloch", "shared", "the same"),
    ("recursion", "", "ptxas makes another recursion"),
    ("cluster", "", "shared memory of another block"),
    ("atomics_float", "", "a loop whose turns depend on who comes first"),
    ("atomic_max_float", "", "the same"),
    ("grid_total", "", "waits for other blocks in a loop"),
    ("generic_sums", "", "ptxas loads what is constant once"),
    ("shapes", "", "`malloc` in a kernel: the device's own code"),
    ("recurse", "", "calls through pointers"),
    ("tree_sort", "", "launches and `malloc` by kernels"),
];

/// The totals of each launch of a launch file.
fn counted(file: &Path) -> Vec<BTreeMap<String, u64>> {
    let plan = Plan::read(file).expect("a launch file");
    let module = plan.module().expect("its PTX");
    let options = Options { tools: vec![tools::Tool::Counters], ..Options::default() };
    let report = plan.run(&module, &options.run_options(), &options.simulator()).expect("runs");
    let launches = report.launches.into_iter();
    launches
        .map(|launch| {
            let metrics = launch.metrics.into_iter().flat_map(|metrics| metrics.totals);
            metrics.map(|metric| (metric.name.into_owned(), metric.value)).collect()
        })
        .collect()
}

/// Compares what both have; says what is not equal.
fn compare(recorded: &[Recorded], counted: &[BTreeMap<String, u64>]) -> String {
    assert_eq!(recorded.len(), counted.len());
    let mut text = String::new();
    let mut equal = 0;
    for (recorded, counted) in recorded.iter().zip(counted) {
        for (name, value) in &recorded.values {
            // Nothing is said of what a launch has none of.
            let known = counted.keys().any(|known| known == name);
            // Of local memory the patterns declare all that there is.
            let local = name.replace("l1tex__t_", "ptx__local_").replace("pipe_lsu_mem_local_", "");
            let known = known || name.contains("mem_local") && recorded.kernel.starts_with("local_memory");
            let name = if name.contains("mem_local") { &local } else { name };
            let ours = counted.get(name).copied().unwrap_or(0);
            let compares = known || name.starts_with("l1tex__t_") && name.contains("global");
            if !compares {
                continue;
            }
            let excused = DIFFERENT.iter().any(|(kernel, metric, _)| {
                let same = match kernel.strip_suffix('*') {
                    Some(start) => recorded.kernel.starts_with(start),
                    None => {
                        recorded.kernel == *kernel
                            || format!("{} {}", recorded.launch, recorded.kernel) == *kernel
                    }
                };
                same && name.contains(metric)
            });
            if ours == *value {
                equal += 1;
            } else if !excused {
                text +=
                    &format!("{} {}: {name} {ours}, the device {value}\n", recorded.launch, recorded.kernel);
            }
        }
    }
    eprintln!("{equal} pairs are equal");
    text
}

#[test]
fn patterns_of_addresses_cost_what_they_do_on_a_device() {
    let mut different = String::new();
    for name in ["patterns", "patterns_more", "spins"] {
        let counted = counted(&testdata().join(format!("counters/{name}.toml")));
        different += &compare(&recorded(name), &counted);
    }
    assert!(different.is_empty(), "{} lines\n{different}", different.lines().count());
}

#[test]
fn kernels_cost_what_they_do_on_a_device() {
    let mut different = String::new();
    for name in ["programs", "control"] {
        let counted = counted(&testdata().join(format!("counters/{name}.toml")));
        different += &compare(&recorded(name), &counted);
    }
    assert!(different.is_empty(), "{} lines\n{different}", different.lines().count());
}

#[test]
fn launch_files_cost_what_they_do_on_a_device() {
    let all = recorded("launches");
    let mut different = String::new();
    for file in all.chunk_by(|a, b| a.launch.split('.').next() == b.launch.split('.').next()) {
        let name = file[0].launch.split('.').next().expect("a name");
        different += &compare(file, &counted(&testdata().join(format!("launches/{name}.toml"))));
    }
    assert!(different.is_empty(), "{} lines\n{different}", different.lines().count());
}

/// What depends on resources alone, from the registers and the shared memory that the recording names.
#[test]
fn launches_take_what_they_do_on_a_device() {
    use sim_core::{DeviceConfig, Dim3, Launch};
    use warpgrind::profile::Profile;
    use warpgrind::profile::assemble::Resources;
    let device = DeviceConfig::h200();
    let (mut equal, mut different) = (0, String::new());
    for name in ["occupancy", "programs", "control", "launches"] {
        for recorded in recorded(name) {
            let of =
                |name: &str| recorded.values.get(&format!("launch__{name}")).copied().unwrap_or(0) as u32;
            let launch = Launch {
                kernel: recorded.kernel.as_str().into(),
                grid: Dim3::new(of("grid_size"), 1, 1),
                block: Dim3::new(of("block_size"), 1, 1),
                cluster: None,
                shared_bytes: of("shared_mem_per_block_dynamic"),
                params: Vec::new(),
                cooperative: false,
            };
            let resources = Resources {
                registers: of("registers_per_thread"),
                shared: of("shared_mem_per_block_static"),
                barriers: of("barrier_count"),
                ..Resources::default()
            };
            let profile = Profile::new(&device, &launch, &resources, None);
            for (metric, value) in &recorded.values {
                let Some(ours) = profile.value(metric).filter(|_| !metric.contains("cluster")) else {
                    continue;
                };
                // It has half of the shared memory that it would have otherwise; why is not known.
                let known = recorded.kernel == "atomic_max_float"
                    && (metric.contains("config_size") || metric.contains("limit_shared_mem"));
                if ours as u64 == *value {
                    equal += 1;
                } else if !known {
                    different +=
                        &format!("{name} {}: {metric} {ours}, the device {value}\n", recorded.kernel);
                }
            }
        }
    }
    eprintln!("{equal} pairs are equal");
    assert!(different.is_empty(), "{different}");
}
