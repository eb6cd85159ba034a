//! Green contexts, and the parts of a device that they are made of.

use std::sync::Arc;

use cuda_abi::driver::DevResource;
use cuda_abi::numbers::resource;
use runtime::{Event, GreenContext, Multiprocessors, Result, Status, fresh_id};

use crate::driver::context::{context_or_current, destroy};
use crate::ffi::{Handle, NullStream, get, list, put, put_wanted};
use crate::object;
use crate::state::{self, context_handle};

/// What a green context is made of.
#[derive(Debug)]
pub(crate) struct Part {
    id: u64,
    multiprocessors: u32,
}

impl object::Kind for Arc<Part> {
    const MISSING: Status = Status::INVALID_VALUE;
}

fn resource(multiprocessors: Multiprocessors) -> DevResource {
    let Multiprocessors { count, unit } = multiprocessors;
    DevResource {
        kind: resource::SM,
        internal: [0; 23],
        multiprocessors: count,
        least: unit,
        unit,
        rest: [0; 9],
    }
}

/// A resource of some of another's multiprocessors.
pub(crate) fn part(of: &DevResource, count: u32) -> DevResource {
    DevResource { multiprocessors: count, ..*of }
}

/// The only resources of sm_90 that can be split.
pub(crate) fn is_multiprocessors(resource: &DevResource) -> Result {
    if resource.kind == resource::SM { Ok(()) } else { Err(Status::INVALID_RESOURCE_TYPE) }
}

pub(crate) unsafe fn put_resource(
    to: *mut DevResource,
    kind: u32,
    multiprocessors: Multiprocessors,
) -> Result {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if kind != resource::SM {
        return Err(Status::INVALID_RESOURCE_TYPE);
    }
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, resource(multiprocessors)) }
}

fn find(green: Handle) -> Result<Arc<GreenContext>> {
    state::runtime()?;
    object::find(green)
}

api! {
    fn cuDeviceGetDevResource(device: i32, to: *mut DevResource, kind: u32) {
        put_resource(to, kind, Multiprocessors::of(state::device(device)?))
    }

    fn cuCtxGetDevResource(context: Handle, to: *mut DevResource, kind: u32) {
        put_resource(to, kind, context_or_current(context)?.multiprocessors())
    }

    fn cuGreenCtxGetDevResource(green: Handle, to: *mut DevResource, kind: u32) {
        put_resource(to, kind, find(green)?.context.multiprocessors())
    }

    fn cuDevSmResourceSplitByCount(
        parts: *mut DevResource, count: *mut u32, from: *const DevResource, rest: *mut DevResource, flags: u32, least: u32
    ) {
        state::runtime()?;
        let (wanted, from) = (get(count)?, get(from)?);
        if from.kind != resource::SM || flags > 3 {
            return Err(Status::INVALID_VALUE);
        }
        let all = Multiprocessors { count: from.multiprocessors, ..Multiprocessors::of(state::device(0)?) };
        let split = all.split(least, (!parts.is_null()).then_some(wanted))?;
        for at in 0..if parts.is_null() { 0 } else { split.parts } {
            put(parts.wrapping_add(at as usize), resource(split.part))?;
        }
        put_wanted(rest, resource(split.rest));
        put(count, split.parts)
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
        let green = GreenContext::create(device, part.multiprocessors)?;
        put(to, object::insert(green.id, green))
    }

    fn cuGreenCtxDestroy(green: Handle) {
        state::runtime()?;
        let green: Arc<GreenContext> = object::remove(green)?;
        destroy(&green.context);
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
        context.record_all(&event)
    }

    fn cuGreenCtxWaitEvent(green: Handle, event: Handle) {
        let context = &find(green)?.context;
        let event: Arc<Event> = object::find(event)?;
        context.wait_in_all(&event)
    }

    fn cuGreenCtxStreamCreate(to: *mut Handle, green: Handle, flags: u32, priority: i32) {
        let green = find(green)?;
        // Only streams that do not wait for the default stream.
        if to.is_null() || flags != 1 {
            return Err(Status::INVALID_VALUE);
        }
        let stream = green.create_stream(priority);
        put(to, object::insert(stream.id, stream))
    }

    fn cuStreamGetGreenCtx(stream: Handle, to: *mut Handle) {
        let (context, _) = state::stream(stream, NullStream::Legacy)?;
        put(to, context.green().map_or(0, |green| object::handle(green.id)))
    }
}
