//! Nodes that allocate and free memory.

use std::sync::Arc;

use cuda_abi::driver::{MemAllocNodeParams, MemLocation, MemPoolProps};
use runtime::{Graph, Operation, Result, Status, check_node_free};

use crate::driver::graph::edges_of;
use crate::driver::graph_memory::{allocation, describe, described};
use crate::driver::node::add;
use crate::ffi::{Handle, put};
use crate::object::{self, NodeRef};
use crate::state;

fn node_of(node: Handle) -> Result<NodeRef> {
    state::runtime()?;
    object::find(node)
}

api! {
    fn cuGraphAddMemAllocNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *mut MemAllocNodeParams
    ) {
        let found: Arc<Graph> = object::find(graph)?;
        if node.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let behind = edges_of(&found, after, std::ptr::null(), count)?;
        let (operation, asked) = allocation(params, &found, &behind)?;
        let id = add(node, graph, after, count, operation)?;
        describe(id, asked);
        Ok(())
    }

    fn cuGraphMemAllocNodeGetParams(node: Handle, params: *mut MemAllocNodeParams) {
        let node = node_of(node)?;
        let Operation::Allocate(memory) = node.graph.node(node.id)?.operation else {
            return Err(Status::INVALID_VALUE);
        };
        put(params, described(node.id).unwrap_or(MemAllocNodeParams {
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
}
