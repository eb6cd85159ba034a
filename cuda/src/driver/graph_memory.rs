//! Memory that graphs allocate and free: nodes, and what devices keep for graphs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cuda_abi::driver::{MemAccessDesc, MemAllocNodeParams};
use runtime::{Edge, Graph, Operation, Result, Status, node_memory};

use crate::driver::device::device_at;
use crate::ffi::{get, list, put};
use crate::state;

/// What nodes were described with.
static DESCRIBED: Mutex<Option<HashMap<u64, MemAllocNodeParams>>> = Mutex::new(None);

/// Remembers what a node was described with.
pub(crate) fn describe(node: u64, params: MemAllocNodeParams) {
    DESCRIBED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_with(HashMap::new)
        .insert(node, params);
}

/// What a node was described with, unless it was captured.
pub(crate) fn described(node: u64) -> Option<MemAllocNodeParams> {
    DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&node).copied()
}

/// Forgets a node that is gone.
pub(crate) fn forget(node: u64) {
    if let Some(table) = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        table.remove(&node);
    }
}

/// The operation of a node of a graph that allocates, behind others; the address is put into the parameters.
pub(crate) unsafe fn allocation(
    params: *mut MemAllocNodeParams,
    graph: &Graph,
    after: &[Edge],
) -> Result<(Operation, MemAllocNodeParams)> {
    // SAFETY: null or the structure.
    let mut asked = unsafe { get(params) }?;
    // Memory of graphs is that of devices, managed or not.
    match (asked.pool.kind, asked.pool.location.kind) {
        (1 | 2, 1) => {}
        (1, 2 | 3) | (2, _) => return Err(Status::NOT_SUPPORTED),
        _ => return Err(Status::INVALID_VALUE),
    }
    if asked.bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    // No other process has memory of graphs.
    if asked.pool.handle_types != 0 {
        return Err(Status::NOT_SUPPORTED);
    }
    let device = state::device(device_at(asked.pool.location).map_err(|_| Status::INVALID_VALUE)?)?;
    // SAFETY: the program said how many there are.
    for access in unsafe { list(asked.access as *const MemAccessDesc, asked.access_count) }? {
        device_at(access.location)?;
    }
    let memory = node_memory(device, asked.bytes as u64, graph, after)?;
    asked.address = memory.base();
    // SAFETY: as above.
    unsafe { put(params, asked) }?;
    Ok((Operation::Allocate(memory), asked))
}

api! {
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
