//! Memory that graphs allocate and free: nodes, captured allocations, and what devices keep for graphs.
//!
//! A node's memory has its address from the making of the node on. Kernels see it from the allocation to the free
//! of each launch, so that a use before or after is found.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_abi::driver::{MemAccessDesc, MemAllocNodeParams, MemLocation, MemPoolProps};
use runtime::{Allocation, Context, Device, Graph, GraphMemory, Kind, Operation, Result, Status, fresh_id};
use sim_core::Backend;

use crate::driver::device::device_at;
use crate::driver::node::add;
use crate::ffi::{Handle, get, list, put};
use crate::object::{self, NodeRef};
use crate::state;

/// Memory of a node.
struct Memory {
    base: u64,
    bytes: u64,
    device: Arc<Device>,
}

impl GraphMemory for Memory {
    fn base(&self) -> u64 {
        self.base
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn place(&self, device: &Device) -> Result {
        let start = NonNull::new(self.base as *mut u8).ok_or(Status::INVALID_VALUE)?;
        // SAFETY: the range stays mapped as long as the process.
        unsafe { device.simulator.adopt(start, self.bytes, "graph allocation") }?;
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.device.memory.is_live(self.base) {
            // The program still has it, and frees it.
            return;
        }
        self.device.memory.remove(self.base, |found| found.kind == Kind::Graph);
        let _ = self.device.simulator.free(self.base);
        // Kernels may still run that access it wrongly, so the addresses stay; the pages go.
        // SAFETY: `new` mapped the range.
        unsafe { libc::madvise(self.base as *mut c_void, self.bytes as usize, libc::MADV_DONTNEED) };
    }
}

/// Memory for a node; kernels see it when the node has run.
pub(crate) fn new(device: &Arc<Device>, bytes: usize) -> Result<Arc<dyn GraphMemory>> {
    let (total, _) = device.simulator.memory_usage();
    if bytes as u64 > total {
        return Err(Status::OUT_OF_MEMORY);
    }
    // SAFETY: a new private mapping touches nothing else.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(Status::OUT_OF_MEMORY);
    }
    let (base, size, id) = (at as u64, bytes as u64, fresh_id());
    device.share_memory();
    device.memory.insert(Allocation { base, size, kind: Kind::Graph, context: 0, flags: 0, id });
    Ok(Arc::new(Memory { base, bytes: size, device: device.clone() }))
}

/// Refuses to free in a graph what no graph allocated, or what this one frees already.
pub(crate) fn check_free(context: &Context, graph: &Graph, address: u64) -> Result {
    let found = context.device.memory.find(address).filter(|found| found.base == address);
    let of_graph = found.is_some_and(|found| found.kind == Kind::Graph);
    let twice =
        graph.nodes().iter().any(|node| matches!(node.operation, Operation::Free(base) if base == address));
    if of_graph && !twice { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

/// What nodes were described with.
static DESCRIBED: Mutex<Option<HashMap<u64, MemAllocNodeParams>>> = Mutex::new(None);

/// Forgets a node that is gone.
pub(crate) fn forget(node: u64) {
    if let Some(table) = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        table.remove(&node);
    }
}

/// The operation of a node that allocates; the address is put into the parameters.
pub(crate) unsafe fn allocation(params: *mut MemAllocNodeParams) -> Result<(Operation, MemAllocNodeParams)> {
    // SAFETY: null or the structure.
    let mut asked = unsafe { get(params) }?;
    // Memory of graphs is that of devices, managed or not.
    match (asked.pool.kind, asked.pool.location.kind) {
        (1 | 2, 1) => {}
        (1, 2 | 3) | (2, _) => return Err(Status::NOT_SUPPORTED),
        _ => return Err(Status::INVALID_VALUE),
    }
    if asked.pool.handle_types != 0 || asked.bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let device = state::device(device_at(asked.pool.location).map_err(|_| Status::INVALID_VALUE)?)?;
    // SAFETY: the program said how many there are.
    for access in unsafe { list(asked.access as *const MemAccessDesc, asked.access_count) }? {
        device_at(access.location)?;
    }
    let memory = new(device, asked.bytes)?;
    asked.address = memory.base();
    // SAFETY: as above.
    unsafe { put(params, asked) }?;
    Ok((Operation::Allocate(memory), asked))
}

fn node_of(node: Handle) -> Result<NodeRef> {
    state::runtime()?;
    object::find(node)
}

api! {
    fn cuGraphAddMemAllocNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *mut MemAllocNodeParams
    ) {
        object::find::<Arc<Graph>>(graph)?;
        let (operation, asked) = allocation(params)?;
        let id = add(node, graph, after, count, operation)?;
        let mut table = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
        table.get_or_insert_with(HashMap::new).insert(id, asked);
        Ok(())
    }

    fn cuGraphMemAllocNodeGetParams(node: Handle, params: *mut MemAllocNodeParams) {
        let node = node_of(node)?;
        let Operation::Allocate(memory) = node.graph.node(node.id)?.operation else {
            return Err(Status::INVALID_VALUE);
        };
        let table = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = table.as_ref().and_then(|table| table.get(&node.id).copied());
        put(params, known.unwrap_or(MemAllocNodeParams {
            pool: MemPoolProps {
                kind: 1,
                handle_types: 0,
                location: MemLocation { kind: 1, id: 0 },
                windows: 0,
                most: 0,
                reserved: [0; 7],
            },
            access: 0,
            access_count: 0,
            bytes: memory.bytes() as usize,
            address: memory.base(),
        }))
    }

    fn cuGraphAddMemFreeNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, address: u64) {
        let found: Arc<Graph> = object::find(graph)?;
        check_free(&*state::current()?, &found, address)?;
        add(node, graph, after, count, Operation::Free(address)).map(|_| ())
    }

    fn cuGraphMemFreeNodeGetParams(node: Handle, address: *mut u64) {
        let node = node_of(node)?;
        match node.graph.node(node.id)?.operation {
            Operation::Free(base) => put(address, base),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuDeviceGraphMemTrim(device: i32) {
        state::device(device)?.memory.trim_graphs();
        Ok(())
    }

    fn cuDeviceGetGraphMemAttribute(device: i32, number: u32, value: *mut u64) {
        let device = state::device(device)?;
        if number > 3 {
            return Err(Status::INVALID_VALUE);
        }
        // What is in use counts in whole pieces, as what is reserved does: now and at most, each.
        let [now, most_used, most_reserved] = device.memory.graphs();
        put(value, [now, most_used, now, most_reserved][number as usize])
    }

    fn cuDeviceSetGraphMemAttribute(device: i32, number: u32, value: *const u64) {
        let device = state::device(device)?;
        // High-water marks can be reset.
        if !matches!(number, 1 | 3) || get(value)? != 0 {
            return Err(Status::INVALID_VALUE);
        }
        device.memory.reset_graph_mark(number == 1);
        Ok(())
    }
}
