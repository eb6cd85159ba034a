//! Execution contexts: a device's primary context, or a green one that was made of some of its multiprocessors.

use std::sync::Arc;

use cuda_abi::driver::{DevResource, DevSmGroup};
use runtime::{Context, Event, GreenContext, Result, Status, StreamKind};

use crate::cudart::context::{ensure, primary};
use crate::cudart::error::of;
use crate::driver::green as driver;
use crate::ffi::{Handle, get, put, put_wanted};
use crate::object;
use crate::state::{self, context_handle};

fn find(execution: Handle) -> Result<Arc<Context>> {
    state::runtime()?;
    match object::find::<Arc<GreenContext>>(execution) {
        Ok(green) => Ok(green.context.clone()),
        Err(_) => object::find::<Arc<Context>>(execution).map_err(|_| Status::INVALID_VALUE),
    }
}

/// Of groups that each say how many multiprocessors they want, how many they get: multiples of `unit`, the last one all that are
/// left if it asks for none; `None` if there are not as many.
fn groups(wanted: &[DevSmGroup], all: u32, unit: u32) -> Option<(Vec<u32>, u32)> {
    let mut left = all;
    let mut sizes = Vec::new();
    for group in wanted {
        let together = if group.together == 0 { unit } else { group.together };
        let backfills = group.flags & 1 != 0;
        let size = match group.count {
            0 if backfills => left,
            0 => left / together * together,
            count if backfills || count.is_multiple_of(together) => count,
            _ => return None,
        };
        left = left.checked_sub(size).filter(|_| size > 0)?;
        sizes.push(size);
    }
    Some((sizes, left))
}

rt! {
    fn cudaDeviceGetDevResource(device: i32, to: *mut DevResource, kind: u32) {
        of(driver::cuDeviceGetDevResource(device, to, kind))
    }

    fn cudaDevSmResourceSplitByCount(
        parts: *mut DevResource, count: *mut u32, from: *const DevResource, rest: *mut DevResource, flags: u32, least: u32
    ) {
        of(driver::cuDevSmResourceSplitByCount(parts, count, from, rest, flags, least))
    }

    fn cudaDevSmResourceSplit(
        parts: *mut DevResource, count: u32, from: *const DevResource, rest: *mut DevResource, flags: u32,
        wanted: *mut DevSmGroup
    ) {
        let from = get(from)?;
        driver::is_multiprocessors(&from)?;
        if flags != 0 || count == 0 || wanted.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let mut asked = crate::ffi::list(wanted.cast_const(), count as usize)?.to_vec();
        // Co-scheduled groups have two multiprocessors at least, and all of a cluster at most; a device has no localities.
        let is_odd = |together: u32| !together.is_multiple_of(2) || together > from.multiprocessors;
        if asked.iter().any(|group| is_odd(group.together) || group.flags & !1 != 0) {
            return Err(Status::INVALID_VALUE);
        }
        let (sizes, left) =
            groups(&asked, from.multiprocessors, from.unit.max(2)).ok_or(Status::INVALID_RESOURCE_CONFIGURATION)?;
        for (at, (&size, group)) in sizes.iter().zip(&mut asked).enumerate() {
            (group.count, group.together) = (size, if group.together == 0 { from.unit } else { group.together });
            if !parts.is_null() {
                put(parts.wrapping_add(at), driver::part(&from, size))?;
            }
            put(wanted.wrapping_add(at), *group)?;
        }
        put_wanted(rest, if left == 0 { DevResource::NONE } else { driver::part(&from, left) });
        Ok(())
    }

    fn cudaDevResourceGenerateDesc(to: *mut Handle, parts: *const DevResource, count: u32) {
        of(driver::cuDevResourceGenerateDesc(to, parts, count))
    }

    fn cudaGreenCtxCreate(to: *mut Handle, description: Handle, device: i32, flags: u32) {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        primary(device)?;
        // What the driver asks for is what the runtime's always do.
        of(driver::cuGreenCtxCreate(to, description, device, 1))
    }

    fn cudaDeviceGetExecutionCtx(to: *mut Handle, device: i32) {
        put(to, context_handle(&primary(device)?))
    }

    fn cudaExecutionCtxDestroy(execution: Handle) {
        // A device's own is not to be destroyed.
        of(driver::cuGreenCtxDestroy(execution))
    }

    fn cudaExecutionCtxGetDevResource(execution: Handle, to: *mut DevResource, kind: u32) {
        driver::put_resource(to, kind, find(execution)?.multiprocessors())
    }

    fn cudaExecutionCtxGetDevice(device: *mut i32, execution: Handle) {
        put(device, find(execution)?.device.index as i32)
    }

    fn cudaExecutionCtxGetId(execution: Handle, id: *mut u64) {
        put(id, find(execution)?.id)
    }

    fn cudaExecutionCtxStreamCreate(to: *mut Handle, execution: Handle, flags: u32, priority: i32) {
        let context = find(execution)?;
        if to.is_null() || flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        context.check()?;
        // A green context has no default stream to wait for.
        let kind = if flags == 1 || context.green().is_some() { StreamKind::NonBlocking } else { StreamKind::Blocking };
        let stream = context.create_stream(kind, priority.clamp(-5, 0));
        put(to, object::insert(stream.id, stream))
    }

    fn cudaExecutionCtxSynchronize(execution: Handle) {
        find(execution)?.synchronize()
    }

    fn cudaExecutionCtxRecordEvent(execution: Handle, event: Handle) {
        let context = find(execution)?;
        let event: Arc<Event> = object::find(event)?;
        context.record_all(&event)
    }

    fn cudaExecutionCtxWaitEvent(execution: Handle, event: Handle) {
        let context = find(execution)?;
        let event: Arc<Event> = object::find(event)?;
        context.wait_in_all(&event)
    }
}

rt_stream! {
    fn cudaStreamGetDevResource | cudaStreamGetDevResource_ptsz (null; stream: Handle, to: *mut DevResource, kind: u32) {
        ensure()?;
        let (context, _) = state::stream(stream, null)?;
        driver::put_resource(to, kind, context.multiprocessors())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiprocessors_go_to_groups_in_order() {
        let group = |count, together, flags| DevSmGroup { count, together, flags, ..DevSmGroup::default() };
        let of = |wanted: &[DevSmGroup]| groups(wanted, 132, 8);
        assert_eq!(of(&[group(0, 0, 0)]), Some((vec![128], 4)));
        assert_eq!(of(&[group(10, 2, 0)]), Some((vec![10], 122)));
        assert_eq!(of(&[group(8, 4, 0), group(0, 2, 1)]), Some((vec![8, 124], 0)));
        assert_eq!(of(&[group(10, 4, 0)]), None);
        assert_eq!(of(&[group(10, 4, 1)]), Some((vec![10], 122)));
        assert_eq!(of(&[group(132, 2, 0), group(0, 2, 1)]), None);
        assert_eq!(of(&[group(134, 2, 0)]), None);
    }
}
