//! The thread's device and its primary context.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use runtime::{Context, Result, Status};

use crate::start;
use crate::state::{self, current, stack};

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
}

/// The thread's device.
pub(crate) fn device() -> i32 {
    match current() {
        Ok(context) => context.device.index as i32,
        Err(_) => DEVICE.try_with(Cell::get).unwrap_or(0),
    }
}

/// The thread's context; the primary one of its device if it has none.
pub(crate) fn ensure() -> Result<Arc<Context>> {
    let runtime = start::initialize();
    if runtime.devices.is_empty() {
        return Err(Status::NO_DEVICE);
    }
    if let Ok(context) = current() {
        return Ok(context);
    }
    make_current(device())
}

/// The same; its fault is an error.
pub(crate) fn healthy() -> Result<Arc<Context>> {
    let context = ensure()?;
    context.check()?;
    Ok(context)
}

/// The primary context of a device, which the runtime holds from now on.
pub(crate) fn primary(index: i32) -> Result<Arc<Context>> {
    start::initialize();
    let device = state::device(index)?;
    // The runtime holds each primary context once, whatever the number of threads.
    static HELD: Mutex<Option<HashSet<u64>>> = Mutex::new(None);
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let held = held.get_or_insert_with(HashSet::new);
    if let Some(context) = device.primary().filter(|context| held.contains(&context.id)) {
        return Ok(context);
    }
    let context = device.retain_primary().map_err(|_| Status::DEVICE_UNAVAILABLE)?;
    held.insert(context.id);
    Ok(context)
}

/// Makes the primary context of a device the thread's.
pub(crate) fn make_current(index: i32) -> Result<Arc<Context>> {
    let context = primary(index)?;
    DEVICE.try_with(|device| device.set(index)).map_err(|_| Status::DEINITIALIZED)?;
    stack(|stack| {
        stack.pop();
        stack.push(context.clone());
    })?;
    Ok(context)
}
