//! Contexts: primary, created, and the stack of a thread.

use std::collections::HashMap;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cuda_abi::driver::CtxCreateParams;
use runtime::{Context, Event, Function, Limit, Module, Result, Status, Stream};

use crate::driver::host_memory;
use crate::ffi::{Handle, get, put, put_wanted};
use crate::object;
use crate::state::{self, context_handle, current, healthy, stack, uncaptured};

/// The context of a handle; null is the thread's own.
pub(crate) fn context_or_current(context: Handle) -> Result<Arc<Context>> {
    if context == 0 { current() } else { find(context) }
}

fn find(context: Handle) -> Result<Arc<Context>> {
    state::runtime()?;
    object::find(context).map_err(|_| Status::INVALID_CONTEXT)
}

fn create(to: *mut Handle, flags: u32, device: i32) -> Result {
    let device = state::device(device)?;
    if to.is_null() || !are_flags(flags) {
        return Err(Status::INVALID_VALUE);
    }
    device.check()?;
    let context = device.create_context(flags);
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, context_handle(&context)) }?;
    stack(|stack| stack.push(context))
}

fn set_current(context: Handle) -> Result {
    state::runtime()?;
    if context == 0 {
        return stack(|stack| drop(stack.pop()));
    }
    let context = find(context)?;
    stack(|stack| {
        stack.pop();
        stack.push(context);
    })
}

fn pop(to: *mut Handle) -> Result {
    state::runtime()?;
    let context = stack(|stack| stack.pop())?.ok_or(Status::INVALID_CONTEXT)?;
    // SAFETY: null is allowed, anything else the program gave for the result.
    unsafe { put_wanted(to, context_handle(&context)) };
    Ok(())
}

/// Whether these are flags of a context: at most one way to wait, and what else there is.
pub(crate) fn are_flags(flags: u32) -> bool {
    flags & !0xff == 0 && (flags & 7).count_ones() <= 1
}

fn push(context: Handle) -> Result {
    if context == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let context = find(context)?;
    stack(|stack| stack.push(context))
}

/// Users of contexts beside the first, by `cuCtxAttach`.
static ATTACHED: Mutex<Option<HashMap<u64, u32>>> = Mutex::new(None);

fn attached(context: u64, change: impl FnOnce(&mut u32) -> bool) -> bool {
    let mut table = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    change(table.get_or_insert_with(HashMap::new).entry(context).or_default())
}

/// Destroys a context with everything in it.
pub(crate) fn destroy(context: &Arc<Context>) {
    context.drain();
    let id = context.id;
    let of_it = |weak: &Weak<Context>| weak.upgrade().is_none_or(|context| context.id == id);
    // Modules give their memory back before the context does.
    context.forget_libraries();
    for module in object::all::<Arc<Module>>().iter().filter(|module| of_it(&module.context)) {
        let _ = module.unload();
    }
    for memory in context.destroy() {
        host_memory::give_back(&memory);
    }
    object::remove_all(|context: &Arc<Context>| context.id == id);
    object::remove_all(|module: &Arc<Module>| of_it(&module.context));
    object::remove_all(|function: &Arc<Function>| of_it(&function.module.context));
    object::remove_all(|stream: &Arc<Stream>| of_it(&stream.context));
    object::remove_all(|event: &Arc<Event>| of_it(&event.context));
}

fn destroy_handle(handle: Handle) -> Result {
    if handle == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let context = find(handle)?;
    if state::runtime()?.devices.iter().filter_map(|d| d.primary()).any(|primary| primary.id == context.id) {
        return Err(Status::INVALID_CONTEXT);
    }
    destroy(&context);
    stack(|stack| {
        if stack.last().is_some_and(|top| top.id == context.id) {
            stack.pop();
        }
    })
}

fn release_primary(device: i32) -> Result {
    if let Some(context) = state::device(device)?.release_primary()? {
        destroy(&context);
    }
    Ok(())
}

/// Resets the primary context of a device.
pub(crate) fn reset_primary(device: i32) -> Result {
    if let Some(context) = state::device(device)?.reset_primary() {
        destroy(&context);
    }
    Ok(())
}

fn set_primary_flags(device: i32, flags: u32) -> Result {
    let device = state::device(device)?;
    if !are_flags(flags) {
        return Err(Status::INVALID_VALUE);
    }
    device.set_primary_flags(flags);
    Ok(())
}

api! {
    fn cuCtxCreate(context: *mut Handle, flags: u32, device: i32) {
        create(context, flags, device)
    }

    fn cuCtxCreate_v2(context: *mut Handle, flags: u32, device: i32) {
        create(context, flags, device)
    }

    fn cuCtxCreate_v3(context: *mut Handle, _affinity: u64, count: i32, flags: u32, device: i32) {
        if count != 0 {
            return Err(Status::INVALID_VALUE);
        }
        create(context, flags, device)
    }

    fn cuCtxCreate_v4(context: *mut Handle, params: *const CtxCreateParams, flags: u32, device: i32) {
        if !params.is_null() {
            let params = get(params)?;
            if params.affinity_count != 0 || params.cig != 0 {
                return Err(Status::UNSUPPORTED_EXEC_AFFINITY);
            }
        }
        create(context, flags, device)
    }

    fn cuCtxDestroy(context: Handle) {
        destroy_handle(context)
    }

    fn cuCtxDestroy_v2(context: Handle) {
        destroy_handle(context)
    }

    fn cuCtxDetach(context: Handle) {
        let found = find(context)?;
        let others = attached(found.id, |count| {
            let others = *count > 0;
            *count = count.saturating_sub(1);
            others
        });
        if others { Ok(()) } else { destroy_handle(context) }
    }

    fn cuCtxAttach(context: *mut Handle, flags: u32) {
        let current = current()?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(context, context_handle(&current))?;
        attached(current.id, |count| {
            *count += 1;
            true
        });
        Ok(())
    }

    fn cuCtxPushCurrent(context: Handle) {
        // The first form takes only contexts that no thread has.
        let id = object::find::<Arc<Context>>(context).map_or(0, |context| context.id);
        if stack(|stack| stack.iter().any(|other| other.id == id))? {
            return Err(Status::INVALID_CONTEXT);
        }
        push(context)
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        push(context)
    }

    fn cuCtxPopCurrent(context: *mut Handle) {
        pop(context)
    }

    fn cuCtxPopCurrent_v2(context: *mut Handle) {
        pop(context)
    }

    fn cuCtxSetCurrent(context: Handle) {
        set_current(context)
    }

    fn cuCtxGetCurrent(context: *mut Handle) {
        state::runtime()?;
        let top = stack(|stack| stack.last().cloned())?;
        put(context, top.map_or(0, |context| context_handle(&context)))
    }

    fn cuCtxGetDevice(device: *mut i32) {
        put(device, current()?.device.index as i32)
    }

    fn cuCtxGetDevice_v2(device: *mut i32, context: Handle) {
        put(device, context_or_current(context)?.device.index as i32)
    }

    fn cuCtxGetFlags(flags: *mut u32) {
        put(flags, current()?.flags.load(SeqCst))
    }

    fn cuCtxSetFlags(flags: u32) {
        let current = current()?;
        if !are_flags(flags) {
            return Err(Status::INVALID_VALUE);
        }
        current.flags.store(flags, SeqCst);
        Ok(())
    }

    fn cuCtxGetId(context: Handle, id: *mut u64) {
        put(id, context_or_current(context)?.id)
    }

    fn cuCtxGetApiVersion(context: Handle, version: *mut u32) {
        context_or_current(context)?;
        put(version, 3020)
    }

    fn cuCtxSynchronize() {
        current()?.synchronize()
    }

    fn cuCtxSynchronize_v2(context: Handle) {
        context_or_current(context)?.synchronize()
    }

    fn cuCtxGetLimit(value: *mut usize, limit: u32) {
        put(value, healthy()?.limit(Limit::of(limit)?) as usize)
    }

    fn cuCtxSetLimit(limit: u32, value: usize) {
        uncaptured()?.set_limit(Limit::of(limit)?, value as u64)
    }

    fn cuCtxGetExecAffinity(affinity: *mut [u32; 2], kind: u32) {
        let context = healthy()?;
        // Multiprocessors are the only kind.
        if kind != 0 {
            return Err(Status::UNSUPPORTED_EXEC_AFFINITY);
        }
        put(affinity, [kind, context.device.simulator.config().multiprocessors])
    }

    fn cuCtxGetCacheConfig(config: *mut u32) {
        put(config, healthy()?.cache_config.load(SeqCst))
    }

    fn cuCtxSetCacheConfig(config: u32) {
        let context = healthy()?;
        // A preference, which changes no result.
        if config > 3 {
            return Err(Status::INVALID_VALUE);
        }
        context.cache_config.store(config, SeqCst);
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(config: *mut u32) {
        current()?;
        put(config, 1)
    }

    fn cuCtxSetSharedMemConfig(config: u32) {
        current()?;
        if config > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        healthy()?;
        put_wanted(least, 0);
        put_wanted(greatest, -5);
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() {
        current().map(|_| ())
    }

    fn cuCtxEnablePeerAccess(peer: Handle, flags: u32) {
        let own = current()?;
        let peer = find(peer)?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        own.check()?;
        own.enable_peer_access(&peer)
    }

    fn cuCtxDisablePeerAccess(peer: Handle) {
        let own = current()?;
        let peer = find(peer)?;
        own.disable_peer_access(&peer)
    }

    fn cuCtxRecordEvent(context: Handle, event: Handle) {
        let context = context_or_current(context)?;
        let event: Arc<Event> = object::find(event)?;
        context.record_all(&event)
    }

    fn cuCtxWaitEvent(context: Handle, event: Handle) {
        let context = context_or_current(context)?;
        let event: Arc<Event> = object::find(event)?;
        context.wait_in_all(&event)
    }

    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32) {
        let device = state::device(device)?;
        if context.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(context, context_handle(&device.retain_primary()?))
    }

    fn cuDevicePrimaryCtxRelease(device: i32) {
        release_primary(device)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        release_primary(device)
    }

    fn cuDevicePrimaryCtxReset(device: i32) {
        reset_primary(device)
    }

    fn cuDevicePrimaryCtxReset_v2(device: i32) {
        reset_primary(device)
    }

    fn cuDevicePrimaryCtxSetFlags(device: i32, flags: u32) {
        set_primary_flags(device, flags)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        set_primary_flags(device, flags)
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) {
        let (now, used) = state::device(device)?.primary_state();
        put(flags, now)?;
        put(active, i32::from(used))
    }
}
