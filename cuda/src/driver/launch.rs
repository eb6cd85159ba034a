//! Launches in their three forms, and host functions.

use std::ffi::c_void;
use std::sync::Arc;

use runtime::{Function, KernelCall, LaunchConfig as Config, Operation, Result, Status, check_launch};
use sim_core::{Dim3, Launch};

use crate::driver::function::function;
use crate::ffi::{Handle, get, list};
use crate::state::{self, NullStream};
use crate::types::LaunchConfig;

/// The parameter buffer of a launch.
///
/// # Safety
/// `params` is null or points at a pointer to each argument; `extra` is null or a list of keys and values
/// that ends in 0.
pub(crate) unsafe fn pack(function: &Function, params: *const u64, extra: *const u64) -> Result<Vec<u8>> {
    let mut buffer = vec![0; function.param_bytes];
    if !extra.is_null() {
        let (mut from, mut size, mut at) = (0u64, 0usize, extra);
        loop {
            // SAFETY: the caller's promise.
            let (key, value) = unsafe { (get(at)?, at.wrapping_add(1)) };
            match key {
                0 => break,
                // SAFETY: a value follows each key.
                1 => from = unsafe { get(value) }?,
                // SAFETY: as above; it points at the size.
                2 => size = unsafe { get(get(value)? as *const usize) }?,
                _ => return Err(Status::INVALID_VALUE),
            }
            at = at.wrapping_add(2);
        }
        // SAFETY: the buffer has the size that was said.
        let given = unsafe { list(from as *const u8, size) }?;
        let needed = function.params.last().map_or(0, |(offset, bytes)| offset + bytes);
        if given.len() < needed {
            return Err(Status::INVALID_VALUE);
        }
        let count = given.len().min(buffer.len());
        buffer[..count].copy_from_slice(&given[..count]);
        return Ok(buffer);
    }
    if params.is_null() && !function.params.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    for (at, &(offset, bytes)) in function.params.iter().enumerate() {
        // SAFETY: there is a pointer for each parameter, to as many bytes as it has.
        let argument = unsafe {
            let argument = get(params.wrapping_add(at))?;
            if argument == 0 {
                return Err(Status::INVALID_VALUE);
            }
            std::slice::from_raw_parts(argument as *const u8, bytes)
        };
        buffer[offset..offset + bytes].copy_from_slice(argument);
    }
    Ok(buffer)
}

/// A checked launch.
pub(crate) fn call(function: Arc<Function>, config: &Config, params: Vec<u8>) -> Result<Operation> {
    check_launch(&function, config)?;
    let launch = Launch {
        kernel: function.name.clone(),
        grid: config.grid,
        cluster: config.cluster,
        block: config.block,
        shared_bytes: config.shared,
        params,
        cooperative: config.cooperative,
    };
    Ok(Operation::Kernel(Arc::new(KernelCall { function, launch })))
}

/// # Safety
/// As for [`pack`].
pub(crate) unsafe fn launch(
    of: Handle,
    config: &Config,
    stream: Handle,
    null: NullStream,
    params: *const u64,
    extra: *const u64,
) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if !params.is_null() && !extra.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let function = function(of)?;
    // SAFETY: the caller's promise.
    let params = unsafe { pack(&function, params, extra) }?;
    context.enqueue(&stream, call(function, config, params)?)
}

/// What a configuration with attributes asks for.
///
/// # Safety
/// The configuration names its attributes.
pub(crate) unsafe fn config_of(config: &LaunchConfig) -> Result<Config> {
    let dim = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
    let mut asked = Config {
        grid: dim(config.grid),
        block: dim(config.block),
        cluster: None,
        shared: config.shared,
        cooperative: false,
    };
    // SAFETY: the caller's promise.
    for attribute in unsafe { list(config.attributes, config.attribute_count as usize) }? {
        let value = attribute.value;
        match attribute.id {
            2 => asked.cooperative = value[0] != 0,
            4 => asked.cluster = Some(Dim3::new(value[0], value[1], value[2])),
            // Hints about caches, priorities and overlap with other launches; running in order is one of
            // the ways in which a device may take them.
            0 | 1 | 3 | 5 | 6 | 8 | 9 | 10 | 11 | 14 | 16 => {}
            7 | 12 | 13 => {
                crate::refused::report("cuLaunchKernelEx with events in the launch or updatable nodes");
                return Err(Status::NOT_SUPPORTED);
            }
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    Ok(asked)
}

stream_api! {
    fn cuLaunchKernel | cuLaunchKernel_ptsz (null;
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Handle, params: *const u64, extra: *const u64
    ) {
        let config = Config {
            grid: Dim3::new(grid_x, grid_y, grid_z),
            block: Dim3::new(block_x, block_y, block_z),
            cluster: None,
            shared,
            cooperative: false,
        };
        launch(function, &config, stream, null, params, extra)
    }

    fn cuLaunchCooperativeKernel | cuLaunchCooperativeKernel_ptsz (null;
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Handle, params: *const u64
    ) {
        let config = Config {
            grid: Dim3::new(grid_x, grid_y, grid_z),
            block: Dim3::new(block_x, block_y, block_z),
            cluster: None,
            shared,
            cooperative: true,
        };
        launch(function, &config, stream, null, params, std::ptr::null())
    }

    fn cuLaunchKernelEx | cuLaunchKernelEx_ptsz (null;
        config: *const LaunchConfig, function: Handle, params: *const u64, extra: *const u64
    ) {
        let config = get(config)?;
        let asked = config_of(&config)?;
        launch(function, &asked, config.stream, null, params, extra)
    }

    fn cuLaunchHostFunc | cuLaunchHostFunc_ptsz (null; stream: Handle, function: u64, argument: u64) {
        let (context, stream) = state::stream(stream, null)?;
        if function == 0 {
            return Err(Status::INVALID_VALUE);
        }
        context.enqueue(&stream, Operation::Host { function, argument })
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz (null;
        stream: Handle, callback: Option<StreamCallback>, argument: *mut c_void, flags: u32
    ) {
        let (context, found) = state::stream(stream, null)?;
        let callback = callback.ok_or(Status::INVALID_VALUE)?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if found.capture().is_some() {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let argument = argument as u64;
        // SAFETY: the program gave the function for this.
        let run = move |status: Status| unsafe { callback(stream, status.0, argument as *mut c_void) };
        context.enqueue(&found, Operation::Callback(Arc::new(run)))
    }
}

/// `CUstreamCallback`
pub(crate) type StreamCallback = unsafe extern "C" fn(Handle, u32, *mut c_void);
