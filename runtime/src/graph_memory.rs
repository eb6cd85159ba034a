//! Memory that graphs allocate and free.
//!
//! A node's memory has its address from the making of the node on. Kernels see it from the allocation to the free
//! of each launch, so that a use before or after is found. An allocation behind the free of another one gets its place,
//! as on an H100, where the first place that is free and large enough is taken.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, Weak};

use cuda_abi::{Result, Status};
use sim_core::Backend;

use crate::edge::Edge;
use crate::memory::{Allocation, Kind};
use crate::operation::{Graph, Operation, PlacedMemory};
use crate::tree::{Context, Device};
use crate::{fresh_id, lock, pieces};

/// A place for memory of nodes of one graph, of which each is there at another time.
struct Block {
    base: u64,
    bytes: u64,
    graph: u64,
    /// Where it lies among the places of its graph, which a device puts one behind the other.
    offset: u64,
    device: Arc<Device>,
}

/// Bytes at whose multiples allocations begin.
const UNIT: u64 = 512;
impl Block {
    fn end(&self) -> u64 {
        (self.offset + self.bytes).next_multiple_of(UNIT)
    }
}

/// Memory of a node.
struct NodeMemory {
    block: Arc<Block>,
    bytes: u64,
}

impl PlacedMemory for NodeMemory {
    fn base(&self) -> u64 {
        self.block.base
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn place(&self, device: &Device) -> Result {
        device.host.show(&device.simulator, self.block.base, self.bytes, "graph allocation")
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        lock(blocks()).remove(&self.base);
        pieces::remove(self.base);
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

/// The places of memory of nodes, by address.
fn blocks() -> &'static Mutex<BTreeMap<u64, Weak<Block>>> {
    static BLOCKS: Mutex<BTreeMap<u64, Weak<Block>>> = Mutex::new(BTreeMap::new());
    &BLOCKS
}

fn block(base: u64) -> Option<Arc<Block>> {
    lock(blocks()).get(&base).and_then(Weak::upgrade)
}

/// What a stream does to free memory of a graph. The graph may be gone when the stream comes to it: the memory is there as
/// long as something in the stream may use it.
pub(crate) fn freeing(device: &Arc<Device>, base: u64) -> Operation {
    let block = block(base);
    let (device, bytes) = (device.clone(), device.memory.find(base).map_or(0, |found| found.size));
    Operation::Callback(Arc::new(move |_| match block {
        Some(_) => drop(device.simulator.free(base)),
        None => release(&device, base, bytes),
    }))
}

/// Memory for a node of a graph that comes behind others; kernels see it when the node has run.
///
/// # Errors
/// `OUT_OF_MEMORY`.
pub fn node_memory(
    device: &Arc<Device>,
    bytes: u64,
    graph: &Graph,
    after: &[Edge],
) -> Result<Arc<dyn PlacedMemory>> {
    graph.asked_for_memory.store(true, SeqCst);
    let (total, _) = device.simulator.memory_usage();
    if bytes > total {
        return Err(Status::OUT_OF_MEMORY);
    }
    let places: Vec<Arc<Block>> = graph.places().into_iter().filter_map(block).collect();
    let freed = graph.freed_before(after);
    let fits = |place: &&Arc<Block>| {
        place.bytes >= bytes && freed.contains(&place.base) && place.device.index == device.index
    };
    if let Some(block) = places.iter().find(fits).cloned() {
        return Ok(Arc::new(NodeMemory { block, bytes }));
    }
    let base = device.host.map(bytes)?;
    device.share_memory();
    let (size, id) = (bytes, fresh_id());
    device.memory.insert(Allocation { base, size, kind: Kind::Graph, context: 0, flags: 0, id });
    let offset = places.iter().map(|place| place.end()).max().unwrap_or(0);
    let block = Arc::new(Block { base, bytes, graph: graph.id, offset, device: device.clone() });
    pieces::insert(base, block.graph, block.offset..block.end());
    lock(blocks()).insert(base, Arc::downgrade(&block));
    Ok(Arc::new(NodeMemory { block, bytes }))
}

impl Graph {
    /// Where its nodes allocate, in order of making.
    pub(crate) fn places(&self) -> Vec<u64> {
        let mut places = Vec::new();
        for node in self.nodes() {
            if let Operation::Allocate(memory) = node.operation
                && !places.contains(&memory.base())
            {
                places.push(memory.base());
            }
        }
        places
    }

    /// Where all that its nodes allocate is freed before a node that is behind others.
    fn freed_before(&self, after: &[Edge]) -> HashSet<u64> {
        let before = self.before(after);
        let mut left: BTreeMap<u64, i64> = BTreeMap::new();
        for node in self.nodes() {
            match node.operation {
                Operation::Allocate(memory) => *left.entry(memory.base()).or_default() += 1,
                Operation::Free(base) if before.contains(&node.id) => *left.entry(base).or_default() -= 1,
                _ => {}
            }
        }
        left.into_iter().filter(|&(_, left)| left == 0).map(|(base, _)| base).collect()
    }
}

/// Whether a graph may get a node that frees an address.
///
/// # Errors
/// `INVALID_VALUE` for what no graph allocated, what this one frees already, or what an executable copy of it allocates.
pub fn check_node_free(context: &Context, graph: &Graph, address: u64) -> Result {
    graph.asked_for_memory.store(true, SeqCst);
    if lock(&graph.instantiated).contains(&address) {
        return Err(Status::INVALID_VALUE);
    }
    let found = context.device.memory.find(address).filter(|found| found.base == address);
    let of_graph = found.is_some_and(|found| found.kind == Kind::Graph);
    let nodes = graph.nodes();
    let count = |is: &dyn Fn(&Operation) -> bool| nodes.iter().filter(|node| is(&node.operation)).count();
    let frees = count(&|operation| matches!(operation, Operation::Free(base) if *base == address));
    let allocations =
        count(&|operation| matches!(operation, Operation::Allocate(memory) if memory.base() == address));
    if of_graph && frees < allocations.max(1) { Ok(()) } else { Err(Status::INVALID_VALUE) }
}
