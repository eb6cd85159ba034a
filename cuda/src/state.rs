//! What the process has: the devices; what a thread has: a stack of contexts and its own streams.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use runtime::virtual_memory::AddressSpace;
use runtime::{Context, Device, Result, Runtime, Status, Stream, StreamKind};

use crate::ffi::{Handle, NullStream};
use crate::object::{self, handle};
use crate::thread::OfThread;

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The devices.
///
/// # Errors
/// `NOT_INITIALIZED` before `cuInit`.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    RUNTIME.get().ok_or(Status::NOT_INITIALIZED)
}

/// The devices; made if there are none.
pub(crate) fn runtime_or(make: impl FnOnce() -> Runtime) -> &'static Runtime {
    RUNTIME.get_or_init(make)
}

/// The addresses of the process.
///
/// # Errors
/// As [`runtime`].
pub(crate) fn addresses() -> Result<&'static AddressSpace> {
    Ok(&runtime()?.addresses)
}

/// A device by its number.
pub(crate) fn device(index: i32) -> Result<&'static Arc<Device>> {
    runtime()?.device(index)
}

static STACK: OfThread<RefCell<Vec<Arc<Context>>>> = OfThread::new();
static STREAMS: OfThread<RefCell<HashMap<u64, Arc<Stream>>>> = OfThread::new();

/// Changes the thread's stack of contexts.
pub(crate) fn stack<T>(body: impl FnOnce(&mut Vec<Arc<Context>>) -> T) -> Result<T> {
    STACK.with(|stack| body(&mut stack.borrow_mut()))
}

/// The thread's current context.
///
/// # Errors
/// `NOT_INITIALIZED`, `INVALID_CONTEXT` if there is none, `CONTEXT_IS_DESTROYED`.
pub(crate) fn current() -> Result<Arc<Context>> {
    runtime()?;
    let context = stack(|stack| stack.last().cloned())?.ok_or(Status::INVALID_CONTEXT)?;
    if context.is_destroyed() { Err(Status::CONTEXT_IS_DESTROYED) } else { Ok(context) }
}

/// The same; its fault is an error.
pub(crate) fn healthy() -> Result<Arc<Context>> {
    let context = current()?;
    context.check()?;
    Ok(context)
}

/// The same, for what may not be done while a stream captures.
pub(crate) fn uncaptured() -> Result<Arc<Context>> {
    let context = healthy()?;
    runtime::refuse_unsafe()?;
    Ok(context)
}

/// The context of a stream and the stream that a handle stands for.
///
/// # Errors
/// Those of [`current`]; `INVALID_HANDLE`, `CONTEXT_IS_DESTROYED`.
pub(crate) fn stream(stream: Handle, null: NullStream) -> Result<(Arc<Context>, Arc<Stream>)> {
    let meaning = match (stream, null) {
        (1, _) | (0, NullStream::Legacy) => NullStream::Legacy,
        (2, _) | (0, NullStream::PerThread) => NullStream::PerThread,
        _ => {
            runtime()?;
            let stream: Arc<Stream> = object::find(stream)?;
            let context = stream.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
            return Ok((context, stream));
        }
    };
    let context = current()?;
    let stream = match meaning {
        NullStream::Legacy => context.legacy.clone(),
        NullStream::PerThread => STREAMS.with(|streams| {
            let mut streams = streams.borrow_mut();
            let new = || context.create_stream(StreamKind::Blocking, 0);
            streams.entry(context.id).or_insert_with(new).clone()
        })?,
    };
    Ok((context, stream))
}

/// The same of a stream whose order something is to join, which is asked before all else: not of a capture that an error
/// ended, and not of the legacy stream while one is captured that it would wait for.
pub(crate) fn ordered_stream(handle: Handle, null: NullStream) -> Result<(Arc<Context>, Arc<Stream>)> {
    let (context, stream) = stream(handle, null)?;
    context.check()?;
    if stream.capture().is_some_and(|capture| capture.is_invalid()) {
        return Err(Status::STREAM_CAPTURE_INVALIDATED);
    }
    if stream.kind == StreamKind::Legacy {
        context.refuse_in_capture()?;
    }
    Ok((context, stream))
}

/// The handle of a context; it is in the table from then on.
pub(crate) fn context_handle(context: &Arc<Context>) -> Handle {
    let handle = handle(context.id);
    if object::find::<Arc<Context>>(handle).is_err() {
        object::insert(context.id, context.clone());
    }
    handle
}
