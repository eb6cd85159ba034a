//! How long launches take, against what Nsight Compute read on an H200 (`testdata/timing`), from machine code that is stored.
//!
//! The model's fitted numbers were chosen with the launches of `programs`, `control` and `large`; those of `launches` were held
//! out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sim_core::{DeviceConfig, RunOptions, ToolFactory};
use testkit::part;
use warpgrind::profile::assemble::Resources;
use warpgrind::profile::limit::Limit;
use warpgrind::profile::machine;
use warpgrind::profile::machine::listing::{self, Listing};
use warpgrind::profile::machine::lower::lower;
use warpgrind::profile::machine::ways::{self, Watch};
use warpgrind::profile::residency::Residency;
use warpgrind::profile::time::{self, Chip, Timed, Timing, Untimed, record};
use warpgrind::run::Placed;
use warpgrind::{Options, Plan};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

/// A recorded launch.
#[derive(Clone)]
struct Recorded {
    /// File and number: `programs.3`.
    launch: String,
    values: BTreeMap<String, f64>,
}

impl Recorded {
    fn value(&self, name: &str) -> f64 {
        *self.values.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.launch))
    }
}

fn recorded(name: &str) -> Vec<Recorded> {
    let path = testdata().join(format!("timing/recordings/{name}.csv"));
    let text = std::fs::read_to_string(path).expect("a recording");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let values = |cells: &[&str]| {
        let named = header.iter().zip(cells).skip(2);
        named.map(|(name, cell)| ((*name).to_owned(), cell.parse().expect("a number"))).collect()
    };
    lines.map(|cells| Recorded { launch: cells[0].to_owned(), values: values(&cells) }).collect()
}

fn listings(name: &str) -> BTreeMap<String, Listing> {
    let text = std::fs::read_to_string(testdata().join(format!("counters/machine/{name}.txt")));
    listing::read(&text.expect("machine code")).expect("listings")
}

/// The launches of a file that were recorded, each with how long it takes on an H200 here,
/// from the machine code of that name, or of our making.
fn timed(
    file: &Path,
    code: Option<&str>,
    recorded: &[Recorded],
    jobs: usize,
) -> Vec<(String, Recorded, Timed)> {
    let mut list = Vec::new();
    each_timed(file, code, recorded, jobs, &mut |kernel, of, listing, time| {
        let timed = time(&Chip::h200(), listing).ok();
        list.extend(timed.map(|timed| (kernel.to_owned(), of.clone(), timed)));
    });
    list
}

/// Times a launch on a chip, with the machine code that is given.
type Time<'a> = dyn Fn(&Chip, &Listing) -> Result<Timed, Untimed> + 'a;

/// The same launches; `take` gets the kernel's name, what was recorded, the machine code, and what times the launch.
fn each_timed(
    file: &Path,
    code: Option<&str>,
    recorded: &[Recorded],
    jobs: usize,
    take: &mut dyn FnMut(&str, &Recorded, &Listing, &Time<'_>),
) {
    let plan = Plan::read(file).expect("a launch file");
    let module = plan.module().expect("its PTX");
    let options = Options { jobs, ..Options::default() };
    let (found, asked) = (ways::Found::default(), record::Found::default());
    let (to_ways, to_asked) = (found.clone(), asked.clone());
    let watch = ToolFactory::new(move |shape| Watch::keeping(&to_ways, shape.instructions));
    let most = time::MOST_BLOCKS;
    let timing = Timing { chip: Chip::h200(), blocks: Some(most) };
    let recorder = record::Recorder::factory(&to_asked, &timing, true);
    let run = RunOptions { tools: vec![watch, recorder], ..options.run_options() };
    let backend = options.simulator();
    let placed = Placed::new(&plan, &module, &backend).expect("places");
    let listings = match code {
        Some(code) => listings(code),
        None => {
            let kernels = sim_core::inspect(module.checked());
            let lowered =
                kernels.iter().map(|info| (info.name.to_string(), lower(module.checked(), &info.name)));
            lowered.map(|(name, listing)| (name, listing.expect("a kernel"))).collect()
        }
    };
    for (number, launch) in placed.launches().iter().enumerate() {
        placed.launch(number, &run).expect("runs");
        let ways = found.lock().expect("nobody panicked").drain(..).next_back();
        let asked = asked.lock().expect("nobody panicked").drain(..).next_back();
        let own = format!("{}.{number}", file.file_stem().expect("a name").to_string_lossy());
        let of = recorded.iter().find(|of| of.launch == own);
        let (Some((kernel, ways)), Some((_, asked)), Some(of)) = (ways, asked, of) else { continue };
        let Some(listing) = listings.get(&*kernel) else { continue };
        let info = sim_core::inspect(module.checked());
        let info = info.iter().find(|info| *info.name == *kernel).expect("a kernel");
        let resources = Resources {
            registers: of.value("launch__registers_per_thread") as u32,
            shared: info.shared_bytes as u32,
            ..Resources::default()
        };
        let threads = launch.block.count() as u32;
        let residency = Residency::of(&DeviceConfig::h200(), threads, &resources, launch.shared_bytes);
        let blocks = launch.grid.count() as u64;
        machine::follow_and(listing, &ways, &Limit::default(), |sequence| {
            let (blocks, limit) = ((blocks, most, number == 0), Limit::default());
            let time = |chip: &Chip, listing: &Listing| {
                time::time(chip, listing, &ways, &asked, &residency, blocks, (sequence, &limit))
            };
            take(&kernel, of, listing, &time);
        });
    }
}

fn value(timed: &Timed, name: &str) -> f64 {
    timed.values.iter().find(|(known, _)| known == name).map_or(f64::NAN, |(_, value)| *value)
}

/// Errors of elapsed cycles.
fn compare(files: Vec<(PathBuf, Option<String>, Vec<Recorded>)>) -> Vec<(f64, String)> {
    let mut errors = Vec::new();
    for (file, code, recorded) in files {
        for (kernel, of, timed) in timed(&file, code.as_deref(), &recorded, 0) {
            let (ours, theirs) =
                (value(&timed, "gpc__cycles_elapsed.max"), of.value("gpc__cycles_elapsed.max"));
            let active = "sm__cycles_active.avg";
            println!(
                "{:<18} {kernel:<24} {theirs:>9} {ours:>9} {:+6.1} %, active {:>9.0} {:>9.0}",
                of.launch,
                100.0 * (ours / theirs - 1.0),
                of.value(active),
                value(&timed, active)
            );
            errors.push((ours / theirs - 1.0, of.launch));
        }
    }
    errors
}

/// The mean of errors, and the 90th percentile.
fn mean(errors: &[(f64, String)]) -> (f64, f64) {
    let mut sizes: Vec<f64> = errors.iter().map(|(error, _)| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let ninth = sizes[sizes.len() * 9 / 10];
    println!(
        "{} launches: mean error {:.1} %, nine in ten below {:.1} %",
        sizes.len(),
        100.0 * mean,
        100.0 * ninth
    );
    (mean, ninth)
}

#[test]
fn launches_that_numbers_were_fitted_to() {
    let files = ["programs", "control"].map(|name| {
        (testdata().join(format!("counters/{name}.toml")), Some(name.to_owned()), recorded(name))
    });
    let (mean, ninth) = mean(&compare(files.into()));
    assert!(mean < 0.09 && ninth < 0.20, "{mean} {ninth}");
}

/// Launches that were held out, by the name of their file.
fn held_out() -> BTreeMap<String, Vec<Recorded>> {
    let mut by_file: BTreeMap<String, Vec<Recorded>> = BTreeMap::new();
    for of in recorded("launches") {
        by_file.entry(of.launch.split('.').next().expect("a name").to_owned()).or_default().push(of);
    }
    // Kernels that wait for each other spin as often as the interpreter has them do, and of loops around a compare-and-swap the
    // ways are guesses.
    by_file.retain(|name, _| !["float_order", "objects", "cooperative"].contains(&&**name) && has_code(name));
    by_file
        .values_mut()
        .for_each(|list| list.retain(|of| !["atomics.2", "atomics.3"].contains(&&*of.launch)));
    by_file
}

#[test]
fn launches_that_were_held_out() {
    let files = held_out()
        .into_iter()
        .map(|(name, list)| (testdata().join(format!("launches/{name}.toml")), Some(name), list));
    let (mean, ninth) = mean(&compare(part(4, files).collect()));
    assert!(mean < 0.12 && ninth < 0.25, "{mean} {ninth}");
}

#[test]
fn launches_without_machine_code() {
    let files = held_out()
        .into_iter()
        .map(|(name, list)| (testdata().join(format!("launches/{name}.toml")), None, list));
    let (mean, ninth) = mean(&compare(part(4, files).collect()));
    assert!(mean < 0.25 && ninth < 0.50, "{mean} {ninth}");
}

fn has_code(name: &str) -> bool {
    testdata().join(format!("counters/machine/{name}.txt")).exists()
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes where nothing is optimised")]
fn large_launches() {
    let file = (testdata().join("timing/large.toml"), Some("programs".to_owned()), recorded("large"));
    let (mean, ninth) = mean(&compare(vec![file]));
    assert!(mean < 0.09 && ninth < 0.20, "{mean} {ninth}");
}

#[test]
fn jobs_change_nothing() {
    let file = testdata().join("launches/transpose.toml");
    let recorded: Vec<Recorded> =
        recorded("launches").into_iter().filter(|of| of.launch.starts_with("transpose.")).collect();
    let times = |jobs| -> Vec<_> {
        timed(&file, Some("transpose"), &recorded, jobs)
            .into_iter()
            .map(|(_, _, timed)| timed.values)
            .collect()
    };
    let one = times(1);
    assert!(!one.is_empty());
    assert_eq!(one, times(3));
}

#[test]
fn numbers_of_time_are_known() {
    for name in time::names() {
        assert!(!reports::metric_names::of(&name).what.is_empty(), "{name}");
    }
}

/// Loops around a compare-and-swap in shared memory: cycles of the multiprocessor that has the block, and warp instructions. They
/// were recorded on an H100, whose multiprocessors are those of an H200.
#[test]
fn loops_around_a_compare_and_swap() {
    let file = testdata().join("counters/spins.toml");
    let contended = testdata().join("timing/contended.toml");
    let mut errors = [Vec::new(), Vec::new(), Vec::new()];
    for (file, name) in [(file, "spins"), (contended, "contended")] {
        for (kernel, of, timed) in timed(&file, Some("spins"), &recorded(name), 0) {
            // Loops of the PTX are tried as often as the interpreter has them try; and who gets the maximum first decides how often
            // others try.
            if kernel == "add_float_by_hand" || name == "contended" && kernel == "max_long" {
                continue;
            }
            let error = |ours: f64, theirs: &str| (ours / of.value(theirs) - 1.0, of.launch.clone());
            let cycles = error(value(&timed, "sm__cycles_active.max"), "sm__cycles_active.max");
            let issued = error(value(&timed, "smsp__issue_active.sum"), "smsp__inst_executed.sum");
            println!(
                "{:<14} {:+6.1} % cycles {:+6.1} % instructions of {} {}",
                of.launch,
                100.0 * cycles.0,
                100.0 * issued.0,
                of.value("sm__cycles_active.max"),
                of.value("smsp__inst_executed.sum")
            );
            errors[usize::from(name == "contended")].push(cycles);
            errors[2].extend((name == "contended").then_some(issued));
        }
    }
    let [alone, contended, issued] = errors.map(|errors| mean(&errors).0);
    assert!(alone < 0.15 && contended < 0.35 && issued < 0.35, "{alone} {contended} {issued}");
}

/// A part of the model, and how it is left out of a chip.
type Part = (&'static str, fn(&mut Chip));

const PARTS: [Part; 14] = [
    ("nothing", |_| ()),
    ("fetch of instructions", |chip| {
        (chip.fetch.miss, chip.fetch.next, chip.fetch.cold) = (0.0, 0.0, 0.0);
    }),
    ("jumps, and lanes that come together", |chip| {
        (chip.fetch.jump, chip.fetch.indirect, chip.fetch.meet) = (0.0, 0.0, 0.0);
    }),
    ("misses of constants", |chip| (chip.constant.miss, chip.constant.interval) = (0.0, 0.0)),
    ("tags that misses keep busy", |chip| chip.l1.allocate = 0.0),
    ("the way out of the first level", |chip| chip.l1.out = [0.0, 0.0]),
    ("the far partition of the second level", |chip| {
        (chip.l2.far, chip.l2.atomic_far, chip.l2.narrow) = (0.0, 0.0, 0.0);
    }),
    ("reads that are merged on their way", |chip| chip.l2.merged = 0),
    ("how fast the second level is", |chip| (chip.l2.read, chip.l2.write) = ([0.0, 0.0], [0.0, 0.0])),
    ("few lines that all read, or write", |chip| (chip.l2.slice, chip.l2.rewrite) = (0.0, 0.0)),
    ("atomic operations that wait for each other", |chip| {
        let [each, lanes, ..] = chip.l2.atomic;
        chip.l2.atomic = [each, lanes, 0.0, 0.0, 0.0];
    }),
    ("pages", |chip| chip.dram.page_miss = 0.0),
    ("how blocks and warps begin", |chip| {
        (chip.launch.block_start, chip.launch.warp_start, chip.launch.turnaround) = (0.0, 0.0, 0.0);
        (chip.launch.block_interval, chip.launch.first_interval) = (0.01, 0.01);
        chip.launch.warp_interval = 0.0;
    }),
    ("stores that keep warps from leaving", |chip| chip.l1.leave = 0.0),
];

/// Without what the assembler says of how long to wait: an instruction follows the other, and waits for nothing.
fn without_control(listing: &Listing) -> Listing {
    const STALLS: u32 = 0xf;
    const WAITS: u32 = 0x3f << 11;
    let mut listing = listing.clone();
    listing.instructions.iter_mut().for_each(|of| of.control = of.control & !(STALLS | WAITS) | 1);
    listing
}

/// The table of PROFILE.md: what the errors are without one or the other part of the model.
#[test]
#[ignore = "takes minutes; prints a table"]
fn without_one_part_or_another() {
    let fitted = ["programs", "control"].map(|name| {
        (testdata().join(format!("counters/{name}.toml")), Some(name.to_owned()), recorded(name))
    });
    let held_out = held_out()
        .into_iter()
        .map(|(name, list)| (testdata().join(format!("launches/{name}.toml")), Some(name), list));
    let mut sets: [BTreeMap<&str, Vec<(f64, String)>>; 2] = Default::default();
    for (set, files) in sets.iter_mut().zip([fitted.to_vec(), held_out.collect()]) {
        for (file, code, recorded) in files {
            each_timed(&file, code.as_deref(), &recorded, 0, &mut |_, of, listing, time| {
                let mut add = |part, timed: Result<Timed, Untimed>| {
                    let ours = value(&timed.expect("a time"), "gpc__cycles_elapsed.max");
                    let error = ours / of.value("gpc__cycles_elapsed.max") - 1.0;
                    set.entry(part).or_default().push((error, of.launch.clone()));
                };
                for (part, leave_out) in PARTS {
                    let mut chip = Chip::h200();
                    leave_out(&mut chip);
                    add(part, time(&chip, listing));
                }
                add("stall counts and scoreboards", time(&Chip::h200(), &without_control(listing)));
            });
        }
    }
    println!(
        "| left out | fitted, mean | nine in ten | held out, mean | nine in ten |\n|---|---|---|---|---|"
    );
    for (part, fitted) in &sets[0] {
        let cells = [fitted, &sets[1][part]].map(|errors| {
            let (mean, ninth) = mean(errors);
            format!("{:.1} % | {:.1} %", 100.0 * mean, 100.0 * ninth)
        });
        println!("| {part} | {} |", cells.join(" | "));
    }
}
