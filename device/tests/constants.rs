//! What the optimiser of a real device's compiler makes of instructions with constants: that of the driver beside the
//! simulator, the optimiser off and on, and what the simulator does as optimised.
//!
//! Without a device it says so and passes; with `WARPGRIND_REQUIRE_DEVICE=1` that is a failure. Arguments: the beginning
//! of the instructions, and how many to try of each opcode.

use std::cell::RefCell;
use std::process::ExitCode;

use conformance::Catalog;
use device::{DeviceProcess, OpenError, OptLevel, Options};
use rayon::prelude::*;
use sim_core::{DeviceConfig, Simulator};

/// Instructions of each opcode, if nothing is said.
const MOST: usize = 200;

thread_local! {
    /// A device for each level, of each thread's own: kernels of several processes overlap.
    static DEVICES: RefCell<Option<[DeviceProcess; 2]>> = const { RefCell::new(None) };
}

fn open(level: OptLevel) -> Result<DeviceProcess, OpenError> {
    testkit::device::open(Options { level, ..Options::default() })
}

fn main() -> ExitCode {
    let options = Options { level: OptLevel::FULL, ..Options::default() };
    testkit::device::main("the_optimiser_is_known", "constants were not tried", options, |_, arguments| {
        let start = arguments.first().map_or("", |start| start);
        let most = arguments.get(1).map_or(MOST, |most| most.parse().expect("a number"));
        compare(&Catalog::new(|text| text.starts_with(start)).with_constants(most))
    })
}

/// Compares all cases, says what there is to say, and returns how many differ.
fn compare(catalog: &Catalog) -> usize {
    let simulator = |as_optimised| Simulator::new(DeviceConfig { as_optimised, ..DeviceConfig::h200() });
    let sides = [("without optimisation", simulator(false)), ("with it", simulator(true))];
    let of_module = |module: usize| {
        DEVICES.with_borrow_mut(|devices| {
            let both = || Ok::<_, OpenError>([open(OptLevel::OFF)?, open(OptLevel::FULL)?]);
            let devices = devices.get_or_insert_with(|| both().expect("a device"));
            let mut differing = Vec::new();
            for ((how, simulator), device) in sides.iter().zip(devices) {
                let given = catalog.results(module, simulator);
                for (ours, theirs) in given.into_iter().zip(catalog.results(module, device)) {
                    match (ours, theirs) {
                        (Ok(ours), Ok(theirs)) => differing.extend(
                            ours.differing(&theirs).map(|rows| format!("{how}: {}\n{rows}", ours.case.text)),
                        ),
                        (Ok(ours), Err(error)) => differing.push(format!("{}: {error}\n", ours.case.text)),
                        // What the simulator does not support is listed elsewhere.
                        _ => {}
                    }
                }
            }
            print!("{}", differing.concat());
            differing.len()
        })
    };
    let differing: usize = (0..catalog.modules()).into_par_iter().map(of_module).sum();
    println!("{} cases: {differing} differ", catalog.cases().count());
    differing
}
