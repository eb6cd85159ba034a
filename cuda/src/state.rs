//! What the process has: the devices; what a thread has: a stack of contexts and its own streams.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use runtime::{Context, Device, Result, Runtime, Status, Stream, StreamKind};

use crate::ffi::Handle;
use crate::host::Program;
use crate::object::{self, Object, handle};
use crate::settings::Settings;
use crate::thread::OfThread;

/// What the null stream means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NullStream {
    Legacy,
    PerThread,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The devices.
///
/// # Errors
/// `NOT_INITIALIZED` before `cuInit`.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    RUNTIME.get().ok_or(Status::NOT_INITIALIZED)
}

/// Makes the devices, once.
pub(crate) fn initialize() -> &'static Runtime {
    RUNTIME.get_or_init(|| {
        // SAFETY: the function takes nothing and does not unwind.
        unsafe { libc::atexit(at_exit) };
        // SAFETY: the function only writes an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        crate::session::add(protocol::Count::Processes, 1);
        let settings = Settings::of_process();
        if settings.session.is_some() {
            crate::signals::watch();
        }
        Runtime::new(&settings.device, settings.devices, Arc::new(Program))
    })
}

/// Whether this process came of one that had initialised the devices.
static FORKED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn in_child() {
    FORKED.store(true, Relaxed);
}

/// Whether this process is a child of one that had initialised the devices. As on a device it cannot use them: their
/// threads are not there, and locks may be held that nobody gives back.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Relaxed)
}

/// How long what is still queued when the program ends may take, so that its faults are seen.
const LAST_WORDS: Duration = Duration::from_secs(5);

extern "C" fn at_exit() {
    crate::ffi::guard("atexit", || {
        if let Ok(runtime) = runtime() {
            for context in runtime.devices.iter().flat_map(|device| device.contexts()) {
                context.drain_for(LAST_WORDS);
            }
        }
        Ok(())
    });
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

/// Destroys a context with everything in it.
pub(crate) fn destroy(context: &Arc<Context>) {
    context.drain();
    let id = context.id;
    let of_it = |weak: &std::sync::Weak<Context>| weak.upgrade().is_none_or(|context| context.id == id);
    crate::cudart::register::forget(context);
    // Modules give their memory back before the context does.
    for object in object::all() {
        match object {
            Object::Library(library) => library.forget(context),
            Object::Module(module) if of_it(&module.context) => {
                let _ = module.unload(context);
            }
            _ => {}
        }
    }
    for memory in context.destroy() {
        crate::driver::host_memory::give_back(&memory);
    }
    object::remove_all(|object| match object {
        Object::Context(context) => context.id == id,
        Object::Module(module) => of_it(&module.context),
        Object::Function(function) => of_it(&function.module.context),
        Object::Stream(stream) => of_it(&stream.context),
        Object::Event(event) => of_it(&event.context),
        _ => false,
    });
}

/// The handle of a context; it is in the table from then on.
pub(crate) fn context_handle(context: &Arc<Context>) -> Handle {
    let handle = handle(context.id);
    if object::find::<Arc<Context>>(handle).is_err() {
        object::insert(context.id, context.clone());
    }
    handle
}
