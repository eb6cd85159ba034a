//! Kernels: attributes and occupancy.

use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuda_abi::driver::LaunchConfig;
use cuda_abi::numbers::function_attribute as a;
use runtime::{
    Context, Function, Kernel, Parameter, Result, Status, active_blocks, active_clusters, configured_shared,
    potential_block_size, potential_cluster_size,
};

use crate::driver::launch_attributes::{Asked, attributes_of};
use crate::ffi::{Handle, get, put, put_wanted};
use crate::object::{self, handle};
use crate::state::{self, current, healthy};

/// The function that a handle of a function or of a library's kernel stands for.
pub(crate) fn function(of: Handle) -> Result<Arc<Function>> {
    found(of, current)
}

/// The same, of a kernel in a context that may be another one than the thread's.
pub(crate) fn function_in(of: Handle, context: &Arc<Context>) -> Result<Arc<Function>> {
    found(of, || Ok(context.clone()))
}

fn found(of: Handle, context: impl FnOnce() -> Result<Arc<Context>>) -> Result<Arc<Function>> {
    if of == 0 {
        return Err(Status::INVALID_HANDLE);
    }
    state::runtime()?;
    if let Ok(function) = object::find::<Arc<Function>>(of) {
        return Ok(function);
    }
    let kernel: Arc<Kernel> = object::find(of)?;
    kernel.function(&context()?)
}

/// The same for calls that say of null only that it is wrong; the context has no fault.
fn named(of: Handle) -> Result<Arc<Function>> {
    if of == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let function = function(of)?;
    healthy()?;
    Ok(function)
}

/// An attribute of a kernel by CUDA's number.
pub(crate) fn attribute(function: &Function, number: i32) -> Result<i32> {
    let declared = function.declared();
    let kept = |number: i32| function.attributes[number as usize].load(Relaxed);
    Ok(match number {
        a::MAX_THREADS_PER_BLOCK => function.max_threads()? as i32,
        a::SHARED_SIZE_BYTES => function.shared_bytes()? as i32,
        a::CONST_SIZE_BYTES => function
            .module
            .linked
            .variables
            .iter()
            .filter(|v| v.space == ptx_frontend::StateSpace::Const)
            .map(|v| v.size as i32)
            .sum(),
        a::LOCAL_SIZE_BYTES => function.local_bytes()? as i32,
        a::NUM_REGS => function.registers()? as i32,
        // The architecture that the PTX is for, in spite of its name.
        a::PTX_VERSION => i32::from(function.module.linked.target.sm),
        a::BINARY_VERSION => i32::from(current()?.device.simulator.config().sm),
        a::CACHE_MODE_CA => 0,
        a::MAX_DYNAMIC_SHARED_SIZE_BYTES => function.granted_shared()? as i32,
        a::PREFERRED_SHARED_MEMORY_CARVEOUT => function.carveout().map_or(-1, |percent| percent as i32),
        a::CLUSTER_SIZE_MUST_BE_SET => i32::from(declared.tuning.explicit_cluster),
        a::REQUIRED_CLUSTER_WIDTH..=a::REQUIRED_CLUSTER_DEPTH => match declared.tuning.required_cluster {
            Some(cluster) => cluster[(number - a::REQUIRED_CLUSTER_WIDTH) as usize] as i32,
            None => kept(number),
        },
        a::NON_PORTABLE_CLUSTER_SIZE_ALLOWED | a::CLUSTER_SCHEDULING_POLICY_PREFERENCE => kept(number),
        _ => return Err(Status::INVALID_VALUE),
    })
}

/// Sets an attribute.
pub(crate) fn set_attribute(function: &Function, number: i32, value: i32) -> Result {
    match number {
        a::MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            let context = current()?;
            let most = context.device.simulator.config().shared_per_block;
            let fixed = function.shared_bytes()?;
            if value < 0 || value as u32 > most.saturating_sub(fixed) {
                return Err(Status::INVALID_VALUE);
            }
            function.grant_shared(value as u32);
            Ok(())
        }
        a::PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => {
            function.prefer_carveout(u32::try_from(value).ok());
            Ok(())
        }
        a::REQUIRED_CLUSTER_WIDTH..=a::REQUIRED_CLUSTER_DEPTH => {
            let tuning = &function.declared().tuning;
            let value = u32::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
            let possible = match tuning.required_cluster {
                Some(declared) => declared[(number - a::REQUIRED_CLUSTER_WIDTH) as usize] == value,
                None => tuning.max_cluster_rank.is_none_or(|rank| value <= rank),
            };
            if !possible {
                return Err(Status::INVALID_VALUE);
            }
            function.set_attribute(number as usize, value as i32);
            Ok(())
        }
        a::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
            function.set_attribute(number as usize, value);
            Ok(())
        }
        a::CLUSTER_SCHEDULING_POLICY_PREFERENCE if (0..=2).contains(&value) => {
            function.set_attribute(number as usize, value);
            Ok(())
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The launch that a question about clusters is asked for.
///
/// # Safety
/// The configuration names its attributes.
unsafe fn asked(config: &LaunchConfig) -> Result<runtime::LaunchConfig> {
    // SAFETY: the caller's promise.
    let Asked { launch, updatable, .. } = unsafe { attributes_of(config) }?;
    // Only a captured launch can be of a node that kernels update.
    if updatable {
        return Err(Status::NOT_SUPPORTED);
    }
    Ok(runtime::LaunchConfig { cooperative: false, ..launch })
}

/// Clusters of a launch that are resident at once.
///
/// # Safety
/// The configuration names its attributes.
pub(crate) unsafe fn clusters(function: &Function, config: &LaunchConfig) -> Result<u32> {
    // SAFETY: the caller's promise.
    active_clusters(function, &unsafe { asked(config) }?)
}

/// The largest cluster of a launch.
///
/// # Safety
/// The configuration names its attributes.
pub(crate) unsafe fn cluster_size(function: &Function, config: &LaunchConfig) -> Result<u32> {
    // SAFETY: the caller's promise.
    potential_cluster_size(function, &unsafe { asked(config) }?)
}

/// A function of the program from a block size to its dynamic shared memory.
pub(crate) type SharedOfSize = Option<unsafe extern "C" fn(i32) -> usize>;

unsafe fn block_size(
    grid: *mut i32,
    block: *mut i32,
    of: Handle,
    shared_of: SharedOfSize,
    shared: usize,
    limit: i32,
) -> Result {
    let function = function(of)?;
    let limit = u32::try_from(limit).map_err(|_| Status::INVALID_VALUE)?;
    let of_size = |threads: u32| match shared_of {
        // SAFETY: the program gave the function for this.
        Some(shared_of) => unsafe { shared_of(threads as i32) as u32 },
        None => shared as u32,
    };
    let (blocks, threads) = potential_block_size(&function, limit, of_size)?;
    // SAFETY: null or for the results.
    unsafe {
        put(grid, blocks as i32)?;
        put(block, threads as i32)
    }
}

api! {
    fn cuFuncGetAttribute(value: *mut i32, number: i32, function_: Handle) {
        let function = function(function_)?;
        healthy()?;
        put(value, attribute(&function, number)?)
    }

    fn cuFuncSetAttribute(function_: Handle, number: i32, value: i32) {
        healthy()?;
        set_attribute(&*function(function_)?, number, value)
    }

    fn cuFuncSetCacheConfig(function_: Handle, config: u32) {
        function(function_)?;
        healthy()?;
        if config > 3 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuFuncSetSharedMemConfig(function_: Handle, config: u32) {
        function(function_)?;
        if config > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuFuncGetModule(module: *mut Handle, function_: Handle) {
        let function = named(function_)?;
        put(module, object::insert(function.module.id, function.module.clone()))
    }

    fn cuFuncGetName(name: *mut *const c_char, function_: Handle) {
        put(name, c_name(&named(function_)?.name))
    }

    fn cuFuncGetParamInfo(function_: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        let function = named(function_)?;
        let &Parameter { placed, bytes, .. } = function.params.get(index).ok_or(Status::INVALID_VALUE)?;
        put(offset, placed)?;
        put_wanted(size, bytes);
        Ok(())
    }

    fn cuFuncIsLoaded(state: *mut u32, function_: Handle) {
        function(function_)?;
        put(state, 1)
    }

    fn cuFuncLoad(function_: Handle) {
        function(function_)?.code().map(|_| ())
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut i32, function_: Handle, threads: i32, shared: usize
    ) {
        healthy()?;
        let threads = u32::try_from(threads).map_err(|_| Status::INVALID_VALUE)?;
        put(blocks, active_blocks(&*function(function_)?, threads, shared.min(u32::MAX as usize) as u32)? as i32)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, function_: Handle, threads: i32, shared: usize, flags: u32
    ) {
        let threads = u32::try_from(threads).map_err(|_| Status::INVALID_VALUE)?;
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        put(blocks, active_blocks(&*function(function_)?, threads, shared.min(u32::MAX as usize) as u32)? as i32)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut i32, block: *mut i32, function_: Handle, shared_of: SharedOfSize, shared: usize, limit: i32
    ) {
        block_size(grid, block, function_, shared_of, shared, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut i32, block: *mut i32, function_: Handle, shared_of: SharedOfSize, shared: usize, limit: i32,
        flags: u32
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        block_size(grid, block, function_, shared_of, shared, limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function_: Handle, blocks: i32, threads: i32) {
        let function = function(function_)?;
        let context = current()?;
        let config = context.device.simulator.config();
        let (Ok(blocks), Ok(threads)) = (u32::try_from(blocks), u32::try_from(threads)) else {
            return Err(Status::INVALID_VALUE);
        };
        if blocks == 0 || threads == 0 || active_blocks(&function, threads, 0)? < blocks {
            return Err(Status::INVALID_VALUE);
        }
        // One block gets all.
        let shared =
            if blocks == 1 { config.shared_per_multiprocessor } else { configured_shared(&function, config) };
        let a_block = shared / blocks / 128 * 128;
        let rest = a_block.min(config.shared_per_block).saturating_sub(function.shared_bytes()?);
        put(bytes, rest.min(function.granted_shared()?) as usize)
    }

    fn cuOccupancyMaxActiveClusters(clusters: *mut i32, function_: Handle, config: *const LaunchConfig) {
        let config = get(config)?;
        if clusters.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(clusters, self::clusters(&*named(function_)?, &config)? as i32)
    }

    fn cuOccupancyMaxPotentialClusterSize(size: *mut i32, function_: Handle, config: *const LaunchConfig) {
        let config = get(config)?;
        put(size, cluster_size(&*named(function_)?, &config)? as i32)
    }
}

/// A name as a C string that stays; equal names share one.
pub(crate) fn c_name(name: &str) -> *const c_char {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};
    static NAMES: Mutex<Option<HashMap<String, CString>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_with(HashMap::new);
    let c = names.entry(name.into()).or_insert_with(|| CString::new(name).unwrap_or_default());
    c.as_ptr()
}

/// The handle of a function that is in the table.
pub(crate) fn function_handle(function: &Arc<Function>) -> Handle {
    let known = handle(function.id);
    if object::find::<Arc<Function>>(known).is_err() {
        object::insert(function.id, function.clone());
    }
    known
}
