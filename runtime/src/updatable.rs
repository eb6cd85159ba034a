//! Kernel nodes that kernels update (CUDA programming guide, "Device graph launch": `cudaGraphKernelNodeUpdatesApply`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};
use sim_core::{Launch, NodeUpdate};

use crate::{fresh_id, lock};

/// What kernels have made of a node of an executable graph. The graph's own node stays as the program described it.
#[derive(Debug)]
pub struct Updatable {
    /// What kernels know the node by.
    pub handle: u64,
    /// The number of the device whose kernels may update it.
    device: usize,
    now: Mutex<Now>,
}

#[derive(Debug, Default)]
struct Now {
    /// The launch; none as long as there is no executable graph.
    launch: Option<Launch>,
    disabled: bool,
}

type Nodes = Mutex<HashMap<u64, Weak<Updatable>>>;

/// The nodes that kernels may update, by handle.
fn nodes() -> &'static Nodes {
    static NODES: OnceLock<Nodes> = OnceLock::new();
    NODES.get_or_init(Nodes::default)
}

impl Updatable {
    /// Lets kernels of a device update a node.
    pub fn new(device: usize) -> Arc<Updatable> {
        let updatable = Arc::new(Updatable { handle: fresh_id(), device, now: Mutex::default() });
        let mut nodes = lock(nodes());
        nodes.retain(|_, other| other.strong_count() > 0);
        nodes.insert(updatable.handle, Arc::downgrade(&updatable));
        updatable
    }

    /// Enables or disables the node.
    pub(crate) fn enable(&self, enabled: bool) {
        lock(&self.now).disabled = !enabled;
    }

    /// Makes the launch what the program says, and whether there is one, whatever kernels have made of it.
    pub(crate) fn describe(&self, launch: &Launch, enabled: bool) {
        *lock(&self.now) = Now { launch: Some(launch.clone()), disabled: !enabled };
    }

    /// The launch as it is now, of one that the program describes; none if it was disabled.
    pub(crate) fn now(&self, described: &Launch) -> Option<Launch> {
        let now = lock(&self.now);
        (!now.disabled).then(|| now.launch.clone().unwrap_or_else(|| described.clone()))
    }
}

/// Updates a node for a kernel of a device.
///
/// # Errors
/// `INVALID_VALUE` for what is no node of the device in an executable graph, parameters behind the last, and empty grids.
pub(crate) fn update(handle: u64, device: usize, update: NodeUpdate) -> Result {
    let found = lock(nodes()).get(&handle).and_then(Weak::upgrade).filter(|found| found.device == device);
    let found = found.ok_or(Status::INVALID_VALUE)?;
    let mut now = lock(&found.now);
    let launch = now.launch.as_mut().ok_or(Status::INVALID_VALUE)?;
    match update {
        NodeUpdate::Enabled(enabled) => now.disabled = !enabled,
        NodeUpdate::Grid(grid) if grid.count() == 0 => return Err(Status::INVALID_VALUE),
        NodeUpdate::Grid(grid) => launch.grid = grid,
        NodeUpdate::Parameter { offset, bytes, value } => {
            let from = usize::try_from(offset).map_err(|_| Status::INVALID_VALUE)?;
            let given = value.to_le_bytes();
            let given = given.get(..bytes as usize).ok_or(Status::INVALID_VALUE)?;
            let place = from.checked_add(given.len()).and_then(|end| launch.params.get_mut(from..end));
            place.ok_or(Status::INVALID_VALUE)?.copy_from_slice(given);
        }
    }
    Ok(())
}
