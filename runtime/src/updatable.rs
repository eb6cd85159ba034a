//! Kernel nodes that kernels update (CUDA programming guide, "Device graph launch": `cudaGraphKernelNodeUpdatesApply`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};
use sim_core::{Launch, NodeUpdate};

use crate::operation::{KernelCall, Node, Operation};
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
}

impl KernelCall {
    /// Makes the launch what it is as a node, whatever kernels have made of that.
    pub(crate) fn describe(&self) {
        if let Some(updatable) = &self.updatable {
            lock(&updatable.now).launch = Some(self.launch.clone());
        }
    }

    /// The launch as it is now; none if it was disabled.
    pub(crate) fn now(&self) -> Option<Cow<'_, Launch>> {
        let Some(updatable) = &self.updatable else { return Some(Cow::Borrowed(&self.launch)) };
        let now = lock(&updatable.now);
        (!now.disabled).then(|| now.launch.clone().map_or(Cow::Borrowed(&self.launch), Cow::Owned))
    }
}

impl Operation {
    /// What kernels have made of it, if they may.
    pub(crate) fn updatable(&self) -> Option<&Arc<Updatable>> {
        match self {
            Operation::Kernel(call) => call.updatable.as_ref(),
            _ => None,
        }
    }
}

impl Node {
    /// Whether it is launched with its graph. Kernels may still enable what they may update.
    pub(crate) fn runs(&self) -> bool {
        self.enabled || self.operation.updatable().is_some()
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
