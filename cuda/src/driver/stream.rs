//! Streams, their capture, and words that they wait for and write.

use std::cell::Cell;
use std::sync::Arc;

use runtime::{CaptureMode, Compare, Event, Graph, Operation, Result, Status, Stream, StreamKind};

use crate::driver::graph::{after_of, graph_handle, node_handle};
use crate::ffi::{Handle, get, list, put, put_wanted};
use crate::object;
use crate::state::{self, NullStream, context_handle, healthy};

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
    let stream: Arc<Stream> = object::remove(stream)?;
    if let Some(context) = stream.context.upgrade() {
        context.destroy_stream(&stream);
    }
    Ok(())
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

/// Handles of the nodes that a capture goes on from, kept until the stream's next such call.
fn kept_nodes(stream: &Stream, graph: &Arc<Graph>) -> (*const Handle, usize) {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};
    static KEPT: Mutex<Option<HashMap<u64, Vec<Handle>>>> = Mutex::new(None);
    let nodes: Vec<Handle> = stream.capture_nodes().iter().map(|&id| node_handle(graph, id)).collect();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_with(HashMap::new).entry(stream.id).or_default();
    *kept = nodes;
    (kept.as_ptr(), kept.len())
}

unsafe fn capture_info(
    stream: Handle,
    null: NullStream,
    to_status: *mut u32,
    id: *mut u64,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    count: *mut usize,
) -> Result {
    let (_, stream) = state::stream(stream, null)?;
    // SAFETY: null or for the results.
    unsafe { put(to_status, status(&stream)) }?;
    if let Some(capture) = stream.capture() {
        let (list, length) = kept_nodes(&stream, &capture.graph);
        // SAFETY: as above.
        unsafe {
            put_wanted(id, capture.id);
            put_wanted(graph, graph_handle(&capture.graph));
            put_wanted(nodes, list);
            put_wanted(count, length);
        }
    }
    Ok(())
}

fn wait_value(stream: Handle, null: NullStream, address: u64, value: u64, bytes: u32, flags: u32) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    let compare = match flags & 7 {
        0 => Compare::GreaterOrEqual,
        1 => Compare::Equal,
        2 => Compare::And,
        3 => Compare::Nor,
        _ => return Err(Status::INVALID_VALUE),
    };
    if !address.is_multiple_of(u64::from(bytes)) {
        return Err(Status::INVALID_VALUE);
    }
    context.device.memory.range(address, u64::from(bytes))?;
    context.enqueue(&stream, Operation::WaitValue { address, value, bytes, compare })
}

fn write_value(stream: Handle, null: NullStream, address: u64, value: u64, bytes: u32, flags: u32) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    if !address.is_multiple_of(u64::from(bytes)) || flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    context.device.memory.range(address, u64::from(bytes))?;
    context.enqueue(&stream, Operation::WriteValue { address, value, bytes })
}

/// `CUstreamBatchMemOpParams`: the kind, the address, the value, flags; 48 bytes.
type MemOp = [u64; 6];

fn batch(stream: Handle, null: NullStream, operations: &[MemOp]) -> Result {
    for &[kind, address, value, flags, ..] in operations {
        match kind as u32 {
            1 => wait_value(stream, null, address, value & 0xffff_ffff, 4, flags as u32)?,
            2 => write_value(stream, null, address, value & 0xffff_ffff, 4, flags as u32)?,
            4 => wait_value(stream, null, address, value, 8, flags as u32)?,
            5 => write_value(stream, null, address, value, 8, flags as u32)?,
            // Barriers and flushes: operations run in order, and nothing is remote.
            3 | 6 => {}
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    Ok(())
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
        mode_of(new)?;
        let old = MODE.try_with(|mode| mode.replace(new)).map_err(|_| Status::DEINITIALIZED)?;
        put(mode, old)
    }
}

stream_api! {
    fn cuStreamSynchronize | cuStreamSynchronize_ptsz (null; stream: Handle) {
        let (context, stream) = state::stream(stream, null)?;
        context.synchronize_stream(&stream)
    }

    fn cuStreamQuery | cuStreamQuery_ptsz (null; stream: Handle) {
        let (context, stream) = state::stream(stream, null)?;
        context.query_stream(&stream)
    }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz (null; stream: Handle, event: Handle, flags: u32) {
        let (context, stream) = state::stream(stream, null)?;
        let event: Arc<Event> = object::find(event)?;
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        context.enqueue(&stream, Operation::Wait(event))
    }

    fn cuStreamGetFlags | cuStreamGetFlags_ptsz (null; stream: Handle, flags: *mut u32) {
        let (_, stream) = state::stream(stream, null)?;
        put(flags, u32::from(stream.kind == StreamKind::NonBlocking))
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz (null; stream: Handle, priority: *mut i32) {
        let (_, stream) = state::stream(stream, null)?;
        put(priority, stream.priority)
    }

    fn cuStreamGetId | cuStreamGetId_ptsz (null; stream: Handle, id: *mut u64) {
        let (_, stream) = state::stream(stream, null)?;
        put(id, stream.id)
    }

    fn cuStreamGetCtx | cuStreamGetCtx_ptsz (null; stream: Handle, context: *mut Handle) {
        let (found, _) = state::stream(stream, null)?;
        put(context, context_handle(&found))
    }

    fn cuStreamGetCtx_v2 | cuStreamGetCtx_v2_ptsz (null; stream: Handle, context: *mut Handle, green: *mut Handle) {
        let (found, _) = state::stream(stream, null)?;
        put_wanted(green, 0);
        put(context, context_handle(&found))
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz (null; stream: Handle, device: *mut i32) {
        let (context, _) = state::stream(stream, null)?;
        put(device, context.device.index as i32)
    }

    fn cuStreamCopyAttributes | cuStreamCopyAttributes_ptsz (null; to: Handle, from: Handle) {
        state::stream(to, null)?;
        state::stream(from, null)?;
        Ok(())
    }

    fn cuStreamGetAttribute | cuStreamGetAttribute_ptsz (null; stream: Handle, number: u32, value: *mut [u32; 16]) {
        let (_, stream) = state::stream(stream, null)?;
        let mut found = [0; 16];
        match number {
            1 | 9 | 10 => {}
            3 => found[0] = 1,
            8 => found[0] = stream.priority as u32,
            _ => return Err(Status::INVALID_VALUE),
        }
        put(value, found)
    }

    fn cuStreamSetAttribute | cuStreamSetAttribute_ptsz (null; stream: Handle, number: u32, value: *const [u32; 16]) {
        state::stream(stream, null)?;
        get(value)?;
        // Hints about caches, waiting and domains.
        if matches!(number, 1 | 3 | 9 | 10) { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    fn cuStreamIsCapturing | cuStreamIsCapturing_ptsz (null; stream: Handle, capturing: *mut u32) {
        let (_, stream) = state::stream(stream, null)?;
        put(capturing, status(&stream))
    }

    fn cuStreamBeginCapture | cuStreamBeginCapture_ptsz (null; stream: Handle) {
        let (_, stream) = state::stream(stream, null)?;
        stream.begin_capture(Graph::new(), Vec::new(), CaptureMode::Global)
    }

    fn cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz (null; stream: Handle, mode: u32) {
        let (_, stream) = state::stream(stream, null)?;
        stream.begin_capture(Graph::new(), Vec::new(), mode_of(mode)?)
    }

    fn cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz (null;
        stream: Handle, graph: Handle, nodes: *const Handle, _edges: *const u64, count: usize, mode: u32
    ) {
        let (_, stream) = state::stream(stream, null)?;
        let graph: Arc<Graph> = object::find(graph)?;
        let nodes = after_of(&graph, nodes, count)?;
        stream.begin_capture(graph, nodes, mode_of(mode)?)
    }

    fn cuStreamEndCapture | cuStreamEndCapture_ptsz (null; stream: Handle, graph: *mut Handle) {
        let (_, stream) = state::stream(stream, null)?;
        if graph.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        match stream.end_capture() {
            Ok(captured) => put(graph, graph_handle(&captured)),
            Err(error) => {
                put(graph, 0)?;
                Err(error)
            }
        }
    }

    fn cuStreamGetCaptureInfo | cuStreamGetCaptureInfo_ptsz (null; stream: Handle, capturing: *mut u32, id: *mut u64) {
        let nothing = std::ptr::null_mut();
        capture_info(stream, null, capturing, id, nothing, std::ptr::null_mut(), std::ptr::null_mut())
    }

    fn cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz (null;
        stream: Handle, capturing: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        count: *mut usize
    ) {
        capture_info(stream, null, capturing, id, graph, nodes, count)
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz (null;
        stream: Handle, capturing: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        edges: *mut u64, count: *mut usize
    ) {
        put_wanted(edges, 0);
        capture_info(stream, null, capturing, id, graph, nodes, count)
    }

    fn cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz (null;
        stream: Handle, nodes: *const Handle, count: usize, flags: u32
    ) {
        let (_, stream) = state::stream(stream, null)?;
        let capture = stream.capture().ok_or(Status::ILLEGAL_STATE)?;
        stream.set_capture_nodes(after_of(&capture.graph, nodes, count)?, flags == 0)
    }

    fn cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz (null;
        stream: Handle, nodes: *const Handle, _edges: *const u64, count: usize, flags: u32
    ) {
        let (_, stream) = state::stream(stream, null)?;
        let capture = stream.capture().ok_or(Status::ILLEGAL_STATE)?;
        stream.set_capture_nodes(after_of(&capture.graph, nodes, count)?, flags == 0)
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

    fn cuStreamBatchMemOp_v2 | cuStreamBatchMemOp_v2_ptsz (null; stream: Handle, count: u32, operations: *const MemOp, flags: u32) {
        if flags != 0 || count > 256 {
            return Err(Status::INVALID_VALUE);
        }
        batch(stream, null, &list(operations, count as usize)?)
    }
}
