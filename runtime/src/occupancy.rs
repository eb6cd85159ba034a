//! Whether a launch is possible, and how many blocks of a kernel fit.

use std::sync::atomic::Ordering::Relaxed;

use cuda_abi::numbers::function_attribute;
use cuda_abi::{Result, Status};
use sim_core::Dim3;

use crate::module::Function;

const ANY_CLUSTER: usize = function_attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED as usize;

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

/// Blocks of a kernel with clusters that a multiprocessor takes at most.
const MOST_IN_CLUSTERS: u32 = 8;

/// Multiprocessors that can hold one cluster, as they are grouped on an H200: graphics processing clusters, of which
/// chips have more or fewer parts, and pairs that stand alone. All have one answer, that of the recorded chip.
const GROUPS: &[u32] = &[18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2];

/// The groups of a device with so many multiprocessors.
fn groups(mut multiprocessors: u32) -> Vec<u32> {
    if multiprocessors == GROUPS.iter().sum() {
        return GROUPS.to_vec();
    }
    let mut groups = Vec::new();
    while multiprocessors > 0 {
        groups.push(multiprocessors.min(16));
        multiprocessors -= multiprocessors.min(16);
    }
    groups
}

/// Clusters of a kernel that are resident at once; none if the launch has none.
///
/// # Errors
/// `INVALID_VALUE` for an impossible grid or block, `INVALID_CLUSTER_SIZE`, and those of the kernel.
pub fn active_clusters(function: &Function, launch: &LaunchConfig) -> Result<u32> {
    let context = function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let multiprocessors = context.device.simulator.config().multiprocessors;
    let (threads, grid) = (launch.block.count(), launch.grid);
    if threads == 0 || grid.count() == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let any_size = function.attributes[ANY_CLUSTER].load(Relaxed) != 0;
    let Some(cluster) = cluster_of(function, launch, if any_size { u128::MAX } else { 8 })? else {
        return Ok(0);
    };
    let blocks = active_blocks(function, u32::try_from(threads).unwrap_or(u32::MAX), launch.shared)?;
    let blocks = u128::from(blocks.min(MOST_IN_CLUSTERS));
    let size = cluster.count();
    let fits = groups(multiprocessors).into_iter().map(u128::from).filter(|&group| group >= size);
    Ok(fits.map(|group| (blocks * group / size) as u32).sum())
}

/// The largest cluster of a kernel of which one fits, 0 if none does.
///
/// # Errors
/// As [`active_clusters`].
pub fn potential_cluster_size(function: &Function, launch: &LaunchConfig) -> Result<u32> {
    active_clusters(function, launch)?;
    let blocks =
        active_blocks(function, u32::try_from(launch.block.count()).unwrap_or(u32::MAX), launch.shared)?;
    let any_size = function.attributes[ANY_CLUSTER].load(Relaxed) != 0;
    Ok(if blocks == 0 {
        0
    } else if any_size {
        16
    } else {
        8
    })
}

/// The cluster of a launch, which is given or the kernel's.
fn cluster_of(function: &Function, launch: &LaunchConfig, most: u128) -> Result<Option<Dim3>> {
    let tuning = &function.declared().tuning;
    let given = launch.cluster.filter(|&cluster| cluster != Dim3::new(0, 0, 0));
    let declared = function.declared_cluster();
    let cluster = match (given, declared) {
        (Some(given), Some(declared)) if given != declared => return Err(Status::INVALID_CLUSTER_SIZE),
        (given, _) => given.or(function.required_cluster()),
    };
    let Some(cluster) = cluster else {
        // The kernel asks for one and does not say which.
        return if tuning.explicit_cluster { Err(Status::INVALID_CLUSTER_SIZE) } else { Ok(None) };
    };
    let most = most.min(tuning.max_cluster_rank.map_or(most, u128::from));
    let divides = |blocks: u32, by: u32| by > 0 && blocks.is_multiple_of(by);
    let grid = launch.grid;
    let fits = divides(grid.x, cluster.x) && divides(grid.y, cluster.y) && divides(grid.z, cluster.z);
    if fits && cluster.count() <= most { Ok(Some(cluster)) } else { Err(Status::INVALID_CLUSTER_SIZE) }
}

/// Checks a launch as CUDA does when it is asked for; returns its cluster, given or the kernel's.
///
/// # Errors
/// `INVALID_VALUE`, `LAUNCH_OUT_OF_RESOURCES`, `COOPERATIVE_LAUNCH_TOO_LARGE`, `INVALID_CLUSTER_SIZE`.
pub fn check_launch(function: &Function, launch: &LaunchConfig) -> Result<Option<Dim3>> {
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
    let most = if function.attributes[ANY_CLUSTER].load(Relaxed) != 0 { 16 } else { 8 };
    let cluster = cluster_of(function, launch, most)?;
    let blocks = active_blocks(function, threads as u32, launch.shared)?;
    if blocks == 0 {
        return Err(Status::LAUNCH_OUT_OF_RESOURCES);
    }
    let resident = u128::from(blocks) * u128::from(config.multiprocessors);
    if launch.cooperative && grid.count() > resident {
        return Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(cluster)
}
