//! Launches in their three forms, and host functions.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_abi::driver::LaunchConfig;
use cuda_abi::numbers::launch_attribute as a;
use runtime::{
    Context, EdgeKind, Event, Function, KernelCall, LaunchConfig as Config, Operation, Parameter, Result,
    Status, Stream, check_launch, check_old_launch,
};
use sim_core::{Dim3, Launch};

use crate::driver::function::{function, function_in};
use crate::driver::launch_attributes::{Asked, attributes_of};
use crate::driver::updates::{make_updatable, set_handle};
use crate::ffi::{Handle, NullStream, get, list, put};
use crate::may_call::in_callback;
use crate::object;
use crate::state;

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
        let end = function.params.last().map_or(0, |last| last.placed + last.bytes);
        if given.len() > end.next_multiple_of(8) {
            return Err(Status::LAUNCH_OUT_OF_RESOURCES);
        }
        if from == 0 && !function.params.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        for &Parameter { offset, bytes, placed } in &function.params {
            let argument = given.get(placed..).unwrap_or_default();
            let count = argument.len().min(bytes);
            buffer[offset..offset + count].copy_from_slice(&argument[..count]);
        }
        return Ok(buffer);
    }
    if params.is_null() && !function.params.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    for (at, &Parameter { offset, bytes, .. }) in function.params.iter().enumerate() {
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
    let cluster = check_launch(&function, config)?;
    Ok(kernel(function, config, cluster, params))
}

/// A launch that was checked, with its cluster.
fn kernel(function: Arc<Function>, config: &Config, cluster: Option<Dim3>, params: Vec<u8>) -> Operation {
    // The simulator knows what kernels declare, not what was set as their attribute.
    let given = config.cluster.filter(|&cluster| cluster != Dim3::new(0, 0, 0));
    let cluster = if function.declared_cluster().is_some() { given } else { cluster };
    let launch = Launch {
        kernel: function.name.clone(),
        grid: config.grid,
        cluster,
        block: config.block,
        shared_bytes: config.shared,
        params,
        cooperative: config.cooperative,
    };
    Operation::Kernel(Arc::new(KernelCall { function, launch, updatable: None }))
}

/// A launch in a stream: what cannot be launched cannot be captured.
pub(crate) fn enqueue(
    (context, stream): (&Arc<Context>, &Arc<Stream>),
    function: Arc<Function>,
    config: &Config,
    params: Vec<u8>,
) -> Result {
    let call = call(function, config, params).inspect_err(|_| stream.invalidate_capture())?;
    context.enqueue(stream, call)
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
    let (context, stream) = state::ordered_stream(stream, null)?;
    if !params.is_null() && !extra.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let function = function_in(of, &context)?;
    if function.module.context.upgrade().is_none_or(|own| own.id != context.id) {
        return Err(Status::INVALID_HANDLE);
    }
    // SAFETY: the caller's promise.
    let params = unsafe { pack(&function, params, extra) }?;
    enqueue((&context, &stream), function, config, params)
}

/// What a configuration with attributes asks for.
///
/// # Safety
/// The configuration names its attributes.
pub(crate) unsafe fn config_of(config: &LaunchConfig) -> Result<Config> {
    // SAFETY: the caller's promise.
    let Asked { launch, preferred, .. } = unsafe { attributes_of(config) }?;
    if preferred.is_some_and(|preferred| !may_prefer(preferred, &launch)) {
        return Err(Status::INVALID_CLUSTER_SIZE);
    }
    Ok(launch)
}

/// Whether a cluster of this size may be preferred to the one that is asked for, which is what a launch gets: it consists of
/// such clusters, and the grid of it.
fn may_prefer(preferred: Dim3, asked: &Config) -> bool {
    let consists = |of: u32, whole: u32| of > 0 && whole > 0 && whole.is_multiple_of(of);
    asked.cluster.is_some_and(|own| {
        consists(own.x, preferred.x)
            && consists(own.y, preferred.y)
            && own.z == preferred.z
            && consists(preferred.x, asked.grid.x)
            && consists(preferred.y, asked.grid.y)
    })
}

/// Before a launch: a captured one that may overlap with the kernel before it gets an edge that says so, and only captured ones
/// become nodes that kernels may update.
///
/// # Safety
/// The configuration names its attributes.
pub(crate) unsafe fn capture_overlap(config: &LaunchConfig, null: NullStream) -> Result {
    // SAFETY: the caller's promise.
    let attributes = unsafe { list(config.attributes, config.attribute_count as usize) }?;
    let says = |id| attributes.iter().any(|attribute| attribute.id == id && attribute.value[0] != 0);
    if says(a::PROGRAMMATIC_STREAM_SERIALIZATION) {
        let (_, stream) = state::stream(config.stream, null)?;
        stream.set_capture_kind(EdgeKind { port: 1, programmatic: true });
    }
    let names = |id| attributes.iter().any(|attribute| attribute.id == id);
    if names(a::DEVICE_UPDATABLE_KERNEL_NODE) && state::stream(config.stream, null)?.1.capture().is_none() {
        return Err(Status::NOT_SUPPORTED);
    }
    Ok(())
}

/// After a launch: records the events that its attributes name, and lets kernels update its node, whose handle an attribute
/// takes.
///
/// # Safety
/// The configuration names its attributes.
pub(crate) unsafe fn record_events(config: &LaunchConfig, null: NullStream) -> Result {
    // SAFETY: the caller's promise.
    let attributes = unsafe { list(config.attributes, config.attribute_count as usize) }?;
    for (at, attribute) in attributes.into_iter().enumerate() {
        if attribute.id == a::DEVICE_UPDATABLE_KERNEL_NODE && attribute.value[0] != 0 {
            let (_, stream) = state::stream(config.stream, null)?;
            let (capture, edges) = (stream.capture().ok_or(Status::INVALID_VALUE)?, stream.capture_edges());
            let node = edges.first().ok_or(Status::INVALID_VALUE)?.from;
            let mut given = attribute;
            set_handle(&mut given.value, make_updatable(&capture.graph, node)?);
            // SAFETY: the program has the attributes written to.
            unsafe { put(config.attributes.wrapping_add(at).cast_mut(), given) }?;
        }
        if matches!(attribute.id, a::PROGRAMMATIC_EVENT | a::LAUNCH_COMPLETION_EVENT) {
            let (context, stream) = state::stream(config.stream, null)?;
            let event: Arc<Event> =
                object::find(u64::from(attribute.value[0]) | u64::from(attribute.value[1]) << 32)?;
            // The point that the kernel triggers, or where all its blocks have begun.
            let kind = match attribute.id {
                a::PROGRAMMATIC_EVENT => {
                    EdgeKind { port: if attribute.value[3] == 0 { 1 } else { 2 }, programmatic: true }
                }
                _ => EdgeKind { port: 2, programmatic: false },
            };
            match stream.capture() {
                Some(_) => stream.capture_event(&event, kind)?,
                None => context.record(&event, &stream)?,
            }
        }
    }
    Ok(())
}

/// How a function is launched by the oldest interface: block, dynamic shared memory, parameters.
#[derive(Clone, Debug)]
struct Old {
    module: u64,
    block: [u32; 3],
    shared: u32,
    params: Vec<u8>,
}

/// What was set for functions, by their number.
static OLD: Mutex<Option<HashMap<u64, Old>>> = Mutex::new(None);

fn with_old<T>(of: Handle, change: impl FnOnce(&Function, &mut Old) -> Result<T>) -> Result<T> {
    let function = function(of)?;
    let mut table = OLD.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || Old {
        module: function.module.id,
        block: [1, 1, 1],
        shared: 0,
        params: vec![0; function.param_bytes],
    };
    change(&function, table.get_or_insert_with(HashMap::new).entry(function.id).or_insert_with(new))
}

/// Forgets the functions of a module that is gone.
pub(crate) fn forget(module: u64) {
    if let Some(table) = OLD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        table.retain(|_, old| old.module != module);
    }
}

/// Writes a parameter at an offset.
fn set_param(of: Handle, offset: i32, bytes: &[u8]) -> Result {
    with_old(of, |_, old| {
        let start = usize::try_from(offset).map_err(|_| Status::INVALID_VALUE)?;
        let end = start.checked_add(bytes.len()).ok_or(Status::INVALID_VALUE)?;
        old.params.get_mut(start..end).ok_or(Status::INVALID_VALUE)?.copy_from_slice(bytes);
        Ok(())
    })
}

fn launch_old(of: Handle, grid: [i32; 2], stream: Handle) -> Result {
    let old = with_old(of, |_, old| Ok(old.clone()))?;
    let extent = |extent: i32| u32::try_from(extent).map_err(|_| Status::INVALID_VALUE);
    let [x, y, z] = old.block;
    let config = Config {
        grid: Dim3::new(extent(grid[0])?, extent(grid[1])?, 1),
        block: Dim3::new(x, y, z),
        cluster: None,
        shared: old.shared,
        cooperative: false,
    };
    let (context, stream) = state::stream(stream, NullStream::Legacy)?;
    let function = function(of)?;
    let cluster = check_old_launch(&function, &config).inspect_err(|_| stream.invalidate_capture())?;
    context.enqueue(&stream, kernel(function, &config, cluster, old.params))
}

api! {
    fn cuFuncSetBlockShape(of: Handle, x: i32, y: i32, z: i32) {
        with_old(of, |_, old| {
            let extents = [x, y, z].map(|extent| u32::try_from(extent).unwrap_or(0));
            let threads = extents.iter().try_fold(1u32, |count, &extent| count.checked_mul(extent));
            if !threads.is_some_and(|threads| (1..=1024).contains(&threads)) {
                return Err(Status::INVALID_VALUE);
            }
            old.block = extents;
            Ok(())
        })
    }

    fn cuFuncSetSharedSize(of: Handle, bytes: u32) {
        with_old(of, |function, old| {
            if bytes > function.granted_shared()? {
                return Err(Status::INVALID_VALUE);
            }
            old.shared = bytes;
            Ok(())
        })
    }

    fn cuParamSetSize(of: Handle, bytes: u32) {
        with_old(of, |_, old| if bytes as usize <= old.params.len() { Ok(()) } else { Err(Status::INVALID_VALUE) })
    }

    fn cuParamSeti(of: Handle, offset: i32, value: u32) {
        set_param(of, offset, &value.to_le_bytes())
    }

    fn cuParamSetf(of: Handle, offset: i32, value: f32) {
        set_param(of, offset, &value.to_le_bytes())
    }

    fn cuParamSetv(of: Handle, offset: i32, from: *const u8, bytes: u32) {
        // Nothing is read that does not fit.
        with_old(of, |_, old| if bytes as usize <= old.params.len() { Ok(()) } else { Err(Status::INVALID_VALUE) })?;
        set_param(of, offset, &list(from, bytes as usize)?)
    }

    fn cuLaunch(of: Handle) {
        launch_old(of, [1, 1], 0)
    }

    fn cuLaunchGrid(of: Handle, width: i32, height: i32) {
        launch_old(of, [width, height], 0)
    }

    fn cuLaunchGridAsync(of: Handle, width: i32, height: i32, stream: Handle) {
        launch_old(of, [width, height], stream)
    }
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
        capture_overlap(&config, null)?;
        launch(function, &asked, config.stream, null, params, extra)?;
        record_events(&config, null)
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
        found.refuse_in_own_capture()?;
        let argument = argument as u64;
        let run = move |status: Status| {
            // SAFETY: the program gave the function for this.
            in_callback(|| unsafe { callback(stream, status.0, argument as *mut c_void) });
        };
        context.enqueue(&found, Operation::Callback(Arc::new(run)))
    }
}

/// `CUstreamCallback`
pub(crate) type StreamCallback = unsafe extern "C" fn(Handle, u32, *mut c_void);
