//! Graphs as wholes: making, walking, instantiating, launching.

use std::ffi::c_char;
use std::sync::Arc;

use runtime::{ExecGraph, Graph, Operation, Result, Status};

use crate::driver::user_object;
use crate::ffi::{Handle, get, list, put, put_text, put_wanted, text};
use crate::object::{self, NodeRef, handle};
use crate::state;

/// The handle of a graph; it is in the table from then on.
pub(crate) fn graph_handle(graph: &Arc<Graph>) -> Handle {
    object::insert(graph.id, graph.clone())
}

/// The handle of a node; it is in the table from then on.
pub(crate) fn node_handle(graph: &Arc<Graph>, id: u64) -> Handle {
    if object::find::<NodeRef>(handle(id)).is_err() {
        object::insert(id, NodeRef { graph: graph.clone(), id });
    }
    handle(id)
}

/// Numbers of nodes of a graph from their handles.
pub(crate) fn after_of(graph: &Graph, nodes: *const Handle, count: usize) -> Result<Vec<u64>> {
    // SAFETY: the program said how many there are.
    let handles = unsafe { list(nodes, count) }?;
    let number = |handle: Handle| {
        let node: NodeRef = object::find(handle).map_err(|_| Status::INVALID_VALUE)?;
        if node.graph.id == graph.id { Ok(node.id) } else { Err(Status::INVALID_VALUE) }
    };
    handles.into_iter().map(number).collect()
}

/// Puts handles where the program wants them, and how many there are.
unsafe fn put_handles(to: *mut Handle, count: *mut usize, handles: &[Handle]) -> Result {
    // SAFETY: null or for the number of places.
    let places = unsafe { get(count) }?;
    if !to.is_null() {
        for at in 0..places {
            // SAFETY: the program said that there are so many places.
            unsafe { put(to.wrapping_add(at), handles.get(at).copied().unwrap_or(0)) }?;
        }
    }
    // SAFETY: as above.
    unsafe { put(count, if to.is_null() { handles.len() } else { handles.len().min(places) }) }
}

fn edge_list(graph: &Graph, from: *const Handle, to: *const Handle, count: usize) -> Result<Vec<(u64, u64)>> {
    Ok(after_of(graph, from, count)?.into_iter().zip(after_of(graph, to, count)?).collect())
}

unsafe fn get_edges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) -> Result {
    let graph: Arc<Graph> = object::find(graph)?;
    let nodes = graph.nodes();
    let edges: Vec<(u64, u64)> =
        nodes.iter().flat_map(|node| node.after.iter().map(|&before| (before, node.id))).collect();
    // SAFETY: null or for the number of places.
    let mut places = unsafe { get(count) }?;
    let mut same_places = places;
    let side = |first: bool| -> Vec<Handle> {
        edges.iter().map(|&(a, b)| node_handle(&graph, if first { a } else { b })).collect()
    };
    // SAFETY: the program said how many places there are.
    unsafe {
        put_handles(from, &mut places, &side(true))?;
        put_handles(to, &mut same_places, &side(false))?;
        put(count, places)
    }
}

fn instantiate(to: *mut Handle, graph: Handle, flags: u64) -> Result {
    state::healthy()?;
    let graph: Arc<Graph> = object::find(graph)?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let exec = ExecGraph::new(&graph, flags)?;
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, object::insert(exec.id, exec)) }
}

fn node_of(node: Handle) -> Result<NodeRef> {
    state::runtime()?;
    object::find(node)
}

fn dependents(node: &NodeRef) -> Vec<Handle> {
    let nodes = node.graph.nodes();
    let after = nodes.iter().filter(|other| other.after.contains(&node.id));
    after.map(|other| node_handle(&node.graph, other.id)).collect()
}

fn dependencies(node: &NodeRef) -> Result<Vec<Handle>> {
    Ok(node.graph.node(node.id)?.after.iter().map(|&id| node_handle(&node.graph, id)).collect())
}

/// Graphviz text of a graph.
fn dot(graph: &Graph) -> String {
    let mut text = String::from("digraph graph_ {\n");
    for node in graph.nodes() {
        text += &format!("  n{} [label=\"{:?}\"];\n", node.id, node.operation);
        for before in node.after {
            text += &format!("  n{before} -> n{};\n", node.id);
        }
    }
    text + "}\n"
}

api! {
    fn cuGraphCreate(graph: *mut Handle, flags: u32) {
        state::runtime()?;
        if graph.is_null() || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(graph, graph_handle(&Graph::new()))
    }

    fn cuGraphDestroy(graph: Handle) {
        state::runtime()?;
        let graph: Arc<Graph> = object::remove(graph)?;
        object::remove_all(|found| matches!(found, object::Object::Node(node) if node.graph.id == graph.id));
        user_object::graph_destroyed(graph.id);
        Ok(())
    }

    fn cuGraphClone(clone: *mut Handle, graph: Handle) {
        let graph: Arc<Graph> = object::find(graph)?;
        if graph.has_memory() {
            return Err(Status::NOT_SUPPORTED);
        }
        let (copy, map) = graph.duplicate();
        remember_clone(copy.id, map);
        put(clone, graph_handle(&copy))
    }

    fn cuGraphNodeFindInClone(node: *mut Handle, original: Handle, clone: Handle) {
        let original = node_of(original)?;
        let clone: Arc<Graph> = object::find(clone)?;
        let id = in_clone(clone.id, original.id).ok_or(Status::INVALID_VALUE)?;
        put(node, node_handle(&clone, id))
    }

    fn cuGraphDestroyNode(node: Handle) {
        let found = node_of(node)?;
        found.graph.remove(found.id)?;
        object::remove::<NodeRef>(node).map(|_| ())
    }

    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        let handles: Vec<Handle> = graph.nodes().iter().map(|node| node_handle(&graph, node.id)).collect();
        put_handles(nodes, count, &handles)
    }

    fn cuGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        let all = graph.nodes();
        let roots = all.iter().filter(|node| node.after.is_empty());
        let handles: Vec<Handle> = roots.map(|node| node_handle(&graph, node.id)).collect();
        put_handles(nodes, count, &handles)
    }

    fn cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) {
        get_edges(graph, from, to, count)
    }

    fn cuGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut u64, count: *mut usize) {
        get_edges(graph, from, to, count)?;
        clear_edge_data(data, get(count)?)
    }

    fn cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        graph.edges(&edge_list(&graph, from, to, count)?, true)
    }

    fn cuGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        only_full_edges(data, count)?;
        graph.edges(&edge_list(&graph, from, to, count)?, true)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        graph.edges(&edge_list(&graph, from, to, count)?, false)
    }

    fn cuGraphRemoveDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        only_full_edges(data, count)?;
        graph.edges(&edge_list(&graph, from, to, count)?, false)
    }

    fn cuGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize) {
        put_handles(nodes, count, &dependencies(&node_of(node)?)?)
    }

    fn cuGraphNodeGetDependencies_v2(node: Handle, nodes: *mut Handle, data: *mut u64, count: *mut usize) {
        put_handles(nodes, count, &dependencies(&node_of(node)?)?)?;
        clear_edge_data(data, get(count)?)
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, nodes: *mut Handle, count: *mut usize) {
        put_handles(nodes, count, &dependents(&node_of(node)?))
    }

    fn cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: *mut Handle, data: *mut u64, count: *mut usize) {
        put_handles(nodes, count, &dependents(&node_of(node)?))?;
        clear_edge_data(data, get(count)?)
    }

    fn cuGraphNodeGetType(node: Handle, kind: *mut u32) {
        let node = node_of(node)?;
        let number = match node.graph.node(node.id)?.operation {
            Operation::Kernel(_) => 0,
            Operation::Copy(_) => 1,
            Operation::Fill(_) => 2,
            Operation::Host { .. } | Operation::Callback(_) => 3,
            Operation::Child(_) => 4,
            Operation::Empty => 5,
            Operation::Wait(_) => 6,
            Operation::Record(_) => 7,
            Operation::Allocate(_) => 10,
            Operation::Free(_) => 11,
            Operation::WaitValue { .. } | Operation::WriteValue { .. } | Operation::Batch(_) => 12,
        };
        put(kind, number)
    }

    fn cuGraphDebugDotPrint(graph: Handle, path: *const c_char, _flags: u32) {
        let graph: Arc<Graph> = object::find(graph)?;
        std::fs::write(text(path)?, dot(&graph)).map_err(|_| Status::OPERATING_SYSTEM)
    }

    fn cuGraphInstantiate(exec: *mut Handle, graph: Handle, error: *mut Handle, log: *mut c_char, size: usize) {
        put_wanted(error, 0);
        let _ = put_text(log, size, "");
        instantiate(exec, graph, 0)
    }

    fn cuGraphInstantiate_v2(exec: *mut Handle, graph: Handle, error: *mut Handle, log: *mut c_char, size: usize) {
        put_wanted(error, 0);
        let _ = put_text(log, size, "");
        instantiate(exec, graph, 0)
    }

    fn cuGraphInstantiateWithFlags(exec: *mut Handle, graph: Handle, flags: u64) {
        // Free on launch, upload, device launch, node priorities.
        if flags & !15 != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if flags & 4 != 0 {
            crate::refused::report("graphs that are launched from kernels");
            return Err(Status::NOT_SUPPORTED);
        }
        instantiate(exec, graph, flags)
    }

    fn cuGraphExecDestroy(exec: Handle) {
        state::runtime()?;
        object::remove::<Arc<ExecGraph>>(exec).map(|_| ())
    }

    fn cuGraphExecGetFlags(exec: Handle, flags: *mut u64) {
        put(flags, object::find::<Arc<ExecGraph>>(exec)?.flags)
    }

    fn cuGraphExecUpdate(exec: Handle, graph: Handle, error: *mut Handle, result: *mut u32) {
        let (exec, graph): (Arc<ExecGraph>, Arc<Graph>) = (object::find(exec)?, object::find(graph)?);
        put_wanted(error, 0);
        match exec.update(&graph) {
            Ok(()) => put(result, 0),
            Err((status, node)) => {
                put_wanted(error, node.map_or(0, |id| node_handle(&graph, id)));
                put(result, if node.is_some() { 3 } else { 2 })?;
                Err(status)
            }
        }
    }

    fn cuGraphExecUpdate_v2(exec: Handle, graph: Handle, result: *mut [u64; 3]) {
        let (exec, graph): (Arc<ExecGraph>, Arc<Graph>) = (object::find(exec)?, object::find(graph)?);
        match exec.update(&graph) {
            Ok(()) => put(result, [0; 3]),
            Err((status, node)) => {
                let node_handle = node.map_or(0, |id| node_handle(&graph, id));
                put(result, [if node.is_some() { 3 } else { 2 }, node_handle, 0])?;
                Err(status)
            }
        }
    }

    fn cuGraphNodeSetEnabled(exec: Handle, node: Handle, enabled: u32) {
        let exec: Arc<ExecGraph> = object::find(exec)?;
        exec.enable(node_of(node)?.id, enabled != 0)
    }

    fn cuGraphNodeGetEnabled(exec: Handle, node: Handle, enabled: *mut u32) {
        let exec: Arc<ExecGraph> = object::find(exec)?;
        put(enabled, u32::from(exec.is_enabled(node_of(node)?.id)?))
    }
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct InstantiateParams {
    flags: u64,
    upload_stream: Handle,
    error_node: Handle,
    result: u32,
}

stream_api! {
    fn cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz (null;
        exec: *mut Handle, graph: Handle, params: *mut InstantiateParams
    ) {
        let _ = null;
        let mut asked = get(params)?;
        if asked.flags & !15 != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if asked.flags & 4 != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let made = instantiate(exec, graph, asked.flags);
        (asked.error_node, asked.result) = (0, u32::from(made.is_err()));
        put(params, asked)?;
        made
    }

    fn cuGraphLaunch | cuGraphLaunch_ptsz (null; exec: Handle, stream: Handle) {
        let (context, stream) = state::stream(stream, null)?;
        let exec: Arc<ExecGraph> = object::find(exec)?;
        context.launch_graph(&stream, &exec)
    }

    fn cuGraphUpload | cuGraphUpload_ptsz (null; exec: Handle, stream: Handle) {
        state::stream(stream, null)?;
        object::find::<Arc<ExecGraph>>(exec).map(|_| ())
    }
}

/// Edges of a kind other than full completion are refused.
///
/// # Safety
/// `data` is null or has `count` entries.
pub(crate) unsafe fn only_full_edges(data: *const u64, count: usize) -> Result {
    if data.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let full = unsafe { list(data, count) }?.iter().all(|&edge| edge == 0);
    if full { Ok(()) } else { Err(Status::NOT_SUPPORTED) }
}

unsafe fn clear_edge_data(data: *mut u64, count: usize) -> Result {
    for at in 0..if data.is_null() { 0 } else { count } {
        // SAFETY: the program said how many places there are.
        unsafe { put(data.wrapping_add(at), 0) }?;
    }
    Ok(())
}

type Clones = std::collections::HashMap<(u64, u64), u64>;
static CLONES: std::sync::Mutex<Option<Clones>> = std::sync::Mutex::new(None);

fn remember_clone(graph: u64, nodes: std::collections::HashMap<u64, u64>) {
    let mut clones = CLONES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let clones = clones.get_or_insert_with(Clones::new);
    clones.extend(nodes.into_iter().map(|(old, new)| ((graph, old), new)));
}

fn in_clone(graph: u64, node: u64) -> Option<u64> {
    let clones = CLONES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    clones.as_ref()?.get(&(graph, node)).copied()
}
