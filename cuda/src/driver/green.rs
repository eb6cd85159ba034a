//! Green contexts: contexts with a part of the multiprocessors. Kernels run on the whole machine all the same;
//! which multiprocessors they take changes no result.

use std::sync::Arc;

use cuda_abi::driver::DevResource;
use cuda_abi::numbers::resource;
use runtime::{Context, Device, Event, Operation, Result, Status, StreamKind, fresh_id};

use crate::driver::context::context_or_current;
use crate::ffi::{Handle, get, list, put, put_wanted};
use crate::object;
use crate::state::{self, NullStream, context_handle};

/// A green context.
#[derive(Debug)]
pub(crate) struct Green {
    id: u64,
    multiprocessors: u32,
    context: Arc<Context>,
}

/// What a green context is made of.
#[derive(Debug)]
pub(crate) struct Part {
    id: u64,
    multiprocessors: u32,
}

/// Multiprocessors that are given together on compute capability 9.
const UNIT: u32 = 8;

fn resource(multiprocessors: u32) -> DevResource {
    DevResource {
        kind: resource::SM,
        internal: [0; 23],
        multiprocessors,
        least: UNIT,
        unit: UNIT,
        rest: [0; 9],
    }
}

unsafe fn put_resource(to: *mut DevResource, kind: u32, multiprocessors: u32) -> Result {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if kind != resource::SM {
        return Err(Status::INVALID_RESOURCE_TYPE);
    }
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, resource(multiprocessors)) }
}

fn all(device: &Device) -> u32 {
    device.simulator.config().multiprocessors
}

/// The green context that a context is.
fn green_of(context: &Context) -> Option<Arc<Green>> {
    object::all().into_iter().find_map(|object| match object {
        object::Object::GreenContext(green) if green.context.id == context.id => Some(green),
        _ => None,
    })
}

fn find(green: Handle) -> Result<Arc<Green>> {
    state::runtime()?;
    object::find(green)
}

api! {
    fn cuDeviceGetDevResource(device: i32, to: *mut DevResource, kind: u32) {
        put_resource(to, kind, all(state::device(device)?))
    }

    fn cuCtxGetDevResource(context: Handle, to: *mut DevResource, kind: u32) {
        let context = context_or_current(context)?;
        let own = green_of(&context).map(|green| green.multiprocessors);
        put_resource(to, kind, own.unwrap_or(all(&context.device)))
    }

    fn cuGreenCtxGetDevResource(green: Handle, to: *mut DevResource, kind: u32) {
        put_resource(to, kind, find(green)?.multiprocessors)
    }

    fn cuDevSmResourceSplitByCount(
        parts: *mut DevResource, count: *mut u32, from: *const DevResource, rest: *mut DevResource, flags: u32, least: u32
    ) {
        state::runtime()?;
        let (wanted, from) = (get(count)?, get(from)?);
        if from.kind != resource::SM || flags > 3 {
            return Err(Status::INVALID_VALUE);
        }
        let size = least.max(1).checked_next_multiple_of(UNIT).ok_or(Status::INVALID_VALUE)?;
        let possible = from.multiprocessors / size;
        if possible == 0 {
            return Err(Status::INVALID_RESOURCE_CONFIGURATION);
        }
        let made = if parts.is_null() { possible } else { wanted.min(possible) };
        for at in 0..if parts.is_null() { 0 } else { made } {
            put(parts.wrapping_add(at as usize), resource(size))?;
        }
        put_wanted(rest, resource(from.multiprocessors - made * size));
        put(count, made)
    }

    fn cuDevResourceGenerateDesc(to: *mut Handle, parts: *const DevResource, count: u32) {
        state::runtime()?;
        if to.is_null() || count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let parts = list(parts, count as usize)?;
        if parts.iter().any(|part| part.kind != resource::SM) {
            return Err(Status::INVALID_RESOURCE_TYPE);
        }
        let multiprocessors = parts.iter().map(|part| part.multiprocessors).fold(0, u32::saturating_add);
        let part = Arc::new(Part { id: fresh_id(), multiprocessors });
        put(to, object::insert(part.id, part))
    }

    fn cuGreenCtxCreate(to: *mut Handle, description: Handle, device: i32, flags: u32) {
        let device = state::device(device)?;
        // Streams that wait for the default stream: the only flag, and it is required.
        if to.is_null() || flags != 1 {
            return Err(Status::INVALID_VALUE);
        }
        device.check()?;
        let part: Arc<Part> = object::find(description)?;
        let context = device.create_context(0);
        let green = Arc::new(Green { id: fresh_id(), multiprocessors: part.multiprocessors, context });
        put(to, object::insert(green.id, green))
    }

    fn cuGreenCtxDestroy(green: Handle) {
        state::runtime()?;
        let green: Arc<Green> = object::remove(green)?;
        state::destroy(&green.context);
        Ok(())
    }

    fn cuCtxFromGreenCtx(to: *mut Handle, green: Handle) {
        put(to, context_handle(&find(green)?.context))
    }

    fn cuGreenCtxGetId(green: Handle, id: *mut u64) {
        put(id, find(green)?.context.id)
    }

    fn cuGreenCtxRecordEvent(green: Handle, event: Handle) {
        let context = &find(green)?.context;
        let event: Arc<Event> = object::find(event)?;
        context.record(&event, &context.legacy)
    }

    fn cuGreenCtxWaitEvent(green: Handle, event: Handle) {
        let context = &find(green)?.context;
        let event: Arc<Event> = object::find(event)?;
        context.enqueue(&context.legacy, Operation::Wait(event))
    }

    fn cuGreenCtxStreamCreate(to: *mut Handle, green: Handle, flags: u32, priority: i32) {
        let green = find(green)?;
        // Only streams that do not wait for the default stream.
        if to.is_null() || flags != 1 {
            return Err(Status::INVALID_VALUE);
        }
        let stream = green.context.create_stream(StreamKind::NonBlocking, priority.clamp(-5, 0));
        put(to, object::insert(stream.id, stream))
    }

    fn cuStreamGetGreenCtx(stream: Handle, to: *mut Handle) {
        let (context, _) = state::stream(stream, NullStream::Legacy)?;
        put(to, green_of(&context).map_or(0, |green| object::handle(green.id)))
    }
}
