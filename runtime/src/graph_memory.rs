//! Memory that graphs allocate and free.
//!
//! A node's memory has its address from the making of the node on. Kernels see it from the allocation to the free
//! of each launch, so that a use before or after is found.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use cuda_abi::{Result, Status};
use sim_core::Backend;

use crate::memory::{Allocation, Kind};
use crate::operation::{Graph, Operation, PlacedMemory};
use crate::tree::{Context, Device};
use crate::{fresh_id, lock};

/// Memory of a node.
struct NodeMemory {
    base: u64,
    bytes: u64,
    device: Arc<Device>,
}

impl PlacedMemory for NodeMemory {
    fn base(&self) -> u64 {
        self.base
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn place(&self, device: &Device) -> Result {
        device.host.show(&device.simulator, self.base, self.bytes, "graph allocation")
    }
}

impl Drop for NodeMemory {
    fn drop(&mut self) {
        lock(nodes()).remove(&self.base);
        // If it is allocated, the program still has it, and frees it.
        if !self.device.memory.is_live(self.base) {
            release(&self.device, self.base, self.bytes);
        }
    }
}

/// Gives back memory that no graph has any more.
fn release(device: &Device, base: u64, bytes: u64) {
    device.memory.remove(base, |found| found.kind == Kind::Graph);
    let _ = device.simulator.free(base);
    // Kernels may still run that access it wrongly, so the addresses stay; the pages go.
    device.host.discard(base, bytes);
}

/// The memory of nodes, by address.
fn nodes() -> &'static Mutex<BTreeMap<u64, Weak<NodeMemory>>> {
    static NODES: Mutex<BTreeMap<u64, Weak<NodeMemory>>> = Mutex::new(BTreeMap::new());
    &NODES
}

/// What a stream does to free memory of a graph. The graph may be gone when the stream comes to it: the memory is there as
/// long as something in the stream may use it.
pub(crate) fn freeing(device: &Arc<Device>, base: u64) -> Operation {
    let node = lock(nodes()).get(&base).and_then(Weak::upgrade);
    let (device, bytes) = (device.clone(), device.memory.find(base).map_or(0, |found| found.size));
    Operation::Callback(Arc::new(move |_| match node {
        Some(_) => drop(device.simulator.free(base)),
        None => release(&device, base, bytes),
    }))
}

/// Memory for a node of a graph; kernels see it when the node has run.
///
/// # Errors
/// `OUT_OF_MEMORY`.
pub fn node_memory(device: &Arc<Device>, bytes: u64) -> Result<Arc<dyn PlacedMemory>> {
    let (total, _) = device.simulator.memory_usage();
    if bytes > total {
        return Err(Status::OUT_OF_MEMORY);
    }
    let base = device.host.map(bytes)?;
    device.share_memory();
    let (size, id) = (bytes, fresh_id());
    device.memory.insert(Allocation { base, size, kind: Kind::Graph, context: 0, flags: 0, id });
    let node = Arc::new(NodeMemory { base, bytes, device: device.clone() });
    lock(nodes()).insert(base, Arc::downgrade(&node));
    Ok(node)
}

/// Whether a graph may get a node that frees an address.
///
/// # Errors
/// `INVALID_VALUE` for what no graph allocated, or what this one frees already.
pub fn check_node_free(context: &Context, graph: &Graph, address: u64) -> Result {
    let found = context.device.memory.find(address).filter(|found| found.base == address);
    let of_graph = found.is_some_and(|found| found.kind == Kind::Graph);
    let twice =
        graph.nodes().iter().any(|node| matches!(node.operation, Operation::Free(base) if base == address));
    if of_graph && !twice { Ok(()) } else { Err(Status::INVALID_VALUE) }
}
