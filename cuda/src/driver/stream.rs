//! Streams, their capture, and words that they wait for and write.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_abi::driver::BatchMemOp;
use runtime::{
    CaptureMode, Compare, Context, Edge, EdgeKind, Event, Graph, Operation, Result, Status, Stream,
    StreamKind,
};

use crate::driver::graph::{data_of, edges_of, graph_handle, node_handle};
use crate::driver::hints;
use crate::ffi::{Handle, NullStream, get, list, put, put_wanted};
use crate::object;
use crate::state::{self, context_handle, healthy};

/// A stream that the program waits for or asks, which it may not while another one captures.
fn waited_for(stream: Handle, null: NullStream) -> Result<(Arc<Context>, Arc<Stream>)> {
    let (context, stream) = state::stream(stream, null)?;
    if stream.kind == StreamKind::Legacy {
        context.refuse_in_capture()?;
    }
    if stream.capture().is_none() {
        runtime::refuse_unsafe()?;
    }
    Ok((context, stream))
}

/// Makes a stream.
pub(crate) fn create(to: *mut Handle, flags: u32, priority: i32) -> Result {
    let context = healthy()?;
    if to.is_null() || flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    let kind = if flags == 1 { StreamKind::NonBlocking } else { StreamKind::Blocking };
    let stream = context.create_stream(kind, priority.clamp(-5, 0));
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, object::insert(stream.id, stream)) }
}

fn destroy(stream: Handle) -> Result {
    state::runtime()?;
    if stream <= 2 {
        return Err(Status::INVALID_HANDLE);
    }
    if let Some(context) = object::find::<Arc<Stream>>(stream)?.context.upgrade() {
        context.check()?;
    }
    let stream: Arc<Stream> = object::remove(stream)?;
    hints::forget(stream.id);
    kept(|kept| drop(kept.remove(&stream.id)));
    if let Some(context) = stream.context.upgrade() {
        context.destroy_stream(&stream);
    }
    Ok(())
}

/// Begins a capture; one that is under way in a blocking stream ends if the legacy stream is to capture.
fn begin(
    stream: Handle,
    null: NullStream,
    mode: CaptureMode,
    into: Option<(Arc<Graph>, Vec<Edge>)>,
) -> Result {
    let (context, stream) = healthy_stream(stream, null)?;
    if stream.kind == StreamKind::Legacy {
        context.refuse_in_capture()?;
    }
    let (graph, after) = into.unwrap_or_else(|| (Graph::new(), Vec::new()));
    stream.begin_capture(graph, after, mode)
}

/// The kinds of a capture by CUDA's numbers.
fn mode_of(mode: u32) -> Result<CaptureMode> {
    match mode {
        0 => Ok(CaptureMode::Global),
        1 => Ok(CaptureMode::ThreadLocal),
        2 => Ok(CaptureMode::Relaxed),
        _ => Err(Status::INVALID_VALUE),
    }
}

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(0) };
}

/// `CU_STREAM_CAPTURE_STATUS_*` of a stream.
fn status(stream: &Stream) -> u32 {
    match stream.capture() {
        None => 0,
        Some(capture) if capture.is_invalid() => 2,
        Some(_) => 1,
    }
}

/// By stream: the nodes that a capture goes on from and the kinds of the edges, as they were asked for last.
type Kept = HashMap<u64, (Vec<Handle>, Vec<u64>)>;

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn kept<T>(body: impl FnOnce(&mut Kept) -> T) -> T {
    body(KEPT.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(HashMap::new))
}

/// The nodes that a capture goes on from and the kinds of the edges, kept until the stream's next such call.
fn kept_edges(stream: &Stream, graph: &Arc<Graph>) -> (*const Handle, *const u64, usize) {
    let edges = stream.capture_edges();
    let nodes = edges.iter().map(|edge| node_handle(graph, edge.from)).collect();
    let kinds = edges.iter().map(|edge| data_of(edge.kind)).collect();
    kept(|kept| {
        kept.insert(stream.id, (nodes, kinds));
        let (nodes, kinds) = &kept[&stream.id];
        (nodes.as_ptr(), kinds.as_ptr(), edges.len())
    })
}

/// What the next node of a capture comes after; with `flags` 1 instead of what it came after.
fn update_capture(
    stream: Handle,
    null: NullStream,
    nodes: *const Handle,
    data: *const u64,
    count: usize,
    flags: u32,
) -> Result {
    let (_, stream) = state::stream(stream, null)?;
    let capture = stream.capture().ok_or(Status::ILLEGAL_STATE)?;
    if capture.is_invalid() {
        return Err(Status::STREAM_CAPTURE_INVALIDATED);
    }
    if flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    stream.set_capture_edges(edges_of(&capture.graph, nodes, data, count)?, flags == 0)
}

unsafe fn capture_info(
    stream: Handle,
    null: NullStream,
    to_status: *mut u32,
    id: *mut u64,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    kinds: *mut *const u64,
    count: *mut usize,
) -> Result {
    let stream = stream_of_capture(stream, null)?;
    // SAFETY: null or for the results.
    unsafe { put(to_status, status(&stream)) }?;
    if let Some(capture) = stream.capture().filter(|capture| !capture.is_invalid()) {
        let full = stream.capture_edges().iter().all(|edge| edge.kind == EdgeKind::default());
        if !full && kinds.is_null() && !nodes.is_null() {
            return Err(Status::LOSSY_QUERY);
        }
        let (list, list_of_kinds, length) = kept_edges(&stream, &capture.graph);
        // SAFETY: as above.
        unsafe {
            put_wanted(id, capture.id);
            put_wanted(graph, graph_handle(&capture.graph));
            put_wanted(nodes, list);
            put_wanted(kinds, list_of_kinds);
            put_wanted(count, length);
        }
    }
    Ok(())
}

/// A wait for a word.
fn wait_word(context: &Context, address: u64, value: u64, bytes: u32, flags: u32) -> Result<Operation> {
    // Whether writes of other devices are flushed before changes nothing.
    const FLUSH: u32 = 1 << 30;
    let compare = match flags & !FLUSH {
        0 => Compare::GreaterOrEqual,
        1 => Compare::Equal,
        2 => Compare::And,
        3 => Compare::Nor,
        _ => return Err(Status::INVALID_VALUE),
    };
    if !address.is_multiple_of(u64::from(bytes)) {
        return Err(Status::INVALID_VALUE);
    }
    context.device.range(address, u64::from(bytes))?;
    Ok(Operation::WaitValue { address, value, bytes, compare })
}

/// A write of a word. Without a barrier is not supported by an H200.
fn write_word(context: &Context, address: u64, value: u64, bytes: u32, flags: u32) -> Result<Operation> {
    if !address.is_multiple_of(u64::from(bytes)) || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    context.device.range(address, u64::from(bytes))?;
    Ok(Operation::WriteValue { address, value, bytes })
}

fn wait_value(stream: Handle, null: NullStream, address: u64, value: u64, bytes: u32, flags: u32) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    context.enqueue(&stream, wait_word(&context, address, value, bytes, flags)?)
}

fn write_value(stream: Handle, null: NullStream, address: u64, value: u64, bytes: u32, flags: u32) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    context.enqueue(&stream, write_word(&context, address, value, bytes, flags)?)
}

/// What an entry of a batch does, if it does anything.
pub(crate) fn word(
    context: &Context,
    &[kind, address, value, flags, ..]: &BatchMemOp,
) -> Result<Option<Operation>> {
    let flags = flags as u32;
    let low = value & 0xffff_ffff;
    Ok(Some(match kind as u32 {
        1 => wait_word(context, address, low, 4, flags)?,
        2 => write_word(context, address, low, 4, flags)?,
        4 => wait_word(context, address, value, 8, flags)?,
        5 => write_word(context, address, value, 8, flags)?,
        // Barriers and flushes: operations run in order, and nothing is remote.
        3 | 6 => return Ok(None),
        _ => return Err(Status::INVALID_VALUE),
    }))
}

unsafe fn batch(
    stream: Handle,
    null: NullStream,
    count: u32,
    operations: *const BatchMemOp,
    flags: u32,
) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if flags != 0 || count > 256 {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program said how many there are.
    for operation in unsafe { list(operations, count as usize) }? {
        if let Some(operation) = word(&context, &operation)? {
            context.enqueue(&stream, operation)?;
        }
    }
    Ok(())
}

/// A stream of a context without a fault.
fn healthy_stream(stream: Handle, null: NullStream) -> Result<(Arc<Context>, Arc<Stream>)> {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    Ok((context, stream))
}

/// The same of a stream that is asked for its capture; the legacy one has none to tell of while another one is captured that
/// it would wait for.
fn stream_of_capture(stream: Handle, null: NullStream) -> Result<Arc<Stream>> {
    let (context, stream) = healthy_stream(stream, null)?;
    if stream.kind == StreamKind::Legacy && !context.blocking_captures().is_empty() {
        return Err(Status::STREAM_CAPTURE_IMPLICIT);
    }
    Ok(stream)
}

api! {
    fn cuStreamCreate(stream: *mut Handle, flags: u32) {
        create(stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) {
        create(stream, flags, priority)
    }

    fn cuStreamDestroy(stream: Handle) {
        destroy(stream)
    }

    fn cuStreamDestroy_v2(stream: Handle) {
        destroy(stream)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) {
        let new = get(mode)?;
        // Other numbers are kept as they are; they allow nothing.
        runtime::set_thread_mode(mode_of(new).unwrap_or(CaptureMode::Global));
        let old = MODE.try_with(|mode| mode.replace(new)).map_err(|_| Status::DEINITIALIZED)?;
        put(mode, old)
    }
}

stream_api! {
    fn cuStreamSynchronize | cuStreamSynchronize_ptsz (null; stream: Handle) {
        let (context, stream) = waited_for(stream, null)?;
        context.synchronize_stream(&stream)
    }

    fn cuStreamQuery | cuStreamQuery_ptsz (null; stream: Handle) {
        let (context, stream) = waited_for(stream, null)?;
        context.query_stream(&stream)
    }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz (null; stream: Handle, event: Handle, flags: u32) {
        let (context, stream) = state::ordered_stream(stream, null)?;
        let event: Arc<Event> = object::find(event).inspect_err(|_| stream.invalidate_capture())?;
        match flags {
            0 => context.enqueue(&stream, Operation::Wait(event)),
            1 => stream.capture_node(Operation::Wait(event)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuStreamGetFlags | cuStreamGetFlags_ptsz (null; stream: Handle, flags: *mut u32) {
        let (_, stream) = healthy_stream(stream, null)?;
        put(flags, u32::from(stream.kind == StreamKind::NonBlocking))
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz (null; stream: Handle, priority: *mut i32) {
        let (_, stream) = healthy_stream(stream, null)?;
        put(priority, stream.priority)
    }

    fn cuStreamGetId | cuStreamGetId_ptsz (null; stream: Handle, id: *mut u64) {
        let (_, stream) = healthy_stream(stream, null)?;
        put(id, stream.id)
    }

    fn cuStreamGetCtx | cuStreamGetCtx_ptsz (null; stream: Handle, context: *mut Handle) {
        let (found, _) = healthy_stream(stream, null)?;
        put(context, context_handle(&found))
    }

    fn cuStreamGetCtx_v2 | cuStreamGetCtx_v2_ptsz (null; stream: Handle, context: *mut Handle, green: *mut Handle) {
        let (found, _) = healthy_stream(stream, null)?;
        put_wanted(green, 0);
        put(context, context_handle(&found))
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz (null; stream: Handle, device: *mut i32) {
        let (context, _) = healthy_stream(stream, null)?;
        put(device, context.device.index as i32)
    }

    fn cuStreamCopyAttributes | cuStreamCopyAttributes_ptsz (null; to: Handle, from: Handle) {
        let ((_, to), (_, from)) = (state::stream(to, null)?, state::stream(from, null)?);
        // The priority goes along, as far as it is asked for.
        let mut priority = [0; 16];
        priority[0] = from.priority as u32;
        hints::set(to.id, 8, priority);
        hints::copy(from.id, to.id);
        Ok(())
    }

    fn cuStreamGetAttribute | cuStreamGetAttribute_ptsz (null; stream: Handle, number: u32, value: *mut [u32; 16]) {
        let (_, stream) = state::stream(stream, null)?;
        let mut found = [0; 16];
        match number {
            1 | 10 => {}
            // That nobody chose how to wait.
            3 => found[0] = u32::MAX,
            8 => found[0] = stream.priority as u32,
            9 => found[0] = 1 << 8,
            _ => return Err(Status::INVALID_VALUE),
        }
        put(value, hints::get(stream.id, number).unwrap_or(found))
    }

    fn cuStreamSetAttribute | cuStreamSetAttribute_ptsz (null; stream: Handle, number: u32, value: *const [u32; 16]) {
        let (_, stream) = state::stream(stream, null)?;
        let value = get(value)?;
        // Hints about caches, waiting, urgency and domains.
        let valid = match number {
            1 => hints::is_window(&value),
            3 => matches!(value[0], 1..=4),
            _ => matches!(number, 8..=10),
        };
        if !valid {
            return Err(Status::INVALID_VALUE);
        }
        hints::set(stream.id, number, value);
        Ok(())
    }

    fn cuStreamIsCapturing | cuStreamIsCapturing_ptsz (null; stream: Handle, capturing: *mut u32) {
        let stream = stream_of_capture(stream, null)?;
        put(capturing, status(&stream))
    }

    fn cuStreamBeginCapture | cuStreamBeginCapture_ptsz (null; stream: Handle) {
        begin(stream, null, CaptureMode::Global, None)
    }

    fn cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz (null; stream: Handle, mode: u32) {
        begin(stream, null, mode_of(mode)?, None)
    }

    fn cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz (null;
        stream: Handle, graph: Handle, nodes: *const Handle, edges: *const u64, count: usize, mode: u32
    ) {
        let graph: Arc<Graph> = object::find(graph)?;
        let nodes = edges_of(&graph, nodes, edges, count)?;
        begin(stream, null, mode_of(mode)?, Some((graph, nodes)))
    }

    fn cuStreamEndCapture | cuStreamEndCapture_ptsz (null; stream: Handle, graph: *mut Handle) {
        put_wanted(graph, 0);
        let (context, stream) = healthy_stream(stream, null)?;
        // Asking the legacy stream ends the captures that it would wait for.
        if stream.kind == StreamKind::Legacy {
            context.refuse_in_capture()?;
        }
        if stream.capture().is_none() {
            return Err(Status::ILLEGAL_STATE);
        }
        // Who captures into a graph has it already.
        let known = |capture: Arc<runtime::Capture>| object::find::<Arc<Graph>>(object::handle(capture.graph.id)).is_ok();
        if graph.is_null() && !stream.capture().is_some_and(known) {
            return Err(Status::INVALID_VALUE);
        }
        let ended = stream.end_capture();
        put_wanted(graph, ended.as_ref().map_or(0, graph_handle));
        ended.map(|_| ())
    }

    fn cuStreamGetCaptureInfo | cuStreamGetCaptureInfo_ptsz (null; stream: Handle, capturing: *mut u32, id: *mut u64) {
        let (graph, nodes) = (std::ptr::null_mut(), std::ptr::null_mut());
        capture_info(stream, null, capturing, id, graph, nodes, std::ptr::null_mut(), std::ptr::null_mut())
    }

    fn cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz (null;
        stream: Handle, capturing: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        count: *mut usize
    ) {
        capture_info(stream, null, capturing, id, graph, nodes, std::ptr::null_mut(), count)
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz (null;
        stream: Handle, capturing: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        kinds: *mut *const u64, count: *mut usize
    ) {
        capture_info(stream, null, capturing, id, graph, nodes, kinds, count)
    }

    fn cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz (null;
        stream: Handle, nodes: *const Handle, count: usize, flags: u32
    ) {
        update_capture(stream, null, nodes, std::ptr::null(), count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz (null;
        stream: Handle, nodes: *const Handle, edges: *const u64, count: usize, flags: u32
    ) {
        update_capture(stream, null, nodes, edges, count, flags)
    }

    fn cuStreamWaitValue32_v2 | cuStreamWaitValue32_v2_ptsz (null; stream: Handle, address: u64, value: u32, flags: u32) {
        wait_value(stream, null, address, value.into(), 4, flags)
    }

    fn cuStreamWaitValue64_v2 | cuStreamWaitValue64_v2_ptsz (null; stream: Handle, address: u64, value: u64, flags: u32) {
        wait_value(stream, null, address, value, 8, flags)
    }

    fn cuStreamWriteValue32_v2 | cuStreamWriteValue32_v2_ptsz (null; stream: Handle, address: u64, value: u32, flags: u32) {
        write_value(stream, null, address, value.into(), 4, flags)
    }

    fn cuStreamWriteValue64_v2 | cuStreamWriteValue64_v2_ptsz (null; stream: Handle, address: u64, value: u64, flags: u32) {
        write_value(stream, null, address, value, 8, flags)
    }

    fn cuStreamBatchMemOp_v2 | cuStreamBatchMemOp_v2_ptsz (null; stream: Handle, count: u32, operations: *const BatchMemOp, flags: u32) {
        batch(stream, null, count, operations, flags)
    }
}
