//! Whether a launch is possible, and how many blocks of a kernel fit.

use std::sync::atomic::Ordering::Relaxed;

use cuda_abi::numbers::function_attribute;
use cuda_abi::{Result, Status};
use sim_core::{DeviceConfig, Dim3, LaunchError, check_cluster, check_declared, declared_cluster};

use crate::module::Function;

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
    let fit = config.blocks_per_sm(threads, function.registers()?, bytes);
    // Of a preference for less shared memory one block takes no notice.
    let a_block = bytes.saturating_add(config.shared_reserved).next_multiple_of(128);
    Ok(fit.min((configured_shared(function, config) / a_block).max(1)))
}

/// Bytes of shared memory of a multiprocessor as a kernel prefers it: the least of those that it can have, in KiB.
pub fn configured_shared(function: &Function, config: &DeviceConfig) -> u32 {
    const KIB: [u32; 8] = [8, 16, 32, 64, 100, 132, 164, 196];
    let all = config.shared_per_multiprocessor;
    let asked = function.carveout().map_or(all, |percent| (u64::from(all) * u64::from(percent) / 100) as u32);
    KIB.into_iter().map(|size| size << 10).find(|&size| asked <= size).unwrap_or(all).min(all)
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

/// Clusters of a kernel that are resident at once; none if the launch has none.
///
/// # Errors
/// `INVALID_VALUE` for an impossible grid or block, `INVALID_CLUSTER_SIZE`, and those of the kernel.
pub fn active_clusters(function: &Function, launch: &LaunchConfig) -> Result<u32> {
    let context = function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let (threads, grid) = (launch.block.count(), launch.grid);
    if threads == 0 || grid.count() == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let portable = context.device.simulator.config().portable_cluster;
    let most = if takes_any_cluster(function) { u128::MAX } else { u128::from(portable) };
    let Some(cluster) = cluster_of(function, launch, most, function.set_cluster())? else { return Ok(0) };
    let blocks = active_blocks(function, u32::try_from(threads).unwrap_or(u32::MAX), launch.shared)?;
    Ok(context.device.simulator.config().resident_clusters(blocks, cluster))
}

/// The largest cluster of a kernel of which one fits, 0 if none does.
///
/// # Errors
/// As [`active_clusters`].
pub fn potential_cluster_size(function: &Function, launch: &LaunchConfig) -> Result<u32> {
    active_clusters(function, launch)?;
    let blocks =
        active_blocks(function, u32::try_from(launch.block.count()).unwrap_or(u32::MAX), launch.shared)?;
    Ok(if blocks == 0 { 0 } else { largest_cluster(function)? })
}

/// Whether a kernel takes clusters that not every device takes.
fn takes_any_cluster(function: &Function) -> bool {
    function.attributes[function_attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED as usize].load(Relaxed) != 0
}

/// Blocks of the largest cluster that a kernel takes.
fn largest_cluster(function: &Function) -> Result<u32> {
    let context = function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let config = context.device.simulator.config();
    Ok(if takes_any_cluster(function) { config.largest_cluster } else { config.portable_cluster })
}

/// Whether a cluster has another extent than was set for a kernel; nothing was where that is 0.
fn differs(set: [u32; 3], given: Dim3) -> bool {
    set.into_iter().zip([given.x, given.y, given.z]).any(|(set, given)| set != 0 && set != given)
}

/// The cluster of a launch, which is given or the kernel's, for which these extents were set.
fn cluster_of(function: &Function, launch: &LaunchConfig, most: u128, set: [u32; 3]) -> Result<Option<Dim3>> {
    let given = launch.cluster.filter(|&cluster| cluster != Dim3::new(0, 0, 0));
    if function.declared_cluster().is_none() && given.is_some_and(|given| differs(set, given)) {
        return Err(LaunchError::ClusterSize.into());
    }
    let given = given.or(function.required_cluster());
    let Some(cluster) = declared_cluster(function.declared(), given)? else { return Ok(None) };
    check_cluster(launch.grid, cluster)?;
    if cluster.count() <= most { Ok(Some(cluster)) } else { Err(LaunchError::ClusterSize.into()) }
}

/// Checks a launch as CUDA does when it is asked for; returns its cluster, given or the kernel's.
///
/// # Errors
/// `INVALID_VALUE`, `LAUNCH_OUT_OF_RESOURCES`, `COOPERATIVE_LAUNCH_TOO_LARGE`, `INVALID_CLUSTER_SIZE`.
pub fn check_launch(function: &Function, launch: &LaunchConfig) -> Result<Option<Dim3>> {
    check(function, launch, function.set_cluster())
}

/// The same for an interface that is older than a kernel's attributes, and heeds only what it declares.
///
/// # Errors
/// As [`check_launch`].
pub fn check_old_launch(function: &Function, launch: &LaunchConfig) -> Result<Option<Dim3>> {
    let cluster = function.declared_cluster().is_none().then_some(Dim3::ONE);
    check(function, &LaunchConfig { cluster, ..*launch }, [0; 3])
}

fn check(function: &Function, launch: &LaunchConfig, set: [u32; 3]) -> Result<Option<Dim3>> {
    let context = function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let config = context.device.simulator.config();
    config.check_extents(launch.grid, launch.block)?;
    check_declared(function.declared(), launch.block)?;
    let granted = function.granted_shared()?;
    if launch.shared > granted {
        let (shared, most) = (u64::from(launch.shared), u64::from(granted));
        return Err(LaunchError::Shared { shared, dynamic: launch.shared, most }.into());
    }
    let threads = launch.block.count() as u32;
    if threads > function.max_threads()? {
        return Err(LaunchError::Resources.into());
    }
    let cluster = cluster_of(function, launch, u128::from(largest_cluster(function)?), set)?;
    let blocks = active_blocks(function, threads, launch.shared)?;
    config.check_residency(blocks, launch.grid, launch.cooperative)?;
    Ok(cluster)
}
