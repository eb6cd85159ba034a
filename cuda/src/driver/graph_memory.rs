//! Memory that graphs allocate and free: nodes, and what devices keep for graphs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_abi::driver::{MemAccessDesc, MemAllocNodeParams, MemLocation, MemPoolProps};
use runtime::{Graph, Operation, Result, Status, check_node_free, node_memory};

use crate::driver::device::device_at;
use crate::driver::node::add;
use crate::ffi::{Handle, get, list, put};
use crate::object::{self, NodeRef};
use crate::state;

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
    let memory = node_memory(device, asked.bytes as u64)?;
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
        check_node_free(&*state::current()?, &found, address)?;
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
