//! What attributes ask of a launch.

use std::sync::Arc;

use cuda_abi::driver::LaunchConfig;
use cuda_abi::numbers::launch_attribute as a;
use runtime::{Event, LaunchConfig as Config, Result, Status};
use sim_core::Dim3;

use crate::driver::hints;
use crate::ffi::list;
use crate::object;

/// What a configuration asks for.
pub(crate) struct Asked {
    /// The launch itself.
    pub launch: Config,
    /// The size of clusters that is preferred.
    pub preferred: Option<Dim3>,
    /// Whether a node that kernels update is spoken of.
    pub updatable: bool,
}

/// What a configuration asks for, of attributes named twice the last one, if all of them are possible.
///
/// # Safety
/// The configuration names its attributes.
pub(crate) unsafe fn attributes_of(config: &LaunchConfig) -> Result<Asked> {
    let dim = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
    let mut launch = Config {
        grid: dim(config.grid),
        block: dim(config.block),
        cluster: None,
        shared: config.shared,
        cooperative: false,
    };
    let (mut preferred, mut updatable) = (None, false);
    let valid = |valid: bool| if valid { Ok(()) } else { Err(Status::INVALID_VALUE) };
    // SAFETY: the caller's promise.
    for attribute in unsafe { list(config.attributes, config.attribute_count as usize) }? {
        let value = attribute.value;
        match attribute.id {
            a::COOPERATIVE => launch.cooperative = value[0] != 0,
            a::CLUSTER_DIMENSION => launch.cluster = Some(Dim3::new(value[0], value[1], value[2])),
            a::PREFERRED_CLUSTER_DIMENSION => preferred = Some(Dim3::new(value[0], value[1], value[2])),
            // Hints about caches, priorities and overlap with other launches; running in order is one of
            // the ways in which a device may take them.
            a::IGNORE
            | a::PROGRAMMATIC_STREAM_SERIALIZATION
            | a::PRIORITY
            | a::NVLINK_UTIL_CENTRIC_SCHEDULING => {}
            a::ACCESS_POLICY_WINDOW => valid(hints::is_window(&value))?,
            a::CLUSTER_SCHEDULING_POLICY_PREFERENCE => valid(value[0] <= 2)?,
            // A byte each for the default domain and the remote one, of four.
            a::MEM_SYNC_DOMAIN_MAP => valid(value[0].to_le_bytes()[..2].iter().all(|&domain| domain < 4))?,
            a::MEM_SYNC_DOMAIN => valid(value[0] <= 1)?,
            a::PREFERRED_SHARED_MEMORY_CARVEOUT => valid(value[0] <= 100)?,
            // Events that a kernel triggers; after the kernel is late enough.
            a::PROGRAMMATIC_EVENT | a::LAUNCH_COMPLETION_EVENT => {
                // No flags of a record go with it.
                valid(value[2] == 0)?;
                let event: Arc<Event> = object::find(u64::from(value[0]) | u64::from(value[1]) << 32)?;
                if !event.has_no_times() {
                    return Err(Status::NOT_SUPPORTED);
                }
            }
            a::DEVICE_UPDATABLE_KERNEL_NODE => {
                valid(value[0] <= 1)?;
                updatable = true;
            }
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    Ok(Asked { launch, preferred, updatable })
}
