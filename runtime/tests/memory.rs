//! Memory from Rust: pools in stream order, memory of graphs, virtual memory, arrays.

mod support;

use std::sync::atomic::Ordering::SeqCst;

use runtime::virtual_memory::{Access, GRANULARITY as UNIT, Wanted, Who};
use runtime::{
    Array, ArrayShape, Context, Edge, Element, Format, Kind, Operation, PoolAttribute, PoolPlace, Status,
    StreamKind, check_node_free, node_memory,
};

#[test]
fn a_stream_gets_what_it_freed_again() {
    let (program, runtime, context) = support::context();
    let pool = runtime.pools.own(PoolPlace::Device(0));
    let (one, other) = (
        context.create_stream(StreamKind::NonBlocking, 0),
        context.create_stream(StreamKind::NonBlocking, 0),
    );
    let first = context.allocate_async(&one, 1000, &pool).unwrap();
    let found = context.device.memory.find(first + 999).unwrap();
    assert_eq!((found.kind, runtime.pools.of(&found)), (Kind::Pool(pool.id), Some(pool.id)));
    assert_eq!(pool.attribute(PoolAttribute::Used), 1000);
    context.free_async(&one, first).unwrap();
    assert_eq!(pool.attribute(PoolAttribute::Used), 0);
    assert_eq!(context.free_async(&one, first), Err(Status::INVALID_VALUE), "it was freed");
    assert_ne!(context.allocate_async(&other, 1000, &pool), Ok(first), "another stream's is fresh");
    assert_eq!(context.allocate_async(&one, 1001, &pool), Ok(first), "the same size in whole blocks");
    context.synchronize().unwrap();
    assert_eq!(context.allocate_async(&one, 0, &pool), Ok(0));
    // Memory of the program is shown to the device at its own address.
    let host = runtime.pools.own(PoolPlace::Host);
    let shared = context.allocate_async(&one, 8, &host).unwrap();
    assert_eq!(program.shown.lock().unwrap()[..], [(shared, 8)]);
    assert_eq!(host.attribute(PoolAttribute::Used), 8);
    program.is_full.store(true, SeqCst);
    assert_eq!(context.allocate_async(&one, 8, &host), Err(Status::OUT_OF_MEMORY));
    assert_eq!(host.attribute(PoolAttribute::Used), 8);
}

#[test]
fn memory_of_a_graph_is_known_before_it_is_there() {
    let (program, _runtime, context) = support::context();
    let graph = runtime::Graph::new();
    let memory = node_memory(&context.device, 100, &graph, &[]).unwrap();
    let base = memory.base();
    assert_eq!(context.device.memory.find(base).map(|found| found.kind), Some(Kind::Graph));
    assert!(!context.device.memory.is_live(base) && program.shown.lock().unwrap().is_empty());
    assert_eq!(check_node_free(&context, &graph, base), Ok(()));
    assert_eq!(check_node_free(&context, &graph, base + 1), Err(Status::INVALID_VALUE));
    context.run(&context.legacy, Operation::Allocate(memory.clone())).unwrap();
    assert_eq!(program.shown.lock().unwrap()[..], [(base, 100)]);
    drop(memory);
    assert!(context.device.memory.find(base).is_none(), "its last user gave it back");
    assert_eq!(node_memory(&context.device, u64::MAX, &graph, &[]).err(), Some(Status::OUT_OF_MEMORY));
}

#[test]
fn nodes_get_the_place_of_what_is_freed_before_them() {
    let (_program, _runtime, context) = support::context();
    let graph = runtime::Graph::new();
    let place = |bytes, after: &[Edge]| node_memory(&context.device, bytes, &graph, after).unwrap();
    let memory = place(1000, &[]);
    let base = memory.base();
    let allocated = Edge::full(graph.add(Operation::Allocate(memory), &[]).unwrap());
    assert_ne!(place(1000, &[allocated]).base(), base, "it is not free yet");
    let freed = Edge::full(graph.add(Operation::Free(base), &[allocated]).unwrap());
    assert_eq!((place(1000, &[freed]).base(), place(8, &[freed]).base()), (base, base));
    assert_ne!(place(1001, &[freed]).base(), base, "it is too small");
    assert_ne!(place(8, &[]).base(), base, "it may run before the free");
    graph.add(Operation::Allocate(place(8, &[freed])), &[freed]).unwrap();
    assert_ne!(place(8, &[freed]).base(), base, "it is taken again");
    assert_eq!(check_node_free(&context, &graph, base), Ok(()));
    graph.add(Operation::Free(base), &[]).unwrap();
    assert_eq!(check_node_free(&context, &graph, base), Err(Status::INVALID_VALUE));
}

/// What the device knows of mapped memory.
fn known(context: &Context) -> Vec<(u64, u64)> {
    let all = context.device.memory.list();
    all.iter().filter(|found| found.kind == Kind::Virtual).map(|found| (found.base, found.size)).collect()
}

#[test]
fn what_may_be_accessed_is_shown_in_whole_pieces() {
    let (_program, runtime, context) = support::context();
    let (space, device) = (&runtime.addresses, &context.device);
    for bad in [0, 1, UNIT - 1] {
        assert_eq!(space.reserve(bad, 0, 0), Err(Status::INVALID_VALUE));
        assert_eq!(space.create(device, bad, Wanted::default()).err(), Some(Status::INVALID_VALUE));
    }
    assert_eq!(space.reserve(UNIT, 3, 0), Err(Status::INVALID_VALUE));
    let base = space.reserve(4 * UNIT, 0, 0).unwrap();
    let (_, used) = device.memory_usage();
    let exportable = Wanted { exportable: true, ..Wanted::default() };
    let (one, two) = (
        space.create(device, UNIT, Wanted::default()).unwrap(),
        space.create(device, 2 * UNIT, exportable).unwrap(),
    );
    assert_eq!(device.memory_usage().1, used + 3 * UNIT);
    assert!(one.export().is_err() && two.export().is_ok());

    assert_eq!(space.map(base, UNIT, 0, two.clone()), Err(Status::NOT_SUPPORTED), "parts cannot be mapped");
    space.map(base, UNIT, 0, one.clone()).unwrap();
    space.map(base + UNIT, 2 * UNIT, 0, two.clone()).unwrap();
    assert_eq!(
        space.map(base + 2 * UNIT, UNIT, 0, one.clone()),
        Err(Status::INVALID_VALUE),
        "something is there"
    );
    assert_eq!(space.reservation_of(base + 4 * UNIT - 1), Some((base, 4 * UNIT)));
    assert_eq!(space.mapping_of(base + 3 * UNIT - 1), Some((base + UNIT, 2 * UNIT)));
    assert_eq!(space.physical_of(base).unwrap().id, one.id);
    assert_eq!((known(&context), space.access(base, Who::Device(0))), (vec![], Some(Access::None)));

    let all = [(Who::Device(0), Access::ReadWrite)];
    assert_eq!(space.set_access(base, 2 * UNIT, &all), Err(Status::INVALID_VALUE), "a part of a mapping");
    assert_eq!(
        space.set_access(base, UNIT, &[(Who::Device(1), Access::Read)]),
        Err(Status::INVALID_VALUE),
        "no such device"
    );
    space.set_access(base, 3 * UNIT, &all).unwrap();
    assert_eq!(known(&context), [(base, 3 * UNIT)], "neighbours are one piece");
    assert_eq!(
        (space.access(base, Who::Device(0)), space.access(base, Who::Device(1))),
        (Some(Access::ReadWrite), Some(Access::None))
    );
    space.set_access(base, UNIT, &[(Who::Device(0), Access::None)]).unwrap();
    assert_eq!(known(&context), [(base + UNIT, 2 * UNIT)]);

    assert_eq!(space.free(base, 4 * UNIT), Err(Status::INVALID_VALUE), "something is behind it");
    assert_eq!(space.unmap(base, 2 * UNIT), Err(Status::INVALID_VALUE), "a part of a mapping");
    space.unmap(base, 3 * UNIT).unwrap();
    assert_eq!((known(&context), space.access(base, Who::Device(0))), (vec![], None));
    space.free(base, 4 * UNIT).unwrap();
    two.retain();
    assert!(!two.release() && two.release() && one.release());
    drop((one, two));
    assert_eq!(device.memory_usage().1, used);
}

#[test]
fn an_array_is_device_memory() {
    let (_program, _runtime, context) = support::context();
    let element = Element::new(Format::Unsigned(2), 1).unwrap();
    let shape = ArrayShape { width: 10, height: 4, depth: 0, element, flags: 0 };
    let array = Array::create(&context, shape).unwrap();
    assert_eq!(context.device.memory.list()[0].size, 80);
    array.free(&context).unwrap();
    assert_eq!(array.free(&context), Err(Status::INVALID_VALUE));
    let wide = ArrayShape { width: 131_073, height: 0, ..shape };
    assert_eq!(Array::create(&context, wide).err(), Some(Status::INVALID_VALUE));
}
