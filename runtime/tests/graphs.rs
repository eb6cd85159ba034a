//! Graphs whose kernels change or launch graphs, and objects that are destroyed behind a launch.

mod support;

use std::sync::Arc;
use std::time::Duration;

use runtime::objects::{create_texture, destroy_object};
use runtime::texture::{Resource, Sampling};
use runtime::{
    Built, CaptureMode, Conditional, Context, Edge, Element, Event, ExecGraph, Format, Graph, KernelCall,
    Kind, Module, Operation, Status, StreamKind, Updatable, compile,
};
use sim_core::{Backend, Dim3, Launch};

const TEXT: &str = ".version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) cudaGraphKernelNodeSetParam(.param .b64 a, .param .b64 b, .param .b64 c, .param .b64 d);
.extern .func (.param .b32 r) cudaGraphKernelNodeSetEnabled(.param .b64 a, .param .b32 b);
.extern .func (.param .b32 r) cudaGraphKernelNodeSetGridDim(.param .b64 a, .param .align 4 .b8 b[12]);
.extern .func (.param .b32 r) cudaGraphLaunch(.param .b64 a, .param .b64 b);
.extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);

// Adds a number to a word, once a block.
.visible .entry add(.param .u64 to, .param .u32 number) {
    .reg .b64 %to; .reg .b32 %n;
    ld.param.u64 %to, [to];
    ld.param.u32 %n, [number];
    red.global.add.u32 [%to], %n;
    ret;
}

// Gives the number of a node another value, two blocks, or a third parameter, which there is not; codes go to memory.
.visible .entry update(.param .u64 node, .param .u64 codes, .param .u32 number, .param .u32 enabled) {
    .reg .b64 %node, %codes, %at; .reg .b32 %c, %n;
    .local .b32 value;
    ld.param.u64 %node, [node];
    ld.param.u64 %codes, [codes];
    ld.param.u32 %n, [number];
    st.local.b32 [value], %n;
    mov.u64 %at, value;
    cvta.local.u64 %at, %at;
    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b64 c; .param .b64 d;
      st.param.b64 [a], %node; st.param.b64 [b], 8; st.param.b64 [c], %at; st.param.b64 [d], 4;
      call (r), cudaGraphKernelNodeSetParam, (a, b, c, d); ld.param.b32 %c, [r]; }
    st.global.b32 [%codes], %c;
    { .param .b32 r; .param .b64 a; .param .b64 b; .param .b64 c; .param .b64 d;
      st.param.b64 [a], %node; st.param.b64 [b], 12; st.param.b64 [c], %at; st.param.b64 [d], 4;
      call (r), cudaGraphKernelNodeSetParam, (a, b, c, d); ld.param.b32 %c, [r]; }
    st.global.b32 [%codes+4], %c;
    { .param .b32 r; .param .b64 a; .param .align 4 .b8 b[12];
      st.param.b64 [a], %node; st.param.b32 [b], 2; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;
      call (r), cudaGraphKernelNodeSetGridDim, (a, b); ld.param.b32 %c, [r]; }
    st.global.b32 [%codes+8], %c;
    ld.param.u32 %n, [enabled];
    { .param .b32 r; .param .b64 a; .param .b32 b;
      st.param.b64 [a], %node; st.param.b32 [b], %n;
      call (r), cudaGraphKernelNodeSetEnabled, (a, b); ld.param.b32 %c, [r]; }
    st.global.b32 [%codes+12], %c;
    ret;
}

// Launches a graph at once.
.visible .entry launch(.param .u64 graph, .param .u64 codes) {
    .reg .b64 %graph, %codes; .reg .b32 %c;
    ld.param.u64 %graph, [graph];
    ld.param.u64 %codes, [codes];
    { .param .b32 r; .param .b64 a; .param .b64 b;
      st.param.b64 [a], %graph; st.param.b64 [b], 0x0200000000000000;
      call (r), cudaGraphLaunch, (a, b); ld.param.b32 %c, [r]; }
    st.global.b32 [%codes], %c;
    ret;
}

// After a while, gives a condition a value.
.visible .entry decide(.param .u64 condition, .param .u32 value) {
    .reg .b64 %condition; .reg .b32 %value, %n; .reg .pred %p;
    ld.param.u64 %condition, [condition];
    ld.param.u32 %value, [value];
    mov.u32 %n, 20000;
again:
    sub.u32 %n, %n, 1;
    setp.ne.u32 %p, %n, 0;
    @%p bra again;
    { .param .b64 a; .param .b32 b;
      st.param.b64 [a], %condition; st.param.b32 [b], %value;
      call cudaGraphSetConditional, (a, b); }
    ret;
}

// Waits for a word, and reads a texture.
.visible .entry read(.param .u64 texture, .param .u64 flag) {
    .reg .b64 %texture, %flag; .reg .b32 %d<4>, %f, %zero; .reg .pred %p;
    ld.param.u64 %texture, [texture];
    ld.param.u64 %flag, [flag];
again:
    ld.relaxed.sys.global.u32 %f, [%flag];
    setp.eq.u32 %p, %f, 0;
    @%p bra again;
    mov.u32 %zero, 0;
    tex.1d.v4.u32.s32 {%d0, %d1, %d2, %d3}, [%texture, {%zero}];
    st.global.u32 [%flag+4], %d0;
    ret;
}
";

struct Fixture {
    context: Arc<Context>,
    module: Arc<Module>,
    words: u64,
    _around: (Arc<support::Program>, runtime::Runtime),
}

impl Fixture {
    fn new() -> Fixture {
        let (program, runtime, context) = support::context();
        let module = Module::load(
            &context,
            compile(&[("text.ptx".into(), TEXT.into())], 90).unwrap(),
            Built::default(),
        )
        .unwrap();
        let words = context.allocate(512, Kind::Device, "words").unwrap();
        context.device.simulator.write(words, &[0; 512]).unwrap();
        Fixture { context, module, words, _around: (program, runtime) }
    }

    fn call(&self, kernel: &str, params: &[&[u8]], updatable: Option<Arc<Updatable>>) -> Operation {
        let launch = Launch {
            kernel: kernel.into(),
            grid: Dim3::ONE,
            cluster: None,
            block: Dim3::ONE,
            shared_bytes: 0,
            params: params.concat(),
            cooperative: false,
        };
        let function = self.module.function(kernel).unwrap();
        Operation::Kernel(Arc::new(KernelCall { function, launch, updatable }))
    }

    fn run(&self, graph: &ExecGraph) {
        let stream = self.context.create_stream(StreamKind::NonBlocking, 0);
        self.context.launch_graph(&stream, graph).unwrap();
        self.context.synchronize().unwrap();
    }

    fn words<const N: usize>(&self, at: u64) -> [u32; N] {
        let mut bytes = vec![0; 4 * N];
        self.context.device.simulator.read(self.words + at, &mut bytes).unwrap();
        std::array::from_fn(|word| u32::from_le_bytes(bytes[4 * word..][..4].try_into().unwrap()))
    }
}

fn address(address: u64) -> [u8; 8] {
    address.to_le_bytes()
}

#[test]
fn kernels_update_nodes_of_graphs() {
    let fixture = Fixture::new();
    let node = Updatable::new(0);
    let (words, codes) = (address(fixture.words), address(fixture.words + 64));
    let graph = Graph::new();
    let add = fixture.call("add", &[&words, &5u32.to_le_bytes()], Some(node.clone()));
    let update = |enabled: u32| {
        let params = [&address(node.handle)[..], &codes, &100u32.to_le_bytes(), &enabled.to_le_bytes()];
        fixture.call("update", &params, None)
    };
    let first = graph.add(update(1), &[]).unwrap();
    let last = graph.add(add.clone(), &[Edge::full(first)]).unwrap();
    let exec = ExecGraph::new(&graph, 0).unwrap();
    assert_eq!(ExecGraph::new(&graph, 0).unwrap_err(), Status::NOT_SUPPORTED, "it has one state");
    assert_eq!(graph.remove(last).unwrap_err(), Status::NOT_SUPPORTED);

    fixture.run(&exec);
    assert_eq!(fixture.words(64), [0, 1, 0, 0], "there are two parameters, up to byte 12");
    assert_eq!(fixture.words(0), [200], "two blocks add another number");
    exec.set(first, update(0)).unwrap();
    fixture.run(&exec);
    assert_eq!(fixture.words(0), [200], "a kernel disabled it");
    // What the program says holds again, until a kernel says something else.
    exec.set(last, add).unwrap();
    exec.enable(first, false).unwrap();
    exec.enable(last, true).unwrap();
    fixture.run(&exec);
    assert_eq!(fixture.words(0), [205]);
}

/// As on an H200, whose kernels are there first.
#[test]
fn a_condition_is_looked_at_behind_what_is_beside_it() {
    let fixture = Fixture::new();
    let graph = Graph::new();
    let condition = graph.condition(0, 0).unwrap();
    let decide =
        |value: u32| fixture.call("decide", &[&address(condition.handle), &value.to_le_bytes()], None);
    let first = graph.add(decide(0), &[]).unwrap();
    let node = Conditional::new(condition.clone(), 2, 3).unwrap();
    for (body, number) in node.bodies.iter().zip([1u32, 10, 100]) {
        body.lies_in(&graph);
        let add = fixture.call("add", &[&address(fixture.words), &number.to_le_bytes()], None);
        body.add(add, &[]).unwrap();
    }
    graph.add(Operation::Conditional(Arc::new(node)), &[]).unwrap();
    condition.set_used(true);
    let exec = ExecGraph::new(&graph, 0).unwrap();
    for (value, sum) in [(2, 100), (0, 101), (1, 111), (2, 211)] {
        exec.set(first, decide(value)).unwrap();
        fixture.run(&exec);
        assert_eq!(fixture.words(0), [sum], "{value}");
    }
}

#[test]
fn kernels_of_any_graph_launch_graphs() {
    let fixture = Fixture::new();
    let launched = Graph::new();
    launched.add(fixture.call("add", &[&address(fixture.words), &7u32.to_le_bytes()], None), &[]).unwrap();
    let launched = ExecGraph::new(&launched, 4).unwrap();
    launched.name(0x1234);
    let codes = address(fixture.words + 64);
    let graph = Graph::new();
    graph.add(fixture.call("launch", &[&address(0x1234), &codes], None), &[]).unwrap();
    fixture.run(&ExecGraph::new(&graph, 0).unwrap());
    assert_eq!((fixture.words(0), fixture.words(64)), ([7], [0]));
    // A kernel that is in no graph launches nothing.
    let alone = fixture.call("launch", &[&address(0x1234), &codes], None);
    fixture.context.run(&fixture.context.legacy, alone).unwrap();
    assert_eq!(fixture.words(0), [7]);
}

/// As on an H200: launches give 0.
#[test]
fn graphs_do_not_wait_for_what_was_recorded_in_a_capture() {
    let fixture = Fixture::new();
    let context = &fixture.context;
    let (stream, event) = (context.create_stream(StreamKind::NonBlocking, 0), Event::new(context, 0));
    stream.begin_capture(Graph::new(), Vec::new(), CaptureMode::Global).unwrap();
    context.record(&event, &stream).unwrap();
    stream.end_capture().unwrap();
    assert_eq!(context.enqueue(&stream, Operation::Wait(event.clone())), Err(Status::INVALID_VALUE));

    let graph = Graph::new();
    let wait = graph.add(Operation::Wait(event), &[]).unwrap();
    let add = fixture.call("add", &[&address(fixture.words), &5u32.to_le_bytes()], None);
    graph.add(add, &[Edge::full(wait)]).unwrap();
    fixture.run(&ExecGraph::new(&graph, 0).unwrap());
    assert_eq!(fixture.words(0), [5]);
}

#[test]
fn launches_read_textures_that_are_destroyed_behind_them() {
    let fixture = Fixture::new();
    let simulator = &fixture.context.device.simulator;
    let texels = fixture.context.allocate(512, Kind::Device, "texels").unwrap();
    simulator.write(texels, &77u32.to_le_bytes()).unwrap();
    let element = Element::new(Format::Unsigned(4), 1).unwrap();
    let resource = Resource::Linear { address: texels, element, bytes: 512 };
    let texture =
        create_texture(&fixture.context, resource, Sampling { flags: 1, ..Sampling::default() }, None);
    let texture = texture.unwrap();
    let read = || fixture.call("read", &[&address(texture), &address(fixture.words)], None);
    let stream = fixture.context.create_stream(StreamKind::NonBlocking, 0);
    fixture.context.enqueue(&stream, read()).unwrap();
    destroy_object(&fixture.context, texture).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    simulator.write(fixture.words, &1u32.to_le_bytes()).unwrap();
    fixture.context.synchronize().unwrap();
    assert_eq!(fixture.words(4), [77]);
    // The next launch is told.
    assert_eq!(fixture.context.run(&stream, read()), Err(Status::ILLEGAL_ADDRESS));
}
