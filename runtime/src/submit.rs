//! Operations on their way into the queue: what each waits for, and what it is for the stream.

use std::collections::HashMap;
use std::sync::Arc;

use cuda_abi::{Result, Status};
use smallvec::SmallVec;

use crate::area::Place;
use crate::capture::Capture;
use crate::engine::{Op, RunBy, Task};
use crate::exec::ExecGraph;
use crate::graph::ordered;
use crate::graph_run::GraphRun;
use crate::host::{Doing, Handed, Side, Submitted};
use crate::lock;
use crate::memory::Kind;
use crate::operation::{Node, Operation};
use crate::records::wait_for;
use crate::tree::{Context, Event, EventState, Order, Stream, StreamKind};

impl Context {
    /// A new stream.
    pub fn create_stream(self: &Arc<Self>, kind: StreamKind, priority: i32) -> Arc<Stream> {
        self.device.share_memory();
        let stream = Stream::new(Arc::downgrade(self), kind, priority);
        lock(&self.order).streams.push(stream.clone());
        stream
    }

    /// Adds an operation to a stream, or to the graph that the stream is captured into.
    ///
    /// # Errors
    /// The context's fault; those of captures; `NOT_SUPPORTED` for a kernel that may launch graphs.
    pub fn enqueue(self: &Arc<Self>, stream: &Arc<Stream>, operation: Operation) -> Result {
        if matches!(operation, Operation::Kernel(_)) {
            self.device.look_again();
        }
        if let Operation::Kernel(call) = &operation
            && stream.capture().is_none()
            && let Ok(code) = self.device.simulator.code(call.function.module.loaded(), &call.launch.kernel)
        {
            // Only in graphs kernels may launch graphs.
            if code.launches.graphs {
                return Err(Status::NOT_SUPPORTED);
            }
            // What may come to an instruction that is not supported is waited for, to say so in time.
            if !code.unsupported.is_empty() {
                return self.run(stream, operation);
            }
        }
        self.enqueue_op(stream, operation).map(|_| ())
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
        // Nothing looks at fills that are captured, and at words.
        let is_checked = match operation {
            Operation::Copy(_) => true,
            Operation::Fill(_) => stream.capture().is_none(),
            _ => false,
        };
        if is_checked && !self.allows_writes(&operation) {
            return Err(Status::INVALID_VALUE);
        }
        if stream.captured(&operation)? {
            return Ok(None);
        }
        if stream.kind == StreamKind::Legacy {
            self.refuse_in_capture()?;
        }
        let mut order = lock(&self.order);
        let mut after = self.before(&mut order, stream);
        let op = self.submit(stream, &operation, &mut after, None, true)?;
        let full = stream.append(&op);
        drop(order);
        self.wait_if(full);
        Ok(Some(op))
    }

    /// Whether what a copy, a fill or a word would overwrite, or one in a graph, is none of the memory that may only be read.
    pub fn allows_writes(&self, operation: &Operation) -> bool {
        // Each copy asks when it is asked for and when it runs: in most programs there is nothing to look for.
        if !self.device.all().iter().any(|device| device.simulator.has_read_only()) {
            return true;
        }
        let fine = |address: u64, bytes: u64| {
            let owner = self.device.owner(address);
            owner.is_none_or(|owner| owner.simulator.allows_copies(address, bytes))
        };
        match operation {
            Operation::Copy(copy) => match copy.to.place {
                Place::Device(address) => fine(address, copy.target_bytes()),
                _ => true,
            },
            Operation::Fill(fill) => fine(fill.to, fill.bytes()),
            Operation::WriteValue { address, bytes, .. } => fine(*address, (*bytes).into()),
            Operation::Child(graph) => graph.nodes().iter().all(|node| self.allows_writes(&node.operation)),
            _ => true,
        }
    }

    /// Waits for an operation that must be done before a stream takes further ones.
    fn wait_if(&self, full: Option<Arc<Op>>) {
        if let Some(op) = full {
            self.wait(&op);
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

    /// Hands an operation to the queue, and tells the program's side of it; within a graph it has no place in the order of the
    /// stream.
    fn hand(
        self: &Arc<Self>,
        (stream, in_order): (&Stream, bool),
        operation: &Operation,
        after: &[Arc<Op>],
        task: Option<(Task, RunBy)>,
    ) -> Arc<Op> {
        let op = self.engine().submit(stream.id, stream.priority, after, task);
        if self.host().hears_of_operations() {
            self.host().submitted(&Submitted {
                number: op.number(),
                after: after.iter().map(|op| op.number()).collect(),
                device: self.device.index,
                stream: (stream.kind != StreamKind::Legacy).then_some(stream.id),
                blocking: stream.kind != StreamKind::NonBlocking,
                in_order,
                doing: self.doing(operation),
            });
        }
        op
    }

    fn doing<'a>(&self, operation: &'a Operation) -> Doing<'a> {
        let side = |place: &Place| {
            let Place::Device(address) = place else { return Side::Pageable };
            match self.device.at(*address).memory.find(*address).map(|of| of.kind) {
                Some(Kind::Host | Kind::Registered) => Side::Pinned,
                Some(Kind::Managed) => Side::Managed,
                _ => Side::Device,
            }
        };
        match operation {
            Operation::Kernel(call) => Doing::Kernel(&call.launch.kernel),
            Operation::Copy(copy) => Doing::Copy(side(&copy.from.place), side(&copy.to.place), copy.bytes()),
            Operation::Fill(fill) => Doing::Fill(fill.height.saturating_mul(fill.row_bytes())),
            _ => Doing::Other,
        }
    }

    fn submit(
        self: &Arc<Self>,
        stream: &Stream,
        operation: &Operation,
        after: &mut SmallVec<[Arc<Op>; 4]>,
        run: Option<&Arc<GraphRun>>,
        in_order: bool,
    ) -> Result<Arc<Op>> {
        let order = (stream, in_order);
        let by = match operation {
            Operation::Wait(event) => {
                // A graph's node does not wait for what was recorded in a capture.
                after.extend(match run {
                    Some(_) => event.op().unwrap_or_default(),
                    None => event.op()?,
                });
                if let Some(records) = &event.shared {
                    let (context, records, number) = (self.clone(), records.clone(), records.last());
                    let wait = move |_| wait_for(&*records, number, || context.is_over());
                    let task: Task = Box::new(wait);
                    return Ok(self.hand(order, operation, after, Some((task, RunBy::OwnThread))));
                }
                return Ok(self.hand(order, operation, after, None));
            }
            Operation::Record(event) => {
                let reach = event.shared.clone().map(|records| {
                    let number = records.ask();
                    let task: Task = Box::new(move |_| records.reach(number));
                    (task, RunBy::Any)
                });
                let op = self.hand(order, operation, after, reach);
                *lock(&event.state) = EventState::Recorded(op.clone());
                return Ok(op);
            }
            Operation::Empty => return Ok(self.hand(order, operation, after, None)),
            Operation::Child(graph) => {
                return self.submit_nodes(order, &ordered(&graph.nodes())?, after, run);
            }
            Operation::Host { .. } | Operation::Callback(_) => RunBy::Worker,
            Operation::WaitValue { .. } | Operation::Batch(_) => RunBy::OwnThread,
            _ => RunBy::Any,
        };
        let (context, own, run) = (self.clone(), operation.clone(), run.cloned());
        let place = match operation {
            Operation::Kernel(call) => self.host().called(&call.launch.kernel),
            _ => None,
        };
        let task: Task =
            Box::new(move |number| context.execute(&own, Some(Handed { number, place }), run.as_ref()));
        Ok(self.hand(order, operation, after, Some((task, by))))
    }

    /// Submits the nodes of a graph; returns what joins them.
    fn submit_nodes(
        self: &Arc<Self>,
        place: (&Stream, bool),
        nodes: &[Node],
        after: &mut SmallVec<[Arc<Op>; 4]>,
        run: Option<&Arc<GraphRun>>,
    ) -> Result<Arc<Op>> {
        let head = self.hand(place, &Operation::Empty, after, None);
        let mut ops: HashMap<u64, Arc<Op>> = HashMap::new();
        let mut ends: HashMap<u64, Arc<Op>> = HashMap::new();
        for node in nodes {
            let mut after: SmallVec<[Arc<Op>; 4]> =
                node.after.iter().filter_map(|edge| ops.get(&edge.from).cloned()).collect();
            let operation = if node.runs() { &node.operation } else { &Operation::Empty };
            if matches!(operation, Operation::Conditional(_)) {
                // A device comes to a condition late: kernels that nothing puts before it set it, too.
                let is_awaited = |id: &u64| node.after.iter().any(|edge| edge.from == *id);
                after.extend(ends.iter().filter(|(id, _)| !is_awaited(id)).map(|(_, op)| op.clone()));
            }
            if after.is_empty() {
                after.push(head.clone());
            }
            let op = self.submit(place.0, operation, &mut after, run, false)?;
            for edge in &node.after {
                ends.remove(&edge.from);
            }
            ends.insert(node.id, op.clone());
            ops.insert(node.id, op);
        }
        let ends: Vec<Arc<Op>> = if nodes.is_empty() { vec![head] } else { ends.into_values().collect() };
        Ok(self.hand(place, &Operation::Empty, &ends, None))
    }

    /// Launches an executable graph into a stream.
    ///
    /// # Errors
    /// As [`Context::enqueue`].
    pub fn launch_graph(self: &Arc<Self>, stream: &Arc<Stream>, graph: &ExecGraph) -> Result {
        self.check()?;
        stream.refuse_in_own_capture()?;
        self.device.look_again();
        let nodes = graph.nodes_of_launch();
        let pieces = graph.take_memory(&self.device, stream.id)?;
        let mut order = lock(&self.order);
        let mut after = self.before(&mut order, stream);
        let mut last = lock(&graph.last);
        after.extend(last.take().filter(|op| !op.is_done()));
        let conditions = graph.conditions();
        if !conditions.is_empty() {
            let task: Task = Box::new(move |_| conditions.iter().for_each(|condition| condition.reset()));
            let reset = self.hand((stream, true), &Operation::Empty, &after, Some((task, RunBy::Any)));
            after = std::iter::once(reset).collect();
        }
        let run = GraphRun::of(graph, &nodes);
        let mut op = self.submit_nodes((stream, true), &nodes, &mut after, run.as_ref())?;
        if let Some(run) = run {
            let context = self.clone();
            let task: Task = Box::new(move |_| context.run_behind(&run));
            op = self.hand((stream, true), &Operation::Empty, &[op], Some((task, RunBy::Any)));
        }
        if let Some(held) = graph.held() {
            // The graphs in the nodes hold references too.
            let task: Task = Box::new(move |_| drop((held, nodes)));
            op = self.hand((stream, true), &Operation::Empty, &[op], Some((task, RunBy::Worker)));
        }
        if pieces > 0 {
            self.device.memory.graph_runs(stream.id, &op, pieces);
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
        stream.refuse_in_own_capture()?;
        if let Some(op) = self.enqueue_op(stream, operation)? {
            self.wait(&op);
        }
        self.flush_output();
        self.answer()
    }

    /// Whether a stream takes anything.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED`, or as [`Context::refuse_in_capture`].
    pub fn takes(&self, stream: &Stream) -> Result {
        match stream.capture() {
            Some(capture) if capture.is_invalid() => Err(Status::STREAM_CAPTURE_INVALIDATED),
            None if stream.kind == StreamKind::Legacy => self.refuse_in_capture(),
            _ => Ok(()),
        }
    }

    /// Refuses what would make the legacy stream depend on one that is being captured.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_IMPLICIT`, which also ends the capture.
    pub fn refuse_in_capture(&self) -> Result {
        let captures = self.blocking_captures();
        captures.iter().for_each(|capture| capture.invalidate());
        if captures.is_empty() { Ok(()) } else { Err(Status::STREAM_CAPTURE_IMPLICIT) }
    }

    /// The captures of streams that the legacy one waits for.
    pub fn blocking_captures(&self) -> Vec<Arc<Capture>> {
        let streams = lock(&self.order).streams.clone();
        let blocking = streams.iter().filter(|stream| stream.kind == StreamKind::Blocking);
        blocking.filter_map(|stream| stream.capture()).collect()
    }

    /// Waits for a stream.
    ///
    /// # Errors
    /// The context's fault; `STREAM_CAPTURE_UNSUPPORTED` while it is captured, `STREAM_CAPTURE_IMPLICIT` while a stream is that
    /// it would wait for.
    pub fn synchronize_stream(self: &Arc<Self>, stream: &Arc<Stream>) -> Result {
        stream.refuse_in_own_capture()?;
        if stream.kind == StreamKind::Legacy {
            self.refuse_in_capture()?;
        }
        let after = {
            let mut order = lock(&self.order);
            match stream.kind {
                StreamKind::Legacy => self.before(&mut order, stream),
                _ => stream.tail().into_iter().collect(),
            }
        };
        for op in after {
            self.wait(&op);
        }
        self.flush_output();
        self.answer()
    }

    /// Whether a stream is idle.
    ///
    /// # Errors
    /// `NOT_READY` if not; the context's fault; `STREAM_CAPTURE_UNSUPPORTED` while it is captured.
    pub fn query_stream(&self, stream: &Stream) -> Result {
        stream.refuse_in_own_capture()?;
        self.check()?;
        let after = self.before(&mut lock(&self.order), stream);
        let own = if stream.kind == StreamKind::Legacy { !after.is_empty() } else { stream.tail().is_some() };
        if own { Err(Status::NOT_READY) } else { self.check() }
    }

    /// Waits for all streams.
    ///
    /// # Errors
    /// The context's fault; `STREAM_CAPTURE_UNSUPPORTED` while a stream is captured.
    pub fn synchronize(&self) -> Result {
        let streams = lock(&self.order).streams.clone();
        let captures: Vec<Arc<Capture>> = streams.iter().filter_map(|stream| stream.capture()).collect();
        if !captures.is_empty() {
            captures.iter().for_each(|capture| capture.invalidate());
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        self.drain();
        self.answer()
    }

    /// Records an event in a stream.
    ///
    /// # Errors
    /// As [`Context::enqueue`].
    pub fn record(self: &Arc<Self>, event: &Arc<Event>, stream: &Arc<Stream>) -> Result {
        self.enqueue(stream, Operation::Record(event.clone()))
    }

    /// Records an event behind all that was asked of any stream; nothing waits for that.
    ///
    /// # Errors
    /// As [`Context::enqueue`]; `STREAM_CAPTURE_IMPLICIT` while a stream is captured that waits for the legacy one.
    pub fn record_all(self: &Arc<Self>, event: &Arc<Event>) -> Result {
        self.check()?;
        self.refuse_in_capture()?;
        let mut order = lock(&self.order);
        let mut after = self.before(&mut order, &self.legacy);
        let apart = order.streams.iter().filter(|stream| stream.kind == StreamKind::NonBlocking);
        after.extend(apart.filter_map(|stream| stream.tail()));
        self.submit(&self.legacy, &Operation::Record(event.clone()), &mut after, None, false).map(|_| ())
    }

    /// Has every stream wait for an event.
    ///
    /// # Errors
    /// As [`Context::record_all`].
    pub fn wait_in_all(self: &Arc<Self>, event: &Arc<Event>) -> Result {
        self.check()?;
        self.refuse_in_capture()?;
        let streams = lock(&self.order).streams.clone();
        let all = std::iter::once(&self.legacy).chain(&streams);
        all.into_iter().try_for_each(|stream| self.enqueue(stream, Operation::Wait(event.clone())))
    }
}
