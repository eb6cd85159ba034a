//! Streams, events and the capture of streams into graphs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use cuda_abi::{Result, Status};

use crate::context::Context;
use crate::engine::Op;
use crate::graph::{Edge, EdgeKind, Graph};
use crate::operation::Operation;
use crate::records::{SharedRecords, wait_for};
use crate::{fresh_id, lock};

/// How a stream orders with the legacy default stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamKind {
    /// The legacy default stream: waits for all blocking streams, and they for it.
    Legacy,
    /// A blocking stream, per-thread default streams included.
    Blocking,
    /// Independent of the legacy stream.
    NonBlocking,
}

/// A stream.
#[derive(Debug)]
pub struct Stream {
    /// Its number.
    pub id: u64,
    /// Its context.
    pub context: Weak<Context>,
    /// How it orders with the legacy stream.
    pub kind: StreamKind,
    /// Lower is more urgent: 0 to -5.
    pub priority: i32,
    pub(crate) state: Mutex<StreamState>,
}

/// Operations that may wait in a stream, about as many as launches in one of a device.
const MOST_PENDING: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct StreamState {
    /// What its next operation waits for.
    pub tail: Option<Arc<Op>>,
    /// Its last operations, the first of which is not done.
    pub pending: VecDeque<Arc<Op>>,
    /// The capture it takes part in, and the edges into its next operation.
    pub capture: Option<(Arc<Capture>, Vec<Edge>)>,
}

impl Stream {
    pub(crate) fn new(context: Weak<Context>, kind: StreamKind, priority: i32) -> Arc<Stream> {
        Arc::new(Stream { id: fresh_id(), context, kind, priority, state: Mutex::default() })
    }

    /// Makes an operation its last. One that must be done before it takes further ones is returned: a device
    /// has room for so many as well.
    pub(crate) fn append(&self, op: &Arc<Op>) -> Option<Arc<Op>> {
        let mut state = lock(&self.state);
        state.tail = Some(op.clone());
        while state.pending.front().is_some_and(|op| op.is_done()) {
            state.pending.pop_front();
        }
        state.pending.push_back(op.clone());
        if state.pending.len() > MOST_PENDING { state.pending.pop_front() } else { None }
    }

    /// The last operation, if it is not done.
    pub(crate) fn tail(&self) -> Option<Arc<Op>> {
        let mut state = lock(&self.state);
        if state.tail.as_ref().is_some_and(|op| op.is_done()) {
            state.tail = None;
        }
        state.tail.clone()
    }

    /// The capture that it takes part in.
    pub fn capture(&self) -> Option<Arc<Capture>> {
        lock(&self.state).capture.as_ref().map(|(capture, _)| capture.clone())
    }

    /// The edges into its next captured operation.
    pub fn capture_edges(&self) -> Vec<Edge> {
        lock(&self.state).capture.as_ref().map(|(_, edges)| edges.clone()).unwrap_or_default()
    }

    /// Sets or extends these edges.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if it is not capturing.
    pub fn set_capture_edges(&self, edges: Vec<Edge>, keep: bool) -> Result {
        let mut state = lock(&self.state);
        let (_, current) = state.capture.as_mut().ok_or(Status::ILLEGAL_STATE)?;
        if keep {
            join(current, edges);
        } else {
            *current = edges;
        }
        Ok(())
    }

    /// Begins a capture into `graph`, behind edges from nodes of it.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if it is capturing, `STREAM_CAPTURE_UNSUPPORTED` for the legacy stream.
    pub fn begin_capture(self: &Arc<Self>, graph: Arc<Graph>, after: Vec<Edge>, mode: CaptureMode) -> Result {
        if self.kind == StreamKind::Legacy {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let mut state = lock(&self.state);
        if state.capture.is_some() {
            return Err(Status::ILLEGAL_STATE);
        }
        let capture = Capture {
            id: fresh_id(),
            graph,
            origin: self.id,
            mode,
            thread: thread_number(),
            invalid: AtomicBool::new(false),
            streams: Mutex::new(vec![self.clone()]),
        };
        let capture = Arc::new(capture);
        open_captures().push(Arc::downgrade(&capture));
        OPEN.store(true, SeqCst);
        state.capture = Some((capture, after));
        Ok(())
    }

    /// Ends the capture that began in this stream.
    ///
    /// # Errors
    /// The capture was invalidated, was not begun here, or has work in other streams that did not join.
    pub fn end_capture(&self) -> Result<Arc<Graph>> {
        let (capture, nodes) = lock(&self.state).capture.clone().ok_or(Status::ILLEGAL_STATE)?;
        if capture.origin != self.id {
            capture.invalidate();
            return Err(Status::STREAM_CAPTURE_UNMATCHED);
        }
        let wrong_thread = capture.mode != CaptureMode::Relaxed && capture.thread != thread_number();
        let mut open = Vec::new();
        for stream in lock(&capture.streams).drain(..) {
            let ended = lock(&stream.state).capture.take();
            open.extend(ended.into_iter().flat_map(|(_, nodes)| nodes));
        }
        let mut list = open_captures();
        list.retain(|open| open.upgrade().is_some_and(|open| open.is_open()));
        OPEN.store(!list.is_empty(), SeqCst);
        drop(list);
        if wrong_thread {
            return Err(Status::STREAM_CAPTURE_WRONG_THREAD);
        }
        if capture.invalid.load(SeqCst) {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        if !capture.graph.joins(&open, &nodes) {
            return Err(Status::STREAM_CAPTURE_UNJOINED);
        }
        Ok(capture.graph.clone())
    }

    /// Lets the edges from kernels into the next captured operation be of a kind.
    pub fn set_capture_kind(&self, kind: EdgeKind) {
        if let Some((capture, edges)) = &mut lock(&self.state).capture {
            for edge in edges {
                let from = capture.graph.node(edge.from);
                if from.is_ok_and(|node| matches!(node.operation, Operation::Kernel(_))) {
                    edge.kind = kind;
                }
            }
        }
    }

    /// Lets an event stand for a point in the stream's last captured kernel.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if it is not capturing.
    pub fn capture_event(&self, event: &Event, kind: EdgeKind) -> Result {
        let state = lock(&self.state);
        let (capture, edges) = state.capture.as_ref().ok_or(Status::ILLEGAL_STATE)?;
        let edges = edges.iter().map(|edge| Edge { kind, ..*edge }).collect();
        *lock(&event.state) = EventState::Captured(capture.clone(), edges);
        Ok(())
    }

    /// Adds an operation to the capture; false if there is none.
    pub(crate) fn captured(self: &Arc<Self>, operation: &Operation) -> Result<bool> {
        let mut state = lock(&self.state);
        match operation {
            Operation::Wait(event) => {
                let source = lock(&event.state).clone();
                match (source, &mut state.capture) {
                    (EventState::Captured(capture, nodes), None)
                        if capture.is_open() && !capture.is_invalid() =>
                    {
                        if self.kind == StreamKind::Legacy {
                            return Err(Status::STREAM_CAPTURE_IMPLICIT);
                        }
                        lock(&capture.streams).push(self.clone());
                        state.capture = Some((capture, nodes));
                        Ok(true)
                    }
                    (EventState::Captured(capture, _), None) => Err(capture.used_outside()),
                    (EventState::Captured(capture, nodes), Some((own, current))) => {
                        if capture.id != own.id {
                            own.invalidate();
                            capture.invalidate();
                            return Err(Status::STREAM_CAPTURE_MERGE);
                        }
                        join(current, nodes);
                        Ok(true)
                    }
                    (_, Some((own, _))) => {
                        own.invalid.store(true, SeqCst);
                        Err(Status::STREAM_CAPTURE_ISOLATION)
                    }
                    (_, None) => Ok(false),
                }
            }
            Operation::Record(event) => match &state.capture {
                Some((capture, nodes)) => {
                    *lock(&event.state) = EventState::Captured(capture.clone(), nodes.clone());
                    Ok(true)
                }
                None => Ok(false),
            },
            _ => match &mut state.capture {
                Some((capture, nodes)) => {
                    if capture.invalid.load(SeqCst) {
                        return Err(Status::STREAM_CAPTURE_INVALIDATED);
                    }
                    // What is no kernel waits for all of what is before it.
                    if !matches!(operation, Operation::Kernel(_)) {
                        nodes.iter_mut().for_each(|edge| *edge = Edge::full(edge.from));
                    }
                    let node = capture.graph.add(operation.clone(), nodes)?;
                    *nodes = vec![Edge::full(node)];
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }
}

/// Adds edges to others. Of two from one node the one that waits for more stays.
fn join(edges: &mut Vec<Edge>, more: Vec<Edge>) {
    edges.extend(more);
    edges.sort_unstable();
    edges.dedup_by_key(|edge| edge.from);
}

/// Captures that have not ended, and whether there is one.
static CAPTURES: Mutex<Vec<Weak<Capture>>> = Mutex::new(Vec::new());
static OPEN: AtomicBool = AtomicBool::new(false);

fn open_captures() -> std::sync::MutexGuard<'static, Vec<Weak<Capture>>> {
    lock(&CAPTURES)
}

thread_local! {
    static THREAD_MODE: std::cell::Cell<CaptureMode> = const { std::cell::Cell::new(CaptureMode::Global) };
    static THREAD_NUMBER: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The number of this thread; `std::thread::current` is gone in exit handlers.
fn thread_number() -> u64 {
    if THREAD_NUMBER.get() == 0 {
        THREAD_NUMBER.set(fresh_id());
    }
    THREAD_NUMBER.get()
}

/// Sets what this thread may do while streams capture; returns what it was.
pub fn set_thread_mode(mode: CaptureMode) -> CaptureMode {
    THREAD_MODE.try_with(|current| current.replace(mode)).unwrap_or(CaptureMode::Global)
}

/// Refuses what may not be done while a stream captures, as far as modes forbid it.
///
/// # Errors
/// `STREAM_CAPTURE_UNSUPPORTED`, which also ends the captures that forbid it.
pub fn refuse_unsafe() -> Result {
    if !OPEN.load(SeqCst) {
        return Ok(());
    }
    let own = THREAD_MODE.try_with(std::cell::Cell::get).unwrap_or(CaptureMode::Global);
    let thread = thread_number();
    let forbids = |capture: &Arc<Capture>| {
        capture.is_open()
            && match (capture.mode, own) {
                (CaptureMode::Relaxed, _) | (_, CaptureMode::Relaxed) => false,
                (CaptureMode::Global, CaptureMode::Global) => true,
                _ => capture.thread == thread,
            }
    };
    let list: Vec<Arc<Capture>> = open_captures().iter().filter_map(Weak::upgrade).filter(forbids).collect();
    list.iter().for_each(|capture| capture.invalidate());
    if list.is_empty() { Ok(()) } else { Err(Status::STREAM_CAPTURE_UNSUPPORTED) }
}

/// What else a thread may do while a stream captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureMode {
    /// Nothing unsafe, in any thread.
    Global,
    /// Nothing unsafe in this thread.
    ThreadLocal,
    /// Anything.
    Relaxed,
}

/// Streams that are being captured into a graph.
#[derive(Debug)]
pub struct Capture {
    /// Its number.
    pub id: u64,
    /// The graph that grows.
    pub graph: Arc<Graph>,
    origin: u64,
    /// What threads may do meanwhile.
    pub mode: CaptureMode,
    thread: u64,
    invalid: AtomicBool,
    streams: Mutex<Vec<Arc<Stream>>>,
}

impl Capture {
    fn is_open(&self) -> bool {
        !lock(&self.streams).is_empty()
    }

    /// An event of it is used where only recorded ones can be.
    fn used_outside(&self) -> Status {
        if !self.is_open() || self.invalid.swap(true, SeqCst) {
            return Status::INVALID_VALUE;
        }
        Status::CAPTURED_EVENT
    }

    /// Whether an error ended it.
    pub fn is_invalid(&self) -> bool {
        self.invalid.load(SeqCst)
    }

    /// Makes it fail at its end.
    pub fn invalidate(&self) {
        self.invalid.store(true, SeqCst);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) enum EventState {
    #[default]
    Never,
    Recorded(Arc<Op>),
    Captured(Arc<Capture>, Vec<Edge>),
}

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Its number.
    pub id: u64,
    /// Its context.
    pub context: Weak<Context>,
    /// The flags it was made with: 2 has no times.
    pub flags: u32,
    /// Its records, if other processes have it as well.
    pub shared: Option<Arc<dyn SharedRecords>>,
    pub(crate) state: Mutex<EventState>,
}

/// `CU_EVENT_DISABLE_TIMING`
const NO_TIMES: u32 = 2;

impl Event {
    /// An event that was never recorded.
    pub fn new(context: &Arc<Context>, flags: u32) -> Arc<Event> {
        Self::with_records(context, flags, None)
    }

    /// The same, of an event that other processes have as well.
    pub fn with_records(
        context: &Arc<Context>,
        flags: u32,
        shared: Option<Arc<dyn SharedRecords>>,
    ) -> Arc<Event> {
        let context = Arc::downgrade(context);
        Arc::new(Event { id: fresh_id(), context, flags, shared, state: Mutex::default() })
    }

    /// Whether it was made without times.
    pub fn has_no_times(&self) -> bool {
        self.flags & NO_TIMES != 0
    }

    pub(crate) fn op(&self) -> Result<Option<Arc<Op>>> {
        match &*lock(&self.state) {
            EventState::Never => Ok(None),
            EventState::Recorded(op) => Ok(Some(op.clone())),
            EventState::Captured(capture, _) => Err(capture.used_outside()),
        }
    }

    /// Whether what it marks is over.
    ///
    /// # Errors
    /// `NOT_READY` if not; `CAPTURED_EVENT`; the context's fault.
    pub fn query(&self) -> Result {
        let context = self.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        context.check()?;
        if let Some(records) = &self.shared {
            let reached = records.is_reached(records.last());
            return if reached { Ok(()) } else { Err(Status::NOT_READY) };
        }
        match self.op()? {
            Some(op) if !op.is_done() => Err(Status::NOT_READY),
            _ => context.check(),
        }
    }

    /// Waits until what it marks is over.
    ///
    /// # Errors
    /// `CAPTURED_EVENT`; the context's fault.
    pub fn synchronize(&self) -> Result {
        let context = self.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        if let Some(op) = self.op()? {
            context.engine().wait(&op);
        }
        if let Some(records) = &self.shared {
            wait_for(&**records, records.last(), || context.is_over());
        }
        context.flush_output();
        context.check()
    }

    /// Time between two events, in milliseconds.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if one has no times or was never recorded, or if they are of two contexts, `NOT_READY` if one is not over.
    pub fn elapsed_ms(from: &Event, to: &Event) -> Result<f32> {
        let (start, end) = (from.op()?, to.op()?);
        if (from.flags | to.flags) & NO_TIMES != 0 || !Weak::ptr_eq(&from.context, &to.context) {
            return Err(Status::INVALID_HANDLE);
        }
        let (Some(start), Some(end)) = (start, end) else { return Err(Status::INVALID_HANDLE) };
        let (Some(start), Some(end)) = (start.finished(), end.finished()) else {
            return Err(Status::NOT_READY);
        };
        let ms = |time: Duration| time.as_secs_f32() * 1e3;
        Ok(match end.checked_duration_since(start) {
            Some(time) => ms(time),
            None => -ms(start.duration_since(end)),
        })
    }
}
