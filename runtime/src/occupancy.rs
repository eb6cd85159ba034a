//! Whether a launch is possible, and how many blocks of a kernel fit.

use std::sync::atomic::Ordering::Relaxed;

use sim_core::Dim3;

use crate::module::Function;
use crate::status::{Result, Status};

/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`
const ANY_CLUSTER: usize = 14;

/// What a launch asks for.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads a block.
    pub block: Dim3,
    /// Blocks a cluster, if the launch says so.
    pub cluster: Option<Dim3>,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// All blocks at once.
    pub cooperative: bool,
}

/// Blocks of a kernel that fit on a multiprocessor.
///
/// # Errors
/// `INVALID_VALUE` for an impossible block size, and those of the kernel.
pub fn active_blocks(function: &Function, threads: u32, shared: u32) -> Result<u32> {
    let context = function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let config = context.device.simulator.config();
    if threads == 0 {
        return Err(Status::INVALID_VALUE);
    }
    // A declared limit of threads does not count, the granted dynamic shared memory does.
    if threads > config.threads_per_block || shared > function.granted_shared()? {
        return Ok(0);
    }
    let bytes = function.shared_bytes()?.saturating_add(shared);
    Ok(config.blocks_per_sm(threads, function.registers()?, bytes))
}

/// The smallest grid that fills the device with blocks of the size at which most threads are resident,
/// and that size; `shared` gives the dynamic shared memory of a block size.
///
/// # Errors
/// As [`active_blocks`].
pub fn potential_block_size(
    function: &Function,
    limit: u32,
    mut shared: impl FnMut(u32) -> u32,
) -> Result<(u32, u32)> {
    let context = function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let most = function.max_threads()?;
    let most = if limit == 0 { most } else { most.min(limit) };
    let (mut best, mut size, mut blocks) = (0, 0, 0);
    let mut threads = most.next_multiple_of(32);
    while threads > 0 {
        let tried = threads.min(most);
        let active = active_blocks(function, tried, shared(tried))?;
        if active * tried > best {
            (best, size, blocks) = (active * tried, tried, active);
        }
        threads -= 32;
    }
    Ok((blocks * context.device.simulator.config().multiprocessors, size))
}

/// Checks a launch as CUDA does when it is asked for.
///
/// # Errors
/// `INVALID_VALUE`, `LAUNCH_OUT_OF_RESOURCES`, `COOPERATIVE_LAUNCH_TOO_LARGE`, `INVALID_CLUSTER_SIZE`.
pub fn check_launch(function: &Function, launch: &LaunchConfig) -> Result {
    let context = function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let config = context.device.simulator.config();
    let (grid, block) = (launch.grid, launch.block);
    let threads = block.count();
    let grid_fits = grid.count() > 0 && grid.x <= config.grid_x && grid.y <= 65_535 && grid.z <= 65_535;
    let block_fits = threads > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
    if !grid_fits || !block_fits || threads > u128::from(config.threads_per_block) {
        return Err(Status::INVALID_VALUE);
    }
    let tuning = &function.declared().tuning;
    if tuning.required_threads.is_some_and(|required| required != [block.x, block.y, block.z]) {
        return Err(Status::INVALID_VALUE);
    }
    let most_declared = tuning.max_threads.map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z));
    if most_declared.is_some_and(|most| threads > u128::from(most)) {
        return Err(Status::INVALID_VALUE);
    }
    if launch.shared > function.granted_shared()? {
        return Err(Status::INVALID_VALUE);
    }
    if threads > u128::from(function.max_threads()?) {
        return Err(Status::LAUNCH_OUT_OF_RESOURCES);
    }
    let declared = function.declared_cluster();
    if launch.cluster.is_some() && declared.is_some() && launch.cluster != declared {
        return Err(Status::INVALID_CLUSTER_SIZE);
    }
    let cluster = launch.cluster.or(declared).unwrap_or(Dim3::ONE);
    let divides = |blocks: u32, by: u32| by > 0 && blocks.is_multiple_of(by);
    let most = if function.attributes[ANY_CLUSTER].load(Relaxed) != 0 { 16 } else { 8 };
    if !divides(grid.x, cluster.x)
        || !divides(grid.y, cluster.y)
        || !divides(grid.z, cluster.z)
        || cluster.count() > most
    {
        return Err(Status::INVALID_CLUSTER_SIZE);
    }
    let blocks = active_blocks(function, threads as u32, launch.shared)?;
    if blocks == 0 {
        return Err(Status::LAUNCH_OUT_OF_RESOURCES);
    }
    let resident = u128::from(blocks) * u128::from(config.multiprocessors);
    if launch.cooperative && grid.count() > resident {
        return Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(())
}
