//! The frame of test programs that run on a real device: without libtest, since the device is left to a process of its own,
//! which is the same program.

use std::process::ExitCode;

use device::{DeviceProcess, OpenError, Options, Server};

/// How a program is asked to be the process that uses the device.
const SERVE: &str = "--serve-device";

/// Opens the device in a process of this program.
///
/// # Errors
/// There is no device that can do it.
///
/// # Panics
/// If the path of this program is not known.
pub fn open(options: Options) -> Result<DeviceProcess, OpenError> {
    let program = std::env::current_exe().expect("the path of this program");
    DeviceProcess::open(Server { program, args: vec![SERVE.into()] }, options)
}

/// The `main` of a test program with one test of this name. `compare` is given the device and the arguments that are no
/// options, says what there is to say, and returns how many cases failed.
///
/// Without a device it says so and passes; with `WARPGRIND_REQUIRE_DEVICE=1` that is a failure. `what` did not run then.
pub fn main(
    name: &str,
    what: &str,
    options: Options,
    compare: impl FnOnce(&DeviceProcess, &[String]) -> usize,
) -> ExitCode {
    let has = |option: &str| std::env::args().any(|argument| argument == option);
    if has(SERVE) {
        return match device::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    if has("--list") {
        println!("{name}: test");
        return ExitCode::SUCCESS;
    }
    let device = match open(options) {
        Ok(device) => device,
        Err(error) if std::env::var_os("WARPGRIND_REQUIRE_DEVICE").is_none_or(|value| value == "0") => {
            println!("SKIPPED: {what} on a device: {error}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            println!("FAILED: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}, driver for {}", device.properties().name, device.driver_version());
    // Cargo's test runners pass options of their own, such as `--nocapture`.
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match compare(&device, &arguments) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
