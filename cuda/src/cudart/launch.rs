//! Launches, and what is known about kernels.

use std::cell::RefCell;
use std::ffi::c_char;
use std::sync::Arc;

use cuda_abi::driver::LaunchConfig;
use cuda_abi::runtime as abi;
use runtime::{Context, LaunchConfig as Config, Operation, Parameter, Result, Status, active_blocks};

use crate::cudart::context::{ensure, healthy};
use crate::cudart::register::{function, is_registered};
use crate::driver::function::{attribute, c_name, cluster_size, set_attribute};
use crate::driver::launch::{StreamCallback, capture_overlap, config_of, enqueue, pack, record_events};
use crate::driver::several;
use crate::ffi::{Handle, NullStream, get, list, put, put_wanted};
use crate::state;
use crate::thread::OfThread;

/// A launch that `<<< >>>` has described and not done.
#[derive(Clone, Copy)]
struct Pushed {
    grid: abi::Dim3,
    block: abi::Dim3,
    shared: usize,
    stream: Handle,
}

static PUSHED: OfThread<RefCell<Vec<Pushed>>> = OfThread::new();

/// Whether a device takes a grid and a block of these extents.
fn is_possible(context: &Context, config: &Config) -> bool {
    context.device.simulator.config().check_extents(config.grid, config.block).is_ok()
}

/// The error of CUDA 12 for extents that are not possible; handles of kernels go to the driver as they are.
fn refuse_configuration(of: u64, config: &Config) -> Result {
    let refused = is_registered(of) && !is_possible(&*ensure()?, config);
    if refused { Err(Status::INVALID_CONFIGURATION) } else { Ok(()) }
}

unsafe fn launch(of: u64, config: &Config, stream: Handle, null: NullStream, params: *const u64) -> Result {
    ensure()?;
    let (context, stream) = state::ordered_stream(stream, null)?;
    let function = function(&context, of)?;
    if !is_possible(&context, config) {
        stream.invalidate_capture();
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the compiler's code passes a pointer to each argument.
    let params = unsafe { pack(&function, params, std::ptr::null()) }?;
    enqueue((&context, &stream), function, config, params)
}

/// `cudaLaunchParams`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchParams {
    function: u64,
    grid: abi::Dim3,
    block: abi::Dim3,
    params: *const u64,
    shared: usize,
    stream: Handle,
}

fn simple(grid: abi::Dim3, block: abi::Dim3, shared: usize, cooperative: bool) -> Config {
    let shared = shared.min(u32::MAX as usize) as u32;
    Config { grid: grid.into(), block: block.into(), cluster: None, shared, cooperative }
}

#[unsafe(export_name = "warpgrind___cudaPushCallConfiguration")]
extern "C" fn __cudaPushCallConfiguration(
    grid: abi::Dim3,
    block: abi::Dim3,
    shared: usize,
    stream: Handle,
) -> u32 {
    let pushed = Pushed { grid, block, shared, stream };
    PUSHED.with(|list| list.borrow_mut().push(pushed)).map_or_else(|status| status.0, |()| 0)
}

rt! {
    fn __cudaPopCallConfiguration(grid: *mut abi::Dim3, block: *mut abi::Dim3, shared: *mut usize, stream: *mut Handle) {
        // A call without configuration.
        let popped = PUSHED.with(|list| list.borrow_mut().pop())?.ok_or(Status::MISSING_CONFIGURATION)?;
        put(grid, popped.grid)?;
        put(block, popped.block)?;
        put(shared, popped.shared)?;
        put(stream, popped.stream)
    }

    fn cudaLaunchCooperativeKernelMultiDevice(params: *const LaunchParams, count: u32, flags: u32) {
        ensure()?;
        let dim = |dim: abi::Dim3| {
            let dim: sim_core::Dim3 = dim.into();
            [dim.x, dim.y, dim.z]
        };
        let described = |one: &LaunchParams| several::LaunchParams {
            function: one.function,
            grid: dim(one.grid),
            block: dim(one.block),
            shared: one.shared.min(u32::MAX as usize) as u32,
            stream: one.stream,
            params: one.params,
        };
        let params: Vec<_> = list(params, count as usize)?.iter().map(described).collect();
        several::launch(&params, flags, function)
    }

    fn cudaFuncGetAttributes(to: *mut abi::FuncAttributes, of: u64) {
        let context = healthy()?;
        let function = function(&context, of)?;
        let value = |number| attribute(&function, number);
        put(to, abi::FuncAttributes {
            shared: value(1)? as usize,
            constant: value(2)? as usize,
            local: value(3)? as usize,
            max_threads: value(0)?,
            registers: value(4)?,
            ptx_version: value(5)?,
            binary_version: value(6)?,
            cache_mode: 0,
            max_dynamic_shared: value(8)?,
            carveout: value(9)?,
            cluster_must_be_set: value(10)?,
            cluster: [value(11)?, value(12)?, value(13)?],
            cluster_policy: value(15)?,
            non_portable_cluster: value(14)?,
            reserved: [0; 16],
        })
    }

    fn cudaFuncSetAttribute(of: u64, number: i32, value: i32) {
        let context = healthy()?;
        set_attribute(&*function(&context, of)?, number, value)
    }

    fn cudaFuncSetCacheConfig(of: u64, config: u32) {
        let context = healthy()?;
        function(&context, of)?;
        if config > 3 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    fn cudaFuncSetSharedMemConfig(of: u64, config: u32) {
        let context = healthy()?;
        function(&context, of)?;
        if config > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    fn cudaFuncGetName(name: *mut *const c_char, of: u64) {
        let context = healthy()?;
        put(name, c_name(&function(&context, of)?.name))
    }

    fn cudaFuncGetParamInfo(of: u64, index: usize, offset: *mut usize, size: *mut usize) {
        let context = healthy()?;
        let function = function(&context, of)?;
        let &Parameter { placed, bytes, .. } = function.params.get(index).ok_or(Status::INVALID_VALUE)?;
        put(offset, placed)?;
        put_wanted(size, bytes);
        Ok(())
    }

    fn cudaFuncGetParamCount(of: u64, count: *mut usize) {
        let context = healthy()?;
        put(count, function(&context, of)?.params.len())
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, of: u64, threads: i32, shared: usize) {
        put(blocks, occupancy(&healthy()?, of, threads, shared)?)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, of: u64, threads: i32, shared: usize, flags: u32
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        put(blocks, occupancy(&healthy()?, of, threads, shared)?)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, of: u64, blocks: i32, threads: i32) {
        let context = ensure()?;
        let function = crate::driver::function::function_handle(&function(&context, of)?);
        crate::cudart::error::of(crate::driver::function::cuOccupancyAvailableDynamicSMemPerBlock(
            bytes, function, blocks, threads,
        ))
    }

    fn cudaOccupancyMaxActiveClusters(clusters: *mut i32, of: u64, config: *const abi::LaunchConfig) {
        let context = ensure()?;
        let config = LaunchConfig::from(get(config)?);
        put(clusters, crate::driver::function::clusters(&*function(&context, of)?, &config)? as i32)
    }

    fn cudaOccupancyMaxPotentialClusterSize(size: *mut i32, of: u64, config: *const abi::LaunchConfig) {
        let context = ensure()?;
        let config = LaunchConfig::from(get(config)?);
        put(size, cluster_size(&*function(&context, of)?, &config)? as i32)
    }
}

fn occupancy(context: &Arc<Context>, of: u64, threads: i32, shared: usize) -> Result<i32> {
    let threads = u32::try_from(threads).map_err(|_| Status::INVALID_VALUE)?;
    let shared = shared.min(u32::MAX as usize) as u32;
    Ok(active_blocks(&*function(context, of)?, threads, shared)? as i32)
}

fn host_function(stream: Handle, null: NullStream, function: u64, argument: u64) -> Result {
    ensure()?;
    let (context, stream) = state::stream(stream, null)?;
    if function == 0 {
        return Err(Status::INVALID_VALUE);
    }
    context.enqueue(&stream, Operation::Host { function, argument })
}

rt_stream! {
    fn cudaLaunchKernel | cudaLaunchKernel_ptsz (null;
        of: u64, grid: abi::Dim3, block: abi::Dim3, params: *const u64, shared: usize, stream: Handle
    ) {
        launch(of, &simple(grid, block, shared, false), stream, null, params)
    }

    fn cudaLaunchKernel_cuda12 | cudaLaunchKernel_ptsz_cuda12 (null;
        of: u64, grid: abi::Dim3, block: abi::Dim3, params: *const u64, shared: usize, stream: Handle
    ) {
        let config = simple(grid, block, shared, false);
        refuse_configuration(of, &config)?;
        launch(of, &config, stream, null, params)
    }

    fn cudaLaunchCooperativeKernel_cuda12 | cudaLaunchCooperativeKernel_ptsz_cuda12 (null;
        of: u64, grid: abi::Dim3, block: abi::Dim3, params: *const u64, shared: usize, stream: Handle
    ) {
        let config = simple(grid, block, shared, true);
        refuse_configuration(of, &config)?;
        launch(of, &config, stream, null, params)
    }

    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz (null;
        of: u64, grid: abi::Dim3, block: abi::Dim3, params: *const u64, shared: usize, stream: Handle
    ) {
        launch(of, &simple(grid, block, shared, false), stream, null, params)
    }

    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz (null;
        of: u64, grid: abi::Dim3, block: abi::Dim3, params: *const u64, shared: usize, stream: Handle
    ) {
        launch(of, &simple(grid, block, shared, true), stream, null, params)
    }

    fn cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz (null;
        config: *const abi::LaunchConfig, of: u64, params: *const u64
    ) {
        let config = LaunchConfig::from(get(config)?);
        let asked = config_of(&config)?;
        capture_overlap(&config, null)?;
        launch(of, &asked, config.stream, null, params)?;
        record_events(&config, null)
    }

    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz (null; stream: Handle, function: u64, argument: u64) {
        host_function(stream, null, function, argument)
    }

    fn cudaLaunchHostFunc_v2 | cudaLaunchHostFunc_v2_ptsz (null; stream: Handle, function: u64, argument: u64, waiting: u32) {
        // Blocking or spinning: how the device waits for the function changes nothing that can be seen.
        if waiting > 1 {
            return Err(Status::INVALID_VALUE);
        }
        host_function(stream, null, function, argument)
    }
}

rt_as_stream! {
    cudaStreamAddCallback cudaStreamAddCallback_ptsz =
        crate::driver::launch::cuStreamAddCallback, crate::driver::launch::cuStreamAddCallback_ptsz,
        (stream: Handle, callback: Option<StreamCallback>, argument: *mut std::ffi::c_void, flags: u32);
}
