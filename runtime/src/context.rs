//! Contexts: what owns streams, memory and modules, and what a fault ends.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use cuda_abi::{Result, Status};
use sim_core::{Backend, Outcome};
use smallvec::SmallVec;

use crate::around::Surroundings;
use crate::condition::Conditional;
use crate::device::Device;
use crate::engine::{Engine, Op, RunBy, Task};
use crate::graph::{ExecGraph, Node, ordered};
use crate::graph_run::GraphRun;
use crate::green::GreenContext;
use crate::host::{Host, Launched, Launching, Picked};
use crate::library::Library;
use crate::memory::{Allocation, Kind};
use crate::operation::{Compare, KernelCall, Operation};
use crate::records::wait_for;
use crate::stream::{Event, EventState, Stream, StreamKind};
use crate::{fresh_id, lock};

/// A limit of a context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Limit {
    /// Bytes of a thread's stack.
    Stack,
    /// Bytes of the buffer that kernels print into.
    Printing,
    /// Bytes of the heap that kernels allocate from.
    Heap,
    /// Launches from kernels that may wait.
    PendingLaunches,
    /// Bytes that the second-level cache fetches at once.
    Fetching,
    /// Bytes of the second-level cache that stay.
    Persisting,
    /// Shared memory for programs with several processes.
    SharedOfProcesses,
    /// Whether graphics may run beside kernels.
    Graphics,
}

impl Limit {
    /// The limit of a number (`CUlimit`).
    ///
    /// # Errors
    /// `CUDA_ERROR_UNSUPPORTED_LIMIT` and `CUDA_ERROR_INVALID_VALUE`.
    pub fn of(number: u32) -> Result<Limit> {
        Ok(match number {
            0 => Limit::Stack,
            1 => Limit::Printing,
            2 => Limit::Heap,
            4 => Limit::PendingLaunches,
            5 => Limit::Fetching,
            6 => Limit::Persisting,
            7 => Limit::SharedOfProcesses,
            8 => Limit::Graphics,
            3 | 9 => return Err(Status::UNSUPPORTED_LIMIT),
            _ => return Err(Status::INVALID_VALUE),
        })
    }
}

/// A context.
#[derive(Debug)]
pub struct Context {
    /// Its number.
    pub id: u64,
    /// Its device.
    pub device: Arc<Device>,
    /// Flags it was made with.
    pub flags: AtomicU32,
    /// What it prefers of shared memory and first-level cache, by CUDA's numbers.
    pub cache_config: AtomicU32,
    /// The legacy default stream.
    pub legacy: Arc<Stream>,
    /// Libraries that have loaded their code into it, by their number.
    pub(crate) libraries: Mutex<HashMap<u64, Weak<Library>>>,
    /// The green context that it is.
    pub(crate) green: OnceLock<Weak<GreenContext>>,
    /// The contexts whose memory kernels of this one may access, and those that may access this one's.
    pub(crate) peers: Mutex<BTreeSet<u64>>,
    pub(crate) accessors: Mutex<Vec<Weak<Context>>>,
    /// What a fault left; 0 is none.
    fault: AtomicU32,
    /// A launch came to an instruction that is not supported, and nobody was told yet.
    refused: AtomicBool,
    destroyed: AtomicBool,
    output: Mutex<Vec<u8>>,
    order: Mutex<Order>,
    limits: Mutex<HashMap<Limit, u64>>,
    launches: AtomicU64,
    /// Whether a kernel printed: the buffer is in use then.
    printed: AtomicBool,
}

#[derive(Debug, Default)]
struct Order {
    /// All streams but the legacy one.
    streams: Vec<Arc<Stream>>,
    /// Last operations of streams that were destroyed.
    orphans: Vec<Arc<Op>>,
}

/// A launch from its beginning to its end, however that comes.
struct Running<'a>(&'a dyn Host);

impl<'a> Running<'a> {
    fn new(host: &'a dyn Host) -> Self {
        host.begins();
        Self(host)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

impl Context {
    pub(crate) fn new(device: Arc<Device>, flags: u32) -> Arc<Context> {
        Arc::new_cyclic(|weak| Context {
            id: fresh_id(),
            device,
            flags: AtomicU32::new(flags),
            cache_config: AtomicU32::new(0),
            legacy: Stream::new(weak.clone(), StreamKind::Legacy, 0),
            libraries: Mutex::default(),
            green: OnceLock::new(),
            peers: Mutex::default(),
            accessors: Mutex::default(),
            fault: AtomicU32::new(0),
            refused: AtomicBool::new(false),
            destroyed: AtomicBool::new(false),
            output: Mutex::default(),
            order: Mutex::default(),
            limits: Mutex::default(),
            launches: AtomicU64::new(0),
            printed: AtomicBool::new(false),
        })
    }

    /// The program around.
    pub fn host(&self) -> &dyn Host {
        &*self.device.host
    }

    /// The queue.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.device.engine
    }

    /// The context's fault, if it has one.
    ///
    /// # Errors
    /// The code of the first fault.
    pub fn check(&self) -> Result {
        match self.fault.load(SeqCst) {
            0 if self.destroyed.load(SeqCst) => Err(Status::CONTEXT_IS_DESTROYED),
            0 => Ok(()),
            fault => Err(Status(fault)),
        }
    }

    /// The same; once, that a launch was refused.
    fn answer(&self) -> Result {
        self.check()?;
        if self.refused.swap(false, SeqCst) { Err(Status::NOT_SUPPORTED) } else { Ok(()) }
    }

    fn set_fault(&self, status: Status) {
        self.device.set_fault(status);
        // The first one stays.
        let _ = self.fault.compare_exchange(0, status.0, SeqCst, SeqCst);
        // The other devices of the process are lost as well.
        for other in self.device.all_contexts().iter().filter(|other| other.device.index != self.device.index)
        {
            other.device.set_fault(status);
            let _ = other.fault.compare_exchange(0, status.0, SeqCst, SeqCst);
        }
    }

    /// Whether it was destroyed.
    pub fn is_destroyed(&self) -> bool {
        self.destroyed.load(SeqCst)
    }

    /// A new stream.
    pub fn create_stream(self: &Arc<Self>, kind: StreamKind, priority: i32) -> Arc<Stream> {
        self.device.share_memory();
        let stream = Stream::new(Arc::downgrade(self), kind, priority);
        lock(&self.order).streams.push(stream.clone());
        stream
    }

    /// Forgets a stream; its operations still run.
    pub fn destroy_stream(&self, stream: &Stream) {
        let mut order = lock(&self.order);
        order.streams.retain(|other| other.id != stream.id);
        order.orphans.retain(|op| !op.is_done());
        order.orphans.extend(stream.tail());
    }

    /// Adds an operation to a stream, or to the graph that the stream is captured into.
    ///
    /// # Errors
    /// The context's fault; those of captures.
    pub fn enqueue(self: &Arc<Self>, stream: &Arc<Stream>, operation: Operation) -> Result {
        // What may come to an instruction that is not supported is waited for, to say so in time.
        if let Operation::Kernel(call) = &operation
            && stream.capture().is_none()
            && self.may_be_refused(call)
        {
            return self.run(stream, operation);
        }
        self.enqueue_op(stream, operation).map(|_| ())
    }

    /// Whether a kernel contains instructions that are not supported.
    fn may_be_refused(&self, call: &KernelCall) -> bool {
        let code = self.device.simulator.code(call.function.module.loaded(), &call.launch.kernel);
        code.is_ok_and(|code| !code.unsupported.is_empty())
    }

    /// The same; the operation that was submitted, if it was not captured.
    ///
    /// # Errors
    /// As [`Context::enqueue`].
    pub fn enqueue_op(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        operation: Operation,
    ) -> Result<Option<Arc<Op>>> {
        self.check()?;
        if stream.captured(&operation)? {
            return Ok(None);
        }
        if stream.kind == StreamKind::Legacy {
            self.refuse_in_capture()?;
        }
        let mut order = lock(&self.order);
        let mut after = self.before(&mut order, stream);
        let op = self.submit(stream, &operation, &mut after, None)?;
        let full = stream.append(&op);
        drop(order);
        self.wait_if(full);
        Ok(Some(op))
    }

    /// Waits for an operation that must be done before a stream takes further ones.
    fn wait_if(&self, full: Option<Arc<Op>>) {
        if let Some(op) = full {
            self.engine().wait(&op);
        }
    }

    /// What the next operation of a stream waits for.
    fn before(&self, order: &mut Order, stream: &Stream) -> SmallVec<[Arc<Op>; 4]> {
        let mut after: SmallVec<[Arc<Op>; 4]> = stream.tail().into_iter().collect();
        match stream.kind {
            StreamKind::Legacy => {
                let blocking = order.streams.iter().filter(|s| s.kind == StreamKind::Blocking);
                after.extend(blocking.filter_map(|stream| stream.tail()));
                order.orphans.retain(|op| !op.is_done());
                after.extend(order.orphans.iter().cloned());
            }
            StreamKind::Blocking => after.extend(self.legacy.tail()),
            StreamKind::NonBlocking => {}
        }
        after
    }

    fn submit(
        self: &Arc<Self>,
        stream: &Stream,
        operation: &Operation,
        after: &mut SmallVec<[Arc<Op>; 4]>,
        run: Option<&Arc<GraphRun>>,
    ) -> Result<Arc<Op>> {
        let engine = self.engine();
        let (lane, priority) = (stream.id, stream.priority);
        let by = match operation {
            Operation::Wait(event) => {
                after.extend(event.op()?);
                if let Some(records) = &event.shared {
                    let (context, records, number) = (self.clone(), records.clone(), records.last());
                    let wait = move || wait_for(&*records, number, || context.is_over());
                    let task: Task = Box::new(wait);
                    return Ok(engine.submit(lane, priority, after, Some((task, RunBy::OwnThread))));
                }
                return Ok(engine.submit(lane, priority, after, None));
            }
            Operation::Record(event) => {
                let reach = event.shared.clone().map(|records| {
                    let number = records.ask();
                    let task: Task = Box::new(move || records.reach(number));
                    (task, RunBy::Any)
                });
                let op = engine.submit(lane, priority, after, reach);
                *lock(&event.state) = EventState::Recorded(op.clone());
                return Ok(op);
            }
            Operation::Empty => return Ok(engine.submit(lane, priority, after, None)),
            Operation::Child(graph) => {
                return self.submit_nodes(stream, &ordered(&graph.nodes())?, after, run);
            }
            Operation::Host { .. } | Operation::Callback(_) => RunBy::Worker,
            Operation::WaitValue { .. } | Operation::Batch(_) => RunBy::OwnThread,
            _ => RunBy::Any,
        };
        let (context, operation, run) = (self.clone(), operation.clone(), run.cloned());
        let task: Task = Box::new(move || context.execute(&operation, run.as_ref()));
        Ok(engine.submit(lane, priority, after, Some((task, by))))
    }

    /// Submits the nodes of a graph; returns what joins them.
    fn submit_nodes(
        self: &Arc<Self>,
        stream: &Stream,
        nodes: &[Node],
        after: &mut SmallVec<[Arc<Op>; 4]>,
        run: Option<&Arc<GraphRun>>,
    ) -> Result<Arc<Op>> {
        let engine = self.engine();
        let head = engine.submit(stream.id, stream.priority, after, None);
        let mut ops: HashMap<u64, Arc<Op>> = HashMap::new();
        let mut ends: HashMap<u64, Arc<Op>> = HashMap::new();
        for node in nodes {
            let mut after: SmallVec<[Arc<Op>; 4]> =
                node.after.iter().filter_map(|edge| ops.get(&edge.from).cloned()).collect();
            if after.is_empty() {
                after.push(head.clone());
            }
            let operation = if node.enabled { &node.operation } else { &Operation::Empty };
            let op = self.submit(stream, operation, &mut after, run)?;
            for edge in &node.after {
                ends.remove(&edge.from);
            }
            ends.insert(node.id, op.clone());
            ops.insert(node.id, op);
        }
        let ends: Vec<Arc<Op>> = if nodes.is_empty() { vec![head] } else { ends.into_values().collect() };
        Ok(engine.submit(stream.id, stream.priority, &ends, None))
    }

    /// Launches an executable graph into a stream.
    ///
    /// # Errors
    /// As [`Context::enqueue`].
    pub fn launch_graph(self: &Arc<Self>, stream: &Arc<Stream>, graph: &ExecGraph) -> Result {
        self.check()?;
        if stream.capture().is_some() {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let nodes = graph.nodes();
        graph.take_memory(&self.device)?;
        let mut order = lock(&self.order);
        let mut after = self.before(&mut order, stream);
        let mut last = lock(&graph.last);
        after.extend(last.take().filter(|op| !op.is_done()));
        let conditions = graph.conditions();
        if !conditions.is_empty() {
            let task: Task = Box::new(move || conditions.iter().for_each(|condition| condition.reset()));
            let reset = self.engine().submit(stream.id, stream.priority, &after, Some((task, RunBy::Any)));
            after = std::iter::once(reset).collect();
        }
        let run = GraphRun::of(graph);
        let mut op = self.submit_nodes(stream, &nodes, &mut after, run.as_ref())?;
        if let Some(run) = run {
            let context = self.clone();
            let task: Task = Box::new(move || context.run_behind(&run));
            op = self.engine().submit(stream.id, stream.priority, &[op], Some((task, RunBy::Any)));
        }
        if let Some(held) = graph.held() {
            // The graphs in the nodes hold references too.
            let task: Task = Box::new(move || drop((held, nodes)));
            op = self.engine().submit(stream.id, stream.priority, &[op], Some((task, RunBy::Worker)));
        }
        *last = Some(op.clone());
        let full = stream.append(&op);
        drop((last, order));
        self.wait_if(full);
        Ok(())
    }

    /// Adds an operation to a stream and waits for it.
    ///
    /// # Errors
    /// As [`Context::enqueue`], and a fault that happened before or in it.
    pub fn run(self: &Arc<Self>, stream: &Arc<Stream>, operation: Operation) -> Result {
        if stream.capture().is_some() {
            if let Some(capture) = stream.capture() {
                capture.invalidate();
            }
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        if let Some(op) = self.enqueue_op(stream, operation)? {
            self.engine().wait(&op);
        }
        self.flush_output();
        self.answer()
    }

    /// Refuses what would make the legacy stream depend on one that is being captured.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_IMPLICIT`, which also ends the capture.
    pub fn refuse_in_capture(&self) -> Result {
        let streams = lock(&self.order).streams.clone();
        for stream in streams.iter().filter(|stream| stream.kind == StreamKind::Blocking) {
            if let Some(capture) = stream.capture() {
                capture.invalidate();
                return Err(Status::STREAM_CAPTURE_IMPLICIT);
            }
        }
        Ok(())
    }

    /// Waits for a stream.
    ///
    /// # Errors
    /// The context's fault; `STREAM_CAPTURE_UNSUPPORTED` while it is captured.
    pub fn synchronize_stream(self: &Arc<Self>, stream: &Arc<Stream>) -> Result {
        if let Some(capture) = stream.capture() {
            capture.invalidate();
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let after = {
            let mut order = lock(&self.order);
            match stream.kind {
                StreamKind::Legacy => self.before(&mut order, stream),
                _ => stream.tail().into_iter().collect(),
            }
        };
        for op in after {
            self.engine().wait(&op);
        }
        self.flush_output();
        self.answer()
    }

    /// Whether a stream is idle.
    ///
    /// # Errors
    /// `NOT_READY` if not; the context's fault; `STREAM_CAPTURE_UNSUPPORTED` while it is captured.
    pub fn query_stream(&self, stream: &Stream) -> Result {
        if let Some(capture) = stream.capture() {
            capture.invalidate();
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        self.check()?;
        let after = self.before(&mut lock(&self.order), stream);
        let own = if stream.kind == StreamKind::Legacy { !after.is_empty() } else { stream.tail().is_some() };
        if own { Err(Status::NOT_READY) } else { self.check() }
    }

    /// Operations at the end of every stream.
    fn tails(&self) -> Vec<Arc<Op>> {
        let order = lock(&self.order);
        let mut list: Vec<Arc<Op>> = order.streams.iter().filter_map(|stream| stream.tail()).collect();
        list.extend(self.legacy.tail());
        list.extend(order.orphans.iter().filter(|op| !op.is_done()).cloned());
        list
    }

    /// Waits for all streams.
    ///
    /// # Errors
    /// The context's fault; `STREAM_CAPTURE_UNSUPPORTED` while a stream is captured.
    pub fn synchronize(&self) -> Result {
        let streams = lock(&self.order).streams.clone();
        if let Some(capture) = streams.iter().find_map(|stream| stream.capture()) {
            capture.invalidate();
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        self.drain();
        self.answer()
    }

    /// Waits for all streams, whatever they do.
    pub fn drain(&self) {
        for op in self.tails() {
            self.engine().wait(&op);
        }
        self.flush_output();
    }

    /// Waits for all streams, at most for so long; whether they are idle.
    pub fn drain_for(&self, most: Duration) -> bool {
        let idle = self.tails().iter().all(|op| self.engine().wait_timeout(op, most));
        self.flush_output();
        idle
    }

    /// Prints what kernels have printed.
    pub fn flush_output(&self) {
        let text = std::mem::take(&mut *lock(&self.output));
        if !text.is_empty() {
            self.host().print(&text);
        }
    }

    /// Ends the context: waits for its streams and frees its device memory. What is left is memory of the
    /// host, for the caller to give back.
    pub fn destroy(&self) -> Vec<Allocation> {
        self.drain();
        self.leave_peers();
        self.destroyed.store(true, SeqCst);
        let gone = self.device.memory.remove_context(self.id);
        for allocation in &gone {
            // Variables go with their modules.
            if allocation.kind != Kind::Variable {
                let _ = self.device.simulator.free(allocation.base);
            }
            if allocation.kind.is_host() {
                self.hide(allocation.base);
            }
        }
        let mut order = lock(&self.order);
        order.streams.clear();
        order.orphans.clear();
        gone.into_iter().filter(|allocation| allocation.kind.is_host()).collect()
    }

    /// A limit's value.
    pub fn limit(&self, limit: Limit) -> u64 {
        let default = match limit {
            Limit::Stack => 1024,
            Limit::Printing => 8_650_752,
            Limit::Heap => self.device.simulator.config().heap,
            Limit::PendingLaunches => 2048,
            Limit::Fetching => 64,
            Limit::Persisting => 3 * self.device.simulator.config().persisting_unit,
            Limit::SharedOfProcesses | Limit::Graphics => 0,
        };
        lock(&self.limits).get(&limit).copied().unwrap_or(default)
    }

    /// Sets a limit, rounded as an H200 does.
    ///
    /// # Errors
    /// `INVALID_VALUE` for impossible values, and for buffers in use.
    pub fn set_limit(&self, limit: Limit, value: u64) -> Result {
        let config = self.device.simulator.config();
        let round =
            |unit: u64, least: u64| Ok(value.min(config.global_memory).next_multiple_of(unit).max(least));
        let value = match limit {
            Limit::Stack if value > 512 << 10 => Err(Status::INVALID_VALUE),
            Limit::Printing if self.printed.load(SeqCst) => Err(Status::INVALID_VALUE),
            Limit::Printing => round(64 << 10, 512 << 10),
            Limit::Heap => round(64 << 10, 4 << 20),
            Limit::Fetching if value > 128 => Err(Status::INVALID_VALUE),
            Limit::Persisting => round(config.persisting_unit, 0),
            _ => Ok(value),
        }?;
        if limit == Limit::Heap && !self.device.simulator.set_heap(value) {
            return Err(Status::INVALID_VALUE);
        }
        lock(&self.limits).insert(limit, value);
        Ok(())
    }

    /// Allocates device memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for no bytes, `OUT_OF_MEMORY`.
    pub fn allocate(&self, bytes: u64, kind: Kind, what: &str) -> Result<u64> {
        self.check()?;
        if bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let base = self.device.allocate(bytes, what)?;
        let context = self.id;
        self.add_memory(Allocation { base, size: bytes, kind, context, flags: 0, id: fresh_id() });
        Ok(base)
    }

    /// Frees memory of any device after waiting for that device, as `cuMemFree` does. Memory of the host is
    /// returned for the caller to give back.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no such allocation starts there.
    pub fn free(&self, base: u64, wanted: impl Fn(&Allocation) -> bool) -> Result<Allocation> {
        let device = self.device.owner(base).ok_or(Status::INVALID_VALUE)?;
        let found = device.memory.find(base).filter(|a| a.base == base && wanted(a));
        found.ok_or(Status::INVALID_VALUE)?;
        device.drain();
        let allocation = device.memory.remove(base, wanted).ok_or(Status::INVALID_VALUE)?;
        device.simulator.free(base)?;
        if allocation.kind.is_host() {
            self.hide(base);
        }
        Ok(allocation)
    }

    /// Takes memory of the host, which the table of allocations has forgotten, from all devices.
    pub fn forget(&self, base: u64) {
        let _ = self.device.simulator.free(base);
        self.hide(base);
    }

    /// Takes memory of the host from the other devices.
    pub(crate) fn hide(&self, base: u64) {
        for other in self.device.all().iter().skip(1) {
            if other.memory.remove(base, |found| found.kind.is_host()).is_some() {
                other.drain();
                let _ = other.simulator.free(base);
            }
        }
    }

    /// Does what an operation says, now. A panic is a fault of the context.
    fn execute(self: &Arc<Self>, operation: &Operation, run: Option<&Arc<GraphRun>>) {
        if catch_unwind(AssertUnwindSafe(|| self.perform(operation, run))).is_err() {
            self.host().warn(&format!(
                "internal error in an operation of a stream ({operation:?}): this is a bug in warpgrind, not in \
                 your program"
            ));
            self.set_fault(Status::UNKNOWN);
        }
    }

    fn perform(self: &Arc<Self>, operation: &Operation, run: Option<&Arc<GraphRun>>) {
        if let Operation::Callback(callback) = operation {
            return callback(self.check().err().unwrap_or(Status::SUCCESS));
        }
        if self.check().is_err() {
            return;
        }
        // A node of a graph with kernels of several devices.
        if let Operation::Kernel(call) = operation
            && let Some(own) = call.function.module.context.upgrade().filter(|own| own.id != self.id)
        {
            return own.perform(operation, run);
        }
        self.device.forget_unmapped();
        let at = |address: u64| self.device.at(address);
        let result = match operation {
            Operation::Kernel(call) => self.launch(call, run),
            Operation::Conditional(conditional) => self.run_conditional(conditional, run),
            Operation::Copy(copy) => copy.execute(&self.device, self.host()),
            Operation::Fill(fill) => fill.execute(&at(fill.to).simulator),
            Operation::Host { function, argument } => {
                self.host().call(*function, *argument);
                Ok(())
            }
            Operation::Free(base) => at(*base).simulator.free(*base).map_err(Status::from),
            Operation::Allocate(memory) => memory.place(&at(memory.base())),
            Operation::WriteValue { address, value, bytes } => {
                let value = value.to_le_bytes();
                at(*address).simulator.write(*address, &value[..*bytes as usize]).map_err(Status::from)
            }
            Operation::Batch(list) => {
                list.iter().for_each(|operation| self.execute(operation, run));
                Ok(())
            }
            Operation::WaitValue { address, value, bytes, compare } => {
                self.wait_value(*address, *value, *bytes, *compare)
            }
            Operation::Callback(_)
            | Operation::Empty
            | Operation::Child(_)
            | Operation::Record(_)
            | Operation::Wait(_) => Ok(()),
        };
        if let Err(status) = result {
            // Only the launch is lost, since nothing is wrong with it.
            if status == Status::NOT_SUPPORTED {
                self.refused.store(true, SeqCst);
                return;
            }
            if status == Status::OUT_OF_MEMORY && !matches!(operation, Operation::Kernel(_)) {
                self.host().warn("an operation ended since the memory of this host is used up");
            }
            // Memory was checked when the operation was asked for; it was freed since.
            self.set_fault(if status == Status::INVALID_VALUE { Status::ILLEGAL_ADDRESS } else { status });
        }
    }

    /// Runs the graphs of a conditional node, as its value says.
    fn run_conditional(self: &Arc<Self>, conditional: &Conditional, run: Option<&Arc<GraphRun>>) -> Result {
        let mut rounds = 0;
        while let Some(body) = conditional.next(rounds) {
            self.run_nodes(&body.nodes(), run)?;
            rounds += 1;
            if self.check().is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Runs nodes one after the other, here and now.
    fn run_nodes(self: &Arc<Self>, nodes: &[Node], run: Option<&Arc<GraphRun>>) -> Result {
        for node in ordered(nodes)?.iter().filter(|node| node.enabled) {
            match &node.operation {
                Operation::Child(graph) => self.run_nodes(&graph.nodes(), run)?,
                operation => self.execute(operation, run),
            }
        }
        Ok(())
    }

    /// Runs a graph that a kernel launched, and what is behind it.
    fn run_launched(self: &Arc<Self>, graph: &ExecGraph) -> Result {
        graph.is_asked_for.store(false, SeqCst);
        graph.conditions().iter().for_each(|condition| condition.reset());
        let run = GraphRun::of(graph);
        self.run_nodes(&graph.nodes(), run.as_ref())?;
        if let Some(run) = run {
            self.run_behind(&run);
        }
        Ok(())
    }

    /// Runs the tail launches of a graph that is over: each with its own before the next one.
    fn run_behind(self: &Arc<Self>, run: &GraphRun) {
        let mut list = run.take_behind();
        while let Some(graph) = list.pop_front() {
            graph.is_asked_for.store(false, SeqCst);
            if self.check().is_err() {
                continue;
            }
            graph.conditions().iter().for_each(|condition| condition.reset());
            let run = GraphRun::of(&graph);
            // It was ordered when it was made.
            let _ = self.run_nodes(&graph.nodes(), run.as_ref());
            for next in run.map(|run| run.take_behind()).into_iter().flatten().rev() {
                list.push_front(next);
            }
        }
    }

    fn wait_value(&self, address: u64, value: u64, bytes: u32, compare: Compare) -> Result {
        let mask = if bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let device = self.device.at(address);
        loop {
            let mut word = [0; 8];
            device.simulator.read(address, &mut word[..bytes as usize])?;
            let found = u64::from_le_bytes(word);
            let difference = found.wrapping_sub(value);
            let met = match compare {
                Compare::GreaterOrEqual if bytes == 4 => difference as i32 >= 0,
                Compare::GreaterOrEqual => difference as i64 >= 0,
                Compare::Equal => difference & mask == 0,
                Compare::And => found & value & mask != 0,
                Compare::Nor => !(found | value) & mask != 0,
            };
            if met || self.is_destroyed() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Runs a kernel to its end.
    fn launch(self: &Arc<Self>, call: &KernelCall, run: Option<&Arc<GraphRun>>) -> Result {
        let _running = Running::new(self.host());
        let launch = &call.launch;
        let module = &call.function.module;
        let Picked { mut options, picked } = self.host().pick(&launch.kernel);
        options.alone = !self.device.is_memory_shared();
        options.around = Some(Surroundings::of(self, module, run));
        self.launches.fetch_add(1, SeqCst);
        let launching = Launching { device: &self.device, function: &call.function, launch };
        let completed = if picked { self.host().launching(&launching) } else { None };
        let report = self.device.simulator.launch(module.loaded(), launch, &options).map_err(|error| {
            self.host().warn(&format!("`{}` was not launched: {error}", launch.kernel));
            Status::LAUNCH_FAILED
        })?;
        if !report.output.is_empty() {
            self.printed.store(true, SeqCst);
            lock(&self.output).extend_from_slice(&report.output);
        }
        let (module, options) = (&*module.linked, &options);
        let launched = Launched { module, launch, options, report: &report, picked };
        self.host().launched(&launched);
        if report.outcome == Outcome::Completed {
            if let Some(completed) = completed {
                completed(&launching);
            }
            for graph in run.map(|run| run.take_now()).unwrap_or_default() {
                self.run_launched(&graph)?;
            }
            return Ok(());
        }
        if report.outcome == Outcome::LimitReached && sim_core::host_memory_is_spent() {
            return Err(Status::OUT_OF_MEMORY);
        }
        let fault = report.findings.iter().find(|finding| finding.kind.is_fault());
        Err(fault.map_or(Status::LAUNCH_FAILED, |finding| Status::of_finding(finding.kind)))
    }

    /// Records an event in a stream.
    ///
    /// # Errors
    /// As [`Context::enqueue`].
    pub fn record(self: &Arc<Self>, event: &Arc<Event>, stream: &Arc<Stream>) -> Result {
        self.enqueue(stream, Operation::Record(event.clone()))
    }
}
