//! What a program's side is told of operations that are handed to a queue.

mod support;

use runtime::{Event, Fill, Kind, Operation, StreamKind};

fn fill(to: u64) -> Operation {
    Operation::Fill(Fill { to, pitch: 64, value: 0, element: 4, width: 16, height: 1 })
}

#[test]
fn operations_are_told_of_with_what_they_wait_for() {
    let (program, _runtime, context) = support::context();
    let memory = context.allocate(64, Kind::Device, "memory").unwrap();
    let [one, other] = [(); 2].map(|()| context.create_stream(StreamKind::NonBlocking, 0));
    let event = Event::new(&context, 0);
    context.enqueue(&one, fill(memory)).unwrap();
    context.record(&event, &one).unwrap();
    context.enqueue(&other, Operation::Wait(event.clone())).unwrap();
    context.enqueue(&other, fill(memory)).unwrap();
    event.synchronize().unwrap();
    context.run(&context.legacy, fill(memory)).unwrap();

    let told = program.submitted.lock().unwrap().clone();
    let streams: Vec<Option<u64>> = told.iter().map(|of| of.1).collect();
    assert_eq!(streams, [Some(one.id), Some(one.id), Some(other.id), Some(other.id), None]);
    let number = |at: usize| told[at].0;
    assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0), "{told:?}");
    // What is over already may be left out, but not told wrongly.
    let waits = |at: usize, of: &[usize]| {
        let of: Vec<u64> = of.iter().map(|&at| number(at)).collect();
        assert!(told[at].2.iter().all(|after| of.contains(after)), "{at}: {told:?}");
    };
    waits(0, &[]);
    waits(1, &[0]);
    waits(2, &[1]);
    waits(3, &[2]);
    waits(4, &[]);
    assert_eq!(program.waited.lock().unwrap()[..], [number(1), number(4)]);
}
