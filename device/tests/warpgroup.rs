//! Runs the forms of `wgmma.mma_async` (`sim-core/tests/support/warpgroup_forms.rs`) on a real device and on the
//! simulator and compares all they give.
//!
//! Without a device it says so and passes; with `WARPGRIND_REQUIRE_DEVICE=1` that is a failure. An argument runs the
//! forms whose title contains it. `WARPGRIND_RECORD=FILE` writes what the device gives, in the format of
//! `testdata/h200/wgmma.txt`.

#[path = "../../sim-core/tests/support/matrix_forms.rs"]
#[allow(dead_code, reason = "only what makes numbers is used")]
mod forms;
#[path = "../../sim-core/tests/support/warpgroup_runner.rs"]
mod runner;
#[path = "../../sim-core/tests/support/warpgroup_forms.rs"]
#[allow(dead_code, reason = "the reference asks for more")]
mod warpgroup_forms;

use std::fmt::Write;
use std::process::ExitCode;

use device::{Device, Options};
use sim_core::{Backend, DeviceConfig, Simulator};

fn main() -> ExitCode {
    testkit::device::main("the_device_multiplies_alike", "warpgroups", Options::default(), |_, arguments| {
        compare(arguments)
    })
}

/// Compares form by form, and returns how many differ.
fn compare(arguments: &[String]) -> usize {
    // Nothing here makes the driver useless, and so much data goes quicker within a process.
    let device = match Device::open(&Options::default()) {
        Ok(device) => device,
        Err(error) => {
            println!("FAILED: {error}");
            return 1;
        }
    };
    let mut recording = String::new();
    let (mut outputs, mut failures) = (0, 0);
    for (index, form) in warpgroup_forms::forms().into_iter().enumerate() {
        let title = form.title();
        if arguments.first().is_some_and(|part| !title.contains(part.as_str())) {
            continue;
        }
        let simulator = Simulator::new(DeviceConfig::h200());
        let run = |backend: &dyn Backend| runner::run(backend, index, &form, 0..form.tiles);
        let (there, here) = match (run(&device), run(&simulator)) {
            (Ok(there), Ok(here)) => (there, here),
            (there, here) => {
                println!("{title}: FAILED: {:?} {:?}", there.err(), here.err());
                failures += 1;
                continue;
            }
        };
        let wrong = there.iter().zip(&here).filter(|(there, here)| there != here).count();
        outputs += there.len();
        if wrong != 0 {
            failures += 1;
            let at = there.iter().zip(&here).position(|(there, here)| there != here).unwrap_or(0);
            let tile = at / form.words();
            println!(
                "{title}: FAILED: {wrong} of {} words differ; the first is {} of tile {tile}: {:08x}, not {:08x}",
                there.len(),
                at % form.words(),
                there[at],
                here[at],
            );
        }
        let [all, first] = runner::hashes(&form, &there);
        writeln!(recording, "{title}\t{}\t{all:x}\t{first:x}", form.tiles).ok();
    }
    println!("{outputs} words compared, {failures} forms differ");
    if let Some(file) = std::env::var_os("WARPGRIND_RECORD")
        && let Err(error) = std::fs::write(&file, recording)
    {
        println!("FAILED: {}: {error}", file.display());
        return failures + 1;
    }
    failures
}
