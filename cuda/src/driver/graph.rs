//! Graphs as wholes: making, walking, instantiating, launching.

use std::ffi::c_char;
use std::sync::Arc;

use cuda_abi::driver::GraphInstantiateParams;
use runtime::{Edge, EdgeKind, ExecGraph, Fill, Graph, Kind, Operation, Place, Result, Status, StreamKind};

use crate::driver;
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

/// Takes from the table what belongs to a graph: handles of its nodes, of the graphs in them, and what was said of
/// them.
fn forget(graph: &Graph) {
    object::remove_all(|node: &NodeRef| node.graph.id == graph.id);
    graph.nodes().iter().for_each(|node| driver::node::forget(node.id));
    graph.children().iter().for_each(|child| forget_child(child));
}

/// The same of a graph in a node, with its own handle.
pub(crate) fn forget_child(child: &Graph) {
    let _ = object::remove::<Arc<Graph>>(handle(child.id));
    forget(child);
    child.let_all_go();
}

/// A [`runtime::KindOfMemory`].
pub(crate) fn kind_of_memory(place: &Place) -> u32 {
    const HOST: u32 = 0;
    const MANAGED: u32 = 1;
    match place {
        Place::Host(_) | Place::Bytes(_) => HOST,
        Place::Device(address) => match driver::pointer::owner(*address) {
            Ok(Some((_, memory))) if memory.kind.is_host() => HOST,
            Ok(Some((_, memory))) if memory.kind == Kind::Managed => MANAGED,
            Ok(Some((device, _))) => 2 + device as u32,
            _ => HOST,
        },
    }
}

/// `CUgraphEdgeData` in one word: from, to, kind, reserved bytes.
pub(crate) fn data_of(kind: EdgeKind) -> u64 {
    u64::from_le_bytes([kind.port, 0, kind.programmatic.into(), 0, 0, 0, 0, 0])
}

fn kind_of(data: u64) -> Result<EdgeKind> {
    match data.to_le_bytes() {
        [port, 0, kind @ (0 | 1), 0, 0, 0, 0, 0] => Ok(EdgeKind { port, programmatic: kind == 1 }),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Edges from nodes of a graph by their handles. Without data they are full ones.
pub(crate) fn edges_of(
    graph: &Graph,
    nodes: *const Handle,
    data: *const u64,
    count: usize,
) -> Result<Vec<Edge>> {
    // SAFETY: the program said how many there are.
    let handles = unsafe { list(nodes, count) }?;
    // SAFETY: as above.
    let data = if data.is_null() { vec![0; count] } else { unsafe { list(data, count) }? };
    let edge = |(handle, data): (Handle, u64)| {
        let node: NodeRef = object::find(handle).map_err(|_| Status::INVALID_VALUE)?;
        let of_graph = node.graph.id == graph.id;
        if of_graph { Ok(Edge { from: node.id, kind: kind_of(data)? }) } else { Err(Status::INVALID_VALUE) }
    };
    handles.into_iter().zip(data).map(edge).collect()
}

/// The data of edges, where the program wants them; without a place for them there may be none that says something.
pub(crate) unsafe fn put_kinds(
    to: *mut u64,
    kinds: impl Iterator<Item = EdgeKind> + Clone,
    places: usize,
) -> Result {
    if to.is_null() {
        let full = kinds.clone().all(|kind| kind == EdgeKind::default());
        return if full { Ok(()) } else { Err(Status::LOSSY_QUERY) };
    }
    for (at, data) in kinds.map(data_of).chain(std::iter::repeat(0)).take(places).enumerate() {
        // SAFETY: the program said how many places there are.
        unsafe { put(to.wrapping_add(at), data) }?;
    }
    Ok(())
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

fn edge_list(
    graph: &Graph,
    from: *const Handle,
    to: *const Handle,
    data: *const u64,
    count: usize,
) -> Result<Vec<(Edge, u64)>> {
    let to = edges_of(graph, to, std::ptr::null(), count)?;
    Ok(edges_of(graph, from, data, count)?.into_iter().zip(to.iter().map(|edge| edge.from)).collect())
}

/// Removes edges; without data whatever their kinds are.
fn remove_edges(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    data: *const u64,
    count: usize,
) -> Result {
    let graph: Arc<Graph> = object::find(graph)?;
    let mut edges = edge_list(&graph, from, to, data, count)?;
    if data.is_null() {
        let nodes = graph.nodes();
        for (edge, to) in &mut edges {
            let after = nodes.iter().find(|node| node.id == *to).map_or(&[][..], |node| &node.after);
            edge.kind =
                after.iter().find(|other| other.from == edge.from).map_or(edge.kind, |other| other.kind);
        }
    }
    graph.edges(&edges, false)
}

unsafe fn get_edges(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    data: *mut u64,
    count: *mut usize,
) -> Result {
    let graph: Arc<Graph> = object::find(graph)?;
    let nodes = graph.nodes();
    let mut edges: Vec<(Edge, u64)> =
        nodes.iter().flat_map(|node| node.after.iter().map(|&edge| (edge, node.id))).collect();
    edges.sort_by_key(|(edge, to)| (edge.from, *to));
    // SAFETY: null or for the number of places.
    let mut places = unsafe { get(count) }?;
    let mut same_places = places;
    let handles = |ids: Vec<u64>| ids.into_iter().map(|id| node_handle(&graph, id)).collect::<Vec<_>>();
    // SAFETY: the program said how many places there are.
    unsafe {
        // Who asks for their number alone loses nothing.
        if !(data.is_null() && from.is_null() && to.is_null()) {
            put_kinds(data, edges.iter().map(|(edge, _)| edge.kind), places)?;
        }
        put_handles(from, &mut places, &handles(edges.iter().map(|(edge, _)| edge.from).collect()))?;
        put_handles(to, &mut same_places, &handles(edges.iter().map(|(_, to)| *to).collect()))?;
        put(count, places)
    }
}

fn instantiate(to: *mut Handle, graph: Handle, flags: u64) -> Result {
    let context = state::uncaptured()?;
    let graph: Arc<Graph> = object::find(graph)?;
    // Memory of any device will do: a graph may have nodes of several.
    let is_nowhere = |fill: &Fill| context.device.range(fill.to, fill.bytes()).is_err();
    let is_possible = |operation: &Operation| {
        context.allows_writes(operation) && !matches!(operation, Operation::Fill(fill) if is_nowhere(fill))
    };
    if to.is_null() || !graph.nodes().iter().all(|node| is_possible(&node.operation)) {
        return Err(Status::INVALID_VALUE);
    }
    let exec = ExecGraph::new(&graph, flags)?;
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, object::insert(exec.id, exec.clone())) }?;
    exec.name(handle(exec.id));
    Ok(())
}

fn node_of(node: Handle) -> Result<NodeRef> {
    state::runtime()?;
    object::find(node)
}

/// The nodes behind a node, or before it, with the kinds of edges between.
unsafe fn neighbours(
    node: &NodeRef,
    behind: bool,
    to: *mut Handle,
    data: *mut u64,
    count: *mut usize,
) -> Result {
    let edges: Vec<Edge> = if behind {
        let of = |other: &runtime::Node| {
            let edge = other.after.iter().find(|edge| edge.from == node.id)?;
            Some(Edge { from: other.id, kind: edge.kind })
        };
        node.graph.nodes().iter().filter_map(of).collect()
    } else {
        node.graph.node(node.id)?.after
    };
    let handles: Vec<Handle> = edges.iter().map(|edge| node_handle(&node.graph, edge.from)).collect();
    // SAFETY: null or for the number of places; the program said how many there are.
    unsafe {
        if !(data.is_null() && to.is_null()) {
            put_kinds(data, edges.iter().map(|edge| edge.kind), get(count)?)?;
        }
        put_handles(to, count, &handles)
    }
}

/// The number that a graph or a node has in a picture.
pub(crate) fn graph_number(id: u64) -> u32 {
    id as u32
}

/// Graphviz text of a graph and of those that its nodes run.
fn dot(graph: &Graph) -> String {
    let mut text = "digraph dot {\n".to_string();
    draw(graph, &mut text);
    text + "}\n"
}

fn draw(graph: &Graph, to: &mut String) {
    let number = graph_number(graph.id);
    *to += &format!("subgraph cluster_{number} {{\n  label=\"graph_{number}\";\n");
    for node in graph.nodes() {
        let name = graph_number(node.id);
        *to += &format!("  n{name} [label=\"{:?}\"];\n", node.operation);
        for edge in &node.after {
            *to += &format!("  n{} -> n{name};\n", graph_number(edge.from));
        }
        node.operation.children().iter().for_each(|child| draw(child, to));
    }
    *to += "}\n";
}

api! {
    fn cuGraphCreate(graph: *mut Handle, flags: u32) {
        state::runtime()?;
        if graph.is_null() || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(graph, graph_handle(&Graph::new()))
    }

    fn cuGraphConditionalHandleCreate(to: *mut u64, graph: Handle, context: Handle, default: u32, flags: u32) {
        state::runtime()?;
        let graph: Arc<Graph> = object::find(graph)?;
        crate::driver::context::context_or_current(context)?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(to, graph.condition(default, flags)?.handle)
    }

    fn cuGraphDestroy(graph: Handle) {
        state::runtime()?;
        // A graph that a node took over goes with it.
        if object::find::<Arc<Graph>>(graph)?.is_moved() {
            return Err(Status::INVALID_VALUE);
        }
        let graph: Arc<Graph> = object::remove(graph)?;
        forget(&graph);
        graph.let_all_go();
        Ok(())
    }

    fn cuGraphClone(clone: *mut Handle, graph: Handle) {
        let graph: Arc<Graph> = object::find(graph)?;
        if graph.has_memory() || graph.has_conditions() || graph.is_updatable() || graph.is_moved() {
            return Err(Status::NOT_SUPPORTED);
        }
        put(clone, graph_handle(&graph.duplicate()))
    }

    fn cuGraphNodeFindInClone(node: *mut Handle, original: Handle, clone: Handle) {
        let original = node_of(original)?;
        let clone: Arc<Graph> = object::find(clone)?;
        let id = clone.copy_of(original.id).ok_or(Status::INVALID_VALUE)?;
        put(node, node_handle(&clone, id))
    }

    fn cuGraphDestroyNode(node: Handle) {
        let found = node_of(node)?;
        let removed = found.graph.remove(found.id)?;
        driver::node::forget(found.id);
        removed.operation.children().iter().for_each(|child| forget_child(child));
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
        get_edges(graph, from, to, std::ptr::null_mut(), count)
    }

    fn cuGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut u64, count: *mut usize) {
        get_edges(graph, from, to, data, count)
    }

    fn cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        graph.edges(&edge_list(&graph, from, to, std::ptr::null(), count)?, true)
    }

    fn cuGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) {
        let graph: Arc<Graph> = object::find(graph)?;
        graph.edges(&edge_list(&graph, from, to, data, count)?, true)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        remove_edges(graph, from, to, std::ptr::null(), count)
    }

    fn cuGraphRemoveDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) {
        remove_edges(graph, from, to, data, count)
    }

    fn cuGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize) {
        neighbours(&node_of(node)?, false, nodes, std::ptr::null_mut(), count)
    }

    fn cuGraphNodeGetDependencies_v2(node: Handle, nodes: *mut Handle, data: *mut u64, count: *mut usize) {
        neighbours(&node_of(node)?, false, nodes, data, count)
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, nodes: *mut Handle, count: *mut usize) {
        neighbours(&node_of(node)?, true, nodes, std::ptr::null_mut(), count)
    }

    fn cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: *mut Handle, data: *mut u64, count: *mut usize) {
        neighbours(&node_of(node)?, true, nodes, data, count)
    }

    fn cuGraphNodeGetType(node: Handle, kind: *mut u32) {
        let node = node_of(node)?;
        let number = match node.graph.node(node.id)?.operation {
            Operation::Kernel(_) => 0,
            Operation::Copy(_) => 1,
            Operation::Fill(_) => 2,
            Operation::Host { .. } | Operation::Callback(_) => 3,
            Operation::Child(_) => 4,
            Operation::Empty | Operation::Map(_) => 5,
            Operation::Wait(_) => 6,
            Operation::Record(_) => 7,
            Operation::Allocate(_) => 10,
            Operation::Free(_) => 11,
            Operation::WaitValue { .. } | Operation::WriteValue { .. } | Operation::Batch(_) => 12,
            Operation::Conditional(_) => 13,
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
        // Free on launch, device launch, node priorities; who wants an upload says in which stream.
        if flags & !13 != 0 {
            return Err(Status::INVALID_VALUE);
        }
        instantiate(exec, graph, flags)
    }

    fn cuGraphExecDestroy(exec: Handle) {
        state::runtime()?;
        runtime::refuse_unsafe()?;
        object::remove::<Arc<ExecGraph>>(exec).map(|_| ())
    }

    fn cuGraphExecGetFlags(exec: Handle, flags: *mut u64) {
        put(flags, object::find::<Arc<ExecGraph>>(exec)?.flags)
    }

    fn cuGraphExecUpdate(exec: Handle, graph: Handle, error: *mut Handle, result: *mut u32) {
        let (exec, graph): (Arc<ExecGraph>, Arc<Graph>) = (object::find(exec)?, object::find(graph)?);
        put_wanted(error, 0);
        match exec.update(&graph, &kind_of_memory) {
            Ok(()) => put(result, 0),
            Err(failure) => {
                put_wanted(error, failure.node.map_or(0, |id| node_handle(&graph, id)));
                put(result, failure.result())?;
                Err(failure.status)
            }
        }
    }

    fn cuGraphExecUpdate_v2(exec: Handle, graph: Handle, result: *mut [u64; 3]) {
        let exec: Arc<ExecGraph> = object::find(exec)?;
        put_wanted(result, [0; 3]);
        let graph: Arc<Graph> = object::find(graph)?;
        let failure = exec.update(&graph, &kind_of_memory).err();
        let handle = |node: Option<u64>| node.map_or(0, |id| node_handle(&graph, id));
        put_wanted(result, failure.map_or([0; 3], |failure| {
            [failure.result().into(), handle(failure.node), handle(failure.from)]
        }));
        failure.map_or(Ok(()), |failure| Err(failure.status))
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

stream_api! {
    fn cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz (null;
        exec: *mut Handle, graph: Handle, params: *mut GraphInstantiateParams
    ) {
        let _ = null;
        let mut asked = get(params)?;
        if asked.flags & !15 != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let made = instantiate(exec, graph, asked.flags);
        (asked.error_node, asked.result) = (0, 0);
        if made.is_err()
            && let Ok(graph) = object::find::<Arc<Graph>>(graph)
        {
            let (why, node) = ExecGraph::why_not(&graph, asked.flags);
            asked.result = why as u32;
            asked.error_node = node.map_or(0, |node| node_handle(&graph, node));
        }
        put(params, asked)?;
        made
    }

    fn cuGraphLaunch | cuGraphLaunch_ptsz (null; exec: Handle, stream: Handle) {
        let (context, stream) = state::stream(stream, null)?;
        if stream.kind == StreamKind::Legacy {
            context.refuse_in_capture()?;
        }
        stream.refuse_in_own_capture()?;
        let exec: Arc<ExecGraph> = object::find(exec)?;
        context.launch_graph(&stream, &exec)
    }

    fn cuGraphUpload | cuGraphUpload_ptsz (null; exec: Handle, stream: Handle) {
        state::stream(stream, null)?.1.refuse_in_own_capture()?;
        object::find::<Arc<ExecGraph>>(exec).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many edges as an H200's picture has.
    #[test]
    fn a_picture_shows_graphs_in_nodes() {
        let (inner, outer) = (Graph::new(), Graph::new());
        let first = inner.add(Operation::Empty, &[]).unwrap();
        inner.add(Operation::Empty, &[Edge::full(first)]).unwrap();
        inner.add(Operation::Empty, &[Edge::full(first)]).unwrap();
        let child = outer.add(Operation::Child(inner.duplicate()), &[]).unwrap();
        outer.add(Operation::Child(inner.duplicate()), &[Edge::full(child)]).unwrap();
        let text = dot(&outer);
        assert_eq!((text.matches("->").count(), text.matches("subgraph").count()), (5, 3), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}
