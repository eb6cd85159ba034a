//! A program around the runtime that has no memory and remembers what it is told.
#![allow(dead_code, reason = "each test uses some of it")]

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use runtime::{
    Allocation, Context, Holds, Host, Launched, Pages, Picked, Result, Runtime, Status, Submitted,
};
use sim_core::{DeviceConfig, RunOptions, Simulator};

/// What is told of an operation: number, stream, and what it waits for.
type Told = (u64, Option<u64>, Vec<u64>);

/// The program.
#[derive(Default)]
pub(crate) struct Program {
    /// What it was warned of.
    pub(crate) warned: Mutex<Vec<String>>,
    /// Launches that have begun, and that have ended.
    pub(crate) launches: [AtomicI32; 2],
    /// What was shown to devices: first address and bytes.
    pub(crate) shown: Mutex<Vec<(u64, u64)>>,
    /// Whether it has no memory any more.
    pub(crate) is_full: AtomicBool,
    /// Operations that were handed to a queue.
    pub(crate) submitted: Mutex<Vec<Told>>,
    /// Those that it waited for.
    pub(crate) waited: Mutex<Vec<u64>>,
}

/// Bytes of addresses that were given out: tests are threads of one process, and each of its
/// addresses is one place, whoever asks for it.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// Addresses are numbers, with nothing behind them.
impl Pages for Program {
    fn map(&self, bytes: u64) -> Result<u64> {
        if self.is_full.load(SeqCst) {
            return Err(Status::OUT_OF_MEMORY);
        }
        self.reserve(bytes, 2 << 20, 0)
    }
    fn show(&self, _: &Simulator, address: u64, bytes: u64, _: &str) -> Result {
        self.shown.lock().unwrap().push((address, bytes));
        Ok(())
    }
    fn reserve(&self, bytes: u64, alignment: u64, wanted: u64) -> Result<u64> {
        let whole = bytes.next_multiple_of(alignment);
        Ok(if wanted != 0 { wanted } else { (1 << 40) + GIVEN.fetch_add(whole, SeqCst) })
    }
    fn file(&self, _: u64, _: Holds) -> Result<File> {
        File::open("/dev/null").map_err(|_| Status::OUT_OF_MEMORY)
    }
    fn put_behind(&self, _: u64, _: u64, _: Option<&File>) -> Result {
        Ok(())
    }
}

impl Host for Program {
    fn read(&self, _: u64, _: usize, _: &mut dyn FnMut(&[u8])) {}
    fn write(&self, _: u64, _: usize, _: &mut dyn FnMut(&mut [u8])) {}
    fn call(&self, _: u64, _: u64) {}
    fn release(&self, _: &Allocation) {}
    fn print(&self, _: &[u8]) {}
    fn begins(&self) {
        self.launches[0].fetch_add(1, SeqCst);
    }
    fn ended(&self) {
        self.launches[1].fetch_add(1, SeqCst);
    }
    fn hears_of_operations(&self) -> bool {
        true
    }
    fn submitted(&self, of: &Submitted<'_>) {
        self.submitted.lock().unwrap().push((of.number, of.stream, of.after.clone()));
    }
    fn waited(&self, number: u64) {
        self.waited.lock().unwrap().push(number);
    }
    fn pick(&self, kernel: &str, _: Option<u64>) -> Picked {
        assert!(!kernel.contains("panics"), "on purpose");
        Picked { options: RunOptions::default(), picked: false }
    }
    fn launched(&self, _: &Launched<'_>) {}
    fn warn(&self, text: &str) {
        self.warned.lock().unwrap().push(text.into());
    }
}

/// A context on a device of its own.
pub(crate) fn context() -> (Arc<Program>, Runtime, Arc<Context>) {
    let program = Arc::new(Program::default());
    let runtime = Runtime::new(&DeviceConfig::h200(), 1, program.clone());
    let context = runtime.device(0).unwrap().create_context(0);
    (program, runtime, context)
}
