//! The capture of streams into graphs.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};

use cuda_abi::{Result, Status};

use crate::edge::{Edge, EdgeKind};
use crate::operation::{Graph, Operation};
use crate::tree::{Event, EventState, Stream, StreamKind};
use crate::{fresh_id, lock};

impl Stream {
    /// The capture that it takes part in.
    pub fn capture(&self) -> Option<Arc<Capture>> {
        let number = lock(&self.state).capture.as_ref().map(|(capture, _)| *capture);
        number.and_then(Capture::of)
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

    /// Has the capture that it takes part in end without a graph, if there is one.
    pub fn invalidate_capture(&self) {
        self.capture().inspect(|capture| capture.invalidate());
    }

    /// Refuses what cannot be captured.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNSUPPORTED` while it captures, which then gives no graph.
    pub fn refuse_in_own_capture(&self) -> Result {
        let capture = self.capture();
        capture.map_or(Ok(()), |capture| {
            capture.invalidate();
            Err(Status::STREAM_CAPTURE_UNSUPPORTED)
        })
    }

    /// Adds an operation as a node, which records an event or waits for one whenever the graph runs.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if it is not capturing; the capture was invalidated.
    pub fn capture_node(&self, operation: Operation) -> Result {
        let capture = &mut lock(&self.state).capture;
        let (number, edges) = capture.as_mut().ok_or(Status::ILLEGAL_STATE)?;
        add_node(*number, edges, operation)
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
        state.capture = Some((capture.id, after));
        open_captures().push(Arc::new(capture));
        OPEN.store(true, SeqCst);
        Ok(())
    }

    /// Ends the capture that began in this stream.
    ///
    /// # Errors
    /// The capture was invalidated, was not begun here, or has work in other streams that did not join.
    pub fn end_capture(&self) -> Result<Arc<Graph>> {
        let (capture, nodes) = lock(&self.state).capture.clone().ok_or(Status::ILLEGAL_STATE)?;
        let capture = Capture::of(capture).ok_or(Status::ILLEGAL_STATE)?;
        if capture.origin != self.id {
            capture.invalidate();
            return Err(Status::STREAM_CAPTURE_UNMATCHED);
        }
        let wrong_thread = capture.mode != CaptureMode::Relaxed && capture.thread != thread_number();
        let mut open = Vec::new();
        let streams = std::mem::take(&mut *lock(&capture.streams));
        for stream in streams {
            let ended = lock(&stream.state).capture.take();
            open.extend(ended.into_iter().flat_map(|(_, nodes)| nodes));
        }
        let mut list = open_captures();
        list.retain(|open| open.is_open());
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

    /// The stream goes: a capture that began in it ends without a graph. One that it takes part in goes on, and what the
    /// stream did has to be joined by its end as if it were there.
    pub(crate) fn leave_capture(&self) {
        if self.capture().is_some_and(|capture| capture.origin == self.id) {
            // What comes of it is nobody's.
            let _ = self.end_capture();
        }
    }

    /// Lets the edges from kernels into the next captured operation be of a kind.
    pub fn set_capture_kind(&self, kind: EdgeKind) {
        if let Some((capture, edges)) = &mut lock(&self.state).capture
            && let Some(capture) = Capture::of(*capture)
        {
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
        *lock(&event.state) = EventState::Captured(*capture, edges);
        Ok(())
    }

    /// Adds an operation to the capture; false if there is none.
    pub(crate) fn captured(self: &Arc<Self>, operation: &Operation) -> Result<bool> {
        let mut state = lock(&self.state);
        if let Some((own, _)) = &state.capture {
            Capture::valid(*own)?;
        }
        match operation {
            // What other processes have is not of a graph.
            Operation::Record(event) if event.is_for_processes() && state.capture.is_some() => {
                Err(Status::STREAM_CAPTURE_UNSUPPORTED)
            }
            Operation::Wait(event) if event.is_for_processes() && state.capture.is_some() => {
                if let Some((own, _)) = &state.capture {
                    Capture::of(*own).inspect(|own| own.invalidate());
                }
                Err(Status::STREAM_CAPTURE_UNSUPPORTED)
            }
            Operation::Wait(event) => {
                let source = lock(&event.state).clone();
                match (source, &mut state.capture) {
                    (EventState::Captured(number, nodes), None) => {
                        let Some(capture) = Capture::of(number) else { return Err(used_outside(number)) };
                        if capture.is_invalid() {
                            return Err(Status::INVALID_VALUE);
                        }
                        if self.kind == StreamKind::Legacy {
                            capture.invalidate();
                            return Err(Status::STREAM_CAPTURE_IMPLICIT);
                        }
                        lock(&capture.streams).push(self.clone());
                        state.capture = Some((number, nodes));
                        Ok(true)
                    }
                    (EventState::Captured(other, nodes), Some((own, current))) => {
                        if other != *own {
                            [*own, other].into_iter().filter_map(Capture::of).for_each(|c| c.invalidate());
                            return Err(Status::STREAM_CAPTURE_MERGE);
                        }
                        join(current, nodes);
                        Ok(true)
                    }
                    // What was never recorded is over.
                    (EventState::Never, Some(_)) => Ok(true),
                    (_, Some((own, _))) => {
                        Capture::of(*own).inspect(|own| own.invalidate());
                        Err(Status::STREAM_CAPTURE_ISOLATION)
                    }
                    (_, None) => Ok(false),
                }
            }
            Operation::Record(event) => match &state.capture {
                Some((capture, nodes)) => {
                    *lock(&event.state) = EventState::Captured(*capture, nodes.clone());
                    Ok(true)
                }
                None => Ok(false),
            },
            _ => match &mut state.capture {
                Some((capture, nodes)) => add_node(*capture, nodes, operation.clone()).map(|()| true),
                None => Ok(false),
            },
        }
    }
}

/// Adds an operation to the capture of a number, behind these edges, which become those from it.
fn add_node(capture: u64, edges: &mut Vec<Edge>, operation: Operation) -> Result {
    let capture = Capture::valid(capture)?;
    // What is no kernel waits for all of what is before it.
    if !matches!(operation, Operation::Kernel(_)) {
        edges.iter_mut().for_each(|edge| *edge = Edge::full(edge.from));
    }
    let node = capture.graph.add(operation, edges)?;
    *edges = vec![Edge::full(node)];
    Ok(())
}

/// Adds edges to others. Of two from one node the one that waits for more stays.
fn join(edges: &mut Vec<Edge>, more: Vec<Edge>) {
    edges.extend(more);
    edges.sort_unstable();
    edges.dedup_by_key(|edge| edge.from);
}

/// Captures that have not ended, which streams and events know by their numbers, and whether there is one.
static CAPTURES: Mutex<Vec<Arc<Capture>>> = Mutex::new(Vec::new());
static OPEN: AtomicBool = AtomicBool::new(false);

fn open_captures() -> MutexGuard<'static, Vec<Arc<Capture>>> {
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
    let list: Vec<Arc<Capture>> =
        open_captures().iter().filter(|capture| forbids(capture)).cloned().collect();
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

/// An event of a capture is used where only recorded ones can be: what that is answered with.
pub(crate) fn used_outside(capture: u64) -> Status {
    match Capture::of(capture) {
        Some(capture) if !capture.invalid.swap(true, SeqCst) => Status::CAPTURED_EVENT,
        _ => Status::INVALID_VALUE,
    }
}

impl Capture {
    /// The capture of a number, if it has not ended.
    fn of(number: u64) -> Option<Arc<Capture>> {
        if !OPEN.load(SeqCst) {
            return None;
        }
        open_captures().iter().find(|capture| capture.id == number && capture.is_open()).cloned()
    }

    fn is_open(&self) -> bool {
        !lock(&self.streams).is_empty()
    }

    /// The capture of a number, if operations may still be added to it.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED`
    fn valid(number: u64) -> Result<Arc<Capture>> {
        Capture::of(number).filter(|capture| !capture.is_invalid()).ok_or(Status::STREAM_CAPTURE_INVALIDATED)
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
