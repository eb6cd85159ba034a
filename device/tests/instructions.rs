//! Runs the instruction tests of `testdata/instructions/` on a real device and compares with the same expectations as
//! the simulator's.
//!
//! Without a device it says so and passes; with `WARPGRIND_REQUIRE_DEVICE=1` that is a failure. The program runs
//! alone, too, where there is neither cargo nor the source tree: `cargo test -p warpgrind-device --release --test
//! instructions --no-run` builds it, `WARPGRIND_TESTDATA` names the folder `testdata`. An argument runs the cases
//! whose file or name contains it.

#[path = "../../sim-core/tests/support/case.rs"]
#[allow(dead_code, reason = "the simulator's tests use the rest")]
mod case;
#[path = "../../sim-core/tests/support/executor.rs"]
mod executor;

use std::process::ExitCode;
use std::time::Duration;

use case::OnDevice;
use device::{DeviceProcess, Options, Placement, Server};
use sim_core::{FindingKind, RunOptions};

/// How this program is asked to be the process that uses the device.
const SERVE: &str = "--serve-device";
/// What a case may take; those that never end are part of the tests.
const LIMIT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    // Cargo's test runners pass options of their own, such as `--nocapture`.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if std::env::args().any(|argument| argument == SERVE) {
        return match device::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    if std::env::args().any(|argument| argument == "--list") {
        println!("the_device_agrees: test");
        return ExitCode::SUCCESS;
    }
    let program = std::env::current_exe().expect("the path of this program");
    let server = Server { program, args: vec![SERVE.into()] };
    let device =
        match DeviceProcess::open(server, Options { placement: Placement::Guarded, ..Options::default() }) {
            Ok(device) => device,
            Err(error) if std::env::var_os("WARPGRIND_REQUIRE_DEVICE").is_none_or(|value| value == "0") => {
                println!("SKIPPED: the instruction tests did not run on a device: {error}");
                return ExitCode::SUCCESS;
            }
            Err(error) => {
                println!("FAILED: {error}");
                return ExitCode::FAILURE;
            }
        };
    println!("{}, driver for {}", device.properties().name, device.driver_version());
    let failures = compare(&device, filter.as_deref());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the cases, says what there is to say, and returns how many failed.
fn compare(device: &DeviceProcess, filter: Option<&str>) -> usize {
    let options = RunOptions { timeout: Some(LIMIT), ..RunOptions::default() };
    let (mut agree, mut known, mut failures) = (0, 0, 0);
    // What the optimiser makes, too.
    for (name, text) in executor::files().into_iter().chain(executor::files_in("optimised")) {
        let module = executor::module(&name, &text);
        let cases = case::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for case in cases {
            let title = format!("{name} {}", case.entry);
            if filter.is_some_and(|filter| !title.contains(filter)) {
                continue;
            }
            let result =
                module.clone().and_then(|module| executor::run(device, module, &case, &options, same_class));
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

/// Whether the finding of a device stands for the simulator's finding `expected`.
fn same_class(found: FindingKind, expected: &str) -> bool {
    let expected = FindingKind::ALL.iter().find(|kind| kind.name() == expected);
    found.class().is_some() && expected.is_some_and(|expected| expected.class() == found.class())
}
