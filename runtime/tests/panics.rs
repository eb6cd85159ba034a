//! A panic in an operation is a fault of its context: whoever waits is told, and nobody waits for ever.

use std::sync::{Arc, Mutex};

use runtime::{
    Allocation, Callback, Context, Host, Launched, Operation, Picked, Result, Runtime, Status, StreamKind,
};
use sim_core::{DeviceConfig, RunOptions};

/// A program that only remembers what it was warned of.
#[derive(Default)]
struct Program(Mutex<Vec<String>>);

impl Host for Program {
    fn read(&self, _: u64, _: usize, _: &mut dyn FnMut(&[u8])) {}
    fn write(&self, _: u64, _: usize, _: &mut dyn FnMut(&mut [u8])) {}
    fn call(&self, _: u64, _: u64) {}
    fn shared(&self, _: &Arc<Context>, _: u64) -> Result<u64> {
        Err(Status::OUT_OF_MEMORY)
    }
    fn release(&self, _: &Allocation) {}
    fn print(&self, _: &[u8]) {}
    fn pick(&self, _: &str) -> Picked {
        Picked { options: RunOptions::default(), picked: false }
    }
    fn launched(&self, _: &Launched<'_>) {}
    fn warn(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

#[test]
fn a_panic_ends_the_context_and_nobody_waits_for_it() {
    let program = Arc::new(Program::default());
    let runtime = Runtime::new(&DeviceConfig::h200(), 1, program.clone());
    let context = runtime.device(0).unwrap().create_context(0);
    let (stream, other) =
        (context.create_stream(StreamKind::NonBlocking, 0), context.create_stream(StreamKind::Blocking, 0));
    let broken: Callback = Arc::new(|_| panic!("on purpose"));
    context.enqueue(&stream, Operation::Callback(broken)).unwrap();
    assert_eq!(context.synchronize_stream(&stream), Err(Status::UNKNOWN));
    assert_eq!(context.synchronize_stream(&other), Err(Status::UNKNOWN));
    assert_eq!(context.synchronize(), Err(Status::UNKNOWN));
    let warned = program.0.lock().unwrap();
    assert!(matches!(&warned[..], [text] if text.contains("internal error")), "{warned:?}");
}
