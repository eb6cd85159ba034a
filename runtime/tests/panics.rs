//! A panic in an operation is a fault of its context: whoever waits is told, and nobody waits for ever.

mod support;

use std::sync::Arc;

use runtime::{Callback, Operation, Status, StreamKind};

#[test]
fn a_panic_ends_the_context_and_nobody_waits_for_it() {
    let (program, _runtime, context) = support::context();
    let (stream, other) =
        (context.create_stream(StreamKind::NonBlocking, 0), context.create_stream(StreamKind::Blocking, 0));
    let broken: Callback = Arc::new(|_| panic!("on purpose"));
    context.enqueue(&stream, Operation::Callback(broken)).unwrap();
    assert_eq!(context.synchronize_stream(&stream), Err(Status::UNKNOWN));
    assert_eq!(context.synchronize_stream(&other), Err(Status::UNKNOWN));
    assert_eq!(context.synchronize(), Err(Status::UNKNOWN));
    let warned = program.warned.lock().unwrap();
    assert!(matches!(&warned[..], [text] if text.contains("internal error")), "{warned:?}");
}
