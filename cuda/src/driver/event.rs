//! Events.

use std::sync::Arc;

use runtime::{Event, Operation, Result, Status};

use crate::driver::process;
use crate::ffi::{Handle, NullStream, put};
use crate::object;
use crate::state::{self, healthy};

fn record(event: Handle, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = state::ordered_stream(stream, null)?;
    let event: Arc<Event> = object::find(event)?;
    if event.context.upgrade().is_none_or(|of| !of.shares_events(&context)) {
        return Err(Status::INVALID_HANDLE);
    }
    context.record(&event, &stream)
}

/// An event that the program asks for, which it may not while a stream captures.
fn waited_for(event: Handle) -> Result<Arc<Event>> {
    state::runtime()?;
    let event = object::find::<Arc<Event>>(event)?;
    if !event.is_captured() {
        runtime::refuse_unsafe()?;
    }
    Ok(event)
}

fn destroy(event: Handle) -> Result {
    state::runtime()?;
    if let Some(context) = object::find::<Arc<Event>>(event)?.context.upgrade() {
        context.check()?;
    }
    object::remove::<Arc<Event>>(event).map(|_| ())
}

fn elapsed(ms: *mut f32, from: Handle, to: Handle) -> Result {
    healthy()?;
    let (from, to): (Arc<Event>, Arc<Event>) = (object::find(from)?, object::find(to)?);
    let elapsed = Event::elapsed_ms(&from, &to)?;
    // SAFETY: null or for the result.
    unsafe { put(ms, elapsed) }.map_err(|_| Status::INVALID_HANDLE)
}

api! {
    fn cuEventCreate(event: *mut Handle, flags: u32) {
        let context = healthy()?;
        // Blocking, no times, for other processes; the last needs the second.
        if event.is_null() || flags & !7 != 0 || flags & 6 == 4 {
            return Err(Status::INVALID_VALUE);
        }
        let new =
            if flags & 4 != 0 { process::create_event(&context, flags)? } else { Event::new(&context, flags) };
        put(event, object::insert(new.id, new))
    }

    fn cuEventDestroy(event: Handle) {
        destroy(event)
    }

    fn cuEventDestroy_v2(event: Handle) {
        destroy(event)
    }

    fn cuEventQuery(event: Handle) {
        if event == 0 {
            return Err(Status::INVALID_HANDLE);
        }
        waited_for(event)?.query()
    }

    fn cuEventSynchronize(event: Handle) {
        waited_for(event)?.synchronize()
    }

    fn cuEventElapsedTime(ms: *mut f32, from: Handle, to: Handle) {
        elapsed(ms, from, to)
    }

    fn cuEventElapsedTime_v2(ms: *mut f32, from: Handle, to: Handle) {
        elapsed(ms, from, to)
    }
}

stream_api! {
    fn cuEventRecord | cuEventRecord_ptsz (null; event: Handle, stream: Handle) {
        record(event, stream, null)
    }

    fn cuEventRecordWithFlags | cuEventRecordWithFlags_ptsz (null; event: Handle, stream: Handle, flags: u32) {
        let (_, found) = state::ordered_stream(stream, null)?;
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        if flags == 1 {
            let stream = found;
            return stream.capture_node(Operation::Record(object::find(event)?));
        }
        record(event, stream, null)
    }
}
