//! The kernels of `testdata/racecheck` under several schedules: no race is missed, none is invented.
//!
//! A line `//@ race KIND...` or `//@ clean` before a kernel says what has to be found there; a verdict may not depend on
//! the schedule.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_frontend::{Module, Source};
use sim_core::{
    AsyncPolicy, Backend, DeviceConfig, Dim3, Finding, Launch, LaunchReport, Outcome, RunOptions, Simulator,
};

/// What a directive says.
#[derive(Debug)]
struct Kernel {
    name: String,
    /// Empty for a clean one.
    kinds: BTreeSet<String>,
    grid: Dim3,
    block: Dim3,
    cooperative: bool,
}

impl Kernel {
    fn launch(&self, params: Vec<u8>) -> Launch {
        Launch {
            kernel: (&*self.name).into(),
            grid: self.grid,
            cluster: None,
            block: self.block,
            shared_bytes: 0,
            params,
            cooperative: self.cooperative,
        }
    }
}

fn extents(text: &str) -> Dim3 {
    let mut parts = text.split(',').map(|part| part.parse().expect("a number"));
    Dim3::new(parts.next().expect("an extent"), parts.next().unwrap_or(1), parts.next().unwrap_or(1))
}

/// The kernels of a CUDA source, by its directives.
fn kernels(source: &str) -> Vec<Kernel> {
    let mut found = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let Some(directive) = line.strip_prefix("//@ ") else { continue };
        let declared = lines.next().expect("a kernel after its directive");
        let name =
            declared.split_once("void ").and_then(|(_, rest)| rest.split_once('(')).expect("a kernel").0;
        let mut kernel = Kernel {
            name: name.into(),
            kinds: BTreeSet::new(),
            grid: Dim3::ONE,
            block: Dim3::ONE,
            cooperative: false,
        };
        let mut words = directive.split(' ');
        let verdict = words.next();
        while let Some(word) = words.next() {
            match word {
                "grid" => kernel.grid = extents(words.next().expect("blocks")),
                "block" => kernel.block = extents(words.next().expect("threads")),
                "cooperative" => kernel.cooperative = true,
                kind => assert!(kernel.kinds.insert(kind.into())),
            }
        }
        assert_eq!(verdict, Some(if kernel.kinds.is_empty() { "clean" } else { "race" }), "{line}");
        found.push(kernel);
    }
    found
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

fn module(path: &Path) -> Arc<Module> {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let parsed = ptx_frontend::parse(Source::new(path.display().to_string(), text));
    parsed.module.map(Arc::new).unwrap_or_else(|| panic!("{}: {:?}", path.display(), parsed.diagnostics))
}

fn run(module: &Arc<Module>, kernel: &Kernel, options: &RunOptions) -> LaunchReport {
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module.clone()).unwrap();
    let mut params = Vec::new();
    for name in ["a", "b"] {
        let buffer = simulator.alloc(4 * 4096, name).unwrap();
        simulator.fill(buffer, 4 * 4096, &[0]).unwrap();
        params.extend(buffer.to_le_bytes());
    }
    let launch = kernel.launch(params);
    simulator.launch(id, &launch, options).unwrap()
}

fn options(seed: u64, jobs: usize) -> RunOptions {
    RunOptions {
        seed,
        jobs,
        tools: vec![racecheck::tool()],
        max_instructions: Some(3_000_000),
        ..RunOptions::default()
    }
}

fn kinds(findings: &[Finding]) -> BTreeSet<String> {
    findings.iter().map(|finding| finding.kind.name().to_string()).collect()
}

/// Schedules: seed and jobs.
const SCHEDULES: [(u64, usize); 6] = [(0, 1), (0, 2), (1, 1), (2, 1), (3, 2), (4, 1)];

#[test]
fn every_race_is_found_and_none_invented() {
    let mut wrong = Vec::new();
    // Racy and found, racy and missed, clean and silent, clean and not.
    let mut matrix = [0; 4];
    for file in [
        "barrier",
        "warp",
        "flag",
        "atomic",
        "size",
        "grid",
        "mbarrier",
        "copy",
        "cluster",
        "bulk",
        "tensor_map",
        "launches",
    ] {
        let source = std::fs::read_to_string(testdata().join(format!("racecheck/{file}.cu"))).unwrap();
        let module = module(&testdata().join(format!("ptx/racecheck/{file}.ptx")));
        for kernel in kernels(&source) {
            let mut right = true;
            for (seed, jobs) in SCHEDULES {
                let report = run(&module, &kernel, &options(seed, jobs));
                let found = kinds(&report.findings);
                if found != kernel.kinds || report.outcome != Outcome::Completed {
                    right = false;
                    let findings: Vec<_> = report.findings.iter().map(|f| (&f.message, &f.notes)).collect();
                    wrong.push(format!(
                        "{file}::{} with seed {seed} and {jobs} jobs: {:?}, found {found:?}, wanted {:?}: {findings:#?}",
                        kernel.name, report.outcome, kernel.kinds
                    ));
                }
            }
            matrix[2 * usize::from(kernel.kinds.is_empty()) + usize::from(!right)] += 1;
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {}", wrong.len(), wrong.join("\n"));
    assert!(matrix[0] >= 80 && matrix[2] >= 75, "{matrix:?}");
}

/// What a kernel of asynchronous operations leaves in its memory under a policy.
fn outcome(module: &Arc<Module>, kernel: &Kernel, asynchrony: AsyncPolicy, seed: u64) -> Vec<u8> {
    const BYTES: usize = 4 * 4096;
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module.clone()).unwrap();
    let buffers = ["a", "b"].map(|name| simulator.alloc(BYTES as u64, name).unwrap());
    let words = (1..=BYTES as u32 / 4).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let mut params = Vec::new();
    for buffer in buffers {
        simulator.write(buffer, &words).unwrap();
        params.extend(buffer.to_le_bytes());
    }
    let launch = kernel.launch(params);
    let options =
        RunOptions { asynchrony, seed, jobs: 1, max_instructions: Some(3_000_000), ..Default::default() };
    let report = simulator.launch(id, &launch, &options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{}: {:?}", kernel.name, report.findings);
    let mut bytes = vec![0; 2 * BYTES];
    let (a, b) = bytes.split_at_mut(BYTES);
    simulator.read(buffers[0], a).unwrap();
    simulator.read(buffers[1], b).unwrap();
    bytes
}

/// A kernel without races computes the same whenever its asynchronous operations are done. With operations as late as can be,
/// or by some seed, most racy ones show what they lack.
#[test]
fn operations_done_late_show_what_racy_kernels_lack() {
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for file in ["copy", "bulk", "mbarrier"] {
        let source = std::fs::read_to_string(testdata().join(format!("racecheck/{file}.cu"))).unwrap();
        let module = module(&testdata().join(format!("ptx/racecheck/{file}.ptx")));
        for kernel in kernels(&source) {
            let eager = outcome(&module, &kernel, AsyncPolicy::Eager, 0);
            let random = (1..=20).map(|seed| (AsyncPolicy::Random, seed));
            let differs = [(AsyncPolicy::Late, 0)]
                .into_iter()
                .chain(random)
                .find(|&(policy, seed)| outcome(&module, &kernel, policy, seed) != eager);
            if kernel.kinds.is_empty() {
                assert_eq!(differs, None, "{file}::{} waits for all", kernel.name);
            } else {
                (if differs.is_some() { &mut shown } else { &mut hidden }).push(kernel.name);
            }
        }
    }
    // What is stored under a copy is overwritten however late it is. The simulator has one proxy, and what has been read is
    // written, too; a warp's stores are done in the order of lanes.
    assert_eq!(
        hidden,
        [
            "writes_where_a_copy_goes",
            "stores_without_a_fence",
            "only_the_issuer_fences",
            "reads_the_target_when_only_read",
            "two_warps_store_the_same",
            "a_warp_stores_two_things",
        ]
    );
    assert!(shown.len() >= 18, "{shown:?}");
}

fn findings(file: &str, name: &str) -> Vec<Finding> {
    let source = std::fs::read_to_string(testdata().join(format!("racecheck/{file}.cu"))).unwrap();
    let module = module(&testdata().join(format!("ptx/racecheck/{file}.ptx")));
    let kernel = kernels(&source).into_iter().find(|kernel| kernel.name == name).expect("the kernel");
    run(&module, &kernel, &options(0, 1)).findings
}

#[test]
fn the_help_says_what_is_missing() {
    let (released, between_blocks) = ("nothing releases it", "`__threadfence()` after this access");
    let cases = [
        ("atomic", "lock_without_fences", released, true),
        ("atomic", "lock_without_fences", between_blocks, true),
        ("atomic", "lock_released_without_fence", released, true),
        ("atomic", "lock_taken_without_fence", "does not acquire it", true),
        ("atomic", "lock_between_warps_without_fences", "`__threadfence_block()` after this access", true),
        ("atomic", "lock_between_warps_without_fences", "barrier", false),
        ("atomic", "two_locks_for_one_place", released, false),
        ("atomic", "ticket_without_fences", released, true),
        ("flag", "flag_relaxed_no_fence", released, true),
        ("flag", "flag_plain", released, false),
        ("grid", "own_grid_barrier_without_fences", released, true),
    ];
    for (file, kernel, text, expected) in cases {
        let findings = findings(file, kernel);
        let help: Vec<&String> = findings.iter().flat_map(|finding| &finding.help).collect();
        let said = help.iter().any(|help| help.contains(text));
        assert_eq!(said, expected, "{kernel}: {text:?} in {help:#?}");
    }
}

#[test]
fn an_unrolled_loop_is_one_finding() {
    let findings = findings("barrier", "unrolled_without_a_barrier");
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert!(findings[0].count >= 16, "{}", findings[0].count);
    let also = findings[0].notes.iter().find(|note| note.starts_with("also at the PTX lines"));
    assert!(also.is_some_and(|note| note.ends_with("and 11 more pairs")), "{:#?}", findings[0].notes);
}
