//! What concerns several devices at once: launches on all of them, and what the links between them can do.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::{Context, Event, LaunchConfig as Config, Operation, Result, Status, Stream};
use sim_core::Dim3;

use crate::driver::function::function;
use crate::driver::launch::{call, pack};
use crate::ffi::{Handle, list, put};
use crate::object;
use crate::state;

/// `CUDA_LAUNCH_PARAMS`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchParams {
    pub(crate) function: Handle,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) stream: Handle,
    pub(crate) params: *const u64,
}

const _: () = assert!(size_of::<LaunchParams>() == 56);

/// `CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC` and `…_NO_POST_LAUNCH_SYNC`
const NO_SYNC_BEFORE: u32 = 1;
const NO_SYNC_AFTER: u32 = 2;

/// One launch of several, with its stream.
type Part = (Arc<Context>, Arc<Stream>, Operation);

/// Lets each stream wait for all others.
fn join(parts: &[Part]) -> Result {
    let mut events = Vec::new();
    for (context, stream, _) in parts {
        let event = Event::new(context, 2);
        context.record(&event, stream)?;
        events.push(event);
    }
    for (context, stream, _) in parts {
        for event in &events {
            context.enqueue(stream, Operation::Wait(event.clone()))?;
        }
    }
    Ok(())
}

/// Launches on several devices, whose blocks are all resident at the same time.
///
/// # Safety
/// Pointers to arguments are as a launch has them.
pub(crate) unsafe fn launch(
    params: &[LaunchParams],
    flags: u32,
    find: impl Fn(&Arc<Context>, Handle) -> Result<Arc<runtime::Function>>,
) -> Result {
    let devices = state::runtime()?.devices.len();
    if params.is_empty() || params.len() > devices || flags & !(NO_SYNC_BEFORE | NO_SYNC_AFTER) != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut devices = BTreeSet::new();
    for one in params {
        // The null stream is not for this.
        let stream: Arc<Stream> = object::find(one.stream)?;
        let context = stream.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        context.check()?;
        let function = find(&context, one.function)?;
        if function.module.context.upgrade().is_none_or(|own| own.id != context.id) {
            return Err(Status::INVALID_HANDLE);
        }
        if !devices.insert(context.device.index) {
            return Err(Status::INVALID_DEVICE);
        }
        let first = &params[0];
        if (one.grid, one.block, one.shared) != (first.grid, first.block, first.shared) {
            return Err(Status::INVALID_VALUE);
        }
        let dim = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        let config = Config {
            grid: dim(one.grid),
            block: dim(one.block),
            cluster: None,
            shared: one.shared,
            cooperative: true,
        };
        // SAFETY: the caller's promise.
        let arguments = unsafe { pack(&function, one.params, std::ptr::null()) }?;
        parts.push((context.clone(), stream, call(function, &config, arguments)?));
    }
    if flags & NO_SYNC_BEFORE == 0 {
        join(&parts)?;
    }
    for (context, stream, operation) in &parts {
        context.enqueue(stream, operation.clone())?;
    }
    if flags & NO_SYNC_AFTER == 0 { join(&parts) } else { Ok(()) }
}

/// Operations of `CUatomicOperation`.
const OPERATIONS: u32 = 13;

/// What a link does of atomics by itself, which an H200 with driver 580 says nothing of.
unsafe fn capabilities(to: *mut u32, operations: *const u32, count: u32) -> Result {
    if to.is_null() || count == 0 {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program said how many there are.
    let operations = unsafe { list(operations, count as usize) }?;
    if operations.iter().any(|&operation| operation >= OPERATIONS) {
        return Err(Status::INVALID_VALUE);
    }
    for at in 0..count as usize {
        // SAFETY: as above.
        unsafe { put(to.wrapping_add(at), 0) }?;
    }
    Ok(())
}

api! {
    fn cuLaunchCooperativeKernelMultiDevice(params: *const LaunchParams, count: u32, flags: u32) {
        state::runtime()?;
        launch(&list(params, count as usize)?, flags, |_, of| function(of))
    }

    fn cuDeviceGetP2PAtomicCapabilities(
        to: *mut u32, operations: *const u32, count: u32, from: i32, peer: i32
    ) {
        state::device(from)?;
        state::device(peer)?;
        if from == peer {
            return Err(Status::INVALID_DEVICE);
        }
        capabilities(to, operations, count)
    }

    fn cuDeviceGetHostAtomicCapabilities(to: *mut u32, operations: *const u32, count: u32, device: i32) {
        state::device(device)?;
        capabilities(to, operations, count)
    }

    fn cuDeviceRegisterAsyncNotification(device: i32, callback: u64, _data: u64, to: *mut Handle) {
        state::device(device)?;
        if callback == 0 || to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // Called when a process has more memory than its budget, which nothing here gives it.
        let id = runtime::fresh_id();
        put(to, object::insert(id, Notification { device }))
    }

    fn cuDeviceUnregisterAsyncNotification(device: i32, handle: Handle) {
        state::device(device)?;
        if object::find::<Notification>(handle)?.device != device {
            return Err(Status::INVALID_VALUE);
        }
        object::remove::<Notification>(handle).map(|_| ())
    }
}

/// A function that waits for notes of a device.
#[derive(Clone, Copy, Debug)]
struct Notification {
    device: i32,
}

impl object::Kind for Notification {
    const MISSING: Status = Status::INVALID_VALUE;
}
