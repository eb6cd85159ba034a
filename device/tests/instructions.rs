//! Runs the instruction tests of `testdata/instructions/` on a real device and compares with the same expectations as
//! the simulator's.
//!
//! Without a device it says so and passes; with `WARPGRIND_REQUIRE_DEVICE=1` that is a failure. The program runs
//! alone, too, where there is neither cargo nor the source tree: `cargo test -p warpgrind-device --release --test
//! instructions --no-run` builds it, `WARPGRIND_TESTDATA` names the folder `testdata`. An argument runs the cases
//! whose file or name contains it.

use std::process::ExitCode;
use std::time::Duration;

use device::{DeviceProcess, Options, Placement};
use sim_core::RunOptions;
use testkit::case::{self, OnDevice};
use testkit::executor::{self, same};

/// What a case may take; those that never end are part of the tests.
const LIMIT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let options = Options { placement: Placement::Guarded, ..Options::default() };
    testkit::device::main("the_device_agrees", "the instruction tests did not run", options, compare)
}

/// Runs the cases, says what there is to say, and returns how many failed.
fn compare(device: &DeviceProcess, arguments: &[String]) -> usize {
    let filter = arguments.first();
    let options = RunOptions { timeout: Some(LIMIT), ..RunOptions::default() };
    let (mut agree, mut known, mut failures) = (0, 0, 0);
    // What the optimiser makes, too.
    for (name, text) in executor::files().into_iter().chain(executor::files_in("optimised")) {
        let module = executor::module(&name, &text);
        let cases = case::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for case in cases {
            let title = format!("{name} {}", case.entry);
            if filter.is_some_and(|filter| !title.contains(filter.as_str())) {
                continue;
            }
            let result =
                module.clone().and_then(|module| executor::run(device, module, &case, &options, same::class));
            match (result, &case.device) {
                (Ok(()), None) => agree += 1,
                (Err(_), Some((OnDevice::Differs, reason))) | (_, Some((OnDevice::Undefined, reason))) => {
                    known += 1;
                    println!("{title}: not compared: {reason}");
                }
                (Ok(()), Some((OnDevice::Differs, reason))) => {
                    failures += 1;
                    println!("{title}: FAILED: agrees, though it is marked as different: {reason}");
                }
                (Err(message), None) => {
                    failures += 1;
                    println!("{title}: FAILED\n  {message}");
                }
            }
        }
    }
    println!("{agree} cases agree, {known} are known to differ, {failures} fail");
    failures
}
