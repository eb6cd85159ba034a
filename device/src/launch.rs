//! Launching a kernel and waiting for its end.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use cuda_abi::driver::{LaunchAttribute, LaunchConfig};
use cuda_abi::numbers::{function_attribute, launch_attribute};
use cuda_abi::{Handle, Status};
use sim_core::{DeviceConfig, Error, Launch, LaunchError};

use crate::context::Context;
use crate::error::CallError;
use crate::fault::Stop;
use crate::tensor_map;

/// Starts a kernel, whose parameters begin at offsets, in the context, which is current. `Err` means that nothing was started.
pub(crate) fn start(
    context: &Context,
    function: Handle,
    offsets: &[u64],
    launch: &Launch,
) -> Result<(), Error> {
    // What may be asked for without saying so before is the same on all devices.
    let limits = DeviceConfig::h200();
    let api = &context.api;
    let rejected = |error: CallError| rejected(&error, launch);
    if launch.shared_bytes > limits.shared_unasked {
        let bytes = i32::try_from(launch.shared_bytes).unwrap_or(i32::MAX);
        // SAFETY: the function belongs to a loaded module.
        unsafe { api.function_set(function, function_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes) }
            .map_err(rejected)?;
    }
    let mut attributes = Vec::new();
    let mut attribute = |id, words: &[u32]| {
        let mut value = [0; 16];
        value[..words.len()].copy_from_slice(words);
        attributes.push(LaunchAttribute { id, padding: 0, value });
    };
    if launch.cooperative {
        attribute(launch_attribute::COOPERATIVE, &[1]);
    }
    if let Some(cluster) = launch.cluster {
        attribute(launch_attribute::CLUSTER_DIMENSION, &[cluster.x, cluster.y, cluster.z]);
        if cluster.count() > u128::from(limits.portable_cluster) {
            // SAFETY: as above.
            unsafe { api.function_set(function, function_attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) }
                .map_err(rejected)?;
        }
    }
    let config = LaunchConfig {
        grid: [launch.grid.x, launch.grid.y, launch.grid.z],
        block: [launch.block.x, launch.block.y, launch.block.z],
        shared: launch.shared_bytes,
        stream: 0,
        attributes: attributes.as_ptr(),
        attribute_count: attributes.len() as u32,
    };
    let mut params = launch.params.clone();
    tensor_map::encode(context, &mut params).map_err(rejected)?;
    // One by one: a device places those that are aligned to more than 16 bytes elsewhere in its buffer.
    let mut params: Vec<*mut c_void> =
        offsets.iter().map(|&offset| params[offset as usize..].as_mut_ptr().cast()).collect();
    // SAFETY: the configuration has as many attributes as it says; there is a pointer for each parameter of the kernel, to as
    // many bytes as it has (their sum was checked where the function was looked up), which are copied before the call returns.
    unsafe { api.launch(&config, function, params.as_mut_ptr(), std::ptr::null_mut()) }.map_err(rejected)
}

fn rejected(error: &CallError, launch: &Launch) -> Error {
    let what = format!(
        "the device refuses `{}` with grid {}, block {} and {} bytes of dynamic shared memory: {error}",
        launch.kernel, launch.grid, launch.block, launch.shared_bytes
    );
    match error.code {
        Status::INVALID_VALUE
        | Status::LAUNCH_OUT_OF_RESOURCES
        | Status::COOPERATIVE_LAUNCH_TOO_LARGE
        | Status::INVALID_CLUSTER_SIZE => LaunchError::Refused(what).into(),
        _ => Error::Backend(what),
    }
}

/// Waits for the end of everything that was started, for `limit` at the most; returns what stopped it.
pub(crate) fn wait(context: &Context, limit: Option<Duration>) -> Option<Stop> {
    let Some(limit) = limit else { return context.synchronize().err().map(Stop::Failed) };
    let start = Instant::now();
    let mut pause = Duration::from_micros(10);
    // A sleep is longer than many kernels are.
    let awake = Duration::from_micros(200);
    loop {
        // SAFETY: the context is current; null is its default stream.
        match unsafe { context.api.stream_query(0) } {
            // What kernels print is written when the host synchronises.
            Ok(()) => return context.synchronize().err().map(Stop::Failed),
            Err(error) if error.code != Status::NOT_READY => return Some(Stop::Failed(error)),
            Err(_) if start.elapsed() >= limit => return Some(Stop::TimedOut(limit)),
            Err(_) if start.elapsed() < awake => {
                std::thread::yield_now();
                continue;
            }
            Err(_) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}
