//! `warpgrind conformance random`: random kernels on the simulator, beside a device or what one gave.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Instant;

use conformance::random::{Hashes, Kernel, Seed, fingerprint, run, shrink};
use device::{DeviceProcess, OptLevel, Options, Server};
use rayon::ThreadPool;
use rayon::prelude::*;
use serde::Serialize;
use sim_core::{Backend, DeviceConfig, Simulator};
use warpgrind::files::{MAX_TEXT, read_file};

use crate::args::RandomArgs;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::progress::Counted;
use crate::report::{Console, SCHEMA, plural};

/// What an H200 gives.
const RECORDED: &str = include_str!("../recorded/random.txt");

/// Kernels that are tried to make one small.
const ATTEMPTS: usize = 400;

/// Runs the command, kernels on the threads of the pool.
pub(crate) fn random(args: &RandomArgs, pool: &ThreadPool, console: &Console) -> Result<Exit, Failure> {
    if args.ptx {
        for seed in seeds(args, 0..1) {
            console.out(Kernel::new(seed).ptx());
        }
        return Ok(Exit::Clean);
    }
    let start = Instant::now();
    let shown = console.is_human();
    let (device, results) = match args.on_device || args.output.is_some() {
        true => pool.install(|| beside_a_device(args, shown))?,
        false => pool.install(|| against_a_recording(args, shown))?,
    };
    if let Some(path) = &args.output {
        let recorded = results.iter().filter_map(|result| {
            let (unoptimised, optimised) = (result.unoptimised?, result.optimised?);
            let ptx = fingerprint(Kernel::new(result.seed).ptx().as_bytes());
            Some((result.seed, Seed { ptx, unoptimised, optimised, reason: result.reason.clone() }))
        });
        let hashes = Hashes { device: device.clone(), seeds: recorded.collect() };
        files::replace(path, hashes.to_string().as_bytes())?;
    }
    let exit = if results.iter().all(Outcome::passed) { Exit::Clean } else { Exit::Findings };
    show(&device, &results, exit, start, console);
    Ok(exit)
}

fn seeds(args: &RandomArgs, default: Range<u64>) -> Range<u64> {
    args.seeds.clone().unwrap_or(default)
}

/// What came of a seed.
#[derive(Serialize)]
struct Outcome {
    seed: u64,
    /// Hashes of what was left; null where a backend refused. The simulator rounds each product and sum,
    simulator: Option<u64>,
    /// contracts them as an optimiser does,
    contracting: Option<u64>,
    /// and follows what else the optimiser is known to do.
    following: Option<u64>,
    unoptimised: Option<u64>,
    optimised: Option<u64>,
    /// Why the optimised device gives something else, as recorded.
    reason: Option<String>,
    /// Why a backend refused.
    refused: Option<String>,
    /// The device differs from itself.
    order: bool,
    /// The smallest kernel found that differs in the same manner.
    kernel: Option<String>,
}

impl Outcome {
    /// The simulator gives what a device gives that does not optimise.
    fn agrees(&self) -> bool {
        self.simulator.is_some() && self.simulator == self.unoptimised
    }

    /// The simulator that contracts gives what the optimising device gives.
    fn contracts(&self) -> bool {
        self.contracting.is_some() && self.contracting == self.optimised
    }

    /// The simulator that follows the optimiser gives what the optimising device gives.
    fn follows(&self) -> bool {
        self.following.is_some() && self.following == self.optimised
    }

    fn passed(&self) -> bool {
        self.agrees() && (self.follows() || self.reason.is_some() || self.kernel.is_some())
    }
}

/// What a simulator does as the optimiser of a device does it.
#[derive(Clone, Copy, PartialEq)]
enum Like {
    Unoptimised,
    Contracting,
    Optimised,
}

fn simulator(like: Like) -> Simulator {
    let (contraction, as_optimised) = (like != Like::Unoptimised, like == Like::Optimised);
    Simulator::new(DeviceConfig { contraction, as_optimised, ..DeviceConfig::h200() })
}

fn hash(backend: &dyn Backend, kernel: &Kernel) -> Result<u64, String> {
    run(backend, kernel).map(|bytes| fingerprint(&bytes)).map_err(|refusal| refusal.to_string())
}

fn against_a_recording(args: &RandomArgs, shown: bool) -> Result<(String, Vec<Outcome>), Failure> {
    let text = match &args.recording {
        Some(path) => String::from_utf8_lossy(&read_file(path, MAX_TEXT)?).into_owned(),
        None => RECORDED.to_owned(),
    };
    let hashes = Hashes::parse(&text).map_err(|error| Failure::usage(error.to_string()))?;
    let wanted: Vec<_> = hashes
        .seeds
        .iter()
        .filter(|(seed, _)| args.seeds.as_ref().is_none_or(|seeds| seeds.contains(seed)))
        .collect();
    if wanted.is_empty() {
        return Err(Failure::usage("none of these seeds is recorded")
            .help("`--on-device` runs any seed beside a device"));
    }
    let progress = Counted::new(shown, wanted.len(), "kernels");
    let results = wanted.par_iter().map(|&(&seed, known)| {
        let kernel = Kernel::new(seed);
        let other = fingerprint(kernel.ptx().as_bytes()) != known.ptx;
        let refused = other.then(|| "the kernel of this seed is another than the recorded one".to_string());
        let given = |like| hash(&simulator(like), &kernel);
        let plain = given(Like::Unoptimised);
        let outcome = Outcome {
            seed,
            refused: refused.or_else(|| plain.clone().err()),
            simulator: plain.ok(),
            contracting: given(Like::Contracting).ok(),
            following: given(Like::Optimised).ok(),
            unoptimised: Some(known.unoptimised),
            optimised: Some(known.optimised),
            reason: known.reason.clone(),
            order: false,
            kernel: None,
        };
        progress.done();
        outcome
    });
    Ok((hashes.device, results.collect()))
}

thread_local! {
    /// A device for each level, of each thread's own: kernels of several processes overlap.
    static DEVICES: RefCell<Option<[DeviceProcess; 2]>> = const { RefCell::new(None) };
}

fn beside_a_device(args: &RandomArgs, shown: bool) -> Result<(String, Vec<Outcome>), Failure> {
    let open = |level| {
        let program = std::env::current_exe()
            .map_err(|error| Failure::usage(format!("the file of this program is not known: {error}")))?;
        let server = Server { program, args: vec!["serve-device".into()] };
        DeviceProcess::open(server, Options { level, ..args.device.options() }).map_err(Failure::from)
    };
    let first = open(OptLevel::OFF)?;
    let name = format!("{}, {}", first.properties().name, first.driver_version());
    drop(first);
    let seeds: Vec<u64> = seeds(args, 0..100).collect();
    let progress = Counted::new(shown, seeds.len(), "kernels");
    let results: Result<Vec<_>, Failure> = seeds
        .par_iter()
        .map(|&seed| {
            DEVICES.with_borrow_mut(|devices| {
                let devices = match devices {
                    Some(devices) => devices,
                    None => devices.insert([open(OptLevel::OFF)?, open(args.device.compiler.level)?]),
                };
                let outcome = beside(seed, devices, args.no_shrink);
                progress.done();
                Ok(outcome)
            })
        })
        .collect();
    Ok((name, results?))
}

fn beside(seed: u64, [off, on]: &[DeviceProcess; 2], no_shrink: bool) -> Outcome {
    let kernel = Kernel::new(seed);
    let given = |like| hash(&simulator(like), &kernel);
    let plain = given(Like::Unoptimised);
    let (unoptimised, optimised) = (hash(off, &kernel), hash(on, &kernel));
    let refused = [&plain, &unoptimised, &optimised].into_iter().find_map(|one| one.clone().err());
    let mut result = Outcome {
        seed,
        simulator: plain.ok(),
        contracting: given(Like::Contracting).ok(),
        following: given(Like::Optimised).ok(),
        unoptimised: unoptimised.ok(),
        optimised: optimised.ok(),
        reason: None,
        refused,
        order: false,
        kernel: None,
    };
    let agrees = result.agrees();
    if agrees && result.follows() {
        return result;
    }
    // Kernels are made so that no order matters; one that is not would be the generator's mistake.
    let (device, before) = if agrees { (on, result.optimised) } else { (off, result.unoptimised) };
    result.order = (0..3).any(|_| hash(device, &kernel).ok() != before);
    let like = if agrees { Like::Optimised } else { Like::Unoptimised };
    let differs = |kernel: &Kernel| match (hash(&simulator(like), kernel), hash(device, kernel)) {
        (Ok(one), Ok(other)) => one != other,
        (Err(_), Ok(_)) => !agrees,
        _ => false,
    };
    if !result.order && !no_shrink && differs(&kernel) {
        result.kernel = Some(shrink(&kernel, ATTEMPTS, &mut |kernel| differs(kernel)).ptx());
    }
    result
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    device: &'a str,
    kernels: usize,
    equal_unoptimised: usize,
    equal_optimised: usize,
    equal_following: usize,
    differing: Vec<&'a Outcome>,
    seconds: f64,
}

fn show(device: &str, results: &[Outcome], exit: Exit, start: Instant, console: &Console) {
    let count = |find: &dyn Fn(&Outcome) -> bool| results.iter().filter(|&result| find(result)).count();
    let differing: Vec<&Outcome> =
        results.iter().filter(|result| !result.agrees() || !result.follows()).collect();
    let document = Document {
        schema: SCHEMA,
        command: "conformance random",
        exit_code: exit.code(),
        device,
        kernels: results.len(),
        equal_unoptimised: count(&Outcome::agrees),
        equal_optimised: count(&Outcome::contracts),
        equal_following: count(&Outcome::follows),
        differing,
        seconds: start.elapsed().as_secs_f64(),
    };
    if !console.is_human() {
        return console.json(&document);
    }
    for result in &document.differing {
        let what = match (result.agrees(), result.order, &result.reason, &result.refused) {
            (_, true, ..) => "the device differs from itself".to_string(),
            (_, _, _, Some(refused)) => format!("refused: {refused}"),
            (false, ..) => "the simulator differs from the device without optimisation".to_string(),
            (true, _, Some(reason), _) => format!("optimised: {reason}"),
            _ => "the device's optimiser changes the result".to_string(),
        };
        console.out(format!("seed {}: {what}\n", result.seed));
        if let Some(kernel) = &result.kernel {
            console.out(format!("{kernel}\n"));
        }
    }
    console.out(format!(
        "{} on {device}: {} equal without optimisation, {} with it, {} with it and `--as-optimised`; {:.1} s\n",
        plural(document.kernels as u64, "kernel"),
        document.equal_unoptimised,
        document.equal_optimised,
        document.equal_following,
        document.seconds
    ));
}
